/* jinja_tree.h: a parsed template as jinja_parse.c makes it and jinja.c runs it. */
#pragma once

#include "text/jinja.h"

/* Statements form a list by `next`, and so do the expressions of a list. */
enum node_kind {
    /* statements; `next` is the next statement */
    NODE_OUTPUT,  /* a: expression */
    NODE_SET,     /* a: target, or names by `next`; b: expression */
    NODE_CAPTURE, /* a: target; body */
    NODE_IF,      /* a: condition; body; otherwise */
    NODE_FOR,     /* a: names by `next`; b: expression; c: condition or NULL; body; otherwise */
    NODE_MACRO,   /* name; a: names by `next`, each with its default as `b`; body */
    NODE_BREAK,
    NODE_CONTINUE,
    /* expressions; in a list, `next` is the next expression */
    NODE_VALUE,    /* a constant: value */
    NODE_NAME,     /* a variable: name */
    NODE_LIST,     /* a: expressions by `next` */
    NODE_DICT,     /* a: keys by `next`, each with its value as `b` */
    NODE_MEMBER,   /* a.name */
    NODE_ITEM,     /* a[b] */
    NODE_SLICE,    /* a[b:c:d]; NULL: left out */
    NODE_CALL,     /* a(b: arguments by `next`) */
    NODE_ARGUMENT, /* name = a */
    NODE_FILTER,   /* a | name(b: arguments by `next`) */
    NODE_TEST,     /* a is name(b: arguments by `next`) */
    NODE_NOT,      /* not a */
    NODE_MINUS,    /* -a */
    NODE_AND,      /* a and b */
    NODE_OR,       /* a or b */
    NODE_CHOOSE,   /* b if a else c; c NULL: undefined */
    NODE_BINARY,   /* a operator b */
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
