#!/bin/sh
#SBATCH --job-name=attn-cli
#SBATCH --array=1-16
#SBATCH --cpus-per-task=1
#SBATCH --output=attn-cli-%A_%a.log
# A batch as an array of Slurm: each task does one part, whenever there is room for it.
#
#     sbatch slurm.sh -o results.jsonl sentences.txt --do score
#     sbatch --array=1-200 --cpus-per-task=4 slurm.sh -o results.jsonl sentences.txt --do score
#     attn-cli batch --join results.jsonl.*.part -o results.jsonl      (when all tasks are done)
#
# Options before the script's name are Slurm's and win over the lines above; those after it are
# attn-cli's. `--shard auto` reads from the array's variables which part this task is. Nodes must
# see this folder under the same name, as they do on a cluster. --join says which parts are
# missing: submit the same line again; finished parts end at once, interrupted ones continue. To
# join without waiting: sbatch --dependency=afterany:JOB --wrap 'attn-cli batch --join …'.
set -eu
refuse() { # WHY AND THE WAY OUT: before anything is begun
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 2
}
[ -n "${SLURM_ARRAY_TASK_ID-}" ] || refuse "this is a job for Slurm: 'sbatch $0 …'; its package \
is slurm-client; or, without Slurm, parallel.sh, or 'attn-cli batch' on one machine"
command -v attn-cli >/dev/null ||
    refuse "attn-cli is not on the path: 'make install PREFIX=\$HOME/.local' puts it there"
exec attn-cli batch "$@" --shard auto --resume -t "${SLURM_CPUS_PER_TASK:-1}"
