#include "model/site_size.h"

#include "base/num.h"

/* The width of a site that has a row for every token. */
static size_t channels(const struct config *c, enum site site)
{
    if (site_like(site) == SITE_MLP_ACT)
        return c->n_inner;
    bool joined = site == SITE_ATTN_OUT && !c->out_proj; /* the heads side by side */
    return joined ? c->n_head * c->d_v : c->n_embd;
}

/* How many key/value heads so many query heads look at, at most. */
static size_t groups(const struct config *c, size_t heads)
{
    return heads < c->n_kv_head ? heads : c->n_kv_head;
}

bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source)
{
    const struct site_row *row = &site_rows[site];
    bool at_itself = config->n_encoder_layer && row->part == PART_SENTENCE;
    enum site like = site_like(site);
    size_t queries = row->part == PART_SOURCE ? source : tokens;
    size_t keys = at_itself || !config->cross ? tokens : source;
    size_t sizes[] = {1, queries, 1}; /* heads, rows, columns */
    switch (row->axes) {
    case AXES_TOKEN_WORD:
        sizes[2] = config->vocab_size;
        break;
    case AXES_HEAD_QUERY_KEY:
        sizes[0] = heads;
        sizes[2] = keys;
        break;
    case AXES_HEAD_TOKEN_DIM:
        sizes[0] = heads;
        sizes[2] = like == SITE_CONTEXT ? config->d_v : config->d_k;
        break;
    case AXES_GROUP_TOKEN_DIM:
        sizes[0] = groups(config, heads);
        sizes[1] = keys;
        sizes[2] = like == SITE_V ? config->d_v : config->d_k;
        break;
    case AXES_TOKEN_CHANNEL:
        sizes[2] = channels(config, site);
        break;
    }
    *count = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!num_multiply(count, *count, sizes[i]))
            return false;
    return true;
}
