#!/bin/sh
# Draw the README's pictures anew: sh data/pictures/draw.sh build/attn-cli
set -eu
attn=$1
here=$(dirname "$0")

draw() { # NAME COMMAND-LINE-BEHIND-attn-cli
    eval "$attn $2 --quiet --width 80" --show tokens,weights,context |
        awk -v command="attn-cli $2" -f "$here/terminal.awk" >"$here/$1.svg.part"
    mv "$here/$1.svg.part" "$here/$1.svg"
}

draw run 'run --model life-causal --sentence "Life is short, eat dessert first"'
