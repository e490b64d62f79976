/* steps_input.c: from the layer's input to the query. */
#include <math.h>
#include <stdio.h>

#include "explain/steps.h"

/* The norm that x comes of; NULL: there is none. */
static const struct norm *norm_of(const struct walk *walk)
{
    bool normed = walk->stream && !mechanism_lacks(&walk->config->mechanism, PART_NORM);
    return normed ? &walk->weights.norm : NULL;
}

/* The input and what it comes from; what is not there is left out. */
static int show_stream(struct board *board)
{
    const struct walk *walk = board->walk;
    const struct norm *norm = norm_of(walk);
    const struct {
        const char *name;
        const float *values;
    } vectors[] = {{"wte", walk->token},
                   {walk->config->sinusoids ? "PE" : "wpe", walk->position},
                   {"h", walk->stream},
                   {"γ", norm ? norm->scale : NULL},
                   {"β", norm ? norm->shift : NULL},
                   {"x", walk->x}};
    enum { COUNT = sizeof vectors / sizeof *vectors };
    size_t width = walk->input_size;
    struct label *rows = board_rows(board, COUNT);
    float *values = board_floats(board, COUNT * width);
    size_t used = 0;
    if (!rows || !values)
        return -1;
    for (size_t i = 0; i < COUNT; i++) {
        if (!vectors[i].values)
            continue;
        rows[used] = board_label(vectors[i].name);
        for (size_t c = 0; c < width; c++)
            values[used * width + c] = vectors[i].values[c];
        used++;
    }
    board->table->row_count = used;
    board_vectors(board, "vector", "", "", values, width);
    return 0;
}

/* The same of all tokens: what the inputs of keys come from can be followed, too. */
static int give_streams(struct board *board)
{
    const struct walk *walk = board->walk;
    const char *place = walk->config->sinusoids ? "PE" : "wpe";
    const struct given_rows rows[] = {
        {"wte", {"wte", "\\mathrm{wte}"}, walk->tokens, false},
        {place,
         {place, walk->config->sinusoids ? "\\mathrm{PE}" : "\\mathrm{wpe}"},
         walk->positions,
         false},
        {"h", {"h_j", "h_j"}, walk->streams, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].values && given_rows(board, &rows[i]))
            return -1;
    return 0;
}

static int give_norm(struct board *board)
{
    const struct norm *norm = norm_of(board->walk);
    if (!norm)
        return 0;
    return given_channels(board, "gamma", norm->scale) ||
                   given_channels(board, "beta", norm->shift) ||
                   given_number(board, "epsilon", norm->epsilon)
               ? -1
               : 0;
}

static int give_input(struct board *board)
{
    const struct walk *walk = board->walk;
    float scale = walk->config->embedding_scale;
    if (walk->tokens && scale != 1 && given_number(board, "embedding_scale", scale))
        return -1;
    return give_streams(board) || give_norm(board) ? -1 : 0;
}

/* A number that a float32 may be too small for: a square of what is not. */
static void add_wide(struct board *board, double value)
{
    char digits[NUMERAL_BYTES];
    float narrow = (float)value;
    if (isfinite(narrow)) {
        pen_number(&board->pen, board_numeral(board, &narrow, 1), narrow);
        return;
    }
    snprintf(digits, sizeof digits, "%.2e", value);
    buf_text(&board->pen.text, digits);
    numeral_latex(&board->pen.latex, digits);
}

/* μ = 0.0021, σ² = 0.0198, ε = 1.00e-05: of what the norm takes in. */
static int work_norm(struct board *board)
{
    const struct walk *walk = board->walk;
    const float *epsilon = &norm_of(walk)->epsilon;
    double mean = 0;
    double variance = 0;
    for (size_t c = 0; c < walk->input_size; c++)
        mean += (double)walk->stream[c] / (double)walk->input_size;
    for (size_t c = 0; c < walk->input_size; c++)
        variance += pow((double)walk->stream[c] - mean, 2) / (double)walk->input_size;
    pen_add(&board->pen, "μ = ", "\\mu = ");
    add_wide(board, mean);
    pen_add(&board->pen, ", σ² = ", ",\\; \\sigma^2 = ");
    add_wide(board, variance);
    pen_add(&board->pen, ", ε = ", ",\\; \\varepsilon = ");
    pen_number(&board->pen, board_numeral(board, epsilon, 1), *epsilon);
    return board_worked(board);
}

/* h = √16 · wte[4] + wpe[2]: the rows of the embeddings that the token and its place have. */
static int draw_embedding(struct board *board, const char *name)
{
    const struct walk *walk = board->walk;
    const struct config *config = walk->config;
    struct pen *pen = &board->pen;
    uint32_t id = report_queries(walk->report, walk->part)->tokens[walk->query].id;
    bool waves = config->sinusoids;
    pen_add(pen, name, name);
    pen_equals(pen);
    if (config->embedding_scale != 1) {
        buf_format(&pen->text, "√%zu · ", config->n_embd);
        buf_format(&pen->latex, "\\sqrt{%zu}\\,", config->n_embd);
    }
    buf_format(&pen->text, "wte[%u]", id);
    buf_format(&pen->latex, "\\mathrm{wte}_{%u}", id);
    if (walk->position) {
        buf_format(&pen->text, " + %s[%zu]", waves ? "PE" : "wpe", walk->query);
        buf_format(&pen->latex, " + \\mathrm{%s}_{%zu}", waves ? "PE" : "wpe", walk->query);
    }
    if (walk->position && waves)
        buf_text(board_note(board), "PE are sines and cosines of the place in the text.");
    return board_drawn(board);
}

/* Is it the sum of embeddings, or what something else gave? */
static bool begins_with_embedding(const struct walk *walk)
{
    return walk->layer == 0 && walk->part != PART_CROSS;
}

/* Who gave h; or x, where there is no norm between the two: if norms come last, it went through
 * one. */
static void note_giver(struct board *board, const char *name)
{
    const struct walk *walk = board->walk;
    const struct mechanism *mechanism = &walk->config->mechanism;
    const char *giver = walk->part == PART_CROSS ? "self-attention" : "the layer before";
    bool bare = walk->config->kind == MODEL_ATTENTION;
    bool adds_up = !bare && !mechanism_lacks(mechanism, PART_RESIDUAL);
    bool normed = !bare && !walk->config->norm_first && !mechanism_lacks(mechanism, PART_NORM);
    struct buf *note = board_note(board);
    buf_format(note, adds_up ? "%s is the residual stream as %s left it" : "%s is what %s gave",
               name, giver);
    buf_text(note, normed ? ", normed" : "");
    buf_text(note, adds_up || bare ? "." : ": nothing is added up.");
}

static int draw_origin(struct board *board, const char *name)
{
    if (begins_with_embedding(board->walk))
        return draw_embedding(board, name);
    note_giver(board, name);
    return 0;
}

static int normed_input(struct board *board)
{
    board_title(board, "input", "Input");
    if (draw_origin(board, "h"))
        return -1;
    if (mechanism_lacks(&board->walk->config->mechanism, PART_NORM)) {
        board_formula(board, "x = h", "x = h");
        return show_stream(board);
    }
    board_formula(board, "x = (h - μ) / √(σ² + ε) ⊙ γ + β",
                  "x = \\frac{h - \\mu}{\\sqrt{\\sigma^2 + \\varepsilon}} \\odot \\gamma + \\beta");
    return work_norm(board) || show_stream(board) ? -1 : 0;
}

int step_input(struct board *board)
{
    const struct walk *walk = board->walk;
    if (give_input(board))
        return -1;
    if (walk->stream)
        return normed_input(board);
    board_title(board, "input", begins_with_embedding(walk) ? "Embedding" : "Input");
    if (draw_origin(board, "x"))
        return -1;
    return walk->token ? show_stream(board) : board_vector(board, "x", walk->x, walk->input_size);
}

/* q_0 = x_0 · W_0,0 + x_1 · W_1,0 + … + b_0 = … */
static int work_product(struct board *board, const struct weight *w)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
    const struct block *blocks = board->table->blocks;
    const struct numeral numerals[] = {blocks[0].numeral, blocks[1].numeral};
    size_t width = blocks[1].width;
    pen_symbol(pen, "q", "q", 0);
    pen_equals(pen);
    pen_dot(pen, numerals, walk->x, blocks[1].values, width, w->in);
    if (w->bias)
        pen_term(pen, blocks[1].numeral, blocks[1].values[w->in * width]);
    pen_equals(pen);
    pen_number(pen, board_numeral(board, walk->q, width), walk->q[0]);
    return board_worked(board);
}

/* x and W_q beside each other, row by row; below them their product, q. */
static int show_product(struct board *board, const struct given_columns *own)
{
    const struct walk *walk = board->walk;
    const struct weight *w = own->weight;
    size_t count = w->in + (w->bias != NULL);
    struct label *rows = board_rows(board, count);
    float *x = board_floats(board, count);
    const float *matrix = given_matrix(board, own);
    if (!rows || !x || !matrix)
        return -1;
    for (size_t c = 0; c < w->in; c++) {
        rows[c] = walk->report->numbers[c];
        x[c] = walk->x[c];
    }
    if (w->bias) {
        rows[w->in] = board_label(own->bias);
        x[w->in] = NAN;
    }
    board->table->corner = "channel";
    board->table->total = "q";
    board_column(board, "x", "x", "x", x);
    board_vectors(board, own->name, own->name, own->name, matrix, own->width)->total = walk->q;
    return work_product(board, w);
}

int step_query(struct board *board)
{
    const struct walk *walk = board->walk;
    const struct config *config = walk->config;
    const struct weight *w = &walk->weights.q;
    board_title(board, "query", "Query");
    if (!config->projections) {
        board_formula(board, "q = x", "q = x");
        buf_text(board_note(board),
                 "There are no projections: q, k and v are the inputs themselves.");
    } else if (w->bias) {
        board_formula(board, "q = x · W_q + b_q", "q = x\\,W_q + b_q");
    } else {
        board_formula(board, "q = x · W_q", "q = x\\,W_q");
    }
    if (!config->projections)
        return board_vector(board, "q", walk->q, config->d_k);
    bool is_small = given_is_small(w->in, config->d_k);
    const struct given_columns own = {
        .name = "W_q",
        .bias = "b_q",
        .weight = w,
        .first = walk->head * config->d_k,
        .width = config->d_k,
        .is_shown = is_small,
    };
    if (given_columns(board, &own))
        return -1;
    if (is_small)
        return show_product(board, &own);
    buf_format(board_note(board), "W_q is the [%zu, %zu] of this head.", w->in, own.width);
    return board_vector(board, "q", walk->q, config->d_k);
}
