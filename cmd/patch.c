/* patch.c: `attn-cli patch`: which part of a model carries an answer: values of one text's run are
 * put into another's. */
#include <string.h>

#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "instrument.h"

VALUES(patches, "Patches", PATCH_OVERS, patch_overs[index].name, patch_overs[index].about)

VALUES(numbers, NULL, PATCH_NUMBERS, patch_numbers[index].name, patch_numbers[index].about)

static const struct option_row own_options[] = {
    STRING("clean", 0, "TEXT", IN(patch.clean), "text that contains the information",
           .heading = "Patching", .flags = OPTION_NOT_BATCH),
    STRING("corrupt", 0, "TEXT", IN(patch.corrupt), "text of the same length without it",
           .flags = OPTION_FIXED),
    STRING("file", 'f', "FILE", IN(input.file),
           "pairs of texts: CSV or JSONL with the columns clean and corrupt; - is standard input",
           .flags = OPTION_FIXED),
    FLAG("ids", 0, IN(tokens.only_ids), "--clean and --corrupt are token ids: 0,4,5",
         .flags = OPTION_NOT_BATCH),
    STRING("answer", 0, "TOKEN", IN(attribute.answer),
           "explain this token's logit, or the difference of two: ' Mary: John' (default: the most "
           "likely token)"),
    STRING("position", 0, "N", IN(attribute.position),
           "index of the token before the answer; -1 is the last (default)"),
    STRING("over", 0, "WHAT", IN(patch.over), "values to patch (default: heads; see Patches below)",
           .values = &values_patches),
    STRING("path", 0, "FROM:TO", IN(patch.path),
           "patch one path: 9.6:10.0.q (or .k, .v), 9.6:logits; without FROM: all heads"),
    FLAG("noise", 0, IN(patch.noise),
         "patch corrupt values into the clean run (default: clean into corrupt)"),
    STRING("show", 0, "NUMBER", IN(select.show),
           "fraction of the answer restored, or logit (default: fraction; data formats have both)",
           .values = &values_numbers),
    STRING("mean", 0, "texts", IN(select.mean), "texts: average over the pairs of --file",
           .flags = OPTION_NOT_BATCH),
    {0},
};

const struct command command_patch = {
    .name = "patch",
    .group = "Analyse",
    .about = "activation patching between two prompts",
    .operands = "",
    .examples =
        "attn-cli patch --clean \"The keys to the cabinet\" --corrupt \"The key to the cabinet\"\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --answer \" are: is\" --noise\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --over resid_pre -o patch.svg\n"
        "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --path :1.3.v\n"
        "attn-cli patch -f data/experiments/pairs.csv --mean texts\n",
    .task = &patch_task,
    .run = patch_command,
    .options = own_options,
    .shared = {{text_options, "sentence document ids source words"},
               {model_options, NULL},
               {mechanism_options, NULL},
               {edit_options, "from"},
               {output_options, NULL},
               {terminal_options, NULL},
               {figure_options, NULL},
               {running_options, NULL}},
    .reads_texts = true,
};

/* --- options ---------------------------------------------------------------------------------- */

static int read_over(struct patching_plan *plan, const struct options *options, struct err *err)
{
    const char *name = options->patch.over;
    size_t index = PATCH_HEADS;
    if (name && names_choose(&index, NAMES(patch_overs, PATCH_OVERS), "--over", name, err))
        return -1;
    plan->over = (enum patch_over)index;
    plan->noise = options->patch.noise;
    if (options->patch.path && name && index != PATCH_PATHS)
        return err_usage(err, "--path: expected --over paths, found '%s'", name);
    if (options->patch.path)
        plan->over = PATCH_PATHS;
    if (plan->over == PATCH_PATHS && edit_options_are_given(&options->edit))
        return err_usage(err, "--over paths cannot be combined with --edit, --ablate or "
                              "--knockout: other heads keep their values; use --over heads");
    return 0;
}

/* `9.6` */
static int read_head(size_t *layer, size_t *head, const char *text, size_t size, size_t heads,
                     const struct config *config, struct err *err)
{
    const char *dot = memchr(text, '.', size);
    size_t first = dot ? (size_t)(dot - text) : size;
    if (!dot)
        return err_usage(err, "--path: expected LAYER.HEAD as 9.6, found '%.*s'", (int)size, text);
    if (!selection_index(layer, text, first, config->n_layer))
        return err_usage(err, "--path: expected a layer from 0 to %zu, found '%.*s'",
                         config->n_layer - 1, (int)first, text);
    if (!selection_index(head, dot + 1, size - first - 1, heads) && heads < config->n_head)
        return err_usage(err,
                         "--path: expected a key/value head from 0 to %zu, found '%.*s': the model "
                         "has %zu key/value heads, each shared by %zu query heads",
                         heads - 1, (int)(size - first - 1), dot + 1, heads,
                         config->n_head / heads);
    if (!selection_index(head, dot + 1, size - first - 1, heads))
        return err_usage(err, "--path: expected a head from 0 to %zu, found '%.*s'", heads - 1,
                         (int)(size - first - 1), dot + 1);
    return 0;
}

/* `10.0.q`, or `logits` */
static int read_receiver(struct patch_path *path, const char *text, const struct config *config,
                         struct err *err)
{
    static const char *const names[] = {"q", "k", "v"};
    const char *dot = strrchr(text, '.');
    size_t index = 0;
    path->to = SITE_LOGITS;
    if (strcmp(text, "logits") == 0)
        return 0;
    if (!dot || !names_find(&index, NAMES_LIST(names), dot + 1, strlen(dot + 1)))
        return err_usage(
            err, "--path: expected logits, or LAYER.HEAD and .q, .k or .v, as 10.0.q, found '%s'",
            text);
    path->to = (enum site)(SITE_Q + index);
    return read_head(&path->to_layer, &path->to_head, text, (size_t)(dot - text),
                     path->to == SITE_Q ? config->n_head : config->n_kv_head, config, err);
}

static int read_path(struct patching_plan *plan, const struct options *options, struct err *err)
{
    const struct config *config = &plan->viewer->model.config;
    struct patch_path *path = &plan->path;
    const char *from = options->patch.path ? options->patch.path : ":";
    size_t size = strcspn(from, ":");
    if (!from[size])
        return err_usage(err, "--path: expected FROM:TO as 9.6:10.0.q or 9.6:logits, found '%s'",
                         from);
    const char *to = from[size + 1] ? from + size + 1 : "logits";
    path->has_sender = size > 0;
    if (read_receiver(path, to, config, err) ||
        (size &&
         read_head(&path->from_layer, &path->from_head, from, size, config->n_head, config, err)))
        return -1;
    if (path->to != SITE_LOGITS && path->from_layer >= path->to_layer)
        return err_usage(
            err, "--path: expected a receiver in a layer after the sender's, %zu, found %zu",
            path->from_layer, path->to_layer);
    return 0;
}

/* The corrupt text takes the place that a source has in other models. */
static int read_corrupt(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const struct options *options = inquiry->options;
    const char *text = options->patch.corrupt;
    struct input input = {
        .text = options->input.ids ? NULL : text, .size = text ? strlen(text) : 0, .ids = text};
    struct text_pair corrupt;
    if (!text)
        return err_usage(err, "expected --corrupt TEXT or a column 'corrupt', found none");
    if (input_wrap(&input, inquiry->viewer->chat, arena, err) ||
        viewer_read(inquiry->viewer, &corrupt, &input, NULL, arena, err))
        return err_prefix(err, "--corrupt");
    inquiry->pair->source = corrupt.sentence;
    return patching_check_texts(&inquiry->pair->sentence, &inquiry->pair->source, err);
}

static int ask(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    struct patching_plan *plan = &inquiry->plan;
    plan->viewer = inquiry->viewer;
    return read_over(plan, inquiry->options, err) ||
                   inquiry_numbers(inquiry, NAMES(patch_numbers, PATCH_NUMBERS), err) ||
                   read_path(plan, inquiry->options, err) ||
                   (inquiry->pair && read_corrupt(inquiry, arena, err))
               ? -1
               : 0;
}

/* logit difference ␣Mary - ␣John after ␣to: clean 3.5512, corrupt -1.2003 */
static int describe(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    const struct patching *found = &inquiry->patching;
    struct facts *facts = facts_new(arena, err);
    if (!facts)
        return -1;
    facts_text(facts, "over", patch_overs[found->plan->over].name);
    facts_text(facts, "patched", found->plan->noise ? "clean" : "corrupt");
    const char *logit = inquiry_describe(inquiry, &patch_instrument, facts, arena, err);
    if (!logit)
        return -1;
    facts_float(facts, "clean", found->clean);
    facts_float(facts, "corrupt", found->corrupt);
    inquiry->report.facts = &facts->frame;
    inquiry->report.about = arena_format(arena, err, "%s%s: clean %.4f, corrupt %.4f",
                                         found->plan->noise ? "corrupt into clean · " : "", logit,
                                         found->clean, found->corrupt);
    return inquiry->report.about ? 0 : -1;
}

static int find(struct inquiry *inquiry, struct arena *arena, struct err *err)
{
    struct patching_plan *plan = &inquiry->plan;
    plan->viewer = inquiry->viewer;
    plan->clean = &inquiry->pair->sentence;
    plan->corrupt = &inquiry->pair->source;
    plan->position = inquiry->position;
    plan->answer = inquiry->answer;
    plan->against = inquiry->against;
    if (patching_make(&inquiry->patching, plan, arena, err) ||
        patching_report(&inquiry->report, &inquiry->patching, inquiry->numbers, &inquiry->origin,
                        arena, err))
        return -1;
    inquiry->answer = inquiry->patching.answer;
    return describe(inquiry, arena, err);
}

const struct instrument patch_instrument = {
    .task = &patch_task,
    .answer = "--answer",
    .soft_cap = "after",
    .ask = ask,
    .find = find,
};

/* --- means over pairs ------------------------------------------------------------------------- */

/* Labels of all pairs: positions in place of tokens. */
static int label_axis(struct axis *axis, int layer, struct arena *arena, struct err *err)
{
    const struct label *numbers = labels_of_numbers(axis->first + axis->size, arena, err);
    axis->labels = numbers ? numbers + axis->first : NULL;
    if (numbers && layer >= 0 && strcmp(axis->name, "head") == 0)
        return axis_of_heads(axis, (size_t)layer, axis->size, arena, err);
    return numbers ? 0 : -1;
}

static int begin_mean(struct patch_mean *mean, const struct inquiry *inquiry, struct err *err)
{
    const struct report *report = &inquiry->report;
    const char *mechanism = report->mechanism;
    struct arena *arena = mean->arena;
    mean->noise = inquiry->plan.noise;
    mean->report = (struct report){.model = inquiry->viewer->model.name,
                                   .precision = report->precision,
                                   .tensor_count = report->tensor_count,
                                   .has_encoder = true};
    if (mechanism)
        mean->report.mechanism = arena_text(arena, mechanism, strlen(mechanism), err);
    mean->sheets = arena_alloc(arena, report->tensor_count, sizeof *mean->sheets, err);
    mean->sums = arena_alloc(arena, report->tensor_count, sizeof *mean->sums, err);
    if (!mean->sheets || !mean->sums || (mechanism && !mean->report.mechanism))
        return -1;
    for (size_t i = 0; i < report->tensor_count; i++) {
        const struct kept *kept = &report->tensors[i];
        struct sheet *sheet = &mean->sheets[i];
        *sheet = *kept->made;
        mean->sums[i] = arena_alloc(arena, kept_cells(kept), sizeof **mean->sums, err);
        if (!mean->sums[i] || label_axis(&sheet->rows, sheet->layer, arena, err) ||
            label_axis(&sheet->columns, sheet->layer, arena, err))
            return -1;
    }
    return 0;
}

int patch_mean_add(struct patch_mean *mean, const struct inquiry *inquiry, struct err *err)
{
    if (!mean->count && begin_mean(mean, inquiry, err))
        return -1;
    for (size_t i = 0; i < mean->report.tensor_count; i++) {
        const struct kept *kept = &inquiry->report.tensors[i];
        const struct axis *tokens = &mean->sheets[i].columns;
        if (kept->made->columns.size != tokens->size)
            return err_usage(err,
                             "--mean texts: expected pairs of %zu tokens, as the first, found %zu "
                             "in pair %zu: --over heads takes the mean of pairs of any length",
                             tokens->size, kept->made->columns.size, inquiry->number);
        for (size_t k = 0; k < kept_cells(kept); k++)
            mean->sums[i][k] += (double)kept->data[k];
    }
    mean->clean += inquiry->patching.clean;
    mean->corrupt += inquiry->patching.corrupt;
    mean->count++;
    return 0;
}

int patch_mean_report(struct report *report, struct patch_mean *mean, struct err *err)
{
    struct arena *arena = mean->arena;
    double count = (double)mean->count;
    struct facts *facts = facts_new(arena, err);
    struct kept *kept = arena_alloc(arena, mean->report.tensor_count, sizeof *kept, err);
    if (!facts || !kept)
        return -1;
    for (size_t i = 0; i < mean->report.tensor_count; i++) {
        struct sheet *sheet = &mean->sheets[i];
        size_t cells = sheet->rows.size * sheet->columns.size;
        float *values = arena_alloc(arena, cells, sizeof *values, err);
        for (size_t k = 0; values && k < cells; k++)
            values[k] = (float)(mean->sums[i][k] / count);
        if (!values)
            return -1;
        sheet->values = values;
        kept[i] = kept_made(sheet);
    }
    facts_text(facts, "patched", mean->noise ? "clean" : "corrupt");
    facts_integer(facts, "pairs", (long long)mean->count);
    facts_float(facts, "clean", mean->clean / count);
    facts_float(facts, "corrupt", mean->corrupt / count);
    *report = mean->report;
    report->tensors = kept;
    report->facts = &facts->frame;
    report->about =
        arena_format(arena, err, "%smean of %zu pair%s: clean %.4f, corrupt %.4f",
                     mean->noise ? "corrupt into clean · " : "", mean->count,
                     num_plural(mean->count), mean->clean / count, mean->corrupt / count);
    return report->about ? 0 : -1;
}

/* --- the command ------------------------------------------------------------------------------ */

/* The clean text is the command's only text, or those of a file are. */
int patch_command(const struct options *options, struct err *err)
{
    struct options own = *options;
    const char *clean = options->patch.clean;
    if (options->input.operands.count)
        return err_usage(err, "expected --clean TEXT and --corrupt TEXT, found the operand '%s'",
                         options->input.operands.items[0]);
    if (options->input.file && (clean || options->patch.corrupt || options->tokens.only_ids))
        return err_usage(err, "--file and --%s cannot be combined",
                         clean                    ? "clean"
                         : options->patch.corrupt ? "corrupt"
                                                  : "ids");
    if (!options->input.file && !clean)
        return err_usage(err, "expected --clean TEXT, found none");
    if (options->tokens.only_ids)
        own.input.ids = clean;
    else if (clean)
        own.input.sentences = (struct texts){&own.patch.clean, 1};
    return driver_do(&patch_task, &own, err);
}
