#include "models_change.h"

#include <cjson/cJSON.h>

#include "json_change.h"
#include "tensors.h"

void models_set(struct made *made, const char *field, const char *given)
{
    struct folder_file *file = made_find(made, "m/config.json");
    cJSON *root = cJSON_ParseWithLength(file->bytes, file->size);
    cJSON *value = cJSON_CreateRaw(given);
    cJSON_DeleteItemFromObjectCaseSensitive(root, field);
    cJSON_AddItemToObject(root, field, value);
    char *text = made_memory(cJSON_Print(root));
    made_text(made, file->name, text);
    cJSON_free(text);
    cJSON_Delete(root);
}

void models_change_json(struct made *made)
{
    static const char *const names[] = {"m/config.json", "m/config.json", "m/vocab.json"};
    struct buf text = {0};
    struct folder_file *file = made_find(made, MADE_PICK(made, names));
    if (file && json_change(&text, file->bytes, file->size, made))
        made_take(made, file, &text);
}

void models_change_tensors(struct made *made)
{
    static struct tensors tensors;
    struct buf text = {0};
    struct folder_file *file = made_find(made, "m/model.safetensors");
    if (tensors_read(&tensors, file, made))
        return;
    tensors_change(&tensors, made);
    tensors_write(&text, &tensors);
    made_take(made, file, &text);
}

void models_split(struct made *made)
{
    static const char *const shards[] = {"model-00001-of-00002.safetensors",
                                         "model-00002-of-00002.safetensors"};
    static struct tensors tensors;
    struct buf first = {0}, second = {0}, index = {0}, changed = {0};
    struct folder_file *file = made_find(made, "m/model.safetensors");
    if (tensors_read(&tensors, file, made) || !tensors.count)
        return;
    size_t half = made_below(made, tensors.count);
    tensors_write_some(&first, &tensors, 0, half);
    tensors_write_some(&second, &tensors, half, tensors.count);
    buf_text(&index, "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {");
    for (size_t i = 0; i < tensors.count; i++)
        buf_format(&index, "%s\"%s\": \"%s\"", i ? ", " : "", tensors.items[i].name,
                   shards[i >= half]);
    buf_text(&index, "}}");
    file->name = "m/model-00001-of-00002.safetensors";
    made_take(made, file, &first);
    made_take(made, made_text(made, "m/model-00002-of-00002.safetensors", ""), &second);
    bool as_it_is = made_one_in(made, 3) || !json_change(&changed, index.bytes, index.size, made);
    made_take(made, made_text(made, "m/model.safetensors.index.json", ""),
              as_it_is ? &index : &changed);
    buf_release(&index);
}

void models_add_run(struct made *made, const char *text, const char *source)
{
    static const char *const looks[] = {
        "--show weights --layer all --format csv",
        "--show all --layer all --format tidy",
        "--show all --layer all --format json",
        "--show all --layer all --format jsonl",
        "--show all --layer all --format text",
        "--show all --layer all --format text --full",
        "--show all --layer all --format safetensors",
        "--show all --layer all --format npy -o npy/",
        "--show weights,scores --layer all --format svg -o svg/",
        "--layer all --format html",
        "--show all --layer all --format html -o out.html",
        "--format text --color always",
        "--format text --style both --color always --color-scale log",
        "--format svg --view lines --layer 0 --head 0",
        "--show scores --format svg --layer 0 --head 0 --range row",
        "--show masked --format svg --layer 0 --head 0 --color-scale sqrt",
        "--mean heads,layers --format csv",
        "--hide-first --format text",
        "--words --format csv",
        "--precision bf16 --show all --format tidy",
    };
    static const char *const ways[] = {
        "",
        "",
        "",
        "--scale 0",
        "--scale none",
        "--scale sqrt",
        "--scale 1000000",
        "--temperature 1e-30",
        "--temperature 1000000",
        "--attention window:2",
        "--attention linear",
        "--attention blocked:2",
        "--attention strided:2",
        "--attention random:1",
        "--attention window:1+global:1",
        "--mask-method renormalise",
        "--dropout 0.5 --seed 3",
        "--dropout 0.99",
        "--without mlp,norm",
        "--without residual,positions",
    };
    const char *look = MADE_PICK(made, looks);
    const char *way = MADE_PICK(made, ways);
    int threads = 1 + made_one_in(made, 4);
    made_line(made, "run -q -m m -t %d %s%s %s %s", threads, text, source, look, way);
}
