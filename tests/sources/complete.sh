#!/bin/sh
# Check that each command, option, format, model family, head score, bundled model, site,
# activation, feature of models and architecture of GGUF has its lines in tests, documents and
# CHANGELOG.md.
#
#     sh tests/sources/complete.sh [BUILD]
#
# The program lists the names. A failure says which file lacks which name. To demand a line in
# another file, add a row to the table at the end.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
attn=${1:-build}/attn-cli

"$attn" help --completion bash >"$scratch/lists"

families="lib/model/family/*.c"

names() { # KIND
    case $1 in
    family) sed -nE -e 's/^    (\[[A-Z0-9_]+\] = )?\{"([^" ]+)", &.*/\2/p' \
            -e 's/^    OF_[A-Z0-9]+\("([^" ]+)".*/\1/p' $families ;;
    option) awk -F '\t' '$1 ~ /^(option|flag)$/ { print $3 }' "$scratch/lists" | sort -u ;;
    site) names tensor | sed '/^all$/d; /^tokens$/d; /^finding$/d' ;;
    activation) sed -nE '/^} activation_rows/,/^};/s/^    \{"([a-z0-9_]+)".*/\1/p' \
            lib/math/activation.c | sed '/^none$/d' ;;
    feature) sed -nE -e 's/.*FEATURE\(.*"([^"]+)",.*/\1/p' -e 's/^ +"([^"]+)", .*\).*/\1/p' \
            lib/model/features.c | tr + . ;; # in patterns
    architecture) sed -nE '/^static const struct gguf_architecture /,/^};/p' \
            lib/model/gguf/gguf_architectures.c |
            sed -nE 's/^    (\{|[A-Z_0-9]+\()"([^"]+)".*/\2/p' ;;
    writer) awk -F '\t' '$3 == "--format" { print $2 }' "$scratch/lists" ;; # writes several formats
    *) awk -F '\t' -v list="$1s" '$1 == "value" && $2 == list { print $3 }' "$scratch/lists" ;;
    esac
}

# Each name of a kind must be in one of the files: an extended regular expression, where NAME is it.
each() { # KIND PATTERN FILES, as patterns of the shell
    # shellcheck disable=SC2086
    cat $3 >"$scratch/text" 2>/dev/null
    names "$1" >"$scratch/names"
    [ -s "$scratch/names" ] || fail "no names of the kind $1"
    while read -r name; do
        grep -qE -e "$(echo "$2" | sed "s/NAME/$name/g")" "$scratch/text" || printf ' %s' "$name"
    done <"$scratch/names" >"$scratch/missing"
    if [ -s "$scratch/missing" ]; then
        fail "$3: no line for the $1$(cat "$scratch/missing")"
    else
        pass
    fi
}

cases='tests/cli/*/*/cmd tests/refusals/*.cases tests/readers/papers.sh'
readers='tests/readers/*.py tests/readers/*.sh tests/readers/page/*'
guides='data/guides/*.md'
for name in $(names command); do
    check "tests/cli/$name: no cases of the command $name" [ -d "tests/cli/$name" ]
done
# shellcheck disable=SC2016 # backquotes of Markdown
{
    each command '^ *try(_owning [^ ]*|_refused [0-9])? NAME( |$)' tests/harm/faults.sh
    each command 'attn-cli NAME( |$)' 'tests/refusals/*.cases'
    each command '`NAME`|attn-cli +NAME( |$)' 'README.md data/guides/compared.md'
    each command 'attn-cli NAME( |$)' "$guides"
    each command '`(attn-cli )?NAME[` ]' CHANGELOG.md
    each writer '\["NAME"' tests/readers/schemas.py
    each option '(^|[^a-z-])NAME([^a-z-]|$)' "$cases"
    each format '(for format in.* |--format |here\.)NAME( |;|$)' tests/harm/faults.sh
    each format '(--format |\.)NAME([^a-z]|$)' "$cases"
    each format '(^|[^a-z])NAME([^a-z]|$)' "$readers"
    each format '`(\.|--format )?NAME`' README.md
    each format '[.`]NAME([^a-z]|$)' "$guides"
    each format '`(\.|.*--format )?NAME`' CHANGELOG.md
    each family '`NAME`' data/guides/models.md
    each family '"model_type": *"NAME"' \
        'tests/references/golden*/*/config.json models/*/config.json'
    each family '(^|[^a-z0-9_])NAME([^a-z0-9_]|$)' 'tests/refusals/[cf]*.cases'
    each family '`NAME`' CHANGELOG.md
    each score '`NAME[`:]' data/guides/scores.md
    each score '`NAME[`:]' CHANGELOG.md
    each model '`NAME`' models/README.md
    each site '`NAME`' "$guides"
    each activation '(^|[^a-z0-9_])NAME([^a-z0-9_]|$)' tests/unit/math/activation_test.c
    each activation '(^|[^a-z0-9_])NAME([^a-z0-9_]|$)' tests/references/training/golden.py
    each feature 'NAME' tests/unit/model/features_test.c
    each architecture '`NAME`' data/guides/files.md
}
types=$(sed -n '/^| `model_type` | example/,/^$/p' data/guides/models.md | cut -d '|' -f 2 |
    grep -oE '`[a-z0-9_-]+`' | grep -cvE 'model_type|attention|transformer')
for page in README.md data/guides/models.md; do
    check "$page: another number of values of model_type than $types" \
        grep -q "$types values of .model_type" $page
done
closing
