/* regimen trial run: what a master starts for a trial. Nobody calls it by hand. */
#include "verb_trial.h"

#include <regimen/comm.h>
#include <regimen/trial_worker.h>

int trial_run(int argc, char **argv)
{
    rgm_comm *comm;
    rgm_status status;

    if (completing)
        return EXIT_DONE;
    console_catch_signals(); /* told to end, as by Slurm before a job's time is over: it saves */
    verbosity = 1;           /* `trial logs` shows what is printed here: the run's story */
    if (rgm_comm_open(&comm) != RGM_OK) { /* the work tells the master */
        rgm_log_write(RGM_LOG_ERROR, "%s", rgm_error_message());
        comm = NULL;
    } else if (rgm_comm_rank(comm) > 0) { /* the first process of a trial speaks for all */
        console_mute();
    }
    status = rgm_worker_run_trial((const char *const *)argv + 1, argc - 1, console_is_stopped);
    rgm_comm_close(comm);
    verbosity = 0;
    if (status == RGM_STOPPED) {
        say("stopped", "no master asked for it any more");
        return EXIT_CONTINUE;
    }
    return report(status);
}
