#!/bin/sh
# Test that the files of `make install` work without the source tree, and that `make uninstall`
# removes them.
#
#     sh tests/systems/install.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}

home="$scratch/my -home"
prefix=$home/.local

# The flags of the installed library as pkg-config prints them, one per line, because the name of a
# folder may contain a blank. Static: the static library and the libraries that it needs.
flags() {
    fields='s/^Cflags: //p; s/^Libs: //p'
    if [ "${linked-}" = static ]; then
        fields='s/^Cflags: //p; s/^Libs.private: //p'
        printf '%s\n' "$prefix/lib/libattn.a"
    fi
    sed -n "$fields" "$prefix/lib/pkgconfig/attn.pc" | tr ' ' '\n' |
        sed "s|\${prefix}|$prefix|"
}

# The example at the top of attn.h, unchanged.
program() {
    printf '#include <stdio.h>\n#include <attn.h>\n'
    sed -n '/^ \*\//q; s/^ \*     //p' lib/attn.h | awk '
        /^struct attn_error error/ { print "int main(void)\n{" }
        { print }
        END { print "return error.status;\n}" }'
}

# shellcheck disable=SC2086 # several words
build_with_library() { # NAME: from NAME.c
    flags | tr '\n' '\0' | xargs -0 ${compiler:-${CC:-cc} -std=c11} -Wall -Werror ${LDFLAGS-} \
        "$scratch/$1.c" -x none -o "$scratch/$1"
}

build_program() {
    program >"$scratch/program.c"
    build_with_library program
}

says_weights() {
    "$scratch/program" | grep -q '^h.1.weights: 3 axes, first value 1$'
}

# The program loads the installed shared library, or none if it was linked statically.
loads_what_it_should() {
    loaded=$(LC_ALL=C ldd "$scratch/program" | sed -n 's/.*libattn[^ ]* => \(.*\) (.*/\1/p')
    case $linked in
    shared) [ "$loaded" -ef "$prefix/lib/libattn.so" ] ;;
    static) [ -z "$loaded" ] ;;
    esac
}

# C++ has designated initialisers since C++20.
programs_of() { # COMPILER
    compiler=$1
    for linked in shared static; do
        check "the example of attn.h compiles with $compiler, $linked" build_program
        check "the example of attn.h by $compiler, $linked, prints a tensor" says_weights
        check "the example of attn.h by $compiler, $linked, loads no other library" \
            loads_what_it_should
    done
    unset compiler linked
}

# A program may define functions with any name that is not in attn.h; these are likely names.
common_names='attention forward median file_exists json_parse softmax_rows gemm'

program_of_many_names() {
    printf '#include <stddef.h>\n#include <attn.h>\n'
    for name in $common_names; do
        printf 'int %s(void);\nint %s(void)\n{\n    return 1;\n}\n' "$name" "$name"
    done
    printf 'int main(void)\n{\n    struct attn_error error;\n'
    printf '    struct attn_model *model = attn_open("life", 1, &error);\n'
    printf '    attn_close(model);\n    return !model || 0'
    for name in $common_names; do
        printf ' + %s()' "$name"
    done
    printf ' != %d;\n}\n' "$(printf '%s\n' "$common_names" | wc -w)"
}

links_beside_others() {
    program_of_many_names >"$scratch/names.c"
    build_with_library names && "$scratch/names"
}

# Names that the library defines but attn.h does not declare, and the reverse.
exports_its_header() {
    nm -g --defined-only "$build/libattn.a" | awk 'NF == 3 { print $3 }' | sort >"$scratch/exported"
    declared >"$scratch/declared"
    diff "$scratch/declared" "$scratch/exported" && [ -s "$scratch/exported" ]
}

declared() {
    sed -n 's/^[a-z].*[ *]\(attn_[a-z_]*\)(.*/\1/p' lib/attn.h | sort
}

# attn.map lists the functions of attn.h, and each exported symbol has the version of attn.map.
shared_exports_its_header() {
    declared >"$scratch/declared"
    sed -n 's/^ *\(attn_[a-z_]*\);$/\1/p' lib/attn.map | diff "$scratch/declared" - || return
    node=$(sed -n 's/^\(ATTN_.*\) {$/\1/p' lib/attn.map)
    nm -D --defined-only "$build/libattn.so" | awk '$2 == "T" { print $3 }' |
        sort >"$scratch/exported"
    [ -s "$scratch/exported" ] && sed "s/\$/@@$node/" "$scratch/declared" |
        diff - "$scratch/exported"
}

# attn-cli, libattn.so.0.N, its soname, ATTN_0.N in attn.map and the Python module have one version.
names_are_of_the_version() {
    version=$("$build/attn-cli" --version | sed -n '1s/^[^0-9]*\([0-9.]*\).*/\1/p')
    number=${version%.*}
    [ -n "$number" ] && [ "$prefix/lib/libattn.so" -ef "$prefix/lib/libattn.so.$number" ] &&
        readelf -d "$prefix/lib/libattn.so" | grep -F "soname: [libattn.so.$number]" &&
        grep -Fx "ATTN_$number {" lib/attn.map &&
        grep "^VERSION = \"$number\" " lib/bindings/python/attn.py
}

pages_are_ascii() {
    ! LC_ALL=C grep -n "[^ -~]" "$prefix"/share/man/man*/*
}

# attn-cli(1) refers to a page for each command of the completions.
every_command_has_a_page() {
    pages=$prefix/share/man/man1
    sed -n 's/^\.BR attn..cli..\([a-z]*\) .*/\1/p' "$pages/attn-cli.1" | sort >"$scratch/named"
    "$build/attn-cli" help --completion bash | sed -n 's/^value.commands.\([a-z]*\).*/\1/p' |
        sort | diff "$scratch/named" - || return
    [ -s "$scratch/named" ] || return
    while read -r command; do
        grep -q "^.B attn..cli $command$" "$pages/attn-cli-$command.1" || return
    done <"$scratch/named"
}

# The synopsis of libattn(3) lists the functions of attn.h.
page_names_all() {
    declared >"$scratch/declared"
    sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/s/^\.BI ".*[ *]\(attn_[a-z_]*\)(.*/\1/p' \
        "$prefix/share/man/man3/libattn.3" | sort | diff "$scratch/declared" -
}

# Build and run an example of the page.
example_of_page() { # NUMBER EXPECTED
    awk -v wanted="$1" '/^\.EX/ { nth++; inside = 1; next } /^\.EE/ { inside = 0 }
        inside && nth == wanted { gsub(/\\e/, "\\"); gsub(/\\-/, "-"); print }' \
        "$prefix/share/man/man3/libattn.3" >"$scratch/page$1.c"
    build_with_library "page$1" || return
    "$scratch/page$1" >"$scratch/page$1.out" && printf '%s\n' "$2" | diff - "$scratch/page$1.out"
}

# Build and run a program of the guide.
example_of_guide() { # NUMBER
    awk -v wanted="$1" '/^```c$/ { nth++; inside = 1; next } /^```$/ { inside = 0 }
        inside && nth == wanted' data/guides/library.md >"$scratch/guide$1.c"
    build_with_library "guide$1" && "$scratch/guide$1"
}

guide_prints_weights() {
    example_of_guide 1 >"$scratch/guide.out" &&
        echo 'h.1.weights: 3 axes, first value 1' | diff - "$scratch/guide.out"
}

guide_reports_as_the_command() {
    example_of_guide 2 >"$scratch/guide.out" &&
        "$build/attn-cli" attribute 'The keys' --answer ' are: is' --format csv \
            --edit 'h.0.resid_post[token=-1] * 2' | diff - "$scratch/guide.out"
}

looks_of_last_token() {
    for head in '0 0' '1 0' '2 1' '3 0'; do
        printf 'h.1.weights head %s: the last token looks at token %s\n' "${head% *}" "${head#* }"
    done
}

leaves_nothing() {
    make --no-print-directory uninstall BUILD="$build" PREFIX="$prefix" && [ ! -e "$prefix" ]
}

# With LIBDIR, as for Debian, which has a folder of libraries for each architecture.
# shellcheck disable=SC2016 # expanded by pkg-config
installs_elsewhere() {
    mkdir -p "$home/other/share/man" && touch "$home/other/share/file"
    make --no-print-directory install BUILD="$build" PREFIX="$home/other" LIBDIR=lib/some &&
        [ -e "$home/other/lib/some/libattn.a" ] &&
        grep -F 'Libs: -L${prefix}/lib/some ' "$home/other/lib/some/pkgconfig/attn.pc" &&
        make --no-print-directory uninstall BUILD="$build" PREFIX="$home/other" LIBDIR=lib/some &&
        (cd "$home/other" && find . | sort | tr '\n' ' ') >"$scratch/rest" &&
        is '. ./share ./share/file ./share/man ' "$(cat "$scratch/rest")"
}

# The output of after_install.sh for an installation in a home folder.
said_with() { # PATH PKG_CONFIG_PATH
    env -i HOME="$home" PATH="$1" PKG_CONFIG_PATH="$2" sh data/after_install.sh "$prefix"
}

# shellcheck disable=SC2016 # quoted, not expanded
says_what_is_not_found() {
    bin=$prefix/bin:$PATH packages=$prefix/lib/pkgconfig
    said_with "$bin" "$packages" && [ -z "$(said_with "$bin" "$packages")" ] &&
        said_with "$PATH" "$packages" | grep -F "export PATH=\"$prefix/bin:\$PATH\"" &&
        said_with "$bin" /none | grep -F "export PKG_CONFIG_PATH=\"$packages\${PKG_CONFIG_PATH:+" &&
        ! said_with "$PATH" /none | grep login &&
        echo 'PATH=$HOME/.local/bin:$PATH' >"$home/.profile" &&
        said_with "$PATH" /none | grep 'after the next login' &&
        rm "$home/.profile"
}

# Root may write everywhere.
says_how_to_install() {
    mkdir -m 555 "$scratch/closed" &&
        ! make --no-print-directory install BUILD="$build" PREFIX="$scratch/closed/it" \
            >"$scratch/said" 2>&1 &&
        grep -F "cannot write to '$scratch/closed': use 'sudo make install'" "$scratch/said"
}

check 'make install' make --no-print-directory install BUILD="$build" PREFIX="$prefix"
check 'the installed program runs' "$prefix/bin/attn-cli" run -q -m life -s 'Life is short'
check 'the manual has a page for every command' every_command_has_a_page
check 'manual pages are ASCII, as the C locale shows them' pages_are_ascii
check 'the JSON schemas are installed' diff -r data/schemas "$prefix/share/attn-cli/schemas"
check 'the completion for bash is a script' \
    bash -n "$prefix/share/bash-completion/completions/attn-cli"
if nm "$build/libattn.a" 2>/dev/null | grep -q "__asan\|__gcov"; then
    leave_out 'the example of attn.h: the library is instrumented'
else
    check 'the example of attn.h compiles with the installed library' build_program
    check 'the example of attn.h prints a tensor' says_weights
    check 'functions with common names do not collide with the library' links_beside_others
    check 'the first example of libattn(3)' example_of_page 1 "$(looks_of_last_token)"
    check 'the second example of libattn(3)' example_of_page 2 ' is -0.000
 short -0.530'
    check 'the third example of libattn(3)' example_of_page 3 ' short, eat'
    check 'the first program of the guide to the library prints a tensor' guide_prints_weights
    check 'the second makes a report with an edit by a function' guide_reports_as_the_command
fi
check 'libattn(3) lists every function' page_names_all
check 'the library exports the functions of attn.h' exports_its_header
if [ -e "$prefix/lib/libattn.so" ]; then
    check 'the shared library exports the functions of attn.h' shared_exports_its_header
    check 'the name of the shared library has its version' names_are_of_the_version
    programs_of "${CC:-cc} -std=c11"
    if command -v g++ >/dev/null; then
        programs_of 'g++ -std=c++20 -x c++'
    else
        leave_out 'g++ is not installed'
    fi
else
    leave_out 'the shared library is not built for another system or with sanitizers'
fi
check 'LIBDIR is the folder of the libraries' installs_elsewhere
[ "$(id -u)" = 0 ] || check 'make install says who may write to PREFIX' says_how_to_install
check 'make install prints the variables that a shell needs' says_what_is_not_found
check 'make uninstall leaves nothing' leaves_nothing

closing
