/*
 * The watch: a thread of each rank that tells rank 0 every second that it lives and how far its
 * caller is, and hears the same of rank 0, which tells all what one must know. A process that ends
 * closes its socket, which the others see at once; a host that is cut off, or a process that is
 * stopped, is silent. A rank that lives and does not come to where the others wait is named, and
 * ends them only after long: it may be saving.
 */
#include "comm_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FLUSH_S  1.0 /* for what a rank has to say before it goes on            */
#define LINGER_S 1.0 /* ranks that are broken wait so long for each other */

typedef struct peer {
    double heard;
    int64_t entered, waiting_for;
    double waiting;
    bool left;   /* its end says nothing new */
    bool gone;   /* counted in `left`        */
    size_t size; /* bytes of `message` that are there */
    rgmi_message message;
} peer;

struct rgmi_watch {
    rgm_comm *comm;
    int *fds;            /* [ranks]; -1: none, or over */
    struct pollfd *poll; /* [ranks + 1]                */
    peer *peers;         /* [ranks]                    */
    double ticked;
    double named; /* how long others had waited when a rank was named for the last time */

    /* under the comm's lock */
    bool stop, say_leave, over;
    int left; /* connections whose other end has nothing more to say, or that ended */
    int met;  /* connections at the beginning                                      */
};

/* ---- what it says -------------------------------------------------------------------------- */

static void send_all(rgmi_watch *w, const rgmi_message *message)
{
    for (int i = 0; i < w->comm->size; i++)
        if (w->fds[i] >= 0)
            (void)rgmi_message_send(w->fds[i], message); /* its end is seen where it is read */
}

static rgmi_message message_of(const rgmi_watch *w, int kind)
{
    return (rgmi_message){
        .magic = RGMI_MESSAGE_MAGIC, .kind = kind, .rank = (int32_t)w->comm->rank};
}

/* Why the ranks are broken, to the others. */
static void say_why(rgmi_watch *w)
{
    rgmi_message fail = message_of(w, RGMI_FAIL);

    pthread_mutex_lock(&w->comm->lock);
    fail.status = w->comm->error.status;
    fail.system = w->comm->error.system;
    fail.lost = w->comm->lost;
    snprintf(fail.text, sizeof fail.text, "%.*s", (int)sizeof fail.text - 1,
             w->comm->error.message);
    pthread_mutex_unlock(&w->comm->lock);
    send_all(w, &fail);
}

static void say_beat(rgmi_watch *w, int kind)
{
    rgmi_message beat = message_of(w, kind);
    rgm_comm *comm = w->comm;

    pthread_mutex_lock(&comm->lock);
    beat.entered = comm->entered;
    beat.waiting_for = comm->waiting_for;
    beat.waiting = comm->waiting_for > 0 ? rgm_now() - comm->waiting_since : 0;
    pthread_mutex_unlock(&comm->lock);
    send_all(w, &beat);
}

static void leave_notice(rgm_comm *comm, const char *text)
{
    char *copy;

    if (rgm_strdup(&copy, text) != RGM_OK)
        return;
    pthread_mutex_lock(&comm->lock);
    rgm_free(comm->notice);
    comm->notice = copy;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

/* ---- what it finds ------------------------------------------------------------------------- */

static void count_gone(rgmi_watch *w, int rank)
{
    w->peers[rank].gone = true;
    pthread_mutex_lock(&w->comm->lock);
    w->left++;
    pthread_cond_broadcast(&w->comm->changed);
    pthread_mutex_unlock(&w->comm->lock);
}

/* A connection is over. Rank 0 counts whoever has left as well, since it closes the last. */
static void drop(rgmi_watch *w, int rank)
{
    close(w->fds[rank]);
    w->fds[rank] = -1;
    if (w->comm->rank != 0 || !w->peers[rank].gone)
        count_gone(w, rank);
}

/* A rank is gone. */
static void lose(rgmi_watch *w, int rank, const char *how)
{
    rgm_comm *comm = w->comm;
    rgm_error error;
    char name[96];

    drop(w, rank);
    rgm_error_save(&error,
                   RGM_FAIL(RGM_ERR_IO, "%s (process %d) %s", rgmi_rank_name(name, comm, rank),
                            (int)comm->members[rank].pid, how));
    error.system = EHOSTDOWN; /* of the machine, not of what was asked of it */
    (void)rgmi_comm_break(comm, rgm_error_restore(&error), true);
}

static void hear_failure(rgmi_watch *w, const rgmi_message *m)
{
    rgm_error error;

    rgm_error_save(&error, RGM_FAIL(m->status, "%s", m->text));
    error.system = m->system;
    (void)rgmi_comm_break(w->comm, rgm_error_restore(&error), m->lost != 0);
}

static void hear(rgmi_watch *w, int rank)
{
    peer *p = &w->peers[rank];
    rgmi_message *m = &p->message;

    if (m->magic != RGMI_MESSAGE_MAGIC || m->rank < 0 || m->rank >= w->comm->size) {
        lose(w, rank, "sends what is no message");
        return;
    }
    m->text[sizeof m->text - 1] = '\0';
    switch (m->kind) {
    case RGMI_BEAT:
        p->entered = m->entered;
        p->waiting_for = m->waiting_for;
        p->waiting = m->waiting;
        break;
    case RGMI_LEAVE:
        p->entered = m->entered;
        p->waiting_for = 0;
        p->waiting = 0;
        p->left = true;
        if (w->comm->rank == 0 && !p->gone)
            count_gone(w, rank);
        break;
    case RGMI_FAIL:
        hear_failure(w, m);
        p->left = true;
        break;
    case RGMI_NOTE:
        leave_notice(w->comm, m->text);
        break;
    default: /* of a later version */
        break;
    }
}

static void read_from(rgmi_watch *w, int rank)
{
    peer *p = &w->peers[rank];

    while (w->fds[rank] >= 0) {
        ssize_t got = recv(w->fds[rank], (char *)&p->message + p->size, sizeof p->message - p->size,
                           MSG_DONTWAIT);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            char how[128] = "has ended without a word", why[64];

            if (got < 0 && errno != ECONNRESET)
                snprintf(how, sizeof how, "cannot be reached any more: %s",
                         strerror_r(errno, why, sizeof why));
            if (p->left)
                drop(w, rank);
            else
                lose(w, rank, how);
            return;
        }
        p->heard = rgm_now();
        p->size += (size_t)got;
        if (p->size == sizeof p->message) {
            p->size = 0;
            hear(w, rank);
        }
    }
}

/* ---- who is late --------------------------------------------------------------------------- */

/* The ranks that have not come to transfer `number`: "rank 3 on node7 and 2 others". Returns how
 * many.
 */
static int find_late(char out[160], rgmi_watch *w, int64_t number)
{
    char name[96];
    int late = 0;

    for (int i = 0; i < w->comm->size; i++)
        if (w->peers[i].entered < number && late++ == 0)
            snprintf(out, 160, "%s", rgmi_rank_name(name, w->comm, i));
    if (late > 1) {
        size_t size = strlen(out);

        snprintf(out + size, 160 - size, " and %d other%s", late - 1, late == 2 ? "" : "s");
    }
    return late;
}

/* A rank has left, and somebody waits for what it never began. */
static bool find_left(rgmi_watch *w, int64_t number)
{
    for (int i = 0; i < w->comm->size; i++)
        if (w->peers[i].left && w->peers[i].entered < number) {
            char name[96];

            (void)rgmi_comm_break(
                w->comm,
                RGM_FAIL(RGM_ERR_ARG,
                         "%s has closed its communicator after %lld transfers, and others wait "
                         "for it in transfer %lld",
                         rgmi_rank_name(name, w->comm, i), (long long)w->peers[i].entered,
                         (long long)number),
                false);
            return true;
        }
    return false;
}

/* Rank 0: who waits longest, for whom? */
static void look_for_late(rgmi_watch *w)
{
    const rgmi_patience *patience = &w->comm->patience;
    rgmi_message note = message_of(w, RGMI_NOTE);
    char waits[96], late[160];
    int longest = 0, count;
    int64_t number;
    double waiting;

    for (int i = 1; i < w->comm->size; i++)
        if (w->peers[i].waiting > w->peers[longest].waiting)
            longest = i;
    waiting = w->peers[longest].waiting;
    number = w->peers[longest].waiting_for;
    if (waiting < patience->late)
        w->named = 0;
    if (number == 0 || find_left(w, number) || waiting < patience->late ||
        (waiting < 2 * w->named && waiting < patience->most))
        return;
    w->named = waiting;
    count = find_late(late, w, number);
    if (count == 0)
        snprintf(late, sizeof late, "the network: every rank has come to it");
    rgmi_rank_name(waits, w->comm, longest);
    snprintf(note.text, sizeof note.text, "%s has waited for %.0f s, in transfer %lld, for %s%s",
             waits, waiting, (long long)number, late,
             count == 0   ? ""
             : count == 1 ? ", whose process lives"
                          : ", whose processes live");
    if (waiting < patience->most) {
        leave_notice(w->comm, note.text);
        send_all(w, &note);
        return;
    }
    (void)rgmi_comm_break(w->comm, RGM_FAIL(RGM_ERR_IO, "%s", note.text), true);
}

/* ---- the thread ---------------------------------------------------------------------------- */

static void look_for_silent(rgmi_watch *w, double now)
{
    const rgmi_patience *patience = &w->comm->patience;
    char how[64];

    /* This process was stopped itself, as a scheduler does that takes the machine for another job:
     * the others were too, or have something to say. */
    if (now - w->ticked > patience->silent / 2)
        for (int i = 0; i < w->comm->size; i++)
            w->peers[i].heard = now;
    for (int i = 0; i < w->comm->size; i++)
        if (w->fds[i] >= 0 && now - w->peers[i].heard > patience->silent) {
            snprintf(how, sizeof how, "has been silent for %.0f s", now - w->peers[i].heard);
            lose(w, i, how);
        }
}

static void tick(rgmi_watch *w, double now)
{
    peer *self = &w->peers[w->comm->rank];
    rgm_comm *comm = w->comm;

    say_beat(w, RGMI_BEAT);
    look_for_silent(w, now);
    w->ticked = now;
    pthread_mutex_lock(&comm->lock);
    self->entered = comm->entered;
    self->waiting_for = comm->waiting_for;
    self->waiting = comm->waiting_for > 0 ? now - comm->waiting_since : 0;
    pthread_mutex_unlock(&comm->lock);
    if (comm->rank == 0)
        look_for_late(w);
    else if (self->waiting_for > 0)
        (void)find_left(w, self->waiting_for); /* rank 0, which hears nothing of itself */
}

/* Say what is to be said. Returns false when the thread shall end. */
static bool say(rgmi_watch *w)
{
    rgm_comm *comm = w->comm;
    bool broken, leave, stop;

    pthread_mutex_lock(&comm->lock);
    broken = comm->broken && !comm->told;
    leave = w->say_leave;
    stop = w->stop;
    pthread_mutex_unlock(&comm->lock);
    if (broken)
        say_why(w); /* also back to whom it came from, where the first error stays */
    if (leave)
        say_beat(w, RGMI_LEAVE);
    pthread_mutex_lock(&comm->lock);
    comm->told = comm->told || broken;
    w->say_leave = w->say_leave && !leave;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    return !stop;
}

void rgmi_watch_run(void *payload)
{
    rgmi_watch *w = payload;
    int size = w->comm->size;

    w->ticked = rgm_now();
    for (int i = 0; i < size; i++)
        w->peers[i].heard = w->ticked;
    while (say(w)) {
        double now = rgm_now(), next = w->ticked + w->comm->patience.beat - now;
        uint64_t count;

        if (next <= 0) {
            tick(w, now);
            continue;
        }
        for (int i = 0; i < size; i++)
            w->poll[i] = (struct pollfd){.fd = w->fds[i], .events = POLLIN};
        w->poll[size] = (struct pollfd){.fd = w->comm->wake, .events = POLLIN};
        if (poll(w->poll, (nfds_t)size + 1, (int)(next * 1e3) + 1) <= 0)
            continue;
        if (w->poll[size].revents != 0)
            (void)!read(w->comm->wake, &count, sizeof count);
        for (int i = 0; i < size; i++)
            if (w->poll[i].revents != 0)
                read_from(w, i);
    }
    pthread_mutex_lock(&w->comm->lock);
    w->over = true;
    pthread_cond_broadcast(&w->comm->changed);
    pthread_mutex_unlock(&w->comm->lock);
}

/* ---- the caller's side --------------------------------------------------------------------- */

rgm_status rgmi_watch_create(rgmi_watch **out, rgm_comm *comm)
{
    rgm_status status = RGM_OK;
    rgmi_watch *w = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(w, 1));
    w->comm = comm;
    RGM_GO(RGM_NEW(w->fds, comm->size));
    for (int i = 0; i < comm->size; i++)
        w->fds[i] = -1;
    RGM_GO(RGM_NEW(w->poll, comm->size + 1));
    RGM_GO(RGM_NEW(w->peers, comm->size));
    RGM_GO(rgmi_meet(w->fds, comm));
    for (int i = 0; i < comm->size; i++)
        w->met += w->fds[i] >= 0;
    *out = w;
    w = NULL;
done:
    rgmi_watch_release(w);
    return status;
}

void rgmi_watch_release(rgmi_watch *w)
{
    if (w == NULL)
        return;
    for (int i = 0; w->fds != NULL && i < w->comm->size; i++)
        if (w->fds[i] >= 0)
            close(w->fds[i]);
    rgm_free(w->fds);
    rgm_free(w->poll);
    rgm_free(w->peers);
    rgm_free(w);
}

/* Wake the thread, and wait until it has done what was asked of it. */
static void wait_for(rgmi_watch *w, const bool *done, bool until)
{
    double end = rgm_now() + FLUSH_S;
    uint64_t one = 1;

    (void)!write(w->comm->wake, &one, sizeof one);
    while (*done != until && !w->over && rgm_now() < end) {
        struct timespec soon;

        rgm_deadline(&soon, 0.1);
        (void)pthread_cond_timedwait(&w->comm->changed, &w->comm->lock, &soon);
    }
}

void rgmi_watch_leave(rgmi_watch *w)
{
    pthread_mutex_lock(&w->comm->lock);
    w->say_leave = true;
    wait_for(w, &w->say_leave, false);
    pthread_mutex_unlock(&w->comm->lock);
}

void rgmi_watch_linger(rgmi_watch *w)
{
    double end = rgm_now() + LINGER_S;

    pthread_mutex_lock(&w->comm->lock);
    while (w->comm->broken && !w->comm->lost && w->left < w->met && !w->over && rgm_now() < end) {
        struct timespec soon;

        rgm_deadline(&soon, 0.1);
        (void)pthread_cond_timedwait(&w->comm->changed, &w->comm->lock, &soon);
    }
    pthread_mutex_unlock(&w->comm->lock);
}

void rgmi_watch_stop(rgmi_watch *w)
{
    pthread_mutex_lock(&w->comm->lock);
    w->stop = true;
    wait_for(w, &w->over, true);
    pthread_mutex_unlock(&w->comm->lock);
}
