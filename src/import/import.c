/*
 * An import: read the source, describe its model as an experiment, build that, fill its weights,
 * account for every tensor, save it as a run of step 0. The run grows beside its folder and gets
 * its name last, so that a folder that has it is whole.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <regimen/train.h>

#include "model_import_internal.h"

enum { NAME_SIZE = 512 };

/* ---- the experiment -------------------------------------------------------------------------- */

static rgm_status describe(rgm_text *text, rgmi_import_work *work)
{
    rgmi_import_source *source = work->source;
    rgm_json_writer w = {.out = text};
    char line[256];

    snprintf(line, sizeof line, "%.120s, imported from %.100s", source->type, source->path);
    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(&w, "description", line));
    RGM_TRY(source->family->configure(&w, work));
    /* Without slots: those of Adam would be twice the weights in the checkpoint. What trains it
     * names an optimizer. */
    RGM_TRY(rgm_json_open_object(&w, "optimizer", RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(&w, "type", "sgd"));
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(rgmi_import_config_done(&source->config, source->family, work->options->ignored));
    if (work->numbers > source->bytes)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s speaks of %lld weights at least, but its files of tensors have %lld "
                        "bytes",
                        source->config.name, (long long)work->numbers, (long long)source->bytes);
    return RGM_OK;
}

/* The experiment of JSON, which is YAML. */
static rgm_status load_experiment(rgm_experiment **out, const rgm_text *text)
{
    rgm_yaml *yaml = NULL;
    rgm_status status;

    *out = NULL;
    RGM_TRY(rgm_yaml_parse(&yaml, text->data, text->size, "import"));
    status = rgm_experiment_load_merged(out, "import", yaml, NULL);
    rgm_yaml_release(yaml);
    return status;
}

static rgm_status open_run(rgm_open_run **out, rgm_experiment *experiment, const char *folder)
{
    rgm_run_options options;

    RGM_TRY(rgm_experiment_prepare(&options, experiment, folder));
    options.saves_on_request = true;
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        options.no_data[mode] = true;
    return rgm_experiment_open(out, experiment, &options);
}

/* ---- weights --------------------------------------------------------------------------------- */

static rgm_status check_finite(const rgm_tensor *x, const char *name)
{
    const float *numbers = rgm_tensor_f32(x);

    for (int64_t i = 0; i < rgm_tensor_count(x); i++)
        if (!isfinite(numbers[i]))
            return RGM_FAIL(RGM_ERR_NUMERIC, "'%s': number %lld is %g", name, (long long)i,
                            (double)numbers[i]);
    return RGM_OK;
}

static rgm_status take_one(rgmi_import_work *work, rgm_tensor *to, const char *ours)
{
    rgm_status status = RGM_OK;
    rgmi_import_source *source = work->source;
    rgm_tensor *from = NULL;
    char name[NAME_SIZE], how[96];
    int64_t layer, i;
    const rgm_weight_name *row = rgm_weight_find(work->names, ours, &layer);

    if (row == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: no weight of %s is our '%s'", source->path,
                        source->family->name, ours);
    RGM_TRY(rgm_weight_print(name, sizeof name, row->theirs, layer));
    i = rgmi_import_source_find(source, name);
    if (i < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "%s has no tensor '%s', which by its configuration the "
                        "model has",
                        source->path, name);
    RGM_GO(source->format->load(&from, source, i));
    status = rgm_weight_take(
        to, from, row, (row->how & RGM_WEIGHT_TARGET) != 0 ? &work->target_tokens : &work->tokens);
    if (status != RGM_OK)
        RGM_GO(rgm_error_prefix(status, "%s: %s", source->path, source->tensors[i].name));
    RGM_GO(check_finite(to, source->tensors[i].name));
    source->tensors[i].taken = true;
    RGM_GO(rgmi_import_row_add(work, source->tensors[i].name, from,
                               rgm_weight_describe(how, sizeof how, row), ours));
done:
    rgm_tensor_release(from);
    return status;
}

static rgm_status take_all(rgmi_import_work *work, rgm_parameters *parameters)
{
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++)
        RGM_TRY(take_one(work, rgm_parameters_tensor(parameters, i),
                         rgm_parameters_name(parameters, i)));
    rgm_parameters_touch(parameters);
    work->report->parameters = rgm_parameters_total(parameters);
    return RGM_OK;
}

/* ---- tensors that are left ------------------------------------------------------------------- */

static rgm_status check_same(const rgmi_import_work *work, int64_t i, const char *as)
{
    rgm_status status = RGM_OK;
    const rgmi_import_source *source = work->source;
    rgm_tensor *one = NULL, *other = NULL;
    int64_t k = rgmi_import_source_find(source, as);

    if (k < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has '%s' and no '%s', to which it is tied",
                        source->path, source->tensors[i].name, as);
    RGM_GO(source->format->load(&one, source, i));
    RGM_GO(source->format->load(&other, source, k));
    if (!rgm_tensor_is_like(one, other) ||
        memcmp(rgm_tensor_data(one), rgm_tensor_data(other), rgm_tensor_bytes(one)) != 0)
        status =
            RGM_FAIL(RGM_ERR_DATA,
                     "%s: '%s' differs from '%s', but the configuration says that one table is "
                     "both",
                     source->path, source->tensors[i].name, as);
done:
    rgm_tensor_release(one);
    rgm_tensor_release(other);
    return status;
}

static rgm_status leave_out(rgmi_import_work *work, int64_t i)
{
    rgmi_import_source *source = work->source;
    const rgmi_import_other *o = source->family->others;
    const char *name = source->tensors[i].name;

    for (; o->pattern != NULL; o++)
        if (fnmatch(o->pattern, name, 0) == 0) {
            if (o->same_as != NULL && o[1].pattern != NULL &&
                strcmp(o->pattern, o[1].pattern) == 0 &&
                rgmi_import_source_find(source, o->same_as) < 0)
                continue; /* tied to another one, which the next row names */
            if (o->same_as != NULL)
                RGM_TRY(check_same(work, i, o->same_as));
            return rgmi_import_row_add(work, name, NULL, o->why, NULL);
        }
    return RGM_FAIL(RGM_ERR_DATA, "%s: nothing of the model is '%s'; what it does would be missing",
                    source->path, name);
}

static rgm_status leave_out_others(rgmi_import_work *work)
{
    rgmi_import_source *source = work->source;

    for (int64_t i = 0; i < source->count; i++)
        if (!source->tensors[i].taken)
            RGM_TRY(leave_out(work, i));
    return RGM_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static rgm_status make_run(rgmi_import_work *work, const char *folder)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_experiment *experiment = NULL;
    rgm_open_run *run = NULL;

    RGM_GO(describe(&text, work));
    status = load_experiment(&experiment, &text);
    if (status == RGM_ERR_CONFIG) /* what our keys do not allow was said of their configuration */
        status = rgm_error_prefix(RGM_ERR_UNSUPPORTED, "%s", work->source->config.name);
    RGM_GO(status);
    RGM_GO(open_run(&run, experiment, folder));
    RGM_GO(take_all(work, rgm_trainer_parameters(rgm_run_trainer(run))));
    RGM_GO(leave_out_others(work));
    RGM_GO(rgm_run_save(run));
done:
    rgm_run_close(run);
    rgm_experiment_release(experiment);
    rgm_text_clear(&text);
    return status;
}

static rgm_status check_folder(const char *folder)
{
    char **names = NULL;
    int64_t count = 0;

    if (!rgm_path_exists(folder))
        return RGM_OK;
    RGM_TRY(rgm_folder_list(&names, &count, folder));
    rgm_names_release(names, count);
    if (count > 0)
        return RGM_FAIL(RGM_ERR_BUSY, "%s is not empty: an import begins a folder", folder);
    return RGM_OK;
}

static rgm_status make_beside(rgmi_import_work *work, const char *folder)
{
    rgm_status status = RGM_OK;
    char *beside = NULL;
    size_t size = strlen(folder);

    while (size > 1 && folder[size - 1] == '/')
        size--;
    RGM_TRY(rgm_strprintf(&beside, "%.*s.partial-%lld", (int)size, folder, (long long)getpid()));
    RGM_GO(rgm_folder_make(beside));
    RGM_GO(make_run(work, beside));
    RGM_GO(rgm_folder_publish(beside, folder));
done:
    if (status != RGM_OK) {
        rgm_error error;

        rgm_error_save(&error, status);
        (void)rgm_folder_remove(beside);
        status = rgm_error_restore(&error);
    } else if (rgm_path_is_folder(beside)) { /* the empty one that was there */
        status = rgm_folder_remove(beside);
    }
    rgm_free(beside);
    return status;
}

rgm_status rgm_model_import(rgm_model_import_report *report, const char *source, const char *folder,
                            const rgm_model_import_options *options)
{
    static const rgm_model_import_options none = {.cut_vocabulary = false};
    rgm_status status = RGM_OK;
    rgm_model_import_report own = {0};
    rgmi_import_source opened = {0};
    rgmi_import_work work = {.source = &opened,
                             .options = options != NULL ? options : &none,
                             .report = report != NULL ? report : &own};

    *work.report = (rgm_model_import_report){0};
    RGM_GO(check_folder(folder));
    RGM_GO(rgmi_import_source_open(&opened, source));
    work.report->source = opened.format->name;
    work.report->family = opened.type;
    work.names = opened.family->names;
    RGM_GO(make_beside(&work, folder));
done:
    rgmi_import_source_close(&opened);
    rgm_free(work.rows[0]);
    rgm_free(work.rows[1]);
    rgm_model_import_report_clear(&own);
    return status;
}
