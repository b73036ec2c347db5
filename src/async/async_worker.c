/*
 * A worker: takes turns, gets the weights that a batch needs, hands in gradients. It keeps nothing
 * that anybody would miss.
 */
#include "async_internal.h"

#include <pthread.h>
#include <regimen/http_client.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BEAT_S    1.0  /* between two signs of life */
#define FORGIVE_S 5.0  /* without an answer, then the server is gone */
#define PAUSE_S   0.25 /* between two tries */
#define CALL_S    120.0
#define BUSY_S    600.0 /* of answers that there is no room, then that is an error */

struct rgm_async_worker {
    rgm_async_place place;
    char *folder, *url, *token, *host;
    int64_t pid; /* of the server; 0: not known */
    rgm_http_client *client;
    rgm_trainer_hooks hooks;

    rgm_trainer *trainer; /* borrowed */
    rgmi_tables tables;
    rgmi_row_set *rows;           /* [tables] of the current turn */
    int64_t *first;               /* [tables] those that are still to be asked for */
    rgm_tensor **before;          /* [states] as they came with the weights */
    int64_t id;                   /* of this visit */
    int64_t lease;                /* of the current turn */
    bool has_weights;             /* of it */
    rgmi_answer_kind end;         /* why a step was broken off; RGMI_WORK: it was not */
    rgm_tensor *const *gradients; /* of the step, borrowed */
    bool lost;
    int64_t updates;

    pthread_t beat;
    bool beats;
    atomic_bool quiet;         /* the sign of life ends */
    atomic_int_fast64_t visit; /* that lives */
};

/* ---- asking -------------------------------------------------------------------------------- */

static bool is_stopped(const rgm_async_worker *worker)
{
    return worker->place.stopped != NULL && worker->place.stopped(worker->place.payload);
}

static void pause_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

static rgm_status lost(rgm_async_worker *worker)
{
    worker->lost = true;
    if (worker->pid > 0)
        return RGM_FAIL(RGM_ERR_IO, "the server on %s (process %lld, %s) is gone: %s", worker->host,
                        (long long)worker->pid, worker->url, rgm_error_message());
    return RGM_FAIL(RGM_ERR_IO, "the server at %s is gone: %s", worker->url, rgm_error_message());
}

/* The error that an answer is. */
static rgm_status answered(const rgm_response *response, int64_t sent)
{
    if (response->status == 413)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "what a batch is to hand in has %.3g MB, more than the server takes in one "
                        "message: make batches that read fewer rows of tables",
                        (double)sent / 1e6);
    return rgm_response_status(response);
}

/* One request and its answer, asked again where a connection breaks or the server has no room for
 * it now: none does harm twice. */
static rgm_status ask(rgm_response *out, rgm_async_worker *worker, const char *path,
                      const rgm_text *body)
{
    double broken = 0, busy = 0; /* since when */
    bool served;

    for (;;) {
        rgm_status status = rgm_http_client_send(out, &served, worker->client, "POST", path,
                                                 body->size > 0 ? body->data : "", body->size);
        bool broke = status == RGM_ERR_IO, later = false;

        if (status == RGM_OK) {
            later = rgm_response_is_for_later(out);
            status = answered(out, body->size);
        }
        if (status != RGM_OK)
            rgm_response_clear(out);
        busy = !later ? 0 : busy > 0 ? busy : rgm_now();
        if ((!broke && !later) || (later && rgm_now() - busy > BUSY_S))
            return status;
        if (is_stopped(worker))
            return RGM_STOPPED;
        broken = !broke ? 0 : broken > 0 ? broken : rgm_now();
        if (broke && rgm_now() - broken > FORGIVE_S)
            return lost(worker);
        pause_for(PAUSE_S);
    }
}

static rgm_state_reader reader_of(const rgm_response *response)
{
    return (rgm_state_reader){(const uint8_t *)response->body.data, response->body.size, 0};
}

static rgm_status get_kind(rgmi_answer_kind *kind, rgm_state_reader *reader)
{
    int64_t number;

    *kind = RGMI_LATER;
    RGM_TRY(rgm_state_get_count(&number, reader, RGMI_HAS_FAILED, "the kind of an answer"));
    *kind = (rgmi_answer_kind)number;
    return RGM_OK;
}

/* What the end of a run is for a worker. */
static rgm_status end_of(rgm_async_worker *worker, rgmi_answer_kind kind, rgm_state_reader *reader)
{
    rgm_status status;
    char *message;

    if (kind == RGMI_IS_OVER)
        return RGM_OK;
    if (kind == RGMI_HAS_STOPPED)
        return RGM_STOPPED;
    RGM_TRY(rgmi_get_text(&message, reader, 1 << 20));
    status = RGM_FAIL(RGM_ERR_IO, "the server on %s has failed: %s", worker->host, message);
    rgm_free(message);
    return status;
}

/* ---- finding the server -------------------------------------------------------------------- */

static bool is_url(const char *where)
{
    return strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0;
}

static rgm_status next_line(char **out, char **rest)
{
    size_t size = strcspn(*rest, "\n");
    char *line = *rest;

    if (line[size] != '\n')
        return RGM_FAIL(RGM_ERR_FORMAT, "the file of the server's address is cut off");
    line[size] = '\0';
    *rest = line + size + 1;
    return rgm_strdup(out, line);
}

/* What the server has left in the run folder. */
static rgm_status read_address(rgm_async_worker *worker)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL, *rest, *pid = NULL;
    int64_t size;

    RGM_GO(rgm_path_join(&path, worker->place.where, RGMI_ADDRESS_FILE));
    RGM_GO(rgm_file_load(&text, &size, path, 4096));
    rest = text;
    RGM_GO(next_line(&worker->url, &rest));
    RGM_GO(next_line(&worker->token, &rest));
    RGM_GO(next_line(&worker->host, &rest));
    RGM_GO(next_line(&pid, &rest));
    worker->pid = strtoll(pid, NULL, 10);
done:
    rgm_free(pid);
    rgm_free(text);
    rgm_free(path);
    return status;
}

static void forget_address(rgm_async_worker *worker)
{
    rgm_http_client_close(worker->client);
    worker->client = NULL;
    rgm_free(worker->url);
    rgm_free(worker->token);
    rgm_free(worker->host);
    worker->url = worker->token = worker->host = NULL;
}

static rgm_status find_address(rgm_async_worker *worker)
{
    if (!is_url(worker->place.where))
        return read_address(worker);
    RGM_TRY(rgm_strdup(&worker->url, worker->place.where));
    return rgm_strdup(&worker->host, worker->place.where);
}

static void limit_calls(rgm_async_worker *worker)
{
    rgm_http_client_limit(worker->client, CALL_S, worker->place.stopped, worker->place.payload);
}

/* What the server says to whom it does not know yet. */
static rgm_status greet(rgmi_answer_kind *kind, rgm_response *response, rgm_async_worker *worker)
{
    rgm_state_reader reader;
    bool served;

    if (worker->client == NULL) {
        RGM_TRY(find_address(worker));
        RGM_TRY(rgm_http_client_open_url(&worker->client, worker->url, worker->token));
        limit_calls(worker);
    }
    RGM_TRY(rgm_http_client_send(response, &served, worker->client, "POST", "/hello", "", 0));
    RGM_TRY(rgm_response_status(response));
    reader = reader_of(response);
    return get_kind(kind, &reader);
}

static rgm_status wait_for_server(rgm_async_worker *worker)
{
    double since = rgm_now();

    for (;;) {
        rgm_response response = {0};
        rgmi_answer_kind kind = RGMI_LATER;
        rgm_status status = greet(&kind, &response, worker);

        if (status == RGM_OK && kind >= RGMI_IS_OVER) {
            rgm_state_reader reader = reader_of(&response);

            status = get_kind(&kind, &reader);
            if (status == RGM_OK)
                status = end_of(worker, kind, &reader);
            rgm_response_clear(&response);
            return status == RGM_OK ? RGM_END : status;
        }
        rgm_response_clear(&response);
        if (status == RGM_OK && kind == RGMI_WORK)
            return RGM_OK;
        if (is_stopped(worker))
            return RGM_STOPPED;
        if (status == RGM_ERR_NOMEM)
            return status;
        if (status == RGM_OK) { /* it is there, and lets nobody in yet: as long as it likes */
            since = rgm_now();
            continue;
        }
        forget_address(worker);
        if (rgm_now() - since > worker->place.patience)
            return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no server at '%s': %s",
                            worker->place.where, rgm_error_message());
        pause_for(PAUSE_S);
    }
}

/* ---- signs of life ------------------------------------------------------------------------- */

static void *live(void *payload)
{
    rgm_async_worker *worker = payload;
    rgm_http_client *client = NULL;

    if (rgm_http_client_open_url(&client, worker->url, worker->token) != RGM_OK)
        return NULL; /* then only turns are signs of life */
    rgm_http_client_limit(client, 10 * BEAT_S, NULL, NULL);
    while (!atomic_load(&worker->quiet)) {
        rgm_response response;
        rgm_text body = {0};
        bool served;

        if (rgm_state_put_int(&body, (int64_t)atomic_load(&worker->visit)) == RGM_OK &&
            atomic_load(&worker->visit) > 0) {
            (void)rgm_http_client_send(&response, &served, client, "POST", "/alive", body.data,
                                       body.size);
            rgm_response_clear(&response);
        }
        rgm_text_clear(&body);
        for (int i = 0; i < 10 && !atomic_load(&worker->quiet); i++)
            pause_for(BEAT_S / 10);
    }
    rgm_http_client_close(client);
    return NULL;
}

static void end_beat(rgm_async_worker *worker)
{
    if (!worker->beats)
        return;
    atomic_store(&worker->quiet, true);
    pthread_join(worker->beat, NULL);
    worker->beats = false;
}

/* ---- weights and gradients ----------------------------------------------------------------- */

static rgm_status put_wanted(rgm_text *body, const rgm_async_worker *worker)
{
    RGM_TRY(rgm_state_put_int(body, worker->id));
    RGM_TRY(rgm_state_put_int(body, worker->lease));
    RGM_TRY(rgm_state_put_int(body, !worker->has_weights));
    for (int64_t t = 0; t < worker->tables.count; t++)
        RGM_TRY(rgmi_put_rows(body, &worker->rows[t], worker->first[t]));
    return RGM_OK;
}

static rgm_status take_weights(rgm_async_worker *worker, rgm_state_reader *reader)
{
    RGM_TRY(rgmi_get_weights(rgm_trainer_parameters(worker->trainer), reader, &worker->tables,
                             !worker->has_weights, worker->rows, worker->first));
    for (int64_t k = 0; k < worker->tables.state_count && !worker->has_weights; k++) {
        const rgm_tensor *state =
            rgm_parameters_read(rgm_trainer_parameters(worker->trainer), worker->tables.states[k]);

        memcpy(rgm_tensor_data(worker->before[k]), rgm_tensor_data(state), rgm_tensor_bytes(state));
    }
    worker->has_weights = true;
    for (int64_t t = 0; t < worker->tables.count; t++)
        worker->first[t] = worker->rows[t].count;
    return RGM_OK;
}

/* RGM_STOPPED: the step is broken off, worker->end says why. */
static rgm_status ask_for_weights(rgm_async_worker *worker, const rgm_text *body)
{
    for (;;) {
        rgm_response response;
        rgm_state_reader reader;
        rgmi_answer_kind kind = RGMI_LATER;
        rgm_status status = ask(&response, worker, "/weights", body);

        if (status == RGM_STOPPED)
            worker->end = RGMI_LATER;
        RGM_TRY(status);
        reader = reader_of(&response);
        status = get_kind(&kind, &reader);
        if (status == RGM_OK && kind == RGMI_WORK)
            status = take_weights(worker, &reader);
        else if (status == RGM_OK && kind == RGMI_LATER)
            status = is_stopped(worker) ? RGM_STOPPED : RGM_END;
        else if (status == RGM_OK)
            status = RGM_STOPPED;
        rgm_response_clear(&response);
        if (status == RGM_STOPPED)
            worker->end = kind;
        if (status != RGM_END)
            return status;
    }
}

static rgm_status before_run(rgm_trainer *trainer, const rgm_feed *feeds, int64_t count,
                             void *payload)
{
    rgm_async_worker *worker = payload;
    bool asks = !worker->has_weights;
    rgm_text body = {0};
    rgm_status status;

    RGM_TRY(rgmi_tables_ask(worker->rows, &worker->tables, rgm_trainer_parameters(trainer), feeds,
                            count));
    for (int64_t t = 0; t < worker->tables.count; t++)
        asks = asks || worker->rows[t].count > worker->first[t];
    if (!asks)
        return RGM_OK;
    status = put_wanted(&body, worker);
    if (status == RGM_OK)
        status = ask_for_weights(worker, &body);
    rgm_text_clear(&body);
    return status;
}

static rgm_status keep_gradients(rgm_tensor *const *gradients, rgm_trainer *trainer, void *payload)
{
    rgm_async_worker *worker = payload;

    (void)trainer;
    worker->gradients = gradients; /* valid until the next run */
    return RGM_OK;
}

/* ---- a turn -------------------------------------------------------------------------------- */

typedef struct turn {
    rgm_data_place place; /* its position is the answer's */
    bool tells;           /* where the data are, behind it */
} turn;

static rgm_status read_turn(turn *out, rgm_async_worker *worker, rgm_state_reader *reader)
{
    rgm_data_place *place = &out->place;
    const uint8_t *position;
    int64_t tells;

    RGM_TRY(rgm_state_get_count(&worker->lease, reader, RGM_STATE_MOST, "a lease"));
    RGM_TRY(rgm_state_get_count(&place->pass, reader, RGM_STATE_MOST, "a pass"));
    RGM_TRY(rgm_state_get_count(&place->batch, reader, RGM_STATE_MOST, "a batch"));
    RGM_TRY(rgm_state_get_count(&place->step, reader, RGM_STATE_MOST, "a step"));
    RGM_TRY(rgm_state_get_count(&tells, reader, 1, "a place in the data"));
    out->tells = tells != 0;
    RGM_TRY(rgm_state_get_bytes(&position, &place->position_size, reader));
    place->position = position;
    worker->has_weights = false;
    worker->end = RGMI_WORK;
    worker->gradients = NULL;
    for (int64_t t = 0; t < worker->tables.count; t++) {
        rgmi_rows_reset(&worker->rows[t]);
        worker->first[t] = 0;
    }
    return RGM_OK;
}

/* Gradients with what they were made of; behind the kind of the half step. */
static rgm_status put_half(rgm_text *out, rgm_async_worker *worker)
{
    rgm_status status = RGM_OK;
    rgm_text sums = {0};

    RGM_GO(rgm_state_put_int(out, RGMI_HALF));
    RGM_GO(rgmi_put_double(out, rgm_trainer_last_loss(worker->trainer)));
    RGM_GO(rgm_trainer_take_sums(&sums, worker->trainer));
    RGM_GO(rgm_state_put_bytes(out, sums.data, sums.size));
    RGM_GO(rgmi_put_gradients(out, worker->gradients, &worker->tables, worker->rows));
    RGM_GO(rgmi_put_states(out, rgm_trainer_parameters(worker->trainer), &worker->tables,
                           worker->before));
done:
    rgm_text_clear(&sums);
    return status;
}

static rgm_status put_bad(rgm_text *out)
{
    rgm_status status = RGM_OK;
    rgm_text message = {0};

    RGM_GO(rgm_text_printf(&message, "%s", rgm_error_message()));
    rgm_error_reset();
    RGM_GO(rgm_state_put_int(out, RGMI_BAD));
    RGM_GO(rgm_state_put_bytes(out, message.data, message.size));
done:
    rgm_text_clear(&message);
    return status;
}

/* What is asked with every turn: who, where in the data, and whether something is handed in. */
static rgm_status put_request(rgm_text *out, const rgm_async_worker *worker, bool hands_in)
{
    RGM_TRY(rgm_state_put_int(out, worker->id));
    RGM_TRY(rgm_state_put_int(out, rgm_trainer_passes(worker->trainer)));
    RGM_TRY(rgm_state_put_int(
        out, rgm_trainer_at_end(worker->trainer) ? 0 : rgm_trainer_reached(worker->trainer)));
    return rgm_state_put_int(out, hands_in);
}

static rgm_status put_place(rgm_text *out, const rgm_async_worker *worker, const turn *t)
{
    rgm_status status = RGM_OK;
    rgm_text position = {0};

    RGM_GO(rgm_state_put_int(out, worker->lease));
    RGM_GO(rgm_state_put_int(out, rgm_trainer_reached(worker->trainer)));
    if (t->tells)
        RGM_GO(rgm_trainer_position(&position, worker->trainer));
    RGM_GO(rgm_state_put_bytes(out, position.size > 0 ? position.data : "", position.size));
done:
    rgm_text_clear(&position);
    return status;
}

/* Compute a turn, and write what is to be handed in. RGM_STOPPED: nothing is, worker->end tells. */
static rgm_status compute(rgm_text *out, rgm_async_worker *worker, const turn *t)
{
    rgm_status status = rgm_trainer_go_to(worker->trainer, &t->place);

    if (status == RGM_OK)
        status = rgm_trainer_train_step(worker->trainer);
    if (status != RGM_OK && status != RGM_END && status != RGM_ERR_NUMERIC)
        return status;
    RGM_TRY(put_request(out, worker, true));
    RGM_TRY(put_place(out, worker, t));
    if (status == RGM_END)
        return rgm_state_put_int(out, RGMI_NO_BATCH);
    if (status == RGM_ERR_NUMERIC)
        return put_bad(out);
    worker->updates++;
    return put_half(out, worker);
}

/* ---- coming, working, going ---------------------------------------------------------------- */

static rgm_status put_coming(rgm_text *out, const rgm_async_worker *worker, const char *about)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgmi_whereabouts me;

    rgmi_where_am_i(&me);
    RGM_GO(rgmi_introduce(&text, worker->trainer, about));
    RGM_GO(rgm_state_put_bytes(out, text.data, text.size));
    RGM_GO(rgm_state_put_bytes(out, me.host, (int64_t)strlen(me.host)));
    RGM_GO(rgm_state_put_int(out, getpid()));
    RGM_GO(rgm_state_put_int(out, me.space));
done:
    rgm_text_clear(&text);
    return status;
}

/* Who is asked to go while it comes may have been let in already: it waits a while for the answer,
 * which says as whom, to be able to leave. */
typedef struct coming {
    const rgm_async_worker *worker;
    double since; /* it was asked to go; 0: it was not */
} coming;

static bool waits_no_more(void *payload)
{
    coming *c = payload;

    if (!is_stopped(c->worker))
        return false;
    c->since = c->since > 0 ? c->since : rgm_now();
    return rgm_now() - c->since > FORGIVE_S;
}

static rgm_status ask_to_come(rgm_response *out, rgm_async_worker *worker, const rgm_text *body)
{
    coming c = {.worker = worker};
    rgm_status status;

    rgm_http_client_limit(worker->client, CALL_S, waits_no_more, &c);
    status = ask(out, worker, "/come", body);
    limit_calls(worker);
    return status;
}

/* *over: the run ended meanwhile, and the status says how. */
static rgm_status come(bool *over, rgm_async_worker *worker, const char *about)
{
    rgm_status status = RGM_OK;
    rgm_text body = {0};
    rgm_response response = {0};
    rgm_state_reader reader;
    rgmi_answer_kind kind = RGMI_LATER;

    *over = false;
    RGM_GO(put_coming(&body, worker, about));
    RGM_GO(ask_to_come(&response, worker, &body));
    reader = reader_of(&response);
    RGM_GO(get_kind(&kind, &reader));
    if (kind == RGMI_WORK)
        RGM_GO(rgm_state_get_count(&worker->id, &reader, RGM_STATE_MOST, "a visit"));
    else {
        *over = true;
        status = end_of(worker, kind, &reader);
    }
    atomic_store(&worker->visit, worker->id);
done:
    rgm_text_clear(&body);
    rgm_response_clear(&response);
    return status;
}

static void leave(rgm_async_worker *worker, rgm_status status)
{
    rgm_text body = {0};
    rgm_response response;
    rgm_error error = {0};
    const char *why = status < 0 ? rgm_error_message() : "";
    bool served;

    if (worker->lost)
        return;
    if (status < 0)
        rgm_error_save(&error, status);
    rgm_http_client_limit(worker->client, FORGIVE_S, NULL, NULL); /* though it is to stop */
    if (rgm_state_put_int(&body, worker->id) == RGM_OK &&
        rgm_state_put_bytes(&body, why, (int64_t)strlen(why)) == RGM_OK) {
        (void)rgm_http_client_send(&response, &served, worker->client, "POST", "/go", body.data,
                                   body.size);
        rgm_response_clear(&response);
    }
    rgm_text_clear(&body);
    if (status < 0)
        (void)rgm_error_restore(&error);
}

/* Hand in `body`, and compute the turn that comes back: `body` is then what it came to, or a plain
 * request for another. *over: the run is, and the status says how. */
static rgm_status one_turn(bool *over, rgm_async_worker *worker, rgm_text *body, const char *about)
{
    rgm_status status = RGM_OK;
    rgm_response response = {0};
    rgm_state_reader reader;
    rgmi_answer_kind kind = RGMI_LATER;
    turn t = {.tells = false};

    RGM_GO(ask(&response, worker, "/turn", body));
    rgm_text_clear(body);
    reader = reader_of(&response);
    RGM_GO(get_kind(&kind, &reader));
    if (kind == RGMI_WORK) {
        RGM_GO(read_turn(&t, worker, &reader));
        status = compute(body, worker, &t);
        if (status == RGM_STOPPED && !is_stopped(worker)) { /* broken off */
            rgm_text_clear(body);
            kind = worker->end;
            status = RGM_OK;
        }
    } else if (kind >= RGMI_IS_OVER) {
        *over = true;
        status = end_of(worker, kind, &reader);
    }
    RGM_GO(status);
    if (kind == RGMI_UNKNOWN)
        RGM_GO(come(over, worker, about));
    if (body->size == 0 && !*over)
        status = put_request(body, worker, false);
done:
    rgm_response_clear(&response);
    return status;
}

static rgm_status work(rgm_async_worker *worker, const char *about)
{
    rgm_text body = {0};
    bool over;
    rgm_status status = come(&over, worker, about);

    if (status == RGM_OK && !over)
        status = put_request(&body, worker, false);
    while (status == RGM_OK && !over)
        status = is_stopped(worker) ? RGM_STOPPED : one_turn(&over, worker, &body, about);
    rgm_text_clear(&body);
    if (!over && worker->id > 0)
        leave(worker, status);
    return status;
}

static rgm_status prepare(rgm_async_worker *worker)
{
    RGM_TRY(rgm_trainer_check_apart(worker->trainer));
    RGM_TRY(rgmi_tables_open(&worker->tables, worker->trainer));
    RGM_TRY(RGM_NEW(worker->rows, worker->tables.count));
    RGM_TRY(RGM_NEW(worker->first, worker->tables.count));
    for (int64_t t = 0; t < worker->tables.count; t++)
        RGM_TRY(rgmi_rows_open(&worker->rows[t], worker->tables.items[t].rows));
    RGM_TRY(RGM_NEW(worker->before, worker->tables.state_count));
    for (int64_t k = 0; k < worker->tables.state_count; k++) {
        const rgm_tensor *form =
            rgm_parameters_form(rgm_trainer_parameters(worker->trainer), worker->tables.states[k]);

        RGM_TRY(rgm_tensor_create(&worker->before[k], rgm_tensor_dtype(form), rgm_tensor_rank(form),
                                  rgm_tensor_shape(form)));
    }
    worker->beats = rgm_thread_start(&worker->beat, live, worker) == 0;
    return RGM_OK;
}

rgm_status rgm_async_worker_run(rgm_async_worker *worker, rgm_trainer *trainer, const char *about)
{
    rgm_status status;

    worker->trainer = trainer;
    status = prepare(worker);
    if (status == RGM_OK)
        status = work(worker, about);
    end_beat(worker);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------- */

rgm_status rgm_async_worker_find(rgm_async_worker **out, const rgm_async_place *place)
{
    rgm_status status = RGM_OK;
    rgm_async_worker *worker = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(worker, 1));
    worker->place = *place;
    worker->hooks =
        (rgm_trainer_hooks){.before_run = before_run, .update = keep_gradients, .payload = worker};
    RGM_GO(rgm_strdup(&worker->folder, is_url(place->where) ? "" : place->where));
    RGM_GO(wait_for_server(worker));
    *out = worker;
    worker = NULL;
done:
    rgm_async_worker_close(worker);
    return status;
}

const char *rgm_async_worker_folder(const rgm_async_worker *worker)
{
    return worker->folder;
}

const rgm_trainer_hooks *rgm_async_worker_hooks(const rgm_async_worker *worker)
{
    return &worker->hooks;
}

bool rgm_async_worker_is_lost(const rgm_async_worker *worker)
{
    return worker->lost;
}

int64_t rgm_async_worker_updates(const rgm_async_worker *worker)
{
    return worker->updates;
}

void rgm_async_worker_close(rgm_async_worker *worker)
{
    if (worker == NULL)
        return;
    end_beat(worker);
    forget_address(worker);
    for (int64_t t = 0; worker->rows != NULL && t < worker->tables.count; t++)
        rgmi_rows_close(&worker->rows[t]);
    for (int64_t k = 0; worker->before != NULL && k < worker->tables.state_count; k++)
        rgm_tensor_release(worker->before[k]);
    rgm_free(worker->before);
    rgm_free(worker->rows);
    rgm_free(worker->first);
    rgmi_tables_close(&worker->tables);
    rgm_free(worker->folder);
    rgm_free(worker);
}
