/*
 * Tensors on a device, and which of two copies is newer: counted by the bytes that are copied.
 */
#include "far_device_check.h"
#include <regimen/device_tensor.h>

static rgm_resident make_resident(void)
{
    rgm_resident r = {0};

    CHECK_OK(rgm_tensor_create(&r.host, RGM_F32, 2, (int64_t[]){3, 4}));
    for (int i = 0; i < 12; i++)
        rgm_tensor_f32(r.host)[i] = (float)i;
    return r;
}

/* w -= 1 where the resident is. */
static void move(rgm_resident *r, rgm_device *device)
{
    rgm_sgd_args args = {.count = 12, .rate = 1, .gradient_scale = 1};
    rgm_tensor *ones;
    void *address;

    CHECK_OK(rgm_device_tensor_create(&ones, device, RGM_F32, 1, (int64_t[]){12}));
    CHECK(rgm_tensor_device(ones) == (rgm_device_is_host(device) ? NULL : device));
    rgm_kernels_for(device, RGM_F32)->fill(&(rgm_fill_args){rgm_tensor_data(ones), 12, 1});
    CHECK_OK(rgm_resident_on(&address, r, device, true));
    args.w = address;
    args.gradient = rgm_tensor_data(ones);
    rgm_kernels_for(device, RGM_F32)->sgd(&args);
    rgm_tensor_release(ones);
}

static void nothing_is_copied_that_is_there(void **state)
{
    rgm_resident r = make_resident();
    int64_t bytes = 48;
    void *address, *again;

    (void)state;
    CHECK_OK(rgm_resident_on(&address, &r, far.device, false));
    CHECK_INT(bytes, far.copied);
    CHECK_OK(rgm_resident_read(&r)); /* both are the same */
    CHECK_INT(bytes, far.copied);
    move(&r, far.device);
    move(&r, far.device);
    CHECK_INT(bytes, far.copied);
    CHECK_OK(rgm_resident_read(&r)); /* the device's is newer */
    CHECK_INT(2 * bytes, far.copied);
    CHECK(rgm_tensor_f32(r.host)[5] == 3);
    CHECK_OK(rgm_resident_on(&again, &r, far.device, false));
    CHECK(again == address);
    CHECK_INT(2 * bytes, far.copied);
    CHECK_OK(rgm_resident_write(&r)); /* the host's is newer */
    rgm_tensor_f32(r.host)[5] = 9;
    move(&r, far.device);
    CHECK_INT(3 * bytes, far.copied);
    move(&r, rgm_device_cpu()); /* where nothing is copied */
    CHECK_INT(4 * bytes, far.copied);
    CHECK(rgm_tensor_f32(r.host)[5] == 7);
    move(&r, far.device);
    CHECK_OK(rgm_resident_read(&r));
    CHECK(rgm_tensor_f32(r.host)[5] == 6 && rgm_tensor_f32(r.host)[0] == -5);
    rgm_resident_release(&r);
    rgm_resident_release(&r);
}

static void what_cannot_be_brought_back_is_no_number(void **state)
{
    rgm_resident r = make_resident();

    (void)state;
    move(&r, far.device);
    far.lost = true;
    CHECK_STATUS(RGM_ERR_IO, rgm_resident_read(&r));
    CHECK(isnan(rgm_tensor_f32(r.host)[0]) && isnan(rgm_tensor_f32(r.host)[11]));
    CHECK_STATUS(RGM_ERR_IO, rgm_resident_write(&r));
    CHECK_STATUS(RGM_ERR_IO, rgm_resident_read(&r)); /* again: the device's is still newer */
    far.lost = false;
    CHECK_OK(rgm_resident_read(&r));
    CHECK(rgm_tensor_f32(r.host)[11] == 10);
    rgm_resident_release(&r);
}

static void copies_are_between_the_host_and_a_device(void **state)
{
    rgm_resident r = make_resident();
    rgm_tensor *there, *view, *back;

    (void)state;
    CHECK_OK(rgm_tensor_copy(&back, r.host));
    memset(rgm_tensor_data(back), 0, 48);
    CHECK_OK(rgm_device_tensor_create(&there, far.device, RGM_F32, 2, (int64_t[]){3, 4}));
    CHECK_OK(rgm_tensor_reshape(&view, there, 1, (int64_t[]){12}));
    CHECK(rgm_tensor_device(view) == far.device && rgm_tensor_device(back) == NULL);
    CHECK_OK(rgm_device_tensor_set(there, r.host));
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_tensor_set(there, view));
    CHECK_OK(rgm_device_tensor_set(back, there));
    CHECK(rgm_tensor_equal(back, r.host));
    memset(rgm_tensor_data(back), 0, 48);
    CHECK_OK(rgm_device_tensor_set(back, r.host));
    CHECK(rgm_tensor_equal(back, r.host));
    rgm_tensor_release(there);
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_tensor_create(&there, far.device, RGM_F32, 9, NULL));
    CHECK(there == NULL);
    rgm_tensor_release(view); /* keeps the memory until here */
    rgm_tensor_release(back);
    rgm_resident_release(&r);
}

/* Two rows of a table of 12 numbers. */
static rgm_tensor *pick_two(rgm_tensor *table)
{
    rgm_tensor *rows, *some;

    CHECK_OK(rgm_tensor_create_from(&rows, RGM_I32, 1, (int64_t[]){2}, (int32_t[]){2, 0}));
    CHECK_OK(rgm_tensor_create(&some, RGM_F32, 2, (int64_t[]){2, 4}));
    rgm_tensor_pick(some, table, rows);
    rgm_tensor_release(rows);
    return some;
}

static void a_table_is_lent_as_far_as_it_fits(void **state)
{
    rgm_resident r = make_resident();
    rgm_tensor *table = r.host, *some, *back;
    int64_t blocks = far.blocks;
    bool stays;

    (void)state;
    CHECK_OK(rgm_device_lend(&stays, far.device, table, 47));
    CHECK(!stays && rgm_tensor_is_lent(table) && rgm_tensor_there(table) == NULL);
    CHECK_INT(blocks, far.blocks);
    CHECK_OK(rgm_device_lend(&stays, far.device, table, 48));
    CHECK(stays && rgm_tensor_device(rgm_tensor_there(table)) == far.device);
    CHECK_OK(rgm_tensor_create(&back, RGM_F32, 2, (int64_t[]){3, 4}));
    CHECK_OK(rgm_device_tensor_set(back, rgm_tensor_there(table)));
    CHECK(rgm_tensor_equal(back, table));
    some = pick_two(table); /* what has no way for rows gets elements */
    CHECK_OK(rgm_device_send(far.device, RGM_DEVICE_COPIES,
                             rgm_tensor_data(rgm_tensor_there(table)), some));
    CHECK_OK(rgm_device_tensor_set(back, rgm_tensor_there(table)));
    CHECK(memcmp(rgm_tensor_f32(back), rgm_tensor_f32(table) + 8, 16) == 0);
    CHECK(memcmp(rgm_tensor_f32(back) + 4, rgm_tensor_f32(table), 16) == 0);
    rgm_tensor_take_back(table);
    CHECK_INT(blocks, far.blocks);
    far.lost = true;
    CHECK_STATUS(RGM_ERR_IO, rgm_device_lend(&stays, far.device, table, 48));
    CHECK(!stays && !rgm_tensor_is_lent(table));
    far.lost = false;
    rgm_tensor_release(some);
    rgm_tensor_release(back);
    rgm_resident_release(&r);
}

static rgm_status make_and_move(void)
{
    rgm_status status = RGM_OK;
    rgm_resident r = {0};
    void *address;

    RGM_GO(rgm_tensor_create(&r.host, RGM_F32, 1, (int64_t[]){5}));
    RGM_GO(rgm_resident_on(&address, &r, far.device, true));
    RGM_GO(rgm_resident_read(&r));
done:
    rgm_resident_release(&r);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(make_and_move(), (void)0);
}

TESTS(FAR(nothing_is_copied_that_is_there), FAR(what_cannot_be_brought_back_is_no_number),
      FAR(a_table_is_lent_as_far_as_it_fits), FAR(copies_are_between_the_host_and_a_device),
      FAR(every_allocation_may_fail))
