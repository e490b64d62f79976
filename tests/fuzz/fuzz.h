/* fuzz.h: parsers under bytes that nobody wrote: a target a file, NAME_fuzz.c, which defines
 * fuzz_one; the rest is common.
 *
 * With libFuzzer (`make fuzz`) inputs are made from corpus/NAME by mutation, with clang's
 * sanitizers watching. Without (`make test`) replay.c gives the corpus to the same function.
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
#ifndef ATTN_TESTS_FUZZ_H
#define ATTN_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/folder.h"
#include "text/tokenizer.h"

/* The target: one input, alive until it returns. It may take a second of the processor's time. */
void fuzz_one(const char *bytes, size_t size);

/* What the target's parser has to say. Empty when fuzz_one begins: it is too large to be cleared
 * for every input. */
extern struct err fuzz_err;

/* What the parser refused it must have explained; forgets the message. */
void fuzz_refused(void);

/* End the program, which is a find, where a promise does not hold. */
void fuzz_check(bool holds, const char *promise);

enum { FUZZ_PARTS = 32 };

struct fuzz_parts {
    char *parts[FUZZ_PARTS]; /* each in memory of its own, so that reading past its end is seen */
    size_t sizes[FUZZ_PARTS];
    size_t count;
};

/* Cut an input at its first bytes of 0, of which none is in a part but the last; a part has a 0
 * behind it. */
void fuzz_split(struct fuzz_parts *parts, const char *bytes, size_t size);
void fuzz_release(struct fuzz_parts *parts);

/* Open a folder's tokenizer and let it cut a text with all that tokenizers look out for. */
void fuzz_tokenizer(const struct folder *folder);

/* Cut a text and hold the tokens against it: in its order and within it; with `whole`, their bytes
 * are the text. */
void fuzz_encode(const struct tokenizer *tokenizer, const char *text, size_t size, bool whole);

/* As libFuzzer calls it. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
