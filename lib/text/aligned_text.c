#include "text/aligned_text.h"

#include "base/memory.h"

enum { FIRST_ROOM = 32 };

/* --- original positions ----------------------------------------------------------------------- */

/* Find the alignment of position `at` of the changed text: the last one that begins at or before
 * it. Searches by growing steps from index `*hint`, then by bisection. */
static const struct alignment *part_of(const struct aligned_text *text, size_t at, size_t *hint)
{
    const struct alignment *parts = text->parts;
    size_t low = *hint < text->part_count && parts[*hint].at <= at ? *hint : 0;
    size_t step = 1;
    if (low + 1 == text->part_count || (low + 1 < text->part_count && parts[low + 1].at > at)) {
        *hint = low;
        return &parts[low];
    }
    for (; low + step < text->part_count && parts[low + step].at <= at; step *= 2)
        low += step;
    size_t high = low + step < text->part_count ? low + step : text->part_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(parts[middle].at <= at ? &low : &high) = middle;
    }
    *hint = low;
    return &parts[low];
}

/* The number of complete units of `unit` bytes in `size` bytes. */
static size_t units(size_t unit, size_t size)
{
    return unit == 1 ? size : unit == 2 ? size / 2 : size / unit;
}

static size_t start_of(const struct alignment *part, size_t at)
{
    return part->start + units(part->unit, at - part->at) * part->original;
}

struct text_range aligned_text_find_origin(const struct aligned_text *text, struct text_range range,
                                           size_t *hint)
{
    const struct alignment *part = part_of(text, range.start, hint);
    struct text_range origin = {.start = start_of(part, range.start)};
    if (range.end) {
        bool same = range.end > range.start &&
                    (part + 1 == text->parts + text->part_count || range.end <= part[1].at);
        part = same ? part : part_of(text, range.end - 1, hint);
        origin.end = start_of(part, range.end - 1) + part->original;
    }
    if (range.start == range.end) /* an empty range has an empty origin */
        origin.start = origin.end =
            range.end && origin.end < origin.start ? origin.end : origin.start;
    return origin;
}

static size_t times_and(size_t size, size_t times, size_t more)
{
    return size > (SIZE_MAX - more) / times ? SIZE_MAX : size * times + more;
}

struct text_limits text_limits_of(size_t text_size)
{
    return (struct text_limits){times_and(text_size, TEXT_GROWTH, TEXT_GROWTH_BYTES),
                                times_and(text_size, REGEX_STEPS_PER_BYTE, REGEX_STEPS)};
}

/* --- a text that changes ---------------------------------------------------------------------- */

/* Like struct alignment, but `unit` and `original` may exceed 32 bits. */
struct segment {
    size_t at, start, unit, original;
};

/* True if `part` follows the last alignment without a gap in both texts, in units of equal size;
 * false for inserted text. */
static bool continues(const struct text_rewriter *rewriter, const struct segment *part)
{
    if (!rewriter->part_count)
        return false;
    const struct alignment *last = &rewriter->parts[rewriter->part_count - 1];
    return last->unit == part->unit && last->original == part->original && part->original &&
           rewriter->next_at == part->at && rewriter->next_start == part->start;
}

static void add_part(struct text_rewriter *rewriter, struct segment part, size_t size)
{
    bool joins = continues(rewriter, &part);
    size_t count = size == part.unit ? 1 : units(part.unit, size);
    /* the end of the part's whole units, without a partial unit at its end */
    rewriter->next_at = part.at + count * part.unit;
    rewriter->next_start = part.start + count * part.original;
    if (joins)
        return;
    size_t larger = part.unit > part.original ? part.unit : part.original;
    if (larger > UINT32_MAX)
        rewriter->too_large = larger;
    if (rewriter->part_count == rewriter->part_capacity) {
        size_t capacity = rewriter->part_capacity ? 2 * rewriter->part_capacity : FIRST_ROOM;
        struct alignment *parts = heap_resize(rewriter->parts, capacity, sizeof *parts, NULL);
        rewriter->failed |= !parts;
        if (!parts)
            return;
        rewriter->parts = parts;
        rewriter->part_capacity = capacity;
    }
    rewriter->parts[rewriter->part_count++] =
        (struct alignment){part.at, part.start, (uint32_t)part.unit, (uint32_t)part.original};
}

/* True if the text would be too long with `size` more bytes; all later calls then return true as
 * well. */
static bool is_too_long(struct text_rewriter *rewriter, size_t size)
{
    size_t most = rewriter->limits ? rewriter->limits->size_max : SIZE_MAX;
    rewriter->too_long |= size > most || rewriter->bytes.size > most - size;
    return rewriter->too_long;
}

/* Copy the bytes [start, end) of the old text, and the alignment of this range. */
static void copy(struct text_rewriter *rewriter, size_t start, size_t end)
{
    const struct aligned_text *in = rewriter->in;
    size_t at = rewriter->bytes.size;
    if (is_too_long(rewriter, end - start))
        return;
    buf_bytes(&rewriter->bytes, in->bytes + start, end - start);
    if (start < end && !in->part_count)
        add_part(rewriter, (struct segment){at, in->start + start, 1, 1}, end - start);
    for (size_t from = start, next; in->part_count && from < end; from = next) {
        const struct alignment *part = part_of(in, from, &rewriter->hint);
        size_t passed = units(part->unit, from - part->at) * part->unit;
        size_t done = from - part->at - passed; /* bytes of the unit that contains `from`, before
                                                 * `from` */
        next = part + 1 < in->parts + in->part_count ? part[1].at : in->size;
        if (done && from - done + part->unit < next)
            next = from - done + part->unit;
        next = next < end ? next : end;
        size_t unit = part->unit - done;
        /* the rest of a split unit is a unit by itself */
        unit = unit < next - from ? unit : next - from;
        add_part(rewriter,
                 (struct segment){at + (from - start), start_of(part, from), unit, part->original},
                 next - from);
    }
}

static void copy_kept(struct text_rewriter *rewriter)
{
    if (rewriter->kept.start < rewriter->kept.end)
        copy(rewriter, rewriter->kept.start, rewriter->kept.end);
    rewriter->kept.start = rewriter->kept.end;
}

void text_rewriter_keep(struct text_rewriter *rewriter, size_t start, size_t end)
{
    if (start != rewriter->kept.end) {
        copy_kept(rewriter);
        rewriter->changed = true;
        rewriter->kept.start = start;
    }
    rewriter->kept.end = end;
}

void text_rewriter_replace(struct text_rewriter *rewriter, size_t start, size_t end,
                           const char *bytes, size_t size)
{
    copy_kept(rewriter);
    rewriter->changed = true;
    if (!size || is_too_long(rewriter, size))
        return;
    struct text_range range = {start, end};
    struct text_range origin = aligned_text_origin(rewriter->in, range, &rewriter->hint);
    add_part(rewriter,
             (struct segment){rewriter->bytes.size, origin.start, size, origin.end - origin.start},
             size);
    buf_bytes(&rewriter->bytes, bytes, size);
}

int text_rewriter_finish(struct text_rewriter *rewriter, struct aligned_text *out, struct err *err)
{
    *out = *rewriter->in;
    if (!rewriter->changed && rewriter->kept.end == rewriter->in->size)
        return 0;
    rewriter->changed = true; /* true even if only the end of the text was dropped */
    copy_kept(rewriter);
    if (rewriter->failed || rewriter->bytes.out_of_memory)
        return err_memory(err, rewriter->bytes.size);
    if (rewriter->too_long)
        return err_set(err, "expected at most %zu bytes, %d times the text and %d, found more",
                       rewriter->limits->size_max, TEXT_GROWTH, TEXT_GROWTH_BYTES);
    if (rewriter->too_large)
        return err_set(err, "expected at most %u bytes in one replacement, found %zu", UINT32_MAX,
                       rewriter->too_large);
    *out = (struct aligned_text){
        .bytes = rewriter->bytes.bytes ? rewriter->bytes.bytes : "",
        .size = rewriter->bytes.size,
        .start = rewriter->in->start,
        .parts = rewriter->parts,
        .part_count = rewriter->part_count,
    };
    return 0;
}

void text_rewriter_restart(struct text_rewriter *rewriter, const struct aligned_text *in,
                           struct text_limits *limits)
{
    struct text_rewriter fresh = {
        .in = in,
        .limits = limits,
        .bytes = rewriter->bytes,
        .parts = rewriter->parts,
        .part_capacity = rewriter->part_capacity,
    };
    buf_clear(&fresh.bytes);
    *rewriter = fresh;
}

void text_rewriter_release(struct text_rewriter *rewriter)
{
    buf_release(&rewriter->bytes);
    heap_free(rewriter->parts);
    *rewriter = (struct text_rewriter){0};
}
