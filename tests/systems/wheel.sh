#!/bin/sh
# The wheel of `make wheel` installs without a compiler into new virtual environments of up to three
# versions of Python; its program and its module give the bits of BUILD/attn-cli; pip removes all of
# it.
#
#     sh tests/systems/wheel.sh [BUILD]
#
# Uses the oldest, the newest and, with WHOLE=1, a middle Python of the path, of pyenv and of uv.
# Without a network, the wheel is for this system only (data/packages/archives.sh), and the module
# is not tried.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
given=${1:-build} # make takes no blank, which the path to it may have
build=$(cd "$given" && pwd)
wheel=
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
unset LIBATTN ATTN_MODEL PYTHONPATH

if [ ! -e "$build/libattn.so" ]; then
    do_without 'the shared library is not built for another system or with sanitizers'
fi

# Print pythons that can make virtual environments: `MINOR PATH`, a line for each version.
pythons() {
    for python in /usr/bin/python3 python3 python3.8 python3.9 python3.10 python3.11 python3.12 \
        python3.13 python3.14 "$HOME"/.pyenv/versions/3.*/bin/python3 \
        "$HOME"/.local/share/uv/python/*/bin/python3; do
        "$python" -c 'import ensurepip, sys, venv
if sys.version_info >= (3, 8): print(sys.version_info[1], sys.executable)' 2>/dev/null
    done | sort -s -n -u -k 1,1
}

packs() {
    make --no-print-directory BUILD="$given" DEPS=0 wheel || return
    wheel=$(ls -t "$build"/wheel/*.whl | head -n 1)
    cp "$wheel" "$scratch" && wheel=$scratch/$(basename "$wheel")
}

packs_the_same() {
    TZ=Asia/Kathmandu python3 data/packages/wheel.py "$build" &&
        cmp "$wheel" "$build/wheel/$(basename "$wheel")"
}

# `pip install .` gets no libraries, for which it would have to install a package. `make wheel` gets
# them later, here from BUILD.
takes_libraries_later() {
    later=$scratch/later
    mkdir "$later" &&
        (cd "$build" && { echo flags && find cmd lib -name '*.c' && find cmd lib -name '*.o'; } |
            tar cf - -T -) | tar xmf - -C "$later" &&
        make --no-print-directory BUILD="$later" DEPS=0 FETCH=false wheel-files &&
        python3 data/packages/wheel.py "$later" && ls "$later"/wheel/*-linux_*.whl &&
        make --no-print-directory BUILD="$later" DEPS=0 FETCH="cp -r '$build/archives'" wheel &&
        is "$(basename "$wheel")" "$(cd "$later/wheel" && echo *.whl)"
}

# The library exports the symbols of Debian's list, and none of the libraries that it contains.
exports_the_interface() {
    python3 -m zipfile -e "$wheel" "$scratch/unpacked" || return
    nm -D --defined-only "$scratch"/unpacked/attn/libattn.so.* |
        awk '$2 != "A" { sub("@@", "@", $3); print $3 }' | LC_ALL=C sort >"$scratch/exported"
    sed -n 's/^ \(attn_[^ ]*\) .*/\1/p' data/packages/debian/libattn*.symbols | LC_ALL=C sort |
        diff - "$scratch/exported" && [ -s "$scratch/exported" ]
}

names_what_it_contains() {
    licences=$(echo "$scratch"/unpacked/*.dist-info/licenses)
    cat "$licences/LIBRARIES.txt"
    cmp THIRD-PARTY.md "$licences/THIRD-PARTY.md" && cmp LICENSE "$licences/LICENSE" || return
    # A portable wheel contains each library that the program is linked with.
    case $wheel in
    *manylinux*) set -- cJSON utf8proc Oniguruma ;;
    *) set -- ;;
    esac
    ! "$build/attn-cli" --version | grep -q libxsmm || set -- "$@" libxsmm
    for library in "$@"; do
        grep -E "^$library [0-9.]+: [BM]" "$licences/LIBRARIES.txt" || return
    done
}

for text in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$build/attn-cli" run -q "Life is short, eat $text desserts" --show all \
        -o "$scratch/$text.safetensors"
done

cat >"$scratch/calls.py" <<'END'
import json, sys
import attn, numpy
with attn.Model("tiny") as model:
    for number in range(1, 21):
        with open("%s/%d.safetensors" % (sys.argv[1], number), "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header, data = json.loads(file.read(size)), file.read()
        run = model.run("Life is short, eat %d desserts" % number, show="all")
        for name, values in run.items():
            begin, end = header[name]["data_offsets"]
            assert numpy.ascontiguousarray(values).tobytes() == data[begin:end], (number, name)
        assert len(run) > 20 and len(run) <= len(header)
END

# Without a compiler: no program is on the path.
installs() { # VENV
    env PATH=/nowhere "$1/bin/pip" install --quiet --no-index --no-deps "$wheel"
}

runs_the_same() { # VENV
    (cd "$1" && ./bin/attn-cli run -q 'Life is short, eat 7 desserts' --show all \
        -o "$scratch/ours.safetensors" --force) &&
        cmp "$scratch/7.safetensors" "$scratch/ours.safetensors"
}

has_numpy() { # VENV
    "$1/bin/python" -c 'import numpy' 2>/dev/null ||
        "$1/bin/pip" install --quiet --only-binary :all: --retries 1 numpy >/dev/null 2>&1
}

files() { # VENV
    find "$1" | LC_ALL=C sort
}

uninstalls() { # VENV
    "$1/bin/pip" uninstall --quiet --yes attn-cli && files "$1" | diff "$1.before" -
}

environment() { # MINOR PYTHON
    venv=$scratch/3.$1
    at="python 3.$1"
    check "$at: a new environment" "$2" -m venv "$venv"
    numpy=
    ! has_numpy "$venv" || numpy=1
    files "$venv" >"$venv.before"
    check "$at: pip installs the wheel" installs "$venv"
    check "$at: the program gives the bits of build/attn-cli" runs_the_same "$venv"
    if [ "$numpy" ]; then
        check "$at: twenty calls give the bits of build/attn-cli" \
            "$venv/bin/python" -I "$scratch/calls.py" "$scratch"
    else
        leave_out "$at: numpy cannot be fetched"
    fi
    check "$at: pip removes everything" uninstalls "$venv"
}

source_files() {
    find . -path ./build -prune -o -name .git -prune -o -type f -print | LC_ALL=C sort
}

# pip compiles the sources, here with the objects of $build, and adds no file to them.
compiles() {
    source_files >"$scratch/sources"
    BUILD=$build "$venv/bin/pip" install --quiet --no-index --no-deps . &&
        "$venv/bin/attn-cli" --version | cmp - "$scratch/version" && uninstalls "$venv" &&
        source_files | diff "$scratch/sources" -
}

# pip install -e: the module is that of the sources, the program that of $build.
follows_sources() {
    files "$venv" >"$venv.before"
    BUILD=$build "$venv/bin/pip" install --quiet --no-index --no-deps -e . &&
        "$venv/bin/attn-cli" --version | cmp - "$scratch/version" &&
        is "$(pwd)/lib/bindings/python/attn.py" "$("$venv/bin/python" -IB -c \
            'import attn; attn.Model("tiny").close(); print(attn.__file__)')" &&
        uninstalls "$venv"
}

check 'make wheel' packs
if [ -z "$wheel" ]; then
    closing
    exit
fi
newest=$(sed -n 's/.*`manylinux_2_\([0-9]*\)`.*/\1/p' data/guides/library.md)
needs_no_newer_libc() {
    needed=${wheel##*manylinux_2_}
    echo "$wheel" && [ "${needed%%_*}" -le "$newest" ]
}
case $wheel in
*manylinux*) # with a newer C library, old functions have newer names
    [ "$(getconf GNU_LIBC_VERSION | sed 's/.*[.]//')" -gt 37 ] ||
        check "the wheel needs no newer C library than 2.$newest" needs_no_newer_libc
    check 'make wheel after pip install . has the libraries' takes_libraries_later ;;
*) leave_out 'a portable wheel: the sources of its libraries cannot be fetched' ;;
esac
check 'the same files give the same wheel' packs_the_same
check 'libattn in the wheel exports the functions of attn.h alone' exports_the_interface
check 'the wheel names the libraries in it and their licences' names_what_it_contains
"$build/attn-cli" --version >"$scratch/version"
pythons >"$scratch/found"
count=$(wc -l <"$scratch/found")
[ "$count" -ge 3 ] || leave_out "three versions of Python: $count are here (python3-venv)"
for nth in $(printf '%s\n' 1 ${WHOLE:+$(((count + 1) / 2))} "$count" | sort -n -u); do
    # shellcheck disable=SC2046 # two words
    [ "$count" = 0 ] || environment $(sed -n "${nth}p" "$scratch/found")
done
[ "$count" = 0 ] || check 'pip compiles the sources' compiles
[ -z "$numpy" ] || check 'pip installs what follows the sources' follows_sources
if command -v uvx >/dev/null; then
    check 'uvx runs the program' uvx --from "$wheel" attn-cli --version
else
    leave_out 'uv is not installed'
fi
closing
