/*
 * The keys of `data:` for graph learning, their defaults, what can be wrong with them, and which of
 * them say nothing when.
 */
#include "learning.h"

#define MOST 1e15

static const char *const data_types[] = {"ogb",    "records", "citation", "folder",
                                         "events", "triples", "parts",    NULL};
static const char *const strategies[] = {"top_k", "uniform", "weighted", "latest_k", NULL};
static const char *const balances[] = {"none", "classes", NULL};
static const char *const stores[] = {"records", "memory", NULL};
static const char *const repeats[] = {"refused", "first", NULL};
static const char *const corruptions[] = {"either", "source", "target", "pair", NULL};
static const char *const draws_of_links[] = {"uniform", "degree", "batch", NULL};
static const char *const paddings[] = {"none", "tight", "fit", NULL};

#define RGM_OPTIONS rgmi_sampling
static const rgm_field sampling_fields[] = {
    RGM_CHOICE_FIELD(type, rgmi_sampling_type_names,
                     "tree: neighbours hop by hop; random_walk: the most visited (PinSAGE); "
                     "cluster: parts of the graph (Cluster-GCN); saint: weighted subgraphs "
                     "(GraphSAINT); shadow: one around each node (shaDow)"),
    RGM_INTS_FIELD(sizes, 1, 1e9, "tree: neighbours drawn at each hop, e.g. [10, 10]"),
    RGM_TEXTS_FIELD(edge_sets, "edge set of each hop ('<name' is followed backwards); default: the "
                               "only one, from the end where model.receiver hears"),
    RGM_TEXT_FIELD(spec, "in place of sizes: a file of a SamplingSpec in proto text, trees and "
                         "joins as TF-GNN has them, or that text itself"),
    RGM_CHOICE_FIELD(strategy, strategies, "how neighbours are drawn, without replacement"),
    RGM_TEXT_FIELD(weight_feature_name,
                   "weighted, top_k: the edge feature to weigh by, default weight"),
    RGM_TEXT_FIELD(time_feature_name,
                   "the edge feature that says when: latest_k takes the latest, default time"),
    RGM_TEXT_FIELD(seed_time_feature_name,
                   "a feature of the split's nodes: no edge that is not earlier is taken around "
                   "them, in any hop"),
    RGM_BOOL_FIELD(up_to_seed, "edges at the seed's time itself are taken too"),
    RGM_TEXTS_FIELD(always_there, "edge sets that have no times"),
    RGM_CHOICE_FIELD(store, stores,
                     "records: one subgraph a seed, sampled once into TFRecords; memory: "
                     "mini-batches on the fly"),
    RGM_BOOL_FIELD(resample, "memory: other neighbours each epoch"),
    RGM_BOOL_FIELD(once, "draw a node's neighbours at the first hop that reaches it alone, not at "
                         "each; fewer edges, and faster"),
    RGM_GROUP_FIELD(random_walk, rgmi_random_walk_fields, "type random_walk"),
    RGM_GROUP_FIELD(cluster, rgmi_cluster_fields, "type cluster"),
    RGM_GROUP_FIELD(saint, rgmi_saint_fields, "type saint"),
    RGM_GROUP_FIELD(shadow, rgmi_shadow_fields, "type shadow"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_citation_options
static const rgm_field citation_fields[] = {
    RGM_INT_FIELD(nodes, 1, MOST, "papers"),
    RGM_INT_FIELD(edges, 0, MOST, "citations, stored both ways"),
    RGM_INT_FIELD(classes, 2, 1e6, "planted communities"),
    RGM_INT_FIELD(words, 1, 1e9, "vocabulary"),
    RGM_INT_FIELD(words_per_node, 1, 1e6, "mean"),
    RGM_INT_FIELD(dense, 0, 1e6, "width of dense features in place of words"),
    RGM_FLOAT_FIELD(homophily, 0, 1, "share of edges inside a community"),
    RGM_FLOAT_FIELD(noise, 0, 100, "share of words that say nothing of the class"),
    RGM_FLOAT_FIELD(exponent, 2, 100, "of the degrees"),
    RGM_INT_FIELD(train_per_class, 1, 1e9, "labels"),
    RGM_INT_FIELD(valid, 0, 1e12, "validation nodes"),
    RGM_INT_FIELD(test, 0, 1e12, "test nodes"),
    RGM_INT_FIELD(seed, 0, MOST, "of the generator"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_events_options
static const rgm_field events_fields[] = {
    RGM_INT_FIELD(accounts, 2, MOST, "asked about once each"),
    RGM_INT_FIELD(kinds, 2, 1e4, "of events, and classes"),
    RGM_INT_FIELD(recent, 1, 1e6, "the label is the commonest kind of so many last events"),
    RGM_INT_FIELD(past, 1, 1e6, "events of each account before it is asked about"),
    RGM_INT_FIELD(future, 0, 1e6, "events behind that, which tell the label in the training part"),
    RGM_FLOAT_FIELD(noise, 0, 1, "share of labels that are another kind"),
    RGM_INT_FIELD(train, 1, MOST, "training accounts"),
    RGM_INT_FIELD(valid, 0, MOST, "validation accounts; the others are to test on"),
    RGM_INT_FIELD(seed, 0, MOST, "of the generator"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_padding
static const rgm_field padding_fields[] = {
    RGM_CHOICE_FIELD(
        kind, paddings,
        "tight: the largest example times batch_size; fit: what success_ratio of batches "
        "need, and larger ones keep their own sizes"),
    RGM_INT_FIELD(min_nodes_per_component, 0, 1e6,
                  "nodes of each set in a component that is padding"),
    RGM_INT_FIELD(sample_size, 1, 1e9, "fit: examples looked at"),
    RGM_FLOAT_FIELD(success_ratio, 0, 1, "fit: share of batches that shall fit"),
    RGM_NUMBERS_FIELD(
        totals, 0, INT32_MAX,
        "what a batch has of a set, by its name, and components, in the place of what "
        "kind finds; larger batches keep their own sizes"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgmi_edge_split
static const rgm_field edge_split_fields[] = {
    RGM_FLOAT_FIELD(valid, 0, 1, "share of the edges to validate on"),
    RGM_FLOAT_FIELD(test, 0, 1, "share of the edges to test on"),
    RGM_TEXT_FIELD(feature, "or a feature of the edges that says it: 0 train, 1 valid, 2 test"),
    RGM_INT_FIELD(seed, 0, MOST, "of the draw"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_link_options
static const rgm_field link_fields[] = {
    RGM_TEXTS_FIELD(edge_sets, "whose edges are links, each set a relation; default: the only one"),
    RGM_LISTS_FIELD(reverse_sets, "by edge set: sets that have its edges turned round, which leave "
                                  "the messages with them"),
    RGM_BOOL_FIELD(undirected, "an edge and its reverse in the same set are one link"),
    RGM_TEXT_FIELD(relation, "integer feature of the one edge set that numbers relations"),
    RGM_FLOAT_FIELD(valid, 0, 1, "share of links to validate on"),
    RGM_FLOAT_FIELD(test, 0, 1, "share of links to test on"),
    RGM_TEXT_FIELD(split, "integer feature of edges instead of shares: 0 train, 1 valid, 2 test"),
    RGM_CHOICE_FIELD(repeated, repeats,
                     "of a link that split puts into several parts; first: it is in the first of "
                     "them, and its edges of later parts are left out"),
    RGM_INT_FIELD(seed, 0, MOST, "of the split, and of what is drawn for validation and test"),
    RGM_INT_FIELD(batch_size, 0, 1e12,
                  "training links that are targets in a step; 0: target_share of all, a step an "
                  "epoch"),
    RGM_FLOAT_FIELD(target_share, RGM_ABOVE_0, RGM_BELOW_1,
                    "share of training links that are targets, drawn anew each step; the others "
                    "are messages"),
    RGM_INT_FIELD(negatives, 0, 1e9, "for each target in training, drawn anew each step"),
    RGM_INT_FIELD(eval_negatives, 0, 1e9,
                  "for each link of validation and test, drawn once; 0: every node in place of "
                  "either end"),
    RGM_CHOICE_FIELD(corrupt, corruptions,
                     "which end is another node in negatives; pair: both are drawn anew"),
    RGM_CHOICE_FIELD(draw, draws_of_links,
                     "which nodes negatives of training have there; degree: as likely as they have "
                     "links; batch: ends of the step's targets"),
    RGM_BOOL_FIELD(valid_messages, "test messages have the validation links too"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgmi_data_options
static const rgm_field data_fields[] = {
    RGM_CHOICE_FIELD(
        type, data_types,
        "ogb: a folder of raw CSV; folder: one, or a graph file, made by `regimen data`; records: "
        "TFRecord files; citation: a generated graph; events: a generated graph with times; "
        "triples: files of head, relation and tail with tabs between; parts: one graph in "
        "parts for as many ranks or fewer, made by `regimen data partition`"),
    RGM_TEXT_FIELD(path, "ogb, folder, parts: the folder; folder: or a graph file"),
    RGM_TEXT_FIELD(split, "ogb, folder: which split; default: the only one; * is the number of "
                          "trainer.folds' fold"),
    RGM_TEXT_FIELD(node_set, "ogb, citation, triples: name of the only node set; of ogb's several: "
                             "that of the split"),
    RGM_TEXT_FIELD(edge_set, "ogb, citation, triples: name of the only edge set"),
    RGM_BOOL_FIELD(undirected, "ogb: add the reverse of each edge"),
    RGM_BOOL_FIELD(relabel, "ogb: number the distinct labels 0, 1, ... in ascending order"),
    RGM_FLOAT_FIELD(sparse_below, 0, 1, "ogb: 0/1 features with fewer ones are kept sparse"),
    RGM_TEXT_FIELD(schema, "records: GraphSchema text file"),
    RGM_TEXTS_FIELD(
        train, "records, triples: files to train on; of records also patterns and name@shards"),
    RGM_TEXTS_FIELD(valid, "records, triples: files to validate on"),
    RGM_TEXTS_FIELD(test, "records, triples: files to test on"),
    RGM_LISTS_FIELD(train_sets, "records: more to train on by name, mixed in: {news: [files]}"),
    RGM_NUMBERS_FIELD(weights, RGM_ABOVE_0, 1e9,
                      "records: how often the next record is of which, by name ('train' and those "
                      "of train_sets), 1 where one is not named; an epoch ends with data.train"),
    RGM_LISTS_FIELD(valid_sets, "records: more by name, each validated on too: "
                                "valid_news.accuracy"),
    RGM_LISTS_FIELD(test_sets, "records: the same of test"),
    RGM_BOOL_FIELD(shuffle_filenames, "records: files in random order"),
    RGM_INT_FIELD(cycle_length, 1, 1e4, "records: files read at once"),
    RGM_INT_FIELD(max_bad_records, 0, MOST,
                  "records: damaged ones passed over before it is an error"),
    RGM_INT_FIELD(batch_size, 1, 1e9,
                  "examples a step; with batch_nodes or batch_edges the most, 1: as many as fit"),
    RGM_INT_FIELD(batch_nodes, 0, MOST,
                  "batches of as many examples as have so many nodes together; 0: no bound"),
    RGM_INT_FIELD(batch_edges, 0, MOST, "the same of edges; with batch_nodes both hold"),
    RGM_INT_FIELD(shuffle_size, 0, 1e9,
                  "records: training examples held in memory, of which a random one comes next; 0: "
                  "in the files' order"),
    RGM_BOOL_FIELD(drop_remainder, "drop a last smaller batch"),
    RGM_CHOICE_FIELD(balance, balances,
                     "classes: training draws graphs or sampled nodes, with replacement, so that "
                     "each class of the first task's label is as likely as another"),
    RGM_SECTIONS_FIELD(processors, rgm_graph_processors,
                       "what becomes of graphs between data and model, in this order"),
    RGM_GROUP_FIELD(train_padding, padding_fields, "of training batches"),
    RGM_GROUP_FIELD(valid_padding, padding_fields, "of validation batches"),
    RGM_GROUP_FIELD(sampling, sampling_fields,
                    "train on subgraphs around the split's nodes, or around links"),
    RGM_GROUP_FIELD(edge_split, edge_split_fields,
                    "edge tasks on one graph: which edges each part is about"),
    RGM_GROUP_FIELD(citation, citation_fields, "citation: the graph"),
    RGM_GROUP_FIELD(events, events_fields, "events: the graph"),
    RGM_GROUP_FIELD(links, link_fields, "link_prediction: which edges are predicted, from what"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(rgmi_data_options *)options = (rgmi_data_options){
        .undirected = true,
        .sparse_below = 0.1,
        .cycle_length = 1,
        .batch_size = 1,
        .shuffle_size = 10000,
        .train_padding = RGM_PADDING_INIT,
        .valid_padding = RGM_PADDING_INIT,
        .sampling = {.strategy = RGM_SAMPLE_UNIFORM,
                     .resample = true,
                     .random_walk = RGM_RANDOM_WALK_OPTIONS_INIT,
                     .cluster = RGM_CLUSTER_OPTIONS_INIT,
                     .saint = RGM_SAINT_OPTIONS_INIT,
                     .shadow = RGM_SHADOW_OPTIONS_INIT},
        .citation = RGM_CITATION_OPTIONS_INIT,
        .events = RGM_EVENTS_OPTIONS_INIT,
        .links = RGM_LINK_OPTIONS_INIT,
    };
}

bool rgmi_is_sampled(const rgmi_sampling *sampling)
{
    return sampling->sizes.count > 0 || sampling->spec != NULL ||
           sampling->type != RGMI_SAMPLING_TREE;
}

rgm_status rgmi_sampling_print(rgm_text *out, const rgmi_data_options *d,
                               const rgm_sampling_spec *spec)
{
    rgmi_sampling sampling = d->sampling;
    rgmi_data_options unset;
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    if (!rgmi_is_sampled(&sampling))
        return RGM_OK;
    defaults(&unset);
    if (sampling.spec != NULL && spec != NULL) { /* it may be the name of a file */
        RGM_GO(rgm_sampling_spec_print(&text, spec));
        sampling.spec = text.data;
    }
    RGM_GO(rgm_text_printf(out, "  batch_size: %lld\n  sampling: ", (long long)d->batch_size));
    RGM_GO(rgm_options_print(out, &sampling, &unset.sampling, sampling_fields));
    RGM_GO(rgm_text_printf(out, "\n"));
done:
    rgm_text_clear(&text);
    return status;
}

/* Where the other sources go on for ever, data.train says how long an epoch is. */
static rgm_status check_mix(const rgmi_data_options *d)
{
    const rgm_train_sets sets = {true, &d->train_sets, &d->weights};

    if (d->type != RGMI_DATA_RECORDS)
        return RGM_OK;
    RGM_TRY(rgm_train_sets_check(&sets));
    if (d->weights.count > 0 && d->train_sets.count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.weights: data.train is the only source; "
                                        "data.train_sets names more");
    return RGM_OK;
}

static rgm_status check(const void *options)
{
    const rgmi_data_options *d = options;
    const rgmi_sampling *s = &d->sampling;
    const rgm_file_sets sets = {&d->valid_sets, &d->test_sets};

    if ((d->type == RGMI_DATA_OGB || d->type == RGMI_DATA_FOLDER || d->type == RGMI_DATA_PARTS) &&
        d->path == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.path is missing: the folder of the data set");
    if (d->type == RGMI_DATA_RECORDS && (d->schema == NULL || d->train.count == 0))
        return RGM_FAIL(RGM_ERR_CONFIG, "data.%s is missing: data.type is records",
                        d->schema == NULL ? "schema" : "train");
    if (d->type == RGMI_DATA_TRIPLES && d->train.count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.train is missing: files of triples to train on");
    if (d->type == RGMI_DATA_RECORDS)
        RGM_TRY(rgm_file_sets_check(&sets, d->valid.count > 0, d->test.count > 0));
    RGM_TRY(check_mix(d));
    RGM_TRY(rgmi_samplers_check(s));
    if (s->sizes.count > 0 && s->spec != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling has both sizes and spec; each says what is sampled");
    if (s->always_there.count > 0 && s->seed_time_feature_name == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling.always_there names edge sets without times, but without "
                        "seed_time_feature_name no times are compared");
    if (s->sizes.count > RGMI_MAX_HOPS ||
        (s->edge_sets.count > 0 && s->edge_sets.count != s->sizes.count))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling: %lld sizes and %lld edge_sets; one of each for every hop, "
                        "and at most %d hops",
                        (long long)s->sizes.count, (long long)s->edge_sets.count, RGMI_MAX_HOPS);
    if (d->edge_split.feature != NULL && d->edge_split.valid + d->edge_split.test > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.edge_split: feature says which edges are in a part, or valid and "
                        "test do");
    if (d->edge_split.valid + d->edge_split.test >= 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.edge_split: valid %g and test %g leave no edge to train on",
                        d->edge_split.valid, d->edge_split.test);
    return RGM_OK;
}

#define EDGE_KINDS "task.type == edge_classification|edge_binary_classification|edge_regression"

const rgm_section_type rgmi_graph_data_section = {
    .options_size = sizeof(rgmi_data_options),
    .defaults = defaults,
    .fields = data_fields,
    .check = check,
};

#define TREE    "data.sampling.sizes != [] or data.sampling.spec != null"
#define SAMPLED TREE " or data.sampling.type != tree"

/* Of models that name their rounds' channels. */
#define SOME_ROUND "model.hidden != [] or model.output > 0"
/* Batches of links in one graph are counted in links; of records they are read as ever. */
#define NO_LINKS                                                                                   \
    "task.type != link_prediction or data.type == records; links go by data.links.batch_size"

/* Other kinds of tasks have keys of these names too. */
#define OF_LINKS "task.type != link_prediction or "

const rgm_effect rgmi_graph_effects[] = {
    {"data.path", "data.type == ogb|folder|parts"},
    {"data.split", "data.type == ogb|folder"},
    {"data.node_set", "data.type == ogb|citation|triples"},
    {"data.edge_set", "data.type == ogb|citation|triples"},
    {"data.undirected", "data.type == ogb"},
    {"data.relabel", "data.type == ogb"},
    {"data.sparse_below", "data.type == ogb"},
    {"data.schema", "data.type == records"},
    {"data.train", "data.type == records|triples"},
    {"data.valid", "data.type == records|triples"},
    {"data.test", "data.type == records|triples"},
    {"data.train_sets", "data.type == records"},
    {"data.weights", "data.type == records"},
    {"data.valid_sets", "data.type == records"},
    {"data.test_sets", "data.type == records"},
    {"data.citation", "data.type == citation"},
    {"data.events", "data.type == events"},
    {"data.shuffle_filenames", "data.type == records or " TREE},
    {"data.shuffle_filenames", "data.type == records or data.sampling.store == records"},
    {"data.cycle_length", "data.type == records or " TREE},
    {"data.cycle_length", "data.type == records or data.sampling.store == records"},
    {"data.max_bad_records", "data.type == records or " TREE},
    {"data.max_bad_records", "data.type == records or data.sampling.store == records"},
    {"data.shuffle_size", "data.type == records or " TREE},
    {"data.shuffle_size", "data.type == records or data.sampling.store == records"},
    {"data.batch_size", "data.type == ogb|records|folder or " SAMPLED},
    {"data.batch_nodes", "data.type == ogb|records|folder or " SAMPLED},
    {"data.batch_edges", "data.type == ogb|records|folder or " SAMPLED},
    {"data.drop_remainder", "data.type == ogb|records|folder or " SAMPLED},
    {"data.batch_size", NO_LINKS},
    {"data.batch_nodes", NO_LINKS},
    {"data.batch_edges", NO_LINKS},
    {"data.drop_remainder", NO_LINKS},
    {"data.sampling", "data.type != records"},
    {"data.sampling.edge_sets", "data.sampling.sizes != []"},
    {"data.sampling.strategy", "data.sampling.sizes != []"},
    {"data.sampling.weight_feature_name", TREE},
    {"data.sampling.weight_feature_name",
     "data.sampling.strategy == weighted|top_k or data.sampling.spec != null"},
    {"data.sampling.time_feature_name", TREE},
    {"data.sampling.time_feature_name", "data.sampling.strategy == latest_k or data.sampling.spec "
                                        "!= null or data.sampling.seed_time_feature_name != null"},
    {"data.sampling.seed_time_feature_name", TREE},
    {"data.sampling.up_to_seed", "data.sampling.seed_time_feature_name != null"},
    {"data.sampling.store", TREE},
    {"data.sampling.once", TREE},
    {"data.sampling.resample", SAMPLED},
    {"data.sampling.resample", "data.sampling.store == memory or data.sampling.type != tree"},
    {"data.sampling.resample", "data.sampling.type != cluster"},
    {"data.sampling.random_walk", "data.sampling.type == random_walk"},
    {"data.sampling.cluster", "data.sampling.type == cluster"},
    {"data.sampling.saint", "data.sampling.type == saint"},
    {"data.sampling.saint.length", "data.sampling.saint.draw == walk"},
    {"data.sampling.saint.walks", "data.sampling.saint.draw == walk"},
    {"data.sampling.shadow", "data.sampling.type == shadow"},
    {"data.sampling.shadow.hops", "data.sampling.shadow.draw == hops"},
    {"data.sampling.shadow.neighbors", "data.sampling.shadow.draw == hops"},
    {"data.sampling.shadow.budget", "data.sampling.shadow.draw == ppr"},
    {"data.sampling.shadow.teleport", "data.sampling.shadow.draw == ppr"},
    {"data.sampling.shadow.epsilon", "data.sampling.shadow.draw == ppr"},
    {"data.links", "task.type == link_prediction"},
    {"data.links", "data.type != records"},
    {"data.links.valid", "data.type != triples"},
    {"data.links.test", "data.type != triples"},
    {"data.links.split", "data.type != triples"},
    {"data.links.relation", "data.type != triples"},
    {"data.links.target_share", "data.links.batch_size == 0"},
    {"data.links.draw", "data.links.negatives > 0"},
    {"data.links.repeated", "data.links.split != null"},
    {"data.train_padding.min_nodes_per_component", "data.train_padding.kind != none"},
    {"data.train_padding.totals", "data.train_padding.kind != none"},
    {"data.train_padding.sample_size", "data.train_padding.kind == fit"},
    {"data.train_padding.success_ratio", "data.train_padding.kind == fit"},
    {"data.valid_padding.min_nodes_per_component", "data.valid_padding.kind != none"},
    {"data.valid_padding.totals", "data.valid_padding.kind != none"},
    {"data.valid_padding.sample_size", "data.valid_padding.kind == fit"},
    {"data.valid_padding.success_ratio", "data.valid_padding.kind == fit"},
    {"task.corrupt.shuffle_within", "task.corrupt.shuffle_features != 0"},
    {"task.second.shuffle_within", "task.second.shuffle_features != 0"},
    {"data.edge_split", EDGE_KINDS},
    {"data.edge_split", "data.type != records"},
    {"task.relation", OF_LINKS "task.head == distmult|complex|transe|rotate|bilinear"},
    {"task.relations", OF_LINKS "task.head == distmult|complex|transe|rotate|bilinear"},
    {"task.hidden", OF_LINKS "task.head == mlp"},
    {"task.norm", OF_LINKS "task.head == transe"},
    {"task.gamma", OF_LINKS "task.head == transe|rotate"},
    {"task.margin", OF_LINKS "task.loss == margin"},
    {"task.temperature", OF_LINKS "task.loss == self_adversarial"},
    {"task.l2", "task.head == dense|hadamard|mlp|distmult|complex|transe|rotate|bilinear"},
    {"task.delta", "task.loss == huber"},
    {"task.quantile", "task.loss == quantile"},
    {"task.alpha", "task.loss == mean_squared_log_scaled_error"},
    {"task.epsilon", "task.loss == mean_squared_log_scaled_error"},
    {"model.input_units", "model.encode == true"},
    {"model.input_activation", "model.encode == true"},
    {"model.hidden_units", "model.aggregator == pool"},
    {"model.output_heads", "model.output > 0"},
    {"model.l2_layers", "model.l2 > 0"},
    {"model.epsilon", "model.train_epsilon == false"},
    {"model.attention_edge_sets", "model.attention_type != none"},
    {"model.batch_momentum", "model.norm == batch"},
    {"model.bases", "model.decomposition != none"},
    {"model.edge_feature", "model.local != none"},
    {"model.edge_units", "model.local != none"},
    {"model.edge_feature", "model.layers > 0"},
    {"model.edge_units", "model.layers > 0"},
    {"model.edge_feature", SOME_ROUND},
    {"model.edge_units", SOME_ROUND},
    {"model.context_feature", "model.type != rgcn or model.layers > 0 or model.output > 0"},
    {"model.context_feature", "model.type == rgcn or model.layers > 0"},
    {"model.context_feature", SOME_ROUND},
    {"model.residual", "model.layers > 0"},
    {"model.residual", SOME_ROUND},
    {"model.residual", "model.hidden != [] or model.type == gat_v2"}, /* it alone adds to outputs */
    {0}};

static const char gcn_is_a_mean[] = "the aggregator gcn is one mean over a node and its neighbours";

static const char of_no_number[] = "batches by nodes or edges are of no fixed number of examples";
static const char padded_to[] = "batches by nodes or edges are padded to these: kind: tight";
static const char own_batches[] =
    "mini-batches that are sampled in memory have a size of their own";

static const char one_node_lists[] =
    "each seed would be alone in a component, and the order is that of a component's nodes";

static const char weighs_one_end[] =
    "the edges' sampling_weight is for the mean at one end, which is where the model takes it";

static const char sampled_records[] = "what is kept as records is read one after another";

const rgm_rule rgmi_graph_rules[] = {
    {"data.drop_remainder == false", {"data.batch_nodes > 0"}, of_no_number},
    {"data.drop_remainder == false", {"data.batch_edges > 0"}, of_no_number},
    {"data.train_padding.kind != fit", {"data.batch_nodes > 0"}, padded_to},
    {"data.train_padding.kind != fit", {"data.batch_edges > 0"}, padded_to},
    {"data.valid_padding.kind != fit", {"data.batch_nodes > 0"}, padded_to},
    {"data.valid_padding.kind != fit", {"data.batch_edges > 0"}, padded_to},
    {"data.batch_nodes == 0",
     {"data.sampling.sizes != []", "data.sampling.store == memory"},
     own_batches},
    {"data.batch_edges == 0",
     {"data.sampling.sizes != []", "data.sampling.store == memory"},
     own_batches},
    {"data.type != records",
     {"trainer.folds > 0"},
     "folds are made of what is in memory; data.type folder reads records whole"},
    {"trainer.folds == 0",
     {"data.edge_split.valid > 0 or data.edge_split.test > 0 or data.edge_split.feature != null"},
     "edges are not split into folds; runtime.seeds repeats a run"},
    {"model.output == task.num_classes",
     {"task.head == none", "task.num_classes > 0"},
     "task.head is none, so the model's outputs are the logits"},
    {"model.l2_normalize == false", {"model.aggregator == gcn"}, gcn_is_a_mean},
    {"model.combine == sum", {"model.aggregator == gcn"}, gcn_is_a_mean},
    {"data.type != records",
     {"data.balance == classes"},
     "records are read one after another; data.train_sets and data.weights mix classes that stand "
     "in files of their own"},
    {"data.sampling.type == tree|random_walk|shadow",
     {"data.balance == classes"},
     "a cluster or a draw of saint has nodes of many classes"},
    {"data.sampling.store == memory",
     {"data.balance == classes", "data.sampling.sizes != []"},
     sampled_records},
    {"data.sampling.store == memory",
     {"data.balance == classes", "data.sampling.spec != null"},
     sampled_records},
    {"data.sampling.store == memory", {"task.type == node_ranking", TREE}, one_node_lists},
    {"data.sampling.type == tree|random_walk|cluster|saint",
     {"task.type == node_ranking"},
     one_node_lists},
    {"data.sampling.seed_time_feature_name == null", {"task.type == node_ranking"}, one_node_lists},
    {"data.batch_size > 1",
     {"task.type == node_ranking",
      "data.sampling.store == memory or data.sampling.type == random_walk"},
     "the seeds of a mini-batch are the list that is put in order"},
    {"model.receiver == data.sampling.saint.receiver",
     {"data.sampling.type == saint", "model.edge_weight == " RGM_SAMPLING_WEIGHT},
     weighs_one_end},
    {"data.type != parts",
     {"runtime.distribution == asynchronous"},
     "ranks that have parts of one graph wait for each other's rows in every step"},
    {"data.links.split excludes data.links.valid", {NULL}, NULL},
    {"data.links.split excludes data.links.test", {NULL}, NULL},
    {"data.train_padding.kind == none",
     {"model.norm == batch"},
     "a batch norm would count the nodes that padding adds; norm: layer does not"},
    {"data.train_padding.kind == none",
     {"model.type == pna"},
     "the mean log degree would count the nodes that padding adds"},
    {0}};
