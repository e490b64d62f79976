#!/bin/sh
# Train the bundled model tiny on data/fables.grammar, using only files of the repository. The bits
# are the same on all machines of one kind, with any number of threads.
#
#     sh models/train.sh build/attn-cli build/tiny          ten minutes on two cores
#     sh models/train.sh build/attn-cli build/tiny words    only texts and vocabulary: half a minute
#
# Two layers of four heads, 96 channels, 1280 tokens of byte-level BPE: 1.4 MB. First 64 positions,
# then 128, with the sentences of the rule `further`. The checkpoints of the first part remain in
# the folder `first`, for data/pictures/learning.sh: 190 MB.
set -eu
attn=$1 to=$2
here=$(dirname "$0")
texts=$here/../tests/texts

# Leave out the texts that tests/references/figures.sh uses as questions.
draw() { # RULE SEED
    python3 "$here/fables.py" "$here/../data/fables.grammar" --rule "$1" --seed "$2" \
        --count 240000 |
        LC_ALL=C grep -vF -f "$texts/agree-test.txt" -f "$texts/road-test.txt"
}

mkdir -p "$to"
draw text 1 >"$to/texts.txt"
"$attn" init --vocab-from "$to/texts.txt" --vocab-size 1280 --force -o "$to/bpe"
[ "${3-}" != words ] || exit 0
"$attn" train --data "$to/texts.txt" --shape tiny --set n_positions=64,initializer_range=0.04 \
    --vocab "$to/bpe/vocab.json" --merges "$to/bpe/merges.txt" --steps 9000 --lr 0.004 \
    --warmup-steps 150 --weight-decay 0.05 --drills 0.03 --save-every 200 --force -o "$to/first"

draw further 2 >"$to/further.txt"
python3 "$here/longer.py" "$to/first" "$to/longer"
"$attn" train --data "$to/further.txt" --model "$to/longer" --steps 1600 --batch-size 16 \
    --context 128 --lr 0.001 --warmup-steps 50 --weight-decay 0.05 --drills 0.03 --save-every 400 \
    --force -o "$to"
