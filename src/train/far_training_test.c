/*
 * Training on a device whose memory is not the host's: every trainer ends with the bits that it has
 * on the CPU.
 */
#include "far_device_check.h"
#include <train_check.h>

static int open_far(void **state)
{
    (void)state;
    far_open();
    return 0;
}

static int shut_far(void **state)
{
    (void)state;
    far_close();
    return 0;
}

/* Two trainers of one setup, on the CPU and on the device. */
typedef struct pair {
    plane_setup setup[2];
    rgm_trainer *trainer[2];
} pair;

static void open_pair(pair *p, const plane_setup *setup)
{
    for (int i = 0; i < 2; i++) {
        p->setup[i] = *setup;
        p->setup[i].options.device = i == 0 ? NULL : far.device;
        CHECK_OK(open_plane(&p->trainer[i], &p->setup[i]));
    }
}

static void shut_pair(pair *p)
{
    for (int i = 0; i < 2; i++)
        rgm_trainer_release(p->trainer[i]);
}

static void a_training_has_the_bits_of_the_cpu(void **state)
{
    plane_setup setup = make_plane_setup();
    pair p;

    (void)state;
    open_pair(&p, &setup);
    for (int i = 0; i < 2; i++)
        train_steps(p.trainer[i], 9);
    CHECK(atomic_load(&far.calls) > 50);
    check_same_trainer("sgd", p.trainer[0], p.trainer[1]);
    shut_pair(&p);
    clear_plane(&setup.data);
}

#define FAR(test) cmocka_unit_test_setup_teardown(test, open_far, shut_far)
TESTS(FAR(a_training_has_the_bits_of_the_cpu))
