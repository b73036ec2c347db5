/*
 * A trial's process: it asks for its next workload with the result of the last one in the same
 * request, which may be sent again as often as it takes. A master that is gone is waited for, since
 * a next one takes this process up again. Of several that train a trial together the first one
 * asks, and passes on what it is told.
 */
#include "alive.h"

#include <regimen/comm.h>
#include <regimen/http_client.h>
#include <regimen/trial.h>
#include <regimen/trial_worker.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_PAUSE_MS = 20, LAST_PAUSE_MS = 1000 };

typedef struct process {
    rgm_http_client *client;
    const char *folder, *token;
    int64_t trial;
    double orphan_seconds, silent_seconds; /* silent_seconds 0: it may be silent without end */
    rgm_worker_setup setup;
    const rgm_worker *worker;
    rgm_json *told; /* the answer that they came from */
    rgm_code code;
    rgm_comm *comm;
} process;

static bool is_first(const process *p)
{
    return rgm_comm_rank(p->comm) == 0;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static rgm_status read_arguments(process *p, const char *const *arguments, int64_t count)
{
    for (int64_t i = 0; i + 1 < count; i += 2) {
        if (strcmp(arguments[i], "--master") == 0)
            p->folder = arguments[i + 1];
        else if (strcmp(arguments[i], "--run") == 0)
            p->token = arguments[i + 1];
        else if (strcmp(arguments[i], "--trial") == 0)
            p->trial = strtoll(arguments[i + 1], NULL, 10);
        else
            return RGM_FAIL(RGM_ERR_ARG, "unknown argument '%s'", arguments[i]);
    }
    if (p->folder == NULL || p->token == NULL || p->trial <= 0 || count % 2 != 0)
        return RGM_FAIL(RGM_ERR_ARG, "a trial's process is started by a master, with --master "
                                     "FOLDER --trial ID --run TOKEN");
    return RGM_OK;
}

/* ---- asking until somebody answers ---------------------------------------------------------- */

static void pause_for(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A master that could not, as on a full disk, may later. RGM_STOPPED: there was none for too long.
 */
static rgm_status ask_text(rgm_text *answer, process *p, const char *method, const char *path,
                           const char *body)
{
    double until = rgm_now() + p->orphan_seconds;
    int64_t pause = FIRST_PAUSE_MS;
    bool served;

    for (;;) {
        rgm_response r = {0};
        rgm_status status =
            p->client == NULL ? rgm_http_client_find(&p->client, p->folder) : RGM_OK;

        if (status == RGM_OK)
            status = rgm_http_client_ask(&r, &served, p->client, method, path, body);

        if (status == RGM_OK && !rgm_response_is_for_later(&r)) {
            status = rgm_response_status(&r);
            if (status == RGM_OK)
                status = rgm_text_add(answer, r.body.data, r.body.size);
            rgm_response_clear(&r);
            return status;
        }
        rgm_response_clear(&r);
        if (status == RGM_ERR_NOMEM)
            return status;
        if (status != RGM_OK) { /* the next one may be at work on another host */
            rgm_http_client_close(p->client);
            p->client = NULL;
        }
        if (rgm_now() > until)
            return RGM_STOPPED;
        pause_for(pause);
        pause = pause * 2 < LAST_PAUSE_MS ? pause * 2 : LAST_PAUSE_MS;
    }
}

static rgm_status ask(rgm_json **answer, process *p, const char *method, const char *path,
                      const char *body)
{
    rgm_text text = {0};
    rgm_status status = ask_text(&text, p, method, path, body);

    *answer = NULL;
    if (status == RGM_OK)
        status = rgm_json_parse(answer, text.data, text.size, "answer");
    rgm_text_clear(&text);
    return status;
}

/* ---- what it begins with -------------------------------------------------------------------- */

static int64_t int_of(const rgm_json *json, const char *key)
{
    int64_t value = 0;

    rgm_json_int(&value, rgm_json_find(json, key));
    return value;
}

/* One for each rank; none: the file says which. */
static rgm_status read_device(process *p)
{
    const rgm_json *devices = rgm_json_find(p->told, "devices");
    int64_t count = rgm_json_count(devices), rank = rgm_comm_rank(p->comm);

    if (count <= 0)
        return RGM_OK;
    if (count != rgm_comm_size(p->comm))
        return RGM_FAIL(RGM_ERR_FORMAT, "the master gives %lld devices to %d processes",
                        (long long)count, rgm_comm_size(p->comm));
    p->setup.device = rgm_json_text(rgm_json_at(devices, rank));
    return RGM_OK;
}

static rgm_status read_code(rgm_code *out, const rgm_json *files)
{
    for (int64_t i = 0; i < rgm_json_count(files); i++) {
        const rgm_json *row = rgm_json_at(files, i);
        const char *path = rgm_json_text(rgm_json_find(row, "path"));
        const char *hash = rgm_json_text(rgm_json_find(row, "hash"));

        if (path == NULL || hash == NULL)
            return RGM_FAIL(RGM_ERR_FORMAT, "the master does not say what its code is");
        RGM_TRY(rgm_code_add(out, path, 0, false, hash));
    }
    return RGM_OK;
}

static rgm_status read_setup(process *p)
{
    rgm_worker_setup *s = &p->setup;

    s->comm = p->comm;
    s->trial = p->trial;
    s->experiment = int_of(p->told, "experiment_id");
    s->number = int_of(p->told, "number");
    s->seed = (uint32_t)int_of(p->told, "seed");
    s->threads = int_of(p->told, "threads");
    s->at_batches = int_of(p->told, "at_batches");
    s->experiment_file = rgm_json_text(rgm_json_find(p->told, "experiment_file"));
    s->run_dir = rgm_json_text(rgm_json_find(p->told, "run_dir"));
    s->entrypoint = rgm_json_text(rgm_json_find(p->told, "entrypoint"));
    s->code = &p->code;
    RGM_TRY(read_code(&p->code, rgm_json_find(p->told, "code_files")));
    s->code_dir = rgm_json_text(rgm_json_find(p->told, "code_dir"));
    s->hyperparameters = rgm_json_text(rgm_json_find(p->told, "hyperparameters"));
    s->from = rgm_json_text(rgm_json_find(p->told, "from"));
    s->at = rgm_json_text(rgm_json_find(p->told, "at"));
    rgm_json_number(&p->orphan_seconds, rgm_json_find(p->told, "orphan_seconds"));
    rgm_json_number(&p->silent_seconds, rgm_json_find(p->told, "silent_seconds"));
    if (s->experiment_file == NULL || s->run_dir == NULL || s->hyperparameters == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "the master does not say what the trial is");
    return read_device(p);
}

/* ---- telling -------------------------------------------------------------------------------- */

static rgm_status write_map(rgm_json_writer *w, const char *key, const rgm_named_number *items,
                            int64_t count, bool whole)
{
    RGM_TRY(rgm_json_open_object(w, key, RGM_JSON_SPACED));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(whole ? rgm_json_write_int(w, items[i].name, (int64_t)items[i].value)
                      : rgm_json_write_number(w, items[i].name, items[i].value));
    return rgm_json_close(w);
}

static rgm_status write_completed(rgm_json_writer *w, const rgm_workload *done,
                                  const rgm_worker_result *r, double seconds)
{
    if (r->done != NULL)
        done = r->done;
    RGM_TRY(rgm_json_open_object(w, "completed", RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(w, "kind", rgm_workload_names[done->kind]));
    RGM_TRY(rgm_json_write_int(w, "step", done->step));
    RGM_TRY(rgm_json_write_int(w, "batches", done->batches));
    RGM_TRY(rgm_json_write_int(w, "num_inputs", r->num_inputs));
    RGM_TRY(rgm_json_write_number(w, "seconds", seconds));
    RGM_TRY(write_map(w, "metrics", r->metrics, r->metric_count, false));
    if (done->kind == RGM_CHECKPOINT_MODEL) {
        RGM_TRY(rgm_json_write_text(w, "checkpoint", r->checkpoint != NULL ? r->checkpoint : ""));
        RGM_TRY(write_map(w, "resources", r->resources, r->resource_count, true));
    }
    return rgm_json_close(w);
}

/* Whether this process was told to stop, or another one of the trial. */
static rgm_status ask_who_stops(bool *stops, const process *p)
{
    const rgm_worker *worker = p->worker;
    uint64_t any = worker->is_told_to_stop != NULL && worker->is_told_to_stop(worker->payload);

    *stops = false;
    RGM_TRY(rgm_comm_decide(p->comm, &any, NULL));
    *stops = any != 0;
    return RGM_OK;
}

/* done NULL: nothing was done yet. */
static rgm_status print_report(rgm_text *out, const process *p, bool stops,
                               const rgm_workload *done, const rgm_worker_result *r, double seconds)
{
    rgm_json_writer w = {.out = out};

    out->size = 0;
    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(&w, "run", p->token));
    if (stops)
        RGM_TRY(rgm_json_write_bool(&w, "stops", true));
    if (done != NULL)
        RGM_TRY(write_completed(&w, done, r, seconds));
    return rgm_json_close(&w);
}

/* Whose fault it is. `opening`: it did no workload yet, and what stands in its way is the same at
 * the next try. */
static const char *fault_of(const process *p, rgm_status status, bool opening)
{
    if (rgm_error_is_of_the_machine())
        return "machine";
    if (opening && (rgm_trial_has_lost_checkpoint(status) ||
                    (p->setup.at != NULL && !rgm_path_is_folder(p->setup.at))))
        return "checkpoint";
    if (status == RGM_ERR_CONFIG || status == RGM_ERR_UNSUPPORTED || status == RGM_ERR_VERSION)
        return "hopeless";
    return opening && status != RGM_ERR_IO && status != RGM_ERR_NOMEM && status != RGM_ERR_BUSY &&
                   status != RGM_ERR_NUMERIC
               ? "hopeless"
               : "trial";
}

static rgm_status print_failure(rgm_text *out, const process *p, rgm_status status,
                                const char *fault, bool is_invalid, const char *message)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(&w, "run", p->token));
    RGM_TRY(rgm_json_write_text(&w, "code", rgm_status_name(status)));
    RGM_TRY(rgm_json_write_bool(&w, "invalid", is_invalid));
    RGM_TRY(rgm_json_write_text(&w, "fault", fault));
    RGM_TRY(rgm_json_write_text(&w, "message", message));
    return rgm_json_close(&w);
}

/* The run is lost, and why. `status` is what it is lost by; it is given back. The first process
 * tells the master, and each one those that wait for it. */
static rgm_status tell_failure(process *p, rgm_status status, bool opening)
{
    status = rgm_comm_fail(p->comm, status);
    if (!is_first(p))
        return status;
    bool is_invalid = rgm_trial_is_invalid(status);
    const char *fault = fault_of(p, status, opening);
    rgm_error error;
    rgm_text body = {0};
    rgm_json *answer = NULL;
    char path[64];

    rgm_error_save(&error, status);
    snprintf(path, sizeof path, "/api/v1/trials/%" PRId64 "/failed", p->trial);
    if (print_failure(&body, p, status, fault, is_invalid, error.message) == RGM_OK &&
        ask(&answer, p, "POST", path, body.data) != RGM_OK)
        rgm_error_reset(); /* the master sees it end, with no reason to tell */
    rgm_json_release(answer);
    rgm_text_clear(&body);
    return rgm_error_restore(&error);
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* A workload, and what is told with it: the same for all that train together. */
typedef struct order {
    rgm_status status;
    rgm_workload workload;
    int64_t reach;
    bool ends;
} order;

static rgm_status read_workload(order *out, const rgm_json *answer)
{
    const rgm_json *w = rgm_json_find(answer, "workload");
    const char *kind = rgm_json_text(rgm_json_find(w, "kind"));

    for (int i = 0; kind != NULL && rgm_workload_names[i] != NULL; i++)
        if (strcmp(rgm_workload_names[i], kind) == 0) {
            out->workload = (rgm_workload){.kind = (rgm_workload_kind)i,
                                           .step = int_of(w, "step"),
                                           .batches = int_of(w, "batches")};
            out->reach = int_of(w, "reach");
            rgm_json_bool(&out->ends, rgm_json_find(w, "ends"));
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_FORMAT, "the master gives no workload");
}

/* The next one, to what `report` says of the last: the same for all that train together. */
static rgm_status next_workload(rgm_workload *out, process *p, const rgm_text *report)
{
    order news = {0}; /* an error, or that nobody answers, is news for the others, who would wait */
    rgm_json *answer = NULL;
    char path[64];

    snprintf(path, sizeof path, "/api/v1/trials/%" PRId64 "/workload", p->trial);
    if (is_first(p)) {
        news.status = ask(&answer, p, "POST", path, report->data);
        if (news.status == RGM_OK)
            news.status = read_workload(&news, answer);
        rgm_json_release(answer);
        RGM_TRY(rgm_comm_fail(p->comm, news.status < 0 ? news.status : RGM_OK));
    }
    RGM_TRY(rgm_comm_broadcast(p->comm, &news, sizeof news, 0));
    *out = news.workload;
    if (news.status == RGM_OK && p->worker->see != NULL)
        p->worker->see(out, news.reach, news.ends, p->worker->payload);
    return news.status;
}

static rgm_status do_workloads(process *p, const rgm_worker *worker)
{
    rgm_status status = RGM_OK;
    rgm_worker_result result = {0};
    rgm_text body = {0};
    rgm_workload w = {0};
    double seconds = 0;
    bool stops;

    for (const rgm_workload *done = NULL;; done = &w) {
        status = ask_who_stops(&stops, p);
        if (status != RGM_OK) {
            status = tell_failure(p, status, false);
            break;
        }
        RGM_GO(print_report(&body, p, stops, done, &result, seconds));
        RGM_GO(next_workload(&w, p, &body));
        if (w.kind == RGM_TERMINATE)
            break;
        seconds = rgm_now();
        result = (rgm_worker_result){0};
        status = worker->work(&result, &w, worker->payload);
        seconds = rgm_now() - seconds;
        if (status != RGM_OK) {
            status = tell_failure(p, status, false);
            break;
        }
    }
done:
    rgm_text_clear(&body);
    return status;
}

/* The master hears of it while it opens and works; not when it ends, which takes no time. */
static rgm_status open_and_work(process *p, const rgm_worker *worker)
{
    rgmi_alive *alive = NULL;
    rgm_status status;
    bool is_open;

    if (p->silent_seconds > 0 && is_first(p))
        RGM_TRY(rgmi_alive_start(
            &alive, &(rgmi_life){p->folder, p->token, p->trial, p->silent_seconds, worker}));
    status = worker->open(&p->setup, worker->payload);
    is_open = status == RGM_OK;
    if (is_open)
        status = rgm_comm_barrier(p->comm); /* what ails another is of its opening, too */
    status = status == RGM_OK ? do_workloads(p, worker) : tell_failure(p, status, true);
    rgmi_alive_stop(alive);
    if (is_open)
        worker->close(worker->payload);
    return status;
}

static rgm_status ask_for_setup(rgm_text *out, process *p)
{
    char path[128];

    if (rgm_http_client_find(&p->client, p->folder) != RGM_OK) { /* ask() tries it again */
        rgm_log_write(RGM_LOG_WARNING, "%s", rgm_error_message());
        rgm_error_reset();
    }
    snprintf(path, sizeof path, "/api/v1/trials/%" PRId64 "/run?run=%.64s", p->trial, p->token);
    return ask_text(out, p, "GET", path, NULL);
}

/* The first process asks, and all read what it is told. */
static rgm_status share_setup(process *p)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_comm_blocks blocks = {0};

    if (is_first(p))
        RGM_GO(ask_for_setup(&text, p));
    RGM_GO(rgm_comm_gather(&blocks, p->comm, text.data, (size_t)text.size, RGM_COMM_ALL));
    RGM_GO(rgm_json_parse(&p->told, blocks.memory, (int64_t)blocks.begin[1], "answer"));
done:
    rgm_comm_blocks_clear(&blocks);
    rgm_text_clear(&text);
    return rgm_comm_fail(p->comm, status);
}

/* Without a launcher the process is alone. Where its ranks do not come together each of them tells
 * the master, of whom it hears one. */
static rgm_status open_comm(process *p)
{
    rgm_status status = rgm_comm_open(&p->comm);

    if (status == RGM_OK)
        return RGM_OK;
    p->comm = rgm_comm_self();
    return tell_failure(p, status, true);
}

rgm_status rgm_worker_serve(const char *const *arguments, int64_t count, const rgm_worker *worker)
{
    rgm_status status = RGM_OK;
    /* For the first answer: it has done nothing that would be lost. */
    process p = {.orphan_seconds = 10, .worker = worker, .comm = rgm_comm_self()};

    RGM_GO(read_arguments(&p, arguments, count));
    RGM_GO(open_comm(&p));
    RGM_GO(share_setup(&p));
    RGM_GO(read_setup(&p));
    status = open_and_work(&p, worker);
done:
    rgm_code_clear(&p.code);
    rgm_json_release(p.told);
    rgm_http_client_close(p.client);
    if (!is_first(&p)) /* the first one says how it ended */
        status = RGM_OK;
    rgm_comm_close(p.comm);
    return status;
}
