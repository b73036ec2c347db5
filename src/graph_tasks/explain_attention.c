/*
 * Attention as an explanation: what each layer weighs, and of each edge the mean over the layers in
 * which the prediction depends on what the edge's receiver hears, which a gradient tells.
 */
#include <string.h>

#include "explain_internal.h"

/* ---- what is run ----------------------------------------------------------------------------- */

static rgm_status list_models(rgm_text *out)
{
    const char *between = "";

    for (int64_t i = 0; rgm_graph_models[i] != NULL; i++) {
        const rgm_graph_model_type *type = (const rgm_graph_model_type *)rgm_graph_models[i];
        bool always = type->attention != NULL && type->attention[0] == '\0';

        if (type->attention == NULL)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s%s", between, type->section.name));
        if (!always)
            RGM_TRY(rgm_text_printf(out, " (%s)", type->attention));
        between = ", ";
    }
    return RGM_OK;
}

static rgm_status no_attention(void)
{
    rgm_text names = {0};
    rgm_status status = list_models(&names);

    if (status == RGM_OK)
        status = RGM_FAIL(RGM_ERR_UNSUPPORTED,
                          "the prediction rests on no attention, so there are no weights to tell; "
                          "models with it are %s",
                          names.data);
    rgm_text_clear(&names);
    return status;
}

/*
 * The prediction, and what is weighed and heard in the layers, all as in runs without training: a
 * batch norm's branch for training mixes the rows of a batch, and that of a sampled run is of
 * another pass than the layers. `all`: [1 + 2 count].
 */
static rgm_status without_training(rgm_value **all, rgm_edge_attention *layers, int64_t count,
                                   rgm_value *prediction)
{
    all[0] = prediction;
    for (int64_t i = 0; i < count; i++) {
        all[1 + 2 * i] = layers[i].heard;
        all[2 + 2 * i] = layers[i].weights;
    }
    RGM_TRY(rgm_cgraph_weigh(all, all, 1 + 2 * count, NULL, 0));
    for (int64_t i = 0; i < count; i++) {
        layers[i].heard = all[1 + 2 * i];
        layers[i].weights = all[2 + 2 * i];
    }
    return RGM_OK;
}

/* Those of the noted layers that the prediction is made of, which is given as it is run. */
static rgm_status find_attention(rgm_value **prediction, rgm_explainer *explainer,
                                 const rgm_graph_value *graph)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_edge_attention_of(NULL, 0, graph);
    rgm_value **all = NULL;
    bool *made_of = NULL;

    RGM_GO(RGM_NEW(explainer->attention, count));
    RGM_GO(RGM_NEW(all, 1 + 2 * count));
    rgm_edge_attention_of(explainer->attention, count, graph);
    RGM_GO(without_training(all, explainer->attention, count, *prediction));
    *prediction = all[0];
    RGM_GO(rgmi_explain_made_of(&made_of, *prediction));
    for (int64_t i = 0; i < count; i++) {
        const rgm_edge_attention *one = &explainer->attention[i];
        int64_t number = rgm_value_number(one->heard);

        if (number <= rgm_value_number(*prediction) && made_of[number])
            explainer->attention[explainer->attention_count++] = *one;
    }
    if (explainer->attention_count == 0)
        RGM_GO(no_attention());
done:
    rgm_free(all);
    rgm_free(made_of);
    return status;
}

rgm_status rgmi_explainer_build_attention(rgm_explainer *explainer, const rgm_graph_value *graph,
                                          const rgm_head *head)
{
    rgm_status status = RGM_OK;
    rgm_value **wrt = NULL, **weights = NULL, *prediction = head->predictions;
    int64_t count;

    RGM_TRY(find_attention(&prediction, explainer, graph));
    count = explainer->attention_count;
    RGM_GO(RGM_NEW(wrt, count));
    RGM_GO(RGM_NEW(weights, count));
    for (int64_t i = 0; i < count; i++) {
        wrt[i] = explainer->attention[i].heard;
        weights[i] = explainer->attention[i].weights;
    }
    status = rgmi_explainer_build(explainer, head, prediction, wrt, count, weights, count);
done:
    rgm_free(wrt);
    rgm_free(weights);
    return status;
}

/* ---- what is given --------------------------------------------------------------------------- */

static int64_t edges_of(const rgm_explainer *explainer, const char *edge_set)
{
    return rgm_tensor_count(rgm_graph_source(explainer->out->graph, edge_set));
}

static rgm_status give_weights(rgm_explainer *explainer)
{
    rgm_explanation *out = explainer->out;
    int64_t count = explainer->attention_count;

    RGM_TRY(RGM_NEW(out->attention, count));
    for (int64_t i = 0; i < count; i++) {
        const rgm_edge_attention *from = &explainer->attention[i];
        rgm_explained_attention *to = &out->attention[i];
        const rgm_tensor *weights = explainer->fetched[2 + count + i];

        *to = (rgm_explained_attention){.layer = from->layer,
                                        .edge_set = from->edge_set,
                                        .receiver = from->receiver,
                                        .self_loops = from->self_loops};
        RGM_TRY(rgm_tensor_create(&to->weights, RGM_F32, 2, rgm_tensor_shape(weights)));
        out->attention_count = i + 1;
        for (int64_t k = 0; k < rgm_tensor_count(weights); k++)
            rgm_tensor_f32(to->weights)[k] = (float)rgm_tensor_at(weights, k);
    }
    return RGM_OK;
}

/* Whether the prediction depends on what the edge's receiver hears in a layer. */
static bool depends(const rgm_explainer *explainer, int64_t layer, int64_t edge)
{
    const rgm_edge_attention *a = &explainer->attention[layer];
    const rgm_graph *graph = explainer->out->graph;
    const rgm_tensor *ends = a->receiver == RGM_TARGET ? rgm_graph_target(graph, a->edge_set)
                                                       : rgm_graph_source(graph, a->edge_set);
    const rgm_tensor *gradient = explainer->fetched[2 + layer];
    int64_t receivers = rgm_tensor_dim(gradient, 0);
    int64_t width = receivers > 0 ? rgm_tensor_count(gradient) / receivers : 0;
    int64_t begin = rgm_tensor_at_int(ends, edge) * width;

    for (int64_t i = begin; i < begin + width; i++)
        if (rgm_tensor_at(gradient, i) != 0)
            return true;
    return false;
}

/* Of an edge over the heads of a layer. */
static double mean_weight(const rgm_explainer *explainer, int64_t layer, int64_t edge)
{
    const rgm_tensor *weights = explainer->out->attention[layer].weights;
    int64_t heads = rgm_tensor_dim(weights, 1);
    double sum = 0;

    for (int64_t h = 0; h < heads; h++)
        sum += rgm_tensor_at(weights, edge * heads + h);
    return sum / (double)heads;
}

static void score_edges(rgm_tensor *scores, const rgm_explainer *explainer, const char *edge_set)
{
    for (int64_t e = 0; e < rgm_tensor_count(scores); e++) {
        double sum = 0;
        int64_t layers = 0;

        for (int64_t i = 0; i < explainer->attention_count; i++) {
            if (strcmp(explainer->attention[i].edge_set, edge_set) != 0 ||
                !depends(explainer, i, e))
                continue;
            sum += mean_weight(explainer, i, e);
            layers++;
        }
        rgm_tensor_f32(scores)[e] = layers > 0 ? (float)(sum / (double)layers) : 0;
    }
}

/* Scores of an edge set unless it has them. */
static rgm_status give_scores(rgm_explainer *explainer, const char *edge_set)
{
    rgm_explanation *out = explainer->out;
    rgm_explained_input *input = &out->inputs[out->input_count];
    int64_t edges = edges_of(explainer, edge_set);

    for (int64_t i = 0; i < out->input_count; i++)
        if (strcmp(out->inputs[i].set, edge_set) == 0)
            return RGM_OK;
    *input = (rgm_explained_input){.piece = RGM_EDGE_SET, .set = edge_set};
    RGM_TRY(rgm_tensor_create(&input->scores, RGM_F32, 1, &edges));
    out->input_count++;
    score_edges(input->scores, explainer, edge_set);
    return RGM_OK;
}

static double as_it_is(const rgmi_explained *input, int64_t i, const void *payload)
{
    (void)payload;
    return rgmi_explained_value(input, i);
}

rgm_status rgmi_explain_attention(rgm_explainer *explainer)
{
    rgm_explanation *out = explainer->out;

    RGM_TRY(rgmi_explainer_run(explainer, as_it_is, NULL));
    out->output = rgmi_explainer_output(explainer);
    RGM_TRY(give_weights(explainer));
    RGM_TRY(RGM_NEW(out->inputs, explainer->attention_count));
    for (int64_t i = 0; i < explainer->attention_count; i++)
        RGM_TRY(give_scores(explainer, explainer->attention[i].edge_set));
    return RGM_OK;
}
