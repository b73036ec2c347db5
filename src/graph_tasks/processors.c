/*
 * Processors one behind the other, over a graph, over the graphs of a provider, over a schema.
 */
#include <stdio.h>
#include <string.h>

#include "processors.h"

int64_t rgmi_processors_fixed(const rgm_graph_processor *processors, int64_t count)
{
    int64_t fixed = 0;

    while (fixed < count && !processors[fixed].type->training_only)
        fixed++;
    return fixed;
}

/* A stream of a processor's own. */
static rgm_rng stream(const rgm_rng *rng, const char *name, int64_t place)
{
    uint64_t high = rgm_rng_u32(rng, 0), low = rgm_rng_u32(rng, 1);

    return rgm_rng_stream(high << 32 | low, name, (uint64_t)place);
}

static void count_items(int64_t *nodes, int64_t *edges, const rgm_graph *graph)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_CONTEXT_PIECE && !rgm_is_aux_set(set->name))
            *(set->piece == RGM_NODE_SET ? nodes : edges) +=
                rgm_graph_total(graph, set->piece, set->name);
    }
}

static rgm_status process_one(rgm_graph **out, rgm_graph *graph, const rgm_graph_processor *by,
                              int64_t place, const rgm_rng *rng)
{
    rgm_rng own;
    rgm_status status;

    *out = NULL;
    if (by->type->training_only && rng != NULL)
        own = stream(rng, by->type->section.name, place);
    else
        rng = NULL;
    status = by->type->process(out, graph, by->options, rng != NULL ? &own : NULL);
    if (status < 0)
        return rgm_error_prefix(status, "processor '%s'", by->type->section.name);
    return *out != NULL
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_DATA, "processor '%s' gave no graph", by->type->section.name);
}

rgm_status rgmi_graph_process(rgm_graph **out, rgm_graph *graph,
                              const rgm_graph_processor *processors, int64_t count,
                              const rgm_rng *rng, rgmi_processed *told)
{
    rgm_status status = RGM_OK;
    rgm_graph *now = rgm_graph_retain(graph), *next;

    *out = NULL;
    for (int64_t i = 0; i < count; i++) {
        if (processors[i].type->training_only && rng == NULL)
            continue;
        if (told != NULL)
            count_items(&told[i].nodes[0], &told[i].edges[0], now);
        RGM_GO(process_one(&next, now, &processors[i], i, rng));
        rgmi_step_to(&now, next);
        if (told != NULL)
            count_items(&told[i].nodes[1], &told[i].edges[1], now);
    }
    *out = now;
    now = NULL;
done:
    rgm_graph_release(now);
    return status;
}

rgm_status rgm_graph_process(rgm_graph **out, rgm_graph *graph,
                             const rgm_graph_processor *processors, int64_t count,
                             const rgm_rng *rng)
{
    return rgmi_graph_process(out, graph, processors, count, rng, NULL);
}

rgm_status rgmi_processors_schema(rgm_schema **out, rgm_schema *schema,
                                  const rgm_graph_processor *processors, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_graph_builder *builder = NULL;
    rgm_graph *empty = NULL, *processed = NULL;

    *out = NULL;
    if (count == 0) {
        *out = rgm_schema_retain(schema);
        return RGM_OK;
    }
    RGM_GO(rgm_graph_builder_create(&builder, schema, 0));
    RGM_GO(rgm_graph_builder_finish(&empty, builder));
    RGM_GO(rgm_graph_process(&processed, empty, processors, count, NULL));
    *out = rgm_schema_retain((rgm_schema *)rgm_graph_schema(processed));
done:
    rgm_graph_release(empty);
    rgm_graph_release(processed);
    rgm_graph_builder_release(builder);
    return status;
}

rgm_status rgmi_processed_set(const char **out, const rgm_graph *graph, rgm_piece piece,
                              const char *wanted)
{
    const rgm_schema *schema = rgm_graph_schema(graph);
    const char *what = piece == RGM_NODE_SET ? "node_set" : "edge_set";

    *out = wanted;
    for (int64_t i = 0; wanted == NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != piece || rgm_is_aux_set(set->name))
            continue;
        if (*out != NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "%s is needed: there are '%s', '%s' and maybe more",
                            what, *out, set->name);
        *out = set->name;
    }
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: the graphs have none", what);
    return RGM_OK;
}
