/* head_atlas.h: the data of an atlas of heads over a corpus, in memory that does not grow with it.
 *
 * For each head: a histogram of the largest weight of each text, examples of texts by that weight,
 * and the most frequent pairs of a query and the key with its largest weight. A text's largest
 * weight, and pairs, leave out the first token of the text, as a query and as a key, and every key
 * that is the token that begins texts. Examples are sampled by intervals of the largest weight,
 * each with equally many of the first texts (the warm-up). The highest interval keeps the texts
 * with the largest weights, the others keep the texts with the largest hashes of their numbers or,
 * with `of_headvis`, a reservoir. A text of one token is ignored.
 *
 * Threads read the rows of different texts at once; texts are added one after another, in their
 * order: the result has the same bits with any number of threads. A corpus is read in segments,
 * which are merged in their order. The first contains all texts of the warm-up.
 *
 *     struct atlas atlas = {.plan = plan};
 *     if (atlas_open(&atlas, layers, heads, err)) ...
 *     struct atlas_text text = {.ids = ids, .count = count, .number = number};
 *     if (atlas_text_init(&text, &atlas, &arena, err)) ...
 *     atlas_see(&text, &row)                            for each row of the text's weights
 *     if (atlas_add(&atlas, &text, err)) ...
 *     if (atlas_merge(&atlas, &next_segment, err)) ...
 *     atlas_release(&atlas);
 */
#pragma once

#include <stddef.h>

#include "math/rng.h"
#include "measure/pair_counts.h"
#include "pass/tap.h"

enum {
    ATLAS_BINS = 50,                              /* bins of the histogram, from 0 to 1 */
    ATLAS_KEYS_MAX = 64,                          /* maximum number of entries of a query */
    ATLAS_ENTRY_UNIT = 10000,                     /* weights in entries are rounded to multiples of
                                                   * 1 / ATLAS_ENTRY_UNIT */
    ATLAS_KEY_SHIFT = 14,                         /* an entry is key << 14 | weight; an entry of 0
                                                   * is empty */
    ATLAS_ENTRY_MAX = (1 << ATLAS_KEY_SHIFT) - 1, /* maximum weight in an entry; larger weights,
                                                   * which edits can make, are cut to it */
    ATLAS_TOKENS_MAX = 1 << (32 - ATLAS_KEY_SHIFT),
};

struct attention_map_row;
struct arena;

struct atlas_plan {
    size_t intervals; /* number of intervals, with equally many texts of the warm-up; at least 1 */
    size_t samples;   /* maximum number of examples of each interval except the highest */
    size_t top_samples; /* maximum number of examples of the highest interval: the texts with the
                         * largest weights */
    size_t keys;        /* maximum number of entries (a key and its weight) to keep of a query, at
                         * most ATLAS_KEYS_MAX */
    double floor;       /* minimum weight of an entry */
    size_t warm_up;     /* number of texts whose largest weights set the intervals */
    uint64_t seed;

    /* Sample as HeadVis does: take no examples from texts of the warm-up, which are otherwise held
     * until the intervals are known; fill each interval except the highest by a reservoir (Vitter's
     * algorithm R), which needs a corpus of one segment; also sum the weights on tokens after
     * copies, and the first query's weight on itself and its entropy. */
    bool of_headvis;
    long long bos; /* id of the token that begins texts, which is never the key of a pair; -1: no
                    * such token */
};

/* A sampled text. Entries are in the order of the keys. */
struct atlas_example {
    uint64_t rank; /* examples with the largest ranks are kept; 0 if a reservoir chose the
                    * example */
    float top;     /* the head's largest weight in the text */
    size_t text;   /* number of the text in the corpus */
    size_t tokens;
    uint32_t *entries; /* [tokens, keys] entries of each query */
};

struct atlas_interval {
    uint64_t texts; /* number of texts whose largest weight is in this interval */
    size_t count;
    struct atlas_example *items; /* [count] the largest rank first; a reservoir keeps no order */
    struct twister *random;      /* random number generator of a reservoir; NULL: not needed yet */
};

/* A text of the warm-up, whose intervals are not known yet. */
struct atlas_held {
    size_t number, count;
    float *tops;       /* [heads] each head's largest weight in the text */
    uint32_t *entries; /* [heads, count, keys] entries of each query */
};

struct atlas_head {
    uint64_t bins[ATLAS_BINS];
    double peaks;                     /* sum over texts of the head's largest weight in each */
    double first_self, first_entropy; /* `first_self`: sum over texts of the first query's weight on
                                       * itself; `first_entropy`: sum of its entropy */
    double induction; /* sum of weights of at least 0.01 on tokens after earlier copies of the
                       * query's token */
    float *maxima;    /* [warm_up] largest weights of texts; NULL when the intervals are known */
    float *limits;    /* [intervals - 1] largest weights at which the intervals after the first
                       * begin */
    struct atlas_interval *intervals; /* [intervals] from the smallest weights to the largest */
    struct pair_counts pairs;
};

struct atlas {
    struct atlas_plan plan;
    size_t layers, across;          /* `layers`: number of layers; `across`: number of heads of each
                                     * layer */
    size_t warmed;                  /* number of texts of the warm-up that were added so far */
    struct atlas_held *held;        /* [warmed] texts of the warm-up; NULL: none are held */
    uint64_t texts, tokens, copies; /* `texts`: texts of two tokens or more, `tokens`: their tokens,
                                     * `copies`: queries with an earlier copy of their token */
    struct atlas_head *heads;       /* [layers * across] data of each head, layer by layer */
};

/* A text while the rows of its weights are read. The caller's arena owns its memory. */
struct atlas_text {
    const struct atlas *atlas;
    const uint32_t *ids;
    size_t count, number;
    uint32_t *entries; /* [heads, count, keys] entries of each query */
    struct atlas_best {
        uint32_t key;
        float weight;
    } * best;         /* [heads, count] for each query, the key with its largest weight; for the
                       * first query, its weight on itself */
    float *induction; /* [heads, count] each query's weights on the tokens after earlier copies of
                       * its token; NULL: not needed */
    uint32_t *copies; /* [count] for each token, 1 + the index of its last earlier copy; 0: no
                       * earlier copy */
};

/* Set `layers` and `across`, and allocate the memory of a plan. */
int atlas_open(struct atlas *atlas, size_t layers, size_t across, struct err *err);
void atlas_release(struct atlas *atlas);

/* Prepare a text whose `ids`, `count` and `number` are set. */
int atlas_text_init(struct atlas_text *text, const struct atlas *atlas, struct arena *arena,
                    struct err *err);

/* Return the estimated bytes of memory for a text. */
double atlas_text_bytes(const struct atlas *atlas, size_t count);

/* A head_watcher that reads a row of attention weights; its context is an atlas_text. */
void atlas_see(void *text, const struct attention_map_row *row);

/* Add a text. The last text of the warm-up sets the intervals, and examples are taken from all held
 * texts. */
int atlas_add(struct atlas *atlas, const struct atlas_text *text, struct err *err);

/* Use a text of another segment as a text of the warm-up: it only helps to set the intervals. */
void atlas_warm(struct atlas *atlas, const struct atlas_text *text);

/* True until the intervals are set. Before that, texts may be held, which atlas_save does not
 * save. */
static inline bool atlas_is_warming(const struct atlas *atlas)
{
    return atlas->warmed < atlas->plan.warm_up;
}

/* atlas_merge adds the next segment, and moves its examples. atlas_clear removes the counts,
 * pairs and examples of all texts, but keeps the limits of the intervals and the warm-up. */
int atlas_merge(struct atlas *atlas, struct atlas *segment, struct err *err);
void atlas_clear(struct atlas *atlas);

/* --- results ---------------------------------------------------------------------------------- */

/* The mass of a token: the sum of the weights on it in the entries of a head's examples. */
struct atlas_mass {
    uint32_t id;
    double weight;
};

/* A function that returns the token ids of a text by its number, or NULL with `err`. */
typedef const uint32_t *atlas_ids(void *context, size_t text, struct err *err);

/* The masses of a head's examples: by query and by key token, the largest first, and of equal
 * masses the token that occurs first in the examples; and by distance, in bins that begin at 0, 1,
 * 2, 4, … */
enum { ATLAS_DISTANCES = 13 };

struct atlas_marginals {
    struct atlas_mass *queries, *keys;
    size_t query_count, key_count;
    double distances[ATLAS_DISTANCES];
    size_t examples;
};

/* Which masses to sum: the head whose examples are used, and whether the masses by key token leave
 * out the first token of each text. */
struct atlas_masses_of {
    const struct atlas *atlas;
    size_t head;
    bool without_first;
    atlas_ids *ids_of;
    void *context; /* passed to ids_of */
};

int atlas_marginals(struct atlas_marginals *marginals, const struct atlas_masses_of *of,
                    struct arena *arena, struct err *err);

static inline size_t atlas_entry_key(uint32_t entry)
{
    return entry >> ATLAS_KEY_SHIFT;
}

static inline float atlas_entry_weight(uint32_t entry)
{
    return (float)((entry & ATLAS_ENTRY_MAX) / (double)ATLAS_ENTRY_UNIT);
}

/* --- state ------------------------------------------------------------------------------------ */

struct stream;

/* The numbers of the texts that were added, from `begin` to `end` - 1, and the size of the
 * vocabulary (`ids`). */
struct atlas_corpus {
    size_t begin, end;
    size_t ids;
};

/* atlas_save writes all that the atlas contains, except held texts. atlas_load sets an empty atlas
 * of the same plan from these bytes. It refuses other bytes, and numbers that do not fit the
 * corpus. The caller checks that the texts of examples have as many tokens as the examples. */
void atlas_save(const struct atlas *atlas, struct stream *out);
int atlas_load(struct atlas *atlas, const struct atlas_corpus *corpus, const char *bytes,
               const char *end, struct err *err);
