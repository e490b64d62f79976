/* json_report.c: everything of a sentence as one JSON object; json and jsonl.
 *
 * `json` breaks lines between members and between the rows of a matrix, so that it can be read and
 * compared; several sentences make an array. `jsonl` has a line for each sentence and no break in
 * it.
 */
#include "write/format.h"
#include "write/json_origin.h"

static const float *put_matrix(struct json_writer *json, const char *name, const float *values,
                               const size_t shape[2])
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < shape[0]; i++, values += shape[1])
        json_put_floats(json, i ? "\n " : NULL, values, shape[1]);
    json_put_close(json, ']');
    return values;
}

static void put_tensor(struct json_writer *json, const struct kept *kept)
{
    char name[SITE_NAME_BYTES];
    const float *values = kept->data;
    kept_name(name, kept);
    if (kept->rank == 2) {
        put_matrix(json, name, values, kept->shape);
        return;
    }
    json_put_open(json, name, '[');
    for (size_t i = 0; i < kept->shape[0]; i++)
        values = put_matrix(json, i ? "\n " : NULL, values, kept->shape + 1);
    json_put_close(json, ']');
}

static void write_object(struct stream *out, const struct report *report, const struct place *place,
                         bool one_line)
{
    struct json_writer json = {.stream = out, .one_line = one_line};
    json_put_open(&json, NULL, '{');
    if (place->first_members)
        stream_text(out, place->first_members);
    json_origin_write(&json, report);
    json_put_open(&json, "\n tensors", '{');
    for (size_t i = 0; i < report->tensor_count; i++) {
        if (i > 0)
            json_put_gap(&json, "\n ");
        put_tensor(&json, &report->tensors[i]);
    }
    json_put_close(&json, '}');
    json_put_close(&json, '}');
}

int json_report_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    (void)err; /* what can fail here sticks to the stream */
    bool several = place->count > 1;
    if (several)
        stream_text(out, place->index == 0 ? "[" : ",\n");
    write_object(out, report, place, false);
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
    write_object(out, report, place, true);
    stream_char(out, '\n');
    return 0;
}
