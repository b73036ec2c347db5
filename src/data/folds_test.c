/* Folds: disjoint, all of it, as many of each label in each, the same for a seed. */
#include <check.h>

#include <regimen/data.h>

enum { ITEMS = 188, CLASSES = 3, FOLDS = 10 };

/* 60 of 0, 125 of 1, 3 of 2, mixed. */
static void fill_labels(double labels[ITEMS])
{
    for (int64_t i = 0; i < ITEMS; i++)
        labels[i] = i % 63 == 5 ? 2 : i % 3 == 0 ? 0 : 1;
}

static void folds_are_disjoint_cover_all_and_are_stratified(void **state)
{
    double labels[ITEMS];
    rgm_fold_part parts[ITEMS];
    int64_t held[ITEMS] = {0}, all[CLASSES] = {0};

    (void)state;
    fill_labels(labels);
    for (int64_t i = 0; i < ITEMS; i++)
        all[(int)labels[i]]++;
    for (int64_t fold = 1; fold <= FOLDS; fold++) {
        rgm_folds folds = {.count = FOLDS, .fold = fold, .valid = 0.1, .seed = 7};
        int64_t count[3] = {0}, of[3][CLASSES] = {{0}};

        CHECK_OK(rgm_folds_parts(parts, labels, ITEMS, &folds));
        for (int64_t i = 0; i < ITEMS; i++) {
            count[parts[i]]++;
            of[parts[i]][(int)labels[i]]++;
            held[i] += parts[i] == RGM_FOLD_TEST;
        }
        CHECK(count[RGM_FOLD_TEST] == 18 || count[RGM_FOLD_TEST] == 19);
        CHECK_INT(17, count[RGM_FOLD_VALID]);
        for (int c = 0; c < CLASSES; c++) {
            CHECK(of[RGM_FOLD_TEST][c] == all[c] / FOLDS ||
                  of[RGM_FOLD_TEST][c] == all[c] / FOLDS + 1);
            CHECK(llabs(10 * of[RGM_FOLD_VALID][c] - (all[c] - of[RGM_FOLD_TEST][c])) <= 10);
        }
    }
    for (int64_t i = 0; i < ITEMS; i++)
        CHECK_INT(1, held[i]);
}

static void a_seed_makes_the_same_folds_and_another_one_others(void **state)
{
    double labels[ITEMS];
    rgm_fold_part a[ITEMS], b[ITEMS], c[ITEMS];
    rgm_folds folds = {.count = 5, .fold = 2, .valid = 0.25, .seed = 1};
    int64_t differ = 0;

    (void)state;
    fill_labels(labels);
    CHECK_OK(rgm_folds_parts(a, labels, ITEMS, &folds));
    CHECK_OK(rgm_folds_parts(b, labels, ITEMS, &folds));
    folds.seed = 2;
    CHECK_OK(rgm_folds_parts(c, labels, ITEMS, &folds));
    for (int64_t i = 0; i < ITEMS; i++) {
        CHECK_INT(a[i], b[i]);
        differ += a[i] != c[i];
    }
    CHECK(differ > 20);
}

/* Of 100 numbers each fold of 4 has 25 whose mean is near the mean of all, by their order. */
static void numbers_are_stratified_by_their_order(void **state)
{
    double labels[100];
    rgm_fold_part parts[100];

    (void)state;
    for (int64_t i = 0; i < 100; i++)
        labels[i] = (double)((i * 37) % 100);
    for (int64_t fold = 1; fold <= 4; fold++) {
        rgm_folds folds = {.count = 4, .fold = fold, .seed = 3};
        int64_t tens[10] = {0};

        CHECK_OK(rgm_folds_parts(parts, labels, 100, &folds));
        for (int64_t i = 0; i < 100; i++)
            tens[(int)labels[i] / 10] += parts[i] == RGM_FOLD_TEST;
        for (int k = 0; k < 10; k++)
            CHECK(tens[k] == 2 || tens[k] == 3);
    }
}

static void a_share_is_held_out_of_items_that_are_split_already(void **state)
{
    double labels[ITEMS];
    rgm_fold_part parts[ITEMS];
    int64_t of[2][CLASSES] = {{0}};

    (void)state;
    fill_labels(labels);
    CHECK_OK(rgm_folds_hold_out(parts, labels, ITEMS, 0.5, 1));
    for (int64_t i = 0; i < ITEMS; i++)
        of[parts[i]][(int)labels[i]]++;
    for (int c = 0; c < CLASSES; c++)
        CHECK(llabs(of[RGM_FOLD_TRAIN][c] - of[RGM_FOLD_VALID][c]) <= 1);
}

static void what_cannot_be_parted_is_refused(void **state)
{
    rgm_fold_part parts[4];
    rgm_folds folds = {.count = 3, .fold = 4};

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_folds_parts(parts, NULL, 4, &folds));
    CHECK_MESSAGE("fold 4 of 3");
    folds.fold = 0;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_folds_parts(parts, NULL, 4, &folds));
    CHECK_MESSAGE("fold 0 of 3");
    folds = (rgm_folds){.count = 1, .fold = 1};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_folds_parts(parts, NULL, 4, &folds));
    CHECK_MESSAGE("fold 1 of 1");
    folds = (rgm_folds){.count = 5, .fold = 1};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_folds_parts(parts, NULL, 4, &folds));
    CHECK_MESSAGE("4 items cannot be parted into 5 folds");
    folds = (rgm_folds){.count = 4, .fold = 1, .valid = 0.1};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_folds_parts(parts, NULL, 4, &folds));
    CHECK_MESSAGE("0.1 of the 3 items that are not held out are 0");
    folds.valid = 0.9;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_folds_parts(parts, NULL, 4, &folds));
    CHECK_MESSAGE("3 to validate on and 0 to train on");
}

static void memory_may_be_short(void **state)
{
    double labels[ITEMS];
    rgm_fold_part parts[ITEMS];
    rgm_folds folds = {.count = 5, .fold = 2, .valid = 0.25, .seed = 1};

    (void)state;
    fill_labels(labels);
    CHECK_EVERY_OOM(rgm_folds_parts(parts, labels, ITEMS, &folds), (void)0);
}

TESTS(cmocka_unit_test(folds_are_disjoint_cover_all_and_are_stratified),
      cmocka_unit_test(a_seed_makes_the_same_folds_and_another_one_others),
      cmocka_unit_test(numbers_are_stratified_by_their_order),
      cmocka_unit_test(a_share_is_held_out_of_items_that_are_split_already),
      cmocka_unit_test(what_cannot_be_parted_is_refused), cmocka_unit_test(memory_may_be_short))
