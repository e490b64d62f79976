#!/bin/sh
# Measure a model that was trained on data/fables.grammar.
#
#     sh tests/references/figures.sh build models/tiny
#
# Texts are the test texts of models/train.sh, which are not in the training data, or random tokens.
# Prints a line for each number with the expected minimum, then `N passed, N failed`.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
attn=$1/attn-cli model=$2
[ -e "$model/config.json" ] || {
    printf 'there is no %s\n0 passed, 1 failed\n' "$model/config.json"
    exit 1
}
total=9

figure() { # NAME FOUND LEAST
    line=$(printf '%-60s %5.3f, expected at least %s' "$1" "$2" "$3")
    if awk -v found="$2" -v least="$3" 'BEGIN { exit !(found >= least) }'; then
        printf '%s\n' "$line"
        pass
    else
        fail "$line"
    fi
}

# The most likely word is the verb that agrees with the subject, after a noun of the other number.
agreement() {
    while read -r line; do
        next=$("$attn" generate -m "$model" -s "${line% *}" -n 1)
        [ "$next" = "$line" ] && echo right || echo wrong
    done <tests/texts/agree-test.txt | awk '/right/ { right++ } END { print right / NR }'
}

# The mean attention weight from `it` to both nouns that it may refer to, in the best head.
both_nouns() {
    "$attn" run -m "$model" -f tests/texts/road-test.txt --show weights --layer all --format jsonl |
        jq -r '[.tokens[].text] as $words | (($words | length) - 1) as $it |
            .tensors | to_entries[] | .key as $layer | .value | to_entries[] |
            "\($layer).\(.key) \(.value[$it][1] + .value[$it][6])"' |
        awk '{ sum[$1] += $2; count[$1]++ }
             END { for (i in sum) if (sum[i] / count[i] > best) best = sum[i] / count[i]
                   print best }'
}

best() { # COLUMN
    "$attn" heads -m "$model" --format csv | awk -F , -v column="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
        NR > 1 && $at > best { best = $at }
        END { print best }'
}

dessert() {
    next=$("$attn" generate -m "$model" -s 'Life is short, eat' -n 1)
    [ "$next" = 'Life is short, eat dessert' ] && echo 1 || echo 0
}

# The mean attention weight of all heads from `it` to a token of the text.
from_it() { # TOKEN
    "$attn" run -m "$model" "$chicken" --show weights --layer all --mean heads,layers --query -1 \
        --format csv | tail -1 | cut -d , -f $(($1 + 2))
}

# How many nats one continuation is more probable than another.
preferred() { # TEXT CONTINUATION OTHER
    "$attn" score -m "$model" "$1" --continue "$3" --continue "$2" --format csv |
        awk -F , 'END { print $NF }'
}

chicken='The chicken did not cross the road because it'
boat='The boat did not cross the river because it'

figure 'dessert follows "Life is short, eat"' "$(dessert)" 1
figure 'verbs that agree across a noun of the other number' "$(agreement)" 0.98
if command -v jq >/dev/null 2>&1; then
    figure 'from "it" to the animal and the place, the best head' "$(both_nouns)" 0.5
else
    leave_out 'from "it" to the animal and the place: jq is not installed'
fi
figure 'from "it" to the chicken, all heads' "$(from_it 1)" 0.1
figure 'from "it" to the road, all heads' "$(from_it 6)" 0.1
figure 'the chicken is tired, more than the road wide' \
    "$(preferred "$chicken" ' was too tired' ' was too wide')" 0.2
figure 'the boat is not tired, the river is wide' \
    "$(preferred "$boat" ' was too wide' ' was too tired')" 1
figure 'to the previous token, the best head' "$(best previous-token)" 0.5
figure 'induction on repeated random tokens, the best head' "$(best induction)" 0.7
closing
