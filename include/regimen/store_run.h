/*
 * store: the run folder with its lock and log, and runs read back.
 */
#ifndef REGIMEN_STORE_RUN_H
#define REGIMEN_STORE_RUN_H

#include <regimen/store_logs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- run folder ---------------------------------------------------------------------------- */

/**
 *     runs/cora_gcn-1/  .lock config.yaml env.json log.txt metrics.jsonl ckpt/ train/ validation/
 *                       sources.json content.json changes.jsonl system.jsonl tables.jsonl
 *                       score_curves.jsonl model.json
 *
 * The files behind the first line are for people and programs that look at the run; no start needs
 * them.
 */
typedef struct rgm_run_folder rgm_run_folder;

typedef enum rgm_resume_rule {
    RGM_RESUME_SAME, /* a folder of an earlier start: its config.yaml must be equal to `config`, but
                        for what resume_keys lets differ                                       */
    RGM_RESUME_ANY,  /* config.yaml is replaced                                                  */
    RGM_RESUME_NEVER /* the folder must not hold a run                                           */
} rgm_resume_rule;

/** What becomes of a run that continues with another value of a key. */
typedef enum rgm_key_rule {
    RGM_KEY_FIXED,   /* refused: what was learned would mean something else */
    RGM_KEY_TOLD,    /* what comes next differs from what came before: a warning in the log */
    RGM_KEY_CONTENT, /* a file or a folder, which may lie elsewhere with the same content; see
                        content.json */
    RGM_KEY_FREE     /* no result changes by it, or only how many there are */
} rgm_key_rule;
/** A rule for the keys of config.yaml that a shell pattern matches ("trainer.exports",
 * "optimizer.*") and for all that lies in them. */
typedef struct rgm_resume_key {
    const char *pattern;
    rgm_key_rule rule;
} rgm_resume_key;

typedef struct rgm_run_folder_options {
    const char *config; /* text of config.yaml: the merged experiment file; NULL: not written */
    /* Text of sources.json: where each value of `config` was set. Written with config.yaml, or when
     * it is missing; never compared. NULL: there is none. */
    const char *sources;
    rgm_resume_rule resume;
    const rgm_resume_key *resume_keys; /* ended by {0}; the first that matches counts, and keys
                                          without one are RGM_KEY_FIXED. NULL: none may differ */
    uint64_t seed;                     /* for env.json */
    int threads;                       /* for env.json */
    const char *isa;                   /* for env.json: kernels->isa; may be NULL */
} rgm_run_folder_options;
#define RGM_RUN_FOLDER_OPTIONS_INIT                                                                \
    {                                                                                              \
        .resume = RGM_RESUME_SAME, .threads = 1                                                    \
    }

/**
 * Create or enter a run folder and lock it until it is closed or the process ends. The folder's
 * log.txt gets everything written to rgm_run_folder_logger(), one escaped line a message, with
 * time.
 *
 * Errors: RGM_ERR_BUSY (another trainer holds it: the message has its pid and host),
 * RGM_ERR_CONFIG (RGM_RESUME_SAME: the message has a key that may not differ; RGM_RESUME_NEVER:
 * the folder holds a run), RGM_ERR_IO.
 */
rgm_status rgm_run_folder_open(rgm_run_folder **out, const char *path,
                               const rgm_run_folder_options *options);
void rgm_run_folder_close(rgm_run_folder *folder);
/** The run's log, for rgm_logger_enter(); borrowed. */
rgm_logger *rgm_run_folder_logger(const rgm_run_folder *folder);
/**
 * Write a member "warnings": how many this log has had since the folder was opened, and the texts
 * of the first 20: {"count": 1, "first": ["..."]}. Any thread may log meanwhile.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_print_warnings(rgm_json_writer *out, rgm_run_folder *folder);
/**
 * Whether a trainer holds the folder's lock now; false when there is no trainer.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_in_use(bool *out, const char *path);
/**
 * Whether the folder's run has come to something: it has a checkpoint, or a trainer holds its lock
 * now. What else lies in it is of a start that came to nothing, and the next one may have other
 * keys. Errors: as rgm_run_folder_in_use(), RGM_ERR_ARG.
 */
rgm_status rgm_run_folder_is_bound(bool *out, const char *path);
/**
 * Ask the process that trains in a folder to save and end, by SIGTERM. It is the one that the lock
 * names and that has the lock's file open, so that no other process gets the signal.
 *
 * Errors: RGM_ERR_NOT_FOUND (nobody trains there), RGM_ERR_BUSY (the process is on another machine,
 * another user's, or cannot be told for certain), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_stop(const char *path);
/**
 * Remove a run folder in which nobody trains, nor below it. Its name is free at once; its files
 * follow. What a killed process left of others beside it goes too.
 * Errors: RGM_ERR_BUSY, RGM_ERR_NOT_FOUND (it is no run folder), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_delete(const char *path);
/**
 * Remove what lies in `parent` of run folders at whose removal a process was killed. What cannot be
 * removed is told in the log. rgm_run_folder_open() does the same beside the folder that it opens.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_sweep(const char *parent);
/**
 * Read config.yaml of a run folder without locking it (to compare, eval, export); free with
 * rgm_free(*text).
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_config(char **text, int64_t *size, const char *path);
/**
 * A hash of the files that the values of a section of a config.yaml text name, by themselves or
 * below the section's `path`, patterns like *.csv too: of each its name without folders, its size,
 * its first and last 16 KiB. What is no file counts as nothing. Two processes with another hash do
 * not read the same data. Errors: RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_config_hash_files(uint64_t *out, const char *config, const char *section);
/**
 * Whether the run has ever continued with another value of a key that a shell pattern matches, by
 * changes.jsonl; false without that file.
 * Errors: RGM_ERR_IO, RGM_ERR_FORMAT (more than 16 MiB), RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_has_changed(bool *out, const char *path, const char *pattern);

/* ---- reading runs back --------------------------------------------------------------------- */

/** What a run has come to, for people and programs that look at it: docs/store.md. */
#define RGM_RESULT_FILE "result.json"

/** Whether a trainer has ever started in this folder. */
bool rgm_run_folder_exists(const char *path);

typedef enum rgm_run_state {
    RGM_RUN_RUNNING,
    RGM_RUN_FINISHED,
    RGM_RUN_STOPPED,
    RGM_RUN_DAMAGED,
    RGM_RUN_FAILED
} rgm_run_state;
extern const char *const rgm_run_state_names[]; /* "running", ..., ended by NULL */

/** What can be known of a run without loading it. It owns its texts; NULL: not known. */
typedef struct rgm_run_look {
    rgm_run_state state;
    char *reason;  /* what is damaged                     */
    char *failure; /* why its last start failed, if it did */
    char *description, *model;
    int64_t step, epoch; /* of the newest checkpoint, or of the log's last lines */
    int64_t epochs;      /* planned; -1: not known, or the run's length is given in steps */
    int64_t steps;       /* planned; -1: not known, or the run's length is given in epochs */
    char *best_metric;   /* "valid.accuracy", from the newest checkpoint or, where it is of a later
                            step, result.json; NULL: no best yet */
    double best_value;
    int64_t best_step;
    rgm_named_number *last; /* "valid.loss": the log's last values, in the order of the log */
    int64_t last_count, last_capacity;
    int64_t modified; /* last measurement, or start of the run: seconds since 1970 */
    double seconds;   /* of training, over all starts; NaN: not known */
    int64_t warnings; /* of the last start; -1: not known */
} rgm_run_look;
/**
 * Look at a run folder, locked or not. A folder that cannot be read is reported as damaged, with
 * the first reason.
 *
 * @param default_epochs  [in] the length of a run whose config.yaml does not name trainer.epochs
 *
 * Errors: RGM_ERR_NOMEM; nothing is then to be cleared.
 */
rgm_status rgm_run_look_load(rgm_run_look *look, const char *path, int64_t default_epochs);
/**
 * The same, and return the parsed config.yaml, so that the caller need not parse it again.
 *
 * @param config  [out] NULL: the file is missing or not YAML; rgm_yaml_release()
 *
 * Errors: RGM_ERR_NOMEM; nothing is then to be cleared.
 */
rgm_status rgm_run_look_load_config(rgm_run_look *look, rgm_yaml **config, const char *path,
                                    int64_t default_epochs);
/**
 * Compare a run's metrics.jsonl with its checksums: a look reads only the end of it. Damage makes
 * the look one of a damaged run, with the line as its reason.
 *
 * @param place  [in/out] how far that was done; {0}: from the beginning
 * @param most   [in] about how many bytes to go through in this call
 *
 * Errors: RGM_END (there is more: call again), RGM_ERR_NOMEM.
 */
rgm_status rgm_run_look_check(rgm_run_look *look, rgm_metrics_place *place, const char *path,
                              int64_t most);
void rgm_run_look_clear(rgm_run_look *look);
/** The last value of that name; NaN when there is none. */
double rgm_run_look_last(const rgm_run_look *look, const char *name);

typedef struct rgm_curve_point {
    int64_t step;
    double value;
} rgm_curve_point;
/** One metric of one split of a run: "valid" "accuracy". */
typedef struct rgm_curve {
    char *split, *metric;
    rgm_curve_point *points;
    int64_t count, capacity;
} rgm_curve;
/** The learning curves of a run, ordered by their first appearance in the log. */
typedef struct rgm_run_curves {
    char *name; /* of the run folder, without its path */
    rgm_curve *curves;
    int64_t count, capacity;
} rgm_run_curves;
/**
 * Load every curve of a run folder's metrics.jsonl. RGM_ERR_NOT_FOUND: there is nothing to draw (no
 * folder, no file, or no line in it); nothing is then to be cleared.
 */
rgm_status rgm_run_curves_load(rgm_run_curves *run, const char *path);
void rgm_run_curves_clear(rgm_run_curves *run);

#ifdef __cplusplus
}
#endif
#endif
