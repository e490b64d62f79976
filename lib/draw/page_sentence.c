/* page_sentence.c: a report as the piece of JSON that a page draws. */
#include "base/buf.h"
#include "draw/page_facts.h"
#include "draw/page_values.h"
#include "write/format.h"

/* --- tensors ---------------------------------------------------------------------------------- */

const struct label *page_labels_of(const struct tokenized *tokenized, size_t *count)
{
    *count = tokenized->words ? tokenized->word_count : tokenized->count;
    return tokenized->words ? tokenized->word_labels : tokenized->labels;
}

/* Which labels an axis has. */
static const char *kind_of(const struct report *report, const struct axis *axis)
{
    size_t count = 0;
    const struct label *labels = axis->labels - axis->first;
    if (labels == page_labels_of(&report->sentence, &count))
        return "sentence";
    if (labels == page_labels_of(&report->source, &count))
        return "source";
    return report->words && labels == report->words ? "words" : "numbers";
}

static size_t seen_columns(const struct sheet *sheet, size_t row)
{
    size_t columns = sheet->columns.size;
    return sheet->causal && row + 1 < columns ? row + 1 : columns;
}

size_t page_count_numbers(const struct report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report_sheet_count(report); i++) {
        struct sheet sheet = report_sheet(report, i);
        for (size_t row = 0; row < sheet.rows.size; row++)
            count += seen_columns(&sheet, row);
    }
    return count;
}

static void put_values(struct stream *out, const struct report *report, const struct kept *kept,
                       const struct page_short *code)
{
    struct page_exact exact = {.out = out};
    for (size_t i = 0; i < kept_sheet_count(kept); i++) {
        struct sheet sheet = kept_sheet(report, kept, i);
        for (size_t row = 0; row < sheet.rows.size; row++) {
            for (size_t column = 0; column < seen_columns(&sheet, row); column++) {
                if (code)
                    page_short_put(out, code, sheet_cell(&sheet, row, column));
                else
                    page_exact_put(&exact, sheet_cell(&sheet, row, column));
            }
        }
    }
    page_exact_end(&exact);
}

void page_tensor_put(struct json_writer *json, const struct report *report, const struct kept *kept,
                     bool exact)
{
    struct sheet sheet = kept_sheet(report, kept, 0);
    const size_t shape[] = {kept_sheet_count(kept), sheet.rows.size, sheet.columns.size};
    struct page_short code = page_short_of(kept->data, shape[0] * shape[1] * shape[2]);
    const char *of_layers =
        sheet.mean_of_heads ? "mean of layers · mean of heads" : "mean of layers";
    json_put_open(json, "\n", '{');
    json_put_text(json, "tensor", sheet.tensor);
    json_report_place(json, kept);
    json_put_text(json, "mean_of",
                  sheet.mean_of_layers  ? of_layers
                  : sheet.mean_of_heads ? "mean of heads"
                                        : "");
    json_put_text(json, "rows", sheet.rows.name);
    json_put_text(json, "columns", sheet.columns.name);
    json_put_text(json, "row_labels", kind_of(report, &sheet.rows));
    json_put_text(json, "column_labels", kind_of(report, &sheet.columns));
    json_put_integers(json, "shape", shape, 3);
    json_put_bool(json, "causal", sheet.causal);
    json_put_text(json, "coding", exact ? "exact" : "short");
    if (!exact) {
        json_put_bool(json, "signed", code.has_sign);
        json_put_integer(json, "top", code.top);
    }
    json_put_raw(json, "values", "\"");
    put_values(json->stream, report, kept, exact ? NULL : &code);
    stream_char(json->stream, '"');
    json_put_close(json, '}');
}

/* --- labels ----------------------------------------------------------------------------------- */

/* Without blanks: there may be thousands. */
static void put_labels(struct json_writer *json, const char *name, const struct label *labels,
                       size_t count)
{
    json_put_open(json, name, '[');
    json->compact = true;
    for (size_t i = 0; i < count; i++)
        json_put_text(json, NULL, labels[i].text);
    json->compact = false;
    json_put_close(json, ']');
}

/* The labels of every kind of axis; numbers need none. */
static void put_all_labels(struct json_writer *json, const struct report *report)
{
    size_t first = report->first_shown;
    bool has_source = report->source.count > 0;
    size_t words = 0;
    for (size_t i = 0; i < report->tensor_count && report->words; i++)
        if (site_rows[report->tensors[i].site].axes == AXES_TOKEN_WORD)
            words = report->tensors[i].shape[1];
    size_t count = 0;
    const struct label *labels = page_labels_of(&report->sentence, &count);
    json_put_open(json, "\nlabels", '{');
    put_labels(json, "sentence", labels + first, count - first);
    labels = page_labels_of(&report->source, &count);
    if (has_source)
        put_labels(json, "source", labels + first, count - first);
    if (words)
        put_labels(json, "words", report->words, words);
    json_put_close(json, '}');
}

int page_sentence_put(struct stream *out, const struct report *report, bool exact,
                      const struct page_facts *facts, struct err *err)
{
    struct json_writer json = {.stream = out, .in_html = true};
    struct buf title = {0};
    tokenized_visible(&title, &report->sentence);
    int failed = buf_check(&title, err);
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "model", report->model);
    json_put_bytes(&json, "title", title.bytes ? title.bytes : "", title.size);
    buf_release(&title);
    put_all_labels(&json, report);
    json_put_open(&json, "\ntensors", '[');
    for (size_t i = 0; i < report->tensor_count; i++)
        page_tensor_put(&json, report, &report->tensors[i], exact);
    json_put_close(&json, ']');
    if (facts)
        page_facts_put(&json, facts);
    json_put_close(&json, '}');
    return failed;
}
