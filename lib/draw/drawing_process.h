/* drawing_process.h: a process of its own for libraries that may die, spin or chatter.
 *
 * pango, fontconfig and glib end the process that they are in, by a signal and out of threads of
 * their own, when they find no memory; fontconfig may go round in a circle for ever. In a process
 * beside ours all of that becomes an error of one picture: no temporary file stays, nothing is
 * said but our one line. It begins as a copy of ours and ends with us, however we end.
 *
 *     if (drawing_process_start(&process, serve, err)) ...
 *     drawing_process_send(&process, &order, sizeof order);
 *     if (drawing_process_receive(&process, &answer, sizeof answer, err)) ...
 */
#ifndef ATTN_DRAW_DRAWING_PROCESS_H
#define ATTN_DRAW_DRAWING_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum { DRAWING_BUFFER_BYTES = 16 * 1024 };

struct drawing_process {
    pid_t pid; /* 0: there is none */
    int socket;
    bool failed;                       /* it does not listen any more */
    char buffer[DRAWING_BUFFER_BYTES]; /* of what is on its way there */
    size_t used;
};

/* `serve` runs there; the process ends when it returns. */
int drawing_process_start(struct drawing_process *process, void (*serve)(void), struct err *err);

/* What is sent is buffered, up to the next drawing_process_receive; failures stick, and are told
 * there: then the process has ended, and its error says how. */
void drawing_process_send(struct drawing_process *process, const void *bytes, size_t size);
int drawing_process_receive(struct drawing_process *process, void *answer, size_t size,
                            struct err *err);

/* There: read what was sent, false when no more will come; answer, when somebody receives. */
bool drawing_process_read(void *bytes, size_t size);
bool drawing_process_answer(const void *bytes, size_t size);

/* There: a sign of life. From one to the next it may take two minutes of the processor: a first
 * look at ten thousand fonts takes a small machine one. */
void drawing_process_progress(void);

/* Test: so many seconds. */
void drawing_process_limit(int seconds);

#endif
