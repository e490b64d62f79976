#include "result_files.h"

#include <stdio.h>
#include <string.h>

#include "lens/measure.h"

static const char lines_name[] = "results.jsonl";
static const char sums_name[] = "sums";
static const char single_name[] = "result";

static bool only(struct result_file *file, const char *name, unsigned measures,
                 const struct measured_form *form, size_t *at)
{
    snprintf(file->name, sizeof file->name, "%s", name);
    file->measures = measures;
    file->form = form;
    return (*at)++ == 0;
}

/* entropy.csv */
static bool next_of_folder(struct result_file *file, unsigned measures, size_t *at)
{
    for (; *at < MEASURE_COUNT * measured_form_count; ++*at) {
        size_t measure = *at / measured_form_count;
        const struct measured_form *form = &measured_forms[*at % measured_form_count];
        if (!form->in_folder || !(measures >> measure & 1))
            continue;
        snprintf(file->name, sizeof file->name, "%s%s", measure_rows[measure].name, form->ending);
        file->measures = 1u << measure;
        file->form = form;
        ++*at;
        return true;
    }
    return false;
}

bool result_files_next(struct result_file *file, const struct store_plan *plan, unsigned measures,
                       size_t *at)
{
    if (plan->kind == STORE_ITEMS)
        return false;
    if (plan->kind == STORE_LINES)
        return only(file, lines_name, 0, NULL, at);
    if (plan->shard.count)
        return only(file, sums_name, measures, NULL, at);
    if (plan->form)
        return only(file, single_name, measures, plan->form, at);
    return next_of_folder(file, measures, at);
}

bool result_files_have(const char *name)
{
    struct result_file file;
    for (size_t i = 0; next_of_folder(&file, ~0u, &i);)
        if (strcmp(file.name, name) == 0)
            return true;
    return strcmp(name, lines_name) == 0 || strcmp(name, sums_name) == 0 ||
           strcmp(name, single_name) == 0;
}
