/*
 * Walking the ops of a sampling spec. For each op: the frontier from its inputs, room for each
 * frontier node's edges, the draws (in parallel: a node's draws depend on nothing but the node),
 * and then the distinct far ends by number, which become the frontier of later ops and give new
 * nodes their local numbers. That last step either scans a byte for each node of the set or sorts a
 * list, whichever is cheaper; both give the same order.
 */
#include "sampler_internal.h"

#include <string.h>

/* Nodes a thread takes at a time. */
#define CHUNK 512
/* How far ahead rows are asked for. */
#define AHEAD 8
/* Sorting one listed node costs as much as scanning this many bytes of state. */
#define SCAN_PER_SORT 128
/* Nodes in a block of the parallel scan: whole words, and few enough counts. */
#define SCAN_BLOCK 16384

enum { KNOWN = 1, REACHED = 2 };

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- order ---- */

static void sort_short(int32_t *values, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        int32_t value = values[i];
        int64_t k = i;
        for (; k > 0 && values[k - 1] > value; k--)
            values[k] = values[k - 1];
        values[k] = value;
    }
}

/* Ascending; `spare` has room for as many. Values are >= 0. */
static void sort_nodes(int32_t *values, int32_t *spare, int64_t count)
{
    int32_t largest = 0, *from = values, *to = spare, *other;

    if (count <= 32) {
        sort_short(values, count);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        largest |= values[i];
    for (int shift = 0; shift < 32 && largest >> shift; shift += 8) {
        int64_t start[257] = {0};
        for (int64_t i = 0; i < count; i++)
            start[(from[i] >> shift & 255) + 1]++;
        for (int i = 0; i < 256; i++)
            start[i + 1] += start[i];
        for (int64_t i = 0; i < count; i++)
            to[start[from[i] >> shift & 255]++] = from[i];
        other = from;
        from = to;
        to = other;
    }
    if (from != values)
        memcpy(values, from, (size_t)count * sizeof *values);
}

/* ---- frontiers ---- */

/* The union of what several ops reached. Only the seeds may be out of order, and only alone. */
static rgm_status merge_inputs(rgmi_local_nodes *known, rgmi_hop *hop, rgmi_workspace *work,
                               const rgmi_sampled_op *op, int64_t seed_count)
{
    int64_t count = 0, room = 0;

    for (int64_t i = 0; i < op->input_count; i++)
        room += op->inputs[i] < 0 ? seed_count : work->hops[op->inputs[i]].reached_count;
    RGM_TRY(RGM_RESERVE(hop->frontier, hop->frontier_room, room + 1));
    RGM_TRY(RGM_RESERVE(work->sort, work->sort_room, room + 1));
    for (int64_t i = 0; i < op->input_count; i++) {
        const rgmi_hop *input = op->inputs[i] < 0 ? NULL : &work->hops[op->inputs[i]];
        const int32_t *from = input ? input->reached : known->nodes;
        int64_t size = input ? input->reached_count : seed_count;
        for (int64_t k = 0; k < size; k++) {
            if (known->state[from[k]] & REACHED)
                continue;
            known->state[from[k]] |= REACHED;
            hop->frontier[count++] = from[k];
        }
    }
    for (int64_t i = 0; i < count; i++)
        known->state[hop->frontier[i]] = KNOWN;
    hop->count = count;
    if (op->input_count > 1)
        sort_nodes(hop->frontier, work->sort, count);
    return RGM_OK;
}

/* What the stages of one op share. */
typedef struct expansion {
    rgmi_workspace *work;
    const rgm_sampler *sampler;
    const rgmi_sampled_op *op;
    rgmi_hop *hop;
    rgm_rng rng;
    rgmi_moment moment;
    int threads;
    int64_t total; /* nodes of the set where the op's edges end */
    bool *broken;  /* a file's rows or columns are not sound; set by any thread */
} expansion;

/* Where a node stood in an earlier hop's frontier, or -1. */
static inline int32_t place_in(const rgmi_hop *hop, const rgmi_local_nodes *known, int32_t node)
{
    if (!(__atomic_load_n(&known->state[node], __ATOMIC_RELAXED) & KNOWN) ||
        known->local[node] >= hop->place_count)
        return -1;
    return hop->place[known->local[node]];
}

/* Whether an earlier op has drawn of the node's edges already. */
static bool was_drawn(const expansion *self, int32_t node)
{
    const rgm_sampler *sampler = self->sampler;

    for (int64_t k = 0; k < self->op->earlier_count; k++) {
        const rgmi_sampled_op *before = &sampler->ops[self->op->earlier[k]];

        if (before->from == self->op->from &&
            place_in(&self->work->hops[self->op->earlier[k]], &self->work->known[before->start],
                     node) >= 0)
            return true;
    }
    return false;
}

/* Frontier node i's row. Read once: a file may change, and rooms are laid out by it. */
static void read_row(const expansion *self, int64_t i)
{
    const rgmi_draw *draw = &self->op->draw;
    int32_t node = self->hop->frontier[i];
    int64_t first = draw->csr->row_start[node], end = draw->csr->row_start[node + 1];

    if (draw->doubted &&
        (first < 0 || end < first || end > draw->csr->count || end - first > draw->max_degree)) {
        __atomic_store_n(self->broken, true, __ATOMIC_RELAXED);
        first = end = 0;
    }
    self->hop->first[i] = first;
    self->hop->degree[i] = (int32_t)(end - first);
}

/* The most that frontier nodes begin .. end-1 can take. */
static void limit_range(void *payload, int64_t begin, int64_t end, int thread)
{
    const expansion *self = payload;

    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int32_t node = self->hop->frontier[i];
        int64_t most;

        read_row(self, i);
        most = self->hop->degree[i];
        if (self->op->draw.limited) {
            most = rgmi_past(&self->op->draw, &self->moment, self->hop->first[i], most);
            self->hop->past[i] = (int32_t)most;
        }
        self->hop->taken[i] = (int32_t)min_i64(self->op->draw.sample_size, most);
        if (self->sampler->once && was_drawn(self, node))
            self->hop->taken[i] = 0;
    }
}

/* Room for each frontier node's edges, and where the node stands for ops that ask later. */
static rgm_status lay_out(expansion *self)
{
    rgmi_hop *hop = self->hop;
    const rgmi_local_nodes *known = &self->work->known[self->op->start];

    RGM_TRY(RGM_RESERVE(hop->offset, hop->offset_room, hop->count + 1));
    RGM_TRY(RGM_RESERVE(hop->taken, hop->taken_room, hop->count + 1));
    RGM_TRY(RGM_RESERVE(hop->first, hop->first_room, hop->count + 1));
    RGM_TRY(RGM_RESERVE(hop->degree, hop->degree_room, hop->count + 1));
    if (self->op->draw.limited)
        RGM_TRY(RGM_RESERVE(hop->past, hop->past_room, hop->count + 1));
    rgmi_sampler_for(self->threads, hop->count, 4096, limit_range, self);
    hop->offset[0] = 0;
    for (int64_t i = 0; i < hop->count; i++)
        hop->offset[i + 1] = hop->offset[i] + hop->taken[i];
    RGM_TRY(RGM_RESERVE(hop->edge, hop->edge_room, hop->offset[hop->count] + 1));
    RGM_TRY(RGM_RESERVE(hop->other, hop->other_room, hop->offset[hop->count] + 1));
    hop->place_count = 0;
    if (self->op->remembered) {
        RGM_TRY(RGM_RESERVE(hop->place, hop->place_room, known->count + 1));
        hop->place_count = known->count;
        memset(hop->place, 0xff, (size_t)known->count * sizeof *hop->place);
        for (int64_t i = 0; i < hop->count; i++)
            hop->place[known->local[hop->frontier[i]]] = (int32_t)i;
    }
    return RGM_OK;
}

/* ---- draws ---- */

/* Whether the earlier hop took the edge from the frontier node at `place`. */
static bool took(const rgmi_hop *hop, int32_t place, int32_t edge)
{
    int64_t low = hop->offset[place], end = low + hop->taken[place], high = end;

    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (hop->edge[middle] < edge)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && hop->edge[low] == edge;
}

/* Drop from frontier node i's edges those that one earlier op on the same edge set took. */
static void drop_taken(rgmi_hop *hop, int64_t i, const rgmi_hop *before,
                       const rgmi_local_nodes *known, bool same_end)
{
    int64_t begin = hop->offset[i], kept = begin;
    int32_t place = same_end ? place_in(before, known, hop->frontier[i]) : -1;

    if (same_end && place < 0)
        return;
    for (int64_t p = begin; p < begin + hop->taken[i]; p++) {
        if (!same_end)
            place = place_in(before, known, hop->other[p]);
        hop->edge[kept] = hop->edge[p];
        hop->other[kept] = hop->other[p];
        kept += place < 0 || !took(before, place, hop->edge[p]);
    }
    hop->taken[i] = (int32_t)(kept - begin);
}

static void drop_known_edges(rgmi_hop *hop, int64_t i, const rgmi_workspace *work,
                             const rgm_sampler *sampler, const rgmi_sampled_op *op)
{
    for (int64_t k = 0; k < op->earlier_count; k++) {
        const rgmi_sampled_op *before = &sampler->ops[op->earlier[k]];
        drop_taken(hop, i, &work->hops[op->earlier[k]], &work->known[before->start],
                   before->from == op->from);
    }
}

/* Nodes that a file says edges lead to, or node 0 in the place of one that there is not. */
static void check_far_ends(const expansion *self, int32_t *other, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if (other[k] < 0 || other[k] >= self->total) {
            __atomic_store_n(self->broken, true, __ATOMIC_RELAXED);
            other[k] = 0;
        }
}

/* Choose frontier node i's edges; returns how many. */
static inline int64_t draw_node(const expansion *self, rgmi_picker *picker, int64_t i)
{
    rgmi_hop *hop = self->hop;
    const rgmi_sampled_op *op = self->op;
    const rgm_csr *csr = op->draw.csr;
    int64_t node = hop->frontier[i], first = hop->first[i];
    int64_t count = hop->taken[i], degree = hop->degree[i];
    int32_t *edge = hop->edge + hop->offset[i], *other = hop->other + hop->offset[i];

    if (count == 0)
        return 0;
    if (count == degree && op->draw.strategy != RGM_SAMPLE_WEIGHTED) {
        for (int64_t k = 0; k < count; k++) {
            other[k] = csr->column[first + k];
            edge[k] = (int32_t)(first + k);
        }
    } else {
        count = rgmi_pick(picker, &op->draw, &self->rng, node, first, degree,
                          op->draw.limited ? hop->past[i] : degree);
        for (int64_t k = 0; k < count; k++) {
            edge[k] = (int32_t)first + picker->positions[k];
            other[k] = csr->column[edge[k]];
        }
        hop->taken[i] = (int32_t)count;
    }
    if (op->draw.doubted)
        check_far_ends(self, other, count);
    if (op->entry)
        for (int64_t k = 0; k < count; k++)
            edge[k] = op->entry[edge[k]];
    return count;
}

static inline void ask_ahead(const rgmi_hop *hop, const rgmi_sampled_op *op, int64_t i, int64_t end)
{
    int64_t first;

    if (i + AHEAD >= end)
        return;
    first = hop->first[i + AHEAD];
    __builtin_prefetch(op->draw.csr->column + first);
    if (op->entry)
        __builtin_prefetch(op->entry + first);
}

/* Draw for frontier nodes begin .. end-1 and mark the far ends. */
static void mark_range(void *payload, int64_t begin, int64_t end, int thread)
{
    const expansion *self = payload;
    rgmi_hop *hop = self->hop;
    const rgmi_sampled_op *op = self->op;
    uint8_t *state = self->work->known[op->end].state;

    for (int64_t i = begin; i < end; i++) {
        const int32_t *other = hop->other + hop->offset[i];
        int64_t count;
        ask_ahead(hop, op, i, end);
        count = draw_node(self, &self->work->pickers[thread], i);
        /* Several threads may store the same value here; none stores another. */
        for (int64_t k = 0; k < count; k++) {
            uint8_t seen = __atomic_load_n(&state[other[k]], __ATOMIC_RELAXED);
            if (!(seen & REACHED))
                __atomic_store_n(&state[other[k]], (uint8_t)(seen | REACHED), __ATOMIC_RELAXED);
        }
        if (op->earlier_count > 0)
            drop_known_edges(hop, i, self->work, self->sampler, op);
    }
}

/* Draw in this thread and list the far ends. */
static void draw_and_list(expansion *self)
{
    rgmi_hop *hop = self->hop;
    const rgmi_sampled_op *op = self->op;
    uint8_t *state = self->work->known[op->end].state;

    hop->reached_count = 0;
    for (int64_t i = 0; i < hop->count; i++) {
        int64_t count;
        ask_ahead(hop, op, i, hop->count);
        count = draw_node(self, &self->work->pickers[0], i);
        for (int64_t k = 0; k < count; k++) {
            int32_t far = hop->other[hop->offset[i] + k];
            if (state[far] & REACHED)
                continue;
            state[far] |= REACHED;
            hop->reached[hop->reached_count++] = far;
        }
        if (op->earlier_count > 0)
            drop_known_edges(hop, i, self->work, self->sampler, op);
    }
    sort_nodes(hop->reached, self->work->sort, hop->reached_count);
}

/* ---- numbering ---- */

static void number_listed(const rgmi_hop *hop, rgmi_local_nodes *known)
{
    for (int64_t i = 0; i < hop->reached_count; i++) {
        int32_t node = hop->reached[i];
        if (!(known->state[node] & KNOWN)) {
            known->local[node] = (int32_t)known->count;
            known->nodes[known->count++] = node;
        }
        known->state[node] = KNOWN;
    }
}

#define EVERY_REACHED UINT64_C(0x0202020202020202)

/* The state of eight nodes; those reached, and of them those not known. */
static inline uint64_t reached_of_eight(uint64_t *fresh, const uint8_t *state)
{
    uint64_t word, reached;

    memcpy(&word, state, sizeof word);
    reached = word & EVERY_REACHED;
    *fresh = reached & ~(word << 1);
    return reached;
}

/* How many of the eight bytes are marked; quicker than counting bits without an instruction for it.
 */
static inline int64_t marks_in(uint64_t marks)
{
    return (int64_t)((marks >> 1) * UINT64_C(0x0101010101010101) >> 56);
}

/* Count a block's reached nodes and new nodes. */
static void count_blocks(void *payload, int64_t begin, int64_t end, int thread)
{
    const expansion *self = payload;
    const uint8_t *state = self->work->known[self->op->end].state;

    (void)thread;
    for (int64_t b = begin; b < end; b++) {
        int64_t n = 0, m = 0, last = min_i64(self->total, (b + 1) * SCAN_BLOCK);
        for (int64_t at = b * SCAN_BLOCK; at < last; at += 8) {
            uint64_t fresh, reached = reached_of_eight(&fresh, state + at);
            n += marks_in(reached);
            m += marks_in(fresh);
        }
        self->work->blocks[2 * b] = n;
        self->work->blocks[2 * b + 1] = m;
    }
}

/* Write a block's reached nodes and new nodes where the counts before it say; clear the marks. */
static void number_blocks(void *payload, int64_t begin, int64_t end, int thread)
{
    const expansion *self = payload;
    rgmi_local_nodes *known = &self->work->known[self->op->end];

    (void)thread;
    for (int64_t b = begin; b < end; b++) {
        int64_t last = min_i64(self->total, (b + 1) * SCAN_BLOCK);
        int64_t reached_at = self->work->blocks[2 * b], local = self->work->blocks[2 * b + 1];
        for (int64_t at = b * SCAN_BLOCK; at < last; at += 8) {
            uint64_t fresh, reached = reached_of_eight(&fresh, known->state + at);
            for (; reached; reached &= reached - 1) {
                int bit = __builtin_ctzll(reached);
                int64_t node = at + bit / 8;
                self->hop->reached[reached_at++] = (int32_t)node;
                if (fresh >> bit & 1) {
                    known->local[node] = (int32_t)local;
                    known->nodes[local++] = (int32_t)node;
                }
                known->state[node] = KNOWN;
            }
        }
    }
}

static rgm_status number_marked(expansion *self)
{
    rgmi_hop *hop = self->hop;
    rgmi_local_nodes *known = &self->work->known[self->op->end];
    int64_t blocks = (self->total + SCAN_BLOCK - 1) / SCAN_BLOCK;
    int64_t reached_count = 0, local = known->count, *counts;

    RGM_TRY(RGM_RESERVE(self->work->blocks, self->work->block_room, 2 * blocks));
    rgmi_sampler_for(self->threads, blocks, 1, count_blocks, self);
    counts = self->work->blocks;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t n = counts[2 * b], m = counts[2 * b + 1];
        counts[2 * b] = reached_count;
        counts[2 * b + 1] = local;
        reached_count += n;
        local += m;
    }
    RGM_TRY(RGM_RESERVE(hop->reached, hop->reached_room, reached_count + 1));
    RGM_TRY(RGM_RESERVE(known->nodes, known->node_room, local + 1));
    rgmi_sampler_for(self->threads, blocks, 1, number_blocks, self);
    hop->reached_count = reached_count;
    known->count = local;
    return RGM_OK;
}

/* ---- all ---- */

static rgm_status run_op(expansion *self)
{
    rgmi_workspace *work = self->work;
    rgmi_local_nodes *known = &work->known[self->op->end];
    int64_t room;

    self->total = self->sampler->node_sets[self->op->end].total;
    RGM_TRY(lay_out(self));
    room = min_i64(self->hop->offset[self->hop->count], self->total);
    for (int t = 0; t < self->threads; t++)
        RGM_TRY(rgmi_picker_reserve(&work->pickers[t], &self->op->draw));
    if (self->total <= SCAN_PER_SORT * room) {
        rgmi_sampler_for(self->threads, self->hop->count, CHUNK, mark_range, self);
        return number_marked(self);
    }
    RGM_TRY(RGM_RESERVE(self->hop->reached, self->hop->reached_room, room + 1));
    RGM_TRY(RGM_RESERVE(work->sort, work->sort_room, room + 1));
    RGM_TRY(RGM_RESERVE(known->nodes, known->node_room, known->count + room + 1));
    draw_and_list(self);
    number_listed(self->hop, known);
    return RGM_OK;
}

/* The seeds, each once, get the first local numbers. */
static rgm_status place_seeds(rgmi_local_nodes *known, const int64_t *seeds, int64_t count)
{
    RGM_TRY(RGM_RESERVE(known->nodes, known->node_room, count + 1));
    for (int64_t i = 0; i < count; i++) {
        int64_t node = seeds[i];
        if (known->state[node] & KNOWN)
            continue;
        known->state[node] = KNOWN;
        known->local[node] = (int32_t)known->count;
        known->nodes[known->count++] = (int32_t)node;
    }
    return RGM_OK;
}

uint64_t rgmi_sampler_key(const rgm_sampler *sampler, const int64_t *seeds, int64_t count,
                          uint64_t epoch, int64_t op)
{
    uint64_t mix[4] = {sampler->seed, epoch, rgm_hash64(seeds, (size_t)count * sizeof *seeds),
                       (uint64_t)op};

    return rgm_hash64(mix, sizeof mix);
}

rgm_status rgmi_sampler_expand(rgmi_workspace *work, const rgm_sampler *sampler,
                               const int64_t *seeds, int64_t count, uint64_t epoch, int threads)
{
    bool broken = false;
    expansion self = {.work = work, .sampler = sampler, .threads = threads, .broken = &broken};
    int64_t seed_count;

    if (work->picker_count < threads) {
        int64_t had = work->picker_count;
        RGM_TRY(RGM_RESERVE(work->pickers, work->picker_room, threads));
        memset(work->pickers + had, 0, (size_t)(threads - had) * sizeof *work->pickers);
        work->picker_count = threads;
    }
    RGM_TRY(place_seeds(&work->known[0], seeds, count));
    if (count > 0)
        self.moment = rgmi_seed_moment(sampler, seeds[0]);
    seed_count = work->known[0].count;
    for (int64_t i = 0; i < sampler->op_count; i++) {
        self.op = &sampler->ops[i];
        self.hop = &work->hops[i];
        self.rng = rgm_rng_stream(rgmi_sampler_key(sampler, seeds, count, epoch, i), "sampler", 0);
        RGM_TRY(merge_inputs(&work->known[self.op->start], self.hop, work, self.op, seed_count));
        RGM_TRY(run_op(&self));
        if (broken)
            return rgm_graph_broken(sampler->graph);
    }
    return RGM_OK;
}
