# shellcheck shell=sh
# Start this script again if it may run where SIGPIPE is ignored, as in services: there `yes | head`
# prints an error, which a shell cannot change. For tally.sh, and scripts that shift before it.
if [ -z "${PIPES_END-}" ] && [ -e "$0" ] && env --default-signal=PIPE true 2>/dev/null; then
    PIPES_END=quietly exec env --default-signal=PIPE sh "$0" "$@"
fi
