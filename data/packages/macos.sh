#!/bin/sh
# Compile the program for macOS on Debian or Ubuntu, with zig (PyPI: ziglang) and libraries from the
# sources of archives.sh: FOLDER/attn-cli. Only compiled: tests need a Mac.
#
#     ZIG='venv/bin/python -m ziglang' sh data/packages/macos.sh FOLDER [aarch64|x86_64]
#
# FOLDER must be new, and its path absolute.
set -eu
cd "$(dirname "$0")/../.."
zig=${ZIG:-zig}
cc="$zig cc -target ${2:-aarch64}-macos"
CC=$cc AR="$zig ar" CFLAGS=-O3 sh data/packages/archives.sh "$1/archives"
make BUILD="$1" CC="$cc" AR="$zig ar" ARCHIVE=rcs DEPS=0 WERROR= \
    CPPFLAGS="-I$1/archives/include" LDFLAGS="-L$1/archives/lib" "$1/attn-cli"
