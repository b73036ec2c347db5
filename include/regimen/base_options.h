/*
 * base: options structs as tables of fields, read from YAML and checked; rules between their keys.
 */
#ifndef REGIMEN_BASE_OPTIONS_H
#define REGIMEN_BASE_OPTIONS_H

#include <regimen/base_yaml.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options from YAML ----------------------------------------------------------------------- */

/**
 * The types of keys. One key of an options struct is the struct's member, the key of the experiment
 * file and its documentation at once. A map of an experiment file fills a struct by a table of such
 * keys that ends with {0}; the caller sets the defaults of the struct first.
 */
typedef enum rgm_field_kind {
    RGM_FIELD_INT,      /* int64_t                                              */
    RGM_FIELD_FLOAT,    /* double                                               */
    RGM_FIELD_BOOL,     /* bool: true or false                                  */
    RGM_FIELD_TEXT,     /* const char *                                         */
    RGM_FIELD_CHOICE,   /* an enum: one of choices                              */
    RGM_FIELD_INTS,     /* rgm_ints: a list, or one number                      */
    RGM_FIELD_FLOATS,   /* rgm_floats: a list, or one number                    */
    RGM_FIELD_TEXTS,    /* rgm_texts: a list, or one text                       */
    RGM_FIELD_NUMBERS,  /* rgm_numbers: a map of any keys to numbers            */
    RGM_FIELD_LISTS,    /* rgm_lists: a map of any keys to lists of texts       */
    RGM_FIELD_GROUP,    /* a struct inside, described by `group`                */
    RGM_FIELD_SECTIONS, /* rgm_sections: a list of maps with a `type` each     */
    RGM_FIELD_NODE      /* const rgm_yaml_node *: kept as it is; others read it */
} rgm_field_kind;

typedef struct rgm_ints {
    const int64_t *items;
    int64_t count;
} rgm_ints;
typedef struct rgm_floats {
    const double *items;
    int64_t count;
} rgm_floats;
typedef struct rgm_texts {
    const char *const *items;
    int64_t count;
} rgm_texts;
/** Numbers by name, in the file's order. */
typedef struct rgm_numbers {
    const char *const *names;
    const double *values;
    int64_t count;
} rgm_numbers;

/** Lists of texts by name, in the file's order. */
typedef struct rgm_lists {
    const char *const *names;
    const rgm_texts *items;
    int64_t count;
} rgm_lists;

/** One section of a list: its type and its options. */
typedef struct rgm_section {
    const struct rgm_section_type *type;
    const void *options;       /* NULL: the type has none                            */
    const rgm_yaml_node *node; /* its node in the file; NULL: a program filled it   */
} rgm_section;
typedef struct rgm_sections {
    const rgm_section *items;
    int64_t count;
} rgm_sections;

/** Bounds that exclude 0 and 1 themselves: the first double above 0, the last double below 1. */
#define RGM_ABOVE_0 0x1p-1074
#define RGM_BELOW_1 (1 - 0x1p-53)

typedef struct rgm_field {
    const char *name;
    rgm_field_kind kind;
    size_t offset;              /* of the member in the struct                    */
    double min, max;            /* numbers; no bounds when both are 0             */
    const char *const *choices; /* RGM_FIELD_CHOICE: ended by NULL ...            */
    const int *values;          /* ... and what they stand for; NULL: 0, 1, ...   */
    const struct rgm_field *group;
    const struct rgm_section_type *const *sections; /* RGM_FIELD_SECTIONS: ended by NULL */
    const char *help; /* one line; with the unit                        */
} rgm_field;

/*
 * Rows of a table; the key is the name of the member. Define RGM_OPTIONS as the struct before the
 * table. A row does not compile when its member has another type than its kind.
 *
 *     #define RGM_OPTIONS rgm_mlp_options
 *     static const rgm_field fields[] = {
 *         RGM_FLOAT_FIELD(dropout, 0, 0.999, "rate behind each layer"),
 *         {0}};
 *     #undef RGM_OPTIONS
 */
#define RGM_MEMBER_(member) (((RGM_OPTIONS *)0)->member)
#define RGM_AT_(member, ...)                                                                       \
    (offsetof(RGM_OPTIONS, member) + 0 * sizeof(_Generic(&RGM_MEMBER_(member), __VA_ARGS__ * : 0)))
#define RGM_ROW_(member, field_kind, at, text, ...)                                                \
    {                                                                                              \
        .name = #member, .kind = (field_kind), .offset = (at), .help = (text), __VA_ARGS__         \
    }
#define RGM_INT_FIELD(member, low, high, text)                                                     \
    RGM_ROW_(member, RGM_FIELD_INT, RGM_AT_(member, int64_t), text, .min = (low), .max = (high))
#define RGM_FLOAT_FIELD(member, low, high, text)                                                   \
    RGM_ROW_(member, RGM_FIELD_FLOAT, RGM_AT_(member, double), text, .min = (low), .max = (high))
#define RGM_BOOL_FIELD(member, text)                                                               \
    RGM_ROW_(member, RGM_FIELD_BOOL, RGM_AT_(member, bool), text, .group = NULL)
#define RGM_TEXT_FIELD(member, text)                                                               \
    RGM_ROW_(member, RGM_FIELD_TEXT, RGM_AT_(member, const char *), text, .group = NULL)
/** An enum, by the names of its values in order. */
#define RGM_CHOICE_FIELD(member, names, text) RGM_SOME_FIELD(member, names, NULL, text)
/** Some values of an enum, by their names. */
#define RGM_SOME_FIELD(member, names, which, text)                                                 \
    RGM_ROW_(member, RGM_FIELD_CHOICE,                                                             \
             offsetof(RGM_OPTIONS, member) +                                                       \
                 0 * sizeof(char[sizeof RGM_MEMBER_(member) == sizeof(int) ? 1 : -1]),             \
             text, .choices = (names), .values = (which))
#define RGM_INTS_FIELD(member, low, high, text)                                                    \
    RGM_ROW_(member, RGM_FIELD_INTS, RGM_AT_(member, rgm_ints), text, .min = (low), .max = (high))
#define RGM_FLOATS_FIELD(member, low, high, text)                                                  \
    RGM_ROW_(member, RGM_FIELD_FLOATS, RGM_AT_(member, rgm_floats), text, .min = (low),            \
             .max = (high))
#define RGM_TEXTS_FIELD(member, text)                                                              \
    RGM_ROW_(member, RGM_FIELD_TEXTS, RGM_AT_(member, rgm_texts), text, .group = NULL)
#define RGM_NUMBERS_FIELD(member, low, high, text)                                                 \
    RGM_ROW_(member, RGM_FIELD_NUMBERS, RGM_AT_(member, rgm_numbers), text, .min = (low),          \
             .max = (high))
#define RGM_LISTS_FIELD(member, text)                                                              \
    RGM_ROW_(member, RGM_FIELD_LISTS, RGM_AT_(member, rgm_lists), text, .group = NULL)
/** A struct inside with a table of its own. */
#define RGM_GROUP_FIELD(member, fields, text)                                                      \
    RGM_ROW_(member, RGM_FIELD_GROUP, offsetof(RGM_OPTIONS, member), text, .group = (fields))

/** A list of maps, each with the `type` of a row of `rows`. */
#define RGM_SECTIONS_FIELD(member, rows, text)                                                     \
    RGM_ROW_(member, RGM_FIELD_SECTIONS, RGM_AT_(member, rgm_sections), text, .sections = (rows))

/**
 * Fill `options` from the entries of `map` (NULL: nothing to do). An unknown key, a wrong type or a
 * number out of bounds is RGM_ERR_CONFIG with "origin:line:column: unknown key 'trian.epochs'; did
 * you mean 'trainer.epochs'?". `path` is the dotted path of `map` ("trainer"). Keys listed in
 * `also` (ended by NULL, may be NULL) belong to other readers and are skipped. Texts and lists are
 * allocated in `arena`.
 */
rgm_status rgm_options_read(void *options, const rgm_field *fields, const rgm_yaml_node *map,
                            const char *path, const char *const *also, rgm_arena *arena);
/**
 * Check options that a program filled in against the same table: every number, also in lists and
 * groups, is finite and within its bounds, and every choice is valid. RGM_ERR_CONFIG
 * "optimizer.beta_1 is 1, but must be in [0, 1)".
 */
rgm_status rgm_options_check(const void *options, const rgm_field *fields, const char *path);
/**
 * Append options as the map of one line that a file has them in, "{sizes: [10, 5], once: true}":
 * those that differ from `defaults`, a struct of the same table. Errors: RGM_ERR_UNSUPPORTED (a
 * table with NUMBERS, LISTS, SECTIONS or NODE), RGM_ERR_NOMEM.
 */
rgm_status rgm_options_print(rgm_text *out, const void *options, const void *defaults,
                             const rgm_field *fields);
/** The name of a choice's value; NULL when the value has none. */
const char *rgm_field_choice(const rgm_field *field, int value);
/**
 * One `type` of a section of an experiment file, with the keys that a section of this type has. The
 * rows of models, task types, exporters and actions begin with this struct and add functions.
 */
typedef struct rgm_section_type {
    const char *name;
    const char *help;
    size_t options_size;
    void (*defaults)(void *options); /* of zeroed options; NULL: zeros */
    const rgm_field *fields;
    /** RGM_ERR_CONFIG when options contradict each other or one is missing; reads no data. May be
     * NULL. */
    rgm_status (*check)(const void *options);
} rgm_section_type;
/** Find a type by its name in a list that ends with NULL; NULL when the list has no such type. */
const rgm_section_type *rgm_section_type_find(const rgm_section_type *const *types,
                                              const char *name);
/**
 * The `type` key of a section, which must be one of names [count]. Otherwise RGM_ERR_CONFIG; its
 * message lists the names. `path` is the path of the section.
 */
rgm_status rgm_yaml_type(const char **out, const rgm_yaml_node *section, const char *path,
                         const char *const *names, int64_t count);
/**
 * The options of a section of this type: allocated in `arena`, set to their defaults, read as by
 * rgm_options_read() and checked; errors have the place of `map`. *out is NULL when the type has no
 * options.
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_section_type_read(void **out, const rgm_section_type *type, const rgm_yaml_node *map,
                                 const char *path, const char *const *also, rgm_arena *arena);
/** Print the keys of a table with their types and help, one a line. path: of its section, "" for
 * none. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_options_print_help(rgm_text *out, const char *path, const rgm_field *fields);

/* ---- rules between keys ---------------------------------------------------------------------- */

/** A key that has no effect, nor has any key below it, unless `needs` holds:
 * "trainer.train_steps == 0". Of several conditions with " or " between them, one must hold. When a
 * key has several rows, all must hold. The text after "; " tells the user what to set instead. */
typedef struct rgm_effect {
    const char *key, *needs;
} rgm_effect;

/**
 * What must hold when all conditions of `when` hold: "KEY RELATION KEY|CONSTANT" with ==, !=, <,
 * <=, >, >=, multiple_of, excludes (not both given). A rule or a condition has no effect when its
 * first key does not exist. The constant "ogb|folder" matches either text.
 */
typedef struct rgm_rule {
    const char *text;    /* "trainer.summary_interval multiple_of trainer.steps_per_loop" */
    const char *when[2]; /* NULL: always */
    const char *why;     /* may be NULL  */
} rgm_rule;

/** A key's value as rules see it; texts are borrowed. */
typedef struct rgm_rule_value {
    const char *text;          /* "3"; "[]", "[...]" for lists; NULL: not set    */
    const char *shown;         /* in messages; NULL: text                        */
    const char *where;         /* "FILE:line", "default"; NULL: not in messages  */
    const rgm_yaml_node *node; /* the place of messages about it; NULL: none     */
    bool given, is_list;       /* given: somebody set it                         */
} rgm_rule_value;

/** How rules find their keys. */
typedef struct rgm_rule_keys {
    bool (*find)(rgm_rule_value *out, const char *key, void *payload); /* false: there is none */
    /* For rgm_rule_check_text() alone: */
    bool (*looks_like_one)(const char *text);
    rgm_hint (*did_you_mean)(const char *text, void *payload);
    void *payload;
} rgm_rule_keys;

/** Whether a condition holds; `otherwise` when its first key does not exist. NULL holds. */
bool rgm_rule_holds(const char *text, bool otherwise, const rgm_rule_keys *keys);
/** Check every rule of a table that ends with {0}. RGM_ERR_CONFIG: the first rule that does not
 * hold, with both values. */
rgm_status rgm_rules_check(const rgm_rule *rules, const rgm_rule_keys *keys);
/** Check only the form of a rule: RGM_ERR_CONFIG with its place when it is no rule or names a key
 * that does not exist. */
rgm_status rgm_rule_check_form(const rgm_yaml_node *node, const rgm_rule_keys *keys);
/** Check a rule from a file: RGM_ERR_CONFIG with its place when it does not hold or is no rule. */
rgm_status rgm_rule_check_text(const rgm_yaml_node *node, const char *why,
                               const rgm_rule_keys *keys);
/**
 * Check a table of rules against options that a program filled in. A key counts as given when its
 * value differs from `defaults`.
 * Errors: those of rgm_rules_check().
 */
rgm_status rgm_options_check_rules(const rgm_rule *rules, const void *options, const void *defaults,
                                   const rgm_field *fields, const char *path);

#ifdef __cplusplus
}
#endif
#endif
