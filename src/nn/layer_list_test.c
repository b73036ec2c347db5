/*
 * Networks as lists of layers: the same numbers as the layers written one by one, the same list as
 * words, and what does not fit told with the layer's number and name.
 */
#include <check.h>
#include <regimen/nn_layers.h>

enum { N = 3, H = 6, W = 5, IDS = 4 };

typedef rgm_value *builder(rgm_scope *scope, rgm_value *x, rgm_value *ids);

/* ---- each network by a list and by hand -------------------------------------------------------
 */

static const rgm_layer of_images[] = {
    {.kind = RGM_LAYER_CONV,
     .units = 4,
     .size = {3, 2},
     .padding = RGM_PAD_SAME,
     .activation = RGM_ACT_LEAKY_RELU,
     .l2 = 0.01},
    {.kind = RGM_LAYER_BATCH_NORM, .momentum = 0.9},
    {.kind = RGM_LAYER_POOL, .size = {2}, .mean = true},
    {.kind = RGM_LAYER_CONV, .units = 3, .size = {2}, .stride = {1}, .no_bias = true},
    {.kind = RGM_LAYER_ACTIVATION, .activation = RGM_ACT_ELU},
    {.kind = RGM_LAYER_FLATTEN},
    {.kind = RGM_LAYER_DENSE, .name = "hidden", .units = 7, .activation = RGM_ACT_TANH},
    {.kind = RGM_LAYER_LAYER_NORM},
    {.kind = RGM_LAYER_DROPOUT, .rate = 0.5},
    {.kind = RGM_LAYER_DENSE, .units = 2}};
static const char *const image_words[] = {"conv 4 3x2 leaky_relu padding=same l2=0.01",
                                          "batch_norm momentum=0.9",
                                          "pool 2 mean",
                                          "conv 3 2 stride=1 bias=false",
                                          "activation elu",
                                          "flatten",
                                          "dense 7 tanh",
                                          "layer_norm",
                                          "dropout 0.5",
                                          "dense 2"};

static rgm_value *images_by_list(rgm_scope *scope, rgm_value *x, rgm_value *ids)
{
    (void)ids;
    return rgm_layers(scope, x, of_images, 10);
}

static rgm_value *images_by_words(rgm_scope *scope, rgm_value *x, rgm_value *ids)
{
    rgm_layer layers[RGM_MAX_LAYERS];
    int64_t count;

    (void)ids;
    CHECK_OK(rgm_layers_parse(layers, &count, &(rgm_texts){image_words, 10}));
    CHECK_INT(10, count);
    layers[6].name = "hidden";
    return rgm_layers(scope, x, layers, count);
}

static rgm_value *images_by_hand(rgm_scope *scope, rgm_value *x, rgm_value *ids)
{
    rgm_conv2d_layer_options first = RGM_CONV2D_LAYER_OPTIONS_INIT, second = first;
    rgm_dense_options hidden = RGM_DENSE_OPTIONS_INIT;

    (void)ids;
    first.size[1] = 2;
    first.activation = RGM_ACT_LEAKY_RELU;
    first.slope = 0.2;
    first.l2 = 0.01;
    second.size[0] = second.size[1] = 2;
    second.padding = RGM_PAD_VALID;
    second.bias = false;
    hidden.activation = RGM_ACT_TANH;
    x = rgm_reshape(x, 4, (rgm_dim[]){rgm_value_dim(x, 0), H, W, 1});
    x = rgm_conv2d_layer(scope, "conv_0", x, 4, &first);
    x = rgm_batch_norm(scope, "batch_norm_1", x,
                       &(rgm_batch_norm_options){.momentum = 0.9, .epsilon = 1e-3});
    x = rgm_avg_pool2d(x, NULL);
    x = rgm_conv2d_layer(scope, "conv_3", x, 3, &second);
    x = rgm_as_rows(scope, rgm_elu(x));
    x = rgm_dense_with(scope, "hidden", x, 7, &hidden);
    x = rgm_layer_norm(scope, "layer_norm_7", x);
    x = rgm_dropout(rgm_scope_enter(scope, "dropout_8"), x, 0.5);
    return rgm_dense(scope, "dense_9", x, 2);
}

static rgm_value *words_by_list(rgm_scope *scope, rgm_value *x, rgm_value *ids)
{
    static const char *const words[] = {"embedding 9 5", "dense 4 relu", "global_pool", "dense 2"};
    rgm_layer layers[RGM_MAX_LAYERS];
    int64_t count;

    (void)x;
    CHECK_OK(rgm_layers_parse(layers, &count, &(rgm_texts){words, 4}));
    return rgm_layers(scope, ids, layers, count);
}

static rgm_value *words_by_hand(rgm_scope *scope, rgm_value *x, rgm_value *ids)
{
    rgm_dense_options relu = RGM_DENSE_OPTIONS_INIT;
    rgm_value *y = rgm_reshape(ids, 1, (rgm_dim[]){RGM_INFER});

    (void)x;
    relu.activation = RGM_ACT_RELU;
    y = rgm_embedding(scope, "embedding_0", y, 9, 5);
    y = rgm_reshape(y, 3, (rgm_dim[]){rgm_value_dim(ids, 0), rgm_value_dim(ids, 1), 5});
    y = rgm_dense_with(scope, "dense_1", y, 4, &relu);
    return rgm_dense(scope, "dense_3", rgm_reduce(y, 1, RGM_MEAN), 2);
}

/* ---- runs -------------------------------------------------------------------------------------
 */

static void open_graph(rgm_cgraph **graph, rgm_scope **scope, rgm_value *inputs[2])
{
    rgm_dim n;

    CHECK_OK(rgm_cgraph_create(graph));
    CHECK_OK(rgm_scope_create(scope, *graph, RGM_F32));
    n = rgm_cgraph_symbol(*graph, "n");
    inputs[0] = rgm_input(*graph, "x", RGM_F32, 3, (rgm_dim[]){n, H, W});
    inputs[1] =
        rgm_input(*graph, "ids", RGM_I32, 2, (rgm_dim[]){n, rgm_cgraph_symbol(*graph, "t")});
}

/* [N, 2] and the number of parameters; each run trains, so that dropout and batch statistics are in
 * it, or evaluates. */
static void run(float out[2 * N], int64_t *parameters_made, builder *build, bool training)
{
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_value *inputs[2], *y;
    rgm_tensor *x, *ids, *got;
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_executor_options options = {.training = training};

    open_graph(&graph, &scope, inputs);
    y = build(scope, inputs[0], inputs[1]);
    CHECK_OK(rgm_cgraph_status(graph));
    CHECK_OK(rgm_tensor_create(&x, RGM_F32, 3, (int64_t[]){N, H, W}));
    CHECK_OK(rgm_tensor_create(&ids, RGM_I32, 2, (int64_t[]){N, IDS}));
    for (int i = 0; i < N * H * W; i++)
        rgm_tensor_f32(x)[i] = sinf(1.3f * (float)i);
    for (int i = 0; i < N * IDS; i++)
        rgm_tensor_i32(ids)[i] = i * 5 % 9;
    CHECK_OK(rgm_parameters_create(&parameters, graph, 7));
    CHECK_OK(rgm_executor_create(&executor, graph, &y, 1, &options));
    CHECK_OK(rgm_executor_run(
        executor, &got, parameters,
        (rgm_feed[]){{.input = inputs[0], .tensor = x}, {.input = inputs[1], .tensor = ids}}, 2, 1,
        0));
    CHECK_INT(2 * N, rgm_tensor_count(got));
    memcpy(out, rgm_tensor_f32(got), 2 * N * sizeof *out);
    *parameters_made = rgm_parameters_count(parameters);
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    rgm_tensor_release(x);
    rgm_tensor_release(ids);
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
}

static void a_list_gives_what_its_layers_give(void **state)
{
    static builder *const pairs[][2] = {{images_by_list, images_by_hand},
                                        {images_by_words, images_by_hand},
                                        {words_by_list, words_by_hand}};
    float by_list[2 * N], by_hand[2 * N];
    int64_t made[2];

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int training = 0; training < 2; training++) {
            run(by_list, &made[0], pairs[i][0], training == 1);
            run(by_hand, &made[1], pairs[i][1], training == 1);
            CHECK_INT(made[1], made[0]);
            CHECK(by_hand[0] != 0 && memcmp(by_list, by_hand, sizeof by_list) == 0);
        }
}

/* ---- mistakes ---------------------------------------------------------------------------------
 */

static void check_refused(const char *const *words, int64_t count, bool of_ids, const char *message)
{
    rgm_layer layers[RGM_MAX_LAYERS];
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_value *inputs[2];
    int64_t made;

    CHECK_OK(rgm_layers_parse(layers, &made, &(rgm_texts){words, count}));
    open_graph(&graph, &scope, inputs);
    CHECK(rgm_layers(scope, inputs[of_ids ? 1 : 0], layers, made) == NULL);
    CHECK(rgm_cgraph_status(graph) < 0);
    CHECK_MESSAGE(message);
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
}

static void what_does_not_fit_is_told_by_number_and_name(void **state)
{
    static const struct {
        const char *words[4], *message;
        bool of_ids;
    } cases[] = {
        {{"flatten", "pool 2"},
         "layer 1, pool_1: it takes images [n, rows, columns, channels], "
         "but gets f32[n,30]",
         false},
        {{"conv 2 3", "conv 2 5"},
         "layer 1, conv_1: a window of 5 rows, but its images have 4",
         false},
        {{"pool 2x7"}, "layer 0, pool_0: a window of 7 columns, but its images have 5", false},
        {{"dense 3"},
         "layer 0, dense_0: it takes numbers [n, .., width] whose width is fixed, but "
         "gets i32[n,t]",
         true},
        {{"embedding 3 2", "flatten"},
         "layer 1, flatten_1: it takes numbers [n, ..] whose axes but "
         "the first are fixed, but gets f32[n,t,2]",
         true},
        {{"flatten", "embedding 3 2"}, "layer 1, embedding_1: it takes ids", false},
        {{"conv 1000000000 100000 padding=same l2=0.1", "flatten"},
         "parameter 'conv_0/kernel', f32[100000,100000,1,1000000000], is too large",
         false},
        {{"flatten", "dense 3", "global_pool"}, "layer 2, global_pool_2: it takes", false},
        {{"activation relu"}, "layer 0, activation_0: it takes numbers, but gets i32", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t count = 0;

        while (count < 4 && cases[i].words[count] != NULL)
            count++;
        check_refused(cases[i].words, count, cases[i].of_ids, cases[i].message);
    }
}

static void layers_that_cannot_be_are_refused(void **state)
{
    static const struct {
        rgm_layer layers[2];
        const char *message;
    } cases[] = {
        {{{.kind = RGM_LAYER_FLATTEN}, {.kind = RGM_LAYER_DENSE}}, "layer 1, dense_1: 0 units"},
        {{{.kind = RGM_LAYER_FLATTEN, .name = "dense_1"}, {.kind = RGM_LAYER_DENSE, .units = 1}},
         "layer 1, dense_1: layer 0 has this name, too"},
        {{{.kind = RGM_LAYER_FLATTEN}, {.kind = RGM_LAYER_DROPOUT, .rate = 1}}, "a rate of 1"},
        {{{.kind = RGM_LAYER_POOL}, {.kind = RGM_LAYER_FLATTEN}}, "a window of 0 rows"},
        {{{.kind = RGM_LAYER_KINDS}, {.kind = RGM_LAYER_FLATTEN}}, "layer 0 is of kind 10"},
        {{{.kind = RGM_LAYER_FLATTEN},
          {.kind = RGM_LAYER_ACTIVATION, .activation = RGM_ACT_ELU, .slope = 0.3}},
         "layer 1, activation_1: a slope of 0.3, which leaky_relu alone has"},
        {{{.kind = RGM_LAYER_FLATTEN}, {.kind = RGM_LAYER_DENSE, .units = 1, .slope = 0.5}},
         "a slope of 0.5, which"},
        {{{.kind = RGM_LAYER_FLATTEN},
          {.kind = RGM_LAYER_ACTIVATION, .activation = RGM_ACT_LEAKY_RELU, .slope = -1}},
         "a slope of -1; it is above 0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_cgraph *graph;
        rgm_scope *scope;
        rgm_value *inputs[2];

        open_graph(&graph, &scope, inputs);
        CHECK(rgm_layers(scope, inputs[0], cases[i].layers, 2) == NULL);
        CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(graph));
        CHECK_MESSAGE(cases[i].message);
        rgm_scope_release(scope);
        rgm_cgraph_release(graph);
    }
}

static void words_that_say_no_layer_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"dens 3", "'dens 3': there is no layer 'dens'; did you mean 'dense'?"},
        {"", "an empty layer"},
        {"dense", "'dense' needs a number of units"},
        {"dense 0", "a number of units is 0; it is a whole number from 1 to 1000000000"},
        {"dense 2000000000", "it is a whole number from 1 to 1000000000"},
        {"dense 2.5", "it is a whole number"},
        {"dense three", "a number of units is 'three', no number"},
        {"dense 3 rellu", "there is no activation 'rellu'; did you mean 'relu'?"},
        {"dense 3 relu 4", "'4' is one word too many"},
        {"dense 3 stride=2", "a layer dense has no stride"},
        {"conv 3", "needs the size of its window"},
        {"conv 3 3x", "the size is '', no number"},
        {"conv 3 3 padding=sam", "there is no padding 'sam'; did you mean 'same'?"},
        {"pool 2 men", "there is no way 'men'; did you mean 'mean'?"},
        {"dropout 1", "a rate is in [0, 1)"},
        {"batch_norm momentum=1", "momentum is in (0, 1)"},
        {"flatten 3", "'3' is one word too many"},
        {"activation", "needs the name of an activation"},
        {"dense 3 l3=1", "there is no key 'l3'"},
        {"conv 8 3 relu stride=2 l2=0.1 stride=1",
         "'conv 8 3 relu stride=2 l2=0.1 stride=1': stride is there twice"},
        {"dense 3 leaky_relu slope=0",
         "'dense 3 leaky_relu slope=0': slope is above 0; relu has none"},
    };
    rgm_layer layer, layers[RGM_MAX_LAYERS];
    int64_t count;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_layer_parse(&layer, cases[i][0]));
        CHECK_MESSAGE(cases[i][1]);
    }
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_layers_parse(layers, &count,
                                  &(rgm_texts){(const char *const[]){"flatten", "pol 2"}, 2}));
    CHECK_MESSAGE("layer 1: 'pol 2': there is no layer 'pol'; did you mean 'pool'?");
}

TESTS(cmocka_unit_test(a_list_gives_what_its_layers_give),
      cmocka_unit_test(what_does_not_fit_is_told_by_number_and_name),
      cmocka_unit_test(layers_that_cannot_be_are_refused),
      cmocka_unit_test(words_that_say_no_layer_are_refused))
