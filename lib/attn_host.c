#include "attn_host.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/file.h"
#include "text/label.h"

/* --- calls ------------------------------------------------------------------------------------ */

static struct {
    pthread_mutex_t mutex;
    size_t objects; /* objects that are not yet released */
    bool is_set;
    struct sigaction before;
} handler = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void answer(int signal_number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &handler.before;
    bool is_fault = info->si_code > 0; /* false: a process sent the signal */
    if (is_fault && mapping_list_fill(info->si_addr))
        return;
    if (before->sa_flags & SA_SIGINFO) {
        before->sa_sigaction(signal_number, info, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(signal_number);
    } else if (is_fault || before->sa_handler == SIG_DFL) {
        signal(signal_number, SIG_DFL);
        raise(signal_number); /* the default action follows when this handler returns */
    }
}

void host_object_init(struct host_object *object, void (*release)(struct host_object *object))
{
    /* run the handler on the program's alternate signal stack, if it has one: some programs need
     * that */
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK)};
    *object = (struct host_object){.holders = 1, .release = release};
    pthread_mutex_lock(&handler.mutex);
    if (handler.objects++ == 0 && !handler.is_set) {
        /* save the previous handler before the new one can be called */
        sigaction(SIGBUS, NULL, &handler.before);
        action.sa_mask = handler.before.sa_mask;
        handler.is_set = sigaction(SIGBUS, &action, NULL) == 0;
    }
    pthread_mutex_unlock(&handler.mutex);
}

void host_object_hold(struct host_object *object)
{
    atomic_fetch_add(&object->holders, 1);
}

void host_object_drop(struct host_object *object)
{
    struct sigaction now;
    if (atomic_fetch_sub(&object->holders, 1) > 1)
        return;
    if (object->release)
        object->release(object);
    pthread_mutex_lock(&handler.mutex);
    if (--handler.objects == 0 && handler.is_set && sigaction(SIGBUS, NULL, &now) == 0 &&
        now.sa_flags & SA_SIGINFO && now.sa_sigaction == answer) {
        sigaction(SIGBUS, &handler.before, NULL);
        /* the previous handler is set again. If the program set another handler after `answer`,
         * is_set stays true, because that handler may call `answer`. */
        handler.is_set = false;
    }
    pthread_mutex_unlock(&handler.mutex);
}

void host_object_close(struct host_object *object)
{
    if (!atomic_exchange(&object->closed, true))
        host_object_drop(object);
}

static void set_blocked(bool blocked, sigset_t *before)
{
    sigset_t bus;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &bus, before);
}

int host_call_begin(struct host_call *call, struct host_object *object)
{
    sigset_t before;
    if (object->closed)
        return err_usage(&call->err, "the model was closed");
    if (atomic_exchange(&object->busy, true))
        return err_usage(&call->err, "the model is in use: expected one call at a time, found "
                                     "another from a sink or a thread");
    host_object_hold(object);
    set_blocked(false, &before);
    call->object = object;
    call->owner = mapping_list_own(object);
    call->blocked = sigismember(&before, SIGBUS) == 1;
    return 0;
}

int host_call_end(struct host_call *call, int failed, struct attn_error *error)
{
    arena_release(&call->arena);
    if (call->object) {
        failed |= mapping_list_check(call->object, &call->err);
        mapping_list_own(call->owner);
        if (call->blocked)
            set_blocked(true, NULL);
        call->object->busy = false;
        host_object_drop(call->object);
    }
    if (failed && error) {
        error->status = (int)call->err.kind;
        label_fill(error->text, sizeof error->text, call->err.text);
    }
    return err_if(failed);
}

/* --- values ----------------------------------------------------------------------------------- */

int check_given(const void *given, const char *thing, struct err *err)
{
    return given ? 0 : err_usage(err, "expected %s, found NULL", thing);
}

/* Call the function of an attn_value with a block of numbers, as a tensor. */
static void change(void *context, const struct edit_block *block)
{
    const struct attn_value *value = context;
    const struct site_row *row = site_row(block->site);
    bool has_heads = site_has_heads(block->site);
    int layer = row->in_layer ? (int)block->layer : -1;
    char name[SITE_NAME_BYTES];
    struct attn_tensor tensor = {.name = site_tensor_name(name, block->site, layer),
                                 .layer = layer,
                                 .data = block->data,
                                 .rank = 2 + has_heads,
                                 .heads =
                                     has_heads && block->heads == 1 ? &block->first_head : NULL,
                                 .text = block->number};
    const size_t shape[] = {block->heads, block->rows, block->columns};
    const size_t first[] = {block->first_head, block->first_row, block->first_column};
    const size_t stride[] = {block->head_stride, block->row_stride, 1};
    for (size_t axis = 0; axis < tensor.rank; axis++) {
        tensor.shape[axis] = shape[axis + !has_heads];
        tensor.first[axis] = first[axis + !has_heads];
        tensor.stride[axis] = stride[axis + !has_heads];
        tensor.axes[axis] = site_axis_name(block->site, axis);
    }
    value->function(value->context, block->data, &tensor);
}

int host_values(struct edit_values *made, const struct attn_value *values, size_t count,
                struct arena *arena, struct err *err)
{
    struct edit_value *items = arena_alloc(arena, count, sizeof *items, err);
    if (!items || (count && check_given(values, "values", err)))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct attn_value *value = &values[i];
        items[i] = (struct edit_value){.name = value->name,
                                       .array = {.rank = value->rank, .data = value->data},
                                       .function = value->data ? NULL : change,
                                       .context = (void *)value};
        if (check_given(value->name, "a name of a value", err) ||
            (!value->data && !value->function &&
             err_usage(err, "value '%s': expected an array or a function, found neither",
                       value->name)))
            return -1;
        memcpy(items[i].array.shape, value->shape, sizeof value->shape);
    }
    *made = (struct edit_values){items, count};
    return 0;
}
