/* Expressions over curves: read once into a list for a stack, computed at each step. */
#include "expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 64, MOST_NAMES = 8, LONGEST = 300, DEEPEST = 24 };

typedef enum op_kind { NUMBER, METRIC, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, FUNCTION } op_kind;
typedef struct op {
    op_kind kind;
    double number;
    int name; /* of a metric; of a function */
} op;

struct rgmi_expression {
    char *text;
    op ops[MOST_OPS];
    int count;
    char *names[MOST_NAMES];
    int name_count;
};

typedef struct function {
    const char *name;
    double (*of)(double);
} function;
static const function functions[] = {
    {"log", log}, {"log10", log10}, {"exp", exp}, {"sqrt", sqrt}, {"abs", fabs}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct reading {
    rgmi_expression *e;
    const char *at;
    int depth;
} reading;

static rgm_status wrong(const reading *r, const char *what)
{
    return RGM_FAIL(RGM_ERR_ARG, "'%s': %s at character %d", r->e->text, what,
                    (int)(r->at - r->e->text) + 1);
}

static rgm_status put(reading *r, op one)
{
    if (r->e->count == MOST_OPS)
        return wrong(r, "it is too long");
    r->e->ops[r->e->count++] = one;
    return RGM_OK;
}

static bool take(reading *r, char c)
{
    r->at += strspn(r->at, " ");
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static rgm_status put_metric(reading *r, const char *name, size_t size)
{
    rgmi_expression *e = r->e;
    int i = 0;

    while (i < e->name_count && (strlen(e->names[i]) != size || memcmp(e->names[i], name, size)))
        i++;
    if (i == MOST_NAMES)
        return wrong(r, "it has too many metrics");
    if (i == e->name_count) {
        RGM_TRY(rgm_strndup(&e->names[i], name, size));
        e->name_count++;
    }
    return put(r, (op){.kind = METRIC, .name = i});
}

static rgm_status read_sum(reading *r);

static rgm_status read_word(reading *r)
{
    size_t size = 0;

    while (isalnum((unsigned char)r->at[size]) ||
           (r->at[size] != 0 && strchr("_.@:%", r->at[size])))
        size++;
    for (int i = 0; i < FUNCTIONS; i++)
        if (strlen(functions[i].name) == size && memcmp(functions[i].name, r->at, size) == 0 &&
            r->at[size] == '(') {
            r->at += size + 1;
            RGM_TRY(read_sum(r));
            if (!take(r, ')'))
                return wrong(r, "a closing parenthesis is missing");
            return put(r, (op){.kind = FUNCTION, .name = i});
        }
    if (size == 0)
        return wrong(r, "a metric or a number is missing");
    r->at += size;
    return put_metric(r, r->at - size, size);
}

static rgm_status read_one(reading *r)
{
    r->at += strspn(r->at, " ");
    if (take(r, '-')) {
        RGM_TRY(read_one(r));
        return put(r, (op){.kind = NEGATE});
    }
    if (take(r, '(')) {
        RGM_TRY(read_sum(r));
        return take(r, ')') ? RGM_OK : wrong(r, "a closing parenthesis is missing");
    }
    if (take(r, '{')) {
        size_t size = strcspn(r->at, "}");

        if (r->at[size] == 0 || size == 0)
            return wrong(r, "a name in braces is missing");
        r->at += size + 1;
        return put_metric(r, r->at - size - 1, size);
    }
    if (isdigit((unsigned char)*r->at)) {
        char *end;
        double number = strtod(r->at, &end);

        r->at = end;
        return put(r, (op){.kind = NUMBER, .number = number});
    }
    return read_word(r);
}

static rgm_status read_product(reading *r)
{
    RGM_TRY(read_one(r));
    for (;;) {
        op_kind kind = take(r, '*') ? MULTIPLY : take(r, '/') ? DIVIDE : NUMBER;

        if (kind == NUMBER)
            return RGM_OK;
        RGM_TRY(read_one(r));
        RGM_TRY(put(r, (op){.kind = kind}));
    }
}

static rgm_status read_sum(reading *r)
{
    if (++r->depth > DEEPEST)
        return wrong(r, "its parentheses are too deep");
    RGM_TRY(read_product(r));
    for (;;) {
        op_kind kind = take(r, '+') ? ADD : take(r, '-') ? SUBTRACT : NUMBER;

        if (kind == NUMBER)
            break;
        RGM_TRY(read_product(r));
        RGM_TRY(put(r, (op){.kind = kind}));
    }
    r->depth--;
    return RGM_OK;
}

rgm_status rgmi_expression_read(rgmi_expression **out, const char *text)
{
    rgmi_expression *e = NULL;
    reading r;
    rgm_status status = RGM_OK;

    *out = NULL;
    if (strlen(text) > LONGEST)
        return RGM_FAIL(RGM_ERR_ARG, "an expression has at most %d characters", LONGEST);
    RGM_GO(RGM_NEW(e, 1));
    RGM_GO(rgm_strdup(&e->text, text));
    r = (reading){.e = e, .at = e->text};
    RGM_GO(read_sum(&r));
    r.at += strspn(r.at, " ");
    if (*r.at != 0)
        RGM_GO(wrong(&r, "an operator is missing"));
    if (e->name_count == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "'%s' has no metric", text));
    *out = e;
    e = NULL;
done:
    rgmi_expression_release(e);
    return status;
}

void rgmi_expression_release(rgmi_expression *e)
{
    if (e == NULL)
        return;
    for (int i = 0; i < e->name_count; i++)
        rgm_free(e->names[i]);
    rgm_free(e->text);
    rgm_free(e);
}

const char *rgmi_expression_text(const rgmi_expression *expression)
{
    return expression->text;
}

/* ---- computing ----------------------------------------------------------------------------- */

double rgmi_points_at(const rgmi_points *p, int64_t step, int64_t *from)
{
    int64_t i = *from;
    double part;

    while (i > 0 && p->steps[i] > step)
        i--;
    while (i + 1 < p->count && p->steps[i + 1] <= step)
        i++;
    *from = i;
    if (p->count == 0 || p->steps[i] > step)
        return NAN;
    if (p->steps[i] == step)
        return p->values[i];
    if (i + 1 == p->count)
        return NAN;
    part = (double)(step - p->steps[i]) / (double)(p->steps[i + 1] - p->steps[i]);
    return p->values[i] + part * (p->values[i + 1] - p->values[i]);
}

static double compute(const rgmi_expression *e, const double *values)
{
    double stack[MOST_OPS] = {0};
    int top = 0;

    for (int i = 0; i < e->count; i++) {
        const op *o = &e->ops[i];

        if (o->kind == NUMBER)
            stack[top++] = o->number;
        else if (o->kind == METRIC)
            stack[top++] = values[o->name];
        else if (o->kind == NEGATE)
            stack[top - 1] = -stack[top - 1];
        else if (o->kind == FUNCTION)
            stack[top - 1] = functions[o->name].of(stack[top - 1]);
        else {
            double b = stack[--top], a = stack[top - 1];

            stack[top - 1] = o->kind == ADD        ? a + b
                             : o->kind == SUBTRACT ? a - b
                             : o->kind == MULTIPLY ? a * b
                                                   : a / b;
        }
    }
    return stack[0];
}

rgm_status rgmi_expression_points(rgmi_made_points *out, const rgmi_expression *e,
                                  rgmi_find_points *find, const void *payload)
{
    rgmi_points of[MOST_NAMES] = {{0}};
    int64_t from[MOST_NAMES] = {0};
    double values[MOST_NAMES];
    const rgmi_points *least = &of[0];

    *out = (rgmi_made_points){0};
    for (int i = 0; i < e->name_count; i++) {
        if (!find(&of[i], e->names[i], payload) || of[i].count == 0)
            return RGM_OK;
        least = of[i].count < least->count ? &of[i] : least;
    }
    RGM_TRY(RGM_NEW(out->steps, least->count));
    RGM_TRY(RGM_NEW(out->values, least->count));
    for (int64_t p = 0; p < least->count; p++) {
        for (int i = 0; i < e->name_count; i++)
            values[i] = &of[i] == least ? least->values[p]
                                        : rgmi_points_at(&of[i], least->steps[p], &from[i]);
        out->steps[p] = least->steps[p];
        out->values[p] = compute(e, values);
    }
    out->count = least->count;
    return RGM_OK;
}

void rgmi_made_points_clear(rgmi_made_points *points)
{
    rgm_free(points->steps);
    rgm_free(points->values);
    *points = (rgmi_made_points){0};
}
