/* regimen trial run: what a master starts for a trial. Nobody calls it by hand. */
#include "verb_trial.h"

#include <regimen/trial_worker.h>

int trial_run(int argc, char **argv)
{
    rgm_status status;

    if (completing)
        return EXIT_DONE;
    console_catch_signals(); /* told to end, as by Slurm before a job's time is over: it saves */
    verbosity = 1;           /* `trial logs` shows what is printed here: the run's story */
    status = rgm_worker_run_trial((const char *const *)argv + 1, argc - 1, console_is_stopped);
    verbosity = 0;
    if (status == RGM_STOPPED) {
        say("stopped", "no master asked for it any more");
        return EXIT_CONTINUE;
    }
    return report(status);
}
