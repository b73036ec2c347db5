/*
 * R-GCN (Schlichtkrull et al. 2018): means of neighbours, each relation with a kernel of its own
 * that is made of few numbers. The product stands on the narrower side of the mean.
 */
#include "gnn_internal.h"

typedef struct turn {
    rgm_scope *own, *nodes, *edges;
    const rgm_graph_value *graph;
    const rgm_rgcn_options *options;
} turn;

/* A relation's kernel [in, units] as a sum of shared ones. */
static rgm_value *basis_kernel(const turn *r, rgm_scope *own, int64_t in)
{
    const int64_t bases = r->options->bases, units = r->options->units;
    rgm_value *shares = rgmi_kernel(own, "coefficients", 2, (int64_t[]){1, bases}, r->options->l2);
    rgm_value *all = rgmi_kernel(r->own, "bases", 3, (int64_t[]){bases, in, units}, r->options->l2);

    all = rgm_reshape(all, 2, (rgm_dim[]){bases, in * units});
    return rgm_reshape(rgm_matmul(shares, all), 2, (rgm_dim[]){in, units});
}

/* x [n, in] times blocks [bases, in / bases, units / bases] along the diagonal */
static rgm_value *by_blocks(const turn *r, rgm_scope *own, rgm_value *x)
{
    const int64_t bases = r->options->bases, units = r->options->units, in = rgm_width(x);
    rgm_value *blocks;

    if (in % bases != 0 || units % bases != 0 || !rgmi_is_dense(x))
        return rgm_cgraph_fail(rgm_scope_graph(own), RGM_ERR_SHAPE,
                               "'%s': %lld blocks divide neither states of %lld nor units of %lld, "
                               "or the states are sparse",
                               rgm_scope_path(own), (long long)bases, (long long)in,
                               (long long)units);
    blocks = rgmi_kernel(own, "blocks", 3, (int64_t[]){bases, in / bases, units / bases},
                         r->options->l2);
    return rgmi_project_parts(x, blocks);
}

/* x [n, in] times the relation's kernel */
static rgm_value *project(const turn *r, rgm_scope *own, rgm_value *x)
{
    const int64_t in = rgm_width(x), units = r->options->units;

    if (own == NULL || in < 0)
        return NULL;
    if (r->options->decomposition == RGM_BLOCK_DIAGONAL)
        return by_blocks(r, own, x);
    if (r->options->decomposition == RGM_BASIS)
        return rgm_project(x, basis_kernel(r, own, in));
    return rgm_project(x, rgmi_kernel(own, "kernel", 2, (int64_t[]){in, units}, r->options->l2));
}

/* The mean of W_r h_s over the receivers' edges; NULL where senders have no width. */
static rgm_value *heard(const turn *r, const rgmi_edge_relation *relation)
{
    rgm_scope *own = rgmi_edge_scope(r->edges, relation->edge_set, relation->receiver);
    rgm_value *p = rgm_adjacency(r->graph, relation->edge_set, relation->receiver);
    rgm_value *x = rgmi_piece_state(r->nodes, r->graph, RGM_NODE_SET, relation->sender, NULL);
    const rgm_spmm_options mean = {.mean = true};

    if (x == NULL || rgm_width(x) == 0)
        return NULL;
    if (rgmi_sum_first(x, r->options->units))
        return project(r, own, rgm_spmm(p, x, &mean));
    return rgm_spmm(p, project(r, own, x), &mean);
}

static rgm_value *next_state(const turn *r, const char *set, const rgmi_edge_relation *relations,
                             int64_t count)
{
    rgm_scope *own = rgm_scope_enter(r->nodes, set);
    rgm_value *x = rgmi_piece_state(r->nodes, r->graph, RGM_NODE_SET, set, NULL), *y = NULL, *bias;
    rgm_dense_options self = {.l2 = r->options->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};

    if (own == NULL)
        return NULL;
    if (x != NULL && rgm_width(x) > 0)
        y = rgm_dense_with(own, "self", x, r->options->units, &self);
    for (int64_t i = 0; i < count; i++) {
        rgm_value *said = heard(r, &relations[i]);

        if (said != NULL)
            y = y != NULL ? rgm_add(y, said) : said;
    }
    if (y == NULL)
        return rgm_cgraph_fail(rgm_graph_value_cgraph(r->graph), RGM_ERR_NOT_FOUND,
                               "'%s': '%s' has neither a state nor hears of one",
                               rgm_scope_path(r->nodes), set);
    if (r->options->bias) {
        bias =
            rgm_scope_parameter(own, "bias", 1, &r->options->units, (rgm_init){RGM_INIT_ZEROS, 0});
        y = rgm_add(y, bias);
    }
    return rgm_activate(y, r->options->activation, 0.2);
}

rgm_graph_value *rgm_rgcn_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                 const rgm_rgcn_options *options)
{
    rgm_graph_value *next = (rgm_graph_value *)graph;
    rgmi_edge_relation relations[RGMI_MOST_RELATIONS];
    const rgm_schema *schema;
    turn r = {.own = rgm_scope_enter(scope, name), .graph = graph, .options = options};

    if (r.own == NULL || graph == NULL || !rgmi_positive(r.own, options->units, "units") ||
        (options->decomposition != RGM_FULL_KERNELS &&
         !rgmi_positive(r.own, options->bases, "bases")))
        return NULL;
    schema = rgm_graph_value_schema(graph);
    r.nodes = rgm_scope_enter(r.own, "nodes");
    r.edges = rgm_scope_enter(r.own, "edges");
    for (int64_t i = 0; next != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        int64_t count = 0;

        if (set->piece == RGM_NODE_SET && !rgm_is_aux_set(set->name))
            count = rgmi_relations(relations, graph, set->name, options->receivers);
        if (count < 0)
            return NULL;
        if (count > 0)
            next = rgm_with_state(next, set->name, next_state(&r, set->name, relations, count));
    }
    return next;
}
