#include "texts.h"
#include "model/points.h"
#include "say.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "model/layer.h"
#include "model/site.h"

/* --- which tensors ---------------------------------------------------------------------------- */

static const struct names poolings = {&pooling_labels->text, POOL_MODEL, sizeof *pooling_labels};

/* Read how sentence-transformers makes a vector from the last hidden states of all tokens of a
 * text. */
static int open_modules(struct pooling_modules *modules, struct session *session, struct err *err)
{
    const struct model *model = &session->viewer.model;
    const char *other =
        options_are_given(session->options, "show layer head query words hide-first gradient");
    if (other)
        return err_usage(err,
                         "--pool model and --%s cannot be combined: its vector is of the "
                         "last hidden states of a whole text",
                         other);
    const char *expected = has_encoder(&model->config) ? "one stack of layers, found two"
                           : folder_has(&model->folder, "modules.json")
                               ? NULL
                               : "modules.json in its folder, found none";
    if (expected)
        return err_unsupported(err, "--pool model: expected %s in '%s': choose --pool mean",
                               expected, model->name);
    return pooling_open(modules, &model->folder, model->config.n_embd, &session->arena, err);
}

/* The tensors that a format shows by default for a model with mixers: a page shows all maps; other
 * formats show the attention maps if the model has any, otherwise the maps of mixers. */
static const char *show_of_mixers(const struct format *format, const struct config *config)
{
    const bool attends = site_exists(config, SITE_WEIGHTS);
    if (format_is(format, "html"))
        return attends ? "embedding,weights,mix_map" : "embedding,mix_map";
    return attends ? format->show : format->show ? "tokens,mix_map,mix_context" : "mix_map";
}

/* If each channel of a mixer is a head of its own, show one map, of the norm over all channels, in
 * place of one map for each channel. */
static void join_channels(struct selection *selection, const struct config *config)
{
    const enum site map = SITE_OF(BRANCH_MIXER, SITE_WEIGHTS);
    if (config->mixer.d_v != 1 || !site_set_has(selection->sites, map))
        return;
    site_set_remove(&selection->sites, map);
    site_set_add(&selection->sites, SITE_OF(BRANCH_MIXER, SITE_MAP_NORM));
}

/* Of the maps that a page shows by default, keep the maps that exist in one of the layers. */
static int keep_maps(struct selection *selection, const char *layers, const struct config *config,
                     struct arena *arena, struct err *err)
{
    struct selection chosen = {.head_count = 0};
    if (selection_layers(&chosen, layers, config, arena, err))
        return -1;
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        bool found = !site_row(site)->in_layer;
        for (size_t i = 0; i < chosen.layers.count; i++)
            found |= site_is_in_layer(config, site, chosen.layers.items[i]);
        if (!found)
            site_set_remove(&selection->sites, site);
    }
    return 0;
}

/* Read a list of heads in --head, such as L17H4,L20H0, in this order. Set `*layers` to the list of
 * their layers, and `*heads` to the list of their numbers. */
static int list_heads(struct derivation *how, const char **layers, const char **heads,
                      const struct driver *driver, struct arena *arena, struct err *err)
{
    const struct config *config = &driver->session.viewer.model.config;
    const struct format *format = driver->output.format;
    struct layer_head *items = NULL;
    struct buf lists[2] = {{0}, {0}};
    if (options_exclude(driver->session.options, "head", "layer", err))
        return err_append(err, ", if heads are named with their layers");
    if (how->mean_of_heads || how->mean_of_layers)
        return err_usage(err, "--head '%s': expected --mean texts or none, found heads or layers",
                         *heads);
    how->joins_heads = format->keeps_shape;
    if (selection_layer_heads(&items, &how->head_count, "--head", *heads, strlen(*heads),
                              stack_of(config, BRANCH_TEXT), arena, err))
        return -1;
    for (size_t i = 0; i < how->head_count; i++) {
        buf_format(&lists[0], "%s%zu", i ? "," : "", items[i].layer);
        buf_format(&lists[1], "%s%zu", i ? "," : "", items[i].head);
    }
    how->heads = items;
    *layers = buf_keep(&lists[0], arena, err);
    *heads = buf_keep(&lists[1], arena, err);
    return err_if(err->kind);
}

int request_make(struct request *request, struct driver *driver, struct err *err)
{
    struct session *session = &driver->session;
    const struct format *format = driver->output.format;
    const struct select_options *options = &session->options->select;
    const struct viewer *viewer = &session->viewer;
    const struct config *config = &viewer->model.config;
    const struct style_words *words = &session->options->display.style;
    bool is_talk = words->preset && format->display & DISPLAY_CELLS && config->causal &&
                   !has_encoder(config) && !(words->tokens && *words->tokens == '0');
    bool translates = has_encoder(config); /* true: show the encoder's tensors by default */
    const char *usual = translates                   ? format->show_of_encoder
                        : config_keeps_state(config) ? show_of_mixers(format, config)
                                                     : format->show;
    const char *show = options->show    ? options->show
                       : options->align ? "cross_weights"
                       : options->pool  ? site_name(site_of_logits(config))
                       : usual          ? usual
                       : translates     ? "enc.weights,weights,cross_weights"
                                        : "weights";
    size_t pool = 0;
    struct selection *selection = &request->selection;
    struct derivation *how = &request->derivation;
    *request = (struct request){
        .chosen = !format_is(format, "text") || options->show || options->layer || options->head ||
                  options->query || options->pool || options->align,
        .derivation = {.mean_of_heads = options->align,
                       .mean_of_layers = options->align,
                       .align = options->align,
                       .words = options->words,
                       .hides_keys = format->can_show_all,
                       .hide_first = is_talk || (options->hide_first && !format->can_show_all),
                       .pool.normalize = options->normalize,
                       .stats = options->stats},
    };
    if (names_choose(&pool, poolings, "--pool", options->pool, err))
        return -1;
    how->pool.by = options->pool ? POOL_FIRST + (enum pooling)pool : POOL_NONE;
    if (how->pool.by == POOL_MODEL && open_modules(&how->pool.modules, session, err))
        return -1;
    if (how->pool.normalize && !how->pool.by)
        return err_usage(err, "--normalize: expected --pool, which makes a vector of each text");
    if (options->align && !has_encoder(config))
        return err_usage(err, "--align: expected an encoder-decoder, found '%s'",
                         viewer->model.name);
    if (options->mean && derive_read_mean(how, options->mean, MEAN_OF_REGIONS, err))
        return -1;
    if (how->mean_of_regions && (!(options->query || options->key) || how->pool.by))
        return err_usage(err, "--mean regions: expected %s",
                         how->pool.by ? "no --pool, which joins all positions"
                                      : "positions by name in --query or --key, such as @verb");
    if (how->mean_of_regions && format_is(format, "html"))
        return err_usage(err, "--mean regions: a page always shows all tokens: choose another "
                              "format");
    const char *named = options->layer;
    if (selection_translate(&show, &named, config, print_note, &session->arena, err))
        return -1;
    const char *layer = named                                        ? named
                        : options->pool && !options->show            ? "-1"
                        : how->mean_of_layers || !format->for_people ? "all"
                                                                     : NULL;
    const char *head = options->head;
    if (head && head_list_names_layers(head) &&
        list_heads(how, &layer, &head, driver, &session->arena, err))
        return -1;
    if (selection_sites(selection, show, config, err))
        return -1;
    if (!options->head && (format->is_picture || format_is(format, "html")))
        join_channels(selection, config);
    if (!options->show && config_keeps_state(config) && format_is(format, "html") &&
        keep_maps(selection, layer, config, &session->arena, err))
        return -1;
    if ((!layer && !(layer = selection_last_layers(selection, config, &session->arena, err))) ||
        selection_layers(selection, layer, config, &session->arena, err) ||
        selection_heads(selection, head, config, &session->arena, err))
        return -1;
    selection->tokens &= options->show || !how->mean_of_texts; /* a list of tokens has no mean */
    selection->bits = options->bits;
    if (options->bits && !strstr(show, "entropy"))
        return err_usage(err, "--bits: expected entropy in --show, found '%s'", show);
    if (!format->keeps_shape && config->sinks && site_set_has(selection->sites, SITE_WEIGHTS))
        site_set_add(&selection->sites, SITE_SINK);
    if (!options->show && !options->words && format_is(format, "html") &&
        site_exists(config, SITE_EXPERT_WEIGHTS))
        site_set_add(&selection->sites, SITE_EXPERT_WEIGHTS);
    if (options->query && format_is(format, "html"))
        return err_usage(err, "--query: a page always shows all tokens: choose another format");
    selection->queries = options->words ? NULL : options->query;
    driver->derivation = *how;
    driver->layout.show_tokens = selection->tokens;
    return derive_check(how, selection, viewer->tokenizer, err);
}

double request_add_memory(struct memory *memory, const struct request *request,
                          const struct viewer *viewer, const struct text_with_source *pair,
                          bool by_map)
{
    const struct selection *selection = &request->selection;
    const struct derivation *how = &request->derivation;
    size_t heads = selection->heads ? selection->head_count : viewer->model.config.n_head;
    size_t layers = num_max(selection->layers.count, 1);
    struct memory captured = {0};
    viewer_add_memory(&captured, viewer, selection, pair, by_map ? CAPTURE_MAPS : CAPTURE_ALL);
    double bytes = viewer_captured_bytes(viewer, selection, pair);
    /* bytes of the newest copy of the tensors: each step of the derivation makes a copy */
    double held = by_map ? captured.held : bytes;
    memory->held += captured.held;
    if (how->mean_of_heads)
        memory->held += held /= (double)heads;
    if (how->mean_of_layers)
        memory->held += held /= (double)layers;
    memory->held += held * (how->words + how->hide_first);
    if (how->pool.by)
        memory->held += held /= (double)pair->text.count;
    /* a second copy of the weights, in which the attention sink is one more column */
    if (site_set_has(selection->sites, SITE_SINK))
        memory->held += held;
    memory->during = fmax(memory->during, captured.during);
    return by_map ? bytes : held;
}
