/*
 * Asynchronous runs: the server's side of a run, workers that it starts on its host, and a process
 * that is a worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <regimen/async.h>

#include "verb_run.h"

#define PATIENCE    60.0 /* seconds in which a server must be found              */
#define LOOK_S      0.1  /* between two looks at workers that were started        */
#define SHORT_LIFE  30.0 /* one that dies sooner, so often in a row, is not started again */
#define MOST_DEATHS 5
#define ENOUGH_S    2.0  /* for workers that know that the run is over */
#define LAST_S      10.0 /* for workers to end when the run has */

/* ---- what server and workers have alike ------------------------------------------------------ */

/* Where a run is kept, and how it is told and stopped, may differ; what a batch's gradient is made
 * of may not. */
static bool concerns_workers(const char *key)
{
    static const char *const begin[] = {"data.",  "task.", "task",
                                        "model.", "tasks", "trainer.fold"};
    static const char *const all[] = {"runtime.seed", "runtime.mixed_precision",
                                      "runtime.loss_scale", "trainer.accumulation_steps",
                                      "trainer.gradient_surgery"};

    if (strcmp(key, "data.path") == 0)
        return false;
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(key, begin[i], strlen(begin[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(key, all[i]) == 0)
            return true;
    return false;
}

/* Where the data lie may differ, what lies there may not: gradients of other files would move the
 * weights without a word. */
static rgm_status add_files(rgm_text *out, const rgm_run_options *options)
{
    uint64_t files;

    RGM_TRY(rgm_config_hash_files(&files, options->config, "data"));
    return rgm_text_printf(out, "files of data: %016" PRIx64 "\n", files);
}

static rgm_status about(rgm_text *out, const rgm_experiment *experiment,
                        const rgm_run_options *options)
{
    const rgm_experiment_value *values;
    int64_t count = rgm_experiment_values(&values, experiment);

    for (int64_t i = 0; i < count; i++) {
        if (values[i].value == NULL || !concerns_workers(values[i].key))
            continue;
        RGM_TRY(rgm_text_printf(out, "%s: ", values[i].key));
        RGM_TRY(rgm_yaml_print_flow(out, values[i].value, false));
        RGM_TRY(rgm_text_printf(out, "\n"));
    }
    return add_files(out, options);
}

/* ---- workers of this host ----------------------------------------------------------------------
 */

typedef struct hand {
    atomic_int pid;   /* 0: it is not started, or has ended */
    atomic_bool over; /* it is not started again            */
    double since;     /* when it was started                */
    int64_t short_lives;
} hand;

struct async_run {
    rgm_async_server *server;
    hand *hands; /* [count] */
    int64_t count;
    char **argv; /* of each; the texts are borrowed but for its last */
    char threads[64];
    pthread_t watch;
    bool watches;
    atomic_bool ends;
};

static void take_a_rest(void)
{
    const struct timespec time = {0, (long)(LOOK_S * 1e9)};

    nanosleep(&time, NULL);
}

static bool start(hand *h, const async_run *run)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int failed;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (failed == 0)
        failed = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, run->argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    h->since = rgm_now();
    if (failed == 0) {
        atomic_store(&h->pid, pid);
        return true;
    }
    say("worker", "cannot be started: %s", strerror(failed));
    atomic_store(&h->over, true);
    return false;
}

/* One of them has ended: whether by itself, and whether another is started in its place. */
static void ended(hand *h, int64_t number, int status, async_run *run)
{
    pid_t pid = atomic_exchange(&h->pid, 0);
    bool again;

    rgm_async_server_forget(run->server, pid);
    if (atomic_load(&run->ends) || !WIFSIGNALED(status)) {
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

        if (code == EXIT_FAILED || code == EXIT_USAGE)
            say("worker", "%lld (process %lld) has failed with status %d", (long long)number,
                (long long)pid, code);
        atomic_store(&h->over, true);
        return;
    }
    h->short_lives = rgm_now() - h->since < SHORT_LIFE ? h->short_lives + 1 : 0;
    again = h->short_lives < MOST_DEATHS;
    say("worker", "%lld (process %lld) was ended by signal %d; %s", (long long)number,
        (long long)pid, WTERMSIG(status),
        again ? "it is started again" : "it is not started again: it keeps dying");
    if (!again)
        atomic_store(&h->over, true);
    else
        (void)start(h, run);
}

static bool are_over(const async_run *run)
{
    for (int64_t i = 0; i < run->count; i++)
        if (!atomic_load(&run->hands[i].over))
            return false;
    return true;
}

static void *watch(void *payload)
{
    async_run *run = payload;

    while (!are_over(run)) {
        for (int64_t i = 0; i < run->count; i++) {
            hand *h = &run->hands[i];
            pid_t pid = atomic_load(&h->pid);
            int status;

            if (pid > 0 && waitpid(pid, &status, WNOHANG) == pid)
                ended(h, i + 1, status, run);
        }
        take_a_rest();
    }
    if (!atomic_load(&run->ends))
        rgm_async_server_give_up(run->server, "the workers of this host have ended");
    return NULL;
}

static rgm_status make_arguments(async_run *run, const run_request *request, int64_t threads)
{
    int64_t most = 9 + 2 * (request->over->count + request->sets->count), at = 0;

    snprintf(run->threads, sizeof run->threads, "runtime.threads=%lld", (long long)threads);
    RGM_TRY(RGM_NEW(run->argv, most + 1));
    run->argv[at++] = (char *)(uintptr_t) "regimen";
    run->argv[at++] = (char *)(uintptr_t) "run";
    run->argv[at++] = (char *)(uintptr_t)request->name;
    for (int64_t i = 0; i < request->over->count; i++) {
        run->argv[at++] = (char *)(uintptr_t) "--config";
        run->argv[at++] = (char *)(uintptr_t)request->over->items[i];
    }
    for (int64_t i = 0; i < request->sets->count; i++) {
        run->argv[at++] = (char *)(uintptr_t) "--set";
        run->argv[at++] = (char *)(uintptr_t)request->sets->items[i];
    }
    run->argv[at++] = (char *)(uintptr_t) "--set";
    run->argv[at++] = run->threads;
    run->argv[at++] = (char *)(uintptr_t) "--join";
    run->argv[at++] = (char *)(uintptr_t)request->run_dir;
    run->argv[at++] = (char *)(uintptr_t) "-q"; /* errors alone */
    return RGM_OK;
}

static rgm_status start_workers(async_run *run, const rgm_run_options *options,
                                const run_request *request)
{
    int64_t count = options->runtime.workers, threads = rgm_processors() / (count > 0 ? count : 1);

    if (count == 0)
        return RGM_OK;
    if (options->runtime.threads > 0)
        threads = options->runtime.threads;
    RGM_TRY(make_arguments(run, request, threads > 0 ? threads : 1));
    RGM_TRY(RGM_NEW(run->hands, count));
    run->count = count;
    for (int64_t i = 0; i < count; i++)
        (void)start(&run->hands[i], run);
    if (rgm_thread_start(&run->watch, watch, run) != 0)
        return RGM_FAIL(RGM_ERR_IO, "no thread to watch workers");
    run->watches = true;
    return RGM_OK;
}

/* They know that the run is over; who does not end in time is ended. */
static void end_workers(async_run *run)
{
    double until = rgm_now() + ENOUGH_S;

    atomic_store(&run->ends, true);
    for (int signal_sent = 0; run->watches && !are_over(run); take_a_rest())
        if (rgm_now() > until) {
            for (int64_t i = 0; i < run->count; i++)
                if (atomic_load(&run->hands[i].pid) > 0)
                    (void)kill(atomic_load(&run->hands[i].pid),
                               signal_sent > 0 ? SIGKILL : SIGTERM);
            signal_sent++;
            until = rgm_now() + LAST_S;
        }
    if (run->watches)
        pthread_join(run->watch, NULL);
}

/* ---- the server --------------------------------------------------------------------------------
 */

rgm_status async_open(async_run **out, rgm_run_options *options, const run_request *request)
{
    const rgm_runtime_options *runtime = &options->runtime;
    const rgm_async_options how = {.staleness = runtime->staleness,
                                   .listen = runtime->listen,
                                   .timeout = runtime->worker_timeout,
                                   .expected = request->beside,
                                   .folder = request->run_dir};
    rgm_status status;

    *out = NULL;
    if (runtime->distribution != RGM_ASYNCHRONOUS || !trains(request->mode))
        return RGM_OK;
    RGM_TRY(RGM_NEW(*out, 1));
    status = rgm_async_server_open(&(*out)->server, &how);
    if (status == RGM_ERR_ARG || status == RGM_ERR_BUSY)
        status = RGM_FAIL(RGM_ERR_CONFIG, "runtime.listen: %s", rgm_error_message());
    if (status == RGM_OK)
        options->trainer_hooks = rgm_async_server_hooks((*out)->server);
    return status;
}

rgm_status async_begin(async_run *run, const rgm_open_run *open, const rgm_run_options *options,
                       const rgm_experiment *experiment, const run_request *request)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = rgm_run_trainer(open);
    rgm_text text = {0};

    if (run == NULL)
        return RGM_OK;
    RGM_GO(about(&text, experiment, options));
    RGM_GO(rgm_async_server_admit(run->server, trainer, text.data));
    say("workers", "%s come by regimen run FILE --join %s",
        options->runtime.workers > 0 ? "others" : "they", request->run_dir);
    if (rgm_trainer_total_updates(trainer) == 0 ||
        rgm_trainer_global_step(trainer) < rgm_trainer_total_updates(trainer))
        RGM_GO(start_workers(run, options, request));
done:
    rgm_text_clear(&text);
    return status;
}

/* Says what they did; keeps this thread's error. */
void async_close(async_run *run, rgm_status outcome)
{
    rgm_async_report did;
    rgm_text text = {0};
    rgm_error error = {0};

    if (run == NULL)
        return;
    if (outcome < 0)
        rgm_error_save(&error, outcome);
    atomic_store(&run->ends, true);
    if (run->server != NULL) {
        rgm_async_server_report(&did, run->server);
        if (rgm_async_describe(&text, &did) == RGM_OK && did.updates > 0)
            say("workers", "%s", text.data);
        rgm_async_server_stop(run->server, outcome);
    }
    end_workers(run);
    rgm_async_server_close(run->server);
    rgm_text_clear(&text);
    rgm_free(run->hands);
    rgm_free(run->argv);
    rgm_free(run);
    if (outcome < 0)
        (void)rgm_error_restore(&error);
}

/* ---- a worker ----------------------------------------------------------------------------------
 */

/* Only the training data, nothing that is validated, written or exported. */
static void be_a_worker(rgm_run_options *options, const rgm_async_worker *worker)
{
    options->run_dir = NULL;
    options->mode = RGM_RUN_TRAIN;
    options->exporter_count = 0;
    options->train_action_count = options->eval_action_count = 0;
    options->hparam_count = 0;
    options->no_data[RGM_VALID] = options->no_data[RGM_TEST] = true;
    options->trainer.checkpoint = (rgm_trainer_checkpoints){.keep = 1};
    options->trainer.early_stopping = (rgm_trainer_stopping){.patience = 0};
    options->trainer.reduce_on_plateau.patience = 0;
    options->trainer.restore_best_weights = RGM_RESTORE_FALSE;
    options->trainer.initialize = (rgm_trainer_initialize){.checkpoint = NULL};
    options->trainer.exports.every_steps = 0;
    options->trainer_hooks = rgm_async_worker_hooks(worker);
}

/* *comes: it has asked the server to be let in, whose log has the rest. */
static rgm_status work(bool *comes, rgm_async_worker *worker, rgm_experiment *experiment)
{
    const char *folder = rgm_async_worker_folder(worker);
    rgm_status status = RGM_OK;
    rgm_run_options options;
    rgm_open_run *run = NULL;
    rgm_text text = {0};

    RGM_GO(rgm_experiment_prepare(&options, experiment, folder[0] != '\0' ? folder : NULL));
    if (options.runtime.distribution != RGM_ASYNCHRONOUS)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "--join goes with runtime.distribution: asynchronous"));
    be_a_worker(&options, worker);
    RGM_GO(rgm_experiment_open(&run, experiment, &options));
    RGM_GO(about(&text, experiment, &options));
    *comes = true;
    status = rgm_async_worker_run(worker, rgm_run_trainer(run), text.data);
done:
    rgm_run_close(run);
    rgm_text_clear(&text);
    return status;
}

/* Nobody else knows why, not even of a process that a launcher has started. */
static int cannot_begin(rgm_status status, const run_request *request)
{
    char begin[160];

    if (request->place > 0) {
        snprintf(begin, sizeof begin,
                 "regimen: process %d on %s cannot begin as a worker: ", request->place,
                 rgm_comm_members(request->comm)->host);
        report_though_muted(begin);
    }
    return report(status);
}

int run_as_worker(rgm_experiment *experiment, const run_request *request)
{
    const char *where = request->join;
    const rgm_async_place place = {.where = where,
                                   .patience = request->patience > 0 ? request->patience : PATIENCE,
                                   .stopped = console_is_stopped};
    rgm_async_worker *worker;
    rgm_status status;
    bool comes = false;
    int code;

    console_catch_signals();
    status = rgm_async_worker_find(&worker, &place);
    if (status == RGM_END || status == RGM_STOPPED)
        return status == RGM_END ? EXIT_DONE : EXIT_CONTINUE;
    if (status != RGM_OK)
        return cannot_begin(status, request);
    status = work(&comes, worker, experiment);
    if (status < 0)
        code = comes ? report(status) : cannot_begin(status, request);
    else
        code = status == RGM_STOPPED ? EXIT_CONTINUE : EXIT_DONE;
    if (rgm_async_worker_is_lost(worker))
        code = EXIT_CONTINUE; /* what the server saved goes on another time */
    if (status >= 0)
        say("worker", "%s updates of %s%s", grouped(rgm_async_worker_updates(worker)), where,
            status == RGM_OK ? ", which is whole" : "");
    rgm_async_worker_close(worker);
    return code;
}
