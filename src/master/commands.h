/*
 * A scheduler that is three commands: submit, look, cancel. A table says their words, and the
 * regular expressions that find a job's number and state in what they print. Tables for PBS, LSF
 * and Kubernetes are ready; others stand in the master's file (machines.h).
 */
#ifndef RGM_MASTER_COMMANDS_H
#define RGM_MASTER_COMMANDS_H

#include "engine.h"

#include <regimen/base_options.h>
#include <regex.h>

/** What a table's words may name: "{queue}". */
typedef struct rgmi_named_text {
    const char *name, *value;
} rgmi_named_text;

/** One expression; is_set: the table has it. */
typedef struct rgmi_pattern {
    bool is_set;
    regex_t compiled;
} rgmi_pattern;

enum { RGMI_ROW_GROUPS = 9 };

typedef struct rgmi_commands_table {
    const char *name; /* of scheduler.type */
    /* as the file has them: lists of words, of which one that is a list itself is left out where a
       variable in it is empty */
    const rgm_yaml_node *submit, *look, *cancel;
    const char *submitted; /* group 1: the number in what submit prints; NULL: names are all */
    const char *row;       /* a line of what look prints that is of a job ...                 */
    rgm_texts fields;      /* ... and what its groups are: number, name, state, reason        */
    const char *exit;      /* group 1: an exit status in the same line; NULL: not told        */
    rgm_texts pending, running, done, failed; /* states by the names that it has for them */
    const char *nothing; /* look has failed, and says that there are no jobs: it has not      */
    const char *unknown; /* cancel has failed, and says that the job is over: it has not      */
    const char *passing; /* what has failed may work the next time                            */
    rgmi_pattern submitted_pattern, row_pattern, exit_pattern, nothing_pattern, unknown_pattern,
        passing_pattern;
    rgmi_named_text *variables; /* [variable_count] of the table's own */
    int64_t variable_count;
} rgmi_commands_table;

/** The keys of a table. */
extern const rgm_field rgmi_commands_fields[];
/** The ready tables as a file of them. */
extern const char rgmi_ready_tables[];

/** Check a table that was read, and compile its expressions; `node` for messages. Errors:
 * RGM_ERR_CONFIG, RGM_ERR_NOMEM. Cleared after an error too. */
rgm_status rgmi_commands_prepare(rgmi_commands_table *table, const rgm_yaml_node *node);
void rgmi_commands_clear(rgmi_commands_table *table);

/** Of one experiment's jobs; what it does not say is NULL. */
typedef struct rgmi_commands_options {
    const char *queue, *account, *qos, *time, *memory;
    rgm_texts options; /* words for "{options}"          */
    rgm_texts setup;   /* lines of shell before the trial */
    double command_s;  /* how long a command may take; 0: 60 */
} rgmi_commands_options;

extern const rgmi_engine_type rgmi_commands;
/**
 * The state of an engine `rgmi_commands`.
 *
 * @param out      [out, owned] rgmi_commands.release() it
 * @param table    [in] borrowed for as long
 * @param options  [in] copied
 *
 * Errors: RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgmi_commands_create(void **out, const rgmi_commands_table *table,
                                const rgmi_commands_options *options);

/** The name of a job among others': at most 15 characters, which PBS takes, and none that
 * Kubernetes does not. */
enum { RGMI_JOB_NAME_ROOM = 16 };
void rgmi_job_name(char out[RGMI_JOB_NAME_ROOM], const rgmi_job_tag *tag);

#endif
