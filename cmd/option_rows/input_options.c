/* Rows of the table of options: what a command reads: models, texts, new vocabularies. */
#include "../option_row.h"

#include <limits.h>

#include "text/subword/bpe_learn.h"

static const struct option_row input_rows[] = {
    STRING("model", 'm', "MODEL", model.name,
           (LOOKING & ~SEVERAL_MODELS) | FOR_TOKENIZE | FOR_INFO | FOR_BENCH | FOR_BATCH,
           "folder, GGUF file, bundled name, or Hugging Face Hub name already in the cache "
           "(default: $ATTN_MODEL, else tiny)"),
    STRINGS("model", 'm', "MODEL", model.names, SEVERAL_MODELS | NOT_BATCH | NOT_SWEPT,
            "one or more models (repeatable): 'pythia/step*' (default: $ATTN_MODEL, else tiny)"),
    STRINGS("sentence", 's', "TEXT", input.sentences,
            FOR_RUN | TEXT_ALONE | FOR_TOKENIZE | FOR_COMPARE | TEXT,
            "text to read (repeatable; also as an operand, or on standard input)"),
    STRINGS("sentence", 's', "TEXT", input.sentences, FOR_GENERATE | TEXT,
            "text to continue (with --source, default: the model's first token)"),
    STRINGS("sentence", 's', "TEXT", input.sentences, FOR_INIT,
            "its words, sorted, become the vocabulary (repeatable); in scripts without spaces its "
            "characters"),
    STRINGS("vocab-from", 0, "FILE", make.texts, FOR_INIT,
            "learn the vocabulary from a text file (repeatable; - is standard input): its words, "
            "or with --vocab-size byte-level BPE"),
    INTEGER("vocab-size", 0, "N", make.size, FOR_INIT, BPE_LEARN_BYTES, BPE_LEARN_MAX,
            "learn byte-level BPE with N tokens (at least 256); writes vocab.json and merges.txt"),
    STRING(
        "vocab", 0, "FILE", make.vocab, FOR_INIT,
        "existing vocabulary: a tokenizer.json, or a vocab.json (with --merges: byte-level BPE)"),
    STRING("merges", 0, "FILE", make.merges, FOR_INIT | FOR_TRAIN,
           "merges.txt of byte-level BPE, with --vocab"),
    STRING("like", 0, "MODEL", make.like, FOR_INIT,
           "take sizes from a model, and its vocabulary unless another is given (default: life)"),
    STRING("shape", 0, "NAME", make.shape, FOR_INIT,
           "sizes of a well-known model (see 'help sizes')"),
    STRING("config", 0, "FILE", make.config, FOR_INIT, "sizes from a config.json"),
    STRINGS("set", 0, "LIST", make.sets, FOR_INIT,
            "override values of the config: n_layer=2,n_head=4 (see 'help sizes')"),
    STRING("draw", 0, "HOW", make.draw, FOR_INIT,
           "initialise projections with torch.rand, head by head (rand, default), or as nn.Linear "
           "does (linear)"),
    INTEGER("table", 0, "ROWS", make.table, FOR_INIT, 1, 100000000,
            "size of the nn.Embedding whose first rows are the words (default: 50000)"),
    INTEGER("seed", 0, "N", make.seed, FOR_INIT, 0, LLONG_MAX,
            "seed for torch.manual_seed (default: 123)"),
    STRINGS("sentence", 's', "TEXT", input.sentences, FOR_EXPLAIN, "text that contains the query"),
    STRING("file", 'f', "FILE", input.file, FOR_RUN | TEXT_ALONE | FOR_COMPARE | FOR_BATCH | TEXT,
           "one text per line, or CSV / JSONL with a column \"text\"; other columns are copied to "
           "the output; - is standard input"),
    FLAG("document", 0, input.document, FOR_RUN | TEXT_ALONE | FOR_COMPARE | TEXT,
         "treat the file as one text"),
    STRING("file", 'f', "FILE", input.file, FOR_TOKENIZE,
           "one text, or a table (.csv, .tsv, .jsonl) with a column \"text\"; - is standard input"),
    STRING("file", 'f', "FILE", input.file, FOR_GENERATE | FOR_EXPLAIN,
           "one text, without its final newline, or a table (.csv, .tsv, .jsonl) with one; - is "
           "standard input"),
    STRING("ids", 0, "LIST", input.ids, (LOOKING & ~FOR_PATCH) | FOR_HEADS | FOR_COMPARE | TEXT,
           "token ids instead of text: 0,4,5"),
    FLAG("only-ids", 0, tokens.only_ids, FOR_TOKENIZE, "print only the ids, separated by spaces"),
    FLAG("decode", 0, tokens.decode, FOR_TOKENIZE, "read ids and print their text"),
    FLAG("bos", 0, input.bos, LOOKING | FOR_TOKENIZE | FOR_COMPARE | FOR_HEADS,
         "add the beginning token: <|endoftext|>, <s>, …"),
    FLAG("no-bos", 0, input.no_bos, FOR_SCORE | FOR_LENS,
         "add no beginning token (default): the first token has no score"),
    FLAG("add-special", 0, input.add_special, LOOKING | FOR_TOKENIZE | FOR_COMPARE | FOR_HEADS,
         "add the tokenizer's special tokens: <s>, [CLS] … [SEP]"),
    FLAG("no-special", 0, input.no_special, LOOKING | FOR_TOKENIZE | FOR_COMPARE | FOR_HEADS,
         "treat <|endoftext|> and the like as plain text"),
    FLAG("long", 0, input.any_length, LOOKING | FOR_COMPARE | FOR_HEADS,
         "allow texts beyond the trained context length (rotary and ALiBi models)"),
};

const struct option_rows input_options = {input_rows, sizeof input_rows / sizeof *input_rows};
