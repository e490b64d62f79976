#include "request.h"

#include "command.h"

static int choose_selection(struct request *request, const struct options *options, bool is_page,
                            const struct config *config, struct arena *arena, struct err *err)
{
    struct selection *selection = &request->selection;
    const char *show = is_page ? "tokens,weights,context" : "weights";
    const char *layer = is_page && !request->derivation.mean_of_layers ? "-1" : "all";
    request->chosen = !is_page || options->show || options->layer || options->head;
    if (selection_sites(selection, options->show ? options->show : show, config, err) ||
        selection_layers(selection, options->layer ? options->layer : layer, config, arena, err))
        return -1;
    return selection_heads(selection, options->head, config, arena, err);
}

int request_make(struct request *request, const struct options *options, bool is_page,
                 const struct viewer *viewer, struct arena *arena, struct err *err)
{
    *request = (struct request){0};
    if (read_derivation(&request->derivation, options, err) ||
        choose_selection(request, options, is_page, &viewer->model.config, arena, err))
        return -1;
    return derive_check(&request->derivation, &request->selection, viewer->tokenizer, err);
}
