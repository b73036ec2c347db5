/*
 * What the stacks of a Transformer are made of: embeddings with positions, attention over rows or
 * over keys and values that are kept, the feed-forward block, and how a block is added to what it
 * reads.
 *
 * Rows are [sequences * length, width] everywhere but inside attention.
 */
#include <math.h>

#include "sequence_internal.h"

/* ---- embeddings with positions -------------------------------------------------------------- */

static void set_number(rgm_tensor *tensor, int64_t i, double x)
{
    if (rgm_tensor_dtype(tensor) == RGM_F64)
        rgm_tensor_f64(tensor)[i] = x;
    else
        rgm_tensor_f32(tensor)[i] = (float)x;
}

/*
 * Row p: sin(p / t_i) for i < width / 2, then cos(p / t_i); t_i = 10000^(i / (width / 2 - 1)). In
 * double, then rounded once.
 */
static rgm_value *sinusoids(rgm_scope *scope, int64_t count, int64_t width)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_tensor *table = NULL;
    rgm_value *value;
    int64_t half = width / 2;

    if (rgm_tensor_create(&table, rgm_scope_dtype(scope), 2, (int64_t[]){count, width}) != RGM_OK)
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory: positions");
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < half; i++) {
            double angle = (double)p * pow(10000, -(double)i / (double)(half > 1 ? half - 1 : 1));
            set_number(table, p * width + i, sin(angle));
            set_number(table, p * width + half + i, cos(angle));
        }
    value = rgm_constant(graph, table);
    rgm_tensor_release(table);
    return value;
}

/* What stands for positions [n], [n, width]. */
static rgm_value *positions_of(rgm_scope *scope, const rgm_seq2seq_options *o, rgm_value *positions)
{
    int64_t shape[2] = {o->max_positions, o->embedding_width};
    rgm_value *table;

    if (o->positions == RGM_POSITIONS_LEARNED)
        table = rgm_scope_parameter(scope, "positions", 2, shape,
                                    (rgm_init){RGM_INIT_NORMAL, 1 / sqrt((double)shape[1])});
    else
        table = sinusoids(scope, shape[0], shape[1]);
    return rgm_gather(table, positions);
}

rgm_value *rgmi_embed(rgm_scope *scope, const rgm_seq2seq_options *o, rgm_value *table,
                      rgm_value *ids, rgm_value *positions)
{
    int64_t width = o->embedding_width;
    rgm_value *x;

    if (table == NULL || ids == NULL || positions == NULL)
        return NULL;
    x = rgm_gather(table, rgm_reshape(ids, 1, (rgm_dim[]){RGM_INFER}));
    x = rgm_reshape(rgm_scale(x, sqrt((double)width)), 3,
                    (rgm_dim[]){rgm_value_dim(ids, 0), rgm_value_dim(ids, 1), width});
    x = rgm_add(x, positions_of(scope, o, positions));
    x = rgm_reshape(x, 2, (rgm_dim[]){RGM_INFER, width});
    return rgm_dropout(scope, x, o->dropout_rate);
}

/* ---- blocks: each is drop(f(norm(x))) added to x, or norm(x + drop(f(x))) ------------------- */

rgm_value *rgmi_stack_norm(rgm_scope *scope, const char *name, rgm_value *x, double epsilon)
{
    rgm_scope *layer = rgm_scope_enter(scope, name);
    int64_t width = rgm_width(x);
    rgm_value *gamma, *beta;

    if (layer == NULL || width < 0)
        return NULL;
    gamma = rgm_scope_parameter(layer, "gamma", 1, &width, (rgm_init){RGM_INIT_ONES, 0});
    beta = rgm_scope_parameter(layer, "beta", 1, &width, (rgm_init){RGM_INIT_ZEROS, 0});
    return rgm_layer_norm_op(x, gamma, beta, epsilon);
}

rgm_value *rgmi_block_input(rgm_scope *scope, const rgm_seq2seq_stack *o, rgm_value *x)
{
    return o->norm_first ? rgmi_stack_norm(scope, "norm", x, o->norm_epsilon) : x;
}

rgm_value *rgmi_block_output(rgm_scope *scope, const rgm_seq2seq_stack *o, rgm_value *x,
                             rgm_value *made, double rate)
{
    rgm_value *sum = rgm_add(x, rgm_dropout(scope, made, rate));

    return o->norm_first ? sum : rgmi_stack_norm(scope, "norm", sum, o->norm_epsilon);
}

rgm_value *rgmi_project(rgm_scope *scope, const char *name, const rgm_seq2seq_stack *o,
                        rgm_value *x)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;

    dense.bias = o->use_bias;
    return rgm_dense_with(scope, name, x, x != NULL ? rgm_width(x) : 1, &dense);
}

static rgm_value *sequences(rgm_value *rows, const rgmi_row_shape *shape)
{
    if (rows == NULL)
        return NULL;
    return rgm_reshape(rows, 3, (rgm_dim[]){shape->sequences, shape->length, rgm_width(rows)});
}

void rgmi_attention_keys(rgm_value **keys, rgm_value **values, rgm_scope *block,
                         const rgm_seq2seq_stack *o, rgm_value *rows, const rgmi_row_shape *shape)
{
    *keys = sequences(rgmi_project(block, "key", o, rows), shape);
    *values = sequences(rgmi_project(block, "value", o, rows), shape);
}

rgm_value *rgmi_attend(rgm_scope *block, const rgm_seq2seq_stack *o, rgm_value *x,
                       const rgmi_row_shape *shape, rgm_value *keys, rgm_value *values,
                       rgm_value *visible, bool causal)
{
    rgm_attention_options attention = {.heads = o->num_attention_heads,
                                       .causal = causal,
                                       .key = visible,
                                       .dropout = o->attention_dropout_rate};
    rgm_value *q = sequences(rgmi_project(block, "query", o, x), shape), *y;

    y = rgm_attention(q, keys, values, &attention);
    if (y == NULL)
        return NULL;
    return rgmi_project(block, "output", o,
                        rgm_reshape(y, 2, (rgm_dim[]){RGM_INFER, rgm_width(y)}));
}

rgm_value *rgmi_attend_rows(rgm_scope *block, const rgm_seq2seq_stack *o, rgm_value *x,
                            const rgmi_row_shape *shape, rgm_value *keys, rgm_value *values,
                            rgm_value *rows, rgm_value *newest_key, rgm_value *newest_value)
{
    rgm_value *q = sequences(rgmi_project(block, "query", o, x), shape), *y;

    y = rgm_attention_rows(q, keys, values, rows, newest_key, newest_value, o->num_attention_heads);
    if (y == NULL)
        return NULL;
    return rgmi_project(block, "output", o,
                        rgm_reshape(y, 2, (rgm_dim[]){RGM_INFER, rgm_width(y)}));
}

rgm_value *rgmi_feed_forward(rgm_scope *scope, const rgm_seq2seq_stack *o, rgm_value *x)
{
    rgm_scope *block = rgm_scope_enter(scope, "ffn");
    rgm_dense_options inner = RGM_DENSE_OPTIONS_INIT;
    rgm_value *y = rgmi_block_input(block, o, x);

    inner.activation = o->activation;
    y = rgm_dense_with(block, "inner", y, o->intermediate_size, &inner);
    y = rgm_dropout(block, y, o->intermediate_dropout);
    y = rgm_dense(block, "outer", y, x != NULL ? rgm_width(x) : 1);
    return rgmi_block_output(block, o, x, y, o->dropout_rate);
}

rgm_scope *rgmi_stack_layer(rgm_scope *scope, int64_t i)
{
    char name[32];

    snprintf(name, sizeof name, "layer_%lld", (long long)i);
    return rgm_scope_enter(scope, name);
}
