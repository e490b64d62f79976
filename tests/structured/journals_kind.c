/* Journals: of batches that stopped at an item, as --resume reads them to go on. */
#include <math.h>
#include <string.h>

#include "batch_folder.h"
#include "kind.h"
#include "specimens.h"
#include "tensors.h"

/* The fourth cannot be computed: the model has no number for its word. */
#define ITEMS                                                              \
    "{\"id\": \"a\", \"sentence\": \"Life is short\"}\n"                   \
    "{\"sentence\": \"eat\"}\n{\"id\": \"c c\", \"sentence\": \"Life\"}\n" \
    "{\"id\": \"bad\", \"sentence\": \"dessert\"}\n{\"sentence\": \"first\"}\n"

#define BATCH "batch i.jsonl -q -m m -t 1 "

static const char *const options[] = {
    "-o out.jsonl",
    "-o out/ --format csv",
    "-o out/ --format json --show all",
    "-o out/",
    "-o out/ --reduce entropy,mean",
    "-o out.json --reduce entropy",
    "-o out.jsonl --reduce entropy --per-item",
    "-o out/ --sweep scale=1,2 --repeat 2",
    "-o out.jsonl --shard 1/1",
};

enum { STOPS = sizeof options / sizeof *options, DESSERT = 1 };

static struct folder left[STOPS]; /* by each of them */

/* A model in which one word is infinite. */
static int make_model(struct made *made, struct err *err)
{
    static struct tensors tensors;
    static struct folder life;
    struct buf text = {0};
    if (!life.files && specimens_read(&life, "models/life", "m", err))
        return -1;
    made_copy(made, life.files, life.file_count);
    struct folder_file *file = made_find(made, "m/model.safetensors");
    struct tensor_made *words =
        file && !tensors_read(&tensors, file, made) ? tensors_find(&tensors, "wte.weight") : NULL;
    if (!words)
        return err_set(err, "'models/life': expected a tensor 'wte.weight'");
    float *row = (float *)words->data + DESSERT * words->shape[1];
    row[0] = INFINITY;
    tensors_write(&text, &tensors);
    made_take(made, file, &text);
    return 0;
}

int journals_open(const char *scratch, struct err *err)
{
    static struct made made;
    for (size_t i = 0; i < STOPS; i++) {
        const char *lines[2] = {NULL};
        made_begin(&made, "specimen", 0);
        made_text(&made, "i.jsonl", ITEMS);
        if (make_model(&made, err))
            return -1;
        made_line(&made, BATCH "%s --fail-fast", options[i]);
        lines[0] = made.lines[0];
        if (specimens_run(&left[i], scratch, &made, lines, err))
            return -1;
    }
    return 0;
}

void journals_make(struct made *made)
{
    size_t stop = made_below(made, STOPS);
    made_copy(made, left[stop].files, left[stop].file_count);
    if (made_one_in(made, 4))
        batch_folder_change_any(made, "out", "journal");
    else
        for (size_t i = 0; i < left[stop].file_count; i++)
            if (strstr(left[stop].files[i].name, "journal"))
                batch_folder_change(made, left[stop].files[i].name);
    made_line(made, BATCH "%s --resume%s", options[stop],
              made_one_in(made, 4) ? " --fail-fast" : "");
    if (made_one_in(made, 3))
        made_line(made, BATCH "%s --resume", options[stop]);
}
