/*
 * Explainers: the model's output again with a weight at each edge and entry, what is fed and what
 * is given of one prediction.
 */
#include <math.h>

#include <regimen/graph_tasks.h>

#include "explain_internal.h"

const char *const rgm_explain_method_names[] = {"integrated_gradients", "gradient", "mask",
                                                "attention", NULL};

enum { MOST_INPUTS = 128, OWN_FEEDS = 3 };

/* ---- what is explained ----------------------------------------------------------------------- */

static bool is_real(const rgm_value *value)
{
    return rgm_value_dtype(value) == RGM_F32 || rgm_value_dtype(value) == RGM_F64;
}

/* A weight of each entry, fed beside the pattern. */
static rgm_status make_weight(rgm_value **out, rgm_value *pattern, int64_t number)
{
    rgm_cgraph *graph = rgm_value_graph(pattern);
    rgm_dim count = rgm_value_shape(pattern)[2];
    char *name;

    RGM_TRY(rgm_strprintf(&name, "explain/%lld", (long long)number));
    *out = rgm_input(graph, name, RGM_F32, 1, &count);
    rgm_free(name);
    return rgm_cgraph_status(graph);
}

static rgm_status leave_out(rgm_explainer *explainer, const rgm_graph_input *input)
{
    return rgm_text_printf(
        &explainer->left_out, "%s%s%s%s", explainer->left_out.size > 0 ? ", " : "",
        input->set != NULL ? input->set : "", input->set != NULL ? "." : "", input->feature);
}

static rgm_status add_input(rgm_explainer *explainer, const rgm_graph_input *input)
{
    rgmi_explained *e = &explainer->inputs[explainer->input_count];
    bool pattern = rgm_value_is_pattern(input->value);

    if (!(input->feature == NULL ? explainer->options.edges : explainer->options.features))
        return RGM_OK;
    if (!pattern && !is_real(input->value))
        return leave_out(explainer, input);
    *e = (rgmi_explained){.of = *input, .fed = input->value};
    if (pattern)
        RGM_TRY(make_weight(&e->fed, input->value, explainer->input_count));
    explainer->input_count++;
    return RGM_OK;
}

static rgm_status add_inputs(rgm_explainer *explainer, const rgm_graph_input *found, int64_t count,
                             rgm_value *prediction)
{
    rgm_status status = RGM_OK;
    bool *made_of = NULL;

    RGM_GO(rgmi_explain_made_of(&made_of, prediction));
    RGM_GO(RGM_NEW(explainer->inputs, count));
    for (int64_t i = 0; i < count; i++) {
        int64_t number = rgm_value_number(found[i].value);

        if (number <= rgm_value_number(prediction) && made_of[number])
            RGM_GO(add_input(explainer, &found[i]));
    }
done:
    rgm_free(made_of);
    return status;
}

static rgm_status find_inputs(rgm_explainer *explainer, const rgm_graph_value *graph,
                              rgm_value *prediction)
{
    rgm_graph_input found[MOST_INPUTS];
    int64_t count = rgm_graph_value_inputs(found, MOST_INPUTS, graph);

    if (count > MOST_INPUTS)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "a model with %lld inputs, at most %d are explained",
                        (long long)count, MOST_INPUTS);
    RGM_TRY(add_inputs(explainer, found, count, prediction));
    if (explainer->input_count == 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "nothing of what the model reads can be explained%s%s: integers stand in "
                        "no gradient; read as categories (model.input.one_hot) they do",
                        explainer->left_out.size > 0 ? ", but " : "",
                        explainer->left_out.size > 0 ? explainer->left_out.data : "");
    return RGM_OK;
}

/* ---- what is differentiated ------------------------------------------------------------------ */

/* The prediction with a weight at each entry that is explained, [n, units]. */
static rgm_status weigh(rgm_value **out, const rgm_explainer *explainer, const rgm_head *head)
{
    rgm_entry_weight weights[MOST_INPUTS];
    int64_t count = 0;

    for (int64_t i = 0; i < explainer->input_count; i++) {
        const rgmi_explained *e = &explainer->inputs[i];

        if (e->fed != e->of.value)
            weights[count++] = (rgm_entry_weight){e->of.value, e->fed};
    }
    return rgm_cgraph_weigh(out, &head->predictions, 1, weights, count);
}

static rgm_status build(rgm_explainer *explainer, const rgm_graph_value *graph,
                        const rgm_head *head)
{
    rgm_value *wrt[MOST_INPUTS], *weighed;

    RGM_TRY(find_inputs(explainer, graph, head->predictions));
    RGM_TRY(weigh(&weighed, explainer, head));
    for (int64_t i = 0; i < explainer->input_count; i++)
        wrt[i] = explainer->inputs[i].fed;
    return rgmi_explainer_build(explainer, head, weighed, wrt, explainer->input_count, NULL, 0);
}

static rgm_status check_options(const rgm_explain_options *o, const rgm_task_model *model)
{
    const rgm_value *prediction;
    const double numbers[] = {o->learning_rate, o->edge_size, o->edge_entropy, o->feature_size,
                              o->feature_entropy};

    if (o->head < 0 || o->head >= model->head_count)
        return RGM_FAIL(RGM_ERR_ARG, "head %lld of %lld", (long long)o->head,
                        (long long)model->head_count);
    prediction = model->heads[o->head].predictions;
    if (prediction == NULL || rgm_value_rank(prediction) != 2)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "output '%s' has no row of numbers for each item",
                        model->heads[o->head].name);
    if ((unsigned)o->method > RGM_EXPLAIN_ATTENTION)
        return RGM_FAIL(RGM_ERR_ARG, "there is no method %d", (int)o->method);
    if (!o->edges && (!o->features || o->method == RGM_EXPLAIN_ATTENTION))
        return RGM_FAIL(RGM_ERR_ARG, "neither edges nor features are to be explained%s",
                        o->features ? ": attention is of edges" : "");
    if (o->steps < 0 || o->steps > 1000000)
        return RGM_FAIL(RGM_ERR_ARG, "%lld steps, 1 to 1000000 can be made", (long long)o->steps);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i] >= 0 && isfinite(numbers[i])))
            return RGM_FAIL(RGM_ERR_ARG, "a rate or weight of masks is %g", numbers[i]);
    return RGM_OK;
}

rgm_status rgm_explainer_create(rgm_explainer **out, const rgm_open_run *run,
                                const rgm_explain_options *options)
{
    rgm_status status = RGM_OK;
    const rgm_graph_value *graph = rgm_graph_run_input(run);
    const rgm_task_model *model = rgm_run_model(run);
    rgm_explainer *explainer = NULL;

    *out = NULL;
    if (graph == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the run learns no graphs");
    RGM_TRY(check_options(options, model));
    RGM_TRY(RGM_NEW(explainer, 1));
    explainer->run = run;
    explainer->options = *options;
    if (explainer->options.steps == 0)
        explainer->options.steps = options->method == RGM_EXPLAIN_MASK ? 200 : 64;
    if (options->method == RGM_EXPLAIN_ATTENTION)
        RGM_GO(rgmi_explainer_build_attention(explainer, graph, &model->heads[options->head]));
    else
        RGM_GO(build(explainer, graph, &model->heads[options->head]));
    *out = explainer;
    explainer = NULL;
done:
    rgm_explainer_release(explainer);
    return status;
}

void rgm_explainer_release(rgm_explainer *explainer)
{
    if (explainer == NULL)
        return;
    rgm_executor_release(explainer->executor);
    for (int64_t i = 0; i < explainer->input_count; i++)
        rgm_free(explainer->inputs[i].sum);
    rgm_free(explainer->inputs);
    rgm_free(explainer->attention);
    rgm_free(explainer->feeds);
    rgm_free(explainer->fetched);
    rgm_text_clear(&explainer->left_out);
    rgm_free(explainer);
}

const char *rgm_explainer_left_out(const rgm_explainer *explainer)
{
    return explainer->left_out.size > 0 ? explainer->left_out.data : "";
}

/* ---- one prediction -------------------------------------------------------------------------- */

static const rgm_feed *feed_of(const rgm_prediction *prediction, const rgm_value *input)
{
    for (int64_t i = 0; i < prediction->feed_count; i++)
        if (prediction->feeds[i].input == input)
            return &prediction->feeds[i];
    return NULL;
}

static rgm_status fill_input(rgmi_explained *e, const rgm_prediction *prediction)
{
    const rgm_feed *feed = feed_of(prediction, e->of.value);

    if (feed == NULL || (feed->tensor == NULL && feed->pattern == NULL))
        return RGM_FAIL(RGM_ERR_ARG, "the prediction is of another run: nothing was fed for '%s'",
                        e->of.set != NULL ? e->of.set : "context");
    e->values = feed->tensor;
    e->pattern = feed->pattern;
    if (feed->pattern != NULL) {
        const rgm_csr *rows = rgm_pattern_by_row(feed->pattern);

        e->count = rows->count;
        e->columns = rows->columns;
    } else {
        int64_t items = rgm_tensor_dim(feed->tensor, 0);

        e->count = rgm_tensor_count(feed->tensor);
        e->columns = items > 0 ? e->count / items : 0;
    }
    if (e->of.feature == NULL)
        e->columns = 0;
    rgm_free(e->sum);
    e->sum = NULL;
    return RGM_NEW(e->sum, e->count > e->columns ? e->count : e->columns);
}

/* What the prediction was fed, less what is changed; then what is changed; then item and choice. */
static rgm_status fill_feeds(rgm_explainer *explainer, const rgm_prediction *prediction)
{
    int64_t count = 0;

    rgm_free(explainer->feeds);
    explainer->feeds = NULL;
    RGM_TRY(RGM_NEW(explainer->feeds, prediction->feed_count + explainer->input_count + OWN_FEEDS));
    for (int64_t i = 0; i < prediction->feed_count; i++) {
        bool taken = false;

        for (int64_t k = 0; k < explainer->input_count; k++)
            taken = taken || explainer->inputs[k].fed == prediction->feeds[i].input;
        if (!taken)
            explainer->feeds[count++] = prediction->feeds[i];
    }
    explainer->first = count;
    for (int64_t k = 0; k < explainer->input_count; k++) {
        RGM_TRY(fill_input(&explainer->inputs[k], prediction));
        explainer->feeds[count++] = (rgm_feed){.input = explainer->inputs[k].fed};
    }
    explainer->feed_count = count;
    return RGM_OK;
}

static int64_t greatest(const rgm_tensor *values, int64_t item, int64_t units)
{
    int64_t best = 0;

    for (int64_t u = 1; u < units; u++)
        if (rgm_tensor_at(values, item * units + u) > rgm_tensor_at(values, item * units + best))
            best = u;
    return best;
}

/* See what a mask keeps, in explain_run.c. */
static double choice_of(const rgm_explainer *explainer, double predicted)
{
    const rgm_head *head = &rgm_run_model(explainer->run)->heads[explainer->options.head];

    if (explainer->options.method != RGM_EXPLAIN_MASK || head->is_number ||
        rgmi_is_one_of_many(head))
        return 1;
    return predicted >= 0 ? 1 : -1;
}

/* Which prediction, which number of it, and what it is: own[OWN_FEEDS], to be released. */
static rgm_status feed_choice(rgm_tensor **own, rgm_explainer *explainer, const rgm_tensor *values,
                              int64_t item)
{
    rgm_value *const inputs[OWN_FEEDS] = {explainer->item, explainer->choice, explainer->kept};
    int64_t units = rgm_tensor_dim(values, 1), target = explainer->out->target;

    RGM_TRY(rgm_tensor_create(&own[0], RGM_I64, 1, (int64_t[]){1}));
    for (int i = 1; i < OWN_FEEDS; i++)
        RGM_TRY(rgm_tensor_create(&own[i], rgm_value_dtype(inputs[i]), 2, (int64_t[]){1, units}));
    rgm_tensor_i64(own[0])[0] = item;
    rgmi_explain_set(own[1], target,
                     choice_of(explainer, rgm_tensor_at(values, item * units + target)));
    for (int64_t u = 0; u < units; u++)
        rgmi_explain_set(own[2], u, rgm_tensor_at(values, item * units + u));
    for (int i = 0; i < OWN_FEEDS; i++)
        explainer->feeds[explainer->feed_count++] =
            (rgm_feed){.input = inputs[i], .tensor = own[i]};
    return RGM_OK;
}

/* The sums as tensors; those of a mask are of columns. */
static rgm_status give_scores(const rgm_explainer *explainer)
{
    rgm_explanation *out = explainer->out;

    RGM_TRY(RGM_NEW(out->inputs, explainer->input_count));
    for (int64_t k = 0; k < explainer->input_count; k++) {
        const rgmi_explained *e = &explainer->inputs[k];
        rgm_explained_input *input = &out->inputs[k];
        bool by_column = explainer->options.method == RGM_EXPLAIN_MASK && e->columns > 0;

        *input = (rgm_explained_input){.piece = e->of.piece,
                                       .set = e->of.set,
                                       .feature = e->of.feature,
                                       .by_column = by_column,
                                       .pattern = rgm_pattern_retain(e->pattern)};
        out->input_count = k + 1;
        if (by_column || e->values == NULL)
            RGM_TRY(
                rgm_tensor_create(&input->scores, RGM_F32, 1, by_column ? &e->columns : &e->count));
        else
            RGM_TRY(rgm_tensor_create(&input->scores, RGM_F32, rgm_tensor_rank(e->values),
                                      rgm_tensor_shape(e->values)));
        for (int64_t i = 0; i < rgm_tensor_count(input->scores); i++)
            rgm_tensor_f32(input->scores)[i] = (float)e->sum[i];
    }
    return RGM_OK;
}

static rgm_status explain(rgm_explainer *explainer, const rgm_prediction *prediction, int64_t item)
{
    rgm_status status = RGM_OK;
    rgm_tensor *own[OWN_FEEDS] = {NULL};

    RGM_GO(fill_feeds(explainer, prediction));
    RGM_GO(feed_choice(own, explainer, prediction->values, item));
    if (explainer->options.method == RGM_EXPLAIN_ATTENTION) {
        RGM_GO(rgmi_explain_attention(explainer));
    } else {
        RGM_GO(explainer->options.method == RGM_EXPLAIN_MASK ? rgmi_explain_mask(explainer)
                                                             : rgmi_explain_gradients(explainer));
        RGM_GO(give_scores(explainer));
    }
done:
    for (int i = 0; i < OWN_FEEDS; i++)
        rgm_tensor_release(own[i]);
    return status;
}

rgm_status rgm_explain(rgm_explanation *out, rgm_explainer *explainer,
                       const rgm_prediction *prediction, int64_t item, int64_t target)
{
    rgm_status status;
    int64_t units;

    *out = (rgm_explanation){.nothing = NAN, .left = NAN};
    if (rgm_tensor_rank(prediction->values) != 2)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the prediction has no row of numbers for each item");
    units = rgm_tensor_dim(prediction->values, 1);
    if (item < 0 || item >= rgm_tensor_dim(prediction->values, 0))
        return RGM_FAIL(RGM_ERR_ARG, "item %lld of %lld", (long long)item,
                        (long long)rgm_tensor_dim(prediction->values, 0));
    if (target < -1 || target >= units)
        return RGM_FAIL(RGM_ERR_ARG, "number %lld of an output of %lld", (long long)target,
                        (long long)units);
    out->target = target >= 0 ? target : greatest(prediction->values, item, units);
    out->graph = rgm_graph_retain(rgm_element_pointer(prediction->batch, &rgm_graph_element));
    explainer->out = out;
    status = explain(explainer, prediction, item);
    explainer->out = NULL;
    if (status < 0)
        rgm_explanation_clear(out);
    return status;
}

void rgm_explanation_clear(rgm_explanation *explanation)
{
    for (int64_t i = 0; i < explanation->input_count; i++) {
        rgm_tensor_release(explanation->inputs[i].scores);
        rgm_pattern_release(explanation->inputs[i].pattern);
    }
    for (int64_t i = 0; i < explanation->attention_count; i++)
        rgm_tensor_release(explanation->attention[i].weights);
    rgm_free(explanation->inputs);
    rgm_free(explanation->attention);
    rgm_graph_release(explanation->graph);
    *explanation = (rgm_explanation){.nothing = NAN, .left = NAN};
}
