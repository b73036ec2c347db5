/*
 * The keys of a schema: "nodes/paper.#size", "edges/cites.#source", "nodes/paper.words.d1". Names
 * may hold any byte, so a key is looked up among the expected ones and never taken apart.
 */
#include <stdlib.h>
#include <string.h>

#include "example_codec.h"

static rgm_status add_slot(rgmi_codec *codec, const rgm_schema *schema, int64_t set, slot_kind kind,
                           int64_t feature, int dim)
{
    const rgm_set_schema *s = schema->sets[set];
    const char *name = kind == SLOT_SIZE     ? "#size"
                       : kind == SLOT_SOURCE ? "#source"
                       : kind == SLOT_TARGET ? "#target"
                                             : s->features[feature].name;
    rgmi_codec_slot slot = {.kind = kind, .set = set, .feature = feature, .dim = dim};
    rgm_text key = {0};
    rgm_status status = RGM_OK;

    if (s->piece == RGM_CONTEXT_PIECE)
        RGM_GO(rgm_text_printf(&key, "context/%s", name));
    else
        RGM_GO(rgm_text_printf(&key, "%s/%s.%s", s->piece == RGM_NODE_SET ? "nodes" : "edges",
                               s->name, name));
    if (kind == SLOT_LENGTHS)
        RGM_GO(rgm_text_printf(&key, ".d%d", dim));
    RGM_GO(RGM_RESERVE(codec->slots, codec->slot_capacity, codec->slot_count + 1));
    slot.key = key.data;
    slot.size = key.size;
    codec->slots[codec->slot_count++] = slot;
    return RGM_OK;
done:
    rgm_text_clear(&key);
    return status;
}

static rgm_status add_slots(rgmi_codec *codec, const rgm_schema *schema, int64_t set)
{
    const rgm_set_schema *s = schema->sets[set];

    if (s->piece != RGM_CONTEXT_PIECE)
        RGM_TRY(add_slot(codec, schema, set, SLOT_SIZE, 0, 0));
    if (s->piece == RGM_EDGE_SET) {
        RGM_TRY(add_slot(codec, schema, set, SLOT_SOURCE, 0, 0));
        RGM_TRY(add_slot(codec, schema, set, SLOT_TARGET, 0, 0));
    }
    for (int64_t i = 0; i < s->feature_count; i++) {
        RGM_TRY(add_slot(codec, schema, set, SLOT_VALUES, i, 0));
        for (int k = 1; k <= s->features[i].rank; k++)
            if (s->features[i].shape[k - 1] < 0)
                RGM_TRY(add_slot(codec, schema, set, SLOT_LENGTHS, i, k));
    }
    return RGM_OK;
}

static int compare_keys(const char *a, int64_t a_size, const char *b, int64_t b_size)
{
    int order = memcmp(a, b, (size_t)(a_size < b_size ? a_size : b_size));

    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

static int by_key(const void *a, const void *b)
{
    const rgmi_codec_slot *x = a, *y = b;

    return compare_keys(x->key, x->size, y->key, y->size);
}

/* Backwards: from a set's feature to its slots. */
static rgm_status index_slots(rgmi_codec *codec, const rgm_schema *schema)
{
    RGM_TRY(RGM_NEW(codec->sets, schema->set_count));
    codec->set_count = schema->set_count;
    for (int64_t i = 0; i < schema->set_count; i++) {
        const rgm_set_schema *set = schema->sets[i];
        rgmi_set_slots *slots = &codec->sets[i];
        slots->size = slots->source = slots->target = -1;
        slots->source_set = slots->target_set = -1;
        if (set->piece == RGM_EDGE_SET) {
            slots->source_set = rgm_schema_index(schema, RGM_NODE_SET, set->source);
            slots->target_set = rgm_schema_index(schema, RGM_NODE_SET, set->target);
        }
        RGM_TRY(RGM_NEW(slots->features, set->feature_count));
    }
    for (int64_t i = 0; i < codec->slot_count; i++) {
        const rgmi_codec_slot *slot = &codec->slots[i];
        rgmi_set_slots *set = &codec->sets[slot->set];
        switch (slot->kind) {
        case SLOT_SIZE:
            set->size = i;
            break;
        case SLOT_SOURCE:
            set->source = i;
            break;
        case SLOT_TARGET:
            set->target = i;
            break;
        case SLOT_VALUES:
            set->features[slot->feature].values = i;
            break;
        case SLOT_LENGTHS:
            set->features[slot->feature].lengths[slot->dim] = i;
            break;
        }
    }
    return RGM_OK;
}

static rgm_status codec_create(rgmi_codec **out, const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgmi_codec *codec = NULL;

    RGM_GO(rgm_schema_check(schema));
    RGM_GO(RGM_NEW(codec, 1));
    for (int64_t i = 0; i < schema->set_count; i++)
        RGM_GO(add_slots(codec, schema, i));
    if (codec->slot_count > 0) /* an empty schema has no slots at all */
        qsort(codec->slots, (size_t)codec->slot_count, sizeof codec->slots[0], by_key);
    for (int64_t i = 1; i < codec->slot_count; i++)
        if (by_key(&codec->slots[i - 1], &codec->slots[i]) == 0) {
            status = RGM_FAIL(RGM_ERR_DATA, "two parts of the schema share the Example key '%s'",
                              codec->slots[i].key);
            goto done;
        }
    RGM_GO(index_slots(codec, schema));
    *out = codec;
    codec = NULL;
done:
    rgmi_codec_release(codec);
    return status;
}

rgm_status rgmi_codec_get(rgmi_codec **out, rgm_schema *schema)
{
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&schema->lock);
    if (schema->codec == NULL)
        status = codec_create(&schema->codec, schema);
    *out = schema->codec;
    pthread_mutex_unlock(&schema->lock);
    return status;
}

int64_t rgmi_codec_find(const rgmi_codec *codec, const char *key, int64_t size, int64_t guess)
{
    int64_t low = 0, high = codec->slot_count;

    if (guess < high && codec->slots[guess].size == size &&
        memcmp(codec->slots[guess].key, key, (size_t)size) == 0)
        return guess;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = compare_keys(key, size, codec->slots[middle].key, codec->slots[middle].size);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}
