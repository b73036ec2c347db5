/*
 * A sampling spec's text. What parses must print, parse again to the same text, and sample a small
 * graph.
 */
#include <regimen/graph_import.h>
#include <regimen/graph_sampling.h>

#include <string.h>

#include "target.h"

static const char schema_text[] = "node_sets { key: 'a' value {} } node_sets { key: 'b' value {} }"
                                  "edge_sets { key: 'aa' value { source: 'a' target: 'a' "
                                  "features { key: 'weight' value { dtype: DT_FLOAT } } } }"
                                  "edge_sets { key: 'ab' value { source: 'a' target: 'b' } }";

static void sample(rgm_graph *graph, const rgm_sampling_spec *spec)
{
    rgm_sampler *sampler;
    rgm_graph *small;

    if (spec->op_count > 64 || rgm_sampler_create(&sampler, graph, spec, 1) != RGM_OK)
        return;
    if (rgm_graph_total(graph, RGM_NODE_SET, spec->seed_node_set) > 0) {
        if (rgm_sampler_sample(&small, sampler, 0, 0) != RGM_OK)
            __builtin_trap();
        rgm_graph_release(small);
    }
    rgm_sampler_release(sampler);
}

/* A graph of one component: of random ones, the first that has it. */
static void make_graph(rgm_schema **schema, rgm_graph **graph)
{
    if (rgm_schema_parse(schema, schema_text, (int64_t)strlen(schema_text), "schema") != RGM_OK)
        __builtin_trap();
    for (uint64_t i = 0;; i++) {
        if (rgm_generate_graph(graph, *schema, 1, i) != RGM_OK)
            __builtin_trap();
        if (rgm_graph_components(*graph) == 1)
            return;
        rgm_graph_release(*graph);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_schema *schema;
    rgm_graph *graph;
    rgm_sampling_spec *spec, *again;
    rgm_text first = {0}, second = {0};

    make_graph(&schema, &graph);
    if (rgm_sampling_spec_parse(&spec, (const char *)data, (int64_t)size, "spec", schema) ==
        RGM_OK) {
        if (rgm_sampling_spec_print(&first, spec) != RGM_OK ||
            rgm_sampling_spec_parse(&again, first.data, first.size, "again", schema) != RGM_OK ||
            rgm_sampling_spec_print(&second, again) != RGM_OK ||
            strcmp(first.data, second.data) != 0)
            __builtin_trap();
        sample(graph, spec);
        rgm_sampling_spec_release(again);
    }
    rgm_text_clear(&first);
    rgm_text_clear(&second);
    rgm_sampling_spec_release(spec);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
    return 0;
}
