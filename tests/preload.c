/*
 * Loaded before a program (LD_PRELOAD) by the tests: what the system gives is taken away.
 *
 *     RGM_FAIL_IN=libfreetype  RGM_FAIL_AT=7    the 8th allocation that this library makes fails
 *                            RGM_FAIL_MORE=1  and all of its later ones
 *     RGM_CLOCK_AFTER=100  RGM_CLOCK_STEP=-3600   the wall clock is set back an hour behind the
 * 100th time that somebody asks for it
 *     RGM_SIGNAL=9  RGM_SIGNAL_AT=step-00000100:step-00000900   a process that has renamed a file
 * or folder to one of these names gets the signal at once. A test that sends a signal "in the
 * middle" comes too late where the machine is busy; this one never does
 *
 * Allocations are told apart by who called: those of the program itself are counted and made to
 * fail by its own hook (rgm_memory_fail_at). What C++ allocates is libstdc++'s.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

/* ---- allocations ---- */

typedef struct code {
    const char *library;
    uintptr_t begin, end;
} code;

static atomic_int ready; /* 0: not asked for yet, 1: being found out, 2: known, 3: nothing to do */
static code failing;
static atomic_llong calls;
static long long fail_at;
static bool fail_more;

static int find_code(struct dl_phdr_info *info, size_t size, void *payload)
{
    code *found = payload;

    (void)size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, found->library) == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;

        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        found->begin = begin;
        found->end = begin + part->p_memsz;
        return 1;
    }
    return 0;
}

/* A library may be loaded late, as a plugin is: it is looked for until it is there. */
static bool fails(const void *caller)
{
    const char *number;
    int expected = 0;
    long long call;

    if (atomic_load(&ready) == 3)
        return false;
    if (atomic_compare_exchange_strong(&ready, &expected, 1)) {
        failing.library = getenv("RGM_FAIL_IN");
        number = getenv("RGM_FAIL_AT");
        fail_at = number != NULL ? strtoll(number, NULL, 10) : -1;
        fail_more = getenv("RGM_FAIL_MORE") != NULL;
        atomic_store(&ready, failing.library == NULL || fail_at < 0 ? 3 : 2);
    }
    if (atomic_load(&ready) != 2)
        return false;
    if (failing.end == 0)
        dl_iterate_phdr(find_code, &failing);
    if ((uintptr_t)caller < failing.begin || (uintptr_t)caller >= failing.end)
        return false;
    call = atomic_fetch_add(&calls, 1);
    return call == fail_at || (fail_more && call > fail_at);
}

void *malloc(size_t size)
{
    if (!fails(__builtin_return_address(0)))
        return __libc_malloc(size);
    errno = ENOMEM;
    return NULL;
}

void *calloc(size_t count, size_t size)
{
    if (!fails(__builtin_return_address(0)))
        return __libc_calloc(count, size);
    errno = ENOMEM;
    return NULL;
}

void *realloc(void *memory, size_t size)
{
    if (!fails(__builtin_return_address(0)))
        return __libc_realloc(memory, size);
    errno = ENOMEM;
    return NULL;
}

/* ---- the wall clock ---- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    static atomic_llong asked;
    const char *after = getenv("RGM_CLOCK_AFTER"), *step = getenv("RGM_CLOCK_STEP");
    int result;

    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "clock_gettime");
        memcpy(&real, &found, sizeof real);
    }
    result = real(clock, now);
    if (result == 0 && clock == CLOCK_REALTIME && after != NULL && step != NULL &&
        atomic_fetch_add(&asked, 1) >= strtoll(after, NULL, 10))
        now->tv_sec += (time_t)strtoll(step, NULL, 10);
    return result;
}

/* ---- names that files get ---- */

/* Is the last part of the path one of the names, which a ':' parts? */
static bool is_named(const char *path, const char *names)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t length = strlen(name);

    for (const char *at = names; length > 0 && (at = strstr(at, name)) != NULL; at += length)
        if ((at == names || at[-1] == ':') && (at[length] == '\0' || at[length] == ':'))
            return true;
    return false;
}

int rename(const char *from, const char *to)
{
    static int (*real)(const char *, const char *);
    const char *names = getenv("RGM_SIGNAL_AT"), *number = getenv("RGM_SIGNAL");
    int result;

    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "rename");
        memcpy(&real, &found, sizeof real);
    }
    result = real(from, to);
    if (result == 0 && names != NULL && number != NULL && is_named(to, names))
        kill(getpid(), (int)strtol(number, NULL, 10));
    return result;
}
