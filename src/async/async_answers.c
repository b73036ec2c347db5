/*
 * Answers to workers. A request that must wait (for a turn, for weights) waits in a thread of its
 * own, for some seconds at most: then the worker is told to ask again.
 */
#include "async_server_internal.h"

#include <stdio.h>
#include <string.h>

#define WAIT_S 5.0 /* of one request */

/* ---- who may ask --------------------------------------------------------------------------- */

bool rgmi_server_admit(rgm_response *out, const rgm_request *request, void *payload)
{
    const rgm_async_server *server = payload;
    const char *given = rgm_request_header(request, "Authorization");
    char wanted[48];

    snprintf(wanted, sizeof wanted, "Bearer %s", server->token);
    if (rgm_same_secret(given, wanted))
        return true;
    rgm_response_fail(out, 401, RGM_FAIL(RGM_ERR_ARG, "the token is missing or wrong"), NULL);
    return false;
}

/* What may wait, and what is answered at once. */
int64_t rgmi_server_lane(const rgm_request *request, void *payload)
{
    (void)payload;
    return strcmp(request->path, "/turn") == 0 || strcmp(request->path, "/weights") == 0 ? 0 : 1;
}

static rgmi_visitor *find_visitor(rgm_async_server *server, int64_t id)
{
    for (int64_t i = 0; i < server->visitor_count; i++)
        if (server->visitors[i].id == id) {
            server->visitors[i].seen = rgm_now();
            return &server->visitors[i];
        }
    return NULL;
}

/* The same of its main thread, which computes between two such requests. */
static rgmi_visitor *find_at_work(rgm_async_server *server, int64_t id)
{
    rgmi_visitor *visitor = find_visitor(server, id);

    if (visitor != NULL) {
        visitor->worked = visitor->seen;
        visitor->hangs = false;
    }
    return visitor;
}

static rgm_status answer(rgm_text *out, rgmi_answer_kind kind)
{
    return rgm_state_put_int(out, kind);
}

/* How the run ended; the lock is held. */
static rgm_status answer_end(rgm_text *out, rgm_async_server *server, rgmi_visitor *visitor)
{
    if (visitor != NULL)
        visitor->told = true;
    pthread_cond_broadcast(&server->for_run);
    RGM_TRY(answer(out, server->end));
    return rgm_state_put_bytes(out, server->message != NULL ? server->message : "",
                               server->message != NULL ? (int64_t)strlen(server->message) : 0);
}

/* ---- to come and to go --------------------------------------------------------------------- */

/* Whether workers are let in, and what to know before a trainer is made. */
static rgm_status hello(rgm_text *out, rgm_async_server *server)
{
    rgm_status status;

    pthread_mutex_lock(&server->lock);
    if (server->phase == RGMI_OPENING)
        rgmi_server_wait(server, &server->for_workers, 1);
    server->late += server->phase == RGMI_ENDED;
    status = server->phase == RGMI_ENDED     ? answer_end(out, server, NULL)
             : server->phase == RGMI_OPENING ? answer(out, RGMI_LATER)
                                             : answer(out, RGMI_WORK);
    pthread_mutex_unlock(&server->lock);
    return status;
}

/* The run tells of those that it does not let in as well: a launcher's workers say nothing. */
static rgm_status check_newcomer(const rgm_async_server *server, const char *about,
                                 const char *host, int64_t pid)
{
    rgm_status status = rgmi_compare(server->about, about);

    if (status == RGM_OK && server->visitor_count == RGMI_WORKERS)
        status = RGM_FAIL(RGM_ERR_CONFIG, "%d workers are there, and no more can be", RGMI_WORKERS);
    if (status != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "a worker on %s (process %lld) is refused: %s", host,
                      (long long)pid, rgm_error_message());
    return status;
}

static rgm_status admit(rgm_text *out, rgm_async_server *server, rgm_state_reader *reader,
                        const char *about, const char *host)
{
    rgmi_visitor *visitor;
    rgmi_whereabouts me;
    int64_t pid, space;

    RGM_TRY(rgm_state_get_int(&pid, reader));
    RGM_TRY(rgm_state_get_int(&space, reader));
    rgmi_where_am_i(&me);
    if (server->phase == RGMI_ENDED) {
        server->late++;
        return answer_end(out, server, NULL);
    }
    if (server->phase == RGMI_OPENING)
        return answer(out, RGMI_LATER);
    RGM_TRY(check_newcomer(server, about, host, pid));
    RGM_TRY(RGM_RESERVE(server->visitors, server->visitor_capacity, server->visitor_count + 1));
    visitor = &server->visitors[server->visitor_count++];
    *visitor = (rgmi_visitor){.id = ++server->last_visitor, .pid = pid, .seen = rgm_now()};
    visitor->worked = visitor->seen;
    snprintf(visitor->host, sizeof visitor->host, "%s", host);
    visitor->is_here = space == me.space && space != 0 && strcmp(visitor->host, me.host) == 0;
    rgm_log_write(RGM_LOG_INFO, "worker %lld on %s (process %lld) has come, %lld are there",
                  (long long)visitor->id, visitor->host, (long long)pid,
                  (long long)server->visitor_count);
    RGM_TRY(answer(out, RGMI_WORK));
    return rgm_state_put_int(out, visitor->id);
}

static rgm_status come(rgm_text *out, rgm_async_server *server, rgm_state_reader *reader)
{
    rgm_status status = RGM_OK;
    char *about = NULL, *host = NULL;

    RGM_GO(rgmi_get_text(&about, reader, 1 << 24));
    RGM_GO(rgmi_get_text(&host, reader, 256));
    pthread_mutex_lock(&server->lock);
    status = admit(out, server, reader, about, host);
    pthread_mutex_unlock(&server->lock);
done:
    rgm_free(about);
    rgm_free(host);
    return status;
}

static rgm_status go(rgm_text *out, rgm_async_server *server, rgm_state_reader *reader)
{
    rgm_status status = RGM_OK;
    int64_t id;
    char *why;

    RGM_TRY(rgm_state_get_int(&id, reader));
    RGM_TRY(rgmi_get_text(&why, reader, 1 << 16));
    pthread_mutex_lock(&server->lock);
    for (int64_t i = server->visitor_count - 1; i >= 0; i--) {
        if (server->visitors[i].id != id)
            continue;
        rgm_log_write(why[0] != '\0' ? RGM_LOG_WARNING : RGM_LOG_INFO,
                      "worker %lld on %s (process %lld) leaves%s%s", (long long)id,
                      server->visitors[i].host, (long long)server->visitors[i].pid,
                      why[0] != '\0' ? ": " : "", why);
        status = rgmi_ledger_forget(&server->ledger, id);
        rgmi_server_drop_visitor(server, i);
    }
    pthread_cond_broadcast(&server->for_workers);
    pthread_cond_broadcast(&server->for_run);
    pthread_mutex_unlock(&server->lock);
    rgm_free(why);
    return status == RGM_OK ? answer(out, RGMI_WORK) : status;
}

static rgm_status alive(rgm_text *out, rgm_async_server *server, rgm_state_reader *reader)
{
    rgm_status status;
    int64_t id;

    RGM_TRY(rgm_state_get_int(&id, reader));
    pthread_mutex_lock(&server->lock);
    status = answer(out, find_visitor(server, id) != NULL ? RGMI_WORK : RGMI_UNKNOWN);
    pthread_mutex_unlock(&server->lock);
    return status;
}

/* ---- turns --------------------------------------------------------------------------------- */

/* A place in the data for a worker that must go back, or is so far behind that reading on would
 * take longer than beginning there: among many workers each is always some turns behind. */
static rgm_status put_place(rgm_text *out, const rgm_async_server *server, const rgmi_lease *lease,
                            int64_t pass, int64_t reached)
{
    int64_t batch = lease->turn * server->ledger.batches_a_turn;
    const rgmi_known_place *place = rgmi_ledger_place(&server->ledger, batch);
    bool goes_on = pass == server->ledger.pass && reached <= batch;
    int64_t far = RGMI_WORKERS * server->ledger.batches_a_turn;

    if (place == NULL || (goes_on && place->batch - reached < far))
        return rgm_state_put_bytes(out, "", 0);
    return rgm_state_put_bytes(out, place->position, place->size);
}

static rgm_status put_turn(rgm_text *out, const rgm_async_server *server, const rgmi_lease *lease,
                           int64_t pass, int64_t reached)
{
    const rgmi_ledger *ledger = &server->ledger;

    RGM_TRY(answer(out, RGMI_WORK));
    RGM_TRY(rgm_state_put_int(out, lease->id));
    RGM_TRY(rgm_state_put_int(out, ledger->pass));
    RGM_TRY(rgm_state_put_int(out, lease->turn * server->ledger.batches_a_turn));
    RGM_TRY(rgm_state_put_int(out, ledger->base + lease->turn));
    RGM_TRY(rgm_state_put_int(out, (lease->turn + 1) % RGMI_EVERY == 0)); /* tell where you are */
    return put_place(out, server, lease, pass, reached);
}

/* A worker's data have ended after so many batches: that is the end of the pass, unless others have
 * made later ones. */
static rgm_status end_pass(rgm_async_server *server, int64_t batches)
{
    int64_t turns = (batches + server->ledger.batches_a_turn - 1) / server->ledger.batches_a_turn;

    if (!rgmi_ledger_may_end(&server->ledger, turns))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "this worker's data end after %lld batches, but later ones have been made: "
                        "all workers must read the same files",
                        (long long)batches);
    rgmi_ledger_end(&server->ledger, turns);
    pthread_cond_broadcast(&server->for_run);
    return RGM_OK;
}

/* What a worker hands in: of a turn, gradients or why there are none. */
static rgm_status take_half(rgm_async_server *server, rgmi_visitor *visitor,
                            rgm_state_reader *reader)
{
    rgm_str half, position;
    const uint8_t *data;
    int64_t lease, batch, kind;
    bool taken;

    RGM_TRY(rgm_state_get_int(&lease, reader));
    /* that the position is before */
    RGM_TRY(rgm_state_get_count(&batch, reader, RGM_STATE_MOST, "a batch"));
    RGM_TRY(rgm_state_get_bytes(&data, &position.size, reader));
    position.data = (const char *)data;
    half = (rgm_str){(const char *)reader->data + reader->at, reader->size - reader->at};
    RGM_TRY(rgm_state_get_count(&kind, reader, RGMI_NO_BATCH, "the kind of a half step"));
    if (rgmi_ledger_find(&server->ledger, visitor->id, lease) != NULL && position.size > 0)
        RGM_TRY(rgmi_ledger_keep_place(&server->ledger, batch, position));
    if (kind == RGMI_NO_BATCH)
        return rgmi_ledger_find(&server->ledger, visitor->id, lease) != NULL
                   ? end_pass(server, batch)
                   : RGM_OK;
    RGM_TRY(rgmi_ledger_hand(&taken, &server->ledger, visitor->id, lease, half));
    if (!taken)
        return RGM_OK;
    visitor->updates++;
    server->report.gradient_bytes += reader->size;
    pthread_cond_broadcast(&server->for_run);
    return RGM_OK;
}

/* Turns that the run still needs; of a length that is not known, any number. */
static int64_t most_turns(const rgm_async_server *server)
{
    const rgm_trainer *trainer = server->trainer;
    int64_t length = rgm_trainer_total_updates(trainer);

    return length > 0 ? length - rgm_trainer_global_step(trainer) : INT64_MAX;
}

static rgm_status wait_for_turn(rgm_text *out, rgm_async_server *server, int64_t id, int64_t pass,
                                int64_t reached)
{
    double until = rgm_now() + WAIT_S;

    for (;;) {
        rgmi_visitor *visitor = find_at_work(server, id);
        rgmi_lease *lease = NULL;

        if (server->phase == RGMI_ENDED)
            return answer_end(out, server, visitor);
        if (visitor == NULL)
            return answer(out, RGMI_UNKNOWN);
        if (server->open)
            RGM_TRY(rgmi_ledger_give(&lease, &server->ledger, id, most_turns(server)));
        if (lease != NULL)
            return put_turn(out, server, lease, pass, reached);
        if (rgm_now() >= until)
            return answer(out, RGMI_LATER);
        rgmi_server_wait(server, &server->for_workers, until - rgm_now());
    }
}

static rgm_status turn(rgm_text *out, rgm_async_server *server, rgm_state_reader *reader)
{
    rgm_status status = RGM_OK;
    int64_t id, pass, reached, hands_in;
    rgmi_visitor *visitor;

    RGM_TRY(rgm_state_get_int(&id, reader));
    RGM_TRY(rgm_state_get_count(&pass, reader, RGM_STATE_MOST, "a pass"));
    RGM_TRY(rgm_state_get_count(&reached, reader, RGM_STATE_MOST, "a batch"));
    RGM_TRY(rgm_state_get_count(&hands_in, reader, 1, "whether something is handed in"));
    pthread_mutex_lock(&server->lock);
    visitor = find_visitor(server, id);
    if (visitor != NULL && hands_in && rgm_now() - visitor->worked > server->longest)
        server->longest = rgm_now() - visitor->worked;
    if (visitor != NULL && hands_in && server->phase == RGMI_TRAINING)
        status = take_half(server, visitor, reader);
    if (status == RGM_OK)
        status = wait_for_turn(out, server, id, pass, reached);
    pthread_mutex_unlock(&server->lock);
    return status;
}

/* ---- weights ------------------------------------------------------------------------------- */

/* What is too large for its reader would look like a connection that breaks. */
static rgm_status give_weights(rgm_text *out, rgm_async_server *server, rgmi_lease *lease,
                               bool whole, rgm_state_reader *wanted)
{
    int64_t most = server->options.message_bytes, rows = 0;

    RGM_TRY(answer(out, RGMI_WORK));
    RGM_TRY(rgmi_put_weights(out, &rows, rgm_trainer_parameters(server->trainer), &server->tables,
                             whole, wanted));
    if (out->size > most)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the weights that a batch reads have %.3g MB, and a message has at most "
                        "%.3g: make batches that read fewer rows of tables",
                        (double)out->size / 1e6, (double)most / 1e6);
    if (lease->version < 0)
        rgmi_ledger_begin(&server->ledger, lease);
    server->report.weight_rows += rows;
    server->report.weight_bytes += out->size;
    return RGM_OK;
}

static rgm_status wait_for_weights(rgm_text *out, rgm_async_server *server, int64_t id,
                                   int64_t number, bool whole, rgm_state_reader *wanted)
{
    double until = rgm_now() + WAIT_S;

    for (;;) {
        rgmi_visitor *visitor = find_at_work(server, id);
        rgmi_lease *lease = rgmi_ledger_find(&server->ledger, id, number);

        if (server->phase == RGMI_ENDED)
            return answer_end(out, server, NULL); /* it will ask for a turn */
        if (visitor == NULL || lease == NULL)
            return answer(out, visitor == NULL ? RGMI_UNKNOWN : RGMI_GONE);
        if (server->open && (lease->version >= 0 || rgmi_ledger_may_begin(&server->ledger)))
            return give_weights(out, server, lease, whole, wanted);
        if (rgm_now() >= until)
            return answer(out, RGMI_LATER);
        rgmi_server_wait(server, &server->for_workers, until - rgm_now());
    }
}

static rgm_status weights(rgm_text *out, rgm_async_server *server, rgm_state_reader *reader)
{
    rgm_status status;
    int64_t id, lease, whole;

    RGM_TRY(rgm_state_get_int(&id, reader));
    RGM_TRY(rgm_state_get_int(&lease, reader));
    RGM_TRY(rgm_state_get_count(&whole, reader, 1, "whether all weights are wanted"));
    pthread_mutex_lock(&server->lock);
    status = wait_for_weights(out, server, id, lease, whole != 0, reader);
    pthread_mutex_unlock(&server->lock);
    return status;
}

/* ---- all of them --------------------------------------------------------------------------- */

void rgmi_server_answer(rgm_response *out, const rgm_request *request, void *payload)
{
    static const struct {
        const char *path;
        rgm_status (*answer)(rgm_text *out, rgm_async_server *server, rgm_state_reader *reader);
    } paths[] = {
        {"/come", come}, {"/turn", turn}, {"/weights", weights}, {"/alive", alive}, {"/go", go}};
    rgm_async_server *server = payload;
    rgm_state_reader reader = {(const uint8_t *)request->body, request->size, 0};
    rgm_logger *before = rgm_logger_enter(server->log);
    rgm_status status = RGM_ERR_NOT_FOUND;

    out->status = 200;
    out->type = "application/octet-stream";
    if (strcmp(request->path, "/hello") == 0)
        status = hello(&out->body, server);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (strcmp(request->path, paths[i].path) == 0)
            status = paths[i].answer(&out->body, server, &reader);
    rgm_logger_enter(before);
    if (status == RGM_OK)
        return;
    rgm_text_clear(&out->body);
    if (status == RGM_ERR_NOT_FOUND)
        RGM_FAIL(status, "there is no such request");
    rgm_response_fail(out, 0, status, NULL);
    out->type = NULL;
}
