/* tokenizer_facts.c: what there is to say of a tokenizer. */
#include "text/tokenizer_parts.h"

size_t tokenizer_size(const struct tokenizer *tokenizer)
{
    return token_set_size(tokenizer->set);
}

const char *tokenizer_gap(const struct tokenizer *tokenizer)
{
    bool words =
        tokenizer->is_words || tokenizer->pipeline.model.row == &subword_rows[SUBWORD_WORD_LEVEL];
    return words ? " " : "";
}

const char *tokenizer_prefix(const struct tokenizer *tokenizer)
{
    return decoders_prefix(tokenizer->pipeline.decoders);
}

const char *tokenizer_kind(const struct tokenizer *tokenizer)
{
    const struct subword *model = &tokenizer->pipeline.model;
    if (tokenizer->is_words)
        return "words";
    if (model->row == &subword_rows[SUBWORD_BPE])
        return model->bpe.by_characters ? "BPE" : "byte-level BPE";
    return model->row == &subword_rows[SUBWORD_WORD_LEVEL] ? "whole words" : model->row->name;
}

const char *tokenizer_file(const struct tokenizer *tokenizer)
{
    return tokenizer->file;
}

void tokenizer_stages(const struct tokenizer *tokenizer, struct buf *out)
{
    if (!tokenizer->is_words)
        pipeline_stages(&tokenizer->pipeline, out);
}

const struct added_tokens *tokenizer_added(const struct tokenizer *tokenizer)
{
    return &tokenizer->set->added;
}
