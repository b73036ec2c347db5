/*
 * Of every fuzz target: what a fuzzer or driver.c calls, and how a target says that something good
 * was refused.
 */
#ifndef RGM_FUZZ_TARGET_H
#define RGM_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != RGM_OK)                                                                      \
            abort();                                                                               \
    } while (0)

#endif
