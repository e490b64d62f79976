#!/bin/sh
# For scripts that source it.

# Run a command once for each of COUNT shares, all at the same time, with VARIABLE=1/COUNT, 2/COUNT,
# … in the environment; if EVERY is 2, for half of 2 × COUNT shares, others for each SLICE. Prints
# what they print, and the sum of their counts; a share that ends without counts is one failure. Not
# with `&`: background jobs ignore interrupts.
in_shares() { # COUNT EVERY VARIABLE COMMAND...
    count=$1 every=$2 variable=$3
    shift 3
    numbers_of_shares "$count" "$every" |
        xargs -P "$count" -I {} env "$variable={}/$((count * every))" "$@" |
        awk -v count="$count" '
            /^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3; skipped += $5; ended++ }
            !/^[0-9]+ passed, [0-9]+ failed/ { print; fflush() }
            END {
                printf "%d passed, %d failed", passed, failed + (count - ended)
                print (skipped ? ", " skipped " skipped" : "")
                exit failed > 0 || ended != count
            }'
}

numbers_of_shares() { # COUNT EVERY
    seq $(($1 * $2)) | awk -v every="$2" -v slice="${SLICE:-0}" '($1 + slice) % every == 0'
}
