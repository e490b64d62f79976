/* markdown.c: reports as Markdown, for GitHub, GitLab, Jupyter and pandoc: the titles, and a table
 * for each table and matrix.
 *
 *     ## tiny · Life is short
 *
 *     | token | text | logprob |
 *     |--:|:--|--:|
 *     | 1 | is | -0.0003 |
 */
#include <math.h>
#include <string.h>

#include "base/language.h"
#include "text/label.h"
#include "write/formula.h"
#include "write/working.h"

void markdown_text(struct buf *out, const char *text, size_t size)
{
    static const char always[] = "\\`*_[]<>|$~^&#@'\"";
    for (size_t i = 0; i < size; i++) {
        bool repeats = i + 1 < size && text[i + 1] == text[i];
        if (memchr(always, text[i], sizeof always - 1) || (repeats && memchr("-.", text[i], 2)))
            buf_char(out, '\\');
        buf_char(out, text[i]);
    }
}

static void add_line(struct buf *page, const char *mark, const char *text)
{
    buf_text(page, mark);
    markdown_text(page, text, strlen(text));
    buf_char(page, '\n');
}

/* Append a cell: the visible form of a text. */
static void add_cell(struct buf *page, const char *text)
{
    struct buf visible = {0};
    label_line(&visible, text, strlen(text));
    buf_text(page, " ");
    markdown_text(page, visible.size ? visible.bytes : "", visible.size);
    buf_text(page, " |");
    buf_fail_with(page, &visible);
    buf_release(&visible);
}

/* Begin a block below an empty line. */
static void begin(struct buf *page)
{
    buf_text(page, page->size ? "\n" : "");
}

/* Append a row of a table, or with COLUMN_TITLES the lines above its rows. */
enum { COLUMN_TITLES = -1 };

static void add_row(struct buf *page, const struct table *table, long row)
{
    char text[TEXT_CELL_BYTES];
    struct buf sides = {0};
    buf_char(page, '|');
    for (const struct column *column = table->columns; column < table->columns + table->count;
         column++) {
        bool is_text = column->kind == COLUMN_TEXT || column->kind == COLUMN_LABEL;
        if (column->flags & COLUMN_DATA_ONLY)
            continue;
        buf_text(&sides, is_text ? ":--|" : "--:|");
        if (row == COLUMN_TITLES)
            add_cell(page, column->title ? column->title : column->name);
        else
            add_cell(page, text_of_cell(text, column, (size_t)row, false));
    }
    if (row == COLUMN_TITLES && sides.size)
        buf_format(page, "\n|%s", sides.bytes);
    buf_char(page, '\n');
    buf_fail_with(page, &sides);
    buf_release(&sides);
}

/* Some tables are only a heading and a note. */
static void add_table(struct buf *page, const struct table *table)
{
    begin(page);
    if (table->heading)
        add_line(page, "", table->heading);
    if (table->heading && table->count)
        buf_char(page, '\n');
    for (long row = COLUMN_TITLES; table->count && row < (long)table->rows.size; row++)
        add_row(page, table, row);
    if (table->note)
        add_line(page, "\n", table->note);
}

/* Append a matrix; hidden cells and missing numbers are empty. */
static void add_matrix(struct buf *page, const struct sheet *sheet)
{
    char text[NUMERAL_BYTES], title[SHEET_NAME_BYTES];
    size_t rows = sheet->rows.size, columns = sheet->columns.size;
    struct numeral numeral = {.digits = 0};
    if (!sheet->display.whole)
        numeral = numeral_of(sheet->values, rows * columns, NUMERAL_DIGITS);
    begin(page);
    add_line(page, "### ", sheet_title(title, sheet));
    buf_text(page, "\n|");
    add_cell(page, sheet->rows.name);
    for (size_t i = 0; i < columns; i++)
        add_cell(page, sheet->columns.labels[i].text);
    buf_text(page, "\n|:--|");
    for (size_t i = 0; i < columns; i++)
        buf_text(page, "--:|");
    buf_char(page, '\n');
    for (size_t row = 0; row < rows; row++) {
        buf_char(page, '|');
        add_cell(page, sheet->rows.labels[row].text);
        for (size_t i = 0; i < columns; i++) {
            float value = sheet_cell(sheet, row, i);
            bool none = isnan(value) || sheet_hides(sheet, row, i);
            const char *instead = sheet_text(sheet, row, i);
            text[none ? 0 : numeral_write(text, numeral, value)] = '\0';
            add_cell(page, instead && !none ? instead : text);
        }
        buf_char(page, '\n');
    }
}

/* Append the titles; without one, the facts above the tables. */
static void add_titles(struct buf *page, const struct report *report, const struct layout *layout)
{
    struct buf lines = {0};
    const struct table *facts = report->facts;
    char number[NUM_SIZE_BYTES];
    text_titles(&lines, report, layout);
    for (size_t at = 0, size; at < lines.size && !report->untitled; at += size + 1) {
        size = strcspn(lines.bytes + at, "\n");
        lines.bytes[at + size] = '\0';
        add_line(page, at ? "\n" : "## ", lines.bytes + at);
    }
    if (report->about && !report->untitled && !report->sentence.size && !report->sentence.count)
        add_line(page, "\n", report->about);
    for (size_t i = 0; report->untitled && facts && i < facts->count; i++) {
        const char *value = text_of_fact(number, &facts->columns[i]);
        if (value) {
            const char *title = facts->columns[i].title;
            int indent = (int)strspn(title, " "); /* part of the fact above */
            buf_format(page, "%.*s- %s: ", indent, title, title + indent);
            add_line(page, "", value);
        }
    }
    buf_fail_with(page, &lines);
    buf_release(&lines);
}

/* --- tables with their working ---------------------------------------------------------------- */

/* Tables of pipes and formulas between dollar signs, for GitHub, GitLab, Jupyter and pandoc.
 *
 *     ## 3. Keys and scores
 *
 *     $$s_j = q \cdot k_j$$
 *
 *     | key | $(k_j)_{0}$ | $(k_j)_{1}$ | $s_j$ |
 *     |:--|--:|--:|--:|
 *     | 0 Life | -0.0823 | -0.3031 | -0.6004 |
 *     | **1 is** | 0.5295 | 1.7355 | 3.4707 |
 */

static void markdown_symbol(struct buf *out, const char *word, size_t size)
{
    size_t symbol = size - (strchr(",.:", word[size - 1]) != NULL);
    size_t base = strcspn(word, "_");
    buf_format(out, "$%.*s_{%.*s}$", (int)base, word, (int)(symbol - base - 1), word + base + 1);
    buf_bytes(out, word + symbol, size - symbol);
}

static void markdown_word(struct buf *out, const char *word, size_t size)
{
    if (*word == '\'')
        markdown_text(out, word, size);
    else
        buf_bytes(out, word, size);
}

static void markdown_fact(struct buf *out, const char *name, const char *quoted, const char *words)
{
    bool is_query = strcmp(name, "query") == 0 || strcmp(name, say("zh", "query")) == 0;
    const char *bold = is_query ? "**" : "";
    buf_format(out, "- %s: %s", name, bold);
    markdown_text(out, quoted, strlen(quoted));
    buf_format(out, "%s%s\n", bold, words);
}

/* Append a column title: $q_{0}$, $(k_j)_{0}$, or only the element's number. */
static void markdown_title(struct buf *out, const struct grid_slot *slot)
{
    const char *symbol = slot->column->title;
    bool brackets = slot->column->width && *symbol && symbol[1];
    if (*symbol == '\0') {
        buf_format(out, "%zu", slot->element);
        return;
    }
    buf_text(out, brackets ? "$(" : "$");
    latex_math(out, symbol);
    buf_text(out, brackets ? ")" : "");
    if (slot->column->width)
        buf_format(out, "_{%zu}", slot->element);
    buf_char(out, '$');
}

static void markdown_cell(struct buf *out, const struct grid_slot *slot,
                          const struct grid_line *line)
{
    char bar[BAR_BYTES] = "";
    buf_char(out, ' ');
    if (line->kind == LINE_TITLES && slot->kind == SLOT_NUMBER) {
        markdown_title(out, slot);
    } else if (slot->kind != SLOT_BAR) {
        grid_cell(out, line, slot, latex_math, "$-\\infty$");
    } else if (line->kind == LINE_ROW) {
        bar_draw(bar, (double)*column_vector(slot->column, line->row));
        buf_bytes(out, bar, strcspn(bar, " "));
    }
    buf_text(out, " |");
}

static void markdown_line(struct buf *out, const struct grid_line *line, const struct grid *grid)
{
    const char *bold = line->is_own || line->kind == LINE_TOTAL ? "**" : "";
    buf_format(out, "| %s", bold);
    if (grid_has_number(grid, line))
        buf_format(out, "%zu ", line->row);
    markdown_text(out, line->label, strlen(line->label));
    buf_format(out, "%s |", bold);
    for (size_t i = 0; i < grid->slot_count && line->kind != LINE_GAP; i++)
        markdown_cell(out, &grid->slots[i], line);
    buf_char(out, '\n');
    if (line->kind != LINE_TITLES)
        return;
    buf_text(out, "|:--|");
    for (size_t i = 0; i < grid->slot_count; i++)
        buf_text(out, grid->slots[i].kind == SLOT_BAR ? ":--|" : "--:|");
    buf_char(out, '\n');
}

static void markdown_table(struct document *document, const struct grid *grid)
{
    struct buf *out = &document->text;
    buf_char(out, '\n');
    for (size_t i = 0; i < grid->line_count; i++)
        if (grid->lines[i].kind != LINE_HEADINGS) /* Markdown tables have a single title line */
            markdown_line(out, &grid->lines[i], grid);
    for (size_t i = 0; i < grid->slot_count; i++) {
        const struct text_cut *cut = &grid->slots[i].cut;
        if (grid->slots[i].column_slots && text_is_cut(cut))
            buf_format(out, say(grid->language, "\n(%zu of %zu elements)\n"),
                       cut->front + cut->back, cut->size);
    }
}

static int markdown_beginning(struct document *document)
{
    buf_format(&document->text, "# %s\n\n", document_title(document));
    document_facts(document, markdown_fact);
    return 0;
}

static void markdown_chapter(struct document *document)
{
    const char *token = chapter_token(document->chapter);
    if (document->chapter->is_listed) {
        buf_text(&document->text, "\n## ");
        markdown_text(&document->text, token, strlen(token));
        buf_text(&document->text, "\n\n");
    }
    document_chapter_facts(document, markdown_fact);
}

static void markdown_piece(struct document *document, enum piece piece, const char *text)
{
    struct buf *out = &document->text;
    const char *marks = piece == PIECE_FORMULA ? "$$" : piece == PIECE_WORKED ? "$" : "";
    if (piece == PIECE_TITLE) {
        buf_format(out, "\n##%s %zu. %s\n", document->chapter->is_listed ? "#" : "",
                   document->number, text);
        return;
    }
    buf_format(out, "\n%s", marks);
    if (piece == PIECE_NOTE)
        formula_prose(out, text, markdown_symbol, markdown_word);
    else
        latex_math(out, text);
    buf_format(out, "%s\n", marks);
}

static int write_working(struct stream *out, const struct report *report,
                         const struct layout *layout, struct err *err)
{
    static const struct document_format format = {
        markdown_beginning, markdown_chapter, markdown_piece, markdown_table, NULL,
    };
    return document_write(&format, out, report, layout, PAGE_COLUMNS, err);
}

/* --- a page ----------------------------------------------------------------------------------- */

int markdown_page_write(struct stream *out, const struct report *report,
                        const struct layout *layout, struct err *err)
{
    struct buf page = {0};
    bool shows_arrays = report->shows_arrays || !report->table_count;
    if (report_chapter(report))
        return write_working(out, report, layout, err);
    if (report->identity.index)
        stream_char(out, '\n');
    add_titles(&page, report, layout);
    for (size_t i = 0; i < report->array_count && shows_arrays; i++)
        for (size_t k = 0; k < array_matrix_count(&report->arrays[i]); k++) {
            struct sheet sheet = array_matrix(report, &report->arrays[i], k);
            add_matrix(&page, &sheet);
        }
    for (size_t i = 0; i < report->table_count; i++)
        if (!(report->tables[i].flags & COLUMN_DATA_ONLY))
            add_table(&page, &report->tables[i]);
    int failed = text_send(out, &page, err);
    buf_release(&page);
    return failed;
}
