# shellcheck shell=sh
# Put temporary files into memory if there is enough of it, which saves waiting for disks.
#
#     . tests/run/in_memory.sh        exports TMPDIR=/dev/shm, unless TMPDIR is set

has_room() {
    options=$(awk '$2 == "/dev/shm" { print $4 }' /proc/mounts)
    free=$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')
    memory=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
    case ,$options, in
    ,, | *,noexec,* | *,nodev,* | *,nosuid,*) return 1 ;; # test-bare needs all of these
    esac
    [ "$free" -ge 8000000 ] && [ "$memory" -ge 12000000 ] && [ -w /dev/shm ]
}

if [ -z "${TMPDIR-}" ] && has_room 2>/dev/null; then
    export TMPDIR=/dev/shm
fi
