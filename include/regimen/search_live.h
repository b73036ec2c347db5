/*
 * search: a search that is changed while it goes on, or after its end. A searcher that is made of
 * the changed file takes over what the one before knows, so that a saved state always belongs to
 * one file: nothing has to be told again across a change.
 *
 *     RGM_GO(rgm_search_file_check_change(changed, file));
 *     RGM_GO(rgm_search_file_searcher(&searcher, changed, seed, NULL));
 *     RGM_GO(rgm_searcher_take_over(searcher, before));      then rgm_searcher_next() as ever
 */
#ifndef REGIMEN_SEARCH_LIVE_H
#define REGIMEN_SEARCH_LIVE_H

#include <regimen/search_file.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Whether a search that has begun may go on by a changed file. May be changed: bounds of a
 * hyperparameter and further values at the end of a categorical one, constraints, `limits`,
 * `max_restarts`, `debug`, and of the searcher its sampler, further points, and the keys that its
 * row names (how many trials, how many at a time). Trials outside of new bounds stay in the search
 * and in its results; no sampler learns of them.
 *
 * Errors: RGM_ERR_CONFIG (another key differs, which the message names), RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_check_change(const rgm_search_file *changed,
                                        const rgm_search_file *before);

/**
 * Take over trials, what is asked of them, generator and state of a searcher that was made of a
 * file which rgm_search_file_check_change() compares with this one's. Trials that may begin now are
 * created. A search that was over goes on where there are such.
 *
 * @param searcher  [in] of the changed file, with the same seed; it has not begun
 * @param before    [in] it has begun; it is left as it is
 *
 * Errors: RGM_ERR_ARG (one has begun or not), RGM_ERR_CONFIG (what cannot be changed of this
 * searcher; a point that was tried is another), RGM_ERR_NOMEM. After an error `searcher` can only
 * be released.
 */
rgm_status rgm_searcher_take_over(rgm_searcher *searcher, const rgm_searcher *before);

/** Whether both were made of the same section, space and seed: a state of one is one of the other.
 */
bool rgm_searcher_is_same(const rgm_searcher *a, const rgm_searcher *b);
/** How many trials it will create beyond those that it has, if none is replaced; -1: of this
 * searcher that cannot be changed. */
int64_t rgm_searcher_trials_left(const rgm_searcher *searcher);
/** How many of its points are not tried yet. */
int64_t rgm_searcher_points_left(const rgm_searcher *searcher);
/** Append "key: value" that a changed section must have so that the plan stays as it is; nothing
 * where nothing is needed. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_searcher_print_plan(rgm_text *out, const rgm_searcher *searcher);
/** Whether its sampler learns of trials of earlier searches. */
bool rgm_searcher_learns(const rgm_searcher *searcher);

/**
 * Tell a searcher of a trial of an earlier search, of which samplers learn as of its own, for the
 * whole of the search. To be told before it begins or is restored, and again of each restored one:
 * no state has it.
 *
 * @param values   [in] [rgm_space_count()]
 * @param length   [in] of its validation, above 0, in the searcher's unit
 * @param metrics  [in] [objective_count]; what is not finite is the worst there is
 *
 * Errors: RGM_ERR_ARG (it has begun, or a length that cannot be), RGM_ERR_NOMEM.
 */
rgm_status rgm_searcher_learn(rgm_searcher *searcher, const rgm_hyper_value *values, int64_t length,
                              const double *metrics);

/**
 * Read the values that a trial has, as rgm_space_read_point() does: they may be outside of bounds
 * that were changed since, and break constraints that came later. Errors: RGM_ERR_CONFIG,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_space_read_trial(rgm_hyper_value *values, const rgm_space *space,
                                const rgm_yaml_node *map);
/**
 * Print the section `hyperparameters` of a search that has this point alone, on one line: as
 * rgm_space_print_json(), but what would read as something else stands as a const. Errors:
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_space_print_section(rgm_text *out, const rgm_space *space,
                                   const rgm_hyper_value *values);
/**
 * A point that has the values of `map`, and else those of `base`. What of `base` is not there any
 * more under the new values is left out.
 *
 * @param base  [in] [rgm_space_count()]; NULL: the map says all
 *
 * Errors: RGM_ERR_CONFIG (unknown, out of range, missing in both, against a condition or a
 * constraint; all mistakes at once), RGM_ERR_NOMEM.
 */
rgm_status rgm_space_vary_point(rgm_hyper_value *values, const rgm_space *space,
                                const rgm_hyper_value *base, const rgm_yaml_node *map);

#ifdef __cplusplus
}
#endif
#endif
