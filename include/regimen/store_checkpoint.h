/*
 * store: checkpoints that are whole or absent, and the folder that holds a run's.
 */
#ifndef REGIMEN_STORE_CHECKPOINT_H
#define REGIMEN_STORE_CHECKPOINT_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

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
/** Tensors of a loaded checkpoint; borrowed. NULL when the checkpoint, or that part of it (see
 * rgm_checkpoint_store_options), was not loaded. */
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
    X(STOP_METRIC, "stop_metric", TEXT, "that metric and its better end: valid.loss min")          \
    X(SECONDS, "seconds", NUMBER, "of training so far; of a run with trainer.max_seconds")         \
    X(PLATEAU_VALUE, "plateau_value", NUMBER, "best value that trainer.reduce_on_plateau has seen") \
    X(PLATEAU_METRIC, "plateau_metric", TEXT, "of what, as stop_metric")                           \
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
    const char *slots_prefix; /* with read_only: the optimizer's tensors are read and verified only
                                 if the name of one of them begins so; else rgm_checkpoint_slots()
                                 is NULL. NULL: always. Borrowed */
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
 * Copy all tensors that were added, so that what they were may change while another thread saves
 * the checkpoint. Errors: RGM_ERR_NOMEM; the checkpoint is as good as before.
 */
rgm_status rgm_checkpoint_detach(rgm_checkpoint *checkpoint);
/** Writes into a checkpoint's folder what else belongs to it, below names that no part has. */
typedef rgm_status rgm_checkpoint_fill(const char *folder, void *payload);
/**
 * The same with what `fill` (NULL: nothing) writes before the checkpoint has its name. Loading
 * reads none of it, and it is deleted with the checkpoint. Errors: those of rgm_checkpoint_save()
 * and of `fill`.
 */
rgm_status rgm_checkpoint_save_with(rgm_checkpoint_store *store, const rgm_checkpoint *checkpoint,
                                    rgm_checkpoint_fill *fill, void *payload);

/**
 * Load the newest intact checkpoint. Damaged ones are skipped with a warning in the log; the next
 * save deletes those of earlier steps, and sets those of later ones aside
 * (rgm_checkpoint_store_set_aside()).
 *
 * Errors: RGM_ERR_NOT_FOUND (there is none: a fresh run), RGM_ERR_FORMAT (there are some, none is
 * intact), RGM_ERR_VERSION (a newer build wrote it: both versions are named; it is never skipped),
 * RGM_ERR_IO (one that may be intact is out of reach now, by rights or open files say: it is not
 * skipped, either), RGM_ERR_NOMEM.
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

#ifdef __cplusplus
}
#endif
#endif
