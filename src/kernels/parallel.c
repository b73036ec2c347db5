/*
 * How kernels use threads: one pool, one loop that hands out ranges of items, and a free list of
 * scratch memory. What an item is (a row, a tile, a block of a sum) is fixed by the kernel from the
 * shape, so who computes it changes nothing.
 *
 * The caller works too, and never waits for a worker that has not begun: on a machine busy with
 * other things a kernel takes the time of one thread, where a barrier over a whole team (OpenMP's)
 * waits for each of them to get a processor, milliseconds a kernel. The same makes it safe to use
 * after fork().
 */
#include "kernels_internal.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define SERIAL_NS     12000.0 /* below this much work, handing it out costs more than it saves  */
#define FEW_CHUNKS_NS 2e5     /* below this, few ranges a thread; above, many, for balance       */
#define WORKERS_MOST  255
#define HUGE_PAGE     ((size_t)1 << 21)
#define SCRATCH_HUGE  ((size_t)1 << 19) /* scratch from here on is in huge pages             */
#define SPINS_IDLE    6000 /* pauses a worker waits for the next kernel before it sleeps      */
#define SPINS_END     2000 /* pauses the caller waits for busy workers before it yields       */

/* The job's number, whether workers may enter, and how many are inside, in one word: entering and
 * closing are then one atomic step each. */
#define JOB_OPEN   ((uint64_t)1 << 16)
#define JOB_INSIDE (JOB_OPEN - 1)
#define JOB_NEXT   ((uint64_t)1 << 17)

static struct {
    atomic_int threads; /* 0: as many as the process may use          */
    atomic_flag busy;   /* somebody's job is running                  */
    _Alignas(64) atomic_uint_fast64_t state;
    _Alignas(64) atomic_llong next; /* first item not handed out                */
    int64_t items, chunk;           /* of the job: read only between enter and leave */
    rgm_range_work *work;
    void *payload;
    int workers; /* started; changed only by who holds `busy`  */
    atomic_int sleepers;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} pool = {
    .busy = ATOMIC_FLAG_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void scratch_after_fork(void);

static inline void relax(void)
{
#ifdef __x86_64__
    _mm_pause();
#endif
}

void rgm_threads_set(int threads)
{
    atomic_store(&pool.threads, threads < 1 ? 1 : threads);
}

static int processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int rgm_threads(void)
{
    int threads = atomic_load(&pool.threads);

    if (threads < 1)
        atomic_store(&pool.threads, threads = processors());
    return threads;
}

/* ---- workers ------------------------------------------------------------------------------- */

static void work_on(void)
{
    for (;;) {
        int64_t begin = atomic_fetch_add(&pool.next, pool.chunk);
        if (begin >= pool.items)
            return;
        pool.work(pool.payload, begin, rgmi_min(pool.items, begin + pool.chunk));
    }
}

/* Is there an open job other than the last one this worker saw? */
static bool is_news(int worker, uint64_t last)
{
    uint64_t state = atomic_load(&pool.state);

    return (state & JOB_OPEN) && state / JOB_NEXT != last &&
           worker + 1 < atomic_load(&pool.threads);
}

static bool enter(uint64_t *last)
{
    uint64_t state = atomic_load(&pool.state);

    while (state & JOB_OPEN)
        if (atomic_compare_exchange_weak(&pool.state, &state, state + 1)) {
            *last = state / JOB_NEXT;
            return true;
        }
    return false;
}

static void *worker_main(void *number)
{
    int worker = (int)(intptr_t)number;
    uint64_t last = 0;

    for (;;) {
        int spins = 0;
        while (!is_news(worker, last) && spins++ < SPINS_IDLE)
            relax();
        if (!is_news(worker, last)) {
            pthread_mutex_lock(&pool.lock);
            atomic_fetch_add(&pool.sleepers, 1);
            while (!is_news(worker, last))
                pthread_cond_wait(&pool.wake, &pool.lock);
            atomic_fetch_sub(&pool.sleepers, 1);
            pthread_mutex_unlock(&pool.lock);
        }
        if (enter(&last)) {
            work_on();
            atomic_fetch_sub(&pool.state, 1);
        }
    }
    return NULL;
}

/* The child of a fork has no workers; what they were at is not its own. */
static void forget_workers(void)
{
    pool.workers = 0;
    atomic_store(&pool.state, atomic_load(&pool.state) / JOB_NEXT * JOB_NEXT);
    atomic_store(&pool.sleepers, 0);
    atomic_flag_clear(&pool.busy);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    scratch_after_fork();
}

/* Fewer than wanted when the system refuses: the work is done all the same. */
static void start_workers(int threads)
{
    static bool told;
    sigset_t all, old;

    if (pool.workers + 1 >= threads)
        return;
    if (!told)
        told = pthread_atfork(NULL, NULL, forget_workers) == 0;
    sigfillset(&all); /* signals are the program's matter */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (pool.workers + 1 < threads && pool.workers < WORKERS_MOST) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, worker_main, (void *)(intptr_t)pool.workers) != 0)
            break;
        pthread_detach(thread);
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void run_job(int64_t items, int64_t chunk, rgm_range_work *work, void *payload)
{
    uint64_t number = atomic_load(&pool.state) / JOB_NEXT + 1;
    int spins = 0;

    pool.items = items;
    pool.chunk = chunk;
    pool.work = work;
    pool.payload = payload;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.state, number * JOB_NEXT + JOB_OPEN);
    if (atomic_load(&pool.sleepers) > 0) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
    }
    work_on();
    atomic_fetch_and(&pool.state, ~JOB_OPEN);
    while (atomic_load(&pool.state) & JOB_INSIDE) {
        if (spins++ < SPINS_END)
            relax();
        else
            sched_yield();
    }
}

void rgm_parallel(int64_t items, double item_ns, rgm_range_work *work, void *payload)
{
    double total = (double)items * item_ns;
    int threads = rgm_threads();

    if (items <= 0)
        return;
    if (threads == 1 || items == 1 || total < SERIAL_NS || atomic_flag_test_and_set(&pool.busy)) {
        work(payload, 0, items); /* also inside another kernel's work */
        return;
    }
    start_workers(threads);
    run_job(items, rgmi_max(1, items / ((int64_t)threads * (total < FEW_CHUNKS_NS ? 4 : 24))), work,
            payload);
    atomic_flag_clear(&pool.busy);
}

/* ---- scratch ------------------------------------------------------------------------------- */

/* The header of a buffer fills a cache line, so that the memory behind it stays aligned. */
typedef struct scratch {
    _Alignas(64) struct scratch *next;
    size_t size;
} scratch;

static pthread_mutex_t scratch_lock = PTHREAD_MUTEX_INITIALIZER;
static scratch *scratch_list;
static atomic_bool scratch_failing;

static void scratch_after_fork(void)
{
    pthread_mutex_init(&scratch_lock, NULL);
}

/* Packed matrices are read by every thread again and again, a row or panel to a page: large ones
 * take huge pages, of which the TLB holds them all. */
static scratch *scratch_allocate(size_t size)
{
    size_t page = size < SCRATCH_HUGE ? 4096 : HUGE_PAGE,
           whole = (sizeof(scratch) + size + page - 1) / page * page;
    scratch *made = aligned_alloc(size < SCRATCH_HUGE ? 64 : page, whole);

    if (made == NULL)
        return NULL;
    made->size = whole - sizeof *made;
#ifdef MADV_HUGEPAGE
    if (page == HUGE_PAGE)
        (void)madvise(made, whole, MADV_HUGEPAGE); /* a wish only */
#endif
    return made;
}

void *rgmi_scratch_take(size_t size)
{
    scratch *found = NULL, **link;

    if (atomic_load(&scratch_failing) || size > SIZE_MAX / 2)
        return NULL;
    pthread_mutex_lock(&scratch_lock);
    for (link = &scratch_list; *link; link = &(*link)->next) {
        /* Not one more than four times too large: it may be wanted by its own kind. */
        if ((*link)->size >= size && (*link)->size / 4 <= size + 4096) {
            found = *link;
            *link = found->next;
            break;
        }
    }
    pthread_mutex_unlock(&scratch_lock);
    if (found == NULL) {
        found = scratch_allocate(size);
        if (found == NULL)
            return NULL;
    }
    return found + 1;
}

void rgmi_scratch_give(void *memory)
{
    scratch *buffer;

    if (memory == NULL)
        return;
    buffer = (scratch *)memory - 1;
    pthread_mutex_lock(&scratch_lock);
    buffer->next = scratch_list;
    scratch_list = buffer;
    pthread_mutex_unlock(&scratch_lock);
}

void rgmi_scratch_clear(void)
{
    scratch *list;

    pthread_mutex_lock(&scratch_lock);
    list = scratch_list;
    scratch_list = NULL;
    pthread_mutex_unlock(&scratch_lock);
    while (list) {
        scratch *next = list->next;
        free(list);
        list = next;
    }
}

void rgmi_scratch_fail(bool on)
{
    atomic_store(&scratch_failing, on);
}
