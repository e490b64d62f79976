/* head_atlas.h: the data of an atlas of heads over a corpus, in memory that does not grow with it.
 *
 * Of each head: a histogram of the largest weight of each text, examples of texts by that weight,
 * and the most frequent pairs of a query and the key with its largest weight. A text's largest
 * weight, and pairs, leave out the first token of the text, as a query and as a key, and tokens
 * that begin texts. Examples are sampled by intervals of this weight, each with equally many of the
 * first texts (the warm-up). The highest interval keeps the texts with the largest weights, the
 * others keep the texts with the largest hashes of their numbers. A text of one token counts
 * nowhere.
 *
 * Threads read the rows of different texts at once; texts are added one after another, in their
 * order: the result has the same bits with any number of threads. A corpus is read in segments,
 * which are merged in their order. The first contains all texts of the warm-up.
 *
 *     struct atlas atlas = {.plan = plan};
 *     if (atlas_open(&atlas, layers, heads, err)) ...
 *     struct atlas_text text = {.ids = ids, .count = count, .number = number};
 *     if (atlas_text_init(&text, &atlas, &arena, err)) ...
 *     atlas_see(&text, &row)                            of each row of the text's weights
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
    ATLAS_KEYS_MAX = 64,                          /* largest number of entries of a query */
    ATLAS_ENTRY_UNIT = 10000,                     /* entries are rounded to 1 / ATLAS_ENTRY_UNIT */
    ATLAS_KEY_SHIFT = 14,                         /* an entry is key << 14 | weight; 0: none */
    ATLAS_ENTRY_MAX = (1 << ATLAS_KEY_SHIFT) - 1, /* larger weights, which edits can make, are cut
                                                   * to this */
    ATLAS_TOKENS_MAX = 1 << (32 - ATLAS_KEY_SHIFT),
};

struct attention_map_row;
struct arena;

struct atlas_plan {
    size_t intervals; /* number of intervals, with equally many texts of the warm-up; at least 1 */
    size_t samples;   /* examples of each interval except the highest */
    size_t top_samples; /* examples of the highest interval: the largest weights */
    size_t keys;        /* largest number of entries of a query, at most ATLAS_KEYS_MAX */
    double floor;       /* smallest weight of an entry */
    size_t warm_up;     /* number of texts whose maxima set the intervals */
    uint64_t seed;

    /* Sample as HeadVis does: no examples from the warm-up, whose texts are held otherwise; a
     * reservoir (Vitter's algorithm R) for each interval except the highest, in one segment only;
     * and sums of the weights after copies, and of the first query. */
    bool of_headvis;
    long long bos; /* token that begins texts, no key of pairs; -1: none */
};

/* A sampled text. Entries are in the order of the keys. */
struct atlas_example {
    uint64_t rank; /* the examples with the largest ranks are kept */
    float top;     /* the head's largest weight in the text */
    size_t text;   /* number of the text */
    size_t tokens;
    uint32_t *entries; /* [tokens, keys] */
};

struct atlas_interval {
    uint64_t texts; /* number of texts whose largest weight is in this interval */
    size_t count;
    struct atlas_example *items; /* [count] the largest rank first */
    struct twister *random;      /* draws for a reservoir; NULL: not needed yet */
};

/* A text of the warm-up, whose intervals are not known yet. */
struct atlas_held {
    size_t number, count;
    float *tops;       /* [heads] each head's largest weight in the text */
    uint32_t *entries; /* [heads, count, keys] */
};

struct atlas_head {
    uint64_t bins[ATLAS_BINS];
    double peaks;                     /* sum over texts of the largest weight of each */
    double first_self, first_entropy; /* `first_self`: sum over texts of the first query's weight on
                                       * itself; `first_entropy`: sum of its entropy */
    double induction; /* sum of weights of at least 0.01 on tokens after earlier copies */
    float *maxima;    /* [warm_up] largest weights of texts; NULL when the intervals are known */
    float *limits;    /* [intervals - 1] largest weights that divide the intervals */
    struct atlas_interval *intervals; /* [intervals] */
    struct pair_counts pairs;
};

struct atlas {
    struct atlas_plan plan;
    size_t layers, across;          /* `layers`: number of layers; `across`: heads of a layer */
    size_t warmed;                  /* texts of the warm-up so far */
    struct atlas_held *held;        /* [warmed] NULL: none are held */
    uint64_t texts, tokens, copies; /* `texts`: texts of two tokens or more, `tokens`: their tokens,
                                     * `copies`: queries with an earlier copy of their token */
    struct atlas_head *heads;       /* [layers * across] */
};

/* A text while the rows of its weights are read. The caller's arena owns its memory. */
struct atlas_text {
    const struct atlas *atlas;
    const uint32_t *ids;
    size_t count, number;
    uint32_t *entries; /* [heads, count, keys] */
    struct atlas_best {
        uint32_t key;
        float weight;
    } * best;         /* [heads, count] the key with the largest weight of a query; of the first
                       * query, its own */
    float *induction; /* [heads, count] a query's weights on tokens after earlier copies; NULL: not
                       * needed */
    uint32_t *copies; /* [count] 1 + the last earlier copy of a token; 0: none */
};

/* Set `layers` and `across`, and allocate the memory of a plan. */
int atlas_open(struct atlas *atlas, size_t layers, size_t across, struct err *err);
void atlas_release(struct atlas *atlas);

/* Prepare a text whose `ids`, `count` and `number` are set. */
int atlas_text_init(struct atlas_text *text, const struct atlas *atlas, struct arena *arena,
                    struct err *err);

/* Estimated bytes of memory for a text. */
double atlas_text_bytes(const struct atlas *atlas, size_t count);

/* A head_watcher whose context is an atlas_text. */
void atlas_see(void *text, const struct attention_map_row *row);

/* Add a text. The last text of the warm-up sets the intervals, and examples are taken from all that
 * were held. */
int atlas_add(struct atlas *atlas, const struct atlas_text *text, struct err *err);

/* Use a text of another segment as a text of the warm-up: it only helps to set the intervals. */
void atlas_warm(struct atlas *atlas, const struct atlas_text *text);

/* True until the intervals are set. Before that, texts may be held, which atlas_save does not
 * save. */
static inline bool atlas_is_warming(const struct atlas *atlas)
{
    return atlas->warmed < atlas->plan.warm_up;
}

/* Merge: add the next segment, whose examples are moved. Clear: forget all but the intervals. */
int atlas_merge(struct atlas *atlas, struct atlas *segment, struct err *err);
void atlas_clear(struct atlas *atlas);

/* --- results ---------------------------------------------------------------------------------- */

/* Mass of weights on a token, in the entries of a head's examples. */
struct atlas_mass {
    uint32_t id;
    double weight;
};

/* Gives the ids of a text by its number; NULL with `err`. */
typedef const uint32_t *atlas_ids(void *context, size_t text, struct err *err);

/* The masses of a head's examples: by query and by key token, the largest first, of equal ones the
 * token that comes first; and by distance, in bins that begin at 0, 1, 2, 4, … */
enum { ATLAS_DISTANCES = 13 };

struct atlas_marginals {
    struct atlas_mass *queries, *keys;
    size_t query_count, key_count;
    double distances[ATLAS_DISTANCES];
    size_t examples;
};

/* Which masses to sum: of which head, and whether without the first token of each text. */
struct atlas_masses_of {
    const struct atlas *atlas;
    size_t head;
    bool without_first;
    atlas_ids *ids_of;
    void *context; /* the context of ids_of */
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

/* The texts that were added, by their numbers, and the size of the vocabulary. */
struct atlas_corpus {
    size_t begin, end;
    size_t ids;
};

/* Save: write all that the atlas contains. Load: set an empty atlas of the same plan from these
 * bytes. Refused: other bytes, and numbers that do not fit the corpus. The caller checks that the
 * texts of examples have as many tokens as the examples. */
void atlas_save(const struct atlas *atlas, struct stream *out);
int atlas_load(struct atlas *atlas, const struct atlas_corpus *corpus, const char *bytes,
               const char *end, struct err *err);
