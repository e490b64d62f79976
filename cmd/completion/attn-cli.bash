# bash completion for attn-cli, by `attn-cli help --completion bash`

_attn_cli_rows='
#@ rows
'

# COMMAND OPTION: set words, paths and joints for a value of OPTION (or "operands"); else false.
_attn_cli_values()
{
    local kind command name letter argument path list joint about
    while IFS=$'\t' read -r kind command name letter argument path list joint about; do
        [[ $command == "$1" && ( $name == "$2" || $letter == "$2" ) ]] || continue
        [[ $kind == option* || $kind == operand ]] || continue
        paths=${path#-} joints=${joint#-}
        while IFS=$'\t' read -r kind command name about; do
            [[ $kind == value && $command == "$list" ]] && words+="$name "
        done <<<"$_attn_cli_rows"
        return 0
    done <<<"$_attn_cli_rows"
    return 1
}

# COMMAND: add its options to words; '': add the commands.
_attn_cli_words()
{
    local kind command name rest
    while IFS=$'\t' read -r kind command name rest; do
        [[ $kind == value && $command == commands && ! $1 ]] && words+="$name "
        [[ $kind == @(flag|option|options) && $command == "$1" ]] && words+="$name "
    done <<<"$_attn_cli_rows"
    [[ $1 ]] || words+='--help --version'
}

_attn_cli_offer()
{
    local word
    compopt -o nosort 2>/dev/null
    for word in $words; do
        [[ $word == "$typed"* ]] || continue
        [[ $word == "$typed" && $word == *[=:] ]] && continue
        [[ $joints && ,${kept//[$joints]/,} == *",$word,"* ]] && continue
        [[ $joints || $word == *[=:] ]] && compopt -o nospace 2>/dev/null
        word=$head$kept$word
        COMPREPLY+=("${word#"$cut"}")
    done
    if [[ $paths == file ]]; then
        compopt -o default 2>/dev/null && return
    elif [[ $paths ]]; then
        compopt -o filenames 2>/dev/null
    else
        return 0
    fi
    while read -r word; do
        COMPREPLY+=("$word")
    done < <(compgen -A ${paths/model/directory} -- "$typed"
        [[ $paths != model ]] || compgen -A file -X '!*.gguf' -- "$typed")
}

_attn_cli()
{
    local IFS=$' \t\n' words= joints= paths= head= kept= cut=
    local line=() last= typed before= piece full command=${COMP_WORDS[1]}
    for piece in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ $piece != -* && ( $piece == [=:]* || $last == *[=:] ) ]]; then
            last+=$piece
            line[${#line[@]}-1]=$last
        else
            before=$last last=$piece
            line+=("$piece")
        fi
    done
    typed=$last full=$last COMPREPLY=()
    [[ $full == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]] && cut=${full%"${full##*[=:]}"}
    if [[ $typed == --*=* ]]; then
        before=${typed%%=*} head=${typed%%=*}= typed=${typed#*=}
    fi
    if ((${#line[@]} == 1)); then
        _attn_cli_words ''
    elif _attn_cli_values "$command" "$before"; then
        if [[ $before == --sweep && $typed == *=* ]]; then
            kept=${typed%%=*}= words=
            _attn_cli_values "$command" "--${typed%%=*}"
            typed=${typed#*=} joints=,
        fi
    elif [[ $typed == -* ]] || ! _attn_cli_values "$command" operands; then
        _attn_cli_words "$command"
    fi
    if [[ $joints ]]; then
        piece=${typed##*[$joints]}
        kept+=${typed%"$piece"} typed=$piece
    fi
    _attn_cli_offer
}
complete -F _attn_cli attn-cli
