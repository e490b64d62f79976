/* attn_host.h: calls by the program that uses the library. An object, such as a model, runs one
 * call at a time; it may be closed during a call, and its files may become shorter. SIGBUS is
 * handled while an object is open. A fault in a file that a call mapped fills the rest of the
 * mapping with zeros, and the call fails. Other faults go to the handler that was set before.
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

/* `release`, unless NULL, is called after the last drop: there is one drop for init and one for
 * each hold. Closing refuses further calls and drops the object; closing it again does nothing. */
void host_object_init(struct host_object *object, void (*release)(struct host_object *object));
void host_object_hold(struct host_object *object);
void host_object_drop(struct host_object *object);
void host_object_close(struct host_object *object);

/* host_call_begin holds the object for a call, and makes it the owner of the files that the call
 * maps; -1 if the object is closed or runs another call. host_call_end, also called after a failed
 * begin, frees the arena and drops a held object; -1 if the call failed or a file of the object
 * became shorter. `error`, which may be NULL, then gets the message as one visible line
 * of UTF-8. */
int host_call_begin(struct host_call *call, struct host_object *object);
int host_call_end(struct host_call *call, int failed, struct attn_error *error);

/* Refuse a NULL argument; `thing` names it, such as "a model". Callers may have ignored an earlier
 * failure. */
int check_given(const void *given, const char *thing, struct err *err);

/* Make the values of edits from the caller's values, which must stay valid. */
int host_values(struct edit_values *made, const struct attn_value *values, size_t count,
                struct arena *arena, struct err *err);
