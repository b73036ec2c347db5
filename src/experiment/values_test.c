/* Every value with its origin, printed so that it reads back; and the restrictions between
 * values. */
#include <check.h>

#include <regimen/experiment.h>
#include <regimen/graph_tasks.h>

static char folder[128];

static const char *write_file(const char *name, const char *text)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    return path;
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void check_same_values(const rgm_experiment *a, const rgm_experiment *b)
{
    const rgm_experiment_value *left, *right;
    int64_t count = rgm_experiment_values(&left, a);

    CHECK_INT(count, rgm_experiment_values(&right, b));
    for (int64_t i = 0; i < count; i++) {
        rgm_text one = {0}, two = {0};

        CHECK_TEXT(left[i].key, right[i].key);
        if (left[i].value == NULL && right[i].value != NULL)
            fail_msg("%s is set on one side only", left[i].key);
        if (left[i].value != NULL && left[i].unused == NULL && left[i].writable) {
            if (!right[i].given)
                fail_msg("%s was not printed", left[i].key);
            CHECK_OK(rgm_yaml_print(&one, left[i].value));
            CHECK_OK(rgm_yaml_print(&two, right[i].value));
            CHECK_TEXT(one.data, two.data);
        }
        rgm_text_clear(&one);
        rgm_text_clear(&two);
    }
}

static bool has_field(const rgm_section_type *type, const char *name)
{
    for (const rgm_field *field = type->fields; field->name != NULL; field++)
        if (strcmp(field->name, name) == 0)
            return true;
    return false;
}

/* What a model must be told beside its name. */
static const char *least_keys(const rgm_section_type *model)
{
    return model == &rgm_sgc_model.section ? ", output: 7" : "";
}

/* An experiment printed in full and loaded again has the same values, now all given. */
static void check_reads_back(const char *name, const char *const *sets, int64_t count)
{
    rgm_experiment *first = NULL, *second = NULL;
    rgm_text text = {0};

    CHECK_OK(rgm_experiment_load(&first, name, sets, count));
    CHECK_OK(rgm_experiment_print(&text, first));
    CHECK_OK(rgm_experiment_load(&second, write_file("full.yaml", text.data), NULL, 0));
    check_same_values(first, second);
    rgm_text_clear(&text);
    rgm_experiment_release(first);
    rgm_experiment_release(second);
}

static void every_kind_of_experiment_reads_back_from_its_full_print(void **state)
{
    int64_t count;
    const rgm_named_experiment *named = rgm_named_experiments(&count);
    const rgm_optimizer_type *const *optimizers;
    const rgm_schedule_type *const *schedules;
    char set[256], other[256];

    (void)state;
    for (int64_t i = 0; i < count; i++)
        if (strstr(named[i].text, "\nsearcher:") == NULL) /* no search */
            check_reads_back(named[i].name, NULL, 0);
    for (const rgm_section_type *const *model = rgm_graph_models; *model != NULL; model++) {
        snprintf(set, sizeof set, "model={type: %s%s}", (*model)->name, least_keys(*model));
        check_reads_back("demo", (const char *[]){set, "task.head=dense"}, 2);
    }
    for (const rgm_section_type *const *task = rgm_graph_tasks; *task != NULL; task++) {
        const char *name = (*task)->name;
        bool classes = has_field(*task, "num_classes");
        const char *nodes = has_field(*task, "node_set") ? ", node_set: paper" : "";

        snprintf(set, sizeof set, "task={type: %s%s%s}", name, nodes,
                 classes ? ", class_names: [a, \"b c\", \"#d\", \"1\"]" : "");
        check_reads_back("demo", (const char *[]){set}, 1);
        snprintf(other, sizeof other,
                 "tasks={one: {type: %s%s%s}, two: {type: "
                 "node_classification, num_classes: 7, loss_weight: 0.5}}",
                 name, nodes, classes ? ", num_classes: 3" : "");
        check_reads_back("demo", (const char *[]){"task=~", other}, 2);
    }
    optimizers = rgm_optimizer_types(&count);
    for (int64_t i = 0; i < count; i++) {
        snprintf(set, sizeof set, "optimizer={type: %s}", optimizers[i]->name);
        check_reads_back("demo",
                         (const char *[]){set, "trainer.epochs=~", "trainer.train_steps=5000"}, 3);
    }
    check_reads_back("demo",
                     (const char *[]){"optimizer=~", "trainer=~", "runtime=~", "export=~",
                                      "description=\"# not a: comment\\n\""},
                     5);
    schedules = rgm_schedule_types(&count);
    for (int64_t i = 0; i < count; i++) {
        const char *keys = strcmp(schedules[i]->name, "stepwise") == 0
                               ? "boundaries: [10, 20], values: [1, 0.5, 0.25]"
                           : strstr(schedules[i]->name, "step") != NULL
                               ? "boundaries: [10, 20], values: [1, 0.5]"
                               : "initial: 1e-3";

        snprintf(set, sizeof set, "optimizer.learning_rate={type: %s, %s, warmup: {steps: 10}}",
                 schedules[i]->name, keys);
        check_reads_back("demo", (const char *[]){set}, 1);
    }
    check_reads_back("demo",
                     (const char *[]){"optimizer.average={decay: 0.9}",
                                      "optimizer.rates={\"*bias\": 0.5, gcn: 1}"},
                     2);
    check_reads_back(
        "demo",
        (const char *[]){"restrictions=[\"trainer.epochs <= 200\", 'runtime.seed != null']"}, 1);
}

/* The smallest sections that a task needs; every task type has a line here. */
static const char *least_sections(const char *task)
{
    static const char *const lines[][2] = {
        {"graph network",
         "data: {type: citation}\ntask: {type: node_classification, num_classes: 3}\n"},
        {"classification",
         "data: {path: p, train: t}\ntask: {type: classification, num_classes: 3}\n"},
        {"translation",
         "data: {path: p, train: [a, b], tokenizer: m}\ntask: {type: translation}\n"},
        {"language model",
         "data: {path: p, train: [a], tokenizer: m}\ntask: {type: language_model}\n"},
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strcmp(lines[i][0], task) == 0)
            return lines[i][1];
    fail_msg("least_sections() in %s lacks a line for the task type '%s': its name, and the least "
             "`data:` and `task:` that it takes",
             __FILE__, task);
    return NULL;
}

static void every_task_type_reads_back_with_each_of_its_models(void **state)
{
    int64_t count;
    const rgm_task_type *const *types = rgm_task_types(&count);

    (void)state;
    CHECK(count >= 1);
    for (int64_t i = 0; i < count; i++)
        for (const rgm_section_type *const *n = types[i]->models; *n != NULL; n++) {
            char text[256];

            snprintf(text, sizeof text, "%smodel: {type: %s%s}\n", least_sections(types[i]->name),
                     (*n)->name, least_keys(*n));
            check_reads_back(write_file("task.yaml", text), NULL, 0);
        }
}

static void what_a_task_cannot_do_is_told_without_its_data(void **state)
{
    rgm_experiment *experiment = NULL;
    const char *path = write_file("t.yaml", "data: {path: /nowhere, train: t.csv, shift: 2}\n"
                                            "task: {type: classification, num_classes: 3}\n"
                                            "model: {type: mlp}\n");
    const char *sets[] = {"data.shift=0", "data.train=~"};

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_experiment_load(&experiment, path, NULL, 0));
    CHECK_MESSAGE("t.yaml:2:7: data.shift moves images");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_experiment_load(&experiment, path, sets, 2));
    CHECK_MESSAGE("data.train: name the file to train on");
    CHECK_OK(rgm_experiment_load(&experiment, path, sets, 1));
    rgm_experiment_release(experiment);
}

static void the_print_says_where_each_value_was_set(void **state)
{
    rgm_experiment *experiment = NULL;
    rgm_text text = {0};
    const char *sets[] = {"trainer.epochs=7", "task.label=\"a b\"",
                          "trainer.recovery.begin_steps=3", "data.path=data/cora"};

    (void)state;
    CHECK_OK(rgm_experiment_load(&experiment, "demo", sets, 4));
    CHECK_OK(rgm_experiment_print(&text, experiment));
    CHECK(strstr(text.data, "\n  # path: data/cora                     # --set; only with "
                            "data.type == ogb|folder|parts\n") != NULL);
    CHECK(strstr(text.data, "\n    nodes: 2708                         # demo:8\n") != NULL);
    CHECK(strstr(text.data, "\n  epochs: 7                             # --set\n") != NULL);
    CHECK(strstr(text.data, "\n  label: \"a b\"                          # --set\n") != NULL);
    CHECK(strstr(text.data, "\n    every_seconds: 300                  # default\n") != NULL);
    /* Values without effect or unset are in comments; those that are also defaults are left out. */
    CHECK(strstr(text.data, "\n  # recovery.begin_steps: 3             # --set; only with "
                            "trainer.recovery.loss_upper_bound < inf\n") != NULL);
    CHECK(strstr(text.data, "\n  # recovery.loss_upper_bound: inf      # default\n") != NULL);
    CHECK(strstr(text.data, "max_tries") == NULL);
    rgm_text_clear(&text);
    rgm_experiment_release(experiment);
}

static void what_will_run_is_told_in_a_few_words(void **state)
{
    static const struct {
        const char *name, *set, *text;
    } cases[] = {{"demo", "runtime.seed=1", "gcn on citation data"},
                 {"cora_gat", "runtime.seed=1", "gat_v2 on data/cora"},
                 {"demo", "data={type: records, schema: s, train: \"a-*\"}", "gcn on a-*"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_experiment *experiment = NULL;
        rgm_text text = {0};

        CHECK_OK(rgm_experiment_load(&experiment, cases[i].name, &cases[i].set, 1));
        CHECK_OK(rgm_experiment_describe(&text, experiment));
        CHECK_TEXT(cases[i].text, text.data);
        rgm_text_clear(&text);
        rgm_experiment_release(experiment);
    }
}

/* ---- restrictions -------------------------------------------------------------------------- */

/* A file over `base` is refused with exactly this message after the file's name, or accepted
 * (NULL). */
static void check_over(const char *base, const char *lines, const char *message)
{
    char text[1024], all[1024];
    rgm_experiment *experiment = NULL;

    snprintf(text, sizeof text, "extends: %s\n%s", base, lines);
    if (message == NULL) {
        CHECK_OK(rgm_experiment_load(&experiment, write_file("r.yaml", text), NULL, 0));
        rgm_experiment_release(experiment);
        return;
    }
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_experiment_load(&experiment, write_file("r.yaml", text), NULL, 0));
    CHECK(experiment == NULL);
    /* Paths in messages without the scratch folder. */
    snprintf(all, sizeof all, "%s", rgm_error_message());
    for (char *at; (at = strstr(all, folder)) != NULL;)
        memmove(at, at + strlen(folder) + 1, strlen(at + strlen(folder) + 1) + 1);
    CHECK_TEXT(message, all);
}

static void check_file(const char *lines, const char *message)
{
    check_over("demo", lines, message);
}

static void keys_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    check_file(
        "trainer: {train_steps: 100}\n",
        "r.yaml:2:24: trainer.train_steps is 100 (r.yaml:2) and excludes trainer.epochs, which "
        "is 200 (cora_gcn:26): a run is so many steps or so many epochs long; --set "
        "trainer.epochs=~ takes the epochs back");
    check_file("trainer: {train_steps: 100, epochs: ~}\n", NULL);
    check_file("trainer: {train_steps: 100, epochs: ~, steps_per_epoch: 9}\n",
               "r.yaml:2:24: trainer.train_steps is 100 (r.yaml:2) and excludes "
               "trainer.steps_per_epoch, which is 9 (r.yaml:2): a run is so many steps or so many "
               "epochs long");
    check_file(
        "trainer:\n  train_steps: 9000\n  epochs: ~\n  summary_interval: 1500\n",
        "r.yaml:5:21: trainer.summary_interval is 1500 (r.yaml:5), but must be a multiple of "
        "trainer.steps_per_loop, which is 1000 (default): summaries are written between loops");
    check_file("trainer: {train_steps: 9000, epochs: ~, summary_interval: 2000}\n", NULL);
    check_file("trainer: {summary_interval: 1500}\n", NULL); /* in epochs: each step has one */
    check_file("trainer: {validation_per_epoch: 4, steps_per_epoch: 3}\n",
               "r.yaml:2:33: trainer.validation_per_epoch is 4 (r.yaml:2), but must be at most "
               "trainer.steps_per_epoch, which is 3 (r.yaml:2): validations inside an epoch are so "
               "many steps apart");
    check_file("trainer: {validation_per_epoch: 4, steps_per_epoch: 4}\n", NULL);
    check_file("trainer: {validation_per_epoch: 2, steps_per_epoch: 4, validation_freq: 2}\n",
               "r.yaml:2:73: trainer.validation_freq is 2 (r.yaml:2), but must be 1: "
               "trainer.validation_per_epoch already says when to validate");
    check_file(
        "trainer: {validation_steps: 0}\n",
        "r.yaml:2:29: trainer.validation_steps is 0 (r.yaml:2), but must not be 0: -1 is the "
        "whole validation set");
    check_file("runtime: {loss_scale: -1}\n",
               "r.yaml:2:23: 'loss_scale' is -1; it is none, dynamic or a number above 0");
    check_file("runtime: {loss_scale: 128}\n", NULL);
    check_file("runtime: {loss_scale: dynamic}\n", NULL);
    check_file(
        "trainer: {recovery: {policy: skip, max_tries: 0}}\n",
        "r.yaml:2:47: trainer.recovery.max_tries is 0 (r.yaml:2), but must be at least 1: a bad "
        "step could not be recovered from even once");
    check_file(
        "task: {num_classes: 5}\n",
        "cora_gcn:18:11: model.output is 7 (cora_gcn:18), but must be task.num_classes, which is "
        "5 (r.yaml:2): task.head is none, so the model's outputs are the logits");
    check_file("task: {num_classes: 5, head: dense}\n", NULL);
}

static void what_cannot_be_private_is_refused(void **state)
{
    (void)state;
    check_file("trainer: {privacy: {noise_multiplier: 1}}\n",
               "r.yaml:2:20: privacy.noise_multiplier is 1 without a clipping_norm, which the "
               "noise is measured in");
    check_file("trainer: {privacy: {clipping_norm: 1}}\n",
               "r.yaml:2:20: trainer.privacy: no privacy for a graph network: a node's features "
               "reach the gradients of every node around it, so clipping each example's gradient "
               "bounds nobody's influence");
    check_over("digits_private", "trainer: {accumulation_steps: 4}\n",
               "r.yaml:2:31: trainer.accumulation_steps is 4 (r.yaml:2), but must be 1: a private "
               "step adds up the gradients of single examples itself");
    check_over("digits_private", "trainer: {recovery: {policy: skip}}\n",
               "r.yaml:2:30: trainer.recovery.policy is skip (r.yaml:2), but must be stop: a "
               "single example could decide which steps count");
    check_over("digits_private", "trainer: {recovery: {loss_upper_bound: 9}}\n",
               "r.yaml:2:40: trainer.recovery.loss_upper_bound is 9 (r.yaml:2), but must be inf: "
               "a single example could decide where the run ends");
    check_over("digits_private", "runtime: {loss_scale: dynamic}\n",
               "r.yaml:2:23: runtime.loss_scale is dynamic (r.yaml:2), but must be none: what is "
               "clipped is the gradient itself");
    check_over("digits_private", "data: {poisson: false}\n",
               "r.yaml:2:17: data.poisson is false (r.yaml:2), but must be true: "
               "trainer.privacy.sampling is poisson");
    check_over("digits_private", "model: {batch_norm: true}\n",
               "r.yaml:2:21: model.batch_norm is true (r.yaml:2), but must be false: its averages "
               "over examples would give them away");
    check_over("digits_private", "trainer: {privacy: {target_epsilon: 3}}\n",
               "digits_private:12:12: privacy.noise_multiplier (1.1) and privacy.target_epsilon "
               "(3) exclude each other: the noise is given, or found for the epsilon");
    check_over("digits_private", "trainer: {privacy: {target_epsilon: 3, noise_multiplier: 0}}\n",
               NULL);
    check_over("digits_private", "runtime: {loss_scale: none}\n", NULL);
}

static void a_file_has_restrictions_of_its_own(void **state)
{
    (void)state;
    check_file("restrictions:\n"
               "  - trainer.epochs <= 200\n"
               "  - trainer.epochs >= 200\n"
               "  - trainer.epochs < 201\n"
               "  - trainer.epochs > 199.5\n"
               "  - trainer.epochs == 2e2\n"
               "  - trainer.epochs != 1\n"
               "  - trainer.epochs multiple_of 50\n"
               "  - runtime.seed < trainer.epochs\n"
               "  - data.citation.seed==runtime.seed\n"
               "  - model.type == gcn|gat_v2\n"
               "  - model.type != gat_v2\n"
               "  - model.node_set == null\n"
               "  - task.label != null\n"
               "  - trainer.recovery.loss_upper_bound > 1e300\n",
               NULL);
    check_file(
        "restrictions: [trainer.epochs < 200]\n",
        "cora_gcn:26:11: trainer.epochs is 200 (cora_gcn:26), but must be below 200: r.yaml:2 "
        "says so");
    check_file("restrictions: [trainer.checkpoint.keep >= runtime.threads, \n"
               "  trainer.checkpoint.keep > runtime.threads]\n",
               "cora_gcn:29:29: trainer.checkpoint.keep is 2 (default), but must be above "
               "runtime.threads, which is 2 (cora_gcn:29): r.yaml:3 says so");
    check_file(
        "restrictions: [runtime.mixed_precision != f32]\n",
        "r.yaml:2:16: runtime.mixed_precision is f32 (default), but must not be f32: r.yaml:2 "
        "says so");
    check_file(
        "restrictions: [model.node_set != null]\n",
        "r.yaml:2:16: model.node_set is not set (default), but must not be null: r.yaml:2 says "
        "so");
    check_file("restrictions: [model.type < 3]\n",
               "cora_gcn:16:9: model.type is gcn (cora_gcn:16), but "
               "must be below 3: r.yaml:2 says so");
}

static void a_restriction_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    check_file("restrictions: trainer.epochs < 3\n",
               "r.yaml:2:15: restrictions is a list of texts such as \"trainer.steps_per_loop <= "
               "trainer.train_steps\"");
    check_file("restrictions: [{a: b}]\n",
               "r.yaml:2:16: a restriction is a text such as \"trainer.steps_per_loop <= "
               "trainer.train_steps\"");
    check_file(
        "restrictions: [trainer.epochs]\n",
        "r.yaml:2:16: the restriction 'trainer.epochs' has no relation; there are ==, !=, <, "
        "<=, >, >= and multiple_of");
    check_file(
        "restrictions: [1 < trainer.epochs <= 3]\n",
        "r.yaml:2:16: the restriction '1 < trainer.epochs <= 3' has two relations; write it as "
        "two");
    check_file("restrictions: [1 < trainer.epochs]\n",
               "r.yaml:2:16: the restriction '1 < trainer.epochs': there is no key '1'");
    check_file(
        "restrictions: [trainer.epohcs < 3]\n",
        "r.yaml:2:16: the restriction 'trainer.epohcs < 3': there is no key 'trainer.epohcs'; "
        "did you mean 'trainer.epochs'?");
    check_file(
        "restrictions: [trainer.epochs < trainer.train_stpes]\n",
        "r.yaml:2:16: the restriction 'trainer.epochs < trainer.train_stpes': there is no key "
        "'trainer.train_stpes'; did you mean 'trainer.train_steps'?");
    check_file("restrictions: [\"trainer.epochs <\"]\n",
               "r.yaml:2:16: the restriction 'trainer.epochs <': there is no key ''");
    check_file("restrictions: [model.hidden == 64]\n",
               "r.yaml:2:16: the restriction 'model.hidden == 64': model.hidden is a list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_experiment_reads_back_from_its_full_print),
        cmocka_unit_test(every_task_type_reads_back_with_each_of_its_models),
        cmocka_unit_test(what_a_task_cannot_do_is_told_without_its_data),
        cmocka_unit_test(the_print_says_where_each_value_was_set),
        cmocka_unit_test(what_will_run_is_told_in_a_few_words),
        cmocka_unit_test(keys_that_contradict_each_other_are_refused),
        cmocka_unit_test(what_cannot_be_private_is_refused),
        cmocka_unit_test(a_file_has_restrictions_of_its_own),
        cmocka_unit_test(a_restriction_that_cannot_be_read_is_refused)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
