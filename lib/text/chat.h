/* chat.h: chat templates of known forms: the text around one message of a user, up to where the
 * answer of the model begins.
 *
 * Templates are programs in Jinja. None is run: a template is recognised by the markers in it, and
 * any other is refused. The ids of the result are those of apply_chat_template in transformers, for
 * a list of one message of the user and with add_generation_prompt.
 *
 *     struct chat chat;
 *     if (chat_open(&chat, folder, tokenizer, true, &arena, err) ||
 *         chat_wrap(&chat, &text, &size, &arena, err)) ...
 */
#pragma once

#include "base/memory.h"

struct folder;
struct tokenizer;

struct chat {
    const char *name;           /* name of the form: "ChatML" */
    const char *before, *after; /* texts around the message */
    bool trims;                 /* white space around the message is removed */
};

/* Read the template of a model's folder: chat_template.jinja, else the member chat_template of
 * tokenizer_config.json (which holds that of a GGUF file, too). The arena owns the texts. A folder
 * without a template and an unknown form are refused as unsupported. If `begins`, the text begins
 * with BOS where the template has it. */
int chat_open(struct chat *chat, const struct folder *folder, const struct tokenizer *tokenizer,
              bool begins, struct arena *arena, struct err *err);

/* Replace a text by the wrapped text, which is in the arena. */
int chat_wrap(const struct chat *chat, const char **text, size_t *size, struct arena *arena,
              struct err *err);
