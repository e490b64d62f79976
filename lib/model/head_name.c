#include "model/head_name.h"

#include <stdio.h>

static const char *write_name(char name[HEAD_NAME_BYTES], size_t layer, const char *kind,
                              size_t head)
{
    snprintf(name, HEAD_NAME_BYTES, "L%zu%s%zu", layer, kind, head);
    return name;
}

const char *head_name(char name[HEAD_NAME_BYTES], size_t layer, size_t head)
{
    return write_name(name, layer, "H", head);
}

const char *kv_head_name(char name[HEAD_NAME_BYTES], size_t layer, size_t kv_head)
{
    return write_name(name, layer, "KV", kv_head);
}
