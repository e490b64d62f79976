/* The state of an atlas with changed bytes: each six bytes of the input are a place and four bytes
 * that are written there. The first byte chooses the state of an atlas or of HeadVis. What is read
 * is used: examples, pairs, a merge, and another text. */
#include "fuzz.h"

#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/stream.h"
#include "measure/head_atlas.h"
#include "model/site.h"

enum {
    LAYERS = 1,
    HEADS = 2,
    TEXTS = 9,
    TOKENS = 4,
    IDS = 7,
    IDS_MOST = 1 << 12,
    CHANGE_BYTES = 6
};

static const struct atlas_corpus corpus = {.begin = 0, .end = TEXTS, .ids = IDS};
static const uint32_t ids[IDS_MOST] = {1, 2, 1, 3};
static struct arena arena; /* reused by the next input */

static void begin(struct atlas *atlas, bool of_headvis)
{
    *atlas = (struct atlas){.plan = {.intervals = 2,
                                     .samples = 2,
                                     .top_samples = 2,
                                     .keys = 2,
                                     .warm_up = 3,
                                     .of_headvis = of_headvis,
                                     .bos = -1}};
    fuzz_check(!atlas_open(atlas, LAYERS, HEADS, &fuzz_err), "memory for an atlas");
}

static void add(struct atlas *atlas, size_t number)
{
    struct atlas_text text = {.ids = ids, .count = TOKENS, .number = number};
    float row[TOKENS] = {0};
    arena_clear(&arena);
    fuzz_check(!atlas_text_init(&text, atlas, &arena, &fuzz_err), "a text");
    for (size_t head = 0; head < HEADS; head++)
        for (size_t query = 0; query < TOKENS; query++) {
            row[query] = (float)(number * 7 % 10 + head) / 16;
            row[0] = 1 - row[query];
            atlas_see(&text, &(struct attention_map_row){
                                 .head = head, .query = query, .keys = query + 1, .values = row});
        }
    fuzz_check(!atlas_add(atlas, &text, &fuzz_err), "memory for a text");
}

static void save(struct buf *bytes, const struct atlas *atlas)
{
    struct stream out = {0};
    bytes->size = 0;
    fuzz_check(!stream_to_memory(&out, bytes, &fuzz_err), "a stream");
    atlas_save(atlas, &out);
    fuzz_check(!stream_commit(&out, &fuzz_err), "memory for a state");
}

static const uint32_t *ids_of(void *context, size_t text, struct err *err)
{
    (void)context, (void)err;
    fuzz_check(text < TEXTS, "a text of the corpus");
    return ids;
}

static void use(struct atlas *atlas, bool of_headvis)
{
    struct atlas whole;
    struct pair_count best[TOKENS];
    begin(&whole, of_headvis);
    for (size_t head = 0; head < LAYERS * HEADS; head++) {
        struct atlas_marginals found;
        const struct atlas_masses_of of = {atlas, head, true, ids_of, NULL};
        arena_clear(&arena);
        fuzz_check(!atlas_marginals(&found, &of, &arena, &fuzz_err), "marginals");
        const size_t count = pair_counts_best(&atlas->heads[head].pairs, best, TOKENS);
        for (size_t i = 0; i < count; i++)
            fuzz_check(best[i].query < IDS && best[i].key < IDS && best[i].count > best[i].over,
                       "pairs of the vocabulary");
    }
    add(atlas, TEXTS);
    fuzz_check(!atlas_merge(&whole, atlas, &fuzz_err), "memory for a merge");
    atlas_release(&whole);
}

void fuzz_one(const char *bytes, size_t size)
{
    static struct buf states[2];
    const bool of_headvis = size && *bytes & 1;
    struct buf *state = &states[of_headvis];
    struct atlas atlas;
    struct buf changed = {0};
    begin(&atlas, of_headvis);
    if (!state->size) {
        for (size_t number = 0; number < TEXTS; number++)
            add(&atlas, number);
        save(state, &atlas);
        atlas_release(&atlas);
        begin(&atlas, of_headvis);
    }
    buf_bytes(&changed, state->bytes, state->size);
    for (size_t at = 1; at + CHANGE_BYTES <= size; at += CHANGE_BYTES)
        memcpy(changed.bytes + num_of_bytes(bytes + at, 2) % (changed.size - 3), bytes + at + 2, 4);
    if (atlas_load(&atlas, &corpus, changed.bytes, changed.bytes + changed.size, &fuzz_err))
        fuzz_refused();
    else
        use(&atlas, of_headvis);
    atlas_release(&atlas);
    buf_release(&changed);
}
