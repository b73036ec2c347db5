/*
 * Executors on a device whose memory is not the host's: the same bits as on the CPU for every op
 * and its gradient, in two runs, and nothing but kernels and copies ever touches an element.
 */
#include "far_device_check.h"
#include "op_cases_check.h"
#include <regimen/device_tensor.h>

/* What a fetched value was when it was said to be final, once. */
static void keep_told(int64_t fetch, rgm_tensor *const *fetched, void *payload)
{
    rgm_tensor **told = payload;

    CHECK(told[fetch] == NULL && fetched[fetch] != NULL);
    CHECK_OK(rgm_tensor_copy(&told[fetch], fetched[fetch]));
}

/* Two runs of an executor; the results of the second, to be released. */
static void run_twice(rgm_tensor **results, lab *l, rgm_value *const *fetches, int64_t count,
                      const rgm_executor_options *options, const rgm_parameters *parameters)
{
    rgm_executor *executor;
    rgm_tensor *borrowed[LAB_MAX], *told[LAB_MAX] = {NULL};

    CHECK_OK(rgm_executor_create(&executor, l->graph, fetches, count, options));
    CHECK(rgm_executor_device(executor) ==
          (options->device != NULL ? options->device : rgm_device_cpu()));
    CHECK_OK(rgm_executor_run(executor, borrowed, parameters, l->feeds, l->count, 3, 5));
    rgm_executor_watch_fetches(executor, keep_told, told);
    CHECK_OK(rgm_executor_run(executor, borrowed, parameters, l->feeds, l->count, 3, 5));
    for (int64_t i = 0; i < count; i++) {
        CHECK_OK(rgm_tensor_copy(&results[i], borrowed[i]));
        if (told[i] == NULL || !rgm_tensor_equal(told[i], results[i]))
            fail_msg("fetch %d was %s", (int)i, told[i] == NULL ? "not told of" : "not final");
        rgm_tensor_release(told[i]);
    }
    rgm_executor_release(executor);
}

static void check_same(const char *what, lab *l, rgm_value *const *fetches, int64_t count,
                       rgm_executor_options options, const rgm_parameters *parameters)
{
    rgm_tensor *here[LAB_MAX], *there[LAB_MAX];

    run_twice(here, l, fetches, count, &options, parameters);
    options.device = far.device;
    run_twice(there, l, fetches, count, &options, parameters);
    for (int64_t i = 0; i < count; i++) {
        if (!rgm_tensor_equal(here[i], there[i]))
            fail_msg("%s: fetch %d has other bits on the device", what, (int)i);
        rgm_tensor_release(here[i]);
        rgm_tensor_release(there[i]);
    }
}

/* The value of a case and its gradients; false: there is no such variant. */
static bool case_check(int c, int variant, rgm_dtype dtype, rgm_executor_options options)
{
    rgm_value *wrt[LAB_MAX] = {NULL}, *fetches[LAB_MAX];
    char what[64];
    int64_t n = 0;
    lab l;

    lab_open(&l, dtype);
    rgm_value *y = cases[c].build(&l, variant);
    CHECK_OK(rgm_cgraph_status(l.graph));
    if (y == NULL) {
        lab_close(&l);
        return false;
    }
    fetches[0] = y;
    rgm_value *loss = lab_loss(&l, y);
    if (loss == NULL) { /* a cast to the other dtype */
        lab_close(&l);
        return true;
    }
    for (int64_t i = 0; i < l.count; i++)
        if (l.differentiable[i])
            wrt[n++] = l.feeds[i].input;
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, loss, wrt, n));
    snprintf(what, sizeof what, "%s, variant %d", cases[c].op, variant);
    check_same(what, &l, fetches, n + 1, options, NULL);
    lab_close(&l);
    return true;
}

static void every_op_and_gradient_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (int variant = 0;
             case_check(c, variant, RGM_F32, (rgm_executor_options){.training = true}); variant++)
            continue;
    CHECK(atomic_load(&far.calls) > 1000 && far.copied > 100000);
}

static void so_has_each_without_passes_and_in_double(void **state)
{
    rgm_executor_options plain = {.no_fusion = true}, eager = {.eager = true};

    (void)state;
    for (int c = 0; c < CASES; c++)
        for (int variant = 0; case_check(c, variant, RGM_F64, variant % 2 ? plain : eager);
             variant++)
            continue;
}

/* Two executors of the device keep packed weights together, but not with one of the CPU. */
static void keep_packed_together(lab *l, rgm_value *fetch, const rgm_parameters *parameters)
{
    rgm_executor_options options = {.inference = true};
    rgm_executor *here, *executors[2] = {NULL};
    rgm_tensor *want, *got;

    CHECK_OK(rgm_executor_create(&here, l->graph, &fetch, 1, &options));
    options.device = far.device;
    options.packed_with = here;
    CHECK_STATUS(RGM_ERR_ARG, rgm_executor_create(&executors[0], l->graph, &fetch, 1, &options));
    CHECK_MESSAGE("executors that keep packed weights together are of one device");
    CHECK_OK(rgm_executor_run(here, &want, parameters, l->feeds, l->count, 0, 0));
    options.packed_with = NULL;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rgm_executor_create(&executors[i], l->graph, &fetch, 1, &options));
        options.packed_with = executors[i];
        CHECK_OK(rgm_executor_run(executors[i], &got, parameters, l->feeds, l->count, 0, 0));
        CHECK(rgm_tensor_equal(want, got));
    }
    rgm_executor_release(executors[0]);
    CHECK_OK(rgm_executor_run(executors[1], &got, parameters, l->feeds, l->count, 0, 0));
    CHECK(rgm_tensor_equal(want, got));
    rgm_executor_release(executors[1]);
    rgm_executor_release(here);
}

/* Two layers with packed weights, in bf16, behind dropout and a gather. */
static void parameters_packed_weights_and_bf16_work(void **state)
{
    lab l;
    rgm_parameters *parameters;
    rgm_value *fetches[2];

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x =
        rgm_gather(lab_input(&l, 2, (int64_t[]){300, 64}), lab_index(&l, RGM_I32, 200, 300));
    for (int i = 0; i < 2; i++) {
        rgm_value *w = rgm_parameter(l.graph, i == 0 ? "v" : "w", RGM_F32, 2, (int64_t[]){64, 64},
                                     (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
        x = rgm_dropout_op(rgm_relu(rgm_matmul(x, w)), 0.5, NULL);
    }
    fetches[0] = rgm_sum(rgm_square(x));
    CHECK_OK(rgm_cgraph_status(l.graph));
    CHECK_OK(rgm_parameters_create(&parameters, l.graph, 1));
    fetches[1] = rgm_cgraph_parameter(l.graph, 1); /* a leaf that is fetched */
    for (int i = 0; i < 4; i++)
        check_same("two layers", &l, fetches, 2,
                   (rgm_executor_options){.bf16 = i & 1, .inference = i & 2, .training = !(i & 2)},
                   parameters);
    keep_packed_together(&l, fetches[0], parameters);
    rgm_parameters_release(parameters);
    lab_close(&l);
}

/* An op of a program's own, which works on the host. */
static rgm_status twice_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                              const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    *out = (rgm_op_shape){
        .dtype = rgm_value_dtype(in[1]), .rank = 1, .shape = {rgm_value_dim(in[1], 0)}};
    return RGM_OK;
}

static size_t twice_scratch(const rgm_view *in, int inputs, const rgm_view *out,
                            const rgm_attributes *attributes)
{
    (void)in, (void)inputs, (void)attributes;
    return (size_t)out->shape[0] * sizeof(float);
}

/* y[i] = 2 x[i] + the row of entry i as the pattern is seen. */
static rgm_status twice_forward(rgm_op_run *run)
{
    const float *x = run->in[1].data;
    float *y = run->out->data, *scratch = run->scratch;

    for (int64_t i = 0; i < run->out->shape[0]; i++) {
        scratch[i] = 2 * x[i];
        y[i] = scratch[i] + (float)run->in[0].row_of[i];
    }
    return RGM_OK;
}

static void an_op_that_works_on_the_host_gets_copies(void **state)
{
    static const rgm_op_type twice = {.name = "twice",
                                      .arity = 2,
                                      .infer = twice_infer,
                                      .forward = twice_forward,
                                      .no_gradient = "a test's",
                                      .scratch = twice_scratch,
                                      .on_host = true};
    rgm_value *in[2], *fetches[2];
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *p = lab_pattern(&l, 5, 5, 12);
    in[1] = lab_input(&l, 1, (int64_t[]){12});
    for (int i = 0; i < 2; i++) {
        in[0] = i == 0 ? p : rgm_transpose_pattern(p);
        fetches[i] = rgm_op(l.graph, &twice, in, 2, NULL);
        fetches[i] = rgm_pool_rows(
            rgm_add_self_loops(in[0]),
            rgm_concat((rgm_value *[]){fetches[i], rgm_slice(in[1], 0, 0, 5)}, 2, 0), RGM_SUM);
    }
    CHECK_OK(rgm_cgraph_status(l.graph));
    check_same("an op of the host", &l, fetches, 2, (rgm_executor_options){0}, NULL);
    lab_close(&l);
}

/* The flag is read when the run is done; the error is the CPU's, and the next run begins anew. */
static void an_index_outside_is_told_by_the_op_that_asked(void **state)
{
    char message[2][256];
    rgm_executor *executor;
    rgm_tensor *fetched;
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){4, 3});
    rgm_value *index = lab_index(&l, RGM_I64, 6, 4), *labels = lab_index(&l, RGM_I32, 6, 3);
    rgm_value *y = rgm_sum(rgm_softmax_cross_entropy(rgm_gather(x, index), labels));
    for (int i = 0; i < 2; i++) {
        rgm_executor_options options = {.device = i == 0 ? NULL : far.device};
        CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, &options));
        rgm_tensor_i64(l.feeds[1].tensor)[4] = INT64_C(1) << 40;
        rgm_tensor_i32(l.feeds[2].tensor)[2] = -7; /* the first op to fail is named */
        CHECK_STATUS(RGM_ERR_DATA,
                     rgm_executor_run(executor, &fetched, NULL, l.feeds, l.count, 1, 1));
        snprintf(message[i], sizeof message[i], "%s", rgm_error_message());
        rgm_tensor_i64(l.feeds[1].tensor)[4] = 1;
        CHECK_STATUS(RGM_ERR_DATA,
                     rgm_executor_run(executor, &fetched, NULL, l.feeds, l.count, 1, 1));
        CHECK_MESSAGE("label[2] is -7, classes are 0..2");
        rgm_tensor_i32(l.feeds[2].tensor)[2] = 1;
        CHECK_OK(rgm_executor_run(executor, &fetched, NULL, l.feeds, l.count, 1, 1));
        rgm_executor_release(executor);
    }
    CHECK_TEXT(message[0], message[1]);
    CHECK(strstr(message[0], "index[4] is 1099511627776, there are 4 rows") != NULL);
    lab_close(&l);
}

static bool refuses;

static rgm_status refuses_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    *out = (rgm_op_shape){
        .dtype = rgm_value_dtype(in[0]), .rank = 1, .shape = {rgm_value_dim(in[0], 0)}};
    return RGM_OK;
}

static rgm_status refuses_forward(rgm_op_run *run)
{
    memcpy(run->out->data, run->in[0].data, (size_t)run->out->shape[0] * sizeof(float));
    return refuses ? RGM_FAIL(RGM_ERR_ARG, "the op refuses") : RGM_OK;
}

/* Behind an index that is outside an op of the host sees what nobody has computed, and fails: the
 * index is what is told, in each run, and others find the flag down. */
static void a_run_that_fails_early_leaves_no_flag_and_keeps_nothing(void **state)
{
    static const rgm_op_type op = {.name = "refuses",
                                   .arity = 1,
                                   .infer = refuses_infer,
                                   .forward = refuses_forward,
                                   .no_gradient = "a test's",
                                   .on_host = true};
    rgm_executor_options options = {.device = far.device};
    rgm_executor *executor, *other;
    rgm_tensor *fetched;
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x = lab_input(&l, 1, (int64_t[]){4}), *index = lab_index(&l, RGM_I64, 6, 4);
    rgm_value *gathered = rgm_gather(x, index);
    rgm_value *y = rgm_op(l.graph, &op, &gathered, 1, NULL), *z = rgm_sum(rgm_square(x));
    CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, &options));
    rgm_tensor_i64(l.feeds[1].tensor)[4] = 9;
    refuses = true;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(RGM_ERR_DATA,
                     rgm_executor_run(executor, &fetched, NULL, l.feeds, l.count, 1, 1));
        CHECK_MESSAGE("index[4] is 9, there are 4 rows");
        for (int k = 0; k < 4; k++)
            rgm_tensor_f32(l.feeds[0].tensor)[k] = (float)(k + i);
        CHECK_OK(rgm_executor_create(&other, l.graph, &z, 1, &options));
        CHECK_OK(rgm_executor_run(other, &fetched, NULL, l.feeds, l.count, 1, 1));
        CHECK(rgm_tensor_f32(fetched)[0] == (i == 0 ? 14 : 30));
        rgm_executor_release(other);
    }
    rgm_tensor_i64(l.feeds[1].tensor)[4] = 3;
    CHECK_STATUS(RGM_ERR_ARG, rgm_executor_run(executor, &fetched, NULL, l.feeds, l.count, 1, 1));
    CHECK_MESSAGE("the op refuses");
    refuses = false;
    CHECK_OK(rgm_executor_run(executor, &fetched, NULL, l.feeds, l.count, 1, 1));
    CHECK(rgm_tensor_f32(fetched)[4] == 4);
    rgm_executor_release(executor);
    lab_close(&l);
}

/* With eager checks too: what was not computed is not searched for what is not finite. */
static void an_index_outside_is_told_with_eager_checks(void **state)
{
    rgm_executor_options options = {.device = far.device, .eager = true};
    rgm_executor *executor;
    rgm_tensor *fetched;
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){4, 3});
    rgm_value *y = rgm_square(rgm_gather(x, lab_index(&l, RGM_I64, 6, 4)));
    CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, &options));
    rgm_tensor_i64(l.feeds[1].tensor)[4] = 9;
    CHECK_STATUS(RGM_ERR_DATA, rgm_executor_run(executor, &fetched, NULL, l.feeds, l.count, 1, 1));
    CHECK_MESSAGE("index[4] is 9, there are 4 rows");
    rgm_executor_release(executor);
    lab_close(&l);
}

/* What is fed anew is copied anew, patterns and sizes too; what is not finite is named. */
static void other_feeds_and_eager_checks_are_seen(void **state)
{
    rgm_executor_options options = {.device = far.device, .eager = true};
    rgm_executor *executor;
    rgm_tensor *fetched;
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    l.symbolic = true;
    rgm_value *p = lab_pattern(&l, 3, 3, 7);
    rgm_value *y = rgm_log(rgm_spmm(p, lab_positive(&l, 2, (int64_t[]){3, 2}), NULL));
    CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, &options));
    for (int64_t n = 3; n < 6; n++) {
        rgm_feed feeds[2] = {l.feeds[0], l.feeds[1]};
        int64_t ends[2][5] = {{0, 1, 2, 3, 4}, {n - 1, 0, 1, 2, 3}};
        CHECK_OK(rgm_pattern_create(&feeds[0].pattern, n, n, n, ends[0], ends[1]));
        CHECK_OK(rgm_tensor_create(&feeds[1].tensor, RGM_F32, 2, (int64_t[]){n, 2}));
        for (int64_t i = 0; i < 2 * n; i++)
            rgm_tensor_f32(feeds[1].tensor)[i] = (float)(i + 1);
        CHECK_OK(rgm_executor_run(executor, &fetched, NULL, feeds, 2, 1, 1));
        CHECK_CLOSE(log(2.0 * (double)n - 1), rgm_tensor_f32(fetched)[0], 1e-6, 0);
        rgm_tensor_f32(feeds[1].tensor)[3] = 0; /* row 2 reads it */
        CHECK_STATUS(RGM_ERR_NUMERIC, rgm_executor_run(executor, &fetched, NULL, feeds, 2, 1, 1));
        CHECK_MESSAGE("op log gave");
        CHECK_MESSAGE("infinity at element 5");
        rgm_pattern_release(feeds[0].pattern);
        rgm_tensor_release(feeds[1].tensor);
    }
    rgm_executor_release(executor);
    lab_close(&l);
}

/* y = x w, and a state that counts: w's gradient and the state's next value stay on the device. */
typedef struct stayer {
    lab l;
    rgm_value *fetches[3]; /* y, dw, the next state */
    rgm_parameters *parameters;
    rgm_executor *executor;
} stayer;

static void open_stayer(stayer *t)
{
    static const bool stays[] = {false, true, true};
    rgm_executor_options options = {.device = far.device, .stays = stays, .fixed_feeds = true};

    lab_open(&t->l, RGM_F32);
    rgm_value *x = lab_input(&t->l, 2, (int64_t[]){4, 3});
    rgm_value *w = rgm_parameter(t->l.graph, "w", RGM_F32, 2, (int64_t[]){3, 2},
                                 (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
    rgm_value *runs =
        rgm_state(t->l.graph, "runs", RGM_F32, 0, NULL, (rgm_init){RGM_INIT_ZEROS, 0});
    t->fetches[0] = rgm_matmul(x, w);
    t->fetches[2] = rgm_shift(runs, 1);
    rgm_cgraph_update(t->l.graph, runs, t->fetches[2]);
    CHECK_OK(rgm_cgraph_gradients(&t->fetches[1], rgm_sum(t->fetches[0]), &w, 1));
    CHECK_OK(rgm_parameters_create(&t->parameters, t->l.graph, 1));
    CHECK_OK(rgm_executor_create(&t->executor, t->l.graph, t->fetches, 3, &options));
}

static void run_stayer(stayer *t, rgm_tensor *fetched[3])
{
    CHECK_OK(rgm_executor_run(t->executor, fetched, t->parameters, t->l.feeds, t->l.count, 1, 1));
    CHECK(rgm_tensor_device(fetched[0]) == NULL && rgm_tensor_device(fetched[1]) == far.device);
    CHECK_OK(rgm_parameters_update(t->parameters, t->l.graph, fetched + 2));
}

static void shut_stayer(stayer *t)
{
    rgm_executor_release(t->executor);
    rgm_parameters_release(t->parameters);
    lab_close(&t->l);
}

/* A run copies what is new: y (32 bytes) and the flag back, and w (24) only when it has changed. */
static void parameters_gradients_and_states_stay(void **state)
{
    const int64_t y = 32, w = 24, flag = (int64_t)sizeof(rgm_index_flag);
    rgm_tensor *fetched[3], *gradient;
    int64_t before;
    stayer t;

    (void)state;
    open_stayer(&t);
    run_stayer(&t, fetched);
    for (int i = 0; i < 3; i++) {
        before = far.copied;
        run_stayer(&t, fetched);
        CHECK_INT(before + y + flag, far.copied);
    }
    CHECK(rgm_tensor_f32(rgm_parameters_read(t.parameters, 1))[0] == 4);
    CHECK(rgm_parameters_device(t.parameters) == far.device);
    before = far.copied; /* what is only read stays valid there */
    CHECK(rgm_parameters_read(t.parameters, 0) == rgm_parameters_form(t.parameters, 0));
    run_stayer(&t, fetched);
    CHECK_INT(before + y + flag, far.copied);
    rgm_tensor_f32(rgm_parameters_tensor(t.parameters, 0))[0] = 3;
    rgm_parameters_touch(t.parameters);
    before = far.copied; /* the state is newer there, whatever was touched */
    run_stayer(&t, fetched);
    CHECK_INT(before + w + y + flag, far.copied);
    CHECK_OK(rgm_tensor_copy(&gradient, rgm_parameters_form(t.parameters, 0)));
    CHECK_OK(rgm_device_tensor_set(gradient, fetched[1]));
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)rgm_tensor_f32(t.l.feeds[0].tensor)[3 * i];
    CHECK_CLOSE(sum, rgm_tensor_f32(gradient)[0], 1e-6, 0);
    CHECK(rgm_tensor_f32(rgm_parameters_find(t.parameters, "runs"))[0] == 6);
    rgm_tensor_release(gradient);
    shut_stayer(&t);
}

/* Read where it lies, as what a run has left there; on the CPU it is refused. */
static void a_tensor_of_the_device_is_fed_without_a_copy(void **state)
{
    const int64_t y = 32, flag = (int64_t)sizeof(rgm_index_flag);
    rgm_tensor *fetched[3], *before, *there, *host;
    rgm_executor *here;
    int64_t copied;
    stayer t;

    (void)state;
    open_stayer(&t);
    run_stayer(&t, fetched);
    CHECK_OK(rgm_tensor_copy(&before, fetched[0]));
    host = t.l.feeds[0].tensor;
    CHECK_OK(rgm_device_tensor_create(&there, far.device, RGM_F32, 2, rgm_tensor_shape(host)));
    CHECK_OK(rgm_device_tensor_set(there, host));
    t.l.feeds[0].tensor = there;
    copied = far.copied;
    run_stayer(&t, fetched);
    CHECK_INT(copied + y + flag, far.copied);
    CHECK(rgm_tensor_equal(before, fetched[0]));
    CHECK_OK(rgm_executor_create(&here, t.l.graph, t.fetches, 1, NULL));
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_executor_run(here, fetched, t.parameters, t.l.feeds, t.l.count, 1, 1));
    CHECK_MESSAGE("was fed a tensor of ");
    CHECK_MESSAGE(", and this runs on cpu");
    rgm_executor_release(here);
    t.l.feeds[0].tensor = host;
    run_stayer(&t, fetched);
    CHECK(rgm_tensor_equal(before, fetched[0]));
    rgm_tensor_release(there);
    rgm_tensor_release(before);
    shut_stayer(&t);
}

/* A device tells of a kernel that failed once. Who reads by a function without a status gets NaN,
 * and whoever has one hears of it. */
static void a_fault_that_could_not_be_told_is_told_later(void **state)
{
    rgm_tensor *fetched[3];
    stayer t;

    (void)state;
    open_stayer(&t);
    for (int i = 0; i < 3; i++) {
        run_stayer(&t, fetched);
        far.breaks = 1;
        CHECK(isnan(rgm_tensor_f32(i == 0 ? rgm_parameters_tensor(t.parameters, 1)
                                   : i == 1
                                       ? rgm_parameters_tensors(t.parameters)[1]
                                       : (rgm_tensor *)rgm_parameters_read(t.parameters, 1))[0]));
        CHECK_STATUS(RGM_ERR_NOMEM, i == 1 ? rgm_executor_run(t.executor, fetched, t.parameters,
                                                              t.l.feeds, t.l.count, 1, 1)
                                           : rgm_parameters_to_host(t.parameters));
        CHECK_MESSAGE("parameter 'runs': a kernel of the device far had no memory");
        CHECK_OK(rgm_parameters_to_host(t.parameters)); /* once */
        CHECK(rgm_tensor_f32(rgm_parameters_read(t.parameters, 1))[0] == (float)(i + 1));
    }
    shut_stayer(&t);
}

/* Nothing of a lost device is taken for a value. */
static void lose_device(stayer *t, rgm_parameters *copy)
{
    rgm_tensor *fetched[3];
    rgm_parameters *none;

    run_stayer(t, fetched);
    far.lost = true;
    CHECK_STATUS(RGM_ERR_IO, rgm_parameters_to_host(t->parameters));
    CHECK_MESSAGE("parameter 'runs': the device far is lost");
    CHECK(isnan(rgm_tensor_f32(rgm_parameters_find(t->parameters, "runs"))[0]));
    CHECK_STATUS(RGM_ERR_IO, rgm_parameters_copy(&none, t->parameters));
    CHECK_STATUS(RGM_ERR_IO, rgm_parameters_take(copy, t->parameters));
    CHECK_STATUS(RGM_ERR_IO, rgm_executor_run(t->executor, fetched, t->parameters, t->l.feeds,
                                              t->l.count, 1, 1));
    far.lost = false;
}

/* Copies of parameters are those of the newest values, and so is what the CPU computes with. */
static void values_of_a_device_are_those_that_others_see(void **state)
{
    rgm_tensor *fetched[3];
    rgm_parameters *copy;
    rgm_executor *here;
    rgm_value *next;
    stayer t;

    (void)state;
    open_stayer(&t);
    next = t.fetches[2];
    CHECK_OK(rgm_executor_create(&here, t.l.graph, &next, 1, NULL));
    for (int i = 0; i < 2; i++)
        run_stayer(&t, fetched);
    CHECK_OK(rgm_executor_run(here, fetched, t.parameters, NULL, 0, 1, 1));
    CHECK(rgm_tensor_f32(fetched[0])[0] == 3);
    CHECK_OK(rgm_parameters_copy(&copy, t.parameters));
    run_stayer(&t, fetched);
    CHECK(rgm_tensor_f32(rgm_parameters_read(copy, 1))[0] == 2);
    CHECK_OK(rgm_parameters_take(copy, t.parameters));
    CHECK(rgm_tensor_f32(rgm_parameters_read(copy, 1))[0] == 3);
    CHECK_OK(rgm_parameters_update(t.parameters, t.l.graph, &fetched[2]));
    rgm_parameters_set(t.parameters, rgm_parameters_tensors(copy)); /* newer than what was there */
    run_stayer(&t, fetched);
    CHECK(rgm_tensor_f32(rgm_parameters_tensors(t.parameters)[1])[0] == 4);
    lose_device(&t, copy);
    rgm_executor_release(here);
    rgm_parameters_release(copy);
    shut_stayer(&t);
}

static rgm_status make_and_run(lab *l, rgm_value *y, const rgm_executor_options *options)
{
    rgm_status status = RGM_OK;
    rgm_executor *executor = NULL;
    rgm_tensor *fetched;

    RGM_GO(rgm_executor_create(&executor, l->graph, &y, 1, options));
    RGM_GO(rgm_executor_run(executor, &fetched, NULL, l->feeds, l->count, 1, 1));
done:
    rgm_executor_release(executor);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    rgm_executor_options options = {.device = far.device};
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *p = rgm_add_self_loops(lab_pattern(&l, 6, 6, 9));
    rgm_value *y = rgm_sum(rgm_spmm(p, rgm_shift(lab_input(&l, 2, (int64_t[]){6, 4}), 1), NULL));
    CHECK_OK(rgm_cgraph_status(l.graph));
    CHECK_EVERY_OOM(make_and_run(&l, y, &options), (void)0);
    lab_close(&l);
}

/* The host takes some rows at a time, over what they are made of: a device would wait for each. */
static void a_large_product_is_made_at_once(void **state)
{
    const rgm_executor_options options = {.device = far.device};
    int64_t rows = RGMI_IN_PLACE / 64 + 77, before;
    rgm_executor *executor;
    rgm_tensor *result;
    rgm_value *x, *w, *y;
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    x = lab_input(&l, 2, (int64_t[]){rows, 64});
    w = lab_input(&l, 2, (int64_t[]){64, 64});
    y = rgm_matmul(rgm_exp(x), w);
    y = rgm_relu(rgm_add(rgm_matmul(rgm_relu(x), w), rgm_matmul(y, w)));
    CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, &options));
    before = atomic_load(&far.calls);
    CHECK_OK(rgm_executor_run(executor, &result, NULL, l.feeds, l.count, 3, 5));
    CHECK(atomic_load(&far.calls) - before <= 8); /* exp, relu, three products, relu of the sum */
    rgm_executor_release(executor);
    lab_close(&l);
}

/* Bytes that a run copies, there and back. */
static int64_t copied_of_pattern(lab *l, rgm_value *const *fetches, int64_t count)
{
    const rgm_executor_options options = {.device = far.device};
    rgm_tensor *results[LAB_MAX];
    rgm_executor *executor;
    int64_t before;

    CHECK_OK(rgm_executor_create(&executor, l->graph, fetches, count, &options));
    before = far.copied;
    CHECK_OK(rgm_executor_run(executor, results, NULL, l->feeds, l->count, 3, 5));
    before = far.copied - before;
    rgm_executor_release(executor);
    return before;
}

static void of_a_pattern_what_ops_read_is_copied(void **state)
{
    enum { ROWS = 200, ENTRIES = 5000, INDEX = ENTRIES * 4, STARTS = ROWS * 8, REST = 12000 };
    rgm_value *p, *x, *fetches[2];
    int64_t bytes;
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    p = lab_pattern(&l, ROWS, ROWS, ENTRIES); /* in no order: each direction has `entry` */
    x = lab_input(&l, 2, (int64_t[]){ROWS, 4});
    fetches[0] = rgm_spmm(p, x, NULL);
    bytes = copied_of_pattern(&l, fetches, 1);
    CHECK(bytes >= 2 * INDEX + STARTS && bytes < 2 * INDEX + STARTS + REST);
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, rgm_sum(rgm_mul(fetches[0], fetches[0])), &x, 1));
    bytes = copied_of_pattern(&l, fetches, 2);
    CHECK(bytes >= 2 * (2 * INDEX + STARTS) && bytes < 2 * (2 * INDEX + STARTS) + REST);
    fetches[0] = rgm_sum(rgm_broadcast_rows(p, x));
    bytes = copied_of_pattern(&l, fetches, 1);
    CHECK(bytes >= INDEX && bytes < INDEX + REST);
    lab_close(&l);
}

TESTS(FAR(every_op_and_gradient_has_the_bits_of_the_cpu), FAR(a_large_product_is_made_at_once),
      FAR(of_a_pattern_what_ops_read_is_copied), FAR(so_has_each_without_passes_and_in_double),
      FAR(parameters_packed_weights_and_bf16_work), FAR(an_op_that_works_on_the_host_gets_copies),
      FAR(an_index_outside_is_told_by_the_op_that_asked),
      FAR(a_run_that_fails_early_leaves_no_flag_and_keeps_nothing),
      FAR(an_index_outside_is_told_with_eager_checks), FAR(other_feeds_and_eager_checks_are_seen),
      FAR(parameters_gradients_and_states_stay), FAR(a_tensor_of_the_device_is_fed_without_a_copy),
      FAR(values_of_a_device_are_those_that_others_see),
      FAR(a_fault_that_could_not_be_told_is_told_later), FAR(every_allocation_may_fail))
