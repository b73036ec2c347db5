/*
 * Classification of records: reading files, holding records out, shifting images, refusals; the
 * smoothed loss and its gradient; networks that learn.
 */
#include <check.h>

#include <regimen/record.h>

/* ---- a task upon a folder of small files ----------------------------------------------------- */

/* A list of one file, which lives as long as the name. */
static rgm_texts one_file(const char *name)
{
    static const char *names[16];
    static int next;
    const char **at = &names[next++ % 16];

    *at = name;
    return (rgm_texts){at, 1};
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char *path = NULL;

    CHECK_OK(rgm_path_join(&path, folder, name));
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    rgm_free(path);
}

static rgm_record_options options_of(const char *folder)
{
    rgm_record_options o;

    rgm_record_defaults(&o);
    o.path = folder;
    o.train = one_file("train.csv");
    o.num_classes = 3;
    o.shuffle = false;
    return o;
}

static rgm_status create(rgm_task *task, const rgm_record_options *options, uint64_t seed)
{
    static rgm_mlp_options mlp;

    rgm_mlp_defaults(&mlp);
    return rgm_record_classification_create(task, options, &rgm_mlp_network, &mlp, seed, 0);
}

/* The next batch of one pass over a mode's data; NULL at its end. */
static rgm_element *next_batch(rgm_iterator *iterator)
{
    rgm_element *batch;
    rgm_status status = rgm_iterator_next(&batch, iterator);

    if (status != RGM_END)
        CHECK_OK(status);
    return batch;
}

static rgm_iterator *iterate(const rgm_task *task, rgm_mode mode, uint64_t epoch)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_dataset *data;
    rgm_iterator *iterator;

    options.epoch = epoch;
    CHECK_OK(task->build_inputs(&data, task->state, mode, false));
    CHECK(data != NULL);
    CHECK_OK(rgm_iterator_create(&iterator, data, &options));
    rgm_dataset_release(data);
    return iterator;
}

static void records_are_scaled_shaped_and_batched_in_order(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);
    rgm_iterator *iterator;
    rgm_element *batch;
    rgm_task task;

    (void)state;
    write_file(folder, "train.csv", "y,a,b,c,d\n2,0,1,2,4\n0,8,8,8,8\n1,-4,0.5,0,0\n");
    o.header = true;
    o.label = "first";
    o.scale = 4;
    o.shape = (rgm_ints){(int64_t[]){2, 2}, 2};
    o.batch_size = 2;
    CHECK_OK(create(&task, &o, 1));
    iterator = iterate(&task, RGM_TRAIN, 0);
    batch = next_batch(iterator);
    CHECK_INT(3, rgm_tensor_rank(rgm_element_tensor(batch, 0)));
    CHECK_INT(2, rgm_tensor_dim(rgm_element_tensor(batch, 0), 0));
    CHECK_INT(2, rgm_tensor_dim(rgm_element_tensor(batch, 0), 2));
    CHECK_CLOSE(rgm_tensor_f32(rgm_element_tensor(batch, 0))[3], 1, 0, 0);
    CHECK_CLOSE(rgm_tensor_f32(rgm_element_tensor(batch, 0))[4], 2, 0, 0);
    CHECK_INT(2, rgm_tensor_i64(rgm_element_tensor(batch, 1))[0]);
    rgm_element_release(batch);
    batch = next_batch(iterator); /* what is left */
    CHECK_INT(1, rgm_tensor_dim(rgm_element_tensor(batch, 0), 0));
    CHECK_CLOSE(rgm_tensor_f32(rgm_element_tensor(batch, 0))[0], -1, 0, 0);
    rgm_element_release(batch);
    CHECK(next_batch(iterator) == NULL);
    rgm_iterator_release(iterator);
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_label_may_stand_in_any_column(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);
    rgm_iterator *iterator;
    rgm_element *batch;
    rgm_task task;

    (void)state;
    write_file(folder, "train.csv", "5,1,7\n6,2,8\n");
    o.label = "1";
    CHECK_OK(create(&task, &o, 1));
    iterator = iterate(&task, RGM_TRAIN, 0);
    batch = next_batch(iterator);
    CHECK_CLOSE(rgm_tensor_f32(rgm_element_tensor(batch, 0))[1], 7, 0, 0);
    CHECK_INT(2, rgm_tensor_i64(rgm_element_tensor(batch, 1))[1]);
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- holding out ----------------------------------------------------------------------------- */

enum { RECORDS = 50 };

/* Record i consists of the number i. */
static void write_numbers(const char *folder)
{
    rgm_text text = {0};

    for (int i = 0; i < RECORDS; i++)
        CHECK_OK(rgm_text_printf(&text, "%d,%d\n", i, i % 3));
    write_file(folder, "train.csv", text.data);
    rgm_text_clear(&text);
}

/* Adds `mark` to where[i] for each record i of a mode. */
static void mark_records(int *where, const rgm_task *task, rgm_mode mode, int mark)
{
    rgm_iterator *iterator = iterate(task, mode, 0);
    rgm_element *batch;

    while ((batch = next_batch(iterator)) != NULL) {
        for (int64_t i = 0; i < rgm_tensor_count(rgm_element_tensor(batch, 1)); i++) {
            int record = (int)rgm_tensor_f32(rgm_element_tensor(batch, 0))[i];

            CHECK_INT(record % 3, rgm_tensor_i64(rgm_element_tensor(batch, 1))[i]);
            where[record] += mark;
        }
        rgm_element_release(batch);
    }
    rgm_iterator_release(iterator);
}

/* where[i] is 1 for a record of train, 10 for one that was held out. */
static void split(int *where, const rgm_record_options *options, uint64_t seed)
{
    rgm_task task;

    memset(where, 0, RECORDS * sizeof *where);
    CHECK_OK(create(&task, options, seed));
    mark_records(where, &task, RGM_TRAIN, 1);
    mark_records(where, &task, RGM_VALID, 10);
    rgm_task_release(&task);
}

static void what_is_held_out_is_not_trained_on_and_the_seed_draws_it(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);
    int first[RECORDS], again[RECORDS], other[RECORDS], held = 0;

    (void)state;
    write_numbers(folder);
    o.valid_fraction = 0.2;
    split(first, &o, 1);
    split(again, &o, 1);
    split(other, &o, 2);
    for (int i = 0; i < RECORDS; i++) {
        CHECK(first[i] == 1 || first[i] == 10);
        held += first[i] == 10;
    }
    CHECK_INT(10, held);
    CHECK(memcmp(first, again, sizeof first) == 0);
    CHECK(memcmp(first, other, sizeof first) != 0);
    CHECK_OK(rgm_folder_remove(folder));
}

static void shuffling_gives_every_record_once_in_another_order_each_epoch(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);
    float order[2][RECORDS];
    rgm_task task;

    (void)state;
    write_numbers(folder);
    o.shuffle = true;
    o.batch_size = RECORDS;
    CHECK_OK(create(&task, &o, 1));
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        rgm_iterator *iterator = iterate(&task, RGM_TRAIN, epoch);
        rgm_element *batch = next_batch(iterator);
        int seen[RECORDS] = {0};

        memcpy(order[epoch], rgm_tensor_f32(rgm_element_tensor(batch, 0)), sizeof order[epoch]);
        for (int i = 0; i < RECORDS; i++)
            seen[(int)order[epoch][i]]++;
        for (int i = 0; i < RECORDS; i++)
            CHECK_INT(1, seen[i]);
        rgm_element_release(batch);
        rgm_iterator_release(iterator);
    }
    CHECK(memcmp(order[0], order[1], sizeof order[0]) != 0);
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- moved images ---------------------------------------------------------------------------- */

/* Where the centre pixel of a 3 x 3 image with two channels moved to; -1: no shift gives this
 * image. */
static int place_of_centre(const float *image)
{
    int at = -1;

    for (int p = 0; p < 9; p++)
        if (image[2 * p] == 5)
            at = p;
    for (int p = 0; at >= 0 && p < 9; p++) {
        int y = p / 3 - at / 3 + 1, x = p % 3 - at % 3 + 1; /* where it came from */
        bool inside = y >= 0 && y < 3 && x >= 0 && x < 3;

        if (image[2 * p] != (inside ? (float)(3 * y + x + 1) : 0) ||
            image[2 * p + 1] != -image[2 * p])
            return -1;
    }
    return at;
}

static void images_move_by_one_pixel_anew_each_epoch_in_training_alone(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);
    int seen[9] = {0};
    rgm_task task;

    (void)state;
    write_file(folder, "train.csv", "1,-1,2,-2,3,-3,4,-4,5,-5,6,-6,7,-7,8,-8,9,-9,0\n");
    o.valid = one_file("train.csv");
    o.shape = (rgm_ints){(int64_t[]){3, 3, 2}, 3};
    o.shift = 1;
    CHECK_OK(create(&task, &o, 1));
    for (int epoch = 0; epoch < 200; epoch++) {
        rgm_iterator *iterator =
            iterate(&task, epoch % 2 == 0 ? RGM_TRAIN : RGM_VALID, (uint64_t)epoch);
        rgm_element *batch = next_batch(iterator);
        int at = place_of_centre(rgm_tensor_f32(rgm_element_tensor(batch, 0)));

        CHECK(at >= 0);
        if (epoch % 2 == 0)
            seen[at]++;
        else
            CHECK_INT(4, at);
        rgm_element_release(batch);
        rgm_iterator_release(iterator);
    }
    for (int p = 0; p < 9; p++)
        CHECK(seen[p] > 0);
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuse(const rgm_record_options *options, rgm_status status, const char *part)
{
    rgm_task task;

    CHECK_STATUS(status, create(&task, options, 1));
    CHECK_MESSAGE(part);
    CHECK(task.state == NULL);
}

/* Every file has its header, and columns are found by their names. */
static void columns_are_found_by_name(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);
    rgm_iterator *iterator;
    rgm_element *batch;
    rgm_task task;

    (void)state;
    write_file(folder, "train.csv", "a,b,y\n1,2,0\n3,4,1\n");
    write_file(folder, "valid.csv", "y,b,a\n1,6,5\n");
    o.header = true;
    o.label = "last";
    o.valid = one_file("valid.csv");
    CHECK_OK(create(&task, &o, 1));
    iterator = iterate(&task, RGM_VALID, 0);
    batch = next_batch(iterator);
    CHECK_CLOSE(rgm_tensor_f32(rgm_element_tensor(batch, 0))[0], 5, 0, 0);
    CHECK_CLOSE(rgm_tensor_f32(rgm_element_tensor(batch, 0))[1], 6, 0, 0);
    CHECK_INT(1, rgm_tensor_i64(rgm_element_tensor(batch, 1))[0]);
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    rgm_task_release(&task);
    write_file(folder, "valid.csv", "a,c,y\n5,6,1\n");
    refuse(&o, RGM_ERR_DATA, "valid.csv: column 1 is 'c', but 'b' in the files before it");
    write_file(folder, "valid.csv", "b,b,y\n5,6,1\n");
    refuse(&o, RGM_ERR_DATA, "valid.csv: column 0 is 'b', but 'a' in the files before it");
    CHECK_OK(rgm_folder_remove(folder));
}

static void parts_are_several_files_and_sets_stand_beside_them(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);
    const char *train[] = {"b.csv", "part-*.csv"}, *valid[] = {"b.csv"}, *sets[] = {"news", "old"};
    rgm_texts files[] = {{train, 2}, {valid, 1}};
    const int64_t order[] = {0, 1, 2, 1, 0};
    char elsewhere[300];
    rgm_eval_set told[RGM_MAX_EVAL_SETS];
    rgm_text text = {0};
    rgm_iterator *iterator;
    rgm_element *batch;
    rgm_dataset *data;
    rgm_task task;
    int64_t count;

    (void)state;
    write_file(folder, "b.csv", "1,2,0\n3,4,1\n");
    write_file(folder, "part-2.csv", "7,8,1\n9,1,0\n");
    write_file(folder, "part-1.csv", "5,6,2\n");
    o.train = files[0];
    o.valid = o.test = files[1];
    o.valid_sets = (rgm_lists){sets, files, 2};
    o.test_sets = (rgm_lists){sets + 1, files + 1, 1};
    o.batch_size = 10;
    snprintf(elsewhere, sizeof elsewhere, "%s/b.csv", folder); /* from / on: as it stands */
    o.test = one_file(elsewhere);
    CHECK_OK(create(&task, &o, 1));
    iterator = iterate(&task, RGM_TRAIN, 0);
    batch = next_batch(iterator); /* in this order; the files of a pattern sorted by name */
    CHECK_INT(5, rgm_tensor_dim(rgm_element_tensor(batch, 0), 0));
    for (int i = 0; i < 5; i++)
        CHECK_INT(order[i], rgm_tensor_i64(rgm_element_tensor(batch, 1))[i]);
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    CHECK_OK(task.plan(&text, task.state));
    CHECK_TEXT("items 5 train, 2 valid, 2 test, 5 valid_news, 2 valid_old, 2 test_old\n",
               text.data);
    task.eval_sets(told, &count, task.state);
    CHECK_INT(3, count);
    CHECK_INT(RGM_TEST, told[2].mode);
    CHECK_OK(task.build_eval_inputs(&data, task.state, 0));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    batch = next_batch(iterator);
    CHECK_CLOSE(rgm_tensor_f32(rgm_element_tensor(batch, 0))[4], 5, 0, 0);
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    rgm_task_release(&task);
    rgm_text_clear(&text);
    write_file(folder, "part-3.csv", "7,8,9,1\n");
    refuse(&o, RGM_ERR_DATA, "part-3.csv: 4 columns, the files before it have 3");
    train[1] = "port-*.csv";
    refuse(&o, RGM_ERR_NOT_FOUND, "port-*.csv");
    train[1] = "part-1.csv";
    valid[0] = "part-3.csv";
    o.valid = o.test = one_file("b.csv");
    refuse(&o, RGM_ERR_DATA, "data.valid_sets.old: ");
    o.test = (rgm_texts){0};
    refuse(&o, RGM_ERR_CONFIG, "data.test_sets stand beside data.test, which is not set");
    CHECK_OK(rgm_folder_remove(folder));
}

static void mistakes_in_files_are_told_with_their_line(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);

    (void)state;
    write_file(folder, "train.csv", "1,2,0\n1,2,3\n");
    refuse(&o, RGM_ERR_DATA, "train.csv:2: the label is 3, but there are 3 classes");
    write_file(folder, "train.csv", "1,2,0\n1,2,-1\n");
    refuse(&o, RGM_ERR_DATA, "the label is -1");
    write_file(folder, "train.csv", "1,2,0\n1,2,0.5\n");
    refuse(&o, RGM_ERR_FORMAT, "train.csv:2:5");
    write_file(folder, "train.csv", "1,2,0\n1,1e39,0\n");
    refuse(&o, RGM_ERR_DATA, "train.csv:2: column 1 is 1e+39");
    write_file(folder, "train.csv", "1,2,0\n1,0\n");
    refuse(&o, RGM_ERR_FORMAT, "train.csv:2:");
    write_file(folder, "train.csv", "");
    refuse(&o, RGM_ERR_DATA, "no records");
    o.valid = one_file("train.csv");
    o.train = one_file("absent.csv");
    refuse(&o, RGM_ERR_NOT_FOUND, "absent.csv");
    o.train = one_file("wide.csv");
    write_file(folder, "wide.csv", "1,2,3,0\n");
    write_file(folder, "train.csv", "1,2,0\n");
    refuse(&o, RGM_ERR_DATA, "2 numbers a record, wide.csv has 3");
    CHECK_OK(rgm_folder_remove(folder));
}

static void options_that_contradict_each_other_or_the_file_are_told(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder), bad;

    (void)state;
    write_file(folder, "train.csv", "1,2,0\n3,4,1\n");
    bad = o;
    bad.num_classes = 0;
    refuse(&bad, RGM_ERR_CONFIG, "num_classes");
    bad = o;
    bad.label_smoothing = 1;
    refuse(&bad, RGM_ERR_CONFIG, "task.label_smoothing is 1");
    bad = o;
    bad.scale = 0;
    refuse(&bad, RGM_ERR_CONFIG, "data.scale is 0");
    bad = o;
    bad.path = NULL;
    refuse(&bad, RGM_ERR_CONFIG, "data.path");
    bad = o;
    bad.valid = one_file("train.csv");
    bad.valid_fraction = 0.5;
    refuse(&bad, RGM_ERR_CONFIG, "not both");
    bad = o;
    bad.valid_fraction = 0.1;
    refuse(&bad, RGM_ERR_CONFIG, "of 2 records that holds out 0");
    bad = o;
    bad.shift = 1;
    refuse(&bad, RGM_ERR_CONFIG, "data.shape");
    bad = o;
    bad.shape = (rgm_ints){(int64_t[]){2, 2}, 2};
    refuse(&bad, RGM_ERR_CONFIG, "4 numbers of a record");
    bad = o;
    bad.label = "3";
    refuse(&bad, RGM_ERR_CONFIG, "has columns 0 to 2");
    bad = o;
    bad.label = "middle";
    refuse(&bad, RGM_ERR_CONFIG, "first, last");
    CHECK_OK(rgm_folder_remove(folder));
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);
    rgm_task task;

    (void)state;
    write_numbers(folder);
    o.valid_fraction = 0.2;
    CHECK_EVERY_OOM(create(&task, &o, 1), rgm_task_release(&task));
    o.valid_fraction = 0;
    o.folds = (rgm_folds){.count = 3, .fold = 2, .valid = 0.3, .seed = 1};
    CHECK_EVERY_OOM(create(&task, &o, 1), rgm_task_release(&task));
    write_file(folder, "train.csv", "y,a,b\n0,1,2\n1,3,4\n"); /* columns by name */
    write_file(folder, "valid.csv", "b,y,a\n6,1,5\n");
    o = options_of(folder);
    o.header = true;
    o.label = "first";
    o.valid = one_file("valid.csv");
    CHECK_EVERY_OOM(create(&task, &o, 1), rgm_task_release(&task));
    CHECK_OK(rgm_folder_remove(folder));
}

/* Three folds: each record is tested on once, and no record is in two parts. */
static void records_are_parted_into_folds(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o = options_of(folder);
    rgm_text plan = {0};
    rgm_task task;
    int64_t of[3], tested = 0, all = 0;

    (void)state;
    write_numbers(folder);
    for (int64_t fold = 1; fold <= 3; fold++) {
        o.folds = (rgm_folds){.count = 3, .fold = fold, .valid = 0.3, .seed = 1};
        CHECK_OK(create(&task, &o, 1));
        CHECK_OK(task.plan(&plan, task.state));
        CHECK_INT(
            3, sscanf(plan.data, "items %ld train, %ld valid, %ld test", &of[0], &of[1], &of[2]));
        CHECK(strstr(plan.data, "\nfolds fold ") != NULL);
        CHECK(fold == 1 || of[0] + of[1] + of[2] == all);
        all = of[0] + of[1] + of[2];
        tested += of[2];
        plan.size = 0;
        rgm_task_release(&task);
    }
    CHECK_INT(all, tested);
    rgm_text_clear(&plan);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- the loss -------------------------------------------------------------------------------- */

enum { ITEMS = 3, CLASSES = 4 };
static const double logits_at[ITEMS * CLASSES] = {0.3, -1.2, 2.5,  0.1, 4,   4,
                                                  -4,  0,    -0.7, 0.2, 0.6, -2};
static const int64_t labels_at[ITEMS] = {2, 1, 0};

/* The definition: -sum_k q_k log p_k. */
static double smoothed_by_hand(const double *z, int64_t label, double smoothing)
{
    double total = 0, sum = 0;

    for (int k = 0; k < CLASSES; k++)
        total += exp(z[k]);
    for (int k = 0; k < CLASSES; k++) {
        double q = (k == label ? 1 - smoothing : 0) + smoothing / CLASSES;

        sum -= q * (z[k] - log(total));
    }
    return sum;
}

static void smoothed_cross_entropy_and_its_gradient_are_those_of_the_definition(void **state)
{
    int64_t shape[2] = {ITEMS, CLASSES};
    rgm_tensor *logits, *labels, *out[2];
    rgm_value *z, *y, *fetches[2], *loss;
    rgm_cgraph *graph;
    rgm_executor *executor;

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&logits, RGM_F64, 2, shape, logits_at));
    CHECK_OK(rgm_tensor_create_from(&labels, RGM_I64, 1, shape, labels_at));
    for (int s = 0; s < 3; s++) {
        double smoothing = (double[]){0, 0.1, 0.7}[s];
        rgm_feed feeds[2];

        CHECK_OK(rgm_cgraph_create(&graph));
        z = rgm_input(graph, "z", RGM_F64, 2, shape);
        y = rgm_input(graph, "y", RGM_I64, 1, shape);
        fetches[0] = rgm_class_loss(z, y, &(rgm_class_loss_options){.smoothing = smoothing});
        loss = rgm_sum(fetches[0]);
        CHECK_OK(rgm_cgraph_status(graph));
        CHECK_OK(rgm_cgraph_gradients(&fetches[1], loss, &z, 1));
        CHECK_OK(rgm_executor_create(&executor, graph, fetches, 2, NULL));
        feeds[0] = (rgm_feed){.input = z, .tensor = logits};
        feeds[1] = (rgm_feed){.input = y, .tensor = labels};
        CHECK_OK(rgm_executor_run(executor, out, NULL, feeds, 2, 0, 0));
        for (int i = 0; i < ITEMS; i++)
            CHECK_CLOSE(rgm_tensor_at(out[0], i),
                        smoothed_by_hand(logits_at + CLASSES * i, labels_at[i], smoothing), 1e-12,
                        0);
        for (int k = 0; k < ITEMS * CLASSES; k++) {
            const double h = 1e-5;
            double moved[CLASSES], up, down;

            memcpy(moved, logits_at + k / CLASSES * CLASSES, sizeof moved);
            moved[k % CLASSES] += h;
            up = smoothed_by_hand(moved, labels_at[k / CLASSES], smoothing);
            moved[k % CLASSES] -= 2 * h;
            down = smoothed_by_hand(moved, labels_at[k / CLASSES], smoothing);
            CHECK_CLOSE(rgm_tensor_at(out[1], k), (up - down) / (2 * h), 1e-7, 1e-9);
        }
        rgm_executor_release(executor);
        rgm_cgraph_release(graph);
    }
    CHECK_OK(rgm_cgraph_create(&graph));
    z = rgm_input(graph, "z", RGM_F64, 2, shape);
    y = rgm_input(graph, "y", RGM_I64, 1, shape);
    CHECK(rgm_class_loss(z, y, &(rgm_class_loss_options){.smoothing = 1}) == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(graph));
    CHECK_MESSAGE("[0, 1)");
    rgm_cgraph_release(graph);
    rgm_tensor_release(logits);
    rgm_tensor_release(labels);
}

TESTS(cmocka_unit_test(records_are_scaled_shaped_and_batched_in_order),
      cmocka_unit_test(a_label_may_stand_in_any_column),
      cmocka_unit_test(columns_are_found_by_name),
      cmocka_unit_test(what_is_held_out_is_not_trained_on_and_the_seed_draws_it),
      cmocka_unit_test(shuffling_gives_every_record_once_in_another_order_each_epoch),
      cmocka_unit_test(images_move_by_one_pixel_anew_each_epoch_in_training_alone),
      cmocka_unit_test(parts_are_several_files_and_sets_stand_beside_them),
      cmocka_unit_test(mistakes_in_files_are_told_with_their_line),
      cmocka_unit_test(options_that_contradict_each_other_or_the_file_are_told),
      cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
      cmocka_unit_test(records_are_parted_into_folds),
      cmocka_unit_test(smoothed_cross_entropy_and_its_gradient_are_those_of_the_definition))
