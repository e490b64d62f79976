#include "lens/selection.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/num.h"
#include "lens/tokenized.h"
#include "model/config.h"
#include "model/layer.h"
#include "model/model.h"
#include "model/points.h"
#include "model/site_names.h"
#include "pass/tap.h"

#define MIXERS_ALONE ": its layers keep a state: see 'mix_map'"

/* True if an option accepts a site of the model: only --show accepts sites that cannot be
 * edited. */
static bool is_named(const struct model_point *point, const struct site_word *word)
{
    return word->of_list || point->edit != EDIT_NOT;
}

/* Names of sites in other programs and papers; error messages suggest our names in their place. */
static const struct {
    const char *words;
    enum site site;
} usual_words[] = {
    {"embeddings embed wte", SITE_EMBEDDING},
    {"query queries", SITE_Q},
    {"key keys", SITE_K},
    {"value values", SITE_V},
    {"attn_scores attention_scores", SITE_SCORES},
    {"attn attention attentions att attn_weights attention_weights pattern patterns attn_pattern "
     "attention_pattern prob probs probabilities",
     SITE_WEIGHTS},
    {"z head_out head_output", SITE_CONTEXT},
    {"mlp ffn", SITE_MLP_OUT},
    {"hidden hidden_state hidden_states resid residual stream", SITE_RESID_POST},
};

/* Return the name of the model's site that a word usually means; NULL: none. */
static const char *usual_meaning(const struct site_word *word, const struct config *config)
{
    char text[SITE_NAME_BYTES];
    if (word->size >= sizeof text)
        return NULL;
    snprintf(text, sizeof text, "%.*s", (int)word->size, word->name);
    for (size_t i = 0; i < sizeof usual_words / sizeof *usual_words; i++)
        for (enum site_branch branch = 0;
             branch < SITE_BRANCHES && name_is_among(usual_words[i].words, text); branch++)
            if (site_exists(config, SITE_OF(branch, usual_words[i].site)))
                return site_name(SITE_OF(branch, usual_words[i].site));
    return NULL;
}

int selection_site(enum site *site, const struct site_word *word, const struct config *config,
                   struct err *err)
{
    const char *known[SITE_COUNT + 2] = {"tokens"};
    struct names names = {known, word->of_list, sizeof *known};
    const bool found = site_find(word->name, word->size, site);
    const struct model_point *point = found ? point_any(config, *site) : NULL;
    if (point && is_named(point, word))
        return 0;
    if (!found || point || (!word->of_list && site_is_effective(*site))) {
        for (enum site other = 0; other != SITE_END; other = site_next(other))
            if ((point = point_any(config, other)) && is_named(point, word))
                known[names.count++] = site_name(other);
        if (word->of_list)
            known[names.count++] = "all";
        return names_refuse(names, word->option, word->name, word->size,
                            usual_meaning(word, config), err);
    }
    const char *name = site_name(*site);
    if (*site == SITE_SOFTMAX)
        return err_usage(err, "%s: '%s' exists only with --mask-after", word->option, name);
    if (site_is_left_out(config, *site))
        return err_usage(err, "%s: '%s' is left out by --without mlp", word->option, name);
    return err_usage(err, "%s: a model of type \"%s\" has no '%s'%s", word->option,
                     config_kind_name(config), name,
                     config_keeps_state(config) && *site == SITE_WEIGHTS ? MIXERS_ALONE : "");
}

static struct site_set all_sites(const struct config *config)
{
    struct site_set sites = {0};
    for (const struct model_point *p = points_of(config); p < points_end(config); p++)
        if (!site_is_by_name(p->site))
            site_set_add(&sites, p->site);
    return sites;
}

bool selection_is_all(const struct selection *selection, const struct config *config)
{
    const struct site_set all = all_sites(config);
    return memcmp(&selection->sites, &all, sizeof all) == 0;
}

bool selection_other_name(enum site *site, int *layer, const struct site_word *word,
                          const struct config *config, site_note *note, struct err *err)
{
    static const char *const words[] = {"all", "tokens"};
    char own[SITE_NAME_BYTES];
    size_t index = 0;
    if (site_find(word->name, word->size, site) ||
        names_find(&index, NAMES_LIST(words), word->name, word->size))
        return false;
    if (!site_of_name(site, layer, word->name, word->size, config, err)) {
        err_prefix(err, "%s", word->option);
        return false;
    }
    site_tensor_name(own, *site, *layer);
    const bool is_own = strlen(own) == word->size && memcmp(own, word->name, word->size) == 0;
    if (note && !is_own && *layer < (int)site_layers(config, *site)) /* a layer that does not exist
                                                                      * is refused later */
        note("'%.*s' is '%s' here", (int)word->size, word->name, own);
    return true;
}

int selection_translate(const char **show, const char **layers, const struct config *config,
                        site_note *note, struct arena *arena, struct err *err)
{
    struct buf names = {0}, numbers = {0};
    for (const char *at = *show; at && !err->kind;
         at += strcspn(at, ","), at = *at ? at + 1 : NULL) {
        const struct site_word word = {"--show", at, strcspn(at, ","), true};
        enum site site;
        int layer = -1;
        const bool found = selection_other_name(&site, &layer, &word, config, note, err);
        buf_format(&names, "%s%.*s", names.size ? "," : "",
                   found ? (int)strlen(site_name(site)) : (int)word.size,
                   found ? site_name(site) : at);
        if (layer >= 0)
            buf_format(&numbers, "%s%d", numbers.size ? "," : "", layer);
    }
    if (numbers.size && !*layers)
        *layers = buf_keep(&numbers, arena, err);
    buf_release(&numbers);
    *show = buf_keep(&names, arena, err);
    return err_if(err->kind);
}

int selection_translate_one(const char **name, const char *option, const struct config *config,
                            struct err *err)
{
    enum site site;
    int layer = -1;
    const struct site_word word = {option, *name, *name ? strlen(*name) : 0, false};
    if (!*name || !selection_other_name(&site, &layer, &word, config, NULL, err))
        return err_if(err->kind);
    if (layer >= 0)
        return err_usage(err, "%s: expected '%s' and --layer %d, found '%s'", option,
                         site_name(site), layer, *name);
    *name = site_name(site);
    return 0;
}

int selection_sites(struct selection *selection, const char *list, const struct config *config,
                    struct err *err)
{
    selection->sites = (struct site_set){0};
    selection->tokens = false;
    for (const char *name = list;; name++) {
        enum site site;
        size_t size = strcspn(name, ",");
        bool all = size == 3 && memcmp(name, "all", 3) == 0;
        bool tokens = size == 6 && memcmp(name, "tokens", 6) == 0;
        selection->tokens |= all || tokens;
        if (all)
            site_set_join(&selection->sites, all_sites(config));
        else if (!tokens && selection_site(&site, &(struct site_word){"--show", name, size, true},
                                           config, err))
            return strncmp(name, "predict", 7) == 0
                       ? err_append(err, ": 'lens' and 'generate --logprobs' show predictions")
                   : size == 7 && memcmp(name, "finding", 7) == 0
                       ? err_append(err, ": only 'run --show finding' shows it, and it alone")
                       : -1;
        else if (!tokens)
            site_set_add(&selection->sites, site);
        name += size;
        if (*name == '\0')
            return 0;
    }
}

static bool parse_number(ptrdiff_t *number, const char *text, size_t size)
{
    long long value = 0;
    if (!num_parse_part(text, size, -(1LL << 40), 1LL << 40, &value))
        return false;
    *number = (ptrdiff_t)value;
    return true;
}

bool selection_range(ptrdiff_t *first, ptrdiff_t *last, const char *text, size_t size, size_t count)
{
    const char *dash = size > 1 ? memchr(text + 1, '-', size - 1) : NULL;
    size_t head = dash ? (size_t)(dash - text) : size;
    ptrdiff_t end = (ptrdiff_t)count;
    if (!parse_number(first, text, head))
        return false;
    *last = *first;
    if (dash && dash + 1 == text + size)
        *last = -1;
    else if (dash && !parse_number(last, dash + 1, size - head - 1))
        return false;
    if (!count)
        return (*first < 0) != (*last < 0) || *first <= *last;
    if (*first < -end || *last < -end)
        return false;
    *first += *first < 0 ? end : 0;
    *last += *last < 0 ? end : 0;
    return *first <= *last && *last < end;
}

bool selection_index(size_t *index, const char *text, size_t size, size_t count)
{
    ptrdiff_t number = 0;
    ptrdiff_t end = (ptrdiff_t)count;
    if (!parse_number(&number, text, size) || number < -end || number >= end)
        return false;
    *index = (size_t)(number < 0 ? number + end : number);
    return true;
}

/* --- heads of layers -------------------------------------------------------------------------- */

static bool begins_with_layer(const char *text)
{
    return (*text == 'L' || *text == 'l') && strchr("0123456789-", text[1]) && text[1];
}

bool head_range_read(struct head_range *range, const char *text, size_t size, size_t layers,
                     size_t heads)
{
    const bool has_letter = size > 1 && begins_with_layer(text);
    const char *at = text + has_letter, *end = text + size, *sign = at;
    while (sign < end && !strchr(has_letter ? "HhKk" : ".", *sign))
        sign++;
    const bool of_keys = sign + 1 < end && (*sign == 'K' || *sign == 'k');
    *range = (struct head_range){.heads = {0, (ptrdiff_t)heads - 1},
                                 .is_bare = !has_letter && sign == end,
                                 .is_whole = sign == end,
                                 .of_keys = of_keys};
    if (of_keys && sign[1] != 'V' && sign[1] != 'v')
        return false;
    const char *number = num_min((size_t)(end - sign), 1 + of_keys) + sign;
    return layers && heads &&
           selection_range(&range->layers[0], &range->layers[1], at, (size_t)(sign - at), layers) &&
           (range->is_whole || selection_range(&range->heads[0], &range->heads[1], number,
                                               (size_t)(end - number), heads));
}

bool head_list_names_layers(const char *list)
{
    for (const char *at = list; at; at = list_next(at))
        if (begins_with_layer(at) || memchr(at, '.', strcspn(at, ",")))
            return true;
    return false;
}

static int refuse_head(const char *option, const char *text, size_t size, const struct stack *stack,
                       struct err *err)
{
    return err_usage(err,
                     "%s: expected a head such as L1H3, with a layer from 0 to %zu and a head from "
                     "0 to %zu, found '%.*s'",
                     option, stack->layers - 1, stack->heads - 1, (int)size, text);
}

int selection_layer_head(struct layer_head *head, const char *option, const char *text, size_t size,
                         const struct stack *stack, struct err *err)
{
    struct head_range range;
    if (!head_range_read(&range, text, size, stack->layers, stack->heads) || range.is_whole ||
        range.of_keys || range.layers[0] != range.layers[1] || range.heads[0] != range.heads[1])
        return refuse_head(option, text, size, stack, err);
    *head = (struct layer_head){(size_t)range.layers[0], (size_t)range.heads[0]};
    return 0;
}

int selection_layer_heads(struct layer_head **heads, size_t *count, const char *option,
                          const char *list, size_t size, const struct stack *stack,
                          struct arena *arena, struct err *err)
{
    *heads = NULL;
    *count = 0;
    for (const char *at = list, *end = list + size; at <= end; at++) {
        const size_t item = num_min(strcspn(at, ","), (size_t)(end - at));
        struct head_range range;
        if (!head_range_read(&range, at, item, stack->layers, stack->heads) || range.is_bare ||
            range.of_keys)
            return refuse_head(option, at, item, stack, err);
        for (ptrdiff_t layer = range.layers[0]; layer <= range.layers[1]; layer++)
            for (ptrdiff_t head = range.heads[0]; head <= range.heads[1]; head++) {
                *heads = arena_grow(arena, *heads, *count, sizeof **heads, err);
                if (!*heads)
                    return -1;
                (*heads)[(*count)++] = (struct layer_head){(size_t)layer, (size_t)head};
            }
        at += item;
    }
    return 0;
}

int selection_split_heads(const char **layers, const char **heads, const struct stack *stack,
                          struct arena *arena, struct err *err)
{
    struct layer_head *items = NULL;
    size_t count = 0;
    struct buf numbers = {0};
    if (!*heads || !head_list_names_layers(*heads))
        return 0;
    if (*layers)
        return err_usage(err, "--layer and --head '%s' cannot be combined: --head names the layer",
                         *heads);
    if (selection_layer_heads(&items, &count, "--head", *heads, strlen(*heads), stack, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (items[i].layer != items[0].layer) {
            buf_release(&numbers);
            return err_usage(err, "--head: expected heads of one layer, found '%s'", *heads);
        }
        buf_format(&numbers, "%s%zu", i ? "," : "", items[i].head);
    }
    *layers = arena_format(arena, err, "%zu", items->layer);
    *heads = buf_keep(&numbers, arena, err);
    buf_release(&numbers);
    return err_if(err->kind);
}

static int parse_list(const char *list, const struct index_range *range, const size_t **indices,
                      size_t *count, struct arena *arena, struct err *err)
{
    bool *marked = arena_alloc(arena, range->count, sizeof *marked, err);
    size_t *found = arena_alloc(arena, range->count, sizeof *found, err);
    bool all = !list || strcmp(list, "all") == 0;
    if (!marked || !found)
        return -1;
    for (const char *item = list; !all;) {
        ptrdiff_t first = 0;
        ptrdiff_t last = 0;
        size_t size = strcspn(item, ",");
        bool fits = selection_range(&first, &last, item, size, range->count);
        if (!fits && range->count == 1)
            return err_usage(err, "%s: expected 0 or all, found '%.*s': the %s has one %s",
                             range->option, (int)size, item, range->owner, range->thing);
        if (!fits)
            return err_usage(err,
                             "%s: expected numbers from 0 to %zu (or -%zu to -1 from the end), "
                             "ranges such as 0-%zu%s, or all, found '%.*s': the %s has %zu %ss",
                             range->option, range->count - 1, range->count, range->count - 1,
                             strcmp(range->option, "--head") == 0 ? ", names such as L1H3" : "",
                             (int)size, item, range->owner, range->count, range->thing);
        for (ptrdiff_t i = first; i <= last; i++)
            marked[i] = true;
        item += size;
        if (*item++ == '\0')
            break;
    }
    *count = 0;
    for (size_t i = 0; i < range->count; i++)
        if (all || marked[i])
            found[(*count)++] = i;
    *indices = found;
    return 0;
}

/* True if a selected site is in layers of the encoder (if `encoder`) or of the decoder (if not). */
static bool is_in_stack(const struct selection *selection, bool encoder)
{
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site))
        if (site_row(site)->in_layer && (site_branch(site) == BRANCH_SOURCE) == encoder)
            return true;
    return false;
}

/* True for sites that the pass itself computes in the layers of the text, not in the encoder. */
static bool is_in_text_layers(enum site site)
{
    return site_row(site)->in_layer && site_branch(site) != BRANCH_SOURCE &&
           !site_is_effective(site);
}

/* True if a layer lacks attention, in a model that has mixers in some layers. */
static bool lacks_attention(const struct config *config, size_t layer)
{
    return config_keeps_state(config) && !attention_of(config, BRANCH_TEXT, layer);
}

static void say_first(char text[64], const struct config *config)
{
    size_t layer = 0;
    while (layer < config->n_layer && lacks_attention(config, layer))
        layer++;
    snprintf(text, 64, ": layer %zu is the first with attention", layer);
    if (layer == config->n_layer)
        snprintf(text, 64, "%s", MIXERS_ALONE);
}

/* It is an error if a selected site of the text's layers is in none of the selected layers, unless
 * all sites are selected. */
int selection_layers(struct selection *selection, const char *list, const struct config *config,
                     struct arena *arena, struct err *err)
{
    bool in_encoder = has_encoder(config) && is_in_stack(selection, true);
    const char *owner = has_encoder(config) ? "decoder" : "model";
    struct index_range range = {"--layer", owner, "layer", config->n_layer};
    struct index_range encoder = {"--layer", "encoder", "layer",
                                  stack_of(config, BRANCH_SOURCE)->layers};
    struct layers *layers = &selection->layers;
    const bool is_all = selection_is_all(selection, config);
    char first[64];
    say_first(first, config);
    *layers = selection->encoder_layers = (struct layers){0};
    if (in_encoder && parse_list(list, &encoder, &selection->encoder_layers.items,
                                 &selection->encoder_layers.count, arena, err))
        return -1;
    if (in_encoder && !is_in_stack(selection, false))
        return 0;
    if (parse_list(list, &range, &layers->items, &layers->count, arena, err))
        return -1;
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        bool of_experts = site >= SITE_ROUTER && site <= SITE_SHARED_OUT;
        bool found = is_all;
        for (size_t i = 0; i < layers->count; i++)
            found |= point_find(config, site, layers->items[i]) != NULL;
        if (is_in_text_layers(site) && !found)
            return err_usage(err, "--show: layer %zu has no '%s'%s", layers->items[0],
                             site_name(site),
                             lacks_attention(config, layers->items[0]) && site <= SITE_GATED ? first
                             : site <= SITE_K_PRE ? ": it has no rotary embedding"
                             : of_experts         ? ": it has no experts"
                                                  : "");
    }
    return 0;
}

/* With `all`, true if a layer has every selected site of the text's layers; otherwise true if it is
 * the last layer that has one of these sites. */
static bool is_last(const struct selection *selection, const struct config *config, size_t layer,
                    bool all)
{
    bool any = false;
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        size_t last = config->n_layer;
        if (!is_in_text_layers(site))
            continue;
        while (!all && last && !site_is_in_layer(config, site, last - 1))
            last--;
        any |= last == layer + 1;
        if (all && !site_is_in_layer(config, site, layer))
            return false;
    }
    return all || any;
}

const char *selection_last_layers(const struct selection *selection, const struct config *config,
                                  struct arena *arena, struct err *err)
{
    struct buf text = {0};
    size_t all = config_keeps_state(config) ? config->n_layer : 0;
    while (all && !is_last(selection, config, all - 1, true))
        all--;
    for (size_t layer = 0; config_keeps_state(config) && !all && layer < config->n_layer; layer++)
        if (is_last(selection, config, layer, false))
            buf_format(&text, "%s%zu", text.size ? "," : "", layer);
    if (all)
        buf_format(&text, "%zu", all - 1);
    else if (!text.size)
        buf_text(&text, "-1");
    return buf_keep(&text, arena, err);
}

int selection_indices(const size_t **indices, size_t *count, const char *list,
                      const struct index_range *range, struct arena *arena, struct err *err)
{
    *indices = NULL;
    *count = range->count;
    return list && strcmp(list, "all") != 0 ? parse_list(list, range, indices, count, arena, err)
                                            : 0;
}

int selection_heads(struct selection *selection, const char *list, const struct config *config,
                    struct arena *arena, struct err *err)
{
    struct index_range range = {"--head", "model", "head", config_most_heads(config)};
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        /* --head selects keys and values by the query heads that use them */
        bool of_keys = site_axes(site) == AXES_KV_HEAD_TOKEN_DIM;
        enum site named = of_keys ? SITE_OF(site_branch(site), SITE_WEIGHTS) : site;
        if (site_has_heads(site) && site_axes(site) != AXES_COPY_TOKEN_CHANNEL)
            range.count = num_min(range.count, site_heads(config, named, 0));
    }
    return selection_indices(&selection->heads, &selection->head_count, list, &range, arena, err);
}

int selection_of_channels(struct selection *selection, enum site *site, const char *name,
                          const char *layers, const struct config *config, struct arena *arena,
                          struct err *err)
{
    const char *known[SITE_COUNT];
    size_t index = 0;
    struct names names = {known, 0, sizeof *known};
    const struct site_set own = model_sites(config);
    for (enum site other = site_first(own); other != SITE_END; other = site_after(own, other))
        if (site_axes(other) == AXES_TOKEN_CHANNEL && site_row(other)->in_layer)
            known[names.count++] = site_name(other);
    if (selection_translate_one(&name, "--site", config, err) ||
        names_choose(&index, names, "--site", name, err))
        return -1;
    site_find(name, strlen(name), site);
    *selection = (struct selection){.sites = SITE_SET(*site)};
    if (selection_layers(selection, layers, config, arena, err))
        return -1;
    const struct layers chosen = selection_layers_of(selection, *site);
    const struct model_point *first = NULL;
    for (size_t i = 0; i < chosen.count; i++) {
        const struct model_point *point = point_find(config, *site, chosen.items[i]);
        first = first ? first : point;
        if (point && point->columns != first->columns)
            return err_usage(err,
                             "--layer: expected layers with as many channels of '%s' as layer %d, "
                             "%u, found layer %d with %u",
                             name, first->layer, first->columns, point->layer, point->columns);
    }
    return 0;
}

const char *selection_queries(const struct selection *selection, const struct tokenized *text)
{
    return selection->queries && text->queries ? text->queries : selection->queries;
}

struct layers selection_layers_of(const struct selection *selection, enum site site)
{
    static const size_t none = 0;
    if (!site_row(site)->in_layer)
        return (struct layers){&none, 1};
    return site_branch(site) == BRANCH_SOURCE ? selection->encoder_layers : selection->layers;
}

void selection_watch(const struct selection *selection, struct watch *watch)
{
    bool whole = !selection->heads; /* true: all heads are selected, or a site needs all */
    watch->last_logits = selection->last_logits && !selection->queries;
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        struct layers layers = selection_layers_of(selection, site);
        if (site_is_effective(site))
            continue;
        whole |= site_set_has(selection->whole, site);
        for (size_t i = 0; i < layers.count; i++)
            watch_add(watch, site, layers.items[i]);
    }
    if (!whole) {
        size_t last = selection->heads[selection->head_count - 1];
        watch->first_head = selection->heads[0];
        watch->head_count = last + 1 - watch->first_head;
    }
}

/* --- a model's attentions --------------------------------------------------------------------- */

const struct attention_branch attention_branches[ATTENTION_BRANCHES] = {
    [BRANCH_TEXT] = {"self", "self-attention of the decoder"},
    [BRANCH_SOURCE] = {"encoder", "self-attention of the encoder"},
    [BRANCH_CROSS] = {"cross", "cross-attention"},
};

bool selection_has_queries(const struct selection *selection, enum site site)
{
    return !site_set_has(selection->all_tokens, site) &&
           site_axes(site) != AXES_KV_HEAD_TOKEN_DIM && site_axes(site) != AXES_FIRST_CHANNEL &&
           site_axes(site) != AXES_HEAD_KEY_VALUE && site_branch(site) != BRANCH_SOURCE;
}

size_t selection_query_count(const struct selection *selection, const struct tokenized *text)
{
    struct arena arena = {0};
    const size_t *queries = NULL;
    size_t count = 0;
    const struct index_range range = {"--query", "text", "token", text->count};
    bool failed = selection_indices(&queries, &count, selection_queries(selection, text), &range,
                                    &arena, NULL);
    arena_release(&arena);
    return failed ? text->count : count;
}
