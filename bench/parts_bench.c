/*
 * What the exchange of rows costs a step over a graph in parts, forward and backward pass of three
 * layers, and how much of it goes on beside arithmetic: with products that wait for all of their
 * rows, and with those that compute the rows that need no copies meanwhile.
 *
 *     mpirun -n 2 build/bench/parts_bench FOLDER gcn|graph_sage [CHANNELS [SECONDS]]
 *
 * FOLDER is what `regimen data partition` wrote of nodes and edges. How long an exchange takes is
 * measured alone, over the network that there is (slow_network.c); how long a step computes between
 * its begin and its end in time of the processor, so that other programs and the other rank's pace
 * do not count. Of an exchange as much is hidden as is computed meanwhile.
 */
#include <regimen/gnn_models.h>
#include <regimen/parts.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_EXCHANGES = 64 };

typedef struct bench {
    rgm_comm *comm;
    rgm_parts *parts;
    rgm_part *part;
    rgm_graph *graph; /* with the readout of the part's training nodes */
    rgm_cgraph *cgraph;
    rgm_scope *scope;
    rgm_graph_value *root;
    rgm_value *fetches[64];
    int64_t fetch_count;
    rgm_parameters *parameters;
    rgm_executor *waits, *splits; /* the same step, where products wait for all rows and not */
    rgm_exchange exchange;        /* that brings nothing and tells how long it would have time */
    rgm_exchange_rows seen[MOST_EXCHANGES]; /* of a step */
    double began[MOST_EXCHANGES];           /* seconds of the processor */
    double meanwhile[MOST_EXCHANGES];       /* until the end: the least of any step */
    int64_t count;
    double seconds; /* for each figure */
} bench;

/* ---- the exchange -------------------------------------------------------------------------- */

static double processor(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static rgm_status begin(void **under_way, const rgm_exchange_rows *rows, void *payload)
{
    bench *b = payload;

    if (b->count == MOST_EXCHANGES)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "more than %d exchanges in a step", MOST_EXCHANGES);
    b->seen[b->count] = *rows;
    b->began[b->count] = processor();
    *under_way = &b->began[b->count++];
    return RGM_OK;
}

static rgm_status end(void *under_way, void *payload)
{
    bench *b = payload;
    double time = processor() - *(double *)under_way;
    double *least = &b->meanwhile[(double *)under_way - b->began];

    *least = *least == 0 || time < *least ? time : *least;
    return RGM_OK;
}

/* ---- the step ------------------------------------------------------------------------------ */

/* Three layers, none of which is as wide as its input in the end. */
static rgm_graph_value *model(const bench *b, const rgm_graph_value *graph, const char *name,
                              int64_t channels)
{
    const rgm_ints hidden = {(int64_t[]){channels, channels}, 2};
    rgm_sage_model_options sage;
    rgm_gcn_model_options gcn;

    if (strcmp(name, "gcn") == 0) {
        rgm_gcn_model.section.defaults(&gcn);
        gcn.hidden = hidden;
        gcn.output = channels;
        gcn.dropout = 0;
        return rgm_gcn_model.build(b->scope, graph, &gcn);
    }
    rgm_sage_model.section.defaults(&sage);
    sage.hidden = hidden;
    sage.output = channels;
    sage.dropout = 0;
    return rgm_sage_model.build(b->scope, graph, &sage);
}

/* The loss as one over the part: what rgm_part_values() does, with an exchange of ours. */
static rgm_status part(rgm_value **loss, bench *b)
{
    rgm_parted_items items = {rgm_set_size(b->root, RGM_NODE_SET, "nodes"), &b->exchange};
    rgm_graph_input inputs[32];
    rgm_value *readouts[4];
    rgm_parted_link link = {0};
    rgm_parted_options options = {.items = &items,
                                  .item_count = 1,
                                  .links = &link,
                                  .link_count = 1,
                                  .seeds = readouts,
                                  .seed_count = rgm_graph_value_readouts(readouts, 4, b->root)};
    int64_t count = rgm_graph_value_inputs(inputs, 32, b->root);

    for (int64_t i = 0; i < count && i < 32; i++)
        if (inputs[i].piece == RGM_EDGE_SET && inputs[i].feature == NULL &&
            strcmp(inputs[i].set, "edges") == 0)
            link = (rgm_parted_link){inputs[i].value,
                                     rgm_parts_total(b->parts, RGM_EDGE_SET, "edges")};
    if (link.pattern == NULL || options.seed_count > 4)
        return RGM_FAIL(RGM_ERR_DATA, "the parts are not of nodes and edges");
    return rgm_cgraph_part(loss, NULL, NULL, loss, 1, &options);
}

static rgm_status build(bench *b, const char *name, int64_t channels)
{
    rgm_value *wrt[63], *loss;
    const rgm_graph_value *graph;
    int64_t count;

    RGM_TRY(rgm_cgraph_create(&b->cgraph));
    RGM_TRY(rgm_scope_create(&b->scope, b->cgraph, RGM_F32));
    RGM_TRY(rgm_graph_value_create(&b->root, b->cgraph, (rgm_schema *)rgm_graph_schema(b->graph)));
    graph = model(b, rgm_without_aux_features(b->root), name, channels);
    loss =
        rgm_sum(rgm_square(rgm_structured_readout(graph, "seed", RGM_HIDDEN_STATE, RGM_READOUT)));
    RGM_TRY(rgm_cgraph_status(b->cgraph));
    RGM_TRY(part(&loss, b));
    count = rgm_cgraph_parameter_count(b->cgraph);
    if (count > 63)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%lld parameters", (long long)count);
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(b->cgraph, i);
    b->fetches[0] = loss;
    b->fetch_count = 1 + count;
    RGM_TRY(rgm_cgraph_gradients(b->fetches + 1, loss, wrt, count));
    return rgm_parameters_create(&b->parameters, b->cgraph, 1);
}

static rgm_status compile(bench *b)
{
    const rgm_executor_options options = {.training = true, .fixed_feeds = true};

    b->exchange.own = 0;
    RGM_TRY(rgm_executor_create(&b->waits, b->cgraph, b->fetches, b->fetch_count, &options));
    b->exchange.own = rgm_part_exchange(b->part, "nodes")->own;
    return rgm_executor_create(&b->splits, b->cgraph, b->fetches, b->fetch_count, &options);
}

static rgm_status open_bench(bench *b, const char *folder, const char *name, int64_t channels)
{
    const rgm_graph_data *data;

    b->exchange = (rgm_exchange){begin, end, b, 0};
    RGM_TRY(rgm_parts_load(&b->parts, folder));
    RGM_TRY(rgm_part_open_for(&b->part, b->parts, rgm_comm_rank(b->comm), rgm_comm_size(b->comm)));
    RGM_TRY(rgm_part_connect(b->part, b->comm));
    data = rgm_part_data(b->part);
    RGM_TRY(rgm_graph_with_readout(&b->graph, data->graphs[0], RGM_READOUT, "seed", data->split_set,
                                   data->train, NULL));
    RGM_TRY(build(b, name, channels));
    return compile(b);
}

static void close_bench(bench *b)
{
    rgm_executor_release(b->waits);
    rgm_executor_release(b->splits);
    rgm_parameters_release(b->parameters);
    rgm_graph_value_release(b->root);
    rgm_scope_release(b->scope);
    rgm_cgraph_release(b->cgraph);
    rgm_graph_release(b->graph);
    rgm_part_release(b->part);
    rgm_parts_release(b->parts);
}

/* ---- times --------------------------------------------------------------------------------- */

/* Steps of an executor for so long as rank 0 says; what is computed during each exchange. */
static rgm_status time_steps(double *meanwhile, bench *b, rgm_executor *executor)
{
    double until = rgm_now() + b->seconds;
    rgm_tensor *fetched[64];
    rgm_feed feeds[32];
    int64_t count = 0;

    memset(b->meanwhile, 0, sizeof b->meanwhile);
    for (int step = 0; step < 5 || rgm_now() < until; step++) {
        b->count = count = 0;
        RGM_TRY(rgm_graph_feeds(feeds, 32, &count, b->root, b->graph));
        RGM_TRY(rgm_executor_run(executor, fetched, b->parameters, feeds, count, 1, 1));
    }
    memcpy(meanwhile, b->meanwhile, sizeof b->meanwhile);
    return RGM_OK;
}

/* The least seconds of one exchange alone, of many: the others had other programs beside them. */
static rgm_status time_alone(double *out, const bench *b, const rgm_exchange_rows *like)
{
    const rgm_exchange *own = rgm_part_exchange(b->part, "nodes");
    rgm_exchange_rows rows = *like;
    float *memory;
    rgm_status status;

    RGM_TRY(RGM_NEW(memory, rgm_graph_total(b->graph, RGM_NODE_SET, "nodes") * like->width));
    rows.rows = memory;
    *out = 1e9;
    status = rgm_comm_barrier(b->comm);
    for (int i = 0; i < 20 && status == RGM_OK; i++) {
        double before = rgm_now();
        void *under_way;

        status = own->begin(&under_way, &rows, own->payload);
        if (status == RGM_OK)
            status = own->end(under_way, own->payload);
        *out = rgm_now() - before < *out ? rgm_now() - before : *out;
    }
    rgm_free(memory);
    return status;
}

static rgm_status measure(bench *b)
{
    double waits[MOST_EXCHANGES], splits[MOST_EXCHANGES], sums[3] = {0};

    RGM_TRY(time_steps(waits, b, b->waits));
    RGM_TRY(time_steps(splits, b, b->splits));
    for (int64_t i = 0; i < b->count; i++) {
        double alone = 0;

        RGM_TRY(time_alone(&alone, b, &b->seen[i]));
        sums[0] += alone;
        sums[1] += waits[i] < alone ? waits[i] : alone;
        sums[2] += splits[i] < alone ? splits[i] : alone;
    }
    RGM_TRY(rgm_comm_sum(b->comm, sums, 3, RGM_F64));
    if (rgm_comm_rank(b->comm) == 0)
        printf(
            "%lld exchanges of %.1f ms; hidden %.0f %% where products wait for all rows, %.0f %% "
            "where they do not\n",
            (long long)b->count, 1e3 * sums[0] / rgm_comm_size(b->comm), 100 * sums[1] / sums[0],
            100 * sums[2] / sums[0]);
    return RGM_OK;
}

int main(int count, char **words)
{
    int64_t channels = count > 3 ? strtoll(words[3], NULL, 10) : 64;
    rgm_status status;
    bench b = {.seconds = count > 4 ? strtod(words[4], NULL) : 2};

    if (count < 3 || channels < 1) {
        fprintf(stderr, "usage: parts_bench FOLDER gcn|graph_sage [CHANNELS [SECONDS]]\n");
        return 2;
    }
    rgm_threads_set(1);
    status = rgm_comm_open(&b.comm);
    if (status == RGM_OK)
        status = rgm_comm_fail(b.comm, open_bench(&b, words[1], words[2], channels));
    if (status == RGM_OK)
        status = rgm_comm_fail(b.comm, measure(&b));
    if (status != RGM_OK)
        fprintf(stderr, "parts_bench: %s\n", rgm_error_message());
    (void)fflush(stdout);
    close_bench(&b);
    rgm_comm_close(b.comm);
    return status == RGM_OK ? 0 : 1;
}
