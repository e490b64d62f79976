#include "model/batch.h"

int batch_check_length(const struct config *config, size_t count, struct err *err)
{
    if (count == 0)
        return err_set(err, "the text is empty: expected at least one token");
    if (config->n_positions && count > config->n_positions)
        return err_set(err,
                       "the text is too long: expected at most %zu tokens (n_positions), "
                       "found %zu",
                       config->n_positions, count);
    return 0;
}

static int check_ids(const struct config *config, const uint32_t *ids, size_t count,
                     struct err *err)
{
    if (batch_check_length(config, count, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= config->vocab_size)
            return err_set(err, "token %zu: expected an id below vocab_size = %zu, found %u", i,
                           config->vocab_size, ids[i]);
    return 0;
}

static int check_sequence(const struct config *config, const struct sequence *sequence,
                          struct err *err)
{
    if (check_ids(config, sequence->ids, sequence->count, err))
        return -1;
    if (!config->cross)
        return sequence->source_ids
                   ? err_usage(err, "expected no source: the model attends to its own sentence")
                   : 0;
    if (!sequence->source_ids)
        return err_usage(err, "expected a source: the model attends from a sentence to a second "
                              "text (--source)");
    return check_ids(config, sequence->source_ids, sequence->source_count, err)
               ? err_prefix(err, "source")
               : 0;
}

int batch_init(struct batch *batch, const struct config *config, const struct sequence *sequences,
               size_t count, struct arena *arena, struct err *err)
{
    struct span *queries = arena_alloc(arena, count, sizeof *queries, err);
    struct span *keys = arena_alloc(arena, count, sizeof *keys, err);
    if (!queries || !keys)
        return -1;
    *batch = (struct batch){.sequences = sequences, .count = count};
    for (size_t s = 0; s < count; s++) {
        const struct sequence *sequence = &sequences[s];
        if (check_sequence(config, sequence, err))
            return -1;
        queries[s] = (struct span){batch->tokens, sequence->count};
        keys[s] = config->cross ? (struct span){batch->source_tokens, sequence->source_count}
                                : queries[s];
        batch->tokens += sequence->count;
        batch->source_tokens += sequence->source_count;
        if (keys[s].count > batch->longest_keys)
            batch->longest_keys = keys[s].count;
    }
    batch->queries = queries;
    batch->keys = keys;
    return 0;
}
