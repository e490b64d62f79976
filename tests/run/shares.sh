#!/bin/sh
# For scripts that source it.

# Run a command once for each share, all at the same time, with VARIABLE=1/COUNT, 2/COUNT, … in the
# environment. Prints what they print, and the sum of their counts; a share that ends without counts
# is one failure. Not with `&`: background jobs ignore interrupts.
in_shares() { # COUNT VARIABLE COMMAND...
    count=$1 variable=$2
    shift 2
    seq "$count" | xargs -P "$count" -I {} env "$variable={}/$count" "$@" |
        awk -v count="$count" '
            /^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3; skipped += $5; ended++ }
            !/^[0-9]+ passed, [0-9]+ failed/ { print; fflush() }
            END {
                printf "%d passed, %d failed", passed, failed + (count - ended)
                print (skipped ? ", " skipped " skipped" : "")
                exit failed > 0 || ended != count
            }'
}
