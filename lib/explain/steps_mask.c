/* steps_mask.c: what a query does not see: the future, and what a pattern leaves out. */
#include <math.h>

#include "explain/steps.h"
#include "model/mechanism.h"

/* What is masked, and what takes the place of what is hidden. */
struct mask {
    const char *name; /* "scaled" */
    struct formula symbol, hidden;
    const float *values; /* [S] */
};

/* Keys that the mask lets the query see. */
static size_t visible_keys(const struct walk *walk)
{
    return walk->config->causal ? walk->query + 1 : walk->keys;
}

static bool hides_any(const struct walk *walk)
{
    for (size_t j = 0; j < walk->keys; j++)
        if (walk->masked[j] == -INFINITY)
            return true;
    return visible_keys(walk) < walk->keys;
}

/* Scaled scores before a softmax become -infinity; shares of one, and products of features, 0. */
static int find_mask(struct mask *mask, struct board *board)
{
    const struct walk *walk = board->walk;
    *mask = (struct mask){
        "scaled", {"scaled_j", "\\tilde{s}_j"}, {"-inf", "-\\infty"}, board_scaled(board)};
    if (walk->softmax)
        *mask = (struct mask){"softmax", {"softmax_j", "p_j"}, {"0", "0"}, walk->softmax};
    else if (walk->config->mechanism.kind == ATTENTION_LINEAR)
        *mask = (struct mask){"score", {"score_j", "s_j"}, {"0", "0"}, walk->scores};
    return mask->values ? 0 : -1;
}

/* --- the future ------------------------------------------------------------------------------- */

static int draw_future(struct board *board, const struct mask *mask)
{
    struct pen *pen = &board->pen;
    size_t query = board->walk->query;
    pen_add(pen, "masked_j = ", "m_j = ");
    pen_add(pen, mask->symbol.text, mask->symbol.latex);
    if (!board->walk->config->causal) {
        buf_text(board_note(board), "There is no mask: every query sees every key.");
        return board_drawn(board);
    }
    buf_format(&pen->text, " for j ≤ %zu, %s for j > %zu", query, mask->hidden.text, query);
    buf_format(&pen->latex, " \\text{ for } j \\le %zu, \\quad m_j = %s \\text{ for } j > %zu",
               query, mask->hidden.latex, query);
    buf_format(board_note(board), "A query sees itself and what came before%s",
               hides_any(board->walk) ? ", not the future." : ": the last one sees all.");
    return board_drawn(board);
}

/* --- a pattern -------------------------------------------------------------------------------- */

/* One more way for key j to be seen. */
static void begin_way(struct pen *pen, bool *first)
{
    pen_add(pen, *first ? " " : " or ", *first ? " " : " \\text{ or } ");
    *first = false;
}

static void draw_window(struct pen *pen, const struct walk *walk)
{
    size_t window = walk->config->mechanism.pattern.window;
    const char *bar = walk->config->causal ? "" : "|";
    buf_format(&pen->text, "%s%zu - j%s < %zu", bar, walk->query, bar, window);
    buf_format(&pen->latex, "%s%zu - j%s < %zu", bar, walk->query, bar, window);
}

/* Each part of the pattern as a condition on j. */
static void draw_ways(struct pen *pen, const struct walk *walk)
{
    const struct pattern *pattern = &walk->config->mechanism.pattern;
    size_t query = walk->query;
    bool first = true;
    if (pattern->window) {
        begin_way(pen, &first);
        draw_window(pen, walk);
    }
    if (pattern->stride) {
        begin_way(pen, &first);
        buf_format(&pen->text, "(%zu - j) mod %zu = 0", query, pattern->stride);
        buf_format(&pen->latex, "(%zu - j) \\bmod %zu = 0", query, pattern->stride);
    }
    if (pattern->global) {
        begin_way(pen, &first);
        buf_format(&pen->text, "j < %zu", pattern->global);
        buf_format(&pen->latex, "j < %zu", pattern->global);
    }
    if (pattern->random) {
        begin_way(pen, &first);
        buf_format(&pen->text, "j = %zu or j drawn", query);
        buf_format(&pen->latex, "j = %zu \\text{ or } j \\text{ drawn}", query);
    }
}

/* S = {j ≤ 5: 5 - j < 2 or j < 1} */
static int draw_seen(struct board *board)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
    bool sees_all = walk->query < walk->config->mechanism.pattern.global;
    buf_format(&pen->text, "S = {j ≤ %zu", visible_keys(walk) - 1);
    buf_format(&pen->latex, "S = \\{\\, j \\le %zu", visible_keys(walk) - 1);
    if (!sees_all) {
        pen_add(pen, ":", " :");
        draw_ways(pen, walk);
    }
    pen_add(pen, "}", " \\,\\}");
    return board_drawn(board);
}

/* How many keys the pattern leaves of those that the mask allows, and why it may be all. */
static void note_seen(struct board *board)
{
    const struct walk *walk = board->walk;
    const struct mechanism *mechanism = &walk->config->mechanism;
    struct buf *note = board_note(board);
    size_t seen = 0;
    for (size_t j = 0; j < walk->keys; j++)
        seen += walk->masked[j] != -INFINITY;
    mechanism_write_attention(note, mechanism);
    buf_format(note, " shows this query %zu of %zu keys.", seen, visible_keys(walk));
    if (walk->query < mechanism->pattern.global)
        buf_format(board_note(board), "The first %zu queries see all.", mechanism->pattern.global);
}

static int draw_pattern(struct board *board)
{
    board_formula(board, "masked_j = scaled_j for j in S, -inf for others",
                  "m_j = \\tilde{s}_j \\text{ for } j \\in S, \\quad m_j = -\\infty \\text{ for "
                  "others}");
    note_seen(board);
    return draw_seen(board);
}

/* ---------------------------------------------------------------------------------------------- */

int step_masked(struct board *board)
{
    const struct walk *walk = board->walk;
    bool sparse = walk->config->mechanism.kind == ATTENTION_SPARSE;
    struct mask mask;
    board_title(board, "masked", "Mask");
    if (find_mask(&mask, board) || (sparse ? draw_pattern(board) : draw_future(board, &mask)))
        return -1;
    if (!hides_any(walk))
        return 0;
    board_keys(board);
    board_column(board, mask.name, mask.symbol.text, mask.symbol.latex, mask.values);
    board_column(board, "masked", "masked_j", "m_j", walk->masked);
    return 0;
}
