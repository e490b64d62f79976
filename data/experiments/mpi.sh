#!/bin/sh
# A batch on the ranks that mpirun starts, on one machine or on those of a host file.
#
#     sh mpi.sh RANKS PLACE FILE [OPTION]...
#     sh mpi.sh 16 results.jsonl sentences.txt --do score
#     MPIRUN='mpirun --hostfile hosts' sh mpi.sh 64 results.jsonl sentences.txt --do score
#
# Each rank does one part: `--shard auto` reads rank and size from the environment (Open MPI's and
# PMI's names are known), and ranks never speak to each other. Within a job of Slurm or PBS mpirun
# knows the machines by itself. All of them must see this folder under the same name (NFS).
# `batch --join` puts the parts together: PLACE, a file or a folder/, then has the bytes of a single
# run. A rank that was interrupted continues when the same line is typed again.
set -eu
[ $# -ge 3 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
refuse() { # WHY AND THE WAY OUT: before anything is begun
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 2
}
tool=${MPIRUN:-mpirun}
command -v "${tool%% *}" >/dev/null || refuse "${tool%% *} is not installed: \
'apt-get install openmpi-bin'; or, without it, parallel.sh, or 'attn-cli batch' on one machine"
command -v attn-cli >/dev/null ||
    refuse "attn-cli is not on the path: 'make install PREFIX=\$HOME/.local' puts it there"
ranks=$1 place=$2 status=0
shift 2
# A status of 1 says that some items failed, which --join will say again; for it mpirun would end
# all ranks.
# shellcheck disable=SC2016 # the ranks' shell expands it
${MPIRUN:-mpirun --bind-to none} -n "$ranks" sh -c 'attn-cli "$@" || [ $? = 1 ]' sh \
    batch "$@" -o "$place" --shard auto --resume -t 1 -q || status=$?
set -- "${place%/}".*-of-"$ranks".part # where there is none, nothing can be joined
[ $status = 0 ] || [ -e "$1" ] || exit $status
attn-cli batch --join "$@" -o "$place"
