#!/bin/sh
# List the stages of the tests, or run one.
#
#     sh tests/run/stage.sh --list               the stages in STAGES='NAME...'; default: those of
#                                            `make test`, or with WHOLE=1 (`make test-all`) all
#     sh tests/run/stage.sh NAME BUILD FOLDER  without WHOLE=1, with shorter sweeps: others for each
#                                            SLICE, a number
#     sh tests/run/stage.sh --golden             the models of stage `oracle`
#     sh tests/run/stage.sh --suites BUILD       the suites of stages `unit` and `unit-2`
#     sh tests/run/stage.sh --documents          the documents of stage `readme`
#
# A stage is a command whose last line is `N passed, N failed` or `N passed, N failed, N skipped`,
# and that prints `failed: WHAT` for each failure. FOLDER/NAME.log gets its output, NAME.progress
# its progress, NAME.said a summary when it has ended, NAME.counts its counts. DOCUMENTS='FILE...':
# what `readme` runs; '': README.md and all guides, as with WHOLE=1; default: half of the guides,
# others for each SLICE. TURNS=3: stages that `make test` leaves out
# run for one of three SLICEs.
set -u
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C.UTF-8

# Long stages come first, so that no processor is idle at the end.
stages() {
    cat <<'END'
unit     "$build/unit" $(suites 1)
unit-2   "$build/unit" $(suites 0)
cli      sh tests/cli/run.sh "$build"
batch    sh tests/harm/batch.sh "$build"
floors   sh tests/sources/floors.sh "$build"
style    sh tests/sources/style.sh
complete sh tests/sources/complete.sh "$build"
links    sh tests/sources/links.sh "$build"
models   sh tests/references/models.sh "$build"
figures  sh tests/references/figures.sh "$build" models/tiny
oracle   "$build/oracle" "$build/attn-cli" $(golden)
bf16     "$build/oracle" --bf16 "$build/attn-cli" $(GOLDEN_EVERY=1 golden)
install  sh tests/systems/install.sh "$build"
readme   sh tests/sources/readme.sh "$build" ${DOCUMENTS-}
seeds    seeds
bytes    sh tests/systems/same_bytes.sh "$build"
refusals "$build/refusals" --every "${REFUSALS_EVERY:-1}" "$build/attn-cli" tests/refusals/*.cases
flips    "$build/flips" "${FLIPS_STRIDE:-1}"
memory   sh tests/harm/faults.sh memory "$build" "${FAULT_EVERY:-$((501 * ${rarer:-1}))}"
system   sh tests/harm/faults.sh system "$build" "${FAULT_EVERY:-$((121 * ${rarer:-1}))}"
fuzz     sh tests/harm/fuzz.sh replay "$build"
races    sh tests/harm/races.sh "$build" "${RACE_ROUNDS:-7}"
hauls    sh tests/harm/long_hauls.sh "$build"
readers  sh tests/readers/readers.sh "$build"
python   sh tests/readers/python.sh "$build"
r        sh tests/readers/r.sh "$build"
packages sh tests/systems/packages.sh "$build"
rotation sh tests/run/rotation.sh "$build"
wheel    sh tests/systems/wheel.sh "$build"
pictures sh tests/readers/pictures.sh "$build"
live     sh tests/readers/live/run.sh "$build"
papers   sh tests/readers/papers.sh "$build"
page     sh tests/readers/page/run.sh "$build" "${PAGE-}"
END
}

# Stages of WHOLE=1 alone: they take minutes or other programs, and fail rarely.
rare='bytes models hauls readers python r wheel pictures live papers page'

# The README and every second guide, others for each SLICE.
documents() {
    echo README.md README.zh.md CONTRIBUTING.md
    printf '%s\n' data/guides/[!R]*.md | awk -v slice="${SLICE:-0}" '(NR + slice) % 2 == 0'
}

if [ -z "${WHOLE-}" ]; then
    rarer=3
    DOCUMENTS=${DOCUMENTS-$(documents | tr '\n' ' ')}
    export ATTN_UNIT_FEW="${ATTN_UNIT_FEW-1}" \
        BATCH_KILLS="${BATCH_KILLS-$((${SLICE:-0} % 12 + 1))}" TOGETHER="${TOGETHER-no}" \
        FAULT_LINES="${FAULT_LINES-2}" GOLDEN_EVERY="${GOLDEN_EVERY-2}"
fi

# Every second suite, so that two processors share them. Long suites come first, in pairs of equal
# length. SUITES_EVERY=2: half of these suites, others for every second SLICE, because
# ATTN_UNIT_LOOPS takes turns with each.
suites() { # 1|0
    long='splitter doubling attention_growth unicode_form benchmark growth attention_bent
        bpe attention_kinds'
    all=$("$build/unit" --list) || return # UNIT_SUITES may leave some out
    # shellcheck disable=SC2086 # a word a suite
    { printf '%s\n' $long | grep -Fx "$all"; echo "$all"; } |
        awk -v which="$1" -v every="${SUITES_EVERY:-1}" -v slice="$((${SLICE:-0} / 2))" '
            !seen[$0]++ && ++count % 2 == which && (int(count / 2) + slice) % every == 0'
}

# The models of `oracle`. Sanitizer builds set GOLDEN to a few, because bf16 in plain C takes them
# minutes. make test runs every second one, others for each SLICE.
golden() {
    nth=${SLICE:-0}
    for folder in tests/references/golden/* tests/references/golden-families/*; do
        nth=$((nth + 1))
        [ "${GOLDEN-}" ] || [ $((nth % ${GOLDEN_EVERY:-1})) = 0 ] || continue
        case " ${GOLDEN:-${folder##*/}} " in
            *" ${folder##*/} "*) printf '%s ' "$folder" ;;
        esac
    done
}

seeds() {
    if command -v python3 >/dev/null; then
        python3 tests/references/seeds.py "$build"
    else
        echo 'skipped: numbers of the five texts: python3 is not installed'
        echo '0 passed, 0 failed, 1 skipped'
    fi
}

name=$1
if [ "$name" = --golden ]; then
    golden
    exit
elif [ "$name" = --documents ]; then
    documents | tr ' ' '\n'
    exit
elif [ "$name" = --suites ]; then
    build=$2
    suites 1
    suites 0
    exit
fi
if [ "$name" = --list ]; then
    stages | while read -r name _; do
        if [ -n "${STAGES-}" ]; then
            case " $STAGES " in *" $name "*) echo "$name" ;; esac
        elif [ -n "${WHOLE-}" ] || ! echo " $rare " | grep -q " $name "; then
            echo "$name"
        fi
    done
    exit
fi
# shellcheck disable=SC2034 # used in the commands of stages
build=$2
its=$3/$1

seconds() {
    date +%s.%N | sed 's/N$/0/' # some versions of date lack %N
}

# Print the counts of the last `N passed, N failed` line. If the stage ended without it, count its
# failures and one more.
counts() {
    sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p' "$its.log" |
        tail -n 1 | grep . && return
    said=$(grep -c '^failed: ' "$its.log")
    done=$(cut -d ' ' -f 1 "$its.progress" 2>/dev/null)
    [ "${done:-0}" -ge "$said" ] || done=$said
    echo "$((done - said)) $((said + 1)) ended early"
}

# Print the summary of a stage: its last line and time; its output if something failed; else, unless
# on a terminal, why checks were skipped.
tell() { # PASSED FAILED [SKIPPED [early]]
    closing="$1 passed, $2 failed${3:+, $3 skipped}"
    if [ "${3-}" = ended ]; then
        closing="ended with status $status after $1 passed, $2 failed"
        set -- "$1" "$2"
    elif [ "$status" != 0 ] && [ "$2" = 0 ]; then
        closing="$closing, but ended with status $status"
        set -- "$1" 1 "${3-}"
    fi
    took=$(echo "$(seconds) $began" | awk '{ printf "%.1f", $1 - $2 }')
    printf '%-8s %s  (%s s, %s s of processor time)\n' "$name" "$closing" "$took" "$used"
    echo "$1 $2 ${3:-0}" >"$its.counts"
    if [ "$2" != 0 ]; then
        sed 's/^/    /' "$its.log"
    elif [ -z "${ON_TERMINAL-}" ]; then
        sed -nE 's/^(skipped|python): /         &/p' "$its.log"
    fi
}

began=$(seconds)
export ATTN_TEST_PROGRESS="$its.progress"
eval "$(stages | sed -n "s/^$name  *//p")" >"$its.log" 2>&1 </dev/null
status=$?
times >"$its.times"
used=$(awk -F '[ms ]+' 'END { printf "%.0f", 60 * ($1 + $3) + $2 + $4 }' "$its.times")
# shellcheck disable=SC2046 # numbers
tell $(counts) >"$its.telling"
mv "$its.telling" "$its.said"
