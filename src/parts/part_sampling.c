/*
 * Sampling across parts. A step's batches are expanded together: in each round what they ask is
 * given to the owners in one exchange, and what these answer comes back in another.
 */
#include "parts_internal.h"

#include <regimen/parts_sampling.h>

#include <stdlib.h>
#include <string.h>

struct rgm_part_sampler {
    const rgm_part *part;
    rgm_comm *comm;
    rgm_parted_graph graph;
    rgm_parted_set *sets;    /* [sets of the schema] */
    rgm_tensor **edges;      /* [sets of the schema] numbers in the whole graph */
    const int64_t **numbers; /* [sets of the schema] ... and their values       */
    rgm_parted_sampler *sampler;
    rgm_tensor *seeds[3];
    rgm_parted_node *places; /* [place_count] of all seeds, by number */
    int64_t place_count, place_room;
    char *label;
    rgm_schema *schema;
    rgm_part_sampler_counts counts;
};

/* ---- the part as its sampler sees it ------------------------------------------------------- */

static rgm_status describe_part(rgm_part_sampler *sampler)
{
    const rgm_part *part = sampler->part;
    const rgm_schema *schema = part->data.schema;
    int64_t count = rgm_schema_set_count(schema), at = 0;

    RGM_TRY(RGM_NEW(sampler->sets, count));
    RGM_TRY(RGM_NEW(sampler->edges, count));
    RGM_TRY(RGM_NEW(sampler->numbers, count));
    for (int64_t i = 0; i < count; i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_NODE_SET) {
            const rgmi_part_set *nodes = &part->sets[at++];

            if (nodes->halo > 0 && nodes->owner == NULL)
                return RGM_FAIL(RGM_ERR_ARG, "part %lld is connected: it is computed on as a whole",
                                (long long)part->number);
            sampler->sets[i] =
                (rgm_parted_set){nodes->own, nodes->owner, nodes->there, nodes->place};
        } else if (set->piece == RGM_EDGE_SET) {
            RGM_TRY(rgmi_part_numbers(&sampler->edges[i], part, RGM_EDGE_SET, set->name, "number"));
            sampler->numbers[i] = rgm_tensor_i64(sampler->edges[i]);
        }
    }
    sampler->graph = (rgm_parted_graph){.graph = part->data.graphs[0],
                                        .part = part->number,
                                        .parts = part->parts,
                                        .sets = sampler->sets,
                                        .numbers = sampler->numbers};
    return RGM_OK;
}

/* ---- seeds --------------------------------------------------------------------------------- */

/** An own node of the split, as ranks tell each other. */
typedef struct told_seed {
    int64_t place; /* in the list of the whole graph */
    int32_t number, there;
} told_seed;

/* What other ranks call each own node of the split's set: [own]. */
static rgm_status call_nodes(int32_t **out, const rgm_part *part)
{
    const rgmi_part_set *set = part->sets;

    while (strcmp(set->name, part->data.split_set) != 0)
        set++;
    RGM_TRY(RGM_NEW(*out, set->own));
    for (int64_t i = 0; i < set->own; i++)
        (*out)[set->place != NULL ? set->place[i] : i] = (int32_t)i;
    return RGM_OK;
}

/* [*count] own nodes of a part of the split. */
static rgm_status own_seeds(told_seed **out, int64_t *count, const rgm_part_sampler *sampler,
                            const rgm_tensor *nodes, const char *what)
{
    const rgm_part *part = sampler->part;
    const char *set = part->data.split_set;
    const rgm_feature *ids = rgm_graph_feature(part->data.graphs[0], RGM_NODE_SET, set, "#id");
    rgm_status status = RGM_OK;
    rgm_tensor *places = NULL;
    int32_t *called = NULL;
    char *name = NULL;

    *count = rgm_tensor_count(nodes);
    RGM_GO(call_nodes(&called, part));
    RGM_GO(rgmi_numbers_name(&name, RGM_NODE_SET, set, what));
    if (rgmi_part_tensor(&places, part, name) != RGM_OK || rgm_tensor_dtype(places) != RGM_I64 ||
        rgm_tensor_count(places) != *count)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                        "part %lld does not say where its nodes stand in the list '%s', which "
                        "batches are drawn from: it was cut by an earlier version; cut again",
                        (long long)part->number, what));
    RGM_GO(RGM_NEW(*out, *count));
    for (int64_t i = 0; i < *count; i++) {
        int64_t there = rgm_tensor_at_int(nodes, i);

        (*out)[i] = (told_seed){rgm_tensor_i64(places)[i],
                                (int32_t)rgm_tensor_i64(ids->values)[there], called[there]};
    }
done:
    rgm_tensor_release(places);
    rgm_free(called);
    rgm_free(name);
    return status;
}

static rgm_status other_split(void)
{
    return RGM_FAIL(RGM_ERR_DATA, "the parts do not have each node of the split once: they are not "
                                  "of one cut, or damaged; cut again");
}

/* What rank r told: each seed to its place in the list. */
static rgm_status take_seeds(rgm_part_sampler *sampler, bool *filled, int of,
                             const rgm_comm_blocks *told, int r)
{
    int64_t total = rgm_tensor_count(sampler->seeds[of]);
    size_t count = (told->begin[r + 1] - told->begin[r]) / sizeof(told_seed);

    RGM_TRY(
        RGM_RESERVE(sampler->places, sampler->place_room, sampler->place_count + (int64_t)count));
    for (size_t i = 0; i < count; i++) {
        told_seed seed;

        memcpy(&seed, told->memory + told->begin[r] + i * sizeof seed, sizeof seed);
        if (seed.place < 0 || seed.place >= total || filled[seed.place] || seed.number < 0)
            return other_split();
        filled[seed.place] = true;
        rgm_tensor_i64(sampler->seeds[of])[seed.place] = seed.number;
        sampler->places[sampler->place_count++] = (rgm_parted_node){seed.number, r, seed.there};
    }
    return RGM_OK;
}

static rgm_status gather_seeds(rgm_part_sampler *sampler, int of)
{
    const rgm_part *part = sampler->part;
    const rgm_tensor *const own[3] = {part->data.train, part->data.valid, part->data.test};
    int64_t total = rgm_parts_split(part->manifest, of), count = 0, all = 0;
    rgm_comm_blocks told = {0};
    rgm_status status = RGM_OK;
    told_seed *seeds = NULL;
    bool *filled = NULL;

    if (total < 0)
        return RGM_OK;
    RGM_GO(own_seeds(&seeds, &count, sampler, own[of], rgmi_split_names[of]));
    RGM_GO(rgm_tensor_create(&sampler->seeds[of], RGM_I64, 1, &total));
    RGM_GO(RGM_NEW(filled, total));
    RGM_GO(
        rgm_comm_gather(&told, sampler->comm, seeds, (size_t)count * sizeof *seeds, RGM_COMM_ALL));
    for (int r = 0; r < told.count; r++)
        RGM_GO(take_seeds(sampler, filled, of, &told, r));
    for (int64_t i = 0; i < total; i++)
        all += filled[i];
    if (all != total)
        RGM_GO(other_split());
done:
    rgm_comm_blocks_clear(&told);
    rgm_free(seeds);
    rgm_free(filled);
    return status;
}

static int by_number(const void *a, const void *b)
{
    const rgm_parted_node *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Where a seed lies; NULL: it is none. */
static const rgm_parted_node *find_seed(const rgm_part_sampler *sampler, int64_t number)
{
    const rgm_parted_node key = {.number = (int32_t)number};

    if (number < 0 || number > INT32_MAX || sampler->place_count == 0)
        return NULL;
    return bsearch(&key, sampler->places, (size_t)sampler->place_count, sizeof key, by_number);
}

/* ---- opening ------------------------------------------------------------------------------- */

/* The most edges of a node of all parts, by op. */
static rgm_status share_degrees(rgm_part_sampler *sampler)
{
    rgm_comm_blocks told = {0};
    rgm_status status = RGM_OK;
    int64_t count, *most = NULL;
    const int64_t *own = rgm_parted_sampler_degrees(&count, sampler->sampler);

    RGM_GO(RGM_NEW(most, count));
    RGM_GO(rgm_comm_gather(&told, sampler->comm, own, (size_t)count * sizeof *own, RGM_COMM_ALL));
    for (int r = 0; r < told.count; r++) {
        if (told.begin[r + 1] - told.begin[r] != (size_t)count * sizeof *own)
            RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "rank %d samples by another recipe", r));
        for (int64_t i = 0; i < count; i++) {
            int64_t degree;

            memcpy(&degree, told.memory + told.begin[r] + (size_t)i * sizeof degree, sizeof degree);
            most[i] = degree > most[i] ? degree : most[i];
        }
    }
    rgm_parted_sampler_set_degrees(sampler->sampler, most);
done:
    rgm_comm_blocks_clear(&told);
    rgm_free(most);
    return status;
}

static rgm_status open_sampler(rgm_part_sampler *sampler, const rgm_part_sampler_options *options)
{
    RGM_TRY(describe_part(sampler));
    if (options->label != NULL)
        RGM_TRY(rgm_strdup(&sampler->label, options->label));
    RGM_TRY(rgm_parted_sampler_create(&sampler->sampler, &sampler->graph, options->spec,
                                      options->seed, options->once));
    return rgm_parted_sampler_schema(&sampler->schema, sampler->sampler, sampler->label);
}

rgm_status rgm_part_sampler_open(rgm_part_sampler **out, rgm_part *part,
                                 const rgm_part_sampler_options *options)
{
    rgm_status status = RGM_OK;
    rgm_part_sampler *sampler = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(sampler, 1));
    sampler->part = part;
    RGM_GO(open_sampler(sampler, options));
    *out = sampler;
    sampler = NULL;
done:
    rgm_part_sampler_release(sampler);
    return status;
}

static rgm_status connect(rgm_part_sampler *sampler)
{
    RGM_TRY(rgmi_part_meet(sampler->part, sampler->comm));
    RGM_TRY(share_degrees(sampler));
    for (int of = 0; of < 3; of++)
        RGM_TRY(gather_seeds(sampler, of));
    if (sampler->place_count > 0)
        qsort(sampler->places, (size_t)sampler->place_count, sizeof *sampler->places, by_number);
    return RGM_OK;
}

rgm_status rgm_part_sampler_connect(rgm_part_sampler *sampler, rgm_comm *comm)
{
    sampler->comm = comm;
    return rgm_comm_fail(comm, connect(sampler));
}

void rgm_part_sampler_release(rgm_part_sampler *sampler)
{
    if (sampler == NULL)
        return;
    rgm_parted_sampler_release(sampler->sampler);
    for (int64_t i = 0;
         sampler->edges != NULL && i < rgm_schema_set_count(sampler->part->data.schema); i++)
        rgm_tensor_release(sampler->edges[i]);
    for (int of = 0; of < 3; of++)
        rgm_tensor_release(sampler->seeds[of]);
    rgm_schema_release(sampler->schema);
    rgm_free(sampler->sets);
    rgm_free(sampler->edges);
    rgm_free((void *)sampler->numbers);
    rgm_free(sampler->places);
    rgm_free(sampler->label);
    rgm_free(sampler);
}

rgm_tensor *rgm_part_sampler_seeds(const rgm_part_sampler *sampler, int of)
{
    return sampler->seeds[of];
}

rgm_schema *rgm_part_sampler_schema(const rgm_part_sampler *sampler)
{
    return sampler->schema;
}

void rgm_part_sampler_count(rgm_part_sampler_counts *out, const rgm_part_sampler *sampler)
{
    *out = sampler->counts;
}

/* ---- drawing ------------------------------------------------------------------------------- */

/** The batches at work. */
typedef struct drawing {
    rgm_part_sampler *sampler;
    rgm_parted_batch **batches; /* [count]; NULL: it has no seeds */
    int64_t count;
    rgm_text *texts;  /* [parts] what goes to each */
    rgm_str *answers; /* [parts] what came of each */
    size_t *begin;    /* [parts + 1]               */
    rgm_text joined, own_asked, own_answered;
    rgm_comm_blocks asked, answered;
} drawing;

static rgm_status begin_batch(rgm_parted_batch **out, const rgm_part_sampler *sampler,
                              const rgm_part_seeds *batch)
{
    rgm_status status = RGM_OK;
    rgm_parted_node *seeds;

    RGM_TRY(RGM_NEW(seeds, batch->count));
    for (int64_t i = 0; i < batch->count; i++) {
        const rgm_parted_node *place = find_seed(sampler, batch->nodes[i]);

        if (place == NULL)
            RGM_GO(
                RGM_FAIL(RGM_ERR_DATA, "seed %lld is node %lld of '%s', which is not in the split",
                         (long long)i, (long long)batch->nodes[i], sampler->part->data.split_set));
        seeds[i] = *place;
    }
    RGM_GO(rgm_parted_batch_begin(out, sampler->sampler, seeds, batch->count, batch->epoch));
done:
    rgm_free(seeds);
    return status;
}

/* What the batches ask goes to the owners: what came of each is in d->asked, and in d->own_asked
 * what this rank has for itself. */
static rgm_status swap_asked(drawing *d)
{
    const rgm_part *part = d->sampler->part;
    rgm_text *own = &d->texts[part->number], spare = d->own_asked;

    d->own_asked = *own;
    spare.size = 0;
    *own = spare;
    d->joined.size = 0;
    for (int64_t p = 0; p < part->parts; p++) {
        d->begin[p] = (size_t)d->joined.size;
        RGM_TRY(rgm_text_add(&d->joined, d->texts[p].data, d->texts[p].size));
        d->texts[p].size = 0;
    }
    d->begin[part->parts] = (size_t)d->joined.size;
    d->sampler->counts.bytes += d->joined.size;
    rgm_comm_blocks_clear(&d->asked);
    return rgm_comm_swap(&d->asked, d->sampler->comm, d->joined.data, d->begin);
}

/* What came of part p. */
static rgm_str message_of(const drawing *d, const rgm_comm_blocks *blocks, const rgm_text *own,
                          int64_t p)
{
    size_t begin = blocks->begin[p];

    if (p == d->sampler->part->number)
        return (rgm_str){own->data, own->size};
    return (rgm_str){blocks->memory + begin, (int64_t)(blocks->begin[p + 1] - begin)};
}

/* Answers go back the same way: d->answered, d->own_answered. */
static rgm_status swap_answers(drawing *d)
{
    const rgm_part *part = d->sampler->part;

    d->joined.size = d->own_answered.size = 0;
    for (int64_t p = 0; p < part->parts; p++) {
        d->begin[p] = (size_t)d->joined.size;
        RGM_TRY(rgm_parted_sampler_answer(p == part->number ? &d->own_answered : &d->joined,
                                          d->sampler->sampler,
                                          message_of(d, &d->asked, &d->own_asked, p)));
    }
    d->begin[part->parts] = (size_t)d->joined.size;
    rgm_comm_blocks_clear(&d->answered);
    RGM_TRY(rgm_comm_swap(&d->answered, d->sampler->comm, d->joined.data, d->begin));
    d->sampler->counts.bytes += (int64_t)d->answered.begin[part->parts];
    return RGM_OK;
}

/* All ask, all answer, all take what came. */
static rgm_status run_round(drawing *d)
{
    for (int64_t i = 0; i < d->count; i++)
        if (d->batches[i] != NULL)
            RGM_TRY(rgm_parted_batch_ask(d->texts, d->batches[i]));
    RGM_TRY(swap_asked(d));
    RGM_TRY(swap_answers(d));
    for (int64_t p = 0; p < d->sampler->part->parts; p++)
        d->answers[p] = message_of(d, &d->answered, &d->own_answered, p);
    for (int64_t i = 0; i < d->count; i++)
        if (d->batches[i] != NULL)
            RGM_TRY(rgm_parted_batch_take(d->batches[i], d->answers));
    return RGM_OK;
}

static rgm_status run_rounds(rgm_graph **graphs, drawing *d, const rgm_part_seeds *batches)
{
    rgm_part_sampler *sampler = d->sampler;
    int64_t parts = sampler->part->parts;

    RGM_TRY(RGM_NEW(d->batches, d->count));
    RGM_TRY(RGM_NEW(d->texts, parts));
    RGM_TRY(RGM_NEW(d->answers, parts));
    RGM_TRY(RGM_NEW(d->begin, parts + 1));
    for (int64_t i = 0; i < d->count; i++)
        if (batches[i].count > 0)
            RGM_TRY(begin_batch(&d->batches[i], sampler, &batches[i]));
    for (int64_t round = 0; round < rgm_parted_sampler_rounds(sampler->sampler); round++)
        RGM_TRY(run_round(d));
    for (int64_t i = 0; i < d->count; i++) {
        int64_t nodes, others;

        if (d->batches[i] == NULL)
            continue;
        RGM_TRY(rgm_parted_batch_graph(&graphs[i], d->batches[i], sampler->label));
        rgm_parted_batch_count(&nodes, &others, d->batches[i]);
        sampler->counts.batches++;
        sampler->counts.nodes += nodes;
        sampler->counts.others += others;
    }
    return RGM_OK;
}

static void clear(drawing *d)
{
    for (int64_t i = 0; d->batches != NULL && i < d->count; i++)
        rgm_parted_batch_release(d->batches[i]);
    for (int64_t p = 0; d->texts != NULL && p < d->sampler->part->parts; p++)
        rgm_text_clear(&d->texts[p]);
    rgm_comm_blocks_clear(&d->asked);
    rgm_comm_blocks_clear(&d->answered);
    rgm_text_clear(&d->joined);
    rgm_text_clear(&d->own_asked);
    rgm_text_clear(&d->own_answered);
    rgm_free(d->batches);
    rgm_free(d->texts);
    rgm_free(d->answers);
    rgm_free(d->begin);
}

rgm_status rgm_part_sampler_draw(rgm_graph **graphs, rgm_part_sampler *sampler,
                                 const rgm_part_seeds *batches, int64_t count)
{
    drawing d = {.sampler = sampler, .count = count};
    rgm_status status;

    if (sampler->comm == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "the sampler of part %lld is not connected",
                        (long long)sampler->part->number);
    for (int64_t i = 0; i < count; i++)
        graphs[i] = NULL;
    status = run_rounds(graphs, &d, batches);
    clear(&d);
    for (int64_t i = 0; i < count && status != RGM_OK; i++) {
        rgm_graph_release(graphs[i]);
        graphs[i] = NULL;
    }
    return rgm_comm_fail(sampler->comm, status);
}
