#!/bin/sh
# Compare attn-cli with published numbers of checkpoints that you have. Downloads nothing.
#
#     sh tests/references/published.sh MODELS [BUILD]      make check-published MODELS=DIR
#
# MODELS has folders of the Hugging Face Hub: gpt2, distilgpt2, pythia-70m, gpt-neo-125M, opt-125m.
# Prints each number with the published one; skips models that MODELS does not have.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
case ${1-} in
'') echo 'usage: sh tests/references/published.sh MODELS [BUILD]' >&2 && exit 2 ;;
/*) models=$1 ;;
*) models=$(pwd)/$1 ;;
esac
attn=${2:-build}/attn-cli
unset ATTN_MODEL

has() { # MODEL WHAT
    [ -f "$models/$1/config.json" ] && return 0
    leave_out "$2: '$models/$1' does not exist"
    return 1
}

near() { # WHAT EXPECTED TOLERANCE FOUND
    if awk -v a="$2" -v off="$3" -v b="$4" \
        'BEGIN { exit !(b ~ /^-?[0-9.]+(e-?[0-9]+)?$/ && a - b <= off && b - a <= off) }'; then
        printf 'passed: %s: published %s, found %s\n' "$1" "$2" "$4"
        pass
    else
        fail "$1: published $2 (±$3), found ${4:-nothing}"
    fi
}

# --- losses: loss_store in TransformerLens, tests/acceptance/test_hooked_transformer.py: the mean
# over the tokens of "Hello world!" after a beginning-of-text token. Its "pythia" is
# EleutherAI/pythia-70m.

loss() { # MODEL EXPECTED
    has "$1" "loss of $1" || return 0
    near "loss of $1 on \"Hello world!\"" "$2" 0.0001 \
        "$("$attn" score -m "$models/$1" --special bos 'Hello world!' --total --format csv |
            awk -F , 'END { printf "%.7g", $(NF - 2) / $(NF - 1) }')"
}

loss gpt2 5.331855773925781
loss pythia-70m 4.659344673156738
loss gpt-neo-125M 4.900552272796631
loss opt-125m 6.159054279327393

# --- surprisals: the README of minicons, without a beginning-of-text token.

surprisal() { # TEXT EXPECTED
    near "distilgpt2: surprisal of '$1'" "$2" 0.001 \
        "$("$attn" score -m "$models/distilgpt2" "$1" --special none --total --format csv |
            awk -F , 'END { printf "%.7g", $(NF - 2) }')"
}

if has distilgpt2 'surprisals in the README of minicons'; then
    surprisal 'The keys to the cabinet are on the table.' 39.879737854003906
    surprisal 'The keys to the cabinet is on the table.' 42.75846481323242
fi

# --- indirect objects: the heads are those of Wang et al. 2022 (arXiv:2211.00593). The prompts,
# with a beginning-of-text token, and the logit differences (mean 3.552) are those of
# TransformerLens's demos/Exploratory_Analysis_Demo.ipynb.

prompts() { # RIGHT|WRONG|TEXT|DIFFERENCE
    awk -F '|' '{
        print $2 "|" $3 "|" $1 ", " $3 " " $4 "|" $5
        print $3 "|" $2 "|" $1 ", " $2 " " $4 "|" $6
    }' <<'END'
When John and Mary went to the shops|Mary|John|gave the bag to|3.3368|3.2018
When Tom and James went to the park|Tom|James|gave the ball to|2.7098|3.7976
When Dan and Sid went to the shops|Dan|Sid|gave an apple to|1.7206|5.2815
After Martin and Amy went to the park|Martin|Amy|gave a drink to|2.6010|5.7676
END
}

ioi() {
    prompts >"$scratch/prompts"
    : >"$scratch/parts"
    while IFS='|' read -r right wrong text difference; do
        found=$("$attn" score -m "$models/gpt2" --special bos "$text" --continue " $wrong" \
            --continue " $right" --format csv | awk -F , 'END { print $NF }')
        near "'$text':$right less $wrong" "$difference" 0.001 "$found"
        echo "$found" >>"$scratch/differences"
        "$attn" attribute -q -m "$models/gpt2" --special bos "$text" --answer " $right: $wrong" \
            --format tidy | sed 's/^/part,/' >>"$scratch/parts"
    done <"$scratch/prompts"
    near 'mean difference of logits' 3.552075147628784 0.001 \
        "$(awk '{ sum += $1 } END { printf "%.6g", sum / NR }' "$scratch/differences")"
    for head in +9.9 +9.6 +10.0 -10.7 -11.10; do
        found=$(awk -F , -v head="${head#?}" '$6 "." $8 == head { sum += $NF; count++ }
            END { if (count) printf "%.6g", sum / count }' "$scratch/parts")
        what="head ${head#?} by direct attribution"
        sign=${head%"${head#?}"}
        if awk -v a="${sign}1" -v b="$found" 'BEGIN { exit !(a * b > 0) }'; then
            printf 'passed: %s: published %s, found %s\n' "$what" "$sign" "$found"
            pass
        else
            fail "$what: published sign $sign, found ${found:-nothing}"
        fi
    done
}

if has gpt2 'indirect objects (mean difference of logits, 5 heads)'; then
    ioi
fi

# --- offsets: Clark et al. 2019 (arXiv:1906.04341), table 1.
leave_out 'offsets and relations of Clark et al.: they need BERT and the Penn Treebank'

closing
