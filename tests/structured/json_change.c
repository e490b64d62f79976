#include "json_change.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "odd.h"

enum { TRIES = 8, DOUBLINGS = 6, CHILDREN_MAX = 8192, KEY_BYTES = 64 };

/* --- nodes ------------------------------------------------------------------------------------ */

static size_t count_nodes(const cJSON *node)
{
    size_t count = 1;
    for (const cJSON *child = node->child; child; child = child->next)
        count += count_nodes(child);
    return count;
}

/* Node number `*left` of the tree; `*left` counts down. */
static cJSON *find_node(cJSON *node, size_t *left)
{
    cJSON *found = *left ? NULL : node;
    for (cJSON *child = node->child; child && !found; child = child->next) {
        --*left;
        found = find_node(child, left);
    }
    return found;
}

/* A container of a thousand children is as likely as one of them: else few would be seen. */
static cJSON *pick_node(cJSON *root, struct made *made)
{
    cJSON *node = root;
    size_t left = made_below(made, count_nodes(root));
    if (made_one_in(made, 2))
        return find_node(root, &left);
    while (node->child && !made_one_in(made, 3))
        node = cJSON_GetArrayItem(node, (int)made_below(made, (size_t)cJSON_GetArraySize(node)));
    return node;
}

/* The text or the name of another node, so that two are the same; else an odd one. */
static const char *other_text(cJSON *root, struct made *made)
{
    for (int i = 0; i < TRIES && !made_one_in(made, 3); i++) {
        const cJSON *node = pick_node(root, made);
        const char *text = made_one_in(made, 2) ? node->string : node->valuestring;
        if (text)
            return text;
    }
    return odd_text(made);
}

/* Appended, under the name that it has. */
static void add_child(cJSON *node, cJSON *child)
{
    cJSON_AddItemToArray(node, made_memory(child));
}

static void set_name(cJSON *node, const char *name)
{
    cJSON *named = made_memory(cJSON_CreateString(name));
    cJSON_free(node->string);
    node->string = named->valuestring;
    named->valuestring = NULL;
    cJSON_Delete(named);
}

/* The value goes into the node, which keeps its place and its name. */
static void become(cJSON *node, cJSON *value)
{
    cJSON held = *node;
    made_memory(value);
    node->type = value->type;
    node->child = value->child;
    node->valuestring = value->valuestring;
    node->valueint = value->valueint;
    node->valuedouble = value->valuedouble;
    value->type = held.type;
    value->child = held.child;
    value->valuestring = held.valuestring;
    cJSON_Delete(value);
}

/* --- values ----------------------------------------------------------------------------------- */

/* [[[…]]], or the same with objects. */
static cJSON *deep_value(struct made *made)
{
    static const size_t depths[] = {2, 10, 63, 64, 100, 500, 998, 999, 1000, 2000};
    size_t depth = MADE_PICK(made, depths);
    bool objects = made_one_in(made, 2);
    struct buf text = {0};
    for (size_t i = 0; i < depth; i++)
        buf_text(&text, objects ? "{\"a\":" : "[");
    buf_text(&text, "0");
    for (size_t i = 0; i < depth; i++)
        buf_char(&text, objects ? '}' : ']');
    cJSON *value = cJSON_CreateRaw(text.bytes);
    buf_release(&text);
    return value;
}

static cJSON *odd_value(struct made *made)
{
    switch (made_below(made, 8)) {
    case 0:
        return cJSON_CreateNull();
    case 1:
        return cJSON_CreateBool(made_one_in(made, 2));
    case 2:
        return cJSON_CreateArray();
    case 3:
        return cJSON_CreateObject();
    case 4:
        return deep_value(made);
    case 5:
        return cJSON_CreateString(odd_text(made));
    default:
        return cJSON_CreateRaw(odd_number(made));
    }
}

/* --- changes: false where a node has nothing to change ---------------------------------------- */

static bool change_value(cJSON *root, cJSON *node, struct made *made)
{
    if (cJSON_IsNumber(node))
        become(node, cJSON_CreateRaw(odd_number(made)));
    else if (cJSON_IsString(node))
        become(node, cJSON_CreateString(other_text(root, made)));
    else if (cJSON_IsBool(node))
        become(node, cJSON_CreateBool(!cJSON_IsTrue(node)));
    else
        return false;
    return true;
}

static bool change_type(cJSON *root, cJSON *node, struct made *made)
{
    if (node == root)
        return false;
    become(node, odd_value(made));
    return true;
}

static bool change_name(cJSON *root, cJSON *node, struct made *made)
{
    if (!node->string)
        return false;
    set_name(node, other_text(root, made));
    return true;
}

static bool exchange_children(cJSON *root, cJSON *node, struct made *made)
{
    int count = cJSON_GetArraySize(node);
    (void)root;
    for (int i = 0; i + 1 < count && count < CHILDREN_MAX; i++) {
        int from = (int)made_below(made, (size_t)(count - i));
        add_child(node, cJSON_DetachItemFromArray(node, from));
    }
    return count > 1;
}

/* Two values change places, their names stay. */
static bool exchange_values(cJSON *root, cJSON *node, struct made *made)
{
    int count = cJSON_GetArraySize(node);
    (void)root;
    if (count < 2)
        return false;
    cJSON *one = cJSON_GetArrayItem(node, (int)made_below(made, (size_t)count));
    cJSON *other = cJSON_GetArrayItem(node, (int)made_below(made, (size_t)count));
    cJSON *copy = made_memory(cJSON_Duplicate(one, true));
    become(one, cJSON_Duplicate(other, true));
    become(other, copy);
    return true;
}

/* A copy of a child; in an object under a name of its own. */
static void repeat_child(cJSON *node, int index, struct made *made)
{
    char name[KEY_BYTES];
    cJSON *copy = made_memory(cJSON_Duplicate(cJSON_GetArrayItem(node, index), true));
    snprintf(name, sizeof name, "%.32s%zu", copy->string ? copy->string : "",
             made_below(made, CHILDREN_MAX));
    if (copy->string)
        set_name(copy, name);
    add_child(node, copy);
}

static bool repeat_one(cJSON *root, cJSON *node, struct made *made)
{
    int count = cJSON_GetArraySize(node);
    (void)root;
    if (!count)
        return false;
    repeat_child(node, (int)made_below(made, (size_t)count), made);
    return true;
}

static bool double_all(cJSON *root, cJSON *node, struct made *made)
{
    size_t doublings = 1 + made_below(made, DOUBLINGS);
    (void)root;
    if (!node->child)
        return false;
    for (size_t i = 0; i < doublings; i++) {
        int count = cJSON_GetArraySize(node);
        for (int k = 0; k < count && 2 * count < CHILDREN_MAX / 8; k++)
            repeat_child(node, k, made);
    }
    return true;
}

static bool leave_out(cJSON *root, cJSON *node, struct made *made)
{
    int count = cJSON_GetArraySize(node);
    (void)root;
    if (count)
        cJSON_DeleteItemFromArray(node, (int)made_below(made, (size_t)count));
    return count > 0;
}

static bool add_unknown(cJSON *root, cJSON *node, struct made *made)
{
    bool is_object = cJSON_IsObject(node);
    if (!is_object && !cJSON_IsArray(node))
        return false;
    cJSON *value = made_memory(odd_value(made));
    if (is_object)
        set_name(value, made_one_in(made, 2) ? "unknown" : other_text(root, made));
    add_child(node, value);
    return true;
}

static bool change_tree(cJSON *root, struct made *made)
{
    static bool (*const changes[])(cJSON *, cJSON *, struct made *) = {
        change_value,    change_value, change_value, change_type, change_name, exchange_children,
        exchange_values, repeat_one,   double_all,   leave_out,   add_unknown,
    };
    for (int i = 0; i < TRIES; i++) {
        size_t change = made_below(made, sizeof changes / sizeof *changes);
        if (changes[change](root, pick_node(root, made), made))
            return true;
    }
    return false;
}

/* --- documents -------------------------------------------------------------------------------- */

/* Change what begins at `bytes` and is JSON; `*end` is where that ends. */
static bool change_front(struct buf *out, const char *bytes, size_t size, const char **end,
                         struct made *made)
{
    cJSON *root = cJSON_ParseWithLengthOpts(bytes, size, end, false);
    bool changed = root && change_tree(root, made);
    if (changed) {
        char *text = made_memory(cJSON_PrintUnformatted(root));
        buf_text(out, text);
        cJSON_free(text);
    }
    cJSON_Delete(root);
    return changed;
}

bool json_change(struct buf *out, const char *bytes, size_t size, struct made *made)
{
    const char *end = NULL;
    return change_front(out, bytes, size, &end, made);
}

bool json_change_line(struct buf *out, const char *line, size_t size, struct made *made)
{
    struct buf text = {0};
    const char *end = NULL;
    for (size_t i = 0; i < size; i++) {
        if (!strchr("{[", line[i]) || !change_front(&text, line + i, size - i, &end, made))
            continue;
        buf_bytes(out, line, i);
        buf_bytes(out, text.bytes, text.size);
        buf_bytes(out, end, (size_t)(line + size - end));
        buf_release(&text);
        return true;
    }
    return false;
}
