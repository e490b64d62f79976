#!/bin/sh
# Install llama.cpp from npm in BUILD/peers (30 MB): binaries for Linux on x86-64 with kernels for
# each kind of processor, in the version of package.json.
#
#     sh tests/references/peers/fetch.sh BUILD
#
# If it cannot be installed, the last line gives the reason, and the status is 1.
set -eu
cd "$(dirname "$0")/../../.."
mkdir -p "$1/peers"
peers=$(cd "$1/peers" && pwd)
addon=$peers/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/llama-addon.node

give_up() { # WHY
    echo "$1"
    exit 1
}

[ "$(uname -sm)" = 'Linux x86_64' ] || give_up 'npm has it only for Linux on x86-64'
command -v node >/dev/null || give_up 'node is not installed'
for file in package.json package-lock.json; do
    cmp -s "tests/references/peers/$file" "$peers/$file" || rm -f "$addon"
    cp "tests/references/peers/$file" "$peers"
done
if [ ! -f "$addon" ]; then
    command -v npm >/dev/null || give_up 'npm is not installed'
    # npm reports no error if it cannot fetch it: the package is optional, for other platforms.
    (cd "$peers" && npm ci --omit=dev --silent --no-audit --no-fund --ignore-scripts) || true
    [ -f "$addon" ] || give_up 'npm cannot fetch it'
fi
why=$(node -e 'require(process.argv[1])' "$addon" 2>&1) ||
    give_up "it does not start here: $(echo "$why" | grep -m 1 Error)"
