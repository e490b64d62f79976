/* host_call.h: calls of a program that uses the library, one at a time on an object, which may be
 * closed during a call, and whose files may become shorter.
 *
 *     host_object_init(&model->object, free_model);
 *     struct host_call call;
 *     if (host_call_begin(&call, &model->object, err))
 *         return -1;
 *     return host_call_end(&call, work(model, err), err);
 *     host_object_close(&model->object);
 *
 * SIGBUS is handled while an object is open. A fault in a file that a call mapped fills the rest of
 * the mapping with zeros, and the call fails. Other faults go to the handler that was set before.
 */
#ifndef ATTN_BASE_HOST_CALL_H
#define ATTN_BASE_HOST_CALL_H

#include <stdatomic.h>

#include "base/err.h"

struct host_object {
    atomic_size_t holders; /* the opener, running calls, objects that need it */
    atomic_bool closed, busy;
    void (*release)(struct host_object *object);
};

struct host_call {
    struct host_object *object;
    const void *owner; /* of this thread's mappings before the call */
    bool blocked;      /* this thread blocked SIGBUS */
};

/* `release` is called after the last drop, one for init and one for each hold. */
void host_object_init(struct host_object *object, void (*release)(struct host_object *object));
void host_object_hold(struct host_object *object);
void host_object_drop(struct host_object *object);

/* Refuse calls from now on and drop the object; the second time do nothing. */
void host_object_close(struct host_object *object);

/* Hold the object for a call, and own the files that it maps. Fails if the object is closed or
 * another call runs. */
int host_call_begin(struct host_call *call, struct host_object *object, struct err *err);

/* Drop the object. Returns `failed`, or -1 with `err` if a file of the object became shorter. */
int host_call_end(const struct host_call *call, int failed, struct err *err);

#endif
