#!/bin/sh
# How induction comes: the best head's score at every checkpoint of a training, and the loss.
#
#     sh data/pictures/learning.sh build/attn-cli build/tiny >data/pictures/learning.svg
set -eu
attn=$1 model=$2

# step, held-out loss, the best induction score
for folder in "$model"/step-*; do
    step=$(printf '%s\n' "$folder" | sed 's/.*step-0*//')
    score=$("$attn" heads -m "$folder" --format csv |
        awk -F , 'NR > 1 && $7 > best { best = $7 } END { print best }')
    loss=$(awk -F , -v step="$step" '$1 == step { print $4 }' "$model/log.csv")
    printf '%s %s %s\n' "$step" "$loss" "$score"
done | sort -n | awk '
    { step[NR] = $1; loss[NR] = $2; score[NR] = $3; if ($2 > most) most = $2 }
    function x(i) { return 60 + 560 * log(step[i]) / log(step[NR]) }
    function line(values, most, colour,    i) {
        printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2.5\" points=\"", colour
        for (i = 1; i <= NR; i++)
            printf "%.1f,%.1f ", x(i), 260 - 220 * values[i] / most
        print "\"/>"
    }
    END {
        print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 680 310\" " \
            "font-family=\"sans-serif\" font-size=\"13\">"
        print "<rect width=\"680\" height=\"310\" fill=\"white\"/>"
        for (i = 1; i <= NR; i++)
            printf "<text x=\"%.1f\" y=\"282\" text-anchor=\"middle\" fill=\"#555\">%s</text>\n", x(i), step[i]
        for (i = 0; i <= 4; i++) {
            y = 260 - 55 * i
            printf "<path d=\"M60 %d H620\" stroke=\"#ddd\"/>\n", y
            printf "<text x=\"52\" y=\"%d\" text-anchor=\"end\" fill=\"#1f6f8b\">%.2f</text>\n", y + 4, i / 4
            printf "<text x=\"628\" y=\"%d\" fill=\"#c0562f\">%.1f</text>\n", y + 4, most * i / 4
        }
        line(score, 1, "#1f6f8b")
        line(loss, most, "#c0562f")
        print "<text x=\"60\" y=\"24\" fill=\"#1f6f8b\">induction score of the best head</text>"
        print "<text x=\"620\" y=\"24\" text-anchor=\"end\" fill=\"#c0562f\">held-out loss</text>"
        print "<text x=\"340\" y=\"303\" text-anchor=\"middle\" fill=\"#555\">training step</text>"
        print "</svg>"
    }'
