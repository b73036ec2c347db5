/*
 * record: rows of numbers and images, each with a class. Three networks, mlp, cnn and a list of
 * layers, and the task that reads CSV files and trains one of them.
 */
#ifndef REGIMEN_RECORD_H
#define REGIMEN_RECORD_H

#include <regimen/train_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- networks of records: x [n, ...] -> [n, units] ------------------------------------------- */

/**
 * "mlp": dense layers on flattened records; each is product, batch norm, activation, dropout.
 * Parameters are hidden_<i>/{kernel,bias}; with batch_norm hidden_<i>/kernel and those of
 * hidden_<i>/norm.
 */
typedef struct rgm_mlp_options {
    rgm_ints hidden;           /* units of each layer; default 256, 128                           */
    rgm_activation activation; /* default relu */
    double dropout;            /* after each layer                                                */
    bool batch_norm;           /* instead of the bias; its moving statistics have momentum 0.9    */
    double l2;                 /* coefficient of sum(w^2) of the kernels                          */
} rgm_mlp_options;
void rgm_mlp_defaults(void *options);
extern const rgm_field rgm_mlp_fields[];
/** x [batch, ...], flattened -> the last hidden layer, [batch, units]. options: rgm_mlp_options. */
rgm_value *rgm_mlp(rgm_scope *scope, rgm_value *x, const void *options);

/**
 * "cnn": blocks of convolutions (zero-padded, so that the image keeps its size), each followed by a
 * max pool; then dropout and an mlp. Parameters are conv_<i>/{kernel,bias}; with batch_norm
 * conv_<i>/kernel and those of conv_<i>/norm; and the mlp's.
 */
typedef struct rgm_cnn_options {
    rgm_ints channels; /* of each block; default 32, 64          */
    int64_t kernel;    /* rows and columns of a window           */
    int64_t depth;     /* convolutions of a block                */
    int64_t pool;      /* rows and columns pooled into one; 1: none */
    rgm_ints hidden;   /* of the mlp; default 128                */
    rgm_activation activation;
    double dropout; /* of the flattened images, and in the mlp */
    bool batch_norm;
    double l2;
} rgm_cnn_options;
void rgm_cnn_defaults(void *options);
extern const rgm_field rgm_cnn_fields[];
/** x [n, rows, columns, channels] or [n, rows, columns]; options: rgm_cnn_options. */
rgm_value *rgm_cnn(rgm_scope *scope, rgm_value *x, const void *options);

/**
 * "layers": a list of layers as rgm_layer_parse() (nn_layers.h) reads them; what they give is the
 * input of the logits. Parameters are <kind>_<i>/{kernel,bias}, ....
 */
typedef struct rgm_layers_network_options {
    rgm_texts layers; /* at least one; default flatten, dense 128 relu */
} rgm_layers_network_options;
extern const rgm_field rgm_layers_network_fields[];

/* ---- records: fixed-size arrays of numbers with a class each --------------------------------- */

/** "classification": its `data:` and `task:` keys. Files are CSV (plain or gzip), one record a
 * line. */
typedef struct rgm_record_options {
    const char *path; /* data: folder of the files                                            */
    rgm_texts train;  /* file names and patterns, read in this order; required                  */
    rgm_texts valid;  /* none: valid_fraction of train; with that 0: no validation              */
    rgm_texts test;   /* none: no test                                                          */
    rgm_lists valid_sets, test_sets; /* further sets to evaluate, by name: valid_<name>.accuracy */
    double valid_fraction;           /* of train, held out by the run's seed; in [0, 1) */
    bool header;       /* each file's first line names the columns                             */
    const char *label; /* column of the class: "first", "last" or its number from 0            */
    double scale;      /* the other columns are divided by it; > 0                             */
    rgm_ints shape;    /* of a record, e.g. [8, 8, 1] (rows, columns, channels); none: one axis */
    int64_t batch_size;
    bool poisson;        /* draw each training record independently; batch_size on average       */
    bool shuffle;        /* train in a new order each epoch                                      */
    int64_t shift;       /* move train images at random by up to this many rows and columns      */
    int64_t num_classes; /* task: this or class_names; labels are 0 .. num_classes-1             */
    rgm_texts class_names;
    double label_smoothing; /* in the loss, not in the metrics; in [0, 1) */
    bool per_class_statistics;
    rgm_folds folds; /* split the records of `train` into folds and use one; count 0: no split */
} rgm_record_options;

/** A network for records: x [n, shape...] in the scope's dtype -> [n, units], the logits' input. */
typedef struct rgm_record_network {
    rgm_section_type section;
    rgm_value *(*build)(rgm_scope *scope, rgm_value *x, const void *options);
} rgm_record_network;
extern const rgm_record_network rgm_mlp_network, rgm_cnn_network, rgm_layers_network;
/** All networks; each entry is the first member of its rgm_record_network. Ended by NULL. */
extern const rgm_section_type *const rgm_record_networks[];

/**
 * Predict one class for each record: a network, then a dense layer "classification_logits", trained
 * with smoothed cross-entropy. Files are read when the task is created.
 */
extern const rgm_task_type rgm_record_classification;
/** options: rgm_record_options. */
void rgm_record_defaults(void *options);
/**
 * Create the same task from C; free it with rgm_task_release(). Texts in options, and
 * network_options, are borrowed.
 *
 * Errors: RGM_ERR_CONFIG (options that contradict each other or the files), RGM_ERR_DATA,
 * RGM_ERR_IO.
 */
rgm_status rgm_record_classification_create(rgm_task *out, const rgm_record_options *options,
                                            const rgm_record_network *network,
                                            const void *network_options, uint64_t seed,
                                            int threads);

#ifdef __cplusplus
}
#endif
#endif
