/* The checks of a SentencePiece model, and of text to train one on, before the library sees them.
 */
#ifndef RGMI_TOKENIZER_INTERNAL_H
#define RGMI_TOKENIZER_INTERNAL_H

#include <regimen/text.h>

#include "sentencepiece_shim.h"

/** RGM_ERR_FORMAT "name: what" for a model that is damaged or could lead the library astray. */
rgm_status rgmi_tokenizer_check(const void *model, int64_t size, const char *name);

/** What a line is to training. */
typedef struct rgmi_training_line {
    bool blank;         /* normalization leaves nothing of it    */
    int64_t characters; /* that it has at most when normalized   */
} rgmi_training_line;
/** RGM_ERR_DATA "path:line:byte: what" for a line that the trainer would not survive. */
rgm_status rgmi_training_line_check(rgmi_training_line *out, rgm_str line, const char *path,
                                    int64_t number);

/* ---- tokenizer_vocabulary.c: ids from a file beside the model ---- */

/** Pieces with the ids that a file gives them. */
typedef struct rgmi_vocabulary {
    rgm_text file;       /* its bytes                            */
    rgm_map *ids;        /* piece -> id + 1                      */
    const char **pieces; /* [count] by id, in the map            */
    int64_t count;
    int64_t pad;        /* number of "<pad>" in the file; -1: it lacks one */
    int32_t eos, unk;   /* ids                                  */
    bool has_languages; /* it has pieces such as ">>fr<<"       */
} rgmi_vocabulary;
/** model: the bytes of the SentencePiece model, which the file may be itself. */
rgm_status rgmi_vocabulary_open(rgmi_vocabulary **out, const char *path,
                                const rgmi_sentencepiece *processor, const rgm_text *model);
void rgmi_vocabulary_close(rgmi_vocabulary *vocabulary);
/** -1: there is no such piece. */
int32_t rgmi_vocabulary_find(const rgmi_vocabulary *vocabulary, const char *piece);
/** Both append. */
rgm_status rgmi_vocabulary_encode(rgm_ids *ids, const rgmi_vocabulary *vocabulary,
                                  const rgmi_sentencepiece *processor, const char *text,
                                  int64_t size, const rgmi_segmentation *how);
rgm_status rgmi_vocabulary_decode(rgm_text *text, const rgmi_vocabulary *vocabulary,
                                  const rgmi_sentencepiece *processor, const int32_t *ids,
                                  int64_t count);

#endif
