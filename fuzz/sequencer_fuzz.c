/*
 * A sequencer's state from anywhere: what is taken is written as it would be read, and goes on:
 * each workload that it gives can be completed, and what it stands at never goes beyond what was
 * asked.
 */
#include <regimen/search_sequencer.h>

#include <string.h>

#include "target.h"

static void save_again(const rgm_sequencer *s)
{
    rgm_sequencer *again = NULL;
    rgm_text a = {0}, b = {0};

    if (rgm_sequencer_save(&a, s) != RGM_OK ||
        rgm_sequencer_restore(&again, a.data, a.size) != RGM_OK ||
        rgm_sequencer_save(&b, again) != RGM_OK || strcmp(a.data, b.data) != 0)
        __builtin_trap();
    rgm_sequencer_release(again);
    rgm_text_clear(&a);
    rgm_text_clear(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_sequencer *s = NULL;
    rgm_workload w;

    if (size > 1 << 16 || rgm_sequencer_restore(&s, (const char *)data, (int64_t)size) != RGM_OK) {
        rgm_error_reset();
        return 0;
    }
    save_again(s);
    (void)rgm_sequencer_train(s, rgm_sequencer_target(s) + 3);
    for (int i = 0; i < 100 && rgm_sequencer_next(&w, s); i++) {
        if (rgm_sequencer_completed(NULL, s, &w, i % 2 == 0) != RGM_OK ||
            rgm_sequencer_batches(s) > rgm_sequencer_target(s))
            __builtin_trap();
        if (i % 20 == 19)
            rgm_sequencer_rollback(s, INT64_MAX);
    }
    save_again(s);
    rgm_sequencer_release(s);
    rgm_error_reset();
    return 0;
}
