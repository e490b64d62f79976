#include "recorded_command.h"

#include <string.h>

#include "../options.h"
#include "format/json.h"

static const char name[] = " \"command\": ";

bool recorded_command_is(const char *line, size_t size)
{
    return size >= sizeof name - 1 && memcmp(line, name, sizeof name - 1) == 0;
}

static int no_command(struct err *err)
{
    return err_set(err, "expected the command of a batch");
}

static int check_kept(const struct options *options, struct err *err)
{
    struct options none = OPTIONS_DEFAULT;
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (option_serves(row, FOR_BATCH) && (row->commands & PROCESS) &&
            !settings_same(row, options, &none))
            return err_set(err, "expected the command of a batch without --%s", row->name);
    }
    return 0;
}

/* ["attn-cli", "batch", …] */
static int read_words(struct options *options, const struct json *words, struct arena *arena,
                      struct err *err)
{
    size_t count = json_is_array(words) ? json_count(words) : 0;
    char **arguments = arena_alloc(arena, count + 1, sizeof *arguments, err);
    const struct json *word = count ? json_first(words) : NULL;
    if (!arguments)
        return -1;
    for (size_t i = 0; word; word = json_next(word)) {
        const char *text = NULL;
        if (!json_get_text(word, &text))
            return no_command(err);
        arguments[i] = arena_text(arena, text, strlen(text), err);
        if (!arguments[i++])
            return -1;
    }
    if (count < 3)
        return no_command(err);
    return options_parse(options, FOR_BATCH, arguments + 2, arena, err);
}

int recorded_command(struct options *options, const char *line, size_t size, struct arena *arena,
                     struct err *err)
{
    struct json *root = NULL;
    size_t begin = sizeof name - 1;
    while (size && (line[size - 1] == '\n' || line[size - 1] == ','))
        size--;
    *options = (struct options)OPTIONS_DEFAULT;
    if (!recorded_command_is(line, size))
        return no_command(err);
    int failed =
        json_parse(&root, line + begin, size - begin, err) || read_words(options, root, arena, err);
    if (failed && err && err->kind == ERR_USAGE)
        err->kind = ERR_INPUT; /* the words stand in a file */
    if (failed)
        err_prefix(err, "\"command\"");
    json_free(root);
    return failed ? -1 : check_kept(options, err);
}
