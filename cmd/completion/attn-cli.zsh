#compdef attn-cli
# zsh completion for attn-cli, by `attn-cli help --completion zsh`

# LIST [JOINTS]: the array `values`, each a name and what it is.
_attn_cli_offer() {
  local list=$1 joints=$2 kept= value
  local -a ending
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

#@ lists
_attn_cli_sweep() {
  compset -P '*=' || { _attn_cli_settings; return }
  case $IPREFIX in
#@ settings
  esac
}

_attn-cli() {
  local curcontext=$curcontext state
  local -a line
  _arguments -C \
    '(- *)'{-h,--help}'[the commands]' \
    '(- *)'{-V,--version}'[the version]' \
    '1:command: _attn_cli_commands' \
    '*::argument:->rest' && return 0
  [[ $state == rest ]] || return 1
  case $line[1] in
#@ commands
  esac
}

if [[ $funcstack[1] == _attn-cli ]]; then
  _attn-cli "$@"
else
  compdef _attn-cli attn-cli
fi
