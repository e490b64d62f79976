#!/bin/sh
# Try `make run` and `make test` in a bare Debian, as somebody would who has just cloned this.
#
#     sudo sh tests/chroot.sh [SUITE]        bookworm (Debian 12) unless another is named
#
# Needs debootstrap, git and some 700 MB in TMPDIR; takes a minute or two, and removes it all at the
# end. What is committed is what is tried. Packages come from where this machine gets its own.
set -eu
cd "$(dirname "$0")/.."
suite=${1:-bookworm}

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "tests/chroot.sh: must be root, with debootstrap installed" >&2
    exit 1
fi
[ -z "$(git status --porcelain)" ] || echo "note: what is not committed is not tried" >&2

root=$(mktemp -d)
chmod 755 "$root" # it becomes /, where every user must be able to go
trap 'rm -rf --one-file-system "$root"' EXIT

# How this machine reaches its packages.
apt_configuration() {
    mkdir -p "$root/etc/apt/apt.conf.d"
    apt-config dump | grep '^Acquire::' >"$root/etc/apt/apt.conf.d/90host"
    for part in sources.list sources.list.d keyrings trusted.gpg trusted.gpg.d; do
        [ ! -e "/etc/apt/$part" ] || cp -R "/etc/apt/$part" "$root/etc/apt/"
    done
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
}

# In namespaces of its own, so that nothing stays mounted or running.
inside() { # COMMAND...
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" \
        env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@" </dev/null
}

echo "== debootstrap $suite"
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
http_proxy=${http_proxy-} debootstrap --variant=minbase \
    --include=git,make,gcc,libc6-dev,ca-certificates "$suite" "$root" >"$root.log" 2>&1 || {
    cat "$root.log"
    rm -f "$root.log"
    exit 1
}
rm -f "$root.log"
apt_configuration
git clone --quiet . "$root/root/attn-cli"

echo "== make without its libraries: says what to install"
if inside make -C /root/attn-cli; then
    echo "expected a failure, found none"
    exit 1
fi
echo "== make run"
inside make -C /root/attn-cli run
echo "== make test"
inside make -C /root/attn-cli test
