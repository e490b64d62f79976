#include "command_rig.h"

#include <sys/stat.h>

#include "../../../cmd/command.h"
#include "base/memory.h"
#include "scratch.h"
#include "tiny_model.h"

/* clang-format off */
const char words_config[] =
    JSON({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1,
          "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 8,
          "max_position_embeddings": 4});
const char words_list[] =
    JSON(["<s>", "the", "cat", "sat", "Mary", "John", "a", "dog"]);
/* clang-format on */

static struct arena arena;

void command_enter(void)
{
    scratch_enter();
    arena = (struct arena){0};
}

void command_leave(void)
{
    arena_release(&arena);
    scratch_leave();
}

void command_take(struct options *options, const char *line)
{
    struct err err = {0};
    char **words = line_split(line, &arena, &err);
    const struct command *command = words ? command_find(&all_commands, words[0], &err) : NULL;
    int failed =
        !command || command_parse(options, &all_commands, command, words + 1, &arena, &err);
    ck_assert_msg(!failed, "%s: %s", line, err.text);
}

/* --- what is printed -------------------------------------------------------------------------- */

/* The standard streams while they lead to files. */
static struct diverted {
    int stream, kept;
    FILE *file;
} diverted[] = {{.stream = STDOUT_FILENO}, {.stream = STDERR_FILENO}};

void command_listen(void)
{
    fflush(stdout);
    fflush(stderr);
    for (size_t i = 0; i < sizeof diverted / sizeof *diverted; i++) {
        diverted[i].kept = dup(diverted[i].stream);
        diverted[i].file = tmpfile();
        ck_assert_ptr_nonnull(diverted[i].file);
        ck_assert_int_ge(dup2(fileno(diverted[i].file), diverted[i].stream), 0);
    }
}

static void end(const struct diverted *of, char *text, size_t size)
{
    dup2(of->kept, of->stream);
    close(of->kept);
    rewind(of->file);
    text[fread(text, 1, size - 1, of->file)] = '\0';
    fclose(of->file);
}

const struct heard *command_heard(void)
{
    static struct heard heard;
    fflush(stdout);
    fflush(stderr);
    end(&diverted[0], heard.output, sizeof heard.output);
    end(&diverted[1], heard.notes, sizeof heard.notes);
    return &heard;
}

/* --- a model ---------------------------------------------------------------------------------- */

void command_model_write(const struct tiny_model *model, const char *folder, const char *vocab)
{
    char path[64];
    ck_assert_int_eq(mkdir(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/config.json", folder);
    scratch_write(path, model->files[0].bytes);
    snprintf(path, sizeof path, "%s/vocab.json", folder);
    if (vocab)
        scratch_write(path, vocab);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(model->bytes.bytes, 1, model->bytes.size, file), model->bytes.size);
    ck_assert_int_eq(fclose(file), 0);
}

void command_model(const char *folder, const char *config, const char *vocab)
{
    struct tiny_model model;
    tiny_model_make(&model, config);
    command_model_write(&model, folder, vocab);
    tiny_model_release(&model);
}
