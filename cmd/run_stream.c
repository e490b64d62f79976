/* run_stream.c: runs a long text, whose attention maps are written while its passes run. */
#include "driver.h"
#include "run.h"

struct streamed {
    const struct group *group;
    struct report whole; /* the report of all maps, without values */
    struct writer writer;
};

/* Write the next attention maps. Before the first map, write the beginning of the result. */
static int take_maps(void *context, const struct report *whole, struct report *part,
                     struct arena *arena, struct err *err)
{
    struct streamed *streamed = context;
    const struct group *group = streamed->group;
    const struct tokenizer *tokenizer = group->viewer->tokenizer;
    struct driver *driver = group->driver;
    struct output *output = &driver->output;
    if (!streamed->writer.format) {
        struct report *first = &streamed->whole;
        const struct target target = output_target(output);
        *first = *whole;
        if (derive(first, &driver->derivation, tokenizer, group->arena, err) ||
            driver_identify(driver, group->jobs[0], &first->identity, group->arena, err) ||
            output_open(output, err) ||
            writer_begin(&streamed->writer, output->format, &target, first, &driver->layout, err))
            return -1;
    }
    if (derive(part, &driver->derivation, tokenizer, arena, err))
        return -1;
    for (size_t i = 0; i < array_matrix_count(part->arrays); i++) { /* `part` contains one tensor */
        struct sheet sheet = array_matrix(part, part->arrays, i);
        if (writer_sheet(&streamed->writer, &sheet, err))
            return -1;
    }
    return 0;
}

bool run_streams(const struct driver *driver, const struct selection *selection,
                 const struct text_with_source *pair)
{
    const struct derivation *how = &driver->derivation;
    const struct capture_request asked = {.selection = selection, .pairs = pair, .count = 1};
    return !driver->is_batch && driver->output.format->sheet && !how->mean_of_heads &&
           !how->mean_of_layers && !how->mean_of_texts && !how->stats && !how->head_count &&
           viewer_goes_by_map(&driver->session.viewer, &asked);
}

int run_stream(const struct group *group, const struct selection *selection, struct err *err)
{
    struct job *job = group->jobs[0];
    struct streamed streamed = {.group = group};
    const struct capture_request asked = {selection,   &job->pair,   1,
                                          job->number, &job->report, NULL};
    int failed =
        viewer_capture_by_map(group->viewer, &asked, take_maps, &streamed, group->arena, err) ||
        writer_end(&streamed.writer, err);
    writer_release(&streamed.writer);
    job->is_written = true;
    return err_if(failed);
}
