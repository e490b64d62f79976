/* change.h: what happens to the files of a case, told in a line.
 *
 *     FILE = TEXT          the file is written
 *     FILE += TEXT         the text is put behind what the file holds
 *     FILE: OLD -> NEW     the first OLD in it, which must be there, becomes NEW
 *     FILE cut N           its first N bytes stay; without the last N where N is below 0
 *     FILE grow N          it is N bytes long, the new ones a hole
 *     FILE gone            it is removed
 *     FILE moved NAME      it gets another name
 *     FILE folder          a folder of that name is made
 *     FILE link TARGET     a symbolic link is made
 *     header = TEXT        the header of m/model.safetensors, and its length, are written anew; its
 *     header: OLD -> NEW   data stays as it is
 *     pickle = TEXT        data.pkl of m/pytorch_model.bin is written anew; the other entries stay
 *     pickle: OLD -> NEW   as they are
 *
 *     if (change_apply("m/config.json: \"n_embd\": 3 -> 4", &err)) ...
 */
#ifndef ATTN_TESTS_CHANGE_H
#define ATTN_TESTS_CHANGE_H

#include "base/err.h"

/* Files are named from the working directory. Errors are mistakes in the table. */
int change_apply(const char *change, struct err *err);

#endif
