#!/bin/sh
# Compare the speed of attn-cli with transformers, ONNX Runtime, llama.cpp and other programs.
#
#     sh tests/references/peers/run.sh [BUILD]
#
# Installs the environment of tests/references/real first. PARTS='1 2 process readme' are the parts:
# numbers of threads (by default one and all), whole processes, the README's commands; others are
# bf16, and hybrids, for which LLAMA_CPP is a folder with llama.cpp's converter (by default a
# package's). LENGTHS='6 64' and ROUNDS=1 measure less. Run nothing else on the machine meanwhile,
# or measure one thread with CLOCK=processor.
set -eu
cd "$(dirname "$0")/../../.."
build=${1:-build}
export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TQDM_DISABLE=1
why=$(sh tests/references/real/environment.sh "$build" peers | tail -n 1)
[ -n "$why" ] ||
    why=$(sh tests/references/peers/fetch.sh "$build" | tail -n 1 | sed 's/^/llama.cpp: /')
[ -z "$why" ] || { echo "bench-peers: $why" >&2 && exit 1; }
real=$build/real
python=$real/venv/bin/python
"$python" tests/references/real/models.py "$real" smollm2 minilm
widen() { # TYPE FILE
    [ -f "$2" ] || "$python" tests/references/real/widen.py \
        "$real/SmolLM2-135M-Instruct.Q4_1.gguf" "$2" "$1"
}
widen F32 "$real/smollm2-f32.gguf" &
[ -f "$build/peers/cache.onnx" ] ||
    "$python" tests/references/peers/graphs.py "$real/smollm2" "$build/peers" 2>"$build/peers/log"
wait $!
case ${PARTS-} in *bf16*) widen BF16 "$real/smollm2-bf16.gguf" ;; esac
# The system keeps a file that was written in small pieces in small pages, which take ten times as
# long to map as those of a file that it read, as after a start of the machine. Have it read anew.
for file in "$real/smollm2/model.safetensors" "$real"/*.gguf; do
    sync "$file"
    dd if="$file" iflag=nocache count=0 2>/dev/null
    cat "$file" >/dev/null
done
make_hybrids() { # NAME...: models of hybrids.py, 6 GB
    if [ ! -d "${LLAMA_CPP:=$build/peers/llama.cpp}/conversion" ]; then
        "$python" -m pip download -q --no-deps --no-binary :all: -d "$build/peers" \
            llama_cpp_python==0.3.36
        mkdir -p "$LLAMA_CPP"
        tar -xzf "$build/peers/llama_cpp_python-0.3.36.tar.gz" -C "$LLAMA_CPP" \
            --strip-components 3 --wildcards '*/vendor/llama.cpp/conversion' \
            '*/vendor/llama.cpp/gguf-py'
    fi
    for name in "$@"; do
        [ -d "$real/$name" ] ||
            "$python" tests/references/peers/hybrids.py "$real" "$name" \
                "$LLAMA_CPP" 2>"$build/peers/log"
    done
}
case ${PARTS-} in *hybrids*) make_hybrids granite-4.0-h-350m lfm2-350m qwen3.5-0.8b ;; esac
"$python" tests/references/peers/compare.py "$build/attn-cli" "$real" "$build/peers"
case ${PARTS-process} in
*process*)
    "$python" tests/references/peers/encoders.py "$build/attn-cli" "$real/minilm" "$build/peers" \
        2>"$build/peers/log"
    ;;
esac
