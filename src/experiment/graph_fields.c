/*
 * The keys of `data:` for graph networks, their defaults, and what can be wrong with them.
 */
#include "experiment_internal.h"

#define DATA(member)     offsetof(rgmi_graph_data, member)
#define SAMPLING(member) offsetof(rgmi_sampling, member)
#define CITATION(member) offsetof(rgm_citation_options, member)
#define PADDING(member)  offsetof(rgm_padding, member)
#define MOST             1e15

static const char *const data_types[] = {"ogb", "records", "citation", "folder", NULL};
static const char *const strategies[] = {"top_k", "uniform", "weighted", NULL};
static const char *const stores[] = {"records", "memory", NULL};
static const char *const paddings[] = {"none", "tight", "fit_or_skip", NULL};

static const rgm_field sampling_fields[] = {
    {"sizes", RGM_FIELD_INTS, SAMPLING(sizes), 1, 1e9, NULL, NULL,
     "neighbours drawn at each hop, e.g. [10, 10]"},
    {"edge_sets", RGM_FIELD_TEXTS, SAMPLING(edge_sets), 0, 0, NULL, NULL,
     "edge set of each hop ('<name' is followed backwards); default: the only one"},
    {"strategy", RGM_FIELD_CHOICE, SAMPLING(strategy), 0, 0, strategies, NULL,
     "how neighbours are drawn, without replacement"},
    {"store", RGM_FIELD_CHOICE, SAMPLING(store), 0, 0, stores, NULL,
     "records: one subgraph a seed, sampled once into TFRecords; memory: mini-batches on the fly"},
    {"resample", RGM_FIELD_BOOL, SAMPLING(resample), 0, 0, NULL, NULL,
     "memory: other neighbours each epoch"},
    {0}};

static const rgm_field citation_fields[] = {
    {"nodes", RGM_FIELD_INT, CITATION(nodes), 1, MOST, NULL, NULL, "papers"},
    {"edges", RGM_FIELD_INT, CITATION(edges), 0, MOST, NULL, NULL, "citations, stored both ways"},
    {"classes", RGM_FIELD_INT, CITATION(classes), 2, 1e6, NULL, NULL, "planted communities"},
    {"words", RGM_FIELD_INT, CITATION(words), 1, 1e9, NULL, NULL, "vocabulary"},
    {"words_per_node", RGM_FIELD_INT, CITATION(words_per_node), 1, 1e6, NULL, NULL, "mean"},
    {"dense", RGM_FIELD_INT, CITATION(dense), 0, 1e6, NULL, NULL,
     "width of dense features in place of words"},
    {"homophily", RGM_FIELD_FLOAT, CITATION(homophily), 0, 1, NULL, NULL,
     "share of edges inside a community"},
    {"noise", RGM_FIELD_FLOAT, CITATION(noise), 0, 100, NULL, NULL,
     "share of words that say nothing of the class"},
    {"exponent", RGM_FIELD_FLOAT, CITATION(exponent), 2, 100, NULL, NULL, "of the degrees"},
    {"train_per_class", RGM_FIELD_INT, CITATION(train_per_class), 1, 1e9, NULL, NULL, "labels"},
    {"valid", RGM_FIELD_INT, CITATION(valid), 0, 1e12, NULL, NULL, "validation nodes"},
    {"test", RGM_FIELD_INT, CITATION(test), 0, 1e12, NULL, NULL, "test nodes"},
    {"seed", RGM_FIELD_INT, CITATION(seed), 0, MOST, NULL, NULL, "of the generator"},
    {0}};

static const rgm_field padding_fields[] = {
    {"kind", RGM_FIELD_CHOICE, PADDING(kind), 0, 0, paddings, NULL,
     "tight: nothing is lost; fit_or_skip: batches that do not fit are dropped"},
    {"min_nodes_per_component", RGM_FIELD_INT, PADDING(min_nodes_per_component), 0, 1e6, NULL, NULL,
     "nodes of each set in a component that is padding"},
    {"sample_size", RGM_FIELD_INT, PADDING(sample_size), 1, 1e9, NULL, NULL,
     "fit_or_skip: examples looked at"},
    {"success_ratio", RGM_FIELD_FLOAT, PADDING(success_ratio), 0, 1, NULL, NULL,
     "fit_or_skip: share of batches that shall fit"},
    {0}};

const rgm_field rgmi_graph_data_fields[] = {
    {"type", RGM_FIELD_CHOICE, DATA(type), 0, 0, data_types, NULL,
     "ogb: a folder of raw CSV; folder: one made by `regimen data`; records: TFRecord files; "
     "citation: a generated graph"},
    {"path", RGM_FIELD_TEXT, DATA(path), 0, 0, NULL, NULL, "ogb, folder: the folder"},
    {"split", RGM_FIELD_TEXT, DATA(split), 0, 0, NULL, NULL,
     "ogb, folder: which split; default: the only one"},
    {"node_set", RGM_FIELD_TEXT, DATA(node_set), 0, 0, NULL, NULL,
     "ogb, citation: name of the only node set"},
    {"edge_set", RGM_FIELD_TEXT, DATA(edge_set), 0, 0, NULL, NULL,
     "ogb, citation: name of the only edge set"},
    {"undirected", RGM_FIELD_BOOL, DATA(undirected), 0, 0, NULL, NULL,
     "ogb: add the reverse of each edge"},
    {"relabel", RGM_FIELD_BOOL, DATA(relabel), 0, 0, NULL, NULL,
     "ogb: number the distinct labels 0, 1, ... in ascending order"},
    {"sparse_below", RGM_FIELD_FLOAT, DATA(sparse_below), 0, 1, NULL, NULL,
     "ogb: 0/1 features with fewer ones are kept sparse"},
    {"schema", RGM_FIELD_TEXT, DATA(schema), 0, 0, NULL, NULL, "records: GraphSchema text file"},
    {"train", RGM_FIELD_TEXT, DATA(train), 0, 0, NULL, NULL,
     "records: file pattern or name@shards"},
    {"valid", RGM_FIELD_TEXT, DATA(valid), 0, 0, NULL, NULL, "records: likewise"},
    {"test", RGM_FIELD_TEXT, DATA(test), 0, 0, NULL, NULL, "records: likewise"},
    {"shuffle_filenames", RGM_FIELD_BOOL, DATA(shuffle_filenames), 0, 0, NULL, NULL,
     "records: files in random order"},
    {"cycle_length", RGM_FIELD_INT, DATA(cycle_length), 1, 1e4, NULL, NULL,
     "records: files read at once"},
    {"max_bad_records", RGM_FIELD_INT, DATA(max_bad_records), 0, MOST, NULL, NULL,
     "records: damaged ones passed over before it is an error"},
    {"batch_size", RGM_FIELD_INT, DATA(batch_size), 1, 1e9, NULL, NULL, "examples a step"},
    {"shuffle_size", RGM_FIELD_INT, DATA(shuffle_size), 0, 1e9, NULL, NULL,
     "records: shuffle buffer"},
    {"drop_remainder", RGM_FIELD_BOOL, DATA(drop_remainder), 0, 0, NULL, NULL,
     "drop a last smaller batch"},
    {"train_padding", RGM_FIELD_GROUP, DATA(train_padding), 0, 0, NULL, padding_fields,
     "of training batches"},
    {"valid_padding", RGM_FIELD_GROUP, DATA(valid_padding), 0, 0, NULL, padding_fields,
     "of validation batches"},
    {"sampling", RGM_FIELD_GROUP, DATA(sampling), 0, 0, NULL, sampling_fields,
     "train on subgraphs around the split's nodes"},
    {"citation", RGM_FIELD_GROUP, DATA(citation), 0, 0, NULL, citation_fields,
     "citation: the graph"},
    {0}};

void rgmi_graph_data_defaults(rgmi_graph_data *data)
{
    *data = (rgmi_graph_data){
        .undirected = true,
        .sparse_below = 0.1,
        .cycle_length = 1,
        .batch_size = 1,
        .train_padding = RGM_PADDING_INIT,
        .valid_padding = RGM_PADDING_INIT,
        .sampling = {.strategy = RGM_SAMPLE_UNIFORM, .resample = true},
        .citation = RGM_CITATION_OPTIONS_INIT,
    };
}

rgm_status rgmi_graph_data_check(const rgmi_graph_data *d, const rgm_yaml_node *section)
{
    const rgmi_sampling *s = &d->sampling;

    if ((d->type == RGMI_DATA_OGB || d->type == RGMI_DATA_FOLDER) && d->path == NULL)
        return rgm_yaml_fail(section, "data.path is missing: the folder of the data set");
    if (d->type == RGMI_DATA_RECORDS && (d->schema == NULL || d->train == NULL))
        return rgm_yaml_fail(section, "data.%s is missing: data.type is records",
                             d->schema == NULL ? "schema" : "train");
    if (s->sizes.count > RGMI_MAX_HOPS ||
        (s->edge_sets.count > 0 && s->edge_sets.count != s->sizes.count))
        return rgm_yaml_fail(section,
                             "data.sampling: %lld sizes and %lld edge_sets; one of each for every "
                             "hop, and at most %d hops",
                             (long long)s->sizes.count, (long long)s->edge_sets.count,
                             RGMI_MAX_HOPS);
    return RGM_OK;
}
