/* hosted.c: attn_report, which runs a command line of attn-cli for another program. */
#include <unistd.h>

#include "base/stream.h"
#include "command.h"
#include "attn_host.h"

/* Run a command line. It counts as a success if only some items failed (ERR_FAILED). */
static int run(const char *const *words, const struct edit_values *values, struct arena *arena,
               struct err *err)
{
    struct options options;
    const struct command *command = command_find(&all_commands, *words, err);
    if (!command || command_parse(&options, &all_commands, command, (char **)words + 1, arena, err))
        return -1;
    if ((*command->shared != text_options && command != &command_help) || options.help)
        return err_usage(err, "expected a command that reads texts, or help, found '%s'%s", *words,
                         options.help ? " --help" : "");
    options.quiet = true;
    options.edit.values = values;
    options.input.is_hosted = true;
    /* without --output, write to "-", which also accepts binary formats */
    options.output.path = options.output.path ? options.output.path : "-";
    return command_start(command, &options, err) && err->kind != ERR_FAILED;
}

int attn_report(const char *const *words, const struct attn_value *values, size_t value_count,
                int (*sink)(void *context, const char *bytes, size_t size), void *context,
                struct attn_error *error)
{
    /* id of the process that is making a report; 0: none. Only one report is made at a time, since
     * output and provenance are global. A forked child, whose id differs, may make a report of its
     * own. */
    static _Atomic pid_t busy;
    pid_t own = getpid(), owner = busy;
    struct host_object object;
    struct host_call call = {0};
    struct edit_values made;
    struct buf out = {0};
    if (check_given(words, "words", &call.err) || check_given(*words, "a command", &call.err))
        return host_call_end(&call, -1, error);
    if (owner == own || !atomic_compare_exchange_strong(&busy, &owner, own)) {
        err_usage(&call.err,
                  "expected one report at a time, found another from a function or thread");
        return host_call_end(&call, -1, error);
    }
    host_object_init(&object, NULL);
    host_call_begin(&call, &object);
    buf_text(&out, ""); /* make out.bytes a valid text, even if there is no output */
    stream_capture(&out);
    int failed = host_values(&made, values, value_count, &call.arena, &call.err) ||
                 run(words, &made, &call.arena, &call.err);
    stream_capture(NULL);
    failed = failed || buf_check(&out, &call.err);
    if (!failed && sink && sink(context, out.bytes, out.size))
        failed = err_set(&call.err, "the sink ended the report");
    buf_release(&out);
    failed = host_call_end(&call, failed, error);
    host_object_close(&object);
    busy = 0;
    return failed;
}
