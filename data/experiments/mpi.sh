#!/bin/sh
# Run a batch on MPI ranks, on one machine or on those of a host file.
#
#     sh mpi.sh RANKS OUTPUT FILE [OPTION]...
#     sh mpi.sh 16 results.jsonl sentences.txt --do score
#     MPIRUN='mpirun --hostfile hosts' sh mpi.sh 64 results.jsonl sentences.txt --do score
#
# Each rank does one part: `--shard auto` reads rank and size from the variables of Open MPI or PMI.
# Ranks do not communicate. In a Slurm or PBS job, mpirun finds the job's machines. All machines
# must see this folder under the same name (NFS). `batch --join` then writes OUTPUT, a file or a
# folder/, with the same bytes as a single run. To continue interrupted ranks, run the same command
# again.
set -eu
[ $# -ge 3 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
refuse() { # MESSAGE
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 2
}
tool=${MPIRUN:-mpirun}
command -v "${tool%% *}" >/dev/null || refuse "${tool%% *} is not installed: \
'apt-get install openmpi-bin'; or, without it, parallel.sh, or 'attn-cli batch' on one machine"
command -v attn-cli >/dev/null ||
    refuse "attn-cli is not on the path: 'make install PREFIX=\$HOME/.local' puts it there"
ranks=$1 output=$2 status=0
shift 2
# Status 1: some items failed; --join reports them again. mpirun would end all ranks for it.
# shellcheck disable=SC2016 # expanded by the shell of each rank
${MPIRUN:-mpirun --bind-to none} -n "$ranks" sh -c 'attn-cli "$@" || [ $? = 1 ]' sh \
    batch "$@" -o "$output" --shard auto --resume -t 1 -q || status=$?
set -- "${output%/}".*-of-"$ranks".part # unchanged if there is no part
[ $status = 0 ] || [ -e "$1" ] || exit $status
attn-cli batch --join "$@" -o "$output"
