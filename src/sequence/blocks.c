/*
 * What the stacks of a Transformer are made of: embeddings, attention over rows or over keys and
 * values that are kept, the feed-forward block, and how a block is added to what it reads. How
 * tokens get their positions is in positions.c.
 *
 * Rows are [sequences * length, width] everywhere but inside attention.
 */
#include <math.h>

#include "sequence_internal.h"

rgm_status rgmi_open_graph(rgm_cgraph **graph, rgmi_graph_builder *build, void *payload,
                           const rgm_executor_options *options)
{
    rgm_status status = RGM_OK;
    rgm_scope *scope = NULL;

    RGM_GO(rgm_cgraph_create(graph));
    RGM_GO(rgm_scope_create(&scope, *graph, RGM_F32));
    RGM_GO(build(payload, scope, options));
done:
    rgm_scope_release(scope);
    return status;
}

/* ---- embeddings ------------------------------------------------------------------------------ */

rgm_value *rgmi_embed(rgm_scope *scope, const rgmi_embedding *o, rgm_value *table, rgm_value *ids,
                      rgm_value *positions)
{
    if (table == NULL || ids == NULL || positions == NULL)
        return NULL;
    return rgmi_embed_rows(scope, o, rgm_gather(table, rgm_reshape(ids, 1, (rgm_dim[]){RGM_INFER})),
                           ids, positions);
}

rgm_value *rgmi_embed_rows(rgm_scope *scope, const rgmi_embedding *o, rgm_value *x, rgm_value *ids,
                           rgm_value *positions)
{
    rgm_value *added;

    if (x == NULL || ids == NULL || positions == NULL)
        return NULL;
    if (o->scaled)
        x = rgm_scale(x, sqrt((double)o->width));
    if (rgmi_positions_are_added(o->positions) && rgm_value_rank(positions) == 1) {
        x = rgm_reshape(x, 3, (rgm_dim[]){rgm_value_dim(ids, 0), rgm_value_dim(ids, 1), o->width});
        x = rgm_add(x, rgmi_positions_of(scope, o, positions));
        x = rgm_reshape(x, 2, (rgm_dim[]){RGM_INFER, o->width});
    } else if (rgmi_positions_are_added(o->positions)) {
        added = rgmi_positions_of(scope, o, rgm_reshape(positions, 1, (rgm_dim[]){RGM_INFER}));
        x = rgm_add(x, added);
    }
    return rgm_dropout(scope, x, o->dropout);
}

/* ---- blocks: each is drop(f(norm(x))) added to x, or norm(x + drop(f(x))) ------------------- */

rgm_value *rgmi_stack_norm(rgm_scope *scope, const char *name, const rgm_stack_options *o,
                           rgm_value *x)
{
    rgm_scope *layer = rgm_scope_enter(scope, name);
    int64_t width = rgm_width(x);
    rgm_value *gamma, *beta;

    if (layer == NULL || width < 0)
        return NULL;
    gamma = rgm_scope_parameter(layer, "gamma", 1, &width, (rgm_init){RGM_INIT_ONES, 0});
    if (o->norm == RGM_NORM_RMS)
        return rgm_rms_norm_op(x, gamma, o->norm_epsilon);
    beta = rgm_scope_parameter(layer, "beta", 1, &width, (rgm_init){RGM_INIT_ZEROS, 0});
    return rgm_layer_norm_op(x, gamma, beta, o->norm_epsilon);
}

rgm_value *rgmi_stack_end(rgm_scope *stack, const rgm_stack_options *o, rgm_value *x)
{
    return o->final_norm ? rgmi_stack_norm(stack, "norm", o, x) : x;
}

rgm_value *rgmi_block_input(rgm_scope *scope, const rgm_stack_options *o, rgm_value *x)
{
    return o->norm_first ? rgmi_stack_norm(scope, "norm", o, x) : x;
}

rgm_value *rgmi_block_output(rgm_scope *scope, const rgm_stack_options *o, rgm_value *x,
                             rgm_value *made, double rate)
{
    rgm_value *sum = rgm_add(x, rgm_dropout(scope, made, rate));

    return o->norm_first ? sum : rgmi_stack_norm(scope, "norm", o, sum);
}

double rgmi_attention_output_rate(const rgm_stack_options *o, double otherwise)
{
    return o->attention_output_dropout >= 0 ? o->attention_output_dropout : otherwise;
}

/* ---- attention --------------------------------------------------------------------------------
 */

int64_t rgmi_key_heads(const rgm_stack_options *o)
{
    return o->num_key_value_heads > 0 ? o->num_key_value_heads : o->num_attention_heads;
}

int64_t rgmi_key_width(const rgm_stack_options *o, int64_t width)
{
    return width / o->num_attention_heads * rgmi_key_heads(o);
}

/* Rows through one of attention's kernels: "query", "key", "value", "output". */
static rgm_value *project(rgm_scope *scope, const char *name, const rgm_stack_options *o,
                          rgm_value *x, int64_t units)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;

    dense.bias = o->use_bias || (o->qkv_bias && strcmp(name, "output") != 0);
    return rgm_dense_with(scope, name, x, units, &dense);
}

static rgm_value *project_keys(rgm_scope *scope, const char *name, const rgm_stack_options *o,
                               rgm_value *x)
{
    return project(scope, name, o, x, x != NULL ? rgmi_key_width(o, rgm_width(x)) : 1);
}

static rgm_value *project_back(rgm_scope *scope, const rgm_stack_options *o, rgm_value *y)
{
    if (y == NULL)
        return NULL;
    y = rgm_reshape(y, 2, (rgm_dim[]){RGM_INFER, rgm_width(y)});
    return project(scope, "output", o, y, rgm_width(y));
}

static rgm_value *sequences(rgm_value *rows, const rgmi_row_shape *shape)
{
    if (rows == NULL)
        return NULL;
    return rgm_reshape(rows, 3, (rgm_dim[]){shape->sequences, shape->length, rgm_width(rows)});
}

static rgm_value *queries(rgm_scope *block, const rgm_stack_options *o, rgm_value *x,
                          const rgmi_row_shape *shape, const rgmi_token_places *places)
{
    rgm_value *q = project(block, "query", o, x, x != NULL ? rgm_width(x) : 1);

    return sequences(rgmi_places_turn(places, q, o->num_attention_heads), shape);
}

void rgmi_attention_keys(rgm_value **keys, rgm_value **values, rgm_scope *block,
                         const rgm_stack_options *o, rgm_value *rows, const rgmi_row_shape *shape)
{
    *keys = sequences(project_keys(block, "key", o, rows), shape);
    *values = sequences(project_keys(block, "value", o, rows), shape);
}

static rgm_attention_options attention_of(const rgm_stack_options *o,
                                          const rgmi_token_places *places)
{
    rgm_attention_options attention = {.heads = o->num_attention_heads,
                                       .kv_heads = o->num_key_value_heads,
                                       .dropout = o->attention_dropout_rate};

    if (places != NULL) {
        attention.window = o->attention_window;
        attention.slope = places->slope;
        attention.bias = places->bias;
    }
    return attention;
}

const char rgmi_cross_attention[] = "cross attention";

/* What it compares can be asked for: rgm_seq2seq_attention(). */
static void note(rgm_scope *block, rgm_value *q, rgm_value *keys)
{
    rgm_note made = {.what = rgmi_cross_attention, .value = q, .of = keys};

    if (block == NULL)
        return;
    made.where = rgm_scope_path(block);
    rgm_cgraph_note(rgm_scope_graph(block), &made);
}

rgm_value *rgmi_attend(rgm_scope *block, const rgm_stack_options *o, rgm_value *x,
                       const rgmi_row_shape *shape, rgm_value *keys, rgm_value *values,
                       rgm_value *visible)
{
    rgm_value *q = queries(block, o, x, shape, NULL);
    rgm_attention_options attention = attention_of(o, NULL);

    attention.key = visible;
    note(block, q, keys);
    return project_back(block, o, rgm_attention(q, keys, values, &attention));
}

rgm_value *rgmi_attend_rows(rgm_scope *block, const rgm_stack_options *o, rgm_value *x,
                            const rgmi_row_shape *shape, rgm_value *keys, rgm_value *values,
                            rgm_value *rows)
{
    rgm_value *q = queries(block, o, x, shape, NULL);
    rgm_attention_options attention = attention_of(o, NULL);

    attention.dropout = 0;
    note(block, q, keys);
    return project_back(block, o,
                        rgm_attention_rows(q, keys, values, rows, NULL, NULL, NULL, &attention));
}

/* Where keys and values of earlier tokens are rows that a list names. */
static rgm_value *attend_kept(rgm_scope *block, const rgm_stack_options *o, rgm_value *x,
                              const rgmi_row_shape *shape, const rgmi_token_places *places,
                              rgmi_kept_keys *kept)
{
    rgm_attention_options attention = attention_of(o, places);
    bool asks = attention.window > 0 || attention.slope != NULL || attention.bias != NULL;
    rgm_value *q;

    kept->keys = rgmi_places_turn(places, project_keys(block, "key", o, x), rgmi_key_heads(o));
    kept->values = project_keys(block, "value", o, x);
    q = queries(block, o, x, shape, places);
    attention.dropout = 0;
    return project_back(block, o,
                        rgm_attention_rows(q, kept->past_keys, kept->past_values, kept->past_rows,
                                           kept->keys, kept->values, asks ? places->at : NULL,
                                           &attention));
}

rgm_value *rgmi_attend_self(rgm_scope *block, const rgm_stack_options *o, rgm_value *x,
                            const rgmi_row_shape *shape, const rgmi_token_places *places,
                            const rgmi_seen *seen, rgmi_kept_keys *kept)
{
    rgm_attention_options attention;
    rgm_value *keys;

    if (kept->past_rows != NULL)
        return attend_kept(block, o, x, shape, places, kept);
    keys = project_keys(block, "key", o, x);
    kept->keys = sequences(rgmi_places_turn(places, keys, rgmi_key_heads(o)), shape);
    kept->values = sequences(project_keys(block, "value", o, x), shape);
    if (kept->past_keys != NULL) {
        kept->keys = rgm_concat((rgm_value *[]){kept->past_keys, kept->keys}, 2, 1);
        kept->values = rgm_concat((rgm_value *[]){kept->past_values, kept->values}, 2, 1);
    }
    attention = attention_of(o, places);
    attention.causal = seen->causal;
    attention.key = seen->key;
    attention.query = seen->query;
    return project_back(
        block, o,
        rgm_attention(queries(block, o, x, shape, places), kept->keys, kept->values, &attention));
}

/* ---- feed-forward -----------------------------------------------------------------------------
 */

rgm_value *rgmi_feed_forward(rgm_scope *scope, const rgm_stack_options *o, rgm_value *x)
{
    rgm_scope *block = rgm_scope_enter(scope, "ffn");
    rgm_dense_options plain = RGM_DENSE_OPTIONS_INIT, active = RGM_DENSE_OPTIONS_INIT;
    rgm_value *read = rgmi_block_input(block, o, x), *y;

    plain.bias = active.bias = o->ffn_bias;
    active.activation = o->activation;
    if (o->gated) {
        rgm_value *gate = rgm_dense_with(block, "gate", read, o->intermediate_size, &active);
        y = rgm_dense_with(block, "inner", read, o->intermediate_size, &plain);
        y = rgm_mul(gate, y);
    } else {
        y = rgm_dense_with(block, "inner", read, o->intermediate_size, &active);
    }
    y = rgm_dropout(block, y, o->intermediate_dropout);
    y = rgm_dense_with(block, "outer", y, x != NULL ? rgm_width(x) : 1, &plain);
    return rgmi_block_output(block, o, x, y, o->dropout_rate);
}

rgm_scope *rgmi_stack_layer(rgm_scope *scope, int64_t i)
{
    char name[32];

    snprintf(name, sizeof name, "layer_%lld", (long long)i);
    return rgm_scope_enter(scope, name);
}

/* ---- logits ------------------------------------------------------------------------------------
 */

rgm_value *rgmi_logits(rgm_scope *scope, rgm_value *states, rgm_value *table, bool bias)
{
    rgm_value *logits = rgm_matmul_t(states, table, false, true);

    if (!bias || table == NULL)
        return logits;
    return rgm_add(logits, rgm_scope_parameter(rgm_scope_enter(scope, "output"), "bias", 1,
                                               (int64_t[]){rgm_value_dim(table, 0)},
                                               (rgm_init){RGM_INIT_ZEROS, 0}));
}
