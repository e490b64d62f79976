/* report_fixture.h: small reports, made by hand, for the tests of output.
 *
 * The tokens are difficult: they repeat; they are a comma, a quote, a new line, Chinese, an emoji,
 * and a part of a character.
 */
#pragma once

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

/* The only sentence on a page of 80 columns. */
extern const struct layout fixture_alone;

typedef int (*fixture_writer)(struct stream *, const struct report *, const struct layout *,
                              struct err *);

/* The output of a writer, which must succeed: 0-terminated, valid until the next call. */
const char *fixture_written(fixture_writer writer, const struct report *report,
                            const struct layout *layout);

/* The bytes of the last text written. */
size_t fixture_size(void);

/* The output for several sentences of one stream: each report is one of them. */
const char *fixture_several(fixture_writer writer, const struct report *const *reports,
                            size_t count);

/* Run the writer while each allocation in turn fails, which it must report. Fails without any
 * allocation. */
void fixture_starve(fixture_writer writer, const struct report *report);
