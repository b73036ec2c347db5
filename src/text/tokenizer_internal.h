/* The checks of a SentencePiece model, and of text to train one on, before the library sees them.
 */
#ifndef RGMI_TOKENIZER_INTERNAL_H
#define RGMI_TOKENIZER_INTERNAL_H

#include <regimen/text.h>

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

#endif
