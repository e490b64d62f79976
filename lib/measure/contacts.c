#include "measure/contacts.h"

#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "math/portable_math.h"
#include "model/family/family.h"
#include "pass/tap.h"

/* The id of <eos> in the vocabulary of ESM. The regression ignores attention to this token. */
enum { CONTACT_END = 2 };

/* --- the head --------------------------------------------------------------------------------- */

static int find(const float **numbers, const struct viewer *viewer, const char *ending,
                const struct family_layout *layout, struct arena *arena, struct err *err)
{
    const struct config *config = &viewer->model.config;
    const struct checkpoint *checkpoint = &viewer->model.weights.checkpoint;
    struct found_tensor found;
    char name[PARAMETER_NAME_BYTES];
    size_t count = layout->shape[layout->rank - 1];
    float *made = arena_alloc(arena, count, sizeof *made, err);
    snprintf(name, sizeof name, "%scontact_head.regression.%s", config->family->names->prefix,
             ending);
    if (!made || checkpoint_find_extra(&found, checkpoint, config, name, layout, err) ||
        checkpoint_check_finite(checkpoint, found, err))
        return -1;
    if (!found.entry)
        return err_unsupported(err,
                               "'%s': --contacts: expected a model with a head of contacts, as ESM "
                               "has ('%s'), found one of type \"%s\" without it",
                               viewer->model.name, name, config_kind_name(config));
    dtype_to_float(made, found.entry->data, found.entry->dtype, count);
    *numbers = made;
    return 0;
}

int contacts_open(struct contact_head *head, const struct viewer *viewer, struct arena *arena,
                  struct err *err)
{
    const struct config *c = &viewer->model.config;
    const struct family_layout weights = {.rank = 2, .shape = {1, c->n_layer * c->n_head}};
    const struct family_layout bias = {.rank = 1, .shape = {1}};
    const float *number = NULL;
    *head = (struct contact_head){.selection = {.sites = SITE_SET(SITE_WEIGHTS)}};
    if (find(&head->weights, viewer, "weight", &weights, arena, err) ||
        find(&number, viewer, "bias", &bias, arena, err) ||
        selection_layers(&head->selection, "all", c, arena, err))
        return -1;
    head->bias = *number;
    return 0;
}

int contacts_check(const struct tokenized *text, struct err *err)
{
    if (text->count > 2 && text->ids[text->count - 1] == CONTACT_END)
        return 0;
    return err_set(err,
                   "--contacts: expected <cls>, residues and <eos> (id %d), found %zu token%s "
                   "that end%s with id %u: leave out --special, or add both to --ids",
                   CONTACT_END, text->count, num_plural(text->count), text->count == 1 ? "s" : "",
                   (unsigned)text->ids[text->count - 1]);
}

void contacts_add_memory(struct memory *memory, const struct contact_head *head,
                         const struct viewer *viewer, const struct text_with_source *pair)
{
    double cells = (double)pair->text.count * (double)pair->text.count;
    viewer_add_memory(memory, viewer, &head->selection, pair, CAPTURE_NOTHING);
    memory->held += cells * (sizeof(double) + sizeof(float));
}

/* --- a pass ----------------------------------------------------------------------------------- */

struct contact_pass {
    const struct contact_head *head;
    const uint32_t *ids; /* [count] token ids of the residues */
    size_t count;
    double *sums;    /* [count, count] sums of the regression, one for each pair of residues */
    double *margins; /* [count] row sums of a map plus its transpose */
};

/* Add the map of a head to the regression: w · (s - r · rᵀ / Σ r), where s = a + aᵀ without <cls>
 * and <eos>, and r contains the sums of its rows. */
static void add_map(const struct contact_pass *pass, struct tensor map, double weight)
{
    size_t count = pass->count, step = map.stride[0];
    const float *first = map.data + step + map.stride[1];
    double *margins = pass->margins, total = 0;
    for (size_t i = 0; i < count; i++) {
        margins[i] = 0;
        for (size_t k = 0; k < count; k++)
            if (pass->ids[i] != CONTACT_END && pass->ids[k] != CONTACT_END)
                margins[i] += (double)first[i * step + k] + (double)first[k * step + i];
        total += margins[i];
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            bool counts = pass->ids[i] != CONTACT_END && pass->ids[k] != CONTACT_END;
            double both = (double)first[i * step + k] + (double)first[k * step + i];
            pass->sums[i * count + k] +=
                weight * ((counts ? both : 0) - margins[i] * margins[k] / total);
        }
}

static int take_maps(void *context, const struct announcement *seen, struct err *err)
{
    const struct contact_pass *pass = context;
    size_t heads = seen->values.shape[0];
    (void)err;
    for (size_t head = 0; head < heads; head++)
        add_map(pass, tensor_slice(&seen->values, head),
                (double)pass->head->weights[(size_t)seen->layer * heads + head]);
    return 0;
}

/* --- reports ---------------------------------------------------------------------------------- */

static int make_array(struct report *report, const double *sums, float bias, struct arena *arena,
                      struct err *err)
{
    const struct tokenized *text = &report->text;
    size_t count = text->count - 2;
    const struct axis rows = {"residue", count, text->labels + 1, 1};
    const struct axis columns = {"contact", count, text->labels + 1, 1};
    float *values = arena_alloc(arena, count * count, sizeof *values, err);
    for (size_t i = 0; values && i < count * count; i++)
        values[i] = (float)(1 / (1 + exp_double(-(sums[i] + (double)bias))));
    const struct array array = {.name = "contacts",
                                .layer = -1,
                                .rows = rows,
                                .columns = columns,
                                .data = values,
                                .display.fraction = true};
    return values ? report_add_array(report, &array, arena, err) : -1;
}

/* Add a table of the most probable pairs, the most probable first; pairs of equal probability are
 * in the order of their residues. */
static int make_table(struct report *report, size_t top, struct arena *arena, struct err *err)
{
    const struct array *array = report->arrays;
    size_t width = array->columns.size, count = 0;
    size_t *best = arena_alloc(arena, top + 1, sizeof *best, err);
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    if (!best || !table)
        return -1;
    for (size_t cell = 0; cell < width * width; cell++) {
        if (cell % width < cell / width + CONTACT_APART)
            continue;
        size_t at = count;
        for (; at && array->data[best[at - 1]] < array->data[cell]; at--)
            best[at] = best[at - 1];
        best[at] = cell;
        count += count < top;
    }
    struct table_rows rows = {.most = num_max(count, 1), .arena = arena, .err = err};
    for (size_t i = 0; i < count; i++, rows_next(&rows)) {
        size_t row = best[i] / width, column = best[i] % width;
        rows_integer(&rows, "residue", COLUMN_KEY, (long long)row + 1);
        rows_label(&rows, "text", COLUMN_KEY, array->rows.labels[row]);
        rows_integer(&rows, "contact", COLUMN_KEY, (long long)column + 1);
        rows_label(&rows, "contact_text", COLUMN_KEY, array->columns.labels[column]);
        rows_title(&rows, "text");
        rows_float(
            &rows,
            (struct column){"probability", .digits = 4, .flags = COLUMN_COLOURED, .fraction = true},
            (double)array->data[best[i]]);
        rows_text(&rows, "bar", COLUMN_TEXT_ONLY,
                  bar_text((double)array->data[best[i]], arena, err));
        rows_title(&rows, "");
    }
    report->tables = table;
    report->table_count = count > 0;
    if (rows_finish(table, &rows, "pairs", "pair"))
        return -1;
    table->flags = COLUMN_TEXT_ONLY;
    table->heading = arena_format(arena, err,
                                  "the most probable contacts of residues %d or more "
                                  "apart (all pairs: --format csv or svg)",
                                  CONTACT_APART);
    return table->heading ? 0 : -1;
}

int contacts_run(struct viewer *viewer, const struct contact_head *head,
                 const struct capture_request *asked, size_t top, struct arena *arena,
                 struct err *err)
{
    const struct text text = viewer_text(asked->pairs);
    const struct text_list one = {&text, 1, asked->first, NULL};
    size_t count = text.count - 2;
    struct contact_pass pass = {head, text.ids + 1, count,
                                arena_alloc(arena, count * count, sizeof *pass.sums, err),
                                arena_alloc(arena, count, sizeof *pass.margins, err)};
    const struct tap tap = {.sink = take_maps, .context = &pass};
    if (!pass.sums || !pass.margins || viewer_run(viewer, &head->selection, &one, tap, err) ||
        viewer_report(asked->reports, viewer, arena, err))
        return -1;
    asked->reports->text = asked->pairs->text;
    return err_if(make_array(asked->reports, pass.sums, head->bias, arena, err) ||
                  make_table(asked->reports, top, arena, err));
}
