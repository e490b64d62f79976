#include "request.h"

#include <string.h>

#include "command.h"
#include "mechanism_options.h"
#include "output.h"

static int choose_selection(struct request *request, const struct options *options,
                            const struct format *format, const struct config *config,
                            struct arena *arena, struct err *err)
{
    struct selection *selection = &request->selection;
    bool is_page = format && strcmp(format->name, "text") == 0;
    const char *layer = output_layer(format, options, &request->derivation);
    request->chosen = !is_page || options->show || options->layer || options->head;
    if (selection_sites(selection, output_show(format, options, config), config, err) ||
        selection_layers(selection, layer, config, arena, err))
        return -1;
    return selection_heads(selection, options->head, config, arena, err);
}

int request_make(struct request *request, const struct options *options,
                 const struct format *format, const struct viewer *viewer, struct arena *arena,
                 struct err *err)
{
    bool keeps_first = format && format->can_show_all;
    struct config config = viewer->model.config;
    *request = (struct request){0};
    if (mechanism_options_read(&config.mechanism, options, err) ||
        mechanism_check(&config.mechanism, &config, err))
        return -1;
    request->mechanism = config.mechanism;
    if (read_derivation(&request->derivation, options, keeps_first, err) ||
        choose_selection(request, options, format, &config, arena, err))
        return -1;
    return derive_check(&request->derivation, &request->selection, viewer->tokenizer, err);
}
