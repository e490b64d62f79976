#include "../../../cmd/batch/removal.c"

#include "../unit.h"
#include "../rigs/scratch.h"

static struct err err;

static void fill(void)
{
    err = (struct err){0};
    ck_assert_int_eq(mkdir("out", 0777), 0);
    ck_assert_int_eq(mkdir("out/a", 0777), 0);
    ck_assert_int_eq(mkdir("mine", 0777), 0);
    scratch_write("out/a/one", "1");
    scratch_write("out/a/two", "2");
    scratch_write("out/top", "3");
    scratch_write("mine/one", "mine");
}

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

FIXTURE(scratch_enter, scratch_leave)

TEST(names_lead_below_or_nowhere)
{
    static const struct {
        const char *name;
        bool below;
    } cases[] = {
        {"a", true},
        {"a/b", true},
        {"..a", true},
        {"a..b/...", true},
        {".a", true},
        {"", false},
        {".", false},
        {"..", false},
        {"/", false},
        {"/a", false},
        {"a/", false},
        {"a//b", false},
        {"a/../b", false},
        {"./a", false},
        {"a/.", false},
        {"a/..", false},
        {"../a", false},
        {"a/./b", false},
        {"1/2/3/4/5/6/7/8", true},
        {"1/2/3/4/5/6/7/8/9", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(removal_is_below(cases[i].name) == cases[i].below, "'%s'", cases[i].name);
}

TEST(a_folder_goes_with_its_last_file)
{
    fill();
    ck_assert_int_eq(removal_file("out", "a/one", &err), 0);
    ck_assert(is_there("out/a/two"));
    ck_assert_int_eq(removal_file("out", "a/two", &err), 0);
    ck_assert(!is_there("out/a"));
    ck_assert_int_eq(removal_file("out", "top", &err), 0);
    ck_assert(is_there("out")); /* not the one that it is all below */
    ck_assert_int_eq(removal_file("out", "top", &err), 0);
    ck_assert_int_eq(removal_file("out", "a/two", &err), 0);
    ck_assert_int_eq(removal_file("nowhere", "a", &err), 0);
}

TEST(no_link_is_followed)
{
    fill();
    ck_assert_int_eq(symlink("../mine", "out/link"), 0);
    ck_assert_int_eq(symlink("../../mine/one", "out/a/three"), 0);
    ck_assert_int_eq(removal_file("out", "link/one", &err), 0);
    ck_assert_int_eq(removal_file("out", "link", &err), 0);
    ck_assert_int_eq(removal_file("out", "a/three", &err), 0);
    ck_assert_int_eq(removal_folder("out", "link", &err), 0);
    ck_assert_int_eq(removal_folder("out", "a", &err), 0);
    ck_assert(is_there("out/link") && is_there("out/a/three"));
    ck_assert(!is_there("out/a/one"));
    scratch_expect("mine/one", "mine");
}

TEST(what_is_no_file_stays)
{
    fill();
    ck_assert_int_eq(mkfifo("out/pipe", 0666), 0);
    ck_assert_int_eq(removal_file("out", "pipe", &err), 0);
    ck_assert_int_eq(removal_file("out", "a", &err), 0);
    ck_assert_int_eq(removal_file("out", "top/one", &err), 0);
    ck_assert_int_eq(removal_folder("out", "top", &err), 0);
    ck_assert(is_there("out/pipe") && is_there("out/a/one") && is_there("out/top"));
}

TEST(a_folder_goes_with_all_in_it_but_no_deeper)
{
    fill();
    ck_assert_int_eq(removal_folder(".", "out", &err), 0);
    ck_assert(!is_there("out"));
    ck_assert_int_eq(removal_folder(".", "out", &err), 0);
    ck_assert_int_eq(mkdir("deep", 0777), 0);
    ck_assert_int_eq(mkdir("deep/a", 0777), 0);
    ck_assert_int_eq(mkdir("deep/a/b", 0777), 0);
    scratch_write("deep/a/b/one", "1");
    scratch_write("deep/a/one", "1");
    ck_assert_int_eq(removal_folder(".", "deep", &err), 0);
    ck_assert(!is_there("deep/a/one"));
    scratch_expect("deep/a/b/one", "1");
}

TEST(other_names_are_refused)
{
    fill();
    ck_assert_int_eq(removal_file("out", "../mine/one", &err), -1);
    ck_assert_str_eq(err.text, "'../mine/one': expected the name of something below 'out'");
    err_clear(&err);
    ck_assert_int_eq(removal_folder("out", ".", &err), -1);
    err_clear(&err);
    ck_assert_int_eq(removal_folder("out", "", &err), -1);
    ck_assert(is_there("out/a/one") && is_there("mine/one"));
}

TEST(what_cannot_be_removed_is_an_error)
{
    if (geteuid() == 0)
        return; /* who may do all */
    fill();
    ck_assert_int_eq(chmod("out/a", 0555), 0);
    ck_assert_int_eq(removal_file("out", "a/one", &err), -1);
    ck_assert_str_eq(err.text, "cannot remove 'out/a/one': Permission denied");
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
    ck_assert_int_eq(chmod("out/a", 0777), 0);
}

TEST(what_may_not_be_replaced_stays)
{
    fill();
    ck_assert_int_eq(chmod("out/a/one", 0444), 0);
    ck_assert_int_eq(removal_file("out", "a/one", &err), -1);
    ck_assert_str_eq(err.text, "cannot remove 'out/a/one': Operation not permitted");
    ck_assert(is_there("out/a/one"));
}
