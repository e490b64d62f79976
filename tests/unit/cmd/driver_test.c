/* driver_test.c: the loop of all commands, with a task that counts the tokens of each text. */
#include "../../../cmd/driver.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../cmd/command.h"
#include "../rigs/command_rig.h"
#include "../rigs/scratch.h"
#include "../unit.h"
#include "base/file.h"
#include "base/num.h"

/* What hooks do at the text that contains `word`. */
enum fault { FAULT_NONE, FAULT_PLAIN, FAULT_POSITION, FAULT_MEMORY };
static struct {
    const char *word;
    enum fault in_read, in_run;
    int spared;                        /* texts with it that do not fail, before others do */
    const char *site;                  /* that `capture` selects */
    double during, held, result_bytes; /* of each job */
} plan;

/* What they have seen, as texts separated by blanks. */
static struct seen {
    char reads[512], runs[512], adds[512], steps[256];
    size_t largest; /* texts of a group */
    bool edits_differ, omits_origin;
} seen;

static struct task task;
static struct options options;
static struct err err;
static const struct heard *heard;

static void note(char *list, size_t size, const char *bytes, size_t count)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%.*s", used ? "|" : "", (int)count, bytes);
}

#define NOTE_STEP(step) note(seen.steps, sizeof seen.steps, step, strlen(step))
#define NOTE_TEXT(list, tokenized) \
    note(seen.list, sizeof seen.list, (tokenized)->raw, (tokenized)->size)

static int refuse(enum fault fault, const struct job *job, struct err *why)
{
    const struct tokenized *text = &job->pair.text;
    if (!fault || !memmem(text->raw, text->size, plan.word, strlen(plan.word)) || plan.spared-- > 0)
        return 0;
    if (fault == FAULT_MEMORY)
        return err_memory(why, 1);
    err_set(why, "no %s", plan.word);
    return fault == FAULT_POSITION ? err_about(why, ERR_ABOUT_POSITION) : -1;
}

/* --- the task --------------------------------------------------------------------------------- */

static int prepare(void *state, struct driver *driver, struct err *why)
{
    (void)state, (void)driver, (void)why;
    NOTE_STEP("prepare");
    return 0;
}

static int open_task(void *state, struct driver *driver, struct err *why)
{
    (void)state, (void)why;
    seen.omits_origin = driver->session.omits_origin;
    NOTE_STEP("open");
    return 0;
}

static int read_job(void *state, struct driver *driver, struct job *job, struct arena *arena,
                    struct err *why)
{
    (void)state, (void)arena;
    notes_add(&driver->notes, job->index, "a text was read");
    NOTE_TEXT(reads, &job->pair.text);
    job->memory.during = plan.during;
    job->memory.held = plan.held;
    job->result_bytes = plan.result_bytes;
    return refuse(plan.in_read, job, why);
}

static int begin(void *state, struct driver *driver, struct err *why)
{
    (void)state, (void)driver, (void)why;
    NOTE_STEP("begin after ");
    NOTE_STEP(seen.reads);
    return 0;
}

/* The result of a text is a table of one row: the first token, and the number of all. */
#define HEADER "sentence,first,tokens\n"

static int count_tokens(struct report *report, const struct tokenized *text, struct arena *arena,
                        struct err *why)
{
    struct table *table = arena_alloc(arena, 1, sizeof *table, why);
    struct table_rows rows = {.most = 1, .arena = arena, .err = why};
    if (!table)
        return -1;
    rows_label(&rows, "first", COLUMN_KEY, text->labels[0]);
    rows_integer(&rows, "tokens", 0, (long long)text->count);
    rows_next(&rows);
    report->tables = table;
    report->table_count = 1;
    return rows_finish(table, &rows, "counts", "count");
}

static int run(void *state, const struct group *group, struct err *why)
{
    (void)state;
    for (size_t i = 0; i < group->count; i++) {
        struct job *job = group->jobs[i];
        if (refuse(plan.in_run, job, why) ||
            viewer_report(&job->report, group->viewer, group->arena, why) ||
            count_tokens(&job->report, &job->pair.text, group->arena, why))
            return -1;
        job->report.text = job->pair.text;
    }
    if (group->viewer != &group->driver->session.viewer) /* one of several threads */
        return 0;
    seen.largest = num_max(seen.largest, group->count);
    for (size_t i = 0; i < group->count; i++) {
        const struct tokenized *text = &group->jobs[i]->pair.text;
        seen.edits_differ |= group->viewer->edits != group->jobs[i]->pair.edits;
        NOTE_TEXT(runs, text);
    }
    return 0;
}

static int add(void *state, struct job *job, struct err *why)
{
    (void)state, (void)why;
    NOTE_TEXT(adds, &job->pair.text);
    return 0;
}

static int end(void *state, struct driver *driver, struct err *why)
{
    (void)state, (void)driver, (void)why;
    NOTE_STEP("end");
    return 0;
}

static int finish(void *state, struct driver *driver, struct err *why)
{
    (void)state, (void)driver, (void)why;
    NOTE_STEP("finish");
    return 0;
}

/* A `run` hook that captures plan.site. */
static int capture(void *state, const struct group *group, struct err *why)
{
    struct selection selection = {.sites = {{0}}};
    const struct config *config = &group->viewer->model.config;
    (void)state;
    return err_if(selection_sites(&selection, plan.site, config, why) ||
                  selection_layers(&selection, NULL, config, group->arena, why) ||
                  group_capture(group, &selection, why));
}

/* For one result of all texts of a setting. */
static int prepare_sum(void *state, struct driver *driver, struct err *why)
{
    (void)state, (void)why;
    driver_accumulate(driver, driver->sweep.settings);
    return 0;
}

/* The result of all texts of a setting: their names and number. */
static int write_sum(void *state, struct driver *driver, struct err *why)
{
    struct report report;
    struct arena *arena = &driver->session.arena;
    const struct label label = {seen.adds, seen.adds, seen.adds};
    const struct tokenized text = {.labels = &label, .count = driver->items.count};
    (void)state;
    int failed = viewer_report(&report, &driver->session.viewer, arena, why) ||
                 count_tokens(&report, &text, arena, why) || driver_write(driver, &report, why);
    seen.adds[0] = '\0'; /* of the next setting */
    return err_if(failed);
}

static void enter(void)
{
    command_enter();
    command_model("mine", words_config, words_list);
    seen = (struct seen){.largest = 0};
    memset(&plan, 0, sizeof plan);
    err = (struct err){0};
    task = (struct task){.many = ITEMS_SOME,
                         .prepare = prepare,
                         .open = open_task,
                         .read = read_job,
                         .begin = begin,
                         .run = run,
                         .add = add,
                         .end = end,
                         .finish = finish};
}

FIXTURE(enter, command_leave)

/* Run a command line with the task. What it prints is in `heard`. */
static int drive(const char *line)
{
    struct driver driver = {.is_batch = strncmp(line, "batch", 5) == 0};
    command_take(&options, line);
    err_clear(&err);
    ck_assert_msg(!provenance_begin(&options, &err), "%s: %s", line, err.text);
    command_listen();
    int failed = driver.is_batch ? driver_prepare(&driver, &task, &options, &err) ||
                                       driver_check(&driver, &err) || driver_run(&driver, 0, &err)
                                 : driver_do(&task, &options, &err);
    driver_release(&driver);
    heard = command_heard();
    return err_if(failed);
}

/* --- the order of all steps ------------------------------------------------------------------- */

TEST(all_texts_are_read_before_one_is_run)
{
    ck_assert_msg(!drive("run -m mine -s cat -s 'a dog' -s sat --format csv"), "%s", err.text);
    ck_assert_str_eq(seen.steps, "prepare|open|begin after |cat|a dog|sat|end|finish");
    ck_assert_str_eq(seen.runs, "cat|a dog|sat");
    ck_assert_str_eq(seen.adds, "cat|a dog|sat");
    ck_assert_str_eq(heard->output, HEADER "0,cat,1\n1,a,2\n2,sat,1\n");
}

#define TRAINED                                                                                 \
    "attn-cli: note: 'mine' was trained on texts of at most 4 tokens: results for longer ones " \
    "may be meaningless\n"

TEST(notes_are_printed_when_texts_are_read_and_not_when_they_run)
{
    scratch_write("texts", "cat\nsat\n");
    ck_assert_msg(!drive("batch -m mine -f texts --sweep scale=1,2 --long --format csv"), "%s",
                  err.text);
    ck_assert_str_eq(heard->notes, TRAINED TRAINED /* for each setting */
                     "attn-cli: note: a text was read (all 2 texts)\n");
    ck_assert_str_eq(seen.steps, "prepare|open|open|open|begin after |cat|sat|cat|sat|end|"
                                 "open|begin after |cat|sat|cat|sat|cat|sat|end|finish");
}

/* --- texts that fail -------------------------------------------------------------------------- */

#define SINGLE "run -m mine -s cat --format csv"
#define SEVERAL "run -m mine -s cat -s 'a dog' -s sat --format csv"
#define BATCH "batch -m mine -f lines --format csv"

static const struct {
    const char *line, *word;
    enum fault in_read, in_run;
    const char *output, *message;
} failures[] = {
    /* a text without a position is left out, if others have it */
    {SEVERAL, "dog", FAULT_POSITION, 0, HEADER "0,cat,1\n2,sat,1\n",
     "1 of 3 items failed: sentence 1: no dog"},
    {SINGLE, "cat", FAULT_POSITION, 0, "", "no cat"},
    {SEVERAL, "a", FAULT_POSITION, 0, "", "sentence 0: no a"}, /* in all texts */
    /* any other failure ends the command before anything is written */
    {SEVERAL, "dog", FAULT_PLAIN, 0, "", "sentence 1: no dog"},
    /* a failure of the run ends it after the texts before */
    {SEVERAL, "sat", 0, FAULT_PLAIN, HEADER "0,cat,1\n1,a,2\n", "no sat"},
    /* a batch goes on */
    {BATCH, "dog", FAULT_PLAIN, 0, HEADER "0,cat,1\n3,sat,1\n", NULL},
    {BATCH, "dog", 0, FAULT_PLAIN, HEADER "0,cat,1\n3,sat,1\n", NULL},
    {BATCH " --fail-fast", "dog", FAULT_PLAIN, 0, "", "'lines' line 3: no dog"},
    {BATCH " --fail-fast", "sat", 0, FAULT_PLAIN, HEADER "0,cat,1\n2,a,2\n",
     "'lines' line 4: no sat"},
    /* unless memory ran out: another run may have enough */
    {BATCH, "dog", FAULT_MEMORY, 0, "", "'lines' line 3: out of memory: cannot allocate 1 bytes"},
    {BATCH, "sat", 0, FAULT_MEMORY, NULL, "out of memory: cannot allocate 1 bytes"},
};

TEST_LOOP(a_text_that_fails_is_left_out_or_ends_the_command, COUNT(failures))
{
    const char *message = failures[_i].message;
    scratch_write("lines", "cat\n\na dog\nsat\n");
    plan.word = failures[_i].word;
    plan.in_read = failures[_i].in_read;
    plan.in_run = failures[_i].in_run;
    int failed = drive(failures[_i].line);
    ck_assert_str_eq(err.text, message ? message : "");
    ck_assert_int_eq(failed, message ? -1 : 0);
    ck_assert_ptr_null(strstr(seen.adds, plan.word));
    if (failures[_i].output)
        ck_assert_str_eq(heard->output, failures[_i].output);
}

/* A failed command leaves no file; it may have written to standard output. */
TEST(a_file_is_not_written_if_a_text_fails)
{
    plan.word = "sat";
    plan.in_run = FAULT_PLAIN;
    ck_assert_int_eq(drive("run -m mine -s cat -s 'a dog' -s sat -o a.csv"), -1);
    ck_assert(!file_exists("a.csv"));
    plan.word = "horse";
    ck_assert_int_eq(drive("run -m mine -s cat -s 'a dog' -s sat -o a.csv"), 0);
    scratch_expect("a.csv", HEADER "0,cat,1\n1,a,2\n2,sat,1\n");
}

TEST(a_table_that_changes_while_it_is_read_is_refused)
{
    struct driver driver = {.is_batch = false};
    scratch_write("texts", "cat\na dog\n");
    command_take(&options, "run -m mine -f texts -o a.csv");
    ck_assert_int_eq(driver_prepare(&driver, &task, &options, &err), 0);
    ck_assert_int_eq(driver_check(&driver, &err), 0);
    scratch_write("texts", "cat\na dog\nsat\n");
    ck_assert_int_eq(driver_run(&driver, 0, &err), -1);
    driver_release(&driver);
    ck_assert_str_eq(err.text, "'texts' changed while it was being read: run the command again");
    ck_assert(!file_exists("a.csv"));
}

/* The model reads 4 tokens; the masked one has windows of its own. */
TEST(a_text_that_is_too_long_has_the_way_out_of_the_command)
{
    char line[512] = "run -m cloze '", *end = line + strlen(line);
    task.way_out = "read it in parts";
    ck_assert_int_eq(drive("run -m mine -s the -s 'the cat sat a dog'"), -1);
    ck_assert_str_eq(err.text, "sentence 1: the text is too long: expected at most 4 tokens "
                               "(n_positions), found 5: read it in parts");
    ck_assert_msg(err.about == ERR_ABOUT_ANYTHING, "no other advice follows");
    for (int i = 0; i < 70; i++)
        end = stpcpy(end, " the");
    strcpy(end, "'");
    ck_assert_int_eq(drive(line), -1);
    ck_assert_int_eq(err.about, ERR_ABOUT_LENGTH);
    ck_assert_ptr_null(strstr(err.text, task.way_out));
}

/* --- groups and threads ----------------------------------------------------------------------- */

/* Write lines of 1 to 3 tokens. */
static void write_lines(size_t count)
{
    static const char *const lines[] = {"cat\n", "the cat\n", "a dog sat\n"};
    FILE *file = fopen("lines", "w");
    for (size_t i = 0; i < count; i++)
        fputs(lines[i % COUNT(lines)], file);
    fclose(file);
}

static const char *const formats[] = {"csv", "tidy", "jsonl", "text", "markdown"};

TEST_LOOP(groups_in_threads_write_the_same_bytes, COUNT(formats))
{
    static char alone[sizeof heard->output];
    char line[128];
    write_lines(700);
    task.at_once = true;
    for (int threads = 1; threads <= 3; threads += 2) {
        snprintf(line, sizeof line, "run -m mine -f lines --format %s --threads %d", formats[_i],
                 threads);
        ck_assert_msg(!drive(line), "%s", err.text);
        if (threads == 1)
            strcpy(alone, heard->output);
        ck_assert_str_eq(heard->output, alone);
    }
    ck_assert_uint_gt(strlen(alone), 700);
}

/* The text that fails is the last but one. */
TEST(threads_write_all_texts_before_one_that_fails)
{
    write_lines(600);
    FILE *file = fopen("lines", "a");
    fputs("Mary\ncat\n", file);
    fclose(file);
    task.at_once = true;
    plan.word = "Mary";
    plan.in_run = FAULT_PLAIN;
    ck_assert_int_eq(drive("run -m mine -f lines --format csv --threads 3"), -1);
    size_t lines = 0;
    for (const char *at = heard->output; (at = strchr(at, '\n')); at++)
        lines++;
    ck_assert_uint_eq(lines, 1 + 600);
}

TEST(a_group_is_a_text_alone_if_the_task_or_its_edits_ask_for_it)
{
    write_lines(300);
    ck_assert_msg(!drive("run -m mine -f lines --format csv"), "%s", err.text);
    ck_assert_uint_le(seen.largest, 256);
    ck_assert(!seen.edits_differ);
    seen.largest = 0;
    task.alone = true;
    ck_assert_msg(!drive("run -m mine -f lines --format csv"), "%s", err.text);
    ck_assert_uint_eq(seen.largest, 1);
    task.alone = false;
    scratch_write("lines", "the cat\ncat sat\na cat\n");
    ck_assert_msg(!drive("run -m mine -f lines --edit 'resid_post[token=@cat] = 0' --format csv"),
                  "%s", err.text);
    ck_assert_uint_eq(seen.largest, 1);
    ck_assert_msg(!seen.edits_differ, "each text has its own edits");
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The estimate of `lines`, of one text each in a group. */
static double estimate(double during, double held)
{
    struct driver driver = {.is_batch = false};
    plan.during = during;
    plan.held = held;
    command_take(&options, "run -m mine -f lines --format csv --threads 1");
    ck_assert_int_eq(driver_prepare(&driver, &task, &options, &err), 0);
    ck_assert_msg(!driver_check(&driver, &err), "%s", err.text);
    double bytes = driver_memory(&driver);
    driver_release(&driver);
    return bytes;
}

TEST(memory_is_that_of_the_largest_group)
{
    write_lines(2);
    double least = estimate(0, 0);
    ck_assert_msg(estimate(1000, 0) == least + 2 * 1000, "a group has both texts");
    ck_assert(estimate(0, 500) == least + 2 * 500);
    task.alone = true;
    least = estimate(0, 0);
    ck_assert(estimate(1000, 0) == least + 1000);
    ck_assert(estimate(0, 500) == least + 500);
}

static const struct {
    const char *options;
    double result_bytes;
    const char *advice;
} large[] = {
    {"--format csv", 0, ": give shorter texts (the longest has 2 tokens)"},
    {"--format csv", 4, "tokens), fewer tensors (--show), layers (--layer) or heads (--head)"},
    {"--format text", 4,
     "heads (--head), or --format csv or json, which hold few attention maps at a time"},
};

TEST_LOOP(results_beyond_the_memory_are_refused_with_what_makes_them_smaller, COUNT(large))
{
    char line[128];
    snprintf(line, sizeof line, "run -m mine 'the cat' -s cat %s", large[_i].options);
    plan.during = 1e30;
    plan.result_bytes = large[_i].result_bytes;
    ck_assert_int_eq(drive(line), -1);
    size_t size = strlen(large[_i].advice), all = strlen(err.text);
    ck_assert_str_eq(err.text + (all > size ? all - size : 0), large[_i].advice);
    ck_assert_str_eq(seen.runs, "");
}

/* --- one result of all texts, settings and shards --------------------------------------------- */

TEST(one_result_of_all_texts_is_written_at_the_end)
{
    task.prepare = prepare_sum;
    task.finish = write_sum;
    ck_assert_msg(!drive("run -m mine -s cat -s 'a dog' --format csv"), "%s", err.text);
    ck_assert_str_eq(heard->output, "first,tokens\ncat|a dog,2\n");
    plan.word = "dog";
    plan.in_read = FAULT_POSITION;
    ck_assert_int_eq(drive("run -m mine -s cat -s 'a dog' --format csv"), -1);
    ck_assert_str_eq(err.text, "sentence 1: no dog"); /* none is left out */
    plan.in_read = FAULT_NONE;
    scratch_write("lines", "cat\n");
    ck_assert_int_eq(drive("batch -m mine -f lines --shard 1/2 --format csv"), -1);
    ck_assert_str_eq(err.text, "--shard: expected results to divide, found one result of all "
                               "texts: leave out --shard, or divide the settings of a --sweep");
}

TEST(each_setting_of_a_batch_has_a_result_of_all_texts)
{
    static const char line[] = "batch -m mine -f lines --sweep scale=1,2,3 --format jsonl";
    static char whole[sizeof heard->output], joined[sizeof heard->output];
    char begin[128];
    task.prepare = prepare_sum;
    task.finish = NULL;
    task.end = write_sum;
    scratch_write("lines", "cat\na dog\n");
    ck_assert_msg(!drive(line), "%s", err.text);
    strcpy(whole, heard->output);
    const char *at = whole;
    for (int i = 0; i < 3; i++, at = strchr(at, '\n') + 1) {
        snprintf(begin, sizeof begin, "{\"job\": %d, \"settings\": {\"scale\": \"%d\"}, ", i,
                 i + 1);
        ck_assert_msg(strncmp(at, begin, strlen(begin)) == 0, "%s", at);
        ck_assert_ptr_nonnull(strstr(at, "{\"first\": \"cat|a dog\", \"tokens\": 2}"));
    }
    ck_assert_str_eq(at, "");
    for (int i = 1; i <= 2; i++) { /* no setting is divided */
        snprintf(begin, sizeof begin, "%s --shard %d/2", line, i);
        ck_assert_msg(!drive(begin), "%s", err.text);
        strcat(joined, heard->output);
    }
    ck_assert_str_eq(joined, whole);
}

TEST(a_mean_of_texts_is_one_result)
{
    struct file one = {0}, mean = {0};
    task.run = capture;
    plan.site = "context";
    ck_assert_msg(!drive("run -m mine -s 'the cat' -o one.npy"), "%s", err.text);
    ck_assert_msg(!drive("run -m mine -s 'the cat' -s 'the cat' --mean texts -o mean.npy"), "%s",
                  err.text);
    ck_assert(!file_map(&one, "one.npy", &err) && !file_map(&mean, "mean.npy", &err));
    ck_assert_uint_eq(one.size, mean.size);
    ck_assert_mem_eq(one.bytes, mean.bytes, one.size);
    file_release(&one);
    file_release(&mean);
    task.means = MEAN_OF_TEXTS;
    ck_assert_int_eq(drive("run -m mine -s cat --mean heads --format csv"), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
}

/* Settings are columns before those of the table, of which one has the name of an option. */
static const char batch_line[] =
    "batch -m mine -f table.csv --sweep scale=1,2 --repeat 2 --format ";

TEST(results_are_identified_by_settings_and_columns)
{
    char line[128];
    scratch_write("table.csv", "text,scale\ncat,x\na dog,y\n");
    snprintf(line, sizeof line, "%scsv", batch_line);
    ck_assert_msg(!drive(line), "%s", err.text);
    ck_assert_str_eq(heard->output, "attn_scale,repeat,scale,text,sentence,first,tokens\n"
                                    "1,0,x,cat,0,cat,1\n1,0,y,a dog,1,a,2\n"
                                    "1,1,x,cat,0,cat,1\n1,1,y,a dog,1,a,2\n"
                                    "2,0,x,cat,0,cat,1\n2,0,y,a dog,1,a,2\n"
                                    "2,1,x,cat,0,cat,1\n2,1,y,a dog,1,a,2\n");
    ck_assert_msg(!drive("batch -m mine -f table.csv --no-text --format csv"), "%s", err.text);
    ck_assert_str_eq(heard->output, "scale,sentence,first,tokens\nx,0,cat,1\ny,1,a,2\n");
    scratch_write("table.csv", "a,b,cond\nthe,cat,x\n");
    ck_assert_msg(!drive("run -m mine -f table.csv --regions a,b --no-text --format csv"), "%s",
                  err.text);
    ck_assert_str_eq(heard->output, "cond,first,tokens\nx,the,2\n"); /* cells are the text */
}

/* The members of results in a batch: numbers count blank lines, jobs do not. */
TEST(lines_of_a_batch_have_their_job_item_settings_and_columns)
{
    static const char *const begins[] = {
        "[{\"job\": 0, \"item\": 0, \"settings\": {\"scale\": \"1\", \"repeat\": \"0\"}, "
        "\"columns\": {\"c\": \"x\"}, \"format\": \"attn-cli/result/2\"",
        ",{\"job\": 1, \"error\": {\"status\": 3, \"message\": \"'table.csv' line 4: no dog\"}, "
        "\"item\": 2, \"settings\": {\"scale\": \"1\", \"repeat\": \"0\"}, "
        "\"columns\": {\"c\": \"y\"}, \"format\": \"attn-cli/batch-failure/1\"}",
    };
    char line[128];
    scratch_write("table.csv", "text,c\ncat,x\n,\na dog,y\n");
    plan.word = "dog";
    plan.in_read = FAULT_PLAIN;
    snprintf(line, sizeof line, "%sjson", batch_line);
    ck_assert_msg(!drive(line), "%s", err.text);
    const char *at = heard->output;
    for (size_t i = 0; i < COUNT(begins); i++, at = strchr(at, '\n') + 1)
        ck_assert_msg(strncmp(at, begins[i], strlen(begins[i])) == 0, "%s", at);
    ck_assert_str_eq(at + strlen(at) - 4, "}\n]\n");
}

TEST(shards_have_the_results_of_the_whole_in_order)
{
    static char whole[sizeof heard->output], joined[sizeof heard->output];
    char line[160];
    scratch_write("table.csv", "text,c\ncat,x\na dog,y\nsat,z\n");
    snprintf(line, sizeof line, "%sjsonl", batch_line);
    ck_assert_msg(!drive(line), "%s", err.text);
    strcpy(whole, heard->output);
    for (int i = 1; i <= 5; i++) { /* of 12 jobs in 4 settings */
        snprintf(line, sizeof line, "%sjsonl --shard %d/5", batch_line, i);
        ck_assert_msg(!drive(line), "%s", err.text);
        strcat(joined, heard->output);
    }
    ck_assert_str_eq(joined, whole);
}

TEST(a_failure_of_one_of_several_models_names_it)
{
    command_model("other", words_config, words_list);
    plan.word = "dog";
    plan.in_read = FAULT_PLAIN;
    ck_assert_int_eq(drive("run -m mine -m other -s cat -s 'a dog' --format csv"), -1);
    ck_assert_str_eq(err.text, "'mine': sentence 1: no dog");
    plan.in_read = FAULT_NONE;
    plan.in_run = FAULT_PLAIN;
    ck_assert_int_eq(drive("run -m mine -m other -s cat -s 'a dog' --format csv"), -1);
    ck_assert_str_eq(err.text, "'mine': no dog");
    ck_assert_int_eq(drive("run -m mine -m none -s cat --format csv"), -1);
    ck_assert_int_eq(strncmp(err.text, "'none': ", 8), 0);
    plan.in_run = FAULT_NONE;
    ck_assert_msg(!drive("run -m mine -m other -s cat --format csv"), "%s", err.text);
    ck_assert_str_eq(heard->output, "model,first,tokens\nmine,cat,1\nother,cat,1\n");
}

TEST(a_refused_setting_is_named)
{
    scratch_write("lines", "cat\n");
    ck_assert_int_eq(drive("batch -m mine -f lines --sweep scale=1,x --format csv"), -1);
    ck_assert_str_eq(err.text, "--sweep scale=x: --scale: expected none, sqrt or a number from "
                               "-1000000 to 1000000, found 'x'");
}

/* --- the log of a batch ----------------------------------------------------------------------- */

/* Run a batch with a log of `path` and write its result. A batch that failed is resumed. */
static int drive_logged(const char *line, const char *path, bool resumes)
{
    struct driver driver = {.is_batch = true};
    struct log log = {.resumes = resumes, .path = path};
    command_take(&options, line);
    err_clear(&err);
    ck_assert_msg(!provenance_begin(&options, &err), "%s: %s", line, err.text);
    command_listen();
    int failed = driver_prepare(&driver, &task, &options, &err) || driver_check(&driver, &err);
    log.arena = &driver.kept;
    log.is_folder = driver.output.to_folder;
    log.shard = driver.shard;
    log.jobs = driver.jobs / driver.jobs_of_result;
    log.facts[LOG_COMMAND] = log.facts[LOG_INPUT] = log.facts[LOG_MODELS] = "";
    log.facts[LOG_RESULTS] = failed ? "" : driver.output.format->name;
    failed =
        failed || log_open(&log, &err) || (log.is_folder && file_make_directory(log.path, &err));
    driver.log = &log;
    driver.written = log.done - log.failed;
    driver.failed = log.failed;
    failed = failed || driver_run(&driver, log.done, &err) ||
             log_finish(&log, driver.failed, driver.failure, &err);
    log_close(&log);
    driver_release(&driver);
    heard = command_heard();
    return err_if(failed);
}

static const char *const log_formats[] = {"csv", "tidy", "jsonl", "json", "text"};

/* The first result to be written has a header, also if a failure comes before it. */
TEST_LOOP(a_log_gives_the_bytes_of_standard_output, COUNT(log_formats))
{
    char line[128], path[32], text[sizeof heard->output] = "";
    scratch_write("lines", "a dog\ncat\nsat\n");
    plan.word = "dog";
    plan.in_run = FAULT_PLAIN;
    snprintf(line, sizeof line, "batch -m mine -f lines --format %s", log_formats[_i]);
    ck_assert_msg(!drive(line), "%s", err.text);
    strcpy(text, heard->output);
    snprintf(path, sizeof path, "a.%s", log_formats[_i]);
    snprintf(line, sizeof line, "batch -m mine -f lines --format %s -o %s", log_formats[_i], path);
    ck_assert_msg(!drive_logged(line, path, false), "%s", err.text);
    scratch_expect(path, text);
}

/* The first result of the second shard is a later one of the whole: it has no header there. */
TEST(logs_of_shards_give_the_bytes_of_the_whole)
{
    static const char *const parts[] = {"a.csv.1-of-2.part", "a.csv.2-of-2.part"};
    char line[128];
    struct arena arena = {0};
    scratch_write("lines", "cat\na dog\nsat\n");
    for (int i = 1; i <= 2; i++) {
        snprintf(line, sizeof line, "batch -m mine -f lines --format csv -o a.csv --shard %d/2", i);
        ck_assert_msg(!drive_logged(line, "a.csv", false), "%s", err.text);
    }
    ck_assert(!file_exists("a.csv"));
    struct log **logs = log_join(parts, COUNT(parts), &arena, &err);
    ck_assert_msg(logs && !log_write_results(logs, COUNT(parts), "a.csv", &err), "%s", err.text);
    scratch_expect("a.csv", HEADER "0,cat,1\n1,a,2\n2,sat,1\n");
    arena_release(&arena);
}

/* Three settings of two texts; the process ends at the second text of the second setting. */
TEST(an_interrupted_batch_continues_with_the_next_job)
{
    static const char line[] =
        "batch -m mine -f lines --sweep scale=1,2,3 --format csv -o a.csv --fail-fast";
    scratch_write("lines", "cat\na dog\n");
    plan.word = "dog";
    plan.in_run = FAULT_MEMORY;
    plan.spared = 1;
    ck_assert_int_eq(drive_logged(line, "a.csv", false), -1);
    ck_assert(!file_exists("a.csv"));
    plan.in_run = FAULT_NONE;
    seen = (struct seen){.largest = 0};
    ck_assert_msg(!drive_logged(line, "a.csv", true), "%s", err.text);
    ck_assert_str_eq(seen.runs, "a dog|cat|a dog");
    const char *second = strstr(strstr(seen.steps, "begin after") + 1, "begin after");
    ck_assert_msg(second && !strstr(second + 1, "begin after"), "the first setting is done: %s",
                  seen.steps);
    scratch_expect("a.csv", "scale,sentence,first,tokens\n1,0,cat,1\n1,1,a,2\n2,0,cat,1\n"
                            "2,1,a,2\n3,0,cat,1\n3,1,a,2\n");
}

static const struct {
    const char *sweep, *folder, *text;
    size_t count;
} folders[] = {
    {"", "0001", "first,tokens\ncat,1\n", 1},
    {"--sweep scale=2", "0001,scale=2", "scale,first,tokens\n2,cat,1\n", 1},
    {"--sweep scale=2 --repeat 3", "0001,scale=2,repeat=2",
     "scale,repeat,first,tokens\n2,2,cat,1\n", 3},
    {"--sweep 'edit=h.0.q * 2'", "0001,edit=h.0.q%20%2A%202",
     "edit,first,tokens\nh.0.q * 2,cat,1\n", 1},
};

TEST_LOOP(a_result_has_a_folder_with_the_name_of_its_item_and_setting, COUNT(folders))
{
    char line[128], path[128];
    scratch_write("lines", "a dog\ncat\n");
    plan.word = "dog";
    plan.in_read = FAULT_PLAIN;
    snprintf(line, sizeof line, "batch -m mine -f lines --format csv -o out/ %s",
             folders[_i].sweep);
    ck_assert_msg(!drive_logged(line, "out/", false), "%s", err.text);
    ck_assert_msg(!seen.omits_origin, "a manifest has the hash of the weights");
    snprintf(path, sizeof path, "out/%s/counts.csv", folders[_i].folder);
    scratch_expect(path, folders[_i].text);
    ck_assert_uint_eq(scratch_count("out"), folders[_i].count + 1); /* and items.jsonl */
}

TEST(a_long_setting_has_its_number_in_the_name_of_the_folder)
{
    char line[512] = "batch -m mine -f lines --format csv -o out/ --sweep 'edit=h.0.q * 0", *end;
    end = line + strlen(line);
    for (int i = 0; i < 12; i++)
        end = stpcpy(end, "; h.0.q * 1");
    strcpy(end, "'");
    scratch_write("lines", "cat\n");
    ck_assert_msg(!drive_logged(line, "out/", false), "%s", err.text);
    ck_assert(file_exists("out/0000,setting=0/counts.csv"));
}

/* --- what a task says ------------------------------------------------------------------------- */

TEST(sources_without_a_text_are_translated_once)
{
    static const char line[] = "run -m translate --source 'the cat' --format jsonl";
    task.many = ITEMS_OR_SOURCE;
    ck_assert_msg(!drive(line), "%s", err.text);
    const char *again = strchr(seen.reads, '|');
    ck_assert(again && strncmp(seen.reads, "le ", 3) == 0);
    ck_assert_msg(strncmp(seen.reads, again + 1, strlen(again + 1)) == 0, "%s", seen.reads);
    task.many = ITEMS_PROMPT; /* the task makes the text */
    seen.reads[0] = '\0';
    ck_assert_msg(!drive(line), "%s", err.text);
    ck_assert_str_eq(seen.reads, "");
}

TEST(pages_and_folders_are_those_of_the_task)
{
    task.pages = "attn-cli page";
    ck_assert_int_eq(drive("run -m mine cat -o a.html"), -1);
    ck_assert_str_eq(err.text, "--format html: expected text, data or a figure: 'attn-cli page' "
                               "writes pages");
    ck_assert_int_eq(drive("run -m mine -s cat -o out/"), -1);
    ck_assert_str_eq(err.text, "--output: a folder needs --format, for example --format csv");
    task.folder = "csv";
    ck_assert_msg(!drive("run -m mine -s cat -o out/"), "%s", err.text);
    scratch_expect("out/counts.csv", "first,tokens\ncat,1\n");
    ck_assert_int_eq(drive("run -m mine -s cat -s sat -o a.npy"), -1);
    ck_assert_str_eq(err.text, "--format npy: one file holds one result, found 2: use a folder "
                               "(-o DIR/)");
}

TEST(a_dry_run_prints_what_would_fail_and_expects_no_memory)
{
    struct driver driver = {.is_batch = true};
    scratch_write("lines", "a dog\ncat\n");
    plan.word = "dog";
    plan.in_read = FAULT_PLAIN;
    plan.during = 1e30;
    command_take(&options, "batch -m mine -f lines --dry-run --format csv");
    command_listen();
    int failed = driver_prepare(&driver, &task, &options, &err) || driver_check(&driver, &err);
    ck_assert_str_eq(command_heard()->notes, "attn-cli: error: 'lines' line 1: no dog\n"
                                             "attn-cli: note: a text was read (all 2 texts)\n");
    ck_assert_msg(!failed && driver.failed == 1, "%s", err.text);
    driver_release(&driver);
}

/* A figure of all results: the number of tokens over the scale. */
TEST(a_figure_of_a_batch_shows_a_number_over_the_settings)
{
    struct file file = {0};
    scratch_write("lines", "cat\na dog\n");
    ck_assert_msg(!drive("batch -m mine -f lines --sweep scale=1,2,4 --y tokens -o a.svg"), "%s",
                  err.text);
    ck_assert_str_eq(seen.adds, "cat|a dog|cat|a dog|cat|a dog");
    ck_assert_int_eq(file_map(&file, "a.svg", &err), 0);
    ck_assert_ptr_nonnull(memmem(file.bytes, file.size, "tokens", 6));
    file_release(&file);
    ck_assert_int_eq(drive("batch -m mine -f lines --y tokens --format csv"), -1);
    ck_assert_str_eq(err.text, "--y: expected a figure as --output and a --sweep of numbers");
}
