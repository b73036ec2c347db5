/*
 * For importance_oracle.py: trials of four spaces, drawn at random, with a metric of each and the
 * shares of each hyperparameter, one line of JSON for each space's type, trial and shares.
 */
#include <math.h>
#include <regimen/search.h>
#include <stdio.h>
#include <string.h>

enum { TRIALS = 250, MOST = 8 };

/* Numbers in order of their names. */
static double linear(const rgm_hyper_value *v)
{
    return 3 * v[0].number + 2 * v[1].number + v[2].number;
}

static double ishigami(const rgm_hyper_value *v)
{
    double a = v[0].number, b = v[1].number, c = v[2].number;

    return sin(a) + 7 * sin(b) * sin(b) + 0.1 * c * c * c * c * sin(a);
}

/* decay (log), kind (categorical), layers (int), rate (log) */
static double mixed(const rgm_hyper_value *v)
{
    double rate = log10(v[3].number) + 2.5;

    return 0.5 * rate * rate + (v[1].choice == 2 ? 1.5 : 0.3 * (double)v[1].choice) +
           0.05 * fabs((double)v[2].integer - 5) + 0.001 * v[0].number;
}

static double interaction(const rgm_hyper_value *v)
{
    return v[0].number + 2 * v[0].number * v[1].number + v[2].number;
}

typedef struct problem {
    const char *name, *space;
    double (*metric)(const rgm_hyper_value *values);
} problem;

static const problem problems[] = {
    {"linear",
     "a: {type: double, minval: 0, maxval: 1}\nb: {type: double, minval: 0, maxval: 1}\n"
     "c: {type: double, minval: 0, maxval: 1}\n",
     linear},
    {"ishigami",
     "a: {type: double, minval: -3.14159265, maxval: 3.14159265}\n"
     "b: {type: double, minval: -3.14159265, maxval: 3.14159265}\n"
     "c: {type: double, minval: -3.14159265, maxval: 3.14159265}\n",
     ishigami},
    {"mixed",
     "decay: {type: log, base: 10, minval: -6, maxval: -2}\n"
     "kind: {type: categorical, vals: [gcn, gat, sage]}\n"
     "layers: {type: int, minval: 1, maxval: 12}\n"
     "rate: {type: log, base: 10, minval: -5, maxval: 0}\n",
     mixed},
    {"interaction",
     "a: {type: double, minval: 0, maxval: 1}\nb: {type: double, minval: 0, maxval: 1}\n"
     "c: {type: double, minval: 0, maxval: 1}\n",
     interaction},
};

static rgm_status print_problem(const problem *p, const rgm_space *space)
{
    rgm_hyper_value values[TRIALS][MOST];
    const rgm_hyper_value *rows[TRIALS];
    double keys[TRIALS], shares[MOST];
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 11);
    for (int i = 0; i < TRIALS; i++) {
        rgm_text line = {0};
        RGM_TRY(rgm_space_draw(values[i], space, &random));
        rows[i] = values[i];
        keys[i] = p->metric(values[i]);
        RGM_TRY(rgm_space_print_json(&line, space, values[i]));
        printf("{\"problem\": \"%s\", \"key\": %.17g, \"values\": %s}\n", p->name, keys[i],
               line.data);
        rgm_text_clear(&line);
    }
    RGM_TRY(rgm_space_importance(shares, space, rows, keys, TRIALS, 0));
    printf("{\"problem\": \"%s\", \"shares\": {", p->name);
    for (int64_t i = 0; i < rgm_space_count(space); i++)
        printf("%s\"%s\": %.17g", i > 0 ? ", " : "", rgm_space_at(space, i)->name, shares[i]);
    printf("}}\n");
    return RGM_OK;
}

int main(void)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const char *text = problems[i].space;
        rgm_yaml *yaml = NULL;
        rgm_space *space = NULL;
        rgm_status status = rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), problems[i].name);
        if (status == RGM_OK)
            status = rgm_space_read(&space, rgm_yaml_root(yaml), NULL);
        if (status == RGM_OK)
            status = print_problem(&problems[i], space);
        rgm_space_release(space);
        rgm_yaml_release(yaml);
        if (status != RGM_OK) {
            fprintf(stderr, "%s\n", rgm_error_text());
            return 1;
        }
    }
    return 0;
}
