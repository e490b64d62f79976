#include "math/precision.h"

#include "base/names.h"

static const char *const names[PRECISIONS] = {"f32", "bf16"};

const char *precision_name(enum precision precision)
{
    return names[precision];
}

int precision_choose(enum precision *precision, const char *option, const char *name,
                     struct err *err)
{
    size_t index = 0;
    if (names_choose(&index, NAMES_LIST(names), option, name, err))
        return -1;
    *precision = (enum precision)index;
    return 0;
}
