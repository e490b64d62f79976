#!/bin/sh
# Run data/experiments/Snakefile and ray_batch.py with Snakemake and Ray of PyPI, Ray on two nodes
# of this machine: after a kill, the rows are those of a single run.
#
#     sh tests/systems/workflows.sh [BUILD]
#
# It installs them in BUILD/workflows (700 MB); what cannot be installed is skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
root=$(pwd)
build=$(absolute "${1:-build}")
venv=$build/workflows

install() { # PACKAGE...: else skips
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv" >"$scratch/pip" 2>&1
    "$venv/bin/pip" install -q --disable-pip-version-check "$@" >"$scratch/pip" 2>&1 && return
    leave_out "pip cannot install $*: $(tail -n 1 "$scratch/pip")"
    return 1
}

cd "$scratch" || exit 1
PATH=$venv/bin:$build:$PATH
texts() { # COUNT: makes them, and what is expected of them
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "the cat " i " sat on " i % 7 }' >texts.txt
    attn-cli batch -q texts.txt -m tiny --do score -o expected.jsonl --force || exit 1
}
texts 5000

# --- Snakemake ----------------------------------------------------------------------------------

workflow() {
    HOME=$scratch snakemake -q all -s "$root/data/experiments/Snakefile" --cores 2 \
        --rerun-incomplete --config texts=texts.txt shards=4 \
        'edits={"plain": "", "half": "h.1.mlp_out * 0.5"}' "$@"
}

killed_early() { # with more texts if it ends before
    for count in 5000 20000 80000; do
        rm -rf parts results .snakemake
        texts $count
        workflow >first 2>&1 &
        running=$!
        until [ -e parts/tiny.plain.1.done ] || ! kill -0 $running 2>/dev/null; do sleep 0.1; done
        for id in $(grep -lz "^HOME=$scratch$" /proc/[0-9]*/environ 2>/dev/null |
            tr -dc '0-9\n'); do
            kill -s KILL "$id" 2>/dev/null
        done
        wait $running 2>/dev/null
        [ -e results/tiny.plain.jsonl ] || return 0
    done
    return 1
}

if install snakemake; then
    check 'Snakemake was killed before the end' killed_early
    check 'Snakemake continues' workflow --unlock
    check 'Snakemake ends' workflow
    check 'Snakemake: the rows of a single run' cmp results/tiny.plain.jsonl expected.jsonl
    check 'Snakemake: the edit has a result' test -s results/tiny.half.jsonl
fi

# --- Ray ----------------------------------------------------------------------------------------

# The processes of the cluster with PATTERN in their command, by a variable that they inherit.
cluster() {
    grep -lz "WORKFLOWS_FOLDER=$scratch" /proc/[0-9]*/environ 2>/dev/null |
        while IFS=/ read -r _ _ id _; do
            tr '\0' ' ' 2>/dev/null <"/proc/$id/cmdline" | grep -q "$1" && echo "$id"
        done
}

node() { # OPTION...: start a node with room for two workers
    ray start --num-cpus 2 --object-store-memory 200000000 --disable-usage-stats "$@" \
        >>nodes.log 2>&1
}

if install ray pyarrow numpy pandas; then
    export LIBATTN="$build/libattn.so" PYTHONPATH="$root/lib/bindings/python"
    unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
    export WORKFLOWS_FOLDER="$scratch" RAY_USAGE_STATS_ENABLED=0
    export RAY_AUTH_MODE=disabled # for both nodes and the driver: else each asks for a token
    port=$((20000 + $$ % 10000))
    node --head --port $port --include-dashboard false --temp-dir "$scratch/ray"
    node --address "127.0.0.1:$port"
    check 'Ray: two nodes' is 2 "$(cluster 'raylet/raylet' | wc -l)"
    python "$root/data/experiments/ray_batch.py" texts.txt scores --workers 3 \
        --address "127.0.0.1:$port" >ray.log 2>&1 &
    running=$!
    until [ "$(cluster 'ray::.*Scores' | wc -l)" -ge 3 ] || ! kill -0 $running 2>/dev/null; do
        sleep 0.2
    done
    killed=$(cluster 'ray::.*Scores' | head -n 1)
    until grep -q libattn "/proc/$killed/maps" || ! kill -0 "$killed" 2>/dev/null; do
        sleep 0.2 # until it has loaded the library
    done
    check 'Ray: a worker was killed' kill -s KILL "${killed:-none}"
    wait $running
    check 'Ray ends' is 0 $?
    check 'Ray: the rows of a single run' python - <<'END'
import json, math, numpy, pandas
rows = pandas.read_parquet("scores").sort_values("id")
expected = [json.loads(line) for line in open("expected.jsonl")]
assert len(rows) == len(expected) and list(rows.id) == list(range(len(rows)))
for found, row in zip(rows.logprob, expected):
    wanted = [math.nan if t["logprob_nats"] is None else t["logprob_nats"]
              for t in row["tables"]["scores"]]
    assert numpy.array_equal(numpy.float32(wanted), found, equal_nan=True), row
END
    for id in $(cluster 'ray'); do
        kill -s KILL "$id" 2>/dev/null
    done
fi

closing
