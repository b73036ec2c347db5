/* How documents are packed into blocks: decided once (token_packing.c), drawn for each epoch
 * (token_blocks.c). */
#ifndef RGMI_TOKEN_PACKING_H
#define RGMI_TOKEN_PACKING_H

#include "token_store.h"

/** What a recipe of blocks holds. A slot is a place in a block for a piece of a certain length. */
typedef struct rgmi_packing {
    rgm_tokens *tokens;
    rgm_token_block_options options;
    int64_t count;      /* pieces, and slots; 0: a stream           */
    int64_t *begins;    /* [count] of pieces, longest first, then as in the data */
    int32_t *lengths;   /* [count] of pieces, and of their slots    */
    int64_t *firsts;    /* [length + 2] the first piece that is not longer than that; firsts[0] is
                           `count` */
    int64_t *slots;     /* [count] by block                         */
    int64_t *block_end; /* [figures.blocks] into slots              */
    rgm_token_block_figures figures;
} rgmi_packing;

/** Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOMEM. */
rgm_status rgmi_packing_create(rgmi_packing **out, const rgm_tokens *tokens,
                               const rgm_token_block_options *options);
void rgmi_packing_release(rgmi_packing *packing);

#endif
