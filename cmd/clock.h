/* clock.h: how long something takes. */
#ifndef ATTN_CMD_CLOCK_H
#define ATTN_CMD_CLOCK_H

/* Seconds since some moment that stays the same. */
double clock_seconds(void);

#endif
