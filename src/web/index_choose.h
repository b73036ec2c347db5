/*
 * What the answers of the index share: values of rows by the keys that people name, which rows a
 * query means, and rows put together.
 */
#ifndef RGM_WEB_INDEX_CHOOSE_H
#define RGM_WEB_INDEX_CHOOSE_H

#include "index.h"

#include <regimen/http.h>

/* ---- values -------------------------------------------------------------------------------- */

typedef enum rgmi_row_column {
    RGMI_COLUMN_NAME,
    RGMI_COLUMN_STATE,
    RGMI_COLUMN_TASK,
    RGMI_COLUMN_MODEL,
    RGMI_COLUMN_DESCRIPTION,
    RGMI_COLUMN_TAGS,
    RGMI_COLUMN_FOLDER,
    RGMI_COLUMN_KIND,
    RGMI_COLUMN_BEST, /* numbers from here on */
    RGMI_COLUMN_BEST_STEP,
    RGMI_COLUMN_STEP,
    RGMI_COLUMN_EPOCH,
    RGMI_COLUMN_PROGRESS,
    RGMI_COLUMN_MODIFIED,
    RGMI_COLUMN_STARTED,
    RGMI_COLUMN_TRIAL,
    RGMI_COLUMNS
} rgmi_row_column;
extern const char *const rgmi_row_columns[]; /* [RGMI_COLUMNS] their names, ended by NULL */

/** Where a value of a row is: a column of all, or a cell. */
typedef struct rgmi_value_place {
    const char *name;
    int fixed;   /* a column; -1: a cell */
    int32_t key; /* -1: no row has one   */
} rgmi_value_place;

typedef struct rgmi_row_value {
    bool has, numeric;
    const char *text; /* NULL: the number alone */
    double number;
} rgmi_row_value;

/**
 * The place of a key. One that may come with a run that is not read yet has no values now; any
 * other is refused.
 *
 * @param complete  [in] all runs are read
 * @param what      [in] "where", "sort": how a message begins
 */
rgm_status rgmi_value_find(rgmi_value_place *out, rgmi_runs *runs, bool complete, const char *what,
                           const char *name);
rgmi_row_value rgmi_value_of(const rgmi_run_row *row, const rgmi_value_place *place);
rgmi_row_value rgmi_value_fixed(const rgmi_run_row *row, rgmi_row_column c);
/** Numbers before texts; both have a value. */
int rgmi_values_compare(const rgmi_row_value *a, const rgmi_row_value *b);

/* ---- words of a search --------------------------------------------------------------------- */

/** "gcn seed OR /lr-[0-9]+$/": any of the alternatives, and of that each word and pattern. */
typedef struct rgmi_search_words rgmi_search_words;
/** Errors: RGM_ERR_ARG (a pattern that is none, too long, or of a kind that may take for ever). */
rgm_status rgmi_search_words_read(rgmi_search_words **out, const char *text);
void rgmi_search_words_release(rgmi_search_words *words);
/** Whether texts [count], of which some may be NULL, have what is looked for. */
bool rgmi_search_words_fit(const rgmi_search_words *words, const char *const *texts, int64_t count);

/* ---- which rows ---------------------------------------------------------------------------- */

typedef enum rgmi_relation {
    RGMI_IS,
    RGMI_IS_NOT,
    RGMI_BELOW,
    RGMI_AT_MOST,
    RGMI_ABOVE,
    RGMI_AT_LEAST,
    RGMI_HAS
} rgmi_relation;

typedef struct rgmi_condition {
    rgmi_value_place key;
    rgmi_relation relation;
    rgmi_row_value value;
    char *copy; /* what the texts are in */
} rgmi_condition;

/** By what rows are put together: the values of keys, or all of the configuration but what tells
 * repetitions apart. */
typedef struct rgmi_grouping {
    bool seeds;
    rgmi_value_place *keys; /* without seeds */
    int64_t key_count, key_capacity;
    uint64_t *hashes; /* [cell_keys] of the names; 0: left out */
    int64_t cell_keys;
    char *names; /* what the keys' names are in */
} rgmi_grouping;

/** A request's query; conditions: where those of where= are kept. */
rgm_status rgmi_runs_query_read(rgmi_runs_query *query, const rgm_target *target,
                                const char *conditions[RGM_TARGET_VALUES]);

/** A query that was read. */
typedef struct rgmi_choice {
    const rgmi_runs_query *query;
    rgmi_condition *conditions;
    int64_t condition_count;
    rgmi_search_words *words; /* NULL: none */
    rgmi_value_place sort;
    rgmi_value_place *columns;
    int64_t column_count, column_capacity;
    char *column_names;
    rgmi_grouping by; /* where the query has a group */
    bool is_within;   /* only rows of the group `within` */
    uint64_t within;
} rgmi_choice;

/** Errors: RGM_ERR_ARG, RGM_ERR_NOMEM; rgmi_choice_clear() in any case. */
rgm_status rgmi_choice_read(rgmi_choice *c, rgmi_runs *runs, const rgmi_runs_query *q,
                            bool complete);
void rgmi_choice_clear(rgmi_choice *c);
bool rgmi_choice_fits(const rgmi_choice *c, const rgmi_run_row *row);
/** Whether rows that are not read would stand in the wrong place, or not at all. */
bool rgmi_query_needs_all(const rgmi_runs_query *q);

/** "seeds", or keys with commas between. */
rgm_status rgmi_grouping_read(rgmi_grouping *out, rgmi_runs *runs, bool complete, const char *text);
void rgmi_grouping_clear(rgmi_grouping *g);
/** The same for all rows of a group and over restarts. */
uint64_t rgmi_grouping_id(const rgmi_grouping *g, const rgmi_run_row *row);

/* ---- groups -------------------------------------------------------------------------------- */

typedef struct rgmi_member {
    rgmi_run_row *row;
    uint64_t group;
} rgmi_member;

typedef struct rgmi_run_group {
    uint64_t id;
    int64_t first, count; /* of members */
    rgmi_row_value sort;
} rgmi_run_group;

/** Rows by groups, in the order of the query; rows are held. */
typedef struct rgmi_run_groups {
    rgmi_choice choice;
    rgmi_runs_rows held;
    rgmi_member *members;
    int64_t member_count;
    rgmi_run_group *groups;
    int64_t count;
    bool complete;
} rgmi_run_groups;

/** Errors: as of rgmi_runs_list(); rgmi_groups_clear() in any case. */
rgm_status rgmi_groups_take(rgmi_run_groups *out, rgmi_runs *runs, const rgmi_runs_query *query);
void rgmi_groups_clear(rgmi_run_groups *groups);
/** The group of 16 digits; NULL: there is none. */
const rgmi_run_group *rgmi_groups_find(const rgmi_run_groups *groups, uint64_t id);

/* ---- printing ------------------------------------------------------------------------------ */

/** ,"name":12 or null where it is not known (below 0). */
rgm_status rgmi_print_count(rgm_text *json, const char *name, int64_t count);
rgm_status rgmi_print_named_text(rgm_text *json, const char *name, const char *text);
rgm_status rgmi_print_named_number(rgm_text *json, const char *name, double number);
/** {"total":.. as far as the rows: what answers of tables begin with. */
rgm_status rgmi_print_table_head(rgm_text *json, const rgmi_runs_query *query, int64_t total,
                                 const rgmi_runs_rows *held, bool complete);

/** One run as GET /api/v1/runs/{hex} tells it. */
rgm_status rgmi_run_tell(rgm_text *out, const rgmi_run_row *row);

#endif
