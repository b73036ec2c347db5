/*
 * What the files of the graph layer share: the innards of schema and graph. A graph is a schema
 * and, for each of its sets in the schema's order, two counted parts: the items (sizes, edges, and
 * what is made of them once: patterns, masks) and a column for each feature. Graphs made from one
 * another share these parts by pointer, so that a pattern stays one object for all of them.
 */
#ifndef RGM_GRAPH_INTERNAL_H
#define RGM_GRAPH_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <regimen/graph_parts.h>

/* ---- schema ---- */

/** Example keys of a schema and workspaces to decode with; see example.c. */
typedef struct rgmi_codec rgmi_codec;

struct rgm_schema {
    atomic_int_fast64_t references;
    rgm_set_schema **sets; /* context, node sets, edge sets */
    int64_t set_count, set_capacity;
    rgm_map *names[2]; /* node sets, edge sets: of each piece by name its place there */
    char *graph_type;
    char **root_sets;
    int64_t root_set_count;
    pthread_mutex_t lock; /* guards codec */
    rgmi_codec *codec;
};

void rgmi_codec_release(rgmi_codec *codec);

/** rgm_schema_index(), or RGM_ERR_NOT_FOUND naming the nearest set. */
rgm_status rgmi_set_require(int64_t *index, const rgm_schema *schema, rgm_piece piece,
                            const char *name);
/** RGM_ERR_NOT_FOUND naming the nearest feature. */
rgm_status rgmi_feature_require(int64_t *index, const rgm_set_schema *set, const char *name);
/** Without that feature. */
void rgmi_schema_drop_feature(rgm_schema *schema, int64_t set, int64_t feature);
/** The schema's word for a dtype in memory, "DT_FLOAT" for f32. */
const char *rgmi_stored_type(rgm_dtype dtype);
/** The word of a number of tensorflow.DataType, or NULL. */
const char *rgmi_stored_of_number(int64_t number);
/** The dtype in memory of a schema's word; false: no such word. */
bool rgmi_stored_find(rgm_dtype *out, const char *name);
/** The same, RGM_ERR_DATA naming the nearest word. */
rgm_status rgmi_stored_dtype(rgm_dtype *out, const char *name);
/** Bounds of a stored integer type; false when every i64 will do. */
bool rgmi_stored_range(int64_t *lowest, int64_t *highest, const char *stored_type);
/* ---- graph ---- */

/** No set of a graph has more: sums over the graphs of a batch stay far from overflow. */
#define RGMI_MOST_ITEMS (INT64_C(1) << 44)
/** The most values of a feature in one item, over its dims that are not ragged. */
#define RGMI_WIDEST (INT64_C(1) << 24)

/** An open graph file; see graph_file.h. */
typedef struct rgmi_graph_file rgmi_graph_file;

/** Edges as a file has them: no number of them is believed before it is looked at. */
typedef struct rgmi_stored_edges {
    rgmi_graph_file *file; /* retained                                             */
    rgm_csr csr[2];        /* by end: its nodes are the rows; entry: edges' numbers */
    bool has[2];
    int64_t max_degree[2]; /* as the file says */
} rgmi_stored_edges;
void rgmi_stored_edges_release(rgmi_stored_edges *edges);
/** One end's rows, columns and numbers are all in range; RGM_ERR_FORMAT. */
rgm_status rgmi_stored_edges_check(const rgmi_stored_edges *edges, int end);

/** A ragged feature, or one of texts, as a file has it. Where rows begin ascends if it is sound. */
typedef struct rgmi_stored_column {
    rgmi_graph_file *file;                           /* retained                                  */
    const int64_t *offsets[RGM_MAX_RANK];            /* [k] of ragged dim k: [rows[k] + 1]        */
    int64_t rows[RGM_MAX_RANK], total[RGM_MAX_RANK]; /* offsets[k][rows[k]] is total[k] */
    const int64_t *text_start;                       /* [texts + 1]                     */
    const char *text;
    int64_t texts, text_bytes;
    bool is_whole; /* row lengths and texts are made */
} rgmi_stored_column;
void rgmi_stored_column_release(rgmi_stored_column *column);
/** RGM_ERR_FORMAT (RGM_ERR_IO where the file was cut): its lists or texts. */
rgm_status rgmi_stored_column_broken(const rgmi_stored_column *column,
                                     const rgm_feature_schema *schema);
/** Text i; false: it lies outside. */
static inline bool rgmi_stored_text(rgm_str *out, const rgmi_stored_column *column, int64_t i)
{
    int64_t begin = column->text_start[i], end = column->text_start[i + 1];

    if (begin < 0 || end < begin || end > column->text_bytes)
        return false;
    *out = (rgm_str){column->text + begin, end - begin};
    return true;
}

/** The items of one set: how many in each component, where edges end, and what follows from that.
 */
typedef struct rgmi_items {
    atomic_int_fast64_t references;
    int64_t components, real, total, real_total;
    rgm_tensor *source, *target;        /* [total] i64, edge sets                  */
    int64_t source_total, target_total; /* nodes of the sets at both ends          */
    rgmi_stored_edges *stored;          /* NULL: source and target are there       */
    pthread_mutex_t lock;               /* guards what is made at first use, below */
    rgm_pattern *adjacency[2];          /* by receiver tag                         */
    rgm_pattern *membership;
    rgm_pattern *first;   /* [components, total]: each component's first item           */
    rgm_pattern *readout; /* [target_total, source_total]: where each readout item reads */
    rgm_pattern *numbers; /* [total, total]: each node is itself                         */
    rgm_tensor *mask;     /* [total] f32                                                */
    int64_t sizes[];      /* [components]                                  */
} rgmi_items;

/** Zero sizes; source and target (may be NULL) are retained by rgmi_items_set_edges(). */
rgm_status rgmi_items_create(rgmi_items **out, int64_t components, const int64_t *sizes,
                             int64_t real);
void rgmi_items_set_edges(rgmi_items *items, rgm_tensor *source, rgm_tensor *target);
rgmi_items *rgmi_items_retain(rgmi_items *items);
void rgmi_items_release(rgmi_items *items);

/** A feature's patterns by lookups; see category_lookup.h. */
typedef struct rgmi_looked_up rgmi_looked_up;
void rgmi_looked_up_release(rgmi_looked_up *list);

/** One feature of all items of a set. */
typedef struct rgmi_column {
    atomic_int_fast64_t references;
    rgm_feature value;
    rgmi_stored_column *stored; /* NULL: value is whole */
    rgmi_graph_file *file;      /* of which it is; NULL: of none. Retained */
    pthread_mutex_t lock;
    rgm_pattern *pattern;      /* of a one_hot feature, at first use        */
    rgmi_looked_up *looked_up; /* one for each lookup that was asked for    */
} rgmi_column;

/** Takes over the references that `value` holds, also on failure. */
rgm_status rgmi_column_create(rgmi_column **out, rgm_feature *value);
rgmi_column *rgmi_column_retain(rgmi_column *column);
void rgmi_column_release(rgmi_column *column);

/**
 * What a file has becomes what memory has: source and target of edges, row lengths and texts of
 * features. Who asks for the whole of a set or feature calls these before; samplers do without.
 * RGM_ERR_FORMAT, RGM_ERR_IO (the file was cut), RGM_ERR_NOMEM.
 */
rgm_status rgmi_items_whole(rgmi_items *items);
rgm_status rgmi_column_whole(rgmi_column *column, const rgm_feature_schema *schema);
rgm_status rgmi_set_whole(const rgm_graph *graph, int64_t set); /* both, of a set */
rgm_status rgmi_graph_whole(const rgm_graph *graph);            /* all of it */
/** As it is, not made whole; NULL: absent. */
const rgmi_column *rgmi_graph_column(const rgm_graph *graph, rgm_piece piece, const char *set,
                                     const char *feature);
/** The file that some of the graph is in; NULL: none. Borrowed. */
rgmi_graph_file *rgmi_graph_file_of(const rgm_graph *graph);
typedef struct rgmi_set {
    rgmi_items *items;
    rgmi_column **columns; /* [feature_count], NULL: absent */
} rgmi_set;

/** What narrowed values are fed of a graph; see narrowed_feeds.c. */
typedef struct rgmi_narrowed {
    struct rgmi_narrowed *next;
    uint64_t narrowing; /* the graph value's */
    int64_t count;
    rgm_pattern *patterns[];
} rgmi_narrowed;
void rgmi_narrowed_release(rgmi_narrowed *near);

struct rgm_graph {
    atomic_int_fast64_t references;
    rgm_schema *schema;
    int64_t components, real;
    int64_t set_count;
    rgmi_set *sets;
    pthread_mutex_t lock; /* guards near */
    rgmi_narrowed *near;
};

/** Counts, indices and features contradict each other nowhere; else RGM_ERR_DATA. Needs fill. */
rgm_status rgmi_graph_check(const rgm_graph *graph);
/** One set's edges or one feature alone. */
rgm_status rgmi_graph_check_edges(const rgm_graph *graph, int64_t set);
rgm_status rgmi_graph_check_feature(const rgm_graph *graph, int64_t set, int64_t feature);
/** i64 [count] of zeros or a copy. */
rgm_status rgmi_ints(rgm_tensor **out, int64_t count, const int64_t *numbers);
/** The set of a graph by name, with its index. */
rgm_status rgmi_graph_set(int64_t *index, const rgm_graph *graph, rgm_piece piece,
                          const char *name);
/**
 * A pattern with one entry a row: of each component, its first item (RGM_ERR_DATA when a real one
 * has none); and of each item of a readout set, the item that readout edge set `set` says to read.
 * Rows of padding that have none point at item 0. Made once, borrowed.
 */
rgm_status rgmi_graph_first(rgm_pattern **out, const rgm_graph *graph, int64_t set);
rgm_status rgmi_graph_readout(rgm_pattern **out, const rgm_graph *graph, int64_t set);
/** One entry a row: row i has column[i]. */
rgm_status rgmi_make_picks(rgm_pattern **out, int64_t rows, int64_t columns, const int64_t *column);

/* ---- readout ---- */

/** The next edge set of that readout set and key (NULL: any key) from set `from` on; -1: none. */
int64_t rgmi_readout_next(const rgm_schema *schema, int64_t from, const char *readout_set,
                          const char *key);
/** The first one, or RGM_ERR_NOT_FOUND saying whether there is any readout. */
rgm_status rgmi_readout_require(int64_t *first, const rgm_schema *schema, const char *readout_set,
                                const char *key);

/* ---- padding ---- */

struct rgm_size_constraints {
    rgm_schema *schema;
    int64_t *total;   /* [sets]; context: components. -1: not set */
    int64_t *minimum; /* [sets]: nodes in each padded component   */
};
/** Raise totals so that a graph that just fits can be padded to them. */
void rgmi_constraints_make_room(rgm_size_constraints *constraints);

/* ---- features ---- */

/** A feature of no items. */
rgm_status rgmi_feature_empty(rgm_feature *out, const rgm_feature_schema *schema, int64_t items);
/** Product of the dims behind the last ragged one, or of all. */
int64_t rgmi_inner_count(const rgm_feature_schema *schema);
/** `count` features of one schema, one after the other, then `padding` items of zeros. */
rgm_status rgmi_feature_join(rgm_feature *out, const rgm_feature_schema *schema,
                             const rgm_feature *const *features, int64_t count, int64_t padding);

#endif
