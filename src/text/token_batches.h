/* Which pairs share a batch shape: what token_classes.c decides for token_batches.c. */
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

#endif
