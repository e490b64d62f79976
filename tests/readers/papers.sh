#!/bin/sh
# Measure figures for papers: width, font, font size and shapes. Skips PDF without poppler, and PNG
# without Python.
#
#     sh tests/readers/papers.sh [BUILD]
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
attn=$(absolute "${1:-build}/attn-cli")
cd "$scratch" || exit 1

text='Life is short, eat dessert first'

figure() { # FILE OPTIONS...
    file=$1
    shift
    "$attn" run -q "$text" "$@" -o "$file"
}

# --- SVG ------------------------------------------------------------------------------------------

width_of() { # FILE.svg: in points
    sed -n 's/^<svg.* width="\([0-9.]*\)pt".*/\1/p' "$1"
}

sizes_of() { # FILE.svg: font sizes, each once
    sed -n 's/^<text.* font-size="\([0-9.]*\)".*/\1/p' "$1" | sort -n | uniq | tr '\n' ' '
}

texts_of() { # FILE.svg
    sed -n 's/^<text[^>]*>\(.*\)<.text>$/\1/p' "$1"
}

is_wide() { # WIDTH POINTS
    figure wide.svg --layer 0 --head 1 --figure-width "$1" && is "$2" "$(width_of wide.svg)"
}

while read -r width points; do
    check "$width is $points points" is_wide "$width" "$points"
done <<'END'
3.25in 234
8.9cm 252.283
89mm 252.283
234pt 234
acl 218.268
acl-wide 453.543
neurips 396
iclr 396
icml 234
icml-wide 486
nature 252.283
nature-wide 518.74
END

# No rectangle lies outside the width of the page.
fits_everywhere() {
    for view in matrix lines overlay bars; do
        for width in 1in 2in icml neurips; do
            figure fit.svg --view "$view" --figure-width "$width" || return 1
            is "${points:=$(width_of fit.svg)}" "$(width_of fit.svg)" || return 1
            python3 - fit.svg <<'END' || return 1
import re, sys
svg = open(sys.argv[1]).read()
width = float(re.search(r' width="([\d.]+)pt"', svg).group(1))
for x, w in re.findall(r'<rect x="([\d.-]+)" y="[\d.-]+" width="([\d.]+)"', svg):
    assert -0.01 <= float(x) and float(x) + float(w) <= width + 0.01, (x, w, width)
END
            points=
        done
    done
}

if has python3; then
    check 'every view fits the width' fits_everywhere
fi

has_sizes() { # SIZES OPTIONS...
    sizes=$1
    shift
    figure sizes.svg "$@" && is "$sizes" "$(sizes_of sizes.svg)"
}

# With DejaVu's letters, the width of "1.00" is 2.226 times the font size; 2.5 points remain free.
numbers_fit() {
    figure fit.svg --layer 0 --head 1 --figure-width 2.4in --font-size 8 || return 1
    pitch=$(sed -n 's/.*scale(\([0-9.]*\) .*/\1/p' fit.svg | head -n 1)
    is "$(echo "$pitch" | awk '{ printf "%.2f\n", ($1 - 2.5) / 2.226 }')" \
        "$(sizes_of fit.svg | awk '{ printf "%.2f\n", $1 }')"
}

check 'the font size of a column is 7 points' has_sizes '7 ' --layer 0 --head 1 --figure-width icml
check 'a font size of 9 points' has_sizes '9 ' --font-size 9 --view lines --layer 0 --head 1
check 'numbers fill their cells' numbers_fit
check 'font sizes without options' has_sizes '6 7.5 9.5 ' --layer 0 --head 1

is_untitled() {
    figure untitled.svg --layer 0 --head 1 --title '' &&
        is "$(printf 'key\nquery\nweights')" \
            "$(texts_of untitled.svg | grep -e tiny -e rows: -e key -e query -e weights | sort)"
}

check 'without a title, axes are labelled' is_untitled

grounds() { # COUNT OPTIONS...
    count=$1
    shift
    figure ground.svg --layer 0 --head 1 "$@" &&
        is "$count" "$(grep -c '^<rect x="0" y="0".*fill="#ffffff"' ground.svg)"
}

check 'a background' grounds 1

names_font() {
    figure font.svg --font 'A & B <C>' &&
        grep -qF "font-family=\"'A &amp; B &lt;C&gt;', Helvetica," font.svg
}

check 'the font of an SVG' names_font

# --- contents -------------------------------------------------------------------------------------

numbers() { # HEAD: its weights without masked cells, as in tidy CSV
    "$attn" run -q "$text" --layer 0 --head "$1" --format tidy | tail -n +2 | sed 's/.*,//'
}

# Four heads attend to one key in one row; their lines begin at different points.
lines_are_apart() {
    figure apart.svg --layer 0 --view overlay --token-range 0 &&
        is 4 "$(sed -n 's/^<path d="M\([^LC]*\).*/\1/p' apart.svg | sort -u | wc -l | tr -d ' ')"
}

check 'lines of heads do not overlap' lines_are_apart

# Each of four queries sees two keys; one key of the first query is outside the figure.
masked_in_part() {
    figure part.svg --layer 0 --head 0 --attention window:2 --token-range 2-5 &&
        is 7 "$(grep -c '>0\.[0-9][0-9]</text>' part.svg)"
}

check 'masked cells of a part of a text' masked_in_part

masked() { # HATCHES FRAMES STEPS OPTIONS...
    counts="$1 $2 $3"
    shift 3
    figure mask.svg --layer 0 --head 1 "$@" &&
        is "$counts" "$(grep -c ' fill="#f5f5f5"' mask.svg) $(grep -c \
            '^<rect.* fill="none" stroke="#bbbbbb"' mask.svg) $(sed -n \
            's/^<path d="\(M[^"]*\)" fill="none" stroke="#bbbbbb".*/\1/p' mask.svg | tr -cd L |
            wc -c | tr -d ' ')"
}

check 'masked cells are hatched' masked 1 1 0
check 'masked cells are blank' masked 0 0 16 --mask triangle

marked() { # COUNT OPTIONS...
    count=$1
    shift
    figure mark.svg "$@" && is "$count" "$(grep -c '^<rect.* stroke="#d94801"' mark.svg)"
}

check 'a mark in every head' marked 8 --mark 4:2
check 'marks in a layer and in a head' marked 5 --mark 0:4:2,1.3:5:0
check 'a mark with --token-range' marked 1 --layer 0 --head 0 --mark 5:4 --token-range 4-6

labelled() { # LABELS OPTIONS...
    labels=$1
    shift
    figure labels.svg "$@" &&
        is "$labels" "$(sed -n 's/^<text.* font-weight="bold">\(.*\)<.text>$/\1/p' labels.svg |
            grep -v tiny | tr '\n' ' ')"
}

check 'labels of panels' labelled '(a) (b) (c) (d) ' --layer 0 --panel-labels '(a)'
check 'labels of a grid' labelled 'A B ' --show k,weights --layer 0-1 --head 0-1 --panel-labels A
check 'the label of one panel' labelled '1 ' --layer 0 --head 0 --panel-labels 1

# Encoder and decoder: three matrices in a row, with one range and one colour bar.
attentions='encoder self-attention
attention weights, all panels
decoder self-attention
cross-attention'
is_one_figure() {
    "$attn" run -q -m translate '<s> le petit chat' --source 'the small cat' --layer 0 --head 0 \
        --figure-width neurips --title '' --panel-labels a -o one.svg &&
        is '3 1 396' "$(texts_of one.svg | grep -c -x '[abc]') $(texts_of one.svg |
            grep -c weights) $(width_of one.svg)" &&
        is "$attentions" "$(texts_of one.svg | grep -e attention -e weights)"
}

has_one_bar() {
    "$attn" run -q -m translate '<s> le petit chat' --source 'the small cat' -o bars.svg &&
        is '1 1' "$(texts_of bars.svg | grep -c -x 0.2) $(grep -c \
            '<title>translate .* source: the small cat</title>' bars.svg)"
}

check 'encoder and decoder in one figure' is_one_figure
check 'encoder and decoder have one colour bar' has_one_bar

indices() { # numbers on the axes of a long text, each once
    long=$(awk 'BEGIN { for (i = 0; i < 60; i++) printf "the " }')
    "$attn" run -q "$long" --layer 0 --head 0 --figure-width icml -o ticks.svg &&
        texts_of ticks.svg | grep -x '[0-9]*' | sort -n | uniq | tr '\n' ' '
}

check 'ticks are at whole steps' is '0 1 5 10 15 20 25 30 35 40 45 50 55 60 ' \
    "$(indices)"

# The frame is around the third cell of the fifth row.
mark_is_at_cell() {
    figure mark.svg --layer 0 --head 0 --mark 4:2 --figure-width icml
    pitch=$(sed -n 's/.*scale(\([0-9.]*\) .*/\1/p' mark.svg | head -n 1)
    corner=$(sed -n 's/.*translate(\([0-9. ]*\)) scale.*/\1/p' mark.svg | head -n 1)
    frame=$(sed -n 's/^<rect x="\([0-9.]*\)" y="\([0-9.]*\)".* stroke="#d94801".*/\1 \2/p' mark.svg)
    is '2 4' "$(echo "$corner $pitch $frame" |
        awk '{ printf "%d %d\n", ($4 - $1) / $3, ($5 - $2) / $3 }')"
}

check 'a mark is at its cell' mark_is_at_cell

shows_part() {
    figure part.svg --layer 0 --head 1 --token-range 2-4 --title '' &&
        is '2 2 2 0' "$(for token in short , eat Life; do
            texts_of part.svg | grep -c -x -e "␣$token" -e "$token"
        done | tr '\n' ' ' | sed 's/ $//')" &&
        is "$("$attn" run -q "$text" --layer 0 --head 1 --format csv |
            awk -F , 'NR == 6 { printf "%.2f %.2f\n", $4, $5 }')" \
            "$(texts_of part.svg | grep '^[01]\.[0-9][0-9]$' | tail -n 2 | tr '\n' ' ' |
                sed 's/ $//')"
}

check '--token-range' shows_part

# Figures of score, lens and attribute show only the tokens of --token-range.
instrument_shows_part() { # TEXTS COMMAND OPTIONS...
    texts=$1
    shift
    "$attn" "$@" -q "$text" --token-range 1-3 --title '' -o part.svg &&
        is "$texts" "$(texts_of part.svg | grep '^[␣a-zL,]' | grep -v 'tokens\|blank' |
            tr '\n' ' ')"
}

has_no_tokens() {
    "$attn" attribute -q "$text" --token-range 1-3 -o tokenless.svg 2>message
    is "2 attn-cli: error: --token-range: expected a figure of tokens, found attribution: rows \
are layer, columns part" "$? $(cat message)" && ! [ -e tokenless.svg ]
}

check '--token-range of scores' instrument_shows_part 'is short , surprisal (nats) ' score
check '--token-range of layers' instrument_shows_part \
    '␣is ␣short , ␣short , ␣eat ␣short , ␣eat layer token probability ' lens
check '--token-range of sources' instrument_shows_part \
    'layer 0 ␣is ␣short , layer 1 ␣is ␣short , head key attribution_by_source ' \
    attribute --by source --view matrix
check '--token-range of a figure without tokens is refused' has_no_tokens

# --- TikZ -----------------------------------------------------------------------------------------

# Every text of the SVG has the same position, size and colour in TikZ.
same_texts() { # OPTIONS...
    figure both.svg "$@" && figure both.tex "$@" || return 1
    sed -n -e 's/^<text x="\([^"]*\)" y="\([^"]*\)"/\1 \2 0/' \
        -e 's/^<text transform="translate(\([^ ]*\) \([^)]*\)) rotate(\([^)]*\))"/\1 \2 \3/' \
        -e 's/^\([0-9. -]*\) font-size="\([^"]*\)" fill="#\([^"]*\)".*/\1 \2 \3/p' \
        both.svg >expected
    sed -n 's/^.attntext{[^x]*x=\(.*\)bp,y=\(.*\)bp,rotate=\(.*\)}{\(.*\)}{\([0-9A-F]*\)}{.*/&\
\1 \2 \3 \4 \5/p' both.tex | grep '^[0-9-]' |
        awk '{ print $1, 0 - $2, 0 - $3, $4, tolower($5) }' >found
    [ -s expected ] && diff expected found
}

same_shapes() { # OPTIONS...: numbers of frames, lines and hatched areas
    figure both.svg "$@" && figure both.tex "$@" || return 1
    frames=$(grep -c '^<rect.* fill="none"' both.svg)
    lines=$(sed -n 's/^<path d="\(M[^"]*\)" fill="none" .*/\1/p' both.svg | tr -cd M | wc -c)
    hatches=$(grep -c ' fill="#f5f5f5"' both.svg)
    grep -v rectangle both.tex >lines.tex
    is "$frames $lines $hatches" "$(grep -c '^.draw.*rectangle' both.tex) $(grep -c \
        -e '^.draw.*\] (' -e '^  (' lines.tex) $(grep -c '245;green,245' both.tex)"
}

tex_has_numbers() {
    figure numbers.tex --layer 0 --head 1 &&
        is "$(numbers 1 | grep .)" "$(sed -n 's/^.attncell{.*{\([^{}][^{}]*\)}$/\1/p' numbers.tex)"
}

# A pooled cell has the largest number of its cells.
tex_has_largest() {
    long=$(awk 'BEGIN { for (i = 0; i < 60; i++) printf "the " }')
    "$attn" run -q "$long" --figure-width 1in --layer 0 --head 0 -o largest.tex &&
        is "$("$attn" run -q "$long" --layer 0 --head 0 --format tidy | tail -n +2 |
            sed 's/.*,//' | sort -g | tail -n 1)" \
            "$(sed -n 's/^.attncell{.*{\([^{}][^{}]*\)}$/\1/p' largest.tex | sort -g | tail -n 1)"
}

for view in matrix lines overlay bars; do
    check "texts of TikZ: $view" same_texts --view "$view" --figure-width neurips
done
check 'texts of TikZ: options' same_texts --layer 0 --panel-labels '(a)' --mark 4:2 --font-size 8 \
    --token-range 2-5
check 'shapes of TikZ' same_shapes --layer 0 --mark 4:2
check 'shapes of TikZ: a triangle' same_shapes --layer 0 --mask triangle --title ''
check 'shapes of TikZ: lines' same_shapes --layer 0 --view overlay
check 'every cell of TikZ has its number' tex_has_numbers
check 'a pooled cell of TikZ has the largest number' tex_has_largest

typeset() { # FILE.tex: to an uncompressed FILE.pdf
    pdflatex -interaction=batchmode -halt-on-error -jobname "${1%.tex}" \
        "\\pdfcompresslevel=0\\pdfobjcompresslevel=0\\input{$1}" >/dev/null || {
        grep -a -A 3 '^!' "${1%.tex}.log"
        return 1
    }
}

tex_is_wide() {
    figure wide.tex --layer 0 --head 1 --figure-width icml && typeset wide.tex || return 1
    is '234.00 1' "$(pdfinfo wide.pdf | awk '/^Page size/ { printf "%.2f", $3 }') \
$(pdfinfo wide.pdf | sed -n 's/^Pages: *//p')"
}

# Seven tokens have 28 visible cells; the colour bar has 64 of another width. All text has 7 points.
tex_has_cells() {
    sed -n 's/^[-0-9.]* [-0-9.]* \([-0-9.]*\) -[0-9.]* re *$/\1/p' wide.pdf | sort | uniq -c |
        awk '{ print $1 }' | tr '\n' ' ' >found
    is '64 28 ' "$(cat found)" &&
        is '7.0 ' "$(grep -a -o '[0-9.]* Tf' wide.pdf | awk '{ printf "%.1f\n", $1 }' | sort -u |
            tr '\n' ' ')"
}

tex_is_input() {
    figure second.tex --view overlay --figure-width 2in
    printf '%s\n' '\documentclass{article}' '\usepackage{tikz}' '\begin{document}' 'before' \
        '\newcommand\attnfont{\rmfamily}\input{wide.tex}' '\input{second.tex}' 'after' \
        '\end{document}' >paper.tex
    typeset paper.tex && pdftotext -layout paper.pdf - >paper.txt &&
        grep -q before paper.txt && grep -q dessert paper.txt && grep -q 'L[0-9]H3' paper.txt &&
        grep -q after paper.txt && [ "$(pdffonts paper.pdf | grep -c CMSS)" = 0 ]
}

# TeX's special characters are printed unchanged; invalid UTF-8, and characters that the
# font lacks, as their codes.
tex_takes_all() {
    odd=$(printf 'a_b # $ %% & ~ ^ \\ { } <é> "q" -- \001 爱 ‿')
    "$attn" run -q "$odd" --title "$odd $(printf '\377')" --layer 0 --head 0 -o odd.tex &&
        typeset odd.tex || return 1
    pdftotext -raw odd.pdf - >odd.txt
    for part in 'a_b' '#' '$' '%' '&' '\' '{' '}' 'é' '"q"' '--' '\x01' '\xff' '7231'; do
        head -n 1 odd.txt | grep -qF -e "$part" || {
            echo "no $part in: $(head -n 1 odd.txt)"
            return 1
        }
    done
}

if has pdflatex && has pdfinfo && has pdftotext &&
    [ "$(kpsewhich tikz.sty lmodern.sty | wc -l)" = 2 ]; then
    check 'TikZ has the width' tex_is_wide
    check 'TikZ has every cell, and a font size of 7 points' tex_has_cells
    check 'a document with two TikZ figures' tex_is_input
    check 'TikZ with special characters' tex_takes_all
else
    leave_out 'TikZ in LaTeX: pdflatex, TikZ, lmodern, pdfinfo or pdftotext is not installed'
fi

# Chinese needs a font and an engine that reads it.
tex_is_chinese() { # ENGINE
    "$attn" init -q -s '我 爱 自然 语言 处理' -o "$1" &&
        "$attn" run -q -m "./$1" -s '我 爱 自然 语言 处理' --layer 0 -o "$1.tex" &&
        "$1" -interaction=batchmode -halt-on-error "$1.tex" >/dev/null 2>&1 || return 1
    pdftotext -raw "$1.pdf" - 2>/dev/null | head -n 1 | grep -q '我 爱 自然 语言 处理'
}

for engine in xelatex lualatex; do
    if has $engine && has pdftotext && [ -n "$(fc-list 'Noto Sans CJK SC' 2>/dev/null)" ] &&
        [ -n "$(kpsewhich tikz.sty)" ]; then
        check "TikZ with Chinese: $engine" tex_is_chinese $engine
    else
        leave_out "Chinese in TikZ: $engine, TikZ, pdftotext or Noto Sans CJK SC is not installed"
    fi
done

# --- PDF ------------------------------------------------------------------------------------------

page_of() { # FILE.pdf
    pdfinfo "$1" | sed -n 's/^Page size: *\([0-9.]*\) x.*/\1/p'
}

fonts_of() { # FILE.pdf
    pdffonts "$1" | sed -n '3,$s/^[A-Z]*+\([^ ]*\).*/\1/p' | sort -u | tr '\n' ' '
}

# The height of a word, ascent and descent together, in points; proportional to the font size.
height_of_word() { # FILE.pdf WORD
    pdftotext -bbox "$1" - |
        sed -n 's/.*yMin="\([0-9.]*\)".* yMax="\([0-9.]*\)">\(.*\)<.word>/\1 \2 \3/p' |
        awk -v word="$2" '$3 == word { printf "%.1f\n", $2 - $1; exit }'
}

doubles() {
    figure small.pdf --layer 0 --head 1 --title '' --font-size 6 &&
        figure large.pdf --layer 0 --head 1 --title '' --font-size 12 &&
        is "$(height_of_word large.pdf weights)" \
            "$(height_of_word small.pdf weights | awk '{ printf "%.1f\n", 2 * $1 }')"
}

pdf_is_wide() {
    figure wide.pdf --figure-width nature --title '' && is 252.283 "$(page_of wide.pdf)"
}

pdf_has_font() {
    figure font.pdf --font 'DejaVu Serif' --layer 0 --head 1 --title '' --words &&
        is 'DejaVuSerif ' "$(fonts_of font.pdf)"
}

refuses_font() {
    figure no.pdf --font 'No Such Letters' 2>message
    is "5 attn-cli: error: --font: expected an installed font family, found 'No Such Letters': \
'fc-list : family' lists them; svg takes any" "$? $(cat message)" && ! [ -e no.pdf ]
}

# Width in pixels, pixels per metre (x, y, unit), colour type, and opacity of the first pixel.
facts_of() { # FILE.png
    python3 - "$1" <<'END'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
at, pixels, density = 8, b"", None
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack(">IIBB", body[:10])
    if kind == b"pHYs":
        density = struct.unpack(">IIB", body)
    pixels += body if kind == b"IDAT" else b""
    at += 12 + size
first = zlib.decompress(pixels)[1:5]
density = density or (0, 0, 0)
print(width, density[0], density[1], density[2], colour, first[3] if colour == 6 else 255)
END
}

# The opacity of the corner of a PDF.
has_opacity() { # ALPHA OPTIONS...
    alpha=$1
    shift
    figure ground.pdf --layer 0 --head 1 "$@" &&
        pdftocairo -r 20 -png -transp -singlefile ground.pdf ground &&
        is "$alpha" "$(facts_of ground.png | cut -d ' ' -f 6)"
}

if ! figure probe.pdf 2>message; then
    leave_out 'PNG and PDF: rsvg-convert is not installed'
elif has pdfinfo && has pdffonts && has pdftotext; then
    check 'a PDF has the width' pdf_is_wide
    check 'the text of a PDF has the font size' doubles
    fc-list 2>/dev/null | grep -q 'DejaVu Serif' && check 'the font of a PDF' pdf_has_font
    check 'a font that is not installed' refuses_font
    if has python3; then
        check 'a PDF has a background' has_opacity 255
    fi
else
    leave_out 'PDF: pdfinfo, pdffonts or pdftotext is not installed'
fi

# --- PNG ------------------------------------------------------------------------------------------

png_has() { # FACTS OPTIONS...
    facts=$1
    shift
    figure facts.png --layer 0 --head 1 "$@" && is "$facts" "$(facts_of facts.png)"
}

if [ -e probe.pdf ] && has python3; then
    check 'a PNG of 300 pixels per inch' png_has '975 11811 11811 1 2 255' --dpi 300 \
        --figure-width icml
    check 'a PNG of 600' png_has '1950 23622 23622 1 2 255' --dpi 600 --figure-width icml
    check 'a PNG of 192' png_has '624 7559 7559 1 2 255' --figure-width icml
fi

closing
