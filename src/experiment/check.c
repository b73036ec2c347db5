/*
 * The checks that a run makes before its first step, without a run: either those that need no data,
 * or all of them by opening the run.
 */
#include "experiment_internal.h"

/* Make all checks: open the run, with a folder that nothing is ever written to. */
static rgm_status open_once(rgm_experiment *e)
{
    static const char *const nowhere[] = {"export"};
    rgm_status status;
    rgm_run_options options;
    rgm_open_run *run = NULL;

    e->setup.dry = true;
    status = rgm_experiment_prepare(&options, e, NULL);
    options.exporter_count = e->exporter_count;
    options.export_dirs = nowhere;
    options.export_dir_count = 1;
    if (status == RGM_OK)
        status = rgm_experiment_open(&run, e, &options);
    rgm_run_close(run);
    rgm_task_release(&e->task);
    e->setup.dry = false;
    return status;
}

/* Check the data of each fold; seeds do not change the data. */
static rgm_status check_parts(const rgm_experiment *e)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_experiment_part_count(e),
            seeds = e->runtime.seeds > 1 ? e->runtime.seeds : 1;

    for (int64_t i = 0; status == RGM_OK && i < count / seeds; i++) {
        rgm_experiment *part;
        char *name;

        RGM_TRY(rgm_experiment_part(&part, &name, e, i));
        status = open_once(part);
        if (status != RGM_OK)
            status = rgm_error_prefix(status, "%s", name);
        rgm_experiment_release(part);
        rgm_free(name);
    }
    return status;
}

rgm_status rgm_experiment_check(rgm_experiment *e, bool data)
{
    rgm_status status = RGM_OK;
    rgm_text remark = {0};

    if (data && rgm_experiment_part_count(e) > 1)
        return check_parts(e);
    if (data)
        return open_once(e);
    RGM_GO(rgmi_rate_check(&remark, e));
    if (remark.size > 0)
        rgm_log_write(RGM_LOG_WARNING, "%s", remark.data);
done:
    rgm_text_clear(&remark);
    return status;
}
