#include "bench/comparison_format.h"

#include <string.h>

const struct comparison_format comparison_formats[] = {
    {"text", ".txt", "tables to read", comparison_page_write},
    {"csv", ".csv", "a line for every way, then one for each of its heads", comparison_csv_write},
    {"json", ".json", "the same, nested, for programs", comparison_json_write},
};

const size_t comparison_format_count = sizeof comparison_formats / sizeof *comparison_formats;

const struct comparison_format *comparison_format_find(const char *name)
{
    for (size_t i = 0; i < comparison_format_count; i++)
        if (strcmp(comparison_formats[i].name, name) == 0)
            return &comparison_formats[i];
    return NULL;
}

const struct comparison_format *comparison_format_of_path(const char *path)
{
    size_t size = strlen(path);
    for (size_t i = 0; i < comparison_format_count; i++) {
        size_t ending = strlen(comparison_formats[i].ending);
        if (size >= ending && strcmp(path + size - ending, comparison_formats[i].ending) == 0)
            return &comparison_formats[i];
    }
    return NULL;
}
