/* page_sentence.c: a report as the piece of JSON that a page draws. */
#include <string.h>

#include "base/buf.h"
#include "draw/page_facts.h"

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

/* Where the text of a place ends: what stands between two belongs to the one after it. */
static size_t end_of(const struct tokenized *tokenized, size_t place)
{
    size_t token = place;
    if (tokenized->words)
        token = tokenized->words[place].first + tokenized->words[place].count - 1;
    return tokenized->tokens[token].end;
}

/* The text itself, cut where its places begin; without a text, their names. */
static void put_plain(struct json_writer *json, const char *name, const struct tokenized *tokenized,
                      size_t first)
{
    size_t count = 0;
    const struct label *labels = page_labels_of(tokenized, &count);
    size_t start = tokenized->text && first ? end_of(tokenized, first - 1) : 0;
    json_put_open(json, name, '[');
    json->compact = true;
    for (size_t i = first; i < count; i++) {
        const char *text = labels[i].plain;
        size_t size = strlen(text);
        if (tokenized->text && end_of(tokenized, i) > start) {
            text = tokenized->text + start;
            size = end_of(tokenized, i) - start;
            start += size;
        }
        json_put_bytes(json, NULL, text, size);
    }
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
    json_put_open(json, "\nplain", '{');
    put_plain(json, "sentence", &report->sentence, first);
    if (has_source)
        put_plain(json, "source", &report->source, first);
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
