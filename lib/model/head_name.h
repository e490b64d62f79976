/* head_name.h: names of heads, as they are printed everywhere: head 3 of layer 1 is "L1H3", and
 * head 0 of the keys and values of layer 1, if several query heads share it, is "L1KV0".
 *
 *     char name[HEAD_NAME_BYTES];
 *     print_note("%s attends to the first token", head_name(name, 1, 3));
 *
 * lib/lens/selection.h reads these names.
 */
#pragma once

#include <stddef.h>

enum { HEAD_NAME_BYTES = 48 };

/* Write the name of a query head, and return `name`. */
const char *head_name(char name[HEAD_NAME_BYTES], size_t layer, size_t head);

/* Write the name of a head of keys and values that several query heads share, and return `name`. */
const char *kv_head_name(char name[HEAD_NAME_BYTES], size_t layer, size_t kv_head);
