/*
 * A folder as bytes: the same files are the same bytes, they come back, and damaged ones are
 * refused without writing outside of the folder.
 */
#include <check.h>

#include "folder_pack.h"

static char folder[128];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", "/dev/shm/regimen-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static const char *in_folder(const char *name)
{
    static char paths[4][600];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Two files, one as long as a block, and an empty folder. */
static void make(const char *name)
{
    char path[300], block[512];

    memset(block, 'x', sizeof block);
    snprintf(path, sizeof path, "%s/a/b", name);
    CHECK_OK(rgm_folder_make(in_folder(path)));
    snprintf(path, sizeof path, "%s/a/short", name);
    CHECK_OK(rgm_file_create(in_folder(path), "\0line\n", 6));
    snprintf(path, sizeof path, "%s/block", name);
    CHECK_OK(rgm_file_create(in_folder(path), block, sizeof block));
}

static void the_same_files_are_the_same_bytes_and_come_back(void **state)
{
    rgm_text first = {0}, second = {0}, third = {0};
    char *data;
    int64_t size;

    (void)state;
    make("one");
    make("two");
    CHECK_OK(rgmi_folder_pack(&first, in_folder("one"), 1000));
    CHECK_OK(rgmi_folder_pack(&second, in_folder("two"), 1000));
    CHECK_INT(4 * 512 + 2 * 512 + 1024, first.size);
    CHECK(first.size == second.size && memcmp(first.data, second.data, (size_t)first.size) == 0);
    CHECK_OK(rgm_folder_make(in_folder("back")));
    CHECK_OK(rgmi_folder_unpack(in_folder("back"), (rgm_str){first.data, first.size}));
    CHECK(rgm_path_is_folder(in_folder("back/a/b")));
    CHECK_OK(rgm_file_load(&data, &size, in_folder("back/a/short"), 100));
    CHECK(size == 6 && memcmp(data, "\0line\n", 6) == 0);
    rgm_free(data);
    CHECK_OK(rgmi_folder_pack(&third, in_folder("back"), 1000));
    CHECK(first.size == third.size && memcmp(first.data, third.data, (size_t)first.size) == 0);
    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_folder_pack(&third, in_folder("one"), 517));
    CHECK_MESSAGE("518 bytes in files, but at most 517 are possible");
    rgm_text_clear(&first);
    rgm_text_clear(&second);
    rgm_text_clear(&third);
}

static rgm_status unpack(const char *data, int64_t size)
{
    if (rgm_path_exists(in_folder("out")))
        CHECK_OK(rgm_folder_remove(in_folder("out")));
    CHECK_OK(rgm_folder_make(in_folder("out")));
    return rgmi_folder_unpack(in_folder("out"), (rgm_str){data, size});
}

/* Another name in the first header, whose sum is made right. */
static void rename_first(char *data, const char *name)
{
    unsigned sum = 8 * ' ';

    memset(data, 0, 100);
    memcpy(data, name, strlen(name));
    for (int k = 0; k < 512; k++)
        sum += k >= 148 && k < 156 ? 0 : (unsigned char)data[k];
    snprintf(data + 148, 7, "%06o", sum);
}

static void damaged_bytes_are_refused(void **state)
{
    static const char *const outside[] = {"../x/", "/x/", "a/../../x/", ".."};
    rgm_text text = {0};

    (void)state;
    make("whole");
    CHECK_OK(rgmi_folder_pack(&text, in_folder("whole"), 1000));
    for (int64_t size = 0; size < text.size; size += 64)
        if (unpack(text.data, size) != RGM_ERR_FORMAT && size < text.size - 512)
            fail_msg("%lld bytes of %lld are taken", (long long)size, (long long)text.size);
    for (int64_t at = 0; at < 512; at += 3) { /* of the first header */
        text.data[at] ^= 0x41;
        CHECK_STATUS(RGM_ERR_FORMAT, unpack(text.data, text.size));
        CHECK_MESSAGE("the files are damaged at byte 0");
        text.data[at] ^= 0x41;
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        rename_first(text.data, outside[i]);
        CHECK_STATUS(RGM_ERR_FORMAT, unpack(text.data, text.size));
    }
    CHECK(!rgm_path_exists(in_folder("x")));
    rgm_text_clear(&text);
}

static rgm_status pack_and_drop(void)
{
    rgm_text text = {0};
    rgm_status status = rgmi_folder_pack(&text, in_folder("short"), 1000);

    rgm_text_clear(&text);
    return status;
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    make("short");
    CHECK_EVERY_OOM(pack_and_drop(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_files_are_the_same_bytes_and_come_back),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(memory_that_runs_out_is_told)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
