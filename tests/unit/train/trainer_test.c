#include "train/trainer.h"

#include <string.h>

#include "../unit.h"

/* Tokens 0 to 3 of a vocabulary of words. */
static void read_texts(struct dataset *texts, const char *text)
{
    static const char words[] = "[\"a\", \"b\", \"c\", \"d\"]";
    const struct folder_file file = {"vocab.json", words, sizeof words - 1};
    const struct folder folder = {"words", &file, 1};
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    *texts = (struct dataset){0};
    int failed = tokenizer_open(&tokenizer, &folder, &err) ||
                 dataset_add(texts, tokenizer, text, strlen(text), &err);
    ck_assert_msg(!failed, "%s", err.text);
    tokenizer_free(tokenizer);
}

TEST(held_out_texts_are_not_in_the_training_data)
{
    struct dataset texts;
    read_texts(&texts, "a b c\na b c\na b c\na b c\na b c\na b c\na b c\na b c\na b c\na b c\n");
    ck_assert_int_eq(dataset_finish(&texts, 5, 0.3, NULL), 0);
    ck_assert_uint_eq(texts.held_out.count, 2);
    uint32_t last = texts.training.items[texts.training.count - 1];
    ck_assert_uint_le(last + 5 + 1, texts.held_out.items[0]);
    dataset_release(&texts);
}
