/* lesson.h: the texts of the lesson, which lesson/embed.sh makes from lesson/steps.txt. */
#pragma once

#include "draw/page.h"

/* The lesson in a language. */
struct lesson {
    const char *language; /* code of the language in HTML, such as "zh" */
    const char *name;
    const char *page; /* title of the HTML page */
    /* words before the texts `look`, `question` and `answer` of a step */
    const char *look, *ask, *reply;
    const char *next;                       /* words before the command of the next step */
    const char *more;                       /* line below each screen but the last, on a terminal */
    const char *last;                       /* words after the last step */
    const char *variance, *largest, *slope; /* headings of the columns of `lesson scale` */
    const struct page_lesson *steps;
};

enum { LESSONS = 2 };

extern const struct lesson lessons[LESSONS]; /* the first one is the default */
/* how many steps have a number; `lesson scale` and the journey come after them */
extern const size_t lesson_steps;
