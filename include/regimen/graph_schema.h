/*
 * graph: the schema (TF-GNN's GraphSchema): which sets a graph has, how edge sets join node sets,
 * dtype and shape of every feature.
 */
#ifndef REGIMEN_GRAPH_SCHEMA_H
#define REGIMEN_GRAPH_SCHEMA_H

#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RGM_HIDDEN_STATE "hidden_state"
#define RGM_READOUT      "_readout"
/** A text feature: what the data's own files call an item, for tables of predictions. */
#define RGM_ITEM_NAME "#name"

/** Which end of an edge. Context is the graph component. */
typedef enum rgm_tag { RGM_SOURCE = 0, RGM_TARGET = 1, RGM_CONTEXT = 2 } rgm_tag;
static inline rgm_tag rgm_tag_reverse(rgm_tag tag)
{
    return tag == RGM_SOURCE ? RGM_TARGET : RGM_SOURCE;
}

/** One feature. shape is per item: rank 0 is a scalar; a dim of -1 is ragged. */
typedef struct rgm_feature_schema {
    char *name, *description, *source;
    rgm_dtype dtype;   /* in memory: f32, f64, i32, i64, bool, string       */
    char *stored_type; /* the schema's word, e.g. "DT_UINT64"               */
    int rank;
    int64_t shape[RGM_MAX_RANK - 1];
    int64_t vocabulary; /* sparse rows: an i64 feature of shape [-1] that lists the columns of each
                           item's ones has this many columns (0: not such a feature); written as
                           source: "one_hot:<n>" */
} rgm_feature_schema;

typedef enum rgm_piece { RGM_CONTEXT_PIECE, RGM_NODE_SET, RGM_EDGE_SET } rgm_piece;

/**
 * One metadata.extra of a set; {"edge_type", "reversed"} swaps the ends when a CSV table is read,
 * {"directed", "true"} says that an OGB folder's edges were read without their reverses.
 */
typedef struct rgm_key_value {
    char *key, *value;
} rgm_key_value;

typedef struct rgm_set_schema {
    rgm_piece piece;
    char *name, *description;
    char *source, *target; /* edge sets: node set names */
    rgm_feature_schema *features;
    int64_t feature_count;
    char **context; /* names of context features that are about this set */
    int64_t context_count;
    char *filename;       /* metadata */
    int64_t cardinality;  /* metadata, -1 unknown */
    rgm_key_value *extra; /* metadata */
    int64_t extra_count;
} rgm_set_schema;

/**
 * Read-only outside its layer; counted. The context always exists, possibly without features. Sets
 * are in the order context, node sets, edge sets; within a piece, and among features, in the order
 * in which they were added. A schema must be complete before the first graph is made with it.
 */
typedef struct rgm_schema rgm_schema;

/**
 * Parse GraphSchema text; errors "name:line:column: ...". Checked as rgm_schema_check() does.
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_schema_parse(rgm_schema **out, const char *text, int64_t size, const char *name);
rgm_status rgm_schema_load(rgm_schema **out, const char *path);
rgm_status rgm_schema_save(const rgm_schema *schema, const char *path);
/** To FOLDER/schema.pbtxt. Errors: those of rgm_schema_save(). */
rgm_status rgm_schema_save_in(const rgm_schema *schema, const char *folder);
rgm_status rgm_schema_print(rgm_text *out, const rgm_schema *schema);
/** An empty schema to add sets and features to. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_schema_create(rgm_schema **out);
rgm_status rgm_schema_add_node_set(rgm_schema *schema, const char *name);
rgm_status rgm_schema_add_edge_set(rgm_schema *schema, const char *name, const char *source,
                                   const char *target);
/** set NULL: context. Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM. */
rgm_status rgm_schema_add_feature(rgm_schema *schema, rgm_piece piece, const char *set,
                                  const char *feature, rgm_dtype dtype, int rank,
                                  const int64_t *shape);
/**
 * Add a copy of a feature under another name to the set at index `set`. Errors: RGM_ERR_ARG,
 * _NOMEM.
 */
rgm_status rgm_schema_add_feature_copy(rgm_schema *schema, int64_t set, const char *name,
                                       const rgm_feature_schema *feature);
/**
 * Mark an i64 feature of shape [-1] as sparse rows: it lists the columns of each item's ones.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_schema_set_one_hot(rgm_schema *schema, rgm_piece piece, const char *set,
                                  const char *feature, int64_t vocabulary);
rgm_status rgm_schema_set_metadata(rgm_schema *schema, rgm_piece piece, const char *set,
                                   const char *filename, int64_t cardinality);
/** One more metadata.extra. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM. */
rgm_status rgm_schema_add_extra(rgm_schema *schema, rgm_piece piece, const char *set,
                                const char *key, const char *value);
bool rgm_set_has_extra(const rgm_set_schema *set, const char *key, const char *value);
/** A copy to change. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_schema_copy(rgm_schema **out, const rgm_schema *schema);
/** TF-GNN's validate_schema: dtypes, reserved names, edge ends, readout structure. RGM_ERR_DATA. */
rgm_status rgm_schema_check(const rgm_schema *schema);
/**
 * Check that `actual` has every set and feature of `required`, with the same dtype and shape;
 * RGM_ERR_DATA if not.
 */
rgm_status rgm_schema_check_has(const rgm_schema *actual, const rgm_schema *required);
/** info.graph_type ("FULL", "SUBGRAPH", ...; NULL: not said) and info.root_set. */
const char *rgm_schema_graph_type(const rgm_schema *schema);
int64_t rgm_schema_root_set_count(const rgm_schema *schema);
const char *rgm_schema_root_set(const rgm_schema *schema, int64_t i);
rgm_schema *rgm_schema_retain(rgm_schema *schema);
void rgm_schema_release(rgm_schema *schema);
int64_t rgm_schema_set_count(const rgm_schema *schema); /* all pieces, context first */
const rgm_set_schema *rgm_schema_set(const rgm_schema *schema, int64_t i);
const rgm_set_schema *rgm_schema_find(const rgm_schema *schema, rgm_piece piece, const char *name);
/** Index of a set in the schema, -1 if there is none. For the context the name is ignored. */
int64_t rgm_schema_index(const rgm_schema *schema, rgm_piece piece, const char *name);
/** The set of `piece` that the name may have meant, for the end of a message. */
rgm_hint rgm_schema_hint(const rgm_schema *schema, rgm_piece piece, const char *name);
const rgm_feature_schema *rgm_set_feature(const rgm_set_schema *set, const char *name);
/** Index of a feature in its set, -1 if there is none. */
int64_t rgm_set_feature_index(const rgm_set_schema *set, const char *name);
bool rgm_feature_is_ragged(const rgm_feature_schema *feature);
#define RGM_SET_TITLE 128
/** "context", "node set 'paper'", "edge set 'cites'"; for messages. */
const char *rgm_set_title(const rgm_set_schema *set, char *buffer, size_t size);
/** "_readout" of "_readout:train"; NULL for a normal name. Writes at most size bytes. */
const char *rgm_aux_prefix(const char *set_name, char *buffer, size_t size);
bool rgm_is_aux_set(const char *set_name);
bool rgm_is_readout_set(const char *set_name);
/**
 * "_readout:a/seed/x" is a readout edge set of readout set "_readout:a" with key "seed": writes
 * lengths of both parts. False for other names.
 */
bool rgm_readout_name(size_t *set_length, size_t *key_begin, size_t *key_length, const char *name);
/** "cites" of "_shadow/cites", or NULL. */
const char *rgm_shadow_of(const char *node_set);

#ifdef __cplusplus
}
#endif
#endif
