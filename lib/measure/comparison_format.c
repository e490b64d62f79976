#include "measure/comparison_format.h"

const struct comparison_format comparison_formats[] = {
    {"text", ".txt", "tables to read", comparison_page_write},
    {"csv", ".csv", "a line for every way, then one for each of its heads", comparison_csv_write},
    {"json", ".json", "the same, nested, for programs", comparison_json_write},
};

const size_t comparison_format_count = sizeof comparison_formats / sizeof *comparison_formats;
