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
        bool stays = false;
        end = unicode_form_end(form, in->bytes, in->size, at, &stays);
        buf_clear(&changed);
        if (stays || !unicode_form_put(form, &changed, in->bytes + at, end - at))
            text_rewriter_keep(rewriter, at, end);
        else
            text_rewriter_replace(rewriter, at, end, changed.bytes, changed.size);
    }
    int failed = buf_check(&changed, err);
    buf_release(&changed);
    return failed;
}

int normalize_lowercase(char bytes[NORMALIZER_BYTES], uint32_t character)
{
    static const char dotted[] = "i̇"; /* of İ, the one letter whose small form is two characters */
    enum { DOTTED_CAPITAL = 0x130 };
    uint32_t small = utf8_small(character);
    if (character == DOTTED_CAPITAL) {
        memcpy(bytes, dotted, sizeof dotted - 1);
        return sizeof dotted - 1;
    }
    return small == character ? NORMALIZER_SAME : (int)utf8_encode(bytes, small);
}

int normalize_strip_accents(char bytes[NORMALIZER_BYTES], uint32_t character)
{
    (void)bytes;
    return utf8_is_mark(character) ? 0 : NORMALIZER_SAME;
}
