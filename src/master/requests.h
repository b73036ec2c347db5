/*
 * A request on its way: its parts taken apart, and what answers write with. requests.c has the
 * table of all of them; answers_*.c the functions.
 */
#ifndef RGM_MASTER_REQUESTS_H
#define RGM_MASTER_REQUESTS_H

#include "master_internal.h"

enum {
    RGMI_QUERY_ROOM = 16,
    RGMI_NOTE_BYTES = 1 << 20 /* of a note at most */
};

typedef struct rgmi_call {
    rgm_master *master;
    int64_t id;        /* {id} of the path                          */
    const char *name;  /* {uuid} of it; NULL: it has none           */
    rgm_json *body;    /* an object; NULL: none was sent            */
    int status;        /* of the answer if all is well; begins with 200 */
    rgm_text *out;     /* JSON                                      */
    rgm_text details;  /* of an error, for people: lines            */
    rgm_target target; /* its path and query      */
} rgmi_call;

/** What a query says under a key; NULL: nothing. */
const char *rgmi_call_query(const rgmi_call *call, const char *key);
/** An integer of the query within bounds. Errors: RGM_ERR_ARG. */
rgm_status rgmi_call_query_int(int64_t *out, const rgmi_call *call, const char *key,
                               int64_t otherwise, int64_t low, int64_t high);
/** A key of the body; *out stays when there is none. RGM_ERR_ARG: of another type. */
rgm_status rgmi_call_text(const char **out, const rgmi_call *call, const char *key);
rgm_status rgmi_call_int(int64_t *out, const rgmi_call *call, const char *key, int64_t low,
                         int64_t high);
rgm_status rgmi_call_number(double *out, const rgmi_call *call, const char *key);
rgm_status rgmi_call_bool(bool *out, const rgmi_call *call, const char *key);
/** RGM_ERR_ARG where the body has a key that is none of these, ended by NULL. */
rgm_status rgmi_call_keys(const rgmi_call *call, const char *const *known);

/**
 * A row as an object: a key for each column by its name, which may end in ":json" (goes in as it
 * is), ":time" (seconds since 1970, told as ISO 8601), ":bool". Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_print_row(rgm_text *out, rgmi_rows *rows);
/** "[row, row]"; *count, where it is not NULL, is how many. */
rgm_status rgmi_print_rows(rgm_text *out, rgm_master *master, rgmi_rows *rows, int64_t *count);
/** ?limit= and ?offset=, 100 and 0 where they are not given. Errors: RGM_ERR_ARG. */
rgm_status rgmi_call_page(int64_t *limit, int64_t *offset, const rgmi_call *call);
/** {"<key>": [...], "offset": , "limit": , "total": }: of a query with the limit and offset of
 * rgmi_call_page(). */
rgm_status rgmi_print_page(rgmi_call *call, const char *key, rgmi_rows *rows, int64_t total);
typedef rgm_status rgmi_row_printer(rgmi_call *call, rgmi_rows *rows);
/** A list that is answered page by page. */
typedef struct rgmi_paged_list {
    const char *key;
    bool of_id;        /* both statements begin with a value, the {id} of the path             */
    const char *count; /* SELECT count(*) ...                                                  */
    const char *rows;  /* SELECT ... LIMIT ? OFFSET ?                                           */
    rgmi_row_printer
        *print; /* of rows that have more to them than columns; NULL: rgmi_print_row() */
} rgmi_paged_list;
/** The page of a list that ?limit= and ?offset= say. Errors: RGM_ERR_ARG, the database's. */
rgm_status rgmi_answer_list(rgmi_call *call, const rgmi_paged_list *list);
/** The only row as the answer; RGM_ERR_NOT_FOUND "there is no <what> ..." without one. */
rgm_status rgmi_print_one(rgmi_call *call, rgmi_rows *rows, const char *what);
/** RGM_ERR_NOT_FOUND when {id} is no experiment; *smaller: whether its metric is better so. */
rgm_status rgmi_experiment_exists(int64_t *smaller, const rgmi_call *call);
/** `, "waits": "..."`: why the first trial of {id} that waits does so; null where none does. */
rgm_status rgmi_print_waits(rgmi_call *call);
/** "2026-01-31T23:59:59.123Z" in quotes, null for NaN. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_print_time(rgm_text *out, double time);

/* Checkpoints with their trials and validations: c, t, v. */
#define RGMI_CHECKPOINT_COLUMNS                                                                    \
    "SELECT c.uuid, c.trial_id, t.experiment_id, t.number, c.step_id, c.state, c.batches,"         \
    " v.metric, t.experiment_id || '/' || t.number || '/' || c.folder AS folder, c.end_time AS"    \
    " 'end_time:time', c.resources AS 'resources:json' FROM checkpoints c JOIN trials t ON t.id =" \
    " c.trial_id LEFT JOIN validations v ON v.trial_id = c.trial_id AND v.step_id = c.step_id "

typedef rgm_status rgmi_answer(rgmi_call *call);
/* answers_create.c */
rgmi_answer rgmi_answer_create, rgmi_answer_fork, rgmi_answer_continue;
/* answers_experiments.c */
rgmi_answer rgmi_answer_experiments, rgmi_answer_experiment, rgmi_answer_patch,
    rgmi_answer_activate, rgmi_answer_pause, rgmi_answer_cancel, rgmi_answer_kill,
    rgmi_answer_archive, rgmi_answer_unarchive, rgmi_answer_delete, rgmi_answer_config,
    rgmi_answer_collect, rgmi_answer_search, rgmi_answer_events;
/* answers_models.c */
rgmi_answer rgmi_answer_models;
/* answers_code.c */
rgmi_answer rgmi_answer_code;
/* answers_trials.c */
rgmi_answer rgmi_answer_trials, rgmi_answer_trial, rgmi_answer_steps, rgmi_answer_validations,
    rgmi_answer_trial_checkpoints, rgmi_answer_logs, rgmi_answer_kill_trial,
    rgmi_answer_experiment_checkpoints, rgmi_answer_experiment_validations, rgmi_answer_runs,
    rgmi_answer_checkpoint, rgmi_answer_delete_checkpoint, rgmi_answer_patch_trial;
/* answers_work.c */
rgmi_answer rgmi_answer_run, rgmi_answer_workload, rgmi_answer_alive, rgmi_answer_failed;
/* answers_master.c */
rgmi_answer rgmi_answer_master, rgmi_answer_queue;
/* tokens.c */
rgmi_answer rgmi_answer_tokens, rgmi_answer_create_token, rgmi_answer_revoke_token;
/* answers_webhooks.c */
rgmi_answer rgmi_answer_webhooks, rgmi_answer_add_webhook, rgmi_answer_remove_webhook,
    rgmi_answer_try_webhook, rgmi_answer_deliveries;
/* slots.c */
rgmi_answer rgmi_answer_slots, rgmi_answer_drain, rgmi_answer_enable;
/* answers_live.c */
rgmi_answer rgmi_answer_change, rgmi_answer_try, rgmi_answer_changes, rgmi_answer_stop_trial;
/* answers_running.c */
rgmi_answer rgmi_answer_running, rgmi_answer_shares;

/** `, "ranks": N`: the processes that train a trial of the experiment together; null where this
 * version cannot read its file. */
rgm_status rgmi_print_ranks(rgmi_call *call, int64_t experiment);

#endif
