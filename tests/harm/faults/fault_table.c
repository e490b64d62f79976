#include "fault.h"

#include <signal.h>

const struct fault memory_faults[] = {
    {"an allocation", FAULT_OF_MEMORY, .statuses = MAY_SUCCEED | MAY_FAIL_ITEMS | MAY_REFUSE_INPUT},
    {"an allocation and all after it", FAULT_OF_MEMORY, .for_ever = true,
     .statuses = MAY_SUCCEED | MAY_FAIL_ITEMS | MAY_REFUSE_INPUT},
    {.name = NULL},
};

#define FAILS(call, error)                                          \
    {                                                               \
        call, FAULT_OF_CALL, "error=" error, .statuses = MAY_REFUSE \
    }
#define FULL(call, error)                                                       \
    {                                                                           \
        call, FAULT_OF_CALL, "error=" error, .for_ever = true, .is_mute = true, \
                                             .statuses = MAY_REFUSE             \
    }
#define ENDS(call, name)                                                              \
    {                                                                                 \
        call, FAULT_OF_CALL, "signal=" #name, .signal = name, .statuses = MAY_SUCCEED \
    }

/* Root runs as nobody, because permissions and limits hardly apply to root. */
#define NOBODY "exec $NOBODY "
#define ATTN "\"$ATTN\" \"$@\""

const struct fault system_faults[] = {
    FAILS("openat", "EACCES"),
    FAILS("openat", "EMFILE"),
    FAILS("read", "EIO"),
    FAILS("read", "EINTR"),
    FAILS("write", "EIO"),
    FAILS("write", "EINTR"),
    FAILS("pread64", "EIO"),
    FAILS("fsync", "EIO"),
    FAILS("syncfs", "EIO"),
    FAILS("close", "EIO"),
    FAILS("rename", "EACCES"),
    FAILS("renameat2", "EACCES"),
    FAILS("mmap", "ENOMEM"),
    FAILS("mkdir", "EACCES"),
    FAILS("ftruncate", "EIO"),
    FAILS("lseek", "EIO"),
    FAILS("getdents64", "EIO"),
    FAILS("newfstatat", "EIO"),

    /* The disk is full, or has no inodes, from some moment on. */
    FULL("write", "ENOSPC"),
    FULL("openat", "ENOSPC"),
    FULL("mkdir", "ENOSPC"),
    FULL("rename", "ENOSPC"),

    ENDS("openat", SIGINT),
    ENDS("write", SIGINT),
    ENDS("rename", SIGINT),
    ENDS("write", SIGTERM),
    ENDS("close", SIGTERM),
    ENDS("mkdir", SIGTERM),
    ENDS("rename", SIGTERM),

    /* Between two of these calls no file changes. */
    ENDS("openat", SIGKILL),
    ENDS("write", SIGKILL),
    ENDS("rename", SIGKILL),
    ENDS("renameat2", SIGKILL),
    ENDS("mkdir", SIGKILL),
    ENDS("rmdir", SIGKILL),
    ENDS("unlink", SIGKILL),
    ENDS("unlinkat", SIGKILL),
    ENDS("link", SIGKILL),
    ENDS("chmod", SIGKILL),
    ENDS("ftruncate", SIGKILL),
    ENDS("fsync", SIGKILL),

    {"a closed standard input", FAULT_OF_PLACE, "exec " ATTN " <&-", .statuses = MAY_SUCCEED},
    {"a closed standard output", FAULT_OF_PLACE, "exec " ATTN " >&-", .loses_output = true,
     .statuses = MAY_SUCCEED | MAY_REFUSE_OUTPUT},
    {"a closed standard error", FAULT_OF_PLACE, "exec " ATTN " 2>&-", .is_mute = true,
     .statuses = MAY_SUCCEED},
    {"a full standard output", FAULT_OF_PLACE, "exec " ATTN " >/dev/full", .loses_output = true,
     .statuses = MAY_SUCCEED | MAY_REFUSE_OUTPUT},
    {"no environment", FAULT_OF_PLACE, "exec env -i " ATTN, .statuses = MAY_SUCCEED},
    {"a deleted working directory", FAULT_OF_PLACE,
     "mkdir gone && cd gone && rmdir ../gone && exec " ATTN, .statuses = MAY_REFUSE},
    {"a read-only folder", FAULT_OF_PLACE,
     "chmod 555 .; $NOBODY " ATTN "; status=$?; chmod 777 .; exit $status", .statuses = MAY_REFUSE},
    {"no more threads", FAULT_OF_PLACE, NOBODY "prlimit --nproc=0 " ATTN, .statuses = MAY_REFUSE},
    {"small files", FAULT_OF_PLACE, "exec prlimit --fsize=%zu " ATTN, .is_mute = true,
     .statuses = MAY_SUCCEED | MAY_REFUSE_OUTPUT, .values = {1, 100, 1000, 4000, 10000, 100000}},
    {"few open files", FAULT_OF_PLACE, "exec prlimit --nofile=%zu " ATTN, .statuses = MAY_REFUSE,
     .values = {4, 5, 6, 7, 8, 10, 12}},
    /* From what the program and its libraries map, 11 MB, and room for the stack: SIGSEGV ends a
     * program whose stack cannot grow. */
    {"little memory", FAULT_OF_PLACE, "exec prlimit --as=%zu000000 " ATTN,
     .statuses = MAY_REFUSE | MAY_FAIL_ITEMS, .values = {16, 18, 20, 30, 50, 80, 120, 200}},
    {.name = NULL},
};
