/* fault.h: what may go wrong with a command, and how it may end then.
 *
 *     for (const struct fault *fault = system_faults; fault->name; fault++)
 *         try(fault);
 */
#ifndef ATTN_TESTS_FAULT_H
#define ATTN_TESTS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

enum fault_kind {
    FAULT_OF_MEMORY, /* the nth allocation fails */
    FAULT_OF_CALL,   /* strace lets the nth call to the system fail, or sends a signal at it */
    FAULT_OF_PLACE,  /* a shell starts the program where something is wrong */
};

/* Statuses as a set. */
enum {
    MAY_SUCCEED = 1 << 0,
    MAY_FAIL_ITEMS = 1 << 1, /* of a batch: it says which, and goes on with the others */
    MAY_REFUSE_INPUT = 1 << 3,
    MAY_REFUSE_OUTPUT = 1 << 5,
    MAY_REFUSE = MAY_SUCCEED | MAY_FAIL_ITEMS | MAY_REFUSE_INPUT | MAY_REFUSE_OUTPUT,
};

enum { FAULT_VALUES_MAX = 8 };

struct fault {
    const char *name;
    enum fault_kind kind;
    const char *how; /* strace's words, or the shell's; in these %zu is one of the values */
    bool for_ever;   /* all that follow fail, too */
    int signal;      /* it may also end with this signal, or with its status; 0: no */
    unsigned statuses;
    bool is_mute;      /* standard error is closed, full or limited */
    bool loses_output; /* nobody reads standard output */
    size_t values[FAULT_VALUES_MAX];
};

/* Tables, each up to a row without a name. */
extern const struct fault memory_faults[], system_faults[];

#endif
