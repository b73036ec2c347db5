/*
 * Providers of links: graphs without the edges that are to be predicted, or subgraphs sampled from
 * one around the pairs, asked about links and negatives. What is drawn depends on the step's own
 * stream alone, so neither threads nor a killed run change it.
 */
#include <inttypes.h>

#include "learning.h"
#include "link_split.h"

/* Draws before nodes are looked through one by one. */
#define TRIES 1000

/* ---- pairs -------------------------------------------------------------------------------------
 */

typedef struct pair {
    int64_t source, target, relation, label, positive;
} pair;

/* What one graph is asked about, while it is drawn. */
typedef struct drawing {
    const rgm_link_split *split;
    rgm_mode part;
    rgm_rng rng;
    uint64_t at;          /* draws so far */
    const int64_t *links; /* [link_count] those of the graph */
    int64_t link_count;
    pair *pairs;
    int64_t count, capacity;
} drawing;

static int64_t draw(drawing *d, int64_t below)
{
    return (int64_t)rgm_rng_below(&d->rng, d->at++, (uint64_t)below);
}

/* Training knows its own links alone; what is judged is held against pairs that are none. */
static bool is_known(const drawing *d, const pair *p)
{
    int64_t link = rgmi_link_find(d->split, p->source, p->target, p->relation);

    return link >= 0 && (d->part != RGM_TRAIN || d->split->part[link] == RGM_TRAIN);
}

static bool is_loop(const drawing *d, const pair *p)
{
    return p->source == p->target && strcmp(d->split->source_set, d->split->target_set) == 0;
}

static rgm_status add_pair(drawing *d, const pair *p)
{
    RGM_TRY(RGM_RESERVE(d->pairs, d->capacity, d->count + 1));
    d->pairs[d->count++] = *p;
    return RGM_OK;
}

/* Whether the split's negatives replace an end. */
static bool corrupts(const rgm_link_split *split, rgm_tag end)
{
    return split->corrupt != (end == RGM_SOURCE ? RGM_CORRUPT_TARGET : RGM_CORRUPT_SOURCE);
}

static int64_t *end_of(pair *p, rgm_tag end)
{
    return end == RGM_SOURCE ? &p->source : &p->target;
}

static int64_t nodes_at(const rgm_link_split *split, rgm_tag end)
{
    return end == RGM_SOURCE ? split->source_total : split->target_total;
}

/* The first node from a random one on that makes no link, in place of either end. */
static rgm_status look_through(pair *p, drawing *d)
{
    const pair link = *p;

    for (int end = RGM_SOURCE; end <= RGM_TARGET; end++) {
        int64_t total = nodes_at(d->split, (rgm_tag)end), from = draw(d, total);

        for (int64_t i = 0; i < total && corrupts(d->split, (rgm_tag)end); i++) {
            *p = link;
            *end_of(p, (rgm_tag)end) = (from + i) % total;
            if (!is_loop(d, p) && !is_known(d, p))
                return RGM_OK;
        }
    }
    return RGM_FAIL(RGM_ERR_DATA,
                    "data.links.negatives: the link from node %" PRId64 " to %" PRId64
                    " has none: each node in place of an end makes a link too",
                    link.source, link.target);
}

/* A node in place of an end. Of undirected links either end is one. */
static int64_t draw_end(drawing *d, rgm_tag end)
{
    const rgm_link_split *s = d->split;
    const rgm_tensor *all = s->members[RGM_TRAIN];
    int64_t link;

    if (d->part != RGM_TRAIN || s->draw == RGM_DRAW_UNIFORM)
        return draw(d, nodes_at(s, end));
    link = s->draw == RGM_DRAW_BATCH ? d->links[draw(d, d->link_count)]
                                     : rgm_tensor_at_int(all, draw(d, rgm_tensor_count(all)));
    if (s->undirected && draw(d, 2) == 0)
        end = end == RGM_SOURCE ? RGM_TARGET : RGM_SOURCE;
    return end == RGM_SOURCE ? s->source[link] : s->target[link];
}

/* A pair that is no link, of the link *p. */
static rgm_status draw_negative(pair *p, drawing *d)
{
    const rgm_link_split *s = d->split;
    const pair link = *p;

    for (int i = 0; i < TRIES; i++) {
        bool source =
            s->corrupt == RGM_CORRUPT_EITHER ? draw(d, 2) == 0 : s->corrupt != RGM_CORRUPT_TARGET;

        *p = link;
        if (source)
            p->source = draw_end(d, RGM_SOURCE);
        if (!source || s->corrupt == RGM_CORRUPT_PAIR)
            p->target = draw_end(d, RGM_TARGET);
        if (!is_loop(d, p) && !is_known(d, p))
            return RGM_OK;
    }
    *p = link;
    return look_through(p, d);
}

static rgm_status add_negatives(drawing *d, const pair *link, int64_t negatives)
{
    for (int64_t i = 0; i < negatives; i++) {
        pair p = *link;

        RGM_TRY(draw_negative(&p, d));
        p.label = 0;
        RGM_TRY(add_pair(d, &p));
    }
    return RGM_OK;
}

/* The link held against every other node in place of an end; a node against itself only where data
 * have such links, for else nobody asks. */
static rgm_status add_candidates(drawing *d, const pair *link, rgm_tag end)
{
    pair p = *link;

    p.positive = d->count;
    RGM_TRY(add_pair(d, &p));
    p.label = 0;
    for (int64_t node = 0; node < nodes_at(d->split, end); node++) {
        *end_of(&p, end) = node;
        if (!is_known(d, &p) && (d->split->loops || !is_loop(d, &p)))
            RGM_TRY(add_pair(d, &p));
    }
    return RGM_OK;
}

/* What is judged has a stream for each link, so that its negatives are the same whichever links are
 * in its batch. */
static rgm_status add_link(drawing *d, int64_t i)
{
    const rgm_link_split *s = d->split;
    pair link = {s->source[i], s->target[i], s->relation[i], 1, d->count};

    if (d->part == RGM_TRAIN) {
        if (s->undirected && draw(d, 2) == 0) /* neither end is the first */
            link = (pair){s->target[i], s->source[i], s->relation[i], 1, d->count};
        RGM_TRY(add_pair(d, &link));
        return add_negatives(d, &link, s->negatives);
    }
    d->rng = rgm_rng_stream(s->seed, "links/negatives", (uint64_t)i);
    d->at = 0;
    if (s->eval_negatives > 0) {
        RGM_TRY(add_pair(d, &link));
        return add_negatives(d, &link, s->eval_negatives);
    }
    for (int end = RGM_TARGET; end >= RGM_SOURCE; end--)
        if (corrupts(s, (rgm_tag)end))
            RGM_TRY(add_candidates(d, &link, (rgm_tag)end));
    return RGM_OK;
}

/* ---- graphs ------------------------------------------------------------------------------------
 */

enum { SOURCE, TARGET, LABEL, RELATION, POSITIVE, COLUMNS };

static rgm_status columns_of(rgm_tensor *columns[COLUMNS], const drawing *d)
{
    for (int c = 0; c < COLUMNS; c++)
        RGM_TRY(rgm_tensor_create(&columns[c], RGM_I64, 1, &d->count));
    for (int64_t i = 0; i < d->count; i++) {
        const pair *p = &d->pairs[i];
        const int64_t row[COLUMNS] = {p->source, p->target, p->label, p->relation, p->positive};

        for (int c = 0; c < COLUMNS; c++)
            rgm_tensor_i64(columns[c])[i] = row[c];
    }
    return RGM_OK;
}

/* local: the graph's edge sets that say which of its nodes the pairs are of; NULL: the graph is
 * whole, and they are those of their numbers. */
static rgm_status ask(rgm_graph **out, const rgm_graph *graph, const drawing *d,
                      const char *const *local)
{
    const rgm_link_split *s = d->split;
    rgm_status status = RGM_OK;
    rgm_tensor *columns[COLUMNS] = {NULL};
    rgm_graph_pairs pairs = {.source_set = s->source_set,
                             .target_set = s->target_set,
                             .label = "label",
                             .relation = s->relation_count > 0 ? "relation" : NULL,
                             .relation_count = s->relation_count};

    RGM_GO(columns_of(columns, d));
    pairs.source = local != NULL ? rgm_graph_source(graph, local[0]) : columns[SOURCE];
    pairs.target = local != NULL ? rgm_graph_source(graph, local[1]) : columns[TARGET];
    pairs.labels = columns[LABEL];
    pairs.relations = columns[RELATION];
    pairs.positive = columns[POSITIVE];
    RGM_GO(rgm_graph_with_pairs(out, graph, &pairs));
done:
    for (int c = 0; c < COLUMNS; c++)
        rgm_tensor_release(columns[c]);
    return status;
}

/* Whether the edges of a link are messages. */
static bool is_message(const drawing *d, int64_t link, const bool *is_target)
{
    const rgm_link_split *s = d->split;

    if (d->part == RGM_TRAIN)
        return s->part[link] == RGM_TRAIN && !is_target[link];
    return s->part[link] == RGM_TRAIN ||
           (d->part == RGM_TEST && s->valid_messages && s->part[link] == RGM_VALID);
}

/* Replace *graph by itself with the edges of set i that are messages. */
static rgm_status keep_messages(rgm_graph **graph, const drawing *d, int64_t i,
                                const bool *is_target)
{
    const rgmi_link_edges *set = &d->split->sets[i];
    rgm_status status = RGM_OK;
    rgm_tensor *edges = NULL, *all = NULL;
    rgm_graph *next = NULL;
    int64_t count = 0;

    RGM_GO(rgm_tensor_create(&all, RGM_I64, 1, &set->count));
    for (int64_t e = 0; e < set->count; e++)
        if (set->link[e] == RGMI_NO_LINK ||
            (set->link[e] >= 0 && is_message(d, set->link[e], is_target)))
            rgm_tensor_i64(all)[count++] = e;
    RGM_GO(rgm_tensor_create_from(&edges, RGM_I64, 1, &count, rgm_tensor_i64(all)));
    RGM_GO(rgm_graph_with_edges(&next, *graph, set->name, edges));
    rgm_graph_release(*graph);
    *graph = next;
done:
    rgm_tensor_release(edges);
    rgm_tensor_release(all);
    return status;
}

/* `from` without the edges of links that are no messages, links [count] among them. */
static rgm_status with_messages(rgm_graph **out, rgm_graph *from, const drawing *d,
                                const int64_t *links, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_graph *graph = rgm_graph_retain(from);
    bool *is_target = NULL;

    RGM_GO(RGM_NEW(is_target, d->split->count));
    for (int64_t i = 0; i < count; i++)
        is_target[links[i]] = true;
    for (int64_t i = 0; i < d->split->set_count; i++)
        RGM_GO(keep_messages(&graph, d, i, is_target));
    *out = graph;
    graph = NULL;
done:
    rgm_graph_release(graph);
    rgm_free(is_target);
    return status;
}

/* The subgraph around the pairs; in training without what joins the ends of one. */
static rgm_status sample_pairs(rgm_graph **out, const drawing *d, uint64_t seed)
{
    static const char *const local[2] = {RGM_READOUT "/source", RGM_READOUT "/target"};
    const rgm_link_split *s = d->split;
    rgm_status status = RGM_OK;
    rgm_graph *around = NULL;
    int64_t *ends = NULL;

    RGM_GO(RGM_NEW(ends, 2 * d->count));
    for (int64_t i = 0; i < d->count; i++) {
        ends[i] = d->pairs[i].source;
        ends[d->count + i] = d->pairs[i].target;
    }
    RGM_GO(rgm_sampler_pairs(&around, s->samplers[d->part], ends, ends + d->count, d->count,
                             d->part == RGM_TRAIN && s->resample ? seed : 0, s->followed,
                             d->part == RGM_TRAIN ? s->followed_count : 0));
    RGM_GO(ask(out, around, d, local));
done:
    rgm_graph_release(around);
    rgm_free(ends);
    return status;
}

/* The graph that is asked about links [count]; seed: of a step in training, else unread. */
static rgm_status draw_graph(rgm_graph **out, const rgm_link_split *split, rgm_mode part,
                             uint64_t seed, const int64_t *links, int64_t count)
{
    rgm_status status = RGM_OK;
    drawing d = {.split = split,
                 .part = part,
                 .rng = rgm_rng_stream(seed, "links/negatives", 0),
                 .links = links,
                 .link_count = count};
    rgm_graph *messages = NULL;

    for (int64_t i = 0; i < count; i++)
        RGM_GO(add_link(&d, links[i]));
    if (split->samplers[part] != NULL) {
        RGM_GO(sample_pairs(out, &d, seed));
    } else {
        RGM_GO(with_messages(&messages, split->base, &d, links, count));
        RGM_GO(ask(out, messages, &d, NULL));
    }
done:
    rgm_graph_release(messages);
    rgm_free(d.pairs);
    return status;
}

/* The schema of all graphs that are asked about links: that of one asked about the first one. */
static rgm_status make_base(rgm_link_split *split)
{
    rgm_status status;
    drawing d = {.split = split, .part = RGM_TRAIN};
    const pair first = {split->source[0], split->target[0], split->relation[0], 1, 0};

    status = add_pair(&d, &first);
    if (status == RGM_OK)
        status = ask(&split->base, split->graph, &d, NULL);
    rgm_free(d.pairs);
    return status;
}

/* ---- steps -------------------------------------------------------------------------------------
 */

static int64_t targets_of(const rgm_link_split *split)
{
    int64_t all = rgm_tensor_count(split->members[RGM_TRAIN]);
    int64_t share = (int64_t)((double)all * split->target_share);

    if (split->batch_size > 0)
        return split->batch_size < all ? split->batch_size : all;
    return share > 0 ? share : 1;
}

/* A share of the training links, drawn by `seed`. */
static rgm_status draw_share(rgm_graph **out, const rgm_link_split *split, uint64_t seed)
{
    rgm_rng rng = rgm_rng_stream(seed, "links/targets", 0);
    const rgm_tensor *links = split->members[RGM_TRAIN];
    int64_t *order;
    rgm_status status;

    RGM_TRY(RGM_NEW(order, rgm_tensor_count(links)));
    rgm_rng_permutation(&rng, order, rgm_tensor_count(links));
    for (int64_t i = 0; i < rgm_tensor_count(links); i++)
        order[i] = rgm_tensor_i64(links)[order[i]];
    status = draw_graph(out, split, RGM_TRAIN, seed, order, targets_of(split));
    rgm_free(order);
    return status;
}

static rgm_status draw_batch(rgm_graph **out, const rgm_link_split *split, rgm_mode part,
                             uint64_t seed, const rgm_element *list)
{
    int64_t count = rgm_element_count(list), *links;
    rgm_status status;

    RGM_TRY(RGM_NEW(links, count));
    for (int64_t i = 0; i < count; i++)
        links[i] = rgm_tensor_at_int(rgm_element_tensor(rgm_element_item(list, i), 0), 0);
    status = draw_graph(out, split, part, seed, links, count);
    rgm_free(links);
    return status;
}

static rgm_status draw_step(rgm_element **out, const rgm_element *element, const rgm_map_call *call,
                            void *payload)
{
    const rgm_link_split *split = payload;
    uint64_t seed = (uint64_t)rgm_rng_u32(&call->rng, 0) << 32 | rgm_rng_u32(&call->rng, 1);
    rgm_graph *graph = NULL;
    rgm_status status;

    RGM_TRY(split->batch_size > 0 ? draw_batch(&graph, split, RGM_TRAIN, seed, element)
                                  : draw_share(&graph, split, seed));
    status = rgm_element_create_pointer(out, &rgm_graph_element, graph);
    if (status != RGM_OK)
        rgm_graph_release(graph);
    return status;
}

/* ---- providers ---------------------------------------------------------------------------------
 */

typedef struct links_state {
    rgm_link_split *split;
    rgm_mode part;
    rgm_graph *fixed; /* outside training: drawn once */
} links_state;

/* One element an epoch, whatever it is, or batches of links. */
static rgm_status training_dataset(rgm_dataset **out, const rgm_link_split *split)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgm_tensor *links = split->members[RGM_TRAIN], *one = NULL;

    RGM_GO(rgm_tensor_arange(&one, 1));
    RGM_GO(rgm_dataset_from_tensors(&data, split->batch_size > 0 ? &links : &one, 1));
    if (split->batch_size > 0) {
        RGM_GO(rgm_dataset_shuffle_all(&data));
        RGM_GO(rgm_dataset_batch(&data, split->batch_size, false));
    }
    RGM_GO(rgm_dataset_map_each(&data, draw_step, (void *)split, NULL, (int)split->threads));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    rgm_tensor_release(one);
    return status;
}

static rgm_status draw_judged(rgm_element **out, const rgm_element *element,
                              const rgm_map_call *call, void *payload)
{
    const links_state *links = payload;
    rgm_graph *graph = NULL;
    rgm_status status;

    (void)call;
    RGM_TRY(draw_batch(&graph, links->split, links->part, 0, element));
    status = rgm_element_create_pointer(out, &rgm_graph_element, graph);
    if (status != RGM_OK)
        rgm_graph_release(graph);
    return status;
}

/* All links of a part, batch by batch, each with the negatives and the subgraph that it always has.
 */
static rgm_status judged_dataset(rgm_dataset **out, links_state *links)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;

    RGM_GO(rgm_dataset_from_tensors(&data, &links->split->members[links->part], 1));
    RGM_GO(rgm_dataset_batch(&data, links->split->batch_size, false));
    RGM_GO(rgm_dataset_map_each(&data, draw_judged, links, NULL, (int)links->split->threads));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

static rgm_status links_dataset(rgm_dataset **out, void *state, bool training)
{
    links_state *links = state;
    rgm_element *element = NULL;
    rgm_status status;

    if (training && links->part == RGM_TRAIN)
        return training_dataset(out, links->split);
    if (links->split->samplers[links->part] != NULL)
        return judged_dataset(out, links);
    status =
        rgm_element_create_pointer(&element, &rgm_graph_element, rgm_graph_retain(links->fixed));
    if (status != RGM_OK) {
        rgm_graph_release(links->fixed);
        return status;
    }
    status = rgm_dataset_from_elements(out, &element, 1);
    rgm_element_release(element);
    return status;
}

static rgm_schema *links_schema(void *state)
{
    return (rgm_schema *)rgm_graph_schema(((links_state *)state)->fixed);
}

static void links_release(void *state)
{
    links_state *links = state;

    rgm_graph_release(links->fixed);
    rgm_link_split_release(links->split);
    rgm_free(links);
}

static const rgm_provider_type links_type = {
    .name = "links",
    .dataset = links_dataset,
    .schema = links_schema,
    .batched = true,
    .in_memory = true,
    .release = links_release,
};

/* Elements are drawn when they are asked for. */
static const rgm_provider_type sampled_links_type = {
    .name = "sampled links",
    .dataset = links_dataset,
    .schema = links_schema,
    .batched = true,
    .release = links_release,
};

/* Whether each link of a judged part has the negatives that it will be held against: else a run
 * would fail when it comes to the batch. */
static rgm_status check_negatives(const rgm_link_split *split, rgm_mode part)
{
    const rgm_tensor *members = split->members[part];
    rgm_status status = RGM_OK;
    drawing d = {.split = split, .part = part};

    for (int64_t i = 0; i < rgm_tensor_count(members); i++) {
        d.count = 0;
        RGM_GO(add_link(&d, rgm_tensor_i64(members)[i]));
    }
done:
    rgm_free(d.pairs);
    return status;
}

static rgm_status links_fill(links_state *state, rgm_link_split *split, rgm_mode part)
{
    const rgm_tensor *members = split->members[part];

    state->part = part;
    state->split = rgm_link_split_retain(split);
    if (rgm_tensor_count(members) == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no link is in the part %s", rgm_mode_name(part));
    if (split->base == NULL)
        RGM_TRY(make_base(split));
    if (split->samplers[part] != NULL && part != RGM_TRAIN)
        RGM_TRY(check_negatives(split, part));
    if (split->samplers[part] != NULL) /* one is enough for its schema */
        return draw_graph(&state->fixed, split, part, split->seed, rgm_tensor_i64(members), 1);
    if (part == RGM_TRAIN)
        return draw_share(&state->fixed, split, split->seed);
    return draw_graph(&state->fixed, split, part, split->seed, rgm_tensor_i64(members),
                      rgm_tensor_count(members));
}

rgm_provider *rgm_link_provider(rgm_link_split *split, rgm_mode part)
{
    links_state *state;
    rgm_provider *provider = NULL;

    if (RGM_NEW(state, 1) != RGM_OK)
        return NULL;
    if (links_fill(state, split, part) == RGM_OK)
        provider = rgm_provider_create(
            split->samplers[part] != NULL ? &sampled_links_type : &links_type, state);
    if (provider == NULL)
        links_release(state);
    return provider;
}

static const links_state *links_of(const rgm_provider *provider)
{
    const links_state *links = rgmi_provider_state(provider, &links_type);

    return links != NULL ? links : rgmi_provider_state(provider, &sampled_links_type);
}

/* ---- sampling ----------------------------------------------------------------------------------
 */

static rgm_status check_sampling(const rgm_link_split *s, const rgm_link_sampling *options)
{
    if (strcmp(s->source_set, s->target_set) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling: links go from '%s' to '%s'; subgraphs are sampled around "
                        "links between nodes of one set, others are predicted in the whole graph",
                        s->source_set, s->target_set);
    if (strcmp(options->spec->seed_node_set, s->source_set) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling.spec begins with node set '%s', but links are between nodes "
                        "of '%s'",
                        options->spec->seed_node_set, s->source_set);
    if (s->batch_size == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.links.batch_size is needed with data.sampling: how many links a "
                        "subgraph is drawn around");
    if (s->eval_negatives == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.links.eval_negatives: 0 holds each link against every node, which is "
                        "the whole graph; with data.sampling it is a number of negatives");
    return RGM_OK;
}

static rgm_status list_followed(rgm_link_split *s, const rgm_sampling_spec *spec)
{
    RGM_TRY(RGM_NEW(s->followed, s->set_count));
    for (int64_t i = 0; i < s->set_count; i++)
        for (int64_t k = 0; k < spec->op_count; k++)
            if (strcmp(spec->ops[k].edge_set, s->sets[i].name) == 0) {
                s->followed[s->followed_count++] = s->sets[i].name;
                break;
            }
    return RGM_OK;
}

/* Of the messages of a part when none of its links is asked about. */
static rgm_status make_sampler(rgm_link_split *split, rgm_mode part,
                               const rgm_link_sampling *options)
{
    const drawing d = {.split = split, .part = part};
    rgm_graph *messages;
    rgm_status status;

    RGM_TRY(with_messages(&messages, split->graph, &d, NULL, 0));
    status = rgm_sampler_create(&split->samplers[part], messages, options->spec, options->seed);
    rgm_graph_release(messages);
    RGM_TRY(status);
    rgm_sampler_set_once(split->samplers[part], options->once);
    return RGM_OK;
}

rgm_status rgm_link_split_sample(rgm_link_split *split, const rgm_link_sampling *options)
{
    RGM_TRY(check_sampling(split, options));
    RGM_TRY(list_followed(split, options->spec));
    split->resample = options->resample;
    RGM_TRY(make_sampler(split, RGM_TRAIN, options));
    split->samplers[RGM_VALID] = split->samplers[RGM_TEST] = split->samplers[RGM_TRAIN];
    if (!split->valid_messages || rgm_tensor_count(split->members[RGM_TEST]) == 0)
        return RGM_OK;
    split->samplers[RGM_TEST] = NULL;
    return make_sampler(split, RGM_TEST, options);
}

/* ---- for people --------------------------------------------------------------------------------
 */

static rgm_status describe_split(rgm_text *out, const rgm_link_split *s)
{
    int64_t edges = 0, stay = 0;

    for (int64_t i = 0; i < s->set_count; i++)
        for (int64_t e = 0; e < s->sets[i].count; e++) {
            edges += s->sets[i].link[e] >= 0;
            stay += s->sets[i].link[e] == RGMI_NO_LINK;
        }
    RGM_TRY(rgm_text_printf(out, "links "));
    for (int part = 0; part < 3; part++)
        RGM_TRY(rgm_text_printf(out, "%s%" PRId64 " %s", part > 0 ? ", " : "",
                                rgm_tensor_count(s->members[part]), rgm_mode_name((rgm_mode)part)));
    RGM_TRY(rgm_text_printf(out, ", which are %" PRId64 " edges of", edges));
    for (int64_t i = 0; i < s->set_count; i++) {
        RGM_TRY(rgm_text_printf(out, "%s", i > 0 ? ", " : " "));
        RGM_TRY(rgm_text_add_visible(out, s->sets[i].name));
    }
    if (s->relation_count > 0)
        RGM_TRY(rgm_text_printf(out, "; %" PRId64 " relations", s->relation_count));
    if (s->repeated > 0)
        RGM_TRY(rgm_text_printf(out, "; %" PRId64 " edges more repeat a link of an earlier part",
                                s->repeated));
    if (stay > 0)
        RGM_TRY(rgm_text_printf(out,
                                "; %" PRId64 " edges more of reverse sets are of no link and stay "
                                "in the messages",
                                stay));
    return rgm_text_printf(out, "\n");
}

static rgm_status describe_steps(rgm_text *out, const rgm_link_split *s)
{
    int64_t targets = targets_of(s), all = rgm_tensor_count(s->members[RGM_TRAIN]);

    if (s->samplers[RGM_TRAIN] != NULL)
        return rgm_text_printf(out,
                               "targets %" PRId64 " links a step with %" PRId64
                               " negatives each; messages are sampled around them from the other "
                               "training links\n",
                               targets, s->negatives);
    return rgm_text_printf(out,
                           "targets %" PRId64 " links a step with %" PRId64
                           " negatives each, drawn anew; messages are the other %" PRId64 "\n",
                           targets, s->negatives, all - targets);
}

static rgm_status describe_part(rgm_text *out, const links_state *links)
{
    const rgm_link_split *s = links->split;
    int64_t pairs = rgm_graph_total(links->fixed, RGM_NODE_SET, RGM_READOUT);
    int64_t messages = rgm_tensor_count(s->members[RGM_TRAIN]), batches = 1;

    if (links->part == RGM_TEST && s->valid_messages)
        messages += rgm_tensor_count(s->members[RGM_VALID]);
    if (s->samplers[links->part] != NULL) {
        pairs = rgm_tensor_count(s->members[links->part]) * (1 + s->eval_negatives);
        batches = (rgm_tensor_count(s->members[links->part]) - 1) / s->batch_size + 1;
    }
    RGM_TRY(rgm_text_printf(out, "pairs %" PRId64 " in %s, ", pairs, rgm_mode_name(links->part)));
    if (s->eval_negatives > 0)
        RGM_TRY(rgm_text_printf(out, "%" PRId64 " negatives a link", s->eval_negatives));
    else
        RGM_TRY(rgm_text_printf(out, "each link against every node that makes none"));
    RGM_TRY(rgm_text_printf(out, "; messages are %s%" PRId64 " links",
                            s->samplers[links->part] != NULL ? "sampled from " : "", messages));
    if (batches > 1)
        RGM_TRY(rgm_text_printf(out, "; areas are means of %" PRId64 " batches", batches));
    return rgm_text_printf(out, "\n");
}

rgm_status rgmi_links_describe(rgm_text *out, rgm_provider *const *providers)
{
    for (int part = RGM_TRAIN; part <= RGM_TEST; part++) {
        const links_state *links = links_of(providers[part]);

        if (links == NULL)
            continue;
        if (part == RGM_TRAIN) {
            RGM_TRY(describe_split(out, links->split));
            RGM_TRY(describe_steps(out, links->split));
        } else {
            RGM_TRY(describe_part(out, links));
        }
    }
    return RGM_OK;
}

/* The graph with the messages and the readout of all training links at once. */
static rgm_status training_graph(rgm_graph **out, const rgm_link_split *split)
{
    const rgm_tensor *links = split->members[RGM_TRAIN];
    rgm_status status = RGM_OK;
    drawing d = {.split = split, .part = RGM_TRAIN};
    rgm_graph *messages = NULL;

    for (int64_t k = 0; k < rgm_tensor_count(links); k++) {
        int64_t i = rgm_tensor_i64(links)[k];
        const pair link = {split->source[i], split->target[i], split->relation[i], 1, d.count};

        RGM_GO(add_pair(&d, &link));
    }
    RGM_GO(with_messages(&messages, split->base, &d, NULL, 0));
    RGM_GO(ask(out, messages, &d, NULL));
done:
    rgm_graph_release(messages);
    rgm_free(d.pairs);
    return status;
}

rgm_status rgmi_links_training(rgm_provider **out, const rgm_provider *provider)
{
    const links_state *links = links_of(provider);
    rgm_graph *graph = NULL;

    *out = NULL;
    if (links == NULL)
        return RGM_OK;
    RGM_TRY(training_graph(&graph, links->split));
    *out = rgm_graphs_provider(&graph, 1, false);
    rgm_graph_release(graph);
    return *out != NULL ? RGM_OK : RGM_ERR_NOMEM;
}

bool rgmi_provider_is_of_links(const rgm_provider *provider)
{
    return links_of(provider) != NULL;
}

rgm_graph *rgmi_links_whole(const rgm_provider *provider)
{
    const links_state *links = links_of(provider);

    return links != NULL ? links->split->base : NULL;
}
