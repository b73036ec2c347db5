/*
 * The one list of models that an experiment file can name.
 */
#include "model_internal.h"

const rgm_section_type *const rgm_graph_models[] = {
    &rgm_gcn_model.section,
    &rgm_gat_model.section,
    &rgm_sage_model.section,
    &rgm_mpnn_model.section,
    &rgm_appnp_model.section,
    &rgm_sgc_model.section,
    &rgm_gin_model.section,
    &rgm_hgt_model.section,
    &rgm_albis_model.section,
    &rgm_rgcn_model.section,
    &rgm_pna_model.section,
    &rgm_gps_model.section,
    NULL,
};
