# shellcheck shell=sh
# Functions that count checks, for stages written in shell, and a temporary folder.
#
#     . tests/run/tally.sh                    in the repository's top folder
#     check 'two are two' [ 2 = 2 ]       count a pass or a failure; print the output of a failure
#     leave_out 'jq is not installed'     count a skipped check; run.sh lists the missing tools
#     side_by_side "$scratch/lines"       run each line of a file, `STATUS COMMAND`, several at once
#     build=$(absolute "${1:-build}")     the path of a folder, from anywhere
#     halt $! FILE                        stop a background process once FILE has bytes
#     python=$(python_with numpy)         a python3 that has this module, or status 1
#     do_without 'R is not installed'     skip all checks, and end
#     closing                             print `N passed, N failed`; status 1 if any failed
#
# $scratch is an empty folder, removed when the script ends. Failures are printed when they happen,
# as `failed: WHAT`. Progress is written as `DONE TOTAL` (TOTAL 0: unknown) to the file that run.sh
# names.
# shellcheck source=tests/run/pipes.sh
. tests/run/pipes.sh
export LC_ALL=C.UTF-8 # in many locales awk reads and writes 0,5
# No test judges speed. Seconds after which something hangs, in all tests: a hundred times what it
# takes on an idle machine.
export HANG="${HANG:-600}"
repository=$(pwd)
passed=0 failed=0 skipped=0 total=0

progress_file=${ATTN_TEST_PROGRESS-}
unset ATTN_TEST_PROGRESS # not for the programs that a test starts

scratch=$(mktemp -d) && scratch=$(cd "$scratch" && pwd -P) || exit 1

# Tests may have removed permissions.
remove() { # FOLDER
    rm -rf "$1" 2>/dev/null || { chmod -R u+rwX "$1" && rm -rf "$1"; } 2>/dev/null
}

finish() { # scripts may redefine it
    remove "$scratch"
}
trap finish EXIT
trap 'exit 130' HUP INT TERM

progress() {
    [ -z "$progress_file" ] ||
        printf '%d %d\n' $((passed + failed + skipped)) "$total" >"$progress_file"
}

pass() {
    passed=$((passed + 1))
    progress
}

fail() { # WHAT [FILE]: prints the file, too
    failed=$((failed + 1))
    printf 'failed: %s\n' "$1"
    [ -z "${2-}" ] || sed 's/^/    /' "$2"
    progress
}

leave_out() { # WHY
    skipped=$((skipped + 1))
    printf 'skipped: %s\n' "$1"
    progress
}

check() { # WHAT COMMAND...: runs in this shell
    checked=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        pass
    else
        fail "$checked" "$scratch/log"
    fi
}

# Run each line of a file, `STATUS COMMAND`, in its own shell, one per processor at a time. A line
# passes if it ends with that status. The output of line 3 is in FILE.3.
side_by_side() { # FILE
    awk '{ print NR }' "$1" | xargs -P "$(nproc 2>/dev/null || echo 2)" -n 1 sh -c '
        line=$(sed -n "$2p" "$1")
        (eval "${line#* }") >"$1.$2" 2>&1 </dev/null
        echo $? >"$1.$2.status"' sh "$1"
    nth=0
    while read -r expected command; do
        nth=$((nth + 1))
        status=$(cat "$1.$nth.status")
        if [ "$status" = "$expected" ]; then
            pass
        else
            fail "expected status $expected, found $status: $command" "$1.$nth"
        fi
    done <"$1"
}

absolute() { # PATH: relative ones begin in the repository
    case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s\n' "$repository/$1" ;;
    esac
}

# Stop a background process where it is, once FILE has bytes; false if it has ended.
halt() { # PROCESS FILE
    until [ -s "$2" ] || ! kill -0 "$1" 2>/dev/null; do sleep 0.01; done
    kill -STOP "$1" 2>/dev/null || return
    until grep -q '^State:.[TZ]' "/proc/$1/status" 2>/dev/null || [ ! -e "/proc/$1" ]; do :; done
    grep -q '^State:.T' "/proc/$1/status" 2>/dev/null
}

has() { # PROGRAM
    command -v "$1" >/dev/null 2>&1
}

is() { # EXPECTED FOUND: prints both if they differ, for `check`
    [ "$1" = "$2" ] || {
        printf 'expected: %s\nfound:    %s\n' "$1" "$2"
        return 1
    }
}

same() { # WHAT EXPECTED FOUND
    check "$1" is "$2" "$3"
}

# Print a python3 that has these modules; also once on standard error.
python_with() { # MODULE[, MODULE...]
    interpreter=$(sh "$repository/dependencies.sh" python "$1") || return
    grep -qxF "python: $interpreter" "$scratch/pythons" 2>/dev/null ||
        printf 'python: %s\n' "$interpreter" | tee -a "$scratch/pythons" >&2
    printf '%s\n' "$interpreter"
}

# git, also in a folder of another user, as in a container.
git_here() { # COMMAND-OF-GIT...
    git -c safe.directory='*' "$@"
}

closing() {
    printf '%d passed, %d failed' "$passed" "$failed"
    [ "$skipped" = 0 ] || printf ', %d skipped' "$skipped"
    printf '\n'
    [ "$failed" = 0 ]
}

do_without() { # WHY: skips all other checks
    leave_out "$1"
    closing
    exit
}
