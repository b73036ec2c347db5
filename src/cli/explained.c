/* What a prediction rests on: what weighs most, as a table for people and as a file. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "table.h"
#include "verb_explain.h"

/* ---- what weighs most ------------------------------------------------------------------------ */

/* Into a list of the `most` heaviest so far, the heaviest first. */
static void keep(explained *list, int64_t *count, int64_t most, explained one)
{
    int64_t at = *count;

    if (one.score == 0 || most == 0)
        return;
    if (at == most && fabs(list[at - 1].score) >= fabs(one.score))
        return;
    at = at < most ? at : most - 1;
    for (; at > 0 && fabs(list[at - 1].score) < fabs(one.score); at--)
        list[at] = list[at - 1];
    list[at] = one;
    *count += *count < most;
}

rgm_status explained_rank(explained_view *v, int64_t most)
{
    RGM_TRY(RGM_NEW(v->edges, most));
    RGM_TRY(RGM_NEW(v->features, most));
    for (int64_t k = 0; k < v->explanation.input_count; k++) {
        const rgm_explained_input *input = &v->explanation.inputs[k];
        bool edges = input->feature == NULL;

        for (int64_t i = 0; i < rgm_tensor_count(input->scores); i++) {
            double score = rgm_tensor_at(input->scores, i);

            *(edges ? &v->edge_total : &v->feature_total) += score != 0;
            keep(edges ? v->edges : v->features, edges ? &v->edge_count : &v->feature_count, most,
                 (explained){k, i, score});
        }
    }
    return RGM_OK;
}

/* ---- what it is called ----------------------------------------------------------------------- */

static const char *node_name(const explained_view *v, const char *set, int64_t node)
{
    static char rooms[4][64];
    static int next;
    char *room = rooms[next = (next + 1) % 4];
    const rgm_feature *id = rgm_graph_feature(v->explanation.graph, RGM_NODE_SET, set, "#id");

    if (id != NULL && rgm_tensor_dtype(id->values) == RGM_STRING) {
        const rgm_str *text = &rgm_tensor_str(id->values)[node];

        snprintf(room, sizeof rooms[0], "%.*s", (int)(text->size < 60 ? text->size : 60),
                 text->data);
        return room;
    }
    snprintf(room, sizeof rooms[0], "%lld",
             (long long)(id != NULL ? rgm_tensor_at_int(id->values, node) : node));
    return room;
}

const char *explained_target(const explained_view *v)
{
    static char room[32];

    if (v->explanation.target < v->head->class_names.count)
        return v->head->class_names.items[v->explanation.target];
    snprintf(room, sizeof room, "%lld", (long long)v->explanation.target);
    return room;
}

static const rgm_set_schema *edge_schema(const explained_view *v, const char *edge_set)
{
    return rgm_schema_find(rgm_graph_schema(v->explanation.graph), RGM_EDGE_SET, edge_set);
}

/* Cells from `at` on: which edge, or which number of a feature of which item. */
static rgm_status name_edge(table *t, const explained_view *v, explained one)
{
    const char *set = v->explanation.inputs[one.input].set;
    const rgm_set_schema *schema = edge_schema(v, set);
    const rgm_graph *graph = v->explanation.graph;
    int64_t source = rgm_tensor_at_int(rgm_graph_source(graph, set), one.i);
    int64_t target = rgm_tensor_at_int(rgm_graph_target(graph, set), one.i);

    RGM_TRY(table_set(t, 0, "edge"));
    RGM_TRY(table_set(t, 1, set));
    RGM_TRY(table_set(t, 2, node_name(v, schema->source, source)));
    return table_set(t, 3, node_name(v, schema->target, target));
}

/* A number by which something is called: not one of an amount, in groups. */
static rgm_status set_number(table *t, int64_t column, int64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)number);
    return table_set(t, column, text);
}

void explained_feature(explained_place *out, const explained_view *v, explained one)
{
    const rgm_explained_input *input = &v->explanation.inputs[one.input];
    int64_t item = 0, column = one.i; /* by column: of all items */

    if (input->pattern != NULL && !input->by_column) {
        item = rgm_pattern_row_of(input->pattern)[one.i];
        column = rgm_pattern_column_of(input->pattern)[one.i];
    } else if (!input->by_column) {
        int64_t columns = rgm_tensor_count(input->scores) / rgm_tensor_dim(input->scores, 0);

        item = one.i / columns;
        column = one.i % columns;
    }
    *out = (explained_place){.set = input->set, .feature = input->feature, .column = column};
    if (!input->by_column && input->piece == RGM_NODE_SET)
        snprintf(out->item, sizeof out->item, "%s", node_name(v, input->set, item));
    else if (!input->by_column)
        snprintf(out->item, sizeof out->item, "%lld", (long long)item);
}

static rgm_status name_feature(table *t, const explained_view *v, explained one)
{
    explained_place place;
    rgm_status status;
    char *name;

    explained_feature(&place, v, one);
    RGM_TRY(table_set(t, 0, "feature"));
    RGM_TRY(rgm_strprintf(&name, "%s%s%s", place.set != NULL ? place.set : "",
                          place.set != NULL ? "." : "", place.feature));
    status = table_set(t, 1, name);
    rgm_free(name);
    RGM_TRY(status);
    if (place.item[0] != '\0')
        RGM_TRY(table_set(t, 2, place.item));
    return set_number(t, 3, place.column);
}

/* "layer_0/nodes/paper/cites 3", a column for each head. */
static rgm_status add_heads(table *t, const explained_view *v)
{
    for (int64_t a = 0; a < v->explanation.attention_count; a++) {
        const rgm_explained_attention *layer = &v->explanation.attention[a];

        for (int64_t h = 0; h < rgm_tensor_dim(layer->weights, 1); h++) {
            rgm_status status;
            char *name;

            RGM_TRY(rgm_strprintf(&name, "%s %lld", layer->layer, (long long)h));
            status = table_add_column(t, name);
            rgm_free(name);
            RGM_TRY(status);
        }
    }
    return RGM_OK;
}

/* What each head of the layers that hear the edge weighs it, in these columns. */
static void set_heads(table *t, const explained_view *v, explained one, int64_t column)
{
    const char *set = v->explanation.inputs[one.input].set;

    for (int64_t a = 0; a < v->explanation.attention_count; a++) {
        const rgm_explained_attention *layer = &v->explanation.attention[a];
        int64_t heads = rgm_tensor_dim(layer->weights, 1);

        for (int64_t h = 0; h < heads; h++, column++)
            if (strcmp(layer->edge_set, set) == 0)
                table_set_number(t, column, rgm_tensor_at(layer->weights, one.i * heads + h));
    }
}

/* With the heads of attention beside the score, or without. */
static rgm_status make_table(table *t, const explained_view *v, bool heads)
{
    static const char *const head[] = {"what", "of", "from, item", "to, column", "score"};

    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        RGM_TRY(table_add_column(t, head[i]));
    if (heads)
        RGM_TRY(add_heads(t, v));
    for (int64_t i = 0; i < v->edge_count; i++) {
        RGM_TRY(table_add_row(t));
        RGM_TRY(name_edge(t, v, v->edges[i]));
        table_set_number(t, 4, v->edges[i].score);
        if (heads)
            set_heads(t, v, v->edges[i], 5);
    }
    for (int64_t i = 0; i < v->feature_count; i++) {
        RGM_TRY(table_add_row(t));
        RGM_TRY(name_feature(t, v, v->features[i]));
        table_set_number(t, 4, v->features[i].score);
    }
    return RGM_OK;
}

/* ---- what is written ------------------------------------------------------------------------- */

/* "mean weights of conv_0 (8 heads), conv_1 (1)" */
static rgm_status print_layers(rgm_text *out, const rgm_explanation *e)
{
    enum { MOST_TOLD = 6 };

    if (e->attention_count > MOST_TOLD)
        return rgm_text_printf(out, "mean weights of %lld layers, which -o FILE.csv names\n",
                               (long long)e->attention_count);
    RGM_TRY(rgm_text_printf(out, "mean weights of"));
    for (int64_t a = 0; a < e->attention_count; a++) {
        RGM_TRY(rgm_text_printf(out, "%s ", a > 0 ? "," : ""));
        RGM_TRY(rgm_text_add_visible(out, e->attention[a].layer));
        RGM_TRY(rgm_text_printf(out, " (%lld%s)",
                                (long long)rgm_tensor_dim(e->attention[a].weights, 1),
                                a == 0 ? " heads" : ""));
    }
    return rgm_text_printf(out, "\n");
}

static rgm_status print_head(rgm_text *out, const explained_view *v)
{
    const rgm_explanation *e = &v->explanation;
    const char *what = v->head->is_number ? "number" : "class";

    RGM_TRY(rgm_text_printf(out, "item %lld of %s", (long long)v->item, v->part));
    if (v->node >= 0)
        RGM_TRY(rgm_text_printf(out, ", node %lld", (long long)v->node));
    RGM_TRY(rgm_text_printf(out, ": %s ", what));
    RGM_TRY(rgm_text_add_visible(out, explained_target(v)));
    RGM_TRY(rgm_text_printf(out, ", %s %.6g (%s)\n", v->head->is_number ? "value" : "logit",
                            e->output, v->method));
    if (isfinite(e->nothing))
        RGM_TRY(rgm_text_printf(out,
                                "of nothing it is %.6g; the scores of all edges and features add "
                                "up to the difference but for %.2g\n",
                                e->nothing, e->left));
    else if (e->attention_count > 0)
        RGM_TRY(print_layers(out, e));
    else if (isfinite(e->left))
        RGM_TRY(rgm_text_printf(out, "with the masks it is %.6g\n", e->left));
    return RGM_OK;
}

static rgm_status print_scores(rgm_text *out, const explained_view *v, const table *t)
{
    if (v->edge_count + v->feature_count > 0)
        return table_print(out, t, line_width());
    return rgm_text_printf(out, v->explanation.attention_count > 0
                                    ? "no edge is heard by what the prediction depends on\n"
                                    : "no edge or feature that is explained has a score\n");
}

/* ---- picture --------------------------------------------------------------------------------- */

void explained_picture_clear(explained_picture *p)
{
    for (int64_t i = 0; i < p->node_count; i++)
        rgm_free((void *)p->nodes[i].name);
    rgm_free(p->nodes);
    rgm_free(p->edges);
    rgm_free(p->numbers);
}

/* The node that is asked about: by the number that predictions tell. */
static bool is_asked(const explained_view *v, const char *set, int64_t node)
{
    const rgm_feature *id = rgm_graph_feature(v->explanation.graph, RGM_NODE_SET, set, "#id");
    bool number = id == NULL || rgm_tensor_dtype(id->values) != RGM_STRING;
    int64_t told = id != NULL && number ? rgm_tensor_at_int(id->values, node) : node;

    return v->node >= 0 && number && told == v->node &&
           (v->node_set == NULL || strcmp(v->node_set, set) == 0);
}

static rgm_status place_of(int64_t *out, explained_picture *p, const explained_view *v,
                           const char *set, int64_t node)
{
    char *name;

    for (*out = 0; *out < p->node_count; ++*out)
        if (p->numbers[*out] == node && strcmp(p->nodes[*out].set, set) == 0)
            return RGM_OK;
    RGM_TRY(rgm_strdup(&name, node_name(v, set, node)));
    p->numbers[p->node_count] = node;
    p->nodes[p->node_count++] =
        (rgm_drawn_node){.set = set, .name = name, .marked = is_asked(v, set, node)};
    return RGM_OK;
}

rgm_status explained_collect(explained_picture *p, const explained_view *v)
{
    const rgm_graph *graph = v->explanation.graph;

    RGM_TRY(RGM_NEW(p->nodes, 2 * v->edge_count + 1));
    RGM_TRY(RGM_NEW(p->numbers, 2 * v->edge_count + 1));
    RGM_TRY(RGM_NEW(p->edges, v->edge_count + 1));
    for (int64_t i = 0; i < v->edge_count; i++) {
        const char *set = v->explanation.inputs[v->edges[i].input].set;
        const rgm_set_schema *schema = edge_schema(v, set);
        rgm_drawn_edge *edge = &p->edges[i];

        edge->set = set;
        edge->score = v->edges[i].score;
        RGM_TRY(place_of(&edge->from, p, v, schema->source,
                         rgm_tensor_at_int(rgm_graph_source(graph, set), v->edges[i].i)));
        RGM_TRY(place_of(&edge->to, p, v, schema->target,
                         rgm_tensor_at_int(rgm_graph_target(graph, set), v->edges[i].i)));
    }
    return RGM_OK;
}

static rgm_status draw_edges(rgm_text *out, const explained_view *v)
{
    rgm_status status = RGM_OK;
    rgm_text caption = {0};
    explained_picture p = {0};

    RGM_GO(explained_collect(&p, v));
    RGM_GO(rgm_text_printf(&caption, "item %lld of %s, %s %s; %s; %s", (long long)v->item, v->part,
                           v->head->is_number ? "number" : "class", explained_target(v),
                           v->explanation.attention_count > 0
                               ? "what is heard more is thicker"
                               : "blue speaks for it, dashed red against it",
                           v->method));
    RGM_GO(rgm_draw_graph(out, p.nodes, p.node_count, p.edges, v->edge_count, caption.data));
done:
    explained_picture_clear(&p);
    rgm_text_clear(&caption);
    return status;
}

/* ---- file ------------------------------------------------------------------------------------ */

rgm_status explained_save(const char *path, const explained_view *v)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    table t = {0};

    if (strcasecmp(strrchr(path, '.'), ".svg") == 0) {
        RGM_GO(draw_edges(&text, v));
    } else {
        RGM_GO(make_table(&t, v, true));
        RGM_GO(table_print_csv(&text, &t));
    }
    RGM_GO(rgm_file_save(path, text.data, text.size));
done:
    rgm_text_clear(&text);
    table_clear(&t);
    return status;
}

rgm_status explained_print(rgm_text *out, const explained_view *v)
{
    rgm_status status = RGM_OK;
    table t = {0};

    RGM_GO(make_table(&t, v, false));
    RGM_GO(print_head(out, v));
    RGM_GO(print_scores(out, v, &t));
done:
    table_clear(&t);
    return status;
}
