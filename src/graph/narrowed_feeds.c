/*
 * What a model needs of a graph when only some items are asked about: those, the items that they
 * hear of over one edge set, two, and so on. rgm_graph_narrow() builds values again over the levels
 * that they need; here is what they are fed, made once for each graph.
 */
#include <stdatomic.h>

#include "graph_value_internal.h"

/* A run takes 512 feeds; what else it feeds fits into the rest. */
#define MOST_FEEDS 448

/* ---- the values ---- */

bool rgmi_is_link(const rgm_graph_value *root, const rgmi_graph_input *input)
{
    char prefix[64];

    return input->kind == INPUT_ADJACENCY &&
           rgm_aux_prefix(root->schema->sets[input->set]->name, prefix, sizeof prefix) == NULL;
}

static bool is_readout(const rgm_graph_value *root, const rgmi_graph_input *input)
{
    return input->kind == INPUT_READOUT ||
           (input->kind == INPUT_ADJACENCY && !rgmi_is_link(root, input));
}

int64_t rgm_graph_value_readouts(rgm_value **out, int64_t capacity, const rgm_graph_value *graph)
{
    const rgm_graph_value *root = graph->root;
    int64_t count = 0;

    for (int64_t i = 0; i < root->input_count; i++)
        if (is_readout(root, &root->inputs[i])) {
            if (count < capacity)
                out[count] = root->inputs[i].value;
            count++;
        }
    return count;
}

/* What is asked about: the first nodes, and what the readout's patterns pick. */
static bool is_seed(const rgm_graph_value *root, const rgmi_graph_input *input)
{
    return input->kind == INPUT_FIRST || is_readout(root, input);
}

/* Whose items RGM_NARROW_ITEMS parts are: asked now, as sizes are symbols of the compute graph. */
static rgm_status find_part_sets(rgm_graph_value *root)
{
    const rgm_schema *schema = root->schema;

    RGM_TRY(RGM_NEW(root->part_sets, root->part_count));
    for (int64_t p = 0; p < root->part_count; p++) {
        int64_t s = 0;

        if (root->parts[p].kind != RGM_NARROW_ITEMS)
            continue;
        while (s < schema->set_count &&
               (schema->sets[s]->piece != RGM_NODE_SET ||
                rgm_set_size(root, RGM_NODE_SET, schema->sets[s]->name) != root->parts[p].items))
            s++;
        if (s == schema->set_count)
            return RGM_FAIL(RGM_ERR_ARG, "a part of items of no node set");
        root->part_sets[p] = s;
    }
    return RGM_OK;
}

rgm_status rgm_graph_narrow(rgm_value **narrowed, rgm_value *const *values, int64_t count,
                            const rgm_graph_value *graph)
{
    static atomic_uint_fast64_t serial;
    rgm_graph_value *root = graph->root;
    rgm_status status = RGM_OK;
    rgm_narrow_options options = {.link_count = 0};
    rgm_value **links = NULL, **seeds = NULL;

    if (root->narrowing != 0)
        return RGM_FAIL(RGM_ERR_ARG, "the values of this graph are narrowed already");
    RGM_GO(RGM_NEW(links, root->input_count));
    RGM_GO(RGM_NEW(seeds, root->input_count));
    options.links = links;
    options.seeds = seeds;
    for (int64_t i = 0; i < root->input_count; i++) {
        if (rgmi_is_link(root, &root->inputs[i]))
            links[options.link_count++] = root->inputs[i].value;
        else if (is_seed(root, &root->inputs[i]))
            seeds[options.seed_count++] = root->inputs[i].value;
    }
    RGM_GO(rgm_cgraph_narrow(narrowed, &root->parts, &root->part_count, values, count, &options));
    root->narrowing = atomic_fetch_add(&serial, 1) + 1;
    if (root->input_count + root->part_count > MOST_FEEDS) {
        for (int64_t i = 0; i < count; i++)
            narrowed[i] = values[i];
        rgm_free(root->parts);
        root->parts = NULL;
        root->part_count = 0;
    }
    RGM_GO(find_part_sets(root));
done:
    rgm_free(links);
    rgm_free(seeds);
    return status;
}

/* ---- what they are fed ---- */

enum { FAR = INT32_MAX }; /* the level of what is not needed */

/** The nodes of one set by level. */
typedef struct near_nodes {
    int64_t total;
    int32_t *level; /* [total] */
    int64_t *order; /* [total] those that are needed, by level and number */
    int64_t *place; /* [total] where in order */
    int64_t *up_to; /* [levels] how many of that level or nearer */
    int64_t count;
} near_nodes;

typedef struct nearness {
    const rgm_graph *graph;
    const rgm_graph_value *root;
    const rgm_feed *feeds; /* of the root's inputs */
    near_nodes *sets;      /* of the root's schema; empty: no node set that counts */
    int levels;
} nearness;

/* Which of the root's inputs a link or seed is. */
static int64_t input_of(const rgm_graph_value *root, const rgm_value *value)
{
    int64_t i = 0;

    while (root->inputs[i].value != value)
        i++;
    return i;
}

/* Entries of a link: its rows hear its columns. */
typedef struct near_link {
    const near_nodes *rows, *columns;
    const int64_t *row, *column; /* [count] */
    int64_t count;
} near_link;

static rgm_status open_link(near_link *link, const nearness *near, const rgm_narrow_part *part)
{
    const rgm_schema *schema = near->root->schema;
    const rgm_set_schema *set =
        schema->sets[near->root->inputs[input_of(near->root, part->pattern)].set];
    int64_t source = rgm_schema_index(schema, RGM_NODE_SET, set->source);
    int64_t target = rgm_schema_index(schema, RGM_NODE_SET, set->target), index;
    rgmi_items *items;

    RGM_TRY(rgmi_graph_set(&index, near->graph, RGM_EDGE_SET, set->name));
    items = near->graph->sets[index].items;
    RGM_TRY(rgmi_items_whole(items));
    *link = (near_link){
        .rows = &near->sets[part->transposed ? source : target],
        .columns = &near->sets[part->transposed ? target : source],
        .row = rgm_tensor_i64(part->transposed ? items->source : items->target),
        .column = rgm_tensor_i64(part->transposed ? items->target : items->source),
        .count = items->total,
    };
    return RGM_OK;
}

/* Nodes of a level behind those of nearer ones. */
static void close_level(nearness *near, int level)
{
    for (int64_t s = 0; s < near->root->schema->set_count; s++) {
        near_nodes *nodes = &near->sets[s];

        if (nodes->up_to == NULL)
            continue;
        for (int64_t i = 0; i < nodes->total; i++)
            if (nodes->level[i] == level) {
                nodes->place[i] = nodes->count;
                nodes->order[nodes->count++] = i;
            }
        nodes->up_to[level] = nodes->count;
    }
}

/* What seeds pick: a pattern over the nodes of set *set. */
static rgm_pattern *seeds_of(int64_t *set, const nearness *near, const rgm_narrow_part *part)
{
    const rgm_schema *schema = near->root->schema;
    int64_t i = input_of(near->root, part->pattern);
    const rgmi_graph_input *input = &near->root->inputs[i];

    *set = input->kind == INPUT_FIRST
               ? input->set
               : rgm_schema_index(schema, RGM_NODE_SET, schema->sets[input->set]->source);
    return near->feeds[i].pattern;
}

static rgm_status find_levels(nearness *near)
{
    const rgm_graph_value *root = near->root;

    for (int64_t p = 0; p < root->part_count; p++) {
        const rgm_pattern *seeds;
        int64_t set;

        if (root->parts[p].kind != RGM_NARROW_SEEDS)
            continue;
        seeds = seeds_of(&set, near, &root->parts[p]);
        for (int64_t e = 0; e < rgm_pattern_by_row(seeds)->count; e++)
            near->sets[set].level[rgm_pattern_column_of(seeds)[e]] = 0;
    }
    close_level(near, 0);
    for (int level = 1; level < near->levels; level++) {
        for (int64_t p = 0; p < root->part_count; p++) {
            near_link link;

            if (root->parts[p].kind != RGM_NARROW_LINKS)
                continue;
            RGM_TRY(open_link(&link, near, &root->parts[p]));
            for (int64_t e = 0; e < link.count; e++)
                if (link.rows->level[link.row[e]] == level - 1 &&
                    link.columns->level[link.column[e]] > level)
                    link.columns->level[link.column[e]] = level;
        }
        close_level(near, level);
    }
    return RGM_OK;
}

static rgm_status nearness_init(nearness *near)
{
    const rgm_graph_value *root = near->root;
    const rgm_graph *graph = near->graph;

    for (int64_t p = 0; p < root->part_count; p++) {
        const rgm_narrow_part *part = &root->parts[p];
        int needed = part->level + (part->kind == RGM_NARROW_LINKS && !part->whole_columns) + 1;

        near->levels = needed > near->levels ? needed : near->levels;
    }
    RGM_TRY(RGM_NEW(near->sets, root->schema->set_count));
    for (int64_t s = 0; s < root->schema->set_count; s++) {
        const rgm_set_schema *set = root->schema->sets[s];
        near_nodes *nodes = &near->sets[s];
        int64_t index;

        if (set->piece != RGM_NODE_SET ||
            (index = rgm_schema_index(graph->schema, RGM_NODE_SET, set->name)) < 0)
            continue;
        nodes->total = graph->sets[index].items->total;
        RGM_TRY(RGM_NEW(nodes->level, nodes->total));
        RGM_TRY(RGM_NEW(nodes->order, nodes->total));
        RGM_TRY(RGM_NEW(nodes->place, nodes->total));
        RGM_TRY(RGM_NEW(nodes->up_to, near->levels));
        for (int64_t i = 0; i < nodes->total; i++)
            nodes->level[i] = FAR;
    }
    return find_levels(near);
}

static void nearness_clear(nearness *near)
{
    for (int64_t s = 0; near->sets != NULL && s < near->root->schema->set_count; s++) {
        rgm_free(near->sets[s].level);
        rgm_free(near->sets[s].order);
        rgm_free(near->sets[s].place);
        rgm_free(near->sets[s].up_to);
    }
    rgm_free(near->sets);
}

static rgm_status make_seeds(rgm_pattern **out, const nearness *near, const rgm_narrow_part *part)
{
    int64_t set, count, *row, *column;
    const rgm_pattern *whole = seeds_of(&set, near, part);
    const near_nodes *nodes = &near->sets[set];
    rgm_status status;

    count = rgm_pattern_by_row(whole)->count;
    RGM_TRY(RGM_NEW(row, 2 * count));
    column = row + count;
    for (int64_t e = 0; e < count; e++) {
        row[e] = rgm_pattern_row_of(whole)[e];
        column[e] = nodes->place[rgm_pattern_column_of(whole)[e]];
    }
    status = rgm_pattern_create(out, rgm_pattern_by_row(whole)->rows, nodes->up_to[0], count, row,
                                column);
    rgm_free(row);
    return status;
}

static rgm_status make_items(rgm_pattern **out, const nearness *near, int64_t p)
{
    const near_nodes *nodes = &near->sets[near->root->part_sets[p]];

    if (nodes->up_to == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "a part of items of a node set that is not there");
    return rgmi_make_picks(out, nodes->up_to[near->root->parts[p].level], nodes->total,
                           nodes->order);
}

/* Entries that end at rows up to a level, loops behind; their numbers, or NULL. */
typedef struct near_entries {
    int64_t *row, *column, *number;
    int64_t count;
} near_entries;

static void add_entry(near_entries *out, const near_link *link, const rgm_narrow_part *part,
                      int64_t row, int64_t column, int64_t number)
{
    out->row[out->count] = link->rows->place[row];
    out->column[out->count] = part->whole_columns ? column : link->columns->place[column];
    out->number[out->count++] = number;
}

/* Order: by level of the row; so the entries of fewer levels are the first of those of more. */
static rgm_status find_entries(near_entries *out, const near_link *link,
                               const rgm_narrow_part *part)
{
    const near_nodes *rows = link->rows;
    int64_t most = link->count + (part->loops ? rows->total : 0);

    *out = (near_entries){.count = 0};
    RGM_TRY(RGM_NEW(out->row, most));
    RGM_TRY(RGM_NEW(out->column, most));
    RGM_TRY(RGM_NEW(out->number, most));
    for (int level = 0; level <= part->level; level++) {
        for (int64_t e = 0; e < link->count; e++)
            if (rows->level[link->row[e]] == level)
                add_entry(out, link, part, link->row[e], link->column[e], e);
        for (int64_t i = level > 0 ? rows->up_to[level - 1] : 0;
             part->loops && i < rows->up_to[level]; i++)
            add_entry(out, link, part, rows->order[i], rows->order[i],
                      link->count + rows->order[i]);
    }
    return RGM_OK;
}

static rgm_status make_entries(rgm_pattern **out, const nearness *near, const rgm_narrow_part *part)
{
    rgm_status status = RGM_OK;
    near_entries entries = {.row = NULL};
    near_link link;

    RGM_TRY(open_link(&link, near, part));
    RGM_GO(find_entries(&entries, &link, part));
    if (part->kind == RGM_NARROW_ENTRIES)
        RGM_GO(rgmi_make_picks(out, entries.count,
                               link.count + (part->loops ? link.rows->total : 0), entries.number));
    else
        RGM_GO(rgm_pattern_create(out, link.rows->up_to[part->level],
                                  part->whole_columns ? link.columns->total
                                                      : link.columns->up_to[part->level + 1],
                                  entries.count, entries.row, entries.column));
done:
    rgm_free(entries.row);
    rgm_free(entries.column);
    rgm_free(entries.number);
    return status;
}

static rgm_status make_part(rgm_pattern **out, const nearness *near, int64_t p)
{
    const rgm_narrow_part *part = &near->root->parts[p];

    switch (part->kind) {
    case RGM_NARROW_SEEDS:
        return make_seeds(out, near, part);
    case RGM_NARROW_ITEMS:
        return make_items(out, near, p);
    case RGM_NARROW_LINKS:
    case RGM_NARROW_ENTRIES:
        return make_entries(out, near, part);
    }
    return RGM_OK;
}

static rgm_status make_near(rgmi_narrowed **out, const rgm_graph_value *root, const rgm_feed *feeds,
                            const rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    nearness near = {.graph = graph, .root = root, .feeds = feeds};
    rgmi_narrowed *made;

    made = rgm_calloc(1, sizeof *made + (size_t)root->part_count * sizeof made->patterns[0]);
    if (made == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: levels of a graph");
    made->narrowing = root->narrowing;
    made->count = root->part_count;
    RGM_GO(nearness_init(&near));
    for (int64_t i = 0; i < root->part_count; i++)
        RGM_GO(make_part(&made->patterns[i], &near, i));
    *out = made;
    made = NULL;
done:
    nearness_clear(&near);
    rgmi_narrowed_release(made);
    return status;
}

rgm_status rgmi_narrowed_patterns(rgm_pattern *const **patterns, const rgm_graph_value *root,
                                  const rgm_feed *feeds, rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    rgmi_narrowed *near;

    *patterns = NULL;
    pthread_mutex_lock(&graph->lock);
    for (near = graph->near; near != NULL && near->narrowing != root->narrowing;)
        near = near->next;
    if (near == NULL) {
        status = make_near(&near, root, feeds, graph);
        if (status == RGM_OK) {
            near->next = graph->near;
            graph->near = near;
        }
    }
    if (status == RGM_OK)
        *patterns = near->patterns;
    pthread_mutex_unlock(&graph->lock);
    return status;
}
