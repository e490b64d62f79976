#!/bin/sh
# What attn-cli is built on: look for it, say what is missing, or install that.
#
#     ./dependencies.sh check            compiler and libraries; status 1 when something is missing
#     ./dependencies.sh check tests      those, and what only the tests need
#     ./dependencies.sh check cluster    those, and the schedulers of `make test-cluster`
#     ./dependencies.sh check fuzzing    what `make fuzz` builds with, CC being clang
#     ./dependencies.sh install [tests]  the same, but install with apt-get what is missing
#
# A library is there when a program that names it compiles and links, with CC, CPPFLAGS and LDFLAGS;
# a program when its name is found, a library that is loaded only when it is used when a program can
# load it. Nothing is built on such a one: it is installed where something is, and not missed where
# nothing is.
set -u

# name | header | library | apt | dnf | brew ("-": no such package)
needed='C compiler|stdio.h||gcc libc6-dev|gcc|-
libxsmm|libxsmm_generator.h|-lxsmmgen|libxsmm-dev|libxsmm-devel|-
cJSON|cjson/cJSON.h|-lcjson|libcjson-dev|cjson-devel|cjson
utf8proc|utf8proc.h|-lutf8proc|libutf8proc-dev|utf8proc-devel|utf8proc'
loaded='libpangocairo-1.0.so.0'
loaded_packages='libpangocairo-1.0-0'
needed_by_tests='Check|check.h|-lcheck|check libsubunit-dev|check-devel|check'
needed_by_clusters='Slurm|program slurmctld||slurmctld slurmd slurm-client munge|slurm-slurmd|-
Open MPI|program mpirun||openmpi-bin|openmpi|open-mpi
GNU parallel|program parallel||parallel|parallel|parallel'
fuzzing='-fsanitize=fuzzer-no-link,address'
needed_by_fuzzing="libFuzzer|stddef.h|$fuzzing|clang libclang-rt-14-dev|clang compiler-rt|llvm"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

links() { # HEADER LIBRARY, or "program NAME"
    case $1 in "program "*)
        PATH=$PATH:/usr/sbin:/sbin command -v "${1#program }" >/dev/null
        return
        ;;
    esac
    printf '#include <stddef.h>\n#include <%s>\nint main(void) { return 0; }\n' "$1" \
        >"$scratch/probe.c"
    # shellcheck disable=SC2086 # each may hold several words, or none
    ${CC:-cc} ${CPPFLAGS-} "$scratch/probe.c" ${LDFLAGS-} $2 -o "$scratch/probe" 2>"$scratch/log"
}

loads() { # LIBRARY
    printf '#include <dlfcn.h>\nint main(void) { return !dlopen("%s", RTLD_LAZY); }\n' "$1" \
        >"$scratch/probe.c"
    # shellcheck disable=SC2086 # may hold several words, or none
    ${CC:-cc} "$scratch/probe.c" ${LDFLAGS-} -ldl -o "$scratch/probe" 2>"$scratch/log" &&
        "$scratch/probe"
}

# Sets `missing` to the rows whose library is not there.
look() {
    missing=$(printf '%s\n' "$rows" | while IFS='|' read -r name header library packages; do
        links "$header" "$library" || printf '%s\n' "$name|$header|$library|$packages"
    done)
}

column() { # NUMBER [SEPARATOR]: that column of the missing rows, in one line
    printf '%s\n' "$missing" | awk -F '|' -v n="$1" -v separator="${2- }" \
        '$n != "-" { printf "%s%s", found++ ? separator : "", $n }'
}

explain() {
    {
        printf '%s Missing: %s\n' "$verdict" "$(column 1 ', ')"
        printf '  Debian, Ubuntu  apt-get install %s\n' "$(column 4)"
        printf '  Fedora, EPEL    dnf install %s\n' "$(column 5)"
        printf '  macOS           brew install %s\n' "$(column 6)"
        case $missing in *libxsmm*)
            printf '                  libxsmm 1.17 from https://github.com/libxsmm/libxsmm\n' ;;
        esac
        printf '"make run" and "make test" install with apt-get by themselves (DEPS=0: never).\n'
    } >&2
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

apt() {
    as_root apt-get -q -y -o DPkg::Lock::Timeout=120 --no-install-recommends "$@" </dev/null
}

# The lists of packages are fetched only when the first try shows that they are missing or old.
install() { # PACKAGE...
    printf 'installing with apt-get: %s\n' "$*"
    apt install "$@" >"$scratch/log" 2>&1 && return
    { apt update && apt install "$@"; } >"$scratch/log" 2>&1 && return
    cat "$scratch/log" >&2
    return 1
}

rows=$needed
verdict='attn-cli cannot be built yet.'
case ${2-} in
tests) rows="$needed
$needed_by_tests" ;;
cluster)
    rows="$needed
$needed_by_clusters"
    verdict='Not every scheduler can be tried.'
    ;;
fuzzing)
    rows="$needed
$needed_by_fuzzing"
    verdict='Nothing can be fuzzed.'
    ;;
esac

can_install=
[ "${1-}" = install ] && [ "${DEPS-}" != 0 ] && command -v apt-get >/dev/null && can_install=1

look
if [ -n "$missing" ] && [ -n "$can_install" ]; then
    # shellcheck disable=SC2046 # one word a package
    install $(column 4) && look
fi
if [ -n "$missing" ]; then
    explain
    exit 1
fi
if [ -n "$can_install" ] && ! loads "$loaded"; then
    install "$loaded_packages" || printf 'without it, no pictures are drawn as png and pdf\n' >&2
fi
exit 0
