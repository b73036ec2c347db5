/*
 * Files that stay mapped for long and may be truncated meanwhile. Touching a page that is gone
 * raises SIGBUS. When the address belongs to a guarded file, the handler here puts a page of zeros
 * in its place, remembers that, and lets the reader go on. Readers check every index from such a
 * file, so zeros do no harm, and they call rgm_mapped_file_is_cut() before they return a result.
 * Any other SIGBUS goes to the handler that was set before.
 */
#include <regimen/base.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_FILES 256

typedef struct guarded {
    atomic_uintptr_t begin; /* 0: free */
    atomic_uintptr_t size;
    atomic_bool cut;
} guarded;

static guarded files[MOST_FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of taking a place, and the handler */
static struct sigaction before;
static uintptr_t page_size;

/* Not async-signal-safe functions are out of the question: atomics and one system call. */
static bool mend(uintptr_t address)
{
    for (int i = 0; i < MOST_FILES; i++) {
        uintptr_t begin = atomic_load(&files[i].begin), size = atomic_load(&files[i].size);
        uintptr_t page = address & ~(page_size - 1);

        if (begin == 0 || address < begin || address - begin >= size)
            continue;
        atomic_store(&files[i].cut, true);
        return syscall(SYS_mmap, page, page_size, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (long)page;
    }
    return false;
}

/* To whom it went before; one who hands on to us again gets what a signal without a handler does.
 */
static void hand_on(int number, siginfo_t *info, void *context)
{
    static _Thread_local volatile bool inside __attribute__((tls_model("initial-exec")));
    struct sigaction usual = {.sa_handler = SIG_DFL};

    if (inside || (!(before.sa_flags & SA_SIGINFO) &&
                   (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))) {
        sigaction(number, &usual, NULL); /* the same access raises it again */
        return;
    }
    inside = true;
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
    inside = false;
}

static void on_bus(int number, siginfo_t *info, void *context)
{
    int error = errno;

    if (!mend((uintptr_t)info->si_addr))
        hand_on(number, info, context);
    errno = error;
}

/* With the lock held: ours is the handler, whatever was set since. */
static void install(void)
{
    struct sigaction now, action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == on_bus)
        return;
    before = now;
    sigaction(SIGBUS, &action, NULL);
}

static guarded *place_of(const rgm_mapped_file *file)
{
    for (int i = 0; i < MOST_FILES; i++)
        if (atomic_load(&files[i].begin) == (uintptr_t)file->data)
            return &files[i];
    return NULL;
}

rgm_status rgm_file_map_guarded(rgm_mapped_file *file, const char *path)
{
    guarded *place = NULL;

    RGM_TRY(rgm_file_map(file, path));
    if (file->size == 0)
        return RGM_OK;
    pthread_mutex_lock(&lock);
    install();
    for (int i = 0; i < MOST_FILES && place == NULL; i++)
        if (atomic_load(&files[i].begin) == 0)
            place = &files[i];
    if (place != NULL) {
        atomic_store(&place->cut, false);
        atomic_store(&place->size, (uintptr_t)file->size);
        atomic_store(&place->begin, (uintptr_t)file->data);
    }
    pthread_mutex_unlock(&lock);
    file->is_guarded = place != NULL;
    if (place != NULL)
        return RGM_OK;
    rgm_file_unmap(file);
    return RGM_FAIL(RGM_ERR_BUSY, "'%s': %d files are mapped for long already", path, MOST_FILES);
}

bool rgm_mapped_file_is_cut(const rgm_mapped_file *file)
{
    const guarded *place = file->is_guarded ? place_of(file) : NULL;

    return place != NULL && atomic_load(&place->cut);
}

void rgm_file_unmap(rgm_mapped_file *file)
{
    guarded *place = file->is_guarded ? place_of(file) : NULL;

    if (place != NULL)
        atomic_store(&place->begin, 0); /* before the addresses can be somebody else's */
    if (file->size > 0 && !file->is_borrowed)
        munmap((void *)(uintptr_t)file->data, (size_t)file->size);
    *file = (rgm_mapped_file){0};
}
