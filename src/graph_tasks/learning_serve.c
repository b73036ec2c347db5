/*
 * Graph learning where there are no data but those that a program is sent: what an export keeps of
 * it, and batches of serialized Examples.
 */
#include <stdio.h>

#include "learning.h"

/* "  processors: [{type: undirected}]" as the file has them. */
static rgm_status print_processors(rgm_text *data, const rgm_sections *sections)
{
    RGM_TRY(rgm_text_printf(data, "  processors: ["));
    for (int64_t i = 0; i < sections->count; i++) {
        RGM_TRY(rgm_text_printf(data, "%s", i > 0 ? ", " : ""));
        RGM_TRY(rgm_yaml_print_flow(data, sections->items[i].node, true));
    }
    return rgm_text_printf(data, "]\n");
}

rgm_status rgmi_learning_print_schema(rgmi_learning *learning)
{
    /* A program's own processors are not there when it is served: it takes what they give. */
    const rgm_schema *of =
        learning->sections.count > 0 ? learning->schema : learning->processed_schema;
    rgm_schema *bare = NULL;
    rgm_status status = RGM_OK;

    if (learning->schema_text.size > 0)
        return RGM_OK;
    RGM_GO(rgm_schema_copy(&bare, of));
    for (int64_t i = 0; i < rgm_schema_set_count(bare); i++) {
        const rgm_set_schema *set = rgm_schema_set(bare, i);

        if (set->filename != NULL || set->cardinality >= 0)
            RGM_GO(rgm_schema_set_metadata(bare, set->piece, set->name, NULL, -1));
    }
    RGM_GO(rgm_schema_print(&learning->schema_text, bare));
done:
    rgm_schema_release(bare);
    return status;
}

rgm_status rgmi_learning_save_serving(rgm_text *data, const char *folder, void *state)
{
    rgm_status status = RGM_OK;
    rgmi_learning *learning = state;
    char *path = NULL;

    if (learning->sections.count > 0)
        RGM_GO(print_processors(data, &learning->sections));
    if (learning->data != NULL && !learning->data->undirected) /* how new OGB files are read */
        RGM_GO(rgm_text_printf(data, "  undirected: false\n"));
    if (learning->data != NULL)
        RGM_GO(rgmi_sampling_print(data, learning->data, learning->inputs.spec));
    RGM_GO(rgmi_learning_print_schema(learning));
    RGM_GO(rgm_path_join(&path, folder, RGMI_SCHEMA_FILE));
    RGM_GO(rgm_file_save_own(path, learning->schema_text.data, learning->schema_text.size));
done:
    rgm_free(path);
    return status;
}

rgm_status rgmi_learning_load_schema(rgm_schema **out, const char *folder)
{
    char *path;
    rgm_status status;

    *out = NULL;
    RGM_TRY(rgm_path_join(&path, folder, RGMI_SCHEMA_FILE));
    status = rgm_schema_load(out, path);
    rgm_free(path);
    return status;
}

rgm_status rgmi_learning_load_features(rgm_learned_features **out, const char *folder)
{
    char *path;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_TRY(rgm_path_join(&path, folder, RGM_FEATURES_FILE));
    if (rgm_path_exists(path))
        status = rgm_learned_features_load(out, path);
    rgm_free(path);
    return status;
}

static rgm_status load_names(rgm_text *out, const char *folder, const char *name)
{
    enum { LARGEST = INT32_MAX };
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    int64_t size;

    RGM_GO(rgm_path_join(&path, folder, name));
    if (!rgm_path_exists(path))
        goto done;
    RGM_GO(rgm_file_load(&text, &size, path, LARGEST));
    RGM_GO(rgm_text_add(out, text, size));
done:
    rgm_free(path);
    rgm_free(text);
    return status;
}

rgm_status rgmi_learning_load_names(rgmi_learning *learning, const char *folder)
{
    RGM_TRY(load_names(&learning->inputs.entities, folder, RGMI_ENTITIES_FILE));
    return load_names(&learning->inputs.relations, folder, RGMI_RELATIONS_FILE);
}

/* "example 3" in messages. */
typedef char place[32];

/* Examples as they come to what the model takes. */
static rgm_status decode(rgm_graph **out, const rgmi_learning *learning, const rgm_str *examples,
                         int64_t count)
{
    rgm_status status = RGM_OK;
    const char **places = NULL;
    place *texts = NULL;
    rgm_graph *raw = NULL;

    RGM_GO(RGM_NEW(places, count));
    RGM_GO(RGM_NEW(texts, count));
    for (int64_t i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "example %lld", (long long)i);
        places[i] = texts[i];
    }
    RGM_GO(rgm_graph_decode_batch(&raw, learning->schema, examples, count, NULL, places));
    RGM_GO(rgm_graph_process(out, raw, learning->processors, learning->processor_count, NULL));
done:
    rgm_graph_release(raw);
    rgm_free(places);
    rgm_free(texts);
    return status;
}

rgm_status rgmi_learning_example_batch(rgm_element **out, void *state, const rgm_str *examples,
                                       int64_t count)
{
    rgm_status status = RGM_OK;
    const rgmi_learning *learning = state;
    rgm_graph *graph = NULL;

    *out = NULL;
    RGM_GO(decode(&graph, learning, examples, count));
    for (int64_t k = 0; k < learning->task_count; k++)
        RGM_GO(rgmi_graph_task_check_graph(learning->tasks[k], graph, false, false));
    if (learning->input != NULL)
        RGM_GO(rgm_input_features_finite(learning->input, graph));
    RGM_GO(rgmi_learning_check_numbers(learning, graph));
    RGM_GO(rgm_element_create_pointer(out, &rgm_graph_element, graph));
    graph = NULL;
done:
    rgm_graph_release(graph);
    return status;
}

/* Each Example is one component, or it has several, which only it can tell. */
static rgm_status components_of(int64_t *out, const rgmi_learning *learning, const rgm_graph *all,
                                const rgm_str *examples, int64_t count)
{
    rgm_graph *graph = NULL;

    for (int64_t i = 0; i < count; i++) {
        out[i] = 1;
        if (rgm_graph_components(all) == count)
            continue;
        RGM_TRY(rgm_graph_decode_batch(&graph, learning->schema, &examples[i], 1, NULL, NULL));
        out[i] = rgm_graph_components(graph);
        rgm_graph_release(graph);
    }
    return RGM_OK;
}

rgm_status rgmi_learning_example_items(int64_t *items, void *state, rgm_element *batch,
                                       int64_t head, const rgm_str *examples, int64_t count)
{
    const rgmi_learning *learning = state;
    const rgm_graph *graph = rgm_element_pointer(batch, &rgm_graph_element);
    const int64_t *sizes;
    rgm_piece piece;
    const char *set;
    int64_t at = 0;

    rgmi_graph_task_items(&piece, &set, learning->tasks[learning->task_of[head]],
                          rgm_graph_schema(graph));
    sizes = rgm_graph_sizes(graph, piece, set);
    RGM_TRY(components_of(items, learning, graph, examples, count));
    for (int64_t i = 0; i < count; i++) {
        int64_t end = at + items[i];

        for (items[i] = 0; sizes != NULL && at < end && at < rgm_graph_components(graph); at++)
            items[i] += sizes[at];
    }
    return RGM_OK;
}

rgm_feature_kind rgmi_learning_example_kind(const char *key, void *state)
{
    return rgm_schema_example_kind(((const rgmi_learning *)state)->schema, key);
}
