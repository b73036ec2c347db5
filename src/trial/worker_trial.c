/*
 * A worker whose workloads are a trial's: an open run in the trial's folder.
 */
#include <regimen/search_live.h>
#include <regimen/trial.h>
#include <regimen/trial_worker.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG_LIMIT = 64 << 20, CODE_LIMIT = 1 << 30 };

typedef struct trial_worker {
    rgm_search_file *file;
    rgm_hyper_value *values;
    rgm_trial *trial;
    rgm_named_number *resources;
    int64_t resource_capacity;
    bool (*is_told_to_stop)(void *payload);
} trial_worker;

static void close_trial(void *payload)
{
    trial_worker *w = payload;

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
    RGM_GO(rgm_search_file_parse(&w->file, NULL, text, size, setup->experiment_file,
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
    const char *colon = setup->entrypoint != NULL ? strrchr(setup->entrypoint, ':') : NULL;
    rgm_status status = RGM_OK;
    char *path = NULL, *data = NULL, hash[17];
    int64_t size;

    if (setup->entrypoint == NULL || setup->code == NULL)
        return RGM_OK;
    RGM_GO(rgm_strndup(&path, setup->entrypoint,
                       colon != NULL ? (size_t)(colon - setup->entrypoint)
                                     : strlen(setup->entrypoint)));
    RGM_GO(rgm_file_load(&data, &size, path, CODE_LIMIT));
    snprintf(hash, sizeof hash, "%016" PRIx64, rgm_hash64(data, (size_t)size));
    if (strcmp(hash, setup->code) != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                        "%s is not the code that experiment %lld was made with any more", path,
                        (long long)setup->experiment));
done:
    rgm_free(path);
    rgm_free(data);
    return status;
}

static rgm_status open_trial(const rgm_worker_setup *setup, void *payload)
{
    rgm_status status = RGM_OK;
    trial_worker *w = payload;

    RGM_GO(read_file(w, setup));
    RGM_GO(read_values(w, setup));
    RGM_GO(check_code(setup));
    RGM_GO(rgm_trial_open(&w->trial, &(rgm_trial_setup){.file = w->file,
                                                        .values = w->values,
                                                        .entrypoint = setup->entrypoint,
                                                        .seed = setup->seed,
                                                        .run_dir = setup->run_dir,
                                                        .from = setup->from,
                                                        .start = RGM_START_AT,
                                                        .at_batches = setup->at_batches,
                                                        .threads = (int)setup->threads,
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
                               .is_told_to_stop = is_told_to_stop};

    return rgm_worker_serve(arguments, count, &worker);
}
