#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "output.h"
#include "progress.h"

const struct command command_rows[] = {
    {"run", FOR_RUN, "print or export attention weights and other tensors", "[TEXT]...",
     "attn-cli run \"Life is short, eat dessert first\"\n"
     "attn-cli run -s \"Life is short, eat dessert first\" --layer all --show weights\n"
     "attn-cli run -s \"Life is short\" --layer 0 --head 1 --format csv > head.csv\n"
     "attn-cli run -m life -s \"Life is short\" --show q,k,scores,weights\n"
     "printf 'Life is short\\neat dessert\\n' | attn-cli run -o weights.jsonl\n",
     run_command},
    {"heads", FOR_HEADS, "score every head: induction, previous token, sink, ...", "[TEXT]...",
     "attn-cli heads\n"
     "attn-cli heads -m tiny \"Life is short, eat dessert first\" --sort induction\n"
     "attn-cli heads --map previous-token\n"
     "attn-cli heads --map induction -o induction.svg\n"
     "attn-cli heads --score induction,copying,offset:-2 --baseline\n"
     "attn-cli heads --composition k\n"
     "attn-cli heads --format csv > heads.csv\n",
     heads_command},
    {"explain", FOR_EXPLAIN, "show the arithmetic behind one query, step by step", "[TEXT]",
     "attn-cli explain -m life \"Life is short eat dessert first\" --token is\n"
     "attn-cli explain -s \"Life is short\" --layer 1 --head 2 --digits 6\n"
     "attn-cli explain -m life-causal -s \"Life is short\" --token 1 --format markdown\n"
     "attn-cli explain -m life -s \"Life is short\" --token is -o walk.md\n"
     "attn-cli explain -s \"Life is short\" --token all --full -o walk.html\n"
     "attn-cli explain -m translate -s \"<s> le\" --source \"the cat\" --part cross\n",
     explain_command},
    {"page", FOR_PAGE, "write an interactive HTML page", "[TEXT]...",
     "attn-cli page \"Life is short, eat dessert first\" -o page.html\n"
     "attn-cli page -m tiny -m life-causal -s \"Life is short\" --show all -o two.html\n"
     "attn-cli page -s \"Life is short\" --layer 1 --view lines > lines.html\n",
     page_command},
    {"tokenize", FOR_TOKENIZE, "text to tokens and back", "[TEXT]...",
     "attn-cli tokenize \"Life is short, eat dessert first\"\n"
     "echo \"Life is short\" | attn-cli tokenize --only-ids\n"
     "attn-cli tokenize --only-ids \"Life is short\" | attn-cli tokenize --decode\n",
     tokenize_command},
    {"info", FOR_INFO, "model details, and the cost of a run", "[MODEL]",
     "attn-cli info\n"
     "attn-cli info life\n"
     "attn-cli info --tokens 16 --format json\n",
     info_command},
    {"score", FOR_SCORE, "log-probability, surprisal and perplexity", "[TEXT]...",
     "attn-cli score \"Life is short, eat dessert first\"\n"
     "attn-cli score \"Life is short\" --bits --words --format csv\n"
     "attn-cli score \"The keys to the cabinet\" --continue \" are\" --continue \" is\"\n"
     "printf 'Life is short\\neat dessert\\n' | attn-cli score --total\n"
     "attn-cli score \"Life is short, eat dessert first\" -o surprisal.svg\n",
     score_command},
    {"lens", FOR_LENS, "logit lens: what each layer would predict", "[TEXT]...",
     "attn-cli lens \"Life is short, eat dessert first\"\n"
     "attn-cli lens \"The keys to the cabinet\" --target \" are\" --show rank,target,kl\n"
     "attn-cli lens \"Life is short\" --site attn_out --layer -1 --format json\n"
     "attn-cli lens \"Life is short, eat dessert first\" -o lens.svg\n",
     lens_command},
    {"attribute", FOR_ATTRIBUTE, "split a logit into the contribution of each component",
     "[TEXT]...",
     "attn-cli attribute \"Life is short, eat dessert\"\n"
     "attn-cli attribute \"Life is short, eat dessert\" --answer \" first: last\"\n"
     "attn-cli attribute \"Life is short, eat dessert\" --position 1 --by source\n"
     "attn-cli attribute \"Life is short, eat dessert\" -o attribution.svg\n"
     "attn-cli attribute \"Life is short\" --by neuron --format tidy > neurons.csv\n",
     attribute_command},
    {"patch", FOR_PATCH, "activation patching between two prompts", "",
     "attn-cli patch --clean \"The keys to the cabinet\" --corrupt \"The key to the cabinet\"\n"
     "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --answer \" are: is\" --noise\n"
     "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --over resid_pre -o patch.svg\n"
     "attn-cli patch --clean \"The keys\" --corrupt \"The key\" --path :1.3.v\n",
     patch_command},
    {"compare", FOR_COMPARE, "compare models or settings", "[MODEL MODEL] [TEXT]...",
     "attn-cli compare -s \"Life is short, eat dessert first\" --attention window:2,linear\n"
     "attn-cli compare -m life -s \"Life is short\" --attention dense,window:2+global:1,blocked:2\n"
     "attn-cli compare -s \"Life is short\" --attention random:1,strided:2 --format json\n"
     "attn-cli compare life life-causal -s \"Life is short\"\n",
     compare_command},
    {"generate", FOR_GENERATE, "continue a text, with its attention", "[TEXT]",
     "attn-cli generate \"Life is short, eat dessert\" -n 8\n"
     "attn-cli generate -s \"Life is\" --temperature 0.8 --top-p 0.95 --seed 7\n"
     "attn-cli generate -s \"Life is\" -n 4 --logprobs\n"
     "attn-cli generate -s \"Life is\" -n 6 --show weights -o attention.csv\n"
     "attn-cli generate -m translate --source \"the small black cat sees a white cow\"\n",
     generate_command},
    {"batch", FOR_BATCH, "run any of these over many texts and settings, resumable",
     "[FILE|TEXT...|LOG...]",
     "printf 'Life is short\\neat dessert\\n' | attn-cli batch - --head 0\n"
     "printf 'Life is short\\neat dessert\\n' | attn-cli batch - --sweep model=tiny,life\n"
     "printf 'Life is short\\neat dessert\\n' | attn-cli batch - --format csv -o matrices/\n"
     "printf 'Life is short\\neat dessert\\n' | attn-cli batch - --do score --words\n"
     "printf 'Life is short\\neat dessert\\n' > two.txt\n"
     "for i in 1 2; do attn-cli batch two.txt --head 0 -o two.jsonl --shard $i/2; done\n"
     "attn-cli batch --join two.jsonl.*.part -o two.jsonl\n",
     batch_command},
    {"bench", FOR_BENCH, "speed compared with the limits of this machine", "[MODEL]",
     "attn-cli bench\n"
     "attn-cli bench --shape gpt2 --threads 1\n"
     "attn-cli bench --shape gpt2-medium --tokens 64,256 --repeat 3\n"
     "attn-cli bench --growth --attention dense,window:64,linear -o growth.csv\n"
     "attn-cli bench --only prefill --format json | jq '.tables.bench[].of_compute'\n",
     bench_command},
    {"init", FOR_INIT, "make a model with random weights", "",
     "attn-cli init --sentence \"Life is short, eat dessert first\" -o words\n"
     "attn-cli init --like life --seed 123 -o life-again\n"
     "attn-cli init --shape tiny --set n_layer=3 --seed 7 -s \"Life is short\" -o mine\n"
     "attn-cli init --config mine/config.json --vocab mine/vocab.json -o other\n"
     "attn-cli init --shape tiny --vocab-from fables.txt --vocab-size 1024 -o bpe\n",
     init_command},
    {"train", FOR_TRAIN, "train a small model", "",
     "attn-cli train -d fables.txt --shape tiny --vocab v.json --steps 64 -o fables\n"
     "attn-cli train -d fables.txt -m fables --steps 200 --lr 0.0003 -o more\n"
     "attn-cli train -d fables.txt --resume fables/step-00000032 -o again\n",
     train_command},
    {"lesson", FOR_LESSON, "attention in eleven steps", "[STEP|all]",
     "attn-cli lesson\n"
     "attn-cli lesson 2\n"
     "attn-cli lesson all\n"
     "attn-cli lesson -o lesson.html\n"
     "attn-cli lesson --list\n",
     lesson_command},
    {"help", FOR_HELP, "list commands or options", "[COMMAND|TOPIC]",
     "attn-cli help run\n"
     "attn-cli help options\n"
     "attn-cli help --man run | man -l -\n"
     "eval \"$(attn-cli help --completion bash)\"\n",
     help_command},
};

enum { SENTENCE_BYTES = 60 }; /* of what is said twice in a message */

const size_t command_count = sizeof command_rows / sizeof *command_rows;

const struct command *command_find(const char *name, struct err *err)
{
    size_t index = 0;
    char guess[NAMES_GUESS_BYTES];
    struct names names = NAMES(command_rows, command_count);
    if (names_find(&index, names, name, strlen(name)))
        return &command_rows[index];
    if (removed_command(name, err))
        return NULL;
    const char *near = names_nearest(names, name, strlen(name));
    if (strchr(name, ' ')) /* a sentence */
        err_usage(err, "unknown command '%s': did you mean 'attn-cli run \"%s\"'?", name,
                  strlen(name) <= SENTENCE_BYTES ? name : "…");
    else if (near)
        err_usage(err, "unknown command '%s'%s", name, names_guess(guess, near));
    else
        err_usage(err, "unknown command '%s': 'attn-cli help' lists them", name);
    return NULL;
}

/* The way out of an error that the library cannot know, because it leads through other commands. */
static void add_advice(struct err *err, const struct command *command, const char *model)
{
    size_t size = strlen(err->text);
    const char *gap = size && err->text[size - 1] == '?' ? "" : ":";
    if (err->about == ERR_ABOUT_WORD && model)
        err_append(err,
                   "%s 'attn-cli info %s' lists its words, 'attn-cli init -s \"…\" -o mine' makes "
                   "a model of yours",
                   gap, model);
    if (err->about == ERR_ABOUT_TOKENIZER)
        err_append(err,
                   command->bit == FOR_HEADS ? "%s leave out the text to measure on random tokens"
                                             : "%s give the tokens by --ids",
                   gap);
    if (err->about == ERR_ABOUT_LENGTH)
        err_append(err, "%s shorten it, or name a model of more positions by --model", gap);
    if (err->about == ERR_ABOUT_CONTEXT)
        err_append(err, "%s shorten it, or give --long", gap);
}

int command_run(const char *name, char **arguments, struct arena *arena, struct err *err)
{
    struct options options = OPTIONS_DEFAULT;
    const struct command *command = command_find(name, err);
    if (!command || options_parse(&options, command->bit, arguments, arena, err))
        return -1;
    if (options.model.names.count)
        options.model.name = options.model.names.items[options.model.names.count - 1];
    progress_set_quiet(options.quiet);
    if (options.help)
        return help_of(command, err);
    if (provenance_begin(command->name, options.batch.instrument, options.line, err))
        return -1;
    if (!command->run(&options, err)) {
        if (!options.batch.dry_run)
            print_written(options.output.path);
        return 0;
    }
    add_advice(err, command, chosen_model(options.model.name));
    return -1;
}

const char *chosen_model(const char *option)
{
    const char *environment = getenv("ATTN_MODEL");
    if (option)
        return option;
    return environment && *environment ? environment : NULL;
}

int only_model(const char **name, const struct options *options, struct err *err)
{
    const struct texts *operands = &options->input.operands;
    size_t named = operands->count + (options->model.name != NULL);
    *name = operands->count ? operands->items[0] : chosen_model(options->model.name);
    if (named <= 1)
        return 0;
    return err_usage(err, "expected one model, found '%s' as well",
                     options->model.name ? options->model.name : operands->items[1]);
}
