#include "live/live.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/file.h"
#include "base/buf.h"
#include "draw/page.h"
#include "model/model.h"
#include "pass/sampler.h"

static struct live *live;
static struct err err;

static void enter(void)
{
    scratch_enter();
    err = (struct err){0};
    ck_assert_msg(!live_open(&live, bundled_find("tiny"), &err), "%s", err.text);
}

static void leave(void)
{
    live_close(live);
    scratch_leave();
}

FIXTURE(enter, leave)

/* The result of a request; released by the caller. */
static struct file write_request(struct live_request request)
{
    static int count; /* a name for each, because a file that was read is not replaced */
    char name[16];
    struct stream out = {0};
    struct file file = {0};
    request.size = strlen(request.text);
    request.show = "weights";
    snprintf(name, sizeof name, "%d.json", count++);
    ck_assert(!stream_open(&out, name, &err));
    int failed = live_write(live, &out, &request, &err);
    ck_assert_msg(!stream_end(&out, failed, &err), "%s", err.text);
    ck_assert(!file_map(&file, name, &err));
    return file;
}

static bool is_same(struct live_request one, struct live_request other)
{
    struct file a = write_request(one);
    struct file b = write_request(other);
    bool same = a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
    file_release(&a);
    file_release(&b);
    return same;
}

TEST(a_request_does_not_change_the_next)
{
    const struct live_request plain = {.text = "Life is short"};
    const struct live_request warm = {.text = "Life is short", .temperature = 2};
    const struct live_request edited = {.text = "Life is short",
                                        .edits = "h.0.context[head=1] = 0; h.0.q[head=2] * 0.5"};
    ck_assert(is_same(plain, plain));
    ck_assert(!is_same(plain, warm));
    ck_assert(!is_same(plain, edited));
    ck_assert(is_same(plain, plain));
}

/* Each switch ends with the next one; a switch that is refused changes nothing. */
TEST(switches_change_the_requests_that_follow)
{
    static const char *const switches[][2] = {
        {"none", ""}, {"", "positions"}, {"", "mask"}, {"2", "mask,positions"}};
    const struct live_request plain = {.text = "Life is short", .next = 5};
    const struct live_request warm = {.text = "Life is short", .next = 5, .temperature = 2};
    struct file before = write_request(plain);
    for (size_t i = 0; i < COUNT(switches); i++) {
        ck_assert(!live_switch(live, switches[i][0], switches[i][1], &err));
        struct file now = write_request(plain);
        ck_assert(now.size != before.size || memcmp(now.bytes, before.bytes, now.size) != 0);
        ck_assert(!is_same(plain, warm));
        ck_assert(live_switch(live, "", "heads", &err));
        ck_assert_msg(strstr(err.text, "--without: expected one of"), "%s", err.text);
        err = (struct err){0};
        struct file again = write_request(plain);
        ck_assert_uint_eq(now.size, again.size);
        ck_assert(!memcmp(now.bytes, again.bytes, now.size));
        file_release(&again);
        file_release(&now);
    }
    ck_assert(!live_switch(live, "", "", &err));
    struct file after = write_request(plain);
    ck_assert_uint_eq(before.size, after.size);
    ck_assert(!memcmp(before.bytes, after.bytes, before.size));
    file_release(&after);
    file_release(&before);
}

/* Predictions of tokens that the last text also has are reused; the result is the same. */
TEST(reused_predictions_do_not_change_the_result)
{
    static const char *const typed[] = {
        "Life",          "Life is",          "Life is sho",     "Life is short, eat",
        "Life is short", "The dog is short", "The dog is short"};
    for (size_t i = 1; i < sizeof typed / sizeof *typed; i++)
        for (float temperature = 0; temperature < 3; temperature += 2) {
            const struct live_request other = {.text = "and a house", .next = 5};
            struct live_request last = {.text = typed[i - 1], .next = 5};
            struct live_request text = {.text = typed[i], .next = 5, .temperature = temperature};
            struct file files[4];
            files[0] = write_request(last);
            files[1] = write_request(text);
            files[2] = write_request(other);
            files[3] = write_request(text);
            ck_assert_uint_eq(files[1].size, files[3].size);
            ck_assert(!memcmp(files[1].bytes, files[3].bytes, files[1].size));
            last.next = text.next = 6; /* another number of predictions: none is reused */
            ck_assert(is_same(text, text));
            for (size_t k = 0; k < 4; k++)
                file_release(&files[k]);
        }
}

/* The JSON of where a score comes from, or the message. */
static const char *write_origin(char text[static 4096], struct page_origin asked)
{
    const char words[] = "lemon cherry apple lemon";
    const struct live_request request = {.text = words, .size = sizeof words - 1};
    struct buf written = {0};
    struct stream out = {0};
    err = (struct err){0};
    stream_capture(&written);
    ck_assert(!stream_to(&out, 1, &err));
    int failed = live_write_origin(live, &out, &request, &asked, &err);
    failed = stream_end(&out, failed, &err);
    stream_capture(NULL);
    snprintf(text, 4096, "%.*s", (int)written.size, written.size ? written.bytes : "");
    buf_release(&written);
    return failed ? err.text : text;
}

TEST(a_score_is_split_or_refused)
{
    char text[4096], other[4096];
    struct page_origin asked = {.layer = 1, .head = 3, .query = 9, .key = 3, .less_mean = true};
    const char *json = write_origin(text, asked);
    ck_assert_msg(strstr(json, "\"layer\":1,\"head\":3,\"query\":9,\"key\":3"), "%s", json);
    ck_assert_msg(strstr(json, "\"score\":7.501"), "%s", json); /* as `attribute` prints it */
    ck_assert_msg(strstr(json, "\"L0.mlp\",\"L0.mlp\""), "%s", json);
    asked.less_mean = false;
    ck_assert_str_ne(json, write_origin(other, asked));
    asked.key = 10;
    ck_assert_msg(strstr(write_origin(other, asked), "--key: expected a key"), "%s", err.text);
    asked.layer = 2;
    ck_assert_msg(strstr(write_origin(other, asked), "found L2H3"), "%s", err.text);
    asked.less_mean = true;
    asked.layer = 1;
    asked.key = 3;
    ck_assert_str_eq(json, write_origin(other, asked)); /* nothing is kept */
}

/* The findings of a text, as JSON. */
static const char *write_findings(char text[static 4096], struct live_request request)
{
    struct stream out = {0};
    struct buf json = {0};
    request.size = strlen(request.text);
    ck_assert(!stream_to_memory(&out, &json, &err));
    int failed = live_write_findings(live, &out, &request, 5e9, &err);
    failed = stream_end(&out, failed, &err) || buf_check(&json, &err);
    snprintf(text, 4096, "%.*s", (int)json.size, failed ? err.text : json.bytes);
    buf_release(&json);
    return text;
}

TEST(findings_follow_the_edits_and_the_temperature_of_a_request)
{
    char text[4096], other[4096];
    struct live_request request = {.text = "The keys to the cabinet"};
    const char *plain = write_findings(text, request);
    ck_assert_msg(strstr(plain, "\"kind\": \"acts\", \"map\": \"weights\", \"layer\": 1, "
                                "\"head\": 3, \"query\": 4, \"key\": 1, "),
                  "%s", plain);
    ck_assert(strstr(plain, "\"predicts\": {\"row\": 4, \"token\": \"␣are\""));
    request.edits = "scores[query=4,key=1] = -1000";
    ck_assert(strstr(write_findings(other, request), "\"row\": 4, \"token\": \"␣is\""));
    request.edits = NULL;
    request.temperature = 4;
    ck_assert_str_ne(write_findings(other, request), plain);
    request.temperature = 0;
    ck_assert_str_eq(write_findings(other, request), plain); /* nothing is kept */
}

/* The JSON of the next tokens of a text, or without a sampling of a knockout; or the message. */
static const char *write_next(char text[static 4096], const char *added,
                              const struct sampling *sampling, size_t number)
{
    const char words[] = "The keys to the cabinet";
    const struct live_request request = {
        .text = words, .size = sizeof words - 1, .added = added, .next = 2};
    struct buf written = {0};
    struct stream out = {0};
    err = (struct err){0};
    stream_capture(&written);
    ck_assert(!stream_to(&out, 1, &err));
    int failed = sampling ? live_write_next(live, &out, &request, sampling, number, &err)
                          : live_write_knockout(live, &out, &request, false, number, &err);
    failed = stream_end(&out, failed, &err);
    stream_capture(NULL);
    snprintf(text, 4096, "%.*s", (int)written.size, written.size ? written.bytes : "");
    buf_release(&written);
    return failed ? err.text : text;
}

/* Numbers as of `generate` and of `run --knockout=-1:1`. */
TEST(a_text_grows_by_chosen_tokens)
{
    const struct sampling greedy = {.top_p = 1};
    const struct sampling drawn = {.temperature = 3, .top_p = 1, .seed = 2};
    char first[4096], text[4096];
    write_next(first, NULL, &greedy, 0);
    ck_assert_msg(strstr(first, "\"drawn\": {\"id\": 312, \"name\": \"␣are\""), "%s", first);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_msg(strstr(write_next(text, NULL, NULL, 1), "[-6.69984"), "%s", text);
        write_next(text, "312,380", &greedy, 0);
        ck_assert_msg(strstr(text, "\"␣cabinet\", \"␣are\", \"␣lost\"]"), "%s", text);
        ck_assert_msg(strstr(text, "\"drawn\": {\"id\": 13, \"name\": \".\""), "%s", text);
    }
    ck_assert_str_eq(first, write_next(text, "", &greedy, 0));
    write_next(text, NULL, &drawn, 0);
    ck_assert_str_ne(text, write_next(first, NULL, &drawn, 1));
    ck_assert_msg(strstr(write_next(text, NULL, NULL, 5), "key"), "%s", err.text);
    ck_assert_msg(strstr(write_next(text, "1280", &drawn, 0), "ids below 1280"), "%s", err.text);
}

TEST(invalid_requests_are_refused)
{
    static const struct {
        struct live_request request;
        const char *message;
    } cases[] = {
        {{.text = ""}, "the text is empty: expected at least one token"},
        {{.text = "is", .show = "wieghts"}, "did you mean 'weights'"},
        {{.text = "is", .edits = "h.0.context = mean"}, "found values of other texts"},
        {{.text = "is", .edits = "h.7.context = 0"}, "layer"},
        {{.text = "is", .edits = "h.0.context[token=3] = 0"}, "token"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct live_request request = cases[i].request;
        struct stream out = {0};
        err = (struct err){0};
        request.size = strlen(request.text);
        request.show = request.show ? request.show : "weights";
        ck_assert(!stream_open(&out, "refused.json", &err));
        ck_assert_int_eq(live_write(live, &out, &request, &err), -1);
        ck_assert_msg(strstr(err.text, cases[i].message), "%s", err.text);
        stream_discard(&out);
    }
    ck_assert(is_same((struct live_request){.text = "is"}, (struct live_request){.text = "is"}));
}
