#include "base/target_folder.h"
#include "write/format.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"
#include "base/file.h"
#include "base/heap.h"

#define LIFE_ORIGIN                                                             \
    "{\"format\": \"attn-cli/files/1\", \"model\": \"life\",\n"                 \
    " \"sentence\": \"Life is Life\",\n"                                        \
    " \"tokens\": [{\"id\": 0, \"text\": \"Life\", \"start\": 0, \"end\": 4}, " \
    "{\"id\": 1, \"text\": \"is\", \"start\": 5, \"end\": 7}, "                 \
    "{\"id\": 0, \"text\": \"Life\", \"start\": 8, \"end\": 12}],\n"

enum { PATH_BYTES = 256 };

static char folder[PATH_BYTES]; /* of this test, in the temporary files */

static void make_scratch(void)
{
    strcpy(folder, "/tmp/folder_out_test.XXXXXX");
    ck_assert_ptr_ne(mkdtemp(folder), NULL);
}

/* `name` in the scratch folder; valid until the next call. */
static const char *inside(const char *name)
{
    static char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void remove_tree(const char *path)
{
    DIR *entries = opendir(path);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char below[2 * PATH_BYTES];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        remove_tree(below);
    }
    if (entries)
        closedir(entries);
    remove(path);
}

static void remove_scratch(void)
{
    remove_tree(folder);
}

FIXTURE(make_scratch, remove_scratch)

static int write_to(const char *path, const struct format *format, const struct report *report,
                    const struct place *place, struct err *err)
{
    struct target_folder target = {0};
    int failed = target_folder_open(&target, path, true, err) ||
                 folder_out_write(&target, format, report, place, err);
    target_folder_close(&target);
    return failed ? -1 : 0;
}

static void write_all(const char *format, const struct report *report, const struct place *place)
{
    char path[2 * PATH_BYTES];
    struct err err = {0};
    strcpy(path, inside("out"));
    ck_assert_msg(write_to(path, format_find(format), report, place, &err) == 0, "%s", err.text);
}

static int entries_in(const char *path)
{
    int count = 0;
    DIR *entries = opendir(path);
    ck_assert_ptr_ne(entries, NULL);
    while (readdir(entries))
        count++;
    closedir(entries);
    return count - 2; /* . and .. */
}

static void check_content(const char *name, const char *content)
{
    struct file file = {0};
    struct err err = {0};
    ck_assert_msg(file_map(&file, inside(name), &err) == 0, "%s", err.text);
    ck_assert_msg(file.size == strlen(content) && memcmp(file.bytes, content, file.size) == 0,
                  "expected\n%s\nfound\n%.*s", content, (int)file.size, file.bytes);
    file_release(&file);
}

TEST(csv_has_a_file_for_every_matrix)
{
    write_all("csv", &fixture_layers, &fixture_alone);
    ck_assert_int_eq(entries_in(inside("out")), 9 + 1);
    check_content("out/weights.l00.h01.csv", "query\\key,0:Life,1:is,2:Life\n"
                                             "0:Life,1,0,0\n"
                                             "1:is,0.5,0.5,0\n"
                                             "2:Life,0.3,0.3,0.4\n");
    check_content("out/embedding.csv", "token\\channel,0,1\n"
                                       "0:Life,0.5,-0.5\n"
                                       "1:is,12345678,0.25\n"
                                       "2:Life,0.5,-0.5\n");
    check_content(
        "out/manifest.json", LIFE_ORIGIN
        " \"files\": [\n"
        "  {\"file\": \"embedding.csv\", \"tensor\": \"embedding\", \"layer\": null, "
        "\"heads\": null},\n"
        "  {\"file\": \"k.l00.h00.csv\", \"tensor\": \"h.0.k\", \"layer\": 0, \"heads\": [0]},\n"
        "  {\"file\": \"k.l00.h01.csv\", \"tensor\": \"h.0.k\", \"layer\": 0, \"heads\": [1]},\n"
        "  {\"file\": \"weights.l00.h00.csv\", \"tensor\": \"h.0.weights\", \"layer\": 0, "
        "\"heads\": [0]},\n"
        "  {\"file\": \"weights.l00.h01.csv\", \"tensor\": \"h.0.weights\", \"layer\": 0, "
        "\"heads\": [1]},\n"
        "  {\"file\": \"masked.l01.h00.csv\", \"tensor\": \"h.1.masked\", \"layer\": 1, "
        "\"heads\": [0]},\n"
        "  {\"file\": \"masked.l01.h01.csv\", \"tensor\": \"h.1.masked\", \"layer\": 1, "
        "\"heads\": [1]},\n"
        "  {\"file\": \"weights.l01.h00.csv\", \"tensor\": \"h.1.weights\", \"layer\": 1, "
        "\"heads\": [0]},\n"
        "  {\"file\": \"weights.l01.h01.csv\", \"tensor\": \"h.1.weights\", \"layer\": 1, "
        "\"heads\": [1]}]}\n");
}

TEST(npy_has_a_file_for_every_tensor)
{
    static const char *const names[] = {"out/embedding.npy", "out/h.0.k.npy", "out/h.0.weights.npy",
                                        "out/h.1.masked.npy", "out/h.1.weights.npy"};
    write_all("npy", &fixture_layers, &fixture_alone);
    ck_assert_int_eq(entries_in(inside("out")), 5 + 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(file_exists(inside(names[i])), "no %s", names[i]);
}

TEST(formats_that_hold_a_sentence_have_one_file)
{
    static const struct {
        const char *format;
        const char *name;
    } cases[] = {
        {"text", "out/sentence.txt"},
        {"tidy", "out/sentence.tidy.csv"},
        {"json", "out/sentence.json"},
        {"jsonl", "out/sentence.jsonl"},
        {"safetensors", "out/sentence.safetensors"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_all(cases[i].format, &fixture_layers, &fixture_alone);
        ck_assert_msg(file_exists(inside(cases[i].name)), "no %s", cases[i].name);
        ck_assert_int_eq(entries_in(inside("out")), 2);
        remove_tree(inside("out"));
    }
}

TEST(a_file_with_selected_heads_says_which)
{
    write_all("json", &fixture_selected, &fixture_alone);
    check_content("out/manifest.json",
                  LIFE_ORIGIN " \"heads\": [1],\n"
                              " \"files\": [\n"
                              "  {\"file\": \"sentence.json\", \"tensor\": \"h.0.weights\", "
                              "\"layer\": 0, \"heads\": [1]}]}\n");
}

TEST(each_of_several_sentences_has_a_folder)
{
    struct place place = {.count = 12, .columns = 80};
    write_all("csv", &fixture_plain, &place);
    place.index = 11;
    write_all("csv", &fixture_selected, &place);
    ck_assert_int_eq(entries_in(inside("out")), 2);
    ck_assert(file_exists(inside("out/0000/manifest.json")));
    check_content("out/0000/weights.l00.h00.csv", "query\\key,0:Life,1:is,2:Life\n"
                                                  "0:Life,1,0,0\n"
                                                  "1:is,0.25,0.75,0\n"
                                                  "2:Life,0.1,0.2,0.7\n");
    ck_assert(file_exists(inside("out/0011/weights.l00.h01.csv")));
}

TEST(a_slash_behind_the_folder_is_no_matter)
{
    struct err err = {0};
    ck_assert_int_eq(
        write_to(inside("out/"), format_find("json"), &fixture_plain, &fixture_alone, &err), 0);
    ck_assert(file_exists(inside("out/sentence.json")));
}

TEST(a_folder_that_cannot_be_made_is_named)
{
    static const struct {
        const char *path;
        const char *reason;
    } cases[] = {
        {"missing/out", "No such file or directory"},
        {"file", "File exists"},
        {"file/out", "Not a directory"},
    };
    fclose(fopen(inside("file"), "w"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        char expected[4 * PATH_BYTES];
        const char *path = inside(cases[i].path);
        snprintf(expected, sizeof expected, "cannot make the directory '%s': %s", path,
                 cases[i].reason);
        ck_assert_int_eq(write_to(path, format_find("csv"), &fixture_plain, &fixture_alone, &err),
                         -1);
        ck_assert_int_eq(err.kind, ERR_OUTPUT);
        ck_assert_str_eq(err.text, expected);
    }
}

TEST(a_file_that_cannot_be_written_is_named_and_no_manifest_is_made)
{
    struct err err = {0};
    char path[2 * PATH_BYTES];
    char expected[4 * PATH_BYTES];
    strcpy(path, inside("out"));
    mkdir(path, 0777);
    mkdir(inside("out/weights.l00.h00.csv"), 0777);
    snprintf(expected, sizeof expected, "cannot write '%s': it is a directory",
             inside("out/weights.l00.h00.csv"));
    ck_assert_int_eq(write_to(path, format_find("csv"), &fixture_plain, &fixture_alone, &err), -1);
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
    ck_assert_str_eq(err.text, expected);
    ck_assert(!file_exists(inside("out/manifest.json")));
}

static int refuse(struct stream *out, const struct report *report, const struct place *place,
                  struct err *err)
{
    (void)out;
    (void)report;
    ck_assert_uint_eq(place->index, 0);
    ck_assert_uint_eq(place->count, 1);
    return err_usage(err, "not today");
}

TEST(what_a_writer_refuses_is_told_with_the_file_which_is_not_there)
{
    static const struct format format = {
        .name = "no", .ending = ".no", .unit = UNIT_TENSOR, .write = refuse};
    struct place place = {.index = 1, .count = 2};
    struct err err = {0};
    char path[2 * PATH_BYTES];
    char expected[4 * PATH_BYTES];
    strcpy(path, inside("out"));
    ck_assert_int_eq(write_to(path, &format, &fixture_plain, &place, &err), -1);
    snprintf(expected, sizeof expected, "'%s': not today", inside("out/0001/h.0.weights.no"));
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    ck_assert(!file_exists(path));
}

TEST(a_sentence_whose_folder_cannot_be_made_is_named)
{
    struct err err = {0};
    struct place place = {.index = 1, .count = 2, .columns = 80};
    char path[2 * PATH_BYTES];
    char taken[2 * PATH_BYTES];
    strcpy(path, inside("out"));
    strcpy(taken, inside("out/0001"));
    ck_assert_int_eq(mkdir(path, 0700), 0);
    FILE *file = fopen(taken, "w");
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(write_to(path, format_find("csv"), &fixture_plain, &place, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "out/0001"));
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
}

TEST(every_allocation_may_fail)
{
    char path[2 * PATH_BYTES];
    int failed = -1;
    size_t nth = 0;
    struct place place = {.count = 2, .columns = 80};
    strcpy(path, inside("out"));
    while (failed) {
        struct err err = {0};
        heap_fail_at(++nth, 0);
        failed = write_to(path, format_find("csv"), &fixture_layers, &place, &err);
        heap_fail_at(0, 0);
        if (failed)
            ck_assert_msg(strstr(err.text, "out of memory: ") != NULL, "'%s'", err.text);
        ck_assert_int_eq(file_exists(inside("out/0000/manifest.json")), !failed);
    }
    ck_assert_uint_gt(nth, 9);
    ck_assert_int_eq(entries_in(inside("out/0000")), 9 + 1);
}
