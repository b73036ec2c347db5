/*
 * Writing a graph file in little memory. What has a known size (dense features of nodes) goes to
 * its place in the file at once; what has not (edges, lists, texts) to files beside it, and behind
 * the rest when all is there. Edges are sorted by each end with a counting sort: a pass that counts
 * each node's, then one pass for each run of nodes whose edges fit the memory that the caller
 * gives.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "graph_file.h"

#define BLOCK (1 << 20) /* bytes read or written at a time */

/** Bytes that are written one behind the other. */
typedef struct stream {
    int fd; /* -1: none; the file's own where the place is known */
    bool beside;
    int64_t begin, size, room; /* room: -1, any */
} stream;

typedef struct written_column {
    bool is_used;
    stream values, text, offsets[RGM_MAX_RANK];
    int64_t items, rows, text_end, ends[RGM_MAX_RANK];
} written_column;

typedef struct written_set {
    int64_t items; /* -1: not said */
    stream edges;  /* pairs of i32: source, target */
    written_column *columns;
} written_set;

struct rgm_graph_writer {
    rgm_schema *schema; /* that of the text in the file */
    rgm_graph_writer_options options;
    char *path, *folder; /* folder: what is not finished */
    int fd, beside;      /* files beside so far */
    int64_t end;         /* of the file so far */
    written_set *sets;
    rgmi_file_section *sections;
    int64_t section_count, section_room;
    bool is_finished;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static rgm_status write_at(const rgm_graph_writer *w, int fd, const void *data, int64_t size,
                           int64_t at)
{
    const char *from = data;

    while (size > 0) {
        ssize_t n = pwrite(fd, from, size > INT32_MAX ? INT32_MAX : (size_t)size, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return RGM_FAIL(RGM_ERR_IO, "%s: writing: %s", w->path, strerror(n < 0 ? errno : EIO));
        from += n;
        at += n;
        size -= n;
    }
    return RGM_OK;
}

static rgm_status read_at(const rgm_graph_writer *w, int fd, void *data, int64_t size, int64_t at)
{
    char *to = data;

    while (size > 0) {
        ssize_t n = pread(fd, to, (size_t)size, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return RGM_FAIL(RGM_ERR_IO, "%s: reading back: %s", w->path,
                            n < 0 ? strerror(errno) : "the file beside it was cut");
        to += n;
        at += n;
        size -= n;
    }
    return RGM_OK;
}

static rgm_status open_file(int *fd, const rgm_graph_writer *w, const char *name)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, w->folder, name));
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*fd < 0)
        status = RGM_FAIL_SYSTEM("create", path);
done:
    rgm_free(path);
    return status;
}

static rgm_status put(rgm_graph_writer *w, stream *s, const void *data, int64_t size)
{
    char name[32];

    if (s->fd < 0) {
        snprintf(name, sizeof name, "part-%d", w->beside++);
        RGM_TRY(open_file(&s->fd, w, name));
        s->beside = true;
        s->room = -1;
    }
    if (s->room >= 0 && size > s->room - s->size)
        return RGM_FAIL(RGM_ERR_DATA, "%s: a feature has more values than its set has items",
                        w->path);
    RGM_TRY(write_at(w, s->fd, data, size, s->begin + s->size));
    s->size += size;
    return RGM_OK;
}

/* A place for `size` bytes in the file itself. */
static int64_t reserve(rgm_graph_writer *w, int64_t size)
{
    int64_t begin = (w->end + RGMI_FILE_ALIGN - 1) / RGMI_FILE_ALIGN * RGMI_FILE_ALIGN;

    w->end = begin + size;
    return begin;
}

static rgm_status add_section(rgm_graph_writer *w, rgmi_file_section section)
{
    RGM_TRY(RGM_RESERVE(w->sections, w->section_room, w->section_count + 1));
    w->sections[w->section_count++] = section;
    return RGM_OK;
}

/* What is beside goes into the file; a stream in it stays. Then its section. */
static rgm_status place_stream(rgm_graph_writer *w, stream *s, rgmi_file_section section)
{
    rgm_status status = RGM_OK;
    char *block = NULL;

    if (s->beside) {
        s->begin = reserve(w, s->size);
        RGM_GO(RGM_NEW(block, BLOCK));
        for (int64_t at = 0; at < s->size; at += BLOCK) {
            int64_t size = s->size - at < BLOCK ? s->size - at : BLOCK;

            RGM_GO(read_at(w, s->fd, block, size, at));
            RGM_GO(write_at(w, w->fd, block, size, s->begin + at));
        }
        close(s->fd);
        s->fd = -1;
    }
    section.offset = (uint64_t)s->begin;
    section.bytes = (uint64_t)s->size;
    RGM_GO(add_section(w, section));
done:
    rgm_free(block);
    return status;
}

static rgm_status write_section(rgm_graph_writer *w, const void *data, int64_t size,
                                rgmi_file_section section)
{
    int64_t begin = reserve(w, size);

    RGM_TRY(write_at(w, w->fd, data, size, begin));
    section.offset = (uint64_t)begin;
    section.bytes = (uint64_t)size;
    return add_section(w, section);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close_stream(stream *s)
{
    if (s->beside && s->fd >= 0)
        close(s->fd);
}

static rgm_status make_sets(rgm_graph_writer *w)
{
    RGM_TRY(RGM_NEW(w->sets, w->schema->set_count));
    for (int64_t i = 0; i < w->schema->set_count; i++) {
        written_set *set = &w->sets[i];

        set->items = i == 0 ? 1 : w->schema->sets[i]->piece == RGM_EDGE_SET ? 0 : -1;
        set->edges.fd = -1;
        RGM_TRY(RGM_NEW(set->columns, w->schema->sets[i]->feature_count));
        for (int64_t j = 0; j < w->schema->sets[i]->feature_count; j++) {
            written_column *c = &set->columns[j];

            c->values.fd = c->text.fd = -1;
            for (int k = 0; k < RGM_MAX_RANK; k++)
                c->offsets[k].fd = -1;
        }
    }
    return RGM_OK;
}

/* The schema as it will be read, so that places in it are those that the reader finds. */
static rgm_status write_schema(rgm_graph_writer *w, const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(rgm_schema_print(&text, schema));
    RGM_GO(rgm_schema_parse(&w->schema, text.data, text.size, "schema"));
    RGM_GO(
        write_section(w, text.data, text.size,
                      (rgmi_file_section){.kind = SECTION_SCHEMA, .count = (uint64_t)text.size}));
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgm_graph_writer_open(rgm_graph_writer **out, const char *path, const rgm_schema *schema,
                                 const rgm_graph_writer_options *options)
{
    rgm_graph_writer_options defaults = RGM_GRAPH_WRITER_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    rgm_graph_writer *w = NULL;

    *out = NULL;
    if (options == NULL)
        options = &defaults;
    if (options->memory < BLOCK)
        return RGM_FAIL(RGM_ERR_ARG, "%lld bytes to sort edges in; at least 1 MiB",
                        (long long)options->memory);
    if (rgm_path_exists(path))
        return RGM_FAIL(RGM_ERR_BUSY, "%s is there already; nothing is overwritten", path);
    RGM_GO(rgm_path_sweep(path));
    RGM_GO(RGM_NEW(w, 1));
    w->fd = -1;
    w->options = *options;
    w->end = sizeof(rgmi_file_header);
    RGM_GO(rgm_strdup(&w->path, path));
    RGM_GO(rgm_strprintf(&w->folder, "%s.partial-%ld", path, (long)getpid()));
    RGM_GO(rgm_folder_make(w->folder));
    RGM_GO(open_file(&w->fd, w, "graph"));
    RGM_GO(write_schema(w, schema));
    RGM_GO(make_sets(w));
    *out = w;
    w = NULL;
done:
    rgm_graph_writer_release(w);
    return status;
}

void rgm_graph_writer_release(rgm_graph_writer *w)
{
    rgm_error error;

    if (w == NULL)
        return;
    for (int64_t i = 0; w->sets != NULL && i < w->schema->set_count; i++) {
        close_stream(&w->sets[i].edges);
        for (int64_t j = 0; w->sets[i].columns != NULL && j < w->schema->sets[i]->feature_count;
             j++) {
            close_stream(&w->sets[i].columns[j].values);
            close_stream(&w->sets[i].columns[j].text);
            for (int k = 0; k < RGM_MAX_RANK; k++)
                close_stream(&w->sets[i].columns[j].offsets[k]);
        }
        rgm_free(w->sets[i].columns);
    }
    if (w->fd >= 0)
        close(w->fd);
    if (w->folder != NULL && rgm_path_exists(w->folder)) {
        rgm_error_save(&error, RGM_OK);
        rgm_folder_remove(w->folder);
        rgm_error_restore(&error);
    }
    rgm_schema_release(w->schema);
    rgm_free(w->sets);
    rgm_free(w->sections);
    rgm_free(w->folder);
    rgm_free(w->path);
    rgm_free(w);
}

/* ---- items and edges ------------------------------------------------------------------------- */

static rgm_status too_many(const rgm_graph_writer *w, const char *set)
{
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: '%s' has 2^31 items or more", w->path, set);
}

rgm_status rgm_graph_writer_items(rgm_graph_writer *w, const char *node_set, int64_t items)
{
    int64_t set;

    RGM_TRY(rgmi_set_require(&set, w->schema, RGM_NODE_SET, node_set));
    if (items < 0 || w->sets[set].items >= 0)
        return RGM_FAIL(RGM_ERR_ARG, "%s: node set '%s' gets %lld items%s", w->path, node_set,
                        (long long)items, items < 0 ? "" : " a second time");
    if (items > INT32_MAX)
        return too_many(w, node_set);
    w->sets[set].items = items;
    return RGM_OK;
}

/* Items of both ends' node sets. */
static rgm_status ends_of(int64_t items[2], const rgm_graph_writer *w, int64_t set)
{
    const rgm_set_schema *schema = w->schema->sets[set];
    const char *names[2] = {schema->source, schema->target};

    for (int end = 0; end < 2; end++) {
        items[end] = w->sets[rgm_schema_index(w->schema, RGM_NODE_SET, names[end])].items;
        if (items[end] < 0)
            return RGM_FAIL(RGM_ERR_ARG,
                            "%s: how many nodes '%s' has is to be said before edges of '%s'",
                            w->path, names[end], schema->name);
    }
    return RGM_OK;
}

rgm_status rgm_graph_writer_edges(rgm_graph_writer *w, const char *edge_set, const int64_t *source,
                                  const int64_t *target, int64_t count)
{
    rgm_status status = RGM_OK;
    const int64_t *ends[2] = {source, target};
    int64_t set, items[2];
    int32_t *pairs = NULL;
    int64_t most = BLOCK / 8;

    RGM_TRY(rgmi_set_require(&set, w->schema, RGM_EDGE_SET, edge_set));
    RGM_TRY(ends_of(items, w, set));
    if (count > INT32_MAX - w->sets[set].items)
        return too_many(w, edge_set);
    RGM_GO(RGM_NEW(pairs, 2 * most));
    for (int64_t begin = 0; begin < count; begin += most) {
        int64_t part = count - begin < most ? count - begin : most;

        for (int64_t e = 0; e < part; e++)
            for (int end = 0; end < 2; end++) {
                int64_t node = ends[end][begin + e];

                if (node < 0 || node >= items[end])
                    RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                                    "edge set '%s': %s of edge %lld is %lld, there are %lld nodes",
                                    edge_set, end == 0 ? "source" : "target",
                                    (long long)(w->sets[set].items + begin + e), (long long)node,
                                    (long long)items[end]));
                pairs[2 * e + end] = (int32_t)node;
            }
        RGM_GO(put(w, &w->sets[set].edges, pairs, part * 8));
    }
    w->sets[set].items += count;
done:
    rgm_free(pairs);
    return status;
}

/* ---- features -------------------------------------------------------------------------------- */

static rgm_status misfit(const rgm_graph_writer *w, const rgm_feature_schema *schema)
{
    return RGM_FAIL(RGM_ERR_SHAPE,
                    "%s: feature '%s': values, row lengths and their dtypes are not those of its "
                    "schema",
                    w->path, schema->name);
}

/* How many items a value has, by its dims from the outermost in; rows[k] before ragged dim k. */
static bool count_items(int64_t *items, int64_t *rows, const rgm_feature_schema *schema,
                        const rgm_feature *value)
{
    int last = rgm_feature_last_ragged(schema), first = 1;
    int64_t before = 1;

    if (value->values == NULL || rgm_tensor_dtype(value->values) != schema->dtype ||
        rgm_tensor_rank(value->values) != 1 + schema->rank - last)
        return false;
    for (int k = last; k < schema->rank; k++)
        if (rgm_tensor_dim(value->values, 1 + k - last) != schema->shape[k])
            return false;
    *items = *rows = rgm_tensor_dim(value->values, 0);
    while (first <= last && schema->shape[first - 1] >= 0)
        before *= schema->shape[first++ - 1];
    for (int k = first; k <= last; k++)
        if (schema->shape[k - 1] < 0 &&
            (value->row_lengths[k] == NULL || rgm_tensor_dtype(value->row_lengths[k]) != RGM_I64))
            return false;
    if (last > 0) {
        int64_t lengths = rgm_tensor_count(value->row_lengths[first]);

        if (before < 1 || lengths % before != 0)
            return false;
        *items = lengths / before;
    }
    return true;
}

/* Where rows begin, behind those of before; `rows` becomes how many rows they have. */
static rgm_status put_offsets(rgm_graph_writer *w, stream *s, int64_t *end, int64_t *rows,
                              const rgm_tensor *lengths, const rgm_feature_schema *schema)
{
    rgm_status status = RGM_OK;
    int64_t *block = NULL, most = BLOCK / 8, sum = 0;

    if (rgm_tensor_count(lengths) != *rows)
        return misfit(w, schema);
    RGM_GO(RGM_NEW(block, most));
    for (int64_t begin = 0; begin < *rows; begin += most) {
        int64_t part = *rows - begin < most ? *rows - begin : most;

        for (int64_t i = 0; i < part; i++) {
            int64_t length = rgm_tensor_i64(lengths)[begin + i];

            if (length < 0)
                RGM_GO(misfit(w, schema));
            block[i] = *end + (sum += length);
        }
        RGM_GO(put(w, s, block, part * 8));
    }
    *end += sum;
    *rows = sum;
done:
    rgm_free(block);
    return status;
}

static rgm_status put_texts(rgm_graph_writer *w, written_column *c, const rgm_tensor *texts)
{
    for (int64_t i = 0; i < rgm_tensor_count(texts); i++) {
        const rgm_str *text = &rgm_tensor_str(texts)[i];

        c->text_end += text->size;
        RGM_TRY(put(w, &c->text, text->data, text->size));
        RGM_TRY(put(w, &c->values, &c->text_end, 8));
    }
    return RGM_OK;
}

/* Offsets begin with 0; dense features of nodes get their place. */
static rgm_status begin_column(rgm_graph_writer *w, written_column *c, int64_t set,
                               const rgm_feature_schema *schema)
{
    int64_t zero = 0, bytes;

    c->is_used = true;
    for (int k = 1; k <= rgm_feature_last_ragged(schema); k++)
        if (schema->shape[k - 1] < 0)
            RGM_TRY(put(w, &c->offsets[k], &zero, 8));
    if (schema->dtype == RGM_STRING) {
        RGM_TRY(put(w, &c->text, "", 0));
        return put(w, &c->values, &zero, 8);
    }
    if (rgm_feature_last_ragged(schema) > 0 || w->schema->sets[set]->piece == RGM_EDGE_SET)
        return put(w, &c->values, "", 0);
    bytes = (int64_t)rgm_dtype_size(schema->dtype) * rgmi_inner_count(schema);
    c->values = (stream){.fd = w->fd,
                         .begin = reserve(w, w->sets[set].items * bytes),
                         .room = w->sets[set].items * bytes};
    return RGM_OK;
}

rgm_status rgm_graph_writer_feature(rgm_graph_writer *w, rgm_piece piece, const char *set,
                                    const char *feature, const rgm_feature *value)
{
    const rgm_feature_schema *schema;
    int64_t i, j, items, rows;
    written_column *c;

    RGM_TRY(rgmi_set_require(&i, w->schema, piece, set));
    RGM_TRY(rgmi_feature_require(&j, w->schema->sets[i], feature));
    schema = &w->schema->sets[i]->features[j];
    c = &w->sets[i].columns[j];
    if (w->sets[i].items < 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "%s: how many nodes '%s' has is to be said before its features", w->path,
                        set);
    if (!count_items(&items, &rows, schema, value))
        return misfit(w, schema);
    if (!c->is_used)
        RGM_TRY(begin_column(w, c, i, schema));
    if (rgm_feature_last_ragged(schema) > 0) {
        int64_t at = items;

        for (int k = 1; k <= rgm_feature_last_ragged(schema); k++)
            if (schema->shape[k - 1] >= 0)
                at *= schema->shape[k - 1];
            else
                RGM_TRY(put_offsets(w, &c->offsets[k], &c->ends[k], &at, value->row_lengths[k],
                                    schema));
        if (at != rows)
            return misfit(w, schema);
    }
    c->items += items;
    c->rows += rows;
    if (schema->dtype == RGM_STRING)
        return put_texts(w, c, value->values);
    return put(w, &c->values, rgm_tensor_data(value->values),
               (int64_t)rgm_tensor_bytes(value->values));
}

rgm_status rgm_graph_writer_split(rgm_graph_writer *w, const char *node_set, const char *name,
                                  rgm_tensor *const parts[3])
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    int64_t set;

    RGM_TRY(rgmi_set_require(&set, w->schema, RGM_NODE_SET, node_set));
    RGM_GO(rgm_text_printf(&text, "%s\n%s\n", node_set, name != NULL ? name : ""));
    RGM_GO(write_section(w, text.data, text.size,
                         (rgmi_file_section){.kind = SECTION_SPLIT, .count = (uint64_t)text.size}));
    for (uint32_t i = 0; i < 3; i++) {
        if (parts[i] == NULL)
            continue;
        for (int64_t k = 0; k < rgm_tensor_count(parts[i]); k++)
            if (rgm_tensor_i64(parts[i])[k] < 0 ||
                rgm_tensor_i64(parts[i])[k] >= w->sets[set].items)
                RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                                "%s: the split lists node %lld of '%s', which has "
                                "%lld",
                                w->path, (long long)rgm_tensor_i64(parts[i])[k], node_set,
                                (long long)w->sets[set].items));
        RGM_GO(write_section(w, rgm_tensor_data(parts[i]), 8 * rgm_tensor_count(parts[i]),
                             (rgmi_file_section){.kind = SECTION_PART,
                                                 .part = i,
                                                 .count = (uint64_t)rgm_tensor_count(parts[i])}));
    }
done:
    rgm_text_clear(&text);
    return status;
}

/* ---- sorting --------------------------------------------------------------------------------- */

/** Edges of one set by one end. */
typedef struct sorting {
    rgm_graph_writer *w;
    const stream *edges;
    int end;
    int64_t rows, count;
    int64_t *start; /* [rows + 1]; while a run is filled, where each row's next goes */
    int32_t *pairs; /* a block */
    int64_t columns_at, entries_at; /* places in the file; entries: 0, none */
    int64_t first, last;            /* rows of the run */
    int32_t *column, *entry;        /* [memory / 8] of the run */
    int64_t room, begin, full;      /* entries; where the run begins; of a row that is too long */
} sorting;

/* Calls `take` for each edge, in order. */
static rgm_status walk(sorting *s,
                       rgm_status (*take)(sorting *s, int64_t e, int32_t row, int32_t column))
{
    for (int64_t begin = 0; begin < s->count; begin += BLOCK / 8) {
        int64_t part = s->count - begin < BLOCK / 8 ? s->count - begin : BLOCK / 8;

        RGM_TRY(read_at(s->w, s->edges->fd, s->pairs, part * 8, begin * 8));
        for (int64_t e = 0; e < part; e++)
            RGM_TRY(take(s, begin + e, s->pairs[2 * e + s->end], s->pairs[2 * e + 1 - s->end]));
    }
    return RGM_OK;
}

/* `last` is the row before, `full` whether rows have only ascended. */
static rgm_status count_edge(sorting *s, int64_t e, int32_t row, int32_t column)
{
    (void)e;
    (void)column;
    s->start[row + 1]++;
    s->full = s->full && row >= s->last;
    s->last = row;
    return RGM_OK;
}

static rgm_status flush(sorting *s, int64_t entries)
{
    RGM_TRY(write_at(s->w, s->w->fd, s->column, 4 * entries, s->columns_at + 4 * s->begin));
    if (s->entries_at > 0)
        RGM_TRY(write_at(s->w, s->w->fd, s->entry, 4 * entries, s->entries_at + 4 * s->begin));
    s->begin += entries;
    return RGM_OK;
}

static rgm_status fill_run(sorting *s, int64_t e, int32_t row, int32_t column)
{
    int64_t at;

    if (row < s->first || row >= s->last)
        return RGM_OK;
    at = s->start[row]++ - s->begin;
    s->column[at] = column;
    s->entry[at] = (int32_t)e;
    return RGM_OK;
}

/* One row that does not fit, or edges that stand in order already: no sorting is needed. */
static rgm_status fill_row(sorting *s, int64_t e, int32_t row, int32_t column)
{
    if (row < s->first || row >= s->last)
        return RGM_OK;
    s->column[s->full] = column;
    s->entry[s->full++] = (int32_t)e;
    if (s->full < s->room)
        return RGM_OK;
    RGM_TRY(flush(s, s->full));
    s->full = 0;
    return RGM_OK;
}

static rgm_status sort_rows(sorting *s, bool in_order)
{
    for (s->first = 0; s->first < s->rows; s->first = s->last) {
        int64_t begin = s->start[s->first];

        for (s->last = s->first + 1;
             s->last < s->rows && (in_order || s->start[s->last + 1] - begin <= s->room); s->last++)
            ;
        s->begin = begin;
        s->full = 0;
        if (in_order || s->start[s->last] - begin > s->room) {
            RGM_TRY(walk(s, fill_row));
            RGM_TRY(flush(s, s->full));
        } else if (s->start[s->last] > begin) {
            int64_t entries = s->start[s->last] - begin;

            RGM_TRY(walk(s, fill_run));
            RGM_TRY(flush(s, entries));
        }
    }
    return RGM_OK;
}

static rgm_status sort_counted(sorting *s, int64_t set, bool in_order)
{
    int64_t most = 0;
    rgmi_file_section section = {.kind = SECTION_ROWS,
                                 .set = (uint32_t)set,
                                 .part = (uint32_t)s->end,
                                 .count = (uint64_t)s->rows};

    for (int64_t r = 0; r < s->rows; r++) {
        most = s->start[r + 1] > most ? s->start[r + 1] : most;
        s->start[r + 1] += s->start[r];
    }
    section.extra = (uint64_t)most;
    RGM_TRY(write_section(s->w, s->start, 8 * (s->rows + 1), section));
    section = (rgmi_file_section){.kind = SECTION_COLUMNS,
                                  .set = (uint32_t)set,
                                  .part = (uint32_t)s->end,
                                  .count = (uint64_t)s->count,
                                  .bytes = (uint64_t)s->count * 4};
    s->columns_at = reserve(s->w, 4 * s->count);
    section.offset = (uint64_t)s->columns_at;
    RGM_TRY(add_section(s->w, section));
    if (!in_order) {
        s->entries_at = reserve(s->w, 4 * s->count);
        section.kind = SECTION_ENTRIES;
        section.offset = (uint64_t)s->entries_at;
        RGM_TRY(add_section(s->w, section));
    }
    return sort_rows(s, in_order);
}

static rgm_status sort_end(rgm_graph_writer *w, int64_t set, int end, int64_t rows)
{
    rgm_status status = RGM_OK;
    sorting s = {.w = w,
                 .edges = &w->sets[set].edges,
                 .end = end,
                 .rows = rows,
                 .count = w->sets[set].items,
                 .room = w->options.memory / 8,
                 .full = true};

    if (s.room > s.count)
        s.room = s.count;
    RGM_GO(RGM_NEW(s.start, rows + 1));
    RGM_GO(RGM_NEW(s.pairs, BLOCK / 4));
    RGM_GO(RGM_NEW(s.column, s.room));
    RGM_GO(RGM_NEW(s.entry, s.room));
    RGM_GO(walk(&s, count_edge));
    RGM_GO(sort_counted(&s, set, s.full));
done:
    rgm_free(s.start);
    rgm_free(s.pairs);
    rgm_free(s.column);
    rgm_free(s.entry);
    return status;
}

static rgm_status finish_edges(rgm_graph_writer *w, int64_t set)
{
    int64_t items[2];

    if (w->sets[set].items == 0)
        return RGM_OK;
    RGM_TRY(ends_of(items, w, set));
    for (int end = 0; end < 2; end++)
        RGM_TRY(sort_end(w, set, end, items[end]));
    close_stream(&w->sets[set].edges);
    w->sets[set].edges.fd = -1;
    return RGM_OK;
}

int64_t rgm_graph_writer_ceiling(const rgm_graph_writer *w)
{
    int64_t most = 0;

    for (int64_t i = 0; i < w->schema->set_count; i++)
        if (w->schema->sets[i]->piece == RGM_NODE_SET && w->sets[i].items > most)
            most = w->sets[i].items;
    return w->options.memory + 8 * most + 4 * BLOCK;
}

/* ---- finishing ------------------------------------------------------------------------------- */

static rgm_status finish_column(rgm_graph_writer *w, int64_t set, int64_t feature)
{
    const rgm_set_schema *of = w->schema->sets[set];
    const rgm_feature_schema *schema = &of->features[feature];
    written_column *c = &w->sets[set].columns[feature];
    rgmi_file_section section = {.set = (uint32_t)set, .part = (uint32_t)feature};

    if (!c->is_used)
        return RGM_OK;
    if (c->items != w->sets[set].items)
        return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s' of '%s' has %lld of %lld items", w->path,
                        schema->name, of->name != NULL ? of->name : "context", (long long)c->items,
                        (long long)w->sets[set].items);
    section.kind = SECTION_OFFSETS;
    for (uint32_t k = 1; k < RGM_MAX_RANK; k++)
        if (c->offsets[k].beside) {
            section.dim = k;
            section.count = (uint64_t)c->offsets[k].size / 8 - 1;
            RGM_TRY(place_stream(w, &c->offsets[k], section));
        }
    section.dim = 0;
    section.kind = SECTION_VALUES;
    section.count = (uint64_t)c->rows;
    if (schema->dtype == RGM_STRING)
        section.count = (uint64_t)c->values.size / 8 - 1;
    RGM_TRY(place_stream(w, &c->values, section));
    if (schema->dtype != RGM_STRING)
        return RGM_OK;
    section.kind = SECTION_TEXT;
    section.count = (uint64_t)c->text.size;
    return place_stream(w, &c->text, section);
}

/* The checksums of all sections, read back from the file. */
static rgm_status write_sums(rgm_graph_writer *w, uint64_t *begin, uint64_t *hash)
{
    rgm_status status = RGM_OK;
    int64_t size = w->section_count * (int64_t)sizeof(uint64_t);
    rgm_mapped_file map = {.data = NULL};
    uint64_t *sums = NULL;
    char *path = NULL;

    RGM_GO(RGM_NEW(sums, w->section_count));
    RGM_GO(rgm_path_join(&path, w->folder, "graph"));
    RGM_GO(rgm_file_map(&map, path));
    for (int64_t i = 0; i < w->section_count; i++)
        sums[i] = rgm_hash64(map.data + w->sections[i].offset, (size_t)w->sections[i].bytes);
    *begin = (uint64_t)reserve(w, size);
    *hash = rgm_hash64(sums, (size_t)size);
    RGM_GO(write_at(w, w->fd, sums, size, (int64_t)*begin));
done:
    rgm_file_unmap(&map);
    rgm_free(path);
    rgm_free(sums);
    return status;
}

/* Behind the checksums, at the end of the file. */
static rgm_status write_directory(rgm_graph_writer *w)
{
    int64_t size = w->section_count * (int64_t)sizeof *w->sections, begin;
    rgmi_file_header header = {.magic = RGMI_FILE_MAGIC,
                               .version = RGMI_FILE_VERSION,
                               .sections = (uint32_t)w->section_count,
                               .hash = rgm_hash64(w->sections, (size_t)size)};

    RGM_TRY(write_sums(w, &header.sums, &header.sums_hash));
    begin = reserve(w, size);
    header.directory = (uint64_t)begin;
    header.size = (uint64_t)w->end;
    header.own_hash = rgm_hash64(&header, sizeof header - sizeof header.own_hash);
    RGM_TRY(write_at(w, w->fd, w->sections, size, begin));
    return write_at(w, w->fd, &header, sizeof header, 0);
}

/* Under its name, on disk with all that it holds. */
static rgm_status publish(rgm_graph_writer *w)
{
    rgm_status status = RGM_OK;
    char *made = NULL, *parent = NULL, *slash;

    RGM_GO(rgm_sync(w->fd, w->path));
    RGM_GO(rgm_path_join(&made, w->folder, "graph"));
    RGM_GO(rgm_strdup(&parent, w->path));
    slash = strrchr(parent, '/');
    if (slash != NULL)
        slash[slash == parent] = 0;
    if (rename(made, w->path) != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "%s: cannot be renamed from %s: %s", w->path, made,
                        strerror(errno)));
    RGM_GO(rgm_folder_sync(slash != NULL ? parent : "."));
done:
    rgm_free(made);
    rgm_free(parent);
    return status;
}

rgm_status rgm_graph_writer_finish(rgm_graph_writer *w)
{
    if (w->is_finished)
        return RGM_FAIL(RGM_ERR_ARG, "%s: the file is finished", w->path);
    w->is_finished = true;
    for (int64_t i = 0; i < w->schema->set_count; i++) {
        rgmi_file_section section = {.kind = SECTION_ITEMS, .set = (uint32_t)i};

        if (w->schema->sets[i]->piece == RGM_EDGE_SET)
            RGM_TRY(finish_edges(w, i));
        if (w->sets[i].items < 0)
            w->sets[i].items = 0;
        section.count = (uint64_t)w->sets[i].items;
        RGM_TRY(add_section(w, section));
        for (int64_t j = 0; j < w->schema->sets[i]->feature_count; j++)
            RGM_TRY(finish_column(w, i, j));
    }
    RGM_TRY(write_directory(w));
    return publish(w);
}

/* ---- a data set in memory -------------------------------------------------------------------- */

static rgm_status write_graph(rgm_graph_writer *w, const rgm_graph *graph)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    RGM_TRY(rgmi_graph_whole(graph));
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        int64_t total = graph->sets[i].items->total;

        if (set->piece == RGM_NODE_SET)
            RGM_TRY(rgm_graph_writer_items(w, set->name, total));
        if (set->piece == RGM_EDGE_SET && total > 0)
            RGM_TRY(rgm_graph_writer_edges(w, set->name,
                                           rgm_tensor_i64(graph->sets[i].items->source),
                                           rgm_tensor_i64(graph->sets[i].items->target), total));
        for (int64_t j = 0; j < set->feature_count; j++)
            if (graph->sets[i].columns[j] != NULL)
                RGM_TRY(rgm_graph_writer_feature(w, set->piece, set->name, set->features[j].name,
                                                 &graph->sets[i].columns[j]->value));
    }
    return RGM_OK;
}

rgm_status rgm_graph_data_write(const rgm_graph_data *data, const char *path,
                                const rgm_graph_writer_options *options)
{
    rgm_tensor *const parts[3] = {data->train, data->valid, data->test};
    rgm_status status = RGM_OK;
    rgm_graph_writer *w = NULL;

    if (data->graph_count != 1 || rgm_graph_components(data->graphs[0]) != 1)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: a graph file has one graph of one component, the data have %lld "
                        "graphs; records hold many",
                        path, (long long)data->graph_count);
    RGM_GO(rgm_graph_writer_open(&w, path, rgm_graph_schema(data->graphs[0]), options));
    RGM_GO(write_graph(w, data->graphs[0]));
    if (data->split_set != NULL)
        RGM_GO(rgm_graph_writer_split(w, data->split_set, data->split_name, parts));
    RGM_GO(rgm_graph_writer_finish(w));
done:
    rgm_graph_writer_release(w);
    return status;
}
