#!/bin/sh
# Check whether the packages that attn-cli needs are installed, or install them with apt-get.
#
#     ./dependencies.sh check            compiler and libraries; status 1 if something is missing
#     ./dependencies.sh check SET        the packages of a set:
#                                            tests      those above, Check and jq
#                                            cluster    those above, Slurm, Open MPI, GNU parallel
#                                            fuzzing    those above and libFuzzer; CC is clang
#                                            page       those above, Chromium, node and fonts
#                                            static     those above and dpkg-source
#                                            wheel      those above and python3
#                                            deb        those above, build-essential, debhelper
#                                            gguf       node, npm and numpy, for `make test-gguf`
#                                            wasm       clang and libraries for WebAssembly
#                                            arm64      a cross compiler and qemu
#                                            format     clang-format
#                                            pip        pip and venv, for Python's environments
#                                            everything all packages that `make test` can use
#     ./dependencies.sh install [SET]    the same, and install missing packages
#     ./dependencies.sh packages SET     print the Debian packages of the libraries in a set
#     ./dependencies.sh python 'a, b'    print a python3 that has these modules; else status 1
#
# A library is installed if a program that uses it compiles and links with CC, CPPFLAGS and LDFLAGS,
# a program if one of its names is on the path, a Python module if a python3 imports it. Packages in
# `wanted…` are optional: installed if possible, and otherwise only noted.
set -u

# The system's python3, which has the modules of Debian packages, or else the one on the path.
python_with() { # MODULES
    for python in /usr/bin/python3 python3; do
        "$python" -c "import $1" 2>/dev/null && command -v "$python" && return
    done
    return 1
}

if [ "${1-}" = python ]; then
    python_with "$2"
    exit
fi

# libxsmm generates machine code for x86-64; elsewhere lib/math has the kernels.
generator='libxsmm|libxsmm_generator.h|-lxsmmgen|libxsmm-dev|libxsmm-devel|-
'
case $(${CC:-cc} -dumpmachine 2>/dev/null || uname -ms) in
x86_64*linux* | 'Linux x86_64' | '') ;;
*) generator='' ;;
esac

compiler=gcc
case ${CC-} in *clang*) compiler=clang ;; esac

# name | what to look for | library | apt | dnf | brew ("-": no such package)
needed="C compiler|stdio.h||$compiler libc6-dev|$compiler|-
${generator}cJSON|cjson/cJSON.h|-lcjson|libcjson-dev|cjson-devel|cjson
utf8proc|utf8proc.h|-lutf8proc|libutf8proc-dev|utf8proc-devel|utf8proc
Oniguruma|oniguruma.h|-lonig|libonig-dev|oniguruma-devel|oniguruma"
wanted='rsvg-convert|program rsvg-convert||librsvg2-bin|librsvg2-tools|librsvg'
needed_by_tests='Check|check.h|-lcheck|check libsubunit-dev|check-devel|check'
# jq is small enough for `make test`; `make test-all` installs the others.
wanted_by_tests='jq|program jq||jq|jq|jq'
node='node|program node||nodejs|nodejs|node
npm|program npm||npm|npm|node'
needed_by_pages="Chromium|program chromium chromium-browser google-chrome||chromium|chromium|-
$node"
# With other fonts than those of Arial's widths, texts and tables of pages have other sizes.
liberation='file /usr/share/fonts/*/liberation*'
wanted_by_pages="Liberation fonts|$liberation||fonts-liberation|liberation-fonts|-"
needed_by_gguf="$node
numpy|python numpy||python3-numpy|python3-numpy|numpy"
clang_format='clang-format|program clang-format||clang-format|clang-tools-extra|clang-format'
needed_by_wheels='python3|program python3||python3|python3|python'
wanted_by_all_tests="bash|program bash||bash|bash|bash
script|program script||bsdutils|util-linux|-
setpriv|program setpriv||util-linux|util-linux|-
strace|program strace||strace|strace|-
man|program man||man-db|man-db|-
groff|program groff||groff|groff|groff
zsh|program zsh||zsh|zsh|zsh
fish|program fish||fish|fish|fish
$needed_by_wheels
numpy|python numpy||python3-numpy|python3-numpy|numpy
jsonschema|python jsonschema||python3-jsonschema|python3-jsonschema|-
pandas|python pandas||python3-pandas|python3-pandas|-
PyTorch|python torch||python3-torch|python3-torch|pytorch
R|program Rscript||r-base-core|R-core|r
jsonlite|file /usr/lib*/R/*library/jsonlite||r-cran-jsonlite|R-jsonlite|-
gnuplot|program gnuplot||gnuplot-nox|gnuplot|gnuplot
pdflatex|program pdflatex||texlive-latex-base texlive-latex-recommended lmodern|texlive-latex|-
TikZ|file /usr/share/tex*/texmf-dist/tex/latex/pgf/*/tikz.sty||texlive-pictures|texlive-pgf|-
pandoc|program pandoc||pandoc|pandoc|pandoc
xmllint|program xmllint||libxml2-utils|libxml2|libxml2
pdftotext|program pdftotext||poppler-utils|poppler-utils|poppler
$clang_format"
needed_by_pip='pip|python pip||python3-pip|python3-pip|python
venv|python ensurepip||python3-venv|python3|python'
needed_by_arm64='qemu|program qemu-aarch64 qemu-aarch64-static||qemu-user|qemu-user|-
gcc for arm64|program aarch64-linux-gnu-gcc||gcc-aarch64-linux-gnu libc6-dev-arm64-cross|-|-'
needed_by_static='dpkg-source|program dpkg-source||dpkg-dev|-|-'
needed_by_deb='build-essential|file /usr/share/doc/build-essential||build-essential|-|-
debhelper|program dh||debhelper|-|-'
needed_by_wasm="clang|program clang||clang|-|-
lld|program wasm-ld||lld|-|-
llvm|program llvm-ar||llvm|-|-
C library of WebAssembly|file /usr/lib/wasm32-wasi/libc.a||wasi-libc|-|-
compiler-rt of WebAssembly|file /usr/lib/llvm-*/lib/clang/*/lib/wasi||libclang-rt-14-dev-wasm32|-|-
$needed_by_static"
needed_by_clusters='Slurm|program slurmctld||slurmctld slurmd slurm-client munge|slurm-slurmd|-
Open MPI|program mpirun||openmpi-bin|openmpi|open-mpi
GNU parallel|program parallel||parallel|parallel|parallel'
fuzzing='-fsanitize=fuzzer-no-link,address'
needed_by_fuzzing="libFuzzer|stddef.h|$fuzzing|clang libclang-rt-14-dev|clang compiler-rt|llvm"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

compiles() { # [LIBRARY...]: whether the probe compiles and links
    # shellcheck disable=SC2086 # each may have several words, or none
    ${CC:-cc} ${CPPFLAGS-} "$scratch/probe.c" ${LDFLAGS-} "$@" -o "$scratch/probe" \
        2>"$scratch/log" || { cp "$scratch/log" "$scratch/why" && false; }
}

links() { # HEADER LIBRARY
    printf '#include <stddef.h>\n#include <%s>\nint main(void) { return 0; }\n' "$1" \
        >"$scratch/probe.c"
    # shellcheck disable=SC2086 # none, or one
    compiles $2
}

is_found() { # PROGRAM...: whether one of them is on the path
    for program in "$@"; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null && return
    done
    return 1
}

# shellcheck disable=SC2086 # several names
is_there() { # WHAT LIBRARY
    case $1 in
    "program "*) is_found ${1#program } ;;
    "python "*) python_with "${1#python }" >/dev/null ;;
    "file "*) ls -d ${1#file } >/dev/null 2>&1 ;;
    *) links "$1" "$2" ;;
    esac
}

look() { # ROWS: prints the rows that are missing
    printf '%s\n' "$1" | while IFS='|' read -r name what library packages; do
        [ -z "$name" ] || is_there "$what" "$library" ||
            printf '%s\n' "$name|$what|$library|$packages"
    done
}

column() { # NUMBER ROWS [SEPARATOR]: prints a column in one line
    printf '%s\n' "$2" | awk -F '|' -v n="$1" -v separator="${3- }" \
        'NF && $n != "-" { printf "%s%s", found++ ? separator : "", $n }'
}

explain() {
    {
        printf '%s Missing: %s\n' "$verdict" "$(column 1 "$missing" ', ')"
        {
            printf '  Debian, Ubuntu  apt-get install %s\n' "$(column 4 "$missing")"
            printf '  Fedora, EPEL    dnf install %s\n' "$(column 5 "$missing")"
            printf '  macOS           brew install %s\n' "$(column 6 "$missing")"
        } | grep -v ' $' # no such package
        # The compiler does not search Homebrew's folders.
        # shellcheck disable=SC2016 # printed, not expanded
        [ "$(uname 2>/dev/null)" != Darwin ] || printf '                  then make %s %s\n' \
            'CPPFLAGS=-I$(brew --prefix)/include' 'LDFLAGS=-L$(brew --prefix)/lib'
        case $missing in *libxsmm*)
            printf '                  libxsmm 1.17 from https://github.com/libxsmm/libxsmm\n' ;;
        esac
        if [ -n "$without_root" ]; then
            printf 'Only root may install, and there is no sudo: run that line as root.\n'
        elif [ -z "$tried" ]; then
            printf '"make run" and "make test" install with apt-get (DEPS=0: never).\n'
        elif ! grep -q '^installing' "$scratch/apt"; then
            printf 'sudo did not start apt-get, as it says above: run that line as root.\n'
        elif grep -qE "$no_network" "$scratch/apt"; then
            printf 'apt-get could not reach its servers: try again with a network.\n'
        elif [ -n "$installed" ]; then
            printf "The packages are installed, but '%s' does not find them%s.\n" "${CC:-cc}" \
                "$(sed -n 's/.*error: /: /p' "$scratch/why" 2>/dev/null | head -n 1)"
            printf 'Use another compiler (make CC=gcc), or name their folders: CPPFLAGS=-I… %s\n' \
                'LDFLAGS=-L…'
        else
            printf 'apt-get could not install it: what it said is above.\n'
        fi
    } >&2
}

# What apt-get says without a network.
no_network='Temporary failure resolving|Could not (resolve|connect)|Cannot initiate the connection'

# Download the lists of packages only if installing fails without them. If one of many packages
# cannot be installed, install the others.
# shellcheck disable=SC2016 # expanded by the shell that sudo starts
steps='
    echo installing
    apt() { apt-get -q -y -o DPkg::Lock::Timeout=120 --no-install-recommends "$@"; }
    apt install "$@" || { apt update && apt install "$@"; } ||
        { [ $# -gt 9 ] && for package in "$@"; do apt install "$package"; done; }'

# Install packages in one process of sudo, which asks for a password at most once.
install() { # PACKAGE...
    tried=1
    printf 'installing with apt-get: %s\n' "$*"
    $sudo env DEBIAN_FRONTEND=noninteractive sh -c "$steps" sh "$@" \
        >"$scratch/apt" 2>&1 </dev/null && installed=1 || tail -n 20 "$scratch/apt" >&2
}

rows=$needed wants=$wanted
verdict='attn-cli cannot be built yet.'
case ${2-} in
tests | everything)
    rows="$rows
$needed_by_tests"
    wants="$wants
$wanted_by_tests"
    [ "$2" = tests ] || wants="$wants
$needed_by_pages
$wanted_by_pages
$wanted_by_all_tests"
    verdict='The tests cannot be built yet.'
    ;;
cluster)
    rows="$rows
$needed_by_clusters"
    verdict='Not every scheduler can be tried.'
    ;;
page)
    rows="$rows
$needed_by_pages"
    wants="$wants
$wanted_by_pages"
    verdict='No page can be tried.'
    ;;
gguf)
    rows=$needed_by_gguf wants=''
    verdict='No GGUF file can be held against llama.cpp.'
    ;;
fuzzing)
    rows="$rows
$needed_by_fuzzing"
    verdict='Nothing can be fuzzed.'
    ;;
static)
    rows="$rows
$needed_by_static"
    verdict='The static program cannot be built.'
    ;;
wheel)
    rows="$rows
$needed_by_wheels"
    wants="$wants
$needed_by_static"
    verdict='No wheel can be built.'
    ;;
deb)
    rows="$rows
$needed_by_deb"
    verdict='No Debian package can be built.'
    ;;
format)
    rows=$clang_format wants=''
    verdict='The format cannot be checked.'
    ;;
pip)
    rows=$needed_by_pip wants=''
    verdict='Python packages cannot be installed yet.'
    ;;
wasm)
    rows=$needed_by_wasm wants=''
    verdict='No engine can be compiled for browsers.'
    ;;
arm64)
    rows=$needed_by_arm64 wants=''
    verdict='Nothing can be built for arm64.'
    ;;
esac
if [ "${1-}" = packages ]; then
    column 4 "$(printf '%s\n' "$rows" | awk -F '|' '$3')"
    exit
fi

# The packages of gcc and clang are known; another compiler must be there.
chosen=${CC:-cc} chosen=${chosen%% *}
case $chosen:$rows in
cc:* | gcc:* | clang:*) ;;
*stdio.h*)
    command -v "$chosen" >/dev/null || {
        printf "CC: expected a compiler, found '%s', which is not on the path\n" "$chosen" >&2
        exit 1
    }
    ;;
esac

without_root='' tried='' installed='' sudo='' lacking=''
missing=$(look "$rows")
if [ "${1-}" = install ] && [ "${DEPS-}" != 0 ] && command -v apt-get >/dev/null; then
    [ "$(id -u)" = 0 ] || sudo=sudo
    if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
        without_root=1
    else
        lacking=$(look "$wants")
    fi
    if [ -z "$without_root" ] && [ -n "$missing$lacking" ]; then
        # shellcheck disable=SC2046 # one word a package
        install $(column 4 "$missing
$lacking")
        missing=$(look "$rows")
        lacking=$(look "$wants")
    fi
fi
if [ -n "$missing" ]; then
    explain "$@"
    exit 1
fi
[ -z "$lacking" ] || printf 'goes on without: %s\n' "$(column 1 "$lacking" ', ')" >&2
exit 0
