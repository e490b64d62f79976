/* attn_host.h: begins and ends the calls that a program makes to the library. An object, such as a
 * model, runs one call at a time. It may be closed during a call, and its files may become shorter
 * during it. SIGBUS is handled while an object is open. A fault in a file that a call mapped fills
 * the rest of the mapping with zeros, and the call fails. Other faults go to the handler that was
 * set before.
 *
 *     struct host_call call = {0};
 *     int failed = host_call_begin(&call, &object) || ...;
 *     return host_call_end(&call, failed, error);
 * */
#pragma once

#include <stdatomic.h>

#include "attn.h"
#include "lens/edits.h"

struct host_object {
    atomic_size_t holders; /* number of holders: the opener, running calls, and objects that need
                            * this object */
    atomic_bool closed, busy;
    void (*release)(struct host_object *object);
};

struct host_call {
    struct host_object *object;
    const void *owner; /* the owner of this thread's mappings before the call */
    bool blocked;      /* true if this thread blocked SIGBUS before the call */
    struct arena arena;
    struct err err;
};

/* host_object_init sets the number of holders to 1, host_object_hold adds 1, host_object_drop
 * subtracts 1. When the number becomes 0 `release` is called, unless it is NULL. host_object_close
 * refuses further calls and drops the object; closing it again does nothing. */
void host_object_init(struct host_object *object, void (*release)(struct host_object *object));
void host_object_hold(struct host_object *object);
void host_object_drop(struct host_object *object);
void host_object_close(struct host_object *object);

/* host_call_begin holds the object for a call, and makes it the owner of the files that the call
 * maps. It returns -1 if the object is closed or runs another call. host_call_end must also be
 * called after a failed host_call_begin: it frees the arena and drops the object if it was held. It
 * returns -1 if the call failed or a file of the object became shorter; then it writes the message
 * to `error` (unless NULL) as one printable line of UTF-8. */
int host_call_begin(struct host_call *call, struct host_object *object);
int host_call_end(struct host_call *call, int failed, struct attn_error *error);

/* Refuse an argument that is NULL, since a caller may have ignored an earlier failure. `thing`:
 * the argument's name in the message, such as "a model". */
int check_given(const void *given, const char *thing, struct err *err);

/* Convert the caller's array of values to edit values in the arena. The caller's array must remain
 * valid. */
int host_values(struct edit_values *made, const struct attn_value *values, size_t count,
                struct arena *arena, struct err *err);
