/*
 * Opening a graph file: header and directory are checked as a whole, sections against the schema
 * and each other, and the graph that is given points into the map. What lies in the sections is
 * looked at when it is used: an index by the sampler when it draws it, all of an edge set or a
 * ragged feature when somebody asks for the whole of it (mapped_graph.c). So opening costs the same
 * for any size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_file.h"

/* ---- the file -------------------------------------------------------------------------------- */

static void release_file(void *file)
{
    rgmi_graph_file_release(file);
}

/* ---- sections -------------------------------------------------------------------------------- */

typedef struct reading {
    rgmi_graph_file *file;
    const rgmi_file_section *sections;
    const rgmi_file_section **sorted; /* [count] by kind, set, part and dim */
    int64_t count;
    rgm_graph_data *out;
    rgm_graph *graph;
} reading;

static rgm_status bad(const reading *r, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: no sound graph file: %s", r->file->path, what);
}

static rgm_status bad_section(const reading *r, const rgmi_file_section *s, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT,
                    "%s: no sound graph file: section %lld (kind %u, set %u, part %u, dim %u): %s",
                    r->file->path, (long long)(s - r->sections), s->kind, s->set, s->part, s->dim,
                    what);
}

static const void *data_of(const reading *r, const rgmi_file_section *s)
{
    return r->file->map.data + s->offset;
}

static rgm_status read_header(reading *r)
{
    const rgm_mapped_file *map = &r->file->map;
    rgmi_file_header header;
    uint64_t size = (uint64_t)map->size, bytes;

    if (size < sizeof header)
        return bad(r, "it is shorter than a header");
    memcpy(&header, map->data, sizeof header);
    if (memcmp(header.magic, RGMI_FILE_MAGIC, sizeof header.magic) != 0)
        return bad(r, "it does not begin with " RGMI_FILE_MAGIC);
    if (header.own_hash != rgm_hash64(map->data, sizeof header - sizeof header.own_hash))
        return bad(r, "the header's checksum is wrong");
    if (header.version != RGMI_FILE_VERSION)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: version %u of graph files; this program reads %u",
                        r->file->path, header.version, RGMI_FILE_VERSION);
    if (header.size != size)
        return bad(r, "it has another size than its header says: it was cut or has grown");
    bytes = (uint64_t)header.sections * sizeof *r->sections;
    if (header.directory > size || header.directory % RGMI_FILE_ALIGN != 0 ||
        bytes > size - header.directory)
        return bad(r, "the directory lies outside");
    if (header.hash != rgm_hash64(map->data + header.directory, (size_t)bytes))
        return bad(r, "the directory's checksum is wrong");
    r->sections = (const void *)(map->data + header.directory);
    r->count = header.sections;
    return RGM_OK;
}

/* Bytes that a section of this kind has; false: more than can be, or of its feature's width. */
static bool bytes_of(uint64_t *out, const rgmi_file_section *s)
{
    static const uint8_t each[SECTION_KINDS] = {
        [SECTION_SCHEMA] = 1,  [SECTION_ROWS] = 8, [SECTION_COLUMNS] = 4, [SECTION_ENTRIES] = 4,
        [SECTION_OFFSETS] = 8, [SECTION_TEXT] = 1, [SECTION_SPLIT] = 1,   [SECTION_PART] = 8};
    uint64_t more = s->kind == SECTION_ROWS || s->kind == SECTION_OFFSETS;

    *out = (s->count + more) * each[s->kind];
    return s->kind != SECTION_VALUES && s->count <= (uint64_t)RGMI_MOST_ITEMS * 8;
}

/* Of two places in `sorted`: by what they are of. */
static int by_what(const void *a, const void *b)
{
    const rgmi_file_section *x = *(const rgmi_file_section *const *)a;
    const rgmi_file_section *y = *(const rgmi_file_section *const *)b;
    const uint32_t xs[4] = {x->kind, x->set, x->part, x->dim};
    const uint32_t ys[4] = {y->kind, y->set, y->part, y->dim};

    for (int i = 0; i < 4; i++)
        if (xs[i] != ys[i])
            return xs[i] < ys[i] ? -1 : 1;
    return 0;
}

/* Sections of the same by their order in the file, so that the later one is told. */
static int by_what_in_order(const void *a, const void *b)
{
    const rgmi_file_section *x = *(const rgmi_file_section *const *)a;
    const rgmi_file_section *y = *(const rgmi_file_section *const *)b;
    int order = by_what(a, b);

    return order != 0 ? order : (x > y) - (x < y);
}

static rgm_status sort_sections(reading *r)
{
    RGM_TRY(RGM_NEW(r->sorted, r->count));
    for (int64_t i = 0; i < r->count; i++)
        r->sorted[i] = &r->sections[i];
    qsort(r->sorted, (size_t)r->count, sizeof *r->sorted, by_what_in_order);
    for (int64_t i = 1; i < r->count; i++)
        if (by_what(&r->sorted[i - 1], &r->sorted[i]) == 0)
            return bad_section(r, r->sorted[i], "it is there twice");
    return RGM_OK;
}

static rgm_status check_sections(const reading *r)
{
    uint64_t size = (uint64_t)r->file->map.size, bytes;

    for (int64_t i = 0; i < r->count; i++) {
        const rgmi_file_section *s = &r->sections[i];

        if (s->kind < SECTION_SCHEMA || s->kind >= SECTION_KINDS || s->dim >= RGM_MAX_RANK ||
            s->zero[0] != 0 || s->zero[1] != 0)
            return bad_section(r, s, "there is no such kind");
        if (s->offset % RGMI_FILE_ALIGN != 0 || s->offset > size || s->bytes > size - s->offset)
            return bad_section(r, s, "it lies outside");
        if (bytes_of(&bytes, s) ? bytes != s->bytes : s->kind != SECTION_VALUES)
            return bad_section(r, s, "its size is not that of its count");
    }
    return RGM_OK;
}

static const rgmi_file_section *find(const reading *r, rgmi_section_kind kind, int64_t set,
                                     int64_t part, int64_t dim)
{
    const rgmi_file_section wanted = {
        .kind = kind, .set = (uint32_t)set, .part = (uint32_t)part, .dim = (uint32_t)dim};
    const rgmi_file_section *key = &wanted, *const * found;

    if (r->count == 0)
        return NULL;
    found = bsearch(&key, r->sorted, (size_t)r->count, sizeof *r->sorted, by_what);
    return found != NULL ? *found : NULL;
}

static rgm_status read_schema(reading *r)
{
    const rgmi_file_section *s = find(r, SECTION_SCHEMA, 0, 0, 0);

    if (s == NULL)
        return bad(r, "it has no schema");
    RGM_TRY(rgm_schema_parse(&r->out->schema, data_of(r, s), (int64_t)s->bytes, r->file->path));
    for (int64_t i = 0; i < r->count; i++) {
        const rgmi_file_section *of = &r->sections[i];
        const rgm_set_schema *set;

        if (of->set >= (uint64_t)r->out->schema->set_count)
            return bad_section(r, of, "its schema has no such set");
        set = r->out->schema->sets[of->set];
        if ((of->kind == SECTION_VALUES || of->kind == SECTION_OFFSETS ||
             of->kind == SECTION_TEXT) &&
            of->part >= (uint64_t)set->feature_count)
            return bad_section(r, of, "its set has no such feature");
        if ((of->kind == SECTION_ROWS || of->kind == SECTION_COLUMNS ||
             of->kind == SECTION_ENTRIES) &&
            (of->part > 1 || set->piece != RGM_EDGE_SET))
            return bad_section(r, of, "it is of no end of an edge set");
        if (of->kind == SECTION_PART && of->part > 2)
            return bad_section(r, of, "there are three parts");
    }
    return RGM_OK;
}

/* ---- items ----------------------------------------------------------------------------------- */

static rgm_status read_items(const reading *r, int64_t set)
{
    const rgm_set_schema *schema = r->out->schema->sets[set];
    const rgmi_file_section *s = find(r, SECTION_ITEMS, set, 0, 0);
    int64_t total;

    if (s == NULL || s->bytes != 0 || s->count > INT32_MAX)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: no sound graph file: how many items '%s' has",
                        r->file->path, schema->name != NULL ? schema->name : "context");
    total = (int64_t)s->count;
    if (set == 0 && total != 1)
        return bad_section(r, s, "the context has one item");
    RGM_TRY(rgm_graph_check_declared(total, r->file->map.size, r->file->path));
    return rgmi_items_create(&r->graph->sets[set].items, 1, &total, 1);
}

/* One end's rows and columns, if they are there. */
static rgm_status read_end(const reading *r, rgmi_stored_edges *edges, int64_t set, int end,
                           const rgmi_items *ends[2])
{
    const rgmi_file_section *rows = find(r, SECTION_ROWS, set, end, 0);
    const rgmi_file_section *columns = find(r, SECTION_COLUMNS, set, end, 0);
    const rgmi_file_section *entries = find(r, SECTION_ENTRIES, set, end, 0);
    uint64_t count = (uint64_t)r->graph->sets[set].items->total;

    if (rows == NULL && columns == NULL && entries == NULL)
        return RGM_OK;
    if (rows == NULL || columns == NULL || rows->count != (uint64_t)ends[end]->total ||
        columns->count != count || (entries != NULL && entries->count != count) ||
        rows->extra > count)
        return bad_section(r,
                           rows != NULL      ? rows
                           : columns != NULL ? columns
                                             : entries,
                           "rows and columns are not those of the set's items");
    edges->has[end] = true;
    edges->max_degree[end] = (int64_t)rows->extra;
    edges->csr[end] = (rgm_csr){.rows = ends[end]->total,
                                .columns = ends[1 - end]->total,
                                .count = (int64_t)count,
                                .row_start = data_of(r, rows),
                                .column = data_of(r, columns),
                                .entry = entries != NULL ? data_of(r, entries) : NULL,
                                .longest = (int64_t)rows->extra};
    return RGM_OK;
}

static rgm_status read_edges(const reading *r, int64_t set)
{
    const rgm_set_schema *schema = r->out->schema->sets[set];
    const char *names[2] = {schema->source, schema->target};
    rgmi_items *items = r->graph->sets[set].items;
    const rgmi_items *ends[2];
    rgmi_stored_edges *edges;

    if (items->total == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(edges, 1));
    edges->file = rgmi_graph_file_retain(r->file);
    items->stored = edges;
    for (int end = 0; end < 2; end++)
        ends[end] =
            r->graph->sets[rgm_schema_index(r->out->schema, RGM_NODE_SET, names[end])].items;
    if (ends[0]->total == 0 || ends[1]->total == 0)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: no sound graph file: edge set '%s' has no nodes",
                        r->file->path, schema->name);
    for (int end = 0; end < 2; end++)
        RGM_TRY(read_end(r, edges, set, end, ends));
    if (!edges->has[0] && !edges->has[1])
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s: no sound graph file: edge set '%s' has no edges at "
                        "either end",
                        r->file->path, schema->name);
    return RGM_OK;
}

/* ---- features -------------------------------------------------------------------------------- */

/* Where something of `rows` rows begins, last what there is of it; the ends are believed, what lies
 * between is not. */
static rgm_status read_offsets(const int64_t **out, int64_t *total, const reading *r,
                               const rgmi_file_section *s, int64_t rows)
{
    const int64_t *offsets;

    if (s == NULL)
        return bad(r, "a ragged feature or one of texts lacks its offsets");
    offsets = data_of(r, s);
    if (s->count != (uint64_t)rows || s->bytes != ((uint64_t)rows + 1) * sizeof *offsets)
        return bad_section(r, s, "it is not of the rows that there are");
    if (offsets[0] != 0 || offsets[rows] < 0 || offsets[rows] > RGMI_MOST_ITEMS)
        return bad_section(r, s, "it does not begin at 0, or ends too far away");
    *out = offsets;
    *total = offsets[rows];
    return RGM_OK;
}

/* The values as a tensor on the map. */
static rgm_status wrap_values(rgm_tensor **out, const reading *r, const rgmi_file_section *s,
                              const rgm_feature_schema *schema, int64_t rows)
{
    int64_t shape[RGM_MAX_RANK];
    int rank = rgm_feature_values_shape(shape, schema, rows);
    uint64_t bytes = rgm_dtype_size(schema->dtype) * (uint64_t)rgmi_inner_count(schema);

    if (s->count != (uint64_t)rows || (bytes > 0 && s->bytes / bytes != (uint64_t)rows) ||
        s->bytes != (uint64_t)rows * bytes)
        return bad_section(r, s, "it has not the values of the set's items");
    RGM_TRY(rgm_tensor_wrap(out, schema->dtype, rank, shape, (void *)(uintptr_t)data_of(r, s),
                            release_file, r->file));
    rgmi_graph_file_retain(r->file);
    return RGM_OK;
}

static rgm_status wrap_texts(rgmi_stored_column *stored, const reading *r,
                             const rgmi_file_section *values, const rgmi_file_section *text,
                             const rgm_feature_schema *schema, int64_t rows)
{
    int64_t bytes;

    stored->texts = rows * rgmi_inner_count(schema);
    RGM_TRY(read_offsets(&stored->text_start, &bytes, r, values, stored->texts));
    if (text == NULL || text->count != (uint64_t)bytes)
        return bad_section(r, values, "its texts are not there");
    stored->text = data_of(r, text);
    stored->text_bytes = bytes;
    return RGM_OK;
}

/* Dense: a tensor and no more. Ragged, or of texts: what it is made of when somebody asks. */
static rgm_status read_column(const reading *r, rgmi_column *column, int64_t set, int64_t feature)
{
    const rgm_feature_schema *schema = &r->out->schema->sets[set]->features[feature];
    const rgmi_file_section *values = find(r, SECTION_VALUES, set, feature, 0);
    int64_t rows = r->graph->sets[set].items->total;
    int last = rgm_feature_last_ragged(schema);

    column->file = rgmi_graph_file_retain(r->file);
    if (last > 0 || schema->dtype == RGM_STRING) {
        RGM_TRY(RGM_NEW(column->stored, 1));
        column->stored->file = rgmi_graph_file_retain(r->file);
    }
    for (int k = 1; k <= last; k++) {
        if (schema->shape[k - 1] >= 0) {
            rows *= schema->shape[k - 1];
            continue;
        }
        column->stored->rows[k] = rows;
        RGM_TRY(read_offsets(&column->stored->offsets[k], &rows, r,
                             find(r, SECTION_OFFSETS, set, feature, k), rows));
        column->stored->total[k] = rows;
    }
    if (rows > RGMI_MOST_ITEMS)
        return bad_section(r, values, "it has too many values");
    if (schema->dtype == RGM_STRING)
        return wrap_texts(column->stored, r, values, find(r, SECTION_TEXT, set, feature, 0), schema,
                          rows);
    return wrap_values(&column->value.values, r, values, schema, rows);
}

static rgm_status read_features(const reading *r, int64_t set)
{
    const rgm_set_schema *schema = r->out->schema->sets[set];

    for (int64_t j = 0; j < schema->feature_count; j++) {
        rgm_feature none = {0};

        if (find(r, SECTION_VALUES, set, j, 0) == NULL)
            continue;
        RGM_TRY(rgmi_column_create(&r->graph->sets[set].columns[j], &none));
        RGM_TRY(read_column(r, r->graph->sets[set].columns[j], set, j));
    }
    return RGM_OK;
}

/* ---- split ----------------------------------------------------------------------------------- */

/* "set\nname\n" */
static rgm_status read_names(const reading *r, const rgmi_file_section *s)
{
    const char *text = data_of(r, s), *first = memchr(text, '\n', s->bytes);
    size_t size = first != NULL ? (size_t)(first - text) : 0;
    rgm_graph_data *out = r->out;

    if (first == NULL || s->bytes < size + 2 || text[s->bytes - 1] != '\n' ||
        memchr(text, 0, s->bytes) != NULL)
        return bad_section(r, s, "it does not name set and split");
    RGM_TRY(rgm_strprintf(&out->split_set, "%.*s", (int)size, text));
    if (s->bytes > size + 2)
        RGM_TRY(rgm_strprintf(&out->split_name, "%.*s", (int)(s->bytes - size - 2), first + 1));
    if (rgm_schema_index(out->schema, RGM_NODE_SET, out->split_set) < 0)
        return bad_section(r, s, "it is of no node set");
    return RGM_OK;
}

static rgm_status read_split(const reading *r)
{
    const rgmi_file_section *names = find(r, SECTION_SPLIT, 0, 0, 0);
    rgm_tensor **parts[3] = {&r->out->train, &r->out->valid, &r->out->test};
    int64_t total;

    if (names == NULL)
        return RGM_OK;
    RGM_TRY(read_names(r, names));
    total = rgm_graph_total(r->graph, RGM_NODE_SET, r->out->split_set);
    for (int i = 0; i < 3; i++) {
        const rgmi_file_section *s = find(r, SECTION_PART, 0, i, 0);

        if (s == NULL)
            continue;
        RGM_TRY(rgmi_ints(parts[i], (int64_t)s->count, data_of(r, s)));
        for (int64_t k = 0; k < (int64_t)s->count; k++) {
            int64_t node = rgm_tensor_i64(*parts[i])[k];

            if (node < 0 || node >= total)
                return bad_section(r, s, "it lists nodes that there are not");
        }
    }
    return RGM_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static rgm_status read_graph(reading *r)
{
    rgm_schema *schema = r->out->schema;

    RGM_TRY(RGM_NEW(r->out->graphs, 1));
    RGM_TRY(rgm_graph_begin(&r->graph, schema, 1, 1));
    r->out->graphs[0] = r->graph;
    r->out->graph_count = 1;
    for (int64_t i = 0; i < schema->set_count; i++)
        RGM_TRY(read_items(r, i));
    for (int64_t i = 0; i < schema->set_count; i++) {
        if (schema->sets[i]->piece == RGM_EDGE_SET)
            RGM_TRY(read_edges(r, i));
        RGM_TRY(read_features(r, i));
    }
    RGM_TRY(rgm_graph_seal(r->graph));
    RGM_TRY(read_split(r));
    return rgmi_graph_file_check(r->file);
}

rgm_status rgmi_graph_file_read(rgm_graph_data *out, rgmi_graph_file *file)
{
    rgm_status status = RGM_OK;
    reading r = {.file = file, .out = out};

    RGM_GO(read_header(&r));
    RGM_GO(check_sections(&r));
    RGM_GO(sort_sections(&r));
    RGM_GO(read_schema(&r));
    RGM_GO(read_graph(&r));
done:
    rgm_free(r.sorted);
    rgmi_graph_file_release(file);
    if (status != RGM_OK)
        rgm_graph_data_clear(out);
    return status;
}

rgm_status rgm_graph_data_open(rgm_graph_data *out, const char *path)
{
    rgm_status status = RGM_OK;
    rgmi_graph_file *file = NULL;

    *out = (rgm_graph_data){0};
    RGM_GO(RGM_NEW(file, 1));
    file->references = 1;
    RGM_GO(rgm_strdup(&file->path, path));
    RGM_GO(rgm_file_map_guarded(&file->map, path));
    status = rgmi_graph_file_read(out, file);
    file = NULL;
done:
    rgmi_graph_file_release(file);
    return status;
}

bool rgm_is_graph_file(const char *path)
{
    char head[sizeof RGMI_FILE_MAGIC - 1];
    FILE *file = rgm_path_is_folder(path) ? NULL : fopen(path, "rb");
    bool is = file != NULL && fread(head, 1, sizeof head, file) == sizeof head &&
              memcmp(head, RGMI_FILE_MAGIC, sizeof head) == 0;

    if (file != NULL)
        fclose(file);
    return is;
}

int64_t rgm_graph_mapped_bytes(const rgm_graph *graph)
{
    const rgmi_graph_file *file = rgmi_graph_file_of(graph);

    return file != NULL ? file->map.size : 0;
}

rgm_status rgm_graph_check_sums(bool *there, const rgm_graph *graph)
{
    rgmi_graph_file *file = rgmi_graph_file_of(graph);
    reading r = {.file = file};
    rgmi_file_header header;
    const uint8_t *sums;
    uint64_t bytes, sum;

    *there = false;
    if (file == NULL)
        return RGM_OK;
    RGM_TRY(read_header(&r));
    memcpy(&header, file->map.data, sizeof header);
    if (header.sums == 0)
        return RGM_OK;
    *there = true;
    bytes = (uint64_t)r.count * sizeof sum;
    if (header.sums > header.size || bytes > header.size - header.sums ||
        header.sums_hash != rgm_hash64(file->map.data + header.sums, (size_t)bytes))
        return bad(&r, "the checksums of its sections are damaged");
    RGM_TRY(check_sections(&r));
    sums = file->map.data + header.sums;
    for (int64_t i = 0; i < r.count; i++) {
        memcpy(&sum, sums + (size_t)i * sizeof sum, sizeof sum);
        if (sum != rgm_hash64(data_of(&r, &r.sections[i]), (size_t)r.sections[i].bytes))
            return bad_section(&r, &r.sections[i], "its checksum is wrong");
    }
    return rgmi_graph_file_check(file);
}

rgm_status rgm_graph_read_whole(const rgm_graph *graph)
{
    RGM_TRY(rgmi_graph_whole(graph));
    for (int64_t i = 0; i < graph->set_count; i++)
        for (int end = 0; graph->sets[i].items->stored != NULL && end < 2; end++)
            if (graph->sets[i].items->stored->has[end])
                RGM_TRY(rgmi_stored_edges_check(graph->sets[i].items->stored, end));
    return RGM_OK;
}
