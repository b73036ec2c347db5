/* regimen run: an experiment file to a run folder. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* What the hooks need. */
typedef struct run_view {
    rgm_experiment *experiment;
    const char *run_dir;
    const rgm_run_options *options;
} run_view;

/* runs/<name>-<n> with the first free n. */
static rgm_status next_run_dir(char **out, const char *name)
{
    for (int n = 1; n < 1000000; n++) {
        RGM_TRY(rgm_strprintf(out, "runs/%s-%d", name, n));
        if (!rgm_path_exists(*out))
            return RGM_OK;
        rgm_free(*out);
        *out = NULL;
    }
    return RGM_FAIL(RGM_ERR_IO, "runs/ is full of runs of '%s'", name);
}

static rgm_status begin(const rgm_run_result *run, void *payload)
{
    const run_view *view = payload;
    rgm_text text = {0};
    rgm_trainer *trainer = rgm_run_trainer(run);

    RGM_TRY(rgm_experiment_describe(&text, view->experiment));
    say("train", "%s", text.data);
    say("plan", "%s parameters, seed %llu, %d threads, kernels %s",
        grouped(rgm_parameters_total(rgm_trainer_parameters(trainer))),
        (unsigned long long)view->options->runtime.seed, rgm_threads(), rgm_kernels_for(RGM_F32)->isa);
    if (rgm_trainer_global_step(trainer) > 0)
        say("resume", "from step %s of %s", grouped(rgm_trainer_global_step(trainer)), view->run_dir);
    rgm_text_clear(&text);
    return RGM_OK;
}

static json_t *result_json(const rgm_run_result *run, const char *run_dir, double seconds)
{
    json_t *json = json_object(), *metrics = json_object(), *exports = json_array();

    json_object_set_new(json, "run_dir", json_string(run_dir));
    json_object_set_new(json, "steps", json_integer(rgm_run_steps(run)));
    json_object_set_new(json, "epochs", json_integer(rgm_run_epochs(run)));
    json_object_set_new(json, "seconds", json_real(seconds));
    for (int mode = 0; mode < 3; mode++)
        json_object_set_new(metrics, rgm_mode_name((rgm_mode)mode),
                            metrics_json(rgm_run_metrics(run, (rgm_mode)mode)));
    json_object_set_new(json, "metrics", metrics);
    if (rgm_run_best_step(run) >= 0)
        json_object_set_new(json, "best_step", json_integer(rgm_run_best_step(run)));
    else
        json_object_set_new(json, "best_step", json_null());
    for (int64_t i = 0; i < rgm_run_export_count(run); i++)
        json_array_append_new(exports, json_string(rgm_run_export(run, i)));
    json_object_set_new(json, "exports", exports);
    return json;
}

static int print_result(const rgm_run_result *run, const char *run_dir)
{
    for (int mode = 0; mode < 3; mode++) {
        const rgm_logs *values = rgm_run_metrics(run, (rgm_mode)mode);

        if (values->count == 0)
            continue;
        printf("%-8s", rgm_mode_name((rgm_mode)mode));
        for (int64_t i = 0; i < values->count; i++)
            printf(" %s %.4f", values->items[i].name, values->items[i].value);
        printf("\n");
    }
    if (rgm_run_best_step(run) >= 0)
        printf("%-8s step %s\n", "best", grouped(rgm_run_best_step(run)));
    for (int64_t i = 0; i < rgm_run_export_count(run); i++)
        printf("%-8s %s\n", "export", rgm_run_export(run, i));
    printf("%-8s %s\n", "run", run_dir);
    return print_text("");
}

static int finish(rgm_status status, const rgm_run_result *run, const char *run_dir, double seconds,
                  bool json)
{
    if (status < 0) {
        int code = report(status);

        if (rgm_path_exists(run_dir))
            fprintf(stderr, "regimen: what was saved is in %s\n", run_dir);
        return code;
    }
    if (status == RGM_STOPPED) {
        say("stopped", "saved step %s in %s. Continue with the same command%s.",
            grouped(rgm_run_steps(run)), run_dir, " and --run-dir");
        return EXIT_CONTINUE;
    }
    return json ? print_json(result_json(run, run_dir, seconds)) : print_result(run, run_dir);
}

/* One graph (or batch) an epoch is told in epochs, anything else in steps. */
static bool counts_epochs(const rgm_run_options *options)
{
    rgm_dataset *data = NULL;
    int64_t count = -1;

    if (options->trainer.steps_per_epoch > 0 ||
        rgm_provider_dataset(&data, options->train_data, false) != RGM_OK)
        return false;
    count = rgm_dataset_count(data);
    rgm_dataset_release(data);
    return count == 1;
}

static int run_experiment(rgm_experiment *experiment, const char *run_dir, bool json)
{
    rgm_run_options options;
    rgm_run_result *run = NULL;
    run_view view = {.experiment = experiment, .run_dir = run_dir, .options = &options};
    double started = rgm_now();
    rgm_status status = rgm_experiment_prepare(&options, experiment, run_dir);
    int code;

    if (status != RGM_OK)
        return report(status);
    options.begin = begin;
    options.hooks.payload = &view;
    options.hooks.should_stop = console_is_stopped;
    options.hooks.progress_in_epochs = counts_epochs(&options);
    options.hooks.progress = console_progress(options.hooks.progress_in_epochs);
    status = rgm_run(&run, &options);
    rgm_progress_release(options.hooks.progress);
    code = finish(status, run, run_dir, rgm_now() - started, json);
    rgm_run_result_release(run);
    return code;
}

int verb_run(int argc, char **argv)
{
    const char *run_dir = NULL;
    text_list sets = {.count = 0}, rest;
    bool json = false;
    const argument arguments[] = {
        {"run-dir", ARG_TEXT, &run_dir, "DIR", "run folder; one that is there is continued"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key, e.g. trainer.epochs=3"},
        {"json", ARG_FLAG, &json, NULL, "the result as one JSON object on stdout"},
        {0}};
    const usage how = {
        "run FILE.yaml [--run-dir DIR] [--set KEY=VALUE]... [--json]",
        "Train, validate, test and export what FILE.yaml says. Without --run-dir a new folder\n"
        "runs/<file>-<n> is made. Running the same command on the same folder continues it;\n"
        "Ctrl-C or SIGTERM saves and exits with 75.",
        arguments, 1, 1};
    rgm_experiment *experiment = NULL;
    char *made = NULL;
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    if (rgm_experiment_load(&experiment, rest.items[0], sets.items, sets.count) != RGM_OK) {
        report(RGM_ERR_CONFIG);
        return EXIT_USAGE;
    }
    if (run_dir == NULL) {
        rgm_status status = next_run_dir(&made, rgm_experiment_name(experiment));

        if (status != RGM_OK) {
            rgm_experiment_release(experiment);
            return report(status);
        }
    }
    code = run_experiment(experiment, run_dir != NULL ? run_dir : made, json);
    rgm_experiment_release(experiment);
    rgm_free(made);
    return code;
}
