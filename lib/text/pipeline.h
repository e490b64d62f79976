/* pipeline.h: a tokenizer as Hugging Face saves it, with the same ids: one tokenizer.json, or
 * vocab.json and merges.txt, which stand for stages like GPT-2's. What would give other ids is
 * refused by its name.
 *
 *     struct pipeline pipeline = {0};
 *     if (pipeline_open_json(&pipeline, folder, err)) ...
 *     pipeline_release(&pipeline);
 */
#ifndef ATTN_TEXT_PIPELINE_H
#define ATTN_TEXT_PIPELINE_H

#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/subword/subword.h"
#include "text/token_set.h"
#include "text/tokenizer.h"

struct buf;
struct folder;

struct pipeline {
    struct token_set set;
    struct normalizer *normalizers;
    struct pre_tokenizer *pre_tokenizers;
    struct subword model;
    struct special_ids special; /* that go around a text */
    struct decoder_step *decoders;
    bool is_spelt;        /* pieces come in GPT-2's alphabet: something follows on ByteLevel */
    long long truncation; /* tokens that other programs leave of a text; 0: all */
    bool pads;            /* they put tokens after short texts */
    struct arena arena;
};

/* Read the folder's tokenizer.json, and what pipeline_read_listed adds; errors name the file and
 * the field. On failure nothing is held. */
int pipeline_open_json(struct pipeline *pipeline, const struct folder *folder, struct err *err);

/* Read vocab.json and merges.txt; and the added tokens from tokenizer_config.json, else from
 * added_tokens.json, and those that have a name. Its `tokenizer_class` says how texts are cut; one
 * that is not known is not supported. On failure nothing is held. */
int pipeline_open_merges(struct pipeline *pipeline, const struct folder *folder, struct err *err);

/* Read a model of SentencePiece's own, of either name. On failure nothing is held. */
int pipeline_open_sentencepiece(struct pipeline *pipeline, const struct folder *folder,
                                const char *name, struct err *err);

/* Why a file of tiktoken's, a line of base64 and a rank for each word, is refused. */
#define RANK_FILE_WHY "rank files are not supported: save a tokenizer.json with transformers"

/* Take the added tokens that tokenizer_config.json lists, else those of added_tokens.json; those
 * that are there stay, but for one with the same id. The second then makes special tokens of those,
 * and of words, that tokenizer_config.json or special_tokens_map.json names by what they are for,
 * `pad_token` and its like; `<|endoftext|>` is GPT-2's where neither says otherwise. */
int pipeline_read_added(struct pipeline *pipeline, const struct folder *folder, struct err *err);
int pipeline_read_special(struct pipeline *pipeline, const struct folder *folder, struct err *err);

/* Take what tokenizer_config.json lists beside a tokenizer.json, in the order of its ids, as
 * transformers does: a token of the same text gets its properties, and stays special; a word keeps
 * its id, and another gets the next one that is free, whatever its id there. */
int pipeline_read_listed(struct pipeline *pipeline, const struct folder *folder, struct err *err);

/* What is looked for in a text that was normalized is normalized itself. */
int pipeline_normalize_token(struct pipeline *pipeline, struct added_token *token, struct err *err);

void pipeline_release(struct pipeline *pipeline);

/* Append the names of all that a text goes through: "NFC, Split (llama3), ByteLevel, BPE". */
void pipeline_stages(const struct pipeline *pipeline, struct buf *out);

#endif
