/* instrument.c: score, lens, attribute and patch as a batch does them; their commands stand in
 * files of their names. */
#include "instrument.h"

const struct instrument *instrument_find(int command)
{
    static const struct instrument *const rows[] = {&score_instrument, &lens_instrument,
                                                    &attribute_instrument, &patch_instrument};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i]->command == command)
            return rows[i];
    return NULL;
}

int instrument_write_line(struct stream *out, const struct finding *finding,
                          const struct place *place, struct err *err)
{
    struct place own = *place;
    own.members = finding->members;
    return format_find("jsonl")->write(out, &finding->report, &own, err);
}
