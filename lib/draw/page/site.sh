#!/bin/sh
# Write the live page of `tiny` into a folder that any web server can serve as it is.
#
#     sh lib/draw/page/site.sh ATTN_CLI FOLDER
#
# The folder has index.html, which asks for nothing else, and preview.png for cards of links. Some
# sites want the whole address of a preview: SITE=https://example.org/attn/ puts it in.
set -eu
attn=$1
folder=$2
text='red fox green boat small lamp old door red fox green boat small lamp old'
about='Every attention head of a small transformer, live in the browser'
rm -rf "$folder.part"
mkdir -p "$folder.part"
"$attn" page -q --live -m tiny -s "$text" -o "$folder.part/page.html"
awk -v site="${SITE-}" -v about="$about" '
    function card(name, content) {
        printf "<meta property=\"og:%s\" content=\"%s\">\n", name, content
    }
    { print }
    /<title>/ && !done {
        done = 1
        printf "<meta name=\"description\" content=\"%s\">\n", about
        card("type", "website"); card("title", "attn-cli"); card("description", about)
        card("image", site "preview.png"); card("image:width", 1400); card("image:height", 860)
        print "<meta name=\"twitter:card\" content=\"summary_large_image\">"
    }' "$folder.part/page.html" >"$folder.part/index.html"
rm "$folder.part/page.html"
cp data/pictures/page.png "$folder.part/preview.png"
chmod 644 "$folder.part"/*
rm -rf "$folder"
mv "$folder.part" "$folder"
bytes=$(cat "$folder"/* | wc -c)
printf 'site: %s: %s bytes\n' "$folder" "$bytes"
[ "$bytes" -le 3600000 ] || { printf 'site: expected at most 3600000 bytes\n' >&2; exit 1; }
