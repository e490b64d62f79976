#include "options.h"

#include "math/pool.h"

#define FIELD(field) offsetof(struct options, field)

/* name, letter, kind, argument, field, commands, range, help */
const struct option_row option_rows[] = {
    {"model", 'm', OPTION_TEXT, "DIR|NAME", FIELD(model), FOR_RUN | FOR_TOKENIZE | FOR_INFO, 0, 0,
     "a model directory or a bundled model (default: $ATTN_MODEL, else tiny)"},
    {"sentence", 's', OPTION_TEXTS, "TEXT", FIELD(sentences), FOR_RUN | FOR_TOKENIZE, 0, 0,
     "the text to look at; may be given several times"},
    {"file", 'f', OPTION_TEXT, "PATH", FIELD(file), FOR_RUN, 0, 0,
     "a sentence a line from a file; - is standard input"},
    {"file", 'f', OPTION_TEXT, "PATH", FIELD(file), FOR_TOKENIZE, 0, 0,
     "one text from a file, to the last byte; - is standard input"},
    {"ids", 0, OPTION_TEXT, "LIST", FIELD(ids), FOR_RUN, 0, 0,
     "token ids in place of a text: 0,4,5"},
    {"ids", 0, OPTION_FLAG, NULL, FIELD(only_ids), FOR_TOKENIZE, 0, 0,
     "print the ids alone, with blanks between them"},
    {"decode", 0, OPTION_FLAG, NULL, FIELD(decode), FOR_TOKENIZE, 0, 0,
     "from ids, in place of texts, back to the bytes of their text"},
    {"bos", 0, OPTION_FLAG, NULL, FIELD(bos), FOR_RUN | FOR_TOKENIZE, 0, 0,
     "begin with the token that begins texts: <|endoftext|>, <s>, …"},
    {"no-special", 0, OPTION_FLAG, NULL, FIELD(no_special), FOR_RUN | FOR_TOKENIZE, 0, 0,
     "<|endoftext|> and its like in a text are text, not one token"},
    {"source", 0, OPTION_TEXT, "TEXT", FIELD(source), FOR_RUN, 0, 0,
     "the text looked at, in models of cross-attention"},
    {"show", 0, OPTION_TEXT, "LIST", FIELD(show), FOR_RUN, 0, 0,
     "tokens, weights, context, … or all: see Tensors"},
    {"layer", 0, OPTION_TEXT, "LIST", FIELD(layer), FOR_RUN, 0, 0,
     "layers: 0,3-5, -1 for the last, or all"},
    {"head", 0, OPTION_TEXT, "LIST", FIELD(head), FOR_RUN, 0, 0, "heads: as layers (default: all)"},
    {"format", 0, OPTION_TEXT, "FORMAT", FIELD(format), FOR_RUN, 0, 0,
     "how to write it (default: by the ending of -o, else text)"},
    {"format", 0, OPTION_TEXT, "FORMAT", FIELD(format), FOR_TOKENIZE | FOR_INFO, 0, 0,
     "text (default) or json"},
    {"output", 'o', OPTION_TEXT, "PATH", FIELD(output), FOR_RUN, 0, 0,
     "a file, or a folder for a file each (default: standard output)"},
    {"threads", 't', OPTION_NUMBER, "N", FIELD(threads), FOR_RUN, 1, POOL_THREADS_MAX,
     "threads (default: one a processor); results do not depend on it"},
    {"width", 0, OPTION_NUMBER, "N", FIELD(width), FOR_RUN, 20, 100000,
     "columns of a text page (default: the terminal's, else 80)"},
    {"full", 0, OPTION_FLAG, NULL, FIELD(full), FOR_RUN, 0, 0,
     "text: leave nothing out, however wide or long"},
    {"tokens", 'n', OPTION_NUMBER, "N", FIELD(tokens), FOR_INFO, 1, 100000000,
     "sizes for a text of N tokens"},
    {"man", 0, OPTION_FLAG, NULL, FIELD(man), FOR_HELP, 0, 0, "the manual page, for man"},
    {"completion", 0, OPTION_TEXT, "SHELL", FIELD(completion), FOR_HELP, 0, 0,
     "a completion script for bash, zsh or fish"},
    {"quiet", 'q', OPTION_FLAG, NULL, FIELD(quiet), FOR_RUN | FOR_TOKENIZE, 0, 0,
     "no notes on standard error"},
    {"verbose", 'v', OPTION_FLAG, NULL, FIELD(verbose), FOR_RUN, 0, 0,
     "say what was run, on what, and how long it took"},
    {"help", 'h', OPTION_FLAG, NULL, FIELD(help), FOR_ALL, 0, 0, "this help"},
};

const size_t option_count = sizeof option_rows / sizeof *option_rows;
