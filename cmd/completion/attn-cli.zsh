#compdef attn-cli
# zsh completion for attn-cli, by `attn-cli help --completion zsh`

_attn_cli_text='
#@ rows
'
typeset -ga _attn_cli_rows=("${(@f)_attn_cli_text}")

# LIST [JOINTS]: offer the values of a list with their descriptions.
_attn_cli_list() {
  local list=$1 joints=$2 kept= value row
  local -a ending values field
  for row in ${(M)_attn_cli_rows:#value$'\t'$list$'\t'*}; do
    field=("${(@ps:\t:)row}")
    value=${field[3]//:/\\:}
    [[ $field[4] == - ]] || value+=:$field[4]
    values+=("$value")
  done
  if [[ -n $joints ]]; then
    compset -P "*[$joints]" && kept=${IPREFIX//[$joints=]/,}
    ending=(-S '')
  fi
  [[ $list == (keys|settings) ]] && ending=(-S '')
  for value in $values; do
    [[ ,$kept == *,${value%%:*},* ]] && values=("${(@)values:#$value}")
  done
  _describe -V -t $list ${list//_/ } values "${ending[@]}"
}

_attn_cli_sweep() {
  compset -P '*=' || { _attn_cli_list settings; return }
  local name=${${IPREFIX%=}##*=} row
  local -a field
  for row in ${(M)_attn_cli_rows:#option*$'\t'batch$'\t'--$name$'\t'*}; do
    field=("${(@ps:\t:)row}")
    [[ $field[7] == - ]] || _attn_cli_list $field[7] ,
  done
}

_attn_cli_models() {
  _files -g '*.gguf(-.)'
}

# FIELD...: set REPLY to the action of _arguments for the fields of a row.
_attn_cli_action() {
  local files=' ' list=$7 joints=${8#-}
  [[ $6 == file ]] && files=_files
  [[ $6 == directory ]] && files='_files -/'
  [[ $6 == model ]] && files=_attn_cli_models
  case $list in
  (-) REPLY=$files ;;
  (settings) REPLY=' _attn_cli_sweep' ;;
  (*) REPLY=" _attn_cli_list $list \"$joints\""
    [[ $6 == - ]] ||
      REPLY=" _alternative \"$list\\:$list\\: _attn_cli_list $list\" \"paths\\:path\\:$files\"" ;;
  esac
}

_attn-cli() {
  local curcontext=$curcontext state row REPLY about name ending
  local -a line field specs
  _arguments -C \
    '(- *)'{-h,--help}'[the commands]' \
    '(- *)'{-V,--version}'[the version]' \
    '1:command: _attn_cli_list commands' \
    '*::argument:->rest' && return 0
  [[ $state == rest ]] || return 1
  for row in ${(M)_attn_cli_rows:#(flag|option|options|operand)$'\t'$line[1]$'\t'*}; do
    field=("${(@ps:\t:)row}")
    _attn_cli_action "${(@)field}"
    about=${field[9]//\\/\\\\} about="[${${about//\[/\\[}//\]/\\]}]"
    ending=:${field[5]//:/\\:}:$REPLY name="($field[4] $field[3])"
    case $field[1] in
    (operand) [[ $field[5] == *...* ]] && specs+=("*$ending") || specs+=("1$ending") ;;
    (flag) specs+=("$name$field[3]$about")
      [[ $field[4] == - ]] || specs+=("$name$field[4]$about") ;;
    (*) [[ $field[1] == options ]] && name='*'
      specs+=("$name$field[3]=$about$ending")
      [[ $field[4] == - ]] || specs+=("$name$field[4]+$about$ending") ;;
    esac
  done
  _arguments -s -S "${(@)specs}"
}

if [[ $funcstack[1] == _attn-cli ]]; then
  _attn-cli "$@"
else
  compdef _attn-cli attn-cli
fi
