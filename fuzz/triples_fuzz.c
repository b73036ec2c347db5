/*
 * Lines of a knowledge graph from anywhere: a graph that is made has an edge for each triple, whose
 * ends and relations have names.
 */
#include <regimen/graph_import.h>

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_triples_options options = {.node_set = NULL};
    rgm_graph_data made;
    char path[64];
    const char *paths[1] = {path};
    int fd = memfd_create("triples", 0);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        __builtin_trap();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    options.train = (rgm_texts){paths, 1};
    options.test = options.train;
    if (rgm_import_triples(&made, &options) == RGM_OK) {
        const rgm_graph *graph = made.graphs[0];
        const rgm_feature *names = rgm_graph_feature(graph, RGM_NODE_SET, "entity", "name");

        if (rgm_graph_total(graph, RGM_EDGE_SET, "fact") % 2 != 0 ||
            rgm_tensor_count(names->values) != rgm_graph_total(graph, RGM_NODE_SET, "entity"))
            __builtin_trap();
        rgm_graph_data_clear(&made);
    }
    close(fd);
    return 0;
}
