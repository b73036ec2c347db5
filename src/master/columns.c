#include "columns.h"
#include "master_internal.h"

#include <math.h>
#include <string.h>

#define MOST_TRIALS (1 << 24) /* of an experiment: memory goes by their numbers */
#define MOST_SLOTS  (1 << 20)
#define MOST_TIME   253402300799.0 /* the end of the year 9999 */

typedef enum column_kind {
    WHOLE,    /* an integer of low to high           */
    NUMBER,   /* of low to high; NaN is never stored */
    TEXT,     /* of low to high bytes                */
    JSON,     /* an object or a list                 */
    STATE,    /* of rgm_work_state_names             */
    INNER,    /* a path below a folder               */
    ABSOLUTE, /* a path that begins with /           */
    HEX,      /* high digits, the case is the lower  */
    UUID,     /* 8-4-4-4-12 of them                  */
    DIGITS,   /* numbers, with commas between them   */
    SLOTS     /* the same, or names of devices: cuda:0 */
} column_kind;

struct rgmi_column_rule {
    const char *name;
    column_kind kind;
    bool may_be_null;
    double low, high;
};

#define COUNT(name)                                                                                \
    {                                                                                              \
        name, WHOLE, false, 0, RGMI_MOST_COUNT                                                     \
    }
#define ID(name)                                                                                   \
    {                                                                                              \
        name, WHOLE, false, 1, RGMI_MOST_COUNT                                                     \
    }
#define FLAG(name)                                                                                 \
    {                                                                                              \
        name, WHOLE, false, 0, 1                                                                   \
    }
#define PLAIN(name)                                                                                \
    {                                                                                              \
        name, TEXT, false, 0, RGMI_BODY_LIMIT                                                      \
    }
#define WHEN(name, absent)                                                                         \
    {                                                                                              \
        name, NUMBER, absent, 0, MOST_TIME                                                         \
    }
#define METRIC(name)                                                                               \
    {                                                                                              \
        name, NUMBER, true, -INFINITY, INFINITY                                                    \
    }

/* Of tables, and of what statements make of them under a name of its own. */
static const rgmi_column_rule columns[] = {
    COUNT("user_version"),
    {"bytes", WHOLE, true, 0, 1e18},
    COUNT("count(*)"),
    /* experiments */
    ID("id"),
    {"name", TEXT, false, 1, 255},
    PLAIN("description"),
    PLAIN("note"),
    {"project", TEXT, false, 0, 255},
    PLAIN("config"),
    PLAIN("original"), /* config of before all changes */
    {"working_folder", ABSOLUTE, false, 1, 4096},
    PLAIN("owner"),
    {"seed", WHOLE, false, 0, UINT32_MAX},
    {"parent_id", WHOLE, true, 1, RGMI_MOST_COUNT},
    FLAG("archived"),
    {"progress", NUMBER, false, 0, 1},
    {"weight", NUMBER, false, 1e-300, 1e9},
    {"priority", WHOLE, false, 1, 99},
    {"max_slots", WHOLE, false, 0, 1 << 30},
    {"slots_per_trial", WHOLE, false, 1, MOST_SLOTS},
    {"slot_type", TEXT, false, 1, 32},
    {"save_experiment_best", WHOLE, false, 0, 1 << 30},
    {"save_trial_best", WHOLE, false, 0, 1 << 30},
    {"save_trial_latest", WHOLE, false, 0, 1 << 30},
    {"metric:text", TEXT, false, 1, RGMI_BODY_LIMIT},
    FLAG("smaller_is_better"),
    WHEN("start_time", true),
    WHEN("end_time", true),
    {"message", TEXT, true, 0, RGMI_BODY_LIMIT},
    {"source_checkpoint", ABSOLUTE, true, 1, 4096},
    {"engine", TEXT, false, 1, 32},
    {"pool", TEXT, false, 0, 32},
    {"slot", WHOLE, false, 0, MOST_SLOTS},
    {"code", HEX, true, 0, 16},
    {"seconds", NUMBER, false, 0, 1e18},
    COUNT("saved"),
    COUNT("saved_of"),
    {"saved_unit", TEXT, true, 1, 32},
    /* trials */
    ID("experiment_id"),
    {"number", WHOLE, false, 1, MOST_TRIALS},
    {"state", STATE, false, 0, 0},
    {"hyperparameters", JSON, false, 0, RGMI_BODY_LIMIT},
    {"request_id", UUID, false, 0, 36},
    COUNT("restarts"),
    FLAG("closing"),
    FLAG("ending"),
    FLAG("ahead"),
    {"asked", TEXT, false, 0, 65536},
    COUNT("steps"),
    COUNT("batches"),
    METRIC("metric"),
    METRIC("best_metric"),
    {"last_kind", WHOLE, false, -1, RGM_TERMINATE},
    COUNT("last_step"),
    {"run_token", HEX, false, 0, 32},
    {"run_pid", WHOLE, true, 2, INT32_MAX},
    {"pid", WHOLE, true, 2, INT32_MAX},
    {"run_started", WHOLE, true, -1, INFINITY},
    {"run_slots", SLOTS, true, 0, 65536},
    {"run_job", WHOLE, false, -1, RGMI_MOST_COUNT}, /* -1: none */
    {"job", WHOLE, true, 1, RGMI_MOST_COUNT},
    {"source_checkpoint_uuid", UUID, true, 0, 36},
    /* of trials: runs, steps, validations, checkpoints */
    ID("trial_id"),
    {"slots", DIGITS, true, 0, 65536},
    COUNT("step_id"),
    COUNT("num_inputs"),
    {"metrics", JSON, true, 0, RGMI_BODY_LIMIT},
    {"uuid", UUID, false, 0, 36},
    {"folder", INNER, false, 1, 300},
    {"resources", JSON, false, 0, RGMI_BODY_LIMIT},
    /* code */
    {"code_path", INNER, false, 1, 255},
    COUNT("size"),
    FLAG("is_executable"),
    {"hash", HEX, false, 0, 16},
    {"origin", ABSOLUTE, false, 1, 4096},
    {"git_commit", TEXT, true, 40, 64},
    {"git_branch", TEXT, true, 0, 1024},
    FLAG("is_dirty"),
    {"diff", TEXT, true, 0, RGMI_BODY_LIMIT},
    FLAG("is_cut"),
    /* searchers: what they are made of is checked by who reads it */
    {"sequencer", TEXT, false, 1, INFINITY},
    {"searcher_state", TEXT, false, 1, INFINITY},
    COUNT("event_id"), /* 0: a search that was changed before it was told anything */
    {"kind", WHOLE, false, 0, RGM_ENDED},
    {"kind:text", TEXT, false, 1, 32},
    {"trial", WHOLE, false, 0, MOST_TRIALS},
    COUNT("length"),
    WHEN("time", false),
    {"what", JSON, false, 0, RGMI_BODY_LIMIT},
    /* what statements make */
    {"labels", JSON, false, 0, INFINITY},
    {"trials_by_state", JSON, false, 0, INFINITY},
    COUNT("trials"),
    COUNT("last_id"),
    COUNT("running"),
    COUNT("waiting"),
    COUNT("earlier"),
    METRIC("smallest"),
    METRIC("largest"),
    FLAG("is_needed"),
    FLAG("is_gone"),
    {"newest", WHOLE, false, 0, 2},
    FLAG("logs_removed"),
    /* webhooks and what they are told */
    ID("webhook_id"),
    {"hook_experiment", WHOLE, true, 1, RGMI_MOST_COUNT},
    {"url", TEXT, false, 8, 2000},
    {"secret", TEXT, false, 1, 255},
    {"events", WHOLE, false, 0, 7},
    {"event", TEXT, false, 1, 32},
    {"body", JSON, false, 0, RGMI_BODY_LIMIT},
    COUNT("tries"),
    WHEN("next_time", true),
    {"scope", TEXT, false, 4, 5},
    {"sha256", HEX, false, 0, 64},
    FLAG("is_over"),
    {"unwanted", WHOLE, false, 0, 2},
    {"no_text", TEXT, false, 0, 0},
};

/* ---- which ---------------------------------------------------------------------------------- */

static const rgmi_column_rule *find(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strlen(columns[i].name) == size && memcmp(columns[i].name, name, size) == 0)
            return &columns[i];
    return NULL;
}

const rgmi_column_rule *rgmi_column_find(const char *name)
{
    const rgmi_column_rule *whole = find(name, strlen(name));

    return whole != NULL ? whole : find(name, strcspn(name, ":"));
}

/* ---- what may be ---------------------------------------------------------------------------- */

bool rgmi_is_inner_path(const char *path)
{
    if (path == NULL || strlen(path) > 255)
        return false;
    for (const char *part = path;; part++) {
        size_t size = strcspn(part, "/");

        if (size == 0 || part[0] == '.')
            return false;
        part += size;
        if (*part == 0)
            return true;
    }
}

static bool is_of(const char *text, const char *characters)
{
    return text[strspn(text, characters)] == 0;
}

static bool is_uuid(const char *text)
{
    for (int i = 0; i < 36; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-'
                                                    : strchr("0123456789abcdef", text[i]) == NULL)
            return false;
    return true;
}

/* A text of `size` bytes, without a zero among them. */
static bool text_fits(const rgmi_column_rule *c, const char *text, int64_t size)
{
    rgm_work_state state;

    if (c->kind == STATE)
        return rgm_work_state_find(&state, text);
    if ((double)size < c->low || (double)size > c->high)
        return false;
    switch (c->kind) {
    case INNER:
        return rgmi_is_inner_path(text);
    case ABSOLUTE:
        return text[0] == '/';
    case HEX:
        return size == (int64_t)c->high && is_of(text, "0123456789abcdef");
    case UUID:
        return size == 36 && is_uuid(text);
    case DIGITS:
        return is_of(text, "0123456789,");
    case SLOTS:
        return is_of(text, "0123456789,:abcdefghijklmnopqrstuvwxyz");
    default:
        return c->kind == TEXT || c->kind == JSON;
    }
}

/* ---- the check ------------------------------------------------------------------------------ */

static rgm_status print_wanted(rgm_text *out, const rgmi_column_rule *c)
{
    static const char *const words[] = {
        [TEXT] = "a text",
        [JSON] = "JSON",
        [STATE] = "a state",
        [INNER] = "a path below its folder",
        [HEX] = "hex digits",
        [ABSOLUTE] = "a path that begins with /",
        [UUID] = "a version 4 UUID",
        [DIGITS] = "numbers with commas between them",
        [SLOTS] = "numbers or names of devices with commas between them",
    };

    if (c->kind == WHOLE)
        return rgm_text_printf(out, "an integer of %.0f to %.0f", c->low, c->high);
    if (c->kind == NUMBER)
        return rgm_text_printf(out, "a number of %g to %g", c->low, c->high);
    if (c->kind == TEXT && c->high < INFINITY)
        return rgm_text_printf(out, "a text of %.0f to %.0f bytes", c->low, c->high);
    return rgm_text_printf(out, "%s", words[c->kind]);
}

static rgm_status check_json(bool *fits, const char *text, int64_t size)
{
    rgm_json *json = NULL;
    rgm_status status = rgm_json_parse(&json, text, size, "a column");

    rgm_json_release(json);
    *fits = status == RGM_OK;
    return status == RGM_ERR_NOMEM ? status : RGM_OK;
}

static rgm_status check_text(bool *fits, const rgmi_column_rule *c, sqlite3_stmt *statement,
                             int number)
{
    const char *text = (const char *)sqlite3_column_text(statement, number);
    int64_t size = sqlite3_column_bytes(statement, number);

    if (text == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory reading a row");
    *fits = (int64_t)strlen(text) == size && text_fits(c, text, size);
    return *fits && c->kind == JSON ? check_json(fits, text, size) : RGM_OK;
}

rgm_status rgmi_column_check(rgm_text *out, const rgmi_column_rule *c, sqlite3_stmt *statement,
                             int number)
{
    int type = sqlite3_column_type(statement, number);
    bool fits = false;

    if (type == SQLITE_NULL)
        fits = c->may_be_null;
    else if (c->kind == WHOLE && type == SQLITE_INTEGER)
        fits = (double)sqlite3_column_int64(statement, number) >= c->low &&
               (double)sqlite3_column_int64(statement, number) <= c->high;
    else if (c->kind == NUMBER && (type == SQLITE_FLOAT || type == SQLITE_INTEGER))
        fits = sqlite3_column_double(statement, number) >= c->low &&
               sqlite3_column_double(statement, number) <= c->high;
    else if (c->kind != WHOLE && c->kind != NUMBER && type == SQLITE_TEXT)
        RGM_TRY(check_text(&fits, c, statement, number));
    if (fits)
        return RGM_OK;
    RGM_TRY(print_wanted(out, c));
    return RGM_FAIL(RGM_ERR_FORMAT, "no %s", c->name);
}
