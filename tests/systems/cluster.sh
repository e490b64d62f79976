#!/bin/sh
# Run the scripts of data/experiments with GNU parallel, mpirun and Slurm: each result has the bytes
# of a run in one process.
#
#     sh tests/systems/cluster.sh [BUILD]
#
# The test starts its own Slurm from Debian's packages on this machine (munged, slurmctld, slurmd),
# with keys, files and logs in a temporary folder, and stops it at the end.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
root=$(pwd)
build=$(absolute "${1:-build}")
PATH=$build:$PATH:/usr/sbin:/sbin
TASKS=4

folder=$scratch/cluster
daemons=

finish() {
    # shellcheck disable=SC2086 # a word a process
    [ -z "$daemons" ] || kill $daemons 2>/dev/null
    # shellcheck disable=SC2086
    [ -z "$daemons" ] || wait $daemons 2>/dev/null
    remove "$scratch"
}
mkdir -m 700 "$folder" && cd "$folder" || exit 1

experiment() { # SCRIPT ARGUMENT...
    script=$1
    shift
    timeout "$HANG" sh "$root/data/experiments/$script.sh" "$@"
}

has() { # COMMAND...: else skips
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 && continue
        leave_out "$tool is not installed"
        return 1
    done
}

# --- the experiment -----------------------------------------------------------------------------

i=0
while [ $i -lt 60 ]; do
    echo 'Life is short, eat dessert first'
    echo 'the big dog sat on the old mat'
    echo 'eat'
    i=$((i + 1))
done >lines.txt
attn-cli batch lines.txt --do score -o scores.expected.jsonl -q || exit 1
attn-cli batch lines.txt --head 0 --format csv -o files.expected/ -q || exit 1

# --- GNU parallel and mpirun --------------------------------------------------------------------

# If no shard wrote anything, a script ends with the status of attn-cli; otherwise the join says
# which shards are missing.
ends() { # STATUS WORD SCRIPT ARGUMENT...: ends with the status, prints the word, not 'missing'
    expected=$1 word=$2 status=0
    shift 2
    experiment "$@" >ended 2>&1 || status=$?
    cat ended
    [ $status = "$expected" ] && grep -q -e "$word" ended && ! grep -q 'missing' ended
}

says() { # WORD SCRIPT ARGUMENT...: fails and prints the word
    word=$1
    shift
    ! experiment "$@" >ended 2>&1 && cat ended && grep -q -e "$word" ended
}

if has parallel; then
    check 'parallel: no part is written' \
        ends 2 "unknown command 'none'" parallel 2 scores.jsonl lines.txt --do none
    attn-cli batch lines.txt --do score -o scores.jsonl --shard 1/2 -q
    check 'parallel: one part was there' \
        says 'missing: --array=2' parallel 2 scores.jsonl lines.txt --do none
    rm -rf scores.jsonl.*-of-*
    check 'parallel: scores' experiment parallel 5 scores.jsonl lines.txt --do score
    check 'parallel: scores are those of one run' cmp scores.jsonl scores.expected.jsonl
    check 'parallel: files' experiment parallel 3 files/ lines.txt --head 0 --format csv
    check 'parallel: files are those of one run' diff -r files files.expected
    rm -rf scores.jsonl* files files.*-of-*
fi

if has mpirun; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # root in a container
    export MPIRUN='mpirun --oversubscribe --bind-to none'
    mpirun=$MPIRUN MPIRUN="$MPIRUN --no-such-option"
    check 'mpirun: it does not begin' \
        ends 1 'no-such-option' mpi 2 scores.jsonl lines.txt --do score
    MPIRUN=$mpirun
    check 'mpirun: scores' experiment mpi 2 scores.jsonl lines.txt --do score
    check 'mpirun: two ranks did it' test -s scores.jsonl.2-of-2.part
    check 'mpirun: scores are those of one run' cmp scores.jsonl scores.expected.jsonl
    check 'mpirun: files' experiment mpi 2 files/ lines.txt --head 0 --format csv
    check 'mpirun: files are those of one run' diff -r files files.expected
    rm -rf scores.jsonl* files files.*-of-*
fi

# --- Slurm --------------------------------------------------------------------------------------

free_port() { # NUMBER: prints the first free port from NUMBER on
    port=$1
    while grep -qi "$(printf ':%04X ' "$port")" /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
        port=$((port + 1))
    done
    echo "$port"
}

start_munge() {
    head -c 128 /dev/urandom >munge.key
    chmod 400 munge.key
    munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
        --pid-file="$folder/munged.pid" --seed-file="$folder/munge.seed" \
        --log-file="$folder/munged.log" >munged.out 2>&1 &
    daemons="$daemons $!"
}

start_slurm() {
    user=$(id -un)
    host=$(hostname -s 2>/dev/null || hostname)
    first=$((20000 + $$ % 20000))
    mkdir state spool
    cat >slurm.conf <<END
ClusterName=attn
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
SlurmctldPort=$(free_port $first)
SlurmdPort=$(free_port $((first + 100)))
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
END
    printf 'CgroupPlugin=autodetect\nIgnoreSystemd=yes\n' >cgroup.conf
    export SLURM_CONF="$folder/slurm.conf"
    slurmctld -D -L "$folder/slurmctld.log" >slurmctld.out 2>&1 &
    daemons="$daemons $!"
    slurmd -D -N "$host" -L "$folder/slurmd.log" >slurmd.out 2>&1 &
    daemons="$daemons $!"
}

# Wait until the node is idle.
wait_for_slurm() {
    for attempt in $(seq "$HANG"); do
        [ "$(timeout "$HANG" sinfo -h -o %t 2>/dev/null)" = idle ] && return 0
        sleep 1
    done
    echo "no node after $attempt tries"
    sinfo
    tail -n 20 munged.out munged.log slurmctld.out slurmctld.log slurmd.out slurmd.log
    return 1
}

slurm_array() { # PLACE OPTION...
    place=$1
    shift
    timeout "$HANG" sbatch --wait --array=1-$TASKS "$root/data/experiments/slurm.sh" \
        lines.txt "$@" -o "$place" || {
        cat attn-cli-*.log
        return 1
    }
    attn-cli batch --join "${place%/}".*-of-$TASKS.part -o "$place"
}

if has munged slurmctld slurmd sbatch; then
    start_munge
    start_slurm
    export SLURM_CONF
    if wait_for_slurm >slurm.log 2>&1; then
        pass
        check 'slurm: scores' slurm_array scores.jsonl --do score
        check 'slurm: four tasks did it' test -s scores.jsonl.4-of-4.part
        check 'slurm: scores are those of one run' cmp scores.jsonl scores.expected.jsonl
        check 'slurm: files' slurm_array files/ --head 0 --format csv
        check 'slurm: files are those of one run' diff -r files files.expected
    else
        fail 'slurm did not start' slurm.log
    fi
fi

closing
