/* library_malloc.h: memory that runs out for libraries, which do not ask heap.h for it: from the
 * nth allocation on, every one fails, in every process that this one starts, but not in itself.
 *
 *     library_malloc_fail_from(200);        0: no more
 *     ... fork ...
 *     if (!library_malloc_has_failed()) ... there were fewer
 */
#ifndef ATTN_TESTS_LIBRARY_MALLOC_H
#define ATTN_TESTS_LIBRARY_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* False where a sanitizer has malloc for itself. */
bool library_malloc_can_fail(void);

void library_malloc_fail_from(size_t nth);
bool library_malloc_has_failed(void);

#endif
