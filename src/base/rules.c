/*
 * Rules between keys: "trainer.steps_per_loop <= trainer.train_steps". One parser and one meaning
 * for those that tables state, those that say when a key has an effect, and those of a file. The
 * caller owns the keys and looks them up.
 */
#include "base_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum relation {
    AT_MOST,
    AT_LEAST,
    EQUAL,
    NOT_EQUAL,
    BELOW,
    ABOVE,
    MULTIPLE_OF,
    EXCLUDES /* not both given; in tables alone, since a full print of a file gives everything */
} relation;

/* Longest first, so that "<=" is not taken for "<"; `violated` is for messages. */
static const struct {
    const char *sign, *violated;
} relations[] = {
    [AT_MOST] = {"<=", ", but must be at most"},
    [AT_LEAST] = {">=", ", but must be at least"},
    [EQUAL] = {"==", ", but must be"},
    [NOT_EQUAL] = {"!=", ", but must not be"},
    [BELOW] = {"<", ", but must be below"},
    [ABOVE] = {">", ", but must be above"},
    [MULTIPLE_OF] = {" multiple_of ", ", but must be a multiple of"},
    [EXCLUDES] = {" excludes ", " and excludes"},
};
#define RELATIONS (int)(sizeof relations / sizeof *relations)

/* One side: a key's value or a constant. */
typedef struct operand {
    char text[256]; /* as written */
    bool is_key;
    rgm_rule_value value; /* of a constant its text alone */
    bool is_number;
    double number;
} operand;

typedef struct rule {
    operand left, right;
    relation relation;
} rule;

/* ---- parsing ------------------------------------------------------------------------------- */

/* The first of `count` relations in a text, the longest that begins there; NULL: none. */
static const char *find_relation(relation *out, const char *text, int count)
{
    for (; *text != '\0'; text++)
        for (int i = 0; i < count; i++)
            if (strncmp(text, relations[i].sign, strlen(relations[i].sign)) == 0) {
                *out = (relation)i;
                return text;
            }
    return NULL;
}

/* Copy without blanks around. */
static void trim(char out[256], const char *begin, const char *end)
{
    while (begin < end && *begin == ' ')
        begin++;
    while (end > begin && end[-1] == ' ')
        end--;
    if (end - begin > 255)
        end = begin + 255;
    memcpy(out, begin, (size_t)(end - begin));
    out[end - begin] = '\0';
}

bool rgm_number_parse(double *out, const char *text)
{
    const rgm_yaml_node node = {.kind = RGM_YAML_SCALAR, .text = text};

    *out = INFINITY;
    return strcmp(text, "inf") == 0 || (strspn(text, "+-.0123456789eE") == strlen(text) &&
                                        rgm_yaml_float(out, &node) == RGM_OK);
}

static void resolve(operand *o, const rgm_rule_keys *keys)
{
    o->is_key = keys->find(&o->value, o->text, keys->payload);
    if (!o->is_key)
        o->value = (rgm_rule_value){.text = strcmp(o->text, "null") == 0 ? NULL : o->text};
    o->is_number = o->value.text != NULL && rgm_number_parse(&o->number, o->value.text);
}

/* Split at the one relation; RGM_ERR_CONFIG at `node`'s place. NULL: a line of a table. */
static rgm_status parse(rule *out, const char *text, const rgm_rule_keys *keys,
                        const rgm_yaml_node *node)
{
    int known = node != NULL ? EXCLUDES : RELATIONS;
    const char *sign = find_relation(&out->relation, text, known), *behind;
    relation second;

    *out = (rule){.relation = out->relation};
    if (sign == NULL)
        return rgm_yaml_fail(node,
                             "the restriction '%s' has no relation; there are ==, !=, <, <=, >, >= "
                             "and multiple_of",
                             text);
    behind = sign + strlen(relations[out->relation].sign);
    if (find_relation(&second, behind, known) != NULL)
        return rgm_yaml_fail(node, "the restriction '%s' has two relations; write it as two", text);
    trim(out->left.text, text, sign);
    trim(out->right.text, behind, behind + strlen(behind));
    resolve(&out->left, keys);
    resolve(&out->right, keys);
    return RGM_OK;
}

/* A file's own rule: what is no key was meant as one. */
static rgm_status check_keys(const rule *r, const rgm_rule_keys *keys, const rgm_yaml_node *node)
{
    const operand *sides[] = {&r->left, &r->right};

    for (int i = 0; i < 2; i++) {
        const char *text = sides[i]->text;

        if (sides[i]->is_key && sides[i]->value.is_list)
            return rgm_yaml_fail(node, "the restriction '%s': %s is a list", node->text, text);
        if (sides[i]->is_key || (i == 1 && !keys->looks_like_one(text) && text[0] != '\0'))
            continue;
        return rgm_yaml_fail(node, "the restriction '%s': there is no key '%s'%s", node->text, text,
                             keys->did_you_mean(text, keys->payload).text);
    }
    return RGM_OK;
}

/* ---- meaning ------------------------------------------------------------------------------- */

/* Whether `text` is one of the names in "ogb|folder". */
static bool is_one_of(const char *text, const char *names)
{
    size_t size = strlen(text);

    for (;; names++) {
        size_t name = strcspn(names, "|");

        if (name == size && strncmp(names, text, size) == 0)
            return true;
        names += name;
        if (*names == '\0')
            return false;
    }
}

static bool are_equal(const operand *a, const operand *b)
{
    if (a->value.text == NULL || b->value.text == NULL)
        return a->value.text == b->value.text;
    if (a->is_number && b->is_number)
        return a->number == b->number;
    return is_one_of(a->value.text, b->value.text);
}

static bool holds(const rule *r)
{
    const operand *a = &r->left, *b = &r->right;
    bool numbers = a->is_number && b->is_number;

    switch (r->relation) {
    case EQUAL:
        return are_equal(a, b);
    case NOT_EQUAL:
        return !are_equal(a, b);
    case AT_MOST:
        return numbers && a->number <= b->number;
    case AT_LEAST:
        return numbers && a->number >= b->number;
    case BELOW:
        return numbers && a->number < b->number;
    case ABOVE:
        return numbers && a->number > b->number;
    case MULTIPLE_OF:
        return numbers && b->number != 0 && fmod(a->number, b->number) == 0;
    default:
        return !a->value.given || !b->value.given;
    }
}

/* "trainer.epochs is 3 (a.yaml:7)". */
static rgm_status print_operand(rgm_text *out, const operand *o, const char *is)
{
    const rgm_rule_value *v = &o->value;

    if (!o->is_key)
        return rgm_text_printf(out, "%s", o->text);
    RGM_TRY(rgm_text_printf(out, "%s%s%s", o->text, is,
                            v->shown != NULL  ? v->shown
                            : v->text != NULL ? v->text
                                              : "not set"));
    return v->where != NULL ? rgm_text_printf(out, " (%s)", v->where) : RGM_OK;
}

static rgm_status violated(const rule *r, const rgm_yaml_node *node, const char *why)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    /* Told at the value that somebody set, the left one first. */
    if (r->left.value.given && r->left.value.node != NULL)
        node = r->left.value.node;
    else if (r->right.value.given && r->right.value.node != NULL)
        node = r->right.value.node;
    RGM_GO(print_operand(&text, &r->left, " is "));
    RGM_GO(rgm_text_printf(&text, "%s ", relations[r->relation].violated));
    RGM_GO(print_operand(&text, &r->right, ", which is "));
    if (why != NULL)
        RGM_GO(rgm_text_printf(&text, ": %s", why));
    status = rgm_yaml_fail(node, "%s", text.data);
done:
    rgm_text_clear(&text);
    return status;
}

bool rgm_rule_holds(const char *text, bool otherwise, const rgm_rule_keys *keys)
{
    static const char or [] = " or ";
    const char *next;
    char first[256];
    rule r;

    if (text == NULL)
        return true;
    next = strstr(text, or);
    if (next != NULL) {
        snprintf(first, sizeof first, "%.*s", (int)(next - text), text);
        return rgm_rule_holds(first, otherwise, keys) ||
               rgm_rule_holds(next + strlen(or), otherwise, keys);
    }
    if (parse(&r, text, keys, NULL) != RGM_OK || !r.left.is_key)
        return otherwise;
    return holds(&r);
}

rgm_status rgm_rules_check(const rgm_rule *rules, const rgm_rule_keys *keys)
{
    for (; rules->text != NULL; rules++) {
        rule r;

        if (!rgm_rule_holds(rules->when[0], rules->when[0] == NULL, keys) ||
            !rgm_rule_holds(rules->when[1], rules->when[1] == NULL, keys))
            continue;
        RGM_TRY(parse(&r, rules->text, keys, NULL));
        if (r.left.is_key && !holds(&r))
            return violated(&r, NULL, rules->why);
    }
    return RGM_OK;
}

rgm_status rgm_rule_check_form(const rgm_yaml_node *node, const rgm_rule_keys *keys)
{
    rule r;

    RGM_TRY(parse(&r, node->text, keys, node));
    return check_keys(&r, keys, node);
}

rgm_status rgm_rule_check_text(const rgm_yaml_node *node, const char *why,
                               const rgm_rule_keys *keys)
{
    rule r;

    RGM_TRY(parse(&r, node->text, keys, node));
    RGM_TRY(check_keys(&r, keys, node));
    return holds(&r) ? RGM_OK : violated(&r, node, why);
}

/* ---- keys of an options struct ------------------------------------------------------------- */

typedef struct option_keys {
    const void *options, *defaults;
    const rgm_field *fields;
    const char *path;
    char texts[4][32]; /* of numbers: both sides of a rule, and a condition's */
    unsigned next;
} option_keys;

/* The field of a dotted path and its member; NULL: there is none. */
static const rgm_field *find_field(const void **member, const void *options,
                                   const rgm_field *fields, const char *path)
{
    size_t size = strcspn(path, ".");

    for (; fields->name != NULL; fields++)
        if (strlen(fields->name) == size && strncmp(fields->name, path, size) == 0) {
            *member = (const char *)options + fields->offset;
            if (path[size] == '\0')
                return fields;
            return fields->kind == RGM_FIELD_GROUP
                       ? find_field(member, *member, fields->group, path + size + 1)
                       : NULL;
        }
    return NULL;
}

static bool find_option(rgm_rule_value *out, const char *key, void *payload)
{
    option_keys *o = payload;
    size_t size = strlen(o->path);
    const void *member, *usual;
    const rgm_field *field;
    char *text = o->texts[o->next++ % 4];

    *out = (rgm_rule_value){.text = text};
    if (strncmp(key, o->path, size) != 0 || key[size] != '.')
        return false;
    field = find_field(&member, o->options, o->fields, key + size + 1);
    if (field == NULL)
        return false;
    find_field(&usual, o->defaults, o->fields, key + size + 1);
    switch (field->kind) {
    case RGM_FIELD_INT:
        snprintf(text, sizeof o->texts[0], "%lld", (long long)*(const int64_t *)member);
        out->given = *(const int64_t *)member != *(const int64_t *)usual;
        return true;
    case RGM_FIELD_FLOAT:
        snprintf(text, sizeof o->texts[0], "%g", *(const double *)member);
        out->given = *(const double *)member != *(const double *)usual;
        return true;
    case RGM_FIELD_CHOICE:
        out->text = rgm_field_choice(field, *(const int *)member);
        out->given = *(const int *)member != *(const int *)usual;
        return true;
    case RGM_FIELD_TEXT:
        out->text = *(const char *const *)member;
        out->given = out->text != NULL;
        return true;
    default:
        return false;
    }
}

rgm_status rgm_options_check_rules(const rgm_rule *rules, const void *options, const void *defaults,
                                   const rgm_field *fields, const char *path)
{
    option_keys all = {.options = options, .defaults = defaults, .fields = fields, .path = path};
    const rgm_rule_keys keys = {.find = find_option, .payload = &all};

    return rgm_rules_check(rules, &keys);
}
