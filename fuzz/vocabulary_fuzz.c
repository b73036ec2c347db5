/*
 * The ids of a SentencePiece model from anywhere, as vocab.json or Marian's vocab.yml: refused, or
 * each id is a piece's of its own, and any text is encoded and decoded by them. The model is a good
 * one, trained once.
 */
#include <regimen/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

static void put(int fd, const void *data, size_t size)
{
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
}

static size_t take_varint(const uint8_t *bytes, int64_t *at)
{
    size_t value = 0;

    for (int shift = 0; shift < 35; shift += 7) {
        value |= (size_t)(bytes[*at] & 0x7f) << shift;
        if (bytes[(*at)++] < 0x80)
            break;
    }
    return value;
}

/* A model without its rules for characters (field 3), which take longer to load than all else. */
static void put_model(int fd, const uint8_t *bytes, int64_t size)
{
    for (int64_t at = 0, begin = 0; at < size; begin = at) {
        size_t field = take_varint(bytes, &at) >> 3, length = take_varint(bytes, &at);

        at += (int64_t)length;
        if (field != 3)
            put(fd, bytes + begin, (size_t)(at - begin));
    }
}

/* A file in memory with a model of few pieces. */
static int train(void)
{
    rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
    int lines = memfd_create("lines", 0), model = memfd_create("model", 0);
    char path[64];
    const char *paths[] = {path};
    rgm_tokenizer *tokenizer;
    const void *bytes;
    int64_t size;

    for (int i = 0; i < 200; i++)
        put(lines, i % 2 ? "a b ab abb\n" : "ba aab b\n", i % 2 ? 11 : 9);
    snprintf(path, sizeof path, "/proc/self/fd/%d", lines);
    options.vocab_size = 9;
    options.type = RGM_TOKENIZER_BPE;
    MUST(rgm_tokenizer_train(&tokenizer, paths, 1, &options));
    bytes = rgm_tokenizer_model(tokenizer, &size);
    put_model(model, bytes, size);
    rgm_tokenizer_release(tokenizer);
    snprintf(path, sizeof path, "/proc/self/fd/%d", model);
    MUST(rgm_tokenizer_load_with(&tokenizer, path, path)); /* its own pieces are a vocabulary */
    rgm_tokenizer_release(tokenizer);
    close(lines);
    return model;
}

static void check_ids(const rgm_tokenizer *t)
{
    int64_t size = rgm_tokenizer_size(t);

    if (rgm_tokenizer_pad_id(t) != 0 || strcmp(rgm_tokenizer_piece(t, 0), "<pad>") != 0)
        abort();
    for (int32_t id = 0; id < size; id++) {
        const char *piece = rgm_tokenizer_piece(t, id);
        int64_t number = rgm_tokenizer_number(t, id);

        if (piece == NULL || rgm_tokenizer_find(t, piece) != id || number < -(id == 0) ||
            number >= size)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = {"", "a b", ">>fr<< ab", ">><<", ">>fr", "\xff z"};
    static int model = -1; /* open until the end */
    int file = memfd_create("vocabulary", 0);
    char model_path[64], path[64];
    rgm_tokenizer *tokenizer;
    rgm_ids ids = {0};
    rgm_text text = {0};

    if (model < 0)
        model = train();
    put(file, data, size);
    snprintf(model_path, sizeof model_path, "/proc/self/fd/%d", model);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (rgm_tokenizer_load_with(&tokenizer, model_path, path) == RGM_OK) {
        check_ids(tokenizer);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            (void)rgm_tokenizer_encode(&ids, tokenizer, texts[i], (int64_t)strlen(texts[i]));
        for (int64_t i = 0; i < ids.count; i++)
            if (ids.items[i] < 0 || ids.items[i] >= rgm_tokenizer_size(tokenizer))
                abort();
        (void)rgm_tokenizer_decode(&text, tokenizer, ids.items, ids.count);
        rgm_tokenizer_release(tokenizer);
    }
    rgm_ids_clear(&ids);
    rgm_text_clear(&text);
    close(file);
    return 0;
}
