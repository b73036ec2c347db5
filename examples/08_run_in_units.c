/* A run in units: opened, trained so many steps at a time, looked at, saved and closed; opened
 * again on the same folder it goes on where it was. So a search shares a machine among runs. */
#include <stdio.h>

#include <regimen/graph_tasks.h>

#define FOLDER "run_in_units"

/* Graph learning is a task like any other: rgm_run_open() takes whatever task there is. */
static rgm_status open_run(rgm_open_run **run, const rgm_graph_data *data)
{
    rgm_status status = RGM_OK;
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_sage_model_options sage;
    rgm_task task;

    *run = NULL;
    what.train_data = rgm_graph_data_provider(data, "train");
    what.valid_data = rgm_graph_data_provider(data, "valid");
    what.task = rgm_node_multiclass("nodes", "label", 7);
    rgm_sage_model.section.defaults(&sage);
    what.model_fn = rgm_sage_model.build;
    what.model_payload = &sage; /* read when the run is opened */
    how.optimizer = rgm_adam(1e-2);
    how.trainer.train_steps = 100; /* a length in steps: training data repeat */
    how.run_dir = FOLDER;
    how.releases_task = true;
    RGM_GO(rgm_graph_learning_create(&task, &what, &how.runtime));
    RGM_GO(rgm_run_open(run, &task, &how));
done:
    rgm_graph_task_release(what.task);
    rgm_provider_release(what.train_data);
    rgm_provider_release(what.valid_data);
    return status;
}

/* Units of 20 steps, until `steps` are done in all. */
static rgm_status work(const rgm_graph_data *data, int64_t steps)
{
    rgm_status status = RGM_OK;
    rgm_open_run *run;
    const rgm_logs *logs;

    RGM_GO(open_run(&run, data));
    printf("opened at step %lld\n", (long long)rgm_run_steps(run));
    while (rgm_run_steps(run) < steps) {
        RGM_GO(rgm_run_train(run, rgm_run_steps(run) + 20));
        RGM_GO(rgm_run_evaluate(run, RGM_VALID, RGM_TO_END, &logs));
        printf("step %3lld  valid accuracy %.3f\n", (long long)rgm_run_steps(run),
               rgm_logs_get(logs, "accuracy"));
        RGM_GO(rgm_run_save(run)); /* what the evaluation found is part of it */
    }
    RGM_GO(rgm_run_export(run, NULL));
    printf("exported to %s\n", rgm_run_export_dir(run, 0));
done:
    rgm_run_close(run);
    return status;
}

int main(void)
{
    rgm_status status = RGM_OK;
    rgm_graph_data data = {0};
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;

    if (rgm_path_exists(FOLDER))
        RGM_GO(rgm_folder_remove(FOLDER));
    RGM_GO(rgm_generate_citation(&data, &citation));
    RGM_GO(work(&data, 60));
    RGM_GO(work(&data, 100));
done:
    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_graph_data_clear(&data);
    return status != RGM_OK;
}
