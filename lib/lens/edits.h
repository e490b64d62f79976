/* edits.h: edits in the syntax of the command line, and the values of other texts that they use.
 *
 *     h.9.context[head=6,token=-1] = 0          SITE[POSITIONS] = VALUE
 *     resid_post[layer=2-4,channel=7] * 0.5     axes that are not named: all positions
 *     weights = mean                            over reference texts, position by position
 *     attn_out = resample:7                     a reference text, drawn with this seed
 *     mlp_out[token=3] = from                   a text of the same length
 *     resid_post[layer=2] + 4*steer.npy         a file, for all tokens or each
 *     resid_post[token=prompt] + v.safetensors  h.L.resid_post of each layer; or FILE:NAME
 *     resid_post + v.gguf                       llama.cpp's control vector: direction.L of layer L
 *     resid_post - proj(v.npy)              without the part along a vector
 *     resid_post = steer                        an array or a function of the calling program
 *     resid_post + 5*demo#27                    the direction of a feature (lens/dictionary.h)
 *     features[feature=27,token=-1] = 0         features of the list's dictionaries, also * and +,
 *                                               = mean and = from; the unexplained rest stays
 *     features = decoded                        the reconstruction in place of the row
 *
 * Axes are layer, head (kv_head of keys and values that heads share), token (of maps: query, key)
 * and channel (of experts: expert). Positions are 3, -1, 0-2 or 1-, of tokens also prompt, a word
 * of the text (cabinet, the/2) or @NAME, of heads also L9H6. --ablate changes the context of heads:
 * "L9H6,L10H0" sets it to 0, "L9" for all heads of a layer, and "L9H6=mean" to another value.
 * --knockout accepts "4:2", "L9:4:2" (layer 9) or "L9H6:4:2" (one head): the query does not attend
 * to the key.
 *
 *     struct edit_list list = {.config = &config, .arena = &arena};
 *     if (edit_list_add(&list, EDIT_WORDS, "h.0.context = 0", err) ||
 *         edit_list_fill(&list, &viewer, &texts, err)) ...
 *     viewer.edits = &list.edits;
 */
#pragma once

#include "format/npy.h"
#include "lens/selection.h"
#include "lens/viewer.h"
#include "pass/edit.h"

enum edit_form { EDIT_WORDS, EDIT_ABLATION, EDIT_KNOCKOUT };

enum edit_origin { EDIT_NUMBER, EDIT_MEAN, EDIT_RESAMPLE, EDIT_FROM };

struct value_origin {
    enum edit_origin origin;
    uint64_t seed;
};

/* A named value that the program calling the library provides. */
struct edit_value {
    const char *name;
    struct npy array;
    edit_function *function; /* computes the value; NULL: the value is the array */
    void *context;
};

struct edit_values {
    const struct edit_value *items;
    size_t count;
};

/* Values of other texts that several lists share, such as one list for each run of a sweep.
 * Initialise a store with zeros; release it when no list uses it any more. */
struct edit_store {
    struct edit_stored *items; /* [count] each item has the values of one site and origin */
    size_t count;
    double bytes;
    struct arena arena;
};

struct edit_list {
    const struct config *config; /* the model's config with its attention mechanism; only
                                  * edit_list_add reads it */
    struct arena *arena;
    struct edit_values values;
    const struct dictionary *dictionaries; /* [dictionary_count] dictionaries whose features are
                                            * edited */
    size_t dictionary_count;
    struct edits edits;
    struct edit *items;
    struct value_origin *value_origins;
    unsigned origins;         /* a bit 1 << origin for each enum edit_origin that the edits use */
    struct edit_store *store; /* values shared with other lists; NULL: none */
    const char *key;          /* key in the store: lists with the same key have the same values */
    const struct edit_list *like; /* a list of the same edits, whose values this list uses; NULL:
                                   * read the values */
    bool of_rows; /* token numbers in edits count words, or tokens after a beginning token */
    bool by_text; /* set by edit_list_add if a position is a name or, with `of_rows`, a number: it
                   * may mean different tokens in each text */
    /* Returns the tokens, such as "4-5,7", of a position that is a name, such as `cabinet` or
     * `@NAME`, or, with `of_rows`, a number; NULL: an error. The function is NULL if the tokens are
     * not known. */
    const char *(*tokens_of)(void *context, bool of_source, const char *position, size_t size);
    void *context;
    site_note *note; /* called for each site that is given by another program's name; NULL: not
                      * called */
};

/* Parse the value of an option. EDIT_WORDS accepts several edits separated by `;`. Arrays in files
 * are [channels], [tokens, channels] or [heads, tokens, channels]; a single token or head is
 * repeated. */
int edit_list_add(struct edit_list *list, enum edit_form form, const char *text, struct err *err);

/* Call `use` with the path of each file that a value of --edit or --ablate names. */
int edit_files(const char *edit, int (*use)(void *context, const char *path, struct err *err),
               void *context, struct arena *arena, struct err *err);

/* `reference`: texts for `= mean` and `= resample`; `from`: text for `= from`, NULL if there is
 * none. */
struct edit_texts {
    const struct text_with_source *reference;
    size_t reference_count;
    const struct text_with_source *from;
};

/* Run the texts without edits, and copy the values that the edits use. If the list has a store,
 * copy the values of all layers to the store, unless it would exceed 256 MiB. `texts` must have a
 * text for each origin that the edits use, unless its values are in the store. */
int edit_list_fill(struct edit_list *list, struct viewer *viewer, const struct edit_texts *texts,
                   struct err *err);

/* True if the store has all values of other texts that the list needs. */
bool edit_list_is_stored(const struct edit_list *list);
void edit_store_release(struct edit_store *store);
