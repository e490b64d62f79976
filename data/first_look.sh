#!/bin/sh
# What `make run` ends with: one screen of 80 columns and, with a shell's next prompt, 24 rows.
#
#     sh data/first_look.sh build/attn-cli
#
# The head is chosen: of all in the default model, this one's habit is seen at a glance. The last
# layer, which `attn-cli run` shows by itself, has heads that look at the first token for want of
# anything else.
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

printf '"%s": layer 0, head 1 of the model in the binary\n' "$sentence"
echo 'Its attention: nearly every word looks at the word before it.'
look weights | sed 1,2d
look context | sed -e 1,2d \
    -e '3s/(\([0-9]* of [0-9]*\) .*/Its context vectors, \1 numbers: what the words took there./'
cat <<END
The model, tiny, knows only short fables; give another one by --model.
Try:  $attn run -s "A cat saw a dog on the road" -o page.html
      $attn explain -s "Life is short" --token short
      $attn lesson 1
END
