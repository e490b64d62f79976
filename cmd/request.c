#include "request.h"

#include <string.h>

#include "model/mechanism.h"

/* --- the mechanism ---------------------------------------------------------------------------- */

int mechanism_options_read(struct mechanism *mechanism, const struct mechanism_options *options,
                           struct err *err)
{
    *mechanism = (struct mechanism){
        .temperature = options->temperature == 1 ? 0 : (float)options->temperature,
        .dropout = (float)options->dropout,
        .seed = (uint64_t)options->seed,
    };
    if ((float)options->temperature == 0) /* ranges that end before their end */
        return err_usage(err, "--temperature: expected a number above 0, found %g",
                         options->temperature);
    if ((float)options->dropout == 1)
        return err_usage(err, "--dropout: expected a number below 1, found %g", options->dropout);
    if (options->attention && mechanism_set_attention(mechanism, options->attention, err))
        return -1;
    if (options->mask_method && mechanism_set_mask_method(mechanism, options->mask_method, err))
        return -1;
    if (options->scale && mechanism_set_scale(mechanism, options->scale, err))
        return -1;
    return options->without ? mechanism_set_without(mechanism, options->without, err) : 0;
}

int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct mechanism_options *options, struct arena *arena,
                           struct err *err)
{
    const char *item = options->attention;
    size_t most = 1;
    for (const char *at = item; *at; at++)
        most += *at == ',';
    *mechanisms = arena_alloc(arena, most, sizeof **mechanisms, err);
    *count = 0;
    for (size_t size = 0; *mechanisms && *count < most; item += size + 1) {
        struct mechanism *mechanism = &(*mechanisms)[(*count)++];
        size = strcspn(item, ",");
        const char *text = arena_text(arena, item, size, err);
        mechanism->seed = (uint64_t)options->seed;
        if (!text || mechanism_set_attention(mechanism, text, err))
            return -1;
    }
    return *mechanisms ? 0 : -1;
}

/* --- what is looked at ------------------------------------------------------------------------ */

int read_derivation(struct derivation *how, const struct select_options *options, bool keeps_first,
                    struct err *err)
{
    *how = (struct derivation){
        .words = options->words,
        .hide_first = options->hide_first && !keeps_first,
    };
    return options->mean ? derive_read_mean(how, options->mean, err) : 0;
}

const char *request_layer(const struct format *format, const struct select_options *options,
                          const struct derivation *how)
{
    if (options->layer)
        return options->layer;
    return format_layer(how->mean_of_layers ? NULL : format);
}

int request_make(struct request *request, const struct options *options,
                 const struct format *format, const struct viewer *viewer, struct arena *arena,
                 struct err *err)
{
    struct config config = viewer->model.config;
    struct selection *selection = &request->selection;
    const char *usual = format_show(format, config.n_encoder_layer > 0);
    bool is_page = format && strcmp(format->name, "text") == 0;
    *request = (struct request){
        .chosen = !is_page || options->select.show || options->select.layer || options->select.head,
    };
    if (mechanism_options_read(&config.mechanism, &options->mechanism, err) ||
        mechanism_check(&config.mechanism, &config, err))
        return -1;
    request->mechanism = config.mechanism;
    if (read_derivation(&request->derivation, &options->select, format && format->can_show_all,
                        err))
        return -1;
    const char *layer = request_layer(format, &options->select, &request->derivation);
    return selection_sites(selection, options->select.show ? options->select.show : usual, &config,
                           err) ||
                   selection_layers(selection, layer, &config, arena, err) ||
                   selection_heads(selection, options->select.head, &config, arena, err) ||
                   derive_check(&request->derivation, selection, viewer->tokenizer, err)
               ? -1
               : 0;
}
