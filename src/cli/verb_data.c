/* regimen data: the verbs about graph data on disk, and about batches for trainers elsewhere. */
#include "cli.h"

static const verb verbs[] = {
    {"import", data_import, "OGB folders, CSV tables or triples to TFRecords or a graph file"},
    {"generate", data_generate, "a citation-like graph, or random graphs of a schema"},
    {"sample", data_sample, "subgraphs around seed nodes, in parallel"},
    {"partition", data_partition, "one graph in parts, for training on several ranks"},
    {"inspect", data_inspect, "graphs in readable print"},
    {"validate", data_validate, "schema, every record, every index"},
    {"serve", data_serve, "training batches for a trainer elsewhere"},
    {"key", data_key, "a key that lets input workers in"},
    {"stats", data_stats, "counts and quantiles of sets and features"},
};

int verb_data(int argc, char **argv)
{
    return verb_family("data", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
