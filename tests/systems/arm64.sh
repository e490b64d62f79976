#!/bin/sh
# Build for arm64 with a cross compiler, and run tests with qemu's user-mode emulation.
#
#     sh tests/systems/arm64.sh [BUILD]              the tests of continuous integration
#     CLI='*/*' GOLDEN= UNIT=kernel BITS=tiny sh tests/systems/arm64.sh
#
# BUILD is that of `make release`, so that its objects need not be compiled again. BUILD/sysroot has
# Debian's C library and Check for arm64, BUILD/run a script for each program that runs it in qemu.
# Emulation makes tests ten times slower.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=$(absolute "${1:-build/aarch64}")

sixth() { # WORD...: the first, the seventh, ...; others for each SLICE
    printf '%s\n' "$@" | awk -v slice="${SLICE:-0}" 'NR % 6 == (slice + 1) % 6'
}

UNIT=${UNIT-kernel gemm gemm_bf16 weight rows portable_math precision \
    rotary rng_uniform platform json sha256}
GOLDEN=${GOLDEN-life mha}
BITS=${BITS-tiny life life-causal life-4-heads life-grouped journey tests/references/golden/gpt2-* \
    tests/references/golden/gqa tests/references/golden/multi-query \
        tests/references/golden/uneven $(sixth tests/references/golden-families/*)}
CLI=${CLI-run/[a-d]*}
sysroot=$build/sysroot
compiler=aarch64-linux-gnu-gcc

# apt-get with its own lists and state: those of the system do not change, and it needs no root.
apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User= \
        -o Dir::State="$fetched/state" -o Dir::State::status="$fetched/status" \
        -o Dir::Cache="$fetched/cache" "$@"
}

# Download libraries and their dependencies (3 MB, and package lists of 9 MB).
fill_sysroot() {
    fetched=$(mkdir -p "$sysroot.part" && cd "$sysroot.part" && pwd) || return
    mkdir -p "$fetched/state/lists/partial" "$fetched/cache/archives/partial"
    : >"$fetched/status"
    packages=$(CC="$compiler --sysroot=$sysroot" sh dependencies.sh packages tests)
    # shellcheck disable=SC2086 # several
    apt update && apt -y --no-install-recommends --download-only install $packages || return
    for package in "$fetched"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$fetched/root" || return
    done
    mv "$fetched/root" "$sysroot" && rm -rf "$sysroot.part"
}

# Write a script for each program that runs in any folder, and by a link to it.
wrap() { # PROGRAM...
    mkdir -p "$build/run" || return
    for program in "$@"; do
        # shellcheck disable=SC2016 # for the script
        printf '#!/bin/sh\nexec %s -L "%s/sysroot" "%s/%s" "$@"\n' \
            "$emulator" "$build" "$build" "$program" >"$build/run/$program" &&
            chmod +x "$build/run/$program" || return
    done
}

# Run a command and add the counts of its last line.
stage() { # WHAT COMMAND...
    staged=$1
    shift
    "$@" >"$scratch/stage" 2>&1 </dev/null
    ended=$?
    counts=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$scratch/stage" | tail -n 1)
    failures=${counts#* }
    passed=$((passed + ${counts% *})) failed=$((failed + failures))
    if [ "$ended" != 0 ] || [ -z "$counts" ]; then
        sed '/^[0-9]* passed/d' "$scratch/stage"
        [ "${failures:-0}" != 0 ] || fail "$staged: it ended with status $ended"
    fi
}

# The arm64 program and the program for this processor write the same tensors. LIBXSMM_TARGET=skx:
# without bf16 instructions, which add in another order. An encoder reads ids, too.
same_bits() { # MODEL OPTION...
    ! grep -qs '"is_encoder_decoder": true' "$1/config.json" || set -- "$@" --source 4,3,2,1
    for program in "$native" "$build/run/attn-cli"; do
        LIBXSMM_TARGET=skx "$program" run -m "$@" --show all --force \
            -o "$scratch/bits.safetensors" || return
        cksum <"$scratch/bits.safetensors" >>"$scratch/bits"
    done
    [ "$(uniq "$scratch/bits" | wc -l)" = 1 ]
}

command -v aarch64-linux-gnu-gcc >/dev/null || do_without 'arm64: its gcc is not installed'
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) ||
    do_without 'arm64: qemu is not installed'
command -v apt-get >/dev/null ||
    do_without 'arm64: its libraries come from Debian by apt-get, which is not here'
if [ ! -d "$sysroot" ] && ! fill_sysroot >"$scratch/log" 2>&1; then
    tail -n 3 "$scratch/log"
    do_without 'arm64: its libraries cannot be fetched'
fi
[ -d "$build/archives" ] || CC=$compiler AR=aarch64-linux-gnu-ar CFLAGS='-O3 -fPIC' \
    sh data/packages/archives.sh "$build/archives" ||
    do_without 'arm64: the sources of its libraries cannot be fetched'

# Compiler and CPPFLAGS are those of data/packages/release.sh: with others, all is compiled again.
# shellcheck disable=SC2086 # it may have options
check 'it builds' ${MAKE:-make} --no-print-directory BUILD="$build" DEPS=0 CC="$compiler" \
    AR=aarch64-linux-gnu-ar OBJCOPY=aarch64-linux-gnu-objcopy \
    CPPFLAGS="-I$build/archives/include" LDFLAGS="--sysroot=$sysroot -L$build/archives/lib" \
    LIGHTLY="-O1 -idirafter $sysroot/usr/include" TEST_LIBS='-lcheck -lsubunit -lrt' \
    UNIT_SUITES="$UNIT" all "$build/unit" "$build/oracle"
native=${build%/*}/attn-cli
# shellcheck disable=SC2086 # it may have options
check 'it builds for this processor' ${MAKE:-make} --no-print-directory BUILD="${build%/*}" DEPS=0 \
    "$native"
check 'scripts stand for its programs' wrap attn-cli unit oracle
same 'its kernels are of its own instructions' 'kernels: neon' \
    "$("$build/run/attn-cli" --version | grep kernels)"
export ATTN_UNIT_FEW="${ATTN_UNIT_FEW:-2}"

for model in $BITS; do
    for precision in f32 bf16; do
        : >"$scratch/bits"
        check "$precision of $model has the bits that it has here" \
            same_bits "$model" --ids 1,2,3,4,5 --precision $precision
    done
done
# shellcheck disable=SC2086 # several
stage unit "$build/run/unit" $UNIT
for model in $GOLDEN; do
    stage "oracle $model" "$build/run/oracle" "$build/run/attn-cli" \
        tests/references/golden*/"$model"
done
for pattern in $CLI; do
    stage "cli $pattern" sh tests/cli/run.sh "$build/run" "$pattern"
done
closing
