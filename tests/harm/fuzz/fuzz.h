/* fuzz.h: fuzz targets for parsers. Each target is a file, NAME_fuzz.c, that defines fuzz_one.
 *
 * With `make fuzz` libFuzzer mutates the inputs in corpus/NAME.inputs, with clang's sanitizers. In
 * `make test` replay.c calls fuzz_one with each input of the corpus.
 *
 *     void fuzz_one(const char *bytes, size_t size)
 *     {
 *         struct config config;
 *         if (config_parse(&config, bytes, size, &fuzz_err))
 *             fuzz_refused();
 *         else
 *             fuzz_check(config.n_head > 0, "a model without heads");
 *     }
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "text/tokenizer.h"

/* The target, called with one input. It may take a second of processor time. */
void fuzz_one(const char *bytes, size_t size);

/* For the parser's error; empty when fuzz_one begins. (It is too large to clear for each input.) */
extern struct err fuzz_err;

/* After an error: check that there is a message, and clear it. */
void fuzz_refused(void);

/* Abort, which libFuzzer reports as a bug, unless the promise holds. */
void fuzz_check(bool holds, const char *promise);

/* Change an input at random, also by parts of another one; the same seed makes the same changes. */
struct fuzz_input {
    char *bytes;
    size_t size;
};
void fuzz_mutate(struct fuzz_input *input, const struct fuzz_input *other, uint64_t seed);

enum { FUZZ_PARTS = 32 };

struct fuzz_parts {
    char *parts[FUZZ_PARTS]; /* allocated one by one, so that reading past the end is detected */
    size_t sizes[FUZZ_PARTS];
    size_t count;
};

/* Split an input at its 0 bytes into up to FUZZ_PARTS parts; the last may contain more. Each part
 * is followed by a 0. */
void fuzz_split(struct fuzz_parts *parts, const char *bytes, size_t size);
void fuzz_release(struct fuzz_parts *parts);

/* Open a folder's tokenizer and tokenize a text with all kinds of characters. */
void fuzz_tokenizer(const struct folder *folder);

/* Tokenize a text and check that the tokens' byte ranges are in order and in the text; with
 * `whole`, that the bytes of all tokens are the text. */
void fuzz_encode(const struct tokenizer *tokenizer, const char *text, size_t size, bool whole);

/* Open a folder's model and run a text of three tokens with all tensors watched; or that of a file
 * of weights and the config of `life`. */
void fuzz_model(const struct folder *folder);
void fuzz_weights(const char *name, const char *bytes, size_t size);

/* The functions that libFuzzer calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
