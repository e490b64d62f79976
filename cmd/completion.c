#include "completion.h"

#include "base/names.h"

void completion_lists(struct stream *out,
                      void (*write)(struct stream *out, const struct value_list *list))
{
    for (size_t i = 0; i < value_use_count; i++) {
        const struct value_use *use = &value_uses[i];
        bool is_new = !use->only_help;
        for (size_t k = 0; k < i && is_new; k++)
            is_new = value_uses[k].list != use->list;
        if (is_new)
            write(out, use->list);
    }
}

int completion_write(struct stream *out, const char *shell, struct err *err)
{
    static const struct shell_row {
        const char *name;
        void (*write)(struct stream *out);
    } shells[] = {{"bash", completion_bash_write},
                  {"zsh", completion_zsh_write},
                  {"fish", completion_fish_write}};
    size_t index = 0;
    struct names names = NAMES(shells, sizeof shells / sizeof *shells);
    if (names_choose(&index, names, "--completion", shell, err))
        return -1;
    shells[index].write(out);
    return 0;
}
