/*
 * data.balance: what is trained on is drawn so that each class is as likely as another. An example
 * is a graph, or a node that mini-batches are sampled around; its class is the first task's label.
 */
#include <math.h>

#include "learning.h"

/* Of the training part's examples, in the order of its provider. */
typedef struct classed {
    int64_t *of; /* [count] the class of each, -1: it has none */
    double *weights;
    int64_t *sizes; /* [classes] */
    int64_t count, classes;
} classed;

static const rgm_graph_task_type *type_of(const rgm_task_setup *setup)
{
    return (const rgm_graph_task_type *)setup->parts[0].type;
}

static rgm_status count_labels(rgm_label_counts *counts, const rgm_graph *graph,
                               const rgm_task_setup *setup)
{
    const rgm_graph_task_type *type = type_of(setup);

    *counts = (rgm_label_counts){0};
    if (type->count_labels != NULL)
        RGM_TRY(type->count_labels(counts, graph, setup->parts[0].options));
    if (counts->units > 1 || (counts->known > 0 && counts->of == NULL) ||
        type->count_labels == NULL) {
        rgm_free(counts->of);
        counts->of = NULL;
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.balance: classes, but the labels of task '%s' are not one class of "
                        "an example",
                        type->section.name);
    }
    return RGM_OK;
}

/* ---- nodes that are sampled around --------------------------------------------------------- */

static void take_node_labels(classed *c, const rgm_feature *labels)
{
    for (int64_t i = 0; i < c->count; i++) {
        double label = rgm_tensor_at(labels->values, i);

        c->of[i] = label >= 0 && label < (double)c->classes ? (int64_t)label : -1;
    }
}

/* The training part's labels stand on a readout of its nodes, in their order. */
static rgm_status class_nodes(classed *c, const rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    const char *label = type_of(setup)->label(setup->parts[0].options);
    rgm_status status = RGM_OK;
    rgm_label_counts counts = {0};
    rgm_graph *asked = NULL;
    const rgm_feature *labels;

    RGM_GO(rgmi_asked_graph(&asked, &in->data, in->data.train, label));
    RGM_GO(count_labels(&counts, asked, setup));
    labels = rgm_graph_feature(asked, RGM_NODE_SET, RGM_READOUT, label);
    c->classes = counts.classes;
    if (labels != NULL && counts.known > 0)
        take_node_labels(c, labels);
done:
    rgm_free(counts.of);
    rgm_graph_release(asked);
    return status;
}

/* ---- graphs -------------------------------------------------------------------------------- */

static rgm_status take_graph_label(classed *c, int64_t i, const rgm_graph *graph,
                                   const rgm_task_setup *setup)
{
    rgm_label_counts counts;

    RGM_TRY(count_labels(&counts, graph, setup));
    if (counts.known > 1) {
        rgm_free(counts.of);
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.balance: classes, but training graph %lld has %lld labels; it is "
                        "drawn as a whole, so it has to be of one class",
                        (long long)i, (long long)counts.known);
    }
    c->classes = counts.classes > c->classes ? counts.classes : c->classes;
    for (int64_t k = 0; counts.known == 1 && k < counts.classes; k++)
        if (counts.of[k] > 0)
            c->of[i] = k;
    rgm_free(counts.of);
    return RGM_OK;
}

static rgm_status class_graphs(classed *c, const rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    for (int64_t i = 0; i < c->count; i++)
        RGM_TRY(take_graph_label(c, i, in->data.graphs[rgm_tensor_i64(in->data.train)[i]], setup));
    return RGM_OK;
}

/* ---- draws --------------------------------------------------------------------------------- */

/* Classes that there are. */
static int64_t weigh(classed *c)
{
    int64_t there = 0;

    for (int64_t i = 0; i < c->count; i++)
        if (c->of[i] >= 0)
            c->sizes[c->of[i]]++;
    for (int64_t i = 0; i < c->count; i++)
        c->weights[i] = c->of[i] >= 0 ? 1 / (double)c->sizes[c->of[i]] : 0;
    for (int64_t k = 0; k < c->classes; k++)
        there += c->sizes[k] > 0;
    return there;
}

/* "classes 0 (90 examples), 1 (10), each 0.5 of the draws; 3 without a label never" */
static rgm_status tell(rgm_text *out, const classed *c, int64_t there)
{
    enum { MOST = 20 };
    int64_t told = 0, without = 0;

    for (int64_t k = 0; k < c->classes && told < MOST; k++) {
        if (c->sizes[k] == 0)
            continue;
        RGM_TRY(rgm_text_printf(out, told == 0 ? "classes %lld (%lld examples)" : ", %lld (%lld)",
                                (long long)k, (long long)c->sizes[k]));
        told++;
    }
    if (there > told)
        RGM_TRY(rgm_text_printf(out, " and %lld more", (long long)(there - told)));
    RGM_TRY(rgm_text_printf(out, ", each %.3g of the draws", 1 / (double)there));
    for (int64_t i = 0; i < c->count; i++)
        without += c->of[i] < 0;
    return without > 0 ? rgm_text_printf(out, "; %lld without a label never", (long long)without)
                       : RGM_OK;
}

static rgm_status open_classes(classed *c, const rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    c->count = rgm_tensor_count(in->data.train);
    RGM_TRY(RGM_NEW(c->of, c->count));
    RGM_TRY(RGM_NEW(c->weights, c->count));
    for (int64_t i = 0; i < c->count; i++)
        c->of[i] = -1;
    RGM_TRY(in->data.split_set != NULL ? class_nodes(c, in, setup) : class_graphs(c, in, setup));
    return RGM_NEW(c->sizes, c->classes > 0 ? c->classes : 1);
}

static rgm_status check_data(const rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    const rgmi_data_options *d = setup->data;
    const rgm_graph_task_type *type = type_of(setup);

    if (type == &rgm_link_prediction || in->edge_set != NULL || type->label == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.balance: classes draws graphs or nodes by their class, which the "
                        "items of task '%s' are not",
                        type->section.name);
    if (in->data.split_set != NULL && !rgmi_is_sampled(&d->sampling))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.balance: classes draws examples, but the data are one graph, which "
                        "is trained on as a whole: data.sampling cuts mini-batches out of it, or "
                        "task.class_weights: [balanced] weighs its nodes");
    return RGM_OK;
}

rgm_status rgmi_graph_inputs_balance(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    rgm_status status = RGM_OK;
    classed c = {0};
    int64_t there;

    RGM_GO(check_data(in, setup));
    RGM_GO(open_classes(&c, in, setup));
    there = weigh(&c);
    if (there < 2)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                        "data.balance: classes, but the training part's examples are of %lld",
                        (long long)there));
    RGM_GO(rgm_provider_draw(in->providers[RGM_TRAIN], c.weights, c.count));
    RGM_GO(tell(&in->balance, &c, there));
done:
    if (status != RGM_OK)
        rgm_text_clear(&in->balance);
    rgm_free(c.of);
    rgm_free(c.weights);
    rgm_free(c.sizes);
    return status;
}
