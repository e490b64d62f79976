/* vocab.c: `attn-cli vocab`: a vocabulary from texts: their words, or byte-level BPE. */

#include <string.h>

#include "base/names.h"
#include "base/utf8.h"
#include "command.h"
#include "model_maker.h"
#include "session.h"
#include "text/matcher.h"
#include "text/subword/bpe_learn.h"

struct job {
    const struct options *options;
    struct file *files;  /* [operands] */
    const char *pattern; /* that the tokenizer.json has; NULL: there is none */
    struct matcher matcher;
    struct buf vocab, merges;
    struct arena arena;
};

static int read_files(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const struct texts *paths = &options->input.operands;
    if (!paths->count)
        return err_usage(err, "expected a text file, or - for standard input");
    if (!options->output.path || !*options->output.path)
        return err_usage(err, "expected a directory to write: --output DIR");
    if (target_folder_check(options->output.path, options->output.force, err))
        return -1;
    job->files = arena_alloc(&job->arena, paths->count, sizeof *job->files, err);
    for (size_t i = 0; job->files && i < paths->count; i++)
        if (inputs_read_file(&job->files[i], paths->items[i], err))
            return -1;
    return job->files ? 0 : -1;
}

/* --pattern: a name, or a regular expression, which has signs that no name has. */
static int choose_pattern(struct job *job, struct err *err)
{
    const char *given = job->options->make.pattern;
    size_t index = 0;
    struct names names = NAMES(splitter_patterns, PATTERN_COUNT);
    if (!given)
        return 0;
    if (!job->options->make.size)
        return err_usage(err, "--pattern: goes with --size, found no --size");
    if (!given[strspn(given, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")]) {
        if (names_choose(&index, names, "--pattern", given, err))
            return -1;
        given = splitter_patterns[index].pattern;
    }
    if (utf8_invalid_at(given, strlen(given)) < strlen(given))
        return err_usage(err, "--pattern: expected a regular expression in UTF-8");
    job->pattern = given;
    if (!matcher_set_pattern(&job->matcher, given, err))
        return 0;
    err->kind = err->out_of_memory ? err->kind : ERR_USAGE;
    return err_prefix(err, "--pattern");
}

static int list_words(struct job *job, struct err *err)
{
    const struct texts *paths = &job->options->input.operands;
    struct word_list list = {0};
    int failed = 0;
    for (size_t i = 0; i < paths->count && !failed; i++)
        if (word_list_add(&list, job->files[i].bytes, job->files[i].size, err))
            failed = err_prefix(err, "'%s'", paths->items[i]);
    if (!failed && !list.count)
        failed = err_set(err, "'%s': expected a word, found none", paths->items[0]);
    failed = failed || new_words_json(&job->vocab, &list, err);
    word_list_release(&list);
    return failed ? -1 : 0;
}

static int learn_pairs(struct job *job, struct err *err)
{
    const struct texts *paths = &job->options->input.operands;
    size_t size = (size_t)job->options->make.size;
    struct bpe_learner learner = {0};
    struct progress progress;
    int failed = 0;
    learner.matcher = job->pattern ? &job->matcher : NULL;
    for (size_t i = 0; i < paths->count && !failed; i++)
        if (bpe_learner_add(&learner, job->files[i].bytes, job->files[i].size, err))
            failed = err_prefix(err, "'%s'", paths->items[i]);
    progress_begin(&progress, "tokens");
    learner.progress = &progress.sink;
    failed = failed || bpe_learner_run(&learner, size, err);
    progress_end(&progress);
    if (!failed && job->pattern) {
        bpe_learner_json(&learner, job->pattern, &job->vocab);
        failed = buf_check(&job->vocab, err);
    } else if (!failed) {
        bpe_learner_vocab(&learner, &job->vocab);
        bpe_learner_merges(&learner, &job->merges);
        failed = buf_check(&job->vocab, err) || buf_check(&job->merges, err);
    }
    if (!failed && learner.token_count < size)
        print_note("no pair occurs twice any more: %zu tokens, not %zu", learner.token_count, size);
    bpe_learner_release(&learner);
    return failed ? -1 : 0;
}

int vocab_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options};
    int failed = choose_pattern(&job, err) || read_files(&job, err) ||
                 (options->make.size ? learn_pairs : list_words)(&job, err);
    struct folder_file files[] = {
        {job.pattern ? "tokenizer.json" : "vocab.json", job.vocab.bytes, job.vocab.size},
        {"merges.txt", job.merges.bytes, job.merges.size},
    };
    struct folder folder = {options->output.path, files,
                            options->make.size && !job.pattern ? 2 : 1};
    failed = failed || save_folder(&folder, folder.path, options->output.force, err);
    for (size_t i = 0; job.files && i < options->input.operands.count; i++)
        file_release(&job.files[i]);
    buf_release(&job.vocab);
    buf_release(&job.merges);
    matcher_release(&job.matcher);
    arena_release(&job.arena);
    return failed ? -1 : 0;
}
