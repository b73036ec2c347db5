/* Values over items of which each has a copy as well, against the same over the items alone: half
 * of the entries lead to copies, so that what is read there must have been fetched; or only those
 * between the items behind some, which need no copies. */
#include "autodiff_check.h"

enum { ITEMS = 7, ENTRIES = 15, CHANNELS = 4, ASKED = 3 };

static const int64_t rows[ENTRIES] = {0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 2, 6};
static const int64_t columns[ENTRIES] = {1, 2, 0, 3, 4, 6, 0, 1, 2, 3, 0, 6, 5, 4, 4};
static const int64_t asked[ASKED] = {4, 0, 6};
static int64_t inner; /* items whose entries lead to no copies */

/* What one rank would have: p [items, items] with half of its entries at copies, or p as it is. */
typedef struct side {
    rgm_value *p, *x, *seeds;
    rgm_dim items;
} side;

/* A model's states [items, CHANNELS]. */
typedef rgm_value *model_fn(lab *l, const side *s);

typedef struct made {
    lab l;
    side whole, parted;
    rgm_exchange exchange;
    int fetches, returns, under_way, over;
    int meanwhile[2]; /* products, and those of the rest of a product's rows, before the end */
    rgm_exchange_rows rows[16];
    double *sent[16];
} made;

static rgm_value *weight(lab *l, const char *name)
{
    return rgm_parameter(l->graph, name, l->dtype, 2, (int64_t[]){CHANNELS, CHANNELS},
                         (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
}

/* ---- models -------------------------------------------------------------------------------- */

static rgm_value *rounds(lab *l, const side *s, const rgm_spmm_options *options)
{
    rgm_value *h = rgm_tanh(rgm_matmul(rgm_spmm(s->p, s->x, options), weight(l, "w1")));

    return rgm_spmm(s->p, rgm_matmul(h, weight(l, "w2")), options);
}

static rgm_value *sums(lab *l, const side *s)
{
    return rounds(l, s, NULL);
}

static rgm_value *means_with_loops(lab *l, const side *s)
{
    return rounds(l, s, &(rgm_spmm_options){.mean = true, .self_loop = true});
}

static rgm_value *kipf(lab *l, const side *s)
{
    rgm_value *degree = rgm_rsqrt(rgm_shift(rgm_degree(s->p, l->dtype), 1));

    return rounds(
        l, s, &(rgm_spmm_options){.row_scale = degree, .column_scale = degree, .self_loop = true});
}

/* Along the edges and against them. */
static rgm_value *both_ways(lab *l, const side *s)
{
    side turned = {.p = rgm_transpose_pattern(s->p), .x = sums(l, s)};

    return rgm_add(rgm_matmul(s->x, weight(l, "w3")), rounds(l, &turned, NULL));
}

static rgm_value *attention(lab *l, const side *s, rgm_value *p)
{
    rgm_value *h = rgm_tanh(rgm_spmm(s->p, s->x, NULL)), *score, *q, *v;
    rgm_dim shape[3] = {s->items, 2, CHANNELS / 2};

    q = rgm_reshape(rgm_matmul(h, weight(l, "q")), 3, shape);
    v = rgm_reshape(rgm_matmul(h, weight(l, "v")), 3, shape);
    score = rgm_gatv2_score(p, q, v,
                            rgm_parameter(l->graph, "a", l->dtype, 2, (int64_t[]){2, CHANNELS / 2},
                                          (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0}),
                            0.2);
    score = rgm_dropout_op(rgm_softmax_rows(p, score), 0.5, "attention");
    return rgm_reshape(rgm_spmm(p, v, &(rgm_spmm_options){.weight = score}), 2,
                       (rgm_dim[]){s->items, CHANNELS});
}

static rgm_value *attends(lab *l, const side *s)
{
    return attention(l, s, s->p);
}

static rgm_value *attends_with_loops(lab *l, const side *s)
{
    return attention(l, s, rgm_add_self_loops(s->p));
}

/* Messages of both ends, heard at both: states at rows are fetched as well. */
static rgm_value *messages(lab *l, const side *s)
{
    rgm_value *h = rgm_tanh(rgm_spmm(s->p, s->x, NULL)), *m;

    m = rgm_tanh(rgm_add(rgm_broadcast_rows(s->p, rgm_matmul(h, weight(l, "r"))),
                         rgm_broadcast_columns(s->p, h)));
    m = rgm_item_dropout_op(m, 0.3, "edges");
    return rgm_add(rgm_pool_rows(s->p, m, RGM_MAX_NO_INF),
                   rgm_pool_rows(rgm_transpose_pattern(s->p), m, RGM_SUM));
}

static rgm_value *drops(lab *l, const side *s)
{
    side dropped = *s;

    dropped.x = rgm_dropout_op(s->x, 0.4, "input");
    return rgm_when_training(
        rgm_dropout_op(rounds(l, &dropped, &(rgm_spmm_options){.mean = true}), 0.25, "states"),
        rounds(l, s, NULL));
}

static const struct {
    model_fn *states;
    int exchanges;                                                                 /* in a run */
} cases[] = {{sums, 1},    {means_with_loops, 1},   {kipf, 2},     {both_ways, 3}, /* */
             {attends, 1}, {attends_with_loops, 1}, {messages, 2}, {drops, 1}};

/* ---- two sides ------------------------------------------------------------------------------- */

/* Nothing is there before the end: until then the copies are NaN. */
static rgm_status begin_rows(void **under_way, const rgm_exchange_rows *r, void *payload)
{
    made *m = payload;
    int64_t count = ITEMS * r->width;
    double *own = r->rows;

    CHECK_INT(RGM_F64, r->dtype);
    m->fetches += !r->back;
    m->returns += r->back;
    CHECK(m->under_way < (int)(sizeof m->rows / sizeof *m->rows));
    m->rows[m->under_way] = *r;
    m->sent[m->under_way] = malloc((size_t)count * sizeof *own);
    memcpy(m->sent[m->under_way], own + (r->back ? count : 0), (size_t)count * sizeof *own);
    for (int64_t i = 0; i < count; i++)
        own[count + i] = NAN;
    *under_way = &m->rows[m->under_way++];
    return RGM_OK;
}

static rgm_status end_rows(void *under_way, void *payload)
{
    made *m = payload;
    const rgm_exchange_rows *r = under_way;
    int64_t count = ITEMS * r->width;
    double *own = r->rows, *sent = m->sent[r - m->rows];

    for (int64_t i = 0; i < count; i++) {
        if (r->back)
            own[i] += sent[i];
        own[count + i] = r->back ? 0 : sent[i];
    }
    free(sent);
    m->over++;
    return RGM_OK;
}

/* Entries with an odd number lead to a copy, seen from either end. */
static bool is_cut(int64_t e)
{
    return inner > 0 ? rows[e] >= inner && columns[e] >= inner : e % 2;
}

static int64_t at_copies(int64_t *number, int64_t *row, int64_t *column)
{
    int64_t count = 0;

    for (int64_t e = 0; e < ENTRIES; e++)
        for (int twice = 0; twice < 1 + is_cut(e); twice++) {
            number[count] = e;
            row[count] = rows[e] + (twice ? ITEMS : 0);
            column[count++] = columns[e] + (is_cut(e) && !twice ? ITEMS : 0);
        }
    return count;
}

static rgm_status numbers(rgm_tensor **out, const rgm_value *of, int64_t k, void *payload)
{
    int64_t number[2 * ENTRIES], row[2 * ENTRIES], column[2 * ENTRIES];
    int64_t count = at_copies(number, row, column);

    (void)payload;
    CHECK_INT(0, k);
    if (of != NULL)
        return rgm_tensor_create_from(out, RGM_I64, 1, &count, number);
    count = 2 * ITEMS;
    for (int64_t i = 0; i < count; i++)
        number[i] = i % ITEMS;
    return rgm_tensor_create_from(out, RGM_I64, 1, &count, number);
}

static rgm_value *pattern(lab *l, const char *name, rgm_dim items, int64_t size, int64_t count,
                          const int64_t *row, const int64_t *column)
{
    char entries[32];
    rgm_value *p;

    snprintf(entries, sizeof entries, "entries of %s", name);
    p = rgm_input_pattern(l->graph, name, items, items, rgm_cgraph_symbol(l->graph, entries));
    l->feeds[l->count].input = p;
    CHECK_OK(rgm_pattern_create(&l->feeds[l->count++].pattern, size, size, count, row, column));
    return p;
}

static rgm_value *seeds(lab *l, const char *name, rgm_dim items, int64_t size)
{
    static const int64_t each[ASKED] = {0, 1, 2};
    rgm_value *p = rgm_input_pattern(l->graph, name, ASKED, items, ASKED);

    l->feeds[l->count].input = p;
    CHECK_OK(rgm_pattern_create(&l->feeds[l->count++].pattern, ASKED, size, ASKED, each, asked));
    return p;
}

static void open_made(made *m)
{
    int64_t number[2 * ENTRIES], row[2 * ENTRIES], column[2 * ENTRIES];
    int64_t count = at_copies(number, row, column);
    rgm_tensor *x, *twice;

    *m = (made){.exchange = {begin_rows, end_rows, m, ITEMS}};
    lab_open(&m->l, RGM_F64);
    m->whole.items = rgm_cgraph_symbol(m->l.graph, "items");
    m->parted.items = rgm_cgraph_symbol(m->l.graph, "items here");
    m->whole.p = pattern(&m->l, "p", m->whole.items, ITEMS, ENTRIES, rows, columns);
    m->parted.p = pattern(&m->l, "p here", m->parted.items, 2 * ITEMS, count, row, column);
    m->whole.seeds = seeds(&m->l, "seeds", m->whole.items, ITEMS);
    m->parted.seeds = seeds(&m->l, "seeds here", m->parted.items, 2 * ITEMS);
    m->whole.x = lab_input_of(&m->l, 2, (rgm_dim[]){m->whole.items, CHANNELS},
                              (int64_t[]){ITEMS, CHANNELS}, false);
    x = m->l.feeds[m->l.count - 1].tensor;
    CHECK_OK(rgm_tensor_create(&twice, RGM_F64, 2, (int64_t[]){2 * ITEMS, CHANNELS}));
    for (int64_t i = 0; i < 2 * ITEMS * CHANNELS; i++)
        lab_set(twice, i, rgm_tensor_at(x, i % (ITEMS * CHANNELS)));
    m->parted.x = lab_feed(
        &m->l, rgm_input(m->l.graph, "x here", RGM_F64, 2, (rgm_dim[]){m->parted.items, CHANNELS}),
        twice, true);
}

static rgm_status part(rgm_value **out, int64_t *exchanges, made *m, rgm_value *const *values,
                       int64_t count)
{
    const rgm_parted_items items = {m->parted.items, &m->exchange};
    const rgm_parted_link link = {m->parted.p, ENTRIES};
    const rgm_parted_options options = {.items = &items,
                                        .item_count = 1,
                                        .links = &link,
                                        .link_count = 1,
                                        .seeds = &m->parted.seeds,
                                        .seed_count = 1,
                                        .numbers = numbers};
    uint64_t order;

    return rgm_cgraph_part(out, exchanges, &order, values, count, &options);
}

/* A number of what is asked about, as a loss is. */
static rgm_value *loss_of(lab *l, const side *s, model_fn *states)
{
    rgm_value *picked = rgm_spmm(s->seeds, states(l, s), NULL);

    return rgm_sum(rgm_square(rgm_shift(picked, 0.3)));
}

/* ---- tests --------------------------------------------------------------------------------- */

/* Loss and gradients of both sides, with fused ops and without, in training and out of it. */
static void compare(made *m, rgm_value *whole, rgm_value *parted,
                    const rgm_executor_options *options)
{
    rgm_value *fetches[LAB_MAX] = {whole, parted}, *wrt[LAB_MAX];
    rgm_tensor *results[LAB_MAX];
    rgm_parameters *parameters;
    int64_t count = rgm_cgraph_parameter_count(m->l.graph);

    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(m->l.graph, i);
    CHECK_OK(rgm_cgraph_gradients(fetches + 2, whole, wrt, count));
    CHECK_OK(rgm_cgraph_gradients(fetches + 2 + count, parted, wrt, count));
    CHECK_OK(rgm_parameters_create(&parameters, m->l.graph, 1));
    lab_run(&m->l, results, fetches, 2 + 2 * count, options, parameters);
    CHECK_CLOSE(rgm_tensor_at(results[0], 0), rgm_tensor_at(results[1], 0), 1e-12, 1e-14);
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < rgm_tensor_count(results[2 + k]); i++)
            CHECK_CLOSE(rgm_tensor_at(results[2 + k], i), rgm_tensor_at(results[2 + count + k], i),
                        1e-12, 1e-14);
    for (int64_t i = 0; i < 2 + 2 * count; i++)
        rgm_tensor_release(results[i]);
    rgm_parameters_release(parameters);
}

static void parts_compute_what_the_whole_does(void **state)
{
    static const rgm_executor_options options[] = {
        {.training = true}, {.training = true, .no_fusion = true}, {.training = false}};

    (void)state;
    for (size_t c = 0; c < 2 * (sizeof cases / sizeof *cases); c++)
        for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
            rgm_value *whole, *parted, *built;
            int64_t exchanges, k = (int64_t)c / 2;
            made m;

            inner = c % 2 ? 3 : 0;
            open_made(&m);
            whole = loss_of(&m.l, &m.whole, cases[k].states);
            built = loss_of(&m.l, &m.parted, cases[k].states);
            CHECK_OK(part(&parted, &exchanges, &m, &built, 1));
            CHECK(parted != built);
            compare(&m, whole, parted, &options[o]);
            CHECK_INT(cases[k].exchanges, m.fetches);
            CHECK(m.returns <= m.fetches);
            lab_close(&m.l);
        }
    inner = 0;
}

/* ---- rows meanwhile ------------------------------------------------------------------------ */

static void watch_op(const rgm_op_event *event, void *payload)
{
    made *m = payload;
    bool waits = m->under_way > m->over;

    m->meanwhile[0] += waits && strcmp(event->op, "spmm") == 0;
    m->meanwhile[1] += waits && strcmp(event->op, "spmm_rest") == 0;
}

/* Loss and gradients of the parted side; own: 0 or ITEMS. Returns how many there are. */
static int64_t run_parted(rgm_tensor **results, made *m, model_fn *states, int64_t own,
                          const rgm_executor_options *options)
{
    rgm_value *values[LAB_MAX], *wrt[LAB_MAX], *built;
    rgm_tensor *borrowed[LAB_MAX];
    rgm_parameters *parameters;
    rgm_executor *executor;
    int64_t exchanges, count;

    open_made(m);
    m->exchange.own = own;
    built = loss_of(&m->l, &m->parted, states);
    CHECK_OK(part(values, &exchanges, m, &built, 1));
    count = rgm_cgraph_parameter_count(m->l.graph);
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(m->l.graph, i);
    CHECK_OK(rgm_cgraph_gradients(values + 1, values[0], wrt, count));
    CHECK_OK(rgm_parameters_create(&parameters, m->l.graph, 1));
    CHECK_OK(rgm_executor_create(&executor, m->l.graph, values, 1 + count, options));
    rgm_executor_observe(executor, watch_op, m);
    CHECK_OK(rgm_executor_run(executor, borrowed, parameters, m->l.feeds, m->l.count, 3, 5));
    for (int64_t i = 0; i <= count; i++)
        CHECK_OK(rgm_tensor_copy(&results[i], borrowed[i]));
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    lab_close(&m->l);
    return 1 + count;
}

/* Copies are NaN until the end. Products split around that have the bytes of those that wait. */
static void rows_that_need_no_copies_do_not_wait(void **state)
{
    static const rgm_executor_options options[] = {{.training = true}, {.training = false}};

    (void)state;
    for (inner = 3; inner >= 0; inner -= 3)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            for (int o = 0; o < 2; o++) {
                rgm_tensor *waiting[LAB_MAX], *split[LAB_MAX];
                made m, n;
                int64_t count = run_parted(waiting, &m, cases[c].states, 0, &options[o]);

                CHECK_INT(count, run_parted(split, &n, cases[c].states, ITEMS, &options[o]));
                for (int64_t i = 0; i < count; i++) {
                    CHECK(rgm_tensor_equal(waiting[i], split[i]));
                    rgm_tensor_release(waiting[i]);
                    rgm_tensor_release(split[i]);
                }
                CHECK_INT(0, m.meanwhile[1]);
                if (cases[c].states == sums || cases[c].states == means_with_loops) {
                    CHECK_INT(0, m.meanwhile[0]);
                    CHECK_INT(1, n.meanwhile[0]);
                    CHECK_INT(1, n.meanwhile[1]);
                }
            }
    inner = 0;
}

/* What no row of another is needed for stays as it is. */
static void what_depends_on_no_link_is_left(void **state)
{
    rgm_value *values[2], *parted[2];
    int64_t exchanges = -1;
    made m;

    (void)state;
    open_made(&m);
    values[0] = rgm_sum(rgm_square(weight(&m.l, "w")));
    values[1] = rgm_spmm(m.parted.seeds, m.parted.x, NULL);
    CHECK_OK(part(parted, &exchanges, &m, values, 2));
    CHECK(parted[0] == values[0] && parted[1] == values[1]);
    CHECK_INT(0, exchanges);
    lab_close(&m.l);
}

static rgm_value *normed(lab *l, const side *s)
{
    rgm_value *mean = rgm_reduce(rgm_spmm(s->p, s->x, NULL), 0, RGM_MEAN);

    (void)l;
    return rgm_sub(s->x, rgm_reshape(mean, 2, (rgm_dim[]){1, CHANNELS}));
}

static rgm_value *of_constants(lab *l, const side *s)
{
    rgm_value *ones = rgm_shift(rgm_scale(rgm_degree(s->p, l->dtype), 0), 1);

    return rgm_mul(s->x, rgm_reshape(rgm_sum(ones), 2, (rgm_dim[]){1, 1}));
}

/* Softmax at one end, summed at the other. */
static rgm_value *crossed(lab *l, const side *s)
{
    rgm_value *score = rgm_softmax_rows(s->p, rgm_broadcast_columns(s->p, s->x));

    (void)l;
    return rgm_pool_rows(rgm_transpose_pattern(s->p), score, RGM_SUM);
}

static rgm_status mask_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    (void)in, (void)inputs;
    *out = (rgm_op_shape){.dtype = RGM_F64, .rank = 2};
    out->shape[0] = attributes->integer[0];
    out->shape[1] = 1;
    return RGM_OK;
}

static const rgm_op_type mask_op = {
    .name = "mask", .arity = 0, .infer = mask_infer, .no_gradient = "of chance", .random = true};

/* A draw for each item, of no input. */
static rgm_value *masked(lab *l, const side *s)
{
    const rgm_attributes attributes = {.integer = {s->items}};

    return rgm_mul(s->x, rgm_op(l->graph, &mask_op, NULL, 0, &attributes));
}

static void what_cannot_be_split_is_named(void **state)
{
    static const struct {
        model_fn *states;
        const char *message;
    } refused[] = {{normed, "'reduce' makes one thing of all nodes or edges"},
                   {of_constants, "of all nodes or edges"},
                   {masked, "'mask' draws for each row of a constant"},
                   {crossed, "'pool_rows' gathers at one end of the edges what was normalised at "
                             "the other"}};

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        rgm_value *parted, *built;
        made m;

        open_made(&m);
        built = loss_of(&m.l, &m.parted, refused[i].states);
        CHECK_STATUS(RGM_ERR_UNSUPPORTED, part(&parted, NULL, &m, &built, 1));
        CHECK_MESSAGE(refused[i].message);
        built = refused[i].states(&m.l, &m.parted);
        lab_close(&m.l);
    }
}

static void states_of_all_are_refused(void **state)
{
    rgm_value *built, *parted;
    made m;

    (void)state;
    open_made(&m);
    built = sums(&m.l, &m.parted);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, part(&parted, NULL, &m, &built, 1));
    CHECK_MESSAGE("is of all nodes or edges, of which each rank has some");
    lab_close(&m.l);
}

/* Behind the readout rows are of what this process asks about, in an order of its own. */
static void draws_behind_a_readout_are_refused(void **state)
{
    rgm_value *built, *parted;
    made m;

    (void)state;
    open_made(&m);
    built = rgm_spmm(m.parted.seeds, sums(&m.l, &m.parted), NULL);
    built = rgm_sum(rgm_square(rgm_dropout_op(built, 0.5, "head")));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, part(&parted, NULL, &m, &built, 1));
    CHECK_MESSAGE("'dropout' draws by the place among the nodes that are asked about");
    lab_close(&m.l);
    open_made(&m);
    built = rgm_spmm(m.parted.seeds, sums(&m.l, &m.parted), NULL);
    built = rgm_sum(rgm_batch_moments(built));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, part(&parted, NULL, &m, &built, 1));
    CHECK_MESSAGE("'batch_moments' makes one thing of all nodes that are asked about");
    lab_close(&m.l);
}

static rgm_status part_all(void)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    lab l = {.dtype = RGM_F64};
    rgm_exchange exchange = {begin_rows, end_rows, NULL, ITEMS};
    rgm_parted_items items = {.exchange = &exchange};
    rgm_parted_link link = {.total = ENTRIES};
    rgm_value *y, *out;
    side s;

    RGM_GO(rgm_cgraph_create(&graph));
    l.graph = graph;
    items.size = s.items = rgm_cgraph_symbol(graph, "items");
    link.pattern = s.p =
        rgm_input_pattern(graph, "p", s.items, s.items, rgm_cgraph_symbol(graph, "entries"));
    s.x = rgm_input(graph, "x", RGM_F64, 2, (rgm_dim[]){s.items, CHANNELS});
    s.seeds = rgm_input_pattern(graph, "seeds", ASKED, s.items, ASKED);
    RGM_GO(rgm_cgraph_status(graph));
    y = loss_of(&l, &s, drops);
    RGM_GO(rgm_cgraph_status(graph));
    const rgm_parted_options options = {&items, 1, &link, 1, &s.seeds, 1, numbers, NULL};
    RGM_GO(rgm_cgraph_part(&out, NULL, NULL, &y, 1, &options));
done:
    rgm_cgraph_release(graph);
    return status;
}

static void parting_survives_every_failing_allocation(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(part_all(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_compute_what_the_whole_does),
        cmocka_unit_test(rows_that_need_no_copies_do_not_wait),
        cmocka_unit_test(what_depends_on_no_link_is_left),
        cmocka_unit_test(what_cannot_be_split_is_named),
        cmocka_unit_test(states_of_all_are_refused),
        cmocka_unit_test(draws_behind_a_readout_are_refused),
        cmocka_unit_test(parting_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
