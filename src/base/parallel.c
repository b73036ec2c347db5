/*
 * The parallel loop: one pool for the whole library, one loop that hands out ranges of items. The
 * caller decides from the shape what an item is (a row, a tile, a block of a sum), so the result
 * does not depend on which thread computes it.
 *
 * The caller works too, and never waits for a worker that has not begun. So on a busy machine a
 * loop takes the time of one thread, where a barrier over a whole team (OpenMP's) waits until each
 * thread gets a processor, milliseconds per loop. For the same reason the loop is safe to use after
 * fork(). Two losses remain: the caller must wait for a worker that loses its processor in the
 * middle of a range, and a worker may share the caller's processor. The caller then runs the next
 * loops alone, for as long as was lost, and twice as long when it happens again at once. So on a
 * busy machine a loop costs little more than with one thread. Work that waits for files or queues
 * does not belong here: see threads.c.
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
#define SPINS_LOOK    64    /* pauses between two looks at the processor it is on       */
#define SPINS_END     2000  /* pauses the caller waits for busy workers before it yields       */

/* A worker lost its processor when the caller waits for it as long as for a few ranges, which may
 * differ, and LOST_S more: schedulers take a processor away for a millisecond and more. */
#define LOST_S       3e-4
#define LOST_RANGES  4
#define CROWDED_S    1e-4 /* what it costs to find that workers share the caller's processor       */
#define ALONE_MOST   32   /* times what was lost the caller goes on alone */
#define ALONE_MOST_S 0.25 /* and no longer than this                      */

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
    rgm_logger *log;             /* of whoever began the loop, and waits for its end */
    int workers;                 /* started; changed only by who holds `busy`  */
    double alone_until, alone_s; /* loops are the caller's alone, and for how long; 0: never yet */
    double alone_times;          /* what was lost, the last time; all three as `workers`         */
    atomic_int sleepers;
    atomic_int processor;        /* the caller's, at the loop's beginning           */
    atomic_bool helped, crowded; /* a worker took part; one found itself beside the caller */
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

/* Is this worker on the caller's processor? Then each would take the other's time. */
static bool is_crowded(void)
{
    if (sched_getcpu() != atomic_load(&pool.processor))
        return false;
    atomic_store(&pool.crowded, true);
    return true;
}

/* For the next loop, some time. */
static void wait_awake(int worker, uint64_t last)
{
    for (int spins = 0; spins < SPINS_IDLE && !is_news(worker, last); spins++) {
        relax();
        if (spins % SPINS_LOOK == 0 && is_crowded())
            return;
    }
}

static void *worker_main(void *number)
{
    int worker = (int)(intptr_t)number;
    uint64_t last = 0;

    for (;;) {
        wait_awake(worker, last);
        if (is_crowded())
            last = atomic_load(&pool.state) / JOB_NEXT; /* not this one */
        if (!is_news(worker, last)) {
            pthread_mutex_lock(&pool.lock);
            atomic_fetch_add(&pool.sleepers, 1);
            while (!is_news(worker, last))
                pthread_cond_wait(&pool.wake, &pool.lock);
            atomic_fetch_sub(&pool.sleepers, 1);
            pthread_mutex_unlock(&pool.lock);
        } else if (enter(&last)) {
            atomic_store(&pool.helped, true);
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
        if (rgm_thread_start(&thread, worker_main, (void *)(intptr_t)pool.workers) != 0)
            break;
        pthread_detach(thread);
        pool.workers++;
    }
}

/* ---- the loop ------------------------------------------------------------------------------ */

/* A worker lost its processor for `lost_s`. It happens now and then on any machine; again before
 * the pool worked as long as the caller did alone, something else wants the processors. */
static void stay_alone(double now, double lost_s)
{
    bool again = now - pool.alone_until < pool.alone_s;

    pool.alone_times = !again ? 1 : pool.alone_times * 2;
    if (pool.alone_times > ALONE_MOST)
        pool.alone_times = ALONE_MOST;
    pool.alone_s = lost_s * pool.alone_times;
    if (pool.alone_s > ALONE_MOST_S)
        pool.alone_s = ALONE_MOST_S;
    pool.alone_until = now + pool.alone_s;
}

static bool is_alone(void)
{
    return pool.alone_s > 0 && rgm_now() < pool.alone_until;
}

/* Until every worker that entered has left. A range is expected to take `range_s`. */
static void wait_for_workers(double range_s)
{
    double began, lost_s;

    for (int spins = 0; spins < SPINS_END; spins++) {
        if (!(atomic_load(&pool.state) & JOB_INSIDE))
            return;
        relax();
    }
    began = rgm_now();
    while (atomic_load(&pool.state) & JOB_INSIDE)
        sched_yield();
    lost_s = rgm_now() - began;
    if (lost_s > LOST_S + LOST_RANGES * range_s)
        stay_alone(began + lost_s, lost_s);
}

static void run_job(int64_t begin, int64_t items, int64_t chunk, double item_ns,
                    rgm_range_work *work, void *payload)
{
    uint64_t number = atomic_load(&pool.state) / JOB_NEXT + 1;

    atomic_store(&pool.processor, sched_getcpu());
    atomic_store(&pool.helped, false);
    pool.items = items;
    pool.chunk = chunk;
    pool.work = work;
    pool.payload = payload;
    pool.log = rgm_logger_current();
    atomic_store(&pool.next, begin);
    atomic_store(&pool.state, number * JOB_NEXT + JOB_OPEN);
    if (atomic_load(&pool.sleepers) > 0) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
    }
    work_on();
    atomic_fetch_and(&pool.state, ~JOB_OPEN);
    wait_for_workers((double)chunk * item_ns * 1e-9);
    if (!atomic_load(&pool.helped) && atomic_exchange(&pool.crowded, false))
        stay_alone(rgm_now(), CROWDED_S);
}

void rgm_parallel(int64_t items, double item_ns, rgm_range_work *work, void *payload)
{
    double total = (double)items * item_ns;
    int threads = rgm_threads();
    int64_t chunk, begin = 0;

    if (items <= 0)
        return;
    if (threads == 1 || items == 1 || total < SERIAL_NS || atomic_flag_test_and_set(&pool.busy)) {
        work(payload, 0, items); /* also inside another loop's work */
        return;
    }
    start_workers(threads);
    chunk = items / ((int64_t)threads * (total < FEW_CHUNKS_NS ? 4 : 24));
    chunk = chunk > 1 ? chunk : 1;
    for (; begin < items && is_alone(); begin += chunk)
        work(payload, begin, begin + chunk < items ? begin + chunk : items);
    if (begin < items)
        run_job(begin, items, chunk, item_ns, work, payload);
    atomic_flag_clear(&pool.busy);
}
