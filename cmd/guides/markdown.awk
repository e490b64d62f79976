# Turn a page of `attn-cli help` into Markdown: a heading for each "Heading:" line, a table for its
# rows, a block of code for its examples.
#
#     attn-cli help run --full | awk -f markdown.awk           a whole page, with the title
#     attn-cli help edits | awk -v deeper=1 -f markdown.awk    a section, "edits"
#     attn-cli help tensors | awk -v body=1 -f markdown.awk    without a title

BEGIN {
    TEXT = 27 # the column at which the texts of rows begin: 1 + ABOUT_COLUMN of cmd/help.h
    mark = deeper ? "##" : "#"
}

# A text in which Markdown changes nothing.
function plain(text) {
    gsub(/[\\|<*_`\[]/, "\\\\&", text)
    return text
}

# A list of names, each as code: "q, k" and "--trim, --source".
function codes(list) {
    gsub(/[^ ,]+/, "`&`", list)
    return list
}

# Print the row, the paragraph or the end of the block of code that the last lines began.
function finish() {
    if (row != "" && !in_table)
        printf "| %s | meaning |\n|---|---|\n", row ~ /^`-/ ? "option" : "name"
    if (row != "")
        printf "| %s | %s |\n", row, is_group ? codes(text) : plain(text)
    else if (text != "")
        print is_shared ? codes(text) : plain(text)
    if (in_code)
        print "```"
    in_table = row != ""
    row = text = ""
    in_code = is_group = 0
}

function begin_row(name) {
    finish()
    gsub(/^ +| +$/, "", name)
    gsub(/\|/, "\\|", name)
    row = "`" name "`"
}

function add(more) {
    text = text (text == "" ? "" : " ") more
}

NR == 1 {
    about = substr($0, index($0, ": ") + 2)
    if (deeper)
        sub(/^attn-cli help /, "")
    if (!body)
        print mark " " substr($0, 1, index($0, ":") - 1) "\n\n" toupper(substr(about, 1, 1)) \
            plain(substr(about, 2)) (about ~ /\.$/ ? "" : ".")
    next
}

/^$/ { finish(); in_table = is_shared = 0; print ""; next }

/^Usage: / { print "```text\n" substr($0, 8) "\n```"; next }

# The title of the topics whose options a command shares.
/^Shared options/ {
    finish()
    match($0, /help [a-z, ]+/)
    print mark "# Shared options\n"
    topics = substr($0, RSTART, RLENGTH)
    count = split($0, words, /[^a-z]+/)
    for (i = 1; i <= count; i++)
        if (words[i] == "help")
            break
    for (line = ""; ++i <= count;)
        if (words[i] != "")
            line = line (line == "" ? "See " : ", ") "[" words[i] "](topics.md#" words[i] ")"
    print line ".\n"
    is_shared = 1
    next
}

/^[^ ].*:$/ {
    finish()
    in_table = 0
    print mark "# " substr($0, 1, length($0) - 1) "\n"
    in_code = $0 == "Examples:"
    if (in_code)
        print "```sh"
    next
}

in_code { print substr($0, 3); next }
is_shared { gsub(/^ +/, ""); add($0); next }

# The next line of the text of a row.
substr($0, 1, TEXT - 1) ~ /^ +$/ { add(substr($0, TEXT)); next }

# A row: a name and its text, or a name that is too wide, with its text in the next lines.
/^  / && substr($0, 1, TEXT - 1) ~ /[^ ].*  $/ {
    begin_row(substr($0, 1, TEXT - 1))
    add(substr($0, TEXT))
    next
}
/^ +-/ { begin_row($0); next }

# A group of names in a list, such as "Encoder: enc.q, enc.k", which may go on in the next lines.
/^  [A-Z][^:]*: / {
    finish()
    is_group = 1
    row = substr($0, 3, index($0, ": ") - 3)
    add(substr($0, index($0, ": ") + 2))
    next
}

{ gsub(/^ +/, ""); add($0) }

END { finish() }
