#!/bin/sh
# Somebody's own things, in `here` and `elsewhere` below the working directory.
#
#     sh belongings.sh FOLDER...      also into these, as far as they are there
#
# Names are those that the program has for its own files, where it did not make these.
set -e

fill() { # FOLDER: what lies in a folder of anyone's
    mkdir -p "$1/photos/2019" "$1/empty"
    echo mine >"$1/notes"
    echo mine >"$1/photos/2019/sea"
    echo mine >"$1/.hidden"
    ln -s notes "$1/link"
    ln -s ../../elsewhere/file "$1/link-out"
    ln -s ../../elsewhere/folder "$1/folder-out"
    ln -s ../../elsewhere/none "$1/dangling"
    [ -e "$1/hard" ] || ln elsewhere/file "$1/hard"
    echo mine >"$1/readonly"
    chmod 444 "$1/readonly"
    echo mine >"$1/theirs"
    [ "$(id -u)" != 0 ] || chown 65534:65534 "$1/theirs"
    mkfifo "$1/pipe"
    for like in manifest.json.aB3xY9 sums.aB3xY9 config.json.aB3xY9 \
        config.json.attn-cli-aB3xY9.tmp manifest.json.attn-cli-aB3xY9.tmp; do
        echo mine >"$1/$like"
    done
    for folder in x.part x.1-of-2 made.part; do
        mkdir "$1/$folder"
        echo mine >"$1/$folder/journal"
    done
}

collide() { # FOLDER: with the names of results
    for name in journal sums results.jsonl entropy.csv vocab.json training.json log.csv lock; do
        echo mine >"$1/$name"
    done
    echo '{"files": [{"file": "notes"}, {"file": "../../elsewhere/file"}]}' >"$1/manifest.json"
    ln -s ../../elsewhere/file "$1/config.json"
    ln -s ../../elsewhere/none "$1/merges.txt"
    ln elsewhere/file "$1/model.safetensors"
    mkdir "$1/0000" "$1/a" "$1/step-00000001" "$1/.attn-cli"
    for folder in 0000 a step-00000001 .attn-cli; do
        echo mine >"$1/$folder/manifest.json"
        echo mine >"$1/$folder/weights.l00.h00.csv"
        echo mine >"$1/$folder/config.json"
        echo mine >"$1/$folder/lock"
    done
    ln -s ../../elsewhere/folder "$1/0001"
    ln -s ../../elsewhere/folder "$1/b"
    ln -s ../../elsewhere/folder "$1/step-00000002"
}

mkdir -p elsewhere/folder here/things here/empty
echo mine >elsewhere/file
echo mine >elsewhere/folder/journal
echo mine >elsewhere/folder/config.json
echo mine >elsewhere/folder/weights.l00.h00.csv
echo mine >here/file
echo mine >here/lone
echo mine >here/readonly
chmod 444 here/readonly
ln -s ../elsewhere/file here/link
ln -s ../elsewhere/folder here/folder
ln -s ../elsewhere/none here/dangling
for name in new made file link things; do
    for ending in .part .1-of-2 .2-of-2 .manifest.d; do
        [ -e "here/$name$ending" ] || {
            mkdir "here/$name$ending"
            echo mine >"here/$name$ending/keep"
        }
    done
    echo mine >"here/$name.aB3xY9"
    echo mine >"here/$name.attn-cli-aB3xY9.tmp"
done
fill here/things
collide here/things
for folder in "$@"; do
    [ ! -d "here/$folder" ] || fill "here/$folder"
done
