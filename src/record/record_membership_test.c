/*
 * Membership inference: what an epsilon bounds. Many models are trained with and without one
 * record, the canary, which is as far from the others as a record can be. An attacker who knows the
 * initial weights and sees the loss of the canary guesses whether it was there. The threshold on
 * the loss is learned from shadow models and tested on others. From how often the attacker is right
 * follows, with 95 % confidence, a lower bound on the epsilon of the training. It must be below the
 * requested epsilon, and far above it when there is no noise; otherwise the attack would prove
 * nothing.
 */
#include <check.h>

#include <regimen/record.h>
#include <regimen/train.h>

enum { RECORDS = 30, PIXELS = 64, STEPS = 10, SHADOWS = 30, ATTACKED = 70 };
enum { RUNS = SHADOWS + ATTACKED };

#define RATE  0.5
#define DELTA 1e-3

typedef struct game {
    rgm_task digits;                               /* its model and feeds are used */
    rgm_tensor *images[2], *labels[2], *canary[2]; /* [member]; image and label       */
    bool member;
} game;

/* ---- the data ------------------------------------------------------------------------------ */

/* A list of one file, which lives as long as the name. */
static rgm_texts one_file(const char *name)
{
    static const char *names[16];
    static int next;
    const char **at = &names[next++ % 16];

    *at = name;
    return (rgm_texts){at, 1};
}

/* Ink in the first and last column, where few digits have any, and nowhere else. */
static void draw_canary(float *image)
{
    memset(image, 0, PIXELS * sizeof *image);
    for (int row = 0; row < 8; row++)
        image[8 * row] = image[8 * row + 7] = 1;
}

static void take_records(game *g)
{
    rgm_dataset *data;
    rgm_iterator *iterator;
    rgm_element *batch;

    CHECK_OK(g->digits.build_inputs(&data, g->digits.state, RGM_TRAIN, false));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    CHECK_OK(rgm_iterator_next(&batch, iterator));
    for (int64_t member = 0; member < 2; member++) {
        int64_t n = RECORDS + member;

        CHECK_OK(rgm_tensor_create(&g->images[member], RGM_F32, 2, (int64_t[]){n, PIXELS}));
        CHECK_OK(rgm_tensor_create(&g->labels[member], RGM_I64, 1, &n));
        memcpy(rgm_tensor_f32(g->images[member]), rgm_tensor_f32(rgm_element_tensor(batch, 0)),
               RECORDS * PIXELS * sizeof(float));
        memcpy(rgm_tensor_i64(g->labels[member]), rgm_tensor_i64(rgm_element_tensor(batch, 1)),
               RECORDS * sizeof(int64_t));
    }
    CHECK_OK(rgm_tensor_create(&g->canary[0], RGM_F32, 2, (int64_t[]){1, PIXELS}));
    CHECK_OK(rgm_tensor_create(&g->canary[1], RGM_I64, 1, (int64_t[]){1}));
    draw_canary(rgm_tensor_f32(g->canary[0]));
    draw_canary(rgm_tensor_f32(g->images[1]) + RECORDS * PIXELS);
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
}

static bool open_game(game *g)
{
    const char *path = check_data("digits");
    rgm_record_options options;
    rgm_mlp_options mlp;

    *g = (game){.member = false};
    if (path == NULL)
        return false;
    rgm_record_defaults(&options);
    options.path = path;
    options.train = one_file("train.csv.gz");
    options.num_classes = 10;
    options.scale = 16;
    options.batch_size = RECORDS;
    options.shuffle = false;
    rgm_mlp_defaults(&mlp);
    mlp.hidden = (rgm_ints){(int64_t[]){16}, 1};
    CHECK_OK(rgm_record_classification_create(&g->digits, &options, &rgm_mlp_network, &mlp, 1, 0));
    take_records(g);
    return true;
}

static void close_game(game *g)
{
    for (int k = 0; k < 2; k++) {
        rgm_tensor_release(g->images[k]);
        rgm_tensor_release(g->labels[k]);
        rgm_tensor_release(g->canary[k]);
    }
    rgm_task_release(&g->digits);
}

/* ---- the task: digits' model on these records ---------------------------------------------- */

static rgm_status game_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    game *g = state;
    rgm_tensor *records[] = {g->images[g->member], g->labels[g->member]};

    (void)endless;
    *out = NULL;
    if (mode == RGM_TEST)
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, mode == RGM_TRAIN ? records : g->canary, 2));
    RGM_TRY(mode == RGM_TRAIN ? rgm_dataset_poisson(out, RATE) : rgm_dataset_batch(out, 1, false));
    RGM_TRY(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, 0));
    return mode == RGM_TRAIN ? rgm_dataset_repeat(out, -1) : RGM_OK;
}

static rgm_status game_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    game *g = state;

    return g->digits.build_model(out, scope, g->digits.state);
}

static rgm_status game_feeds(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                             rgm_element *batch)
{
    game *g = state;

    return g->digits.feeds(feeds, capacity, count, g->digits.state, batch);
}

/* The same with and without the canary: the number of records is public. */
static rgm_status game_sampling(rgm_sampling *out, void *state)
{
    (void)state;
    *out = (rgm_sampling){.examples = RECORDS, .rate = RATE, .poisson = true};
    return RGM_OK;
}

/* How training changed the loss of the canary; all randomness follows from the seed. */
static double canary_gain(game *g, bool member, int64_t seed, const rgm_privacy *privacy)
{
    rgm_task task = {.name = "game",
                     .state = g,
                     .build_inputs = game_inputs,
                     .build_model = game_model,
                     .feeds = game_feeds,
                     .sampling = game_sampling};
    rgm_optimizer_options sgd = rgm_sgd(1, 0);
    rgm_runtime_options runtime = {.seed = seed};
    rgm_trainer_options options;
    rgm_trainer_setup setup = {.task = &task,
                               .options = &options,
                               .runtime = &runtime,
                               .optimizer = &sgd,
                               .endless = true};
    rgm_trainer *trainer;
    const rgm_logs *logs;
    double before, gained;

    g->member = member;
    rgm_trainer_defaults(&options);
    options.train_steps = STEPS;
    options.privacy = *privacy;
    options.privacy.noise_seed = seed;
    CHECK_OK(rgm_trainer_create(&trainer, &setup));
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    before = rgm_logs_get(logs, "loss");
    CHECK_OK(rgm_trainer_train(trainer, STEPS, &logs));
    if (privacy->target_epsilon > 0)
        CHECK(rgm_trainer_epsilon(trainer) <= privacy->target_epsilon * (1 + 1e-6));
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    gained = rgm_logs_get(logs, "loss") - before;
    rgm_trainer_release(trainer);
    return gained;
}

/* ---- the attack ---------------------------------------------------------------------------- */

/* P(X <= k) of a binomial variable. */
static double binomial_cdf(int k, int n, double p)
{
    double sum = 0;

    for (int i = 0; i <= k; i++)
        sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
                   (n - i) * log1p(-p));
    return sum;
}

/* The upper bound on a rate of which k of n were seen, with 97.5 % confidence (Clopper & Pearson
 * 1934). */
static double rate_at_most(int k, int n)
{
    double low = (double)k / n, high = 1;

    if (k == n)
        return 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;

        *(binomial_cdf(k, n, middle) > 0.025 ? &low : &high) = middle;
    }
    return high;
}

/* With (epsilon, delta) privacy no attacker has P(right) > e^epsilon P(wrong) + delta. */
static double epsilon_at_least(int right, int wrong, int n)
{
    double hits = 1 - rate_at_most(n - right, n), alarms = rate_at_most(wrong, n);

    return hits > DELTA ? fmax(0, log((hits - DELTA) / alarms)) : 0;
}

/* The share of the models [from, to) on each side whose loss says "member". */
static double judge(double losses[2][RUNS], int from, int to, double threshold)
{
    int said[2] = {0, 0};

    for (int member = 0; member < 2; member++)
        for (int i = from; i < to; i++)
            said[member] += losses[member][i] <= threshold;
    return epsilon_at_least(said[1], said[0], to - from);
}

static double attack(game *g, const char *what, const rgm_privacy *privacy)
{
    static double losses[2][RUNS];
    double threshold = 0, best = -1, found;

    for (int member = 0; member < 2; member++)
        for (int i = 0; i < RUNS; i++)
            losses[member][i] = canary_gain(g, member, 1 + 2 * i + member, privacy);
    for (int i = 0; i < SHADOWS; i++) {
        double epsilon = judge(losses, 0, SHADOWS, losses[1][i]);

        if (epsilon > best) {
            best = epsilon;
            threshold = losses[1][i];
        }
    }
    found = judge(losses, SHADOWS, RUNS, threshold);
    print_message("%-24s epsilon is at least %.2f\n", what, found);
    return found;
}

static void an_attacker_shows_less_than_the_epsilon_and_more_without_noise(void **state)
{
    rgm_privacy plain = RGM_PRIVACY_INIT;
    rgm_privacy clipped = {.clipping_norm = 1, .delta = DELTA};
    rgm_privacy one = {.clipping_norm = 1, .target_epsilon = 1, .delta = DELTA};
    game g;

    (void)state;
    if (!open_game(&g))
        SKIP("REGIMEN_DATA has no digits");
    rgm_threads_set(1);
    CHECK(attack(&g, "no privacy", &plain) > 2);
    CHECK(attack(&g, "clipping, no noise", &clipped) > 1);
    CHECK(attack(&g, "target_epsilon: 1", &one) < 1);
    close_game(&g);
}

TESTS(cmocka_unit_test(an_attacker_shows_less_than_the_epsilon_and_more_without_noise))
