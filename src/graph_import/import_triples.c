/*
 * Triples of a knowledge graph, "head<TAB>relation<TAB>tail" a line, to one graph: entities and
 * relations are numbered as they first appear, training files first. Into memory all is read at
 * once; into a graph file twice, for the names and then for the facts, a block at a time.
 */
#include <inttypes.h>
#include <string.h>

#include "import_internal.h"

/* Names by number. */
typedef struct names {
    rgm_map *numbers; /* name -> number + 1 */
    int64_t trained;  /* how many the training files have */
} names;

typedef struct triples {
    names entities, relations;
    int64_t *rows; /* [count][4]: head, relation, tail, part */
    int64_t count, capacity;
    int64_t total; /* with those that were written */
    rgm_text name;
    const char *node_set, *edge_set;
    rgm_graph_writer *writer; /* that gets facts block by block; NULL: they stay in memory */
    bool only_names;          /* this pass numbers them, and keeps no row */
} triples;

enum { HEAD, RELATION, TAIL, PART, COLUMNS, BLOCK_ROWS = 65536 };

static void triples_clear(triples *t)
{
    rgm_map_release(t->entities.numbers);
    rgm_map_release(t->relations.numbers);
    rgm_free(t->rows);
    rgm_text_clear(&t->name);
}

/* ---- facts --------------------------------------------------------------------------------- */

static rgm_status column_of(rgm_tensor **out, const triples *t, int column)
{
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, &t->count));
    for (int64_t i = 0; i < t->count; i++)
        rgm_tensor_i64(*out)[i] = t->rows[i * COLUMNS + column];
    return RGM_OK;
}

/** Those at hand as ends and features of edges. */
typedef struct facts {
    rgm_tensor *columns[COLUMNS];
    rgm_feature relation, part;
} facts;

static void facts_clear(facts *f)
{
    for (int c = 0; c < COLUMNS; c++)
        rgm_tensor_release(f->columns[c]);
    rgm_feature_clear(&f->relation);
    rgm_feature_clear(&f->part);
}

/* To be cleared whether it fails or not. */
static rgm_status facts_of(facts *out, const triples *t)
{
    *out = (facts){.columns = {NULL}};
    for (int c = 0; c < COLUMNS; c++)
        RGM_TRY(column_of(&out->columns[c], t, c));
    RGM_TRY(rgm_tensor_create(&out->relation.row_lengths[1], RGM_I64, 1, &t->count));
    for (int64_t i = 0; i < t->count; i++)
        rgm_tensor_i64(out->relation.row_lengths[1])[i] = 1;
    out->relation.values = rgm_tensor_retain(out->columns[RELATION]);
    out->part.values = rgm_tensor_retain(out->columns[PART]);
    return RGM_OK;
}

static rgm_status write_facts(triples *t)
{
    rgm_status status = RGM_OK;
    facts f;

    RGM_GO(facts_of(&f, t));
    RGM_GO(rgm_graph_writer_edges(t->writer, t->edge_set, rgm_tensor_i64(f.columns[HEAD]),
                                  rgm_tensor_i64(f.columns[TAIL]), t->count));
    RGM_GO(rgm_graph_writer_feature(t->writer, RGM_EDGE_SET, t->edge_set, "relation", &f.relation));
    RGM_GO(rgm_graph_writer_feature(t->writer, RGM_EDGE_SET, t->edge_set, "part", &f.part));
    t->count = 0;
done:
    facts_clear(&f);
    return status;
}

/* ---- lines --------------------------------------------------------------------------------- */

static rgm_status number_of(int64_t *out, triples *t, names *n, const rgm_str *field,
                            const char *path, int64_t line)
{
    if (field->size == 0 || memchr(field->data, '\0', (size_t)field->size) != NULL ||
        memchr(field->data, '\n', (size_t)field->size) != NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s:%" PRId64 ": %s", path, line,
                        field->size == 0 ? "an empty name" : "a name of several lines");
    t->name.size = 0;
    RGM_TRY(rgm_text_add(&t->name, field->data, field->size));
    *out = (int64_t)(intptr_t)rgm_map_get(n->numbers, t->name.data) - 1;
    if (*out >= 0)
        return RGM_OK;
    *out = rgm_map_count(n->numbers);
    return rgm_map_set(n->numbers, t->name.data, (void *)(intptr_t)(*out + 1));
}

static rgm_status add_row(triples *t, const rgm_str *fields, int64_t part, const char *path,
                          int64_t line)
{
    int64_t row[COLUMNS] = {[PART] = part};

    RGM_TRY(number_of(&row[HEAD], t, &t->entities, &fields[0], path, line));
    RGM_TRY(number_of(&row[RELATION], t, &t->relations, &fields[1], path, line));
    RGM_TRY(number_of(&row[TAIL], t, &t->entities, &fields[2], path, line));
    t->total++;
    if (t->only_names)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(t->rows, t->capacity, (t->count + 1) * COLUMNS));
    memcpy(t->rows + t->count++ * COLUMNS, row, sizeof row);
    return t->writer != NULL && t->count == BLOCK_ROWS ? write_facts(t) : RGM_OK;
}

static rgm_status read_file(triples *t, int64_t part, const char *path)
{
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_reader *reader = NULL;
    rgm_status status = RGM_OK;
    const rgm_str *fields;
    int64_t count;

    options.delimiter = '\t';
    options.ragged = true;
    RGM_GO(rgm_csv_reader_open(&reader, path, &options));
    while ((status = rgm_csv_reader_next(&fields, &count, reader)) == RGM_OK) {
        int64_t line = rgm_csv_reader_line(reader);

        if (count != 3)
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                            "%s:%" PRId64 ": %" PRId64 " fields, but a triple is head, relation "
                            "and tail with tabs between",
                            path, line, count));
        RGM_GO(add_row(t, fields, part, path, line));
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgm_csv_reader_close(reader);
    return status;
}

/* Names that a file names or whose pattern matches it. */
static rgm_status read_files(triples *t, int64_t part, const rgm_texts *files)
{
    for (int64_t i = 0; files != NULL && i < files->count; i++)
        RGM_TRY(read_file(t, part, files->items[i]));
    if (part == 0 && t->writer == NULL) {
        t->entities.trained = rgm_map_count(t->entities.numbers);
        t->relations.trained = rgm_map_count(t->relations.numbers);
        if (t->total == 0)
            return RGM_FAIL(RGM_ERR_DATA, "no triple is for training");
    }
    return RGM_OK;
}

/* What no training triple is of stays as it was drawn. */
static void tell_untrained(const triples *t)
{
    int64_t entities = rgm_map_count(t->entities.numbers) - t->entities.trained;
    int64_t relations = rgm_map_count(t->relations.numbers) - t->relations.trained;

    if (entities + relations > 0)
        rgm_log_write(RGM_LOG_WARNING,
                      "%" PRId64 " entities and %" PRId64 " relations are in no training triple: "
                      "nothing is learned of them",
                      entities, relations);
}

/* ---- the graph ------------------------------------------------------------------------------- */

static rgm_status make_schema(rgm_schema **out, const char *node_set, const char *edge_set,
                              int64_t relations)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    const int64_t list = -1;

    RGM_GO(rgm_schema_create(&schema));
    RGM_GO(rgm_schema_add_node_set(schema, node_set));
    RGM_GO(rgm_schema_add_edge_set(schema, edge_set, node_set, node_set));
    RGM_GO(rgm_schema_add_feature(schema, RGM_CONTEXT_PIECE, NULL, RGM_RELATION_NAMES, RGM_STRING,
                                  1, &list));
    RGM_GO(rgm_schema_add_feature(schema, RGM_NODE_SET, node_set, "name", RGM_STRING, 0, NULL));
    RGM_GO(rgm_schema_add_feature(schema, RGM_EDGE_SET, edge_set, "relation", RGM_I64, 1, &list));
    RGM_GO(rgm_schema_set_one_hot(schema, RGM_EDGE_SET, edge_set, "relation", relations));
    RGM_GO(rgm_schema_add_feature(schema, RGM_EDGE_SET, edge_set, "part", RGM_I64, 0, NULL));
    RGM_GO(rgm_schema_check(schema));
    *out = schema;
    schema = NULL;
done:
    rgm_schema_release(schema);
    return status;
}

/* The names in their order. */
static rgm_status names_feature(rgm_feature *out, const names *n)
{
    int64_t count = rgm_map_count(n->numbers);
    rgm_status status = RGM_OK;
    rgm_str *texts;

    RGM_TRY(RGM_NEW(texts, count));
    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_map_key(n->numbers, i);

        texts[(intptr_t)rgm_map_value(n->numbers, i) - 1] = (rgm_str){name, (int64_t)strlen(name)};
    }
    status = rgm_tensor_create_from(&out->values, RGM_STRING, 1, &count, texts);
    rgm_free(texts);
    return status;
}

/* The names of entities and relations, as features. */
static rgm_status name_features(rgm_feature *entities, rgm_feature *relations, const triples *t)
{
    int64_t one = 1, count = rgm_map_count(t->relations.numbers);

    RGM_TRY(names_feature(entities, &t->entities));
    RGM_TRY(names_feature(relations, &t->relations));
    return rgm_tensor_create_from(&relations->row_lengths[1], RGM_I64, 1, &one, &count);
}

static rgm_status add_names(rgm_graph_builder *builder, const triples *t)
{
    rgm_status status = RGM_OK;
    rgm_feature entities = {0}, relations = {0};

    RGM_GO(name_features(&entities, &relations, t));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_NODE_SET, t->node_set, "name", &entities));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_CONTEXT_PIECE, NULL, RGM_RELATION_NAMES,
                                     &relations));
done:
    rgm_feature_clear(&entities);
    rgm_feature_clear(&relations);
    return status;
}

static rgm_status add_facts(rgm_graph_builder *builder, const triples *t)
{
    rgm_status status = RGM_OK;
    facts f;

    RGM_GO(facts_of(&f, t));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, t->edge_set, &t->count));
    RGM_GO(rgm_graph_builder_edges(builder, t->edge_set, f.columns[HEAD], f.columns[TAIL]));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_EDGE_SET, t->edge_set, "relation", &f.relation));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_EDGE_SET, t->edge_set, "part", &f.part));
done:
    facts_clear(&f);
    return status;
}

static rgm_status make_graph(rgm_graph **out, const triples *t)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph_builder *builder = NULL;
    int64_t entities = rgm_map_count(t->entities.numbers);

    RGM_GO(make_schema(&schema, t->node_set, t->edge_set, rgm_map_count(t->relations.numbers)));
    RGM_GO(rgm_graph_builder_create(&builder, schema, 1));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, t->node_set, &entities));
    RGM_GO(add_names(builder, t));
    RGM_GO(add_facts(builder, t));
    RGM_GO(rgm_graph_builder_finish(out, builder));
done:
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return status;
}

static rgm_status triples_init(triples *t, const rgm_triples_options *options)
{
    *t = (triples){.node_set = options->node_set != NULL ? options->node_set : "entity",
                   .edge_set = options->edge_set != NULL ? options->edge_set : "fact"};
    RGM_TRY(rgm_map_create(&t->entities.numbers));
    return rgm_map_create(&t->relations.numbers);
}

static rgm_status read_parts(triples *t, const rgm_triples_options *options)
{
    const rgm_texts *parts[3] = {&options->train, &options->valid, &options->test};

    for (int part = 0; part < 3; part++)
        RGM_TRY(read_files(t, part, parts[part]));
    return RGM_OK;
}

rgm_status rgm_import_triples(rgm_graph_data *out, const rgm_triples_options *options)
{
    rgm_status status = RGM_OK;
    triples t;
    rgm_graph_data data = {0};

    *out = (rgm_graph_data){0};
    RGM_GO(triples_init(&t, options));
    RGM_GO(read_parts(&t, options));
    tell_untrained(&t);
    RGM_GO(RGM_NEW(data.graphs, 1));
    RGM_GO(make_graph(&data.graphs[0], &t));
    data.graph_count = 1;
    data.schema = rgm_schema_retain((rgm_schema *)rgm_graph_schema(data.graphs[0]));
    *out = data;
    data = (rgm_graph_data){0};
done:
    rgm_graph_data_clear(&data);
    triples_clear(&t);
    return status;
}

/* ---- into a graph file ----------------------------------------------------------------------- */

static rgm_status write_names(const triples *t)
{
    rgm_status status = RGM_OK;
    rgm_feature entities = {0}, relations = {0};

    RGM_GO(rgm_graph_writer_items(t->writer, t->node_set, rgm_map_count(t->entities.numbers)));
    RGM_GO(name_features(&entities, &relations, t));
    RGM_GO(rgm_graph_writer_feature(t->writer, RGM_NODE_SET, t->node_set, "name", &entities));
    RGM_GO(rgm_graph_writer_feature(t->writer, RGM_CONTEXT_PIECE, NULL, RGM_RELATION_NAMES,
                                    &relations));
done:
    rgm_feature_clear(&entities);
    rgm_feature_clear(&relations);
    return status;
}

rgm_status rgm_import_triples_file(const char *file, const rgm_triples_options *options,
                                   const rgm_graph_writer_options *writer)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    triples t;

    RGM_GO(triples_init(&t, options));
    t.only_names = true;
    RGM_GO(read_parts(&t, options));
    tell_untrained(&t);
    t.only_names = false;
    RGM_GO(make_schema(&schema, t.node_set, t.edge_set, rgm_map_count(t.relations.numbers)));
    RGM_GO(rgm_graph_writer_open(&t.writer, file, schema, writer));
    RGM_GO(write_names(&t));
    RGM_GO(read_parts(&t, options));
    if (t.count > 0)
        RGM_GO(write_facts(&t));
    RGM_GO(rgm_graph_writer_finish(t.writer));
done:
    rgm_graph_writer_release(t.writer);
    rgm_schema_release(schema);
    triples_clear(&t);
    return status;
}
