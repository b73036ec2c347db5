/*
 * Structured readout on a graph (TF-GNN's _readout convention): which items a prediction is for,
 * said by edge sets "<readout set>/<key>[/suffix]" into a node set with one item a prediction.
 * Checks, reading through it, and making it. Padded items need no edge; the rules hold for the real
 * ones.
 */
#include <inttypes.h>
#include <string.h>

#include "graph_internal.h"

/* Is set `index` an edge set of that key (NULL: any) of the readout set? */
static bool is_key(const rgm_schema *schema, int64_t index, const char *readout_set,
                   const char *key)
{
    const rgm_set_schema *set = schema->sets[index];
    size_t set_length, begin, length;

    return set->piece == RGM_EDGE_SET &&
           rgm_readout_name(&set_length, &begin, &length, set->name) &&
           strlen(readout_set) == set_length && strncmp(set->name, readout_set, set_length) == 0 &&
           (key == NULL || (strlen(key) == length && strncmp(set->name + begin, key, length) == 0));
}

int64_t rgmi_readout_next(const rgm_schema *schema, int64_t from, const char *readout_set,
                          const char *key)
{
    for (int64_t i = from; i < schema->set_count; i++)
        if (is_key(schema, i, readout_set, key))
            return i;
    return -1;
}

rgm_status rgmi_readout_require(int64_t *first, const rgm_schema *schema, const char *readout_set,
                                const char *key)
{
    if (!rgm_is_readout_set(readout_set))
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no name of a readout set (\"%s\" or \"%s:name\")",
                        readout_set, RGM_READOUT, RGM_READOUT);
    *first = rgmi_readout_next(schema, 1, readout_set, key);
    if (*first >= 0)
        return RGM_OK;
    if (rgmi_readout_next(schema, 1, readout_set, NULL) < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no edge set \"%s/...\": there is no readout",
                        readout_set);
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "no edge set \"%s/%s\": no such readout key", readout_set,
                    key);
}

/* ---- checks ---- */

static rgm_status check_shadow(const rgm_graph *graph, int64_t set)
{
    const rgm_set_schema *edges = graph->schema->sets[set];
    const char *of = rgm_shadow_of(edges->source);
    const rgmi_items *shadow, *real;

    if (of == NULL)
        return RGM_OK;
    shadow = graph->sets[rgm_schema_index(graph->schema, RGM_NODE_SET, edges->source)].items;
    real = graph->sets[rgm_schema_index(graph->schema, RGM_EDGE_SET, of)].items;
    for (int64_t c = 0; c < graph->real; c++)
        if (shadow->sizes[c] != real->sizes[c])
            return RGM_FAIL(RGM_ERR_DATA,
                            "node set '%s' has %" PRId64 " nodes in component %" PRId64
                            ", but edge set '%s' has %" PRId64 " edges",
                            edges->source, shadow->sizes[c], c, of, real->sizes[c]);
    return RGM_OK;
}

/* Counts in `seen` the items of the readout set that edge set `set` points at. */
static rgm_status check_targets(const rgm_graph *graph, int64_t set, uint8_t *seen)
{
    const rgmi_items *edges = graph->sets[set].items;
    const int64_t *target = rgm_tensor_i64(edges->target);
    const rgm_set_schema *schema = graph->schema->sets[set];

    for (int64_t e = 0; e < edges->real_total; e++) {
        if (e > 0 && target[e] <= target[e - 1])
            return RGM_FAIL(RGM_ERR_DATA,
                            "edge set '%s': targets must increase, but edge %" PRId64
                            " has %" PRId64 " after %" PRId64,
                            schema->name, e, target[e], target[e - 1]);
        if (seen[target[e]]++ > 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "edge set '%s': edge %" PRId64 " points at item %" PRId64
                            " of '%s', which another edge set of its key has",
                            schema->name, e, target[e], schema->target);
    }
    return check_shadow(graph, set);
}

static rgm_status check_key(const rgm_graph *graph, int64_t first, const char *readout_set)
{
    int64_t items = rgm_schema_index(graph->schema, RGM_NODE_SET, readout_set);
    const rgmi_items *readout = graph->sets[items].items;
    const char *name = graph->schema->sets[first]->name;
    size_t set_length, begin, length;
    rgm_status status = RGM_OK;
    uint8_t *seen = NULL;
    char key[256];

    rgm_readout_name(&set_length, &begin, &length, name);
    if (length >= sizeof key)
        return RGM_FAIL(RGM_ERR_DATA, "edge set '%s': its key is too long", name);
    memcpy(key, name + begin, length);
    key[length] = '\0';
    if (rgmi_readout_next(graph->schema, 1, readout_set, key) < first)
        return RGM_OK; /* checked with the first edge set of its key */
    RGM_GO(RGM_NEW(seen, readout->total));
    for (int64_t i = first; i >= 0; i = rgmi_readout_next(graph->schema, i + 1, readout_set, key)) {
        RGM_GO(rgmi_items_whole(graph->sets[i].items));
        RGM_GO(check_targets(graph, i, seen));
    }
    for (int64_t i = 0; i < readout->real_total; i++)
        if (seen[i] == 0) {
            status = RGM_FAIL(RGM_ERR_DATA,
                              "node set '%s': no edge of key '%s' points at item %" PRId64
                              " of %" PRId64,
                              readout_set, key, i, readout->real_total);
            goto done;
        }
done:
    rgm_free(seen);
    return status;
}

rgm_status rgm_graph_check_readout(const rgm_graph *graph, const char *readout_set)
{
    const rgm_schema *schema = graph->schema;
    int64_t first;

    RGM_TRY(rgmi_readout_require(&first, schema, readout_set, NULL));
    for (; first >= 0; first = rgmi_readout_next(schema, first + 1, readout_set, NULL))
        RGM_TRY(check_key(graph, first, readout_set));
    return RGM_OK;
}

/* ---- reading ---- */

/* The set whose feature is read behind edge set `set`, and the place of the feature in it. */
static rgm_status read_from(int64_t *from, int64_t *column, const rgm_schema *schema, int64_t set,
                            const char *feature)
{
    const char *source = schema->sets[set]->source, *of = rgm_shadow_of(source);

    *from = of == NULL ? rgm_schema_index(schema, RGM_NODE_SET, source)
                       : rgm_schema_index(schema, RGM_EDGE_SET, of);
    return rgmi_feature_require(column, schema->sets[*from], feature);
}

static rgm_status check_alike(const rgm_feature_schema *a, const rgm_feature_schema *b,
                              const char *set)
{
    bool alike = a->dtype == b->dtype && a->rank == b->rank;

    for (int i = 0; alike && i < a->rank; i++)
        alike = a->shape[i] == b->shape[i];
    return alike ? RGM_OK
                 : RGM_FAIL(RGM_ERR_DATA,
                            "edge set '%s' reads a feature '%s' of another dtype or "
                            "shape than the first of its key",
                            set, b->name);
}

/** The parts that the edge sets of one key read, in order. */
typedef struct parts {
    rgm_feature *features;
    const rgm_feature **pointers;
    int64_t count;
    int64_t *place; /* [readout items]: where among the parts' items, -1: none */
    int64_t items, read;
    const rgm_feature_schema *schema;
} parts;

static void parts_clear(parts *p)
{
    for (int64_t i = 0; i < p->count; i++)
        rgm_feature_clear(&p->features[i]);
    rgm_free(p->features);
    rgm_free((void *)p->pointers);
    rgm_free(p->place);
}

static rgm_status read_part(parts *p, const rgm_graph *graph, int64_t set, const char *feature)
{
    const rgmi_items *edges = graph->sets[set].items;
    const rgm_feature_schema *schema;
    char title[RGM_SET_TITLE];
    int64_t from, column;

    RGM_TRY(read_from(&from, &column, graph->schema, set, feature));
    schema = &graph->schema->sets[from]->features[column];
    if (p->schema == NULL)
        p->schema = schema;
    RGM_TRY(check_alike(p->schema, schema, graph->schema->sets[set]->name));
    if (graph->sets[from].columns[column] == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: feature '%s' is absent from this graph",
                        rgm_set_title(graph->schema->sets[from], title, sizeof title), feature);
    RGM_TRY(rgmi_items_whole(graph->sets[set].items));
    RGM_TRY(rgmi_column_whole(graph->sets[from].columns[column], schema));
    RGM_TRY(rgm_feature_take(&p->features[p->count], schema,
                             &graph->sets[from].columns[column]->value,
                             rgm_tensor_i64(edges->source), edges->total));
    p->pointers[p->count] = &p->features[p->count];
    p->count++;
    for (int64_t e = 0; e < edges->total; e++)
        p->place[rgm_tensor_i64(edges->target)[e]] = p->read + e;
    p->read += edges->total;
    return RGM_OK;
}

/* As rgm_graph_structured_readout(), and the schema of what was read. */
static rgm_status read_through(rgm_feature *out, const rgm_feature_schema **schema,
                               const rgm_graph *graph, const char *key, const char *feature,
                               const char *readout_set)
{
    rgm_status status = RGM_OK;
    parts p = {.features = NULL};
    rgm_feature joined = {0};
    int64_t first;

    memset(out, 0, sizeof *out);
    RGM_TRY(rgmi_readout_require(&first, graph->schema, readout_set, key));
    RGM_TRY(check_key(graph, first, readout_set));
    p.items = rgm_graph_total(graph, RGM_NODE_SET, readout_set);
    RGM_GO(RGM_NEW(p.features, graph->set_count));
    RGM_GO(RGM_NEW(p.pointers, graph->set_count));
    RGM_GO(RGM_NEW(p.place, p.items));
    for (int64_t i = 0; i < p.items; i++)
        p.place[i] = -1;
    for (int64_t i = first; i >= 0; i = rgmi_readout_next(graph->schema, i + 1, readout_set, key))
        RGM_GO(read_part(&p, graph, i, feature));
    RGM_GO(rgmi_feature_join(&joined, p.schema, p.pointers, p.count, 0));
    RGM_GO(rgm_feature_take(out, p.schema, &joined, p.place, p.items));
    *schema = p.schema;
done:
    rgm_feature_clear(&joined);
    parts_clear(&p);
    return status;
}

rgm_status rgm_graph_structured_readout(rgm_feature *out, const rgm_graph *graph, const char *key,
                                        const char *feature, const char *readout_set)
{
    const rgm_feature_schema *schema;

    RGM_TRY(read_through(out, &schema, graph, key, feature, readout_set));
    return RGM_OK;
}

/* ---- storing what was read ---- */

/* `feature` of sets of `schema` that the key reads is dropped. */
static rgm_status drop_read(rgm_schema *schema, const char *key, const char *feature,
                            const char *readout_set)
{
    for (int64_t i = rgmi_readout_next(schema, 1, readout_set, key); i >= 0;
         i = rgmi_readout_next(schema, i + 1, readout_set, key)) {
        int64_t from, column;
        rgm_status status = read_from(&from, &column, schema, i, feature);
        if (status == RGM_ERR_NOT_FOUND)
            continue; /* two edge sets read the same set */
        RGM_TRY(status);
        rgmi_schema_drop_feature(schema, from, column);
    }
    return RGM_OK;
}

/* A graph of `schema` that has `value` as a feature of its node set. Takes value's references over.
 */
static rgm_status store(rgm_graph **out, rgm_schema *schema, const rgm_graph *graph,
                        const char *readout_set, const char *name, rgm_feature *value)
{
    int64_t set = rgm_schema_index(schema, RGM_NODE_SET, readout_set);
    int64_t column = rgm_set_feature_index(schema->sets[set], name);
    rgm_status status = RGM_OK;
    rgm_graph *made = NULL;

    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    rgmi_column_release(made->sets[set].columns[column]);
    made->sets[set].columns[column] = NULL;
    RGM_GO(rgmi_column_create(&made->sets[set].columns[column], value));
    if (made->sets[set].items == NULL)
        RGM_GO(rgmi_items_create(&made->sets[set].items, graph->components,
                                 graph->sets[0].items->sizes, graph->real));
    RGM_GO(rgm_graph_seal(made));
    RGM_GO(rgmi_graph_check_feature(made, set, column));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_feature_clear(value);
    return status;
}

static rgm_status may_store(const rgm_graph *graph, const char *readout_set, const char *name,
                            bool overwrite)
{
    const rgm_set_schema *set = rgm_schema_find(graph->schema, RGM_NODE_SET, readout_set);

    if (!overwrite && set != NULL && rgm_set_feature(set, name) != NULL)
        return RGM_FAIL(RGM_ERR_ARG, "node set '%s' has a feature '%s' already", readout_set, name);
    return RGM_OK;
}

/* The feature `name` of the readout set, of the schema given, in place of one of that name. */
static rgm_status declare(rgm_schema *schema, const char *readout_set, const char *name,
                          const rgm_feature_schema *feature)
{
    int64_t set = rgm_schema_index(schema, RGM_NODE_SET, readout_set), old;

    old = rgm_set_feature_index(schema->sets[set], name);
    if (old >= 0)
        rgmi_schema_drop_feature(schema, set, old);
    return rgm_schema_add_feature_copy(schema, set, name, feature);
}

rgm_status rgm_graph_readout_into_feature(rgm_graph **out, const rgm_graph *graph, const char *key,
                                          const char *feature, const char *new_feature, bool remove,
                                          bool overwrite, const char *readout_set)
{
    const rgm_feature_schema *read_schema;
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_feature value = {0};

    *out = NULL;
    new_feature = new_feature == NULL ? feature : new_feature;
    RGM_GO(may_store(graph, readout_set, new_feature, overwrite));
    RGM_GO(read_through(&value, &read_schema, graph, key, feature, readout_set));
    RGM_GO(rgm_schema_copy(&schema, graph->schema));
    RGM_GO(declare(schema, readout_set, new_feature, read_schema));
    if (remove)
        RGM_GO(drop_read(schema, key, feature, readout_set));
    RGM_GO(store(out, schema, graph, readout_set, new_feature, &value));
done:
    rgm_feature_clear(&value);
    rgm_schema_release(schema);
    return status;
}

rgm_status rgm_graph_context_into_readout(rgm_graph **out, const rgm_graph *graph,
                                          const char *feature, const char *new_feature, bool remove,
                                          const char *readout_set)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_feature value = {0};
    const int64_t *sizes;
    int64_t column;

    *out = NULL;
    new_feature = new_feature == NULL ? feature : new_feature;
    RGM_GO(may_store(graph, readout_set, new_feature, false));
    RGM_GO(rgmi_feature_require(&column, graph->schema->sets[0], feature));
    if (graph->sets[0].columns[column] == NULL) {
        status =
            RGM_FAIL(RGM_ERR_NOT_FOUND, "context: feature '%s' is absent from this graph", feature);
        goto done;
    }
    RGM_GO(rgm_schema_copy(&schema, graph->schema));
    sizes = rgm_graph_sizes(graph, RGM_NODE_SET, readout_set);
    if (sizes == NULL)
        RGM_GO(rgm_schema_add_node_set(schema, readout_set));
    for (int64_t c = 0; sizes != NULL && c < graph->components; c++)
        if (sizes[c] != 1) {
            status = RGM_FAIL(RGM_ERR_DATA,
                              "node set '%s' has %" PRId64 " items in component %" PRId64
                              ", must have one",
                              readout_set, sizes[c], c);
            goto done;
        }
    RGM_GO(declare(schema, readout_set, new_feature, &graph->schema->sets[0]->features[column]));
    if (remove)
        rgmi_schema_drop_feature(schema, 0, column);
    RGM_GO(rgm_schema_check(schema));
    RGM_GO(rgmi_column_whole(graph->sets[0].columns[column],
                             &graph->schema->sets[0]->features[column]));
    rgm_feature_retain(&value, &graph->sets[0].columns[column]->value);
    RGM_GO(store(out, schema, graph, readout_set, new_feature, &value));
done:
    rgm_feature_clear(&value);
    rgm_schema_release(schema);
    return status;
}
