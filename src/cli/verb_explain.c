/* regimen explain: which edges and features a prediction rests on. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <regimen/registry.h>

#include "verb_explain.h"

typedef struct request {
    rgm_explain_options options;
    int64_t node, item, number; /* -1: not asked for */
    const char *part;           /* NULL: the first that has it */
    int64_t top;
    const char *method, *output;
    bool edges_only, features_only, keep;
} request;

static rgm_status show(explained_view *v, const request *r, const char *run_dir)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    RGM_GO(explained_rank(v, r->top));
    RGM_GO(explained_print(&text, v));
    if (r->output != NULL)
        RGM_GO(explained_save(r->output, v));
    if (r->keep) {
        RGM_GO(explained_keep(&path, run_dir, v));
        say("kept", "%s", path);
    }
    if (print_text(text.data) != EXIT_DONE)
        status = RGM_ERR_IO;
done:
    rgm_text_clear(&text);
    rgm_free(path);
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

static void name_weights(char *out, size_t size, const weights_choice *w)
{
    if (w->step > 0)
        snprintf(out, size, "step %lld", (long long)w->step);
    else if (w->mean_of_last > 0)
        snprintf(out, size, "mean of the newest %lld", (long long)w->mean_of_last);
    else if (w->mean_of_best > 0)
        snprintf(out, size, "mean of the best %lld", (long long)w->mean_of_best);
    else
        snprintf(out, size, "%s", w->last ? "newest" : "best");
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
    s.view.head_number = r->options.head;
    s.view.asks_class = r->number >= 0;
    s.view.only = r->edges_only ? "edges" : r->features_only ? "features" : NULL;
    s.view.step = rgm_run_steps(open.run);
    name_weights(s.view.weights, sizeof s.view.weights, weights);
    s.view.method = rgm_explain_method_names[r->options.method];
    RGM_GO(search(&s, &open, modes, count));
    RGM_GO(show(&s.view, r, run_dir));
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
        {"keep", ARG_FLAG, &r.keep, NULL,
         "in the run folder, too: explanations/PART-ITEM-METHOD.json, which the run's page shows"},
        {"o", ARG_TEXT, &r.output, "FILE", "FILE.svg, a picture of the edges, or FILE.csv"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. data.path=DIR"},
        {0}};
    const usage how = {
        "explain RUN_DIR|model:NAME (--node N | --item N) [--method NAME] [--top N] [--keep]\n"
        "       [-o FILE]",
        "Which edges and features a prediction of a graph network rests on.", arguments, 1, 1};
    int code = EXIT_DONE;
    char *folder = NULL;
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = check_request(&r);
    if (code != EXIT_DONE)
        return code;
    if (r.top > 10000)
        return usage_error("--top: 10000 at most");
    if (r.keep && strncmp(rest.items[0], RGM_MODEL_PREFIX, strlen(RGM_MODEL_PREFIX)) == 0)
        return usage_error("--keep: a registered version stays as it is; explain its run folder");
    status = model_folder(&folder, rest.items[0]);
    if (status == RGM_OK)
        status = explain_run(folder, &r, &sets, &weights);
    rgm_free(folder);
    return report(status);
}
