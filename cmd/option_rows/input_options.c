/* Rows of the table of options: what a command reads: models, texts, new vocabularies. */
#include "../option_row.h"

#include <limits.h>

#include "text/subword/bpe_learn.h"

static const struct option_row input_rows[] = {
    STRING("model", 'm', "DIR|NAME", model.name,
           (LOOKING & ~SEVERAL_MODELS) | FOR_TOKENIZE | FOR_INFO | FOR_BENCH | FOR_BATCH,
           "a model directory, a GGUF file, a bundled model, or one of the Hugging Face Hub that "
           "was downloaded: openai-community/gpt2 (default: $ATTN_MODEL, else tiny)"),
    STRINGS("model", 'm', "DIR|NAME", model.names, SEVERAL_MODELS | NOT_BATCH | NOT_SWEPT,
            "a model, or several, as 'pythia/step*' (default: $ATTN_MODEL, else tiny)"),
    STRINGS("sentence", 's', "TEXT", input.sentences,
            FOR_RUN | TEXT_ALONE | FOR_TOKENIZE | FOR_COMPARE | TEXT,
            "the text to look at; may be given several times"),
    STRINGS("sentence", 's', "TEXT", input.sentences, FOR_GENERATE,
            "the text to go on with (beside --source by default the model's first token)"),
    STRINGS("sentence", 's', "TEXT", input.sentences, FOR_INIT,
            "its words, sorted, are the vocabulary; where a script has no blanks, its characters, "
            "unless blanks stand between words; may be given several times"),
    STRINGS(
        "vocab-from", 0, "FILE", make.texts, FOR_INIT,
        "learn the vocabulary from a text file (repeatable; - is standard input): its words, or "
        "with --vocab-size byte-level BPE"),
    INTEGER("vocab-size", 0, "N", make.size, FOR_INIT, BPE_LEARN_BYTES, BPE_LEARN_MAX,
            "learn byte-level BPE of N tokens, at least 256; writes vocab.json and merges.txt"),
    STRING("vocab", 0, "FILE", make.vocab, FOR_INIT,
           "the vocabulary: a tokenizer.json, or a vocab.json (with --merges: byte-level BPE)"),
    STRING("merges", 0, "FILE", make.merges, FOR_INIT | FOR_TRAIN, "its merges.txt"),
    STRING("like", 0, "DIR|NAME", make.like, FOR_INIT,
           "the sizes of a model, and its words where no others are given (default: life)"),
    STRING("shape", 0, "NAME", make.shape, FOR_INIT, "the sizes of a well-known model: see Shapes"),
    STRING("config", 0, "FILE", make.config, FOR_INIT, "the sizes of a config.json"),
    STRINGS("set", 0, "LIST", make.sets, FOR_INIT,
            "other values in their config: n_layer=2,n_head=4: see Settings"),
    STRING("draw", 0, "HOW", make.draw, FOR_INIT,
           "projections by torch.rand, head by head (rand, the default), or by nn.Linear (linear)"),
    INTEGER("table", 0, "ROWS", make.table, FOR_INIT, 1, 100000000,
            "words are the first rows of an nn.Embedding with so many (default: 50000)"),
    INTEGER("seed", 0, "N", make.seed, FOR_INIT, 0, LLONG_MAX,
            "what torch.manual_seed is given (default: 123)"),
    STRINGS("sentence", 's', "TEXT", input.sentences, FOR_EXPLAIN,
            "the text that the query stands in"),
    STRING("file", 'f', "PATH", input.file, FOR_RUN | TEXT_ALONE | FOR_COMPARE | FOR_BATCH | TEXT,
           "one text per line; or CSV / JSONL with a column \"text\" (and source, ids, …); other "
           "columns are copied to the output; - is standard input"),
    FLAG("document", 0, input.document, FOR_RUN | TEXT_ALONE | FOR_COMPARE | TEXT,
         "treat the file as one text"),
    STRING("file", 'f', "PATH", input.file, FOR_TOKENIZE,
           "one text from a file, to the last byte; - is standard input"),
    STRING("file", 'f', "PATH", input.file, FOR_GENERATE | FOR_EXPLAIN,
           "the text from a file, but for its last newline; - is standard input"),
    STRING("ids", 0, "LIST", input.ids, (LOOKING & ~FOR_PATCH) | FOR_COMPARE | TEXT,
           "token ids in place of a text: 0,4,5"),
    FLAG("ids", 0, tokens.only_ids, FOR_TOKENIZE, "print the ids alone, with blanks between them"),
    FLAG("decode", 0, tokens.decode, FOR_TOKENIZE,
         "from ids, in place of texts, back to the bytes of their text"),
    FLAG("bos", 0, input.bos, LOOKING | FOR_TOKENIZE | FOR_COMPARE | FOR_HEADS,
         "begin with the token that begins texts: <|endoftext|>, <s>, …"),
    FLAG("no-bos", 0, input.no_bos, FOR_SCORE | FOR_LENS,
         "texts as they stand (the default): the first token has nothing before it, and no score"),
    FLAG("add-special", 0, input.add_special, LOOKING | FOR_TOKENIZE | FOR_COMPARE | FOR_HEADS,
         "put the tokens around a text that other programs put there: <s>, [CLS] … [SEP]"),
    FLAG("no-special", 0, input.no_special, LOOKING | FOR_TOKENIZE | FOR_COMPARE | FOR_HEADS,
         "<|endoftext|> and its like in a text are text, not one token"),
    FLAG("beyond-context", 0, input.any_length, LOOKING | FOR_COMPARE | FOR_HEADS,
         "texts may be longer than the model's context, where its positions are not learned: "
         "rotations and the like go on"),
};

const struct option_rows input_options = {input_rows, sizeof input_rows / sizeof *input_rows};
