/* change.h: changes of files in the tables of cases.
 *
 *     FILE = TEXT          write the file
 *     FILE += TEXT         append the text
 *     FILE: OLD -> NEW     replace the first OLD, which must be there
 *     FILE cut N           keep the first N bytes; if N is negative, remove the last -N
 *     FILE grow N          extend it to N bytes, with a hole
 *     FILE gone            remove it
 *     FILE moved NAME      rename it
 *     FILE folder          make a folder
 *     FILE link TARGET     make a symbolic link
 *     header = TEXT        replace the header of m/model.safetensors and its length, but not the
 *     header: OLD -> NEW   data
 *     pickle = TEXT        replace data.pkl in m/pytorch_model.bin, but no other entry
 *     pickle: OLD -> NEW
 *
 *     if (change_apply("m/config.json: \"n_embd\": 3 -> 4", &err)) ...
 */
#pragma once

#include "base/err.h"

/* Names of files are relative to the working directory. Errors are mistakes in the table. */
int change_apply(const char *change, struct err *err);
