/*
 * Shared by the tests of models: small graphs from arrays, a model built over them in double,
 * running it, random parameters, and gradients against central differences.
 */
#ifndef RGM_GNN_CHECK_H
#define RGM_GNN_CHECK_H

#include <check.h>
#include <regimen/gnn.h>

/* One homogeneous graph: papers with dense x [3] and sparse words of 5, cites with weight w and e
 * [2]. */
#define PAPERS                                                                                     \
    "node_sets { key: 'paper' value {"                                                             \
    "  features { key: 'x' value { dtype: DT_DOUBLE shape { dim { size: 3 } } } }"                 \
    "  features { key: 'words' value { dtype: DT_INT64 shape { dim { size: -1 } }"                 \
    "                                  source: 'one_hot:5' } } } }"                                \
    "edge_sets { key: 'cites' value { source: 'paper' target: 'paper'"                             \
    "  features { key: 'w' value { dtype: DT_DOUBLE } }"                                           \
    "  features { key: 'e' value { dtype: DT_DOUBLE shape { dim { size: 2 } } } } } }"
/* The same with authors who write them, and a context. */
#define LIBRARY_OF(author_features)                                                                \
    PAPERS                                                                                         \
    "node_sets { key: 'author' value { " author_features " } }"                                    \
    "edge_sets { key: 'writes' value { source: 'author' target: 'paper' } }"                       \
    "context { features { key: 'c' value { dtype: DT_DOUBLE shape { dim { size: 2 } } } } }"
#define LIBRARY LIBRARY_OF("") /* latent authors */
#define KNOWN_AUTHORS                                                                              \
    LIBRARY_OF("features { key: 'y' value { dtype: DT_DOUBLE shape { dim { size: 2 } } } }"        \
               "features { key: 'kind' value { dtype: DT_INT64 } }")

enum { PAPER_COUNT = 5, CITE_COUNT = 7, AUTHOR_COUNT = 3, WRITE_COUNT = 5 };
static const int64_t cite_source[CITE_COUNT] = {1, 2, 0, 3, 3, 2, 0};
static const int64_t cite_target[CITE_COUNT] = {0, 0, 1, 1, 2, 2, 2};
static const int64_t write_source[WRITE_COUNT] = {0, 1, 1, 2, 0};
static const int64_t write_target[WRITE_COUNT] = {0, 0, 3, 4, 4};
/* Paper 2 has no words; paper 4 neither cites nor is cited. */
static const int64_t word_length[PAPER_COUNT] = {2, 1, 0, 3, 1};
static const int64_t word_column[7] = {1, 4, 0, 0, 2, 3, 4};

typedef struct world {
    rgm_schema *schema;
    rgm_graph *data;
    rgm_cgraph *graph;
    rgm_graph_value *value;
    rgm_scope *scope;
    rgm_parameters *parameters;
} world;

static inline double number(int64_t i)
{
    return sin(0.7 * (double)i + 0.2);
}

static inline void add_doubles(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                               const char *feature, int64_t items, int64_t width,
                               const double *data)
{
    rgm_feature f = {0};

    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_F64, width > 0 ? 2 : 1,
                                    (int64_t[]){items, width}, data));
    CHECK_OK(rgm_graph_builder_feature(builder, piece, set, feature, &f));
    rgm_tensor_release(f.values);
}

static inline void add_words(rgm_graph_builder *builder, int64_t papers, const int64_t *length,
                             int64_t count, const int64_t *column)
{
    rgm_feature f = {0};

    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_I64, 1, &count, column));
    CHECK_OK(rgm_tensor_create_from(&f.row_lengths[1], RGM_I64, 1, &papers, length));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "paper", "words", &f));
    rgm_tensor_release(f.values);
    rgm_tensor_release(f.row_lengths[1]);
}

static inline void add_edges(rgm_graph_builder *builder, const char *set, int64_t count,
                             const int64_t *source, const int64_t *target)
{
    rgm_tensor *s = NULL, *t = NULL;

    CHECK_OK(rgm_tensor_create_from(&s, RGM_I64, 1, &count, source));
    CHECK_OK(rgm_tensor_create_from(&t, RGM_I64, 1, &count, target));
    CHECK_OK(rgm_graph_builder_edges(builder, set, s, t));
    rgm_tensor_release(s);
    rgm_tensor_release(t);
}

/* What authors are known by, where they are. */
static inline void add_authors(rgm_graph_builder *builder, const rgm_schema *schema)
{
    const rgm_set_schema *authors = rgm_schema_find(schema, RGM_NODE_SET, "author");
    double y[AUTHOR_COUNT * 2];
    rgm_feature kind = {0};

    if (rgm_set_feature(authors, "y") == NULL)
        return;
    for (int i = 0; i < AUTHOR_COUNT * 2; i++)
        y[i] = number(300 + i);
    add_doubles(builder, RGM_NODE_SET, "author", "y", AUTHOR_COUNT, 2, y);
    CHECK_OK(rgm_tensor_create_from(&kind.values, RGM_I64, 1, (int64_t[]){AUTHOR_COUNT},
                                    (int64_t[AUTHOR_COUNT]){2, 0, 1}));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "author", "kind", &kind));
    rgm_tensor_release(kind.values);
}

/* The graph above with papers renamed: old paper i is new paper order[i]. NULL: as it is. */
static inline void make_graph(rgm_graph **out, rgm_schema *schema, const int64_t *order)
{
    int64_t place[PAPER_COUNT], length[PAPER_COUNT], column[7], source[16], target[16], at = 0;
    double x[PAPER_COUNT * 3], e[CITE_COUNT * 2], w[CITE_COUNT];
    bool library = rgm_schema_find(schema, RGM_NODE_SET, "author") != NULL;
    rgm_graph_builder *builder = NULL;

    for (int i = 0; i < PAPER_COUNT; i++)
        place[i] = order != NULL ? order[i] : i;
    for (int i = 0; i < PAPER_COUNT; i++) {
        length[place[i]] = word_length[i];
        for (int k = 0; k < 3; k++)
            x[3 * place[i] + k] = number(3 * i + k);
    }
    for (int p = 0; p < PAPER_COUNT; p++) {
        int64_t old = 0, begin = 0;
        while (place[old] != p)
            begin += word_length[old++];
        for (int64_t k = 0; k < word_length[old]; k++)
            column[at++] = word_column[begin + k];
    }
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "paper", (int64_t[]){PAPER_COUNT}));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "cites", (int64_t[]){CITE_COUNT}));
    for (int i = 0; i < CITE_COUNT; i++) {
        source[i] = place[cite_source[i]];
        target[i] = place[cite_target[i]];
        w[i] = 0.5 + 0.25 * i;
        e[2 * i] = number(100 + i);
        e[2 * i + 1] = number(200 + i);
    }
    add_edges(builder, "cites", CITE_COUNT, source, target);
    add_doubles(builder, RGM_NODE_SET, "paper", "x", PAPER_COUNT, 3, x);
    add_words(builder, PAPER_COUNT, length, 7, column);
    add_doubles(builder, RGM_EDGE_SET, "cites", "w", CITE_COUNT, 0, w);
    add_doubles(builder, RGM_EDGE_SET, "cites", "e", CITE_COUNT, 2, e);
    if (library) {
        CHECK_OK(
            rgm_graph_builder_sizes(builder, RGM_NODE_SET, "author", (int64_t[]){AUTHOR_COUNT}));
        CHECK_OK(
            rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "writes", (int64_t[]){WRITE_COUNT}));
        for (int i = 0; i < WRITE_COUNT; i++)
            target[i] = place[write_target[i]];
        add_edges(builder, "writes", WRITE_COUNT, write_source, target);
        add_authors(builder, schema);
        add_doubles(builder, RGM_CONTEXT_PIECE, NULL, "c", 1, 2, (double[]){0.25, -1});
    }
    CHECK_OK(rgm_graph_builder_finish(out, builder));
    rgm_graph_builder_release(builder);
}

static inline void world_open(world *w, const char *schema_text)
{
    *w = (world){0};
    CHECK_OK(rgm_schema_parse(&w->schema, schema_text, (int64_t)strlen(schema_text), "test"));
    make_graph(&w->data, w->schema, NULL);
    CHECK_OK(rgm_cgraph_create(&w->graph));
    CHECK_OK(rgm_graph_value_create(&w->value, w->graph, w->schema));
    CHECK_OK(rgm_scope_create(&w->scope, w->graph, RGM_F64));
}

static inline void world_close(world *w)
{
    rgm_parameters_release(w->parameters);
    rgm_scope_release(w->scope);
    rgm_graph_value_release(w->value);
    rgm_cgraph_release(w->graph);
    rgm_graph_release(w->data);
    rgm_schema_release(w->schema);
}

/* Every parameter, biases too, gets numbers around zero. */
static inline void set_parameters(world *w)
{
    CHECK_OK(rgm_cgraph_status(w->graph));
    if (w->parameters == NULL)
        CHECK_OK(rgm_parameters_create(&w->parameters, w->graph, 7));
    for (int64_t p = 0; p < rgm_parameters_count(w->parameters); p++) {
        rgm_tensor *t = rgm_parameters_tensor(w->parameters, p);
        rgm_rng rng = rgm_rng_stream(3, rgm_parameters_name(w->parameters, p), 0);
        for (int64_t i = 0; i < rgm_tensor_count(t); i++)
            rgm_tensor_f64(t)[i] =
                0.5 * rgm_rng_normal(&rng, (uint64_t)i) +
                (rgm_parameters_trainable(w->parameters, p) ? 0 : 2); /* a state is no weight */
    }
    rgm_parameters_touch(w->parameters);
}

static inline const double *parameter(world *w, const char *name)
{
    rgm_tensor *t = rgm_parameters_find(w->parameters, name);

    if (t == NULL)
        fail_msg("no parameter '%s'", name);
    return rgm_tensor_f64(t);
}

/* A copy of y for the graph `data`. */
static inline rgm_tensor *run(world *w, rgm_value *y, rgm_graph *data, bool training)
{
    rgm_executor_options options = {.training = training};
    rgm_executor *executor = NULL;
    rgm_tensor *fetched = NULL, *copy = NULL;
    rgm_feed feeds[64];
    int64_t feed_count = 0;

    CHECK_OK(rgm_cgraph_status(w->graph));
    CHECK(y != NULL);
    CHECK_OK(rgm_graph_feeds(feeds, 64, &feed_count, w->value, data));
    CHECK_OK(rgm_executor_create(&executor, w->graph, &y, 1, &options));
    CHECK_OK(rgm_executor_run(executor, &fetched, w->parameters, feeds, feed_count, 3, 0));
    CHECK_OK(rgm_tensor_copy(&copy, fetched));
    rgm_executor_release(executor);
    return copy;
}

static inline void check_values(world *w, rgm_value *y, const double *expected, int64_t count)
{
    rgm_tensor *t = run(w, y, w->data, false);

    CHECK_INT(count, rgm_tensor_count(t));
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(rgm_tensor_f64(t)[i] - expected[i]) <= 1e-11 * (1 + fabs(expected[i]))))
            fail_msg("element %lld is %.17g, expected %.17g", (long long)i, rgm_tensor_f64(t)[i],
                     expected[i]);
    rgm_tensor_release(t);
}

static inline void check_names(world *w, const char *const *names, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (rgm_parameters_find(w->parameters, names[i]) == NULL)
            fail_msg("no parameter '%s'", names[i]);
    for (int64_t i = 0; i < rgm_parameters_count(w->parameters); i++) {
        bool known = false;
        for (int64_t k = 0; k < count; k++)
            known |= strcmp(names[k], rgm_parameters_name(w->parameters, i)) == 0;
        if (!known)
            fail_msg("unexpected parameter '%s'", rgm_parameters_name(w->parameters, i));
    }
}

/* Move every parameter along direction `trial` by `step`. */
static inline void shift_parameters(world *w, int trial, double step)
{
    rgm_rng rng = rgm_rng_stream(5, "direction", (uint64_t)trial);
    uint64_t at = 0;

    for (int64_t i = 0; i < rgm_parameters_count(w->parameters); i++) {
        rgm_tensor *t = rgm_parameters_tensor(w->parameters, i);
        bool moves = rgm_parameters_trainable(w->parameters, i); /* a state has no gradient */
        for (int64_t k = 0; k < rgm_tensor_count(t); k++)
            rgm_tensor_f64(t)[k] += (moves ? step : 0) * rgm_rng_normal(&rng, at++);
    }
    rgm_parameters_touch(w->parameters);
}

/* d loss along random directions against central differences; loss = sum(y^2) + regularisation. */
static inline void check_gradients(world *w, rgm_value *y, int directions)
{
    enum { MOST = 128 };
    rgm_value *wrt[MOST], *fetches[MOST + 1], *regular = rgm_scope_loss(w->scope);
    rgm_executor_options options = {0};
    rgm_executor *executor = NULL;
    rgm_tensor *fetched[MOST + 1];
    rgm_feed feeds[64];
    int64_t feed_count = 0, count = rgm_cgraph_parameter_count(w->graph);

    CHECK(count <= MOST);
    fetches[0] = rgm_sum(rgm_square(y));
    if (regular != NULL)
        fetches[0] = rgm_add(fetches[0], regular);
    set_parameters(w);
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(w->graph, i);
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, fetches[0], wrt, count));
    CHECK_OK(rgm_graph_feeds(feeds, 64, &feed_count, w->value, w->data));
    CHECK_OK(rgm_executor_create(&executor, w->graph, fetches, count + 1, &options));
    for (int trial = 0; trial < directions; trial++) {
        rgm_rng rng = rgm_rng_stream(5, "direction", (uint64_t)trial);
        double slope = 0, above, below, step = 1e-5;
        uint64_t at = 0;
        CHECK_OK(rgm_executor_run(executor, fetched, w->parameters, feeds, feed_count, 1, 1));
        for (int64_t i = 0; i < count; i++)
            for (int64_t k = 0; k < rgm_tensor_count(fetched[i + 1]); k++)
                slope += rgm_tensor_f64(fetched[i + 1])[k] * rgm_rng_normal(&rng, at++);
        shift_parameters(w, trial, step);
        CHECK_OK(rgm_executor_run(executor, fetched, w->parameters, feeds, feed_count, 1, 1));
        above = rgm_tensor_f64(fetched[0])[0];
        shift_parameters(w, trial, -2 * step);
        CHECK_OK(rgm_executor_run(executor, fetched, w->parameters, feeds, feed_count, 1, 1));
        below = rgm_tensor_f64(fetched[0])[0];
        shift_parameters(w, trial, step);
        CHECK_CLOSE(slope, (above - below) / (2 * step), 1e-6, 1e-7);
    }
    rgm_executor_release(executor);
}

/* ---- plain C for comparison ---- */

/* y [rows, units] = x [rows, width] kernel + bias (NULL: none). */
static inline void plain_dense(double *y, const double *x, int64_t rows, int64_t width,
                               const double *kernel, const double *bias, int64_t units)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t u = 0; u < units; u++) {
            double sum = bias != NULL ? bias[u] : 0;
            for (int64_t k = 0; k < width; k++)
                sum += x[r * width + k] * kernel[k * units + u];
            y[r * units + u] = sum;
        }
}

static inline void paper_x(double *x)
{
    for (int i = 0; i < PAPER_COUNT * 3; i++)
        x[i] = number(i);
}

static inline void paper_words(double *x)
{
    int64_t at = 0;

    for (int i = 0; i < PAPER_COUNT * 5; i++)
        x[i] = 0;
    for (int i = 0; i < PAPER_COUNT; i++)
        for (int k = 0; k < word_length[i]; k++)
            x[5 * i + word_column[at++]] = 1;
}

#endif
