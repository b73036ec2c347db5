/*
 * shaDow: around each seed a subgraph of its own, by hops or by personalised PageRank. How deep a
 * model is then says nothing about how far it sees.
 */
#include "whole_graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct shadow {
    rgmi_whole_graph whole;
    rgm_shadow_options options;
} shadow;

static rgm_status shadow_open(void *state, const rgm_subgraph_source *from, const void *options)
{
    const rgm_shadow_options *o = options;
    shadow *self = state;

    if (o->hops < 1 || o->neighbors < 1 || o->budget < 1 || !(o->epsilon > 0) ||
        !(o->teleport > 0 && o->teleport < 1))
        return RGM_FAIL(RGM_ERR_ARG,
                        "shadow: hops %lld, neighbors %lld, budget %lld, teleport %g, epsilon %g; "
                        "all must be above 0 and teleport below 1",
                        (long long)o->hops, (long long)o->neighbors, (long long)o->budget,
                        o->teleport, o->epsilon);
    self->options = *o;
    return rgmi_whole_graph_open(&self->whole, from);
}

static void shadow_close(void *state)
{
    rgmi_whole_graph_close(&((shadow *)state)->whole);
}

/* ---- by hops ---- */

/* Floyd's draw of `size` of the node's neighbours without replacement (Bentley and Floyd 1987);
 * `chosen` has room for them. */
static void draw_neighbours(int64_t *chosen, int64_t size, int64_t degree, const rgm_rng *rng,
                            uint64_t *drawn)
{
    for (int64_t i = 0, j = degree - size; i < size; i++, j++) {
        int64_t pick = (int64_t)rgm_rng_below(rng, (*drawn)++, (uint64_t)(j + 1));

        for (int64_t k = 0; k < i; k++)
            if (chosen[k] == pick) {
                pick = j;
                break;
            }
        chosen[i] = pick;
    }
}

static rgm_status by_hops(rgmi_node_list *list, const shadow *self, const rgm_rng *rng)
{
    rgm_status status = RGM_OK;
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;
    int64_t most = self->options.neighbors, begin = 0, place, *chosen = NULL;
    uint64_t drawn = 0;

    RGM_GO(RGM_NEW(chosen, most));
    for (int64_t hop = 0; hop < self->options.hops; hop++) {
        int64_t end = list->count;

        for (; begin < end; begin++) {
            int64_t node = list->nodes[begin], degree = rgmi_degree(near, node);
            int64_t size = degree < most ? degree : most;

            draw_neighbours(chosen, size, degree, rng, &drawn);
            for (int64_t k = 0; k < size; k++)
                RGM_GO(rgmi_node_list_add(list, &place,
                                          near->column[near->row_start[node] + chosen[k]]));
        }
    }
done:
    rgm_free(chosen);
    return status;
}

/* ---- by personalised PageRank ---- */

/* What nodes [list.count] have so far; queue of those with more left than they may keep. */
typedef struct pushing {
    double *rank, *left;
    bool *waits;
    int32_t *queue; /* places */
    int64_t rank_room, left_room, wait_room, queue_room, queued;
} pushing;

static rgm_status give(pushing *p, rgmi_node_list *list, const shadow *self, int32_t node,
                       double amount)
{
    int64_t place, had = list->count;

    RGM_TRY(rgmi_node_list_add(list, &place, node));
    if (list->count > had) {
        RGM_TRY(RGM_RESERVE(p->rank, p->rank_room, list->count));
        RGM_TRY(RGM_RESERVE(p->left, p->left_room, list->count));
        RGM_TRY(RGM_RESERVE(p->waits, p->wait_room, list->count));
        p->rank[place] = p->left[place] = 0;
        p->waits[place] = false;
    }
    p->left[place] += amount;
    if (p->waits[place] || p->left[place] <= self->options.epsilon *
                                                 (double)rgmi_degree(&self->whole.neighbours, node))
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(p->queue, p->queue_room, p->queued + 1));
    p->queue[p->queued++] = (int32_t)place;
    p->waits[place] = true;
    return RGM_OK;
}

/* Push until nobody has too much left: what is kept is the rank, short of it by at most epsilon
 * for each degree. */
static rgm_status push(pushing *p, rgmi_node_list *list, const shadow *self, int32_t seed)
{
    const rgmi_sampled_neighbours *near = &self->whole.neighbours;

    RGM_TRY(give(p, list, self, seed, 1));
    for (int64_t at = 0; at < p->queued; at++) {
        int32_t place = p->queue[at], node = list->nodes[place];
        int64_t degree = rgmi_degree(near, node);
        double left = p->left[place];

        p->left[place] = 0;
        p->waits[place] = false;
        p->rank[place] += self->options.teleport * left;
        for (int64_t e = 0; e < degree; e++)
            RGM_TRY(give(p, list, self, near->column[near->row_start[node] + e],
                         (1 - self->options.teleport) * left / (double)degree));
    }
    return RGM_OK;
}

typedef struct ranked {
    double rank;
    int32_t node;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

/* The list becomes the seed and the highest ranks. */
static rgm_status by_pagerank(rgmi_node_list *list, const shadow *self, int32_t seed)
{
    rgm_status status = RGM_OK;
    pushing p = {0};
    ranked *order = NULL;
    int64_t count = 0;

    RGM_GO(push(&p, list, self, seed));
    RGM_GO(RGM_NEW(order, list->count));
    for (int64_t i = 1; i < list->count; i++)
        if (p.rank[i] > 0)
            order[count++] = (ranked){p.rank[i], list->nodes[i]};
    qsort(order, (size_t)count, sizeof *order, by_rank);
    list->count = count < self->options.budget - 1 ? count + 1 : self->options.budget;
    for (int64_t i = 1; i < list->count; i++)
        list->nodes[i] = order[i - 1].node;
done:
    rgm_free(order);
    rgm_free(p.rank);
    rgm_free(p.left);
    rgm_free(p.waits);
    rgm_free(p.queue);
    return status;
}

/* ---- draws ---- */

typedef struct one_shadow {
    const shadow *self;
    uint64_t epoch;
} one_shadow;

static rgm_status draw_one(rgm_graph **out, const void *payload, int64_t seed)
{
    const one_shadow *one = payload;
    const rgmi_whole_graph *whole = &one->self->whole;
    rgm_rng rng = rgmi_whole_graph_rng(whole, "shadow", one->epoch, seed);
    rgm_status status = RGM_OK;
    rgmi_node_list list = {0};
    int64_t place;

    *out = NULL;
    if (one->self->options.draw == RGM_SHADOW_PPR) {
        RGM_GO(by_pagerank(&list, one->self, (int32_t)seed));
    } else {
        RGM_GO(rgmi_node_list_add(&list, &place, (int32_t)seed));
        RGM_GO(by_hops(&list, one->self, &rng));
    }
    rgmi_sort_nodes(list.nodes + 1, list.count - 1); /* the seed stays first */
    RGM_GO(rgmi_whole_graph_cut(out, whole, list.nodes, list.count, &seed, 1));
done:
    rgmi_node_list_clear(&list);
    return status;
}

static rgm_status shadow_draw(rgm_graph **out, const void *state, const int64_t *units,
                              int64_t count, uint64_t epoch)
{
    return rgmi_sampler_apart(out, draw_one, &(one_shadow){state, epoch}, units, count);
}

const rgm_subgraph_sampler_type rgm_shadow_sampler = {
    .name = "shadow",
    .state_size = sizeof(shadow),
    .open = shadow_open,
    .draw = shadow_draw,
    .close = shadow_close,
};
