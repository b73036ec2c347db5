/*
 * The exporter "weights": parameters by name in one safetensors file, of all layers or of some, for
 * other programs and for another run's trainer.initialize.
 */
#include <stdio.h>
#include <string.h>

#include "run_internal.h"

static const char *file_name(const rgm_weights_exporter_options *o)
{
    return o->file != NULL ? o->file : "weights.safetensors";
}

static rgm_status choose(rgm_named_tensor **out, int64_t *count, const rgm_open_run *run,
                         const rgm_weights_exporter_options *o)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(run->trainer);

    *count = 0;
    RGM_TRY(rgm_parameters_check_wanted(&o->only, &o->except, parameters, "export"));
    RGM_TRY(rgm_parameters_to_host(parameters));
    RGM_TRY(RGM_NEW(*out, rgm_parameters_count(parameters)));
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        const char *name = rgm_parameters_name(parameters, i);

        if (rgm_parameters_is_wanted(&o->only, &o->except, name))
            (*out)[(*count)++] =
                (rgm_named_tensor){name, (rgm_tensor *)rgm_parameters_read(parameters, i)};
    }
    if (*count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "export: only and except leave none of %lld parameters; "
                        "one is named %s",
                        (long long)rgm_parameters_count(parameters),
                        rgm_parameters_name(parameters, 0));
    return RGM_OK;
}

static rgm_status check(const rgm_open_run *run, void *options)
{
    rgm_named_tensor *tensors = NULL;
    int64_t count;
    rgm_status status = choose(&tensors, &count, run, options);

    rgm_free(tensors);
    return status;
}

static rgm_status save(const rgm_open_run *run, const char *folder, void *options)
{
    rgm_status status = RGM_OK;
    rgm_named_tensor *tensors = NULL;
    char *path = NULL, *beside = NULL, step[32];
    const char *metadata[] = {"format", "regimen", "step", step};
    int64_t count = 0;

    snprintf(step, sizeof step, "%lld", (long long)rgmi_weights_step(run->controller));
    RGM_GO(choose(&tensors, &count, run, options));
    RGM_GO(rgm_path_join(&path, folder, file_name(options)));
    RGM_GO(rgm_file_beside(&beside, path));
    status = rgm_safetensors_save(beside, tensors, count, metadata, 2);
    RGM_GO(rgm_file_publish(beside, path, status));
done:
    rgm_free(tensors);
    rgm_free(beside);
    rgm_free(path);
    return status;
}

static rgm_status check_options(const void *options)
{
    const rgm_weights_exporter_options *o = options;
    const char *name = file_name(o);

    if (strchr(name, '/') != NULL || name[0] == '.' || name[0] == '\0')
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "export.file '%s' should be the name of a file in the "
                        "export folder",
                        name);
    return RGM_OK;
}

#define RGM_OPTIONS rgm_weights_exporter_options
static const rgm_field fields[] = {
    RGM_TEXT_FIELD(file, "in the export folder; default weights.safetensors"),
    RGM_TEXTS_FIELD(only, "shell patterns of parameter names; none: all"),
    RGM_TEXTS_FIELD(except, "patterns of those left out"),
    {0}};
#undef RGM_OPTIONS

const rgm_exporter_type rgmi_weights_exporter = {
    .section = {.name = "weights",
                .help = "parameters by name in a safetensors file",
                .options_size = sizeof(rgm_weights_exporter_options),
                .fields = fields,
                .check = check_options},
    .save = save,
    .check = check,
};
