# Print the links of Markdown files to files or headings that do not exist.
#
#     awk -f links.awk README.md data/guides/*.md     reads all files before it checks a link
#
# A heading has the anchor that GitHub gives it: small letters, a hyphen for each space, no
# punctuation, and -1 for the second of its name. So has `id="…"` in the text.

# The folder of a path, with its last slash.
function folder(path) {
    return match(path, /.*\//) ? substr(path, 1, RLENGTH) : ""
}

# A path without "x/../" and "./".
function shorten(path) {
    gsub(/\/\.\//, "/", path)
    sub(/^\.\//, "", path)
    while (sub(/[^\/.]+\/\.\.\//, "", path))
        ;
    return path
}

function anchor(heading,    rest) {
    while (match(heading, /\]\([^)]*\)/)) # a link is its text
        heading = substr(heading, 1, RSTART - 1) substr(heading, RSTART + RLENGTH)
    rest = tolower(heading)
    gsub(/[][`!"#$%&'()*+,.\/:;<=>?@\\^{|}~]/, "", rest)
    gsub(/…|·|×|–|—|→|“|”|，|。|：|、|？|！|（|）|《|》/, "", rest)
    gsub(/ /, "-", rest)
    return rest
}

FNR == 1 { in_code = 0; read[FILENAME] }
/^ *```/ { in_code = !in_code; next }
in_code { next }

/^#+ / {
    name = $0
    sub(/^#+ +/, "", name)
    name = anchor(name)
    count = seen[FILENAME, name]++
    anchors[FILENAME, name (count ? "-" count : "")]
}

{
    line = $0
    while (match(line, /id="[^"]+"/)) {
        anchors[FILENAME, substr(line, RSTART + 4, RLENGTH - 5)]
        line = substr(line, RSTART + RLENGTH)
    }
    line = $0
    gsub(/`[^`]*`/, "`", line) # code has no links
    while (match(line, /\]\([^) ]+\)|(src|srcset|href)="[^"]+"/)) {
        link = substr(line, RSTART, RLENGTH)
        gsub(/^\]\(|^[a-z]+="|[)"]$/, "", link)
        line = substr(line, RSTART + RLENGTH)
        if (link !~ /^[a-z]+:/) {
            links[++link_count] = link
            from[link_count] = FILENAME
            place[link_count] = FILENAME ":" FNR
        }
    }
}

END {
    for (i = 1; i <= link_count; i++) {
        target = links[i]
        heading = index(target, "#") ? substr(target, index(target, "#") + 1) : ""
        sub(/#.*/, "", target)
        file = target == "" ? from[i] : shorten(folder(from[i]) target)
        quoted = file
        gsub(/'/, "'\\''", quoted)
        if (!(file in read) && system("test -e '" quoted "'"))
            print place[i] ": " links[i] ": no such file"
        else if (heading != "" && file in read && !((file, heading) in anchors))
            print place[i] ": " links[i] ": no such heading"
    }
}
