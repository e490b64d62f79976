/* A config.json, and the same with two changed values. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/config.h"

static void check(const struct config *config)
{
    fuzz_check(config->vocab_size && config->n_embd && config->n_layer && config->n_head &&
                   config->d_k && config->d_v,
               "sizes are not 0");
    fuzz_check(config->n_kv_head && config->n_head % config->n_kv_head == 0,
               "n_head is a multiple of n_kv_head");
    fuzz_check(config->scale == config->scale && config->epsilon == config->epsilon,
               "numbers are not NaN");
}

static void edit(const char *bytes, size_t size)
{
    static struct config_edit edit;
    static struct arena arena;
    struct buf text = {0};
    if (!edit.count)
        fuzz_check(!config_edit_read(&edit, "n_layer=2,n_head=1", &arena, &fuzz_err), "an edit");
    if (config_edit_apply(&text, &edit, bytes, size, &fuzz_err))
        fuzz_refused();
    else
        fuzz_check(
            !json_cursor_open(&(struct json_cursor){0}, NULL, text.bytes, text.size, &fuzz_err),
            "an edited config is JSON");
    buf_release(&text);
}

void fuzz_one(const char *bytes, size_t size)
{
    struct config config = {0};
    if (config_parse(&config, bytes, size, &fuzz_err))
        fuzz_refused();
    else
        check(&config);
    edit(bytes, size);
}
