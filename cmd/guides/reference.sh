#!/bin/sh
# Write the parts of the guides that `attn-cli help` prints as well: the folder `commands`, with a
# page for each command and one for all topics, and in other guides the text between these lines:
#
#     <!-- attn-cli help tensors -->
#     <!-- end -->
#
#     sh cmd/guides/reference.sh build/attn-cli data/guides
set -eu
attn=$1
guides=$2
markdown=$(dirname "$0")/markdown.awk
unset COLUMNS

# Print a page of help as Markdown.
page() { # NAME [OPTION-OF-AWK...]
    name=$1
    shift
    "$attn" help "$name" --full | LC_ALL=C awk "$@" -f "$markdown"
}

# A topic has a section in topics.md, unless its table is in another guide.
list=$guides/commands/README.md
topics=$guides/commands/topics.md
mkdir -p "$guides/commands"
rm -f "$guides"/commands/*.md
printf '# Commands\n\n| command or topic | what it is |\n|---|---|\n' >"$list"
echo '# Topics' >"$topics"
"$attn" help --completion bash | awk -F '\t' '$1 == "value" && $2 == "pages" { print $3 "\t" $4 }' |
    while IFS=$(printf '\t') read -r name about; do
        target=$name.md
        if grep -qs "^<!-- attn-cli help $name -->" "$guides/$name.md"; then
            target=../$name.md
        elif "$attn" help "$name" | grep -q '^attn-cli help [a-z]'; then
            target=topics.md#$name
            echo >>"$topics"
            page "$name" -v deeper=1 >>"$topics"
        else
            page "$name" >"$guides/commands/$name.md"
        fi
        echo "| [$name]($target) | $about |" >>"$list"
    done

grep -l "^<!-- attn-cli help " "$guides"/*.md | while read -r guide; do
    name=$(sed -n 's/^<!-- attn-cli help \(.*\) -->$/\1/p' "$guide")
    page "$name" -v body=1 >"$guide.help"
    awk -v help="$guide.help" '
        $0 == "<!-- end -->" { skips = 0 }
        !skips { print }
        /^<!-- attn-cli help / { while ((getline line < help) > 0) print line; skips = 1 }' \
        "$guide" >"$guide.new"
    mv "$guide.new" "$guide"
    rm "$guide.help"
done
