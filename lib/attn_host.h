/* attn_host.h: calls of the program that uses the library: one at a time on an object, which may be
 * closed during a call, and whose files may become shorter. SIGBUS is handled while an object is
 * open. A fault in a file that a call mapped fills the rest of the mapping with zeros, and the call
 * fails. Other faults go to the handler that was set before.
 *
 *     struct host_call call = {0};
 *     int failed = host_call_begin(&call, &object) || ...;
 *     return host_call_end(&call, failed, error);
 */
#pragma once

#include <stdatomic.h>

#include "attn.h"
#include "lens/edits.h"

struct host_object {
    atomic_size_t holders; /* number of: the opener, running calls, objects that need this one */
    atomic_bool closed, busy;
    void (*release)(struct host_object *object);
};

struct host_call {
    struct host_object *object;
    const void *owner; /* of this thread's mappings before the call */
    bool blocked;      /* this thread blocked SIGBUS before the call */
    struct arena arena;
    struct err err;
};

/* `release`, unless NULL, is called after the last drop, one for init and one for each hold.
 * Closing refuses calls from now on and drops the object; the second time it does nothing. */
void host_object_init(struct host_object *object, void (*release)(struct host_object *object));
void host_object_hold(struct host_object *object);
void host_object_drop(struct host_object *object);
void host_object_close(struct host_object *object);

/* Begin: hold the object for a call, and own the files that the call maps; -1 if the object is
 * closed or has another call. End, also after a failed begin: free the arena, drop a held object;
 * -1 if the call failed or a file of the object became shorter. `error`, which may be NULL, then
 * gets the message as one visible line of UTF-8. */
int host_call_begin(struct host_call *call, struct host_object *object);
int host_call_end(struct host_call *call, int failed, struct attn_error *error);

/* Refuse a NULL argument, such as "a model" of callers who ignored an earlier failure. */
int check_given(const void *given, const char *thing, struct err *err);

/* Make the values of edits from the caller's, which must stay valid. */
int host_values(struct edit_values *made, const struct attn_value *values, size_t count,
                struct arena *arena, struct err *err);
