/*
 * What to feed a compute graph from a concrete graph: for each input that the model asked for, the
 * tensor or pattern that the graph keeps, the same object every time, so that the executor can tell
 * that nothing changed.
 */
#include <inttypes.h>
#include <stdio.h>

#include "graph_value_internal.h"

/* The graph's column for a feature of the root's schema; the graph's own schema may be another. */
static rgm_status find_column(const rgmi_column **out, const rgm_feature_schema *wanted,
                              const rgm_set_schema *root_set, const rgm_graph *graph, int64_t set)
{
    const rgm_feature_schema *have;
    char title[RGM_SET_TITLE];
    int64_t index;
    bool alike;

    rgm_set_title(root_set, title, sizeof title);
    RGM_TRY(rgmi_feature_require(&index, graph->schema->sets[set], wanted->name));
    have = &graph->schema->sets[set]->features[index];
    alike = have->dtype == wanted->dtype && have->rank == wanted->rank &&
            have->vocabulary == wanted->vocabulary;
    for (int i = 0; alike && i < have->rank; i++)
        alike = have->shape[i] == wanted->shape[i];
    if (!alike)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: feature '%s' of this graph has another dtype or shape "
                        "than the model was built for",
                        title, wanted->name);
    *out = graph->sets[set].columns[index];
    return *out != NULL ? RGM_OK
                        : RGM_FAIL(RGM_ERR_NOT_FOUND,
                                   "%s: feature '%s' is asked for by the model "
                                   "but absent from this graph",
                                   title, wanted->name);
}

rgm_status rgmi_feed_one(rgm_feed *feed, const rgmi_graph_input *input, const rgm_graph_value *root,
                         const rgm_graph *graph)
{
    const rgm_set_schema *set = root->schema->sets[input->set];
    const rgmi_column *column = NULL;
    int64_t index;

    *feed = (rgm_feed){.input = input->value};
    RGM_TRY(rgmi_graph_set(&index, graph, set->piece, set->name));
    if (input->feature >= 0)
        RGM_TRY(find_column(&column, &set->features[input->feature], set, graph, index));
    switch (input->kind) {
    case INPUT_FEATURE:
        feed->tensor = column->value.values;
        return RGM_OK;
    case INPUT_SPARSE:
        return rgm_graph_sparse(&feed->pattern, graph, set->piece, set->name,
                                set->features[input->feature].name);
    case INPUT_LOOKUP:
        return rgm_graph_lookup(&feed->pattern, graph, set->piece, set->name,
                                set->features[input->feature].name, input->lookup);
    case INPUT_NUMBER:
        return rgm_graph_numbers(&feed->pattern, graph, set->name, input->columns);
    case INPUT_ADJACENCY:
        return rgm_graph_adjacency(&feed->pattern, graph, set->name, RGM_TARGET);
    case INPUT_MEMBERSHIP:
        return rgm_graph_membership(&feed->pattern, graph, set->piece, set->name);
    case INPUT_FIRST:
        return rgmi_graph_first(&feed->pattern, graph, index);
    case INPUT_READOUT:
        return rgmi_graph_readout(&feed->pattern, graph, index);
    case INPUT_REAL:
        return rgm_graph_real_mask(&feed->tensor, graph, set->piece, set->name);
    }
    return RGM_OK;
}

/* Readouts that the model goes through must be sound in every graph that is fed. */
static rgm_status check_readouts(const rgm_graph_value *root, const rgm_graph *graph)
{
    const char *last = NULL;

    for (int64_t i = 0; i < root->input_count; i++) {
        const rgm_set_schema *set = root->schema->sets[root->inputs[i].set];
        if (set->piece != RGM_EDGE_SET || !rgm_is_readout_set(set->target) || set->target == last)
            continue;
        RGM_TRY(rgm_graph_check_readout(graph, set->target));
        last = set->target;
    }
    return RGM_OK;
}

rgm_status rgm_graph_feeds(rgm_feed *feeds, int64_t capacity, int64_t *count,
                           const rgm_graph_value *root, rgm_graph *graph)
{
    rgm_pattern *const *near;
    int64_t needed;

    root = root->root;
    needed = root->input_count + root->part_count;
    *count = 0;
    if (needed > capacity)
        return RGM_FAIL(RGM_ERR_ARG, "%" PRId64 " feeds needed, room for %" PRId64, needed,
                        capacity);
    RGM_TRY(rgm_graph_check_uncut(graph)); /* a step before was of zeros */
    RGM_TRY(check_readouts(root, graph));
    for (int64_t i = 0; i < root->input_count; i++)
        RGM_TRY(rgmi_feed_one(&feeds[i], &root->inputs[i], root, graph));
    if (root->part_count > 0)
        RGM_TRY(rgmi_narrowed_patterns(&near, root, feeds, graph));
    for (int64_t i = 0; i < root->part_count; i++)
        feeds[root->input_count + i] =
            (rgm_feed){.input = root->parts[i].input, .pattern = near[i]};
    *count = needed;
    return RGM_OK;
}

rgm_status rgm_graph_check_values(const rgm_graph_value *root, const rgm_graph *graph)
{
    root = root->root;
    for (int64_t i = 0; i < root->input_count; i++) {
        const rgmi_graph_input *input = &root->inputs[i];
        const rgm_set_schema *set = root->schema->sets[input->set];

        if (input->kind == INPUT_LOOKUP &&
            rgm_graph_feature(graph, set->piece, set->name, set->features[input->feature].name) !=
                NULL)
            RGM_TRY(rgm_graph_check_lookup(graph, set->piece, set->name,
                                           set->features[input->feature].name, input->lookup));
        if (input->kind == INPUT_NUMBER)
            RGM_TRY(rgm_graph_check_numbers(graph, set->name, input->columns));
    }
    return RGM_OK;
}

/* ---- inputs that are needed ------------------------------------------------------------------ */

typedef struct walk {
    rgm_map *seen;
    const rgm_value **stack;
    int64_t count, capacity;
} walk;

static const char *key_of(char *key, size_t size, const rgm_value *value)
{
    snprintf(key, size, "%p", (const void *)value);
    return key;
}

static rgm_status push(walk *w, const rgm_value *value)
{
    char key[32];

    if (rgm_map_has(w->seen, key_of(key, sizeof key, value)))
        return RGM_OK;
    RGM_TRY(rgm_map_set(w->seen, key, w));
    RGM_TRY(RGM_RESERVE(w->stack, w->capacity, w->count + 1));
    w->stack[w->count++] = value;
    return RGM_OK;
}

rgm_status rgm_graph_value_keep(rgm_graph_value *root, rgm_value *const *outputs, int64_t count)
{
    rgm_status status = RGM_OK;
    walk w = {0};
    int64_t kept = 0;
    char key[32];

    root = root->root;
    RGM_GO(rgm_map_create(&w.seen));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(push(&w, outputs[i]));
    while (w.count > 0) {
        const rgm_value *top = w.stack[--w.count];

        for (int i = 0; i < rgm_value_input_count(top); i++)
            RGM_GO(push(&w, rgm_value_input(top, i)));
    }
    for (int64_t i = 0; i < root->input_count; i++)
        if (rgm_map_has(w.seen, key_of(key, sizeof key, root->inputs[i].value)))
            root->inputs[kept++] = root->inputs[i];
        else
            rgm_lookup_release(root->inputs[i].lookup);
    root->input_count = kept;
done:
    rgm_map_release(w.seen);
    rgm_free(w.stack);
    return status;
}
