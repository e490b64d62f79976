/* completion_bash.c: the script for bash. What depends on the tables are three functions; the one
 * that bash calls is the same for all commands. */
#include "catalog.h"

/* Readline takes words apart at = and :, which are parts of ours: they are put together again, and
 * of what is offered the part goes that readline lets stand. */
static const char the_rest[] =
    "_attn_cli_offer()\n"
    "{\n"
    "    local word\n"
    "    compopt -o nosort 2>/dev/null\n"
    "    for word in $words; do\n"
    "        [[ $word == \"$typed\"* ]] || continue\n"
    "        [[ $word == \"$typed\" && $word == *[=:] ]] && continue\n"
    "        [[ $joints && ,${kept//[$joints]/,} == *\",$word,\"* ]] && continue\n"
    "        [[ $joints || $word == *[=:] ]] && compopt -o nospace 2>/dev/null\n"
    "        word=$head$kept$word\n"
    "        COMPREPLY+=(\"${word#\"$cut\"}\")\n"
    "    done\n"
    "    if [[ $paths == file ]]; then\n"
    "        compopt -o default 2>/dev/null && return\n"
    "    elif [[ $paths == directory ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "    else\n"
    "        return 0\n"
    "    fi\n"
    "    while read -r word; do\n"
    "        COMPREPLY+=(\"$word\")\n"
    "    done < <(compgen -A $paths -- \"$typed\")\n"
    "}\n"
    "\n"
    "_attn_cli()\n"
    "{\n"
    "    local IFS=$' \\t\\n' words= joints= paths= head= kept= cut=\n"
    "    local line=() last= typed before= piece full command=${COMP_WORDS[1]}\n"
    "    for piece in \"${COMP_WORDS[@]:1:COMP_CWORD}\"; do\n"
    "        if [[ $piece != -* && ( $piece == [=:]* || $last == *[=:] ) ]]; then\n"
    "            last+=$piece\n"
    "            line[${#line[@]}-1]=$last\n"
    "        else\n"
    "            before=$last last=$piece\n"
    "            line+=(\"$piece\")\n"
    "        fi\n"
    "    done\n"
    "    typed=$last full=$last COMPREPLY=()\n"
    "    [[ $full == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]] && cut=${full%\"${full##*[=:]}\"}\n"
    "    if [[ $typed == --*=* ]]; then\n"
    "        before=${typed%%=*} head=${typed%%=*}= typed=${typed#*=}\n"
    "    fi\n"
    "    if ((${#line[@]} == 1)); then\n"
    "        _attn_cli_words ''\n"
    "    elif _attn_cli_values \"$command $before\"; then\n"
    "        if [[ $before == --sweep && $typed == *=* ]]; then\n"
    "            kept=${typed%%=*}=\n"
    "            _attn_cli_values \"$command --${typed%%=*}\"\n"
    "            typed=${typed#*=} joints=,\n"
    "        fi\n"
    "    elif [[ $typed == -* ]] || ! _attn_cli_values \"$command\"; then\n"
    "        _attn_cli_words \"$command\"\n"
    "    fi\n"
    "    if [[ $joints ]]; then\n"
    "        piece=${typed##*[$joints]}\n"
    "        kept+=${typed%\"$piece\"} typed=$piece\n"
    "    fi\n"
    "    _attn_cli_offer\n"
    "}\n"
    "complete -F _attn_cli attn-cli\n";

static void write_list(struct stream *out, const struct value_list *list)
{
    struct value value;
    stream_format(out, "    local %s='", list->name);
    for (size_t i = 0; value_at(&value, list, i); i++) {
        stream_format(out, "%s%s", i ? " " : "", value.name);
        if (value.end)
            stream_char(out, value.end);
    }
    stream_text(out, "'\n");
}

static void write_taken(struct stream *out, const struct value_use *use, const char *argument)
{
    static const char *const paths[] = {
        [PATHS_NONE] = "", [PATHS_FILES] = "file", [PATHS_FOLDERS] = "directory"};
    stream_text(out, ")");
    if (use)
        stream_format(out, " words=$%s joints='%s'", use->list->name,
                      use->joints ? use->joints : "");
    if (value_paths(argument))
        stream_format(out, " paths=%s", paths[value_paths(argument)]);
    stream_text(out, " ;;\n");
}

static void write_values(struct stream *out, const struct command *command)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *option = &option_rows[i];
        if (option->kind == OPTION_FLAG || !option_serves(option, command->bit))
            continue;
        stream_format(out, "    '%s --%s'", command->name, option->name);
        if (option->letter)
            stream_format(out, " | '%s -%c'", command->name, option->letter);
        write_taken(out, value_use_find(option->name, command), option->argument);
    }
    const struct value_use *operands = value_use_find(NULL, command);
    if (!operands && value_paths(command->operands) == PATHS_NONE)
        return; /* then options may as well be offered */
    stream_format(out, "    '%s'", command->name);
    write_taken(out, operands, command->operands);
}

static void write_words(struct stream *out)
{
    stream_text(out, "_attn_cli_words() # COMMAND, or nothing: its options, or the commands\n"
                     "{\n    case $1 in\n");
    for (size_t i = 0; i < command_count; i++) {
        stream_format(out, "    %s) words='", command_rows[i].name);
        for (size_t k = 0; k < option_count; k++)
            if (option_serves(&option_rows[k], command_rows[i].bit))
                stream_format(out, "--%s ", option_rows[k].name);
        stream_text(out, "' ;;\n");
    }
    stream_text(out, "    '') words='");
    for (size_t i = 0; i < command_count; i++)
        stream_format(out, "%s ", command_rows[i].name);
    stream_text(out, "--help --version' ;;\n    esac\n}\n\n");
}

void completion_bash_write(struct stream *out)
{
    stream_text(out, "# bash completion for attn-cli, by `attn-cli help --completion bash`\n\n"
                     "_attn_cli_values() # 'COMMAND --option', or 'COMMAND': what stands there\n"
                     "{\n");
    value_lists_write(out, write_list);
    stream_text(out, "    case $1 in\n");
    for (size_t i = 0; i < command_count; i++)
        write_values(out, &command_rows[i]);
    stream_text(out, "    *) return 1 ;;\n    esac\n}\n\n");
    write_words(out);
    stream_text(out, the_rest);
}
