/*
 * A run's exports: of the finished run, and during training numbered by step, in the layout in
 * which servers look for versions. <run>/export/1200/ has the exporters' files for the weights of
 * step 1,200, whole or not at all. The newest few stay, and <run>/export itself has the last. An
 * export is written before the checkpoint of its step, so one that is killed is made again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_internal.h"

/* ---- files ---------------------------------------------------------------------------------- */

static rgm_status save_exports(const rgm_open_run *run, const char *folder)
{
    const rgm_run_options *o = &run->options;
    rgm_exporter onnx = rgm_onnx_exporter();
    const rgm_exporter *exporters = o->exporter_count > 0 ? o->exporters : &onnx;
    int64_t count = o->exporter_count > 0 ? o->exporter_count : 1;

    RGM_TRY(rgm_trainer_check_weights(run->trainer, "exported"));
    RGM_TRY(rgm_folder_make(folder));
    for (int64_t i = 0; i < count; i++) {
        double begin = rgm_trainer_profile_now(run->trainer);
        rgm_status status = exporters[i].save(run, folder, exporters[i].payload);

        rgm_trainer_profile_beside(run->trainer, "export", exporters[i].name, begin);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "exporter '%s'", exporters[i].name);
    }
    return RGM_OK;
}

/* ---- of the finished run -------------------------------------------------------------------- */

static rgm_status export_to(rgm_open_run *run, const char *folder)
{
    RGM_TRY(RGM_RESERVE(run->exports, run->export_capacity, run->export_count + 1));
    RGM_TRY(save_exports(run, folder));
    RGM_TRY(rgm_strdup(&run->exports[run->export_count], folder));
    run->export_count++;
    rgmi_log_export(run->controller, folder);
    return RGM_OK;
}

/* The folder is the run's own, so leftovers of a killed export may be removed. */
static rgm_status export_beside(rgm_open_run *run)
{
    rgm_status status = RGM_OK;
    char *folder = NULL;

    if (run->options.run_dir == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "a run without run_dir is exported to a folder by name");
    RGM_GO(rgm_path_join(&folder, run->options.run_dir, "export"));
    if (rgm_path_is_folder(folder))
        RGM_GO(rgm_folder_sweep(folder));
    RGM_GO(export_to(run, folder));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgm_run_export(rgm_open_run *run, const char *folder)
{
    rgm_logger *before = rgmi_enter(run->controller);

    return rgmi_leave(before, folder != NULL ? export_to(run, folder) : export_beside(run));
}

/* 0: the run's own. */
static int64_t named_folders(const char *const **dirs, const rgm_run_options *o)
{
    const rgm_texts *named = &o->trainer.exports.dirs;

    *dirs = o->export_dirs != NULL ? o->export_dirs : named->items;
    if (*dirs == NULL)
        return 0;
    return o->export_dirs != NULL ? o->export_dir_count : named->count;
}

rgm_status rgmi_run_export_all(rgm_open_run *run)
{
    const rgm_run_options *o = &run->options;
    const char *const *dirs;
    int64_t count = named_folders(&dirs, o);

    if (o->exporter_count == 0)
        return RGM_OK;
    if (count == 0)
        return export_beside(run);
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(export_to(run, dirs[i]));
    return RGM_OK;
}

/* ---- numbered folders ----------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The steps that have exports, ascending; rgm_free(*steps). */
static rgm_status list_numbers(int64_t **steps, int64_t *count, const char *root)
{
    char **names = NULL;
    int64_t found = 0;
    rgm_status status = RGM_OK;

    *steps = NULL;
    *count = 0;
    RGM_GO(rgm_folder_list(&names, &found, root));
    RGM_GO(RGM_NEW(*steps, found));
    for (int64_t i = 0; i < found; i++) {
        size_t size = strlen(names[i]);

        if (size < 1 || size > 15 || strspn(names[i], "0123456789") != size ||
            (names[i][0] == '0' && size > 1))
            continue;
        (*steps)[(*count)++] = strtoll(names[i], NULL, 10);
    }
    qsort(*steps, (size_t)*count, sizeof **steps, by_number);
done:
    rgm_names_release(names, found);
    return status;
}

/* Rename out of sight, then remove: a server must not load half of one. */
static rgm_status remove_number(const char *root, int64_t step, const char *aside)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_strprintf(&path, "%s/%lld", root, (long long)step));
    if (rename(path, aside) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("remove the old export", path));
    RGM_GO(rgm_folder_remove(aside));
done:
    rgm_free(path);
    return status;
}

static rgm_status keep_newest(const char *root, int64_t keep, const char *aside)
{
    int64_t *steps = NULL, count = 0;
    rgm_status status = RGM_OK;

    if (keep == 0)
        return RGM_OK;
    RGM_GO(list_numbers(&steps, &count, root));
    for (int64_t i = 0; i < count - keep; i++)
        RGM_GO(remove_number(root, steps[i], aside));
done:
    rgm_free(steps);
    return status;
}

/* ---- on the way ----------------------------------------------------------------------------- */

typedef struct export_job {
    const rgm_open_run *run;
    const char *folder;
} export_job;

static rgm_status save_job(void *payload)
{
    const export_job *job = payload;

    return save_exports(job->run, job->folder);
}

static rgm_status export_weights(const rgm_open_run *run, const char *folder)
{
    return rgm_trainer_with_averages(run->trainer, save_job, &(export_job){run, folder});
}

static rgm_status export_number(rgm_open_run *run, const char *root, const char *aside)
{
    char *path = NULL;
    rgm_status status = RGM_OK;
    rgm_error error;

    if (rgm_path_exists(aside))
        RGM_GO(rgm_folder_remove(aside));
    RGM_GO(export_weights(run, aside));
    RGM_GO(rgm_strprintf(&path, "%s/%lld", root, (long long)rgm_trainer_global_step(run->trainer)));
    RGM_GO(rgm_folder_publish(aside, path));
    if (rgm_path_exists(
            aside)) /* of the same step, left by a process that was killed after the rename */
        RGM_GO(rgm_folder_remove(aside));
    RGM_GO(keep_newest(root, run->options.trainer.exports.keep, aside));
    RGM_GO(export_weights(run, root));
done:
    if (status != RGM_OK && rgm_path_exists(aside)) {
        rgm_error_save(&error, status);
        (void)rgm_folder_remove(aside);
        status = rgm_error_restore(&error);
    }
    rgm_free(path);
    return status;
}

/* <run>/export, and the folder in it where an export is written. */
static rgm_status export_paths(char **root, char **aside, const rgm_open_run *run)
{
    RGM_TRY(rgm_path_join(root, run->options.run_dir, "export"));
    return rgm_strprintf(aside, "%s/next.partial-%ld", *root, (long)getpid());
}

/* The controller's export_step. */
static rgm_status export_step(void *payload)
{
    rgm_open_run *run = payload;
    char *root = NULL, *aside = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(export_paths(&root, &aside, run));
    RGM_GO(rgm_folder_make(root));
    RGM_GO(export_number(run, root, aside));
    if (rgmi_is_told(run->controller, RGMI_LINES_EXPORTS))
        rgmi_log_export(run->controller, root);
done:
    rgm_free(root);
    rgm_free(aside);
    return status;
}

/* ---- in checkpoints ------------------------------------------------------------------------- */

/* The row of a name; NULL: there is none, or it has keys of its own. */
static const rgm_exporter_type *row_of(const char *name)
{
    for (int64_t i = 0; rgm_exporter_types[i] != NULL; i++)
        if (strcmp(rgm_exporter_types[i]->section.name, name) == 0 &&
            rgm_exporter_types[i] != &rgmi_weights_exporter)
            return rgm_exporter_types[i];
    return NULL;
}

static rgm_status no_exporter(const char *name)
{
    const char *all[16];
    int64_t count = 0;

    for (int64_t i = 0; rgm_exporter_types[i] != NULL && count < 16; i++)
        if (row_of(rgm_exporter_types[i]->section.name) != NULL)
            all[count++] = rgm_exporter_types[i]->section.name;
    return RGM_FAIL(RGM_ERR_CONFIG, "trainer.checkpoint.exports: there is no exporter '%s'%s", name,
                    rgm_did_you_mean(name, all, count, NULL, "there are ").text);
}

rgm_status rgmi_run_checkpoint_exports_check(const rgm_open_run *run)
{
    const rgm_run_options *o = &run->options;
    const rgm_texts *names = &o->trainer.checkpoint.exports;

    for (int64_t i = 0; i < names->count; i++) {
        const rgm_exporter_type *row = row_of(names->items[i]);

        if (row == NULL)
            return no_exporter(names->items[i]);
        if (row->check != NULL)
            RGM_TRY(rgm_error_prefix(row->check(run, NULL), "trainer.checkpoint.exports: %s",
                                     names->items[i]));
    }
    for (int64_t i = 0; i < o->checkpoint_exporter_count; i++) {
        const rgm_exporter *exporter = &o->checkpoint_exporters[i];

        if (exporter->check != NULL)
            RGM_TRY(rgm_error_prefix(exporter->check(run, exporter->payload), "exporter '%s'",
                                     exporter->name));
    }
    return RGM_OK;
}

/* The controller's fill. */
static rgm_status fill_checkpoint(const char *folder, void *payload)
{
    rgm_open_run *run = payload;
    const rgm_run_options *o = &run->options;
    const rgm_texts *names = &o->trainer.checkpoint.exports;
    double begin = rgm_trainer_profile_now(run->trainer);
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, folder, "export"));
    if (names->count > 0)
        RGM_GO(rgm_folder_make(path));
    for (int64_t i = 0; i < names->count; i++)
        RGM_GO(rgm_error_prefix(row_of(names->items[i])->save(run, path, NULL), "exporter '%s'",
                                names->items[i]));
    if (names->count > 0)
        RGM_GO(rgm_folder_sync(path));
    for (int64_t i = 0; i < o->checkpoint_exporter_count; i++)
        RGM_GO(rgm_error_prefix(
            o->checkpoint_exporters[i].save(run, folder, o->checkpoint_exporters[i].payload),
            "exporter '%s'", o->checkpoint_exporters[i].name));
    rgm_trainer_profile_beside(run->trainer, "export", "checkpoint", begin);
done:
    rgm_free(path);
    return status;
}

static void open_checkpoint_exports(rgm_open_run *run)
{
    if (run->options.trainer.checkpoint.exports.count == 0 &&
        run->options.checkpoint_exporter_count == 0)
        return;
    run->controller->fill = fill_checkpoint;
    run->controller->fill_payload = run;
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool exports_on_the_way(const rgm_run_options *o)
{
    const rgm_trainer_exports *when = &o->trainer.exports;

    return when->every_steps > 0 || when->validations || when->checkpoints;
}

rgm_status rgmi_run_exports_check(const rgm_run_options *o)
{
    bool when = exports_on_the_way(o), where = o->trainer.exports.dirs.count > 0;

    if (o->exporter_count > 0 || !(when || where) || (o->run_dir == NULL && o->export_dirs == NULL))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "trainer.exports%s says %s to export, but there is no exporter: add export: "
                    "[{type: onnx}]",
                    when ? "" : ".dirs", when ? "when" : "where");
}

static rgm_status check_folder(const rgm_open_run *run, const char *folder)
{
    const rgm_run_options *o = &run->options;

    for (int64_t i = 0; i < o->exporter_count; i++)
        RGM_TRY(rgm_error_prefix(rgmi_exporter_fits(run, &o->exporters[i], folder), "exporter '%s'",
                                 o->exporters[i].name));
    return RGM_OK;
}

rgm_status rgmi_run_export_folders_check(const rgm_open_run *run)
{
    const rgm_run_options *o = &run->options;
    rgm_status status = RGM_OK;
    const char *const *dirs;
    int64_t count = named_folders(&dirs, o);
    char *own = NULL;

    for (int64_t i = 0; i < count; i++)
        RGM_GO(check_folder(run, dirs[i]));
    if (o->run_dir == NULL || (count > 0 && !exports_on_the_way(o)))
        goto done;
    RGM_GO(rgm_path_join(&own, o->run_dir, "export"));
    RGM_GO(check_folder(run, own));
done:
    rgm_free(own);
    return status;
}

rgm_status rgmi_run_exports_open(rgm_open_run *run)
{
    const rgm_run_options *o = &run->options;
    char *root = NULL, *aside = NULL, *next = NULL;
    rgm_status status = RGM_OK;

    if (run->controller->folder != NULL)
        open_checkpoint_exports(run);
    if (run->controller->folder == NULL || !exports_on_the_way(o))
        return RGM_OK;
    run->controller->export_step = export_step;
    run->controller->export_payload = run;
    RGM_GO(export_paths(&root, &aside, run));
    if (!rgm_path_is_folder(root))
        goto done;
    RGM_GO(rgm_path_join(&next, root, "next"));
    RGM_GO(rgm_path_sweep(next));
    RGM_GO(keep_newest(root, o->trainer.exports.keep, aside));
done:
    rgm_free(next);
    rgm_free(root);
    rgm_free(aside);
    return status;
}
