#include "model/family/family.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"

const struct family *family_at(size_t index)
{
    static const struct family *const lists[] = {family_own,      family_decoders,
                                                 family_encoders, family_experts,
                                                 family_mixers,   family_translators};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct family *family = lists[i]; family->name; family++)
            if (index-- == 0)
                return family;
    return NULL;
}

const struct family *family_find(const char *name)
{
    const struct family *family;
    for (size_t i = 0; (family = family_at(i)); i++)
        if (strcmp(family->name, name) == 0)
            return family;
    return NULL;
}

const struct family_row *family_row(const struct family *family, struct slot slot)
{
    for (const struct family_names *names = family->names; names; names = names->base)
        for (const struct family_row *row = names->rows; row->name; row++)
            for (size_t i = 0; i < FAMILY_MEMBERS_MAX; i++)
                if (row->members[i] == (slot.id & ~1) && row->branch == slot.branch)
                    return row;
    if (slot.branch != BRANCH_SOURCE)
        return NULL;
    slot.branch = BRANCH_TEXT; /* the encoder's layers use the rows of the text's layers */
    return family_row(family, slot);
}

const struct family_row *config_row(const struct config *config, struct slot slot)
{
    for (size_t i = 0; config->classifier && slot.branch == BRANCH_TEXT && i < 2; i++)
        if (config->classifier->rows[i].members[0] == (slot.id & ~1))
            return &config->classifier->rows[i];
    return family_row(config->family, slot);
}

enum { NUMBERED_BYTES = 56 };

/* Return `text` with `number` in place of `mark`, written to `out`; if `text` does not contain
 * `mark`, return `text` itself. */
static const char *with_number(char out[NUMBERED_BYTES], const char *text, const char *mark,
                               int number)
{
    const char *at = strstr(text, mark);
    if (!at)
        return text;
    snprintf(out, NUMBERED_BYTES, "%.*s%d%s", (int)(at - text), text, number, at + strlen(mark));
    return out;
}

const char *family_tensor_name(char name[PARAMETER_NAME_BYTES], const struct config *config,
                               struct slot slot)
{
    char numbered[NUMBERED_BYTES], grouped[NUMBERED_BYTES];
    const struct family_names *names = config->family->names;
    const struct family_row *row = config_row(config, slot);
    bool is_bias = slot.id & 1;
    const char *ending = row && row->bare ? (is_bias ? "_bias" : "")
                         : is_bias        ? ".bias"
                                          : ".weight";
    bool of_end = slot.id >= SLOT_TRANSFORM && slot.id <= SLOT_UNEMBED_BIAS;
    bool of_head = config->classifier && config->classifier->prefixed && slot.id < SLOT_UNEMBED;
    const char *prefix = of_end && !of_head ? "" : names->prefix;
    const char *text = with_number(numbered, row ? row->name : "?", "{e}", slot.expert);
    const char *layers = slot.branch == BRANCH_SOURCE ? names->source_layers : names->layers;
    int members = (int)config->group_layers;
    if (row && row->bias && is_bias)
        snprintf(name, PARAMETER_NAME_BYTES, "%s", row->bias);
    else if (slot.layer < 0)
        snprintf(name, PARAMETER_NAME_BYTES, "%s%s%s", prefix, text, ending);
    else
        snprintf(name, PARAMETER_NAME_BYTES, "%s%s%d.%s%s", prefix,
                 with_number(grouped, layers, "{g}", members ? slot.layer / members : 0),
                 members ? slot.layer % members : slot.layer, text, ending);
    return name;
}

void family_layout(struct family_layout *layout, struct slot slot, const struct config *config)
{
    static const struct family_row unnamed;
    const struct family_row *row = config_row(config, slot);
    size_t shape[SLOT_RANK_MAX] = {0};
    size_t all = 0;
    row = row ? row : &unnamed;
    *layout = (struct family_layout){.view = {0, SIZE_MAX, 0}, .first = slot};
    layout->rank = slot_shape(layout->shape, slot, config);
    layout->squeezed = slot.branch == BRANCH_MIXER;
    layout->out = layout->shape[0];
    layout->in = layout->shape[1];
    bool is_bias = slot.id & 1;
    bool is_grouped = row->groups != GROUPS_ONE;
    size_t key_heads = slot.branch == BRANCH_MIXER ? config->mixer.key_heads : config->n_kv_head;
    size_t groups = row->groups == GROUPS_FOUR      ? 4
                    : row->groups == GROUPS_HEAD    ? config->n_head
                    : row->groups == GROUPS_IN_TURN ? layout->out
                    : is_grouped                    ? key_heads
                                                    : 1;
    for (size_t i = 0; i < FAMILY_MEMBERS_MAX && row->members[i]; i++) {
        struct slot member = slot;
        member.id = (unsigned char)(row->members[i] + is_bias);
        slot_shape(shape, member, config);
        if (i == 0)
            layout->first = member;
        if (member.id == slot.id)
            layout->view =
                (struct row_view){all / groups, is_grouped ? shape[0] / groups : SIZE_MAX, 0};
        all += shape[0];
    }
    if (is_grouped)
        layout->view.stride = all / groups;
    if (row->name)
        layout->shape[0] = all;
    layout->count = layout->shape[0] * (layout->rank == 2 ? layout->in : 1);
    layout->transposed = row->transposed && layout->rank == 2;
    if (layout->transposed) {
        layout->shape[0] = layout->shape[1];
        layout->shape[1] = all;
    }
    if (row->stacked) {
        layout->first.expert = 0;
        layout->skipped = (size_t)slot.expert * layout->count;
        if (row->flat) {
            layout->shape[0] *= slot_count(slot.id, config);
            return;
        }
        memmove(layout->shape + 1, layout->shape, SLOT_RANK_MAX * sizeof *layout->shape);
        layout->shape[0] = slot_count(slot.id, config);
        layout->rank++;
    }
}
