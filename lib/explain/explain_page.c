#include "base/language.h"
#include "explain/explain_page.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

enum {
    LABEL_MAX = 16,
    BLOCK_GAP = 4, /* columns before a block if the page is wide enough; else EXPLAIN_GAP */
    ELEMENTS_MIN = 2,
};

/* --- rows ------------------------------------------------------------------------------------- */

static size_t row_count(const struct grid *grid)
{
    size_t sinks = grid->data->row_count - grid->explanation->key_count;
    return grid->data->of_keys ? grid->explanation->shown_count + sinks : grid->data->row_count;
}

static size_t row_at(const struct grid *grid, size_t index)
{
    const struct explanation *explanation = grid->explanation;
    if (grid->data->of_keys && index == explanation->shown_count)
        return explanation->key_count; /* the sink, after the keys */
    return grid->data->of_keys ? explanation->shown[index] : index;
}

static int make_lines(struct grid *grid, struct arena *arena, struct err *err)
{
    const struct step_table *data = grid->data;
    size_t count = row_count(grid);
    size_t next = 0; /* next row to show */
    bool has_headings = false;
    struct grid_line *line = arena_alloc(arena, 2 * count + 4, sizeof *line, err);
    grid->lines = line;
    if (!line)
        return -1;
    for (const struct grid_slot *slot = grid->slots; slot < grid->slots + grid->slot_count; slot++)
        has_headings |= slot->block->is_vector && (*slot->block->symbol || text_is_cut(&slot->cut));
    if (has_headings)
        *line++ = (struct grid_line){LINE_HEADINGS, .label = ""};
    *line++ =
        (struct grid_line){LINE_TITLES, .label = say(grid->explanation->language, data->corner)};
    for (size_t i = 0; i < count; i++) {
        size_t row = row_at(grid, i);
        if (row > next)
            *line++ = (struct grid_line){LINE_GAP, .label = "…"};
        *line++ = (struct grid_line){LINE_ROW, row, row == data->own_row, data->rows[row].text};
        next = row + 1;
    }
    if (next < data->row_count)
        *line++ = (struct grid_line){LINE_GAP, .label = "…"};
    if (data->total)
        *line++ =
            (struct grid_line){LINE_TOTAL, .label = say(grid->explanation->language, data->total)};
    grid->line_count = (size_t)(line - grid->lines);
    return 0;
}

/* --- widths ----------------------------------------------------------------------------------- */

static size_t width_of(const char *text)
{
    return utf8_width(text, strlen(text));
}

static size_t number_width(const struct block *block, float value)
{
    char text[NUMERAL_BYTES];
    return isnan(value) ? 0 : numeral_write(text, block->numeral, value);
}

/* A number of a row, or of the total. */
static float block_number(const struct block *block, bool of_total, size_t row, size_t element)
{
    if (of_total)
        return block->total ? block->total[element] : NAN;
    return block->values[row * block->stride + element];
}

/* Width of the widest number of all elements, so that columns are the same at any page width. */
static size_t cell_width(const struct grid *grid, const struct block *block)
{
    size_t widest = block->is_vector ? 1 : width_of(block->symbol);
    for (size_t element = 0; element < block->width; element++) {
        widest = num_max(widest, number_width(block, block_number(block, true, 0, element)));
        for (size_t i = 0; i < row_count(grid); i++) {
            float value = block_number(block, false, row_at(grid, i), element);
            widest = num_max(widest, number_width(block, value));
        }
    }
    return widest;
}

static void fit_labels(struct grid *grid)
{
    const struct step_table *data = grid->data;
    char number[NUM_COUNT_BYTES];
    const char *language = grid->explanation->language;
    size_t widest = data->total ? width_of(say(language, data->total)) : 0;
    size_t count = row_count(grid);
    for (size_t i = 0; i < count; i++)
        widest = num_max(widest, width_of(data->rows[row_at(grid, i)].text));
    grid->label_width = num_min(widest, LABEL_MAX);
    if (data->of_keys) {
        size_t last = grid->explanation->shown[grid->explanation->shown_count - 1];
        grid->number_width = (int)num_count(number, last);
        grid->label_width += (size_t)grid->number_width + 1;
    }
    grid->label_width = num_max(grid->label_width, width_of(say(language, data->corner)));
}

static void write_heading(struct buf *out, const struct grid_slot *slot, explain_notation *notation)
{
    const struct text_cut *cut = &slot->cut;
    notation(out, slot->block->symbol);
    if (text_is_cut(cut))
        buf_format(out, say(slot->language, *slot->block->symbol ? " (%zu of %zu)" : "%zu of %zu"),
                   cut->front + cut->back, cut->size);
}

/* --- slots ------------------------------------------------------------------------------------ */

/* Append the slots of a block, widening its cells until the heading fits. */
static void add_block(struct grid *grid, const struct block *block, size_t shown, size_t cell)
{
    struct grid_slot *first = &grid->slots[grid->slot_count];
    const struct text_cut cut = text_cut_to(block->width, shown);
    size_t count = text_cut_slots(&cut);
    size_t rest = (count - 1) * EXPLAIN_GAP + text_is_cut(&cut);
    size_t numbers = cut.front + cut.back;
    *first =
        (struct grid_slot){.block = block, .cut = cut, .language = grid->explanation->language};
    struct buf heading = {0};
    write_heading(&heading, first, buf_text);
    while (heading.size && numbers * cell + rest < width_of(heading.bytes))
        cell++;
    buf_release(&heading);
    for (size_t i = 0; i < count; i++) {
        bool dots = text_cut_between(&cut, i);
        first[i] = (struct grid_slot){
            .kind = dots ? SLOT_DOTS : SLOT_NUMBER,
            .block = block,
            .element = text_cut_place(&cut, i),
            .gap = i ? EXPLAIN_GAP : grid->gap,
            .width = dots ? 1 : cell,
            .cut = cut,
        };
    }
    if (block->is_share)
        first[count] = (struct grid_slot){SLOT_BAR, block, .element = first->element, .cut = cut};
    first->block_slots = count + block->is_share;
    first->block_width = numbers * cell + rest;
    grid->slot_count += first->block_slots;
    grid->width += grid->gap + first->block_width;
}

/* Show at most `shown` elements of each vector and omit the others. */
static void lay_out(struct grid *grid, size_t shown, const size_t *cells)
{
    grid->width = grid->label_width;
    grid->slot_count = 0;
    for (size_t b = 0; b < grid->data->block_count; b++)
        add_block(grid, &grid->data->blocks[b], shown, cells[b]);
}

/* Make a grid of at most `columns` if possible; 0: omit nothing. */
static int make_grid(struct grid *grid, size_t columns, struct arena *arena, struct err *err)
{
    const struct step_table *data = grid->data;
    size_t cells[STEP_BLOCKS_MAX] = {0};
    size_t shown = ELEMENTS_MIN;
    for (size_t b = 0; b < data->block_count; b++) {
        cells[b] = cell_width(grid, &data->blocks[b]);
        shown = num_max(shown, data->blocks[b].width);
    }
    if (columns > 0)
        shown = num_max(num_min(shown, columns), ELEMENTS_MIN);
    grid->slots = arena_alloc(arena, data->block_count * (shown + 2), sizeof *grid->slots, err);
    if (!grid->slots)
        return -1;
    fit_labels(grid);
    grid->gap = BLOCK_GAP;
    lay_out(grid, shown, cells);
    while (columns > 0 && grid->width > columns && shown > ELEMENTS_MIN)
        lay_out(grid, --shown, cells);
    if (columns > 0 && grid->width > columns) {
        grid->gap = EXPLAIN_GAP;
        lay_out(grid, shown, cells);
    }
    return make_lines(grid, arena, err);
}

void grid_cell(struct buf *out, const struct grid_line *line, const struct grid_slot *slot,
               explain_notation *notation, const char *infinity)
{
    const struct block *block = slot->block;
    char digits[NUMERAL_BYTES];
    float value = NAN;
    if (line->kind == LINE_HEADINGS) {
        if (block->is_vector)
            write_heading(out, slot, notation);
    } else if (slot->kind == SLOT_DOTS) {
        buf_text(out, "…");
    } else if (line->kind == LINE_TITLES && slot->kind == SLOT_NUMBER) {
        if (block->is_vector)
            buf_format(out, "%zu", slot->element);
        else
            notation(out, block->symbol);
    } else if (slot->kind == SLOT_NUMBER) {
        value = block_number(block, line->kind == LINE_TOTAL, line->row, slot->element);
    }
    if (isnan(value))
        return;
    numeral_write(digits, block->numeral, value);
    buf_text(out, isinf(value) && infinity ? infinity : digits);
}

/* --- the document ----------------------------------------------------------------------------- */

static int send(struct document *document)
{
    int failed = text_send(document->out, &document->text, document->err);
    buf_clear(&document->text);
    return failed;
}

static int write_table(struct document *document, const struct explanation *explanation,
                       const struct step_table *data)
{
    struct arena arena = {0};
    struct grid grid = {.explanation = explanation, .data = data};
    int failed =
        make_grid(&grid, document->all->full ? 0 : document->columns, &arena, document->err);
    if (!failed) {
        document->format->table(document, &grid);
        failed = send(document);
    }
    arena_release(&arena);
    return failed;
}

static int write_step(struct document *document, const struct explanation *explanation,
                      const struct step *step)
{
    void (*piece)(struct document *, enum piece, const char *) = document->format->piece;
    piece(document, PIECE_TITLE, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        piece(document, PIECE_FORMULA, step->formulas[i]);
    if (step->note)
        piece(document, PIECE_NOTE, step->note);
    if (send(document))
        return -1;
    for (size_t i = 0; i < step->given_count; i++) {
        const struct given *given = &step->givens[i];
        if (!given->is_shown && (document->all->full || given->is_small) &&
            write_table(document, explanation, &given->table))
            return -1;
    }
    if (step->table.row_count && write_table(document, explanation, &step->table))
        return -1;
    if (step->worked)
        piece(document, PIECE_WORKED, step->worked);
    return send(document);
}

int document_write(const struct document_format *format, struct stream *out,
                   const struct explanations *all, size_t columns, struct err *err)
{
    struct document document = {format, all, out, .columns = columns, .err = err};
    int failed = format->begin(&document) || send(&document);
    for (size_t i = 0; i < all->count && !failed; i++) {
        const struct explanation *explanation = &all->items[i];
        format->query(&document, explanation);
        failed = send(&document);
        for (size_t s = 0; s < explanation->step_count && !failed; s++) {
            document.step = s + 1;
            failed = write_step(&document, explanation, &explanation->steps[s]);
        }
    }
    if (!failed && format->end) {
        format->end(&document);
        failed = send(&document);
    }
    buf_release(&document.text);
    return err_if(failed);
}

const char *explain_token(const struct explanation *explanation)
{
    return explanation->text->labels[explanation->query].exact;
}

/* --- facts ------------------------------------------------------------------------------------ */

static void add_text_fact(struct buf *out, const char *name, const struct tokenized *text,
                          explain_fact *fact)
{
    struct buf visible = {0};
    tokenized_visible(&visible, text);
    fact(out, name, visible.size ? visible.bytes : "", "");
    buf_fail_with(out, &visible);
    buf_release(&visible);
}

void explain_report_facts(struct buf *out, const struct explanation *first, explain_fact *fact)
{
    const struct report *report = first->report;
    const char *language = first->language;
    const struct tokenized model = {.text = report->model, .size = strlen(report->model)};
    add_text_fact(out, say(language, "model"), &model, fact);
    if (report->mechanism)
        fact(out, say(language, "mechanism"), "", report->mechanism);
    add_text_fact(out, say(language, "sentence"), &report->sentence, fact);
    if (report->source.count)
        add_text_fact(out, say(language, "source"), &report->source, fact);
}

void explain_query_words(struct buf *out, const struct explanation *explanation,
                         const char *separator)
{
    if (explanation->part)
        buf_format(out, "%s%s", separator, say(explanation->language, explanation->part->words));
    buf_format(out, say(explanation->language, "%slayer %zu%shead %zu"), separator,
               explanation->layer, separator, explanation->head);
}

void explain_query_facts(struct buf *out, const struct explanation *explanation, explain_fact *fact)
{
    struct buf words = {0};
    const char *language = explanation->language;
    explain_query_words(&words, explanation, ", ");
    fact(out, say(language, "query"), explain_token(explanation), words.size ? words.bytes : "");
    buf_clear(&words);
    buf_format(&words, say(language, "%zu of %zu, with %.2f of the weight"),
               explanation->shown_count, explanation->key_count, (double)explanation->shown_weight);
    if (explanation->shown_count < explanation->key_count)
        fact(out, say(language, "keys shown"), "", words.size ? words.bytes : "");
    buf_fail_with(out, &words);
    buf_release(&words);
}

/* --- formulas in terminal notation: k_j, e^(x - max), √(σ² + ε) ------------------------------- */

/* The unread part of a formula. */
struct rest {
    const char *at, *end;
};

typedef int char_class(int c); /* isalnum and others */

/* The size of a run of such characters, from an offset on. */
static size_t run_of(const struct rest *rest, size_t from, char_class *is)
{
    size_t size = from;
    while (rest->at + size < rest->end && is((unsigned char)rest->at[size]))
        size++;
    return size - from;
}

static bool begins(const struct rest *rest, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(rest->end - rest->at) >= size && memcmp(rest->at, text, size) == 0;
}

static struct rest take(struct rest *rest, size_t size)
{
    struct rest part = *rest;
    part.end = size < (size_t)(rest->end - rest->at) ? rest->at + size : rest->end;
    rest->at = part.end;
    return part;
}

/* Consume one UTF-8 character. */
static struct rest take_character(struct rest *rest)
{
    size_t size = 1;
    while (rest->at + size < rest->end && ((unsigned char)rest->at[size] & 0xc0) == 0x80)
        size++;
    return take(rest, size);
}

/* Consume a parenthesised group and return the text inside (without a ")", all that is left). If no
 * group starts here, consume `bare` bytes. */
static struct rest take_group(struct rest *rest, size_t bare)
{
    size_t depth = 0;
    const char *at = rest->at;
    if (!begins(rest, "("))
        return take(rest, bare);
    for (; at < rest->end; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        if (depth == 0)
            break;
    }
    struct rest group = {rest->at + 1, at};
    rest->at = at + (at < rest->end);
    return group;
}

typedef void add_part(struct buf *out, struct rest part);

/* Append subscripts such as _j, _0, _O,h or _raw_j, separated by commas. */
static void add_indices(struct buf *out, struct rest *rest, add_part *add)
{
    bool more = true;
    while (more) {
        rest->at++;
        add(out, take(rest, run_of(rest, 0, isalnum)));
        more = (begins(rest, "_") || begins(rest, ",")) && run_of(rest, 1, isalnum);
        buf_text(out, more ? "," : "");
    }
}

/* --- formulas as LaTeX ------------------------------------------------------------------------ */

/* Append a number such as 1.00e-05. */
static void add_number(struct buf *out, struct rest *rest)
{
    char digits[NUMERAL_BYTES];
    size_t size = run_of(rest, 0, isdigit);
    if (rest->at + size < rest->end && rest->at[size] == '.')
        size += 1 + run_of(rest, size + 1, isdigit);
    if (rest->end - rest->at > (long)size + 1 && rest->at[size] == 'e' &&
        strchr("+-", rest->at[size + 1]))
        size += 2 + run_of(rest, size + 2, isdigit);
    size = size < sizeof digits ? size : sizeof digits - 1;
    memcpy(digits, rest->at, size);
    digits[size] = '\0';
    numeral_latex(out, digits);
    rest->at += size;
}

/* Append a word or a symbol. A space must end a LaTeX command before a letter. */
static void add_sign(struct buf *out, struct rest sign)
{
    static const char *const signs[][2] = {
        {"·", "\\cdot"},       {"⊙", "\\odot"},          {"γ", "\\gamma"},
        {"β", "\\beta"},       {"ε", "\\varepsilon"},    {"θ", "\\theta"},
        {"π", "\\pi"},         {"φ", "\\varphi"},        {"μ", "\\mu"},
        {"σ", "\\sigma"},      {"Σ", "\\sum"},           {"²", "^2"},
        {"≤", "\\le"},         {"…", "\\dots"},          {"{", "\\{"},
        {"}", "\\}"},          {"inf", "\\infty"},       {"max", "\\max"},
        {"score", "s"},        {"scaled", "\\tilde{s}"}, {"capped", "\\hat{s}"},
        {"moved", "\\bar{s}"}, {"cooled", "\\check{s}"}, {"masked", "m"},
        {"softmax", "p"},      {"share", "a"},           {"weight", "\\alpha"},
        {"context", "z"}};
    bool is_word = isalpha((unsigned char)*sign.at);
    int size = (int)(sign.end - sign.at);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strlen(signs[i][0]) == (size_t)size &&
            memcmp(signs[i][0], sign.at, (size_t)size) == 0) {
            buf_format(out, !is_word && isalpha((unsigned char)*sign.end) ? "%s " : "%s",
                       signs[i][1]);
            return;
        }
    buf_format(out, is_word && size > 1 ? "\\mathrm{%.*s}" : "%.*s", size, sign.at);
}

/* Consume a factor, or a whole sum: e^(x - max), tanh(x), (a + b), Σ_t x_t. */
static struct rest take_operand(struct rest *rest)
{
    const char *first = rest->at;
    int depth = 0;
    bool sum = begins(rest, "Σ");
    for (; rest->at < rest->end && depth >= 0; rest->at++) {
        depth += *rest->at == '(';
        depth -= *rest->at == ')';
        if (depth < 0 || (depth == 0 && !sum && strchr(" ,", *rest->at)))
            break;
        sum = sum && *rest->at != ' ';
    }
    struct rest operand = {first, rest->at};
    struct rest inner = operand;
    struct rest group = take_group(&inner, 0);
    return inner.at == operand.end ? group : operand;
}

static add_part add_latex;

static void add_braces(struct buf *out, const char *before, struct rest part)
{
    buf_text(out, before);
    add_latex(out, part);
    buf_char(out, '}');
}

/* Append a / b as a fraction; false if there is none here. */
static bool add_fraction(struct buf *out, struct rest *rest)
{
    struct rest after = *rest;
    struct rest above = take_operand(&after);
    if (above.at == above.end || !begins(&after, " / "))
        return false;
    after.at += strlen(" / ");
    add_braces(out, "\\frac{", above);
    add_braces(out, "{", take_operand(&after));
    *rest = after;
    return true;
}

static void add_latex(struct buf *out, struct rest rest)
{
    const char *first = rest.at;
    while (rest.at < rest.end) {
        if ((rest.at == first || strchr(" (", rest.at[-1])) && add_fraction(out, &rest))
            continue;
        /* LaTeX would join words */
        bool after_word =
            rest.at > first && (isalnum((unsigned char)rest.at[-1]) || rest.at[-1] == ')');
        if (after_word && *rest.at == ' ' && run_of(&rest, 1, isalnum)) {
            buf_text(out, "\\ ");
            rest.at++;
        } else if (run_of(&rest, 0, isdigit)) {
            add_number(out, &rest);
        } else if (run_of(&rest, 0, isalpha)) {
            add_sign(out, take(&rest, run_of(&rest, 0, isalpha)));
        } else if (*rest.at == '_') {
            buf_text(out, "_{");
            add_indices(out, &rest, add_latex);
            buf_char(out, '}');
        } else if (*rest.at == '^') {
            rest.at++;
            add_braces(out, "^{", take_group(&rest, run_of(&rest, 0, isalnum)));
        } else if (begins(&rest, "√")) {
            rest.at += strlen("√");
            add_braces(out, "\\sqrt{", take_group(&rest, strcspn(rest.at, " /)]")));
        } else {
            add_sign(out, take_character(&rest));
        }
    }
}

void latex_math(struct buf *out, const char *formula)
{
    add_latex(out, (struct rest){formula, formula + strlen(formula)});
}

/* --- formulas as HTML ------------------------------------------------------------------------- */

void html_text(struct buf *out, const char *text, size_t size)
{
    static const char *const entities[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *entity = c < sizeof entities / sizeof *entities ? entities[c] : NULL;
        if (entity)
            buf_text(out, entity);
        else
            buf_char(out, text[i]);
    }
}

/* Append HTML: x is in italics, cos upright. */
static void add_html(struct buf *out, struct rest rest)
{
    while (rest.at < rest.end) {
        size_t size = run_of(&rest, 0, isalnum);
        if (size > 0) {
            const char *form = size == 1 && run_of(&rest, 0, isalpha) ? "<i>%.*s</i>" : "%.*s";
            buf_format(out, form, (int)size, take(&rest, size).at);
        } else if (*rest.at == '_') {
            buf_text(out, "<sub>");
            add_indices(out, &rest, add_html);
            buf_text(out, "</sub>");
        } else if (*rest.at == '^') {
            rest.at++;
            buf_text(out, "<sup>");
            add_html(out, take_group(&rest, run_of(&rest, 0, isalnum)));
            buf_text(out, "</sup>");
        } else if (begins(&rest, "√")) { /* with a bar above all of its operand */
            rest.at += strlen("√");
            buf_text(out, "<math><msqrt><mtext><span>");
            add_html(out, take_group(&rest, strcspn(rest.at, " /)]")));
            buf_text(out, "</span></mtext></msqrt></math>");
        } else if (begins(&rest, " - ")) {
            buf_text(out, " − ");
            rest.at += strlen(" - ");
        } else {
            const struct rest character = take_character(&rest);
            html_text(out, character.at, (size_t)(character.end - character.at));
        }
    }
}

void html_symbol(struct buf *out, const char *symbol, size_t size)
{
    add_html(out, (struct rest){symbol, symbol + size});
}

void html_formula(struct buf *out, const char *formula)
{
    html_symbol(out, formula, strlen(formula));
}
