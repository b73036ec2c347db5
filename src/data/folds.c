/*
 * Folds of a cross-validation: items in a random order, then sorted by label, are dealt out in
 * turn. So all folds get the same share of each label, and all have the same size.
 */
#include <math.h>
#include <stdlib.h>

#include "data_internal.h"

const char *const rgm_split_names[] = {"train", "valid", "test", NULL};

typedef struct dealt {
    double label;
    int64_t place; /* in the random order */
    int64_t item;
} dealt;

static int by_label(const void *a, const void *b)
{
    const dealt *x = a, *y = b;

    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* The order in which items are dealt out. */
static rgm_status deal(dealt **out, const double *labels, int64_t count, uint64_t seed)
{
    rgm_rng rng = rgm_rng_stream(seed, "data/folds", 0);
    rgm_status status = RGM_OK;
    int64_t *order = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(order, count));
    RGM_GO(RGM_NEW(*out, count));
    rgm_rng_permutation(&rng, order, count);
    for (int64_t i = 0; i < count; i++) {
        double label = labels != NULL ? labels[order[i]] : 0;

        (*out)[i] = (dealt){label, i, order[i]};
    }
    qsort(*out, (size_t)count, sizeof **out, by_label);
done:
    rgm_free(order);
    return status;
}

/* Every so many of the items that are not held out validates: round(share * n) of them. */
static rgm_status share_out(rgm_fold_part *parts, const dealt *order, int64_t count, double share)
{
    int64_t seen = 0, valid = 0;

    for (int64_t i = 0; i < count; i++) {
        if (parts[order[i].item] == RGM_FOLD_TEST)
            continue;
        seen++;
        if (floor((double)seen * share + 0.5) > (double)valid) {
            parts[order[i].item] = RGM_FOLD_VALID;
            valid++;
        }
    }
    if (seen > valid && (share == 0 || valid > 0))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%g of the %lld items that are not held out are %lld to validate on and %lld "
                    "to train on; leave at least one on each side",
                    share, (long long)seen, (long long)valid, (long long)(seen - valid));
}

rgm_status rgm_folds_hold_out(rgm_fold_part *parts, const double *labels, int64_t count,
                              double share, uint64_t seed)
{
    rgm_status status = RGM_OK;
    dealt *order = NULL;

    RGM_GO(deal(&order, labels, count, seed));
    for (int64_t i = 0; i < count; i++)
        parts[i] = RGM_FOLD_TRAIN;
    RGM_GO(share_out(parts, order, count, share));
done:
    rgm_free(order);
    return status;
}

rgm_status rgm_folds_parts(rgm_fold_part *parts, const double *labels, int64_t count,
                           const rgm_folds *folds)
{
    rgm_status status = RGM_OK;
    dealt *order = NULL;

    if (folds->count < 2 || folds->fold < 1 || folds->fold > folds->count)
        return RGM_FAIL(RGM_ERR_CONFIG, "fold %lld of %lld: there are at least 2, from 1 on",
                        (long long)folds->fold, (long long)folds->count);
    if (count < folds->count)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld items cannot be parted into %lld folds",
                        (long long)count, (long long)folds->count);
    RGM_GO(deal(&order, labels, count, folds->seed));
    for (int64_t i = 0; i < count; i++)
        parts[order[i].item] = i % folds->count == folds->fold - 1 ? RGM_FOLD_TEST : RGM_FOLD_TRAIN;
    RGM_GO(share_out(parts, order, count, folds->valid));
done:
    rgm_free(order);
    return status;
}
