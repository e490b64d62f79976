/* unigrams.h: how frequent words are, for SLOR (Pauls and Klein, 2012; Lau et al., 2017): the
 * log-probability of a text minus that of its words by themselves, per word. */
#pragma once

#include "base/hash.h"

struct unigrams {
    struct unigram {
        const char *word;
        size_t size;
        double count;
    } * items;
    size_t count;
    double total; /* of all counts */
    struct hash_index found;
};

/* Read lines of a word, a tab and its count; more columns, and a first line without a count, are
 * skipped. The words point into `bytes`. */
int unigrams_read(struct unigrams *unigrams, const char *bytes, size_t size, struct arena *arena,
                  struct err *err);

/* The log-probability of a word: as it is, without punctuation around it, or in small letters. A
 * word that is not listed counts as 1, and adds to `unknown`. */
double unigrams_logprob(const struct unigrams *unigrams, const char *word, size_t size,
                        size_t *unknown);
