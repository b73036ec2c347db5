/*
 * store: what a run measures, a line each: metrics, figures of the process, tables.
 */
#ifndef REGIMEN_STORE_LOGS_H
#define REGIMEN_STORE_LOGS_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * metrics.jsonl: one line an entry. Each line ends in its own checksum, e.g.
 * {"split":"valid","step":100,"epoch":1,"accuracy":0.79,"crc":"1c291ca3"}. It holds no times or
 * rates: a run that was killed and continued leaves the same bytes as an uninterrupted one.
 */
typedef struct rgm_metrics_log rgm_metrics_log;
/**
 * Open for appending. `offset`, from the checkpoint, is where to continue; lines after it are lost
 * work and are cut off. 0 starts a new file; -1 keeps every line (a torn last one is cut).
 *
 * Errors: RGM_ERR_FORMAT (the file is shorter than offset, or a line before it fails its checksum),
 * RGM_ERR_NOT_FOUND (offset > 0 and no file), RGM_ERR_IO: see rgm_metrics_log_repair().
 */
rgm_status rgm_metrics_log_open(rgm_metrics_log **out, const char *path, int64_t offset);
/**
 * Repair a log that cannot be opened at `offset`: remove its damaged lines, keep the file as it was
 * as path.damaged-<n>, and report the loss in the process log. A missing file becomes an empty one.
 *
 * @param end  [out] the offset at which to open it, to be saved in the checkpoint from now on
 *
 * Errors: RGM_ERR_FORMAT (more than 4 GiB), RGM_ERR_IO, RGM_ERR_NOMEM; the file is then unchanged.
 */
rgm_status rgm_metrics_log_repair(int64_t *end, const char *path, int64_t offset);
void rgm_metrics_log_close(rgm_metrics_log *log);
/** Errors: RGM_ERR_ARG (a line of more than 8 MiB, which no reader takes), RGM_ERR_IO. */
rgm_status rgm_metrics_log_add(rgm_metrics_log *log, const char *split, int64_t step, int64_t epoch,
                               const rgm_named_number *numbers, int64_t count);
/** Sync, and return the offset for the checkpoint that is saved next. Errors: RGM_ERR_IO. */
rgm_status rgm_metrics_log_commit(int64_t *offset, rgm_metrics_log *log);
/** Whether a line is at an offset, of a split whose name begins with `split`. */
bool rgm_metrics_log_goes_on_with(const char *path, int64_t offset, const char *split);
/** Cut the file back to an offset that was committed earlier. Errors: RGM_ERR_IO. */
rgm_status rgm_metrics_log_truncate(rgm_metrics_log *log, int64_t offset);

/** One line, valid during the callback. The callback may return RGM_END to stop early. */
typedef struct rgm_metrics_entry {
    const char *split;
    int64_t step, epoch;
    const rgm_named_number *numbers;
    int64_t count;
} rgm_metrics_entry;
typedef rgm_status rgm_metrics_visit(const rgm_metrics_entry *entry, void *payload);
/** Visit every intact line in order. A torn last line is skipped; any other bad line, and one of
 * more than 8 MiB, is RGM_ERR_FORMAT. */
rgm_status rgm_metrics_log_read(const char *path, rgm_metrics_visit *visit, void *payload);
/** How far a log was read; `{0}` is the beginning. */
typedef struct rgm_metrics_place {
    int64_t offset;
    int64_t lines; /* before it */
    char last[19]; /* bytes before it: the checksum of the line that ends there */
} rgm_metrics_place;
/**
 * Visit the lines from a place on, to follow a log that grows. *place ends after the last intact
 * line. The file is not mapped, so it may be cut while it is read.
 *
 * Errors: RGM_ERR_DATA (the log was cut since, or is another one: start again from {0}),
 * RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_metrics_log_read_on(rgm_metrics_place *place, const char *path,
                                   rgm_metrics_visit *visit, void *payload);
/**
 * Compare the lines from a place on with their checksums, without looking at what they say: several
 * times as fast as reading them. A log that was cut since, or is another one, is checked from its
 * beginning.
 *
 * @param most  [in] about how many bytes to check in this call
 *
 * Errors: RGM_END (there are more lines: call again), RGM_ERR_FORMAT (a damaged line, named; *place
 * ends before it), RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_metrics_log_check(rgm_metrics_place *place, const char *path, int64_t most);
/**
 * Visit only the lines that begin in the last `bytes` bytes of the file: the latest measurements of
 * a long run, without the cost of reading the rest. Damage before them goes unnoticed.
 * Errors: RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_metrics_log_read_end(const char *path, int64_t bytes, rgm_metrics_visit *visit,
                                    void *payload);

/**
 * system.jsonl: snapshots of the process, one line each, with times, for people who watch a run.
 * Regimen itself reads back only how many seconds were trained before. Lines of a killed run stay,
 * so a step may appear twice; the later line has the later time.
 * {"time":1795394878.25,"step":10,"epoch":1,"seconds":3.5,"steps_per_second":40.0,
 *  "examples_per_second":1280.0,"rss":61440000,"cpu_seconds":6.9,"threads":2}
 * Of a task that counts other items, "items":"target tokens","items_per_second":1280.0 instead.
 */
typedef struct rgm_system_log rgm_system_log;
typedef struct rgm_system_figures {
    int64_t step, epoch;
    double
        seconds; /* of training since the log was opened; the line adds those of earlier starts */
    double steps_per_second, items_per_second; /* since the last line; NaN: none, written as null */
    const char *items; /* what items_per_second counts, as rgm_task.items; NULL: examples */
    int threads;
} rgm_system_figures;
/**
 * Open for appending; a torn last line is cut.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_system_log_open(rgm_system_log **out, const char *path);
void rgm_system_log_close(rgm_system_log *log);
/** Seconds of training before the log was opened. */
double rgm_system_log_seconds(const rgm_system_log *log);
/**
 * Write a line: the figures, the time, and the resident bytes and CPU seconds of the process (each
 * start counts CPU seconds from 0).
 * Errors: RGM_ERR_IO (the line is lost, the next one may be written), RGM_ERR_NOMEM.
 */
rgm_status rgm_system_log_add(rgm_system_log *log, const rgm_system_figures *figures);

/** The predictions of one head, counted by label. */
typedef struct rgm_confusion {
    const char *label;          /* the head's name                              */
    const char *const *classes; /* [count] their names; NULL: they are numbers  */
    int64_t count;
    const int64_t *counts; /* [count][count]: row = label, column = prediction */
} rgm_confusion;
/** One sample of a model's output, with its own scores. */
typedef struct rgm_sample {
    const char *source, *translation, *reference;
    const rgm_named_number *scores; /* [score_count] */
    int64_t score_count;
} rgm_sample;

/**
 * tables.jsonl: results of a validation that are not plain numbers, one line a table:
 * {"step":100,"split":"valid","kind":"confusion","label":"logits","classes":["a","b"],
 *  "counts":[[9,1],[2,8]]}
 * {"step":100,"split":"valid","kind":"samples","samples":[{"source":"..","translation":"..",
 *  "reference":"..","scores":{"bleu":41.1,"chrf":60.2}}]}
 * It holds no times: a run that was killed and continued leaves the same bytes as an uninterrupted
 * one. Of lines with the same step, split, kind and label the last one counts.
 */
typedef struct rgm_tables_log rgm_tables_log;
/**
 * Open for appending. Lines after the last one whose step is below `first_void` are lost work, or
 * torn, and are cut off.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tables_log_open(rgm_tables_log **out, const char *path, int64_t first_void);
void rgm_tables_log_close(rgm_tables_log *log);
/** Add a table. While tables keep coming, lines are buffered for at most one second: flush before
 * a checkpoint that counts on them. Errors, also of flush: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_tables_log_confusion(rgm_tables_log *log, const char *split, int64_t step,
                                    const rgm_confusion *table);
rgm_status rgm_tables_log_samples(rgm_tables_log *log, const char *split, int64_t step,
                                  const rgm_sample *samples, int64_t count);
rgm_status rgm_tables_log_flush(rgm_tables_log *log);
/** Cut the file as rgm_tables_log_open() does. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_tables_log_cut(rgm_tables_log *log, int64_t first_void);
/** Cut off the lines at the end that are of `step` and of a split whose name begins with `split`:
 * the caller writes them again. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_tables_log_cut_split(rgm_tables_log *log, const char *split, int64_t step);

/* ---- score curves ---------------------------------------------------------------------------- */

#define RGM_MOST_CURVES       20 /* of one output: classes or 0/1 labels */
#define RGM_MOST_CURVE_POINTS 200
#define RGM_MOST_CURVE_SCORES 1048576 /* that the curves of an output are made of */

/** What is predicted at a threshold: everything with this score or a higher one. */
typedef struct rgm_score_point {
    double threshold; /* infinite at the first point, where nothing is predicted */
    double false_positives, true_positives; /* rates: of the negatives, of the positives (recall) */
    double precision;                       /* 1 where nothing is predicted */
} rgm_score_point;
/** The curves of one 0/1 label over all thresholds: ROC, and precision by recall. */
typedef struct rgm_score_curve {
    const char *name; /* of the class that is held against the rest; NULL: there is one */
    double positives, negatives; /* sums of weights; where one is 0 there are no points        */
    double roc_area, average_precision; /* of all thresholds; NaN: not defined                  */
    int64_t point_count;
    rgm_score_point points[RGM_MOST_CURVE_POINTS]; /* the first and last, and others so that the
                                                      ROC curve is cut into pieces of like length */
} rgm_score_curve;
/** Share of links whose rank is k or better, by k. */
typedef struct rgm_hits_curve {
    double links, mean_reciprocal_rank;
    int64_t point_count, k[RGM_MOST_CURVE_POINTS];
    double share[RGM_MOST_CURVE_POINTS];
} rgm_hits_curve;
/** The curves of an output. */
typedef struct rgm_score_curves {
    const char *label;             /* the head's name */
    const rgm_score_curve *curves; /* [count] */
    int64_t count;
    const rgm_hits_curve *hits; /* NULL: links are not ranked */
    const char *left_out;       /* why there are no curves; NULL: there are */
} rgm_score_curves;

/**
 * score_curves.jsonl: the curves of the last validation and of the last test, a line an output:
 * {"step":100,"split":"valid","kind":"score_curves","label":"logits","curves":[{"name":null,
 *  "positives":2,"negatives":2,"roc_area":0.75,"average_precision":0.83,
 *  "points":[[null,0,0,1],[0.8,0,0.5,1],[0.1,1,1,0.5]]}],"hits":null,"left_out":null}
 * points are [threshold, false positives, true positives, precision]; hits are {"links":9,
 * "mean_reciprocal_rank":0.5,"points":[[1,0.3],[2,0.6]]}. It is small, replaced as a whole, and
 * as tables.jsonl without times: a run that goes on leaves the same bytes.
 */
typedef struct rgm_score_log rgm_score_log;
/** Open with what is there, if anything; lines of `first_void` and later steps, and what is no such
 * line, are left out. Nothing is written before the next flush. Errors: RGM_ERR_IO,
 * RGM_ERR_NOMEM. */
rgm_status rgm_score_log_open(rgm_score_log **out, const char *path, int64_t first_void);
void rgm_score_log_close(rgm_score_log *log); /* without writing; takes NULL */
/** Set the curves of an output over a split, in the place of earlier ones. RGM_ERR_NOMEM. */
rgm_status rgm_score_log_set(rgm_score_log *log, const char *split, int64_t step,
                             const rgm_score_curves *curves);
/** Leave out the lines of first_void and later steps. */
void rgm_score_log_cut(rgm_score_log *log, int64_t first_void);
/** Leave out the lines of `step` and of a split whose name begins with `split`. */
void rgm_score_log_cut_split(rgm_score_log *log, const char *split, int64_t step);
/** Write the file if it has changed; without lines there is none. Errors: RGM_ERR_IO,
 * RGM_ERR_NOMEM. */
rgm_status rgm_score_log_flush(rgm_score_log *log);

#ifdef __cplusplus
}
#endif
#endif
