/* gguf_export_pieces.c: SentencePiece's BPE, a tokenizer.model, as the keys of a GGUF file. */
#include <stdio.h>
#include <string.h>

#include "model/gguf/gguf_model.h"
#include "model/model.h"
#include "text/sentencepiece.h"
#include "text/tokenizer.h"

struct job {
    struct gguf *gguf;
    const struct model *model;
    struct buf tokens, scores, kinds;
    struct arena arena;
};

static int check_rules(const struct sentencepiece *pieces, size_t rows, struct err *err)
{
    if (pieces->kind != SENTENCEPIECE_BPE || pieces->suffix || pieces->charsmap_size ||
        !pieces->escapes)
        return err_unsupported(err, "expected a BPE that leaves texts as they are but for blanks, "
                                    "for a GGUF file, found another model of SentencePiece");
    return pieces->count <= rows ? 0
                                 : err_unsupported(err,
                                                   "expected at most vocab_size = %zu pieces for a "
                                                   "GGUF file, found %zu",
                                                   rows, pieces->count);
}

static bool has_tokens_of(const struct tokenizer *pieces, const struct tokenizer *other)
{
    for (uint32_t id = 0; id < tokenizer_size(other); id++) {
        size_t sizes[2] = {0};
        const char *expected = tokenizer_token(other, id, &sizes[0]);
        const char *found = tokenizer_token(pieces, id, &sizes[1]);
        if (expected && (!found || sizes[0] != sizes[1] || memcmp(found, expected, sizes[0]) != 0))
            return false;
    }
    return true;
}

/* A tokenizer.json may be there, too, by which the model is run: it has no other tokens. */
static int check_tokens(const struct file *file, const struct model *model, struct err *err)
{
    struct tokenizer *tokenizers[2] = {NULL, NULL};
    struct folder_file held = {.name = "tokenizer.model", .bytes = file->bytes, .size = file->size};
    struct folder alone = {.path = model->folder.path, .files = &held, .file_count = 1};
    if (!folder_has(&model->folder, "tokenizer.json"))
        return 0;
    int failed = tokenizer_open(&tokenizers[0], &alone, err) ||
                 tokenizer_open(&tokenizers[1], &model->folder, err);
    if (!failed && !has_tokens_of(tokenizers[0], tokenizers[1]))
        failed = err_unsupported(err, "expected the tokens of tokenizer.json for a GGUF file, "
                                      "found others");
    tokenizer_free(tokenizers[0]);
    tokenizer_free(tokenizers[1]);
    return failed ? -1 : 0;
}

static void add_piece(struct job *job, const char *bytes, size_t size, float score, int32_t kind)
{
    gguf_add_text(&job->tokens, bytes, size);
    buf_bytes(&job->scores, &score, sizeof score);
    buf_bytes(&job->kinds, &kind, sizeof kind);
}

static int read_file(void *context, const struct file *file, struct err *err)
{
    struct job *job = context;
    struct sentencepiece pieces;
    size_t rows = job->model->config.vocab_size;
    if (sentencepiece_read(&pieces, file, &job->arena, err) || check_rules(&pieces, rows, err) ||
        check_tokens(file, job->model, err))
        return -1;
    for (size_t id = 0; id < pieces.count; id++) {
        const struct sentencepiece_piece *piece = &pieces.pieces[id];
        add_piece(job, piece->word.bytes, piece->word.size, piece->score, (int32_t)piece->kind);
    }
    for (size_t id = pieces.count; id < rows; id++) {
        char name[32];
        int size = snprintf(name, sizeof name, "[PAD%zu]", id);
        add_piece(job, name, (size_t)size, 0, PIECE_UNUSED);
    }
    return gguf_put_text(job->gguf, "tokenizer.ggml.model", "llama", err) ||
                   gguf_put_array(job->gguf, "tokenizer.ggml.tokens", GGUF_TEXT, rows, &job->tokens,
                                  err) ||
                   gguf_put_array(job->gguf, "tokenizer.ggml.scores", GGUF_F32, rows, &job->scores,
                                  err) ||
                   gguf_put_array(job->gguf, "tokenizer.ggml.token_type", GGUF_I32, rows,
                                  &job->kinds, err) ||
                   gguf_put_bool(job->gguf, "tokenizer.ggml.add_space_prefix", pieces.prefixes,
                                 err) ||
                   gguf_put_bool(job->gguf, "tokenizer.ggml.remove_extra_whitespaces",
                                 pieces.collapses, err)
               ? -1
               : 0;
}

int gguf_export_pieces(struct gguf *gguf, const struct model *model, struct err *err)
{
    struct job job = {.gguf = gguf, .model = model};
    int failed = folder_read(&model->folder, "tokenizer.model", read_file, &job, err);
    buf_release(&job.tokens);
    buf_release(&job.scores);
    buf_release(&job.kinds);
    arena_release(&job.arena);
    return failed;
}
