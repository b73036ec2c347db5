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

/** The nodes of one set by level. */
typedef struct near_nodes {
    int64_t total;
    int32_t *level; /* [total]; nearness.levels: not needed */
    int32_t *order; /* [total] those that are needed, by level and number */
    int32_t *place; /* [total] where in order */
    int64_t *up_to; /* [levels] how many of that level or nearer */
    int64_t count;
} near_nodes;

/**
 * A link as parts read it: its rows hear its columns. Entries are those of rows up to the greatest
 * level of a part, loops behind those of their level; in their order, by level of the row, those of
 * a lesser level come first.
 */
typedef struct near_link {
    const rgm_value *pattern;
    bool transposed, loops;
    bool heard; /* some part has its messages, not the numbers of its entries alone */
    int level;  /* the greatest that is asked for */
    const rgm_csr *csr;
    const near_nodes *rows;
    near_nodes *columns;
    const int64_t *row, *column; /* [count] */
    int64_t count;
    int32_t *number; /* of each entry: its place in row and column, count + i of a loop at i */
    int64_t *up_to;  /* [level + 1] entries of that level or nearer */
} near_link;

typedef struct nearness {
    const rgm_graph *graph;
    const rgm_graph_value *root;
    const rgm_feed *feeds; /* of the root's inputs */
    near_nodes *sets;      /* of the root's schema; empty: no node set that counts */
    near_link *links;      /* [link_count] */
    int64_t link_count;
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

static near_link *find_link(const nearness *near, const rgm_narrow_part *part)
{
    for (int64_t i = 0; i < near->link_count; i++) {
        near_link *link = &near->links[i];

        if (link->pattern == part->pattern && link->transposed == part->transposed &&
            link->loops == part->loops)
            return link;
    }
    return NULL;
}

static rgm_status open_link(near_link *link, const nearness *near, const rgm_narrow_part *part)
{
    const rgm_schema *schema = near->root->schema;
    int64_t input = input_of(near->root, part->pattern), index;
    const rgm_set_schema *set = schema->sets[near->root->inputs[input].set];
    const rgm_pattern *whole = near->feeds[input].pattern;
    int64_t source = rgm_schema_index(schema, RGM_NODE_SET, set->source);
    int64_t target = rgm_schema_index(schema, RGM_NODE_SET, set->target);
    const rgmi_items *items;

    RGM_TRY(rgmi_graph_set(&index, near->graph, RGM_EDGE_SET, set->name));
    items = near->graph->sets[index].items; /* whole, as its pattern was made */
    *link = (near_link){
        .pattern = part->pattern,
        .transposed = part->transposed,
        .loops = part->loops,
        .csr = part->transposed ? rgm_pattern_by_column(whole) : rgm_pattern_by_row(whole),
        .rows = &near->sets[part->transposed ? source : target],
        .columns = &near->sets[part->transposed ? target : source],
        .row = rgm_tensor_i64(part->transposed ? items->source : items->target),
        .column = rgm_tensor_i64(part->transposed ? items->target : items->source),
        .count = items->total,
    };
    return RGM_OK;
}

static rgm_status open_links(nearness *near)
{
    const rgm_graph_value *root = near->root;

    RGM_TRY(RGM_NEW(near->links, root->part_count));
    for (int64_t p = 0; p < root->part_count; p++) {
        const rgm_narrow_part *part = &root->parts[p];
        near_link *link;

        if (part->kind != RGM_NARROW_LINKS && part->kind != RGM_NARROW_ENTRIES)
            continue;
        link = find_link(near, part);
        if (link == NULL) {
            link = &near->links[near->link_count];
            RGM_TRY(open_link(link, near, part));
            near->link_count++;
        }
        link->heard = link->heard || part->kind == RGM_NARROW_LINKS;
        link->level = link->level > part->level ? link->level : part->level;
    }
    return RGM_OK;
}

/* ---- levels ---- */

/* Now in the order in which they are found. */
static inline void reach(near_nodes *nodes, int32_t item, int level)
{
    if (nodes->level[item] <= level)
        return;
    nodes->level[item] = level;
    nodes->order[nodes->count++] = item;
}

static void close_level(nearness *near, int level)
{
    for (int64_t s = 0; s < near->root->schema->set_count; s++)
        if (near->sets[s].up_to != NULL)
            near->sets[s].up_to[level] = near->sets[s].count;
}

/* By level and number, where each level ends being known. */
static void order_nodes(near_nodes *nodes, int levels)
{
    int64_t *end = nodes->up_to;

    for (int64_t i = nodes->total - 1; i >= 0; i--)
        if (nodes->level[i] < levels) {
            int64_t place = --end[nodes->level[i]];

            nodes->place[i] = (int32_t)place;
            nodes->order[place] = (int32_t)i;
        }
    for (int level = 0; level < levels; level++) /* each end has moved to its level's begin */
        end[level] = level + 1 < levels ? end[level + 1] : nodes->count;
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

/* The nodes that those of the level before hear of. */
static void follow_link(const near_link *link, int level)
{
    int64_t begin = level > 1 ? link->rows->up_to[level - 2] : 0,
            end = link->rows->up_to[level - 1];
    const rgm_csr *csr = link->csr;

    for (int64_t i = begin; i < end; i++) {
        int64_t row = link->rows->order[i];

        for (int64_t e = csr->row_start[row]; e < csr->row_start[row + 1]; e++)
            reach(link->columns, csr->column[e], level);
    }
}

static void find_levels(nearness *near)
{
    const rgm_graph_value *root = near->root;

    for (int64_t p = 0; p < root->part_count; p++) {
        const rgm_pattern *seeds;
        int64_t set;

        if (root->parts[p].kind != RGM_NARROW_SEEDS)
            continue;
        seeds = seeds_of(&set, near, &root->parts[p]);
        for (int64_t e = 0; e < rgm_pattern_by_row(seeds)->count; e++)
            reach(&near->sets[set], rgm_pattern_column_of(seeds)[e], 0);
    }
    close_level(near, 0);
    for (int level = 1; level < near->levels; level++) {
        for (int64_t i = 0; i < near->link_count; i++)
            if (near->links[i].heard)
                follow_link(&near->links[i], level);
        close_level(near, level);
    }
    for (int64_t s = 0; s < root->schema->set_count; s++)
        if (near->sets[s].up_to != NULL)
            order_nodes(&near->sets[s], near->levels);
}

static rgm_status open_nodes(near_nodes *nodes, int64_t total, int levels)
{
    nodes->total = total;
    RGM_TRY(RGM_NEW_RAW(nodes->level, total));
    RGM_TRY(RGM_NEW_RAW(nodes->order, total));
    RGM_TRY(RGM_NEW_RAW(nodes->place, total));
    RGM_TRY(RGM_NEW(nodes->up_to, levels));
    for (int64_t i = 0; i < total; i++)
        nodes->level[i] = levels;
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
        int64_t index;

        if (set->piece != RGM_NODE_SET ||
            (index = rgm_schema_index(graph->schema, RGM_NODE_SET, set->name)) < 0)
            continue;
        RGM_TRY(open_nodes(&near->sets[s], graph->sets[index].items->total, near->levels));
    }
    RGM_TRY(open_links(near));
    find_levels(near);
    return RGM_OK;
}

static void nearness_clear(nearness *near)
{
    for (int64_t s = 0; near->sets != NULL && s < near->root->schema->set_count; s++) {
        rgm_free(near->sets[s].level);
        rgm_free(near->sets[s].order);
        rgm_free(near->sets[s].place);
        rgm_free(near->sets[s].up_to);
    }
    for (int64_t i = 0; i < near->link_count; i++) {
        rgm_free(near->links[i].number);
        rgm_free(near->links[i].up_to);
    }
    rgm_free(near->sets);
    rgm_free(near->links);
}

/* ---- patterns ---- */

/* For a pattern to keep. */
static rgm_status two_arrays(int32_t **row, int32_t **column, int64_t count)
{
    rgm_status status;

    RGM_TRY(RGM_NEW_RAW(*row, count));
    status = RGM_NEW_RAW(*column, count);
    if (status != RGM_OK)
        rgm_free(*row);
    return status;
}

/* Row i has column[i]. */
static rgm_status pick(rgm_pattern **out, int64_t rows, int64_t columns, const int32_t *picked)
{
    int32_t *row, *column;

    RGM_TRY(two_arrays(&row, &column, rows));
    for (int64_t i = 0; i < rows; i++) {
        row[i] = (int32_t)i;
        column[i] = picked[i];
    }
    return rgm_pattern_take(out, rows, columns, rows, row, column);
}

static rgm_status make_seeds(rgm_pattern **out, const nearness *near, const rgm_narrow_part *part)
{
    int64_t set;
    const rgm_pattern *whole = seeds_of(&set, near, part);
    const near_nodes *nodes = &near->sets[set];
    const rgm_csr *by_row = rgm_pattern_by_row(whole);
    int32_t *row, *column;

    RGM_TRY(two_arrays(&row, &column, by_row->count));
    for (int64_t e = 0; e < by_row->count; e++) {
        row[e] = rgm_pattern_row_of(whole)[e];
        column[e] = nodes->place[rgm_pattern_column_of(whole)[e]];
    }
    return rgm_pattern_take(out, by_row->rows, nodes->up_to[0], by_row->count, row, column);
}

static rgm_status make_items(rgm_pattern **out, const nearness *near, int64_t p)
{
    const near_nodes *nodes = &near->sets[near->root->part_sets[p]];

    if (nodes->up_to == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "a part of items of a node set that is not there");
    return pick(out, nodes->up_to[near->root->parts[p].level], nodes->total, nodes->order);
}

/* up_to becomes where the entries of each level begin, *most how many there are. */
static void count_entries(int64_t *most, near_link *link)
{
    const near_nodes *rows = link->rows;

    for (int64_t e = 0; e < link->count; e++)
        if (rows->level[link->row[e]] <= link->level)
            link->up_to[rows->level[link->row[e]]]++;
    *most = 0;
    for (int level = 0; level <= link->level; level++) {
        int64_t entries = link->up_to[level];

        link->up_to[level] = *most;
        *most += entries;
        if (link->loops)
            *most += rows->up_to[level] - (level > 0 ? rows->up_to[level - 1] : 0);
    }
}

/* A counting sort over levels. */
static rgm_status find_entries(near_link *link)
{
    const near_nodes *rows = link->rows;
    int64_t most;

    if (link->up_to != NULL)
        return RGM_OK;
    if (link->count + (link->loops ? rows->total : 0) > INT32_MAX)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%lld edges and %lld loops: together below 2^31",
                        (long long)link->count, (long long)rows->total);
    RGM_TRY(RGM_NEW(link->up_to, link->level + 1));
    count_entries(&most, link);
    RGM_TRY(RGM_NEW_RAW(link->number, most));
    for (int64_t e = 0; e < link->count; e++) {
        int level = rows->level[link->row[e]];

        if (level <= link->level)
            link->number[link->up_to[level]++] = (int32_t)e;
    }
    for (int64_t i = 0; link->loops && i < rows->up_to[link->level]; i++)
        link->number[link->up_to[rows->level[rows->order[i]]]++] =
            (int32_t)(link->count + rows->order[i]);
    return RGM_OK;
}

/* Entries of a link, between those that are near. */
static rgm_status make_links(rgm_pattern **out, const near_link *link, const rgm_narrow_part *part)
{
    int64_t count = link->up_to[part->level];
    const int32_t *rows = link->rows->place;
    const int32_t *columns = part->whole_columns ? NULL : link->columns->place;
    int32_t *row, *column;

    RGM_TRY(two_arrays(&row, &column, count));
    for (int64_t i = 0; i < count; i++) {
        int64_t e = link->number[i], loop = e - link->count;
        int64_t from = loop < 0 ? link->column[e] : loop;

        row[i] = rows[loop < 0 ? link->row[e] : loop];
        column[i] = columns == NULL ? (int32_t)from : columns[from];
    }
    return rgm_pattern_take(out, link->rows->up_to[part->level],
                            part->whole_columns ? link->columns->total
                                                : link->columns->up_to[part->level + 1],
                            count, row, column);
}

static rgm_status make_entries(rgm_pattern **out, const nearness *near, const rgm_narrow_part *part)
{
    near_link *link = find_link(near, part);

    RGM_TRY(find_entries(link));
    if (part->kind == RGM_NARROW_LINKS)
        return make_links(out, link, part);
    return pick(out, link->up_to[part->level], link->count + (link->loops ? link->rows->total : 0),
                link->number);
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
