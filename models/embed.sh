#!/bin/sh
# Print C code with the files of the named models, and of dictionaries of features after `--`: the
# tables that lib/model/model.h declares.
#
#     sh models/embed.sh tiny life -- demo >build/lib/model/bundled_models.c
#
# A table of numbers compiles in a fifth of a second and needs only standard C. Each file begins on
# a 64-byte boundary, and data in safetensors files on 8 bytes: floats can be used in place.
set -eu
cd "$(dirname "$0")"

identifier() { # FILE
    printf '%s' "$1" | tr -c 'A-Za-z0-9' '_'
}

for_each_file() { # MODEL COMMAND
    for path in "$1"/*.json "$1"/merges.txt "$1"/*.safetensors; do
        [ ! -e "$path" ] || "$2" "$path"
    done
}

print_bytes() { # FILE
    printf '\nstatic const _Alignas(64) unsigned char %s[] = {\n' "$(identifier "$1")"
    od -A n -v -t u1 "$1" | sed 's/[0-9][0-9]*/&,/g'
    printf '};\n'
}

print_row() { # FILE
    name=$(identifier "$1")
    printf '    {"%s", (const char *)%s, sizeof %s},\n' "${1##*/}" "$name" "$name"
}

print_table() { # NAME FOLDER...
    table=$1
    shift
    for folder in "$@"; do
        for_each_file "$folder" print_bytes
        printf '\nstatic const struct folder_file files_of_%s[] = {\n' "$(identifier "$folder")"
        for_each_file "$folder" print_row
        printf '};\n'
    done
    printf '\nconst struct folder bundled_%s[] = {\n' "$table"
    for folder in "$@"; do
        files=files_of_$(identifier "$folder")
        printf '    {"%s", %s, sizeof %s / sizeof *%s},\n' "$folder" "$files" "$files" "$files"
    done
    printf '};\n'
}

models=
while [ "$1" != -- ]; do
    models="$models $1"
    shift
done
shift

printf '/* Made by models/embed.sh from the files in models/. */\n'
printf '#include "model/model.h"\n'
# shellcheck disable=SC2086 # a word a model
print_table models $models
print_table dictionaries "$@"
# shellcheck disable=SC2086
set -- "$#" $models
printf '\nconst size_t bundled_count = %d;\n' $(($# - 1))
printf 'const size_t bundled_dictionary_count = %d;\n' "$1"
printf 'const char bundled_default[] = "%s";\n' "$2"
