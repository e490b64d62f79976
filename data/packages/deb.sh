#!/bin/sh
# Build the Debian packages attn-cli, libattn0.4 and libattn-dev from the archive of `make dist`.
#
#     sh data/packages/deb.sh BUILD VERSION        writes them to BUILD/deb
set -eu
cd "$(dirname "$0")/../.."
build=$1
version=$2
changelog=data/packages/debian/changelog

said=$(sed -n '1s/.*(\(.*\)-[0-9]*).*/\1/p' $changelog)
[ "$said" = "$version" ] || {
    printf '%s: expected version %s, found %s\n' $changelog "$version" "$said" >&2
    exit 1
}
rm -rf "$build/deb"
mkdir -p "$build/deb"
cp "$build/attn-cli-$version.tar.gz" "$build/deb/attn-cli_$version.orig.tar.gz"
cd "$build/deb"
tar xzf "attn-cli_$version.orig.tar.gz"
cd "attn-cli-$version"
cp -R data/packages/debian .
# The make of the packages must not inherit the variables of a make that calls this script.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CFLAGS -u BUILD -u CC \
    dpkg-buildpackage --no-sign --jobs-try=auto >../build.log 2>&1 || {
    tail -n 30 ../build.log >&2
    exit 1
}
cd ..
rm -rf "attn-cli-$version"
ls -- *.deb
