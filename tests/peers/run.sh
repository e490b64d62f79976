#!/bin/sh
# attn-cli beside PyTorch, ONNX Runtime, llama.cpp and numpy; installs them where they are missing.
#
#     sh tests/peers/run.sh [BUILD]
#
# PyTorch and numpy come from Debian (with OpenBLAS, without which they would multiply in plain
# Fortran), ONNX Runtime and llama.cpp from npm. The model, the files made of it and node's modules
# take 3.5 GB in BUILD/peers. ROUNDS=N: how often each is measured (5), as long as all of it takes
# MINUTES=N at most (9) from its start, and once at least; a terminal shows how far it is.
# ONLY=mean,head: those rows alone, without llama.cpp; `mean` or `greedy` alone needs neither npm
# nor graphs; DEPS=0: install nothing. SHAPES='gpt2 smollm2-135m qwen2.5-0.5b': these beside
# llama.cpp alone, in twelve bytes for each of their parameters.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
peers=$build/peers

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
STARTED=$(date +%s)
MINUTES=${MINUTES:-9}
export STARTED MINUTES
mkdir -p "$peers"
PEERS=$(cd "$peers" && pwd)
export PEERS

needs_node() {
    [ -n "${SHAPES-}" ] || { [ "${ONLY-}" != mean ] && [ "${ONLY-}" != greedy ]; }
}

# PyTorch alone would come with reference BLAS, which takes ten times as long.
have_packages() {
    python=$(sh dependencies.sh python \
        'torch, numpy; assert "openblas" in open("/proc/self/maps").read()') || return
    needs_node || return 0
    command -v node >/dev/null && command -v npm >/dev/null
}

install_packages() {
    set -- python3-torch python3-numpy libopenblas0-pthread
    ! needs_node || command -v npm >/dev/null || set -- "$@" nodejs npm
    if [ "${DEPS-}" = 0 ] || ! command -v apt-get >/dev/null; then
        printf 'bench-peers needs %s\n' "$*" >&2
        exit 1
    fi
    root=
    [ "$(id -u)" = 0 ] || root=sudo
    $root apt-get -q -y update
    $root apt-get -q -y --no-install-recommends install "$@"
}

# The scripts of the packages would download more, for graphics cards.
install_modules() {
    cp tests/peers/package.json tests/peers/package-lock.json "$peers"
    (cd "$peers" && npm ci --silent --no-audit --no-fund --ignore-scripts)
}

# A processor younger than OpenBLAS gets what was for one of 2004.
choose_kernels() {
    OPENBLAS_VERBOSE=2 "$python" -c 'import numpy' 2>&1 | grep -qx 'Core: Prescott' || return 0
    for pair in avx512dq:SkylakeX avx2:Haswell; do
        grep -qw "${pair%:*}" /proc/cpuinfo || continue
        export OPENBLAS_CORETYPE="${pair#*:}"
        return
    done
}

# The model again, with a vocabulary: w0, w1, … for its 50,257 ids.
make_words() {
    mkdir -p "$peers/words"
    ln -sf ../gpt2/config.json ../gpt2/model.safetensors "$peers/words"
    seq 0 50256 | sed 's/.*/"w&",/; 1s/^/[/; $s/,$/]/' >"$peers/words/vocab.json"
}

# For llama.cpp, too.
make_files() {
    for type in F32 F16 BF16; do
        file=$1/$(printf %s "$type" | tr '[:upper:]' '[:lower:]').gguf
        [ -f "$file" ] || "$python" tests/gguf/write.py "$1" "$file" "$type"
    done
}

make_model() {
    mkdir -p "$1"
    [ -f "$1/model.safetensors" ] || "$build/attn-cli" init -q --shape "$2" --force -o "$1"
}

have_packages || { install_packages && have_packages; }
printf 'python: %s\n' "$python"
choose_kernels
llama=$peers/node_modules/@node-llama-cpp/linux-x64 # where there is one for this processor
! needs_node || [ -d "$peers/node_modules/onnxruntime-node" ] || install_modules
if [ -n "${SHAPES-}" ]; then
    set --
    for shape in $SHAPES; do
        make_model "$peers/shapes/$shape" "$shape"
        make_files "$peers/shapes/$shape"
        set -- "$@" "$peers/shapes/$shape"
    done
    exec "$python" tests/peers/decoders.py "$build/attn-cli" "$@"
fi
make_model "$peers/gpt2" gpt2
! needs_node || [ -f "$peers/cache.onnx" ] || "$python" tests/peers/gpt2.py "$peers/gpt2" "$peers"
[ -f "$peers/words/vocab.json" ] || make_words
if [ -n "${ONLY-}" ] || [ ! -d "$llama" ]; then
    exec "$python" tests/peers/compare.py "$build/attn-cli" "$peers"
fi
make_files "$peers/gpt2"
MINUTES=$(awk "BEGIN { print 0.7 * $MINUTES }") \
    "$python" tests/peers/compare.py "$build/attn-cli" "$peers"
echo
exec "$python" tests/peers/decoders.py "$build/attn-cli" "$peers/gpt2"
