#include "lens/visible.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "model/config.h"
#include "model/pattern.h"

/* The knockouts of a layer; whether one of them names heads; whether another edit may have given
 * excluded keys a value. */
struct knockouts {
    struct edits edits;
    bool by_head, others;
};

static int find_knockouts(struct knockouts *found, const struct visible_rules *rules, size_t layer,
                          struct arena *arena, struct err *err)
{
    const struct edits *edits = rules->edits;
    *found = (struct knockouts){.others = edits_have(edits, SITE_WEIGHTS, layer)};
    if (!edits_have(edits, SITE_MASKED, layer))
        return 0;
    struct edit *items = arena_alloc(arena, edits->count, sizeof *items, err);
    for (size_t i = 0; items && i < edits->count; i++) {
        if (edits->items[i].op != EDIT_FORBID) {
            found->others |= edits->items[i].site == SITE_MASKED;
            continue;
        }
        found->by_head |= edits->items[i].heads.count > 0;
        items[found->edits.count++] = edits->items[i];
    }
    found->edits.items = items;
    return items ? 0 : -1;
}

/* Dense attention sees a range: all keys, or those of the window. */
static int fill_rows(float *rows, const struct kept *kept, const struct config *config,
                     struct arena *arena, struct err *err)
{
    const struct pattern *pattern = &config->mechanism.pattern;
    bool sparse = config->mechanism.kind == ATTENTION_SPARSE;
    size_t window = config_window(config, (size_t)kept->layer);
    size_t queries = kept->shape[1];
    size_t keys = kept->shape[2];
    uint32_t *seen = arena_alloc(arena, keys, sizeof *seen, err);
    uint32_t *drawn = arena_alloc(arena, keys, sizeof *drawn, err);
    if (!seen || !drawn)
        return -1;
    for (size_t query = 0; query < queries; query++, rows += keys) {
        struct view view = {
            .query = query, .visible = config->causal ? query + 1 : keys, .drawn = drawn};
        view.first = window && view.visible > window ? view.visible - window : 0;
        for (size_t key = view.first; !sparse && key < view.visible; key++)
            rows[key] = 1;
        if (!sparse)
            continue;
        view.drawn_count = pattern_draw(pattern, &view, drawn);
        for (size_t i = pattern_keys(pattern, &view, seen); i-- > 0;)
            rows[seen[i]] = 1;
    }
    return 0;
}

static void knock_out(float *rows, const struct kept *kept, const struct knockouts *knockouts,
                      const struct visible_rules *rules, size_t head)
{
    size_t prompt = rules->prompt_count;
    struct edit_block block = {
        .site = SITE_MASKED,
        .layer = (size_t)kept->layer,
        .text = rules->text,
        .number = rules->number,
        .data = rows,
        .heads = 1,
        .rows = kept->shape[1],
        .columns = kept->shape[2],
        .row_stride = kept->shape[2],
        .first_head = head,
        .row_places = prompt ? prompt : kept->shape[1],
        .column_places = prompt ? prompt : kept->shape[2],
        .forbidden = 0,
    };
    edits_apply(&knockouts->edits, &block);
}

int visible_find(struct kept *kept, const struct visible_rules *rules, struct arena *arena,
                 struct err *err)
{
    struct knockouts knockouts;
    const struct config *config = rules->config;
    if (kept->site != SITE_MASKED && kept->site != SITE_WEIGHTS)
        return 0;
    size_t layer = (size_t)kept->layer;
    if (find_knockouts(&knockouts, rules, layer, arena, err))
        return -1;
    if (knockouts.others)
        return 0;
    if (!knockouts.edits.count && !config_window(config, layer) &&
        config->mechanism.kind != ATTENTION_SPARSE)
        return 0;
    size_t cells = kept->shape[1] * kept->shape[2];
    size_t matrices = knockouts.by_head ? kept->shape[0] : 1;
    float *visible = arena_alloc(arena, matrices * cells, sizeof *visible, err);
    if (!visible || fill_rows(visible, kept, config, arena, err))
        return -1;
    for (size_t i = matrices; i-- > 0;) {
        memcpy(visible + i * cells, visible, i ? cells * sizeof *visible : 0);
        knock_out(visible + i * cells, kept, &knockouts, rules,
                  i < kept->shape[0] ? kept->heads[i] : 0);
    }
    kept->visible = visible;
    kept->visible_step = knockouts.by_head ? cells : 0;
    return 0;
}
