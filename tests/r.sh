#!/bin/sh
# lib/bindings/r gives attn-cli's numbers in R.
#
#     sh tests/r.sh [BUILD]
# shellcheck disable=SC2016 # quoted text is R
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
build=$(cd "${1:-build}" && pwd)
export ATTN="$build/attn-cli"
# R cannot remove its temporary folder if the path has a blank.
case $scratch in *' '*)
    leave_out 'R needs a TMPDIR without blanks'
    closing
    exit
    ;;
esac
export TMPDIR="$scratch"

if ! command -v Rscript >/dev/null || ! Rscript -e 'library(jsonlite)' >/dev/null 2>&1; then
    leave_out 'R with jsonlite (r-base-core, r-cran-jsonlite) is not installed'
    closing
    exit
fi

in_r() { # LINE...
    printf '%s\n' 'source("lib/bindings/r/attn.R")' "$@" >"$scratch/try.R"
    Rscript "$scratch/try.R"
}

text='Life is "short", it'\''s'
"$ATTN" run -q "$text" --show weights,resid_pre --layer all --format tidy -o "$scratch/tidy.csv"
"$ATTN" score -q "$text" --format csv -o "$scratch/score.csv"

check 'arrays agree with the tidy table' in_r \
    "run <- attn_run('Life is \"short\", it\\'s', show = 'weights,resid_pre')" \
    "table <- read.csv('$scratch/tidy.csv', na.strings = '')" \
    'for (i in seq_len(nrow(table))) {' \
    '  cell <- table[i, ]' \
    '  tensor <- run$tensors[[sprintf("h.%d.%s", cell$layer, cell$tensor)]]' \
    '  at <- c(cell$row, cell$column) + 1' \
    '  value <- if (is.na(cell$head)) tensor[at[1], at[2]] else' \
    '    tensor[cell$head + 1, at[1], at[2]]' \
    '  stopifnot(value == cell$value, run$tokens[at[1]] == cell$row_token)' \
    '}' \
    'stopifnot(nrow(table) > 100, length(run$tensors) == 4)'
check 'a frame equals the tidy table' in_r \
    "frame <- attn_frame('Life is \"short\", it\\'s', show = 'weights,resid_pre')" \
    "table <- read.csv('$scratch/tidy.csv', na.strings = '')" \
    'stopifnot(nrow(frame) > 100, identical(frame, table))'
check 'scores agree with the program' in_r \
    "scores <- attn_score('Life is \"short\", it\\'s')" \
    "table <- read.csv('$scratch/score.csv', comment.char = '#')" \
    'stopifnot(length(scores) > 5, is.na(scores[1]), all.equal(scores, table$logprob_nats))'
check 'options and non-ASCII text reach the engine' in_r \
    'run <- attn_run("Life is", model = "life-cross", source = "short eat", head = "0")' \
    'stopifnot(dim(run$tensors$h.0.weights) == c(1, 2, 2))' \
    'stopifnot(identical(attn_run("naïve")$tokens[1], "na"))' \
    'stopifnot(attn_run("Life is", attention = "window:1")$tensors$h.0.weights[1, 2, 1] == 0)'
check 'an error has the message of the program' in_r \
    'said <- tryCatch(attn_run("Life", show = "nothing"), error = conditionMessage)' \
    'stopifnot(grepl("attn-cli: error: --show: expected one of", said, fixed = TRUE))'
closing
