# Count patterns that make readers ask "of what?" in comments of C and JavaScript, and in Markdown.
#
#     awk -f words.awk words.txt FILE...      prints each pattern that occurs too often, and where
#     awk -v update=1 -f words.awk ...        prints the table with the numbers of today, if lower
#
# `changed`, a list of files between blanks: their places are listed alone, if there are any.

BEGIN {
    FS = " [|] "
    places = split("comments guides README", place_names, " ")
}

NR == FNR && (update && /^#/) { print }
NR == FNR {
    if (/^#/)
        next
    rows++
    pattern[rows] = $1
    for (p = 1; p <= places; p++)
        most[rows, p] = $(p + 1)
    advice[rows] = $(places + 2)
    next
}

# True if "takes" is followed by a time: 3 s, longer, a minute.
function is_time(rest) {
    rest = substr(rest, 1, 60)
    sub(/[.;:].*/, "", rest)
    rest = rest " "
    return rest ~ /(long|time|second|minute|hour|year|cycle)/ || rest ~ /[0-9] (.|..)?s[^a-z]/
}

function count_in(text, line,    row, rest, expression, start) {
    gsub(/[ \t]+/, " ", text)
    text = " " tolower(text) " "
    for (row = 1; row <= rows; row++) {
        expression = (pattern[row] ~ /^[a-z(]/ ? "[^a-z_]" : "") "(" pattern[row] ")[^a-z_]"
        rest = text
        while (match(rest, expression)) {
            start = RSTART > 30 ? RSTART - 30 : 1
            if (pattern[row] != "takes?" || !is_time(substr(rest, RSTART + RLENGTH - 1)))
                note(row, FILENAME ":" line ": …" substr(rest, start, 70) "…")
            rest = substr(rest, RSTART + RLENGTH - 1)
        }
    }
}

function note(row, where) {
    found[row, place]++
    if (index(changed, " " FILENAME " "))
        fresh[row, place] = fresh[row, place] "\n    " where
    else if (++listed[row, place] <= 10)
        others[row, place] = others[row, place] "\n    " where
}

function finish_block() {
    if (block != "")
        count_in(block, first)
    block = ""
}

function add(text) {
    if (block == "")
        first = FNR
    block = block " " text
}

# The index of a sign that is not in a text between quotes; 0: there is none.
function find_outside(line, sign,    at, before) {
    at = index(line, sign)
    before = substr(line, 1, at ? at - 1 : 0)
    gsub(/\\./, "", before)
    gsub(/"[^"]*"|'[^']*'|`[^`]*`/, "", before)
    return before ~ /["'`]/ ? 0 : at
}

FNR == 1 {
    finish_block()
    in_comment = 0
    place = FILENAME ~ /README.md$/ && FILENAME !~ /guides/ ? 3 : FILENAME ~ /\.md$/ ? 2 : 1
}

place > 1 {
    if (/^ *$/)
        finish_block()
    else
        add($0)
    next
}

FILENAME ~ /\.js$/ {
    at = find_outside($0, "//")
    if (at)
        add(substr($0, at + 2))
    else
        finish_block()
    next
}

{
    line = $0
    while (line != "") {
        if (!in_comment) {
            at = find_outside(line, "/*")
            if (!at)
                break
            line = substr(line, at + 2)
            in_comment = 1
        }
        at = index(line, "*/")
        text = at ? substr(line, 1, at - 1) : line
        sub(/^ *\* ?/, "", text)
        add(text)
        line = at ? substr(line, at + 2) : ""
        if (at) {
            in_comment = 0
            finish_block()
        }
    }
}

END {
    finish_block()
    for (row = 1; row <= rows; row++) {
        printed = pattern[row]
        for (p = 1; p <= places; p++) {
            count = found[row, p] + 0
            printed = printed " | " (count < most[row, p] ? count : most[row, p])
            if (!update && count > most[row, p])
                printf "%s: expected at most %d of \"%s\", found %d; write instead: %s%s\n",
                    place_names[p], most[row, p], pattern[row], count, advice[row],
                    fresh[row, p] != "" ? fresh[row, p] : others[row, p]
        }
        if (update)
            print printed " | " advice[row]
    }
}
