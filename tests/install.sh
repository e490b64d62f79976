#!/bin/sh
# What `make install` puts in place works without the source tree, and `make uninstall` removes it.
#
#     sh tests/install.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}

prefix=$(mktemp -d) || exit 1
trap 'rm -rf "$prefix"' EXIT
passed=0 failed=0

check() { # WHAT COMMAND...
    what=$1
    shift
    if "$@" >"$prefix/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what"
        sed 's/^/    /' "$prefix/log"
    fi
}

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
    program >"$prefix/program.c"
    # shellcheck disable=SC2046 # several words
    ${CC:-cc} -std=c11 -Wall -Werror ${LDFLAGS-} "$prefix/program.c" -o "$prefix/program" $(flags)
}

says_weights() {
    "$prefix/program" | grep -q '^h.1.weights: 3 axes, first value 1$'
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
    echo 'skipped: the example of attn.h (the library is instrumented)'
    skipped=1
else
    check 'the example of attn.h compiles against what was installed' build_program
    check 'the example of attn.h prints a tensor' says_weights
fi
check 'make uninstall leaves nothing' leaves_nothing

printf '%d passed, %d failed' "$passed" "$failed"
[ -z "${skipped-}" ] || printf ', %d skipped' "$skipped"
printf '\n'
[ "$failed" = 0 ]
