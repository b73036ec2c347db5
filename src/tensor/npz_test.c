/*
 * Archives of arrays: what numpy wrote is read, in either order of its numbers; cut, wrong and
 * hostile ones fail with words.
 */
#include "npz_check.h"

#include <stdio.h>

#include <regimen/tensor.h>

static const char *folder;

static const char *save(const void *data, int64_t size)
{
    static char path[256];
    FILE *file;

    if (folder == NULL)
        folder = check_folder();
    snprintf(path, sizeof path, "%s/x.npz", folder);
    file = fopen(path, "wb"); /* thousands of times, so without waiting for the disk */
    CHECK(file != NULL && fwrite(data, 1, (size_t)size, file) == (size_t)size);
    CHECK(fclose(file) == 0);
    return path;
}

static const float numbers[6] = {1, -2, 3.5F, 0, 5, 6e20F};

static archive sound(void)
{
    static const double doubles[2] = {0.1, 2};
    static const int64_t whole[3] = {-1, 1LL << 40, 7};
    archive a = {.count = 0};

    archive_add_array(&a, "rows.npy", NPY_LINE("<f4", "False", "(2, 3)"), numbers, 24);
    archive_add_array(&a, "columns.npy", NPY_LINE("<f4", "True", "(3,2,)"), numbers, 24);
    archive_add_array(&a, "special:model.yml.npy", NPY_LINE("|i1", "False", "(5,)"), "a: 1", 5);
    archive_add_array(&a, "doubles.npy", NPY_LINE("<f8", "False", "(2,)"), doubles, 16);
    archive_add_array(&a, "whole.npy", NPY_LINE("<i8", "True", "(3,)"), whole, 24);
    archive_add_array(&a, "one.npy", NPY_LINE("<i4", "False", "()"), "\5\0\0\0", 4);
    archive_add_array(&a, "none.npy", NPY_LINE("|b1", "False", "(0, 4)"), "", 0);
    archive_add_array(&a, "tall.npy", NPY_LINE("<f4", "True", "(999999999999999999, 0)"), "", 0);
    archive_finish(&a);
    return a;
}

static rgm_tensor *get(const rgm_npz *file, const char *name, const char *described)
{
    char text[64];
    rgm_tensor *t;

    CHECK_OK(rgm_npz_get(&t, file, name));
    CHECK_TEXT(described, rgm_tensor_describe(t, text, sizeof text));
    return t;
}

static void arrays_are_read_by_name(void **state)
{
    archive a = sound();
    rgm_npz *file;
    rgm_tensor *t;

    (void)state;
    CHECK_OK(rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)));
    CHECK_INT(8, rgm_npz_count(file));
    CHECK_TEXT("special:model.yml", rgm_npz_name(file, 2));
    t = get(file, "rows", "f32[2,3]");
    CHECK(memcmp(rgm_tensor_data(t), numbers, sizeof numbers) == 0);
    rgm_tensor_release(t);
    t = get(file, "columns", "f32[3,2]");
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            CHECK(rgm_tensor_f32(t)[2 * i + j] == numbers[3 * j + i]);
    rgm_tensor_release(t);
    t = get(file, "special:model.yml", "i8[5]");
    CHECK_TEXT("a: 1", rgm_tensor_data(t));
    rgm_tensor_release(t);
    rgm_tensor_release(get(file, "doubles", "f64[2]"));
    t = get(file, "whole", "i64[3]");
    CHECK_INT(1LL << 40, rgm_tensor_i64(t)[1]);
    rgm_tensor_release(t);
    rgm_tensor_release(get(file, "one", "i32[]"));
    rgm_tensor_release(get(file, "none", "bool[0,4]"));
    rgm_tensor_release(get(file, "tall", "f32[999999999999999999,0]"));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_npz_get(&t, file, "rows.npy"));
    CHECK_MESSAGE("no array 'rows.npy' among its 8");
    rgm_npz_close(file);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_npz_open(&file, "/nowhere/x.npz"));
    archive_clear(&a);
}

/* An archive of one array; what is wrong with it. */
static void refuse(const char *line, const void *data, int64_t size, rgm_status status,
                   const char *message)
{
    archive a = {.count = 0};
    rgm_tensor *t;
    rgm_npz *file;

    archive_add_array(&a, "x.npy", line, data, size);
    archive_finish(&a);
    CHECK_OK(rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)));
    CHECK_STATUS(status, rgm_npz_get(&t, file, "x"));
    CHECK_MESSAGE(message);
    CHECK(t == NULL);
    rgm_npz_close(file);
    archive_clear(&a);
}

static void arrays_that_are_none_are_refused(void **state)
{
    (void)state;
    refuse(NPY_LINE("<f2", "False", "(2,)"), "1234", 4, RGM_ERR_DTYPE,
           "'x' has numbers of the type <f2");
    refuse(NPY_LINE(">f4", "False", "(1,)"), "1234", 4, RGM_ERR_DTYPE, "the type >f4");
    refuse(NPY_LINE("<f4", "False", "(2,)"), "1234", 4, RGM_ERR_FORMAT, "not that of its numbers");
    refuse(NPY_LINE("<f4", "False", "(999999999999999999, 99999999999)"), "1234", 4, RGM_ERR_FORMAT,
           "larger than its numbers");
    refuse(NPY_LINE("<f4", "False", "(1,1,1,1,1,1,1)"), "1234", 4, RGM_ERR_FORMAT,
           "up to six sizes");
    refuse(NPY_LINE("<f4", "False", "(-1,)"), "1234", 4, RGM_ERR_FORMAT, "up to six sizes");
    refuse(NPY_LINE("<f4", "True", "(1,1,1)"), "1234", 4, RGM_ERR_UNSUPPORTED,
           "3 axes in Fortran's");
    refuse(NPY_LINE("<f4", "Maybe", "(1,)"), "1234", 4, RGM_ERR_FORMAT, "in which order");
    refuse("{'descr': '<f4', 'fortran_order': False}", "1234", 4, RGM_ERR_FORMAT, "no shape");
    refuse("{'descr': '", "1234", 4, RGM_ERR_FORMAT, "of what type");
    refuse("", "1234", 4, RGM_ERR_FORMAT, "of what type");
    refuse("{'descr': '|b1', 'fortran_order': False, 'shape': (1", "\1", 1, RGM_ERR_FORMAT,
           "up to six sizes");
    refuse(NPY_LINE("|b1", "False", "(1,)"), "\7", 1, RGM_ERR_FORMAT, "neither 0 nor 1");
}

static void archives_that_are_none_are_refused(void **state)
{
    archive a = {.count = 0};
    rgm_npz *file;

    (void)state;
    archive_add(&a, "x.npy", "123456789", 9, 8);
    archive_finish(&a);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)));
    CHECK_MESSAGE("'x' is compressed, as savez_compressed() does");
    archive_clear(&a);
    a = (archive){.count = 0};
    archive_add(&a, "x.txt", "123456789", 9, 0);
    archive_finish(&a);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)));
    CHECK_MESSAGE("a file that is no .npy");
    archive_clear(&a);
    a = (archive){.count = 0};
    archive_add(&a, "x.npy", "", 0, 0);
    archive_add(&a, "x.npy", "", 0, 0);
    archive_finish(&a);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)));
    CHECK_MESSAGE("two arrays are called 'x'");
    archive_clear(&a);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_npz_open(&file, save("", 0)));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_npz_open(&file, folder));
    CHECK(file == NULL);
}

/* Whatever is read of a damaged file lies in it. */
static void cut_and_damaged_archives_fail_or_work(void **state)
{
    archive a = sound();
    rgm_npz *file;
    rgm_tensor *t;
    int64_t opened = 0;

    (void)state;
    for (int64_t cut = 0; cut < a.bytes.size; cut += 11) {
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_npz_open(&file, save(a.bytes.data, cut)));
        CHECK(file == NULL);
    }
    for (int64_t i = 0; i < a.bytes.size; i++) {
        a.bytes.data[i] ^= (char)(1 << i % 8);
        if (rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)) == RGM_OK) {
            opened++;
            for (int64_t k = 0; k < rgm_npz_count(file); k++)
                if (rgm_npz_get(&t, file, rgm_npz_name(file, k)) == RGM_OK)
                    rgm_tensor_release(t);
            rgm_npz_close(file);
        }
        a.bytes.data[i] ^= (char)(1 << i % 8);
    }
    CHECK(opened > 0);
    archive_clear(&a);
}

static rgm_status read_all(const char *path)
{
    rgm_status status;
    rgm_npz *file;
    rgm_tensor *t = NULL;

    RGM_TRY(rgm_npz_open(&file, path));
    status = rgm_npz_get(&t, file, "columns");
    rgm_tensor_release(t);
    rgm_npz_close(file);
    return status;
}

static void every_failing_allocation_is_reported(void **state)
{
    archive a = sound();
    const char *path = save(a.bytes.data, a.bytes.size);

    (void)state;
    CHECK_EVERY_OOM(read_all(path), (void)0);
    archive_clear(&a);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(arrays_are_read_by_name), cmocka_unit_test(arrays_that_are_none_are_refused),
      cmocka_unit_test(archives_that_are_none_are_refused),
      cmocka_unit_test(cut_and_damaged_archives_fail_or_work),
      cmocka_unit_test(every_failing_allocation_is_reported))
