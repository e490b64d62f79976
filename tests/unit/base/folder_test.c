#include "base/folder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/heap.h"

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

TEST(files_of_both_kinds_of_folder_are_opened_alike)
{
    static const struct folder *const folders[] = {&held, &disk};
    for (size_t i = 0; i < 2; i++) {
        struct file file = {0};
        ck_assert(folder_has(folders[i], "config.json"));
        ck_assert(!folder_has(folders[i], "merges.txt"));
        ck_assert_int_eq(folder_open(&file, folders[i], "config.json", NULL), 0);
        ck_assert_uint_eq(file.size, 2);
        ck_assert_mem_eq(file.bytes, "{}", 2);
        file_release(&file);
    }
}

TEST(a_file_that_is_not_there_is_named)
{
    struct file file = {0};
    struct err err = {0};
    ck_assert_int_eq(folder_open(&file, &held, "merges.txt", &err), -1);
    ck_assert_str_eq(err.text, "the bundled model 'life' has no file 'merges.txt'");
    err_clear(&err);
    ck_assert_int_eq(folder_open(&file, &disk, "merges.txt", &err), -1);
    ck_assert_str_eq(err.text, "cannot open 'model/merges.txt': No such file or directory");
}

TEST(a_link_that_leads_nowhere_is_not_taken_for_absent)
{
    struct file file = {0};
    struct err err = {0};
    ck_assert_int_eq(symlink("../blobs/1234", "model/vocab.json"), 0);
    ck_assert(folder_has(&disk, "vocab.json"));
    ck_assert_int_eq(folder_open(&file, &disk, "vocab.json", &err), -1);
    ck_assert_str_eq(err.text, "cannot open 'model/vocab.json': No such file or directory");
}

TEST(links_are_followed)
{
    struct file file = {0};
    ck_assert_int_eq(symlink("config.json", "model/other.json"), 0);
    ck_assert_int_eq(folder_open(&file, &disk, "other.json", NULL), 0);
    ck_assert_mem_eq(file.bytes, "{}", 2);
    file_release(&file);
}

TEST(without_memory_a_file_is_an_error_but_not_absent)
{
    struct file file = {0};
    struct err err = {0};
    heap_fail_at(1, 1);
    ck_assert_int_eq(folder_open(&file, &disk, "config.json", &err), -1);
    ck_assert_int_eq(strncmp(err.text, "out of memory: ", 15), 0);
    ck_assert(folder_has(&disk, "config.json"));
    heap_fail_at(0, 0);
}

TEST(a_path_that_no_file_can_have_names_none)
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

/* Into a folder, as commands do it. */
static int save(const struct folder *folder, const char *path, bool replaces, struct err *err)
{
    struct target_folder target = {0};
    int failed =
        target_folder_open(&target, path, replaces, err) || folder_save(folder, &target, NULL, err);
    target_folder_close(&target);
    return failed ? -1 : 0;
}

TEST(held_files_are_saved_to_the_byte)
{
    ck_assert_int_eq(save(&held, "saved", false, NULL), 0);
    ck_assert_int_eq(save(&held, "saved", true, NULL), 0); /* over what is there */
    ck_assert_uint_eq(scratch_count("saved"), 2);
    scratch_expect("saved/config.json", "{}");
    scratch_expect("saved/vocab.json", "[\"a\"]");
}

TEST(a_place_that_cannot_be_written_is_named)
{
    struct err err = {0};
    ck_assert_int_eq(save(&held, "no/where", false, &err), -1);
    ck_assert_str_eq(err.text, "cannot make the directory 'no/where': No such file or directory");
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
    err_clear(&err);
    ck_assert_int_eq(mkdir("model/vocab.json", 0777), 0);
    ck_assert_int_eq(save(&held, "model", true, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'model/vocab.json': it is a directory");
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
}

static void put_theirs(void *context, size_t done, size_t count, const char *note)
{
    (void)context, (void)note;
    if (done == count)
        scratch_write("saved/vocab.json", "theirs");
}

/* Somebody else's file comes while ours are written: the name that was given is taken back. */
TEST(a_file_that_comes_meanwhile_stays)
{
    const struct progress_sink sink = {.tell = put_theirs};
    struct target_folder target = {0};
    struct err err = {0};
    ck_assert_int_eq(target_folder_open(&target, "saved", false, &err), 0);
    ck_assert_int_eq(folder_save(&held, &target, &sink, &err), -1);
    ck_assert_str_eq(err.text, "cannot write 'saved/vocab.json': File exists");
    ck_assert_uint_eq(scratch_count("saved"), 1);
    scratch_expect("saved/vocab.json", "theirs");
    target_folder_close(&target);
}

/* A disk that is full before the last file is written. */
TEST(nothing_is_left_of_a_folder_that_did_not_fit)
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

TEST(without_memory_nothing_is_saved)
{
    struct err err = {0};
    size_t nth = 1;
    for (;; nth++) {
        err_clear(&err);
        heap_fail_at(nth, 0);
        int failed = save(&held, "saved", false, &err);
        heap_fail_at(0, 0);
        if (!failed)
            break;
        ck_assert_int_eq(strncmp(err.text, "out of memory: ", 15), 0);
        ck_assert(!file_exists("saved"));
    }
    ck_assert_uint_gt(nth, 4);
    ck_assert_uint_eq(scratch_count("saved"), 2);
}
