/*
 * What a master does in a second: no-op workloads through trial processes, and how soon it answers
 * for an experiment of 10,000 trials. The trials are this program too.
 *
 *     master_bench            a line for each figure, beside its goal; 1 where one is missed
 *     master_bench trial ...  what the master starts
 */
#include <regimen/master.h>
#include <regimen/trial_worker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 8, STEPS = 1000, TRIALS = 10000 };

/* ---- a trial that does nothing -------------------------------------------------------------- */

static char run_dir[4096];

static rgm_status open_nothing(const rgm_worker_setup *setup, void *payload)
{
    (void)payload;
    snprintf(run_dir, sizeof run_dir, "%s", setup->run_dir);
    return RGM_OK;
}

static rgm_status do_nothing(rgm_worker_result *result, const rgm_workload *workload, void *payload)
{
    static const rgm_named_number loss = {"loss", 0.5};

    (void)payload;
    result->metrics = &loss;
    result->metric_count = 1;
    result->num_inputs = 1;
    result->checkpoint = workload->kind == RGM_CHECKPOINT_MODEL ? "ckpt" : NULL;
    return RGM_OK;
}

static void close_nothing(void *payload)
{
    (void)payload;
}

static int be_a_trial(int argc, char **argv)
{
    const rgm_worker worker = {.open = open_nothing, .work = do_nothing, .close = close_nothing};
    rgm_status status = rgm_worker_serve((const char *const *)argv + 2, argc - 2, &worker);

    if (status < 0)
        fprintf(stderr, "%s\n", rgm_error_text());
    return status == RGM_OK ? 0 : 1;
}

/* ---- requests ------------------------------------------------------------------------------- */

static rgm_status ask(rgm_json **answer, rgm_master *master, const char *method, const char *path,
                      const char *body)
{
    rgm_response r;
    rgm_status status;

    rgm_master_handle(&r, master,
                      &(rgm_request){.method = method,
                                     .path = path,
                                     .body = body,
                                     .size = body != NULL ? (int64_t)strlen(body) : 0});
    if (r.status >= 300)
        status = RGM_FAIL(RGM_ERR_DATA, "%s: %s", path, r.body.data);
    else
        status = answer != NULL ? rgm_json_parse(answer, r.body.data, r.body.size, path) : RGM_OK;
    rgm_response_clear(&r);
    return status;
}

static rgm_status create(rgm_master *master, const char *searcher)
{
    char body[2048];
    rgm_json *answer = NULL;

    snprintf(body, sizeof body,
             "{\"config\": \"data: {path: d, train: t.csv}\\n"
             "task: {type: classification, num_classes: 10}\\nmodel: {type: mlp}\\n"
             "optimizer: {type: adam}\\nhyperparameters: {optimizer.learning_rate: {type: log, "
             "base: 10, minval: -4, maxval: -1}}\\nbatches_per_step: 1\\nsearcher: %s\\n\"}",
             searcher);
    rgm_status status = ask(&answer, master, "POST", "/api/v1/experiments", body);
    rgm_json_release(answer);
    return status;
}

static int64_t int_of(const rgm_json *json, const char *key)
{
    int64_t value = -1;

    rgm_json_int(&value, rgm_json_find(json, key));
    return value;
}

/* ---- figures -------------------------------------------------------------------------------- */

static bool missed;

static void tell(const char *what, double value, const char *unit, double goal, bool at_least)
{
    bool good = at_least ? value >= goal : value <= goal;

    missed = missed || !good;
    printf("%-52s %10.1f %-4s goal %s %.0f%s\n", what, value, unit, at_least ? ">=" : "<=", goal,
           good ? "" : "   MISSED");
}

static bool is_over(rgm_master *master, void *payload)
{
    rgm_json *e = NULL;
    bool over = true;

    (void)payload;
    if (ask(&e, master, "GET", "/api/v1/experiments/1", NULL) == RGM_OK)
        over = strcmp(rgm_json_text(rgm_json_find(e, "state")), "ACTIVE") != 0;
    rgm_json_release(e);
    return over;
}

static rgm_status time_workloads(rgm_master *master)
{
    rgm_json *steps = NULL;
    char searcher[128], path[64];
    int64_t rows = 0;

    snprintf(searcher, sizeof searcher,
             "{name: random, metric: valid.loss, max_trials: %d, max_steps: %d}", (int)PROCESSES,
             (int)STEPS);
    RGM_TRY(create(master, searcher));
    double begun = rgm_now();
    RGM_TRY(rgm_master_serve(master, is_over, NULL));
    double seconds = rgm_now() - begun;
    for (int i = 1; i <= PROCESSES; i++) {
        snprintf(path, sizeof path, "/api/v1/trials/%d/steps?limit=1", i);
        RGM_TRY(ask(&steps, master, "GET", path, NULL));
        rows += int_of(steps, "total");
        rgm_json_release(steps);
    }
    tell("no-op workloads through 8 trial processes", (double)PROCESSES * (STEPS + 2) / seconds,
         "/s", 500, true);
    tell("rows missing of 8 x 1,000 steps", (double)(PROCESSES * STEPS - rows), "", 0, false);
    return RGM_OK;
}

static rgm_status time_answers(rgm_master *master)
{
    static const char *const asked[] = {"/api/v1/experiments", "/api/v1/experiments/2",
                                        "/api/v1/experiments/2/trials?limit=10000",
                                        "/api/v1/experiments/2/trials?limit=100&sort=metric"};
    static const char *const names[] = {"list experiments", "describe one of 10,000 trials",
                                        "list its 10,000 trials", "list its best 100"};
    char searcher[128];

    snprintf(searcher, sizeof searcher,
             "{name: random, metric: valid.loss, max_trials: %d, max_steps: 2}", (int)TRIALS);
    double begun = rgm_now();
    RGM_TRY(create(master, searcher));
    printf("%-52s %10.1f ms\n", "create 10,000 trials", (rgm_now() - begun) * 1e3);
    for (int i = 0; i < 4; i++) {
        double best = 1e9;

        for (int round = 0; round < 5; round++) {
            double from = rgm_now();

            RGM_TRY(ask(NULL, master, "GET", asked[i], NULL));
            best = rgm_now() - from < best ? rgm_now() - from : best;
        }
        tell(names[i], best * 1e3, "ms", 100, false);
    }
    tell("memory of the master, at its peak", (double)rgm_memory_resident_peak() / 1e6, "MB", 200,
         false);
    return RGM_OK;
}

static rgm_status run(const char *folder, const char *self)
{
    const char *command[] = {self, "trial", NULL};
    rgm_master_options options = {
        .folder = folder, .slots = PROCESSES, .threads_per_slot = 1, .trial_command = command};
    rgm_status status = RGM_OK;
    rgm_master *master = NULL;

    RGM_GO(rgm_master_open(&master, &options));
    RGM_GO(time_workloads(master));
    RGM_GO(time_answers(master));
done:
    rgm_master_close(master);
    return status;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/master-bench-XXXXXX", self[4096];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);

    if (argc > 1)
        return strcmp(argv[1], "trial") == 0 ? be_a_trial(argc, argv) : 2;
    if (size < 0 || mkdtemp(folder) == NULL)
        return 1;
    self[size] = 0;
    rgm_status status = run(folder, self);
    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_folder_remove(folder);
    return status != RGM_OK || missed ? 1 : 0;
}
