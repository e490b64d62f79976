#include "lens/pooling.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "format/json.h"
#include "model/weights.h"

/* --- the files of sentence-transformers ------------------------------------------------------- */

struct pooling_reading {
    struct pooling_modules *modules;
    struct folder folder; /* the model's folder */
    const char *path;     /* path of a module's folder in the model's folder */
    size_t width;         /* width of the vector after the modules so far */
    struct arena *arena;
};

/* Read "pooling_mode" or, in files of sentence-transformers before version 5, the boolean members,
 * one of which is true. Without any of these, pool by the mean. */
static int read_pooling(void *context, const struct json *root, struct err *err)
{
    static const struct {
        const char *name, *older;
        enum pooling by; /* value of the mode; POOL_NONE: the mode is not supported */
    } modes[] = {
        {"mean", "pooling_mode_mean_tokens", POOL_MEAN},
        {"cls", "pooling_mode_cls_token", POOL_FIRST},
        {"max", "pooling_mode_max_tokens", POOL_MAX},
        {"lasttoken", "pooling_mode_lasttoken", POOL_LAST},
        {"weightedmean", "pooling_mode_weightedmean_tokens", POOL_NONE},
        {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", POOL_NONE},
    };
    struct pooling_reading *reading = context;
    const struct json *given = json_given(root, "pooling_mode");
    const char *name = given ? "several" : modes[0].name, *older = NULL;
    if (given && json_is_array(given) && json_count(given) == 1)
        given = json_first(given);
    json_get_text(given, &name);
    for (size_t i = 0; !given && i < sizeof modes / sizeof *modes; i++) {
        bool has = false;
        if (json_bool(root, modes[i].older, &has, err))
            return -1;
        if (has) {
            name = older ? "several" : modes[i].name;
            older = modes[i].older;
        }
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(name, modes[i].name) == 0)
            reading->modules->by = modes[i].by;
    return reading->modules->by
               ? 0
               : err_unsupported(
                     err, "field 'pooling_mode': expected cls, lasttoken, mean or max, found %s",
                     name);
}

/* Read a tensor of a Dense module as floats in the arena; `columns` is 0 for a vector. */
static int read_tensor(const float **values, const struct checkpoint *checkpoint, const char *name,
                       size_t rows, size_t columns, const struct pooling_reading *reading,
                       struct err *err)
{
    const struct found_tensor found = checkpoint_find_exactly(checkpoint, name);
    const struct safetensors_entry *entry = found.entry;
    bool fits = entry && entry->rank == (columns ? 2u : 1u) && entry->shape[0] == rows &&
                (!columns || entry->shape[1] == columns) && dtype_is_weight(entry->dtype);
    if (!fits)
        return err_set(err, "'%s': tensor '%s': expected %zu numbers, as its config.json says",
                       checkpoint->folder->path, name, rows * (columns ? columns : 1));
    float *copy = arena_alloc(reading->arena, entry->count, sizeof *copy, err);
    if (!copy || checkpoint_check_finite(checkpoint, found, err))
        return -1;
    dtype_to_float(copy, entry->data, entry->dtype, entry->count);
    *values = copy;
    return 0;
}

/* Set `*activation` to the activation of a PyTorch class, such as torch.nn.modules.activation.Tanh.
 * False: the class is not supported. */
static bool find_activation(enum activation *activation, const char *class)
{
    char name[16] = "";
    const char *dot = strrchr(class, '.');
    for (size_t i = 0; dot && i < sizeof name - 1 && dot[i]; i++)
        name[i] = (char)tolower((unsigned char)dot[i + 1]);
    *activation = ACTIVATION_NONE;
    return strncmp(class, "torch.nn.", 9) == 0 &&
           (strcmp(name, "identity") == 0 || activation_find(name, activation));
}

static int read_dense(void *context, const struct json *root, struct err *err)
{
    struct pooling_reading *reading = context;
    struct pooling_module *module = &reading->modules->list[reading->modules->count];
    const char *class = "torch.nn.modules.activation.Tanh", *input = "sentence_embedding";
    const char *output = input;
    long long in = -1, out = -1;
    bool has_bias = true, adds = false;
    struct checkpoint checkpoint;
    struct folder folder = {0};
    if (json_integer(root, "in_features", 1, 1 << 24, &in, err) ||
        json_integer(root, "out_features", 1, 1 << 24, &out, err) ||
        json_bool(root, "bias", &has_bias, err) || json_bool(root, "use_residual", &adds, err) ||
        json_text(root, "activation_function", &class, err) ||
        json_text(root, "module_input_name", &input, err) ||
        json_text(root, "module_output_name", &output, err))
        return -1;
    if (in != (long long)reading->width || out < 1)
        return err_set(err, "field '%s': expected %s%zu%s",
                       out < 1 ? "out_features" : "in_features", out < 1 ? "at least " : "",
                       out < 1 ? 1 : reading->width,
                       out < 1 ? "" : " numbers, as of the module before it");
    if (!find_activation(&module->activation, class))
        return err_unsupported(err,
                               "field 'activation_function': expected Identity, Tanh, ReLU, "
                               "GELU or SiLU of PyTorch, found '%s'",
                               class);
    if (adds || strcmp(input, "sentence_embedding") != 0 || strcmp(output, input) != 0)
        return err_unsupported(err, "field '%s': expected a layer of the sentence's vector%s",
                               adds ? "use_residual" : "module_input_name", adds ? " alone" : "");
    folder.path = arena_format(reading->arena, err, "%s/%s", reading->folder.path, reading->path);
    if (!folder.path || checkpoint_open(&checkpoint, &folder, err))
        return -1;
    module->out = (size_t)out;
    int failed = read_tensor(&module->weight, &checkpoint, "linear.weight", module->out,
                             reading->width, reading, err) ||
                 (has_bias && read_tensor(&module->bias, &checkpoint, "linear.bias", module->out, 0,
                                          reading, err));
    checkpoint_release(&checkpoint);
    reading->width = module->out;
    reading->modules->count++;
    return err_if(failed);
}

static int read_module(struct pooling_reading *reading, size_t index, const char *type,
                       struct err *err)
{
    static const char *const places[] = {"Transformer", "Pooling"};
    const char *name = strrchr(type, '.') ? strrchr(type, '.') + 1 : type;
    bool is_own = strncmp(type, "sentence_transformers.", 22) == 0;
    bool is_dense = strcmp(name, "Dense") == 0;
    if (!is_own || (index < 2 && strcmp(name, places[index]) != 0) ||
        (index >= 2 && !is_dense && strcmp(name, "Normalize") != 0))
        return err_unsupported(err, "module %zu: expected %s of sentence-transformers, found '%s'",
                               index, index < 2 ? places[index] : "Dense or Normalize", type);
    if (index == 0)
        return *reading->path
                   ? err_unsupported(err,
                                     "module 0: expected the Transformer in this folder, "
                                     "found it in '%s'",
                                     reading->path)
                   : 0;
    if (index > 1 && !is_dense) {
        reading->modules->list[reading->modules->count++] = (struct pooling_module){0};
        return 0;
    }
    const char *file = arena_format(reading->arena, err, "%s/config.json", reading->path);
    return err_if(!file || json_read_file(&reading->folder, file,
                                          is_dense ? read_dense : read_pooling, reading, err));
}

static int read_modules(void *context, const struct json *root, struct err *err)
{
    struct pooling_reading *reading = context;
    size_t index = 0;
    if (!json_is_array(root) || json_count(root) < 2)
        return err_set(err, "expected a list of modules, Transformer and Pooling first");
    reading->modules->list =
        arena_alloc(reading->arena, json_count(root), sizeof *reading->modules->list, err);
    for (const struct json *item = json_first(root); item; item = json_next(item), index++) {
        const char *type = "";
        reading->path = "";
        if (!reading->modules->list || json_text(item, "path", &reading->path, err) ||
            json_text(item, "type", &type, err) || read_module(reading, index, type, err))
            return -1;
    }
    return 0;
}

/* Read the largest number of tokens of a text from sentence_bert_config.json or
 * tokenizer_config.json. */
static int read_length(void *context, const struct json *root, struct err *err)
{
    struct pooling_reading *reading = context;
    double most = INFINITY;
    json_get_number(json_member(root, "model_max_length"), &most);
    json_get_number(json_member(root, "max_seq_length"), &most);
    (void)err;
    if (most >= 1 && most < (double)reading->modules->most_tokens)
        reading->modules->most_tokens = (size_t)most;
    return 0;
}

static int read_bert(void *context, const struct json *root, struct err *err)
{
    bool lowers = false;
    if (json_bool(root, "do_lower_case", &lowers, err))
        return -1;
    return lowers ? err_unsupported(err, "field 'do_lower_case': expected false, as the tokenizer "
                                         "has its own rule, found true")
                  : read_length(context, root, err);
}

static int read_prompt(void *context, const struct json *root, struct err *err)
{
    struct pooling_reading *reading = context;
    const char *name = NULL, *prompt = NULL;
    if (json_text(root, "default_prompt_name", &name, err) || !name ||
        json_text(json_given(root, "prompts"), name, &prompt, err) || !prompt || !*prompt)
        return err_if(err->kind);
    reading->modules->prompt = arena_text(reading->arena, prompt, strlen(prompt), err);
    return err_if(!reading->modules->prompt);
}

int pooling_open(struct pooling_modules *modules, const struct folder *folder, size_t width,
                 struct arena *arena, struct err *err)
{
    static const struct {
        const char *name;
        int (*read)(void *context, const struct json *root, struct err *err);
    } files[] = {{"modules.json", read_modules},
                 {"sentence_bert_config.json", read_bert},
                 {"tokenizer_config.json", read_length},
                 {"config_sentence_transformers.json", read_prompt}};
    *modules = (struct pooling_modules){.most_tokens = SIZE_MAX};
    struct pooling_reading reading = {modules, *folder, "", width, arena};
    reading.folder.opened = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if ((i == 0 || folder_has(folder, files[i].name)) &&
            json_read_file(&reading.folder, files[i].name, files[i].read, &reading, err))
            return -1;
    return 0;
}

/* --- vectors ---------------------------------------------------------------------------------- */

static void normalize(double *vector, size_t count)
{
    double squares = 0;
    for (size_t c = 0; c < count; c++)
        squares += vector[c] * vector[c];
    for (size_t c = 0; c < count && squares > 0; c++)
        vector[c] /= sqrt(squares);
}

static void pool_by(double *to, const float *from, size_t rows, size_t columns, enum pooling by)
{
    from += by == POOL_LAST ? (rows - 1) * columns : 0;
    for (size_t c = 0; c < columns; c++) {
        double value = (double)from[c];
        for (size_t r = 1; r < rows && by >= POOL_MEAN; r++) {
            double x = (double)from[r * columns + c];
            bool is_more = by == POOL_MAX && !isnan(value) && !(x <= value);
            value = by == POOL_MEAN ? value + x : is_more ? x : value;
        }
        to[c] = value / (by == POOL_MEAN ? (double)rows : 1);
    }
}

size_t pooling_width(const struct pooling_rule *rule, size_t columns)
{
    for (size_t i = 0; rule->by == POOL_MODEL && i < rule->modules.count; i++)
        columns = rule->modules.list[i].weight ? rule->modules.list[i].out : columns;
    return columns;
}

/* Apply a Dense module to a vector of `in` numbers. */
static void apply(double *to, const double *from, size_t in, const struct pooling_module *dense)
{
    for (size_t o = 0; o < dense->out; o++) {
        to[o] = dense->bias ? (double)dense->bias[o] : 0;
        for (size_t i = 0; i < in; i++)
            to[o] += (double)dense->weight[o * in + i] * from[i];
        float value = (float)to[o];
        const struct matrix one = {&value, 1, 1, 1};
        if (dense->activation != ACTIVATION_NONE) {
            activate(one, one, NULL, dense->activation);
            to[o] = (double)value;
        }
    }
}

int pool_rows(float *to, const float *from, size_t rows, size_t columns,
              const struct pooling_rule *rule, struct err *err)
{
    const struct pooling_modules *modules = &rule->modules;
    size_t most = columns;
    for (size_t i = 0; i < modules->count; i++)
        most = num_max(most, modules->list[i].out);
    double *vector = heap_alloc(2 * most, sizeof *vector, err), *held = vector;
    if (!vector)
        return -1;
    pool_by(vector, from, rows, columns, rule->by == POOL_MODEL ? modules->by : rule->by);
    for (size_t i = 0; i < modules->count; i++) {
        const struct pooling_module *module = &modules->list[i];
        double *next = vector == held ? held + most : held;
        if (!module->weight) {
            normalize(vector, columns);
            continue;
        }
        apply(next, vector, columns, module);
        columns = module->out;
        vector = next;
    }
    if (rule->normalize)
        normalize(vector, columns);
    for (size_t c = 0; c < columns; c++)
        to[c] = (float)vector[c];
    heap_free(held);
    return 0;
}
