/* atlas.h: writes the atlas of a corpus (measure/head_atlas.h) into a folder. atlas.c runs the
 * texts, in segments that it keeps in files until all are merged; atlas_files.c writes tables and
 * examples, headvis.c the tree of HeadVis, and atlas_page.c the page. */
#pragma once

#include "heads.h"
#include "items.h"
#include "measure/head_atlas.h"
#include "sweep.h"

enum atlas_table { ATLAS_HEADS, ATLAS_FREQUENT, ATLAS_PROMOTES, ATLAS_TABLES };

struct promotion;
struct stream;
struct target_folder;

enum { ATLAS_PAIRS = 20, ATLAS_PROMOTED = 10 }; /* numbers for a head */
enum { ATLAS_SEGMENTS = 16 };                   /* segments of a corpus, each in its file */

/* A text of the corpus that is read again for an example. */
struct atlas_item {
    size_t index; /* index of the item; SIZE_MAX: none yet */
    struct item item;
    struct text_with_source pair;
    struct arena arena;
};

struct atlas_state {
    struct heads_state heads; /* must be the first: hooks of heads get this state */
    struct atlas atlas;       /* of the segment that runs; at the end of all */
    struct head_sums sums;    /* of the texts of this segment */
    struct driver *driver;
    bool is_headvis, is_counted;
    size_t usable;                     /* texts of two tokens or more */
    size_t bounds[ATLAS_SEGMENTS + 1]; /* the first item of each segment */
    size_t segment, end_segment;       /* that runs; after the last of this process */
    struct job_shard shard;
    size_t first, warmed; /* items that run: from `first`, and before `warmed` */
    const char *identity; /* identity of the state in the file of a segment */
    const char *against;  /* folder of another atlas; NULL: none */
    float *others;        /* [scores, heads] its scores; NULL: none */
    struct atlas_item reread;
    struct head_result result;    /* when all texts are added */
    struct atlas_mass *keys;      /* [heads, ATLAS_PROMOTED] keys with the most weight */
    size_t *key_counts;           /* [heads] */
    struct promotion *promotions; /* [heads, ATLAS_PROMOTED] of these keys; NULL: not known */
    struct table tables[ATLAS_TABLES];
};

/* Read a text into own->source. */
int atlas_item_read(struct atlas_state *own, size_t index, struct err *err);

/* An atlas_ids whose context is the state. */
const uint32_t *atlas_item_ids(void *own, size_t index, struct err *err);

/* The score of a head. */
double atlas_score(const struct atlas_state *own, size_t score, size_t head);

/* Whether a layer has a head of this index: layers may have fewer heads than others, or none. */
bool atlas_has_head(const struct atlas_state *own, size_t head);

/* Write a file of the atlas: of a table, or of a head. */
typedef int atlas_writer(struct stream *out, struct atlas_state *own, size_t index,
                         struct err *err);

struct atlas_file {
    const char *name;
    atlas_writer *write;
    size_t index;
};

/* Write a file into a folder whose path ends with a slash. */
int atlas_write_file(struct atlas_state *own, const struct atlas_file *file,
                     const struct target_folder *folder, struct err *err);

/* Write a file into a subfolder of the atlas; or one file per head, named by the head before
 * `name`: "L1H3.js". */
int atlas_write_folder(struct atlas_state *own, const char *name, const struct atlas_file *file,
                       bool of_heads, struct err *err);

/* Write all files, as an atlas or as the tree of HeadVis. */
int atlas_write(struct atlas_state *own, struct err *err);
int headvis_write(struct atlas_state *own, struct err *err);

/* The page; if it is split, it loads the entries of a head's examples from a script. */
bool atlas_page_is_split(const struct atlas_state *own);
atlas_writer atlas_page_write, atlas_page_write_entries;

/* Read the scores of the atlas in own->against. */
int atlas_read_against(struct atlas_state *own, struct arena *arena, struct err *err);
