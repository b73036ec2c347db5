/*
 * What the verbs of experiments ask of a master: requests by client to whoever owns the folder, or
 * by hand to the master that this process is. Answers are JSON; a field that is missing or null
 * reads as "", -1 or NaN.
 */
#ifndef RGM_CLI_ASK_H
#define RGM_CLI_ASK_H

#include <regimen/master.h>

#include "cli.h"
#include "table.h"

/** Whom to ask; exactly one is set. */
typedef struct asked_master {
    rgm_client *client;
    rgm_master *master;
} asked_master;

/** --master, for a verb's table. */
#define MASTER_ARGUMENT(where)                                                                     \
    {                                                                                              \
        "master", ARG_TEXT, &(where), "DIR|URL",                                                   \
            "the master's folder or address (default: $REGIMEN_MASTER, else experiments)"          \
    }
/** The folder or address that is meant when --master said `where` (NULL: nothing). */
const char *master_place(const char *where);
/** A client of it; without one at work a folder has to be there. */
rgm_status master_open(asked_master *out, const char *where);
void master_close(asked_master *whom);

/**
 * GET, or what `method` says, of a path by a format; body: taken, or NULL.
 *
 * @param answer  [out] json_decref() it; NULL: not wanted
 */
rgm_status ask(json_t **answer, const asked_master *whom, const char *method, json_t *body,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
/** All rows of a list: asked for page by page. *rows: an array, json_decref() it. */
rgm_status ask_all(json_t **rows, const asked_master *whom, const char *key, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

const char *text_of(const json_t *object, const char *key);
/** Whether that is the "state" of an experiment, a trial or a checkpoint. */
bool is_in_state(const json_t *row, rgm_work_state state);
int64_t int_of(const json_t *object, const char *key);
double number_of(const json_t *object, const char *key);
bool bool_of(const json_t *object, const char *key);
/** Seconds since 1970 of "2026-11-22T22:05:44.123Z"; NaN: it is none. */
double time_of(const json_t *object, const char *key);

/** "12", or "3/5" for trial 5 of experiment 3, to a trial's id. */
rgm_status find_trial(int64_t *id, const asked_master *whom, const char *text);
/** "12": RGM_ERR_CONFIG for what is no number. */
rgm_status read_id(int64_t *id, const char *what, const char *text);

/** What a verb does with one experiment or trial; *code is EXIT_DONE before. */
typedef rgm_status verb_about(int *code, const asked_master *whom, int64_t id, const void *options);
/** Find the master and the experiment, or trial, that `text` names, do it, and report. */
int about_experiment(verb_about *act, const char *where, const char *text, const void *options);
int about_trial(verb_about *act, const char *where, const char *text, const void *options);

/** What a verb does with what is named on its line; *code is EXIT_DONE before. */
typedef rgm_status verb_at_master(int *code, const asked_master *whom, const text_list *names,
                                  const void *options);
/** Find the master, do it, and report. */
int about_each(verb_at_master *act, const char *where, const text_list *names, const void *options);

/** How a list is printed. */
typedef struct list_form {
    bool json, csv;
} list_form;
#define LIST_ARGUMENTS(form)                                                                       \
    {"json", ARG_FLAG, &(form).json, NULL, "as JSON on stdout"},                                   \
    {                                                                                              \
        "csv", ARG_FLAG, &(form).csv, NULL, "as comma-separated values"                            \
    }
/** The table, as the form says (not JSON); what it is of when it is empty: "no trials". */
int print_table(const table *t, const list_form *form, const char *none);

#endif
