/*
 * Finding the links of a graph and splitting them. A link is known by a number made of its relation
 * and ends, of undirected ones the smaller end first; all edges of that number, in the sets of
 * links and in those that have them turned round, belong to it and are in its part.
 */
#include "link_split.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"

/* What the split is made of, while it is made. */
typedef struct maker {
    rgm_link_split *split;
    const rgm_link_options *options;
    const rgm_schema *schema;
} maker;

static uint64_t key_of(const rgm_link_split *s, int64_t source, int64_t target, int64_t relation)
{
    if (s->undirected && source > target) {
        int64_t other = source;

        source = target;
        target = other;
    }
    return ((uint64_t)relation * (uint64_t)s->source_total + (uint64_t)source) *
               (uint64_t)s->target_total +
           (uint64_t)target;
}

int64_t rgmi_link_find(const rgm_link_split *s, int64_t source, int64_t target, int64_t relation)
{
    uint64_t key = key_of(s, source, target, relation);
    int64_t low = 0, high = s->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (s->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->keys[low] == key ? low : -1;
}

/* ---- which sets -------------------------------------------------------------------------------
 */

static rgm_status find_set(const rgm_set_schema **out, const maker *m, const char *name,
                           const char *key)
{
    *out = rgm_schema_find(m->schema, RGM_EDGE_SET, name);
    if (*out == NULL || rgm_is_aux_set(name))
        return RGM_FAIL(RGM_ERR_CONFIG, "data.links.%s: the data have no edge set '%s'", key, name);
    return RGM_OK;
}

static rgm_status add_set(maker *m, const rgm_set_schema *set)
{
    rgm_link_split *s = m->split;
    rgmi_link_edges *edges = &s->sets[s->set_count];

    for (int64_t i = 0; i < s->set_count; i++)
        if (strcmp(s->sets[i].name, set->name) == 0)
            return RGM_FAIL(RGM_ERR_CONFIG, "data.links: the edge set '%s' is named twice",
                            set->name);
    RGM_TRY(rgm_strdup(&edges->name, set->name));
    s->set_count++;
    edges->count = rgm_graph_total(s->graph, RGM_EDGE_SET, set->name);
    RGM_TRY(RGM_NEW(edges->link, edges->count));
    for (int64_t e = 0; e < edges->count; e++)
        edges->link[e] = RGMI_NO_LINK;
    return RGM_OK;
}

static rgm_status only_set(const rgm_set_schema **out, const maker *m)
{
    *out = NULL;
    for (int64_t i = 0; i < rgm_schema_set_count(m->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(m->schema, i);

        if (set->piece != RGM_EDGE_SET || rgm_is_aux_set(set->name))
            continue;
        if (*out != NULL)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "data.links.edge_sets is needed: there are '%s', '%s' and maybe more",
                            (*out)->name, set->name);
        *out = set;
    }
    return *out != NULL ? RGM_OK
                        : RGM_FAIL(RGM_ERR_CONFIG, "data.links: the data have no edge set");
}

static rgm_status add_link_set(maker *m, const rgm_set_schema *set)
{
    rgm_link_split *s = m->split;

    if (s->source_set == NULL) {
        RGM_TRY(rgm_strdup(&s->source_set, set->source));
        RGM_TRY(rgm_strdup(&s->target_set, set->target));
    }
    if (strcmp(s->source_set, set->source) != 0 || strcmp(s->target_set, set->target) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.links.edge_sets: '%s' is from '%s' to '%s', but '%s' from '%s' to "
                        "'%s'; links are between the same two node sets",
                        s->sets[0].name, s->source_set, s->target_set, set->name, set->source,
                        set->target);
    RGM_TRY(add_set(m, set));
    s->link_sets++;
    return RGM_OK;
}

static rgm_status add_reverse_sets(maker *m)
{
    const rgm_lists *reverse = &m->options->reverse_sets;
    const rgm_set_schema *set;

    for (int64_t i = 0; i < reverse->count; i++) {
        bool named = false;

        for (int64_t k = 0; k < m->split->link_sets; k++)
            named |= strcmp(m->split->sets[k].name, reverse->names[i]) == 0;
        if (!named)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "data.links.reverse_sets: '%s' is none of data.links.edge_sets",
                            reverse->names[i]);
        for (int64_t k = 0; k < reverse->items[i].count; k++) {
            RGM_TRY(find_set(&set, m, reverse->items[i].items[k], "reverse_sets"));
            if (strcmp(set->source, m->split->target_set) != 0 ||
                strcmp(set->target, m->split->source_set) != 0)
                return RGM_FAIL(RGM_ERR_CONFIG,
                                "data.links.reverse_sets: '%s' is from '%s' to '%s', which is not "
                                "'%s' turned round",
                                set->name, set->source, set->target, reverse->names[i]);
            RGM_TRY(add_set(m, set));
        }
    }
    return RGM_OK;
}

static rgm_status open_sets(maker *m)
{
    const rgm_link_options *o = m->options;
    const rgm_set_schema *set;
    int64_t most = rgm_schema_set_count(m->schema);

    RGM_TRY(RGM_NEW(m->split->sets, most));
    if (o->edge_sets.count == 0) {
        RGM_TRY(only_set(&set, m));
        RGM_TRY(add_link_set(m, set));
    }
    for (int64_t i = 0; i < o->edge_sets.count; i++) {
        RGM_TRY(find_set(&set, m, o->edge_sets.items[i], "edge_sets"));
        RGM_TRY(add_link_set(m, set));
    }
    if (o->undirected && strcmp(m->split->source_set, m->split->target_set) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.links.undirected: '%s' is from '%s' to '%s'; a set between two kinds "
                        "of nodes has its reverse in another set: data.links.reverse_sets",
                        m->split->sets[0].name, m->split->source_set, m->split->target_set);
    return add_reverse_sets(m);
}

/* ---- relations ---------------------------------------------------------------------------------
 */

/* A feature of edges, an integer each or a list of one column. */
static rgm_status edge_numbers(const rgm_tensor **out, int64_t *columns, const maker *m,
                               const char *set, const char *feature, const char *key)
{
    const rgm_feature_schema *f =
        rgm_set_feature(rgm_schema_find(m->schema, RGM_EDGE_SET, set), feature);
    const rgm_feature *value = rgm_graph_feature(m->split->graph, RGM_EDGE_SET, set, feature);
    bool one = f != NULL && (f->rank == 0 || (f->rank == 1 && f->vocabulary > 0));

    if (value == NULL || !one || (f->dtype != RGM_I64 && f->dtype != RGM_I32))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.links.%s: edge set '%s' has no feature '%s' of one "
                        "integer an edge",
                        key, set, feature);
    if (rgm_tensor_count(value->values) != rgm_graph_total(m->split->graph, RGM_EDGE_SET, set))
        return RGM_FAIL(RGM_ERR_DATA, "edge set '%s': feature '%s' is not one integer an edge", set,
                        feature);
    *out = value->values;
    *columns = f->vocabulary;
    return RGM_OK;
}

static rgm_status count_relations(maker *m)
{
    rgm_link_split *s = m->split;
    const rgm_tensor *numbers;
    int64_t columns;

    s->relation_count = s->link_sets > 1 ? s->link_sets : 0;
    if (m->options->relation == NULL)
        return RGM_OK;
    if (s->link_sets > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.links.relation: several data.links.edge_sets are a relation each");
    RGM_TRY(edge_numbers(&numbers, &columns, m, s->sets[0].name, m->options->relation, "relation"));
    s->relation_count = columns > 0 ? columns : 1;
    for (int64_t e = 0; e < rgm_tensor_count(numbers); e++) {
        int64_t relation = rgm_tensor_at_int(numbers, e);

        if (relation < 0 || relation > INT32_MAX)
            return RGM_FAIL(RGM_ERR_DATA, "edge set '%s': '%s' of edge %" PRId64 " is %" PRId64,
                            s->sets[0].name, m->options->relation, e, relation);
        if (relation >= s->relation_count)
            s->relation_count = relation + 1;
    }
    return RGM_OK;
}

static rgm_status check_size(const rgm_link_split *s)
{
    double pairs = (double)s->source_total * (double)s->target_total *
                   (double)(s->relation_count > 0 ? s->relation_count : 1);

    return pairs < 0x1p63
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_UNSUPPORTED,
                          "%.3g pairs of nodes could be links, 2^63 are the most", pairs);
}

/* ---- links -------------------------------------------------------------------------------------
 */

typedef struct edge_key {
    uint64_t key;
    int64_t set, edge;
} edge_key;

static int by_key(const void *a, const void *b)
{
    const edge_key *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

/* An edge of set i as source, target and relation of the link that it would be. */
typedef struct edge_reader {
    const rgm_tensor *source, *target, *relation;
    int64_t place;
} edge_reader;

static rgm_status open_reader(edge_reader *r, const maker *m, int64_t i)
{
    const rgm_link_split *s = m->split;
    const char *name = s->sets[i].name;
    const rgm_lists *reverse = &m->options->reverse_sets;
    int64_t columns;

    *r = (edge_reader){.source = rgm_graph_source(s->graph, name),
                       .target = rgm_graph_target(s->graph, name),
                       .place = i};
    if (i >= s->link_sets) { /* turned round */
        r->source = rgm_graph_target(s->graph, name);
        r->target = rgm_graph_source(s->graph, name);
        for (int64_t l = 0; l < reverse->count; l++)
            for (int64_t k = 0; k < reverse->items[l].count; k++)
                for (int64_t of = 0; of < s->link_sets; of++)
                    if (strcmp(reverse->items[l].items[k], name) == 0 &&
                        strcmp(reverse->names[l], s->sets[of].name) == 0)
                        r->place = of;
    }
    if (r->source == NULL || r->target == NULL) /* of a graph's file, which is looked at now */
        return rgm_error_prefix(RGM_ERR_DATA, "edge set '%s'", name);
    if (m->options->relation == NULL)
        return RGM_OK;
    return edge_numbers(&r->relation, &columns, m, name, m->options->relation, "relation");
}

static void read_edge(int64_t link[3], const edge_reader *r, int64_t e)
{
    link[0] = rgm_tensor_i64(r->source)[e];
    link[1] = rgm_tensor_i64(r->target)[e];
    link[2] = r->relation != NULL ? rgm_tensor_at_int(r->relation, e) : r->place;
}

/* The edges of link sets, by what they are. */
static rgm_status list_edges(edge_key **out, int64_t *count, const maker *m)
{
    const rgm_link_split *s = m->split;
    edge_reader reader;
    int64_t link[3];

    *count = 0;
    for (int64_t i = 0; i < s->link_sets; i++)
        *count += s->sets[i].count;
    RGM_TRY(RGM_NEW(*out, *count));
    *count = 0;
    for (int64_t i = 0; i < s->link_sets; i++) {
        RGM_TRY(open_reader(&reader, m, i));
        for (int64_t e = 0; e < s->sets[i].count; e++) {
            read_edge(link, &reader, e);
            (*out)[(*count)++] = (edge_key){key_of(s, link[0], link[1], link[2]), i, e};
        }
    }
    qsort(*out, (size_t)*count, sizeof **out, by_key);
    return RGM_OK;
}

static int64_t relations_of(const rgm_link_split *s)
{
    return s->relation_count > 0 ? s->relation_count : 1;
}

static rgm_status find_reverses(maker *m, int64_t i)
{
    rgm_link_split *s = m->split;
    edge_reader reader;
    int64_t link[3];

    RGM_TRY(open_reader(&reader, m, i));
    for (int64_t e = 0; e < s->sets[i].count; e++) {
        read_edge(link, &reader, e); /* other numbers would be keys of other links */
        if (link[2] >= 0 && link[2] < relations_of(s))
            s->sets[i].link[e] = rgmi_link_find(s, link[0], link[1], link[2]);
    }
    return RGM_OK;
}

/* Whether two nodes are linked, by any relation and in any direction. */
static bool are_linked(const rgm_link_split *s, int64_t source, int64_t target)
{
    bool both = strcmp(s->source_set, s->target_set) == 0;

    for (int64_t r = 0; r < relations_of(s); r++)
        if (rgmi_link_find(s, source, target, r) >= 0 ||
            (both && rgmi_link_find(s, target, source, r) >= 0))
            return true;
    return false;
}

/* An edge of a reverse set that is no link turned round stays in the messages, as edges of sets
 * without links do. Where its nodes are linked all the same it is the reverse of another relation's
 * link: if many are, the sets or the numbers of relations do not fit, and the answer would stay. */
static rgm_status check_reverses(const maker *m, int64_t i)
{
    const rgm_link_split *s = m->split;
    const rgmi_link_edges *set = &s->sets[i];
    int64_t link[3], stay = 0, first = 0;
    char relation[40] = "";
    edge_reader reader;

    RGM_TRY(open_reader(&reader, m, i));
    for (int64_t e = 0; e < set->count; e++) {
        read_edge(link, &reader, e);
        if (set->link[e] >= 0 || !are_linked(s, link[0], link[1]))
            continue;
        if (stay++ == 0)
            first = e;
    }
    if ((double)stay <= 0.1 * (double)set->count)
        return RGM_OK;
    read_edge(link, &reader, first);
    if (reader.relation != NULL)
        snprintf(relation, sizeof relation, " and of relation %" PRId64, link[2]);
    return RGM_FAIL(
        RGM_ERR_CONFIG,
        "data.links.reverse_sets: %" PRId64 " of %" PRId64
        " edges of '%s' join nodes that are linked, but turn no link of '%s' round, "
        "and would stay in the messages; the first is edge %" PRId64 ", from node %" PRId64
        " to %" PRId64 "%s: %s",
        stay, set->count, set->name, s->sets[reader.place].name, first, link[1], link[0], relation,
        reader.relation != NULL ? "an edge and its reverse need the same number of a relation"
                                : "name each set under the one whose edges it turns round");
}

static rgm_status find_links(maker *m)
{
    rgm_link_split *s = m->split;
    rgm_status status = RGM_OK;
    edge_key *edges = NULL;
    edge_reader reader;
    int64_t count = 0, link[3];

    RGM_GO(list_edges(&edges, &count, m));
    RGM_GO(RGM_NEW(s->keys, count));
    RGM_GO(RGM_NEW(s->source, count));
    RGM_GO(RGM_NEW(s->target, count));
    RGM_GO(RGM_NEW(s->relation, count));
    RGM_GO(RGM_NEW(s->part, count));
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || edges[i].key != edges[i - 1].key) {
            RGM_GO(open_reader(&reader, m, edges[i].set));
            read_edge(link, &reader, edges[i].edge);
            s->keys[s->count] = edges[i].key;
            s->source[s->count] = link[0];
            s->target[s->count] = link[1];
            s->relation[s->count++] = link[2];
        }
        s->sets[edges[i].set].link[edges[i].edge] = s->count - 1;
    }
    for (int64_t i = s->link_sets; i < s->set_count; i++) {
        RGM_GO(find_reverses(m, i));
        RGM_GO(check_reverses(m, i));
    }
done:
    rgm_free(edges);
    return status;
}

/* ---- reverses that nobody named -----------------------------------------------------------------
 */

/* Edges of a set that are one of these links turned round: of relations first .. end - 1. */
static int64_t count_turned(const rgm_link_split *s, const char *name, int64_t first, int64_t end)
{
    const rgm_tensor *source = rgm_graph_source(s->graph, name);
    const rgm_tensor *target = rgm_graph_target(s->graph, name);
    int64_t turned = 0;

    for (int64_t e = 0; source != NULL && e < rgm_tensor_count(source); e++)
        for (int64_t r = first; r < end; r++) {
            int64_t from = rgm_tensor_i64(source)[e], to = rgm_tensor_i64(target)[e];

            if (from == to || rgmi_link_find(s, to, from, r) < 0)
                continue;
            turned++;
            break;
        }
    return turned;
}

static bool is_named(const rgm_link_split *s, const char *name, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++)
        if (strcmp(s->sets[i].name, name) == 0)
            return true;
    return false;
}

/* Links of relations first .. end - 1. */
static int64_t count_links(const rgm_link_split *s, int64_t first, int64_t end)
{
    int64_t count = 0;

    for (int64_t i = 0; i < s->count; i++)
        count += s->relation[i] >= first && s->relation[i] < end;
    return count;
}

/* A set's edges, if they tell of more than nine in ten links of set `of` where these go: a leak of
 * all. */
static void warn_of(const maker *m, const rgm_set_schema *set, int64_t of)
{
    const rgm_link_split *s = m->split;
    const char *links = s->sets[of].name;
    bool itself = strcmp(set->name, links) == 0;
    bool own = is_named(s, set->name, 0, s->link_sets);
    int64_t first = s->link_sets > 1 ? of : 0;
    int64_t end = s->link_sets > 1 ? of + 1 : relations_of(s), count, turned;

    if (own && (s->undirected || m->options->relation != NULL))
        return;
    count = count_links(s, first, end);
    turned = count_turned(s, set->name, first, end);
    if (count == 0 || (double)turned < 0.9 * (double)count)
        return;
    rgm_log_write(RGM_LOG_WARNING,
                  "data.links: %" PRId64 " edges of '%s' turn the %" PRId64
                  " links of '%s' round, and stay in the messages while the links leave: %s",
                  turned, set->name, count, links,
                  itself ? "data.links.undirected takes both for one"
                  : own  ? "name it in data.links.reverse_sets, not in edge_sets"
                         : "name it in data.links.reverse_sets");
}

static void warn_of_reverses(const maker *m)
{
    const rgm_link_split *s = m->split;

    for (int64_t i = 0; i < rgm_schema_set_count(m->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(m->schema, i);

        if (set->piece != RGM_EDGE_SET || rgm_is_aux_set(set->name) ||
            strcmp(set->source, s->target_set) != 0 || strcmp(set->target, s->source_set) != 0 ||
            is_named(s, set->name, s->link_sets, s->set_count))
            continue;
        for (int64_t of = 0; of < s->link_sets; of++)
            warn_of(m, set, of);
    }
}

/* ---- parts -------------------------------------------------------------------------------------
 */

static rgm_status split_at_random(const maker *m)
{
    rgm_link_split *s = m->split;
    const rgm_link_options *o = m->options;
    int64_t valid = (int64_t)(o->valid * (double)s->count), *order;
    int64_t test = (int64_t)(o->test * (double)s->count);
    rgm_rng rng = rgm_rng_stream((uint64_t)o->seed, "links/split", 0);

    RGM_TRY(RGM_NEW(order, s->count));
    rgm_rng_permutation(&rng, order, s->count);
    for (int64_t i = 0; i < s->count; i++)
        s->part[order[i]] = (uint8_t)(i < valid          ? RGM_VALID
                                      : i < valid + test ? RGM_TEST
                                                         : RGM_TRAIN);
    rgm_free(order);
    return RGM_OK;
}

static rgm_status split_of_feature(const maker *m, int64_t i, bool *seen)
{
    rgm_link_split *s = m->split;
    const rgmi_link_edges *set = &s->sets[i];
    const rgm_tensor *parts;
    int64_t columns;

    RGM_TRY(edge_numbers(&parts, &columns, m, set->name, m->options->split, "split"));
    for (int64_t e = 0; e < set->count; e++) {
        int64_t part = rgm_tensor_at_int(parts, e), link = set->link[e];

        if (part < RGM_TRAIN || part > RGM_TEST)
            return RGM_FAIL(RGM_ERR_DATA,
                            "edge set '%s': '%s' of edge %" PRId64 " is %" PRId64
                            ", but 0 is train, 1 valid, 2 test",
                            set->name, m->options->split, e, part);
        if (seen[link] && m->options->repeated == RGM_REPEATS_FIRST && s->part[link] < part)
            continue;
        if (seen[link] && s->part[link] != part && m->options->repeated != RGM_REPEATS_FIRST)
            return RGM_FAIL(RGM_ERR_DATA,
                            "edge set '%s': '%s' has edge %" PRId64 " in %s, but the same link, "
                            "from node %" PRId64 " to %" PRId64 ", in %s",
                            set->name, m->options->split, e, rgm_mode_name((rgm_mode)part),
                            s->source[link], s->target[link],
                            rgm_mode_name((rgm_mode)s->part[link]));
        seen[link] = true;
        s->part[link] = (uint8_t)part;
    }
    return RGM_OK;
}

/* Edges of set i that repeat a link of an earlier part. */
static rgm_status drop_repeats(const maker *m, int64_t i)
{
    rgm_link_split *s = m->split;
    const rgmi_link_edges *set = &s->sets[i];
    const rgm_tensor *parts;
    int64_t columns;

    RGM_TRY(edge_numbers(&parts, &columns, m, set->name, m->options->split, "split"));
    for (int64_t e = 0; e < set->count; e++)
        if (set->link[e] >= 0 && rgm_tensor_at_int(parts, e) > s->part[set->link[e]]) {
            set->link[e] = RGMI_REPEATED;
            s->repeated++;
        }
    return RGM_OK;
}

static rgm_status split_by_feature(const maker *m)
{
    rgm_status status = RGM_OK;
    bool *seen;

    RGM_TRY(RGM_NEW(seen, m->split->count));
    for (int64_t i = 0; status == RGM_OK && i < m->split->link_sets; i++)
        status = split_of_feature(m, i, seen);
    for (int64_t i = 0; status == RGM_OK && i < m->split->set_count; i++)
        if (m->options->repeated == RGM_REPEATS_FIRST)
            status = drop_repeats(m, i);
    rgm_free(seen);
    return status;
}

static rgm_status list_members(rgm_link_split *s)
{
    int64_t counts[3] = {0};

    for (int64_t i = 0; i < s->count; i++)
        counts[s->part[i]]++;
    for (int part = 0; part < 3; part++) {
        RGM_TRY(rgm_tensor_create(&s->members[part], RGM_I64, 1, &counts[part]));
        counts[part] = 0;
    }
    for (int64_t i = 0; i < s->count; i++)
        rgm_tensor_i64(s->members[s->part[i]])[counts[s->part[i]]++] = i;
    if (counts[RGM_TRAIN] == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.links: of %" PRId64 " links none is for training",
                        s->count);
    return RGM_OK;
}

/* ---- the split ---------------------------------------------------------------------------------
 */

static rgm_status check_options(const rgm_link_options *o)
{
    if (!(o->valid >= 0 && o->test >= 0 && o->valid + o->test < 1))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.links: shares of %g valid and %g test leave nothing to train on",
                        o->valid, o->test);
    if (!(o->target_share > 0 && o->target_share < 1))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.links.target_share is %g, but must be above 0 and below 1: targets "
                        "are no messages",
                        o->target_share);
    if (o->batch_size < 0 || o->negatives < 0 || o->eval_negatives < 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.links: batch_size, negatives and eval_negatives are at least 0");
    return RGM_OK;
}

static bool has_loops(const rgm_link_split *s)
{
    bool loops = false;

    for (int64_t i = 0; i < s->count && strcmp(s->source_set, s->target_set) == 0; i++)
        loops |= s->source[i] == s->target[i];
    return loops;
}

static rgm_status fill(maker *m)
{
    rgm_link_split *s = m->split;
    const rgm_link_options *o = m->options;

    s->undirected = o->undirected;
    s->valid_messages = o->valid_messages;
    s->corrupt = o->corrupt;
    s->draw = o->draw;
    s->target_share = o->target_share;
    s->batch_size = o->batch_size;
    s->negatives = o->negatives;
    s->eval_negatives = o->eval_negatives;
    s->threads = o->threads;
    s->seed = (uint64_t)o->seed;
    RGM_TRY(open_sets(m));
    s->source_total = rgm_graph_total(s->graph, RGM_NODE_SET, s->source_set);
    s->target_total = rgm_graph_total(s->graph, RGM_NODE_SET, s->target_set);
    RGM_TRY(count_relations(m));
    RGM_TRY(check_size(s));
    RGM_TRY(find_links(m));
    s->loops = has_loops(s);
    warn_of_reverses(m);
    RGM_TRY(o->split != NULL ? split_by_feature(m) : split_at_random(m));
    return list_members(s);
}

rgm_status rgm_link_split_create(rgm_link_split **out, rgm_graph *graph,
                                 const rgm_link_options *options)
{
    rgm_status status = RGM_OK;
    rgm_link_split *split = NULL;
    maker m = {.options = options, .schema = rgm_graph_schema(graph)};

    *out = NULL;
    RGM_TRY(check_options(options));
    if (rgm_graph_components(graph) != 1)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "data.links: the graph has %" PRId64 " components; links are predicted in "
                        "one graph",
                        rgm_graph_components(graph));
    RGM_GO(RGM_NEW(split, 1));
    split->references = 1;
    split->graph = rgm_graph_retain(graph);
    m.split = split;
    RGM_GO(fill(&m));
    *out = split;
    split = NULL;
done:
    rgm_link_split_release(split);
    return status;
}

rgm_link_split *rgm_link_split_retain(rgm_link_split *split)
{
    if (split != NULL)
        atomic_fetch_add(&split->references, 1);
    return split;
}

void rgm_link_split_release(rgm_link_split *split)
{
    if (split == NULL || atomic_fetch_sub(&split->references, 1) > 1)
        return;
    for (int64_t i = 0; i < split->set_count; i++) {
        rgm_free(split->sets[i].name);
        rgm_free(split->sets[i].link);
    }
    for (int part = 0; part < 3; part++)
        rgm_tensor_release(split->members[part]);
    rgm_free(split->sets);
    rgm_free(split->keys);
    rgm_free(split->source);
    rgm_free(split->target);
    rgm_free(split->relation);
    rgm_free(split->part);
    rgm_free(split->source_set);
    rgm_free(split->target_set);
    rgm_graph_release(split->graph);
    rgm_graph_release(split->base);
    rgm_sampler_release(split->samplers[RGM_TRAIN]);
    if (split->samplers[RGM_TEST] != split->samplers[RGM_TRAIN])
        rgm_sampler_release(split->samplers[RGM_TEST]);
    rgm_free(split->followed);
    rgm_free(split);
}

int64_t rgm_link_split_count(const rgm_link_split *split, rgm_mode part)
{
    return rgm_tensor_count(split->members[part]);
}
