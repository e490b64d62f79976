#include "tokenizer_info.h"

#include <string.h>
#include <unistd.h>

#include "base/stream.h"
#include "base/utf8.h"
#include "model/gguf/gguf_model.h"
#include "text/label.h"
#include "text/token_set.h"

enum { ADDED_SHOWN = 8, WORDS_SHOWN = 500, WORDS_INDENT = 2 };

static const char *const roles[TOKEN_ROLES] = {[ROLE_BOS] = "bos", [ROLE_EOS] = "eos"};

/* What counts beside any file, and beside vocab.json and merges.txt. */
static const char *const beside[TOKENIZER_INFO_BESIDE] = {"tokenizer_config.json",
                                                          "special_tokens_map.json"};

/* Is it read, or another in its place? */
static bool is_used(const struct tokenizer_info *info, const char *name)
{
    if (!info->tokenizer)
        return false;
    const char *file = tokenizer_file(info->tokenizer);
    return strcmp(name, file) == 0 ||
           (strcmp(file, "vocab.json") == 0 && strcmp(name, "merges.txt") == 0);
}

int tokenizer_info_init(struct tokenizer_info *info, const struct tokenizer *tokenizer,
                        const struct folder *folder, struct err *err)
{
    *info = (struct tokenizer_info){.tokenizer = tokenizer, .folder = folder};
    for (size_t i = 0; i < TOKENIZER_FILES; i++)
        if (tokenizer_file_opens(i) &&
            folder_look(&info->is_there[i], folder, tokenizer_file_name(i), err))
            return -1;
    if (folder_look(&info->is_beside[0], folder, beside[0], err))
        return -1;
    if (!tokenizer)
        return 0;
    if (is_used(info, "merges.txt") && strcmp(tokenizer_kind(tokenizer), "words") != 0 &&
        folder_look(&info->is_beside[1], folder, beside[1], err))
        return -1;
    for (enum token_role role = 0; role < TOKEN_ROLES; role++)
        if (tokenizer_role(tokenizer, role, &info->ids[role], &info->has[role], err))
            return -1;
    return tokenizer_special(&info->special, tokenizer, err);
}

/* The next file that is there and is, or is not, read; NULL after the last. What counts beside any
 * of them is the last. */
static const char *next_file(const struct tokenizer_info *info, size_t *index, bool used)
{
    const char *gguf = gguf_file_name(info->folder);
    if (gguf)
        return used && info->tokenizer && !(*index)++ ? gguf : NULL;
    while (*index < TOKENIZER_FILES) {
        size_t i = (*index)++;
        const char *name = tokenizer_file_name(i);
        if (info->is_there[i] && is_used(info, name) == used)
            return name;
    }
    while (*index < TOKENIZER_FILES + TOKENIZER_INFO_BESIDE) {
        size_t i = (*index)++ - TOKENIZER_FILES;
        if (info->is_beside[i] && used == (info->tokenizer != NULL))
            return beside[i];
    }
    return NULL;
}

/* --- the page --------------------------------------------------------------------------------- */

static void add_files(const struct tokenizer_info *info, struct buf *row)
{
    const char *comma = "";
    const char *name = NULL;
    for (size_t i = 0; (name = next_file(info, &i, true)); comma = ", ")
        buf_format(row, "%s%s", comma, name);
    comma = "; not read: ";
    for (size_t i = 0; (name = next_file(info, &i, false)); comma = ", ")
        buf_format(row, "%s%s", comma, name);
}

static void add_stages(const struct tokenizer_info *info, struct buf *row)
{
    tokenizer_stages(info->tokenizer, row);
}

static void add_token(const struct tokenizer_info *info, struct buf *row, uint32_t id)
{
    size_t size = 0;
    const char *bytes = tokenizer_token(info->tokenizer, id, &size);
    label_visible(row, bytes ? bytes : "", bytes ? size : 0);
}

/* "bos <s> 1, eos </s> 2, <pad> 3; 24 others added": those with a role first. */
static void add_special(const struct tokenizer_info *info, struct buf *row)
{
    const struct added_tokens *added = tokenizer_added(info->tokenizer);
    size_t left = 0;
    size_t shown = 0;
    size_t plain = 0; /* runs of blanks, as a rule */
    for (enum token_role role = 0; role < TOKEN_ROLES; role++) {
        if (!info->has[role])
            continue;
        buf_format(row, "%s%s ", row->size ? ", " : "", roles[role]);
        add_token(info, row, info->ids[role]);
        buf_format(row, " %u", info->ids[role]);
    }
    for (size_t i = 0; i < added->count; i++) {
        uint32_t id = added->by_id[i].id;
        bool known = false;
        for (enum token_role role = 0; role < TOKEN_ROLES; role++)
            known = known || (info->has[role] && info->ids[role] == id);
        bool special = added->by_id[i].special;
        plain += !known && !special;
        left += !known && special && shown == ADDED_SHOWN;
        if (known || !special || shown == ADDED_SHOWN)
            continue;
        buf_text(row, row->size ? ", " : "");
        add_token(info, row, id);
        buf_format(row, " %u", id);
        shown++;
    }
    if (left)
        buf_format(row, " and %zu more", left);
    if (plain)
        buf_format(row, "%s%zu other%s added", row->size ? "; " : "", plain, plain == 1 ? "" : "s");
}

static void add_around(const struct tokenizer_info *info, struct buf *row)
{
    const struct special_ids *special = &info->special;
    for (size_t i = 0; i < special->before_count; i++) {
        add_token(info, row, special->before[i]);
        buf_char(row, ' ');
    }
    buf_text(row, special->before_count || special->after_count ? "TEXT" : "adds nothing");
    for (size_t i = 0; i < special->after_count; i++) {
        buf_char(row, ' ');
        add_token(info, row, special->after[i]);
    }
}

int tokenizer_info_write(const struct tokenizer_info *info, struct stream *out, struct err *err)
{
    static const struct {
        const char *name;
        void (*add)(const struct tokenizer_info *info, struct buf *row);
    } rows[] = {
        {"tokenizer", add_files},
        {"stages", add_stages},
        {"special tokens", add_special},
        {"--add-special", add_around},
    };
    struct buf row = {0};
    for (size_t i = 0; info->tokenizer && i < sizeof rows / sizeof *rows; i++) {
        buf_clear(&row);
        rows[i].add(info, &row);
        if (row.size)
            stream_format(out, "%-14s %s\n", rows[i].name, row.bytes);
    }
    int failed = buf_check(&row, err);
    buf_release(&row);
    return failed;
}

/* --- the words: whoever may use no others wants to see them ----------------------------------- */

int tokenizer_info_words(const struct tokenizer_info *info, struct stream *out, size_t columns,
                         struct err *err)
{
    const struct tokenizer *tokenizer = info->tokenizer;
    size_t used = 0; /* columns of the line */
    struct buf word = {0};
    size_t shown = 0;
    size_t left = 0;
    if (!tokenizer || !*tokenizer_gap(tokenizer)) /* pieces stand beside each other */
        return 0;
    stream_text(out, "\nWords\n");
    for (size_t id = 0; id < tokenizer_size(tokenizer); id++) {
        size_t size = 0;
        const char *bytes = tokenizer_token(tokenizer, (uint32_t)id, &size);
        left += bytes && shown == WORDS_SHOWN;
        if (!bytes || shown == WORDS_SHOWN)
            continue;
        buf_clear(&word);
        label_visible(&word, bytes, size);
        shown++;
        if (!word.size)
            continue;
        size_t width = utf8_width(word.bytes, word.size);
        bool fits = used && used + 1 + width <= columns;
        stream_text(out, fits ? " " : used ? "\n  " : "  ");
        stream_bytes(out, word.bytes, word.size);
        used = fits ? used + 1 + width : WORDS_INDENT + width;
    }
    stream_char(out, '\n');
    if (left)
        stream_format(out, "  and %zu more: the model's vocab.json or tokenizer.json has all\n",
                      left);
    int failed = buf_check(&word, err);
    buf_release(&word);
    return failed;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_files(const struct tokenizer_info *info, struct json_writer *json,
                      const char *member, bool used)
{
    const char *name = NULL;
    json_put_open(json, member, '[');
    for (size_t i = 0; (name = next_file(info, &i, used));)
        json_put_text(json, NULL, name);
    json_put_close(json, ']');
}

static void put_token(struct json_writer *json, const struct tokenizer_info *info, const char *name,
                      uint32_t id, const bool *special)
{
    size_t size = 0;
    const char *bytes = tokenizer_token(info->tokenizer, id, &size);
    json_put_open(json, name, '{');
    json_put_integer(json, "id", id);
    json_put_bytes(json, "token", bytes ? bytes : "", bytes ? size : 0);
    if (special)
        json_put_bool(json, "special", *special);
    json_put_close(json, '}');
}

static void put_tokens(struct json_writer *json, const struct tokenizer_info *info,
                       const char *name, const uint32_t *ids, size_t count)
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < count; i++)
        put_token(json, info, NULL, ids[i], NULL);
    json_put_close(json, ']');
}

int tokenizer_info_json(const struct tokenizer_info *info, struct json_writer *json,
                        struct err *err)
{
    struct buf stages = {0};
    if (info->tokenizer)
        tokenizer_stages(info->tokenizer, &stages);
    json_put_text(json, "tokenizer", info->tokenizer ? tokenizer_kind(info->tokenizer) : NULL);
    put_files(info, json, "tokenizer_files", true);
    put_files(info, json, "tokenizer_files_not_read", false);
    json_put_text(json, "tokenizer_stages", stages.size ? stages.bytes : NULL);
    for (enum token_role role = 0; role < TOKEN_ROLES; role++) {
        if (info->has[role])
            put_token(json, info, roles[role], info->ids[role], NULL);
        else
            json_put_text(json, roles[role], NULL);
    }
    const struct added_tokens *added = info->tokenizer ? tokenizer_added(info->tokenizer) : NULL;
    json_put_open(json, "added_tokens", '[');
    for (size_t i = 0; added && i < added->count; i++)
        put_token(json, info, NULL, added->by_id[i].id, &added->by_id[i].special);
    json_put_close(json, ']');
    put_tokens(json, info, "add_special_before", info->special.before, info->special.before_count);
    put_tokens(json, info, "add_special_after", info->special.after, info->special.after_count);
    int failed = buf_check(&stages, err);
    buf_release(&stages);
    return failed;
}

/* --- a folder without a model ----------------------------------------------------------------- */

static int write_alone(const struct tokenizer_info *info, struct stream *out, size_t columns,
                       bool is_json, struct err *err)
{
    const char *path = info->folder->path;
    size_t size = tokenizer_size(info->tokenizer);
    struct json_writer json = {.stream = out};
    if (is_json) {
        json_put_open(&json, NULL, '{');
        json_put_text(&json, "format", JSON_FORMAT("tokenizer"));
        json_put_text(&json, "model", NULL);
        json_put_text(&json, "folder", path);
        json_put_integer(&json, "vocab_size", size);
        int failed = tokenizer_info_json(info, &json, err);
        json_put_close(&json, '}');
        stream_char(out, '\n');
        return failed;
    }
    stream_text(out, "model          none, a tokenizer alone: ");
    label_write_line(out, path, strlen(path));
    stream_format(out, "\nvocabulary     %zu, %s\n", size, tokenizer_kind(info->tokenizer));
    return tokenizer_info_write(info, out, err) || tokenizer_info_words(info, out, columns, err)
               ? -1
               : 0;
}

int tokenizer_info_alone(const struct tokenizer_info *info, size_t columns, bool json,
                         struct err *err)
{
    struct stream out = {0};
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    return stream_end(&out, write_alone(info, &out, columns, json, err), err);
}
