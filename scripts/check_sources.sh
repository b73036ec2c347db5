#!/bin/sh
# What a look at the sources shows: banned functions, trailing white space, each public header alone.
set -eu
cd "$(dirname "$0")/.."
bad=0

# shellcheck disable=SC2046
if grep -nE '\b(strcpy|strcat|sprintf|strtok|atoi|alloca|system|popen|gets)\(' \
        $(find src include examples fuzz -name '*.[ch]') >&2; then
    echo "banned function above" >&2
    bad=1
fi
# The library never exits, aborts or prints.
# shellcheck disable=SC2046
if grep -nE '\b(exit|abort|printf|puts|fprintf\(stderr|fprintf\(stdout)\(' \
        $(find src -name '*.c' ! -name '*_test.c' ! -path 'src/cli/*') | grep -vE 'snprintf|_printf|_Exit' >&2; then
    echo "the library must not exit, abort or print" >&2
    bad=1
fi
# A thread with SIGBUS blocked ends the process when a mapped file is cut off: rgm_thread_start() and
# rgm_without_signals() know which signals stay open.
# shellcheck disable=SC2046
if grep -nE '\b(pthread_create|thrd_create|sigfillset)\(' \
        $(find src -name '*.c' ! -name '*_test.c' ! -path 'src/base/threads.c' ! -path 'src/base/spawn.c') >&2; then
    echo "a thread is started by rgm_thread_start()" >&2
    bad=1
fi
# shellcheck disable=SC2046
if grep -nE '[[:space:]]+$' $(git ls-files '*.c' '*.h' '*.sh' '*.cmake' '*.txt' 2>/dev/null) /dev/null >&2; then
    echo "trailing white space above" >&2
    bad=1
fi
for header in include/regimen/*.h; do
    for language in c c++; do
        std=$([ $language = c ] && echo c17 || echo c++17)
        cc -x $language -std=$std -Wall -Wextra -Werror -fsyntax-only -Iinclude "$header" || {
            echo "header $header does not stand alone in $language" >&2
            bad=1
        }
    done
done
exit $bad
