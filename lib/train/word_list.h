/* word_list.h: the words of texts as a vocabulary: enumerate(sorted(set(words))), by bytes.
 *
 * A word is a run of letters, marks and digits; an apostrophe or a hyphen between two of them
 * belongs to it: `don't`. In scripts without spaces, such as Han, each character is a word, unless
 * the line has spaces between two of them: 我爱自然语言处理 has eight words, 我 爱 自然
 * 语言 处理 five.
 *
 *     struct word_list list = {0};
 *     if (word_list_add(&list, text, size, err)) ...       for every text; they must stay alive
 *     word_list_sort(&list);
 *     word_list_json(&out, &list);                         {"Life": 0, "dessert": 1, …}
 *     word_list_release(&list);
 */
#pragma once

#include "base/memory.h"
#include "text/word_table.h"

struct buf;

struct word_list {
    struct word *words;
    size_t count;
    struct arena arena;
    struct word unspaced; /* the first run that was split into characters; empty: none was */
};

/* Add the words of a text in order. Bytes that are not UTF-8 are an error with their offset. */
int word_list_add(struct word_list *list, const char *text, size_t size, struct err *err);

/* word_list_sort sorts the words and removes duplicates. word_list_json then appends a vocab.json
 * in which the id of a word is its index. */
void word_list_sort(struct word_list *list);
void word_list_json(struct buf *out, const struct word_list *list);

void word_list_release(struct word_list *list);
