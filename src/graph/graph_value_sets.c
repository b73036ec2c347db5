/*
 * Sets of a graph of values by name, with failures that name the nearest.
 */
#include <stdio.h>
#include <string.h>

#include <regimen/graph_value.h>

enum { MOST_NAMES = 64 };

/* Names of a piece's sets, auxiliary ones left out; at most MOST_NAMES. */
static int64_t list_sets(const char **names, const rgm_schema *schema, rgm_piece piece)
{
    int64_t count = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema) && count < MOST_NAMES; i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        if (set->piece == piece && !rgm_is_aux_set(set->name))
            names[count++] = set->name;
    }
    return count;
}

static const char *piece_word(rgm_piece piece)
{
    return piece == RGM_NODE_SET ? "node set" : piece == RGM_EDGE_SET ? "edge set" : "context";
}

const rgm_set_schema *rgm_require_set(const rgm_graph_value *graph, rgm_piece piece,
                                      const char *name)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    const rgm_set_schema *set = name != NULL ? rgm_schema_find(schema, piece, name) : NULL;
    const char *names[MOST_NAMES];
    int64_t count;

    if (set != NULL)
        return set;
    count = list_sets(names, schema, piece);
    rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_NOT_FOUND, "unknown %s '%s'%s",
                    piece_word(piece), name != NULL ? name : "",
                    rgm_did_you_mean(name, names, count, NULL, NULL).text);
    return NULL;
}

const rgm_set_schema *rgm_only_set(const rgm_graph_value *graph, rgm_piece piece)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    const char *names[MOST_NAMES];
    char list[512] = "";
    size_t used = 0;
    int64_t count = list_sets(names, schema, piece);

    if (count == 1)
        return rgm_schema_find(schema, piece, names[0]);
    for (int64_t i = 0; i < count && used < sizeof list - 1; i++) {
        int n = snprintf(list + used, sizeof list - used, "%s'%s'", i > 0 ? ", " : "", names[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_ARG,
                    "needs a graph with one %s, or its name in the options; there %s %lld%s%s",
                    piece_word(piece), count == 1 ? "is" : "are", (long long)count,
                    count > 0 ? ": " : "", list);
    return NULL;
}

void rgm_unknown_feature(const rgm_graph_value *graph, rgm_piece piece, const char *name)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    const char *names[MOST_NAMES], *dot = strrchr(name, '.');
    int64_t count = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        for (int64_t k = 0; k < set->feature_count && count < MOST_NAMES; k++)
            if (set->piece == piece && !rgm_is_aux_set(set->name))
                names[count++] = set->features[k].name;
    }
    rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_NOT_FOUND,
                    "no %s set has the input feature '%s'%s",
                    piece == RGM_NODE_SET ? "node" : "edge", name,
                    rgm_did_you_mean(dot != NULL ? dot + 1 : name, names, count, NULL, NULL).text);
}
