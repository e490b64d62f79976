/* clock.h: time that passes, for measuring: it never jumps, and means nothing by itself. */
#ifndef ATTN_BASE_CLOCK_H
#define ATTN_BASE_CLOCK_H

/* Seconds since some moment in the past. */
double clock_seconds(void);

#endif
