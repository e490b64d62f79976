#!/bin/sh
# Run command lines with faults. memory: an allocation fails. system: a system call fails or is
# interrupted, a signal or SIGKILL arrives, a disk is full, a stream is closed, a limit is reached.
#
#     sh tests/harm/faults.sh memory [BUILD [EVERY]]     each EVERY-th allocation of a command line
#     sh tests/harm/faults.sh system [BUILD [EVERY]]     each EVERY-th fault; needs strace
#     ONLY='batch*--force*' sh tests/harm/faults.sh ...  only command lines that match the pattern
#     FAULT_LINES=2 sh tests/harm/faults.sh ...       every second command line; SLICE=1: the others
#
# faults/fault_table.c has the faults, faults/verdict.h the rules that each run must keep. Command
# lines run in a folder with files of another owner, which they must not change.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
kind=${1:-memory}
build=$(absolute "${2:-build}")
every=${3:-1}

unset ATTN_MODEL
export TERM=dumb COLUMNS=80
ROOT=$PWD
export ATTN="$build/attn-cli"
folder=$scratch
export NOBODY=''
if [ "$(id -u)" = 0 ]; then
    NOBODY='setpriv --reuid=65534 --regid=65534 --clear-groups'
    chmod 711 "$scratch"
fi

if [ "$kind" = system ] && ! strace -o /dev/null true 2>/dev/null; then
    do_without 'system: strace is not installed, or may not trace'
fi

if [ "$kind" = system ] && [ -n "${ASAN_OPTIONS-}" ]; then
    do_without 'system: a sanitizer that looks for leaks would trace, too'
fi

# Files of another owner: some have names that attn-cli uses, some are links or read-only.
own_files() {
    rm -rf "$folder/template"
    mkdir -p "$folder/template/files/theirs" "$folder/template/files/things"
    cd "$folder/template/files" || exit 1
    chmod 777 .
    echo mine | tee notes old theirs/target theirs/config.json things/notes things/journal \
        things/manifest.json things/vocab.json things/readonly things/sums \
        things/config.json.attn-cli-aB3xY9.tmp things/results.jsonl >readonly
    chmod 444 readonly things/readonly
    ln -s theirs/target link
    ln -s theirs/none dangling
    ln -s ../theirs/config.json things/config.json
    ln theirs/target things/model.safetensors
    mkfifo things/pipe
    mkdir things/step-00000001 things/0000
    echo mine | tee lone.jsonl.part things/0000/manifest.json >things/step-00000001/config.json
    cd "$ROOT" || exit 1
}

# Files that exist before the test: made by a command line that succeeds.
after() { # COMMAND
    own_files
    (cd "$folder/template/files" && eval "$1") >"$folder/log" 2>&1 || fail "$1" "$folder/log"
}

line=0
default_owns='files/here files/here.* files/here/*'
export OWNS="$default_owns" STATUS=0 AGAIN=''

try() { # COMMAND...
    # shellcheck disable=SC2254 # it is a pattern
    case "$*" in
    ${ONLY:-*}) ;;
    *) return ;;
    esac
    line=$((line + 1))
    [ $(((line + ${SLICE:-0}) % ${FAULT_LINES:-1})) = 0 ] || return
    AGAIN=''
    case "$*" in
    *--force* | *--dry-run*) ;;
    batch*' -o '*) AGAIN=--resume ;;
    *'-o here/'* | init* | train*) AGAIN=--force ;;
    esac
    "$build/faults" "$folder" "$kind" "$every" "$@" >"$folder/log" 2>&1 </dev/null
    counts=$(sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$folder/log")
    counts=${counts:-0 1} # ended early
    passed=$((passed + ${counts%% *})) failed=$((failed + ${counts##* }))
    progress
    [ "${counts##* }" = 0 ] && return
    printf 'failed: %s\n' "$*"
    cat "$folder/log"
}

# An output path in another owner's folder: the command may write only the paths of the patterns.
try_owning() { # PATTERNS COMMAND...
    OWNS=$1
    shift
    try "$@"
    OWNS=$default_owns
}

try_refused() { # STATUS COMMAND...: changes no file
    STATUS=$1
    shift
    try_owning '' "$@"
    STATUS=0
}

own_files
in=$folder/in
mkdir "$in"
if ! (
    set -e
    cd "$in"
    printf 'Life is short\neat dessert first\nLife is\n' >three.txt
    printf 'Anna is old\nBen sees Anna\n' >plain.txt
    printf 'clean,corrupt\nAnna,old\nAnna is,old is\n' >clean.csv
    printf 'Anna,old\nold,is\n' >pairs.csv
    printf '{"text": "Anna is old", "needle": "Anna", "query": " is"}\n' >needles.jsonl
    printf '{"id": "%s", "text": "Life is", "%s": %s}\n' a side 0 b side '"q"' >two.jsonl
    printf '{"sentence": "Anna is", "continue": [" old", " Ben"]}\n' >goes_on.jsonl
    printf 'who,sentence\nA,Anna is old\nB,Ben sees Anna\nA,Ben is old\n' >who.csv
    printf 'who,good,bad\nA,Anna is old,Anna old is\nB,Ben sees Anna,Ben Anna\n' >pairs_of_who.csv
    printf 'text,regions\nAnna | is old,who|rest\nBen | is,who|rest\n' >regions.csv
    printf 'trial;who;word\n1;Anna;Anna\n;;is\n2;Ben;Ben\n;;is\n' >merged.csv
    cat >suite.json <<'END'
{"items": [{"item_number": 1, "conditions": [
  {"condition_name": "a", "regions": [{"region_number": 1, "content": "Anna is"},
                                      {"region_number": 2, "content": "old"}]},
  {"condition_name": "b", "regions": [{"region_number": 1, "content": "Ben is"},
                                      {"region_number": 2, "content": "Anna"}]}]}],
 "predictions": [{"formula": "(2;%a%) < [(*;%b%) + 1] | 1 < 0"}]}
END
    printf 'id;side;sentence\na;left;Life is\nb;;"eat; dessert"\n' >two.csv
    "$ATTN" run -m life -f "$PWD/three.txt" --mean texts -o figure.svg
    for name in Anna Ben Cy; do
        printf '%s sees Ben, and Ben is old.\nBen sees %s, who is old.\n' $name $name
    done >texts
    "$ATTN" init --vocab-from texts -o words
    "$ATTN" init -q --shape gpt2 --set n_layer=1,n_head=2,n_embd=8,n_positions=16 \
        --vocab words/vocab.json -o school
    "$ATTN" init -q --shape tiny-llama --set n_layer=2,n_head=2,n_embd=8,num_key_value_heads=1 \
        --set intermediate_size=8 --vocab words/vocab.json -o llama
    "$ATTN" init --vocab-from texts --vocab-size 262 -o bpe
    "$ATTN" init -q --shape gpt2 --set n_layer=1,n_head=2,n_embd=8,n_positions=16 \
        --vocab bpe/vocab.json --merges bpe/merges.txt -o pieces
    sed 's/: 261$/: 261, "<s>": 262/' bpe/vocab.json >begins.json
    "$ATTN" init -q --shape gpt2 --set n_layer=1,n_head=2,n_embd=8,n_positions=16 \
        --vocab begins.json --merges bpe/merges.txt -o begins
    mkdir stages unigram sentencepiece proteins
    printf '%s\n' '<cls>' '<eos>' '<unk>' '<mask>' M >proteins/vocab.txt
    printf '{"tokenizer_class": "EsmTokenizer"}' >proteins/tokenizer_config.json
    printf '\n\t\n\005<unk>\030\002\n\005\n\003▁\n\003\n\001n\n\004\n\002nn\n\007\n\003爱\030\004' \
        >sentencepiece/tokenizer.model
    cut='"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[0-9]"}, "behavior": "Isolated"}'
    printf '{"normalizer": {"type": "BertNormalizer"}, %s, "model": {"type": "BPE", %s}}' "$cut" \
        '"vocab": {"?": 0, "a": 1, "n": 2, "nn": 3}, "merges": ["n n"], "unk_token": "?"' \
        >stages/tokenizer.json
    printf '{"pre_tokenizer": {"type": "Metaspace"}, "model": {"type": "Unigram", %s}}' \
        '"unk_id": 0, "vocab": [["?", 0], ["A", -1], ["n", -2], ["nn", -3.5]]' \
        >unigram/tokenizer.json
    cp -r begins named
    printf '{"bos_token": "<s>"}' >named/tokenizer_config.json
    printf '%s' "{% macro m(x) %}{{ x.split('s') | join('S') }}{% endmacro %}" \
        "{% for i in messages[::-1] %}{{ m(i['content']) }}{{ ([1] + [2]) | length }}" \
        '{% endfor %}' >named/chat_template.jinja
    mkdir listed
    {
        printf '\n\016\n\005<unk>\025\0\0\0\0\030\002\n\014\n\003<s>\025\0\0\0\0\030\003'
        printf '\n\014\n\003\342\226\201\025\0\0\0\300\030\001\n\012\n\001A\025\0\0\100\300\030\001'
        printf '\022\002\030\002' # BPE
    } >listed/tokenizer.model
    printf '{"legacy": false, "bos_token": "<s>", %s: {"4": {"content": "<e>"}}}' \
        '"added_tokens_decoder"' >listed/tokenizer_config.json
    "$ATTN" init -q --shape gpt2 --set n_layer=1,n_head=2,n_embd=64,n_positions=16 \
        --set vocab_size=16385 -o large
    "$ATTN" run -q -m school -s 'Anna is' --show mlp_out --layer 0 --format npy -o add.npy
    "$ATTN" batch three.txt -m life -q -o half.jsonl --shard 1/1
    "$ATTN" train -q -d texts -m school --steps 2 --batch-size 2 --context 4 -o trained
    for name in t5 bert; do
        mkdir $name
        cp "$ROOT/tests/references/golden-families/$name/config.json" \
            "$ROOT/tests/references/golden-families/$name/model.safetensors" $name
        echo '{"<pad>": 0, "</s>": 1, "[MASK]": 2, "a": 3, "b": 4}' >$name/vocab.json
    done
    printf 'source,text\na b,b a\nb,b\na a,a a\n' >sources.csv
    printf 'a b\nb a\na a\nb b\n' >letters
) >"$folder/log" 2>&1; then
    fail 'input files of the commands' "$folder/log"
    closing
    exit
fi

life='Life is short'
try run -m life -s "$life"
try run -m cloze "cat [MASK]" --show finding
try run -m recall "cat red cat" --show finding
try run -m life "$life" 'eat dessert' --show q --format csv
for format in markdown csv tidy json jsonl npy npz safetensors svg tex html; do
    try run -m life -s "$life" --format $format -o here
    try run -m life-cross -s "$life" --source 'short Life' --show all --format $format -o here/
done
try run -m life-cross -s "$life" --source 'short Life' --words --format json
try run -m life-grouped -s "$life" --show q,k --stats --format json
try run -m life -s "$life" -s is --show q --pool mean --normalize --stack -o here.npy
for view in lines overlay bars; do
    try run -m life-cross -s "$life" --source 'short Life' --view $view --range 0:1 --format svg \
        -o here
done
try run -m life -s "$life" --show embedding --view arrows -o here.svg
if "$ATTN" run -q -m life -s Life -o "$folder/probe.png" 2>"$folder/log"; then
    try run -m life -s "$life" --format png -o here
    try run -m life-cross -s "$life" --source 'short Life' --view lines --format pdf -o here
    try heads -m tiny --map entropy -f "$in/texts" -o here.pdf
else
    leave_out 'png and pdf: rsvg-convert is not installed'
fi
try run -m "$ROOT/tests/references/golden/gpt2-micro-bf16-prefixed-untied" --ids 1,2,3 \
    --show all --format json
try run -m "$ROOT/tests/refusals/pickled" -s "$life" --format json
try run -m "$in/pieces" -s 'Anna sees' --show weights --words --format csv -o here/
for model in begins named; do
    try run -m "$in/$model" --special bos -s 'Anna sees' --show weights --format csv
done
try run -m "$in/pieces" --ids 1,2,3,4 --show weights --words --format json
try run -m "$in/school" --ids 1,2,3 --show logits --title Ids --format html -o here
try run -m "$in/llama" -s 'Anna sees' --format csv \
    --show value_weighted,norm_weighted,value_zeroing,rollout,mask,visible
try run -m "$in/llama" -s 'Anna sees' --show entropy,entropy_share --format csv
try run -m life-4-heads -s "$life" -s 'is' --show q,k --format csv
try run -m life -s "$life" --view lines --title '' --cells both --format csv
try run -m life -s "$life" --range -0.1:0.1 --title '' --cells both --format svg -o here
try run -m life-causal -s "$life" --style talk --figure-width 1in --format svg -o here
try run -m life -s "$life" --format csv -o /dev/null
try run -m life -f "$in/three.txt" --mean heads --cells both --color always
try run -m life-causal -s "$life" --attention window:2 --attention-temperature 0.5
try run -m life -s "$life" --attention lowrank:2 --show all
try explain -m life -s "$life" --token is -o here.md
try explain -m life-4-heads -s "$life" -o here.json
try explain -m life-causal -s "$life" --attention linear
try explain -m life-grouped -s "$life" --token all --full -o here.html
try explain -m translate -s '<s> le petit chat' --source 'the small cat' --part cross
try explain -m "$ROOT/tests/references/golden-families/gemma2" --ids 1,2,3 --layer 1 -o here.json
try run -m "$ROOT/tests/references/golden-families/gemma3n_text" --ids 1,2 --gradient 3 \
    --show streams,merged
try run -m "$ROOT/tests/references/golden-families/gemma4_text" --ids 1,2 --show k,per_layer_input
try run -m "$ROOT/tests/references/golden-families/gemma4-experts" --ids 1,2 \
    --show norm_weighted --layer 0-2
try explain -m "$ROOT/tests/references/golden-families/opt-350m-style" --ids 1,2,3 --layer 1 --full
try explain -m "$ROOT/tests/references/golden-families/deberta-v2" --ids 1,2,3 --layer 1
try explain -m "$ROOT/tests/references/golden-families/diffllama" --ids 1,2,3 --head 3
try score -m "$ROOT/tests/references/golden-families/bert-classes" --ids 1,2,3 --classes
try attribute -m "$ROOT/tests/references/golden-families/llama-classes" --ids 1,2,3 \
    --answer GOOD:BAD
try explain -m life-causal -s "$life" --mask-after --dropout 0.5 -o here.md
try tokenize -m "$in/pieces" "Anna sees"
try tokenize -m "$ROOT/tests/texts/tokenizers/deberta-spm" "Anna sees"
try tokenize -m "$ROOT/tests/texts/tokenizers/spiece-mbart50" "Anna sees"
try tokenize -m "$in/pieces" --format json "Anna sees"
try tokenize -m "$in/stages" --only-ids "Anna sees 12"
try tokenize -m "$in/stages" --format csv -o here "Anna sees 12"
try tokenize -m "$in/unigram" "Anna sees 12"
try tokenize -m "$in/pieces" --decode 1 2 3 4
try tokenize -m "$ROOT/tests/texts/tokenizers/bert-like" --decode 5 6 7 8
try tokenize -m "$ROOT/tests/texts/tokenizers/bert-like" --pair "the cat" "is not"
try tokenize -m "$in/listed" --special bos "A<e>A"
try tokenize -m "$in/named" --chat "Anna sees"
try tokenize -m "$in/proteins" "Mx<mask>"
try tokenize -m "$in/sentencepiece" "Anna sees 爱"
try info "$in/school"
try info "$in/school" --format json
try info "$in/words"
try info "$in/unigram" --format json
try info life
try info life --hash
try again "$in/figure.svg"
try again "$in/figure.svg" --run --format json
try generate -m "$in/school" -s 'Anna is' -n 3
try generate -m "$in/large" --ids 7 -n 8
try generate -m "$in/pieces" -s 'Anna is' -n 3 --temperature 0.8 --top-p 0.9 --logprobs
try generate -m "$in/pieces" -s 'Anna is' -n 2 --logprobs --format json
try generate -m translate --source 'the small cat' -n 2
try run -m "$in/school" -s 'Anna is' --ablate 0.0 --knockout 1:0 --edit 'v[token=0] * 2;logits = 1'
try run -m "$in/school" -s 'Anna is' --ablate 0.0=mean --edit 'mlp_out = resample:1' \
    --reference "$in/texts" -o here.csv
try run -m "$in/school" -s 'Anna is' --edit "mlp_out + $in/add.npy" --show mlp_out,value_zeroing
try explain -m "$in/school" -s 'Anna is' --ablate 0.0 --edit 'k * 2'
try run -m "$in/school" -s 'Anna is' --edit 'weights = from' --from 'Anna is' -o here.csv
try batch "$in/texts" -m "$in/school" --sweep ablate=0.0=mean,0.1=mean \
    --reference "$in/texts" -o here.jsonl
try examples -f "$in/plain.txt" -m "$in/school" --channel all --top 2 --format csv
try features --sae demo --top 2 "The cat"
try atlas -f "$in/plain.txt" -m "$in/school" -o here/
try atlas -f "$in/plain.txt" -m "$in/school" -o here/ --format headvis --warm-up 1
for form in safetensors gguf; do
    try steer --positive "$in/plain.txt" --negative "$in/texts" -m "$in/llama" -o here.$form
done
try batch "$in/plain.txt" -m "$in/school" --do score --total
try batch "$in/goes_on.jsonl" -m "$in/school" --fail-fast --do score --format csv -o here/
for do in score lens attribute heads generate; do
    try batch "$in/plain.txt" -m "$in/school" --do $do --repeat 2
    try batch "$in/plain.txt" -m "$in/school" --do $do --format csv -o here/
done
try generate -m "$in/school" -s 'Anna is' -n 3 --beams 3
for format in csv tidy json svg html; do
    try generate -m "$in/school" -s 'Anna is' -n 2 --show weights --format $format -o here
done
for input in three.txt two.jsonl two.csv; do
    try batch "$in/$input" -m life
    try batch "$in/$input" -m life --fail-fast --format csv -o here/
    try batch "$in/$input" -m life --fail-fast --format tidy -o here.csv
    try batch "$in/$input" -m life --fail-fast -o here.jsonl
done
for format in tidy json npy npz safetensors svg html text; do
    try batch "$in/three.txt" -m life --format $format -o here/
done
try batch -f "$in/three.txt" -m life --sweep scale=none,sqrt --dry-run
try batch "$in/three.txt" -m life -o here.jsonl --shard 1/2
try batch "$in/two.jsonl" -m life --sweep attention-temperature=1,4 --repeat 2
try train -q -d "$in/texts" -m "$in/school" --steps 2 --batch-size 2 --context 4 -o here
try train -q -d "$in/sources.csv" -m "$in/t5" --steps 2 --batch-size 2 -o here
try train -q -d "$in/letters" -m "$in/bert" --steps 2 --batch-size 2 --context 3 -o here
printf 'text,label\nAnna is,a\nAnna is old,b\n' >"$in/labels.csv"
try train -q -d "$in/labels.csv" --classes -m "$in/school" --steps 1 --batch-size 2 -o here
try train -q -d "$in/texts" -m "$in/llama" --steps 1 --batch-size 2 --context 4 -o here
try train -q -d "$in/texts" --shape gpt2 --set n_layer=1,n_head=2,n_embd=8,n_positions=16 \
    --vocab "$in/bpe/vocab.json" --merges "$in/bpe/merges.txt" --steps 1 --batch-size 2 \
    --context 4 --drills 0.5 --dropout 0.1 -o here
try train -q -d "$in/texts" --resume "$in/trained/step-00000001" -o here
try init -q --like life -o here
try init -q -s "我爱 don't爱" -o here
try init -q --shape tiny --set n_layer=1,n_embd=8,n_head=2 -s "$life" -o here
try init -q --shape tiny-llama --set n_embd=8,intermediate_size=8 -s "$life" -o here
try init -q --config "$ROOT/models/life/config.json" -s "$life" -o here
try init -q --config "$in/school/config.json" --vocab "$in/bpe/vocab.json" \
    --merges "$in/bpe/merges.txt" --set n_layer=2,vocab_size=262 -o here
try init --vocab-from "$in/texts" --vocab-size 340 -o here
try heads -m "$in/school" -s 'Anna is old' --sort induction
try heads --contacts -m "$ROOT/tests/references/golden-families/esm-absolute" --ids 0,4,6,2 \
    --format json
try heads -m "$in/school" 'Anna is old' 'Anna is' --cells both --color always
for format in text markdown csv tidy json jsonl npy npz safetensors svg tex; do
    try heads -m "$in/school" --score self,induction --format $format -o here
    try heads -m "$in/school" --map induction --format $format -o here
done
try heads -m "$in/school" -m tiny 'Anna is' --score self,induction -o here.csv
try heads -m "$in/school" -m tiny 'Anna is' --sort self
try heads -m "$in/school" -m tiny 'Anna is' --map self --format jsonl -o here
try heads -m "$in/school" 'Anna is' --score self --format svg -o here/
try heads -m "$in/school" 'Anna is' --score self,sink,offset:-1 --baseline --sort sink -o here.csv
try heads -m "$in/school" -f "$in/plain.txt" --score induction:texts,self --sort self --top 2
try heads -m "$in/school" --score copying,successor --pairs "$in/pairs.csv" --format jsonl
try heads -m "$in/school" --needle "$in/needles.jsonl" --score needle,needle-top
for format in text json svg; do
    try heads -m "$in/school" --composition k --format $format -o here
done
for format in text csv jsonl svg; do
    try score -m "$in/school" -s 'Anna is old' -s 'Anna is' --total --format $format -o here
    try score -m "$in/school" 'Anna is old' --words --format $format -o here
    try score -m "$in/school" 'Anna is' --continue ' old' --continue ' is' --format $format -o here
done
try score -m "$in/school" 'Anna is old' --color always
try score -m "$in/school" -f "$in/who.csv" --per who --format csv
try score -m "$in/school" -f "$in/who.csv" --group who --format csv
printf 'Anna\t3\nis\t2\n' >"$in/words.tsv"
try score -m "$in/school" 'Anna is old' --total --unigrams "$in/words.tsv"
try score -m "$in/school" 'Anna is' --words --continue ' old' --continue ' is' --window 3
try score -m "$in/school" -f "$in/who.csv" --next 2 --format csv
try score -m "$in/school" -f "$in/who.csv" --per who --words -o here.svg
try score -m "$in/school" -f "$in/who.csv" --per who --words -o here/
try score -m "$in/school" -f "$in/pairs_of_who.csv" --per who
try score -m "$in/school" -f "$in/regions.csv" --per region
try score -m "$in/school" -f "$in/merged.csv" --word-column word --by trial --total --per who
try score -m "$in/school" -f "$in/suite.json" --format csv
try score -m "$in/school" 'Anna is old' --begin-word
try score -m "$in/scho*" -m "$in/trained" 'Anna is old'
try score -m "$in/scho*" -m "$in/trained" 'Anna is old' --total --format json
try lens -m "$in/scho*" -m "$in/trained" Anna --format csv
try compare -m "$in/school" -m "$in/school" -s 'Anna is old' --format csv
try compare -m "$ROOT/tests/references/golden-families/llama" --ids 3,1,4,1,5,9 \
    --dump "$ROOT/tests/references/dumps/llama.safetensors" --format csv -o here.csv
try compare -m "$ROOT/tests/references/gguf/llama.gguf" --ids 1,5,9 --dump \
    "$ROOT/tests/references/dumps/llama.log"
try compare "$ROOT/tests/references/gguf/q5_0.gguf" \
    "$ROOT/tests/references/gguf/q4_0.gguf" --ids 3,4 --parameters \
    -o here.svg
try compare -m "$in/school" -m "$in/school" -m "$in/school" -s 'Anna is old' --format csv
for format in text csv excel json svg tidy; do
    try lens -m "$in/school" 'Anna is old' --target Anna --show best,kl --format $format -o here
done
try lens -m "$ROOT/tests/references/golden-families/gemma2" \
    --ids 1,2 \
    --jacobian "$ROOT/tests/references/jacobian/gemma2.pt" --format json -o here
try lens -m "$ROOT/tests/references/golden-families/gemma2" \
    --ids 1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9 \
    --fit-jacobian -o here.pt
try page -m "$in/school" 'Anna is old' --scores all -o here.html
try page --sae demo -s "The cat" --explain none --scores none --top 0 -o here.html
try page -m "$in/scho*" -m "$in/trained" 'Anna is old' -o here.html
for by in part source neuron; do
    try attribute -m "$in/school" -s 'Anna is' --by $by --answer 'old:is' --format json -o here
done
try attribute -m "$in/school" -s 'Anna is'
try attribute -m "$in/school" -s 'Anna is' --by token --steps 2 --baseline mean --format json \
    -o here
try attribute -m "$in/llama" -s 'Anna is' --by token --method gradient --format html -o here
try run -m "$in/school" 'Anna is' --gradient old --show all --format json -o here
try run -m "$in/llama" 'Anna is' --gradient 'old:is' --position 0 \
    --show q,embedding,attention_gradient --format tidy -o here.csv
try attribute -m "$in/school" -s 'Anna is' --edit 'h.0.attn_out * 0.5' --format csv
try attribute -m "$in/school" -s 'Anna is' --by source --format html -o here
try attribute -m "$in/school" -s 'Anna is old' --head 0.1 --key 0:mean --format json -o here
try attribute -m "$in/llama" -s 'Anna is old' --head 1.1 --key 1 --by source -o here.svg
try attribute -m "$ROOT/tests/references/golden-families/opt-350m-style" --ids 1,2 --answer 3:4 \
    -o here.svg
try bench --growth --tokens 2 --repeat 1 --format csv -o /dev/null
try patch -m "$in/school" --clean Anna --corrupt old --joint 0.0,0.1 --format json -o here
try attribute -m "$in/school" -s Anna --layer 0 --format json -o here
for over in heads resid_mid paths; do
    try patch -m "$in/school" --clean Anna --corrupt old --over $over --format json -o here
done
try patch -m "$in/school" --clean 'Anna is' --with mean --over mlp_act --format json -o here
try patch -m "$in/school" --clean Anna --corrupt old --verify 2 --format json -o here
try patch -m "$in/school" --clean Anna --corrupt old --over edges --estimate --steps 2 \
    --format json -o here
try patch -m "$in/school" -f "$in/clean.csv" --mean texts --format json -o here
try lens -m "$in/school" -s 'Anna is' -s Anna --mean texts,layers --format json -o here
try batch "$in/clean.csv" -m "$in/school" --do patch --ablate 0.0 --sweep over=heads,v
try patch -m "$ROOT/tests/references/golden-families/opt" --ids --clean 1,2 --corrupt 3,2 \
    --path :1.0.k
try lesson 2
try lesson 3 -o here.html
try lesson 4 --lang zh
try lesson -m "$in/school" -s 'Anna is old' -o here.html
try help
try help run
try help run --full
try help entropy
try help pool
try help --man run
for shell in bash zsh fish; do
    try help --completion $shell
done


# Output paths: a file, a link, and paths where writing is refused.
for format in csv html; do
    try_owning files/old run -m life -s "$life" --format $format -o old
    try_owning files/theirs/target run -m life -s "$life" --format $format -o link
    try_owning files/things/here run -m life -s "$life" --format $format -o things/here
    for place in readonly dangling things; do
        try_refused 5 run -m life -s "$life" --format $format -o $place
    done
done
for place in things old dangling; do
    try_refused 5 init -q --like life -o $place
    try_refused 5 run -m life -s "$life" --format csv -o $place/
    try_refused 5 batch "$in/three.txt" -m life -q --format csv -o $place/
    try_refused 5 batch "$in/three.txt" -m life -q --format csv -o $place/ --shard 1/2
    try_refused 5 train -q -d "$in/texts" -m "$in/school" --steps 1 --batch-size 2 --context 4 \
        -o $place
done
try_refused 3 run -m life -f "$in/plain.txt" --format csv -o here/
try_owning 'files/things/config.json files/things/model.safetensors files/things/vocab.json' \
    init -q --like life -o things --force
try_owning 'files/things/manifest.json files/things/weights.*' \
    run -m life -s "$life" --format csv -o things/ --force
try_refused 5 batch "$in/three.txt" -m life -q -o lone.jsonl --force

# Files of an earlier batch or training, with files of another owner.
after '"$ATTN" batch "$in/three.txt" -q -m life --layer 0 -o here.jsonl'
try batch "$in/three.txt" -m life -q --force -o here.jsonl
try batch "$in/three.txt" -m life -q --layer 0 --resume -o here.jsonl
try_refused 5 batch "$in/three.txt" -m life -q -o here.jsonl
after '"$ATTN" batch "$in/three.txt" -q -m life --format csv -o here/ && echo mine >here/notes'
try_owning 'files/here.batch files/here.part files/here/[!n]*' \
    batch "$in/three.txt" -m life -q --format csv --force -o here/
after '"$ATTN" batch "$in/three.txt" -q -m life -o here.jsonl --shard 1/2 &&
    "$ATTN" batch "$in/three.txt" -q -m life -o here.jsonl --shard 2/2'
try batch --join here.jsonl.1-of-2.part here.jsonl.2-of-2.part -o here.jsonl
after 'cp -r "$in/trained" here && echo mine >here/notes'
try_owning 'files/here/[!n]*' train -q -d "$in/texts" --resume here

closing
