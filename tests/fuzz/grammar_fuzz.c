/* A grammar; and two texts of it, if it is one. */
#include "fuzz.h"

#include "train/grammar.h"

void fuzz_one(const char *bytes, size_t size)
{
    static struct buf text; /* its memory stays for the next input */
    struct grammar grammar = {0};
    if (grammar_read(&grammar, bytes, size, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    fuzz_check(grammar.rule_count, "a grammar has a rule");
    for (uint64_t key = 1; key <= 2; key++) {
        buf_clear(&text);
        if (grammar_write(&grammar, &text, 0, key, &fuzz_err))
            fuzz_refused();
        else
            fuzz_check(text.size <= GRAMMAR_TEXT_MAX, "a text is a megabyte at most");
    }
    grammar_release(&grammar);
}
