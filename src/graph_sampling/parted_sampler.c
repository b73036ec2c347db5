/*
 * The owner's side: edges drawn for nodes that it is asked about, and features of what was drawn.
 * What is asked may come from another process, so all of it is checked.
 */
#include "parted.h"

#include <stdio.h>
#include <string.h>

/* ---- sets ---------------------------------------------------------------------------------- */

rgmi_parted_columns rgmi_parted_columns_of(const rgm_parted_sampler *sampler, int64_t set)
{
    const rgm_sampler *local = sampler->local;
    const rgmi_sampled_nodes *nodes;
    const rgmi_sampled_edges *edges;

    if (set < local->node_set_count) {
        nodes = &local->node_sets[set];
        return (rgmi_parted_columns){nodes->set, nodes->features, nodes->feature_count};
    }
    edges = &local->edge_sets[set - local->node_set_count];
    return (rgmi_parted_columns){edges->set, edges->features, edges->feature_count};
}

bool rgmi_parted_is_asked(const rgm_parted_sampler *sampler, int64_t set)
{
    rgmi_parted_columns columns = rgmi_parted_columns_of(sampler, set);

    for (int64_t i = 0; i < columns.count; i++)
        if (columns.readers[i] != NULL)
            return true;
    return false;
}

/* ---- create and release -------------------------------------------------------------------- */

static rgm_status find_numbers(rgm_parted_sampler *sampler)
{
    const rgm_sampler *local = sampler->local;
    const rgm_schema *schema = rgm_graph_schema(local->graph);

    RGM_TRY(RGM_NEW(sampler->numbers, local->edge_set_count));
    for (int64_t i = 0; i < local->edge_set_count; i++) {
        const char *name = rgm_schema_set(local->schema, local->edge_sets[i].set)->name;

        sampler->numbers[i] = sampler->from->numbers[rgm_schema_index(schema, RGM_EDGE_SET, name)];
    }
    RGM_TRY(RGM_NEW(sampler->nodes, local->node_set_count));
    RGM_TRY(RGM_NEW(sampler->ids, local->node_set_count));
    for (int64_t i = 0; i < local->node_set_count; i++) {
        const char *name = rgm_schema_set(local->schema, local->node_sets[i].set)->name;
        const rgm_feature *ids = rgm_graph_feature(local->graph, RGM_NODE_SET, name, "#id");

        if (ids == NULL || rgm_tensor_dtype(ids->values) != RGM_I64 ||
            rgm_tensor_count(ids->values) != rgm_graph_total(local->graph, RGM_NODE_SET, name))
            return RGM_FAIL(RGM_ERR_DATA, "node set '%s' of a part has no '#id'", name);
        sampler->ids[i] = rgm_tensor_i64(ids->values);
        sampler->nodes[i] = &sampler->from->sets[rgm_schema_index(schema, RGM_NODE_SET, name)];
    }
    return RGM_OK;
}

/* The inverse of the places of own nodes. */
static rgm_status call_nodes(rgm_parted_sampler *sampler)
{
    RGM_TRY(RGM_NEW(sampler->called, sampler->local->node_set_count));
    for (int64_t i = 0; i < sampler->local->node_set_count; i++) {
        const rgm_parted_set *set = sampler->nodes[i];

        if (set->place == NULL)
            continue;
        RGM_TRY(RGM_NEW(sampler->called[i], set->own));
        for (int64_t k = 0; k < set->own; k++)
            sampler->called[i][set->place[k]] = (int32_t)k;
    }
    return RGM_OK;
}

static rgm_status keep_degrees(rgm_parted_sampler *sampler, const rgm_sampling_spec *spec)
{
    RGM_TRY(RGM_NEW(sampler->sample_size, spec->op_count));
    RGM_TRY(RGM_NEW(sampler->degrees, spec->op_count));
    for (int64_t i = 0; i < spec->op_count; i++) {
        sampler->sample_size[i] = spec->ops[i].sample_size;
        sampler->degrees[i] = sampler->local->ops[i].draw.max_degree;
    }
    return RGM_OK;
}

/* Each sampled set as a node set of answers, without "#id". */
static rgm_status make_features(rgm_parted_sampler *sampler)
{
    const rgm_schema *from = sampler->local->schema;
    char name[32];

    RGM_TRY(rgm_schema_create(&sampler->features));
    for (int64_t i = 0; i < rgmi_parted_sets(sampler); i++) {
        rgmi_parted_columns columns = rgmi_parted_columns_of(sampler, i);
        const rgm_set_schema *set = rgm_schema_set(from, columns.set);
        int64_t index;

        snprintf(name, sizeof name, "set%lld", (long long)i);
        RGM_TRY(rgm_schema_add_node_set(sampler->features, name));
        index = rgm_schema_index(sampler->features, RGM_NODE_SET, name);
        for (int64_t k = 0; k < columns.count; k++)
            if (columns.readers[k] != NULL)
                RGM_TRY(rgm_schema_add_feature_copy(sampler->features, index, set->features[k].name,
                                                    &set->features[k]));
    }
    return RGM_OK;
}

static rgm_status check_part(const rgm_parted_graph *from, const rgm_sampling_spec *spec)
{
    const rgm_schema *schema = rgm_graph_schema(from->graph);

    if (spec->seed_time != NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "a graph in parts is not sampled by times of seeds: each seed has a past "
                        "of its own, which owners do not know");
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_NODE_SET && set->cardinality < 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "node set '%s' of a part does not say how many nodes the whole has",
                            set->name);
    }
    return RGM_OK;
}

rgm_status rgm_parted_sampler_create(rgm_parted_sampler **out, const rgm_parted_graph *from,
                                     const rgm_sampling_spec *spec, uint64_t seed, bool once)
{
    rgm_status status = RGM_OK;
    rgm_parted_sampler *sampler = NULL;

    *out = NULL;
    RGM_GO(check_part(from, spec));
    RGM_GO(RGM_NEW(sampler, 1));
    sampler->from = from;
    RGM_GO(rgmi_sampler_of_part(&sampler->local, from, spec, seed));
    rgm_sampler_set_once(sampler->local, once);
    RGM_GO(find_numbers(sampler));
    RGM_GO(call_nodes(sampler));
    RGM_GO(keep_degrees(sampler, spec));
    RGM_GO(make_features(sampler));
    *out = sampler;
    sampler = NULL;
done:
    rgm_parted_sampler_release(sampler);
    return status;
}

void rgm_parted_sampler_release(rgm_parted_sampler *sampler)
{
    if (sampler == NULL)
        return;
    rgmi_picker_clear(&sampler->picker);
    for (int64_t i = 0; sampler->called != NULL && i < sampler->local->node_set_count; i++)
        rgm_free(sampler->called[i]);
    rgm_free(sampler->called);
    rgm_free(sampler->items);
    rgm_schema_release(sampler->features);
    rgm_sampler_release(sampler->local);
    rgm_free((void *)sampler->ids);
    rgm_free((void *)sampler->nodes);
    rgm_free((void *)sampler->numbers);
    rgm_free(sampler->sample_size);
    rgm_free(sampler->degrees);
    rgm_free(sampler);
}

const int64_t *rgm_parted_sampler_degrees(int64_t *count, const rgm_parted_sampler *sampler)
{
    *count = sampler->local->op_count;
    return sampler->degrees;
}

void rgm_parted_sampler_set_degrees(rgm_parted_sampler *sampler, const int64_t *most)
{
    for (int64_t i = 0; i < sampler->local->op_count; i++) {
        rgmi_draw *draw = &sampler->local->ops[i].draw;

        draw->max_degree = most[i];
        draw->sample_size = sampler->sample_size[i] < most[i] ? sampler->sample_size[i] : most[i];
    }
}

int64_t rgm_parted_sampler_rounds(const rgm_parted_sampler *sampler)
{
    return sampler->local->op_count + 1;
}

/* ---- answers ------------------------------------------------------------------------------- */

/** A message that is read. */
typedef struct asked_words {
    const char *data;
    int64_t count; /* words that are left */
} asked_words;

static rgm_status not_asked_so(void)
{
    return RGM_FAIL(RGM_ERR_DATA, "another rank asks for nodes or edges that this part has not: "
                                  "its parts, experiment or program are others");
}

/* The next words, where they lie; they are at multiples of 4. */
static const int32_t *take_words(asked_words *asked, int64_t count)
{
    const int32_t *words = (const int32_t *)(const void *)asked->data;

    if (count < 0 || count > asked->count)
        return NULL;
    asked->data += count * (int64_t)sizeof *words;
    asked->count -= count;
    return words;
}

/* Edges of own node `node`: positions in its row, [*taken]; NULL: all of it. */
static const int32_t *draw_node(int64_t *taken, rgm_parted_sampler *sampler,
                                const rgmi_sampled_op *op, const rgm_rng *rng, int64_t node)
{
    const rgmi_draw *draw = &op->draw;
    int64_t first = draw->csr->row_start[node], degree = draw->csr->row_start[node + 1] - first;

    *taken = degree < draw->sample_size ? degree : draw->sample_size;
    if (*taken == 0 || (*taken == degree && draw->strategy != RGM_SAMPLE_WEIGHTED))
        return NULL;
    *taken = rgmi_pick(&sampler->picker, draw, rng, sampler->ids[op->start][node], first, degree,
                       degree);
    return sampler->picker.positions;
}

/* Where a node of the part lies. */
static rgm_parted_node place_of(const rgm_parted_sampler *sampler, int64_t sampled, int32_t node)
{
    const rgm_parted_set *set = sampler->nodes[sampled];
    int32_t number = (int32_t)sampler->ids[sampled][node];

    if (node < set->own)
        return (rgm_parted_node){number, (int32_t)sampler->from->part,
                                 sampler->called[sampled] != NULL ? sampler->called[sampled][node]
                                                                  : node};
    return (rgm_parted_node){number, set->owner[node - set->own], set->there[node - set->own]};
}

static rgm_status add_edges(rgm_text *answer, const rgm_parted_sampler *sampler,
                            const rgmi_sampled_op *op, int64_t first, const int32_t *positions,
                            int64_t count)
{
    const rgm_csr *csr = op->draw.csr;
    const int64_t *numbers = sampler->numbers[op->edges];

    for (int64_t k = 0; k < count; k++) {
        int64_t at = first + (positions != NULL ? positions[k] : k);
        const rgmi_parted_edge edge = {.far = place_of(sampler, op->end, csr->column[at]),
                                       .number = (int32_t)numbers[csr->entry[at]],
                                       .entry = csr->entry[at]};

        RGM_TRY(rgm_text_add(answer, &edge, sizeof edge));
    }
    return RGM_OK;
}

/* The own node that others call so; -1: there is none. */
static int32_t own_node(const rgm_parted_set *set, int32_t called)
{
    if (called < 0 || called >= set->own)
        return -1;
    return set->place != NULL ? set->place[called] : called;
}

/* How many edges each node has, then the edges. */
static rgm_status answer_op(rgm_text *answer, rgm_parted_sampler *sampler, const int32_t *ask,
                            asked_words *asked)
{
    const rgmi_sampled_op *op = &sampler->local->ops[ask[0]];
    uint64_t key = (uint64_t)(uint32_t)ask[2] << 32 | (uint32_t)ask[1];
    rgm_rng rng = rgm_rng_stream(key, "sampler", 0);
    const int32_t *nodes = take_words(asked, ask[3]);
    int64_t counts = answer->size;

    if (nodes == NULL)
        return not_asked_so();
    RGM_TRY(rgmi_picker_reserve(&sampler->picker, &op->draw));
    RGM_TRY(rgm_text_add(answer, nodes, ask[3] * (int64_t)sizeof *nodes));
    for (int64_t i = 0; i < ask[3]; i++) {
        int32_t node = own_node(sampler->nodes[op->start], nodes[i]), word;
        const int32_t *positions;
        int64_t taken;

        if (node < 0)
            return not_asked_so();
        positions = draw_node(&taken, sampler, op, &rng, node);
        word = (int32_t)taken;
        memcpy(answer->data + counts + i * (int64_t)sizeof word, &word, sizeof word);
        RGM_TRY(add_edges(answer, sampler, op, op->draw.csr->row_start[node], positions, taken));
    }
    return RGM_OK;
}

/* Own nodes, or edges, of a set that is asked for features, as they are here: sampler->items. */
static rgm_status find_items(rgm_parted_sampler *sampler, int64_t set, const int32_t *items,
                             int64_t count)
{
    const rgm_sampler *local = sampler->local;
    const rgm_set_schema *of =
        rgm_schema_set(local->schema, rgmi_parted_columns_of(sampler, set).set);
    int64_t total = rgm_graph_total(local->graph, of->piece, of->name);

    RGM_TRY(RGM_RESERVE(sampler->items, sampler->item_room, count + 1));
    for (int64_t i = 0; i < count; i++) {
        sampler->items[i] =
            set < local->node_set_count ? own_node(sampler->nodes[set], items[i]) : items[i];
        if (sampler->items[i] < 0 || sampler->items[i] >= total)
            return not_asked_so();
    }
    return RGM_OK;
}

static rgm_status take_features(rgm_graph *graph, const rgm_parted_sampler *sampler, int64_t set,
                                int64_t count)
{
    rgmi_parted_columns columns = rgmi_parted_columns_of(sampler, set);
    int64_t at = 1 + set, column = 0; /* behind the context */

    RGM_TRY(rgm_graph_put_items(graph, at, count, NULL, NULL));
    for (int64_t i = 0; i < columns.count; i++) {
        rgm_feature value;

        if (columns.readers[i] == NULL)
            continue;
        RGM_TRY(rgm_feature_reader_take(&value, columns.readers[i], sampler->items, count,
                                        sampler->local->threads));
        RGM_TRY(rgm_graph_put_feature(graph, at, column++, &value));
    }
    return RGM_OK;
}

/* Bytes of the values, about. */
static int64_t bytes_of(const rgm_graph *graph)
{
    const rgm_schema *schema = rgm_graph_schema(graph);
    int64_t bytes = 4096;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        for (int64_t k = 0; k < set->feature_count; k++) {
            const rgm_feature *value =
                rgm_graph_feature(graph, set->piece, set->name, set->features[k].name);

            if (value != NULL)
                bytes += (int64_t)rgm_tensor_bytes(value->values);
        }
    }
    return bytes;
}

/* The bytes of the graph behind their number; what follows is at a multiple of 4 again. */
static rgm_status add_graph(rgm_text *answer, const rgm_graph *graph)
{
    static const char zeros[4] = {0};
    int64_t begin = answer->size, size = 0;

    RGM_TRY(RGM_RESERVE(answer->data, answer->capacity, answer->size + bytes_of(graph)));
    RGM_TRY(rgm_text_add(answer, &size, sizeof size));
    RGM_TRY(rgm_graph_element.encode(answer, graph));
    size = answer->size - begin - (int64_t)sizeof size;
    memcpy(answer->data + begin, &size, sizeof size);
    return rgm_text_add(answer, zeros, (int64_t)(-(uint64_t)size % 4));
}

/* Features of what is asked for, as a graph. */
static rgm_status read_features(rgm_graph **out, rgm_parted_sampler *sampler, asked_words *asked)
{
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL;
    const int32_t *counts = take_words(asked, rgmi_parted_sets(sampler));

    *out = NULL;
    if (counts == NULL)
        return not_asked_so();
    RGM_GO(rgm_graph_begin(&graph, sampler->features, 1, 1));
    for (int64_t i = 0; i < rgmi_parted_sets(sampler); i++) {
        const int32_t *items = take_words(asked, counts[i]);

        if (items == NULL)
            RGM_GO(not_asked_so());
        RGM_GO(find_items(sampler, i, items, counts[i]));
        RGM_GO(take_features(graph, sampler, i, counts[i]));
    }
    RGM_GO(rgm_graph_check_uncut(sampler->local->graph)); /* zeros of a file may look like values */
    RGM_GO(rgm_graph_seal(graph));
    *out = graph;
    graph = NULL;
done:
    rgm_graph_release(graph);
    return status;
}

static rgm_status answer_features(rgm_text *answer, rgm_parted_sampler *sampler, asked_words *asked)
{
    rgm_graph *graph;
    rgm_status status;

    RGM_TRY(read_features(&graph, sampler, asked));
    status = add_graph(answer, graph);
    rgm_graph_release(graph);
    return status;
}

rgm_status rgmi_parted_own_features(rgm_graph **out, rgm_parted_sampler *sampler, rgm_str asked)
{
    asked_words words = {asked.data, asked.size / (int64_t)sizeof(int32_t)};

    (void)take_words(&words, ASK_WORDS);
    return read_features(out, sampler, &words);
}

rgm_status rgm_parted_sampler_answer(rgm_text *answer, rgm_parted_sampler *sampler, rgm_str asked)
{
    asked_words words = {asked.data, asked.size / (int64_t)sizeof(int32_t)};

    while (words.count > 0) {
        const int32_t *ask = take_words(&words, ASK_WORDS);

        if (ask == NULL || ask[0] < 0 || ask[0] > sampler->local->op_count)
            return not_asked_so();
        if (ask[0] < sampler->local->op_count)
            RGM_TRY(answer_op(answer, sampler, ask, &words));
        else
            RGM_TRY(answer_features(answer, sampler, &words));
    }
    return RGM_OK;
}
