/* bpe_run.c: one token again and again, such as a line of blanks, or the bytes of one character:
 * megabytes of it are joined run by run. Of X in a row come Y in a row, and perhaps one X; of the
 * bytes of a character in a row come the characters, where nothing joins them to each other first.
 */
#include "text/subword/bpe.h"

/* The pair of the lowest rank: within the unit of a run, of one unit's last and the next one's
 * first, or of the last of a run and the first of the next. */
struct choice {
    uint32_t rank;
    uint32_t left, right;
    size_t run;
    size_t place; /* of the left one in the unit */
    bool is_last; /* of the run */
};

static bool add_units(struct bpe_runs *runs, const struct bpe_run *run, size_t count)
{
    struct bpe_run some = *run;
    some.count = count;
    return bpe_runs_add(runs, &some);
}

/* Add tokens of a unit, each by itself. */
static bool add_tokens(struct bpe_runs *runs, const struct bpe_run *run, size_t first, size_t end)
{
    bool fits = true;
    for (size_t i = first; fits && i < end; i++)
        fits = bpe_runs_add(runs, &(struct bpe_run){{run->unit[i]}, 1, 1});
    return fits;
}

bool bpe_runs_add(struct bpe_runs *runs, const struct bpe_run *run)
{
    struct bpe_run *last = runs->count ? &runs->items[runs->count - 1] : NULL;
    if (!run->count)
        return true;
    if (run->width > 1 && run->count == 1)
        return add_tokens(runs, run, 0, run->width);
    if (last && last->width == 1 && run->width == 1 && last->unit[0].id == run->unit[0].id) {
        last->count += run->count;
        /* merges by hand make one word of different bytes */
        return last->unit[0].size == run->unit[0].size;
    }
    if (runs->count == BPE_RUNS_MAX)
        return false;
    runs->items[runs->count++] = *run;
    return true;
}

/* Take a pair if it is better; false where another pair has the same rank, so that it would matter
 * where they stand. */
static bool consider(const struct bpe *bpe, struct choice *best, struct choice pair)
{
    pair.rank = bpe_rank(bpe, pair.left, pair.right);
    if (pair.rank == BPE_NONE || pair.rank > best->rank)
        return true;
    if (pair.rank == best->rank)
        return pair.left == best->left && pair.right == best->right &&
               (pair.run != best->run || pair.is_last);
    *best = pair;
    return true;
}

static bool choose(const struct bpe *bpe, struct choice *best, const struct bpe_runs *runs)
{
    *best = (struct choice){.rank = BPE_NONE};
    for (size_t i = 0; i < runs->count; i++) {
        const struct bpe_run *run = &runs->items[i];
        for (size_t k = 0; k < run->width; k++) {
            bool wraps = k + 1 == run->width;
            struct choice pair = {0, run->unit[k].id, run->unit[wraps ? 0 : k + 1].id, i, k, false};
            if ((!wraps || run->count > 1) && !consider(bpe, best, pair))
                return false;
            pair.is_last = true;
            pair.right = i + 1 < runs->count ? run[1].unit[0].id : 0;
            if (wraps && i + 1 < runs->count && !consider(bpe, best, pair))
                return false;
        }
    }
    return true;
}

/* Does what comes of a run's first pairs wait until all of it is joined? It stands after what is
 * made before it, and before what is not yet joined. */
static bool waits(const struct bpe *bpe, const struct choice *best, const struct bpe_runs *runs,
                  uint32_t made)
{
    const struct bpe_run *run = &runs->items[best->run];
    size_t width = run->width;
    size_t place = best->place;
    uint32_t before = place ? run->unit[place - 1].id : width > 2 ? run->unit[width - 1].id : made;
    uint32_t after = run->unit[place + 2 < width ? place + 2 : 0].id;
    bool is_first = place == 0 && best->run > 0;
    const struct bpe_run *previous = is_first ? run - 1 : run;
    return bpe_rank(bpe, before, made) > best->rank && bpe_rank(bpe, made, after) > best->rank &&
           (!is_first || bpe_rank(bpe, previous->unit[previous->width - 1].id, made) > best->rank);
}

enum { GROWTH_MAX = 256 };

/* What comes of a token X in a row, from its left end: XX, and where that and another X have a
 * lower rank than X and X, XXX, and so on, before the next two are joined. */
struct growth {
    uint32_t ids[GROWTH_MAX]; /* [count] of X, XX, … */
    size_t count;
};

/* Does any of them go with the token before it first? */
static bool stands_apart(const struct bpe *bpe, const struct growth *growth, uint32_t before,
                         uint32_t rank)
{
    for (size_t i = 1; i < growth->count; i++)
        if (bpe_rank(bpe, before, growth->ids[i]) <= rank)
            return false;
    return true;
}

/* False where what grows meets what stands before it, or takes too long. */
static bool grow(const struct bpe *bpe, struct growth *growth, const struct choice *best,
                 const struct bpe_runs *runs, uint32_t made)
{
    const struct bpe_run *run = &runs->items[best->run];
    uint32_t rank = 0;
    growth->ids[0] = best->left;
    growth->ids[1] = made;
    growth->count = 2;
    while ((rank = bpe_rank(bpe, growth->ids[growth->count - 1], best->left)) < best->rank) {
        if (growth->count == GROWTH_MAX)
            return false;
        growth->ids[growth->count] =
            bpe_product(bpe, rank, growth->ids[growth->count - 1], best->left);
        growth->count++;
    }
    uint32_t grown = growth->ids[growth->count - 1];
    return rank > best->rank && stands_apart(bpe, growth, grown, best->rank) &&
           (!best->run ||
            stands_apart(bpe, growth, run[-1].unit[run[-1].width - 1].id, best->rank));
}

/* Join a run of one token with itself. */
static bool join_row(const struct bpe *bpe, struct bpe_runs *joined, const struct bpe_runs *runs,
                     const struct choice *best, uint32_t made)
{
    struct growth growth;
    const struct bpe_run *run = &runs->items[best->run];
    uint32_t size = run->unit[0].size;
    if (!grow(bpe, &growth, best, runs, made))
        return false;
    size_t width = growth.count;
    size_t rest = run->count % width;
    struct bpe_run grown = {
        {{growth.ids[width - 1], (uint32_t)width * size}}, 1, run->count / width};
    struct bpe_run last = {{{growth.ids[rest ? rest - 1 : 0], (uint32_t)rest * size}}, 1, rest > 0};
    return bpe_runs_add(joined, &grown) && bpe_runs_add(joined, &last);
}

/* Join the pair in every unit of a run. */
static bool join_inside(const struct bpe *bpe, struct bpe_runs *joined, const struct bpe_runs *runs,
                        const struct choice *best, uint32_t made)
{
    struct bpe_run run = runs->items[best->run];
    struct bpe_unit_token *left = &run.unit[best->place];
    if (best->left == best->right || !waits(bpe, best, runs, made))
        return false;
    *left = (struct bpe_unit_token){made, left->size + left[1].size};
    run.width--;
    for (size_t i = best->place + 1; i < run.width; i++)
        run.unit[i] = run.unit[i + 1];
    return bpe_runs_add(joined, &run);
}

/* Units that begin one token later, so that the pair stands within them. */
static bool rotate(struct bpe_runs *joined, const struct bpe_run *run)
{
    struct bpe_run turned = *run;
    turned.count--;
    for (size_t i = 0; i < run->width; i++)
        turned.unit[i] = run->unit[(i + 1) % run->width];
    return add_tokens(joined, run, 0, 1) && bpe_runs_add(joined, &turned) &&
           add_tokens(joined, run, 1, run->width);
}

/* Join the last token of a run and the first of the next, each by itself. */
static bool join_ends(struct bpe_runs *joined, const struct bpe_run *run, uint32_t made)
{
    const struct bpe_run *next = run + 1;
    uint32_t size = run->unit[run->width - 1].size + next->unit[0].size;
    struct bpe_run pair = {{{made, size}}, 1, 1};
    return add_units(joined, run, run->count - 1) && add_tokens(joined, run, 0, run->width - 1) &&
           bpe_runs_add(joined, &pair) && add_tokens(joined, next, 1, next->width) &&
           add_units(joined, next, next->count - 1);
}

/* Join the pair everywhere in its run; false where that cannot be said at once. */
static bool join(const struct bpe *bpe, struct bpe_runs *runs, const struct choice *best)
{
    struct bpe_runs joined = {.count = 0};
    uint32_t made = bpe_product(bpe, best->rank, best->left, best->right);
    bool fits = true;
    for (size_t i = 0; fits && i < runs->count; i++) {
        const struct bpe_run *run = &runs->items[i];
        if (i != best->run)
            fits = bpe_runs_add(&joined, run);
        else if (best->is_last)
            fits = join_ends(&joined, &runs->items[i++], made);
        else if (run->width == 1)
            fits = join_row(bpe, &joined, runs, best, made);
        else if (best->place + 1 == run->width)
            fits = rotate(&joined, run);
        else
            fits = join_inside(bpe, &joined, runs, best, made);
    }
    *runs = joined;
    return fits;
}

bool bpe_join_runs(const struct bpe *bpe, struct bpe_runs *runs)
{
    struct choice best;
    for (;;) {
        if (!choose(bpe, &best, runs))
            return false;
        if (best.rank == BPE_NONE)
            return true;
        if (!join(bpe, runs, &best))
            return false;
    }
}

bool bpe_go_on(struct bpe_piece *piece)
{
    struct bpe_runs *runs = &piece->runs;
    uint32_t end = piece->count ? piece->tokens[piece->count - 1].end : 0;
    piece->tokens = piece->short_tokens;
    piece->count = 0;
    while (runs->at < runs->count) {
        struct bpe_run *run = &runs->items[runs->at];
        for (; run->count && piece->count + run->width <= BPE_SHORT_TOKENS; run->count--)
            for (size_t i = 0; i < run->width; i++) {
                uint32_t start = end;
                end += run->unit[i].size;
                piece->tokens[piece->count++] = (struct bpe_token){run->unit[i].id, start, end};
            }
        if (run->count)
            break;
        runs->at++;
    }
    return piece->count;
}
