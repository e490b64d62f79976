#!/bin/sh
# Test HTML pages in headless Chromium.
#
#     sh tests/readers/page/run.sh [BUILD]            skipped if something is missing
#     sh tests/readers/page/run.sh [BUILD] modules    first install playwright-core in BUILD/page
#     PAGE_EVERY=2 sh tests/readers/page/run.sh       half of the tests, others for each SLICE
set -eu
cd "$(dirname "$0")/../../.."
# shellcheck source=tests/run/shares.sh
. tests/run/shares.sh
build=${1:-build}

ROOT=$(pwd)
case $build in
/*) ;;
*) build=$ROOT/$build ;;
esac
MODULES=$build/page
# The random user (user.mjs) of `make test-all` goes on for about two minutes on each page.
PAGE_ACTIONS=${PAGE_ACTIONS:-${WHOLE:+1000}}
export ROOT MODULES PAGE_ACTIONS LC_ALL=C.UTF-8

find_browser() {
    browser=
    for name in chromium chromium-browser google-chrome; do
        browser=$(command -v "$name") && return
    done
    return 1
}

install_modules() {
    mkdir -p "$MODULES"
    cp tests/readers/page/package.json tests/readers/page/package-lock.json "$MODULES"
    (cd "$MODULES" && npm ci --silent --no-audit --no-fund --ignore-scripts)
}

leave_out() { # WHY
    printf 'skipped: pages in a browser: %s (make test-page installs it)\n' "$1"
    printf '0 passed, 0 failed, 1 skipped\n'
    exit 0
}

has_modules() {
    [ -d "$MODULES/node_modules/playwright-core" ] && [ -d "$MODULES/node_modules/axe-core" ]
}

if [ "${2-}" = modules ] && ! has_modules && command -v npm >/dev/null; then
    install_modules || leave_out 'npm cannot fetch playwright-core'
fi
find_browser || leave_out 'Chromium is not installed'
command -v node >/dev/null || leave_out 'node is not installed'
[ -d "$MODULES/node_modules/playwright-core" ] || leave_out 'playwright-core is not installed'
# In two browsers, because tests often wait for a frame.
in_shares 2 "${PAGE_EVERY:-1}" PAGE_SHARE \
    node tests/readers/page/page.mjs "$build/attn-cli" "$browser"
