/* verdict.h: what is wrong with how the program ended, beside a run in peace.
 *
 * It ends with a status that the trouble allows, by a signal only where one was sent to it or its
 * reader left, says one line or none, leaves no temporary file, and every file under its final name
 * is whole or what was there before. What succeeded has written and printed what it does in peace.
 *
 *     struct buf faults = {0};
 *     verdict_on(&faults, &scene, &before, &after);
 */
#ifndef ATTN_TESTS_VERDICT_H
#define ATTN_TESTS_VERDICT_H

#include <stdbool.h>

#include "base/buf.h"
#include "holding.h"
#include "scene.h"

/* Append a line for everything that is wrong. */
void verdict_on(struct buf *faults, const struct scene *scene, const struct holding *before,
                const struct holding *after);

/* A batch that is done, though items of it failed: there is nothing to make up for. */
bool verdict_items_failed(const struct scene *scene);

/* The same for the run in peace that followed: it makes up for what was not done. */
void verdict_on_repeat(struct buf *faults, const struct scene *scene, const struct holding *after);

#endif
