#include "save_folder.h"

#include "base/target_folder.h"
#include "init_words.h"
#include "progress.h"

int save_folder(const struct folder *folder, const char *path, const struct options *options,
                struct err *err)
{
    struct target_folder target = {0};
    struct progress progress;
    if (init_words_check_target(folder, path, err) ||
        target_folder_open(&target, path, options->force, err))
        return -1;
    progress_begin(&progress, options, NULL);
    int failed = folder_save(folder, &target, &progress.sink, err);
    progress_end(&progress);
    target_folder_close(&target);
    return failed ? -1 : 0;
}
