/* merge_reader.h: merges on their way in, from either kind of file. A merge is read, and its words
 * are looked for when some more were read and the memory for that has come.
 *
 *     struct merge_reader reader = {.bpe = bpe, .read_all = read_lines, …};
 *     return merge_reader_run(&reader, merge_count);
 *
 *     merge_reader_reserve(reader, size) || merge_reader_add_text(reader, "Ġ t", size)
 */
#ifndef ATTN_TEXT_SUBWORD_MERGE_READER_H
#define ATTN_TEXT_SUBWORD_MERGE_READER_H

#include "text/subword/bpe.h"

enum { MERGE_ROOM = 256, MERGES_AHEAD = 16 };

/* A merge that was read: both parts, as the file writes them and what they stand for, side by side;
 * NULL bytes where the alphabet does not have them. */
struct pending_merge {
    struct word left, right;
    struct word left_bytes, right_bytes;
    uint64_t left_hash, right_hash;
    size_t number;
};

struct merge_reader {
    struct bpe *bpe;
    const struct word_table *words;
    const char *unit; /* what merges are counted by: "line", "merge" */
    const char *start;
    const char *end;                              /* of the file */
    int (*read_all)(struct merge_reader *reader); /* all merges from `start` on */
    size_t number;
    char *bytes;  /* room for what a merge stands for, */
    char *joined; /* for its parts without the blank, */
    char *texts;  /* and for itself without escapes, a ring of them: */
    size_t room;  /* so much each */
    struct pending_merge pending[MERGES_AHEAD]; /* a ring of merges that were read and not added */
    size_t read, added;
    size_t prefix; /* bytes of a right part that go away when it is joined */
    bool brief;    /* bpe.h; … */
    bool disorder; /* … not so: a merge makes another word than the next one */
    struct err *err;
};

/* Read at most so many merges: `bpe` is whole, or released where it failed. */
int merge_reader_run(const struct merge_reader *given, size_t merge_count);

/* Make room for a merge of so many bytes, and for its text, which may be written there. */
int merge_reader_reserve(struct merge_reader *reader, size_t size);
char *merge_reader_room(const struct merge_reader *reader);

/* Add a merge as it stands in a file: "Ġ t"; or its parts. */
int merge_reader_add_text(struct merge_reader *reader, const char *text, size_t size);
void merge_reader_push(struct merge_reader *reader, struct word left, struct word right);

/* The same of one that is signs alone, where it stands: read one part and the other, of at least
 * one sign, up to `stop`, and push what was read. False: it takes a closer look, as if none of it
 * had been read. */
bool merge_reader_left(struct merge_reader *reader, const char **at, char stop);
bool merge_reader_right(struct merge_reader *reader, const char **at, char stop);
bool merge_reader_push_signs(struct merge_reader *reader);

#endif
