/* work_folder.h: the folder in which the results of a batch are put together, what in it is the
 * batch's, and what may happen to it. No other room of the program decides that.
 *
 *     -o DIR/          DIR, which is made; its parent must be there
 *     -o FILE          FILE.part, until its one result becomes FILE; FILE.manifest stays beside it
 *     with --shard     DIR.2-of-16 or FILE.2-of-16, for `merge`
 *
 * A batch owns, in DIR:
 *
 *     .attn-cli/       `lock`, `replace` where a FILE is to be replaced, and in `new` whatever is
 *                      half made; where anything else is, the folder is refused
 *     journal          while work goes on: what the batch is, and what is done
 *     manifest.json    in its place when all is done; both are known by their first lines
 *     results.jsonl    where the command in the journal makes it, or the manifest lists it
 *     ITEM/FILE        those that the journal or the manifest lists
 *
 * and FILE.part with all of these in it, FILE.manifest, and FILE when that holds what FILE.manifest
 * has the hash of. Nothing else is the batch's: it is not written to, replaced or removed, with no
 * option, and no symbolic link below DIR is followed.
 *
 * The lock is taken before anything else. It goes with its process, so that after a SIGKILL the
 * next one has it; meanwhile others are refused and told who holds it. Then
 *
 *     nothing, or an empty folder      a batch begins
 *     a journal                        refused; --resume goes on, if it is the same batch;
 *                                      --force removes what is the batch's, and begins
 *     a manifest                       refused; --resume makes again what is missing, if it is the
 *                                      same batch, or ends as that did; --force as above
 *     anything else, or a `journal` or `manifest.json` of something else: refused
 *
 * --resume refuses a result that is not as the record says, and changes nothing then.
 *
 * A FILE that is there is refused; --resume checks it against FILE.manifest, as above; --force
 * replaces it, whatever it holds, by a rename, but no link, no device and nothing that
 * replacement.h refuses, and so does --resume of a batch that was begun with --force. What it makes
 * is as private as the records, or the FILE, that were there. An item's folder is made in .attn-cli
 * and renamed, so that one that is there is whole, or someone else's, and refused.
 *
 *     struct work_folder folder;
 *     if (work_folder_find(&folder, "out/", &shard, err) || work_folder_open(&folder, err)) ...
 *     if (folder.state == WORK_BEGUN) ...
 *     work_folder_release(&folder);
 */
#ifndef ATTN_CMD_WORK_FOLDER_H
#define ATTN_CMD_WORK_FOLDER_H

#include "base/buf.h"
#include "format/json.h"
#include "shard.h"

/* A file that one process at a time holds, and that says which. The lock is flock's and goes with
 * its process: what a killed one leaves is a file that the next one takes. */
struct lock_file {
    int descriptor;
    const char *path; /* borrowed; NULL: not held */
};

enum { LOCK_FILE_LOST = 1 };

/* Take the lock of a place without waiting; refused where another process has it, by its name.
 * LOCK_FILE_LOST says that the folder is gone, or that others came first again and again: make it,
 * and take it once more. */
int lock_file_take(struct lock_file *lock, const char *path, const char *place, struct err *err);

/* Remove the file and let go; nothing where it is not held. */
void lock_file_release(struct lock_file *lock);

enum work_state {
    WORK_NONE,     /* nothing is there */
    WORK_BEGUN,    /* a journal */
    WORK_FINISHED, /* a manifest */
};

struct work_folder {
    const char *path;   /* without a slash at its end */
    const char *target; /* the file that the result becomes; NULL: none, or not yet */
    const char *record; /* of it, FILE.manifest */
    const char *journal, *manifest, *lines; /* paths within … */
    const char *own;                        /* … and .attn-cli, and in it: */
    const char *lock_path, *drafts, *consent;
    enum work_state state;
    bool is_named;       /* as -o has it: such a folder may be a link */
    bool has_target;     /* the file is there */
    bool has_record;     /* and what says what it is */
    bool may_replace;    /* what an earlier process of this batch has made */
    bool cleared;        /* the journal is of a batch that is being removed, to begin anew */
    bool worked;         /* a batch was here before, and may have left something half made */
    bool open;           /* all in .attn-cli is the batch's */
    bool made, made_own; /* the folder, or .attn-cli: they go when nothing is in them */
    struct lock_file lock;
    struct buf path_of_name, path_of_draft;
    struct arena arena;
};

int work_folder_find(struct work_folder *folder, const char *output, const struct job_shard *shard,
                     struct err *err);

/* Look at what is there, and refuse what is no place for a batch; then make the folder, lock it and
 * look again, as `state` says then, and remove what a process that was killed left half made. */
int work_folder_open(struct work_folder *folder, struct err *err);

/* Unlock it, and remove what only served to work: of a batch that goes on later, its journal and
 * its results stay. */
void work_folder_release(struct work_folder *folder);

/* Whether -o names a folder: by the slash at its end, or because it is there. */
bool work_folder_is_folder(const char *output);

/* Refuse what has a path and is not the batch's. */
int work_folder_refuse(const char *path, struct err *err);

/* The path of a result, DIR/NAME, or of a draft, DIR/.attn-cli/new/NAME, until the next call. */
const char *work_folder_path(struct work_folder *folder, const char *name, struct err *err);
const char *work_folder_draft(struct work_folder *folder, const char *name, struct err *err);

/* Refuse a name where something else is already; give what is half made its name. */
int work_folder_check_free(struct work_folder *folder, const char *name, struct err *err);
int work_folder_place(struct work_folder *folder, const char *name, struct err *err);

/* Note whether --force is given: then the target may be replaced, also by who goes on later. */
int work_folder_consent(const struct work_folder *folder, bool may_replace, struct err *err);

/* Refuse to go on where the target is there and may not be replaced. */
int work_folder_check_target(const struct work_folder *folder, struct err *err);

/* Refuse, before anything is computed, files of the batch that replacement.h refuses. */
int work_folder_check_replaceable(const struct work_folder *folder, struct err *err);

/* The one result, DIR/NAME, becomes the target, and the manifest its record. */
int work_folder_move_out(struct work_folder *folder, const char *name, struct err *err);

/* All is done, and the manifest is there: the journal goes. */
int work_folder_finish(const struct work_folder *folder, struct err *err);

/* --- what is in it ---------------------------------------------------------------------------- */

/* The journal, or the manifest. */
const char *work_folder_record(const struct work_folder *folder);

/* Of .attn-cli: refuse what no batch has put there, for what is in `new` goes whenever a batch
 * begins or ends; `worked`: there was one, which may have left something. */
int work_own_check(const struct work_folder *folder, bool worked, struct err *err);

/* Whether a batch has left its lock. */
bool work_own_has_lock(const struct work_folder *folder);

/* Of a list of files in a record, which may be NULL. `*missing` becomes true where one is not
 * there; refused is one that is something else by now. */
int work_owned_check(bool *missing, const struct work_folder *folder, const char *record,
                     const struct json *files, struct err *err);

/* Refuse a list of what no batch makes, and what may not go: an item's folder in which anything
 * else is. Then they may be removed. */
int work_owned_may_go(struct work_folder *folder, const struct json *files, struct err *err);
int work_owned_remove(struct work_folder *folder, const struct json *files, struct err *err);

/* Names of results, which `each` gives to who asks for them one after another. */
struct seer {
    int (*see)(void *context, const char *name, struct err *err);
    void *context;
};

struct result_list {
    int (*each)(void *context, const struct seer *seer, struct err *err);
    void *context;
};

/* Refuse, before anything goes, that not all of an earlier batch can go, or that anything else is
 * in the way of new results. */
int work_owned_check_room(struct work_folder *folder, const struct result_list *results,
                          struct err *err);

/* Begin anew: all of it goes but the record, which is a journal then and is to be replaced by
 * another: who is killed meanwhile leaves an unfinished batch. */
int work_owned_clear(struct work_folder *folder, struct err *err);

/* --- what goes -------------------------------------------------------------------------------- */

/* Whether a name leads to something below a folder: not an absolute one, and without components
 * that are empty, "." or "..". */
bool removal_is_below(const char *name);

/* Remove a file, and then those of its folders below `folder` that are empty; or a folder with its
 * files and those of the folders in it, but no deeper ones. Never through a link: every component
 * of a name is opened as a folder that is none, and what is no regular file is someone else's and
 * stays. What is not there is no error, a file that may not be replaced (replacement.h) is one. */
int removal_file(const char *folder, const char *name, struct err *err);
int removal_folder(const char *folder, const char *name, struct err *err);

#endif
