/*
 * Learning without labels: a graph and corrupted views of it go through the GNN, and a loss is made
 * small between the states of items in two views. What a task of these kinds predicts are the
 * states of the graph as it is. A kind joins which views there are with its loss.
 */
#include <stdio.h>

#include "corruption.h"
#include "learning.h"

typedef rgm_graph_contrast_options contrast;

/* ---- options ------------------------------------------------------------------------------- */

static const char *const item_names[] = {"nodes", "first", "readout", NULL};
static const char *const within_names[] = {"batch", "component", NULL};

#define RGM_OPTIONS rgm_vicreg_options
static const rgm_field vicreg_weight_fields[] = {
    RGM_FLOAT_FIELD(similarity, 0, 1e9, "weight of how far the views are apart"),
    RGM_FLOAT_FIELD(variance, 0, 1e9, "weight of columns that vary too little"),
    RGM_FLOAT_FIELD(covariance, 0, 1e9, "weight of columns that vary together"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_corruption
static const rgm_field corruption_fields[] = {
    RGM_FLOAT_FIELD(shuffle_features, 0, 1,
                    "share of a set's nodes that change their features with each other"),
    RGM_CHOICE_FIELD(shuffle_within, within_names,
                     "shuffled among the nodes of a batch, or of each component"),
    RGM_FLOAT_FIELD(drop_features, 0, 0.999999,
                    "share of a feature's numbers that are 0, the others larger for it"),
    RGM_FLOAT_FIELD(drop_columns, 0, 1, "share of a feature's columns that are 0 in all nodes"),
    RGM_FLOAT_FIELD(mask_nodes, 0, 1, "share of the nodes whose features become a trained token"),
    RGM_FLOAT_FIELD(drop_edges, 0, 1, "share of each set's edges that are not there"),
    RGM_TEXTS_FIELD(features, "\"words\" or \"paper.words\": only these features; default: all"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_graph_contrast_options
#define ITEMS                                                                                      \
    RGMI_PLACE_FIELD(node_set, "whose states are learned"),                                        \
        RGMI_PLACE_FIELD(state, "state feature that is read"),                                     \
        RGM_CHOICE_FIELD(items, item_names,                                                        \
                         "every node of the set, each component's first, or those behind a "       \
                         "readout"),                                                               \
        RGMI_PLACE_FIELD(readout_set, "readout node set"), RGMI_KEY_FIELD,                         \
        RGM_INTS_FIELD(projector, 1, 1e6,                                                          \
                       "widths of dense layers between states and loss; default: none"),           \
        RGM_TEXTS_FIELD(metrics,                                                                   \
                        "of the states in validations: rankme, coherence, ...; default: none")
#define CORRUPT RGM_GROUP_FIELD(corrupt, corruption_fields, "what the other view loses")
#define TWICE                                                                                      \
    RGM_GROUP_FIELD(corrupt, corruption_fields, "what the first view loses"),                      \
        RGM_GROUP_FIELD(second, corruption_fields, "what the second view loses")

static const rgm_field infomax_fields[] = {
    ITEMS,
    CORRUPT,
    RGM_BOOL_FIELD(summary_sigmoid, "the summary goes through a sigmoid, as in the paper"),
    {0}};
static const rgm_field barlow_fields[] = {
    ITEMS,
    CORRUPT,
    RGM_FLOAT_FIELD(lambda, 0, 1, "weight of columns that vary together; 0: 1 over their number"),
    RGM_BOOL_FIELD(normalize, "columns less their mean over their standard deviation"),
    {0}};
static const rgm_field vicreg_fields[] = {
    ITEMS,
    CORRUPT,
    RGM_GROUP_FIELD(vicreg, vicreg_weight_fields, "what is made small, each with its weight"),
    {0}};
static const rgm_field triplet_fields[] = {
    ITEMS,
    CORRUPT,
    RGM_FLOAT_FIELD(margin, 0, 1e9, "by how much the negative is to be farther away"),
    {0}};
static const rgm_field grace_fields[] = {
    ITEMS, TWICE, RGM_FLOAT_FIELD(temperature, 1e-3, 1e3, "that cosines are divided by"), {0}};
static const rgm_field bgrl_fields[] = {
    ITEMS,
    TWICE,
    RGM_FLOAT_FIELD(momentum, 0, 1, "of the second encoder, which follows the first"),
    RGM_INT_FIELD(predictor, 1, 1e6, "width of the hidden layer that predicts the other view"),
    {0}};
static const rgm_field masked_fields[] = {
    ITEMS,
    CORRUPT,
    RGM_INT_FIELD(exponent, 1, 3, "of 1 less the cosine between features and what is decoded"),
    {0}};
#undef RGM_OPTIONS

void rgm_graph_contrast_options_init(contrast *o)
{
    *o = (contrast){.place = RGM_GRAPH_PLACE_INIT,
                    .corrupt = {.stream = "corrupt"},
                    .second = {.stream = "second"},
                    .normalize = true,
                    .vicreg = RGM_VICREG_OPTIONS_INIT,
                    .margin = 1,
                    .temperature = 0.5,
                    .momentum = 0.99,
                    .predictor = 512,
                    .exponent = 2};
    o->place.label = NULL;
}

static void shuffled(void *options)
{
    rgm_graph_contrast_options_init(options);
    ((contrast *)options)->corrupt.shuffle_features = 1;
}

/* Rates within the ranges of GRACE's and BGRL's tables. */
static void dropped_twice(void *options)
{
    contrast *o = options;

    rgm_graph_contrast_options_init(o);
    o->corrupt.drop_edges = 0.2;
    o->corrupt.drop_columns = 0.3;
    o->second.drop_edges = 0.4;
    o->second.drop_columns = 0.4;
}

static void masked(void *options)
{
    rgm_graph_contrast_options_init(options);
    ((contrast *)options)->corrupt.mask_nodes = 0.5;
}

/* ---- items --------------------------------------------------------------------------------- */

static rgm_value *node_states(const rgm_graph_value *graph, const rgm_graph_place *p)
{
    return rgm_node_feature(graph, p->node_set, p->state);
}

static rgm_value *first_states(const rgm_graph_value *graph, const rgm_graph_place *p)
{
    return rgm_gather_first_node(graph, p->node_set, p->state);
}

static rgm_value *readout_states(const rgm_graph_value *graph, const rgm_graph_place *p)
{
    return rgm_structured_readout(graph, p->key, p->state, p->readout_set);
}

static int64_t node_number(const rgm_graph *graph, int64_t i, const contrast *o)
{
    return rgmi_node_number(graph, o->place.node_set, i);
}

static const char *node_name(rgm_str *out, const rgm_graph *graph, int64_t i, const contrast *o)
{
    *out =
        rgmi_text_of(rgm_graph_feature(graph, RGM_NODE_SET, o->place.node_set, RGM_ITEM_NAME), i);
    return out->data != NULL ? "node" : NULL;
}

static const char *graph_name(rgm_str *out, const rgm_graph *graph, int64_t i, const contrast *o)
{
    return rgmi_at_graph_name(out, graph, i, o);
}

static const char *readout_name(rgm_str *out, const rgm_graph *graph, int64_t i, const contrast *o)
{
    return rgmi_at_nodes_name(out, graph, i, o);
}

static int64_t no_number(const rgm_graph *graph, int64_t i, const contrast *o)
{
    (void)graph, (void)i, (void)o;
    return -1;
}

static int64_t readout_number(const rgm_graph *graph, int64_t i, const contrast *o)
{
    return rgmi_at_nodes_node(graph, i, o);
}

/* By rgm_graph_items. */
static const struct {
    rgm_value *(*states)(const rgm_graph_value *graph, const rgm_graph_place *place);
    int64_t (*number)(const rgm_graph *graph, int64_t i, const contrast *options);
    const char *(*name)(rgm_str *out, const rgm_graph *graph, int64_t i, const contrast *options);
} kinds_of_items[] = {
    [RGM_ITEMS_NODES] = {node_states, node_number, node_name},
    [RGM_ITEMS_FIRST] = {first_states, no_number, graph_name},
    [RGM_ITEMS_READOUT] = {readout_states, readout_number, readout_name},
};

static void item_set(rgm_piece *piece, const char **set, const rgm_schema *schema,
                     const void *options)
{
    const contrast *o = options;
    bool first = o->items == RGM_ITEMS_FIRST;

    (void)schema;
    *piece = first ? RGM_CONTEXT_PIECE : RGM_NODE_SET;
    *set = first ? NULL : o->items == RGM_ITEMS_NODES ? o->place.node_set : o->place.readout_set;
}

static int64_t number_of(const rgm_graph *graph, int64_t i, const void *options)
{
    const contrast *o = options;

    return kinds_of_items[o->items].number(graph, i, o);
}

static const char *name_of(rgm_str *out, const rgm_graph *graph, int64_t i, const void *options)
{
    const contrast *o = options;

    return kinds_of_items[o->items].name(out, graph, i, o);
}

static bool question(rgm_graph_question *out, const rgm_schema *schema, const void *options)
{
    const contrast *o = options;

    return o->items == RGM_ITEMS_READOUT && rgmi_at_nodes_question(out, schema, options);
}

/* ---- checks -------------------------------------------------------------------------------- */

static rgm_status check_features(const rgm_corruption *c, const char *key, const rgm_schema *schema)
{
    for (int64_t i = 0; i < c->features.count; i++) {
        bool found = false;

        for (int64_t k = 0; k < rgm_schema_set_count(schema); k++) {
            const rgm_set_schema *set = rgm_schema_set(schema, k);
            const char *name = set->piece == RGM_NODE_SET
                                   ? rgm_feature_name_in(c->features.items[i], set->name)
                                   : NULL;

            found |= name != NULL && rgm_set_feature(set, name) != NULL;
        }
        if (!found)
            return RGM_FAIL(RGM_ERR_CONFIG, "task.%s.features: no node set has a feature '%s'", key,
                            c->features.items[i]);
    }
    return RGM_OK;
}

static rgm_status check_data(const void *options, const rgm_schema *schema)
{
    const contrast *o = options;

    if (rgm_schema_find(schema, RGM_NODE_SET, o->place.node_set) == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.node_set: the schema has no node set '%s'%s",
                        o->place.node_set,
                        rgm_schema_hint(schema, RGM_NODE_SET, o->place.node_set).text);
    if (o->items == RGM_ITEMS_READOUT &&
        rgm_schema_find(schema, RGM_NODE_SET, o->place.readout_set) == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.readout_set: the schema has no node set '%s' that says which nodes "
                        "are learned of; task.items: nodes learns of all",
                        o->place.readout_set);
    RGM_TRY(check_features(&o->corrupt, "corrupt", schema));
    return check_features(&o->second, "second", schema);
}

static bool corrupts(const rgm_corruption *c)
{
    return c->shuffle_features > 0 || c->drop_features > 0 || c->drop_columns > 0 ||
           c->mask_nodes > 0 || c->drop_edges > 0;
}

static rgm_status check(const void *options)
{
    const contrast *o = options;

    if (o->place.node_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.node_set: name the node set whose states are learned");
    if (!corrupts(&o->corrupt) && !corrupts(&o->second))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.corrupt: nothing is corrupted, so that there is nothing to learn "
                        "from; give a rate above 0");
    return rgm_named_metrics_check("task.metrics", &o->metrics, 0, RGM_METRICS_OF_STATES);
}

static rgm_status check_masked(const void *options)
{
    RGM_TRY(check(options));
    if (((const contrast *)options)->corrupt.mask_nodes == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.corrupt.mask_nodes is 0, but it is masked nodes that are learned of");
    if (((const contrast *)options)->items != RGM_ITEMS_NODES)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.items: it is all nodes of a set of which some are masked");
    return RGM_OK;
}

/* ---- views --------------------------------------------------------------------------------- */

/* The graph as it is, whose states are what is predicted, and a corrupted one. */
static rgm_status one_corrupted(rgm_graph_views *views, const rgm_graph_value *graph,
                                const void *options)
{
    views->count = 2;
    views->graphs[0] = graph;
    views->graphs[1] = rgm_corrupt(graph, &((const contrast *)options)->corrupt);
    return RGM_OK;
}

static rgm_status two_corrupted(rgm_graph_views *views, const rgm_graph_value *graph,
                                const void *options)
{
    RGM_TRY(one_corrupted(views, graph, options));
    views->count = 3;
    views->graphs[2] = rgm_corrupt(graph, &((const contrast *)options)->second);
    return RGM_OK;
}

/* Each of the two goes through both encoders. */
static rgm_status followed(rgm_graph_views *views, const rgm_graph_value *graph,
                           const void *options)
{
    RGM_TRY(two_corrupted(views, graph, options));
    for (int i = 1; i <= 2; i++) {
        views->graphs[2 + i] = views->graphs[i];
        views->by_follower[2 + i] = true;
    }
    views->count = 5;
    views->momentum = ((const contrast *)options)->momentum;
    return RGM_OK;
}

/* Item `which` of the two that stand behind each other in a feature; others stay whole. */
static rgm_value *one_of_two(const rgm_graph_value *graph, const rgm_set_schema *set,
                             const char *feature, rgm_value *x, const void *payload)
{
    int64_t which = *(const int64_t *)payload;
    rgm_dim shape[RGM_MAX_RANK];
    int rank = rgm_value_rank(x);

    (void)graph, (void)feature;
    if (set->piece != RGM_NODE_SET || rgm_value_is_pattern(x) || rank < 2 ||
        rgm_value_dim(x, 1) != 2)
        return x;
    for (int i = 0; i < rank; i++)
        shape[i] = i == 0 ? rgm_value_dim(x, 0) : i + 1 < rank ? rgm_value_dim(x, i + 1) : 1;
    return rgm_reshape(rgm_slice(x, 1, which, which + 1), rank > 2 ? rank - 1 : 2, shape);
}

static rgm_status anchor_and_positive(rgm_graph_views *views, const rgm_graph_value *graph,
                                      const void *options)
{
    static const int64_t which[2] = {0, 1};

    for (int i = 0; i < 2; i++) {
        rgm_graph_reading reading = {.feature = one_of_two, .payload = &which[i]};

        views->graphs[i] = rgm_with_reading(graph, &reading);
    }
    views->graphs[2] = rgm_corrupt(views->graphs[1], &((const contrast *)options)->corrupt);
    views->count = 3;
    return RGM_OK;
}

/* ---- losses -------------------------------------------------------------------------------- */

/* What a kind's loss is made of. */
typedef struct seen {
    rgm_scope *scope;
    const rgm_graph_views *views;
    rgm_value *states[RGM_MAX_VIEWS]; /* behind the projector */
    rgm_value *weights;
    const contrast *options;
} seen;

static rgm_value *infomax(const seen *s)
{
    return rgm_infomax_loss(s->scope, s->states[0], s->states[1], s->weights,
                            s->options->summary_sigmoid);
}

static rgm_value *barlow(const seen *s)
{
    return rgm_barlow_twins_loss(s->states[0], s->states[1], s->weights, s->options->lambda,
                                 s->options->normalize);
}

static rgm_value *vicreg(const seen *s)
{
    return rgm_vicreg_loss(s->states[0], s->states[1], s->weights, &s->options->vicreg);
}

static rgm_value *triplet(const seen *s)
{
    return rgm_triplet_loss(s->states[0], s->states[1], s->states[2], s->weights,
                            s->options->margin);
}

static rgm_value *grace(const seen *s)
{
    return rgm_grace_loss(s->states[1], s->states[2], s->weights, s->options->temperature);
}

static rgm_value *predicted(const seen *s, rgm_value *states)
{
    rgm_dense_options hidden = RGM_DENSE_OPTIONS_INIT;
    rgm_scope *scope = rgm_scope_enter(s->scope, "predictor");
    rgm_value *hidden_states;

    if (states == NULL)
        return NULL;
    hidden.activation = RGM_ACT_RELU;
    hidden_states = rgm_dense_with(scope, "hidden", states, s->options->predictor, &hidden);
    return rgm_dense(scope, "output", hidden_states, rgm_value_dim(states, 1));
}

/* What is predicted of each view's states is the follower's states of the other view. */
static rgm_value *bgrl(const seen *s)
{
    rgm_value *one = rgm_bootstrap_loss(predicted(s, s->states[1]), s->states[4], s->weights);
    rgm_value *two = rgm_bootstrap_loss(predicted(s, s->states[2]), s->states[3], s->weights);

    return rgm_add(one, two);
}

/* The features that a node starts with, dense; they depend on the data alone and are made once. */
static rgm_value *plain_features(const seen *s)
{
    enum { MOST = 64 };
    const char *set = s->options->place.node_set;
    rgm_value *x[MOST], *all;
    int64_t count, width;

    if (rgm_node_inputs(x, MOST, &count, s->scope, s->views->graphs[0], set, NULL) != RGM_OK)
        return NULL;
    if (count == 0)
        return rgm_cgraph_fail(rgm_scope_graph(s->scope), RGM_ERR_CONFIG,
                               "task: node set '%s' has no float or one_hot feature that could be "
                               "decoded",
                               set);
    all = rgm_beside(x, count);
    width = rgm_width(all);
    if (all == NULL || !rgm_value_is_pattern(all))
        return all;
    return rgm_project(all,
                       rgmi_diagonal(rgm_scope_graph(s->scope), rgm_scope_dtype(s->scope), width));
}

/* Of masked nodes alone. */
static rgm_value *masked_loss(const seen *s)
{
    const contrast *o = s->options;
    rgm_value *features = plain_features(s), *decoded;
    rgm_value *gone = rgmi_masked_nodes(s->views->graphs[0], o->place.node_set,
                                        rgm_scope_dtype(s->scope), &o->corrupt);

    if (features == NULL || gone == NULL)
        return NULL;
    decoded = rgm_dense(s->scope, "decoder", s->states[1], rgm_value_dim(features, 1));
    if (s->weights != NULL)
        gone = rgm_mul(gone, rgm_cast(s->weights, rgm_scope_dtype(s->scope)));
    return rgm_scaled_cosine_loss(decoded, features, gone, o->exponent);
}

/* ---- outputs ------------------------------------------------------------------------------- */

/* The same layers on each view's states; relu behind all of them, as in TF-GNN, or elu between. */
static rgm_value *project(rgm_scope *scope, rgm_value *states, const contrast *o, bool linear_end)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;
    char name[32];

    scope = rgm_scope_enter(scope, "projector");
    for (int64_t i = 0; i < o->projector.count; i++) {
        bool last = i + 1 == o->projector.count;

        dense.activation = !linear_end ? RGM_ACT_RELU : last ? RGM_ACT_NONE : RGM_ACT_ELU;
        snprintf(name, sizeof name, "dense_%lld", (long long)i);
        states = rgm_dense_with(scope, name, states, o->projector.items[i], &dense);
    }
    return states;
}

static rgm_status predict(rgm_head *output, int64_t *count, rgm_scope *scope,
                          const rgm_graph_views *views, const contrast *o, bool linear_end,
                          rgm_value *(*loss)(const seen *s))
{
    seen s = {.scope = rgm_scope_enter(scope, output->name),
              .views = views,
              .weights = output->weights,
              .options = o};

    *count = 1;
    for (int64_t v = 0; v < views->count; v++) {
        rgm_value *states = kinds_of_items[o->items].states(views->graphs[v], &o->place);

        if (states == NULL)
            return rgm_cgraph_status(rgm_scope_graph(scope));
        if (v == 0)
            output->predictions = states;
        s.states[v] = project(s.scope, states, o, linear_end);
    }
    output->is_number = true;
    output->loss = loss(&s);
    return rgm_cgraph_status(rgm_scope_graph(scope));
}

/* They are made with the states of all views, which are at hand in predict alone. */
static rgm_status losses(rgm_head *outputs, int64_t count, const void *options)
{
    (void)outputs, (void)count, (void)options;
    return RGM_OK;
}

/* None without being asked for: each costs about columns^3 steps a batch. */
static rgm_status metrics(rgm_head *outputs, int64_t count, const void *options)
{
    (void)count;
    return rgm_head_add_named_metrics(&outputs[0], &((const contrast *)options)->metrics,
                                      rgm_width(outputs[0].predictions), RGM_METRICS_OF_STATES);
}

/* "metrics rankme, coherence of states in validations, of up to 8192 items of a batch" */
static rgm_status describe(rgm_text *out, const void *options)
{
    const rgm_texts *names = &((const contrast *)options)->metrics;

    for (int64_t i = 0; i < names->count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%s", i > 0 ? ", " : "metrics ", names->items[i]));
    if (names->count == 0)
        return RGM_OK;
    return rgm_text_printf(out, " of states in validations, of up to %d items of a batch\n",
                           RGM_MOST_REPRESENTED_ROWS);
}

/* ---- the kinds ----------------------------------------------------------------------------- */

#define KIND(kind, row, text, table, starts, checks, views, linear_end, loss)                      \
    static rgm_status kind##_predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,          \
                                     const rgm_graph_views *seen_views, const void *options)       \
    {                                                                                              \
        return predict(outputs, count, scope, seen_views, options, linear_end, loss);              \
    }                                                                                              \
    const rgm_graph_task_type row = {.section = {.name = #kind,                                    \
                                                 .help = (text),                                   \
                                                 .options_size = sizeof(contrast),                 \
                                                 .defaults = (starts),                             \
                                                 .fields = (table),                                \
                                                 .check = (checks)},                               \
                                     .output = "representations",                                  \
                                     .check = check_data,                                          \
                                     .preprocess = (views),                                        \
                                     .item_set = item_set,                                         \
                                     .predict = kind##_predict,                                    \
                                     .losses = losses,                                             \
                                     .metrics = metrics,                                           \
                                     .describe = describe,                                         \
                                     .node = number_of,                                            \
                                     .item_name = name_of,                                         \
                                     .question = question}

KIND(deep_graph_infomax, rgm_deep_graph_infomax,
     "states without labels: nodes told from those of a graph with shuffled features",
     infomax_fields, shuffled, check, one_corrupted, false, infomax);
KIND(barlow_twins, rgm_barlow_twins,
     "states without labels: columns alike in two views, and unlike each other", barlow_fields,
     shuffled, check, one_corrupted, false, barlow);
KIND(vicreg, rgm_vicreg, "states without labels: two views near, columns that vary by themselves",
     vicreg_fields, shuffled, check, one_corrupted, false, vicreg);
KIND(triplet, rgm_graph_triplet,
     "states without labels: an anchor nearer to its positive than to a corrupted one",
     triplet_fields, shuffled, check, anchor_and_positive, false, triplet);
KIND(grace, rgm_grace, "states without labels: a node against all others of two corrupted views",
     grace_fields, dropped_twice, check, two_corrupted, true, grace);
KIND(bgrl, rgm_bgrl, "states without labels: one view predicts another of a slower encoder",
     bgrl_fields, dropped_twice, check, followed, true, bgrl);
KIND(masked_features, rgm_masked_features,
     "states without labels: features of masked nodes are told from the nodes around them",
     masked_fields, masked, check_masked, one_corrupted, false, masked_loss);
