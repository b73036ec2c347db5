/*
 * The asker's side: a batch that grows op by op, as sampler_expand.c makes it of a whole graph:
 * frontiers ascend by number, new nodes are numbered likewise behind those that were there, and an
 * edge that an earlier op took falls out. What is kept here goes with the batch, not with the
 * graph.
 */
#include "parted.h"
#include "parted_map.h"

#include <stdlib.h>
#include <string.h>

/** Nodes of a sampled set, by local number. */
typedef struct batch_nodes {
    rgm_parted_node *nodes; /* [count] */
    bool *marked;           /* [count] by the op at work; false between */
    int64_t count, node_room, marked_room;
    rgmi_parted_map local; /* of a number in the whole graph */
} batch_nodes;

/** Edges of a sampled set. */
typedef struct batch_edges {
    int64_t *near[2];       /* by tag: [count] local numbers             */
    int32_t *owner, *entry; /* [count] which part drew it, and as which  */
    int32_t *number;        /* [count] in the whole graph                */
    int64_t count, room[5];
    rgmi_parted_map taken; /* numbers that ops took; of sets with several */
} batch_edges;

/** What an op found; nodes are local numbers. */
typedef struct batch_hop {
    int32_t *frontier, *reached;
    bool *is_asked; /* [count] its edges were not drawn by an earlier op */
    bool *stood;    /* [stood_count] by local number: it is in the frontier */
    int64_t count, reached_count, stood_count;
    int64_t frontier_room, reached_room;
} batch_hop;

struct rgm_parted_batch {
    rgm_parted_sampler *sampler;
    uint64_t *keys;                  /* [ops] */
    int32_t *seeds;                  /* [seed_count] local numbers */
    int64_t seed_count, first_count; /* as given, and without repeats */
    int64_t round;
    batch_nodes *nodes;   /* [sampled node sets] */
    batch_edges *edges;   /* [sampled edge sets] */
    batch_hop *hops;      /* [ops]               */
    int32_t *asked;       /* [parts] how many of each in the op at work */
    int32_t *wanted;      /* [sampled sets][parts] items, for features */
    int64_t **place;      /* [sampled sets][items] which of those that its owner was asked for */
    rgm_graph **features; /* [parts] what each answered; NULL: it was not asked */
    rgm_graph *joined;    /* all of them, one behind the other, where somebody wanted that */
};

/* ---- begin and end ------------------------------------------------------------------------- */

static rgm_status make_arrays(rgm_parted_batch *batch)
{
    const rgm_parted_sampler *sampler = batch->sampler;

    RGM_TRY(RGM_NEW(batch->keys, sampler->local->op_count));
    RGM_TRY(RGM_NEW(batch->nodes, sampler->local->node_set_count));
    RGM_TRY(RGM_NEW(batch->edges, sampler->local->edge_set_count));
    RGM_TRY(RGM_NEW(batch->hops, sampler->local->op_count));
    RGM_TRY(RGM_NEW(batch->place, rgmi_parted_sets(sampler)));
    RGM_TRY(RGM_NEW(batch->features, sampler->from->parts));
    return RGM_NEW(batch->asked, sampler->from->parts);
}

/* Room for `more` nodes. */
static rgm_status reserve_nodes(batch_nodes *set, int64_t more)
{
    int64_t had = set->marked_room;

    RGM_TRY(RGM_RESERVE(set->nodes, set->node_room, set->count + more));
    RGM_TRY(RGM_RESERVE(set->marked, set->marked_room, set->count + more));
    if (set->marked_room > had)
        memset(set->marked + had, 0, (size_t)(set->marked_room - had) * sizeof *set->marked);
    return rgmi_parted_map_reserve(&set->local, more);
}

/* Its local number; a new one is the next. */
static int32_t add_node(batch_nodes *set, const rgm_parted_node *node)
{
    int32_t local = rgmi_parted_map_get(&set->local, node->number);

    if (local >= 0)
        return local;
    local = (int32_t)set->count++;
    set->nodes[local] = *node;
    rgmi_parted_map_put(&set->local, node->number, local);
    return local;
}

static rgm_status place_seeds(rgm_parted_batch *batch, const rgm_parted_node *seeds, int64_t count,
                              uint64_t epoch)
{
    int64_t *numbers;

    RGM_TRY(RGM_NEW(batch->seeds, count));
    RGM_TRY(reserve_nodes(&batch->nodes[0], count));
    for (int64_t i = 0; i < count; i++)
        batch->seeds[i] = add_node(&batch->nodes[0], &seeds[i]);
    batch->seed_count = count;
    batch->first_count = batch->nodes[0].count;
    RGM_TRY(RGM_NEW(numbers, count));
    for (int64_t i = 0; i < count; i++)
        numbers[i] = seeds[i].number;
    for (int64_t op = 0; op < batch->sampler->local->op_count; op++)
        batch->keys[op] = rgmi_sampler_key(batch->sampler->local, numbers, count, epoch, op);
    rgm_free(numbers);
    return RGM_OK;
}

rgm_status rgm_parted_batch_begin(rgm_parted_batch **out, rgm_parted_sampler *sampler,
                                  const rgm_parted_node *seeds, int64_t count, uint64_t epoch)
{
    rgm_status status = RGM_OK;
    rgm_parted_batch *batch = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(batch, 1));
    batch->sampler = sampler;
    RGM_GO(make_arrays(batch));
    RGM_GO(place_seeds(batch, seeds, count, epoch));
    *out = batch;
    batch = NULL;
done:
    rgm_parted_batch_release(batch);
    return status;
}

static void clear_edges(batch_edges *set)
{
    rgm_free(set->near[0]);
    rgm_free(set->near[1]);
    rgm_free(set->owner);
    rgm_free(set->entry);
    rgm_free(set->number);
    rgmi_parted_map_clear(&set->taken);
}

static void clear_hop(batch_hop *hop)
{
    rgm_free(hop->frontier);
    rgm_free(hop->reached);
    rgm_free(hop->is_asked);
    rgm_free(hop->stood);
}

void rgm_parted_batch_release(rgm_parted_batch *batch)
{
    const rgm_sampler *local;

    if (batch == NULL)
        return;
    local = batch->sampler->local;
    for (int64_t i = 0; batch->nodes != NULL && i < local->node_set_count; i++) {
        rgm_free(batch->nodes[i].nodes);
        rgm_free(batch->nodes[i].marked);
        rgmi_parted_map_clear(&batch->nodes[i].local);
    }
    for (int64_t i = 0; batch->edges != NULL && i < local->edge_set_count; i++)
        clear_edges(&batch->edges[i]);
    for (int64_t i = 0; batch->hops != NULL && i < local->op_count; i++)
        clear_hop(&batch->hops[i]);
    for (int64_t i = 0; batch->place != NULL && i < rgmi_parted_sets(batch->sampler); i++)
        rgm_free(batch->place[i]);
    for (int64_t p = 0; batch->features != NULL && p < batch->sampler->from->parts; p++)
        rgm_graph_release(batch->features[p]);
    rgm_graph_release(batch->joined);
    rgm_free(batch->features);
    rgm_free(batch->place);
    rgm_free(batch->keys);
    rgm_free(batch->seeds);
    rgm_free(batch->nodes);
    rgm_free(batch->edges);
    rgm_free(batch->hops);
    rgm_free(batch->asked);
    rgm_free(batch->wanted);
    rgm_free(batch);
}

/* ---- order --------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Local numbers by the numbers in the whole graph. */
static rgm_status sort_locals(int32_t *locals, int64_t count, const batch_nodes *set)
{
    int64_t *keys;

    RGM_TRY(RGM_NEW(keys, count));
    for (int64_t i = 0; i < count; i++)
        keys[i] = (int64_t)set->nodes[locals[i]].number << 32 | locals[i];
    if (count > 0)
        qsort(keys, (size_t)count, sizeof *keys, by_key);
    for (int64_t i = 0; i < count; i++)
        locals[i] = (int32_t)(keys[i] & INT32_MAX);
    rgm_free(keys);
    return RGM_OK;
}

static int by_node(const void *a, const void *b)
{
    const rgm_parted_node *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Number the nodes from `first` on, which came in any order. */
static void number_nodes(batch_nodes *set, int64_t first)
{
    if (set->count > first)
        qsort(set->nodes + first, (size_t)(set->count - first), sizeof *set->nodes, by_node);
    for (int64_t i = first; i < set->count; i++)
        rgmi_parted_map_put(&set->local, set->nodes[i].number, (int32_t)i);
}

/* ---- asking for edges ---------------------------------------------------------------------- */

/* The union of what several ops reached. Only the seeds may be out of order, and only alone. */
static rgm_status merge_inputs(batch_hop *hop, rgm_parted_batch *batch, const rgmi_sampled_op *op)
{
    batch_nodes *set = &batch->nodes[op->start];
    int64_t room = 0;

    for (int64_t i = 0; i < op->input_count; i++)
        room += op->inputs[i] < 0 ? batch->first_count : batch->hops[op->inputs[i]].reached_count;
    RGM_TRY(RGM_RESERVE(hop->frontier, hop->frontier_room, room + 1));
    for (int64_t i = 0; i < op->input_count; i++) {
        const batch_hop *input = op->inputs[i] < 0 ? NULL : &batch->hops[op->inputs[i]];
        int64_t count = input != NULL ? input->reached_count : batch->first_count;

        for (int64_t k = 0; k < count; k++) {
            int32_t node = input != NULL ? input->reached[k] : (int32_t)k;

            if (set->marked[node])
                continue;
            set->marked[node] = true;
            hop->frontier[hop->count++] = node;
        }
    }
    for (int64_t i = 0; i < hop->count; i++)
        set->marked[hop->frontier[i]] = false;
    return op->input_count > 1 ? sort_locals(hop->frontier, hop->count, set) : RGM_OK;
}

/* Whether an earlier op has drawn of the node's edges already. */
static bool was_drawn(const rgm_parted_batch *batch, const rgmi_sampled_op *op, int32_t node)
{
    for (int64_t k = 0; k < op->earlier_count; k++) {
        const batch_hop *hop = &batch->hops[op->earlier[k]];

        if (batch->sampler->local->ops[op->earlier[k]].from == op->from &&
            node < hop->stood_count && hop->stood[node])
            return true;
    }
    return false;
}

/* Who is asked, and who stands in the frontier for ops that want to know. */
static rgm_status mark_asked(batch_hop *hop, rgm_parted_batch *batch, const rgmi_sampled_op *op)
{
    const batch_nodes *set = &batch->nodes[op->start];
    bool once = batch->sampler->local->once;

    RGM_TRY(RGM_NEW(hop->is_asked, hop->count));
    if (once && op->remembered) {
        RGM_TRY(RGM_NEW(hop->stood, set->count));
        hop->stood_count = set->count;
    }
    for (int64_t i = 0; i < hop->count; i++) {
        hop->is_asked[i] = !once || !was_drawn(batch, op, hop->frontier[i]);
        if (hop->stood != NULL)
            hop->stood[hop->frontier[i]] = true;
    }
    return RGM_OK;
}

static rgm_status add_word(rgm_text *text, int32_t word)
{
    return rgm_text_add(text, &word, sizeof word);
}

static rgm_status add_ask(rgm_text *asked, int64_t op, uint64_t key, int64_t count)
{
    const int32_t words[ASK_WORDS] = {(int32_t)op, (int32_t)(uint32_t)key,
                                      (int32_t)(uint32_t)(key >> 32), (int32_t)count};

    return rgm_text_add(asked, words, sizeof words);
}

static rgm_status ask_op(rgm_text *asked, rgm_parted_batch *batch, const rgmi_sampled_op *op)
{
    const batch_nodes *set = &batch->nodes[op->start];
    batch_hop *hop = &batch->hops[batch->round];

    RGM_TRY(merge_inputs(hop, batch, op));
    RGM_TRY(mark_asked(hop, batch, op));
    memset(batch->asked, 0, (size_t)batch->sampler->from->parts * sizeof *batch->asked);
    for (int64_t i = 0; i < hop->count; i++)
        batch->asked[set->nodes[hop->frontier[i]].owner] += hop->is_asked[i];
    for (int64_t p = 0; p < batch->sampler->from->parts; p++)
        if (batch->asked[p] > 0)
            RGM_TRY(add_ask(&asked[p], batch->round, batch->keys[batch->round], batch->asked[p]));
    for (int64_t i = 0; i < hop->count; i++) {
        const rgm_parted_node *node = &set->nodes[hop->frontier[i]];

        if (hop->is_asked[i])
            RGM_TRY(add_word(&asked[node->owner], node->there));
    }
    return RGM_OK;
}

/* ---- asking for features ------------------------------------------------------------------- */

/* Item i of a sampled set: who has it, and as which. */
static void place_of_item(int32_t *owner, int32_t *there, const rgm_parted_batch *batch,
                          int64_t set, int64_t i)
{
    int64_t node_sets = batch->sampler->local->node_set_count;

    if (set < node_sets) {
        *owner = batch->nodes[set].nodes[i].owner;
        *there = batch->nodes[set].nodes[i].there;
    } else {
        *owner = batch->edges[set - node_sets].owner[i];
        *there = batch->edges[set - node_sets].entry[i];
    }
}

static int64_t items_of(const rgm_parted_batch *batch, int64_t set)
{
    int64_t node_sets = batch->sampler->local->node_set_count;

    return set < node_sets ? batch->nodes[set].count : batch->edges[set - node_sets].count;
}

/* How many of a set each part is asked for: counts [sets][parts]. */
static void count_items(int32_t *counts, const rgm_parted_batch *batch)
{
    int64_t parts = batch->sampler->from->parts;
    int32_t owner, there;

    for (int64_t set = 0; set < rgmi_parted_sets(batch->sampler); set++)
        for (int64_t i = 0; rgmi_parted_is_asked(batch->sampler, set) && i < items_of(batch, set);
             i++) {
            place_of_item(&owner, &there, batch, set, i);
            counts[set * parts + owner]++;
        }
}

/* Which of the items that its owner is asked for each is. */
static rgm_status ask_items(rgm_text *asked, rgm_parted_batch *batch, int64_t set)
{
    int64_t count = items_of(batch, set), *next;
    int32_t owner, there;
    rgm_status status = RGM_OK;

    if (!rgmi_parted_is_asked(batch->sampler, set))
        return RGM_OK;
    RGM_TRY(RGM_NEW(next, batch->sampler->from->parts));
    RGM_GO(RGM_NEW(batch->place[set], count));
    for (int64_t i = 0; i < count; i++) {
        place_of_item(&owner, &there, batch, set, i);
        batch->place[set][i] = next[owner]++;
        RGM_GO(add_word(&asked[owner], there));
    }
done:
    rgm_free(next);
    return status;
}

/* What this part has itself is read at once: `begin` is where its message would begin. */
static rgm_status take_own_features(rgm_parted_batch *batch, rgm_text *asked, int64_t begin)
{
    int64_t part = batch->sampler->from->part;

    if (batch->asked[part] == 0)
        return RGM_OK;
    RGM_TRY(rgmi_parted_own_features(&batch->features[part], batch->sampler,
                                     (rgm_str){asked->data + begin, asked->size - begin}));
    batch->asked[part] = 0;
    asked->size = begin;
    return RGM_OK;
}

static rgm_status ask_features(rgm_text *asked, rgm_parted_batch *batch)
{
    int64_t parts = batch->sampler->from->parts, sets = rgmi_parted_sets(batch->sampler);
    rgm_text *own = &asked[batch->sampler->from->part];
    int64_t begin = own->size;

    RGM_TRY(RGM_NEW(batch->wanted, sets * parts));
    count_items(batch->wanted, batch);
    for (int64_t p = 0; p < parts; p++) {
        int32_t all = 0;

        for (int64_t set = 0; set < sets; set++)
            all += batch->wanted[set * parts + p];
        batch->asked[p] = all;
        if (all == 0)
            continue;
        RGM_TRY(add_ask(&asked[p], batch->round, 0, all));
        for (int64_t set = 0; set < sets; set++)
            RGM_TRY(add_word(&asked[p], batch->wanted[set * parts + p]));
    }
    for (int64_t set = 0; set < sets; set++)
        RGM_TRY(ask_items(asked, batch, set));
    return take_own_features(batch, own, begin);
}

rgm_status rgm_parted_batch_ask(rgm_text *asked, rgm_parted_batch *batch)
{
    const rgm_sampler *local = batch->sampler->local;

    if (batch->round < local->op_count)
        return ask_op(asked, batch, &local->ops[batch->round]);
    return ask_features(asked, batch);
}

/* ---- taking edges -------------------------------------------------------------------------- */

/** What a part answered to an op. */
typedef struct op_answer {
    const int32_t *counts; /* of the nodes that are left */
    const char *edges;
} op_answer;

static rgm_status no_answer(void)
{
    return RGM_FAIL(RGM_ERR_DATA, "another rank does not answer what it was asked for neighbours");
}

/* This batch's answer of one part, [asked] nodes; *edges more are drawn. */
static rgm_status open_answer(op_answer *out, int64_t *edges, rgm_str *answer, int64_t asked)
{
    int64_t total = 0, head = asked * (int64_t)sizeof(int32_t);

    *out = (op_answer){0};
    if (asked == 0)
        return RGM_OK;
    if (answer->size < head)
        return no_answer();
    out->counts = (const int32_t *)(const void *)answer->data;
    for (int64_t i = 0; i < asked; i++) {
        if (out->counts[i] < 0)
            return no_answer();
        total += out->counts[i];
    }
    out->edges = answer->data + head;
    if ((answer->size - head) / (int64_t)sizeof(rgmi_parted_edge) < total)
        return no_answer();
    answer->data += head + total * (int64_t)sizeof(rgmi_parted_edge);
    answer->size -= head + total * (int64_t)sizeof(rgmi_parted_edge);
    *edges += total;
    return RGM_OK;
}

static rgm_status reserve_edges(batch_edges *set, int64_t more, bool remembered)
{
    RGM_TRY(RGM_RESERVE(set->near[0], set->room[0], set->count + more));
    RGM_TRY(RGM_RESERVE(set->near[1], set->room[1], set->count + more));
    RGM_TRY(RGM_RESERVE(set->owner, set->room[2], set->count + more));
    RGM_TRY(RGM_RESERVE(set->entry, set->room[3], set->count + more));
    RGM_TRY(RGM_RESERVE(set->number, set->room[4], set->count + more));
    return remembered ? rgmi_parted_map_reserve(&set->taken, more) : RGM_OK;
}

/* The next edge of an answer. Errors: it leads nowhere. */
static rgm_status next_edge(rgmi_parted_edge *edge, op_answer *answer,
                            const rgm_parted_batch *batch, const rgmi_sampled_op *op)
{
    int64_t total =
        rgm_schema_set(batch->sampler->local->schema, batch->sampler->local->node_sets[op->end].set)
            ->cardinality;

    memcpy(edge, answer->edges, sizeof *edge);
    answer->edges += sizeof *edge;
    if (edge->far.number < 0 || edge->far.number >= total || edge->far.owner < 0 ||
        edge->far.owner >= batch->sampler->from->parts || edge->number < 0)
        return no_answer();
    return RGM_OK;
}

/* Far ends that are new get numbers; all that were reached are listed. */
static rgm_status take_nodes(batch_hop *hop, rgm_parted_batch *batch, const rgmi_sampled_op *op,
                             const op_answer *answers, int64_t edges)
{
    batch_nodes *set = &batch->nodes[op->end];
    int64_t first = set->count;

    RGM_TRY(reserve_nodes(set, edges));
    RGM_TRY(RGM_RESERVE(hop->reached, hop->reached_room, edges + 1));
    for (int64_t p = 0; p < batch->sampler->from->parts; p++) {
        op_answer answer = answers[p];

        for (int64_t i = 0; i < batch->asked[p]; i++)
            for (int32_t k = 0; k < answer.counts[i]; k++) {
                rgmi_parted_edge edge;
                int32_t local;

                RGM_TRY(next_edge(&edge, &answer, batch, op));
                local = add_node(set, &edge.far);
                if (local < first && !set->marked[local]) {
                    set->marked[local] = true;
                    hop->reached[hop->reached_count++] = local;
                }
            }
    }
    for (int64_t i = 0; i < hop->reached_count; i++)
        set->marked[hop->reached[i]] = false;
    number_nodes(set, first);
    for (int64_t i = first; i < set->count; i++)
        hop->reached[hop->reached_count++] = (int32_t)i;
    return sort_locals(hop->reached, hop->reached_count, set);
}

/* The edges of a frontier node, but for those that an earlier op has taken. */
static void take_edges(batch_edges *set, const rgm_parted_batch *batch, const rgmi_sampled_op *op,
                       int32_t node, op_answer *answer)
{
    int32_t owner = batch->nodes[op->start].nodes[node].owner;

    for (int32_t k = 0, count = *answer->counts; k < count; k++) {
        rgmi_parted_edge edge;

        memcpy(&edge, answer->edges, sizeof edge);
        answer->edges += sizeof edge;
        if (rgmi_parted_map_get(&set->taken, edge.number) >= 0)
            continue;
        set->near[op->from][set->count] = node;
        set->near[rgm_tag_reverse(op->from)][set->count] =
            rgmi_parted_map_get(&batch->nodes[op->end].local, edge.far.number);
        set->owner[set->count] = owner;
        set->entry[set->count] = edge.entry;
        set->number[set->count++] = edge.number;
    }
    answer->counts++;
}

static rgm_status take_op(rgm_parted_batch *batch, const rgmi_sampled_op *op, rgm_str *answers)
{
    batch_edges *set = &batch->edges[op->edges];
    batch_hop *hop = &batch->hops[batch->round];
    int64_t parts = batch->sampler->from->parts, edges = 0, first = set->count;
    rgm_status status = RGM_OK;
    op_answer *opened;

    RGM_TRY(RGM_NEW(opened, parts));
    for (int64_t p = 0; p < parts; p++)
        RGM_GO(open_answer(&opened[p], &edges, &answers[p], batch->asked[p]));
    RGM_GO(take_nodes(hop, batch, op, opened, edges));
    RGM_GO(reserve_edges(set, edges, op->remembered));
    for (int64_t i = 0; i < hop->count; i++)
        if (hop->is_asked[i])
            take_edges(set, batch, op, hop->frontier[i],
                       &opened[batch->nodes[op->start].nodes[hop->frontier[i]].owner]);
    for (int64_t i = first; i < set->count && op->remembered; i++)
        rgmi_parted_map_put(&set->taken, set->number[i], 0);
done:
    rgm_free(opened);
    return status;
}

/* ---- taking features ----------------------------------------------------------------------- */

/* What part p sent is what it was asked for: so many items of each set, with all features. */
static rgm_status check_features(const rgm_graph *graph, const rgm_parted_batch *batch, int64_t p)
{
    const rgm_schema *schema = batch->sampler->features;

    RGM_TRY(rgm_schema_check_has(schema, rgm_graph_schema(graph)));
    RGM_TRY(rgm_schema_check_has(rgm_graph_schema(graph), schema));
    for (int64_t i = 0; i < rgmi_parted_sets(batch->sampler); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, 1 + i);
        int32_t wanted = batch->wanted[i * batch->sampler->from->parts + p];

        if (rgm_graph_total(graph, RGM_NODE_SET, set->name) != wanted)
            return no_answer();
        for (int64_t k = 0; k < set->feature_count && wanted > 0; k++)
            if (!rgm_graph_has_feature(graph, RGM_NODE_SET, set->name, set->features[k].name))
                return no_answer();
    }
    return RGM_OK;
}

static rgm_status read_features(rgm_graph **out, const rgm_parted_batch *batch, rgm_str *answer,
                                int64_t p)
{
    void *graph = NULL;
    rgm_status status;
    int64_t size;

    if (answer->size < (int64_t)sizeof size)
        return no_answer();
    memcpy(&size, answer->data, sizeof size);
    answer->data += sizeof size;
    answer->size -= (int64_t)sizeof size;
    if (size < 0 || size > answer->size)
        return no_answer();
    RGM_TRY(rgm_graph_element.decode(&graph, answer->data, size));
    *out = graph;
    status = check_features(graph, batch, p);
    size += (int64_t)(-(uint64_t)size % 4);
    answer->data += size < answer->size ? size : answer->size;
    answer->size -= size < answer->size ? size : answer->size;
    return status;
}

static rgm_status take_features(rgm_parted_batch *batch, rgm_str *answers)
{
    for (int64_t p = 0; p < batch->sampler->from->parts; p++)
        if (batch->asked[p] > 0)
            RGM_TRY(read_features(&batch->features[p], batch, &answers[p], p));
    return RGM_OK;
}

rgm_status rgm_parted_batch_take(rgm_parted_batch *batch, rgm_str *answers)
{
    const rgm_sampler *local = batch->sampler->local;

    if (batch->round < local->op_count)
        RGM_TRY(take_op(batch, &local->ops[batch->round], answers));
    else
        RGM_TRY(take_features(batch, answers));
    batch->round++;
    return RGM_OK;
}

/* ---- the graph ----------------------------------------------------------------------------- */

static rgm_status make_ids(rgm_feature *out, const batch_nodes *set)
{
    *out = (rgm_feature){0};
    RGM_TRY(rgm_tensor_create(&out->values, RGM_I64, 1, &set->count));
    for (int64_t i = 0; i < set->count; i++)
        rgm_tensor_i64(out->values)[i] = set->nodes[i].number;
    return RGM_OK;
}

/* The feature as part p answered; NULL: it has no item of the set. */
static const rgm_feature *answer_of(const rgm_graph *answer, const rgm_parted_batch *batch,
                                    int64_t set, const char *feature)
{
    const char *name = rgm_schema_set(batch->sampler->features, 1 + set)->name;

    return answer != NULL && rgm_graph_total(answer, RGM_NODE_SET, name) > 0
               ? rgm_graph_feature(answer, RGM_NODE_SET, name, feature)
               : NULL;
}

/* Rows of one length each: from where they are to where they belong. */
static rgm_status copy_rows(rgm_feature *out, const rgm_parted_batch *batch, int64_t set,
                            const rgm_feature_schema *schema)
{
    int64_t count = items_of(batch, set), shape[RGM_MAX_RANK];
    int rank = rgm_feature_values_shape(shape, schema, count);
    rgm_status status = RGM_OK;
    const char **rows = NULL;
    size_t row;
    char *to;

    RGM_GO(rgm_buffers_tensor(&out->values, batch->sampler->local->buffers, schema->dtype, rank,
                              shape));
    RGM_GO(RGM_NEW(rows, batch->sampler->from->parts));
    for (int64_t p = 0; p < batch->sampler->from->parts; p++) {
        const rgm_feature *from = answer_of(batch->features[p], batch, set, schema->name);

        rows[p] = from != NULL ? rgm_tensor_data(from->values) : NULL;
    }
    to = rgm_tensor_data(out->values);
    row = count > 0 ? rgm_tensor_bytes(out->values) / (size_t)count : 0;
    for (int64_t i = 0; i < count; i++) {
        int32_t owner, there;

        place_of_item(&owner, &there, batch, set, i);
        memcpy(to + (size_t)i * row, rows[owner] + (size_t)batch->place[set][i] * row, row);
    }
done:
    rgm_free((void *)rows);
    return status;
}

/* All answers as one graph. */
static rgm_status join_answers(rgm_parted_batch *batch)
{
    int64_t parts = batch->sampler->from->parts, count = 0;
    rgm_status status = RGM_OK;
    rgm_graph **graphs;

    if (batch->joined != NULL)
        return RGM_OK;
    RGM_TRY(RGM_NEW(graphs, parts));
    for (int64_t p = 0; p < parts; p++)
        if (batch->features[p] != NULL)
            graphs[count++] = batch->features[p];
    RGM_GO(rgm_graph_merge(&batch->joined, graphs, count));
done:
    rgm_free(graphs);
    return status;
}

/* Lists and texts. */
static rgm_status take_lists(rgm_feature *out, rgm_parted_batch *batch, int64_t set,
                             const rgm_feature_schema *schema)
{
    const char *name = rgm_schema_set(batch->sampler->features, 1 + set)->name;
    int64_t parts = batch->sampler->from->parts, count = items_of(batch, set);
    int64_t *begin = NULL, *items = NULL, all = 0;
    rgm_status status = RGM_OK;

    RGM_GO(join_answers(batch));
    RGM_GO(RGM_NEW(begin, parts));
    RGM_GO(RGM_NEW(items, count));
    for (int64_t p = 0; p < parts; p++) {
        begin[p] = all;
        if (batch->features[p] != NULL)
            all += rgm_graph_total(batch->features[p], RGM_NODE_SET, name);
    }
    for (int64_t i = 0; i < count; i++) {
        int32_t owner, there;

        place_of_item(&owner, &there, batch, set, i);
        items[i] = begin[owner] + batch->place[set][i];
    }
    RGM_GO(rgm_feature_take(out, schema,
                            rgm_graph_feature(batch->joined, RGM_NODE_SET, name, schema->name),
                            items, count));
done:
    rgm_free(begin);
    rgm_free(items);
    return status;
}

static rgm_status put_features(rgm_graph *graph, rgm_parted_batch *batch, int64_t set)
{
    rgmi_parted_columns columns = rgmi_parted_columns_of(batch->sampler, set);
    const rgm_set_schema *schema = rgm_schema_set(batch->sampler->local->schema, columns.set);

    for (int64_t i = 0; i < columns.count; i++) {
        const rgm_feature_schema *feature = &schema->features[i];
        rgm_feature value = {0};
        rgm_status status;

        if (columns.readers[i] == NULL)
            status = make_ids(&value, &batch->nodes[set]);
        else if (items_of(batch, set) == 0) /* rgm_graph_seal() makes it empty */
            continue;
        else if (rgm_feature_last_ragged(feature) == 0 && feature->dtype != RGM_STRING)
            status = copy_rows(&value, batch, set, feature);
        else
            status = take_lists(&value, batch, set, feature);
        if (status != RGM_OK)
            rgm_feature_clear(&value);
        RGM_TRY(status);
        RGM_TRY(rgm_graph_put_feature(graph, columns.set, i, &value));
    }
    return RGM_OK;
}

static rgm_status put_edges(rgm_graph *graph, const rgm_parted_batch *batch, int64_t index)
{
    const batch_edges *set = &batch->edges[index];
    rgm_tensor *ends[2] = {NULL, NULL};
    rgm_status status = RGM_OK;

    for (int end = 0; end < 2; end++)
        RGM_GO(rgm_tensor_create_from(&ends[end], RGM_I64, 1, &set->count, set->near[end]));
    RGM_GO(rgm_graph_put_items(graph, batch->sampler->local->edge_sets[index].set, set->count,
                               ends[RGM_SOURCE], ends[RGM_TARGET]));
done:
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    return status;
}

static rgm_status make_graph(rgm_graph **out, rgm_parted_batch *batch)
{
    const rgm_sampler *local = batch->sampler->local;
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL;

    *out = NULL;
    RGM_GO(rgm_graph_begin(&graph, local->schema, 1, 1));
    RGM_GO(rgmi_sampler_context(graph, local));
    for (int64_t i = 0; i < local->node_set_count; i++)
        RGM_GO(
            rgm_graph_put_items(graph, local->node_sets[i].set, batch->nodes[i].count, NULL, NULL));
    for (int64_t i = 0; i < local->edge_set_count; i++)
        RGM_GO(put_edges(graph, batch, i));
    for (int64_t i = 0; i < rgmi_parted_sets(batch->sampler); i++)
        RGM_GO(put_features(graph, batch, i));
    RGM_GO(rgm_graph_seal(graph));
    *out = graph;
    graph = NULL;
done:
    rgm_graph_release(graph);
    return status;
}

rgm_status rgm_parted_batch_graph(rgm_graph **out, rgm_parted_batch *batch, const char *label)
{
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL;
    rgm_tensor *readout = NULL;

    *out = NULL;
    RGM_GO(make_graph(&graph, batch));
    RGM_GO(rgm_tensor_create(&readout, RGM_I64, 1, &batch->seed_count));
    for (int64_t i = 0; i < batch->seed_count; i++)
        rgm_tensor_i64(readout)[i] = batch->seeds[i];
    RGM_GO(rgmi_sampler_readout(out, batch->sampler->local, graph, readout, label));
done:
    rgm_tensor_release(readout);
    rgm_graph_release(graph);
    return status;
}

rgm_status rgm_parted_sampler_schema(rgm_schema **out, rgm_parted_sampler *sampler,
                                     const char *label)
{
    rgm_status status = RGM_OK;
    rgm_parted_batch *batch = NULL;
    rgm_graph *graph = NULL;

    *out = NULL;
    RGM_GO(rgm_parted_batch_begin(&batch, sampler, NULL, 0, 0));
    RGM_GO(rgm_parted_batch_graph(&graph, batch, label));
    *out = rgm_schema_retain((rgm_schema *)rgm_graph_schema(graph));
done:
    rgm_graph_release(graph);
    rgm_parted_batch_release(batch);
    return status;
}

void rgm_parted_batch_count(int64_t *nodes, int64_t *others, const rgm_parted_batch *batch)
{
    *nodes = *others = 0;
    for (int64_t i = 0; i < batch->sampler->local->node_set_count; i++) {
        const batch_nodes *set = &batch->nodes[i];

        *nodes += set->count;
        for (int64_t k = 0; k < set->count; k++)
            *others += set->nodes[k].owner != batch->sampler->from->part;
    }
}
