/* What server and worker share: messages, and the tables of which only rows travel. */
#ifndef RGM_ASYNC_INTERNAL_H
#define RGM_ASYNC_INTERNAL_H

#include <regimen/async.h>
#include <regimen/autodiff.h>
#include <regimen/data.h>
#include <regimen/train_apart.h>

/* ---- tables.c ------------------------------------------------------------------------------ */

/** One that picks rows of something: by an index, or by the columns of a pattern, which is fed or
 * follows from what is fed. */
typedef struct rgmi_row_pick {
    rgm_value *by;  /* dense integers; or a pattern that is fed                                */
    bool by_entry;  /* of a pattern: what it gives has a row for each entry, not for each row   */
    int64_t answer; /* of dense integers that are not fed: their place in tables->answers; -1   */
    int64_t gives;  /* a source that is made of what was picked; -1: all of that is read        */
} rgmi_row_pick;

/** Rows of one table. `{0}` is a valid empty one. */
typedef struct rgmi_row_set {
    int32_t *items; /* [count] each once, in the order of their addition */
    int64_t count, capacity;
    bool *there; /* [size] */
    int64_t size;
} rgmi_row_set;

/** What only such picks read: a parameter, or what was picked from another source. */
typedef struct rgmi_row_source {
    int64_t value; /* its number in the graph; those that it is picked from have lower ones  */
    rgmi_row_pick *picks; /* [count] */
    int64_t count, capacity;
    rgmi_row_set read; /* by the current batch, of what is no parameter */
} rgmi_row_source;

/** A parameter that is a source: of it rows travel. */
typedef struct rgmi_row_table {
    int64_t parameter; /* its number */
    int64_t source;
    int64_t rows, row_bytes;
} rgmi_row_table;

typedef struct rgmi_tables {
    rgmi_row_table *items; /* [count], by parameter */
    int64_t count;
    int64_t parameters;
    int64_t *of;     /* [parameters] the table of each; -1: it travels whole */
    int64_t *states; /* [state_count] parameters that move with each batch by themselves */
    int64_t state_count;
    /* what a batch is asked by */
    rgmi_row_source *sources; /* [source_count], by value */
    int64_t source_count;
    rgm_executor *run; /* of the indices that are computed; NULL: none is */
    rgm_value **asked; /* [asked_count] */
    rgm_tensor **answers;
    int64_t asked_count;
} rgmi_tables;
/** Look through the trainer's model. Errors: RGM_ERR_NOMEM, RGM_ERR_ARG. */
rgm_status rgmi_tables_open(rgmi_tables *tables, const rgm_trainer *trainer);
void rgmi_tables_close(rgmi_tables *tables);

/** Empty, for `size` rows. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_rows_open(rgmi_row_set *rows, int64_t size);
void rgmi_rows_close(rgmi_row_set *rows);
void rgmi_rows_reset(rgmi_row_set *rows);
/**
 * Add the rows that a batch reads, to rows[table].
 * Errors: RGM_ERR_DATA (an index outside of its table), those of rgm_executor_run().
 */
rgm_status rgmi_tables_ask(rgmi_row_set *rows, rgmi_tables *tables,
                           const rgm_parameters *parameters, const rgm_feed *feeds, int64_t count);

/** The most bytes of a message, where the options say nothing. */
#define RGMI_MESSAGE_BYTES ((int64_t)1 << 30)

/* ---- message.c ----------------------------------------------------------------------------- */

/** What an answer to a worker is. */
typedef enum rgmi_answer_kind {
    RGMI_WORK,        /* a turn, or the weights for one                                 */
    RGMI_LATER,       /* nothing yet: ask again                                         */
    RGMI_GONE,        /* that turn is another's                                         */
    RGMI_UNKNOWN,     /* the worker is: it may come anew                                */
    RGMI_IS_OVER,     /* the run is whole                                               */
    RGMI_HAS_STOPPED, /* the run stops, and goes on another time                        */
    RGMI_HAS_FAILED   /* the run has failed, with a message                             */
} rgmi_answer_kind;

/** What a worker hands in with its request for a turn. */
typedef enum rgmi_half_kind {
    RGMI_NOTHING,
    RGMI_HALF,    /* gradients                                                       */
    RGMI_BAD,     /* a loss that is not finite or above its bound, with a message    */
    RGMI_NO_BATCH /* the pass has ended before this turn, after so many batches      */
} rgmi_half_kind;

rgm_status rgmi_put_double(rgm_text *out, double number);
rgm_status rgmi_get_double(double *out, rgm_state_reader *reader);
/** A text of at most `most` bytes, copied; with a 0 behind it. */
rgm_status rgmi_get_text(char **out, rgm_state_reader *reader, int64_t most);

/** Rows by their numbers: how many, then the numbers. */
rgm_status rgmi_put_rows(rgm_text *out, const rgmi_row_set *rows, int64_t first);
/** Borrowed from the message. Errors: RGM_ERR_FORMAT (a row outside of the table). */
rgm_status rgmi_get_rows(const int32_t **rows, int64_t *count, rgm_state_reader *reader,
                         int64_t table_rows);

/** The gradients of a half step: whole ones, and rows of tables. */
rgm_status rgmi_put_gradients(rgm_text *out, rgm_tensor *const *gradients,
                              const rgmi_tables *tables, const rgmi_row_set *rows);
/** Into tensors of the parameters' shapes, whose rows that did not come are 0; *rows: that came.
 * Errors: RGM_ERR_FORMAT. */
rgm_status rgmi_get_gradients(rgm_tensor *const *gradients, int64_t *rows, rgm_state_reader *reader,
                              const rgmi_tables *tables);

/** The states of a model, as they came with the weights (before) and as the batch has moved them.
 */
rgm_status rgmi_put_states(rgm_text *out, const rgm_parameters *parameters,
                           const rgmi_tables *tables, rgm_tensor *const *before);
/** Move the parameters by what a batch has moved; exactly to where the batch has them if nobody has
 * moved them since. Errors: RGM_ERR_FORMAT; nothing is then moved. */
rgm_status rgmi_get_states(rgm_parameters *parameters, rgm_state_reader *reader,
                           const rgmi_tables *tables);

/** The weights for a turn: all but tables if `whole`, and these rows of tables, as `wanted` lists
 * them (rgmi_put_rows() of each table). */
rgm_status rgmi_put_weights(rgm_text *out, int64_t *rows, const rgm_parameters *parameters,
                            const rgmi_tables *tables, bool whole, rgm_state_reader *wanted);
/** Into the parameters, at the rows from first[table] on. Errors: RGM_ERR_FORMAT. */
rgm_status rgmi_get_weights(rgm_parameters *parameters, rgm_state_reader *reader,
                            const rgmi_tables *tables, bool whole, const rgmi_row_set *rows,
                            const int64_t *first);

/** What both sides must have alike: the version of Regimen, `about`, the shapes of parameters, the
 * number of batches of a pass and how they are made. */
rgm_status rgmi_introduce(rgm_text *out, const rgm_trainer *trainer, const char *about);
/** RGM_ERR_CONFIG with the first line that differs. */
rgm_status rgmi_compare(const char *server, const char *worker);

/** What tells whether two processes know each other by their numbers: the host's name, and the
 * number of their space of processes. */
typedef struct rgmi_whereabouts {
    char host[64];
    int64_t space;
} rgmi_whereabouts;
void rgmi_where_am_i(rgmi_whereabouts *out);

/* ---- where a server is: a file of the run folder
 * ------------------------------------------------- */

#define RGMI_ADDRESS_FILE "server"

#endif
