/* features_command.c: `attn-cli features`: lists the features of sparse autoencoders and
 * transcoders that are active at each token. */
#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "measure/sparse_features.h"
#include "say.h"

struct own_options {
    const char *listed;
    long long promoted;
};

static const struct option_row own_options[] = {
    STRINGS("sae", 0, "DIR", IN(edit.dictionaries),
            "folder of a sparse autoencoder or transcoder; of SAELens, Gemma Scope, Llama Scope, "
            "OpenMOSS, sparsify, circuit-tracer, dictionary_learning, Qwen Scope or Goodfire; "
            "DIR:LAYER, and after it ,site=SITE ,scale=S ,k=K ,center=on|off where its files do "
            "not say it",
            .heading = "Features"),
    INTEGER("top", 0, "N", IN(lens.best), 1, 10000,
            "features of each token (default: 5); the largest activations", .preset = 5),
    STRING("feature", 0, "LIST", OWN(listed),
           "only these features, at every token: 0,3-5; figures need it; npy and safetensors have "
           "all features without it"),
    INTEGER("promote", 0, "N", OWN(promoted), 0, 100,
            "tokens named for each feature (default: 5); the tokens whose logits it raises most",
            .preset = 5),
    {0},
};

struct features_state {
    struct selection selection;
    struct feature_plan plan; /* which features to list; its viewer is set for each run */
    bool has_noted; /* true once a note has said that texts are unlike the training texts */
};

static int prepare(void *state, struct driver *driver, struct err *err)
{
    const struct own_options *own = options_own(driver->options);
    const size_t given = driver->options->edit.dictionaries.count;
    const struct format *format = driver->output.format;
    (void)state;
    driver->output.draws_pages = true;
    if (given != 1)
        return err_usage(
            err,
            "expected one --sae DIR, the folder of a sparse autoencoder or transcoder, "
            "found %zu",
            given);
    if (format_is_looked_at(format) && !own->listed)
        return err_usage(err,
                         "--format %s: expected --feature LIST, the features to draw, found "
                         "none",
                         format->name);
    return 0;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct features_state *own = state;
    struct session *session = &driver->session;
    const struct own_options *given = options_own(session->options);
    const struct dictionary *dictionary = session->dictionaries;
    const struct index_range range = {"--feature", "dictionary", "feature", dictionary->count};
    own->plan = (struct feature_plan){.dictionary = dictionary,
                                      .top = (size_t)session->options->lens.best,
                                      .promoted = (size_t)given->promoted,
                                      .dense = !driver->output.format->has_tables};
    features_select(&own->selection, dictionary);
    if (dictionary->may_center)
        print_note(
            "the files of --sae do not say if the weights were centered in training, as SAELens "
            "before 3.20 did: add ,center=on to the folder if that leaves less unexplained");
    return selection_indices(&own->plan.listed, &own->plan.listed_count, given->listed, &range,
                             &session->arena, err);
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    const struct features_state *own = state;
    const double tokens = (double)job->pair.text.count;
    const double numbers = (double)own->plan.dictionary->count * sizeof(float);
    (void)arena;
    (void)err;
    features_add_memory(&job->memory, &driver->session.viewer, own->plan.dictionary, &job->pair);
    job->memory.held += own->plan.dense ? numbers * tokens : 0;
    return 0;
}

static int run(void *state, const struct group *group, struct err *err)
{
    struct features_state *own = state;
    struct feature_plan plan = own->plan;
    int failed = group_capture(group, &own->selection, err);
    plan.viewer = group->viewer;
    for (size_t i = 0; i < group->count && !failed; i++) {
        struct report *report = &group->jobs[i]->report;
        failed = features_report(report, &plan, group->arena, err);
        own->has_noted = own->has_noted || print_note_of_training(plan.dictionary, &report->text);
    }
    return failed;
}

static const struct task features_task = {
    .many = ITEMS_SOME,
    .pages = "attn-cli page",
    .state_bytes = sizeof(struct features_state),
    .prepare = prepare,
    .open = open,
    .read = read,
    .at_once = true,
    .run = run,
};

const struct command command_features = {
    .name = "features",
    .heading = "Look",
    .about = "active features of a sparse autoencoder at each token",
    .operands = "[TEXT]...",
    .most_used = "--sae demo\tfolder of an autoencoder\n"
                 "-m smollm2.gguf\n"
                 "-f texts.txt\n"
                 "--top 10\tfeatures of each token\n"
                 "--feature 27,60\tonly these, at every token\n"
                 "-o features.csv\n",
    .examples = "attn-cli features --sae demo \"The keys to the cabinet\"\n"
                "attn-cli features --sae demo \"The keys to the cabinet\" --feature 27,60\n"
                "attn-cli features --sae demo \"The keys to the cabinet\" --top 1 -o active.csv\n"
                "attn-cli features --sae demo -f corpus.txt --top 10 -o features.csv\n"
                "attn-cli run \"The keys to the cabinet\" --sae demo --edit "
                "\"features[feature=27,token=-1] = 0\" --show logits\n",
    .task = &features_task,
    .options = own_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, output_options,
               terminal_options, figure_options},
    .without = "words",
    .draws = true,
};
