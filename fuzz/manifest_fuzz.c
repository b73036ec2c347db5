/*
 * The manifest of a checkpoint: as it is, where the hash must refuse nearly all of it, and with a
 * hash that fits, so that the parser behind it is reached. What was accepted is looked at no
 * further: a manifest names files, it cannot choose where they lie.
 */
#include <regimen/store.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

static void expect(rgm_status status)
{
    if (status != RGM_OK && status != RGM_ERR_FORMAT && status != RGM_ERR_VERSION &&
        status != RGM_ERR_NOMEM)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_text text = {0};

    expect(rgm_checkpoint_manifest_check(data, (int64_t)size, "input"));
    if (rgm_text_add(&text, data, (int64_t)size) == RGM_OK &&
        rgm_text_printf(&text, "  \"xxh3\": \"%016llx\"\n}\n",
                        (unsigned long long)rgm_hash64(data, size)) == RGM_OK)
        expect(rgm_checkpoint_manifest_check(text.data, text.size, "input"));
    rgm_text_clear(&text);
    return 0;
}
