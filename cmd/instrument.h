/* instrument.h: what lens, attribute and patch ask of a text by their options, and what they find:
 * for their own commands, and for items of a batch that does one of them (--do).
 *
 *     struct question question = {.options = options, .viewer = &viewer};
 *     struct finding finding = {&question, &pair};
 *     const struct instrument *instrument = &lens_instrument;
 *     if (instrument->ask(&question, format, &arena, err) ||
 *         instrument->find(&finding, &arena, err) ||
 *         format_write(format, &out, &finding.report, &place, err)) ...
 */
#ifndef ATTN_CMD_INSTRUMENT_H
#define ATTN_CMD_INSTRUMENT_H

#include "base/names.h"
#include "format/json_writer.h"
#include "lens/selection.h"
#include "measure/attribution.h"
#include "measure/logit_lens.h"
#include "measure/patching.h"
#include "measure/text_origin.h"
#include "measure/token_scores.h"
#include "options.h"
#include "write/format.h"

/* Of texts by the same options; each instrument has parts of its own. */
struct question {
    const struct options *options;
    struct viewer *viewer; /* it attends, and edits, as they say */
    struct text_origin origin;
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
    size_t number; /* of the item */
    struct attribution attribution;
    struct patching patching;
    struct report report;
    size_t position; /* the token before the answer */
};

struct instrument {
    const struct command *command;

    /* What the options ask, in memory of the arena; `format` is that of the results. */
    int (*ask)(struct question *question, const struct format *format, struct arena *arena,
               struct err *err);

    /* Refuse a text that cannot be asked that; for patch the corrupt text is read. NULL: any text
     * can. */
    int (*check)(const struct question *question, struct text_pair *pair, struct arena *arena,
                 struct err *err);

    /* The finding of a text that was checked, with its report; question and pair are filled in. */
    int (*find)(struct finding *finding, struct arena *arena, struct err *err);

    /* Of its own command: */
    void (*expect)(struct viewer *viewer, const struct question *question, size_t tokens);
    void (*note)(const struct finding *finding); /* after each text; NULL: nothing */
};

/* Whether a format is for programs, which get every number. */
bool instrument_is_of_data(const struct format *format);

/* --- the token of --answer or --target; ` Mary: John` is the logit difference of two ---------- */

struct answer {
    long long id, against; /* -1: the likeliest; none */
    const char *cap;       /* "before" or "after" the final soft cap; NULL: the model has none */
};

/* Read the text of an option, NULL if it is not given; and --position, by default the last. */
int answer_read(struct answer *answer, const char *option, const char *text,
                const struct viewer *viewer, struct arena *arena, struct err *err);
int answer_position(size_t *index, const struct options *options, const struct tokenized *sentence,
                    struct err *err);

/* "logit difference ␣Mary - ␣John after ␣to", in the arena, or NULL; and facts. */
const char *answer_describe(const struct answer *answer, const struct viewer *viewer,
                            const struct label *after, struct arena *arena, struct err *err);
void answer_facts(struct facts *facts, const struct answer *answer, size_t position);

extern const struct instrument lens_instrument, attribute_instrument, patch_instrument;

#endif
