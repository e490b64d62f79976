#!/bin/sh
# attn-cli beside PyTorch, ONNX Runtime, llama.cpp and numpy; installs them where they are missing.
#
#     sh tests/peers/run.sh [BUILD]
#
# PyTorch and numpy come from Debian (with OpenBLAS, without which they would multiply in plain
# Fortran), ONNX Runtime and llama.cpp from npm. The model, the graphs made of it and node's modules
# take 2.5 GB in BUILD/peers. ROUNDS=N: how often each is measured (5), as long as all rows together
# take MINUTES=N at most (10), and once at least; a terminal shows how far it is. ONLY=mean,head:
# those rows alone; `mean` or `greedy` alone needs neither npm nor graphs; DEPS=0: install nothing.
# SHAPES='gpt2 smollm2-135m qwen2.5-0.5b': these beside llama.cpp, in fourteen bytes for each of
# their parameters.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
peers=$build/peers
python=/usr/bin/python3 # Debian's: it has Debian's packages

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mkdir -p "$peers"
PEERS=$(cd "$peers" && pwd)
export PEERS

needs_node() {
    [ -n "${SHAPES-}" ] || { [ "${ONLY-}" != mean ] && [ "${ONLY-}" != greedy ]; }
}

# PyTorch alone would come with reference BLAS, which takes ten times as long.
have_packages() {
    "$python" -c 'import torch, numpy; exit("openblas" not in open("/proc/self/maps").read())' \
        2>/dev/null || return
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

# For llama.cpp, too, and in BF16.
make_shape() {
    [ ! -f "$1/bf16/model.safetensors" ] || [ ! -f "$1/f16.gguf" ] || return 0
    mkdir -p "$peers/shapes"
    "$build/attn-cli" bench --shape "$2" --force --save "$1"
    "$python" tests/peers/gguf.py "$1" "$1"
}

have_packages || install_packages
choose_kernels
module=onnxruntime-node
[ -z "${SHAPES-}" ] || module=@node-llama-cpp/linux-x64
! needs_node || [ -d "$peers/node_modules/$module" ] || install_modules
if [ -n "${SHAPES-}" ]; then
    set --
    for shape in $SHAPES; do
        make_shape "$peers/shapes/$shape" "$shape"
        set -- "$@" "$peers/shapes/$shape"
    done
    exec "$python" tests/peers/decoders.py "$build/attn-cli" "$@"
fi
[ -f "$peers/gpt2/model.safetensors" ] ||
    "$build/attn-cli" bench --shape gpt2 --force --save "$peers/gpt2"
! needs_node || [ -f "$peers/cache.onnx" ] || "$python" tests/peers/gpt2.py "$peers/gpt2" "$peers"
[ -f "$peers/words/vocab.json" ] || make_words
exec "$python" tests/peers/compare.py "$build/attn-cli" "$peers"
