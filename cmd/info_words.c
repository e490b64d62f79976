#include "info_words.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "text/label.h"

enum { WORDS_SHOWN = 500, INDENT = 2 };

/* A page on its way out, filled word by word. */
struct page {
    struct stream *out;
    size_t columns, used;
};

static void write_word(struct page *page, const struct buf *word)
{
    size_t width = utf8_width(word->bytes, word->size);
    bool fits = page->used && page->used + 1 + width <= page->columns;
    if (fits)
        stream_char(page->out, ' ');
    else
        stream_text(page->out, page->used ? "\n  " : "  ");
    stream_bytes(page->out, word->bytes, word->size);
    page->used = fits ? page->used + 1 + width : INDENT + width;
}

int info_words_write(struct stream *out, const struct tokenizer *tokenizer, size_t columns,
                     struct err *err)
{
    struct page page = {out, columns, 0};
    struct buf word = {0};
    size_t shown = 0;
    size_t left = 0;
    if (!tokenizer || !*tokenizer_gap(tokenizer)) /* pieces stand beside each other */
        return 0;
    stream_text(out, "\nWords\n");
    for (size_t id = 0; id < tokenizer_size(tokenizer); id++) {
        size_t size = 0;
        const char *bytes = tokenizer_token(tokenizer, (uint32_t)id, &size);
        left += bytes && shown == WORDS_SHOWN;
        if (!bytes || shown == WORDS_SHOWN)
            continue;
        buf_clear(&word);
        label_visible(&word, bytes, size);
        if (word.size)
            write_word(&page, &word);
        shown++;
    }
    stream_char(out, '\n');
    if (left)
        stream_format(out, "  and %zu more: the model's vocab.json or tokenizer.json has all\n",
                      left);
    int failed = buf_check(&word, err);
    buf_release(&word);
    return failed;
}
