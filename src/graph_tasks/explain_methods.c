/*
 * How a prediction is explained: gradients along a path from nothing, and masks that are trained.
 */
#include <math.h>

#include "explain_internal.h"

/* ---- gradients ------------------------------------------------------------------------------- */

/* The share that is there, of every input. */
static double share_of(const rgmi_explained *input, int64_t i, const void *payload)
{
    return *(const double *)payload * rgmi_explained_value(input, i);
}

static void gather_gradients(rgm_explainer *explainer, double weight)
{
    for (int64_t k = 0; k < explainer->input_count; k++) {
        rgmi_explained *e = &explainer->inputs[k];

        for (int64_t i = 0; i < e->count; i++)
            e->sum[i] +=
                weight * rgmi_explained_value(e, i) * rgmi_explained_gradient(explainer, k, i);
    }
}

static double sum_of_scores(const rgm_explainer *explainer)
{
    double sum = 0;

    for (int64_t k = 0; k < explainer->input_count; k++)
        for (int64_t i = 0; i < explainer->inputs[k].count; i++)
            sum += explainer->inputs[k].sum[i];
    return sum;
}

rgm_status rgmi_explain_gradients(rgm_explainer *explainer)
{
    rgm_explanation *out = explainer->out;
    int64_t steps = explainer->options.steps;
    double share = 1;

    RGM_TRY(rgmi_explainer_run(explainer, share_of, &share));
    out->output = rgmi_explainer_output(explainer);
    if (explainer->options.method == RGM_EXPLAIN_GRADIENT) {
        gather_gradients(explainer, 1);
        return RGM_OK;
    }
    share = 0;
    RGM_TRY(rgmi_explainer_run(explainer, share_of, &share));
    out->nothing = rgmi_explainer_output(explainer);
    for (int64_t s = 0; s < steps; s++) {
        share = ((double)s + 0.5) / (double)steps;
        RGM_TRY(rgmi_explainer_run(explainer, share_of, &share));
        gather_gradients(explainer, 1 / (double)steps);
    }
    out->left = out->output - out->nothing - sum_of_scores(explainer);
    return RGM_OK;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* A number of a mask before its sigmoid, with what Adam keeps of it. */
typedef struct masked {
    double logit, first, second, gradient;
    bool reached; /* the prediction depends on it */
} masked;

typedef struct masks {
    const rgm_explainer *explainer;
    masked **of; /* by input: [edges] or [columns] */
    bool plain;  /* all masks are 1 */
} masks;

static int64_t mask_count(const rgmi_explained *input)
{
    return input->columns > 0 ? input->columns : input->count;
}

/* Which number of the mask number i of the input has. */
static int64_t mask_at(const rgmi_explained *input, int64_t i)
{
    if (input->columns == 0)
        return i;
    return input->pattern != NULL ? rgm_pattern_column_of(input->pattern)[i] : i % input->columns;
}

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double masked_value(const rgmi_explained *input, int64_t i, const void *payload)
{
    const masks *m = payload;
    const masked *mask = m->of[input - m->explainer->inputs];

    return rgmi_explained_value(input, i) * (m->plain ? 1 : sigmoid(mask[mask_at(input, i)].logit));
}

/* Of the masks, not of their logits. */
static void take_gradients(const masks *m)
{
    for (int64_t k = 0; k < m->explainer->input_count; k++) {
        const rgmi_explained *e = &m->explainer->inputs[k];

        for (int64_t i = 0; i < mask_count(e); i++)
            m->of[k][i].gradient = 0;
        for (int64_t i = 0; i < e->count; i++)
            m->of[k][mask_at(e, i)].gradient +=
                rgmi_explained_gradient(m->explainer, k, i) * rgmi_explained_value(e, i);
    }
}

static int64_t reached_count(const masks *m, bool edges)
{
    int64_t count = 0;

    for (int64_t k = 0; k < m->explainer->input_count; k++)
        for (int64_t i = 0; i < mask_count(&m->explainer->inputs[k]); i++)
            count += (m->explainer->inputs[k].columns == 0) == edges && m->of[k][i].reached;
    return count;
}

/* Adam on -log p + size sum(mask) + entropy mean(entropy), of features with the mean of both. */
static void update(masked *mask, const rgm_explain_options *o, bool edge, double count,
                   int64_t step)
{
    const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double p = sigmoid(mask->logit), slope = p * (1 - p), gradient;
    double size = edge ? o->edge_size : o->feature_size / count;
    double entropy = (edge ? o->edge_entropy : o->feature_entropy) / count;

    gradient = (-mask->gradient + size - entropy * mask->logit) * slope;
    mask->first = beta1 * mask->first + (1 - beta1) * gradient;
    mask->second = beta2 * mask->second + (1 - beta2) * gradient * gradient;
    mask->logit -= o->learning_rate * mask->first / (1 - pow(beta1, (double)step)) /
                   (sqrt(mask->second / (1 - pow(beta2, (double)step))) + epsilon);
}

static rgm_status make_masks(masks *m)
{
    const rgm_explainer *explainer = m->explainer;
    rgm_rng rng = rgm_rng_stream(explainer->options.seed, "explain", 0);
    uint64_t draws = 0;

    RGM_TRY(RGM_NEW(m->of, explainer->input_count));
    for (int64_t k = 0; k < explainer->input_count; k++) {
        int64_t count = mask_count(&explainer->inputs[k]);

        RGM_TRY(RGM_NEW(m->of[k], count));
        for (int64_t i = 0; i < count; i++)
            m->of[k][i].logit = 0.1 * rgm_rng_normal(&rng, draws++);
    }
    return RGM_OK;
}

static void clear_masks(masks *m)
{
    for (int64_t k = 0; m->of != NULL && k < m->explainer->input_count; k++)
        rgm_free(m->of[k]);
    rgm_free(m->of);
}

/* What no prediction comes from by the gradient of the first masks is none of it. */
static void find_reached(const masks *m)
{
    for (int64_t k = 0; k < m->explainer->input_count; k++)
        for (int64_t i = 0; i < mask_count(&m->explainer->inputs[k]); i++)
            m->of[k][i].reached = m->of[k][i].gradient != 0;
}

static rgm_status train_masks(const masks *m, rgm_explainer *explainer)
{
    const rgm_explain_options *o = &explainer->options;
    double edges = 0, features = 0;

    for (int64_t step = 1; step <= o->steps; step++) {
        RGM_TRY(rgmi_explainer_run(explainer, masked_value, m));
        take_gradients(m);
        if (step == 1) {
            find_reached(m);
            edges = (double)reached_count(m, true);
            features = (double)reached_count(m, false);
        }
        for (int64_t k = 0; k < explainer->input_count; k++) {
            bool edge = explainer->inputs[k].columns == 0;

            for (int64_t i = 0; i < mask_count(&explainer->inputs[k]); i++)
                if (m->of[k][i].reached)
                    update(&m->of[k][i], o, edge, edge ? edges : features, step);
        }
    }
    return RGM_OK;
}

rgm_status rgmi_explain_mask(rgm_explainer *explainer)
{
    rgm_status status = RGM_OK;
    masks m = {.explainer = explainer, .plain = true};

    RGM_GO(make_masks(&m));
    RGM_GO(rgmi_explainer_run(explainer, masked_value, &m));
    explainer->out->output = rgmi_explainer_output(explainer);
    m.plain = false;
    RGM_GO(train_masks(&m, explainer));
    RGM_GO(rgmi_explainer_run(explainer, masked_value, &m));
    explainer->out->left = rgmi_explainer_output(explainer);
    for (int64_t k = 0; k < explainer->input_count; k++)
        for (int64_t i = 0; i < mask_count(&explainer->inputs[k]); i++)
            explainer->inputs[k].sum[i] = m.of[k][i].reached ? sigmoid(m.of[k][i].logit) : 0;
done:
    clear_masks(&m);
    return status;
}
