#include <check.h>
#include <regimen/graph_import.h>

static const rgm_events_options small = {.accounts = 300,
                                         .kinds = 3,
                                         .recent = 4,
                                         .past = 9,
                                         .future = 3,
                                         .noise = 0.2,
                                         .train = 100,
                                         .valid = 50,
                                         .seed = 5};

static const int64_t *ints_of(const rgm_graph *graph, rgm_piece piece, const char *set,
                              const char *feature)
{
    return rgm_tensor_i64(rgm_graph_feature(graph, piece, set, feature)->values);
}

static int64_t kind_of(const rgm_graph *graph, int64_t event)
{
    const float *kind =
        rgm_tensor_f32(rgm_graph_feature(graph, RGM_NODE_SET, "event", "kind")->values);

    for (int64_t k = 0; k < 3; k++)
        if (kind[3 * event + k] == 1)
            return k;
    return -1;
}

/* The commonest kind of the account's last four events before it is asked about; `ahead` counts
 * later events of its label. */
static int64_t told_by_past(int64_t *ahead, const rgm_graph *graph, int64_t account)
{
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(graph, "has"));
    const int64_t *target = rgm_tensor_i64(rgm_graph_target(graph, "has"));
    const int64_t *time = ints_of(graph, RGM_EDGE_SET, "has", "time");
    int64_t asked = ints_of(graph, RGM_NODE_SET, "account", "asked")[account], counts[3] = {0};
    int64_t edges = rgm_graph_total(graph, RGM_EDGE_SET, "has"), best = 0, past = 0, future = 0;

    *ahead = 0;
    for (int64_t e = 0; e < edges; e++) {
        int64_t later = 0;

        if (source[e] != account)
            continue;
        if (time[e] >= asked) {
            *ahead += kind_of(graph, target[e]) ==
                      ints_of(graph, RGM_NODE_SET, "account", "label")[account];
            future++;
            continue;
        }
        past++;
        for (int64_t f = 0; f < edges; f++)
            later += source[f] == account && time[f] > time[e] && time[f] < asked;
        if (later < 4)
            counts[kind_of(graph, target[e])]++;
    }
    CHECK_INT(9, past);
    CHECK_INT(3, future);
    CHECK_INT(4, counts[0] + counts[1] + counts[2]);
    for (int64_t k = 1; k < 3; k++)
        if (counts[k] > counts[best])
            best = k;
    return best;
}

static void the_latest_of_the_past_tell_the_label(void **state)
{
    rgm_graph_data data;
    int64_t right = 0, ahead, told_later = 0;

    (void)state;
    CHECK_OK(rgm_generate_events(&data, &small));
    for (int64_t account = 0; account < 300; account++) {
        int64_t label = ints_of(data.graphs[0], RGM_NODE_SET, "account", "label")[account];

        right += told_by_past(&ahead, data.graphs[0], account) == label;
        if (account < 100)
            CHECK_INT(3, ahead); /* the future of the training part tells it */
        else
            told_later += ahead;
    }
    CHECK(right > 220 && right < 260); /* 240: a fifth is noise */
    CHECK(told_later > 150 && told_later < 250);
    CHECK_INT(100, rgm_tensor_count(data.train));
    CHECK_INT(50, rgm_tensor_count(data.valid));
    CHECK_INT(150, rgm_tensor_count(data.test));
    CHECK_INT(299, rgm_tensor_i64(data.test)[149]);
    CHECK_TEXT("account", data.split_set);
    rgm_graph_data_clear(&data);
}

static void encode(rgm_text *out, const rgm_events_options *options)
{
    rgm_graph_data data;

    CHECK_OK(rgm_generate_events(&data, options));
    CHECK_OK(rgm_graph_encode(out, data.graphs[0], ""));
    rgm_graph_data_clear(&data);
}

static void the_same_seed_gives_the_same_events(void **state)
{
    rgm_events_options other = small;
    rgm_text a = {0}, b = {0}, c = {0};

    (void)state;
    other.seed = 6;
    encode(&a, &small);
    encode(&b, &small);
    encode(&c, &other);
    CHECK(a.size == b.size && memcmp(a.data, b.data, (size_t)a.size) == 0);
    CHECK(a.size != c.size || memcmp(a.data, c.data, (size_t)a.size) != 0);
    rgm_text_clear(&a);
    rgm_text_clear(&b);
    rgm_text_clear(&c);
}

static void options_that_contradict_each_other_are_refused(void **state)
{
    rgm_events_options bad[4] = {small, small, small, small};
    rgm_graph_data data;

    (void)state;
    bad[0].past = 3;
    bad[1].noise = 1.5;
    bad[2].valid = 200;
    bad[3].kinds = 1;
    for (int i = 0; i < 4; i++)
        CHECK_STATUS(RGM_ERR_ARG, rgm_generate_events(&data, &bad[i]));
    CHECK_EVERY_OOM(rgm_generate_events(&data, &small), rgm_graph_data_clear(&data));
}

TESTS(cmocka_unit_test(the_latest_of_the_past_tell_the_label),
      cmocka_unit_test(the_same_seed_gives_the_same_events),
      cmocka_unit_test(options_that_contradict_each_other_are_refused))
