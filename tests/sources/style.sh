#!/bin/sh
# Check style rules: sizes, names, white space, and formatting by clang-format.
#
#     sh tests/sources/style.sh
#
# Each rule is one check; violations are printed as FILE:LINE: TEXT.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh

LINES_OF_A_FILE=1200
LINES_OF_A_FUNCTION=100
COLUMNS_OF_A_LINE=100
MIB_OF_A_CHECKOUT=45 # golden models; dictionaries of features; pages; an atlas; a case a promise;
                     # and the pages of help among the guides
CLANG_FORMAT=14 # versions differ in details; .clang-format is written for this one

c_files=$(find cmd data lib models tests -name node_modules -prune -o -name '*.[ch]' -print | sort)
text_files="$c_files
$(find lib -type f ! -name '*.[ch]' | sort)
$(find . -maxdepth 1 -type f \( -name '*.sh' -o -name '*.md' -o -name Makefile \) | sort)
$(find .ci data models tests -name node_modules -prune -o -type f \( -name '*.sh' -o -name '*.awk' \
    -o -name 'run' -o -name '*.md' \) -print | sort)"

rule() { # NAME COMMAND...: passes if the command prints nothing
    name=$1
    shift
    "$@" >"$scratch/found" 2>&1
    if [ -s "$scratch/found" ]; then
        fail "$name" "$scratch/found"
    else
        pass
    fi
}

# Run awk on files, with bytes instead of characters, so that all versions of awk agree.
over() { # FILES PROGRAM [VARIABLE=VALUE]
    # shellcheck disable=SC2086 # a word a file
    LC_ALL=C awk ${3:+-v "$3"} "$2" $1
}

long_files() {
    over "$c_files" 'FNR == max + 1 { print FILENAME ": more than " max " lines" }' \
        "max=$LINES_OF_A_FILE"
}

# A function begins with { and ends with } in column 1; the line above the { names it.
long_functions() {
    over "$c_files" '
        /^\{/ { name = FNR - 1 }
        /^\}/ && name {
            if (FNR - name + 1 > max)
                print FILENAME ":" name ": a function of " FNR - name + 1 " lines"
            name = 0
        }' "max=$LINES_OF_A_FUNCTION"
}

long_lines() {
    # shellcheck disable=SC2016 # $0 is awk's
    over "$text_files" '
        FILENAME ~ /\.md$/ { next }
        { line = $0; gsub(/[\200-\277]/, "", line) }
        FILENAME ~ /Makefile$/ { gsub(/\t/, "        ", line) }
        length(line) > max { print FILENAME ":" FNR ": " length(line) " columns" }
    ' "max=$COLUMNS_OF_A_LINE"
}

tabs() {
    over "$text_files" 'FILENAME !~ /Makefile$/ && /\t/ { print FILENAME ":" FNR ": a tab" }'
}

trailing_blanks() {
    over "$text_files" '/[ \t\r]$/ { print FILENAME ":" FNR ": blanks at the end" }'
}

repeated_names() {
    printf '%s\n' "$c_files" | sed 's|.*/||' | sort | uniq -d |
        sed 's/$/: two files have this name/'
}

# Tests must use TEST; START_TEST of Check does not register them.
unregistered_tests() {
    find tests/unit -name '*_test.c' -exec grep -L '^TEST' {} + | sed 's/$/: no TEST/'
    find tests/unit -name '*.[ch]' -exec grep -Hn '^START_TEST' {} + | sed 's/(.*/: not TEST/'
}

# Empty expected files, and separate files of exit statuses: UPDATE=1 removes both.
idle_files() {
    find tests/cli -name status | sed 's/$/: the exit status is the last line of err, as in [3]/'
    find tests/cli \( -name out -o -name err \) -size 0 | sed 's/$/: empty is as good as absent/'
}

# The disk space of git's files and folders in blocks of 4 KiB: MiB and name for each folder of the
# second level, and a line for all. Sizes come from git, so that they are the same everywhere.
blocks_of_folders() {
    git_here ls-files -s | cut -d ' ' -f 2 |
        git_here cat-file --batch-check='%(objectsize)' >"$scratch/sizes"
    git_here ls-files | paste "$scratch/sizes" - | LC_ALL=C awk -F '\t' '
        function take(blocks) { of[place] += blocks; all += blocks }
        {
            depth = split($2, part, "/") - 1
            place = depth > 1 ? part[1] "/" part[2] : depth ? part[1] : "."
            take(int(($1 + 4095) / 4096))
            folder = ""
            for (i = 1; i <= depth; i++) {
                folder = folder part[i] "/"
                if (!seen[folder]++)
                    take(1)
            }
        }
        END {
            printf "%.2f all\n", all / 256
            for (place in of)
                printf "%.2f %s\n", of[place] / 256, place
        }'
}

# Raise MIB_OF_A_CHECKOUT only if nothing else helps, and give the reason.
large_checkout() {
    blocks_of_folders | sort -rn >"$scratch/blocks"
    awk -v max="$MIB_OF_A_CHECKOUT" '
        NR == 1 && $1 > max {
            print "expected at most " max " MiB in blocks of 4 KiB, found " $1 ": put many small" \
                " files into one, generate them, or raise MIB_OF_A_CHECKOUT; the largest folders:"
            large = 1
        }
        NR > 1 && NR < 8 && large' "$scratch/blocks"
}

# Words that make readers ask "of what?": words.txt says how often each may occur, and the word to
# write instead.
# UPDATE=1 lowers its numbers. Places in files changed since the last commit are listed first.
doubtful_words() {
    words=tests/sources/words.txt
    changed=" $(git_here diff --name-only HEAD^ 2>/dev/null | tr '\n' ' ') "
    # shellcheck disable=SC2046 # a word a file
    set -- $(find cmd lib -type f \( -name '*.[ch]' -o -name '*.js' \) | sort) \
        data/guides/*.md README.md
    LC_ALL=C awk -v "changed=$changed" -f tests/sources/words.awk "$words" "$@"
    [ "${UPDATE-}" != 1 ] ||
        { LC_ALL=C awk -v update=1 -f tests/sources/words.awk "$words" "$@" >"$scratch/words" &&
            cat "$scratch/words" >"$words"; }
}

unformatted() {
    # shellcheck disable=SC2086 # a word a file
    clang-format --dry-run $c_files 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning: .*//p' | sort -u
}

# Without optimising, gcc ignores the pragma of a loop that is not plain.
# shellcheck disable=SC2046 # a word a file
ignored_pragmas() {
    for file in $(grep -l '^#pragma' $(printf '%s\n' "$c_files" | grep '^lib/.*c$')); do
        ${CC:-cc} -std=c11 -D_GNU_SOURCE -Ilib -O0 -c "$file" -o "$scratch/object" 2>&1
    done
}

rule "files of more than $LINES_OF_A_FILE lines" long_files
rule "functions of more than $LINES_OF_A_FUNCTION lines" long_functions
rule "lines of more than $COLUMNS_OF_A_LINE columns" long_lines
rule 'tabs' tabs
rule 'blanks at the end of a line' trailing_blanks
rule 'names that repeat' repeated_names
rule 'words of tests/sources/words.txt that occur more often' doubtful_words
rule 'tests that nobody runs' unregistered_tests
rule 'empty files of cases' idle_files
rule 'pragmas that are ignored without optimising' ignored_pragmas
if git_here ls-files --error-unmatch tests/sources/style.sh >"$scratch/git" 2>&1; then
    rule "a checkout of more than $MIB_OF_A_CHECKOUT MiB" large_checkout
else
    leave_out 'size of a checkout: git has no files here'
fi
case $(clang-format --version 2>/dev/null) in
*"version $CLANG_FORMAT."*) rule 'not as clang-format has it' unformatted ;;
*) leave_out "format: clang-format $CLANG_FORMAT is not installed" ;;
esac

closing
