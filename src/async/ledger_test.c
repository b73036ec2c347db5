/*
 * The ledger by itself: whatever workers do, in whatever order, each turn is made once, none is
 * left out, and no update is staler than the bound.
 */
#include <check.h>

#include "ledger.h"

/* ---- random lives -------------------------------------------------------------------------- */

enum { WORKERS = 7, TURNS = 400 };

typedef struct life {
    rgmi_ledger ledger;
    uint64_t state;
    int made[3 * TURNS]; /* times that each turn was made, by base + turn */
    int64_t worst;
} life;

static int64_t draw(life *l, int64_t below)
{
    l->state = l->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((l->state >> 33) % (uint64_t)below);
}

static rgmi_lease *lease_of(life *l, int64_t worker)
{
    for (int64_t i = 0; i < l->ledger.lease_count; i++)
        if (l->ledger.leases[i].worker == worker && !l->ledger.leases[i].is_here)
            return &l->ledger.leases[i];
    return NULL;
}

/* One thing that a worker does: takes a turn, begins, hands in, or is forgotten. */
static void act(life *l, int64_t deaths)
{
    int64_t worker = 1 + draw(l, WORKERS);
    rgmi_lease *lease = lease_of(l, worker);
    bool taken;

    if (lease == NULL) {
        CHECK_OK(rgmi_ledger_give(&lease, &l->ledger, worker, INT64_MAX));
    } else if (draw(l, 100) < deaths) {
        CHECK_OK(rgmi_ledger_forget(&l->ledger, worker));
    } else if (lease->version < 0) {
        if (rgmi_ledger_may_begin(&l->ledger))
            rgmi_ledger_begin(&l->ledger, lease);
    } else {
        int64_t id = lease->id;

        CHECK_OK(rgmi_ledger_hand(&taken, &l->ledger, worker, id, (rgm_str){"half", 4}));
        CHECK(taken);
        CHECK_OK(rgmi_ledger_hand(&taken, &l->ledger, worker, id, (rgm_str){"half", 4}));
        CHECK(!taken); /* an answer was lost, and it is handed in again */
    }
}

static bool make(life *l, bool moved)
{
    rgmi_lease lease;

    if (!rgmi_ledger_take(&lease, &l->ledger))
        return false;
    CHECK_INT(4, lease.half_size);
    CHECK(lease.version >= 0);
    if (l->ledger.version - lease.version > l->worst)
        l->worst = l->ledger.version - lease.version;
    l->made[l->ledger.base + lease.turn]++;
    CHECK_OK(rgmi_ledger_done(&l->ledger, &lease, moved));
    rgm_free(lease.half);
    return true;
}

/* A checkpoint, and a server that goes on from it: what was under way is to be made again. */
static void restart(life *l)
{
    rgm_text text = {0};
    int64_t version = l->ledger.version;

    CHECK_OK(rgmi_ledger_save(&text, &l->ledger));
    CHECK_OK(rgmi_ledger_restore(&l->ledger, (rgm_str){text.data, text.size}));
    l->ledger.version = version;
    rgm_text_clear(&text);
}

static void live(life *l, int64_t staleness, int64_t passes, int64_t deaths)
{
    l->ledger.staleness = staleness;
    l->ledger.end = INT64_MAX;
    for (int64_t pass = 0; pass < passes; pass++) {
        rgmi_ledger_end(&l->ledger, TURNS);
        for (int64_t n = 0; !rgmi_ledger_is_over(&l->ledger); n++) {
            if (n > 1000000)
                fail_msg("it does not get on: low %lld", (long long)l->ledger.low);
            act(l, deaths);
            if (draw(l, 3) == 0)
                (void)make(l, draw(l, 50) > 0);
            if (deaths > 0 && draw(l, 500) == 0)
                restart(l);
            if (deaths > 0 && draw(l, 700) == 0)
                CHECK_OK(rgmi_ledger_cancel(&l->ledger)); /* the weights went back */
        }
        rgmi_ledger_next_pass(&l->ledger);
    }
    for (int64_t i = 0; i < passes * TURNS; i++)
        if (l->made[i] != 1)
            fail_msg("turn %lld was made %d times, bound %lld", (long long)i, l->made[i],
                     (long long)staleness);
    CHECK(l->worst <= staleness);
    rgmi_ledger_clear(&l->ledger);
}

static void every_turn_is_made_once_and_in_time(void **state)
{
    (void)state;
    for (int64_t staleness = 0; staleness < 12; staleness++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            life l = {.state = seed * 977 + (uint64_t)staleness};

            live(&l, staleness, 3, (int64_t)(seed % 3) * 3);
        }
}

/* Else the test above could not fail. */
static void the_bound_is_reached(void **state)
{
    life l = {.state = 5};

    (void)state;
    l.ledger.end = INT64_MAX;
    l.ledger.staleness = 3;
    for (int64_t n = 0; n < 20000; n++) {
        act(&l, 0);
        if (l.ledger.base + l.ledger.next > 2 * TURNS)
            break;
        if (draw(&l, 3) == 0)
            (void)make(&l, true);
    }
    CHECK_INT(3, l.worst);
    CHECK_INT(3, l.ledger.most_stale);
    rgmi_ledger_clear(&l.ledger);
}

/* ---- single rules -------------------------------------------------------------------------- */

static rgmi_lease *begun(rgmi_ledger *ledger, int64_t worker)
{
    rgmi_lease *lease;

    CHECK_OK(rgmi_ledger_give(&lease, ledger, worker, INT64_MAX));
    CHECK(lease != NULL && rgmi_ledger_may_begin(ledger));
    rgmi_ledger_begin(ledger, lease);
    return lease;
}

static void hand(rgmi_ledger *ledger, int64_t worker, int64_t id)
{
    bool taken;

    CHECK_OK(rgmi_ledger_hand(&taken, ledger, worker, id, (rgm_str){"x", 1}));
    CHECK(taken);
}

static void take_and_do(rgmi_ledger *ledger, int64_t turn)
{
    rgmi_lease lease;

    CHECK(rgmi_ledger_take(&lease, ledger));
    CHECK_INT(turn, lease.turn);
    CHECK_OK(rgmi_ledger_done(ledger, &lease, true));
    rgm_free(lease.half);
}

/* With a bound of 1, a slow worker with old weights lets one update pass, and no second. */
static void a_slow_worker_is_waited_for(void **state)
{
    rgmi_ledger ledger = {.staleness = 1, .end = INT64_MAX};
    rgmi_lease *lease;
    int64_t slow, quick;

    (void)state;
    slow = begun(&ledger, 1)->id;
    quick = begun(&ledger, 2)->id;
    CHECK(!rgmi_ledger_may_begin(&ledger));
    hand(&ledger, 2, quick);
    take_and_do(&ledger, 1);
    quick = begun(&ledger, 2)->id;
    hand(&ledger, 2, quick);
    CHECK(!rgmi_ledger_take(&(rgmi_lease){0}, &ledger)); /* the slow one would be 2 updates old */
    CHECK_OK(rgmi_ledger_give(&lease, &ledger, 2, INT64_MAX));
    CHECK(!rgmi_ledger_may_begin(&ledger));
    hand(&ledger, 1, slow);
    take_and_do(&ledger, 0);
    take_and_do(&ledger, 2);
    CHECK_INT(1, ledger.most_stale);
    rgmi_ledger_clear(&ledger);
}

static void what_comes_too_late_is_refused(void **state)
{
    rgmi_ledger ledger = {.staleness = 4, .end = INT64_MAX};
    rgmi_lease *lease;
    int64_t lost;
    bool taken;

    (void)state;
    lost = begun(&ledger, 1)->id;
    CHECK_OK(rgmi_ledger_forget(&ledger, 1));
    lease = begun(&ledger, 2);
    CHECK_INT(0, lease->turn); /* the one that was lost */
    CHECK_OK(rgmi_ledger_hand(&taken, &ledger, 1, lost, (rgm_str){"x", 1}));
    CHECK(!taken);
    CHECK_OK(rgmi_ledger_hand(&taken, &ledger, 1, lease->id, (rgm_str){"x", 1}));
    CHECK(!taken); /* another's lease */
    CHECK_INT(2, ledger.refused);
    CHECK_INT(1, ledger.given_again);
    hand(&ledger, 2, lease->id);
    CHECK_OK(rgmi_ledger_forget(&ledger, 2)); /* what is there stays */
    take_and_do(&ledger, 0);
    rgmi_ledger_clear(&ledger);
}

static void no_more_turns_are_given_than_the_run_needs(void **state)
{
    rgmi_ledger ledger = {.staleness = 4, .end = INT64_MAX};
    rgmi_lease *lease;
    int64_t id;

    (void)state;
    CHECK_OK(rgmi_ledger_give(&lease, &ledger, 1, 2));
    id = lease->id;
    CHECK_OK(rgmi_ledger_give(&lease, &ledger, 1, 2));
    CHECK_INT(id, lease->id); /* its answer was lost: the same again */
    CHECK_OK(rgmi_ledger_give(&lease, &ledger, 2, 2));
    CHECK_INT(1, lease->turn);
    CHECK_OK(rgmi_ledger_give(&lease, &ledger, 3, 2));
    CHECK(lease == NULL);
    rgmi_ledger_end(&ledger, 1); /* the data end before the second */
    CHECK_INT(1, ledger.lease_count);
    CHECK_INT(1, ledger.next);
    rgmi_ledger_clear(&ledger);
}

static void places_are_kept_as_long_as_a_turn_needs_them(void **state)
{
    rgmi_ledger ledger = {.staleness = 9, .batches_a_turn = 2, .end = INT64_MAX};
    const rgmi_known_place *place;

    (void)state;
    CHECK(rgmi_ledger_place(&ledger, 5) == NULL);
    for (int64_t batch = 16; batch <= 64; batch += 16)
        CHECK_OK(rgmi_ledger_keep_place(&ledger, batch, (rgm_str){"place", 5}));
    CHECK_INT(4, ledger.place_count);
    place = rgmi_ledger_place(&ledger, 47);
    CHECK_INT(32, place->batch);
    ledger.low = 17; /* the first turn to be made is of batches 34 and 35 */
    CHECK_OK(rgmi_ledger_keep_place(&ledger, 80, (rgm_str){"place", 5}));
    CHECK_INT(32, ledger.places[0].batch);
    rgmi_ledger_next_pass(&ledger);
    CHECK_INT(0, ledger.place_count);
    rgmi_ledger_clear(&ledger);
}

/* ---- checkpoints --------------------------------------------------------------------------- */

/* A checkpoint, taken up by a server of other data; the ledger is then that server's. */
static rgm_status go_on(rgmi_ledger *ledger, int64_t batches_a_turn, uint64_t recipe)
{
    rgm_text text = {0};
    rgm_status status;

    CHECK_OK(rgmi_ledger_save(&text, ledger));
    CHECK_OK(rgmi_ledger_restore(ledger, (rgm_str){text.data, text.size}));
    status = rgmi_ledger_set_data(ledger, batches_a_turn, recipe);
    rgm_text_clear(&text);
    return status;
}

/* Turn 1 of two batches is not turn 1 of one batch, or of other batches. */
static void inside_a_pass_turns_are_of_the_same_batches(void **state)
{
    rgmi_ledger ledger = {.staleness = 4, .end = INT64_MAX};

    (void)state;
    CHECK_OK(rgmi_ledger_set_data(&ledger, 2, UINT64_MAX));
    rgmi_ledger_end(&ledger, 2);
    hand(&ledger, 1, begun(&ledger, 1)->id);
    take_and_do(&ledger, 0);
    CHECK_OK(go_on(&ledger, 2, UINT64_MAX));
    CHECK_INT(2, ledger.end);
    CHECK_STATUS(RGM_ERR_CONFIG, go_on(&ledger, 1, UINT64_MAX));
    CHECK_MESSAGE("trainer.accumulation_steps");
    CHECK_STATUS(RGM_ERR_CONFIG, go_on(&ledger, 2, 7));
    hand(&ledger, 1, begun(&ledger, 1)->id);
    take_and_do(&ledger, 1);
    CHECK(rgmi_ledger_is_over(&ledger));
    rgmi_ledger_next_pass(&ledger);
    rgmi_ledger_end(&ledger, 2); /* the next pass has two turns as well, but not of one batch */
    CHECK_OK(go_on(&ledger, 1, 7));
    CHECK(ledger.end == INT64_MAX);
    CHECK_INT(2, ledger.base);
    CHECK_INT(1, ledger.pass);
    rgmi_ledger_clear(&ledger);
}

static void damaged_states_are_refused(void **state)
{
    rgmi_ledger ledger = {.staleness = 9, .end = INT64_MAX}, other = {.staleness = 2};
    rgm_text text = {0};
    char *copy;

    (void)state;
    for (int64_t worker = 1; worker < 8; worker++)
        (void)begun(&ledger, worker);
    for (int64_t worker = 2; worker < 8; worker += 2)
        hand(&ledger, worker, worker);
    take_and_do(&ledger, 1);
    take_and_do(&ledger, 3);
    CHECK_OK(rgmi_ledger_keep_place(&ledger, 0, (rgm_str){"where", 5}));
    CHECK(!rgmi_ledger_may_end(&ledger, 3) && rgmi_ledger_may_end(&ledger, 4)); /* 3 is done */
    CHECK_OK(rgmi_ledger_save(&text, &ledger));
    CHECK_OK(rgmi_ledger_restore(&other, (rgm_str){text.data, text.size}));
    CHECK_INT(4, other.next);
    CHECK_INT(2,
              other.back_count); /* 0 and 2; 4 to 6 were given, and are as if they had not been */
    CHECK_INT(2, other.done_count);
    CHECK_INT(2, other.staleness);
    for (int64_t size = 0; size < text.size; size++)
        CHECK(rgmi_ledger_restore(&other, (rgm_str){text.data, size}) < 0);
    CHECK_OK(RGM_NEW(copy, text.size));
    for (int64_t at = 0; at < text.size - 5;
         at++) { /* of any content: no crash, and no endless list */
        memcpy(copy, text.data, (size_t)text.size);
        copy[at] = (char)0xff;
        (void)rgmi_ledger_restore(&other, (rgm_str){copy, text.size});
    }
    rgm_free(copy);
    rgm_text_clear(&text);
    rgmi_ledger_clear(&other);
    rgmi_ledger_clear(&ledger);
}

TESTS(cmocka_unit_test(every_turn_is_made_once_and_in_time), cmocka_unit_test(the_bound_is_reached),
      cmocka_unit_test(a_slow_worker_is_waited_for),
      cmocka_unit_test(what_comes_too_late_is_refused),
      cmocka_unit_test(no_more_turns_are_given_than_the_run_needs),
      cmocka_unit_test(places_are_kept_as_long_as_a_turn_needs_them),
      cmocka_unit_test(inside_a_pass_turns_are_of_the_same_batches),
      cmocka_unit_test(damaged_states_are_refused))
