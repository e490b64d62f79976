/* jinja_tree.h: a parsed template as jinja_parse.c makes it and jinja.c runs it. */
#pragma once

#include "text/jinja.h"

/* The kinds of struct jinja_node. Statements are linked by `next`, and so are the expressions of a
 * list. */
enum node_kind {
    /* statements; `next` is the next statement */
    NODE_OUTPUT,  /* print the expression a */
    NODE_SET,     /* set the target a, or the names a linked by `next`, to the expression b */
    NODE_CAPTURE, /* set the target a to the output of `body` */
    NODE_IF,      /* if the condition a is true, run `body`, else `otherwise` */
    NODE_FOR,     /* run `body` with the names a set to each item of b for which the condition c, if
                   * any, is true; run `otherwise` if there is no such item */
    NODE_MACRO,   /* define `name` with `body` and the parameters a, each with its default as `b` */
    NODE_BREAK,
    NODE_CONTINUE,
    /* expressions; in a list, `next` is the next expression */
    NODE_VALUE,    /* the constant `value` */
    NODE_NAME,     /* the variable `name` */
    NODE_LIST,     /* the list of the expressions a, linked by `next` */
    NODE_DICT,     /* the map of the NODE_ARGUMENT nodes a, linked by `next`: key a, value b */
    NODE_MEMBER,   /* the member `a.name` */
    NODE_ITEM,     /* the item `a[b]` */
    NODE_SLICE,    /* the slice `a[b:c:d]`; b, c or d is NULL if it is left out */
    NODE_CALL,     /* the call `a(b)`, with the arguments b, linked by `next` */
    NODE_ARGUMENT, /* the argument `name = a` of a call, or a pair of a map: key a, value b */
    NODE_FILTER,   /* the filter `a | name(b)`, with the arguments b, linked by `next` */
    NODE_TEST,     /* the test `a is name(b)`, with the arguments b, linked by `next` */
    NODE_NOT,      /* the expression `not a` */
    NODE_MINUS,    /* the expression `-a` */
    NODE_AND,      /* the expression `a and b` */
    NODE_OR,       /* the expression `a or b` */
    NODE_CHOOSE,   /* the expression `b if a else c`; c NULL: undefined */
    NODE_BINARY,   /* an expression `a operator b` */
};

enum binary {
    PLUS,
    MINUS,
    TIMES,
    QUOTIENT,
    REMAINDER,
    JOINED,
    EQUAL,
    UNEQUAL,
    LESS,
    MOST,
    MORE,
    LEAST,
    IN,
    NOT_IN
};

struct jinja_node {
    enum node_kind kind;
    enum binary binary;
    size_t line;
    const char *name;
    struct jinja_value value;
    struct jinja_node *a, *b, *c, *d, *body, *otherwise, *next;
};

struct jinja {
    const struct jinja_node *body;
};
