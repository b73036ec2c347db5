/*
 * The run folder: created or entered, and locked for one trainer. It holds the configuration that
 * the run was started with, a description of the present machine, and the log. The lock is the
 * kernel's and ends with its process.
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LARGEST_CONFIG (INT64_C(4) << 20)

struct rgm_run_folder {
    char *path;
    int lock;
    int log_file;
    rgm_logger *log;
};

/* ---- lock ---------------------------------------------------------------------------------- */

static rgm_status busy(int fd, const char *path)
{
    char holder[320];
    rgm_text shown = {0};
    ssize_t size = pread(fd, holder, sizeof holder - 1, 0);
    rgm_status status;

    holder[size > 0 ? size : 0] = 0;
    holder[strcspn(holder, "\n")] = 0;
    if (rgm_text_add_visible(&shown, holder[0] ? holder : "another process") != RGM_OK)
        rgm_text_clear(&shown);
    status = RGM_FAIL(RGM_ERR_BUSY,
                      "run folder %s is in use by %s; wait for it, stop it, or take another folder",
                      path, shown.data ? shown.data : "another process");
    rgm_text_clear(&shown);
    return status;
}

/* A process that checks whether the folder is in use holds the lock for a moment, so a trainer
 * tries a few times. */
static int lock_patiently(int fd)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    int result = flock(fd, LOCK_EX | LOCK_NB);

    for (int attempt = 0; result < 0 && errno == EWOULDBLOCK && attempt < 4; attempt++) {
        nanosleep(&moment, NULL);
        result = flock(fd, LOCK_EX | LOCK_NB);
    }
    return result;
}

static rgm_status take_lock(rgm_run_folder *folder)
{
    char *path = NULL, host[256] = "", text[320];
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, folder->path, ".lock"));
    RGM_GO(rgm_path_refuse_pipe(path));
    folder->lock = rgmi_open(path, O_RDWR | O_CREAT);
    if (folder->lock < 0) {
        status = RGM_FAIL_SYSTEM("open", path);
        goto done;
    }
    if (lock_patiently(folder->lock) < 0) {
        status =
            errno == EWOULDBLOCK ? busy(folder->lock, folder->path) : RGM_FAIL_SYSTEM("lock", path);
        goto done;
    }
    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "pid %ld on host %s\n", (long)getpid(), host);
    if (rgmi_cut(folder->lock, 0) < 0) {
        status = RGM_FAIL_SYSTEM("write", path);
        goto done;
    }
    RGM_GO(rgm_write_all(folder->lock, text, (int64_t)strlen(text), path));
done:
    rgm_free(path);
    return status;
}

rgm_status rgm_run_folder_in_use(bool *out, const char *path)
{
    char *file = NULL;
    int fd = -1;
    rgm_status status = RGM_OK;

    *out = false;
    RGM_GO(rgm_path_join(&file, path, ".lock"));
    RGM_GO(rgm_path_refuse_pipe(file));
    fd = rgmi_open(file, O_RDONLY);
    if (fd < 0) {
        if (errno != ENOENT)
            status = RGM_FAIL_SYSTEM("open", file);
        goto done;
    }
    *out = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
done:
    if (fd >= 0)
        close(fd);
    rgm_free(file);
    return status;
}

/* ---- config and environment ---------------------------------------------------------------- */

/* A run may be made longer, use other threads or be profiled, which change no bit of a result:
 * these lines, and the lines nested in them, may differ. */
static bool may_differ(const char *line)
{
    static const char *const keys[] = {"epochs:", "train_steps:", "threads:", "profile:"};

    line += strspn(line, " ");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strncmp(line, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

static const char *next_line(const char *text, int64_t *line)
{
    text += strcspn(text, "\n");
    ++*line;
    return text + (*text == '\n');
}

/* Go to the next line that must agree, and count the lines passed. */
static const char *to_fixed_line(const char *text, int64_t *line)
{
    while (*text != 0 && may_differ(text)) {
        size_t indent = strspn(text, " ");

        text = next_line(text, line);
        while (*text != 0 && strspn(text, " ") > indent)
            text = next_line(text, line);
    }
    return text;
}

/* The number of the first line that differs, 0 if none does, and that line of each text, cut to
 * fit. */
static int64_t first_difference(const char *a, const char *b, char shown[2][80])
{
    int64_t line = 1, other = 1;

    for (;;) {
        size_t size;

        a = to_fixed_line(a, &line);
        b = to_fixed_line(b, &other);
        size = strcspn(a, "\n");
        if (size != strcspn(b, "\n") || memcmp(a, b, size) != 0 || (*a == 0) != (*b == 0))
            break;
        if (a[size] == 0 && b[size] == 0)
            return 0;
        a += size + (a[size] == '\n');
        b += size + (b[size] == '\n');
        line++;
        other++;
    }
    snprintf(shown[0], 80, "%.*s", (int)strcspn(a, "\n"), a);
    snprintf(shown[1], 80, "%.*s", (int)strcspn(b, "\n"), b);
    return line;
}

static rgm_status check_config(const char *path, const char *old, const char *new)
{
    char shown[2][80];
    int64_t line = first_difference(old, new, shown);

    if (line == 0)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s was begun with another configuration: line %" PRId64 " was '%s' and is now "
                    "'%s'. Take another run folder",
                    path, line, shown[0], shown[1]);
}

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

static rgm_status write_config(rgm_run_folder *folder, const rgm_run_folder_options *options)
{
    char *path = NULL, *old = NULL, *checkpoints = NULL;
    int64_t size = 0;
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
        if (strcmp(old, options->config) == 0) {
            status = write_sources(folder, options->sources, false);
            goto done;
        }
        if (options->resume == RGM_RESUME_SAME)
            RGM_GO(check_config(path, old, options->config));
    }
    RGM_GO(write_sources(folder, options->sources, true));
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

/* The folder's rgm_log_sink. */
static void write_log(int level, const char *message, void *payload)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const rgm_run_folder *folder = payload;
    const char *name = level >= 0 && level < 4 ? names[level] : "info";
    time_t now = (time_t)rgm_wall_time();
    char stamp[32] = "";
    rgm_text line = {0};
    rgm_error error;
    struct tm when;

    /* The caller may be returning an error: keep it the last one. */
    rgm_error_save(&error, RGM_ERR_IO);
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
    rgm_status status = RGM_OK;

    *out = NULL;
    if (options == NULL)
        options = &defaults;
    RGM_GO(RGM_NEW(folder, 1));
    folder->lock = folder->log_file = -1;
    RGM_GO(rgm_strdup(&folder->path, path));
    RGM_GO(rgm_folder_make(path));
    RGM_GO(take_lock(folder));
    RGM_GO(rgm_folder_sweep(path));
    RGM_GO(write_config(folder, options));
    RGM_GO(write_environment(folder, options));
    RGM_GO(open_log(folder));
    RGM_GO(rgm_logger_create(&folder->log));
    RGM_GO(rgm_logger_add_sink(folder->log, write_log, folder));
    *out = folder;
    folder = NULL;
done:
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
