/*
 * Learning without labels: losses by hand, by their gradients and with padding; what corruptors
 * change and what they leave; tasks that train, go on to the same bits and are exported.
 */
#include "random_ops.h"
#include "gnn_check.h"

#include <regimen/graph_tasks.h>

/* ---- losses by hand ------------------------------------------------------------------------ */

enum { ITEMS = 5, REAL = 3, WIDTH = 3 };
/* The last two items are padding, far away from all others. */
static const double first[ITEMS * WIDTH] = {0.5,  1, -2, 3,  0.25, 1,  -1, 1,
                                            0.75, 9, 99, -9, 70,   -5, 8};
static const double other[ITEMS * WIDTH] = {0.75, 1, -0.5, 2, 0.5, 1.5, -2, 0.5,
                                            1,    4, -40,  7, -3,  2,   60};
static const double third[ITEMS * WIDTH] = {-1, 0.5, 2, 0, 1, 1, 2, -1, 0.25, 5, 5, 5, -8, 9, 1};
static const double real_weights[ITEMS] = {1, 1, 1, 0, 0};

typedef struct moments {
    double mean[WIDTH], variance[WIDTH];
} moments;

static moments moments_of(const double *x)
{
    moments m = {{0}, {0}};

    for (int d = 0; d < WIDTH; d++) {
        for (int i = 0; i < REAL; i++)
            m.mean[d] += x[i * WIDTH + d] / REAL;
        for (int i = 0; i < REAL; i++)
            m.variance[d] += pow(x[i * WIDTH + d] - m.mean[d], 2) / REAL;
    }
    return m;
}

static double barlow_by_hand(const double *a, const double *b, double lambda)
{
    moments ma = moments_of(a), mb = moments_of(b);
    double loss = 0;

    for (int p = 0; p < WIDTH; p++)
        for (int q = 0; q < WIDTH; q++) {
            double c = 0;

            for (int i = 0; i < REAL; i++)
                c += (a[i * WIDTH + p] - ma.mean[p]) / sqrt(ma.variance[p] + 1e-6) *
                     (b[i * WIDTH + q] - mb.mean[q]) / sqrt(mb.variance[q] + 1e-6) / REAL;
            loss += lambda * pow(c - (p == q), 2) + (p == q ? (1 - lambda) * pow(c - 1, 2) : 0);
        }
    return loss;
}

static double vicreg_view(const double *x)
{
    moments m = moments_of(x);
    double loss = 0;

    for (int p = 0; p < WIDTH; p++) {
        double low = 1 - sqrt(m.variance[p] + 1e-4);

        loss += 25 * (low > 0 ? low : 0) / WIDTH;
        for (int q = 0; q < WIDTH; q++) {
            double c = 0;

            for (int i = 0; i < REAL; i++)
                c += (x[i * WIDTH + p] - m.mean[p]) * (x[i * WIDTH + q] - m.mean[q]) / REAL;
            loss += p != q ? c * c / WIDTH : 0;
        }
    }
    return loss;
}

static double distance(const double *a, const double *b, int i)
{
    double sum = 0;

    for (int d = i * WIDTH; d < (i + 1) * WIDTH; d++)
        sum += pow(a[d] - b[d], 2) / WIDTH;
    return sum;
}

static double cosine(const double *a, int i, const double *b, int k)
{
    double dot = 0, x = 0, y = 0;

    for (int d = 0; d < WIDTH; d++) {
        dot += a[i * WIDTH + d] * b[k * WIDTH + d];
        x += a[i * WIDTH + d] * a[i * WIDTH + d];
        y += b[k * WIDTH + d] * b[k * WIDTH + d];
    }
    return dot / sqrt(x * y);
}

static double grace_view(const double *a, const double *b, double t)
{
    double loss = 0;

    for (int i = 0; i < REAL; i++) {
        double all = 0, most = -1;

        for (int k = 0; k < REAL; k++)
            most = fmax(most, fmax(cosine(a, i, b, k), k != i ? cosine(a, i, a, k) : -1));
        for (int k = 0; k < REAL; k++)
            all += exp((cosine(a, i, b, k) - most) / t) +
                   (k != i ? exp((cosine(a, i, a, k) - most) / t) : 0);
        loss += (log(all) + (most - cosine(a, i, b, i)) / t) / REAL;
    }
    return loss / 2;
}

static double infomax_by_hand(const double *clean, const double *corrupted, const double *kernel,
                              bool sigmoid)
{
    moments m = moments_of(clean);
    double loss = 0;

    for (int i = 0; i < REAL; i++) {
        double logit[2] = {0, 0};

        for (int p = 0; p < WIDTH; p++)
            for (int q = 0; q < WIDTH; q++) {
                double s = sigmoid ? 1 / (1 + exp(-m.mean[q])) : m.mean[q];

                logit[0] += clean[i * WIDTH + p] * kernel[p * WIDTH + q] * s;
                logit[1] += corrupted[i * WIDTH + p] * kernel[p * WIDTH + q] * s;
            }
        loss += (log(1 + exp(logit[0])) + log(1 + exp(-logit[1]))) / 2 / REAL;
    }
    return loss;
}

static rgm_value *constant(world *w, int64_t rows, int64_t width, const double *numbers)
{
    rgm_tensor *tensor = NULL;
    rgm_value *x;

    CHECK_OK(rgm_tensor_create_from(&tensor, RGM_F64, width > 0 ? 2 : 1, (int64_t[]){rows, width},
                                    numbers));
    x = rgm_constant(w->graph, tensor);
    rgm_tensor_release(tensor);
    return x;
}

/* Of all items with weights, and of the real ones alone without. */
static void each_loss_is_its_definition_and_padding_counts_nowhere(void **state)
{
    (void)state;
    for (int padded = 0; padded < 2; padded++) {
        int64_t n = padded ? ITEMS : REAL;
        double expected, sum = 0;
        world w;

        world_open(&w, PAPERS);
        rgm_value *a = constant(&w, n, WIDTH, first), *b = constant(&w, n, WIDTH, other);
        rgm_value *c = constant(&w, n, WIDTH, third);
        rgm_value *weights = padded ? constant(&w, ITEMS, 0, real_weights) : NULL;
        rgm_value *infomax[2];
        for (int s = 0; s < 2; s++)
            infomax[s] = rgm_infomax_loss(w.scope, a, b, weights, s == 1);
        set_parameters(&w);
        for (int s = 0; s < 2; s++) {
            expected = infomax_by_hand(first, other, parameter(&w, "summary/kernel"), s == 1);
            check_values(&w, infomax[s], &expected, 1);
        }
        expected = barlow_by_hand(first, other, 0.25);
        check_values(&w, rgm_barlow_twins_loss(a, b, weights, 0.25, true), &expected, 1);
        expected = barlow_by_hand(first, other, 1.0 / WIDTH);
        check_values(&w, rgm_barlow_twins_loss(a, b, weights, 0, true), &expected, 1);
        for (int i = 0; i < REAL; i++)
            sum += distance(first, other, i) / REAL;
        expected = 25 * sum + vicreg_view(first) + vicreg_view(other);
        check_values(&w, rgm_vicreg_loss(a, b, weights, NULL), &expected, 1);
        expected = 25 * sum;
        check_values(&w, rgm_vicreg_loss(a, b, weights, &(rgm_vicreg_options){.similarity = 25}),
                     &expected, 1);
        expected = 0;
        for (int i = 0; i < REAL; i++)
            expected += fmax(distance(first, other, i) - distance(first, third, i) + 2, 0) / REAL;
        check_values(&w, rgm_triplet_loss(a, b, c, weights, 2), &expected, 1);
        for (int k = 0; k < 3; k++) { /* exp(1 / 0.001) is beyond any number */
            const double t[] = {0.5, 0.01, 0.001};

            expected = grace_view(first, other, t[k]) + grace_view(other, first, t[k]);
            check_values(&w, rgm_grace_loss(a, b, weights, t[k]), &expected, 1);
        }
        expected = sum = 0;
        for (int i = 0; i < REAL; i++) {
            expected += (2 - 2 * cosine(first, i, other, i)) / REAL;
            sum += pow(1 - cosine(first, i, other, i), 3) / REAL;
        }
        check_values(&w, rgm_bootstrap_loss(a, b, weights), &expected, 1);
        check_values(&w, rgm_scaled_cosine_loss(a, b, weights, 3), &sum, 1);
        world_close(&w);
    }
}

static rgm_value *loss_number(world *w, int which, rgm_value *const *views, rgm_value *x,
                              rgm_value *weights)
{
    switch (which) {
    case 0:
        return rgm_infomax_loss(w->scope, views[0], views[1], weights, true);
    case 1:
        return rgm_barlow_twins_loss(views[0], views[1], weights, 0, true);
    case 2:
        return rgm_vicreg_loss(views[0], views[1], weights, NULL);
    case 3:
        return rgm_triplet_loss(views[0], views[1], views[2], weights, 1);
    case 4:
        return rgm_grace_loss(views[0], views[1], weights, 0.1);
    case 5:
        return rgm_scaled_cosine_loss(views[0], views[1], weights, 2);
    }
    return rgm_bootstrap_loss(views[0], rgm_square(x), weights);
}

static void gradients_of_losses_agree_with_central_differences(void **state)
{
    static const char *const names[] = {"a", "b", "c"};

    (void)state;
    for (int which = 0; which < 7; which++)
        for (int padded = 0; padded < 2; padded++) {
            rgm_value *x, *views[3], *weights = NULL;
            world w;

            world_open(&w, PAPERS);
            x = rgm_node_feature(w.value, "paper", "x");
            for (int i = 0; i < 3; i++)
                views[i] = rgm_add(x, rgm_scale(rgm_dense(w.scope, names[i], x, 3), 0.3));
            if (padded) { /* the papers whose first number is above 0 */
                weights = rgm_reduce(rgm_slice(x, 1, 0, 1), 1, RGM_SUM);
                weights = rgm_greater(weights, rgm_scalar(w.graph, RGM_F64, 0));
            }
            check_gradients(&w, loss_number(&w, which, views, x, weights), 20);
            world_close(&w);
        }
}

static void states_of_two_shapes_are_refused(void **state)
{
    world w;

    (void)state;
    world_open(&w, PAPERS);
    rgm_value *x = rgm_node_feature(w.value, "paper", "x");
    CHECK(rgm_grace_loss(x, rgm_dense(w.scope, "a", x, 4), NULL, 1) == NULL);
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("states of two views are of the same items and columns, not f64[nodes/paper,3]");
    world_close(&w);
}

/* ---- draws --------------------------------------------------------------------------------- */

/* What a value is in step `step` of a run with `seed`. */
static rgm_tensor *draw(world *w, rgm_value *y, uint64_t seed, uint64_t step)
{
    rgm_executor_options options = {0};
    rgm_executor *executor = NULL;
    rgm_tensor *fetched = NULL, *copy = NULL;
    rgm_feed feeds[64];
    int64_t count = 0;

    CHECK_OK(rgm_cgraph_status(w->graph));
    if (w->parameters == NULL)
        CHECK_OK(rgm_parameters_create(&w->parameters, w->graph, 7));
    CHECK_OK(rgm_graph_feeds(feeds, 64, &count, w->value, w->data));
    CHECK_OK(rgm_executor_create(&executor, w->graph, &y, 1, &options));
    CHECK_OK(rgm_executor_run(executor, &fetched, w->parameters, feeds, count, seed, step));
    CHECK_OK(rgm_tensor_copy(&copy, fetched));
    rgm_executor_release(executor);
    return copy;
}

enum { MANY = 40 };

/* Items 4, 9, ... of MANY are none. */
static rgm_value *many_real(world *w)
{
    double real[MANY];

    for (int i = 0; i < MANY; i++)
        real[i] = i % 5 != 4;
    return constant(w, MANY, 0, real);
}

/* An order has each item once; *moved: how many are not in their own place. */
static void check_order(const rgm_tensor *order, int64_t *moved)
{
    bool seen[MANY] = {false};

    *moved = 0;
    CHECK_INT(MANY, rgm_tensor_count(order));
    for (int64_t i = 0; i < MANY; i++) {
        int64_t from = rgm_tensor_at_int(order, i);

        CHECK(from >= 0 && from < MANY && !seen[from]);
        CHECK(i % 5 != 4 || from == i);
        seen[from] = true;
        *moved += from != i;
    }
}

static void an_order_moves_as_many_real_items_as_it_is_told(void **state)
{
    world w;
    int64_t moved, most = 0;

    (void)state;
    world_open(&w, PAPERS);
    rgm_value *none = rgmi_draw_order(many_real(&w), NULL, 0, "none");
    rgm_value *some = rgmi_draw_order(many_real(&w), NULL, 0.3, "some");
    rgm_value *all = rgmi_draw_order(many_real(&w), NULL, 1, "all");
    for (uint64_t step = 0; step < 20; step++) {
        rgm_tensor *t = draw(&w, none, 1, step);

        check_order(t, &moved);
        CHECK_INT(0, moved);
        rgm_tensor_release(t);
        t = draw(&w, some, 1, step);
        check_order(t, &moved);
        CHECK(moved <= 10); /* ceil(0.3 * 32) */
        most = moved > most ? moved : most;
        rgm_tensor_release(t);
        t = draw(&w, all, 1, step);
        check_order(t, &moved);
        CHECK(moved >= 24);
        rgm_tensor_release(t);
    }
    CHECK(most >= 9);
    world_close(&w);
}

static void an_order_stays_within_components(void **state)
{
    int64_t row[MANY], column[MANY], moved;
    rgm_pattern *members = NULL;
    rgm_feed feeds[1];
    rgm_executor_options options = {0};
    rgm_executor *executor = NULL;
    rgm_tensor *fetched = NULL;
    world w;

    (void)state;
    for (int64_t i = 0; i < MANY; i++) {
        row[i] = i / 8;
        column[i] = i;
    }
    world_open(&w, PAPERS);
    rgm_value *p = rgm_input_pattern(w.graph, "members", MANY / 8, MANY, MANY);
    rgm_value *order = rgmi_draw_order(many_real(&w), p, 1, "within");
    CHECK_OK(rgm_pattern_create(&members, MANY / 8, MANY, MANY, row, column));
    CHECK_OK(rgm_cgraph_status(w.graph));
    CHECK_OK(rgm_parameters_create(&w.parameters, w.graph, 7));
    feeds[0] = (rgm_feed){.input = p, .pattern = members};
    CHECK_OK(rgm_executor_create(&executor, w.graph, &order, 1, &options));
    CHECK_OK(rgm_executor_run(executor, &fetched, w.parameters, feeds, 1, 1, 1));
    check_order(fetched, &moved);
    CHECK(moved >= 16);
    for (int64_t i = 0; i < MANY; i++)
        CHECK_INT(i / 8, rgm_tensor_at_int(fetched, i) / 8);
    rgm_executor_release(executor);
    rgm_pattern_release(members);
    world_close(&w);
}

static void a_draw_is_a_function_of_seed_stream_and_step(void **state)
{
    static const uint64_t when[4][2] = {{1, 1}, {1, 1}, {1, 2}, {2, 1}};
    rgm_tensor *drawn[4], *elsewhere;
    rgm_dim shape = 1000;
    double ones = 0;
    world w;

    (void)state;
    world_open(&w, PAPERS);
    rgm_value *mask = rgmi_draw_mask(w.graph, RGM_F64, 1, &shape, 0.25, "a");
    rgm_value *another = rgmi_draw_mask(w.graph, RGM_F64, 1, &shape, 0.25, "b");
    for (int i = 0; i < 4; i++)
        drawn[i] = draw(&w, mask, when[i][0], when[i][1]);
    elsewhere = draw(&w, another, 1, 1);
    CHECK(rgm_tensor_equal(drawn[0], drawn[1]) && !rgm_tensor_equal(drawn[0], drawn[2]));
    CHECK(!rgm_tensor_equal(drawn[0], drawn[3]) && !rgm_tensor_equal(drawn[0], elsewhere));
    for (int64_t i = 0; i < 1000; i++)
        ones += rgm_tensor_f64(drawn[0])[i];
    CHECK_CLOSE(750, ones, 0, 60);
    for (int i = 0; i < 4; i++)
        rgm_tensor_release(drawn[i]);
    rgm_tensor_release(elsewhere);
    world_close(&w);
}

/* ---- corrupted views ----------------------------------------------------------------------- */

static void what_is_not_corrupted_is_the_same_value(void **state)
{
    const rgm_corruption nothing = {.stream = "c"};
    world w;

    (void)state;
    world_open(&w, LIBRARY);
    rgm_graph_value *view = rgm_corrupt(w.value, &nothing);
    CHECK(rgm_node_feature(view, "paper", "x") == rgm_node_feature(w.value, "paper", "x"));
    CHECK(rgm_adjacency(view, "cites", RGM_SOURCE) == rgm_adjacency(w.value, "cites", RGM_SOURCE));
    CHECK(rgm_context_feature(view, "c") == rgm_context_feature(w.value, "c"));
    rgm_corruption one = {.stream = "c", .shuffle_features = 1, .drop_edges = 0};
    one.features = (rgm_texts){(const char *const[]){"paper.words"}, 1};
    view = rgm_corrupt(w.value, &one);
    CHECK(rgm_node_feature(view, "paper", "x") == rgm_node_feature(w.value, "paper", "x"));
    CHECK(rgm_node_sparse_feature(view, "paper", "words") !=
          rgm_node_sparse_feature(w.value, "paper", "words"));
    world_close(&w);
}

/* Rows of x and words of one paper stay together. */
static void a_shuffle_moves_a_node_with_all_its_features(void **state)
{
    const rgm_corruption all = {.stream = "c", .shuffle_features = 1};
    double x[PAPER_COUNT * 3], words[PAPER_COUNT * 5], eye[25] = {0};
    rgm_tensor *got_x, *got_words;
    int moved = 0;
    world w;

    (void)state;
    paper_x(x);
    paper_words(words);
    for (int i = 0; i < 5; i++)
        eye[6 * i] = 1;
    world_open(&w, PAPERS);
    rgm_graph_value *view = rgm_corrupt(w.value, &all);
    rgm_value *dense = rgm_node_feature(view, "paper", "x");
    rgm_value *sparse =
        rgm_project(rgm_node_sparse_feature(view, "paper", "words"), constant(&w, 5, 5, eye));
    for (uint64_t step = 0; step < 5; step++) {
        got_x = draw(&w, dense, 1, step);
        got_words = draw(&w, sparse, 1, step);
        for (int i = 0; i < PAPER_COUNT; i++) {
            int from = 0;

            while (from < PAPER_COUNT && x[3 * from] != rgm_tensor_f64(got_x)[3 * i])
                from++;
            CHECK(from < PAPER_COUNT);
            moved += from != i;
            for (int k = 0; k < 3; k++)
                CHECK_CLOSE(x[3 * from + k], rgm_tensor_f64(got_x)[3 * i + k], 0, 0);
            for (int k = 0; k < 5; k++)
                CHECK_CLOSE(words[5 * from + k], rgm_tensor_f64(got_words)[5 * i + k], 0, 0);
        }
        rgm_tensor_release(got_x);
        rgm_tensor_release(got_words);
    }
    CHECK(moved > 5);
    world_close(&w);
}

static void dropped_columns_and_masked_nodes_are_zero(void **state)
{
    const rgm_corruption columns = {.stream = "c", .drop_columns = 0.5};
    const rgm_corruption nodes = {.stream = "c", .mask_nodes = 0.5};
    const rgm_corruption numbers = {.stream = "c", .drop_features = 0.5};
    double x[PAPER_COUNT * 3];
    int gone[3] = {0, 0, 0};
    world w;

    (void)state;
    paper_x(x);
    world_open(&w, PAPERS);
    rgm_value *views[3] = {
        rgm_node_feature(rgm_corrupt(w.value, &columns), "paper", "x"),
        rgm_node_feature(rgm_corrupt(w.value, &nodes), "paper", "x"),
        rgm_node_feature(rgm_corrupt(w.value, &numbers), "paper", "x"),
    };
    for (uint64_t step = 0; step < 8; step++)
        for (int v = 0; v < 3; v++) {
            rgm_tensor *t = draw(&w, views[v], 1, step);
            const double *y = rgm_tensor_f64(t);

            for (int i = 0; i < PAPER_COUNT * 3; i++) {
                bool zero = y[i] == 0;

                gone[v] += zero;
                CHECK(zero || fabs(y[i] - (v == 2 ? 2 : 1) * x[i]) < 1e-12);
                if (v == 0)
                    CHECK((y[i % 3] == 0) == zero);
                if (v == 1)
                    CHECK((y[i / 3 * 3] == 0) == zero);
            }
            rgm_tensor_release(t);
        }
    for (int v = 0; v < 3; v++)
        CHECK(gone[v] > 30 && gone[v] < 90); /* of 120 */
    world_close(&w);
}

/* Three of seven edges go; degrees, states of edges and the transposed direction follow. */
static void dropped_edges_are_not_there(void **state)
{
    const rgm_corruption some = {.stream = "c", .drop_edges = 0.5};
    int differ = 0;
    world w;

    (void)state;
    world_open(&w, PAPERS);
    rgm_graph_value *view = rgm_corrupt(w.value, &some);
    rgm_value *at[2] = {rgm_node_degree(view, "cites", RGM_TARGET, RGM_F64),
                        rgm_node_degree(view, "cites", RGM_SOURCE, RGM_F64)};
    rgm_value *weight = rgm_edge_feature(view, "cites", "w");
    rgm_value *sums = rgm_pool_rows(rgm_adjacency(view, "cites", RGM_TARGET), weight, RGM_SUM);
    CHECK(rgm_with_feature(view, RGM_EDGE_SET, "cites", "again", weight) != NULL);
    for (uint64_t step = 0; step < 10; step++) {
        rgm_tensor *w_kept = draw(&w, weight, 1, step), *sum = draw(&w, sums, 1, step);
        double expected[PAPER_COUNT] = {0}, degree[2][PAPER_COUNT] = {{0}};

        CHECK_INT(4, rgm_tensor_count(w_kept));
        for (int k = 0; k < 4; k++) {
            int e = (int)((rgm_tensor_f64(w_kept)[k] - 0.5) / 0.25 + 0.5);

            expected[cite_target[e]] += 0.5 + 0.25 * e;
            degree[0][cite_target[e]]++;
            degree[1][cite_source[e]]++;
            differ += e != k;
        }
        for (int i = 0; i < PAPER_COUNT; i++)
            CHECK_CLOSE(expected[i], rgm_tensor_f64(sum)[i], 1e-12, 1e-12);
        for (int end = 0; end < 2; end++) {
            rgm_tensor *d = draw(&w, at[end], 1, step);

            for (int i = 0; i < PAPER_COUNT; i++)
                CHECK_CLOSE(degree[end][i], rgm_tensor_f64(d)[i], 0, 0);
            rgm_tensor_release(d);
        }
        rgm_tensor_release(w_kept);
        rgm_tensor_release(sum);
    }
    CHECK(differ > 5);
    CHECK(rgm_membership(view, RGM_EDGE_SET, "cites") == NULL);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("edge set 'cites': some of its edges are dropped here");
    world_close(&w);
}

/* The token is a parameter that takes a gradient where a node is masked. */
static void a_masked_nodes_token_is_trained(void **state)
{
    const rgm_corruption all = {.stream = "c", .mask_nodes = 1};
    world w;

    (void)state;
    world_open(&w, PAPERS);
    rgm_value *x = rgm_node_feature(rgm_corrupt(w.value, &all), "paper", "x");
    check_gradients(&w, x, 3);
    check_names(&w, (const char *const[]){"c/paper/x/token"}, 1);
    rgm_tensor *t = run(&w, x, w.data, true);
    for (int i = 0; i < PAPER_COUNT * 3; i++)
        CHECK_CLOSE(parameter(&w, "c/paper/x/token")[i % 3], rgm_tensor_f64(t)[i], 0, 1e-9);
    rgm_tensor_release(t);
    world_close(&w);
}

/* ---- scopes that follow -------------------------------------------------------------------- */

static void a_following_scope_moves_towards_the_other(void **state)
{
    const char *const names[] = {"layer/kernel", "layer/bias", "target/layer/kernel",
                                 "target/layer/bias"};
    world w;

    (void)state;
    world_open(&w, PAPERS);
    rgm_value *x = rgm_node_feature(w.value, "paper", "x");
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;
    dense.l2 = 1;
    rgm_value *own = rgm_dense_with(w.scope, "layer", x, 2, &dense);
    rgm_value *regular = rgm_scope_loss(w.scope);
    rgm_value *theirs =
        rgm_dense_with(rgm_scope_follow(w.scope, "target", 0.9), "layer", x, 2, &dense);
    CHECK(own != theirs && rgm_scope_loss(w.scope) == regular);
    set_parameters(&w);
    check_names(&w, names, 4);
    CHECK_INT(2, rgm_cgraph_update_count(w.graph));
    double before = parameter(&w, names[2])[0], expected[6];
    CHECK(before != parameter(&w, names[0])[0]);
    for (int i = 0; i < 6; i++)
        expected[i] = 0.9 * parameter(&w, names[2])[i] + 0.1 * parameter(&w, names[0])[i];
    for (int64_t u = 0; u < 2; u++)
        if (rgm_value_rank(rgm_cgraph_update_state(w.graph, u)) == 2)
            check_values(&w, rgm_cgraph_update_next(w.graph, u), expected, 6);
    for (int64_t i = 0; i < 4; i++)
        CHECK(rgm_parameters_trainable(w.parameters, i) ==
              (strncmp(rgm_parameters_name(w.parameters, i), "target/", 7) != 0));
    CHECK(rgm_scope_follow(w.scope, "fast", 2) == NULL);
    CHECK_MESSAGE("a momentum of 2 is not in [0, 1]");
    world_close(&w);
}

/* ---- tasks --------------------------------------------------------------------------------- */

static const rgm_graph_task_type *const kinds[] = {
    &rgm_deep_graph_infomax, &rgm_barlow_twins,   &rgm_vicreg, &rgm_grace, &rgm_bgrl,
    &rgm_graph_triplet,      &rgm_masked_features};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* 60 papers in one graph; triplets' words are single, so that anchor and positive are the same. */
typedef struct setting {
    rgm_graph_data data;
    rgm_gcn_model_options model;
    rgm_graph_learning_options what;
    rgm_run_options how;
} setting;

static void open_setting(setting *s, const rgm_graph_task_type *type, rgm_graph_items items)
{
    static const int64_t hidden[] = {8}, projector[] = {6, 5};
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_contrast_options task;

    *s = (setting){.what = RGM_GRAPH_LEARNING_OPTIONS_INIT, .how = RGM_RUN_OPTIONS_INIT};
    citation.nodes = 60;
    citation.edges = 150;
    citation.classes = 3;
    citation.words = 20;
    citation.words_per_node = 4;
    citation.train_per_class = 5;
    citation.valid = citation.test = 10;
    CHECK_OK(rgm_generate_citation(&s->data, &citation));
    s->what.train_data = rgm_graph_data_provider(&s->data, "train");
    s->what.valid_data = rgm_graph_data_provider(&s->data, "valid");
    type->section.defaults(&task);
    task.place.node_set = s->data.split_set;
    task.items = items;
    task.projector = (rgm_ints){projector, items == RGM_ITEMS_READOUT ? 2 : 0};
    s->what.task = rgm_graph_task_create(type, NULL, &task);
    rgm_gcn_model.section.defaults(&s->model);
    s->model.hidden = (rgm_ints){hidden, 1};
    s->what.model_fn = rgm_gcn_model.build;
    s->what.model_payload = &s->model;
    s->how.optimizer = rgm_adam(0.01);
    s->how.trainer.train_steps = 40;
    s->how.runtime.threads = 1;
    s->how.releases_task = true;
}

static void close_setting(setting *s)
{
    rgm_graph_task_release(s->what.task);
    rgm_provider_release(s->what.train_data);
    rgm_provider_release(s->what.valid_data);
    rgm_graph_data_clear(&s->data);
}

static rgm_open_run *must_open(setting *s)
{
    rgm_open_run *run = NULL;
    rgm_task task;

    CHECK_OK(rgm_graph_learning_create(&task, &s->what, &s->how.runtime));
    CHECK_OK(rgm_run_open(&run, &task, &s->how));
    return run;
}

static double valid_loss(rgm_open_run *run)
{
    const rgm_logs *logs;

    CHECK_OK(rgm_run_evaluate(run, RGM_VALID, RGM_TO_END, &logs));
    return rgm_logs_get(logs, "loss");
}

static void each_kind_learns_of_nodes_and_of_a_readout(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (int items = RGM_ITEMS_NODES; items <= RGM_ITEMS_READOUT; items += 2) {
            setting s;
            double before;

            if (kinds[k] == &rgm_masked_features && items == RGM_ITEMS_READOUT)
                continue;
            open_setting(&s, kinds[k], (rgm_graph_items)items);
            rgm_open_run *run = must_open(&s);
            CHECK(rgm_run_model(run)->heads[0].is_number);
            CHECK_TEXT("representations", rgm_run_model(run)->heads[0].name);
            before = valid_loss(run);
            CHECK_OK(rgm_run_train(run, 40));
            if (!(valid_loss(run) < before))
                fail_msg("%s: loss %g, then %g", kinds[k]->section.name, before, valid_loss(run));
            rgm_run_close(run);
            close_setting(&s);
        }
}

/* Stopped behind step 3 and begun again it comes to the weights of 6 steps in one go. */
static void each_kind_goes_on_to_the_same_bits(void **state)
{
    const char *root = check_folder();

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        rgm_open_run *runs[2];
        char folder[128];
        setting s;

        open_setting(&s, kinds[k], RGM_ITEMS_NODES);
        s.how.trainer.train_steps = 6;
        for (int parts = 1; parts <= 2; parts++) {
            snprintf(folder, sizeof folder, "%s/%d-%d", root, k, parts);
            s.how.run_dir = folder;
            if (parts == 2) {
                rgm_open_run *begun = must_open(&s);

                CHECK_OK(rgm_run_train(begun, 3));
                CHECK_OK(rgm_run_save(begun));
                rgm_run_close(begun);
            }
            runs[parts - 1] = must_open(&s);
            CHECK_INT(parts == 2 ? 3 : 0, rgm_run_steps(runs[parts - 1]));
            CHECK_OK(rgm_run_train(runs[parts - 1], 6));
        }
        const rgm_parameters *a = rgm_trainer_parameters(rgm_run_trainer(runs[0]));
        const rgm_parameters *b = rgm_trainer_parameters(rgm_run_trainer(runs[1]));
        for (int64_t i = 0; i < rgm_parameters_count(a); i++)
            if (!rgm_tensor_equal(rgm_parameters_tensor(a, i), rgm_parameters_tensor(b, i)))
                fail_msg("%s: '%s' differs", kinds[k]->section.name, rgm_parameters_name(a, i));
        rgm_run_close(runs[0]);
        rgm_run_close(runs[1]);
        close_setting(&s);
    }
    CHECK_OK(rgm_folder_remove(root));
}

static void an_export_gives_the_states(void **state)
{
    const char *root = check_folder();
    char folder[128];

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        rgm_export_check check = {0};
        setting s;

        snprintf(folder, sizeof folder, "%s/%d", root, k);
        open_setting(&s, kinds[k], RGM_ITEMS_NODES);
        s.how.run_dir = folder;
        rgm_open_run *run = must_open(&s);
        CHECK_OK(rgm_run_train(run, 2));
        CHECK_OK(rgm_run_export(run, folder));
        CHECK_OK(rgm_run_verify_onnx(&check, run, folder, RGM_VALID, 1));
        CHECK(check.items == 60 && check.largest_difference < 1e-5);
        rgm_run_close(run);
        close_setting(&s);
    }
    CHECK_OK(rgm_folder_remove(root));
}

/* Of every item of a validation, of the clean view; none in training, none without being asked. */
static void metrics_are_of_the_states_that_are_predicted(void **state)
{
    static const char *const names[] = {"rankme", "coherence", "self_clustering"};
    static const rgm_metric_type *const types[] = {&rgm_metric_rankme, &rgm_metric_coherence,
                                                   &rgm_metric_self_clustering};

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        rgm_tensor *states = NULL;
        rgm_trainer *trainer;
        rgm_open_run *run;
        const rgm_logs *logs;
        rgm_text plan = {0};
        setting s;

        open_setting(&s, kinds[k], RGM_ITEMS_NODES);
        rgm_graph_contrast_options *o = rgm_graph_task_options(s.what.task);
        o->metrics = (rgm_texts){names, 3};
        run = must_open(&s);
        trainer = rgm_run_trainer(run);
        CHECK_OK(rgm_run_train(run, 2));
        CHECK_INT(1 + 3, rgm_trainer_metric_count(trainer, RGM_VALID));
        CHECK_OK(rgm_run_plan(&plan, run));
        CHECK(strstr(plan.data, "metrics rankme, coherence, self_clustering of states") != NULL);
        CHECK_OK(rgm_run_evaluate(run, RGM_VALID, RGM_TO_END, &logs));
        CHECK_OK(rgm_graph_run_predict(&states, run, 0, s.data.graphs[0]));
        for (int m = 0; m < 3; m++) {
            rgm_metric metric = {.type = types[m], .outputs = 8};
            rgm_metric_batch batch = {.predictions = states};
            double *sums;

            CHECK_OK(RGM_NEW(sums, metric.type->state_size(&metric)));
            metric.type->update(sums, &metric, &batch);
            CHECK_CLOSE(rgm_logs_get(logs, names[m]), metric.type->result(sums, &metric), 1e-4, 0);
            rgm_free(sums);
        }
        rgm_tensor_release(states);
        rgm_text_clear(&plan);
        rgm_run_close(run);
        close_setting(&s);
    }
}

static void refuse(const rgm_graph_contrast_options *options, const rgm_graph_task_type *type,
                   const char *message)
{
    rgm_graph_contrast_options o = *options; /* the set's name is that of this setting's data */
    setting s;
    rgm_task task;

    open_setting(&s, type, RGM_ITEMS_NODES);
    if (o.place.node_set != NULL)
        o.place.node_set = strcmp(o.place.node_set, "?") == 0 ? "?" : s.data.split_set;
    *(rgm_graph_contrast_options *)rgm_graph_task_options(s.what.task) = o;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_graph_learning_create(&task, &s.what, &s.how.runtime));
    CHECK_MESSAGE(message);
    close_setting(&s);
}

static void options_that_mean_nothing_are_refused(void **state)
{
    rgm_graph_contrast_options o;

    (void)state;
    rgm_graph_contrast_options_init(&o);
    refuse(&o, &rgm_grace, "task.node_set: name the node set whose states are learned");
    o.place.node_set = "set";
    refuse(&o, &rgm_grace, "task.corrupt: nothing is corrupted");
    o.corrupt.drop_edges = 0.5;
    refuse(&o, &rgm_masked_features, "task.corrupt.mask_nodes is 0");
    o.corrupt.mask_nodes = 0.5;
    o.items = RGM_ITEMS_FIRST;
    refuse(&o, &rgm_masked_features, "task.items: it is all nodes of a set");
    o.items = RGM_ITEMS_NODES;
    o.metrics = (rgm_texts){(const char *const[]){"accuracy"}, 1};
    refuse(&o, &rgm_masked_features, "task.metrics: 'accuracy' is no metric of states");
    o.metrics.count = 0;
    o.second.features = (rgm_texts){(const char *const[]){"wards"}, 1};
    refuse(&o, &rgm_grace, "task.second.features: no node set has a feature 'wards'");
    o.place.node_set = "?";
    refuse(&o, &rgm_grace, "task.node_set: the schema has no node set '?'");
}

/* ---- memory -------------------------------------------------------------------------------- */

static rgm_status corrupted_sums(const world *like)
{
    const rgm_corruption all = {.stream = "c",
                                .shuffle_features = 0.5,
                                .drop_features = 0.25,
                                .drop_columns = 0.25,
                                .mask_nodes = 0.25,
                                .drop_edges = 0.25};
    rgm_status status = RGM_OK;
    rgm_executor_options options = {0};
    rgm_cgraph *graph = NULL;
    rgm_graph_value *value = NULL, *view;
    rgm_scope *scope = NULL;
    rgm_parameters *parameters = NULL;
    rgm_executor *executor = NULL;
    rgm_tensor *fetched;
    rgm_value *y, *words;
    rgm_feed feeds[16];
    int64_t count = 0;

    RGM_GO(rgm_cgraph_create(&graph));
    RGM_GO(rgm_graph_value_create(&value, graph, like->schema));
    RGM_GO(rgm_scope_create(&scope, graph, RGM_F32));
    view = rgm_corrupt(value, &all);
    y = rgm_cast(rgm_node_feature(view, "paper", "x"), RGM_F32);
    y = rgm_dense(scope, "x", y, 2);
    words = rgm_node_sparse_feature(view, "paper", "words");
    y = rgm_add(y, rgm_dense(rgm_scope_follow(scope, "t", 0.5), "w", words, 2));
    y = rgm_spmm(rgm_adjacency(view, "cites", RGM_TARGET), y, NULL);
    RGM_GO(rgm_cgraph_status(graph));
    RGM_GO(rgm_parameters_create(&parameters, graph, 1));
    RGM_GO(rgm_graph_feeds(feeds, 16, &count, value, like->data));
    RGM_GO(rgm_executor_create(&executor, graph, &y, 1, &options));
    RGM_GO(rgm_executor_run(executor, &fetched, parameters, feeds, count, 1, 1));
done:
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    rgm_scope_release(scope);
    rgm_graph_value_release(value);
    rgm_cgraph_release(graph);
    return status;
}

static void every_failing_allocation_is_reported_and_nothing_leaks(void **state)
{
    world w;

    (void)state;
    world_open(&w, PAPERS);
    CHECK_OK(corrupted_sums(&w)); /* the data's own patterns are made once and stay */
    CHECK_EVERY_OOM(corrupted_sums(&w), (void)0);
    world_close(&w);
}

TESTS(cmocka_unit_test(each_loss_is_its_definition_and_padding_counts_nowhere),
      cmocka_unit_test(gradients_of_losses_agree_with_central_differences),
      cmocka_unit_test(states_of_two_shapes_are_refused),
      cmocka_unit_test(an_order_moves_as_many_real_items_as_it_is_told),
      cmocka_unit_test(an_order_stays_within_components),
      cmocka_unit_test(a_draw_is_a_function_of_seed_stream_and_step),
      cmocka_unit_test(what_is_not_corrupted_is_the_same_value),
      cmocka_unit_test(a_shuffle_moves_a_node_with_all_its_features),
      cmocka_unit_test(dropped_columns_and_masked_nodes_are_zero),
      cmocka_unit_test(dropped_edges_are_not_there),
      cmocka_unit_test(a_masked_nodes_token_is_trained),
      cmocka_unit_test(a_following_scope_moves_towards_the_other),
      cmocka_unit_test(each_kind_learns_of_nodes_and_of_a_readout),
      cmocka_unit_test(each_kind_goes_on_to_the_same_bits),
      cmocka_unit_test(an_export_gives_the_states),
      cmocka_unit_test(metrics_are_of_the_states_that_are_predicted),
      cmocka_unit_test(options_that_mean_nothing_are_refused),
      cmocka_unit_test(every_failing_allocation_is_reported_and_nothing_leaks))
