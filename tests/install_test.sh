#!/bin/sh
# Install into a folder of its own, then use what is there as other programs do: by pkg-config, by find_package,
# by a shell; move it; remove it again. And what a build says where something is missing.
. "$(dirname "$0")/lib.sh"
repo=$PWD
unset MAKEFLAGS MFLAGS MAKEOVERRIDES DESTDIR PREFIX LIBDIR # of a make that runs the tests
if [ "$RGM_BUILD" = "$repo/build" ]; then
    # As README has it: the prefix is of this command, whatever the build was configured with.
    expect 0 make --no-print-directory install "PREFIX=$work/usr"
else
    expect 0 cmake --install "$RGM_BUILD" --prefix "$work/usr"
fi
grep -q "$work/usr/bin/regimen" "$work/out" || fail "nothing went to $work/usr: $(head -3 "$work/out")"
# ("/regimen" alone, as a container may have it, is in every path of the headers.)
grep -rlF -e "$RGM_BUILD" -e "$repo/src" "$work/usr" >"$work/paths" && fail "paths of this machine in: $(cat "$work/paths")"
config=$(find "$work/usr" -name regimenConfig.cmake)
lib=$(cd "$(dirname "$config")/../.." && pwd)
for file in "$lib/libregimen.a" "$lib/pkgconfig/regimen.pc" "$work/usr/share/man/man1/regimen.1" \
    "$work/usr/include/regimen/regimen.h"; do
    [ -s "$file" ] || fail "$file is missing"
done

# The licence, and notices of what is inside. The page serves the same text.
doc=$work/usr/share/doc/regimen
[ -d "$doc" ] || doc=$(dirname "$(find "$work/usr/share" -name NOTICE)")
says 'Apache License' "$doc/LICENSE"
says 'END OF TERMS AND CONDITIONS' "$doc/LICENSE"
says '^Licensed under the Apache License' "$doc/NOTICE"
for holder in 'Mike Bostock' 'Raymond Hill' 'Cynthia Brewer' 'Robert Penner' 'Charles Karney'; do
    says "$holder" "$doc/LICENSES/d3.txt"
    strings -n 12 "$lib/libregimen.so" | grep -q "$holder" || fail "the library lacks the notice of $holder"
done

# SECURITY.md: the network is masters' and the page's (http's listen.c, master's http.c and socket.c, comm's watch_meet.c between ranks; service_address.c looks up names for ZeroMQ), and so is what is run (base's spawn.c, for those that the next check names). (A sanitizer's own code has all of it.)
if grep -q '^RGM_SANITIZE:STRING=$' "$RGM_BUILD/CMakeCache.txt"; then
    nm -D --undefined-only "$work/usr/bin/regimen" >"$work/imports"
    nm -A --undefined-only "$lib/libregimen.a" | grep -vE ':(listen|http|socket|watch_meet|service_address|spawn|program_socket|program_client)\.c\.o:' >>"$work/imports"
    says " dlopen(@|$)" "$work/imports" # entrypoint of a search file, libregimen-mpi.so, devices, ZeroMQ
    says " fork(@|$)" "$work/imports" # regimen run --restarts: what is looked at are the names of functions
    says " posix_spawn(@|$)" "$work/imports" # runtime.workers: this program again, by the command alone
    nm -A --undefined-only "$lib/libregimen.a" | grep -vE ':(process|command|program_start|asked_process)\.c\.o:' |
        grep -E ' rgm_process_start(@|$)' && fail "another file starts programs"
    nm -A --undefined-only "$lib/libregimen.a" | grep -E ' posix_spawn(@|$)' && fail "the library starts programs"
    grep -E ' (socket|connect|bind|sendto|getaddrinfo|gethostbyname|exec[vl]p?e?|execvpe|fexecve|posix_spawnp|system|popen)(@|$)' \
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

# The whole tree may lie elsewhere.
mv "$work/usr" "$work/moved"
lib=$work/moved${lib#"$work/usr"}
PKG_CONFIG_PATH="$lib/pkgconfig"
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs regimen) || fail "pkg-config does not know regimen"
case ",$(sed -n 's/^RGM_SANITIZE:STRING=//p' "$RGM_BUILD/CMakeCache.txt")," in
    *address*) sanitize="-fsanitize=address,undefined" ;;
    *thread*) sanitize="-fsanitize=thread" ;;
    *) sanitize= ;;
esac
# shellcheck disable=SC2086
cc -o "$work/ten" "$work/ten.c" $flags $sanitize || fail "the program does not compile"
[ "$(cd "$(pkg-config --variable=libdir regimen)" && pwd)" = "$lib" ] || fail "pkg-config names another libdir"
expect 0 env LD_LIBRARY_PATH="$lib" "$work/ten"
says "^3 elements$" "$work/out"
expect 0 "$work/moved/bin/regimen" --version

# What is loaded where there are ranks lies beside the library, if this build has an MPI.
if grep -q '^RGM_MPI:BOOL=ON' "$RGM_BUILD/CMakeCache.txt"; then
    [ -s "$lib/libregimen-mpi.so" ] || fail "libregimen-mpi.so is missing"
    nm -D "$lib/libregimen.so" | grep -q ' MPI_' && fail "libregimen.so calls MPI"
fi

# A program asks for the interface that it was linked with (docs/versions.md).
abi=$(readelf -d "$work/ten" | sed -n 's/.*\[libregimen\.so\.\(.*\)\]/\1/p')
version=$(pkg-config --modversion regimen)
case $version in 0.*) [ "$abi" = "${version%.*}" ] ;; *) [ "$abi" = "${version%%.*}" ] ;; esac ||
    fail "version $version has the ABI '$abi'"

# find_package: both libraries, and no other 0.MINOR.
mkdir "$work/cmake"
cp "$work/ten.c" "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<C
cmake_minimum_required(VERSION 3.22)
project(ten C)
find_package(regimen ${version%.*} REQUIRED)
add_executable(ten_shared ten.c)
target_link_libraries(ten_shared regimen::regimen)
add_executable(ten_static ten.c)
target_link_libraries(ten_static regimen::regimen_static)
C
expect 0 cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$work/moved" \
    "-DCMAKE_EXE_LINKER_FLAGS=$sanitize" "-DCMAKE_C_FLAGS=$sanitize"
expect 0 cmake --build "$work/cmake/build"
for program in ten_shared ten_static; do
    expect 0 "$work/cmake/build/$program"
    says "^3 elements$" "$work/out"
done
ldd "$work/cmake/build/ten_static" | grep -q libregimen && fail "regimen::regimen_static is not static"
sed -i "s/regimen ${version%.*} REQ/regimen 0.99 REQ/" "$work/cmake/CMakeLists.txt"
expect 1 cmake -S "$work/cmake" -B "$work/cmake/other" -DCMAKE_PREFIX_PATH="$work/moved"

# With libregimen.a a program has what it uses: a graph network no tokenizer, a translation both libraries.
# linked SOURCE: compiled against the archive, and what it needs in $work/out.
linked() {
    # shellcheck disable=SC2046,SC2086
    cc -o "$work/static" "$1" "$lib/libregimen.a" -Wl,--as-needed $(pkg-config --cflags --libs --static regimen) \
        $sanitize || fail "$1 does not link with libregimen.a"
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

# Completion is installed for each shell as the command prints it.
data=$work/moved/share
for pair in bash:bash-completion/completions/regimen zsh:zsh/site-functions/_regimen \
    fish:fish/vendor_completions.d/regimen.fish; do
    "$regimen" completion "${pair%%:*}" | cmp - "$data/${pair#*:}" || fail "completion of ${pair%%:*} is not what is printed"
done
PATH=$work/moved/bin:$PATH bash -c ". $data/bash-completion/completions/regimen
    COMP_WORDS=(regimen data im); COMP_CWORD=2; _regimen; echo \"\${COMPREPLY[*]}\"" >"$work/out"
says '^import$' "$work/out"

# Another LIBDIR, as GNUInstallDirs has it: configured anew, with the programs of this build; and where there is no
# cmocka, which only tests need.
mkdir "$work/pc"
pkg-config --variable pc_path pkg-config | tr : '\n' | while read -r folder; do
    find "$folder" -name '*.pc' ! -name 'cmocka*' -exec ln -sf {} "$work/pc" ';' 2>/dev/null
done
expect 0 env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$work/pc" \
    cmake -S "$repo" -B "$work/lib64" -G Ninja -DCMAKE_INSTALL_LIBDIR=lib64/deep -DRGM_WERROR=OFF
grep -q -e -Werror "$work/lib64/build.ninja" && fail "-Werror cannot be left out"
grep -q _test "$work/lib64/build.ninja" && fail "tests are built where there is no cmocka"
expect 1 env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$work/pc" cmake -S "$repo" -B "$work/tests" -G Ninja -DRGM_TESTS=ON
says 'apt install libcmocka-dev$' "$work/err"
grep -qF '$$ORIGIN/../lib64/deep' "$work/lib64/build.ninja" || fail "the command does not look into lib64/deep"
cp -P "$RGM_BUILD/regimen" "$RGM_BUILD"/libregimen* "$work/lib64"
expect 0 cmake --install "$work/lib64" --prefix "$work/other"
PKG_CONFIG_PATH=$work/other/lib64/deep/pkgconfig
[ "$(cd "$(pkg-config --variable=libdir regimen)" && pwd)" = "$work/other/lib64/deep" ] || fail "regimen.pc of LIBDIR"
[ -f "$(pkg-config --variable=includedir regimen)/regimen/regimen.h" ] || fail "regimen.pc's headers of LIBDIR"
sed -i "s/regimen 0.99 REQ/regimen ${version%.*} REQ/" "$work/cmake/CMakeLists.txt"
expect 0 cmake -S "$work/cmake" -B "$work/cmake/lib64" -Dregimen_DIR="$work/other/lib64/deep/cmake/regimen"

# Removed: all that was installed and nothing else.
if [ "$RGM_BUILD" = "$repo/build" ]; then
    mv "$work/moved" "$work/usr"
    echo mine >"$work/usr/include/regimen/mine.h"
    expect 0 make --no-print-directory uninstall "PREFIX=$work/usr"
    left=$(cd "$work/usr" && find . -type f -o -type l)
    [ "$left" = ./include/regimen/mine.h ] || fail "left by uninstall: $left"
    [ ! -d "$work/usr/share/doc/regimen" ] || fail "uninstall left our empty folders"
    [ -d "$work/usr/share/man/man1" ] || fail "uninstall removed a folder that is not ours"
fi

# What is missing is named, for each system, all at once; nothing is installed for it.
mkdir "$work/bin"
for program in apt-get dpkg-query sudo; do
    printf '#!/bin/sh\necho %s >>%s/called\nexit 1\n' "$program" "$work" >"$work/bin/$program"
    chmod +x "$work/bin/$program"
done
expect 1 env PATH="$work/bin:$PATH" PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR="$work/none" \
    cmake -S "$repo" -B "$work/missing" -G Ninja
tr -s ' \n' '  ' <"$work/err" >"$work/told"
says 'apt install libyaml-dev libjansson-dev .*Fedora dnf install libyaml-devel .*Arch pacman -S libyaml ' "$work/told"
says '`make deps` does it' "$work/told"
mkdir -p "$work/tree"
cp -r "$repo/scripts" "$repo/Makefile" "$work/tree"
for program in sh dirname grep mktemp rm cat make cc c++ nproc; do
    ln -sf "$(command -v $program)" "$work/bin/$program"
done
expect 2 env PATH="$work/bin" make -C "$work/tree"
says 'missing: cmake ninja-build \(' "$work/err"
says '`make deps` installs all' "$work/err"
[ ! -e "$work/called" ] || fail "a build called $(sort -u "$work/called" | paste -sd ' ')"
expect 0 make -n -C "$repo" install
grep -q deps.sh "$work/out" && fail "make install would run deps.sh"
expect 0 make -n -C "$repo" demo
says 'deps\.sh build$' "$work/out"

# Where there is no dpkg, names are told and nothing is done.
rm "$work/bin/dpkg-query"
for program in awk sed paste; do ln -sf "$(command -v $program)" "$work/bin/$program"; done
expect 0 env PATH="$work/bin" scripts/deps.sh build
says '^deps     no dpkg here.*What is needed: .*(libyaml|libyaml-dev)' "$work/err"
[ ! -e "$work/called" ] || fail "deps.sh without dpkg called $(cat "$work/called")"

# README's lists are those of the table.
for system in fedora arch; do
    expect 0 scripts/deps.sh -l $system
    names=$(paste -sd ' ' "$work/out")
    tr -s ' \\\n' '   ' <README.md | grep -qF "$names" || fail "README.md does not list $system's $names"
done
expect 2 scripts/deps.sh -l nothing
finish
