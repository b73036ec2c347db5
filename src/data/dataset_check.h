/* What the tests of recipes share: elements as text, sequences, ready-made functions and files. */
#ifndef RGM_DATASET_CHECK_H
#define RGM_DATASET_CHECK_H

#include <check.h>

#include <regimen/data.h>

/** An element as text: bytes as they are, scalars as numbers, lists in brackets. */
static inline void describe(rgm_text *out, const rgm_element *element)
{
    int64_t size;
    const void *bytes = rgm_element_bytes(element, &size);

    switch (rgm_element_get_kind(element)) {
    case RGM_ELEMENT_BYTES:
        CHECK_OK(rgm_text_add(out, bytes, size));
        break;
    case RGM_ELEMENT_TENSORS:
        for (int64_t i = 0; i < rgm_element_count(element); i++) {
            rgm_tensor *t = rgm_element_tensor(element, i);
            for (int64_t k = 0; k < rgm_tensor_count(t); k++)
                CHECK_OK(rgm_text_printf(out, "%s%g", k + i > 0 ? "," : "", rgm_tensor_at(t, k)));
        }
        break;
    case RGM_ELEMENT_LIST:
        CHECK_OK(rgm_text_add(out, "[", 1));
        for (int64_t i = 0; i < rgm_element_count(element); i++) {
            if (i > 0)
                CHECK_OK(rgm_text_add(out, " ", 1));
            describe(out, rgm_element_item(element, i));
        }
        CHECK_OK(rgm_text_add(out, "]", 1));
        break;
    default:
        fail_msg("an element of an unexpected kind");
    }
}

/** The next of an iterator as text, allocated by rgm; NULL at the end. An error is "!message". */
static inline char *next_text(rgm_iterator *iterator)
{
    rgm_element *element;
    rgm_text text = {0};
    rgm_status status = rgm_iterator_next(&element, iterator);

    if (status == RGM_END)
        return NULL;
    CHECK(status <= 0);
    if (status < 0)
        CHECK_OK(rgm_text_printf(&text, "!%s", rgm_error_message()));
    else {
        CHECK_OK(rgm_text_add(&text, "", 0));
        describe(&text, element);
    }
    rgm_element_release(element);
    return text.data;
}

/** The whole sequence, joined by " | ". `text` is cleared before. */
static inline const char *sequence(rgm_text *text, const rgm_dataset *dataset, uint64_t seed,
                                   int threads)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_iterator *iterator;
    char *one;

    options.seed = seed;
    options.threads = threads;
    rgm_text_clear(text);
    CHECK_OK(rgm_text_add(text, "", 0));
    CHECK_OK(rgm_iterator_create(&iterator, dataset, &options));
    while ((one = next_text(iterator)) != NULL) {
        CHECK_OK(rgm_text_printf(text, "%s%s", text->size > 0 ? " | " : "", one));
        rgm_free(one);
    }
    CHECK(next_text(iterator) == NULL); /* the end stays the end */
    rgm_iterator_release(iterator);
    return text->data;
}

/** A map: the element's text, its index and a draw, as bytes. */
static inline rgm_status stamp(rgm_element **out, const rgm_element *element,
                               const rgm_map_call *call, void *payload)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    (void)payload;
    describe(&text, element);
    RGM_GO(rgm_text_printf(&text, "#%lld:%02x", (long long)call->index,
                           rgm_rng_u32(&call->rng, 0) & 0xff));
    RGM_GO(rgm_element_create_bytes(out, text.data, text.size));
done:
    rgm_text_clear(&text);
    return status;
}

/** A map that fails on every 7th element, drops every 5th and passes on the others. */
static inline rgm_status trouble(rgm_element **out, const rgm_element *element,
                                 const rgm_map_call *call, void *payload)
{
    (void)payload;
    if (call->index % 7 == 3)
        return RGM_FAIL(RGM_ERR_DATA, "no good: %lld", (long long)call->index);
    if (call->index % 5 == 4)
        return RGM_END;
    *out = rgm_element_retain(element);
    return RGM_OK;
}

/** A filter: about two of three, by the text. */
static inline rgm_status two_of_three(bool *keep, const rgm_element *element, void *payload)
{
    rgm_text text = {0};

    (void)payload;
    describe(&text, element);
    *keep = rgm_hash64(text.data, (size_t)text.size) % 3 != 0;
    rgm_text_clear(&text);
    return RGM_OK;
}

#endif
