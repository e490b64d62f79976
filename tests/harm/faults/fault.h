/* fault.h: faults, and the exit statuses that each allows.
 *
 *     for (const struct fault *fault = system_faults; fault->name; fault++)
 *         try(fault);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum fault_kind {
    FAULT_OF_MEMORY, /* the nth allocation fails */
    FAULT_OF_CALL,   /* strace makes the nth system call fail, or sends a signal at it */
    FAULT_OF_PLACE,  /* a shell starts the program in an unusual environment */
};

/* A set of statuses. */
enum {
    MAY_SUCCEED = 1 << 0,
    MAY_FAIL_ITEMS = 1 << 1, /* a batch reports failed items and continues */
    MAY_REFUSE_INPUT = 1 << 3,
    MAY_REFUSE_OUTPUT = 1 << 5,
    MAY_REFUSE = MAY_SUCCEED | MAY_FAIL_ITEMS | MAY_REFUSE_INPUT | MAY_REFUSE_OUTPUT,
};

enum { FAULT_VALUES_MAX = 8 };

struct fault {
    const char *name;
    enum fault_kind kind;
    const char *how; /* options of strace, or a command of the shell, with %zu for a value */
    bool for_ever;   /* all later ones fail, too */
    int signal;      /* the program may also end with this signal, or its status; 0: none */
    unsigned statuses;
    bool is_mute;      /* standard error is closed, full or limited */
    bool loses_output; /* standard output has no reader */
    size_t values[FAULT_VALUES_MAX];
};

/* Tables; a row without a name ends each. */
extern const struct fault memory_faults[], system_faults[];
