#include "attribute_score.h"

#include <string.h>

#include "base/names.h"
#include "driver.h"
#include "measure/attribution.h"
#include "model/head_name.h"
#include "model/features.h"
#include "question_job.h"

/* Read the index of a token. A word was already replaced by its index (positions.c). */
static int parse_token(size_t *index, const char *option, const char *text, size_t size,
                       size_t count, struct err *err)
{
    return selection_index(index, text, size, count)
               ? 0
               : err_usage(err, "%s: expected a word, or an index from 0 to %zu, found '%.*s'",
                           option, count - 1, (int)size, text);
}

/* Read --key: a key which, after a colon, may be followed by what its score is compared with:
 * another key, `mean` or `weights`. */
static int parse_key(struct score_plan *plan, const struct options *options, size_t keys,
                     struct err *err)
{
    const char *key = options->attribute.key, *colon = strchr(key, ':');
    const char *against = colon ? colon + 1 : NULL;
    plan->against = score_against_read(against);
    return err_if(parse_token(&plan->key, "--key", key, colon ? (size_t)(colon - key) : strlen(key),
                              keys, err) ||
                  (plan->against == AGAINST_KEY &&
                   parse_token(&plan->other, "--key", against, strlen(against), keys, err)));
}

/* Read --query and --key, which name tokens of a text, and --corrupt, another text. */
static int read_tokens(struct score_job *own, struct driver *driver, struct job *job,
                       struct arena *arena, struct err *err)
{
    const struct options *options = &job->item.options;
    const struct config *c = &driver->session.viewer.model.config;
    const struct text_with_source *pair = &job->pair;
    struct score_plan *plan = &own->plan;
    size_t queries = resid_text(c, pair, plan->head, RESID_QUERY)->count;
    size_t keys = resid_text(c, pair, plan->head, RESID_KEY)->count;
    const char *query = options->attribute.position ? options->attribute.position : "-1";
    plan->number = job->index;
    if (parse_token(&plan->query, "--query", query, strlen(query), queries, err) ||
        parse_key(plan, options, keys, err))
        return -1;
    score_attribution_add_memory(&job->memory, plan, pair);
    if (!options->patch.corrupt)
        return 0;
    plan->corrupt = &own->corrupt;
    return question_corrupt(&own->corrupt, driver, job, arena, err);
}

int score_job_read(struct score_job *own, struct driver *driver, struct job *job,
                   struct arena *arena, struct err *err)
{
    static const char *const ways[] = {
        [SCORE_BY_PART] = "part", [SCORE_BY_PAIR] = "pair", [SCORE_BY_KEY] = "source"};
    const struct options *options = question_options(driver, job);
    const struct session *session = &driver->session;
    const struct model *model = &session->viewer.model;
    const struct config *c = &model->config;
    struct score_plan *plan = &own->plan;
    struct layer_head head;
    size_t part = BRANCH_TEXT, by = SCORE_BY_PART;
    const char *name = options->attribute.head;
    if (names_choose(&by, NAMES_LIST(ways), "--by", options->attribute.by, err) ||
        options_exclude(options, "head", "answer layer mean method steps rule baseline", err) ||
        names_choose(&part, NAMES(attention_branches, ATTENTION_BRANCHES), "--part",
                     options->attribute.part, err))
        return -1;
    if (part != BRANCH_TEXT && !has_encoder(c))
        return err_usage(err, "--part: expected an encoder-decoder, found '%s'", model->name);
    if (features_expect(FOR_SCORES, c, model->name, err) ||
        features_expect(TO_ATTRIBUTE, c, model->name, err))
        return -1;
    if (!options->attribute.key)
        return err_usage(err, "--head: expected --key, the key whose score is split, found none");
    if (selection_layer_head(&head, "--head", name, strlen(name),
                             stack_of(c, (enum site_branch)part), err))
        return -1;
    if (by == SCORE_BY_KEY && !head.layer && part != BRANCH_CROSS)
        return err_usage(err, "--by source: expected a head with others before it, found '%s'",
                         name);
    *plan = (struct score_plan){.viewer = &driver->session.viewer,
                                .head = {(enum site_branch)part, head.layer, head.head},
                                .by = (enum score_by)by,
                                .depth = (size_t)options->attribute.depth};
    if (session->dictionary_count > 1)
        return err_usage(err, "--head: expected one --sae DIR, found %zu",
                         session->dictionary_count);
    if (session->dictionary_count && options_exclude(options, "sae", "corrupt", err))
        return -1;
    plan->dictionary = session->dictionary_count ? session->dictionaries : NULL;
    return job ? read_tokens(own, driver, job, arena, err) : 0;
}

int score_job_run(struct score_job *own, struct attribution *sum, struct job *job,
                  const struct group *group, struct facts *facts, struct err *err)
{
    const struct score_plan *plan = &own->plan;
    const struct resid_head *at = &plan->head;
    char head[HEAD_NAME_BYTES];
    struct report *report = &job->report;
    struct arena *arena = group->arena;
    struct score_attribution found;
    own->plan.viewer = group->viewer;
    if (score_attribution_make(&found, report, plan, &job->pair, arena, err))
        return -1;
    *sum = (struct attribution){found.score, found.sum};
    const struct tokenized *queries = report_queries(report, plan->head.branch);
    const struct tokenized *keys = report_keys(report, plan->head.branch);
    const long long query = tokenized_number(queries, plan->query);
    const long long key = tokenized_number(keys, plan->key);
    facts_text(facts, "head", arena_format(arena, err, "%zu.%zu", at->layer, at->head));
    facts_integer(facts, "query", query);
    facts_integer(facts, "key", key);
    facts_float(facts, "score", found.score);
    facts_float(facts, "bias", found.bias);
    facts_float(facts, "sum", found.sum);
    facts_float(facts, "weight", found.weight);
    struct score_against_row against = score_againsts[plan->against];
    if (plan->against == AGAINST_KEY) {
        const long long other = tokenized_number(keys, plan->other);
        against.name = arena_format(arena, err, "%lld", other);
        against.about = arena_format(arena, err, ", less that to %s (%lld)",
                                     keys->labels[plan->other].text, other);
        if (!against.about)
            return -1;
    }
    facts_text(facts, "against", against.name);
    report->about =
        arena_format(arena, err, "score of %s from %s (%lld) to %s (%lld)%s%s: %.4f",
                     head_name(head, at->layer, at->head), queries->labels[plan->query].text, query,
                     keys->labels[plan->key].text, key, against.about,
                     plan->corrupt ? ", less that of the corrupt text" : "", found.score);
    return report->about ? 0 : -1;
}
