/*
 * Size constraints learned from a data set of single graphs: tight (the largest graph times the
 * batch size: every batch fits) and fit-or-skip (random batches are simulated, and the sets that
 * vary most are cut most, until the wanted share of batches still fits).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph_internal.h"

/** Sizes of graphs: [graphs][sets], components at set 0. */
typedef struct sizes {
    int64_t sets;
    int64_t *size;
    int64_t count, capacity; /* count: graphs */
} sizes;

static rgm_status add_graph(sizes *all, const rgm_graph *graph)
{
    RGM_TRY(RGM_RESERVE(all->size, all->capacity, (all->count + 1) * all->sets));
    for (int64_t i = 0; i < all->sets; i++)
        all->size[all->count * all->sets + i] = graph->sets[i].items->total;
    all->count++;
    return RGM_OK;
}

/* Up to `limit` graphs; -1: all, and only the maximum is kept. */
static rgm_status read_sizes(sizes *all, const rgm_schema *schema, rgm_dataset *graphs,
                             int64_t limit)
{
    rgm_status status = RGM_OK;
    rgm_iterator *iterator = NULL;
    rgm_element *element = NULL;

    all->sets = schema->set_count;
    RGM_GO(rgm_iterator_create(&iterator, graphs, NULL));
    for (int64_t read = 0; limit < 0 || read < limit; read++) {
        const rgm_graph *graph;
        status = rgm_iterator_next(&element, iterator);
        if (status != RGM_OK)
            break;
        graph = rgm_element_pointer(element, &rgm_graph_element);
        if (graph == NULL || graph->set_count != schema->set_count) {
            status = RGM_FAIL(RGM_ERR_ARG,
                              "padding is learned from graphs of the schema; element "
                              "%" PRId64 " is none",
                              read);
            break;
        }
        RGM_GO(add_graph(all, graph));
        rgm_element_release(element);
        element = NULL;
        if (limit < 0 && all->count == 2) {
            for (int64_t i = 0; i < all->sets; i++)
                if (all->size[all->sets + i] > all->size[i])
                    all->size[i] = all->size[all->sets + i];
            all->count = 1;
        }
    }
    if (status == RGM_END)
        status = RGM_OK;
    if (status == RGM_OK && all->count == 0)
        status = RGM_FAIL(RGM_ERR_DATA, "no graph to learn padding from");
done:
    rgm_element_release(element);
    rgm_iterator_release(iterator);
    return status;
}

/* Node sets get the minimum, but auxiliary ones: a padded component needs no readout item. */
static void set_minimum(rgm_size_constraints *limit, int64_t min_per_component)
{
    char prefix[64];

    for (int64_t i = 0; i < limit->schema->set_count; i++)
        if (limit->schema->sets[i]->piece == RGM_NODE_SET &&
            rgm_aux_prefix(limit->schema->sets[i]->name, prefix, sizeof prefix) == NULL)
            limit->minimum[i] = min_per_component;
}

void rgmi_constraints_make_room(rgm_size_constraints *limit)
{
    const rgm_schema *schema = limit->schema;

    limit->total[0]++;
    for (int64_t i = 1; i < schema->set_count; i++) {
        int64_t room = limit->minimum[i];
        for (int64_t e = 1; e < schema->set_count && room == 0; e++)
            if (schema->sets[i]->piece == RGM_NODE_SET && schema->sets[e]->piece == RGM_EDGE_SET &&
                (strcmp(schema->sets[e]->source, schema->sets[i]->name) == 0 ||
                 strcmp(schema->sets[e]->target, schema->sets[i]->name) == 0))
                room = 1;
        limit->total[i] += room;
    }
}

static rgm_status check_arguments(int64_t batch_size, int64_t min_per_component)
{
    if (batch_size < 1)
        return RGM_FAIL(RGM_ERR_ARG, "batch_size is %" PRId64, batch_size);
    if (min_per_component < 0)
        return RGM_FAIL(RGM_ERR_ARG, "min_per_component is %" PRId64, min_per_component);
    return RGM_OK;
}

rgm_status rgm_tight_padding(rgm_size_constraints **out, const rgm_schema *schema,
                             rgm_dataset *graphs, int64_t batch_size, int64_t min_per_component)
{
    rgm_status status = RGM_OK;
    rgm_size_constraints *limit = NULL;
    sizes all = {0};

    *out = NULL;
    RGM_GO(check_arguments(batch_size, min_per_component));
    RGM_GO(rgm_size_constraints_create(&limit, schema));
    RGM_GO(read_sizes(&all, schema, graphs, -1));
    set_minimum(limit, min_per_component);
    for (int64_t i = 0; i < all.sets; i++) {
        /* In a batch that is not full, components of padding take the places of graphs. */
        int64_t most = all.size[i] > limit->minimum[i] ? all.size[i] : limit->minimum[i];
        if (__builtin_mul_overflow(most, batch_size, &limit->total[i])) {
            status = RGM_FAIL(RGM_ERR_DATA, "'%s': %" PRId64 " times %" PRId64 " is too large",
                              schema->sets[i]->name, most, batch_size);
            goto done;
        }
    }
    rgmi_constraints_make_room(limit);
    *out = limit;
    limit = NULL;
done:
    rgm_size_constraints_release(limit);
    rgm_free(all.size);
    return status;
}

/* ---- fit or skip ---- */

/** Simulated batches: totals [sets][batches], and sorted descending. */
typedef struct simulation {
    int64_t sets, batches;
    int64_t *total, *sorted;
    double *importance; /* [sets] */
} simulation;

static int descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* Graphs go by in one random order after the other; each `batch_size` of them are a batch. */
static rgm_status simulate(simulation *s, const sizes *all, int64_t batch_size, uint64_t seed)
{
    rgm_status status;
    int64_t at = all->count, *order;
    uint64_t pass = 0;

    RGM_TRY(RGM_NEW(order, all->count));
    for (int64_t b = 0; b < s->batches; b++)
        for (int64_t k = 0; k < batch_size; k++) {
            const int64_t *graph;
            if (at == all->count) {
                rgm_rng rng = rgm_rng_stream(seed, "fit_or_skip", pass++);
                rgm_rng_permutation(&rng, order, all->count);
                at = 0;
            }
            graph = all->size + order[at++] * all->sets;
            for (int64_t i = 0; i < s->sets; i++)
                s->total[i * s->batches + b] += graph[i];
        }
    rgm_free(order);
    status = RGM_OK;
    memcpy(s->sorted, s->total, (size_t)(s->sets * s->batches) * sizeof *s->sorted);
    for (int64_t i = 0; i < s->sets; i++)
        qsort(s->sorted + i * s->batches, (size_t)s->batches, sizeof *s->sorted, descending);
    return status;
}

/* Standard deviations of the totals, relative to the largest one. */
static void weigh(simulation *s)
{
    double largest = 0;

    for (int64_t i = 0; i < s->sets; i++) {
        double sum = 0, squares = 0, mean;
        for (int64_t b = 0; b < s->batches; b++)
            sum += (double)s->total[i * s->batches + b];
        mean = sum / (double)s->batches;
        for (int64_t b = 0; b < s->batches; b++) {
            double d = (double)s->total[i * s->batches + b] - mean;
            squares += d * d;
        }
        s->importance[i] = sqrt(squares / (double)s->batches);
        if (s->importance[i] > largest)
            largest = s->importance[i];
    }
    for (int64_t i = 0; i < s->sets; i++)
        s->importance[i] = largest > 0 ? s->importance[i] / largest : 0;
}

static int64_t limit_at(const simulation *s, int64_t set, double threshold)
{
    int64_t rank = (int64_t)(threshold * s->importance[set]);

    return s->sorted[set * s->batches + (rank < s->batches ? rank : s->batches - 1)];
}

static double share_that_fits(const simulation *s, double threshold)
{
    int64_t fit = 0;

    for (int64_t b = 0; b < s->batches; b++) {
        bool fits = true;
        for (int64_t i = 0; i < s->sets && fits; i++)
            fits = s->total[i * s->batches + b] <= limit_at(s, i, threshold);
        fit += fits;
    }
    return (double)fit / (double)s->batches;
}

enum { THRESHOLDS = 1000 };

static rgm_status fit(rgm_size_constraints *limit, const sizes *all, int64_t batch_size,
                      int64_t sample_size, double success_ratio, uint64_t seed)
{
    simulation s = {.sets = all->sets, .batches = sample_size};
    int64_t low = 0, high = THRESHOLDS - 1;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(s.total, s.sets * s.batches));
    RGM_GO(RGM_NEW(s.sorted, s.sets * s.batches));
    RGM_GO(RGM_NEW(s.importance, s.sets));
    RGM_GO(simulate(&s, all, batch_size, seed));
    weigh(&s);
    while (low < high) { /* the share falls with the threshold; 0 cuts nothing and fits all */
        int64_t middle = low + (high - low + 1) / 2;
        double threshold = (double)middle * (double)s.batches / THRESHOLDS;
        if (share_that_fits(&s, threshold) >= success_ratio)
            low = middle;
        else
            high = middle - 1;
    }
    for (int64_t i = 0; i < s.sets; i++)
        limit->total[i] = limit_at(&s, i, (double)low * (double)s.batches / THRESHOLDS);
done:
    rgm_free(s.total);
    rgm_free(s.sorted);
    rgm_free(s.importance);
    return status;
}

rgm_status rgm_fit_or_skip_padding(rgm_size_constraints **out, const rgm_schema *schema,
                                   rgm_dataset *graphs, int64_t batch_size,
                                   int64_t min_per_component, int64_t sample_size,
                                   double success_ratio, uint64_t seed)
{
    rgm_status status = RGM_OK;
    rgm_size_constraints *limit = NULL;
    sizes all = {0};

    *out = NULL;
    RGM_GO(check_arguments(batch_size, min_per_component));
    if (sample_size < 1 || !(success_ratio > 0 && success_ratio <= 1)) {
        status = RGM_FAIL(RGM_ERR_ARG,
                          "sample_size is %" PRId64 ", success_ratio %g; they must be "
                          "at least 1, and in (0, 1]",
                          sample_size, success_ratio);
        goto done;
    }
    RGM_GO(rgm_size_constraints_create(&limit, schema));
    RGM_GO(read_sizes(&all, schema, graphs, sample_size));
    RGM_GO(fit(limit, &all, batch_size, sample_size, success_ratio, seed));
    set_minimum(limit, min_per_component);
    rgmi_constraints_make_room(limit);
    *out = limit;
    limit = NULL;
done:
    rgm_size_constraints_release(limit);
    rgm_free(all.size);
    return status;
}
