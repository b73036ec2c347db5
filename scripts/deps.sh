#!/bin/sh
# Install what is missing, by Debian package name. Does nothing (and needs no root) when everything is there.
# scripts/packages.txt is the table.
#   scripts/deps.sh [GROUP...]             groups of the table; without one: build
#   scripts/deps.sh -l [SYSTEM] [GROUP...] print their names and install nothing; SYSTEM is debian (the
#                                          default), fedora or arch
set -eu
here=$(dirname "$0")

# names SYSTEM GROUP...: of each group, on a line each
names() {
    case $1 in debian) column=2 ;; fedora) column=3 ;; arch) column=4 ;; esac
    shift
    for group; do
        found=$(awk -v group="$group" -v column=$column '
            $1 == group { known = 1; if ($column != "-") print $column }
            END { exit !known }' "$here/packages.txt") ||
            { echo "deps     there is no group '$group'" >&2; exit 2; }
        echo "$found"
    done
}

if [ "${1:-}" = -l ]; then
    shift
    system=debian
    case ${1:-} in debian | fedora | arch) system=$1; shift ;; esac
    names $system "${@:-build}"
    exit 0
fi

want=$(names debian "${@:-build}")
if ! command -v dpkg-query >/dev/null; then
    case $(sed -n 's/^ID\(_LIKE\)\{0,1\}=//p' /etc/os-release 2>/dev/null) in
    *fedora* | *rhel*) system=fedora by="dnf install" ;;
    *arch*) system=arch by="pacman -S" ;;
    *) system=debian by="packages like Debian's" ;;
    esac
    echo "deps     no dpkg here, so nothing is looked for or installed. What is needed: $by $(names $system "${@:-build}" | paste -sd ' ' -)" >&2
    exit 0
fi

missing=
for package in $want; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' \
        || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

echo "deps     installing$missing" >&2
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
    echo "deps     not root and no sudo; as root run: apt-get install$missing" >&2
    exit 1
fi
$sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 || true
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
