/* regimen experiment: its verbs. */
#include "verb_experiment.h"

static const verb verbs[] = {
    {"run", experiment_run, "a search from its file to its end, with or without a master at work"},
    {"create", experiment_create, "hand a search to the master"},
    {"list", experiment_list, "the experiments there are"},
    {"describe", experiment_describe, "experiments with their trials and steps"},
    {"trials", experiment_trials, "the trials of an experiment, by number or by metric"},
    {"checkpoints", experiment_checkpoints, "the checkpoints of an experiment, by trial or metric"},
    {"best", experiment_best, "the best trial: its hyperparameters and its experiment file"},
    {"report", experiment_report, "what a search came to, as a page, a picture or a table"},
    {"config", experiment_config, "the merged file of an experiment"},
    {"code", experiment_code, "the code that it began with: shown, unpacked, or of two compared"},
    {"logs", experiment_logs, "what the trials of an experiment printed"},
    {"wait", experiment_wait, "until an experiment is over"},
    {"pause", experiment_post, "trials save and give their slots back"},
    {"activate", experiment_post, "go on with what was paused"},
    {"cancel", experiment_post, "trials save, then it is over"},
    {"kill", experiment_post, "its processes end at once"},
    {"archive", experiment_post, "hide one that is over from lists"},
    {"unarchive", experiment_post, "show it again"},
    {"delete", experiment_delete, "one that is over, with all that it wrote"},
    {"label", experiment_label, "add or remove a label"},
    {"set", experiment_set,
     "more trials, other bounds, limits, slots, project, what is kept of it"},
    {"note", experiment_note, "what people write about it, in Markdown"},
    {"try", experiment_try, "a point that it tries next"},
    {"changes", experiment_changes, "what was changed of it"},
    {"fork", experiment_fork, "a new experiment from the file of one, edited"},
    {"continue", experiment_continue, "train the best trial, or another, further"},
    {"export", experiment_export, "the best trial's model for other programs"},
};

int verb_experiment(int argc, char **argv)
{
    return verb_family("experiment", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
