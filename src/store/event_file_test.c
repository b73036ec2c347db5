/*
 * Event files: framing and fields, checked by an independent small reader. tests/oracle has
 * tensorboard's own reader read them too.
 */
#include <check.h>

#include <regimen/store.h>

#include <unistd.h>

/* The records of the only (or `which`-th) event file of a folder, checked and concatenated. */
static void read_records(rgm_text *out, int64_t *count, const char *folder, int64_t which)
{
    char **names = NULL, path[512], *data = NULL;
    int64_t files, size, at = 0;

    CHECK_OK(rgm_folder_list(&names, &files, folder));
    CHECK(which < files);
    CHECK(strncmp(names[which], "events.out.tfevents.", 20) == 0);
    CHECK(strcmp(names[which] + strlen(names[which]) - 5, ".0.v2") == 0);
    snprintf(path, sizeof path, "%s/%s", folder, names[which]);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    out->size = 0;
    for (*count = 0; at < size; ++*count) {
        uint64_t length;
        uint32_t crc, check;

        CHECK(size - at >= 16);
        memcpy(&length, data + at, 8);
        CHECK((int64_t)length <= size - at - 16);
        memcpy(&crc, data + at + 8, 4);
        check = rgm_crc32c(0, data + at, 8);
        CHECK_INT(((check >> 15) | (check << 17)) + 0xa282ead8u, crc);
        memcpy(&crc, data + at + 12 + length, 4);
        check = rgm_crc32c(0, data + at + 12, length);
        CHECK_INT(((check >> 15) | (check << 17)) + 0xa282ead8u, crc);
        CHECK_OK(rgm_text_add(out, data + at + 12, (int64_t)length));
        at += 16 + (int64_t)length;
    }
    rgm_free(data);
    rgm_names_release(names, files);
}

/* How often `bytes` occur in the records. */
static int occurrences(const rgm_text *text, const char *bytes, size_t size)
{
    const char *at = text->data, *end = text->data + text->size;
    int count = 0;

    while ((at = memmem(at, (size_t)(end - at), bytes, size)) != NULL) {
        at += size;
        count++;
    }
    return count;
}

static void a_file_begins_with_its_version(void **state)
{
    const char *folder = check_folder();
    rgm_event_file *file = NULL;
    rgm_text records = {0};
    int64_t count;

    (void)state;
    CHECK_OK(rgm_event_file_create(&file, folder, 0));
    read_records(&records, &count, folder, 0);
    CHECK_INT(1, count);
    /* wall_time = 1 as a double, then file_version = 3. */
    CHECK_INT(9 + 2 + 13, records.size);
    CHECK_INT(0x09, records.data[0]);
    CHECK(memcmp(records.data + 9,
                 "\x1a\x0d"
                 "brain.Event:2",
                 15) == 0);
    rgm_event_file_close(file);
    rgm_text_clear(&records);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_scalar_carries_its_metadata_once(void **state)
{
    const char *folder = check_folder();
    rgm_event_file *file = NULL;
    rgm_text records = {0};
    int64_t count;
    float value = 0.25f;
    char simple[5] = {0x15};

    (void)state;
    CHECK_OK(rgm_event_file_create(&file, folder, 0));
    for (int64_t step = 1; step <= 3; step++)
        CHECK_OK(rgm_event_file_scalar(file, "epoch_loss", step * 300, 0.25));
    CHECK_OK(rgm_event_file_flush(file));
    read_records(&records, &count, folder, 0);
    CHECK_INT(4, count);
    memcpy(simple + 1, &value, 4);
    CHECK_INT(3, occurrences(&records, simple, 5));
    CHECK_INT(3, occurrences(&records,
                             "\x0a\x0a"
                             "epoch_loss",
                             12));
    CHECK_INT(1, occurrences(&records, "\x0a\x07scalars", 9));
    CHECK_INT(1, occurrences(&records, "\x10\xd8\x04", 3)); /* step = 2: 600 */
    rgm_event_file_close(file);
    rgm_text_clear(&records);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_text_is_a_tensor_of_one_string(void **state)
{
    const char *folder = check_folder();
    rgm_event_file *file = NULL;
    rgm_text records = {0};
    int64_t count;

    (void)state;
    CHECK_OK(rgm_event_file_create(&file, folder, 0));
    CHECK_OK(rgm_event_file_text(file, "pair_1", 7, "a  \nb"));
    CHECK_OK(rgm_event_file_flush(file));
    read_records(&records, &count, folder, 0);
    CHECK_INT(2, count);
    /* Value 8: TensorProto {dtype 1: DT_STRING, tensor_shape 2: a scalar, string_val 8} */
    CHECK_INT(1, occurrences(&records,
                             "\x42\x0b\x08\x07\x12\x00\x42\x05"
                             "a  \nb",
                             13));
    CHECK_INT(1, occurrences(&records, "\x0a\x04text", 6));
    CHECK_INT(1, occurrences(&records, "\x20\x02", 2)); /* DATA_CLASS_TENSOR */
    rgm_event_file_close(file);
    rgm_text_clear(&records);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_later_start_makes_a_later_file_that_voids_lost_steps(void **state)
{
    const char *folder = check_folder();
    rgm_event_file *file = NULL;
    rgm_text records = {0};
    int64_t count;

    (void)state;
    for (int start = 0; start < 3; start++) { /* within one second */
        CHECK_OK(rgm_event_file_create(&file, folder, start * 5));
        rgm_event_file_close(file);
    }
    read_records(&records, &count, folder, 0);
    CHECK_INT(1, count);
    read_records(&records, &count, folder, 1);
    CHECK_INT(2, count);
    /* step = 2: 5, session_log = 7 {status = 1: START} */
    CHECK_INT(1, occurrences(&records, "\x10\x05\x3a\x02\x08\x01", 6));
    read_records(&records, &count, folder, 2);
    CHECK_INT(1, occurrences(&records, "\x10\x0a\x3a\x02\x08\x01", 6));
    rgm_text_clear(&records);
    CHECK_OK(rgm_folder_remove(folder));
}

/* The doubles of a packed field in the first record that has it. */
static int64_t packed(double out[64], const rgm_text *records, int field)
{
    /* From the tag "w" on: the bytes of the time before it may look like any field. */
    const char *tag = memmem(records->data, (size_t)records->size, "\n\x01w", 3);

    CHECK(tag != NULL);
    for (int64_t at = tag - records->data + 3; at + 2 < records->size; at++) {
        const uint8_t *p = (const uint8_t *)records->data + at;
        int64_t size = p[1] & 0x7f, head = 2;

        if (p[0] != (field << 3 | 2))
            continue;
        if (p[1] & 0x80) {
            size |= (int64_t)p[2] << 7;
            head = 3;
        }
        if (size % 8 != 0 || size > 512 || size == 0 || at + head + size > records->size)
            continue;
        memcpy(out, p + head, (size_t)size);
        return size / 8;
    }
    return 0;
}

static void a_histogram_counts_every_finite_element(void **state)
{
    const char *folder = check_folder();
    rgm_event_file *file = NULL;
    rgm_tensor *t = NULL;
    rgm_text records = {0};
    double counts[64], sum = 0;
    int64_t count, hundred = 100;

    (void)state;
    CHECK_OK(rgm_tensor_create(&t, RGM_F64, 1, &hundred));
    for (int i = 0; i < 100; i++)
        rgm_tensor_f64(t)[i] = i % 2 ? 1e308 : -1e308 + i * 1e306;
    rgm_tensor_f64(t)[7] = NAN;
    rgm_tensor_f64(t)[9] = -INFINITY;
    CHECK_OK(rgm_event_file_create(&file, folder, 0));
    CHECK_OK(rgm_event_file_histogram(file, "w", 1, t));
    CHECK_OK(rgm_event_file_flush(file));
    read_records(&records, &count, folder, 0);
    CHECK_INT(30, packed(counts, &records, 7));
    for (int b = 0; b < 30; b++)
        sum += counts[b];
    CHECK(sum == 98);
    CHECK(counts[0] > 0 && counts[29] == 48);
    rgm_event_file_close(file);
    rgm_tensor_release(t);
    rgm_text_clear(&records);
    CHECK_OK(rgm_folder_remove(folder));
}

static void text_that_is_not_utf8_does_not_spoil_the_event(void **state)
{
    const char *folder = check_folder();
    rgm_event_file *file = NULL;
    rgm_text records = {0};
    int64_t count;

    (void)state;
    CHECK_OK(rgm_event_file_create(&file, folder, 0));
    CHECK_OK(rgm_event_file_scalar(file, "a\xff", 1, 1));
    CHECK_OK(rgm_event_file_flush(file));
    read_records(&records, &count, folder, 0);
    CHECK_INT(1, occurrences(&records,
                             "\x0a\x04"
                             "a\xef\xbf\xbd",
                             6));
    rgm_event_file_close(file);
    rgm_text_clear(&records);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Each time into a new folder: older files would add more and more allocations. */
static rgm_status write_everything(const char *parent)
{
    static int times;
    char folder[256];
    const rgm_hparam hparams[] = {{"learning_rate", NULL, 0.01}, {"model", "gcn", 0}};
    const rgm_hparam_metric metric = {"epoch_loss", "validation"};
    rgm_event_file *file = NULL;
    rgm_tensor *t = NULL;
    rgm_status status = RGM_OK;

    snprintf(folder, sizeof folder, "%s/%d", parent, times++);
    RGM_GO(rgm_tensor_create(&t, RGM_F32, 0, NULL));
    RGM_GO(rgm_event_file_create(&file, folder, 1));
    RGM_GO(rgm_event_file_scalar(file, "epoch_loss", 1, 0.5));
    RGM_GO(rgm_event_file_histogram(file, "w", 1, t));
    RGM_GO(rgm_event_file_hparams(file, "run", hparams, 2, &metric, 1));
    RGM_GO(rgm_event_file_session_end(file, true));
    RGM_GO(rgm_event_file_flush(file));
done:
    rgm_event_file_close(file);
    rgm_tensor_release(t);
    return status;
}

static void writing_survives_every_failing_allocation(void **state)
{
    const char *folder = check_folder();

    (void)state;
    CHECK_EVERY_OOM(write_everything(folder), (void)0);
    CHECK_OK(rgm_event_file_flush(NULL));
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(a_file_begins_with_its_version),
      cmocka_unit_test(a_scalar_carries_its_metadata_once),
      cmocka_unit_test(a_later_start_makes_a_later_file_that_voids_lost_steps),
      cmocka_unit_test(a_text_is_a_tensor_of_one_string),
      cmocka_unit_test(a_histogram_counts_every_finite_element),
      cmocka_unit_test(text_that_is_not_utf8_does_not_spoil_the_event),
      cmocka_unit_test(writing_survives_every_failing_allocation))
