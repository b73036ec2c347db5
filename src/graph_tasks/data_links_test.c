/*
 * Links in three parts: no target, nor its reverse, is in the messages that predict it; negatives
 * are what they are said to be; what is drawn depends on seed and step alone, and a run that was
 * stopped goes on to the same bits.
 */
#include <check.h>
#include <regimen/graph_edit.h>
#include <regimen/graph_tasks.h>

#include "link_split.h"

static const char SHOP[] = "node_sets { key: 'user' value { } } node_sets { key: 'item' value { } }"
                           "edge_sets { key: 'buys' value { source: 'user' target: 'item'"
                           "  features { key: 'kind' value { dtype: DT_INT64 } }"
                           "  features { key: 'part' value { dtype: DT_INT64 } } } }"
                           "edge_sets { key: 'likes' value { source: 'user' target: 'item' } }"
                           "edge_sets { key: 'bought_by' value { source: 'item' target: 'user' } }"
                           "edge_sets { key: 'knows' value { source: 'user' target: 'user' } }";

enum { USERS = 14, ITEMS = 11, BUYS = 60, LIKES = 30, KNOWS = 80, MOST = 200 };

typedef struct edges {
    int64_t source[MOST], target[MOST];
    int64_t count;
} edges;

/* Random ones; edge 3 of every set is there again as edge 7. */
static edges draw_edges(const char *name, int64_t count, int64_t sources, int64_t targets)
{
    rgm_rng rng = rgm_rng_stream(11, name, 0);
    edges e = {.count = count};

    for (int64_t i = 0; i < count; i++) {
        e.source[i] = (int64_t)rgm_rng_below(&rng, (uint64_t)(2 * i), (uint64_t)sources);
        e.target[i] = (int64_t)rgm_rng_below(&rng, (uint64_t)(2 * i + 1), (uint64_t)targets);
    }
    e.source[7] = e.source[3];
    e.target[7] = e.target[3];
    return e;
}

static edges turned(const edges *e)
{
    edges t = {.count = e->count};

    for (int64_t i = 0; i < e->count; i++) {
        t.source[i] = e->target[e->count - 1 - i];
        t.target[i] = e->source[e->count - 1 - i];
    }
    return t;
}

/* Each edge and, behind it, its reverse. */
static edges both_ways(const edges *e)
{
    edges b = {.count = 2 * e->count};

    for (int64_t i = 0; i < e->count; i++) {
        b.source[2 * i] = b.target[2 * i + 1] = e->source[i];
        b.target[2 * i] = b.source[2 * i + 1] = e->target[i];
    }
    return b;
}

static rgm_tensor *integers(const int64_t *numbers, int64_t count)
{
    rgm_tensor *t = NULL;

    CHECK_OK(rgm_tensor_create_from(&t, RGM_I64, 1, &count, numbers));
    return t;
}

static void add_edges(rgm_graph_builder *builder, const char *set, const edges *e)
{
    rgm_tensor *source = integers(e->source, e->count), *target = integers(e->target, e->count);

    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, set, &e->count));
    CHECK_OK(rgm_graph_builder_edges(builder, set, source, target));
    rgm_tensor_release(source);
    rgm_tensor_release(target);
}

static void add_numbers(rgm_graph_builder *builder, const char *feature, const int64_t *numbers)
{
    rgm_feature f = {.values = integers(numbers, BUYS)};

    CHECK_OK(rgm_graph_builder_feature(builder, RGM_EDGE_SET, "buys", feature, &f));
    rgm_tensor_release(f.values);
}

/* parts: of the feature "part"; NULL: by a link's ends. */
static rgm_graph *make_shop_of(const edges *knows, const int64_t *parts)
{
    edges buys = draw_edges("buys", BUYS, USERS, ITEMS), back = turned(&buys);
    edges likes = draw_edges("likes", LIKES, USERS, ITEMS);
    int64_t kinds[BUYS], part[BUYS];
    rgm_schema *schema = NULL;
    rgm_graph_builder *builder = NULL;
    rgm_graph *graph = NULL;

    for (int64_t i = 0; i < BUYS; i++) { /* a function of the ends: doubles agree */
        kinds[i] = (buys.source[i] + buys.target[i]) % 4;
        part[i] = parts != NULL ? parts[i] : (buys.source[i] * ITEMS + buys.target[i]) % 3;
    }
    CHECK_OK(rgm_schema_parse(&schema, SHOP, sizeof SHOP - 1, "shop"));
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "user", (int64_t[]){USERS}));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "item", (int64_t[]){ITEMS}));
    add_edges(builder, "buys", &buys);
    add_edges(builder, "bought_by", &back);
    add_edges(builder, "likes", &likes);
    add_edges(builder, "knows", knows);
    add_numbers(builder, "kind", kinds);
    add_numbers(builder, "part", part);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return graph;
}

static rgm_graph *make_shop(const int64_t *parts)
{
    edges half = draw_edges("knows", KNOWS / 2, USERS, USERS), knows = both_ways(&half);

    return make_shop_of(&knows, parts);
}

/* ---- settings ---------------------------------------------------------------------------------
 */

static const char *const buys_alone[] = {"buys"};
static const char *const two_sets[] = {"buys", "likes"};
static const char *const knows_alone[] = {"knows"};
static const char *const back_sets[] = {"bought_by"};
static const rgm_texts backs = {back_sets, 1};

static rgm_link_options shop_options(void)
{
    rgm_link_options o = RGM_LINK_OPTIONS_INIT;

    o.edge_sets = (rgm_texts){buys_alone, 1};
    o.reverse_sets = (rgm_lists){buys_alone, &backs, 1};
    o.valid = 0.2;
    o.test = 0.2;
    o.negatives = 3;
    o.eval_negatives = 2;
    o.seed = 5;
    return o;
}

static rgm_link_options friends_options(void)
{
    rgm_link_options o = shop_options();

    o.edge_sets = (rgm_texts){knows_alone, 1};
    o.reverse_sets = (rgm_lists){0};
    o.undirected = true;
    return o;
}

/* Every graph of a few epochs of a part. */
typedef void look_fn(const rgm_graph *graph, rgm_mode part, void *payload);

static void each_graph(rgm_link_split *split, rgm_mode part, int epochs, int threads, look_fn *look,
                       void *payload)
{
    rgm_provider *provider = rgm_link_provider(split, part);
    rgm_iterator_options options = {.seed = 9, .threads = threads};
    rgm_dataset *data = NULL;
    rgm_iterator *iterator = NULL;
    rgm_element *element = NULL;
    int graphs = 0;

    CHECK(provider != NULL);
    CHECK_OK(rgm_provider_dataset(&data, provider, true));
    CHECK_OK(rgm_dataset_repeat(&data, part == RGM_TRAIN ? epochs : 1));
    CHECK_OK(rgm_iterator_create(&iterator, data, &options));
    while (rgm_iterator_next(&element, iterator) == RGM_OK) {
        look(rgm_element_pointer(element, &rgm_graph_element), part, payload);
        rgm_element_release(element);
        graphs++;
    }
    CHECK(graphs >= (part == RGM_TRAIN ? epochs : 1));
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    rgm_provider_release(provider);
}

/* ---- what is in a graph -------------------------------------------------------------------------
 */

static const int64_t *pair_column(const rgm_graph *graph, const char *key)
{
    return rgm_tensor_i64(rgm_graph_source(graph, key));
}

static const int64_t *item_feature(const rgm_graph *graph, const char *name)
{
    return rgm_tensor_i64(rgm_graph_feature(graph, RGM_NODE_SET, "_readout", name)->values);
}

static int64_t count_edges(const rgm_graph *graph, const char *set, int64_t source, int64_t target)
{
    const int64_t *s = rgm_tensor_i64(rgm_graph_source(graph, set));
    const int64_t *t = rgm_tensor_i64(rgm_graph_target(graph, set));
    int64_t found = 0;

    for (int64_t e = 0; e < rgm_graph_total(graph, RGM_EDGE_SET, set); e++)
        found += s[e] == source && t[e] == target;
    return found;
}

typedef struct looked {
    const rgm_graph *whole;
    const rgm_link_options *options;
    int64_t links[3]; /* positive pairs seen by part */
} looked;

static const char *set_of(const looked *l, const rgm_graph *graph, int64_t i)
{
    int64_t place = l->options->edge_sets.count > 1 ? item_feature(graph, "relation")[i] : 0;

    return l->options->edge_sets.items[place];
}

static int64_t edges_of_link(const rgm_graph *graph, const looked *l, const char *set, int64_t s,
                             int64_t t)
{
    int64_t found = count_edges(graph, set, s, t);

    if (l->options->undirected)
        found += count_edges(graph, set, t, s);
    if (l->options->reverse_sets.count > 0 && strcmp(set, "buys") == 0)
        found += count_edges(graph, "bought_by", t, s);
    return found;
}

/* No positive pair has an edge in its graph, though it has some in the whole one. */
static void look_for_leaks(const rgm_graph *graph, rgm_mode part, void *payload)
{
    looked *l = payload;
    const int64_t *source = pair_column(graph, "_readout/source");
    const int64_t *target = pair_column(graph, "_readout/target");
    const int64_t *label = item_feature(graph, "label");

    for (int64_t i = 0; i < rgm_graph_total(graph, RGM_NODE_SET, "_readout"); i++) {
        const char *set = set_of(l, graph, i);

        if (label[i] != 1)
            continue;
        l->links[part]++;
        CHECK_INT(0, edges_of_link(graph, l, set, source[i], target[i]));
        CHECK(edges_of_link(l->whole, l, set, source[i], target[i]) >=
              1 + (l->options->undirected || strcmp(set, "buys") == 0));
    }
    if (l->options->edge_sets.count < 2)
        CHECK_INT(LIKES, rgm_graph_total(graph, RGM_EDGE_SET, "likes"));
    if (!l->options->undirected)
        CHECK_INT(KNOWS, rgm_graph_total(graph, RGM_EDGE_SET, "knows"));
}

static void no_target_is_in_its_messages(void **state)
{
    rgm_link_options settings[4] = {shop_options(), shop_options(), friends_options(),
                                    friends_options()};
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    settings[1].edge_sets = (rgm_texts){two_sets, 2};
    settings[1].batch_size = 7;
    settings[3].batch_size = 5;
    for (int k = 0; k < 4; k++) {
        looked l = {.whole = graph, .options = &settings[k]};
        rgm_link_split *split = NULL;

        CHECK_OK(rgm_link_split_create(&split, graph, &settings[k]));
        for (int part = RGM_TRAIN; part <= RGM_TEST; part++)
            each_graph(split, (rgm_mode)part, 6, 0, look_for_leaks, &l);
        CHECK(l.links[RGM_TRAIN] > 0);
        CHECK_INT(rgm_link_split_count(split, RGM_VALID), l.links[RGM_VALID]);
        CHECK_INT(rgm_link_split_count(split, RGM_TEST), l.links[RGM_TEST]);
        if (settings[k].batch_size > 0) /* every training link once an epoch */
            CHECK_INT(6 * rgm_link_split_count(split, RGM_TRAIN), l.links[RGM_TRAIN]);
        rgm_link_split_release(split);
    }
    rgm_graph_release(graph);
}

/* ---- subgraphs around links ---------------------------------------------------------------------
 */

typedef struct sampled {
    rgm_link_split *whole;  /* the same split, to tell parts by its graphs */
    const rgm_graph *of[3]; /* messages of each part, as the whole graph has them */
    rgm_link_options options;
    int64_t links[3], edges;
    double sum; /* of what was drawn */
} sampled;

static void look_at_sampled(const rgm_graph *graph, rgm_mode part, void *payload)
{
    sampled *l = payload;
    const int64_t *source = pair_column(graph, "_readout/source");
    const int64_t *target = pair_column(graph, "_readout/target");
    const int64_t *label = item_feature(graph, "label");
    const int64_t *s = rgm_tensor_i64(rgm_graph_source(graph, "knows"));
    const int64_t *t = rgm_tensor_i64(rgm_graph_target(graph, "knows"));
    const int64_t *id =
        rgm_tensor_i64(rgm_graph_feature(graph, RGM_NODE_SET, "user", "#id")->values);

    for (int64_t i = 0; i < rgm_graph_total(graph, RGM_NODE_SET, "_readout"); i++) {
        l->sum = l->sum * 0.99 + (double)(id[source[i]] * 31 + id[target[i]]);
        l->links[part] += label[i];
        if (label[i] == 1) /* neither the link nor its reverse nor a double */
            CHECK_INT(0, count_edges(graph, "knows", source[i], target[i]) +
                             count_edges(graph, "knows", target[i], source[i]));
    }
    for (int64_t e = 0; e < rgm_graph_total(graph, RGM_EDGE_SET, "knows"); e++) {
        CHECK(count_edges(l->of[part], "knows", id[s[e]], id[t[e]]) > 0);
        l->sum = l->sum * 0.99 + (double)(id[s[e]] * 7 + id[t[e]]);
        l->edges++;
    }
}

static rgm_link_split *split_of_friends(rgm_graph *graph, const rgm_link_options *options,
                                        const char *from, const char *edge_set)
{
    const int64_t sizes[2] = {4, 3};
    const char *const sets[2] = {edge_set, "knows"};
    rgm_link_sampling how = {.resample = true, .seed = 3};
    rgm_sampling_spec *spec = NULL;
    rgm_link_split *split = NULL;

    CHECK_OK(rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), from, sets, sizes, 2,
                                      RGM_SAMPLE_UNIFORM));
    how.spec = spec;
    CHECK_OK(rgm_link_split_create(&split, graph, options));
    if (rgm_link_split_sample(split, &how) != RGM_OK) {
        rgm_link_split_release(split);
        split = NULL;
    }
    rgm_sampling_spec_release(spec);
    return split;
}

static void keep_messages_of(const rgm_graph *graph, rgm_mode part, void *payload)
{
    const rgm_graph **of = payload;

    rgm_graph_release((rgm_graph *)of[part]);
    of[part] = rgm_graph_retain((rgm_graph *)graph);
}

/* Validation's messages are all training links; training's are these less the targets. */
static void subgraphs_around_links_do_not_leak(void **state)
{
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    for (int later = 0; later < 2; later++) {
        sampled l = {.options = friends_options()};
        rgm_link_split *split;
        double sums[2];

        l.options.valid_messages = later == 1;
        CHECK_OK(rgm_link_split_create(&l.whole, graph, &l.options));
        each_graph(l.whole, RGM_VALID, 1, 0, keep_messages_of, l.of);
        each_graph(l.whole, RGM_TEST, 1, 0, keep_messages_of, l.of);
        l.of[RGM_TRAIN] = rgm_graph_retain((rgm_graph *)l.of[RGM_VALID]);
        l.options.batch_size = 4;
        split = split_of_friends(graph, &l.options, "user", "knows");
        CHECK(split != NULL);
        for (int part = RGM_TRAIN; part <= RGM_TEST; part++) {
            for (int again = 0; again < 2; again++) {
                l.links[part] = l.edges = 0;
                l.sum = 0;
                each_graph(split, (rgm_mode)part, 3, 2 * again, look_at_sampled, &l);
                sums[again] = l.sum;
                CHECK(l.edges > 0);
                CHECK_INT((part == RGM_TRAIN ? 3 : 1) * rgm_link_split_count(split, (rgm_mode)part),
                          l.links[part]);
            }
            CHECK_CLOSE(sums[0], sums[1], 0, 0);
        }
        for (int part = 0; part < 3; part++)
            rgm_graph_release((rgm_graph *)l.of[part]);
        rgm_link_split_release(l.whole);
        rgm_link_split_release(split);
    }
    rgm_graph_release(graph);
}

static void what_cannot_be_sampled_is_told(void **state)
{
    rgm_link_options o = friends_options();
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    CHECK(split_of_friends(graph, &o, "user", "knows") == NULL);
    CHECK_MESSAGE("data.links.batch_size is needed with data.sampling");
    o.batch_size = 4;
    o.eval_negatives = 0;
    CHECK(split_of_friends(graph, &o, "user", "knows") == NULL);
    CHECK_MESSAGE("data.links.eval_negatives: 0 holds each link against every node");
    o.eval_negatives = 1;
    CHECK(split_of_friends(graph, &o, "item", "bought_by") == NULL);
    CHECK_MESSAGE("data.sampling.spec begins with node set 'item', but links are between");
    o = shop_options();
    o.batch_size = 4;
    CHECK(split_of_friends(graph, &o, "user", "knows") == NULL);
    CHECK_MESSAGE("data.sampling: links go from 'user' to 'item'");
    rgm_graph_release(graph);
}

/* The pairs of a part, in their order. */
typedef struct asked {
    int64_t ends[6 * MOST];
    int64_t count;
} asked;

static void note_pairs(const rgm_graph *graph, rgm_mode part, void *payload)
{
    asked *a = payload;
    const rgm_feature *id = rgm_graph_feature(graph, RGM_NODE_SET, "user", "#id");
    const int64_t *columns[2] = {pair_column(graph, "_readout/source"),
                                 pair_column(graph, "_readout/target")};

    (void)part;
    for (int64_t i = 0; i < rgm_graph_total(graph, RGM_NODE_SET, "_readout"); i++)
        for (int k = 0; k < 2; k++)
            a->ends[a->count++] =
                id != NULL ? rgm_tensor_at_int(id->values, columns[k][i]) : columns[k][i];
}

/* Figures of several sizes of batches, and of the whole graph, are of the same pairs. */
static void pairs_that_are_judged_do_not_depend_on_batches(void **state)
{
    static const int64_t sizes[4] = {0, 1, 3, MOST}; /* 0: the whole graph */
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    for (int part = RGM_VALID; part <= RGM_TEST; part++) {
        asked whole = {.count = 0};

        for (int k = 0; k < 4; k++) {
            rgm_link_options o = friends_options();
            rgm_link_split *split = NULL;
            asked a = {.count = 0};

            o.batch_size = sizes[k];
            if (k == 0)
                CHECK_OK(rgm_link_split_create(&split, graph, &o));
            else
                split = split_of_friends(graph, &o, "user", "knows");
            each_graph(split, (rgm_mode)part, 1, 0, note_pairs, k == 0 ? &whole : &a);
            CHECK_INT(2 * 3 * rgm_link_split_count(split, (rgm_mode)part), whole.count);
            for (int64_t i = 0; k > 0 && i < whole.count; i++)
                CHECK_INT(whole.ends[i], a.ends[i]);
            rgm_link_split_release(split);
        }
    }
    rgm_graph_release(graph);
}

/* The last user knows all others, so these links have no other target. They are the last of their
 * part: a batch of the first ones is no sign. */
static void a_link_without_negatives_is_told_before_any_step(void **state)
{
    rgm_link_options o = friends_options();
    edges knows = {.count = 2 * (USERS - 1)};
    rgm_link_split *split;
    rgm_graph *graph;

    (void)state;
    for (int64_t i = 0; i < USERS - 1; i++) {
        knows.source[i] = i;
        knows.target[i] = i + 1;
        knows.source[USERS - 1 + i] = USERS - 1;
        knows.target[USERS - 1 + i] = i;
    }
    o.undirected = false;
    o.corrupt = RGM_CORRUPT_TARGET;
    o.test = 0.5;
    o.batch_size = 1;
    graph = make_shop_of(&knows, NULL);
    split = split_of_friends(graph, &o, "user", "knows");
    CHECK(rgm_link_provider(split, RGM_TEST) == NULL);
    CHECK_MESSAGE("data.links.negatives: the link from node 13 to");
    rgm_link_split_release(split);
    rgm_graph_release(graph);
}

static rgm_status sample_some(rgm_graph *graph)
{
    const int64_t sizes[1] = {3};
    rgm_link_options o = friends_options();
    rgm_link_sampling how = {.seed = 3};
    rgm_status status = RGM_OK;
    rgm_sampling_spec *spec = NULL;
    rgm_link_split *split = NULL;
    rgm_provider *provider = NULL;

    o.batch_size = 4;
    RGM_GO(rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), "user", knows_alone, sizes, 1,
                                    RGM_SAMPLE_UNIFORM));
    how.spec = spec;
    RGM_GO(rgm_link_split_create(&split, graph, &o));
    RGM_GO(rgm_link_split_sample(split, &how));
    provider = rgm_link_provider(split, RGM_VALID);
    if (provider == NULL)
        status = RGM_ERR_NOMEM;
done:
    rgm_provider_release(provider);
    rgm_link_split_release(split);
    rgm_sampling_spec_release(spec);
    return status;
}

static void sampling_survives_every_failing_allocation(void **state)
{
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    CHECK_EVERY_OOM(sample_some(graph), (void)0);
    rgm_graph_release(graph);
}

/* ---- messages are the training links -----------------------------------------------------------
 */

static void count_messages(const rgm_graph *graph, rgm_mode part, void *payload)
{
    ((int64_t *)payload)[part] = rgm_graph_total(graph, RGM_EDGE_SET, "buys") +
                                 rgm_graph_total(graph, RGM_EDGE_SET, "bought_by");
}

/* Edges of every part, by the feature that says which. */
static void messages_are_those_of_the_parts_before(void **state)
{
    rgm_link_options o = shop_options();
    rgm_graph *graph = make_shop(NULL);
    edges buys = draw_edges("buys", BUYS, USERS, ITEMS);
    int64_t counts[3] = {0}, messages[3] = {0};
    rgm_link_split *split = NULL;

    (void)state;
    for (int64_t i = 0; i < BUYS; i++)
        counts[(buys.source[i] * ITEMS + buys.target[i]) % 3] += 2;
    o.split = "part";
    for (int later = 0; later < 2; later++) {
        o.valid_messages = later == 1;
        CHECK_OK(rgm_link_split_create(&split, graph, &o));
        each_graph(split, RGM_VALID, 1, 0, count_messages, messages);
        each_graph(split, RGM_TEST, 1, 0, count_messages, messages);
        CHECK_INT(counts[0], messages[RGM_VALID]);
        CHECK_INT(counts[0] + later * counts[1], messages[RGM_TEST]);
        rgm_link_split_release(split);
    }
    rgm_graph_release(graph);
}

/* ---- negatives ---------------------------------------------------------------------------------
 */

typedef struct negatives {
    const rgm_graph *whole;
    const rgm_graph *trained; /* with the training links alone */
    rgm_link_corruption corrupt;
    int64_t each[3];
    int64_t changed[2]; /* sources and targets that differ from the link's */
} negatives;

static void look_at_negatives(const rgm_graph *graph, rgm_mode part, void *payload)
{
    negatives *n = payload;
    const int64_t *source = pair_column(graph, "_readout/source");
    const int64_t *target = pair_column(graph, "_readout/target");
    const int64_t *positive = pair_column(graph, "_readout/positive");
    const int64_t *label = item_feature(graph, "label");

    for (int64_t i = 0; i < rgm_graph_total(graph, RGM_NODE_SET, "_readout"); i++) {
        int64_t link = i - i % (1 + n->each[part]);

        CHECK_INT(i == link, label[i]);
        CHECK_INT(link, positive[i]);
        if (i == link)
            continue;
        CHECK_INT(0, count_edges(part == RGM_TRAIN ? n->trained : n->whole, "buys", source[i],
                                 target[i]));
        n->changed[0] += source[i] != source[link];
        n->changed[1] += target[i] != target[link];
        if (n->corrupt != RGM_CORRUPT_PAIR)
            CHECK(source[i] == source[link] || target[i] == target[link]);
    }
}

static void keep_graph(const rgm_graph *graph, rgm_mode part, void *payload)
{
    (void)part;
    *(rgm_graph **)payload = rgm_graph_retain((rgm_graph *)graph);
}

static void negatives_are_no_links_that_the_part_knows(void **state)
{
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    for (int corrupt = RGM_CORRUPT_EITHER; corrupt <= RGM_CORRUPT_PAIR; corrupt++) {
        rgm_link_options o = shop_options();
        negatives n = {.whole = graph, .each = {3, 2, 2}};
        rgm_graph *trained = NULL;
        rgm_link_split *split = NULL;

        o.corrupt = n.corrupt = (rgm_link_corruption)corrupt;
        CHECK_OK(rgm_link_split_create(&split, graph, &o));
        each_graph(split, RGM_VALID, 1, 0, keep_graph, &trained);
        n.trained = trained;
        for (int part = RGM_TRAIN; part <= RGM_TEST; part++)
            each_graph(split, (rgm_mode)part, 4, 0, look_at_negatives, &n);
        CHECK_INT(corrupt == RGM_CORRUPT_TARGET, n.changed[0] == 0);
        CHECK_INT(corrupt == RGM_CORRUPT_SOURCE, n.changed[1] == 0);
        rgm_graph_release(trained);
        rgm_link_split_release(split);
    }
    rgm_graph_release(graph);
}

/* Training links by their ends, and how often nodes came up as targets of negatives. */
typedef struct chosen {
    rgm_link_draw draw;
    bool linked[USERS][ITEMS];
    double expected[ITEMS];
    int64_t seen[ITEMS], degree[ITEMS];
} chosen;

static void count_links(const rgm_graph *graph, rgm_mode part, void *payload)
{
    chosen *d = payload;

    (void)part;
    for (int u = 0; u < USERS; u++)
        for (int i = 0; i < ITEMS; i++) {
            d->linked[u][i] = count_edges(graph, "buys", u, i) > 0;
            d->degree[i] += d->linked[u][i];
        }
}

/* The nodes that may come up for a link of `user`, as likely as `weight` says. */
static void expect(chosen *d, int64_t user, const int64_t *weight, double times)
{
    double sum = 0;

    for (int i = 0; i < ITEMS; i++)
        sum += d->linked[user][i] ? 0 : (double)weight[i];
    CHECK(sum > 0);
    for (int i = 0; i < ITEMS; i++)
        d->expected[i] += d->linked[user][i] ? 0 : times * (double)weight[i] / sum;
}

static void look_at_draws(const rgm_graph *graph, rgm_mode part, void *payload)
{
    enum { GROUP = 4 };
    chosen *d = payload;
    const int64_t *source = pair_column(graph, "_readout/source");
    const int64_t *target = pair_column(graph, "_readout/target");
    int64_t items = rgm_graph_total(graph, RGM_NODE_SET, "_readout"), batch[ITEMS] = {0};

    (void)part;
    for (int64_t i = 0; i < items; i += GROUP)
        batch[target[i]]++;
    for (int64_t i = 0; i < items; i++) {
        if (i % GROUP == 0) {
            expect(d, source[i], d->draw == RGM_DRAW_BATCH ? batch : d->degree, GROUP - 1);
            continue;
        }
        d->seen[target[i]]++;
        CHECK(d->draw == RGM_DRAW_BATCH ? batch[target[i]] > 0 : d->degree[target[i]] > 0);
    }
}

static void nodes_of_negatives_are_as_likely_as_they_have_links(void **state)
{
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    for (int draw = RGM_DRAW_DEGREE; draw <= RGM_DRAW_BATCH; draw++) {
        rgm_link_options o = shop_options();
        chosen d = {.draw = (rgm_link_draw)draw};
        rgm_link_split *split = NULL;

        o.corrupt = RGM_CORRUPT_TARGET;
        o.draw = d.draw;
        o.target_share = 0.5;
        CHECK_OK(rgm_link_split_create(&split, graph, &o));
        each_graph(split, RGM_VALID, 1, 0, count_links, &d);
        each_graph(split, RGM_TRAIN, 400, 0, look_at_draws, &d);
        for (int i = 0; i < ITEMS; i++)
            CHECK(fabs((double)d.seen[i] - d.expected[i]) <= 4 * sqrt(d.expected[i]));
        rgm_link_split_release(split);
    }
    rgm_graph_release(graph);
}

static void look_at_candidates(const rgm_graph *graph, rgm_mode part, void *payload)
{
    const looked *l = payload;
    const int64_t *source = pair_column(graph, "_readout/source");
    const int64_t *target = pair_column(graph, "_readout/target");
    const int64_t *label = item_feature(graph, "label");
    int64_t items = rgm_graph_total(graph, RGM_NODE_SET, "_readout"), groups = 0;

    (void)part;
    for (int64_t i = 0, end; i < items; i = end, groups++) {
        int64_t expected = 0, s = source[i], t = target[i];

        CHECK_INT(1, label[i]);
        for (end = i + 1; end < items && label[end] == 0; end++)
            CHECK_INT(0, count_edges(l->whole, "buys", source[end], target[end]));
        if (groups % 2 == 0)
            for (int64_t k = 0; k < ITEMS; k++)
                expected += count_edges(l->whole, "buys", s, k) == 0;
        else
            for (int64_t k = 0; k < USERS; k++)
                expected += count_edges(l->whole, "buys", k, t) == 0;
        CHECK_INT(expected, end - i - 1);
    }
    CHECK_INT(2 * l->links[RGM_TEST], groups);
}

static void ranking_is_among_all_nodes_that_make_no_link(void **state)
{
    rgm_link_options o = shop_options();
    rgm_graph *graph = make_shop(NULL);
    looked l = {.whole = graph, .options = &o};
    rgm_link_split *split = NULL;

    (void)state;
    o.eval_negatives = 0;
    CHECK_OK(rgm_link_split_create(&split, graph, &o));
    l.links[RGM_TEST] = rgm_link_split_count(split, RGM_TEST);
    each_graph(split, RGM_TEST, 1, 0, look_at_candidates, &l);
    rgm_link_split_release(split);
    rgm_graph_release(graph);
}

/* The graph with no friend of its own. */
static rgm_graph *without_loops(rgm_graph *graph)
{
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(graph, "knows"));
    const int64_t *target = rgm_tensor_i64(rgm_graph_target(graph, "knows"));
    int64_t kept[KNOWS], count = 0;
    rgm_tensor *numbers;
    rgm_graph *out;

    for (int64_t i = 0; i < KNOWS; i++)
        if (source[i] != target[i])
            kept[count++] = i;
    CHECK(count > 0 && count < KNOWS);
    numbers = integers(kept, count);
    CHECK_OK(rgm_graph_with_edges(&out, graph, "knows", numbers));
    rgm_tensor_release(numbers);
    return out;
}

static void count_loops(const rgm_graph *graph, rgm_mode part, void *payload)
{
    const int64_t *source = pair_column(graph, "_readout/source");
    const int64_t *target = pair_column(graph, "_readout/target");
    const int64_t *label = item_feature(graph, "label");

    (void)part;
    for (int64_t i = 0; i < rgm_graph_total(graph, RGM_NODE_SET, "_readout"); i++)
        *(int64_t *)payload += label[i] == 0 && source[i] == target[i];
}

/* Nobody asks whether a node has a link to itself where no link is one. */
static void a_node_is_held_against_itself_only_where_some_are_linked_so(void **state)
{
    rgm_link_options o = friends_options();
    rgm_graph *graph = make_shop(NULL), *graphs[2] = {without_loops(graph), graph};

    (void)state;
    o.eval_negatives = 0;
    for (int k = 0; k < 2; k++) {
        rgm_link_split *split = NULL;
        int64_t loops = 0;

        CHECK_OK(rgm_link_split_create(&split, graphs[k], &o));
        each_graph(split, RGM_TEST, 1, 0, count_loops, &loops);
        CHECK_INT(k == 1, loops > 0);
        rgm_link_split_release(split);
        rgm_graph_release(graphs[k]);
    }
}

/* ---- draws -------------------------------------------------------------------------------------
 */

typedef struct drawn {
    uint64_t sums[64];
    int count;
} drawn;

static void note_draw(const rgm_graph *graph, rgm_mode part, void *payload)
{
    drawn *d = payload;
    int64_t items = rgm_graph_total(graph, RGM_NODE_SET, "_readout");
    uint64_t sum = 0;

    (void)part;
    for (int64_t i = 0; i < items; i++)
        sum = sum * 31 + (uint64_t)pair_column(graph, "_readout/source")[i] * 7 +
              (uint64_t)pair_column(graph, "_readout/target")[i];
    d->sums[d->count++] = sum;
}

static void steps_differ_and_threads_do_not(void **state)
{
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    for (int64_t batch = 0; batch <= 8; batch += 8) {
        rgm_link_options o = shop_options();
        drawn draws[2] = {{.count = 0}, {.count = 0}};

        o.batch_size = batch;
        for (int k = 0; k < 2; k++) {
            rgm_link_split *split = NULL;

            o.threads = 1 + 2 * k;
            CHECK_OK(rgm_link_split_create(&split, graph, &o));
            each_graph(split, RGM_TRAIN, 5, 2 * k, note_draw, &draws[k]);
            rgm_link_split_release(split);
        }
        CHECK_INT(draws[0].count, draws[1].count);
        for (int i = 0; i < draws[0].count; i++) {
            CHECK_INT(draws[0].sums[i], draws[1].sums[i]);
            for (int k = 0; k < i; k++)
                CHECK(draws[0].sums[i] != draws[0].sums[k]);
        }
    }
    rgm_graph_release(graph);
}

/* ---- runs --------------------------------------------------------------------------------------
 */

static rgm_graph_value *embeddings(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    static const char *const sets[] = {"user", "item"};
    rgm_graph_value *out = (rgm_graph_value *)graph;

    (void)payload;
    for (int k = 0; k < 2; k++) {
        rgm_value *nodes = rgm_node_numbers(graph, sets[k], k == 0 ? USERS : ITEMS);
        rgm_value *h =
            rgm_embedding_bag(rgm_scope_enter(scope, sets[k]), "nodes", nodes, 8, RGM_SUM);

        if (k == 1)
            h = rgm_add(h, rgm_pool_rows(rgm_adjacency(graph, "buys", RGM_TARGET),
                                         rgm_broadcast_columns(
                                             rgm_adjacency(graph, "buys", RGM_TARGET),
                                             rgm_node_feature(out, "user", RGM_HIDDEN_STATE)),
                                         RGM_MEAN));
        out = rgm_with_state(out, sets[k], h);
    }
    return out;
}

typedef struct stopping {
    rgm_open_run *run;
    int64_t at;
} stopping;

static bool should_stop(void *payload)
{
    const stopping *s = payload;

    return s->at > 0 && s->run != NULL && rgm_run_steps(s->run) >= s->at;
}

static rgm_status count_states(const rgm_graph_states *states, void *payload)
{
    *(int64_t *)payload += rgm_tensor_dim(states->states, 0);
    return RGM_OK;
}

/* A run in a folder, stopped at a step (0: not): its final test AUC. */
static double run_links(const char *folder, int64_t batch_size, int64_t stop_at,
                        rgm_status expected)
{
    rgm_link_prediction_options task = RGM_LINK_PREDICTION_OPTIONS_INIT;
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_link_options o = shop_options();
    rgm_run_options how = rgm_run_options_default();
    rgm_graph *graph = make_shop(NULL);
    rgm_link_split *split = NULL;
    stopping stop = {.at = stop_at};
    int64_t users = 0;
    rgm_task learning;
    double area;

    o.relation = "kind";
    o.reverse_sets = (rgm_lists){0};
    o.batch_size = batch_size;
    task.head = RGM_LINK_COMPLEX;
    task.loss = RGM_LINK_SOFTMAX;
    CHECK_OK(rgm_link_split_create(&split, graph, &o));
    what.train_data = rgm_link_provider(split, RGM_TRAIN);
    what.valid_data = rgm_link_provider(split, RGM_VALID);
    what.test_data = rgm_link_provider(split, RGM_TEST);
    what.model_fn = embeddings;
    what.task = rgm_graph_task_create(&rgm_link_prediction, NULL, &task);
    how.optimizer = rgm_adam(0.05);
    how.trainer.epochs = 6;
    how.trainer.steps_per_loop = 1;
    how.trainer.checkpoint.every_steps = 2;
    how.runtime.threads = 2;
    how.run_dir = folder;
    how.hooks.payload = &stop;
    how.hooks.should_stop = should_stop;
    CHECK_OK(rgm_graph_learning_create(&learning, &what, &how.runtime));
    CHECK_OK(rgm_run_open(&stop.run, &learning, &how));
    CHECK_STATUS(expected, rgm_run_complete(stop.run));
    CHECK_OK(rgm_graph_run_embeddings(stop.run, "user", NULL, count_states, &users));
    CHECK_INT(USERS, users);
    area = rgm_run_metric(stop.run, "train", "loss") + rgm_run_metric(stop.run, "test", "auc");
    rgm_run_close(stop.run);
    rgm_task_release(&learning);
    rgm_graph_task_release(what.task);
    rgm_provider_release(what.train_data);
    rgm_provider_release(what.valid_data);
    rgm_provider_release(what.test_data);
    rgm_link_split_release(split);
    rgm_graph_release(graph);
    return area;
}

static void a_run_that_was_stopped_ends_with_the_same_bits(void **state)
{
    char folder[2][300];

    (void)state;
    for (int64_t batch = 0; batch <= 9; batch += 9) {
        double whole, parts;

        for (int k = 0; k < 2; k++)
            snprintf(folder[k], sizeof folder[k], "%s/run-%d-%d", check_folder(), (int)batch, k);
        whole = run_links(folder[0], batch, 0, RGM_OK);
        run_links(folder[1], batch, 3, RGM_STOPPED);
        parts = run_links(folder[1], batch, 0, RGM_OK);
        CHECK(isfinite(whole));
        CHECK_CLOSE(whole, parts, 0, 0);
    }
}

/* States that no relu lets pass: a dot product of them is 0 for every pair. */
static rgm_graph_value *dead(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    rgm_graph_value *out = embeddings(scope, graph, payload);
    static const char *const sets[] = {"user", "item"};

    for (int k = 0; k < 2; k++) {
        rgm_value *h = rgm_node_feature(out, sets[k], RGM_HIDDEN_STATE);

        out = rgm_with_state(out, sets[k], rgm_relu(rgm_shift(h, -100)));
    }
    return out;
}

static void scores_that_are_all_zero_are_told(void **state)
{
    rgm_model_fn *const models[] = {embeddings, dead};

    (void)state;
    for (int k = 0; k < 2; k++) {
        rgm_link_prediction_options task = RGM_LINK_PREDICTION_OPTIONS_INIT;
        rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
        rgm_link_options o = shop_options();
        rgm_run_options how = rgm_run_options_default();
        rgm_graph *graph = make_shop(NULL);
        rgm_link_split *split = NULL;
        rgm_open_run *run;
        char folder[300], path[320];
        int64_t size;
        char *log;

        snprintf(folder, sizeof folder, "%s/zeros-%d", check_folder(), k);
        snprintf(path, sizeof path, "%s/log.txt", folder);
        CHECK_OK(rgm_link_split_create(&split, graph, &o));
        what.train_data = rgm_link_provider(split, RGM_TRAIN);
        what.valid_data = rgm_link_provider(split, RGM_VALID);
        what.model_fn = models[k];
        what.task = rgm_graph_task_create(&rgm_link_prediction, NULL, &task);
        how.optimizer = rgm_adam(0.05);
        how.trainer.epochs = 2;
        how.runtime.threads = 1;
        how.run_dir = folder;
        CHECK_OK(rgm_run(&run, &what, &how));
        rgm_run_close(run);
        CHECK_OK(rgm_file_load(&log, &size, path, 1 << 20));
        CHECK((strstr(log, "every output of link_prediction is 0 for a batch of valid data") !=
               NULL) == (k == 1));
        rgm_free(log);
        rgm_graph_task_release(what.task);
        rgm_provider_release(what.train_data);
        rgm_provider_release(what.valid_data);
        rgm_link_split_release(split);
        rgm_graph_release(graph);
    }
}

/* ---- what is refused, what is told
 * ---------------------------------------------------------------
 */

static void refuse(const rgm_graph *graph, const rgm_link_options *o, rgm_status status,
                   const char *part)
{
    rgm_link_split *split = NULL;

    CHECK_STATUS(status, rgm_link_split_create(&split, (rgm_graph *)graph, o));
    CHECK(split == NULL);
    CHECK_MESSAGE(part);
}

static void settings_that_cannot_be_are_refused(void **state)
{
    static const char *const mixed[] = {"buys", "knows"}, *const gone[] = {"sells"};
    rgm_link_options o = shop_options();
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    o.edge_sets = (rgm_texts){mixed, 2};
    refuse(graph, &o, RGM_ERR_CONFIG, "links are between the same two node sets");
    o.edge_sets = (rgm_texts){gone, 1};
    refuse(graph, &o, RGM_ERR_CONFIG, "data.links.edge_sets: the data have no edge set 'sells'");
    o.edge_sets = (rgm_texts){0};
    refuse(graph, &o, RGM_ERR_CONFIG, "data.links.edge_sets is needed: there are");
    o = shop_options();
    o.reverse_sets.names = knows_alone;
    refuse(graph, &o, RGM_ERR_CONFIG, "reverse_sets: 'knows' is none of data.links.edge_sets");
    o = shop_options();
    o.undirected = true;
    refuse(graph, &o, RGM_ERR_CONFIG, "data.links.undirected: 'buys' is from 'user' to 'item'");
    o = shop_options();
    o.valid = 0.5;
    o.test = 0.5;
    refuse(graph, &o, RGM_ERR_CONFIG, "leave nothing to train on");
    o = shop_options();
    o.target_share = 1;
    refuse(graph, &o, RGM_ERR_CONFIG, "data.links.target_share is 1");
    o = shop_options();
    o.relation = "colour";
    refuse(graph, &o, RGM_ERR_CONFIG, "edge set 'buys' has no feature 'colour'");
    rgm_graph_release(graph);
}

static void one_link_in_two_parts_is_refused(void **state)
{
    rgm_link_options o = shop_options();
    int64_t parts[BUYS] = {0};
    rgm_graph *graph;

    (void)state;
    o.split = "part";
    parts[7] = 2; /* the same link as 3 */
    graph = make_shop(parts);
    refuse(graph, &o, RGM_ERR_DATA, "but the same link, from node");
    rgm_graph_release(graph);
    parts[7] = 0;
    parts[9] = 3;
    graph = make_shop(parts);
    refuse(graph, &o, RGM_ERR_DATA, "'part' of edge 9 is 3, but 0 is train");
    rgm_graph_release(graph);
}

typedef struct told {
    char text[1024];
    int count;
} told;

static void count_buys(const rgm_graph *graph, rgm_mode part, void *payload)
{
    ((int64_t *)payload)[part] = rgm_graph_total(graph, RGM_EDGE_SET, "buys");
}

/* Whether edge e repeats a link that another edge has in an earlier part. */
static bool is_repeat(const edges *buys, const int64_t *parts, int64_t e)
{
    for (int64_t i = 0; i < BUYS; i++)
        if (buys->source[i] == buys->source[e] && buys->target[i] == buys->target[e] &&
            parts[i] < parts[e])
            return true;
    return false;
}

/* Edges of later parts are left out: of a link of the training part no later one is a message. */
static void a_repeated_link_is_in_its_first_part(void **state)
{
    rgm_link_options o = shop_options();
    edges buys = draw_edges("buys", BUYS, USERS, ITEMS);
    int64_t parts[BUYS], kept[3] = {0}, messages[3] = {0}, repeats = 0;
    rgm_link_split *split;
    rgm_graph *graph;

    (void)state;
    for (int64_t i = 0; i < BUYS; i++)
        parts[i] = (i + 2) % 3; /* 3 and 7, the same link, in test and train */
    for (int64_t i = 0; i < BUYS; i++) {
        repeats += is_repeat(&buys, parts, i);
        kept[parts[i]] += !is_repeat(&buys, parts, i);
    }
    CHECK(repeats > 2);
    graph = make_shop(parts);
    o.split = "part";
    o.reverse_sets.count = 0;
    o.valid_messages = true;
    refuse(graph, &o, RGM_ERR_DATA, "but the same link, from node");
    o.repeated = RGM_REPEATS_FIRST;
    CHECK_OK(rgm_link_split_create(&split, graph, &o));
    each_graph(split, RGM_VALID, 1, 0, count_buys, messages);
    each_graph(split, RGM_TEST, 1, 0, count_buys, messages);
    CHECK_INT(kept[0], messages[RGM_VALID]);
    CHECK_INT(kept[0] + kept[1], messages[RGM_TEST]);
    rgm_link_split_release(split);
    o.reverse_sets.count = 1;
    refuse(graph, &o, RGM_ERR_CONFIG, "edge set 'bought_by' has no feature 'part'");
    rgm_graph_release(graph);
}

enum { PAIRS = 30 };
static const char COUPLES[] =
    "node_sets { key: 'a' value { features { key: 'kind' value { dtype: DT_INT64 } } } }"
    "edge_sets { key: 'is_with' value { source: 'a' target: 'a'"
    "  features { key: 'part' value { dtype: DT_INT64 } } } }";

static void give_numbers(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                         const char *name, const int64_t *numbers, int64_t count)
{
    rgm_feature f = {.values = integers(numbers, count)};

    CHECK_OK(rgm_graph_builder_feature(builder, piece, set, name, &f));
    rgm_tensor_release(f.values);
}

/* Edge i joins nodes 2 i and 2 i + 1, of kinds that no other node has; every third one validates.
 */
static rgm_graph *make_couples(void)
{
    edges e = {.count = PAIRS};
    int64_t kinds[2 * PAIRS], parts[PAIRS];
    rgm_schema *schema;
    rgm_graph_builder *builder;
    rgm_graph *graph;

    for (int64_t i = 0; i < PAIRS; i++) {
        e.source[i] = 2 * i;
        e.target[i] = 2 * i + 1;
        kinds[2 * i] = 100 + 2 * i;
        kinds[2 * i + 1] = 101 + 2 * i;
        parts[i] = i % 3 == 0;
    }
    CHECK_OK(rgm_schema_parse(&schema, COUPLES, sizeof COUPLES - 1, "couples"));
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "a", (int64_t[]){2 * PAIRS}));
    add_edges(builder, "is_with", &e);
    give_numbers(builder, RGM_NODE_SET, "a", "kind", kinds, 2 * PAIRS);
    give_numbers(builder, RGM_EDGE_SET, "is_with", "part", parts, PAIRS);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return graph;
}

/* At the ends of all training links, whatever is drawn for a step, and of no others. */
static void encoders_learn_of_the_training_links(void **state)
{
    static const char *const kind[] = {"kind"};
    const rgm_input_options input = {.vocabulary = {kind, (double[]){1}, 1}};
    rgm_link_options o = RGM_LINK_OPTIONS_INIT;
    rgm_learned_features *learned;
    rgm_graph *graph = make_couples();
    rgm_link_split *split;
    rgm_provider *provider;
    char key[16];

    (void)state;
    o.split = "part";
    o.target_share = 0.1;
    CHECK_OK(rgm_link_split_create(&split, graph, &o));
    provider = rgm_link_provider(split, RGM_TRAIN);
    CHECK_OK(
        rgm_learned_features_create(&learned, &input, rgm_provider_schema(provider), provider));
    for (int64_t node = 0; node < 2 * PAIRS; node++) {
        snprintf(key, sizeof key, "\"%d\": ", 100 + (int)node);
        CHECK((strstr(rgm_learned_features_text(learned)->data, key) != NULL) ==
              (node / 2 % 3 != 0));
    }
    rgm_learned_features_release(learned);
    rgm_provider_release(provider);
    rgm_link_split_release(split);
    rgm_graph_release(graph);
}

static void note_warning(int level, const char *text, void *payload)
{
    told *t = payload;

    if (level != RGM_LOG_WARNING)
        return;
    t->count++;
    snprintf(t->text, sizeof t->text, "%s", text);
}

static void a_reverse_that_nobody_named_is_told(void **state)
{
    rgm_link_options settings[] = {shop_options(),    shop_options(), friends_options(),
                                   friends_options(), shop_options(), shop_options()};
    const char *const texts[] = {"", "name it in data.links.reverse_sets",
                                 "", "data.links.undirected takes both for one",
                                 "", "edges of 'bought_by' turn the "};
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    settings[1].reverse_sets = (rgm_lists){0};
    settings[3].undirected = false;
    settings[4].edge_sets = settings[5].edge_sets = (rgm_texts){two_sets, 2};
    settings[5].reverse_sets = (rgm_lists){0}; /* of one of two sets, most of whose links it has */
    for (int k = 0; k < 6; k++) {
        rgm_logger *log = NULL, *before;
        rgm_link_split *split = NULL;
        told t = {.count = 0};

        CHECK_OK(rgm_logger_create(&log));
        CHECK_OK(rgm_logger_add_sink(log, note_warning, &t));
        before = rgm_logger_enter(log);
        CHECK_OK(rgm_link_split_create(&split, graph, &settings[k]));
        rgm_logger_enter(before);
        CHECK_INT(k % 2, t.count);
        CHECK(strstr(t.text, texts[k]) != NULL);
        rgm_link_split_release(split);
        rgm_logger_release(log);
    }
    rgm_graph_release(graph);
}

/* The shop whose bought_by numbers its relations as buys does, more by `above`. */
static rgm_graph *numbered_shop(int64_t above)
{
    rgm_graph *shop = make_shop(NULL), *graph = NULL;
    const rgm_tensor *source = rgm_graph_source(shop, "bought_by");
    const rgm_tensor *target = rgm_graph_target(shop, "bought_by");
    int64_t kinds[BUYS];
    rgm_feature f;

    for (int64_t i = 0; i < BUYS; i++)
        kinds[i] = (rgm_tensor_i64(source)[i] + rgm_tensor_i64(target)[i]) % 4 + above;
    f = (rgm_feature){.values = integers(kinds, BUYS)};
    CHECK_OK(rgm_graph_with_feature(&graph, shop, RGM_EDGE_SET, "bought_by", "kind", &f));
    rgm_tensor_release(f.values);
    rgm_graph_release(shop);
    return graph;
}

static void a_set_that_turns_other_links_round_is_refused(void **state)
{
    static const char *const likes_alone[] = {"likes"};
    rgm_link_options o = shop_options();
    rgm_graph *graph = make_shop(NULL);
    rgm_link_split *split;

    (void)state;
    o.edge_sets = (rgm_texts){two_sets, 2};
    o.reverse_sets = (rgm_lists){likes_alone, &backs, 1};
    refuse(graph, &o, RGM_ERR_CONFIG,
           "of 60 edges of 'bought_by' join nodes that are linked, but turn no link of 'likes'");
    refuse(graph, &o, RGM_ERR_CONFIG, "name each set under the one whose edges it turns round");
    rgm_graph_release(graph);

    o = shop_options();
    o.relation = "kind";
    graph = numbered_shop(4); /* reverses of relation r are r + 4 */
    refuse(graph, &o, RGM_ERR_CONFIG, "reverse_sets: 60 of 60 edges of 'bought_by'");
    refuse(graph, &o, RGM_ERR_CONFIG, "an edge and its reverse need the same number of a relation");
    rgm_graph_release(graph);

    graph = numbered_shop(0);
    CHECK_OK(rgm_link_split_create(&split, graph, &o));
    rgm_link_split_release(split);
    rgm_graph_release(graph);
}

/* A reverse set may have edges of its own beside those that it turns round. */
static void edges_of_reverse_sets_without_a_link_are_told(void **state)
{
    rgm_rng rng = rgm_rng_stream(3, "fewer", 0);
    rgm_link_options o = shop_options();
    rgm_graph *shop = make_shop(NULL), *graph = NULL;
    rgm_provider *providers[3] = {NULL};
    rgm_link_split *split;
    rgm_text text = {0};
    const int64_t *source, *target;
    int64_t found = 0;
    char told_edges[128];

    (void)state;
    CHECK_OK(rgm_graph_drop_edges(&graph, shop, "buys", 0.5, &rng));
    source = rgm_tensor_i64(rgm_graph_source(graph, "bought_by"));
    target = rgm_tensor_i64(rgm_graph_target(graph, "bought_by"));
    for (int64_t e = 0; e < BUYS; e++)
        found += count_edges(graph, "buys", target[e], source[e]) > 0;
    CHECK(found > 0 && found < BUYS);
    snprintf(told_edges, sizeof told_edges,
             "which are %d edges of buys, bought_by; %d edges more of reverse sets are of no link",
             (int)(found + rgm_graph_total(graph, RGM_EDGE_SET, "buys")), (int)(BUYS - found));
    CHECK_OK(rgm_link_split_create(&split, graph, &o));
    providers[RGM_TRAIN] = rgm_link_provider(split, RGM_TRAIN);
    CHECK_OK(rgmi_links_describe(&text, providers));
    CHECK(strstr(text.data, told_edges) != NULL);
    rgm_text_clear(&text);
    rgm_provider_release(providers[RGM_TRAIN]);
    rgm_link_split_release(split);
    rgm_graph_release(graph);
    rgm_graph_release(shop);
}

static rgm_status open_all(rgm_graph *graph, const rgm_link_options *o)
{
    rgm_link_split *split = NULL;
    rgm_status status = rgm_link_split_create(&split, graph, o);

    for (int part = RGM_TRAIN; status == RGM_OK && part <= RGM_TEST; part++) {
        rgm_provider *provider = rgm_link_provider(split, (rgm_mode)part);

        status = provider != NULL ? RGM_OK : RGM_ERR_NOMEM;
        rgm_provider_release(provider);
    }
    rgm_link_split_release(split);
    return status;
}

static void without_memory_nothing_is_left(void **state)
{
    rgm_link_options o = shop_options();
    rgm_graph *graph = make_shop(NULL);

    (void)state;
    o.eval_negatives = 0;
    CHECK_EVERY_OOM(open_all(graph, &o), );
    rgm_graph_release(graph);
}

TESTS(cmocka_unit_test(no_target_is_in_its_messages),
      cmocka_unit_test(subgraphs_around_links_do_not_leak),
      cmocka_unit_test(what_cannot_be_sampled_is_told),
      cmocka_unit_test(pairs_that_are_judged_do_not_depend_on_batches),
      cmocka_unit_test(a_link_without_negatives_is_told_before_any_step),
      cmocka_unit_test(sampling_survives_every_failing_allocation),
      cmocka_unit_test(messages_are_those_of_the_parts_before),
      cmocka_unit_test(negatives_are_no_links_that_the_part_knows),
      cmocka_unit_test(nodes_of_negatives_are_as_likely_as_they_have_links),
      cmocka_unit_test(ranking_is_among_all_nodes_that_make_no_link),
      cmocka_unit_test(a_node_is_held_against_itself_only_where_some_are_linked_so),
      cmocka_unit_test(steps_differ_and_threads_do_not),
      cmocka_unit_test(a_run_that_was_stopped_ends_with_the_same_bits),
      cmocka_unit_test(settings_that_cannot_be_are_refused),
      cmocka_unit_test(scores_that_are_all_zero_are_told),
      cmocka_unit_test(one_link_in_two_parts_is_refused),
      cmocka_unit_test(a_repeated_link_is_in_its_first_part),
      cmocka_unit_test(encoders_learn_of_the_training_links),
      cmocka_unit_test(a_reverse_that_nobody_named_is_told),
      cmocka_unit_test(a_set_that_turns_other_links_round_is_refused),
      cmocka_unit_test(edges_of_reverse_sets_without_a_link_are_told),
      cmocka_unit_test(without_memory_nothing_is_left))
