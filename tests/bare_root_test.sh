#!/bin/sh
# The first day where there is no dpkg and no apt, as in containers of other systems: a root of its own over this one, with
# both taken away, in which README.md and the pages are typed as they stand. What is written there goes with it.
. "$(dirname "$0")/lib.sh"
repo=$PWD
regimen=$(realpath "$regimen")
if [ "$(id -u)" != 0 ] || ! grep -qw overlay /proc/filesystems || ! unshare --mount true 2>/dev/null; then
    echo "SKIPPED: a root of its own needs root, overlayfs and unshare: nothing was typed without dpkg"
    exit 77
fi

# In the new root: what is typed there. Each script says by itself what fails.
cat >"$work/typed.sh" <<'SH'
cd "$1" || exit 1
for program in dpkg dpkg-query apt-get apt; do
    ! command -v $program || { echo "FAILED: there is $program"; exit 1; }
done
[ ! -e /var/lib/dpkg ] || { echo "FAILED: there is /var/lib/dpkg"; exit 1; }
failed=0
for test in start pages readme; do
    echo "$test"
    sh tests/${test}_test.sh "$2" || failed=1
done
scripts/deps.sh build 2>&1
exit $failed
SH

# A layer over / on a tmpfs, since it cannot lie in what it lies over. Mounts are not seen through it: devices,
# processes, and what is mounted elsewhere are bound.
cat >"$work/enter.sh" <<'SH'
set -e
mkdir "$1"
mount -t tmpfs none "$1"
mkdir "$1/over" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/over,workdir=$1/work" "$1/root"
cd "$1/root"
rm -rf usr/bin/dpkg* usr/bin/apt usr/bin/apt-* usr/sbin/dpkg* usr/lib/apt usr/lib/dpkg var/lib/dpkg var/lib/apt etc/apt \
    etc/debian_version etc/os-release
printf 'ID=other\nPRETTY_NAME="another system"\n' >etc/os-release
cp "$2" typed.sh
for at in proc sys dev; do mount --rbind "/$at" "$at"; done
shift 2
for path in "$@"; do
    [ -e ".$path" ] || { mkdir -p ".$path" && mount --rbind "$path" ".$path"; }
done
SH
data=${REGIMEN_DATA:-}
[ -z "$data" ] || data=$(realpath "$data")
# shellcheck disable=SC2086
unshare --mount --propagation private sh -c '
    enter=$1 layer=$2 typed=$3 repo=$4 regimen=$5
    shift 5
    sh "$enter" "$layer" "$typed" "$@" && exec chroot "$layer/root" sh typed.sh "$repo" "$regimen"
' sh "$work/enter.sh" "$work/layer" "$work/typed.sh" "$repo" "$regimen" "$repo" "$(realpath "$RGM_BUILD")" $data >"$work/told" 2>&1 ||
    fail "what was typed without dpkg: $(cat "$work/told")"
[ "$(grep -c '^all passed$' "$work/told")" = 3 ] || fail "not all three passed: $(cat "$work/told")"
says '^deps     no dpkg here' "$work/told"
grep 'not typed' "$work/told"
finish
