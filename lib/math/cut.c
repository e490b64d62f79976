#include "math/cut.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct cut cut_into(size_t size, size_t part, size_t first)
{
    first = smaller(first, size);
    size_t behind = (size - first + part - 1) / part;
    return (struct cut){size, part, first, .count = (first > 0) + behind};
}

size_t cut_start(const struct cut *cut, size_t index)
{
    return index == 0 ? 0 : cut->first + (index - 1) * cut->part;
}

size_t cut_size(const struct cut *cut, size_t index)
{
    size_t rest = cut->size - cut_start(cut, index);
    return index == 0 ? cut->first : smaller(cut->part, rest);
}

enum cut_which cut_which(const struct cut *cut, size_t index)
{
    if (index == 0)
        return CUT_FIRST;
    return cut_size(cut, index) == cut->part ? CUT_INNER : CUT_LAST;
}

size_t cut_size_of(const struct cut *cut, enum cut_which which)
{
    size_t behind = cut->size - cut->first;
    if (which == CUT_FIRST)
        return cut->first;
    if (which == CUT_INNER)
        return behind >= cut->part ? cut->part : 0;
    return behind % cut->part;
}
