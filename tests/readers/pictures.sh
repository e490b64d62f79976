#!/bin/sh
# Test figures with other programs: xmllint, Python, pdfinfo and pdftotext. Skips programs that are
# not installed.
#
#     sh tests/readers/pictures.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
ROOT=$(pwd)
attn=$(absolute "${1:-build}/attn-cli")
cd "$scratch" || exit 1

# shellcheck source=tests/cli/recipes.sh
. "$ROOT/tests/cli/recipes.sh"

forms='svg png pdf'
has rsvg-convert || {
    forms=svg
    leave_out 'PNG and PDF: rsvg-convert is not installed'
}

# --- figures of each kind, and texts with special characters -------------------------------------

pictures=
draw() { # NAME OPTIONS...
    name=$1
    shift
    pictures="$pictures $name"
    for form in $forms; do
        check "$name.$form" "$attn" run -q "$@" -o "$name.$form"
    done
}

word_model odd '["我", "🍰", "مرحبا", "</text><b>", "&", "\"", "]]>", "Life", "is"]' 9
life='Life is short, eat dessert first'
draw model -s "$life"
draw head -m life-causal -s "$life" --show all --cells both
draw lines -s "$life" --view lines --range row
draw overlay -s "$life" --view overlay --hide-first
draw log -m life-4-heads -s "$life" --show all --color-scale log --palette viridis --range head
draw arrows -m journey -s 'Your journey starts with one step' --show embedding --view arrows
draw odd -m odd -s '我 🍰 مرحبا </text><b> & " ]]> Life is' --title "<title> & $(printf '\001\377')"

# --- SVG -----------------------------------------------------------------------------------------

xpath() { # FILE EXPRESSION
    xmllint --xpath "$(printf '%s' "$2" | sed 's|//\([a-z]*\)|//*[local-name()="\1"]|g')" "$1"
}

if has xmllint; then
    for name in $pictures; do
        check "$name.svg is well-formed" xmllint --noout "$name.svg"
    done
    check 'a token is text' is 2 "$(xpath odd.svg 'count(//text[.="</text><b>"])')"
    check 'a group has an id' is 1 \
        "$(xpath model.svg 'count(//title[.="weights L1H2"])')"
    check 'a layer of a model' is 8 "$(xpath model.svg 'count(//g[@shape-rendering]) - 1')"
else
    leave_out 'SVG is well-formed: xmllint is not installed'
fi
# The README's pictures have a background, for light and dark pages.
has_ground() { # FILE: the first rectangle outside of patterns is as large as the picture
    view=$(sed -n 's/.*viewBox="0 0 \([0-9.]* [0-9.]*\)".*/\1/p' "$1" | head -n 1)
    grep '^<rect' "$1" | head -n 1 |
        grep -F " width=\"${view% *}\" height=\"${view#* }\"" | grep -q ' fill="'
}

redrawn() { # NAME OPTIONS...: gives the same bytes, except for the metadata
    name=$1
    shift
    "$attn" run -q -s "$life" "$@" -o redrawn.svg &&
        grep -v '^<metadata>' redrawn.svg | cmp - "$ROOT/data/pictures/$name"
}

# Names, estimated as 0.6 of their size for each letter, overlap no other name, and are 1.5 points
# from the heads of other arrows.
names_are_apart() { # FILE
    python3 - "$1" <<'END'
import re, sys
svg = open(sys.argv[1]).read()
groups = re.findall(r"<g><title>(\w+)</title>\n((?:(?!<g>).)*?)</g>", svg, re.S)
boxes, heads = [], []
for name, drawn in groups:
    text = re.search(r'<text x="(.*?)" y="(.*?)" font-size="(.*?)"', drawn)
    x, y, size = map(float, text.groups())
    boxes.append((x, y - 0.7 * size, x + 0.6 * size * len(name), y))
    numbers = [float(n) for n in re.findall(r"[-\d.]+", re.findall(r' d="(.*?)"', drawn)[1])]
    heads.append([numbers[at:at + 2] for at in (0, 2, 4)])
assert " ".join(name for name, _ in groups) == "Your journey starts with one step", groups
for i, (left, top, right, bottom) in enumerate(boxes):
    for j, (l, t, r, b) in enumerate(boxes):
        assert i == j or right < l or r < left or bottom < t or b < top, groups[i][0]
    for j, head in enumerate(heads):
        for x, y in head:
            away = max(left - x, x - right, top - y, y - bottom)
            assert i == j or away > 1.5, (groups[i][0], groups[j][0], away)
END
}

check 'names of arrows do not overlap' names_are_apart arrows.svg
check 'model.svg is drawn as before' redrawn model.svg
check 'lines.svg is drawn as before' redrawn lines.svg --layer 1 --view overlay
check 'talk.svg is drawn as before' redrawn talk.svg --layer 0 --head 1 --style talk
for picture in "$ROOT"/data/pictures/*.svg; do
    check "${picture##*/} has a background" has_ground "$picture"
done

# --- PNG -----------------------------------------------------------------------------------------

decode() { # FILE: complete, true colour, the size of the SVG at 192 pixels per inch, not blank
    python3 - "$1" "${1%.png}.svg" <<'END'
import math, re, struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
at, pixels = 8, b""
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack(">IIBB", body[:10])
    pixels += body if kind == b"IDAT" else b""
    at += 12 + size
assert kind == b"IEND" and (depth, colour) == (8, 2), (kind, depth, colour)
rows = zlib.decompress(pixels)
assert len(rows) == height * (1 + 3 * width)
points = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', open(sys.argv[2]).read()).groups()
assert [math.ceil(float(p) * 192 / 72) for p in points] == [width, height], (points, width, height)
assert len(set(rows)) > 50, "blank"
END
}

case $forms in
*png*)
    if has python3; then
        for name in $pictures; do
            check "$name.png is complete" decode "$name.png"
        done
    else
        leave_out 'PNG is complete: python3 is not installed'
    fi
    ;;
esac

# --- PDF -----------------------------------------------------------------------------------------

text_of() { # FILE: its text, without blanks
    pdftotext -raw "$1" - | tr -d ' \n\f'
}

holds_text() { # FILE TEXT
    text_of "$1" | grep -qF "$2" || {
        text_of "$1"
        return 1
    }
}

case $forms in
*pdf*)
    if has pdfinfo && has pdftotext; then
        for name in $pictures; do
            pages=$(pdfinfo "$name.pdf" | sed -n 's/^Pages: *//p')
            check "$name.pdf has one page" is 1 "$pages"
        done
        check 'a PDF has a fixed date' is 'Thu Jan  1 00:00:00 1970 UTC' \
            "$(TZ=UTC pdfinfo model.pdf | sed -n 's/^CreationDate: *//p')"
        check 'words can be selected' holds_text model.pdf dessert
        check 'numbers can be selected' holds_text head.pdf 0.390.120.49
        check 'special characters can be selected' holds_text odd.pdf '</text><b>'
    else
        leave_out 'PDF: pdfinfo and pdftotext are not installed'
    fi
    ;;
esac

closing
