/* tokenize.c: `attn-cli tokenize`: converts text to tokens, and ids to text.
 *
 * A file that is not a table is one text, including its last newline. All texts are read before
 * anything is printed: --only-ids keeps the lines to print; tables read each text again. */
#include <string.h>

#include "base/num.h"
#include "base/stream.h"
#include "command.h"
#include "items.h"
#include "model/model.h"
#include "output.h"
#include "say.h"
#include "session.h"
#include "text/decoder.h"
#include "text/token_list.h"

static const struct option_row own_options[] = {
    FLAG("only-ids", 0, IN(tokens.only_ids), "print only token ids, separated by spaces",
         .heading = "Tokens"),
    FLAG("decode", 0, IN(tokens.decode), "decode token ids into text"),
    STRING("file", 'f', "FILE", IN(input.file),
           "file with one text, or a table; .csv, .tsv, .jsonl with a column \"text\"; - is "
           "standard input",
           .heading = "Input"),
    {0},
};

static command_verb tokenize_command;

const struct command command_tokenize = {
    .name = "tokenize",
    .heading = "Text",
    .about = "tokens of a text, and back",
    .operands = "[TEXT]...",
    .most_used = "-m smollm2.gguf\n"
                 "-f text.txt\tfile with one text, or a table\n"
                 "--only-ids\tids alone, separated by spaces\n"
                 "--decode\n"
                 "-o tokens.csv\n",
    .examples = "attn-cli tokenize \"Life is short, eat dessert first\"\n"
                "echo \"Life is short\" | attn-cli tokenize --only-ids\n"
                "attn-cli tokenize --only-ids \"Life is short\" | attn-cli tokenize --decode\n",
    .run = tokenize_command,
    .options = own_options,
    .shared = {text_options, model_options, output_options},
    .without = "document ids source words long precision threads",
    .draws = true,
};

struct tokenize_run {
    const struct options *options;
    struct output output;
    struct folder folder;
    struct tokenizer *tokenizer;
    /* the tokenizer of texts: `tokenizer`, or the encoder's in an encoder-decoder model */
    const struct tokenizer *of_texts;
    const struct chat *chat;
    struct items items;
    size_t count;     /* number of tokens of the current text */
    struct buf lines; /* with --only-ids: for each text a line of its ids, with blanks between */
    /* [items.count] if there are several texts: true for each text without tokens, which has no
     * table */
    bool *lacks;
    size_t failed; /* number of texts without tokens */
    const char *failure;
    struct arena arena;
};

/* --- texts ------------------------------------------------------------------------------------ */

static int take_ids(void *context, const struct token *tokens, size_t count, struct err *err)
{
    struct tokenize_run *run = context;
    char id[1 + NUM_COUNT_BYTES] = " ";
    for (size_t i = 0; i < count && run->options->tokens.only_ids; i++) {
        bool is_first = run->count + i == 0;
        buf_bytes(&run->lines, id + is_first, 1 + num_count(id + 1, tokens[i].id) - is_first);
    }
    run->count += count;
    return buf_check(&run->lines, err);
}

/* Tokenize a text or, with --pair, two texts. */
static int encode(const struct tokenize_run *run, struct tokens *tokens, const struct input *input,
                  struct arena *arena, struct err *err)
{
    const struct token_bytes texts[] = {{input->text, input->size}, input->pair};
    return input->pair.bytes
               ? tokenizer_encode_pair(run->of_texts, tokens, texts, arena, err)
               : tokenizer_encode(run->of_texts, tokens, input->text, input->size, arena, err);
}

/* Read the tokens of a text, and add its dropped characters to `dropped`. */
static int tokenize_text(struct tokenize_run *run, size_t index, struct dropped *dropped,
                         struct err *err)
{
    struct item item;
    struct arena arena = {0};
    const struct token_sink sink = {take_ids, run};
    struct token_list list = {.sink = &sink, .only_ids = true};
    run->count = 0;
    bool is_read = !items_read(&run->items, &item, index, &arena, err);
    int failed = !is_read;
    if (is_read && !item.input.text)
        failed = err_usage(err, "expected a text, found ids: --decode prints the text of ids");
    failed = failed || input_wrap(&item.input, run->chat, &arena, err);
    if (!failed && item.input.pair.bytes) {
        struct tokens tokens = {0};
        failed = encode(run, &tokens, &item.input, &arena, err) ||
                 take_ids(run, tokens.items, tokens.count, err);
        list.dropped_count = tokens.dropped_count;
        if (tokens.dropped_first)
            list.dropped_first = *tokens.dropped_first;
    } else if (!failed)
        failed = tokenizer_stream(run->of_texts, &list, item.input.text, item.input.size, err);
    if (!failed) {
        const struct tokenized text = {.raw = item.input.text,
                                       .size = item.input.size,
                                       .pair = item.input.pair,
                                       .count = run->count,
                                       .dropped_count = list.dropped_count,
                                       .dropped_first = list.dropped_first};
        dropped_add(dropped, &text, index);
        failed = tokenized_check(&text, err);
    }
    token_list_release(&list);
    arena_release(&arena);
    return is_read && failed ? items_blame(&run->items, index, err) : err_if(failed);
}

static int tokenize_all(struct tokenize_run *run, struct err *err)
{
    struct dropped dropped = {0};
    run->lacks = arena_alloc(&run->arena, run->items.count, sizeof *run->lacks, err);
    if (!run->lacks)
        return -1;
    for (size_t i = 0; i < run->items.count; i++) {
        struct err why = {0};
        run->lacks[i] = tokenize_text(run, i, &dropped, &why);
        if (run->lacks[i] && (why.about != ERR_ABOUT_EMPTY || run->items.count == 1))
            return err_adopt(err, &why);
        if (run->lacks[i] && !run->failed++)
            run->failure = arena_text(&run->arena, why.text, strlen(why.text), err);
        if (run->failed && !run->failure)
            return -1;
        buf_char(&run->lines, '\n');
    }
    if (run->failed && run->failed == run->items.count)
        return err_set(err, "%s", run->failure);
    return err_if(dropped_note(&dropped, &run->items, err) || buf_check(&run->lines, err));
}

/* --- output ----------------------------------------------------------------------------------- */

static int print_bytes(const struct tokenize_run *run, const struct buf *bytes, struct err *err)
{
    struct stream out = {0};
    if (output_to(&out, run->options->output.path, err))
        return -1;
    if (bytes->size)
        stream_bytes(&out, bytes->bytes, bytes->size);
    return stream_end(&out, 0, err);
}

static int print_table(struct tokenize_run *run, size_t index, const struct identity *identity,
                       struct arena *arena, struct err *err)
{
    struct item item;
    struct tokens tokens = {0};
    struct tokenized text;
    struct table table;
    struct layout layout = page_layout(run->options, NULL);
    struct report report = {
        .model = run->folder.path, .tables = &table, .table_count = 1, .untitled = true};
    if (items_read(&run->items, &item, index, arena, err))
        return -1;
    if (input_wrap(&item.input, run->chat, arena, err) ||
        encode(run, &tokens, &item.input, arena, err) ||
        tokenized_label(&text, &tokens, run->of_texts, arena, err))
        return items_blame(&run->items, index, err);
    layout.columns = layout.lines = 0; /* no limit for columns and lines */
    text.raw = report.text.raw = item.input.text;
    text.size = report.text.size = item.input.size;
    text.pair = report.text.pair = item.input.pair;
    report.identity = *identity;
    report.identity.blank = item.number - identity->index;
    report.identity.extras = item.columns;
    report.identity.extra_count = item.column_count;
    report.identity.text_count = item.options.output.no_text ? 0 : item.text_count;
    return err_if(tokenized_table(&table, &text, NULL, arena, err) ||
                  output_write(&run->output, &report, &layout, err));
}

static int print_tables(struct tokenize_run *run, struct err *err)
{
    struct arena arena = {0};
    struct identity identity = identity_first(run->items.count - run->failed);
    int failed =
        output_check_count(&run->output, identity.count, err) || output_open(&run->output, err);
    for (size_t i = 0; i < run->items.count && !failed; i++) {
        if (run->lacks[i])
            continue;
        failed = print_table(run, i, &identity, &arena, err);
        identity.index++;
        arena_clear(&arena);
    }
    arena_release(&arena);
    return err_if(failed || output_commit(&run->output, err));
}

/* --- from ids to text ------------------------------------------------------------------------- */

/* Decode the ids in a text of `size` bytes. `list` counts the ids of all texts. */
static int decode_list(const struct tokenizer *tokenizer, struct token_decoder *decoder,
                       struct id_list *list, const char *text, size_t size, struct err *err)
{
    uint32_t id = 0;
    list->at = text;
    list->end = text + size;
    while (id_list_next(list, &id, err))
        if (!tokenizer_decode(tokenizer, decoder, id))
            return err_usage(err, "id %zu of the list: %u is not in the vocabulary", list->count,
                             id);
    return err_if(list->failed);
}

/* Decode the ids of the file and of the operands; if there are neither, the ids of standard
 * input. */
static int decode(const struct tokenize_run *run, struct err *err)
{
    const struct tokenizer *tokenizer = run->tokenizer;
    const struct texts *lists = &run->options->input.operands;
    const char *path = run->options->input.file;
    struct token_decoder decoder = {0};
    struct buf text = {0};
    struct file file = {0};
    struct id_list list = {.limit = tokenizer_size(tokenizer)};
    if (!path && !lists->count)
        path = "-";
    if (path && input_file_open(&file, path, err))
        return -1;
    tokenizer_decode_begin(tokenizer, &decoder, &text);
    int failed = decode_list(tokenizer, &decoder, &list, file.bytes, file.size, err);
    if (failed)
        err->kind = ERR_INPUT; /* a file with a bad id is bad input, not wrong usage */
    for (size_t i = 0; i < lists->count && !failed; i++)
        failed =
            decode_list(tokenizer, &decoder, &list, lists->items[i], strlen(lists->items[i]), err);
    if (!failed && !list.count)
        failed = err_set(err, "the list is empty: expected at least one id");
    if (!failed)
        token_decoder_end(&decoder);
    failed = failed || buf_check(&text, err) || print_bytes(run, &text, err);
    token_decoder_release(&decoder);
    buf_release(&text);
    file_release(&file);
    return err_if(failed);
}

/* --- the command ------------------------------------------------------------------------------ */

static int begin(struct tokenize_run *run, struct err *err)
{
    const struct options *options = run->options;
    bool is_table = !options->tokens.decode && !options->tokens.only_ids;
    if (options_exclude(options, "decode", "only-ids format sentence special chat literal-special",
                        err) ||
        options_exclude(options, "only-ids", "format", err) ||
        options_exclude(options, "pair", "decode", err) ||
        (is_table && output_choose_table(&run->output, &options->output, err)) ||
        model_find(&run->folder, chosen_model(options->model.name), &run->arena, err) ||
        tokenizer_open(&run->tokenizer, &run->folder, err))
        return -1;
    if (!run->tokenizer)
        return err_set(err, "'%s': expected a tokenizer (tokenizer.json or vocab.json), found none",
                       run->folder.path);
    run->of_texts = tokenizer_of_source(run->tokenizer);
    if (!options->tokens.decode) /* decoding does not truncate or pad, so the note does not apply */
        print_note_of_tokenizer(run->tokenizer);
    return tokenizer_options_set(&run->chat, run->tokenizer, &run->folder, options, &run->arena,
                                 err);
}

static int tokenize_command(const struct options *options, struct err *err)
{
    struct tokenize_run run = {.options = options};
    int failed = begin(&run, err);
    if (!failed && options->tokens.decode)
        failed = decode(&run, err);
    else if (!failed)
        failed = items_open(&run.items, options, 0, ITEMS_WHOLE, err) || tokenize_all(&run, err) ||
                 (options->tokens.only_ids ? print_bytes(&run, &run.lines, err)
                                           : print_tables(&run, err)) ||
                 items_check_failed(run.failed, run.items.count, "failed", run.failure, err);
    output_discard(&run.output);
    tokenizer_free(run.tokenizer);
    buf_release(&run.lines);
    items_release(&run.items);
    arena_release(&run.arena);
    return err_if(failed);
}
