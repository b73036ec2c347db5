/* PNA against plain C, what it learns of degrees, and GPS's round against its parts. */
#include "gnn_check.h"

/* A star: nodes 1, 2, 3 speak to 0; 0 to 1; nobody to 2 and 3. */
enum { NODES = 4, EDGES = 4, WIDTH = 4 };
static const int64_t sources[EDGES] = {1, 2, 3, 0}, targets[EDGES] = {0, 0, 0, 1};

static rgm_tensor *doubles(int64_t rows, int64_t columns, const char *stream)
{
    rgm_rng rng = rgm_rng_stream(4, stream, 0);
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, RGM_F64, 2, (int64_t[]){rows, columns}));
    for (int64_t i = 0; i < rows * columns; i++)
        rgm_tensor_f64(t)[i] = rgm_rng_normal(&rng, (uint64_t)i);
    return t;
}

/* One convolution over the star, in a compute graph of its own. */
typedef struct star {
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_value *h, *pattern, *y;
    rgm_parameters *parameters;
    rgm_tensor *states;
    rgm_pattern *edges;
} star;

static void star_open(star *s, const rgm_pna_options *options)
{
    rgm_conv_input in = {0};
    rgm_dim nodes;

    CHECK_OK(rgm_cgraph_create(&s->graph));
    CHECK_OK(rgm_scope_create(&s->scope, s->graph, RGM_F64));
    nodes = rgm_cgraph_symbol(s->graph, "nodes");
    s->h = rgm_input(s->graph, "h", RGM_F64, 2, (rgm_dim[]){nodes, WIDTH});
    s->pattern =
        rgm_input_pattern(s->graph, "edges", nodes, nodes, rgm_cgraph_symbol(s->graph, "edges"));
    in.pattern = s->pattern;
    in.sender = in.receiver = s->h;
    s->y = rgm_pna_convolve(s->scope, &in, options);
    CHECK_OK(rgm_cgraph_status(s->graph));
    CHECK_OK(rgm_parameters_create(&s->parameters, s->graph, 3));
    CHECK_OK(rgm_pattern_create(&s->edges, NODES, NODES, EDGES, targets, sources));
    s->states = doubles(NODES, WIDTH, "h");
}

static void star_close(star *s)
{
    rgm_tensor_release(s->states);
    rgm_pattern_release(s->edges);
    rgm_parameters_release(s->parameters);
    rgm_scope_release(s->scope);
    rgm_cgraph_release(s->graph);
}

static rgm_tensor *star_run(star *s, bool training)
{
    rgm_executor_options options = {.training = training};
    rgm_value *fetches[3] = {s->y, rgm_cgraph_update_next(s->graph, 0),
                             rgm_cgraph_update_next(s->graph, 1)};
    rgm_feed feeds[2] = {{.input = s->h, .tensor = s->states},
                         {.input = s->pattern, .pattern = s->edges}};
    rgm_executor *executor;
    rgm_tensor *out[3], *y;

    CHECK_INT(2, rgm_cgraph_update_count(s->graph));
    CHECK_OK(rgm_executor_create(&executor, s->graph, fetches, training ? 3 : 1, &options));
    CHECK_OK(rgm_executor_run(executor, out, s->parameters, feeds, 2, 1, 1));
    CHECK_OK(
        rgm_tensor_create_from(&y, RGM_F64, 2, rgm_tensor_shape(out[0]), rgm_tensor_data(out[0])));
    if (training)
        CHECK_OK(rgm_parameters_update(s->parameters, s->graph, out + 1));
    rgm_executor_release(executor);
    return y;
}

static const double *weights(const star *s, const char *name)
{
    rgm_tensor *t = rgm_parameters_find(s->parameters, name);

    if (t == NULL)
        fail_msg("no parameter '%s'", name);
    return rgm_tensor_f64(t);
}

/* Mean, largest, least and deviation of the messages of a tower at a node: [4 depth]. */
static int64_t aggregate(double *out, const star *s, int64_t node, int64_t t, int64_t towers)
{
    int64_t width = WIDTH / towers, depth = width, degree = 0;
    char name[64];
    double sum[WIDTH] = {0}, square[WIDTH] = {0}, most[WIDTH], least[WIDTH];

    snprintf(name, sizeof name, "tower_%d/message/kernel", (int)t);
    const double *kernel = weights(s, name);
    snprintf(name, sizeof name, "tower_%d/message/bias", (int)t);
    const double *bias = weights(s, name);
    for (int e = 0; e < EDGES; e++) {
        if (targets[e] != node)
            continue;
        for (int64_t k = 0; k < depth; k++) {
            double m = bias[k];
            for (int64_t i = 0; i < width; i++)
                m += rgm_tensor_f64(s->states)[sources[e] * WIDTH + t * width + i] *
                         kernel[i * depth + k] +
                     rgm_tensor_f64(s->states)[node * WIDTH + t * width + i] *
                         kernel[(width + i) * depth + k];
            sum[k] += m;
            square[k] += m * m;
            most[k] = degree == 0 || m > most[k] ? m : most[k];
            least[k] = degree == 0 || m < least[k] ? m : least[k];
        }
        degree++;
    }
    for (int64_t k = 0; k < depth; k++) {
        double n = degree > 0 ? (double)degree : 1, mean = sum[k] / n;
        double variance = square[k] / n - mean * mean;

        out[k] = mean;
        out[depth + k] = degree > 0 ? most[k] : 0;
        out[2 * depth + k] = degree > 0 ? least[k] : 0;
        out[3 * depth + k] = sqrt((variance > 0 ? variance : 0) + 1e-5);
    }
    return degree;
}

static void check_star(const star *s, const rgm_tensor *y, double delta, int64_t towers)
{
    static const char *const scalers[] = {"identity", "amplification", "attenuation"};
    int64_t depth = WIDTH / towers;

    for (int64_t node = 0; node < NODES; node++)
        for (int64_t t = 0; t < towers; t++) {
            double parts[4 * WIDTH], expected[WIDTH] = {0};
            int64_t degree = aggregate(parts, s, node, t, towers);
            double amplified = log((degree > 0 ? (double)degree : 1) + 1) / delta;
            const double scale[3] = {1, amplified, 1 / amplified};

            for (int k = 0; k < 3; k++) {
                char name[64];
                snprintf(name, sizeof name, "tower_%d/%s/kernel", (int)t, scalers[k]);
                const double *kernel = weights(s, name);
                for (int64_t i = 0; i < 4 * depth; i++)
                    for (int64_t u = 0; u < depth; u++)
                        expected[u] += scale[k] * parts[i] * kernel[i * depth + u];
            }
            char name[64];
            snprintf(name, sizeof name, "tower_%d/identity/bias", (int)t);
            for (int64_t u = 0; u < depth; u++)
                CHECK_CLOSE(rgm_tensor_f64(y)[node * WIDTH + t * depth + u],
                            expected[u] + weights(s, name)[u], 1e-9, 1e-9);
        }
}

static void aggregators_and_scalers_are_the_papers(void **state)
{
    (void)state;
    for (int64_t towers = 1; towers <= 2; towers++) {
        rgm_pna_options options = {.units = WIDTH, .towers = towers};
        star s;

        star_open(&s, &options);
        rgm_tensor *y = star_run(&s, false);
        check_star(&s, y, 1, towers); /* before any training */
        rgm_tensor_release(y);
        star_close(&s);
    }
}

static void the_mean_log_degree_is_learned(void **state)
{
    const rgm_pna_options options = {.units = WIDTH, .towers = 1};
    const double first = (log(4.0) + 3 * log(2.0)) / 4; /* degrees 3, 1, and 0 as 1 */
    star s;

    (void)state;
    star_open(&s, &options);
    for (int i = 0; i < 3; i++) {
        rgm_tensor *y = star_run(&s, true);
        check_star(&s, y, first, 1); /* a batch is measured by what it adds too */
        rgm_tensor_release(y);
        CHECK_CLOSE(weights(&s, "delta")[0], first, 1e-12, 0);
        CHECK_CLOSE(weights(&s, "nodes")[0], 4 * (i + 1), 0, 0);
    }
    rgm_tensor *y = star_run(&s, false);
    check_star(&s, y, first, 1);
    rgm_tensor_release(y);
    /* One more batch without edges: 12 nodes of before, 4 of degree 1. */
    rgm_pattern_release(s.edges);
    CHECK_OK(rgm_pattern_create(&s.edges, NODES, NODES, 0, targets, sources));
    rgm_tensor_release(star_run(&s, true));
    CHECK_CLOSE(weights(&s, "delta")[0], (12 * first + 4 * log(2.0)) / 16, 1e-12, 0);
    star_close(&s);
}

TESTS(cmocka_unit_test(aggregators_and_scalers_are_the_papers),
      cmocka_unit_test(the_mean_log_degree_is_learned))
