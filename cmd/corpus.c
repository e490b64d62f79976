/* corpus.c: `attn-cli corpus`: texts drawn from a grammar, a line each. */
#include <string.h>

#include "command.h"
#include "output.h"
#include "session.h"
#include "math/rng.h"
#include "write/text_line.h"
#include "train/grammar.h"

static int write_texts(struct stream *out, const struct grammar *grammar, size_t rule,
                       const struct options *options, struct err *err)
{
    struct buf text = {0};
    struct progress progress;
    long long count = options->corpus.count;
    int failed = 0;
    progress_begin_beside(&progress, options->output.path, "texts");
    for (long long i = 0; i < count && !failed; i++) {
        progress_show(&progress, (size_t)i, (size_t)count, NULL);
        uint64_t key = rng_fold_in((uint64_t)options->corpus.seed, (uint64_t)i);
        buf_clear(&text);
        failed = grammar_write(grammar, &text, rule, key, err);
        buf_char(&text, '\n');
        failed = failed || text_send(out, &text, err);
    }
    progress_end(&progress);
    buf_release(&text);
    return failed ? -1 : 0;
}

int corpus_command(const struct options *options, struct err *err)
{
    struct file file = {0};
    struct grammar grammar = {0};
    struct stream out = {0};
    size_t rule = 0;
    const struct texts *operands = &options->input.operands;
    if (!operands->count)
        return err_usage(err, "expected a grammar: a file, or - for standard input");
    if (operands->count > 1)
        return err_usage(err, "expected one grammar, found '%s' as well", operands->items[1]);
    if (options->output.path && !*options->output.path)
        return err_usage(err, "--output: expected a path, found ''");
    const char *path = operands->items[0];
    int failed = inputs_read_file(&file, path, err);
    if (!failed && grammar_read(&grammar, file.bytes, file.size, err))
        failed = err_prefix(err, "'%s'", path);
    if (!failed && options->corpus.rule)
        rule = grammar_find(&grammar, options->corpus.rule, strlen(options->corpus.rule));
    if (rule == GRAMMAR_NONE)
        failed = err_usage(err, "--rule: the grammar has no rule '%s'", options->corpus.rule);
    failed = failed || output_to(&out, options->output.path, err);
    if (!failed && write_texts(&out, &grammar, rule, options, err))
        failed = err_prefix(err, "'%s'", path);
    grammar_release(&grammar);
    file_release(&file);
    return stream_end(&out, failed, err);
}
