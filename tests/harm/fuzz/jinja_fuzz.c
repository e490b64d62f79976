/* A template for one message. */
#include "fuzz.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "text/jinja.h"

void fuzz_one(const char *bytes, size_t size)
{
    struct arena arena = {0};
    struct buf out = {0};
    struct jinja_pair parts[] = {{"role", jinja_text("user", 4)},
                                 {"content", jinja_text(" a b", 4)}};
    struct jinja_dict message = {parts, 2};
    struct jinja_value item = {.kind = JINJA_DICT, .of.dict = &message};
    const struct jinja_list messages = {&item, 1};
    struct jinja_pair pairs[] = {{"messages", {.kind = JINJA_LIST, .of.list = &messages}},
                                 {"bos_token", jinja_text("<s>", 3)}};
    const struct jinja_dict variables = {pairs, 2};
    const struct jinja *template = jinja_parse(bytes, size, &arena, &fuzz_err);
    if (!template || jinja_render(&out, template, &variables, &arena, &fuzz_err))
        fuzz_refused();
    buf_release(&out);
    arena_release(&arena);
}
