/*
 * Link prediction: whether pairs of nodes are links, by a score of the states at both ends, and of
 * a relation where links have several. Pairs are items of a readout set with keys "source" and
 * "target", as TF-GNN has them; losses of a link against its own negatives read the key "positive".
 */
#include <math.h>
#include <stdio.h>

#include "learning.h"

typedef rgm_link_prediction_options links;

/* Lengths are taken of squares that much above 0, where a root has a slope. */
#define TINY 1e-12

/* ---- options ------------------------------------------------------------------------------- */

static const char *const losses_names[] = {"binary_cross_entropy", "margin", "self_adversarial",
                                           "softmax", NULL};

#define RGM_OPTIONS rgm_link_prediction_options
static const char *const heads_names[] = {"dot",    "hadamard", "mlp",      "distmult", "complex",
                                          "transe", "rotate",   "bilinear", NULL};
static const rgm_field fields[] = {
    RGMI_PLACE_FIELD(label, "1 for links, 0 for other pairs"),
    RGMI_PLACE_FIELD(state, "state feature that is read"),
    RGMI_PLACE_FIELD(readout_set, "readout node set: an item a pair"),
    RGM_CHOICE_FIELD(head, heads_names, "how two states become a score"),
    RGM_TEXT_FIELD(relation, "from distmult on: feature of the readout set that numbers the "
                             "relation"),
    RGM_INT_FIELD(relations, 0, 1e9,
                  "how many relations there are; 0: as many as the feature says"),
    RGM_INT_FIELD(hidden, 1, 1e9, "mlp: width of its hidden layer"),
    RGM_INT_FIELD(norm, 1, 2, "transe: of the distance, 1 or 2"),
    RGM_FLOAT_FIELD(gamma, 0, 1e6, "transe, rotate: the score is gamma less the distance"),
    RGM_CHOICE_FIELD(loss, losses_names, "what is made small"),
    RGM_FLOAT_FIELD(margin, 0, 1e6, "margin: how much a link's score is to be above others"),
    RGM_FLOAT_FIELD(temperature, 0, 1e6,
                    "self_adversarial: how much more the likelier negatives count; 0: all alike"),
    RGM_INTS_FIELD(hits, 1, 1e9, "also mrr and hits_at_k of these k"),
    RGM_FLOAT_FIELD(l2, 0, 1e6, "L2 coefficient of the head's kernels and relations"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(links *)options = (links)RGM_LINK_PREDICTION_OPTIONS_INIT;
}

static bool has_relations(const links *o)
{
    return o->head >= RGM_LINK_DISTMULT;
}

static rgm_status check_options(const void *options)
{
    enum { OWN = 5, MOST = RGM_MAX_METRICS - OWN };
    const links *o = options;

    if (has_relations(o) && o->relation == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.relation: name the feature of '%s' that numbers the "
                        "relation, which the head %s is of",
                        o->place.readout_set, heads_names[o->head]);
    if (o->hits.count > MOST)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.hits: %lld numbers, at most %d can be reported",
                        (long long)o->hits.count, (int)MOST);
    for (int64_t i = 0; i < o->hits.count; i++)
        for (int64_t k = 0; k < i; k++)
            if (o->hits.items[i] == o->hits.items[k])
                return RGM_FAIL(RGM_ERR_CONFIG, "task.hits: %lld is there twice",
                                (long long)o->hits.items[i]);
    return RGM_OK;
}

/* ---- what the data have -------------------------------------------------------------------- */

/* The first edge set "<readout_set>/<key>" or "<readout_set>/<key>/..."; NULL: none. */
static const rgm_set_schema *reader(const rgm_schema *schema, const char *readout_set,
                                    const char *key)
{
    char name[256];
    size_t length = (size_t)snprintf(name, sizeof name, "%s/%s", readout_set, key);

    for (int64_t i = 0; length < sizeof name && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_EDGE_SET && strncmp(set->name, name, length) == 0 &&
            (set->name[length] == '\0' || set->name[length] == '/'))
            return set;
    }
    return NULL;
}

static rgm_status check_relation(const links *o, const rgm_set_schema *readout)
{
    const rgm_feature_schema *f = rgm_set_feature(readout, o->relation);

    if (f == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.relation: '%s' has no feature '%s'; data.links.relation makes it of "
                        "a feature of edges, and several data.links.edge_sets are one each",
                        readout->name, o->relation);
    if (f->vocabulary > 0)
        return RGM_OK;
    if (f->dtype != RGM_I64 && f->dtype != RGM_I32)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.relation: feature '%s' of '%s' is not of integers",
                        o->relation, readout->name);
    if (f->rank > 0 || o->relations == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        f->rank > 0 ? "task.relation: feature '%s' of '%s' is not one number"
                                    : "task.relations: say how many there are; feature '%s' of "
                                      "'%s' does not",
                        o->relation, readout->name);
    return RGM_OK;
}

/* Losses of groups and ranks know a link's negatives. */
static rgm_status check_groups(const links *o, const rgm_schema *schema)
{
    bool grouped = o->loss != RGM_LINK_BINARY_CROSS_ENTROPY;

    if ((!grouped && o->hits.count == 0) ||
        reader(schema, o->place.readout_set, RGM_LINK_POSITIVE) != NULL)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "task.%s needs the edge set '%s/%s', which says which link each pair is held "
                    "against; data.links makes it",
                    grouped ? "loss" : "hits", o->place.readout_set, RGM_LINK_POSITIVE);
}

static rgm_status check(const void *options, const rgm_schema *schema)
{
    const links *o = options;
    const char *readout_set = o->place.readout_set;
    static const char *const keys[] = {RGM_LINK_SOURCE, RGM_LINK_TARGET};
    const rgm_set_schema *readout = rgm_schema_find(schema, RGM_NODE_SET, readout_set);

    if (readout == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.readout_set: the schema has no node set '%s' of pairs; data.links "
                        "makes one of a graph's edges",
                        readout_set);
    for (int i = 0; i < 2; i++)
        if (reader(schema, readout_set, keys[i]) == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.readout_set: no edge set '%s/%s' says which nodes the pairs of "
                            "'%s' are; data.links makes it",
                            readout_set, keys[i], readout_set);
    if (rgm_set_feature(readout, o->place.label) == NULL)
        return rgmi_no_label(&o->place, schema, NULL);
    if (has_relations(o))
        RGM_TRY(check_relation(o, readout));
    return check_groups(o, schema);
}

static rgm_status check_labels(const rgm_graph *graph, const void *options)
{
    rgmi_labels labels = rgmi_at_nodes_labels(graph, options);

    labels.classes = 2;
    labels.all_there = true; /* a loss of pairs weighs none 0 */
    return rgmi_check_labels(graph, &labels);
}

/* ---- scores -------------------------------------------------------------------------------- */

/* Both ends of each pair, and its relation; of complex numbers the halves of a row. */
typedef struct link_ends {
    rgm_scope *scope;
    rgm_value *source, *target, *relation;
    const links *options;
} link_ends;

static rgm_value *sum_units(rgm_value *x)
{
    return rgm_reduce(x, 1, RGM_SUM);
}

static rgm_value *real_part(rgm_value *x)
{
    return rgm_slice(x, 1, 0, rgm_width(x) / 2);
}

static rgm_value *imaginary_part(rgm_value *x)
{
    return rgm_slice(x, 1, rgm_width(x) / 2, rgm_width(x));
}

static rgm_value *length_of(rgm_value *re, rgm_value *im)
{
    rgm_value *re2 = rgm_square(re), *im2 = rgm_square(im);

    return rgm_sqrt(rgm_shift(rgm_add(re2, im2), TINY));
}

/* The source's numbers times others. */
static void times_source(rgm_value **re, rgm_value **im, const link_ends *e, rgm_value *by_re,
                         rgm_value *by_im)
{
    rgm_value *s_re = real_part(e->source), *s_im = imaginary_part(e->source);
    rgm_value *both_re = rgm_mul(s_re, by_re), *both_im = rgm_mul(s_im, by_im);
    rgm_value *across = rgm_mul(s_re, by_im), *back = rgm_mul(s_im, by_re);

    *re = rgm_sub(both_re, both_im);
    *im = rgm_add(across, back);
}

static rgm_value *dot(const link_ends *e)
{
    return sum_units(rgm_mul(e->source, e->target));
}

static rgm_value *dense_of(const link_ends *e, const char *name, rgm_value *const *x, int64_t count,
                           int64_t units, rgm_activation activation)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;

    dense.l2 = e->options->l2;
    dense.activation = activation;
    return rgm_dense_concat(e->scope, name, x, count, units, &dense);
}

static rgm_value *hadamard(const link_ends *e)
{
    rgm_value *product = rgm_mul(e->source, e->target);

    return dense_of(e, NULL, &product, 1, 1, RGM_ACT_NONE);
}

static rgm_value *mlp(const link_ends *e)
{
    rgm_value *both[] = {e->source, e->target};
    rgm_value *hidden = dense_of(e, "hidden", both, 2, e->options->hidden, RGM_ACT_RELU);

    return dense_of(e, "output", &hidden, 1, 1, RGM_ACT_NONE);
}

static rgm_value *distmult(const link_ends *e)
{
    return sum_units(rgm_mul(rgm_mul(e->source, e->relation), e->target));
}

/* Re(sum s r conj(t)) */
static rgm_value *complex_product(const link_ends *e)
{
    rgm_value *r_re = real_part(e->relation), *r_im = imaginary_part(e->relation);
    rgm_value *t_re = real_part(e->target), *t_im = imaginary_part(e->target), *re, *im;

    times_source(&re, &im, e, r_re, r_im);
    re = rgm_mul(re, t_re);
    im = rgm_mul(im, t_im);
    return sum_units(rgm_add(re, im));
}

static rgm_value *less(const link_ends *e, rgm_value *distance)
{
    return rgm_shift(rgm_neg(distance), e->options->gamma);
}

static rgm_value *transe(const link_ends *e)
{
    rgm_value *d = rgm_sub(rgm_add(e->source, e->relation), e->target);

    if (e->options->norm == 1)
        return less(e, sum_units(rgm_abs(d)));
    return less(e, rgm_sqrt(rgm_shift(sum_units(rgm_square(d)), TINY)));
}

/* Two numbers for each turn, of which the direction counts: (a, b) / |(a, b)| is a point of the
 * unit circle, which is what the paper's cosine and sine of a phase are. */
static rgm_value *rotate(const link_ends *e)
{
    rgm_value *a = real_part(e->relation), *b = imaginary_part(e->relation);
    rgm_value *length = length_of(a, b), *re, *im;

    a = rgm_div(a, length);
    b = rgm_div(b, length);
    times_source(&re, &im, e, a, b);
    re = rgm_sub(re, real_part(e->target));
    im = rgm_sub(im, imaginary_part(e->target));
    return less(e, sum_units(length_of(re, im)));
}

/* Sum of s_i r_ij t_j: the relation's row is a matrix, rows of the source's width. */
static rgm_value *bilinear(const link_ends *e)
{
    int64_t from = rgm_width(e->source), to = rgm_width(e->target);
    rgm_dim row[3] = {RGM_INFER, 1, from}, matrix[3] = {RGM_INFER, from, to},
            flat[2] = {RGM_INFER, to};
    rgm_value *source = rgm_reshape(e->source, 3, row);
    rgm_value *turned = rgm_matmul(source, rgm_reshape(e->relation, 3, matrix));

    return sum_units(rgm_mul(rgm_reshape(turned, 2, flat), e->target));
}

static const struct {
    rgm_value *(*score)(const link_ends *e);
    bool any_width; /* the ends' states may differ in width   */
    bool halves;    /* they are pairs of numbers              */
} heads[] = {
    [RGM_LINK_DOT] = {.score = dot},           [RGM_LINK_HADAMARD] = {.score = hadamard},
    [RGM_LINK_MLP] = {mlp, .any_width = true}, [RGM_LINK_DISTMULT] = {.score = distmult},
    [RGM_LINK_TRANSE] = {.score = transe},     [RGM_LINK_COMPLEX] = {complex_product, .halves = 1},
    [RGM_LINK_ROTATE] = {rotate, .halves = 1}, [RGM_LINK_BILINEAR] = {bilinear, .any_width = true},
};

static rgm_status check_ends(const link_ends *e)
{
    int64_t width[2];

    RGM_TRY(rgm_cgraph_status(rgm_scope_graph(e->scope)));
    if (rgm_value_rank(e->source) != 2 || rgm_value_rank(e->target) != 2)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.state: '%s' is not a row of numbers for each node",
                        e->options->place.state);
    width[0] = rgm_width(e->source);
    width[1] = rgm_width(e->target);
    if (width[0] != width[1] && !heads[e->options->head].any_width)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.head: %s is of states of one width, but they are %lld wide at the "
                        "source and %lld at the target; mlp and bilinear take any",
                        heads_names[e->options->head], (long long)width[0], (long long)width[1]);
    if (width[0] % 2 != 0 && heads[e->options->head].halves)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.head: %s takes a state for complex numbers, real parts before "
                        "imaginary ones, but %lld is odd",
                        heads_names[e->options->head], (long long)width[0]);
    return RGM_OK;
}

/* [pairs, width] of the relations' table; bilinear: [pairs, width of the source's state times that
 * of the target's]. */
static rgm_value *relations_of(const link_ends *e, const rgm_graph_value *graph)
{
    const links *o = e->options;
    const char *set = o->place.readout_set;
    const rgm_feature_schema *f = rgm_set_feature(
        rgm_schema_find(rgm_graph_value_schema(graph), RGM_NODE_SET, set), o->relation);
    int64_t count = f->vocabulary > 0 ? f->vocabulary : o->relations;
    rgm_init init = {RGM_INIT_GLOROT_UNIFORM, 0};
    rgm_value *which = f->vocabulary > 0
                           ? rgm_node_sparse_feature(graph, set, o->relation)
                           : rgm_one_hot(graph, RGM_NODE_SET, set, o->relation, count);
    int64_t width = rgm_width(e->source);
    rgm_value *table;

    if (o->head == RGM_LINK_BILINEAR) { /* each row starts as a kernel of one layer does */
        init = (rgm_init){RGM_INIT_NORMAL, 1 / sqrt((double)width)};
        width *= rgm_width(e->target);
    }
    if (o->head == RGM_LINK_ROTATE) /* any direction is as likely */
        init = (rgm_init){RGM_INIT_NORMAL, 1};
    table = rgm_scope_parameter(e->scope, "relation", 2, (int64_t[]){count, width}, init);
    rgm_scope_add_l2(e->scope, table, o->l2);
    return rgm_project(which, table);
}

/* ---- losses -------------------------------------------------------------------------------- */

/* Entries of `groups` are pairs, its rows the links that they are held against: themselves, or that
 * of which they are negatives. Rows of pairs that are no links have no entries. */
typedef struct group_view {
    rgm_value *groups;
    rgm_value *scores, *links;   /* [pairs], links 1 and 0 */
    rgm_value *weights;          /* [pairs] or NULL        */
    rgm_value *score, *negative; /* [entries]; negative 1 and 0 */
} group_view;

static rgm_value *weighted(rgm_value *x, rgm_value *weights)
{
    return weights == NULL ? x : rgm_mul(x, rgm_cast(weights, rgm_value_dtype(x)));
}

/* Mean over the links of what their rows are. */
static rgm_value *mean_of_links(const group_view *g, rgm_value *rows)
{
    return rgm_weighted_mean(rows, weighted(g->links, g->weights));
}

/* max(0, margin - link + negative), the mean over negatives. */
static rgm_value *margin_loss(const group_view *g, const links *o)
{
    rgm_value *link = rgm_broadcast_rows(g->groups, g->scores), *weights = g->negative;
    rgm_value *over = rgm_relu(rgm_shift(rgm_sub(g->score, link), o->margin));

    if (g->weights != NULL)
        weights = weighted(weights, rgm_broadcast_columns(g->groups, g->weights));
    return rgm_weighted_mean(over, weights);
}

/* Sun et al. (2019), equations 5 and 6: -ln(sigmoid(link)) - sum p ln(sigmoid(-negative)), where p
 * is the softmax of the negatives' scores times the temperature, taken as a constant. */
static rgm_value *self_adversarial_loss(const group_view *g, const links *o)
{
    rgm_value *away = rgm_scale(rgm_shift(g->negative, -1), 1e9);
    rgm_value *p = rgm_softmax_rows(g->groups, rgm_add(rgm_scale(g->score, o->temperature), away));
    rgm_value *weight = rgm_stop_gradient(rgm_mul(p, g->negative));
    rgm_value *each = rgm_mul(weight, rgm_softplus(g->score));
    rgm_value *negatives = rgm_pool_rows(g->groups, each, RGM_SUM);
    rgm_value *link = rgm_softplus(rgm_neg(g->scores));

    return mean_of_links(g, rgm_add(link, negatives));
}

/* ln(sum over the link and its negatives of exp(score - link)) */
static rgm_value *softmax_loss(const group_view *g, const links *o)
{
    rgm_value *highest = rgm_stop_gradient(rgm_pool_rows(g->groups, g->score, RGM_MAX_NO_INF));
    rgm_value *above = rgm_exp(rgm_sub(g->score, rgm_broadcast_rows(g->groups, highest)));
    rgm_value *sum = rgm_pool_rows(g->groups, above, RGM_SUM);

    (void)o; /* of a row without entries the sum is 0: any number does, for it weighs nothing */
    sum = rgm_log(rgm_floor_at(sum, 1e-30));
    highest = rgm_sub(highest, g->scores);
    return mean_of_links(g, rgm_add(sum, highest));
}

static rgm_value *binary_loss(const rgm_head *head, rgm_value *labels)
{
    return rgm_weighted_mean(
        rgm_reduce(rgm_sigmoid_cross_entropy(head->predictions, labels), 1, RGM_MEAN),
        head->weights);
}

static rgm_value *loss_of(const rgm_head *head, const rgm_graph_value *graph, const links *o)
{
    static rgm_value *(*const grouped[])(const group_view *g, const links *o) = {
        [RGM_LINK_MARGIN] = margin_loss,
        [RGM_LINK_SELF_ADVERSARIAL] = self_adversarial_loss,
        [RGM_LINK_SOFTMAX] = softmax_loss,
    };
    rgm_dim column[2] = {RGM_INFER, 1}, row[1] = {RGM_INFER};
    rgm_value *labels =
        rgm_cast(rgm_reshape(head->labels, 2, column), rgm_value_dtype(head->predictions));
    group_view g = {.weights = head->weights};
    char name[256];

    if (o->loss == RGM_LINK_BINARY_CROSS_ENTROPY)
        return binary_loss(head, labels);
    snprintf(name, sizeof name, "%s/%s", o->place.readout_set, RGM_LINK_POSITIVE);
    g.groups = rgm_adjacency(graph, name, RGM_SOURCE);
    g.scores = rgm_reshape(head->predictions, 1, row);
    g.links = rgm_reshape(labels, 1, row);
    g.score = rgm_broadcast_columns(g.groups, g.scores);
    g.negative = rgm_shift(rgm_neg(rgm_broadcast_columns(g.groups, g.links)), 1);
    return grouped[o->loss](&g, o);
}

static rgm_status predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                          const rgm_graph_views *views, const void *options)
{
    const links *o = options;
    const char *set = o->place.readout_set;
    link_ends e = {.scope = rgm_scope_enter(scope, outputs[0].name), .options = o};
    rgm_dim shape[2] = {RGM_INFER, 1};

    *count = 1;
    e.source = rgm_structured_readout(views->graphs[0], RGM_LINK_SOURCE, o->place.state, set);
    e.target = rgm_structured_readout(views->graphs[0], RGM_LINK_TARGET, o->place.state, set);
    RGM_TRY(check_ends(&e));
    if (has_relations(o))
        e.relation = relations_of(&e, views->graph);
    outputs[0].predictions = rgm_reshape(heads[o->head].score(&e), 2, shape);
    outputs[0].probabilities = rgm_sigmoid(outputs[0].predictions);
    outputs[0].loss = loss_of(&outputs[0], views->graph, o);
    return rgm_cgraph_status(rgm_scope_graph(scope));
}

/* The loss may read which link a pair is held against, so it is made where the graph is seen. */
static rgm_status losses(rgm_head *outputs, int64_t count, const void *options)
{
    (void)outputs, (void)count, (void)options;
    return RGM_OK;
}

static rgm_status metrics(rgm_head *outputs, int64_t count, const void *options)
{
    static const rgm_metric_type *const types[] = {&rgm_metric_auc, &rgm_metric_average_precision,
                                                   &rgm_metric_binary_accuracy,
                                                   &rgm_metric_binary_cross_entropy};
    const rgm_ints *hits = &((const links *)options)->hits;

    (void)count;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        rgm_head_add_metric(&outputs[0], types[i]);
    outputs[0].curves = RGM_CURVES_OF_LABELS;
    outputs[0].ranks_links = hits->count > 0;
    if (hits->count > 0)
        rgm_head_add_metric(&outputs[0], &rgm_metric_mrr);
    for (int64_t i = 0; i < hits->count; i++) {
        rgm_metric *metric = rgm_head_add_metric(&outputs[0], &rgm_metric_hits);

        if (metric == NULL)
            continue;
        metric->k = hits->items[i];
        snprintf(metric->name, sizeof metric->name, "hits_at_%lld", (long long)metric->k);
    }
    return RGM_OK;
}

/* ---- which pair an item is ------------------------------------------------------------------- */

static rgmi_item_end end_of(const rgm_graph *graph, const links *o, const char *key, int64_t i)
{
    const rgm_set_schema *set = reader(rgm_graph_schema(graph), o->place.readout_set, key);

    return set != NULL ? rgmi_item_end_of(graph, set->source, rgm_graph_source(graph, set->name), i)
                       : (rgmi_item_end){.number = -1};
}

/* The relation as a number, of a one_hot feature its column; -1: there is none. */
static int64_t relation_of(const rgm_graph *graph, const links *o, int64_t i)
{
    const rgm_feature *f =
        o->relation != NULL
            ? rgm_graph_feature(graph, RGM_NODE_SET, o->place.readout_set, o->relation)
            : NULL;

    return f != NULL && i < rgm_tensor_count(f->values) ? rgm_tensor_at_int(f->values, i) : -1;
}

static void pair(rgm_item_pair *out, const rgm_graph *graph, int64_t i, const void *options)
{
    rgmi_item_end source = end_of(graph, options, RGM_LINK_SOURCE, i);
    rgmi_item_end target = end_of(graph, options, RGM_LINK_TARGET, i);
    int64_t relation = relation_of(graph, options, i);
    const rgm_feature *relations =
        rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, RGM_RELATION_NAMES);

    *out = (rgm_item_pair){.source = source.number,
                           .target = target.number,
                           .relation = relation,
                           .names = {source.name, target.name, rgmi_text_of(relations, relation)}};
}

static bool question(rgm_graph_question *out, const rgm_schema *schema, const void *options)
{
    const links *o = options;

    (void)schema;
    *out = (rgm_graph_question){.readout_set = o->place.readout_set,
                                .relation = has_relations(o) ? o->relation : NULL,
                                .relations = o->relations};
    return true;
}

const rgm_graph_task_type rgm_link_prediction = {
    .section = {.name = "link_prediction",
                .help = "whether pairs of nodes are links, of one kind or of several relations",
                .options_size = sizeof(links),
                .defaults = defaults,
                .fields = fields,
                .check = check_options},
    .output = "linkpred",
    .check = check,
    .check_labels = check_labels,
    .label = rgmi_label_of,
    .preprocess = rgmi_at_nodes_preprocess,
    .item_set = rgmi_at_nodes_items,
    .predict = predict,
    .losses = losses,
    .metrics = metrics,
    .pair = pair,
    .question = question,
};
