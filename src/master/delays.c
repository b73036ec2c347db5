/*
 * Starts that are put off: what the machine is at fault for is no failure of a trial, and what it
 * refuses one experiment or trial must not keep the others waiting. Each is tried again after a
 * pause, twice as long each time; its reason is told meanwhile. All of it is in memory alone.
 */
#include "master_internal.h"

#include <math.h>
#include <stdio.h>

enum { FIRST_S = 1, LONGEST_S = 300 };

static rgmi_delay *find(const rgm_master *master, int64_t experiment, int64_t trial)
{
    for (int64_t i = 0; i < master->delay_count; i++)
        if (master->delays[i].experiment == experiment && master->delays[i].trial == trial)
            return &master->delays[i];
    return NULL;
}

void rgmi_delay_note(rgm_master *master, int64_t experiment, int64_t trial, const char *why)
{
    rgmi_delay *d = find(master, experiment, trial);
    char of_trial[32] = "";

    if (trial > 0)
        snprintf(of_trial, sizeof of_trial, ", trial %lld", (long long)trial);
    if (d == NULL) {
        if (RGM_RESERVE(master->delays, master->delay_capacity, master->delay_count + 1) != RGM_OK)
            return; /* it is tried again at once, and says so again */
        d = &master->delays[master->delay_count++];
        *d = (rgmi_delay){.experiment = experiment, .trial = trial};
    }
    if (!d->waits) { /* of several that fail together the first one counts */
        d->seconds = d->tries == 0 ? FIRST_S : fmin(2 * d->seconds, LONGEST_S);
        d->until = rgm_now() + d->seconds;
        d->tries++;
        d->waits = true;
        rgm_log_write(RGM_LOG_WARNING, "experiment %lld%s is put off for %.0f s: %s",
                      (long long)experiment, of_trial, d->seconds, why);
    }
    snprintf(d->why, sizeof d->why, "%s", why);
}

const rgmi_delay *rgmi_delay_of(const rgm_master *master, int64_t experiment, int64_t trial)
{
    const rgmi_delay *of_all = find(master, experiment, 0);
    const rgmi_delay *own = trial > 0 ? find(master, experiment, trial) : NULL;

    if (of_all != NULL && of_all->waits)
        return of_all;
    return own != NULL && own->waits ? own : NULL;
}

rgm_status rgmi_delay_print(rgm_text *out, const rgmi_delay *d)
{
    return rgm_text_printf(out, "is tried again after %.0f s (%lld %s so far): %s", d->seconds,
                           (long long)d->tries, d->tries == 1 ? "try" : "tries", d->why);
}

void rgmi_delay_forget(rgm_master *master, int64_t experiment, int64_t trial)
{
    for (int64_t i = master->delay_count - 1; i >= 0; i--)
        if (master->delays[i].experiment == experiment &&
            (trial < 0 || master->delays[i].trial == trial))
            master->delays[i] = master->delays[--master->delay_count];
}

bool rgmi_delays_are_due(rgm_master *master)
{
    bool due = false;

    for (int64_t i = 0; i < master->delay_count; i++)
        if (master->delays[i].waits && rgm_now() >= master->delays[i].until) {
            master->delays[i].waits = false;
            due = true;
        }
    return due;
}
