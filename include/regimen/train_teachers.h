/*
 * train_teachers: trained models that teach another one. A part of a student's loss is how far its
 * distribution of the next token is from theirs, which are computed beside it in the same graph:
 * their weights are constants there (rgm_scope_hold()).
 */
#ifndef REGIMEN_TRAIN_TEACHERS_H
#define REGIMEN_TRAIN_TEACHERS_H

#include <regimen/train_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The maximum number of teachers of a model. */
enum { RGM_MOST_TEACHERS = 8 };
/** `task.distillation`: a part of the loss is how far the model is from its teachers. */
typedef struct rgm_distillation_options {
    rgm_texts teacher;  /* folders of runs or exports; the mean of their distributions teaches;
                           none: no distillation                                               */
    double weight;      /* of this part of the loss; that of the labels has the rest           */
    double temperature; /* of both distributions, see rgm_distillation_losses()                */
} rgm_distillation_options;
#define RGM_DISTILLATION_OPTIONS_INIT                                                              \
    {                                                                                              \
        .weight = 0.5, .temperature = 1                                                            \
    }
extern const rgm_field rgm_distillation_fields[];

/** A model that was trained before. What it has is borrowed from its owner. */
typedef struct rgm_trained_model {
    const rgm_task *task;
    const rgm_parameters *parameters;
    const char *name; /* its folder, for messages */
    void (*release)(void *owner);
    void *owner;
} rgm_trained_model;
/** Models that teach, one or several; of zeros: none. Where it is copied, one of the copies is
 * released. */
typedef struct rgm_teachers {
    rgm_trained_model models[RGM_MOST_TEACHERS];
    int64_t count;
} rgm_teachers;
/**
 * Open the teachers that options name, by setup->open_model; none for a model that is trained
 * already.
 *
 * @param out   [out] rgm_teachers_release(). None after an error
 * @param type  [in] that they must be of
 *
 * Errors: RGM_ERR_CONFIG (another type, too many), RGM_ERR_UNSUPPORTED (nobody opens models here),
 * those of opening, all with the key.
 */
rgm_status rgm_teachers_open(rgm_teachers *out, const rgm_distillation_options *options,
                             const rgm_task_setup *setup, const rgm_task_type *type);
/**
 * Call release(owner) of each, and set all to zeros. This thread's error stays, so that a task
 * which cannot be made is left by one call. Errors: `status`, which is returned.
 */
rgm_status rgm_teachers_release(rgm_teachers *teachers, rgm_status status);
/**
 * Set the loss of a head whose weights are set: the mean of `losses` [n] and, in training, with
 * `taught` [n] (rgm_distillation_losses(); NULL: no teachers) that of (1 - weight) losses + weight
 * taught. Validation does without the teachers, so its losses are those of any other run.
 */
void rgm_tokens_set_loss(rgm_head *head, rgm_value *losses, rgm_value *taught, double weight);

#ifdef __cplusplus
}
#endif
#endif
