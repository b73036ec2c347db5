/* regimen trial: its verbs. */
#include "verb_trial.h"

static const verb verbs[] = {
    {"test", trial_test, "one batch of everything, here and now"},
    {"describe", trial_describe, "a trial with its steps"},
    {"logs", trial_logs, "what its processes printed"},
    {"note", trial_note, "what people write about it, in Markdown"},
    {"stop", trial_stop, "end it where it is: it validates, saves and counts"},
    {"kill", trial_kill, "end it at once"},
    {"continue", trial_continue, "train it further, as an experiment of its own"},
    {"next", trial_next, "of a program that is a trial: what it is to do"},
    {"report", trial_report, "... what it has measured"},
    {"checkpoint", trial_checkpoint, "... that it has saved"},
    {"should-stop", trial_should_stop, "... whether it is to end; exit status 0: yes"},
    {"invalid", trial_invalid, "... that its hyperparameters cannot be"},
    {"run", trial_run, "what a master starts for a trial"},
};

int verb_trial(int argc, char **argv)
{
    return verb_family("trial", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
