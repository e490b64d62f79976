#!/bin/sh
# The models in models/ are what `make models` writes, to the byte.
#
#     sh tests/models.sh [BUILD]
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}

fresh=$(mktemp -d) || exit 1
trap 'rm -rf "$fresh"' EXIT
passed=0 failed=0

# shellcheck disable=SC2046 # a word a model
"$build/generate-models" models "$fresh" $(cd models && ls -d */ | tr -d /) || failed=1

for path in models/*/model.safetensors models/tiny/config.json models/tiny/vocab.json; do
    if cmp "$path" "$fresh/${path#models/}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
