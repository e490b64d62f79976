/* instrument.h: what score, lens, attribute and patch ask of a text by their options, and what
 * they find: for their own commands, and for items of a batch that does one of them (--do).
 *
 *     struct question question = {.options = options, .viewer = &viewer};
 *     const struct instrument *instrument = instrument_find(FOR_LENS);
 *     if (instrument->ask(&question, format, &arena, err) ||
 *         instrument->find(&finding, &question, &look, &arena, err) ||
 *         instrument->write(&out, &finding, &place, err)) ...
 */
#ifndef ATTN_CMD_INSTRUMENT_H
#define ATTN_CMD_INSTRUMENT_H

#include "format/json_writer.h"
#include "lens/selection.h"
#include "measure/attribution.h"
#include "measure/logit_lens.h"
#include "measure/patching.h"
#include "measure/score_report.h"
#include "options.h"
#include "write/format.h"

/* Of texts by the same options; each instrument has parts of its own. */
struct question {
    const struct options *options;
    struct viewer *viewer; /* it attends, and edits, as they say */
    struct text_origin origin;
    struct scoring scoring;
    struct score_view view;
    struct selection selection; /* of layers of the lens … */
    struct lens_plan plan;
    unsigned numbers; /* … and which of its numbers, 1 << LENS_…, or of patches, 1 << PATCH_… */
    struct attribution_question attribution;
    struct patching_plan patching; /* but for the texts and the position */
};

/* Of one text. */
struct finding {
    const struct question *question;
    const struct text_pair *pair;
    struct score_total total; /* of scores, but for continuations */
    struct logit_lens lens;
    struct attribution attribution;
    struct patching patching;
    struct report report; /* of scores, an attribution or patches */
    size_t position;      /* after which the answer stands */
    const char *members;  /* of its JSON, or NULL */
};

struct instrument {
    int command;          /* FOR_… */
    const char *document; /* the JSON_FORMAT of what it writes */

    /* What the options ask, in memory of the arena; `format` is that of the results. */
    int (*ask)(struct question *question, const struct format *format, struct arena *arena,
               struct err *err);

    /* Refuse a text that cannot be asked that; with --words its words are found, for patch the
     * corrupt text. NULL: any text can. */
    int (*check)(const struct question *question, struct text_pair *pair, struct arena *arena,
                 struct err *err);

    /* Findings [look->count], of texts that were checked. */
    int (*find)(struct finding *findings, const struct question *question, const struct look *look,
                struct arena *arena, struct err *err);

    /* A report of one sheet or several, for formats that take these, NULL: the finding has it; and
     * JSON, a text a line. */
    int (*report)(struct report *report, const struct finding *finding, const struct format *format,
                  struct arena *arena, struct err *err);
    int (*write)(struct stream *out, const struct finding *finding, const struct place *place,
                 struct err *err);
};

/* By the bit of its command; NULL: it is none. */
const struct instrument *instrument_find(int command);

/* The line of a finding that has its report. */
int instrument_write_line(struct stream *out, const struct finding *finding,
                          const struct place *place, struct err *err);

extern const struct instrument score_instrument, lens_instrument, attribute_instrument,
    patch_instrument;

#endif
