/*
 * The server: the run's own thread, in whose trainer a step is the next half step that has arrived.
 * While that thread waits here, other threads may read weights; while it updates, validates or
 * saves, they may not.
 */
#include "async_server_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TURN_S   0.25 /* between two looks at clock and signals */
#define LOOK_S   1.0  /* between two looks for lost workers while updates are made */
#define LINGER_S 5.0  /* for workers to hear how the run ended */
#define AT_ONCE  4    /* messages of the largest size that there is room for */

/* ---- what fits -------------------------------------------------------------------------- */

/* Bytes that travel whole with each update. */
static int64_t whole_bytes(const rgm_async_server *server)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(server->trainer);
    int64_t bytes = 0;

    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++)
        if (server->tables.of[i] < 0)
            bytes += (int64_t)rgm_tensor_bytes(rgm_parameters_form(parameters, i));
    for (int64_t k = 0; k < server->tables.state_count; k++) /* as they were, and as they are */
        bytes +=
            (int64_t)rgm_tensor_bytes(rgm_parameters_form(parameters, server->tables.states[k]));
    return bytes;
}

/* It must fit into a message: a worker would take one that is too large for a server that is gone.
 */
static rgm_status check_size(const rgm_async_server *server)
{
    int64_t bytes = whole_bytes(server), most = server->options.message_bytes;

    if (bytes <= most - most / 16)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "runtime.distribution is asynchronous, but the parameters that travel whole "
                    "have %.3g MB, and a message at most %.3g: a model that size is for ranks "
                    "(mpirun)",
                    (double)bytes / 1e6, (double)most / 1e6);
}

/* How many workers can hand in at a time, of those that the bound lets compute at a time. */
static void tell_room(const rgm_async_server *server)
{
    int64_t bytes = whole_bytes(server), room = AT_ONCE * server->options.message_bytes;
    int64_t at_work = server->options.staleness + 1;

    if (at_work > RGMI_WORKERS)
        at_work = RGMI_WORKERS;
    if (bytes > 0 && room / bytes < at_work)
        rgm_log_write(RGM_LOG_WARNING,
                      "%lld workers may compute at a time, and %lld can hand in at a time: "
                      "gradients have %.3g MB, and there is room for %.3g: the others wait for "
                      "them; with runtime.staleness: %lld nobody waits for that",
                      (long long)at_work, (long long)(room / bytes), (double)bytes / 1e6,
                      (double)room / 1e6, (long long)(room / bytes - 1));
}

/* ---- a step -------------------------------------------------------------------------------- */

static rgm_status apply_half(rgm_step *step, rgm_async_server *server, rgm_state_reader *reader)
{
    rgm_half_step half = {.gradients = server->gradients};
    int64_t rows = 0;
    const uint8_t *sums;

    RGM_TRY(rgmi_get_double(&half.loss, reader));
    RGM_TRY(rgm_state_get_bytes(&sums, &half.sums.size, reader));
    half.sums.data = (const char *)sums;
    RGM_TRY(rgmi_get_gradients(server->gradients, &rows, reader, &server->tables));
    RGM_TRY(rgm_trainer_apply_apart(step, &half));
    RGM_TRY(rgmi_get_states(rgm_trainer_parameters(server->trainer), reader, &server->tables));
    if (reader->at != reader->size)
        return RGM_FAIL(RGM_ERR_FORMAT, "a half step has bytes behind its end");
    pthread_mutex_lock(&server->lock);
    server->report.gradient_rows += rows;
    pthread_mutex_unlock(&server->lock);
    return RGM_OK;
}

/* What a worker has handed in, or told of its batch. */
static rgm_status apply(rgm_step *step, rgm_async_server *server, const rgmi_lease *lease)
{
    rgm_state_reader reader = {(const uint8_t *)lease->half, lease->half_size, 0};
    rgm_status status;
    char *message;
    int64_t kind;

    RGM_TRY(rgm_state_get_count(&kind, &reader, RGMI_NO_BATCH, "the kind of a half step"));
    if (kind == RGMI_HALF)
        return apply_half(step, server, &reader);
    RGM_TRY(rgmi_get_text(&message, &reader, 1 << 16));
    status = RGM_FAIL(RGM_ERR_NUMERIC, "%s", message);
    rgm_free(message);
    return status;
}

/* Until there is something to do, or it is time to look at clock and signals. */
static rgm_status wait_for_half(rgmi_lease *lease, bool *found, rgm_async_server *server)
{
    double until = rgm_now() + TURN_S;

    *found = false;
    if (server->moved != rgm_trainer_updates(server->trainer)) /* it was rolled back */
        RGM_TRY(rgmi_ledger_cancel(&server->ledger));
    server->open = true;
    pthread_cond_broadcast(&server->for_workers);
    while (!rgmi_ledger_is_over(&server->ledger)) {
        double left = until - rgm_now();

        *found = rgmi_ledger_take(lease, &server->ledger);
        if (*found || left <= 0 || (server->gave_up && !rgmi_server_has_workers(server)))
            break;
        rgmi_server_wait(server, &server->for_run, left);
    }
    server->open = false;
    if (!*found || rgm_now() - server->looked > LOOK_S)
        RGM_TRY(rgmi_server_forget_lost(server));
    rgmi_server_look_for_workers(server);
    return RGM_OK;
}

static rgm_status make(rgm_step *step, rgm_async_server *server, const rgmi_lease *lease)
{
    int64_t updates = rgm_trainer_updates(server->trainer);
    rgm_status status, told;
    rgm_error error;

    server->applies = true;
    status = apply(step, server, lease);
    server->applies = false;
    if (status != RGM_OK)
        rgm_error_save(&error, status);
    pthread_mutex_lock(&server->lock);
    server->moved = rgm_trainer_updates(server->trainer);
    told = rgmi_ledger_done(&server->ledger, lease, server->moved > updates);
    pthread_mutex_unlock(&server->lock);
    return status != RGM_OK ? rgm_error_restore(&error) : told;
}

/* The length of a pass, where it is known without reading; else a worker tells when it gets there.
 */
static void set_length(rgm_async_server *server)
{
    int64_t steps = rgm_trainer_pass_steps(server->trainer);

    if (steps > 0 && steps < INT64_MAX)
        rgmi_ledger_end(&server->ledger, steps);
}

/* Workers are let in. */
static void begin(rgm_async_server *server)
{
    set_length(server);
    tell_room(server);
    server->alone_since = rgm_now();
    server->log = rgm_logger_retain(rgm_logger_current());
    server->phase = RGMI_TRAINING;
}

static rgm_status train_step(rgm_step *step, void *payload)
{
    rgm_async_server *server = payload;
    rgm_status status;
    rgmi_lease lease = {.half = NULL};
    bool found;

    if (server->gradients == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "rgm_async_server_admit() comes before the first step");
    pthread_mutex_lock(&server->lock);
    if (server->phase == RGMI_OPENING)
        begin(server);
    status = wait_for_half(&lease, &found, server);
    server->moved = rgm_trainer_updates(server->trainer);
    if (status == RGM_OK && !found)
        status = RGM_STOPPED;
    if (status == RGM_STOPPED && rgmi_ledger_is_over(&server->ledger)) {
        rgmi_ledger_next_pass(&server->ledger);
        set_length(server);
        status = RGM_END;
    }
    pthread_mutex_unlock(&server->lock);
    if (status == RGM_OK)
        status = make(step, server, &lease);
    rgm_free(lease.half);
    return status;
}

/* ---- the other hooks ----------------------------------------------------------------------- */

/* Not asked about an update, which it would spoil. */
static unsigned decide(unsigned seen, void *payload)
{
    rgm_async_server *server = payload;
    bool abandoned;

    if (server->applies)
        return seen;
    pthread_mutex_lock(&server->lock);
    abandoned = server->abandoned;
    pthread_mutex_unlock(&server->lock);
    return seen | (abandoned ? RGM_DECIDE_STOP : 0);
}

#define BLOB "async"

static rgm_status save_state(rgm_checkpoint *checkpoint, void *payload)
{
    rgm_async_server *server = payload;
    rgm_text text = {0};
    rgm_status status;

    pthread_mutex_lock(&server->lock);
    status = rgmi_ledger_save(&text, &server->ledger);
    pthread_mutex_unlock(&server->lock);
    if (status == RGM_OK)
        status = rgm_checkpoint_set_blob(checkpoint, BLOB, text.data, text.size);
    rgm_text_clear(&text);
    return status;
}

/* Turns are of the trainer's batches. */
static rgm_status count_batches(rgm_async_server *server)
{
    uint64_t recipe;

    RGM_TRY(rgm_trainer_hash_recipe(&recipe, server->trainer, RGM_TRAIN));
    return rgmi_ledger_set_data(&server->ledger, rgm_trainer_turn_batches(server->trainer), recipe);
}

static rgm_status restore_state(const rgm_checkpoint *checkpoint, void *payload)
{
    rgm_async_server *server = payload;
    const void *data;
    int64_t size;

    if (rgm_checkpoint_blob(&data, &size, checkpoint, BLOB) == RGM_ERR_NOT_FOUND)
        return RGM_FAIL(RGM_ERR_CONFIG, "the run was begun without runtime.distribution: "
                                        "asynchronous and cannot go on with it");
    RGM_TRY(rgmi_ledger_restore(&server->ledger, (rgm_str){data, size}));
    return server->trainer != NULL ? count_batches(server) : RGM_OK; /* else admit() does */
}

/* ---- opening ------------------------------------------------------------------------------- */

/* A file of its owner alone, which is there as a whole or not at all. */
static rgm_status save_private(const char *path, const char *made, const char *text)
{
    rgm_status status;
    int fd;

    (void)unlink(made); /* of a server that was killed */
    fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return RGM_FAIL_SYSTEM("create", made);
    status = rgm_write_all(fd, text, (int64_t)strlen(text), made);
    close(fd);
    if (status == RGM_OK && rename(made, path) != 0)
        status = RGM_FAIL_SYSTEM("rename", made);
    return status;
}

/* How workers find it: URL, token, host, process. */
static rgm_status leave_address(rgm_async_server *server)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *made = NULL, *text = NULL;
    rgmi_whereabouts me;

    rgmi_where_am_i(&me);
    RGM_GO(rgm_path_join(&path, server->folder, RGMI_ADDRESS_FILE));
    RGM_GO(rgm_strprintf(&text, "%s\n%s\n%s\n%lld\n", server->url, server->token, me.host,
                         (long long)getpid()));
    RGM_GO(rgm_strprintf(&made, "%s.new", path));
    RGM_GO(save_private(path, made, text));
    server->has_address = true;
done:
    rgm_free(path);
    rgm_free(made);
    rgm_free(text);
    return status;
}

static void take_address(rgm_async_server *server)
{
    char *path = NULL;

    if (server->folder != NULL && rgm_path_join(&path, server->folder, RGMI_ADDRESS_FILE) == RGM_OK)
        (void)unlink(path);
    server->has_address = false;
    rgm_free(path);
}

static rgm_status start(rgm_async_server *server)
{
    static const int lanes[] = {RGMI_WORKERS, 2};
    const rgm_http_options options = {.lanes = lanes,
                                      .lane_count = 2,
                                      .body_bytes = server->options.message_bytes,
                                      .all_body_bytes = AT_ONCE * server->options.message_bytes};
    const rgm_http_service service = {.admit = rgmi_server_admit,
                                      .lane = rgmi_server_lane,
                                      .answer = rgmi_server_answer,
                                      .payload = server};
    const char *listen = server->options.listen;
    char address[64];
    int port, fd;

    RGM_TRY(rgm_http_listen(&fd, listen != NULL ? listen : "127.0.0.1:0"));
    if (rgm_http_address(address, &port, fd) != RGM_OK ||
        rgm_strprintf(&server->url, "http://%s", address) != RGM_OK) {
        close(fd);
        return RGM_FAIL(RGM_ERR_IO, "the address for workers is not known");
    }
    RGM_TRY(rgm_random_hex(server->token));
    return rgm_http_start(&server->http, fd, &options, &service);
}

rgm_status rgm_async_server_open(rgm_async_server **out, const rgm_async_options *options)
{
    rgm_status status = RGM_OK;
    rgm_async_server *server = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(server, 1));
    rgmi_server_init_waiting(server);
    server->options = *options;
    if (server->options.message_bytes <= 0)
        server->options.message_bytes = RGMI_MESSAGE_BYTES;
    server->ledger.staleness = options->staleness;
    server->ledger.end = INT64_MAX;
    server->report.staleness = options->staleness;
    server->hooks = (rgm_trainer_hooks){.train_step = train_step,
                                        .decide = decide,
                                        .save_state = save_state,
                                        .restore_state = restore_state,
                                        .payload = server};
    RGM_GO(rgm_strdup(&server->folder, options->folder));
    RGM_GO(start(server));
    *out = server;
    server = NULL;
done:
    if (server != NULL) {
        rgm_error error;

        rgm_error_save(&error, status);
        rgm_async_server_close(server);
        status = rgm_error_restore(&error);
    }
    return status;
}

const rgm_trainer_hooks *rgm_async_server_hooks(const rgm_async_server *server)
{
    return &server->hooks;
}

const char *rgm_async_server_url(const rgm_async_server *server)
{
    return server->url;
}

static rgm_status open_gradients(rgm_async_server *server)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(server->trainer);

    RGM_TRY(RGM_NEW(server->gradients, rgm_parameters_count(parameters)));
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        const rgm_tensor *w = rgm_parameters_form(parameters, i);

        if (rgm_parameters_trainable(parameters, i))
            RGM_TRY(rgm_tensor_create(&server->gradients[i], rgm_tensor_dtype(w),
                                      rgm_tensor_rank(w), rgm_tensor_shape(w)));
    }
    return RGM_OK;
}

rgm_status rgm_async_server_admit(rgm_async_server *server, rgm_trainer *trainer, const char *about)
{
    rgm_text text = {0};
    rgm_status status;

    server->trainer = trainer;
    RGM_TRY(rgm_trainer_check_apart(trainer));
    RGM_TRY(rgmi_tables_open(&server->tables, trainer));
    RGM_TRY(check_size(server));
    RGM_TRY(open_gradients(server));
    RGM_TRY(rgmi_introduce(&text, trainer, about));
    server->about = text.data;
    pthread_mutex_lock(&server->lock);
    status = count_batches(server);
    server->report.tables = server->tables.count;
    for (int64_t t = 0; t < server->tables.count; t++)
        server->report.table_rows += server->tables.items[t].rows;
    server->moved = rgm_trainer_updates(trainer);
    pthread_mutex_unlock(&server->lock);
    return status == RGM_OK ? leave_address(server) : status;
}

/* ---- what it has done ---------------------------------------------------------------------- */

void rgm_async_server_report(rgm_async_report *out, rgm_async_server *server)
{
    const rgmi_ledger *ledger = &server->ledger;

    pthread_mutex_lock(&server->lock);
    *out = server->report;
    out->updates = ledger->updates;
    out->workers = server->last_visitor;
    out->given_again = ledger->given_again;
    out->refused = ledger->refused;
    out->most_stale = ledger->most_stale;
    out->mean_stale = ledger->updates > 0 ? ledger->stale_sum / (double)ledger->updates : 0;
    pthread_mutex_unlock(&server->lock);
}

rgm_status rgm_async_describe(rgm_text *out, const rgm_async_report *r)
{
    double updates = r->updates > 0 ? (double)r->updates : 1;

    RGM_TRY(rgm_text_printf(out,
                            "%lld updates by %lld workers, staleness %.1f on average, %lld at most "
                            "(bound %lld); %.1f kB of gradients and %.1f kB of weights an update",
                            (long long)r->updates, (long long)r->workers, r->mean_stale,
                            (long long)r->most_stale, (long long)r->staleness,
                            (double)r->gradient_bytes / updates / 1e3,
                            (double)r->weight_bytes / updates / 1e3));
    if (r->tables > 0)
        RGM_TRY(rgm_text_printf(out, ", %.0f and %.0f of %lld rows of tables",
                                (double)r->gradient_rows / updates,
                                (double)r->weight_rows / updates, (long long)r->table_rows));
    if (r->given_again > 0)
        RGM_TRY(rgm_text_printf(out, "; %lld batches were given again", (long long)r->given_again));
    return RGM_OK;
}

/* ---- the end ------------------------------------------------------------------------------- */

static bool all_know(const rgm_async_server *server)
{
    for (int64_t i = 0; i < server->visitor_count; i++)
        if (!server->visitors[i].told && !server->visitors[i].hangs)
            return false;
    return server->last_visitor + server->late >= server->options.expected;
}

static void tell_workers(rgm_async_server *server, rgm_status outcome)
{
    /* those at work hear of it with their next turn */
    double until = rgm_now() + (outcome == RGM_OK ? server->options.timeout : LINGER_S);

    pthread_mutex_lock(&server->lock);
    server->end = outcome == RGM_OK        ? RGMI_IS_OVER
                  : outcome == RGM_STOPPED ? RGMI_HAS_STOPPED
                                           : RGMI_HAS_FAILED;
    if (outcome < 0)
        (void)rgm_strdup(&server->message, rgm_error_message()); /* else they hear no reason */
    server->phase = RGMI_ENDED;
    pthread_cond_broadcast(&server->for_workers);
    while (!all_know(server) && rgm_now() < until)
        rgmi_server_wait(server, &server->for_run, until - rgm_now());
    pthread_mutex_unlock(&server->lock);
}

void rgm_async_server_stop(rgm_async_server *server, rgm_status outcome)
{
    if (server->http == NULL)
        return;
    tell_workers(server, outcome);
    take_address(server);
    rgm_http_stop(server->http);
    server->http = NULL;
}

void rgm_async_server_close(rgm_async_server *server)
{
    if (server == NULL)
        return;
    take_address(server);
    rgm_http_stop(server->http);
    for (int64_t i = 0; server->gradients != NULL && i < server->tables.parameters; i++)
        rgm_tensor_release(server->gradients[i]);
    rgm_free(server->gradients);
    rgmi_tables_close(&server->tables);
    rgmi_ledger_clear(&server->ledger);
    rgm_logger_release(server->log);
    rgm_free(server->visitors);
    rgm_free(server->about);
    rgm_free(server->message);
    rgm_free(server->why);
    rgm_free(server->url);
    rgm_free(server->folder);
    pthread_cond_destroy(&server->for_run);
    pthread_cond_destroy(&server->for_workers);
    pthread_mutex_destroy(&server->lock);
    rgm_free(server);
}
