#include "bench_growth.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/stream.h"
#include "bench/growth.h"
#include "draw/drawing.h"
#include "format_choice.h"
#include "mechanism_options.h"
#include "progress.h"

enum { ROUNDS = 5 };

static const struct form {
    const char *name, *ending;
    bool for_files, is_picture, needs_cairo;
    int (*write)(struct stream *out, const struct growth *growth, struct err *err);
} forms[] = {
    {"text", ".txt", false, false, false, growth_page_write},
    {"json", ".json", false, false, false, growth_json_write},
    {"svg", ".svg", false, true, false, growth_svg_write},
    {"png", ".png", true, true, true, growth_png_write},
    {"pdf", ".pdf", true, true, true, growth_pdf_write},
};

enum { FORMS = sizeof forms / sizeof *forms };

/* --json or --format, else the ending of -o, else text for people. */
static const struct form *find_form(const struct options *options, struct err *err)
{
    static const struct format_table table = FORMAT_TABLE(forms, FORMS);
    size_t index = 0;
    const char *name = options->json ? "json" : options->format;
    return format_choose(&index, &table, name, options->output, err) ? NULL : &forms[index];
}

int bench_growth_check(const struct options *options, struct err *err)
{
    const char *other = options->only        ? "only"
                        : options->save      ? "save"
                        : options->precision ? "precision"
                                             : NULL;
    if (other)
        return err_usage(err,
                         "--%s: expected no --attention beside it, which measures attention "
                         "alone",
                         other);
    const struct form *form = find_form(options, err);
    if (!form)
        return -1;
    return form->needs_cairo ? drawing_check(err) : 0;
}

/* 512 tokens, window:64 */
static void show_progress(void *context, const struct growth_progress *here)
{
    struct buf note = {0};
    buf_format(&note, "%zu tokens, %s", here->length, here->way);
    progress_show(context, here->done, here->count, note.bytes);
    buf_release(&note);
}

static int write_growth(const struct options *options, const struct growth *growth, struct err *err)
{
    struct stream out = {0};
    const struct form *form = find_form(options, err);
    int failed = format_open_output(&out, options->output, err) || form->write(&out, growth, err) ||
                 stream_commit(&out, err);
    stream_discard(&out);
    return failed ? -1 : 0;
}

/* A picture needs a line. */
static int check_lengths(const struct options *options, const struct growth_plan *plan,
                         struct err *err)
{
    const struct form *form = find_form(options, err);
    for (size_t i = 1; i < plan->length_count; i++)
        if (plan->lengths[i] <= plan->lengths[i - 1])
            return err_usage(err, "--tokens: expected rising lengths, found %zu after %zu",
                             plan->lengths[i], plan->lengths[i - 1]);
    if (form->is_picture && plan->length_count == 1)
        return err_usage(err, "--tokens: expected at least two lengths for a picture, found one");
    return 0;
}

int bench_growth(const struct options *options, const struct folder *folder, const size_t *lengths,
                 size_t length_count, struct err *err)
{
    struct arena arena = {0};
    struct growth growth;
    struct mechanism *ways = NULL;
    struct progress progress;
    struct growth_plan plan = {
        .folder = folder,
        .threads = (size_t)options->threads,
        .rounds = options->repeat ? (size_t)options->repeat : ROUNDS,
        .lengths = lengths,
        .length_count = length_count,
        .progress = show_progress,
        .progress_context = &progress,
    };
    int failed = mechanism_options_list(&ways, &plan.way_count, options, &arena, err) ||
                 check_lengths(options, &plan, err);
    plan.ways = ways;
    progress_begin(&progress, options, NULL);
    failed = failed || growth_measure(&growth, &plan, &arena, err);
    progress_end(&progress);
    failed = failed || write_growth(options, &growth, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
