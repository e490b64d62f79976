#include <string.h>

#include "model/mechanism.h"
#include "session.h"

int mechanism_options_read(struct mechanism *mechanism, const struct mechanism_options *options,
                           struct err *err)
{
    *mechanism = (struct mechanism){
        .temperature = options->temperature == 1 ? 0 : (float)options->temperature,
        .dropout = (float)options->dropout,
        .seed = (uint64_t)options->seed,
        .renormalise = options->mask_after,
    };
    if ((float)options->temperature == 0) /* ranges that end before their end */
        return err_usage(err, "--attention-temperature: expected a number above 0, found %g",
                         options->temperature);
    if ((float)options->dropout == 1)
        return err_usage(err, "--dropout: expected a number below 1, found %g", options->dropout);
    if (options->attention && mechanism_set_attention(mechanism, options->attention, err))
        return -1;
    if (options->scale && mechanism_set_scale(mechanism, options->scale, err))
        return -1;
    return options->without ? mechanism_set_without(mechanism, options->without, err) : 0;
}

int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct mechanism_options *options, struct arena *arena,
                           struct err *err)
{
    const char *item = options->attention;
    size_t most = 1;
    for (const char *at = item; *at; at++)
        most += *at == ',';
    *mechanisms = arena_alloc(arena, most, sizeof **mechanisms, err);
    *count = 0;
    for (size_t size = 0; *mechanisms && *count < most; item += size + 1) {
        struct mechanism *mechanism = &(*mechanisms)[(*count)++];
        size = strcspn(item, ",");
        const char *text = arena_text(arena, item, size, err);
        mechanism->seed = (uint64_t)options->seed;
        if (!text || mechanism_set_attention(mechanism, text, err))
            return -1;
    }
    return *mechanisms ? 0 : -1;
}
