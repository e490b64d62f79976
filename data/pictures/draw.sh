#!/bin/sh
# Redraw the pictures of the README and the guides: sh data/pictures/draw.sh build/attn-cli
set -eu
attn=$1
here=$(dirname "$0")
sentence='Life is short, eat dessert first'

# A screenshot of the page, if Chromium is installed, with 1.25 pixels for each of CSS: letters stay
# sharp. The Chinese page needs a Chinese font, such as fonts-noto-cjk of Debian.
page() { # NAME LANGUAGE OPTIONS...
    name=$1 language=$2
    shift 2
    browser=$(command -v chromium || command -v google-chrome) || {
        printf '%s.png stays as it is: Chromium is not installed\n' "$name"
        return
    }
    folder=$(cd "$(mktemp -d)" && pwd -P)
    "$attn" run "$@" -o "$folder/page.html"
    "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --hide-scrollbars --enable-features=OverlayScrollbar --window-size=1120,688 \
        --force-device-scale-factor=1.25 \
        --screenshot="$folder/page.png" "file://$folder/page.html#lang=$language" 2>/dev/null
    mv "$folder/page.png" "$here/$name.png"
    rm -r "$folder"
}

"$attn" run -s "$sentence" -o "$here/model.svg"
"$attn" run -s "$sentence" --layer 1 --view overlay -o "$here/lines.svg"
"$attn" run -s "$sentence" --layer 0 --head 1 --style talk -o "$here/talk.svg"
"$attn" run -m translate -s '<s> le petit chat noir dort' --source 'the small black cat sleeps' \
    --show cross_weights --style talk -o "$here/translate.svg"
page page en -s 'The keys to the cabinet'
page page.zh zh -s 'The keys to the cabinet'
smollm2=build/real/SmolLM2-135M-Instruct.Q4_1.gguf # downloaded by `make test-real`
if [ -f "$smollm2" ]; then
    "$attn" run -m "$smollm2" 'When Mary Brown met Tom Clark, Mary Brown gave Tom' \
        --layer 23 --head 2 --show weights --caption finding --title 'SmolLM2 135M, L23H2' \
        -o "$here/names.svg"
fi
sed -i '/^<metadata>/d' "$here"/*.svg
