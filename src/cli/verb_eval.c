/* regimen eval: metrics of a run folder's weights. */
#include <stdio.h>

#include "verb_run.h"

static int print_part(const char *part, const rgm_logs *values)
{
    print_metrics(part, 0, values);
    return print_text("\n");
}

/* A set of the part, in the same form. */
static rgm_status evaluate_set(rgm_trainer *trainer, int64_t set, int64_t steps, json_t *sets)
{
    const char *name = rgm_trainer_eval_set_name(trainer, set);
    const rgm_logs *values;

    RGM_TRY(rgm_trainer_evaluate_set(trainer, set, steps, &values));
    if (sets != NULL)
        json_object_set_new(sets, name, metrics_json(values));
    else
        (void)print_part(name, values); /* what fails to be printed is told at the end */
    return RGM_OK;
}

static int evaluate(session *s, rgm_mode mode, bool json)
{
    const char *part = rgm_mode_name(mode);
    rgm_trainer *trainer = rgm_run_trainer(s->run);
    const rgm_eval_set *sets;
    const rgm_logs *values;
    int64_t count = rgm_trainer_eval_sets(&sets, trainer);
    int64_t judged = session_has(s, mode) ? rgm_run_judged_steps(s->run, mode) : 0;
    int64_t steps = judged != 0 ? judged : RGM_TO_END;
    json_t *of_sets = json ? json_object() : NULL, *result;
    rgm_status status = rgm_trainer_evaluate(trainer, mode, steps, &values);
    int code = EXIT_DONE;

    if (status == RGM_OK && !json)
        code = print_part(part, values);
    for (int64_t i = 0; i < count && status == RGM_OK && code == EXIT_DONE; i++)
        if (sets[i].mode == mode)
            status = evaluate_set(trainer, i, steps, of_sets);
    if (status != RGM_OK || !json) {
        json_decref(of_sets);
        return status != RGM_OK ? report(status) : code != EXIT_DONE ? code : print_text("");
    }
    result = json_pack("{s:s, s:o}", "part", part, "metrics", metrics_json(values));
    if (json_object_size(of_sets) > 0)
        json_object_set(result, "sets", of_sets);
    json_decref(of_sets);
    return print_json(result);
}

/* The weights that a run ends with, on one part of its own data. */
static int eval_run(const char *run_dir, const char *part, const text_list *sets,
                    const weights_choice *weights, bool json)
{
    session s = {.run = NULL};
    data_choice data = {.modes = {false}};
    rgm_mode mode = RGM_TEST;
    rgm_status status = part != NULL ? mode_by_name(&mode, part) : RGM_OK;
    int code;

    if (status == RGM_OK) {
        data.modes[mode] = true;
        status = session_open(&s, run_dir, sets, weights, &data);
    }
    if (status == RGM_OK)
        status = session_part(&mode, part, &s);
    code = status == RGM_OK ? evaluate(&s, mode, json) : report(status);
    session_close(&s);
    return code;
}

/* The newest weights of a run on the data that an experiment names. */
static int eval_experiment(const char *name, const text_list *over, const text_list *sets,
                           const run_request *request)
{
    rgm_experiment *experiment = NULL;
    int code = experiment_open(&experiment, name, over, sets);

    if (code == EXIT_DONE)
        code = run_experiment(experiment, request);
    rgm_experiment_release(experiment);
    return code;
}

static rgm_status find_run(char **folder, const char *name)
{
    RGM_TRY(model_folder(folder, name));
    if (rgm_model_folder_kind(*folder) == RGM_FOLDER_EXPORT)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s is an export, which has no data to be evaluated on: eval takes its "
                        "run; `regimen predict` takes an export with --input",
                        *folder);
    return RGM_OK;
}

/* A run folder, or a registered model. */
static int eval_named(const char *name, const char *part, const text_list *sets,
                      const weights_choice *weights, bool json)
{
    char *folder = NULL;
    int code = report(find_run(&folder, name));

    if (code == EXIT_DONE)
        code = eval_run(folder, part, sets, weights, json);
    rgm_free(folder);
    return code;
}

int verb_eval(int argc, char **argv)
{
    run_request request = {.mode = RUN_EVAL};
    weights_choice weights = {.last = false};
    const char *part = NULL;
    text_list over = {.count = 0}, sets = {.count = 0}, rest;
    const argument arguments[] = {
        {"part", ARG_TEXT, &part, "NAME",
         "RUN_DIR: train, valid or test (default; of a program's own model valid)"},
        WEIGHTS_ARGUMENTS(weights),
        {"run-dir", ARG_TEXT, &request.run_dir, "DIR",
         "NAME|FILE: the run whose weights are meant"},
        {"config", ARG_LIST, &over, "FILE", "NAME|FILE: lay a file or named experiment over it"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key, e.g. data.path=DIR"},
        {"json", ARG_FLAG, &request.json, NULL, "as one JSON object on stdout"},
        {0}};
    const usage how = {
        "eval RUN_DIR|model:NAME [--part NAME] [--last | --average N | --step N] | eval NAME|FILE "
        "--run-dir "
        "DIR",
        "Metrics of a run folder's best weights on one part of its data; or, as regimen run "
        "--mode\n"
        "eval, one validation of its newest weights with an experiment's data.",
        arguments, 1, 1};
    const char *what;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    what = rest.items[0];
    if (request.run_dir == NULL && (over.count > 0 || rgm_named_experiment_find(what) != NULL ||
                                    (rgm_path_exists(what) && !rgm_path_is_folder(what))))
        return usage_error(
            "eval of an experiment needs --run-dir DIR: the run whose weights are meant");
    if (request.run_dir == NULL)
        return eval_named(what, part, &sets, &weights, request.json);
    if (part != NULL || weights_chosen(&weights))
        return usage_error("--part, --last, --average and --step go with eval RUN_DIR");
    return eval_experiment(what, &over, &sets, &request);
}
