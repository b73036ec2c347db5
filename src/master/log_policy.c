/*
 * What a trial's log says of its failure: the patterns of `logs` in the search file, looked for in
 * the end of what the process wrote. One says that no other try mends it, another that the slots
 * are at fault.
 */
#include "master_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOKED_AT = 1 << 20 };
#define LOOKING_S 2

/* The end of the log, from where its process began to write; empty where there is none. */
static rgm_status read_end(rgm_text *out, rgm_master *master, const rgmi_experiment *e,
                           int64_t number, int64_t begin)
{
    rgm_status status = RGM_OK;
    struct stat info;
    char *path = NULL;
    ssize_t size;
    int fd = -1;

    RGM_GO(RGM_RESERVE(out->data, out->capacity, LOOKED_AT + 1));
    RGM_GO(rgmi_master_path(&path, master, e->id, number, "trial.log"));
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        goto done;
    if (begin < info.st_size - LOOKED_AT)
        begin = info.st_size - LOOKED_AT;
    size = begin < info.st_size ? pread(fd, out->data, LOOKED_AT, begin) : 0;
    out->size = size > 0 ? size : 0;
done:
    if (fd >= 0)
        close(fd);
    rgm_free(path);
    return status;
}

/* *line NULL: no line fits any of them. The master does nothing else meanwhile, so that patterns
 * which take long are told, and not looked for to the end. */
static rgm_status find_line(char **line, const rgm_text *text, const rgm_texts *patterns)
{
    double until = rgm_now() + LOOKING_S;

    *line = NULL;
    for (int64_t i = 0; i < patterns->count && *line == NULL; i++) {
        rgm_line_pattern *pattern;
        rgm_status status = RGM_OK;

        RGM_TRY(rgm_line_pattern_create(&pattern, patterns->items[i], false));
        for (int64_t at = 0; at < text->size && *line == NULL && status == RGM_OK;) {
            const char *begin = text->data + at,
                       *end = memchr(begin, '\n', (size_t)(text->size - at));
            int64_t size = end != NULL ? end - begin : text->size - at;

            if (rgm_now() > until) {
                rgm_log_write(RGM_LOG_WARNING,
                              "logs: the pattern '%s' takes too long: of %lld bytes of a trial's "
                              "log the first %lld were looked at",
                              patterns->items[i], (long long)text->size, (long long)at);
                break;
            }
            if (rgm_line_pattern_fits(pattern, begin, size))
                status = rgm_strndup(line, begin, (size_t)(size < 300 ? size : 300));
            at += size + 1;
        }
        rgm_line_pattern_release(pattern);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status drain(rgm_master *master, const rgmi_process *p, const char *line)
{
    for (int64_t i = 0; i < p->slot_count; i++) {
        int64_t slot = p->slots[i];

        RGM_TRY(rgmi_database_run(master->database,
                                  "INSERT OR IGNORE INTO drained_slots VALUES(?, ?)", "id", slot,
                                  rgm_wall_time()));
        master->slot_drained[slot] = true;
        rgm_log_write(RGM_LOG_WARNING,
                      "slot %lld gets no trial any more (regimen master enable %lld): the log of "
                      "trial %lld has '%s' (logs.drain)",
                      (long long)slot, (long long)slot, (long long)p->trial, line);
    }
    return RGM_OK;
}

rgm_status rgmi_log_policy(rgmi_run_end *how, char **message, rgm_master *master,
                           const rgmi_process *p)
{
    rgm_status status = RGM_OK;
    const rgm_search_logs *logs;
    rgmi_experiment *e;
    rgmi_trial *trial;
    rgm_text text = {0};
    char *fatal = NULL, *drained = NULL;

    *message = NULL;
    if (*how != RGMI_RUN_FAILED || p->adopted) /* where that one began to write is not known */
        return RGM_OK;
    status = rgmi_trial_find(&trial, &e, master, p->trial);
    if (status != RGM_OK) { /* whoever takes the end finds out the same */
        rgm_error_reset();
        return RGM_OK;
    }
    logs = &rgm_search_file_settings(e->file)->logs;
    if (logs->fatal.count == 0 && logs->drain.count == 0)
        return RGM_OK;
    RGM_GO(read_end(&text, master, e, trial->number, p->log_begin));
    RGM_GO(find_line(&fatal, &text, &logs->fatal));
    if (fatal != NULL) {
        *how = RGMI_RUN_HOPELESS;
        RGM_GO(rgm_strprintf(message,
                             "its log has '%s', with which no other try succeeds "
                             "(logs.fatal)",
                             fatal));
    }
    if (!p->is_job && !p->on_devices)
        RGM_GO(find_line(&drained, &text, &logs->drain));
    if (drained != NULL)
        RGM_GO(drain(master, p, drained));
done:
    rgm_text_clear(&text);
    rgm_free(fatal);
    rgm_free(drained);
    return status;
}
