/* attention_linear.h: φ(q) · (Σ φ(k) vᵀ) / φ(q) · Σ φ(k), with φ(x) = elu(x) + 1 of q and k
 * unscaled.
 *
 * The sums over the keys run along the text: a token more costs the same, however long the text is,
 * and no weights are ever made. Where they are watched they are computed beside that: scores
 * φ(q) · φ(k), masked the same with the future at 0, weights rows of that divided by their sum.
 * Behind a cache the sums so far are kept in it.
 */
#ifndef ATTN_MODEL_ATTENTION_LINEAR_H
#define ATTN_MODEL_ATTENTION_LINEAR_H

#include "model/attention_job.h"

extern const struct attention_way attention_linear;

#endif
