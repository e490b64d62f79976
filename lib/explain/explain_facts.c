#include "explain/explain_facts.h"

#include <string.h>

const char *explain_token(const struct explanation *explanation)
{
    return explanation->text->labels[explanation->query].exact;
}

static void add_reading(struct buf *out, const char *name, const struct reading *reading,
                        explain_fact_writer add)
{
    struct buf text = {0};
    reading_visible(&text, reading);
    add(out, &(struct explain_fact){name, text.bytes, text.size, "", false});
    out->out_of_memory |= text.out_of_memory;
    buf_release(&text);
}

static void add_words(struct buf *out, struct explain_fact fact, struct buf *words,
                      explain_fact_writer add)
{
    fact.words = words->size ? words->bytes : "";
    add(out, &fact);
    out->out_of_memory |= words->out_of_memory;
    buf_release(words);
}

static void add_place(struct buf *out, const struct explanation *explanation,
                      explain_fact_writer add)
{
    const char *token = explain_token(explanation);
    struct buf words = {0};
    if (explanation->part)
        buf_format(&words, ", %s", explanation->part->words);
    buf_format(&words, ", layer %zu, head %zu", explanation->layer, explanation->head);
    add_words(out,
              (struct explain_fact){
                  .name = "query", .quoted = token, .size = strlen(token), .is_query = true},
              &words, add);
}

static void add_shown(struct buf *out, const struct explanation *explanation,
                      explain_fact_writer add)
{
    struct buf words = {0};
    buf_format(&words, "%zu of %zu, which have %.2f of the weight", explanation->shown_count,
               explanation->key_count, (double)explanation->shown_weight);
    add_words(out, (struct explain_fact){.name = "keys shown"}, &words, add);
}

void explain_facts_add(struct buf *out, const struct report *report, explain_fact_writer add)
{
    struct reading model = {.text = report->model, .size = strlen(report->model)};
    add_reading(out, "model", &model, add);
    if (report->mechanism)
        add(out, &(struct explain_fact){.name = "mechanism", .words = report->mechanism});
    add_reading(out, "sentence", &report->sentence, add);
    if (report->source.count)
        add_reading(out, "source", &report->source, add);
}

void explain_facts_add_query(struct buf *out, const struct explanation *explanation,
                             explain_fact_writer add)
{
    add_place(out, explanation, add);
    if (explanation->shown_count < explanation->key_count)
        add_shown(out, explanation, add);
}
