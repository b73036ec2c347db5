/* The check of a SentencePiece model before the library sees it. */
#ifndef RGMI_TOKENIZER_INTERNAL_H
#define RGMI_TOKENIZER_INTERNAL_H

#include <regimen/text.h>

/** RGM_ERR_FORMAT "name: what" for a model that is damaged or could lead the library astray. */
rgm_status rgmi_tokenizer_check(const void *model, int64_t size, const char *name);

#endif
