/*
 * Restrictions between keys: "trainer.steps_per_loop <= trainer.train_steps". One parser and one
 * meaning for those built in, those that say when a key has an effect, and a file's own
 * `restrictions`.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

typedef enum relation {
    AT_MOST,
    AT_LEAST,
    EQUAL,
    NOT_EQUAL,
    BELOW,
    ABOVE,
    MULTIPLE_OF,
    EXCLUDES /* not both given; built in alone, since a full print gives everything */
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
    char text[256];                    /* as written                                   */
    const rgm_experiment_value *value; /* NULL: a constant                             */
    const char *constant;              /* the constant, or the value's text; NULL: unset */
    bool is_number;
    double number;
} operand;

typedef struct restriction {
    operand left, right;
    relation relation;
} restriction;

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

static bool begins_with_section(const char *text)
{
    size_t size = strcspn(text, ".");

    for (const char *const *name = rgmi_section_names; *name != NULL; name++)
        if (strlen(*name) == size && strncmp(*name, text, size) == 0)
            return text[size] == '.';
    return false;
}

static const char *nearest_key(const rgm_experiment *e, const char *text)
{
    const char *names[1024];
    int64_t count = 0;

    for (; count < e->value_count && count < 1024; count++)
        names[count] = e->values[count].key;
    return rgm_nearest_name(text, names, count);
}

static void resolve(operand *o, const rgm_experiment *e)
{
    o->value = rgm_experiment_find(e, o->text);
    if (o->value == NULL)
        o->constant = strcmp(o->text, "null") == 0 ? NULL : o->text;
    else if (o->value->value == NULL)
        o->constant = NULL;
    else if (o->value->value->kind == RGM_YAML_SCALAR)
        o->constant = o->value->value->text;
    else
        o->constant = o->value->value->count == 0 ? "[]" : "[...]";
    o->is_number = o->constant != NULL && rgmi_number(&o->number, o->constant);
}

/* Split at the one relation; RGM_ERR_CONFIG at `node`'s place. NULL: a line of the tables below. */
static rgm_status parse(restriction *out, const rgm_experiment *e, const char *text,
                        const rgm_yaml_node *node)
{
    int known = node != NULL ? EXCLUDES : RELATIONS;
    const char *sign = find_relation(&out->relation, text, known), *behind;
    relation second;

    *out = (restriction){.relation = out->relation};
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
    resolve(&out->left, e);
    resolve(&out->right, e);
    return RGM_OK;
}

/* A file's own restriction: what is no key was meant as one. */
static rgm_status check_keys(const restriction *r, const rgm_experiment *e,
                             const rgm_yaml_node *node)
{
    const operand *sides[] = {&r->left, &r->right};

    for (int i = 0; i < 2; i++) {
        const char *text = sides[i]->text, *near = nearest_key(e, text);

        if (sides[i]->value != NULL && sides[i]->constant != NULL &&
            sides[i]->value->value->kind != RGM_YAML_SCALAR)
            return rgm_yaml_fail(node, "the restriction '%s': %s is a list", node->text, text);
        if (sides[i]->value != NULL || (i == 1 && !begins_with_section(text) && text[0] != '\0'))
            continue;
        if (near != NULL)
            return rgm_yaml_fail(node,
                                 "the restriction '%s': there is no key '%s'; did you mean "
                                 "'%s'?",
                                 node->text, text, near);
        return rgm_yaml_fail(node, "the restriction '%s': there is no key '%s'", node->text, text);
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
    if (a->constant == NULL || b->constant == NULL)
        return a->constant == b->constant;
    if (a->is_number && b->is_number)
        return a->number == b->number;
    return is_one_of(a->constant, b->constant);
}

static bool holds(const restriction *r)
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
        return a->value == NULL || b->value == NULL || !a->value->given || !b->value->given;
    }
}

/* "trainer.epochs is 3 (a.yaml:7)". */
static rgm_status print_operand(rgm_text *out, const operand *o, const char *is)
{
    const rgm_yaml_node *node;

    if (o->value == NULL)
        return rgm_text_printf(out, "%s", o->text);
    node = o->value->value;
    RGM_TRY(rgm_text_printf(out, "%s%s", o->text, is));
    if (node == NULL)
        RGM_TRY(rgm_text_printf(out, "not set"));
    else
        RGM_TRY(rgmi_flow_print(out, node));
    return rgm_text_printf(out, " (%s)", o->value->origin);
}

static rgm_status violated(const restriction *r, const rgm_yaml_node *node, const char *why)
{
    rgm_status status = RGM_OK;
    const rgm_experiment_value *left = r->left.value, *right = r->right.value;
    rgm_text text = {0};

    /* Told at the value that somebody set, the left one first. */
    if (left != NULL && left->given)
        node = left->value;
    else if (right != NULL && right->given)
        node = right->value;
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

/* ---- tables -------------------------------------------------------------------------------- */

/* Keys (and all below them) that say nothing unless `needs` holds. */
typedef struct effect {
    const char *key, *needs;
} effect;

static const effect effects[] = {
    {"trainer.epochs", "trainer.train_steps == 0"},
    {"trainer.steps_per_epoch", "trainer.train_steps == 0"},
    {"trainer.validation_freq", "trainer.train_steps == 0"},
    {"trainer.validation_per_epoch", "trainer.train_steps == 0"},
    {"trainer.checkpoint.every_epochs", "trainer.train_steps == 0"},
    {"trainer.steps_per_loop", "trainer.train_steps > 0"},
    {"trainer.validation_interval", "trainer.train_steps > 0"},
    {"optimizer.average.start_step", "optimizer.average.decay > 0"},
    {"optimizer.average.dynamic", "optimizer.average.decay > 0"},
    {"trainer.early_stopping.metric", "trainer.early_stopping.patience > 0"},
    {"trainer.recovery.begin_steps", "trainer.recovery.loss_upper_bound < inf"},
    {"trainer.recovery.max_tries", "trainer.recovery.policy != stop"},
    {"trainer.privacy.noise_multiplier", "trainer.privacy.clipping_norm > 0"},
    {"trainer.privacy.delta", "trainer.privacy.clipping_norm > 0"},
    {"trainer.privacy.sampling", "trainer.privacy.clipping_norm > 0"},
    {"trainer.initialize.only", "trainer.initialize.checkpoint != null"},
    {"trainer.initialize.except", "trainer.initialize.checkpoint != null"},
    {"trainer.initialize.best", "trainer.initialize.checkpoint != null"},
};
static const effect graph_effects[] = {
    {"data.path", "data.type == ogb|folder"},
    {"data.split", "data.type == ogb|folder"},
    {"data.node_set", "data.type == ogb|citation"},
    {"data.edge_set", "data.type == ogb|citation"},
    {"data.undirected", "data.type == ogb"},
    {"data.relabel", "data.type == ogb"},
    {"data.sparse_below", "data.type == ogb"},
    {"data.schema", "data.type == records"},
    {"data.train", "data.type == records"},
    {"data.valid", "data.type == records"},
    {"data.test", "data.type == records"},
    {"data.citation", "data.type == citation"},
    {"data.sampling.edge_sets", "data.sampling.sizes != []"},
    {"data.sampling.strategy", "data.sampling.sizes != []"},
    {"data.sampling.store", "data.sampling.sizes != []"},
    {"data.sampling.resample", "data.sampling.sizes != []"},
    {"data.sampling.resample", "data.sampling.store == memory"},
    {"data.train_padding.min_nodes_per_component", "data.train_padding.kind != none"},
    {"data.train_padding.sample_size", "data.train_padding.kind == fit_or_skip"},
    {"data.train_padding.success_ratio", "data.train_padding.kind == fit_or_skip"},
    {"data.valid_padding.min_nodes_per_component", "data.valid_padding.kind != none"},
    {"data.valid_padding.sample_size", "data.valid_padding.kind == fit_or_skip"},
    {"data.valid_padding.success_ratio", "data.valid_padding.kind == fit_or_skip"},
    {"task.l2", "task.head == dense"},
};

/* What must hold where all of `when` do and both sides are set. */
typedef struct rule {
    const char *text;
    const char *when[2];
    const char *why;
} rule;

static const rule rules[] = {
    {"trainer.train_steps excludes trainer.epochs",
     {"trainer.train_steps > 0"},
     "a run is so many steps or so many epochs long; --set trainer.epochs=~ takes the epochs back"},
    {"trainer.train_steps excludes trainer.steps_per_epoch",
     {"trainer.train_steps > 0", "trainer.steps_per_epoch > 0"},
     "a run is so many steps or so many epochs long"},
    {"trainer.summary_interval multiple_of trainer.steps_per_loop",
     {"trainer.train_steps > 0", "trainer.summary_interval > 0"},
     "summaries are written between loops"},
    {"trainer.validation_per_epoch <= trainer.steps_per_epoch",
     {"trainer.train_steps == 0", "trainer.validation_per_epoch > 0"},
     "validations inside an epoch are so many steps apart"},
    {"trainer.validation_freq == 1",
     {"trainer.train_steps == 0", "trainer.validation_per_epoch > 0"},
     "trainer.validation_per_epoch already says when to validate"},
    {"trainer.validation_steps != 0", {NULL}, "-1 is the whole validation set"},
    {"trainer.accumulation_steps == 1",
     {"trainer.privacy.clipping_norm > 0"},
     "a private step adds up the gradients of single examples itself"},
    {"trainer.recovery.max_tries >= 1",
     {"trainer.recovery.policy != stop"},
     "a bad step could not be recovered from even once"},
    {"model.output == task.num_classes",
     {"task.head == none", "task.num_classes > 0"},
     "task.head is none, so the model's outputs are the logits"},
};

/* Whether a condition holds; `otherwise` where its key is none of this experiment's. */
static bool condition(const rgm_experiment *e, const char *text, bool otherwise)
{
    restriction r;

    if (text == NULL)
        return true;
    if (parse(&r, e, text, NULL) != RGM_OK || r.left.value == NULL)
        return otherwise;
    return holds(&r);
}

static bool is_below(const char *key, const char *map)
{
    size_t size = strlen(map);

    return strncmp(key, map, size) == 0 && (key[size] == '\0' || key[size] == '.');
}

static rgm_status mark_unused(rgm_experiment *e, const effect *table, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        rgm_text text = {0};
        const char *why;

        if (condition(e, table[k].needs, true))
            continue;
        RGM_TRY(rgm_text_printf(&text, "only with %s", table[k].needs));
        why = rgm_arena_strdup(e->arena, text.data);
        rgm_text_clear(&text);
        if (why == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the list of values");
        for (int64_t i = 0; i < e->value_count; i++)
            if (is_below(e->values[i].key, table[k].key))
                e->values[i].unused = why;
    }
    return RGM_OK;
}

static rgm_status check_rules(const rgm_experiment *e)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        restriction r;

        if (!condition(e, rules[i].when[0], false) || !condition(e, rules[i].when[1], false))
            continue;
        RGM_TRY(parse(&r, e, rules[i].text, NULL));
        if (r.left.value != NULL && !holds(&r))
            return violated(&r, NULL, rules[i].why);
    }
    return RGM_OK;
}

static rgm_status check_own(const rgm_experiment *e)
{
    const rgm_yaml_node *list = rgm_yaml_find(rgm_yaml_root(e->yaml), "restrictions");

    if (list == NULL)
        return RGM_OK;
    if (list->kind != RGM_YAML_LIST)
        return rgm_yaml_fail(list, "restrictions is a list of texts such as "
                                   "\"trainer.steps_per_loop <= trainer.train_steps\"");
    for (int64_t i = 0; i < list->count; i++) {
        const rgm_yaml_node *item = list->items[i];
        restriction r;

        if (item->kind != RGM_YAML_SCALAR)
            return rgm_yaml_fail(item, "a restriction is a text such as "
                                       "\"trainer.steps_per_loop <= trainer.train_steps\"");
        RGM_TRY(parse(&r, e, item->text, item));
        RGM_TRY(check_keys(&r, e, item));
        if (!holds(&r)) {
            char why[256];
            const char *place = rgmi_place(e->arena, item);

            snprintf(why, sizeof why, "%.200s says so", place != NULL ? place : item->origin);
            return violated(&r, item, why);
        }
    }
    return RGM_OK;
}

rgm_status rgmi_restrictions_check(rgm_experiment *e)
{
    RGM_TRY(mark_unused(e, effects, sizeof effects / sizeof *effects));
    if (e->task_type == NULL)
        RGM_TRY(mark_unused(e, graph_effects, sizeof graph_effects / sizeof *graph_effects));
    RGM_TRY(check_rules(e));
    return check_own(e);
}
