/* weights_file.h: writes figures and pages of attention weights that another program computed. No
 * model is opened.
 *
 *     [L, H, T, T]       an array of all layers (npy, npz, safetensors, torch.save)
 *     [L, B, H, T, T]    as Hugging Face's output_attentions, stacked; B is 1
 *     [B, H, T, T]       arrays of single layers, in the order of the numbers in their names, such
 *                        as np.savez(path, *output.attentions)
 *     [H, T, T]          a layer
 *     {"attention": [{"attn": …, "left_text": …}]}    JSON of BertViz, with its tokens */
#pragma once

#include "options.h"

/* True if --weights or --tokens is given. */
static inline bool weights_file_is_asked(const struct options *options)
{
    return options->input.weights || options->input.tokens;
}

/* Write the figures of --weights, with the tokens of --tokens, in the format of --format or
 * --output or, with `page`, as a page. Refused: options that need a model. */
int weights_file_show(const struct options *options, bool page, struct err *err);
