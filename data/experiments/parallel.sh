#!/bin/sh
# A batch on every processor of this machine, or of several over ssh, by GNU parallel.
#
#     sh parallel.sh SHARDS PLACE FILE [OPTION]...
#     sh parallel.sh 16 results/ sentences.txt --reduce entropy
#     HOSTS=node1,node2,: sh parallel.sh 64 results/ sentences.txt --reduce entropy
#
# The batch is cut into SHARDS parts of about as many tokens each; parallel runs as many at a time
# as there are processors, one thread each, and gives the next part to whoever is free: take a few
# times more parts than processors. `merge` puts them together: what is in PLACE then has the bytes
# of a single run. A part that was interrupted goes on when the same line is typed again.
#
# HOSTS is what parallel's -S takes (: is this machine). Hosts need attn-cli on their path, and this
# folder under the same name (NFS); where they have none, copy PLACE.I-of-N back and merge by hand.
set -eu
[ $# -ge 3 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }

have() { # PROGRAM PACKAGE
    command -v "$1" >/dev/null 2>&1 && return
    printf '%s: expected %s on the path, found none%s\n' "${0##*/}" "$1" \
        "${2:+ (apt-get install $2)}" >&2
    exit 2
}

have attn-cli
have parallel parallel
parallel --version 2>/dev/null | grep -q '^GNU' || {
    printf '%s: expected GNU parallel, found another (apt-get install parallel)\n' "${0##*/}" >&2
    exit 2
}

shards=$1 place=$2
shift 2
# A status of 1 says that some items failed, which `merge` will say again, with all that is missing.
# shellcheck disable=SC2046 # a word a shard
parallel -q ${HOSTS:+-S "$HOSTS" --workdir "$PWD"} \
    attn-cli batch "$@" -o "$place" --shard "{}/$shards" --resume -t 1 -q \
    ::: $(seq "$shards") || true
attn-cli merge "$place"
