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

static bool is_table(const rgm_parameters *parameters, int64_t i)
{
    return rgm_seq2seq_int8_axis(rgm_parameters_name(parameters, i),
                                 rgm_parameters_form(parameters, i)) == 0;
}

/* Whether each row is what 8 bits keep of it; `row` has room for one. */
static bool rows_are_rounded(float *row, const rgm_tensor *table)
{
    int64_t rows = rgm_tensor_dim(table, 0), width = rgm_tensor_dim(table, 1);
    const float *x = rgm_tensor_data(table);

    for (int64_t r = 0; r < rows; r++) {
        memcpy(row, x + r * width, (size_t)width * sizeof *row);
        rgm_int8_round_rows(row, 1, width);
        if (memcmp(row, x + r * width, (size_t)width * sizeof *row) != 0)
            return false;
    }
    return true;
}

rgm_status rgmi_tables_are_rounded(bool *out, const rgm_parameters *parameters)
{
    *out = false;
    RGM_TRY(rgm_parameters_to_host(parameters));
    *out = true;
    for (int64_t i = 0; i < rgm_parameters_count(parameters) && *out; i++) {
        const rgm_tensor *table = rgm_parameters_form(parameters, i);
        float *row;
        if (!is_table(parameters, i))
            continue;
        RGM_TRY(RGM_NEW(row, rgm_tensor_dim(table, 1)));
        *out = rows_are_rounded(row, table);
        rgm_free(row);
    }
    return RGM_OK;
}

void rgmi_round_tables(rgm_parameters *parameters)
{
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        rgm_tensor *table = rgm_parameters_tensor(parameters, i);
        if (is_table(parameters, i))
            rgm_int8_round_rows(rgm_tensor_f32(table), rgm_tensor_dim(table, 0),
                                rgm_tensor_dim(table, 1));
    }
    rgm_parameters_touch(parameters);
}
