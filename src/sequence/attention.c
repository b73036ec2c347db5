/*
 * What the tokens of a target attend to in their source: remembered while the decoder's graph is
 * built, found again, and computed from fetched queries and keys. The attention kernel keeps no
 * probabilities; here they are computed again, of one attention, in a fixed order, so that padding
 * and other sentences change no bit.
 */
#include <math.h>

#include "sequence_internal.h"

#define RGM_OPTIONS rgm_attention_place
const rgm_field rgm_attention_place_fields[] = {
    RGM_INT_FIELD(layer, -1, RGM_STACK_LAYERS - 1, "of the decoder, from 0; -1: the last"),
    RGM_INT_FIELD(head, -1, 1023, "from 0; -1: the mean of all"),
    {0}};
#undef RGM_OPTIONS

rgm_status rgm_attention_place_check(const rgm_attention_place *place, const rgm_seq2seq *model,
                                     const char *key)
{
    const rgm_stack_options *o = &model->options.decoder;

    if (place->layer >= o->num_layers || place->layer < -1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s.layer is %lld, but the decoder has the layers 0 .. %lld", key,
                        (long long)place->layer, (long long)o->num_layers - 1);
    if (place->head >= o->num_attention_heads || place->head < -1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s.head is %lld, but the decoder's attentions have the heads 0 .. %lld",
                        key, (long long)place->head, (long long)o->num_attention_heads - 1);
    return RGM_OK;
}

int64_t rgmi_attention_layer(const rgm_attention_place *place, const rgm_seq2seq *model)
{
    return place->layer >= 0 ? place->layer : model->options.decoder.num_layers - 1;
}

/* ---- in a graph ------------------------------------------------------------------------------ */

rgm_status rgm_seq2seq_attention(rgm_cross_attention *out, rgm_scope *scope,
                                 const rgm_seq2seq *model, const rgm_attention_place *place)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    const char *where;
    rgm_scope *block;

    *out = (rgm_cross_attention){0};
    RGM_TRY(rgm_attention_place_check(place, model, "attention"));
    RGM_TRY(rgm_cgraph_status(graph));
    block = rgmi_stack_layer(rgm_scope_enter(scope, "decoder"), rgmi_attention_layer(place, model));
    block = rgm_scope_enter(block, "cross_attention");
    if (block == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: the scope of an attention");
    where = rgm_scope_path(block);
    for (int64_t i = 0; i < rgm_cgraph_note_count(graph); i++) {
        const rgm_note *note = rgm_cgraph_note_at(graph, i);
        if (strcmp(note->what, rgmi_cross_attention) == 0 && strcmp(note->where, where) == 0)
            *out = (rgm_cross_attention){.queries = note->value, .keys = note->of};
    }
    return out->queries != NULL ? RGM_OK
                                : RGM_FAIL(RGM_ERR_ARG, "no decoder was built here: %s", where);
}

/* ---- guided ---------------------------------------------------------------------------------- */

static const double LEAST_MEAN = 1e-20; /* of a mean of heads whose logarithm is taken */

/* Scores [b, t, s] of a head; hidden [b, 1, s] has a large negative number at padding. */
static rgm_value *head_scores(const rgm_cross_attention *attention, const rgm_seq2seq *model,
                              int64_t head, rgm_value *hidden)
{
    const rgm_stack_options *o = &model->options.decoder;
    int64_t depth = model->options.embedding_width / o->num_attention_heads;
    int64_t shared = head / (o->num_attention_heads / rgmi_key_heads(o));
    rgm_value *q = rgm_slice(attention->queries, 2, head * depth, (head + 1) * depth);
    rgm_value *k = rgm_slice(attention->keys, 2, shared * depth, (shared + 1) * depth);

    return rgm_add(rgm_scale(rgm_matmul_t(q, k, false, true), 1 / sqrt((double)depth)), hidden);
}

/* Logarithms of probabilities [b, t, s]. */
static rgm_value *log_attention(const rgm_cross_attention *attention, const rgm_seq2seq *model,
                                const rgm_attention_place *place, rgm_value *hidden)
{
    int64_t heads = model->options.decoder.num_attention_heads;
    rgm_value *sum = NULL;

    if (place->head >= 0)
        return rgm_log_softmax(head_scores(attention, model, place->head, hidden));
    for (int64_t h = 0; h < heads; h++) {
        rgm_value *p = rgm_softmax(head_scores(attention, model, h, hidden));
        sum = h == 0 ? p : rgm_add(sum, p);
    }
    return rgm_log(rgm_floor_at(rgm_scale(sum, 1 / (double)heads), LEAST_MEAN));
}

rgm_value *rgm_seq2seq_alignment_losses(const rgm_cross_attention *attention,
                                        const rgm_seq2seq *model, const rgm_attention_place *place,
                                        rgm_value *source, rgm_value *alignment)
{
    rgm_value *zero, *hidden, *log_p, *losses;

    if (source == NULL || alignment == NULL || attention->queries == NULL)
        return NULL;
    zero = rgm_scalar(rgm_value_graph(source), rgm_value_dtype(source), 0);
    hidden = rgm_cast(rgm_equal(source, zero), rgm_value_dtype(alignment));
    hidden = rgm_scale(
        rgm_reshape(hidden, 3, (rgm_dim[]){rgm_value_dim(source, 0), 1, rgm_value_dim(source, 1)}),
        -1e9);
    log_p = log_attention(attention, model, place, hidden);
    losses = rgm_neg(rgm_reduce(rgm_mul(alignment, log_p), 2, RGM_SUM));
    return rgm_reshape(losses, 1, (rgm_dim[]){RGM_INFER});
}

/* ---- of what was fetched --------------------------------------------------------------------- */

/* softmax(query keys^T / sqrt(depth)) of one head to scores. */
static void weigh(float *scores, const float *query, const float *keys, const int64_t *rows,
                  int64_t sources, int64_t depth, int64_t key_width)
{
    float scale = 1 / sqrtf((float)depth), most = -INFINITY, sum = 0;

    for (int64_t i = 0; i < sources; i++) {
        const float *key = keys + (rows != NULL ? rows[i] : i) * key_width;
        float dot = 0;
        for (int64_t d = 0; d < depth; d++)
            dot += query[d] * key[d];
        scores[i] = dot * scale;
        most = scores[i] > most ? scores[i] : most;
    }
    for (int64_t i = 0; i < sources; i++) {
        scores[i] = expf(scores[i] - most);
        sum += scores[i];
    }
    for (int64_t i = 0; i < sources; i++)
        scores[i] /= sum;
}

void rgmi_attention_add(double *sum, double share, float *scores, const float *query,
                        const float *keys, const int64_t *rows, int64_t sources,
                        const rgm_seq2seq *model, const rgm_attention_place *place)
{
    const rgm_stack_options *o = &model->options.decoder;
    int64_t heads = o->num_attention_heads, depth = model->options.embedding_width / heads;
    int64_t first = place->head >= 0 ? place->head : 0;
    int64_t end = place->head >= 0 ? place->head + 1 : heads;

    for (int64_t h = first; h < end; h++) {
        int64_t shared = h / (heads / rgmi_key_heads(o)); /* whose keys this head reads */
        weigh(scores, query + h * depth, keys + shared * depth, rows, sources, depth,
              rgmi_seq2seq_key_width(model));
        for (int64_t i = 0; i < sources; i++)
            sum[i] += share * (double)scores[i] / (double)(end - first);
    }
}

rgm_status rgm_attention_weights(float *weights, const float *queries, int64_t targets,
                                 const float *keys, int64_t sources, const rgm_seq2seq *model,
                                 const rgm_attention_place *place)
{
    rgm_status status = RGM_OK;
    float *scores = NULL;
    double *sum = NULL;

    RGM_GO(RGM_NEW(scores, sources));
    RGM_GO(RGM_NEW(sum, sources));
    for (int64_t t = 0; t < targets; t++) {
        memset(sum, 0, (size_t)sources * sizeof *sum);
        rgmi_attention_add(sum, 1, scores, queries + t * model->options.embedding_width, keys, NULL,
                           sources, model, place);
        for (int64_t i = 0; i < sources; i++)
            weights[t * sources + i] = (float)sum[i];
    }
done:
    rgm_free(scores);
    rgm_free(sum);
    return status;
}
