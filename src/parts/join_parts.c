/*
 * Several parts as one, for a rank that has more than one of them. It is what the cut would have
 * written had these parts been one: nodes that are copies of each other's become own ones, an edge
 * between two of them is there once. Own nodes stand in the order of the whole graph, first those
 * whose neighbours are all own; halo nodes by the rank that owns them; edges by their target, those
 * of one target in the order of the whole graph.
 */
#include "parts_internal.h"

#include <regimen/graph_parts.h>

#include <stdlib.h>
#include <string.h>

/** A node set of the parts that are joined. `all` are its nodes part by part, own and halo. */
typedef struct nodes {
    int64_t *begin; /* [parts joined + 1] where each one's nodes begin among all              */
    int64_t *place; /* [all] which joined node it is; -1: not placed yet                      */
    int64_t *from;  /* [items] one of all that the joined node is                             */
    bool *joins;    /* [all] own, with a neighbour that another rank owns                     */
    int64_t *id;    /* [all] in the whole graph; borrowed                                     */
    int64_t items;
} nodes;

typedef struct joining {
    rgm_part *const *parts; /* [count] opened one by one, in their order */
    int64_t count;
    rgm_part *out;
    rgm_graph *all;   /* their graphs as components of one */
    rgm_graph *graph; /* what is made */
    const rgm_schema *schema;
    nodes *sets; /* [sets of the schema] of node sets */
} joining;

static int64_t total_of(const nodes *n, int64_t count)
{
    return n->begin[count];
}

/* The part that owns a halo node, counted from the first that is joined; outside [0, count): it is
 * another rank's. */
static int64_t owner_here(const joining *j, const rgmi_part_set *set, int64_t halo)
{
    return set->owner[halo] - j->parts[0]->number;
}

static bool is_here(const joining *j, int64_t owner)
{
    return owner >= 0 && owner < j->count;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static rgm_status open_nodes(nodes *n, const joining *j, int64_t k, const char *name)
{
    const rgm_feature *ids = rgm_graph_feature(j->all, RGM_NODE_SET, name, "#id");

    RGM_TRY(RGM_NEW(n->begin, j->count + 1));
    for (int64_t p = 0; p < j->count; p++)
        n->begin[p + 1] = n->begin[p] + j->parts[p]->sets[k].own + j->parts[p]->sets[k].halo;
    if (ids == NULL || rgm_tensor_count(ids->values) != total_of(n, j->count))
        return RGM_FAIL(RGM_ERR_FORMAT, "nodes of '%s' of parts have no '#id'", name);
    n->id = rgm_tensor_i64(ids->values);
    RGM_TRY(RGM_NEW(n->place, total_of(n, j->count) + 1));
    RGM_TRY(RGM_NEW(n->from, total_of(n, j->count) + 1));
    RGM_TRY(RGM_NEW(n->joins, total_of(n, j->count) + 1));
    for (int64_t i = 0; i < total_of(n, j->count); i++)
        n->place[i] = -1;
    return RGM_OK;
}

/* Which nodes of all are copies of another rank's: place is -2 until they get theirs. */
static void mark_halo(const joining *j, nodes *n, int64_t k)
{
    for (int64_t p = 0; p < j->count; p++) {
        const rgmi_part_set *set = &j->parts[p]->sets[k];

        for (int64_t i = 0; i < set->halo; i++)
            if (!is_here(j, owner_here(j, set, i)))
                n->place[n->begin[p] + set->own + i] = -2;
    }
}

/* Both ends of an edge with a node of another rank. */
static void find_joins(const joining *j, const rgm_set_schema *edges)
{
    nodes *s = &j->sets[rgm_schema_index(j->schema, RGM_NODE_SET, edges->source)];
    nodes *t = &j->sets[rgm_schema_index(j->schema, RGM_NODE_SET, edges->target)];
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(j->all, edges->name));
    const int64_t *target = rgm_tensor_i64(rgm_graph_target(j->all, edges->name));

    for (int64_t e = 0; e < rgm_graph_total(j->all, RGM_EDGE_SET, edges->name); e++)
        if (s->place[source[e]] == -2 || t->place[target[e]] == -2)
            s->joins[source[e]] = t->joins[target[e]] = true;
}

/** A node, for sorting. */
typedef struct sorted {
    int64_t first, second;
    int64_t at; /* among all */
} sorted;

static int in_order(const void *a, const void *b)
{
    const sorted *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->second < y->second ? -1 : x->second > y->second;
}

static void sort(sorted *items, int64_t count)
{
    if (count > 0)
        qsort(items, (size_t)count, sizeof *items, in_order);
}

/* Inner ones first: a part has all edges of its own nodes, so joins is right for these. */
static void place_own(const joining *j, nodes *n, int64_t k, sorted *items)
{
    rgmi_part_set *out = &j->out->sets[k];

    out->own = 0;
    for (int64_t p = 0; p < j->count; p++)
        for (int64_t i = 0; i < j->parts[p]->sets[k].own; i++) {
            int64_t at = n->begin[p] + i;

            items[out->own++] = (sorted){n->joins[at], n->id[at], at};
        }
    sort(items, out->own);
    for (int64_t i = 0; i < out->own; i++) {
        n->place[items[i].at] = i;
        n->from[i] = items[i].at;
    }
}

/* Where the own nodes of the parts of one rank begin, in the order in which ranks tell each other
 * of nodes: part by part. */
static int64_t own_begin(const joining *j, const char *set, int64_t part)
{
    int64_t begin = 0;

    for (int64_t p = part / j->count * j->count; p < part; p++)
        begin += rgm_parts_own(j->out->manifest, p, RGM_NODE_SET, set);
    return begin;
}

/* Copies of nodes of these parts are those; the others, one of each, go behind the own ones. */
static rgm_status place_halo(const joining *j, nodes *n, int64_t k, sorted *items)
{
    rgmi_part_set *out = &j->out->sets[k];
    int64_t count = 0;

    for (int64_t p = 0; p < j->count; p++) {
        const rgmi_part_set *set = &j->parts[p]->sets[k];

        for (int64_t i = 0; i < set->halo; i++) {
            int64_t at = n->begin[p] + set->own + i, owner = owner_here(j, set, i), same;

            if (!is_here(j, owner)) {
                items[count++] = (sorted){set->owner[i], set->there[i], at};
                continue;
            }
            same = n->begin[owner] + set->there[i];
            if (set->there[i] < 0 || set->there[i] >= j->parts[owner]->sets[k].own ||
                n->id[same] != n->id[at])
                return RGM_FAIL(RGM_ERR_FORMAT,
                                "node set '%s': a copy in part %lld is not what part %lld has: "
                                "write the parts again",
                                set->name, (long long)j->parts[p]->number,
                                (long long)j->parts[owner]->number);
            n->place[at] = n->place[same];
        }
    }
    sort(items, count);
    n->items = out->own;
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || in_order(&items[i], &items[i - 1]) != 0)
            n->from[n->items++] = items[i].at;
        n->place[items[i].at] = n->items - 1;
        items[n->items - 1 - out->own] = items[i];
    }
    out->halo = n->items - out->own;
    return RGM_OK;
}

/* Whose each copy is, and which of that rank's own; and which own node is meant when another rank
 * tells the same of this one's. */
static rgm_status list_halo(const joining *j, const nodes *n, int64_t k, const sorted *items)
{
    rgmi_part_set *out = &j->out->sets[k];
    int64_t at = 0;

    RGM_TRY(RGM_NEW(out->owner, out->halo + 1));
    RGM_TRY(RGM_NEW(out->there, out->halo + 1));
    RGM_TRY(RGM_NEW(out->halo_begin, j->out->parts + 1));
    RGM_TRY(RGM_NEW(out->place, out->own + 1));
    for (int64_t i = 0; i < out->halo; i++) {
        out->owner[i] = (int32_t)(items[i].first / j->count);
        out->there[i] = (int32_t)(own_begin(j, out->name, items[i].first) + items[i].second);
        out->halo_begin[out->owner[i] + 1]++;
    }
    for (int64_t r = 0; r < j->out->parts; r++)
        out->halo_begin[r + 1] += out->halo_begin[r];
    for (int64_t p = 0; p < j->count; p++)
        for (int64_t i = 0; i < j->parts[p]->sets[k].own; i++)
            out->place[at++] = (int32_t)n->place[n->begin[p] + i];
    return RGM_OK;
}

static rgm_status place_nodes(const joining *j, nodes *n, int64_t k)
{
    rgm_status status = RGM_OK;
    sorted *items = NULL;

    RGM_GO(RGM_NEW(items, total_of(n, j->count) + 1));
    place_own(j, n, k, items);
    RGM_GO(place_halo(j, n, k, items));
    RGM_GO(list_halo(j, n, k, items));
done:
    rgm_free(items);
    return status;
}

static rgm_status join_nodes(joining *j)
{
    int64_t k = 0, sets = rgm_schema_set_count(j->schema);

    RGM_TRY(RGM_NEW(j->sets, sets));
    RGM_TRY(RGM_NEW(j->out->sets, sets));
    for (int64_t i = 0; i < sets; i++) {
        const rgm_set_schema *set = rgm_schema_set(j->schema, i);

        if (set->piece != RGM_NODE_SET)
            continue;
        j->out->sets[k].part = j->out;
        j->out->sets[k].name = set->name;
        j->out->set_count = k + 1;
        RGM_TRY(open_nodes(&j->sets[i], j, k, set->name));
        mark_halo(j, &j->sets[i], k++);
    }
    for (int64_t i = 0; i < sets; i++)
        if (rgm_schema_set(j->schema, i)->piece == RGM_EDGE_SET)
            find_joins(j, rgm_schema_set(j->schema, i));
    k = 0;
    for (int64_t i = 0; i < sets; i++)
        if (rgm_schema_set(j->schema, i)->piece == RGM_NODE_SET)
            RGM_TRY(place_nodes(j, &j->sets[i], k++));
    return RGM_OK;
}

/* ---- what is taken ------------------------------------------------------------------------- */

/* Features of items `from` [count] of all. */
static rgm_status take_features(const joining *j, int64_t s, const int64_t *from, int64_t count)
{
    const rgm_set_schema *set = rgm_schema_set(j->schema, s);

    for (int64_t i = 0; i < set->feature_count; i++) {
        const rgm_feature *all =
            rgm_graph_feature(j->all, set->piece, set->name, set->features[i].name);
        rgm_feature value;

        if (all == NULL)
            continue;
        RGM_TRY(rgm_feature_take(&value, &set->features[i], all, from, count));
        RGM_TRY(rgm_graph_put_feature(j->graph, s, i, &value));
    }
    return RGM_OK;
}

/* Numbers of all, part by part, of which each file has its own. */
static rgm_status gather_numbers(int64_t **out, const joining *j, rgm_piece piece, const char *set,
                                 const char *what)
{
    int64_t count = rgm_graph_total(j->all, piece, set), at = 0;

    RGM_TRY(RGM_NEW(*out, count + 1));
    for (int64_t p = 0; p < j->count; p++) {
        rgm_tensor *numbers;

        RGM_TRY(rgmi_part_numbers(&numbers, j->parts[p], piece, set, what));
        if (rgm_tensor_count(numbers) > 0)
            memcpy(*out + at, rgm_tensor_data(numbers), rgm_tensor_bytes(numbers));
        at += rgm_tensor_count(numbers);
        rgm_tensor_release(numbers);
    }
    return RGM_OK;
}

static rgm_status keep_numbers(const joining *j, rgm_piece piece, const char *set, const char *what,
                               const int64_t *all, const int64_t *from, int64_t count)
{
    rgm_named_tensor *kept = &j->out->joined[j->out->joined_count];
    rgm_tensor *numbers;
    char *name;

    RGM_TRY(rgmi_numbers_name(&name, piece, set, what));
    kept->name = name;
    j->out->joined_count++;
    RGM_TRY(rgm_tensor_create(&numbers, RGM_I64, 1, &count));
    kept->tensor = numbers;
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(numbers)[i] = all[from[i]];
    return RGM_OK;
}

static rgm_status take_numbers(const joining *j, rgm_piece piece, const char *set, const char *what,
                               const int64_t *from, int64_t count)
{
    rgm_status status = RGM_OK;
    int64_t *all = NULL;

    RGM_GO(gather_numbers(&all, j, piece, set, what));
    RGM_GO(keep_numbers(j, piece, set, what, all, from, count));
done:
    rgm_free(all);
    return status;
}

/* ---- edges --------------------------------------------------------------------------------- */

static rgm_status put_edges(const joining *j, int64_t s, const int64_t *from, int64_t count)
{
    const rgm_set_schema *set = rgm_schema_set(j->schema, s);
    rgm_tensor *ends[2] = {NULL, NULL};
    rgm_status status = RGM_OK;

    for (int end = 0; end < 2; end++) {
        const char *node_set = end == 0 ? set->source : set->target;
        const nodes *n = &j->sets[rgm_schema_index(j->schema, RGM_NODE_SET, node_set)];
        const int64_t *all = rgm_tensor_i64(end == 0 ? rgm_graph_source(j->all, set->name)
                                                     : rgm_graph_target(j->all, set->name));

        RGM_GO(rgm_tensor_create(&ends[end], RGM_I64, 1, &count));
        for (int64_t e = 0; e < count; e++)
            rgm_tensor_i64(ends[end])[e] = n->place[all[from[e]]];
    }
    RGM_GO(rgm_graph_put_items(j->graph, s, count, ends[0], ends[1]));
    RGM_GO(take_features(j, s, from, count));
    RGM_GO(take_numbers(j, RGM_EDGE_SET, set->name, "number", from, count));
done:
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    return status;
}

/* An edge between two of the parts is in both, with one number. */
static rgm_status join_edges(const joining *j, int64_t s)
{
    const rgm_set_schema *set = rgm_schema_set(j->schema, s);
    const nodes *t = &j->sets[rgm_schema_index(j->schema, RGM_NODE_SET, set->target)];
    const int64_t *target = rgm_tensor_i64(rgm_graph_target(j->all, set->name));
    int64_t total = rgm_graph_total(j->all, RGM_EDGE_SET, set->name), count = 0;
    int64_t *number = NULL, *from = NULL;
    rgm_status status = RGM_OK;
    sorted *items = NULL;

    RGM_GO(RGM_NEW(items, total + 1));
    RGM_GO(RGM_NEW(from, total + 1));
    RGM_GO(gather_numbers(&number, j, RGM_EDGE_SET, set->name, "number"));
    for (int64_t e = 0; e < total; e++)
        items[e] = (sorted){t->place[target[e]], number[e], e};
    sort(items, total);
    for (int64_t e = 0; e < total; e++)
        if (e == 0 || in_order(&items[e], &items[e - 1]) != 0)
            from[count++] = items[e].at;
    rgm_free(items);
    items = NULL;
    RGM_GO(put_edges(j, s, from, count));
done:
    rgm_free(items);
    rgm_free(number);
    rgm_free(from);
    return status;
}

/* ---- the graph ----------------------------------------------------------------------------- */

static rgm_status put_nodes(const joining *j, int64_t s)
{
    const rgm_set_schema *set = rgm_schema_set(j->schema, s);
    const nodes *n = &j->sets[s];

    RGM_TRY(rgm_graph_put_items(j->graph, s, n->items, NULL, NULL));
    RGM_TRY(take_features(j, s, n->from, n->items));
    for (int64_t i = 0; i < set->feature_count; i++) {
        rgm_status status = RGM_OK;
        char *what = NULL;

        if (set->features[i].vocabulary <= 0 ||
            !rgm_graph_has_feature(j->all, RGM_NODE_SET, set->name, set->features[i].name))
            continue;
        RGM_TRY(rgm_strprintf(&what, "%s.begin", set->features[i].name));
        status = take_numbers(j, RGM_NODE_SET, set->name, what, n->from, n->items);
        rgm_free(what);
        RGM_TRY(status);
    }
    return RGM_OK;
}

/* What is said of the whole graph every part says. */
static rgm_status put_context(const joining *j, int64_t s)
{
    const rgm_set_schema *set = rgm_schema_set(j->schema, s);

    for (int64_t i = 0; i < set->feature_count; i++) {
        const rgm_feature *said = rgm_graph_feature(j->parts[0]->data.graphs[0], RGM_CONTEXT_PIECE,
                                                    NULL, set->features[i].name);
        rgm_feature value;

        if (said == NULL)
            continue;
        rgm_feature_retain(&value, said);
        RGM_TRY(rgm_graph_put_feature(j->graph, s, i, &value));
    }
    return RGM_OK;
}

/* One tensor of numbers an edge set, a one_hot feature and a part of the split. */
static int64_t most_numbers(const rgm_schema *schema)
{
    int64_t count = 3;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++)
        count += 1 + rgm_schema_set(schema, i)->feature_count;
    return count;
}

static rgm_status make_graph(joining *j)
{
    RGM_TRY(RGM_NEW(j->out->joined, most_numbers(j->schema)));
    RGM_TRY(rgm_graph_begin(&j->graph, j->out->data.schema, 1, 1));
    for (int64_t i = 0; i < rgm_schema_set_count(j->schema); i++) {
        rgm_piece piece = rgm_schema_set(j->schema, i)->piece;

        RGM_TRY(piece == RGM_NODE_SET   ? put_nodes(j, i)
                : piece == RGM_EDGE_SET ? join_edges(j, i)
                                        : put_context(j, i));
    }
    return rgm_graph_seal(j->graph);
}

/* ---- the split ----------------------------------------------------------------------------- */

static rgm_tensor *split_of(const rgm_part *part, int of)
{
    rgm_tensor *const all[3] = {part->data.train, part->data.valid, part->data.test};

    return all[of];
}

/* Where the nodes of a part of the split stand in the list of the whole graph; *out is NULL where
 * parts do not say it, which are not sampled then. */
static rgm_status places_of(rgm_tensor **out, const joining *j, int64_t p, int of)
{
    char *name;
    rgm_status status;

    RGM_TRY(
        rgmi_numbers_name(&name, RGM_NODE_SET, j->parts[p]->data.split_set, rgmi_split_names[of]));
    status = rgmi_part_tensor(out, j->parts[p], name);
    rgm_free(name);
    if (status != RGM_ERR_NOT_FOUND)
        return status;
    rgm_error_reset();
    *out = NULL;
    return RGM_OK;
}

/* The nodes of one part of the split that part p has: number, place in the list, joined node. */
static rgm_status list_split(sorted *items, bool *placed, const joining *j, const nodes *n,
                             int64_t p, int of)
{
    const rgm_tensor *split = split_of(j->parts[p], of);
    rgm_tensor *places;
    rgm_status status = RGM_OK;

    RGM_TRY(places_of(&places, j, p, of));
    if (places != NULL && (rgm_tensor_dtype(places) != RGM_I64 ||
                           rgm_tensor_count(places) != rgm_tensor_count(split)))
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "part %lld has other places than nodes in the split",
                        (long long)j->parts[p]->number));
    *placed = *placed && places != NULL;
    for (int64_t i = 0; i < rgm_tensor_count(split); i++) {
        int64_t node = n->begin[p] + rgm_tensor_at_int(split, i);

        items[i] =
            (sorted){n->id[node], places != NULL ? rgm_tensor_i64(places)[i] : 0, n->place[node]};
    }
done:
    rgm_tensor_release(places);
    return status;
}

static rgm_status keep_places(const joining *j, const sorted *items, int64_t count, int of)
{
    rgm_named_tensor *kept = &j->out->joined[j->out->joined_count];
    rgm_tensor *places;
    char *name;

    RGM_TRY(
        rgmi_numbers_name(&name, RGM_NODE_SET, j->parts[0]->data.split_set, rgmi_split_names[of]));
    kept->name = name;
    j->out->joined_count++; /* released with the part from here on */
    RGM_TRY(rgm_tensor_create(&places, RGM_I64, 1, &count));
    kept->tensor = places;
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(places)[i] = items[i].second;
    return RGM_OK;
}

/* The own nodes of one part of the split, in the order of the whole graph. */
static rgm_status join_split(rgm_tensor **out, const joining *j, const nodes *n, int of)
{
    rgm_status status = RGM_OK;
    sorted *items = NULL;
    int64_t count = 0, at = 0;
    bool placed = true;

    if (split_of(j->parts[0], of) == NULL)
        return RGM_OK;
    for (int64_t p = 0; p < j->count; p++)
        count += rgm_tensor_count(split_of(j->parts[p], of));
    RGM_GO(RGM_NEW(items, count + 1));
    for (int64_t p = 0; p < j->count; p++) {
        RGM_GO(list_split(items + at, &placed, j, n, p, of));
        at += rgm_tensor_count(split_of(j->parts[p], of));
    }
    sort(items, count);
    RGM_GO(rgm_tensor_create(out, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(*out)[i] = items[i].at;
    if (placed)
        RGM_GO(keep_places(j, items, count, of));
done:
    rgm_free(items);
    return status;
}

static rgm_status make_data(joining *j)
{
    rgm_graph_data *data = &j->out->data;
    const rgm_graph_data *first = &j->parts[0]->data;
    rgm_tensor **split[3] = {&data->train, &data->valid, &data->test};
    int64_t s = rgm_schema_index(j->schema, RGM_NODE_SET, first->split_set);

    RGM_TRY(rgm_strdup(&data->split_set, first->split_set));
    if (first->split_name != NULL)
        RGM_TRY(rgm_strdup(&data->split_name, first->split_name));
    for (int i = 0; i < 3; i++)
        RGM_TRY(join_split(split[i], j, &j->sets[s], i));
    RGM_TRY(RGM_NEW(data->graphs, 1));
    data->graphs[0] = j->graph;
    data->graph_count = 1;
    j->graph = NULL;
    return RGM_OK;
}

/* ---- all ----------------------------------------------------------------------------------- */

static rgm_status merge_graphs(joining *j)
{
    rgm_graph **graphs;
    rgm_status status;

    RGM_TRY(RGM_NEW(graphs, j->count));
    for (int64_t p = 0; p < j->count; p++)
        graphs[p] = j->parts[p]->data.graphs[0];
    status = rgm_graph_merge(&j->all, graphs, j->count);
    rgm_free(graphs);
    return status;
}

static void joining_clear(joining *j)
{
    for (int64_t i = 0; j->sets != NULL && i < rgm_schema_set_count(j->schema); i++) {
        rgm_free(j->sets[i].begin);
        rgm_free(j->sets[i].place);
        rgm_free(j->sets[i].from);
        rgm_free(j->sets[i].joins);
    }
    rgm_free(j->sets);
    rgm_graph_release(j->graph);
    rgm_graph_release(j->all);
    rgm_part_release(j->out);
}

rgm_status rgmi_parts_join(rgm_part **out, rgm_part *const *parts, int64_t count)
{
    rgm_status status = RGM_OK;
    joining j = {.parts = parts, .count = count};

    *out = NULL;
    RGM_GO(RGM_NEW(j.out, 1));
    j.out->number = parts[0]->number / count;
    j.out->parts = parts[0]->parts / count;
    j.out->manifest = parts[0]->manifest;
    j.out->data.schema = rgm_schema_retain(parts[0]->data.schema);
    j.schema = j.out->data.schema;
    RGM_GO(merge_graphs(&j));
    RGM_GO(join_nodes(&j));
    RGM_GO(make_graph(&j));
    RGM_GO(make_data(&j));
    RGM_GO(RGM_NEW(j.out->edge_numbers, rgm_schema_set_count(j.schema)));
    *out = j.out;
    j.out = NULL;
done:
    joining_clear(&j);
    return status;
}

/* ---- what a rank has ------------------------------------------------------------------------- */

static rgm_status open_and_join(rgm_part **out, const rgm_parts *parts, int64_t first,
                                int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_part **each = NULL;

    RGM_GO(RGM_NEW(each, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgmi_part_open(&each[i], parts, first + i));
    RGM_GO(rgmi_parts_join(out, each, count));
done:
    for (int64_t i = 0; each != NULL && i < count; i++)
        rgm_part_release(each[i]);
    rgm_free(each);
    return status;
}

rgm_status rgm_part_open_for(rgm_part **out, const rgm_parts *parts, int64_t rank, int64_t ranks)
{
    int64_t count = ranks > 0 ? parts->count / ranks : 0;

    *out = NULL;
    if (count < 1 || count * ranks != parts->count)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%lld parts for %lld ranks: each rank has as many parts, one or more. "
                        "Start %lld ranks, or a half, a quarter ... of that, or cut the graph into "
                        "%lld parts",
                        (long long)parts->count, (long long)ranks, (long long)parts->count,
                        (long long)ranks);
    if (rank < 0 || rank >= ranks)
        return RGM_FAIL(RGM_ERR_ARG, "there is no rank %lld of %lld", (long long)rank,
                        (long long)ranks);
    return count == 1 ? rgmi_part_open(out, parts, rank)
                      : open_and_join(out, parts, rank * count, count);
}
