/*
 * Link prediction: scores of each head and losses by hand, in complex arithmetic where that is what
 * they are, gradients, what is refused.
 */
#include "gnn_check.h"

#include <regimen/graph_tasks.h>

#include <complex.h>

/* Pairs of papers: two links with two negatives each, in their groups. */
enum { PAIRS = 6, WIDTH = 4, RELATIONS = 3 };
static const int64_t pair_source[PAIRS] = {0, 0, 3, 2, 1, 2};
static const int64_t pair_target[PAIRS] = {1, 4, 1, 4, 4, 0};
static const int64_t pair_label[PAIRS] = {1, 0, 0, 1, 0, 0};
static const int64_t pair_relation[PAIRS] = {0, 0, 0, 2, 2, 2};
static const int64_t pair_positive[PAIRS] = {0, 0, 0, 3, 3, 3};

static rgm_tensor *integers(const int64_t *numbers, int64_t count)
{
    rgm_tensor *t = NULL;

    CHECK_OK(rgm_tensor_create_from(&t, RGM_I64, 1, &count, numbers));
    return t;
}

typedef struct pair_tensors {
    rgm_tensor *tensors[5];
    rgm_graph_pairs pairs;
} pair_tensors;

static void pairs_open(pair_tensors *p, const char *readout_set)
{
    const int64_t *const numbers[5] = {pair_source, pair_target, pair_label, pair_relation,
                                       pair_positive};

    for (int i = 0; i < 5; i++)
        p->tensors[i] = integers(numbers[i], PAIRS);
    p->pairs = (rgm_graph_pairs){.readout_set = readout_set,
                                 .source_set = "paper",
                                 .target_set = "paper",
                                 .source = p->tensors[0],
                                 .target = p->tensors[1],
                                 .label = "label",
                                 .labels = p->tensors[2],
                                 .relation = "relation",
                                 .relations = p->tensors[3],
                                 .relation_count = RELATIONS,
                                 .positive = p->tensors[4]};
}

static void pairs_close(pair_tensors *p)
{
    for (int i = 0; i < 5; i++)
        rgm_tensor_release(p->tensors[i]);
}

/* The world's graph asked about those pairs, and a new compute graph on it. */
static void ask_between(world *w, const char *readout_set, const char *target_set,
                        const int64_t *target)
{
    pair_tensors p;
    rgm_graph *asked = NULL;

    pairs_open(&p, readout_set);
    if (target_set != NULL) {
        rgm_tensor_release(p.tensors[1]);
        p.pairs.target = p.tensors[1] = integers(target, PAIRS);
        p.pairs.target_set = target_set;
    }
    CHECK_OK(rgm_graph_with_pairs(&asked, w->data, &p.pairs));
    pairs_close(&p);
    rgm_graph_release(w->data);
    w->data = asked;
    rgm_schema_release(w->schema);
    w->schema = rgm_schema_retain((rgm_schema *)rgm_graph_schema(asked));
    rgm_graph_value_release(w->value);
    CHECK_OK(rgm_graph_value_create(&w->value, w->graph, w->schema));
}

static void ask(world *w, const char *readout_set)
{
    ask_between(w, readout_set, NULL, NULL);
}

/* A head over states of WIDTH numbers: a dense layer on x of papers. */
static rgm_head outputs_of(world *w, const rgm_link_prediction_options *o, int64_t width)
{
    rgm_graph_task *task = rgm_graph_task_create(&rgm_link_prediction, NULL, o);
    rgm_graph_views views;
    rgm_head heads[RGM_MAX_HEADS];
    int64_t count = RGM_MAX_HEADS;

    CHECK_OK(rgm_graph_task_views(&views, task, w->value));
    views.graphs[0] = rgm_with_state(
        views.graphs[0], "paper",
        rgm_dense(w->scope, "state", rgm_node_feature(w->value, "paper", "x"), width));
    CHECK_OK(rgm_graph_task_outputs(heads, &count, task, w->scope, &views, NULL));
    CHECK_INT(1, count);
    CHECK_TEXT("linkpred", heads[0].name);
    rgm_graph_task_release(task);
    return heads[0];
}

static void states_by_hand(world *w, double *states)
{
    double x[PAPER_COUNT * 3];

    paper_x(x);
    plain_dense(states, x, PAPER_COUNT, 3, parameter(w, "state/kernel"), parameter(w, "state/bias"),
                WIDTH);
}

static double complex number_at(const double *row, int i)
{
    return row[i] + row[WIDTH / 2 + i] * I;
}

static double transe_by_hand(const double *s, const double *r, const double *t, int64_t norm)
{
    double sum = 0;

    for (int k = 0; k < WIDTH; k++)
        sum += norm == 1 ? fabs(s[k] + r[k] - t[k]) : pow(s[k] + r[k] - t[k], 2);
    return norm == 1 ? sum : sqrt(sum);
}

static double mlp_by_hand(world *w, const double *s, const double *t, int64_t hidden)
{
    double row[2 * WIDTH], *units = NULL, score = parameter(w, "linkpred/output/bias")[0];

    CHECK_OK(RGM_NEW(units, hidden));
    memcpy(row, s, WIDTH * sizeof *s);
    memcpy(row + WIDTH, t, WIDTH * sizeof *t);
    plain_dense(units, row, 1, 2 * WIDTH, parameter(w, "linkpred/hidden/kernel"),
                parameter(w, "linkpred/hidden/bias"), hidden);
    for (int64_t u = 0; u < hidden; u++)
        score += fmax(units[u], 0) * parameter(w, "linkpred/output/kernel")[u];
    rgm_free(units);
    return score;
}

static double score_by_hand(world *w, const rgm_link_prediction_options *o, const double *s,
                            const double *t, int64_t relation)
{
    const double *r = o->head >= RGM_LINK_DISTMULT
                          ? parameter(w, "linkpred/relation") +
                                relation * WIDTH * (o->head == RGM_LINK_BILINEAR ? WIDTH : 1)
                          : NULL;
    double sum = o->head == RGM_LINK_HADAMARD ? parameter(w, "linkpred/bias")[0] : 0;

    if (o->head == RGM_LINK_MLP)
        return mlp_by_hand(w, s, t, o->hidden);
    for (int k = 0; k < WIDTH * WIDTH && o->head == RGM_LINK_BILINEAR; k++)
        sum += s[k / WIDTH] * r[k] * t[k % WIDTH];
    if (o->head == RGM_LINK_TRANSE)
        return o->gamma - transe_by_hand(s, r, t, o->norm);
    for (int k = 0; k < WIDTH / 2; k++) {
        if (o->head == RGM_LINK_COMPLEX)
            sum += creal(number_at(s, k) * number_at(r, k) * conj(number_at(t, k)));
        if (o->head == RGM_LINK_ROTATE) /* the turn is by the phase of the relation's number */
            sum += cabs(number_at(s, k) * cexp(I * carg(number_at(r, k))) - number_at(t, k));
    }
    for (int k = 0; k < WIDTH && o->head < RGM_LINK_COMPLEX; k++)
        sum += s[k] * t[k] *
               (o->head == RGM_LINK_HADAMARD   ? parameter(w, "linkpred/kernel")[k]
                : o->head == RGM_LINK_DISTMULT ? r[k]
                                               : 1);
    return o->head == RGM_LINK_ROTATE ? o->gamma - sum : sum;
}

static void scores_by_hand(world *w, const rgm_link_prediction_options *o, double *scores)
{
    double states[PAPER_COUNT * WIDTH];

    states_by_hand(w, states);
    for (int i = 0; i < PAIRS; i++)
        scores[i] = score_by_hand(w, o, states + WIDTH * pair_source[i],
                                  states + WIDTH * pair_target[i], pair_relation[i]);
}

static rgm_link_prediction_options options_of(rgm_link_head head)
{
    rgm_link_prediction_options o = RGM_LINK_PREDICTION_OPTIONS_INIT;

    o.head = head;
    o.gamma = 3;
    o.hidden = 5;
    return o;
}

static void scores_are_those_of_the_papers(void **state)
{
    (void)state;
    for (int head = RGM_LINK_DOT; head <= RGM_LINK_BILINEAR; head++)
        for (int64_t norm = 1; norm <= 2; norm++) {
            rgm_link_prediction_options o = options_of((rgm_link_head)head);
            double expected[PAIRS];
            rgm_head output;
            world w;

            o.norm = norm;
            world_open(&w, PAPERS);
            ask(&w, NULL);
            output = outputs_of(&w, &o, WIDTH);
            set_parameters(&w);
            scores_by_hand(&w, &o, expected);
            check_values(&w, output.predictions, expected, PAIRS);
            for (int i = 0; i < PAIRS; i++)
                expected[i] = 1 / (1 + exp(-expected[i]));
            check_values(&w, output.probabilities, expected, PAIRS);
            world_close(&w);
        }
}

/* Papers, and authors of two numbers: the sums of what their papers say. */
static void a_matrix_joins_states_of_two_widths(void **state)
{
    static const int64_t target[PAIRS] = {0, 1, 2, 0, 2, 1};
    rgm_link_prediction_options o = options_of(RGM_LINK_BILINEAR);
    double x[PAPER_COUNT * 3], heard[AUTHOR_COUNT * 3] = {0}, to[AUTHOR_COUNT * 2], expected[PAIRS];
    rgm_graph_task *task = rgm_graph_task_create(&rgm_link_prediction, NULL, &o);
    rgm_graph_views views;
    rgm_head heads[1];
    rgm_value *said;
    int64_t count = 1;
    world w;

    (void)state;
    world_open(&w, LIBRARY);
    ask_between(&w, NULL, "author", target);
    CHECK_OK(rgm_graph_task_views(&views, task, w.value));
    said = rgm_node_feature(w.value, "paper", "x");
    views.graphs[0] = rgm_with_state(views.graphs[0], "paper", said);
    said = rgm_broadcast(w.value, RGM_TARGET, RGM_EDGE_SET, "writes", said);
    said = rgm_pool(w.value, RGM_SOURCE, RGM_EDGE_SET, (const char *[]){"writes"}, &said, 1, "sum");
    views.graphs[0] =
        rgm_with_state(views.graphs[0], "author", rgm_dense(w.scope, "author", said, 2));
    CHECK_OK(rgm_graph_task_outputs(heads, &count, task, w.scope, &views, NULL));
    set_parameters(&w);
    paper_x(x);
    for (int i = 0; i < WRITE_COUNT; i++)
        for (int k = 0; k < 3; k++)
            heard[3 * write_source[i] + k] += x[3 * write_target[i] + k];
    plain_dense(to, heard, AUTHOR_COUNT, 3, parameter(&w, "author/kernel"),
                parameter(&w, "author/bias"), 2);
    for (int i = 0; i < PAIRS; i++) {
        const double *r = parameter(&w, "linkpred/relation") + 6 * pair_relation[i];

        expected[i] = 0;
        for (int k = 0; k < 6; k++)
            expected[i] += x[3 * pair_source[i] + k / 2] * r[k] * to[2 * target[i] + k % 2];
    }
    check_values(&w, heads[0].predictions, expected, PAIRS);
    rgm_graph_task_release(task);
    world_close(&w);
}

/* ---- losses -------------------------------------------------------------------------------- */

static double softplus(double x)
{
    return log1p(exp(x));
}

static double group_loss(const double *s, int link, const rgm_link_prediction_options *o)
{
    double sum = 0, all = 0, weights = 0;

    for (int i = link + 1; i < link + 3; i++) {
        double p = exp(o->temperature * s[i]);

        weights += p;
        sum += p * softplus(s[i]);
        all += exp(s[i] - s[link]);
    }
    if (o->loss == RGM_LINK_SOFTMAX)
        return log1p(all);
    if (o->loss == RGM_LINK_SELF_ADVERSARIAL)
        return softplus(-s[link]) + sum / weights;
    return (fmax(0, o->margin - s[link] + s[link + 1]) +
            fmax(0, o->margin - s[link] + s[link + 2])) /
           2;
}

static double loss_by_hand(const double *s, const rgm_link_prediction_options *o)
{
    double sum = 0;

    if (o->loss != RGM_LINK_BINARY_CROSS_ENTROPY)
        return (group_loss(s, 0, o) + group_loss(s, 3, o)) / 2;
    for (int i = 0; i < PAIRS; i++)
        sum += pair_label[i] == 1 ? softplus(-s[i]) : softplus(s[i]);
    return sum / PAIRS;
}

static void losses_are_those_of_their_definitions(void **state)
{
    (void)state;
    for (int loss = RGM_LINK_BINARY_CROSS_ENTROPY; loss <= RGM_LINK_SOFTMAX; loss++) {
        rgm_link_prediction_options o = options_of(RGM_LINK_DISTMULT);
        double scores[PAIRS], expected;
        rgm_head output;
        world w;

        o.loss = (rgm_link_loss)loss;
        o.margin = 0.75;
        o.temperature = 0.5;
        world_open(&w, PAPERS);
        ask(&w, "_readout:pairs");
        o.place.readout_set = "_readout:pairs"; /* which TF-GNN does not read its ends from */
        output = outputs_of(&w, &o, WIDTH);
        set_parameters(&w);
        scores_by_hand(&w, &o, scores);
        expected = loss_by_hand(scores, &o);
        check_values(&w, output.loss, &expected, 1);
        world_close(&w);
    }
}

static void gradients_agree_with_central_differences(void **state)
{
    (void)state;
    for (int head = RGM_LINK_DOT; head <= RGM_LINK_BILINEAR; head++)
        for (int loss = RGM_LINK_BINARY_CROSS_ENTROPY; loss <= RGM_LINK_SOFTMAX; loss++) {
            rgm_link_prediction_options o = options_of((rgm_link_head)head);
            rgm_head output;
            world w;

            o.loss = (rgm_link_loss)loss;
            o.temperature = 0; /* else the softmax is a constant that differences would move */
            o.l2 = 0.01;
            world_open(&w, PAPERS);
            ask(&w, NULL);
            output = outputs_of(&w, &o, WIDTH);
            check_gradients(&w, output.loss, 3);
            world_close(&w);
        }
}

/* ---- what is refused ---------------------------------------------------------------------------
 */

static void refused(const rgm_link_prediction_options *o, const char *message)
{
    rgm_graph_task *task = rgm_graph_task_create(&rgm_link_prediction, NULL, o);
    rgm_graph_views views;
    world w;

    world_open(&w, PAPERS);
    ask(&w, NULL);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_graph_task_views(&views, task, w.value));
    CHECK_MESSAGE(message);
    rgm_graph_task_release(task);
    world_close(&w);
}

static void what_the_data_lack_is_named(void **state)
{
    static const int64_t twice[] = {3, 3};
    rgm_link_prediction_options o = options_of(RGM_LINK_ROTATE);

    (void)state;
    o.relation = "kind";
    refused(&o, "task.relation: '_readout' has no feature 'kind'");
    o.relation = "label";
    refused(&o, "task.relations: say how many there are");
    o.relation = NULL;
    refused(&o, "task.relation: name the feature of '_readout'");
    o = options_of(RGM_LINK_DOT);
    o.hits = (rgm_ints){twice, 2};
    refused(&o, "task.hits: 3 is there twice");
    o = options_of(RGM_LINK_DOT);
    o.place.readout_set = "_readout:other";
    refused(&o, "the schema has no node set '_readout:other' of pairs");
    o = options_of(RGM_LINK_DOT);
    o.place.label = "truth";
    refused(&o, "task.label: no label feature 'truth' on '_readout'");
    o.place.label = "labels";
    refused(&o, "no label feature 'labels' on '_readout'; did you mean 'label'?");
}

/* A loss of -1 times a score has no least value. */
static void a_pair_is_a_link_or_none(void **state)
{
    static const struct {
        int64_t label;
        const char *message;
    } cases[] = {{-1, "_readout: label 'label' of item 2 is -1, but this task needs each: 0..1"},
                 {INT64_MIN, "_readout: label 'label' of item 2 is missing, but this task"},
                 {2, "item 2 is 2, but must be 0..1"}};
    rgm_link_prediction_options o = options_of(RGM_LINK_DOT);
    int64_t *labels;
    world w;

    (void)state;
    world_open(&w, PAPERS);
    ask(&w, NULL);
    labels = rgm_tensor_i64(rgm_graph_feature(w.data, RGM_NODE_SET, RGM_READOUT, "label")->values);
    CHECK_OK(rgm_link_prediction.check_labels(w.data, &o));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        labels[2] = cases[i].label;
        CHECK_STATUS(RGM_ERR_DATA, rgm_link_prediction.check_labels(w.data, &o));
        CHECK_MESSAGE(cases[i].message);
    }
    world_close(&w);
}

static void odd_states_are_no_complex_numbers(void **state)
{
    rgm_link_prediction_options o = options_of(RGM_LINK_COMPLEX);
    rgm_graph_task *task = rgm_graph_task_create(&rgm_link_prediction, NULL, &o);
    rgm_graph_views views;
    rgm_head heads[1];
    int64_t count = 1;
    world w;

    (void)state;
    world_open(&w, PAPERS);
    ask(&w, NULL);
    CHECK_OK(rgm_graph_task_views(&views, task, w.value));
    views.graphs[0] =
        rgm_with_state(views.graphs[0], "paper", rgm_node_feature(w.value, "paper", "x"));
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_graph_task_outputs(heads, &count, task, w.scope, &views, NULL));
    CHECK_MESSAGE("real parts before imaginary ones, but 3 is odd");
    rgm_graph_task_release(task);
    world_close(&w);
}

/* ---- graphs of pairs --------------------------------------------------------------------------
 */

static void pairs_and_edges_replace_and_share(void **state)
{
    static const int64_t kept[] = {6, 2};
    rgm_graph *some = NULL, *again = NULL;
    rgm_tensor *edges = integers(kept, 2);
    pair_tensors p;
    world w;

    (void)state;
    world_open(&w, PAPERS);
    ask(&w, NULL);
    CHECK_OK(rgm_graph_with_edges(&some, w.data, "cites", edges));
    CHECK_INT(2, rgm_graph_total(some, RGM_EDGE_SET, "cites"));
    CHECK_INT(cite_source[6], rgm_tensor_i64(rgm_graph_source(some, "cites"))[0]);
    CHECK_INT(cite_target[2], rgm_tensor_i64(rgm_graph_target(some, "cites"))[1]);
    CHECK_CLOSE(rgm_tensor_f64(rgm_graph_feature(some, RGM_EDGE_SET, "cites", "w")->values)[0],
                0.5 + 0.25 * 6, 0, 0);
    pairs_open(&p, NULL);
    CHECK_OK(rgm_graph_with_pairs(&again, some, &p.pairs));
    CHECK(rgm_graph_schema(again) == rgm_graph_schema(some));
    CHECK_INT(PAIRS, rgm_graph_total(again, RGM_NODE_SET, "_readout"));
    rgm_graph_release(again);
    p.pairs.relation_count = 2;
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_with_pairs(&again, some, &p.pairs));
    CHECK_MESSAGE("number 3 of relations is 2, there are 2");
    p.pairs.target_set = "author";
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_with_pairs(&again, some, &p.pairs));
    rgm_tensor_i64(edges)[1] = CITE_COUNT;
    rgm_graph_release(some);
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_with_edges(&some, w.data, "cites", edges));
    CHECK_MESSAGE("'cites': number 1 of edges is 7, there are 7");
    pairs_close(&p);
    rgm_tensor_release(edges);
    world_close(&w);
}

static rgm_status made(rgm_graph *graph, const rgm_graph_pairs *pairs, const rgm_tensor *edges)
{
    rgm_graph *some = NULL, *asked = NULL;
    rgm_status status = rgm_graph_with_edges(&some, graph, "cites", edges);

    if (status == RGM_OK)
        status = rgm_graph_with_pairs(&asked, some, pairs);
    rgm_graph_release(some);
    rgm_graph_release(asked);
    return status;
}

static void without_memory_nothing_is_left(void **state)
{
    static const int64_t kept[] = {0, 3};
    rgm_tensor *edges = integers(kept, 2);
    pair_tensors p;
    world w;

    (void)state;
    world_open(&w, PAPERS);
    pairs_open(&p, NULL);
    CHECK_EVERY_OOM(made(w.data, &p.pairs, edges), );
    pairs_close(&p);
    rgm_tensor_release(edges);
    world_close(&w);
}

TESTS(cmocka_unit_test(scores_are_those_of_the_papers),
      cmocka_unit_test(a_matrix_joins_states_of_two_widths),
      cmocka_unit_test(losses_are_those_of_their_definitions),
      cmocka_unit_test(gradients_agree_with_central_differences),
      cmocka_unit_test(what_the_data_lack_is_named), cmocka_unit_test(a_pair_is_a_link_or_none),
      cmocka_unit_test(odd_states_are_no_complex_numbers),
      cmocka_unit_test(pairs_and_edges_replace_and_share),
      cmocka_unit_test(without_memory_nothing_is_left))
