# shellcheck shell=sh
# Send a signal to a run as soon as its temporary file is there; then look at what it leaves behind.

interrupted() { # SIGNAL
    need_interrupts
    printf 'old\n' >all.json
    yes 'the cat sat on the mat and the dog ran to the big old house' | head -n 400 >many.txt
    env --default-signal="$1" "$ATTN" run -f many.txt --show all -o all.json &
    until ls all.json.attn-cli-??????.tmp >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do
        :
    done
    kill -"$1" $!
    wait $!
    printf '%s\n' $?
    ls
    cat all.json
}
