/*
 * Weights from elsewhere: a run folder, a checkpoint folder, a safetensors file or one of numpy's;
 * all weights, or those whose names match. Everything is checked before anything is copied.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "trainer_internal.h"

/* The source of weights: one of the first three is set; unless it is an archive, the tensors are in
 * `file`. */
typedef struct weights_source {
    rgm_checkpoint *checkpoint;
    rgm_safetensors *own;
    rgm_npz *archive;
    const rgm_safetensors *file;
    const rgm_safetensors *averages; /* "average/NAME", by which a run means NAME; NULL: none */
    const char *which;               /* "best ", for messages                                 */
    rgm_map *names;                  /* of its tensors        */
    rgm_map *used;                   /* those that a parameter took */
    const rgm_task *task;            /* whose parameters these are; NULL: nobody says */
    char *run;                       /* the run folder that it is in; NULL: none      */
} weights_source;

static int64_t source_count(const weights_source *s)
{
    return s->archive != NULL ? rgm_npz_count(s->archive) : rgm_safetensors_count(s->file);
}

static const char *source_name(const weights_source *s, int64_t i)
{
    return s->archive != NULL ? rgm_npz_name(s->archive, i) : rgm_safetensors_name(s->file, i);
}

static rgm_status source_get(rgm_tensor **out, const weights_source *s, const char *name)
{
    if (s->archive != NULL)
        return rgm_npz_get(out, s->archive, name);
    RGM_TRY(rgm_average_look(out, s->averages, name));
    return *out != NULL ? RGM_OK : rgm_safetensors_get(out, s->file, name);
}

static bool source_has(const void *payload, const char *name)
{
    return rgm_map_has(((const weights_source *)payload)->names, name);
}

static rgm_status list_names(weights_source *s)
{
    RGM_TRY(rgm_map_create(&s->names));
    RGM_TRY(rgm_map_create(&s->used));
    for (int64_t i = 0; i < source_count(s); i++)
        RGM_TRY(rgm_map_set(s->names, source_name(s, i), s));
    return RGM_OK;
}

/* Everything else that is asked of a run means its best weights, so this does, too; a checkpoint
 * that is named by itself means the weights of its step, as an evaluation there has them: averages
 * where there are any (best ones are averages already). */
static void choose_weights(weights_source *source, rgm_restore_best best, bool is_run)
{
    source->file = NULL;
    source->which = "best ";
    if (best == RGM_RESTORE_TRUE || (best == RGM_RESTORE_AUTO && is_run))
        source->file = rgm_checkpoint_best_weights(source->checkpoint);
    if (source->file != NULL || best == RGM_RESTORE_TRUE)
        return;
    source->file = rgm_checkpoint_weights(source->checkpoint);
    source->averages = rgm_checkpoint_slots(source->checkpoint);
    if (source->averages != NULL &&
        !rgm_safetensors_has_prefix(source->averages, RGM_AVERAGE_PREFIX))
        source->averages = NULL;
    source->which = source->averages != NULL ? "newest averaged " : "newest ";
}

static rgm_status open_checkpoint(weights_source *source, const char *path, rgm_restore_best best)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint_store *store = NULL;
    rgm_checkpoint_store_options options = RGM_CHECKPOINT_STORE_OPTIONS_INIT;
    char *manifest = NULL, *folder = NULL;
    bool is_run;

    options.read_only = true;
    options.slots_prefix = RGM_AVERAGE_PREFIX; /* others would be read for nothing */
    RGM_GO(rgm_path_join(&manifest, path, "manifest.json"));
    is_run = !rgm_path_exists(manifest);
    if (!is_run) {
        RGM_GO(rgm_checkpoint_load(&source->checkpoint, path));
    } else {
        RGM_GO(rgm_path_join(&folder, path, "ckpt"));
        RGM_GO(rgm_checkpoint_store_open(&store, rgm_path_is_folder(folder) ? folder : path,
                                         &options));
        RGM_GO(rgm_checkpoint_load_newest(&source->checkpoint, store));
    }
    choose_weights(source, best, is_run);
    if (source->file == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no %sweights", path, source->which));
done:
    rgm_checkpoint_store_close(store);
    rgm_free(manifest);
    rgm_free(folder);
    return status;
}

static rgm_status open_source(weights_source *source, const rgm_trainer_initialize *options)
{
    if (!rgm_path_exists(options->checkpoint))
        return RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "trainer.initialize.checkpoint: there is no %s; it is a run folder, a "
                        "checkpoint's or a .safetensors file, as a run before this one leaves "
                        "them, or a .npz",
                        options->checkpoint);
    if (rgm_path_is_folder(options->checkpoint))
        return open_checkpoint(source, options->checkpoint, options->best);
    if (options->best == RGM_RESTORE_TRUE)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.initialize.best is about run folders; %s is a file",
                        options->checkpoint);
    source->which = "";
    if (fnmatch("*.npz", options->checkpoint, 0) == 0)
        return rgm_npz_open(&source->archive, options->checkpoint);
    RGM_TRY(rgm_safetensors_open(&source->own, options->checkpoint));
    source->file = source->own;
    return RGM_OK;
}

static void close_source(weights_source *source)
{
    rgm_checkpoint_release(source->checkpoint);
    rgm_safetensors_close(source->own);
    rgm_npz_close(source->archive);
    rgm_map_release(source->names);
    rgm_map_release(source->used);
    rgm_free(source->run);
}

static bool matches(const rgm_texts *patterns, const char *name)
{
    for (int64_t i = 0; i < patterns->count; i++)
        if (fnmatch(patterns->items[i], name, 0) == 0)
            return true;
    return false;
}

bool rgm_parameters_is_wanted(const rgm_texts *only, const rgm_texts *except, const char *name)
{
    return (only->count == 0 || matches(only, name)) && !matches(except, name);
}

static rgm_status check_patterns(const rgm_texts *patterns, const rgm_parameters *parameters,
                                 const char *section, const char *name)
{
    char key[64];

    snprintf(key, sizeof key, "%s.%s", section, name);
    for (int64_t i = 0; i < patterns->count; i++)
        RGM_TRY(rgm_pattern_check(key, patterns->items[i], parameters));
    return RGM_OK;
}

rgm_status rgm_parameters_check_wanted(const rgm_texts *only, const rgm_texts *except,
                                       const rgm_parameters *parameters, const char *section)
{
    RGM_TRY(check_patterns(only, parameters, section, "only"));
    return check_patterns(except, parameters, section, "except");
}

static rgm_status other_shape(const char *name, const char *theirs, const rgm_tensor *to,
                              const rgm_tensor *found, const rgm_trainer_initialize *options)
{
    char here[96], there[96];

    rgm_tensor_describe(to, here, sizeof here);
    rgm_tensor_describe(found, there, sizeof there);
    return RGM_FAIL(RGM_ERR_SHAPE,
                    "'%s' is %s in the model and %s%s%s %s in %s; leave it out with "
                    "trainer.initialize.except, or take what both have with "
                    "trainer.initialize.adapt",
                    name, here, strcmp(name, theirs) != 0 ? "'" : "",
                    strcmp(name, theirs) != 0 ? theirs : "", strcmp(name, theirs) != 0 ? "'" : "",
                    there, options->checkpoint);
}

static bool is_straight(const int64_t *rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (rows[i] != i)
            return false;
    return true;
}

/* Rows of ours that are others there; NULL: they are the same. */
static rgm_status match_rows(int64_t **rows, const weights_source *source, const char *name,
                             const rgm_tensor *to)
{
    int64_t count = rgm_tensor_rank(to) > 0 ? rgm_tensor_dim(to, 0) : 0;
    rgm_status status = RGM_OK;
    bool known = false;

    *rows = NULL;
    if (source->task == NULL || source->task->match_rows == NULL || source->run == NULL ||
        count < 2)
        return RGM_OK;
    RGM_TRY(RGM_NEW(*rows, count));
    status = source->task->match_rows(*rows, &known, name, count, source->run, source->task->state);
    if (status == RGM_OK && known && !is_straight(*rows, count))
        return RGM_OK;
    rgm_free(*rows);
    *rows = NULL;
    return status;
}

static rgm_status take_by_rows(rgm_tensor **found, const char *name, const char *theirs,
                               const rgm_tensor *own, const int64_t *rows,
                               const rgm_trainer_initialize *options)
{
    rgm_status status;

    if (!matches(&options->adapt, name))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "'%s' has a row for each token, and the tokens of %s have other numbers: "
                        "trainer.initialize.adapt takes the rows of the same pieces, except leaves "
                        "it out",
                        name, options->checkpoint);
    status = rgmi_initialize_adapt(found, own, rows);
    return status == RGM_OK ? status : rgm_error_prefix(status, "'%s'", theirs);
}

/* A tensor of the file as the options ask for it; *how says what was done to it. rows: see
 * match_rows(). */
static rgm_status fit(rgm_tensor **found, const char **how, const char *name, const char *theirs,
                      const rgm_tensor *to, const rgm_tensor *own, const int64_t *rows,
                      const rgm_trainer_initialize *options)
{
    rgm_status status;

    *how = rows != NULL ? ", by piece" : "";
    if (rows != NULL &&
        (matches(&options->adapt, name) || options->only.count + options->except.count == 0))
        return take_by_rows(found, name, theirs, own, rows, options);
    *how = "";
    if (matches(&options->turn, name)) {
        status = rgmi_initialize_turn(found);
        RGM_TRY(status == RGM_OK ? status : rgm_error_prefix(status, "'%s'", theirs));
        *how = ", turned";
    }
    if (rgm_tensor_is_like(*found, to))
        return RGM_OK;
    if (!matches(&options->adapt, name))
        return other_shape(name, theirs, to, *found, options);
    status = rgmi_initialize_adapt(found, own, NULL);
    *how = **how != '\0' ? ", turned, what both have" : ", what both have";
    return status == RGM_OK ? status : rgm_error_prefix(status, "'%s'", theirs);
}

/* Find one parameter's tensor in the file; *found stays NULL if the parameter is left as it is. */
static rgm_status look_up(rgm_tensor **found, rgm_initialize_report *report,
                          const rgm_parameters *parameters, int64_t number, weights_source *source,
                          const rgm_trainer_initialize *options)
{
    const char *name = rgm_parameters_name(parameters, number), *how;
    bool mapped = options->names.count + options->turn.count + options->adapt.count > 0;
    rgm_status status = RGM_OK;
    rgm_text theirs = {0};
    int64_t *rows = NULL;

    *found = NULL;
    if (!rgm_parameters_is_wanted(&options->only, &options->except, name)) {
        report->left++;
        return rgm_text_printf(&report->text, "%s: not asked for\n", name);
    }
    RGM_GO(rgmi_initialize_name(&theirs, name, &options->names, source_has, source));
    if (!source_has(source, theirs.data) && strcmp(name, theirs.data) != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "trainer.initialize.names: '%s' is to come from '%s', which is not in %s; "
                        "leave it out with trainer.initialize.except",
                        name, theirs.data, options->checkpoint));
    if (!source_has(source, theirs.data)) {
        report->left++;
        RGM_GO(rgm_text_printf(&report->text, "%s: not in the file\n", name));
        goto done;
    }
    RGM_GO(source_get(found, source, theirs.data));
    RGM_GO(match_rows(&rows, source, name, rgm_parameters_form(parameters, number)));
    RGM_GO(fit(found, &how, name, theirs.data, rgm_parameters_form(parameters, number),
               rgm_parameters_read(parameters, number), rows, options));
    RGM_GO(rgm_map_set(source->used, theirs.data, source));
    report->matched++;
    if (mapped)
        RGM_GO(rgm_text_printf(&report->text, "%s: from %s%s\n", name, theirs.data, how));
done:
    rgm_free(rows);
    rgm_text_clear(&theirs);
    return status;
}

static rgm_status report_unused(rgm_initialize_report *report, const rgm_parameters *parameters,
                                const weights_source *source)
{
    for (int64_t i = 0; i < source_count(source); i++) {
        const char *name = source_name(source, i);

        if (rgm_map_has(source->used, name) || rgm_parameters_number(parameters, name) >= 0)
            continue;
        report->unused++;
        RGM_TRY(rgm_text_printf(&report->text, "%s: in the file, not in the model\n", name));
    }
    return RGM_OK;
}

/* Each pattern is one of some parameter: what fits none is a name misspelt. */
static rgm_status check_options(const rgm_trainer_initialize *o, const rgm_parameters *parameters)
{
    static const char section[] = "trainer.initialize";

    RGM_TRY(rgm_parameters_check_wanted(&o->only, &o->except, parameters, section));
    for (int64_t i = 0; i < o->names.count; i++)
        RGM_TRY(rgm_pattern_check("trainer.initialize.names", o->names.names[i], parameters));
    RGM_TRY(check_patterns(&o->turn, parameters, section, "turn"));
    return check_patterns(&o->adapt, parameters, section, "adapt");
}

static rgm_status copy_weights(rgm_initialize_report *report, rgm_parameters *parameters,
                               weights_source *source, const rgm_trainer_initialize *options)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_parameters_count(parameters);
    rgm_tensor **found = NULL;

    RGM_GO(check_options(options, parameters));
    RGM_GO(RGM_NEW(found, count));
    if (options->adapt.count > 0)
        RGM_GO(rgm_parameters_to_host(parameters));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(look_up(&found[i], report, parameters, i, source, options));
    RGM_GO(report_unused(report, parameters, source));
    if (report->matched == 0)
        RGM_GO(RGM_FAIL(
            RGM_ERR_NOT_FOUND, "nothing of %s fits this model: it has e.g. '%s', the model '%s'",
            options->checkpoint, source_count(source) > 0 ? source_name(source, 0) : "nothing",
            count > 0 ? rgm_parameters_name(parameters, 0) : "no parameters"));
    rgm_parameters_set(parameters, found);
done:
    for (int64_t i = 0; found != NULL && i < count; i++)
        rgm_tensor_release(found[i]);
    rgm_free(found);
    return status;
}

rgm_status rgm_run_of_weights(char **out, const char *path)
{
    static const char *const above[] = {"", "/..", "/../.."}; /* of ckpt/, of ckpt/step-00000100/ */
    const char *slash = strrchr(path, '/');
    bool is_folder = rgm_path_is_folder(path);
    int size = is_folder ? (int)strlen(path) : slash != NULL ? (int)(slash - path) : 1;

    *out = NULL;
    if (!is_folder && slash == NULL)
        path = ".";
    for (size_t i = 0; i < sizeof above / sizeof *above; i++) {
        bool found;

        RGM_TRY(rgm_strprintf(out, "%.*s%s", size, path, above[i]));
        found = rgm_run_folder_exists(*out) && rgm_folder_has(*out, "config.yaml");
        if (found)
            return RGM_OK;
        rgm_free(*out);
        *out = NULL;
    }
    return RGM_OK;
}

static rgm_status initialize(rgm_initialize_report *report, rgm_parameters *parameters,
                             const rgm_trainer_initialize *options, const rgm_task *task)
{
    weights_source source = {.task = task};
    rgm_status status = RGM_OK;

    *report = (rgm_initialize_report){0};
    RGM_GO(rgmi_initialize_names_check(&options->names));
    RGM_GO(open_source(&source, options));
    report->which = source.which;
    RGM_GO(list_names(&source));
    RGM_GO(rgm_run_of_weights(&source.run, options->checkpoint));
    RGM_GO(copy_weights(report, parameters, &source, options));
done:
    close_source(&source);
    if (status != RGM_OK)
        rgm_text_clear(&report->text);
    return status;
}

rgm_status rgm_parameters_initialize(rgm_initialize_report *report, rgm_parameters *parameters,
                                     const rgm_trainer_initialize *options)
{
    return initialize(report, parameters, options, NULL);
}

/*
 * Shapes agree where vocabularies do not: tables have a few more rows than pieces. So the files
 * that travel with weights (a tokenizer, what was learned about features) must be those of the run
 * that the weights come from; who names the parameters to take is told instead.
 */
static rgm_status check_files(const rgm_trainer *trainer)
{
    const rgm_trainer_initialize *options = &trainer->options.initialize;
    char *run = NULL;
    rgm_status status;

    RGM_TRY(rgm_run_of_weights(&run, options->checkpoint));
    if (run == NULL)
        return RGM_OK;
    status = rgm_task_files_check(&trainer->task, run);
    if (status == RGM_ERR_CONFIG &&
        (options->only.count + options->except.count > 0 ||
         (options->adapt.count > 0 && trainer->task.match_rows != NULL))) {
        rgm_log_write(RGM_LOG_WARNING, "trainer.initialize: %s", rgm_error_message());
        rgm_error_reset();
        status = RGM_OK;
    } else if (status == RGM_ERR_CONFIG)
        status = rgm_error_prefix(
            status, "trainer.initialize.checkpoint (name the parameters that may come from "
                    "there all the same by trainer.initialize.only or except)");
    rgm_free(run);
    return status;
}

rgm_status rgm_trainer_initialize_weights(rgm_trainer *trainer)
{
    const rgm_trainer_initialize *options = &trainer->options.initialize;
    rgm_initialize_report report = {0};

    if (options->checkpoint != NULL) {
        RGM_TRY(check_files(trainer));
        RGM_TRY(initialize(&report, trainer->parameters, options, &trainer->task));
        rgm_log_write(RGM_LOG_INFO,
                      "initialized %lld of %lld parameters from the %sweights of %s; %lld of its "
                      "tensors unused",
                      (long long)report.matched, (long long)(report.matched + report.left),
                      report.which, options->checkpoint, (long long)report.unused);
        rgm_log_lines("", report.text.data);
        rgm_text_clear(&report.text);
    }
    if (trainer->task.initialize != NULL)
        RGM_TRY(trainer->task.initialize(trainer->parameters, trainer->task.state));
    rgm_trainer_reset_averages(trainer);
    return RGM_OK;
}

rgm_status rgm_trainer_reset(rgm_trainer *trainer)
{
    rgm_parameters *fresh = NULL;
    rgm_optimizer *optimizer = trainer->optimizer;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_parameters_create(&fresh, trainer->graph, (uint64_t)trainer->runtime.seed));
    RGM_GO(rgm_parameters_take(trainer->parameters, fresh));
    trainer->optimizer = NULL;
    RGM_GO(rgmi_optimizer_open(trainer));
    rgm_optimizer_release(optimizer);
    optimizer = NULL;
    trainer->step = trainer->updates = 0;
    rgm_trainer_drop_loop(trainer);
    RGM_GO(rgm_trainer_initialize_weights(trainer));
    if (trainer->hooks.roll_back_state != NULL)
        RGM_GO(trainer->hooks.roll_back_state(NULL, trainer->hooks.payload));
done:
    if (optimizer != NULL)
        trainer->optimizer = optimizer;
    rgm_parameters_release(fresh);
    return status;
}
