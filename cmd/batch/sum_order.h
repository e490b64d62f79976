/* sum_order.h: the order in which a batch's products of bf16 are summed: that of AMX's tiles, or
 * that of all other processors. Results of both are not to be mixed, so a head names it with each
 * model in bf16, and heads that differ in nothing else are refused with the way out.
 *
 *     if (sum_order_is_all(head, found, size))
 *         return sum_order_refuse(path, found, size, err);
 */
#ifndef ATTN_CMD_SUM_ORDER_H
#define ATTN_CMD_SUM_ORDER_H

#include "base/err.h"

/* What stands in a model's object: "bf16": "amx", … */
const char *sum_order_member(bool tiles);

/* Whether that alone is different in two lines of `size` bytes. */
bool sum_order_is_all(const char *line, const char *other, size_t size);

/* Say so of a record that has the line `found`, of what is to go on here; of a shard that has it,
 * beside another. Both return -1. */
int sum_order_refuse(const char *path, const char *found, size_t size, struct err *err);
int sum_order_refuse_shard(const char *path, const char *found, const char *first, struct err *err);

#endif
