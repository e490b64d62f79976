#!/bin/sh
# Print C that holds the page of html_report.c: the parts before and after its data; and the style
# sheet of explanations.
#
#     sh lib/draw/page/embed.sh [MODULE] >build/lib/draw/page_template.c
#
# MODULE is the engine of live pages, as `make wasm` compiles it; without it there are none.
set -eu
module=${1:+$(cd "$(dirname "$1")" && pwd)/$(basename "$1")}
cd "$(dirname "$0")"

scripts='elements.js chinese.js language.js data.js heads.js tone.js paint.js
    before.js matrix.js explain.js screens.js main.js strips.js words.js finding.js roles.js
    what-if.js journey.js arrows.js stage.js scenes.js motion.js without.js write.js grid.js
    prediction.js features.js mixer.js why.js origins.js export.js pictures.js lesson.js
    address.js keys.js'

without_comments() { # FILE...; without indentation, too
    sed -e '/^ *\/\/ /d' -e 's/^ *//' "$@"
}

atlas_scripts='elements.js chinese.js language.js atlas.js'

before() {
    printf '<style>\n'
    cat page.css
    printf '</style>\n</head>\n<body>\n'
    cat body.html
}

behind() {
    printf "<script>\n(() => {\n'use strict';\n"
    # shellcheck disable=SC2086 # a word a file
    without_comments $scripts
}

atlas_before() {
    printf '<style>\n'
    sed '/--- the top ---/,$d' page.css
    cat atlas.css
    printf '</style>\n</head>\n<body>\n'
    cat atlas.html
}

atlas_behind() {
    printf "<script>\n(() => {\n'use strict';\n"
    # shellcheck disable=SC2086 # a word a file
    without_comments $atlas_scripts
    end
}

live() {
    without_comments engine.js live.js
}

end() {
    printf 'start();\n})();\n</script>\n</body>\n</html>\n'
}

print_part() { # NAME, its bytes on standard input
    printf '\nstatic const unsigned char %s[] = {\n' "$1"
    od -A n -v -t u1 | sed 's/[0-9][0-9]*/&,/g'
    printf '};\nconst struct page_part page_%s = {(const char *)%s, sizeof %s};\n' "$1" "$1" "$1"
}

printf '/* Made by lib/draw/page/embed.sh from the files next to it. */\n'
printf '#include "draw/page.h"\n'
before | print_part before
behind | print_part behind
live | print_part live
end | print_part end
atlas_before | print_part atlas_before
atlas_behind | print_part atlas_behind
print_part explanation_style <explanation.css
if [ -n "$module" ]; then
    gzip -9 -n -c "$module" | print_part module
else
    printf '\nconst struct page_part page_module = {"", 0};\n'
fi
