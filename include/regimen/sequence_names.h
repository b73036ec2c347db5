/*
 * sequence, weights under other programs' names: a table says what each of our parameters is called
 * there and how it lies there. The same table serves reading and writing.
 */
#ifndef REGIMEN_SEQUENCE_NAMES_H
#define REGIMEN_SEQUENCE_NAMES_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a weight lies in another program's file; flags. */
typedef enum rgm_weight_how {
    RGM_WEIGHT_AS_IS = 0,
    RGM_WEIGHT_TURNED = 1, /* [outputs, inputs] there, [inputs, outputs] here               */
    RGM_WEIGHT_TOKENS = 2, /* a row (of a vector a number) for each token; ours has up to 7 more,
                              which are 0                                                    */
    RGM_WEIGHT_ROW = 4,    /* [1, n] there, [n] here                                         */
    RGM_WEIGHT_TARGET = 8 /* of TOKENS: those of the target, where it has a vocabulary of its own */
} rgm_weight_how;

/** A parameter under both names. '%' stands for the number of a layer, at most once in each; in
 * theirs '#' does where they count from 1. */
typedef struct rgm_weight_name {
    const char *theirs; /* "model.layers.%.self_attn.q_proj.weight" */
    const char *ours;   /* "decoder/layer_%/attention/query/kernel" */
    unsigned how;       /* of rgm_weight_how */
    int part, parts; /* ours is this one of so many equal parts of theirs, along the outputs; 0, 0:
                        all of it */
} rgm_weight_name;

/**
 * The row of a table (ended by {0}) that is about one of our parameters; NULL: none is.
 *
 * @param layer  [out] the number that stands for '%'; 0 without one
 */
const rgm_weight_name *rgm_weight_find(const rgm_weight_name *names, const char *ours,
                                       int64_t *layer);
/** Write a name with the layer's number in the place of '%', or with the next one in that of '#'.
 * RGM_ERR_ARG: it has no room. */
rgm_status rgm_weight_print(char *out, size_t size, const char *name, int64_t layer);
/** What the row does to a weight, for people: "turned, part 1 of 3". */
const char *rgm_weight_describe(char *out, size_t size, const rgm_weight_name *name);

/** Rows of tables that have one for each token. */
typedef struct rgm_weight_tokens {
    int64_t theirs;      /* in their file */
    int64_t taken;       /* rows of ours; not more than ours has. They are the first ones of theirs,
                            unless `from` is set */
    const int64_t *from; /* [taken] the row of theirs of each of ours, -1: theirs lacks it, and ours
                            is 0; NULL: the same. Borrowed                                  */
    double missing;      /* what a number of a vector is in the place of 0 where theirs lacks it */
} rgm_weight_tokens;
/**
 * Fill one of our parameters from their tensor.
 *
 * @param to      [in] f32, its shape is ours
 * @param from    [in] f32, f64 or bf16 of finite numbers or not
 * @param tokens  [in] used by rows with RGM_WEIGHT_TOKENS
 *
 * Errors: RGM_ERR_SHAPE (with their shape and the one that ours asks for), RGM_ERR_DTYPE.
 */
rgm_status rgm_weight_take(rgm_tensor *to, const rgm_tensor *from, const rgm_weight_name *name,
                           const rgm_weight_tokens *tokens);
/**
 * Make their tensor of ours: the other way round. Of a fused tensor only the part of this row is
 * set, and a tensor that is already there is filled on.
 *
 * @param to    [in/out, owned] NULL: it is created, f32, with zeros
 * @param from  [in] f32
 *
 * Errors: RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_weight_give(rgm_tensor **to, const rgm_tensor *from, const rgm_weight_name *name,
                           const rgm_weight_tokens *tokens);

/**
 * Write all parameters under their names as `folder`/model.safetensors, as Transformers loads it;
 * the file gets its name last.
 *
 * @param tokens  [in] rows of tables by token
 * @param target  [in] the same of rows with RGM_WEIGHT_TARGET; NULL: `tokens`
 *
 * Errors: RGM_ERR_UNSUPPORTED (a parameter without a row), rgm_weight_give()'s, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_weights_save(const char *folder, const rgm_parameters *parameters,
                            const rgm_weight_name *names, const rgm_weight_tokens *tokens,
                            const rgm_weight_tokens *target);

#ifdef __cplusplus
}
#endif
#endif
