#!/bin/sh
# Compare attn-cli with llama.cpp on GGUF files of write.py and of llama.cpp (llama_cpp.py).
#
#     sh tests/references/gguf/run.sh [BUILD]
#
# tests/references/peers/fetch.sh installs llama.cpp in BUILD/peers (30 MB) if it is missing.
set -u
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}

python=$(python_with numpy) || do_without 'llama.cpp: numpy is not installed'
why=$(sh tests/references/peers/fetch.sh "$build" | tail -n 1)
[ -z "$why" ] || do_without "llama.cpp: $why"
PEERS=$(cd "$build/peers" && pwd)
export PEERS
remove "$scratch"
exec "$python" tests/references/gguf/llama_cpp.py "$build/attn-cli"
