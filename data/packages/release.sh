#!/bin/sh
# Write the files of a release to BUILD/release: the archive of the sources, a static program and a
# wheel for each processor type, the list of libraries in them, their notices, the section of
# CHANGELOG.md, and SHA256SUMS. The same sources and compilers give the same bytes.
#
#     sh data/packages/release.sh BUILD VERSION      after `make dist static wheel`
#
# Files for arm64 need Debian's cross compiler (gcc-aarch64-linux-gnu, libc6-dev-arm64-cross), and
# are left out with a note without it. macOS: see data/packages/macos.md.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "$1" && pwd)
version=$2
release=$build/release
rm -rf "$release"
mkdir -p "$release"

take() { # BUILD PROCESSOR
    cp "$1/attn-cli-static" "$release/attn-cli-$version-linux-$2"
    cp "$1/wheel/attn_cli-$version"-*_"$2.whl" "$release"
}

# Libraries are compiled first, because dependencies.sh looks for them and their headers.
cross() { # PROCESSOR
    tools=$1-linux-gnu
    [ -d "$build/$1/archives" ] || CC="$tools-gcc" AR="$tools-ar" CFLAGS='-O3 -fPIC' \
        sh data/packages/archives.sh "$build/$1/archives"
    ${MAKE:-make} --no-print-directory BUILD="$build/$1" DEPS=0 CC="$tools-gcc" AR="$tools-ar" \
        OBJCOPY="$tools-objcopy" CPPFLAGS="-I$build/$1/archives/include" \
        LDFLAGS="-L$build/$1/archives/lib" static wheel
    take "$build/$1" "$1"
}

cp "$build/attn-cli-$version.tar.gz" LICENSE THIRD-PARTY.md "$release"
take "$build" "$(uname -m)"
if [ "$(uname -m)" = aarch64 ]; then
    :
elif command -v aarch64-linux-gnu-gcc >/dev/null; then
    cross aarch64
else
    echo 'release: without files for arm64: aarch64-linux-gnu-gcc is not installed' >&2
fi
python3 -m zipfile -e "$release/attn_cli-$version"-*_"$(uname -m).whl" "$build/wheel/unpacked"
cp "$build/wheel/unpacked"/*.dist-info/licenses/LIBRARIES.txt "$release"
rm -r "$build/wheel/unpacked"
printf 'GNU C library, only in attn-cli-*-linux-*: LGPL 2.1 or later\n' >>"$release/LIBRARIES.txt"
awk -v heading="## $version" '/^## / { inside = $0 == heading; next } inside' CHANGELOG.md |
    sed '/./,$!d' >"$release/CHANGES.md"
[ -s "$release/CHANGES.md" ] || {
    printf "CHANGELOG.md: expected a section '## %s', found none\n" "$version" >&2
    exit 1
}
cd "$release"
LC_ALL=C sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .
printf '%s\n' "$release:" && ls
