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
    const size_t *heads; /* [head_count] the selected heads; NULL: all */
    size_t head_count;
    const char *queries; /* list of query tokens, parsed for each text; NULL: all */
};

/* Parse a list of --show, separated by commas: names of sites, `tokens`, or `all`. */
int selection_sites(struct selection *selection, const char *list, const struct config *config,
                    struct err *err);

/* The name of one site in the value of an option. */
struct site_word {
    const char *option, *name;
    size_t size;
    bool of_list; /* an item of --show: sites that cannot be edited are also accepted, and messages
                   * list `tokens` and `all` */
};

/* Find the site that a name of another program means, or our name with its layer (site_names.h).
 * `*layer` is -1 if the name has no layer. Returns false for our names without a layer and, perhaps
 * with `err`, for unknown names. `note` is called with a line that says our name; NULL: not
 * called. */
typedef void site_note(const char *format, ...);
bool selection_other_name(enum site *site, int *layer, const struct site_word *word,
                          const struct config *config, site_note *note, struct err *err);

/* Replace names of other programs in a list of --show by ours. If `*layers` is NULL, it becomes the
 * list of the layers in these names. */
int selection_translate(const char **show, const char **layers, const struct config *config,
                        site_note *note, struct arena *arena, struct err *err);

/* Replace another program's name in an option other than --show; `*name` may be NULL. A name with a
 * layer's number is a usage error, since --layer chooses layers. */
int selection_translate_one(const char **name, const char *option, const struct config *config,
                            struct err *err);

int selection_site(enum site *site, const struct site_word *word, const struct config *config,
                   struct err *err);

/* Parse a list of layers: numbers and ranges separated by commas, `-1` for the last layer, or
 * `all`; NULL: all. The selected sites decide whether these are layers of the encoder, of the
 * decoder, or of both. */
int selection_layers(struct selection *selection, const char *list, const struct config *config,
                     struct arena *arena, struct err *err);
/* Return a list for selection_layers: the last layer that has every selected site that layers
 * have or, if there is none, the last layer of each such site, as in "3,5". For a model without
 * recurrent layers, it is "-1", the last layer. */
const char *selection_last_layers(const struct selection *selection, const struct config *config,
                                  struct arena *arena, struct err *err);
int selection_heads(struct selection *selection, const char *list, const struct config *config,
                    struct arena *arena, struct err *err);

/* Parse --site, a tensor with a row of channels for each token, and select it in the layers of the
 * list `layers`. */
int selection_of_channels(struct selection *selection, enum site *site, const char *name,
                          const char *layers, const struct config *config, struct arena *arena,
                          struct err *err);

/* Parse a list of indices below a count, such as "0,3-5", into ascending order; for NULL or "all",
 * `*indices` is NULL. Error messages name the option and describe the range: "the text has 5
 * tokens" (`owner`, `count`, `thing`). */
struct index_range {
    const char *option, *owner, *thing;
    size_t count;
};

int selection_indices(const size_t **indices, size_t *count, const char *list,
                      const struct index_range *range, struct arena *arena, struct err *err);

/* Return the list of the selected queries of a text, such as "0,3-5"; NULL: all. */
const char *selection_queries(const struct selection *selection, const struct tokenized *text);

/* Parse `3`, `-1`, `0-2` or `1-` of `count` positions; negative numbers count from the end. `count`
 * 0: not known; negative numbers stay negative. Returns false for anything else. */
bool selection_range(ptrdiff_t *first, ptrdiff_t *last, const char *text, size_t size,
                     size_t count);

/* Parse a number below `count`; negative numbers count from the end. False for anything else. */
bool selection_index(size_t *index, const char *text, size_t size, size_t count);

/* Heads of layers, as a user names them: `L1H3` (also `l1h3` and `1.3`), `L1H0-3`, `L1` for all
 * heads of layer 1, and `L1KV0` for the query heads that share head 0 of the keys and values. */
struct head_range {
    ptrdiff_t layers[2], heads[2]; /* first and last layer, first and last head */
    bool is_bare;                  /* a number alone, such as `1`, which reads like `L1` */
    bool is_whole;                 /* all heads of the layers */
    bool of_keys;                  /* the heads are heads of keys and values */
};

/* Parse heads of a stack with `layers` layers and `heads` heads in each; negative numbers count
 * from the end. Returns false for anything else. */
bool head_range_read(struct head_range *range, const char *text, size_t size, size_t layers,
                     size_t heads);

/* True if a list of heads names their layers, as in `L1H3,L0H2` or `1.3`. */
bool head_list_names_layers(const char *list);

/* Parse one head of a stack, or a list of heads, in the order of the list. Error messages name the
 * option. */
int selection_layer_head(struct layer_head *head, const char *option, const char *text, size_t size,
                         const struct stack *stack, struct err *err);
int selection_layer_heads(struct layer_head **heads, size_t *count, const char *option,
                          const char *list, size_t size, const struct stack *stack,
                          struct arena *arena, struct err *err);

/* If a list of --head names layers, split it into the number of the layer, as a list for
 * selection_layers, and the numbers of its heads, for selection_heads. It is an error if the heads
 * are of several layers, or if `*layers` is not NULL. Other lists stay as they are; NULL: all. */
int selection_split_heads(const char **layers, const char **heads, const struct stack *stack,
                          struct arena *arena, struct err *err);

/* Return the selected layers of a site; for a site outside of layers, layer 0 alone. */
struct layers selection_layers_of(const struct selection *selection, enum site site);

/* Watch the selected sites of the pass. The watched heads are all from the first to the last
 * selected head, or all heads if none are selected or a selected site is in `whole`. */
void selection_watch(const struct selection *selection, struct watch *watch);

/* True if the selected sites are the sites of `--show all`. */
bool selection_is_all(const struct selection *selection, const struct config *config);

/* True if a capture keeps only the selected queries of a site; false for keys, values, states of
 * mixers, sites of the encoder or of the first token, and sites in `all_tokens`. */
bool selection_has_queries(const struct selection *selection, enum site site);

/* Return the number of tokens of a text that --query selects or, if the list of --query is invalid,
 * the number of all tokens. */
size_t selection_query_count(const struct selection *selection, const struct tokenized *text);

/* --- attentions of a model: one, or with an encoder three ------------------------------------- */

extern const struct attention_branch {
    const char *name;  /* name of the kind of attention, as a value of --part */
    const char *words; /* its name in titles */
} attention_branches[ATTENTION_BRANCHES];
