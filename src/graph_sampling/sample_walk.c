/*
 * PinSAGE's neighbourhoods: a node's neighbours are those that random walks from it meet most
 * often, however far they are, with the share of visits as their weight.
 */
#include "whole_graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct walker {
    rgmi_whole_graph whole;
    rgm_sampler *nodes; /* of the seeds' node set alone */
    rgm_schema *schema; /* the same with the edges of walks */
    rgm_random_walk_options options;
    int64_t sizes[32];
} walker;

#define WALK_SET "walk"

static rgm_status make_schema(rgm_schema **out, const walker *self)
{
    RGM_TRY(rgm_schema_copy(out, rgm_sampler_schema(self->nodes)));
    RGM_TRY(rgm_schema_add_edge_set(*out, WALK_SET, self->whole.node_set, self->whole.node_set));
    return rgm_schema_add_feature(*out, RGM_EDGE_SET, WALK_SET, "weight", RGM_F32, 0, NULL);
}

static rgm_status walk_open(void *state, const rgm_subgraph_source *from, const void *options)
{
    static const int64_t ten = 10;
    const rgm_random_walk_options *o = options;
    walker *self = state;
    rgm_sampling_spec spec = {.seed_op = (char *)"seed", .seed_node_set = (char *)from->node_set};

    self->options = *o;
    if (o->sizes.count == 0)
        self->options.sizes = (rgm_ints){&ten, 1};
    if (o->receiver != RGM_SOURCE && o->receiver != RGM_TARGET)
        return RGM_FAIL(RGM_ERR_ARG, "random_walk: receiver is neither source nor target");
    if (self->options.sizes.count > 32 || o->walks < 1 || o->length < 1 ||
        !(o->restart >= 0 && o->restart < 1))
        return RGM_FAIL(RGM_ERR_ARG,
                        "random_walk: %lld hops, walks %lld, length %lld, restart %g; at most 32 "
                        "hops, walks and length above 0 and restart in [0, 1) are possible",
                        (long long)o->sizes.count, (long long)o->walks, (long long)o->length,
                        o->restart);
    for (int64_t i = 0; i < self->options.sizes.count; i++)
        self->sizes[i] = self->options.sizes.items[i];
    self->options.sizes.items = self->sizes;
    RGM_TRY(rgmi_whole_graph_open(&self->whole, from));
    RGM_TRY(rgm_sampler_create(&self->nodes, from->graph, &spec, from->seed));
    return make_schema(&self->schema, self);
}

static void walk_close(void *state)
{
    walker *self = state;

    rgmi_whole_graph_close(&self->whole);
    rgm_sampler_release(self->nodes);
    rgm_schema_release(self->schema);
}

/* ---- one node's neighbours ---- */

typedef struct visits {
    rgmi_node_list met;
    int64_t *count;
    int64_t *order; /* places, the most visited first */
    int64_t count_room, order_room, kept;
} visits;

static int by_visits(const void *a, const void *b, void *payload)
{
    const visits *v = payload;
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    if (v->count[x] != v->count[y])
        return v->count[x] > v->count[y] ? -1 : 1;
    return v->met.nodes[x] < v->met.nodes[y] ? -1 : 1;
}

static rgm_status visit(visits *v, int32_t node)
{
    int64_t had = v->met.count, place;

    RGM_TRY(rgmi_node_list_add(&v->met, &place, node));
    RGM_TRY(RGM_RESERVE(v->count, v->count_room, v->met.count));
    if (v->met.count > had)
        v->count[place] = 0;
    v->count[place]++;
    return RGM_OK;
}

/* Walks from `node`; those kept stand first in `order`. */
static rgm_status walk_from(visits *v, const walker *self, int64_t node, const rgm_rng *rng,
                            int64_t size)
{
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;
    uint64_t words = 0;

    v->met.count = 0;
    if (v->met.table != NULL)
        memset(v->met.table, 0, (size_t)v->met.size * sizeof *v->met.table);
    for (int64_t i = 0; i < self->options.walks; i++)
        for (int64_t step = 0, at = node; step < self->options.length; step++) {
            if (step > 0 && rgm_rng_f64(rng, words++) < self->options.restart)
                at = node;
            if (rgmi_degree(near, at) == 0)
                break;
            at =
                near->column[near->row_start[at] +
                             (int64_t)rgm_rng_below(rng, words++, (uint64_t)rgmi_degree(near, at))];
            if (at != node && at < self->whole.first[1])
                RGM_TRY(visit(v, (int32_t)at));
        }
    RGM_TRY(RGM_RESERVE(v->order, v->order_room, v->met.count + 1));
    for (int64_t k = 0; k < v->met.count; k++)
        v->order[k] = k;
    qsort_r(v->order, (size_t)v->met.count, sizeof *v->order, by_visits, v);
    v->kept = v->met.count < size ? v->met.count : size;
    return RGM_OK;
}

/* ---- draws ---- */

/* A batch as it grows: its nodes, and edges by place. */
typedef struct growing {
    rgmi_node_list list;
    int64_t *ends[2];
    float *weight;
    int64_t edges, end_room[2], weight_room;
} growing;

static rgm_status add_edges(growing *g, int64_t from, const visits *v, rgm_tag receiver)
{
    int64_t all = 0;

    for (int64_t k = 0; k < v->kept; k++)
        all += v->count[v->order[k]];
    for (int64_t k = 0; k < v->kept; k++) {
        int64_t place;

        RGM_TRY(rgmi_node_list_add(&g->list, &place, v->met.nodes[v->order[k]]));
        RGM_TRY(RGM_RESERVE(g->ends[0], g->end_room[0], g->edges + 1));
        RGM_TRY(RGM_RESERVE(g->ends[1], g->end_room[1], g->edges + 1));
        RGM_TRY(RGM_RESERVE(g->weight, g->weight_room, g->edges + 1));
        g->ends[receiver][g->edges] = from;
        g->ends[rgm_tag_reverse(receiver)][g->edges] = place;
        g->weight[g->edges++] = (float)((double)v->count[v->order[k]] / (double)all);
    }
    return RGM_OK;
}

/* Each node of a hop's frontier once: those that the hop before it was the first to meet. */
static rgm_status walk_all(growing *g, const walker *self, const int64_t *units, int64_t count,
                           uint64_t epoch)
{
    rgm_status status = RGM_OK;
    int64_t begin = 0, place;
    visits v = {0};

    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgmi_node_list_add(&g->list, &place, (int32_t)units[i]));
    for (int64_t hop = 0; hop < self->options.sizes.count; hop++) {
        int64_t end = g->list.count;

        for (; begin < end; begin++) {
            int64_t node = g->list.nodes[begin];
            rgm_rng rng = rgmi_whole_graph_rng(&self->whole, "random_walk", epoch, node);

            RGM_GO(walk_from(&v, self, node, &rng, self->sizes[hop]));
            RGM_GO(add_edges(g, begin, &v, self->options.receiver));
        }
    }
done:
    rgmi_node_list_clear(&v.met);
    rgm_free(v.count);
    rgm_free(v.order);
    return status;
}

/* The nodes with their features, then the edges. */
static rgm_status assemble(rgm_graph **out, const walker *self, const growing *g)
{
    rgm_status status = RGM_OK;
    rgmi_workspace *work = NULL;
    rgm_graph *bare = NULL, *made = NULL;
    rgm_tensor *ends[2] = {NULL, NULL};
    rgm_feature weight = {0};
    int64_t set = rgm_schema_index(self->schema, RGM_EDGE_SET, WALK_SET);

    RGM_GO(rgmi_sampler_borrow(&work, self->nodes));
    RGM_GO(RGM_RESERVE(work->known[0].nodes, work->known[0].node_room, g->list.count));
    memcpy(work->known[0].nodes, g->list.nodes, (size_t)g->list.count * sizeof *g->list.nodes);
    work->known[0].count = g->list.count;
    RGM_GO(rgmi_sampler_graph(&bare, work, self->nodes, 1));
    RGM_GO(rgm_graph_begin_from(&made, self->schema, bare));
    for (int k = 0; k < 2; k++)
        RGM_GO(rgm_tensor_create_from(&ends[k], RGM_I64, 1, &g->edges, g->ends[k]));
    RGM_GO(rgm_graph_put_items(made, set, g->edges, ends[RGM_SOURCE], ends[RGM_TARGET]));
    RGM_GO(rgm_tensor_create_from(&weight.values, RGM_F32, 1, &g->edges, g->weight));
    RGM_GO(rgm_graph_put_feature(made, set, 0, &weight));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    if (work)
        rgmi_sampler_give_back(self->nodes, work, true);
    rgm_graph_release(bare);
    rgm_graph_release(made);
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    return status;
}

static rgm_status walk_draw(rgm_graph **out, const void *state, const int64_t *units, int64_t count,
                            uint64_t epoch)
{
    const walker *self = state;
    rgm_status status = RGM_OK;
    growing g = {0};
    rgm_graph *bare = NULL;
    rgm_tensor *asked = NULL;
    int64_t place;

    *out = NULL;
    RGM_GO(walk_all(&g, self, units, count, epoch));
    RGM_GO(assemble(&bare, self, &g));
    RGM_GO(rgm_tensor_create(&asked, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++) {
        RGM_GO(rgmi_node_list_add(&g.list, &place, (int32_t)units[i])); /* is there */
        rgm_tensor_i64(asked)[i] = place;
    }
    RGM_GO(rgmi_sampler_readout(out, self->nodes, bare, asked, self->whole.label));
done:
    rgmi_node_list_clear(&g.list);
    rgm_free(g.ends[0]);
    rgm_free(g.ends[1]);
    rgm_free(g.weight);
    rgm_tensor_release(asked);
    rgm_graph_release(bare);
    return status;
}

const rgm_subgraph_sampler_type rgm_random_walk_sampler = {
    .name = "random_walk",
    .state_size = sizeof(walker),
    .open = walk_open,
    .draw = walk_draw,
    .close = walk_close,
};
