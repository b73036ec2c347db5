/*
 * The ledger of a server: which update is whose, which may begin, which may be made, which are
 * done. It knows neither threads nor networks nor clocks, so every order of events can be tested.
 *
 * An update has a number in its pass over the data, its turn. A turn is given to a worker by a
 * lease; the worker begins with weights of a version (the number of updates made before), hands in
 * what it computed, and the server takes that and makes the update. A worker that is forgotten
 * gives its turn back. So each turn is made once, whoever makes it, and none is left out.
 *
 * The staleness of an update is the number of updates made between its weights and itself. No more
 * leases have begun than can all be made without exceeding the bound, whatever order they arrive in
 * (or the bound would hold only for lucky orders); and one is made before others only if those can
 * still keep it.
 */
#ifndef RGM_ASYNC_LEDGER_H
#define RGM_ASYNC_LEDGER_H

#include <regimen/base.h>
#include <regimen/tensor.h>

typedef struct rgmi_lease {
    int64_t id, worker;
    int64_t turn;
    int64_t version; /* of the weights that it computes with; -1: it has not begun       */
    bool is_here;    /* what was computed has arrived                                    */
    char *half;      /* owned: what has arrived, after which the worker is not needed   */
    int64_t half_size;
} rgmi_lease;

/** A place in the data that is known: where iterators need not begin with the pass. */
typedef struct rgmi_known_place {
    int64_t batch; /* of the pass */
    char *position;
    int64_t size;
} rgmi_known_place;

typedef struct rgmi_ledger {
    int64_t staleness;      /* the bound */
    int64_t batches_a_turn; /* 0: not known yet */
    uint64_t recipe;        /* how those are made: a hash */
    int64_t pass;
    int64_t base; /* turns of the passes before                                      */
    int64_t end;  /* turns of this pass; INT64_MAX: not known                        */
    int64_t low;  /* all turns below it are done                                     */
    int64_t next; /* no turn from it on was ever given                               */
    int64_t *done, done_count, done_capacity; /* above low, ascending                  */
    int64_t *back, back_count, back_capacity; /* to be given again, ascending          */
    rgmi_lease *leases;
    int64_t lease_count, lease_capacity, last_id;
    rgmi_known_place *places; /* of this pass, ascending */
    int64_t place_count, place_capacity;
    int64_t version; /* updates made by this server */
    /* what is counted */
    int64_t updates, most_stale, given_again, refused;
    double stale_sum;
} rgmi_ledger;

void rgmi_ledger_clear(rgmi_ledger *ledger);
/**
 * What turns are of: so many batches each, made by that recipe. Between passes it may be another
 * than before.
 * Errors: RGM_ERR_CONFIG (turns of this pass are done, of other batches).
 */
rgm_status rgmi_ledger_set_data(rgmi_ledger *ledger, int64_t batches_a_turn, uint64_t recipe);
/**
 * The worker's lease: the one that it has not handed in, if there is such a one, else a new one for
 * the lowest turn that is to be made; NULL: there is none now.
 * @param most  turns that may be on their way at a time: what the run still needs
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_ledger_give(rgmi_lease **out, rgmi_ledger *ledger, int64_t worker, int64_t most);
/** A worker's lease by its number; NULL: it has none such (any more). */
rgmi_lease *rgmi_ledger_find(rgmi_ledger *ledger, int64_t worker, int64_t id);
bool rgmi_ledger_may_begin(const rgmi_ledger *ledger);
void rgmi_ledger_begin(rgmi_ledger *ledger, rgmi_lease *lease);
/** Take in what a lease has computed; `half` is copied. False: the lease is not known, or has not
 * begun, or was handed in before. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_ledger_hand(bool *taken, rgmi_ledger *ledger, int64_t worker, int64_t id,
                            rgm_str half);
/** Take out the lease whose update is to be made now, with its half, which the caller frees. False:
 * none can be. */
bool rgmi_ledger_take(rgmi_lease *out, rgmi_ledger *ledger);
/** A turn that was taken is done; moved: it moved the weights. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_ledger_done(rgmi_ledger *ledger, const rgmi_lease *taken, bool moved);
/** The worker is gone: its turn is for others. What it has handed in stays. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_ledger_forget(rgmi_ledger *ledger, int64_t worker);
/** The weights went back: what is on its way was computed with others. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_ledger_cancel(rgmi_ledger *ledger);
/** Whether no turn from there on is done: else who says that the pass ends there has other data. */
bool rgmi_ledger_may_end(const rgmi_ledger *ledger, int64_t turns);
/** The pass has `turns` turns, no more. */
void rgmi_ledger_end(rgmi_ledger *ledger, int64_t turns);
bool rgmi_ledger_is_over(const rgmi_ledger *ledger); /* every turn of the pass is done */
void rgmi_ledger_next_pass(rgmi_ledger *ledger);
/** Remember a position of this pass; copied. Those that no turn needs any more are dropped. Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgmi_ledger_keep_place(rgmi_ledger *ledger, int64_t batch, rgm_str position);
/** The last place at or before a batch; NULL: the beginning of the pass. */
const rgmi_known_place *rgmi_ledger_place(const rgmi_ledger *ledger, int64_t batch);

/** What a checkpoint keeps: turns done and of which data, and the place before the first that is
 * not. */
rgm_status rgmi_ledger_save(rgm_text *out, const rgmi_ledger *ledger);
/** Errors: RGM_ERR_FORMAT, RGM_ERR_NOMEM. */
rgm_status rgmi_ledger_restore(rgmi_ledger *ledger, rgm_str bytes);

#endif
