/* gguf_tokenizer.c: writes the tokenizer in the keys of a GGUF file as the files that it was made
 * from: a tokenizer.json for a byte-level BPE, Gemma 4's BPE or BERT's WordPiece, or a
 * tokenizer.model for SentencePiece's models; and a tokenizer_config.json. Nothing is written for a
 * GGUF file without a tokenizer. Unsupported features are also written: the reader of these files
 * then refuses them by name, and the model can still be used with ids. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "format/json_writer.h"
#include "model/gguf/gguf_model.h"
#include "text/label.h"
#include "text/builder.h"

#define CHARSMAP "tokenizer.ggml.precompiled_charsmap"

struct vocabulary {
    const struct gguf *gguf;
    const struct gguf_value *tokens, *kinds, *scores, *merges;
};

static unsigned kind_of(const struct vocabulary *vocabulary, size_t id)
{
    double kind = vocabulary->kinds ? gguf_item(vocabulary->kinds, id) : PIECE_NORMAL;
    /* UINT_MAX: the number in the file cannot be a kind of piece */
    return kind >= 0 && kind < UINT_MAX ? (unsigned)kind : UINT_MAX;
}

/* --- a byte-level BPE ------------------------------------------------------------------------- */

/* The stages in which Falcon splits texts, as JSON: at punctuation, then as GPT-2 does, then before
 * and after numbers, and last after every three digits. */
static const char falcon_stages[] =
    "{\"type\": \"Sequence\", \"pretokenizers\": ["
    "{\"type\": \"Punctuation\", \"behavior\": \"Contiguous\"}, "
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": true}, "
    "{\"type\": \"Digits\", \"individual_digits\": false}, "
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"[0-9][0-9][0-9]\"}, "
    "\"behavior\": \"Isolated\"}]}";

#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define TEKKEN(capitals, smalls)                                          \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]" capitals \
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]" smalls "|"

/* The patterns of DeepSeek-V3: one to three digits; Chinese and Japanese characters; everything
 * else. */
#define SPLITS_V3                                                                \
    "\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",                                   \
        "[!-/:-@\\[-`{-~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" \
        " ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES
/* The letters with upper and lower case in the patterns of DeepSeek's first tokenizer. */
#define CASED                                                                                  \
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-Ֆ" \
    "Ⴀ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅ"     \
    "ὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥ"  \
    "ῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎ"   \
    "ↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆ"       \
    "ﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"

/* How a byte-level BPE splits a text into pieces. Later, pairs are merged only within a piece. */
static const struct gguf_pre {
    const char *names;     /* values of tokenizer.ggml.pre, with blanks between and around them */
    int pattern;           /* index in splitter_patterns */
    bool digits;           /* texts are first split at each digit */
    bool composes;         /* texts are normalised to NFC before they are split */
    bool takes_whole;      /* a piece that is a token becomes this token, even if merges would
                            * produce other tokens */
    bool begins;           /* texts begin with the BOS token, unless tokenizer.ggml.add_bos_token is
                            * false */
    const char *stages;    /* all stages of splitting, as JSON, in place of `pattern`, `digits` and
                            * `splits`; or NULL */
    const char *splits[7]; /* patterns that are applied one after another, in place of `pattern`;
                            * ends with NULL */
} pre_rows[] = {
    {" gpt-2 phi-2 mpt exaone4 trillion gigachat mellum granite-docling ", PATTERN_GPT2},
    {" olmo ", PATTERN_GPT2, false, true},
    {" llama-bpe llama3 llama-v3 falcon3 falcon-h1 lfm2 pixtral midm-2.0 ", PATTERN_LLAMA3, false,
     false, true, true},
    {" dbrx chatglm-bpe glm4 ", PATTERN_LLAMA3},         /* also for OLMo 2 and Phi-4 */
    {" smaug-bpe ", PATTERN_LLAMA3, false, false, true}, /* also for SmolLM3 */
    {" qwen2 stablelm2 deepseek-r1-qwen hunyuan ", PATTERN_QWEN2, false, true},
    {" qwen35 ", .composes = true,
     .splits = {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
                " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES}},
    {" smollm starcoder refact exaone minerva-7b ", PATTERN_GPT2, true}, /* also for Granite */
    {" command-r ", PATTERN_GPT2, true, true},
    {" gpt-4o kanana2 ", PATTERN_O200K}, /* also for Phi-4-mini */
    {" tekken ", .takes_whole = true, .begins = true,
     .splits = {TEKKEN("*", "+") TEKKEN("+", "*") /* the pattern of Mistral Nemo */
                "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES}},
    {" seed-coder ", .splits = {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
                                " ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES}},
    {" hunyuan-dense deepseek-v3 joyai-llm ", .splits = {SPLITS_V3}},
    {" deepseek-llm ",
     .splits = {"[\\r\\n]", "\\s?[" CASED "]+", "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+", "\\s+$",
                "[一-龥ࠀ-一가-\ud7ff]+", "\\p{N}"}},
    {" deepseek-coder ",
     .splits = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+", "\\p{N}"}},
    {" falcon ", .stages = falcon_stages},
    {" bloom poro-chat gpt3-finnish ", .splits = {" ?[^(\\s|[.,!?…。，、।۔،])]+"}},
    {" viking ", .splits = {" ?[^(\\s|[.,!?…。，、।۔،])]+", "\\p{N}"}},
};

/* Find the row for the value of tokenizer.ggml.pre. For a file without this key the value is
 * "gpt-2" if its architecture is gpt2, or else "default". *name becomes the value; *row becomes
 * NULL if no row has it. */
static int read_pre(const struct gguf_pre **row, struct gguf_text *name, const struct gguf *gguf,
                    struct err *err)
{
    struct gguf_text architecture = {"", 0};
    char word[64];
    *name = (struct gguf_text){"default", strlen("default")};
    if (gguf_text(gguf, "general.architecture", &architecture, err))
        return -1;
    if (gguf_is(architecture, "gpt2"))
        *name = (struct gguf_text){"gpt-2", strlen("gpt-2")};
    if (gguf_text(gguf, "tokenizer.ggml.pre", name, err))
        return -1;
    snprintf(word, sizeof word, " %.*s ", (int)num_min(name->size, sizeof word), name->bytes);
    bool is_word = strlen(word) == name->size + 2 && strcspn(word + 1, " ") == name->size;
    *row = NULL;
    for (size_t i = 0; i < sizeof pre_rows / sizeof *pre_rows && is_word; i++)
        if (strstr(pre_rows[i].names, word))
            *row = &pre_rows[i];
    return 0;
}

static const char byte_level[] =
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}";

static void put_split(struct json_writer *json, const char *pattern)
{
    json_put_open(json, NULL, '{');
    json_put_text(json, "type", "Split");
    json_put_open(json, "pattern", '{');
    json_put_text(json, "Regex", pattern);
    json_put_close(json, '}');
    json_put_text(json, "behavior", "Isolated");
    json_put_close(json, '}');
}

static void put_pre(struct json_writer *json, const struct gguf_pre *row)
{
    if (row->composes)
        json_put_raw(json, "normalizer", "{\"type\": \"NFC\"}");
    json_put_raw(json, "decoder", byte_level);
    if (row->stages) {
        json_put_raw(json, "pre_tokenizer", row->stages);
        return;
    }
    json_put_open(json, "pre_tokenizer", '{');
    json_put_text(json, "type", "Sequence");
    json_put_open(json, "pretokenizers", '[');
    if (row->digits)
        json_put_raw(json, NULL, "{\"type\": \"Digits\", \"individual_digits\": true}");
    if (!row->splits[0])
        put_split(json, splitter_patterns[row->pattern].pattern);
    for (size_t i = 0; row->splits[i]; i++)
        put_split(json, row->splits[i]);
    json_put_raw(json, NULL, byte_level);
    json_put_close(json, ']');
    json_put_close(json, '}');
}

/* Write a stage with a type that the reader does not know, so that it refuses the stage and shows
 * `name`. The name may have any bytes. */
static int put_unknown(struct json_writer *json, const char *stage, const char *prefix,
                       struct gguf_text name, struct err *err)
{
    struct buf type = {0};
    buf_text(&type, prefix);
    label_line(&type, name.bytes, num_min(name.size, 48));
    json_put_open(json, stage, '{');
    json_put_bytes(json, "type", type.bytes, type.size);
    json_put_close(json, '}');
    int failed = buf_check(&type, err);
    buf_release(&type);
    return failed;
}

/* Write each token with its id, except unused tokens. If `whole` is false, also leave out control
 * tokens and user-defined tokens, since the BPE never produces these from a text. */
static void put_vocab(struct json_writer *json, const struct vocabulary *vocabulary, bool whole)
{
    struct gguf_value rest = *vocabulary->tokens;
    struct gguf_text token;
    json_put_open(json, "vocab", '{');
    for (size_t id = 0; gguf_take_text(&rest, &token); id++) {
        unsigned kind = kind_of(vocabulary, id);
        bool added = kind == PIECE_CONTROL || kind == PIECE_USER_DEFINED;
        if ((added && !whole) || kind == PIECE_UNUSED)
            continue;
        json_put_name(json, token.bytes, token.size);
        json_put_integer(json, NULL, (long long)id);
    }
    json_put_close(json, '}');
}

static void put_added(struct json_writer *json, const struct vocabulary *vocabulary)
{
    struct gguf_value rest = *vocabulary->tokens;
    struct gguf_text token;
    json_put_open(json, "added_tokens", '[');
    for (size_t id = 0; gguf_take_text(&rest, &token); id++) {
        unsigned kind = kind_of(vocabulary, id);
        if (kind != PIECE_CONTROL && kind != PIECE_USER_DEFINED)
            continue;
        json_put_open(json, NULL, '{');
        json_put_integer(json, "id", (long long)id);
        json_put_bytes(json, "content", token.bytes, token.size);
        json_put_bool(json, "special", kind == PIECE_CONTROL);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}

/* Write the vocabulary of a BPE, the pairs that it merges, and the added tokens. */
static void put_pairs(struct json_writer *json, const struct vocabulary *vocabulary, bool whole)
{
    struct gguf_value rest = *vocabulary->merges;
    struct gguf_text merge;
    put_vocab(json, vocabulary, whole);
    json_put_open(json, "merges", '[');
    while (gguf_take_text(&rest, &merge))
        json_put_bytes(json, NULL, merge.bytes, merge.size);
    json_put_close(json, ']');
    json_put_close(json, '}');
    put_added(json, vocabulary);
}

static int put_bpe(struct json_writer *json, const struct vocabulary *vocabulary, struct err *err)
{
    const struct gguf_pre *row = NULL;
    struct gguf_text name;
    if (read_pre(&row, &name, vocabulary->gguf, err))
        return -1;
    if (row)
        put_pre(json, row);
    else if (put_unknown(json, "pre_tokenizer", "tokenizer.ggml.pre=", name, err))
        return -1;
    json_put_open(json, "model", '{');
    json_put_text(json, "type", "BPE");
    json_put_bool(json, "ignore_merges", row && row->takes_whole);
    put_pairs(json, vocabulary, false);
    return 0;
}

/* --- BERT's WordPiece ------------------------------------------------------------------------- */

/* Spell a token as BERT does. llama.cpp puts ▁ before tokens that begin a word and nothing before
 * other tokens; BERT puts nothing before tokens that begin a word and ## before other tokens.
 * Control tokens and [names] are spelled alike by both. Returns whether the token has an ASCII
 * capital letter; false for control tokens and [names]. */
static bool spell(struct buf *out, struct gguf_text token, unsigned kind)
{
    static const char sign[] = "▁";
    size_t signs = strlen(sign);
    bool begins = token.size >= signs && memcmp(token.bytes, sign, signs) == 0;
    bool whole = kind == PIECE_CONTROL ||
                 (token.size > 1 && token.bytes[0] == '[' && token.bytes[token.size - 1] == ']');
    bool capital = false;
    size_t first = !whole && begins ? signs : 0;
    buf_clear(out);
    buf_text(out, whole || begins ? "" : "##");
    buf_bytes(out, token.bytes + first, token.size - first);
    for (size_t i = first; i < token.size && !whole; i++)
        capital = capital || (token.bytes[i] >= 'A' && token.bytes[i] <= 'Z');
    return capital;
}

/* Set *id to the value of `key`, the id of a special token such as [CLS], and `name` to this
 * token's text. If the key is absent *id does not change. */
static int read_role(struct buf *name, long long *id, const char *key,
                     const struct vocabulary *vocabulary, struct err *err)
{
    struct gguf_value rest = *vocabulary->tokens;
    struct gguf_text token = {"", 0};
    if (gguf_integer(vocabulary->gguf, key, 0, (long long)rest.count - 1, id, err))
        return -1;
    for (long long i = 0; i <= *id; i++)
        gguf_take_text(&rest, &token);
    spell(name, token, PIECE_CONTROL);
    return 0;
}

/* Write BERT's WordPiece. If any token has a capital letter, other than control tokens and [names],
 * texts keep their capitals; otherwise texts are changed to lower case. */
static int put_wordpiece(struct json_writer *json, const struct vocabulary *vocabulary,
                         struct err *err)
{
    static const char *const keys[] = {"tokenizer.ggml.unknown_token_id",
                                       "tokenizer.ggml.cls_token_id",
                                       /* misspelled in GGUF files */
                                       "tokenizer.ggml.seperator_token_id"};
    struct gguf_value rest = *vocabulary->tokens;
    struct gguf_text token;
    struct buf name = {0};
    long long ids[] = {100, 101, 102}; /* ids of [UNK], [CLS] and [SEP] that llama.cpp has as
                                        * defaults */
    bool cased = false;
    json_put_open(json, "model", '{');
    json_put_text(json, "type", "WordPiece");
    json_put_text(json, "continuing_subword_prefix", "##");
    json_put_integer(json, "max_input_chars_per_word", 100);
    int failed = read_role(&name, &ids[0], keys[0], vocabulary, err);
    json_put_bytes(json, "unk_token", name.bytes, name.size);
    json_put_open(json, "vocab", '{');
    for (size_t id = 0; gguf_take_text(&rest, &token); id++) {
        cased = spell(&name, token, kind_of(vocabulary, id)) || cased;
        json_put_name(json, name.bytes, name.size);
        json_put_integer(json, NULL, (long long)id);
    }
    json_put_close(json, '}');
    json_put_close(json, '}');
    json_put_raw(json, "normalizer",
                 cased ? "{\"type\": \"BertNormalizer\", \"lowercase\": false}"
                       : "{\"type\": \"BertNormalizer\", \"lowercase\": true}");
    json_put_raw(json, "pre_tokenizer", "{\"type\": \"BertPreTokenizer\"}");
    json_put_raw(json, "decoder",
                 "{\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true}");
    json_put_open(json, "post_processor", '{');
    json_put_text(json, "type", "BertProcessing");
    for (int i = 1; i < 3 && !failed; i++) {
        failed = read_role(&name, &ids[i], keys[i], vocabulary, err);
        json_put_open(json, i == 1 ? "cls" : "sep", '[');
        json_put_bytes(json, NULL, name.bytes, name.size);
        json_put_integer(json, NULL, ids[i]);
        json_put_close(json, ']');
    }
    json_put_close(json, '}');
    put_added(json, vocabulary);
    failed = failed || buf_check(&name, err);
    buf_release(&name);
    return err_if(failed);
}

/* --- Gemma 4's BPE ---------------------------------------------------------------------------- */

/* Write Gemma 4's BPE, which replaces spaces by ▁ and merges pairs in the whole text. Characters
 * without a token are split into bytes. */
static int put_gemma(struct json_writer *json, const struct vocabulary *vocabulary, struct err *err)
{
    struct buf unknown = {0};
    long long id = 3; /* the default of llama.cpp */
    int failed = read_role(&unknown, &id, "tokenizer.ggml.unknown_token_id", vocabulary, err) ||
                 buf_check(&unknown, err);
    json_put_raw(json, "normalizer",
                 "{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"▁\"}");
    json_put_raw(json, "decoder",
                 "{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": "
                 "{\"String\": \"▁\"}, \"content\": \" \"}, {\"type\": \"ByteFallback\"}, "
                 "{\"type\": \"Fuse\"}]}");
    json_put_open(json, "model", '{');
    json_put_text(json, "type", "BPE");
    json_put_bytes(json, "unk_token", unknown.bytes, unknown.size);
    json_put_bool(json, "fuse_unk", true);
    json_put_bool(json, "byte_fallback", true);
    put_pairs(json, vocabulary, true);
    buf_release(&unknown);
    return err_if(failed);
}

/* --- SentencePiece's models ------------------------------------------------------------------- */

/* Protobuf tags: the field number << 3 | the wire type. */
enum {
    MODEL_PIECE = 1 << 3 | 2,
    MODEL_TRAINER = 2 << 3 | 2,
    MODEL_NORMALIZER = 3 << 3 | 2,
    FIELD_TEXT = 1 << 3 | 2,
    FIELD_SCORE = 2 << 3 | 5,
    FIELD_KIND = 3 << 3,
    TRAINER_KIND = 3 << 3,
    TRAINER_FALLS_BACK = 35 << 3,
    NORMALIZER_CHARSMAP = 2 << 3 | 2,
    NORMALIZER_PREFIXES = 3 << 3,
    NORMALIZER_COLLAPSES = 4 << 3,
    NORMALIZER_ESCAPES = 5 << 3,
};

static void put_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_char(out, (char)(value | 0x80));
    buf_char(out, (char)value);
}

static void put_field(struct buf *out, unsigned field, uint64_t value)
{
    put_varint(out, field);
    put_varint(out, value);
}

/* Append `message` to another protobuf message as a field, then empty `message`. */
static void put_message(struct buf *out, unsigned field, struct buf *message)
{
    put_field(out, field, message->size);
    buf_bytes(out, message->bytes, message->size);
    buf_fail_with(out, message);
    buf_clear(message);
}

/* Write a piece of a SentencePiece model. In user-defined tokens of a BPE llama.cpp has spaces,
 * where a tokenizer.model has SentencePiece's sign ▁. */
static void put_piece(struct buf *piece, struct gguf_text token, float score, unsigned kind,
                      bool unigram)
{
    static const char sign[] = "▁";
    size_t blanks = 0;
    for (size_t i = 0; kind == PIECE_USER_DEFINED && !unigram && i < token.size; i++)
        blanks += token.bytes[i] == ' ';
    put_field(piece, FIELD_TEXT, token.size + blanks * (strlen(sign) - 1));
    for (size_t i = 0; i < token.size; i++)
        if (blanks && token.bytes[i] == ' ')
            buf_text(piece, sign);
        else
            buf_char(piece, token.bytes[i]);
    put_varint(piece, FIELD_SCORE);
    buf_bytes(piece, &score, sizeof score);
    put_field(piece, FIELD_KIND, kind);
}

static int write_sentencepiece(struct buf *out, const struct vocabulary *vocabulary, bool unigram,
                               struct err *err)
{
    const struct gguf_value *map = gguf_value(vocabulary->gguf, CHARSMAP);
    struct gguf_value rest = *vocabulary->tokens;
    struct gguf_text token;
    struct buf message = {0};
    bool falls_back = false, prefixes = true, collapses = false;
    if (map && (map->kind != GGUF_ARRAY || map->size != map->count))
        return err_set(err, "key '" CHARSMAP "': expected an array of bytes, found another kind");
    if (!vocabulary->scores)
        return err_set(err, "key 'tokenizer.ggml.scores': expected an array, found nothing");
    if (gguf_bool(vocabulary->gguf, "tokenizer.ggml.add_space_prefix", &prefixes, err) ||
        gguf_bool(vocabulary->gguf, "tokenizer.ggml.remove_extra_whitespaces", &collapses, err))
        return -1;
    for (size_t id = 0; gguf_take_text(&rest, &token); id++) {
        unsigned kind = kind_of(vocabulary, id);
        falls_back = falls_back || kind == PIECE_BYTE;
        if (unigram && kind == PIECE_USER_DEFINED)
            kind = PIECE_CONTROL; /* written as control tokens, such as T5's <extra_id_0>, since
                                   * they are found in a text before the text is normalised */
        put_piece(&message, token, (float)gguf_item(vocabulary->scores, id), kind, unigram);
        put_message(out, MODEL_PIECE, &message);
    }
    put_field(&message, TRAINER_KIND, unigram ? SENTENCEPIECE_UNIGRAM : SENTENCEPIECE_BPE);
    put_field(&message, TRAINER_FALLS_BACK, falls_back);
    put_message(out, MODEL_TRAINER, &message);
    if (map) {
        put_field(&message, NORMALIZER_CHARSMAP, map->size);
        buf_bytes(&message, map->bytes, map->size);
    }
    put_field(&message, NORMALIZER_PREFIXES, prefixes);
    put_field(&message, NORMALIZER_COLLAPSES, collapses);
    put_field(&message, NORMALIZER_ESCAPES, true);
    put_message(out, MODEL_NORMALIZER, &message);
    buf_release(&message);
    return buf_check(out, err);
}

/* --- what all have ---------------------------------------------------------------------------- */

static int check_count(const struct gguf_value *array, size_t count, const char *key,
                       struct err *err)
{
    if (!array || array->count == count)
        return 0;
    return err_set(err, "key '%s': expected %zu items as in tokenizer.ggml.tokens, found %zu", key,
                   count, array->count);
}

static int read_vocabulary(struct vocabulary *vocabulary, const struct gguf *gguf, struct err *err)
{
    *vocabulary = (struct vocabulary){.gguf = gguf};
    if (gguf_array(gguf, "tokenizer.ggml.tokens", GGUF_TEXT, &vocabulary->tokens, err) ||
        gguf_array(gguf, "tokenizer.ggml.token_type", GGUF_I32, &vocabulary->kinds, err) ||
        gguf_array(gguf, "tokenizer.ggml.scores", GGUF_F32, &vocabulary->scores, err) ||
        gguf_array(gguf, "tokenizer.ggml.merges", GGUF_TEXT, &vocabulary->merges, err))
        return -1;
    if (!vocabulary->tokens)
        return err_set(err, "key 'tokenizer.ggml.tokens': expected an array, found nothing");
    size_t count = vocabulary->tokens->count;
    if (check_count(vocabulary->kinds, count, "tokenizer.ggml.token_type", err) ||
        check_count(vocabulary->scores, count, "tokenizer.ggml.scores", err))
        return -1;
    struct gguf_value rest = *vocabulary->tokens;
    struct gguf_text token;
    for (size_t id = 0; gguf_take_text(&rest, &token); id++) {
        if (utf8_invalid_at(token.bytes, token.size) < token.size)
            return err_set(err, "key 'tokenizer.ggml.tokens': item %zu: expected a text in UTF-8",
                           id);
        if (kind_of(vocabulary, id) - PIECE_NORMAL > PIECE_BYTE - PIECE_NORMAL)
            return err_set(err,
                           "key 'tokenizer.ggml.token_type': item %zu: expected a number from "
                           "%d to %d, found another",
                           id, PIECE_NORMAL, PIECE_BYTE);
    }
    return 0;
}

/* Write the token whose id is the value of `key` as member `name`; nothing if the key is absent. */
static int put_role(struct json_writer *json, const char *name, const char *key,
                    const struct vocabulary *vocabulary, struct err *err)
{
    struct gguf_value rest = *vocabulary->tokens;
    struct gguf_text token = {"", 0};
    long long id = -1;
    if (gguf_integer(vocabulary->gguf, key, 0, UINT32_MAX, &id, err))
        return -1;
    if (id >= (long long)rest.count)
        return err_set(err, "key '%s': expected an id below %zu, found %lld", key, rest.count, id);
    for (long long i = 0; i <= id; i++)
        gguf_take_text(&rest, &token);
    if (id < 0)
        return 0;
    json_put_bytes(json, name, token.bytes, token.size);
    return 0;
}

static int write_roles(struct buf *out, const struct vocabulary *vocabulary, bool begins, bool ends,
                       struct err *err)
{
    const struct gguf *gguf = vocabulary->gguf;
    const struct gguf_pre *row = NULL;
    struct gguf_text name;
    struct json_writer json = {.buf = out};
    if (read_pre(&row, &name, gguf, err))
        return -1;
    begins = begins || (row && row->begins);
    struct gguf_text template = {0};
    if (gguf_text(gguf, "tokenizer.chat_template", &template, err) ||
        gguf_bool(gguf, "tokenizer.ggml.add_bos_token", &begins, err) ||
        gguf_bool(gguf, "tokenizer.ggml.add_eos_token", &ends, err))
        return -1;
    json_put_open(&json, NULL, '{');
    if (put_role(&json, "bos_token", "tokenizer.ggml.bos_token_id", vocabulary, err) ||
        put_role(&json, "eos_token", "tokenizer.ggml.eos_token_id", vocabulary, err))
        return -1;
    json_put_bool(&json, "add_bos_token", begins);
    json_put_bool(&json, "add_eos_token", ends);
    if (template.size)
        json_put_bytes(&json, "chat_template", template.bytes, template.size);
    json_put_close(&json, '}');
    return buf_check(out, err);
}

int gguf_write_tokenizer(struct gguf_tokenizer *out, const struct gguf *gguf, struct err *err)
{
    struct vocabulary vocabulary;
    struct gguf_text model = {"none", strlen("none")};
    if (gguf_text(gguf, "tokenizer.ggml.model", &model, err))
        return -1;
    if (gguf_is(model, "none") || gguf_is(model, "no_vocab"))
        return 0;
    bool bpe = gguf_is(model, "llama"), unigram = gguf_is(model, "t5");
    struct json_writer json = {.buf = &out->file};
    if (read_vocabulary(&vocabulary, gguf, err))
        return -1;
    if (bpe || unigram) {
        out->name = "tokenizer.model";
        if (write_sentencepiece(&out->file, &vocabulary, unigram, err))
            return -1;
    } else {
        out->name = "tokenizer.json";
        json_put_open(&json, NULL, '{');
        bool gemma = gguf_is(model, "gemma4");
        if ((gemma || gguf_is(model, "gpt2")) && !vocabulary.merges)
            return err_set(err, "key 'tokenizer.ggml.merges': expected an array, found nothing");
        if (gemma                    ? put_gemma(&json, &vocabulary, err)
            : gguf_is(model, "gpt2") ? put_bpe(&json, &vocabulary, err)
            : gguf_is(model, "bert") ? put_wordpiece(&json, &vocabulary, err)
                                     : put_unknown(&json, "model", "", model, err))
            return -1;
        json_put_close(&json, '}');
    }
    return err_if(
        buf_check(&out->file, err) ||
        write_roles(&out->config, &vocabulary, bpe || gguf_is(model, "gemma4"), unigram, err));
}
