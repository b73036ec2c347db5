#include <check.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <regimen/graph_import.h>
#include <regimen/graph_sampling.h>

static char root[256];

static const char *in(const char *path)
{
    static char joined[512];
    snprintf(joined, sizeof joined, "%s/%s", root, path);
    return joined;
}

static void begin(void)
{
    snprintf(root, sizeof root, "%s", check_folder());
}

static void end(void)
{
    CHECK_OK(rgm_folder_remove(root));
}

static bool same_graph(const rgm_graph *a, const rgm_graph *b)
{
    rgm_text x = {0}, y = {0};
    bool same;

    CHECK_OK(rgm_graph_encode(&x, a, ""));
    CHECK_OK(rgm_graph_encode(&y, b, ""));
    same = x.size == y.size && memcmp(x.data, y.data, (size_t)x.size) == 0;
    rgm_text_clear(&x);
    rgm_text_clear(&y);
    return same;
}

static const char schema_text[] =
    "context { features { key: 'label' value { dtype: DT_INT64 } } }\n"
    "node_sets { key: 'n' value { features { key: 'w' value { dtype: DT_STRING "
    "shape { dim { size: -1 } } } } } }\n"
    "edge_sets { key: 'e' value { source: 'n' target: 'n' } }\n";

/* `count` random graphs with a split of graphs. */
static void random_data(rgm_graph_data *s, int64_t count)
{
    memset(s, 0, sizeof *s);
    CHECK_OK(rgm_schema_parse(&s->schema, schema_text, (int64_t)strlen(schema_text), "t"));
    CHECK_OK(RGM_NEW(s->graphs, count));
    for (int64_t i = 0; i < count; i++) {
        CHECK_OK(rgm_generate_graph(&s->graphs[i], s->schema, 3, (uint64_t)i));
        s->graph_count++;
    }
    CHECK_OK(rgm_tensor_create_from(&s->train, RGM_I64, 1, (int64_t[]){2}, (int64_t[]){4, 1}));
    CHECK_OK(rgm_tensor_create_from(&s->test, RGM_I64, 1, (int64_t[]){1}, (int64_t[]){0}));
}

static void what_is_saved_is_loaded_in_the_same_order(void **state)
{
    rgm_graph_data s, back;
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;

    (void)state;
    begin();
    random_data(&s, 7);
    for (options.shards = 1; options.shards <= 9; options.shards += 2) {
        options.gzip = options.shards == 3;
        CHECK_OK(rgm_graph_data_save(&s, in("deep/er/data"), &options));
        CHECK_OK(rgm_graph_data_load(&back, in("deep/er/data"), NULL));
        CHECK_INT(7, back.graph_count);
        for (int64_t i = 0; i < 7; i++)
            CHECK(same_graph(s.graphs[i], back.graphs[i]));
        CHECK(rgm_tensor_equal(s.train, back.train));
        CHECK(rgm_tensor_equal(s.test, back.test));
        CHECK(back.valid == NULL && back.split_set == NULL);
        rgm_graph_data_clear(&back);
        CHECK_OK(rgm_folder_remove(in("deep")));
    }
    rgm_graph_data_clear(&s);
    end();
}

/* The first graph of a file of the schema. */
static void expect_first(const char *path, const rgm_graph_data *s, int64_t i)
{
    rgm_tfrecord_reader *reader;
    rgm_graph *graph;
    const uint8_t *data;
    int64_t size;

    CHECK_OK(rgm_tfrecord_reader_open(&reader, path, NULL));
    CHECK_OK(rgm_tfrecord_reader_next(&data, &size, reader));
    CHECK_OK(rgm_graph_decode(&graph, s->schema, data, size, "", "t"));
    CHECK(same_graph(s->graphs[i], graph));
    rgm_graph_release(graph);
    rgm_tfrecord_reader_close(reader);
}

/* Whoever reads file after file has the numbers of the split; folders of before took turns. */
static void shards_follow_each_other(void **state)
{
    static const int in_turns[] = {0, 3, 5, 1, 4, 6, 2};
    rgm_graph_data s, back;
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;

    (void)state;
    begin();
    random_data(&s, 7);
    CHECK_OK(rgm_strdup(&s.split_name, "mine"));
    options.shards = 3;
    options.gzip = true;
    CHECK_OK(rgm_graph_data_save(&s, in("data"), &options));
    expect_first(in("data/graphs-00001-of-00003.tfrecord.gz"), &s, 3);
    expect_first(in("data/graphs-00002-of-00003.tfrecord.gz"), &s, 5);
    CHECK_OK(rgm_graph_data_load(&back, in("data"), "mine"));
    CHECK_TEXT("mine", back.split_name);
    CHECK(rgm_tensor_equal(s.train, back.train));
    rgm_graph_data_clear(&back);
    CHECK_INT(0, unlink(in("data/shards.txt")));
    CHECK_OK(rgm_graph_data_load(&back, in("data"), "mine"));
    for (int64_t i = 0; i < 7; i++)
        CHECK(same_graph(s.graphs[in_turns[i]], back.graphs[i]));
    rgm_graph_data_clear(&back);
    rgm_graph_data_clear(&s);
    end();
}

/* in() has one path at a time. */
static void move_file(const char *from, const char *to)
{
    char path[512];

    snprintf(path, sizeof path, "%s", in(from));
    CHECK_INT(0, rename(path, in(to)));
}

/* A split is read beside files of any name, but of files that are a split themselves. */
static void a_split_is_of_files_of_any_name(void **state)
{
    rgm_graph_data s, back;

    (void)state;
    begin();
    random_data(&s, 7);
    CHECK_OK(rgm_graph_data_save(&s, in("data"), NULL));
    move_file("data/graphs-00000-of-00001.tfrecord", "data/mols.tfrecord");
    CHECK_OK(rgm_graph_data_load(&back, in("data"), "default"));
    CHECK_INT(7, back.graph_count);
    CHECK_TEXT("default", back.split_name);
    CHECK(rgm_tensor_equal(s.train, back.train) && rgm_tensor_equal(s.test, back.test));
    rgm_graph_data_clear(&back);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_data_load(&back, in("data"), "typo"));
    CHECK_MESSAGE("there is no split 'typo'; there is: default");
    move_file("data/mols.tfrecord", "data/train-0.tfrecord");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_data_load(&back, in("data"), "default"));
    CHECK_MESSAGE("no split 'default', but the files train-*, valid-* and test-* themselves");
    CHECK_OK(rgm_graph_data_load(&back, in("data"), NULL));
    CHECK_INT(7, rgm_tensor_count(back.train));
    rgm_graph_data_clear(&back);
    rgm_graph_data_clear(&s);
    end();
}

/* A list of numbers would be of other graphs. */
static void a_folder_without_one_of_its_files_is_refused(void **state)
{
    rgm_graph_data s, back;
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;

    (void)state;
    begin();
    random_data(&s, 7);
    options.shards = 3;
    CHECK_OK(rgm_graph_data_save(&s, in("data"), &options));
    move_file("data/graphs-00001-of-00003.tfrecord", "away");
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_data_load(&back, in("data"), NULL));
    CHECK_MESSAGE("data/graphs-00001-of-00003.tfrecord is not there: 2 of its 3 files are");
    CHECK_STATUS(RGM_ERR_DATA, rgm_new_graphs_load(&back, in("data"), NULL));
    CHECK_MESSAGE("graphs-00001-of-00003.tfrecord is not there");
    move_file("away", "data/graphs-00001-of-00003.tfrecord.gz");
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_data_load(&back, in("data"), NULL));
    CHECK_MESSAGE("graphs-00001-of-00003.tfrecord.gz: which are meant, compressed files or the");
    rgm_graph_data_clear(&s);
    end();
}

static void a_folder_of_any_name_has_its_own_records(void **state)
{
    rgm_graph_data s, back;

    (void)state;
    begin();
    random_data(&s, 5);
    CHECK_OK(rgm_graph_data_save(&s, in("data1"), NULL));
    rgm_graph_data_clear(&s);
    random_data(&s, 7);
    CHECK_OK(rgm_graph_data_save(&s, in("data[1]"), NULL));
    CHECK_OK(rgm_graph_data_load(&back, in("data[1]"), NULL));
    CHECK_INT(7, back.graph_count);
    rgm_graph_data_clear(&back);
    rgm_graph_data_clear(&s);
    end();
}

static void one_graph_keeps_the_split_of_its_nodes(void **state)
{
    rgm_citation_options options = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data s, back;

    (void)state;
    begin();
    options.nodes = 300;
    options.edges = 500;
    options.valid = options.test = 50;
    CHECK_OK(rgm_generate_citation(&s, &options));
    CHECK_OK(rgm_graph_data_save(&s, in("data"), NULL));
    CHECK(rgm_path_exists(in("data/split/default/nodes/train.csv")));
    CHECK_OK(rgm_graph_data_load(&back, in("data"), "default"));
    CHECK_TEXT("nodes", back.split_set);
    CHECK(rgm_tensor_equal(s.train, back.train) && rgm_tensor_equal(s.valid, back.valid));
    CHECK(same_graph(s.graphs[0], back.graphs[0]));
    rgm_graph_data_clear(&back);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_data_load(&back, in("data"), "random"));
    CHECK_MESSAGE("there is no split 'random'; there is: default");
    rgm_graph_data_clear(&s);
    end();
}

static void nothing_is_overwritten_and_nothing_left_half_written(void **state)
{
    rgm_graph_data s;
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;
    char **names;
    int64_t count;

    (void)state;
    begin();
    random_data(&s, 2);
    CHECK_OK(rgm_graph_data_save(&s, in("data/"), NULL));
    CHECK_STATUS(RGM_ERR_BUSY, rgm_graph_data_save(&s, in("data"), NULL));
    CHECK_MESSAGE("is there already; nothing is overwritten");
    options.shards = 0;
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_data_save(&s, in("other"), &options));
    CHECK_OK(rgm_folder_list(&names, &count, root));
    CHECK_INT(1, count);
    CHECK_TEXT("data", names[0]);
    rgm_names_release(names, count);
    rgm_graph_data_clear(&s);
    end();
}

static void a_flipped_byte_is_told_with_file_and_record(void **state)
{
    rgm_graph_data s, back;
    char *data;
    int64_t size;

    (void)state;
    begin();
    random_data(&s, 3);
    CHECK_OK(rgm_graph_data_save(&s, in("data"), NULL));
    CHECK_OK(rgm_file_load(&data, &size, in("data/graphs-00000-of-00001.tfrecord"), 1 << 20));
    data[size - 20] ^= 1;
    CHECK_OK(rgm_file_save(in("data/graphs-00000-of-00001.tfrecord"), data, size));
    rgm_free(data);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_graph_data_load(&back, in("data"), NULL));
    CHECK_MESSAGE("graphs-00000-of-00001.tfrecord: record 2");
    CHECK(back.schema == NULL && back.graphs == NULL);
    rgm_graph_data_clear(&s);
    end();
}

static rgm_sampling_spec *spec_of(const rgm_graph_data *data)
{
    rgm_sampling_spec *spec;

    CHECK_OK(rgm_sampling_spec_create(&spec, data->schema, "nodes",
                                      (const char *[]){"edges", "edges"}, (int64_t[]){4, 3}, 2,
                                      RGM_SAMPLE_UNIFORM));
    return spec;
}

static rgm_sampler *sampler_of(const rgm_graph_data *data)
{
    rgm_sampling_spec *spec = spec_of(data);
    rgm_sampler *sampler;

    CHECK_OK(rgm_sampler_create(&sampler, data->graphs[0], spec, 9));
    rgm_sampling_spec_release(spec);
    return sampler;
}

static void same_files(const char *first, const char *second, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        char path[96], *a, *b;
        int64_t na, nb;

        snprintf(path, sizeof path, "%s/%s", first, names[i]);
        CHECK_OK(rgm_file_load(&a, &na, in(path), 1 << 24));
        snprintf(path, sizeof path, "%s/%s", second, names[i]);
        CHECK_OK(rgm_file_load(&b, &nb, in(path), 1 << 24));
        CHECK(na == nb && memcmp(a, b, (size_t)na) == 0);
        rgm_free(a);
        rgm_free(b);
    }
}

static void check_saved(bool expected, const rgm_sampler *sampler, const rgm_sample_part *part,
                        const char *path, const rgm_sampler_save_options *options)
{
    bool same;

    CHECK_OK(rgm_sampler_saved(&same, sampler, part, 1, path, options));
    CHECK_INT(expected, same);
}

static rgm_status ask_anew(const rgm_graph_data *s, const rgm_sampling_spec *spec,
                           const rgm_sample_part *part, const char *path)
{
    rgm_sampler_save_options options = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    rgm_sampler *sampler = NULL;
    bool same;

    options.run.threads = 1;
    RGM_GO(rgm_sampler_create(&sampler, s->graphs[0], spec, 9));
    RGM_GO(rgm_sampler_saved(&same, sampler, part, 1, path, &options));
    CHECK(same);
done:
    rgm_sampler_release(sampler);
    return status;
}

/* Of another request, of a graph with another feature of the same seeds, or nowhere. */
static void samples_are_of_a_request_and_of_data(void **state)
{
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_sampler_save_options options = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    rgm_graph_data s;
    rgm_sampler *sampler;
    rgm_sample_part part, fewer;
    rgm_sampling_spec *spec;
    int64_t *labels;

    (void)state;
    begin();
    citation.nodes = 400;
    citation.edges = 900;
    citation.valid = citation.test = 30;
    CHECK_OK(rgm_generate_citation(&s, &citation));
    sampler = sampler_of(&s);
    part = (rgm_sample_part){"train", s.train};
    fewer = (rgm_sample_part){"train", s.valid};
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("whole"), &options));
    check_saved(true, sampler, &part, in("whole"), &options);
    check_saved(false, sampler, &part, in("nowhere"), &options);
    check_saved(false, sampler, &fewer, in("whole"), &options);
    options.run.epoch = 1;
    check_saved(false, sampler, &part, in("whole"), &options);
    options.run.epoch = 0;
    spec = spec_of(&s);
    CHECK_EVERY_OOM(ask_anew(&s, spec, &part, in("whole")), (void)0);
    rgm_sampling_spec_release(spec);
    labels =
        rgm_tensor_i64(rgm_graph_feature(s.graphs[0], RGM_NODE_SET, s.split_set, "label")->values);
    labels[rgm_tensor_at_int(s.train, 0)] ^= 1;
    check_saved(false, sampler, &part, in("whole"), &options);
    CHECK_STATUS(RGM_ERR_BUSY, rgm_sampler_save(sampler, &part, 1, in("whole"), &options));
    CHECK_MESSAGE("is there already");
    rgm_sampler_release(sampler);
    rgm_graph_data_clear(&s);
    end();
}

/* An earlier version kept no hash: finished or begun, it is never gone on with as if it were of
 * these data, and is told as what it is. */
static void samples_of_before_are_told(void **state)
{
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_sampler_save_options options = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    rgm_graph_data s;
    rgm_sampler *sampler;
    rgm_sample_part part;
    bool of_before = true;
    char *text, *hash;
    int64_t size;

    (void)state;
    begin();
    CHECK_OK(rgm_generate_citation(&s, &citation));
    sampler = sampler_of(&s);
    part = (rgm_sample_part){"train", s.train};
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("whole"), &options));
    CHECK_OK(rgm_samples_of_before(&of_before, in("whole")));
    CHECK(!of_before);
    CHECK_OK(rgm_file_load(&text, &size, in("whole/sampling.txt"), 1 << 24));
    hash = strstr(text, ", subgraphs ");
    CHECK(hash != NULL);
    memmove(hash, strchr(hash, '\n'), strlen(strchr(hash, '\n')) + 1);
    CHECK_OK(rgm_file_save(in("whole/sampling.txt"), text, (int64_t)strlen(text)));
    CHECK_OK(rgm_folder_make(in("begun.sampling")));
    CHECK_OK(rgm_file_save(in("begun.sampling/sampling.txt"), text, (int64_t)strlen(text)));
    CHECK_OK(rgm_samples_of_before(&of_before, in("whole")));
    CHECK(of_before);
    check_saved(false, sampler, &part, in("whole"), &options);
    CHECK_STATUS(RGM_ERR_BUSY, rgm_sampler_save(sampler, &part, 1, in("whole"), &options));
    CHECK_MESSAGE("whole is of an earlier version, which did not keep of which data it drew");
    CHECK_STATUS(RGM_ERR_BUSY, rgm_sampler_save(sampler, &part, 1, in("begun"), &options));
    CHECK_MESSAGE("begun.sampling is of an earlier version");
    CHECK_OK(rgm_samples_of_before(&of_before, in("nowhere")));
    CHECK(!of_before);
    rgm_free(text);
    rgm_sampler_release(sampler);
    rgm_graph_data_clear(&s);
    end();
}

/* Half of the files, then all of it: what was there is left as it is. */
static void samples_go_on_where_they_stopped(void **state)
{
    static const char *const names[] = {"train-00000-of-00003.tfrecord",
                                        "train-00001-of-00003.tfrecord",
                                        "train-00002-of-00003.tfrecord",
                                        "schema.pbtxt",
                                        "sampling.txt",
                                        "shards.txt"};
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_sampler_save_options options = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    rgm_graph_data s;
    rgm_sampler *sampler;
    rgm_sample_part part;
    char *text;
    int64_t size;

    (void)state;
    begin();
    citation.nodes = 400;
    citation.edges = 900;
    citation.valid = citation.test = 30;
    CHECK_OK(rgm_generate_citation(&s, &citation));
    sampler = sampler_of(&s);
    part = (rgm_sample_part){"train", s.train};
    options.shards = 3;
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("whole"), &options));
    options.shares = 2;
    options.share = 1;
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("parts/"), &options));
    CHECK(!rgm_path_exists(in("parts")));
    CHECK(rgm_path_exists(in("parts.sampling/train-00001-of-00003.tfrecord")));
    CHECK(!rgm_path_exists(in("parts.sampling/train-00000-of-00003.tfrecord")));
    options.run.epoch = 1; /* other draws are not mixed in */
    CHECK_STATUS(RGM_ERR_BUSY, rgm_sampler_save(sampler, &part, 1, in("parts"), &options));
    CHECK_MESSAGE("was begun with another seed, spec or number of files");
    options.run.epoch = 0;
    options.share = 0;
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("parts"), &options));
    CHECK(!rgm_path_exists(in("parts.sampling")));
    same_files("whole", "parts", names, 6);
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("parts"), &options)); /* nothing is left */
    options.gzip = true;
    CHECK_STATUS(RGM_ERR_BUSY, rgm_sampler_save(sampler, &part, 1, in("parts"), &options));
    options.gzip = false;

    /* A file that is there is not written again. */
    options.share = 1;
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("kept"), &options));
    CHECK_OK(rgm_file_save(in("kept.sampling/train-00001-of-00003.tfrecord"), "mine", 4));
    options.shares = 1;
    options.share = 0;
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("kept"), &options));
    CHECK_OK(rgm_file_load(&text, &size, in("kept/train-00001-of-00003.tfrecord"), 1 << 20));
    CHECK_TEXT("mine", text);
    rgm_free(text);
    options.share = 1;
    CHECK_STATUS(RGM_ERR_ARG, rgm_sampler_save(sampler, &part, 1, in("none"), &options));
    CHECK_MESSAGE("share 1 of 1");

    /* A mistake leaves nothing in the way. */
    options.share = 0;
    options.run.label = "lable";
    CHECK(rgm_sampler_save(sampler, &part, 1, in("none"), &options) < 0);
    CHECK(!rgm_path_exists(in("none.sampling")));
    rgm_sampler_release(sampler);
    rgm_graph_data_clear(&s);
    end();
}

/* A call that finds no room on the disk, as one of so many processes. */
static void run_out_of_room(const rgm_sampler *sampler, const rgm_sample_part *part, int64_t shares)
{
    rgm_sampler_save_options options = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    struct rlimit limit;

    options.shards = 2;
    options.shares = shares;
    CHECK_INT(0, getrlimit(RLIMIT_FSIZE, &limit));
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, limit.rlim_max}));
    CHECK_STATUS(RGM_ERR_IO, rgm_sampler_save(sampler, part, 1, in("full"), &options));
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &limit));
    CHECK(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
}

static ino_t inode_of(const char *path)
{
    struct stat info;

    CHECK_INT(0, stat(in(path), &info));
    return info.st_ino;
}

/* Who comes first of several and fails takes nothing from the others, which may have files there;
 * nor do these write anew what all write alike. */
static void a_process_that_fails_leaves_what_is_of_others(void **state)
{
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_sampler_save_options options = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    rgm_graph_data s;
    rgm_sampler *sampler;
    rgm_sample_part part;
    ino_t schema;

    (void)state;
    begin();
    citation.nodes = 400;
    citation.edges = 900;
    citation.valid = citation.test = 30;
    CHECK_OK(rgm_generate_citation(&s, &citation));
    sampler = sampler_of(&s);
    part = (rgm_sample_part){"train", s.train};
    run_out_of_room(sampler, &part, 1);
    CHECK(!rgm_path_exists(in("full.sampling")));
    run_out_of_room(sampler, &part, 2);
    CHECK(rgm_path_exists(in("full.sampling/sampling.txt")));
    schema = inode_of("full.sampling/schema.pbtxt");
    options.shards = options.shares = 2;
    options.share = 1;
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("full"), &options));
    CHECK(inode_of("full.sampling/schema.pbtxt") == schema);
    run_out_of_room(sampler, &part, 2);
    options.share = 0;
    CHECK_OK(rgm_sampler_save(sampler, &part, 1, in("full"), &options));
    CHECK(rgm_path_exists(in("full/train-00001-of-00002.tfrecord")));
    rgm_sampler_release(sampler);
    rgm_graph_data_clear(&s);
    end();
}

static void samples_are_the_same_bytes_for_any_number_of_threads(void **state)
{
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_sampler_save_options options = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    rgm_graph_data s, back;
    rgm_sampler *sampler;
    rgm_sample_part parts[2];

    (void)state;
    begin();
    citation.nodes = 400;
    citation.edges = 900;
    citation.valid = citation.test = 30;
    CHECK_OK(rgm_generate_citation(&s, &citation));
    sampler = sampler_of(&s);
    parts[0] = (rgm_sample_part){"train", s.train};
    parts[1] = (rgm_sample_part){"test", s.test};
    options.shards = 3;
    options.run.label = "label";
    for (options.run.threads = 1; options.run.threads <= 4; options.run.threads++) {
        CHECK_OK(rgm_sampler_save(sampler, parts, 2,
                                  in(options.run.threads == 1 ? "first" : "again"), &options));
        if (options.run.threads == 1)
            continue;
        for (int shard = 0; shard < 3; shard++) {
            char name[64], *a, *b;
            int64_t na, nb;
            snprintf(name, sizeof name, "first/train-%05d-of-00003.tfrecord", shard);
            CHECK_OK(rgm_file_load(&a, &na, in(name), 1 << 24));
            snprintf(name, sizeof name, "again/train-%05d-of-00003.tfrecord", shard);
            CHECK_OK(rgm_file_load(&b, &nb, in(name), 1 << 24));
            CHECK(na == nb && memcmp(a, b, (size_t)na) == 0);
            rgm_free(a);
            rgm_free(b);
        }
        CHECK_OK(rgm_folder_remove(in("again")));
    }
    CHECK_OK(rgm_graph_data_load(&back, in("first"), NULL));
    CHECK_INT(140 + 30, back.graph_count);
    CHECK(rgm_tensor_count(back.train) == 140 && rgm_tensor_i64(back.test)[0] == 140);
    for (int64_t i = 0; i < 140; i++) {
        const rgm_graph *g = back.graphs[i];
        int64_t root_node = rgm_tensor_i64(s.train)[i];
        const rgm_feature *id = rgm_graph_feature(g, RGM_NODE_SET, "nodes", "#id");
        const rgm_feature *label = rgm_graph_feature(g, RGM_NODE_SET, "_readout", "label");
        const rgm_feature *all = rgm_graph_feature(s.graphs[0], RGM_NODE_SET, "nodes", "label");
        CHECK_INT(root_node, rgm_tensor_i64(id->values)[0]);
        CHECK_INT(rgm_tensor_i64(all->values)[root_node], rgm_tensor_i64(label->values)[0]);
        CHECK_OK(rgm_graph_check_readout(g, "_readout"));
    }
    rgm_graph_data_clear(&back);
    rgm_sampler_release(sampler);
    rgm_graph_data_clear(&s);
    end();
}

static rgm_status save_and_load(const rgm_graph_data *s, rgm_graph_data *back)
{
    rgm_status status;

    memset(back, 0, sizeof *back);
    status = rgm_graph_data_save(s, in("data"), NULL);
    if (status != RGM_OK) {
        CHECK(!rgm_path_exists(in("data")));
        return status;
    }
    status = rgm_graph_data_load(back, in("data"), NULL);
    rgm_memory_fail_at(-1, false);
    CHECK_OK(rgm_folder_remove(in("data")));
    return status;
}

static void saving_and_loading_survive_failing_allocations(void **state)
{
    rgm_graph_data s, back;

    (void)state;
    begin();
    random_data(&s, 5);
    CHECK_OK(save_and_load(&s, &back)); /* what the schema keeps for its codec is made */
    rgm_graph_data_clear(&back);
    for (int64_t n = 0;; n++) {
        int64_t before = rgm_memory_used();
        rgm_status status;
        bool failed;
        rgm_memory_fail_at(n, false);
        status = save_and_load(&s, &back);
        failed = rgm_memory_failures() > 0;
        rgm_memory_fail_at(-1, false);
        rgm_graph_data_clear(&back);
        CHECK_INT(before, rgm_memory_used());
        if (status == RGM_OK && !failed)
            break;
        CHECK(status == RGM_ERR_NOMEM || status == RGM_OK);
        if (rgm_path_exists(in("data")))
            CHECK_OK(rgm_folder_remove(in("data")));
    }
    rgm_graph_data_clear(&s);
    end();
}

/* ---- folds ---------------------------------------------------------------------------------- */

static const rgm_fold_label class = {"label", false}, number = {"label", true};

/* Each graph is of one part; labels of the test part are those of all, one more or less. */
static void graphs_are_parted_by_their_label(void **state)
{
    rgm_graph_data s;
    int64_t held[60] = {0};

    (void)state;
    random_data(&s, 60);
    for (int64_t fold = 1; fold <= 4; fold++) {
        const rgm_folds folds = {.count = 4, .fold = fold, .valid = 0.2, .seed = 5};

        CHECK_OK(rgm_graph_data_fold(&s, &folds, &class, 1));
        CHECK_INT(60,
                  rgm_tensor_count(s.train) + rgm_tensor_count(s.valid) + rgm_tensor_count(s.test));
        CHECK_INT(15, rgm_tensor_count(s.test));
        CHECK_INT(9, rgm_tensor_count(s.valid));
        for (int64_t i = 0; i < 15; i++)
            held[rgm_tensor_i64(s.test)[i]]++;
    }
    for (int64_t i = 0; i < 60; i++)
        CHECK_INT(1, held[i]);
    rgm_graph_data_clear(&s);
}

/* `count` graphs of one schema, their labels as `label` says: of graph g, number k. */
static void labelled_data(rgm_graph_data *s, const char *schema, int64_t count, rgm_piece piece,
                          double (*label)(int64_t g, int64_t k))
{
    memset(s, 0, sizeof *s);
    CHECK_OK(rgm_schema_parse(&s->schema, schema, (int64_t)strlen(schema), "t"));
    CHECK_OK(RGM_NEW(s->graphs, count));
    for (int64_t g = 0; g < count; g++) {
        rgm_tensor *values;

        CHECK_OK(rgm_generate_graph(&s->graphs[g], s->schema, 3, (uint64_t)g));
        s->graph_count++;
        values = rgm_graph_feature(s->graphs[g], piece, piece == RGM_NODE_SET ? "n" : NULL, "label")
                     ->values;
        for (int64_t k = 0; k < rgm_tensor_count(values); k++)
            if (rgm_tensor_dtype(values) == RGM_F32)
                rgm_tensor_f32(values)[k] = (float)label(g, k);
            else
                rgm_tensor_i64(values)[k] = (int64_t)label(g, k);
    }
}

static double some_of_three(int64_t g, int64_t k)
{
    return g % 6 == 0 || k < g % 3 ? NAN : (double)(g % 2);
}

static double none_of_every_fourth(int64_t g, int64_t k)
{
    return g % 4 == 0 || k == 0 ? -1 : (double)(g % 4 == 1);
}

/* Where one of several labels is there, of a graph or of its nodes, the graph is of a part. */
static void one_of_several_labels_is_enough(void **state)
{
    static const char of_graphs[] = "context { features { key: 'label' value { dtype: DT_FLOAT "
                                    "shape { dim { size: 3 } } } } }\n"
                                    "node_sets { key: 'n' value { } }\n";
    static const char of_nodes[] =
        "node_sets { key: 'n' value { features { key: 'label' value { dtype: DT_INT64 } } } }\n";
    const rgm_folds folds = {.count = 5, .fold = 2, .seed = 1};
    rgm_graph_data s;
    int64_t ones = 0;

    (void)state;
    labelled_data(&s, of_graphs, 60, RGM_CONTEXT_PIECE, some_of_three);
    CHECK_OK(rgm_graph_data_fold(&s, &folds, &number, 1));
    CHECK_INT(50, rgm_tensor_count(s.train) + rgm_tensor_count(s.test));
    CHECK_INT(10, rgm_tensor_count(s.test));
    for (int64_t i = 0; i < 10; i++)
        CHECK(rgm_tensor_i64(s.test)[i] % 6 != 0);
    CHECK_OK(rgm_graph_data_hold_out(&s, 0.25, 1, &number, 1));
    CHECK_INT(40, rgm_tensor_count(s.train) + rgm_tensor_count(s.valid));
    rgm_graph_data_clear(&s);

    labelled_data(&s, of_nodes, 60, RGM_NODE_SET, none_of_every_fourth);
    CHECK_OK(rgm_graph_data_fold(&s, &folds, &class, 1));
    CHECK_INT(9, rgm_tensor_count(s.test));
    for (int64_t i = 0; i < 9; i++) {
        CHECK(rgm_tensor_i64(s.test)[i] % 4 != 0);
        ones += rgm_tensor_i64(s.test)[i] % 4 == 1;
    }
    CHECK_INT(3, ones); /* stratified by them */
    rgm_graph_data_clear(&s);
}

static rgm_status fold_of_new_data(const rgm_citation_options *options, const rgm_folds *folds)
{
    rgm_graph_data data = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_generate_citation(&data, options));
    RGM_GO(rgm_graph_data_fold(&data, folds, &class, 1));
done:
    rgm_graph_data_clear(&data);
    return status;
}

/* As tables are imported that have no lists of ids. */
/* Of two tasks a graph with either label is of a part, stratified by the first that is there. */
static void a_label_of_any_task_is_enough(void **state)
{
    static const char schema[] = "context { features { key: 'label' value { dtype: DT_INT64 } }\n"
                                 "          features { key: 'other' value { dtype: DT_FLOAT } } }\n"
                                 "node_sets { key: 'n' value { } }\n";
    static const rgm_fold_label both[] = {{"label", false}, {"other", true}};
    const rgm_folds folds = {.count = 5, .fold = 2, .seed = 1};
    rgm_graph_data s;
    int64_t first = 0;

    (void)state;
    labelled_data(&s, schema, 60, RGM_CONTEXT_PIECE, none_of_every_fourth);
    for (int64_t g = 0; g < 60; g++) {
        const rgm_feature *label = rgm_graph_feature(s.graphs[g], RGM_CONTEXT_PIECE, NULL, "label");
        const rgm_feature *other = rgm_graph_feature(s.graphs[g], RGM_CONTEXT_PIECE, NULL, "other");

        for (int64_t k = 0; k < rgm_tensor_count(label->values); k++) { /* of each component */
            rgm_tensor_i64(label->values)[k] = g % 4 == 0 ? -1 : g % 2;
            rgm_tensor_f32(other->values)[k] = g % 8 == 0 || g % 4 == 1 ? NAN : 7;
        }
    }
    CHECK_OK(rgm_graph_data_fold(&s, &folds, both, 2)); /* every eighth has none of the two */
    CHECK_INT(52, rgm_tensor_count(s.train) + rgm_tensor_count(s.test));
    for (int64_t i = 0; i < rgm_tensor_count(s.test); i++) {
        int64_t g = rgm_tensor_i64(s.test)[i];

        CHECK(g % 8 != 0);
        first += g % 2;
    }
    CHECK_INT(6, first); /* of 30 */
    CHECK_OK(rgm_graph_data_hold_out(&s, 0.25, 1, both, 2));
    CHECK_INT(52, rgm_tensor_count(s.train) + rgm_tensor_count(s.valid) + rgm_tensor_count(s.test));
    rgm_graph_data_clear(&s);
}

static void a_label_of_two_node_sets_parts_neither(void **state)
{
    static const char schema[] =
        "node_sets { key: 'n' value { features { key: 'label' value { dtype: DT_INT64 } } } }\n"
        "node_sets { key: 'm' value { features { key: 'label' value { dtype: DT_INT64 } } } }\n";
    const rgm_folds folds = {.count = 5, .fold = 2, .seed = 1};
    rgm_graph_data s;

    (void)state;
    labelled_data(&s, schema, 1, RGM_NODE_SET, none_of_every_fourth);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_graph_data_fold(&s, &folds, &class, 1));
    CHECK_MESSAGE(
        "node sets 'n' and 'm' both have a label 'label': list the parts of one in split");
    CHECK(s.split_set == NULL && s.train == NULL);
    rgm_graph_data_clear(&s);
}

static rgm_status fold_without_split(const rgm_citation_options *options, const rgm_folds *folds,
                                     rgm_graph_data *data)
{
    RGM_TRY(rgm_generate_citation(data, options));
    rgm_free(data->split_set);
    data->split_set = NULL;
    rgm_tensor_release(data->train);
    rgm_tensor_release(data->valid);
    rgm_tensor_release(data->test);
    data->train = data->valid = data->test = NULL;
    return rgm_graph_data_fold(data, folds, &class, 1);
}

static rgm_status fold_without_split_and_clear(const rgm_citation_options *options,
                                               const rgm_folds *folds)
{
    rgm_graph_data data = {0};
    rgm_status status = fold_without_split(options, folds, &data);

    CHECK(status == RGM_OK || data.split_set == NULL);
    rgm_graph_data_clear(&data);
    return status;
}

static void one_graph_without_a_split_is_parted_by_its_labelled_nodes(void **state)
{
    rgm_graph_data s = {0};
    rgm_citation_options options = RGM_CITATION_OPTIONS_INIT;
    const rgm_folds folds = {.count = 5, .fold = 2, .seed = 1};

    (void)state;
    options.nodes = 100;
    options.edges = 200;
    options.train_per_class = 4;
    options.valid = options.test = 10;
    CHECK_OK(fold_without_split(&options, &folds, &s));
    CHECK_TEXT("nodes", s.split_set);
    CHECK_INT(20, rgm_tensor_count(s.test));
    CHECK_INT(80, rgm_tensor_count(s.train));
    rgm_graph_data_clear(&s);
    CHECK_EVERY_OOM(fold_without_split_and_clear(&options, &folds), (void)0);
}

static void nodes_without_a_label_are_in_no_part(void **state)
{
    rgm_graph_data s = {0};
    rgm_citation_options options = RGM_CITATION_OPTIONS_INIT;
    const rgm_folds folds = {.count = 5, .fold = 2, .seed = 1};
    const rgm_feature *label;

    (void)state;
    options.nodes = 200;
    options.edges = 400;
    options.train_per_class = 4;
    options.valid = options.test = 20;
    CHECK_OK(rgm_generate_citation(&s, &options));
    label = rgm_graph_feature(s.graphs[0], RGM_NODE_SET, s.split_set, "label");
    CHECK_INT(RGM_I64, rgm_tensor_dtype(label->values));
    for (int64_t i = 0; i < 50; i++)
        rgm_tensor_i64(label->values)[4 * i] = -1;
    CHECK_OK(rgm_graph_data_fold(&s, &folds, &class, 1));
    CHECK_INT(30, rgm_tensor_count(s.test));
    CHECK_INT(120, rgm_tensor_count(s.train));
    CHECK(s.valid == NULL);
    for (int64_t i = 0; i < 30; i++)
        CHECK(rgm_tensor_i64(s.test)[i] % 4 != 0);
    CHECK_OK(rgm_graph_data_hold_out(&s, 0.25, 1, &class, 1));
    CHECK_INT(90, rgm_tensor_count(s.train));
    CHECK_INT(30, rgm_tensor_count(s.valid));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_graph_data_hold_out(&s, 0.25, 1, &class, 1));
    CHECK_MESSAGE("a validation part already");
    CHECK_OK(rgm_graph_data_fold(&s, &folds, &number, 1)); /* of numbers -1 is one */
    CHECK_INT(40, rgm_tensor_count(s.test));
    CHECK_INT(160, rgm_tensor_count(s.train));
    for (int64_t i = 0; i < 200; i++)
        rgm_tensor_i64(label->values)[i] = i % 3 == 0 ? -1 : 1; /* two classes by their signs */
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_data_fold(&s, &folds, &class, 1));
    CHECK_MESSAGE("folds: label 'label' is -1 or 1, but never 0");
    CHECK_INT(40, rgm_tensor_count(s.test));
    CHECK_OK(rgm_graph_data_fold(&s, &folds, &number, 1));
    /* Of data of its own: a part that takes another's place may be a few bytes larger or smaller.
     */
    CHECK_EVERY_OOM(fold_of_new_data(&options, &folds), (void)0);
    for (int64_t i = 0; i < 50; i++) /* the lowest integer is no number */
        rgm_tensor_i64(label->values)[4 * i] = INT64_MIN;
    CHECK_OK(rgm_graph_data_fold(&s, &folds, &number, 1));
    CHECK_INT(30, rgm_tensor_count(s.test));
    CHECK_INT(120, rgm_tensor_count(s.train));
    rgm_graph_data_clear(&s);
}

TESTS(cmocka_unit_test(graphs_are_parted_by_their_label),
      cmocka_unit_test(one_of_several_labels_is_enough),
      cmocka_unit_test(a_label_of_any_task_is_enough),
      cmocka_unit_test(a_label_of_two_node_sets_parts_neither),
      cmocka_unit_test(nodes_without_a_label_are_in_no_part),
      cmocka_unit_test(one_graph_without_a_split_is_parted_by_its_labelled_nodes),
      cmocka_unit_test(what_is_saved_is_loaded_in_the_same_order),
      cmocka_unit_test(shards_follow_each_other), cmocka_unit_test(a_split_is_of_files_of_any_name),
      cmocka_unit_test(a_folder_without_one_of_its_files_is_refused),
      cmocka_unit_test(a_folder_of_any_name_has_its_own_records),
      cmocka_unit_test(one_graph_keeps_the_split_of_its_nodes),
      cmocka_unit_test(nothing_is_overwritten_and_nothing_left_half_written),
      cmocka_unit_test(a_flipped_byte_is_told_with_file_and_record),
      cmocka_unit_test(samples_are_of_a_request_and_of_data),
      cmocka_unit_test(samples_of_before_are_told),
      cmocka_unit_test(samples_go_on_where_they_stopped),
      cmocka_unit_test(a_process_that_fails_leaves_what_is_of_others),
      cmocka_unit_test(samples_are_the_same_bytes_for_any_number_of_threads),
      cmocka_unit_test(saving_and_loading_survive_failing_allocations))
