#!/bin/sh
# The output at the end of `make run`: 80 columns and, with the next prompt of the shell, 24 rows.
#
#     sh data/first_look.sh build/attn-cli
#
# This head has the clearest pattern of the default model.
set -eu
attn=$1
sentence='Life is short, eat dessert first'

color=never
if [ -t 1 ] && [ -z "${NO_COLOR-}" ] && [ "${TERM-dumb}" != dumb ]; then
    color=always
fi

look() { # TENSOR: without its titles and blank lines
    "$attn" run -q -m tiny -s "$sentence" --show "$1" --layer 0 --head 1 --width 79 \
        --color "$color" | grep .
}

printf '"%s": head L0H1 of the model tiny (␣: blank)\n' "$sentence"
echo 'Attention weights: each token (row) attends to the one before it, except ␣first.'
look weights | sed 1,2d
look context | sed -e 1,2d \
    -e '3s/(\([0-9]* of [0-9]*\) .*/Context vectors (weighted sums of the values), \1 numbers:/'
cat <<END
tiny is built in and was trained only on short fables; --model names others.
Try:  $attn run -s "A cat saw a dog on the road" -o page.html
      $attn explain -s "Life is short" --query short
      $attn lesson 1
END
