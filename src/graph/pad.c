/*
 * Padding to fixed totals: fake components behind the real ones, so that every batch has the same
 * sizes. Which items are real is kept in the graph, per item, so that masks are right for any
 * number of readouts a component (TF-GNN's mask is per component and is wrong unless there is just
 * one).
 */
#include <inttypes.h>
#include <string.h>

#include "graph_internal.h"

rgm_status rgm_size_constraints_create(rgm_size_constraints **out, const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_size_constraints *made = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(made, 1));
    made->schema = rgm_schema_retain((rgm_schema *)schema);
    RGM_GO(RGM_NEW(made->total, schema->set_count));
    RGM_GO(RGM_NEW(made->minimum, schema->set_count));
    for (int64_t i = 0; i < schema->set_count; i++)
        made->total[i] = -1;
    *out = made;
    made = NULL;
done:
    rgm_size_constraints_release(made);
    return status;
}

void rgm_size_constraints_release(rgm_size_constraints *constraints)
{
    if (constraints == NULL)
        return;
    rgm_schema_release(constraints->schema);
    rgm_free(constraints->total);
    rgm_free(constraints->minimum);
    rgm_free(constraints);
}

rgm_status rgm_size_constraints_set(rgm_size_constraints *constraints, rgm_piece piece,
                                    const char *set, int64_t total, int64_t min_per_component)
{
    int64_t index;

    RGM_TRY(rgmi_set_require(&index, constraints->schema, piece, set));
    if (total < 0 || min_per_component < 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "size constraint of '%s' is %" PRId64 " with at least %" PRId64
                        " in a component",
                        constraints->schema->sets[index]->name, total, min_per_component);
    if (piece != RGM_NODE_SET && min_per_component > 0)
        return RGM_FAIL(RGM_ERR_ARG, "'%s': only node sets have a minimum for each component",
                        constraints->schema->sets[index]->name);
    constraints->total[index] = total;
    constraints->minimum[index] = min_per_component;
    return RGM_OK;
}

int64_t rgm_size_constraints_get(const rgm_size_constraints *constraints, rgm_piece piece,
                                 const char *set)
{
    int64_t index = rgm_schema_index(constraints->schema, piece, set);

    return index < 0 ? -1 : constraints->total[index];
}

/* ---- does it fit ---- */

/* Nodes that set `i` needs beyond the real ones, when `spare` components are padding. */
static int64_t nodes_needed(const rgm_size_constraints *limit, const rgm_graph *graph, int64_t i,
                            int64_t spare)
{
    const rgm_schema *schema = graph->schema;
    int64_t need = limit->minimum[i] * spare;

    for (int64_t e = 1; e < schema->set_count && need == 0; e++)
        if (schema->sets[e]->piece == RGM_EDGE_SET &&
            limit->total[e] > graph->sets[e].items->total &&
            (strcmp(schema->sets[e]->source, schema->sets[i]->name) == 0 ||
             strcmp(schema->sets[e]->target, schema->sets[i]->name) == 0))
            need = 1; /* padded edges must hang on something */
    return need;
}

static rgm_status check_fits(const rgm_graph *graph, const rgm_size_constraints *limit)
{
    const rgm_schema *schema = graph->schema;
    int64_t spare = limit->total[0] - graph->components;
    char title[RGM_SET_TITLE];

    if (limit->schema != schema && limit->schema->set_count != schema->set_count)
        return RGM_FAIL(RGM_ERR_ARG, "size constraints and graph are of different schemas");
    if (graph->real != graph->components)
        return RGM_FAIL(RGM_ERR_ARG, "the graph is padded already");
    for (int64_t i = 0; i < schema->set_count; i++) {
        int64_t have = graph->sets[i].items->total, need = 0;
        rgm_set_title(schema->sets[i], title, sizeof title);
        if (limit->total[i] < 0)
            return RGM_FAIL(RGM_ERR_ARG, "no size constraint for the %s", title);
        if (schema->sets[i]->piece == RGM_NODE_SET)
            need = nodes_needed(limit, graph, i, spare < 0 ? 0 : spare);
        if (have > limit->total[i] || need > limit->total[i] - have)
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: %" PRId64 " %s and room for %" PRId64 " more do not "
                            "fit a total of %" PRId64,
                            title, have, i == 0 ? "components" : "items", need, limit->total[i]);
        if (have < limit->total[i] && spare < 1)
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: %" PRId64 " items cannot be padded to %" PRId64
                            ", for all %" PRId64 " components are in use",
                            title, have, limit->total[i], limit->total[0]);
    }
    return RGM_OK;
}

bool rgm_graph_fits(const rgm_graph *graph, const rgm_size_constraints *constraints)
{
    bool fits = check_fits(graph, constraints) == RGM_OK;

    if (!fits)
        rgm_error_reset();
    return fits;
}

/* ---- padding ---- */

/* Node `i` of `count` spread over [first, last]: evenly, never decreasing, exact in integers. */
static int64_t spread(int64_t i, int64_t count, int64_t first, int64_t last)
{
    int64_t width = last - first + 1, step;

    if (count < 2)
        return first;
    step = (int64_t)((__int128)i * width / (count - 1));
    return first + (step < width ? step : width - 1);
}

static rgm_status pad_edges(rgmi_items *items, const rgm_graph *graph, int64_t set,
                            const rgm_size_constraints *limit)
{
    const rgmi_items *old = graph->sets[set].items;
    const rgm_set_schema *schema = graph->schema->sets[set];
    int64_t added = items->total - old->total;

    for (int end = 0; end < 2; end++) {
        int64_t nodes = rgm_schema_index(graph->schema, RGM_NODE_SET,
                                         end == 0 ? schema->source : schema->target);
        int64_t first = graph->sets[nodes].items->total;
        int64_t others = limit->total[0] - graph->components - 1;
        int64_t last = limit->total[nodes] - others * limit->minimum[nodes] - 1;
        rgm_tensor **to = end == 0 ? &items->source : &items->target;
        const rgm_tensor *from = end == 0 ? old->source : old->target;
        RGM_TRY(rgmi_ints(to, items->total, NULL));
        if (old->total > 0)
            memcpy(rgm_tensor_data(*to), rgm_tensor_data(from), rgm_tensor_bytes(from));
        for (int64_t i = 0; i < added; i++)
            rgm_tensor_i64(*to)[old->total + i] = spread(i, added, first, last);
    }
    return RGM_OK;
}

/* The first fake component has all that is added but the minimum of the other ones. */
static rgm_status pad_items(rgm_graph *padded, const rgm_graph *graph, int64_t set,
                            const rgm_size_constraints *limit)
{
    const rgmi_items *old = graph->sets[set].items;
    rgm_piece piece = graph->schema->sets[set]->piece;
    int64_t minimum = piece == RGM_CONTEXT_PIECE ? 1 : limit->minimum[set], *sizes;
    int64_t rest = limit->total[set] - old->total;
    rgm_status status;

    RGM_TRY(RGM_NEW(sizes, padded->components));
    memcpy(sizes, old->sizes, (size_t)old->components * sizeof *sizes);
    for (int64_t c = padded->components - 1; c > graph->components; c--) {
        sizes[c] = minimum;
        rest -= minimum;
    }
    if (padded->components > graph->components)
        sizes[graph->components] = rest;
    status = rgmi_items_create(&padded->sets[set].items, padded->components, sizes, padded->real);
    rgm_free(sizes);
    if (status == RGM_OK && piece == RGM_EDGE_SET)
        status = pad_edges(padded->sets[set].items, graph, set, limit);
    return status;
}

static rgm_status pad_feature(rgm_graph *padded, const rgm_graph *graph, int64_t set, int64_t j)
{
    const rgm_feature *old = &graph->sets[set].columns[j]->value;
    rgm_feature value;

    RGM_TRY(rgmi_feature_join(&value, &graph->schema->sets[set]->features[j], &old, 1,
                              padded->sets[set].items->total - graph->sets[set].items->total));
    return rgmi_column_create(&padded->sets[set].columns[j], &value);
}

rgm_status rgm_graph_pad(rgm_graph **out, int64_t *real, const rgm_graph *graph,
                         const rgm_size_constraints *constraints)
{
    rgm_status status = RGM_OK;
    rgm_graph *padded = NULL;

    *out = NULL;
    RGM_GO(check_fits(graph, constraints));
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgm_graph_begin(&padded, graph->schema, constraints->total[0], graph->components));
    for (int64_t i = 0; i < graph->set_count; i++) {
        RGM_GO(pad_items(padded, graph, i, constraints));
        for (int64_t j = 0; j < graph->schema->sets[i]->feature_count; j++)
            if (graph->sets[i].columns[j] != NULL)
                RGM_GO(pad_feature(padded, graph, i, j));
    }
    RGM_GO(rgm_graph_seal(padded));
    if (real != NULL)
        *real = graph->components;
    *out = padded;
    padded = NULL;
done:
    rgm_graph_release(padded);
    return status;
}
