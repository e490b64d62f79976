#!/bin/sh
# Draw how heads develop in training: at each checkpoint the held-out loss, and the highest
# previous-token score and induction score of all heads.
#
#     sh data/pictures/learning.sh build/attn-cli build/tiny/first >data/pictures/learning.svg
set -eu
export LC_ALL=C.UTF-8
attn=$1 model=$2

# step, held-out loss, highest scores
for folder in "$model"/step-*; do
    step=$(printf '%s\n' "$folder" | sed 's/.*step-0*//')
    scores=$("$attn" heads -m "$folder" --format csv | awk -F , '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR > 1 && $at["previous-token"] > previous { previous = $at["previous-token"] }
        NR > 1 && $at["induction"] > induction { induction = $at["induction"] }
        END { print previous, induction }')
    loss=$(awk -F , -v step="$step" '$1 == step { print $4 }' "$model/log.csv")
    printf '%s %s %s\n' "$step" "$loss" "$scores"
done | sort -n | awk '
    { step[NR] = $1; loss[NR] = $2; previous[NR] = $3; induction[NR] = $4
      if ($2 > most) most = $2 }
    function x(value) { return 60 + 560 * value / step[NR] }
    function line(values, most, colour,    i) {
        printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2.5\" points=\"", colour
        for (i = 1; i <= NR; i++)
            printf "%.1f,%.1f ", x(step[i]), 260 - 220 * values[i] / most
        print "\"/>"
    }
    function word(at, y, anchor, colour, text) {
        printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", \
            at, y, anchor, colour, text
    }
    END {
        most = int(most + 0.999)
        print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 680 310\" " \
            "font-family=\"sans-serif\" font-size=\"13\">"
        print "<title>The best heads of a training, and its loss, step by step</title>"
        print "<rect width=\"680\" height=\"310\" fill=\"white\"/>"
        for (i = 0; i <= 4; i++) {
            y = 260 - 55 * i
            printf "<path d=\"M60 %d H620\" stroke=\"#ddd\"/>\n", y
            word(52, y + 4, "end", "#555", sprintf("%.2f", i / 4))
            word(628, y + 4, "start", "#c0562f", sprintf("%.1f", most * i / 4))
        }
        for (i = 0; i <= step[NR]; i += 1000)
            word(x(i), 282, "middle", "#555", i)
        line(loss, most, "#c0562f")
        line(previous, 1, "#8a63b0")
        line(induction, 1, "#1f6f8b")
        word(60, 24, "start", "#1f6f8b", "induction score")
        word(170, 24, "start", "#8a63b0", "previous-token score, of the best heads")
        word(620, 24, "end", "#c0562f", "held-out loss")
        word(340, 303, "middle", "#555", "training step")
        print "</svg>"
    }'
