/* A text for vocabularies of words: with an unknown token, without, and of whole words. */
#include "fuzz.h"

#include <string.h>

#define WORDS                                                                              \
    "\"Life\", \"is\", \"short\", \",\", \"don't\", \"...\", \" \", \"New York\", "        \
    "\"\xe6\x88\x91\", \"\xe7\x88\xb1\", \"\xe8\x87\xaa\xe7\x84\xb6\", "                   \
    "\"\xe8\xaf\xad\xe8\xa8\x80\", \"C++\", \"a\", \"aa\", \"aab\", \"\xc3\xa9\", \"e\", " \
    "\"\xf0\x9f\x91\xa9\""

static const struct {
    const char *name, *text;
} vocabularies[] = {
    {"vocab.json", "[" WORDS "]"},
    {"vocab.json", "[\"<unk>\", " WORDS "]"},
    {"tokenizer.json",
     "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1, "
     "\"Life\": 2, \",\": 3}}, \"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"added_tokens\": "
     "[{\"id\": 4, \"content\": \"<s>\", \"special\": true, \"lstrip\": true, \"rstrip\": true, "
     "\"normalized\": false, \"single_word\": true}]}"},
};

enum { VOCABULARIES = sizeof vocabularies / sizeof *vocabularies };

static void open_all(struct tokenizer **tokenizers)
{
    for (size_t i = 0; i < VOCABULARIES; i++) {
        const char *text = vocabularies[i].text;
        struct folder_file file = {vocabularies[i].name, text, strlen(text)};
        struct folder folder = {"folder", &file, 1};
        fuzz_check(!tokenizer_open(&tokenizers[i], &folder, &fuzz_err), "a vocabulary");
    }
}

void fuzz_one(const char *bytes, size_t size)
{
    static struct tokenizer *tokenizers[VOCABULARIES];
    if (!tokenizers[0])
        open_all(tokenizers);
    fuzz_encode(tokenizers[size % VOCABULARIES], bytes, size, false);
}
