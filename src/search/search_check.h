/*
 * What tests of search share: a space and a searcher out of YAML text, and metrics that follow a
 * rule.
 */
#ifndef RGM_SEARCH_CHECK_H
#define RGM_SEARCH_CHECK_H

#include <check.h>
#include <regimen/search_rows.h>

static inline rgm_status read_space(rgm_space **out, const char *text)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;

    *out = NULL;
    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "e.yaml"));
    RGM_GO(rgm_space_read(out, rgm_yaml_find(rgm_yaml_root(yaml), "hyperparameters"),
                          rgm_yaml_find(rgm_yaml_root(yaml), "constraints")));
done:
    rgm_yaml_release(yaml);
    return status;
}

/* "searcher: ..." and its space, where the text has one. */
static inline rgm_status read_searcher(rgm_searcher **out, const char *text, uint32_t seed)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    rgm_space *space = NULL;

    *out = NULL;
    RGM_GO(read_space(&space, text));
    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "e.yaml"));
    RGM_GO(
        rgm_searcher_read(out, rgm_yaml_find(rgm_yaml_root(yaml), "searcher"), space, seed, NULL));
done:
    rgm_yaml_release(yaml);
    rgm_space_release(space);
    return status;
}

/* "4 x 3S V\n" a line for each course, longest first. */
static inline void print_courses(rgm_text *out, const rgm_simulated *simulated)
{
    rgm_text_clear(out);
    for (int64_t i = 0; i < simulated->course_count; i++)
        CHECK_OK(rgm_text_printf(out, "%s%lld x %s", i > 0 ? "\n" : "",
                                 (long long)simulated->courses[i].trials,
                                 simulated->courses[i].course));
}

/* Trials by the length where they ended, longest first: "900:2 300:3". */
static inline void print_lengths(rgm_text *out, const rgm_simulated *simulated)
{
    rgm_text_clear(out);
    for (int64_t i = 0, k; i < simulated->course_count; i = k) {
        int64_t trials = 0;

        for (k = i; k < simulated->course_count &&
                    simulated->courses[k].length == simulated->courses[i].length;
             k++)
            trials += simulated->courses[k].trials;
        CHECK_OK(rgm_text_printf(out, "%s%lld:%lld", i > 0 ? " " : "",
                                 (long long)simulated->courses[i].length, (long long)trials));
    }
}

/* Metrics by a rule; the payload is a list of numbers that ends with NaN and is repeated, or NULL.
 */
static inline void by_trial(double *metrics, int64_t trial, int64_t length, void *payload)
{
    const double *list = payload;
    int64_t count = 0;

    (void)length;
    while (list != NULL && !isnan(list[count]))
        count++;
    *metrics = list != NULL ? list[(trial - 1) % count] : (double)trial;
}

static inline void minus_trial(double *metrics, int64_t trial, int64_t length, void *payload)
{
    (void)length;
    (void)payload;
    *metrics = -(double)trial;
}

#endif
