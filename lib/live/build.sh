#!/bin/sh
# Compile the engine for browsers: BUILD/live.wasm, from the sources of attn-cli and, as Debian has
# no packages for WebAssembly, from those of the libraries' packages, which apt-get fetches.
#
#     sh lib/live/build.sh [BUILD]
#
# The status is 69 where it cannot be compiled here for want of something.
#
# BUILD/sysroot holds the libraries. Nothing is installed, and nobody has to be root.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/wasm}
compiler='clang --target=wasm32-wasi'
flags='-O3 -msimd128'

do_without() { # WHY
    printf 'the engine of live pages is not compiled: %s\n' "$1" >&2
    exit 69 # EX_UNAVAILABLE, which no compiler says
}

# apt-get with lists and a state of its own: this system's stay as they are.
apt() {
    apt-get -q -o APT::Sandbox::User= -o Dir::State="$fetched/state" \
        -o Dir::State::status="$fetched/status" -o Dir::Cache="$fetched/cache" \
        -o Dir::Etc::SourceList="$fetched/sources.list" -o Dir::Etc::SourceParts=/dev/null "$@"
}

release() {
    # shellcheck source=/dev/null
    . /etc/os-release
    case $ID in
    debian) printf 'deb-src http://deb.debian.org/debian %s main\n' "$VERSION_CODENAME" ;;
    ubuntu) printf 'deb-src http://archive.ubuntu.com/ubuntu %s main universe\n' \
        "$VERSION_CODENAME" ;;
    *) return 1 ;;
    esac
}

fetch() {
    mkdir -p "$fetched/state/lists/partial" "$fetched/cache/archives/partial"
    : >"$fetched/status"
    release >"$fetched/sources.list" && apt update &&
        (cd "$fetched" && apt source cjson utf8proc libonig)
}

# Oniguruma's headers ask for what its configure would find.
configure_onig() {
    cat >"$1/config.h" <<'END'
#define HAVE_ALLOCA_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_STDINT_H 1
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOIDP 4
#define VERSION "6.9.8"
END
}

library() { # NAME SOURCE...
    name=$1
    shift
    mkdir -p "$sysroot/$name"
    for source in "$@"; do
        $compiler $flags -w -c "$source" -o "$sysroot/$name/$(basename "$source" .c).o" ||
            return
    done
    llvm-ar rcs "$sysroot/lib/lib$name.a" "$sysroot/$name"/*.o && rm -r "${sysroot:?}/$name"
}

# Of Oniguruma the encoding and the syntax that lib/text/regex.c asks for.
fill_sysroot() {
    sysroot=$fetched/sysroot
    mkdir -p "$sysroot/include/cjson" "$sysroot/lib"
    onig=$(echo "$fetched"/libonig-*/src)
    cp "$fetched"/cjson-*/cJSON.h "$sysroot/include/cjson"
    cp "$fetched"/utf8proc-*/utf8proc.h "$onig/oniguruma.h" "$sysroot/include"
    configure_onig "$onig"
    library cjson "$fetched"/cjson-*/cJSON.c &&
        library utf8proc "$fetched"/utf8proc-*/utf8proc.c &&
        (cd "$onig" && library onig regcomp.c regenc.c regerror.c regexec.c regext.c \
            regparse.c regsyntax.c regtrav.c regversion.c st.c ascii.c utf8.c unicode.c \
            unicode_fold1_key.c unicode_fold2_key.c unicode_fold3_key.c unicode_unfold_key.c)
}

for tool in clang wasm-ld llvm-ar; do
    command -v $tool >/dev/null || do_without "$tool is not installed"
done
for tool in apt-get dpkg-source; do
    command -v $tool >/dev/null ||
        do_without "its libraries come from Debian by $tool, which is not here"
done
if [ ! -d "$build/sysroot" ]; then
    rm -rf "$build.part"
    mkdir -p "$build.part"
    fetched=$(cd "$build.part" && pwd)
    if ! { fetch && fill_sysroot; } >"$fetched/log" 2>&1; then
        tail -n 3 "$fetched/log" >&2
        do_without 'its libraries cannot be compiled'
    fi
    mkdir -p "$build"
    mv "$fetched/sysroot" "$build/sysroot"
    rm -rf "$fetched"
fi
wasi='-D_WASI_EMULATED_MMAN -D_WASI_EMULATED_SIGNAL -Ilib -Ilib/live/wasi'
wasi="$wasi -include lib/live/wasi/lacks.h"
# Of calls that WASI has no declaration of, what the engine does not reach is not linked: where it
# reached one, the linker would refuse it.
warnings='-Wno-implicit-function-declaration -Wno-missing-field-initializers'
warnings="$warnings -Wno-pass-failed -Wno-shorten-64-to-32 -Wno-gnu-statement-expression"
exec ${MAKE:-make} --no-print-directory "$build/live.wasm" BUILD="$build" DEPS=0 CC="$compiler" \
    CPPFLAGS="-I$build/sysroot/include $wasi" LDFLAGS="-L$build/sysroot/lib" \
    WERROR="$warnings" \
    CFLAGS="$flags -g0 -fopenmp-simd -fno-math-errno -fno-trapping-math"
