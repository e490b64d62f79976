#!/bin/sh
# Compare attn-cli with llama.cpp on GGUF files of write.py and of llama.cpp (llama_cpp.py).
#
#     sh tests/gguf/run.sh [BUILD]
#
# npm installs llama.cpp in BUILD/peers (30 MB, tests/peers/package.json) if it is missing.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=${1:-build}

do_without() { # WHY
    leave_out "llama.cpp: $1"
    closing
    exit
}

fetch() {
    cp tests/peers/package.json tests/peers/package-lock.json "$PEERS" &&
        (cd "$PEERS" && npm ci --omit=dev --silent --no-audit --no-fund --ignore-scripts)
}

[ "$(uname -sm)" = 'Linux x86_64' ] || do_without 'npm has it for Linux on x86-64 alone'
command -v node >/dev/null || do_without 'node is not installed'
python=$(python_with numpy) || do_without 'numpy is not installed'
mkdir -p "$build/peers" || exit 1
PEERS=$(cd "$build/peers" && pwd)
export PEERS
addon=$PEERS/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/llama-addon.node
if [ ! -f "$addon" ]; then
    command -v npm >/dev/null || do_without 'npm is not installed'
    fetch # optional packages: npm does not report those that it cannot get
    [ -f "$addon" ] || do_without 'npm cannot fetch it'
fi
node -e 'require(process.argv[1])' "$addon" 2>"$scratch/log" ||
    do_without "it does not start here: $(grep -m 1 Error "$scratch/log")"
remove "$scratch"
exec "$python" tests/gguf/llama_cpp.py "$build/attn-cli"
