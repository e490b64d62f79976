/* model_distance_report.c: how far two models are from each other, as tables: heads and sites for
 * people, and one table of both in data.
 *
 *     site,layer,head,distance,match,matched_distance,masked_in_one
 *     weights,0,0,0.123,2,0.001,                 heads: Jensen-Shannon distance; the best match
 *     resid_pre,0,,0.054,,,0                     sites: relative difference
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "measure/model_distance.h"
#include "text/label.h"

static size_t head_count(const struct model_distance *distance)
{
    return distance->layers.count * distance->head_count;
}

/* Sites in the order of the pass, each with its layers; false after the last. */
static bool next_site(size_t *index, const struct model_distance *distance)
{
    while (*index < SITE_COUNT * distance->layers.count && !distance->compared[*index])
        ++*index;
    return *index < SITE_COUNT * distance->layers.count;
}

static const struct site_row *site_at(const struct model_distance *distance, size_t index)
{
    return &site_rows[index / distance->layers.count];
}

/* --- data, and the table of heads, which are its first rows ----------------------------------- */

struct lines {
    struct label *labels;
    long long *layers, *heads, *matches, *masked;
    double *distances, *matched;
    size_t count;
};

static int allocate(struct lines *lines, size_t most, struct arena *arena, struct err *err)
{
    *lines = (struct lines){
        .labels = arena_alloc(arena, most, sizeof *lines->labels, err),
        .layers = arena_alloc(arena, most, sizeof *lines->layers, err),
        .heads = arena_alloc(arena, most, sizeof *lines->heads, err),
        .matches = arena_alloc(arena, most, sizeof *lines->matches, err),
        .masked = arena_alloc(arena, most, sizeof *lines->masked, err),
        .distances = arena_alloc(arena, most, sizeof *lines->distances, err),
        .matched = arena_alloc(arena, most, sizeof *lines->matched, err),
    };
    return lines->labels && lines->layers && lines->heads && lines->matches && lines->masked &&
                   lines->distances && lines->matched
               ? 0
               : -1;
}

static void add_head(struct lines *lines, const struct model_distance *distance, size_t index)
{
    const struct head_distance *head = &distance->of_heads[index];
    size_t i = lines->count++;
    lines->labels[i] = (struct label){"weights", "weights", "weights"};
    lines->layers[i] = (long long)distance->layers.items[index / distance->head_count];
    lines->heads[i] = (long long)distance->heads[index % distance->head_count];
    lines->distances[i] = head->distance;
    lines->matches[i] = (long long)distance->heads[head->match];
    lines->matched[i] = head->matched;
    lines->masked[i] = COLUMN_MISSING;
}

static void add_site(struct lines *lines, const struct model_distance *distance, size_t index)
{
    const struct site_row *site = site_at(distance, index);
    size_t layer = distance->layers.items[index % distance->layers.count];
    size_t i = lines->count++;
    lines->labels[i] = (struct label){site->name, site->name, site->name};
    lines->layers[i] = site->in_layer ? (long long)layer : COLUMN_MISSING;
    lines->heads[i] = lines->matches[i] = COLUMN_MISSING;
    lines->distances[i] = distance->of_sites[index];
    lines->matched[i] = NAN;
    lines->masked[i] = (long long)distance->masked_in_one[index];
}

/* Head 1.3 of a is head 1.0 of b: a line for each that has changed places. */
static const char *describe_moved(const struct model_distance *distance, struct arena *arena,
                                  struct err *err)
{
    const struct model_distance_plan *plan = distance->plan;
    const char *names[] = {plan->models[0]->model.name, plan->models[1]->model.name};
    struct buf text = {0};
    for (size_t i = 0; i < head_count(distance); i++) {
        const struct head_distance *head = &distance->of_heads[i];
        size_t layer = distance->layers.items[i / distance->head_count];
        if (head->match == i % distance->head_count || head->matched > MODEL_DISTANCE_SAME)
            continue;
        buf_format(&text, "%sHead %zu.%zu of ", text.size ? "\n" : "", layer,
                   distance->heads[i % distance->head_count]);
        label_line(&text, names[0], strlen(names[0]));
        buf_format(&text, " is head %zu.%zu of ", layer, distance->heads[head->match]);
        label_line(&text, names[1], strlen(names[1]));
    }
    if (text.size)
        return buf_keep(&text, arena, err);
    buf_release(&text);
    return "";
}

static int add_lines(struct frame *data, struct frame *heads, const struct model_distance *distance,
                     struct arena *arena, struct err *err)
{
    struct lines lines;
    size_t count = head_count(distance);
    if (allocate(&lines, count + SITE_COUNT * distance->layers.count, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        add_head(&lines, distance, i);
    for (size_t i = 0; next_site(&i, distance); i++)
        add_site(&lines, distance, i);
    const struct column columns[] = {
        {.name = "site", .kind = COLUMN_LABEL, .flags = COLUMN_KEY, .values = lines.labels},
        {.name = "layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = lines.layers},
        {.name = "head", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = lines.heads},
        {.name = "distance",
         .flags = COLUMN_COLOURED,
         .digits = 4,
         .fraction = true,
         .values = lines.distances},
        {.name = "match", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = lines.matches},
        {.name = "matched_distance", .title = "distance", .digits = 4, .values = lines.matched},
        {.name = "masked_in_one", .kind = COLUMN_INTEGER, .values = lines.masked},
    };
    const char *moved = describe_moved(distance, arena, err);
    *data = (struct frame){
        "distances", {"line", lines.count, lines.labels, 0}, .flags = COLUMN_DATA_ONLY};
    *heads = (struct frame){"heads", {"head", count, lines.labels, 0}, .flags = COLUMN_TEXT_ONLY};
    heads->note = moved && *moved ? moved : NULL;
    return !moved || frame_columns(data, columns, sizeof columns / sizeof *columns, arena, err) ||
                   frame_columns(heads, columns + 1, 5, arena, err)
               ? -1
               : 0;
}

/* --- the table of sites ----------------------------------------------------------------------- */

static const char *describe_sites(const struct model_distance *distance, struct arena *arena,
                                  struct err *err)
{
    size_t layers = distance->layers.count;
    struct buf text = {0};
    buf_text(&text, "heads: Jensen-Shannon distance of attention, 0 to 1, mean over queries\n"
                    "match: the other model's head, one to one, and the distance to it\n"
                    "sites: Euclidean norm of the difference by that of the first, all tokens");
    for (size_t i = 0; next_site(&i, distance); i = (i / layers + 1) * layers) {
        size_t count = 0;
        for (size_t k = i; k < (i / layers + 1) * layers; k++)
            count += distance->masked_in_one[k];
        if (count)
            buf_format(&text,
                       "\n%s: the masks differ: %zu cell%s -inf in only one model and left out",
                       site_at(distance, i)->name, count, count == 1 ? " is" : "s are");
    }
    return buf_keep(&text, arena, err);
}

/* Over a site's layers the mean and the largest, and where that is. */
static int add_sites(struct frame *frame, const struct model_distance *distance,
                     struct arena *arena, struct err *err)
{
    struct lines lines;
    size_t layers = distance->layers.count;
    if (allocate(&lines, SITE_COUNT, arena, err))
        return -1;
    for (size_t i = 0; next_site(&i, distance); i = (i / layers + 1) * layers) {
        const struct site_row *site = site_at(distance, i);
        size_t most = i;
        double sum = 0;
        double count = 0;
        for (size_t k = i; k < (i / layers + 1) * layers; k++) {
            most = distance->of_sites[k] > distance->of_sites[most] ? k : most;
            sum += distance->compared[k] ? distance->of_sites[k] : 0;
            count += distance->compared[k];
        }
        size_t row = lines.count++;
        lines.labels[row] = (struct label){site->name, site->name, site->name};
        lines.distances[row] = sum / count;
        lines.matched[row] = site->in_layer ? distance->of_sites[most] : (double)NAN;
        lines.layers[row] =
            site->in_layer ? (long long)distance->layers.items[most % layers] : COLUMN_MISSING;
    }
    const struct column columns[] = {
        {.name = "site", .kind = COLUMN_LABEL, .flags = COLUMN_KEY, .values = lines.labels},
        {.name = "mean", .digits = 4, .values = lines.distances},
        {.name = "largest", .digits = 4, .values = lines.matched},
        {.name = "in layer", .kind = COLUMN_INTEGER, .values = lines.layers},
    };
    *frame = (struct frame){"sites",
                            {"site", lines.count, lines.labels, 0},
                            .flags = COLUMN_TEXT_ONLY,
                            .note = describe_sites(distance, arena, err)};
    return frame->note ? frame_columns(frame, columns, sizeof columns / sizeof *columns, arena, err)
                       : -1;
}

/* compared with life-causal · 1 text · equal weights */
static const char *describe(const struct model_distance_plan *plan, struct arena *arena,
                            struct err *err)
{
    const char *second = plan->models[1]->model.name;
    struct buf text = {0};
    buf_text(&text, "compared with ");
    label_line(&text, second, strlen(second));
    buf_format(&text, " · %zu text%s%s", plan->pair_count, num_plural(plan->pair_count),
               plan->equal_weights ? " · equal weights" : "");
    return buf_keep(&text, arena, err);
}

int model_distance_report(struct report *report, const struct model_distance *distance,
                          struct arena *arena, struct err *err)
{
    const struct model_distance_plan *plan = distance->plan;
    struct frame *frames = arena_alloc(arena, 3, sizeof *frames, err);
    struct facts *facts = facts_new(arena, err);
    if (!frames || !facts || add_lines(&frames[0], &frames[1], distance, arena, err) ||
        add_sites(&frames[2], distance, arena, err))
        return -1;
    facts_text(facts, "second_model", plan->models[1]->model.name);
    facts_integer(facts, "texts", (long long)plan->pair_count);
    facts_integer(facts, "equal_weights", plan->equal_weights);
    *report = (struct report){.model = plan->models[0]->model.name,
                              .frames = frames,
                              .frame_count = 3,
                              .facts = &facts->frame,
                              .about = describe(plan, arena, err)};
    return report->about ? 0 : -1;
}
