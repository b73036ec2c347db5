/*
 * From tf.train.Example to a graph: one Example or a batch of them straight to one merged graph.
 * Every value is copied once, from the decoded Example to its place. What an Example says is
 * checked against the schema here (kinds and counts), and as a graph by rgmi_graph_check()
 * (indices).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "example_codec.h"

/** What decoding carries about. */
typedef struct decoding {
    rgm_schema *schema;
    const rgmi_codec *codec;
    rgmi_codec_workspace *work;
    int64_t count; /* of Examples */
    const char *const *places;
    rgm_graph *graph;
} decoding;

static const rgm_example_field *found(const decoding *d, int64_t example, int64_t slot)
{
    return d->work->found[example * d->codec->slot_count + slot];
}

/* The error was in that Example. */
static rgm_status in_example(const decoding *d, int64_t example, rgm_status status)
{
    if (status < 0 && status != RGM_ERR_NOMEM && d->places != NULL && d->places[example] != NULL)
        rgm_error_prefix(status, "%s", d->places[example]);
    return status;
}

static const char *kind_name(rgm_feature_kind kind)
{
    static const char *const names[] = {"no list", "bytes_list", "float_list", "int64_list"};

    return names[kind];
}

static rgm_status check_kind(const rgm_example_field *field, const rgmi_codec_slot *slot,
                             rgm_feature_kind kind)
{
    if (field->kind == kind || (field->kind == RGM_FEATURE_NONE && field->count == 0))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA, "'%s' is a %s, expected %s", slot->key, kind_name(field->kind),
                    kind_name(kind));
}

/* A field of int64s; absent: count 0. */
static rgm_status get_ints(const int64_t **out, int64_t *count, const decoding *d, int64_t example,
                           int64_t slot)
{
    const rgm_example_field *field = found(d, example, slot);

    *out = NULL;
    *count = 0;
    if (field == NULL)
        return RGM_OK;
    RGM_TRY(check_kind(field, &d->codec->slots[slot], RGM_FEATURE_INTS));
    *out = field->ints;
    *count = field->count;
    return RGM_OK;
}

/* ---- Examples to fields ---- */

static rgm_status read_example(decoding *d, int64_t example, const rgm_str *data,
                               const char *prefix, int64_t prefix_size)
{
    rgm_example *decoded = d->work->examples[example];
    const rgm_example_field **fields = d->work->found + example * d->codec->slot_count;
    int64_t guess = 0;

    RGM_TRY(rgm_example_decode(decoded, data->data, data->size));
    memset(fields, 0, (size_t)d->codec->slot_count * sizeof *fields);
    for (int64_t i = 0; i < rgm_example_count(decoded); i++) {
        const rgm_example_field *field = rgm_example_feature(decoded, i);
        const char *key = field->key.data;
        int64_t size = field->key.size, slot;
        if (size < prefix_size || memcmp(key, prefix, (size_t)prefix_size) != 0)
            continue;
        slot = rgmi_codec_find(d->codec, key + prefix_size, size - prefix_size, guess);
        if (slot < 0)
            continue; /* more than the schema asks for is no error */
        fields[slot] = field;
        guess = slot + 1;
    }
    return RGM_OK;
}

/* Without any #size, the context says how many components there are. */
static int64_t components_of_context(const decoding *d, int64_t example)
{
    const rgm_set_schema *context = d->schema->sets[0];

    for (int64_t i = 0; i < context->feature_count; i++) {
        const rgm_feature_schema *feature = &context->features[i];
        const rgm_example_field *field = found(d, example, d->codec->sets[0].features[i].values);
        int64_t inner = rgmi_inner_count(feature);
        if (rgm_feature_last_ragged(feature) == 0 && field != NULL && inner > 0 &&
            field->count > 0 && field->count % inner == 0)
            return field->count / inner;
    }
    return 1;
}

/* Of all sets together, as each takes memory; the largest is named. */
static rgm_status check_totals(const decoding *d, const int64_t *totals, int64_t bytes)
{
    char what[RGM_SET_TITLE];
    int64_t declared = 0, most = 1;

    for (int64_t i = 1; i < d->codec->set_count; i++) {
        if (__builtin_add_overflow(declared, totals[i], &declared))
            declared = INT64_MAX;
        most = totals[i] > totals[most] ? i : most;
    }
    if (declared == 0)
        return RGM_OK;
    snprintf(what, sizeof what, "'%s'", d->codec->slots[d->codec->sets[most].size].key);
    return rgm_graph_check_declared(declared, bytes, what);
}

static rgm_status count_components(decoding *d, int64_t example, int64_t bytes)
{
    int64_t components = -1, *totals = d->work->totals + example * d->codec->set_count;
    const char *first = NULL;

    for (int64_t i = 1; i < d->codec->set_count; i++) {
        const int64_t *sizes;
        int64_t count, slot = d->codec->sets[i].size;
        RGM_TRY(get_ints(&sizes, &count, d, example, slot));
        if (count > 0 && components >= 0 && count != components)
            return RGM_FAIL(RGM_ERR_DATA, "'%s' has %" PRId64 " components, but '%s' has %" PRId64,
                            d->codec->slots[slot].key, count, first, components);
        if (count > 0 && components < 0) {
            components = count;
            first = d->codec->slots[slot].key;
        }
        totals[i] = 0;
        for (int64_t c = 0; c < count; c++)
            if (sizes[c] < 0 || sizes[c] > RGMI_MOST_ITEMS ||
                (totals[i] += sizes[c]) > RGMI_MOST_ITEMS)
                return RGM_FAIL(RGM_ERR_DATA, "'%s': size of component %" PRId64 " is %" PRId64,
                                d->codec->slots[slot].key, c, sizes[c]);
    }
    RGM_TRY(check_totals(d, totals, bytes));
    if (components < 0)
        components = components_of_context(d, example);
    for (int64_t i = 1; components > 1 && i < d->codec->set_count; i++) {
        const rgm_example_field *field = found(d, example, d->codec->sets[i].size);
        if (field == NULL || field->count == 0)
            return RGM_FAIL(RGM_ERR_DATA, "'%s' is missing, with %" PRId64 " components",
                            d->codec->slots[d->codec->sets[i].size].key, components);
    }
    totals[0] = components;
    d->work->components[example] = components;
    return RGM_OK;
}

/* ---- fields to the graph ---- */

static rgm_status make_items(decoding *d, int64_t set)
{
    int64_t at = 0;
    rgmi_codec_workspace *w = d->work;

    RGM_TRY(RGM_RESERVE(w->sizes, w->sizes_capacity, d->graph->components));
    for (int64_t e = 0; e < d->count; e++) {
        const int64_t *sizes = NULL;
        int64_t count = 0;
        if (set > 0)
            RGM_TRY(get_ints(&sizes, &count, d, e, d->codec->sets[set].size));
        for (int64_t c = 0; c < w->components[e]; c++)
            w->sizes[at++] = set == 0 ? 1 : count > 0 ? sizes[c] : 0;
    }
    return rgmi_items_create(&d->graph->sets[set].items, d->graph->components, w->sizes,
                             d->graph->components);
}

/* As many indices as edges, in every Example: sizes alone are not believed. */
static rgm_status check_end(const decoding *d, int64_t set, int64_t slot)
{
    for (int64_t e = 0; e < d->count; e++) {
        int64_t count, total = d->work->totals[e * d->codec->set_count + set];
        const int64_t *from;
        RGM_TRY(in_example(d, e, get_ints(&from, &count, d, e, slot)));
        if (count != total)
            return in_example(d, e,
                              RGM_FAIL(RGM_ERR_DATA,
                                       "'%s' has %" PRId64 " values for %" PRId64 " edges",
                                       d->codec->slots[slot].key, count, total));
    }
    return RGM_OK;
}

static rgm_status make_end(rgm_tensor **out, decoding *d, int64_t set, int64_t slot,
                           int64_t node_set)
{
    int64_t nodes = 0, *to;

    RGM_TRY(check_end(d, set, slot));
    RGM_TRY(rgmi_ints(out, d->graph->sets[set].items->total, NULL));
    to = rgm_tensor_i64(*out);
    for (int64_t e = 0; e < d->count; e++) {
        const int64_t *from;
        int64_t count;
        RGM_TRY(get_ints(&from, &count, d, e, slot));
        /* A wild index may wrap around; it stays outside its component, which is checked later. */
        for (int64_t i = 0; i < count; i++)
            to[i] = (int64_t)((uint64_t)from[i] + (uint64_t)nodes);
        to += count;
        nodes += d->work->totals[e * d->codec->set_count + node_set];
    }
    return RGM_OK;
}

static rgm_status make_edges(decoding *d, int64_t set)
{
    const rgmi_set_slots *slots = &d->codec->sets[set];
    rgmi_items *items = d->graph->sets[set].items;

    RGM_TRY(make_end(&items->source, d, set, slots->source, slots->source_set));
    return make_end(&items->target, d, set, slots->target, slots->target_set);
}

/* Is the feature there at all? An Example without items has no say. */
static rgm_status feature_is_there(bool *there, const decoding *d, int64_t set, int64_t feature)
{
    const rgm_feature_schema *schema = &d->schema->sets[set]->features[feature];
    const rgmi_feature_slots *slots = &d->codec->sets[set].features[feature];
    int64_t with = -1, without = -1;

    for (int64_t e = 0; e < d->count; e++) {
        const rgm_example_field *field = found(d, e, slots->values);
        bool has = field != NULL && field->kind != RGM_FEATURE_NONE;
        if (d->work->totals[e * d->codec->set_count + set] == 0)
            continue;
        for (int k = 1; k <= schema->rank && !has; k++)
            has = schema->shape[k - 1] < 0 && found(d, e, slots->lengths[k]) != NULL;
        if (has)
            with = e;
        else
            without = e;
    }
    *there = with >= 0 || without < 0;
    if (with >= 0 && without >= 0)
        return in_example(d, without,
                          RGM_FAIL(RGM_ERR_DATA,
                                   "'%s' is missing, which example %" PRId64 " of the batch has",
                                   d->codec->slots[slots->values].key, with));
    return RGM_OK;
}

/* Row lengths of an Example's feature and how many rows of values that makes. */
static rgm_status count_rows(int64_t *rows, const decoding *d, int64_t example, int64_t set,
                             int64_t feature)
{
    const rgm_feature_schema *schema = &d->schema->sets[set]->features[feature];
    const rgmi_feature_slots *slots = &d->codec->sets[set].features[feature];
    int64_t positions = d->work->totals[example * d->codec->set_count + set];

    for (int k = 1; k <= rgm_feature_last_ragged(schema); k++) {
        const int64_t *lengths;
        int64_t count, slot = slots->lengths[k], sum = 0;
        if (schema->shape[k - 1] >= 0) {
            if (__builtin_mul_overflow(positions, schema->shape[k - 1], &positions))
                positions = INT64_MAX; /* more than there can be lengths */
            continue;
        }
        RGM_TRY(get_ints(&lengths, &count, d, example, slot));
        if (count != positions)
            return RGM_FAIL(RGM_ERR_DATA, "'%s' has %" PRId64 " row lengths, expected %" PRId64,
                            d->codec->slots[slot].key, count, positions);
        for (int64_t i = 0; i < count; i++)
            if (lengths[i] < 0 || lengths[i] > RGMI_MOST_ITEMS ||
                (sum += lengths[i]) > RGMI_MOST_ITEMS)
                return RGM_FAIL(RGM_ERR_DATA, "'%s': row length %" PRId64 " is %" PRId64,
                                d->codec->slots[slot].key, i, lengths[i]);
        positions = sum;
    }
    *rows = positions;
    return RGM_OK;
}

static rgm_feature_kind kind_of(rgm_dtype dtype)
{
    return dtype == RGM_STRING                    ? RGM_FEATURE_BYTES
           : dtype == RGM_F32 || dtype == RGM_F64 ? RGM_FEATURE_FLOATS
                                                  : RGM_FEATURE_INTS;
}

rgm_feature_kind rgm_schema_example_kind(rgm_schema *schema, const char *key)
{
    const rgmi_codec_slot *slot;
    rgmi_codec *codec;
    int64_t at;

    if (rgmi_codec_get(&codec, schema) != RGM_OK)
        return RGM_FEATURE_NONE;
    at = rgmi_codec_find(codec, key, (int64_t)strlen(key), 0);
    if (at < 0)
        return RGM_FEATURE_NONE;
    slot = &codec->slots[at];
    return slot->kind == SLOT_VALUES
               ? kind_of(schema->sets[slot->set]->features[slot->feature].dtype)
               : RGM_FEATURE_INTS;
}

static rgm_status check_range(const rgmi_codec_slot *slot, const rgm_feature_schema *schema,
                              const rgm_example_field *field)
{
    int64_t lowest, highest;

    if (!rgmi_stored_range(&lowest, &highest, schema->stored_type))
        return RGM_OK;
    for (int64_t i = 0; i < field->count; i++)
        if (field->ints[i] < lowest || field->ints[i] > highest)
            return RGM_FAIL(RGM_ERR_DATA, "'%s': value %" PRId64 " is %" PRId64 ", beyond %s",
                            slot->key, i, field->ints[i], schema->stored_type);
    return RGM_OK;
}

/* One Example's values to their place at `to` (elements of the schema's dtype). */
static rgm_status copy_values(void *to, const rgmi_codec_slot *slot,
                              const rgm_feature_schema *schema, const rgm_example_field *field)
{
    size_t count = (size_t)field->count;

    if (count == 0)
        return RGM_OK;
    switch (schema->dtype) {
    case RGM_F32:
        memcpy(to, field->floats, count * sizeof(float));
        return RGM_OK;
    case RGM_F64:
        for (size_t i = 0; i < count; i++)
            ((double *)to)[i] = field->floats[i];
        return RGM_OK;
    case RGM_I64:
        memcpy(to, field->ints, count * sizeof(int64_t));
        return check_range(slot, schema, field);
    case RGM_I32:
        RGM_TRY(check_range(slot, schema, field));
        for (size_t i = 0; i < count; i++)
            ((int32_t *)to)[i] = (int32_t)field->ints[i];
        return RGM_OK;
    case RGM_BOOL:
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)to)[i] = field->ints[i] != 0;
        return RGM_OK;
    default:
        memcpy(to, field->bytes, count * sizeof(rgm_str));
        return RGM_OK;
    }
}

static rgm_status check_values(int64_t *rows, const decoding *d, int64_t e, int64_t set,
                               int64_t feature)
{
    const rgm_feature_schema *schema = &d->schema->sets[set]->features[feature];
    int64_t slot = d->codec->sets[set].features[feature].values, expected = 0, own = 0;
    const rgm_example_field *field = found(d, e, slot);
    int64_t count = field == NULL ? 0 : field->count;

    RGM_TRY(count_rows(&own, d, e, set, feature));
    if (field != NULL)
        RGM_TRY(check_kind(field, &d->codec->slots[slot], kind_of(schema->dtype)));
    if (__builtin_mul_overflow(own, rgmi_inner_count(schema), &expected) ||
        __builtin_add_overflow(*rows, own, rows) || count != expected)
        return RGM_FAIL(RGM_ERR_DATA,
                        "'%s' has %" PRId64 " values, expected %" PRId64 " (%" PRId64 " items)",
                        d->codec->slots[slot].key, count, expected,
                        d->work->totals[e * d->codec->set_count + set]);
    return RGM_OK;
}

static rgm_status make_lengths(rgm_tensor **out, const decoding *d, int64_t slot)
{
    int64_t total = 0, at = 0;

    for (int64_t e = 0; e < d->count; e++)
        total += found(d, e, slot) == NULL ? 0 : found(d, e, slot)->count;
    RGM_TRY(rgmi_ints(out, total, NULL));
    for (int64_t e = 0; e < d->count; e++) {
        const rgm_example_field *field = found(d, e, slot);
        if (field == NULL || field->count == 0)
            continue;
        memcpy(rgm_tensor_i64(*out) + at, field->ints, (size_t)field->count * sizeof(int64_t));
        at += field->count;
    }
    return RGM_OK;
}

static rgm_status make_values(rgm_tensor **out, const decoding *d, int64_t set, int64_t feature,
                              int64_t rows)
{
    const rgm_feature_schema *schema = &d->schema->sets[set]->features[feature];
    int64_t slot = d->codec->sets[set].features[feature].values, shape[RGM_MAX_RANK];
    int rank = rgm_feature_values_shape(shape, schema, rows);
    rgm_tensor *owned;
    char *to;

    RGM_TRY(rgm_tensor_create(out, schema->dtype, rank, shape));
    to = rgm_tensor_data(*out);
    for (int64_t e = 0; e < d->count; e++) {
        const rgm_example_field *field = found(d, e, slot);
        if (field == NULL)
            continue;
        RGM_TRY(in_example(d, e, copy_values(to, &d->codec->slots[slot], schema, field)));
        to += (size_t)field->count * rgm_dtype_size(schema->dtype);
    }
    if (schema->dtype != RGM_STRING)
        return RGM_OK;
    RGM_TRY(rgm_tensor_create_from(&owned, RGM_STRING, rank, shape, rgm_tensor_data(*out)));
    rgm_tensor_release(*out); /* pointed into the Examples */
    *out = owned;
    return RGM_OK;
}

static rgm_status make_feature(decoding *d, int64_t set, int64_t feature)
{
    const rgm_feature_schema *schema = &d->schema->sets[set]->features[feature];
    const rgmi_feature_slots *slots = &d->codec->sets[set].features[feature];
    rgm_status status = RGM_OK;
    rgm_feature made = {0};
    int64_t rows = 0;
    bool there;

    RGM_GO(feature_is_there(&there, d, set, feature));
    if (!there)
        return RGM_OK;
    for (int64_t e = 0; e < d->count; e++)
        RGM_GO(in_example(d, e, check_values(&rows, d, e, set, feature)));
    for (int k = 1; k <= schema->rank; k++)
        if (schema->shape[k - 1] < 0)
            RGM_GO(make_lengths(&made.row_lengths[k], d, slots->lengths[k]));
    RGM_GO(make_values(&made.values, d, set, feature, rows));
    RGM_GO(rgmi_column_create(&d->graph->sets[set].columns[feature], &made));
done:
    rgm_feature_clear(&made);
    return status;
}

static rgm_status make_graph(decoding *d)
{
    int64_t components = 0;

    for (int64_t e = 0; e < d->count; e++)
        components += d->work->components[e];
    RGM_TRY(rgm_graph_begin(&d->graph, d->schema, components, components));
    for (int64_t i = 0; i < d->codec->set_count; i++) {
        RGM_TRY(make_items(d, i));
        for (int64_t j = 0; j < d->schema->sets[i]->feature_count; j++)
            RGM_TRY(make_feature(d, i, j));
    }
    for (int64_t i = 0; i < d->codec->set_count; i++)
        if (d->codec->sets[i].source >= 0)
            RGM_TRY(make_edges(d, i));
    return rgm_graph_seal(d->graph);
}

/* A graph made of several Examples breaks a rule: find out which, and say it with its own numbers.
 */
static rgm_status blame(const decoding *d, rgm_status status, const rgm_str *examples,
                        const char *prefix)
{
    if (d->count == 1 || status != RGM_ERR_DATA)
        return in_example(d, 0, status);
    for (int64_t e = 0; e < d->count; e++) {
        rgm_graph *graph;
        RGM_TRY(rgm_graph_decode(&graph, d->schema, examples[e].data, examples[e].size, prefix,
                                 d->places == NULL ? NULL : d->places[e]));
        rgm_graph_release(graph);
    }
    return status;
}

rgm_status rgm_graph_decode_batch(rgm_graph **out, rgm_schema *schema, const rgm_str *examples,
                                  int64_t count, const char *prefix, const char *const *places)
{
    decoding d = {.schema = schema, .count = count, .places = places};
    int64_t prefix_size;
    rgmi_codec *codec;
    rgm_status status = RGM_OK;

    *out = NULL;
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "%lld Examples to make a graph of", (long long)count);
    prefix = prefix == NULL ? "" : prefix;
    prefix_size = (int64_t)strlen(prefix);
    RGM_GO(rgmi_codec_get(&codec, schema));
    d.codec = codec;
    RGM_GO(rgmi_workspace_take(&d.work, schema, count));
    for (int64_t e = 0; e < count; e++) {
        RGM_GO(in_example(&d, e, read_example(&d, e, &examples[e], prefix, prefix_size)));
        RGM_GO(in_example(&d, e, count_components(&d, e, examples[e].size)));
    }
    RGM_GO(make_graph(&d));
    status = rgmi_graph_check(d.graph);
    if (status < 0) {
        status = blame(&d, status, examples, prefix);
        goto done;
    }
    *out = d.graph;
    d.graph = NULL;
done:
    rgm_graph_release(d.graph);
    rgmi_workspace_give_back(schema, d.work);
    return status;
}

rgm_status rgm_graph_decode(rgm_graph **out, rgm_schema *schema, const void *data, int64_t size,
                            const char *prefix, const char *place)
{
    rgm_str example = {data, size};

    RGM_TRY(rgm_graph_decode_batch(out, schema, &example, 1, prefix, &place));
    return RGM_OK;
}
