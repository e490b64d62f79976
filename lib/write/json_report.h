/* json_report.h: where numbers come from, as the first members of a JSON object.
 *
 *     "model": "life", "sentence": "Life is", "tokens": [{"id": 0, "text": "Life", "start": 0,
 *     "end": 4}, …], "source": …, "source_tokens": […], "heads": [0, 2]
 *
 * `source` is there for cross-attention, `heads` when heads were selected, `"mean": ["heads",
 * "layers"]` and the `layers` of means, `words` where those stand on the axes, `first_shown` where
 * the first do not stand there, "precision": "bf16" and "mechanism": "attention window:4" where
 * they are not the model's own. Where ids were given, the text is null and tokens have no place.
 */
#ifndef ATTN_WRITE_JSON_REPORT_H
#define ATTN_WRITE_JSON_REPORT_H

#include "format/json_writer.h"
#include "lens/report.h"

/* What a document begins with: the item of a batch that it is of, its JSON_FORMAT, and members of
 * its own. */
struct place;
void json_report_begin(struct json_writer *json, const char *format, const struct place *place);

/* Write the members, each but the first on a line of its own. */
void json_report_origin(struct json_writer *json, const struct report *report);

/* One token, without a place where ids were given in place of a text. Bytes that are no UTF-8, a
 * part of a character, are U+FFFD in "text" and come again in "bytes", as hexadecimal digits. */
void json_report_token(struct json_writer *json, const struct token *token, const char *bytes,
                       size_t size, bool has_place);

/* "layer": 3, "heads": [0, 2]; null where a tensor has none. */
void json_report_place(struct json_writer *json, const struct kept *kept);

/* "bytes": "f09f" where bytes are no UTF-8; else nothing. */
void json_report_bytes(struct json_writer *json, const char *bytes, size_t size);

#endif
