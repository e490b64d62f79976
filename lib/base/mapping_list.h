/* mapping_list.h: which files lie in memory, and where: for a signal handler, which has an address
 * and wants a name.
 *
 *     mapping_list_add(bytes, size, "models/life/model.safetensors");
 *     mapping_list_path(address);       (in the handler)
 *     mapping_list_remove(bytes);
 */
#ifndef ATTN_BASE_MAPPING_LIST_H
#define ATTN_BASE_MAPPING_LIST_H

#include <stddef.h>

/* Remember a mapping; the path is copied. Without memory or a free place it has no name. */
void mapping_list_add(const void *bytes, size_t size, const char *path);

void mapping_list_remove(const void *bytes);

/* The path of the file that lies at an address, valid until it is removed; NULL: not known. Only
 * async-signal-safe calls. */
const char *mapping_list_path(const void *address);

#endif
