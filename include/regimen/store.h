/*
 * store: what is kept of a run. Checkpoints that are whole or absent, the run folder with its lock
 * and log, metrics and TensorBoard event files.
 */
#ifndef REGIMEN_STORE_H
#define REGIMEN_STORE_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- checkpoint ---------------------------------------------------------------------------- */

/**
 * The state of a run at one step: named weights, optimizer slots, integers, numbers, texts and
 * binary blobs (data position, metric state). The same object is filled to be saved and given back
 * when loaded. Bytes on disk depend on this content alone: no time, host or process in them.
 *
 *     ckpt/step-00001200/manifest.json        format, version, step, values, size and hash of each
 * file weights.safetensors slots.safetensors best.safetensors     the best weights so far, once
 * there are any <blob>.bin
 *
 * The best weights travel inside every checkpoint, so that no second file can disagree with it and
 * retention cannot lose them.
 */
typedef struct rgm_checkpoint rgm_checkpoint;
#define RGM_CHECKPOINT_VERSION 1

/** One with nothing in it but its step. RGM_ERR_NOMEM. */
rgm_status rgm_checkpoint_create(rgm_checkpoint **out, int64_t step);
void rgm_checkpoint_release(rgm_checkpoint *checkpoint);
/** The step at which it was taken. */
int64_t rgm_checkpoint_step(const rgm_checkpoint *checkpoint);

/**
 * Tensors to be saved; retained, so they must not change until saved.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_add_weight(rgm_checkpoint *checkpoint, const char *name,
                                     rgm_tensor *tensor);
rgm_status rgm_checkpoint_add_slot(rgm_checkpoint *checkpoint, const char *name,
                                   rgm_tensor *tensor);
/** A weight of the best validation so far. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_checkpoint_add_best(rgm_checkpoint *checkpoint, const char *name,
                                   rgm_tensor *tensor);
/**
 * All of them, as weights or as those of the best validation.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_add_parameters(rgm_checkpoint *checkpoint,
                                         const rgm_parameters *parameters);
rgm_status rgm_checkpoint_add_best_parameters(rgm_checkpoint *checkpoint,
                                              const rgm_parameters *best);
/**
 * Values by name, set again to replace; text and blob are copied. Numbers keep their bits; NaN
 * stays NaN.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_set_int(rgm_checkpoint *checkpoint, const char *name, int64_t value);
rgm_status rgm_checkpoint_set_number(rgm_checkpoint *checkpoint, const char *name, double value);
rgm_status rgm_checkpoint_set_text(rgm_checkpoint *checkpoint, const char *name, const char *text);
/**
 * name: letters, digits, '_' and '-' (it becomes a file name).
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_set_blob(rgm_checkpoint *checkpoint, const char *name, const void *data,
                                   int64_t size);

/** RGM_ERR_NOT_FOUND names the checkpoint and the value. Text and blob are borrowed. */
rgm_status rgm_checkpoint_int(int64_t *out, const rgm_checkpoint *checkpoint, const char *name);
rgm_status rgm_checkpoint_number(double *out, const rgm_checkpoint *checkpoint, const char *name);
rgm_status rgm_checkpoint_text(const char **out, const rgm_checkpoint *checkpoint,
                               const char *name);
rgm_status rgm_checkpoint_blob(const void **data, int64_t *size, const rgm_checkpoint *checkpoint,
                               const char *name);
/** Tensors of a loaded checkpoint; borrowed. NULL for one that was not loaded. */
const rgm_safetensors *rgm_checkpoint_weights(const rgm_checkpoint *checkpoint);
const rgm_safetensors *rgm_checkpoint_slots(const rgm_checkpoint *checkpoint);
/** NULL also when there were none when it was saved. */
const rgm_safetensors *rgm_checkpoint_best_weights(const rgm_checkpoint *checkpoint);
/**
 * Copy all weights (of the best validation) into `parameters`, which must have their names, shapes
 * and dtypes. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_SHAPE, RGM_ERR_DTYPE,
 * RGM_ERR_DATA (the checkpoint has a weight more); nothing is then changed.
 */
rgm_status rgm_checkpoint_restore_parameters(const rgm_checkpoint *checkpoint,
                                             rgm_parameters *parameters);
rgm_status rgm_checkpoint_restore_best(const rgm_checkpoint *checkpoint,
                                       rgm_parameters *parameters);

/**
 * What runs keep in their checkpoints beside tensors, in one list for who saves, who restores and
 * who reads: X(key, name, kind, meaning).
 */
// clang-format off
#define RGM_RUN_KEYS(X)                                                                            \
    X(SEED, "seed", INT, "runtime.seed, with which alone the run can go on")                       \
    X(UPDATES, "updates", INT, "steps that moved the weights")                                     \
    X(PASSES, "passes", INT, "whole passes over the training data")                                \
    X(AT_END, "at_end", BOOL, "the last loop ended with the data")                                 \
    X(LOOP_STEP, "loop_step", INT, "steps of the loop under way; -1: none")                        \
    X(LOSS_SCALE, "loss_scale", NUMBER, "a dynamic one's present value")                           \
    X(LOSS_SCALE_GOOD_STEPS, "loss_scale_good_steps", INT, "steps since it changed")               \
    X(PRIVACY, "privacy", BLOB, "doubles: what private training has spent, by order")              \
    X(PRIVACY_STEPS, "privacy_steps", INT, "private steps begun: how far its noise was used")      \
    X(PRIVACY_SEED, "privacy_seed", INT, "privacy.noise_seed; 0: a secret, which is kept nowhere") \
    X(DATA, "data", BLOB, "position in the training data; empty between passes")                   \
    X(VALID, "valid", BLOB, "as data, where validations continue; of a set under the set's name")  \
    X(SUMS, "sums", BLOB, "doubles: metric state of the loop under way")                           \
    X(EPOCH, "epoch", INT, "complete epochs")                                                      \
    X(EVALUATED_STEP, "evaluated_step", INT, "step of the last validation")                        \
    X(FINISHED, "finished", BOOL, "stopped early: nothing is to follow")                           \
    X(RECOVERY_TRIES, "recovery_tries", INT, "bad steps so far")                                   \
    X(METRICS_OFFSET, "metrics_offset", INT, "bytes of metrics.jsonl that belong to it")           \
    X(BEST_METRIC, "best_metric", TEXT, "what the best weights are chosen by; empty: nothing")     \
    X(BEST_STEP, "best_step", INT, "step of the best validation; -1: none yet")                    \
    X(BEST_EPOCH, "best_epoch", INT, "epochs complete then")                                       \
    X(BEST_VALUE, "best_value", NUMBER, "the metric then")                                         \
    X(STALE_VALIDATIONS, "stale_validations", INT, "validations since early stopping's last best") \
    X(STOP_VALUE, "stop_value", NUMBER, "best value of early stopping's metric")                   \
    X(SECONDS, "seconds", NUMBER, "of training so far; of a run with trainer.max_seconds")         \
    X(PLATEAU_VALUE, "plateau_value", NUMBER, "best value that trainer.reduce_on_plateau has seen") \
    X(PLATEAU_WAIT, "plateau_wait", INT, "validations without improvement since")                  \
    X(PLATEAU_COOLDOWN, "plateau_cooldown", INT, "validations that it will not count")             \
    X(RATE_FACTOR, "rate_factor", NUMBER, "on the schedule's learning rate, by it")                \
    X(BEST_LIST, "best_list", BLOB, "step and value of the best validations, best first")
// clang-format on

/** How a value of a key is kept, and what a rgm_key_place points to. */
typedef enum rgm_key_kind {
    RGM_KEEPS_INT,    /* int64_t                                  */
    RGM_KEEPS_BOOL,   /* bool; an integer in the checkpoint       */
    RGM_KEEPS_NUMBER, /* double                                   */
    RGM_KEEPS_TEXT,   /* const char *, borrowed                   */
    RGM_KEEPS_BLOB    /* rgm_str, borrowed                        */
} rgm_key_kind;
#define RGM_KEY_NAMED_(key, name, kind, meaning) RGM_KEY_##key,
typedef enum rgm_run_key { RGM_RUN_KEYS(RGM_KEY_NAMED_) RGM_KEY_COUNT } rgm_run_key;
#undef RGM_KEY_NAMED_

typedef struct rgm_run_key_row {
    const char *name; /* "best_value" */
    rgm_key_kind kind;
    const char *meaning;
} rgm_run_key_row;
extern const rgm_run_key_row rgm_run_keys[RGM_KEY_COUNT];

/** Where the value of a key is in memory. One list of these serves both ways. */
typedef struct rgm_key_place {
    rgm_run_key key;
    void *value;
} rgm_key_place;
/** Set each key to what its place holds. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_checkpoint_set_keys(rgm_checkpoint *checkpoint, const rgm_key_place *places,
                                   int64_t count);
/** RGM_ERR_NOT_FOUND names the checkpoint and the key. */
rgm_status rgm_checkpoint_get_keys(const rgm_checkpoint *checkpoint, const rgm_key_place *places,
                                   int64_t count);

/** The folder that holds a run's checkpoints. */
typedef struct rgm_checkpoint_store rgm_checkpoint_store;
typedef struct rgm_checkpoint_store_options {
    int64_t keep;            /* newest checkpoints kept, >= 1 */
    double keep_every_hours; /* of those that `keep` lets go, one is kept for good when it was saved
                                so many hours or more behind the last that was, or behind the run's
                                beginning; 0: none */
    bool read_only; /* for eval, predict, export: no folder is made, nothing is swept or repaired */
    bool values_only; /* with read_only: loading gives integers, numbers and texts by the manifest
                         alone; tensors and blobs are neither read nor verified */
} rgm_checkpoint_store_options;
#define RGM_CHECKPOINT_STORE_OPTIONS_INIT                                                          \
    {                                                                                              \
        .keep = 3                                                                                  \
    }

/**
 * Open `folder` (made unless read_only; then RGM_ERR_NOT_FOUND). A writer must hold the run
 * folder's lock: what an interrupted save left behind is swept here.
 *
 * @param options  [in] NULL: defaults
 */
rgm_status rgm_checkpoint_store_open(rgm_checkpoint_store **out, const char *folder,
                                     const rgm_checkpoint_store_options *options);
void rgm_checkpoint_store_close(rgm_checkpoint_store *store);
/**
 * Steps whose checkpoints are not deleted however old they get; replaces those named before.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_store_spare(rgm_checkpoint_store *store, const int64_t *steps,
                                      int64_t count);

/**
 * Save. Written beside as step-N.tmp-<pid>, each file and the folder synced, renamed, the parent
 * synced; then older ones beyond `keep` are deleted, but for spared ones and those kept for good,
 * which have a file `kept` with the time of their save. A step that is there already is
 * left alone when its manifest is the same, else swapped atomically.
 *
 * Errors: RGM_ERR_IO (full disk, ...): what was there before is untouched and the temporary folder
 * is removed; RGM_ERR_NOMEM. A failed sync is never tried again on the same file.
 */
rgm_status rgm_checkpoint_save(rgm_checkpoint_store *store, const rgm_checkpoint *checkpoint);

/**
 * The newest intact checkpoint. Damaged ones are skipped with a warning in the log.
 *
 * Errors: RGM_ERR_NOT_FOUND (there is none: a fresh run), RGM_ERR_FORMAT (there are some, none is
 * intact), RGM_ERR_VERSION (written by a newer build: both versions are named; never skipped).
 */
rgm_status rgm_checkpoint_load_newest(rgm_checkpoint **out, rgm_checkpoint_store *store);
/** That of one step; RGM_ERR_NOT_FOUND lists the steps there are. */
rgm_status rgm_checkpoint_load_step(rgm_checkpoint **out, rgm_checkpoint_store *store,
                                    int64_t step);
/** One checkpoint folder by its path, every hash verified. RGM_ERR_FORMAT says what is damaged. */
rgm_status rgm_checkpoint_load(rgm_checkpoint **out, const char *path);
/**
 * Steps there are (verified or not), ascending; rgm_free(*steps).
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_steps(int64_t **steps, int64_t *count, const rgm_checkpoint_store *store);
/**
 * Rename the checkpoints of later steps than `step`, the latest first: a run that was taken back to
 * it must not go on from them. As step-N.rolled-back nothing reads or deletes them, until another
 * one of that step is set aside.
 *
 * @param moved  [out] how many
 *
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM; those that were renamed stay so.
 */
rgm_status rgm_checkpoint_store_set_aside(int64_t *moved, rgm_checkpoint_store *store,
                                          int64_t step);
/** Delete the old checkpoints that a save which was killed behind its rename has left. */
void rgm_checkpoint_store_tidy(rgm_checkpoint_store *store, int64_t current);
/**
 * Parse a manifest alone, as loading does first. For tests and fuzzing.
 *
 * @param name  [in] for messages
 * Errors: RGM_ERR_FORMAT, RGM_ERR_VERSION, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_manifest_check(const void *data, int64_t size, const char *name);
/**
 * A checkpoint's integers, numbers and texts out of its manifest alone, for who has opened the file
 * in a way of its own. Tensors and blobs are not there.
 *
 * @param name  [in] for messages
 * Errors: RGM_ERR_FORMAT, RGM_ERR_VERSION, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_from_manifest(rgm_checkpoint **out, const void *data, int64_t size,
                                        const char *name);

/* ---- run folder ---------------------------------------------------------------------------- */

/**
 *     runs/cora_gcn-1/  .lock config.yaml env.json log.txt metrics.jsonl ckpt/ train/ validation/
 *              sources.json system.jsonl tables.jsonl model.json: for who looks; none is needed
 */
typedef struct rgm_run_folder rgm_run_folder;

typedef enum rgm_resume_rule {
    RGM_RESUME_SAME, /* a folder of an earlier start: its config.yaml must be equal to `config`, but
                        for the run's length (trainer.epochs, trainer.train_steps) and
                        runtime.threads, which changes no bit */
    RGM_RESUME_ANY,  /* config.yaml is replaced                                                  */
    RGM_RESUME_NEVER /* the folder must not hold a run                                           */
} rgm_resume_rule;

typedef struct rgm_run_folder_options {
    const char *config; /* text of config.yaml: the merged experiment file; NULL: not written */
    /* Text of sources.json: where each value of `config` was set. Written with config.yaml and
     * where it is missing, never compared; NULL: there is none. */
    const char *sources;
    rgm_resume_rule resume;
    uint64_t seed;   /* for env.json */
    int threads;     /* for env.json */
    const char *isa; /* for env.json: kernels->isa; may be NULL */
} rgm_run_folder_options;
#define RGM_RUN_FOLDER_OPTIONS_INIT                                                                \
    {                                                                                              \
        .resume = RGM_RESUME_SAME, .threads = 1                                                    \
    }

/**
 * Make or enter a run folder and lock it until closed (or the process ends). Its log.txt
 * gets what is written to rgm_run_folder_logger(), one escaped line each, with time.
 *
 * Errors: RGM_ERR_BUSY (another trainer has it: pid and host are named), RGM_ERR_CONFIG
 * (RGM_RESUME_SAME and the first line that differs; RGM_RESUME_NEVER), RGM_ERR_IO.
 */
rgm_status rgm_run_folder_open(rgm_run_folder **out, const char *path,
                               const rgm_run_folder_options *options);
void rgm_run_folder_close(rgm_run_folder *folder);
const char *rgm_run_folder_path(const rgm_run_folder *folder);
/** The run's log, for rgm_logger_enter(); borrowed. */
rgm_logger *rgm_run_folder_logger(const rgm_run_folder *folder);
/** Whether an earlier start left a run here. */
bool rgm_run_folder_resumed(const rgm_run_folder *folder);
/**
 * Whether a trainer has the folder locked at this moment; false where there is none.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_in_use(bool *out, const char *path);
/**
 * config.yaml of a run folder, without locking it (to compare, eval, export); rgm_free(*text).
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_config(char **text, int64_t *size, const char *path);

/* ---- summaries ----------------------------------------------------------------------------- */

/**
 * metrics.jsonl: one line an entry, each ending in a checksum of the line, e.g.
 * {"split":"valid","step":100,"epoch":1,"accuracy":0.79,"crc":"1c291ca3"}. No times or rates in it:
 * a run that was killed and continued leaves the same bytes as one that was not.
 */
typedef struct rgm_metrics_log rgm_metrics_log;
/**
 * Open for appending. `offset` is where to go on, from the checkpoint; lines behind it are lost
 * work and cut off. 0 starts anew; -1 keeps every line (a torn last one is cut).
 *
 * Errors: RGM_ERR_FORMAT (shorter than offset, or a line before it fails its checksum),
 * RGM_ERR_NOT_FOUND (offset > 0 and no file), RGM_ERR_IO: see rgm_metrics_log_repair().
 */
rgm_status rgm_metrics_log_open(rgm_metrics_log **out, const char *path, int64_t offset);
/**
 * Make of a log that cannot be opened at `offset` one that can: damaged lines go, the file as it
 * was stays as path.damaged-<n>, and the log is told what is lost. A missing one has no lines.
 *
 * @param end  [out] where to open it, and what the checkpoint has to say from now on
 *
 * Errors: RGM_ERR_FORMAT (more than 4 GiB), RGM_ERR_IO, RGM_ERR_NOMEM; the file is then unchanged.
 */
rgm_status rgm_metrics_log_repair(int64_t *end, const char *path, int64_t offset);
void rgm_metrics_log_close(rgm_metrics_log *log);
rgm_status rgm_metrics_log_add(rgm_metrics_log *log, const char *split, int64_t step, int64_t epoch,
                               const rgm_named_number *numbers, int64_t count);
/** Sync, and the offset to put into a checkpoint that is saved next. Errors: RGM_ERR_IO. */
rgm_status rgm_metrics_log_commit(int64_t *offset, rgm_metrics_log *log);
/** Cut back to an offset that was committed before. Errors: RGM_ERR_IO. */
rgm_status rgm_metrics_log_truncate(rgm_metrics_log *log, int64_t offset);

/** One line, valid during the callback, which may return RGM_END to stop early. */
typedef struct rgm_metrics_entry {
    const char *split;
    int64_t step, epoch;
    const rgm_named_number *numbers;
    int64_t count;
} rgm_metrics_entry;
typedef rgm_status rgm_metrics_visit(const rgm_metrics_entry *entry, void *payload);
/** Every intact line in order; a torn last line is passed over, another bad one is RGM_ERR_FORMAT.
 */
rgm_status rgm_metrics_log_read(const char *path, rgm_metrics_visit *visit, void *payload);
/** How far a log was read; `{0}` is its beginning. */
typedef struct rgm_metrics_place {
    int64_t offset;
    char last[19]; /* bytes before it: the checksum of the line that ends there */
} rgm_metrics_place;
/**
 * The same from a place on, to follow a log that grows: *place ends behind the last intact line.
 * Nothing is mapped, so a log may be cut while it is read.
 *
 * Errors: RGM_ERR_DATA (the log was cut since, or is another: begin anew), RGM_ERR_FORMAT,
 * RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_metrics_log_read_on(rgm_metrics_place *place, const char *path,
                                   rgm_metrics_visit *visit, void *payload);
/**
 * The same for the lines that begin in the last `bytes` bytes of the file: what a long run measured
 * last, at the cost of those alone. Damage before them is not seen.
 * Errors: RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_metrics_log_read_end(const char *path, int64_t bytes, rgm_metrics_visit *visit,
                                    void *payload);

/**
 * system.jsonl: a line a look at the process, with times, for who watches a run: nothing is read
 * back from it but how many seconds were trained before. Lines of a killed run stay, so steps may
 * come twice, with the later time behind.
 * {"time":1795394878.25,"step":10,"epoch":1,"seconds":3.5,"steps_per_second":40.0,
 *  "examples_per_second":1280.0,"rss":61440000,"cpu_seconds":6.9,"threads":2}
 */
typedef struct rgm_system_log rgm_system_log;
typedef struct rgm_system_figures {
    int64_t step, epoch;
    double seconds; /* of training since the log was opened; written with those of earlier starts */
    double steps_per_second, examples_per_second; /* since the last line; NaN, written null: none */
    int threads;
} rgm_system_figures;
/**
 * Open for appending; a torn last line is cut.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_system_log_open(rgm_system_log **out, const char *path);
void rgm_system_log_close(rgm_system_log *log);
/**
 * Write a line: the figures, the time, and of the process its resident bytes and its CPU seconds
 * (which begin anew with each start).
 * Errors: RGM_ERR_IO (the line is lost, the next one may be written), RGM_ERR_NOMEM.
 */
rgm_status rgm_system_log_add(rgm_system_log *log, const rgm_system_figures *figures);

/** Predictions of one head counted by label. */
typedef struct rgm_confusion {
    const char *label;          /* the head's name                              */
    const char *const *classes; /* [count] their names; NULL: they are numbers  */
    int64_t count;
    const int64_t *counts; /* [count][count]: row the label, column the prediction */
} rgm_confusion;
/** One sample of what a model generates, with scores of it alone. */
typedef struct rgm_sample {
    const char *source, *translation, *reference;
    const rgm_named_number *scores; /* [score_count] */
    int64_t score_count;
} rgm_sample;

/**
 * tables.jsonl: what a validation came to beside numbers, a line a table:
 * {"step":100,"split":"valid","kind":"confusion","label":"logits","classes":["a","b"],
 *  "counts":[[9,1],[2,8]]}
 * {"step":100,"split":"valid","kind":"samples","samples":[{"source":"..","translation":"..",
 *  "reference":"..","scores":{"bleu":41.1,"chrf":60.2}}]}
 * No times in it: a run that was killed and continued leaves the same bytes as one that was not.
 * Of lines with the same step, split, kind and label the last one counts.
 */
typedef struct rgm_tables_log rgm_tables_log;
/**
 * Open for appending. Lines behind the last one of a step before `first_void` are lost work, or
 * torn, and cut off.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tables_log_open(rgm_tables_log **out, const char *path, int64_t first_void);
void rgm_tables_log_close(rgm_tables_log *log);
/** Errors of these and flush: RGM_ERR_IO, RGM_ERR_NOMEM. Lines are buffered for a second at most
 * while others come: flush before a checkpoint that is behind them. */
rgm_status rgm_tables_log_confusion(rgm_tables_log *log, const char *split, int64_t step,
                                    const rgm_confusion *table);
rgm_status rgm_tables_log_samples(rgm_tables_log *log, const char *split, int64_t step,
                                  const rgm_sample *samples, int64_t count);
rgm_status rgm_tables_log_flush(rgm_tables_log *log);
/** As rgm_tables_log_open() cuts. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_tables_log_cut(rgm_tables_log *log, int64_t first_void);

/* ---- reading runs back --------------------------------------------------------------------- */

/** Whether a trainer has ever begun in this folder. */
bool rgm_run_folder_exists(const char *path);

typedef enum rgm_run_state {
    RGM_RUN_RUNNING,
    RGM_RUN_FINISHED,
    RGM_RUN_STOPPED,
    RGM_RUN_DAMAGED
} rgm_run_state;
extern const char *const rgm_run_state_names[]; /* "running", ..., ended by NULL */

/** What can be known of a run without loading it; texts are its own, NULL: not known. */
typedef struct rgm_run_look {
    rgm_run_state state;
    char *reason; /* what is damaged */
    char *description, *model;
    int64_t step, epoch; /* of the newest checkpoint, or of the log's last lines */
    int64_t epochs;      /* that it is to have; -1: not known, or its length is in steps */
    int64_t steps;       /* that it is to have; -1: not known, or its length is in epochs */
    char *best_metric;   /* "valid.accuracy", by the newest checkpoint; NULL: no best yet */
    double best_value;
    int64_t best_step;
    rgm_named_number *last; /* "valid.loss": the last values of the log, as they come */
    int64_t last_count, last_capacity;
    int64_t modified; /* when something was last measured, or the run begun: seconds since 1970 */
} rgm_run_look;
/**
 * Look at a run folder, locked or not. What cannot be read makes it a damaged one, with the first
 * reason.
 *
 * @param default_epochs  [in] what a config.yaml means that names no trainer.epochs
 *
 * Errors: RGM_ERR_NOMEM; nothing is then to be cleared.
 */
rgm_status rgm_run_look_load(rgm_run_look *look, const char *path, int64_t default_epochs);
/**
 * The same, with the config.yaml that was parsed for it, so that who wants more of it need not do
 * so again.
 *
 * @param config  [out] NULL: there is none, or it is no YAML; rgm_yaml_release()
 *
 * Errors: RGM_ERR_NOMEM; nothing is then to be cleared.
 */
rgm_status rgm_run_look_load_config(rgm_run_look *look, rgm_yaml **config, const char *path,
                                    int64_t default_epochs);
void rgm_run_look_clear(rgm_run_look *look);
/** NaN when there is none of that name. */
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
/** The learning curves of a run, in the order in which they begin. */
typedef struct rgm_run_curves {
    char *name; /* of the run folder, without the way to it */
    rgm_curve *curves;
    int64_t count, capacity;
} rgm_run_curves;
/**
 * Every curve of a run folder's metrics.jsonl. RGM_ERR_NOT_FOUND: no such folder, no such file, or
 * not a line in it: there is nothing to draw. Nothing is then to be cleared.
 */
rgm_status rgm_run_curves_load(rgm_run_curves *run, const char *path);
void rgm_run_curves_clear(rgm_run_curves *run);

/* ---- event files --------------------------------------------------------------------------- */

/** A TensorBoard event file: TFRecords of tensorflow.Event. */
typedef struct rgm_event_file rgm_event_file;
/**
 * A new file events.out.tfevents.<seconds>.<host>.<pid>.0.v2 in `folder`, which is made. first_step
 * > 0: events of that step and later in older files are void (lost work of a killed run), which
 * TensorBoard is told by a session log. Its name sorts behind those there are.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_event_file_create(rgm_event_file **out, const char *folder, int64_t first_step);
/** Without flush: see rgm_event_file_flush(), whose error close() cannot tell. */
void rgm_event_file_close(rgm_event_file *file);
/** One number of a step. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_event_file_scalar(rgm_event_file *file, const char *tag, int64_t step, double value);
/** A text for TensorBoard's page of texts, which shows it as Markdown. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_event_file_text(rgm_event_file *file, const char *tag, int64_t step,
                               const char *text);
/**
 * 30 buckets of equal width over a numeric tensor, any shape; NaN and infinities are left out.
 * Errors: RGM_ERR_DTYPE, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_event_file_histogram(rgm_event_file *file, const char *tag, int64_t step,
                                    const rgm_tensor *tensor);

/** A hyperparameter of the session: text when `text` is set, else a number. */
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
 * The hparams plugin's experiment and session start; once, in the run folder's own event file.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_event_file_hparams(rgm_event_file *file, const char *session,
                                  const rgm_hparam *hparams, int64_t count,
                                  const rgm_hparam_metric *metrics, int64_t metric_count);
rgm_status rgm_event_file_session_end(rgm_event_file *file, bool success);
/** Write what is buffered and sync. Before each checkpoint. Errors: RGM_ERR_IO. */
rgm_status rgm_event_file_flush(rgm_event_file *file);

/** What a record of an event file says. */
typedef enum rgm_summary_kind {
    RGM_SUMMARY_START, /* a start: what stands before it, in older files too, is void from its step
                          on, as readers of TensorBoard's have it                             */
    RGM_SUMMARY_SCALAR,
    RGM_SUMMARY_TEXT,
    RGM_SUMMARY_HISTOGRAM
} rgm_summary_kind;
/** One value of a record; all of it is valid during the callback alone. */
typedef struct rgm_summary {
    rgm_summary_kind kind;
    int64_t step;
    double time;       /* seconds since 1970                                            */
    int64_t offset;    /* of its record in the file: from there it can be read again    */
    const char *tag;   /* as it stands there, UTF-8 or not; NULL: of a start            */
    double value;      /* scalar                                                        */
    rgm_str text;      /* text, UTF-8 or not                                            */
    double min, max;   /* histogram: of the values                                      */
    double count, sum; /* histogram: how many values, and theirs                        */
    int64_t buckets;
    const double *limits; /* [buckets] upper edges of a histogram's buckets             */
    const double *counts; /* [buckets] how many values lie in each                      */
} rgm_summary;
/** RGM_END: stop, which is no error; any other status that is not RGM_OK is handed on. */
typedef rgm_status rgm_summary_visit(const rgm_summary *summary, void *payload);

/** The largest record that is read; ours have kilobytes. */
#define RGM_EVENT_RECORD_MAX (INT64_C(64) << 20)
/**
 * Scalars, texts, histograms and starts of an event file in its order, by both CRCs of every
 * record. A torn last one is passed over: whoever writes may be at it. So are values of other kinds
 * (images, tensors but for one text). Memory: a record, which grows only as its bytes are there.
 *
 * @param end     [out] behind the last whole record that was read, from which a later call goes on;
 *                after an error the record it is about; may be NULL
 * @param fd      [in] borrowed; read with pread(), so the file may be cut or grow meanwhile
 * @param offset  [in] of a record: 0, or what `end` was
 * @param name    [in] for messages
 *
 * Errors: RGM_ERR_FORMAT "name: record at byte N: ..." (what stands before it was visited),
 * RGM_ERR_IO, RGM_ERR_NOMEM, and those of the callback.
 */
rgm_status rgm_event_records_read(int64_t *end, int fd, int64_t offset, const char *name,
                                  rgm_summary_visit *visit, void *payload);
/**
 * The same for a whole file by its path, which must be a plain one and no link.
 * Errors: those of rgm_event_records_read(), RGM_ERR_NOT_FOUND.
 */
rgm_status rgm_event_file_read(const char *path, rgm_summary_visit *visit, void *payload);

#ifdef __cplusplus
}
#endif
#endif
