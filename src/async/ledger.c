#include "ledger.h"

#include <regimen/data.h>
#include <string.h>

/* ---- sorted lists of turns ----------------------------------------------------------------- */

static rgm_status insert(int64_t **list, int64_t *count, int64_t *capacity, int64_t turn)
{
    int64_t at = *count;

    RGM_TRY(RGM_RESERVE(*list, *capacity, *count + 1));
    for (; at > 0 && (*list)[at - 1] > turn; at--)
        (*list)[at] = (*list)[at - 1];
    (*list)[at] = turn;
    ++*count;
    return RGM_OK;
}

static void remove_first(int64_t *list, int64_t *count, int64_t how_many)
{
    *count -= how_many;
    memmove(list, list + how_many, (size_t)*count * sizeof *list);
}

/* ---- leases -------------------------------------------------------------------------------- */

static void drop_lease(rgmi_ledger *ledger, int64_t at)
{
    rgm_free(ledger->leases[at].half);
    ledger->lease_count--;
    memmove(&ledger->leases[at], &ledger->leases[at + 1],
            (size_t)(ledger->lease_count - at) * sizeof *ledger->leases);
}

static rgm_status give_back(rgmi_ledger *ledger, int64_t at)
{
    RGM_TRY(insert(&ledger->back, &ledger->back_count, &ledger->back_capacity,
                   ledger->leases[at].turn));
    drop_lease(ledger, at);
    return RGM_OK;
}

static void drop_places(rgmi_ledger *ledger, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        rgm_free(ledger->places[i].position);
    ledger->place_count -= count;
    memmove(ledger->places, ledger->places + count,
            (size_t)ledger->place_count * sizeof *ledger->places);
}

void rgmi_ledger_clear(rgmi_ledger *ledger)
{
    while (ledger->lease_count > 0)
        drop_lease(ledger, ledger->lease_count - 1);
    if (ledger->place_count > 0)
        drop_places(ledger, ledger->place_count);
    rgm_free(ledger->places);
    rgm_free(ledger->leases);
    rgm_free(ledger->done);
    rgm_free(ledger->back);
    *ledger = (rgmi_ledger){0};
}

rgm_status rgmi_ledger_set_data(rgmi_ledger *ledger, int64_t batches_a_turn, uint64_t recipe)
{
    if (ledger->batches_a_turn == batches_a_turn && ledger->recipe == recipe)
        return RGM_OK;
    if (ledger->low > 0 || ledger->done_count > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the run stands behind update %lld of a pass over other batches (%lld an "
                        "update then, %lld now): an asynchronous run goes on inside a pass with "
                        "its own. Set data.batch_*, trainer.accumulation_steps and the length (in "
                        "steps or in epochs) as they were, or begin another run with its weights "
                        "by trainer.initialize.checkpoint",
                        (long long)ledger->low, (long long)ledger->batches_a_turn,
                        (long long)batches_a_turn);
    if (ledger->place_count > 0)
        drop_places(ledger, ledger->place_count);
    ledger->end = INT64_MAX; /* it was counted in turns of the others */
    ledger->batches_a_turn = batches_a_turn;
    ledger->recipe = recipe;
    return RGM_OK;
}

rgm_status rgmi_ledger_give(rgmi_lease **out, rgmi_ledger *ledger, int64_t worker, int64_t most)
{
    int64_t turn;

    *out = NULL;
    for (int64_t i = 0; i < ledger->lease_count; i++)
        if (ledger->leases[i].worker == worker && !ledger->leases[i].is_here) {
            *out = &ledger->leases[i];
            return RGM_OK;
        }
    if (ledger->lease_count >= most || (ledger->back_count == 0 && ledger->next >= ledger->end))
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(ledger->leases, ledger->lease_capacity, ledger->lease_count + 1));
    if (ledger->back_count > 0) {
        turn = ledger->back[0];
        remove_first(ledger->back, &ledger->back_count, 1);
        ledger->given_again++;
    } else {
        turn = ledger->next++;
    }
    *out = &ledger->leases[ledger->lease_count++];
    **out = (rgmi_lease){.id = ++ledger->last_id, .worker = worker, .turn = turn, .version = -1};
    return RGM_OK;
}

rgmi_lease *rgmi_ledger_find(rgmi_ledger *ledger, int64_t worker, int64_t id)
{
    for (int64_t i = 0; i < ledger->lease_count; i++)
        if (ledger->leases[i].id == id && ledger->leases[i].worker == worker)
            return &ledger->leases[i];
    return NULL;
}

/* Those that have begun, and are one day made. */
static int64_t under_way(const rgmi_ledger *ledger)
{
    int64_t count = 0;

    for (int64_t i = 0; i < ledger->lease_count; i++)
        count += ledger->leases[i].version >= 0;
    return count;
}

bool rgmi_ledger_may_begin(const rgmi_ledger *ledger)
{
    return under_way(ledger) <= ledger->staleness;
}

void rgmi_ledger_begin(rgmi_ledger *ledger, rgmi_lease *lease)
{
    lease->version = ledger->version;
}

rgm_status rgmi_ledger_hand(bool *taken, rgmi_ledger *ledger, int64_t worker, int64_t id,
                            rgm_str half)
{
    rgmi_lease *lease = rgmi_ledger_find(ledger, worker, id);

    *taken = false;
    if (lease == NULL || lease->version < 0 || lease->is_here) {
        ledger->refused++;
        return RGM_OK;
    }
    RGM_TRY(RGM_NEW(lease->half, half.size + 1));
    memcpy(lease->half, half.data, (size_t)half.size);
    lease->half_size = half.size;
    lease->is_here = *taken = true;
    return RGM_OK;
}

/* ---- the next update ----------------------------------------------------------------------- */

/* How many of the others, which have begun, have weights no newer than those of `lease`. */
static int64_t before(const rgmi_ledger *ledger, const rgmi_lease *lease, const rgmi_lease *without)
{
    int64_t count = 0;

    for (int64_t i = 0; i < ledger->lease_count; i++) {
        const rgmi_lease *other = &ledger->leases[i];

        count += other != lease && other != without && other->version >= 0 &&
                 (other->version < lease->version ||
                  (other->version == lease->version && other < lease));
    }
    return count;
}

/* Whether the others, oldest weights first, keep the bound when this one is made now. */
static bool leaves_room(const rgmi_ledger *ledger, const rgmi_lease *now)
{
    for (int64_t i = 0; i < ledger->lease_count; i++) {
        const rgmi_lease *other = &ledger->leases[i];

        if (other != now && other->version >= 0 &&
            ledger->version + 1 + before(ledger, other, now) - other->version > ledger->staleness)
            return false;
    }
    return true;
}

bool rgmi_ledger_take(rgmi_lease *out, rgmi_ledger *ledger)
{
    rgmi_lease *best = NULL;

    for (int64_t i = 0; i < ledger->lease_count; i++) {
        rgmi_lease *lease = &ledger->leases[i];

        if (lease->is_here &&
            (best == NULL || lease->version < best->version ||
             (lease->version == best->version && lease->turn < best->turn)) &&
            leaves_room(ledger, lease))
            best = lease;
    }
    if (best == NULL)
        return false;
    *out = *best;
    best->half = NULL; /* the caller's */
    drop_lease(ledger, best - ledger->leases);
    return true;
}

rgm_status rgmi_ledger_done(rgmi_ledger *ledger, const rgmi_lease *taken, bool moved)
{
    int64_t stale = ledger->version - taken->version, prefix = 0;

    RGM_TRY(insert(&ledger->done, &ledger->done_count, &ledger->done_capacity, taken->turn));
    while (prefix < ledger->done_count && ledger->done[prefix] == ledger->low + prefix)
        prefix++;
    ledger->low += prefix;
    remove_first(ledger->done, &ledger->done_count, prefix);
    if (!moved)
        return RGM_OK;
    ledger->version++;
    ledger->updates++;
    ledger->stale_sum += (double)stale;
    if (stale > ledger->most_stale)
        ledger->most_stale = stale;
    return RGM_OK;
}

/* ---- what goes wrong ----------------------------------------------------------------------- */

rgm_status rgmi_ledger_forget(rgmi_ledger *ledger, int64_t worker)
{
    for (int64_t i = ledger->lease_count - 1; i >= 0; i--)
        if (ledger->leases[i].worker == worker && !ledger->leases[i].is_here)
            RGM_TRY(give_back(ledger, i));
    return RGM_OK;
}

rgm_status rgmi_ledger_cancel(rgmi_ledger *ledger)
{
    for (int64_t i = ledger->lease_count - 1; i >= 0; i--)
        RGM_TRY(give_back(ledger, i));
    return RGM_OK;
}

/* ---- passes -------------------------------------------------------------------------------- */

bool rgmi_ledger_may_end(const rgmi_ledger *ledger, int64_t turns)
{
    return turns >
           (ledger->done_count > 0 ? ledger->done[ledger->done_count - 1] : ledger->low - 1);
}

void rgmi_ledger_end(rgmi_ledger *ledger, int64_t turns)
{
    if (turns < ledger->end)
        ledger->end = turns;
    for (int64_t i = ledger->lease_count - 1; i >= 0; i--)
        if (ledger->leases[i].turn >= ledger->end)
            drop_lease(ledger, i);
    while (ledger->back_count > 0 && ledger->back[ledger->back_count - 1] >= ledger->end)
        ledger->back_count--;
    if (ledger->next > ledger->end)
        ledger->next = ledger->end;
}

bool rgmi_ledger_is_over(const rgmi_ledger *ledger)
{
    return ledger->low >= ledger->end;
}

void rgmi_ledger_next_pass(rgmi_ledger *ledger)
{
    ledger->base += ledger->end;
    ledger->pass++;
    ledger->low = ledger->next = 0;
    ledger->end = INT64_MAX;
    if (ledger->place_count > 0)
        drop_places(ledger, ledger->place_count);
}

/* ---- places -------------------------------------------------------------------------------- */

rgm_status rgmi_ledger_keep_place(rgmi_ledger *ledger, int64_t batch, rgm_str position)
{
    int64_t at = ledger->place_count, unneeded = 0;
    rgmi_known_place place = {batch, NULL, position.size};

    RGM_TRY(RGM_RESERVE(ledger->places, ledger->place_capacity, ledger->place_count + 1));
    RGM_TRY(RGM_NEW(place.position, position.size + 1));
    memcpy(place.position, position.data, (size_t)position.size);
    for (; at > 0 && ledger->places[at - 1].batch > batch; at--)
        ledger->places[at] = ledger->places[at - 1];
    ledger->places[at] = place;
    ledger->place_count++;
    while (unneeded + 1 < ledger->place_count &&
           ledger->places[unneeded + 1].batch <= ledger->low * ledger->batches_a_turn)
        unneeded++;
    drop_places(ledger, unneeded);
    return RGM_OK;
}

const rgmi_known_place *rgmi_ledger_place(const rgmi_ledger *ledger, int64_t batch)
{
    const rgmi_known_place *found = NULL;

    for (int64_t i = 0; i < ledger->place_count && ledger->places[i].batch <= batch; i++)
        found = &ledger->places[i];
    return found;
}

/* ---- checkpoints --------------------------------------------------------------------------- */

enum { VERSION = 2 };

rgm_status rgmi_ledger_save(rgm_text *out, const rgmi_ledger *ledger)
{
    const rgmi_known_place *place = rgmi_ledger_place(ledger, ledger->low * ledger->batches_a_turn);

    RGM_TRY(rgm_state_put_int(out, VERSION));
    RGM_TRY(rgm_state_put_int(out, ledger->batches_a_turn));
    RGM_TRY(rgm_state_put_int(out, (int64_t)ledger->recipe));
    RGM_TRY(rgm_state_put_int(out, ledger->pass));
    RGM_TRY(rgm_state_put_int(out, ledger->base));
    RGM_TRY(rgm_state_put_int(out, ledger->low));
    RGM_TRY(rgm_state_put_int(out, ledger->end == INT64_MAX ? -1 : ledger->end));
    RGM_TRY(rgm_state_put_int(out, ledger->done_count));
    for (int64_t i = 0; i < ledger->done_count; i++)
        RGM_TRY(rgm_state_put_int(out, ledger->done[i]));
    RGM_TRY(rgm_state_put_int(out, place != NULL ? place->batch : 0));
    return rgm_state_put_bytes(out, place != NULL ? place->position : "",
                               place != NULL ? place->size : 0);
}

/* The turns done above `low`: those between them were under way, and are to be made. */
static rgm_status restore_done(rgmi_ledger *ledger, rgm_state_reader *reader)
{
    int64_t count, at = ledger->low;

    RGM_TRY(rgm_state_get_count(&count, reader, 1 << 20, "the turns that are done"));
    ledger->next = ledger->low;
    for (int64_t i = 0; i < count; i++) {
        int64_t turn;

        RGM_TRY(rgm_state_get_count(&turn, reader, RGM_STATE_MOST, "a turn"));
        if (turn <= at - (i > 0) || turn - at > 1 << 20)
            return RGM_FAIL(RGM_ERR_FORMAT, "the turns of a checkpoint contradict each other");
        for (; at < turn; at++)
            RGM_TRY(insert(&ledger->back, &ledger->back_count, &ledger->back_capacity, at));
        RGM_TRY(insert(&ledger->done, &ledger->done_count, &ledger->done_capacity, turn));
        ledger->next = at = turn + 1;
    }
    return RGM_OK;
}

rgm_status rgmi_ledger_restore(rgmi_ledger *ledger, rgm_str bytes)
{
    rgm_state_reader reader = {(const uint8_t *)bytes.data, bytes.size, 0};
    int64_t version, recipe, end, batch, size, staleness = ledger->staleness;
    const uint8_t *position;

    rgmi_ledger_clear(ledger);
    ledger->staleness = staleness;
    RGM_TRY(rgm_state_get_int(&version, &reader));
    if (version != VERSION)
        return RGM_FAIL(RGM_ERR_VERSION,
                        "the checkpoint's turns have version %lld, this build "
                        "reads %d",
                        (long long)version, VERSION);
    RGM_TRY(rgm_state_get_count(&ledger->batches_a_turn, &reader, 1000000000, "batches a turn"));
    RGM_TRY(rgm_state_get_int(&recipe, &reader));
    ledger->recipe = (uint64_t)recipe;
    RGM_TRY(rgm_state_get_count(&ledger->pass, &reader, RGM_STATE_MOST, "the pass"));
    RGM_TRY(rgm_state_get_count(&ledger->base, &reader, RGM_STATE_MOST, "the turns before"));
    RGM_TRY(rgm_state_get_count(&ledger->low, &reader, RGM_STATE_MOST, "the first turn"));
    RGM_TRY(rgm_state_get_int(&end, &reader));
    ledger->end = end < 0 ? INT64_MAX : end;
    RGM_TRY(restore_done(ledger, &reader));
    RGM_TRY(rgm_state_get_count(&batch, &reader, RGM_STATE_MOST, "the place in the data"));
    RGM_TRY(rgm_state_get_bytes(&position, &size, &reader));
    if (reader.at != reader.size || ledger->low > ledger->end || ledger->next > ledger->end)
        return RGM_FAIL(RGM_ERR_FORMAT, "the turns of a checkpoint contradict each other");
    if (size == 0)
        return RGM_OK;
    return rgmi_ledger_keep_place(ledger, batch, (rgm_str){(const char *)position, size});
}
