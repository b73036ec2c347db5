/*
 * Elements as bytes: what is decoded is what was encoded, and every cut or changed byte is refused
 * or gives an element that is sound.
 */
#include "dataset_check.h"
#include "element_bytes_check.h"

#include <string.h>

/* ---- a type of an object ----------------------------------------------------------------------
 */

static void release_number(void *object)
{
    rgm_free(object);
}

static rgm_status put_number(rgm_text *out, const void *object)
{
    return rgm_state_put_int(out, *(const int64_t *)object);
}

static rgm_status get_number(void **out, const void *data, int64_t size)
{
    rgm_state_reader reader = {data, size, 0};
    int64_t *number;
    rgm_status status;

    RGM_TRY(RGM_NEW(number, 1));
    status = rgm_state_get_int(number, &reader);
    if (status == RGM_OK)
        *out = number;
    else
        rgm_free(number);
    return status;
}

static const rgm_element_type number_type = {"number", release_number, put_number, get_number,
                                             NULL},
                              mute_type = {.name = "mute"};
static const rgm_element_type *const types[] = {&mute_type, &number_type, NULL};

static rgm_element *number_element(int64_t number)
{
    rgm_element *element;
    int64_t *object;

    CHECK_OK(RGM_NEW(object, 1));
    *object = number;
    CHECK_OK(rgm_element_create_pointer(&element, &number_type, object));
    return element;
}

/* ---- one of everything ------------------------------------------------------------------------
 */

static rgm_element *tensors_element(void)
{
    static const float f32[6] = {1, -2, 3.5f, 0, 1e30f, -0.0f};
    static const int32_t i32[1] = {-7};
    static const uint8_t flags[2] = {1, 0};
    static const uint16_t halves[2] = {0x3f80, 0};
    static const rgm_str texts[3] = {{"a", 1}, {"", 0}, {"long\0er", 7}};
    rgm_tensor *t[6];
    rgm_element *element;

    CHECK_OK(rgm_tensor_create_from(&t[0], RGM_F32, 2, (int64_t[]){2, 3}, f32));
    CHECK_OK(rgm_tensor_create_from(&t[1], RGM_I32, 0, NULL, i32));
    CHECK_OK(rgm_tensor_create_from(&t[2], RGM_BOOL, 1, (int64_t[]){2}, flags));
    CHECK_OK(rgm_tensor_create_from(&t[3], RGM_STRING, 1, (int64_t[]){3}, texts));
    CHECK_OK(rgm_tensor_create_from(&t[4], RGM_BF16, 1, (int64_t[]){2}, halves));
    CHECK_OK(rgm_tensor_create(&t[5], RGM_F64, 2, (int64_t[]){0, 5}));
    CHECK_OK(rgm_element_create_tensors(&element, t, 6));
    for (int i = 0; i < 6; i++)
        rgm_tensor_release(t[i]);
    return element;
}

static rgm_element *everything(void)
{
    rgm_element *parts[5], *list;

    CHECK_OK(rgm_element_create_bytes(&parts[0], "some\0bytes", 10));
    parts[1] = tensors_element();
    parts[2] = number_element(-5);
    CHECK_OK(rgm_element_create_empty_list(&parts[3], parts[1]));
    CHECK_OK(rgm_element_create_empty_list(&parts[4], NULL));
    CHECK_OK(rgm_element_create_list(&list, parts, 5));
    for (int i = 0; i < 5; i++)
        rgm_element_release(parts[i]);
    return list;
}

static void check_tensors(const rgm_element *a, const rgm_element *b)
{
    CHECK_INT(rgm_element_count(a), rgm_element_count(b));
    for (int64_t i = 0; i < rgm_element_count(a); i++)
        CHECK(rgm_tensor_equal(rgm_element_tensor(a, i), rgm_element_tensor(b, i)));
}

static void what_is_decoded_is_what_was_encoded(void **state)
{
    rgm_element *from = everything(), *to;
    rgm_text bytes = {0}, again = {0};
    int64_t size;

    (void)state;
    CHECK_OK(rgm_element_encode(&bytes, from));
    CHECK_OK(rgm_element_decode(&to, bytes.data, bytes.size, types));
    CHECK_INT(5, rgm_element_count(to));
    CHECK(memcmp(rgm_element_bytes(rgm_element_item(to, 0), &size), "some\0bytes", 10) == 0);
    CHECK_INT(10, size);
    check_tensors(rgm_element_item(from, 1), rgm_element_item(to, 1));
    CHECK_INT(-5, *(int64_t *)rgm_element_pointer(rgm_element_item(to, 2), &number_type));
    check_tensors(rgm_element_item(from, 1), rgm_element_item_like(rgm_element_item(to, 3)));
    CHECK(rgm_element_item_like(rgm_element_item(to, 4)) == NULL);
    CHECK_OK(rgm_element_encode(&again, to));
    CHECK(again.size == bytes.size && memcmp(again.data, bytes.data, (size_t)bytes.size) == 0);
    rgm_element_release(from);
    rgm_element_release(to);
    rgm_text_clear(&bytes);
    rgm_text_clear(&again);
}

static void an_origin_travels_along(void **state)
{
    const char *folder = check_folder();
    rgm_dataset *ds;
    rgm_iterator *iterator;
    rgm_element *from, *to;
    rgm_text bytes = {0};
    rgm_tfrecord_writer *writer;
    char path[256];

    (void)state;
    snprintf(path, sizeof path, "%s/one.tfrecord", folder);
    CHECK_OK(rgm_tfrecord_writer_open(&writer, path, NULL));
    CHECK_OK(rgm_tfrecord_writer_add(writer, "abc", 3));
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    CHECK_OK(rgm_dataset_tfrecord(&ds, path, NULL));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    CHECK_OK(rgm_iterator_next(&from, iterator));
    CHECK_OK(rgm_element_encode(&bytes, from));
    CHECK_OK(rgm_element_decode(&to, bytes.data, bytes.size, NULL));
    CHECK_TEXT(rgm_element_origin(from), rgm_element_origin(to));
    rgm_element_release(from);
    rgm_element_release(to);
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
    rgm_text_clear(&bytes);
    rgm_folder_remove(folder);
}

/* Of each element a form: itself has it, no other kind has. */
static void an_element_has_the_form_of_another_or_not(void **state)
{
    rgm_element *few, *many = tensors_element(), *number = number_element(1),
                      *other = number_element(2), *bytes, *list, *empty;
    rgm_tensor *flat, *tall;

    (void)state;
    CHECK_OK(rgm_tensor_create(&flat, RGM_F32, 1, (int64_t[]){3}));
    CHECK_OK(rgm_tensor_create(&tall, RGM_F32, 2, (int64_t[]){3, 1}));
    CHECK_OK(rgm_element_create_tensors(&few, &flat, 1));
    CHECK_OK(rgm_element_create_tensors(&bytes, &tall, 1));
    CHECK_OK(rgm_element_check_like(many, many));
    CHECK_OK(rgm_element_check_like(number, other));
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_check_like(few, many));
    CHECK_MESSAGE("an element has 1 tensors");
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_check_like(few, bytes));
    CHECK_MESSAGE("tensor 0 of an element is f32 with 1 axes, that of others f32 with 2");
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_check_like(few, number));
    CHECK_MESSAGE("of another kind");
    CHECK_OK(rgm_element_create_list(&list, &number, 1));
    CHECK_OK(rgm_element_create_empty_list(&empty, few));
    CHECK_OK(rgm_element_check_like(list, list));
    CHECK_OK(rgm_element_check_like(empty, list));
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_check_like(list, empty));
    rgm_element *all[] = {few, many, number, other, bytes, list, empty};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rgm_element_release(all[i]);
    rgm_tensor_release(flat);
    rgm_tensor_release(tall);
}

static void what_cannot_travel_says_so(void **state)
{
    rgm_element *element, *deeper, *to;
    rgm_text bytes = {0};

    (void)state;
    CHECK_OK(rgm_element_create_pointer(&element, &mute_type, NULL));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_element_encode(&bytes, element));
    CHECK_MESSAGE("an element of type 'mute' cannot be sent to another process");
    CHECK_INT(0, bytes.size);
    rgm_element_release(element);
    element = number_element(1);
    CHECK_OK(rgm_element_encode(&bytes, element));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_element_decode(&to, bytes.data, bytes.size, NULL));
    CHECK_MESSAGE("is of type 'number', unknown here");
    for (int i = 0; i < RGM_MOST_ELEMENT_LEVELS; i++) {
        CHECK_OK(rgm_element_create_list(&deeper, &element, 1));
        rgm_element_release(element);
        element = deeper;
    }
    bytes.size = 0;
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_element_encode(&bytes, element));
    CHECK_MESSAGE("lists deeper than 16");
    rgm_element_release(element);
    rgm_text_clear(&bytes);
}

static void cut_and_changed_bytes_are_refused_or_sound(void **state)
{
    rgm_element *from = everything();

    (void)state;
    check_damaged_bytes(from, types, 3);
    rgm_element_release(from);
}

static rgm_status there_and_back(const rgm_element *from)
{
    rgm_element *to = NULL;
    rgm_text bytes = {0};
    rgm_status status = rgm_element_encode(&bytes, from);

    if (status == RGM_OK)
        status = rgm_element_decode(&to, bytes.data, bytes.size, types);
    rgm_element_release(to);
    rgm_text_clear(&bytes);
    return status;
}

static void allocations_that_fail_are_errors(void **state)
{
    rgm_element *from = everything();

    (void)state;
    CHECK_EVERY_OOM(there_and_back(from), (void)0);
    rgm_element_release(from);
}

TESTS(cmocka_unit_test(what_is_decoded_is_what_was_encoded),
      cmocka_unit_test(an_origin_travels_along),
      cmocka_unit_test(an_element_has_the_form_of_another_or_not),
      cmocka_unit_test(what_cannot_travel_says_so),
      cmocka_unit_test(cut_and_changed_bytes_are_refused_or_sound),
      cmocka_unit_test(allocations_that_fail_are_errors))
