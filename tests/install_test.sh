#!/bin/sh
# Install into a folder of its own, then compile a ten-line program with pkg-config alone and run it.
. "$(dirname "$0")/lib.sh"
DESTDIR= cmake --install "$RGM_BUILD" --prefix "$work/usr" >"$work/log" 2>&1 || fail "install: $(tail -3 "$work/log")"
grep -rlF -e "$(pwd)" -e "$RGM_BUILD" "$work/usr" >"$work/paths" && fail "paths of this machine in: $(cat "$work/paths")"
# SECURITY.md: the network is masters' and the page's (http's listen.c, master's http.c and socket.c), and so is what is run (process.c; command.c: Slurm's). (A sanitizer's own code has all of it.)
if grep -q '^RGM_SANITIZE:STRING=$' "$RGM_BUILD/CMakeCache.txt"; then
    nm -D --undefined-only "$work/usr/bin/regimen" >"$work/imports"
    nm -A --undefined-only "$work/usr/lib/libregimen.a" | grep -vE ':(listen|http|socket|process|command)\.c\.o:' >>"$work/imports"
    says " dlopen(@|$)" "$work/imports" # entrypoint of a search file, nothing else
    says " fork(@|$)" "$work/imports" # regimen run --restarts: what is looked at are the names of functions
    grep -E ' (socket|connect|bind|sendto|getaddrinfo|gethostbyname|exec[vl]p?e?|execvpe|fexecve|posix_spawnp?|system|popen)(@|$)' \
        "$work/imports" && fail "a function that SECURITY.md says is not used"
fi
cat >"$work/ten.c" <<'C'
#include <regimen/regimen.h>
#include <stdio.h>

int main(void)
{
    rgm_tensor *t = NULL;
    if (rgm_tensor_create(&t, RGM_F32, 1, (int64_t[]){3}) != RGM_OK)
        return 1;
    printf("%lld elements\n", (long long)rgm_tensor_count(t));
    rgm_tensor_release(t);
}
C
PKG_CONFIG_PATH="$work/usr/lib/pkgconfig:$work/usr/lib/x86_64-linux-gnu/pkgconfig"
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs regimen) || fail "pkg-config does not know regimen"
case ",$(sed -n 's/^RGM_SANITIZE:STRING=//p' "$RGM_BUILD/CMakeCache.txt")," in
    *address*) flags="$flags -fsanitize=address,undefined" ;;
    *thread*) flags="$flags -fsanitize=thread" ;;
esac
# shellcheck disable=SC2086
cc -o "$work/ten" "$work/ten.c" $flags || fail "the program does not compile"
lib=$(pkg-config --variable=libdir regimen)
expect 0 env LD_LIBRARY_PATH="$lib" "$work/ten"
says "^3 elements$" "$work/out"
expect 0 "$work/usr/bin/regimen" --version

# With libregimen.a a program has what it uses: a graph network no tokenizer, a translation both libraries.
# linked SOURCE: compiled against the archive, and what it needs in $work/out.
linked() {
    # shellcheck disable=SC2046,SC2086
    cc -o "$work/static" "$1" "$lib/libregimen.a" -Wl,--as-needed $(pkg-config --cflags --libs --static regimen) \
        ${flags#*-lregimen} || fail "$1 does not link with libregimen.a"
    expect 0 ldd "$work/static"
    cp "$work/out" "$work/needed"
}
linked examples/04_node_classification.c
says "libdnnl" "$work/needed"
for library in libregimen libsentencepiece libunistring; do
    ! grep -q $library "$work/needed" || fail "a graph network needs $library"
done
expect 0 "$work/static"
cat >"$work/words.c" <<'C'
#include <regimen/translation.h>
#include <stdio.h>

int main(void)
{
    puts(rgm_translation.name);
}
C
linked "$work/words.c"
says "libsentencepiece" "$work/needed"
says "libunistring" "$work/needed"
expect 0 "$work/static"
finish
