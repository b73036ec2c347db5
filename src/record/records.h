/* Records: fixed-size arrays of numbers, each with a class, in memory as two tensors. */
#ifndef RGM_RECORD_RECORDS_H
#define RGM_RECORD_RECORDS_H

#include <regimen/record.h>

/** Both are NULL when there is no such part. */
typedef struct rgmi_records {
    rgm_tensor *features; /* f32 [n, shape...] */
    rgm_tensor *labels;   /* i64 [n]           */
} rgmi_records;
void rgmi_records_clear(rgmi_records *records);
/** The names of columns, of the first file that was read; count 0: none was yet. */
typedef struct rgmi_columns {
    char **names;
    int64_t count;
} rgmi_columns;
void rgmi_columns_clear(rgmi_columns *columns);
/**
 * Load files and patterns of options->path in this order; the files of a pattern are sorted by
 * name. Errors: RGM_ERR_CONFIG (a file does not have the label column or shape), RGM_ERR_DATA
 * "FILE:line: ..." (a label outside 0..classes-1, a feature that is not finite as f32, no records,
 * another number of columns than the first file, or with a header other names), RGM_ERR_NOT_FOUND,
 * and the reader's.
 *
 * @param columns  [in,out] with a header: the columns of every file are found by the names of the
 *                          first one's, which the first call sets
 */
rgm_status rgmi_records_load(rgmi_records *out, const rgm_texts *names,
                             const rgm_record_options *options, int64_t classes,
                             rgmi_columns *columns);
/**
 * Load files to predict of, by a path or a pattern that stands for itself; labels are 0. With a
 * header and names in `columns`, the numbers of a record are the columns of those names, wherever
 * they are, and others are not read. Else a record is `width` numbers in their order, with the
 * label's column or without it; what stands there is not read.
 * Errors: those of rgmi_records_load().
 */
rgm_status rgmi_records_load_asked(rgmi_records *out, const char *pattern,
                                   const rgm_record_options *options, rgmi_columns *columns,
                                   int64_t width);
/**
 * Hold out a part: round(fraction * n) of records[RGM_FOLD_TRAIN], drawn by the seed, become
 * records[RGM_FOLD_VALID], both in the file's order. RGM_ERR_CONFIG when one would be empty.
 */
rgm_status rgmi_records_hold_out(rgmi_records *records, double fraction, uint64_t seed);
/** Split records[RGM_FOLD_TRAIN] into the three parts of a fold, in the file's order. Errors: those
 * of rgm_folds_parts(). */
rgm_status rgmi_records_fold(rgmi_records *records, const rgm_folds *folds);
/** A map function: shift the record by up to *payload (int64_t) rows and columns; the gap is filled
 * with zeros. */
rgm_status rgmi_records_shift(rgm_element **out, const rgm_element *record,
                              const rgm_map_call *call, void *payload);

/* For leaky_relu; no network has an option for it. */
#define RGMI_SLOPE 0.2
/** The activation of x after a batch norm "<layer>/norm". */
rgm_value *rgmi_norm_activate(rgm_scope *scope, const char *layer, rgm_value *x,
                              rgm_activation activation);

#endif
