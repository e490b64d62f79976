/* contacts.h: contacts of residues in the fold of a protein, predicted from attention (Rao et al.,
 * 2021) by a logistic regression over the maps of all heads. Checkpoints of ESM contain the weights
 * of this regression.
 *
 *     struct contact_head head;
 *     if (contacts_open(&head, &viewer, &arena, err) || contacts_check(&pair.text, err) ||
 *         contacts_run(&viewer, &head, &asked, 20, &arena, err)) ...
 */
#pragma once

#include "lens/viewer.h"

/* The smallest distance, in residues, of pairs in the table: nearer residues touch in any fold. */
enum { CONTACT_APART = 6 };

struct contact_head {
    const float *weights; /* [layers · heads] weight of each head's map in the regression */
    float bias;
    struct selection selection; /* selects the maps of all layers */
};

/* Read the contact head of an open model. Refuses, as not supported, a model without such a
 * head. */
int contacts_open(struct contact_head *head, const struct viewer *viewer, struct arena *arena,
                  struct err *err);

/* Refuse a text of fewer than three tokens, or without <eos> at its end: it must be <cls>, residues
 * and <eos>. */
int contacts_check(const struct tokenized *text, struct err *err);

/* Add the memory for a text: for the maps of a layer, and for the matrix of contacts. */
void contacts_add_memory(struct memory *memory, const struct contact_head *head,
                         const struct viewer *viewer, const struct text_with_source *pair);

/* Fill the report of one text: the array `contacts`, the probabilities of all pairs of residues,
 * which are numbered from 1; and for people a table of the `top` most probable pairs of residues
 * that are CONTACT_APART or farther apart. */
int contacts_run(struct viewer *viewer, const struct contact_head *head,
                 const struct capture_request *asked, size_t top, struct arena *arena,
                 struct err *err);
