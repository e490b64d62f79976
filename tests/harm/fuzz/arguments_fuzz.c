/* A command line, its words separated by 0 bytes: parses it and checks values that need no file. */
#include "fuzz.h"

#include "../../../cmd/command.h"
#include "../../../cmd/output.h"
#include "../../../cmd/session.h"
#include "../../../cmd/sweep.h"
#include "lens/selection.h"
#include "model/family/family.h"
#include "model/layer.h"

static struct arena arena; /* reused by the next input */

static struct config config = {
    .kind = MODEL_GPT2,
    .family = &family_own[MODEL_GPT2],
    .style = STYLE_PRE,
    .vocab_size = 512,
    .n_positions = 64,
    .n_embd = 8,
    .n_layer = 3,
    .n_head = 4,
    .n_kv_head = 4,
    .d_k = 2,
    .d_v = 2,
    .causal = true,
    .projections = true,
};

static void expect(int failed)
{
    if (failed)
        fuzz_refused();
}

static void check_selection(const struct options *options)
{
    struct selection selection = {0};
    expect(selection_sites(&selection, options->select.show ? options->select.show : "all", &config,
                           &fuzz_err));
    expect(selection_layers(&selection, options->select.layer, &config, &arena, &fuzz_err));
    expect(selection_heads(&selection, options->select.head, &config, &arena, &fuzz_err));
    for (size_t i = 0; i < selection.layers.count; i++)
        fuzz_check(selection.layers.items[i] < config.n_layer, "layers are in the model");
    for (size_t i = 0; selection.heads && i < selection.head_count; i++)
        fuzz_check(selection.heads[i] < config.n_head, "heads are in the model");
}

static void check_edits(const struct edit_options *options)
{
    const struct texts lists[] = {options->edits, options->ablations, options->knockouts};
    struct edit_list edits = {.config = &config, .arena = &arena};
    for (int form = EDIT_WORDS; form <= EDIT_KNOCKOUT; form++)
        for (size_t i = 0; i < lists[form].count; i++)
            if (edit_list_add(&edits, (enum edit_form)form, lists[form].items[i], &fuzz_err)) {
                fuzz_refused();
                return;
            }
    expect(edits_check(&edits.edits, &config, &fuzz_err));
}

static void check_values(const struct options *options)
{
    struct session session = {.options = options};
    struct derivation how = {0};
    struct style style;
    struct job_shard shard;
    struct tokens tokens;
    struct config_edit edit = {0};
    expect(session_read_options(&session, &fuzz_err));
    check_edits(&options->edit);
    if (options->select.mean)
        expect(derive_read_mean(&how, options->select.mean, MEAN_AXES, &fuzz_err));
    expect(display_read(&style, options, &fuzz_err));
    expect(shard_read(&shard, options->batch.shard, &fuzz_err));
    if (options->input.ids)
        expect(tokens_from_ids(&tokens, options->input.ids, config.vocab_size, &arena, &fuzz_err));
    for (size_t i = 0; i < options->make.sets.count; i++)
        expect(config_edit_read(&edit, options->make.sets.items[i], &arena, &fuzz_err));
}

void fuzz_one(const char *bytes, size_t size)
{
    struct fuzz_parts parts;
    char *arguments[FUZZ_PARTS];
    struct options options;
    fuzz_split(&parts, bytes, size);
    for (size_t i = 1; i < parts.count; i++)
        arguments[i - 1] = parts.parts[i];
    arguments[parts.count - 1] = NULL;
    arena_clear(&arena);
    if (!config.description && config_describe(&config, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    const struct command *command = command_find(&all_commands, parts.parts[0], &fuzz_err);
    if (!command || command_parse(&options, &all_commands, command, arguments, &arena, &fuzz_err)) {
        fuzz_refused();
    } else {
        check_values(&options);
        check_selection(&options);
    }
    fuzz_release(&parts);
}
