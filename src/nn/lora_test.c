/*
 * Low-rank adapters: a model begins with the values that it had, only adapters learn, and weights
 * with their adapters in them give the same values without any.
 */
#include <check.h>
#include <regimen/nn.h>

enum { ROWS = 3, WIDTH = 4, UNITS = 5 };

typedef struct net {
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_value *x, *y;
    rgm_parameters *parameters;
} net;

static void build(net *n, const rgm_lora_options *lora)
{
    *n = (net){0};
    CHECK_OK(rgm_cgraph_create(&n->graph));
    CHECK_OK(rgm_scope_create(&n->scope, n->graph, RGM_F32));
    if (lora != NULL)
        rgm_scope_adapt(n->scope, lora);
    n->x = rgm_input(n->graph, "x", RGM_F32, 2, (rgm_dim[]){ROWS, WIDTH});
    n->y = rgm_dense(rgm_scope_enter(n->scope, "first"), "query", n->x, UNITS);
    n->y = rgm_dense(rgm_scope_enter(n->scope, "first"), "value", rgm_tanh(n->y), UNITS);
    CHECK_OK(rgm_cgraph_status(n->graph));
    CHECK_OK(rgm_parameters_create(&n->parameters, n->graph, 4));
}

static void close_net(net *n)
{
    rgm_parameters_release(n->parameters);
    rgm_scope_release(n->scope);
    rgm_cgraph_release(n->graph);
}

static void run(float out[ROWS * UNITS], const net *n, const rgm_parameters *parameters)
{
    rgm_executor *executor;
    rgm_tensor *x, *fetched;
    rgm_feed feed = {.input = n->x};

    CHECK_OK(rgm_tensor_create(&x, RGM_F32, 2, (int64_t[]){ROWS, WIDTH}));
    for (int i = 0; i < ROWS * WIDTH; i++)
        rgm_tensor_f32(x)[i] = sinf((float)i);
    feed.tensor = x;
    CHECK_OK(rgm_executor_create(&executor, n->graph, (rgm_value *[]){n->y}, 1, NULL));
    CHECK_OK(rgm_executor_run(executor, &fetched, parameters, &feed, 1, 0, 0));
    memcpy(out, rgm_tensor_f32(fetched), ROWS * UNITS * sizeof *out);
    rgm_executor_release(executor);
    rgm_tensor_release(x);
}

static const rgm_lora_options *options_of(const char *const *targets, int64_t count)
{
    static rgm_lora_options o;

    o = (rgm_lora_options){.rank = 2, .alpha = 6, .targets = {targets, count}};
    return &o;
}

static void only_adapters_learn(void **state)
{
    static const char *const targets[] = {"query"};
    net n;

    (void)state;
    build(&n, options_of(targets, 1));
    CHECK_OK(rgm_scope_adapt_check(n.scope));
    CHECK_INT(6, rgm_parameters_count(n.parameters));
    for (int64_t i = 0; i < 6; i++) {
        const char *name = rgm_parameters_name(n.parameters, i);
        CHECK(rgm_parameters_trainable(n.parameters, i) == (strstr(name, "/lora_") != NULL));
    }
    CHECK(rgm_parameters_find(n.parameters, "first/query/lora_a") != NULL);
    CHECK(rgm_parameters_find(n.parameters, "first/value/lora_a") == NULL);
    close_net(&n);
}

static void a_target_that_is_no_layer_is_told(void **state)
{
    static const char *const targets[] = {"first/val*", "key"};
    net n;

    (void)state;
    build(&n, options_of(targets, 1));
    CHECK_OK(rgm_scope_adapt_check(n.scope));
    CHECK(rgm_parameters_find(n.parameters, "first/value/lora_b") != NULL);
    close_net(&n);
    build(&n, options_of(targets, 2));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_scope_adapt_check(n.scope));
    CHECK_MESSAGE("no layer with a kernel is called 'key'");
    close_net(&n);
}

static void merged_weights_give_the_same_values(void **state)
{
    net adapted, plain;
    rgm_parameters *merged = NULL;
    float first[ROWS * UNITS], second[ROWS * UNITS];
    rgm_tensor *b;

    (void)state;
    build(&plain, NULL);
    build(&adapted, options_of(NULL, 0));
    CHECK_OK(rgm_lora_merge(&merged, plain.graph, adapted.parameters, options_of(NULL, 0)));
    run(first, &adapted, adapted.parameters);
    run(second, &plain, merged); /* lora_b is zeros */
    for (int i = 0; i < ROWS * UNITS; i++)
        CHECK_CLOSE(first[i], second[i], 0, 0);
    rgm_parameters_release(merged);
    b = rgm_parameters_find(adapted.parameters, "first/query/lora_b");
    for (int64_t i = 0; i < rgm_tensor_count(b); i++)
        rgm_tensor_f32(b)[i] = cosf((float)i);
    rgm_parameters_touch(adapted.parameters);
    run(second, &adapted, adapted.parameters);
    CHECK(memcmp(first, second, sizeof first) != 0);
    CHECK_OK(rgm_lora_merge(&merged, plain.graph, adapted.parameters, options_of(NULL, 0)));
    run(first, &plain, merged);
    for (int i = 0; i < ROWS * UNITS; i++)
        CHECK_CLOSE(first[i], second[i], 1e-5, 1e-6);
    rgm_parameters_release(merged);
    CHECK_EVERY_OOM(rgm_lora_merge(&merged, plain.graph, adapted.parameters, options_of(NULL, 0)),
                    rgm_parameters_release(merged));
    CHECK_STATUS(RGM_ERR_SHAPE,
                 rgm_lora_merge(&merged, adapted.graph, plain.parameters, options_of(NULL, 0)));
    CHECK(merged == NULL);
    close_net(&plain);
    close_net(&adapted);
}

/* What a file may have that was not made here: adapters of one side, of another rank, of no layer.
 */
static void adapters_that_change_nothing_are_told(void **state)
{
    static const struct {
        const char *name, *message;
        int64_t rows, columns;
    } cases[] = {{"first/query/lora_a", "'first/query/kernel' has no lora_b", WIDTH, 2},
                 {"first/query/lora_b", "'first/query/kernel' has no lora_a", 2, UNITS},
                 {"last/query/lora_b", "'last/query/lora_b' is of no kernel", 2, UNITS}};
    rgm_parameters *merged = NULL;
    net plain, adapted;

    (void)state;
    build(&plain, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        net one;

        build(&one, NULL);
        rgm_parameters_release(one.parameters);
        rgm_parameter(one.graph, cases[i].name, RGM_F32, 2,
                      (int64_t[]){cases[i].rows, cases[i].columns}, (rgm_init){RGM_INIT_ZEROS, 0});
        CHECK_OK(rgm_parameters_create(&one.parameters, one.graph, 4));
        CHECK_STATUS(RGM_ERR_SHAPE,
                     rgm_lora_merge(&merged, plain.graph, one.parameters, options_of(NULL, 0)));
        CHECK_MESSAGE(cases[i].message);
        close_net(&one);
    }
    build(&adapted, options_of(NULL, 0));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_lora_merge(&merged, plain.graph, adapted.parameters,
                                               &(rgm_lora_options){.rank = 3, .alpha = 6}));
    CHECK_MESSAGE("not lora_a and lora_b of rank 3");
    close_net(&adapted);
    close_net(&plain);
}

TESTS(cmocka_unit_test(only_adapters_learn), cmocka_unit_test(a_target_that_is_no_layer_is_told),
      cmocka_unit_test(merged_weights_give_the_same_values),
      cmocka_unit_test(adapters_that_change_nothing_are_told))
