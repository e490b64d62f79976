#include "train/trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "format/safetensors.h"
#include "model/weights.h"

static const char settings_file[] = "training.json";
static const char optimizer_file[] = "training.safetensors";
static const char log_file[] = "log.csv";
static const char weights_file[] = "model.safetensors";

enum { SAVED_FILES = NEW_MODEL_FILES_MAX + 3, NUMBER_BYTES = 32 };

/* --- settings -------------------------------------------------------------------------------- */

static void hash(char digits[SHA256_DIGITS + 1], const char *bytes, size_t size)
{
    struct sha256 sha;
    sha256_begin(&sha);
    sha256_add(&sha, bytes, size);
    sha256_end(&sha, digits);
}

/* Write step, texts and settings, and the hashes of the other files, which --resume checks. */
static void describe(struct buf *out, const struct trainer *trainer, const struct folder *others)
{
    struct json_writer json = {.buf = out};
    char digits[SHA256_DIGITS + 1];
    char number[NUMBER_BYTES];
    json_put_open(&json, NULL, '{');
    json_put_integer(&json, "\n  step", (long long)trainer->adamw.steps);
    snprintf(number, sizeof number, "%016" PRIx64, trainer->dataset->digest);
    json_put_text(&json, "\n  data", number);
    for (size_t i = 0; i < trainer_setting_count; i++) {
        const struct trainer_setting *row = &trainer_setting_rows[i];
        snprintf(number, sizeof number, row->whole ? "%.0f" : "%.17g",
                 trainer_setting_value(&trainer->settings, row));
        json_put_gap(&json, "\n  ");
        json_put_raw(&json, row->name, number);
    }
    json_put_open(&json, "\n  files", '{');
    for (size_t i = 0; i < others->file_count; i++) {
        const struct folder_file *file = &others->files[i];
        hash(digits, file->bytes, file->size);
        json_put_gap(&json, "\n    ");
        json_put_text(&json, file->name, digits);
    }
    buf_text(out, "\n  }\n}\n");
}

static int read_setting(struct train_checkpoint *state, const struct trainer_setting *row,
                        const struct json *root, struct err *err)
{
    void *field = (char *)&state->settings + row->offset;
    if (!json_member(root, row->name))
        return err_set(err, "field '%s': expected a number, found nothing", row->name);
    if (row->whole)
        return json_integer(root, row->name, (long long)row->min, (long long)row->max, field, err);
    return json_double(root, row->name, row->min, row->max, field, err);
}

static int read_settings(struct train_checkpoint *state, const struct json *root, struct err *err)
{
    const char *digest = "";
    if (json_integer(root, "step", 0, 1000000000, &state->step, err) ||
        json_text(root, "data", &digest, err))
        return -1;
    if (sscanf(digest, "%" SCNx64, &state->digest) != 1)
        return err_set(err, "field 'data': expected a digest, found \"%s\"", digest);
    for (size_t i = 0; i < trainer_setting_count; i++)
        if (read_setting(state, &trainer_setting_rows[i], root, err))
            return -1;
    if (state->step > state->settings.steps)
        return err_set(err, "field 'step': expected at most %lld, the value of 'steps', found %lld",
                       state->settings.steps, state->step);
    return 0;
}

/* --- the set of files ------------------------------------------------------------------------- */

/* All files must be of the same step: they are renamed one after another. */
static int check_files(const struct json *root, const struct folder *folder, struct err *err)
{
    const struct json *files = json_member(root, "files");
    if (!files || !json_is_object(files) || !json_member(files, weights_file))
        return err_set(err, "'%s/%s': field 'files': expected the hash of '%s', found none",
                       folder->path, settings_file, weights_file);
    for (const struct json *member = json_first(files); member; member = json_next(member)) {
        struct file file = {0};
        char digits[SHA256_DIGITS + 1];
        const char *name = json_key(member);
        const char *expected = "";
        if (!*name || strchr(name, '/') || !json_get_text(member, &expected))
            return err_set(err, "'%s/%s': field 'files': expected names of files with their hashes",
                           folder->path, settings_file);
        if (folder_open(&file, folder, name, err))
            return -1;
        hash(digits, file.bytes, file.size);
        file_release(&file);
        if (strcmp(digits, expected) != 0)
            return err_set(err,
                           "'%s/%s': expected SHA-256 %.12s… as in %s, found %.12s…: saving was "
                           "interrupted, or the file was changed; a step-… folder can be resumed "
                           "instead",
                           folder->path, name, expected, settings_file, digits);
    }
    return 0;
}

int train_checkpoint_open(struct train_checkpoint *state, const struct folder *folder,
                          struct err *err)
{
    struct file file = {0};
    struct json *root = NULL;
    *state = (struct train_checkpoint){0};
    if (!folder_has(folder, settings_file))
        return err_set(err,
                       "'%s': expected a saved training, found no %s: if saving was interrupted, "
                       "resume the folder of a step, '%s/step-…'",
                       folder->path, settings_file, folder->path);
    if (folder_open(&file, folder, settings_file, err))
        return -1;
    int failed = json_parse(&root, file.bytes, file.size, err) || read_settings(state, root, err);
    if (failed)
        err_prefix(err, "'%s/%s'", folder->path, settings_file);
    failed = failed || check_files(root, folder, err);
    json_free(root);
    file_release(&file);
    return err_if(failed);
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* The tensors of training.safetensors; each has a value for each weight, in the order of the
 * model's tensors. */
static const char *const states[] = {"mean", "square"};
enum { STATES = sizeof states / sizeof *states };

static int write_optimizer(struct buf *bytes, const struct trainer *trainer, struct err *err)
{
    const struct parameters *sets[STATES] = {&trainer->adamw.means, &trainer->adamw.squares};
    struct safetensors_tensor tensors[STATES];
    for (size_t i = 0; i < STATES; i++)
        tensors[i] =
            (struct safetensors_tensor){.name = states[i], .rank = 1, .shape = &sets[i]->count};
    if (safetensors_header(bytes, tensors, STATES, NULL, 0, err))
        return -1;
    for (size_t i = 0; i < STATES; i++)
        buf_bytes(bytes, sets[i]->values, sets[i]->count * sizeof(float));
    return buf_check(bytes, err);
}

static int read_optimizer(struct trainer *trainer, const struct folder *folder, struct err *err)
{
    const struct parameters *sets[STATES] = {&trainer->adamw.means, &trainer->adamw.squares};
    struct safetensors tensors = {0};
    int failed = safetensors_open(&tensors, folder, optimizer_file, err);
    for (size_t i = 0; i < STATES && !failed; i++) {
        const struct safetensors_entry *entry = safetensors_find(&tensors, states[i]);
        if (!entry || entry->dtype != DTYPE_F32 || entry->count != sets[i]->count)
            failed = err_set(err, "'%s/%s': tensor '%s': expected %zu float32 numbers, found %s",
                             folder->path, optimizer_file, states[i], sets[i]->count,
                             entry ? "others" : "nothing");
        else
            memcpy(sets[i]->values, entry->data, entry->count * sizeof(float));
    }
    safetensors_release(&tensors);
    return failed;
}

/* training.json is renamed last; until then its hashes do not match the files. */
int train_checkpoint_write(const struct trainer *trainer, const struct new_model *new_model,
                           const struct buf *log, const struct target_folder *target,
                           struct err *err)
{
    struct folder_file files[SAVED_FILES];
    struct folder folder = {target->path, files, 0};
    struct buf json = {0};
    struct buf optimizer = {0};
    int failed = buf_check(log, err) || write_optimizer(&optimizer, trainer, err);
    if (!failed) {
        files[folder.file_count++] =
            (struct folder_file){optimizer_file, optimizer.bytes, optimizer.size};
        for (size_t i = 0; i < new_model->folder.file_count; i++)
            files[folder.file_count++] = new_model->folder.files[i];
        describe(&json, trainer, &folder); /* without the log, whose times always differ */
        files[folder.file_count++] = (struct folder_file){log_file, log->bytes, log->size};
        files[folder.file_count++] = (struct folder_file){settings_file, json.bytes, json.size};
        failed = buf_check(&json, err) || folder_save(&folder, target, NULL, err);
    }
    buf_release(&json);
    buf_release(&optimizer);
    return err_if(failed);
}

/* Read weights of any type, from any number of files. */
int train_checkpoint_weights(struct new_model *new_model, const struct folder *folder,
                             struct err *err)
{
    struct weights weights;
    int failed = 0;
    if (weights_open(&weights, &new_model->config, folder, err))
        return -1;
    for (size_t i = 0; i < new_model->count && !failed; i++) {
        const struct new_model_tensor *to = &new_model->tensors[i];
        const struct parameter_info info = weights_parameter_of(&weights, to->slot);
        if (info.entry)
            dtype_to_float(to->data, info.entry->data, info.entry->dtype, to->count);
        else
            failed = err_set(err, "'%s': expected tensor '%s' in its files, found none",
                             folder->path, to->name);
    }
    weights_release(&weights);
    return failed;
}

int train_checkpoint_resume(struct trainer *trainer, const struct train_checkpoint *state,
                            struct buf *log, const struct folder *folder, struct err *err)
{
    struct file file = {0};
    size_t size = 0; /* bytes of the header and the lines up to this step */
    if (trainer->dataset->digest != state->digest)
        return err_set(err, "--data: expected the texts that '%s' was trained on, found others",
                       folder->path);
    if (read_optimizer(trainer, folder, err) || folder_open(&file, folder, log_file, err))
        return -1;
    for (long long lines = 0; size < file.size && lines <= state->step; size++)
        lines += file.bytes[size] == '\n';
    buf_bytes(log, file.bytes, size);
    trainer->adamw.steps = (uint64_t)state->step;
    file_release(&file);
    return buf_check(log, err);
}
