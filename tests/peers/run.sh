#!/bin/sh
# Compare the speed of attn-cli with transformers, ONNX Runtime, llama.cpp and other programs.
#
#     sh tests/peers/run.sh [BUILD]
#
# Installs the environment of tests/real first. PARTS='1 2 process readme' are the parts: numbers of
# threads (by default one and all), whole processes, the README's commands; bf16 is another.
# LENGTHS='6 64' and ROUNDS=1 measure less. Run nothing else on the machine meanwhile.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TQDM_DISABLE=1
why=$(sh tests/real/environment.sh "$build" peers | tail -n 1)
[ -n "$why" ] || why=$(sh tests/peers/fetch.sh "$build" | tail -n 1 | sed 's/^/llama.cpp: /')
[ -z "$why" ] || { echo "bench-peers: $why" >&2 && exit 1; }
real=$build/real
python=$real/venv/bin/python
"$python" tests/real/models.py "$real" smollm2 minilm
widen() { # TYPE FILE
    [ -f "$2" ] || "$python" tests/real/widen.py "$real/SmolLM2-135M-Instruct.Q4_1.gguf" "$2" "$1"
}
widen F32 "$real/smollm2-f32.gguf" &
[ -f "$build/peers/cache.onnx" ] ||
    "$python" tests/peers/graphs.py "$real/smollm2" "$build/peers" 2>"$build/peers/log"
wait $!
case ${PARTS-} in *bf16*) widen BF16 "$real/smollm2-bf16.gguf" ;; esac
"$python" tests/peers/compare.py "$build/attn-cli" "$real" "$build/peers"
case ${PARTS-process} in
*process*)
    "$python" tests/peers/encoders.py "$build/attn-cli" "$real/minilm" "$build/peers" \
        2>"$build/peers/log"
    ;;
esac
