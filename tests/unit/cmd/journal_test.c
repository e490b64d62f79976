#include <stdlib.h>

#include "../../../cmd/batch/journal.c"
#include "../../../cmd/batch/record.c"
#include "../../../cmd/batch/result_names.c"

#include "../unit.h"
#include "../rigs/scratch.h"

static const char *const names[] = {"tool", "task"};
static const char *const lines[] = {"hammer\n", "nails\n"};
static const struct journal_head head = {names, lines, 2};

static struct journal journal;
static struct err err;

static void begin(void)
{
    err = (struct err){0};
    ck_assert_msg(!journal_begin(&journal, "work", "draft", &head, &err), "%s", err.text);
}

static void resume(void)
{
    err = (struct err){0};
    ck_assert_msg(!journal_resume(&journal, "work", &head, &err), "%s", err.text);
}

static void add(const char *piece)
{
    ck_assert_int_eq(journal_add(&journal, piece, strlen(piece), 1, &err), 0);
}

FIXTURE(scratch_enter, scratch_leave)

TEST(pieces_follow_the_head)
{
    begin();
    add("one\n");
    ck_assert_int_eq(journal_add(&journal, "two\nthree\n", 10, 2, &err), 0);
    ck_assert_uint_eq(journal.count, 3);
    journal_close(&journal);
    scratch_expect("work", "hammer\nnails\none\ntwo\nthree\n");
}

TEST(work_goes_on_after_what_is_whole)
{
    static const struct {
        const char *before;
        size_t count;
        const char *after;
    } cases[] = {
        {"hammer\nnails\n", 0, "hammer\nnails\nnew\n"},
        {"hammer\nnails\none", 0, "hammer\nnails\nnew\n"},
        {"hammer\nnails\none\n", 1, "hammer\nnails\none\nnew\n"},
        {"hammer\nnails\none\ntwo\nthr", 2, "hammer\nnails\none\ntwo\nnew\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_write("work", cases[i].before);
        resume();
        ck_assert_uint_eq(journal.count, cases[i].count);
        add("new\n");
        journal_close(&journal);
        scratch_expect("work", cases[i].after);
    }
}

TEST(other_work_is_refused_by_name)
{
    static const struct {
        const char *found;
        const char *differs;
    } cases[] = {
        {"hammer\nscrews\none\n", "task"}, {"saw\nnails\n", "tool"}, {"", "tool"}, {"hamm", "tool"},
        {"hammer\nnails", "task"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[200];
        err = (struct err){0};
        scratch_write("work", cases[i].found);
        ck_assert_int_eq(journal_resume(&journal, "work", &head, &err), -1);
        snprintf(expected, sizeof expected,
                 "'work': expected the same %s as when it was begun, found another: --force "
                 "begins anew",
                 cases[i].differs);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(err.kind, ERR_USAGE);
        ck_assert_ptr_null(journal.path);
        scratch_expect("work", cases[i].found);
    }
}

TEST(a_journal_is_never_without_its_head)
{
    scratch_write("work", "another\n");
    scratch_write("draft", "someone else's\n");
    ck_assert_int_eq(journal_begin(&journal, "work", "draft", &head, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'work': File exists");
    scratch_expect("draft", "someone else's\n");
    scratch_expect("work", "another\n");
    ck_assert_int_eq(unlink("draft"), 0);
    begin();
    scratch_expect("work", "hammer\nnails\n");
    ck_assert_int_eq(access("draft", F_OK), -1);
    journal_close(&journal);
}

TEST(a_link_is_no_journal)
{
    scratch_write("elsewhere", "hammer\nnails\none\nhal");
    ck_assert_int_eq(symlink("elsewhere", "work"), 0);
    ck_assert_int_eq(journal_resume(&journal, "work", &head, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot write 'work': "));
    scratch_expect("elsewhere", "hammer\nnails\none\nhal");
}

TEST(pieces_can_be_read_and_forgotten)
{
    struct record record;
    begin();
    add("one\n");
    add("two\n");
    add("three\n");
    ck_assert_int_eq(journal_keep(&journal, 2, strlen("one\ntwo\n"), &err), 0);
    ck_assert_uint_eq(journal.count, 2);
    add("four\n");
    ck_assert_int_eq(record_open_pieces(&record, &journal, &err), 0);
    static const char *const expected[] = {"one", "two", "four"};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(record_next(&record, &err), 1);
        ck_assert_uint_eq(record.size, strlen(expected[i]));
        ck_assert_mem_eq(record.line, expected[i], record.size);
    }
    ck_assert_int_eq(record_next(&record, &err), 0);
    record_close(&record);
    journal_close(&journal);
    scratch_expect("work", "hammer\nnails\none\ntwo\nfour\n");
}

TEST(what_cannot_be_opened_is_an_error)
{
    ck_assert_int_eq(journal_begin(&journal, "no/work", "no/draft", &head, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'no/work': No such file or directory");
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
    journal_close(&journal);
}
