#!/bin/sh
# Print C code with the scripts of `help --completion`, each a text that ends with a zero.
#
#     sh cmd/completion/embed.sh >build/cmd/completion_scripts.c
set -eu
cd "$(dirname "$0")"

printf '/* Made by cmd/completion/embed.sh from the files beside it. */\n'
for shell in bash zsh fish; do
    printf 'extern const unsigned char completion_%s[];\n' $shell
    printf 'const unsigned char completion_%s[] = {\n' $shell
    od -A n -v -t u1 attn-cli.$shell | sed 's/[0-9][0-9]*/&,/g'
    printf '0};\n'
done
