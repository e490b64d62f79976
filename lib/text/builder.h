/* builder.h: a tokenizer as the files of a folder describe it: added tokens, normalizers,
 * pre-tokenizers, a model with its words, tokens around a text, and decoders. Each kind of file has
 * one function that fills the same struct. A setting that would give other ids than Hugging Face's
 * library is refused, and the error names it. tokenizer.c has the functions for which no other file
 * is named.
 *
 *     struct tokenizer tokenizer;
 *     if (tokenizer_fill(&tokenizer, folder, err)) ...
 *     tokenizer_release(&tokenizer);
 *
 * Other modules use tokenizer.h. */
#pragma once

#include "text/decoder.h"
#include "text/post_processor.h"
#include "text/subword/subword.h"
#include "text/token_set.h"
#include "text/tokenizer.h"

struct file;

enum answer { ANSWER_NONE, ANSWER_NO, ANSWER_YES };

/* Keys of tokenizer_config.json and special_tokens_map.json that name a token by its use. */
enum named_token {
    NAMED_BOS,
    NAMED_EOS,
    NAMED_UNK,
    NAMED_SEP,
    NAMED_PAD,
    NAMED_CLS,
    NAMED_MASK,
    NAMED_TOKENS
};

enum { EXTRA_IDS_MOST = 1000 }; /* the largest accepted value of `extra_ids` */

/* The contents of tokenizer_config.json. A member that is null counts as absent, except in
 * `named`. */
struct tokenizer_config {
    const char *tokens[TOKEN_ROLES]; /* text of the token with each role, or the `content` of its
                                      * object; NULL: no such token */
    enum answer adds[TOKEN_ROLES];   /* the keys add_bos_token and add_eos_token, by role */
    enum answer prefixes;            /* the key add_prefix_space */
    enum answer legacy;              /* the key legacy; ANSWER_NO: SentencePiece adds no blank after
                                      * added tokens */
    enum answer lowers, spaces, strips; /* the keys do_lower_case, tokenize_chinese_chars,
                                         * strip_accents */
    enum answer splits_special;         /* the key split_special_tokens: special tokens in texts are
                                         * treated as text */
    enum answer separate;               /* the key separate_vocabs: Marian's target texts have a
                                         * vocabulary of their own */
    enum answer keeps_accents;          /* the key keep_accents, of ALBERT */
    enum answer language_ends;          /* the key legacy_behaviour, of NLLB: the language's token
                                         * comes after the text */
    long long extra_ids;                /* number of the tokens <extra_id_N> of T5; 100 if the file
                                         * does not say */
    const char *class;                  /* the key tokenizer_class; "": the key is absent */
    const char *languages[2];           /* the keys src_lang and tgt_lang; NULL: absent */
    const char *language_codes;         /* the key language_codes, such as "m2m100"; NULL: absent */
    const char *chat_template;          /* the key chat_template, in Jinja; NULL: absent */
    struct added_token *listed;         /* `listed_count` tokens of added_tokens_decoder */
    size_t listed_count;
    struct added_token named[NAMED_TOKENS]; /* `bytes` is NULL if no file has the key, "" if its
                                             * value is null or empty */
    struct added_token *extra;              /* `extra_count` tokens of additional_special_tokens or
                                             * extra_special_tokens */
    size_t extra_count;
};

/* Tokens for people, for vocabularies that write blanks as signs and bytes as numbers: "▁the" is
 * displayed as " the", "<0xE2>" as the byte 0xE2. */
struct display_tokens {
    struct stored_word *stored; /* `count` displayed words by id; NULL: words are displayed
                                 * unchanged */
    size_t count;
    const char *bytes;
};

struct tokenizer {
    struct tokenizer_facts facts; /* `file` is NULL if the folder has no tokenizer */
    struct token_set set;
    struct stage *normalizers, *pre_tokenizers, *decoders;
    struct subword model;
    struct word_table pieces;        /* the pieces of Marian's or M2M-100's model, while `set` has
                                      * the vocabulary */
    struct tokenizer *source;        /* tokenizer of an encoder-decoder's source texts; NULL: the
                                      * same as for target texts */
    struct text_templates templates; /* the special tokens around texts, as the files define them */
    bool encoded_pieces;             /* the model gets pieces whose bytes are written in GPT-2's
                                      * alphabet */
    struct tokenizer_config config;
    struct display_tokens display;
    struct arena arena;

    bool literal_special;       /* special tokens in a text are encoded as text */
    struct text_templates used; /* the special tokens that are now put around texts; at first, there
                                 * are none */
};

/* Fill a tokenizer from the first supported file of the folder. On failure, no memory is held. */
int tokenizer_fill(struct tokenizer *tokenizer, const struct folder *folder, struct err *err);
void tokenizer_release(struct tokenizer *tokenizer);

/* Functions that each read one kind of file, in tokenizer_json.c, sentencepiece.c,
 * sentencepiece_classes.c and vocab_files.c. tokenizer_fill_marian and tokenizer_fill_m2m also make
 * the tokenizer of source texts. */
typedef int tokenizer_filler(struct tokenizer *tokenizer, const struct folder *folder,
                             const char *name, struct err *err);
tokenizer_filler tokenizer_fill_json, tokenizer_fill_sentencepiece, tokenizer_fill_marian,
    tokenizer_fill_m2m, tokenizer_fill_deberta, tokenizer_fill_class, tokenizer_fill_vocab,
    tokenizer_fill_lines;

/* Read the words of a vocab.json (defined in vocab_files.c). */
int tokenizer_read_words(void *tokenizer, const struct file *file, struct err *err);

/* tokenizer_json.c: tokenizer_parse_json reads a whole tokenizer.json. tokenizer_parse_stages reads
 * the stages in `text`, a tokenizer.json without a model, and releases `text`. */
int tokenizer_parse_json(struct tokenizer *tokenizer, const char *bytes, size_t size,
                         struct err *err);
int tokenizer_parse_stages(struct tokenizer *tokenizer, struct buf *text, struct err *err);

/* The types of pieces in SentencePiece's models, and of tokens in GGUF files. */
enum sentencepiece_kind {
    PIECE_NORMAL = 1,
    PIECE_UNKNOWN,
    PIECE_CONTROL,
    PIECE_USER_DEFINED,
    PIECE_UNUSED,
    PIECE_BYTE,
};

enum { SENTENCEPIECE_UNIGRAM = 1, SENTENCEPIECE_BPE = 2 };

/* Reason for refusing a file of tiktoken, which has a word in base64 and a rank on each line. */
#define RANK_FILE_WHY "rank files are not supported: save a tokenizer.json with transformers"

/* Reason for refusing a file that each class of transformers reads in its own way. */
#define OTHER_FILE_WHY \
    "this tokenizer needs its own Python code: save a tokenizer.json with transformers"

/* --- tokenizer_config.json and its companions: tokenizer_config.c --- */

/* Parts of tokenizer_config.json that are read and checked only for tokenizers that need them. */
enum config_part { CONFIG_LISTED = 1, CONFIG_NAMED = 2 };

int tokenizer_config_read(struct tokenizer *tokenizer, const struct folder *folder, unsigned parts,
                          struct err *err);

/* Read the model_type of config.json; "" if there is none, or one that is too long for `type`. */
enum { MODEL_TYPE_BYTES = 32 };
int tokenizer_model_type(char type[MODEL_TYPE_BYTES], const struct folder *folder, struct err *err);

/* Add the tokens of added_tokens_decoder to the tokenizer's added tokens and, if none of them has a
 * new id, also the tokens of added_tokens.json. A token replaces an added token of the same id. */
int tokenizer_add_listed(struct tokenizer *tokenizer, const struct folder *folder, struct err *err);

/* Add the tokens of added_tokens_decoder to the added tokens of a tokenizer.json, in the order of
 * ids, as transformers does. A token with the text of an added token replaces its properties, but a
 * special token stays special; a token with the text of a word gets the word's id; any other token
 * gets the next free id, whatever its id in the file is. */
int tokenizer_merge_listed(struct tokenizer *tokenizer, const struct folder *folder,
                           struct err *err);

/* Mark as special the tokens and words that tokenizer_config.json or special_tokens_map.json name
 * by their use (`pad_token`) or list as additional. BOS, EOS and UNK are `<|endoftext|>` if not
 * named. */
int tokenizer_add_named(struct tokenizer *tokenizer, const struct folder *folder, struct err *err);

/* tokenizer_name_usual gives each token that no file names its name in `usual`.
 * tokenizer_find_named finds the id of a named token; if there is no such token, the error names
 * `file`. */
void tokenizer_name_usual(struct tokenizer *tokenizer, const char *const usual[NAMED_TOKENS]);
int tokenizer_find_named(uint32_t *id, const struct tokenizer *tokenizer, enum named_token token,
                         const struct folder *folder, const char *file, struct err *err);

/* True for a class that puts BOS before texts if `add_bos_token` is absent. */
bool tokenizer_config_begins(const struct tokenizer_config *config);

/* tokenizer_json.c: set the pattern of an added token that is searched for in normalized text. */
int tokenizer_normalize_token(struct tokenizer *tokenizer, struct added_token *token,
                              struct err *err);
