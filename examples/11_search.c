/* A search of one's own, by ask and tell: asynchronous halving of 27 points of a valley with a
 * curved floor. "Training" a trial is to measure its height with less and less error. */
#include <stdio.h>
#include <string.h>

#include <regimen/search.h>

static const char file[] = "hyperparameters:\n"
                           "  x: {type: double, minval: -2, maxval: 2}\n"
                           "  y: {type: double, minval: -1, maxval: 3}\n"
                           "constraints: [x <= y]\n"
                           "searcher:\n"
                           "  name: adaptive_asha\n"
                           "  mode: aggressive\n"
                           "  metric: height\n"
                           "  max_trials: 27\n"
                           "  max_steps: 9\n"
                           "  divisor: 3\n"
                           "  max_concurrent_trials: 4\n"
                           "  points: [{x: 0, y: 0}]\n";

/* Rosenbrock's valley, whose floor is 0 at (1, 1), and an error that shrinks with the steps. */
static double height(const rgm_hyper_value *values, int64_t steps)
{
    double x = values[0].number, y = values[1].number, up = y - x * x;
    double error = (double)((int64_t)(x * 1e6) % 10) / (double)steps;

    return (1 - x) * (1 - x) + 100 * up * up + error;
}

/* Whoever trains would hand operations to workers; here each is done at once. */
static rgm_status run(rgm_searcher *searcher)
{
    rgm_operation o;

    RGM_TRY(rgm_searcher_begin(searcher));
    while (rgm_searcher_next(&o, searcher)) {
        rgm_search_event event = {.trial = o.trial, .length = o.length};
        double metric;

        if (o.kind == RGM_ASK_VALIDATE) {
            metric = height(rgm_searcher_trial(searcher, o.trial)->values, o.length);
            event.kind = RGM_VALIDATED;
            event.metrics = &metric;
        } else if (o.kind == RGM_ASK_CLOSE) {
            event.kind = RGM_CLOSED;
        } else {
            continue;
        }
        RGM_TRY(rgm_searcher_tell(searcher, &event));
    }
    return RGM_OK;
}

static rgm_status tell_best(const rgm_searcher *searcher)
{
    rgm_status status = RGM_OK;
    rgm_text point = {0};
    int64_t *best = NULL, count;

    RGM_GO(rgm_searcher_front(&best, &count, searcher, true));
    RGM_GO(rgm_space_print_json(&point, rgm_searcher_space(searcher),
                                rgm_searcher_trial(searcher, best[0])->values));
    printf("%lld trials; the best is %lld, %s, at %.3f\n",
           (long long)rgm_searcher_trial_count(searcher), (long long)best[0], point.data,
           rgm_searcher_trial(searcher, best[0])->keys[0]);
done:
    rgm_free(best);
    rgm_text_clear(&point);
    return status;
}

int main(void)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    rgm_space *space = NULL;
    rgm_searcher *searcher = NULL;
    rgm_text plan = {0};

    RGM_GO(rgm_yaml_parse(&yaml, file, (int64_t)strlen(file), "valley.yaml"));
    RGM_GO(rgm_space_read(&space, rgm_yaml_find(rgm_yaml_root(yaml), "hyperparameters"),
                          rgm_yaml_find(rgm_yaml_root(yaml), "constraints")));
    RGM_GO(rgm_searcher_read(&searcher, rgm_yaml_find(rgm_yaml_root(yaml), "searcher"), space, 7,
                             NULL));
    RGM_GO(rgm_searcher_describe(&plan, searcher));
    printf("%s", plan.data);
    RGM_GO(run(searcher));
    RGM_GO(tell_best(searcher));
    if (!rgm_searcher_is_over(searcher) || rgm_searcher_progress(searcher) != 1)
        return 1;
done:
    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_text_clear(&plan);
    rgm_searcher_release(searcher);
    rgm_space_release(space);
    rgm_yaml_release(yaml);
    return status != RGM_OK;
}
