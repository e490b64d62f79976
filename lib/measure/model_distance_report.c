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

enum { SITE, LAYER, HEAD, DISTANCE, MATCH, MATCHED, MASKED, COLUMNS };

static const struct column columns[COLUMNS] = {
    [SITE] = {"site", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
    [LAYER] = {"layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [HEAD] = {"head", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [DISTANCE] = {"distance", .flags = COLUMN_COLOURED, .digits = 4, .fraction = true},
    [MATCH] = {"match", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [MATCHED] = {"matched_distance", "distance", .digits = 4},
    [MASKED] = {"masked_in_one", .kind = COLUMN_INTEGER},
};

static void fill_head(struct frame *frame, size_t row, const struct model_distance *distance)
{
    const struct head_distance *head = &distance->of_heads[row];
    frame_labels(frame, SITE)[row] = (struct label){"weights", "weights", "weights"};
    frame_integers(frame, LAYER)[row] =
        (long long)distance->layers.items[row / distance->head_count];
    frame_integers(frame, HEAD)[row] = (long long)distance->heads[row % distance->head_count];
    frame_floats(frame, DISTANCE)[row] = head->distance;
    frame_integers(frame, MATCH)[row] = (long long)distance->heads[head->match];
    frame_floats(frame, MATCHED)[row] = head->matched;
    frame_integers(frame, MASKED)[row] = COLUMN_MISSING;
}

static void fill_site(struct frame *frame, size_t row, const struct model_distance *distance,
                      size_t index)
{
    const struct site_row *site = site_at(distance, index);
    size_t layer = distance->layers.items[index % distance->layers.count];
    frame_labels(frame, SITE)[row] = (struct label){site->name, site->name, site->name};
    frame_integers(frame, LAYER)[row] = site->in_layer ? (long long)layer : COLUMN_MISSING;
    frame_integers(frame, HEAD)[row] = frame_integers(frame, MATCH)[row] = COLUMN_MISSING;
    frame_floats(frame, DISTANCE)[row] = distance->of_sites[index];
    frame_floats(frame, MATCHED)[row] = NAN;
    frame_integers(frame, MASKED)[row] = (long long)distance->masked_in_one[index];
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
    size_t count = head_count(distance);
    size_t most = count + SITE_COUNT * distance->layers.count;
    const char *moved = describe_moved(distance, arena, err);
    *data = (struct frame){"distances", {"line", most, NULL, 0}, .flags = COLUMN_DATA_ONLY};
    if (!moved || frame_columns(data, columns, COLUMNS, arena, err))
        return -1;
    data->rows.labels = frame_labels(data, SITE);
    for (data->rows.size = 0; data->rows.size < count; data->rows.size++)
        fill_head(data, data->rows.size, distance);
    for (size_t i = 0; next_site(&i, distance); i++)
        fill_site(data, data->rows.size++, distance, i);
    *heads = (struct frame){"heads",
                            {"head", count, data->rows.labels, 0},
                            .flags = COLUMN_TEXT_ONLY,
                            .note = *moved ? moved : NULL};
    return frame_columns(heads, data->columns + LAYER, MASKED - LAYER, arena, err);
}

/* --- the table of sites ----------------------------------------------------------------------- */

static const char *describe_sites(const struct model_distance *distance, struct arena *arena,
                                  struct err *err)
{
    size_t layers = distance->layers.count;
    struct buf text = {0};
    buf_text(&text,
             "heads: Jensen-Shannon distance of attention, 0 to 1, mean over queries\n"
             "match: the other model's head, one to one, and the distance to it\n"
             "sites: norm of the difference, divided by the norm of the first model's values");
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
    enum { OF, MEAN, LARGEST, WHERE };
    static const struct column shown[] = {
        [OF] = {"site", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
        [MEAN] = {"mean", .digits = 4},
        [LARGEST] = {"largest", .digits = 4},
        [WHERE] = {"in layer", .kind = COLUMN_INTEGER},
    };
    size_t layers = distance->layers.count;
    size_t row = 0;
    *frame = (struct frame){"sites",
                            {"site", SITE_COUNT, NULL, 0},
                            .flags = COLUMN_TEXT_ONLY,
                            .note = describe_sites(distance, arena, err)};
    if (!frame->note || frame_columns(frame, shown, sizeof shown / sizeof *shown, arena, err))
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
        frame_labels(frame, OF)[row] = (struct label){site->name, site->name, site->name};
        frame_floats(frame, MEAN)[row] = sum / count;
        frame_floats(frame, LARGEST)[row] = site->in_layer ? distance->of_sites[most] : (double)NAN;
        frame_integers(frame, WHERE)[row++] =
            site->in_layer ? (long long)distance->layers.items[most % layers] : COLUMN_MISSING;
    }
    frame->rows.labels = frame_labels(frame, OF);
    frame->rows.size = row;
    return 0;
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
