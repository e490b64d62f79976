#!/bin/sh
# attn-cli beside PyTorch with transformers, ONNX Runtime, llama.cpp, TransformerLens and minicons.
#
#     sh tests/peers/run.sh [BUILD]
#
# The environment is that of tests/real, and what that takes comes first; then measuring takes
# MINUTES (8) at most. ROUNDS=N: how often each is measured (5). ONLY=1: one thread; ONLY=process:
# whole processes. Leave the machine alone meanwhile.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TQDM_DISABLE=1
why=$(sh tests/real/environment.sh "$build" peers | tail -n 1)
[ -z "$why" ] || { echo "bench-peers: $why" >&2 && exit 1; }
real=$build/real
python=$real/venv/bin/python
mkdir -p "$build/peers"
"$python" tests/real/models.py "$real" smollm2
[ -f "$real/smollm2-f32.gguf" ] ||
    "$build/attn-cli" convert -q -m "$real/smollm2" -o "$real/smollm2-f32.gguf"
[ -f "$real/smollm2-bf16.gguf" ] ||
    "$python" tests/peers/bf16.py "$real/smollm2" "$real/smollm2-bf16" "$build/attn-cli"
[ -f "$build/peers/cache.onnx" ] ||
    "$python" tests/peers/graphs.py "$real/smollm2" "$build/peers" 2>"$build/peers/log"
exec "$python" tests/peers/compare.py "$build/attn-cli" "$real" "$build/peers"
