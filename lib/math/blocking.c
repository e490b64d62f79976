#include "math/blocking.h"

#include "base/num.h"

struct blocking blocking_of(size_t size, size_t part, size_t first)
{
    first = num_min(first, size);
    size_t others = (size - first + part - 1) / part;
    return (struct blocking){size, part, first, .count = (first > 0) + others};
}

size_t blocking_start(const struct blocking *blocking, size_t index)
{
    return index == 0 ? 0 : blocking->first + (index - 1) * blocking->part;
}

size_t blocking_size(const struct blocking *blocking, size_t index)
{
    size_t rest = blocking->size - blocking_start(blocking, index);
    return index == 0 ? blocking->first : num_min(blocking->part, rest);
}

enum blocking_kind blocking_kind(const struct blocking *blocking, size_t index)
{
    if (index == 0)
        return BLOCKING_FIRST;
    return blocking_size(blocking, index) == blocking->part ? BLOCKING_INNER : BLOCKING_LAST;
}

size_t blocking_size_of(const struct blocking *blocking, enum blocking_kind which)
{
    size_t others = blocking->size - blocking->first;
    if (which == BLOCKING_FIRST)
        return blocking->first;
    if (which == BLOCKING_INNER)
        return others >= blocking->part ? blocking->part : 0;
    return others % blocking->part;
}
