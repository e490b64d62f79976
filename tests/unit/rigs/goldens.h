/* goldens.h: a JSON file with a list of goldens: each has numbers in float64, the name of a model
 * in tests/references/golden-families, and the ids of its text and source.
 *
 *     root = goldens_open("tests/references/golden-gradients.json");
 *     const struct json *golden = golden_at(root, _i);
 *     golden_open(&viewer, golden);
 *     golden_read(&pair, &viewer, golden, &arena);
 *     json_free(root);
 */
#pragma once

#include <math.h>
#include <stdio.h>

#include "asserts.h"
#include "base/file.h"
#include "format/json.h"
#include "measure/question.h"

static inline struct json *goldens_open(const char *path)
{
    struct json *root = NULL;
    struct file file = {0};
    struct err err = {0};
    int failed = file_map(&file, path, &err) || json_parse(&root, file.bytes, file.size, &err);
    ck_assert_msg(!failed, "%s (run from the repository's root)", err.text);
    file_release(&file);
    return root;
}

static inline const struct json *golden_at(const struct json *list, int index)
{
    const struct json *golden = json_first(list);
    while (index-- > 0)
        golden = json_next(golden);
    return golden;
}

static inline double golden_number(const struct json *golden, const char *name)
{
    double number = NAN;
    ck_assert(json_get_number(json_member(golden, name), &number));
    return number;
}

/* NULL: it has none. */
static inline const char *golden_text(const struct json *golden, const char *name)
{
    const char *text = NULL;
    json_get_text(json_member(golden, name), &text);
    return text;
}

/* The folder of the model. */
static inline const char *golden_path(char path[128], const struct json *golden)
{
    snprintf(path, 128, "tests/references/golden-families/%s", golden_text(golden, "model"));
    return path;
}

static inline void golden_open(struct viewer *viewer, const struct json *golden)
{
    char path[128];
    struct err err = {0};
    ck_assert_msg(!viewer_open(viewer, golden_path(path, golden), 1, &err), "%s: %s", path,
                  err.text);
}

static inline void golden_read(struct text_with_source *pair, struct viewer *viewer,
                               const struct json *golden, struct arena *arena)
{
    const struct input ids = {.ids = golden_text(golden, "ids")};
    const struct input source = {.ids = golden_text(golden, "source")};
    struct err err = {0};
    ck_assert_msg(!viewer_read(viewer, pair, &ids, source.ids ? &source : NULL, arena, &err), "%s",
                  err.text);
}

/* Expect two of an array's numbers: [index, number, index, number], the larger number first. The
 * tolerance is 5e-5 of it, and `more`. */
static inline void golden_expect_two(const struct json *two, const float *found, double more)
{
    double numbers[4];
    const struct json *number = json_first(two);
    for (size_t i = 0; i < 4; i++, number = json_next(number))
        ck_assert(json_get_number(number, &numbers[i]));
    for (size_t i = 0; i < 4; i += 2)
        ck_assert_msg(fabs((double)found[(size_t)numbers[i]] - numbers[i + 1]) <=
                          5e-5 * fabs(numbers[1]) + more,
                      "%s [%g]: expected %g, found %g", json_key(two), numbers[i], numbers[i + 1],
                      (double)found[(size_t)numbers[i]]);
}

static inline struct question golden_question(const struct json *golden)
{
    return (struct question){(size_t)golden_number(golden, "position"),
                             (long long)golden_number(golden, "answer"),
                             (long long)golden_number(golden, "other")};
}
