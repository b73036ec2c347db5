/* regimen explain: which edges and features a prediction rests on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "explain.h"
#include "table.h"

typedef struct request {
    rgm_explain_options options;
    int64_t node, item, number; /* -1: not asked for */
    const char *part;           /* NULL: the first that has it */
    int64_t top;
    const char *method, *output;
    bool edges_only, features_only;
} request;

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

static rgm_status rank(explained_view *v, int64_t most)
{
    RGM_TRY(RGM_NEW(v->edges, most));
    RGM_TRY(RGM_NEW(v->features, most));
    for (int64_t k = 0; k < v->explanation.input_count; k++) {
        const rgm_explained_input *input = &v->explanation.inputs[k];
        bool edges = input->feature == NULL;

        for (int64_t i = 0; i < rgm_tensor_count(input->scores); i++)
            keep(edges ? v->edges : v->features, edges ? &v->edge_count : &v->feature_count, most,
                 (explained){k, i, rgm_tensor_at(input->scores, i)});
    }
    return RGM_OK;
}

/* ---- what it is called ----------------------------------------------------------------------- */

const char *explained_node(const explained_view *v, const char *set, int64_t node)
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
    RGM_TRY(table_set(t, 2, explained_node(v, schema->source, source)));
    return table_set(t, 3, explained_node(v, schema->target, target));
}

/* A number by which something is called: not one of an amount, in groups. */
static rgm_status set_number(table *t, int64_t column, int64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)number);
    return table_set(t, column, text);
}

static rgm_status name_feature(table *t, const explained_view *v, explained one)
{
    const rgm_explained_input *input = &v->explanation.inputs[one.input];
    int64_t item = 0, column = one.i; /* by column: of all items */
    rgm_status status;
    char *name;

    if (input->pattern != NULL && !input->by_column) {
        item = rgm_pattern_row_of(input->pattern)[one.i];
        column = rgm_pattern_column_of(input->pattern)[one.i];
    } else if (!input->by_column) {
        int64_t columns = rgm_tensor_count(input->scores) / rgm_tensor_dim(input->scores, 0);

        item = one.i / columns;
        column = one.i % columns;
    }
    RGM_TRY(table_set(t, 0, "feature"));
    RGM_TRY(rgm_strprintf(&name, "%s%s%s", input->set != NULL ? input->set : "",
                          input->set != NULL ? "." : "", input->feature));
    status = table_set(t, 1, name);
    rgm_free(name);
    RGM_TRY(status);
    if (!input->by_column && input->piece == RGM_NODE_SET)
        RGM_TRY(table_set(t, 2, explained_node(v, input->set, item)));
    else if (!input->by_column)
        RGM_TRY(set_number(t, 2, item));
    return set_number(t, 3, column);
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

static rgm_status save(const char *path, const explained_view *v)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    table t = {0};

    if (strcasecmp(strrchr(path, '.'), ".svg") == 0) {
        RGM_GO(explained_picture(&text, v));
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

static rgm_status show(explained_view *v, const request *r)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    table t = {0};

    RGM_GO(rank(v, r->top));
    RGM_GO(make_table(&t, v, false));
    RGM_GO(print_head(&text, v));
    RGM_GO(print_scores(&text, v, &t));
    if (r->output != NULL)
        RGM_GO(save(r->output, v));
    if (print_text(text.data) != EXIT_DONE)
        status = RGM_ERR_IO;
done:
    rgm_text_clear(&text);
    table_clear(&t);
    return status;
}

/* Whose numbers predictions tell: the nodes that the readout points at. */
static const char *asked_set(const rgm_graph *graph)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_EDGE_SET && strcmp(set->target, RGM_READOUT) == 0)
            return set->source;
    }
    return NULL;
}

/* ---- which prediction ------------------------------------------------------------------------ */

typedef struct searching {
    const request *request;
    const rgm_task *task;
    rgm_explainer *explainer;
    explained_view view;
    int64_t before; /* items of the batches so far */
    bool found;
} searching;

static int64_t node_of(const searching *s, const rgm_prediction *p, int64_t i)
{
    return s->task->item_number != NULL
               ? s->task->item_number(p->batch, s->request->options.head, i, s->task->state)
               : -1;
}

/* The asked item in a batch; -1: it is none of them. */
static int64_t find(const searching *s, const rgm_prediction *p)
{
    int64_t items = rgm_tensor_dim(p->values, 0);

    if (s->request->node < 0) {
        int64_t i = s->request->item - s->before;

        return i >= 0 && i < items ? i : -1;
    }
    for (int64_t i = 0; i < items; i++)
        if (node_of(s, p, i) == s->request->node)
            return i;
    return -1;
}

static rgm_status look(const rgm_prediction *p, void *payload)
{
    searching *s = payload;
    int64_t i = find(s, p);

    if (i < 0) {
        s->before += rgm_tensor_dim(p->values, 0);
        return RGM_OK;
    }
    s->found = true;
    s->view.item = s->before + i;
    s->view.node = node_of(s, p, i);
    RGM_TRY(rgm_explain(&s->view.explanation, s->explainer, p, i, s->request->number));
    s->view.node_set = asked_set(s->view.explanation.graph);
    return RGM_END;
}

static rgm_status search_part(searching *s, const session *open, rgm_mode mode)
{
    s->before = 0;
    s->view.part = rgm_mode_name(mode);
    return rgm_run_predict(open->run, mode, s->request->options.head, look, s);
}

static rgm_status not_found(const request *r)
{
    if (r->node >= 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "node %lld is none that %s asks about",
                        (long long)r->node, r->part != NULL ? r->part : "train, valid or test");
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no item %lld in %s", (long long)r->item,
                    r->part != NULL ? r->part : "test");
}

static rgm_status search(searching *s, const session *open, const rgm_mode *modes, int64_t count)
{
    for (int64_t i = 0; i < count && !s->found; i++)
        if (session_has(open, modes[i]))
            RGM_TRY(search_part(s, open, modes[i]));
    return s->found ? RGM_OK : not_found(s->request);
}

/* A node may stand in any part; an item is one of the test part unless another is named. */
static rgm_status modes_of(rgm_mode *modes, int64_t *count, const request *r)
{
    static const rgm_mode all[] = {RGM_TEST, RGM_VALID, RGM_TRAIN};

    *count = r->node >= 0 && r->part == NULL ? 3 : 1;
    for (int64_t i = 0; i < *count; i++)
        modes[i] = all[i];
    return *count == 3 ? RGM_OK : mode_by_name(modes, r->part != NULL ? r->part : "test");
}

static rgm_status explain_run(const char *run_dir, const request *r, const text_list *sets,
                              const weights_choice *weights)
{
    rgm_status status = RGM_OK;
    session open = {.run = NULL};
    searching s = {.request = r};
    data_choice data = {.modes = {false}};
    rgm_mode modes[3];
    int64_t count;

    RGM_GO(modes_of(modes, &count, r));
    for (int64_t i = 0; i < count; i++)
        data.modes[modes[i]] = true;
    RGM_GO(session_open(&open, run_dir, sets, weights, &data));
    RGM_GO(rgm_explainer_create(&s.explainer, open.run, &r->options));
    if (rgm_explainer_left_out(s.explainer)[0] != '\0')
        say("explain", "integers have no score: %s", rgm_explainer_left_out(s.explainer));
    s.task = rgm_run_task(open.run);
    s.view.head = &rgm_run_model(open.run)->heads[r->options.head];
    s.view.method = rgm_explain_method_names[r->options.method];
    RGM_GO(search(&s, &open, modes, count));
    RGM_GO(show(&s.view, r));
done:
    rgm_free(s.view.edges);
    rgm_free(s.view.features);
    rgm_explanation_clear(&s.view.explanation);
    rgm_explainer_release(s.explainer);
    session_close(&open);
    return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int check_request(request *r)
{
    const char *dot = r->output != NULL ? strrchr(r->output, '.') : NULL;
    int method = 0;

    while (rgm_explain_method_names[method] != NULL &&
           strcmp(rgm_explain_method_names[method], r->method) != 0)
        method++;
    if (rgm_explain_method_names[method] == NULL)
        return usage_error(
            "--method '%s' is none of integrated_gradients, gradient, mask, attention", r->method);
    r->options.method = (rgm_explain_method)method;
    if ((r->node >= 0) == (r->item >= 0))
        return usage_error("which prediction? --node N or --item N, one of them");
    if (r->edges_only && r->features_only)
        return usage_error("--edges and --features exclude each other");
    if (r->features_only && method == RGM_EXPLAIN_ATTENTION)
        return usage_error("--features: attention is of edges");
    if (r->options.steps > 0 && (method == RGM_EXPLAIN_GRADIENT || method == RGM_EXPLAIN_ATTENTION))
        return usage_error("--steps: method %s makes none; integrated_gradients and mask do",
                           r->method);
    if (r->output != NULL &&
        (dot == NULL || (strcasecmp(dot, ".svg") != 0 && strcasecmp(dot, ".csv") != 0)))
        return usage_error("-o: '%s' ends in neither .svg nor .csv", r->output);
    r->options.edges = !r->features_only;
    r->options.features = !r->edges_only;
    return EXIT_DONE;
}

int verb_explain(int argc, char **argv)
{
    request r = {.options = RGM_EXPLAIN_OPTIONS_INIT,
                 .node = -1,
                 .item = -1,
                 .number = -1,
                 .top = 20,
                 .method = rgm_explain_method_names[0]};
    text_list sets = {.count = 0}, rest;
    weights_choice weights = {.last = false};
    const argument arguments[] = {
        {"node", ARG_INT, &r.node, "N", "the prediction about that node"},
        {"item", ARG_INT, &r.item, "N", "the N-th prediction of the part, as predict counts them"},
        {"part", ARG_TEXT, &r.part, "NAME",
         "train, valid or test; default: of a node whichever has it, of an item test"},
        {"class", ARG_INT, &r.number, "N", "explain that logit, not the greatest"},
        {"method", ARG_TEXT, &r.method, "NAME",
         "integrated_gradients (default), gradient, mask (GNNExplainer) or attention (the weights "
         "of models that have them; FILE.csv has those of each head)"},
        {"steps", ARG_COUNT, &r.options.steps, "N",
         "integrated_gradients: pieces of the path (default 64); mask: updates of the masks (200)"},
        {"edges", ARG_FLAG, &r.edges_only, NULL, "edges alone, features as they are"},
        {"features", ARG_FLAG, &r.features_only, NULL, "features alone, edges as they are"},
        {"top", ARG_COUNT, &r.top, "N", "how many edges and features are told, default 20"},
        {"head", ARG_INT, &r.options.head, "N", "which task, default 0"},
        {"o", ARG_TEXT, &r.output, "FILE", "FILE.svg, a picture of the edges, or FILE.csv"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. data.path=DIR"},
        {0}};
    const usage how = {"explain RUN_DIR (--node N | --item N) [--method NAME] [--top N] [-o FILE]",
                       "Which edges and features a prediction of a graph network rests on.",
                       arguments, 1, 1};
    int code = arguments_read(&rest, &how, argc, argv);
    rgm_status status;

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    code = check_request(&r);
    if (code != EXIT_DONE)
        return code;
    if (r.top > 10000)
        return usage_error("--top: 10000 at most");
    status = explain_run(rest.items[0], &r, &sets, &weights);
    return status == RGM_OK ? EXIT_DONE : report(status);
}
