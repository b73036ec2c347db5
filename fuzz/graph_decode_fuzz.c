/*
 * A tf.train.Example from a stranger as a graph of a fixed schema: it is refused, or the graph is
 * sound: it prints, merges with itself, and what is written of it reads as the same.
 */
#include <stdlib.h>
#include <string.h>

#include <regimen/graph.h>

#include "target.h"

static const char schema_text[] =
    "context { features { key: \"y\" value { dtype: DT_INT32 } } }\n"
    "node_sets { key: \"n\" value {\n"
    "  features { key: \"x\" value { dtype: DT_FLOAT shape { dim { size: 2 } } } }\n"
    "  features { key: \"w\" value { dtype: DT_INT64 shape { dim { size: -1 } } source: "
    "\"one_hot:9\" } }\n"
    "  features { key: \"s\" value { dtype: DT_STRING shape { dim { size: -1 } dim { size: -1 } } "
    "} }\n"
    "  features { key: \"m\" value { dtype: DT_UINT8 shape { dim { size: 2 } dim { size: -1 } dim "
    "{ "
    "size: 0 } } } } } }\n"
    "node_sets { key: \"bare\" }\n"
    "edge_sets { key: \"e\" value { source: \"n\" target: \"n\" features { key: \"d\" value { "
    "dtype: "
    "DT_DOUBLE } } features { key: \"b\" value { dtype: DT_BOOL } } } }\n"
    "edge_sets { key: \"f\" value { source: \"n\" target: \"bare\" } }\n";

static void use(rgm_graph *graph, rgm_schema *schema)
{
    rgm_text text = {0}, again = {0};
    rgm_graph *other, *two;

    MUST(rgm_graph_print(&text, graph, 5));
    rgm_text_clear(&text);
    MUST(rgm_graph_encode(&text, graph, NULL));
    MUST(rgm_graph_decode(&other, schema, text.data, text.size, NULL, NULL));
    MUST(rgm_graph_encode(&again, other, NULL));
    if (text.size != again.size || memcmp(text.data, again.data, (size_t)text.size) != 0)
        abort();
    MUST(rgm_graph_merge(&two, (rgm_graph *[]){graph, other}, 2));
    if (rgm_graph_total(two, RGM_EDGE_SET, "e") != 2 * rgm_graph_total(graph, RGM_EDGE_SET, "e"))
        abort();
    if (rgm_graph_total(graph, RGM_NODE_SET, "n") < 10000 &&
        rgm_graph_feature(graph, RGM_NODE_SET, "n", "w") != NULL) {
        rgm_pattern *pattern;
        MUST(rgm_graph_adjacency(&pattern, two, "e", RGM_TARGET));
        MUST(rgm_graph_sparse(&pattern, graph, RGM_NODE_SET, "n", "w"));
    }
    rgm_graph_release(other);
    rgm_graph_release(two);
    rgm_text_clear(&text);
    rgm_text_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_schema *schema;
    rgm_graph *graph;

    MUST(rgm_schema_parse(&schema, schema_text, sizeof schema_text - 1, "fuzz"));
    if (rgm_graph_decode(&graph, schema, data, (int64_t)size, NULL, "fuzz") == RGM_OK) {
        use(graph, schema);
        rgm_graph_release(graph);
    }
    rgm_schema_release(schema);
    return 0;
}
