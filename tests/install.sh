#!/bin/sh
# What `make install` puts in place works without the source tree, and `make uninstall` removes it.
#
#     sh tests/install.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=${1:-build}

home="$scratch/my -home"
prefix=$home/.local

# The flags of the installed library, as pkg-config would give them, a line each: a folder's name
# may have a blank in it.
flags() {
    sed -n 's/^Cflags: //p; s/^Libs: //p' "$prefix/lib/pkgconfig/attn.pc" | tr ' ' '\n' |
        sed "s|\${prefix}|$prefix|"
}

# The program at the head of attn.h, as it stands there.
program() {
    printf '#include <stdio.h>\n#include <attn.h>\n'
    sed -n 's/^ \*     //p' lib/attn.h | awk '
        /^struct attn_error error/ { print "int main(void)\n{" }
        { print }
        END { print "return error.status;\n}" }'
}

# shellcheck disable=SC2086 # several words
build_with_library() { # NAME: from NAME.c
    flags | tr '\n' '\0' | xargs -0 ${CC:-cc} -std=c11 -Wall -Werror ${LDFLAGS-} "$scratch/$1.c" \
        -o "$scratch/$1"
}

build_program() {
    program >"$scratch/program.c"
    build_with_library program
}

says_weights() {
    "$scratch/program" | grep -q '^h.1.weights: 3 axes, first value 1$'
}

# Others' functions may have any name that attn.h does not declare; some that are likely.
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

# The names that it defines, but for those that attn.h declares; and the other way round.
exports_its_header() {
    nm -g --defined-only "$build/libattn.a" | awk 'NF == 3 { print $3 }' | sort >"$scratch/exported"
    sed -n 's/^[a-z].*[ *]\(attn_[a-z_]*\)(.*/\1/p' lib/attn.h | sort >"$scratch/declared"
    diff "$scratch/declared" "$scratch/exported" && [ -s "$scratch/exported" ]
}

# Those that the page of all refers to, which are those that the program completes.
every_command_has_a_page() {
    pages=$prefix/share/man/man1
    sed -n 's/^\.BR attn..cli..\([a-z]*\) .*/\1/p' "$pages/attn-cli.1" | sort >"$prefix/named"
    "$build/attn-cli" help --completion bash | sed -n "s/^    '') words='\(.*\) --help.*/\1/p" |
        tr ' ' '\n' | sort | diff "$prefix/named" - || return
    [ -s "$prefix/named" ] || return
    while read -r command; do
        grep -q "^.B attn..cli $command" "$pages/attn-cli-$command.1" || return
    done <"$prefix/named"
}

leaves_nothing() {
    make --no-print-directory uninstall BUILD="$build" PREFIX="$prefix" &&
        [ -z "$(find "$prefix" -mindepth 2 -type f)" ]
}

# What is said after installing to a home: nothing where all is found.
said_with() { # PATH PKG_CONFIG_PATH
    env -i HOME="$home" PATH="$1" PKG_CONFIG_PATH="$2" sh data/after_install.sh "$prefix"
}

# shellcheck disable=SC2016 # for another shell
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

check 'make install' make --no-print-directory install BUILD="$build" PREFIX="$prefix"
check 'the installed program runs' "$prefix/bin/attn-cli" run -q -m life -s 'Life is short'
check 'the manual has a page for every command' every_command_has_a_page
check 'the completion for bash is a script' \
    bash -n "$prefix/share/bash-completion/completions/attn-cli"
if nm "$build/libattn.a" 2>/dev/null | grep -q "__asan\|__gcov"; then
    leave_out 'the example of attn.h: the library is instrumented'
else
    check 'the example of attn.h compiles against what was installed' build_program
    check 'the example of attn.h prints a tensor' says_weights
    check 'the library links beside functions of common names' links_beside_others
fi
check 'the library exports what attn.h declares' exports_its_header
check 'what a shell does not find is said' says_what_is_not_found
check 'make uninstall leaves nothing' leaves_nothing

closing
