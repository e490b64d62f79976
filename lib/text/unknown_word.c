#include "text/unknown_word.h"

#include <string.h>

#include "text/label.h"

int unknown_word(const struct nearest *nearest, const char *text, size_t start, size_t end,
                 struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    char meant[LABEL_EXCERPT_BYTES];
    label_excerpt(shown, text + start, end - start);
    if (nearest->name)
        err_set(err, "word '%s' at byte %zu is not in the vocabulary: did you mean '%s'?", shown,
                start, label_excerpt(meant, nearest->name, nearest->name_bytes));
    else
        err_set(err, "word '%s' at byte %zu is not in the vocabulary", shown, start);
    return err_about(err, ERR_ABOUT_WORD);
}
