/* bpe_run.c: one token again and again, such as a line of blanks: megabytes of it are joined run by
 * run. Of X in a row come Y in a row, and perhaps one X. */
#include "text/subword/bpe.h"

/* The pair of the lowest rank: in a run, or of the last of a run and the first of the next. */
struct choice {
    uint32_t rank;
    uint32_t left, right;
    size_t run;
};

bool bpe_runs_add(struct bpe_runs *runs, struct bpe_run run)
{
    struct bpe_run *last = runs->count ? &runs->items[runs->count - 1] : NULL;
    if (!run.count)
        return true;
    if (last && last->id == run.id) {
        last->count += run.count;
        return last->size == run.size; /* merges by hand make one word of different bytes */
    }
    if (runs->count == BPE_RUNS_MAX)
        return false;
    runs->items[runs->count++] = run;
    return true;
}

/* Take a pair if it is better; false where another pair has the same rank, so that it would matter
 * where they stand. */
static bool consider(const struct bpe *bpe, struct choice *best, uint32_t left, uint32_t right,
                     size_t run)
{
    uint32_t rank = bpe_rank(bpe, left, right);
    if (rank == BPE_NONE || rank > best->rank)
        return true;
    if (rank == best->rank)
        return left == best->left && right == best->right;
    *best = (struct choice){rank, left, right, run};
    return true;
}

static bool choose(const struct bpe *bpe, struct choice *best, const struct bpe_runs *runs)
{
    *best = (struct choice){.rank = BPE_NONE};
    for (size_t i = 0; i < runs->count; i++) {
        const struct bpe_run *run = &runs->items[i];
        if (run->count > 1 && !consider(bpe, best, run->id, run->id, i))
            return false;
        if (i + 1 < runs->count && !consider(bpe, best, run->id, run[1].id, i))
            return false;
    }
    return true;
}

/* Does what comes of a run's first pairs wait until all of it is joined? */
static bool waits(const struct bpe *bpe, const struct choice *best, const struct bpe_run *before,
                  uint32_t made)
{
    return bpe_rank(bpe, made, made) > best->rank && bpe_rank(bpe, made, best->left) > best->rank &&
           (!before || bpe_rank(bpe, before->id, made) > best->rank);
}

/* Join the pair everywhere in its run; false where that cannot be said at once. */
static bool join(const struct bpe *bpe, struct bpe_runs *runs, const struct choice *best)
{
    struct bpe_runs joined = {.count = 0};
    uint32_t made = bpe_product(bpe, best->rank, best->left, best->right);
    bool inside = best->left == best->right;
    bool fits = true;
    for (size_t i = 0; fits && i < runs->count; i++) {
        struct bpe_run run = runs->items[i];
        struct bpe_run after = run;
        if (i != best->run) {
            fits = bpe_runs_add(&joined, run);
            continue;
        }
        if (inside) {
            fits = waits(bpe, best, i ? &runs->items[i - 1] : NULL, made);
            after.count = run.count % 2;
            run = (struct bpe_run){made, run.count / 2, 2 * run.size};
        } else {
            after = runs->items[++i];
            run.count--;
            fits = bpe_runs_add(&joined, run);
            run = (struct bpe_run){made, 1, run.size + after.size};
            after.count--;
        }
        fits = fits && bpe_runs_add(&joined, run) && bpe_runs_add(&joined, after);
    }
    *runs = joined;
    return fits;
}

int bpe_join_runs(const struct bpe *bpe, struct bpe_piece *piece, struct bpe_runs *runs,
                  struct err *err)
{
    struct choice best;
    size_t total = 0;
    for (;;) {
        if (!choose(bpe, &best, runs))
            return 0;
        if (best.rank == BPE_NONE)
            break;
        if (!join(bpe, runs, &best))
            return 0;
    }
    for (size_t i = 0; i < runs->count; i++)
        total += runs->items[i].count;
    if (bpe_piece_reserve(piece, total, err))
        return -1;
    uint32_t end = 0;
    for (size_t i = 0; i < runs->count; i++)
        for (size_t k = 0; k < runs->items[i].count; k++) {
            uint32_t start = end;
            end += (uint32_t)runs->items[i].size;
            piece->tokens[piece->count++] = (struct bpe_token){runs->items[i].id, start, end};
        }
    return 1;
}
