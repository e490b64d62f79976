#!/bin/sh
# Test the engine of live pages, compiled by `make wasm`, in node.
#
#     sh tests/readers/live/run.sh [BUILD]
set -u
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}

[ -f "$build/wasm/live.wasm" ] ||
    do_without 'the engine of live pages: it is not compiled (make wasm compiles it)'
command -v node >/dev/null || do_without 'the engine of live pages: node is not installed'
node tests/readers/live/engine.mjs "$build/attn-cli" "$build/wasm/live.wasm" "$scratch"
