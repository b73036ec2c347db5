/*
 * The search on a device that compiles its kernels: the hypotheses of the CPU, and their scores up
 * to rounding; the same bits in two runs, and in batches of any size. REGIMEN_DEVICE=cuda:0 says on
 * which; opencl:0 otherwise.
 */
#include "beam_check.h"
#include "device_check.h"

static rgm_device *device;

static void check_near(const rgm_hypotheses *here, const rgm_hypotheses *there)
{
    for (int64_t i = 0; i < SENTENCES; i++) {
        CHECK_INT(here[i].count, there[i].count);
        for (int64_t k = 0; k < here[i].count; k++) {
            const rgm_hypothesis *x = &here[i].items[k], *y = &there[i].items[k];
            CHECK_INT(x->count, y->count);
            CHECK(x->count == 0 || memcmp(x->ids, y->ids, (size_t)x->count * sizeof *x->ids) == 0);
            CHECK_CLOSE(x->log_probability, y->log_probability, 1e-5, 1e-5);
            CHECK_CLOSE(x->score, y->score, 1e-5, 1e-5);
            CHECK_INT(x->finished, y->finished);
        }
    }
}

static void compare(lab *l, const rgm_beam_search_options *options)
{
    rgm_hypotheses here[SENTENCES], there[SENTENCES], again[SENTENCES];
    rgm_beam_search_options o = *options;
    rgm_beam_search *own = l->search;

    translate(here, l, &o);
    CHECK_OK(rgm_beam_search_create(&l->search, &l->model, l->parameters, device, false));
    translate(there, l, &o);
    check_near(here, there);
    for (o.decode_batch_size = 1; o.decode_batch_size < 4; o.decode_batch_size += 2) {
        translate(again, l, &o);
        check_same(there, again, SENTENCES);
        clear(again);
    }
    rgm_beam_search_release(l->search);
    l->search = own;
    clear(here);
    clear(there);
}

static void hypotheses_are_those_of_the_cpu(void **state)
{
    static const int64_t beams[] = {1, 2, 4};
    lab l;

    (void)state;
    lab_open(&l);
    for (int k = 0; k < 3; k++) {
        rgm_beam_search_options o = plain_options(beams[k]);

        compare(&l, &o);
        o.coverage = 0.5;
        compare(&l, &o);
    }
    lab_close(&l);
}

/* Room for steps grows on the way, and what was kept moves. */
static void so_are_long_ones(void **state)
{
    rgm_beam_search_options o = plain_options(3);
    lab l;

    (void)state;
    lab_open(&l);
    o.end_id = 5;
    o.decode_max_length = MANY_TOKENS;
    compare(&l, &o);
    lab_close(&l);
}

static void so_is_what_is_drawn(void **state)
{
    rgm_beam_search_options o = plain_options(1);
    lab l;

    (void)state;
    lab_open(&l);
    o.sample = true;
    o.seed = 3;
    compare(&l, &o);
    o.top_k = 4;
    compare(&l, &o);
    lab_close(&l);
}

/* Weights are copied there when they have changed. */
static void changed_weights_are_seen(void **state)
{
    rgm_beam_search_options o = plain_options(2);
    lab l;

    (void)state;
    lab_open(&l);
    compare(&l, &o);
    for (int64_t i = 0; i < rgm_tensor_count(rgm_parameters_find(l.parameters, "embedding/table"));
         i++)
        rgm_tensor_f32(rgm_parameters_find(l.parameters, "embedding/table"))[i] *= 0.7F;
    rgm_parameters_touch(l.parameters);
    compare(&l, &o);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hypotheses_are_those_of_the_cpu), cmocka_unit_test(so_are_long_ones),
        cmocka_unit_test(so_is_what_is_drawn), cmocka_unit_test(changed_weights_are_seen)};
    int failed;

    device = check_device();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rgm_device_release(device);
    return failed;
}
