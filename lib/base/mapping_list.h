/* mapping_list.h: the files that are mapped into memory, for a handler of SIGBUS: a page that lies
 * beyond the end of its file, because somebody has made the file shorter, cannot be read.
 *
 *     mapping_list_add(bytes, size, "models/life/model.safetensors", err);
 *     mapping_list_path(address);                          (in a handler that ends the program)
 *     mapping_list_remove(bytes);
 *
 * or, for a handler that goes on with zeros (host_call.h):
 *
 *     before = mapping_list_own(model);
 *     ... mapping_list_fill(address) (in the handler) ...
 *     failed |= mapping_list_check(model, err);
 *     mapping_list_own(before);
 */
#ifndef ATTN_BASE_MAPPING_LIST_H
#define ATTN_BASE_MAPPING_LIST_H

#include "base/err.h"

/* Add a mapping; the path is copied. */
int mapping_list_add(const void *bytes, size_t size, const char *path, struct err *err);

void mapping_list_remove(const void *bytes);

/* The path of the file that is mapped at an address, valid until it is removed; NULL: unknown. Safe
 * in a signal handler. */
const char *mapping_list_path(const void *address);

/* Set the owner of the mappings that this thread adds from now on; returns the previous one. */
const void *mapping_list_own(const void *owner);

/* Replace an owner's mapping by zeros, from the page of this address to its end. False: nobody owns
 * a mapping there, or the system refuses. Safe in a signal handler. */
bool mapping_list_fill(const void *address);

/* -1 with `err`, in place of any other message, if a mapping of this owner was filled with zeros:
 * as long as it is mapped, or once if it was removed. */
int mapping_list_check(const void *owner, struct err *err);

#endif
