/* Tokenizers: tokenizer.json of all models, vocab.json with and without merges.txt. */
#include <string.h>

#include "json_change.h"
#include "kind.h"
#include "lines_change.h"
#include "odd.h"
#include "specimens.h"

static const char words_json[] =
    "{\"version\": \"1.0\", \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": "
    "{\"?\": 0, \"a\": 1, \"Life\": 2, \",\": 3}}, \"pre_tokenizer\": {\"type\": \"Whitespace\"}, "
    "\"truncation\": {\"max_length\": 3, \"strategy\": \"LongestFirst\"}, \"added_tokens\": "
    "[{\"id\": 4, \"content\": \"<s>\", \"special\": true, \"lstrip\": true, \"rstrip\": true, "
    "\"normalized\": false, \"single_word\": true}]}";

static const char bytes_json[] =
    "{\"version\": \"1.0\", \"added_tokens\": [{\"id\": 8, \"content\": \"<|endoftext|>\", "
    "\"special\": true}, {\"id\": 9, \"content\": \"<|x|>\", \"lstrip\": true}], \"normalizer\": "
    "null, \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": "
    "\"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true}]}, \"model\": {\"type\": "
    "\"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"\xc4\xa0\": 3, \"ab\": 4, \"\xc4\xa0"
    "a\": 5, \"aba\": 6, \"aa\": 7}, \"merges\": [\"a b\", [\"\xc4\xa0\", \"a\"], \"ab a\", "
    "\"a a\"]}}";

static const char characters_json[] =
    "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFKC\"}, {\"type\": "
    "\"Prepend\", \"prepend\": \"\xe2\x96\x81\"}, {\"type\": \"Replace\", \"pattern\": "
    "{\"String\": "
    "\" \"}, \"content\": \"\xe2\x96\x81\"}]}, \"added_tokens\": [{\"id\": 7, \"content\": "
    "\"<|endoftext|>\", \"normalized\": true}], \"model\": {\"type\": \"BPE\", \"unk_token\": "
    "\"?\", \"fuse_unk\": true, \"byte_fallback\": true, \"ignore_merges\": false, \"vocab\": "
    "{\"?\": 0, \"\xe2\x96\x81\": 1, \"a\": 2, \"b\": 3, \"\xe2\x96\x81"
    "a\": 4, \"<0xF0>\": 5, \"ab\": 6}, \"merges\": [[\"a\", \"b\"], [\"\xe2\x96\x81\", \"a\"]]}}";

static const char unigram_json[] =
    "{\"normalizer\": {\"type\": \"BertNormalizer\", \"strip_accents\": null}, "
    "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", "
    "\"pattern\": {\"Regex\": \"[0-9]+|\\\\s\"}, \"behavior\": \"MergedWithNext\", \"invert\": "
    "false}, {\"type\": \"Digits\", \"individual_digits\": true}, {\"type\": \"Metaspace\", "
    "\"prepend_scheme\": \"first\", \"split\": true}]}, \"model\": {\"type\": \"Unigram\", "
    "\"unk_id\": 0, \"byte_fallback\": false, \"vocab\": [[\"?\", 0], [\"\xe2\x96\x81\", -1.5], "
    "[\"a\", -2], [\"ab\", -2.5], [\"\xe2\x96\x81"
    "a\", -3]]}}";

static const char pieces_json[] =
    "{\"normalizer\": {\"type\": \"Lowercase\"}, \"pre_tokenizer\": {\"type\": "
    "\"BertPreTokenizer\"}, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
    "\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 8, \"vocab\": "
    "{\"[UNK]\": 0, \"a\": 1, \"##b\": 2, \"##a\": 3, \"aba\": 4, \"life\": 5}}}";

static const char vocab_json[] = "{\"Life\": 0, \"is\": 1, \"short\": 2, \",\": 3, \"don't\": 4, "
                                 "\"New York\": 5, \"\xe6\x88\x91\": 6, \"<unk>\": 7, \"a\": 8}";

static const char texts[] =
    "Hello, the <|endoftext|> w\xc3\xb6rld  don't\n 123 \xe6\x88\x91\xe7\x88\xb1 ab<unk>abab "
    "Life is <s> short<|x|> aaaaaaaa \xf0\x9f\x91\xa9 New York\t\r\n";

/* For those that have no bytes but these. */
static const char letters[] = "ab a aba <|endoftext|>b ab<|x|>aab  <|end|> aa\n";

static struct folder bpe, json;

int tokenizers_open(const char *scratch, struct err *err)
{
    (void)scratch;
    return specimens_read(&bpe, "tests/bpe", "m", err) ||
           specimens_read(&json, "tests/break/json", "m", err);
}

/* --- what there is to begin with -------------------------------------------------------------- */

static void begin(struct made *made)
{
    switch (made_below(made, 9)) {
    case 0:
        made_copy(made, bpe.files, bpe.file_count);
        break;
    case 1:
        made_copy(made, json.files, json.file_count);
        break;
    case 2:
        made_text(made, "m/tokenizer.json", words_json);
        break;
    case 3:
        made_text(made, "m/vocab.json", vocab_json);
        break;
    case 4:
        made_text(made, "m/tokenizer.json", bytes_json);
        break;
    case 5:
        made_text(made, "m/tokenizer.json", characters_json);
        break;
    case 6:
        made_text(made, "m/tokenizer.json", unigram_json);
        break;
    case 7:
        made_text(made, "m/tokenizer.json", pieces_json);
        break;
    default:
        made_text(made, "m/vocab.json", "{\"a\": 0, \"b\": 1, \"ab\": 2, \"<|endoftext|>\": 3}");
        made_text(made, "m/merges.txt", "#version: 0.2\na b\n");
        made_text(made, "m/tokenizer_config.json",
                  "{\"add_prefix_space\": true, \"bos_token\": {\"content\": \"<|endoftext|>\"}}");
        made_text(made, "m/added_tokens.json", "{\"<|x|>\": 4}");
    }
    made_text(made, "t", made_one_in(made, 2) ? texts : letters);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void change_file(struct made *made)
{
    static const char *const names[] = {"m/tokenizer.json", "m/vocab.json", "m/merges.txt",
                                        "m/tokenizer_config.json", "m/added_tokens.json"};
    struct folder_file *file = NULL;
    struct buf text = {0};
    while (!file)
        file = made_find(made, MADE_PICK(made, names));
    if (strstr(file->name, "merges") || !json_change(&text, file->bytes, file->size, made))
        lines_change(&text, file->bytes, file->size, made);
    made_take(made, file, &text);
}

/* Letters that merge into longer and longer ones: a, aa, aaaa, …, or by one. */
static void make_chain(struct made *made)
{
    static const size_t depths[] = {1, 5, 12, 16};
    size_t depth = MADE_PICK(made, depths);
    bool doubling = made_one_in(made, 2);
    struct buf vocabulary = {0}, merges = {0}, text = {0};
    buf_text(&vocabulary, "{\"a\": 0");
    for (size_t i = 1; i <= depth; i++) {
        size_t half = doubling ? (size_t)1 << (i - 1) : i;
        size_t more = doubling ? half : 1;
        buf_text(&vocabulary, ", \"");
        buf_fill(&vocabulary, 'a', half + more);
        buf_format(&vocabulary, "\": %zu", i);
        buf_fill(&merges, 'a', half);
        buf_char(&merges, ' ');
        buf_fill(&merges, 'a', more);
        buf_char(&merges, '\n');
    }
    buf_char(&vocabulary, '}');
    buf_fill(&text, 'a', 1 + made_below(made, made_one_in(made, 8) ? 200000 : 2000));
    made->file_count = 0;
    made_take(made, made_text(made, "m/vocab.json", ""), &vocabulary);
    made_take(made, made_text(made, "m/merges.txt", ""), &merges);
    made_take(made, made_text(made, "t", ""), &text);
}

/* Words that begin alike, or have blanks and marks in them. */
static void make_words(struct made *made)
{
    static const size_t counts[] = {1, 10, 300, 4000};
    size_t count = MADE_PICK(made, counts);
    const char *stem = odd_text(made);
    struct buf vocabulary = {0}, text = {0};
    bool plain = !strpbrk(stem, "\"\\") && strlen(stem) < 16;
    for (const char *at = stem; *at; at++)
        plain = plain && (unsigned char)*at >= ' ';
    buf_char(&vocabulary, '[');
    for (size_t i = 0; i < count; i++)
        buf_format(&vocabulary, "%s\"%s%.*s%zu\"", i ? ", " : "", plain ? stem : "a", (int)(i % 9),
                   "aaaaaaaaa", made_one_in(made, 50) ? 0 : i);
    buf_char(&vocabulary, ']');
    for (size_t i = 0; i < 300; i++)
        buf_format(&text, "%s%.*s%zu%s", plain ? stem : "a", (int)(i % 9), "aaaaaaaaa", i,
                   i % 3 ? " " : "");
    made->file_count = 0;
    made_take(made, made_text(made, "m/vocab.json", ""), &vocabulary);
    made_take(made, made_text(made, "t", ""), &text);
}

static void change_text(struct made *made)
{
    struct buf text = {0};
    struct folder_file *file = made_find(made, "t");
    lines_change(&text, file->bytes, file->size, made);
    made_take(made, file, &text);
}

void tokenizers_make(struct made *made)
{
    static void (*const changes[])(struct made *) = {
        change_file, change_file, change_file, change_file, make_chain, make_words, change_text};
    static const char *const ways[] = {"", "", "--ids", "--bos", "--no-special", "--format json"};
    begin(made);
    MADE_PICK(made, changes)(made);
    made_line(made, "tokenize -m m -q -f t %s", MADE_PICK(made, ways));
    made_text(made, "ids", made_one_in(made, 4) ? "0 1 2 3 4 8 4 1 0\n" : "0 1 2 0\n");
    if (made_one_in(made, 3))
        made_line(made, "tokenize -m m -q --decode -f ids");
}
