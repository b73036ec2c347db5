/*
 * Inference layer by layer: the values of rounds that rgm_cgraph_rounds() cuts out, each round for
 * all nodes of all sets before the next, a chunk of nodes at a time. A chunk is a graph of its
 * nodes, of the edges that end at them and of what is at the other ends; it is fed the states that
 * earlier rounds have left of those nodes, and the rows of its own nodes, which come first, are
 * kept. What there is to compute hangs on the model alone and is found once, then run for graphs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph_value_internal.h"

enum { MOST_FEEDS = 512, READ_THREADS = 1, SMALL_ARENA = 1 << 20 };

/** A value of a round: where its states are kept while a later round reads them. */
typedef struct kept {
    const rgm_round_value *what;
    rgm_value *input; /* what stands for it in later rounds */
    int64_t piece;    /* the node set: of the model's schema */
    int64_t last;     /* the group that reads it last */
    size_t row_bytes;
    int64_t set, rows; /* of the graph at hand */
    char *data;
    size_t mapped; /* bytes, where data is a file's; 0: it is memory */
} kept;

/** Values of one round and node set. */
typedef struct group {
    int64_t piece, round;
    int64_t *members; /* [count] of self->kept */
    rgm_value **outputs;
    int64_t count;
    bool *reads_input, *reads_kept; /* of the root's inputs; of self->kept */
    uint8_t *ways;                  /* [links] */
    rgm_executor *executor;         /* NULL: it is to be made */
} group;

/** Nodes of a set, or edges, of the chunk at hand. */
typedef struct chosen {
    int32_t *items; /* [count] by place */
    int64_t count, room;
    int64_t *ends[2]; /* of edges, by tag: places */
    int64_t end_rooms[2];
    int32_t *place; /* of node sets that are met: [total] place + 1, 0: it is not there */
    int64_t total;
} chosen;

typedef struct rgm_by_rounds {
    rgm_by_rounds_options options;
    const rgm_graph_value *root;
    rgm_rounds rounds;
    rgm_value **links;
    int64_t *link_pieces; /* of the model's schema */
    int64_t link_count;
    kept *kept; /* [rounds.count] */
    group *groups;
    int64_t group_count;
    /* of the graph at hand */
    rgm_graph *graph;
    const rgm_parameters *parameters;
    int64_t *link_sets;
    int64_t in_memory;            /* bytes of kept states */
    chosen *chosen;               /* [sets of the graph] */
    rgm_feature_reader **readers; /* [inputs of the root] */
    rgm_buffers *buffers;
    rgm_rows_sink *sink;
    void *payload;
} layerwise;

/* ---- which rounds, of what ------------------------------------------------------------------- */

static rgm_status find_links(layerwise *self)
{
    RGM_TRY(RGM_NEW(self->links, self->root->input_count));
    RGM_TRY(RGM_NEW(self->link_pieces, self->root->input_count));
    RGM_TRY(RGM_NEW(self->link_sets, self->root->input_count));
    for (int64_t i = 0; i < self->root->input_count; i++) {
        const rgmi_graph_input *input = &self->root->inputs[i];

        if (!rgmi_is_link(self->root, input))
            continue;
        self->links[self->link_count] = input->value;
        self->link_pieces[self->link_count++] = input->set;
    }
    return RGM_OK;
}

/* The node set that the rows of a value are of. */
static rgm_status piece_of(int64_t *piece, const layerwise *self, const rgm_value *v)
{
    const rgm_schema *schema = self->root->schema;

    for (int64_t s = 0; s < schema->set_count; s++)
        if (schema->sets[s]->piece == RGM_NODE_SET &&
            rgm_set_size(self->root, RGM_NODE_SET, schema->sets[s]->name) == rgm_value_dim(v, 0)) {
            *piece = s;
            return RGM_OK;
        }
    RGM_TRY(rgm_cgraph_status(self->root->cgraph));
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "a round makes values that are of no node set");
}

static rgm_status open_kept(layerwise *self, int64_t i)
{
    kept *k = &self->kept[i];
    rgm_value *v = self->rounds.values[i].value;
    char name[64];

    k->what = &self->rounds.values[i];
    k->last = -1;
    RGM_TRY(piece_of(&k->piece, self, v));
    k->row_bytes = rgm_dtype_size(rgm_value_dtype(v));
    for (int d = 1; d < rgm_value_rank(v); d++) {
        if (rgm_value_dim(v, d) < 0)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "a round makes states of a width that varies");
        k->row_bytes *= (size_t)rgm_value_dim(v, d);
    }
    snprintf(name, sizeof name, "#round/%lld", (long long)rgm_value_number(v));
    k->input = rgm_input(self->root->cgraph, name, rgm_value_dtype(v), rgm_value_rank(v),
                         rgm_value_shape(v));
    return rgm_cgraph_status(self->root->cgraph);
}

static bool is_needed(const rgm_value *input, const bool *needed, int64_t count)
{
    return rgm_value_number(input) < count && needed[rgm_value_number(input)];
}

/* Values that the group's outputs are made of. */
static rgm_status mark_read(const layerwise *self, group *g, int64_t number_of_group)
{
    int64_t count = 0;
    bool *needed;

    for (int64_t i = 0; i < g->count; i++)
        if (rgm_value_number(g->outputs[i]) >= count)
            count = rgm_value_number(g->outputs[i]) + 1;
    RGM_TRY(RGM_NEW(needed, count));
    for (int64_t i = 0; i < g->count; i++)
        needed[rgm_value_number(g->outputs[i])] = true;
    for (int64_t i = count - 1; i >= 0; i--) {
        rgm_value *v = rgm_cgraph_value(self->root->cgraph, i);

        for (int k = 0; needed[i] && k < rgm_value_input_count(v); k++)
            needed[rgm_value_number(rgm_value_input(v, k))] = true;
    }
    for (int64_t i = 0; i < self->root->input_count; i++)
        g->reads_input[i] = is_needed(self->root->inputs[i].value, needed, count);
    for (int64_t i = 0; i < self->rounds.count; i++) {
        g->reads_kept[i] = is_needed(self->kept[i].input, needed, count);
        if (g->reads_kept[i])
            self->kept[i].last = number_of_group;
    }
    rgm_free(needed);
    return RGM_OK;
}

/* The outputs, built again from what earlier rounds have left. */
static rgm_status build_group(layerwise *self, group *g, int64_t number_of_group)
{
    rgm_status status = RGM_OK;
    rgm_value **from = NULL, **to = NULL, **values = NULL;
    int64_t earlier = 0;

    RGM_GO(RGM_NEW(from, self->rounds.count));
    RGM_GO(RGM_NEW(to, self->rounds.count));
    RGM_GO(RGM_NEW(values, g->count));
    RGM_GO(RGM_NEW(g->outputs, g->count));
    RGM_GO(RGM_NEW(g->reads_input, self->root->input_count));
    RGM_GO(RGM_NEW(g->reads_kept, self->rounds.count));
    RGM_GO(RGM_NEW(g->ways, self->link_count));
    for (int64_t i = 0; i < self->rounds.count; i++)
        if (self->kept[i].what->round < g->round) {
            from[earlier] = self->kept[i].what->value;
            to[earlier++] = self->kept[i].input;
        }
    for (int64_t i = 0; i < g->count; i++) {
        const rgm_round_value *what = self->kept[g->members[i]].what;

        values[i] = what->value;
        for (int64_t l = 0; l < self->link_count; l++)
            g->ways[l] |= what->ways[l];
    }
    RGM_GO(rgm_cgraph_replace(g->outputs, values, g->count, from, to, earlier));
    RGM_GO(mark_read(self, g, number_of_group));
done:
    rgm_free(from);
    rgm_free(to);
    rgm_free(values);
    return status;
}

static rgm_status open_groups(layerwise *self)
{
    RGM_TRY(RGM_NEW(self->groups, self->rounds.count));
    for (int64_t i = 0; i < self->rounds.count; i++) {
        int64_t round = self->kept[i].what->round, at = 0;
        group *g;

        while (at < self->group_count &&
               (self->groups[at].round != round || self->groups[at].piece != self->kept[i].piece))
            at++;
        g = &self->groups[at];
        if (at == self->group_count) {
            self->group_count++;
            *g = (group){.round = round, .piece = self->kept[i].piece};
            RGM_TRY(RGM_NEW(g->members, self->rounds.count));
        }
        g->members[g->count++] = i;
    }
    for (int64_t at = 0; at < self->group_count; at++)
        RGM_TRY(build_group(self, &self->groups[at], at));
    return RGM_OK;
}

void rgm_by_rounds_close(rgm_by_rounds *self)
{
    if (self == NULL)
        return;
    for (int64_t i = 0; i < self->group_count; i++) {
        rgm_executor_release(self->groups[i].executor);
        rgm_free(self->groups[i].members);
        rgm_free(self->groups[i].outputs);
        rgm_free(self->groups[i].reads_input);
        rgm_free(self->groups[i].reads_kept);
        rgm_free(self->groups[i].ways);
    }
    rgm_rounds_clear(&self->rounds);
    rgm_free(self->groups);
    rgm_free(self->kept);
    rgm_free(self->links);
    rgm_free(self->link_pieces);
    rgm_free(self->link_sets);
    rgm_free(self);
}

static rgm_status open_all(layerwise *self, rgm_value *value)
{
    RGM_TRY(find_links(self));
    RGM_TRY(rgm_cgraph_rounds(&self->rounds, value, self->links, self->link_count));
    RGM_TRY(RGM_NEW(self->kept, self->rounds.count));
    for (int64_t i = 0; i < self->rounds.count; i++)
        RGM_TRY(open_kept(self, i));
    return open_groups(self);
}

rgm_status rgm_by_rounds_open(rgm_by_rounds **out, rgm_value *value,
                              const rgm_graph_value *graph_value,
                              const rgm_by_rounds_options *options)
{
    const rgm_by_rounds_options defaults = RGM_BY_ROUNDS_OPTIONS_INIT;
    rgm_by_rounds *self;
    rgm_status status;

    *out = NULL;
    if (options != NULL && options->chunk < 1)
        return RGM_FAIL(RGM_ERR_ARG, "by rounds: %lld nodes at a time", (long long)options->chunk);
    RGM_TRY(RGM_NEW(self, 1));
    self->options = options != NULL ? *options : defaults;
    self->root = graph_value->root;
    status = open_all(self, value);
    if (status == RGM_OK)
        *out = self;
    else
        rgm_by_rounds_close(self);
    return status;
}

/* Where the graph has what the model is of. */
static rgm_status take_graph(layerwise *self, rgm_graph *graph)
{
    rgm_set_schema *const *sets = self->root->schema->sets;

    if (rgm_graph_components(graph) != 1)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "by rounds: a graph of %lld components; it has one",
                        (long long)rgm_graph_components(graph));
    self->graph = graph;
    for (int64_t l = 0; l < self->link_count; l++)
        RGM_TRY(rgmi_graph_set(&self->link_sets[l], graph, RGM_EDGE_SET,
                               sets[self->link_pieces[l]]->name));
    for (int64_t i = 0; i < self->rounds.count; i++) {
        kept *k = &self->kept[i];

        RGM_TRY(rgmi_graph_set(&k->set, graph, RGM_NODE_SET, sets[k->piece]->name));
        k->rows = graph->sets[k->set].items->total;
    }
    return RGM_OK;
}

/* ---- states that are kept -------------------------------------------------------------------- */

static void drop(layerwise *self, kept *k)
{
    if (k->mapped > 0)
        munmap(k->data, k->mapped);
    else if (k->data != NULL)
        self->in_memory -= k->rows * (int64_t)k->row_bytes;
    if (k->mapped == 0)
        rgm_free(k->data);
    k->data = NULL;
    k->mapped = 0;
}

/* A file that has no name, as large as the states, so that no page of it can be missing. */
static rgm_status map_states(kept *k, const char *folder, size_t bytes)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    void *data;
    int fd = -1, failed;

    RGM_GO(rgm_strprintf(&path, "%s/.regimen-states-XXXXXX", folder != NULL ? folder : "/tmp"));
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("create", path));
    (void)unlink(path);
    failed = posix_fallocate(fd, 0, (off_t)bytes);
    if (failed != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "%s: %zu bytes of states: %s", path, bytes, strerror(failed)));
    data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        RGM_GO(RGM_FAIL_SYSTEM("map", path));
    k->data = data;
    k->mapped = bytes;
done:
    if (fd >= 0)
        close(fd);
    rgm_free(path);
    return status;
}

static rgm_status make_room(layerwise *self, kept *k)
{
    int64_t bytes = k->rows * (int64_t)k->row_bytes;

    if (k->last < 0 || bytes == 0)
        return RGM_OK;
    if (self->in_memory + bytes > self->options.memory)
        return map_states(k, self->options.folder, (size_t)bytes);
    k->data = rgm_malloc((size_t)bytes);
    if (k->data == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld bytes of states", (long long)bytes);
    self->in_memory += bytes;
    return RGM_OK;
}

/* ---- a chunk --------------------------------------------------------------------------------- */

static rgm_status add_node(int64_t *place, chosen *c, int64_t node)
{
    if (c->place[node] == 0) {
        RGM_TRY(RGM_RESERVE(c->items, c->room, c->count + 1));
        c->items[c->count++] = (int32_t)node;
        c->place[node] = (int32_t)c->count;
    }
    *place = c->place[node] - 1;
    return RGM_OK;
}

static rgm_status open_nodes(layerwise *self, int64_t set)
{
    chosen *c = &self->chosen[set];

    c->total = self->graph->sets[set].items->total;
    return c->place != NULL ? RGM_OK : RGM_NEW(c->place, c->total);
}

/* Rows by one end of an edge set, in the file or in memory. */
static rgm_status rows_of(const rgm_csr **csr, const layerwise *self, int64_t set, int end)
{
    const rgmi_stored_edges *stored = self->graph->sets[set].items->stored;
    rgm_pattern *pattern;

    if (stored != NULL && stored->has[end]) {
        *csr = &stored->csr[end];
        return RGM_OK;
    }
    RGM_TRY(rgm_graph_adjacency(&pattern, self->graph, self->graph->schema->sets[set]->name,
                                (rgm_tag)end));
    *csr = rgm_pattern_by_row(pattern);
    return RGM_OK;
}

static rgm_status add_edge(chosen *edges, int64_t number, int end, int64_t near, int64_t far)
{
    RGM_TRY(RGM_RESERVE(edges->items, edges->room, edges->count + 1));
    RGM_TRY(RGM_RESERVE(edges->ends[0], edges->end_rooms[0], edges->count + 1));
    RGM_TRY(RGM_RESERVE(edges->ends[1], edges->end_rooms[1], edges->count + 1));
    edges->items[edges->count] = (int32_t)number;
    edges->ends[end][edges->count] = near;
    edges->ends[1 - end][edges->count++] = far;
    return RGM_OK;
}

/* Edges of a set with that end in the chunk begin .. last - 1; `both`: those whose other end is in
 * it too are there already. */
static rgm_status add_edges(layerwise *self, int64_t set, int end, int64_t begin, int64_t last,
                            bool both)
{
    const rgm_set_schema *schema = self->graph->schema->sets[set];
    const char *names[2] = {schema->source, schema->target};
    int64_t far_set = rgm_schema_index(self->graph->schema, RGM_NODE_SET, names[1 - end]);
    chosen *far_nodes = &self->chosen[far_set], *edges = &self->chosen[set];
    const rgm_csr *csr = NULL;

    if (self->graph->sets[set].items->total == 0)
        return RGM_OK;
    RGM_TRY(open_nodes(self, far_set));
    RGM_TRY(rows_of(&csr, self, set, end));
    for (int64_t row = begin; row < last; row++) {
        int64_t first = csr->row_start[row], stop = csr->row_start[row + 1];

        if (first < 0 || stop < first || stop > csr->count)
            return rgm_graph_broken(self->graph);
        for (int64_t p = first; p < stop; p++) {
            int64_t far = csr->column[p], place;
            int64_t number = csr->entry != NULL ? csr->entry[p] : p;

            if (far < 0 || far >= far_nodes->total || number < 0 || number >= csr->count)
                return rgm_graph_broken(self->graph);
            if (both && far >= begin && far < last)
                continue;
            RGM_TRY(add_node(&place, far_nodes, far));
            RGM_TRY(add_edge(edges, number, end, row - begin, place));
        }
    }
    return RGM_OK;
}

static rgm_status choose(layerwise *self, const group *g, int64_t begin, int64_t last)
{
    int64_t place, nodes = self->kept[g->members[0]].set;

    RGM_TRY(open_nodes(self, nodes));
    for (int64_t node = begin; node < last; node++)
        RGM_TRY(add_node(&place, &self->chosen[nodes], node));
    for (int64_t l = 0; l < self->link_count; l++) {
        int64_t set = self->link_sets[l];
        const rgm_set_schema *schema = self->graph->schema->sets[set];
        bool same = strcmp(schema->source, schema->target) == 0;

        if (g->ways[l] & RGM_ROUND_BY_ROWS)
            RGM_TRY(add_edges(self, set, RGM_TARGET, begin, last, false));
        if (g->ways[l] & RGM_ROUND_BY_COLUMNS)
            RGM_TRY(add_edges(self, set, RGM_SOURCE, begin, last,
                              same && (g->ways[l] & RGM_ROUND_BY_ROWS) != 0));
    }
    return RGM_OK;
}

static void forget(layerwise *self)
{
    for (int64_t s = 0; s < self->graph->set_count; s++) {
        chosen *c = &self->chosen[s];

        for (int64_t i = 0; c->place != NULL && i < c->count; i++)
            c->place[c->items[i]] = 0;
        c->count = 0;
    }
}

/* ---- its graph ------------------------------------------------------------------------------- */

static rgm_status take_items(rgm_graph *out, const layerwise *self, int64_t set)
{
    const chosen *c = &self->chosen[set];
    rgm_piece piece = self->graph->schema->sets[set]->piece;
    int64_t count = piece == RGM_CONTEXT_PIECE ? 1 : c->count;
    rgm_status status = RGM_OK;
    rgm_tensor *ends[2] = {NULL, NULL};

    RGM_GO(rgmi_items_create(&out->sets[set].items, 1, &count, 1));
    if (piece != RGM_EDGE_SET || count == 0)
        goto done;
    for (int end = 0; end < 2; end++)
        RGM_GO(rgm_tensor_create_from(&ends[end], RGM_I64, 1, &count, c->ends[end]));
    rgmi_items_set_edges(out->sets[set].items, ends[RGM_SOURCE], ends[RGM_TARGET]);
done:
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    return status;
}

/* The feature that an input reads, of the chosen items. */
static rgm_status take_feature(rgm_graph *out, layerwise *self, int64_t i)
{
    const rgmi_graph_input *input = &self->root->inputs[i];
    const rgm_set_schema *wanted = self->root->schema->sets[input->set];
    const rgm_set_schema *schema;
    rgm_feature value = {0};
    int64_t set, j;

    RGM_TRY(rgmi_graph_set(&set, self->graph, wanted->piece, wanted->name));
    schema = self->graph->schema->sets[set];
    RGM_TRY(rgmi_feature_require(&j, schema, wanted->features[input->feature].name));
    if (self->graph->sets[set].columns[j] == NULL || out->sets[set].columns[j] != NULL)
        return RGM_OK; /* feeding tells of what is absent */
    if (self->readers[i] == NULL)
        RGM_TRY(rgm_feature_reader_create(&self->readers[i], self->graph, wanted->piece,
                                          wanted->name, &schema->features[j], self->buffers));
    RGM_TRY(rgm_feature_reader_take(&value, self->readers[i], self->chosen[set].items,
                                    self->chosen[set].count, READ_THREADS));
    return rgmi_column_create(&out->sets[set].columns[j], &value);
}

static rgm_status chunk_graph(rgm_graph **out, layerwise *self, const group *g)
{
    rgm_status status = RGM_OK;
    rgm_graph *made = NULL;

    RGM_GO(rgm_graph_begin(&made, self->graph->schema, 1, 1));
    for (int64_t s = 0; s < self->graph->set_count; s++)
        RGM_GO(take_items(made, self, s));
    for (int64_t i = 0; i < self->root->input_count; i++)
        if (g->reads_input[i] && self->root->inputs[i].feature >= 0)
            RGM_GO(take_feature(made, self, i));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    return status;
}

/* ---- what it is fed -------------------------------------------------------------------------- */

typedef struct feeding {
    rgm_feed feeds[MOST_FEEDS];
    int64_t count;
    bool owned[MOST_FEEDS];
} feeding;

static void feeding_clear(feeding *f)
{
    for (int64_t i = 0; i < f->count; i++)
        if (f->owned[i]) {
            rgm_tensor_release(f->feeds[i].tensor);
            rgm_pattern_release(f->feeds[i].pattern);
        }
    f->count = 0;
}

static rgm_status feed_states(feeding *f, const layerwise *self, const kept *k)
{
    const chosen *c = &self->chosen[k->set];
    int64_t shape[RGM_MAX_RANK];
    rgm_tensor *states;
    char *to;

    shape[0] = c->count;
    for (int d = 1; d < rgm_value_rank(k->input); d++)
        shape[d] = rgm_value_dim(k->input, d);
    RGM_TRY(rgm_buffers_tensor(&states, self->buffers, rgm_value_dtype(k->input),
                               rgm_value_rank(k->input), shape));
    to = rgm_tensor_data(states);
    for (int64_t i = 0; i < c->count; i++)
        memcpy(to + (size_t)i * k->row_bytes, k->data + (size_t)c->items[i] * k->row_bytes,
               k->row_bytes);
    f->owned[f->count] = true;
    f->feeds[f->count++] = (rgm_feed){.input = k->input, .tensor = states};
    return RGM_OK;
}

/* A node that is its own number is so among all nodes, not in the chunk. */
static rgm_status feed_numbers(feeding *f, const layerwise *self, const rgmi_graph_input *input)
{
    int64_t set, *column;
    rgm_pattern *pattern = NULL;
    rgm_status status;

    RGM_TRY(rgmi_graph_set(&set, self->graph, RGM_NODE_SET,
                           self->root->schema->sets[input->set]->name));
    RGM_TRY(rgm_graph_check_numbers(self->graph, self->graph->schema->sets[set]->name,
                                    rgm_value_dim(input->value, 1)));
    RGM_TRY(RGM_NEW(column, self->chosen[set].count));
    for (int64_t i = 0; i < self->chosen[set].count; i++)
        column[i] = self->chosen[set].items[i];
    status =
        rgmi_make_picks(&pattern, self->chosen[set].count, rgm_value_dim(input->value, 1), column);
    rgm_free(column);
    RGM_TRY(status);
    f->owned[f->count] = true;
    f->feeds[f->count++] = (rgm_feed){.input = input->value, .pattern = pattern};
    return RGM_OK;
}

static rgm_status feed(feeding *f, const layerwise *self, const group *g, const rgm_graph *chunk)
{
    if (self->root->input_count + self->rounds.count > MOST_FEEDS)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "by rounds: more than %d feeds", MOST_FEEDS);
    for (int64_t i = 0; i < self->root->input_count; i++) {
        const rgmi_graph_input *input = &self->root->inputs[i];

        if (!g->reads_input[i])
            continue;
        if (input->kind == INPUT_NUMBER) {
            RGM_TRY(feed_numbers(f, self, input));
            continue;
        }
        f->owned[f->count] = false;
        RGM_TRY(rgmi_feed_one(&f->feeds[f->count], input, self->root, chunk));
        f->count++;
    }
    for (int64_t i = 0; i < self->rounds.count; i++)
        if (g->reads_kept[i])
            RGM_TRY(feed_states(f, self, &self->kept[i]));
    return RGM_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static rgm_status keep(layerwise *self, const group *g, rgm_tensor *const *made, int64_t begin,
                       int64_t last)
{
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < g->count; i++) {
        kept *k = &self->kept[g->members[i]];

        if (k->data != NULL)
            memcpy(k->data + (size_t)begin * k->row_bytes, rgm_tensor_data(made[i]),
                   (size_t)(last - begin) * k->row_bytes);
        if (g->members[i] == self->rounds.count - 1) { /* what was asked for */
            rgm_tensor *rows = NULL;

            RGM_TRY(rgm_tensor_slice(&rows, made[i], 0, last - begin));
            status = self->sink(rows, begin, self->payload);
            rgm_tensor_release(rows);
        }
    }
    return status;
}

static rgm_status run_chunk(layerwise *self, const group *g, int64_t begin, int64_t last)
{
    rgm_status status = RGM_OK;
    rgm_tensor **made = NULL;
    rgm_graph *chunk = NULL;
    feeding f = {.count = 0};

    RGM_GO(RGM_NEW(made, g->count));
    RGM_GO(choose(self, g, begin, last));
    RGM_GO(chunk_graph(&chunk, self, g));
    RGM_GO(feed(&f, self, g, chunk));
    RGM_GO(rgm_graph_check_uncut(self->graph)); /* zeros of a file may look like features */
    RGM_GO(rgm_executor_run(g->executor, made, self->parameters, f.feeds, f.count, 1, 0));
    RGM_GO(keep(self, g, made, begin, last));
done:
    feeding_clear(&f);
    rgm_graph_release(chunk);
    forget(self);
    rgm_free(made);
    return status;
}

/* A large one takes more memory than making it again takes time. */
static void put_away(group *g)
{
    if (rgm_executor_arena_bytes(g->executor) + rgm_executor_hoisted_bytes(g->executor) <=
        SMALL_ARENA)
        return;
    rgm_executor_release(g->executor);
    g->executor = NULL;
}

static rgm_status run_group(layerwise *self, int64_t at)
{
    rgm_executor_options options = {.bf16 = self->options.bf16, .plans = 1};
    group *g = &self->groups[at];
    int64_t total = self->kept[g->members[0]].rows, chunk = self->options.chunk;

    if (g->executor == NULL)
        RGM_TRY(
            rgm_executor_create(&g->executor, self->root->cgraph, g->outputs, g->count, &options));
    for (int64_t i = 0; i < g->count; i++)
        RGM_TRY(make_room(self, &self->kept[g->members[i]]));
    for (int64_t begin = 0; begin < total; begin += chunk)
        RGM_TRY(run_chunk(self, g, begin, total - begin < chunk ? total : begin + chunk));
    for (int64_t i = 0; i < self->rounds.count; i++)
        if (self->kept[i].last == at)
            drop(self, &self->kept[i]);
    put_away(g);
    return RGM_OK;
}

static void drop_graph(layerwise *self)
{
    for (int64_t i = 0; i < self->rounds.count; i++)
        drop(self, &self->kept[i]);
    for (int64_t s = 0; self->chosen != NULL && s < self->graph->set_count; s++) {
        rgm_free(self->chosen[s].items);
        rgm_free(self->chosen[s].ends[0]);
        rgm_free(self->chosen[s].ends[1]);
        rgm_free(self->chosen[s].place);
    }
    for (int64_t i = 0; self->readers != NULL && i < self->root->input_count; i++)
        rgm_feature_reader_release(self->readers[i]);
    if (self->buffers != NULL)
        rgm_buffers_close(self->buffers);
    rgm_free(self->chosen);
    rgm_free(self->readers);
    self->chosen = NULL;
    self->readers = NULL;
    self->buffers = NULL;
    self->graph = NULL;
}

rgm_status rgm_by_rounds_run(rgm_rows_sink *sink, void *payload, rgm_by_rounds *self,
                             rgm_graph *graph, const rgm_parameters *parameters)
{
    rgm_status status = RGM_OK;

    self->sink = sink;
    self->payload = payload;
    self->parameters = parameters;
    RGM_GO(take_graph(self, graph));
    RGM_GO(RGM_NEW(self->chosen, graph->set_count));
    RGM_GO(RGM_NEW(self->readers, self->root->input_count));
    RGM_GO(rgm_buffers_create(&self->buffers));
    for (int64_t at = 0; at < self->group_count; at++)
        RGM_GO(run_group(self, at));
done:
    drop_graph(self);
    return status;
}

rgm_status rgm_by_rounds_bytes(int64_t *bytes, rgm_by_rounds *self, rgm_graph *graph)
{
    rgm_status status = take_graph(self, graph);

    *bytes = 0;
    for (int64_t at = 0; status == RGM_OK && at < self->group_count; at++) {
        int64_t now = 0;

        for (int64_t i = 0; i < self->rounds.count; i++)
            if (self->kept[i].last >= at && self->kept[i].what->round <= self->groups[at].round)
                now += self->kept[i].rows * (int64_t)self->kept[i].row_bytes;
        *bytes = now > *bytes ? now : *bytes;
    }
    self->graph = NULL;
    return status;
}
