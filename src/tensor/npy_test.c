/*
 * Tensors in numpy's format: the header to the byte, as format 1.0 describes it; dtypes that numpy
 * lacks; failing allocations.
 */
#include <check.h>
#include <regimen/tensor.h>

static void a_file_is_what_numpy_reads(void **state)
{
    const char *folder = check_folder();
    const float numbers[6] = {0, 1, 2, 3, 4, 5.5f};
    char path[128], *data;
    rgm_tensor *t = NULL;
    int64_t size;

    (void)state;
    snprintf(path, sizeof path, "%s/x.npy", folder);
    CHECK_OK(rgm_tensor_create_from(&t, RGM_F32, 2, (int64_t[]){2, 3}, numbers));
    CHECK_OK(rgm_npy_save(path, t));
    CHECK_OK(rgm_npy_save(path, t)); /* replacing the first */
    CHECK_OK(rgm_file_load(&data, &size, path, 1000));
    CHECK_INT(128 + 24, size);
    CHECK(memcmp(data, "\x93NUMPY\x01\x00\x76\x00", 10) == 0);
    CHECK(memcmp(data + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3,), }", 59) ==
          0);
    for (int i = 69; i < 127; i++)
        CHECK(data[i] == ' ');
    CHECK(data[127] == '\n' && memcmp(data + 128, numbers, 24) == 0);
    rgm_free(data);
    CHECK_EVERY_OOM(rgm_npy_save(path, t), (void)0);
    rgm_tensor_release(t);
    CHECK_OK(rgm_folder_remove(folder));
}

static void texts_are_refused(void **state)
{
    rgm_tensor *t = NULL;

    (void)state;
    CHECK_OK(rgm_tensor_create(&t, RGM_STRING, 1, (int64_t[]){1}));
    CHECK_STATUS(RGM_ERR_DTYPE, rgm_npy_save("/nowhere/x.npy", t));
    CHECK_MESSAGE("/nowhere/x.npy: numpy has no string");
    rgm_tensor_release(t);
    CHECK_OK(rgm_tensor_create(&t, RGM_F64, 1, (int64_t[]){1}));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_npy_save("/nowhere/x.npy", t));
    rgm_tensor_release(t);
}

TESTS(cmocka_unit_test(a_file_is_what_numpy_reads), cmocka_unit_test(texts_are_refused))
