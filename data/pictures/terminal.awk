# A command and what it printed as an SVG picture of a terminal; text stays text.
#
#     attn-cli run … | awk -v command='attn-cli run …' -f terminal.awk > run.svg

function escape(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}

BEGIN {
    width = 720
    line_height = 18
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
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", \
        width, height, width, height
    printf "<title>%s</title>\n", escape(command)
    printf "<rect width=\"%d\" height=\"%d\" rx=\"10\" fill=\"#1b1f27\"/>\n", width, height
    split("#ff5f57 #febc2e #28c840", buttons)
    for (i = 1; i <= 3; i++)
        printf "<circle cx=\"%d\" cy=\"22\" r=\"6\" fill=\"%s\"/>\n", left + (i - 1) * 20, buttons[i]
    print "<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"13\" " \
        "fill=\"#d7dae0\" xml:space=\"preserve\">"
    for (i = 0; i < count; i++) {
        colour = i == 0 ? " fill=\"#8fd18a\"" : lines[i] ~ / · | head / || lines[i] ~ /^head/ ? " fill=\"#8ab4f8\"" : ""
        printf "<text x=\"%d\" y=\"%d\"%s>%s</text>\n", left, top + i * line_height, colour, escape(lines[i])
    }
    print "</g>\n</svg>"
}
