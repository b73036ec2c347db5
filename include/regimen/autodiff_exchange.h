/*
 * autodiff, values of a graph that lies with several processes: each has some of the items, its
 * own, and behind these copies of the others' that its items hear of. What was computed of a copy
 * is wrong as soon as it depends on what the copy hears itself, so values that are read along links
 * are brought from their owners first, and gradients go back there.
 */
#ifndef REGIMEN_AUTODIFF_EXCHANGE_H
#define REGIMEN_AUTODIFF_EXCHANGE_H

#include <regimen/autodiff_graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Rows [items, width] of f32 or f64, and what is done with them. */
typedef struct rgm_exchange_rows {
    void *rows;
    rgm_dtype dtype;
    int64_t width;
    /** false: the rows of copies become what their owners have in theirs. true, its gradient: what
     * the others have in their copies is added to each own row, in the order of processes, and the
     * rows of copies become 0. */
    bool back;
} rgm_exchange_rows;
/**
 * What brings rows from process to process. Several exchanges may be under way; every process
 * begins them in the same order: an op that does so runs in turn (rgm_op_type.in_turn).
 */
typedef struct rgm_exchange {
    /** Begin, and return: rows of copies may not be touched until the end. Own ones are read before
     * this returns, and are changed, when `back`, at the end. *under_way is for that. */
    rgm_status (*begin)(void **under_way, const rgm_exchange_rows *rows, void *payload);
    /** Return when all has been done; in any order. */
    rgm_status (*end)(void *under_way, void *payload);
    void *payload;
    /** How many rows are own: the first. Sparse products then compute what needs no copies, or what
     * others do not wait for, while the rows are on their way. 0: this is not to be. */
    int64_t own;
} rgm_exchange;

/** Items of one kind, of which this process has some: first its own, then copies. */
typedef struct rgm_parted_items {
    rgm_dim size;                 /* how many there are here: a symbol          */
    const rgm_exchange *exchange; /* outlives the graph and its executors       */
} rgm_parted_items;
/** A pattern along which items hear of each other: of each own item all entries are here. */
typedef struct rgm_parted_link {
    rgm_value *pattern; /* an input [items, items]                              */
    int64_t total;      /* entries in all processes, each counted once          */
} rgm_parted_link;

typedef struct rgm_parted_options {
    const rgm_parted_items *items; /* [item_count] */
    int64_t item_count;
    const rgm_parted_link *links; /* [link_count] */
    int64_t link_count;
    rgm_value *const *seeds; /* [seed_count] one entry a row, whose column is an own item */
    int64_t seed_count;
    /**
     * The number that each row has where one process has all: i64, owned by the caller. Asked for
     * what dropout is drawn for, so that the draw is the same there and here.
     *
     * @param of  [in] a link or another input pattern, for its entries; NULL: for items[k]
     */
    rgm_status (*numbers)(rgm_tensor **out, const rgm_value *of, int64_t k, void *payload);
    void *payload; /* of numbers */
} rgm_parted_options;
/**
 * The same values for a graph that lies with several processes, built again: where one is read
 * along a link and its copies are not right here, it is fetched first; dropout draws by the numbers
 * of the whole graph. The graph gets new ops; the old ones stay. To be called before gradients.
 *
 * What rows of seeds pick may be used in any way. A value that makes an item, or a number, of all
 * items would be of this process's items alone, and is refused.
 *
 * @param parted     [out] [count]; a value that depends on no link is itself
 * @param exchanges  [out] how many values are fetched in a run of all; NULL: not asked. A hash of
 *                   them in *order, NULL as well, is the same in processes that exchange the same.
 *
 * Errors: RGM_ERR_UNSUPPORTED (the layer and op that cannot be split are named), RGM_ERR_ARG (a
 * value of no or another graph), those of the graph and of `numbers`, RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_part(rgm_value **parted, int64_t *exchanges, uint64_t *order,
                           rgm_value *const *values, int64_t count,
                           const rgm_parted_options *options);

#ifdef __cplusplus
}
#endif
#endif
