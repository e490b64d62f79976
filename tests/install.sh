#!/bin/sh
# What `make install` puts in place works without the source tree, and `make uninstall` removes it.
#
#     sh tests/install.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=${1:-build}

prefix=$scratch/usr

flags() { # of the installed library, as pkg-config would give them
    sed -n "s|\${prefix}|$prefix|g; s/^Cflags: //p; s/^Libs: //p" "$prefix/lib/pkgconfig/attn.pc"
}

# The program at the head of attn.h, as it stands there.
program() {
    printf '#include <stdio.h>\n#include <attn.h>\n'
    sed -n 's/^ \*     //p' lib/attn.h | awk '
        /^struct attn_error error/ { print "int main(void)\n{" }
        { print }
        END { print "return error.status;\n}" }'
}

build_program() {
    program >"$scratch/program.c"
    # shellcheck disable=SC2046 # several words
    ${CC:-cc} -std=c11 -Wall -Werror ${LDFLAGS-} "$scratch/program.c" -o "$scratch/program" $(flags)
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
    # shellcheck disable=SC2046 # several words
    ${CC:-cc} -std=c11 -Wall -Werror ${LDFLAGS-} "$scratch/names.c" -o "$scratch/names" $(flags) &&
        "$scratch/names"
}

# The names that it defines, but for those that attn.h declares; and the other way round.
exports_its_header() {
    nm -g --defined-only "$build/libattn.a" | awk 'NF == 3 { print $3 }' | sort >"$scratch/exported"
    sed -n 's/^[a-z].*[ *]\(attn_[a-z_]*\)(.*/\1/p' lib/attn.h | sort >"$scratch/declared"
    diff "$scratch/declared" "$scratch/exported" && [ -s "$scratch/exported" ]
}

leaves_nothing() {
    make --no-print-directory uninstall BUILD="$build" PREFIX="$prefix" &&
        [ -z "$(find "$prefix" -mindepth 2 -type f)" ]
}

check 'make install' make --no-print-directory install BUILD="$build" PREFIX="$prefix"
check 'the installed program runs' "$prefix/bin/attn-cli" run -q -m life -s 'Life is short'
check 'the manual page names every command' \
    grep -q 'attn..cli tokenize' "$prefix/share/man/man1/attn-cli.1"
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
check 'make uninstall leaves nothing' leaves_nothing

closing
