/* The experiment file of a graph: OGB's folder, or tables that were imported. */
#include "init_look.h"

#include <string.h>

static rgm_status print_sets(rgm_text *out, const seen_folder *seen)
{
    for (int64_t i = 0; i < seen->count; i++) {
        const seen_set *set = &seen->sets[i];

        if (set->piece == RGM_CONTEXT_PIECE)
            continue;
        RGM_TRY(rgm_text_printf(out, "#   "));
        RGM_TRY(rgm_text_add_visible(out, set->name));
        RGM_TRY(rgm_text_printf(out, set->rows > 0 ? ": %s %s" : ":%.0s %s", grouped(set->rows),
                                set->piece == RGM_EDGE_SET ? "edges, " : "nodes"));
        if (set->piece == RGM_EDGE_SET) {
            RGM_TRY(rgm_text_add_visible(out, set->source));
            RGM_TRY(rgm_text_printf(out, " -> "));
            RGM_TRY(rgm_text_add_visible(out, set->target));
        } else if (set->file == NULL && seen->graphs == 0) {
            RGM_TRY(rgm_text_printf(out, " as edges name them"));
        }
        if (set->dangling > 0)
            RGM_TRY(rgm_text_printf(out,
                                    "; of %s rows or more an end is no node: they are left out",
                                    grouped(set->dangling)));
        RGM_TRY(rgm_text_printf(out, "\n"));
    }
    return RGM_OK;
}

static rgm_status print_head(rgm_text *out, const seen_folder *seen, const char *file)
{
    RGM_TRY(rgm_text_printf(out, "# A first experiment, written by `regimen init experiment` from "
                                 "what it saw; change what you know better.\n"));
    if (seen->graphs > 1)
        RGM_TRY(rgm_text_printf(out, "#   %s graphs, with in all\n", grouped(seen->graphs)));
    RGM_TRY(print_sets(out, seen));
    RGM_TRY(rgm_text_printf(out, "# Commands:\n"));
    if (seen->graphs == 0) {
        RGM_TRY(rgm_text_printf(out, "#   "));
        RGM_TRY(seen_print_import(out, seen));
        RGM_TRY(rgm_text_printf(out, "\n"));
    }
    RGM_TRY(rgm_text_printf(out, "#   regimen config check "));
    RGM_TRY(seen_print_path(out, file));
    RGM_TRY(rgm_text_printf(out, " --data\n#   regimen run "));
    RGM_TRY(seen_print_path(out, file));
    return rgm_text_printf(out, "\n# Every key: regimen config keys, and docs/graph_tasks.md\n");
}

static rgm_status print_data(rgm_text *out, const seen_folder *seen)
{
    const seen_split *split = &seen->split;
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_strprintf(&path, seen->graphs > 0 ? "%s" : "%s/data", seen->folder));
    RGM_GO(
        rgm_text_printf(out, "data:\n  type: %s\n  path: ", seen->graphs > 0 ? "ogb" : "folder"));
    RGM_GO(seen_print_name(out, path));
    RGM_GO(rgm_text_printf(out, "\n"));
    if (split->name != NULL && seen->graphs > 0) {
        RGM_GO(rgm_text_printf(out, "  split: "));
        RGM_GO(seen_print_name(out, split->name));
        if (split->folds > 0)
            RGM_GO(rgm_text_printf(out, "   # * is the number of the fold"));
        else if (split->others > 0)
            RGM_GO(rgm_text_printf(out, "   # or one of %lld others below split/",
                                   (long long)split->others));
        RGM_GO(rgm_text_printf(out, "\n"));
    }
    if (seen->relabel)
        RGM_GO(rgm_text_printf(
            out, "  relabel: true   # labels are not 0, 1, ...: numbered in their order\n"));
    if (seen->graphs > 1)
        RGM_GO(rgm_text_printf(out, "  batch_size: 32\n"));
done:
    rgm_free(path);
    return status;
}

/* A label of nodes where there is one node set and one edge set in both directions, as OGB's
 * importer makes them: what GCN is for. */
static bool is_homogeneous(const seen_folder *seen)
{
    int64_t nodes = 0, edges = 0;

    for (int64_t i = 0; i < seen->count; i++) {
        nodes += seen->sets[i].piece == RGM_NODE_SET;
        edges += seen->sets[i].piece == RGM_EDGE_SET;
    }
    return seen->labelled->piece == RGM_NODE_SET && seen->graphs == 1 && nodes == 1 && edges == 1;
}

static rgm_status print_task(rgm_text *out, const seen_folder *seen, const char *node_set)
{
    const seen_column *label = seen->label;
    const char *place = seen->labelled->piece == RGM_CONTEXT_PIECE ? "graph" : "node";
    /* -1 is no class, unless -1 and 1 are the classes. */
    bool has_nones = seen->classes && !(seen->relabel && label->largest == 1);
    int64_t none = label->empty + (has_nones ? label->nones : 0);

    RGM_TRY(rgm_text_printf(out, "task:\n  type: %s_%s\n  node_set: ", place,
                            seen->classes ? "classification" : "regression"));
    RGM_TRY(seen_print_name(out, node_set));
    RGM_TRY(rgm_text_printf(out, "\n  label: "));
    RGM_TRY(seen_print_name(out, label->name));
    if (none > 0)
        RGM_TRY(rgm_text_printf(out, "   # %s of %s have none, and are not asked about",
                                grouped(none), grouped(label->empty + label->filled)));
    RGM_TRY(rgm_text_printf(out, "\n"));
    if (seen->classes)
        RGM_TRY(rgm_text_printf(out, "  num_classes: %lld   # or class_names: [...]\n",
                                (long long)seen->num_classes));
    if (is_homogeneous(seen))
        RGM_TRY(rgm_text_printf(out, "  head: none   # the model's output is read as it is\n"));
    if (strcmp(place, "graph") == 0)
        RGM_TRY(
            rgm_text_printf(out, "  reduce_type: sum   # how the states of nodes are pooled\n"));
    return RGM_OK;
}

/* The recipes are those of configs/: mutag, cora_gcn, imdb, and that of docs/graph_tasks_start.md.
 */
static rgm_status print_model(rgm_text *out, const seen_folder *seen)
{
    RGM_TRY(rgm_text_printf(out, "model:   # others: docs/gnn.md\n"));
    if (seen->labelled->piece == RGM_CONTEXT_PIECE)
        return rgm_text_printf(out, "  type: gin\n  units: 32\n  layers: 3\n  norm: batch\n"
                                    "  batch_momentum: 0.9\n  jump: concat\n  dropout: 0.2\n");
    if (is_homogeneous(seen))
        return rgm_text_printf(
            out,
            "  type: gcn\n  hidden: [64]\n  output: %lld   # what the task reads\n"
            "  dropout: 0.8\n  l2: 5e-4\n",
            (long long)(seen->classes ? seen->num_classes : 1));
    if (seen->graphs > 0)
        return rgm_text_printf(out, "  type: graph_sage\n  hidden: [64, 64]\n  aggregator: sum\n"
                                    "  dropout: 0.5\n  l2: 1e-3\n");
    return rgm_text_printf(out,
                           "  type: vanilla_mpnn\n  units: 32\n  message_dim: 32\n"
                           "  reduce_type: mean\n  dropout: 0.3\n"
                           "  receiver: both   # messages run from sources to targets and back\n");
}

/* The first float of edges, which a model may read. */
static rgm_status print_edge_feature(rgm_text *out, const seen_folder *seen)
{
    for (int64_t i = 0; i < seen->count; i++)
        for (int64_t k = 0; k < seen->sets[i].count; k++) {
            const seen_column *column = &seen->sets[i].columns[k];

            if (seen->sets[i].piece != RGM_EDGE_SET || column->kind != SEEN_NUMBERS ||
                column->empty > 0)
                continue;
            RGM_TRY(rgm_text_printf(out, "  # edge_feature: "));
            RGM_TRY(seen_print_name(out, column->name));
            return rgm_text_printf(out, "   # messages may read a number of edges\n");
        }
    return RGM_OK;
}

static rgm_status print_trainer(rgm_text *out, const seen_folder *seen)
{
    const seen_split *split = &seen->split;
    bool folds = split->name == NULL || split->folds > 0;

    RGM_TRY(rgm_text_printf(
        out,
        "optimizer: {type: adam, learning_rate: %s}\ntrainer:\n"
        "  epochs: %s\n",
        seen->labelled->piece == RGM_CONTEXT_PIECE ? "{type: cosine, initial: 1e-2}" : "1e-2",
        is_homogeneous(seen) ? "200" : "100"));
    if (folds)
        RGM_TRY(rgm_text_printf(
            out,
            "  folds: %lld   # %s\n  fold: 1   # one run; without this key all folds, one "
            "after the other\n  fold_valid: 0.2\n",
            (long long)(split->folds > 0 ? split->folds : 5),
            split->folds > 0 ? "those of split/"
                             : "no lists in split/: items that have a label are parted"));
    if (!folds && !split->has_valid)
        return rgm_text_printf(out,
                               "  # split/ has no validation part: the last weights are kept\n");
    return rgm_text_printf(out,
                           "  checkpoint: {best: {metric: valid.%s}}   # which weights are kept\n",
                           seen->classes ? "accuracy" : "mean_squared_error");
}

/* Whose states are read: the set of the label; of graphs the set with the most nodes. */
static const char *place_of(const seen_folder *seen)
{
    const seen_set *most = seen->labelled;

    if (most->piece == RGM_NODE_SET)
        return most->name;
    for (int64_t i = 0; i < seen->count; i++)
        if (seen->sets[i].piece == RGM_NODE_SET &&
            (most->piece != RGM_NODE_SET || seen->sets[i].rows > most->rows))
            most = &seen->sets[i];
    return most->name;
}

static rgm_status print_description(rgm_text *out, const seen_folder *seen)
{
    rgm_status status = RGM_OK;
    char *text = NULL;

    RGM_GO(rgm_strprintf(&text, "%s of %s", seen->label->name, seen->labelled->name));
    RGM_GO(rgm_text_printf(out, "description: "));
    RGM_GO(rgm_json_print_text(out, text));
    RGM_GO(rgm_text_printf(out, "\n"));
done:
    rgm_free(text);
    return status;
}

rgm_status seen_print_graph(rgm_text *out, const seen_folder *seen, const char *file)
{
    bool texts = false;

    RGM_TRY(print_head(out, seen, file));
    RGM_TRY(print_description(out, seen));
    RGM_TRY(print_data(out, seen));
    RGM_TRY(print_task(out, seen, place_of(seen)));
    RGM_TRY(print_model(out, seen));
    RGM_TRY(seen_print_input(out, seen, &texts));
    RGM_TRY(print_edge_feature(out, seen));
    RGM_TRY(print_trainer(out, seen));
    return rgm_text_printf(out, "runtime: {seed: 1}\nexport: [{type: %s}]%s\n",
                           texts ? "predictor" : "onnx",
                           texts ? "   # ONNX has no operator for texts" : "");
}
