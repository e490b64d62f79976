#!/bin/sh
# The tests' own machinery, in a tree of its own with planted cases and stages: what spoils a case
# spoils no other, a tool that was not asked for is not found, what dies is counted. And the inputs
# of fuzzing come out of their file as they went in.
#
#     sh tests/harness.sh
# shellcheck disable=SC2016 # what is planted is for other shells
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
# shellcheck source=tests/fuzz/inputs.sh
. tests/fuzz/inputs.sh
unset STAGES CLI_SHARE # of what is planted all is run

tree=$scratch/tree
mkdir -p "$tree/tests/cli/group" "$tree/build" "$tree/tests/page" "$tree/tests/live" "$tree/tmp -x"
cp tests/cli.sh tests/run.sh tests/stage.sh tests/tally.sh tests/readme.sh "$tree/tests"
cp tests/cli/recipes.sh "$tree/tests/cli"
printf '#!/bin/sh\n' >"$tree/build/attn-cli"
chmod -R a+rX,u+w "$tree"
chmod a+x "$tree/build/attn-cli"
chmod 777 "$tree/tmp -x"
chmod 711 "$scratch"

# As somebody to whom permissions mean something.
in_tree() { # COMMAND...
    set -- env TMPDIR="$tree/tmp -x" "$@"
    [ "$(id -u)" != 0 ] || set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    (cd "$tree" && "$@" </dev/null 2>&1)
}

leaves_nothing() {
    ! find "$tree/tmp -x" -mindepth 1 | grep .
}

# --- command-line cases ---------------------------------------------------------------------------

plant() { # CASE COMMAND: expects `fine`
    mkdir "$tree/tests/cli/group/$1"
    printf '%s\n' "$2" >"$tree/tests/cli/group/$1/cmd"
    echo fine >"$tree/tests/cli/group/$1/out"
}

# What cli.sh said of the planted cases, in a line: failures in the order of names, and the counts.
found() { # [PATTERN...]
    in_tree sh tests/cli.sh build "$@" | sed -n 's/^\(failed: group\/[a-z_]*\).*/\1/p; /passed/p' |
        LC_ALL=C sort -k 1.1,1.1r -k 2 | tr '\n' ';'
    rm -rf "$tree/tests/cli/group"/*
}

plant a_spoils 'mkdir -p a/b; : >a/b/c; chmod 0 a/b; chmod 555 a .; echo fine'
plant b_next ': >here; ls | grep -x here >/dev/null && echo fine'
same 'a folder without rights spoils no other case' '2 passed, 0 failed;' "$(found)"
check 'and is not left' leaves_nothing

tool=$(printf '%s\n' jq python3 strace perl gcc cc make | while read -r name; do
    command -v "$name" >/dev/null && echo "$name" && break
done)
plant forgets "$tool --version >/dev/null && echo fine"
plant remembers "need $tool; $tool --version >/dev/null && echo fine"
same "a tool that a case does not need is not found: $tool" \
    'failed: group/forgets;1 passed, 1 failed;' "$(found)"

plant missing 'need no-such-tool-anywhere; echo fine'
same 'a tool that is missing leaves a case out' '0 passed, 0 failed, 1 skipped;' "$(found)"

plant refuses 'echo no >&2; exit 3'
printf 'no\n[3]\n' >"$tree/tests/cli/group/refuses/err"
rm "$tree/tests/cli/group/refuses/out"
plant refuses_more 'echo no >&2; exit 4'
cp "$tree/tests/cli/group/refuses/err" "$tree/tests/cli/group/refuses_more"
rm "$tree/tests/cli/group/refuses_more/out"
plant refuses_unheard 'echo fine; exit 3'
same 'the exit status stands below what a case says on standard error' \
    'failed: group/refuses_more;failed: group/refuses_unheard;1 passed, 2 failed;' "$(found)"

plant one 'echo none'
plant two 'echo none'
plant three 'echo none'
same 'cases are chosen by several patterns, each once' \
    'failed: group/one;failed: group/two;0 passed, 2 failed;' \
    "$(found 'group/o*' group/two '*/one')"

plant path '[ "$(cd "$ROOT" && pwd -P)" = "$(cd "${ATTN%/*}/.." && pwd -P)" ] && echo fine
case $ROOT in *[!a-z./]*) echo "a name of its own: $ROOT" ;; esac'
same 'the path of the repository is plain' '1 passed, 0 failed;' "$(found)"

# --- lines that a document shows ------------------------------------------------------------------

mkdir "$tree/data" "$tree/models"
echo '# Read me' >"$tree/README.md"
cat >"$tree/data/shown.md" <<'END'
```console
$ printf 'a\n\nb\n' | \
    cat
a

b
$ echo no
yes
```
END
same 'a line prints what stands below it' 'failed: data/shown.md:7;2 passed, 1 failed;' \
    "$(in_tree sh tests/readme.sh build data/shown.md |
        sed -n 's/^\(failed: [^ ]*\):.*/\1/p; /passed/p' | tr '\n' ';')"
printf '```sh\nmkdir one\n```\n' | tee "$tree/data/first.md" >"$tree/data/second.md"
same 'a line meets nothing that another document made' \
    'failed: data/second.md:2 after other documents;4 passed, 1 failed;' \
    "$(in_tree sh tests/readme.sh build data/first.md data/second.md |
        sed -n 's/^\(failed: [^:]*:[^:]*\):.*/\1/p; /passed/p' | tr '\n' ';')"

# --- stages ---------------------------------------------------------------------------------------

stub() { # FILE LINE...: a stage
    printf '%s\n' "$@" | sed 1d >"$tree/$1"
    chmod a+rx "$tree/$1"
}

for file in $(grep -o '[$]build/[a-z]*"' tests/stage.sh | sed 's|.*/|build/|; s/"//' | sort -u) \
    $(grep -o 'sh tests/[a-z_/]*[.]sh' tests/stage.sh | sed 's/sh //' | sort -u); do
    [ "$file" != tests/stage.sh ] || continue
    stub "$file" '#!/bin/sh' 'echo 1 passed, 0 failed'
done
stages=$(sh tests/stage.sh --list | wc -l)
stub tests/style.sh 'echo "failed: one"; echo "failed: two"; kill -9 $$'
stub tests/floors.sh 'echo "3 passed, 0 failed"; echo "rm: cannot remove it"; exit 1'
stub tests/figures.sh 'echo "skipped: some: sometool is not installed"' \
    'echo "0 passed, 0 failed, 1 skipped"'

sum="$((stages - 3 + 3)) passed, 4 failed, 1 skipped"
in_tree sh tests/run.sh build >"$scratch/said"
same 'a stage that dies counts what had failed, and its end' "$sum" "$(tail -n 1 "$scratch/said")"
same 'what is not installed is named, and what installs it' \
    '1 left out for want of sometool: make test-all installs what it can of that' \
    "$(tail -n 2 "$scratch/said" | head -n 1)"

if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    stub tests/readers.sh 'echo 7 9 >"$ATTN_TEST_PROGRESS"; sleep 1; echo 1 passed, 0 failed'
    in_tree env TERM=xterm script -qec 'sh tests/run.sh build' /dev/null | tr '\r' '\n' |
        sed "s/$(printf '\033')\[K//" | grep . >"$scratch/shown"
    check 'a terminal is shown how far it is' \
        grep -q "^[0-9]* of $stages stages, 0:[0-9]* · .*readers 7 of 9" "$scratch/shown"
    check 'and what failed, by its name' grep -q '^failed: two' "$scratch/shown"
    same 'and the sum, last' "$sum" "$(tail -n 1 "$scratch/shown")"
else
    leave_out 'what a terminal is shown: none can be made here'
fi

# --- lines side by side ---------------------------------------------------------------------------

cat >"$scratch/lines" <<'END'
0 echo first; true
3 echo "on  standard error" >&2; exit 3
3 echo "a b"; exit 4
0 sh -c 'kill -9 $$'
END
cat >"$scratch/expected" <<'END'
failed: expected status 3, found 4: echo "a b"; exit 4
    a b
failed: expected status 0, found 137: sh -c 'kill -9 $$'
2 passed, 2 failed
END
same 'a line that ends otherwise than it says has failed, with what it printed' \
    "$(cat "$scratch/expected")" \
    "$(sh -c '. tests/tally.sh; side_by_side "$1"; closing' sh "$scratch/lines" | grep -v Killed)"
same 'and another is kept' 'on  standard error' "$(cat "$scratch/lines.2")"

# --- inputs of fuzzing ----------------------------------------------------------------------------

mkdir "$scratch/inputs"
awk 'BEGIN { for (i = 0; i < 256; i++) printf "\\%03o", i }' >"$scratch/octal"
# shellcheck disable=SC2059 # it is a format
{
    printf "$(cat "$scratch/octal")" >"$scratch/inputs/a-every-byte"
    printf '#<3c>%%s\\n<0a> ' >"$scratch/inputs/b"
    printf '' >"$scratch/inputs/c"
    printf -- '-n 1\n' >"$scratch/inputs/d"
}
inputs_pack "$scratch/inputs"/* >"$scratch/inputs.inputs"
check 'inputs are unpacked' inputs_unpack "$scratch/inputs.inputs" "$scratch/unpacked"
cat "$scratch/inputs"/* >"$scratch/packed-bytes"
cat "$scratch/unpacked"/* >"$scratch/unpacked-bytes"
same 'a file an input, named after its line' '2 3 4 5' \
    "$(cd "$scratch/unpacked" && echo *)"
check 'to the byte' cmp "$scratch/packed-bytes" "$scratch/unpacked-bytes"
same 'a name that is no hash stands above its input' '# a-every-byte' \
    "$(head -n 1 "$scratch/inputs.inputs")"

# --- what is missing ------------------------------------------------------------------------------

# A machine without libraries, where sudo refuses: how often it is asked, and what is said.
unset DEPS
mkdir "$scratch/bin"
for tool in sh mktemp rm env awk grep tail printf; do
    for file in /bin/$tool /usr/bin/$tool; do
        [ ! -x "$file" ] || ln -sf "$file" "$scratch/bin"
    done
done
fake() { # PROGRAM COMMAND
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}

fake id 'echo 1000'
fake cc 'exit 1'
fake apt-get 'exit 1'
fake sudo "echo asked >>'$scratch/asked'; exit 1"

says() { # EXPECTED COMMAND...: how it ends; it fails
    expected=$1
    shift
    PATH=$scratch/bin "$@" sh dependencies.sh install tests >"$scratch/missing" 2>&1 && return 1
    grep -F "$expected" "$scratch/missing" || { cat "$scratch/missing" && return 1; }
}

by_hand='apt-get install gcc libc6-dev libxsmm-dev libcjson-dev libutf8proc-dev libonig-dev check'
check 'what sudo refuses is said' says 'could not be installed from here: run that line as root' env
check 'and what to do by hand' grep -F "  $by_hand" "$scratch/missing"
same 'sudo is asked once' asked "$(cat "$scratch/asked")"
check 'DEPS=0 installs nothing' says '(DEPS=0: never)' env DEPS=0
same 'and does not ask' asked "$(cat "$scratch/asked")"
rm "$scratch/bin/sudo"
fake uname 'echo Darwin arm64'
homebrew='brew install cjson utf8proc oniguruma check'
check 'macOS has names of its own, and does without libxsmm' says "$homebrew" env
fake uname 'echo Darwin'
check 'and another place' says 'make CPPFLAGS=-I$(brew' env
rm "$scratch/bin/uname"
check 'without sudo, root is named' says 'there is no sudo: run that line as root' env
fake id 'echo 0'
check 'root is told of apt-get' says 'apt-get could not install it: what it said is above' env
check 'nothing is left' leaves_nothing
closing
