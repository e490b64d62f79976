#!/bin/sh
# Test the packages of `make deb`: run lintian, then install them in a new Debian, use them from a
# shell and from C, and remove them.
#
#     sudo sh tests/systems/deb.sh [BUILD]
#     sudo BASE=DIR sh tests/systems/deb.sh build      DIR: a new Debian, by chroot.sh
#
# Needs debootstrap. Takes four minutes, and two more without BASE. Dependencies come from this
# machine's package sources.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}
packages=$build/deb
base=${BASE:-$scratch/base}
root=$scratch/root

finish() {
    rm -rf --one-file-system "$scratch"
}

inside() { # COMMAND...
    unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" \
        env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C \
        DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# The package closes no bug of Debian's tracker, so that tag is suppressed; every other tag fails.
lintian_is_silent() {
    lintian --allow-root --fail-on error,warning \
        --suppress-tags initial-upload-closes-no-bugs "$packages"/*.changes
}

make_machine() {
    [ -e "$base/etc/apt/sources.list" ] || BASE=$base USERS='' sh tests/systems/chroot.sh || return
    cp -a "$base" "$root" && mkdir "$root/packages" &&
        cp "$packages"/attn-cli_*.deb "$packages"/lib*.deb "$root/packages" &&
        rm -f "$root"/packages/*dbgsym* && inside apt-get -q update
}

# All files except those of apt and dpkg.
listing() {
    (cd "$root" && find . \( -path ./proc -o -path ./tmp -o -path ./var/cache -o -path ./var/lib \
        -o -path ./var/log \) -prune -o -print) | sort
}

installs() { # NAME...: our packages, with their dependencies
    for name in "$@"; do
        set -- "$@" "/packages/$(basename "$root/packages/$name"_*.deb)"
        shift
    done
    inside apt-get -q -y --no-install-recommends install "$@"
}

installs_program() {
    listing >"$scratch/before" && installs attn-cli
}

# The package is built with other compiler options than build/attn-cli.
same_numbers() {
    inside attn-cli run 'Life is short' --show all --layer all --format safetensors \
        >"$scratch/found" && "$build/attn-cli" run 'Life is short' --show all --layer all \
        --format safetensors >"$scratch/expected" && cmp "$scratch/expected" "$scratch/found"
}

is_documented() {
    for file in man/man1/attn-cli.1.gz man/man1/attn-cli-run.1.gz zsh/vendor-completions/_attn-cli \
        bash-completion/completions/attn-cli fish/vendor_completions.d/attn-cli.fish \
        doc/attn-cli/copyright; do
        [ -e "$root/usr/share/$file" ] || { echo "no $file" && return 1; }
    done
}

# The example at the top of attn.h.
writes_program() {
    { printf '#include <stdio.h>\n#include <attn.h>\n' &&
        sed -n '/^ \*\//q; s/^ \*     //p' lib/attn.h |
        awk '/^struct attn_error error/ { print "int main(void)\n{" } { print }
            END { print "return error.status;\n}" }'; } >"$root/program.c"
}

runs_program() { # LINKER-OPTIONS
    # shellcheck disable=SC2086 # several words
    inside cc -Wall -Werror /program.c -o /program $1 &&
        inside /program | grep '^h.1.weights: 3 axes, first value 1$'
}

depends_on_its_library() {
    inside ldd /program | grep '/libattn.so.0.4 ' &&
        inside dpkg -S libattn.so.0.4 | grep '^libattn0.4:'
}

is_removed() {
    inside apt-get -q -y purge attn-cli libattn-dev libattn0.4 &&
        inside apt-get -q -y autoremove --purge && rm "$root/program" "$root/program.c" &&
        listing | diff "$scratch/before" -
}

[ -n "$(ls "$packages"/*.deb 2>/dev/null)" ] || do_without 'packages: there are none: make deb'
if command -v lintian >/dev/null; then
    check 'lintian finds nothing' lintian_is_silent
else
    leave_out 'lintian is not installed'
fi
[ "$(id -u)" = 0 ] || do_without 'packages: only root can make a bare Debian'
unshare --mount --pid --fork true 2>/dev/null ||
    do_without 'packages: no namespaces can be made here'
command -v debootstrap >/dev/null || do_without 'packages: debootstrap is not installed'

check 'a bare Debian' make_machine
check 'attn-cli is installed' installs_program
check 'it gives the numbers of the usual build' same_numbers
check 'manual, completions and copyright are installed' is_documented
check 'libattn-dev is installed' installs libattn0.4 libattn-dev
writes_program
check 'the example of attn.h runs with -lattn' runs_program -lattn
check 'it loads the library of libattn0.4' depends_on_its_library
check 'the packages of the static library' inside apt-get -q -y --no-install-recommends install \
    libcjson-dev libonig-dev libutf8proc-dev libxsmm-dev pkg-config
check 'pkg-config finds attn' inside pkg-config --exists attn
check 'the example of attn.h runs with the static library' runs_program \
    '-l:libattn.a -lxsmmgen -lutf8proc -lcjson -lonig -lm'
inside apt-get -q -y purge libcjson-dev libonig-dev libutf8proc-dev libxsmm-dev pkg-config \
    >"$scratch/purge" 2>&1
check 'all installed files are removed' is_removed
closing
