/*
 * Communicators: that of one process by itself, and that of a job's ranks from its beginning to its
 * end.
 */
#include "comm_internal.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define START_S 300.0 /* MPI waits for every rank; launchers start them within this */
#define STOP_S  5.0   /* of ranks that are broken: each may have other things to do  */

rgm_comm *rgm_comm_self(void)
{
    static rgm_comm self = {.rank = 0, .size = 1};

    return &self;
}

int rgm_comm_rank(const rgm_comm *comm)
{
    return comm->rank;
}

int rgm_comm_size(const rgm_comm *comm)
{
    return comm->size;
}

/* What this process would tell the others. */
static rgm_comm_member introduction(void)
{
    rgm_comm_member me = {.pid = (int32_t)getpid(),
                          .processors = (int32_t)rgm_processors(),
                          .threads = (int32_t)rgm_threads()};

    if (gethostname(me.host, sizeof me.host) != 0 || me.host[0] == '\0')
        memcpy(me.host, "an unnamed host", sizeof "an unnamed host");
    me.host[sizeof me.host - 1] = '\0';
    return me;
}

const rgm_comm_member *rgm_comm_members(const rgm_comm *comm)
{
    static _Thread_local rgm_comm_member self;

    if (comm->members != NULL)
        return comm->members;
    self = introduction();
    return &self;
}

void rgm_comm_get_times(rgm_comm_times *out, rgm_comm *comm)
{
    *out = (rgm_comm_times){0};
    if (comm->mpi == NULL)
        return;
    pthread_mutex_lock(&comm->lock);
    *out = comm->times;
    out->sums = rgmi_sums_time(comm, rgm_now());
    pthread_mutex_unlock(&comm->lock);
}

double rgm_comm_hidden(const rgm_comm_times *before, const rgm_comm_times *after)
{
    double sums = after->sums - before->sums, shown = after->sums_shown - before->sums_shown;

    return sums > 0 ? (sums - shown) / sums : NAN;
}

/* ---- the beginning ------------------------------------------------------------------------- */

static void init_conditions(rgm_comm *comm)
{
    pthread_mutex_init(&comm->lock, NULL);
    rgm_condition_init(&comm->work);
    rgm_condition_init(&comm->changed);
    comm->queue_end = &comm->queue;
}

static rgm_status start_engine(rgm_comm *comm)
{
    rgm_status status;

    comm->stopped = false;
    status = rgm_thread_pool_submit(comm->threads, rgmi_engine_run, comm);
    if (status != RGM_OK)
        comm->stopped = true; /* there is none */
    return status;
}

static rgm_status wait_for_start(rgm_comm *comm)
{
    double until = rgm_now() + START_S;
    bool started, broken;

    pthread_mutex_lock(&comm->lock);
    while (!comm->started && !comm->broken && rgm_now() < until) {
        struct timespec soon;

        rgm_deadline(&soon, 1);
        (void)pthread_cond_timedwait(&comm->changed, &comm->lock, &soon);
    }
    started = comm->started;
    broken = comm->broken;
    pthread_mutex_unlock(&comm->lock);
    if (broken)
        return rgmi_comm_broken(comm);
    if (!started)
        return rgmi_comm_break(
            comm, RGM_FAIL(RGM_ERR_IO, "MPI has not started within %g s", START_S), true);
    return RGM_OK;
}

static rgm_status count_levels(rgm_comm *comm)
{
    while (1 << comm->levels <= comm->size / 2)
        comm->levels++;
    if (comm->size != 1 << comm->levels)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%d ranks: sums over them need a power of two, so start %d or %d",
                        comm->size, 1 << comm->levels, 2 << comm->levels);
    return RGM_OK;
}

/* Everybody's name. */
static rgm_status introduce(rgm_comm *comm)
{
    rgm_comm_member me = introduction();
    rgm_comm_member *members = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(members, comm->size));
    RGM_GO(rgmi_gather_all(members, comm, &me, sizeof me));
    comm->members = members;
    members = NULL;
    if (comm->rank == 0)
        RGM_GO(RGM_NEW(comm->slow, comm->size));
done:
    rgm_free(members);
    return status;
}

rgm_status rgmi_comm_create(rgm_comm **out, const regimen_mpi *mpi, void *context,
                            const rgmi_patience *patience)
{
    rgm_status status = RGM_OK;
    rgm_comm *comm = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(comm, 1));
    comm->mpi = mpi;
    comm->context = context;
    comm->patience = *patience;
    comm->size = 1;
    comm->stopped = true;
    init_conditions(comm);
    comm->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (comm->wake < 0)
        RGM_GO(RGM_FAIL_SYSTEM("create", "an event"));
    RGM_GO(rgm_thread_pool_create(&comm->threads, 2));
    RGM_GO(start_engine(comm));
    RGM_GO(wait_for_start(comm));
    RGM_GO(count_levels(comm));
    RGM_GO(introduce(comm));
    RGM_GO(rgmi_watch_create(&comm->watch, comm));
    RGM_GO(rgm_thread_pool_submit(comm->threads, rgmi_watch_run, comm->watch));
    comm->slow_since = rgm_now();
    comm->slow_window = patience->slow;
    *out = comm;
    comm = NULL;
done:
    if (comm != NULL) {
        rgm_error error;

        rgm_error_save(&error, status);
        rgmi_comm_release(comm);
        status = rgm_error_restore(&error);
    }
    return status;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* Returns false if the engine is stuck in MPI. */
static bool stop_engine(rgm_comm *comm)
{
    double since = 0; /* nobody else ends the wait */
    bool stopped;

    pthread_mutex_lock(&comm->lock);
    comm->closing = true;
    pthread_cond_broadcast(&comm->work);
    while (!comm->stopped) {
        struct timespec soon;

        if ((comm->broken || comm->watch == NULL) && since == 0)
            since = rgm_now();
        if (since > 0 && rgm_now() - since > STOP_S)
            break;
        rgm_deadline(&soon, 0.5);
        (void)pthread_cond_timedwait(&comm->changed, &comm->lock, &soon);
    }
    stopped = comm->stopped;
    pthread_mutex_unlock(&comm->lock);
    return stopped;
}

void rgmi_comm_release(rgm_comm *comm)
{
    bool stopped;

    if (comm->watch != NULL)
        rgmi_watch_leave(comm->watch);
    stopped = stop_engine(comm);
    if (comm->watch != NULL) {
        rgmi_watch_linger(comm->watch);
        rgmi_watch_stop(comm->watch);
    }
    if (!stopped) /* its thread may come back to all of it */
        return;
    rgm_thread_pool_release(comm->threads);
    rgmi_watch_release(comm->watch);
    rgmi_transfers_release(comm);
    rgm_free(comm->notice);
    rgm_free(comm->members);
    rgm_free(comm->slow);
    pthread_cond_destroy(&comm->work);
    pthread_cond_destroy(&comm->changed);
    pthread_mutex_destroy(&comm->lock);
    if (comm->wake >= 0)
        close(comm->wake);
    rgm_free(comm);
}

/* ---- the job's own ------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    rgm_comm *comm;
    int opened;
    bool over;
} the_job = {.lock = PTHREAD_MUTEX_INITIALIZER};

static rgm_status open_job(rgm_comm **out, const rgmi_launcher *launcher)
{
    const regimen_mpi *mpi;
    rgm_comm *comm;

    if (the_job.over)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the ranks of this process were closed, and MPI does "
                                             "not begin again: open once, for the whole program");
    RGM_TRY(rgmi_mpi_load(&mpi));
    the_job.over = true; /* until the ranks are there */
    RGM_TRY(rgmi_comm_create(&comm, mpi, NULL, &RGMI_PATIENCE));
    if (comm->size != launcher->size) {
        char library[128];
        rgm_status status;

        mpi->library(library, sizeof library);
        status = RGM_FAIL(
            RGM_ERR_UNSUPPORTED,
            "%s started %d processes, and MPI (%s) knows of %d: start them by that MPI's own "
            "mpirun, or by srun --mpi=TYPE (srun --mpi=list shows which there are)",
            launcher->launcher, launcher->size, library, comm->size);

        rgmi_comm_release(comm);
        return status;
    }
    the_job.over = false;
    *out = comm;
    return RGM_OK;
}

rgm_status rgm_comm_open(rgm_comm **out)
{
    rgm_status status = RGM_OK;
    rgmi_launcher launcher;

    *out = NULL;
    pthread_mutex_lock(&the_job.lock);
    rgmi_launcher_read(&launcher);
    if (the_job.comm == NULL && launcher.size > 1)
        status = open_job(&the_job.comm, &launcher);
    if (status == RGM_OK && the_job.comm != NULL)
        the_job.opened++;
    if (status == RGM_OK)
        *out = the_job.comm != NULL ? the_job.comm : rgm_comm_self();
    pthread_mutex_unlock(&the_job.lock);
    return status;
}

void rgm_comm_close(rgm_comm *comm)
{
    bool last;

    if (comm == NULL || comm->mpi == NULL)
        return;
    pthread_mutex_lock(&the_job.lock);
    last = comm == the_job.comm && --the_job.opened == 0;
    if (last) {
        the_job.comm = NULL;
        the_job.over = true;
    }
    pthread_mutex_unlock(&the_job.lock);
    if (last)
        rgmi_comm_release(comm);
}
