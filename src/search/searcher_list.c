/*
 * The list of searchers. A new one is a file with a row, and a line here.
 */
#include "search_internal.h"

const rgm_searcher_type *const rgm_searcher_types[] = {&rgmi_single_type,
                                                       &rgmi_random_type,
                                                       &rgmi_grid_type,
                                                       &rgmi_async_halving_type,
                                                       &rgmi_sync_halving_type,
                                                       &rgmi_adaptive_type,
                                                       &rgmi_adaptive_simple_type,
                                                       &rgmi_adaptive_asha_type,
                                                       &rgmi_bohb_type,
                                                       &rgmi_pbt_type,
                                                       &rgmi_median_type,
                                                       &rgmi_asked_type,
                                                       NULL};
