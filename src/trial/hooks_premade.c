/*
 * Premade estimators: hooks that describe one of the library's tasks, which then is an experiment
 * like one of a file, with all that its task has.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hooks.h"

struct rgm_premade {
    rgm_yaml *document;
    rgm_error error; /* of the first call that failed; status RGM_OK: none */
};

/* ---- what a hook calls ----------------------------------------------------------------------- */

static bool goes_on(const rgm_premade *premade)
{
    return premade->error.status == RGM_OK;
}

static void keep(rgm_premade *premade, rgm_status status)
{
    if (status == RGM_OK)
        return;
    rgm_error_save(&premade->error, status);
    rgm_error_reset();
}

void rgm_premade_begin(rgm_premade *premade, const char *name)
{
    rgm_yaml *merged = NULL;
    rgm_status status;

    if (!goes_on(premade))
        return;
    status = rgm_experiment_merge_layers(&merged, &(rgm_experiment_layers){.name = name});
    if (status == RGM_OK) {
        rgm_yaml_release(premade->document);
        premade->document = merged;
    }
    keep(premade, status);
}

void rgm_premade_set(rgm_premade *premade, const char *key, const char *format, ...)
{
    rgm_status status;
    char text[4096];
    va_list args;
    int size;

    if (!goes_on(premade))
        return;
    va_start(args, format);
    size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    status = size >= 0 && size < (int)sizeof text
                 ? rgm_yaml_set(premade->document, key, text, "build_premade")
                 : RGM_FAIL(RGM_ERR_ARG, "%s: a value of %d bytes, at most %zu are possible", key,
                            size, sizeof text - 1);
    keep(premade, status);
}

void rgm_premade_take(rgm_premade *premade, const char *key, const rgm_config *config,
                      const char *from)
{
    const rgm_yaml_node *node = rgm_config_node(config, from);
    rgm_status status = RGM_OK;
    char *text = NULL;

    if (!goes_on(premade))
        return;
    if (node == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s has no '%s', which becomes '%s'", config->what, from,
                        key));
    RGM_GO(rgm_yaml_flow_text(&text, node));
    RGM_GO(rgm_yaml_set(premade->document, key, text, node->origin));
done:
    rgm_free(text);
    keep(premade, status);
}

/* ---- the experiment -------------------------------------------------------------------------- */

static rgm_status ask(rgm_premade *premade, rgmi_hooks_task *task)
{
    rgm_status status;

    RGM_TRY(rgm_yaml_parse(&premade->document, "", 0, "build_premade"));
    status = task->hooks->build_premade(premade, &task->experiment, &task->hparams);
    if (status == RGM_OK && premade->error.status != RGM_OK)
        status = rgm_error_restore(&premade->error);
    return rgmi_hook_done(task, status, "build_premade");
}

static rgm_status load(rgm_experiment **out, const rgm_premade *premade,
                       const rgm_trial_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_yaml *point = NULL;

    RGM_GO(rgm_search_file_point_over(&point, setup->file, premade->document, setup->values,
                                      setup->seed));
    RGM_GO(rgm_experiment_load_merged(out, rgm_search_file_path(setup->file), point, NULL));
    RGM_GO(rgmi_check_single(*out, rgm_search_file_path(setup->file)));
done:
    if (status != RGM_OK) {
        rgm_experiment_release(*out);
        *out = NULL;
    }
    rgm_yaml_release(point);
    return status;
}

rgm_status rgmi_premade_experiment(rgm_experiment **out, char **name, const rgm_trial_setup *setup)
{
    rgm_premade premade = {.document = NULL};
    rgmi_hooks_task *task = NULL;
    rgm_arena *arena = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    if (setup->hooks != NULL && setup->hooks->build_premade == NULL)
        return RGM_OK;
    RGM_GO(rgm_arena_create(&arena));
    RGM_GO(rgmi_hooks_task_begin(&task, setup, arena));
    if (task->hooks->build_premade == NULL)
        goto done;
    RGM_GO(ask(&premade, task));
    if (name != NULL)
        RGM_GO(rgm_strdup(name, task->hooks->name));
    RGM_GO(rgm_error_prefix(load(out, &premade, setup), "trial '%s': build_premade",
                            task->hooks->name));
done:
    rgm_yaml_release(premade.document);
    rgmi_hooks_task_release(task);
    rgm_arena_release(arena);
    return status;
}
