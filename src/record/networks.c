/*
 * The networks that a record task can name.
 */
#include "records.h"

static const rgm_record_network mlp = {
    .type = {.name = "mlp",
             .help = "dense layers on records laid flat",
             .options_size = sizeof(rgm_mlp_options),
             .defaults = rgm_mlp_defaults,
             .fields = rgm_mlp_fields},
    .build = rgm_mlp,
};

static const rgm_record_network cnn = {
    .type = {.name = "cnn",
             .help = "convolutions and pools on images",
             .options_size = sizeof(rgm_cnn_options),
             .defaults = rgm_cnn_defaults,
             .fields = rgm_cnn_fields},
    .build = rgm_cnn,
};

const rgm_network_type *const rgmi_record_networks[] = {&mlp.type, &cnn.type, NULL};
