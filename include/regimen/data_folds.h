/*
 * data: which items are for training, validation and test: folds of a cross-validation, or a share
 * that is held out.
 */
#ifndef REGIMEN_DATA_FOLDS_H
#define REGIMEN_DATA_FOLDS_H

#include <regimen/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The parts that data are split into: "train", "valid", "test"; ended by NULL. */
extern const char *const rgm_split_names[];

/** One fold of a cross-validation. */
typedef struct rgm_folds {
    int64_t count; /* number of folds, 2 or more; 0: no folds  */
    int64_t fold;  /* 1..count: the fold that is held out      */
    double valid;  /* share of the other folds' items for validation, 0 <= valid < 1 */
    uint64_t seed; /* decides which items share a fold         */
} rgm_folds;

typedef enum rgm_fold_part { RGM_FOLD_TRAIN, RGM_FOLD_VALID, RGM_FOLD_TEST } rgm_fold_part;

/**
 * Decide which part each item belongs to: the items of the fold are RGM_FOLD_TEST, a share of the
 * others is RGM_FOLD_VALID. The folds are stratified (Kohavi 1995): the numbers of items with one
 * label differ by at most one between folds, and the validation part has its share of each label.
 * The sizes of the folds differ by at most one item. Labels that are numbers instead of classes are
 * stratified in the same way, by their order. The folds of one seed are disjoint and cover all
 * items.
 *
 * @param parts   [out] [count]
 * @param labels  [in] [count], none of them NaN; NULL: all labels are equal
 *
 * Errors: RGM_ERR_CONFIG (a fold that does not exist, fewer items than folds, a part without an
 * item), RGM_ERR_NOMEM.
 */
rgm_status rgm_folds_parts(rgm_fold_part *parts, const double *labels, int64_t count,
                           const rgm_folds *folds);
/**
 * Hold out a share of the items for validation, when the test items are split off already. Each
 * item becomes RGM_FOLD_VALID or RGM_FOLD_TRAIN, stratified as above.
 * Errors: RGM_ERR_CONFIG (a part without an item), RGM_ERR_NOMEM.
 */
rgm_status rgm_folds_hold_out(rgm_fold_part *parts, const double *labels, int64_t count,
                              double share, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
