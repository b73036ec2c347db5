/*
 * The parallel loop: one pool for the whole library, one loop that hands out ranges of items. What
 * an item is (a row, a tile, a block of a sum) is fixed by the caller from the shape, so who
 * computes it changes nothing.
 *
 * The caller works too, and never waits for a worker that has not begun: on a machine busy with
 * other things a loop takes the time of one thread, where a barrier over a whole team (OpenMP's)
 * waits for each of them to get a processor, milliseconds a loop. The same makes it safe to use
 * after fork(). Work that waits for files or queues does not belong here: see threads.c.
 */
#include "base_internal.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define SERIAL_NS     12000.0 /* below this much work, handing it out costs more than it saves  */
#define FEW_CHUNKS_NS 2e5     /* below this, few ranges a thread; above, many, for balance       */
#define WORKERS_MOST  255
#define SPINS_IDLE    16000 /* pauses a worker waits for the next loop before it sleeps */
#define SPINS_END     2000  /* pauses the caller waits for busy workers before it yields       */

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
    rgm_logger *log; /* of whoever began the loop, and waits for its end */
    int workers;     /* started; changed only by who holds `busy`  */
    atomic_int sleepers;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} pool = {
    .busy = ATOMIC_FLAG_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

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

int rgm_processors(void)
{
    long most = sysconf(_SC_NPROCESSORS_CONF);

    /* A mask shorter than the kernel's is refused; its length is nowhere to be read. */
    for (long bits = most > 1024 ? most : 1024; bits <= 1 << 20; bits *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)bits);
        size_t size = CPU_ALLOC_SIZE((size_t)bits);
        int count =
            set != NULL && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    return most < 1 ? 1 : (int)most;
}

int rgm_threads(void)
{
    int threads = atomic_load(&pool.threads);

    if (threads < 1)
        atomic_store(&pool.threads, threads = rgm_processors());
    return threads;
}

/* ---- workers ------------------------------------------------------------------------------- */

static void work_on(void)
{
    for (;;) {
        int64_t begin = atomic_fetch_add(&pool.next, pool.chunk);
        if (begin >= pool.items)
            return;
        pool.work(pool.payload, begin,
                  begin + pool.chunk < pool.items ? begin + pool.chunk : pool.items);
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
            rgm_logger_enter(pool.log);
            work_on();
            rgm_logger_enter(NULL);
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
}

/* Fewer than wanted when the system refuses: the work is done all the same. */
static void start_workers(int threads)
{
    static bool told;

    if (pool.workers + 1 >= threads)
        return;
    if (!told)
        told = pthread_atfork(NULL, NULL, forget_workers) == 0;
    while (pool.workers + 1 < threads && pool.workers < WORKERS_MOST) {
        pthread_t thread;
        if (rgmi_thread_start(&thread, worker_main, (void *)(intptr_t)pool.workers) != 0)
            break;
        pthread_detach(thread);
        pool.workers++;
    }
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
    pool.log = rgm_logger_current();
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
    int64_t chunk;

    if (items <= 0)
        return;
    if (threads == 1 || items == 1 || total < SERIAL_NS || atomic_flag_test_and_set(&pool.busy)) {
        work(payload, 0, items); /* also inside another loop's work */
        return;
    }
    start_workers(threads);
    chunk = items / ((int64_t)threads * (total < FEW_CHUNKS_NS ? 4 : 24));
    run_job(items, chunk > 1 ? chunk : 1, work, payload);
    atomic_flag_clear(&pool.busy);
}
