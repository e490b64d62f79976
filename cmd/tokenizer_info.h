/* tokenizer_info.h: what `info` says of a model's tokenizer. */
#ifndef ATTN_CMD_TOKENIZER_INFO_H
#define ATTN_CMD_TOKENIZER_INFO_H

#include "base/folder.h"
#include "format/json_writer.h"
#include "text/post_processor.h"
#include "text/tokenizer.h"

enum { TOKENIZER_INFO_BESIDE = 2 };

struct tokenizer_info {
    const struct tokenizer *tokenizer; /* NULL: there is none, and nothing is said */
    const struct folder *folder;
    bool is_there[TOKENIZER_FILES];        /* files that may be opened … */
    bool is_beside[TOKENIZER_INFO_BESIDE]; /* … and what counts beside them */
    struct special_ids special;
    bool has[TOKEN_ROLES];
    uint32_t ids[TOKEN_ROLES];
};

int tokenizer_info_init(struct tokenizer_info *info, const struct tokenizer *tokenizer,
                        const struct folder *folder, struct err *err);

/* Rows of the page; after it the words, where they are some; members of the object that is open. */
int tokenizer_info_write(const struct tokenizer_info *info, struct stream *out, struct err *err);
int tokenizer_info_words(const struct tokenizer_info *info, struct stream *out, size_t columns,
                         struct err *err);
int tokenizer_info_json(const struct tokenizer_info *info, struct json_writer *json,
                        struct err *err);

/* All of it, of a folder that has no model. */
int tokenizer_info_alone(const struct tokenizer_info *info, size_t columns, bool json,
                         struct err *err);

#endif
