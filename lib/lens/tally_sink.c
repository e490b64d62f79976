#include "lens/tally_sink.h"

int tally_sink_init(struct tally_sink *sink, const struct tally_subject *subjects, size_t count,
                    size_t layers, struct arena *arena, struct err *err)
{
    *sink = (struct tally_sink){.subjects = subjects, .layers = layers};
    sink->counted = arena_alloc(arena, count * layers, sizeof *sink->counted, err);
    return sink->counted ? 0 : -1;
}

struct tally_sink tally_sink_only(const struct tally_sink *sink, size_t index)
{
    return (struct tally_sink){
        .subjects = sink->subjects + index,
        .layers = sink->layers,
        .counted = sink->counted + index * sink->layers,
    };
}

static bool has_layer(const struct selection *selection, size_t layer)
{
    for (size_t i = 0; i < selection->layers.count; i++)
        if (selection->layers.items[i] == layer)
            return true;
    return false;
}

int tally_sink_see(void *context, const struct announcement *seen, struct err *err)
{
    const struct tally_sink *sink = context;
    const struct tally_subject *subject = &sink->subjects[seen->sequence];
    const struct selection *selection = subject->selection;
    size_t layer = (size_t)seen->layer;
    bool *counted = &sink->counted[seen->sequence * sink->layers + layer];
    if (seen->site != SITE_WEIGHTS || *counted || !has_layer(selection, layer))
        return 0;
    for (size_t i = 0; i < selection->head_count; i++) {
        size_t head = selection->heads ? selection->heads[i] : i;
        struct tensor weights = tensor_slice(&seen->values, head);
        if (tally_add(subject->tally, layer, head, &weights, err))
            return -1;
    }
    *counted = true;
    return 0;
}
