#include "model/model.h"

#include <string.h>

const struct folder *bundled_find(const char *name)
{
    for (size_t i = 0; i < bundled_count; i++)
        if (strcmp(bundled_models[i].path, name) == 0)
            return &bundled_models[i];
    return NULL;
}
