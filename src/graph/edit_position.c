/*
 * Where a node stands in its graph, as numbers: how a random walk comes back to it, and the smooth
 * eigenvectors of its component.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "edit.h"

/* A component's edges by where they begin. */
typedef struct out_edges {
    int64_t n, first; /* nodes, the number of the first of them */
    int64_t *start;   /* [n + 1]                                */
    int64_t *node;    /* [edges] numbered from 0                */
} out_edges;

static void out_edges_clear(out_edges *g)
{
    rgm_free(g->start);
    rgm_free(g->node);
    *g = (out_edges){0};
}

/* Edges `begin` .. begin + count - 1; `both` gives each in both directions. */
static rgm_status out_edges_create(out_edges *g, const rgmi_items *edges, int64_t begin,
                                   int64_t count, int64_t first, int64_t n, bool both)
{
    const int64_t *ends[2] = {rgm_tensor_i64(edges->source), rgm_tensor_i64(edges->target)};

    *g = (out_edges){.n = n, .first = first};
    RGM_TRY(RGM_NEW(g->start, n + 2));
    RGM_TRY(RGM_NEW(g->node, count * (both ? 2 : 1)));
    for (int way = 0; way < 1 + both; way++)
        for (int64_t e = begin; e < begin + count; e++)
            g->start[ends[way][e] - first + 2]++;
    for (int64_t i = 2; i < n + 2; i++)
        g->start[i] += g->start[i - 1];
    for (int way = 0; way < 1 + both; way++)
        for (int64_t e = begin; e < begin + count; e++)
            g->node[g->start[ends[way][e] - first + 1]++] = ends[1 - way][e] - first;
    return RGM_OK;
}

/* What a component's nodes get: `row` [n, width] f32. */
typedef rgm_status place_nodes(float *row, int64_t width, const out_edges *g);

static rgm_status each_component(rgm_tensor **out, const rgm_graph *graph, const char *edge_set,
                                 int64_t width, bool both, place_nodes *place)
{
    rgm_status status = RGM_OK;
    const rgmi_items *edges, *nodes;
    rgm_tensor *made = NULL;
    out_edges g = {0};
    int64_t set, edge = 0, node = 0, shape[2] = {0, width};

    *out = NULL;
    if (width < 1 || width > 4096)
        return RGM_FAIL(RGM_ERR_ARG, "%lld numbers for each node, must be 1 to 4096",
                        (long long)width);
    RGM_GO(rgmi_edit_loop_set(&set, graph, edge_set, "positions need"));
    RGM_GO(rgmi_items_whole(graph->sets[set].items));
    edges = graph->sets[set].items;
    nodes =
        graph->sets[rgm_schema_index(graph->schema, RGM_NODE_SET, graph->schema->sets[set]->source)]
            .items;
    shape[0] = nodes->total;
    RGM_GO(rgm_tensor_create(&made, RGM_F32, 2, shape));
    for (int64_t c = 0; c < nodes->components; c++) {
        RGM_GO(out_edges_create(&g, edges, edge, edges->sizes[c], node, nodes->sizes[c], both));
        RGM_GO(place(rgm_tensor_f32(made) + node * width, width, &g));
        out_edges_clear(&g);
        edge += edges->sizes[c];
        node += nodes->sizes[c];
    }
    *out = made;
    made = NULL;
done:
    out_edges_clear(&g);
    rgm_tensor_release(made);
    return status;
}

/* ---- random walks --------------------------------------------------------------------------- */

/* One step of the probabilities of where a walk is. */
static void step(double *next, const double *now, const out_edges *g)
{
    memset(next, 0, (size_t)g->n * sizeof *next);
    for (int64_t i = 0; i < g->n; i++) {
        int64_t ways = g->start[i + 1] - g->start[i];

        for (int64_t k = g->start[i]; now[i] > 0 && k < g->start[i + 1]; k++)
            next[g->node[k]] += now[i] / (double)ways;
    }
}

static rgm_status walk(float *row, int64_t width, const out_edges *g)
{
    rgm_status status = RGM_OK;
    double *now = NULL, *next = NULL;

    RGM_GO(RGM_NEW(now, g->n));
    RGM_GO(RGM_NEW(next, g->n));
    for (int64_t i = 0; i < g->n; i++) {
        memset(now, 0, (size_t)g->n * sizeof *now);
        now[i] = 1;
        for (int64_t k = 0; k < width; k++) {
            double *kept = now;

            step(next, now, g);
            now = next;
            next = kept;
            row[i * width + k] = (float)now[i];
        }
    }
done:
    rgm_free(now);
    rgm_free(next);
    return status;
}

rgm_status rgm_graph_random_walk(rgm_tensor **out, const rgm_graph *graph, const char *edge_set,
                                 int64_t steps)
{
    return each_component(out, graph, edge_set, steps, false, walk);
}

/* ---- eigenvectors --------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Each neighbour once, and nobody is his own. */
static void make_simple(rgmi_laplacian_graph *out, const out_edges *g)
{
    int64_t kept = 0, begin = 0;

    *out = (rgmi_laplacian_graph){.n = g->n, .start = g->start, .node = g->node};
    for (int64_t i = 0; i < g->n; i++) {
        int64_t end = g->start[i + 1], last = -1;

        if (end > begin)
            qsort(g->node + begin, (size_t)(end - begin), sizeof *g->node, by_number);
        g->start[i] = kept;
        for (int64_t k = begin; k < end; k++) {
            if (g->node[k] != last && g->node[k] != i)
                g->node[kept++] = g->node[k];
            last = g->node[k];
        }
        begin = end;
    }
    g->start[g->n] = kept;
}

/* 1 or -1: so that the largest entry is positive. Entries as good as equal count as such, or
 * rounding would choose among them. */
static double sign_of(const double *vector, int64_t n)
{
    double most = 0;
    int64_t at = 0;

    for (int64_t i = 0; i < n; i++)
        if (fabs(vector[i]) > most * (1 + 1e-6)) {
            most = fabs(vector[i]);
            at = i;
        }
    return vector[at] < 0 ? -1 : 1;
}

static rgm_status smooth(float *row, int64_t width, const out_edges *g)
{
    const int64_t dense = 128;
    rgm_status status = RGM_OK;
    rgmi_laplacian_graph neighbours;
    double *values = NULL, *vectors = NULL;
    int64_t found;

    make_simple(&neighbours, g);
    RGM_GO(RGM_NEW(values, width));
    RGM_GO(RGM_NEW(vectors, width * g->n));
    RGM_GO(rgmi_spectrum(values, vectors, &found, &neighbours, width, dense));
    for (int64_t k = 0; k < found; k++) {
        double sign = sign_of(vectors + k * g->n, g->n);

        for (int64_t i = 0; i < g->n; i++)
            row[i * width + k] = (float)(sign * vectors[k * g->n + i]);
    }
done:
    rgm_free(values);
    rgm_free(vectors);
    return status;
}

rgm_status rgm_graph_laplacian(rgm_tensor **out, const rgm_graph *graph, const char *edge_set,
                               int64_t count)
{
    return each_component(out, graph, edge_set, count, true, smooth);
}

/* ---- signs ---------------------------------------------------------------------------------- */

/* A copy of values [nodes, width], each column of a component by a sign of its own. */
static rgm_status flipped(rgm_tensor **out, const rgm_tensor *values, const rgmi_items *nodes,
                          int64_t width, const rgm_rng *rng)
{
    int64_t node = 0;

    RGM_TRY(
        rgm_tensor_create_from(out, RGM_F32, 2, rgm_tensor_shape(values), rgm_tensor_data(values)));
    for (int64_t c = 0; c < nodes->components; node += nodes->sizes[c++])
        for (int64_t k = 0; k < width; k++)
            for (int64_t i = 0;
                 rgm_rng_u32(rng, (uint64_t)(c * width + k)) & 1 && i < nodes->sizes[c]; i++)
                rgm_tensor_f32(*out)[(node + i) * width + k] *= -1;
    return RGM_OK;
}

rgm_status rgm_graph_flip_signs(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                const char *feature, const rgm_rng *rng)
{
    rgm_status status = RGM_OK;
    const rgm_feature_schema *schema;
    rgm_feature value = {0};
    int64_t set, column;

    *out = NULL;
    RGM_GO(rgmi_graph_set(&set, graph, RGM_NODE_SET, node_set));
    RGM_GO(rgmi_feature_require(&column, graph->schema->sets[set], feature));
    schema = &graph->schema->sets[set]->features[column];
    if (schema->dtype != RGM_F32 || schema->rank != 1 || schema->shape[0] < 0 ||
        graph->sets[set].columns[column] == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG,
                        "feature '%s' of node set '%s' must be there, as DT_FLOAT of shape [k]",
                        feature, node_set));
    RGM_GO(flipped(&value.values, graph->sets[set].columns[column]->value.values,
                   graph->sets[set].items, schema->shape[0], rng));
    RGM_GO(rgm_graph_with_feature(out, graph, RGM_NODE_SET, node_set, feature, &value));
done:
    rgm_feature_clear(&value);
    return status;
}
