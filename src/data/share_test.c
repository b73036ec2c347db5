/*
 * Iterators with a share: what they give has the bits and places that it has without one, also from
 * a saved position on, and the maps are not called for the rest.
 */
#include "dataset_check.h"

#include <stdatomic.h>

enum { EPOCH = 11, GIVEN = 40, AHEAD = 10, KINDS = 7 };

/* A map that counts its calls. */
static rgm_status count_call(rgm_element **out, const rgm_element *element,
                             const rgm_map_call *call, void *payload)
{
    atomic_fetch_add((atomic_int *)payload, 1);
    return stamp(out, element, call, NULL);
}

/* Batches of a shuffled range behind maps, and what may stand behind those. */
static rgm_dataset *recipe(int kind, atomic_int *calls)
{
    rgm_dataset *ds;
    int parallel = kind % 3; /* 0: another form of position */

    CHECK_OK(rgm_dataset_range(&ds, 0, 2 * EPOCH));
    CHECK_OK(rgm_dataset_shuffle_all(&ds));
    CHECK_OK(rgm_dataset_batch(&ds, 2, false));
    CHECK_OK(rgm_dataset_map_each(&ds, stamp, NULL, NULL, parallel));
    if (kind == 5) /* what is below it has other places */
        CHECK_OK(rgm_dataset_take(&ds, EPOCH - 1));
    CHECK_OK(rgm_dataset_map_each(&ds, count_call, calls, NULL, parallel));
    if (kind == 3)
        CHECK_OK(rgm_dataset_prefetch(&ds, 2));
    if (kind > 0)
        CHECK_OK(rgm_dataset_repeat(&ds, kind == 6 ? 3 : -1));
    if (kind > 1)
        CHECK_OK(rgm_dataset_prefetch(&ds, 2));
    return ds;
}

static rgm_iterator *iterate(const rgm_dataset *ds, const rgm_text *position)
{
    rgm_iterator_options options = {.seed = 5, .threads = 2};
    rgm_iterator *iterator;

    CHECK_OK(rgm_iterator_create(&iterator, ds, &options));
    if (position != NULL)
        CHECK_OK(rgm_iterator_restore(iterator, position->data, position->size));
    return iterator;
}

/* What an iterator without a share gives, and its position before each. Returns how many. */
static int whole(char **texts, rgm_text *positions, const rgm_dataset *ds)
{
    rgm_iterator *iterator = iterate(ds, NULL);
    int count = 0;

    for (; count < GIVEN; count++) {
        positions[count] = (rgm_text){0};
        CHECK_OK(rgm_iterator_save(&positions[count], iterator));
        texts[count] = next_text(iterator);
        if (texts[count] == NULL)
            break;
    }
    rgm_iterator_release(iterator);
    return count;
}

/* Elements [first, first + count) of every `period`, from place `from` on. */
static void check_share(const rgm_dataset *ds, char *const *texts, const rgm_text *positions,
                        int all, int from, const int share[3], atomic_int *calls)
{
    rgm_iterator *iterator = iterate(ds, from > 0 ? &positions[from] : NULL);
    int wanted = 0;

    CHECK_OK(rgm_iterator_share(iterator, share[0], share[1], share[2]));
    atomic_store(calls, 0);
    for (int i = from; i < all; i++) {
        int at = (i - from) % share[0];
        rgm_element *element;
        rgm_text text = {0};

        CHECK_OK(rgm_iterator_next(&element, iterator));
        if (at < share[1] || at >= share[1] + share[2]) {
            CHECK(element == NULL);
            continue;
        }
        wanted++;
        CHECK(element != NULL);
        describe(&text, element);
        CHECK(strcmp(texts[i], text.data) == 0);
        rgm_text_clear(&text);
        rgm_element_release(element);
        if (i % 5 == 0) { /* the position is the same, too */
            CHECK_OK(rgm_iterator_save(&text, iterator));
            CHECK(i + 1 >= all ||
                  (text.size == positions[i + 1].size &&
                   memcmp(text.data, positions[i + 1].data, (size_t)text.size) == 0));
            rgm_text_clear(&text);
        }
    }
    CHECK_STATUS(RGM_ERR_ARG, rgm_iterator_share(iterator, 2, 0, 1));
    rgm_iterator_release(iterator);
    CHECK(atomic_load(calls) >= wanted);
    if (atomic_load(calls) > wanted + AHEAD)
        fail_msg("from %d: %d calls for %d elements", from, atomic_load(calls), wanted);
}

static void a_share_has_the_bits_of_the_whole_and_makes_nothing_else(void **state)
{
    const int shares[][3] = {{4, 0, 1}, {4, 2, 2}, {8, 7, 1}, {1, 0, 1}};

    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        char *texts[GIVEN + 1];
        rgm_text positions[GIVEN + 1];
        atomic_int calls;
        rgm_dataset *ds = recipe(kind, &calls);
        int count = whole(texts, positions, ds);

        CHECK(count == (kind == 0 ? EPOCH : kind == 6 ? 3 * EPOCH : GIVEN));
        for (int s = 0; s < 4; s++)
            for (int from = 0; from < count; from += 3)
                check_share(ds, texts, positions, count, from, shares[s], &calls);
        for (int i = 0; i < count; i++)
            rgm_free(texts[i]);
        for (int i = 0; i <= count && i < GIVEN; i++)
            rgm_text_clear(&positions[i]);
        rgm_dataset_release(ds);
    }
}

/* Where places are not those of the iterator, all is made and the rest is thrown away. */
static void what_is_drawn_from_or_dropped_is_made_whole(void **state)
{
    atomic_int calls;
    rgm_dataset *ds;
    rgm_iterator *iterator;
    rgm_element *element;

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        CHECK_OK(rgm_dataset_range(&ds, 0, EPOCH));
        CHECK_OK(rgm_dataset_map_each(&ds, count_call, &calls, NULL, 1));
        if (kind == 0)
            CHECK_OK(rgm_dataset_shuffle(&ds, 4));
        else
            CHECK_OK(rgm_dataset_map(&ds, trouble, NULL, NULL, 1));
        atomic_store(&calls, 0);
        iterator = iterate(ds, NULL);
        CHECK_OK(rgm_iterator_share(iterator, 2, 1, 1));
        while (rgm_iterator_next(&element, iterator) != RGM_END)
            rgm_element_release(element);
        CHECK_INT(EPOCH, atomic_load(&calls));
        rgm_iterator_release(iterator);
        rgm_dataset_release(ds);
    }
}

static rgm_status drop(rgm_element **out, const rgm_element *element, const rgm_map_call *call,
                       void *payload)
{
    (void)out, (void)element, (void)call, (void)payload;
    return RGM_END;
}

static void mistakes_are_told(void **state)
{
    rgm_dataset *ds;
    rgm_iterator *iterator;
    rgm_element *element;

    (void)state;
    CHECK_OK(rgm_dataset_range(&ds, 0, 4));
    CHECK_OK(rgm_dataset_map_each(&ds, drop, NULL, NULL, 1));
    iterator = iterate(ds, NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_iterator_share(iterator, 4, 3, 2));
    CHECK_MESSAGE("[3, 3 + 2) of every 4");
    CHECK_STATUS(RGM_ERR_ARG, rgm_iterator_share(iterator, 0, 0, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_iterator_share(iterator, 4, -1, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_iterator_share(iterator, 4, 0, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_iterator_next(&element, iterator));
    CHECK_MESSAGE("has dropped one");
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
}

TESTS(cmocka_unit_test(a_share_has_the_bits_of_the_whole_and_makes_nothing_else),
      cmocka_unit_test(what_is_drawn_from_or_dropped_is_made_whole),
      cmocka_unit_test(mistakes_are_told))
