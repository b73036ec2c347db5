/*
 * A hundred updates of a small problem in double, for every optimizer and schedule, against
 * tests/oracle/optim_trajectories.txt, which PyTorch and numpy made: optim_trajectories.py says
 * how. A case is the `optimizer` map of an experiment file and the weights it should lead to.
 */
#include <check.h>

#include <regimen/optim.h>

#define FIXTURE   "tests/oracle/optim_trajectories.txt"
#define STEPS     100
#define TOLERANCE 1e-6
#define MOST      3

typedef struct problem {
    rgm_cgraph *graph;
    rgm_parameters *parameters;
    rgm_tensor *gradients[MOST];
    int count;
} problem;

/* The three-axis tensor is there for Adafactor only. */
static void setup(problem *x, int count)
{
    static const char *const names[MOST] = {"kernel", "bias", "stack"};
    static const int ranks[MOST] = {2, 1, 3};
    static const int64_t shapes[MOST][3] = {{2, 3}, {2}, {2, 2, 2}};

    *x = (problem){.count = count};
    CHECK_OK(rgm_cgraph_create(&x->graph));
    for (int p = 0; p < count; p++) {
        CHECK(rgm_parameter(x->graph, names[p], RGM_F64, ranks[p], shapes[p],
                            (rgm_init){RGM_INIT_ZEROS, 0}) != NULL);
        CHECK_OK(rgm_tensor_create(&x->gradients[p], RGM_F64, ranks[p], shapes[p]));
    }
    CHECK_OK(rgm_parameters_create(&x->parameters, x->graph, 1));
    for (int p = 0; p < count; p++) {
        rgm_tensor *w = rgm_parameters_tensor(x->parameters, p);

        for (int64_t i = 0; i < rgm_tensor_count(w); i++)
            rgm_tensor_f64(w)[i] = cos(3 * (double)i + p);
    }
}

static void teardown(problem *x)
{
    for (int p = 0; p < x->count; p++)
        rgm_tensor_release(x->gradients[p]);
    rgm_parameters_release(x->parameters);
    rgm_cgraph_release(x->graph);
}

static void fill_gradients(problem *x, int64_t step)
{
    for (int p = 0; p < x->count; p++) {
        const rgm_tensor *w = rgm_parameters_tensor(x->parameters, p);

        for (int64_t i = 0; i < rgm_tensor_count(w); i++)
            rgm_tensor_f64(x->gradients[p])[i] = rgm_tensor_f64(w)[i] * (0.5 + 0.25 * (double)i) +
                                                 sin(31 * (double)step + 7 * (double)i + p);
    }
}

/* The next line that is no comment, without its end; false after the last. */
static bool read_line(char *line, int size, FILE *file)
{
    do {
        if (fgets(line, size, file) == NULL)
            return false;
        line[strcspn(line, "\n")] = 0;
    } while (line[0] == '#');
    return true;
}

/* The weights, at `text`; returns what stands behind them. */
static const char *compare(const problem *x, const char *text, const char *what, long step)
{
    for (int p = 0; p < x->count; p++) {
        const rgm_tensor *w = rgm_parameters_tensor(x->parameters, p);

        for (int64_t i = 0; i < rgm_tensor_count(w); i++) {
            char *end;
            double want = strtod(text, &end), got = rgm_tensor_f64(w)[i];

            CHECK(end != text);
            if (!(fabs(got - want) <= TOLERANCE * fmax(1, fabs(want))))
                fail_msg("%s\nafter %ld updates %s[%lld] is %.17g, expected %.17g", what, step,
                         rgm_parameters_name(x->parameters, p), (long long)i, got, want);
            text = end;
        }
    }
    return text;
}

static void check_line(problem *x, rgm_optimizer *optimizer, const char *line, const char *what)
{
    char *end;
    long step = strtol(line, &end, 10);
    const char *rest = compare(x, end, what, step);

    if (rgm_optimizer_has_averages(optimizer)) {
        CHECK_OK(rgm_optimizer_averages_swap(optimizer, x->parameters));
        rest = compare(x, rest, what, step);
        CHECK_OK(rgm_optimizer_averages_swap(optimizer, x->parameters));
    }
    CHECK_TEXT("", rest);
}

static void read_options(rgm_optimizer_options *options, const char *text, rgm_arena *arena)
{
    rgm_yaml *yaml = NULL;

    CHECK_OK(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), FIXTURE));
    CHECK_OK(rgm_optimizer_options_read(options, rgm_yaml_root(yaml), NULL, arena));
    rgm_yaml_release(yaml);
}

/* Runs the case whose options `text` has; the lines of its trajectory come next in the file. */
static void run_case(const rgm_optimizer_options *options, const char *text, FILE *file)
{
    rgm_optimizer *optimizer = NULL;
    char line[4096];
    problem x;

    setup(&x, strcmp(options->type->name, "adafactor") == 0 ? 3 : 2);
    CHECK_OK(rgm_optimizer_create(&optimizer, options, x.parameters));
    for (int64_t step = 0, next = 0; step < STEPS; step++) {
        fill_gradients(&x, step);
        CHECK_OK(rgm_optimizer_step(optimizer, x.parameters, x.gradients, step));
        if (next == 0) {
            CHECK(read_line(line, sizeof line, file));
            next = strtol(line, NULL, 10);
        }
        if (step + 1 == next) {
            check_line(&x, optimizer, line, text);
            next = 0;
        }
    }
    rgm_optimizer_release(optimizer);
    teardown(&x);
}

static bool all_seen(const bool *seen, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!seen[i])
            return false;
    }
    return true;
}

static void every_optimizer_and_schedule_goes_where_the_reference_went(void **state)
{
    int64_t types, schedules, cases = 0;
    const rgm_optimizer_type *const *type = rgm_optimizer_types(&types);
    const rgm_schedule_type *const *schedule = rgm_schedule_types(&schedules);
    bool type_seen[32] = {0}, schedule_seen[32] = {0};
    FILE *file = fopen(FIXTURE, "r");
    char text[1024];

    (void)state;
    CHECK(file != NULL && types <= 32 && schedules <= 32);
    while (read_line(text, sizeof text, file)) {
        rgm_optimizer_options options;
        rgm_arena *arena = NULL;

        CHECK_OK(rgm_arena_create(&arena));
        read_options(&options, text, arena);
        run_case(&options, text, file);
        for (int64_t i = 0; i < types; i++)
            type_seen[i] = type_seen[i] || type[i] == options.type;
        for (int64_t i = 0; i < schedules; i++)
            schedule_seen[i] = schedule_seen[i] || schedule[i] == options.learning_rate.type;
        rgm_arena_release(arena);
        cases++;
    }
    fclose(file);
    CHECK(all_seen(type_seen, types) && all_seen(schedule_seen, schedules));
    CHECK(cases >= 90);
}

TESTS(cmocka_unit_test(every_optimizer_and_schedule_goes_where_the_reference_went))
