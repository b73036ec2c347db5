/*
 * NVRTC compiles every element-wise program that the named experiments generate, for three kinds of
 * GPUs: each trains two steps and is evaluated on a GPU that is not there (shadow_device.h).
 *
 *     REGIMEN_DATA=FOLDER nvrtc_configs_test [NAME...]    the folder with cora, digits, imdb, ..
 */
#include <regimen/device_program.h>
#include <regimen/experiment.h>
#include <train_check.h>
#include <unistd.h>

enum { MOST = 4096, ARCHITECTURES = 3 };
static const int architectures[ARCHITECTURES] = {80, 90, 100};

static struct {
    uint64_t known[MOST]; /* programs, by what they are */
    int count;
    int64_t compiled;
} programs;

/* The fixed sources are nvrtc_test's. */
static rgm_status compile(const char *name, const char *source, rgm_dtype dtype)
{
    uint64_t hash = rgm_hash64(source, strlen(source)) + (dtype == RGM_F64);

    if (strcmp(name, "map") != 0)
        return RGM_OK;
    for (int i = 0; i < programs.count; i++)
        if (programs.known[i] == hash)
            return RGM_OK;
    CHECK(programs.count < MOST);
    programs.known[programs.count++] = hash;
    for (int a = 0; a < ARCHITECTURES; a++) {
        rgm_status status = rgm_program_check(name, source, dtype, architectures[a]);
        if (status != RGM_OK)
            fail_msg("compute_%d: %s\n%s", architectures[a], rgm_error_message(),
                     strstr(source, "FUNCTION REAL chain"));
        programs.compiled++;
    }
    return RGM_OK;
}

#define SHADOW_PROGRAM(name, source, dtype) compile(name, source, dtype)
#include <shadow_device.h>

/* Of a search what its hyperparameters make is here; the search itself is none of a device's. */
static const struct config_case {
    const char *name, *sets[4]; /* and what is laid over it */
} cases[] = {
    {"cora_appnp", {0}},
    {"cora_cluster", {0}},
    {"cora_dgi", {0}},
    {"cora_dgi_probe", {"trainer.initialize=~"}},
    {"cora_gat", {0}},
    {"cora_gcn", {0}},
    {"cora_gcn", {"model.normalization=in", "model.self_loops=false"}},
    {"cora_gcn", {"model.normalization=in_out", "runtime.mixed_precision=bf16"}},
    {"cora_links", {0}},
    {"cora_mpnn_sampled", {"data.sampling.store=memory"}},
    {"cora_sage", {0}},
    {"cora_saint", {0}},
    {"cora_shadow", {0}},
    {"cora_two_tasks", {0}},
    {"demo", {0}},
    {"digits_cnn", {0}},
    {"digits_cnn", {"runtime.mixed_precision=bf16"}},
    {"digits_mlp", {0}},
    {"digits_mlp", {"model.hidden=[512, 256]", "task.label_smoothing=0.1"}},
    {"digits_private", {0}},
    {"events", {0}},
    {"imdb", {0}},
    {"imdb", {"model.aggregator=mean", "model.hidden=[16, 16]"}},
    {"imdb", {"model.aggregator=max", "model.hidden=[64, 64]"}},
    {"imdb_mt_albis", {"trainer.initialize=~"}},
    {"imdb_words", {0}},
    {"multi30k_de_en",
     {"optimizer.learning_rate.warmup.steps=1", "data.train=[val.de.gz, val.en.gz]",
      "data.train_tokenizer.vocab_size=2000", "task.search.decode_max_length=4"}},
    {"multi30k_en_de",
     {"optimizer.learning_rate.warmup.steps=1", "data.train=[val.en.gz, val.de.gz]",
      "data.train_tokenizer.vocab_size=2000", "task.search.decode_max_length=4"}},
    {"mutag", {"trainer.fold=1"}},
    {"mutag_gps", {"trainer.fold=1"}},
    {"reverse", {"optimizer.learning_rate.warmup.steps=1"}},
    {"tiny_lm",
     {"optimizer.learning_rate.warmup.steps=1", "data.train=[val.en.gz]",
      "data.train_tokenizer.vocab_size=1000"}},
    {"rotations", {"data.train=[train.tsv]", "data.valid=[valid.tsv]", "data.test=[test.tsv]"}},
};

/* Two steps and an evaluation, in folder "run". */
static void run_case(const struct config_case *c)
{
    const char *sets[16] = {"trainer.epochs=~",
                            "trainer.train_steps=2",
                            "trainer.steps_per_loop=1",
                            "trainer.validation_interval=2",
                            "trainer.checkpoint.every_epochs=~",
                            "export=[]"};
    int64_t count = 6;
    rgm_experiment *experiment;
    rgm_run_options options;
    rgm_open_run *run;

    for (int i = 0; i < 4 && c->sets[i] != NULL; i++)
        sets[count++] = c->sets[i];
    CHECK_OK(rgm_experiment_load(&experiment, c->name, sets, count));
    CHECK_OK(rgm_experiment_prepare(&options, experiment, "run"));
    options.trainer.device = shadow.device;
    if (rgm_experiment_open(&run, experiment, &options) != RGM_OK ||
        rgm_run_complete(run) != RGM_OK)
        fail_msg("%s: %s", c->name, rgm_error_text());
    rgm_run_close(run);
    rgm_experiment_release(experiment);
    CHECK_INT(RGM_OK, shadow_failed);
    CHECK_OK(rgm_folder_remove("run"));
}

/* A few facts of the knowledge graph that bench/rotations.sh makes, the parts apart. */
static void write_turns(void)
{
    static const char *const files[] = {"train.tsv", "valid.tsv", "test.tsv"};

    for (int part = 0; part < 3; part++) {
        char text[8192];
        size_t used = 0;

        for (int i = 0; i < 120; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "e%d\tr%d\te%d\n", i, i % 3,
                                     (i + part + 1) % 120);
        CHECK_OK(rgm_file_save(files[part], text, (int64_t)used));
    }
}

static bool is_wanted(const char *name, char *const *names)
{
    bool wanted = *names == NULL;

    for (; *names != NULL; names++)
        wanted |= strcmp(*names, name) == 0;
    return wanted;
}

static char **names;

static void every_generated_program_compiles_for_cuda(void **state)
{
    const char *folder = check_fast_folder(), *data = getenv("REGIMEN_DATA");
    rgm_status status =
        rgm_program_check("one", "KERNEL void one(FLAG)\n{\n}\n", RGM_F32, architectures[0]);

    (void)state;
    if (status != RGM_OK)
        SKIP(rgm_error_message());
    if (data == NULL || access(data, R_OK) != 0)
        SKIP("REGIMEN_DATA names no folder: the named experiments have no data");
    CHECK(chdir(folder) == 0);
    CHECK(symlink(data, "data") == 0);
    write_turns();
    CHECK_OK(shadow_open());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (is_wanted(cases[i].name, names)) {
            run_case(&cases[i]);
            print_message("[          ] %s: %d programs so far\n", cases[i].name, programs.count);
        }
    CHECK(programs.compiled > 0);
    print_message("NVRTC compiled %lld programs\n", (long long)programs.compiled);
    shadow_close();
    CHECK(chdir("/") == 0);
    CHECK_OK(rgm_folder_remove(folder));
}

static void no_named_experiment_is_left_out(void **state)
{
    int64_t count;
    const rgm_named_experiment *named = rgm_named_experiments(&count);

    (void)state;
    for (int64_t n = 0; n < count; n++) {
        bool is_there = strstr(named[n].text, "\nsearcher:") != NULL;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            is_there |= strcmp(cases[i].name, named[n].name) == 0;
        if (!is_there)
            fail_msg("%s has no case here", named[n].name);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_generated_program_compiles_for_cuda),
                                       cmocka_unit_test(no_named_experiment_is_left_out)};

    (void)argc;
    names = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
