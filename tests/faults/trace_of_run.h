/* trace_of_run.h: what a command leaves behind: what it said, and its files.
 *
 *     trace_begin(folder);                  in a process of its own; then the command
 *     if (!trace_within(folder, whole)) ... something is left that is not whole
 */
#ifndef ATTN_TESTS_TRACE_OF_RUN_H
#define ATTN_TESTS_TRACE_OF_RUN_H

#include <stdbool.h>

/* Empty the folder, or make it; what is said goes to its files `out` and `err`; the working
 * directory is its `files`. */
void trace_begin(const char *folder);

/* True when standard error holds the program's lines alone, and the last one is an error that has
 * these words. */
bool trace_said(const char *folder, const char *words);

/* True when both left the same. */
bool trace_same(const char *a, const char *b);

/* True when every file is one of the whole, and standard output the beginning of the whole's: what
 * was typed so far may have got an end of its line. */
bool trace_within(const char *folder, const char *whole);

/* True when some items of a batch failed, and these words say why; what is left has the names of
 * the whole's files. */
bool trace_excused(const char *folder, const char *whole, const char *words);

/* Print it, for somebody who looks for the fault. */
void trace_show(const char *folder);

#endif
