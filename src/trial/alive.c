#include "alive.h"

#include <regimen/base_condition.h>
#include <regimen/http_client.h>

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum { TIMES = 4, LONGEST_S = 60, CALL_S = 10 };

#define LEAST 1e-3 /* of one processor */

struct rgmi_alive {
    rgmi_life life;
    char path[64], body[128];
    double pause; /* seconds between two looks */
    rgm_http_client *client;
    rgm_thread_pool *thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool stops;
};

/* ---- what was used -------------------------------------------------------------------------- */

static double clock_seconds(clockid_t clock)
{
    struct timespec time = {0};

    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double of_ended_children(void)
{
    struct rusage usage = {0};

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Seconds of processors, without those of this thread, which say nothing of the others. */
static double used_by_others(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - clock_seconds(CLOCK_THREAD_CPUTIME_ID) +
           of_ended_children();
}

/* ---- telling -------------------------------------------------------------------------------- */

static bool is_stopped(void *payload)
{
    return atomic_load(&((rgmi_alive *)payload)->stops);
}

/* Whatever is answered, and whether anything is: the next workload is asked for until it is. */
static void tell(rgmi_alive *a)
{
    rgm_response response = {0};
    bool served;

    if (a->client == NULL && rgm_http_client_find(&a->client, a->life.folder) == RGM_OK)
        rgm_http_client_limit(a->client, CALL_S, is_stopped, a);
    if (a->client != NULL &&
        rgm_http_client_ask(&response, &served, a->client, "POST", a->path, a->body) != RGM_OK) {
        rgm_http_client_close(a->client); /* the next master may be on another host */
        a->client = NULL;
    }
    rgm_response_clear(&response);
    rgm_error_reset();
}

/* False: it stops. */
static bool wait(rgmi_alive *a)
{
    struct timespec until;

    rgm_deadline(&until, a->pause);
    pthread_mutex_lock(&a->lock);
    while (!atomic_load(&a->stops) && pthread_cond_timedwait(&a->wake, &a->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&a->lock);
    return !atomic_load(&a->stops);
}

/* With what its worker knows of others; *heard: they have spoken. */
static double used_for_it(bool *heard, const rgmi_alive *a)
{
    const rgm_worker *worker = a->life.worker;
    double more = 0;

    *heard = worker->is_alive != NULL && worker->is_alive(&more, worker->payload);
    return used_by_others() + more;
}

static void look_and_tell(void *payload)
{
    rgmi_alive *a = payload;
    bool heard;
    double used = used_for_it(&heard, a), at = rgm_now();

    while (wait(a)) {
        double now_used = used_for_it(&heard, a), now = rgm_now();

        if (heard || now_used - used >= LEAST * (now - at))
            tell(a);
        used = now_used;
        at = now;
    }
}

/* ---- start and stop ------------------------------------------------------------------------- */

rgm_status rgmi_alive_start(rgmi_alive **out, const rgmi_life *life)
{
    rgm_status status = RGM_OK;
    rgmi_alive *a = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(a, 1));
    a->life = *life;
    a->pause = fmin(life->silent_seconds / TIMES, LONGEST_S);
    snprintf(a->path, sizeof a->path, "/api/v1/trials/%" PRId64 "/alive", life->trial);
    snprintf(a->body, sizeof a->body, "{\"run\": \"%.64s\"}", life->token);
    pthread_mutex_init(&a->lock, NULL);
    rgm_condition_init(&a->wake);
    RGM_GO(rgm_thread_pool_create(&a->thread, 1));
    RGM_GO(rgm_thread_pool_submit(a->thread, look_and_tell, a));
    *out = a;
    a = NULL;
done:
    rgmi_alive_stop(a);
    return status;
}

void rgmi_alive_stop(rgmi_alive *a)
{
    if (a == NULL)
        return;
    pthread_mutex_lock(&a->lock);
    atomic_store(&a->stops, true);
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
    rgm_thread_pool_release(a->thread);
    rgm_http_client_close(a->client);
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->lock);
    rgm_free(a);
}
