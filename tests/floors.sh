#!/bin/sh
# The house's floors (floors.awk): checks cmd and lib, then that planted faults are found.
#
#     sh tests/floors.sh
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh

rules=$(pwd)/tests/floors.awk
copy=$scratch/copy
mkdir "$copy"

faults_in() { # DIR: a line a fault; nothing when the tree is clean
    (cd "$1" && find cmd lib -name '*.[ch]' | sort | xargs awk -f "$rules")
}

judge() { # SUCCESS WHAT
    if [ "$1" = 0 ]; then
        pass
    else
        fail "$2"
    fi
}

# A copy of the tree with a line more in FILE: sets `faults` to what is found there.
plant() { # FILE LINE
    printf '%s\n' "$2" >>"$copy/$1"
    faults=$(faults_in "$copy" | grep "^$1:")
    rm "$copy/$1"
    [ ! -f "$1" ] || cat "$1" >"$copy/$1"
}

cp -R cmd lib "$copy"
chmod -R u+w "$copy"
faults=$(faults_in .)
[ -z "$faults" ]
judge $? "$faults"

while IFS='|' read -r file line; do
    plant "$file" "$line"
    [ -n "$faults" ]
    judge $? "not found: $file: $line"
done <<'PLANTS'
lib/base/planted.c|#include "format/json.h"
lib/format/planted.c|#include "math/gemm.h"
lib/text/planted.c|#include "math/gemm.h"
lib/math/planted.h|#include "text/token_list.h"
lib/math/planted.c|#  include "model/tap.h"
lib/model/planted.c|#include "lens/sheet.h"
lib/lens/planted.c|#include "train/adam.h"
lib/lens/planted.c|#include "write/format.h"
lib/write/planted.c|#include "draw/canvas.h"
lib/draw/planted.c|#include "measure/tally.h"
lib/explain/planted.c|#include "measure/head_scores.h"
lib/train/planted.c|#include "bench/benchmark.h"
lib/lens/planted.c|#include "draw/canvas.h"
lib/write/planted.h|#include "attn.h"
lib/write/planted.c|#include "format.h"
lib/write/planted.c|#include "../cmd/run.h"
lib/attn.c|#include "cmd/run.h"
cmd/planted.c|#include "batch/store.h"
lib/model/planted.c|#include <libxsmm_generator.h>
cmd/planted.c|#include <libxsmm.h>
lib/format/planted.c|#include <cjson/cJSON.h>
lib/text/planted.c|#include <utf8proc.h>
lib/write/planted.c|#include <dlfcn.h>
lib/base/planted.c|#include <check.h>
lib/math/planted.c|    float *x = malloc(4);
cmd/planted.c|    free (x);
lib/write/planted.c|    /* kept */ x = strdup("free(") + 1;
lib/write/planted.c|    fprintf(stderr, "no");
lib/base/planted.c|    exit(1);
lib/base/planted.c|    _exit(1);
lib/draw/planted.c|    pid = fork();
PLANTS

while IFS='|' read -r file line; do
    plant "$file" "$line"
    judge "${#faults}" "wrongly found: $file: $line"
done <<'PLANTS'
lib/model/planted.c|#include "math/gemm.h"
lib/model/planted.c|#include "model/tap.h"
lib/attn.c|#include "write/format.h"
lib/measure/planted.c|#include "draw/canvas.h"
cmd/planted.c|#include "attn.h"
cmd/planted.c|#include "options.h"
cmd/batch/planted.c|#include "../options.h"
lib/math/planted.c|#include <libxsmm_generator.h>
lib/text/planted.c|    heap_free(x); /* never free(x) */
lib/text/planted.c|    err_set(err, "malloc(%zu)", size);
lib/base/planted.c|    x = realloc(x, size);
cmd/planted.c|    printf("%s", text);
PLANTS

closing
