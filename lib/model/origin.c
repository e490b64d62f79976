#include "model/origin.h"

#include <string.h>

static const struct origin origins[] = {
    {.name = "life-cross", .source_rows = 8},
    {.name = "journey", .given = true},
    {.name = "journey-causal", .given = true},
    {.name = "translate", .given = true},
};

const struct origin *origin_find(const char *name)
{
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        if (strcmp(origins[i].name, name) == 0)
            return &origins[i];
    return NULL;
}
