#!/bin/sh
# scripts/check_names.py, check_docs.py (what pages name) and check_public.py, on a small tree of two layers that is
# as it should be: then each fault is planted alone, and named.
. "$(dirname "$0")/lib.sh"
root=$(pwd)
docs="/usr/bin/env python3 $root/scripts/check_docs.py"
names="/usr/bin/env python3 $root/scripts/check_names.py"
public="/usr/bin/env python3 $root/scripts/check_public.py build"
expect 0 $names # of these sources
mkdir -p "$work/tree/include/regimen" "$work/tree/src/salt" "$work/tree/src/pepper" "$work/tree/src/cli" \
    "$work/tree/scripts" "$work/tree/build"
cd "$work/tree" || exit 1

cat >include/regimen/salt.h <<'C'
typedef struct rgm_grain rgm_grain;
/* How much salt there is. */
int rgm_salt(const rgm_grain *grain);
/* Twice that. */
static inline int rgm_salt_twice(const rgm_grain *grain)
{
    return 2 * rgm_salt(grain);
}
C
cat >include/regimen/pepper.h <<'C'
#include <regimen/salt.h>
/* How much pepper there is. */
int rgm_pepper(const rgm_grain *grain);
C
echo 'int rgmi_salt_weigh(int x);' >src/salt/salt_internal.h
cat >src/salt/crystal.c <<'C'
#include "salt_internal.h"
#include <regimen/salt.h>
struct rgm_grain { int size; };
int rgmi_salt_weigh(int x) { return x; } /* like rgmi_pepper_weigh(), which is named in comments alone */
int rgm_salt(const rgm_grain *grain) { return rgmi_salt_weigh(grain->size); }
C
cat >src/pepper/corn.c <<'C'
#include <regimen/pepper.h>
int rgmi_pepper_weigh(int x);
int rgmi_pepper_weigh(int x) { return x; }
int rgm_pepper(const rgm_grain *grain) { return rgmi_pepper_weigh(rgm_salt(grain)); }
C
cat >src/cli/main.c <<'C'
#include <regimen/pepper.h>
int main(void) { return rgm_pepper(0) + rgm_salt_twice(0); }
C
cat >src/pepper/corn_test.c <<'C'
#include <regimen/pepper.h>
int main(void) { return rgm_salt_twice(0); }
C

expect 0 $names
cp -r . ../kept
again() {
    cd "$work" && rm -rf tree && cp -r kept tree && cd tree || exit 1
}
# refused CHECK PATTERN: it names what is wrong and nothing else; then the tree is as before.
refused() {
    # shellcheck disable=SC2086
    expect 1 $1
    says "$2" "$work/err"
    [ "$(wc -l <"$work/err")" = 1 ] || fail "more is told: $(cat "$work/err")"
    again
}

# ---- names ----

cp src/cli/main.c src/pepper/crystal.c
refused "$names" '^names: crystal: one name, 2 files: src/pepper/crystal\.c src/salt/crystal\.c$'
echo '/* nothing */' >src/salt/corn_test.c
refused "$names" '^names: corn_test: one name, 2 files: src/pepper/corn_test\.c src/salt/corn_test\.c$'
echo '/* nothing */' >src/pepper/salt_internal.h
refused "$names" '^names: salt_internal: one name, 2 files: src/pepper/salt_internal\.h src/salt/salt_internal\.h$'
echo 'int rgm_salt(const rgm_grain *grain);' >>include/regimen/pepper.h
refused "$names" '^names: rgm_salt: one name, 2 public names: include/regimen/pepper\.h include/regimen/salt\.h$'
echo '#define RGM_GRAMS 1' | tee -a include/regimen/pepper.h >>include/regimen/salt.h
refused "$names" '^names: RGM_GRAMS: one name, 2 public names: '
echo 'int rgmi_salt_weigh(int x);' >>src/pepper/corn.c
refused "$names" '^names: rgmi_salt_weigh: one name, 2 private names: src/pepper/corn\.c src/salt/crystal\.c$'
yes '' | head -700 >>include/regimen/salt.h
refused "$names" '^names: include/regimen/salt\.h has 708 lines, more than 700$'
yes '' | head -700 >>src/salt/salt_internal.h
refused "$names" '^names: src/salt/salt_internal\.h has 701 lines, more than 700$'

# ---- pages ----

mkdir docs
echo 'Read `src/salt/crystal.c` and call rgm_salt(), one of rgm_salt_*.' >docs/salt.md
cp -r docs ../kept
expect 0 $docs
echo 'Call rgm_salt_mine().' >>docs/salt.md
refused "$docs" '^docs: docs/salt\.md:2: there is no rgm_salt_mine$'
echo 'Read `src/salt/mine.c`.' >README.md
refused "$docs" '^docs: README\.md:1: there is no src/salt/mine\.c$'
echo '/* To season, salt.h; to sweeten, sugar.h. */' >include/regimen/regimen.h
refused "$docs" '^docs: include/regimen/regimen\.h:1: there is no sugar\.h$'

# ---- public functions ----

# build: each source as an object file, and the list of them that CMake would write.
build() {
    commands=
    for source in src/*/*.c; do
        object=build/${source#src/}.o
        mkdir -p "$(dirname "$object")"
        cc -Iinclude -c "$source" -o "$object" || fail "$source cannot be compiled"
        commands="$commands{\"command\": \"cc -c $source -o ${object#build/}\"}, "
    done
    echo "[${commands%, }]" >build/compile_commands.json
}

expect 1 $public
says 'No such file|build everything first' "$work/err"
build
expect 0 $public
cp build/compile_commands.json ../commands
rm build/salt/crystal.c.o
expect 1 $public
says 'build everything first$' "$work/err"
again

cat >>include/regimen/pepper.h <<'C'
/* Nobody asks. */
int rgm_pepper_age(void);
C
cat >>src/pepper/corn.c <<'C'
int rgm_pepper_age(void) { return 7; }
int rgm_pepper_old(void);
int rgm_pepper_old(void) { return rgm_pepper_age(); }
C
sed -i 's/return rgm_salt_twice/return rgm_pepper_age() + rgm_salt_twice/' src/pepper/corn_test.c
rm -rf ../kept && cp -r . ../kept
build
refused "$public" '^public: pepper\.h: rgm_pepper_age is used by nothing but its own file and tests: '
echo 'rgm_pepper_age   a recipe asks' >scripts/public_for_users.txt
rm -rf ../kept && cp -r . ../kept
build
expect 0 $public
sed -i 's/rgm_salt_twice/rgm_salt/' src/cli/main.c
refused "$public" '^public: salt\.h: rgm_salt_twice is used by nothing but its own file and tests: '
build
sed -i 's/ .*//' scripts/public_for_users.txt
refused "$public" '^public: scripts/public_for_users\.txt: rgm_pepper_age has no reason$'
build
echo 'rgm_pepper_gone  it was' >>scripts/public_for_users.txt
refused "$public" '^public: scripts/public_for_users\.txt: rgm_pepper_gone is in no header$'
sed -i 's/return rgm_pepper(0)/return rgm_pepper_age() + rgm_pepper(0)/' src/cli/main.c
build
refused "$public" '^public: scripts/public_for_users\.txt: rgm_pepper_age is used by now: its line can go$'
finish
