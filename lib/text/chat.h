/* chat.h: the chat template of a model: the text around one message of a user, up to where the
 * answer of the model begins.
 *
 * The result equals the output of apply_chat_template in transformers for a list of one message of
 * the user, with add_generation_prompt.
 *
 *     struct chat chat;
 *     if (chat_open(&chat, folder, tokenizer, true, &arena, err) ||
 *         chat_wrap(&chat, &text, &size, &arena, err)) ...
 */
#pragma once

#include "base/memory.h"

struct folder;
struct jinja;
struct tokenizer;

struct chat {
    const char *path; /* the model's folder */
    const struct jinja *template;
    const char *bos, *eos;      /* texts of the BOS and EOS tokens; NULL: there is none */
    bool begins;                /* keep a BOS that the template writes before the text */
    bool dated;                 /* the result depends on the date: SOURCE_DATE_EPOCH, or today */
    const char *before, *after; /* the texts that the template puts before and after a message */
};

/* Read the template of a model's folder: chat_template.jinja, else the member chat_template of
 * tokenizer_config.json (a GGUF file's template is there as well). The arena owns the texts. A
 * folder without a template, and a template that fails on a message, are refused. If
 * `begins`, a BOS that the template writes at the start is kept, else it is removed. */
int chat_open(struct chat *chat, const struct folder *folder, const struct tokenizer *tokenizer,
              bool begins, struct arena *arena, struct err *err);

/* Replace a text by the template's output for it, which is in the arena. */
int chat_wrap(const struct chat *chat, const char **text, size_t *size, struct arena *arena,
              struct err *err);
