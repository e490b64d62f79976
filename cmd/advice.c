#include "advice.h"

#include <string.h>

#include "command.h"

static const char *gap_after(const char *message)
{
    size_t size = strlen(message);
    return size && message[size - 1] == '?' ? "" : ":";
}

void advice_append(struct err *err, const struct options *options)
{
    const char *model = chosen_model(options);
    const char *gap = gap_after(err->text);
    if (err->about == ERR_ABOUT_WORD && model)
        err_append(
            err,
            "%s 'attn-cli info %s' lists its words, 'attn-cli init -s \"…\" -o mine' makes a "
            "model of yours",
            gap, model);
    if (err->about == ERR_ABOUT_LENGTH)
        err_append(err, "%s shorten it, or name a model of more positions by --model", gap);
}
