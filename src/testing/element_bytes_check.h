/*
 * Bytes of an element that are cut off or changed: refused, or read as an element that can be
 * written again.
 */
#ifndef RGM_ELEMENT_BYTES_CHECK_H
#define RGM_ELEMENT_BYTES_CHECK_H

#include "check.h"
#include <regimen/data.h>

/** Each length and each byte; `factor`: from one change of a byte to the next. */
static inline void check_damaged_bytes(const rgm_element *from,
                                       const rgm_element_type *const *types, int factor)
{
    rgm_text bytes = {0}, again = {0};
    rgm_element *to;

    CHECK_OK(rgm_element_encode(&bytes, from));
    for (int64_t size = 0; size < bytes.size; size++)
        CHECK(rgm_element_decode(&to, bytes.data, size, types) < 0);
    for (int64_t i = 0; i < bytes.size; i++)
        for (int change = 1; change < 256; change = change * factor + 1) {
            char before = bytes.data[i];

            bytes.data[i] = (char)(before ^ change);
            if (rgm_element_decode(&to, bytes.data, bytes.size, types) == RGM_OK) {
                again.size = 0;
                CHECK_OK(rgm_element_encode(&again, to));
                rgm_element_release(to);
            }
            bytes.data[i] = before;
        }
    rgm_text_clear(&bytes);
    rgm_text_clear(&again);
}

#endif
