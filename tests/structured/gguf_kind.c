/* GGUF files: one number of a key, or of what is said of a tensor, is another one. */
#include <string.h>

#include "kind.h"
#include "specimens.h"

static struct folder folder;

int gguf_open_files(const char *scratch, struct err *err)
{
    (void)scratch;
    return specimens_read(&folder, "tests/gguf", "", err);
}

/* What follows a text in the file; NULL: it is not there. */
static char *find_after(char *bytes, size_t size, const char *text)
{
    char *at = memmem(bytes, size, text, strlen(text));
    return at ? at + strlen(text) : NULL;
}

static void put(char *at, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (char)(number >> 8 * i & 0xff);
}

/* Or the bits of a float: 0, 1, -1, infinity, not a number. */
static uint64_t odd_bits(struct made *made)
{
    static const uint64_t bits[] = {
        0,  1,   2,    3,     4,          7,          8,          16,         31,       32,
        33, 255, 4096, 65536, 0x3f800000, 0xbf800000, 0x7f800000, 0x7fc00000, 1u << 31, UINT32_MAX};
    return MADE_PICK(made, bits);
}

/* Behind its name stands a kind of value, in 32 bits. */
static void change_key(struct made *made, char *bytes, size_t size)
{
    static const char *const keys[] = {
        ".embedding_length",
        ".block_count",
        ".attention.head_count",
        ".context_length",
        ".feed_forward_length",
        ".attention.head_count_kv",
        ".rope.freq_base",
        ".rope.dimension_count",
        ".attention.key_length",
        ".vocab_size",
        ".attention.layer_norm_rms_epsilon",
        ".rope.scaling.factor",
        "tokenizer.ggml.bos_token_id",
        "tokenizer.ggml.eos_token_id",
    };
    char *at = find_after(bytes, size, MADE_PICK(made, keys));
    uint64_t bits = odd_bits(made);
    if (at)
        put(at + 4, 4, bits);
}

/* Behind its name stand how many sizes it has, these, its type and its place. */
static void change_tensor(struct made *made, char *bytes, size_t size)
{
    static const char *const names[] = {"token_embd.weight",     "output_norm.weight",
                                        "blk.0.attn_q.weight",   "blk.1.attn_k.weight",
                                        "blk.0.attn_qkv.weight", "blk.0.ffn_up.weight",
                                        "blk.1.attn_norm.weight"};
    char *at = find_after(bytes, size, MADE_PICK(made, names));
    size_t what = made_below(made, 4);
    uint64_t bits = odd_bits(made);
    uint64_t type = made_below(made, 31);
    if (!at)
        return;
    size_t rank = (unsigned char)*at;
    if (what == 0)
        put(at + 4 + 8 * (rank - 1), 8, bits);
    else if (what == 1)
        put(at + 4, 8, bits);
    else if (what == 2)
        put(at + 4 + 8 * rank, 4, type);
    else
        put(at + 8 + 8 * rank, 8, bits * 32);
}

void gguf_make(struct made *made)
{
    static const char *const names[] = {"llama.gguf",
                                        "llama-bf16.gguf",
                                        "llama-rope-llama3.gguf",
                                        "gemma.gguf",
                                        "qwen3.gguf",
                                        "gpt2.gguf",
                                        "gpt_neox.gguf",
                                        "q5_0.gguf",
                                        "sentencepiece-bpe.gguf",
                                        "llama-rope-linear.gguf"};
    static const char *const others[] = {
        "info m.gguf --hash --format json",
        "run -m m.gguf -q -t 2 --ids 1,2,3,4,5,6,7,8,9,10 --show all",
        "generate -m m.gguf -q -t 1 --ids 1,2 -n 3",
    };
    const char *name = MADE_PICK(made, names);
    const struct folder_file *from = folder.files;
    while (strcmp(from->name, name) != 0)
        from++;
    struct folder_file *file = made_file(made, "m.gguf", from->bytes, from->size);
    char *bytes = (char *)file->bytes; /* the input's own copy */
    (made_one_in(made, 2) ? change_key : change_tensor)(made, bytes, file->size);
    made_line(made, "run -m m.gguf -q -t 1 --ids 1,2 --show logits");
    made_line(made, "%s", MADE_PICK(made, others));
}
