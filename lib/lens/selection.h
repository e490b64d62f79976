/* selection.h: tensors selected on the command line: `weights,context` of layers `0,3-5` and heads
 * `-1`.
 *
 *     struct selection selection = {0};
 *     if (selection_sites(&selection, "weights,context", config, err) ||
 *         selection_layers(&selection, "-1", config, &arena, err) ||
 *         selection_heads(&selection, NULL, config, &arena, err)) ...
 *     selection_watch(&selection, &watch);
 */
#pragma once

#include "base/memory.h"
#include "model/site.h"
#include "pass/tap.h"

struct stack;
struct tokenized;

/* Layers in ascending order, each once. */
struct layers {
    const size_t *items;
    size_t count;
};

struct layer_head {
    size_t layer, head;
};

struct selection {
    struct site_set sites;
    struct site_set whole;      /* sites for which all query heads are captured */
    struct site_set all_tokens; /* sites for which all query tokens are captured */
    bool tokens;                /* the table of tokens is selected */
    bool bits;                  /* entropies are in bits, not nats */
    bool last_logits; /* compute logits only for each text's last token, if `queries` is NULL */
    struct layers layers;
    struct layers encoder_layers;
    const size_t *heads; /* NULL: all */
    size_t head_count;
    const char *queries; /* list of query tokens, parsed for each text; NULL: all */
};

/* Parse site names separated by commas, `tokens`, or `all`. */
int selection_sites(struct selection *selection, const char *list, const struct config *config,
                    struct err *err);

/* Parse the name of one site in an option. */
struct site_word {
    const char *option, *name;
    size_t size;
    bool of_list; /* an item of --show: sites that cannot be edited are also accepted, and messages
                   * list `tokens` and `all` */
};

/* Find a name of another program, or ours with its layer (site_names.h); layer -1: all, or none.
 * Returns false for our names of sites and, perhaps with `err`, for unknown ones. `note`: gets a
 * line with our name; NULL: none does. */
typedef void site_note(const char *format, ...);
bool selection_other_name(enum site *site, int *layer, const struct site_word *word,
                          const struct config *config, site_note *note, struct err *err);

/* Replace names of other programs in a list of --show by ours. The layers in these names become the
 * list of layers, unless there is one. */
int selection_translate(const char **show, const char **layers, const struct config *config,
                        site_note *note, struct arena *arena, struct err *err);

/* Replace a name of another program in another option, unless it is NULL. Refused: a name with a
 * layer's number, since --layer chooses layers. */
int selection_translate_one(const char **name, const char *option, const struct config *config,
                            struct err *err);

int selection_site(enum site *site, const struct site_word *word, const struct config *config,
                   struct err *err);

/* Parse numbers and ranges separated by commas, `-1` for the last, or `all`; NULL: all. The
 * selected sites decide whether layers are the encoder's, the decoder's, or both. */
int selection_layers(struct selection *selection, const char *list, const struct config *config,
                     struct arena *arena, struct err *err);
/* The last layer that has all selected sites of layers; if no layer has all of them, the last layer
 * of each site: "3,5". */
const char *selection_last_layers(const struct selection *selection, const struct config *config,
                                  struct arena *arena, struct err *err);
int selection_heads(struct selection *selection, const char *list, const struct config *config,
                    struct arena *arena, struct err *err);

/* Select --site, a tensor with a row of channels for each token, in some layers. */
int selection_of_channels(struct selection *selection, enum site *site, const char *name,
                          const char *layers, const struct config *config, struct arena *arena,
                          struct err *err);

/* Parse a list of indices below a count, such as "0,3-5", into ascending order; for NULL or "all",
 * `*indices` is NULL. Messages name the option, and say "the text has 5 tokens". */
struct index_range {
    const char *option, *owner, *thing;
    size_t count;
};

int selection_indices(const size_t **indices, size_t *count, const char *list,
                      const struct index_range *range, struct arena *arena, struct err *err);

/* The list of the selected queries of a text (NULL: all). */
const char *selection_queries(const struct selection *selection, const struct tokenized *text);

/* Parse `3`, `-1`, `0-2` or `1-` of `count` positions; negative numbers count from the end. If
 * `count` is 0, it is unknown, and they are kept. Returns false for anything else. */
bool selection_range(ptrdiff_t *first, ptrdiff_t *last, const char *text, size_t size,
                     size_t count);

/* Parse a number below `count`; negative numbers count from the end. False for anything else. */
bool selection_index(size_t *index, const char *text, size_t size, size_t count);

/* Parse `9.6`, a layer and a head of a stack. A refusal names the option. */
int selection_layer_head(struct layer_head *head, const char *option, const char *text, size_t size,
                         const struct stack *stack, struct err *err);

/* The selected layers of a site; layer 0 for a site outside of layers. */
struct layers selection_layers_of(const struct selection *selection, enum site site);

/* Watch the selected sites of the pass, and the heads from the first to the last selected one, or
 * all if no heads are selected or a site of `whole` is. */
void selection_watch(const struct selection *selection, struct watch *watch);

/* True if the sites are those of `all`. */
bool selection_is_all(const struct selection *selection, const struct config *config);

/* True if a capture keeps only the selected queries of a site; false for keys, values, the encoder,
 * sites of the first token, and `all_tokens`. */
bool selection_has_queries(const struct selection *selection, enum site site);

/* The number of tokens of a text that --query selects; all if its list is wrong. */
size_t selection_query_count(const struct selection *selection, const struct tokenized *text);

/* --- attentions of a model: one, or with an encoder three ------------------------------------- */

extern const struct attention_branch {
    const char *name;  /* value of --part */
    const char *words; /* name in titles */
} attention_branches[ATTENTION_BRANCHES];
