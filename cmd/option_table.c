#include "option_row.h"

static const struct option_rows *const tables[] = {
    &input_options,   &score_options,      &attend_options, &output_options, &batch_options,
    &process_options, &instrument_options, &page_options,   &train_options,
};

enum { TABLES = sizeof tables / sizeof *tables };

size_t option_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < TABLES; i++)
        count += tables[i]->count;
    return count;
}

const struct option_row *option_at(size_t index)
{
    size_t table = 0;
    for (; index >= tables[table]->count; table++)
        index -= tables[table]->count;
    return &tables[table]->items[index];
}
