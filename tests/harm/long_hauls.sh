#!/bin/sh
# Large inputs and outputs: exit status, and limits of processor time and memory.
#
#     sh tests/harm/long_hauls.sh [BUILD [short|long]]
#
# short: lines of 4 MiB, texts of 256 tokens; long (`make long-hauls`): lines of 64 MiB, 1,024
# tokens. LONG_HAULS_FREE=1, for sanitizers, checks no limits and uses smaller inputs. VERBOSE=1
# prints time and memory of each.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
ROOT=$(pwd)
attn=$(absolute "${1:-build}/attn-cli")
unset ATTN_MODEL

if [ "${2:-short}" = long ]; then
    million=1000000 line_bytes=$((64 << 20)) tokens=1024 channels=128 sentences=10000
    map_tokens=4096 row_tokens=16384 window_bytes=$million
elif [ -n "${LONG_HAULS_FREE-}" ]; then
    million=100000 line_bytes=$((2 << 20)) tokens=256 channels=32 sentences=200 map_tokens=256
    window_bytes=$million
else
    million=1000000 line_bytes=$((4 << 20)) tokens=256 channels=32 sentences=2000 map_tokens=1536
    row_tokens=12288 window_bytes=$((million / 5))
fi

if ! command -v python3 >/dev/null 2>&1; then
    do_without 'long hauls: python3 is not installed'
fi

cd "$scratch" || exit 1

# shellcheck source=tests/cli/recipes.sh
. "$ROOT/tests/cli/recipes.sh"

check() { # WHAT COMMAND...: passes when the command does
    what=$1
    shift
    if "$@" >log 2>&1; then
        pass
        [ -z "${VERBOSE-}" ] || printf '%-50s %s\n' "$what" "$(head -n 1 log)"
    else
        { head -n 5 log && head -c 300 err; } >why
        fail "$what" why
    fi
}

haul() { # WHAT STATUS SECONDS MIB ARGUMENT...: from the file `input`, to `out` and `err`
    haul_what=$1 haul_status=$2 haul_seconds=$3 haul_mib=$4
    shift 4
    check "$haul_what" python3 "$ROOT/tests/run/measure.py" \
        "$haul_status" "$haul_seconds" "$haul_mib" "$attn" "$@"
}

holds() { # WHAT COMMAND...: checks the output
    check "$1" sh -c "$2"
}

repeat() { # BYTES TEXT
    yes "$2" | tr '\n' ' ' | head -c "$1"
}

twice() { # FILE: as two lines
    cat "$1"
    printf '\n'
    cat "$1"
    printf '\n'
}

# --- a text of a million bytes --------------------------------------------------------------------

: >input
repeat $million 'the cat sat on the mat' >words
twice words >words_twice
zeros $million | tr '\0' a >letters
head -c $million /dev/urandom | base64 -w 0 | head -c $million >noise
bpe=$ROOT/tests/texts/bpe

haul "$million bytes of words: tokenize" 0 5 200 tokenize --only-ids -f words
holds 'its words are all there' '[ "$(wc -w <out)" -ge "$(wc -w <words)" ]'
haul "$million bytes of one letter: tokenize" 0 5 200 tokenize --only-ids -m "$bpe" -f letters
haul "$million bytes of noise: tokenize" 0 5 200 tokenize --only-ids -m "$bpe" -f noise
cp out ids
holds 'nothing is lost' "'$attn' tokenize -m '$bpe' --decode <ids | head -c $million | cmp - noise"
for command in 'run' 'explain' 'generate' 'compare --attention window:2'; do
    # shellcheck disable=SC2086 # words
    haul "$million bytes: $command" 3 5 200 $command -f words
done
haul "$million bytes: heads" 3 5 200 heads -f words
haul "$million bytes: score" 3 5 200 score -f words
head -c $window_bytes words >windows
haul "$window_bytes bytes: score, by windows" 0 120 300 score -f windows --stride 60 --format csv
haul "$million bytes: lens" 3 5 200 lens -f words
haul "$million bytes: batch" 1 5 200 batch words
haul "$million bytes: words of a vocabulary" 0 5 200 init -q --vocab-from words -o v1
haul "$million bytes of one letter: its pairs" 0 10 200 \
    init -q --vocab-from letters --vocab-size 270 -o v2
haul "$million bytes of noise: its pairs" 0 20 300 init -q --vocab-from noise --vocab-size 300 -o v3
haul "$million bytes: train" 0 10 300 train -q -d words_twice --shape tiny \
    --set n_embd=16,n_layer=1,n_head=2 --vocab v1/vocab.json --steps 1 \
    --batch-size 1 --context 8 -o t1

# --- a line of megabytes --------------------------------------------------------------------------

mib=$((line_bytes >> 20))
repeat $line_bytes 'the cat sat on the mat' >line
{
    printf 'the cat sat\n'
    cat line
    printf '\nthe dog ran\n'
} >three
{
    printf '{"sentence": "the cat sat"}\n{"sentence": "'
    cat line
    printf '"}\n{"sentence": "the dog ran"}\n'
} >three.jsonl
slow=$((5 + mib / 4))

haul "a line of $mib MiB: tokenize" 0 $slow $((64 + 24 * mib)) tokenize --only-ids -f line
holds 'its words are all there' '[ "$(wc -w <out)" -ge "$(wc -w <line)" ]'
for character in a ' ' .; do
    zeros $line_bytes | tr '\0' "$character" >run
    for name in llama-2-like llama-3-like gpt-neox-like; do
        haul "$mib MiB of '$character': $name" 0 $slow $((64 + 24 * mib)) \
            tokenize --only-ids -m "$ROOT/tests/texts/tokenizers/$name" -f run
    done
done
for command in 'run' 'explain' 'generate' 'compare --attention window:2'; do
    # shellcheck disable=SC2086 # words
    haul "a line of $mib MiB: $command" 3 $slow $((64 + 24 * mib)) $command -f line
done
haul "a line of $mib MiB: heads" 3 $slow $((64 + 24 * mib)) heads -f line
haul "a line of $mib MiB among others: batch" 1 $slow $((64 + 24 * mib)) batch three -q --head 0
holds 'the others are there' '[ "$(grep -c weights out)" = 2 ] && [ "$(wc -l <out)" = 3 ]'
haul "a line of $mib MiB of JSON: batch" 1 $slow $((64 + 24 * mib)) batch three.jsonl -q --head 0
holds 'the others are there' '[ "$(grep -c weights out)" = 2 ] && [ "$(wc -l <out)" = 3 ]'
haul "a line of $mib MiB: words of a vocabulary" 0 $slow $((64 + 24 * mib)) \
    init -q --vocab-from line -o v4
twice line >line_twice
haul "two lines of $mib MiB: train" 0 $((4 * slow)) $((64 + 48 * mib)) train -q -d line_twice \
    --shape tiny --set n_embd=16,n_layer=1,n_head=2 --vocab v4/vocab.json --steps 1 --batch-size 1 \
    --context 8 -o t2

# --- lists in each other --------------------------------------------------------------------------

brackets() { # BRACKET: 500 of them
    zeros 500 | tr '\0' "$1"
}
{
    brackets '['
    repeat $((3 * 3 * million)) '1,'
    printf 1
    brackets ']'
} >nested.json
haul "500 lists in each other: weights" 3 5 100 run --weights nested.json

# --- an endless text ------------------------------------------------------------------------------

for command in 'run -f' 'tokenize -f' 'heads -f' 'init -o v5 --vocab-from' \
    'init -o fresh2 --vocab'; do
    # shellcheck disable=SC2086 # words
    haul "a device without an end: $command" 3 20 1200 $command /dev/zero
done

# --- thousands of sentences -----------------------------------------------------------------------

yes 'the cat sat on the mat' | head -n $sentences >many
yes 'the cat sat on the mat' | head -n 100 >few
# In CSV of weights each sentence has its own columns, in CSV of channels all have the same.
for format in text 'csv --show q' tidy json jsonl; do
    # shellcheck disable=SC2086 # an option, too
    haul "a hundred sentences: run, $format" 0 10 100 run -q -t 1 -f few --format $format
    read -r few_mib <peak
    haul "$sentences sentences: run, $format" 0 60 $((few_mib + 4)) \
        run -q -t 1 -f many --format $format
done
# Two threads keep at most four groups of texts in memory.
haul "$sentences sentences: run, two threads" 0 60 64 run -q -t 2 -f many --format tidy
haul "$sentences sentences: heads" 0 60 100 heads -f many
haul "$sentences sentences: score" 0 60 100 score -q -f many --format tidy
haul "$sentences sentences: score, totals" 0 60 100 score -q -f many --total --format csv

# --- all tensors, through a closed pipe -----------------------------------------------------------

"$attn" init -q --shape tiny -s 'the cat sat on a mat' -o big \
    --set "n_embd=$channels,n_layer=4,n_head=4,n_positions=$tokens" || exit 1
yes the | head -n "$tokens" | tr '\n' ' ' >long
for format in text tidy json jsonl html svg; do
    READ=1000 haul "$tokens tokens, a reader that leaves: $format" -13 5 1500 \
        run -q -m big -f long --show all --format $format
done

# --- all attention maps of a long text ------------------------------------------------------------

# 16 maps of 9 MiB (long: 64 MiB) are written one after another, or as many as fit into 64 MiB.
"$attn" init -q --shape tiny -s 'the cat sat on a mat' -o maps \
    --set "n_embd=32,n_layer=2,n_head=8,n_positions=$map_tokens" || exit 1
yes 'the cat sat on a mat the cat' | head -n $((map_tokens / 8)) | tr '\n' ' ' >map_text
map_bytes=$((map_tokens * map_tokens * 4))
haul "$map_tokens tokens, all maps: safetensors" 0 20 100 \
    run -q -m maps -f map_text -o maps.safetensors
tail -c $((16 * map_bytes)) maps.safetensors >all_maps
for head in 0.0 0.7 1.5; do
    first=$(((${head%.*} * 8 + ${head#*.}) * map_bytes))
    "$attn" run -q -m maps -f map_text --layer "${head%.*}" --head "${head#*.}" -o one.npy
    tail -c $map_bytes one.npy >one
    holds "head $head has the bits of a run of its own" \
        "tail -c +$((first + 1)) all_maps | head -c $map_bytes | cmp - one"
done
rm -f maps.safetensors all_maps
haul "$map_tokens tokens, all maps: csv" 0 120 100 run -q -m maps -f map_text -o maps.csv
holds 'every query has a row for each head' "[ \$(wc -l <maps.csv) = $((16 * map_tokens + 1)) ]"
rm -f maps.csv
haul "$map_tokens tokens, all maps: a folder of csv" 0 120 100 \
    run -q -m maps -f map_text --format csv -o maps.folder/
holds 'every head has a file' '[ $(ls maps.folder | wc -l) = 17 ]'
rm -rf maps.folder

# --- the memory that commands say they need -------------------------------------------------------

expects() { # MODEL ARGUMENT...: estimate and peak agree, and too little memory is refused
    check "memory: $(printf '%s ' "$@" | cut -c 1-70)" \
        python3 "$ROOT/tests/harm/estimates.py" "$attn" "$@" -t 2
}

words() { # COUNT: that many random words
    awk -v n="$1" 'BEGIN { srand(1); for (i = 0; i < n; i++) printf "%c ", 97 + int(4 * rand()) }'
}

if [ -z "${LONG_HAULS_FREE-}" ]; then # sanitizers have memory of their own
    # Maps of 20 MiB for each head; and a pass of 20 KiB for each token.
    "$attn" init -q --shape tiny-llama --set n_layer=1,n_positions=3100 -s 'a b c d' -o maps1 &&
        "$attn" init -q --shape tiny --set n_layer=1,n_head=4,n_embd=512,n_positions=3100 \
            -s 'a b c d' -o wide &&
        "$attn" init -q --shape tiny-llama --set n_positions=$row_tokens -s 'a b c d' -o rows &&
        cp -r maps1 maps2 || exit 1
    dots=$ROOT/tests/references/golden-families/dots1
    words 150 >w150 && words 1500 >w1500 && words 2000 >w2000 && words 2300 >w2300 &&
        words 3000 >w3000 &&
        words $row_tokens >w_rows
    printf '{"clean": "%sa", "corrupt": "%sb"}\n' "$(words 2999)" "$(words 2999)" >pairs.jsonl
    for format in text tidy json jsonl; do
        READ=1000 expects maps1 run -m maps1 -f w2300 --show weights,context --format $format
        READ=1000 expects maps1 batch w2300 -m maps1 --show weights,context --format $format
    done
    READ=1000 expects maps1 run -m maps1 -f w2300 --show weights --format csv # map after map
    expects maps1 run -m maps1 -f w2300 --show weights -o maps.safetensors --force
    # Only the last layer has a window, whose visible keys are one more map.
    ids=$(awk 'BEGIN { for (i = 0; i < 3500; i++) printf "%s%d", i ? "," : "", 3 + i % 10 }')
    expects "$dots" run -q -m "$dots" --ids "$ids" --long --layer 1-2 --head 0 -o maps.safetensors \
        --force
    expects maps1 run -m maps1 -f w2000 --show finding
    expects maps1 run -m maps1 -f w2000
    expects maps1 run -m maps1 -f w2300 --show weights --mean heads -o mean.npy --force
    expects maps1 run -m maps1 -f w2300 --show weights --hide-first -o maps.safetensors --force
    expects maps1 run -m maps1 -f w2300 --show rollout -o rollout.npy --force
    for format in svg tex png pdf; do
        case $format in
        p*) command -v rsvg-convert >/dev/null 2>&1 || continue ;;
        esac
        expects maps1 run -m maps1 -f w2300 --show weights --token-range 0-20 -o m.$format --force
    done
    expects maps1 run -m maps1 -f w2300 -o page.html --force
    expects maps1 page -m maps1 -f w2300 --scores all
    # One map of these would be 576 MiB (long: 1 GiB): rows of the query, or strips of rows, are all
    # that is held.
    for command in 'heads --score entropy' explain 'run --query -1'; do
        # shellcheck disable=SC2086 # words
        haul "$row_tokens tokens: $command" 0 60 130 $command -q -m rows -f w_rows
        # shellcheck disable=SC2086
        expects rows $command -m rows -f w_rows
    done
    READ=1000 expects wide explain -m wide -f w150 --token all --format json
    expects wide score -m wide -f w3000
    expects wide lens -m wide -f w3000
    expects wide examples -m wide -f w3000
    expects wide attribute -m wide -f w3000
    expects maps1 attribute -m maps1 -f w2300 --by source
    expects wide attribute -m wide -f w3000 --by neuron
    expects wide patch -m wide -f pairs.jsonl
    expects wide patch -m wide -f pairs.jsonl --estimate
    expects wide patch -m wide -f pairs.jsonl --over edges --estimate
    expects maps1 compare -m maps1 -f w2300 --attention window:8
    expects maps1 compare maps1 maps2 -f w1500
    expects wide generate -m wide -f w3000 -n 2
    expects maps1 generate -m maps1 -f w2300 -n 2 --show weights --mean heads -o mean.npy --force
    expects maps1 batch w2300 -m maps1 --format npy -o folder/ --force
    expects rows batch w_rows -m rows --do heads

    # What `info` says of `score`, within a tenth.
    for count in 150 1500 3000; do
        told=$("$attn" info wide --tokens $count --format json |
            sed -n 's/.*"memory_bytes": \([0-9]*\).*/\1/p')
        haul "$count tokens: score" 0 60 200 score -q -t 1 -m wide -f w$count --format csv
        holds "$(cat peak) MiB are what info says: $((told >> 20))" \
            "[ $(((told >> 20) * 10)) -ge $(($(cat peak) * 9)) ] &&
            [ $(((told >> 20) * 9)) -le $(($(cat peak) * 10)) ]"
    done

    # Two threads hold several groups of texts, as many as --dry-run says.
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        words 500
        echo
    done >w500
    foresee() {
        "$attn" batch w500 -m maps1 -t 2 --dry-run | sed -n 's/^\([0-9]*\).* MiB of memory.*/\1/p'
    }
    mib=$(foresee)
    haul "two threads: $mib MiB" 0 60 $((mib * 6 / 5)) batch w500 -m maps1 -q -t 2
    takes_what_it_says() { # on a busy machine the threads may take turns: then with more texts
        for attempt in 1 2 3 4 5 6; do
            [ "$(cat peak)" -le $((mib * 4 / 5)) ] || return 0
            cat w500 w500 >w1000 && mv w1000 w500
            mib=$(foresee)
            python3 "$ROOT/tests/run/measure.py" 0 600 $((mib * 6 / 5)) \
                "$attn" batch w500 -m maps1 -q -t 2
        done
        echo "in $attempt runs at most $(cat peak) of $mib MiB"
        return 1
    }
    check 'they take what they say' takes_what_it_says
    haul "one thread: a tenth of that" 0 60 $((mib / 5)) batch w500 -m maps1 -q -t 1
fi

# --- every number of every token ------------------------------------------------------------------

for format in text markdown html json; do
    haul "$tokens tokens explained: $format" 0 60 500 \
        explain -q -m big -f long --token all --format $format
    READ=1000 haul "$tokens tokens explained, a reader that leaves: $format" -13 30 500 \
        explain -q -m big -f long --token all --format $format
done
haul "$tokens tokens explained in full" 0 10 200 explain -q -m big -f long --full

# --- a checkpoint in BF16 -------------------------------------------------------------------------

# Matrices [out, in] are read in place and not copied as float32. The numbers are zeros, as a hole
# in the file.
llama_header() { # CHANNELS INNER LAYERS WORDS: prints the header and the size of the data
    awk -v c="$1" -v i="$2" -v layers="$3" -v words="$4" '
        function tensor(name, rows, columns) {
            size = 2 * rows * (columns ? columns : 1)
            shape = columns ? rows ", " columns : rows
            printf "%s\"%s.weight\": {\"dtype\": \"BF16\", \"shape\": [%s], " \
                   "\"data_offsets\": [%d, %d]}", at ? ", " : "{", name, shape, at, at + size
            at += size
        }
        BEGIN {
            tensor("model.embed_tokens", words, c)
            for (l = 0; l < layers; l++) {
                layer = "model.layers." l "."
                tensor(layer "input_layernorm", c)
                tensor(layer "self_attn.q_proj", c, c)
                tensor(layer "self_attn.k_proj", c / 4, c)
                tensor(layer "self_attn.v_proj", c / 4, c)
                tensor(layer "self_attn.o_proj", c, c)
                tensor(layer "post_attention_layernorm", c)
                tensor(layer "mlp.gate_proj", i, c)
                tensor(layer "mlp.up_proj", i, c)
                tensor(layer "mlp.down_proj", c, i)
            }
            tensor("model.norm", c)
            tensor("lm_head", words, c)
            print "}"
            print at
        }'
}

mkdir llama
llama_header 512 1408 8 8000 >described
printf '{"model_type": "llama", "hidden_size": 512, "intermediate_size": 1408, "vocab_size": 8000,
"num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 2}\n' >llama/config.json
pack "$(head -n 1 described)" </dev/null >llama/model.safetensors
header=$(wc -c <llama/model.safetensors)
size=$(tail -n 1 described)
if truncate -s $((header + size)) llama/model.safetensors 2>/dev/null; then
    mib=$(((header + size) * 115 / 100 >> 20))
    ids=$(awk 'BEGIN { for (i = 0; i < 64; i++) printf "%s%d", i ? "," : "", i }')
    haul 'a llama in BF16: run' 0 10 $mib run -q -m llama --ids "$ids" --show logits --format npy
    haul 'a llama in BF16: generate' 0 10 $mib generate -q -m llama --ids "$ids" -n 20 --format json
else
    leave_out 'a llama in BF16: the file system makes no such file'
fi

# --- a file of three gigabytes --------------------------------------------------------------------

# Its hole takes no disk space; tensors that are not read take no memory.
mkdir sparse
rows=50000 columns=16000
size=$((4 * rows * columns))
printf '{"model_type": "attention", "vocab_size": %d, "n_embd": %d, "projections": false}\n' \
    $rows $columns >sparse/config.json
pack "$(printf '{"wte.weight": {"dtype": "F32", "shape": [%d, %d], "data_offsets": [0, %d]}}' \
    $rows $columns $size)" </dev/null >sparse/model.safetensors
header=$(wc -c <sparse/model.safetensors)
if truncate -s $((header + size)) sparse/model.safetensors 2>/dev/null; then
    haul 'three gigabytes: info' 0 2 64 info sparse
    haul 'three gigabytes: run' 0 2 64 run -q -m sparse --ids 0,49999 --show weights
    truncate -s $((header + size - 1)) sparse/model.safetensors
    haul 'three gigabytes but a byte' 3 2 64 run -q -m sparse --ids 0
    truncate -s 0 sparse/model.safetensors
    truncate -s $((header + size)) sparse/model.safetensors
    haul 'three gigabytes of nothing' 3 2 64 run -q -m sparse --ids 0
else
    leave_out 'three gigabytes: the file system makes no such file'
fi

# --- experts that no token chooses are not read ---------------------------------------------------

# Two of 16 and all other numbers, a tenth, and 10 MiB for the program, or for the beginning of the
# file, of which the system may read more.

for type in F32 BF16 Q8_0; do
    mixture=mixture.$type
    needed=$(python3 "$ROOT/tests/references/sparse_mixture.py" $type mixture.$type) || exit 1
    MAPPED=$mixture/model.safetensors
    [ $type != Q8_0 ] || mixture=$mixture/model.gguf MAPPED=mixture.Q8_0/model.gguf
    export MAPPED
    haul "experts in $type" 0 9 $((10 + needed * 11 / 10 / 1048576)) \
        run -q -m $mixture --ids 1,2,3 --show logits
done
unset MAPPED

closing
