#!/bin/sh
# Every C file is as clang-format writes it. Of version 14, Debian 12's: others break lines elsewhere.
set -eu
cd "$(dirname "$0")/.."
tool=${CLANG_FORMAT:-clang-format}
case $($tool --version) in
    *"version 14."*) ;;
    *) echo "format: version 14 of clang-format is needed, this is $($tool --version)" >&2; exit 1 ;;
esac
git ls-files -z '*.c' '*.h' '*.cc' | xargs -0 -n 20 -P "$(nproc)" "$tool" --dry-run -Werror
