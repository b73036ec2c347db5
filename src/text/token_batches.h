/*
 * Token batches: the plan that all epochs share (token_plan.c), which pairs share a batch shape
 * (token_classes.c), segmentations that are drawn (token_sampling.c).
 */
#ifndef RGMI_TOKEN_BATCHES_H
#define RGMI_TOKEN_BATCHES_H

#include <regimen/text.h>

/** Pairs whose batches have one shape, but for a row: `count` of them in `batches` batches. */
typedef struct rgmi_token_class {
    int64_t source, target; /* ids of the longest, which all are padded to */
    int64_t count;
    int64_t batches;
} rgmi_token_class;

/** Lengths of the pairs, cut to the most allowed. */
typedef struct rgmi_lengths {
    const int32_t *source, *target; /* [count]; a source of 0: the pair is left out */
    const double *times;            /* [count] how often each stands in an epoch    */
    int64_t count;
} rgmi_lengths;

/**
 * Choose the classes and say for every pair which one it is in (-1: none).
 *
 * @param classes   [out, owned] shortest first
 * @param class_of  [out] [lengths.count]
 */
rgm_status rgmi_token_classes(rgmi_token_class **classes, int64_t *class_count, int32_t *class_of,
                              const rgmi_lengths *lengths, const rgm_token_batch_options *options);
/** Batches that a class of so many rows is cut into. */
int64_t rgmi_token_class_batches(const rgmi_token_class *c, const rgm_token_batch_options *options);

/** Ids that segmentations of a sentence had, its end among them. */
typedef struct rgmi_room {
    int32_t longest;
    double mean;
} rgmi_room;
/** Of every pair of the corpus: side 0 the source, 1 the target. Errors: the tokenizer's. */
rgm_status rgmi_sampling_measure(rgmi_room *rooms, const rgm_subword_sampling *sampling, int side);
/**
 * Draw a segmentation of at most `room` ids for row `row` of an epoch, whose stream is `rng`, in
 * the place of what `ids` had; none when all that were drawn are longer.
 */
rgm_status rgmi_sampling_draw(rgm_ids *ids, const rgm_subword_sampling *sampling, int64_t pair,
                              int side, int64_t room, const rgm_rng *rng, int64_t row);

/** The pairs of one set that are in one class: what they make in an epoch. */
typedef struct rgmi_token_share {
    int64_t begin, pairs; /* in the plan's order                              */
    int64_t whole, extra; /* rows: each pair so often, and so many once more */
} rgmi_token_share;

/** What a recipe holds; shared by its copies. */
typedef struct rgmi_token_plan {
    rgm_token_pairs *pairs;
    rgm_corpus *corpus; /* of the sampling, with its tokenizers; NULL: there is none */
    rgm_tokenizer *source, *target;
    rgm_token_batch_options options;
    rgm_token_batch_set one_set, *sets; /* sets: &one_set, or an array of its own */
    int64_t set_count;
    rgmi_token_class *classes; /* their counts are rows */
    int64_t class_count;
    int64_t *first_row;   /* [class_count + 1] into an epoch's rows           */
    int64_t *first_batch; /* [class_count + 1]                                */
    int64_t *order;       /* [kept] pairs by class, then by set, then by size */
    int64_t kept;
    rgmi_token_share *shares; /* [class_count * set_count] */
    rgm_token_batch_figures figures;
} rgmi_token_plan;

/** Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOMEM, the tokenizer's. */
rgm_status rgmi_token_plan_create(rgmi_token_plan **out, const rgm_token_pairs *pairs,
                                  const rgm_token_batch_options *options);
void rgmi_token_plan_release(rgmi_token_plan *plan);
/** A length as it will stand in a batch; 0 for one that is too long to be trained on. */
int64_t rgmi_token_length(int64_t length, const rgm_token_batch_options *options);
/** Rows [*begin, *end) of a class make its batch j: as even as whole rows can be, or all full. */
void rgmi_token_plan_rows(int64_t *begin, int64_t *end, const rgmi_token_plan *plan,
                          const rgmi_token_class *c, int64_t j);

#endif
