#!/bin/sh
# A batch on every processor of this machine, or of several over ssh, by GNU parallel.
#
#     sh parallel.sh SHARDS PLACE FILE [OPTION]...
#     sh parallel.sh 16 results.jsonl sentences.txt --do score
#     HOSTS=node1,node2,: sh parallel.sh 64 results.jsonl sentences.txt --do score
#
# The batch is divided into SHARDS parts of as many items each; parallel runs as many at a time as
# there are processors, one thread each, and gives the next part to whoever is free: take a few
# times more parts than processors. `batch --join` puts them together: PLACE, a file or a folder/,
# then has the bytes of a single run. A part that was interrupted continues when the same line is
# typed again.
#
# HOSTS is what parallel's -S takes (: is this machine). Hosts need attn-cli on their path, and this
# folder under the same name (NFS); where they have none, copy PLACE.I-of-N.* back and join by hand.
set -eu
[ $# -ge 3 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
refuse() { # WHY AND THE WAY OUT: before anything is begun
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 2
}
command -v parallel >/dev/null || refuse "GNU parallel is not installed: 'apt-get install \
parallel'; or, without it, 'attn-cli batch', which takes every processor of this machine by itself"
parallel --version 2>/dev/null | grep -q GNU ||
    refuse "expected GNU parallel, found another program of that name: 'apt-get install parallel'"
command -v attn-cli >/dev/null ||
    refuse "attn-cli is not on the path: 'make install PREFIX=\$HOME/.local' puts it there"
shards=$1 place=$2 status=0
shift 2
# A status of 1 says that some items failed, which --join will say again, with all that is missing.
# shellcheck disable=SC2046 # a word a shard
parallel -q ${HOSTS:+-S "$HOSTS" --workdir "$PWD"} \
    attn-cli batch "$@" -o "$place" --shard "{}/$shards" --resume -t 1 -q \
    ::: $(seq "$shards") || status=$?
set -- "${place%/}".*-of-"$shards".part # where there is none, nothing can be joined
[ $status = 0 ] || [ -e "$1" ] || exit $status
attn-cli batch --join "$@" -o "$place"
