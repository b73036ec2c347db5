/*
 * What a run of graph learning does with its data, told before the first step: how many items each
 * part has, which features the model reads, which it leaves and why.
 */
#include <math.h>

#include "learning.h"
#include "link_split.h"

/* ---- items --------------------------------------------------------------------------------- */

/* Items of the data that no part asks about. */
static rgm_status count_unasked(int64_t *out, const rgm_graph_data *data, int64_t total)
{
    const rgm_tensor *parts[3] = {data->train, data->valid, data->test};
    bool *asked;

    RGM_TRY(RGM_NEW(asked, total));
    *out = total;
    for (int i = 0; i < 3; i++)
        for (int64_t k = 0; parts[i] != NULL && k < rgm_tensor_count(parts[i]); k++) {
            int64_t item = rgm_tensor_at_int(parts[i], k);

            *out -= !asked[item];
            asked[item] = true;
        }
    rgm_free(asked);
    return RGM_OK;
}

static rgm_status describe_files(rgm_text *out, const char **between, const rgm_provider *provider,
                                 rgm_mode mode, const char *set)
{
    int64_t count;
    rgm_status status = rgmi_provider_file_count(&count, provider);

    if (status == RGM_ERR_NOT_FOUND || (status == RGM_OK && count == 0))
        return RGM_OK; /* who needs files that are gone tells of it: a validation alone does not */
    RGM_TRY(status);
    RGM_TRY(rgm_text_printf(out, "%s%lld %s%s%s", *between, (long long)count, rgm_mode_name(mode),
                            set != NULL ? "_" : "", set != NULL ? set : ""));
    *between = ", ";
    return RGM_OK;
}

/* "items are counted as they are read; files: 3 train, 1 valid, 2 valid_news". */
static rgm_status describe_read(rgm_text *out, const rgmi_learning *l)
{
    const char *between = "; files: ";

    RGM_TRY(rgm_text_printf(out, "items are counted as they are read"));
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        RGM_TRY(describe_files(out, &between, l->providers[mode], (rgm_mode)mode, NULL));
    for (int64_t i = 0; i < l->set_count; i++)
        RGM_TRY(
            describe_files(out, &between, l->sets[i].provider, l->sets[i].mode, l->sets[i].name));
    return rgm_text_printf(out, "\n");
}

/* "items 810 train, 95 valid, 95 test of 1000 cites" */
static rgm_status describe_edges(rgm_text *out, const rgmi_learning *l)
{
    const rgmi_graph_inputs *in = &l->inputs;
    int64_t total = in->edge_count, rest = total;

    RGM_TRY(rgm_text_printf(out, "items "));
    for (int i = 0; i < 3; i++) {
        RGM_TRY(rgm_text_printf(out, "%s%lld %s", i > 0 ? ", " : "", (long long)in->edges[i],
                                rgm_mode_name((rgm_mode)i)));
        rest -= in->edges[i];
    }
    RGM_TRY(rgm_text_printf(out, " of %lld ", (long long)total));
    RGM_TRY(rgm_text_add_visible(out, in->edge_set));
    return rest > 0 ? rgm_text_printf(out, "; %lld in no part\n", (long long)rest)
                    : rgm_text_printf(out, "\n");
}

/* "items 140 train, 500 valid, 1000 test of 2708 paper; 1068 in no part" */
static rgm_status describe_items(rgm_text *out, const rgmi_learning *l)
{
    const rgm_graph_data *data = &l->inputs.data;
    const rgm_tensor *parts[3] = {data->train, data->valid, data->test};
    const char *set = data->split_set;
    int64_t total, unasked = 0, left;

    if (l->inputs.edge_set != NULL)
        return describe_edges(out, l);
    if (data->graph_count == 0 || data->train == NULL)
        return describe_read(out, l);
    total = set != NULL ? rgm_graph_total(data->graphs[0], RGM_NODE_SET, set) : data->graph_count;
    RGM_TRY(count_unasked(&unasked, data, total));
    RGM_TRY(rgm_text_printf(out, "items "));
    for (int i = 0; i < 3; i++)
        RGM_TRY(rgm_text_printf(out, "%s%lld %s", i > 0 ? ", " : "",
                                parts[i] != NULL ? (long long)rgm_tensor_count(parts[i]) : 0,
                                rgm_mode_name((rgm_mode)i)));
    RGM_TRY(rgm_text_printf(out, " of %lld ", (long long)total));
    RGM_TRY(rgm_text_add_visible(out, set != NULL ? set : "graphs"));
    if (unasked > 0)
        RGM_TRY(rgm_text_printf(out, "; %lld in no part", (long long)unasked));
    left = rgm_tensor_count(data->train) % l->batch_size;
    if (l->drop_remainder && !l->pipelines[RGM_TRAIN].together && left > 0)
        RGM_TRY(rgm_text_printf(out, "; each epoch leaves out %lld of train (data.drop_remainder)",
                                (long long)left));
    return rgm_text_printf(out, "\n");
}

/* "batches up to 500 nodes, 1000 edges" */
static rgm_status describe_batches(rgm_text *out, const rgmi_learning *l)
{
    const rgmi_pipeline *p = &l->pipelines[RGM_TRAIN];
    const char *between = "";

    if (p->batch_nodes == 0 && p->batch_edges == 0)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(out, "batches up to "));
    if (p->batch_nodes > 0) {
        RGM_TRY(rgm_text_printf(out, "%lld nodes", (long long)p->batch_nodes));
        between = ", ";
    }
    if (p->batch_edges > 0) {
        RGM_TRY(rgm_text_printf(out, "%s%lld edges", between, (long long)p->batch_edges));
        between = ", ";
    }
    if (l->batch_size > 1)
        RGM_TRY(rgm_text_printf(out, "%s%lld examples", between, (long long)l->batch_size));
    return rgm_text_printf(out, "\n");
}

/* "padding train 9 components, 200 atom, 512 bond": where some of it was given. */
static rgm_status describe_padding(rgm_text *out, const rgmi_learning *l)
{
    for (int mode = RGM_TRAIN; mode <= RGM_VALID; mode++) {
        const rgmi_pipeline *p = &l->pipelines[mode];
        const rgm_schema *schema = l->processed_schema;

        if (!p->has_totals)
            continue;
        RGM_TRY(rgm_text_printf(out, "padding %s ", rgm_mode_name((rgm_mode)mode)));
        RGM_TRY(rgm_text_printf(
            out, "%lld components",
            (long long)rgm_size_constraints_get(p->padding, RGM_CONTEXT_PIECE, NULL)));
        for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
            const rgm_set_schema *set = rgm_schema_set(schema, i);

            if (set->piece == RGM_CONTEXT_PIECE)
                continue;
            RGM_TRY(rgm_text_printf(
                out, ", %lld ",
                (long long)rgm_size_constraints_get(p->padding, set->piece, set->name)));
            RGM_TRY(rgm_text_add_visible(out, set->name));
        }
        RGM_TRY(rgm_text_printf(out, "; larger batches keep their own sizes\n"));
    }
    return RGM_OK;
}

/* "mix 0.7 train, 0.3 news; an epoch ends with train" */
static rgm_status describe_mix(rgm_text *out, const rgmi_learning *l)
{
    const rgm_text *mix = &l->inputs.mix;

    return mix->size > 0 ? rgm_text_printf(out, "mix %s\n", mix->data) : RGM_OK;
}

/* "balance classes 0 (90 examples), 1 (10), each 0.5 of the draws" */
static rgm_status describe_balance(rgm_text *out, const rgmi_learning *l)
{
    const rgm_text *balance = &l->inputs.balance;

    return balance->size > 0 ? rgm_text_printf(out, "balance %s\n", balance->data) : RGM_OK;
}

/* "folds fold 3 of 10, stratified by label" */
static rgm_status describe_folds(rgm_text *out, const rgmi_learning *l)
{
    const rgm_text *folds = &l->inputs.folds;

    return folds->size > 0 ? rgm_text_printf(out, "folds %s\n", folds->data) : RGM_OK;
}

/* ---- labels -------------------------------------------------------------------------------- */

/* How many labels a part asks for: of edges that are split the other parts' are not among them. */
static int64_t labels_asked(const rgmi_learning *l, int mode, const rgm_label_counts *c)
{
    int64_t units = c->units > 0 ? c->units : 1;

    return l->inputs.edge_set != NULL ? l->inputs.edges[mode] * units : c->known + c->missing;
}

/* "; label of task: 3 of 140 train" */
static rgm_status describe_missing(rgm_text *out, const char **between, const rgmi_learning *l,
                                   int64_t k)
{
    const rgm_graph_task *task = l->tasks[k];
    const char *label = task->type->label != NULL ? task->type->label(task->options) : "label";
    bool named = false;

    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        const rgm_label_counts *c = &l->counts[mode][k];

        int64_t asked = labels_asked(l, mode, c);

        if (!l->counted[mode] || asked == c->known)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s", named ? ", " : *between));
        if (!named)
            RGM_TRY(rgm_text_add_visible(out, label));
        RGM_TRY(rgm_text_printf(out, "%s%lld of %lld %s", named ? "" : " of ",
                                (long long)(asked - c->known), (long long)asked,
                                rgm_mode_name((rgm_mode)mode)));
        named = true;
        *between = "; ";
    }
    return RGM_OK;
}

/* "numbers label -1 of 3 of 140 train is taken as a number; ...", where nothing else is below 0: it
 * may be meant as none, as it is of classes. */
static rgm_status describe_minus_one(rgm_text *out, const rgmi_learning *l, int64_t k)
{
    const rgm_graph_task *task = l->tasks[k];
    const char *between = "numbers ";

    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        const rgm_label_counts *c = &l->counts[mode][k];

        if (!l->counted[mode] || c->minus_one == 0 || c->negative > c->minus_one)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s", between));
        if (between[0] == 'n')
            RGM_TRY(rgm_text_add_visible(out, task->type->label(task->options)));
        RGM_TRY(rgm_text_printf(out, "%s%lld of %lld %s", between[0] == 'n' ? " is -1 of " : "",
                                (long long)c->minus_one, (long long)labels_asked(l, mode, c),
                                rgm_mode_name((rgm_mode)mode)));
        between = ", ";
    }
    return between[0] == ','
               ? rgm_text_printf(out, ", a number like others; a label that is missing is an empty "
                                      "cell of its table, or the lowest integer\n")
               : RGM_OK;
}

/* "missing label of 3 of 140 train, 10 of 500 valid" */
static rgm_status describe_labels(rgm_text *out, const rgmi_learning *l)
{
    const char *between = "missing ";

    for (int64_t k = 0; k < l->task_count; k++)
        RGM_TRY(describe_missing(out, &between, l, k));
    if (between[0] == ';')
        RGM_TRY(rgm_text_printf(out, "\n"));
    for (int64_t k = 0; k < l->task_count; k++)
        if (l->tasks[k]->type->missing == RGM_MISSING_NUMBERS && l->tasks[k]->type->label != NULL)
            RGM_TRY(describe_minus_one(out, l, k));
    return RGM_OK;
}

/* "; one each mini-batch of train, valid: figures depend on data.batch_size" */
static rgm_status describe_drawn_lists(rgm_text *out, const char *between, const rgmi_learning *l)
{
    bool some = false;

    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        if (!l->counted[mode] || !rgmi_provider_is_batched(l->providers[mode]))
            continue;
        RGM_TRY(rgm_text_printf(out, "%s%s%s", some ? ", " : between,
                                some ? "" : "one each mini-batch of ",
                                rgm_mode_name((rgm_mode)mode)));
        some = true;
    }
    return some ? rgm_text_printf(out, ": figures depend on data.batch_size") : RGM_OK;
}

/* "lists 12 train, 5 of them with no order; 4 valid", of one ranking. */
static rgm_status describe_lists(rgm_text *out, const rgmi_learning *l, int64_t k)
{
    const char *between = "lists ";
    int64_t before = out->size;

    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        const rgm_label_counts *c = &l->counts[mode][k];

        if (!l->counted[mode] || rgmi_provider_is_batched(l->providers[mode]))
            continue;
        RGM_TRY(rgm_text_printf(out, "%s%lld %s", between, (long long)c->lists,
                                rgm_mode_name((rgm_mode)mode)));
        if (c->unordered > 0)
            RGM_TRY(rgm_text_printf(out, ", %lld of them with no order", (long long)c->unordered));
        between = "; ";
    }
    RGM_TRY(describe_drawn_lists(out, between, l));
    return out->size > before ? rgm_text_printf(out, "\n") : RGM_OK;
}

static rgm_status describe_rankings(rgm_text *out, const rgmi_learning *l)
{
    for (int64_t k = 0; k < l->task_count; k++)
        if (l->tasks[k]->type->ranks)
            RGM_TRY(describe_lists(out, l, k));
    return RGM_OK;
}

/* "weights 0 0.53, 1 8.1", of several 0/1 labels only how far they reach. */
static rgm_status describe_weights(rgm_text *out, const rgmi_learning *l, int64_t k)
{
    enum { MOST_TOLD = 20 };
    const rgm_label_counts *c = &l->counts[RGM_TRAIN][k];
    double least = HUGE_VAL, most = 0;

    RGM_TRY(rgm_text_printf(out, "weights"));
    for (int64_t i = 0; c->of != NULL && i < c->units * c->classes; i++) {
        double weight = rgmi_balanced_weight(c, i / c->classes, i % c->classes);

        least = fmin(least, weight);
        most = fmax(most, weight);
        if (c->units * c->classes <= MOST_TOLD)
            RGM_TRY(rgm_text_printf(out, "%s %s%lld %.4g", i > 0 ? "," : "",
                                    c->of[i] == 0 ? "(none) " : "", (long long)(i % c->classes),
                                    weight));
    }
    if (c->units * c->classes > MOST_TOLD)
        RGM_TRY(rgm_text_printf(out, " of %lld classes from %.4g to %.4g",
                                (long long)(c->units * c->classes), least, most));
    return rgm_text_printf(out, "\n");
}

static rgm_status describe_all_weights(rgm_text *out, const rgmi_learning *l)
{
    for (int64_t k = 0; k < l->task_count; k++) {
        const rgm_graph_task *task = l->tasks[k];

        if (task->type->counts != NULL && task->type->counts(task->options) != NULL)
            RGM_TRY(describe_weights(out, l, k));
    }
    return RGM_OK;
}

/* ---- features ------------------------------------------------------------------------------ */

bool rgmi_learning_is_label(const rgmi_learning *l, const rgm_set_schema *set, const char *feature)
{
    if (l->base != NULL && rgm_has_feature(l->base, set->piece, set->name, feature))
        return false;
    for (int64_t k = 0; k < l->task_count; k++) {
        const rgm_graph_task *task = l->tasks[k];

        if (task->type->label != NULL && strcmp(task->type->label(task->options), feature) == 0)
            return true;
    }
    return false;
}

/* Why a model leaves a feature that it could be told to read; "" where it is only not named. */
static const char *why_left(const rgm_set_schema *set, const rgm_feature_schema *feature)
{
    if (feature->dtype == RGM_STRING)
        return " (text: model.input.vocabulary, hash or embeddings)";
    if (feature->vocabulary > 0 || set->piece != RGM_NODE_SET)
        return "";
    for (int i = 0; i < feature->rank; i++)
        if (feature->shape[i] < 0)
            return feature->dtype == RGM_I32 || feature->dtype == RGM_I64
                       ? " (lists of integers: model.input.embeddings or one_hot)"
                       : " (ragged)";
    return feature->dtype == RGM_I32 || feature->dtype == RGM_I64
               ? " (integers: model.input.one_hot or model.input.numbers)"
               : "";
}

/* The features that the model reads, or those that it leaves, labels and auxiliary ones apart. */
static rgm_status list_features(rgm_text *out, const rgmi_learning *l, bool read)
{
    const rgm_schema *schema = l->processed_schema;
    const char *between = " ";

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        const char *name = set->piece == RGM_CONTEXT_PIECE ? "context" : set->name;

        for (int64_t k = 0; k < set->feature_count; k++) {
            const rgm_feature_schema *f = &set->features[k];

            if (rgm_is_aux_set(name) || f->name[0] == '#' ||
                rgmi_learning_is_label(l, set, f->name) ||
                rgm_reads_feature(l->root, set->piece, set->name, f->name) != read)
                continue;
            RGM_TRY(rgm_text_printf(out, "%s", between));
            RGM_TRY(rgm_text_add_visible(out, name));
            RGM_TRY(rgm_text_printf(out, "."));
            RGM_TRY(rgm_text_add_visible(out, f->name));
            RGM_TRY(rgm_text_printf(out, "%s", read ? "" : why_left(set, f)));
            between = ", ";
        }
    }
    return RGM_OK;
}

static rgm_status describe_features(rgm_text *out, const rgmi_learning *l, bool read)
{
    rgm_status status = RGM_OK;
    rgm_text names = {0};

    RGM_GO(list_features(&names, l, read));
    if (names.size > 0)
        RGM_GO(rgm_text_printf(out, "%s%s\n", read ? "reads" : "leaves", names.data));
    else if (read)
        RGM_GO(rgm_text_printf(out, "reads no feature\n"));
done:
    rgm_text_clear(&names);
    return status;
}

/* "learned paper.word: 1203 texts of 4000 values" */
static rgm_status describe_learned(rgm_text *out, const rgmi_learning *l)
{
    if (rgm_learned_features_count(l->learned) == 0)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(out, "learned"));
    RGM_TRY(rgm_learned_features_describe(out, l->learned));
    return rgm_text_printf(out, "\n");
}

/* ---- processors ---------------------------------------------------------------------------- */

static rgm_status describe_change(rgm_text *out, const char *what, const int64_t counts[2])
{
    if (counts[0] == counts[1])
        return RGM_OK;
    return rgm_text_printf(out, " (%s %lld to %lld)", what, (long long)counts[0],
                           (long long)counts[1]);
}

/* "processors undirected (edges 140 to 280), drop_edges (in training, drawn anew)" */
static rgm_status describe_processors(rgm_text *out, const rgmi_learning *l)
{
    for (int64_t i = 0; i < l->processor_count; i++) {
        const rgm_graph_processor_type *type = l->processors[i].type;

        RGM_TRY(rgm_text_printf(out, "%s%s", i > 0 ? ", " : "processors ", type->section.name));
        RGM_TRY(describe_change(out, "nodes", l->processed[i].nodes));
        RGM_TRY(describe_change(out, "edges", l->processed[i].edges));
        if (type->training_only)
            RGM_TRY(rgm_text_printf(out, " (in training alone, drawn anew)"));
    }
    if (l->processor_count == 0)
        return RGM_OK;
    return rgm_text_printf(out, "; model.onnx takes what they give%s\n",
                           l->sections.count > 0 ? ", a predictor of the export asks them" : "");
}

/* ---- memory -------------------------------------------------------------------------------- */

/*
 * "mapped 3.1 GB: read as needed ...". What stays in memory of a graph file: the sampler's places,
 * 5 bytes a node for each thread that samples, or all edges at both ends where it is not sampled.
 */
static rgm_status describe_memory(rgm_text *out, const rgmi_learning *l)
{
    const rgm_graph_data *data = &l->inputs.data;
    int64_t mapped = data->graph_count == 1 ? rgm_graph_mapped_bytes(data->graphs[0]) : 0;
    int64_t nodes = 0, edges = 0;

    if (mapped == 0)
        return RGM_OK;
    for (int64_t i = 0; i < rgm_schema_set_count(data->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(data->schema, i);

        if (set->piece == RGM_NODE_SET)
            nodes += rgm_graph_total(data->graphs[0], set->piece, set->name);
        if (set->piece == RGM_EDGE_SET)
            edges += rgm_graph_total(data->graphs[0], set->piece, set->name);
    }
    RGM_TRY(rgm_text_printf(out, "mapped %.1f MB of the graph's file, read as needed; beside it ",
                            (double)mapped * 1e-6));
    if (l->inputs.sampler != NULL)
        return rgm_text_printf(out,
                               "at most %.1f MB of rows in the order of the whole graph, and "
                               "mini-batches and model\n",
                               (double)(8 * (nodes + edges) * l->inputs.spec->op_count) * 1e-6);
    if (l->inputs.spec != NULL)
        return rgm_text_printf(out,
                               "at most %.1f MB of places for %d threads that sample, and "
                               "mini-batches and model\n",
                               (double)(5 * nodes * (l->threads + 1)) * 1e-6, l->threads);
    return rgm_text_printf(out, "%.1f MB of edges, since the graph is not sampled\n",
                           (double)(56 * edges) * 1e-6);
}

/* "features paper.feat, 87.0 MB, stay on cuda:0 ..." */
static rgm_status describe_placed(rgm_text *out, const rgmi_learning *l)
{
    return l->placed.size > 0 ? rgm_text_printf(out, "%s", l->placed.data) : RGM_OK;
}

static rgm_status describe_tasks(rgm_text *out, const rgmi_learning *l)
{
    for (int64_t t = 0; t < l->task_count; t++)
        if (l->tasks[t]->type->describe != NULL)
            RGM_TRY(l->tasks[t]->type->describe(out, l->tasks[t]->options));
    return RGM_OK;
}

rgm_status rgmi_learning_plan(rgm_text *out, void *state)
{
    const rgmi_learning *learning = state;

    if (rgmi_provider_is_of_links(learning->providers[RGM_TRAIN]))
        RGM_TRY(rgmi_links_describe(out, learning->providers));
    else if (learning->inputs.parts != NULL)
        RGM_TRY(rgmi_parts_describe(out, learning));
    else
        RGM_TRY(describe_items(out, learning));
    RGM_TRY(describe_memory(out, learning));
    RGM_TRY(describe_placed(out, learning));
    RGM_TRY(describe_mix(out, learning));
    RGM_TRY(describe_folds(out, learning));
    RGM_TRY(describe_balance(out, learning));
    RGM_TRY(describe_batches(out, learning));
    RGM_TRY(describe_padding(out, learning));
    RGM_TRY(describe_processors(out, learning));
    RGM_TRY(describe_labels(out, learning));
    RGM_TRY(describe_rankings(out, learning));
    RGM_TRY(describe_all_weights(out, learning));
    RGM_TRY(describe_tasks(out, learning));
    RGM_TRY(describe_features(out, learning, true));
    RGM_TRY(describe_features(out, learning, false));
    return describe_learned(out, learning);
}
