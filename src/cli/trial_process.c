/*
 * regimen trial run: what a master starts for a trial. It asks for workloads and does them with an
 * open run; nobody calls it by hand.
 */
#include "trials.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** The trial, and what a result points to. */
typedef struct process {
    rgm_search_file *file;
    rgm_trial *trial;
    rgm_named_number *resources;
    int64_t resource_capacity;
} process;

static rgm_status load_file(process *p, const rgm_worker_setup *setup)
{
    rgm_status status;
    char *text;
    int64_t size;

    RGM_TRY(rgm_file_load(&text, &size, setup->experiment_file, 16 << 20));
    status = rgm_search_file_parse(&p->file, NULL, text, size, setup->experiment_file, NULL);
    rgm_free(text);
    return status;
}

/* JSON on one line is YAML. */
static rgm_status read_values(rgm_hyper_value *values, const rgm_space *space, const char *json)
{
    rgm_yaml *yaml = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_yaml_parse(&yaml, json, (int64_t)strlen(json), "hyperparameters"));
    RGM_GO(rgm_space_read_point(values, space, rgm_yaml_root(yaml)));
done:
    rgm_yaml_release(yaml);
    return status;
}

static rgm_status open_trial(const rgm_worker_setup *setup, void *payload)
{
    process *p = payload;
    rgm_status status = RGM_OK;
    rgm_hyper_value *values = NULL;
    rgm_trial_setup how = {.seed = setup->seed,
                           .run_dir = setup->run_dir,
                           .from = setup->from,
                           .start = RGM_START_AT,
                           .at_batches = setup->at_batches,
                           .threads = (int)setup->threads};

    RGM_GO(load_file(p, setup));
    RGM_GO(RGM_NEW(values, rgm_space_count(rgm_search_file_space(p->file)) + 1));
    RGM_GO(read_values(values, rgm_search_file_space(p->file), setup->hyperparameters));
    how.file = p->file;
    how.values = values;
    RGM_GO(rgm_trial_open(&p->trial, &how));
done:
    rgm_free(values);
    return status;
}

static rgm_status work(rgm_worker_result *out, const rgm_workload *workload, void *payload)
{
    process *p = payload;
    rgm_workload_result result;

    RGM_TRY(rgm_trial_do(p->trial, workload, &result));
    RGM_TRY(RGM_RESERVE(p->resources, p->resource_capacity, result.file_count));
    for (int64_t i = 0; i < result.file_count; i++)
        p->resources[i] = (rgm_named_number){result.files[i].path, (double)result.files[i].size};
    *out = (rgm_worker_result){.metrics = result.metrics != NULL ? result.metrics->items : NULL,
                               .metric_count = result.metrics != NULL ? result.metrics->count : 0,
                               .num_inputs = result.num_inputs,
                               .checkpoint = result.checkpoint,
                               .resources = p->resources,
                               .resource_count = result.file_count};
    return RGM_OK;
}

static void close_trial(void *payload)
{
    process *p = payload;

    rgm_trial_close(p->trial);
    p->trial = NULL;
}

int trial_run(int argc, char **argv)
{
    process p = {0};
    const rgm_worker worker = {open_trial, work, close_trial, &p};
    rgm_status status;

    if (completing)
        return EXIT_DONE;
    status = rgm_worker_serve((const char *const *)argv + 1, argc - 1, &worker);
    close_trial(&p);
    rgm_search_file_release(p.file);
    rgm_free(p.resources);
    if (status == RGM_STOPPED) {
        say("stopped", "no master asked for it any more");
        return EXIT_CONTINUE;
    }
    return status == RGM_OK ? EXIT_DONE : report(status);
}
