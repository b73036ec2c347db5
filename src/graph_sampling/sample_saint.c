/*
 * GraphSAINT: subgraphs of random nodes, edges or walks, and the weights that undo the bias of the
 * draw. A draw is `budget` independent trials; with q the probability that one of them has a node
 * (or both ends of an edge), all of them miss it with (1 - q)^budget, and the probabilities that
 * weights are made of follow from that without counting whole subgraphs.
 */
#include "whole_graph.h"

#include <math.h>
#include <string.h>

typedef struct saint {
    rgmi_whole_graph whole;
    rgm_saint_options options;
    double *sum;  /* node, edge: sums of the trials' weights, by node or by entry of near  */
    double *one;  /* [nodes] q of each node                                                */
    float *both;  /* walk: [entries of near] q of both ends; NULL: by formula              */
    double total; /* of sum                                                                */
    int64_t steps;
    const rgm_csr **degrees; /* [ops] rows of the receivers                                  */
} saint;

/* ---- probabilities ---- */

/* That none of `budget` trials has what one of them has with probability q. */
static double missed(const saint *self, double q)
{
    return q >= 1 ? 0 : exp((double)self->options.budget * log1p(-q));
}

static double drawn(const saint *self, int64_t node)
{
    return 1 - missed(self, self->one[node]);
}

/* The entry of neighbour v in u's row. */
static int64_t entry_of(const rgmi_sampled_neighbours *near, int64_t u, int64_t v)
{
    int64_t low = near->row_start[u], high = near->row_start[u + 1];

    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (near->column[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What an edge weighs in the draw of edges. */
static double edge_weight(const rgmi_sampled_neighbours *near, int64_t u, int64_t v)
{
    return 1 / (double)rgmi_degree(near, u) + 1 / (double)rgmi_degree(near, v);
}

/* That a subgraph has both neighbours. */
static double both_drawn(const saint *self, int64_t u, int64_t v)
{
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;
    double a = self->one[u], b = self->one[v], ab = 0, p, least;

    if (u == v)
        return drawn(self, u);
    if (self->options.draw == RGM_SAINT_EDGE)
        ab = edge_weight(near, u, v) / self->total;
    else if (self->both != NULL)
        ab = (double)self->both[entry_of(near, u < v ? u : v, u < v ? v : u)];
    p = 1 - missed(self, a) - missed(self, b) + missed(self, a + b - ab);
    least = 1 - missed(self, ab); /* of counted walks; and no difference is below 0 */
    if (self->options.draw == RGM_SAINT_NODE)
        least = 1e-300;
    return p > least ? p : least;
}

/* ---- opening ---- */

/* Nodes by degree; one more, so that none is never drawn. */
static rgm_status weigh_nodes(saint *self)
{
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;

    RGM_TRY(RGM_NEW(self->sum, near->nodes + 1));
    for (int64_t v = 0; v < near->nodes; v++)
        self->sum[v + 1] = self->sum[v] + 1 + (double)rgmi_degree(near, v);
    self->total = self->sum[near->nodes];
    for (int64_t v = 0; v < near->nodes; v++)
        self->one[v] = (1 + (double)rgmi_degree(near, v)) / self->total;
    return RGM_OK;
}

/* Each pair of neighbours once, at the entry of the lower. */
static rgm_status weigh_edges(saint *self)
{
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;

    RGM_TRY(RGM_NEW(self->sum, near->row_start[near->nodes] + 1));
    for (int64_t u = 0; u < near->nodes; u++)
        for (int64_t e = near->row_start[u]; e < near->row_start[u + 1]; e++)
            self->sum[e + 1] =
                self->sum[e] + (near->column[e] > u ? edge_weight(near, u, near->column[e]) : 0);
    self->total = self->sum[near->row_start[near->nodes]];
    if (!(self->total > 0))
        return RGM_FAIL(RGM_ERR_DATA, "saint: the graph has no edges to draw");
    for (int64_t u = 0; u < near->nodes; u++)
        for (int64_t e = near->row_start[u]; e < near->row_start[u + 1]; e++)
            self->one[u] += edge_weight(near, u, near->column[e]) / self->total;
    return RGM_OK;
}

/* The nodes of one walk from `root`, each once; returns how many. */
static int64_t walk(int32_t *nodes, const saint *self, int64_t root, const rgm_rng *rng,
                    uint64_t *drawn_words)
{
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;
    int64_t count = 1, at = root;

    nodes[0] = (int32_t)root;
    for (int64_t step = 0; step < self->options.length && rgmi_degree(near, at) > 0; step++) {
        int64_t k = 0, pick = (int64_t)rgm_rng_below(rng, (*drawn_words)++,
                                                     (uint64_t)rgmi_degree(near, at));

        at = near->column[near->row_start[at] + pick];
        while (k < count && nodes[k] != at)
            k++;
        nodes[k] = (int32_t)at;
        count += k == count;
    }
    return count;
}

/* Whom a walk meets, and which neighbours together. */
static void count_walk(saint *self, const int32_t *nodes, int64_t count, double share)
{
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;

    for (int64_t i = 0; i < count; i++) {
        self->one[nodes[i]] += share;
        for (int64_t k = 0; k < count; k++) {
            int64_t e;
            if (nodes[k] <= nodes[i])
                continue;
            e = entry_of(near, nodes[i], nodes[k]);
            if (e < near->row_start[nodes[i] + 1] && near->column[e] == nodes[k])
                self->both[e] += (float)share;
        }
    }
}

/* Roots are uniform, so walks from each node in equal number are counted. */
static rgm_status count_walks(saint *self)
{
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;
    double share = 1 / ((double)self->options.walks * (double)near->nodes);
    rgm_rng rng = rgmi_whole_graph_rng(&self->whole, "saint/count", 0, 0);
    uint64_t words = 0;
    int32_t *nodes;

    RGM_TRY(RGM_NEW(self->both, near->row_start[near->nodes]));
    RGM_TRY(RGM_NEW(nodes, self->options.length + 1));
    for (int64_t root = 0; root < near->nodes; root++)
        for (int64_t i = 0; i < self->options.walks; i++)
            count_walk(self, nodes, walk(nodes, self, root, &rng, &words), share);
    rgm_free(nodes);
    /* The first step alone meets neighbours as often as this. */
    for (int64_t u = 0; u < near->nodes; u++)
        for (int64_t e = near->row_start[u]; e < near->row_start[u + 1]; e++) {
            double least = edge_weight(near, u, near->column[e]) / (double)near->nodes;
            if (near->column[e] > u && (double)self->both[e] < least)
                self->both[e] = (float)least;
        }
    return RGM_OK;
}

static rgm_status find_degrees(saint *self)
{
    const rgm_sampler *sampler = self->whole.sampler;

    RGM_TRY(RGM_NEW(self->degrees, sampler->op_count));
    for (int64_t i = 0; i < sampler->op_count; i++) {
        int64_t set = sampler->edge_sets[sampler->ops[i].edges].set;
        rgm_pattern *pattern;

        RGM_TRY(rgm_graph_adjacency(&pattern, sampler->graph,
                                    rgm_schema_set(sampler->schema, set)->name,
                                    self->options.receiver));
        self->degrees[i] = rgm_pattern_by_row(pattern);
    }
    return RGM_OK;
}

/* Seeds that no trial can have, and how many draws have about as many nodes as the graph. */
static void look_at(saint *self)
{
    const rgmi_whole_graph *whole = &self->whole;
    int64_t never = 0, seeds = rgm_tensor_count(whole->seeds);
    double nodes = 0;

    for (int64_t i = 0; i < seeds; i++)
        never += !(self->one[rgm_tensor_i64(whole->seeds)[i]] > 0);
    for (int64_t v = 0; v < whole->neighbours.nodes; v++)
        nodes += drawn(self, v);
    self->steps = self->options.steps;
    if (self->steps == 0)
        self->steps = (int64_t)ceil((double)whole->neighbours.nodes / nodes - 1e-9);
    rgm_log_write(RGM_LOG_INFO, "saint: %lld draws an epoch of about %.0f of %lld nodes each",
                  (long long)self->steps, nodes, (long long)whole->neighbours.nodes);
    if (never > 0)
        rgm_log_write(RGM_LOG_WARNING,
                      "saint: %lld of %lld nodes that are trained on have no edge and are never "
                      "drawn; draw: node has them too",
                      (long long)never, (long long)seeds);
}

static rgm_status saint_open(void *state, const rgm_subgraph_source *from, const void *options)
{
    const rgm_saint_options *o = options;
    saint *self = state;

    if (o->budget < 1 || o->length < 1 || o->steps < 0 || o->walks < 1)
        return RGM_FAIL(RGM_ERR_ARG,
                        "saint: budget %lld, length %lld, walks %lld must be above 0, steps %lld "
                        "not below",
                        (long long)o->budget, (long long)o->length, (long long)o->walks,
                        (long long)o->steps);
    self->options = *o;
    RGM_TRY(rgmi_whole_graph_open(&self->whole, from));
    RGM_TRY(RGM_NEW(self->one, self->whole.neighbours.nodes));
    switch (o->draw) {
    case RGM_SAINT_NODE:
        RGM_TRY(weigh_nodes(self));
        break;
    case RGM_SAINT_EDGE:
        RGM_TRY(weigh_edges(self));
        break;
    case RGM_SAINT_WALK:
        RGM_TRY(count_walks(self));
        break;
    }
    RGM_TRY(find_degrees(self));
    look_at(self);
    return RGM_OK;
}

static void saint_close(void *state)
{
    saint *self = state;

    rgmi_whole_graph_close(&self->whole);
    rgm_free(self->sum);
    rgm_free(self->one);
    rgm_free(self->both);
    rgm_free(self->degrees);
}

static rgm_status saint_units(rgm_tensor **out, const void *state)
{
    return rgm_tensor_arange(out, ((const saint *)state)->steps);
}

/* ---- weights ---- */

static rgm_status add_weights(rgm_graph **graph, rgm_piece piece, const char *set,
                              rgm_tensor *weights)
{
    rgm_feature feature = {.values = weights};
    rgm_graph *with = NULL;

    RGM_TRY(rgm_graph_with_feature(&with, *graph, piece, set, RGM_SAMPLING_WEIGHT, &feature));
    rgm_graph_release(*graph);
    *graph = with;
    return RGM_OK;
}

/* The numbers of a set's nodes in the whole; the graph is the whole one where it has no "#id". */
static int64_t ground_number(const rgm_feature *id, int64_t first, int64_t node)
{
    return first + (id != NULL ? rgm_tensor_i64(id->values)[node] : node);
}

static rgm_status weigh_set(rgm_graph **graph, const saint *self, int64_t op, bool drawn_graph)
{
    rgm_status status = RGM_OK;
    const rgm_sampler *sampler = self->whole.sampler;
    const rgmi_sampled_edges *edges = &sampler->edge_sets[sampler->ops[op].edges];
    const rgm_set_schema *set = rgm_schema_set(sampler->schema, edges->set);
    const rgm_feature *id[2] = {NULL, NULL};
    const int64_t *ends[2] = {rgm_tensor_i64(rgm_graph_source(*graph, set->name)),
                              rgm_tensor_i64(rgm_graph_target(*graph, set->name))};
    int64_t count = rgm_graph_total(*graph, RGM_EDGE_SET, set->name);
    int64_t first[2] = {self->whole.first[edges->ends[RGM_SOURCE]],
                        self->whole.first[edges->ends[RGM_TARGET]]};
    rgm_tag at = self->options.receiver;
    rgm_tensor *weights = NULL;

    if (drawn_graph) {
        id[0] = rgm_graph_feature(*graph, RGM_NODE_SET, set->source, "#id");
        id[1] = rgm_graph_feature(*graph, RGM_NODE_SET, set->target, "#id");
    }
    RGM_GO(rgm_tensor_create(&weights, RGM_F32, 1, &count));
    for (int64_t e = 0; e < count; e++) {
        int64_t number[2] = {ground_number(id[0], first[0], ends[0][e]),
                             ground_number(id[1], first[1], ends[1][e])};
        int64_t row = number[at] - first[at];
        const int64_t *row_start = self->degrees[op]->row_start;
        double weight = 1 / (double)(row_start[row + 1] - row_start[row]);

        if (drawn_graph)
            weight *= drawn(self, number[at]) / both_drawn(self, number[0], number[1]);
        rgm_tensor_f32(weights)[e] = (float)weight;
    }
    RGM_GO(add_weights(graph, RGM_EDGE_SET, set->name, weights));
done:
    rgm_tensor_release(weights);
    return status;
}

/* asked [count]: what the readout items are about; NULL: of the whole graph, weights are 1. */
static rgm_status weigh_all(rgm_graph **graph, const saint *self, const int64_t *asked,
                            int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_tensor *weights = NULL;
    double seeds = (double)rgm_tensor_count(self->whole.seeds);

    for (int64_t i = 0; i < self->whole.sampler->op_count; i++)
        RGM_GO(weigh_set(graph, self, i, asked != NULL));
    RGM_GO(rgm_tensor_create(&weights, RGM_F32, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_f32(weights)[i] =
            (float)(asked != NULL ? 1 / (drawn(self, asked[i]) * seeds) : 1);
    RGM_GO(add_weights(graph, RGM_NODE_SET, RGM_READOUT, weights));
done:
    rgm_tensor_release(weights);
    return status;
}

/* ---- draws ---- */

/* Where a uniform number falls among `count` ascending sums. */
static int64_t among(const double *sum, int64_t count, double at)
{
    int64_t low = 0, high = count;

    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (sum[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The lower end of an entry: the row that it stands in. */
static int64_t row_of(const rgmi_sampled_neighbours *near, int64_t entry)
{
    int64_t low = 0, high = near->nodes;

    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (near->row_start[middle] <= entry)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* One trial's nodes. */
static int64_t try_once(int32_t *nodes, const saint *self, const rgm_rng *rng, uint64_t *words)
{
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;
    double at;

    if (self->options.draw == RGM_SAINT_WALK) {
        int64_t root = (int64_t)rgm_rng_below(rng, (*words)++, (uint64_t)near->nodes);
        return walk(nodes, self, root, rng, words);
    }
    at = rgm_rng_f64(rng, (*words)++) * self->total;
    if (self->options.draw == RGM_SAINT_NODE) {
        nodes[0] = (int32_t)among(self->sum, near->nodes, at);
        return 1;
    }
    {
        int64_t entry = among(self->sum, near->row_start[near->nodes], at);
        nodes[0] = (int32_t)row_of(near, entry);
        nodes[1] = near->column[entry];
    }
    return 2;
}

static rgm_status draw_nodes(rgmi_node_list *list, const saint *self, const rgm_rng *rng)
{
    int64_t place, room = self->options.length + 1 > 2 ? self->options.length + 1 : 2;
    rgm_status status = RGM_OK;
    uint64_t words = 0;
    int32_t *nodes = NULL;

    list->count = 0;
    if (list->table != NULL)
        memset(list->table, 0, (size_t)list->size * sizeof *list->table);
    RGM_GO(RGM_NEW(nodes, room));
    for (int64_t i = 0; i < self->options.budget; i++) {
        int64_t count = try_once(nodes, self, rng, &words);
        for (int64_t k = 0; k < count; k++)
            RGM_GO(rgmi_node_list_add(list, &place, nodes[k]));
    }
    rgmi_sort_nodes(list->nodes, list->count);
done:
    rgm_free(nodes);
    return status;
}

static int64_t seeds_among(int64_t *asked, const saint *self, const rgmi_node_list *list)
{
    int64_t count = 0;

    for (int64_t i = 0; i < list->count && list->nodes[i] < self->whole.first[1]; i++)
        if (self->whole.is_seed[list->nodes[i]])
            asked[count++] = list->nodes[i];
    return count;
}

typedef struct one_draw {
    const saint *self;
    uint64_t epoch;
} one_draw;

/* A subgraph without a seed has no loss: another is drawn, which large budgets never meet. */
static rgm_status draw_one(rgm_graph **out, const void *payload, int64_t unit)
{
    enum { TRIES = 1000 };
    const one_draw *one = payload;
    const saint *self = one->self;
    rgm_status status = RGM_OK;
    rgmi_node_list list = {0};
    int64_t *asked = NULL, count = 0, asked_room = 0;

    *out = NULL;
    for (int64_t again = 0; count == 0; again++) {
        rgm_rng rng = rgmi_whole_graph_rng(&self->whole, "saint", one->epoch, unit);

        rng.step = (uint64_t)again;
        if (again == TRIES)
            RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                            "saint: %d subgraphs in a row have none of the nodes that are trained "
                            "on; a larger budget finds some",
                            TRIES));
        RGM_GO(draw_nodes(&list, self, &rng));
        RGM_GO(RGM_RESERVE(asked, asked_room, list.count));
        count = seeds_among(asked, self, &list);
    }
    RGM_GO(rgmi_whole_graph_cut(out, &self->whole, list.nodes, list.count, asked, count));
    RGM_GO(weigh_all(out, self, asked, count));
done:
    rgmi_node_list_clear(&list);
    rgm_free(asked);
    if (status != RGM_OK) {
        rgm_graph_release(*out);
        *out = NULL;
    }
    return status;
}

static rgm_status saint_draw(rgm_graph **out, const void *state, const int64_t *units,
                             int64_t count, uint64_t epoch)
{
    return rgmi_sampler_apart(out, draw_one, &(one_draw){state, epoch}, units, count);
}

static rgm_status saint_dress(rgm_graph **graph, const void *state)
{
    return weigh_all(graph, state, NULL, rgm_graph_total(*graph, RGM_NODE_SET, RGM_READOUT));
}

const rgm_subgraph_sampler_type rgm_saint_sampler = {
    .name = "saint",
    .state_size = sizeof(saint),
    .open = saint_open,
    .units = saint_units,
    .draw = saint_draw,
    .judges_whole = true,
    .dress = saint_dress,
    .close = saint_close,
};
