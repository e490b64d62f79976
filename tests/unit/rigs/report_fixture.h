/* report_fixture.h: small reports, made by hand, for the tests of what comes out.
 *
 * The tokens are chosen to disturb: they repeat, one is a comma, one a quote, one a new line, one
 * is Chinese, one an emoji, one a part of a character.
 */
#ifndef ATTN_TESTS_REPORT_FIXTURE_H
#define ATTN_TESTS_REPORT_FIXTURE_H

#include "base/err.h"
#include "lens/report.h"
#include "write/format.h"

/* "Life is Life" with the causal weights of head 0 of layer 0. */
extern const struct report fixture_plain;

/* Seven odd tokens with the causal weights of head 0. */
extern const struct report fixture_odd;

/* "Life is Life", causal: two layers with two heads of weights each, `k` of layer 0 with two
 * key/value heads, `masked` of layer 1, and the embedding, which has neither layer nor head. */
extern const struct report fixture_layers;

/* The tensor of fixture_layers with head 1 selected. */
extern const struct report fixture_selected;

/* Ids in place of a text, and a source with a text: weights of 2 queries over 3 keys. */
extern const struct report fixture_cross;

/* A sentence of `count` tokens and its causal weights, two heads; at most FIXTURE_LONG_MAX. */
enum { FIXTURE_LONG_MAX = 64 };
struct report fixture_long(size_t count);

/* Where one sentence stands alone on a page of 80 columns. */
extern const struct place fixture_alone;

typedef int (*fixture_writer)(struct stream *, const struct report *, const struct place *,
                              struct err *);

/* What the writer writes, 0-terminated, valid until the next call. The test fails when the writer
 * does. */
const char *fixture_written(fixture_writer writer, const struct report *report,
                            const struct place *place);

/* The bytes of the last text written. */
size_t fixture_size(void);

/* All sentences of a stream, one after the other: each report is one of them. */
const char *fixture_several(fixture_writer writer, const struct report *const *reports,
                            size_t count);

/* Every allocation of the writer fails once; each time it must say so. The test fails when there
 * is no allocation at all. */
void fixture_starve(fixture_writer writer, const struct report *report);

#endif
