/*
 * The next batch, while a step computes: what it is fed goes to the device.
 */
#include "trainer_internal.h"

/* What is wrong with the next batch, or with the device, is told when it is its turn. Private steps
 * feed single examples, and batches that other ranks complete are not whole yet. */
void rgmi_feed_ahead(rgm_executor *executor, void *payload)
{
    rgm_trainer *trainer = payload;
    rgm_feed feeds[RGM_MAX_FEEDS];
    rgm_element *next = NULL;
    int64_t count = 0;

    if (trainer->iterator == NULL || trainer->hooks.next_train_inputs != NULL ||
        trainer->task.complete != NULL || trainer->private.used)
        return;
    rgm_iterator_peek(&next, trainer->iterator);
    if (next == NULL)
        return;
    if (rgmi_feed(feeds, &count, trainer, next) != RGM_OK ||
        rgm_executor_feed_ahead(executor, feeds, count) != RGM_OK)
        rgm_error_reset();
    rgm_element_release(next);
}
