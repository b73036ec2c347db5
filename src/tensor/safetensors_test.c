/*
 * safetensors: the bytes written, the tensors read back, and a table of files that must be refused
 * before memory for their data is allocated.
 */
#include <check.h>

#include <fcntl.h>
#include <regimen/tensor.h>
#include <unistd.h>

static char folder[64];

static int make_place(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static const char *in(const char *name)
{
    static char path[4][256];
    static int next;
    char *p = path[next++ % 4];

    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static rgm_tensor *make(rgm_dtype dtype, int rank, const int64_t *shape, const void *data)
{
    rgm_tensor *t = NULL;

    CHECK_OK(rgm_tensor_create_from(&t, dtype, rank, shape, data));
    return t;
}

static void the_written_bytes_are_the_format(void **state)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"rgm\",\"step\":\"3\"},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]},"
        "\"b\\\"\\u000a\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
        "\"c\":{\"dtype\":\"BOOL\",\"shape\":[3,1],\"data_offsets\":[16,19]}}";
    const char *metadata[] = {"step", "3", "format", "rgm"};
    rgm_named_tensor named[3];
    char *data = NULL;
    int64_t size, length;

    (void)state;
    named[0] = (rgm_named_tensor){"c", make(RGM_BOOL, 2, (int64_t[]){3, 1}, "\1\0\1")};
    named[1] = (rgm_named_tensor){"a", make(RGM_F32, 1, (int64_t[]){2}, (float[]){1, -2})};
    named[2] = (rgm_named_tensor){"b\"\n", make(RGM_I64, 0, NULL, (int64_t[]){5})};
    CHECK_OK(rgm_safetensors_save(in("t"), named, 3, metadata, 2));
    CHECK_OK(rgm_file_load(&data, &size, in("t"), 10000));
    memcpy(&length, data, 8);
    CHECK_INT(0, length % 8);
    CHECK_INT(8 + length + 19, size);
    CHECK(memcmp(data + 8, header, strlen(header)) == 0);
    for (int64_t i = 8 + (int64_t)strlen(header); i < 8 + length; i++)
        CHECK_INT(' ', data[i]);
    CHECK(memcmp(data + 8 + length, (int64_t[]){5}, 8) == 0);
    CHECK(memcmp(data + 16 + length, (float[]){1, -2}, 8) == 0);
    CHECK(memcmp(data + 24 + length, "\1\0\1", 3) == 0);
    rgm_free(data);
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(named[i].tensor);
}

static void what_is_saved_reads_back_equal(void **state)
{
    static const char *const metadata[] = {"k\\\t", "v\"\xc3\xa9"};
    rgm_named_tensor named[7];
    rgm_safetensors *file = NULL;
    rgm_tensor *t = NULL;
    char text[3000];

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7);
    named[0] = (rgm_named_tensor){"w/kernel", make(RGM_F32, 2, (int64_t[]){7, 5}, text)};
    named[1] = (rgm_named_tensor){"d", make(RGM_F64, 3, (int64_t[]){2, 3, 4}, text)};
    named[2] = (rgm_named_tensor){"empty", make(RGM_F32, 2, (int64_t[]){0, 9}, NULL)};
    named[3] = (rgm_named_tensor){"i", make(RGM_I32, 1, (int64_t[]){3}, text)};
    named[4] = (rgm_named_tensor){"flag", make(RGM_BOOL, 1, (int64_t[]){1}, "\1")};
    named[5] = (rgm_named_tensor){"\xc3\xa9", make(RGM_I64, 0, NULL, text)};
    named[6] = (rgm_named_tensor){"half", make(RGM_BF16, 2, (int64_t[]){3, 1}, text)};
    CHECK_OK(rgm_safetensors_save(in("t"), named, 7, metadata, 1));
    CHECK_OK(rgm_safetensors_open(&file, in("t")));
    CHECK_INT(7, rgm_safetensors_count(file));
    CHECK_TEXT("v\"\xc3\xa9", rgm_safetensors_metadata(file, "k\\\t"));
    CHECK(rgm_safetensors_metadata(file, "none") == NULL);
    CHECK(rgm_safetensors_has_prefix(file, "w/") && !rgm_safetensors_has_prefix(file, "kernel"));
    for (int i = 0; i < 7; i++) {
        CHECK_OK(rgm_safetensors_get(&t, file, named[i].name));
        CHECK(rgm_tensor_equal(named[i].tensor, t));
        rgm_tensor_release(t);
        CHECK_EVERY_OOM(rgm_safetensors_get(&t, file, named[i].name), rgm_tensor_release(t));
    }
    CHECK_TEXT("d", rgm_safetensors_name(file, 0)); /* the header is sorted by name */
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_safetensors_get(&t, file, "w/kernle"));
    CHECK_MESSAGE("no tensor 'w/kernle'; did you mean 'w/kernel'?");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_safetensors_get(&t, file, "something else"));
    CHECK_MESSAGE("among its 7");
    rgm_safetensors_close(file);
    rgm_safetensors_close(NULL);
    CHECK_EVERY_OOM(rgm_safetensors_open(&file, in("t")), rgm_safetensors_close(file));
    for (int64_t n = 0;; n++) { /* a save without memory leaves no file */
        rgm_memory_fail_at(n, true);
        rgm_status status = rgm_safetensors_save(in("u"), named, 7, metadata, 1);
        rgm_memory_fail_at(-1, false);
        if (status == RGM_OK)
            break;
        CHECK_STATUS(RGM_ERR_NOMEM, status);
        CHECK(!rgm_path_exists(in("u")));
    }
    for (int i = 0; i < 7; i++)
        rgm_tensor_release(named[i].tensor);
}

/* A view where elements lie as their type does, else a copy. */
static void memory_is_looked_into(void **state)
{
    rgm_named_tensor named[2] = {{"w", make(RGM_F32, 1, (int64_t[]){2}, (float[]){1, -2})},
                                 {"flag", make(RGM_BOOL, 1, (int64_t[]){1}, "\1")}};
    rgm_safetensors *file;
    rgm_tensor *t;
    char *data, *moved;
    int64_t size;

    (void)state;
    CHECK_OK(rgm_safetensors_save(in("t"), named, 2, NULL, 0));
    CHECK_OK(rgm_file_load(&data, &size, in("t"), 10000));
    moved = rgm_malloc((size_t)size + 1);
    for (int by = 0; by < 2; by++) {
        const char *begin = memcpy(moved + by, data, (size_t)size);

        CHECK_OK(rgm_safetensors_open_memory(&file, begin, size, "memory"));
        for (int i = 0; i < 2; i++) {
            CHECK_OK(rgm_safetensors_look(&t, file, named[i].name));
            const char *elements = rgm_tensor_data(t);
            CHECK_INT(by == 0 || i == 1, elements > begin && elements < begin + size);
            CHECK(rgm_tensor_equal(named[i].tensor, t));
            rgm_tensor_release(t);
            CHECK_EVERY_OOM(rgm_safetensors_look(&t, file, named[i].name), rgm_tensor_release(t));
        }
        moved[by + size - 1] = 2;
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_safetensors_look(&t, file, "flag"));
        CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_safetensors_look(&t, file, "none"));
        rgm_safetensors_close(file);
    }
    CHECK_OK(rgm_safetensors_open(&file, in("t")));
    CHECK_OK(rgm_safetensors_look(&t, file, "w"));
    CHECK(rgm_tensor_equal(named[0].tensor, t));
    rgm_tensor_release(t);
    rgm_safetensors_close(file);
    for (int i = 0; i < 2; i++)
        rgm_tensor_release(named[i].tensor);
    rgm_free(moved);
    rgm_free(data);
}

static void a_file_without_tensors_is_a_file(void **state)
{
    rgm_safetensors *file = NULL;

    (void)state;
    CHECK_OK(rgm_safetensors_save(in("none"), NULL, 0, NULL, 0));
    CHECK_OK(rgm_safetensors_open(&file, in("none")));
    CHECK_INT(0, rgm_safetensors_count(file));
    rgm_safetensors_close(file);
    CHECK_OK(rgm_safetensors_save(in("meta"), NULL, 0, (const char *[]){"a", "b"}, 1));
    CHECK_OK(rgm_safetensors_open(&file, in("meta")));
    CHECK_TEXT("b", rgm_safetensors_metadata(file, "a"));
    rgm_safetensors_close(file);
}

static void what_cannot_be_saved_is_refused_and_leaves_no_file(void **state)
{
    rgm_tensor *f = make(RGM_F32, 1, (int64_t[]){1}, (float[]){1});
    rgm_tensor *s = make(RGM_STRING, 1, (int64_t[]){1}, (rgm_str[]){{"a", 1}});

    (void)state;
    CHECK_STATUS(RGM_ERR_DTYPE,
                 rgm_safetensors_save(in("t"), &(rgm_named_tensor){"s", s}, 1, NULL, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_safetensors_save(
                                  in("t"), (rgm_named_tensor[]){{"a", f}, {"a", f}}, 2, NULL, 0));
    CHECK_MESSAGE("two tensors are called 'a'");
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_safetensors_save(in("t"), &(rgm_named_tensor){"__metadata__", f}, 1, NULL, 0));
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_safetensors_save(in("t"), &(rgm_named_tensor){"\xff", f}, 1, NULL, 0));
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_safetensors_save(in("t"), NULL, 0, (const char *[]){"a", "1", "a", "2"}, 2));
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_safetensors_save(in("t"), NULL, 0, (const char *[]){"a", "\xff"}, 1));
    CHECK(!rgm_path_exists(in("t")));
    CHECK_OK(rgm_safetensors_save(in("t"), &(rgm_named_tensor){"a", f}, 1, NULL, 0));
    CHECK_STATUS(RGM_ERR_IO,
                 rgm_safetensors_save(in("t"), &(rgm_named_tensor){"a", f}, 1, NULL, 0));
    CHECK_MESSAGE("File exists");
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_safetensors_save(in("no/t"), &(rgm_named_tensor){"a", f}, 1, NULL, 0));
    rgm_tensor_release(f);
    rgm_tensor_release(s);
}

/* A file of this header and `data_size` zero bytes. */
static rgm_status open_header(rgm_safetensors **file, const char *header, int64_t data_size)
{
    static char bytes[20000];
    int64_t n = (int64_t)strlen(header);

    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &n, 8);
    memcpy(bytes + 8, header, (size_t)n);
    return rgm_safetensors_open_memory(file, bytes, 8 + n + data_size, "f.st");
}

#define F32(begin, end, shape)                                                                     \
    "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void hostile_headers_are_refused_by_name(void **state)
{
    static const struct {
        const char *header;
        int64_t data;
        const char *message;
    } cases[] = {
        {"", 0, "expected '{'"},
        {" {}", 0, "expected '{'"},
        {"[]", 0, "expected '{'"},
        {"{", 0, "byte 1: expected '\"'"},
        {"{}x", 0, "something behind"},
        {"{}{}", 0, "something behind"},
        {"{\"a\"}", 0, "expected ':'"},
        {"{\"a\":1}", 0, "expected '{'"},
        {"{\"a\":{}}", 0, "expected '\"'"},
        {"{\"a\":" F32(0, 4, "[1]") ",}", 4, "expected '\"'"},
        {"{\"a\":" F32(0, 4, "[1]"), 4, "expected '}'"},
        {"{\"a\xff\":" F32(0, 4, "[1]") "}", 4, "not valid UTF-8"},
        {"{\"a\":" F32(0, 4, "[1]") "}", 3, "bytes 0 to 4 of data that have 3 bytes"},
        {"{\"a\":" F32(0, 4, "[1]") "}", 5, "1 bytes behind the last tensor"},
        {"{}", 5, "5 bytes behind"},
        {"{\"a\":" F32(0, 4, "[2]") "}", 4, "need 8 bytes, data_offsets have 4"},
        {"{\"a\":" F32(4, 0, "[1]") "}", 4, "bytes 4 to 0"},
        {"{\"a\":" F32(0, 0, "[4611686018427387904]") "}", 0, "need more than"},
        {"{\"a\":" F32(0, 0, "[4294967296,4294967296]") "}", 0, "need more than"},
        {"{\"a\":" F32(0, 4, "[9223372036854775808]") "}", 4, "number above 2^63"},
        {"{\"a\":" F32(0, 4, "[-1]") "}", 4, "expected a whole number"},
        {"{\"a\":" F32(0, 4, "[1.0]") "}", 4, "expected ']'"},
        {"{\"a\":" F32(0, 4, "[1e0]") "}", 4, "expected ']'"},
        {"{\"a\":" F32(0, 4, "[01]") "}", 4, "leading zero"},
        {"{\"a\":" F32(0, 4, "[1,1,1,1,1,1,1]") "}", 4, "more axes"},
        {"{\"a\":" F32(0, 4, "[1,]") "}", 4, "expected a whole number"},
        {"{\"a\":" F32(0, 4, "null") "}", 4, "expected '['"},
        {"{\"a\":" F32(0, 4, "[1]") ",\"b\":" F32(0, 4, "[1]") "}", 4, "inside the one"},
        {"{\"a\":" F32(0, 8, "[2]") ",\"b\":" F32(4, 8, "[1]") "}", 8, "inside the one"},
        {"{\"a\":" F32(0, 4, "[1]") ",\"b\":" F32(8, 12, "[1]") "}", 12, "leaving a hole"},
        {"{\"a\":" F32(4, 8, "[1]") "}", 8, "leaving a hole"},
        {"{\"a\":" F32(0, 4, "[1]") ",\"a\":" F32(4, 8, "[1]") "}", 8, "'a' is there twice"},
        {"{\"a\":" F32(0, 4, "[1]") ",\"\\u0061\":" F32(4, 8, "[1]") "}", 8, "'a' is there twice"},
        {"{\"a\\u0000b\":" F32(0, 4, "[1]") "}", 4, "NUL"},
        {"{\"\\ud800\":" F32(0, 4, "[1]") "}", 4, "surrogate"},
        {"{\"\\udc00\":" F32(0, 4, "[1]") "}", 4, "bad \\u"},
        {"{\"\\ud800\\u0041\":" F32(0, 4, "[1]") "}", 4, "bad \\u"},
        {"{\"\\u00g0\":" F32(0, 4, "[1]") "}", 4, "bad \\u"},
        {"{\"\\x\":" F32(0, 4, "[1]") "}", 4, "unknown escape"},
        {"{\"a\n\":" F32(0, 4, "[1]") "}", 4, "control character"},
        {"{\"a", 4, "the text does not end"},
        {"{\"a\\", 4, "the text does not end"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "lacks 'data_offsets'"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "lacks 'shape'"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "lacks 'dtype'"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 4, "repeated key 'dtype'"},
        {"{\"a\":{\"x\":1}}", 4, "unknown key 'x'"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,4]}}", 4, "need 6 bytes"},
        {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4,
         "dtype 'F8_E4M3'"},
        {"{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype 'f32'"},
        {"{\"a\":{\"dtype\":7}}", 4, "expected '\"'"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "not two numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", 4, "more than two"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "expected '\"'"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "metadata key 'a' is there twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ is there twice"},
        {"{\"__metadata__\":[]}", 0, "expected '{'"},
    };
    rgm_safetensors *file = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(RGM_ERR_FORMAT, open_header(&file, cases[i].header, cases[i].data));
        CHECK(file == NULL);
        CHECK_MESSAGE("f.st");
        CHECK_MESSAGE(cases[i].message);
    }
}

static void odd_but_correct_headers_are_read(void **state)
{
    static const struct {
        const char *header;
        int64_t data;
    } cases[] = {
        {"{}", 0},
        {"{ \"a\" : " F32(0, 4, "[1]") " }\n\t ", 4},
        {"{\"b\":" F32(4, 8, "[1]") ",\"a\":" F32(0, 4, "[1]") "}", 8},
        {"{\"a\":" F32(0, 0, "[0]") ",\"b\":" F32(0, 4, "[]") ",\"c\":" F32(4, 4, "[3,0]") "}", 4},
        {"{\"z\":" F32(0, 0, "[0,4611686018427387904,4611686018427387904]") "}", 0},
        {"{\"\\ud83d\\ude00\\/\\b\":" F32(0, 4, "[1,1,1,1,1,1]") ",\"__metadata__\":{}}", 4},
        {"{\"\":{\"data_offsets\":[0,4],\"shape\":[1],\"dtype\":\"I32\"}}", 4},
    };
    rgm_safetensors *file = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(open_header(&file, cases[i].header, cases[i].data));
        rgm_safetensors_close(file);
    }
    CHECK_OK(open_header(&file, cases[5].header, cases[5].data));
    CHECK_TEXT("\xf0\x9f\x98\x80/\b", rgm_safetensors_name(file, 0));
    rgm_safetensors_close(file);
}

static void lengths_that_lie_are_refused_before_allocating(void **state)
{
    static const uint64_t lengths[] = {3, 100000001, UINT64_MAX, (uint64_t)1 << 63, UINT32_MAX};
    rgm_safetensors *file = NULL;
    char bytes[10] = {0};

    (void)state;
    for (int64_t size = 0; size < 8; size++) {
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_safetensors_open_memory(&file, bytes, size, "f.st"));
        CHECK_MESSAGE("too short");
    }
    rgm_memory_reset_peak();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memcpy(bytes, &lengths[i], 8);
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_safetensors_open_memory(&file, bytes, 10, "f.st"));
    }
    CHECK(rgm_memory_peak() - rgm_memory_used() < 10000);
}

static void a_file_cut_short_anywhere_is_refused(void **state)
{
    rgm_tensor *t = make(RGM_F32, 1, (int64_t[]){3}, (float[]){1, 2, 3}), *got = NULL;
    rgm_safetensors *file = NULL;
    char *data = NULL;
    int64_t size;
    int fd;

    (void)state;
    CHECK_OK(rgm_safetensors_save(in("t"), &(rgm_named_tensor){"a", t}, 1, NULL, 0));
    CHECK_OK(rgm_file_load(&data, &size, in("t"), 1000));
    for (int64_t n = 0; n < size; n++)
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_safetensors_open_memory(&file, data, n, "cut"));
    rgm_free(data);
    CHECK_OK(rgm_safetensors_open(&file, in("t")));
    fd = open(in("t"), O_WRONLY); /* cut while it is open: an error, not a signal */
    CHECK_INT(0, ftruncate(fd, size - 5));
    close(fd);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_safetensors_get(&got, file, "a"));
    CHECK_MESSAGE("it was longer when opened");
    CHECK(got == NULL);
    rgm_safetensors_close(file);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_safetensors_open(&file, in("none")));
    CHECK_MESSAGE("none");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_safetensors_open(&file, folder));
    rgm_tensor_release(t);
}

static void a_bool_that_is_neither_0_nor_1_is_refused(void **state)
{
    static const char header[] =
        "{\"m\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}";
    char bytes[200];
    int64_t n = (int64_t)strlen(header);
    rgm_safetensors *file = NULL;
    rgm_tensor *t = NULL;

    (void)state;
    memcpy(bytes, &n, 8);
    memcpy(bytes + 8, header, (size_t)n);
    memcpy(bytes + 8 + n, "\1\2", 2);
    CHECK_OK(rgm_safetensors_open_memory(&file, bytes, 8 + n + 2, "f.st"));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_safetensors_get(&t, file, "m"));
    CHECK_MESSAGE("element 1 of BOOL is 2");
    CHECK(t == NULL);
    rgm_safetensors_close(file);
}

static void numbers_of_f16_are_read_as_f32(void **state)
{
    static const char header[] =
        "{\"h\":{\"dtype\":\"F16\",\"shape\":[4,2],\"data_offsets\":[0,16]}}";
    /* 0, -0, the smallest, the largest below the normal ones, 1, -65504, infinity, NaN */
    static const uint16_t halves[8] = {0, 0x8000, 1, 0x3ff, 0x3c00, 0xfbff, 0x7c00, 0x7e00};
    static const float numbers[7] = {0, -0.0f, 0x1p-24f, 0x3ffp-24f, 1, -65504, INFINITY};
    char bytes[200];
    int64_t n = (int64_t)strlen(header);
    rgm_safetensors *file = NULL;
    rgm_tensor *t = NULL;

    (void)state;
    memcpy(bytes, &n, 8);
    memcpy(bytes + 8, header, (size_t)n);
    memcpy(bytes + 8 + n, halves, sizeof halves);
    CHECK_OK(rgm_safetensors_open_memory(&file, bytes, 8 + n + 16, "f.st"));
    CHECK_OK(rgm_safetensors_get(&t, file, "h"));
    CHECK(rgm_tensor_dtype(t) == RGM_F32);
    CHECK(memcmp(numbers, rgm_tensor_f32(t), sizeof numbers) == 0);
    CHECK(isnan(rgm_tensor_f32(t)[7]));
    rgm_tensor_release(t);
    rgm_safetensors_close(file);
}

static void many_tensors_are_read_in_linear_time_and_memory(void **state)
{
    rgm_text header = {0};
    rgm_safetensors *file = NULL;
    int64_t n = 0;

    (void)state;
    CHECK_OK(rgm_text_add(&header, &n, 8));
    for (int i = 0; i < 50000; i++)
        CHECK_OK(rgm_text_printf(&header, "%c\"tensor %d\":" F32(0, 0, "[0]"), i ? ',' : '{', i));
    CHECK_OK(rgm_text_add(&header, "}", 1));
    n = header.size - 8;
    memcpy(header.data, &n, 8);
    rgm_memory_reset_peak();
    int64_t before = rgm_memory_used();
    CHECK_OK(rgm_safetensors_open_memory(&file, header.data, header.size, "many"));
    CHECK(rgm_memory_peak() - before < 5 * header.size + (16 << 20));
    CHECK_INT(50000, rgm_safetensors_count(file));
    CHECK_TEXT("tensor 49999", rgm_safetensors_name(file, 49999));
    rgm_safetensors_close(file);
    rgm_text_clear(&header);
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

TESTS(PLACED(the_written_bytes_are_the_format), PLACED(what_is_saved_reads_back_equal),
      PLACED(memory_is_looked_into), PLACED(a_file_without_tensors_is_a_file),
      PLACED(what_cannot_be_saved_is_refused_and_leaves_no_file),
      PLACED(hostile_headers_are_refused_by_name), PLACED(odd_but_correct_headers_are_read),
      PLACED(lengths_that_lie_are_refused_before_allocating),
      PLACED(a_file_cut_short_anywhere_is_refused),
      PLACED(a_bool_that_is_neither_0_nor_1_is_refused), PLACED(numbers_of_f16_are_read_as_f32),
      PLACED(many_tensors_are_read_in_linear_time_and_memory))
