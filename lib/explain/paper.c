#include "explain/paper.h"

#include <stdio.h>

enum { NUMBER_BYTES = 32 };

static const double number_size = 7.5;

struct lettering paper_letters(double size, unsigned colour)
{
    return (struct lettering){.size = size, .colour = colour_of_hex(colour)};
}

int paper_begin(struct paper *paper, struct stream *out, const char *title, struct err *err)
{
    const struct drawing_page page = {PAPER_WIDTH, PAPER_HEIGHT, title};
    *paper = (struct paper){.number = 1, .y = PAPER_MARGIN};
    return drawing_begin(&paper->drawing, DRAWING_PDF, out, &page, err);
}

static void add_number(struct paper *paper)
{
    char number[NUMBER_BYTES];
    const struct point at = {PAPER_WIDTH / 2, PAPER_HEIGHT - PAPER_MARGIN / 2};
    struct lettering how = paper_letters(number_size, PAPER_FAINT);
    how.anchor = ANCHOR_MIDDLE;
    snprintf(number, sizeof number, "%zu", paper->number);
    canvas_text(&paper->drawing.canvas, at, number, &how);
}

int paper_end(struct paper *paper, struct err *err)
{
    add_number(paper);
    int failed = buf_check(&paper->text, err);
    buf_release(&paper->text);
    return drawing_end(&paper->drawing, failed ? NULL : err) || failed ? -1 : 0;
}

void paper_turn(struct paper *paper)
{
    add_number(paper);
    drawing_turn_page(&paper->drawing);
    paper->number++;
    paper->y = PAPER_MARGIN;
}

void paper_need(struct paper *paper, double height)
{
    if (paper->y + height > PAPER_BOTTOM && paper->y > PAPER_MARGIN)
        paper_turn(paper);
}

bool paper_has_text(const struct paper *paper)
{
    return paper->text.size > 0 && !paper->text.out_of_memory;
}

void paper_used(struct paper *paper)
{
    if (!paper->text.out_of_memory)
        buf_clear(&paper->text);
}

void paper_paragraph(struct paper *paper, const struct lettering *how, double indent, double gap)
{
    double width = PAPER_WIDTH - 2 * PAPER_MARGIN - indent;
    if (!paper_has_text(paper))
        return;
    double height = drawing_height(&paper->drawing, paper->text.bytes, width, how);
    paper_need(paper, height);
    drawing_paragraph(&paper->drawing, (struct point){PAPER_MARGIN + indent, paper->y},
                      paper->text.bytes, width, how);
    paper->y += height + gap;
    paper_used(paper);
}

void paper_rule(struct paper *paper, double from, double to, double y)
{
    const struct pen pen = {colour_of_hex(PAPER_RULE), 0.5, 1};
    canvas_path(&paper->drawing.canvas, (struct point[]){{from, y}, {to, y}}, 2, &pen);
}
