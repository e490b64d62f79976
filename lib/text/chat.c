#include "text/chat.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/file.h"
#include "text/builder.h"
#include "text/jinja.h"

/* Read and parse the template, and find out whether it asks for the date. A folder without a
 * template is refused. */
static int read_template(struct chat *chat, const struct folder *folder,
                         const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    static const char name[] = "chat_template.jinja";
    const char *text = tokenizer->config.chat_template;
    struct file file = {0};
    if (folder_has(folder, name)) {
        if (folder_open(&file, folder, name, err))
            return -1;
        text = arena_text(arena, file.bytes, file.size, err);
        file_release(&file);
    } else if (!text)
        return err_unsupported(err,
                               "'%s': --chat: expected a chat template (chat_template.jinja, "
                               "or 'chat_template' in tokenizer_config.json), found none",
                               folder->path);
    chat->template = text ? jinja_parse(text, strlen(text), arena, err) : NULL;
    chat->dated = text && strstr(text, "strftime_now");
    return chat->template ? 0 : err_prefix(err, "'%s': --chat: the chat template", folder->path);
}

/* The date in seconds since 1970: the value of SOURCE_DATE_EPOCH, or now. */
static long long date(void)
{
    const char *given = getenv("SOURCE_DATE_EPOCH");
    return given ? strtoll(given, NULL, 10) : (long long)time(NULL);
}

int chat_wrap(const struct chat *chat, const char **text, size_t *size, struct arena *arena,
              struct err *err)
{
    struct jinja_pair parts[] = {{"role", jinja_text("user", 4)},
                                 {"content", jinja_text(*text, *size)}};
    struct jinja_dict message = {parts, 2};
    struct jinja_value item = {.kind = JINJA_DICT, .of.dict = &message};
    const struct jinja_list messages = {&item, 1};
    struct jinja_pair pairs[8] = {
        {"messages", {.kind = JINJA_LIST, .of.list = &messages}},
        {"tools", {.kind = JINJA_NONE}},
        {"documents", {.kind = JINJA_NONE}},
        {"add_generation_prompt", jinja_boolean(true)},
        {"strftime_now", {.kind = JINJA_INTEGER, .integer = date()}},
    };
    struct jinja_dict variables = {pairs, 5};
    struct buf out = {0};
    if (chat->bos)
        pairs[variables.count++] =
            (struct jinja_pair){"bos_token", jinja_text(chat->bos, strlen(chat->bos))};
    if (chat->eos)
        pairs[variables.count++] =
            (struct jinja_pair){"eos_token", jinja_text(chat->eos, strlen(chat->eos))};
    if (jinja_render(&out, chat->template, &variables, arena, err)) {
        buf_release(&out);
        err_append(err, ": write its markers into the text instead");
        return err_prefix(err, "'%s': --chat: the chat template", chat->path);
    }
    size_t begin = chat->bos && !chat->begins ? strlen(chat->bos) : 0;
    if (begin > out.size || (begin && memcmp(out.bytes, chat->bos, begin) != 0))
        begin = 0;
    *size = out.size - begin;
    const char *whole = buf_keep(&out, arena, err);
    *text = whole ? whole + begin : NULL;
    return err_if(!whole);
}

int chat_open(struct chat *chat, const struct folder *folder, const struct tokenizer *tokenizer,
              bool begins, struct arena *arena, struct err *err)
{
    static const char probe[] = "TEXT"; /* a text from which no template removes anything */
    const char *const *tokens = tokenizer->config.tokens;
    const char *text = probe;
    size_t size = strlen(probe);
    *chat = (struct chat){
        .path = folder->path, .bos = tokens[ROLE_BOS], .eos = tokens[ROLE_EOS], .begins = begins};
    if (read_template(chat, folder, tokenizer, arena, err) ||
        chat_wrap(chat, &text, &size, arena, err))
        return -1;
    const char *at = strstr(text, probe);
    if (!at)
        return err_unsupported(err,
                               "'%s': --chat: expected a chat template that contains the message, "
                               "found one without it",
                               folder->path);
    chat->before = arena_text(arena, text, (size_t)(at - text), err);
    chat->after = at + strlen(probe);
    return err_if(!chat->before);
}
