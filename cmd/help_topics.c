/* help_topics.c: the pages of help about several commands, such as `attn-cli help edits`. */
#include "help.h"

WORDS(statuses, "Exit status", {"0", "done"}, {"1", "some items failed"}, {"2", "usage error"},
      {"3", "input error"}, {"4", "unsupported model"}, {"5", "output cannot be written"},
      {"130", "interrupted (SIGINT)"}, {"143", "terminated (SIGTERM)"})
WORDS(variables, "Environment", {"ATTN_MODEL", "default model"},
      {"ATTN_MODEL_PATH", "folders that hold models by name, separated by :"},
      {"HF_HUB_CACHE", "cache of the Hugging Face Hub, searched next; default: below HF_HOME, "
                       "XDG_CACHE_HOME/huggingface or ~/.cache/huggingface"},
      {"COLUMNS", "width of text output on a terminal"}, {"NO_COLOR", "if set, no colours"},
      {"LIBXSMM_TARGET", "instruction set of the kernels: generic, snb, hsw, skx"})
WORDS(
    files, "Files",
    {"share/attn-cli/schemas",
     "JSON schemas, below the installation prefix; NAME.json describes the format attn-cli/NAME/1"},
    {"data/guides", "guides, in the source code: 'guide NAME' of a search is NAME.md"})
VALUES(topics, "Topics (attn-cli help TOPIC)", help_topic_count, help_topics[index].name,
       help_topics[index].about)
VALUES_(, pages, NULL, all->count + help_topic_count,
        index < all->count ? all->items[index]->name : help_topics[index - all->count].name,
        index < all->count ? all->items[index]->about : help_topics[index - all->count].about)

const struct help_topic help_topics[] = {
    {"options",
     "options for texts, models and output",
     {text_options, model_options, output_options, terminal_options, running_options},
     {0},
     "If an option that is not repeatable is given twice, the last value counts."},
    {"select", "choose tensors, layers, heads and tokens", {select_options}, {0}, NULL},
    {"models", "bundled models", {0}, {&values_models}, NULL},
    {"tensors",
     "tensors, and which ones --show selects by default",
     {0},
     {&values_tensors, &values_defaults},
     NULL},
    {"scores",
     "scores of heads, such as induction",
     {0},
     {&values_scores},
     "(role): the table of 'heads' names the highest of these scores on the texts, if\n"
     "it is at least 0.5 and twice uniform attention. (label 0.5+): the table names\n"
     "heads with at least 0.5."},
    {"over", "values that 'patch' swaps", {0}, {&values_patches}, NULL},
    {"edits",
     "interventions: change values during the forward pass",
     {edit_options},
     {&values_edits},
     NULL},
    {"attention",
     "replace or modify the attention mechanism",
     {mechanism_options},
     {&values_attention},
     NULL},
    {"formats", "output formats", {0}, {&values_formats, &values_endings}, NULL},
    {"figures",
     "size, colours and labels of figures",
     {figure_options},
     {&values_palettes, &values_venues},
     NULL},
    {"sizes", "sizes of new models", {0}, {&values_shapes, &values_keys}, NULL},
    {"environment",
     "environment variables, files and exit status",
     {0},
     {&values_variables, &values_files, &values_statuses},
     NULL},
    {"topics", "pages about several commands", {0}, {&values_topics}, NULL},
};

const size_t help_topic_count = sizeof help_topics / sizeof *help_topics;

const struct help_topic *help_topic_of(const struct value_list *list)
{
    for (size_t i = 0; list && i < help_topic_count; i++)
        for (size_t k = 0; k < TOPIC_PARTS; k++)
            if (help_topics[i].lists[k] == list)
                return &help_topics[i];
    return NULL;
}
