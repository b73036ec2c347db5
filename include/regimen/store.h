/*
 * store: the files of a run. Checkpoints that are whole or absent, the run folder with its lock and
 * log, metrics, and TensorBoard event files.
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
 * binary blobs (data position, metric state). The caller fills the object to save it; loading
 * returns the same kind of object. Bytes on disk depend on this content alone: they hold no time,
 * host or process.
 *
 *     ckpt/step-00001200/
 *       manifest.json        format, version, step, values, size and hash of each file
 *       weights.safetensors
 *       slots.safetensors
 *       best.safetensors     the best weights so far, once there are any
 *       <blob>.bin
 *
 * The best weights are part of every checkpoint, so that no second file can disagree with it and
 * retention cannot lose them.
 */
typedef struct rgm_checkpoint rgm_checkpoint;
#define RGM_CHECKPOINT_VERSION 1

/** An empty checkpoint of this step. RGM_ERR_NOMEM. */
rgm_status rgm_checkpoint_create(rgm_checkpoint **out, int64_t step);
void rgm_checkpoint_release(rgm_checkpoint *checkpoint);
/** The step at which the checkpoint was taken. */
int64_t rgm_checkpoint_step(const rgm_checkpoint *checkpoint);

/**
 * Add a tensor. It is retained, not copied, so it must not change before the checkpoint is saved.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_add_weight(rgm_checkpoint *checkpoint, const char *name,
                                     rgm_tensor *tensor);
rgm_status rgm_checkpoint_add_slot(rgm_checkpoint *checkpoint, const char *name,
                                   rgm_tensor *tensor);
/** Add a weight of the best validation so far. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_checkpoint_add_best(rgm_checkpoint *checkpoint, const char *name,
                                   rgm_tensor *tensor);
/**
 * Add all parameters, as weights or as the weights of the best validation.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_add_parameters(rgm_checkpoint *checkpoint,
                                         const rgm_parameters *parameters);
rgm_status rgm_checkpoint_add_best_parameters(rgm_checkpoint *checkpoint,
                                              const rgm_parameters *best);
/**
 * Set a named value; setting it again replaces it. Texts and blobs are copied. Numbers keep their
 * bits; NaN stays NaN.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_set_int(rgm_checkpoint *checkpoint, const char *name, int64_t value);
rgm_status rgm_checkpoint_set_number(rgm_checkpoint *checkpoint, const char *name, double value);
rgm_status rgm_checkpoint_set_text(rgm_checkpoint *checkpoint, const char *name, const char *text);
/**
 * A name consists of letters, digits, '_' and '-', since it becomes a file name.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_set_blob(rgm_checkpoint *checkpoint, const char *name, const void *data,
                                   int64_t size);

/** Read a named value; texts and blobs are borrowed. RGM_ERR_NOT_FOUND names checkpoint and
 * value. */
rgm_status rgm_checkpoint_int(int64_t *out, const rgm_checkpoint *checkpoint, const char *name);
rgm_status rgm_checkpoint_number(double *out, const rgm_checkpoint *checkpoint, const char *name);
rgm_status rgm_checkpoint_text(const char **out, const rgm_checkpoint *checkpoint,
                               const char *name);
rgm_status rgm_checkpoint_blob(const void **data, int64_t *size, const rgm_checkpoint *checkpoint,
                               const char *name);
/** Tensors of a loaded checkpoint; borrowed. NULL when the checkpoint was not loaded. */
const rgm_safetensors *rgm_checkpoint_weights(const rgm_checkpoint *checkpoint);
const rgm_safetensors *rgm_checkpoint_slots(const rgm_checkpoint *checkpoint);
/** The same; NULL also when it was saved without best weights. */
const rgm_safetensors *rgm_checkpoint_best_weights(const rgm_checkpoint *checkpoint);
/**
 * Copy all weights (or those of the best validation) into `parameters`, which must have the same
 * names, shapes and dtypes. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_DATA
 * (the checkpoint has an additional weight); `parameters` is then unchanged.
 */
rgm_status rgm_checkpoint_restore_parameters(const rgm_checkpoint *checkpoint,
                                             rgm_parameters *parameters);
rgm_status rgm_checkpoint_restore_best(const rgm_checkpoint *checkpoint,
                                       rgm_parameters *parameters);

/**
 * What runs keep in their checkpoints beside tensors. Saving, restoring and reading use this one
 * list: X(key, name, kind, meaning).
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

/** Where the value of a key is in memory. The same list of places serves saving and restoring. */
typedef struct rgm_key_place {
    rgm_run_key key;
    void *value;
} rgm_key_place;
/** Set each key to the value at its place. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_checkpoint_set_keys(rgm_checkpoint *checkpoint, const rgm_key_place *places,
                                   int64_t count);
/** Copy each key's value to its place. RGM_ERR_NOT_FOUND names the checkpoint and the key. */
rgm_status rgm_checkpoint_get_keys(const rgm_checkpoint *checkpoint, const rgm_key_place *places,
                                   int64_t count);
/** Check that every integer among them is a possible count of steps, epochs, ...: -1 .. 10^15.
 * RGM_ERR_FORMAT otherwise: the checkpoint is damaged. */
rgm_status rgm_key_places_check_counts(const rgm_key_place *places, int64_t count);

/** The folder that holds a run's checkpoints. */
typedef struct rgm_checkpoint_store rgm_checkpoint_store;
typedef struct rgm_checkpoint_store_options {
    int64_t keep;            /* newest checkpoints kept, >= 1 */
    double keep_every_hours; /* a checkpoint that `keep` would delete is kept for good when it was
                                saved at least so many hours after the last one kept for good, or
                                after the beginning of the run; 0: none */
    bool read_only;          /* for eval, predict, export: nothing is created, swept or repaired */
    bool values_only; /* with read_only: load integers, numbers and texts from the manifest alone;
                         tensors and blobs are neither read nor verified */
} rgm_checkpoint_store_options;
#define RGM_CHECKPOINT_STORE_OPTIONS_INIT                                                          \
    {                                                                                              \
        .keep = 3                                                                                  \
    }

/**
 * Open `folder`. A missing folder is created, or with read_only RGM_ERR_NOT_FOUND. A writer must
 * hold the run folder's lock, because this removes what an interrupted save left.
 *
 * @param options  [in] NULL: defaults
 */
rgm_status rgm_checkpoint_store_open(rgm_checkpoint_store **out, const char *folder,
                                     const rgm_checkpoint_store_options *options);
void rgm_checkpoint_store_close(rgm_checkpoint_store *store);
/**
 * Name the steps whose checkpoints are never deleted; they replace those named before.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_store_spare(rgm_checkpoint_store *store, const int64_t *steps,
                                      int64_t count);

/**
 * Save a checkpoint: write it to step-N.tmp-<pid>, sync each file and that folder, rename it, and
 * sync the parent folder. Then delete older checkpoints beyond `keep`, except spared ones and those
 * kept for good, which have a file `kept` with the time of their save. If the step exists already,
 * it is left alone when its manifest is the same, and swapped atomically otherwise.
 *
 * Errors: RGM_ERR_IO (full disk, ...): earlier checkpoints are untouched and the temporary folder
 * is removed; RGM_ERR_NOMEM. A failed sync is never tried again on the same file.
 */
rgm_status rgm_checkpoint_save(rgm_checkpoint_store *store, const rgm_checkpoint *checkpoint);

/**
 * Load the newest intact checkpoint. Damaged ones are skipped with a warning in the log.
 *
 * Errors: RGM_ERR_NOT_FOUND (there is none: a fresh run), RGM_ERR_FORMAT (there are some, none is
 * intact), RGM_ERR_VERSION (a newer build wrote it: both versions are named; it is never skipped).
 */
rgm_status rgm_checkpoint_load_newest(rgm_checkpoint **out, rgm_checkpoint_store *store);
/** Load the checkpoint of one step. RGM_ERR_NOT_FOUND lists the steps that exist. */
rgm_status rgm_checkpoint_load_step(rgm_checkpoint **out, rgm_checkpoint_store *store,
                                    int64_t step);
/** Load a checkpoint folder by its path and verify every hash. RGM_ERR_FORMAT says what is
 * damaged. */
rgm_status rgm_checkpoint_load(rgm_checkpoint **out, const char *path);
/**
 * The steps that have a checkpoint (verified or not), ascending; free with rgm_free(*steps).
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_steps(int64_t **steps, int64_t *count, const rgm_checkpoint_store *store);
/**
 * Rename the checkpoints of steps after `step` to step-N.rolled-back, the latest first, so that a
 * run which went back to `step` cannot continue from them. Nothing reads a renamed one; the save of
 * its step or a later one deletes it.
 *
 * @param moved  [out] how many
 *
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM; checkpoints already renamed stay renamed.
 */
rgm_status rgm_checkpoint_store_set_aside(int64_t *moved, rgm_checkpoint_store *store,
                                          int64_t step);
/** Delete what was set aside of steps up to `step`; the log tells each. */
void rgm_checkpoint_store_drop_aside(rgm_checkpoint_store *store, int64_t step);
/** Delete the old checkpoints left by a save that was killed after its rename. */
void rgm_checkpoint_store_tidy(rgm_checkpoint_store *store, int64_t current);
/**
 * Parse only a manifest, the first part of loading. For tests and fuzzing.
 *
 * @param name  [in] for messages
 * Errors: RGM_ERR_FORMAT, RGM_ERR_VERSION, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_manifest_check(const void *data, int64_t size, const char *name);
/**
 * Read the integers, numbers and texts of a checkpoint from its manifest, for a caller that has
 * opened the file itself. The result has no tensors or blobs.
 *
 * @param name  [in] for messages
 * Errors: RGM_ERR_FORMAT, RGM_ERR_VERSION, RGM_ERR_NOMEM.
 */
rgm_status rgm_checkpoint_from_manifest(rgm_checkpoint **out, const void *data, int64_t size,
                                        const char *name);

/* ---- run folder ---------------------------------------------------------------------------- */

/**
 *     runs/cora_gcn-1/  .lock config.yaml env.json log.txt metrics.jsonl ckpt/ train/ validation/
 *                       sources.json content.json changes.jsonl system.jsonl tables.jsonl
 * model.json The files of the second line are for people and programs that look at the run; no
 * start needs them.
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
 * Read config.yaml of a run folder without locking it (to compare, eval, export); free with
 * rgm_free(*text).
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_config(char **text, int64_t *size, const char *path);
/**
 * Whether the run has ever continued with another value of a key that a shell pattern matches, by
 * changes.jsonl; false without that file.
 * Errors: RGM_ERR_IO, RGM_ERR_FORMAT (more than 16 MiB), RGM_ERR_NOMEM.
 */
rgm_status rgm_run_folder_has_changed(bool *out, const char *path, const char *pattern);

/* ---- summaries ----------------------------------------------------------------------------- */

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
/** Visit every intact line in order. A torn last line is skipped; any other bad line is
 * RGM_ERR_FORMAT. */
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
 */
typedef struct rgm_system_log rgm_system_log;
typedef struct rgm_system_figures {
    int64_t step, epoch;
    double
        seconds; /* of training since the log was opened; the line adds those of earlier starts */
    double steps_per_second,
        examples_per_second; /* since the last line; NaN: none, written as null */
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

/** What a run has come to, for people and programs that look at it: docs/store.md. */
#define RGM_RESULT_FILE "result.json"

/* ---- reading runs back --------------------------------------------------------------------- */

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

/* ---- event files --------------------------------------------------------------------------- */

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
