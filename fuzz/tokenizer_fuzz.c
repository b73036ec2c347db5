/*
 * SentencePiece models and tokenizer.json from anywhere: refused, or every piece can be read and
 * any text encoded and decoded again.
 */
#include <regimen/text.h>

#include <string.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = {
        "",         "a",
        "x y  z",   "Zwei junge M\xc3\xa4nner \xef\xac\x81 \xe2\x85\xa3.",
        "\xff\xfe", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    rgm_tokenizer *tokenizer;
    rgm_ids ids = {0};
    rgm_text text = {0};

    if (rgm_tokenizer_create(&tokenizer, data, (int64_t)size, "fuzz") != RGM_OK)
        return 0;
    for (int64_t id = 0; id < rgm_tokenizer_size(tokenizer); id++) {
        const char *piece = rgm_tokenizer_piece(tokenizer, (int32_t)id);

        if (piece == NULL)
            __builtin_trap();
        (void)rgm_tokenizer_encode(&ids, tokenizer, piece, (int64_t)strlen(piece));
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        (void)rgm_tokenizer_encode(&ids, tokenizer, texts[i], (int64_t)strlen(texts[i]));
    for (int64_t i = 0; i < ids.count; i++)
        if (ids.items[i] < 0 || ids.items[i] >= rgm_tokenizer_size(tokenizer))
            __builtin_trap();
    (void)rgm_tokenizer_decode(&text, tokenizer, ids.items, ids.count);
    rgm_text_clear(&text);
    rgm_ids_clear(&ids);
    rgm_tokenizer_release(tokenizer);
    return 0;
}
