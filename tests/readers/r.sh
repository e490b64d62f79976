#!/bin/sh
# data/packages/r gives attn-cli's numbers in R, and R CMD check accepts it.
#
#     sh tests/readers/r.sh [BUILD]
# shellcheck disable=SC2016 # quoted text is R
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=$(cd "${1:-build}" && pwd)
export ATTN="$build/attn-cli"
# R cannot remove its temporary folder if the path has a blank.
case $scratch in *' '*)
    do_without 'R needs a TMPDIR without blanks'
    ;;
esac
export TMPDIR="$scratch"

if ! command -v Rscript >/dev/null; then
    do_without 'R (r-base-core) is not installed'
fi

in_r() { # LINE...
    printf '%s\n' 'source("data/packages/r/R/attn.R")' "$@" >"$scratch/try.R"
    Rscript --vanilla "$scratch/try.R"
}

builds() {
    (cd "$scratch" && R CMD build "$OLDPWD/data/packages/r" && ls attn_*.tar.gz)
}

# Without the manual as PDF, which needs LaTeX.
checks() {
    (cd "$scratch" && _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual attn_*.tar.gz) \
        >"$scratch/check.log" 2>&1
    cat "$scratch/check.log"
    grep -q '^Status: OK' "$scratch/check.log"
}

text='Life is "short", it'\''s'
"$ATTN" run -q "$text" --show weights,resid_pre --layer all --format tidy -o "$scratch/tidy.csv"
"$ATTN" score -q "$text" --format csv -o "$scratch/score.csv"
"$ATTN" score -q "$text" --words --bits --format csv -o "$scratch/words.csv"
"$ATTN" heads -q "$text" --format csv -o "$scratch/heads.csv"
printf '%s\n' 'text,condition' '"Life is short",a' '"A cat, sees",b' '"naïve ""é""",b' \
    >"$scratch/stimuli.csv"
"$ATTN" score -q -f "$scratch/stimuli.csv" --format csv -o "$scratch/stimuli.score.csv"

check 'R CMD build' builds
check 'R CMD check' checks
check 'runs, scores and heads are the tables of the program' in_r \
    "text <- 'Life is \"short\", it\\'s'" \
    "read <- function(name) read.csv(file.path('$scratch', name), na.strings = ''," \
    '  check.names = FALSE, encoding = "UTF-8")' \
    'run <- attn_run(text, show = "weights,resid_pre")' \
    'stopifnot(nrow(run) > 100, identical(run, read("tidy.csv")))' \
    'scores <- attn_score(text)' \
    'stopifnot(nrow(scores) > 5, is.na(scores$logprob_nats[1]))' \
    'stopifnot(identical(scores, read("score.csv")))' \
    'stopifnot(identical(attn_score(text, words = TRUE, bits = TRUE), read("words.csv")))' \
    'stopifnot(identical(attn_heads(text), read("heads.csv")))' \
    'stimuli <- read("stimuli.csv")' \
    'stopifnot(identical(attn_score(stimuli), read("stimuli.score.csv")))' \
    'several <- attn_score(stimuli$text)' \
    'stopifnot(identical(several$logprob_nats, attn_score(stimuli)$logprob_nats))'
check 'a matrix has the cells of its head, and tokens as names' in_r \
    'run <- attn_run("Life is short", show = "weights,resid_pre")' \
    'matrix <- attn_matrix(run, layer = 1, head = 2)' \
    'stopifnot(dim(matrix) == 3, abs(rowSums(matrix) - 1) < 1e-6, matrix[1, 2:3] == 0)' \
    'stopifnot(identical(colnames(matrix), c("Life", " is", " short")))' \
    'cell <- run[run$tensor == "weights" & run$layer == 1 & run$head %in% 2 & run$row == 2, ]' \
    'stopifnot(matrix[3, ] == cell$value)' \
    'stopifnot(nrow(attn_matrix(run, "resid_pre", 0)) == 3)'
check 'options and non-ASCII text reach the engine' in_r \
    'run <- attn_run("Life is", model = "life-cross", source = "short eat", head = "0")' \
    'stopifnot(unique(run$head) == 0, run$column_token[1] == "short")' \
    'stopifnot(attn_run("naïve")$row_token[1] == "na")' \
    'continued <- attn_score("Life is", continue = c(" short", " eat"))' \
    'stopifnot(continued$difference_nats[2] < 0, !("x" %in% attn_options(list(x = FALSE))))' \
    'window <- attn_matrix(attn_run("Life is", attention = "window:1"), layer = 0, head = 1)' \
    'stopifnot(window[2, 1] == 0)'
# The lines of the guide, in a library of their own.
guide() {
    mkdir "$scratch/library" && export R_LIBS="$scratch/library" || return
    for language in sh r; do
        awk -v start="\`\`\`$language" '/^```/ { inside = $0 == start; next } inside' \
            data/guides/r.md >"$scratch/guide.$language"
    done
    grep -q . "$scratch/guide.r" && sh -e "$scratch/guide.sh" && Rscript "$scratch/guide.r"
}
check 'the guide runs' guide
check 'an error has the message of the program' in_r \
    'said <- tryCatch(attn_run("Life", show = "nothing"), error = conditionMessage)' \
    'stopifnot(grepl("attn-cli: error: --show: expected one of", said, fixed = TRUE))'
closing
