/* selection.h: what is to be shown, in the words of the command line: `weights,context` of layers
 * `0,3-5` and heads `-1`.
 *
 *     struct selection selection = {0};
 *     if (selection_sites(&selection, "weights,context", config, err) ||
 *         selection_layers(&selection, "-1", config, &arena, err) ||
 *         selection_heads(&selection, NULL, config, &arena, err)) ...
 *     selection_watch(&selection, &watch);
 */
#ifndef ATTN_LENS_SELECTION_H
#define ATTN_LENS_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/tap.h"

struct config;

/* Numbers of layers, rising, each once. */
struct layers {
    const size_t *items;
    size_t count;
};

struct selection {
    uint64_t sites;   /* site_bit of each */
    uint64_t whole;   /* of these, sites of query heads, every head is kept all the same */
    bool tokens;      /* `tokens` was asked for: the table of them */
    bool last_logits; /* logits are those of each text's last token alone */
    struct layers layers;
    struct layers encoder_layers; /* where there is an encoder */
    const size_t *heads;          /* NULL: all */
    size_t head_count;
    const char *queries; /* the list of query tokens, which is read for each text; NULL: all */
};

/* Site names with commas between them, `tokens`, or `all` that the model has. Others are refused
 * with the names there are. */
int selection_sites(struct selection *selection, const char *list, const struct config *config,
                    struct err *err);

/* One of them, as an option names it: where that takes lists, `tokens` and `all` may be meant. */
struct site_word {
    const char *option, *name;
    size_t size;
    bool of_list;
};

int selection_site(enum site *site, const struct site_word *word, const struct config *config,
                   struct err *err);

/* Numbers and ranges with commas between them, `-1` for the last, or `all`; NULL: all. Others are
 * refused with the range there is. Where there is an encoder the list is read for it and for the
 * decoder, each if sites in its layers were chosen before. */
int selection_layers(struct selection *selection, const char *list, const struct config *config,
                     struct arena *arena, struct err *err);
int selection_heads(struct selection *selection, const char *list, const struct config *config,
                    struct arena *arena, struct err *err);

/* The selected queries of a text, rising; NULL: all. Refused: numbers of no token. Their count. */
int selection_queries(const size_t **queries, size_t *count, const struct selection *selection,
                      size_t tokens, struct arena *arena, struct err *err);
size_t selection_query_count(const struct selection *selection, size_t tokens);

/* True for sites whose rows are queries: neither keys and values nor an encoder's tensors. */
bool selection_is_of_queries(enum site site);

/* Read `3`, `-1`, `0-2` or `-3--1` for an axis of `count` positions, counted from the beginning;
 * with `count` 0, of unknown length: negative numbers stay. False for anything else. */
bool selection_range(ptrdiff_t *first, ptrdiff_t *last, const char *text, size_t size,
                     size_t count);

/* A number below `count`; negative ones count from the end. False for anything else. */
bool selection_index(size_t *index, const char *text, size_t size, size_t count);

/* The layers in which a site was chosen; of a site in no layer, layer 0. */
struct layers selection_layers_of(const struct selection *selection, enum site site);

/* Mark the (site, layer) pairs of the selection that a pass has, and the heads from its first to
 * its last. */
void selection_watch(const struct selection *selection, struct watch *watch);

/* --- a model's attentions: one, that looks at its own text or at another, or an encoder's and a
 * decoder's three --------------------------------------------------------------------------------
 */

struct attention_part {
    const char *name;  /* as in --part */
    const char *words; /* for titles */
};

extern const struct attention_part attention_parts[]; /* by site_part */
extern const size_t attention_part_count;

/* Does a model have that attention? Which does it have, or its decoder first? */
bool attention_part_is_there(enum site_part part, const struct config *config);
enum site_part attention_part_first(const struct config *config);

/* The part whose sites it is watched by: a model's only attention has the sentence's. */
enum site_part attention_part_sites(enum site_part part, const struct config *config);

#endif
