/* What the verbs share: arguments by table, messages, exit codes, a run as the command sees it. */
#ifndef RGM_CLI_H
#define RGM_CLI_H

#include <jansson.h>
#include <regimen/trial.h>
#include <regimen/trial_task.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CONTINUE = 75 };

/* ---- arguments.c ----------------------------------------------------------------------------- */

typedef enum argument_kind {
    ARG_FLAG,
    ARG_TEXT,
    ARG_INT,
    ARG_COUNT,
    ARG_FLOAT,
    ARG_LIST
} argument_kind;

/**
 * A long option "--name", or "-n" when the name is one letter; value is bool *, const char **,
 * int64_t *, int64_t * (1 or more), double * (finite) or text_list *.
 */
typedef struct argument {
    const char *name;
    argument_kind kind;
    void *value;
    const char *meta; /* "DIR"; NULL for flags */
    const char *help;
} argument;

typedef struct text_list {
    const char *items[256];
    int64_t count;
} text_list;

/** A verb's usage: one line, one paragraph, its options (ended by {0}). */
typedef struct usage {
    const char *line; /* "run FILE.yaml [options]" */
    const char *text;
    const argument *arguments;
    int64_t least, most; /* positional arguments */
} usage;

/**
 * Read argv[1..] into the table's values and `rest`. EXIT_DONE; -1 when --help was printed;
 * EXIT_USAGE after a message.
 */
int arguments_read(text_list *rest, const usage *how, int argc, char **argv);
/** How a verb begins: the same, and it returns where there is nothing to do or what is given is
 * wrong. */
#define READ_ARGUMENTS(rest, how, argc, argv)                                                      \
    do {                                                                                           \
        int code_ = arguments_read(rest, how, argc, argv);                                         \
        if (code_ != EXIT_DONE)                                                                    \
            return code_ < 0 ? EXIT_DONE : code_;                                                  \
    } while (0)

/** The number, or the whole number, of an option that is a key where it is no export's. Errors:
 * RGM_ERR_CONFIG. */
rgm_status read_number(double *out, const char *text, const char *name, bool whole);
/** --threads of an export; NULL: all cores. Errors: RGM_ERR_CONFIG. */
rgm_status set_threads(const char *text);

/** The words of a command line are being completed: verbs print what the last of them may become,
 * from the tables that they read arguments by, and do nothing else. */
extern bool completing;
/** "NAME\n" if it begins with the last word. */
void complete_with(const char *name, const char *word);

/** A verb, of the command or of one of its families ("data", "text"). */
typedef struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* one line */
} verb;
/** The verb's name and help, aligned, on stdout. */
void verbs_print(const verb *verbs, int64_t count);
/** Run the verb that `name` names, with what follows it; else say which was meant. family: "" or
 * "data ". */
int verb_dispatch(const char *family, const char *name, const verb *verbs, int64_t count, int argc,
                  char **argv);
/** All of a family's verb: its help, or the verb that argv[1] names. */
int verb_family(const char *family, const verb *verbs, int64_t count, int argc, char **argv);

/* ---- console.c ------------------------------------------------------------------------------- */

/** How a verb ends: the library's last error on stderr, its exit code; EXIT_DONE of RGM_OK. */
int report(rgm_status status);
/** The same where ranks do not come together: that they are too many or too few for sums, which all
 * of them hear, the first one says. */
int report_to_ranks(rgm_status status);
/** The library's last error behind `begin`, of a muted process whom nobody speaks for. */
void report_though_muted(const char *begin);
/** A usage error on stderr; EXIT_USAGE. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Ask on the terminal whether to do what takes something away; yes: it is not asked.
 * RGM_ERR_CONFIG: there is no terminal to ask at. */
rgm_status confirm(bool *agreed, bool yes, const char *question);
/** A line "label    text" on stderr. */
void say(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** 12345678 as "12,345,678" in a ring of static buffers. */
const char *grouped(int64_t number);
const char *bytes_text(int64_t bytes);
/** RGM_ERR_CONFIG: the option's metric is none of these; the nearest, and all. */
rgm_status unknown_metric(const char *option, const char *name, const rgm_map *names);
/** "2026-11-21T23:08:44Z" into `text`; "" where that is not known. */
void time_text(char text[32], int64_t seconds);
/** A copy of a text from a file or a folder's name, safe to show on one line. */
rgm_status printable(char **out, const char *text);
/** What they are of, at least `width` wide, and " name value" of each, on stdout. */
void print_metrics(const char *title, int width, const rgm_logs *values);
/**
 * Print to stdout; EXIT_FAILED with a message when stdout is gone. Text is for people: what could
 * steer a terminal is shown. Other programs read what is printed exactly.
 */
int print_text(const char *text);
int print_exact(const char *text);
/** A line of text for other programs: line ends in it, as a tokenizer with pieces for bytes can
 * make them, become spaces, since they would shift all lines behind. */
void print_line(char *text);
int print_json(json_t *json); /* takes the reference */
/** JSON has no NaN and no infinity: null. */
json_t *json_number(double value);
/** False when not even the standard descriptors can be had. */
bool console_open(void);
/** The exit status of a command that ended with `code`: EXIT_FAILED when its output was lost. */
int console_close(int code);
/** Handle signals so, but SIGHUP where it is ignored: of nohup, whose run is to outlive its
 * terminal. */
void console_handle_signals(const int *numbers, int count, void (*handler)(int), int flags);
/** From here on SIGINT, SIGTERM, SIGUSR1, SIGHUP and SIGXCPU do not end the process: whoever works
 * asks the next function. */
void console_catch_signals(void);
bool console_is_stopped(void *payload);
/** From here on nothing is printed but what is no message, such as a crash: another process says
 * what there is to say. */
void console_mute(void);
/** Ends early with a signal. */
void console_sleep(double seconds);
rgm_progress *console_progress(bool in_epochs);
/** The same in any unit: "line". */
rgm_progress *console_progress_in(const char *unit);
extern int verbosity; /* -1 quiet, 0, 1 verbose */

/* ---- series_summary.c ------------------------------------------------------------------------ */

/** RGM_ERR_CONFIG: the folder is not a run's but that of several, of which one is to be named. */
rgm_status series_refuse(const char *folder);
/** What the runs of a folder came to (summary.json), or NULL where it is none of several. */
rgm_status series_load(json_t **out, const char *folder);

/* ---- session.c: an experiment with its layers; a trained run opened to look at --------------- */

/** NAME|FILE with --config, the environment and --set; EXIT_DONE, or EXIT_USAGE after a message. */
int experiment_open(rgm_experiment **out, const char *name, const text_list *over,
                    const text_list *sets);

/** A note for each key that is given and means nothing beside the others. */
void say_without_effect(const rgm_experiment *experiment);
/** Whichever the file is, read once (it may be a pipe); the other one is NULL. */
int either_open(rgm_experiment **experiment, rgm_search_file **search, const char *name,
                const text_list *over, const text_list *sets);
/** What is one run, read once: an experiment, or a file with an entrypoint whose hyperparameters
 * all have one value; the other one is NULL. EXIT_DONE, or EXIT_USAGE after a message. */
int run_open(rgm_experiment **experiment, rgm_trial_task **own, const char *name,
             const text_list *over, const text_list *sets);
/** The same of a search file: every mistake on a line of its own. */
int search_open(rgm_search_file **out, const char *name, const text_list *over,
                const text_list *sets);

/** Which weights of a run are meant; zero-initialised: the best. */
typedef struct weights_choice {
    bool last;            /* --last: the newest                            */
    int64_t mean_of_last; /* --average N: the mean of the newest N         */
    int64_t mean_of_best; /* --average-best N: of the N best validations   */
    int64_t step;         /* --step N: those of that step's checkpoint     */
} weights_choice;
/**
 * Options that are keys of a run, added to those of --set, so that they are checked as keys are:
 * "keys[i]=values[i]" of each value that is not NULL. texts [count] own them: rgm_free() each.
 */
rgm_status add_keys(text_list *sets, char **texts, const char *const *keys,
                    const char *const *values, int64_t count);
/** The folder that a user names: of "model:NAME..." that of the registered version, its files
 * checked; else the text itself. rgm_free() it. Errors: those of rgm_model_path(). */
rgm_status model_folder(char **out, const char *text);

/** Whether any was chosen. */
bool weights_chosen(const weights_choice *weights);
/** Its options for a verb's table. */
#define WEIGHTS_ARGUMENTS(choice)                                                                  \
    {"last", ARG_FLAG, &(choice).last, NULL, "the newest weights, not the best"},                  \
        {"average", ARG_COUNT, &(choice).mean_of_last, "N",                                        \
         "the mean of the newest N checkpoints"},                                                  \
        {"average-best", ARG_COUNT, &(choice).mean_of_best, "N",                                   \
         "the mean of those of the N best validations"},                                           \
    {                                                                                              \
        "step", ARG_COUNT, &(choice).step, "N", "those of the checkpoint of step N"                \
    }

typedef struct session {
    rgm_experiment *experiment; /* or, of a program's own model: */
    rgm_trial_task *own;
    rgm_run_options options;
    rgm_open_run *run;
} session;
/** What of a run's data a verb will ask for; zero-initialised: nothing. */
typedef struct data_choice {
    bool modes[3];
    bool asked; /* none of it: data that the user names */
} data_choice;
/** Open a run folder without training; data that are not asked for need not be there. */
rgm_status session_open(session *s, const char *run_dir, const text_list *sets,
                        const weights_choice *weights, const data_choice *data);
bool session_has(const session *s, rgm_mode mode);
/** The part that --part names; NULL: test data, of a program's own model, which has none, those of
 * validation. RGM_ERR_CONFIG: there is no such part. */
rgm_status session_part(rgm_mode *mode, const char *part, const session *s);
void session_close(session *s);
json_t *metrics_json(const rgm_logs *values);
rgm_status mode_by_name(rgm_mode *mode, const char *name);

/* ---- verbs ----------------------------------------------------------------------------------- */

int verb_run(int argc, char **argv);
int verb_train(int argc, char **argv);
int verb_eval(int argc, char **argv);
int verb_predict(int argc, char **argv);
int verb_explain(int argc, char **argv);
int verb_translate(int argc, char **argv);
int verb_score_pairs(int argc, char **argv);
int verb_distil(int argc, char **argv);
int verb_generate(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_import(int argc, char **argv);
int verb_runs(int argc, char **argv);
int verb_plot(int argc, char **argv);
int verb_score(int argc, char **argv);
int verb_config(int argc, char **argv);
int verb_data(int argc, char **argv);
int verb_text(int argc, char **argv);
int verb_trial(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_init(int argc, char **argv);
int verb_completion(int argc, char **argv);
int verb_experiment(int argc, char **argv);
int verb_checkpoint(int argc, char **argv);
int verb_search(int argc, char **argv);
int verb_master(int argc, char **argv);
int verb_model(int argc, char **argv);
int verb_queue(int argc, char **argv);
int verb_webhook(int argc, char **argv);
int verb_template(int argc, char **argv);
int verb_serve(int argc, char **argv);
int verb_answer(int argc, char **argv);
int data_import(int argc, char **argv);
int data_inspect(int argc, char **argv);
int data_validate(int argc, char **argv);
int data_stats(int argc, char **argv);
int data_serve(int argc, char **argv);
int data_key(int argc, char **argv);
int data_sample(int argc, char **argv);
int data_partition(int argc, char **argv);
int data_generate(int argc, char **argv);

#endif
