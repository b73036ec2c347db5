/*
 * The steps that ranks take together where mini-batches are sampled across the parts of a graph:
 * they meet, and the seeds of a step's batches become the graphs around them.
 */
#include "learning.h"
#include "waiting_seeds.h"

/* ---- connecting ---------------------------------------------------------------------------- */

/* The first batches of all ranks, for the plan: what they cost. */
static rgm_status probe(rgmi_graph_inputs *in, int64_t batch_size)
{
    const rgm_tensor *all = rgm_part_sampler_seeds(in->sampler, RGM_TRAIN);
    int64_t total = rgm_tensor_count(all), first = batch_size * rgm_comm_rank(in->comm), *nodes;
    rgm_graph *graph = NULL;
    rgm_status status;

    in->probed = batch_size < total ? batch_size : total;
    RGM_TRY(RGM_NEW(nodes, in->probed));
    for (int64_t i = 0; i < in->probed; i++)
        nodes[i] = rgm_tensor_at_int(all, (first + i) % total);
    status = rgm_part_sampler_draw(&graph, in->sampler,
                                   &(rgm_part_seeds){.nodes = nodes, .count = in->probed}, 1);
    rgm_part_sampler_count(&in->probe, in->sampler);
    rgm_graph_release(graph);
    rgm_free(nodes);
    return status;
}

static rgm_status connect(rgmi_learning *learning)
{
    rgmi_graph_inputs *in = &learning->inputs;

    RGM_TRY(rgm_part_sampler_connect(in->sampler, in->comm));
    RGM_TRY(rgmi_learning_count_parts(learning));
    return probe(in, learning->data->batch_size);
}

rgm_status rgmi_sampled_parts_connect(rgmi_learning *learning)
{
    rgmi_graph_inputs *in = &learning->inputs;

    if (in->sampler == NULL || in->connected)
        return RGM_OK;
    in->connected = true;
    return rgm_comm_fail(in->comm, connect(learning));
}

rgm_status rgmi_parts_connect(rgmi_learning *learning)
{
    rgmi_graph_inputs *in = &learning->inputs;

    if (in->connected)
        return RGM_OK;
    in->connected = true;
    RGM_TRY(rgm_part_connect(in->part, in->comm));
    return rgm_comm_fail(in->comm, rgmi_learning_count_parts(learning));
}

/* ---- batches ------------------------------------------------------------------------------- */

/* The graph, which is taken over, in the place of its seeds. */
static rgm_status put_graph(rgm_element **batch, rgm_graph *graph)
{
    const rgmi_waiting_seeds *seeds = rgm_element_pointer(*batch, &rgmi_waiting_seeds_element);
    rgm_element *drawn = NULL, *made = NULL;
    rgm_status status = rgm_element_create_pointer(&drawn, &rgm_graph_element, graph);

    if (status != RGM_OK) {
        rgm_graph_release(graph);
        return status;
    }
    status = rgmi_pipeline_batch(&made, drawn, seeds->pipeline);
    rgm_element_release(drawn);
    if (status != RGM_OK)
        return status;
    rgm_element_release(*batch);
    *batch = made;
    return RGM_OK;
}

rgm_status rgmi_sampled_parts_complete(rgm_element **batches, int64_t count, void *state)
{
    const rgmi_learning *learning = state;
    rgm_status status = RGM_OK;
    rgm_part_seeds *seeds = NULL;
    rgm_graph **graphs = NULL;

    RGM_GO(RGM_NEW(seeds, count));
    RGM_GO(RGM_NEW(graphs, count));
    for (int64_t i = 0; i < count; i++) {
        const rgmi_waiting_seeds *of =
            batches[i] != NULL ? rgm_element_pointer(batches[i], &rgmi_waiting_seeds_element)
                               : NULL;

        if (of != NULL)
            seeds[i] = (rgm_part_seeds){of->nodes, of->count, of->epoch};
    }
    RGM_GO(rgm_part_sampler_draw(graphs, learning->inputs.sampler, seeds, count));
    for (int64_t i = 0; i < count; i++) {
        rgm_graph *graph = graphs[i];

        graphs[i] = NULL;
        if (graph != NULL)
            RGM_GO(put_graph(&batches[i], graph));
    }
done:
    for (int64_t i = 0; graphs != NULL && i < count; i++)
        rgm_graph_release(graphs[i]);
    rgm_free(graphs);
    rgm_free(seeds);
    return status;
}
