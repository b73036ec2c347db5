/*
 * The run folder: created or entered, and locked for one trainer. It holds the configuration that
 * the run was started with, a description of the present machine, and the log.
 */
#include "run_config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LARGEST_CONFIG (INT64_C(4) << 20)
#define MOST_WARNINGS  20 /* that are kept as texts; log.txt has all of them */

struct rgm_run_folder {
    char *path;
    int lock;
    int log_file;
    rgm_logger *log;
    pthread_mutex_t noting; /* threads of pools warn as well */
    char *warnings[MOST_WARNINGS];
    int64_t warning_count;
};

/* ---- config and environment ---------------------------------------------------------------- */

/* Written before config.yaml: if the process is killed between the two, the folder still has no new
 * configuration, and the next start writes both. */
static rgm_status write_sources(const rgm_run_folder *folder, const char *sources, bool replace)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    if (sources == NULL)
        return RGM_OK;
    RGM_GO(rgm_path_join(&path, folder->path, "sources.json"));
    if (replace || !rgm_path_exists(path))
        RGM_GO(rgm_file_save_own(path, sources, (int64_t)strlen(sources)));
done:
    rgm_free(path);
    return status;
}

/* Whether anything was saved: a start that failed before, by a key that was wrong say, binds
 * nobody. */
static rgm_status has_steps(bool *out, const char *checkpoints)
{
    rgm_checkpoint_store_options options = RGM_CHECKPOINT_STORE_OPTIONS_INIT;
    rgm_checkpoint_store *store = NULL;
    int64_t *steps = NULL, count = 0;
    rgm_status status = RGM_OK;

    *out = false;
    if (!rgm_path_is_folder(checkpoints))
        return RGM_OK;
    options.read_only = true;
    RGM_GO(rgm_checkpoint_store_open(&store, checkpoints, &options));
    RGM_GO(rgm_checkpoint_steps(&steps, &count, store));
    *out = count > 0;
done:
    rgm_free(steps);
    rgm_checkpoint_store_close(store);
    return status;
}

rgm_status rgm_run_folder_is_bound(bool *out, const char *path)
{
    char *checkpoints = NULL;
    rgm_status status = RGM_OK;

    *out = false;
    RGM_GO(rgm_path_join(&checkpoints, path, "ckpt"));
    RGM_GO(has_steps(out, checkpoints));
    if (!*out)
        RGM_GO(rgm_run_folder_in_use(out, path));
done:
    rgm_free(checkpoints);
    return status;
}

static rgm_status write_config(rgm_run_folder *folder, const rgm_run_folder_options *options,
                               rgmi_config_changes *changes)
{
    char *path = NULL, *old = NULL, *checkpoints = NULL;
    int64_t size = 0;
    bool begun = false, same = false;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, folder->path, "config.yaml"));
    RGM_GO(rgm_path_join(&checkpoints, folder->path, "ckpt"));
    if ((rgm_path_exists(path) || rgm_path_is_folder(checkpoints)) &&
        options->resume == RGM_RESUME_NEVER) {
        status = RGM_FAIL(RGM_ERR_CONFIG, "%s holds a run already; take another run folder",
                          folder->path);
        goto done;
    }
    if (options->config == NULL)
        goto done;
    if (rgm_path_exists(path)) {
        RGM_GO(rgm_file_load(&old, &size, path, LARGEST_CONFIG));
        RGM_GO(has_steps(&begun, checkpoints));
        same = strcmp(old, options->config) == 0;
        if (options->resume == RGM_RESUME_SAME && begun && !same)
            RGM_GO(rgmi_config_compare(changes, folder->path, old, options->config,
                                       options->resume_keys));
        RGM_GO(rgmi_config_changes_keep(changes, folder->path));
    }
    if (!begun)
        RGM_GO(rgmi_content_keep(folder->path, options->config, options->resume_keys));
    RGM_GO(write_sources(folder, options->sources, !same));
    if (!same)
        RGM_GO(rgm_file_save_own(path, options->config, (int64_t)strlen(options->config)));
done:
    rgm_free(path);
    rgm_free(old);
    rgm_free(checkpoints);
    return status;
}

static rgm_status write_environment(const rgm_run_folder *folder,
                                    const rgm_run_folder_options *options)
{
    char *path = NULL, host[256] = "";
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    gethostname(host, sizeof host - 1);
    RGM_GO(rgm_path_join(&path, folder->path, "env.json"));
    RGM_GO(rgm_text_printf(&text, "{\n  \"version\": \"" RGM_VERSION "\",\n  \"compiler\": "));
    RGM_GO(rgm_json_print_text(&text, __VERSION__));
    RGM_GO(rgm_text_printf(&text, ",\n  \"isa\": "));
    RGM_GO(rgm_json_print_text(&text, options->isa ? options->isa : ""));
    RGM_GO(rgm_text_printf(&text, ",\n  \"threads\": %d,\n  \"seed\": %" PRIu64 ",\n  \"host\": ",
                           options->threads, options->seed));
    RGM_GO(rgm_json_print_text(&text, host));
    RGM_GO(rgm_text_printf(&text, "\n}\n"));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    return status;
}

rgm_status rgm_run_folder_config(char **text, int64_t *size, const char *path)
{
    char *file = NULL;
    rgm_status status = RGM_OK;

    *text = NULL;
    *size = 0;
    RGM_GO(rgm_path_join(&file, path, "config.yaml"));
    RGM_GO(rgm_file_load(text, size, file, LARGEST_CONFIG));
done:
    rgm_free(file);
    return status;
}

/* ---- open, close, log ---------------------------------------------------------------------- */

static rgm_status open_log(rgm_run_folder *folder)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, folder->path, "log.txt"));
    RGM_GO(rgm_path_refuse_pipe(path));
    folder->log_file = rgmi_open(path, O_WRONLY | O_CREAT | O_APPEND);
    if (folder->log_file < 0)
        status = RGM_FAIL_SYSTEM("open", path);
done:
    rgm_free(path);
    return status;
}

static void note_warning(rgm_run_folder *folder, const char *message)
{
    pthread_mutex_lock(&folder->noting);
    if (folder->warning_count < MOST_WARNINGS &&
        rgm_strdup(&folder->warnings[folder->warning_count], message) != RGM_OK)
        folder->warnings[folder->warning_count] = NULL; /* it is counted */
    folder->warning_count++;
    pthread_mutex_unlock(&folder->noting);
}

rgm_status rgm_run_folder_print_warnings(rgm_json_writer *out, rgm_run_folder *folder)
{
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&folder->noting);
    RGM_GO(rgm_json_open_object(out, "warnings", RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_int(out, "count", folder->warning_count));
    RGM_GO(rgm_json_open_list(out, "first", RGM_JSON_SPACED));
    for (int64_t i = 0; i < folder->warning_count && i < MOST_WARNINGS; i++)
        if (folder->warnings[i] != NULL)
            RGM_GO(rgm_json_write_text(out, NULL, folder->warnings[i]));
    RGM_GO(rgm_json_close(out));
    RGM_GO(rgm_json_close(out));
done:
    pthread_mutex_unlock(&folder->noting);
    return status;
}

/* The folder's rgm_log_sink. */
static void write_log(int level, const char *message, void *payload)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    rgm_run_folder *folder = payload;
    const char *name = level >= 0 && level < 4 ? names[level] : "info";
    time_t now = (time_t)rgm_wall_time();
    char stamp[32] = "";
    rgm_text line = {0};
    rgm_error error;
    struct tm when;

    /* The caller may be returning an error: keep it the last one. */
    rgm_error_save(&error, RGM_ERR_IO);
    if (level == RGM_LOG_WARNING || level == RGM_LOG_ERROR)
        note_warning(folder, message);
    if (gmtime_r(&now, &when) != NULL)
        strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &when);
    if (rgm_text_printf(&line, "%s %s ", stamp, name) == RGM_OK &&
        rgm_text_add_visible(&line, message) == RGM_OK && rgm_text_add(&line, "\n", 1) == RGM_OK)
        (void)rgm_write_all(folder->log_file, line.data, line.size, "log.txt");
    rgm_text_clear(&line);
    if (error.message[0] != 0)
        (void)rgm_error_restore(&error);
}

rgm_status rgm_run_folder_open(rgm_run_folder **out, const char *path,
                               const rgm_run_folder_options *options)
{
    const rgm_run_folder_options defaults = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *folder = NULL;
    rgmi_config_changes changes = {0};
    rgm_logger *before;
    rgm_status status = RGM_OK;

    *out = NULL;
    if (options == NULL)
        options = &defaults;
    RGM_GO(RGM_NEW(folder, 1));
    folder->lock = folder->log_file = -1;
    pthread_mutex_init(&folder->noting, NULL);
    RGM_GO(rgm_strdup(&folder->path, path));
    RGM_GO(rgmi_run_lock(&folder->lock, path));
    RGM_GO(rgm_folder_sweep(path));
    RGM_GO(rgmi_sweep_beside(path));
    RGM_GO(write_config(folder, options, &changes));
    RGM_GO(write_environment(folder, options));
    RGM_GO(open_log(folder));
    RGM_GO(rgm_logger_create(&folder->log));
    RGM_GO(rgm_logger_add_sink(folder->log, write_log, folder));
    before = rgm_logger_enter(folder->log);
    rgmi_config_changes_tell(&changes);
    status = rgmi_content_tell(path, options->config, options->resume_keys);
    rgm_logger_enter(before);
    RGM_GO(status);
    *out = folder;
    folder = NULL;
done:
    rgmi_config_changes_clear(&changes);
    rgm_run_folder_close(folder);
    return status;
}

void rgm_run_folder_close(rgm_run_folder *folder)
{
    if (folder == NULL)
        return;
    if (folder->log != NULL) /* threads may have it yet */
        rgm_logger_remove_sink(folder->log, write_log, folder);
    rgm_logger_release(folder->log);
    for (int i = 0; i < MOST_WARNINGS; i++)
        rgm_free(folder->warnings[i]);
    pthread_mutex_destroy(&folder->noting);
    if (folder->log_file >= 0)
        close(folder->log_file);
    if (folder->lock >= 0)
        close(folder->lock);
    rgm_free(folder->path);
    rgm_free(folder);
}

rgm_logger *rgm_run_folder_logger(const rgm_run_folder *folder)
{
    return folder->log;
}
