/*
 * The keys of a schema in tf.train.Example, sorted as they are written, and workspaces that
 * decoding uses again and again. Made at a schema's first use and kept in it.
 */
#ifndef RGM_GRAPH_EXAMPLE_CODEC_H
#define RGM_GRAPH_EXAMPLE_CODEC_H

#include "graph_internal.h"

typedef enum slot_kind { SLOT_SIZE, SLOT_SOURCE, SLOT_TARGET, SLOT_VALUES, SLOT_LENGTHS } slot_kind;

/** One key that an Example of this schema may have, without prefix. */
typedef struct rgmi_codec_slot {
    char *key;
    int64_t size; /* of key */
    slot_kind kind;
    int64_t set, feature;
    int dim; /* SLOT_LENGTHS: the ragged dim */
} rgmi_codec_slot;

/** Where one feature's fields are among the slots. */
typedef struct rgmi_feature_slots {
    int64_t values, lengths[RGM_MAX_RANK];
} rgmi_feature_slots;

typedef struct rgmi_set_slots {
    int64_t size, source, target; /* -1: none */
    int64_t source_set, target_set;
    rgmi_feature_slots *features;
} rgmi_set_slots;

/** Decoded Examples and what was found in them, while one graph is made of them. */
typedef struct rgmi_codec_workspace {
    struct rgmi_codec_workspace *next; /* in the codec's list of idle ones */
    rgm_example **examples;
    int64_t example_count, example_capacity;
    const rgm_example_field **found; /* [examples][slots] */
    int64_t found_capacity;
    int64_t *totals; /* [examples][sets]: items */
    int64_t totals_capacity;
    int64_t *components; /* [examples] */
    int64_t components_capacity;
    int64_t *sizes; /* of a set, all examples */
    int64_t sizes_capacity;
} rgmi_codec_workspace;

struct rgmi_codec {
    rgmi_codec_slot *slots; /* by key */
    int64_t slot_count, slot_capacity;
    rgmi_set_slots *sets;
    int64_t set_count;
    rgmi_codec_workspace *idle;
};

/** The schema's codec, made now if this is its first use. Borrowed. */
rgm_status rgmi_codec_get(rgmi_codec **out, rgm_schema *schema);
rgm_status rgmi_workspace_take(rgmi_codec_workspace **out, rgm_schema *schema, int64_t examples);
void rgmi_workspace_give_back(rgm_schema *schema, rgmi_codec_workspace *workspace);
/** Place of a key (prefix taken off), first tried at `guess`; -1 if the schema has no such key. */
int64_t rgmi_codec_find(const rgmi_codec *codec, const char *key, int64_t size, int64_t guess);

#endif
