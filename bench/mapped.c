/*
 * A graph that is not read but mapped: made part by part in little memory, and a step of a run that
 * samples from the file. What counts is the peak of resident memory, the file's pages in it.
 */
#include "bench.h"

#include <math.h>

#include <regimen/controller_run.h>

#define BLOCK 65536 /* nodes or edges made at a time */

/* ---- making a graph file --------------------------------------------------------------------- */

static rgm_status make_schema(rgm_schema **out, int64_t width)
{
    RGM_TRY(rgm_schema_create(out));
    RGM_TRY(rgm_schema_add_node_set(*out, "nodes"));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "nodes", "feat", RGM_F32, 1, &width));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "nodes", "label", RGM_I64, 0, NULL));
    return rgm_schema_add_edge_set(*out, "edges", "nodes", "nodes");
}

/* Features of variance 1 and labels of nodes begin .. end - 1. */
static rgm_status put_nodes(rgm_graph_writer *w, int64_t begin, int64_t end, int64_t width,
                            int64_t classes)
{
    rgm_status status = RGM_OK;
    rgm_rng rng = rgm_rng_stream(1, "features", 0), kinds = rgm_rng_stream(1, "labels", 0);
    int64_t shape[] = {end - begin, width};
    rgm_feature feat = {0}, label = {0};

    RGM_GO(rgm_tensor_create(&feat.values, RGM_F32, 2, shape));
    RGM_GO(rgm_tensor_create(&label.values, RGM_I64, 1, shape));
    for (int64_t i = 0; i < shape[0] * width; i++)
        rgm_tensor_f32(feat.values)[i] =
            (rgm_rng_f32(&rng, (uint64_t)(begin * width + i)) - 0.5f) * 3.4641016f;
    for (int64_t i = 0; i < shape[0]; i++)
        rgm_tensor_i64(label.values)[i] =
            (int64_t)rgm_rng_below(&kinds, (uint64_t)(begin + i), (uint64_t)classes);
    RGM_GO(rgm_graph_writer_feature(w, RGM_NODE_SET, "nodes", "feat", &feat));
    RGM_GO(rgm_graph_writer_feature(w, RGM_NODE_SET, "nodes", "label", &label));
done:
    rgm_feature_clear(&feat);
    rgm_feature_clear(&label);
    return status;
}

/* One end uniform, the other popular: r^(1+skew), scattered over the numbers. */
static rgm_status put_edges(rgm_graph_writer *w, int64_t begin, int64_t end, int64_t nodes,
                            double skew)
{
    static int64_t ends[2][BLOCK];
    rgm_rng rng = rgm_rng_stream(1, "edges", 0);

    for (int64_t e = begin; e < end; e++) {
        double r = pow(rgm_rng_f64(&rng, (uint64_t)(2 * e + 1)), 1 + skew);
        uint64_t rank = (uint64_t)(r * (double)nodes);

        ends[0][e - begin] = (int64_t)rgm_rng_below(&rng, (uint64_t)(2 * e), (uint64_t)nodes);
        ends[1][e - begin] = (int64_t)(rank * 2654435761u % (uint64_t)nodes);
    }
    return rgm_graph_writer_edges(w, "edges", ends[0], ends[1], end - begin);
}

rgm_status bench_make_graph(const char *path, char **words, int count)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph_writer *w = NULL;
    int64_t nodes = (int64_t)bench_number(words, count, "nodes", 1000000);
    int64_t edges = (int64_t)bench_number(words, count, "edges", 20000000);
    int64_t width = (int64_t)bench_number(words, count, "feat", 128);
    int64_t classes = (int64_t)bench_number(words, count, "classes", 40);
    double skew = bench_number(words, count, "skew", 1);

    if (nodes < 1 || classes < 2 || width < 1)
        return RGM_FAIL(RGM_ERR_ARG, "%lld nodes, %lld classes, %lld features", (long long)nodes,
                        (long long)classes, (long long)width);
    RGM_GO(make_schema(&schema, width));
    RGM_GO(rgm_graph_writer_open(&w, path, schema, NULL));
    RGM_GO(rgm_graph_writer_items(w, "nodes", nodes));
    for (int64_t i = 0; i < nodes; i += BLOCK)
        RGM_GO(put_nodes(w, i, i + BLOCK < nodes ? i + BLOCK : nodes, width, classes));
    for (int64_t e = 0; e < edges; e += BLOCK)
        RGM_GO(put_edges(w, e, e + BLOCK < edges ? e + BLOCK : edges, nodes, skew));
    RGM_GO(rgm_graph_writer_finish(w));
done:
    rgm_graph_writer_release(w);
    rgm_schema_release(schema);
    return status;
}

/* ---- the workload ---------------------------------------------------------------------------- */

typedef struct mapped {
    rgm_open_run *run;
    int64_t bytes;
} mapped;

static void mapped_close(void *state)
{
    mapped *m = state;

    if (m != NULL)
        rgm_run_close(m->run);
    rgm_free(m);
}

/* Labels are below this; the loss is as large for more. */
#define CLASSES 40

static rgm_status mapped_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    bench_data classes = {.classes = CLASSES};
    rgm_graph_data data = {0};
    mapped *m = NULL;

    RGM_GO(RGM_NEW(m, 1));
    RGM_GO(rgm_graph_data_open(&data, options->data));
    m->bytes = rgm_graph_mapped_bytes(data.graphs[0]);
    RGM_GO(bench_sampled_open(&m->run, data.graphs[0], &classes,
                              options->size > 0 ? options->size : 256, 1));
    *out = m;
    m = NULL;
done:
    rgm_graph_data_clear(&data);
    mapped_close(m);
    return status;
}

static rgm_status mapped_step(void *state, int64_t step)
{
    mapped *m = state;

    (void)step;
    return rgm_run_train(m->run, rgm_run_steps(m->run) + 1);
}

static rgm_status mapped_facts(rgm_text *out, void *state)
{
    const mapped *m = state;

    return rgm_text_printf(out, ", \"mapped\": %lld", (long long)m->bytes);
}

const bench_workload bench_mapped = {
    "mapped",     "step of a run that samples `size` seeds from a graph file",
    mapped_open,  mapped_step,
    mapped_facts, mapped_close,
    NULL};
