#!/bin/sh
# Test that versions, names and dependencies in data/packages agree with the sources, and the
# messages of dependencies.sh if something cannot be installed. `make test-deb` and `make
# test-static` build and use the packages.
#
#     sh tests/systems/packages.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}
here=data/packages
version=$("$build/attn-cli" --version | sed -n '1s/.* //p')

names_version() {
    grep -q "^attn-cli ($version-[0-9]*) " $here/debian/changelog &&
        grep -qx "version: $version" CITATION.cff &&
        grep -qx "__version__ = \"$version\"" lib/bindings/python/attn.py &&
        grep -qx "## $version" CHANGELOG.md
}

symbols_are_those_of_the_library() {
    node=$(sed -n 's/^\(ATTN_.*\) {$/\1/p' lib/attn.map)
    sed -n 's/^ *\(attn_[a-z_]*\);$/\1/p' lib/attn.map | sed "s/\$/@$node/" >"$scratch/exported"
    sed -n 's/^ \(attn_[a-z_]*@[^ ]*\) .*/\1/p' $here/debian/libattn*.symbols |
        diff "$scratch/exported" - && [ -s "$scratch/exported" ] &&
        grep -q "^libattn.so.${node#ATTN_} libattn${node#ATTN_} " $here/debian/*.symbols
}

# Debian's Build-Depends are the packages that dependencies.sh names.
debian_needs_what_the_build_needs() {
    CC=x86_64-linux-gnu-gcc
    command -v $CC >/dev/null || CC=cc
    CC=$CC sh ./dependencies.sh packages | tr ' ' '\n' | sort >"$scratch/needed"
    sed -n '/^Build-Depends:/,/^[^ B]/s/^ \(lib[a-z0-9-]*\).*/\1/p' $here/debian/control |
        if grep -q libxsmm "$scratch/needed"; then cat; else grep -v libxsmm; fi | sort |
        diff "$scratch/needed" - && [ -s "$scratch/needed" ]
}

drawing_is_recommended() {
    package=$(sed -n "s/^wanted='rsvg-convert|[^|]*||\([^|]*\)|.*/\1/p" dependencies.sh)
    [ -n "$package" ] && grep -qx "Recommends: $package" $here/debian/control
}

# The names that a program or library takes from newer C libraries than the guide promises.
newest=$(sed -n 's/.*`manylinux_2_\([0-9]*\)`.*/\1/p' data/guides/library.md)
no_newer_names() { # FILE...
    nm -D --undefined-only "$@" | sed -n 's/.* \([^ @]*\)@*GLIBC_2\.\([0-9]*\).*/\2 \1/p' \
        >"$scratch/taken"
    awk -v newest="$newest" '$1 > newest { print "needs glibc 2." $1 ": " $2; found = 1 }
        END { exit found || NR < 50 || newest == "" }' "$scratch/taken"
}

# The targets that the recipe of continuous integration names are in the Makefile.
recipe_names_targets() {
    sed -nE 's/.*make: ([a-z0-9-]+).*/\1/p; s/.* make ([a-z0-9-]+).*/\1/p' \
        .github/workflows/ci.yml | sort -u >"$scratch/targets"
    [ "$(wc -l <"$scratch/targets")" -gt 5 ] || return
    while read -r target; do
        grep -q "^$target:" Makefile || { echo "no target $target" && return 1; }
    done <"$scratch/targets"
}

check 'continuous integration runs targets of the Makefile' recipe_names_targets
check 'packages, CITATION.cff, attn.py and CHANGELOG.md have the version' names_version
check 'symbols agree with the library' symbols_are_those_of_the_library
check 'Build-Depends are the packages of dependencies.sh' debian_needs_what_the_build_needs
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc 2[.]//p')
if [ "${libc:-99}" -gt 37 ]; then
    leave_out "names of the C library: glibc 2.${libc:-?} has newer names for old functions"
else
    check "wheels need no newer C library than library.md says" \
        no_newer_names "$build/attn-cli" "$build"/libattn.so
fi
check 'rsvg-convert is a recommended package' drawing_is_recommended

# A machine without libraries where sudo fails: count the calls of sudo and check the message.
unset DEPS
mkdir "$scratch/bin"
for tool in sh mktemp rm env awk grep tail printf cp head sed; do
    for file in /bin/$tool /usr/bin/$tool; do
        [ ! -x "$file" ] || ln -sf "$file" "$scratch/bin"
    done
done
fake() { # PROGRAM COMMAND
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}

fake id 'echo 1000'
fake cc 'exit 1'
fake apt-get 'exit 1'
fake sudo "echo asked >>'$scratch/asked'; exit 1"

set=tests
says() { # EXPECTED COMMAND...: fails and prints EXPECTED
    expected=$1
    shift
    PATH=$scratch/bin "$@" sh dependencies.sh install $set >"$scratch/missing" 2>&1 && return 1
    grep -F "$expected" "$scratch/missing" || { cat "$scratch/missing" && return 1; }
}

by_hand='apt-get install gcc libc6-dev libxsmm-dev libcjson-dev libutf8proc-dev libonig-dev check'
check 'sudo fails' says 'sudo did not start apt-get, as it says above: run that line as root' env
check 'the message has the command for root' grep -F "  $by_hand" "$scratch/missing"
same 'sudo is called once' asked "$(cat "$scratch/asked")"
check 'DEPS=0 installs nothing' says '(DEPS=0: never)' env DEPS=0
same 'DEPS=0 does not call sudo' asked "$(cat "$scratch/asked")"
set=deb
check 'make deb names the packages that it needs' says ' build-essential debhelper' env
set=static
check 'make static names the package that it needs' says ' dpkg-dev' env
set=wheel
check 'make wheel names the package that it needs' says ' python3' env
set=tests
rm "$scratch/bin/sudo"
fake uname 'echo Darwin arm64'
homebrew='brew install cjson utf8proc oniguruma check'
check 'macOS has other names of packages, and no libxsmm' says "$homebrew" env
fake uname 'echo Darwin'
check 'macOS has other folders' says 'make CPPFLAGS=-I$(brew' env
rm "$scratch/bin/uname"
check 'without sudo, the message asks for root' says 'there is no sudo: run that line as root' env
fake id 'echo 0'
check 'apt-get fails' says 'apt-get could not install it: what it said is above' env
fake apt-get 'exit 0'
fake cc "echo \"probe.c:2:10: fatal error: 'onig.h' file not found\" >&2; exit 1"
check 'installed packages that the compiler does not find' \
    says "are installed, but 'cc' does not find them: 'onig.h' file not found" env
check 'a compiler that does not exist' says \
    "CC: expected a compiler, found 'nocc', which is not on the path" env CC=nocc
same 'no library is named' '' "$(grep -i 'cjson' "$scratch/missing")"
fake apt-get "echo \"W: Temporary failure resolving 'deb.debian.org'\" >&2; exit 100"
check 'without a network' says 'apt-get could not reach its servers: try again with a network' env
fake id 'echo 1000'
fake sudo 'exec "$@"'
check 'without a network, by sudo' says 'apt-get could not reach its servers' env
closing
