/*
 * A master that serves one search and leaves the others of its folder: in memory alone, for the
 * next master serves them again.
 */
#include "master_internal.h"

bool rgmi_is_left(const rgm_master *master, int64_t experiment)
{
    for (int64_t i = 0; i < master->left_count; i++)
        if (master->left[i] == experiment)
            return true;
    return false;
}

void rgmi_take_in(rgm_master *master, int64_t experiment)
{
    for (int64_t i = master->left_count - 1; i >= 0; i--)
        if (master->left[i] == experiment)
            master->left[i] = master->left[--master->left_count];
}

static rgm_status find_others(int64_t **out, int64_t *count, rgm_master *master, int64_t experiment)
{
    rgmi_rows *rows;
    rgm_status status;
    int64_t capacity = 0;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT id FROM experiments WHERE id <> ? AND state NOT IN"
                                " " RGMI_SQL_OVER " AND state <> " RGMI_SQL(PAUSED) " ORDER BY id",
                                "i", experiment));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        RGM_GO(RGM_RESERVE(*out, capacity, *count + 1));
        (*out)[(*count)++] = rgmi_rows_int(rows, 0);
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    return status;
}

rgm_status rgm_master_serve_alone(int64_t **left, int64_t *count, rgm_master *master,
                                  int64_t experiment)
{
    rgm_status status = RGM_OK;
    int64_t *own = NULL;

    *left = NULL;
    *count = 0;
    pthread_mutex_lock(&master->lock);
    RGM_GO(find_others(left, count, master, experiment));
    RGM_GO(RGM_NEW(own, *count + 1));
    for (int64_t i = 0; i < *count; i++)
        own[i] = (*left)[i];
    rgm_free(master->left);
    master->left = own;
    master->left_count = *count;
    rgmi_master_wake(master);
done:
    pthread_mutex_unlock(&master->lock);
    if (status != RGM_OK) {
        rgm_free(*left);
        *left = NULL;
        *count = 0;
    }
    return status;
}
