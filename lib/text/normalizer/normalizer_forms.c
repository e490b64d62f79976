/* normalizer_forms.c: Unicode's forms, small letters, letters without accents. */
#include <string.h>

#include "base/unicode_form.h"
#include "text/normalizer/normalizer.h"

int normalize_form(const struct normalizer *step, struct text_rewriter *rewriter, struct err *err)
{
    static const char *const names[] = {"NFC", "NFD", "NFKC", "NFKD"}; /* by enum unicode_form */
    const struct aligned_text *in = rewriter->in;
    enum unicode_form form = UNICODE_NFC;
    struct buf changed = {0};
    while (strcmp(step->row->name, names[form]) != 0)
        form++;
    for (size_t at = 0, end; at < in->size; at = end) {
        end = unicode_form_end(form, in->bytes, in->size, at);
        buf_clear(&changed);
        if (unicode_form_put(form, &changed, in->bytes + at, end - at))
            text_rewriter_replace(rewriter, at, end, changed.bytes, changed.size);
        else
            text_rewriter_keep(rewriter, at, end);
    }
    int failed = buf_check(&changed, err);
    buf_release(&changed);
    return failed;
}

int normalize_lowercase(const struct normalizer *step, struct text_rewriter *rewriter,
                        struct err *err)
{
    static const char dotted[] = "i̇"; /* of İ, the one letter whose small form is two characters */
    enum { DOTTED_CAPITAL = 0x130 };
    const struct aligned_text *in = rewriter->in;
    (void)step;
    (void)err;
    for (size_t at = 0, length; at < in->size; at += length) {
        char bytes[4];
        uint32_t c = 0;
        length = utf8_decode(&c, in->bytes + at, in->size - at);
        uint32_t small = utf8_small(c);
        if (c == DOTTED_CAPITAL)
            text_rewriter_replace(rewriter, at, at + length, dotted, sizeof dotted - 1);
        else if (small != c)
            text_rewriter_replace(rewriter, at, at + length, bytes, utf8_encode(bytes, small));
        else
            text_rewriter_keep(rewriter, at, at + length);
    }
    return 0;
}

int normalize_strip_accents(const struct normalizer *step, struct text_rewriter *rewriter,
                            struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    (void)step;
    (void)err;
    for (size_t at = 0, length; at < in->size; at += length) {
        uint32_t c = 0;
        length = utf8_decode(&c, in->bytes + at, in->size - at);
        if (!utf8_is_mark(c))
            text_rewriter_keep(rewriter, at, at + length);
    }
    return 0;
}
