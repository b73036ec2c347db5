/*
 * Graph files: what is written is read, sampled from the file as from memory; a damaged file is
 * refused or sound for every byte of it; a file that is cut while it is open is an error and no
 * end; a writer leaves nothing half.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <regimen/graph_import.h>
#include <regimen/graph_sampling.h>

#include "graph_file.h"
#include "test_shop.h"

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int turn;
    static const char *folder;

    if (folder == NULL)
        folder = check_folder();
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* Every kind of feature, a set that is empty, an order of edges that is no end's. */
static const char all_text[] =
    "context { features { key: \"year\" value { dtype: DT_INT64 } } }\n"
    "node_sets { key: \"a\" value {\n"
    "  features { key: \"x\" value { dtype: DT_FLOAT shape { dim { size: 3 } } } }\n"
    "  features { key: \"label\" value { dtype: DT_INT64 } }\n"
    "  features { key: \"words\" value { dtype: DT_INT64 shape { dim { size: -1 } } source: "
    "\"one_hot:9\" } }\n"
    "  features { key: \"name\" value { dtype: DT_STRING } }\n"
    "  features { key: \"deep\" value { dtype: DT_FLOAT shape { dim { size: 2 } dim { size: -1 } "
    "dim { size: 2 } } } }\n"
    "  features { key: \"said\" value { dtype: DT_STRING shape { dim { size: -1 } dim { size: -1 } "
    "} } } } }\n"
    "node_sets { key: \"b\" value { features { key: \"y\" value { dtype: DT_DOUBLE } } } }\n"
    "node_sets { key: \"none\" value { features { key: \"z\" value { dtype: DT_FLOAT } } } }\n"
    "edge_sets { key: \"ab\" value { source: \"a\" target: \"b\"\n"
    "  features { key: \"weight\" value { dtype: DT_FLOAT } }\n"
    "  features { key: \"tags\" value { dtype: DT_STRING shape { dim { size: -1 } } } } } }\n"
    "edge_sets { key: \"aa\" value { source: \"a\" target: \"a\" } }\n"
    "edge_sets { key: \"nn\" value { source: \"none\" target: \"a\" } }\n";

static const char two_hops[] =
    "seed_op { op_name: 'seed' node_set_name: 'a' }\n"
    "sampling_ops { op_name: 'one' input_op_names: 'seed' edge_set_name: 'aa' sample_size: 3 "
    "strategy: RANDOM_UNIFORM }\n"
    "sampling_ops { op_name: 'two' input_op_names: 'one' edge_set_name: '<aa' sample_size: 2 "
    "strategy: RANDOM_UNIFORM }\n"
    "sampling_ops { op_name: 'three' input_op_names: ['seed', 'two'] edge_set_name: 'ab' "
    "sample_size: 2 strategy: RANDOM_WEIGHTED }\n";

static void give(rgm_graph_builder *b, rgm_piece piece, const char *set, const char *name,
                 rgm_feature value)
{
    CHECK_OK(rgm_graph_builder_feature(b, piece, set, name, &value));
    rgm_feature_clear(&value);
}

static rgm_tensor *tensor_of(rgm_dtype dtype, int rank, int64_t rows, int64_t width)
{
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, dtype, rank, (int64_t[]){rows, width}));
    for (int64_t i = 0; i < rgm_tensor_count(t); i++)
        rgm_dtype_put((char *)rgm_tensor_data(t) + (size_t)i * rgm_dtype_size(dtype), dtype,
                      (double)(i % 9));
    return t;
}

/* i64 [rows]: i % below, and their sum. */
static rgm_tensor *lengths_of(int64_t *sum, int64_t rows, int64_t below)
{
    rgm_tensor *t = tensor_of(RGM_I64, 1, rows, 0);

    *sum = 0;
    for (int64_t i = 0; i < rows; i++)
        *sum += rgm_tensor_i64(t)[i] = i % below;
    return t;
}

static rgm_tensor *texts_of(int64_t count)
{
    static const char *const some[] = {"", "a", "two words", "\xc3\xa4", "0123456789"};
    rgm_str *texts = calloc((size_t)count + 1, sizeof *texts);
    rgm_tensor *t;

    for (int64_t i = 0; i < count; i++)
        texts[i] = (rgm_str){some[i % 5], (int64_t)strlen(some[i % 5])};
    CHECK_OK(rgm_tensor_create_from(&t, RGM_STRING, 1, &count, texts));
    free(texts);
    return t;
}

static void add_features(rgm_graph_builder *b, int64_t nodes, int64_t edges)
{
    rgm_tensor *outer, *inner;
    int64_t rows, count;

    give(b, RGM_NODE_SET, "a", "x", (rgm_feature){.values = tensor_of(RGM_F32, 2, nodes, 3)});
    give(b, RGM_NODE_SET, "a", "label", (rgm_feature){.values = tensor_of(RGM_I64, 1, nodes, 0)});
    give(b, RGM_NODE_SET, "a", "name", (rgm_feature){.values = texts_of(nodes)});
    give(b, RGM_NODE_SET, "b", "y", (rgm_feature){.values = tensor_of(RGM_F64, 1, nodes, 0)});
    give(b, RGM_EDGE_SET, "ab", "weight", (rgm_feature){.values = tensor_of(RGM_F32, 1, edges, 0)});
    outer = lengths_of(&count, nodes, 3);
    give(b, RGM_NODE_SET, "a", "words",
         (rgm_feature){.values = tensor_of(RGM_I64, 1, count, 0), .row_lengths = {NULL, outer}});
    outer = lengths_of(&count, 2 * nodes, 4);
    give(b, RGM_NODE_SET, "a", "deep",
         (rgm_feature){.values = tensor_of(RGM_F32, 2, count, 2),
                       .row_lengths = {NULL, NULL, outer}});
    outer = lengths_of(&rows, nodes, 3);
    inner = lengths_of(&count, rows, 3);
    give(b, RGM_NODE_SET, "a", "said",
         (rgm_feature){.values = texts_of(count), .row_lengths = {NULL, outer, inner}});
    outer = lengths_of(&count, edges, 2);
    give(b, RGM_EDGE_SET, "ab", "tags",
         (rgm_feature){.values = texts_of(count), .row_lengths = {NULL, outer}});
    add_feature(b, RGM_CONTEXT_PIECE, NULL, "year", INTS(1999), NULL);
}

/* Random ends; of aa a third at node 1, a hub. */
static void add_edges(rgm_graph_builder *b, const char *set, int64_t nodes, int64_t edges)
{
    rgm_rng rng = rgm_rng_stream(3, set, 0);
    rgm_tensor *ends[2];

    for (int end = 0; end < 2; end++) {
        CHECK_OK(rgm_tensor_create(&ends[end], RGM_I64, 1, &edges));
        for (int64_t e = 0; e < edges; e++)
            rgm_tensor_i64(ends[end])[e] =
                end == 1 && e % 3 == 0
                    ? 1
                    : (int64_t)rgm_rng_below(&rng, (uint64_t)(2 * e + end), (uint64_t)nodes);
    }
    CHECK_OK(rgm_graph_builder_edges(b, set, ends[0], ends[1]));
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
}

/* A graph of the schema with `nodes` nodes in a and b each, `edges` in aa and ab. */
static void make_data(rgm_graph_data *data, int64_t nodes, int64_t edges)
{
    rgm_graph_builder *b;

    *data = (rgm_graph_data){.schema = parse_schema(all_text), .graph_count = 1};
    CHECK_OK(RGM_NEW(data->graphs, 1));
    CHECK_OK(rgm_graph_builder_create(&b, data->schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "a", &nodes));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "b", &nodes));
    add_edges(b, "aa", nodes, edges);
    add_edges(b, "ab", nodes, edges);
    add_features(b, nodes, edges);
    CHECK_OK(rgm_graph_builder_finish(&data->graphs[0], b));
    rgm_graph_builder_release(b);
    CHECK_OK(rgm_strdup(&data->split_set, "a"));
    CHECK_OK(rgm_strdup(&data->split_name, "usual"));
    data->train = INTS(0, 2, 4);
    data->test = INTS(1);
}

static rgm_sampler *sampler_of(rgm_graph *graph)
{
    rgm_sampling_spec *spec;
    rgm_sampler *sampler;

    CHECK_OK(rgm_sampling_spec_parse(&spec, two_hops, (int64_t)strlen(two_hops), "spec",
                                     rgm_graph_schema(graph)));
    CHECK_OK(rgm_sampler_create(&sampler, graph, spec, 5));
    rgm_sampling_spec_release(spec);
    return sampler;
}

static void what_is_written_is_read(void **state)
{
    rgm_graph_data data, back;

    (void)state;
    make_data(&data, 50, 300);
    unlink(in_folder("same.graph"));
    CHECK_OK(rgm_graph_data_write(&data, in_folder("same.graph"), NULL));
    CHECK(rgm_is_graph_file(in_folder("same.graph")));
    CHECK(!rgm_path_exists(in_folder("same.graph.partial")));
    CHECK_OK(rgm_graph_data_load(&back, in_folder("same.graph"), "usual"));
    CHECK(rgm_graph_mapped_bytes(back.graphs[0]) > 0);
    CHECK_INT(0, rgm_graph_mapped_bytes(data.graphs[0]));
    check_same_graph(data.graphs[0], back.graphs[0]);
    CHECK_TEXT("a", back.split_set);
    CHECK_INTS(back.train, 0, 2, 4);
    CHECK(back.valid == NULL);
    CHECK_INTS(back.test, 1);
    rgm_graph_data_clear(&back);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_data_load(&back, in_folder("same.graph"), "other"));
    CHECK_MESSAGE("there is no split 'other', but 'usual'");
    CHECK_STATUS(RGM_ERR_BUSY, rgm_graph_data_write(&data, in_folder("same.graph"), NULL));
    rgm_graph_data_clear(&data);
}

/* 200,000 entries in runs of 131,072: of aa one node alone has 66,667 of them. */
static void edges_are_sorted_in_the_memory_that_there_is(void **state)
{
    rgm_graph_writer_options little = {.memory = 1 << 20};
    rgm_graph_data data, back;
    rgm_pattern *a, *b;

    (void)state;
    make_data(&data, 3000, 200000);
    unlink(in_folder("large.graph"));
    CHECK_OK(rgm_graph_data_write(&data, in_folder("large.graph"), &little));
    CHECK_OK(rgm_graph_data_open(&back, in_folder("large.graph")));
    for (int end = 0; end < 2; end++) {
        const rgmi_stored_edges *stored;
        const rgm_csr *csr;
        int64_t set = rgm_schema_index(back.schema, RGM_EDGE_SET, "aa");

        CHECK_OK(rgm_graph_adjacency(&a, data.graphs[0], "aa", (rgm_tag)end));
        csr = rgm_pattern_by_row(a);
        stored = back.graphs[0]->sets[set].items->stored;
        CHECK(memcmp(csr->row_start, stored->csr[end].row_start,
                     (size_t)(csr->rows + 1) * sizeof *csr->row_start) == 0);
        CHECK(memcmp(csr->column, stored->csr[end].column, (size_t)csr->count * 4) == 0);
        CHECK(memcmp(csr->entry, stored->csr[end].entry, (size_t)csr->count * 4) == 0);
        CHECK_OK(rgm_graph_adjacency(&b, back.graphs[0], "aa", (rgm_tag)end));
        CHECK(memcmp(csr->column, rgm_pattern_by_row(b)->column, (size_t)csr->count * 4) == 0);
    }
    rgm_graph_data_clear(&back);
    rgm_graph_data_clear(&data);
}

static void samples_of_a_file_are_those_of_memory(void **state)
{
    rgm_graph_data data, back;
    rgm_sampler *of_memory, *of_file;
    const int64_t seeds[] = {7, 3, 7, 49, 0, 12, 33};

    (void)state;
    make_data(&data, 50, 300);
    unlink(in_folder("sample.graph"));
    CHECK_OK(rgm_graph_data_write(&data, in_folder("sample.graph"), NULL));
    CHECK_OK(rgm_graph_data_open(&back, in_folder("sample.graph")));
    of_memory = sampler_of(data.graphs[0]);
    of_file = sampler_of(back.graphs[0]);
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        rgm_graph *a, *b;

        rgm_sampler_set_threads(of_file, 1 + (int)epoch % 2);
        rgm_sampler_set_once(of_memory, epoch % 3 == 0);
        rgm_sampler_set_once(of_file, epoch % 3 == 0);
        CHECK_OK(rgm_sampler_batch(&a, of_memory, seeds, 7, epoch, "label"));
        CHECK_OK(rgm_sampler_batch(&b, of_file, seeds, 7, epoch, "label"));
        check_same_graph(a, b);
        rgm_graph_release(a);
        rgm_graph_release(b);
    }
    rgm_sampler_release(of_memory);
    rgm_sampler_release(of_file);
    rgm_graph_data_clear(&back);
    rgm_graph_data_clear(&data);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Neighbours over all sets, which every sampler but trees stands on. */
static void cut_and_draw(rgm_graph *graph, int64_t *seed)
{
    const int64_t one = 1;
    rgm_partition cut;
    rgm_shadow_options options = RGM_SHADOW_OPTIONS_INIT;
    rgm_subgraph_source from = {.graph = graph, .node_set = "a"};
    rgm_subgraph_sampler *sampler = NULL;
    rgm_graph *drawn;

    if (rgm_graph_partition(&cut, graph, 2, 1.5, 1) == RGM_OK)
        rgm_partition_clear(&cut);
    CHECK_OK(rgm_tensor_create_from(&from.seeds, RGM_I64, 1, &one, seed));
    if (rgm_subgraph_sampler_create(&sampler, &rgm_shadow_sampler, &from, &options) == RGM_OK &&
        rgm_subgraph_sampler_draw(&drawn, sampler, seed, 1, 0) == RGM_OK)
        rgm_graph_release(drawn);
    rgm_subgraph_sampler_release(sampler);
    rgm_tensor_release(from.seeds);
}

/* All that a graph of a file can be asked: an error, or sound. */
static void use(rgm_graph_data *data)
{
    rgm_text text = {0};
    rgm_graph *batch;
    rgm_sampling_spec *spec;
    rgm_sampler *sampler = NULL;
    int64_t count = rgm_graph_total(data->graphs[0], RGM_NODE_SET, "a");
    int64_t seeds[] = {0, count / 2, count - 1};

    if (count > 0 && rgm_sampling_spec_parse(&spec, two_hops, (int64_t)strlen(two_hops), "spec",
                                             data->schema) == RGM_OK) {
        if (rgm_sampler_create(&sampler, data->graphs[0], spec, 5) == RGM_OK) {
            if (rgm_sampler_batch(&batch, sampler, seeds, 3, 1, NULL) == RGM_OK) {
                CHECK_OK(rgm_graph_print(&text, batch, 100));
                rgm_graph_release(batch);
            }
        }
        rgm_sampler_release(sampler);
        rgm_sampling_spec_release(spec);
    }
    if (count > 0)
        cut_and_draw(data->graphs[0], seeds);
    rgm_text_clear(&text);
    (void)rgm_graph_encode(&text, data->graphs[0], NULL);
    rgm_text_clear(&text);
}

static rgm_status read_bytes(rgm_graph_data *data, const uint8_t *bytes, int64_t size)
{
    rgmi_graph_file *file;

    *data = (rgm_graph_data){0};
    CHECK_OK(RGM_NEW(file, 1));
    file->references = 1;
    CHECK_OK(rgm_strdup(&file->path, "bytes"));
    file->map = (rgm_mapped_file){.data = bytes, .size = size, .is_borrowed = true};
    return rgmi_graph_file_read(data, file);
}

/* The bytes of a small file, aligned as a map is. */
static uint8_t *small_file(int64_t *size)
{
    rgm_graph_data data;
    uint8_t *bytes;
    char *loaded;

    make_data(&data, 5, 12);
    unlink(in_folder("small.graph"));
    CHECK_OK(rgm_graph_data_write(&data, in_folder("small.graph"), NULL));
    CHECK_OK(rgm_file_load(&loaded, size, in_folder("small.graph"), 1 << 20));
    bytes = aligned_alloc(64, (size_t)(*size + 63) / 64 * 64);
    memcpy(bytes, loaded, (size_t)*size);
    rgm_free(loaded);
    rgm_graph_data_clear(&data);
    return bytes;
}

/* Whether it could be opened. */
static bool try_bytes(const uint8_t *bytes, int64_t size)
{
    rgm_graph_data data;
    bool opened = read_bytes(&data, bytes, size) == RGM_OK;

    if (opened) {
        use(&data);
        rgm_graph_data_clear(&data);
    }
    rgm_error_reset();
    return opened;
}

static void every_damaged_byte_is_refused_or_harmless(void **state)
{
    int64_t size, directory;
    uint8_t *bytes = small_file(&size);

    (void)state;
    directory = (int64_t)((rgmi_file_header *)(void *)bytes)->directory;
    CHECK(try_bytes(bytes, size));
    for (int64_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            bytes[i] = (uint8_t)(bytes[i] ^ 1 << bit);
            if (try_bytes(bytes, size)) /* header and directory have checksums */
                CHECK(i >= (int64_t)sizeof(rgmi_file_header) && i < directory);
            bytes[i] = (uint8_t)(bytes[i] ^ 1 << bit);
        }
    for (int64_t cut = 0; cut < size; cut += 13)
        CHECK(!try_bytes(bytes, cut));
    free(bytes);
}

/* Opening does not read the sections, so a value with a flipped bit is one that nobody misses;
 * their checksums find it. */
static void every_damaged_byte_of_a_section_is_found(void **state)
{
    int64_t size;
    uint8_t *bytes = small_file(&size);
    rgmi_file_header *header = (void *)bytes;
    const rgmi_file_section *sections = (const void *)(bytes + header->directory);
    rgm_graph_data data;
    bool there;

    (void)state;
    CHECK_OK(read_bytes(&data, bytes, size));
    CHECK_OK(rgm_graph_check_sums(&there, data.graphs[0]));
    CHECK(there);
    rgm_graph_data_clear(&data);
    for (uint32_t s = 0; s < header->sections; s++)
        for (uint64_t i = 0; i < sections[s].bytes; i++) {
            uint8_t *byte = bytes + sections[s].offset + i;
            char told[32];

            *byte = (uint8_t)(*byte ^ 1);
            if (read_bytes(&data, bytes, size) == RGM_OK) {
                CHECK_STATUS(RGM_ERR_FORMAT, rgm_graph_check_sums(&there, data.graphs[0]));
                snprintf(told, sizeof told, "section %u (", s);
                CHECK_MESSAGE(told);
                CHECK_MESSAGE("its checksum is wrong");
                rgm_graph_data_clear(&data);
            }
            rgm_error_reset();
            *byte = (uint8_t)(*byte ^ 1);
        }
    header->sums = header->sums_hash = 0; /* as files of earlier versions */
    header->own_hash = rgm_hash64(bytes, sizeof *header - sizeof header->own_hash);
    CHECK_OK(read_bytes(&data, bytes, size));
    CHECK_OK(rgm_graph_check_sums(&there, data.graphs[0]));
    CHECK(!there);
    rgm_graph_data_clear(&data);
    header->sums = (uint64_t)size + 64;
    header->own_hash = rgm_hash64(bytes, sizeof *header - sizeof header->own_hash);
    CHECK_OK(read_bytes(&data, bytes, size));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_graph_check_sums(&there, data.graphs[0]));
    rgm_graph_data_clear(&data);
    free(bytes);
}

/* What a directory says is held against itself and the sizes, whoever signed it. */
static void a_forged_directory_is_refused_or_harmless(void **state)
{
    int64_t size, directory, refused = 0;
    uint8_t *bytes = small_file(&size);
    rgmi_file_header *header = (void *)bytes;

    (void)state;
    directory = (int64_t)header->directory;
    for (int64_t i = directory; i < size; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            bytes[i] = (uint8_t)(bytes[i] ^ 1 << bit);
            header->hash = rgm_hash64(bytes + directory, (size_t)(size - directory));
            header->own_hash = rgm_hash64(bytes, sizeof *header - sizeof header->own_hash);
            refused += !try_bytes(bytes, size);
            bytes[i] = (uint8_t)(bytes[i] ^ 1 << bit);
        }
    CHECK(refused > size - directory);
    free(bytes);
}

/* Of two sections of the same it is the later one that is told, wherever a sort puts them. */
static void a_section_twice_is_told_by_its_number(void **state)
{
    int64_t size;
    uint8_t *bytes = small_file(&size);
    rgmi_file_header *header = (void *)bytes;
    rgmi_file_section *sections = (void *)(bytes + header->directory);
    rgm_graph_data data;
    char told[64];

    (void)state;
    CHECK(header->sections > 8);
    for (uint32_t a = 0; a + 1 < header->sections; a++)
        for (uint32_t b = a + 1; b < header->sections; b++) {
            const rgmi_file_section kept = sections[b];

            sections[b] = sections[a];
            header->hash = rgm_hash64(sections, header->sections * sizeof *sections);
            header->own_hash = rgm_hash64(bytes, sizeof *header - sizeof header->own_hash);
            CHECK_STATUS(RGM_ERR_FORMAT, read_bytes(&data, bytes, size));
            snprintf(told, sizeof told, "section %u (", b);
            CHECK_MESSAGE(told);
            CHECK_MESSAGE("it is there twice");
            sections[b] = kept;
        }
    free(bytes);
}

static void a_file_cut_while_it_is_open_is_an_error(void **state)
{
    rgm_graph_data data, back;
    rgm_sampler *sampler;
    rgm_graph *batch;
    const int64_t seeds[] = {7, 3};

    (void)state;
    make_data(&data, 3000, 20000);
    unlink(in_folder("cut.graph"));
    CHECK_OK(rgm_graph_data_write(&data, in_folder("cut.graph"), NULL));
    CHECK_OK(rgm_graph_data_open(&back, in_folder("cut.graph")));
    sampler = sampler_of(back.graphs[0]);
    CHECK_OK(rgm_sampler_batch(&batch, sampler, seeds, 2, 0, NULL));
    rgm_graph_release(batch);
    CHECK_INT(0, truncate(in_folder("cut.graph"), 4096));
    CHECK_STATUS(RGM_ERR_IO, rgm_sampler_batch(&batch, sampler, seeds, 2, 1, NULL));
    CHECK_MESSAGE("cut.graph: a part of the file was cut off, or could not be read");
    CHECK(rgm_graph_source(back.graphs[0], "aa") == NULL);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_graph_data_open(&(rgm_graph_data){0}, in_folder("cut.graph")));
    CHECK_MESSAGE("it was cut or has grown");
    rgm_sampler_release(sampler);
    rgm_graph_data_clear(&back);
    rgm_graph_data_clear(&data);
}

/* ---- the writer ------------------------------------------------------------------------------ */

static void a_writer_tells_what_is_wrong_and_leaves_nothing(void **state)
{
    rgm_schema *schema = parse_schema(shop_text);
    rgm_graph_writer *w;
    rgm_graph_data data;
    rgm_feature f = {.values = floats(1, (int64_t[]){2}, (float[]){1, 2})};
    rgm_graph_data two = {.graph_count = 2};
    const int64_t ends[] = {0, 2};

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_writer_open(&w, in_folder("w.graph"), schema,
                                                    &(rgm_graph_writer_options){.memory = 5}));
    CHECK_MESSAGE("5 bytes to sort edges in; at least 1 MiB");
    CHECK_OK(rgm_graph_writer_open(&w, in_folder("w.graph"), schema, NULL));
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_writer_edges(w, "buys", ends, ends, 2));
    CHECK_MESSAGE("how many nodes 'user' has is to be said before edges of 'buys'");
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_writer_feature(w, RGM_NODE_SET, "user", "age", &f));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_writer_items(w, "users", 3));
    CHECK_OK(rgm_graph_writer_items(w, "user", 3));
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_writer_items(w, "user", 3));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_graph_writer_items(w, "item", INT64_C(1) << 31));
    CHECK_OK(rgm_graph_writer_items(w, "item", 2));
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_writer_edges(w, "buys", ends, ends, 2));
    CHECK_MESSAGE("edge set 'buys': target of edge 1 is 2, there are 2 nodes");
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_graph_writer_feature(w, RGM_NODE_SET, "user", "tags", &f));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_graph_writer_feature(w, RGM_NODE_SET, "item", "vec", &f));
    CHECK_OK(rgm_graph_writer_feature(w, RGM_NODE_SET, "user", "age", &f));
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_writer_feature(w, RGM_NODE_SET, "user", "age", &f));
    CHECK_MESSAGE("more values than its set has items");
    CHECK(rgm_graph_writer_ceiling(w) > INT64_C(268435456));
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_writer_finish(w));
    CHECK_MESSAGE("'age' of 'user' has 4 of 3 items");
    rgm_graph_writer_release(w);
    CHECK(!rgm_path_exists(in_folder("w.graph")));
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_data_write(&two, in_folder("w.graph"), NULL));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_data_open(&data, in_folder("w.graph")));
    rgm_feature_clear(&f);
    rgm_schema_release(schema);
}

static rgm_status write_and_read(const rgm_graph_data *data)
{
    rgm_status status = RGM_OK;
    rgm_graph_data back = {0};
    rgm_sampling_spec *spec = NULL;
    rgm_sampler *sampler = NULL;
    rgm_graph *batch = NULL;
    const int64_t seeds[] = {1, 3};
    rgm_text text = {0};

    unlink(in_folder("oom.graph"));
    RGM_GO(rgm_graph_data_write(data, in_folder("oom.graph"), NULL));
    RGM_GO(rgm_graph_data_open(&back, in_folder("oom.graph")));
    RGM_GO(
        rgm_sampling_spec_parse(&spec, two_hops, (int64_t)strlen(two_hops), "spec", back.schema));
    RGM_GO(rgm_sampler_create(&sampler, back.graphs[0], spec, 5));
    RGM_GO(rgm_sampler_batch(&batch, sampler, seeds, 2, 1, "label"));
    RGM_GO(rgm_graph_encode(&text, back.graphs[0], NULL));
done:
    rgm_text_clear(&text);
    rgm_graph_release(batch);
    rgm_sampler_release(sampler);
    rgm_sampling_spec_release(spec);
    rgm_graph_data_clear(&back);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    rgm_graph_data data;

    (void)state;
    make_data(&data, 5, 12);
    CHECK_EVERY_OOM(write_and_read(&data), (void)0);
    rgm_graph_data_clear(&data);
}

/* The graph with a few edges of each set in memory: of the file it has features alone. */
static rgm_graph *with_few_edges(const rgm_graph *graph)
{
    static const char *const sets[] = {"aa", "ab", "nn"};
    rgm_graph *made[3];

    for (int i = 0; i < 3; i++) {
        rgm_tensor *edges = tensor_of(RGM_I64, 1, i < 2 ? 9 : 0, 0);

        CHECK_OK(rgm_graph_with_edges(&made[i], i == 0 ? graph : made[i - 1], sets[i], edges));
        rgm_tensor_release(edges);
    }
    rgm_graph_release(made[0]);
    rgm_graph_release(made[1]);
    return made[2];
}

/* With their lists and texts, which nobody has asked for before. */
static void edges_are_taken_from_a_file_as_from_memory(void **state)
{
    rgm_graph_data data, back;
    rgm_graph *of_memory, *of_file;

    (void)state;
    make_data(&data, 30, 200);
    unlink(in_folder("edges.graph"));
    CHECK_OK(rgm_graph_data_write(&data, in_folder("edges.graph"), NULL));
    CHECK_OK(rgm_graph_data_open(&back, in_folder("edges.graph")));
    of_memory = with_few_edges(data.graphs[0]);
    of_file = with_few_edges(back.graphs[0]);
    check_same_graph(of_memory, of_file);
    rgm_graph_release(of_memory);
    rgm_graph_release(of_file);
    rgm_graph_data_clear(&back);
    rgm_graph_data_clear(&data);
}

/* Of a graph that is trained on as it is. */
static void check_not_fed(rgm_graph *graph)
{
    rgm_cgraph *cgraph;
    rgm_graph_value *value;
    rgm_feed feeds[4];
    int64_t count;

    CHECK_OK(rgm_cgraph_create(&cgraph));
    CHECK_OK(rgm_graph_value_create(&value, cgraph, (rgm_schema *)rgm_graph_schema(graph)));
    CHECK(rgm_node_feature(value, "a", "x") != NULL);
    CHECK_STATUS(RGM_ERR_IO, rgm_graph_feeds(feeds, 4, &count, value, graph));
    rgm_graph_value_release(value);
    rgm_cgraph_release(cgraph);
}

static void every_way_to_draw_tells_that_a_file_was_cut(void **state)
{
    static const rgm_subgraph_sampler_type *const types[] = {
        &rgm_random_walk_sampler, &rgm_cluster_sampler, &rgm_saint_sampler, &rgm_shadow_sampler};
    const rgm_random_walk_options walk = RGM_RANDOM_WALK_OPTIONS_INIT;
    const rgm_cluster_options cluster = RGM_CLUSTER_OPTIONS_INIT;
    const rgm_saint_options saint = RGM_SAINT_OPTIONS_INIT;
    const rgm_shadow_options shadow = RGM_SHADOW_OPTIONS_INIT;
    const void *const options[] = {&walk, &cluster, &saint, &shadow};
    rgm_subgraph_source from = {.node_set = "a", .label = "label", .seed = 1};
    rgm_subgraph_sampler *samplers[4];
    rgm_sampler *around;
    rgm_graph_data data, back;
    rgm_graph *few, *batch;

    (void)state;
    make_data(&data, 3000, 20000);
    unlink(in_folder("drawn.graph"));
    CHECK_OK(rgm_graph_data_write(&data, in_folder("drawn.graph"), NULL));
    CHECK_OK(rgm_graph_data_open(&back, in_folder("drawn.graph")));
    from.graph = back.graphs[0];
    from.seeds = back.train;
    for (int i = 0; i < 4; i++)
        CHECK_OK(rgm_subgraph_sampler_create(&samplers[i], types[i], &from, options[i]));
    few = with_few_edges(back.graphs[0]);
    around = sampler_of(few);
    CHECK_INT(0, truncate(in_folder("drawn.graph"), 4096));
    for (int i = 0; i < 4; i++) {
        const int64_t *units = rgm_tensor_i64(rgm_subgraph_sampler_units(samplers[i]));

        CHECK_STATUS(RGM_ERR_IO, rgm_subgraph_sampler_draw(&batch, samplers[i], units, 1, 0));
        CHECK_MESSAGE("drawn.graph: a part of the file was cut off, or could not be read");
        rgm_subgraph_sampler_release(samplers[i]);
    }
    CHECK_STATUS(RGM_ERR_IO,
                 rgm_sampler_pairs(&batch, around, (int64_t[]){0}, (int64_t[]){5}, 1, 0, NULL, 0));
    check_not_fed(back.graphs[0]);
    check_not_fed(few);
    rgm_sampler_release(around);
    rgm_graph_release(few);
    rgm_graph_data_clear(&back);
    rgm_graph_data_clear(&data);
}

TESTS(cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(edges_are_sorted_in_the_memory_that_there_is),
      cmocka_unit_test(samples_of_a_file_are_those_of_memory),
      cmocka_unit_test(every_damaged_byte_is_refused_or_harmless),
      cmocka_unit_test(every_damaged_byte_of_a_section_is_found),
      cmocka_unit_test(a_forged_directory_is_refused_or_harmless),
      cmocka_unit_test(a_section_twice_is_told_by_its_number),
      cmocka_unit_test(a_file_cut_while_it_is_open_is_an_error),
      cmocka_unit_test(edges_are_taken_from_a_file_as_from_memory),
      cmocka_unit_test(every_way_to_draw_tells_that_a_file_was_cut),
      cmocka_unit_test(a_writer_tells_what_is_wrong_and_leaves_nothing),
      cmocka_unit_test(every_failing_allocation_is_survived))
