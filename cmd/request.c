#include "request.h"

#include <string.h>

#include "model/mechanism.h"

/* --- the mechanism ---------------------------------------------------------------------------- */

int mechanism_options_read(struct mechanism *mechanism, const struct options *options,
                           struct err *err)
{
    *mechanism = (struct mechanism){
        .temperature =
            options->mechanism.temperature == 1 ? 0 : (float)options->mechanism.temperature,
        .dropout = (float)options->mechanism.dropout,
        .seed = (uint64_t)options->mechanism.seed,
    };
    if ((float)options->mechanism.temperature == 0) /* ranges that end before their end */
        return err_usage(err, "--temperature: expected a number above 0, found %g",
                         options->mechanism.temperature);
    if ((float)options->mechanism.dropout == 1)
        return err_usage(err, "--dropout: expected a number below 1, found %g",
                         options->mechanism.dropout);
    if (options->mechanism.attention &&
        mechanism_set_attention(mechanism, options->mechanism.attention, err))
        return -1;
    if (options->mechanism.mask_method &&
        mechanism_set_mask_method(mechanism, options->mechanism.mask_method, err))
        return -1;
    if (options->mechanism.scale && mechanism_set_scale(mechanism, options->mechanism.scale, err))
        return -1;
    return options->mechanism.without
               ? mechanism_set_without(mechanism, options->mechanism.without, err)
               : 0;
}

int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct options *options, struct arena *arena, struct err *err)
{
    const char *item = options->mechanism.attention;
    size_t most = 1;
    for (const char *at = item; *at; at++)
        most += *at == ',';
    *mechanisms = arena_alloc(arena, most, sizeof **mechanisms, err);
    *count = 0;
    for (size_t size = 0; *mechanisms && *count < most; item += size + 1) {
        struct mechanism *mechanism = &(*mechanisms)[(*count)++];
        size = strcspn(item, ",");
        const char *text = arena_text(arena, item, size, err);
        mechanism->seed = (uint64_t)options->mechanism.seed;
        if (!text || mechanism_set_attention(mechanism, text, err))
            return -1;
    }
    return *mechanisms ? 0 : -1;
}

/* --- what is looked at ------------------------------------------------------------------------ */

int read_derivation(struct derivation *how, const struct options *options, bool keeps_first,
                    struct err *err)
{
    *how = (struct derivation){
        .words = options->select.words,
        .hide_first = options->select.hide_first && !keeps_first,
    };
    return options->select.mean ? derive_read_mean(how, options->select.mean, err) : 0;
}

const char *request_layer(const struct format *format, const struct options *options,
                          const struct derivation *how)
{
    if (options->select.layer)
        return options->select.layer;
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
    if (mechanism_options_read(&config.mechanism, options, err) ||
        mechanism_check(&config.mechanism, &config, err))
        return -1;
    request->mechanism = config.mechanism;
    if (read_derivation(&request->derivation, options, format && format->can_show_all, err))
        return -1;
    const char *layer = request_layer(format, options, &request->derivation);
    return selection_sites(selection, options->select.show ? options->select.show : usual, &config,
                           err) ||
                   selection_layers(selection, layer, &config, arena, err) ||
                   selection_heads(selection, options->select.head, &config, arena, err) ||
                   derive_check(&request->derivation, selection, viewer->tokenizer, err)
               ? -1
               : 0;
}
