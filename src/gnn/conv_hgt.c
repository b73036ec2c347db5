/*
 * The heterogeneous graph transformer (Hu et al. 2020). A relation's attention kernel is multiplied
 * into the receivers' query kernel and its message kernel into the senders', so that each end of a
 * relation is one product for each node. The softmax over all relations of a receiver is taken
 * apart: what is divided by, summed over relations, divides once at the receiver.
 */
#include "gnn_internal.h"

#include <math.h>

static const int swapped[3] = {1, 0, 2};

/* One round at one node set that hears. */
typedef struct turn {
    rgm_scope *nodes, *edges; /* parameters of node sets and of edge sets */
    const rgm_graph_value *graph;
    const rgm_hgt_options *options;
    int64_t width;
    rgm_value **keys; /* [sets of the schema], made where they are first asked for */
} turn;

/* A relation at work: who hears whom, [receivers, heads] and so on. */
typedef struct relation {
    rgm_scope *own;
    rgm_value *pattern, *score, *message;
} relation;

/* The kernel [in, width] of one role of a node set, NULL where states have width 0, and its bias
 * [width] or NULL. */
static void role(rgm_value **kernel, rgm_value **bias, const turn *r, const char *set,
                 const char *name, rgm_value *x)
{
    rgm_scope *own = rgm_scope_enter(rgm_scope_enter(r->nodes, set), name);
    int64_t in = x != NULL ? rgm_width(x) : 0;

    *kernel = *bias = NULL;
    if (own == NULL || in < 0)
        return;
    if (in > 0)
        *kernel = rgmi_kernel(own, "kernel", 2, (int64_t[]){in, r->width}, r->options->l2);
    if (r->options->bias)
        *bias = rgm_scope_parameter(own, "bias", 1, &r->width, (rgm_init){RGM_INIT_ZEROS, 0});
}

/* w [n, heads * units] with each head's part times its own matrix of each [heads, units, units] */
static rgm_value *fold(const turn *r, rgm_value *w, rgm_value *each)
{
    rgm_dim shape[3] = {0, r->options->heads, r->options->units};

    if (w == NULL || each == NULL)
        return NULL;
    shape[0] = rgm_value_rank(w) == 1 ? 1 : rgm_value_dim(w, 0);
    w = rgm_permute(rgm_reshape(w, 3, shape), swapped);
    w = rgm_permute(rgm_matmul(w, each), swapped);
    shape[1] = r->width;
    return rgm_reshape(w, 2, shape);
}

/* x W + b, [n, heads, units], with `each` multiplied into W and b; each NULL: as they are */
static rgm_value *project(const turn *r, const char *set, const char *name, rgm_value *x,
                          rgm_value *each)
{
    rgm_dim shape[2] = {0, r->width};
    rgm_value *kernel, *bias, *y;

    role(&kernel, &bias, r, set, name, x);
    if (x == NULL)
        return NULL;
    if (each != NULL) {
        kernel = fold(r, kernel, each);
        bias = fold(r, bias, each);
    }
    y = rgm_width(x) > 0 ? rgm_project(x, kernel) : rgm_zero_rows(r->nodes, x, r->width);
    if (y != NULL)
        shape[0] = rgm_value_dim(y, 0);
    return bias != NULL ? rgm_add(y, bias) : rgm_reshape(y, 2, shape);
}

static rgm_value *by_head(const turn *r, rgm_value *x)
{
    rgm_dim shape[3] = {0, r->options->heads, r->options->units};

    if (x == NULL)
        return NULL;
    shape[0] = rgm_value_dim(x, 0);
    return rgm_reshape(x, 3, shape);
}

/* A matrix for each head, [heads, units, units]. */
static rgm_value *matrices(const turn *r, rgm_scope *own, const char *name)
{
    const int64_t units = r->options->units;

    return rgmi_kernel(own, name, 3, (int64_t[]){r->options->heads, units, units}, r->options->l2);
}

static rgm_value *state_of(const turn *r, const char *set)
{
    rgm_value *x = rgmi_piece_state(r->nodes, r->graph, RGM_NODE_SET, set, NULL);

    if (x == NULL)
        rgm_cgraph_fail(rgm_graph_value_cgraph(r->graph), RGM_ERR_NOT_FOUND,
                        "'%s': node set '%s' has no state; set " RGM_HIDDEN_STATE " first",
                        rgm_scope_path(r->nodes), set);
    return x;
}

/* What a node set is asked by, [nodes, heads, units]; the same for all relations. */
static rgm_value *key_of(const turn *r, const char *set, rgm_value *x)
{
    const rgm_schema *schema = rgm_graph_value_schema(r->graph);
    int64_t at = 0;

    while (rgm_schema_set(schema, at)->piece != RGM_NODE_SET ||
           strcmp(rgm_schema_set(schema, at)->name, set) != 0)
        at++;
    if (r->keys[at] == NULL)
        r->keys[at] = by_head(r, project(r, set, "key", x, NULL));
    return r->keys[at];
}

/* prior / sqrt(units) (Q A) . K of every edge, and what senders say */
static void open_relation(relation *out, const turn *r, const char *set, rgm_value *x,
                          const rgmi_edge_relation *named)
{
    rgm_scope *own = rgmi_edge_scope(r->edges, named->edge_set, named->receiver);
    rgm_dim each_head[3] = {r->options->heads, 1, 1};
    rgm_value *sender = state_of(r, named->sender), *attention, *prior, *query, *key;

    *out = (relation){.own = own,
                      .pattern = rgm_adjacency(r->graph, named->edge_set, named->receiver)};
    if (own == NULL || sender == NULL)
        return;
    attention = matrices(r, own, "attention");
    prior = rgm_scope_parameter(own, "prior", 1, &r->options->heads, (rgm_init){RGM_INIT_ONES, 0});
    prior = rgm_scale(prior, 1 / sqrt((double)r->options->units));
    attention = rgm_mul(attention, rgm_reshape(prior, 3, each_head));
    query = by_head(r, project(r, set, "query", x, attention));
    key = key_of(r, named->sender, sender);
    out->score = rgm_sddmm(out->pattern, query, key);
    out->message = project(r, named->sender, "message", sender, matrices(r, own, "message"));
}

/* The largest score of each receiver over all relations; it only keeps exponents small. */
static rgm_value *largest(const relation *relations, int64_t count)
{
    rgm_value *most = NULL;

    for (int64_t i = 0; i < count; i++) {
        rgm_value *own = rgm_pool_rows(relations[i].pattern, relations[i].score, RGM_MAX);
        most = i == 0 ? own : rgm_maximum(most, own);
    }
    return rgm_stop_gradient(most);
}

/* Messages weighted by a softmax over all relations' edges together, [receivers, width]. */
static rgm_value *attend(const turn *r, const relation *relations, int64_t count)
{
    rgm_dim shape[3] = {0, r->options->heads, 1};
    rgm_value *most, *sum = NULL, *total = NULL, *weights[RGMI_MOST_RELATIONS];
    rgm_spmm_options spmm = {0};

    if (count == 1) {
        spmm.weight = rgm_softmax_rows(relations[0].pattern, relations[0].score);
        sum = rgm_spmm(relations[0].pattern, relations[0].message, &spmm);
        rgmi_note_attention(relations[0].own, relations[0].pattern, spmm.weight, sum);
        return sum;
    }
    most = largest(relations, count);
    for (int64_t i = 0; i < count; i++) {
        rgm_value *p = relations[i].pattern, *part, *share;
        rgm_value *e = rgm_exp(rgm_sub(relations[i].score, rgm_broadcast_rows(p, most)));

        weights[i] = spmm.weight = e;
        part = rgm_spmm(p, relations[i].message, &spmm);
        share = rgm_pool_rows(p, e, RGM_SUM);
        sum = i == 0 ? part : rgm_add(sum, part);
        total = i == 0 ? share : rgm_add(total, share);
    }
    if (sum == NULL || total == NULL)
        return NULL;
    /* It is 1 or more where there are edges; without any there is nothing to divide. */
    total = rgm_floor_at(total, 0.5);
    for (int64_t i = 0; i < count; i++) { /* nothing that a step computes */
        rgm_value *p = relations[i].pattern;

        weights[i] = rgm_div(weights[i], rgm_broadcast_rows(p, total));
        rgmi_note_attention(relations[i].own, p, weights[i], sum);
    }
    shape[0] = rgm_value_dim(total, 0);
    total = rgm_reshape(total, 3, shape);
    shape[1] = r->width;
    return rgm_reshape(rgm_div(by_head(r, sum), total), 2, shape);
}

/* What is new joined with the old state, as far as that has a width. */
static rgm_value *skip(const turn *r, rgm_scope *own, rgm_value *x, rgm_value *y)
{
    const int64_t one = 1;
    rgm_value *share;

    if (rgm_width(x) == 0)
        return y;
    if (!r->options->weighted_skip)
        return rgm_add(y, x);
    share = rgm_scope_parameter(own, "skip", 1, &one, (rgm_init){RGM_INIT_ONES, 0});
    share = rgm_sigmoid(share);
    return rgm_add(x, rgm_mul(rgm_sub(y, x), share));
}

static rgm_value *next_state(const turn *r, const char *set, const rgmi_edge_relation *named,
                             int64_t count)
{
    rgm_scope *own = rgm_scope_enter(r->nodes, set);
    relation relations[RGMI_MOST_RELATIONS];
    rgm_value *x = state_of(r, set), *y;
    int64_t width = x != NULL ? rgm_width(x) : -1;

    if (own == NULL || width < 0)
        return NULL;
    if (width != 0 && (width != r->width || !rgmi_is_dense(x)))
        return rgm_cgraph_fail(
            rgm_graph_value_cgraph(r->graph), RGM_ERR_SHAPE,
            "'%s': the state of '%s' is %lld wide; it is dense and heads * units "
            "(%lld) wide, or has width 0",
            rgm_scope_path(r->nodes), set, (long long)width, (long long)r->width);
    for (int64_t i = 0; i < count; i++)
        open_relation(&relations[i], r, set, x, &named[i]);
    y = rgm_activate(attend(r, relations, count), r->options->activation, 0.2);
    y = rgm_dropout(own, project(r, set, "output", y, NULL), r->options->dropout);
    y = skip(r, own, x, y);
    return r->options->layer_norm ? rgm_layer_norm(own, "layer_norm", y) : y;
}

/* New states of all sets that hear; all hear the old ones. */
static rgm_graph_value *update(const turn *r)
{
    const rgm_schema *schema = rgm_graph_value_schema(r->graph);
    rgm_graph_value *next = (rgm_graph_value *)r->graph;
    rgmi_edge_relation relations[RGMI_MOST_RELATIONS];

    for (int64_t i = 0; next != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        int64_t count = 0;

        if (set->piece == RGM_NODE_SET && !rgm_is_aux_set(set->name))
            count = rgmi_relations(relations, r->graph, set->name, r->options->receivers);
        if (count < 0)
            return NULL;
        if (count > 0)
            next = rgm_with_state(next, set->name, next_state(r, set->name, relations, count));
    }
    return next;
}

rgm_graph_value *rgm_hgt_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                const rgm_hgt_options *options)
{
    rgm_scope *own = rgm_scope_enter(scope, name);
    turn r = {.graph = graph, .options = options};
    rgm_graph_value *next = NULL;

    if (own == NULL || graph == NULL || !rgmi_positive(own, options->heads, "heads") ||
        !rgmi_positive(own, options->units, "units"))
        return NULL;
    r.nodes = rgm_scope_enter(own, "nodes");
    r.edges = rgm_scope_enter(own, "edges");
    r.width = options->heads * options->units;
    if (RGM_NEW(r.keys, rgm_schema_set_count(rgm_graph_value_schema(graph))) == RGM_OK)
        next = update(&r);
    else
        rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: keys");
    rgm_free(r.keys);
    return next;
}
