/*
 * The index of runs: opened, read by threads, refreshed, asked. Its lock is held for moments only:
 * walking and reading run folders is done without.
 */
#include "curves.h"
#include "index.h"

#include <regimen/base_condition.h>
#include <regimen/store.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_THREADS = 4,
    READ_IN_REFRESH = 64, /* changed runs that a refresh reads itself; more are the threads' */
    FRESH_SECONDS = 120,  /* a run that measured something so lately is looked at each time */
    ROUNDS = 4            /* refreshes that it takes to look at all others once */
};
#define CURVE_BYTES  (INT64_C(64) << 20) /* of learning curves that are kept in memory */
#define WAIT_FOR_ALL 0.2                 /* seconds that a request waits for what it needs */

/* ---- reading ------------------------------------------------------------------------------- */

/* Put what was read in the place of what was known, where the run is there still. */
static void install(rgmi_runs *runs, rgmi_run_row *row, uint64_t stamp)
{
    rgmi_known_run *run;

    pthread_mutex_lock(&runs->lock);
    run = rgmi_runs_find(runs, row->id);
    if (run != NULL) {
        runs->read += !run->row->read;
        rgmi_run_row_release(run->row);
        run->row = rgmi_run_row_retain(row);
        run->stamp = stamp;
        run->version++;
        runs->version++;
        if (runs->read == runs->run_count)
            pthread_cond_broadcast(&runs->changed);
    }
    pthread_mutex_unlock(&runs->lock);
}

rgm_status rgmi_runs_read_now(rgmi_run_row **row, rgmi_runs *runs)
{
    uint64_t stamp = rgmi_run_stamp((*row)->text[RGMI_TEXT_PATH]);
    rgmi_run_row *fresh;

    RGM_TRY(rgmi_run_row_read(&fresh, *row, &runs->keys, &runs->stop));
    install(runs, fresh, stamp);
    rgmi_run_row_release(*row);
    *row = fresh;
    return RGM_OK;
}

/* The next of the queue, held; NULL: none. */
static rgmi_run_row *take_next(rgmi_runs *runs)
{
    while (runs->queue_count > 0 && !runs->stop) {
        rgmi_known_run *run = rgmi_runs_find(runs, runs->queue[runs->queue_first++]);

        runs->queue_count--;
        if (run == NULL)
            continue;
        run->queued = false;
        return rgmi_run_row_retain(run->row);
    }
    return NULL;
}

static void read_queue(void *payload)
{
    rgmi_runs *runs = payload;
    rgmi_run_row *row;

    for (;;) {
        rgm_status status;

        pthread_mutex_lock(&runs->lock);
        row = take_next(runs);
        if (row == NULL)
            runs->working--;
        pthread_mutex_unlock(&runs->lock);
        if (row == NULL)
            return;
        status = rgmi_runs_read_now(&row, runs);
        if (status != RGM_OK) /* it stays unread; the next refresh asks for it again */
            rgm_log_write(RGM_LOG_WARNING, "%s: %s", row->text[RGMI_TEXT_PATH],
                          rgm_error_message());
        rgmi_run_row_release(row);
    }
}

/* Threads for the queue, where there is something in it; without threads the caller's time. */
static rgm_status work_off(rgmi_runs *runs)
{
    rgm_status status = RGM_OK;
    bool here = false;

    pthread_mutex_lock(&runs->lock);
    while (status == RGM_OK && runs->pool != NULL && runs->working < runs->threads &&
           runs->working < runs->queue_count && !runs->stop) {
        status = rgm_thread_pool_submit(runs->pool, read_queue, runs);
        runs->working += status == RGM_OK;
    }
    if (runs->pool == NULL && runs->queue_count > 0) {
        here = true;
        runs->working++;
    }
    pthread_mutex_unlock(&runs->lock);
    if (here)
        read_queue(runs);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

static int newest_first(const void *a, const void *b, void *payload)
{
    const rgmi_known_run *x = rgmi_runs_find(payload, *(const uint64_t *)a);
    const rgmi_known_run *y = rgmi_runs_find(payload, *(const uint64_t *)b);
    double at_x = x != NULL ? x->row->modified : 0, at_y = y != NULL ? y->row->modified : 0;

    return (at_x < at_y) - (at_x > at_y);
}

/* The first walk, then reading: what was measured last is what is shown first. */
static void begin(void *payload)
{
    rgmi_runs *runs = payload;
    rgm_status status;

    pthread_mutex_lock(&runs->refreshing);
    status = rgmi_runs_walk(runs);
    pthread_mutex_unlock(&runs->refreshing);
    pthread_mutex_lock(&runs->lock);
    if (runs->queue_count > 1)
        qsort_r(runs->queue + runs->queue_first, (size_t)runs->queue_count, sizeof *runs->queue,
                newest_first, runs);
    runs->walked = true;
    runs->refreshed = rgm_now();
    runs->version++;
    pthread_cond_broadcast(&runs->changed);
    pthread_mutex_unlock(&runs->lock);
    if (status == RGM_OK)
        status = work_off(runs);
    if (status != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "looking for runs: %s", rgm_error_message());
}

/* ---- open and close ------------------------------------------------------------------------ */

static void init_locks(rgmi_runs *runs)
{
    pthread_mutex_init(&runs->lock, NULL);
    pthread_mutex_init(&runs->refreshing, NULL);
    rgm_condition_init(&runs->changed);
}

rgm_status rgmi_runs_open_threads(rgmi_runs **out, const char *const *folders, int64_t count,
                                  int threads)
{
    rgmi_runs *runs = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_TRY(RGM_NEW(runs, 1));
    init_locks(runs);
    RGM_GO(rgmi_keys_open(&runs->keys));
    RGM_GO(rgmi_curve_cache_create(&runs->curves, CURVE_BYTES));
    runs->threads = threads;
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgmi_runs_add_root(runs, folders[i]));
    if (threads > 0) {
        RGM_GO(rgm_thread_pool_create(&runs->pool, threads));
        RGM_GO(rgm_thread_pool_submit(runs->pool, begin, runs));
    } else {
        RGM_GO(rgmi_runs_walk(runs));
        RGM_GO(work_off(runs));
        runs->walked = true;
    }
    *out = runs;
    runs = NULL;
done:
    rgmi_runs_close(runs);
    return status;
}

rgm_status rgmi_runs_open(rgmi_runs **out, const char *const *folders, int64_t count)
{
    int threads = rgm_processors();

    return rgmi_runs_open_threads(out, folders, count,
                                  threads < MOST_THREADS ? threads : MOST_THREADS);
}

void rgmi_runs_stop(rgmi_runs *runs)
{
    runs->stop = true;
    if (runs->curves != NULL)
        rgmi_curve_cache_stop(runs->curves);
}

void rgmi_runs_close(rgmi_runs *runs)
{
    if (runs == NULL)
        return;
    rgmi_runs_stop(runs);
    rgm_thread_pool_release(runs->pool);
    for (int64_t i = 0; i < runs->run_count; i++)
        rgmi_runs_free_run(runs->runs[i]);
    rgm_free(runs->runs);
    rgm_free(runs->table);
    rgm_free(runs->queue);
    rgmi_runs_free_places(runs);
    for (int64_t i = 0; i < runs->master_count; i++)
        rgm_free(runs->masters[i]);
    rgmi_curve_cache_release(runs->curves);
    rgmi_keys_close(&runs->keys);
    pthread_cond_destroy(&runs->changed);
    pthread_mutex_destroy(&runs->refreshing);
    pthread_mutex_destroy(&runs->lock);
    rgm_free(runs);
}

/* ---- refresh ------------------------------------------------------------------------------- */

/* A run as it is looked at, without the lock. */
typedef struct suspect {
    rgmi_run_row *row;
    uint64_t stamp;
    bool changed, gone;
} suspect;
typedef struct suspects {
    suspect *items;
    int64_t count;
} suspects;

static bool is_running(const rgmi_run_row *row)
{
    return row->state != NULL && strcmp(row->state, rgm_run_state_names[RGM_RUN_RUNNING]) == 0;
}

/* Those that train or did so lately, and a part of all others. */
static rgm_status choose(suspects *s, rgmi_runs *runs)
{
    double fresh = rgm_wall_time() - FRESH_SECONDS;
    int64_t part = (runs->run_count + ROUNDS - 1) / ROUNDS, first = runs->run_round;

    RGM_TRY(RGM_NEW(s->items, runs->run_count));
    if (first >= runs->run_count)
        first = 0;
    for (int64_t i = 0; i < runs->run_count; i++) {
        rgmi_known_run *run = runs->runs[i];

        if (!run->row->read)
            RGM_TRY(rgmi_runs_enqueue(runs, run));
        else if ((i >= first && i < first + part) || is_running(run->row) ||
                 run->row->modified > fresh)
            s->items[s->count++] =
                (suspect){.row = rgmi_run_row_retain(run->row), .stamp = run->stamp};
    }
    runs->run_round = first + part;
    return RGM_OK;
}

static void look_at(suspect *s)
{
    const char *path = s->row->text[RGMI_TEXT_PATH];
    uint64_t stamp = rgmi_run_stamp(path);
    bool locked;

    s->gone = stamp == 0;
    s->changed = stamp != s->stamp;
    /* The end of a lock leaves no trace in any file. */
    if (!s->changed && is_running(s->row))
        s->changed = rgm_run_folder_in_use(&locked, path) != RGM_OK || !locked;
}

static bool has_no_stamp(const rgmi_known_run *run, const void *payload)
{
    const suspect *s = payload;

    return run->row->id == s->row->id;
}

static rgm_status follow_up(suspects *s, rgmi_runs *runs)
{
    int64_t done = 0;
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < s->count && status == RGM_OK; i++) {
        suspect *one = &s->items[i];
        rgmi_known_run *run;

        if (!one->changed)
            continue;
        if (!one->gone && done++ < READ_IN_REFRESH) {
            status = rgmi_runs_read_now(&one->row, runs);
            continue;
        }
        pthread_mutex_lock(&runs->lock);
        run = rgmi_runs_find(runs, one->row->id);
        if (one->gone)
            rgmi_runs_drop(runs, has_no_stamp, one);
        else if (run != NULL)
            status = rgmi_runs_enqueue(runs, run);
        pthread_mutex_unlock(&runs->lock);
    }
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* With the lock of refreshing held. */
static rgm_status refresh(rgmi_runs *runs)
{
    suspects s = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_runs_walk(runs));
    pthread_mutex_lock(&runs->lock);
    status = choose(&s, runs);
    pthread_mutex_unlock(&runs->lock);
    RGM_GO(status);
    for (int64_t i = 0; i < s.count; i++)
        look_at(&s.items[i]);
    RGM_GO(follow_up(&s, runs));
    RGM_GO(work_off(runs));
done:
    for (int64_t i = 0; i < s.count; i++)
        rgmi_run_row_release(s.items[i].row);
    rgm_free(s.items);
    return status;
}

/* Whether there is something to refresh; who refreshes notes when. */
static bool is_due(rgmi_runs *runs, double after)
{
    double now = rgm_now();
    bool due;

    pthread_mutex_lock(&runs->lock);
    due = runs->walked && now >= runs->refreshed + after;
    if (due)
        runs->refreshed = now;
    pthread_mutex_unlock(&runs->lock);
    return due;
}

rgm_status rgmi_runs_refresh(rgmi_runs *runs)
{
    rgm_status status;

    if (!is_due(runs, 0))
        return RGM_OK;
    pthread_mutex_lock(&runs->refreshing);
    status = refresh(runs);
    pthread_mutex_unlock(&runs->refreshing);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgmi_runs_freshen(rgmi_runs *runs)
{
    return is_due(runs, 1) ? rgmi_runs_refresh(runs) : RGM_OK;
}

/* ---- asking -------------------------------------------------------------------------------- */

/* With the lock held: who asks in the first moments waits for the walk, or for all to be read. */
static void wait_for(rgmi_runs *runs, bool all)
{
    double until = rgm_now() + WAIT_FOR_ALL;
    struct timespec at;

    at.tv_sec = (time_t)until;
    at.tv_nsec = (long)((until - (double)at.tv_sec) * 1e9);
    while (runs->pool != NULL && (!runs->walked || (all && runs->read < runs->run_count)) &&
           pthread_cond_timedwait(&runs->changed, &runs->lock, &at) != ETIMEDOUT)
        continue;
}

rgm_status rgmi_runs_rows_take(rgmi_runs_rows *out, rgmi_runs *runs, bool all)
{
    rgm_status status;

    *out = (rgmi_runs_rows){0};
    pthread_mutex_lock(&runs->lock);
    wait_for(runs, all);
    status = RGM_NEW(out->rows, runs->run_count);
    for (int64_t i = 0; status == RGM_OK && i < runs->run_count; i++)
        out->rows[out->count++] = rgmi_run_row_retain(runs->runs[i]->row);
    out->read = runs->read;
    out->walked = runs->walked;
    pthread_mutex_unlock(&runs->lock);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

void rgmi_runs_rows_clear(rgmi_runs_rows *rows)
{
    for (int64_t i = 0; i < rows->count; i++)
        rgmi_run_row_release(rows->rows[i]);
    rgm_free(rows->rows);
    *rows = (rgmi_runs_rows){0};
}

void rgmi_runs_counts(int64_t *found, int64_t *read, bool *walked, rgmi_runs *runs)
{
    pthread_mutex_lock(&runs->lock);
    *found = runs->run_count;
    *read = runs->read;
    *walked = runs->walked;
    pthread_mutex_unlock(&runs->lock);
}

static rgm_status hold_row(rgmi_run_row **out, rgmi_runs *runs, const char *hex)
{
    rgmi_known_run *run = NULL;
    uint64_t id;

    *out = NULL;
    pthread_mutex_lock(&runs->lock);
    wait_for(runs, false);
    if (rgmi_run_id_read(&id, hex))
        run = rgmi_runs_find(runs, id);
    if (run != NULL)
        *out = rgmi_run_row_retain(run->row);
    pthread_mutex_unlock(&runs->lock);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no run '%s' (any more)", hex);
    return RGM_OK;
}

rgm_status rgmi_runs_row(rgmi_run_row **out, rgmi_runs *runs, const char *hex)
{
    rgm_status status;

    RGM_TRY(hold_row(out, runs, hex));
    if ((*out)->read)
        return RGM_OK;
    status = rgmi_runs_read_now(out, runs);
    if (status != RGM_OK) {
        rgmi_run_row_release(*out);
        *out = NULL;
    }
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgmi_runs_folder(char **folder, rgmi_runs *runs, const char *hex)
{
    rgmi_run_row *row;
    rgm_status status;

    RGM_TRY(hold_row(&row, runs, hex));
    status = rgm_strdup(folder, row->text[RGMI_TEXT_PATH]);
    rgmi_run_row_release(row);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

int64_t rgmi_runs_version(rgmi_runs *runs, const char *hex)
{
    rgmi_run_row *row;
    rgmi_known_run *run;
    int64_t version = -1;
    uint64_t stamp;

    if (hex == NULL) {
        pthread_mutex_lock(&runs->lock);
        version = runs->version;
        pthread_mutex_unlock(&runs->lock);
        return version;
    }
    if (hold_row(&row, runs, hex) != RGM_OK) {
        rgm_error_reset();
        return -1;
    }
    stamp = rgmi_run_wide_stamp(row->text[RGMI_TEXT_PATH]);
    pthread_mutex_lock(&runs->lock);
    run = rgmi_runs_find(runs, row->id);
    if (run != NULL && stamp != 0) {
        run->version += run->wide_stamp != stamp && run->wide_stamp != 0;
        run->wide_stamp = stamp;
        version = run->version;
    }
    pthread_mutex_unlock(&runs->lock);
    rgmi_run_row_release(row);
    return version;
}

bool rgmi_runs_lack_masters(rgmi_runs *runs)
{
    bool lack;

    pthread_mutex_lock(&runs->lock);
    lack = runs->too_many_masters;
    pthread_mutex_unlock(&runs->lock);
    return lack;
}

int64_t rgmi_runs_masters(rgmi_runs *runs, const char *const **folders)
{
    int64_t count;

    pthread_mutex_lock(&runs->lock);
    count = runs->master_count;
    pthread_mutex_unlock(&runs->lock);
    *folders = (const char *const *)runs->masters; /* those that are counted never change */
    return count;
}
