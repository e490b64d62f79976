#!/bin/sh
#SBATCH --job-name=attn-cli
#SBATCH --array=1-16
#SBATCH --cpus-per-task=1
#SBATCH --output=attn-cli-%A_%a.log
# Run a batch as a Slurm job array: each task does one part.
#
#     sbatch slurm.sh -o results.jsonl sentences.txt --do score
#     sbatch --array=1-200 --cpus-per-task=4 slurm.sh -o results.jsonl sentences.txt --do score
#     attn-cli batch --join results.jsonl.*.part -o results.jsonl      (when all tasks are done)
#
# Options before the script's name are those of sbatch and override the lines above; options after
# it are those of attn-cli. `--shard auto` reads the number of the part from Slurm's variables.
# Nodes must see this folder under the same name. --join names the parts that are missing, such as
# --array=3,7-9: submit the same command again with it; interrupted parts continue. To join when the
# array ends: sbatch --dependency=afterany:JOB --wrap 'attn-cli batch --join …'.
set -eu
refuse() { # MESSAGE
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 2
}
[ -n "${SLURM_ARRAY_TASK_ID-}" ] || refuse "this is a job for Slurm: 'sbatch $0 …'; its package \
is slurm-client; or, without Slurm, parallel.sh, or 'attn-cli batch' on one machine"
command -v attn-cli >/dev/null ||
    refuse "attn-cli is not on the path: 'make install PREFIX=\$HOME/.local' puts it there"
exec attn-cli batch "$@" --shard auto --resume -t "${SLURM_CPUS_PER_TASK:-1}"
