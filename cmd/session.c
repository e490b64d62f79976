#include "session.h"

#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "base/names.h"
#include "base/num.h"
#include "items.h"
#include "model/layer.h"
#include "model/mechanism.h"
#include "notes.h"
#include "output.h"
#include "say.h"
#include "stimuli.h"
#include "sweep.h"
#include "text/aligned_text.h"
#include "text/chat.h"
#include "text/token_set.h"

/* --- the mechanism ---------------------------------------------------------------------------- */

int session_read_options(struct session *session, struct err *err)
{
    const struct mechanism_options *options = &session->options->mechanism;
    struct mechanism *mechanism = &session->mechanism;
    session->precision = PRECISION_FP32;
    if (precision_choose(&session->precision, session->options->model.precision, err))
        return -1;
    *mechanism = (struct mechanism){
        .temperature = options->temperature == 1 ? 0 : (float)options->temperature,
        .dropout = (float)options->dropout,
        .seed = (uint64_t)options->seed,
        .renormalise = options->mask_after,
    };
    /* 0 is refused here, since the range of an option includes its ends */
    if ((float)options->temperature == 0)
        return err_usage(err, "--attention-temperature: expected a number above 0, found %g",
                         options->temperature);
    if ((float)options->dropout == 1)
        return err_usage(err, "--dropout: expected a number below 1, found %g", options->dropout);
    return err_if(
        (options->attention && mechanism_set_attention(mechanism, options->attention, err)) ||
        (options->scale && mechanism_set_scale(mechanism, options->scale, err)) ||
        (options->without && mechanism_set_without(mechanism, options->without, err)));
}

int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct mechanism_options *options, struct arena *arena,
                           struct err *err)
{
    struct mechanism *list = NULL;
    *count = 0;
    for (const char *item = options->attention; item; item = list_next(item)) {
        const char *text = arena_text(arena, item, strcspn(item, ","), err);
        list = text ? arena_grow(arena, list, *count, sizeof *list, err) : NULL;
        if (!list)
            return -1;
        list[*count].seed = (uint64_t)options->seed;
        if (mechanism_set_attention(&list[(*count)++], text, err))
            return -1;
    }
    *mechanisms = list;
    return 0;
}

/* --- edits and the texts that supply their values --------------------------------------------- */

/* Read a text, wrapped in the template of --chat, and its source (NULL: no source) as tokens. If
 * the model has no tokenizer, the source is a list of ids. */
static int tokenize_texts(struct text_with_source *pair, const struct viewer *viewer,
                          struct input input, const char *source, struct arena *arena,
                          struct err *err)
{
    const struct input other =
        viewer->tokenizer ? input_of(source, NULL) : (struct input){.ids = source};
    return err_if(input_wrap(&input, viewer->chat, arena, err) ||
                  viewer_read(viewer, pair, input.text || input.ids ? &input : NULL,
                              source ? &other : NULL, arena, err));
}

/* Read a text of an edit. If the model has no tokenizer, the text is a list of ids. */
static int read_edit_text(struct session *session, struct text_with_source *pair,
                          struct input input, struct err *err)
{
    struct arena *arena = &session->arena;
    if (!session->viewer.tokenizer && input.text) {
        input = (struct input){.ids = arena_text(arena, input.text, input.size, err)};
        if (!input.ids)
            return -1;
    }
    return tokenize_texts(pair, &session->viewer, input, session->options->input.source, arena,
                          err);
}

/* Read the texts of --reference, which point into `items`. */
static int read_reference(struct session *session, struct edit_texts *texts, struct items *items,
                          struct err *err)
{
    const struct options file = {
        .input = {.file = session->options->edit.reference, .pair = session->options->input.pair},
        .model = session->options->model};
    int failed = items_open(items, &file, 0, ITEMS_SOME, err);
    struct text_with_source *pairs =
        failed ? NULL : arena_alloc(&session->arena, items->count, sizeof *pairs, err);
    for (size_t i = 0; pairs && i < items->count && !failed; i++) {
        struct item item;
        failed = items_read(items, &item, i, &session->arena, err);
        if (!failed && read_edit_text(session, &pairs[i], item.input, err))
            failed = items_blame(items, i, err);
    }
    texts->reference = pairs;
    texts->reference_count = items->count;
    return failed || !pairs ? err_prefix(err, "--reference") : 0;
}

/* Fill the edits with values. Refused: --from or --reference without an edit that uses it, unless
 * edits are swept or patches use it; an edit without the option that it needs. */
int session_fill_edits(struct session *session, struct edit_list *list, struct err *err)
{
    struct edit_texts texts = {0};
    struct items items = {.count = 0};
    struct text_with_source from;
    const char *text = session->options->edit.from;
    bool has_reference = session->options->edit.reference != NULL;
    bool asks_reference = list->origins & (1u << EDIT_MEAN | 1u << EDIT_RESAMPLE);
    bool asks_from = list->origins >> EDIT_FROM & 1;
    bool may_spare = session->options->edit.are_swept || session->options->patch.with;
    if (asks_from != (text != NULL) && !(may_spare && text))
        return err_usage(err, "--edit '= from' and --from TEXT: expected both, found one (patch: "
                              "use --over)");
    if (asks_reference != has_reference && !(may_spare && has_reference))
        return err_usage(err, "--edit '= mean' or '= resample' and --reference FILE: expected "
                              "both, found one");
    if (text && *text == '@' && !strchr(text, ' '))
        return err_usage(err,
                         "--from: expected one text for all texts, found '%s': 'attn-cli "
                         "patch -f FILE' takes values from the other text of each row",
                         text);
    if (!(list->origins & ~(1u << EDIT_NUMBER)))
        return 0;
    if (edit_list_is_stored(list))
        return edit_list_fill(list, &session->viewer, &texts, err);
    int failed = asks_reference && read_reference(session, &texts, &items, err);
    if (!failed && asks_from) {
        texts.from = &from;
        if (read_edit_text(session, &from, input_of(text, session->options->input.pair), err))
            failed = err_prefix(err, "--from");
    }
    failed = failed || edit_list_fill(list, &session->viewer, &texts, err);
    items_release(&items);
    return err_if(failed);
}

bool edit_options_are_given(const struct edit_options *options)
{
    return options->edits.count || options->ablations.count || options->knockouts.count;
}

/* Read --edit, --ablate and --knockout into a list. `own`: the positions of the item whose edits
 * are read; NULL: the edits of all texts are read, and notes about them are printed. */
static int add_edits(struct edit_list *list, const struct edit_options *options,
                     struct item_positions *own, struct err *err)
{
    const struct texts *const texts[] = {
        [EDIT_WORDS] = &options->edits,
        [EDIT_ABLATION] = &options->ablations,
        [EDIT_KNOCKOUT] = &options->knockouts,
    };
    list->note = own ? NULL : print_note;
    for (int form = EDIT_WORDS; form <= EDIT_KNOCKOUT; form++) {
        if (own)
            own->option = form == EDIT_KNOCKOUT ? "--knockout" : "--edit";
        for (size_t i = 0, size = 0; i < texts[form]->count; i++) {
            const char *text = texts[form]->items[i], *name = edit_name(&size, text);
            if (edit_list_add(list, (enum edit_form)form, text, err))
                return name ? err_append(err, ": batch --sweep %.*s=0,2,4 gives {%.*s} its values",
                                         (int)size, name, (int)size, name)
                            : -1;
        }
    }
    return edits_check(&list->edits, list->config, err);
}

/* The key under which values of --from and --reference are stored: the options that change these
 * values and may be swept. */
static const char *name_values(const struct session *session, struct arena *arena, struct err *err)
{
    const struct input_options *input = &session->options->input;
    const struct mechanism_options *how = &session->options->mechanism;
    const struct edit_options *edit = &session->options->edit;
    const char *const texts[] = {session->model ? session->model : session->options->model.name,
                                 input->special,
                                 input->source,
                                 input->pair,
                                 how->attention,
                                 how->scale,
                                 how->without,
                                 edit->from,
                                 edit->reference};
    struct buf key = {0};
    buf_format(&key, "%d %d%d%d%d%d%d %.17g %.17g %lld", session->precision, input->chat,
               input->literal_special, input->any_length, session->begins, input->ids != NULL,
               how->mask_after, how->temperature, how->dropout, how->seed);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        buf_format(&key, " %zu:%s", texts[i] ? strlen(texts[i]) : SIZE_MAX,
                   texts[i] ? texts[i] : "");
    return buf_keep(&key, arena, err);
}

/* Open the dictionaries of --sae. */
static int open_dictionaries(struct session *session, struct err *err)
{
    const struct texts *texts = &session->options->edit.dictionaries;
    struct arena *arena = &session->arena;
    session->dictionaries = arena_alloc(arena, texts->count, sizeof *session->dictionaries, err);
    for (size_t i = 0; session->dictionaries && i < texts->count; i++) {
        struct dictionary_request request;
        if (dictionary_request_read(&request, texts->items[i], arena, err) ||
            dictionary_open(&session->dictionaries[i], &request, &session->viewer.model.config,
                            err))
            return err_prefix(err, "--sae");
        session->dictionary_count++;
    }
    return session->dictionaries ? 0 : -1;
}

/* Read the edits. Values of --from and --reference come from runs with the viewer's mechanism. */
static int read_edits(struct session *session, struct err *err)
{
    const struct edit_options *options = &session->options->edit;
    struct edit_list *list = &session->edits;
    *list =
        (struct edit_list){.config = &session->viewer.model.config,
                           .arena = &session->arena,
                           .store = session->store,
                           .key = name_values(session, &session->arena, err),
                           .of_rows = session->options->select.words || session->adds_beginning};
    if (!list->key)
        return -1;
    if (options->values)
        list->values = *options->values;
    list->dictionaries = session->dictionaries;
    list->dictionary_count = session->dictionary_count;
    if (add_edits(list, options, NULL, err) || session_fill_edits(session, list, err))
        return -1;
    session->viewer.edits = list->edits.count ? &list->edits : NULL;
    return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

void dropped_add(struct dropped *dropped, const struct tokenized *tokenized, size_t index)
{
    const struct token *first = &tokenized->dropped_first;
    bool in_pair = tokenized->pair.bytes && first->id == 1;
    const char *text = in_pair ? tokenized->pair.bytes : tokenized->raw;
    if (!tokenized->dropped_count)
        return;
    if (!dropped->count) {
        dropped->input = in_pair ? DROPPED_IN_PAIR : index;
        dropped->at = first->start;
        strcpy(dropped->first, label_excerpt(text + first->start, first->end - first->start));
    }
    dropped->count += tokenized->dropped_count;
}

int dropped_note(const struct dropped *dropped, const struct items *items, struct err *err)
{
    struct buf origin = {0};
    bool one = dropped->count == 1;
    if (!dropped->count)
        return 0;
    if (dropped->input == DROPPED_IN_SOURCE)
        buf_text(&origin, "the source");
    else if (dropped->input == DROPPED_IN_PAIR)
        buf_text(&origin, "the second text");
    else if (items->kind != ITEMS_DOCUMENT)
        items_origin(&origin, items, dropped->input);
    int failed = buf_check(&origin, err);
    if (!failed)
        print_note("%zu %s not in the vocabulary %s left out: '%s' at byte %zu%s%s%s",
                   dropped->count, one ? "character that is" : "characters that are",
                   one ? "was" : "were", dropped->first, dropped->at, origin.size ? " of " : "",
                   origin.size ? origin.bytes : "", one ? "" : " is the first");
    buf_release(&origin);
    return failed;
}

int tokenizer_options_set(const struct chat **chat, struct tokenizer *tokenizer,
                          const struct folder *folder, const struct options *options,
                          struct arena *arena, struct err *err)
{
    enum { AUTO, NONE, BOS };
    static const char *const words[] = {[AUTO] = "auto", [NONE] = "none", [BOS] = "bos"};
    const struct input_options *input = &options->input;
    size_t when = AUTO;
    *chat = NULL;
    if (names_choose(&when, NAMES_LIST(words), "--special", input->special, err))
        return -1;
    if (input->chat) {
        struct chat *found = arena_alloc(arena, 1, sizeof *found, err);
        if (options_exclude(options, "chat", "ids literal-special", err))
            return -1;
        if (!tokenizer)
            return err_usage(err, "--chat: expected a model with a tokenizer, found none");
        if (!found || chat_open(found, folder, tokenizer, when == AUTO, arena, err))
            return -1;
        if (options->verbose)
            print_note("--chat: %sTEXT%s", found->before, found->after);
        if (found->dated)
            print_note("--chat: the template has a date, today's or that of SOURCE_DATE_EPOCH");
        *chat = found;
    }
    if (!tokenizer || input->ids)
        return 0; /* without a tokenizer, texts are refused later, and ids need no tokens added */
    if (input->literal_special)
        tokenizer_literal_special(tokenizer);
    if (when == BOS)
        return tokenizer_begin_texts(tokenizer, folder, err);
    /* a chat template already contains the special tokens */
    return when == AUTO && !*chat ? tokenizer_add_special(tokenizer, err) : 0;
}

int input_wrap(struct input *input, const struct chat *chat, struct arena *arena, struct err *err)
{
    if (chat && input->pair.bytes)
        return err_usage(err, "--chat: expected one text, found a pair");
    return chat && input->text ? chat_wrap(chat, &input->text, &input->size, arena, err) : 0;
}

/* --- a model and its texts -------------------------------------------------------------------- */

enum beginning session_beginning(const struct items *items, bool adds)
{
    const bool wants = items->options->select.words || items_have_regions(items);
    return !wants ? BEGINNING_OF_TOKENIZER : adds ? BEGINNING_ADDED : BEGINNING_NOTED;
}

/* With --special auto, put the beginning token before texts that lack it, if the command asks for
 * it and neither the tokenizer nor the model adds it; or print a note that texts lack it. */
static int set_beginning(struct session *session, struct err *err)
{
    struct viewer *viewer = &session->viewer;
    const struct input_options *input = &session->options->input;
    size_t before = 0, after = 0, size = 0;
    uint32_t begin = 0;
    bool found = false;
    if (!session->begins || input->ids || input->chat || viewer->starts || !viewer->tokenizer)
        return 0;
    tokenizer_adds(viewer->tokenizer, &before, &after);
    if (before)
        return 0;
    if (tokenizer_find_begin(&begin, &found, viewer->tokenizer, &viewer->model.folder, err))
        return -1;
    if (!found)
        return 0;
    const char *bytes = tokenizer_token(viewer->tokenizer, begin, &size);
    const char *shown = label_excerpt(bytes, size);
    if (session->begins == BEGINNING_NOTED) {
        print_note("texts have no beginning token here, unlike for words, regions and totals of "
                   "texts: --special bos adds '%s', none omits this note",
                   shown);
        return 0;
    }
    print_note("each text begins with the token '%s': --special none omits it", shown);
    viewer->model.config.bos_id = begin;
    viewer->starts = true;
    return provenance_add_beginning(shown, err);
}

/* Open the model, then the mechanism, which needs the model, then the edits, which need both. With
 * --long, texts may exceed the model's context, and a note says so. */
int session_begin(struct session *session, struct err *err)
{
    const struct options *options = session->options;
    struct viewer *viewer = &session->viewer;
    struct config *config = &viewer->model.config;
    const char *name = session->model ? session->model : options->model.name;
    if (session_read_options(session, err) ||
        viewer_open(viewer, chosen_model(name), (size_t)options->model.threads, err) ||
        (!session->omits_origin && provenance_add_model(&viewer->model, err)))
        return -1;
    if (options->input.any_length && slot_exists(slot_of_text(SLOT_POSITIONS), config))
        return err_usage(
            err,
            "--long: expected rotary, ALiBi or sinusoidal positions, found %zu learned ones ('%s')",
            config->n_positions, viewer->model.name);
    if (options->input.any_length) {
        viewer->model.context = config->n_positions;
        config->n_positions = 0;
    }
    if (config->lacks_unembed)
        print_note("'%s' has no '%s', though its embeddings are not tied: the token embedding is "
                   "used for the logits",
                   viewer->model.folder.path,
                   weights_parameter_of(&viewer->model.weights, slot_of_text(SLOT_UNEMBED)).name);
    if (viewer->model.context)
        print_note("'%s' was trained on texts of at most %zu tokens: results for longer ones may "
                   "be meaningless",
                   viewer->model.folder.path, viewer->model.context);
    const char *special = options->input.special;
    bool is_auto = !special || strcmp(special, "auto") == 0;
    bool has_start = is_auto && config_has_start(config);
    viewer->starts = has_start;
    if (tokenizer_options_set(&viewer->chat, viewer->tokenizer, &viewer->model.folder, options,
                              &session->arena, err) ||
        (is_auto && set_beginning(session, err)))
        return -1;
    session->adds_beginning = viewer->start_is_unnumbered = viewer->starts && !has_start;
    viewer->model.weights.precision = session->precision;
    print_note_of_tokenizer(viewer->tokenizer);
    if (options->input.ids && *viewer->why)
        print_note("%s: tokens are shown by their ids", viewer->why);
    if (options->verbose && *config->unread)
        print_note("'%s/config.json': a model of type \"%s\" ignores %s", viewer->model.folder.path,
                   config_kind_name(config), config->unread);
    return err_if(viewer_set_mechanism(viewer, &session->mechanism, err) ||
                  open_dictionaries(session, err) || read_edits(session, err));
}

int session_read_item(struct session *session, struct item *item, struct text_with_source *pair,
                      struct arena *arena, struct err *err)
{
    struct viewer *viewer = &session->viewer;
    struct item_positions own;
    bool edits_by_texts = item->options.edit.from || item->options.edit.reference;
    if (item->fields[ITEM_SOURCE] && edits_by_texts)
        return err_unsupported(err, "--%s: expected one --source for all texts, found a column",
                               item->options.edit.from ? "from" : "reference");
    if (tokenize_texts(pair, viewer, item->input, item->options.input.source, arena, err))
        return -1;
    item->text = pair->text.raw;
    item->text_start = viewer->chat ? strlen(viewer->chat->before) : 0;
    if (item->region_count && item->regions->columns && !pair->text.pair.bytes) {
        struct text_range *given = arena_alloc(arena, item->region_count, sizeof *given, err);
        pair->text.given = given;
        pair->text.given_count = given ? item->region_count : 0;
        for (size_t i = 0; i < pair->text.given_count; i++) {
            given[i].start = item->text_start + item->regions[i].first;
            given[i].end = given[i].start + item->regions[i].count;
        }
    }
    if (positions_resolve(&own, item, pair, viewer, arena, err))
        return -1;
    pair->edits = viewer->edits;
    if (session->edits.by_text) { /* read the edits again, with the item's positions */
        struct edit_list *list = arena_alloc(arena, 1, sizeof *list, err);
        if (!list)
            return -1;
        *list = (struct edit_list){.config = &viewer->model.config,
                                   .arena = arena,
                                   .values = session->edits.values,
                                   .dictionaries = session->dictionaries,
                                   .dictionary_count = session->dictionary_count,
                                   .like = &session->edits,
                                   .of_rows = session->edits.of_rows,
                                   .tokens_of = positions_tokens,
                                   .context = &own};
        pair->edits = &list->edits;
        if (add_edits(list, &item->options.edit, &own, err))
            return -1;
    }
    return edits_check_text(pair->edits, &viewer->model.config, pair->text.count,
                            pair->source.count, err);
}

int session_open_item(const struct session *session, struct item *item, const struct items *items,
                      size_t index, struct arena *arena, struct err *err)
{
    const struct input_options *options = &item->options.input;
    const struct model *model = &session->viewer.model;
    bool is_column = items->found >> ITEM_SOURCE & 1;
    const char *subject = is_column ? "column 'source'" : "--source";
    if (items_read(items, item, index, arena, err))
        return -1;
    if (options->source && options->pair)
        err_usage(err, "--pair and --source cannot be combined");
    else if (options->source && !config_reads_source(&model->config))
        err_usage(err, "%s: expected none, since '%s' has no cross-attention%s", subject,
                  model->name, is_column ? ": rename the column to copy it" : "");
    else if (!options->source && config_reads_source(&model->config) &&
             !config_classifies(&model->config))
        err_usage(err, "%s: expected a text for the cross-attention of '%s', found none%s", subject,
                  model->name,
                  is_column ? ""
                  : has_encoder(&model->config)
                      ? ": give the text that its encoder reads as --source "
                        "TEXT; run, page, heads and generate need no other"
                      : ": give it as --source TEXT");
    else
        return 0;
    return is_column ? items_blame(items, index, err) : -1;
}

struct text_with_source *session_read_items(struct session *session, const struct items *items,
                                            struct err *err)
{
    struct dropped dropped = {0};
    struct arena *arena = &session->arena;
    struct text_with_source *pairs = arena_alloc(arena, items->count, sizeof *pairs, err);
    for (size_t i = 0; pairs && i < items->count; i++) {
        struct item item;
        if (session_open_item(session, &item, items, i, arena, err))
            return NULL;
        if (session_read_item(session, &item, &pairs[i], arena, err)) {
            items_blame(items, i, err);
            return NULL;
        }
        session->viewer.edits = pairs[i].edits;
        session->token = item.options.explain.token;
        session->key = item.options.explain.key;
        dropped_add(&dropped, &pairs[i].text, i);
        /* count a --source, which is the same for all items, once */
        if (i == 0 || item.fields[ITEM_SOURCE])
            dropped_add(&dropped, &pairs[i].source, DROPPED_IN_SOURCE);
    }
    return pairs && !dropped_note(&dropped, items, err) ? pairs : NULL;
}

int session_expect(const struct session *session, double bytes, struct weights_bytes weights,
                   size_t longest, struct err *err)
{
    char size[NUM_SIZE_BYTES];
    size_t whole = bytes < (double)SIZE_MAX ? (size_t)bytes : SIZE_MAX;
    if (!heap_expect(whole, session->viewer.model.name, err)) {
        print_note_of_weights((double)weights.mapped, bytes);
        return 0;
    }
    if (weights.heap > heap_available())
        err_append(err,
                   ": its weights alone take %s when converted: without --precision, files in BF16 "
                   "and quantised GGUF files are read in place",
                   num_size(size, weights.heap));
    else
        err_append(err, ": give shorter texts (the longest has %zu tokens)", longest);
    return -1;
}

void session_release(struct session *session)
{
    for (size_t i = 0; i < session->dictionary_count; i++)
        dictionary_release(&session->dictionaries[i]);
    viewer_release(&session->viewer);
    arena_release(&session->arena);
}

/* --- the token of an option ------------------------------------------------------------------- */

/* Find the id of the class that an option names. */
static int class_option_read(long long *id, const struct viewer *viewer, const char *option,
                             const char *text, struct err *err)
{
    enum { NAMED = 8 }; /* largest number of classes that a message lists */
    const size_t count = config_logits(&viewer->model.config);
    struct buf names = {0};
    for (uint32_t i = 0; i < count; i++) {
        size_t size = 0;
        const char *name = tokenizer_token(viewer->words, i, &size);
        if (strlen(text) == size && memcmp(name, text, size) == 0)
            *id = i;
        if (i < NAMED)
            buf_format(&names, "%s'%s'", i ? ", " : "", label_excerpt(name, size));
    }
    if (*id < 0 && !buf_check(&names, err))
        err_usage(err, "%s: expected one of the %zu classes (%s%s), found '%s'", option, count,
                  names.bytes, count > NAMED ? ", …" : "", text);
    buf_release(&names);
    return err_if(*id < 0);
}

int token_option_read(long long *id, const struct viewer *viewer, const char *option,
                      const char *text, struct arena *arena, struct err *err)
{
    const struct tokenizer *tokenizer = viewer->tokenizer;
    long long last = (long long)config_logits(&viewer->model.config) - 1;
    struct tokens tokens = {0};
    if (config_classifies(&viewer->model.config))
        return class_option_read(id, viewer, option, text, err);
    if (!tokenizer && num_parse_integer(text, 0, last, id))
        return 0;
    if (!tokenizer)
        return err_usage(err, "%s: expected an id from 0 to %lld, found '%s'", option, last, text);
    if (tokenizer_encode_alone(tokenizer, &tokens, text, strlen(text), arena, err))
        return err_prefix(err, "%s", option);
    if (tokens.count != 1) {
        struct tokens other = {0};
        const char *spaced = arena_format(arena, NULL, " %s", text);
        bool fits = *text && spaced &&
                    !tokenizer_encode_alone(tokenizer, &other, spaced, strlen(spaced), arena, NULL);
        err_usage(err, "%s: expected a text of 1 token, found '%s', which has %zu", option, text,
                  tokens.count);
        return fits && other.count == 1 ? err_append(err, ": did you mean '%s'?", spaced) : -1;
    }
    *id = tokens.items->id;
    const struct added_token *added =
        added_tokens_of_id(tokenizer_facts(tokenizer)->added, tokens.items->id);
    if (added && added->special && !memmem(text, strlen(text), added->bytes, added->size))
        return err_usage(err,
                         "%s: expected a word of the vocabulary, found '%s', which becomes %.*s",
                         option, text, (int)added->size, added->bytes);
    if (*id > last)
        return err_usage(err, "%s: '%s': expected an id from 0 to %lld, found %lld", option, text,
                         last, *id);
    return 0;
}

/* True if `text` ends in a letter, a digit or one of .,;:!?, `more` begins with a letter, and a
 * space before `more` changes its first token to a word with a space, but adds no tokens. */
bool lacks_space(const struct tokenized *text, const char *more, const struct tokenizer *tokenizer,
                 struct arena *arena)
{
    struct tokens bare = {0}, spaced = {0};
    unsigned char last = text->raw && text->size ? (unsigned char)text->raw[text->size - 1] : 0;
    const char *with_space = arena_format(arena, NULL, " %s", more), *first = NULL;
    return tokenizer && (isalnum(last) || (last && strchr(".,;:!?", last))) &&
           isalpha((unsigned char)*more) && with_space &&
           !tokenizer_encode_alone(tokenizer, &bare, more, strlen(more), arena, NULL) &&
           !tokenizer_encode_alone(tokenizer, &spaced, with_space, strlen(with_space), arena,
                                   NULL) &&
           spaced.count && spaced.count <= bare.count && spaced.items->id != bare.items->id &&
           (first = label_of_word(tokenizer, spaced.items->id, arena, NULL).plain) &&
           first[0] == ' ' && first[1];
}

int answer_read(struct question *question, const struct question_words *words,
                const struct viewer *viewer, struct arena *arena, struct err *err)
{
    const char *option = words->option, *text = words->answer;
    *question = (struct question){.answer = -1, .against = -1};
    if (!text)
        return 0;
    const char *colon = *text ? strchr(text + 1, ':') : NULL;
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    const char *first = arena_text(arena, text, size, err);
    if (!first || token_option_read(&question->answer, viewer, option, first, arena, err))
        return -1;
    if (words->text && !words->place && !config_classifies(&viewer->model.config) &&
        lacks_space(words->text, first, viewer->tokenizer, arena))
        notes_add(words->notes, words->index, LACKS_SPACE_NOTE, option, first, first);
    return colon ? token_option_read(&question->against, viewer, option, colon + 1, arena, err) : 0;
}

int position_read(struct question *question, const struct question_words *words,
                  const struct viewer *viewer, struct arena *arena, struct err *err)
{
    const char *place = words->place;
    const uint32_t *ids = words->text->ids;
    size_t count = words->text->count, *index = &question->position;
    const struct config *config = &viewer->model.config;
    bool seeks = !place && viewer->mask >= 0;
    *index = config_classifies(config) ? tokenized_opening(words->text, config, -1) : count - 1;
    while (seeks && *index && ids[*index] != viewer->mask)
        --*index;
    if (seeks && ids[*index] != viewer->mask) {
        struct label mask = label_of_word(viewer->tokenizer, (uint32_t)viewer->mask, arena, err);
        return mask.text ? err_usage(err,
                                     "expected a text with %s, where logits are read, found none: "
                                     "add it%s%s%s",
                                     mask.text, words->place_option ? ", or " : "",
                                     words->place_option ? words->place_option : "",
                                     words->place_option ? " N" : "")
                         : -1;
    }
    if (!place || selection_index(index, place, strlen(place), count))
        return 0;
    return err_usage(err,
                     "%s: expected an index from 0 to %zu (or -%zu to -1 from the end), found '%s'",
                     words->place_option, count - 1, count, place);
}

const char *question_describe(struct facts *facts, const struct question *question,
                              const struct viewer *viewer, const struct tokenized *text,
                              struct arena *arena, struct err *err)
{
    bool differs = question->against >= 0;
    const char *other = "",
               *name = label_of_word(viewer->words, (uint32_t)question->answer, arena, err).text;
    if (differs)
        other = label_of_word(viewer->words, (uint32_t)question->against, arena, err).text;
    if (!name || !other)
        return NULL;
    facts_integer(facts, "answer", question->answer);
    facts_integer(facts, "against", differs ? question->against : COLUMN_MISSING);
    facts_integer(facts, "position", tokenized_number(text, question->position));
    return arena_format(
        arena, err, "logit %s %s%s%s %s %s", differs ? "difference" : "of", name,
        differs ? " - " : "", other,
        viewer->model.config.causal && !config_classifies(&viewer->model.config) ? "after" : "at",
        text->labels[question->position].text);
}
