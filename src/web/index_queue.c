/* Runs by id, and the queue of those to be read: what walking and reading both stand on. */
#include "index.h"

#include <string.h>

static int64_t slot_of(const rgmi_runs *runs, uint64_t id)
{
    int64_t at = (int64_t)(id & (uint64_t)(runs->table_size - 1));

    while (runs->table[at] != NULL && runs->table[at]->row->id != id)
        at = (at + 1) & (runs->table_size - 1);
    return at;
}

rgmi_known_run *rgmi_runs_find(const rgmi_runs *runs, uint64_t id)
{
    return runs->table_size > 0 ? runs->table[slot_of(runs, id)] : NULL;
}

static void fill_table(rgmi_runs *runs)
{
    memset(runs->table, 0, (size_t)runs->table_size * sizeof(rgmi_known_run *));
    for (int64_t i = 0; i < runs->run_count; i++)
        runs->table[slot_of(runs, runs->runs[i]->row->id)] = runs->runs[i];
}

static rgm_status reserve_table(rgmi_runs *runs, int64_t count)
{
    int64_t size = runs->table_size > 0 ? runs->table_size : 64;
    rgmi_known_run **table;

    if (2 * count <= runs->table_size)
        return RGM_OK;
    while (size < 2 * count)
        size *= 2;
    RGM_TRY(RGM_NEW(table, size));
    rgm_free(runs->table);
    runs->table = table;
    runs->table_size = size;
    fill_table(runs);
    return RGM_OK;
}

/* At the queue's end; what was taken from its beginning makes room. */
rgm_status rgmi_runs_enqueue(rgmi_runs *runs, rgmi_known_run *run)
{
    if (run->queued)
        return RGM_OK;
    if (runs->queue_first > 0 && runs->queue_first + runs->queue_count == runs->queue_capacity) {
        memmove(runs->queue, runs->queue + runs->queue_first,
                (size_t)runs->queue_count * sizeof *runs->queue);
        runs->queue_first = 0;
    }
    RGM_TRY(
        RGM_RESERVE(runs->queue, runs->queue_capacity, runs->queue_first + runs->queue_count + 1));
    runs->queue[runs->queue_first + runs->queue_count++] = run->row->id;
    run->queued = true;
    return RGM_OK;
}

void rgmi_runs_free_run(rgmi_known_run *run)
{
    if (run == NULL)
        return;
    rgmi_run_row_release(run->row);
    rgm_free(run);
}

rgm_status rgmi_runs_add(rgmi_known_run **out, rgmi_runs *runs, const rgmi_run_row *draft)
{
    rgmi_known_run *run = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(RGM_NEW(run, 1));
    RGM_GO(rgmi_run_row_make(&run->row, draft));
    RGM_GO(RGM_RESERVE(runs->runs, runs->run_capacity, runs->run_count + 1));
    RGM_GO(reserve_table(runs, runs->run_count + 1));
    RGM_GO(rgmi_runs_enqueue(runs, run));
    runs->runs[runs->run_count++] = run;
    runs->table[slot_of(runs, draft->id)] = run;
    runs->version++;
    *out = run;
    run = NULL;
done:
    rgmi_runs_free_run(run);
    return status;
}

void rgmi_runs_drop(rgmi_runs *runs, bool (*gone)(const rgmi_known_run *run, const void *payload),
                    const void *payload)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < runs->run_count; i++) {
        rgmi_known_run *run = runs->runs[i];

        if (!gone(run, payload)) {
            runs->runs[kept++] = run;
            continue;
        }
        runs->read -= run->row->read;
        rgmi_runs_free_run(run);
    }
    if (kept == runs->run_count)
        return;
    runs->run_count = kept;
    runs->version++;
    fill_table(runs);
}
