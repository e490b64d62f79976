/* steps_input.c: from the layer's input to the query. */
#include <math.h>

#include "lens/board.h"

enum { MATRIX_MAX = 8 }; /* rows and columns of a matrix that is shown itself */

/* The input and what it comes from; what is not there is left out. */
static int show_stream(struct board *board)
{
    const struct walk *walk = board->walk;
    const struct {
        const char *name;
        const float *values;
    } vectors[] = {{"wte", walk->token},
                   {walk->config->sinusoids ? "PE" : "wpe", walk->position},
                   {"h", walk->stream},
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

/* μ = 0.0021, σ² = 0.0198: of what the norm takes in. */
static int work_norm(struct board *board)
{
    const struct walk *walk = board->walk;
    double mean = 0;
    double variance = 0;
    for (size_t c = 0; c < walk->input_size; c++)
        mean += (double)walk->stream[c] / (double)walk->input_size;
    for (size_t c = 0; c < walk->input_size; c++)
        variance += pow((double)walk->stream[c] - mean, 2) / (double)walk->input_size;
    const float numbers[] = {(float)mean, (float)variance};
    pen_add(&board->pen, "μ = ", "\\mu = ");
    pen_number(&board->pen, board_numeral(board, &numbers[0], 1), numbers[0]);
    pen_add(&board->pen, ", σ² = ", ",\\; \\sigma^2 = ");
    pen_number(&board->pen, board_numeral(board, &numbers[1], 1), numbers[1]);
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

/* Who gave h; or x, where there is no norm between the two: if norms come last, one is behind. */
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
    if (walk->stream)
        return normed_input(board);
    board_title(board, "input", begins_with_embedding(walk) ? "Embedding" : "Input");
    if (draw_origin(board, "x"))
        return -1;
    return walk->token ? show_stream(board) : board_vector(board, "x", walk->x, walk->input_size);
}

/* The columns of a projection that belong to a head, dense, with the bias below them. */
static float *take_matrix(struct board *board, const struct weight *w, size_t first, size_t width)
{
    size_t rows = w->in + (w->bias != NULL);
    float *matrix = board_floats(board, rows * width);
    for (size_t i = 0; matrix && i < rows * width; i++) {
        const float *row = i / width < w->in ? w->data + i / width * w->stride : w->bias;
        matrix[i] = row[first + i % width];
    }
    return matrix;
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
static int show_product(struct board *board, const struct weight *w)
{
    const struct walk *walk = board->walk;
    size_t width = walk->config->d_k;
    size_t count = w->in + (w->bias != NULL);
    struct label *rows = board_rows(board, count);
    float *x = board_floats(board, count);
    const float *matrix = take_matrix(board, w, walk->head * width, width);
    if (!rows || !x || !matrix)
        return -1;
    for (size_t c = 0; c < w->in; c++) {
        rows[c] = walk->report->numbers[c];
        x[c] = walk->x[c];
    }
    if (w->bias) {
        rows[w->in] = board_label("b_q");
        x[w->in] = NAN;
    }
    board->table->corner = "channel";
    board->table->total = "q";
    board_column(board, "x", "x", "x", x);
    board_vectors(board, "W_q", "W_q", "W_q", matrix, width)->total = walk->q;
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
    if (config->projections && w->in <= MATRIX_MAX && config->d_k <= MATRIX_MAX)
        return show_product(board, w);
    if (config->projections)
        buf_format(board_note(board), "W_q is the [%zu, %zu] of this head.", w->in, config->d_k);
    return board_vector(board, "q", walk->q, config->d_k);
}
