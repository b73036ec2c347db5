/*
 * Threads that tell webhooks what is in the queue. None holds the master's lock while it waits for
 * somebody else's server, and each webhook is told one thing at a time, in order: one that never
 * answers takes one of the threads for some seconds now and then, and keeps nobody else waiting.
 */
#include "master_internal.h"

#include <regimen/http_client.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    ANSWER_S = 10,
    LONGEST_PAUSE_S = 3600,
    GIVE_UP_S = 86400,
    KEPT = 10000 /* deliveries that are over, to be looked at */
};

/* One that is on its way; it owns its texts. */
typedef struct delivery {
    int64_t id, webhook, tries;
    double time; /* of what it tells */
    char *event, *body, *url, *secret;
} delivery;

static void clear_delivery(delivery *d)
{
    rgm_free(d->event);
    rgm_free(d->body);
    rgm_free(d->url);
    rgm_free(d->secret);
    *d = (delivery){.id = 0};
}

/* ---- the queue: with the master's lock ------------------------------------------------------ */

static rgm_status read_delivery(delivery *d, rgmi_rows *rows)
{
    *d = (delivery){.id = rgmi_rows_int(rows, 0),
                    .webhook = rgmi_rows_int(rows, 1),
                    .tries = rgmi_rows_int(rows, 2),
                    .time = rgmi_rows_number(rows, 3)};
    RGM_TRY(rgm_strdup(&d->event, rgmi_rows_text(rows, 4)));
    RGM_TRY(rgm_strdup(&d->body, rgmi_rows_text(rows, 5)));
    RGM_TRY(rgm_strdup(&d->url, rgmi_rows_text(rows, 6)));
    return rgm_strdup(&d->secret, rgmi_rows_text(rows, 7));
}

/* The first that is due, of a webhook that nobody is telling anything. What failed before waits
 * behind what is new, but never for another of its own webhook: those are told in order. RGM_END:
 * none. */
static rgm_status find_due(delivery *d, rgm_master *master)
{
    const int64_t *busy = master->hooks_busy;
    bool stops = master->hooks_until > 0;
    rgmi_rows *rows;
    rgm_status status;

    *d = (delivery){.id = 0};
    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT d.id, d.webhook_id, d.tries, d.time, d.event, d.body, w.url, w.secret FROM"
        " deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.state = " RGMI_SQL(
            ACTIVE) " AND d.next_time <= ? AND (NOT ? OR d.tries = 0) AND d.webhook_id NOT IN (?,"
                    " ?, ?, ?) AND d.id = (SELECT min(id) FROM deliveries f WHERE f.webhook_id ="
                    " d.webhook_id AND f.state = " RGMI_SQL(
                        ACTIVE) ") ORDER BY d.tries, d.id LIMIT 1",
        "diiiii", rgm_wall_time(), (int64_t)stops, busy[0], busy[1], busy[2], busy[3]));
    status = rgmi_rows_next(master->database, rows);
    if (status != RGM_OK)
        return status;
    status = read_delivery(d, rows);
    rgmi_rows_leave(rows);
    if (status != RGM_OK)
        clear_delivery(d);
    return status;
}

/* Until when there is nothing to be done; 0: until something happens. */
static double next_due(rgm_master *master)
{
    rgmi_rows *rows;
    double due = 0;

    if (rgmi_database_query(&rows, master->database,
                            "SELECT min(next_time) AS next_time FROM deliveries WHERE state ="
                            " " RGMI_SQL(ACTIVE),
                            "") != RGM_OK)
        return rgm_wall_time() + 1;
    if (rgmi_rows_next(master->database, rows) == RGM_OK) {
        due = rgmi_rows_number(rows, 0);
        rgmi_rows_leave(rows);
    }
    return isnan(due) ? 0 : fmax(due, rgm_wall_time() + 0.2); /* its webhook may be busy */
}

static void wait_until(rgm_master *master, double due)
{
    struct timespec until = {.tv_sec = (time_t)due, .tv_nsec = (long)((due - floor(due)) * 1e9)};

    if (due <= 0)
        pthread_cond_wait(&master->hooks_wake, &master->lock);
    else
        pthread_cond_timedwait(&master->hooks_wake, &master->lock, &until);
}

/* It was told; or it was not, and is tried again after 1 s, 2 s, ... an hour, for a day. */
static rgm_status put_down(rgm_master *master, const delivery *d, const char *failure)
{
    double now = rgm_wall_time(),
           pause = fmin(ldexp(1, (int)fmin((double)d->tries, 20)), LONGEST_PAUSE_S);
    bool ends = failure == NULL || now - d->time > GIVE_UP_S;
    const char *state = failure == NULL ? RGMI_NAME_COMPLETED
                        : ends          ? RGMI_NAME_ERROR
                                        : RGMI_NAME_ACTIVE;

    RGM_TRY(rgmi_database_run(
        master->database,
        "UPDATE deliveries SET state = ?, tries = tries + 1, next_time = ?, message = ? WHERE id ="
        " ?",
        "tdti", state, ends ? (double)NAN : now + pause, failure, d->id));
    return rgmi_database_run(master->database,
                             "DELETE FROM deliveries WHERE id < ? AND state <> " RGMI_SQL(ACTIVE),
                             "i", d->id - KEPT);
}

/* ---- telling: without it ------------------------------------------------------------------- */

static bool is_late(void *payload)
{
    rgm_master *master = payload;
    bool late;

    pthread_mutex_lock(&master->lock);
    late = master->hooks_until > 0 && rgm_now() > master->hooks_until;
    pthread_mutex_unlock(&master->lock);
    return late;
}

/* "" in *failure: it was told. */
static rgm_status tell(char failure[RGMI_REASON_ROOM], rgm_master *master, const delivery *d)
{
    char digits[RGM_SHA256_ROOM], signature[RGM_SHA256_ROOM + 8], number[32];
    const rgm_header headers[] = {{"X-Regimen-Event", d->event},
                                  {"X-Regimen-Delivery", number},
                                  {"X-Regimen-Signature-256", signature}};
    rgm_status status;
    int code;

    rgm_hmac_sha256_text(digits, d->secret, strlen(d->secret), d->body, strlen(d->body));
    snprintf(signature, sizeof signature, "sha256=%s", digits);
    snprintf(number, sizeof number, "%lld", (long long)d->id);
    status = rgm_http_post(&code, d->url, headers, 3, d->body, ANSWER_S, is_late, master);
    failure[0] = 0;
    if (status != RGM_OK)
        snprintf(failure, RGMI_REASON_ROOM, "%s", rgm_error_message());
    else if (code < 200 || code > 299)
        snprintf(failure, RGMI_REASON_ROOM, "it answers %d", code);
    if (status != RGM_ERR_NOMEM)
        rgm_error_reset();
    return status == RGM_ERR_NOMEM ? status : RGM_OK;
}

/* With the master's lock, which is given back meanwhile. */
static void deliver(rgm_master *master, const delivery *d)
{
    char failure[RGMI_REASON_ROOM] = "";
    rgm_status status;
    int at = 0;

    while (master->hooks_busy[at] != 0)
        at++;
    master->hooks_busy[at] = d->webhook;
    pthread_mutex_unlock(&master->lock);
    status = tell(failure, master, d);
    pthread_mutex_lock(&master->lock);
    if (status == RGM_OK) {
        status = rgmi_change_begin(master);
        if (status == RGM_OK)
            status = rgmi_change_end(master, put_down(master, d, failure[0] != 0 ? failure : NULL));
    }
    if (status != RGM_OK) /* it is told again, under the same number */
        rgm_log_write(RGM_LOG_WARNING, "webhook %lld: %s", (long long)d->webhook,
                      rgm_error_message());
    else if (failure[0] != 0)
        rgm_log_write(RGM_LOG_WARNING, "webhook %lld was not told '%s' (try %lld): %s",
                      (long long)d->webhook, d->event, (long long)d->tries + 1, failure);
    master->hooks_busy[at] = 0;
    pthread_cond_broadcast(&master->hooks_wake); /* there may be more for the same one */
    if (status != RGM_OK)
        wait_until(master, rgm_wall_time() + 1);
}

void *rgmi_hooks_work(void *payload)
{
    rgm_master *master = payload;

    pthread_mutex_lock(&master->lock);
    while (master->hooks_until == 0 || rgm_now() < master->hooks_until) {
        delivery d;
        rgm_status status = find_due(&d, master);

        if (status == RGM_OK)
            deliver(master, &d);
        clear_delivery(&d);
        if (status == RGM_OK)
            continue;
        if (master->hooks_until > 0)
            break;
        wait_until(master, status == RGM_END ? next_due(master) : rgm_wall_time() + 1);
    }
    pthread_mutex_unlock(&master->lock);
    return NULL;
}
