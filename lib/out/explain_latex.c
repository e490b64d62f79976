/* explain_latex.c: an explanation as a LaTeX document; pdfLaTeX, XeLaTeX and LuaLaTeX take it.
 *
 * A vector that is wide and to be shown whole comes in several tables, some elements each, and so
 * do many keys: paper has no endless lines, and no endless pages.
 */
#include <math.h>
#include <string.h>

#include "out/explain_facts.h"
#include "out/explain_format.h"
#include "out/explain_layout.h"
#include "out/latex_text.h"

enum {
    PAGE_COLUMNS = 105, /* characters of a line, in \small on A4 */
    PAGE_ROWS = 40,
    BAR_CENTIMETRES = 3, /* for a weight of 1 */
};

#define RULE "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"

/* What is written, and how. */
struct page {
    struct buf text;
    const struct explanation *explanation;
    bool full;
};

static void add_text(struct page *page, const char *text)
{
    latex_text(&page->text, text, strlen(text));
}

/* The types of the columns: R is a number; a share has its bar behind it. */
static void add_columns(struct page *page, const struct step *step,
                        const struct explain_layout *layout)
{
    buf_text(&page->text, "@{}l");
    for (size_t b = 0; b < step->block_count; b++) {
        for (size_t slot = 0; slot < text_cut_slots(&layout->cuts[b]); slot++)
            buf_char(&page->text, 'R');
        buf_text(&page->text, step->blocks[b].is_share ? "l" : "");
    }
}

/* The symbol of the vectors above their elements, and a rule below it. */
static void add_heading(struct page *page, const struct step *step,
                        const struct explain_layout *layout)
{
    size_t before = 1; /* columns */
    for (size_t b = 0; b < step->block_count; b++) {
        size_t slots = text_cut_slots(&layout->cuts[b]);
        const struct block *block = &step->blocks[b];
        struct buf symbol = {0};
        struct buf heading = {0};
        if (*block->symbol.latex)
            buf_format(&symbol, "$%s$", block->symbol.latex);
        if (block->is_vector)
            explain_heading(&heading, symbol.size ? symbol.bytes : "", &layout->cuts[b]);
        if (heading.size)
            buf_format(&page->text,
                       "\\multicolumn{%zu}{l}{} & \\multicolumn{%zu}{c}{%s} \\\\\n"
                       "\\cline{%zu-%zu}\n",
                       before, slots, heading.bytes, before + 1, before + slots);
        page->text.out_of_memory |= symbol.out_of_memory || heading.out_of_memory;
        buf_release(&symbol);
        buf_release(&heading);
        before += slots + block->is_share;
    }
}

static void add_value(struct page *page, const struct block *block, float value)
{
    char digits[NUMERAL_BYTES] = "";
    if (!isnan(value))
        numeral_write(digits, block->numeral, value);
    numeral_latex(&page->text, digits);
}

/* What stands in a line: titles, the numbers of a row, or the total. */
enum line { TITLES, ROW, TOTAL };

static void add_cell(struct page *page, enum line line, const struct block *block, size_t row,
                     size_t element)
{
    buf_text(&page->text, " & ");
    if (line == ROW)
        add_value(page, block, explain_cell(block, row, element));
    else if (line == TOTAL)
        add_value(page, block, explain_total(block, element));
    else if (block->is_vector)
        buf_format(&page->text, "%zu", block->first + element);
    else
        buf_text(&page->text, block->symbol.latex);
}

static void add_bar(struct page *page, enum line line, const struct block *block, size_t row)
{
    buf_text(&page->text, " &");
    if (line == ROW)
        buf_format(&page->text, " \\rule{%.2fcm}{1.2ex}",
                   BAR_CENTIMETRES * (double)explain_cell(block, row, 0));
}

static void add_line(struct page *page, const struct step *step,
                     const struct explain_layout *layout, enum line line, size_t row)
{
    for (size_t b = 0; b < step->block_count; b++) {
        const struct block *block = &step->blocks[b];
        const struct text_cut *cut = &layout->cuts[b];
        for (size_t slot = 0; slot < text_cut_slots(cut); slot++) {
            if (text_cut_between(cut, slot))
                buf_text(&page->text, " & \\cdots");
            else
                add_cell(page, line, block, row, text_cut_place(cut, slot));
        }
        if (block->is_share)
            add_bar(page, line, block, row);
    }
    buf_text(&page->text, " \\\\\n");
}

static void add_label(struct page *page, const struct step *step, size_t row)
{
    buf_text(&page->text, row == step->own_row ? "\\llap{$\\triangleright$\\,}" : "");
    if (step->of_keys)
        buf_format(&page->text, "%zu ", row);
    add_text(page, step->rows[row].text);
}

static void begin_table(struct page *page, const struct step *step,
                        const struct explain_layout *layout)
{
    buf_text(&page->text, "\n\\medskip\\begin{tabular}{");
    add_columns(page, step, layout);
    buf_text(&page->text, "}\n");
    add_heading(page, step, layout);
    buf_text(&page->text, step->corner);
    add_line(page, step, layout, TITLES, 0);
    buf_text(&page->text, RULE);
}

static void end_table(struct page *page)
{
    buf_text(&page->text, "\\end{tabular}\\medskip\n");
}

/* A tabular does not break: where a page could be full, another one begins. */
static void add_rows(struct page *page, const struct step *step,
                     const struct explain_layout *layout)
{
    size_t count = explain_row_count(page->explanation, step);
    for (size_t slot = 0; slot <= count; slot++) {
        if (slot > 0 && slot < count && slot % PAGE_ROWS == 0) {
            end_table(page);
            begin_table(page, step, layout);
        }
        if (explain_gap(page->explanation, step, slot))
            buf_text(&page->text, "$\\cdots$ \\\\\n");
        if (slot == count)
            break;
        size_t row = explain_row(page->explanation, step, slot);
        add_label(page, step, row);
        add_line(page, step, layout, ROW, row);
    }
}

static void add_table(struct page *page, const struct step *step,
                      const struct explain_layout *layout)
{
    begin_table(page, step, layout);
    add_rows(page, step, layout);
    if (step->total) {
        buf_text(&page->text, RULE);
        add_text(page, step->total);
        add_line(page, step, layout, TOTAL, 0);
    }
    end_table(page);
}

/* The part of a step's table that shows so many elements of its vectors; single numbers stand in
 * the first part. */
static struct step part_of(const struct step *step, size_t first, size_t count)
{
    struct step part = *step;
    part.block_count = 0;
    for (size_t b = 0; b < step->block_count; b++) {
        struct block block = step->blocks[b];
        if (block.width <= first)
            continue;
        block.first += first;
        block.values += first;
        block.total = block.total ? block.total + first : NULL;
        block.width = block.width - first < count ? block.width - first : count;
        part.blocks[part.block_count++] = block;
    }
    return part;
}

/* All elements, as many in each table as a line takes. */
static void add_parts(struct page *page, const struct step *step,
                      const struct explain_layout *layout)
{
    size_t longest = 0;
    size_t shown = 0;
    for (size_t b = 0; b < step->block_count; b++) {
        const struct text_cut *cut = &layout->cuts[b];
        longest = cut->size > longest ? cut->size : longest;
        shown = cut->front + cut->back > shown ? cut->front + cut->back : shown;
    }
    for (size_t first = 0; first < longest; first += shown) {
        struct step part = part_of(step, first, shown);
        struct explain_layout whole = explain_layout(page->explanation, &part, 0);
        add_table(page, &part, &whole);
    }
}

static void add_step(struct page *page, const struct step *step)
{
    buf_format(&page->text, "\n\\subsection*{%zu\\quad %s}\n",
               (size_t)(step - page->explanation->steps) + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        buf_format(&page->text, "\\[ %s \\]\n", step->formulas[i].latex);
    if (step->note) {
        explain_prose(&page->text, step->note);
        buf_text(&page->text, "\n");
    }
    if (step->row_count) {
        struct explain_layout layout = explain_layout(page->explanation, step, PAGE_COLUMNS);
        (page->full ? add_parts : add_table)(page, step, &layout);
    }
    if (step->worked.latex)
        buf_format(&page->text, "\n$%s$\n", step->worked.latex);
}

static void add_fact(struct buf *out, const struct explain_fact *fact)
{
    buf_format(out, "\\item[%s] ", fact->name);
    if (fact->size)
        latex_text(out, fact->quoted, fact->size);
    buf_format(out, "%s\n", fact->words);
}

static void add_titles(struct page *page)
{
    buf_text(&page->text, "\\section*{One query, step by step}\n"
                          "\\begin{description}\\raggedright\n");
    explain_facts_add(&page->text, page->explanation, add_fact);
    buf_text(&page->text, "\\end{description}\n");
}

static void add_preamble(struct page *page)
{
    buf_text(&page->text, "\\documentclass[a4paper,fleqn]{article}\n"
                          "\\usepackage[margin=2cm]{geometry}\n"
                          "\\usepackage{amsmath,array}\n"
                          "\\newcolumntype{R}{>{$}r<{$}}\n"
                          "\\setlength{\\mathindent}{0pt}\n"
                          "\\setlength{\\tabcolsep}{4pt}\n"
                          "\\setlength{\\parindent}{0pt}\n");
    latex_preamble_signs(&page->text);
    buf_text(&page->text, "\\begin{document}\n\\raggedright\\small\n");
}

int explain_latex_write(struct stream *out, const struct explanation *explanation,
                        const struct explain_page *form, struct err *err)
{
    struct page page = {{0}, explanation, form->full};
    add_preamble(&page);
    add_titles(&page);
    for (size_t i = 0; i < explanation->step_count; i++)
        add_step(&page, &explanation->steps[i]);
    buf_text(&page.text, "\\end{document}\n");
    int failed = buf_check(&page.text, err);
    if (!failed)
        stream_bytes(out, page.text.bytes, page.text.size);
    buf_release(&page.text);
    return failed;
}
