#include "math/precision.h"

#include "base/names.h"

static const char *const names[PRECISIONS] = {"fp32", "bf16"};

const char *precision_name(enum precision precision)
{
    return names[precision];
}

int precision_choose(enum precision *precision, const char *option, const char *name,
                     struct err *err)
{
    static const struct synonym synonyms[] = {
        {"float32", "fp32"},  {"f32", "fp32"},    {"float", "fp32"},
        {"bfloat16", "bf16"}, {"bfloat", "bf16"}, {"fp16", "bf16"},
        {"float16", "bf16"},  {"half", "bf16"},   {NULL, NULL}};
    struct names known = NAMES_LIST(names);
    size_t index = 0;
    known.synonyms = synonyms;
    if (names_choose(&index, known, option, name, err))
        return -1;
    *precision = (enum precision)index;
    return 0;
}
