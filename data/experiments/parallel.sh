#!/bin/sh
# Run a batch on all processors of this machine, or of several machines over ssh, with GNU parallel.
#
#     sh parallel.sh SHARDS OUTPUT FILE [OPTION]...
#     sh parallel.sh 16 results.jsonl sentences.txt --do score
#     HOSTS=node1,node2,: sh parallel.sh 64 results.jsonl sentences.txt --do score
#
# The batch is divided into SHARDS parts of equal size. parallel runs one part on each processor,
# in one thread, and starts the next part when one ends; choose several times more parts than
# processors. `batch --join` then writes OUTPUT, a file or a folder/, with the same bytes as a
# single run. To continue interrupted parts, run the same command again.
#
# HOSTS is the value of parallel's option -S (: is this machine). Hosts need attn-cli on their PATH
# and this folder under the same name (NFS). Without a shared folder, copy OUTPUT.I-of-N.* back and
# join them by hand.
set -eu
[ $# -ge 3 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
refuse() { # MESSAGE
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 2
}
command -v parallel >/dev/null || refuse "GNU parallel is not installed: 'apt-get install \
parallel'; or, without it, 'attn-cli batch', which takes every processor of this machine by itself"
parallel --version 2>/dev/null | grep -q GNU ||
    refuse "expected GNU parallel, found another program of that name: 'apt-get install parallel'"
command -v attn-cli >/dev/null ||
    refuse "attn-cli is not on the path: 'make install PREFIX=\$HOME/.local' puts it there"
shards=$1 output=$2 status=0
shift 2
# Status 1: some items failed; --join reports them again, and parts that are missing.
# shellcheck disable=SC2046 # one word for each shard
parallel -q ${HOSTS:+-S "$HOSTS" --workdir "$PWD"} \
    attn-cli batch "$@" -o "$output" --shard "{}/$shards" --resume -t 1 -q \
    ::: $(seq "$shards") || status=$?
set -- "${output%/}".*-of-"$shards".part # unchanged if there is no part
[ $status = 0 ] || [ -e "$1" ] || exit $status
attn-cli batch --join "$@" -o "$output"
