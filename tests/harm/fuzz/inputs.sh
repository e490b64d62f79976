# shellcheck shell=sh
# A corpus: one file with many inputs, corpus/NAME.inputs, one per line. A file for each input would
# take a block of the disk, most of it empty.
#
#     # dash-of-a-word-processor          a comment on the next line
#     run<00><e2><80><94>model            an input
#                                         an empty line is an input of 0 bytes
#
# Bytes other than printable ASCII are written <hh>, as in break/*.cases; so are `<` itself, a `#`
# that begins a line and a blank that ends one.

# Write each input to a separate file in FOLDER, named after its line.
inputs_unpack() { # FILE FOLDER
    mkdir -p "$2" && ls "$1" >/dev/null || return
    # Letters and digits are kept; other bytes become escapes for printf.
    LC_ALL=C awk '
        BEGIN {
            for (i = 0; i < 256; i++) {
                octal[sprintf("<%02x>", i)] = sprintf("\\%03o", i)
                if (i)
                    octal[sprintf("%c", i)] = sprintf("\\%03o", i)
            }
        }
        /^#/ { next }
        {
            text = ""
            for (at = 1; at <= length($0); at += length(byte)) {
                byte = substr($0, at, 1)
                if (byte == "<")
                    byte = substr($0, at, 4)
                text = text (byte ~ /^[A-Za-z0-9]$/ ? byte : octal[byte])
            }
            print FNR " " text
        }' "$1" |
        while read -r number text; do
            # shellcheck disable=SC2059 # it is a format, without a conversion
            printf "$text" >"$2/$number" || return
        done
}

# Print files as lines, each below its name, except names that are hashes of libFuzzer.
inputs_pack() { # FILE...
    for file; do
        case ${file##*/} in *[!0-9a-f]*) printf '# %s\n' "${file##*/}" ;; esac
        od -An -v -tx1 "$file" | LC_ALL=C awk '
            BEGIN {
                for (i = 33; i < 127; i++)
                    plain[sprintf("%02x", i)] = sprintf("%c", i)
                plain["20"] = " "
                delete plain["3c"]
            }
            { for (i = 1; i <= NF; i++) text = text ($i in plain ? plain[$i] : "<" $i ">") }
            END {
                sub(/^#/, "<23>", text)
                sub(/ $/, "<20>", text)
                print text
            }'
    done
}
