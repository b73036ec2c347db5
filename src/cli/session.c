/* A run folder opened again, to evaluate, predict or export with its weights. */
#include <string.h>

#include "cli.h"

rgm_status session_open(session *s, const char *run_dir, const text_list *sets, bool last)
{
    *s = (session){0};
    RGM_TRY(rgm_experiment_load_run(&s->experiment, run_dir, sets->items, sets->count));
    RGM_TRY(rgm_experiment_prepare(&s->options, s->experiment, run_dir));
    s->options.no_training = true;
    if (last)
        s->options.trainer.restore_best_weights = 2;
    RGM_TRY(rgm_run(&s->run, &s->options));
    if (rgm_run_steps(s->run) == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no checkpoint yet", run_dir);
    return RGM_OK;
}

void session_close(session *s)
{
    rgm_run_result_release(s->run);
    rgm_experiment_release(s->experiment);
}

json_t *metrics_json(const rgm_logs *values)
{
    json_t *json = json_object();

    for (int64_t i = 0; i < values->count; i++)
        json_object_set_new(json, values->items[i].name, json_real(values->items[i].value));
    return json;
}

rgm_status mode_by_name(rgm_mode *mode, const char *name)
{
    for (int m = 0; m < 3; m++)
        if (strcmp(rgm_mode_name((rgm_mode)m), name) == 0) {
            *mode = (rgm_mode)m;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_CONFIG, "--part '%s' is none of train, valid, test", name);
}
