/* fma_loop.h: loops that do nothing but multiply-adds, each in one kind of vector.
 *
 * FMA_CHAINS chains that do not depend on each other, so that every unit has something to do in
 * every cycle; nothing is read and nothing is written.
 *
 *     fma_loop *loop = fma_loop_find(FMA_AVX512);
 *     float total = loop ? loop() : 0;
 */
#ifndef ATTN_MATH_FMA_LOOP_H
#define ATTN_MATH_FMA_LOOP_H

/* The widest first. Plain is what C has everywhere: a product, then a sum, four floats at a time.
 */
enum fma_form { FMA_AVX512, FMA_AVX2, FMA_PLAIN, FMA_FORMS };

enum {
    FMA_CHAINS = 12,  /* a latency of 4 cycles and 2 units need 8; 16 registers hold 12 and more */
    FMA_STEPS = 4096, /* of one call, which takes some 10 µs */
};

/* FMA_STEPS multiply-adds in every lane of every chain. What they come to is returned, so that no
 * compiler leaves them out. */
typedef float fma_loop(void);

/* The loop of a form; NULL where this processor does not have its instructions. */
fma_loop *fma_loop_find(enum fma_form form);

/* The floats of its vectors. */
int fma_lanes(enum fma_form form);

/* "avx512", "avx2", "plain". */
const char *fma_name(enum fma_form form);

#endif
