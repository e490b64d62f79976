/* json_report.c: everything of a sentence as one JSON object; json and jsonl.
 *
 * `json` breaks lines between members and between the rows of a matrix, so that it can be read and
 * compared; several sentences make an array. `jsonl` has a line for each sentence and no break in
 * it.
 */
#include "format/json_writer.h"
#include "write/format.h"
#include "write/json_origin.h"

static const float *write_matrix(struct stream *out, const float *values, const size_t shape[2],
                                 const char *gap)
{
    stream_char(out, '[');
    for (size_t i = 0; i < shape[0]; i++) {
        if (i > 0)
            stream_format(out, ",%s", gap);
        json_write_floats(out, values, shape[1]);
        values += shape[1];
    }
    stream_char(out, ']');
    return values;
}

static void write_tensor(struct stream *out, const struct kept *kept, const char *gap)
{
    if (kept->rank == 2) {
        write_matrix(out, kept->data, kept->shape, gap);
        return;
    }
    const float *values = kept->data;
    stream_char(out, '[');
    for (size_t i = 0; i < kept->shape[0]; i++) {
        if (i > 0)
            stream_format(out, ",%s", gap);
        values = write_matrix(out, values, kept->shape + 1, gap);
    }
    stream_char(out, ']');
}

static void write_object(struct stream *out, const struct report *report, const struct place *place,
                         const char *gap)
{
    stream_char(out, '{');
    if (place->first_members)
        stream_text(out, place->first_members);
    json_origin_write(out, report, gap);
    stream_format(out, ",%s\"tensors\": {", gap);
    for (size_t i = 0; i < report->tensor_count; i++) {
        const struct kept *kept = &report->tensors[i];
        char name[SITE_NAME_BYTES];
        if (i > 0)
            stream_format(out, ",%s", gap);
        stream_format(out, "\"%s\": ", kept_name(name, kept));
        write_tensor(out, kept, gap);
    }
    stream_text(out, "}}");
}

int json_report_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    (void)err; /* what can fail here sticks to the stream */
    bool several = place->count > 1;
    if (several)
        stream_text(out, place->index == 0 ? "[" : ",\n");
    write_object(out, report, place, "\n ");
    if (several && place->index + 1 == place->count)
        stream_char(out, ']');
    if (!several || place->index + 1 == place->count)
        stream_char(out, '\n');
    return 0;
}

int jsonl_report_write(struct stream *out, const struct report *report, const struct place *place,
                       struct err *err)
{
    (void)err;
    write_object(out, report, place, " ");
    stream_char(out, '\n');
    return 0;
}
