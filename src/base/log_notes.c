/*
 * Warnings that are said before there is a log to keep them: while data are read for a run whose
 * folder is not open yet. The thread writes to a log that collects them.
 */
#include "base_internal.h"

#define MOST_NOTES 100

static void collect(int level, const char *message, void *payload)
{
    rgm_log_notes *notes = payload;
    rgm_error error;

    if ((level != RGM_LOG_WARNING && level != RGM_LOG_ERROR) || notes->count >= MOST_NOTES)
        return;
    /* The caller may be returning an error: keep it the last one. */
    rgm_error_save(&error, RGM_ERR_NOMEM);
    if (RGM_RESERVE(notes->texts, notes->capacity, notes->count + 1) == RGM_OK &&
        rgm_strdup(&notes->texts[notes->count], message) == RGM_OK)
        notes->count++;
    if (error.message[0] != 0)
        (void)rgm_error_restore(&error);
    else
        rgm_error_reset();
}

rgm_status rgm_log_notes_begin(rgm_log_notes *notes)
{
    if (rgm_logger_current() != NULL) /* that log has them */
        return RGM_OK;
    RGM_TRY(rgm_logger_create(&notes->log));
    RGM_TRY(rgm_logger_add_sink(notes->log, collect, notes));
    rgm_logger_enter(notes->log);
    return RGM_OK;
}

rgm_status rgm_log_notes_end(rgm_log_notes *notes, rgm_status status)
{
    if (notes->log == NULL)
        return status;
    rgm_logger_enter(NULL);
    rgm_logger_remove_sink(notes->log, collect, notes); /* threads may have the log yet */
    rgm_logger_release(notes->log);
    notes->log = NULL;
    return status;
}

void rgm_log_notes_tell(const rgm_log_notes *notes, rgm_logger *log)
{
    for (int64_t i = 0; i < notes->count; i++)
        rgm_logger_tell(log, RGM_LOG_WARNING, notes->texts[i]);
}

void rgm_log_notes_clear(rgm_log_notes *notes)
{
    for (int64_t i = 0; i < notes->count; i++)
        rgm_free(notes->texts[i]);
    rgm_free(notes->texts);
    *notes = (rgm_log_notes){0};
}
