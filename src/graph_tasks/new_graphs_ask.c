/*
 * What is asked of new graphs: the readout that a graph has, the items that a file names by their
 * ids, or all nodes of the set that the run's readout reads.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "new_graphs.h"

/* The node set that "<readout_set>/<key>" of the run's schema comes from; NULL: it is made later,
 * by a processor. */
static const char *read_from(const rgmi_learning *l, const char *readout_set, const char *key)
{
    char name[256];
    const rgm_set_schema *set;

    snprintf(name, sizeof name, "%s/%s", readout_set, key);
    set = rgm_schema_find(l->schema, RGM_EDGE_SET, name);
    return set != NULL ? set->source : NULL;
}

/* ---- the file of items --------------------------------------------------------------------- */

/* Ids of a node set's items to number + 1. */
static rgm_status map_names(rgm_map **out, const rgmi_new_graphs *self, const rgm_graph *graph,
                            const char *node_set)
{
    const rgm_feature *names = rgm_graph_feature(graph, RGM_NODE_SET, node_set, RGM_ITEM_NAME);
    int64_t count = rgm_graph_total(graph, RGM_NODE_SET, node_set);
    rgm_status status = RGM_OK;
    rgm_text key = {0};

    RGM_TRY(rgm_map_create(out));
    for (int64_t i = 0; i < count; i++) {
        key.size = 0;
        if (names != NULL)
            RGM_GO(rgm_text_add(&key, rgm_tensor_str(names->values)[i].data,
                                rgm_tensor_str(names->values)[i].size));
        else
            RGM_GO(rgm_text_printf(&key, "%" PRId64, i));
        RGM_GO(rgm_text_add(&key, "", 0));
        if (rgm_map_has(*out, key.data))
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s: two nodes of '%s' are called '%.64s'", self->path,
                            node_set, key.data));
        RGM_GO(rgm_map_set(*out, key.data, (void *)(intptr_t)(i + 1)));
    }
done:
    rgm_text_clear(&key);
    return status;
}

/* A column of the file of items, and what its ids mean. */
typedef struct asked_column {
    const char *name, *node_set;
    rgm_map *ids;
    const rgm_text *relations; /* names of relations, a line each, which this column then is of */
    int64_t most;              /* of relations: how many there are */
    int64_t at, *values, room;
} asked_column;

static rgm_status look_up(int64_t *out, const asked_column *c, const char *id)
{
    const char *rest = NULL;
    rgm_str name;
    char *end;

    if (c->ids != NULL) {
        *out = (int64_t)(intptr_t)rgm_map_get(c->ids, id) - 1;
        return RGM_OK;
    }
    for (*out = 0; c->relations != NULL && rgmi_next_name(&name, &rest, c->relations); ++*out)
        if (name.size == (int64_t)strlen(id) && memcmp(name.data, id, (size_t)name.size) == 0)
            return RGM_OK;
    *out = strtoll(id, &end, 10);
    if (*id == '\0' || *end != '\0' || *out < 0 || *out >= c->most)
        *out = -1;
    return RGM_OK;
}

static rgm_status read_row(asked_column *columns, int count, int64_t row,
                           const rgmi_new_graphs *self, const rgm_csv_reader *reader,
                           const rgm_str *fields)
{
    rgm_status status = RGM_OK;
    rgm_text id = {0};

    for (int i = 0; i < count; i++) {
        asked_column *c = &columns[i];

        id.size = 0;
        RGM_GO(rgm_text_add(&id, fields[c->at].data, fields[c->at].size));
        RGM_GO(rgm_text_add(&id, "", 0));
        RGM_GO(RGM_RESERVE(c->values, c->room, row + 1));
        RGM_GO(look_up(&c->values[row], c, id.data));
        if (c->values[row] < 0)
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s:%lld: '%.64s' is no %s of %s%s%s", self->items,
                            (long long)rgm_csv_reader_line(reader), id.data,
                            c->node_set != NULL ? "id" : "relation",
                            c->node_set != NULL ? "node set '" : "the model",
                            c->node_set != NULL ? c->node_set : "",
                            c->node_set != NULL ? "'" : ""));
    }
done:
    rgm_text_clear(&id);
    return status;
}

static rgm_status read_columns(int64_t *rows, asked_column *columns, int count,
                               const rgmi_new_graphs *self, const rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_reader *reader = NULL;
    const rgm_str *fields;
    int64_t width;

    *rows = 0;
    options.header = true;
    RGM_GO(rgm_csv_reader_open(&reader, self->items, &options));
    for (int i = 0; i < count; i++) {
        RGM_GO(rgm_csv_reader_find(&columns[i].at, reader, columns[i].name));
        if (columns[i].node_set != NULL)
            RGM_GO(map_names(&columns[i].ids, self, graph, columns[i].node_set));
    }
    while ((status = rgm_csv_reader_next(&fields, &width, reader)) == RGM_OK) {
        RGM_GO(read_row(columns, count, *rows, self, reader, fields));
        ++*rows;
    }
    if (status == RGM_END)
        status = *rows > 0 ? RGM_OK : RGM_FAIL(RGM_ERR_DATA, "%s: no items", self->items);
done:
    rgm_csv_reader_close(reader);
    return status;
}

static void clear_columns(asked_column *columns, int count)
{
    for (int i = 0; i < count; i++) {
        rgm_map_release(columns[i].ids);
        rgm_free(columns[i].values);
    }
}

/* ---- nodes --------------------------------------------------------------------------------- */

static rgm_status nodes_of_file(rgm_tensor **out, const rgmi_new_graphs *self,
                                const rgm_graph *graph, const char *node_set)
{
    asked_column id = {.name = "id", .node_set = node_set};
    rgm_status status = RGM_OK;
    int64_t rows;

    RGM_GO(read_columns(&rows, &id, 1, self, graph));
    RGM_GO(rgm_tensor_create_from(out, RGM_I64, 1, &rows, id.values));
done:
    clear_columns(&id, 1);
    return status;
}

/* All of one graph; of several rooted ones each one's first. */
static rgm_status all_nodes(rgm_tensor **out, const rgmi_new_graphs *self, const rgm_graph *graph,
                            const char *node_set, bool of_roots)
{
    int64_t count = rgm_graph_total(graph, RGM_NODE_SET, node_set);

    return rgm_tensor_arange(out, of_roots && !self->alone && count > 1 ? 1 : count);
}

static rgm_status nodes_of(rgm_tensor **out, const rgmi_new_graphs *self, const rgm_graph *graph,
                           const rgm_graph_question *q, const char *node_set)
{
    return self->items != NULL ? nodes_of_file(out, self, graph, node_set)
                               : all_nodes(out, self, graph, node_set, q->of_roots);
}

static rgm_status ask_nodes(rgm_graph **out, rgmi_new_graphs *self, rgm_graph *graph,
                            const rgm_graph_question *q, const char *node_set)
{
    rgm_status status = RGM_OK;
    rgm_tensor *nodes = NULL;

    RGM_GO(nodes_of(&nodes, self, graph, q, node_set));
    RGM_GO(rgm_graph_with_readout(out, graph, q->readout_set, q->key, node_set, nodes, NULL));
done:
    rgm_tensor_release(nodes);
    return status;
}

rgm_status rgmi_new_graph_nodes(rgm_tensor **nodes, const char **node_set,
                                const rgmi_new_graphs *self, const rgm_graph *graph)
{
    const rgmi_learning *l = self->learning;
    rgm_graph_question q;

    for (int64_t k = 0; k < l->task_count; k++) {
        if (!rgmi_question_of(&q, l, k) || q.key == NULL)
            continue;
        *node_set = read_from(l, q.readout_set, q.key);
        if (*node_set != NULL)
            return nodes_of(nodes, self, graph, &q, *node_set);
    }
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "no task asks about nodes by the run's readout");
}

/* ---- pairs --------------------------------------------------------------------------------- */

/* How many relations there are, by the run's schema or the task; 0: pairs have none. */
static int64_t relations_of(const rgmi_new_graphs *self, const rgm_graph_question *q)
{
    const rgm_set_schema *readout =
        rgm_schema_find(self->learning->schema, RGM_NODE_SET, q->readout_set);
    const rgm_feature_schema *f =
        q->relation != NULL && readout != NULL ? rgm_set_feature(readout, q->relation) : NULL;

    if (f == NULL)
        return 0;
    return f->vocabulary > 0 ? f->vocabulary : q->relations;
}

static rgm_status pairs_of(rgm_graph **out, const rgm_graph *graph, const asked_column columns[3],
                           int64_t rows, const rgm_graph_question *q)
{
    rgm_graph_pairs pairs = {.readout_set = q->readout_set,
                             .source_set = columns[0].node_set,
                             .target_set = columns[1].node_set};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_tensor_create_from(&pairs.source, RGM_I64, 1, &rows, columns[0].values));
    RGM_GO(rgm_tensor_create_from(&pairs.target, RGM_I64, 1, &rows, columns[1].values));
    if (columns[2].name != NULL) {
        pairs.relation = q->relation;
        pairs.relation_count = columns[2].most;
        RGM_GO(rgm_tensor_create_from(&pairs.relations, RGM_I64, 1, &rows, columns[2].values));
    }
    RGM_GO(rgm_graph_with_pairs(out, graph, &pairs));
done:
    rgm_tensor_release(pairs.source);
    rgm_tensor_release(pairs.target);
    rgm_tensor_release(pairs.relations);
    return status;
}

static rgm_status ask_pairs(rgm_graph **out, rgmi_new_graphs *self, rgm_graph *graph,
                            const rgm_graph_question *q)
{
    const rgmi_learning *l = self->learning;
    asked_column columns[3] = {
        {.name = "source", .node_set = read_from(l, q->readout_set, "source")},
        {.name = "target", .node_set = read_from(l, q->readout_set, "target")},
        {.name = NULL}};
    int64_t rows, relations = relations_of(self, q);
    rgm_status status = RGM_OK;
    int count = 2;

    if (columns[0].node_set == NULL || columns[1].node_set == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the run's schema does not say which nodes pairs are "
                                             "of");
    if (self->items == NULL)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s names no pairs of nodes: --items FILE does, a CSV file with the "
                        "columns source and target%s",
                        self->path, relations > 0 ? " and relation" : "");
    if (relations > 0) {
        columns[2] = (asked_column){.name = "relation", .most = relations};
        columns[2].relations = &l->inputs.relations; /* of training, whose numbers they have */
        count = 3;
    }
    RGM_GO(read_columns(&rows, columns, count, self, graph));
    RGM_GO(pairs_of(out, graph, columns, rows, q));
done:
    clear_columns(columns, count);
    return status;
}

/* ---- a graph ------------------------------------------------------------------------------- */

/* Sets *by_list if a list of items can say what is asked. */
static rgm_status ask(rgm_graph **graph, bool *by_list, rgmi_new_graphs *self,
                      const rgm_graph_question *q)
{
    const char *node_set =
        q->key != NULL ? read_from(self->learning, q->readout_set, q->key) : NULL;
    rgm_graph *next;

    if (q->key != NULL && node_set == NULL)
        return RGM_OK;
    *by_list = true;
    if (rgm_schema_find(rgm_graph_schema(*graph), RGM_NODE_SET, q->readout_set) != NULL &&
        rgm_graph_total(*graph, RGM_NODE_SET, q->readout_set) > 0 && self->items == NULL)
        return RGM_OK;
    RGM_TRY(q->key != NULL ? ask_nodes(&next, self, *graph, q, node_set)
                           : ask_pairs(&next, self, *graph, q));
    rgmi_step_to(graph, next);
    return RGM_OK;
}

static rgm_status ask_all(rgm_graph **out, rgmi_new_graphs *self, rgm_graph *graph)
{
    const rgmi_learning *l = self->learning;
    rgm_status status = RGM_OK;
    rgm_graph *asked = rgm_graph_retain(graph);
    rgm_graph_question q;
    bool by_list = false;

    *out = NULL;
    for (int64_t k = 0; k < l->task_count; k++)
        if (rgmi_question_of(&q, l, k))
            RGM_GO(ask(&asked, &by_list, self, &q));
    if (self->items != NULL && !by_list)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s: the task '%s' is of every edge or graph of the data, or of what a "
                        "processor of the run chooses, and takes no list of items",
                        self->items, l->tasks[0]->type->section.name));
    *out = asked;
    asked = NULL;
done:
    rgm_graph_release(asked);
    return status;
}

/* A readout of all nodes is made of one component. */
rgm_status rgmi_new_graph_ask(rgm_graph **out, rgmi_new_graphs *self, rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_graph_components(graph);
    rgm_graph **parts = NULL, *part = NULL;

    *out = NULL;
    if (count == 1)
        return ask_all(out, self, graph);
    RGM_GO(RGM_NEW(parts, count));
    for (int64_t i = 0; i < count; i++) {
        RGM_GO(rgm_graph_component(&part, graph, i));
        RGM_GO(ask_all(&parts[i], self, part));
        rgm_graph_release(part);
        part = NULL;
    }
    RGM_GO(rgm_graph_merge(out, parts, count));
done:
    rgm_graph_release(part);
    for (int64_t i = 0; parts != NULL && i < count; i++)
        rgm_graph_release(parts[i]);
    rgm_free(parts);
    return status;
}
