/*
 * store: TensorBoard event files.
 */
#ifndef REGIMEN_STORE_EVENTS_H
#define REGIMEN_STORE_EVENTS_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A TensorBoard event file: TFRecords of tensorflow.Event. */
typedef struct rgm_event_file rgm_event_file;
/**
 * Create events.out.tfevents.<seconds>.<host>.<pid>.0.v2 in `folder`, which is made if needed. With
 * first_step > 0, events of that step and later in older files are void (lost work of a killed
 * run); a session log tells TensorBoard so. The new name sorts after the existing ones. Errors:
 * RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_event_file_create(rgm_event_file **out, const char *folder, int64_t first_step);
/** Close without flushing: call rgm_event_file_flush() first, since close() reports no error. */
void rgm_event_file_close(rgm_event_file *file);
/** Write one number of a step. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_event_file_scalar(rgm_event_file *file, const char *tag, int64_t step, double value);
/** Write a text; TensorBoard shows it as Markdown on its Text page. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_event_file_text(rgm_event_file *file, const char *tag, int64_t step,
                               const char *text);
/**
 * Write a histogram of a numeric tensor of any shape: 30 buckets of equal width; NaN and infinities
 * are left out.
 * Errors: RGM_ERR_DTYPE, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_event_file_histogram(rgm_event_file *file, const char *tag, int64_t step,
                                    const rgm_tensor *tensor);

/** A hyperparameter of the session: a text when `text` is set, else a number. */
typedef struct rgm_hparam {
    const char *name;
    const char *text;
    double number;
} rgm_hparam;
/** A metric for the hparams page: tag "epoch_loss" in the sub-folder `group` ("validation"). */
typedef struct rgm_hparam_metric {
    const char *tag;
    const char *group;
} rgm_hparam_metric;
/**
 * Write experiment and session start of the hparams plugin; once, in the run folder's own event
 * file.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_event_file_hparams(rgm_event_file *file, const char *session,
                                  const rgm_hparam *hparams, int64_t count,
                                  const rgm_hparam_metric *metrics, int64_t metric_count);
rgm_status rgm_event_file_session_end(rgm_event_file *file, bool success);
/** Write buffered events and sync; call it before each checkpoint. Errors: RGM_ERR_IO. */
rgm_status rgm_event_file_flush(rgm_event_file *file);

/** The kind of a record in an event file. */
typedef enum rgm_summary_kind {
    RGM_SUMMARY_START, /* a start: events before it, in older files too, are void from its step on;
                          TensorBoard's readers follow the same rule                          */
    RGM_SUMMARY_SCALAR,
    RGM_SUMMARY_TEXT,
    RGM_SUMMARY_HISTOGRAM
} rgm_summary_kind;
/** One value of a record; valid only during the callback. */
typedef struct rgm_summary {
    rgm_summary_kind kind;
    int64_t step;
    double time;       /* seconds since 1970                                            */
    int64_t offset;    /* of its record in the file; reading can start there again      */
    const char *tag;   /* as the file has it, UTF-8 or not; NULL for a start            */
    double value;      /* scalar                                                        */
    rgm_str text;      /* text, UTF-8 or not                                            */
    double min, max;   /* histogram: of the values                                      */
    double count, sum; /* histogram: number of values and their sum                     */
    int64_t buckets;
    const double *limits; /* [buckets] upper edges of a histogram's buckets             */
    const double *counts; /* [buckets] how many values lie in each                      */
} rgm_summary;
/** RGM_END stops without an error; any status other than RGM_OK is returned to the caller. */
typedef rgm_status rgm_summary_visit(const rgm_summary *summary, void *payload);

/** The largest record that is read; Regimen's own have kilobytes. */
#define RGM_EVENT_RECORD_MAX (INT64_C(64) << 20)
/**
 * Visit the scalars, texts, histograms and starts of an event file in file order, checking both
 * CRCs of every record. A torn last record is skipped, since a writer may still be writing it.
 * Values of other kinds (images, tensors other than one text) are skipped too. Memory: one record;
 * it grows only as far as the file has bytes.
 *
 * @param end     [out] end of the last whole record that was read, where a later call continues;
 *                after an error the offset of the bad record; may be NULL
 * @param fd      [in] borrowed; read with pread(), so the file may be cut or grow meanwhile
 * @param offset  [in] of a record: 0, or a former `end`
 * @param name    [in] for messages
 *
 * Errors: RGM_ERR_FORMAT "name: record at byte N: ..." (records before it were visited),
 * RGM_ERR_IO, RGM_ERR_NOMEM, and those of the callback.
 */
rgm_status rgm_event_records_read(int64_t *end, int fd, int64_t offset, const char *name,
                                  rgm_summary_visit *visit, void *payload);
/**
 * The same for a whole file by its path, which must be a regular file and no link.
 * Errors: those of rgm_event_records_read(), RGM_ERR_NOT_FOUND.
 */
rgm_status rgm_event_file_read(const char *path, rgm_summary_visit *visit, void *payload);

#ifdef __cplusplus
}
#endif
#endif
