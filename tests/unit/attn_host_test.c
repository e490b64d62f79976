#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attn.h"
#include "base/file.h"
#include "model/model.h"
#include "rigs/scratch.h"
#include "unit.h"

FIXTURE(scratch_enter, scratch_leave)

enum { TOKENS = 60 };

static uint32_t words[TOKENS];
static const struct attn_ids text = {.ids = words, .count = TOKENS};

static const char weights[] = "mine/model.safetensors";
static const char shorter[] = "'mine/model.safetensors' became shorter while it was being read";

/* Copy the bundled model to files and open them. */
static struct attn_model *open_mine(size_t threads)
{
    const struct folder *tiny = bundled_find("tiny");
    struct attn_error error = {0};
    mkdir("mine", 0777);
    for (size_t i = 0; i < tiny->file_count; i++) {
        char path[64];
        snprintf(path, sizeof path, "mine/%s", tiny->files[i].name);
        FILE *file = fopen(path, "w");
        ck_assert_uint_eq(fwrite(tiny->files[i].bytes, 1, tiny->files[i].size, file),
                          tiny->files[i].size);
        fclose(file);
    }
    for (size_t i = 0; i < TOKENS; i++)
        words[i] = (uint32_t)(i % 7 * 40);
    struct attn_model *model = attn_open("mine", threads, &error);
    ck_assert_msg(model != NULL, "%s", error.text);
    return model;
}

static int count_calls(void *context, const struct attn_tensor *tensor)
{
    (void)tensor;
    ++*(size_t *)context;
    return 0;
}

static int shorten_once(void *context, const struct attn_tensor *tensor)
{
    if (++*(size_t *)context == 1)
        ck_assert_int_eq(truncate(weights, 0), 0);
    return strncmp(tensor->name, "h.0.", 4) == 0 || strcmp(tensor->name, "embedding") == 0 ? 0 : 1;
}

static void handle_nothing(int signal_number)
{
    (void)signal_number;
}

static struct sigaction handler_now(void)
{
    struct sigaction now;
    ck_assert_int_eq(sigaction(SIGBUS, NULL, &now), 0);
    return now;
}

/* --- files that become shorter ---------------------------------------------------------------- */

/* Truncated to nothing or half, with one thread or several, and with SIGBUS blocked or not. */
TEST_LOOP(calls_fail_after_a_file_was_truncated, 8)
{
    size_t seen = 0;
    float logprobs[TOKENS];
    sigset_t bus, now;
    struct stat status;
    struct sigaction before = handler_now();
    struct attn_request request = {.show = "logits", .sink = count_calls, .context = &seen};
    struct attn_model *model = open_mine(_i & 1 ? 4 : 1);
    struct attn_cache *cache = attn_cache_open(model, NULL);
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    if (_i & 4)
        pthread_sigmask(SIG_BLOCK, &bus, NULL);
    stat(weights, &status);
    ck_assert_int_eq(truncate(weights, _i & 2 ? status.st_size / 2 : 0), 0);
    for (int call = 0; call < 4; call++) {
        struct attn_error error = {0};
        int failed = call == 1   ? attn_score(model, &text, logprobs, &error)
                     : call == 2 ? attn_step(cache, &text, &request, &error)
                                 : attn_run(model, &text, &request, &error);
        ck_assert_int_eq(failed, -1);
        ck_assert_int_eq(error.status, 3);
        ck_assert_str_eq(error.text, shorter);
    }
    ck_assert_uint_eq(seen, 0);
    ck_assert_uint_eq(attn_cache_count(cache), 0);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    ck_assert_int_eq(sigismember(&now, SIGBUS), _i & 4 ? 1 : 0);
    attn_cache_close(cache);
    attn_close(model);
    ck_assert(handler_now().sa_handler == before.sa_handler);
}

/* Pages beyond the end read as zeros; no tensor computed from them reaches the sink. */
TEST(a_file_truncated_during_a_pass_ends_the_pass)
{
    size_t seen = 0;
    struct attn_error error = {0};
    struct attn_request request = {
        .show = "embedding,resid_pre,logits", .sink = shorten_once, .context = &seen};
    struct attn_model *model = open_mine(2);
    ck_assert_int_eq(attn_run(model, &text, &request, &error), -1);
    ck_assert_str_eq(error.text, shorter);
    attn_close(model);
}

TEST(a_truncated_model_does_not_affect_other_models)
{
    size_t seen = 0;
    struct attn_request request = {.show = "logits", .sink = count_calls, .context = &seen};
    struct attn_model *broken = open_mine(1), *sound = attn_open("tiny", 1, NULL);
    ck_assert_int_eq(truncate(weights, 0), 0);
    ck_assert_int_eq(attn_run(broken, &text, &request, NULL), -1);
    ck_assert_int_eq(attn_run(sound, &text, &request, NULL), 0);
    ck_assert_uint_eq(seen, 1);
    attn_close(broken);
    attn_close(sound);
}

static void *resize_for_ever(void *stop)
{
    struct stat status;
    stat(weights, &status);
    while (!*(atomic_bool *)stop) {
        ck_assert_int_eq(truncate(weights, 100), 0);
        ck_assert_int_eq(truncate(weights, status.st_size), 0);
    }
    return NULL;
}

TEST(a_file_may_be_truncated_while_it_is_opened)
{
    static atomic_bool stop;
    pthread_t thread;
    attn_close(open_mine(1));
    ck_assert_int_eq(pthread_create(&thread, NULL, resize_for_ever, &stop), 0);
    for (int i = 0; i < 200; i++) {
        struct attn_error error = {0};
        struct attn_model *model = attn_open("mine", 1, &error);
        ck_assert(model || error.status == 3);
        attn_close(model);
    }
    stop = true;
    pthread_join(thread, NULL);
}

/* --- the program's own handler ---------------------------------------------------------------- */

static sigjmp_buf way_out;
static void *volatile fault;

static void jump_out(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)context;
    fault = info->si_addr;
    siglongjmp(way_out, 1);
}

static int read_beyond_end(void *context, const struct attn_tensor *tensor)
{
    (void)tensor;
    if (sigsetjmp(way_out, 1) == 0)
        return **(volatile char *volatile *)context;
    return fault == *(char **)context ? 0 : 1;
}

TEST(other_faults_reach_the_handler_of_the_program)
{
    struct sigaction action = {.sa_sigaction = jump_out, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    struct attn_model *model = open_mine(1);
    FILE *empty = fopen("empty", "w+");
    char *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fileno(empty), 0);
    struct attn_request request = {.sink = read_beyond_end, .context = &page};
    ck_assert_int_eq(attn_run(model, &text, &request, NULL), 0);
    ck_assert_ptr_eq(fault, page);
    ck_assert_int_eq(truncate(weights, 0), 0);
    ck_assert_int_eq(attn_run(model, &text, &request, NULL), -1);
    attn_close(model);
    ck_assert(handler_now().sa_sigaction == jump_out);
    munmap(page, 1);
    fclose(empty);
}

TEST(a_handler_that_is_set_later_is_kept)
{
    struct attn_model *model = open_mine(1);
    signal(SIGBUS, handle_nothing);
    attn_close(model);
    attn_close(open_mine(1));
    ck_assert(handler_now().sa_handler == handle_nothing);
    raise(SIGBUS);
}

/* --- calls while another runs ----------------------------------------------------------------- */

struct nested {
    struct attn_model *model;
    struct attn_cache *cache;
    bool in_thread, closes;
    int answers;
};

static const char in_use[] = "the model is in use: expected one call at a time, found another from "
                             "a sink or a thread";

static void *call_all(void *context)
{
    struct nested *nested = context;
    struct attn_ids ids = {0};
    float logprobs[TOKENS];
    size_t seen = 0;
    struct attn_request request = {.sink = count_calls, .context = &seen};
    for (int call = 0; call < 5; call++) {
        struct attn_error error = {0};
        int failed = call == 0   ? attn_run(nested->model, &text, &request, &error)
                     : call == 1 ? attn_step(nested->cache, &text, &request, &error)
                     : call == 2 ? attn_score(nested->model, &text, logprobs, &error)
                     : call == 3 ? attn_encode(nested->model, "Life", 4, &ids, &error)
                                 : -!attn_cache_open(nested->model, &error);
        ck_assert_int_eq(failed, -1);
        ck_assert_int_eq(error.status, 2);
        ck_assert_str_eq(error.text, in_use);
        nested->answers++;
    }
    ck_assert_uint_eq(seen, 0);
    ck_assert_ptr_nonnull(attn_token_text(nested->model, 367, NULL));
    ck_assert_uint_eq(attn_count(nested->model).layers, 2);
    return NULL;
}

static int nest(void *context, const struct attn_tensor *tensor)
{
    struct nested *nested = context;
    pthread_t thread;
    (void)tensor;
    if (nested->in_thread) {
        ck_assert_int_eq(pthread_create(&thread, NULL, call_all, nested), 0);
        pthread_join(thread, NULL);
    } else {
        call_all(nested);
    }
    if (nested->closes) {
        attn_close(nested->model);
        attn_cache_close(nested->cache);
    }
    return 0;
}

/* Calls from a sink or another thread, in a run or a step; closing takes effect after the call. */
TEST_LOOP(one_call_at_a_time, 8)
{
    struct nested nested = {.in_thread = _i & 1, .closes = _i & 2};
    struct attn_error error = {0};
    struct attn_request request = {.show = "logits", .sink = nest, .context = &nested};
    nested.model = attn_open("tiny", 1, NULL);
    nested.cache = attn_cache_open(nested.model, NULL);
    int failed = _i & 4 ? attn_step(nested.cache, &text, &request, &error)
                        : attn_run(nested.model, &text, &request, &error);
    ck_assert_msg(!failed, "%s", error.text);
    ck_assert_int_eq(nested.answers, 5);
    if (nested.closes)
        return;
    attn_cache_close(nested.cache);
    attn_close(nested.model);
}

TEST(a_cache_of_a_closed_model_is_refused)
{
    size_t seen = 0;
    struct attn_error error = {0};
    struct attn_request request = {.sink = count_calls, .context = &seen};
    struct attn_model *model = attn_open("tiny", 1, NULL);
    struct attn_cache *cache = attn_cache_open(model, NULL);
    attn_close(model);
    ck_assert_int_eq(attn_step(cache, &text, &request, &error), -1);
    ck_assert_int_eq(error.status, 2);
    ck_assert_str_eq(error.text, "the model was closed");
    attn_cache_close(cache);
}

TEST(an_invalid_tokenizer_is_refused_by_name)
{
    struct attn_error error = {0};
    attn_close(open_mine(1));
    FILE *file = fopen("mine/tokenizer.json", "w");
    fputs("{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"post_processor\": "
          "{\"type\": \"RobertaProcessing\", \"cls\": [\"a\", 0]}}",
          file);
    fclose(file);
    ck_assert_ptr_null(attn_open("mine", 1, &error));
    ck_assert_int_eq(error.status, 3);
    ck_assert_str_eq(error.text, "'mine/tokenizer.json': post_processor: RobertaProcessing: field "
                                 "'sep': expected [\"token\", id], found nothing");
}
