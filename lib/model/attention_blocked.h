/* attention_blocked.h: dense attention a block of keys at a time: exact, in memory that does not
 * grow with the keys.
 *
 * Of every query the largest score so far and the sum so far are kept. A block whose scores are
 * larger makes what was summed before smaller by e^(old - new); at the end everything is divided by
 * the sum. The weights are what dense attention has, but for rounding. Watched squares are written
 * on the way, and put right at the end of a strip.
 */
#ifndef ATTN_MODEL_ATTENTION_BLOCKED_H
#define ATTN_MODEL_ATTENTION_BLOCKED_H

#include "model/attention_job.h"

extern const struct attention_way attention_blocked;

#endif
