/* contacts_task.c: `attn-cli heads --contacts`: contacts of residues, for protein models with a
 * head of contacts. */
#include "command.h"
#include "driver.h"
#include "measure/contacts.h"

static int prepare(void *state, struct driver *driver, struct err *err)
{
    (void)state;
    driver->output.draws_pages = true;
    return options_exclude(driver->options, "contacts",
                           "score sort map baseline mean composition pairs needle source pair",
                           err);
}

static int open(void *state, struct driver *driver, struct err *err)
{
    return contacts_open(state, &driver->session.viewer, &driver->session.arena, err);
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    (void)arena;
    contacts_add_memory(&job->memory, state, &driver->session.viewer, &job->pair);
    return contacts_check(&job->pair.sentence, err);
}

static int run(void *state, const struct group *group, struct err *err)
{
    long long top = group->driver->options->heads.top;
    for (size_t i = 0; i < group->count; i++) {
        struct job *job = group->jobs[i];
        const struct capture_request asked = {
            .pairs = &job->pair, .count = 1, .first = job->number, .reports = &job->report};
        if (contacts_run(group->viewer, state, &asked, top ? (size_t)top : 20, group->arena, err))
            return -1;
    }
    return 0;
}

const struct task contacts_task = {
    .many = ITEMS_SOME,
    .folder = "csv",
    .state_bytes = sizeof(struct contact_head),
    .prepare = prepare,
    .open = open,
    .read = read,
    .at_once = true,
    .run = run,
};
