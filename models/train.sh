#!/bin/sh
# Train the bundled model tiny on data/fables.grammar, using only files of the repository. The bits
# are the same on all machines of one kind, with any number of threads.
#
#     sh models/train.sh build/attn-cli build/tiny          a few minutes on two cores
#     sh models/train.sh build/attn-cli build/tiny words    only texts and vocabulary: half a minute
#
# Two layers of four heads, 96 channels, 1280 tokens of byte-level BPE: 1.4 MB. The checkpoints
# remain in the folder, for data/pictures/learning.sh: 190 MB.
set -eu
attn=$1 to=$2
grammar=$(dirname "$0")/../data/fables.grammar

mkdir -p "$to"

# Leave out the texts that tests/figures.sh uses as questions.
texts=$(dirname "$0")/../tests/texts
python3 "$(dirname "$0")/fables.py" "$grammar" --count 240000 --seed 1 |
    LC_ALL=C grep -vF -f "$texts/agree-test.txt" -f "$texts/road-test.txt" >"$to/texts.txt"

"$attn" init --vocab-from "$to/texts.txt" --vocab-size 1280 --force -o "$to/bpe"
[ "${3-}" != words ] || exit 0
"$attn" train --data "$to/texts.txt" --shape tiny --set initializer_range=0.04 \
    --vocab "$to/bpe/vocab.json" --merges "$to/bpe/merges.txt" --steps 9000 --lr 0.004 \
    --warmup-steps 150 --weight-decay 0.05 --drills 0.03 --save-every 200 --force -o "$to"
