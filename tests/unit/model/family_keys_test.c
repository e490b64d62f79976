/* Each key of config.json in turn, on small models of each family:
 * tests/references/oracle/keys.txt, which tests/references/torch/keys.py writes with transformers,
 * has the result of each change. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "format/json.h"
#include "pass/forward.h"
#include "model/model.h"
#include "pass/tap.h"

enum { TOKENS_MAX = 16, LOGITS_MAX = 1024, PARTS = 8 };

/* A model of the table. */
struct subject {
    char folder[64];
    struct buf config; /* the text of its config.json */
    uint32_t ids[TOKENS_MAX], source[TOKENS_MAX];
    size_t count, source_count;
    float logits[LOGITS_MAX];
};

static struct machine machine;

static bool is_named(struct json_span member, struct json_span name)
{
    bool removes = member.size && *member.bytes == '-';
    return member.size == name.size + removes &&
           memcmp(member.bytes + removes, name.bytes, name.size) == 0;
}

/* The next member of an object. */
static bool next_member(struct json_cursor *cursor, struct json_span *name, struct json_span *value)
{
    if (!json_cursor_next(cursor))
        return false;
    *name = json_cursor_name(cursor);
    *value = json_cursor_value(cursor);
    return true;
}

static bool find_member(struct json_span object, struct json_span wanted, struct json_span *value)
{
    struct json_cursor cursor = json_cursor_at(object);
    struct json_span name;
    json_cursor_enter(&cursor);
    while (next_member(&cursor, &name, value))
        if (is_named(name, wanted))
            return true;
    return false;
}

static void add_member(struct buf *out, char *mark, struct json_span name, struct json_span value)
{
    buf_format(out, "%c\"%.*s\": %.*s", *mark, (int)name.size, name.bytes, (int)value.size,
               value.bytes);
    *mark = ',';
}

/* The object with the members of a change, and without those named "-key". */
static void merge(struct buf *out, struct json_span object, struct json_span change)
{
    static const struct json_span inner = {"text_config", 11};
    struct json_span name, value, other;
    struct buf changed = {0};
    char mark = '{';
    if (find_member(object, inner, &value) && !find_member(change, inner, &other)) {
        buf_text(&changed, "{\"text_config\": ");
        merge(&changed, value, change);
        buf_text(&changed, "}");
        change = (struct json_span){changed.bytes, changed.size};
    }
    struct json_cursor cursor = json_cursor_at(object);
    json_cursor_enter(&cursor);
    while (next_member(&cursor, &name, &value))
        if (!find_member(change, name, &other))
            add_member(out, &mark, name, value);
    cursor = json_cursor_at(change);
    json_cursor_enter(&cursor);
    while (next_member(&cursor, &name, &value))
        if (*name.bytes != '-')
            add_member(out, &mark, name, value);
    buf_text(out, mark == '{' ? "{}" : "}");
    buf_release(&changed);
}

static int keep(void *context, const struct announcement *seen, struct err *err)
{
    (void)err;
    ck_assert_uint_le(tensor_count(&seen->values), LOGITS_MAX);
    tensor_copy(context, &seen->values);
    return 0;
}

/* Run the model with a change, the text of an object. */
static int run_changed(const struct subject *subject, struct json_span change, float *logits,
                       struct err *err)
{
    char weights[128];
    struct buf text = {0};
    struct model model = {0};
    struct arena arena = {0};
    struct watch watch;
    struct batch batch;
    merge(&text, (struct json_span){subject->config.bytes, subject->config.size}, change);
    snprintf(weights, sizeof weights, "%s/model.safetensors", subject->folder);
    const struct folder_file files[] = {
        {.name = "config.json", .bytes = text.bytes, .size = text.size},
        {.name = "model.safetensors", .path = weights}};
    const struct folder folder = {subject->folder, files, COUNT(files)};
    const struct text tokens = {.ids = subject->ids,
                                .count = subject->count,
                                .source_ids = subject->source_count ? subject->source : NULL,
                                .source_count = subject->source_count};
    const struct run run = {&machine, &model.config, &model.weights, &batch, .edits = NULL};
    struct tap tap = {.watch = &watch, .sink = keep, .context = logits};
    memset(logits, 0, LOGITS_MAX * sizeof *logits);
    int failed = model_open_folder(&model, &folder, err);
    if (!failed) {
        model.config.n_positions += config_rotates(&model.config) ? TOKENS_MAX : 0;
        ck_assert_int_eq(watch_init(&watch, &model.config, &arena, err), 0);
        watch_add(&watch, SITE_LOGITS, 0);
        failed = batch_init(&batch, &model.config, &tokens, 1, &arena, err) ||
                 forward(&run, &tap, &arena, err);
        model_release(&model);
    }
    arena_release(&arena);
    buf_release(&text);
    return failed;
}

/* One number of all logits, as keys.py makes it. */
static double weigh(const float *logits)
{
    double sum = 0;
    for (size_t k = 0; k < LOGITS_MAX; k++)
        sum += ((double)(7 * k % 11) - 5) / 5 * (double)logits[k];
    return sum;
}

/* A text without its quotes. */
static struct json_span text_of(struct json_cursor *cursor)
{
    struct json_span text = json_cursor_value(cursor);
    return (struct json_span){text.bytes + 1, text.size - 2};
}

static double number_of(struct json_span value)
{
    return strtod(value.bytes, NULL);
}

static size_t read_ids(uint32_t *ids, struct json_span list)
{
    struct json_cursor cursor = json_cursor_at(list);
    size_t count = 0;
    json_cursor_enter(&cursor);
    while (json_cursor_next(&cursor) && count < TOKENS_MAX)
        ids[count++] = (uint32_t)number_of(json_cursor_value(&cursor));
    return count;
}

static void expect_number(const char *label, const float *logits, double wanted)
{
    double found = weigh(logits);
    ck_assert_msg(fabs(found - wanted) <= 2e-4 * (1 + fabs(wanted)), "%s: expected %g, found %g",
                  label, wanted, found);
}

/* ["NAME", ids, source ids, change of the whole, number] */
static void begin_subject(struct subject *subject, struct json_cursor *line)
{
    struct err err = {0};
    struct file file = {0};
    struct buf changed = {0};
    struct json_span name = text_of(line);
    snprintf(subject->folder, sizeof subject->folder, "tests/references/golden-families/%.*s",
             (int)name.size, name.bytes);
    const struct folder folder = {.path = subject->folder};
    ck_assert_msg(!folder_open(&file, &folder, "config.json", &err), "%s", err.text);
    json_cursor_next(line);
    subject->count = read_ids(subject->ids, json_cursor_value(line));
    json_cursor_next(line);
    subject->source_count = read_ids(subject->source, json_cursor_value(line));
    json_cursor_next(line);
    merge(&changed, (struct json_span){file.bytes, file.size}, json_cursor_value(line));
    buf_release(&subject->config);
    subject->config = changed;
    file_release(&file);
    json_cursor_next(line);
    double wanted = number_of(json_cursor_value(line));
    ck_assert_msg(!run_changed(subject, (struct json_span){"{}", 2}, subject->logits, &err), "%s",
                  err.text);
    expect_number(subject->folder, subject->logits, wanted);
}

/* Whether a message names an absent key or, of an object, one of those in it. */
static bool names_absent(const char *message, const char *key)
{
    static const struct {
        const char *object, *member;
    } members[] = {{"'attn_config'", "'kv_n_heads'"},
                   {"'ffn_config'", "'moe_num_experts'"},
                   {"'linear_attn_config'", "'linear_head_dim'"},
                   {"'per_layer_config'", "'global_head_dim'"}};
    char bare[64];
    for (size_t i = 0; i < COUNT(members); i++)
        if (strcmp(members[i].object, key) == 0)
            key = members[i].member;
    snprintf(bare, sizeof bare, "%.*s", (int)strlen(key) - 2, key + 1);
    return strstr(message, bare);
}

/* ["same", {key: value, …}]: each has no effect; or is refused, by the name of a removed key. */
static void try_each(const struct subject *subject, struct json_span word, struct json_span changes)
{
    float logits[LOGITS_MAX];
    struct json_cursor cursor = json_cursor_at(changes);
    struct json_span name, value;
    json_cursor_enter(&cursor);
    while (next_member(&cursor, &name, &value)) {
        struct err err = {0};
        struct buf change = {0};
        char key[64];
        bool removes = *name.bytes == '-';
        buf_format(&change, "{\"%.*s\": %.*s}", (int)name.size, name.bytes, (int)value.size,
                   value.bytes);
        snprintf(key, sizeof key, "'%.*s'", (int)name.size - removes, name.bytes + removes);
        int failed =
            run_changed(subject, (struct json_span){change.bytes, change.size}, logits, &err);
        if (json_span_is(word, "same"))
            ck_assert_msg(!failed && memcmp(logits, subject->logits, sizeof logits) == 0,
                          "%s %s: expected no effect, found %s", subject->folder, change.bytes,
                          failed ? err.text : "one");
        else
            ck_assert_msg(failed && (strstr(err.text, key) || json_span_is(word, "misfits")) &&
                              (!removes || names_absent(err.text, key)),
                          "%s %s: expected a refusal%s, found %s", subject->folder, change.bytes,
                          removes ? " that names the key" : "", failed ? err.text : "none");
        buf_release(&change);
    }
}

/* [change, number] */
static void try_change(const struct subject *subject, struct json_span change, double wanted)
{
    float logits[LOGITS_MAX];
    struct err err = {0};
    char label[512];
    snprintf(label, sizeof label, "%s %.*s", subject->folder, (int)change.size, change.bytes);
    ck_assert_msg(!run_changed(subject, change, logits, &err), "%s: %s", label, err.text);
    ck_assert_msg(memcmp(logits, subject->logits, sizeof logits) != 0,
                  "%s: expected an effect, found none", label);
    expect_number(label, logits, wanted);
}

TEST_LOOP(each_key_of_a_config_is_read_or_ignored_or_refused_as_listed, PARTS)
{
    static struct subject subject;
    struct err err = {0};
    struct file file = {0};
    const struct folder folder = {.path = "tests/references/oracle"};
    int models = -1;
    ck_assert_msg(!folder_open(&file, &folder, "keys.txt", &err), "%s", err.text);
    ck_assert_int_eq(machine_open(&machine, 1, NULL), 0);
    for (const char *line = file.bytes, *end = line + file.size; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        struct json_cursor cursor;
        ck_assert_int_eq(json_cursor_open(&cursor, NULL, line, (size_t)(next - line), &err), 0);
        json_cursor_enter(&cursor);
        json_cursor_next(&cursor);
        bool is_change = json_cursor_kind(&cursor) == '{';
        struct json_cursor rest = cursor;
        struct json_span first = is_change ? json_cursor_value(&cursor) : text_of(&cursor);
        bool is_group = json_span_is(first, "same") || json_span_is(first, "refused") ||
                        json_span_is(first, "misfits");
        models += !is_change && !is_group;
        line = next + 1;
        if (models % PARTS != _i)
            continue;
        if (!is_change && !is_group) {
            begin_subject(&subject, &rest);
            continue;
        }
        json_cursor_next(&cursor);
        struct json_span second = json_cursor_value(&cursor);
        if (is_group)
            try_each(&subject, first, second);
        else
            try_change(&subject, first, number_of(second));
    }
    ck_assert_int_gt(models, 50);
    machine_release(&machine);
    buf_release(&subject.config);
    file_release(&file);
}
