/*
 * The C interface to the SentencePiece library. These functions wrap the only C++ of the project;
 * no exception leaves it. A model must be checked before it comes here (tokenizer_check.c), because
 * the library trusts its tables.
 */
#ifndef RGMI_SENTENCEPIECE_SHIM_H
#define RGMI_SENTENCEPIECE_SHIM_H

#include <regimen/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rgmi_sentencepiece rgmi_sentencepiece;

rgm_status rgmi_sentencepiece_open(rgmi_sentencepiece **out, const void *model, int64_t size,
                                   const char *name);
void rgmi_sentencepiece_close(rgmi_sentencepiece *processor);
int32_t rgmi_sentencepiece_size(const rgmi_sentencepiece *processor);
int32_t rgmi_sentencepiece_pad_id(const rgmi_sentencepiece *processor);
int32_t rgmi_sentencepiece_unk_id(const rgmi_sentencepiece *processor);
int32_t rgmi_sentencepiece_bos_id(const rgmi_sentencepiece *processor);
int32_t rgmi_sentencepiece_eos_id(const rgmi_sentencepiece *processor);
const char *rgmi_sentencepiece_piece(const rgmi_sentencepiece *processor, int32_t id);
int32_t rgmi_sentencepiece_find(const rgmi_sentencepiece *processor, const char *piece);
/** Both append. */
rgm_status rgmi_sentencepiece_encode(rgm_ids *ids, const rgmi_sentencepiece *processor,
                                     const char *text, int64_t size);
/** Draws a segmentation by the key. RGM_ERR_UNSUPPORTED: the kind of model knows none but one. */
rgm_status rgmi_sentencepiece_sample(rgm_ids *ids, const rgmi_sentencepiece *processor,
                                     const char *text, int64_t size, double alpha, uint64_t key);
/** The id of a piece. */
typedef int32_t rgmi_piece_id(const void *payload, const char *piece);
/** How a text is cut: the best segmentation, or one that is drawn by the key. */
typedef struct rgmi_segmentation {
    double alpha; /* 0: the best */
    uint64_t key;
} rgmi_segmentation;
/** Append the ids that a function gives the pieces of a text; one that the model does not know is
 * the piece of its characters. Errors: as rgmi_sentencepiece_sample(). */
rgm_status rgmi_sentencepiece_encode_by(rgm_ids *ids, const rgmi_sentencepiece *processor,
                                        const char *text, int64_t size,
                                        const rgmi_segmentation *how, rgmi_piece_id *id_of,
                                        const void *payload);
/** Append the text of pieces, known to the model or not. */
rgm_status rgmi_sentencepiece_join(rgm_text *text, const rgmi_sentencepiece *processor,
                                   const char *const *pieces, int64_t count);
rgm_status rgmi_sentencepiece_decode(rgm_text *text, const rgmi_sentencepiece *processor,
                                     const int32_t *ids, int64_t count);

/** Whether there is room for training on so many characters: to be asked before it begins. */
rgm_status rgmi_sentencepiece_train_room(double characters);
/** The next sentence, borrowed until the next call; RGM_END after the last. */
typedef rgm_status rgmi_next_sentence(rgm_str *sentence, void *payload);
/** Appends the trained model's bytes to `model`. kind: SentencePiece's name of options->type. */
rgm_status rgmi_sentencepiece_train(rgm_text *model, const rgm_tokenizer_options *options,
                                    const char *kind, rgmi_next_sentence *next, void *payload);

#ifdef __cplusplus
}
#endif
#endif
