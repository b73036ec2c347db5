/*
 * The networks that a record task can name.
 */
#include "records.h"

const rgm_record_network rgm_mlp_network = {
    .section = {.name = "mlp",
                .help = "dense layers on records laid flat",
                .options_size = sizeof(rgm_mlp_options),
                .defaults = rgm_mlp_defaults,
                .fields = rgm_mlp_fields},
    .build = rgm_mlp,
};

const rgm_record_network rgm_cnn_network = {
    .section = {.name = "cnn",
                .help = "convolutions and pools on images",
                .options_size = sizeof(rgm_cnn_options),
                .defaults = rgm_cnn_defaults,
                .fields = rgm_cnn_fields},
    .build = rgm_cnn,
};

const rgm_section_type *const rgm_record_networks[] = {
    &rgm_mlp_network.section, &rgm_cnn_network.section, &rgm_layers_network.section, NULL};
