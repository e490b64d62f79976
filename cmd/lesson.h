/* lesson.h: the texts of the lesson, which lesson/embed.sh makes from lesson/steps.txt. */
#pragma once

#include "draw/page.h"

/* The lesson in a language. */
struct lesson {
    const char *language; /* as in HTML: "zh" */
    const char *name;
    const char *page;               /* title of the HTML page */
    const char *look, *ask, *reply; /* before the texts `look`, `question` and `answer` of a step */
    const char *next;               /* before the command of the next step */
    const char *more;               /* on a terminal, below a screen that is not the last */
    const char *last;               /* after the last step */
    const char *variance, *largest, *slope; /* headings of `lesson scale` */
    const struct page_lesson *steps;
};

enum { LESSONS = 2 };

extern const struct lesson lessons[LESSONS]; /* the first one is the default */
extern const size_t lesson_steps; /* steps with a number; `lesson scale` and the journey follow */
