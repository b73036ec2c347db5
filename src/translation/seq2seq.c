/*
 * The sequence-to-sequence Transformer (Vaswani et al. 2017) as TF Model Garden builds it:
 * embeddings scaled by sqrt(width), sinusoidal positions whose sines come first, a norm before each
 * block and one behind each stack, attention without biases, the feed-forward block with them.
 *
 * Rows are [sequences * length, width] everywhere but inside attention. Padding (id 0) is hidden as
 * a key; what stands in its rows is computed and read by nobody.
 */
#include <math.h>

#include "seq2seq_internal.h"

/* ---- embeddings ---------------------------------------------------------------------------- */

int64_t rgm_seq2seq_padded(int64_t vocabulary)
{
    return (vocabulary + 7) / 8 * 8;
}

/* The table of one side: [padded vocabulary, width]. */
static rgm_value *table_of(rgm_scope *scope, const rgm_seq2seq *model, const char *side,
                           int64_t vocabulary)
{
    int64_t shape[2] = {rgm_seq2seq_padded(vocabulary), model->options.embedding_width};
    rgm_init start = {RGM_INIT_NORMAL, 1 / sqrt((double)shape[1])};

    return rgm_scope_parameter(rgm_scope_enter(scope, side), "table", 2, shape, start);
}

static rgm_value *source_table(rgm_scope *scope, const rgm_seq2seq *model)
{
    return model->options.embeddings == RGM_EMBEDDINGS_SHARED
               ? table_of(scope, model, "embedding", model->source_vocabulary)
               : table_of(scope, model, "source_embedding", model->source_vocabulary);
}

static rgm_value *target_table(rgm_scope *scope, const rgm_seq2seq *model)
{
    return table_of(scope, model,
                    model->options.embeddings == RGM_EMBEDDINGS_SHARED ? "embedding"
                                                                       : "target_embedding",
                    model->target_vocabulary);
}

static rgm_value *output_table(rgm_scope *scope, const rgm_seq2seq *model)
{
    return model->options.embeddings == RGM_EMBEDDINGS_UNTIED
               ? table_of(scope, model, "output", model->target_vocabulary)
               : target_table(scope, model);
}

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
static rgm_value *positions_of(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *positions)
{
    int64_t shape[2] = {model->options.max_positions, model->options.embedding_width};
    rgm_value *table;

    if (model->options.positions == RGM_POSITIONS_LEARNED)
        table = rgm_scope_parameter(scope, "positions", 2, shape,
                                    (rgm_init){RGM_INIT_NORMAL, 1 / sqrt((double)shape[1])});
    else
        table = sinusoids(scope, shape[0], shape[1]);
    return rgm_gather(table, positions);
}

/* ids [b, n] -> rows [b n, width] with positions [n] added, dropped out. */
static rgm_value *embed(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *table,
                        rgm_value *ids, rgm_value *positions)
{
    int64_t width = model->options.embedding_width;
    rgm_value *x;

    if (table == NULL || ids == NULL || positions == NULL)
        return NULL;
    x = rgm_gather(table, rgm_reshape(ids, 1, (rgm_dim[]){RGM_INFER}));
    x = rgm_reshape(rgm_scale(x, sqrt((double)width)), 3,
                    (rgm_dim[]){rgm_value_dim(ids, 0), rgm_value_dim(ids, 1), width});
    x = rgm_add(x, positions_of(scope, model, positions));
    x = rgm_reshape(x, 2, (rgm_dim[]){RGM_INFER, width});
    return rgm_dropout(scope, x, model->options.dropout_rate);
}

/* ---- blocks: each is drop(f(norm(x))) added to x, or norm(x + drop(f(x))) ---- */

static rgm_value *norm(rgm_scope *scope, const char *name, rgm_value *x, double epsilon)
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

/* What a block reads, and the block's result from what it made. */
static rgm_value *block_input(rgm_scope *scope, const rgm_seq2seq_stack *o, rgm_value *x)
{
    return o->norm_first ? norm(scope, "norm", x, o->norm_epsilon) : x;
}

static rgm_value *block_output(rgm_scope *scope, const rgm_seq2seq_stack *o, rgm_value *x,
                               rgm_value *made, double rate)
{
    rgm_value *sum = rgm_add(x, rgm_dropout(scope, made, rate));

    return o->norm_first ? sum : norm(scope, "norm", sum, o->norm_epsilon);
}

/* x [n, width] through a square kernel; with lengths it becomes [b, length, width]. */
static rgm_value *project(rgm_scope *scope, const char *name, const rgm_seq2seq_stack *o,
                          rgm_value *x)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;

    dense.bias = o->use_bias;
    return rgm_dense_with(scope, name, x, x != NULL ? rgm_width(x) : 1, &dense);
}

static rgm_value *sequences(rgm_value *rows, const rgmi_seq2seq_shape *shape)
{
    if (rows == NULL)
        return NULL;
    return rgm_reshape(rows, 3, (rgm_dim[]){shape->sequences, shape->length, rgm_width(rows)});
}

void rgmi_seq2seq_keys(rgm_value **keys, rgm_value **values, rgm_scope *block,
                       const rgm_seq2seq_stack *o, rgm_value *rows, const rgmi_seq2seq_shape *shape)
{
    *keys = sequences(project(block, "key", o, rows), shape);
    *values = sequences(project(block, "value", o, rows), shape);
}

/* Queries of `x` rows to given keys and values, then the output projection: rows again. */
static rgm_value *attend(rgm_scope *block, const rgm_seq2seq_stack *o, rgm_value *x,
                         const rgmi_seq2seq_shape *shape, rgm_value *keys, rgm_value *values,
                         rgm_value *visible, bool causal)
{
    rgm_attention_options attention = {.heads = o->num_attention_heads,
                                       .causal = causal,
                                       .key = visible,
                                       .dropout = o->attention_dropout_rate};
    rgm_value *q = sequences(project(block, "query", o, x), shape), *y;

    y = rgm_attention(q, keys, values, &attention);
    if (y == NULL)
        return NULL;
    return project(block, "output", o, rgm_reshape(y, 2, (rgm_dim[]){RGM_INFER, rgm_width(y)}));
}

/* The same where keys and values are rows of which `rows` says who sees which; newest: behind them.
 */
static rgm_value *attend_rows(rgm_scope *block, const rgm_seq2seq_stack *o, rgm_value *x,
                              const rgmi_seq2seq_shape *shape, rgm_value *keys, rgm_value *values,
                              rgm_value *rows, rgm_value *newest_key, rgm_value *newest_value)
{
    rgm_value *q = sequences(project(block, "query", o, x), shape), *y;

    y = rgm_attention_rows(q, keys, values, rows, newest_key, newest_value, o->num_attention_heads);
    if (y == NULL)
        return NULL;
    return project(block, "output", o, rgm_reshape(y, 2, (rgm_dim[]){RGM_INFER, rgm_width(y)}));
}

static rgm_value *feed_forward(rgm_scope *scope, const rgm_seq2seq *model,
                               const rgm_seq2seq_stack *o, rgm_value *x)
{
    rgm_scope *block = rgm_scope_enter(scope, "ffn");
    rgm_dense_options inner = RGM_DENSE_OPTIONS_INIT;
    rgm_value *y = block_input(block, o, x);

    inner.activation = o->activation;
    y = rgm_dense_with(block, "inner", y, o->intermediate_size, &inner);
    y = rgm_dropout(block, y, o->intermediate_dropout);
    y = rgm_dense(block, "outer", y, model->options.embedding_width);
    return block_output(block, o, x, y, o->dropout_rate);
}

/* ---- encoder ------------------------------------------------------------------------------- */

static rgm_scope *layer_of(rgm_scope *scope, int64_t i)
{
    char name[32];

    snprintf(name, sizeof name, "layer_%lld", (long long)i);
    return rgm_scope_enter(scope, name);
}

rgm_value *rgm_seq2seq_encode(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *source,
                              rgm_value *positions)
{
    const rgm_seq2seq_stack *o = &model->options.encoder;
    rgm_scope *stack = rgm_scope_enter(scope, "encoder");
    rgmi_seq2seq_shape shape;
    rgm_value *x;

    if (source == NULL || stack == NULL)
        return NULL;
    shape = (rgmi_seq2seq_shape){rgm_value_dim(source, 0), rgm_value_dim(source, 1)};
    x = embed(stack, model, source_table(scope, model), source, positions);
    for (int64_t i = 0; i < o->num_layers; i++) {
        rgm_scope *layer = layer_of(stack, i), *block = rgm_scope_enter(layer, "attention");
        rgm_value *y = block_input(block, o, x), *keys, *values;
        rgmi_seq2seq_keys(&keys, &values, block, o, y, &shape);
        y = attend(block, o, y, &shape, keys, values, source, false);
        x = block_output(block, o, x, y, o->attention_dropout_rate);
        x = feed_forward(layer, model, o, x);
    }
    return norm(stack, "norm", x, o->norm_epsilon);
}

/* ---- decoder ------------------------------------------------------------------------------- */

static rgm_value *attend_before(rgm_scope *self, const rgm_seq2seq_stack *o, rgm_value *x,
                                const rgmi_seq2seq_shape *shape, rgmi_seq2seq_layer *io)
{
    if (io->past_rows != NULL) {
        io->keys = project(self, "key", o, x);
        io->values = project(self, "value", o, x);
        return attend_rows(self, o, x, shape, io->past_keys, io->past_values, io->past_rows,
                           io->keys, io->values);
    }
    rgmi_seq2seq_keys(&io->keys, &io->values, self, o, x, shape);
    if (io->past_keys != NULL) {
        io->keys = rgm_concat((rgm_value *[]){io->past_keys, io->keys}, 2, 1);
        io->values = rgm_concat((rgm_value *[]){io->past_values, io->values}, 2, 1);
    }
    return attend(self, o, x, shape, io->keys, io->values, NULL, true);
}

static rgm_value *attend_source(rgm_scope *cross, const rgm_seq2seq_stack *o, rgm_value *x,
                                const rgmi_seq2seq_shape *shape, const rgmi_seq2seq_layer *io,
                                rgm_value *source)
{
    const rgmi_seq2seq_shape *queries = shape;

    if (io->source_queries.sequences != 0)
        queries = &io->source_queries; /* the beams of a sentence are its queries */
    if (io->source_rows != NULL)
        return attend_rows(cross, o, x, queries, io->source_keys, io->source_values,
                           io->source_rows, NULL, NULL);
    return attend(cross, o, x, queries, io->source_keys, io->source_values, source, false);
}

/* Keys and values that a layer's two attentions read. */
static rgm_value *decoder_layer(rgm_scope *layer, const rgm_seq2seq *model, rgm_value *x,
                                const rgmi_seq2seq_shape *shape, rgmi_seq2seq_layer *io,
                                rgm_value *source)
{
    const rgm_seq2seq_stack *o = &model->options.decoder;
    rgm_scope *self = rgm_scope_enter(layer, "self_attention");
    rgm_scope *cross = rgm_scope_enter(layer, "cross_attention");
    rgm_value *y = attend_before(self, o, block_input(self, o, x), shape, io);

    x = block_output(self, o, x, y, o->dropout_rate);
    y = attend_source(cross, o, block_input(cross, o, x), shape, io, source);
    x = block_output(cross, o, x, y, o->dropout_rate);
    return feed_forward(layer, model, o, x);
}

rgm_value *rgmi_seq2seq_decoder(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *target,
                                rgm_value *positions, rgm_value *source, rgmi_seq2seq_layer *layers,
                                const rgmi_seq2seq_shape *shape)
{
    rgm_scope *stack = rgm_scope_enter(scope, "decoder");
    rgm_value *x = embed(stack, model, target_table(scope, model), target, positions);

    for (int64_t i = 0; i < model->options.decoder.num_layers; i++)
        x = decoder_layer(layer_of(stack, i), model, x, shape, &layers[i], source);
    return norm(stack, "norm", x, 1e-6);
}

void rgmi_seq2seq_source_keys(rgmi_seq2seq_layer *layers, rgm_scope *scope,
                              const rgm_seq2seq *model, rgm_value *memory,
                              const rgmi_seq2seq_shape *shape)
{
    rgm_scope *stack = rgm_scope_enter(scope, "decoder");

    for (int64_t i = 0; i < model->options.decoder.num_layers; i++)
        rgmi_seq2seq_keys(&layers[i].source_keys, &layers[i].source_values,
                          rgm_scope_enter(layer_of(stack, i), "cross_attention"),
                          &model->options.decoder, memory, shape);
}

rgm_value *rgm_seq2seq_decode(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *target,
                              rgm_value *positions, rgm_value *memory, rgm_value *source)
{
    rgmi_seq2seq_layer layers[RGM_SEQ2SEQ_LAYERS] = {0};
    rgmi_seq2seq_shape shape, from;

    if (target == NULL || source == NULL || memory == NULL)
        return NULL;
    shape = (rgmi_seq2seq_shape){rgm_value_dim(target, 0), rgm_value_dim(target, 1)};
    from = (rgmi_seq2seq_shape){rgm_value_dim(source, 0), rgm_value_dim(source, 1)};
    rgmi_seq2seq_source_keys(layers, scope, model, memory, &from);
    return rgmi_seq2seq_decoder(scope, model, target, positions, source, layers, &shape);
}

rgm_value *rgm_seq2seq_logits(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *states)
{
    return rgm_matmul_t(states, output_table(scope, model), false, true);
}

/* ---- loss ---------------------------------------------------------------------------------- */

rgm_value *rgm_seq2seq_losses(const rgm_seq2seq *model, rgm_value *logits, rgm_value *labels,
                              double smoothing)
{
    rgm_cross_entropy_options options = {.classes = model->target_vocabulary,
                                         .smoothing = smoothing};
    rgm_value *losses = rgm_softmax_cross_entropy_with(logits, labels, &options);
    double others = (double)(model->target_vocabulary - 1), entropy = 0;

    if (smoothing > 0)
        entropy =
            -((1 - smoothing) * log(1 - smoothing) + smoothing * log(smoothing / others + 1e-20));
    return entropy > 0 ? rgm_shift(losses, -entropy) : losses;
}

rgm_value *rgm_seq2seq_weights(rgm_scope *scope, rgm_value *labels)
{
    rgm_value *zero = rgm_scalar(rgm_scope_graph(scope), RGM_I64, 0);

    return rgm_cast(rgm_shift(rgm_neg(rgm_equal(labels, zero)), 1), rgm_scope_dtype(scope));
}
