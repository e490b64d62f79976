#include "config_text.h"

#include <check.h>
#include <string.h>

#include "base/file.h"
#include "base/folder.h"

int config_open_text(struct config *config, const char *text, struct err *err)
{
    struct folder_file file = {"config.json", text, strlen(text)};
    struct folder folder = {.path = "m", .files = &file, .file_count = 1};
    *err = (struct err){0};
    return config_open(config, &folder, err);
}

struct config config_of(const char *text)
{
    struct config config;
    struct err err;
    ck_assert_msg(!config_open_text(&config, text, &err), "%s", err.text);
    return config;
}
