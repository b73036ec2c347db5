/*
 * distil: a small fast student from one or several teachers. One file has the steps, by name and in
 * order; a step reads what steps above it have made:
 *
 *     steps:
 *       teacher: {type: train, experiment: multi30k_de_en}
 *       taught:  {type: translate, models: teacher, source: train.de, search: {beam_size: 5}}
 *       sure:    {type: score, model: teacher, pairs: taught}
 *       kept:    {type: filter, pairs: taught, scores: sure, min_log_probability: -1}
 *       student: {type: train, experiment: small, pairs: kept, tokenizer: teacher, teachers:
 * teacher}
 *
 *     rgm_distil_load(&distil, "student.yaml", NULL, 0);
 *     rgm_distil_run(distil, "work", NULL);
 *
 * Each step has a folder of its own, work/taught, and a record there, step.json, of what it was
 * made from: a hash of the content of every input. A step whose record is that of now is done and
 * not repeated; one that was killed at any moment goes on and ends with the same bytes; one whose
 * inputs changed is told and made again, and what it had made before is kept beside it.
 */
#ifndef REGIMEN_DISTIL_H
#define REGIMEN_DISTIL_H

#include <regimen/controller_run.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The steps of a file. Immutable. */
typedef struct rgm_distil rgm_distil;
/**
 * Read a file and check all keys and names; no data are read.
 *
 * @param sets  [in] [set_count] "steps.student.over.trainer.epochs=3": later values of keys
 *
 * Errors: RGM_ERR_CONFIG "FILE:line:column: what" (a key, a value, a name of no earlier step),
 * RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_distil_load(rgm_distil **out, const char *file, const char *const *sets,
                           int64_t set_count);
void rgm_distil_release(rgm_distil *distil);

/** How far a step is. */
typedef enum rgm_distil_state {
    RGM_STEP_NEW,
    RGM_STEP_BEGUN,   /* a part of it is there, and it goes on     */
    RGM_STEP_DONE,    /* with the inputs of now                    */
    RGM_STEP_CHANGED, /* its inputs are others: it is made again   */
    RGM_STEP_WAITS    /* for a step above it: nobody knows yet     */
} rgm_distil_state;
extern const char *const rgm_distil_state_names[]; /* "new", "begun", ..., ended by NULL */

/** A step as it is before anything is done. Texts are borrowed for the call. */
typedef struct rgm_distil_step {
    const char *name, *type;
    rgm_distil_state state;
    const char *why; /* of a changed step: which inputs are others; of one that waits: for what */
} rgm_distil_step;

/** Who looks on; each function may be NULL. */
typedef struct rgm_distil_hooks {
    bool (*should_stop)(void *payload); /* asked every few hundred lines, and by the trainer */
    /** A step, before it begins or where it is done. */
    void (*step)(const rgm_distil_step *step, void *payload);
    /** What a step tells: "kept" and "271 of 300 pairs". */
    void (*say)(const char *label, const char *text, void *payload);
    void (*lines)(int64_t done, int64_t total, void *payload); /* of the step that is under way */
    /** A training that was opened, and (ends) that has ended and not been closed. */
    void (*run)(rgm_open_run *run, bool ends, void *payload);
    void *payload;
} rgm_distil_hooks;

/**
 * Tell each step's state, in order, by hooks->step. Nothing is written.
 *
 * @param folder  [in] need not be there
 *
 * Errors: RGM_ERR_NOT_FOUND (a file or model that a step names), RGM_ERR_FORMAT (a damaged record),
 * RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_distil_plan(const rgm_distil *distil, const char *folder,
                           const rgm_distil_hooks *hooks);
/**
 * Make what is not done. The folder is locked meanwhile.
 *
 * @param folder  [in] made if it is not there
 * @param hooks   [in] NULL: nobody looks on
 *
 * Errors: RGM_STOPPED (asked to stop: the same call goes on), RGM_ERR_BUSY (another process works
 * there), RGM_ERR_DATA (no line of a text can be translated, no pair is left, ...), those of
 * reading inputs, of training and of writing, with the step's name.
 */
rgm_status rgm_distil_run(const rgm_distil *distil, const char *folder,
                          const rgm_distil_hooks *hooks);

#ifdef __cplusplus
}
#endif
#endif
