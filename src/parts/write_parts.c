/*
 * A graph cut into parts. Nodes of all sets are numbered one set behind the other, as the cut
 * numbers them. A part's own nodes stand in the order of the whole graph, first those whose
 * neighbours are all its own, so that what they hear is there while the others' is on its way. Halo
 * nodes stand by their owner, then in that one's order. Edges stand by their target, those of one
 * target in the order of the whole graph, and then those that end at halo nodes.
 */
#include "parts_internal.h"

#include <regimen/graph_parts.h>

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 65536 }; /* edges, or items of a feature, at a time */

/** The cut of the whole graph. */
typedef struct cut {
    const rgm_graph_data *data;
    const rgm_graph *graph;
    const rgm_schema *schema;
    rgm_schema *part_schema;
    const rgm_parts_options *options;
    rgm_parts *parts;
    rgm_partition partition;
    int64_t *first; /* [sets] where the numbers of each node set begin */
    int64_t nodes;
    const int64_t *part; /* [nodes] */
    int32_t *place;      /* [nodes] which of its part's own of that set */
    bool *joins;         /* [nodes] has an edge with another part       */
    char *folder;
} cut;

/** What one part has of a set. */
typedef struct piece_of {
    int64_t *nodes; /* [own + halo] numbers in the set; of an edge set its edges */
    int64_t own, count, room;
} piece_of;

/** The part at work. */
typedef struct work {
    cut *c;
    int64_t number;
    piece_of *sets; /* [sets] */
    int32_t *halo;  /* [nodes] which of the set's here; -1: not here */
    rgm_graph_writer *writer;
    rgm_buffers *buffers;
    rgm_named_tensor *numbers;
    int64_t number_count;
} work;

static int64_t set_index(const cut *c, const char *node_set)
{
    return rgm_schema_index(c->schema, RGM_NODE_SET, node_set);
}

/* ---- the cut ------------------------------------------------------------------------------- */

static rgm_status check_data(const rgm_graph_data *data, const rgm_parts_options *o)
{
    if (data->graph_count != 1)
        return RGM_FAIL(RGM_ERR_DATA, "%lld graphs: one graph can be cut into parts",
                        (long long)data->graph_count);
    if (data->split_set == NULL || data->train == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "the data have no split of nodes with a training part, which "
                                      "parts are trained on");
    if (o->parts < 1 || o->parts > RGMI_MOST_PARTS || (o->parts & (o->parts - 1)) != 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "%lld parts: the number of ranks is a power of two, and so is that of "
                        "parts, up to %d",
                        (long long)o->parts, RGMI_MOST_PARTS);
    return RGM_OK;
}

/* The same sets, each node with its number in the whole graph, each set with how many there are. */
static rgm_status make_schema(cut *c)
{
    RGM_TRY(rgm_schema_copy(&c->part_schema, c->schema));
    for (int64_t i = 0; i < rgm_schema_set_count(c->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(c->schema, i);

        if (set->piece != RGM_NODE_SET)
            continue;
        if (rgm_is_aux_set(set->name) || rgm_set_feature(set, "#id") != NULL)
            return RGM_FAIL(RGM_ERR_DATA,
                            "node set '%s': %s; parts are cut from a whole graph, not from samples",
                            set->name,
                            rgm_is_aux_set(set->name) ? "it is a readout" : "it has #id");
        RGM_TRY(rgm_schema_add_feature(c->part_schema, RGM_NODE_SET, set->name, "#id", RGM_I64, 0,
                                       NULL));
        RGM_TRY(rgm_schema_set_metadata(c->part_schema, RGM_NODE_SET, set->name, set->filename,
                                        rgm_graph_total(c->graph, RGM_NODE_SET, set->name)));
    }
    return RGM_OK;
}

static rgm_status count_first(cut *c)
{
    RGM_TRY(RGM_NEW(c->first, rgm_schema_set_count(c->schema)));
    for (int64_t i = 0; i < rgm_schema_set_count(c->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(c->schema, i);

        c->first[i] = c->nodes;
        if (set->piece == RGM_NODE_SET)
            c->nodes += rgm_graph_total(c->graph, RGM_NODE_SET, set->name);
    }
    return RGM_OK;
}

/* Both ends of an edge between two parts. */
static rgm_status find_joins(cut *c)
{
    RGM_TRY(RGM_NEW(c->joins, c->nodes));
    for (int64_t i = 0; i < rgm_schema_set_count(c->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(c->schema, i);
        rgm_edge_rows rows;
        int64_t source, target;

        if (set->piece != RGM_EDGE_SET)
            continue;
        RGM_TRY(rgm_graph_check_edge_rows(c->graph, set->name, RGM_TARGET));
        RGM_TRY(rgm_graph_check_edge_rows(c->graph, set->name, RGM_SOURCE));
        RGM_TRY(rgm_graph_edge_rows(&rows, c->graph, set->name, RGM_TARGET));
        source = c->first[set_index(c, set->source)];
        target = c->first[set_index(c, set->target)];
        for (int64_t r = 0; r < rows.csr->rows; r++)
            for (int64_t e = rows.csr->row_start[r]; e < rows.csr->row_start[r + 1]; e++)
                if (c->part[target + r] != c->part[source + rows.csr->column[e]])
                    c->joins[target + r] = c->joins[source + rows.csr->column[e]] = true;
    }
    return RGM_OK;
}

/* Own nodes of each part: inner ones, then those with edges to other parts. */
static rgm_status find_places(cut *c)
{
    int64_t *next;

    RGM_TRY(RGM_NEW(c->place, c->nodes));
    RGM_TRY(RGM_NEW(next, c->options->parts));
    for (int64_t i = 0; i < rgm_schema_set_count(c->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(c->schema, i);
        int64_t end = c->first[i];

        if (set->piece != RGM_NODE_SET)
            continue;
        end += rgm_graph_total(c->graph, RGM_NODE_SET, set->name);
        memset(next, 0, (size_t)c->options->parts * sizeof *next);
        for (int joins = 0; joins < 2; joins++)
            for (int64_t v = c->first[i]; v < end; v++)
                if (c->joins[v] == joins)
                    c->place[v] = (int32_t)next[c->part[v]]++;
    }
    rgm_free(next);
    return RGM_OK;
}

static rgm_status add_counts(cut *c)
{
    rgm_parts *parts = c->parts;
    int64_t count = c->options->parts;

    RGM_TRY(RGM_NEW(parts->sets, rgm_schema_set_count(c->schema)));
    RGM_TRY(RGM_NEW(parts->files, 2 * count));
    parts->count = count;
    for (int64_t i = 0; i < rgm_schema_set_count(c->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(c->schema, i);
        rgmi_parts_set *out = &parts->sets[parts->set_count];

        if (set->piece == RGM_CONTEXT_PIECE)
            continue;
        parts->set_count++;
        out->piece = set->piece;
        out->total = rgm_graph_total(c->graph, set->piece, set->name);
        RGM_TRY(rgm_strdup(&out->name, set->name));
        RGM_TRY(RGM_NEW(out->own, count));
        if (set->piece == RGM_NODE_SET)
            RGM_TRY(RGM_NEW(out->halo, count));
    }
    return RGM_OK;
}

static rgm_status make_cut(cut *c)
{
    const rgm_parts_options *o = c->options;
    const rgm_tensor *split[3] = {c->data->train, c->data->valid, c->data->test};

    RGM_TRY(make_schema(c));
    RGM_TRY(count_first(c));
    RGM_TRY(
        rgm_graph_partition_by(&c->partition, c->graph, o->parts, o->balance, o->seed, o->method));
    c->part = rgm_tensor_i64(c->partition.part);
    RGM_TRY(find_joins(c));
    RGM_TRY(find_places(c));
    RGM_TRY(add_counts(c));
    for (int i = 0; i < 3; i++)
        c->parts->split[i] = split[i] != NULL ? rgm_tensor_count(split[i]) : -1;
    c->parts->cut = c->partition.cut;
    return rgm_strprintf(&c->parts->made_by, "%s, seed %llu", rgm_partition_method_names[o->method],
                         (unsigned long long)o->seed);
}

/* ---- the nodes of a part ------------------------------------------------------------------- */

static rgm_status add(piece_of *set, int64_t number)
{
    RGM_TRY(RGM_RESERVE(set->nodes, set->room, set->count + 1));
    set->nodes[set->count++] = number;
    return RGM_OK;
}

static rgm_status own_nodes(work *w, int64_t s, int64_t total)
{
    const cut *c = w->c;
    piece_of *set = &w->sets[s];

    for (int64_t v = 0; v < total; v++)
        set->own += c->part[c->first[s] + v] == w->number;
    RGM_TRY(RGM_RESERVE(set->nodes, set->room, set->own + 1));
    for (int64_t v = 0; v < total; v++)
        if (c->part[c->first[s] + v] == w->number)
            set->nodes[c->place[c->first[s] + v]] = v;
    set->count = set->own;
    return RGM_OK;
}

/* Nodes at the other end of own nodes' edges. */
static rgm_status halo_along(work *w, const rgm_set_schema *edges, rgm_tag end)
{
    const cut *c = w->c;
    int64_t near = set_index(c, end == RGM_TARGET ? edges->target : edges->source);
    int64_t far = set_index(c, end == RGM_TARGET ? edges->source : edges->target);
    rgm_edge_rows rows;

    RGM_TRY(rgm_graph_edge_rows(&rows, c->graph, edges->name, end));
    for (int64_t i = 0; i < w->sets[near].own; i++) {
        int64_t v = w->sets[near].nodes[i];

        if (!c->joins[c->first[near] + v])
            continue;
        for (int64_t e = rows.csr->row_start[v]; e < rows.csr->row_start[v + 1]; e++) {
            int64_t other = c->first[far] + rows.csr->column[e];

            if (c->part[other] == w->number || w->halo[other] >= 0)
                continue;
            w->halo[other] = 0;
            RGM_TRY(add(&w->sets[far], other - c->first[far]));
        }
    }
    return RGM_OK;
}

/** A halo node, for sorting. */
typedef struct halo_node {
    int64_t owner, number;
    int32_t place;
} halo_node;

static int by_owner(const void *a, const void *b)
{
    const halo_node *x = a, *y = b;

    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static rgm_status keep_number(work *w, rgm_piece piece, const char *set, const char *what,
                              rgm_tensor *tensor)
{
    char *name;

    RGM_TRY(rgmi_numbers_name(&name, piece, set, what));
    w->numbers[w->number_count++] = (rgm_named_tensor){name, tensor};
    return RGM_OK;
}

/* Sorted; with owner and place there for the numbers' file. */
static rgm_status sort_halo(work *w, int64_t s, const char *name)
{
    const cut *c = w->c;
    piece_of *set = &w->sets[s];
    int64_t count = set->count - set->own;
    rgm_tensor *owner = NULL, *there = NULL;
    rgm_status status = RGM_OK;
    halo_node *nodes = NULL;

    RGM_GO(RGM_NEW(nodes, count));
    for (int64_t i = 0; i < count; i++) {
        int64_t v = set->nodes[set->own + i];

        nodes[i] = (halo_node){c->part[c->first[s] + v], v, c->place[c->first[s] + v]};
    }
    if (count > 0)
        qsort(nodes, (size_t)count, sizeof *nodes, by_owner);
    RGM_GO(rgm_tensor_create(&owner, RGM_I32, 1, &count));
    RGM_GO(rgm_tensor_create(&there, RGM_I32, 1, &count));
    for (int64_t i = 0; i < count; i++) {
        set->nodes[set->own + i] = nodes[i].number;
        w->halo[c->first[s] + nodes[i].number] = (int32_t)(set->own + i);
        rgm_tensor_i32(owner)[i] = (int32_t)nodes[i].owner;
        rgm_tensor_i32(there)[i] = nodes[i].place;
    }
    RGM_GO(keep_number(w, RGM_NODE_SET, name, "owner", owner));
    owner = NULL;
    RGM_GO(keep_number(w, RGM_NODE_SET, name, "there", there));
    there = NULL;
done:
    rgm_free(nodes);
    rgm_tensor_release(owner);
    rgm_tensor_release(there);
    return status;
}

static rgm_status find_nodes(work *w)
{
    const rgm_schema *schema = w->c->schema;

    memset(w->halo, 0xff, (size_t)w->c->nodes * sizeof *w->halo);
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_NODE_SET)
            RGM_TRY(own_nodes(w, i, rgm_graph_total(w->c->graph, RGM_NODE_SET, set->name)));
    }
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_EDGE_SET)
            continue;
        RGM_TRY(halo_along(w, set, RGM_TARGET));
        RGM_TRY(halo_along(w, set, RGM_SOURCE));
    }
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++)
        if (rgm_schema_set(schema, i)->piece == RGM_NODE_SET)
            RGM_TRY(sort_halo(w, i, rgm_schema_set(schema, i)->name));
    return RGM_OK;
}

/* ---- edges --------------------------------------------------------------------------------- */

/** Edges on their way to the file. */
typedef struct edge_chunk {
    const char *name;
    int64_t source[CHUNK], target[CHUNK];
    int64_t count;
} edge_chunk;

static rgm_status flush(work *w, edge_chunk *chunk)
{
    int64_t count = chunk->count;

    chunk->count = 0;
    return count > 0
               ? rgm_graph_writer_edges(w->writer, chunk->name, chunk->source, chunk->target, count)
               : RGM_OK;
}

/* Which of the set's nodes here; those of its own, or halo. */
static int64_t here(const work *w, int64_t s, int64_t v)
{
    const cut *c = w->c;
    int64_t number = c->first[s] + v;

    return c->part[number] == w->number ? c->place[number] : w->halo[number];
}

/* Edges of own nodes at one end; at their source only those that end in another part. */
static rgm_status edges_at(work *w, int64_t s, const rgm_set_schema *set, rgm_tag end,
                           edge_chunk *chunk)
{
    const cut *c = w->c;
    int64_t near = set_index(c, end == RGM_TARGET ? set->target : set->source);
    int64_t far = set_index(c, end == RGM_TARGET ? set->source : set->target);
    rgm_edge_rows rows;

    RGM_TRY(rgm_graph_edge_rows(&rows, c->graph, set->name, end));
    for (int64_t i = 0; i < w->sets[near].own; i++) {
        int64_t v = w->sets[near].nodes[i];

        for (int64_t e = rows.csr->row_start[v]; e < rows.csr->row_start[v + 1]; e++) {
            int64_t u = rows.csr->column[e];

            if (end == RGM_SOURCE && c->part[c->first[far] + u] == w->number)
                continue;
            if (chunk->count == CHUNK)
                RGM_TRY(flush(w, chunk));
            chunk->source[chunk->count] = end == RGM_TARGET ? here(w, far, u) : i;
            chunk->target[chunk->count++] = end == RGM_TARGET ? i : here(w, far, u);
            RGM_TRY(add(&w->sets[s], rows.csr->entry != NULL ? rows.csr->entry[e] : e));
        }
    }
    return RGM_OK;
}

static rgm_status write_edges(work *w, int64_t s, const rgm_set_schema *set)
{
    rgm_status status = RGM_OK;
    edge_chunk *chunk = NULL;
    rgm_tensor *numbers = NULL;

    RGM_GO(RGM_NEW(chunk, 1));
    chunk->name = set->name;
    RGM_GO(edges_at(w, s, set, RGM_TARGET, chunk));
    RGM_GO(edges_at(w, s, set, RGM_SOURCE, chunk));
    RGM_GO(flush(w, chunk));
    RGM_GO(rgm_tensor_create_from(&numbers, RGM_I64, 1, &w->sets[s].count, w->sets[s].nodes));
    RGM_GO(keep_number(w, RGM_EDGE_SET, set->name, "number", numbers));
    numbers = NULL;
done:
    rgm_free(chunk);
    rgm_tensor_release(numbers);
    return status;
}

/* ---- features ------------------------------------------------------------------------------ */

static rgm_status write_items(work *w, const rgm_feature_reader *reader, const rgm_set_schema *set,
                              const rgm_feature_schema *feature, const piece_of *items)
{
    rgm_status status = RGM_OK;
    int32_t *chunk = NULL;

    RGM_GO(RGM_NEW(chunk, CHUNK));
    for (int64_t begin = 0; begin < items->count; begin += CHUNK) {
        int64_t count = items->count - begin < CHUNK ? items->count - begin : CHUNK;
        rgm_feature value;

        for (int64_t i = 0; i < count; i++)
            chunk[i] = (int32_t)items->nodes[begin + i];
        RGM_GO(rgm_feature_reader_take(&value, reader, chunk, count, rgm_threads()));
        status = rgm_graph_writer_feature(w->writer, set->piece, set->name, feature->name, &value);
        rgm_feature_clear(&value);
        RGM_GO(status);
    }
done:
    rgm_free(chunk);
    return status;
}

/* Where each node's values of a one_hot feature begin in the whole graph: dropout draws for them.
 */
static rgm_status keep_begins(work *w, const rgm_set_schema *set, const rgm_feature_schema *feature,
                              const piece_of *items)
{
    const rgm_feature *all = rgm_graph_feature(w->c->graph, set->piece, set->name, feature->name);
    int64_t total = rgm_graph_total(w->c->graph, set->piece, set->name), *begin = NULL;
    rgm_tensor *begins = NULL;
    rgm_status status = RGM_OK;
    char *what = NULL;

    if (all == NULL)
        return rgm_graph_read_whole(w->c->graph);
    RGM_GO(RGM_NEW(begin, total + 1));
    for (int64_t i = 0; i < total; i++)
        begin[i + 1] = begin[i] + rgm_tensor_i64(all->row_lengths[1])[i];
    RGM_GO(rgm_tensor_create(&begins, RGM_I64, 1, &items->count));
    for (int64_t i = 0; i < items->count; i++)
        rgm_tensor_i64(begins)[i] = begin[items->nodes[i]];
    RGM_GO(rgm_strprintf(&what, "%s.begin", feature->name));
    RGM_GO(keep_number(w, set->piece, set->name, what, begins));
    begins = NULL;
done:
    rgm_tensor_release(begins);
    rgm_free(begin);
    rgm_free(what);
    return status;
}

static rgm_status write_context(work *w, const rgm_set_schema *set)
{
    for (int64_t i = 0; i < set->feature_count; i++) {
        const rgm_feature *value =
            rgm_graph_feature(w->c->graph, RGM_CONTEXT_PIECE, NULL, set->features[i].name);

        if (value != NULL)
            RGM_TRY(rgm_graph_writer_feature(w->writer, RGM_CONTEXT_PIECE, NULL,
                                             set->features[i].name, value));
    }
    return RGM_OK;
}

static rgm_status write_features(work *w, int64_t s, const rgm_set_schema *set)
{
    for (int64_t i = 0; i < set->feature_count; i++) {
        const rgm_feature_schema *feature = &set->features[i];
        rgm_feature_reader *reader = NULL; /* it may be there, to be released, after an error */
        rgm_status status;

        if (!rgm_graph_has_feature(w->c->graph, set->piece, set->name, feature->name))
            continue;
        status = rgm_feature_reader_create(&reader, w->c->graph, set->piece, set->name, feature,
                                           w->buffers);
        if (status == RGM_OK)
            status = write_items(w, reader, set, feature, &w->sets[s]);
        rgm_feature_reader_release(reader);
        if (status == RGM_OK && feature->vocabulary > 0)
            status = keep_begins(w, set, feature, &w->sets[s]);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status write_ids(work *w, int64_t s, const rgm_set_schema *set)
{
    rgm_feature value = {0};
    rgm_status status;

    RGM_TRY(rgm_tensor_create_from(&value.values, RGM_I64, 1, &w->sets[s].count, w->sets[s].nodes));
    status = rgm_graph_writer_feature(w->writer, RGM_NODE_SET, set->name, "#id", &value);
    rgm_feature_clear(&value);
    return status;
}

/* The own nodes of a part of the split, and where they stand in its list. */
static rgm_status own_of_split(rgm_tensor **own, rgm_tensor **places, const work *w,
                               const rgm_tensor *all)
{
    const cut *c = w->c;
    int64_t first = c->first[set_index(c, c->data->split_set)], count = 0;

    for (int64_t k = 0; k < rgm_tensor_count(all); k++)
        count += c->part[first + rgm_tensor_at_int(all, k)] == w->number;
    RGM_TRY(rgm_tensor_create(own, RGM_I64, 1, &count));
    RGM_TRY(rgm_tensor_create(places, RGM_I64, 1, &count));
    count = 0;
    for (int64_t k = 0; k < rgm_tensor_count(all); k++) {
        int64_t v = first + rgm_tensor_at_int(all, k);

        if (c->part[v] != w->number)
            continue;
        rgm_tensor_i64(*places)[count] = k;
        rgm_tensor_i64(*own)[count++] = c->place[v];
    }
    return RGM_OK;
}

/* Of each part of the split the own nodes; batches are drawn from the list of all. */
static rgm_status write_split(work *w)
{
    const rgm_graph_data *data = w->c->data;
    rgm_tensor *const all[3] = {data->train, data->valid, data->test};
    rgm_tensor *parts[3] = {NULL, NULL, NULL}, *places = NULL;
    rgm_status status = RGM_OK;

    for (int i = 0; i < 3; i++) {
        if (all[i] == NULL)
            continue;
        RGM_GO(own_of_split(&parts[i], &places, w, all[i]));
        RGM_GO(keep_number(w, RGM_NODE_SET, data->split_set, rgmi_split_names[i], places));
        places = NULL;
    }
    RGM_GO(rgm_graph_writer_split(w->writer, data->split_set, data->split_name, parts));
done:
    rgm_tensor_release(places);
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(parts[i]);
    return status;
}

/* ---- a part -------------------------------------------------------------------------------- */

static rgm_status write_sets(work *w)
{
    const rgm_schema *schema = w->c->schema;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_NODE_SET)
            RGM_TRY(rgm_graph_writer_items(w->writer, set->name, w->sets[i].count));
    }
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_CONTEXT_PIECE) {
            RGM_TRY(write_context(w, set));
            continue;
        }
        if (set->piece == RGM_EDGE_SET)
            RGM_TRY(write_edges(w, i, set));
        else
            RGM_TRY(write_ids(w, i, set));
        RGM_TRY(write_features(w, i, set));
    }
    return write_split(w);
}

static void count_part(work *w)
{
    const rgm_schema *schema = w->c->schema;
    int64_t at = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        rgmi_parts_set *set = &w->c->parts->sets[at];

        if (rgm_schema_set(schema, i)->piece == RGM_CONTEXT_PIECE)
            continue;
        at++;
        set->own[w->number] = set->halo != NULL ? w->sets[i].own : w->sets[i].count;
        if (set->halo != NULL)
            set->halo[w->number] = w->sets[i].count - w->sets[i].own;
    }
}

static rgm_status name_files(rgmi_parts_file files[2], int64_t number, int64_t count)
{
    static const char *const ends[2] = {"graph", "safetensors"};

    for (int i = 0; i < 2; i++)
        RGM_TRY(rgm_strprintf(&files[i].name, "part-%05lld-of-%05lld.%s", (long long)number,
                              (long long)count, ends[i]));
    return RGM_OK;
}

static rgm_status write_files(work *w)
{
    cut *c = w->c;
    rgmi_parts_file *files = &c->parts->files[2 * w->number];
    rgm_graph_writer_options options = {.memory = c->options->memory};
    char *paths[2] = {NULL, NULL};
    rgm_status status = RGM_OK;

    RGM_GO(name_files(files, w->number, c->options->parts));
    for (int i = 0; i < 2; i++)
        RGM_GO(rgm_path_join(&paths[i], c->folder, files[i].name));
    RGM_GO(find_nodes(w));
    RGM_GO(rgm_graph_writer_open(&w->writer, paths[0], c->part_schema, &options));
    RGM_GO(write_sets(w));
    RGM_GO(rgm_graph_writer_finish(w->writer));
    RGM_GO(rgm_safetensors_save(paths[1], w->numbers, w->number_count, NULL, 0));
    for (int i = 0; i < 2; i++)
        RGM_GO(rgmi_parts_file_look(&files[i], c->folder));
    count_part(w);
done:
    for (int i = 0; i < 2; i++)
        rgm_free(paths[i]);
    return status;
}

/* Tensors of the numbers' file: two a node set, one an edge set, one a one_hot feature, one a part
 * of the split. */
static int64_t most_numbers(const rgm_schema *schema)
{
    int64_t count = 3;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++)
        count += 2 + rgm_schema_set(schema, i)->feature_count;
    return count;
}

static rgm_status write_part(cut *c, int64_t number)
{
    rgm_status status = RGM_OK;
    work w = {.c = c, .number = number};

    RGM_GO(RGM_NEW(w.sets, rgm_schema_set_count(c->schema)));
    RGM_GO(RGM_NEW(w.halo, c->nodes));
    RGM_GO(RGM_NEW(w.numbers, most_numbers(c->schema)));
    RGM_GO(rgm_buffers_create(&w.buffers));
    RGM_GO(write_files(&w));
done:
    rgm_graph_writer_release(w.writer);
    rgm_buffers_close(w.buffers);
    for (int64_t i = 0; w.sets != NULL && i < rgm_schema_set_count(c->schema); i++)
        rgm_free(w.sets[i].nodes);
    for (int64_t i = 0; i < w.number_count; i++) {
        rgm_free((char *)(uintptr_t)w.numbers[i].name);
        rgm_tensor_release(w.numbers[i].tensor);
    }
    rgm_free(w.sets);
    rgm_free(w.halo);
    rgm_free(w.numbers);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

static rgm_status write_manifest(const cut *c)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    RGM_GO(rgmi_parts_print(&text, c->parts));
    RGM_GO(rgm_path_join(&path, c->folder, RGMI_PARTS_FILE));
    RGM_GO(rgm_file_create(path, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_free(path);
    return status;
}

rgm_status rgm_parts_write(const rgm_graph_data *data, const char *folder,
                           const rgm_parts_options *options)
{
    rgm_status status = RGM_OK;
    cut c = {.data = data, .options = options};

    RGM_GO(check_data(data, options));
    c.graph = data->graphs[0];
    c.schema = data->schema;
    RGM_GO(RGM_NEW(c.parts, 1));
    RGM_GO(rgm_graph_folder_begin(&c.folder, folder));
    RGM_GO(make_cut(&c));
    for (int64_t p = 0; p < options->parts; p++)
        RGM_GO(rgm_error_prefix(write_part(&c, p), "part %lld", (long long)p));
    RGM_GO(write_manifest(&c));
done:
    status = rgm_graph_folder_end(c.folder, folder, status);
    rgm_parts_release(c.parts);
    rgm_partition_clear(&c.partition);
    rgm_schema_release(c.part_schema);
    rgm_free(c.first);
    rgm_free(c.place);
    rgm_free(c.joins);
    return status;
}
