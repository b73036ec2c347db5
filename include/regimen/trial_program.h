/*
 * trial: any program as a trial. A search file whose `entrypoint` is a list of words starts them as
 * a process; it trains, and tells how far it is and what it measured over a socket, a line of JSON
 * each way. docs/programs.md has the lines and what a program is started with.
 *
 *     rgm_program_open()    start it, from the beginning or from a checkpoint
 *     rgm_program_do()      a workload of a sequencer: wait until it is done
 *     rgm_program_close()   tell it to stop, and let it end
 *     rgm_program_ask()     the other side: one line to the trial that this process belongs to
 */
#ifndef REGIMEN_TRIAL_PROGRAM_H
#define REGIMEN_TRIAL_PROGRAM_H

#include <regimen/search_file.h>
#include <regimen/trial_worker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a program has in its environment. */
#define RGM_PROGRAM_TRIAL  "REGIMEN_TRIAL"  /* path of a JSON file: hyperparameters, seed, ... */
#define RGM_PROGRAM_SOCKET "REGIMEN_SOCKET" /* path of the socket                              */
#define RGM_PROGRAM_STEP   "REGIMEN_STEP"   /* where it begins: 0, or the checkpoint's step    */
#define RGM_PROGRAM_CHECKPOINT                                                                     \
    "REGIMEN_CHECKPOINT"                /* folder to begin with; not set: none             */
#define RGM_PROGRAM_SAVE "REGIMEN_SAVE" /* empty folder to write the next checkpoint to    */

typedef struct rgm_program_setup {
    rgm_search_file *file;         /* with a command as its entrypoint; retained            */
    const rgm_hyper_value *values; /* [rgm_space_count()], read when it is opened */
    const char *code;              /* folder of its files, which its working folder has links to */
    const char *run_dir; /* made when it is not there; the program works in run_dir/work */
    int64_t experiment, trial, number; /* for the program to know; 0: none */
    uint32_t seed;
    int64_t threads;
    const char *from;   /* checkpoint folder of another trial to begin with; NULL: none */
    int64_t at_batches; /* own checkpoint to go on from; 0: none                        */
    bool (*is_stopped)(void *payload); /* whether nobody waits any more; NULL: somebody does */
    void *payload;                     /* of it */
} rgm_program_setup;

/** A workload, and what a master says with it. */
typedef struct rgm_program_order {
    rgm_workload workload;
    int64_t reach; /* how far it may train before anything else is due; at least workload.batches */
    bool ends;     /* behind this workload it ends for a while, or for good */
} rgm_program_order;

typedef struct rgm_program rgm_program;
/**
 * Start the program of a search file in a run folder of its own.
 *
 * Errors: RGM_ERR_FORMAT or RGM_ERR_NOT_FOUND (the checkpoint is damaged or missing, which
 * rgm_trial_has_lost_checkpoint() recognises), RGM_ERR_NOT_FOUND (there is no such program),
 * RGM_ERR_BUSY (another process has the folder), RGM_ERR_IO, RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_program_open(rgm_program **out, const rgm_program_setup *setup);
/**
 * Tell the program what is to be done, and serve what it tells until that is done.
 *
 * @param result  [out] borrowed until the next call. result->done is set where the program did
 *                      something else: a longer step, a checkpoint that nobody asked for
 *
 * Errors: RGM_ERR_BUSY (setup->is_stopped, which is asked at least each second), RGM_ERR_DATA (the
 * program ended, with the last lines of its standard error),
 * RGM_ERR_CONFIG (it ended since its validation lacks the searcher's metric; or what
 * rgm_trial_is_invalid() recognises: the hyperparameters cannot be), RGM_ERR_IO (a checkpoint
 * cannot be written), RGM_ERR_NOMEM.
 */
rgm_status rgm_program_do(rgm_worker_result *result, rgm_program *program,
                          const rgm_program_order *order);
/** Whether it has said something since this was asked last, and seconds of processors that it and
 * what it has started have used. Threads: any. */
bool rgm_program_is_alive(double *used, rgm_program *program);
/**
 * End it. NULL does nothing.
 *
 * @param is_told  [in] it has done what was asked: tell it to stop, and wait for a minute until it
 *                      ends by itself; false: end it at once
 */
void rgm_program_close(rgm_program *program, bool is_told);

/**
 * Send a line to the trial that this process belongs to, and wait for the answer.
 *
 * @param answer   [out, owned] its JSON
 * @param message  [in] one line of JSON without its end
 *
 * Errors: RGM_ERR_CONFIG (this process belongs to no trial; or the trial refuses the message, and
 * says why), RGM_ERR_IO (nobody answers: the trial is over), RGM_ERR_FORMAT, RGM_ERR_NOMEM.
 */
rgm_status rgm_program_ask(rgm_json **answer, const char *message);

#ifdef __cplusplus
}
#endif
#endif
