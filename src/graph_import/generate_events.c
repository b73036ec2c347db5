/*
 * Accounts and what happened to them, with a label that only the right past tells: the commonest
 * kind among the `recent` last events before the account is asked about. Older events are of random
 * kinds and say nothing. What follows tells a training account's label outright and is random for
 * the others, as at serving time, when the future has not happened: who takes such edges learns
 * them and guesses afterwards. A share `noise` of labels is another kind, so that 1 - noise is the
 * best accuracy there is.
 */
#include "import_internal.h"

#include <string.h>

#define TIMES INT64_C(1000000)

typedef struct events {
    const rgm_events_options *options;
    rgm_rng rng;
    uint64_t drawn;
    int64_t count; /* of events */
    int64_t *asked, *label, *account, *time;
    float *kind; /* [events, kinds] */
} events;

static int64_t below(events *self, int64_t n)
{
    return (int64_t)rgm_rng_below(&self->rng, self->drawn++, (uint64_t)n);
}

static void clear(events *self)
{
    rgm_free(self->asked);
    rgm_free(self->label);
    rgm_free(self->account);
    rgm_free(self->time);
    rgm_free(self->kind);
}

static rgm_status check_options(const rgm_events_options *o)
{
    if (o->kinds < 2 || o->recent < 1 || o->past < o->recent || o->future < 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "%lld kinds, the last %lld of %lld past events, %lld future ones; at least "
                        "2 kinds, 1 recent event and as many past ones are needed",
                        (long long)o->kinds, (long long)o->recent, (long long)o->past,
                        (long long)o->future);
    if (!(o->noise >= 0 && o->noise <= 1))
        return RGM_FAIL(RGM_ERR_ARG, "noise is %g, a share of 0..1", o->noise);
    if (o->train < 1 || o->valid < 0 || o->train + o->valid >= o->accounts ||
        o->accounts > INT64_C(1000000000) / (o->past + o->future))
        return RGM_FAIL(RGM_ERR_ARG,
                        "%lld + %lld training and validation accounts of %lld, with %lld events "
                        "each; some must be left to test on, and a billion events are the most",
                        (long long)o->train, (long long)o->valid, (long long)o->accounts,
                        (long long)(o->past + o->future));
    return RGM_OK;
}

/* The commonest kind; of equals the lowest. */
static int64_t commonest(const int64_t *kinds, int64_t recent, int64_t *counts, int64_t kind_count)
{
    int64_t best = 0;

    memset(counts, 0, (size_t)kind_count * sizeof *counts);
    for (int64_t i = 0; i < recent; i++)
        counts[kinds[i]]++;
    for (int64_t k = 1; k < kind_count; k++)
        if (counts[k] > counts[best])
            best = k;
    return best;
}

/* One account's events, in the order of time; `kinds` [past], `counts` [kinds] are memory. */
static void make_account(events *self, int64_t account, int64_t *kinds, int64_t *counts)
{
    const rgm_events_options *o = self->options;
    int64_t first = account * (o->past + o->future);
    int64_t asked = TIMES + below(self, TIMES), best, label;

    for (int64_t i = 0; i < o->past; i++)
        kinds[i] = below(self, o->kinds);
    best = commonest(kinds + o->past - o->recent, o->recent, counts, o->kinds);
    label = rgm_rng_f64(&self->rng, self->drawn++) < o->noise
                ? (best + 1 + below(self, o->kinds - 1)) % o->kinds
                : best;
    for (int64_t i = 0; i < o->past + o->future; i++) {
        /* A slot of time for each event keeps their order. */
        int64_t ago = i < o->past ? o->past - i : i - o->past;
        int64_t within =
            i < o->past ? -ago * 1000 + below(self, 1000) : ago * 1000 + below(self, 1000);
        int64_t kind = i < o->past ? kinds[i] : account < o->train ? label : below(self, o->kinds);

        self->account[first + i] = account;
        self->time[first + i] = asked + within;
        self->kind[(first + i) * o->kinds + kind] = 1;
    }
    self->asked[account] = asked;
    self->label[account] = label;
}

static rgm_status make_events(events *self)
{
    const rgm_events_options *o = self->options;
    rgm_status status = RGM_OK;
    int64_t *kinds = NULL, *counts = NULL;

    RGM_GO(RGM_NEW(self->asked, o->accounts));
    RGM_GO(RGM_NEW(self->label, o->accounts));
    RGM_GO(RGM_NEW(self->account, self->count));
    RGM_GO(RGM_NEW(self->time, self->count));
    RGM_GO(RGM_NEW(self->kind, self->count * o->kinds));
    RGM_GO(RGM_NEW(kinds, o->past));
    RGM_GO(RGM_NEW(counts, o->kinds));
    for (int64_t i = 0; i < o->accounts; i++)
        make_account(self, i, kinds, counts);
done:
    rgm_free(kinds);
    rgm_free(counts);
    return status;
}

static rgm_status make_schema(rgm_schema **out, const rgm_events_options *o)
{
    RGM_TRY(rgm_schema_create(out));
    RGM_TRY(rgm_schema_add_node_set(*out, "account"));
    RGM_TRY(rgm_schema_add_node_set(*out, "event"));
    RGM_TRY(rgm_schema_add_edge_set(*out, "has", "account", "event"));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "account", "asked", RGM_I64, 0, NULL));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "account", "label", RGM_I64, 0, NULL));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "event", "kind", RGM_F32, 1, &o->kinds));
    return rgm_schema_add_feature(*out, RGM_EDGE_SET, "has", "time", RGM_I64, 0, NULL);
}

static rgm_status give(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                       const char *name, rgm_dtype dtype, int rank, const int64_t *shape,
                       const void *values)
{
    rgm_feature feature = {0};
    rgm_status status;

    RGM_TRY(rgm_tensor_create_from(&feature.values, dtype, rank, shape, values));
    status = rgm_graph_builder_feature(builder, piece, set, name, &feature);
    rgm_feature_clear(&feature);
    return status;
}

/* Edges stand in a random order, as logs of several sources do. */
static rgm_status give_edges(rgm_graph_builder *builder, const events *self)
{
    rgm_status status = RGM_OK;
    rgm_rng rng = rgm_rng_stream((uint64_t)self->options->seed, "events/order", 0);
    rgm_tensor *source = NULL, *target = NULL;
    rgm_feature time = {0};

    RGM_GO(rgm_tensor_create(&source, RGM_I64, 1, &self->count));
    RGM_GO(rgm_tensor_create(&target, RGM_I64, 1, &self->count));
    RGM_GO(rgm_tensor_create(&time.values, RGM_I64, 1, &self->count));
    rgm_rng_permutation(&rng, rgm_tensor_i64(target), self->count);
    for (int64_t e = 0; e < self->count; e++) {
        int64_t event = rgm_tensor_i64(target)[e];
        rgm_tensor_i64(source)[e] = self->account[event];
        rgm_tensor_i64(time.values)[e] = self->time[event];
    }
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "has", &self->count));
    RGM_GO(rgm_graph_builder_edges(builder, "has", source, target));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_EDGE_SET, "has", "time", &time));
done:
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    rgm_feature_clear(&time);
    return status;
}

static rgm_status make_graph(rgm_graph **out, rgm_schema *schema, const events *self)
{
    const rgm_events_options *o = self->options;
    rgm_status status = RGM_OK;
    rgm_graph_builder *builder = NULL;

    RGM_GO(rgm_graph_builder_create(&builder, schema, 1));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "account", &o->accounts));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "event", &self->count));
    RGM_GO(give(builder, RGM_NODE_SET, "account", "asked", RGM_I64, 1, &o->accounts, self->asked));
    RGM_GO(give(builder, RGM_NODE_SET, "account", "label", RGM_I64, 1, &o->accounts, self->label));
    RGM_GO(give(builder, RGM_NODE_SET, "event", "kind", RGM_F32, 2,
                (int64_t[]){self->count, o->kinds}, self->kind));
    RGM_GO(give_edges(builder, self));
    RGM_GO(rgm_graph_builder_finish(out, builder));
done:
    rgm_graph_builder_release(builder);
    return status;
}

/* Accounts first to last: training, validation, test. */
static rgm_status make_split(rgm_graph_data *out, const rgm_events_options *o)
{
    const int64_t sizes[] = {o->train, o->valid, o->accounts - o->train - o->valid};
    rgm_tensor **parts[] = {&out->train, &out->valid, &out->test};
    int64_t node = 0;

    for (int i = 0; i < 3; i++) {
        RGM_TRY(rgm_tensor_create(parts[i], RGM_I64, 1, &sizes[i]));
        for (int64_t k = 0; k < sizes[i]; k++)
            rgm_tensor_i64(*parts[i])[k] = node++;
    }
    return rgm_strdup(&out->split_set, "account");
}

static rgm_status make_all(rgm_graph_data *out, events *self)
{
    RGM_TRY(make_events(self));
    RGM_TRY(make_schema(&out->schema, self->options));
    RGM_TRY(RGM_NEW(out->graphs, 1));
    out->graph_count = 1;
    RGM_TRY(make_graph(&out->graphs[0], out->schema, self));
    return make_split(out, self->options);
}

rgm_status rgm_generate_events(rgm_graph_data *out, const rgm_events_options *options)
{
    rgm_events_options defaults = RGM_EVENTS_OPTIONS_INIT;
    events self = {.options = options ? options : &defaults};
    rgm_status status;

    memset(out, 0, sizeof *out);
    RGM_TRY(check_options(self.options));
    self.rng = rgm_rng_stream((uint64_t)self.options->seed, "events", 0);
    self.count = self.options->accounts * (self.options->past + self.options->future);
    status = make_all(out, &self);
    clear(&self);
    if (status != RGM_OK)
        rgm_graph_data_clear(out);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}
