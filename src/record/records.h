/* Records: fixed-size arrays of numbers with a class each, held in memory as two tensors. */
#ifndef RGM_RECORD_RECORDS_H
#define RGM_RECORD_RECORDS_H

#include <regimen/record.h>

/** Both NULL: there is no such part. */
typedef struct rgmi_records {
    rgm_tensor *features; /* f32 [n, shape...] */
    rgm_tensor *labels;   /* i64 [n]           */
} rgmi_records;
void rgmi_records_clear(rgmi_records *records);
/**
 * Files and patterns of options->path, one behind the other, those of a pattern by name. Errors:
 * RGM_ERR_CONFIG (label column or shape that a file does not have), RGM_ERR_DATA "FILE:line: ..."
 * (a label outside 0..classes-1, a feature that is not finite as f32, no records, another number of
 * columns than the first file's), RGM_ERR_NOT_FOUND, and the reader's.
 */
rgm_status rgmi_records_load(rgmi_records *out, const rgm_texts *names,
                             const rgm_record_options *options, int64_t classes);
/**
 * Hold out: of records[RGM_FOLD_TRAIN] round(fraction * n) drawn by the seed become
 * records[RGM_FOLD_VALID], both in the file's order. RGM_ERR_CONFIG when one would be empty.
 */
rgm_status rgmi_records_hold_out(rgmi_records *records, double fraction, uint64_t seed);
/** records[RGM_FOLD_TRAIN] to the three parts of a fold, in the file's order. Errors: those of
 * rgm_folds_parts(). */
rgm_status rgmi_records_fold(rgmi_records *records, const rgm_folds *folds);
/** A map function: the record moved by up to *payload (int64_t) rows and columns; zeros come in. */
rgm_status rgmi_records_shift(rgm_element **out, const rgm_element *record,
                              const rgm_map_call *call, void *payload);

/* Of leaky_relu, for which no network has an option. */
#define RGMI_SLOPE 0.2
/** The activation of x behind a batch norm "<layer>/norm". */
rgm_value *rgmi_norm_activate(rgm_scope *scope, const char *layer, rgm_value *x,
                              rgm_activation activation);

#endif
