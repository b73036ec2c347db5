/* Weights in 8 bits: which parameters are kept so, by rows or by columns. */
#include "sequence_internal.h"

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);

    return size >= tail && strcmp(name + size - tail, end) == 0;
}

int rgm_seq2seq_int8_axis(const char *name, const rgm_tensor *tensor)
{
    static const char *const tables[] = {"embedding/table", "source_embedding/table",
                                         "target_embedding/table", "output/table",
                                         "source_factors/table"};

    if (rgm_tensor_rank(tensor) != 2 || rgm_tensor_dtype(tensor) != RGM_F32)
        return -1;
    for (int i = 0; i < 5; i++)
        if (strcmp(name, tables[i]) == 0)
            return 0;
    return ends_with(name, "/kernel") ? 1 : -1;
}

void rgmi_round_tables(rgm_parameters *parameters)
{
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        rgm_tensor *table = rgm_parameters_tensor(parameters, i);
        if (rgm_seq2seq_int8_axis(rgm_parameters_name(parameters, i), table) == 0)
            rgm_int8_round_rows(rgm_tensor_f32(table), rgm_tensor_dim(table, 0),
                                rgm_tensor_dim(table, 1));
    }
    rgm_parameters_touch(parameters);
}
