#include "session.h"

#include <string.h>

#include "command.h"
#include "request.h"

int session_read_options(struct session *session, struct err *err)
{
    return options_precision(&session->precision, &session->options->model, err) ||
                   mechanism_options_read(&session->mechanism, &session->options->mechanism, err)
               ? -1
               : 0;
}

int session_open(struct session *session, struct err *err)
{
    const struct options *options = session->options;
    struct viewer *viewer = &session->viewer;
    if (viewer_open(viewer, chosen_model(options->model.name), (size_t)options->model.threads,
                    err) ||
        viewer_set_precision(viewer, session->precision, err) ||
        inputs_set_tokenizer(viewer->tokenizer, &viewer->model.folder, &options->input, err))
        return -1;
    print_note_of_tokenizer(viewer->tokenizer);
    return 0;
}

int session_read(const struct session *session, struct text_pair *pair, size_t index,
                 struct arena *arena, struct err *err)
{
    const struct inputs *inputs = &session->inputs;
    const char *text = session->options->input.source;
    struct input source = {.text = text, .size = text ? strlen(text) : 0};
    if (!viewer_read(&session->viewer, pair, inputs->count ? &inputs->items[index] : NULL,
                     text ? &source : NULL, arena, err))
        return 0;
    return inputs->count ? inputs_blame(inputs, index, err) : -1;
}

void session_count_dropped(struct session *session, const struct text_pair *pair, size_t index)
{
    dropped_add(&session->dropped, &pair->sentence, index);
    if (index == 0) /* it is the same for all */
        dropped_add(&session->in_source, &pair->source, index);
}

void session_note_dropped(const struct session *session)
{
    struct buf place = {0};
    if (!session->inputs.whole && session->inputs.count)
        inputs_place(&place, &session->inputs, session->dropped.input);
    dropped_note(&session->dropped, place.bytes);
    dropped_note(&session->in_source, "the source");
    buf_release(&place);
}

void session_release(struct session *session)
{
    viewer_release(&session->viewer);
    inputs_release(&session->inputs);
    arena_release(&session->arena);
}
