/*
 * An executor's feeds as inputs of the exported graph: dense tensors by name, a pattern as two
 * vectors, and the size of every named symbol among their dims.
 */
#include <string.h>

#include "onnx_internal.h"

typedef struct input_list {
    rgm_named_tensor *items;
    int64_t count, capacity;
} input_list;

static bool has(const input_list *list, const char *name)
{
    for (int64_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return true;
    return false;
}

/* Takes over `tensor`, also on failure. */
static rgm_status add(input_list *list, const char *name, rgm_tensor *tensor)
{
    char *copy = NULL;
    rgm_status status = RGM_RESERVE(list->items, list->capacity, list->count + 1);

    if (status == RGM_OK)
        status = rgm_strdup(&copy, name);
    if (status != RGM_OK) {
        rgm_tensor_release(tensor);
        return status;
    }
    list->items[list->count++] = (rgm_named_tensor){copy, tensor};
    return RGM_OK;
}

/* Takes over `tensor`, also on failure. */
static rgm_status add_with_ending(input_list *list, const char *name, const char *ending,
                                  rgm_tensor *tensor)
{
    char *text = NULL;
    rgm_status status = rgm_strprintf(&text, "%s.%s", name, ending);

    if (status == RGM_OK && !has(list, text))
        status = add(list, text, tensor);
    else
        rgm_tensor_release(tensor);
    rgm_free(text);
    return status;
}

static rgm_status add_size(input_list *list, const rgm_value *input, rgm_dim dim, int64_t size)
{
    const char *symbol = rgm_cgraph_symbol_name(rgm_value_graph(input), dim);
    rgm_tensor *tensor;

    if (symbol == NULL)
        return RGM_OK;
    RGM_TRY(rgm_tensor_create_from(&tensor, RGM_I64, 0, NULL, &size));
    return add_with_ending(list, symbol, "#size", tensor);
}

static rgm_status add_index(input_list *list, const rgm_value *input, const char *ending,
                            const int32_t *index, int64_t count)
{
    rgm_tensor *tensor;

    RGM_TRY(rgm_tensor_create(&tensor, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(tensor)[i] = index[i];
    return add_with_ending(list, rgm_value_name(input), ending, tensor);
}

static rgm_status add_feed(input_list *list, const rgm_feed *feed)
{
    const rgm_dim *shape = rgm_value_shape(feed->input);

    if (feed->pattern != NULL) {
        const rgm_csr *csr = rgm_pattern_by_row(feed->pattern);

        RGM_TRY(
            add_index(list, feed->input, "rows", rgm_pattern_row_of(feed->pattern), csr->count));
        RGM_TRY(add_index(list, feed->input, "columns", rgm_pattern_column_of(feed->pattern),
                          csr->count));
        RGM_TRY(add_size(list, feed->input, shape[0], csr->rows));
        RGM_TRY(add_size(list, feed->input, shape[1], csr->columns));
        return add_size(list, feed->input, shape[2], csr->count);
    }
    if (feed->tensor == NULL || rgm_tensor_rank(feed->tensor) != rgm_value_rank(feed->input))
        return RGM_FAIL(RGM_ERR_SHAPE, "'%s' is fed a tensor of another rank, or none",
                        rgm_value_name(feed->input));
    for (int i = 0; i < rgm_value_rank(feed->input); i++)
        RGM_TRY(add_size(list, feed->input, shape[i], rgm_tensor_dim(feed->tensor, i)));
    return add(list, rgm_value_name(feed->input), rgm_tensor_retain(feed->tensor));
}

rgm_status rgm_onnx_inputs(rgm_named_tensor **inputs, int64_t *count, const rgm_feed *feeds,
                           int64_t feed_count)
{
    input_list list = {0};
    rgm_status status = RGM_OK;

    *inputs = NULL;
    *count = 0;
    for (int64_t i = 0; i < feed_count && status == RGM_OK; i++)
        status = add_feed(&list, &feeds[i]);
    if (status != RGM_OK) {
        rgm_onnx_inputs_release(list.items, list.count);
        return status;
    }
    *inputs = list.items;
    *count = list.count;
    return RGM_OK;
}

void rgm_onnx_inputs_release(rgm_named_tensor *inputs, int64_t count)
{
    for (int64_t i = 0; inputs != NULL && i < count; i++) {
        rgm_free((char *)(uintptr_t)inputs[i].name);
        rgm_tensor_release(inputs[i].tensor);
    }
    rgm_free(inputs);
}
