/*
 * tf.train.Example: our codec against protoc's on good, odd and damaged messages, and what must
 * hold without it: equal bytes for equal features, hand-made wire cases, nothing crashes.
 */
#include <check.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <regimen/data.h>

static const char *folder;

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int turn;

    if (folder == NULL) {
        folder = check_folder();
        atexit(remove_folder);
    }
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static rgm_str str(const char *text)
{
    return (rgm_str){text, (int64_t)strlen(text)};
}

/** protoc --encode or --decode from one file to another; its exit status, 127 when it is missing.
 */
static int protoc(const char *mode, const char *from, const char *to)
{
    char option[64];
    int status = 0;
    pid_t child;

    snprintf(option, sizeof option, "--%s=tensorflow.Example", mode);
    child = fork();
    if (child == 0) {
        int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        int null = open("/dev/null", O_WRONLY);
        if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
            _exit(126);
        execlp("protoc", "protoc", "-Itests/proto", option, "example.proto", (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void put_file(const char *path, const void *data, int64_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0 && write(fd, data, (size_t)size) == (ssize_t)size);
    close(fd);
}

static bool have_protoc(void)
{
    put_file(in_folder("empty"), "", 0);
    return protoc("decode", in_folder("empty"), in_folder("out")) == 0;
}

/* ---- a message with everything -------------------------------------------------------------- */

static const rgm_str words[] = {{"alpha", 5}, {"", 0}, {"b\0\xff\n", 4}};
static const float floats[] = {0, -1.5f, 3.1415927f, 1e-30f, INFINITY};
static const int64_t ints[] = {0, 1, 127, 128, 300, -1, INT64_MAX, INT64_MIN};

static int64_t everything(rgm_example_field out[6])
{
    out[0] = (rgm_example_field){str("nodes/user.tags"), RGM_FEATURE_BYTES, 3, {.bytes = words}};
    out[1] = (rgm_example_field){str("nodes/user.age"), RGM_FEATURE_FLOATS, 5, {.floats = floats}};
    out[2] = (rgm_example_field){str("edges/buys.#source"), RGM_FEATURE_INTS, 8, {.ints = ints}};
    out[3] = (rgm_example_field){str(""), RGM_FEATURE_INTS, 0, {.ints = NULL}};
    out[4] = (rgm_example_field){str("none"), RGM_FEATURE_NONE, 0, {.ints = NULL}};
    out[5] = (rgm_example_field){str("\xc3\xa4"), RGM_FEATURE_FLOATS, 0, {.floats = NULL}};
    return 6;
}

static void check_same(const rgm_example_field *a, const rgm_example_field *b)
{
    CHECK_INT(a->kind, b->kind);
    CHECK_INT(a->count, b->count);
    for (int64_t i = 0; i < a->count; i++) {
        if (a->kind == RGM_FEATURE_BYTES) {
            CHECK_INT(a->bytes[i].size, b->bytes[i].size);
            CHECK(memcmp(a->bytes[i].data, b->bytes[i].data, (size_t)a->bytes[i].size) == 0);
        } else if (a->kind == RGM_FEATURE_FLOATS) {
            CHECK(memcmp(&a->floats[i], &b->floats[i], 4) == 0);
        } else {
            CHECK_INT(a->ints[i], b->ints[i]);
        }
    }
}

static void what_is_encoded_comes_back(void **state)
{
    (void)state;
    rgm_example_field fields[6];
    int64_t count = everything(fields);
    rgm_text bytes = {0};
    rgm_example *example;

    CHECK_OK(rgm_example_create(&example));
    CHECK_OK(rgm_example_encode(&bytes, fields, count));
    for (int twice = 0; twice < 2; twice++) {
        CHECK_OK(rgm_example_decode(example, bytes.data, bytes.size));
        CHECK_INT(count, rgm_example_count(example));
        for (int64_t i = 0; i < count; i++)
            check_same(&fields[i],
                       rgm_example_find_n(example, fields[i].key.data, fields[i].key.size));
    }
    CHECK(rgm_example_find(example, "nodes/user") == NULL);
    CHECK_INT(0, rgm_example_feature(example, 0)->key.size); /* sorted: "" comes first */
    CHECK(rgm_example_feature(example, 6) == NULL);
    rgm_example_release(example);
    rgm_text_clear(&bytes);
}

static void the_order_of_the_fields_does_not_change_the_bytes(void **state)
{
    (void)state;
    rgm_example_field fields[6], turned[6];
    int64_t count = everything(fields);
    rgm_text a = {0}, b = {0};

    for (int64_t i = 0; i < count; i++)
        turned[i] = fields[count - 1 - i];
    CHECK_OK(rgm_example_encode(&a, fields, count));
    CHECK_OK(rgm_example_encode(&b, turned, count));
    CHECK_INT(a.size, b.size);
    CHECK(memcmp(a.data, b.data, (size_t)a.size) == 0);
    turned[0] = turned[1];
    CHECK_STATUS(RGM_ERR_ARG, rgm_example_encode(&b, turned, count));
    CHECK_MESSAGE("is given twice");
    rgm_text_clear(&a);
    rgm_text_clear(&b);
}

static void ints_of_every_length_come_back_from_every_place(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    static int64_t values[COUNT];
    rgm_rng rng = rgm_rng_stream(3, "ints", 0);
    rgm_text bytes = {0};
    rgm_example *example;

    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t v = (uint64_t)rgm_rng_u32(&rng, 2 * i) << 32 | rgm_rng_u32(&rng, 2 * i + 1);
        values[i] = (int64_t)(v >> rgm_rng_below(&rng, 8 * COUNT + i, 64));
        if (i % 100 < 20)
            values[i] &= 0x7f; /* runs of single bytes */
    }
    CHECK_OK(rgm_example_create(&example));
    for (int64_t first = 0; first < 40; first++) {
        rgm_example_field field = {
            str("k"), RGM_FEATURE_INTS, COUNT - 97 * first, {.ints = values + first}};
        bytes.size = 0;
        CHECK_OK(rgm_example_encode(&bytes, &field, 1));
        CHECK_OK(rgm_example_decode(example, bytes.data, bytes.size));
        check_same(&field, rgm_example_find(example, "k"));
    }
    rgm_example_release(example);
    rgm_text_clear(&bytes);
}

/* ---- wire cases by hand --------------------------------------------------------------------- */

typedef struct wire_case {
    const char *what;
    const char *bytes;
    int64_t size;
    const char
        *message; /* of the error; NULL: it is read, and then "k" has `count` ints, the sum `sum` */
    int64_t count, sum;
} wire_case;

#define WIRE(text) text, sizeof(text) - 1
static const wire_case wire_cases[] = {
    {"packed", WIRE("\x0a\x0d\x0a\x0b\x0a\x01k\x12\x06\x1a\x04\x0a\x02\x05\x06"), NULL, 2, 11},
    {"unpacked", WIRE("\x0a\x0f\x0a\x0d\x0a\x01k\x12\x08\x1a\x06\x08\x05\x08\x06\x08\x07"), NULL, 3,
     18},
    {"packed and unpacked",
     WIRE("\x0a\x0f\x0a\x0d\x0a\x01k\x12\x08\x1a\x06\x0a\x02\x05\x06\x08\x07"), NULL, 3, 18},
    {"two lists of one kind merge",
     WIRE("\x0a\x11\x0a\x0f\x0a\x01k\x12\x0a\x1a\x03\x0a\x01\x05\x1a\x03\x0a\x01\x06"), NULL, 2,
     11},
    {"another kind replaces the first",
     WIRE("\x0a\x12\x0a\x10\x0a\x01k\x12\x0b\x0a\x04\x0a\x02xy\x1a\x03\x0a\x01\x06"), NULL, 1, 6},
    {"the last of equal keys wins",
     WIRE("\x0a\x18\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x05\x0a\x0a\x0a\x01k\x12\x05\x1a\x03"
          "\x0a\x01\x09"),
     NULL, 1, 9},
    {"features in two parts",
     WIRE("\x0a\x0c\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x05\x0a\x0c\x0a\x0a\x0a\x01j\x12\x05"
          "\x1a\x03\x0a\x01\x09"),
     NULL, 1, 5},
    {"value before key", WIRE("\x0a\x0c\x0a\x0a\x12\x05\x1a\x03\x0a\x01\x05\x0a\x01k"), NULL, 1, 5},
    {"unknown fields and groups",
     WIRE("\x10\x07\x1b\x10\x01\x1c\x0a\x0c\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x05\x2d"
          "abcd"
          "\x31"
          "abcdefgh"),
     NULL, 1, 5},
    {"a wrong wire type is passed over",
     WIRE("\x0a\x11\x0a\x0f\x0a\x01k\x12\x0a\x1a\x08\x0d"
          "abcd\x0a\x01\x05"),
     NULL, 1, 5},
    {"an overlong varint",
     WIRE("\x0a\x0f\x0a\x0d\x0a\x01k\x12\x08\x1a\x06\x0a\x04\x85\x80\x80\x00"), NULL, 1, 5},
    {"a varint of eleven bytes",
     WIRE("\x0a\x16\x0a\x14\x0a\x01k\x12\x0f\x1a\x0d\x0a\x0b\x85\x80\x80\x80\x80\x80\x80\x80\x80"
          "\x80\x00"),
     "more than 10 bytes", 0, 0},
    {"a length beyond the message", WIRE("\x0a\x0d\x0a\x0a"), "goes beyond the end", 0, 0},
    {"field number 0", WIRE("\x02\x00"), "field number 0", 0, 0},
    {"wire type 6", WIRE("\x0e"), "unknown wire type", 0, 0},
    {"a group that ends unbegun", WIRE("\x1c"), "was not begun", 0, 0},
    {"a group without an end", WIRE("\x1b\x10\x01"), "a group has no end", 0, 0},
    {"a group with another's end", WIRE("\x1b\x24"), "was not begun", 0, 0},
    {"packed floats of 5 bytes",
     WIRE("\x0a\x10\x0a\x0e\x0a\x01k\x12\x09\x12\x07\x0a\x05"
          "abcde"),
     "no multiple of 4", 0, 0},
    {"a packed number cut short", WIRE("\x0a\x0c\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x85"),
     "is cut short", 0, 0},
    {"a key that is not UTF-8", WIRE("\x0a\x05\x0a\x03\x0a\x01\xff"), "not UTF-8", 0, 0},
    {"a tag of six bytes", WIRE("\x8a\x80\x80\x80\x80\x00\x00"), "more than 5 bytes", 0, 0},
};

static void hand_made_messages_are_read_as_protobuf_reads_them(void **state)
{
    (void)state;
    rgm_example *example;
    bool compare = have_protoc();

    CHECK_OK(rgm_example_create(&example));
    for (size_t i = 0; i < sizeof wire_cases / sizeof *wire_cases; i++) {
        const wire_case *c = &wire_cases[i];
        const rgm_example_field *field;
        int64_t sum = 0;
        rgm_status status = rgm_example_decode(example, c->bytes, c->size);

        print_message("%s\n", c->what);
        if (compare) {
            put_file(in_folder("in"), c->bytes, c->size);
            CHECK((protoc("decode", in_folder("in"), in_folder("out")) == 0) == (status == RGM_OK));
        }
        CHECK_INT(c->message != NULL ? RGM_ERR_FORMAT : RGM_OK, status);
        if (c->message != NULL) {
            CHECK_MESSAGE(c->message);
            CHECK_MESSAGE("tf.train.Example: byte ");
            CHECK_INT(0, rgm_example_count(example));
            continue;
        }
        field = rgm_example_find(example, "k");
        CHECK(field != NULL && field->kind == RGM_FEATURE_INTS);
        CHECK_INT(c->count, field->count);
        for (int64_t v = 0; v < field->count; v++)
            sum += field->ints[v];
        CHECK_INT(c->sum, sum);
    }
    rgm_example_release(example);
}

static void groups_nest_to_protobufs_depth_and_no_further(void **state)
{
    (void)state;
    rgm_example *example;
    char bytes[400];
    bool compare = have_protoc();

    CHECK_OK(rgm_example_create(&example));
    for (int depth = 97; depth <= 103; depth++) {
        rgm_status status;
        memset(bytes, 0x1b, (size_t)depth);
        memset(bytes + depth, 0x1c, (size_t)depth);
        status = rgm_example_decode(example, bytes, 2 * depth);
        CHECK(status == (depth > 100 ? RGM_ERR_FORMAT : RGM_OK));
        put_file(in_folder("in"), bytes, 2 * depth);
        if (compare)
            CHECK((protoc("decode", in_folder("in"), in_folder("out")) == 0) == (status == RGM_OK));
    }
    rgm_example_release(example);
}

/* ---- against protoc ------------------------------------------------------------------------- */

static void check_value(const rgm_pbtxt *text, const rgm_pbtxt_field *value,
                        const rgm_example_field *ours, int64_t i)
{
    CHECK(i < ours->count);
    if (ours->kind == RGM_FEATURE_BYTES) {
        CHECK_INT(value->size, ours->bytes[i].size);
        CHECK(memcmp(value->text, ours->bytes[i].data, (size_t)value->size) == 0);
    } else if (ours->kind == RGM_FEATURE_FLOATS) {
        double number;
        CHECK_OK(rgm_pbtxt_double(&number, text, value));
        CHECK((float)number == ours->floats[i] || (isnan(number) && isnan(ours->floats[i])));
    } else {
        int64_t number;
        CHECK_OK(rgm_pbtxt_int(&number, text, value));
        CHECK_INT(number, ours->ints[i]);
    }
}

static void check_feature(const rgm_pbtxt *text, const rgm_pbtxt_field *entry,
                          const rgm_example *example)
{
    static const char *const lists[] = {"", "bytes_list", "float_list", "int64_list"};
    const rgm_pbtxt_field *key = rgm_pbtxt_find(entry, "key");
    const rgm_pbtxt_field *value = rgm_pbtxt_find(entry, "value"), *list = NULL;
    const rgm_example_field *ours =
        rgm_example_find_n(example, key != NULL ? key->text : "", key != NULL ? key->size : 0);
    int64_t n = 0;

    CHECK(ours != NULL);
    for (int kind = 1; kind < 4 && value != NULL && list == NULL; kind++) {
        list = rgm_pbtxt_find(value, lists[kind]);
        if (list != NULL)
            CHECK_INT(kind, ours->kind);
    }
    if (list == NULL)
        CHECK_INT(RGM_FEATURE_NONE, ours->kind);
    else
        for (const rgm_pbtxt_field *v = rgm_pbtxt_find(list, "value"); v != NULL;
             v = rgm_pbtxt_find_next(v))
            check_value(text, v, ours, n++);
    CHECK_INT(n, ours->count);
}

/** Decode with both; they agree on whether it is an Example and on what is in it. */
static bool check_against_protoc(rgm_example *example, const void *bytes, int64_t size)
{
    rgm_status status = rgm_example_decode(example, bytes, size);
    const rgm_pbtxt_field *features;
    rgm_pbtxt *text;
    int64_t count = 0, out_size;
    char *out;

    put_file(in_folder("in"), bytes, size);
    CHECK_INT(status == RGM_OK, protoc("decode", in_folder("in"), in_folder("out")) == 0);
    if (status != RGM_OK)
        return false;
    CHECK_OK(rgm_file_load(&out, &out_size, in_folder("out"), 1 << 26));
    CHECK_OK(rgm_pbtxt_parse(&text, out, out_size, "out"));
    rgm_free(out);
    features = rgm_pbtxt_find(rgm_pbtxt_root(text), "features");
    for (const rgm_pbtxt_field *f = features != NULL ? rgm_pbtxt_find(features, "feature") : NULL;
         f != NULL; f = rgm_pbtxt_find_next(f), count++)
        check_feature(text, f, example);
    CHECK_INT(count, rgm_example_count(example));
    rgm_pbtxt_release(text);
    return true;
}

static void protoc_reads_what_we_write_and_we_read_what_it_writes(void **state)
{
    (void)state;
    rgm_example_field fields[6];
    rgm_text bytes = {0};
    rgm_example *example;
    char *theirs;
    int64_t size;

    if (!have_protoc())
        SKIP("protoc is not installed");
    CHECK_OK(rgm_example_create(&example));
    CHECK_OK(rgm_example_encode(&bytes, fields, everything(fields)));
    CHECK(check_against_protoc(example, bytes.data, bytes.size));
    CHECK_INT(0, protoc("encode", in_folder("out"), in_folder("theirs")));
    CHECK_OK(rgm_file_load(&theirs, &size, in_folder("theirs"), 1 << 20));
    CHECK_OK(rgm_example_decode(example, theirs, size));
    for (int i = 0; i < 6; i++)
        check_same(&fields[i], rgm_example_find_n(example, fields[i].key.data, fields[i].key.size));
    CHECK(check_against_protoc(example, theirs, size));
    rgm_free(theirs);
    rgm_example_release(example);
    rgm_text_clear(&bytes);
}

/** The message with byte `i` changed in a way that depends on i, or cut before it. */
static int64_t mutate(char *copy, const rgm_text *bytes, int64_t i, int how)
{
    static const char put[] = {0x00, 0x7f, (char)0x80, (char)0xff, 0x0a, 0x1b};

    memcpy(copy, bytes->data, (size_t)bytes->size);
    if (how == 0)
        return i;
    if (how <= 8)
        copy[i] ^= (char)(1 << (how - 1));
    else
        copy[i] = put[how - 9];
    return bytes->size;
}

static void damaged_messages_are_judged_as_protoc_judges_them(void **state)
{
    (void)state;
    rgm_example_field fields[6];
    rgm_text bytes = {0};
    rgm_example *example;
    int good = 0, bad = 0;
    char *copy;

    if (!have_protoc())
        SKIP("protoc is not installed");
    CHECK_OK(rgm_example_create(&example));
    CHECK_OK(rgm_example_encode(&bytes, fields, everything(fields)));
    copy = malloc((size_t)bytes.size);
    for (int64_t i = 0; i < 220; i++) {
        int64_t size = mutate(copy, &bytes, i * 7 % bytes.size, (int)(i % 15));
        bool is_good = check_against_protoc(example, copy, size);
        good += is_good;
        bad += !is_good;
    }
    CHECK(good > 20 && bad > 20);
    free(copy);
    rgm_example_release(example);
    rgm_text_clear(&bytes);
}

static void no_damage_crashes_the_decoder(void **state)
{
    (void)state;
    rgm_example_field fields[6];
    rgm_text bytes = {0};
    rgm_example *example;

    CHECK_OK(rgm_example_create(&example));
    CHECK_OK(rgm_example_encode(&bytes, fields, everything(fields)));
    for (int64_t i = 0; i < bytes.size; i++) {
        for (int how = 0; how < 15; how++) {
            char *copy = malloc((size_t)bytes.size); /* of the exact size, for the sanitizer */
            int64_t size = mutate(copy, &bytes, i, how);
            char *exact = malloc((size_t)size);
            rgm_status status;
            memcpy(exact, copy, (size_t)size);
            status = rgm_example_decode(example, exact, size);
            CHECK(status == RGM_OK || status == RGM_ERR_FORMAT);
            free(exact);
            free(copy);
        }
    }
    rgm_example_release(example);
    rgm_text_clear(&bytes);
}

static void ten_thousand_keys_and_as_many_again_take_linear_time(void **state)
{
    (void)state;
    enum { KEYS = 10000 };
    rgm_example_field *fields = calloc(KEYS, sizeof *fields);
    char(*keys)[16] = calloc(KEYS, sizeof *keys);
    rgm_text bytes = {0};
    rgm_example *example;
    int64_t one = 1;

    for (int i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        fields[i] = (rgm_example_field){str(keys[i]), RGM_FEATURE_INTS, 1, {.ints = &one}};
    }
    CHECK_OK(rgm_example_create(&example));
    CHECK_OK(rgm_example_encode(&bytes, fields, KEYS));
    CHECK_OK(rgm_example_encode(&bytes, fields, KEYS)); /* appended: the keys once more */
    CHECK_OK(rgm_example_decode(example, bytes.data, bytes.size));
    CHECK_INT(KEYS, rgm_example_count(example));
    CHECK_INT(1, rgm_example_find(example, "k9999")->ints[0]);
    rgm_example_release(example);
    rgm_text_clear(&bytes);
    free(fields);
    free(keys);
}

static rgm_status round_trip(void)
{
    rgm_status status = RGM_OK;
    rgm_example_field fields[6];
    rgm_text bytes = {0};
    rgm_example *example = NULL;

    RGM_GO(rgm_example_encode(&bytes, fields, everything(fields)));
    RGM_GO(rgm_example_create(&example));
    RGM_GO(rgm_example_decode(example, bytes.data, bytes.size));
done:
    rgm_example_release(example);
    rgm_text_clear(&bytes);
    return status;
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(round_trip(), (void)0);
}

TESTS(cmocka_unit_test(what_is_encoded_comes_back),
      cmocka_unit_test(ints_of_every_length_come_back_from_every_place),
      cmocka_unit_test(the_order_of_the_fields_does_not_change_the_bytes),
      cmocka_unit_test(hand_made_messages_are_read_as_protobuf_reads_them),
      cmocka_unit_test(groups_nest_to_protobufs_depth_and_no_further),
      cmocka_unit_test(protoc_reads_what_we_write_and_we_read_what_it_writes),
      cmocka_unit_test(damaged_messages_are_judged_as_protoc_judges_them),
      cmocka_unit_test(no_damage_crashes_the_decoder),
      cmocka_unit_test(ten_thousand_keys_and_as_many_again_take_linear_time),
      cmocka_unit_test(failing_allocations_leak_nothing))
