/* output_test.c: formats, files of results, their provenance, and how they are displayed. */
#include "../../../cmd/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../cmd/command.h"
#include "../rigs/command_rig.h"
#include "../rigs/report_fixture.h"
#include "../rigs/scratch.h"
#include "../rigs/starve.h"
#include "../unit.h"
#include "base/file.h"
#include "base/memory.h"

static struct options options;
static struct output output;
static struct arena arena;
static struct err err;

static void enter(void)
{
    command_enter();
    output = (struct output){.path = NULL};
    arena = (struct arena){0};
    err = (struct err){0};
}

static void leave(void)
{
    output_discard(&output);
    arena_release(&arena);
    command_leave();
}

FIXTURE(enter, leave)

/* Parse a command line and choose its output. */
static int choose(const char *line)
{
    command_take(&options, line);
    return output_choose(&output, &options.output, &err);
}

/* --- formats ---------------------------------------------------------------------------------- */

static const struct {
    const char *path, *name;
    size_t count;
    const char *format, *message; /* NULL format: refused */
} choices[] = {
    {NULL, NULL, FORMAT_COUNT, "text", NULL},
    {"-", NULL, FORMAT_COUNT, "text", NULL},
    {"a.csv", NULL, FORMAT_COUNT, "csv", NULL},
    {"a.tidy.csv", NULL, FORMAT_COUNT, "tidy", NULL},
    {"a.Excel.CSV", NULL, FORMAT_COUNT, "excel", NULL},
    {"a.csv", "json", FORMAT_COUNT, "json", NULL},
    {"a.csv", NULL, FORMATS_OF_WORKING, NULL,
     "--output without --format: expected one of .txt, .md, .html, .json, found '.csv'"},
    {NULL, "csv", FORMATS_OF_WORKING, NULL,
     "--format: expected one of text, markdown, html, json, found 'csv'"},
    {"dir.csv/table", NULL, FORMATS_OF_WORKING, NULL,
     "--output without --format: expected one of .txt, .md, .html, .json, found "
     "'dir.csv/table'"},
    {"", NULL, FORMAT_COUNT, NULL, "--output: expected a path, found ''"},
};

TEST_LOOP(a_format_is_chosen_by_its_name_or_else_by_the_ending, COUNT(choices))
{
    const struct output_options given = {.path = choices[_i].path, .format = choices[_i].name};
    const struct format *format = format_choose(choices[_i].count, &given, &err);
    ck_assert_str_eq(format ? format->name : "none",
                     choices[_i].format ? choices[_i].format : "none");
    ck_assert_str_eq(err.text, choices[_i].message ? choices[_i].message : "");
    ck_assert_int_eq(err.kind, format ? ERR_NONE : ERR_USAGE);
}

TEST(each_format_is_found_by_its_name_and_ending)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        char path[32];
        snprintf(path, sizeof path, "name%s", format_rows[i]->ending);
        ck_assert_ptr_eq(format_find(format_rows[i]->name), format_rows[i]);
        ck_assert_ptr_eq(format_find_ending(path, FORMAT_COUNT), format_rows[i]);
    }
    ck_assert_ptr_null(format_find("xls"));
    ck_assert_ptr_null(format_find_ending("csv", FORMAT_COUNT));
    ck_assert(format_is(&format_excel, "csv tidy") == format_is(&format_excel, "csv"));
    ck_assert(format_is(&format_json, "text json") && !format_is(&format_json, "jsonl"));
    ck_assert(format_is_looked_at(&format_svg) && format_is_looked_at(&format_html));
    ck_assert(!format_is_looked_at(&format_csv));
}

static const struct {
    const char *path;
    bool standard, folder, page;
} paths[] = {
    {NULL, true, false, true},           {"-", true, false, true},
    {"a.csv", false, false, false},      {"new/", false, true, true},
    {"there", false, true, true},        {"file", false, false, true},
    {"a.html", false, false, true},      {"A.HTML", false, false, true},
    {"v1.2/page", false, false, true},   {"a.htm", false, false, false},
    {"a.html.txt", false, false, false},
};

TEST_LOOP(a_path_is_standard_output_a_folder_or_a_page, COUNT(paths))
{
    const char *path = paths[_i].path;
    ck_assert_int_eq(mkdir("there", 0777), 0);
    scratch_write("file", "");
    ck_assert_int_eq(output_is_standard(path), paths[_i].standard);
    ck_assert_int_eq(output_is_folder(path), paths[_i].folder);
    ck_assert(!path || output_is_page(path) == paths[_i].page);
}

/* --- refusals --------------------------------------------------------------------------------- */

#define FULL "cannot write 'full': expected a new or empty directory, found 'x' in it: choose "

static const struct {
    const char *options, *message; /* NULL: accepted */
} refusals[] = {
    {"-o new/ --format csv", NULL},
    {"-o new/", "--output: a folder needs --format, for example --format csv"},
    {"-o empty --format csv", NULL},
    {"-o full --format csv", FULL "another one, or use --force, which overwrites only files with "
                                  "the same names"},
    {"-o full --format csv --force", NULL},
    {"--format excel --locale de_DE", NULL},
    {"--format csv --locale de_DE", "--locale: expected --format excel, found csv"},
    {"--format excel --locale 'a b'",
     "--locale: expected a locale such as de_DE or C, found 'a b'"},
};

TEST_LOOP(an_output_that_cannot_be_is_refused_before_anything_is_computed, COUNT(refusals))
{
    char line[128];
    ck_assert(!mkdir("empty", 0777) && !mkdir("full", 0777));
    scratch_write("full/x", "");
    snprintf(line, sizeof line, "run Life %s", refusals[_i].options);
    int failed = choose(line);
    ck_assert_str_eq(err.text, refusals[_i].message ? refusals[_i].message : "");
    ck_assert_int_eq(failed, refusals[_i].message ? -1 : 0);
    ck_assert_msg(!file_exists("new"), "nothing is made yet");
}

TEST(tables_are_written_in_all_formats_but_pages)
{
    struct output_options given = {.format = "svg"};
    ck_assert_int_eq(output_choose_table(&output, &given, &err), 0);
    given.format = "html";
    ck_assert_int_eq(output_choose_table(&output, &given, &err), -1);
    ck_assert_str_eq(err.text, "--format html: expected text, data or a figure: 'attn-cli page' "
                               "writes pages");
}

TEST(a_format_holds_the_tokens_and_the_number_of_texts_that_it_can)
{
    struct selection tokens = {.tokens = true}, weights = {.tokens = true};
    site_set_add(&weights.sites, SITE_WEIGHTS);
    output.format = &format_npy;
    ck_assert_int_eq(output_check_selection(&output, &weights, &err), 0);
    ck_assert_int_eq(output_check_selection(&output, &tokens, &err), -1);
    ck_assert_str_eq(err.text, "--show tokens: --format npy cannot hold them: show a tensor as "
                               "well");
    err_clear(&err);
    ck_assert_int_eq(output_check_count(&output, 1, &err), 0);
    ck_assert_int_eq(output_check_count(&output, 2, &err), -1);
    ck_assert_str_eq(err.text, "--format npy: one file holds one result, found 2: use a folder "
                               "(-o DIR/)");
    output.to_folder = true;
    ck_assert_int_eq(output_check_count(&output, 2, NULL), 0);
    output.format = &format_json;
    output.to_folder = false;
    ck_assert_int_eq(output_check_count(&output, 2, NULL), 0);
    ck_assert_int_eq(output_check_selection(&output, &tokens, NULL), 0);
}

/* --- files ------------------------------------------------------------------------------------ */

TEST(a_file_is_replaced_when_its_result_is_committed)
{
    ck_assert_int_eq(choose("run Life -o a.csv"), 0);
    scratch_write("a.csv", "old");
    for (int commits = 0; commits < 2; commits++) {
        ck_assert_int_eq(output_open(&output, &err), 0);
        ck_assert_int_eq(output_write(&output, &fixture_plain, &fixture_alone, &err), 0);
        ck_assert_int_eq(output_open(&output, &err), 0); /* it is open */
        scratch_expect("a.csv", "old");
        ck_assert_int_eq(commits ? output_commit(&output, &err) : 0, 0);
        output_discard(&output);
        ck_assert_uint_eq(scratch_count("."), 1);
    }
    scratch_expect("a.csv", "query\\key,0:Life,1:is,2:Life\n0:Life,1,0,0\n1:is,0.25,0.75,0\n"
                            "2:Life,0.1,0.2,0.7\n");
}

TEST(a_new_folder_without_results_is_removed)
{
    ck_assert_int_eq(choose("run Life -o new/ --format csv"), 0);
    ck_assert_int_eq(output_open(&output, &err), 0);
    ck_assert(file_exists("new") && output_target(&output).folder);
    output_discard(&output);
    ck_assert(!file_exists("new"));
    ck_assert_int_eq(output_open(&output, &err), 0);
    ck_assert_int_eq(output_write(&output, &fixture_plain, &fixture_alone, &err), 0);
    ck_assert_int_eq(output_commit(&output, &err), 0);
    output_discard(&output);
    ck_assert(file_exists("new/manifest.json"));
}

TEST(a_page_of_pictures_holds_figures)
{
    ck_assert_int_eq(choose("run Life -o a.html"), 0);
    output.draws_pages = true;
    ck_assert_int_eq(output_open(&output, &err), 0);
    ck_assert_msg(!output_write(&output, &fixture_plain, &fixture_alone, &err), "%s", err.text);
    ck_assert_int_eq(output_commit(&output, &err), 0);
    struct file file = {0};
    ck_assert_int_eq(file_map(&file, "a.html", &err), 0);
    ck_assert_ptr_nonnull(memmem(file.bytes, file.size, "<svg", 4));
    file_release(&file);
}

static const char *const row_paths[][2] = {
    {"v.npy", "v.jsonl"},     {"V.NPY", "V.jsonl"}, {"v.safetensors", "v.jsonl"},
    {"v.bin", "v.bin.jsonl"}, {"v", "v.jsonl"},     {"a.npy/v", "a.npy/v.jsonl"},
    {".npy", ".npy.jsonl"},   {"-", NULL},
};

TEST_LOOP(rows_have_the_name_of_their_array, COUNT(row_paths))
{
    const char *path = output_rows_path(row_paths[_i][0], &arena, &err);
    ck_assert_str_eq(path ? path : "none", row_paths[_i][1] ? row_paths[_i][1] : "none");
}

/* A file of rows begins with up to 16 KiB of the columns of an item. */
static const struct {
    const char *begin;
    size_t columns; /* bytes after it */
    const char *end;
    bool accepted;
} rows[] = {
    {"", 0, "", true},
    {"{\"row\": 0, ", 0, "\"format\": \"attn-cli/row/1\"}\n", true},
    {"{\"row\": 0, \"columns\": {\"note\": \"", 3000, "\"}, \"format\": \"attn-cli/row/1\"}\n",
     true},
    {"{\"row\": 0, ", 0, "\"format\": \"attn-cli/result/2\"}\n", false},
    {"my notes\n", 0, "", false},
};

TEST_LOOP(rows_replace_only_rows, COUNT(rows))
{
    char text[4096] = "";
    strcat(text, rows[_i].begin);
    memset(text + strlen(text), 'x', rows[_i].columns);
    strcat(text, rows[_i].end);
    scratch_write("v.jsonl", text);
    ck_assert_int_eq(output_check_rows("none.jsonl", &err), 0);
    ck_assert_int_eq(output_check_rows("v.jsonl", &err), rows[_i].accepted ? 0 : -1);
    ck_assert_str_eq(err.text,
                     rows[_i].accepted
                         ? ""
                         : "cannot write 'v.jsonl': expected no file, or one of rows as --stack "
                           "writes it, found another: choose another name for the array");
    ck_assert_int_eq(err.kind, rows[_i].accepted ? ERR_NONE : ERR_OUTPUT);
}

/* Begin an array of the weights of two texts, with its rows. */
static void stack(void)
{
    ck_assert_int_eq(choose("run Life --show weights -o v.npy"), 0);
    output.rows_path = "v.jsonl";
    ck_assert_msg(!output_open(&output, &err), "%s", err.text);
}

static int write_row(size_t index)
{
    struct report report = fixture_plain;
    report.identity = (struct identity){.index = index, .count = 2, .stacked = true};
    report.identity.item = index ? "\"row\": 1" : "\"row\": 0";
    return output_write(&output, &report, &fixture_alone, &err);
}

TEST(an_array_and_its_rows_appear_together)
{
    char line[256] = "";
    stack();
    ck_assert_msg(!write_row(0) && !write_row(1), "%s", err.text);
    ck_assert(!file_exists("v.npy") && !file_exists("v.jsonl"));
    ck_assert_int_eq(output_commit(&output, &err), 0);
    ck_assert_uint_eq(scratch_count("."), 2);
    FILE *file = fopen("v.jsonl", "r");
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
        ck_assert_int_eq(strncmp(line, i ? "{\"row\": 1, " : "{\"row\": 0, ", 11), 0);
    }
    ck_assert_ptr_null(fgets(line, sizeof line, file));
    fclose(file);
}

TEST(an_array_and_its_rows_are_discarded_together)
{
    stack();
    ck_assert_int_eq(write_row(0), 0);
    output_discard(&output);
    ck_assert_uint_eq(scratch_count("."), 0);
}

TEST(an_array_whose_rows_are_refused_is_not_written)
{
    scratch_write("v.jsonl", "my notes\n");
    ck_assert_int_eq(choose("run Life --show weights -o v.npy"), 0);
    output.rows_path = "v.jsonl";
    ck_assert_int_eq(output_open(&output, &err), -1);
    output_discard(&output);
    ck_assert_uint_eq(scratch_count("."), 1);
    scratch_expect("v.jsonl", "my notes\n");
}

TEST(a_row_is_written_whole_or_refused)
{
    struct starve starve = {.least = 1};
    stack();
    ck_assert_int_eq(write_row(0), 0);
    const size_t size = output.rows.written_bytes;
    while (starve_next(&starve)) {
        size_t before = output.rows.written_bytes;
        err_clear(&err);
        if (!starve_check(&starve, write_row(1), &err))
            ck_assert_uint_eq(output.rows.written_bytes - before, size);
    }
}

TEST(what_a_killed_process_left_is_removed)
{
    struct stream left = {0};
    ck_assert_int_eq(mkdir("results", 0777), 0);
    scratch_write("results/a.csv", "a");
    ck_assert_int_eq(stream_open(&left, "results/b.csv", &err), 0);
    stream_text(&left, "half");
    stream_flush(&left);
    ck_assert_uint_eq(scratch_count("results"), 2);
    ck_assert_int_eq(output_clear_folder("results", &err), 0);
    ck_assert_uint_eq(scratch_count("results"), 1);
    scratch_expect("results/a.csv", "a");
    stream_discard(&left);
    ck_assert_int_eq(output_clear_folder("none", &err), -1);
}

TEST(a_table_has_all_its_lines)
{
    struct report report = fixture_long(40);
    command_take(&options, "run Life -o a.txt");
    ck_assert_int_eq(output_choose_table(&output, &options.output, &err), 0);
    ck_assert_msg(!output_write_table(&output, &report, &options, NULL, &err), "%s", err.text);
    FILE *file = fopen("a.txt", "r");
    char line[4096];
    size_t lines = 0;
    while (fgets(line, sizeof line, file))
        lines++;
    fclose(file);
    ck_assert_uint_gt(lines, 2 * 40); /* of two heads */
}

/* --- provenance ------------------------------------------------------------------------------- */

static const char *used;

static int note_path(void *context, const char *path, struct err *failure)
{
    (void)context;
    used = arena_format(&arena, NULL, "%s%s%s", used, *used ? "," : "", path);
    return strcmp(path, "bad.npy") == 0 ? err_set(failure, "bad") : 0;
}

static const char *const named_files[][2] = {
    {"run Life", ""},
    {"run -f texts.csv -m model -o a.csv", ""},
    {"run Life --edit 'context + a.npy' --edit 'q = 0; k + 2*b.npy'", "a.npy,b.npy"},
    {"run Life --edit 'context = mean' --reference r.txt", "r.txt"},
    {"run Life --edit 'context = mean' --reference -", ""},
    {"heads --pairs p.tsv --needle n.tsv", "p.tsv,n.tsv"},
    {"score Life --unigrams u.csv", "u.csv"},
    {"lens Life --jacobian j.pt", "j.pt"},
    {"run Life --sae demo", ""}, /* bundled */
};

TEST_LOOP(results_depend_on_files_of_options, COUNT(named_files))
{
    command_take(&options, named_files[_i][0]);
    used = "";
    ck_assert_msg(!options_files(&options, note_path, NULL, &arena, &err), "%s", err.text);
    ck_assert_str_eq(used, named_files[_i][1]);
}

TEST(a_failure_ends_the_list_of_files)
{
    command_take(&options, "run Life --edit 'context + bad.npy' --edit 'q + b.npy'");
    used = "";
    ck_assert_int_eq(options_files(&options, note_path, NULL, &arena, &err), -1);
    ck_assert_str_eq(used, "bad.npy");
}

/* SHA-256 of "abc", FIPS 180-2. */
static const char abc_digits[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(a_file_has_the_hash_of_its_bytes)
{
    char digits[SHA256_DIGITS + 1];
    const struct file read = {.bytes = "abc", .size = 3};
    scratch_write("abc", "abc");
    ck_assert_int_eq(file_hash(digits, "abc", NULL, &err), 0);
    ck_assert_str_eq(digits, abc_digits);
    ck_assert_int_eq(file_hash(digits, "none", &read, &err), 0);
    ck_assert_str_eq(digits, abc_digits);
    ck_assert_int_eq(file_hash(digits, "none", NULL, &err), -1);
}

static const struct {
    const char *line, *recorded, *files; /* NULL: only looked-at results list them */
} origins[] = {
    {"run -m life -f deep/abc -o a.csv", "attn-cli run -m life -f deep/abc", NULL},
    {"run -m life -f deep/abc -o a.svg", "attn-cli run -m life -f ./abc", "./abc"},
    {"page -m life -f deep/abc -o a.html", "attn-cli page -m life -f ./abc", "./abc"},
    {"run -m life -f deep/abc -o a.svg --keep-paths",
     "attn-cli run -m life -f deep/abc --keep-paths", "deep/abc"},
    {"run -m life -f deep/abc -o new/ --format svg",
     "attn-cli run -m life -f deep/abc --format svg", "deep/abc"},
    {"run -m life -f 'deep/it'\\''s' -o a.svg", "attn-cli run -m life -f './it'\\''s'", "./it's"},
    {"run -m deep/model -f abc -o a.svg", "attn-cli run -m ./model -f abc", "abc"},
    {"run -m life -f deep/abc --title 'of mydeep/abc, deep/abc' -o a.svg",
     "attn-cli run -m life -f ./abc --title 'of mydeep/abc, ./abc'", "./abc"},
    {"run -m life Life --edit 'context + 2*deep/v.npy' --edit 'q + deep/v.npy' -o a.svg",
     "attn-cli run -m life Life --edit 'context + 2*./v.npy' --edit 'q + ./v.npy'", "./v.npy"},
    {"run -m life -f deep/abc --reference deep/abc -o a.svg",
     "attn-cli run -m life -f ./abc --reference ./abc", "./abc"},
    {"compare deep/model/ life -f deep/abc -o a.svg", "attn-cli compare ./model life -f ./abc",
     "./abc"},
    {"run -m life -f /dev/fd/100 -o a.svg", "attn-cli run -m life -f ./100", "./100"},
    {"run -m life -f - -o a.svg", "attn-cli run -m life -f -", "-"},
};

/* Open a pipe with "abc", which ends, as descriptor 100. */
static void fill_pipe(void)
{
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(write(pipes[1], "abc", 3), 3);
    ck_assert_int_eq(close(pipes[1]), 0);
    ck_assert_int_eq(dup2(pipes[0], 100), 100);
}

TEST_LOOP(figures_name_their_files_without_folders, COUNT(origins))
{
    char left[4];
    ck_assert_int_eq(mkdir("deep", 0777), 0);
    scratch_write("abc", "abc");
    scratch_write("deep/abc", "abc");
    scratch_write("deep/it's", "abc");
    scratch_write("deep/v.npy", "abc");
    command_model("deep/model", words_config, words_list);
    fill_pipe();
    command_take(&options, origins[_i].line);
    ck_assert_msg(!provenance_begin(&options, &err), "%s", err.text);
    const struct provenance *provenance = identity_first(1).provenance;
    ck_assert_str_eq(provenance->version, ATTN_VERSION);
    ck_assert_str_eq(provenance->command_line, origins[_i].recorded);
    const struct file_hash *file = provenance->files;
    ck_assert_str_eq(file ? file->name : "none", origins[_i].files ? origins[_i].files : "none");
    ck_assert(!file || !file->next);
    bool is_pipe = file && name_is_among("./100 -", file->name);
    ck_assert(!file || strcmp(file->digits, is_pipe ? "" : abc_digits) == 0);
    ck_assert_msg(read(100, left, sizeof left) == 3, "a pipe is read only once");
}

TEST(a_batch_has_the_name_of_its_command)
{
    command_take(&options, "batch --do score -f texts");
    ck_assert_int_eq(provenance_begin(&options, &err), 0);
    ck_assert_str_eq(identity_first(1).provenance->command, "score");
    ck_assert(identity_first(1).provenance->is_batch);
    command_take(&options, "run -f texts");
    ck_assert_int_eq(provenance_begin(&options, &err), 0);
    ck_assert_str_eq(identity_first(1).provenance->command, "run");
    ck_assert(!identity_first(1).provenance->is_batch);
}

TEST(each_model_is_recorded_once_the_last_one_first)
{
    static const char *const names[] = {"life", "journey", "nlp", "life"};
    static const char *const recorded[] = {"life", "nlp", "journey"};
    command_take(&options, "run Life -o a.svg");
    ck_assert_int_eq(provenance_begin(&options, &err), 0);
    ck_assert_msg(!provenance_add_beginning("<s>", &err), "no model, no beginning");
    for (size_t i = 0; i < COUNT(names); i++) {
        struct model model = {0};
        ck_assert_msg(!model_open(&model, names[i], &err), "%s", err.text);
        ck_assert_int_eq(provenance_add_model(&model, &err), 0);
        model_release(&model);
    }
    ck_assert_int_eq(provenance_add_beginning("<s>", &err), 0);
    const struct model_hash *model = identity_first(1).provenance->models;
    for (size_t i = 0; i < COUNT(recorded); i++, model = model->next) {
        ck_assert_str_eq(model->model, recorded[i]);
        ck_assert_uint_eq(strlen(model->digits), WEIGHTS_SAMPLE_DIGITS);
        ck_assert_str_eq(model->beginning ? model->beginning : "none", i ? "none" : "<s>");
    }
    ck_assert_ptr_null(model);
    ck_assert_int_eq(provenance_begin(&options, &err), 0);
    ck_assert_ptr_null(identity_first(1).provenance->models);
}

/* --- display ---------------------------------------------------------------------------------- */

static void set_variable(const char *name, const char *value)
{
    ck_assert_int_eq(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static const struct {
    const char *variable; /* COLORFGBG */
    bool dark;
} grounds[] = {{NULL, false}, {"0;15", false},         {"0;7", false},        {"15;0", true},
               {"15", false}, {"0;default;15", false}, {"15;default;0", true}};

TEST_LOOP(a_dark_terminal_says_so, COUNT(grounds))
{
    struct style style;
    command_take(&options, "run Life --title mine");
    set_variable("COLORFGBG", grounds[_i].variable);
    ck_assert_int_eq(display_read(&style, &options, &err), 0);
    ck_assert_int_eq(style.dark, grounds[_i].dark);
    ck_assert_str_eq(style.title, "mine");
    ck_assert_str_eq(style.language, "en");
}

static const char *const refused_displays[][2] = {
    {"--color often", "--color: expected one of auto, always, never, found 'often'"},
    {"--lang fr", "--lang: expected en or zh, found 'fr'"},
    {"--palette green", "--palette: "},
};

TEST_LOOP(wrong_display_options_are_refused, COUNT(refused_displays))
{
    struct style style;
    char line[64];
    snprintf(line, sizeof line, "run Life %s", refused_displays[_i][0]);
    command_take(&options, line);
    ck_assert_int_eq(display_read(&style, &options, &err), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    ck_assert_mem_eq(err.text, refused_displays[_i][1], strlen(refused_displays[_i][1]));
}

#define NO_EFFECT "attn-cli: note: no effect on --format "

static const struct {
    const char *options;
    bool draws_pages;
    const char *note;
} idle[] = {
    {"-o a.txt --width 40", false, ""},
    {"-o a.csv --width 40 --dpi 90 --color always", false,
     NO_EFFECT "csv: --width, --color, --dpi\n"},
    {"-o a.csv --color auto", false, ""}, /* it forces no colours */
    {"-o a.svg --dpi 90 --font Arial", false, NO_EFFECT "svg: --dpi\n"},
    {"-o a.html --font Arial", false, NO_EFFECT "html: --font\n"},
    {"-o a.html --font Arial", true, ""}, /* a page of pictures has the options of svg */
};

TEST_LOOP(display_options_without_effect_are_noted, COUNT(idle))
{
    char line[128];
    snprintf(line, sizeof line, "run Life %s", idle[_i].options);
    ck_assert_msg(!choose(line), "%s", err.text);
    output.draws_pages = idle[_i].draws_pages;
    command_listen();
    display_note(&options.display, &output);
    ck_assert_str_eq(command_heard()->notes, idle[_i].note);
}

#define PREFIXED                                                                       \
    "attn-cli: note: columns of results with the name of a column of the table get a " \
    "prefix: "

static const struct {
    const struct format *format;
    const char *own;
    bool of_pairs;
    const char *columns[3], *note;
} renamed[] = {
    {&format_csv, NULL, false, {"condition", "region"}, ""},
    {&format_csv, NULL, false, {"layer", "head"}, PREFIXED "'attn_layer', 'attn_head'\n"},
    {&format_csv, NULL, false, {"value", "row_token"}, ""}, /* matrices have no columns of cells */
    {&format_tidy,
     NULL,
     false,
     {"value", "row_token"},
     PREFIXED "'attn_value', 'attn_row_token'\n"},
    {&format_tidy, NULL, false, {"row_segment"}, ""},
    {&format_tidy, NULL, true, {"row_segment"}, PREFIXED "'attn_row_segment'\n"},
    {&format_csv, NULL, true, {"row_segment"}, ""},
    {&format_csv, "word surprisal", false, {"word", "layer"}, PREFIXED "'attn_word'\n"},
    {&format_csv, NULL, false, {"layer", "attn_layer"}, PREFIXED "'attn_attn_layer'\n"},
    {&format_json, NULL, false, {"layer"}, ""},
};

TEST_LOOP(renamed_columns_are_noted_by_their_new_names, COUNT(renamed))
{
    size_t count = 0;
    while (count < COUNT(renamed->columns) && renamed[_i].columns[count])
        count++;
    output.format = renamed[_i].format;
    command_listen();
    columns_note(&output, renamed[_i].own, renamed[_i].of_pairs,
                 (struct names){renamed[_i].columns, count, sizeof(char *)});
    ck_assert_str_eq(command_heard()->notes, renamed[_i].note);
}

TEST(columns_with_a_value_are_an_object)
{
    static const struct identity_column extras[] = {
        {"region", "NP \"a\"", false}, {"none", NULL, false}, {"p", "0.5", true}};
    struct buf text = {0};
    struct json_writer json = {.buf = &text};
    columns_put(&json, "columns", extras, COUNT(extras));
    columns_put(&json, "settings", extras + 1, 1);
    ck_assert_str_eq(text.bytes, "\"columns\": {\"region\": \"NP \\\"a\\\"\", \"p\": 0.5}");
    buf_release(&text);
}

/* --- terminals -------------------------------------------------------------------------------- */

static bool has_terminals(void)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    bool found = terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal);
    if (terminal >= 0)
        close(terminal);
    return found;
}

static int kept; /* standard output, until the end of a test */

static void keep_output(void)
{
    enter();
    kept = dup(STDOUT_FILENO);
}

static void restore_output(void)
{
    dup2(kept, STDOUT_FILENO);
    close(kept);
    leave();
}

FIXTURE(keep_output, restore_output)
SKIP_UNLESS(has_terminals, "no pseudo-terminals")

/* Standard output is a terminal of so many columns. */
static void show_on_terminal(unsigned short columns)
{
    const struct winsize size = {.ws_col = columns, .ws_row = 20};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal));
    int shown = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    ck_assert(shown >= 0 && !ioctl(shown, TIOCSWINSZ, &size));
    ck_assert_int_ge(dup2(shown, STDOUT_FILENO), 0);
}

TEST(bytes_reach_a_terminal_only_with_a_dash)
{
    struct output_options given = {.format = "npy"};
    show_on_terminal(80);
    ck_assert_ptr_null(format_choose(FORMAT_COUNT, &given, &err));
    ck_assert_str_eq(err.text, "--format npy: expected a file (-o FILE) or a pipe, found a "
                               "terminal: -o - writes to it anyway");
    given.path = "-";
    ck_assert_ptr_nonnull(format_choose(FORMAT_COUNT, &given, &err));
}

static const struct {
    const char *options;
    unsigned short terminal; /* columns; 0: none */
    size_t columns;
    bool is_piped;
} layouts[] = {
    {"", 0, 80, true},          {"", 50, 50, false},          {"", 20, 20, false},
    {"", 19, 80, true},         {"--width 60", 0, 60, false}, {"--width 60", 50, 60, false},
    {"-o a.txt", 50, 50, true}, {"-o -", 50, 50, false},      {"--full", 50, 0, false},
};

TEST_LOOP(a_page_has_the_width_of_the_option_or_the_terminal, COUNT(layouts))
{
    char line[64];
    snprintf(line, sizeof line, "run Life %s", layouts[_i].options);
    command_take(&options, line);
    ck_assert_int_ge(dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO), 0);
    if (layouts[_i].terminal)
        show_on_terminal(layouts[_i].terminal);
    struct layout layout = page_layout(&options, &style_default);
    ck_assert_uint_eq(layout.columns, layouts[_i].columns);
    ck_assert_int_eq(layout.is_piped, layouts[_i].is_piped);
    ck_assert_int_eq(layout.lines > 0, layout.columns > 0); /* --full: no limit */
}

static const struct {
    const char *options, *term, *colorterm, *no_color; /* NULL: not set */
    enum style_depth depth;
} colours[] = {
    {"", "xterm", NULL, NULL, DEPTH_256},
    {"", "xterm", "truecolor", NULL, DEPTH_FULL},
    {"", "xterm", "24bit", NULL, DEPTH_FULL},
    {"", "xterm-direct", NULL, NULL, DEPTH_FULL},
    {"", "xterm", NULL, "1", DEPTH_NONE},
    {"", "xterm", NULL, "", DEPTH_256},
    {"", "dumb", NULL, NULL, DEPTH_NONE},
    {"", NULL, NULL, NULL, DEPTH_NONE},
    {"-o a.txt", "xterm", NULL, NULL, DEPTH_NONE},
    {"--color never", "xterm", NULL, NULL, DEPTH_NONE},
    {"--color always -o a.txt", "dumb", NULL, "1", DEPTH_256},
};

TEST_LOOP(colours_are_those_of_the_terminal, COUNT(colours))
{
    struct style style;
    char line[64];
    snprintf(line, sizeof line, "run Life %s", colours[_i].options);
    command_take(&options, line);
    set_variable("TERM", colours[_i].term);
    set_variable("COLORTERM", colours[_i].colorterm);
    set_variable("NO_COLOR", colours[_i].no_color);
    show_on_terminal(80);
    ck_assert_msg(!display_read(&style, &options, &err), "%s", err.text);
    ck_assert_int_eq(style.depth, colours[_i].depth);
}
