#include "text/chat.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "text/builder.h"

/* A form is recognised by markers that its template has, and one that it must not have. In the
 * texts around a message, \1 is the end-of-text token and \2 the default system message. */
#define CHATML_END "<|im_end|>\n<|im_start|>assistant\n"
#define GEMMA_BEGIN "<start_of_turn>user\n"
#define GEMMA_END "<end_of_turn>\n<start_of_turn>model\n"
#define HEADER_ID "<|start_header_id|>"
#define HEADER(role) HEADER_ID role "<|end_header_id|>\n\n"
#define LLAMA_3_END "<|eot_id|>" HEADER("assistant")
#define LLAMA_3_1_BEGIN \
    HEADER("system")    \
    "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|>" HEADER("user")

static const struct chat_form {
    const char *name, *markers[2], *without, *before, *after;
    bool trims; /* white space around the message, if the template has trim or .strip() */
} forms[] = {
    {"ChatML", {"<|im_start|>", "<|im_end|>"}, "<|im_sep|>", "\2<|im_start|>user\n", CHATML_END},
    {"Llama 3.1", {HEADER_ID, "Cutting Knowledge"}, NULL, LLAMA_3_1_BEGIN, LLAMA_3_END, true},
    {"Llama 3", {HEADER_ID, "<|eot_id|>"}, "Today Date", HEADER("user"), LLAMA_3_END, true},
    {"Gemma", {"<start_of_turn>", "<end_of_turn>"}, NULL, GEMMA_BEGIN, GEMMA_END, true},
    {"Phi-3", {"<|user|>", "<|end|>"}, NULL, "<|user|>\n", "<|end|>\n<|assistant|>\n"},
    {"Zephyr", {"<|user|>", "eos_token"}, NULL, "<|user|>\n", "\1\n<|assistant|>\n"},
    {"Llama 2", {"[INST] ", " [/INST]"}, "default_system", "[INST] ", " [/INST]", true},
    {"Mistral", {"[INST] ", "[/INST]"}, "default_system", "[INST] ", "[/INST]", true},
    {"Mistral", {"[INST]", "[/INST]"}, "default_system", "[INST]", "[/INST]", true},
};

/* --- the template ----------------------------------------------------------------------------- */

/* Copy the template; NULL if there is none. */
static int read_template(char **template, const struct folder *folder,
                         const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    static const char jinja[] = "chat_template.jinja";
    const char *text = tokenizer->config.chat_template;
    struct file file = {0};
    bool in_file = folder_has(folder, jinja);
    *template = NULL;
    if (in_file && folder_open(&file, folder, jinja, err))
        return -1;
    if (in_file || text)
        *template =
            arena_text(arena, in_file ? file.bytes : text, in_file ? file.size : strlen(text), err);
    file_release(&file);
    return (in_file || text) && !*template ? -1 : 0;
}

static bool has(const char *template, const char *marker)
{
    return marker && strstr(template, marker);
}

/* --- the texts around a message --------------------------------------------------------------- */

/* Append the system message of a ChatML template, if it is in one literal. */
static void add_system(struct buf *out, const char *template)
{
    static const char begin[] = "<|im_start|>system\n";
    static const char end[] = "<|im_end|>\n";
    for (const char *at = template; (at = strstr(at, begin)); at++) {
        size_t size = strcspn(at + strlen(begin), "<'\"{");
        if (strncmp(at + strlen(begin) + size, end, strlen(end)) != 0)
            continue;
        buf_bytes(out, at, strlen(begin) + size + strlen(end));
        return;
    }
}

/* Append the text of the token with a role; `found`: there is one. */
static int add_token(struct buf *out, bool *found, enum token_role role,
                     const struct tokenizer *tokenizer, struct err *err)
{
    uint32_t id = 0;
    size_t size = 0;
    if (tokenizer_role(tokenizer, role, &id, found, err))
        return -1;
    const char *bytes = *found ? tokenizer_token(tokenizer, id, &size) : NULL;
    if (bytes)
        buf_bytes(out, bytes, size);
    return 0;
}

/* Replace \1 and \2 in a text around the message; `begins`: put BOS first. NULL: failed. */
static const char *fill(const char *text, bool begins, const char *template,
                        const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    struct buf out = {0};
    bool found = true;
    int failed = begins ? add_token(&out, &found, ROLE_BOS, tokenizer, err) : 0;
    for (; *text && !failed; text++)
        if (*text == '\1')
            failed = add_token(&out, &found, ROLE_EOS, tokenizer, err);
        else if (*text == '\2')
            add_system(&out, template);
        else
            buf_char(&out, *text);
    if (!failed && !found)
        failed = err_set(err,
                         "--chat: the chat template needs '%s' of tokenizer_config.json, "
                         "found none",
                         begins ? "bos_token" : "eos_token");
    const char *filled = failed ? NULL : buf_keep(&out, arena, err);
    buf_release(&out);
    return filled;
}

int chat_open(struct chat *chat, const struct folder *folder, const struct tokenizer *tokenizer,
              bool begins, struct arena *arena, struct err *err)
{
    char *template = NULL;
    if (read_template(&template, folder, tokenizer, arena, err))
        return -1;
    if (!template)
        return err_unsupported(err,
                               "'%s': --chat: expected a chat template (chat_template.jinja, "
                               "or 'chat_template' in tokenizer_config.json), found none",
                               folder->path);
    char *to = template;
    for (const char *from = template; *from; from++) { /* \n in a literal is a line break */
        bool is_line_end = from[0] == '\\' && from[1] == 'n';
        *to++ = is_line_end ? '\n' : *from;
        from += is_line_end;
    }
    *to = '\0';
    const struct chat_form *form = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !form; i++) {
        bool dated = has(template, "strftime_now") && strcmp(forms[i].name, "Llama 3.1") != 0;
        if (has(template, forms[i].markers[0]) && has(template, forms[i].markers[1]) &&
            !has(template, forms[i].without) && !dated)
            form = &forms[i];
    }
    if (!form)
        return err_unsupported(err,
                               "'%s': --chat: the chat template has an unknown form: write its "
                               "markers into the text instead",
                               folder->path);
    begins = begins && (has(template, "bos_token") || has(template, "<|begin_of_text|>"));
    *chat = (struct chat){
        .name = form->name,
        .before = fill(form->before, begins, template, tokenizer, arena, err),
        .trims = form->trims && (has(template, "trim") || has(template, ".strip()")),
    };
    if (chat->before)
        chat->after = fill(form->after, false, template, tokenizer, arena, err);
    return chat->after ? 0 : -1;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

int chat_wrap(const struct chat *chat, const char **text, size_t *size, struct arena *arena,
              struct err *err)
{
    const char *first = *text;
    const char *end = *text + *size;
    struct buf whole = {0};
    while (chat->trims && first < end && is_blank(*first))
        first++;
    while (chat->trims && end > first && is_blank(end[-1]))
        end--;
    buf_text(&whole, chat->before);
    buf_bytes(&whole, first, (size_t)(end - first));
    buf_text(&whole, chat->after);
    *size = whole.size;
    *text = buf_keep(&whole, arena, err);
    return *text ? 0 : -1;
}
