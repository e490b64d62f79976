#!/bin/sh
# `make dist` is reproducible: it packs all files of git to the same bytes twice. The archive builds
# to the same program and libraries in another folder, by another user, with one job, later.
#
#     sh tests/systems/same_bytes.sh [BUILD]
#     EVERY=1 sh tests/systems/same_bytes.sh build     compile all files again, not only each eighth
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
build=${1:-build}
EVERY=${EVERY:-8}
slice=$((${SLICE:-0} / ${TURNS:-1})) # one of TURNS commits comes here
name=attn-cli-$("$build/attn-cli" --version | sed -n '1s/.* //p')
elsewhere="$scratch/else where"

pack() { # TREE FOLDER
    (cd "$1" && make --no-print-directory dist BUILD="$2")
}

has_what_git_has() {
    git_here ls-files | LC_ALL=C sort | sed "s|^|$name/|" >"$scratch/tracked"
    [ -s "$scratch/tracked" ] && tar tzf "$scratch/packed/$name.tar.gz" | diff "$scratch/tracked" -
}

unpack() {
    mkdir "$elsewhere" && (umask 077 && tar xzf "$scratch/packed/$name.tar.gz" -C "$elsewhere")
}

packs_itself() {
    (umask 002 && pack "$elsewhere/$name" "$scratch/again" >"$scratch/packing") &&
        cmp "$scratch/packed/$name.tar.gz" "$scratch/again/$name.tar.gz"
}

# A copy in which git finds no repository, although there is a folder .git.
refuses_an_empty_list() {
    mkdir "$elsewhere/$name/.git" && ! pack "$elsewhere/$name" "$scratch/none" &&
        ! [ -e "$scratch/none/$name.tar.gz" ] && rmdir "$elsewhere/$name/.git"
}

# Copy the objects except each eighth, others for each SLICE, and no linked or generated files.
take_objects() {
    mkdir "$scratch/out" && (cd "$build" && find cmd lib -name '*.o' | LC_ALL=C sort |
        awk -v every="$EVERY" -v slice="$slice" 'every > 1 && (NR + slice) % every' |
        grep -v 'bundled_models\|page_template\|completion_scripts\|guide_headings\|lesson_texts' \
            >"$scratch/objects"
        find wasm -name live.wasm >>"$scratch/objects" 2>/dev/null
        tar cf - flags -T "$scratch/objects") | tar xmf - -C "$scratch/out"
}

as_somebody() { # COMMAND...
    if [ "$(id -u)" = 0 ]; then
        chown -R 65534:65534 "$scratch/out" && chmod 711 "$scratch" &&
            chmod -R a+rX "$elsewhere" &&
            setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}

builds_elsewhere() {
    (cd "$elsewhere/$name" && umask 027 && as_somebody env -u HOME CCACHE_DISABLE=1 \
        TZ=Asia/Kathmandu make --no-print-directory -j1 BUILD="$scratch/out") >"$scratch/building"
    status=$?
    cat "$scratch/building"
    compiled=$(grep -c '^  compile ' "$scratch/building")
    return $status
}

# Check that enough objects were compiled again, because copied objects prove nothing.
compiles_enough() {
    all=$(find "$build/cmd" "$build/lib" -name '*.o' | wc -l)
    echo "compiled $compiled of $all"
    [ "$all" -gt 100 ] && [ "$compiled" -ge $((all / EVERY)) ] &&
        [ "$compiled" -le $(((all + EVERY - 1) / EVERY + 4)) ]
}

check 'make dist' pack . "$scratch/packed"
if [ -e .git ]; then
    check 'the archive has the files of git' has_what_git_has
else
    leave_out 'files of the archive: git has no files here'
fi
check 'the archive unpacks' unpack
check 'the unpacked archive packs to the same bytes' packs_itself
check 'nothing is packed without a list of files' refuses_an_empty_list
if nm "$build/libattn.a" 2>/dev/null | grep -q '__asan\|__gcov'; then
    leave_out 'a second build: the first is instrumented'
else
    check 'objects of the first build' take_objects
    check 'the unpacked archive builds' builds_elsewhere
    check 'not all objects are those of the first build' compiles_enough
    for file in attn-cli libattn.a libattn.so lib/model/bundled_models.c \
        lib/draw/page_template.c cmd/completion_scripts.c \
        cmd/guide_headings.c cmd/lesson_texts.c; do
        [ ! -e "$build/$file" ] ||
            check "$file has the same bytes" cmp "$build/$file" "$scratch/out/$file"
    done
fi
closing
