/* json_report.h: the result as JSON, data/schemas/result.json, and its parts that other documents
 * have, too: the manifest of a folder, explanations.
 *
 *     {"format": "attn-cli/result/2", "command": "run", "model": "life",
 *      "provenance": {"version": "0.1.0", "command_line": "attn-cli run 'Life is'", …},
 *      "sentence": "Life is", "tokens": [{"id": 0, "text": "Life", "start": 0, "end": 4}, …],
 *      "tensors": {"h.0.weights": [[[1, 0], [0.5, 0.5]]]}}
 *
 * `source` is there for cross-attention, `heads` when heads were selected, `"mean": ["heads",
 * "layers"]` and the `layers` of means, `words` where axes count those, `first_shown` where the
 * first token is on no axis, "precision": "bf16" and "mechanism": "attention window:4" where they
 * are not the model's own. Where ids were given the text is null, and tokens have no offsets.
 */
#ifndef ATTN_WRITE_JSON_REPORT_H
#define ATTN_WRITE_JSON_REPORT_H

#include "format/json_writer.h"
#include "write/format.h"

/* The first members of a document: the item of a batch, and its format. */
void json_report_begin(struct json_writer *json, const char *format, const struct place *place);

/* The command and its provenance (NULL: neither), the model, the text and its tokens, and what was
 * selected: each but the first on a line of its own. */
void json_report_origin(struct json_writer *json, const struct report *report,
                        const struct provenance *provenance);

/* Append the result without its tables or tensors, on one line: the metadata of other formats. */
void json_report_metadata(struct buf *out, const struct report *report, const struct place *place);

/* One token, without offsets where ids were given in place of a text. Bytes that are no UTF-8, a
 * part of a character, are U+FFFD in "text" and come again in "bytes", as hexadecimal digits. */
void json_report_token(struct json_writer *json, const struct token *token, const char *bytes,
                       size_t size, bool has_place);

/* "layer": 3, "heads": [0, 2]; null where a tensor has none. */
void json_report_place(struct json_writer *json, const struct kept *kept);

/* "bytes": "f09f" where bytes are no UTF-8; else nothing. */
void json_report_bytes(struct json_writer *json, const char *bytes, size_t size);

#endif
