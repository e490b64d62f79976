#include "lesson_rows.h"

#define JOURNEY "-s \"Your journey starts with one step\""
#define LIFE "-s \"Life is short eat dessert first\""

const struct page_lesson lesson_rows[] = {
    {"Scores are dot products",
     "A model reads a sentence as rows of numbers, an embedding for each word. The simplest "
     "attention there is has no weights at all: the score of two words is the dot product of "
     "their embeddings.",
     "attn-cli run -m journey " JOURNEY " --show embedding,scores",
     "The embeddings of 'journey' and 'starts' point the same way, so their score is high, 1.4754; "
     "that of 'journey' and 'one' is 0.7070. The table is the same on both sides of its diagonal: "
     "without weights nothing tells who asks from who answers.",
     "scores:1:2 scores:1:4", "Has every word its highest score with itself?",
     "No: 'one' has 0.6654 with itself, but 0.7154 with 'starts'. A dot product grows with the "
     "length of both, too, and the embedding of 'starts' is longer."},
    {"Softmax makes weights of scores, and weights make a context",
     "Every row of scores becomes a row of weights: e to the power of each score, divided by the "
     "sum of the row. With these weights the embeddings are added up.",
     "attn-cli run -m journey " JOURNEY " --show weights,context",
     "Each row of weights adds up to 1. 'journey' gives most to itself, 0.2379, and hardly less to "
     "'starts', 0.2333. The context of 'journey', 0.4419 0.6515 0.5683, is all six embeddings "
     "mixed by the weights of its row.",
     "weights:1:1 weights:1:2 context:1:0 context:1:1 context:1:2",
     "Which word looks at itself least, and why?",
     "'with', 0.1462. Its embedding is short, so that all of its scores are small, that with "
     "itself more than those with longer ones: 'journey' gets 0.2074 of it."},
    {"The whole way of one word",
     "explain shows every number between an embedding and a context, with the formulas.",
     "attn-cli explain -m journey " JOURNEY " --token journey",
     "Follow one key down the page: 'Your' has the score 0.9544, the power 0.5824, the weight "
     "0.1385, and adds 0.0596 to the first number of the context. The › marks the row of the query "
     "itself. With --format markdown or --format latex the page becomes a document.",
     "scores:1:0 weights:1:0 context:1:0",
     "Which key adds most to the first number of the context, though it has not the largest "
     "weight?",
     "'starts' adds 0.1330 and 'journey' 0.1308. The weights are 0.2333 and 0.2379, but the first "
     "number of 'starts' is 0.5700, that of 'journey' 0.5500.",
     "embedding,scores,weights,context"},
    {"Queries, keys and values",
     "Self-attention with weights: three matrices turn an embedding into a query (what a word "
     "looks for), a key (what it answers to) and a value (what it hands over).",
     "attn-cli run -m life " LIFE " --show embedding,q,k,v",
     "Embeddings have 3 numbers, queries and keys 2, values 4. Queries and keys have the same "
     "length, because they are multiplied; that of values is free. 'is' has a long query, 0.5667 "
     "1.8269, and a long key in the same direction, 0.5295 1.7355: their product will be large.",
     "q:1:0 q:1:1 k:1:0 k:1:1", "Whose key fits the query of 'first', -0.2816 -1.3567, best?",
     "That of 'short', -0.2991 -0.7295: both numbers have the signs of the query's, and the "
     "second, which counts most, is large. That of 'first' itself, -0.4788 -0.5835, comes next."},
    {"One query of self-attention",
     "The same walk as before, with weights: the query comes from W_q, and scores are divided by "
     "the root of a key's length before the softmax.",
     "attn-cli explain -m life " LIFE " --token is",
     "'is' gives 0.6870 of its attention to itself and 0.1470 to 'dessert'. Scaling brought 3.4707 "
     "down to 2.4542 and the others nearer to it, so that they keep some of the weight. The "
     "context has four numbers, as values have: 0.5313 1.3607 0.7891 1.3110.",
     "scores:1:1 masked:1:1 weights:1:1 weights:1:4 context:1:0",
     "'dessert' has the second largest weight, 0.1470. Where does that come from?",
     "From its score, 1.2903, which the scale makes 0.9124. e to the power of its distance from "
     "the largest, 2.4542, is 0.2140, and that is 0.1470 of the sum, 1.4556.",
     "embedding,q,k,scores,masked,weights,v,context"},
    {"Heads side by side",
     "Several heads look at the same words, each with matrices of its own, and each gives a "
     "context. Here are four, with values of one number.",
     "attn-cli run -m life-4-heads " LIFE " --show weights,attn_out",
     "Heads disagree: 'first' gives itself 0.2794 in head 0 and 0.4407 in head 1. The output of a "
     "word is its four contexts, one beside the other: for 'is', 0.4003 1.7137 1.3981 1.0497.",
     "weights:0.0:5:5 weights:0.1:5:5 attn_out:1:0 attn_out:1:1 attn_out:1:2 attn_out:1:3",
     "In which head does 'is' look at itself most, and in which least?",
     "Most in head 1, 0.9199, and least in head 2, 0.6475: each head has matrices of its own, so "
     "the same two words have another score in each."},
    {"Heads with an output projection",
     "In a GPT the channels are shared out among the heads, and a last matrix, W_O, mixes what "
     "the heads found. tiny has 2 layers with 4 heads of 24 numbers each.",
     "attn-cli explain -m tiny -s \"Life is short\" --token short --layer 0 --head 2",
     "Two things are new. A head does not take in an embedding but x: the sum of the embeddings of "
     "a word and of its position, normed. And step 9 shows what each head adds to the output: "
     "W_O falls into one piece a head, and attn_out is the sum of the rows above it. What follows "
     "is the rest of the layer: the sum with h, and the MLP.",
     "scores:2:0 weights:2:0",
     "'short' looks at 'Life' most, 0.7649, though the score is negative, -1.2364. How can that "
     "be?",
     "The other scores are lower still, -10.0619 and -10.7872. The softmax knows differences "
     "alone: the same number more for every key changes no weight.",
     "ln_1,q,k,scores,masked,weights,v,context,attn_out"},
    {"No word sees the future",
     "A model that writes must not look at words to come. Before the softmax their scores become "
     "minus infinity: an empty cell in these tables.",
     "attn-cli run -m life-causal " LIFE " --show masked,weights",
     "'Life', the first word, sees only itself: 1.0000. 'is' shares its attention between two "
     "words, 0.0532 and 0.9468. 'first', the last word, sees all of them, and its row is the one "
     "that the model without a mask has: try -m life.",
     "weights:0:0 weights:1:0 weights:1:1", "Which row would not change without the mask?",
     "The last, that of 'first': nothing comes after it, so there is nothing to hide. It gives "
     "'short' 0.3102 in either case."},
    {"The mask after the softmax",
     "The other order gives the same: softmax over all words first, then the future is made 0, and "
     "what remains of a row is divided by its sum.",
     "attn-cli run -m life-causal " LIFE " --mask-after --show softmax,masked,weights",
     "In softmax 'is' gives 0.0386 to 'Life' and 0.6870 to itself, and the rest to the future. The "
     "mask leaves these two; divided by what they add up to they are 0.0532 and 0.9468, as in the "
     "step before. Words to come took part in the softmax, but only in what its row is divided by, "
     "and that cancels.",
     "softmax:1:0 softmax:1:1 weights:1:0 weights:1:1",
     "'Life' has 0.1772 for itself before the mask, and 1.0000 after it. What became of the rest?",
     "It belonged to words to come, and was made 0. What is left of the row, 0.1772, is divided by"
     " its sum, which is 0.1772, too."},
    {"Cross-attention: looking at another text",
     "Queries may come from one text, and keys and values from another, as a translator reads one "
     "language while writing another. The matrices are those of life; tables have words of the "
     "sentence as rows and words of the source as columns.",
     "attn-cli run -m life-cross " LIFE " --source \"the cat sat on that mat all day\" "
     "--show weights,context",
     "'is' looks at 'day' most, 0.2301, and at 'sat' least, 0.0547. The source has eight words, so "
     "a row has eight weights; the context of 'is', 0.7088 0.8629 0.7703 1.1768, is made of values "
     "of the source alone.",
     "weights:1:7 weights:1:2 context:1:0 context:1:1 context:1:2 context:1:3",
     "Why has not even the row of 'Life', the first word, an empty cell?",
     "The source is there as a whole before the first word is written, so none of it is to come: "
     "'Life' may look at its last word, 'day', too, 0.1166."},
    {"Heads that share keys and values",
     "A model that writes keeps the keys and values of every word it has seen. Query heads can "
     "share them: here four look at two, the first pair at one and the second at the other. "
     "(n_kv_head in config.json; with 1 of them all share one.)",
     "attn-cli run -m life-grouped " LIFE " --show k,v,weights,attn_out",
     "There are four tables of weights, but two of k and two of v. Heads 0 and 1 ask the same keys "
     "with queries of their own: 'first' gives 'short' 0.3102 in head 0 and 0.2978 in head 1. The "
     "output of 'is', 0.4003 0.3748 1.3850 1.3781, begins as that of life-4-heads does: head 0 is "
     "the same in both.",
     "weights:0.0:5:2 weights:0.1:5:2 attn_out:1:0 attn_out:1:1 attn_out:1:2 attn_out:1:3",
     "How many numbers are kept of these six words, and how many if no head shared?",
     "Two heads of keys with 2 numbers a word and two of values with 1: 36 numbers. Four heads of "
     "each would be 72."},
};

const size_t lesson_count = sizeof lesson_rows / sizeof *lesson_rows;

const struct page_lesson lesson_walk = {
    "The way of a text through a model",
    "Every token has a row of numbers, a stream, from its embedding to the scores of the token "
    "that comes next. On its way it is read by branches, attention and MLP, layer by layer, and "
    "what they find is added to it. A station of the diagram opens the tensor that stands there; "
    "the keys , and . go to the one before and after.",
    "",
    "Follow the plus signs: there a branch gives to the stream what it has found.",
    "",
    "By which stations can a token learn of another one?",
    "By those between the weights and the context alone: all others work on each token by itself.",
    "all",
    .is_walk = true};
