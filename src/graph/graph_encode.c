/*
 * From a graph to tf.train.Example with TF-GNN's keys. Nothing is narrowed in silence: a number
 * that the format or the stored type cannot hold is an error, where TF-GNN rounds doubles to
 * floats.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "example_codec.h"

/** Fields on their way to the encoder, and what was converted for them. */
typedef struct encoding {
    const rgm_graph *graph;
    const rgmi_codec *codec;
    const char *prefix;
    rgm_arena *arena;
    rgm_example_field *fields;
    int64_t count;
} encoding;

static rgm_status allocate(void **out, encoding *e, int64_t count, size_t size)
{
    *out = rgm_arena_alloc(e->arena, (size_t)count * size);
    return *out != NULL
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld values to encode", (long long)count);
}

/* The next field, of that slot's key. */
static rgm_status add_field(rgm_example_field **out, encoding *e, int64_t slot,
                            rgm_feature_kind kind, int64_t count)
{
    const rgmi_codec_slot *s = &e->codec->slots[slot];
    int64_t prefix = (int64_t)strlen(e->prefix);
    void *key;

    RGM_TRY(allocate(&key, e, prefix + s->size + 1, 1));
    memcpy(key, e->prefix, (size_t)prefix);
    memcpy((char *)key + prefix, s->key, (size_t)s->size);
    *out = &e->fields[e->count++];
    (*out)->key = (rgm_str){key, prefix + s->size};
    (*out)->kind = kind;
    (*out)->count = count;
    return RGM_OK;
}

static rgm_status add_ints(encoding *e, int64_t slot, const int64_t *numbers, int64_t count)
{
    rgm_example_field *field;

    RGM_TRY(add_field(&field, e, slot, RGM_FEATURE_INTS, count));
    field->ints = numbers;
    return RGM_OK;
}

static rgm_status convert_floats(rgm_example_field *field, encoding *e, const rgmi_codec_slot *slot,
                                 const rgm_tensor *values)
{
    const double *from = rgm_tensor_f64(values);
    float *to;
    void *memory;

    RGM_TRY(allocate(&memory, e, field->count, sizeof *to));
    to = memory;
    for (int64_t i = 0; i < field->count; i++) {
        to[i] = (float)from[i];
        if ((double)to[i] != from[i] && !isnan(from[i]))
            return RGM_FAIL(RGM_ERR_DATA,
                            "'%s': value %" PRId64 " is %.17g, which a float_list "
                            "rounds to %.9g; declare the feature DT_FLOAT to accept "
                            "rounding",
                            slot->key, i, from[i], (double)to[i]);
    }
    field->floats = to;
    return RGM_OK;
}

static rgm_status convert_ints(rgm_example_field *field, encoding *e, const rgmi_codec_slot *slot,
                               const rgm_tensor *values, const rgm_feature_schema *schema)
{
    int64_t lowest, highest;
    bool bounded = rgmi_stored_range(&lowest, &highest, schema->stored_type);
    void *memory;

    RGM_TRY(allocate(&memory, e, field->count, sizeof(int64_t)));
    field->ints = memory;
    for (int64_t i = 0; i < field->count; i++) {
        int64_t number = schema->dtype == RGM_BOOL  ? rgm_tensor_bool(values)[i] != 0
                         : schema->dtype == RGM_I32 ? rgm_tensor_i32(values)[i]
                                                    : rgm_tensor_i64(values)[i];
        if (bounded && (number < lowest || number > highest))
            return RGM_FAIL(RGM_ERR_DATA, "'%s': value %" PRId64 " is %" PRId64 ", beyond %s",
                            slot->key, i, number, schema->stored_type);
        ((int64_t *)memory)[i] = number;
    }
    return RGM_OK;
}

static rgm_status add_feature(encoding *e, int64_t set, int64_t index)
{
    const rgm_feature_schema *schema = &e->graph->schema->sets[set]->features[index];
    const rgmi_feature_slots *slots = &e->codec->sets[set].features[index];
    const rgmi_codec_slot *slot = &e->codec->slots[slots->values];
    rgm_example_field *field;
    const rgm_feature *feature;
    const rgm_tensor *values;
    int64_t count;

    if (e->graph->sets[set].columns[index] == NULL)
        return RGM_OK;
    feature = &e->graph->sets[set].columns[index]->value;
    values = feature->values;
    for (int k = 1; k <= schema->rank; k++)
        if (schema->shape[k - 1] < 0)
            RGM_TRY(add_ints(e, slots->lengths[k], rgm_tensor_i64(feature->row_lengths[k]),
                             rgm_tensor_count(feature->row_lengths[k])));
    count = rgm_tensor_count(values);
    switch (schema->dtype) {
    case RGM_F32:
        RGM_TRY(add_field(&field, e, slots->values, RGM_FEATURE_FLOATS, count));
        field->floats = rgm_tensor_f32(values);
        return RGM_OK;
    case RGM_F64:
        RGM_TRY(add_field(&field, e, slots->values, RGM_FEATURE_FLOATS, count));
        return convert_floats(field, e, slot, values);
    case RGM_STRING:
        RGM_TRY(add_field(&field, e, slots->values, RGM_FEATURE_BYTES, count));
        field->bytes = rgm_tensor_str(values);
        return RGM_OK;
    default:
        RGM_TRY(add_field(&field, e, slots->values, RGM_FEATURE_INTS, count));
        return convert_ints(field, e, slot, values, schema);
    }
}

static rgm_status add_set(encoding *e, int64_t set)
{
    const rgmi_set_slots *slots = &e->codec->sets[set];
    const rgmi_items *items = e->graph->sets[set].items;

    if (slots->size >= 0)
        RGM_TRY(add_ints(e, slots->size, items->sizes, items->components));
    if (slots->source >= 0) {
        RGM_TRY(add_ints(e, slots->source, rgm_tensor_i64(items->source), items->total));
        RGM_TRY(add_ints(e, slots->target, rgm_tensor_i64(items->target), items->total));
    }
    for (int64_t i = 0; i < e->graph->schema->sets[set]->feature_count; i++)
        RGM_TRY(add_feature(e, set, i));
    return RGM_OK;
}

rgm_status rgm_graph_encode(rgm_text *out, const rgm_graph *graph, const char *prefix)
{
    encoding e = {.graph = graph, .prefix = prefix == NULL ? "" : prefix};
    rgm_status status = RGM_OK;
    rgmi_codec *codec;

    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_codec_get(&codec, graph->schema));
    e.codec = codec;
    RGM_GO(rgm_arena_create(&e.arena));
    RGM_GO(RGM_NEW(e.fields, codec->slot_count));
    for (int64_t i = 0; i < graph->set_count; i++)
        RGM_GO(add_set(&e, i));
    RGM_GO(rgm_example_encode(out, e.fields, e.count));
done:
    rgm_free(e.fields);
    rgm_arena_release(e.arena);
    return status;
}
