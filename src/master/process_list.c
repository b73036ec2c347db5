/*
 * The processes of trials that a master has, and how one is killed.
 */
#include "master_internal.h"

#include <signal.h>
#include <sys/pidfd.h>
#include <unistd.h>

rgmi_process *rgmi_process_of(const rgm_master *master, int64_t trial)
{
    for (int64_t i = 0; i < master->process_count; i++)
        if (master->processes[i].trial == trial && !master->processes[i].ended)
            return &master->processes[i];
    return NULL;
}

bool rgmi_experiment_has_process(const rgm_master *master, int64_t experiment)
{
    for (int64_t i = 0; i < master->process_count; i++)
        if (master->processes[i].experiment == experiment && !master->processes[i].ended)
            return true;
    return false;
}

bool rgmi_is_at_work(const rgmi_process *p)
{
    return !p->ended && (!p->is_job || p->asked || p->job_state == RGMI_JOB_RUNNING);
}

int64_t rgmi_experiment_at_work(const rgm_master *master, int64_t experiment)
{
    int64_t count = 0;

    for (int64_t i = 0; i < master->process_count; i++)
        count +=
            master->processes[i].experiment == experiment && rgmi_is_at_work(&master->processes[i]);
    return count;
}

void rgmi_process_clear(rgm_master *master, rgmi_process *p)
{
    for (int64_t i = 0; i < p->slot_count; i++)
        (p->on_devices ? master->device_taken : master->slot_taken)[p->slots[i]] = false;
    if (p->pidfd >= 0)
        close(p->pidfd);
    rgm_free(p->slots);
    rgm_free(p->message);
}

void rgmi_process_drop(rgm_master *master, int64_t i)
{
    rgmi_process_clear(master, &master->processes[i]);
    master->processes[i] = master->processes[--master->process_count];
}

void rgmi_processes_forget(rgm_master *master)
{
    while (master->process_count > 0)
        rgmi_process_drop(master, master->process_count - 1);
}

static void kill_now(rgm_master *master, rgmi_process *p)
{
    p->killed = true;
    p->to_kill = false;
    if (p->pidfd >= 0 && pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0) == 0)
        rgmi_run_kill(master, p->token); /* where it has ended by itself, that is its end's */
}

void rgmi_process_kill(rgm_master *master, rgmi_process *p)
{
    if (master->changes)
        p->to_kill = true;
    else
        kill_now(master, p);
}

void rgmi_processes_kill_asked(rgm_master *master, bool is_whole)
{
    for (int64_t i = 0; i < master->process_count; i++) {
        if (master->processes[i].to_kill && is_whole)
            kill_now(master, &master->processes[i]);
        master->processes[i].to_kill = false;
    }
}
