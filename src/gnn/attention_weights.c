/*
 * What layers with attention have weighed, remembered in the compute graph and found again by edge
 * set.
 */
#include "gnn_internal.h"

static const char attention[] = "attention";

void rgmi_note_attention(rgm_scope *scope, rgm_value *pattern, rgm_value *weights, rgm_value *heard)
{
    rgm_note note = {.what = attention, .value = weights, .of = pattern, .into = heard};

    if (scope == NULL || pattern == NULL || heard == NULL)
        return;
    note.where = rgm_scope_path(scope);
    rgm_cgraph_note(rgm_scope_graph(scope), &note);
}

/* The input that a pattern is, seen from the other end or with loops or not. */
static const rgm_value *input_of(rgm_edge_attention *out, const rgm_value *pattern)
{
    out->receiver = RGM_TARGET;
    while (rgm_value_op(pattern) != NULL && rgm_value_input_count(pattern) == 1) {
        const char *op = rgm_value_op(pattern)->name;

        if (strcmp(op, "transpose_pattern") == 0)
            out->receiver = out->receiver == RGM_TARGET ? RGM_SOURCE : RGM_TARGET;
        else if (strcmp(op, "add_self_loops") == 0)
            out->self_loops = true;
        else
            break;
        pattern = rgm_value_input(pattern, 0);
    }
    return pattern;
}

/* Whose edges they are; false: they are along no edge set. */
static bool find_set(rgm_edge_attention *out, const rgm_value *pattern,
                     const rgm_graph_input *inputs, int64_t count)
{
    const rgm_value *input = input_of(out, pattern);

    for (int64_t i = 0; i < count; i++)
        if (inputs[i].feature == NULL && inputs[i].value == input) {
            out->edge_set = inputs[i].set;
            return true;
        }
    return false;
}

int64_t rgm_edge_attention_of(rgm_edge_attention *out, int64_t capacity,
                              const rgm_graph_value *graph)
{
    enum { MOST_INPUTS = 1024 };
    rgm_graph_input inputs[MOST_INPUTS];
    rgm_cgraph *cgraph = graph != NULL ? rgm_graph_value_cgraph(graph) : NULL;
    int64_t notes = cgraph != NULL ? rgm_cgraph_note_count(cgraph) : 0, count = 0, found = 0;

    if (notes > 0)
        count = rgm_graph_value_inputs(inputs, MOST_INPUTS, graph);
    for (int64_t i = 0; i < notes; i++) {
        const rgm_note *note = rgm_cgraph_note_at(cgraph, i);
        rgm_edge_attention one = {
            .layer = note->where, .weights = note->value, .heard = note->into};

        if (strcmp(note->what, attention) != 0 ||
            !find_set(&one, note->of, inputs, count < MOST_INPUTS ? count : MOST_INPUTS))
            continue;
        if (found < capacity)
            out[found] = one;
        found++;
    }
    return found;
}
