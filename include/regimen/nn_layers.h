/*
 * nn_layers: a network as a list of layers, one behind the other, as Keras' Sequential has it.
 *
 *     static const rgm_layer layers[] = {
 *         {.kind = RGM_LAYER_CONV, .units = 32, .size = {3}, .activation = RGM_ACT_RELU},
 *         {.kind = RGM_LAYER_POOL, .size = {2}},
 *         {.kind = RGM_LAYER_FLATTEN},
 *         {.kind = RGM_LAYER_DENSE, .units = 10}};
 *     logits = rgm_layers(scope, images, layers, 4);
 *
 * The same as lines of text, which experiment files and hyperparameters have:
 *
 *     conv 32 3 relu
 *     pool 2
 *     flatten
 *     dense 10
 */
#ifndef REGIMEN_NN_LAYERS_H
#define REGIMEN_NN_LAYERS_H

#include <regimen/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a layer does with x; the first axis is of records and stays. */
typedef enum rgm_layer_kind {
    RGM_LAYER_DENSE,       /* [.., in] -> [.., units]: act(x W + b)                               */
    RGM_LAYER_ACTIVATION,  /* act(x)                                                              */
    RGM_LAYER_DROPOUT,     /* of numbers, in training                                             */
    RGM_LAYER_BATCH_NORM,  /* over the last axis, rgm_batch_norm()                                */
    RGM_LAYER_LAYER_NORM,  /* over the last axis, rgm_layer_norm()                                */
    RGM_LAYER_CONV,        /* images [n, rows, columns, in] -> [n, .., .., units]; [n, rows,
                              columns] are images of one channel                                  */
    RGM_LAYER_POOL,        /* images: the largest number of each window, or the mean              */
    RGM_LAYER_GLOBAL_POOL, /* [n, .., c] -> [n, c]: the mean of what lies between, or the largest */
    RGM_LAYER_FLATTEN,     /* [n, a, b] -> [n, a b]                                               */
    RGM_LAYER_EMBEDDING,   /* ids [n, ..] -> [n, .., units]: rows of a table                      */
    RGM_LAYER_KINDS
} rgm_layer_kind;
extern const char *const rgm_layer_names[]; /* "dense", "activation", ..., ended by NULL */

/** A layer. Members that its kind does not have are 0; 0 is the default of each. */
typedef struct rgm_layer {
    rgm_layer_kind kind;
    const char *name;          /* of its parameters; NULL: kind and number, "dense_3" */
    int64_t units;             /* dense; conv: filters; embedding: width of a row */
    rgm_activation activation; /* dense, conv, activation */
    double slope;              /* of leaky_relu, above 0; 0: 0.2 */
    double rate;               /* dropout, in [0, 1) */
    int64_t count;             /* embedding: rows of the table; an id is below it */
    int64_t size[2];           /* conv, pool: rows and columns of a window; [1] 0: as many */
    int64_t stride[2];         /* 0: conv 1, pool the size; [1] 0: as [0] */
    rgm_image_padding padding; /* conv, pool: valid (default) or same */
    bool mean;                 /* pool: the mean of a window */
    bool largest;              /* global_pool: the largest number */
    bool no_bias;              /* dense, conv */
    double l2;                 /* dense, conv: coefficient of sum(w^2) of the kernel */
    double momentum;           /* batch_norm: of the moving statistics; 0: 0.99 */
} rgm_layer;
#define RGM_MAX_LAYERS 256

/**
 * x through the layers, in their order. Parameters are "<name>/kernel" and so on, as the single
 * layers have them. A layer that cannot take what the one before it gives is a failure of the
 * graph: "layer 2, pool_2: it takes images [n, rows, columns, channels], but gets f32[n,128]";
 * layers are counted from 0.
 */
rgm_value *rgm_layers(rgm_scope *scope, rgm_value *x, const rgm_layer *layers, int64_t count);
/**
 * Read a layer from words:
 *
 *     dense UNITS [ACTIVATION]        conv FILTERS SIZE [ACTIVATION]    flatten
 *     activation ACTIVATION           pool SIZE [mean]                  batch_norm
 *     dropout RATE                    global_pool [largest]             layer_norm
 *     embedding COUNT WIDTH
 *
 * SIZE is "3" or "3x5". Behind them KEY=VALUE of stride, padding, slope, l2, momentum and bias.
 * Errors: RGM_ERR_CONFIG "'dens 3': there is no layer 'dens'; did you mean 'dense'?".
 */
rgm_status rgm_layer_parse(rgm_layer *out, const char *text);
/** All of a list. @param out  [out] [RGM_MAX_LAYERS] Errors: RGM_ERR_CONFIG "layer 3: ...". */
rgm_status rgm_layers_parse(rgm_layer *out, int64_t *count, const rgm_texts *texts);

#ifdef __cplusplus
}
#endif
#endif
