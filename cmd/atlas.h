/* atlas.h: writes the atlas of a corpus (measure/head_atlas.h) into a folder. atlas.c runs the
 * texts, in segments that it keeps in files until all are merged; atlas_files.c writes tables and
 * examples, headvis.c the files of HeadVis, and atlas_page.c the page. */
#pragma once

#include "heads.h"
#include "items.h"
#include "measure/head_atlas.h"
#include "sweep.h"

enum atlas_table { ATLAS_HEADS, ATLAS_FREQUENT, ATLAS_PROMOTES, ATLAS_TABLES };

struct promotion;
struct stream;
struct target_folder;

/* maximum number of pairs of tokens, and of promoted tokens, that are kept for each head */
enum { ATLAS_PAIRS = 20, ATLAS_PROMOTED = 10 };
enum { ATLAS_SEGMENTS = 16 }; /* number of segments of a corpus; each has its own file */

/* A text of the corpus that is read again because an example shows it. */
struct atlas_item {
    size_t index; /* index of the item; SIZE_MAX: no item was read yet */
    struct item item;
    struct text_with_source pair;
    struct arena arena;
};

struct atlas_state {
    /* must be the first member: hooks of `heads` get a pointer to this struct */
    struct heads_state heads;
    struct atlas atlas;    /* examples of the current segment or, at the end, of all segments */
    struct head_sums sums; /* sums of the scores over the texts of the current segment */
    struct driver *driver;
    bool is_headvis, is_counted;
    size_t usable;                     /* number of texts of two tokens or more */
    size_t bounds[ATLAS_SEGMENTS + 1]; /* index of each segment's first item; the last element is
                                        * the number of items */
    /* `segment`: index of the current segment; `end_segment`: index after the last segment of this
     * process */
    size_t segment, end_segment;
    struct job_shard shard;
    /* this process runs the items from `first` on, and all items before `warmed` for the warm-up */
    size_t first, warmed;
    const char *identity; /* text that begins each segment file: version, command, corpus and
                           * model */
    const char *against;  /* folder of the atlas of --against; NULL: not given */
    float *others; /* [scores, heads] scores of the atlas in `against`; NULL: no other atlas */
    struct atlas_item reread;
    struct head_result result; /* scores over all texts, computed at the end */
    struct atlas_mass *keys;   /* [heads, ATLAS_PROMOTED] key tokens with the most weight */
    size_t *key_counts;        /* [heads] number of `keys` of each head */
    /* [heads, ATLAS_PROMOTED] tokens that `keys` promote; NULL: not known */
    struct promotion *promotions;
    struct table tables[ATLAS_TABLES];
};

/* Read the item `index` of the corpus into own->reread, unless own->reread already contains it. */
int atlas_item_read(struct atlas_state *own, size_t index, struct err *err);

/* A function of type atlas_ids, with the struct atlas_state as `own`: returns the token ids of an
 * item, or NULL on failure. */
const uint32_t *atlas_item_ids(void *own, size_t index, struct err *err);

/* The value of the score with index `score` for a head. */
double atlas_score(const struct atlas_state *own, size_t score, size_t head);

/* True if a head with this index exists. Each layer has the same number of indices, even a layer
 * with fewer heads or none. For HeadVis, the head must also be an attention head. */
bool atlas_has_head(const struct atlas_state *own, size_t head);

/* A function that writes one file of the atlas; `index` is the index of a table or of a head. */
typedef int atlas_writer(struct stream *out, struct atlas_state *own, size_t index,
                         struct err *err);

struct atlas_file {
    const char *name;
    atlas_writer *write;
    size_t index;
};

/* Write one file of the atlas into `folder`, whose path ends with a slash. */
int atlas_write_file(struct atlas_state *own, const struct atlas_file *file,
                     const struct target_folder *folder, struct err *err);

/* Write a file into the subfolder `name` of the atlas; with `of_heads`, write a file for each head,
 * whose name begins with the head: "L1H3.js". */
int atlas_write_folder(struct atlas_state *own, const char *name, const struct atlas_file *file,
                       bool of_heads, struct err *err);

/* Write all files of the atlas: atlas_write in the format of attn-cli, headvis_write in the folders
 * of HeadVis. */
int atlas_write(struct atlas_state *own, struct err *err);
int headvis_write(struct atlas_state *own, struct err *err);

/* atlas_page_is_split: true if the page loads the entries of a head's examples from a script.
 * atlas_page_write writes the page, atlas_page_write_entries the script of a head. */
bool atlas_page_is_split(const struct atlas_state *own);
atlas_writer atlas_page_write, atlas_page_write_entries;

/* Read the scores of the atlas in the folder own->against into own->others; NaN: no score. */
int atlas_read_against(struct atlas_state *own, struct arena *arena, struct err *err);
