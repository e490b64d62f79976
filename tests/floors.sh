#!/bin/sh
# The house's floors (floors.awk) and the reading that ARCHITECTURE.md names (reading.awk): checks
# cmd and lib, then that planted faults are found.
#
#     sh tests/floors.sh
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh

rules=$(pwd)/tests/floors.awk
reading=$(pwd)/tests/reading.awk
copy=$scratch/copy
mkdir "$copy"

faults_in() { # DIR PATH...: a line a fault; nothing when what is there is clean
    (cd "$1" && shift && find "$@" -name '*.[ch]' | sort -u | xargs awk -f "$rules")
}

faults_of_reading() { # DIR PAGE
    (cd "$1" && find cmd lib -name '*.c' | sort | xargs awk -f "$reading" "$2")
}

judge() { # SUCCESS WHAT
    if [ "$1" = 0 ]; then
        pass
    else
        fail "$2"
    fi
}

# A copy of the tree with a line more in FILE: sets `faults` to what is found there, in that file
# alone or with others.
plant() { # FILE LINE [PATH...]
    file=$1
    printf '%s\n' "$2" >>"$copy/$file"
    shift 2
    faults=$(faults_in "$copy" "$file" "$@" | grep "^$file:")
    rm "$copy/$file"
    [ ! -f "$file" ] || cat "$file" >"$copy/$file"
}

cp -R cmd lib "$copy"
chmod -R u+w "$copy"
faults=$(faults_in . cmd lib)
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
lib/draw/planted.c|#include "measure/reduction.h"
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
lib/base/utf8_planted.c|#include <utf8proc.h>
lib/text/planted.c|#include <oniguruma.h>
lib/text/regex.h|#include <oniguruma.h>
lib/write/planted.c|#include <dlfcn.h>
lib/base/planted.c|#include <check.h>
lib/math/planted.c|    float *x = malloc(4);
cmd/planted.c|    free (x);
lib/write/planted.c|    /* kept */ x = strdup("free(") + 1;
lib/write/planted.c|    fprintf(stderr, "no");
lib/base/planted.c|#include <sys/prctl.h>
lib/base/planted.c|#include <malloc.h>
cmd/planted.c|    file = memfd_create("x", 0);
lib/base/planted.c|    size = lgetxattr(path, name, value, size);
lib/math/planted.c|    sched_setaffinity(0, sizeof one, &one);
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
lib/base/unicode_form.c|#include <utf8proc.h>
lib/base/platform_linux.c|#include <sys/prctl.h>
lib/base/platform_linux.c|    file = memfd_create("x", 0);
lib/base/planted.c|    platform_memory_file("memfd_create(");
lib/text/regex.c|#include <oniguruma.h>
lib/text/planted.c|    heap_free(x); /* never free(x) */
lib/text/planted.c|    err_set(err, "malloc(%zu)", size);
lib/base/planted.c|    x = realloc(x, size);
cmd/planted.c|    printf("%s", text);
PLANTS

# A chain of eleven headers, and the file that begins it.
touch "$copy/lib/base/planted_11.h"
i=10
while [ $i -gt 0 ]; do
    printf '#include "base/planted_%d.h"\n' $((i + 1)) >"$copy/lib/base/planted_$i.h"
    i=$((i - 1))
done
plant lib/base/planted.c '#include "base/planted_2.h"' lib
judge "${#faults}" "wrongly found: ten headers in a chain: $faults"
plant lib/base/planted.c '#include "base/planted_1.h"' lib
[ -n "$faults" ]
judge $? 'not found: eleven headers in a chain'
rm "$copy"/lib/base/planted_*.h

# The reading: as it is; with a file that is not there, with too many lines, with a call of what it
# does not name, by a file of the list or because the page names less.
page=$(pwd)/ARCHITECTURE.md
faults=$(faults_of_reading . "$page")
[ -z "$faults" ]
judge $? "$faults"

misread() { # WHAT PAGE
    [ -n "$(faults_of_reading "$copy" "$2")" ]
    judge $? "not found in the reading: $1"
}

# shellcheck disable=SC2016 # the page's quotes
sed 's|`lib/math/softmax.c`|`lib/math/no_softmax.c`|' "$page" >"$scratch/page.md"
misread 'a file that is not there' "$scratch/page.md"
sed '/^[0-9]*\. .lib.math.softmax.c/d' "$page" >"$scratch/page.md"
misread 'a list without the softmax' "$scratch/page.md"
awk 'BEGIN { for (i = 0; i < 3000; i++) print "" }' >>"$copy/lib/model/forward.c"
misread 'more lines than an afternoon has' "$page"
cat lib/model/forward.c >"$copy/lib/model/forward.c"
printf 'static void planted(void)\n{\n    exact_sum_add(0, 1.0f);\n}\n' >>"$copy/lib/model/block.c"
misread 'a call of what is not named' "$page"

# Every file that the page names is there.
absent_in() { # PAGE: paths that are not there
    # shellcheck disable=SC2016 # the page's quotes
    grep -oE '`(cmd|lib|tests|data|models)/[a-z0-9_./]+`' "$1" | tr -d '`' | sort -u |
        while read -r path; do
            [ -e "$path" ] || printf '%s: no such file\n' "$path"
        done
}
faults=$(absent_in "$page")
[ -z "$faults" ]
judge $? "$faults"
printf '`lib/base/no_such.h`\n' | cat "$page" - >"$scratch/page.md"
[ -n "$(absent_in "$scratch/page.md")" ]
judge $? 'not found: a page that names what is not there'

closing
