/*
 * A worker whose workloads are a trial's: an open run in the trial's folder, or a program that
 * works there.
 */
#include <regimen/search_live.h>
#include <regimen/trial.h>
#include <regimen/trial_program.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG_LIMIT = 64 << 20 };

typedef struct trial_worker {
    rgm_search_file *file;
    rgm_hyper_value *values;
    rgm_trial *trial; /* or: */
    _Atomic(rgm_program *)
        program; /* set while it is open, for the thread that asks whether it lives */
    rgm_program_order order;
    rgm_named_number *resources;
    int64_t resource_capacity;
    bool (*is_told_to_stop)(void *payload);
} trial_worker;

static void close_trial(void *payload)
{
    trial_worker *w = payload;

    rgm_program_close(atomic_exchange(&w->program, NULL), w->order.workload.kind == RGM_TERMINATE);
    rgm_trial_close(w->trial);
    rgm_search_file_release(w->file);
    rgm_free(w->values);
    rgm_free(w->resources);
    *w = (trial_worker){.is_told_to_stop = w->is_told_to_stop};
}

static rgm_status read_file(trial_worker *w, const rgm_worker_setup *setup)
{
    rgm_status status = RGM_OK;
    char *text = NULL;
    int64_t size;

    RGM_GO(rgm_file_load(&text, &size, setup->experiment_file, CONFIG_LIMIT));
    RGM_GO(rgm_search_file_parse_kept(&w->file, NULL, text, size, setup->experiment_file,
                                      &rgm_trial_subject));
done:
    rgm_free(text);
    return status;
}

/* A line of JSON is YAML. */
static rgm_status read_values(trial_worker *w, const rgm_worker_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_space *space = rgm_search_file_space(w->file);
    rgm_yaml *yaml = NULL;

    RGM_GO(RGM_NEW(w->values, rgm_space_count(space) + 1));
    RGM_GO(rgm_yaml_parse(&yaml, setup->hyperparameters, (int64_t)strlen(setup->hyperparameters),
                          "hyperparameters"));
    RGM_GO(rgm_space_read_trial(w->values, space, rgm_yaml_root(yaml)));
done:
    rgm_yaml_release(yaml);
    return status;
}

/* The copy is what the experiment was made with, or the trial is of another model than the others.
 */
static rgm_status check_code(const rgm_worker_setup *setup)
{
    char whose[48];

    if (setup->code_dir == NULL || setup->code == NULL)
        return RGM_OK;
    snprintf(whose, sizeof whose, "experiment %lld", (long long)setup->experiment);
    return rgm_code_check(setup->code, setup->code_dir, whose);
}

static rgm_status open_program(trial_worker *w, const rgm_worker_setup *setup)
{
    rgm_program *program;

    RGM_TRY(rgm_program_open(&program, &(rgm_program_setup){.file = w->file,
                                                            .values = w->values,
                                                            .code = setup->code_dir,
                                                            .run_dir = setup->run_dir,
                                                            .experiment = setup->experiment,
                                                            .trial = setup->trial,
                                                            .number = setup->number,
                                                            .seed = setup->seed,
                                                            .threads = setup->threads,
                                                            .from = setup->from,
                                                            .at_batches = setup->at_batches}));
    atomic_store(&w->program, program);
    return RGM_OK;
}

static rgm_status open_trial(const rgm_worker_setup *setup, void *payload)
{
    rgm_status status = RGM_OK;
    trial_worker *w = payload;

    RGM_GO(read_file(w, setup));
    RGM_GO(read_values(w, setup));
    RGM_GO(check_code(setup));
    if (rgm_search_file_settings(w->file)->command.count > 0) {
        RGM_GO(open_program(w, setup));
        goto done;
    }
    RGM_GO(rgm_trial_open(&w->trial, &(rgm_trial_setup){.file = w->file,
                                                        .values = w->values,
                                                        .entrypoint = setup->entrypoint,
                                                        .seed = setup->seed,
                                                        .run_dir = setup->run_dir,
                                                        .from = setup->from,
                                                        .start = RGM_START_AT,
                                                        .at_batches = setup->at_batches,
                                                        .threads = (int)setup->threads,
                                                        .device = setup->device,
                                                        .comm = setup->comm}));
done:
    if (status != RGM_OK) {
        rgm_error error;

        rgm_error_save(&error, status); /* closing tidies up, and may fail in a way of its own */
        close_trial(w);
        rgm_error_restore(&error);
    }
    return status;
}

static rgm_status work(rgm_worker_result *out, const rgm_workload *workload, void *payload)
{
    trial_worker *w = payload;
    rgm_workload_result result = {0};
    rgm_program *program = atomic_load(&w->program);

    if (program != NULL)
        return rgm_program_do(out, program, &w->order);
    RGM_TRY(rgm_trial_do(w->trial, workload, &result));
    out->num_inputs = result.num_inputs;
    out->checkpoint = result.checkpoint;
    if (result.metrics != NULL) {
        out->metrics = result.metrics->items;
        out->metric_count = result.metrics->count;
    }
    RGM_TRY(RGM_RESERVE(w->resources, w->resource_capacity, result.file_count));
    for (int64_t i = 0; i < result.file_count; i++)
        w->resources[i] = (rgm_named_number){result.files[i].path, (double)result.files[i].size};
    out->resources = w->resources;
    out->resource_count = result.file_count;
    return RGM_OK;
}

static void see(const rgm_workload *workload, int64_t reach, bool ends, void *payload)
{
    ((trial_worker *)payload)->order =
        (rgm_program_order){.workload = *workload, .reach = reach, .ends = ends};
}

/* Of a program: this process waits for it. */
static bool is_alive(double *used, void *payload)
{
    rgm_program *program = atomic_load(&((trial_worker *)payload)->program);

    *used = 0;
    return program != NULL && rgm_program_is_alive(used, program);
}

static bool is_told_to_stop(void *payload)
{
    const trial_worker *w = payload;

    return w->is_told_to_stop != NULL && w->is_told_to_stop(NULL);
}

rgm_status rgm_worker_run_trial(const char *const *arguments, int64_t count,
                                bool (*told_to_stop)(void *payload))
{
    trial_worker w = {.is_told_to_stop = told_to_stop};
    const rgm_worker worker = {.open = open_trial,
                               .work = work,
                               .close = close_trial,
                               .payload = &w,
                               .see = see,
                               .is_alive = is_alive,
                               .is_told_to_stop = is_told_to_stop};

    return rgm_worker_serve(arguments, count, &worker);
}
