#include "model/weights.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "math/argmax.h"
#include "math/machine.h"
#include "math/portable_math.h"
#include "math/rows.h"
#include "model/family/family.h"
#include "model/layer.h"
#include "model/score_rule.h"

/* One slot of the model: its tensor, and its numbers in every form that has been used so far. */
struct parameter {
    struct slot slot; /* must be the first member: slot_find reads it */
    struct family_layout layout;
    size_t first;  /* index of the first parameter in the same tensor */
    size_t holder; /* index of the first parameter in the same part of the tensor, such as an
                    * expert; it holds `data` and `halves` for all parameters in this part */
    struct found_tensor found;
    bool is_read;          /* weights_matrix was called for this parameter */
    const float *data;     /* the numbers as float32; NULL until they are used in this form */
    const char *halves;    /* the numbers as bf16, in the order of the file; NULL until they are
                            * used in this form */
    const uint32_t *pairs; /* the numbers as pairs of bf16 (weight.h); NULL until they are used in
                            * this form */
    const char *quants;    /* quantised rows, packed; NULL until they are packed */
    const float *panels;   /* a packed matrix; for a vector: a copy, with its numbers side by side;
                            * for biases by distance: the biases of all distances. NULL until they
                            * are made */
    float *places;         /* only for SLOT_K: row indices and tables of BIAS_DISENTANGLED
                            * (score_rule.h); NULL until they are made */
    bool is_old;           /* true if the numbers were changed after `panels` was made */
    bool places_are_old;   /* true if the numbers were changed after `places` was made */
};

/* The index of the layer whose parameters a layer uses: its own index, unless layers share
 * parameters. */
static size_t own_layer(const struct config *config, size_t layer)
{
    size_t of_group = config->group_layers;
    if (!config->n_group)
        return layer;
    size_t rounds = config->n_layer / of_group;
    return layer / of_group * config->n_group / rounds * of_group + layer % of_group;
}

static struct parameter *parameter_at(const struct weights *weights, struct slot slot)
{
    if (slot.layer >= 0 && slot.branch == BRANCH_TEXT)
        slot.layer = (short)own_layer(weights->config, (size_t)slot.layer);
    size_t i =
        slot_find(weights->parameters, weights->parameter_count, sizeof(struct parameter), slot);
    return i == SIZE_MAX ? NULL : &weights->parameters[i];
}

/* The bias or shift of a parameter, which is the next one in the list; NULL: the parameter has
 * none. */
static struct parameter *bias_of(const struct weights *weights, struct parameter *p)
{
    struct parameter *end = weights->parameters + weights->parameter_count;
    return p + 1 < end && p[1].slot.id == (p->slot.id | 1) ? p + 1 : NULL;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int find_tensors(struct weights *weights, struct hash_table *wanted, struct err *err)
{
    const struct config *config = weights->config;
    size_t count = weights->parameter_count = slot_list(NULL, 0, config);
    struct parameter *all = arena_alloc(&weights->arena, count, sizeof *all, err);
    weights->parameters = all;
    if (!all)
        return -1;
    slot_list(all, sizeof *all, config);
    for (size_t i = 0; i < count; i++) {
        struct parameter *p = &all[i];
        family_layout(&p->layout, p->slot, config);
        struct slot holder = p->layout.first;
        holder.expert = p->slot.expert;
        p->first = slot_find(all, count, sizeof *p, p->layout.first);
        p->holder = slot_find(all, count, sizeof *p, holder);
        if (checkpoint_find(&p->found, &weights->checkpoint, config, p->slot, &p->layout, err))
            return -1;
        const struct safetensors_entry *entry = p->found.entry;
        if (entry && p->first == i &&
            hash_table_put(wanted, entry->name, strlen(entry->name), 0, err))
            return -1;
    }
    return checkpoint_check_names(&weights->checkpoint, config, wanted, err);
}

/* The bytes of a parameter's tensor or, if the tensor has several experts or heads, of the
 * parameter's expert or head in it. */
static const char *part_of(const struct parameter *p)
{
    const struct safetensors_entry *entry = p->found.entry;
    return (const char *)entry->data + dtype_bytes(entry->dtype, p->layout.skipped);
}

/* Tell the system how a parameter is read from the file. `soon`: the whole parameter is read soon;
 * otherwise only parts of it are read, so reading ahead is useless. This is only done for models
 * with experts, since each token uses only some of them. */
static void advise(const struct weights *weights, const struct parameter *p, bool soon)
{
    const struct safetensors_entry *entry = p->found.entry;
    if (entry && weights->config->mixture.experts)
        file_advise(part_of(p), dtype_bytes(entry->dtype, p->layout.count), soon);
}

int weights_open(struct weights *weights, struct config *config, const struct folder *folder,
                 struct err *err)
{
    struct hash_table wanted = {0};
    *weights = (struct weights){.config = config, .packing_bytes = SIZE_MAX};
    if (checkpoint_open(&weights->checkpoint, folder, err))
        return -1;
    checkpoint_settle(&weights->checkpoint, config);
    int failed = config_describe(config, err) ||
                 checkpoint_check_names(&weights->checkpoint, config, NULL, err) ||
                 checkpoint_cut_again(&weights->checkpoint, config, err) ||
                 find_tensors(weights, &wanted, err);
    for (int branch = BRANCH_TEXT; branch <= BRANCH_SOURCE && !failed; branch++)
        failed = checkpoint_find_sines(&weights->sines[branch], &weights->checkpoint, config,
                                       branch, err);
    hash_table_release(&wanted);
    for (size_t i = 0; i < weights->parameter_count && !failed; i++)
        advise(weights, &weights->parameters[i], false);
    if (failed)
        weights_release(weights);
    return err_if(failed);
}

void weights_release(struct weights *weights)
{
    checkpoint_release(&weights->checkpoint);
    arena_release(&weights->arena);
    arena_release(&weights->packed);
    *weights = (struct weights){0};
}

int weights_share(struct weights *shared, const struct weights *weights,
                  const struct config *config, struct err *err)
{
    size_t count = weights->parameter_count;
    *shared = *weights;
    shared->config = config;
    shared->argmax = NULL;        /* not shared, since each search writes to it */
    shared->checkpoint.count = 0; /* only `weights` releases the files */
    shared->checkpoint.arena = (struct arena){0};
    shared->arena = shared->packed = (struct arena){0};
    shared->parameters = arena_alloc(&shared->arena, count, sizeof *shared->parameters, err);
    if (!shared->parameters)
        return -1;
    memcpy(shared->parameters, weights->parameters, count * sizeof *shared->parameters);
    return 0;
}

void weights_take(struct weights *weights, const struct weights *others, size_t index)
{
    weights->parameters[index] = others->parameters[index];
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Set *data to the numbers of a parameter's holder as float32, in place or converted. NULL: the
 * file lacks the tensor. */
static int load_floats(struct weights *weights, const struct parameter *p, const float **data,
                       struct err *err)
{
    struct parameter *holder = &weights->parameters[p->holder];
    const struct safetensors_entry *entry = holder->found.entry;
    const struct family_layout *layout = &holder->layout;
    const float *floats = entry ? safetensors_floats(entry) : NULL;
    if (floats && !holder->data)
        holder->data = floats + layout->skipped;
    if (entry && !holder->data) {
        float *copy = arena_alloc(&weights->arena, layout->count, sizeof *copy, err);
        if (!copy)
            return -1;
        dtype_to_float(copy, part_of(holder), entry->dtype, layout->count);
        holder->data = copy;
    }
    *data = holder->data;
    return 0;
}

/* Set *halves to the numbers of a parameter's holder as bf16, in the order of the file, in place or
 * rounded. */
static int load_halves(struct weights *weights, const struct parameter *p, const char **halves,
                       struct err *err)
{
    enum { PART = DTYPE_BLOCK_MAX };
    float part[PART];
    struct parameter *holder = &weights->parameters[p->holder];
    const struct safetensors_entry *entry = holder->found.entry;
    if (!holder->halves && entry->dtype == DTYPE_BF16)
        holder->halves = part_of(holder);
    if (!holder->halves) {
        size_t all = holder->layout.count;
        uint16_t *numbers = arena_room(&weights->arena, all, sizeof *numbers, err);
        for (size_t first = 0; numbers && first < all; first += PART) {
            size_t count = num_min(all - first, PART);
            dtype_to_float(part, part_of(holder) + dtype_bytes(entry->dtype, first), entry->dtype,
                           count);
            for (size_t i = 0; i < count; i++)
                numbers[first + i] = bf16_round(part[i]);
        }
        holder->halves = (const char *)numbers;
    }
    *halves = holder->halves;
    return *halves ? 0 : -1;
}

/* Return the memory of a parameter's panels if the caller must fill it, because it is new or its
 * numbers are old. NULL: it is already filled; or, if p->panels is NULL, there is no memory. */
static float *panels_to_fill(struct weights *weights, struct parameter *p, size_t count,
                             struct err *err)
{
    if (p->panels && !p->is_old)
        return NULL;
    if (!p->panels)
        p->panels = arena_alloc(&weights->arena, count, sizeof *p->panels, err);
    p->is_old = false;
    return (float *)p->panels; /* the panels are in the arena, so the const may be cast away */
}

/* Allocate memory for a packed matrix; NULL: the matrix is not packed. All packed matrices are side
 * by side, in large pages if there is memory for that. */
static void *room_to_pack(struct weights *weights, size_t bytes)
{
    struct arena *packed = &weights->packed;
    void *room = NULL;
    if (bytes == 0 || bytes > weights->packing_bytes)
        return NULL;
    if (!packed->newest)
        arena_expect(packed, num_min(weights_bytes(weights).heap, weights->packing_bytes));
    room = arena_room(packed, bytes, 1, NULL);
    if (!room && !packed->newest) {
        *packed = (struct arena){0};
        room = arena_room(packed, bytes, 1, NULL);
    }
    weights->packing_bytes -= room ? bytes : 0;
    return room;
}

static void pack(struct weights *weights, struct parameter *p, struct weight *weight)
{
    if (!p->panels) {
        float *panels = room_to_pack(weights, panels_size(weight) * sizeof *panels);
        if (panels)
            panels_fill(panels, weight);
        p->panels = panels;
    } else if (p->is_old) {
        panels_fill((float *)p->panels, weight); /* in the arena, so the const may be cast away */
        p->is_old = false;
    }
    weight->panels = p->panels;
}

/* Pack quantised rows, as `pack` does with floats, but only once: quantised numbers never
 * change. */
static void pack_quants(struct weights *weights, struct parameter *p, struct weight *weight)
{
    if (!p->quants) {
        char *quants = room_to_pack(weights, quants_size(weight));
        if (quants)
            quants_fill(quants, weight);
        p->quants = quants;
    }
    weight->quants = p->quants;
}

/* The number of columns in a parameter's tensor. */
static size_t row_length(const struct parameter *p)
{
    return p->layout.shape[p->layout.rank - 1];
}

/* Return a row of a tensor as floats, in place or in `memory`. If the tensor is [in, out], return
 * only the slot's columns of the row; they are copied to `memory` if they are not side by side. */
static const float *floats_of_row(const struct parameter *p, size_t row, float *memory)
{
    const struct safetensors_entry *entry = p->found.entry;
    const struct row_view *view = &p->layout.view;
    size_t length = row_length(p);
    const float *floats = safetensors_floats(entry);
    if (floats)
        floats += p->layout.skipped + row * length;
    else
        dtype_to_float(memory, part_of(p) + row * dtype_bytes(entry->dtype, length), entry->dtype,
                       length);
    floats = floats ? floats : memory;
    for (size_t i = 0; p->layout.transposed && view->stride && i < p->layout.out; i++)
        memory[i] = floats[row_view_at(view, i)]; /* row_view_at(view, i) >= i, so no number is
                                                   * overwritten before it is read */
    return !p->layout.transposed ? floats : view->stride ? memory : floats + view->first;
}

/* Round a slot's part of a tensor to pairs of bf16. Of a tensor [in, out] two rows are rounded at a
 * time; of a tensor [out, in] one row, which is a column of the matrix. */
static void fill_pairs(uint32_t *pairs, const struct parameter *p, const struct weight *weight,
                       float *memory, uint32_t *rounded)
{
    const struct row_view *view = &p->layout.view;
    for (size_t row = 0; p->layout.transposed && row < weight->in; row += 2) {
        const float *first = floats_of_row(p, row, memory);
        const float *second =
            row + 1 < weight->in ? floats_of_row(p, row + 1, memory + row_length(p)) : NULL;
        pairs_fill_rows(pairs, weight, row, first, second);
    }
    for (size_t column = 0; !p->layout.transposed && column < weight->out; column++) {
        bf16_pair_row(rounded, floats_of_row(p, row_view_at(view, column), memory), weight->in);
        pairs_fill_column(pairs, weight, column, rounded);
    }
}

static int load_pairs(struct weights *weights, struct parameter *p, struct weight *weight,
                      struct err *err)
{
    struct arena scratch = {0};
    if (!p->pairs) {
        float *memory = arena_alloc(&scratch, 2 * row_length(p), sizeof *memory, err);
        uint32_t *rounded = arena_alloc(&scratch, bf16_pairs(weight->in), sizeof *rounded, err);
        uint32_t *pairs = memory && rounded
                              ? arena_alloc(&weights->arena, pairs_size(weight), sizeof *pairs, err)
                              : NULL;
        if (pairs)
            fill_pairs(pairs, p, weight, memory, rounded);
        arena_release(&scratch);
        p->pairs = pairs;
    }
    weight->pairs = p->pairs;
    return weight->pairs ? 0 : -1;
}

/* --- matrices --------------------------------------------------------------------------------- */

/* Make a matrix of a whole tensor [in, out], without its bias. The tensor may have several slots,
 * whose columns are side by side. */
static int load_whole(struct weights *weights, const struct parameter *p, struct weight *whole,
                      struct err *err)
{
    struct parameter *first = &weights->parameters[p->holder];
    bool widened = first->found.entry->dtype == DTYPE_BF16;
    *whole = (struct weight){.in = p->layout.in,
                             .out = row_length(p),
                             .stride = row_length(p),
                             .rounded = weights->precision == PRECISION_BF16};
    if (whole->rounded)
        return load_halves(weights, first, &whole->halves, err);
    if (widened)
        whole->halves = part_of(first);
    else if (load_floats(weights, first, &whole->data, err))
        return -1;
    if (weights->packing && (!widened || weights->packing_widened))
        pack(weights, first, whole);
    return 0;
}

/* Make a matrix of the rows of a tensor [out, in]. bf16 numbers are only packed with
 * weights.packing_widened, since they become floats of twice the size; quantised numbers keep about
 * their size. */
static int load_rows(struct weights *weights, struct parameter *p, bool packing,
                     struct weight *weight, struct err *err)
{
    const struct safetensors_entry *entry = p->found.entry;
    struct weight_rows *rows = &weight->rows;
    rows->view = p->layout.view;
    if (weights->precision == PRECISION_BF16) {
        rows->dtype = DTYPE_BF16;
        return load_halves(weights, p, &rows->data, err);
    }
    bool quantised = dtype_is_quantised(entry->dtype);
    bool widened = entry->dtype == DTYPE_BF16;
    rows->data = part_of(p);
    rows->dtype = entry->dtype;
    if (!quantised && !widened && entry->dtype != DTYPE_F32) {
        const float *converted = NULL;
        if (load_floats(weights, p, &converted, err))
            return -1;
        rows->data = (const char *)converted;
        rows->dtype = DTYPE_F32;
    }
    if (quantised && (packing || weights->packing_quants))
        pack_quants(weights, p, weight);
    else if (!quantised && packing && (!widened || weights->packing_widened))
        pack(weights, p, weight);
    return 0;
}

/* Make a matrix of the columns of a tensor [in, out] that belong to a slot and are not side by
 * side, by copying them into panels. */
static int load_panels(struct weights *weights, struct parameter *p, struct weight *weight,
                       struct err *err)
{
    struct arena scratch = {0};
    if (!p->panels || p->is_old) {
        float *memory = arena_alloc(&scratch, row_length(p), sizeof *memory, err);
        float *panels = memory ? panels_to_fill(weights, p, panels_size(weight), err) : NULL;
        for (size_t row = 0; panels && row < weight->in; row++) {
            const float *numbers = floats_of_row(p, row, memory);
            for (size_t i = 0; i < weight->out; i++)
                panels[i / PANEL_COLUMNS * PANEL_COLUMNS * weight->in + row * PANEL_COLUMNS +
                       i % PANEL_COLUMNS] =
                    weight->rounded ? bf16_value(bf16_round(numbers[i])) : numbers[i];
        }
        arena_release(&scratch);
        p->panels = panels;
    }
    weight->panels = p->panels;
    return weight->panels ? 0 : -1;
}

static int load_matrix(struct weights *weights, struct parameter *p, bool packing,
                       struct weight *weight, struct err *err)
{
    struct weight whole;
    *weight = (struct weight){.in = p->layout.in,
                              .out = p->layout.out,
                              .stride = p->layout.out,
                              .rounded = weights->precision == PRECISION_BF16};
    if (weight->rounded && !weights->widens)
        return load_pairs(weights, p, weight, err);
    if (!p->layout.transposed)
        return load_rows(weights, p, packing, weight, err);
    if (p->layout.view.stride)
        return load_panels(weights, p, weight, err);
    if (load_whole(weights, p, &whole, err))
        return -1;
    *weight = weight_columns(&whole, p->layout.view.first, p->layout.out);
    return 0;
}

/* Set *vector to a parameter's vector times a factor: in place if its numbers are side by side and
 * the factor is 1; else a copy. */
static int load_scaled(struct weights *weights, struct parameter *p, float factor,
                       const float **vector, struct err *err)
{
    const float *all = NULL;
    if (load_floats(weights, p, &all, err))
        return -1;
    if (!p->layout.view.stride && factor == 1) {
        *vector = all + p->layout.view.first;
        return 0;
    }
    float *copy = panels_to_fill(weights, p, p->layout.out, err);
    for (size_t i = 0; copy && i < p->layout.out; i++)
        copy[i] = factor * all[row_view_at(&p->layout.view, i)];
    *vector = p->panels;
    return *vector ? 0 : -1;
}

/* Set *vector to a parameter's vector, such as the scales or the shift of a norm. */
static int load_vector(struct weights *weights, struct parameter *p, const float **vector,
                       struct err *err)
{
    return load_scaled(weights, p, 1, vector, err);
}

/* The factors of products with a slot's matrix. If the config has none for it, factor is 0 and bias
 * is 1. */
static struct product_factor factors_of(const struct config *config, struct slot slot)
{
    const struct product_factor *f = config->factors.list;
    while (f->factor != 0 && (f->branch != slot.branch || f->slot != slot.id))
        f++;
    return f->factor != 0 ? *f : (struct product_factor){.bias = 1};
}

/* change_of: the change of weights, if it applies to a slot, or else NULL. lacks_bias: whether the
 * change leaves out the slot's bias. */
static const struct weights_change *change_of(const struct weights *weights, struct slot slot)
{
    const struct weights_change *change = weights->change;
    if (!change)
        return NULL;
    bool has_it = slot.layer < 0
                      ? change->end_layer == SIZE_MAX
                      : (size_t)slot.layer >= change->first_layer[slot.branch == BRANCH_SOURCE] &&
                            (size_t)slot.layer < change->end_layer;
    return has_it ? change : NULL;
}

static bool lacks_bias(const struct weights *weights, struct slot slot)
{
    const struct weights_change *change = change_of(weights, slot);
    return change && (change->without_bias == SLOTS || change->without_bias == slot.id);
}

/* The parameter whose numbers are read for a slot: its own or, if a change says so, the parameter
 * of another slot or of a later layer. A parameter of another size is not used. */
static struct parameter *parameter_read(const struct weights *weights, struct slot slot)
{
    static const unsigned char pairs[][2] = {{SLOT_GATE, SLOT_UP},
                                             {SLOT_EXPERT_GATE, SLOT_EXPERT_UP},
                                             {SLOT_SHARED_GATE, SLOT_SHARED_UP},
                                             {SLOT_K, SLOT_V}};
    const struct weights_change *change = change_of(weights, slot);
    struct parameter *own = parameter_at(weights, slot);
    if (!change || !own)
        return own;
    for (size_t i = 0; i < 8; i++)
        if (slot.id == pairs[i / 2][i % 2] && (i < 6 ? change->swaps_gate : change->swaps_values)) {
            slot.id = pairs[i / 2][1 - i % 2];
            break;
        }
    if (slot.layer >= 0)
        slot.layer = (short)(slot.layer + change->layers_later);
    struct parameter *other =
        slot.layer < 0 && own->slot.layer >= 0 ? NULL : parameter_at(weights, slot);
    return other && other->layout.in == own->layout.in && other->layout.out == own->layout.out
               ? other
               : own;
}

/* Transpose a square matrix: its numbers are copied as [in, out], and then used as if they were
 * stored as [out, in]. */
static int transpose_weight(struct weights *weights, struct weight *weight, struct err *err)
{
    const size_t size = weight->in;
    float *copy = arena_room(&weights->arena, size * size, sizeof *copy, err);
    if (!copy)
        return -1;
    weight_copy(copy, size, weight, (struct weight_piece){0, size, 0});
    *weight = (struct weight){
        .in = size,
        .out = size,
        .stride = size,
        .rows = {(const char *)copy, DTYPE_F32, {0, size, size}, 0},
    };
    return 0;
}

int weights_matrix(struct weights *weights, struct slot slot, struct weight *weight,
                   struct err *err)
{
    struct parameter *p = parameter_read(weights, slot);
    const struct weights_change *change = change_of(weights, slot);
    *weight = (struct weight){0};
    if (!p)
        return 0;
    if (!p->is_read)
        advise(weights, p, true);
    p->is_read = true;
    struct parameter *bias = lacks_bias(weights, slot) ? NULL : bias_of(weights, p);
    const struct product_factor of = factors_of(weights->config, slot);
    if (load_matrix(weights, p, weights->packing, weight, err) ||
        (change && change->transposed == slot.id && weight->in == weight->out && !weight->rounded &&
         transpose_weight(weights, weight, err)) ||
        (bias && load_scaled(weights, bias, of.bias, &weight->bias, err)))
        return -1;
    weight->factor = of.factor;
    return 0;
}

int weights_joined(struct weights *weights, struct slot q, struct weight *joined, struct err *err)
{
    const struct parameter *p = parameter_at(weights, q);
    *joined = (struct weight){0};
    if (!p || !p->layout.transposed || row_length(p) == p->layout.out ||
        weights->precision != PRECISION_FP32 || weights->change)
        return 0;
    return err_if(load_whole(weights, p, joined, err) ||
                  weights_vector(weights, slot_bias(q), &joined->bias, err));
}

int weights_vector(struct weights *weights, struct slot slot, const float **numbers,
                   struct err *err)
{
    struct parameter *p = parameter_at(weights, slot);
    *numbers = NULL;
    if (!p)
        return 0;
    if (p->layout.rank == 1 && p->layout.view.stride)
        return load_vector(weights, p, numbers, err);
    if (load_floats(weights, p, numbers, err))
        return -1;
    *numbers += *numbers ? p->layout.view.first * (p->layout.rank == 1 ? 1 : p->layout.in) : 0;
    return 0;
}

int weights_xielu(struct weights *weights, struct slot slot, struct xielu *xielu, struct err *err)
{
    *xielu = (struct xielu){0, 0, 0.5f, -1e-6f}; /* defaults of beta and epsilon, which older files
                                                  * lack */
    float *const numbers[] = {&xielu->positive, &xielu->negative, &xielu->beta, &xielu->epsilon};
    for (int i = 0; i < 4; i++) {
        const float *number = NULL;
        slot.id = (unsigned char)(SLOT_XIELU_POSITIVE + 2 * i);
        if (weights_vector(weights, slot, &number, err))
            return -1;
        *numbers[i] = number ? *number : *numbers[i];
    }
    return 0;
}

int weights_lambda(struct weights *weights, enum site_branch branch, size_t layer,
                   struct lambda *lambda, struct err *err)
{
    const struct head_rule *rule = &attention_of(weights->config, branch, layer)->head;
    const float **v = lambda->vectors;
    for (int i = 0; i < 4; i++)
        if (weights_vector(weights, slot_of((int)branch, SLOT_LAMBDA_Q1 + 2 * i, layer), &v[i],
                           err))
            return -1;
    for (int i = 0; i < 2; i++)
        lambda->powers[i] = exp_double(dot_rows(v[2 * i], v[2 * i + 1], rule->d_k));
    lambda->lambda = (float)(lambda->powers[0] - lambda->powers[1] + (double)rule->differ);
    return 0;
}

/* How many numbers BIAS_DISENTANGLED needs for a layer (score_rule.h): the row index of each
 * distance, then the tables of keys and of queries, which are products of the table of distance
 * vectors. */
static size_t places_count(const struct weights *weights, const struct score_rule *rule)
{
    size_t tables = (size_t) !!(rule->terms & TERM_KEYS) + !!(rule->terms & TERM_QUERIES);
    size_t width = weights->config->n_head * weights->config->d_k;
    return score_biases_count(rule) + tables * 2 * rule->buckets * width;
}

static int make_places(struct weights *weights, struct machine *machine, float *to,
                       const struct score_rule *rule, struct arena *scratch, struct err *err)
{
    static const struct {
        unsigned term;
        int shared, own;
    } kinds[] = {{TERM_KEYS, SLOT_K, SLOT_BIAS_K}, {TERM_QUERIES, SLOT_Q, SLOT_BIAS_Q}};
    size_t rows = 2 * (size_t)rule->buckets, channels = weights->config->n_embd;
    float *normed = arena_alloc(scratch, rows * channels, sizeof *normed, err);
    const float *table = NULL;
    struct norm norm;
    struct matrix x = {normed, rows, channels, channels};
    if (!normed || weights_vector(weights, slot_of_text(SLOT_BIASES), &table, err) ||
        weights_norm(weights, slot_of_text(SLOT_BIAS_NORM), &norm, err) ||
        (weights->precision == PRECISION_BF16 &&
         machine_hold_rounded(machine, rows, channels, err)))
        return -1;
    memcpy(normed, table, rows * channels * sizeof *normed);
    if (rule->terms & TERM_NORMED)
        norm_rows(x, x, &norm);
    score_biases_fill(to, rule, NULL);
    to += score_biases_count(rule);
    for (int i = 0; i < 2; i++) {
        struct weight w;
        int id = rule->terms & TERM_SHARED ? kinds[i].shared : kinds[i].own;
        if (!(rule->terms & kinds[i].term))
            continue;
        if (weights_matrix(weights, slot_of(BRANCH_TEXT, id, (size_t)rule->bias_layer), &w, err))
            return -1;
        linear(machine, (struct matrix){to, rows, w.out, w.out}, x, &w, ACTIVATION_NONE);
        to += rows * w.out;
    }
    return 0;
}

static int load_places(struct weights *weights, struct machine *machine,
                       const struct score_rule *rule, const float **places, struct err *err)
{
    struct arena scratch = {0};
    struct parameter *keys =
        parameter_at(weights, slot_of(BRANCH_TEXT, SLOT_K, (size_t)rule->bias_layer));
    float *made = keys->places;
    if (!made)
        made = arena_alloc(&weights->arena, places_count(weights, rule), sizeof *made, err);
    int failed = !made || ((!keys->places || keys->places_are_old) &&
                           make_places(weights, machine, made, rule, &scratch, err));
    arena_release(&scratch);
    if (failed)
        return -1;
    *places = keys->places = made;
    keys->places_are_old = false;
    return 0;
}

int weights_biases(struct weights *weights, struct machine *machine, int branch,
                   const struct score_rule *rule, const float **biases, struct err *err)
{
    if (rule->bias == BIAS_DISENTANGLED)
        return load_places(weights, machine, rule, biases, err);
    bool of_layer = rule->bias_layer >= 0;
    struct slot slot = of_layer ? slot_of(branch, SLOT_LAYER_BIASES, (size_t)rule->bias_layer)
                                : slot_of_end(branch, SLOT_BIASES);
    struct parameter *p = rule->bias == BIAS_BUCKETS ? parameter_at(weights, slot) : NULL;
    *biases = NULL;
    if (p && (!p->panels || p->is_old)) {
        const float *table = NULL;
        if (load_floats(weights, p, &table, err))
            return -1;
        float *made = panels_to_fill(weights, p, score_biases_count(rule), err);
        if (!made)
            return -1;
        score_biases_fill(made, rule, table);
    }
    *biases = p ? p->panels : NULL;
    return 0;
}

/* Set *ones to an array of ones, as long as the scales of any norm. */
static int load_ones(struct weights *weights, const float **ones, struct err *err)
{
    const struct config *c = weights->config;
    size_t heads =
        num_max(c->n_head * num_max(c->d_k, c->wide.d), num_max(c->mixer.d_k, c->mixer.step_rank));
    size_t count = num_max(num_max(c->n_embd, config_word_width(c)), heads);
    if (!weights->ones) {
        float *made = arena_alloc(&weights->arena, count, sizeof *made, err);
        for (size_t i = 0; made && i < count; i++)
            made[i] = 1;
        weights->ones = made;
    }
    *ones = weights->ones;
    return *ones ? 0 : -1;
}

/* epsilon of the norms of latent_q and latent_kv vectors, whatever config.json says */
static const float LATENT_EPSILON = 1e-6f;

/* Change the scales and the epsilon of a norm over `size` channels such that it divides by the
 * standard deviation with the divisor size - 1. With part = (size - 1) / size this is the root of
 * (variance + epsilon · part) / part. */
static int take_sample(struct weights *weights, struct norm *norm, size_t size, struct err *err)
{
    const float part = ((float)size - 1) / (float)size;
    float *copy = arena_room(&weights->arena, size, sizeof *copy, err);
    for (size_t i = 0; copy && i < size; i++)
        copy[i] = sqrtf(part) * (norm->offset + norm->scale[i]) - norm->offset;
    norm->scale = copy;
    norm->epsilon *= part;
    return copy ? 0 : -1;
}

int weights_norm(struct weights *weights, struct slot slot, struct norm *norm, struct err *err)
{
    struct parameter *scale = parameter_read(weights, slot);
    struct parameter *shift = scale && !lacks_bias(weights, slot) ? bias_of(weights, scale) : NULL;
    const struct weights_change *change = change_of(weights, slot);
    bool of_latent = slot.id == SLOT_Q_DOWN_NORM || slot.id == SLOT_KV_DOWN_NORM;
    const float of_mixer = slot.branch == BRANCH_MIXER ? weights->config->mixer.epsilon : 0;
    *norm = (struct norm){
        .epsilon = of_latent      ? LATENT_EPSILON
                   : of_mixer > 0 ? of_mixer
                                  : weights->config->epsilon,
        .rms = weights->config->rms,
        .offset = weights->config->norm_offset && slot.branch != BRANCH_MIXER ? 1.0f : 0.0f,
        .plain = !scale,
    };
    if (change && change->epsilon >= 0)
        norm->epsilon = change->epsilon;
    if (change && change->other_offset)
        norm->offset = 1 - norm->offset;
    if (slot.id == SLOT_CONTEXT_NORM) {
        norm->rms = true;
        norm->offset =
            -attention_of(weights->config, (enum site_branch)slot.branch, (size_t)slot.layer)
                 ->head.differ;
    }
    return err_if((scale ? load_vector(weights, scale, &norm->scale, err)
                         : load_ones(weights, &norm->scale, err)) ||
                  (scale && change && change->of_sample && !norm->rms &&
                   take_sample(weights, norm, scale->layout.out, err)) ||
                  (shift && load_vector(weights, shift, &norm->shift, err)));
}

int weights_unembedding(struct weights *weights, struct weight *weight, struct err *err)
{
    struct parameter *words = parameter_at(weights, slot_of_text(SLOT_UNEMBED));
    if (!words || !words->found.entry)
        words = parameter_at(weights, slot_of_text(SLOT_TOKENS));
    return load_matrix(weights, words, weights->packing_words, weight, err);
}

/* --- sublayers -------------------------------------------------------------------------------- */

int weights_attention(struct weights *weights, int branch, size_t layer,
                      struct attention_weights *w, struct err *err)
{
    struct slot q = slot_of(branch, SLOT_Q, layer);
    return err_if(weights_joined(weights, q, &w->joined, err) ||
                  weights_matrix(weights, q, &w->q, err) ||
                  weights_matrix(weights, slot_of(branch, SLOT_K, layer), &w->k, err) ||
                  weights_matrix(weights, slot_of(branch, SLOT_V, layer), &w->v, err) ||
                  weights_matrix(weights, slot_of(branch, SLOT_O, layer), &w->out, err) ||
                  weights_norm(weights, slot_of(branch, SLOT_NORM_1, layer), &w->norm, err) ||
                  weights_norm(weights, slot_of(branch, SLOT_Q_NORM, layer), &w->q_norm, err) ||
                  weights_norm(weights, slot_of(branch, SLOT_K_NORM, layer), &w->k_norm, err) ||
                  weights_norm(weights, slot_of(branch, SLOT_NORM_1_POST, layer), &w->post, err));
}

int weights_block(struct weights *weights, int branch, size_t layer, struct block_weights *block,
                  struct err *err)
{
    struct mlp_weights *w = &block->mlp;
    return err_if(weights_attention(weights, branch, layer, &block->self, err) ||
                  weights_norm(weights, slot_of(branch, SLOT_NORM_2, layer), &w->norm, err) ||
                  weights_matrix(weights, slot_of(branch, SLOT_GATE, layer), &w->gate, err) ||
                  weights_matrix(weights, slot_of(branch, SLOT_UP, layer), &w->fc, err) ||
                  weights_matrix(weights, slot_of(branch, SLOT_DOWN, layer), &w->proj, err) ||
                  weights_norm(weights, slot_of(branch, SLOT_NORM_2_POST, layer), &w->post, err));
}

int weights_sublayer(struct weights *weights, const struct sublayer *s, size_t layer,
                     struct sublayer_weights *w, struct err *err)
{
    bool is_mlp = s->kind == SUBLAYER_MLP;
    const enum slot_id norm = is_mlp ? SLOT_NORM_2 : SLOT_NORM_1;
    const enum slot_id post = is_mlp ? SLOT_NORM_2_POST : SLOT_NORM_1_POST;
    const enum slot_id last = is_mlp ? SLOT_DOWN : SLOT_O;
    const int outside = (int)sublayer_outside(s);
    return err_if(
        weights_norm(weights, slot_of(outside, (int)norm, layer), &w->norm, err) ||
        weights_norm(weights, slot_of(outside, (int)post, layer), &w->post, err) ||
        weights_matrix(weights, slot_of((int)s->branch, (int)last, layer), &w->last, err));
}

/* --- ends ------------------------------------------------------------------------------------- */

int weights_argmax(struct weights *weights, struct machine *machine, struct argmax **argmax,
                   struct err *err)
{
    struct weight words;
    if (!weights->argmax) {
        struct argmax *made = arena_alloc(&weights->arena, 1, sizeof *made, err);
        if (!made || weights_unembedding(weights, &words, err) ||
            argmax_init(made, machine, &words, &weights->arena, err))
            return -1;
        weights->argmax = made;
    }
    *argmax = weights->argmax;
    return 0;
}

void weights_embed_token(const struct weights *weights, int branch, float *y, uint32_t id)
{
    const struct parameter *p = parameter_at(weights, slot_of_end(branch, SLOT_TOKENS));
    p = p ? p : parameter_at(weights, slot_of_text(SLOT_TOKENS));
    const struct safetensors_entry *wte = p->found.entry;
    dtype_to_float(y, safetensors_row(wte, id), wte->dtype, wte->shape[1]);
}

void weights_given_token(const struct weights *weights, float *y, uint32_t id)
{
    const struct parameter *p = parameter_at(weights, slot_of_text(SLOT_GIVEN_TOKENS));
    const struct safetensors_entry *table = p->found.entry;
    dtype_to_float(y, safetensors_row(table, id), table->dtype, table->shape[1]);
}

static void add_row(float *y, const struct safetensors_entry *table, size_t index)
{
    enum { PART = 256 };
    float part[PART];
    const char *row = safetensors_row(table, index);
    size_t step = dtype_bytes(table->dtype, PART);
    for (size_t done = 0; done < table->shape[1]; done += PART, row += step) {
        size_t count = num_min(table->shape[1] - done, PART);
        dtype_to_float(part, row, table->dtype, count);
        for (size_t i = 0; i < count; i++)
            y[done + i] += part[i];
    }
}

void weights_add_position(const struct weights *weights, int branch, float *y, size_t position)
{
    const struct config *c = weights->config;
    bool own = branch == BRANCH_SOURCE && c->own_tables;
    size_t row = position + c->position_offset;
    const struct safetensors_entry *table = weights->sines[branch];
    const struct parameter *p =
        parameter_at(weights, slot_of_end(own ? BRANCH_SOURCE : BRANCH_TEXT, SLOT_POSITIONS));
    table = p ? p->found.entry : table;
    if (table && row < table->shape[0])
        add_row(y, table, row);
    else if (c->sinusoids && position != SIZE_MAX)
        add_sinusoids((struct matrix){y, 1, c->n_embd, c->n_embd}, row, c->sines);
}

void weights_add_segment(const struct weights *weights, float *y, size_t segment)
{
    const struct parameter *p = parameter_at(weights, slot_of_text(SLOT_SEGMENTS));
    if (p)
        add_row(y, p->found.entry, segment);
}

/* --- facts ------------------------------------------------------------------------------------ */

int weights_check_finite(struct weights *weights, int layer, struct err *err)
{
    if (layer >= 0 && layer < (int)weights->config->n_layer)
        layer = (int)own_layer(weights->config, (size_t)layer);
    for (size_t i = 0; i < weights->parameter_count; i++) {
        const struct parameter *p = &weights->parameters[i];
        int before = p->slot.branch == BRANCH_SOURCE && p->slot.layer >= 0
                         ? (int)weights->config->n_layer
                         : 0;
        if (p->slot.layer + before == layer && p->first == i &&
            checkpoint_check_finite(&weights->checkpoint, p->found, err))
            return -1;
    }
    return 0;
}

size_t weights_read_bytes(const struct weights *weights, size_t index, size_t count)
{
    const struct safetensors_entry *entry = weights->parameters[index].found.entry;
    bool in_place = entry && (entry->dtype == DTYPE_BF16 || dtype_is_quantised(entry->dtype));
    bool rounded = weights->precision == PRECISION_BF16;
    return dtype_bytes(rounded ? DTYPE_BF16 : in_place ? entry->dtype : DTYPE_F32, count);
}

/* About how many bytes the copies of a tensor need after it was converted, packed or rounded; 0:
 * the tensor is read in place, without copies. */
static size_t heap_bytes_of(const struct weights *weights, const struct parameter *p)
{
    int words = weights->config->tied ? SLOT_TOKENS : SLOT_UNEMBED;
    const struct safetensors_entry *entry = p->found.entry;
    bool is_matrix = entry->rank > 1;
    bool is_quantised = is_matrix && dtype_is_quantised(entry->dtype);
    bool is_widened = entry->dtype == DTYPE_BF16;
    bool is_read_in_place = entry->dtype == DTYPE_F32 || is_quantised || (is_widened && is_matrix);
    bool is_packed = is_matrix && (!is_widened || weights->packing_widened) &&
                     (p->slot.id == words ? weights->packing_words
                      : p->slot.layer < 0 ? false
                                          : weights->packing);
    if (is_matrix && weights->precision == PRECISION_BF16)
        return entry->count * BF16_BYTES;
    if (is_quantised && (is_packed || weights->packing_quants)) {
        struct dtype_packing packing = dtype_packing(entry->dtype);
        return entry->count / (DTYPE_ROWS * packing.numbers) * dtype_packed_bytes(&packing);
    }
    return entry->count * sizeof(float) *
           ((size_t)!is_read_in_place + (is_packed && !is_quantised));
}

struct weights_bytes weights_bytes(const struct weights *weights)
{
    struct weights_bytes bytes = {0, 0};
    for (size_t i = 0; i < weights->parameter_count; i++) {
        const struct parameter *p = &weights->parameters[i];
        const struct safetensors_entry *entry = p->found.entry;
        if (!entry || p->first != i)
            continue;
        size_t heap = heap_bytes_of(weights, p);
        bytes.heap += heap;
        if (weights->config->score_bias == BIAS_DISENTANGLED && p->slot.id == SLOT_K)
            bytes.heap +=
                sizeof(float) *
                places_count(
                    weights,
                    &attention_of(weights->config, BRANCH_TEXT, (size_t)p->slot.layer)->score);
        bytes.mapped += heap ? 0 : entry->end - entry->begin;
    }
    return bytes;
}

struct parameter_info weights_parameter(const struct weights *weights, size_t index)
{
    const struct parameter *p = &weights->parameters[index];
    struct parameter_info info = {.slot = p->slot};
    family_tensor_name(info.name, weights->config, p->slot);
    if (p->first == index) {
        info.entry = p->found.entry;
        info.file = p->found.file;
    }
    return info;
}

struct parameter_info weights_parameter_of(const struct weights *weights, struct slot slot)
{
    const struct parameter *p = parameter_at(weights, slot);
    return p ? weights_parameter(weights, (size_t)(p - weights->parameters))
             : (struct parameter_info){.slot = slot};
}

size_t weights_tensor(const struct weights *weights, struct slot slot, struct family_layout *layout)
{
    const struct parameter *p = parameter_at(weights, slot);
    if (!p || !p->found.entry)
        return SIZE_MAX;
    *layout = p->layout;
    return p->first;
}

void weights_renew(struct weights *weights)
{
    for (size_t i = 0; i < weights->parameter_count; i++)
        weights->parameters[i].is_old = weights->parameters[i].panels != NULL;
    for (size_t i = 0; i < weights->parameter_count; i++)
        weights->parameters[i].places_are_old = true;
}

/* --- hashes ----------------------------------------------------------------------------------- */

enum {
    NUMBERS_AT_ONCE = 4096,
    SAMPLE_NUMBERS = 1024, /* maximum number of numbers in a sample; a multiple of the block size of
                            * every quantised type */
};

/* Hash all numbers of each tensor. For a sample, hash only some numbers in its middle, since
 * reading the whole file takes longer than hashing it. */
static void hash_tensors(const struct weights *weights, bool is_sample,
                         char digits[SHA256_DIGITS + 1])
{
    float numbers[NUMBERS_AT_ONCE];
    struct sha256 hash;
    sha256_begin(&hash);
    for (size_t i = 0; i < weights->parameter_count; i++) {
        struct parameter_info info = weights_parameter(weights, i);
        if (!info.entry)
            continue;
        sha256_add(&hash, info.name, strlen(info.name) + 1);
        for (size_t axis = 0; axis < info.entry->rank; axis++) {
            uint64_t length = info.entry->shape[axis];
            sha256_add(&hash, &length, sizeof length);
        }
        size_t count = info.entry->count;
        size_t middle = (count + SAMPLE_NUMBERS - 1) / SAMPLE_NUMBERS / 2 * SAMPLE_NUMBERS;
        size_t first = is_sample ? middle : 0;
        size_t end = is_sample ? num_min(middle + SAMPLE_NUMBERS, count) : count;
        enum dtype dtype = info.entry->dtype;
        const char *bytes = info.entry->data;
        file_advise(bytes + dtype_bytes(dtype, first), dtype_bytes(dtype, end - first), true);
        for (size_t some; first < end; first += some) {
            some = num_min(end - first, NUMBERS_AT_ONCE);
            dtype_to_float(numbers, bytes + dtype_bytes(dtype, first), dtype, some);
            sha256_add(&hash, numbers, some * sizeof *numbers);
        }
    }
    sha256_end(&hash, digits);
}

void weights_hash(const struct weights *weights, char digits[SHA256_DIGITS + 1])
{
    hash_tensors(weights, false, digits);
}

void weights_sample_hash(const struct weights *weights, char digits[WEIGHTS_SAMPLE_DIGITS + 1])
{
    char whole[SHA256_DIGITS + 1];
    hash_tensors(weights, true, whole);
    memcpy(digits, whole, WEIGHTS_SAMPLE_DIGITS);
    digits[WEIGHTS_SAMPLE_DIGITS] = '\0';
}
