#include "bench/benchmark.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/heap.h"

static const size_t lengths[] = {5, 3};

/* "open prefill:1x6 capture:1x6": the list as a text. */
static const char *described(const struct task_choice *choice, size_t n_positions, bool causal)
{
    static char text[1024];
    struct config config = {.n_positions = n_positions, .causal = causal};
    struct arena arena = {0};
    struct task_list list;
    struct err err = {0};
    size_t used = 0;
    ck_assert_msg(!task_list_make(&list, choice, &config, &arena, &err), "%s", err.text);
    text[0] = '\0';
    for (size_t i = 0; i < list.count; i++) {
        const struct task *task = &list.items[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", i ? " " : "",
                                 task_rows[task->kind].name,
                                 task->precision == PRECISION_BF16 ? "/bf16" : "");
        if (task->size.texts)
            used += (size_t)snprintf(text + used, sizeof text - used, ":%zux%zu", task->size.texts,
                                     task->size.tokens);
        if (task->size.logits)
            used += (size_t)snprintf(text + used, sizeof text - used, "+%zu", task->size.cached);
    }
    arena_release(&arena);
    return text;
}

TEST(what_is_there_for_each_length_stands_together)
{
    static const struct {
        struct task_choice choice;
        size_t n_positions;
        bool causal;
        const char *expected;
    } cases[] = {
        {{TASKS_ALL, NULL, 0, PRECISION_FP32},
         1024,
         true,
         "open prefill:1x6 in-place:1x6 capture:1x6 prefill:1x64 in-place:1x64 capture:1x64 "
         "prefill:1x256 in-place:1x256 capture:1x256 prefill:1x1024 in-place:1x1024 "
         "capture:1x1024 decode:1x1+64 greedy:1x1+64 batch:100x12"},
        {{TASKS_ALL, NULL, 0, PRECISION_FP32},
         64,
         true,
         "open prefill:1x6 in-place:1x6 capture:1x6 prefill:1x64 in-place:1x64 capture:1x64 "
         "decode:1x1+63 greedy:1x1+63 batch:100x12"},
        {{TASKS_ALL, NULL, 0, PRECISION_FP32},
         8,
         false,
         "open prefill:1x6 in-place:1x6 capture:1x6 batch:100x8"},
        {{TASKS_ALL, NULL, 0, PRECISION_FP32},
         5,
         true,
         "open decode:1x1+4 greedy:1x1+4 batch:100x5"},
        {{1 << TASK_DECODE, NULL, 0, PRECISION_FP32}, 1, true, "decode:1x1+0"},
        {{1 << TASK_DECODE, NULL, 0, PRECISION_FP32}, 1, false, ""},
        {{1 << TASK_CAPTURE, lengths, 2, PRECISION_FP32}, 5, true, "capture:1x5 capture:1x3"},
        {{1 << TASK_OPEN, lengths, 2, PRECISION_FP32}, 5, true, "open"},
        {{1 << TASK_PREFILL | 1 << TASK_BATCH, lengths, 1, PRECISION_FP32},
         0,
         true,
         "prefill:1x5 batch:100x12"},
        {{0, NULL, 0, PRECISION_FP32}, 0, true, ""},
        {{TASKS_ALL, lengths, 2, PRECISION_BF16},
         64,
         true,
         "open prefill:1x5 prefill/bf16:1x5 in-place:1x5 capture:1x5 prefill:1x3 prefill/bf16:1x3 "
         "in-place:1x3 capture:1x3 decode:1x1+63 decode/bf16:1x1+63 greedy:1x1+63 "
         "batch:100x12 batch/bf16:100x12"},
        {{1 << TASK_OPEN | 1 << TASK_CAPTURE, lengths, 1, PRECISION_BF16},
         64,
         true,
         "open capture:1x5"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(described(&cases[i].choice, cases[i].n_positions, cases[i].causal),
                         cases[i].expected);
}

TEST(only_a_text_that_grows_and_has_logits_is_decoded)
{
    const struct {
        struct config config;
        bool expected;
    } cases[] = {
        {{.kind = MODEL_GPT2, .causal = true}, true},
        {{.kind = MODEL_GPT2}, false},
        {{.kind = MODEL_ATTENTION, .causal = true}, false},
        {{.kind = MODEL_ATTENTION, .cross = true}, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_int_eq(task_suits(TASK_DECODE, &cases[i].config), cases[i].expected);
        ck_assert_int_eq(task_suits(TASK_GREEDY, &cases[i].config), cases[i].expected);
        ck_assert(task_suits(TASK_BATCH, &cases[i].config));
    }
}

TEST(a_text_longer_than_the_context_is_refused)
{
    struct config config = {.n_positions = 4};
    struct task_choice choice = {TASKS_ALL, lengths, 2, PRECISION_FP32};
    struct arena arena = {0};
    struct task_list list;
    struct err err = {0};
    ck_assert_int_eq(task_list_make(&list, &choice, &config, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--tokens: expected at most 4 (n_positions), found 5");
    ck_assert_int_eq(err.kind, ERR_USAGE);
    arena_release(&arena);
}

TEST(without_memory_there_is_no_list)
{
    struct config config = {0};
    struct task_choice choice = {TASKS_ALL, NULL, 0, PRECISION_FP32};
    struct arena arena = {0};
    struct task_list list;
    struct err err = {0};
    heap_fail_at(1, 0);
    ck_assert_int_eq(task_list_make(&list, &choice, &config, &arena, &err), -1);
    ck_assert_int_eq(strncmp(err.text, "out of memory: ", 15), 0);
    arena_release(&arena);
}

TEST(every_kind_has_a_name_of_its_own_and_says_what_it_is)
{
    for (int kind = 0; kind < TASK_KINDS; kind++) {
        ck_assert_uint_gt(strlen(task_rows[kind].about), 0);
        for (int other = 0; other < kind; other++)
            ck_assert_str_ne(task_rows[kind].name, task_rows[other].name);
    }
}
