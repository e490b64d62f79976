# Draw a command and its output as an SVG picture of a terminal, with selectable text and colours.
#
#     COLORTERM=truecolor attn-cli run --color always … |
#         awk -v command='attn-cli run …' -f terminal.awk > run.svg
#
# Reads only the escape sequences of --color always: ESC[48;2;R;G;B;38;5;INKm and ESC[0m. Run with
# LC_ALL=C. In a line with colours, each character counts as one column.

function escape(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}

# In UTF-8, all bytes of a character except the first are 10xxxxxx.
function columns_of(text) {
    gsub(/[\200-\277]/, "", text)
    return length(text)
}

# Draw text in a colour from a column on, as wide as in a terminal. Browsers collapse several blanks
# into one, and no attribute prevents it in all of them, so each run of words is an element.
function put(text, column, colour,    word) {
    while (match(text, /[^ ]+( [^ ]+)*/)) {
        word = substr(text, RSTART, RLENGTH)
        column += RSTART - 1
        printf "<text x=\"%.1f\" y=\"%d\" fill=\"%s\" textLength=\"%.1f\">%s</text>\n", \
            left + column * column_width, y, colour, columns_of(word) * column_width, escape(word)
        column += columns_of(word)
        text = substr(text, RSTART + RLENGTH)
    }
}

function put_ground(column, columns, colour) {
    printf "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", \
        left + column * column_width, y - 13, columns * column_width, line_height, colour
}

function put_coloured(line,    count, parts, i, end, code, text, column, numbers) {
    count = split(line, parts, "\033")
    put(parts[1], 0, "#d7dae0")
    column = columns_of(parts[1])
    for (i = 2; i <= count; i++) {
        end = index(parts[i], "m")
        code = substr(parts[i], 2, end - 2)
        text = substr(parts[i], end + 1)
        if (split(code, numbers, ";") < 8) {
            put(text, column, "#d7dae0")
        } else {
            put_ground(column, columns_of(text), \
                sprintf("#%02x%02x%02x", numbers[3], numbers[4], numbers[5]))
            put(text, column, numbers[8] == 16 ? "#000000" : "#ffffff")
        }
        column += columns_of(text)
    }
}

BEGIN {
    width = 720
    line_height = 18
    column_width = 7.83
    left = 24
    top = 58
    lines[count++] = "$ " command
    lines[count++] = ""
}

{
    lines[count++] = $0
}

END {
    height = top + count * line_height + 14
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" " \
        "height=\"%d\">\n", width, height, width, height
    printf "<title>%s</title>\n", escape(command)
    printf "<rect width=\"%d\" height=\"%d\" rx=\"10\" fill=\"#1b1f27\"/>\n", width, height
    split("#ff5f57 #febc2e #28c840", buttons)
    for (i = 1; i <= 3; i++)
        printf "<circle cx=\"%d\" cy=\"22\" r=\"6\" fill=\"%s\"/>\n",
            left + (i - 1) * 20, buttons[i]
    print "<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"13\">"
    for (i = 0; i < count; i++) {
        y = top + i * line_height
        if (index(lines[i], "\033"))
            put_coloured(lines[i])
        else if (i == 0)
            put(lines[i], 0, "#8fd18a")
        else
            put(lines[i], 0, lines[i] ~ / · / || lines[i] ~ /^head/ ? "#8ab4f8" : "#d7dae0")
    }
    print "</g>\n</svg>"
}
