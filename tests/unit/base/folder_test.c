#include "base/file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/progress_sink.h"
#include "base/replacement.h"

static const struct folder_file held_files[] = {
    {"config.json", "{}", 2},
    {"vocab.json", "[\"a\"]", 5},
};
static const struct folder held = {"life", held_files, 2};
static const struct folder disk = {.path = "model"};

static void make_folder(void)
{
    scratch_enter();
    ck_assert_int_eq(mkdir("model", 0777), 0);
    scratch_write("model/config.json", "{}");
}

FIXTURE(make_folder, scratch_leave)

TEST(a_dangling_link_is_not_absent)
{
    struct file file = {0};
    struct err err = {0};
    ck_assert_int_eq(symlink("../blobs/1234", "model/vocab.json"), 0);
    ck_assert(folder_has(&disk, "vocab.json"));
    ck_assert_int_eq(folder_open(&file, &disk, "vocab.json", &err), -1);
    ck_assert_str_eq(err.text, "cannot open 'model/vocab.json': No such file or directory");
}

TEST(a_path_that_is_too_long_names_no_file)
{
    static char path[5000];
    memset(path, 'x', sizeof path - 1);
    const struct folder folder = {.path = path};
    struct file file = {0};
    struct err err = {0};
    ck_assert(!folder_has(&folder, "config.json"));
    ck_assert_int_eq(folder_open(&file, &folder, "config.json", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "/config.json': File name too long"));
}

static int save(const struct folder *folder, const char *path, bool replaces, struct err *err)
{
    struct target_folder target = {0};
    int failed =
        target_folder_open(&target, path, replaces, err) || folder_save(folder, &target, NULL, err);
    target_folder_close(&target);
    return failed ? -1 : 0;
}

static void put_theirs(void *context, size_t done, size_t count, const char *note)
{
    (void)context, (void)note;
    if (done == count)
        scratch_write("saved/vocab.json", "theirs");
}

/* Another process makes one of the files meanwhile: ours are removed again. */
TEST(a_file_made_meanwhile_is_kept)
{
    const struct progress_sink sink = {.report = put_theirs};
    struct target_folder target = {0};
    struct err err = {0};
    ck_assert_int_eq(target_folder_open(&target, "saved", false, &err), 0);
    ck_assert_int_eq(folder_save(&held, &target, &sink, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'saved/vocab.json': File exists");
    ck_assert_uint_eq(scratch_count("saved"), 1);
    scratch_expect("saved/vocab.json", "theirs");
    target_folder_close(&target);
}

/* The disk is full before the last file is written. */
TEST(a_folder_that_does_not_fit_is_removed)
{
    static char bytes[100000];
    const struct folder_file files[] = {{"small", "{}", 2}, {"large", bytes, sizeof bytes}};
    const struct folder large = {"large", files, 2};
    struct rlimit usual;
    struct err err = {0};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &usual), 0);
    const struct rlimit little = {50000, usual.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    ck_assert_int_eq(save(&large, "saved", false, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'saved/large': File too large");
    ck_assert(!file_exists("saved"));
    err_clear(&err);
    size_t before = scratch_count("model");
    ck_assert_int_eq(save(&large, "model", true, &err), -1);
    ck_assert_uint_eq(scratch_count("model"), before);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &usual), 0);
}
