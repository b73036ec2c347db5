/*
 * METIS (Karypis & Kumar): its header when this is compiled, its library when it is asked for, so
 * that nothing is linked with it.
 */
#include "whole_graph.h"

#ifdef RGM_METIS

#include <dlfcn.h>
#include <metis.h>
#include <string.h>

/** The two functions of METIS that are called. */
typedef struct metis {
    int (*defaults)(idx_t *options);
    int (*cut)(idx_t *nodes, idx_t *constraints, idx_t *row_start, idx_t *column, idx_t *weight,
               idx_t *size, idx_t *edge_weight, idx_t *parts, real_t *share, real_t *balance,
               idx_t *options, idx_t *cut, idx_t *part);
} metis;

static rgm_status load(metis *out)
{
    void *object = dlopen(RGM_METIS, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (object == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "METIS cannot be loaded (%s): install libmetis5, or use the method "
                        "multilevel",
                        dlerror());
    *(void **)&out->defaults = dlsym(object, "METIS_SetDefaultOptions");
    *(void **)&out->cut = dlsym(object, "METIS_PartGraphKway");
    if (out->defaults == NULL || out->cut == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s is another METIS than 5", RGM_METIS);
    return RGM_OK;
}

/** The graph as METIS takes it. */
typedef struct cut_graph {
    idx_t *row_start, *column, *part;
} cut_graph;

static rgm_status copy(cut_graph *out, const rgmi_sampled_neighbours *near)
{
    int64_t pairs = near->row_start[near->nodes];

    if (sizeof(idx_t) == 4 && pairs > INT32_MAX)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%lld neighbours; this METIS takes 2147483647 at most: use the method "
                        "multilevel",
                        (long long)pairs);
    RGM_TRY(RGM_NEW(out->row_start, near->nodes + 1));
    RGM_TRY(RGM_NEW(out->column, pairs + 1));
    RGM_TRY(RGM_NEW(out->part, near->nodes));
    for (int64_t i = 0; i <= near->nodes; i++)
        out->row_start[i] = (idx_t)near->row_start[i];
    for (int64_t i = 0; i < pairs; i++)
        out->column[i] = near->column[i];
    return RGM_OK;
}

static rgm_status run(const metis *m, cut_graph *graph, int64_t count, int64_t parts,
                      double balance, uint64_t seed)
{
    idx_t nodes = (idx_t)count, constraints = 1, wanted = (idx_t)parts, cut;
    real_t share = (real_t)(balance > 1.001 ? balance : 1.001);
    idx_t options[METIS_NOPTIONS];
    int code;

    (void)m->defaults(options);
    options[METIS_OPTION_SEED] = (idx_t)(seed % INT32_MAX);
    options[METIS_OPTION_NUMBERING] = 0;
    code = m->cut(&nodes, &constraints, graph->row_start, graph->column, NULL, NULL, NULL, &wanted,
                  NULL, &share, options, &cut, graph->part);
    if (code == METIS_ERROR_MEMORY)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: METIS, %lld nodes", (long long)count);
    return code == METIS_OK ? RGM_OK
                            : RGM_FAIL(RGM_ERR_UNSUPPORTED, "METIS fails (%d) on %lld nodes", code,
                                       (long long)count);
}

rgm_status rgmi_metis_partition(int32_t *part, const rgmi_sampled_neighbours *near, int64_t parts,
                                double balance, uint64_t seed)
{
    rgm_status status = RGM_OK;
    cut_graph graph = {NULL, NULL, NULL};
    metis m;

    RGM_TRY(load(&m));
    if (parts == 1) { /* which METIS does not take */
        memset(part, 0, (size_t)near->nodes * sizeof *part);
        return RGM_OK;
    }
    RGM_GO(copy(&graph, near));
    RGM_GO(run(&m, &graph, near->nodes, parts, balance, seed));
    for (int64_t i = 0; i < near->nodes; i++)
        part[i] = (int32_t)graph.part[i];
done:
    rgm_free(graph.row_start);
    rgm_free(graph.column);
    rgm_free(graph.part);
    return status;
}

#else

rgm_status rgmi_metis_partition(int32_t *part, const rgmi_sampled_neighbours *near, int64_t parts,
                                double balance, uint64_t seed)
{
    (void)part, (void)near, (void)parts, (void)balance, (void)seed;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "this build has no METIS: install libmetis-dev and build "
                                         "again, or use the method multilevel");
}

#endif
