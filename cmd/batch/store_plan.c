#include "store_plan.h"

#include <string.h>
#include <sys/stat.h>

#include "../instrument.h"
#include "../output.h"

enum { PAGE_COLUMNS = 80 };

static const struct format *find_format(const char *name, struct err *err)
{
    const struct format_table table = FORMAT_TABLE(format_rows, format_count);
    size_t index = 0;
    return format_choose_name(&index, &table, name, err) ? NULL : &format_rows[index];
}

static int choose_format(struct store_plan *plan, struct err *err)
{
    const char *output = plan->options->output.path;
    const char *name = plan->options->output.format ? plan->options->output.format : "jsonl";
    const struct format_table table = FORMAT_TABLE(format_rows, format_count);
    size_t index = 0;
    if (!plan->options->output.format && !plan->to_stdout && !plan->in_folder &&
        format_find_ending(&index, &table, output))
        name = format_rows[index].name;
    plan->format = find_format(name, err);
    if (!plan->format)
        return -1;
    plan->kind = strcmp(name, "jsonl") == 0 ? STORE_LINES : STORE_ITEMS;
    if (plan->kind == STORE_ITEMS && !plan->in_folder)
        return err_usage(
            err, "--format %s: many items in one place are jsonl: give a folder (-o DIR/)", name);
    return 0;
}

static bool is_device(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static int check_resumable(const struct store_plan *plan, struct err *err)
{
    const struct options *options = plan->options;
    const char *needs = options->batch.resume ? "resume" : options->batch.shard ? "shard" : NULL;
    if (options->batch.resume && options->output.force)
        return err_usage(err, "--resume, --force: expected one of them, found both");
    if (plan->to_stdout && needs)
        return err_usage(err, "--%s: expected results in a place of their own: give -o", needs);
    return 0;
}

int store_choose(struct store_plan *plan, const struct options *options, struct err *err)
{
    const char *output = options->output.path;
    *plan = (struct store_plan){.options = options};
    plan->instrument = instrument_find(options_instrument(options));
    if (output && !*output)
        return err_usage(err, "--output: expected a path, found ''");
    plan->to_stdout = output_is_standard(output) || is_device(output);
    plan->in_folder = !plan->to_stdout && work_folder_is_folder(output);
    if (check_resumable(plan, err) || shard_read(&plan->shard, options->batch.shard, err))
        return -1;
    return choose_format(plan, err);
}

const struct format *store_format(const struct store_plan *plan, const struct options *item,
                                  struct err *err)
{
    const struct format *format =
        item->output.format ? find_format(item->output.format, err) : plan->format;
    if (!format)
        return NULL;
    if (plan->kind == STORE_LINES && format != plan->format)
        err_usage(err,
                  "--format %s: many items in one place are jsonl: give all of them a folder "
                  "and a format (-o DIR/ --format %s)",
                  format->name, format->name);
    else if (plan->instrument && plan->kind == STORE_ITEMS && !format_is_of_numbers(format))
        err_usage(err,
                  "--format %s: expected one of csv, tidy, npy, safetensors and pictures "
                  "for files of --do %s",
                  format->name, plan->options->batch.instrument);
    else if (!format->check || !format->check(err))
        return format;
    return NULL;
}

struct place store_page(const struct options *options)
{
    return (struct place){
        .count = 1,
        .columns = options->looks.full    ? 0
                   : options->looks.width ? (size_t)options->looks.width
                                          : PAGE_COLUMNS,
        .lines = page_lines(&options->looks),
        .provenance = provenance_here(),
    };
}
