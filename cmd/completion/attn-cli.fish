# fish completion for attn-cli, by `attn-cli help --completion fish`

set -g __attn_cli_rows (string split \n -- '
#@ rows
')

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

function __attn_cli_list -d 'LIST: its values'
    string replace -rf -- "^value\t$argv[1]\t" '' $__attn_cli_rows | string replace -r '\t-$' \t
end

function __attn_cli_joined -d 'JOINTS LIST: what may come after those so far'
    set -l kept (string match -r -- "^.*[$argv[1]]" (__attn_cli_typed))
    set -l named (string split -- , (string replace -ra -- "[$argv[1]]" , $kept))
    for value in (__attn_cli_list $argv[2])
        contains -- (string split -- \t $value)[1] $named
        or echo -- $kept$value
    end
end

function __attn_cli_gguf -d 'files of models'
    set -l typed (__attn_cli_typed)
    for file in (string unescape -- $typed)*.gguf
        echo -- $file\t"a GGUF file"
    end
end

function __attn_cli_sweep -d 'options of a batch, or the values of the one that is named'
    set -l name (string match -r '^[^=]*(?==)' -- (__attn_cli_typed))
    if test -z "$name"
        __attn_cli_list settings
        return
    end
    set -l before "^option\S*\tbatch\t--$name\t[^\t]*\t[^\t]*\t[^\t]*\t"
    set -l list (string replace -rf -- $before'([^\t]*)\t.*' '$1' $__attn_cli_rows)
    test -n "$list"; and __attn_cli_joined ,= $list
end

complete -c attn-cli -f
complete -c attn-cli -n __attn_cli_is_first -l help -s h -d 'the commands'
complete -c attn-cli -n __attn_cli_is_first -l version -s V -d 'the version'
for row in $__attn_cli_rows
    # kind, command, name, letter, argument, paths, list, joints, about
    set -l field (string split \t -- $row)
    set -l is -c attn-cli -n "__attn_cli_is $field[2]"
    if string match -q -- "value commands" "$field[1..2]"
        complete -c attn-cli -n __attn_cli_is_first -a $field[3] -d $field[4]
    end
    string match -qr '^(flag|option|operand)' -- $field[1]; or continue
    if test $field[1] != operand
        set -a is -l (string sub -s 3 -- $field[3]) -d $field[9]
        test $field[4] = -; or set -a is -s (string sub -s 2 -- $field[4])
    end
    set -l values
    test $field[7] = -; or set values "(__attn_cli_list $field[7])"
    test $field[8] = -; or set values "(__attn_cli_joined $field[8] $field[7])"
    test $field[7] = settings; and set values '(__attn_cli_sweep)'
    string match -qr 'directory|model' $field[6]
    and set -a values '(__fish_complete_directories (__attn_cli_typed))'
    test $field[6] = model; and set -a values '(__attn_cli_gguf)'
    string match -q 'option*' -- $field[1]; and set -a is -r
    if test $field[6] = file
        set -a is -F
    else if test $field[1] != flag
        set -a is -f
    end
    set -q values[1]; and set -a is -k -a "$values"
    complete $is
end
