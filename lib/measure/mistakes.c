#include "measure/mistakes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "math/activation.h"
#include "math/precision.h"
#include "math/rotary.h"
#include "model/family/family.h"
#include "model/layer.h"
#include "model/points.h"

#define SAY(...) snprintf(trial->words, TRIAL_WORDS_BYTES, __VA_ARGS__)

/* --- sublayers -------------------------------------------------------------------------------- */

typedef bool sublayer_change(struct sublayer *s, int variant, size_t width);

/* Return 1 + the index of the last layer of a stack that has the mistake. */
static size_t end_layer(const struct trial *trial, enum site_branch stack, size_t layers)
{
    return trial->from.alone ? num_min(trial->from.first_layer[stack] + 1, layers) : layers;
}

/* Change sublayers in the layers that have the mistake; returns true if any of them changed. */
static bool change_sublayers(struct trial *trial, sublayer_change *change)
{
    struct description *made = trial->viewer.model.config.description;
    size_t count = 0;
    for (enum site_branch branch = BRANCH_TEXT; branch <= BRANCH_SOURCE; branch++) {
        const struct stack *stack = branch == BRANCH_SOURCE ? &made->source : &made->text;
        const size_t last = end_layer(trial, branch, stack->layers);
        for (size_t layer = trial->from.first_layer[branch]; layer < last; layer++) {
            /* may be changed: the description is a copy for this trial */
            struct sublayer *s = (struct sublayer *)stack->layer[layer].sublayers;
            for (struct sublayer *end = s + stack->layer[layer].all; s < end; s++)
                count += change(s, trial->variant, stack->width);
        }
    }
    return count > 0;
}

static bool is_attention(const struct sublayer *s)
{
    return s->kind == SUBLAYER_ATTEND || s->kind == SUBLAYER_ATTEND_SOURCE;
}

static bool change_scale(struct sublayer *s, int variant, size_t width)
{
    struct score_rule *rule = &s->score;
    const float own = rule->scale, root = 1 / sqrtf((float)s->head.d_k);
    const float scales[] = {1, own * own, root, 1 / sqrtf((float)width)};
    rule->scale = scales[variant];
    return is_attention(s) && rule->scale != own;
}

static bool change_head_norms(struct sublayer *s, int variant, size_t width)
{
    const bool had = s->head.norm.q || s->head.norm.k;
    (void)variant;
    (void)width;
    s->head.norm.q = s->head.norm.k = false;
    return is_attention(s) && had;
}

static bool change_mask(struct sublayer *s, int variant, size_t width)
{
    (void)width;
    size_t *ahead = &s->score.ahead, *back = &s->score.back;
    const bool is_causal = *ahead == 0, has_window = *back != SIZE_MAX;
    if (!is_attention(s) || ((variant == 0 || variant == 2) && !is_causal) ||
        (variant == 1 && !has_window) || (variant == 3 && s->score.cap <= 0))
        return false;
    if (variant == 3)
        s->score.cap = 0;
    if (variant == 0 || variant == 2)
        *ahead = SIZE_MAX;
    if (variant == 1 || variant == 2)
        *back = SIZE_MAX;
    return true;
}

static bool try_mask(struct trial *trial)
{
    return (trial->variant != 2 || trial->viewer.model.config.window) &&
           change_sublayers(trial, change_mask);
}

static bool change_activation(struct sublayer *s, int variant, size_t width)
{
    (void)width;
    const enum activation wanted = (enum activation)(variant + 1);
    if (s->kind != SUBLAYER_MLP || s->mlp.xielu || s->mlp.activation == wanted ||
        s->branch == BRANCH_LAUREL)
        return false;
    s->mlp.activation = wanted;
    return true;
}

static bool try_activation(struct trial *trial)
{
    const enum activation wanted = (enum activation)(trial->variant + 1);
    SAY("activation of the MLP: %s (%s), not the model's", activation_name(wanted),
        activation_formula(wanted));
    return change_sublayers(trial, change_activation);
}

/* --- the embedding ---------------------------------------------------------------------------- */

static bool try_embedding(struct trial *trial)
{
    struct description *made = trial->viewer.model.config.description;
    const float root = sqrtf((float)made->text.width), own = made->text.embed.scale;
    const float scale = trial->variant ? own * root : 1;
    made->text.embed.scale = made->source.embed.scale = scale;
    if (!trial->variant)
        SAY("scale of the embedding missing (%g)", (double)own);
    return fabsf(own / scale - 1) > 1e-3f;
}

static bool try_positions(struct trial *trial)
{
    struct config *config = &trial->viewer.model.config;
    const struct embed_rule *embed = &stack_of(config, BRANCH_TEXT)->embed;
    const size_t own = config->position_offset, rows[] = {own + 1, own - 1, 0};
    config->position_offset = rows[trial->variant];
    if (trial->variant == 2)
        SAY("rows of position embeddings counted from 0, not %zu", own);
    return embed->positions != POSITIONS_NONE && (trial->variant != 2 || own);
}

/* --- numbers of the file ---------------------------------------------------------------------- */

static const float epsilons[] = {1e-5f, 1e-6f, 1e-12f, 1e-8f, 1e-7f, 1e-3f, 0};

static bool try_epsilon(struct trial *trial)
{
    const float epsilon = epsilons[trial->variant], own = trial->viewer.model.config.epsilon;
    trial->change.epsilon = epsilon;
    SAY("epsilon %g of the norms, not %g", (double)epsilon, (double)own);
    return epsilon != own;
}

static bool try_offset(struct trial *trial)
{
    const struct config *config = &trial->viewer.model.config;
    trial->change.other_offset = true;
    SAY(config->norm_offset ? "scales w of the norms, not 1 + w"
                            : "scales 1 + w of the norms, not w");
    return !config->norm_plain;
}

/* True if a slot is outside of layers, or in the first layer that has the mistake or a later
 * one. */
static bool has_mistake(const struct trial *trial, struct slot slot)
{
    return slot.layer < 0 ||
           (size_t)slot.layer >= trial->from.first_layer[slot.branch == BRANCH_SOURCE];
}

/* Leave out the bias of one kind of matrix or, in the last variant, all biases. */
static bool try_bias(struct trial *trial)
{
    const struct weights *weights = &trial->viewer.model.weights;
    const int id = 2 * trial->variant;
    char name[PARAMETER_NAME_BYTES] = "";
    for (size_t i = 0; i < weights->parameter_count && !*name; i++) {
        struct parameter_info info = weights_parameter(weights, i);
        if (info.slot.id & 1 && (id == SLOTS || info.slot.id - 1 == id) && info.slot.expert < 0 &&
            has_mistake(trial, info.slot))
            memcpy(name, info.name, sizeof name);
    }
    trial->change.without_bias = id;
    if (id == SLOTS)
        SAY("all biases missing");
    else
        SAY("bias missing: %s", name);
    return *name && id;
}

static bool try_gate(struct trial *trial)
{
    trial->change.swaps_gate = true;
    return trial->viewer.model.config.gated;
}

static bool try_values(struct trial *trial)
{
    trial->change.swaps_values = true;
    return true;
}

static bool try_sample(struct trial *trial)
{
    trial->change.of_sample = true;
    return !trial->viewer.model.config.rms;
}

static bool try_layer(struct trial *trial)
{
    trial->change.layers_later = trial->variant ? 1 : -1;
    return trial->viewer.model.config.n_layer > 1;
}

/* Transpose the matrices of one kind. Returns false if the model lacks them or they are not
 * square. */
static bool try_transposed(struct trial *trial)
{
    const struct weights *weights = &trial->viewer.model.weights;
    const int id = 2 * trial->variant;
    struct family_layout layout;
    trial->change.transposed = id;
    for (size_t i = 0; i < weights->parameter_count; i++) {
        struct parameter_info info = weights_parameter(weights, i);
        if (info.slot.id != id || info.slot.layer < 0 || info.slot.expert >= 0 ||
            !has_mistake(trial, info.slot))
            continue;
        SAY("matrix transposed: %s", info.name);
        return weights_tensor(weights, info.slot, &layout) != SIZE_MAX && layout.rank == 2 &&
               layout.in == layout.out;
    }
    return false;
}

/* --- values of the pass ----------------------------------------------------------------------- */

static void edit_by(struct trial *trial, enum site id, edit_function *function)
{
    const enum site site = SITE_OF(trial->from.branch, id);
    if (!site_exists(&trial->viewer.model.config, site))
        return;
    trial->layers = (struct edit_range){
        (ptrdiff_t)trial->from.first_layer[trial->from.branch == BRANCH_SOURCE],
        (ptrdiff_t)end_layer(trial,
                             trial->from.branch == BRANCH_SOURCE ? BRANCH_SOURCE : BRANCH_TEXT,
                             stack_of(&trial->viewer.model.config, trial->from.branch)->layers) -
            1};
    trial->items[trial->edits.count++] = (struct edit){
        .site = site, .layers = {&trial->layers, 1}, .function = function, .context = trial};
}

static struct matrix rows_of(const struct edit_block *block)
{
    return (struct matrix){block->data, block->rows, block->heads * block->columns,
                           block->row_stride};
}

/* Copy a block's rows to a dense matrix, whose data are NULL if there is no memory. */
static struct matrix copy_of(struct trial *trial, const struct edit_block *block)
{
    struct matrix rows = rows_of(block);
    struct matrix copy = {
        arena_room(&trial->arena, rows.rows * rows.columns, sizeof(float), trial->err), rows.rows,
        rows.columns, rows.columns};
    if (copy.data)
        copy_rows(copy, rows);
    return copy;
}

static void keep(void *context, const struct edit_block *block)
{
    struct trial *trial = context;
    trial->kept[site_id(block->site) == SITE_K_PRE] = copy_of(trial, block).data;
}

/* Variants of a wrong rotary embedding; from TURN_THETAS on, another base. */
enum {
    TURN_OTHER_PAIRS,
    TURN_BACK,
    TURN_NEXT,
    TURN_PREVIOUS,
    TURN_NONE,
    TURN_UNSCALED,
    TURN_THETAS,
};

static const double turn_thetas[] = {10000, 1000000, 500000};

enum { TURNS = TURN_THETAS + sizeof turn_thetas / sizeof *turn_thetas };

/* Rotate queries or keys again, by the wrong angles of the variant. */
static void turn(void *context, const struct edit_block *block)
{
    struct trial *trial = context;
    const struct config *config = &trial->viewer.model.config;
    struct matrix rows = rows_of(block), from = rows, table;
    struct rotary rotary = *stack_head(config, trial->from.branch, block->layer)->rotary;
    const size_t half = rotary.components / 2;
    from.data = trial->kept[site_id(block->site) == SITE_K];
    from.stride = from.columns;
    table = matrix_new(rows.rows + 1, rotary.components, &trial->arena, trial->err);
    if (!from.data || !table.data)
        return;
    rotary.neighbours ^= trial->variant == TURN_OTHER_PAIRS;
    if (trial->variant == TURN_UNSCALED)
        rotary.scaling = ROTARY_PLAIN;
    if (trial->variant >= TURN_THETAS)
        rotary.theta = turn_thetas[trial->variant - TURN_THETAS];
    rotary_fill(table, &rotary, trial->variant == TURN_NEXT, rows.rows);
    for (size_t row = rows.rows; trial->variant == TURN_PREVIOUS && row > 0; row--)
        memcpy(matrix_row(table, row), matrix_row(table, row - 1),
               rotary.components * sizeof(float));
    if (trial->variant == TURN_PREVIOUS && rows.rows > 1) /* the first token is at position -1 */
        memcpy(table.data, matrix_row(table, 2), rotary.components * sizeof(float));
    for (size_t row = 0; row < rows.rows; row++)
        for (size_t i = half; i < 2 * half; i++)
            if (trial->variant == TURN_BACK || (trial->variant == TURN_PREVIOUS && !row))
                matrix_row(table, row)[i] *= -1;
    copy_rows(rows, from);
    if (trial->variant != TURN_NONE)
        rotate(rows, rows, block->columns, &rotary, matrix_rows(table, 0, rows.rows));
}

static bool try_rotary(struct trial *trial)
{
    const struct config *config = &trial->viewer.model.config;
    const size_t half = config->rotary.components / 2;
    const double theta =
        trial->variant < TURN_THETAS ? 0 : turn_thetas[trial->variant - TURN_THETAS];
    if (trial->from.branch != BRANCH_TEXT || !config_rotates(config) ||
        config->head_norm.after_rotary || theta == config->rotary.theta ||
        (trial->variant == TURN_UNSCALED && config->rotary.scaling == ROTARY_PLAIN))
        return false;
    edit_by(trial, SITE_Q_PRE, keep);
    edit_by(trial, SITE_K_PRE, keep);
    edit_by(trial, SITE_Q, turn);
    edit_by(trial, SITE_K, turn);
    if (theta > 0)
        SAY("base %g of the rotary embedding, not %g", theta, config->rotary.theta);
    else if (trial->variant == TURN_OTHER_PAIRS && config->rotary.neighbours)
        SAY("halves as rotary pairs (i, i + %zu), not neighbours (2i, 2i + 1)", half);
    else if (trial->variant == TURN_OTHER_PAIRS)
        SAY("neighbours as rotary pairs (2i, 2i + 1), not halves (i, i + %zu)", half);
    return true;
}

/* Round each number to float16 or bfloat16. */
static void halve(void *context, const struct edit_block *block)
{
    const struct trial *trial = context;
    for (size_t row = 0; row < block->rows; row++)
        for (size_t i = 0; i < block->columns; i++) {
            float *x = &block->data[row * block->row_stride + i];
            *x = trial->variant & 1 ? bf16_value(bf16_round(*x)) : float_of_half(half_of_float(*x));
        }
}

static bool try_half(struct trial *trial)
{
    if (trial->variant < 2)
        edit_by(trial, SITE_MASKED, halve);
    edit_by(trial, SITE_WEIGHTS, halve);
    return true;
}

/* Return the index that a query head has if key/value heads are tiled, not repeated. */
static size_t regrouped(const struct head_rule *rule, size_t head)
{
    return head % rule->kv_heads * kv_head_shared_by(rule) + head / rule->kv_heads;
}

enum { ORDER_READ, ORDER_WRITTEN, ORDER_FLAT, ORDER_GROUPS, ORDER_KINDS };

static void reorder(void *context, const struct edit_block *block)
{
    struct trial *trial = context;
    const struct head_rule *rule =
        stack_head(&trial->viewer.model.config, trial->from.branch, block->layer);
    const size_t heads = block->heads, width = block->columns;
    struct matrix to = rows_of(block), from = copy_of(trial, block);
    bool of_context = site_id(block->site) == SITE_CONTEXT;
    for (size_t row = 0; row < to.rows && from.data; row++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < width; i++) {
                float *x = matrix_row(to, row);
                const float *y = matrix_row(from, row);
                size_t flat = (row * heads + h) * width + i;
                if (trial->variant == ORDER_READ)
                    x[h * width + i] = y[i * heads + h];
                else if (trial->variant == ORDER_WRITTEN)
                    x[i * heads + h] = y[h * width + i];
                else if (trial->variant == ORDER_FLAT) /* numbers in the order [H, T, D] are read as
                                                        * [T, H·D] */
                    x[h * width + i] = matrix_row(
                        from, flat / width % to.rows)[flat / width / to.rows * width + i];
                else if (of_context)
                    x[h * width + i] = y[regrouped(rule, h) * width + i];
                else
                    x[regrouped(rule, h) * width + i] = y[h * width + i];
            }
}

static bool try_order(struct trial *trial)
{
    const struct config *config = &trial->viewer.model.config;
    const bool rotates = site_exists(config, SITE_OF(trial->from.branch, SITE_Q_PRE));
    if (trial->variant == ORDER_READ) {
        edit_by(trial, rotates ? SITE_Q_PRE : SITE_Q, reorder);
        edit_by(trial, rotates ? SITE_K_PRE : SITE_K, reorder);
        edit_by(trial, SITE_V, reorder);
    }
    trial->regroups = trial->variant == ORDER_GROUPS;
    if (trial->regroups)
        edit_by(trial, SITE_Q, reorder);
    if (trial->variant != ORDER_READ)
        edit_by(trial, SITE_CONTEXT, reorder);
    const struct head_rule *rule = stack_head(config, trial->from.branch, 0);
    return !trial->regroups || (rule->kv_heads > 1 && rule->kv_heads < rule->heads);
}

/* --- the list --------------------------------------------------------------------------------- */

enum { WORDS = TURNS };

/* The mistakes, in the order in which they are tried. A mistake whose words contain numbers of the
 * model gets its words from its function. */
static const struct mistake {
    int variants;
    bool (*make)(struct trial *trial); /* returns false if the model cannot have the mistake; NULL:
                                        * use `change` */
    sublayer_change *change;
    const char *words[WORDS]; /* description of each variant */
} mistakes[] = {
    {TURNS, try_rotary,
     .words = {[TURN_BACK] = "rotary embedding in the other direction",
               [TURN_NEXT] = "rotary embedding offset by one: positions begin at 1",
               [TURN_PREVIOUS] = "rotary embedding offset by one: positions begin at -1",
               [TURN_NONE] = "rotary embedding missing",
               [TURN_UNSCALED] = "scaling of the rotary embedding missing"}},
    {3, try_positions,
     .words = {"position embeddings offset by one: of the next token",
               "position embeddings offset by one: of the previous token"}},
    {4, .change = change_scale,
     .words = {"scale of the scores missing", "scale of the scores twice",
               "scale 1 / √d of the scores, not the model's",
               "scale 1 / √C of the scores, C the channels of the stream, not the model's"}},
    {4, try_mask,
     .words = {"causal mask missing", "window of the mask missing",
               "causal mask missing, and its window", "soft cap of the scores missing"}},
    {sizeof epsilons / sizeof *epsilons, try_epsilon},
    {1, try_offset},
    {SLOTS / 2 + 1, try_bias},
    {1, try_gate, .words = {"gate and up of the MLP exchanged"}},
    {1, try_values, .words = {"keys and values exchanged"}},
    {1, .change = change_head_norms, .words = {"norms of queries and keys missing"}},
    {1, try_sample, .words = {"deviation of the norms with the divisor n - 1, not n"}},
    {2, try_layer, .words = {"weights of the layer before", "weights of the layer after"}},
    {SLOTS / 2, try_transposed},
    {ACTIVATION_COUNT - 1, try_activation},
    {4, try_half,
     .words = {"softmax in float16", "softmax in bfloat16", "softmax in float16: its result alone",
               "softmax in bfloat16: its result alone"}},
    {ORDER_KINDS, try_order,
     .words = {[ORDER_READ] = "wrong head order: queries, keys and values read as [T, D, H], not "
                              "[T, H, D]",
               [ORDER_WRITTEN] = "wrong head order: contexts joined as [T, D, H], not [T, H, D]",
               [ORDER_FLAT] = "wrong head order: contexts joined as [H, T, D], not [T, H, D]",
               [ORDER_GROUPS] = "wrong head order: key/value heads tiled (0 1 0 1), not repeated "
                                "(0 0 1 1)"}},
    {2, try_embedding, .words = {[1] = "scale √C of the embedding, which is not the model's"}},
};

/* Find the mistake at an index over all variants of all mistakes, and set its variant. NULL: the
 * index is too large. */
static const struct mistake *mistake_at(int *variant, size_t index)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        *variant = (int)index;
        if (index < (size_t)mistakes[i].variants)
            return &mistakes[i];
        index -= (size_t)mistakes[i].variants;
    }
    return NULL;
}

size_t mistake_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        count += (size_t)mistakes[i].variants;
    return count;
}

int trial_begin(struct trial *trial, const struct viewer *viewer, const struct trial_range *from,
                size_t mistake, struct err *err)
{
    *trial = (struct trial){.from = *from, .err = err};
    const struct mistake *row = mistake_at(&trial->variant, mistake);
    trial->change = (struct weights_change){
        .without_bias = SLOT_NONE, .transposed = SLOT_NONE, .end_layer = SIZE_MAX, .epsilon = -1};
    if (from->alone) {
        const enum site_branch stack = from->branch == BRANCH_SOURCE ? BRANCH_SOURCE : BRANCH_TEXT;
        trial->from.first_layer[!stack] = SIZE_MAX; /* no layer of the other stack has the
                                                     * mistake */
        trial->change.end_layer = from->first_layer[stack] + 1;
    }
    memcpy(trial->change.first_layer, trial->from.first_layer, sizeof from->first_layer);
    trial->edits = viewer->edits ? *viewer->edits : (struct edits){0};
    trial->items =
        arena_alloc(&trial->arena, trial->edits.count + TRIAL_EDITS, sizeof *trial->items, err);
    if (viewer_share(&trial->viewer, viewer, err) || !trial->items) {
        trial_end(trial);
        return -1;
    }
    for (size_t i = 0; i < trial->edits.count; i++)
        trial->items[i] = trial->edits.items[i];
    trial->edits.items = trial->items;
    trial->viewer.edits = &trial->edits;
    trial->viewer.model.weights.change = &trial->change;
    if (trial->variant < WORDS && row->words[trial->variant])
        SAY("%s", row->words[trial->variant]);
    trial->is_possible = row->make ? row->make(trial) : change_sublayers(trial, row->change);
    return 0;
}

int trial_capture(struct report *report, struct trial *trial, struct capture_request asked,
                  struct arena *arena, struct err *err)
{
    const struct config *config = &trial->viewer.model.config;
    asked.reports = report;
    if (viewer_capture(&trial->viewer, &asked, arena, err) || err->kind)
        return -1;
    for (size_t i = 0; trial->regroups && i < report->array_count; i++) {
        const struct array *array = &report->arrays[i];
        const enum site id = site_id(array->site);
        if (id != SITE_Q && (id < SITE_SCORES || id > SITE_WEIGHTS))
            continue;
        const struct head_rule *rule =
            stack_head(config, site_branch(array->site), (size_t)array->layer);
        const size_t heads = array->heads.size, size = array_cells(array) / heads;
        float *sorted = arena_room(arena, heads * size, sizeof *sorted, err);
        if (!sorted)
            return -1;
        for (size_t head = 0; head < heads; head++)
            memcpy(sorted + head * size, array->data + regrouped(rule, head) * size,
                   size * sizeof *sorted);
        ((struct array *)array)->data = sorted; /* may be changed: the array is in the arena */
    }
    return 0;
}

void trial_end(struct trial *trial)
{
    arena_release(&trial->arena);
    viewer_release_shared(&trial->viewer);
}
