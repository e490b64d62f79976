/* session.h: what every command that looks at texts begins with: a model, and texts for it.
 *
 *     struct session session = {.options = options};
 *     if (session_read_options(&session, err) || inputs_open(&session.inputs, options, err) ||
 *         session_open(&session, err) || session_read(&session, &subject, 0, &arena, err)) ...
 *     session_release(&session);
 */
#ifndef ATTN_CMD_SESSION_H
#define ATTN_CMD_SESSION_H

#include "base/arena.h"
#include "base/err.h"
#include "inputs.h"
#include "lens/viewer.h"
#include "options.h"

struct session {
    const struct options *options;
    enum precision precision;
    struct mechanism mechanism; /* of the options, by itself */
    struct inputs inputs;
    struct viewer viewer;
    struct dropped dropped, in_source;
    struct arena arena;
};

/* --precision and the options of the mechanism, before there is a model to ask. */
int session_read_options(struct session *session, struct err *err);

/* Open --model on --threads; its tokenizer reads texts as --bos and --no-special say. */
int session_open(struct session *session, struct err *err);

/* Tokenize a text and --source; errors say which text it is. Where there are no texts it is the one
 * that the model's begin with. */
int session_read(const struct session *session, struct text_pair *pair, size_t index,
                 struct arena *arena, struct err *err);

/* Count the marks that were dropped in a text, or in the source, and say so when all are read. */
void session_count_dropped(struct session *session, const struct text_pair *pair, size_t index);
void session_note_dropped(const struct session *session);

void session_release(struct session *session);

#endif
