/* instrument.c: score, lens and attribute as a batch does them; their commands stand in files of
 * their names. */
#include "instrument.h"

#include <string.h>

const struct instrument *instrument_find(int command)
{
    static const struct instrument *const rows[] = {&score_instrument, &lens_instrument,
                                                    &attribute_instrument};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i]->command == command)
            return rows[i];
    return NULL;
}

bool instrument_is_picture(const struct format *format)
{
    return format->is_picture || strcmp(format->name, "html") == 0;
}
