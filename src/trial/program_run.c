/*
 * A program as a trial. Its order is a workload of a sequencer: train, validate, save, stop. What
 * it says either is that, or is refused with what is expected. A line that ends the workload is
 * answered with the next order, when that is known: until then it waits.
 */
#include "program_parts.h"

#include <regimen/search_exit.h>
#include <regimen/trial.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* How long a program that was told to stop may take, and then one that was sent SIGTERM. */
#define STOP_S 60.0
#define TERM_S 10.0

/* A metric of the step under way: the sum of its reports. */
typedef struct sum {
    char *name;
    double value;
    int64_t count;
} sum;

struct rgm_program {
    rgm_search_file *file;
    rgmi_program_folder folder;
    rgmi_program_process process;
    rgmi_program_socket socket;
    rgm_program_order order;
    rgm_workload instead; /* of the result */
    int64_t at;           /* as far as the program says that it is          */
    int64_t ended;        /* where the last step ended                      */
    int64_t saved;        /* where the last checkpoint was made             */
    int waiting;          /* connection that waits for the next order; -1   */
    rgmi_says held;       /* what it said beyond the workload that is done  */
    bool holds;
    sum *sums; /* [sum_count] */
    int64_t sum_count, sum_capacity;
    rgm_named_number *metrics; /* of the result */
    int64_t metric_capacity;
    char refused[RGM_MESSAGE_ROOM]; /* the last message that was; "": none */
    bool lacks_metric;              /* ... since the searcher's metric is not there */
    char invalid[RGM_MESSAGE_ROOM]; /* why its hyperparameters cannot be */
    atomic_bool heard;
    bool (*is_stopped)(void *payload); /* of the setup */
    void *payload;
};

/* ---- answers -------------------------------------------------------------------------------- */

static rgm_status print_order(rgm_text *out, const rgm_program *p)
{
    static const char *const names[] = {[RGM_RUN_STEP] = "train",
                                        [RGM_COMPUTE_VALIDATION_METRICS] = "validate",
                                        [RGM_CHECKPOINT_MODEL] = "save",
                                        [RGM_TERMINATE] = "stop"};
    rgm_workload_kind kind = p->order.workload.kind;
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(&w, "do", names[kind]));
    RGM_TRY(rgm_json_write_int(&w, "step", p->at));
    if (kind == RGM_RUN_STEP)
        RGM_TRY(rgm_json_write_int(&w, "to", p->order.reach));
    if (kind == RGM_CHECKPOINT_MODEL)
        RGM_TRY(rgm_json_write_text(&w, "folder", p->folder.save));
    RGM_TRY(rgm_json_write_bool(&w, "stop", kind == RGM_TERMINATE || p->order.ends));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_add(out, "\n", 1);
}

/* With what is to be done, or with the error that was set. */
static rgm_status answer(rgm_program *p, int connection, rgm_status said)
{
    rgm_status status = RGM_OK;
    rgm_json_writer w = {.depth = 0};
    rgm_text text = {0};

    w.out = &text;
    if (said == RGM_OK) {
        RGM_GO(print_order(&text, p));
    } else {
        snprintf(p->refused, sizeof p->refused, "%s", rgm_error_message());
        RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
        RGM_GO(rgm_json_write_text(&w, "error", p->refused));
        RGM_GO(rgm_json_close(&w));
        RGM_GO(rgm_text_add(&text, "\n", 1));
        rgm_log_write(RGM_LOG_WARNING, "a message of the program is refused: %s", p->refused);
        rgm_error_reset();
    }
    rgmi_program_socket_answer(&p->socket, connection, &text);
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status answer_waiting(rgm_program *p)
{
    int connection = p->waiting;

    p->waiting = -1;
    return connection >= 0 ? answer(p, connection, RGM_OK) : RGM_OK;
}

/* ---- metrics -------------------------------------------------------------------------------- */

static void clear_sums(rgm_program *p)
{
    for (int64_t i = 0; i < p->sum_count; i++)
        rgm_free(p->sums[i].name);
    p->sum_count = 0;
}

static rgm_status add_sum(rgm_program *p, const char *name, double value)
{
    int64_t i = 0;

    while (i < p->sum_count && strcmp(p->sums[i].name, name) != 0)
        i++;
    if (i == p->sum_count) {
        RGM_TRY(RGM_RESERVE(p->sums, p->sum_capacity, p->sum_count + 1));
        p->sums[i] = (sum){0};
        RGM_TRY(rgm_strdup(&p->sums[i].name, name));
        p->sum_count++;
    }
    p->sums[i].value += value;
    p->sums[i].count++;
    return RGM_OK;
}

static rgm_status add_report(rgm_program *p, const rgmi_says *s)
{
    rgm_json_entry entry = {0};
    double value;

    while (s->metrics != NULL && rgm_json_next(&entry, s->metrics))
        if (rgm_json_number(&value, entry.value))
            RGM_TRY(add_sum(p, entry.key, value));
    return rgmi_program_folder_log(&p->folder, "train", s->step, s->metrics);
}

/* Means over the reports of the step, or the numbers of a validation, into the result. */
static rgm_status give_metrics(rgm_worker_result *out, rgm_program *p)
{
    RGM_TRY(RGM_RESERVE(p->metrics, p->metric_capacity, p->sum_count));
    for (int64_t i = 0; i < p->sum_count; i++)
        p->metrics[i] =
            (rgm_named_number){p->sums[i].name, p->sums[i].value / (double)p->sums[i].count};
    out->metrics = p->metrics;
    out->metric_count = p->sum_count;
    return RGM_OK;
}

/* The searcher waits for its metrics. */
static rgm_status check_objectives(rgm_program *p, const rgmi_says *s)
{
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, p->file);
    rgm_status status = RGM_OK;
    rgm_text names = {0};

    for (int64_t i = 0; i < count && status == RGM_OK; i++) {
        const char *name = objectives[i].metric;
        rgm_json_entry entry = {0};

        if (rgm_json_find(s->metrics, name) != NULL ||
            (strncmp(name, "valid.", 6) == 0 && rgm_json_find(s->metrics, name + 6) != NULL))
            continue;
        while (rgm_json_next(&entry, s->metrics))
            RGM_GO(rgm_text_printf(&names, " %s", entry.key));
        p->lacks_metric = true;
        status = RGM_FAIL(RGM_ERR_CONFIG,
                          "searcher.metric: the validation of step %lld has no '%s'; it has%s",
                          (long long)s->step, name, names.size > 0 ? names.data : " nothing");
    }
done:
    rgm_text_clear(&names);
    return status;
}

/* ---- what it says, where the trial stands --------------------------------------------------- */

/* What one message came to. */
typedef enum outcome {
    REFUSED,   /* with the error that was set */
    TAKEN,     /* answered with the order as it is */
    STEP_ENDS, /* the step that was to be trained has ended at `at` */
    IS_DONE,   /* the workload is done */
    IS_SAVED,  /* a checkpoint that nobody asked for is to be made of where the trial stands */
    IS_INVALID
} outcome;

static const char *expected(const rgm_program *p, char text[160])
{
    const rgm_workload *w = &p->order.workload;

    if (w->kind == RGM_RUN_STEP)
        snprintf(text, 160, "the trial stands at step %lld and is told to train to %lld",
                 (long long)p->ended, (long long)p->order.reach);
    else if (w->kind == RGM_COMPUTE_VALIDATION_METRICS)
        snprintf(text, 160, "the validation of step %lld is waited for", (long long)w->batches);
    else if (w->kind == RGM_CHECKPOINT_MODEL)
        snprintf(text, 160, "a checkpoint of step %lld is waited for%s", (long long)w->batches,
                 p->order.ends ? ", behind which the program ends" : "");
    else
        snprintf(text, 160, "the trial is told to stop, at step %lld", (long long)p->ended);
    return text;
}

static rgm_status misplaced(const rgm_program *p, const rgmi_says *s, const char *what)
{
    char text[160];

    return RGM_FAIL(RGM_ERR_CONFIG, "%s of step %lld, but %s", what, (long long)s->step,
                    expected(p, text));
}

/* Whether a message may be of a step that is being trained. */
static bool is_ahead(const rgm_program *p, int64_t step)
{
    return p->order.workload.kind == RGM_RUN_STEP && step > p->ended && step >= p->at &&
           step <= p->order.reach;
}

static outcome take_report(rgm_status *status, rgm_program *p, const rgmi_says *s)
{
    if (!is_ahead(p, s->step)) {
        *status = misplaced(p, s, "a report");
        return REFUSED;
    }
    *status = add_report(p, s);
    p->at = s->step;
    return p->at >= p->order.workload.batches ? STEP_ENDS : TAKEN;
}

/* Of a step that has ended. One that nobody asked for is kept in the run folder alone. */
static outcome take_validation(rgm_status *status, rgm_program *p, const rgmi_says *s)
{
    if (is_ahead(p, s->step)) {
        *status = check_objectives(p, s);
        if (*status != RGM_OK)
            return REFUSED;
        p->at = s->step;
        p->holds = true;
        return STEP_ENDS;
    }
    if (s->step != p->ended || p->at != p->ended) {
        *status = misplaced(p, s, "a validation");
        return REFUSED;
    }
    *status = check_objectives(p, s);
    if (*status != RGM_OK)
        return REFUSED;
    *status = rgmi_program_folder_log(&p->folder, "valid", s->step, s->metrics);
    return p->order.workload.kind == RGM_COMPUTE_VALIDATION_METRICS ? IS_DONE : TAKEN;
}

static outcome take_checkpoint(rgm_status *status, rgm_program *p, const rgmi_says *s)
{
    if (is_ahead(p, s->step)) {
        p->at = s->step;
        p->holds = true;
        return STEP_ENDS;
    }
    if (s->step != p->ended || p->at != p->ended || s->step == 0 ||
        (p->order.workload.kind == RGM_TERMINATE && s->step != p->saved)) {
        *status = misplaced(p, s, "a checkpoint");
        return REFUSED;
    }
    if (p->order.workload.kind == RGM_TERMINATE)
        return TAKEN;
    *status = rgmi_program_folder_save(&p->folder, s->step);
    if (*status == RGM_ERR_NOT_FOUND || *status == RGM_ERR_FORMAT)
        return REFUSED;
    if (p->order.workload.kind == RGM_CHECKPOINT_MODEL)
        return IS_DONE;
    return s->step == p->saved ? TAKEN : IS_SAVED;
}

static outcome take(rgm_status *status, rgm_program *p, const rgmi_says *s)
{
    switch (s->kind) {
    case RGMI_SAYS_REPORT:
        return take_report(status, p, s);
    case RGMI_SAYS_VALIDATION:
        return take_validation(status, p, s);
    case RGMI_SAYS_CHECKPOINT:
        return take_checkpoint(status, p, s);
    case RGMI_SAYS_INVALID:
        snprintf(p->invalid, sizeof p->invalid, "%s", s->reason);
        return IS_INVALID;
    default:
        return TAKEN;
    }
}

/* ---- results -------------------------------------------------------------------------------- */

static rgm_status give_step(rgm_worker_result *out, rgm_program *p)
{
    p->instead = p->order.workload;
    p->instead.batches = p->ended = p->at;
    out->done = &p->instead;
    return give_metrics(out, p);
}

static rgm_status give_validation(rgm_worker_result *out, rgm_program *p, const rgmi_says *s)
{
    rgm_json_entry entry = {0};
    double value;

    clear_sums(p);
    while (rgm_json_next(&entry, s->metrics))
        if (rgm_json_number(&value, entry.value))
            RGM_TRY(add_sum(p, entry.key, value));
    return give_metrics(out, p);
}

static void give_checkpoint(rgm_worker_result *out, rgm_program *p)
{
    const rgm_workload *w = &p->order.workload;

    p->saved = p->ended;
    out->checkpoint = p->folder.checkpoint;
    out->resources = p->folder.resources;
    out->resource_count = p->folder.resource_count;
    if (w->kind == RGM_CHECKPOINT_MODEL)
        return;
    p->instead = (rgm_workload){.kind = RGM_CHECKPOINT_MODEL,
                                .step = w->step - (w->kind == RGM_RUN_STEP),
                                .batches = p->ended};
    out->done = &p->instead;
}

static rgm_status give(rgm_worker_result *out, rgm_program *p, outcome what, const rgmi_says *s)
{
    if (what == IS_INVALID)
        return rgm_invalid_hyperparameters("%s", p->invalid);
    if (what == STEP_ENDS)
        return give_step(out, p);
    if (s->kind == RGMI_SAYS_VALIDATION)
        return give_validation(out, p, s);
    give_checkpoint(out, p);
    return RGM_OK;
}

/* ---- a workload ----------------------------------------------------------------------------- */

static void hold(rgm_program *p, rgmi_says *s)
{
    rgmi_says_clear(&p->held);
    p->held = *s;
    *s = (rgmi_says){0};
}

/* A line of connection `from`; *done: the workload is, and `out` has what it came to. */
static rgm_status take_line(rgm_worker_result *out, bool *done, rgm_program *p, int from,
                            const char *line)
{
    rgm_status status = RGM_OK;
    outcome what = REFUSED;
    rgmi_says s;

    *done = false;
    atomic_store(&p->heard, true);
    status = rgmi_says_read(&s, line);
    if (status == RGM_OK)
        what = take(&status, p, &s);
    if (what == REFUSED && status != RGM_ERR_NOMEM) {
        status = answer(p, from, status);
        goto done;
    }
    RGM_GO(status);
    p->refused[0] = '\0';
    p->lacks_metric = false;
    if (what == TAKEN) {
        RGM_GO(answer(p, from, RGM_OK));
        goto done;
    }
    *done = true;
    if (what != IS_INVALID)
        p->waiting = from;
    else
        RGM_GO(answer(p, from, RGM_OK));
    RGM_GO(give(out, p, what, &s));
    if (p->holds)
        hold(p, &s);
done:
    rgmi_says_clear(&s);
    return status;
}

/* What it said when a step ended, of where it ended: now that another workload is due. */
static rgm_status take_held(rgm_worker_result *out, bool *done, rgm_program *p)
{
    rgm_status status = RGM_OK;
    outcome what;
    rgmi_says s = p->held;

    *done = false;
    if (!p->holds)
        return RGM_OK;
    p->holds = false;
    p->held = (rgmi_says){0};
    what = take(&status, p, &s);
    if (what == REFUSED && status != RGM_ERR_NOMEM) {
        int from = p->waiting;

        p->waiting = -1;
        status = answer(p, from, status);
    } else if (status == RGM_OK && what != TAKEN) {
        *done = true;
        status = give(out, p, what, &s);
    }
    rgmi_says_clear(&s);
    return status;
}

/* It has ended before it was told to. */
static rgm_status fail_ended(rgm_program *p)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char what[160];

    RGM_GO(rgm_text_printf(&text, "the program ended before it was told to: %s, and it ",
                           expected(p, what)));
    if (p->refused[0] != '\0')
        RGM_GO(rgm_text_printf(&text, "had its last message refused (%.400s) and ", p->refused));
    RGM_GO(rgmi_program_print_end(&text, &p->process));
    if (WIFEXITED(p->process.status) && rgm_exit_is_final(WEXITSTATUS(p->process.status)))
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s", text.data)); /* so would another */
    status = p->lacks_metric ? RGM_FAIL(RGM_ERR_CONFIG, "%s", text.data)
                             : RGM_FAIL(RGM_ERR_DATA, "%s", text.data);
done:
    rgm_text_clear(&text);
    return status;
}

/* What it has said before it ended: connections are taken one at a time, and read then. */
static rgm_status read_rest(rgm_program *p)
{
    for (int i = 0; i <= RGMI_CONNECTIONS; i++)
        RGM_TRY(rgmi_program_socket_wait(&p->socket, &p->process, 0));
    return RGM_OK;
}

/* Until something happens. A signal that comes just before is seen a second later. */
static rgm_status wait_for_more(rgm_program *p)
{
    if (p->is_stopped == NULL)
        return rgmi_program_socket_wait(&p->socket, &p->process, -1);
    if (p->is_stopped(p->payload))
        return RGM_FAIL(RGM_ERR_BUSY, "stopped while the program was waited for, at step %lld",
                        (long long)p->order.workload.step);
    return rgmi_program_socket_wait(&p->socket, &p->process, 1);
}

rgm_status rgm_program_do(rgm_worker_result *out, rgm_program *p, const rgm_program_order *order)
{
    bool done = false, has_ended = false;
    int from;

    *out = (rgm_worker_result){0};
    p->order = *order;
    if (order->workload.kind == RGM_RUN_STEP && order->reach < order->workload.batches)
        p->order.reach = order->workload.batches;
    clear_sums(p);
    RGM_TRY(take_held(out, &done, p));
    if (!done)
        RGM_TRY(answer_waiting(p));
    while (!done) {
        char *line = rgmi_program_socket_line(&p->socket, &from);

        if (line != NULL)
            RGM_TRY(take_line(out, &done, p, from, line));
        else if (has_ended) /* and all that it said was read behind that */
            return fail_ended(p);
        else {
            has_ended = rgmi_program_has_ended(&p->process);
            RGM_TRY(has_ended ? read_rest(p) : wait_for_more(p));
        }
    }
    return RGM_OK;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static rgm_status open_program(rgm_program *p, const rgm_program_setup *setup)
{
    p->file = rgm_search_file_retain(setup->file);
    p->waiting = p->socket.fd = p->process.pidfd = p->process.error_pipe = -1;
    p->at = p->ended = p->saved = setup->at_batches;
    p->is_stopped = setup->is_stopped;
    p->payload = setup->payload;
    for (int i = 0; i < RGMI_CONNECTIONS; i++)
        p->socket.connections[i].fd = -1;
    RGM_TRY(rgmi_program_folder_open(&p->folder, setup));
    RGM_TRY(rgmi_program_socket_open(&p->socket, setup->run_dir));
    return rgmi_program_start(&p->process, setup, &p->folder, p->socket.path);
}

static rgm_status check_setup(const rgm_program_setup *setup)
{
    if (setup->file == NULL || rgm_search_file_settings(setup->file)->command.count == 0 ||
        setup->values == NULL || setup->run_dir == NULL || setup->at_batches < 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "a program's trial needs a file with a command, a point of its "
                        "space and a run folder");
    return RGM_OK;
}

rgm_status rgm_program_open(rgm_program **out, const rgm_program_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_program *p = NULL;

    *out = NULL;
    RGM_GO(check_setup(setup));
    RGM_GO(RGM_NEW(p, 1));
    RGM_GO(open_program(p, setup));
    *out = p;
    p = NULL;
done:
    if (p != NULL) {
        rgm_error error;

        rgm_error_save(&error, status);
        rgm_program_close(p, false);
        status = rgm_error_restore(&error);
    }
    return status;
}

/* Until it has ended, or for so long; whatever it asks is answered with `stop`. */
static rgm_status serve_until_ended(rgm_program *p, double seconds)
{
    double until = rgm_now() + seconds;
    rgm_worker_result nothing = {0};
    bool done;
    int from;

    while (!rgmi_program_has_ended(&p->process) && rgm_now() < until) {
        char *line = rgmi_program_socket_line(&p->socket, &from);

        if (line != NULL)
            RGM_TRY(take_line(&nothing, &done, p, from, line));
        else
            RGM_TRY(rgmi_program_socket_wait(&p->socket, &p->process, fmin(until - rgm_now(), 1)));
    }
    return RGM_OK;
}

static rgm_status let_end(rgm_program *p, bool is_told)
{
    if (is_told) {
        p->order = (rgm_program_order){.workload = {.kind = RGM_TERMINATE}, .ends = true};
        RGM_TRY(answer_waiting(p));
        RGM_TRY(serve_until_ended(p, STOP_S));
    }
    if (is_told && !rgmi_program_has_ended(&p->process))
        rgm_log_write(RGM_LOG_WARNING,
                      "the program was told to stop %.0f s ago and has not ended: it is ended",
                      STOP_S);
    rgmi_program_signal(&p->process, SIGTERM);
    RGM_TRY(serve_until_ended(p, TERM_S));
    if (is_told && rgmi_program_has_ended(&p->process) && p->process.status != 0) {
        rgm_text text = {0};
        rgm_status status = rgmi_program_print_end(&text, &p->process);

        if (status == RGM_OK)
            rgm_log_write(RGM_LOG_WARNING, "the program, told to stop, %s", text.data);
        rgm_text_clear(&text);
        RGM_TRY(status);
    }
    return RGM_OK;
}

void rgm_program_close(rgm_program *p, bool is_told)
{
    if (p == NULL)
        return;
    if (p->process.pidfd >= 0 && let_end(p, is_told) != RGM_OK)
        rgm_error_reset(); /* it is killed, then */
    rgmi_program_process_clear(&p->process);
    rgmi_program_socket_close(&p->socket);
    rgmi_program_folder_close(&p->folder);
    rgmi_says_clear(&p->held);
    clear_sums(p);
    rgm_free(p->sums);
    rgm_free(p->metrics);
    rgm_search_file_release(p->file);
    rgm_free(p);
}

bool rgm_program_is_alive(double *used, rgm_program *p)
{
    *used = rgmi_program_used(&p->process);
    return atomic_exchange(&p->heard, false);
}
