#include "bench/task_list.h"

#include <stdbool.h>

static const size_t usual_lengths[] = {6, 64, 256, 1024};

/* The most tokens that a text of the model may have. */
static size_t context_of(const struct config *config)
{
    return config->n_positions ? config->n_positions : SIZE_MAX;
}

/* The lengths that were asked for, or as many of the usual ones as the model takes. */
static int choose_lengths(struct task_choice *chosen, const struct task_choice *choice,
                          const struct config *config, struct err *err)
{
    size_t most = context_of(config);
    *chosen = *choice;
    if (!choice->lengths) {
        chosen->lengths = usual_lengths;
        chosen->length_count = sizeof usual_lengths / sizeof *usual_lengths;
        while (chosen->length_count > 0 && usual_lengths[chosen->length_count - 1] > most)
            chosen->length_count--;
    }
    for (size_t i = 0; i < chosen->length_count; i++)
        if (chosen->lengths[i] > most)
            return err_usage(err, "--tokens: expected at most %zu (n_positions), found %zu", most,
                             chosen->lengths[i]);
    return 0;
}

static void add(struct task_list *list, const struct task_choice *choice, enum task_kind kind,
                struct pass_size size)
{
    bool both = choice->precision == PRECISION_BF16 && task_rows[kind].in_bf16;
    if (!(choice->kinds >> kind & 1))
        return;
    list->items[list->count++] = (struct task){kind, size, PRECISION_FP32};
    if (both)
        list->items[list->count++] = (struct task){kind, size, PRECISION_BF16};
}

static void add_lengths(struct task_list *list, const struct task_choice *choice)
{
    for (size_t i = 0; i < choice->length_count; i++)
        for (int kind = 0; kind < TASK_KINDS; kind++)
            if (task_rows[kind].by_length)
                add(list, choice, (enum task_kind)kind,
                    (struct pass_size){.sequences = 1, .tokens = choice->lengths[i]});
}

/* The size that a kind has of its own, or less where the context is shorter. */
static struct pass_size own_size(enum task_kind kind, size_t context)
{
    struct pass_size size = task_rows[kind].size;
    if (size.tokens > context)
        size.tokens = context;
    if (size.cached > context - size.tokens)
        size.cached = context - size.tokens;
    return size;
}

int task_list_make(struct task_list *list, const struct task_choice *choice,
                   const struct config *config, struct arena *arena, struct err *err)
{
    struct task_choice chosen;
    bool lengths_are_in = false;
    if (choose_lengths(&chosen, choice, config, err))
        return -1;
    size_t most = (chosen.length_count + 1) * TASK_KINDS * PRECISIONS;
    *list = (struct task_list){.items = arena_alloc(arena, most, sizeof *list->items, err)};
    if (!list->items)
        return -1;
    for (int i = 0; i < TASK_KINDS; i++) {
        enum task_kind kind = (enum task_kind)i;
        if (!task_rows[kind].by_length && task_suits(kind, config))
            add(list, &chosen, kind, own_size(kind, context_of(config)));
        else if (task_rows[kind].by_length && !lengths_are_in)
            add_lengths(list, &chosen);
        lengths_are_in |= task_rows[kind].by_length;
    }
    return 0;
}
