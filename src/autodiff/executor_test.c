/*
 * The executor: memory plans in which nothing overlaps, what is kept between runs, feeds that do
 * not fit, eager mode, plans cached by sizes without allocation, threads, failing allocations.
 */
#include "executor_internal.h"
#include <lab.h>
#include <regimen/kernels.h>

/* A two-layer network on a graph of symbols' sizes, every kind of memory in it. */
typedef struct net {
    rgm_cgraph *graph;
    rgm_value *x, *p, *labels, *fetches[8];
    int64_t fetch_count;
} net;

static rgm_value *parameter(rgm_cgraph *graph, const char *name, int64_t rows, int64_t columns)
{
    return rgm_parameter(graph, name, RGM_F32, columns > 0 ? 2 : 1, (int64_t[]){rows, columns},
                         (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
}

static rgm_status net_create(net *n)
{
    rgm_status status = RGM_OK;
    rgm_value *wrt[5];

    memset(n, 0, sizeof *n);
    RGM_GO(rgm_cgraph_create(&n->graph));
    rgm_dim nodes = rgm_cgraph_symbol(n->graph, "nodes");
    n->x = rgm_input(n->graph, "x", RGM_F32, 2, (rgm_dim[]){nodes, 6});
    n->p = rgm_input_pattern(n->graph, "p", nodes, nodes, rgm_cgraph_symbol(n->graph, "edges"));
    n->labels = rgm_input(n->graph, "labels", RGM_I64, 1, (rgm_dim[]){nodes});
    wrt[0] = parameter(n->graph, "w0", 6, 16);
    wrt[1] = parameter(n->graph, "b0", 16, 0);
    wrt[2] = parameter(n->graph, "w1", 16, 3);
    wrt[3] = parameter(n->graph, "s1", 16, 3);
    wrt[4] = parameter(n->graph, "b1", 3, 0);
    rgm_spmm_options mean = {.mean = true};
    rgm_value *h = rgm_spmm(rgm_add_self_loops(n->p), n->x, &mean);
    h = rgm_dropout_op(rgm_relu(rgm_add(rgm_matmul(h, wrt[0]), wrt[1])), 0.5, "h");
    rgm_value *y = rgm_add(rgm_matmul(rgm_spmm(n->p, h, &mean), wrt[2]), rgm_matmul(h, wrt[3]));
    y = rgm_l2_normalize(rgm_add(y, wrt[4]));
    n->fetches[0] = rgm_mean(rgm_softmax_cross_entropy(y, n->labels));
    RGM_GO(rgm_cgraph_status(n->graph));
    RGM_GO(rgm_cgraph_gradients(n->fetches + 1, n->fetches[0], wrt, 5));
    n->fetch_count = 6;
done:
    if (status != RGM_OK) {
        rgm_cgraph_release(n->graph);
        n->graph = NULL;
    }
    return status;
}

typedef struct batch {
    rgm_feed feeds[3];
} batch;

static void batch_create(batch *b, const net *n, int64_t nodes, int64_t edges, uint64_t seed)
{
    rgm_rng rng = rgm_rng_stream(seed, "batch", 0);
    rgm_tensor *x, *labels;
    rgm_pattern *p;
    int64_t *row = malloc(sizeof(int64_t) * (size_t)(2 * edges + 1));

    CHECK_OK(rgm_tensor_create(&x, RGM_F32, 2, (int64_t[]){nodes, 6}));
    CHECK_OK(rgm_tensor_create(&labels, RGM_I64, 1, &nodes));
    for (int64_t i = 0; i < nodes * 6; i++)
        rgm_tensor_f32(x)[i] = 2 * rgm_rng_f32(&rng, (uint64_t)i) - 1;
    for (int64_t i = 0; i < nodes; i++)
        rgm_tensor_i64(labels)[i] = i % 3;
    for (int64_t i = 0; i < 2 * edges; i++)
        row[i] = (int64_t)rgm_rng_below(&rng, (uint64_t)(10000 + i), (uint64_t)nodes);
    CHECK_OK(rgm_pattern_create(&p, nodes, nodes, edges, row, row + edges));
    free(row);
    b->feeds[0] = (rgm_feed){.input = n->x, .tensor = x};
    b->feeds[1] = (rgm_feed){.input = n->p, .pattern = p};
    b->feeds[2] = (rgm_feed){.input = n->labels, .tensor = labels};
}

static void batch_release(batch *b)
{
    for (int i = 0; i < 3; i++) {
        rgm_tensor_release(b->feeds[i].tensor);
        rgm_pattern_release(b->feeds[i].pattern);
    }
}

/* ---- memory ---- */

/* Live values never share bytes: recomputed here from the steps alone, by following who reads what.
 */
static void plan_check(const rgm_executor *executor)
{
    const rgmi_plan *plan = executor->current;
    int64_t *writer = calloc((size_t)executor->count, sizeof *writer), live = 0;
    int64_t *last = calloc((size_t)executor->count, sizeof *last);

    for (int64_t i = 0; i < plan->step_count; i++) {
        const rgm_value *v = executor->order[plan->steps[i]];
        writer[v->slot] = i;
        last[v->slot] = i;
    }
    for (int64_t i = plan->step_count - 1; i >= 0; i--) { /* a view keeps what it shows */
        const rgm_value *v = executor->order[plan->steps[i]];
        bool view = v->type->is_view != NULL && v->type->is_view(v);
        for (int k = 0; k < v->inputs; k++) {
            int64_t s = v->in[k]->slot, until = view ? last[v->slot] : i;
            last[s] = until > last[s] ? until : last[s];
        }
    }
    for (int64_t i = 0; i < executor->fetch_count; i++)
        for (const rgm_value *v = executor->fetch[i]; v != NULL;
             v = v->type != NULL && v->type->is_view != NULL && v->type->is_view(v) ? v->in[0]
                                                                                    : NULL)
            last[v->slot] = plan->step_count;
    for (int64_t a = 0; a < executor->count; a++) {
        const rgmi_place *p = &plan->place[a];
        if (p->where != RGMI_ARENA || p->bytes == 0)
            continue;
        CHECK(p->offset % 64 == 0 && p->offset + p->bytes <= plan->arena_bytes);
        live++;
        for (int64_t b = 0; b < a; b++) {
            const rgmi_place *q = &plan->place[b];
            if (q->where != RGMI_ARENA || q->bytes == 0)
                continue;
            bool bytes = p->offset < q->offset + q->bytes && q->offset < p->offset + p->bytes;
            /* in place: one is written by the step that reads the other last */
            bool times = writer[a] < last[b] && writer[b] < last[a];
            bool apart = writer[a] == last[b] || writer[b] == last[a];
            if (bytes && times)
                fail_msg("slots %d and %d overlap", (int)a, (int)b);
            if (bytes && apart) {
                const rgm_value *late = executor->order[writer[a] == last[b] ? a : b];
                CHECK(rgmi_plan_in_place(plan, late, executor) > 0 && p->offset == q->offset &&
                      p->bytes == q->bytes);
            }
        }
    }
    CHECK(live > 0);
    free(writer);
    free(last);
}

static void live_values_never_share_memory(void **state)
{
    net n;
    rgm_parameters *parameters;

    (void)state;
    CHECK_OK(net_create(&n));
    CHECK_OK(rgm_parameters_create(&parameters, n.graph, 1));
    for (int mode = 0; mode < 3; mode++) {
        rgm_executor_options options = {
            .training = true, .no_fusion = mode == 1, .eager = mode == 2};
        rgm_executor *executor;
        rgm_tensor *fetched[8];
        CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, n.fetch_count, &options));
        for (int64_t size = 0; size < 40; size += 13) {
            batch b;
            batch_create(&b, &n, size + 1, 3 * size, 5);
            CHECK_OK(rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 1));
            plan_check(executor);
            batch_release(&b);
        }
        rgm_executor_release(executor);
    }
    rgm_parameters_release(parameters);
    rgm_cgraph_release(n.graph);
}

static void repeated_sizes_allocate_nothing(void **state)
{
    net n;
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_executor_options options = {.training = true};
    rgm_tensor *fetched[8];
    batch b[3];

    (void)state;
    CHECK_OK(net_create(&n));
    CHECK_OK(rgm_parameters_create(&parameters, n.graph, 1));
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, n.fetch_count, &options));
    for (int i = 0; i < 3; i++)
        batch_create(&b[i], &n, 20 - 5 * i, 50 - 10 * i, (uint64_t)i);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 3; i++) {
            CHECK_OK(rgm_executor_run(executor, fetched, parameters, b[i].feeds, 3, 1, 1));
            CHECK_OK(rgm_executor_run(executor, fetched, parameters, b[i].feeds, 3, 1, 2));
            if (round > 1) { /* the pattern with loops is made anew for other feeds */
                rgm_memory_fail_at(0, true);
                CHECK_OK(rgm_executor_run(executor, fetched, parameters, b[i].feeds, 3, 1, 3));
                rgm_memory_fail_at(-1, false);
                CHECK_INT(0, rgm_memory_failures());
            }
        }
    for (int64_t i = 0; i < 2 * RGMI_PLANS; i++) { /* more sizes than plans are kept */
        batch c;
        batch_create(&c, &n, 3 + i, 7, 3);
        CHECK_OK(rgm_executor_run(executor, fetched, parameters, c.feeds, 3, 1, 1));
        CHECK(executor->plan_count <= RGMI_PLANS);
        batch_release(&c);
    }
    for (int i = 0; i < 3; i++)
        batch_release(&b[i]);
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    rgm_cgraph_release(n.graph);
}

enum { SETS = 8, LARGE = 4096, SMALL = 16 };

/* Sets of items of independent sizes, all of whose values live at once; set `large` is large. */
static void sets_run(rgm_executor *executor, rgm_value *const *x, int large)
{
    rgm_feed feeds[SETS];
    rgm_tensor *results[SETS];

    for (int k = 0; k < SETS; k++) {
        int64_t n = k == large ? LARGE : SMALL;
        feeds[k] = (rgm_feed){.input = x[k]};
        CHECK_OK(rgm_tensor_create(&feeds[k].tensor, RGM_F32, 1, &n));
    }
    CHECK_OK(rgm_executor_run(executor, results, NULL, feeds, SETS, 1, 1));
    for (int k = 0; k < SETS; k++)
        rgm_tensor_release(feeds[k].tensor);
}

/* Room is left for what other sizes needed, but no more than a quarter of what the largest needs by
 * itself; and of sizes that come in turn each finds its plan, whatever there was before. */
static void room_for_other_sizes_is_bounded(void **state)
{
    rgm_executor_options options = {.training = true, .plans = 4};
    rgm_cgraph *graph;
    rgm_value *x[SETS], *y[SETS];
    rgm_executor *executor;
    size_t least = 0;

    (void)state;
    CHECK_OK(rgm_cgraph_create(&graph));
    for (int k = 0; k < SETS; k++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", k);
        rgm_dim n = rgm_cgraph_symbol(graph, name);
        x[k] = rgm_input(graph, name, RGM_F32, 1, &n);
        y[k] = rgm_softmax(rgm_dropout_op(x[k], 0.5, name));
    }
    CHECK_OK(rgm_executor_create(&executor, graph, y, SETS, &options));
    for (int round = 0; round < 2; round++)
        for (int large = 0; large < SETS; large++) {
            sets_run(executor, x, large);
            plan_check(executor);
            least = least > 0 ? least : executor->current->arena_bytes;
            CHECK(least > LARGE * 4);
            CHECK(executor->current->arena_bytes <= least + least / 4);
        }
    rgmi_plan *plan[2] = {NULL};
    for (int run = 0; run < 8; run++) {
        sets_run(executor, x, run % 2);
        CHECK(run < 2 || plan[run % 2] == executor->current);
        plan[run % 2] = executor->current;
    }
    rgm_executor_release(executor);
    rgm_cgraph_release(graph);
}

/* ---- what is kept ---- */

static int64_t runs_of(const rgm_executor *executor, const char *name)
{
    int64_t runs = 0;

    for (int64_t s = 0; s < executor->count; s++)
        if (executor->order[s]->type != NULL && strcmp(executor->order[s]->type->name, name) == 0)
            runs += executor->runs[s];
    return runs;
}

static void what_depends_on_unchanged_feeds_is_computed_once(void **state)
{
    net n;
    rgm_parameters *parameters;
    rgm_executor *executor, *fresh;
    rgm_executor_options options = {.training = true};
    rgm_tensor *fetched[8], *other[8], *copy;
    batch b, c;

    (void)state;
    CHECK_OK(net_create(&n));
    CHECK_OK(rgm_parameters_create(&parameters, n.graph, 1));
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, n.fetch_count, &options));
    CHECK_OK(rgm_executor_create(&fresh, n.graph, n.fetches, n.fetch_count, &options));
    rgm_executor_profile(executor, true);
    batch_create(&b, &n, 20, 50, 1);
    batch_create(&c, &n, 20, 50, 2);
    for (int i = 0; i < 5; i++)
        CHECK_OK(rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, (uint64_t)i));
    CHECK_INT(1, runs_of(executor, "add_self_loops"));
    CHECK(rgm_executor_hoisted_bytes(executor) > 0);
    int64_t sparse = runs_of(executor, "spmm") + runs_of(executor, "spmm_add");
    CHECK_INT(1 + 2 * 5, sparse); /* mean(x) once; mean(h) and its gradient in each run */
    rgm_tensor *kept = b.feeds[0].tensor;
    b.feeds[0].tensor = c.feeds[0].tensor; /* other features: the pattern stays as it is */
    CHECK_OK(rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 9));
    CHECK_INT(1, runs_of(executor, "add_self_loops"));
    CHECK_OK(rgm_executor_run(fresh, other, parameters, b.feeds, 3, 1, 9));
    for (int i = 0; i < 6; i++)
        CHECK(rgm_tensor_equal(fetched[i], other[i]));
    CHECK_OK(rgm_tensor_copy(&copy, fetched[2]));
    b.feeds[0].tensor = kept;
    CHECK_OK(rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 9));
    CHECK(!rgm_tensor_equal(fetched[2], copy));
    rgm_tensor_release(copy);
    batch_release(&b);
    batch_release(&c);
    rgm_executor_release(executor);
    rgm_executor_release(fresh);
    rgm_parameters_release(parameters);
    rgm_cgraph_release(n.graph);
}

static void large_values_are_not_kept(void **state)
{
    lab l;
    rgm_executor *executor;
    rgm_tensor *fetched;

    (void)state;
    lab_open(&l, RGM_F32); /* [n,1] + [1,n] is far larger than what it is made of */
    rgm_value *a = lab_input(&l, 2, (int64_t[]){500, 1}),
              *b = lab_input(&l, 2, (int64_t[]){1, 500});
    rgm_value *w = rgm_dropout_op(a, 0.5, "w");
    rgm_value *y = rgm_sum(rgm_matmul(rgm_add(a, b), w));
    CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, NULL));
    CHECK_OK(rgm_executor_run(executor, &fetched, NULL, l.feeds, l.count, 1, 1));
    CHECK(rgm_executor_hoisted_bytes(executor) < 100000);
    rgm_executor_release(executor);
    lab_close(&l);
}

/* ---- feeds ---- */

static void feeds_that_do_not_fit_are_refused(void **state)
{
    net n;
    rgm_parameters *parameters, *none;
    rgm_executor *executor;
    rgm_cgraph *empty;
    rgm_tensor *fetched[8];
    batch b, c;

    (void)state;
    CHECK_OK(net_create(&n));
    CHECK_OK(rgm_cgraph_create(&empty));
    CHECK_OK(rgm_parameters_create(&parameters, n.graph, 1));
    CHECK_OK(rgm_parameters_create(&none, empty, 1));
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, n.fetch_count, NULL));
    batch_create(&b, &n, 20, 50, 1);
    batch_create(&c, &n, 21, 50, 2);
    CHECK_STATUS(RGM_ERR_ARG, rgm_executor_run(executor, fetched, parameters, b.feeds, 2, 1, 1));
    CHECK_MESSAGE("input 'labels' i64[nodes] was not fed");
    CHECK_STATUS(RGM_ERR_ARG, rgm_executor_run(executor, fetched, none, b.feeds, 3, 1, 1));
    CHECK_MESSAGE("parameter 'w0' has no value");
    CHECK_STATUS(RGM_ERR_ARG, rgm_executor_run(executor, fetched, NULL, b.feeds, 3, 1, 1));
    rgm_tensor *labels = b.feeds[2].tensor, *x = b.feeds[0].tensor;
    b.feeds[2].tensor = c.feeds[2].tensor;
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 1));
    CHECK_MESSAGE("sizes of 'nodes' differ: 20 from input 'x', 21 from input 'labels'");
    b.feeds[2].tensor = x;
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 1));
    CHECK_MESSAGE("input 'labels' is i64[nodes], fed f32[20,6]");
    b.feeds[2].tensor = labels;
    rgm_tensor_i64(labels)[7] = 3; /* classes are 0..2 */
    CHECK_STATUS(RGM_ERR_DATA, rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 1));
    CHECK_MESSAGE("softmax_cross_entropy: label[7] is 3, classes are 0..2");
    rgm_tensor_i64(labels)[7] = 1;
    CHECK_OK(rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 1));
    rgm_executor_release(executor);
    CHECK_STATUS(RGM_ERR_ARG, rgm_executor_create(&executor, empty, n.fetches, 1, NULL));
    CHECK_MESSAGE("fetch 0 is not a value of this graph");
    batch_release(&b);
    batch_release(&c);
    rgm_parameters_release(parameters);
    rgm_parameters_release(none);
    rgm_cgraph_release(empty);
    rgm_cgraph_release(n.graph);
}

static void gather_checks_its_index(void **state)
{
    lab l;
    rgm_executor *executor;
    rgm_tensor *fetched;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){4, 2}), *index = lab_index(&l, RGM_I32, 3, 4);
    rgm_value *y = rgm_gather(x, index);
    rgm_tensor_i32(l.feeds[1].tensor)[2] = 4;
    CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, NULL));
    CHECK_STATUS(RGM_ERR_DATA, rgm_executor_run(executor, &fetched, NULL, l.feeds, 2, 1, 1));
    CHECK_MESSAGE("gather: index[2] is 4, there are 4 rows");
    rgm_executor_release(executor);
    lab_close(&l);
}

/* Rows picked by a gather beforehand, and by attention itself: the same, and its mistakes named. */
static void attention_to_rows_is_attention_to_what_they_hold(void **state)
{
    enum { BATCH = 3, QUERIES = 2, KEYS = 5, ROWS = 7, WIDTH = 32 };
    lab l;
    rgm_executor *executor;
    rgm_tensor *y[2], *rows, *taken, *seen;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *q = lab_input(&l, 3, (int64_t[]){BATCH, QUERIES, WIDTH});
    rgm_value *k = lab_input(&l, 2, (int64_t[]){ROWS, WIDTH});
    rgm_value *v = lab_input(&l, 2, (int64_t[]){ROWS, WIDTH});
    rgm_value *last_k = lab_input(&l, 2, (int64_t[]){BATCH, WIDTH});
    rgm_value *last_v = lab_input(&l, 2, (int64_t[]){BATCH, WIDTH});
    CHECK_OK(rgm_tensor_create(&rows, RGM_I64, 2, (int64_t[]){BATCH, KEYS}));
    CHECK_OK(rgm_tensor_create(&taken, RGM_I64, 1, (int64_t[]){BATCH * KEYS}));
    CHECK_OK(rgm_tensor_create(&seen, RGM_I64, 2, (int64_t[]){BATCH, KEYS + 1}));
    for (int64_t i = 0; i < BATCH * KEYS; i++) {
        int64_t row = i % 4 == 3 ? -1 : i * 5 % ROWS;
        rgm_tensor_i64(rows)[i] = row;
        rgm_tensor_i64(taken)[i] = row < 0 ? 0 : row;
        rgm_tensor_i64(seen)[i / KEYS * (KEYS + 1) + i % KEYS] = row >= 0;
        rgm_tensor_i64(seen)[i / KEYS * (KEYS + 1) + KEYS] = 1;
    }
    rgm_value *index = rgm_input(l.graph, "rows", RGM_I64, 2, (rgm_dim[]){BATCH, KEYS});
    rgm_value *at = rgm_input(l.graph, "taken", RGM_I64, 1, (rgm_dim[]){BATCH * KEYS});
    rgm_value *visible = rgm_input(l.graph, "seen", RGM_I64, 2, (rgm_dim[]){BATCH, KEYS + 1});
    lab_feed(&l, index, rows, false);
    lab_feed(&l, at, taken, false);
    lab_feed(&l, visible, seen, false);
    rgm_value *whole[2] = {k, v}, *newest[2] = {last_k, last_v};
    for (int i = 0; i < 2; i++)
        whole[i] =
            rgm_concat((rgm_value *[]){rgm_reshape(rgm_gather(whole[i], at), 3,
                                                   (rgm_dim[]){BATCH, KEYS, WIDTH}),
                                       rgm_reshape(newest[i], 3, (rgm_dim[]){BATCH, 1, WIDTH})},
                       2, 1);
    rgm_attention_options options = {.heads = 2, .key = visible};
    rgm_attention_options two = {.heads = 2};
    rgm_value *fetches[2] = {rgm_attention_rows(q, k, v, index, last_k, last_v, NULL, &two),
                             rgm_attention(q, whole[0], whole[1], &options)};
    CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, 2, NULL));
    CHECK_OK(rgm_executor_run(executor, y, NULL, l.feeds, l.count, 1, 1));
    for (int64_t i = 0; i < BATCH * QUERIES * WIDTH; i++)
        CHECK_CLOSE(rgm_tensor_f32(y[1])[i], rgm_tensor_f32(y[0])[i], 1e-5, 1e-5);
    rgm_tensor_i64(rows)[6] = ROWS;
    rgm_executor_release(executor);
    CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, 1, NULL));
    CHECK_STATUS(RGM_ERR_DATA, rgm_executor_run(executor, y, NULL, l.feeds, l.count, 1, 1));
    CHECK_MESSAGE("attention_rows: index[6] is 7, there are 7 rows");
    CHECK(rgm_attention_rows(q, k, v, index, k, last_v, NULL, &two) == NULL);
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_cgraph_status(l.graph));
    CHECK_MESSAGE("needs newest rows [batch,width]");
    rgm_executor_release(executor);
    lab_close(&l);
}

/* ---- eager ---- */

static void eager_mode_stops_at_the_first_bad_number(void **state)
{
    lab l;
    rgm_executor *executor;
    rgm_executor_options eager = {.eager = true};
    rgm_tensor *fetched;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x = lab_positive(&l, 1, (int64_t[]){6});
    rgm_cgraph_set_scope(l.graph, "head");
    rgm_value *y = rgm_log(x);
    rgm_value_set_name(y, "score");
    y = rgm_relu(rgm_scale(y, 2));
    rgm_tensor_f32(l.feeds[0].tensor)[4] = -1;
    CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, &eager));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_executor_run(executor, &fetched, NULL, l.feeds, 1, 1, 1));
    CHECK_MESSAGE("log (in scope 'head'): op log gave score f32[6] has NaN at element 4");
    rgm_executor_release(executor);
    lab_close(&l);
}

/* ---- threads and allocation ---- */

static void the_number_of_threads_changes_no_bit(void **state)
{
    net n;
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_executor_options options = {.training = true};
    rgm_tensor *fetched[8], *first[8] = {NULL};
    batch b;
    int before = rgm_threads();

    (void)state;
    CHECK_OK(net_create(&n));
    CHECK_OK(rgm_parameters_create(&parameters, n.graph, 1));
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, n.fetch_count, &options));
    batch_create(&b, &n, 9000, 40000, 1);
    for (int threads = 1; threads <= 4; threads++) {
        rgm_threads_set(threads);
        CHECK_OK(rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 1));
        for (int i = 0; i < 6; i++)
            if (threads == 1)
                CHECK_OK(rgm_tensor_copy(&first[i], fetched[i]));
            else
                CHECK(rgm_tensor_equal(first[i], fetched[i]));
    }
    rgm_threads_set(before);
    for (int i = 0; i < 6; i++)
        rgm_tensor_release(first[i]);
    batch_release(&b);
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    rgm_cgraph_release(n.graph);
}

static rgm_status create_and_run(const net *n, const rgm_parameters *parameters, const batch *b,
                                 const rgm_executor_options *options)
{
    rgm_status status = RGM_OK;
    rgm_executor *executor = NULL;
    rgm_tensor *fetched[8];

    RGM_GO(rgm_executor_create(&executor, n->graph, n->fetches, n->fetch_count, options));
    RGM_GO(rgm_executor_run(executor, fetched, parameters, b->feeds, 3, 1, 1));
done:
    rgm_executor_release(executor);
    return status;
}

static void no_failing_allocation_is_overlooked(void **state)
{
    net n;
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_executor_options options = {.training = true};
    rgm_tensor *fetched[8];
    batch b;

    (void)state;
    CHECK_OK(net_create(&n));
    CHECK_OK(rgm_parameters_create(&parameters, n.graph, 1));
    batch_create(&b, &n, 20, 50, 1);
    CHECK_EVERY_OOM(create_and_run(&n, parameters, &b, &options), (void)0);
    options.eager = true;
    CHECK_EVERY_OOM(create_and_run(&n, parameters, &b, &options), (void)0);
    options.eager = false;
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, n.fetch_count, &options));
    for (int64_t i = 0;; i++) { /* after a failure the same executor can run */
        rgm_memory_fail_at(i, false);
        rgm_status status = rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 1);
        bool failed = rgm_memory_failures() > 0;
        rgm_memory_fail_at(-1, false);
        if (!failed)
            break;
        CHECK_INT(RGM_ERR_NOMEM, status);
        CHECK_OK(rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 1));
        rgm_executor_release(executor);
        CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, n.fetch_count, &options));
    }
    rgm_executor_release(executor);
    batch_release(&b);
    rgm_parameters_release(parameters);
    rgm_cgraph_release(n.graph);
}

static void leaves_and_views_can_be_fetched(void **state)
{
    lab l;
    rgm_executor *executor;
    rgm_tensor *fetched[4];

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){4, 3}), *fetches[4];
    fetches[0] = x;
    fetches[1] = rgm_reshape(x, 1, (rgm_dim[]){12});
    fetches[2] = rgm_slice(rgm_exp(x), 0, 1, 3);
    fetches[3] = rgm_scalar(l.graph, RGM_F32, 2.5);
    CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, 4, NULL));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rgm_executor_run(executor, fetched, NULL, l.feeds, 1, 1, 1));
        CHECK(fetched[0] == l.feeds[0].tensor);
        CHECK_INT(12, rgm_tensor_count(fetched[1]));
        CHECK_CLOSE(rgm_tensor_f32(fetched[1])[5], rgm_tensor_f32(fetched[0])[5], 0, 0);
        CHECK_CLOSE(rgm_tensor_f32(fetched[2])[0], expf(rgm_tensor_f32(fetched[0])[3]), 1e-6, 0);
        CHECK_CLOSE(rgm_tensor_f32(fetched[3])[0], 2.5, 0, 0);
    }
    rgm_executor_release(executor);
    lab_close(&l);
}

typedef struct watched {
    int64_t order[16], count;
} watched;

static void watch(int64_t fetch, rgm_tensor *const *fetched, void *payload)
{
    watched *w = payload;

    CHECK(fetched[fetch] != NULL);
    w->order[w->count++] = fetch;
}

/* Three layers: of the last one first, and while the others are still to come. */
static void gradients_are_told_of_from_the_last_layer_on(void **state)
{
    rgm_value *wrt[3], *fetches[4];
    rgm_tensor *fetched[4];
    rgm_executor *executor;
    rgm_parameters *parameters;
    watched w = {.count = 0};
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *h = lab_input(&l, 2, (int64_t[]){4, 8});
    for (int i = 0; i < 3; i++) {
        wrt[i] = parameter(l.graph, (const char *[]){"w0", "w1", "w2"}[i], 8, 8);
        h = rgm_relu(rgm_matmul(h, wrt[i]));
    }
    fetches[3] = rgm_mean(rgm_square(h));
    CHECK_OK(rgm_cgraph_gradients(fetches, fetches[3], wrt, 3));
    CHECK_OK(rgm_parameters_create(&parameters, l.graph, 1));
    CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, 4,
                                 &(rgm_executor_options){.training = true}));
    rgm_executor_watch_fetches(executor, watch, &w);
    CHECK_OK(rgm_executor_run(executor, fetched, parameters, l.feeds, 1, 1, 1));
    CHECK_INT(4, w.count);
    CHECK_INT(3, w.order[0]); /* the loss */
    CHECK_INT(2, w.order[1]);
    CHECK_INT(1, w.order[2]);
    CHECK_INT(0, w.order[3]);
    rgm_executor_watch_fetches(executor, NULL, NULL);
    CHECK_OK(rgm_executor_run(executor, fetched, parameters, l.feeds, 1, 1, 1));
    CHECK_INT(4, w.count);
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    lab_close(&l);
}

/* n of the 4 rows or columns of a table; n comes from a batch. */
static void check_slice_to(int axis, int64_t n)
{
    lab l;
    rgm_executor *executor;
    rgm_tensor *fetched[2];

    lab_open(&l, RGM_F32);
    rgm_dim size = rgm_cgraph_symbol(l.graph, "n");
    rgm_value *table = lab_input(&l, 2, (int64_t[]){4, 4}), *fetches[2];
    fetches[0] = rgm_slice_to(table, axis, size);
    fetches[1] = rgm_sum(lab_input_of(&l, 1, &size, &n, false));
    CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, 2, NULL));
    if (n > 4) {
        CHECK_STATUS(RGM_ERR_SHAPE, rgm_executor_run(executor, fetched, NULL, l.feeds, 2, 1, 1));
        CHECK_MESSAGE("slice: [0,5) of axis");
        CHECK_MESSAGE("of size 4");
    } else {
        CHECK_OK(rgm_executor_run(executor, fetched, NULL, l.feeds, 2, 1, 1));
        CHECK_INT(n, rgm_tensor_dim(fetched[0], axis));
        CHECK_INT(4, rgm_tensor_dim(fetched[0], 1 - axis));
        for (int64_t i = 0; i < 4 * n; i++)
            CHECK_CLOSE(rgm_tensor_at(fetched[0], i),
                        rgm_tensor_at(l.feeds[0].tensor, axis == 0 ? i : i / n * 4 + i % n), 0, 0);
    }
    rgm_executor_release(executor);
    lab_close(&l);
}

static void a_slice_takes_as_many_as_a_run_has(void **state)
{
    (void)state;
    for (int axis = 0; axis < 2; axis++)
        for (int64_t n = 0; n <= 5; n++)
            check_slice_to(axis, n);
}

static void the_plan_prints_with_times(void **state)
{
    net n;
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_tensor *fetched[8];
    rgm_text text = {0};
    batch b;

    (void)state;
    CHECK_OK(net_create(&n));
    CHECK_OK(rgm_parameters_create(&parameters, n.graph, 1));
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, n.fetch_count, NULL));
    rgm_executor_profile(executor, true);
    batch_create(&b, &n, 20, 50, 1);
    CHECK_OK(rgm_executor_run(executor, fetched, parameters, b.feeds, 3, 1, 1));
    CHECK_OK(rgm_executor_print(&text, executor));
    CHECK(strstr(text.data, "once for unchanged feeds:") && strstr(text.data, "each run:"));
    CHECK(strstr(text.data, " ms x 1") && strstr(text.data, "matmul") && strstr(text.data, "'w0'"));
    rgm_text_clear(&text);
    batch_release(&b);
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    rgm_cgraph_release(n.graph);
}

static void add_flops(const rgm_op_event *event, void *payload)
{
    CHECK(event->end >= event->begin && event->begin > 0);
    *(int64_t *)payload += event->flops;
}

/* By hand, and whether a bias and an activation are folded into the product or not. */
static void flops_are_those_of_the_sizes(void **state)
{
    enum { N = 20, EDGES = 50, QUERIES = 3, KEYS = 5, WIDTH = 4 };
    const int64_t hand[] = {2 * N * 6 * 16 + N * 16 + N * 16, 2 * EDGES * 6,
                            4 * QUERIES * KEYS * WIDTH};
    net n;
    rgm_parameters *parameters;
    rgm_tensor *fetched;
    batch b;

    (void)state;
    CHECK_OK(net_create(&n));
    rgm_init one = {RGM_INIT_ONES, 0};
    rgm_value *q = rgm_parameter(n.graph, "q", RGM_F32, 3, (int64_t[]){1, QUERIES, WIDTH}, one);
    rgm_value *k = rgm_parameter(n.graph, "k", RGM_F32, 3, (int64_t[]){1, KEYS, WIDTH}, one);
    rgm_value *w = rgm_matmul(n.x, parameter(n.graph, "w", 6, 16));
    rgm_value *values[] = {rgm_relu(rgm_add(w, parameter(n.graph, "b", 16, 0))),
                           rgm_spmm(n.p, n.x, NULL),
                           rgm_attention(q, k, k, &(rgm_attention_options){.heads = 2})};
    CHECK_OK(rgm_parameters_create(&parameters, n.graph, 1));
    batch_create(&b, &n, N, EDGES, 1);
    for (int i = 0; i < 6; i++) {
        rgm_executor_options options = {.no_fusion = i >= 3};
        rgm_executor *executor;
        int64_t seen = 0;

        CHECK_OK(rgm_executor_create(&executor, n.graph, &values[i % 3], 1, &options));
        CHECK_INT(0, rgm_executor_flops(executor));
        rgm_executor_observe(executor, add_flops, &seen);
        CHECK_OK(rgm_executor_run(executor, &fetched, parameters, b.feeds, 3, 1, 1));
        CHECK_INT(hand[i % 3], rgm_executor_flops(executor));
        CHECK_INT(hand[i % 3], seen);
        rgm_executor_release(executor);
    }
    batch_release(&b);
    rgm_parameters_release(parameters);
    rgm_cgraph_release(n.graph);
}

/* ---- packed weights ---- */

typedef struct weights {
    rgm_cgraph *graph;
    rgm_value *x, *y;
    rgm_parameters *parameters[2];
    rgm_tensor *rows[2]; /* 3, and 5 that begin with them */
} weights;

/* relu(x w0 + b0) w1^T, and w1 read by a gather as well: the table of a language model. */
static void weights_open(weights *w)
{
    memset(w, 0, sizeof *w);
    CHECK_OK(rgm_cgraph_create(&w->graph));
    w->x = rgm_input(w->graph, "x", RGM_F32, 2, (rgm_dim[]){rgm_cgraph_symbol(w->graph, "n"), 40});
    rgm_value *b0 = parameter(w->graph, "b0", 50, 0), *w1 = parameter(w->graph, "w1", 33, 50);
    rgm_value *h = rgm_relu(rgm_add(rgm_matmul(w->x, parameter(w->graph, "w0", 40, 50)), b0));
    rgm_value *first =
        rgm_gather(w1, rgm_reshape(rgm_scalar(w->graph, RGM_I64, 0), 1, (rgm_dim[]){1}));
    w->y = rgm_matmul_t(rgm_add(h, first), w1, false, true);
    CHECK_OK(rgm_cgraph_status(w->graph));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rgm_parameters_create(&w->parameters[i], w->graph, 1 + (uint64_t)i));
        CHECK_OK(rgm_tensor_create(&w->rows[i], RGM_F32, 2, (int64_t[]){3 + 2 * i, 40}));
        for (int64_t k = 0; k < rgm_tensor_count(w->rows[i]); k++)
            rgm_tensor_f32(w->rows[i])[k] = (float)(k * 7 % 11) / 11 - 0.4F;
    }
}

static void weights_close(weights *w)
{
    for (int i = 0; i < 2; i++) {
        rgm_parameters_release(w->parameters[i]);
        rgm_tensor_release(w->rows[i]);
    }
    rgm_cgraph_release(w->graph);
}

static const float *weights_run(const weights *w, rgm_executor *executor, int parameters, int rows)
{
    rgm_feed feed = {.input = w->x, .tensor = w->rows[rows]};
    rgm_tensor *y;

    CHECK_OK(rgm_executor_run(executor, &y, w->parameters[parameters], &feed, 1, 0, 0));
    return rgm_tensor_f32(y);
}

static int64_t packs_made(const rgm_executor *executor)
{
    int64_t made = 0, ops = 0;

    for (int64_t s = 0; s < executor->count; s++)
        if (executor->order[s]->type == &rgmi_matmul_pack_op) {
            made += executor->runs[s];
            ops++;
        }
    CHECK_INT(2, ops);
    return made;
}

static void check_weights(const weights *w, rgm_executor *packed, rgm_executor *plain,
                          int parameters, int rows, double bound)
{
    const float *want = weights_run(w, plain, parameters, rows);
    const float *got = weights_run(w, packed, parameters, rows);

    for (int64_t i = 0; i < (3 + 2 * rows) * 33; i++)
        CHECK_CLOSE(want[i], got[i], bound, bound);
}

static void weights_are_packed_until_they_are_touched(void **state)
{
    weights w;

    (void)state;
    weights_open(&w);
    for (int kind = 0; kind < 3; kind++) {
        rgm_executor_options options = {.inference = true, .bf16 = kind == 1, .int8 = kind == 2};
        rgm_executor *packed, *plain;
        float three[3 * 33];
        double bound = kind == 0 ? 1e-5 : 0.03;
        CHECK_OK(rgm_executor_create(&packed, w.graph, &w.y, 1, &options));
        CHECK_OK(rgm_executor_create(&plain, w.graph, &w.y, 1, NULL));
        rgm_executor_profile(packed, true);
        for (int run = 0; run < 4; run++) /* two plans, once more each */
            check_weights(&w, packed, plain, 0, run % 2, bound);
        CHECK_INT(2, packs_made(packed));
        memcpy(three, weights_run(&w, packed, 0, 0), sizeof three);
        CHECK(memcmp(three, weights_run(&w, packed, 0, 1), sizeof three) == 0);
        check_weights(&w, packed, plain, 1, 1, bound);
        CHECK_INT(4, packs_made(packed));
        rgm_tensor_f32(rgm_parameters_find(w.parameters[1], "w0"))[5] += 1;
        rgm_parameters_touch(w.parameters[1]);
        check_weights(&w, packed, plain, 1, 1, bound);
        CHECK_INT(6, packs_made(packed));
        check_weights(&w, packed, plain, 0, 0, bound);
        rgm_executor_release(packed);
        rgm_executor_release(plain);
    }
    weights_close(&w);
}

/* Whoever runs first packs for both, whether the parameters are others, were touched, or the one
 * that has packed is gone. */
static void packed_weights_may_be_kept_together(void **state)
{
    weights w;

    (void)state;
    weights_open(&w);
    for (int kind = 0; kind < 3; kind++) {
        rgm_executor_options options = {.inference = true, .bf16 = kind == 1, .int8 = kind == 2};
        rgm_executor *one, *other, *plain;
        double bound = kind == 0 ? 1e-5 : 0.03;
        CHECK_OK(rgm_executor_create(&plain, w.graph, &w.y, 1, NULL));
        CHECK_OK(rgm_executor_create(&one, w.graph, &w.y, 1, &options));
        options.packed_with = one;
        CHECK_OK(rgm_executor_create(&other, w.graph, &w.y, 1, &options));
        rgm_executor_profile(one, true);
        rgm_executor_profile(other, true);
        for (int run = 0; run < 4; run++)
            check_weights(&w, run % 2 == 0 ? one : other, plain, 0, run / 2, bound);
        CHECK_INT(2, packs_made(one));
        CHECK_INT(0, packs_made(other));
        check_weights(&w, other, plain, 1, 0, bound); /* other parameters, and those again */
        check_weights(&w, one, plain, 1, 0, bound);
        CHECK_INT(2, packs_made(one));
        CHECK_INT(2, packs_made(other));
        check_weights(&w, one, plain, 0, 0, bound);
        check_weights(&w, other, plain, 1, 0, bound);
        CHECK_INT(4, packs_made(one));
        CHECK_INT(4, packs_made(other));
        rgm_tensor_f32(rgm_parameters_find(w.parameters[1], "w0"))[5] += 1;
        rgm_parameters_touch(w.parameters[1]);
        check_weights(&w, other, plain, 1, 1, bound);
        rgm_executor_release(one);
        check_weights(&w, other, plain, 1, 0, bound);
        CHECK_INT(6, packs_made(other));
        rgm_executor_release(other);
        rgm_executor_release(plain);
    }
    weights_close(&w);
}

/* The second executor needs no memory for weights, and those of another precision are others. */
static void packed_weights_kept_together_take_their_memory_once(void **state)
{
    rgm_executor_options options = {.inference = true};
    rgm_executor *one, *other, *rounded, *plain;
    int64_t used[3];
    weights w;

    (void)state;
    weights_open(&w);
    CHECK_OK(rgm_executor_create(&plain, w.graph, &w.y, 1, NULL));
    CHECK_OK(rgm_executor_create(&one, w.graph, &w.y, 1, &options));
    options.packed_with = one;
    CHECK_OK(rgm_executor_create(&other, w.graph, &w.y, 1, &options));
    options.int8 = true;
    CHECK_OK(rgm_executor_create(&rounded, w.graph, &w.y, 1, &options));
    used[0] = rgm_memory_used();
    (void)weights_run(&w, one, 0, 0);
    used[1] = rgm_memory_used();
    (void)weights_run(&w, other, 0, 0);
    used[2] = rgm_memory_used();
    /* what each has besides is the same */
    CHECK((used[1] - used[0]) - (used[2] - used[1]) >=
          (40 * 50 + 33 * 50) * (int64_t)sizeof(float));
    check_weights(&w, rounded, plain, 0, 0, 0.03);
    check_weights(&w, one, plain, 0, 0, 1e-5);
    rgm_executor_release(rounded);
    rgm_executor_release(one);
    rgm_executor_release(other);
    rgm_executor_release(plain);
    weights_close(&w);
}

static void eight_bits_are_for_weights_in_use(void **state)
{
    rgm_executor_options training = {.int8 = true}, both = {.inference = true, .int8 = true};
    rgm_executor *executor;
    weights w;

    (void)state;
    weights_open(&w);
    both.bf16 = true;
    CHECK_STATUS(RGM_ERR_ARG, rgm_executor_create(&executor, w.graph, &w.y, 1, &training));
    CHECK_STATUS(RGM_ERR_ARG, rgm_executor_create(&executor, w.graph, &w.y, 1, &both));
    CHECK_MESSAGE("int8 is for weights in use");
    weights_close(&w);
}

TESTS(cmocka_unit_test(live_values_never_share_memory),
      cmocka_unit_test(weights_are_packed_until_they_are_touched),
      cmocka_unit_test(packed_weights_may_be_kept_together),
      cmocka_unit_test(packed_weights_kept_together_take_their_memory_once),
      cmocka_unit_test(eight_bits_are_for_weights_in_use),
      cmocka_unit_test(room_for_other_sizes_is_bounded),
      cmocka_unit_test(repeated_sizes_allocate_nothing),
      cmocka_unit_test(what_depends_on_unchanged_feeds_is_computed_once),
      cmocka_unit_test(large_values_are_not_kept),
      cmocka_unit_test(feeds_that_do_not_fit_are_refused),
      cmocka_unit_test(gather_checks_its_index),
      cmocka_unit_test(attention_to_rows_is_attention_to_what_they_hold),
      cmocka_unit_test(eager_mode_stops_at_the_first_bad_number),
      cmocka_unit_test(the_number_of_threads_changes_no_bit),
      cmocka_unit_test(no_failing_allocation_is_overlooked),
      cmocka_unit_test(leaves_and_views_can_be_fetched),
      cmocka_unit_test(gradients_are_told_of_from_the_last_layer_on),
      cmocka_unit_test(a_slice_takes_as_many_as_a_run_has),
      cmocka_unit_test(the_plan_prints_with_times), cmocka_unit_test(flops_are_those_of_the_sizes))
