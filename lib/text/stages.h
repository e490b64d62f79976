/* stages.h: the stages of a tokenizer.json: a single stage, `{"type": "NFC"}`, or a Sequence of
 * stages. Normalizers, pre-tokenizers and decoders become steps, a list that is applied in
 * order. */
#pragma once

#include "base/names.h"
#include "text/matcher.h"

struct decoder_state;
struct encoder;
struct stage_list;
struct text_piece;
struct text_templates;
struct token_decoder;

/* The maximum number of stages. Steps call each other recursively, so more could overflow the
 * stack. */
enum { STAGES_MAX = 256 };

/* How a text is split at matches, as in Hugging Face's library. */
enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS, /* adjacent matches are one piece */
};

enum prepend_scheme { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS };

struct stage {
    struct stage *next;
    const struct stage_row *row;
    const char *name;       /* name that `info` shows; NULL: none, since the step before it in the
                             * same stage (stage_row.then) has the name */
    size_t index;           /* index of the step in its list */
    struct matcher matcher; /* finds the text that the step changes, or the splits */
    const char *content;    /* a text of the step, such as a replacement */
    size_t content_size;

    /* members for normalizers */
    bool left, right; /* Strip: remove white space on the left or right */
    bool first;       /* SentencePiece: add the prefix only at the start of the original text */
    bool stays[256];  /* [byte] true for ASCII characters that the step does not change */
    const struct charsmap *charsmap; /* the character map of a Precompiled or SentencePiece
                                      * normalizer; NULL: no character is mapped */
    const struct added_tokens *kept; /* SentencePiece: the added tokens, of which user-defined
                                      * tokens are not mapped */
    bool collapses;                  /* SentencePiece: drop spaces at the start and after spaces */

    /* members for pre-tokenizers */
    int (*run)(const struct stage *step, struct encoder *encoder, const struct text_piece *piece,
               struct err *err);
    enum split_behavior behavior;
    bool inverted;               /* matches and the text between them swap roles */
    enum prepend_scheme prepend; /* when to put `content` before a piece that lacks it */

    /* members for decoders */
    long long start, stop; /* Strip: maximum number of times that `content` is removed at the
                            * start and at the end of a token */
    bool fused;            /* Strip: `start` limits the removals of all tokens together */
    bool strips_first;     /* Metaspace: signs in the first token are removed, not replaced by
                            * spaces */
    bool cleans;           /* WordPiece: remove spaces before punctuation, shorten `do not` */
    size_t growth;         /* factor by which this step and earlier steps may lengthen a token */
};

/* A type of stage. */
struct stage_row {
    const char *name;
    const char *content;  /* the field that becomes `content` of a step; NULL: none */
    const char *fallback; /* the field's text if it is absent; NULL: it is required */
    int (*read)(struct stage_list *list, struct stage *step, const struct json *value,
                struct err *err); /* reads further fields; NULL: there are none */
    bool adds_steps;              /* `read` adds all steps, if any; its `step` is NULL */

    /* A normalizer: `apply` keeps or replaces ranges of a text; all other ranges are dropped. If
     * there is a `change` instead, it writes the bytes that replace a character and returns their
     * number, or CHANGE_NONE. */
    int (*apply)(const struct stage *step, struct text_rewriter *rewriter, struct err *err);
    int (*change)(char *bytes, uint32_t character);

    /* A pre-tokenizer: true for the characters at which it splits; NULL: it splits in another way,
     * or not at all. */
    bool (*is)(uint32_t character);
    enum split_behavior behavior;
    const struct stage_row *then; /* type of a second step; NULL: the stage has only one */

    /* A decoder: `rewrite` replaces a token by state->bytes; `put` passes parts of it to the next
     * step; without both, the token is passed unchanged. `end` passes the bytes that the step still
     * holds. */
    void (*rewrite)(const struct stage *step, struct decoder_state *state, const char *token,
                    size_t size);
    void (*put)(const struct stage *step, struct token_decoder *decoder, const char *token,
                size_t size);
    void (*end)(const struct stage *step, struct token_decoder *decoder);
};

/* CHANGE_BYTES: maximum number of bytes that stage_row.change writes. CHANGE_NONE: its result for a
 * character that does not change. */
enum { CHANGE_BYTES = 6, CHANGE_NONE = -1 };

/* A kind of stages. `begin` is called for each new step. */
struct stage_kind {
    const char *member;           /* the field of a Sequence that has its stages: "normalizers" */
    const struct stage_row *rows; /* `row_count` rows, one for each supported type */
    size_t row_count;
    int (*begin)(struct stage_list *list, struct stage *step, struct err *err);
};

extern const struct stage_kind normalizers, pre_tokenizers, post_processors, decoders;

struct stage_list {
    const struct stage_kind *kind;
    struct arena *arena; /* holds the steps */
    struct stage **head; /* the pointer that is set to the first step */
    struct stage *last;
    size_t count;                     /* number of stages read */
    struct text_templates *templates; /* set by post-processors, which add no steps */
};

/* Read a stage or a Sequence. If `value` is NULL or a JSON null, the list is empty; a type without
 * a row is an error. The caller releases the steps, also after a failure. */
int stages_read(struct stage_list *list, const struct json *value, struct err *err);
void stages_release(struct stage *steps);

/* Append a step of a type, and return it; NULL with `err` on failure. */
struct stage *stages_add(struct stage_list *list, const struct stage_row *row, struct err *err);

/* The function stage_row.read of types that search for their field `pattern`. */
int stage_read_pattern(struct stage_list *list, struct stage *step, const struct json *value,
                       struct err *err);

/* --- normalizers: changes of a text before it is split --------------------------------------- */

/* The settings of the normalizer of a SentencePiece model. */
struct sentencepiece_rules {
    const struct added_tokens *kept; /* the added tokens, of which user-defined tokens are not
                                      * mapped */
    const unsigned char *charsmap;   /* the map of characters, `charsmap_size` bytes */
    size_t charsmap_size;
    bool collapses; /* remove spaces at both ends and repeated spaces */
    bool prefixes;  /* add a space before the text */
    bool first;     /* with `prefixes`: only at the start of the original text */
    bool escapes;   /* write spaces as ▁ */
};

int normalizers_sentencepiece(struct stage **steps, const struct sentencepiece_rules *rules,
                              struct arena *arena, struct err *err);

/* Write the bytes of a range in GPT-2's alphabet. */
void normalize_bytes(struct text_rewriter *rewriter, struct text_range range);

/* True if a step is ByteLevel, which writes texts in GPT-2's alphabet. */
bool normalizers_encode_bytes(const struct stage *steps);

/* Apply all steps. The result is the text itself if nothing changes, else it lives in one of the
 * rewriters, which the caller releases. Positions in the original text stay known. */
int normalize(const struct stage *steps, struct aligned_text *out, const struct aligned_text *text,
              struct text_rewriter rewriters[2], struct text_limits *limits, struct err *err);

/* --- pre-tokenizers: each step splits or changes a piece and passes on the results -------- */

/* A range of a text after its normalization, or after a step that changed it. */
struct text_piece {
    const struct aligned_text *text;
    struct text_range range;
};

/* If the steps come from a single ByteLevel, add the space before texts (`wanted`) or remove it;
 * otherwise change nothing. */
int pre_tokenizers_set_prefix(struct stage **steps, bool wanted, struct arena *arena,
                              struct err *err);

/* The function stage.run of ByteLevel: writes bytes in GPT-2's alphabet, unless it is the last
 * step. */
int pre_tokenizer_encode_bytes(const struct stage *step, struct encoder *encoder,
                               const struct text_piece *piece, struct err *err);
