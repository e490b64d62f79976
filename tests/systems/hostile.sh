#!/bin/sh
# Run tests in an unusual environment: an ordinary user without HOME, umask 077, SIGPIPE ignored as
# in a service, the repository, BUILD and TMPDIR in folders with a blank and a dash in their names,
# and a read-only source tree.
#
#     sh tests/systems/hostile.sh [BUILD]        uses a part of what `make test` has built there
#
# Runs the stages that may depend on the environment, with shortened sweeps. Takes about three
# minutes, and stops if it hangs. Root runs the tests as the user nobody.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
unset MAKEFLAGS MFLAGS MAKELEVEL # set by a calling make
build=${1:-build}
slice=${SLICE:-$(git_here rev-list --count HEAD)} # the copy has no commits to count
STAGES='cli batch figures install readme system races'
FEW='FAULT_EVERY=801 FAULT_LINES=2 BATCH_ITEMS=200 CLI_SHARE=/10 DOCUMENTS=README.md'

case $scratch in *[[:space:]]*)
    do_without "the path of TMPDIR must have no blank, found '$scratch'"
    ;;
esac
source="$scratch/a -copy/attn-cli"
temporary="$scratch/its -own"
own=$scratch/build
mkdir -p "$source" "$temporary" "$own"
ln -s "$own" "$source/build" # BUILD itself must have no blank

as_nobody() { # COMMAND...
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}

copy() { # FROM TO OPTION...
    from=$1 to=$2
    shift 2
    (cd "$from" && tar cf - "$@" .) | tar xf - -C "$to"
}

# Leave out programs, generated files and the objects of a folder, which are built again.
make_copies() {
    copy . "$source" --exclude=./.git --exclude="./${build%/}" --exclude=./build &&
        copy "$build" "$own" --exclude=./asan --exclude=./tsan --exclude=./fuzzing \
            --exclude=./coverage --exclude=./peers --exclude=./real \
            --exclude=./aarch64 --exclude=./clang --exclude=./release --exclude=./wheel &&
        rm -rf "$own/lib/draw" "$own/lib/model/bundled_models.c" "$own"/*.a "$own/attn-cli" &&
        chmod -R a+rX,a-w "$source" && chmod 711 "$scratch" || return
    [ "$(id -u)" != 0 ] || chown -R 65534:65534 "$own" "$temporary"
}

make_test() {
    # shellcheck disable=SC2086 # a word a variable
    (trap '' PIPE && umask 077 && cd "$source" && as_nobody timeout $((10 * HANG)) \
        env -u HOME -u PIPES_END CCACHE_DISABLE=1 DEPS=0 TMPDIR="$temporary" STAGES="$STAGES" \
        SLICE="$slice" $FEW make --no-print-directory -j8 test </dev/null 2>&1)
}

listing() {
    (cd "$source" && find . -printf '%p %s %T@\n' | sort)
}

is_as_it_was() {
    listing | diff "$scratch/before" -
}

leaves_nothing() {
    find "$temporary" -mindepth 1 | tee "$scratch/left" && [ ! -s "$scratch/left" ]
}

check 'copies of sources and BUILD' make_copies
listing >"$scratch/before"
make_test | tee "$scratch/said"
counts=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p' \
    "$scratch/said" | tail -n 1)
# shellcheck disable=SC2086 # two or three numbers
set -- ${counts:-0 1}
passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + ${3:-0}))
check 'the source tree is unchanged' is_as_it_was
check 'nothing is left in TMPDIR' leaves_nothing
closing
