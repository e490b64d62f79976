#!/bin/sh
# Pack the sources into attn-cli-VERSION.tar.gz. The same files give the same bytes everywhere.
#
#     sh data/packages/dist.sh build/attn-cli-0.4.0.tar.gz
#
# In a clone, packs the files that git tracks, as they are now, with the time of the last commit. In
# an unpacked archive, packs all files except build products and the folder of the target, with the
# time of README.md. SOURCE_DATE_EPOCH sets another time.
set -eu
target=$1
mkdir -p "$(dirname "$target")"
folder=$(cd "$(dirname "$target")" && pwd -P)
cd "$(dirname "$0")/../.."
name=$(basename "$target" .tar.gz)

${TAR:-tar} --version | grep -q GNU || {
    printf "packing: expected GNU tar, found '%s': say TAR=gtar\n" "${TAR:-tar}" >&2
    exit 1
}

# git refuses a folder of another user, such as in a container, unless safe.directory names it.
ours() { # GIT-COMMAND...
    git -c safe.directory='*' "$@"
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
if [ -e .git ]; then
    ours ls-files -z >"$list"
    [ -z "$(ours status --porcelain -uno)" ] ||
        echo 'packing: what is changed and not committed is packed, too' >&2
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(ours log -1 --format=%ct)}
else
    find . \( -path ./build -o -path "./${folder#"$(pwd -P)"/}" -o -name node_modules \
        -o -name __pycache__ \) -prune -o -type f -print0 | sed -z 's|^\./||' >"$list"
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -r README.md +%s)}
fi
[ -s "$list" ] || {
    printf "packing: expected files that git has in '%s', found none\n" "$(pwd)" >&2
    exit 1
}
LC_ALL=C sort -z "$list" |
    ${TAR:-tar} --create --format=ustar --no-recursion --null --files-from=- \
        --transform="s|^|$name/|" --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner --mode=u+rw,go=r,a+X >"$folder/$name.tar"
gzip -f -n -9 "$folder/$name.tar" && printf '%s\n' "$target"
