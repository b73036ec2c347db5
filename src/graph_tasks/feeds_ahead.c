/*
 * Patterns that a batch will be fed are made where the batch is: the trainer's thread tells here
 * what the model takes, and the threads of a pipeline then make it, so that the trainer finds it
 * made. A model that is built again is another: until its first batch nothing is known.
 */
#include <pthread.h>

#include "learning.h"

struct rgmi_feeds_ahead {
    pthread_rwlock_t lock; /* of root: threads that make feeds share it */
    rgm_graph_value *root; /* its own, apart from any compute graph; NULL: not known */
    atomic_bool known;
};

rgm_status rgmi_feeds_ahead_create(rgmi_feeds_ahead **out)
{
    rgmi_feeds_ahead *ahead;

    *out = NULL;
    RGM_TRY(RGM_NEW(ahead, 1));
    if (pthread_rwlock_init(&ahead->lock, NULL) != 0) {
        rgm_free(ahead);
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a lock");
    }
    *out = ahead;
    return RGM_OK;
}

void rgmi_feeds_ahead_release(rgmi_feeds_ahead *ahead)
{
    if (ahead == NULL)
        return;
    rgm_graph_value_release(ahead->root);
    pthread_rwlock_destroy(&ahead->lock);
    rgm_free(ahead);
}

rgm_status rgmi_feeds_ahead_tell(rgmi_feeds_ahead *ahead, const rgm_graph_value *root)
{
    rgm_status status = RGM_OK;

    if (ahead == NULL || atomic_load_explicit(&ahead->known, memory_order_acquire))
        return RGM_OK;
    pthread_rwlock_wrlock(&ahead->lock);
    if (ahead->root == NULL)
        status = rgm_graph_value_apart(&ahead->root, root);
    atomic_store_explicit(&ahead->known, status == RGM_OK, memory_order_release);
    pthread_rwlock_unlock(&ahead->lock);
    return status;
}

void rgmi_feeds_ahead_forget(rgmi_feeds_ahead *ahead)
{
    if (ahead == NULL)
        return;
    pthread_rwlock_wrlock(&ahead->lock);
    rgm_graph_value_release(ahead->root);
    ahead->root = NULL;
    atomic_store_explicit(&ahead->known, false, memory_order_release);
    pthread_rwlock_unlock(&ahead->lock);
}

void rgmi_feeds_ahead_make(rgmi_feeds_ahead *ahead, rgm_graph *graph)
{
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t count;

    if (ahead == NULL || !atomic_load_explicit(&ahead->known, memory_order_acquire))
        return;
    pthread_rwlock_rdlock(&ahead->lock);
    if (ahead->root != NULL &&
        rgm_graph_feeds(feeds, RGM_MAX_FEEDS, &count, ahead->root, graph) != RGM_OK)
        rgm_error_reset(); /* the trainer meets it when the batch is its next, and tells it */
    pthread_rwlock_unlock(&ahead->lock);
}
