# fish completion for attn-cli, by `attn-cli help --completion fish`

function __attn_cli_is -d 'the command is that one'
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

function __attn_cli_is_first -d 'a command is still to be named'
    test (count (commandline -opc)) -eq 1
end

function __attn_cli_typed -d 'the value so far'
    string replace -r -- '^--[a-z-]+=' '' (commandline -ct)
end

function __attn_cli_joined -d 'JOINTS LIST: what may come after those so far'
    set -l kept (string match -r -- "^.*[$argv[1]]" (__attn_cli_typed))
    set -l named (string split -- , (string replace -ra -- "[$argv[1]]" , $kept))
    for value in ($argv[2])
        contains -- (string split -- \t $value)[1] $named
        or echo -- $kept$value
    end
end

#@ lists
function __attn_cli_sweep
    set -l name (string replace -r '=.*' '=' -- (__attn_cli_typed))
    switch $name
#@ settings
        case '*'
            __attn_cli_settings
    end
end

complete -c attn-cli -f
complete -c attn-cli -n __attn_cli_is_first -l help -s h -d 'the commands'
complete -c attn-cli -n __attn_cli_is_first -l version -s V -d 'the version'
#@ commands
