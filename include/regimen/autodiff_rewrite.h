/*
 * autodiff, values built again: from fewer items, with a weight at each message, cut where items
 * hear of each other, with other values in the place of some. The old values stay.
 */
#ifndef REGIMEN_AUTODIFF_REWRITE_H
#define REGIMEN_AUTODIFF_REWRITE_H

#include <regimen/autodiff_graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values of fewer items ---------------------------------------------------------------------
 */

/** How much of a fed pattern, or of some items, narrowed values read; see rgm_cgraph_narrow(). */
typedef enum rgm_narrow_kind {
    RGM_NARROW_SEEDS,  /* a seed pattern with the items of level 0 as columns                    */
    RGM_NARROW_LINKS,  /* [items up to level, items up to level + 1]: the entries of a link that
                          end at the rows                                                        */
    RGM_NARROW_ITEMS,  /* one entry a row: [items up to level, all items]                        */
    RGM_NARROW_ENTRIES /* one entry a row: [entries as in RGM_NARROW_LINKS, all entries]         */
} rgm_narrow_kind;
/** A pattern that narrowed values are to be fed with. */
typedef struct rgm_narrow_part {
    rgm_narrow_kind kind;
    rgm_value *input;   /* what is fed                                                       */
    rgm_value *pattern; /* the seed or link that it is a part of; ITEMS: NULL                */
    rgm_dim items;      /* ITEMS: which                                                      */
    bool transposed;    /* the link is read so: its columns are the rows                     */
    bool loops;         /* with an entry from each row's item to itself; in ENTRIES the loop of
                           item i is number count + i                                        */
    int level;
    bool whole_columns; /* LINKS: all items, in their own order, are columns                 */
} rgm_narrow_part;
/** Patterns, inputs of the graph, that say which items need which. */
typedef struct rgm_narrow_options {
    rgm_value *const *links; /* [link_count] along whose entries items hear of each other    */
    int64_t link_count;
    rgm_value *const *seeds; /* [seed_count] one entry a row, whose columns are items picked */
    int64_t seed_count;
} rgm_narrow_options;
/**
 * The same values, computed from no more items than they need: those of level 0, which seeds pick,
 * and of level k + 1, from which the links in LINKS parts lead to one of level k. Where an op mixes
 * items in a way that is not known here (a sum over all of them, a user's own op) it takes
 * everything, as before. The graph gets new ops; the old ones stay. To be called before gradients.
 *
 * What has to be fed is in `parts`. Items are ordered by level, and within one by number; entries
 * by the level of the row where they end, then by number, the loops behind. Sums over entries have
 * the order that they had. Dropout draws other masks.
 *
 * @param narrowed  [out] [count] `values` themselves where nothing is gained
 * @param parts     [out, owned] [*part_count], for rgm_free()
 *
 * Errors: RGM_ERR_ARG (a value of no or another graph), those of the graph, RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_narrow(rgm_value **narrowed, rgm_narrow_part **parts, int64_t *part_count,
                             rgm_value *const *values, int64_t count,
                             const rgm_narrow_options *options);

/* ---- values of weighed messages ----------------------------------------------------------------
 */

/** What the entries of a fed pattern bring is multiplied by. */
typedef struct rgm_entry_weight {
    rgm_value *pattern; /* rgm_input_pattern() */
    rgm_value *weight;  /* [count], f32 or f64 */
} rgm_entry_weight;
/**
 * Build values again with a weight at each message: of an op that sums or reduces over the entries
 * of a pattern, turned or with loops added as it may be, what entry e brings is multiplied by
 * weight[e] first. Loops weigh 1; degrees and softmaxes stay as they are, so that a weight of 1 all
 * over changes nothing and one of 0 takes a message away from a model that goes on as trained (the
 * mask of Ying et al. 2019). Gradients by the weight say what a message is worth. Values are those
 * of runs without training: branches for training are left out. The old ops stay.
 *
 * @param weighed  [out] [count] `values` themselves where no message reaches them
 *
 * Errors: RGM_ERR_ARG (a value of no or another graph), RGM_ERR_SHAPE (a weight that does not fit),
 * those of the graph, RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_weigh(rgm_value **weighed, rgm_value *const *values, int64_t count,
                            const rgm_entry_weight *weights, int64_t weight_count);

/* ---- values by rounds --------------------------------------------------------------------------
 */

/** Where a round reads the entries of a link: bits of rgm_round_value.ways. */
enum { RGM_ROUND_BY_ROWS = 1, RGM_ROUND_BY_COLUMNS = 2 };
/** A value that is made for all items before a later round begins. */
typedef struct rgm_round_value {
    rgm_value *value;    /* [items, ...]                                                      */
    int64_t round;       /* it is made of inputs and of values of earlier rounds alone        */
    const uint8_t *ways; /* [link_count] what it hears of others: entries that end at the rows of
                            that link, at its columns; all 0: each item is made of itself     */
} rgm_round_value;
typedef struct rgm_rounds {
    rgm_round_value *values; /* [count] in the order in which they can be made; the last is the one
                                that was asked for                                            */
    int64_t count, round_count;
    uint8_t *ways;
} rgm_rounds;
void rgm_rounds_clear(rgm_rounds *rounds);
/**
 * Cut what an inference of `value` [items, ...] computes where items hear of each other: what is
 * read along a link and what was gathered along it are values of rounds, so that each round can be
 * computed for some items at a time, from the states of the rounds before of those items and of
 * their neighbours. Of rgm_when_training() the second branch is looked at.
 *
 * @param links  [in] [link_count] patterns, inputs of the graph
 *
 * Errors: RGM_ERR_UNSUPPORTED (an op makes an item out of all items, or normalises entries at
 * another end than they are gathered at; it is named), RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_rounds(rgm_rounds *out, rgm_value *value, rgm_value *const *links,
                             int64_t link_count);
/**
 * values [count] built again with to[k] in the place of from[k] [replaced], as an inference
 * computes them: of rgm_when_training() the second branch. What reads none of from[] stays.
 *
 * Errors: RGM_ERR_ARG (a value of no or another graph), those of the graph, RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_replace(rgm_value **out, rgm_value *const *values, int64_t count,
                              rgm_value *const *from, rgm_value *const *to, int64_t replaced);

#ifdef __cplusplus
}
#endif
#endif
