# Prints what is wrong with the reading that ARCHITECTURE.md names: a file that is not there, more
# lines than an afternoon has, a call of a function of ours that stands neither in a file of the
# list nor in one that is named as called from there.
#
#     (cd TREE && awk -f reading.awk ARCHITECTURE.md lib/*/*.c cmd/*.c cmd/*/*.c)

BEGIN {
    MOST_LINES = 3000
}

# `path`, one or more a line; those of list items are read, those of the paragraph are below.
FILENAME == ARGV[1] {
    if ($0 ~ /^## /)
        in_section = $0 ~ /^## An afternoon's reading/
    if (!in_section)
        next
    is_item = $0 ~ /^[0-9]+\. /
    rest = $0
    while (match(rest, /`[a-z0-9_\/.]+`/)) {
        path = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        if (path ~ /\//)
            listed[path] = is_item ? "read" : "below"
    }
    next
}

FNR == 1 {
    in_comment = 0
    seen[FILENAME] = 1
    folder = FILENAME
    sub(/\/[^\/]*$/, "", folder)
    seen[folder] = 1
    head = ""
}

listed[FILENAME] == "read" {
    total++
}

# The line without comments and texts.
function code(line,    at) {
    gsub(/\\["\\]/, "", line)
    gsub(/"[^"]*"/, "", line)
    if (in_comment) {
        at = index(line, "*/")
        if (!at)
            return ""
        line = substr(line, at + 2)
        in_comment = 0
    }
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
    at = index(line, "/*")
    if (at) {
        in_comment = 1
        line = substr(line, 1, at - 1)
    }
    return line
}

# A definition: its name at the left edge, and below it a brace there.
{
    line = code($0)
    if (line ~ /^[A-Za-z].*[(]/ && line !~ /;$/)
        head = line
    if (line ~ /^\{/ && match(head, /[a-z_0-9]+[(]/)) {
        name = substr(head, RSTART, RLENGTH - 1)
        if (head ~ /(^| )static /)
            own[FILENAME, name] = 1
        else
            home[name] = FILENAME
        head = ""
    }
    if (listed[FILENAME] != "read")
        next
    while (match(line, /[a-z_][a-z_0-9]*[(]/)) {
        name = substr(line, RSTART, RLENGTH - 1)
        line = substr(line, RSTART + RLENGTH)
        if (!((FILENAME, name) in first))
            first[FILENAME, name] = FNR
    }
}

function is_named(file,    folder) {
    folder = file
    sub(/\/[^\/]*$/, "", folder)
    return listed[file] != "" || listed[folder] != ""
}

END {
    for (path in listed)
        if (listed[path] != "" && !(path in seen))
            print path ": no such file"
    if (total == 0 || total > MOST_LINES)
        print "the reading has " total " lines, at most " MOST_LINES " are an afternoon's"
    for (call in first) {
        split(call, at, SUBSEP)
        if ((call in own) || !(at[2] in home) || is_named(home[at[2]]))
            continue
        print at[1] ":" first[call] ": calls " at[2] " of " home[at[2]] \
            ", which the reading does not name"
    }
}
