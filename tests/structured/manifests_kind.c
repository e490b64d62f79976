/* Manifests: of shards, as merge reads them, and of a batch that is done, as --resume does. */
#include "batch_folder.h"
#include "kind.h"
#include "odd.h"
#include "specimens.h"

#define ITEMS                                                                  \
    "{\"id\": \"a\", \"sentence\": \"Life is short\"}\n"                       \
    "{\"sentence\": \"eat\", \"head\": 0}\n{\"id\": \"bad\", \"ids\": [99]}\n" \
    "{\"id\": \"d/e\", \"sentence\": \"first\"}\n"

#define BATCH "batch i.jsonl -q -m life -t 1 "

/* What there is of each: two shards, and all in one. */
static struct series {
    const char *options;
    const char *place;
    const char *name; /* of the place, as folders have it */
    struct folder in_shards, in_one;
} series[] = {
    {"", "out.jsonl", "out.jsonl", {0}, {0}},
    {"--format csv", "out/", "out", {0}, {0}},
    {"--format json --show all", "out/", "out", {0}, {0}},
    {"--reduce entropy,mean", "out/", "out", {0}, {0}},
    {"--reduce entropy --per-item", "out.json", "out.json", {0}, {0}},
    {"--sweep scale=1,2 --repeat 2", "out/", "out", {0}, {0}},
};

enum { SERIES = sizeof series / sizeof *series };

static int run(struct folder *folder, const char *scratch, const struct made *made, struct err *err)
{
    const char *lines[MADE_LINES_MAX + 1] = {NULL};
    for (size_t i = 0; i < made->line_count; i++)
        lines[i] = made->lines[i];
    return specimens_run(folder, scratch, made, lines, err);
}

int manifests_open(const char *scratch, struct err *err)
{
    static struct made made;
    for (size_t i = 0; i < SERIES; i++) {
        struct series *s = &series[i];
        made_begin(&made, "specimen", 0);
        made_text(&made, "i.jsonl", ITEMS);
        made_line(&made, BATCH "%s -o %s --shard 1/2", s->options, s->place);
        made_line(&made, BATCH "%s -o %s --shard 2/2", s->options, s->place);
        if (run(&s->in_shards, scratch, &made, err))
            return -1;
        made.line_count = 0;
        made_line(&made, BATCH "%s -o %s", s->options, s->place);
        if (run(&s->in_one, scratch, &made, err))
            return -1;
    }
    return 0;
}

static const char *manifest_of(const char *name, size_t shard, struct made *made)
{
    struct buf path = {0};
    buf_format(&path, "%s.%zu-of-2/manifest.json", name, shard);
    const char *kept = made_memory(arena_text(&made->arena, path.bytes, path.size, NULL));
    buf_release(&path);
    return kept;
}

static void make_shards(const struct series *s, struct made *made)
{
    const char *manifests[] = {manifest_of(s->name, 1, made), manifest_of(s->name, 2, made)};
    made_copy(made, s->in_shards.files, s->in_shards.file_count);
    switch (made_below(made, 4)) {
    case 0:
        batch_folder_change_all(made, manifests, 2);
        break;
    case 1:
        batch_folder_change_any(made, "out", "manifest.json");
        break;
    default:
        batch_folder_change(made, MADE_PICK(made, manifests));
    }
    made_line(made, "merge %s", s->place);
    if (made_one_in(made, 2))
        made_line(made, "merge %s --force", s->place);
}

static void make_whole(const struct series *s, struct made *made)
{
    made_copy(made, s->in_one.files, s->in_one.file_count);
    if (made_one_in(made, 4))
        batch_folder_change_any(made, "out", "manifest.json");
    else
        batch_folder_change_any(made, "out", "results");
    made_line(made, BATCH "%s -o %s --resume", s->options, s->place);
    if (made_one_in(made, 2))
        made_line(made, BATCH "%s -o %s --force", s->options, s->place);
}

void manifests_make(struct made *made)
{
    const struct series *s = &MADE_PICK(made, series);
    if (made_one_in(made, 3))
        make_whole(s, made);
    else
        make_shards(s, made);
}
