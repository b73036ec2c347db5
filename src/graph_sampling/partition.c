/*
 * A balanced cut of a graph's nodes, multilevel (Karypis and Kumar, SIAM J. Sci. Comput. 1998):
 * match neighbours along heavy edges until the graph is small, grow parts there, and on the way
 * back move single nodes to the part that most of their edges lead to. At the end every part is
 * within its bound: what is too much moves to where it costs least.
 */
#include "whole_graph.h"

#include <string.h>

/* A level: nodes of some weight, edges of some weight, and where the finer level's nodes went. */
typedef struct level {
    int64_t nodes;
    int64_t *row_start;
    int32_t *column;
    int32_t *edge_weight; /* of each entry */
    int32_t *weight;      /* of each node */
    int32_t *coarse;      /* [nodes] its node one level up */
} level;

enum { MOST_LEVELS = 48 };

typedef struct cutting {
    level levels[MOST_LEVELS];
    int level_count;
    int64_t parts, bound, seed;
    int32_t *part;    /* of the level at work; its memory is the finest's */
    int32_t *finer;   /* the same for the next */
    int64_t *load;    /* [parts] weight */
    int64_t *towards; /* [parts] edge weight from the node at work */
    int64_t *order;   /* [nodes] */
    int32_t *touched; /* parts that `towards` has something for */
} cutting;

static void clear_level(level *l)
{
    rgm_free(l->row_start);
    rgm_free(l->column);
    rgm_free(l->edge_weight);
    rgm_free(l->weight);
    rgm_free(l->coarse);
}

static void clear(cutting *self)
{
    for (int i = 0; i < self->level_count; i++)
        clear_level(&self->levels[i]);
    rgm_free(self->part);
    rgm_free(self->finer);
    rgm_free(self->load);
    rgm_free(self->towards);
    rgm_free(self->order);
    rgm_free(self->touched);
}

static void shuffle(cutting *self, const char *name, int round, int64_t nodes)
{
    rgm_rng rng = rgm_rng_stream((uint64_t)self->seed, name, (uint64_t)round);

    rgm_rng_permutation(&rng, self->order, nodes);
}

/* ---- coarser ---- */

/* Pairs along the heaviest edge to a free neighbour that is not too heavy together; coarse numbers
 * in the order of the first of each pair. Returns how many. */
static int64_t match(level *l, cutting *self, int round)
{
    int64_t most = self->bound / 4 > 1 ? self->bound / 4 : 1, count = 0;
    int32_t *mate = self->finer; /* as memory */

    shuffle(self, "partition/match", round, l->nodes);
    memset(mate, 0xff, (size_t)l->nodes * sizeof *mate);
    for (int64_t i = 0; i < l->nodes; i++) {
        int64_t node = self->order[i], best = -1, heaviest = 0;

        if (mate[node] >= 0)
            continue;
        for (int64_t e = l->row_start[node]; e < l->row_start[node + 1]; e++) {
            int64_t other = l->column[e];
            if (mate[other] < 0 && l->edge_weight[e] > heaviest &&
                l->weight[node] + l->weight[other] <= most) {
                heaviest = l->edge_weight[e];
                best = other;
            }
        }
        mate[node] = (int32_t)(best >= 0 ? best : node);
        if (best >= 0)
            mate[best] = (int32_t)node;
    }
    for (int64_t node = 0; node < l->nodes; node++)
        l->coarse[node] = mate[node] < node ? l->coarse[mate[node]] : (int32_t)count++;
    return count;
}

/* Add the finer node's edges to the coarse row at work; `place` [coarse nodes] is -1 outside it. */
static int64_t add_row(level *to, const level *from, int64_t node, int64_t row_begin, int64_t at,
                       int32_t self_number, int64_t *place)
{
    for (int64_t e = from->row_start[node]; e < from->row_start[node + 1]; e++) {
        int32_t other = from->coarse[from->column[e]];

        if (other == self_number)
            continue;
        if (place[other] < row_begin) {
            place[other] = at;
            to->column[at] = other;
            to->edge_weight[at++] = 0;
        }
        to->edge_weight[place[other]] += from->edge_weight[e];
    }
    return at;
}

static rgm_status contract(level *to, const level *from, int64_t count)
{
    rgm_status status = RGM_OK;
    int32_t *second = NULL, *first = NULL;
    int64_t *place = NULL, at = 0;

    to->nodes = count;
    RGM_GO(RGM_NEW(to->row_start, count + 1));
    RGM_GO(RGM_NEW(to->column, from->row_start[from->nodes]));
    RGM_GO(RGM_NEW(to->edge_weight, from->row_start[from->nodes]));
    RGM_GO(RGM_NEW(to->weight, count));
    RGM_GO(RGM_NEW(to->coarse, count));
    RGM_GO(RGM_NEW(first, count));
    RGM_GO(RGM_NEW(second, count));
    RGM_GO(RGM_NEW(place, count));
    for (int64_t node = 0; node < count; node++)
        first[node] = second[node] = -1;
    memset(place, 0xff, (size_t)count * sizeof *place);
    for (int64_t node = 0; node < from->nodes; node++) {
        int32_t coarse = from->coarse[node];
        if (first[coarse] < 0)
            first[coarse] = (int32_t)node;
        else
            second[coarse] = (int32_t)node;
        to->weight[coarse] += from->weight[node];
    }
    for (int64_t node = 0; node < count; node++) {
        int64_t begin = at;
        at = add_row(to, from, first[node], begin, at, (int32_t)node, place);
        if (second[node] >= 0)
            at = add_row(to, from, second[node], begin, at, (int32_t)node, place);
        to->row_start[node + 1] = at;
    }
done:
    rgm_free(first);
    rgm_free(second);
    rgm_free(place);
    return status;
}

static rgm_status coarsen(cutting *self)
{
    while (self->level_count < MOST_LEVELS) {
        level *from = &self->levels[self->level_count - 1];
        int64_t count;

        if (from->nodes <= 8 * self->parts)
            break;
        count = match(from, self, self->level_count);
        if (count > from->nodes - from->nodes / 20)
            break;
        self->level_count++;
        RGM_TRY(contract(from + 1, from, count));
    }
    return RGM_OK;
}

/* ---- parts ---- */

static void weigh(cutting *self, const level *l)
{
    memset(self->load, 0, (size_t)self->parts * sizeof *self->load);
    for (int64_t node = 0; node < l->nodes; node++)
        self->load[self->part[node]] += l->weight[node];
}

/* The coarsest nodes in the order of a walk through neighbours, cut into equal shares. */
static void grow(cutting *self, const level *l, int64_t total)
{
    int64_t *queue = self->order, head = 0, tail = 0, next = 0, sum = 0;
    int32_t *seen = self->finer; /* as memory */

    memset(seen, 0, (size_t)l->nodes * sizeof *seen);
    while (head < l->nodes) {
        int64_t node;

        if (head == tail) {
            while (seen[next])
                next++;
            seen[next] = 1;
            queue[tail++] = next;
        }
        node = queue[head++];
        /* By the middle of its weight, so that shares are even. */
        self->part[node] = (int32_t)((2 * sum + l->weight[node]) * self->parts / (2 * total));
        sum += l->weight[node];
        for (int64_t e = l->row_start[node]; e < l->row_start[node + 1]; e++)
            if (!seen[l->column[e]]) {
                seen[l->column[e]] = 1;
                queue[tail++] = l->column[e];
            }
    }
}

/* Where the node's edges lead: weights in `towards`, the parts in `touched`; returns how many. */
static int64_t look_around(cutting *self, const level *l, int64_t node)
{
    int64_t count = 0;

    for (int64_t e = l->row_start[node]; e < l->row_start[node + 1]; e++) {
        int32_t part = self->part[l->column[e]];
        if (self->towards[part] == 0)
            self->touched[count++] = part;
        self->towards[part] += l->edge_weight[e];
    }
    return count;
}

static void move(cutting *self, const level *l, int64_t node, int64_t to)
{
    self->load[self->part[node]] -= l->weight[node];
    self->load[to] += l->weight[node];
    self->part[node] = (int32_t)to;
}

/* Each node in a random order to the part with most of its edges that has room; of equals the
 * lighter. Returns how many moved. */
static int64_t better(cutting *self, const level *l, int round)
{
    int64_t moved = 0;

    shuffle(self, "partition/better", round, l->nodes);
    for (int64_t i = 0; i < l->nodes; i++) {
        int64_t node = self->order[i], own = self->part[node], best = own;
        int64_t count = look_around(self, l, node);

        for (int64_t k = 0; k < count; k++) {
            int64_t p = self->touched[k], gain = self->towards[p] - self->towards[best];
            if (p == own || self->load[p] + l->weight[node] > self->bound)
                continue;
            if (gain > 0 ||
                (gain == 0 && best == own && self->load[p] + l->weight[node] < self->load[own]))
                best = p;
        }
        for (int64_t k = 0; k < count; k++)
            self->towards[self->touched[k]] = 0;
        if (best == own)
            continue;
        move(self, l, node, best);
        moved++;
    }
    return moved;
}

/* Parts above the bound give nodes away, to the neighbouring part with most of their edges, or else
 * to the lightest. Nodes of weight 1 always find room. */
static void keep_bound(cutting *self, const level *l)
{
    for (int64_t i = 0; i < l->nodes; i++) {
        int64_t node = self->order[i], own = self->part[node], best = -1, count;

        if (self->load[own] <= self->bound)
            continue;
        count = look_around(self, l, node);
        for (int64_t k = 0; k < count; k++) {
            int64_t p = self->touched[k];
            if (p != own && self->load[p] + l->weight[node] <= self->bound &&
                (best < 0 || self->towards[p] > self->towards[best]))
                best = p;
        }
        for (int64_t k = 0; k < count; k++)
            self->towards[self->touched[k]] = 0;
        for (int64_t p = 0; best < 0 && p < self->parts; p++)
            if (self->load[p] + l->weight[node] <= self->bound)
                best = p;
        if (best >= 0)
            move(self, l, node, best);
    }
}

/* Every part has a node: empty ones take one from the fullest. */
static void fill_empty(cutting *self, const level *l)
{
    for (int64_t p = 0, node = 0; p < self->parts; p++) {
        if (self->load[p] > 0)
            continue;
        while (self->load[self->part[node]] < 2)
            node++;
        move(self, l, node, p);
    }
}

static void refine(cutting *self, int at)
{
    const level *l = &self->levels[at];

    weigh(self, l);
    for (int pass = 0; pass < 12; pass++)
        if (better(self, l, at * 100 + pass) <= l->nodes / 1000)
            break;
    keep_bound(self, l);
}

static void uncoarsen(cutting *self)
{
    refine(self, self->level_count - 1);
    for (int at = self->level_count - 2; at >= 0; at--) {
        int32_t *coarser = self->part;

        for (int64_t node = 0; node < self->levels[at].nodes; node++)
            self->finer[node] = coarser[self->levels[at].coarse[node]];
        self->part = self->finer;
        self->finer = coarser;
        refine(self, at);
    }
    fill_empty(self, &self->levels[0]);
}

/* ---- all ---- */

/* Takes over what `near` has. */
static rgm_status start(cutting *self, rgmi_sampled_neighbours *near)
{
    level *l = &self->levels[0];
    int64_t nodes = near->nodes;

    *l = (level){.nodes = nodes, .row_start = near->row_start, .column = near->column};
    *near = (rgmi_sampled_neighbours){0};
    self->level_count = 1;
    RGM_TRY(RGM_NEW(l->edge_weight, l->row_start[nodes]));
    RGM_TRY(RGM_NEW(l->weight, nodes));
    RGM_TRY(RGM_NEW(l->coarse, nodes));
    RGM_TRY(RGM_NEW(self->part, nodes));
    RGM_TRY(RGM_NEW(self->finer, nodes));
    RGM_TRY(RGM_NEW(self->order, nodes));
    RGM_TRY(RGM_NEW(self->load, self->parts));
    RGM_TRY(RGM_NEW(self->towards, self->parts));
    RGM_TRY(RGM_NEW(self->touched, self->parts));
    for (int64_t e = 0; e < l->row_start[nodes]; e++)
        l->edge_weight[e] = 1;
    for (int64_t node = 0; node < nodes; node++)
        l->weight[node] = 1;
    return RGM_OK;
}

rgm_status rgm_graph_partition(rgm_partition *out, const rgm_graph *graph, int64_t parts,
                               double balance, uint64_t seed)
{
    rgm_status status = RGM_OK;
    cutting self = {.parts = parts, .seed = (int64_t)seed};
    rgmi_sampled_neighbours near = {0};
    int64_t *first = NULL, nodes, even;

    *out = (rgm_partition){0};
    RGM_GO(RGM_NEW(first, rgm_schema_set_count(rgm_graph_schema(graph))));
    RGM_GO(rgmi_partition_number(&nodes, first, graph, parts, balance));
    even = (nodes + parts - 1) / parts;
    self.bound = balance < 1e9 ? (int64_t)(balance * (double)nodes / (double)parts) : nodes;
    self.bound = self.bound < even ? even : self.bound;
    RGM_GO(rgmi_neighbours_make(&near, graph, first, nodes));
    RGM_GO(start(&self, &near));
    RGM_GO(coarsen(&self));
    grow(&self, &self.levels[self.level_count - 1], nodes);
    uncoarsen(&self);
    RGM_GO(rgmi_partition_report(
        out, self.part,
        &(rgmi_sampled_neighbours){nodes, self.levels[0].row_start, self.levels[0].column}, parts));
done:
    rgm_free(first);
    rgmi_neighbours_clear(&near);
    clear(&self);
    if (status != RGM_OK)
        rgm_partition_clear(out);
    return status;
}
