/*
 * data: from files to a stream of elements. Nothing here knows about graphs, sentences or models.
 *
 *   data_records   TFRecord and tf.train.Example
 *   data_lines     CSV and lines of text
 *   data_pbtxt     protobuf text
 *   data_dataset   recipes, their elements, iterators whose position can be saved and restored
 *   data_op        how to write your own op
 *   data_code      elements as bytes
 *   data_folds     cross-validation
 */
#ifndef REGIMEN_DATA_H
#define REGIMEN_DATA_H

#include <regimen/data_code.h>
#include <regimen/data_dataset.h>
#include <regimen/data_folds.h>
#include <regimen/data_lines.h>
#include <regimen/data_op.h>
#include <regimen/data_pbtxt.h>
#include <regimen/data_records.h>

#endif
