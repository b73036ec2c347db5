#!/bin/sh
# cppcheck over library and command, warnings and portability. Kernels are left out: their bodies are made by
# macros, per type and instruction set. Suppressions with reasons: scripts/cppcheck.txt.
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh lint
# shellcheck disable=SC2046
cppcheck -q -j "${JOBS:-$(nproc)}" --error-exitcode=1 --std=c17 --language=c --enable=warning,portability \
    --library=gnu --library=posix -D__x86_64__ -D_GNU_SOURCE -DRGM_VERSION='"0"' -Iinclude \
    --suppressions-list=scripts/cppcheck.txt --template='{file}:{line}: {id}: {message}' \
    $(git ls-files 'src/*.c' | grep -v -e '_test\.c$' -e '^src/kernels/')
