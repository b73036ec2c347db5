/* An experiment opened with its layers, and a run folder opened again to look at. */
#include <string.h>
#include <unistd.h>

#include "cli.h"

#include <regimen/registry.h>

static rgm_experiment_layers layers_of(const char *name, const text_list *over,
                                       const text_list *sets)
{
    return (rgm_experiment_layers){.name = name,
                                   .over = over->items,
                                   .over_count = over->count,
                                   .environment = environ,
                                   .sets = sets->items,
                                   .set_count = sets->count};
}

int experiment_open(rgm_experiment **out, const char *name, const text_list *over,
                    const text_list *sets)
{
    rgm_experiment_layers layers = layers_of(name, over, sets);

    if (rgm_experiment_load_layers(out, &layers) == RGM_OK)
        return EXIT_DONE;
    report(RGM_ERR_CONFIG);
    return EXIT_USAGE;
}

void say_without_effect(const rgm_experiment *experiment)
{
    const rgm_experiment_value *values;
    int64_t count = rgm_experiment_values(&values, experiment);

    for (int64_t i = 0; i < count; i++)
        if (values[i].given && values[i].unused != NULL)
            say("note", "%s (%s) has no effect: %s", values[i].key, values[i].origin,
                values[i].unused);
}

/* Keys of this command line, once: a run is opened several times where a part of its data is looked
 * for. */
static void say_sets_without_effect(const rgm_experiment *experiment)
{
    static bool is_said;
    const rgm_experiment_value *values;
    int64_t count = rgm_experiment_values(&values, experiment);

    for (int64_t i = 0; i < count && !is_said; i++)
        if (values[i].unused != NULL && strcmp(values[i].origin, "--set") == 0)
            say("note", "%s (--set) has no effect: %s", values[i].key, values[i].unused);
    is_said = true;
}

/* Every mistake of a search file. */
static int tell_mistakes(rgm_status status, rgm_text *mistakes)
{
    if (status == RGM_OK)
        return EXIT_DONE;
    if (mistakes->size == 0)
        report(status);
    for (char *line = mistakes->data, *end; line != NULL && *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        usage_error("%s", line);
    }
    rgm_text_clear(mistakes);
    return EXIT_USAGE;
}

int search_open(rgm_search_file **out, const char *name, const text_list *over,
                const text_list *sets)
{
    rgm_experiment_layers layers = layers_of(name, over, sets);
    rgm_text mistakes = {0};
    rgm_status status = rgm_trial_load_search(out, &mistakes, &layers);

    return tell_mistakes(status, &mistakes);
}

int either_open(rgm_experiment **experiment, rgm_search_file **search, const char *name,
                const text_list *over, const text_list *sets)
{
    rgm_experiment_layers layers = layers_of(name, over, sets);
    rgm_text mistakes = {0};
    rgm_yaml *merged;
    rgm_status status;

    *experiment = NULL;
    *search = NULL;
    status = rgm_experiment_merge_layers(&merged, &layers);
    if (status == RGM_OK) {
        status = rgm_search_file_is_one(merged)
                     ? rgm_trial_load_merged(search, &mistakes, name, merged, NULL)
                     : rgm_experiment_load_merged(experiment, name, merged, NULL);
        rgm_yaml_release(merged);
    }
    return tell_mistakes(status, &mistakes);
}

/* Merged layers with an entrypoint, as one run. */
static rgm_status load_own(rgm_trial_task **out, rgm_text *mistakes, const char *name,
                           const rgm_yaml *merged)
{
    rgm_search_file *file;
    rgm_status status;

    *out = NULL;
    RGM_TRY(rgm_trial_load_merged(&file, mistakes, name, merged, NULL));
    status = rgm_trial_task_create(out, file, NULL);
    rgm_search_file_release(file);
    return status;
}

static bool has_entrypoint(const rgm_yaml *merged)
{
    return rgm_yaml_find(rgm_yaml_root(merged), "entrypoint") != NULL;
}

int run_open(rgm_experiment **experiment, rgm_trial_task **own, const char *name,
             const text_list *over, const text_list *sets)
{
    rgm_experiment_layers layers = layers_of(name, over, sets);
    rgm_text mistakes = {0};
    rgm_yaml *merged;
    rgm_status status;

    *experiment = NULL;
    *own = NULL;
    status = rgm_experiment_merge_layers(&merged, &layers);
    if (status == RGM_OK) {
        status = has_entrypoint(merged)
                     ? load_own(own, &mistakes, name, merged)
                     : rgm_experiment_load_merged(experiment, name, merged, NULL);
        rgm_yaml_release(merged);
    }
    return tell_mistakes(status, &mistakes);
}

rgm_status add_keys(text_list *sets, char **texts, const char *const *keys,
                    const char *const *values, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        if (values[k] == NULL)
            continue;
        if (sets->count == (int64_t)(sizeof sets->items / sizeof *sets->items))
            return RGM_FAIL(RGM_ERR_CONFIG, "--set was given %lld times: no room for %s",
                            (long long)sets->count, keys[k]);
        RGM_TRY(rgm_strprintf(&texts[k], "%s=%s", keys[k], values[k]));
        sets->items[sets->count++] = texts[k];
    }
    return RGM_OK;
}

bool weights_chosen(const weights_choice *weights)
{
    return weights->last || weights->mean_of_last > 0 || weights->mean_of_best > 0 ||
           weights->step > 0;
}

static rgm_status check_weights(const weights_choice *w)
{
    if (w->last + (w->mean_of_last > 0) + (w->mean_of_best > 0) + (w->step > 0) > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "--last, --average, --average-best and --step exclude each other");
    return RGM_OK;
}

static rgm_status place_weights(session *s, const weights_choice *weights)
{
    rgm_controller *controller = rgm_run_controller(s->run);

    if (weights->step > 0)
        return rgm_controller_restore_step(controller, weights->step);
    if (weights->mean_of_best > 0)
        return rgm_controller_restore_mean(controller, true, weights->mean_of_best);
    if (weights->mean_of_last > 0)
        return rgm_controller_restore_mean(controller, false, weights->mean_of_last);
    return RGM_OK;
}

rgm_status model_folder(char **out, const char *text)
{
    char *registry;
    rgm_status status;

    *out = NULL;
    if (strncmp(text, RGM_MODEL_PREFIX, strlen(RGM_MODEL_PREFIX)) != 0)
        return rgm_strdup(out, text);
    RGM_TRY(rgm_registry_place(&registry, NULL));
    status = rgm_model_path(out, registry, text);
    rgm_free(registry);
    return status;
}

/* What config.yaml of a run folder describes. */
static rgm_status load_run(session *s, const char *run_dir, const text_list *sets)
{
    RGM_TRY(rgm_trial_task_load(&s->own, run_dir, sets->items, sets->count));
    return s->own != NULL
               ? RGM_OK
               : rgm_experiment_load_run(&s->experiment, run_dir, sets->items, sets->count);
}

rgm_status session_open(session *s, const char *run_dir, const text_list *sets,
                        const weights_choice *weights, const data_choice *data)
{
    *s = (session){0};
    RGM_TRY(check_weights(weights));
    RGM_TRY(series_refuse(run_dir));
    RGM_TRY(load_run(s, run_dir, sets));
    if (s->experiment != NULL)
        say_sets_without_effect(s->experiment);
    if (s->own != NULL)
        RGM_TRY(rgm_trial_task_prepare(&s->options, s->own, run_dir));
    else
        RGM_TRY(data->asked ? rgm_experiment_prepare_asked(&s->options, s->experiment, run_dir)
                            : rgm_experiment_prepare_trained(&s->options, s->experiment, run_dir));
    s->options.read_only = true;
    for (int mode = 0; mode < 3; mode++)
        s->options.no_data[mode] = s->own == NULL && !data->modes[mode]; /* hooks give all */
    if (weights->last)
        s->options.trainer.restore_best_weights = RGM_RESTORE_FALSE;
    RGM_TRY(s->own != NULL ? rgm_trial_task_open(&s->run, s->own, &s->options)
                           : rgm_experiment_open(&s->run, s->experiment, &s->options));
    if (rgm_run_saved_step(s->run) < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no checkpoint yet", run_dir);
    return place_weights(s, weights);
}

rgm_status session_part(rgm_mode *mode, const char *part, const session *s)
{
    if (part != NULL)
        return mode_by_name(mode, part);
    *mode = s->own != NULL ? RGM_VALID : RGM_TEST;
    return RGM_OK;
}

bool session_has(const session *s, rgm_mode mode)
{
    return rgm_trainer_has_data(rgm_run_trainer(s->run), mode);
}

void session_close(session *s)
{
    rgm_run_close(s->run);
    rgm_experiment_release(s->experiment);
    rgm_trial_task_release(s->own);
}

json_t *metrics_json(const rgm_logs *values)
{
    json_t *json = json_object();

    for (int64_t i = 0; i < values->count; i++)
        json_object_set_new(json, values->items[i].name, json_number(values->items[i].value));
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
