# shellcheck shell=sh
# What a stage of the tests counts with, and the folder that it works in.
#
#     . tests/tally.sh                    from the repository's root
#     check 'two are two' [ 2 = 2 ]       passed; or failed, with what the command printed
#     leave_out 'jq is not installed'     skipped; run.sh gathers what is not installed
#     side_by_side "$scratch/lines"       each line of it, `STATUS COMMAND`, several at once
#     python=$(python_with numpy)         the python3 that has this module, or status 1
#     closing                             the last line, `N passed, N failed`, and the status
#
# $scratch is a fresh folder, gone when the script ends, however it ends. A failure is printed when
# it happens, in a line that begins with `failed: `. How far the stage has come stands in the file
# that run.sh names, `DONE TOTAL` (0 where that is not known before).
export LC_ALL=C.UTF-8 # whatever the user's language: in many, awk reads and writes 0,5
repository=$(pwd)
passed=0 failed=0 skipped=0 total=0

progress_file=${ATTN_TEST_PROGRESS-}
unset ATTN_TEST_PROGRESS # it is not for what a test starts

scratch=$(mktemp -d) && scratch=$(cd "$scratch" && pwd -P) || exit 1

# A test may have taken rights away.
remove() { # FOLDER
    rm -rf "$1" 2>/dev/null || { chmod -R u+rwX "$1" && rm -rf "$1"; } 2>/dev/null
}

finish() { # a script may put more in its place
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

fail() { # WHAT [FILE]: with what stands in the file
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

check() { # WHAT COMMAND...: in this shell
    checked=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        pass
    else
        fail "$checked" "$scratch/log"
    fi
}

# Each line of a file, `STATUS COMMAND`, in a shell of its own, as many at once as there are
# processors: passed where it ends with that status. What the third prints is in FILE.3.
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

same() { # WHAT EXPECTED FOUND
    if [ "$2" = "$3" ]; then
        pass
    else
        printf 'expected: %s\nfound:    %s\n' "$2" "$3" >"$scratch/log"
        fail "$1" "$scratch/log"
    fi
}

# Prints the python3 that has these modules, and names it on standard error, once.
python_with() { # MODULE[, MODULE...]
    interpreter=$(sh "$repository/dependencies.sh" python "$1") || return
    grep -qxF "python: $interpreter" "$scratch/pythons" 2>/dev/null ||
        printf 'python: %s\n' "$interpreter" | tee -a "$scratch/pythons" >&2
    printf '%s\n' "$interpreter"
}

# In a folder of another user, too, as in a container.
git_here() { # COMMAND-OF-GIT...
    git -c safe.directory='*' "$@"
}

closing() {
    printf '%d passed, %d failed' "$passed" "$failed"
    [ "$skipped" = 0 ] || printf ', %d skipped' "$skipped"
    printf '\n'
    [ "$failed" = 0 ]
}
