#!/bin/sh
# Train a model on data/fables.grammar, from nothing but what is in the repository: the same bits on
# every machine of one kind, with any number of threads.
#
#     sh models/train.sh build/attn-cli build/tiny
#
# Two layers of four heads, 96 channels, 1024 tokens of byte-level BPE: 1.3 MB. Its checkpoints at
# powers of two stay beside it, for data/pictures/learning.sh.
set -eu
attn=$1 to=$2
grammar=$(dirname "$0")/../data/fables.grammar

mkdir -p "$to"
"$attn" corpus "$grammar" --count 200000 --seed 1 -o "$to/texts.txt"
"$attn" vocab "$to/texts.txt" --size 1024 -o "$to/bpe"
"$attn" train --data "$to/texts.txt" --shape tiny \
    --set n_embd=96,n_positions=64,n_head=4,n_layer=2,initializer_range=0.04 \
    --vocab "$to/bpe/vocab.json" --merges "$to/bpe/merges.txt" --steps 4200 --rate 0.004 \
    --warmup 150 --decay 0.05 --drills 0.25 --force -o "$to"
