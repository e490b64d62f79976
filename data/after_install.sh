#!/bin/sh
# Print the variables that a shell needs to find the files of `make install`, unless it has them.
#
#     sh data/after_install.sh PREFIX
set -u
prefix=$1

case :${PATH-}: in
*":$prefix/bin:"*) ;;
*)
    # shellcheck disable=SC2016 # for another shell
    printf 'not yet on PATH: export PATH="%s/bin:$PATH"\n' "$prefix"
    # Debian's ~/.profile adds this folder to PATH if it exists.
    if [ "$prefix" = "${HOME-}/.local" ] && grep -q '\.local/bin' "$HOME/.profile" 2>/dev/null; then
        printf '    (in this shell; after the next login it is there by itself)\n'
    fi
    ;;
esac

# Without pkg-config: look in the folders that a pkg-config in /usr searches.
finds_library() {
    if command -v pkg-config >/dev/null; then
        pkg-config --exists attn
    else
        case :${PKG_CONFIG_PATH-}:/usr/lib/pkgconfig:/usr/local/lib/pkgconfig: in
        *":$prefix/lib/pkgconfig:"*) ;;
        *) return 1 ;;
        esac
    fi
}
# shellcheck disable=SC2016
finds_library || printf 'for pkg-config: export PKG_CONFIG_PATH="%s/lib/pkgconfig%s"\n' "$prefix" \
    '${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}'
