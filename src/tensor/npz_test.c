/*
 * Archives of arrays: what numpy wrote is read, in either order of its numbers; cut, wrong and
 * hostile ones fail with words.
 */
#include <check.h>

#include <stdio.h>

#include <regimen/tensor.h>

static const char *folder;

/** An archive that grows, and its directory. */
typedef struct archive {
    rgm_text bytes, directory;
    int count;
} archive;

static void put(rgm_text *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        CHECK_OK(rgm_text_add(to, (const char[]){(char)(number >> 8 * i)}, 1));
}

/* A file of the archive; numpy has 20 bytes more behind the name in front of the data. */
static void add(archive *a, const char *name, const void *data, int64_t size, int method)
{
    uint64_t at = (uint64_t)a->bytes.size, length = strlen(name);

    CHECK_OK(rgm_text_add(&a->bytes, "PK\3\4", 4));
    put(&a->bytes, 0, 22);
    put(&a->bytes, length, 2);
    put(&a->bytes, 20, 2);
    CHECK_OK(rgm_text_add(&a->bytes, name, (int64_t)length));
    put(&a->bytes, 0, 20);
    CHECK_OK(rgm_text_add(&a->bytes, data, size));
    CHECK_OK(rgm_text_add(&a->directory, "PK\1\2", 4));
    put(&a->directory, 0, 6);
    put(&a->directory, (uint64_t)method, 2);
    put(&a->directory, 0, 8);
    put(&a->directory, (uint64_t)size, 4);
    put(&a->directory, (uint64_t)size, 4);
    put(&a->directory, length, 2);
    put(&a->directory, 0, 12);
    put(&a->directory, at, 4);
    CHECK_OK(rgm_text_add(&a->directory, name, (int64_t)length));
    a->count++;
}

/* A .npy of a line of Python and numbers. */
static void add_array(archive *a, const char *name, const char *line, const void *data,
                      int64_t size)
{
    rgm_text npy = {0};

    CHECK_OK(rgm_text_add(&npy, "\x93NUMPY\1\0", 8));
    put(&npy, strlen(line), 2);
    CHECK_OK(rgm_text_printf(&npy, "%s", line));
    CHECK_OK(rgm_text_add(&npy, data, size));
    add(a, name, npy.data, npy.size, 0);
    rgm_text_clear(&npy);
}

static void finish(archive *a)
{
    uint64_t at = (uint64_t)a->bytes.size, size = (uint64_t)a->directory.size;

    CHECK_OK(rgm_text_add(&a->bytes, a->directory.data, a->directory.size));
    CHECK_OK(rgm_text_add(&a->bytes, "PK\5\6", 4));
    put(&a->bytes, 0, 4);
    put(&a->bytes, (uint64_t)a->count, 2);
    put(&a->bytes, (uint64_t)a->count, 2);
    put(&a->bytes, size, 4);
    put(&a->bytes, at, 4);
    put(&a->bytes, 0, 2);
}

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

static void clear(archive *a)
{
    rgm_text_clear(&a->bytes);
    rgm_text_clear(&a->directory);
}

static const float numbers[6] = {1, -2, 3.5F, 0, 5, 6e20F};
#define LINE(type, order, shape)                                                                   \
    "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }\n"

static archive sound(void)
{
    static const double doubles[2] = {0.1, 2};
    static const int64_t whole[3] = {-1, 1LL << 40, 7};
    archive a = {.count = 0};

    add_array(&a, "rows.npy", LINE("<f4", "False", "(2, 3)"), numbers, 24);
    add_array(&a, "columns.npy", LINE("<f4", "True", "(3,2,)"), numbers, 24);
    add_array(&a, "special:model.yml.npy", LINE("|i1", "False", "(5,)"), "a: 1", 5);
    add_array(&a, "doubles.npy", LINE("<f8", "False", "(2,)"), doubles, 16);
    add_array(&a, "whole.npy", LINE("<i8", "True", "(3,)"), whole, 24);
    add_array(&a, "one.npy", LINE("<i4", "False", "()"), "\5\0\0\0", 4);
    add_array(&a, "none.npy", LINE("|b1", "False", "(0, 4)"), "", 0);
    finish(&a);
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
    CHECK_INT(7, rgm_npz_count(file));
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
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_npz_get(&t, file, "rows.npy"));
    CHECK_MESSAGE("no array 'rows.npy' among its 7");
    rgm_npz_close(file);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_npz_open(&file, "/nowhere/x.npz"));
    clear(&a);
}

/* An archive of one array; what is wrong with it. */
static void refuse(const char *line, const void *data, int64_t size, rgm_status status,
                   const char *message)
{
    archive a = {.count = 0};
    rgm_tensor *t;
    rgm_npz *file;

    add_array(&a, "x.npy", line, data, size);
    finish(&a);
    CHECK_OK(rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)));
    CHECK_STATUS(status, rgm_npz_get(&t, file, "x"));
    CHECK_MESSAGE(message);
    CHECK(t == NULL);
    rgm_npz_close(file);
    clear(&a);
}

static void arrays_that_are_none_are_refused(void **state)
{
    (void)state;
    refuse(LINE("<f2", "False", "(2,)"), "1234", 4, RGM_ERR_DTYPE,
           "'x' has numbers of the type <f2");
    refuse(LINE(">f4", "False", "(1,)"), "1234", 4, RGM_ERR_DTYPE, "the type >f4");
    refuse(LINE("<f4", "False", "(2,)"), "1234", 4, RGM_ERR_FORMAT, "not that of its numbers");
    refuse(LINE("<f4", "False", "(999999999999999999, 99999999999)"), "1234", 4, RGM_ERR_FORMAT,
           "larger than its numbers");
    refuse(LINE("<f4", "False", "(1,1,1,1,1,1,1)"), "1234", 4, RGM_ERR_FORMAT, "up to six sizes");
    refuse(LINE("<f4", "False", "(-1,)"), "1234", 4, RGM_ERR_FORMAT, "up to six sizes");
    refuse(LINE("<f4", "True", "(1,1,1)"), "1234", 4, RGM_ERR_UNSUPPORTED, "3 axes in Fortran's");
    refuse(LINE("<f4", "Maybe", "(1,)"), "1234", 4, RGM_ERR_FORMAT, "in which order");
    refuse("{'descr': '<f4', 'fortran_order': False}", "1234", 4, RGM_ERR_FORMAT, "no shape");
    refuse("{'descr': '", "1234", 4, RGM_ERR_FORMAT, "of what type");
    refuse("", "1234", 4, RGM_ERR_FORMAT, "of what type");
    refuse("{'descr': '|b1', 'fortran_order': False, 'shape': (1", "\1", 1, RGM_ERR_FORMAT,
           "up to six sizes");
    refuse(LINE("|b1", "False", "(1,)"), "\7", 1, RGM_ERR_FORMAT, "neither 0 nor 1");
}

static void archives_that_are_none_are_refused(void **state)
{
    archive a = {.count = 0};
    rgm_npz *file;

    (void)state;
    add(&a, "x.npy", "123456789", 9, 8);
    finish(&a);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)));
    CHECK_MESSAGE("'x' is compressed, as savez_compressed() does");
    clear(&a);
    a = (archive){.count = 0};
    add(&a, "x.txt", "123456789", 9, 0);
    finish(&a);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)));
    CHECK_MESSAGE("a file that is no .npy");
    clear(&a);
    a = (archive){.count = 0};
    add(&a, "x.npy", "", 0, 0);
    add(&a, "x.npy", "", 0, 0);
    finish(&a);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_npz_open(&file, save(a.bytes.data, a.bytes.size)));
    CHECK_MESSAGE("two arrays are called 'x'");
    clear(&a);
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
    clear(&a);
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
    clear(&a);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(arrays_are_read_by_name), cmocka_unit_test(arrays_that_are_none_are_refused),
      cmocka_unit_test(archives_that_are_none_are_refused),
      cmocka_unit_test(cut_and_damaged_archives_fail_or_work),
      cmocka_unit_test(every_failing_allocation_is_reported))
