#!/bin/sh
# Compile the engine for browsers: BUILD/live.wasm, from the sources of attn-cli and, as Debian has
# no packages for WebAssembly, from those of the libraries' packages, which apt-get fetches.
#
#     sh lib/live/build.sh [BUILD]
#
# The status is 69 if a tool or source that it needs is missing.
#
# BUILD/sysroot holds the libraries. Nothing is installed; root is not needed.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/wasm}
compiler='clang --target=wasm32-wasi'
flags='-O3 -msimd128'

do_without() { # WHY
    printf 'the engine of live pages is not compiled: %s\n' "$1" >&2
    exit 69 # EX_UNAVAILABLE, which no compiler says
}

for tool in clang wasm-ld llvm-ar; do
    command -v $tool >/dev/null || do_without "$tool is not installed"
done
[ -d "$build/sysroot" ] ||
    CC=$compiler CFLAGS=$flags AR=llvm-ar sh data/packages/archives.sh "$build/sysroot"
wasi='-D_WASI_EMULATED_MMAN -D_WASI_EMULATED_SIGNAL -Ilib -Ilib/live/wasi'
wasi="$wasi -include lib/live/wasi/lacks.h"
# Code that the engine does not reach is not linked, so it may call functions that WASI lacks; the
# linker refuses such a call in code that the engine reaches.
warnings='-Wno-implicit-function-declaration -Wno-missing-field-initializers'
warnings="$warnings -Wno-pass-failed -Wno-shorten-64-to-32 -Wno-gnu-statement-expression"
exec ${MAKE:-make} --no-print-directory "$build/live.wasm" BUILD="$build" DEPS=0 CC="$compiler" \
    CPPFLAGS="-I$build/sysroot/include $wasi" LDFLAGS="-L$build/sysroot/lib" \
    WERROR="$warnings" \
    CFLAGS="$flags -g0 -fopenmp-simd -fno-math-errno -fno-trapping-math"
