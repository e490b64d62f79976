#!/bin/sh
# Compile static libraries of cJSON, utf8proc and Oniguruma from the source packages of Debian or
# Ubuntu, which apt-get downloads. Installs nothing and does not need root.
#
#     sh data/packages/archives.sh build/archives
#     CC='clang --target=wasm32-wasi' CFLAGS=-O3 AR=llvm-ar sh data/packages/archives.sh FOLDER
#
# FOLDER must not exist. It is created, with include, lib and versions, after everything was
# compiled. The status is 69 if a tool is missing or the libraries cannot be fetched or compiled.
set -eu
target=$1

do_without() { # WHY
    printf 'libraries are not compiled: %s\n' "$1" >&2
    exit 69 # EX_UNAVAILABLE: no compiler exits with it
}

# Run apt-get with separate lists and state, so that those of the system do not change.
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

# The parts of config.h that Oniguruma's headers need.
configure_onig() {
    cat >"$1/config.h" <<'END'
#define HAVE_ALLOCA_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_STDINT_H 1
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_VOIDP __SIZEOF_POINTER__
#define VERSION "6.9.8"
END
}

# shellcheck disable=SC2086 # several words
library() { # NAME SOURCE...
    name=$1
    shift
    mkdir -p "$sysroot/$name"
    for source in "$@"; do
        ${CC:-cc} ${CFLAGS--O3} -w -c "$source" -o "$sysroot/$name/$(basename "$source" .c).o" ||
            return
    done
    ${AR:-ar} rcs "$sysroot/lib/lib$name.a" "$sysroot/$name"/*.o && rm -r "${sysroot:?}/$name"
}

# Add headers and libraries; Oniguruma only with the encoding and syntax of lib/text/matcher.c.
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
            unicode_fold1_key.c unicode_fold2_key.c unicode_fold3_key.c unicode_unfold_key.c) &&
        (cd "$fetched" && ls -d ./*/) | sed -nE 's|^./libonig|./Oniguruma|; s|/cjson|/cJSON|
            s|^./([^-]*)-([0-9.]*).*/$|\1 \2|p' >"$sysroot/versions"
}

for tool in apt-get dpkg-source; do
    command -v $tool >/dev/null ||
        do_without "they come from Debian by $tool (apt-get install dpkg-dev), which is not here"
done
rm -rf "$target.part"
mkdir -p "$target.part"
fetched=$(cd "$target.part" && pwd)
if ! { fetch && fill_sysroot; } >"$fetched/log" 2>&1; then
    tail -n 3 "$fetched/log" >&2
    do_without 'they cannot be fetched or compiled'
fi
mv "$fetched/sysroot" "$target"
rm -rf "$fetched"
