/*
 * A graph file from a stranger: it is refused, or its graph can be sampled, encoded and printed,
 * each an error or sound. Checksums are mended first, so that what lies behind them is reached.
 */
#include <stdlib.h>
#include <string.h>

#include <regimen/graph_sampling.h>

#include "../src/graph/graph_file.h"
#include "target.h"

static void mend(uint8_t *bytes, size_t size)
{
    rgmi_file_header *header = (void *)bytes;
    uint64_t directory;

    if (size < sizeof *header)
        return;
    header->size = size;
    directory = (uint64_t)header->sections * sizeof(rgmi_file_section);
    if (header->directory <= size && directory <= size - header->directory)
        header->hash = rgm_hash64(bytes + header->directory, (size_t)directory);
    header->own_hash = rgm_hash64(bytes, sizeof *header - sizeof header->own_hash);
}

static void sample(rgm_graph *graph, const char *node_set, const char *edge_set)
{
    rgm_sampling_spec *spec;
    rgm_sampler *sampler = NULL;
    rgm_graph *batch;
    rgm_text text = {0};
    const int64_t sizes[] = {3, 2}, seeds[] = {0};
    const char *const hops[] = {edge_set, edge_set};

    if (rgm_graph_total(graph, RGM_NODE_SET, node_set) == 0 ||
        rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), node_set, hops, sizes, 1,
                                 RGM_SAMPLE_UNIFORM) != RGM_OK)
        return;
    if (rgm_sampler_create(&sampler, graph, spec, 1) == RGM_OK &&
        rgm_sampler_batch(&batch, sampler, seeds, 1, 0, NULL) == RGM_OK) {
        MUST(rgm_graph_print(&text, batch, 5));
        rgm_graph_release(batch);
    }
    rgm_text_clear(&text);
    rgm_sampler_release(sampler);
    rgm_sampling_spec_release(spec);
}

static void use(rgm_graph_data *data)
{
    rgm_text text = {0};

    for (int64_t i = 0; i < rgm_schema_set_count(data->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(data->schema, i);

        if (set->piece == RGM_EDGE_SET)
            sample(data->graphs[0], set->source, set->name);
    }
    if (rgm_graph_read_whole(data->graphs[0]) == RGM_OK)
        MUST(rgm_graph_print(&text, data->graphs[0], 5));
    rgm_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = aligned_alloc(64, (size + 64) / 64 * 64);
    rgmi_graph_file *file;
    rgm_graph_data graph = {0};

    if (bytes == NULL)
        abort();
    memcpy(bytes, data, size);
    mend(bytes, size);
    MUST(RGM_NEW(file, 1));
    file->references = 1;
    MUST(rgm_strdup(&file->path, "fuzz"));
    file->map = (rgm_mapped_file){.data = bytes, .size = (int64_t)size, .is_borrowed = true};
    if (rgmi_graph_file_read(&graph, file) == RGM_OK) {
        use(&graph);
        rgm_graph_data_clear(&graph);
    }
    free(bytes);
    return 0;
}
