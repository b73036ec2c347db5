/*
 * tf.train.Example bytes from anywhere: what decodes must encode, decode to the same again, and
 * then encode to the same bytes.
 */
#include <regimen/data.h>

#include <string.h>

#include "target.h"

static void encode(rgm_text *out, const rgm_example *example)
{
    int64_t count = rgm_example_count(example);
    rgm_example_field *fields;

    if (RGM_NEW(fields, count) != RGM_OK)
        __builtin_trap();
    for (int64_t i = 0; i < count; i++) {
        fields[i] = *rgm_example_feature(example, i);
        if (rgm_example_find_n(example, fields[i].key.data, fields[i].key.size) !=
            rgm_example_feature(example, i))
            __builtin_trap();
    }
    if (rgm_example_encode(out, fields, count) != RGM_OK)
        __builtin_trap();
    rgm_free(fields);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_example *example;
    rgm_text first = {0}, second = {0};

    if (rgm_example_create(&example) != RGM_OK)
        __builtin_trap();
    if (rgm_example_decode(example, data, (int64_t)size) == RGM_OK) {
        encode(&first, example);
        if (rgm_example_decode(example, first.data, first.size) != RGM_OK)
            __builtin_trap();
        encode(&second, example);
        if (first.size != second.size || memcmp(first.data, second.data, (size_t)first.size) != 0)
            __builtin_trap();
    }
    rgm_text_clear(&first);
    rgm_text_clear(&second);
    rgm_example_release(example);
    return 0;
}
