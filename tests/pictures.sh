#!/bin/sh
# Pictures, held against what other programs make of them: xmllint, rsvg-convert, python, pdfinfo,
# pdftotext, and pango's own headers; each only where it is installed.
#
#     sh tests/pictures.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=${1:-build}

ROOT=$(pwd)
case $build in
/*) attn=$build/attn-cli ;;
*) attn=$ROOT/$build/attn-cli ;;
esac
cd "$scratch" || exit 1

# shellcheck source=tests/cli/recipes.sh
. "$ROOT/tests/cli/recipes.sh"

is() { # EXPECTED FOUND
    [ "$1" = "$2" ] || {
        printf 'expected: %s\nfound:    %s\n' "$1" "$2"
        return 1
    }
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# --- what is missing is named, before anything is computed ---------------------------------------

says_what_to_install() { # STATUS
    is "5 attn-cli: error: png and pdf are drawn by pango and cairo: install them (Debian: \
libpangocairo-1.0-0) or write svg: cannot load libpangocairo-1.0.so.0: cannot open shared object \
file: No such file or directory" \
        "$1 $(cat message)" && ! [ -e probe.png ]
}

without_library() { # as it would be where nothing is installed, in no folder
    library=$({ ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null |
        sed -n 's/.*libpangocairo-1.0.so.0 .*=> //p' | head -n 1)
    rm probe.png
    # a search for leaks would trace, too
    ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" \
        strace -f -o trace -P "$library" -P "/usr$library" -e trace=openat \
        -e inject=openat:error=ENOENT "$attn" run -q -s Life -o probe.png 2>both
    status=$?
    grep -v '^strace:' both >message
    says_what_to_install $status
}

# As if it were of before 2018: a library of that name without the functions.
wants_newer_libraries() {
    mkdir old
    echo 'int too_old;' >old.c
    ${CC:-cc} -shared -fPIC old.c -o old/libpangocairo-1.0.so.0 || return 1
    LD_LIBRARY_PATH=old "$attn" run -q -s Life -o old.png 2>message
    is "5 attn-cli: error: 'libpangocairo-1.0.so.0' has no 'g_object_unref': expected cairo \
1.16 and pango 1.44 or newer" "$? $(cat message)" && ! [ -e old.png ]
}

forms='svg png pdf'
"$attn" run -q -s Life -o probe.png 2>message
status=$?
if [ "$status" != 0 ]; then
    forms=svg
    leave_out 'PNG and PDF: pango and cairo are not installed'
    check 'a library that is missing' says_what_to_install "$status"
elif has strace && strace -o trace true 2>/dev/null; then
    check 'a library that is missing' without_library
else
    leave_out 'a library that is missing: strace cannot hide it here'
fi
[ "$(uname)" = Linux ] && check 'a library that is too old' wants_newer_libraries

# --- what is drawn: every kind of picture, and what texts can hold -------------------------------

pictures=
draw() { # NAME OPTIONS...
    name=$1
    shift
    pictures="$pictures $name"
    for form in $forms; do
        check "$name.$form" "$attn" run -q "$@" -o "$name.$form"
    done
}

word_model odd '["我", "🍰", "مرحبا", "</text><b>", "&", "\"", "]]>", "Life", "is"]' 9
life='Life is short, eat dessert first'
draw model -s "$life"
draw head -m life-causal -s "$life" --show all --style both
draw lines -s "$life" --view lines --range row
draw overlay -s "$life" --view overlay --hide-first
draw log -m life-4-heads -s "$life" --show all --color-scale log --palette viridis --range head
draw odd -m odd -s '我 🍰 مرحبا </text><b> & " ]]> Life is' --title "<title> & $(printf '\001\377')"

# --- SVG -----------------------------------------------------------------------------------------

xpath() { # FILE EXPRESSION
    xmllint --xpath "$(printf '%s' "$2" | sed 's|//\([a-z]*\)|//*[local-name()="\1"]|g')" "$1"
}

if has xmllint; then
    for name in $pictures; do
        check "$name.svg is well-formed" xmllint --noout "$name.svg"
    done
    check 'a token stays text' is 2 "$(xpath odd.svg 'count(//text[.="</text><b>"])')"
    check 'a part has a name' is 1 \
        "$(xpath model.svg 'count(//title[.="weights layer 1 head 2"])')"
    check 'a layer of a model' is 8 "$(xpath model.svg 'count(//g[@shape-rendering]) - 1')"
else
    leave_out 'SVG is well-formed: xmllint is not installed'
fi
if has rsvg-convert; then
    for name in $pictures; do
        check "rsvg draws $name.svg" rsvg-convert "$name.svg" -o "$name.rsvg.png"
    done
else
    leave_out 'SVG in rsvg: rsvg-convert is not installed'
fi

# Those of the README: a ground for light and dark pages, and no blanks that browsers join.
has_ground() { # FILE: its first rectangle that is no pattern is as large as the picture
    view=$(sed -n 's/.*viewBox="0 0 \([0-9.]* [0-9.]*\)".*/\1/p' "$1" | head -n 1)
    grep '^<rect' "$1" | head -n 1 |
        grep -F " width=\"${view% *}\" height=\"${view#* }\"" | grep -q ' fill="'
}

no_blanks_to_join() { # FILE
    ! grep -n '<text[^>]*>\([^<]*  \| \)' "$1"
}

for picture in "$ROOT"/data/pictures/*.svg; do
    check "${picture##*/} has a ground" has_ground "$picture"
done
check 'words of a terminal stand where they are put' no_blanks_to_join \
    "$ROOT/data/pictures/run.svg"

# --- PNG -----------------------------------------------------------------------------------------

decode() { # FILE: whole, true colour, of the size of the SVG at 192 pixels an inch, not blank
    python3 - "$1" "${1%.png}.svg" <<'END'
import math, re, struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
at, pixels = 8, b""
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack(">IIBB", body[:10])
    pixels += body if kind == b"IDAT" else b""
    at += 12 + size
assert kind == b"IEND" and (depth, colour) == (8, 2), (kind, depth, colour)
rows = zlib.decompress(pixels)
assert len(rows) == height * (1 + 3 * width)
points = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', open(sys.argv[2]).read()).groups()
assert [math.ceil(float(p) * 192 / 72) for p in points] == [width, height], (points, width, height)
assert len(set(rows)) > 50, "blank"
END
}

case $forms in
*png*)
    if has python3; then
        for name in $pictures; do
            check "$name.png is whole" decode "$name.png"
        done
    else
        leave_out 'PNG is whole: python3 is not installed'
    fi
    ;;
esac

# --- PDF -----------------------------------------------------------------------------------------

text_of() { # FILE: what can be selected in it, letters alone
    pdftotext -raw "$1" - | tr -d ' \n\f'
}

holds_text() { # FILE TEXT
    text_of "$1" | grep -qF "$2" || {
        text_of "$1"
        return 1
    }
}

# A document has pages, and every number of the page for a terminal.
explains_in_pages() {
    numbers='[0-9][0-9]*\.[0-9][0-9]*'
    "$attn" explain -m life -s 'Life is short eat dessert first' --token all -o walk.pdf || return 1
    "$attn" explain -m life -s 'Life is short eat dessert first' --token all |
        grep -o "$numbers" | sort -u >expected
    pdftotext -layout walk.pdf - | grep -o "$numbers" | sort -u >found
    [ "$(pdfinfo walk.pdf | sed -n 's/^Pages: *//p')" -gt 6 ] && cmp expected found
}

# A table that fits on half a page is on one: its titles come once. No page ends in a step's title.
keeps_tables_whole() {
    for words in 10 16 24; do
        text=$(echo 'Life is short, eat dessert first. The keys to the door are old, and the' \
            'windows beside the tree are clean and the letters' | cut -d ' ' -f "1-$words")
        "$attn" explain "$text" -o walk.pdf && pdftotext -layout walk.pdf walk.txt || return 1
        [ "$(grep -c '^ *key ' walk.txt)" = 5 ] || return 1
        tr '\f' '@' <walk.txt | awk '
            /^@/                 { alone += title && below < 2; title = 0 }
            /^@? *[1-9]\. [A-Z]/  { title = 1; below = -1 }
            /[^ 0-9@]/           { below++ }
            END                  { exit alone > 0 }' || return 1
    done
}

case $forms in
*pdf*)
    if has pdfinfo && has pdftotext; then
        for name in $pictures; do
            pages=$(pdfinfo "$name.pdf" | sed -n 's/^Pages: *//p')
            check "$name.pdf has one page" is 1 "$pages"
        done
        check 'the title of a PDF' is "tiny · $life" \
            "$(pdfinfo model.pdf | sed -n 's/^Title: *//p')"
        check 'a PDF does not tell the time' is '' "$(pdfinfo model.pdf | grep Date)"
        check 'words can be selected' holds_text model.pdf dessert
        check 'numbers can be selected' holds_text head.pdf 0.390.120.49
        check 'marks can be selected' holds_text odd.pdf '</text><b>'
        check 'an explanation in pages' explains_in_pages
        check 'tables on one page' keeps_tables_whole
    else
        leave_out 'PDF: pdfinfo and pdftotext are not installed'
    fi
    ;;
esac

# --- the functions of cairo and pango are what their headers say ---------------------------------

# A pointer to each, as we declare it, takes the address of the real one.
same_functions() {
    {
        printf '#include <cairo-pdf.h>\n#include <pango/pangocairo.h>\n'
        printf '#include "draw/cairo_library.h"\n'
        printf '#define OURS(name) __typeof__(((struct cairo_library *)0)->name)\n'
        printf '#define SAME(result, name, takes) _Static_assert( \\\n'
        printf '    __builtin_types_compatible_p(OURS(name), __typeof__(&name)), #name);\n'
        printf 'CAIRO_LIBRARY_FUNCTIONS(SAME)\n'
    } >same.c
    # shellcheck disable=SC2046 # several words
    ${CC:-cc} -std=c11 -I"$ROOT/lib" $(pkg-config --cflags pangocairo) -c same.c -o same.o
}

if has pkg-config && pkg-config --exists pangocairo; then
    check "cairo's and pango's functions" same_functions
else
    leave_out "cairo's and pango's functions: pango's headers are not installed"
fi

closing
