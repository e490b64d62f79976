#!/bin/sh
# The files of `make release` have the same bytes when they are built again, from the archive, in
# another folder; those for arm64 run in qemu and give the bits of BUILD/attn-cli.
#
#     sh tests/systems/release.sh [BUILD]
#     EVERY=6 sh tests/systems/release.sh build       compile only each sixth file again, by SLICE
#
# Takes five minutes and a network.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=$(cd "${1:-build}" && pwd)
EVERY=${EVERY:-1}
version=$("$build/attn-cli" --version | sed -n '1s/.* //p')
release=$build/release
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static)

releases() { # TREE BUILD
    (cd "$1" && ${MAKE:-make} --no-print-directory BUILD="$2" CCACHE_DISABLE=1 release)
}

# Copy the objects that are not compiled again, and the engine of live pages if `make wasm` has
# compiled it. Flags come first: objects must be newer. Those for arm64 name the folder.
take_objects() {
    mkdir -p "$scratch/build/aarch64" || return
    cat "$build/aarch64/flags" 2>/dev/null |
        sed "s|$build/|$scratch/build/|g" >"$scratch/build/aarch64/flags"
    (cd "$build" && find cmd lib aarch64/cmd aarch64/lib -name '*.o' 2>/dev/null | LC_ALL=C sort |
        awk -v every="$EVERY" -v slice="${SLICE:-0}" '(NR + slice) % every' |
        grep -v 'bundled_models\|page_template\|completion_scripts\|guide_headings\|lesson_texts' \
            >"$scratch/objects"
        find wasm -name live.wasm 2>/dev/null >>"$scratch/objects"
        tar cf - flags -T "$scratch/objects") | tar xmf - -C "$scratch/build"
}

builds_the_same() {
    mkdir "$scratch/build" "$scratch/else where" && tar xzf "$release/attn-cli-$version.tar.gz" \
        -C "$scratch/else where" && take_objects &&
        (umask 027 && unset SOURCE_DATE_EPOCH && TZ=Asia/Kathmandu releases \
            "$scratch/else where/attn-cli-$version" "$scratch/build") &&
        diff -r "$release" "$scratch/build/release"
}

sums_agree() {
    (cd "$release" && sha256sum --check --strict SHA256SUMS && ls | grep -vcx SHA256SUMS) \
        >"$scratch/sums"
    cat "$scratch/sums"
    [ "$(grep -c ': OK$' "$scratch/sums")" = "$(tail -n 1 "$scratch/sums")" ]
}

# LIBXSMM_TARGET=skx: without bf16 instructions, which add in another order.
gives_the_bits() { # COMMAND...
    LIBXSMM_TARGET=skx "$build/attn-cli" run -q 'Life is short' --show all \
        -o "$scratch/expected.safetensors" --force &&
        "$@" run -q 'Life is short' --show all -o "$scratch/found.safetensors" --force &&
        cmp "$scratch/expected.safetensors" "$scratch/found.safetensors"
}

runs_alone() {
    "$emulator" "$release/attn-cli-$version-linux-aarch64" --version | grep 'kernels: neon' &&
        gives_the_bits "$emulator" "$release/attn-cli-$version-linux-aarch64"
}

# In the cross compiler's C library.
in_libc() { # COMMAND...
    "$emulator" -L /usr/aarch64-linux-gnu "$@"
}

runs_from_the_wheel() {
    python3 -m zipfile -e "$release/attn_cli-$version"-*_aarch64.whl "$scratch/arm64" &&
        program=$scratch/arm64/attn_cli-$version.data/scripts/attn-cli &&
        chmod +x "$program" && gives_the_bits in_libc "$program"
}

# The example at the top of attn.h.
library_runs() {
    {
        printf '#include <stdio.h>\n#include <attn.h>\n'
        sed -n '/^ \*\//q; s/^ \*     //p' lib/attn.h |
            sed 's/^struct attn_error error/int main(void)\n{\n&/; $s/$/\nreturn error.status;}/'
    } >"$scratch/look.c" &&
        aarch64-linux-gnu-gcc -Ilib "$scratch/look.c" "$scratch"/arm64/attn/libattn.so.* \
            -o "$scratch/look" &&
        in_libc -E LD_LIBRARY_PATH="$scratch/arm64/attn" "$scratch/look" |
        grep '^h.1.weights: 3 axes'
}

check 'make release' releases . "$build"
check 'SHA256SUMS has all files' sums_agree
check 'a second build has the same bytes' builds_the_same
if [ -z "$emulator" ] || [ ! -e "$release/attn-cli-$version-linux-aarch64" ]; then
    leave_out 'files for arm64: qemu and its gcc are not installed'
else
    check 'the program for arm64 gives the same bits' runs_alone
    check 'the program of the wheel for arm64 gives the same bits' runs_from_the_wheel
    check 'libattn of the wheel for arm64 runs' library_runs
fi
closing
