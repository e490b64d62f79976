/* story.h: a text that goes on, all of it in one hand; every step must succeed.
 *
 *     struct story story;
 *     struct input input = story_input("Life is short");
 *     struct generation_config generation = {.tokens = 10, .sampling = {.top_p = 1}};
 *     story_open(&story, "tiny", &input);
 *     story_begin(&story, &generation);
 *     story_go_on(&story);                                  (story.text.text.bytes)
 *     story_release(&story);
 */
#ifndef ATTN_TESTS_STORY_H
#define ATTN_TESTS_STORY_H

#include "lens/continuation.h"
#include "lens/viewer.h"

/* A text that went on, and what it went on from. */
struct story {
    struct viewer viewer;
    struct text_pair prompt;
    struct selection selection;
    struct continuation text;
    struct arena arena;
};

/* On one thread. Beside a source, which it looks at; without an input it begins as the model says.
 */
void story_open(struct story *story, const char *model, const struct input *input);
void story_open_beside(struct story *story, const char *model, const struct input *input,
                       const struct input *source);
void story_release(struct story *story);

struct input story_input(const char *text);

/* Select all sites that can be kept, in all layers; `heads` as --head takes them, NULL: all. */
void story_select(struct story *story, const char *heads);

void story_begin(struct story *story, const struct generation_config *generation);
void story_go_on(struct story *story);

/* "34,104": its ids, which its text may be cut into in another way; they live as long as it. */
const char *story_ids(struct story *story);

/* Its report must be, to the bit, that of a run over the whole text. */
void story_expect_report(struct story *story);

#endif
