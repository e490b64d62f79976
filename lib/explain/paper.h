/* paper.h: a document of A4 pages: what is added goes down the page, and what finds no room turns
 * it.
 *
 *     struct paper paper;
 *     if (paper_begin(&paper, &stream, "life · Life is short", err)) ...
 *     buf_text(&paper.text, "<b>One</b> query");
 *     paper_paragraph(&paper, &lettering, 0, 3);
 *     if (paper_end(&paper, err)) ...
 *
 * Lengths are points. Memory that is not there sticks to `text`, and paper_end tells it.
 */
#ifndef ATTN_EXPLAIN_PAPER_H
#define ATTN_EXPLAIN_PAPER_H

#include "base/buf.h"
#include "draw/drawing.h"

#define PAPER_WIDTH 595.0
#define PAPER_HEIGHT 842.0
#define PAPER_MARGIN 56.0
#define PAPER_BOTTOM (PAPER_HEIGHT - PAPER_MARGIN)

enum { PAPER_INK = 0x1b1f24, PAPER_FAINT = 0x5c6570, PAPER_RULE = 0xb5bcc4 };

struct paper {
    struct drawing drawing;
    size_t number;   /* of the page */
    double y;        /* where the next thing begins */
    struct buf text; /* what is to be added: one piece of markup at a time */
};

/* On failure nothing is held. */
int paper_begin(struct paper *paper, struct stream *out, const char *title, struct err *err);
int paper_end(struct paper *paper, struct err *err);

struct lettering paper_letters(double size, unsigned colour);

/* Number this page, and go on on the next one. */
void paper_turn(struct paper *paper);

/* Turn the page unless there is room for so much. */
void paper_need(struct paper *paper, double height);

/* Is there text, whole? It is forgotten by paper_used. */
bool paper_has_text(const struct paper *paper);
void paper_used(struct paper *paper);

/* Add the text, and leave a gap below it. */
void paper_paragraph(struct paper *paper, const struct lettering *how, double indent, double gap);

void paper_rule(struct paper *paper, double from, double to, double y);

#endif
