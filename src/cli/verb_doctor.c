/* regimen doctor: what this machine offers to a training, and to several processes of one. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#include <regimen/comm.h>
#include <regimen/device.h>

static void print_ranks(const rgm_comm *comm)
{
    const rgm_comm_member *members = rgm_comm_members(comm);

    for (int i = 0; i < rgm_comm_size(comm); i++) {
        const rgm_comm_member *m = &members[i];
        int beside = 0;

        for (int k = 0; k < rgm_comm_size(comm); k++)
            beside += strcmp(members[k].host, m->host) == 0;
        printf(
            "rank     %d on %s, process %d, may run on %d processor%s, %d thread%s, %d rank%s on "
            "that host\n",
            i, m->host, (int)m->pid, (int)m->processors, m->processors == 1 ? "" : "s",
            (int)m->threads, m->threads == 1 ? "" : "s", beside, beside == 1 ? "" : "s");
    }
}

/* What a rank finds about its own host; rank 0 prints it once for each. */
typedef struct host_facts {
    char text[512];
    bool crowded; /* ranks of this host have more threads together than it has processors */
} host_facts;

static void crowded_text(host_facts *out, const rgm_comm *comm)
{
    const rgm_comm_member *members = rgm_comm_members(comm), *me = &members[rgm_comm_rank(comm)];
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t threads = 0;
    int ranks = 0;

    for (int k = 0; k < rgm_comm_size(comm); k++)
        if (strcmp(members[k].host, me->host) == 0) {
            threads += members[k].threads;
            ranks++;
        }
    out->crowded = threads > all;
    snprintf(out->text, sizeof out->text,
             "%d ranks on %s have %lld threads for %ld processors: set runtime.threads to %ld, or "
             "let the launcher bind them (mpirun --map-by slot:PE=N, srun --cpus-per-task=N)",
             ranks, me->host, (long long)threads, all, all / ranks > 0 ? all / ranks : 1);
}

static rgm_status print_crowded(rgm_comm *comm)
{
    const rgm_comm_member *members = rgm_comm_members(comm);
    host_facts mine = {{0}, false};
    rgm_comm_blocks blocks;

    crowded_text(&mine, comm);
    RGM_TRY(rgm_comm_gather(&blocks, comm, &mine, sizeof mine, 0));
    for (int i = 0; i < blocks.count; i++) {
        const host_facts *facts = (const host_facts *)(blocks.memory + blocks.begin[i]);
        bool first = true;

        for (int k = 0; k < i; k++)
            first = first && strcmp(members[k].host, members[i].host) != 0;
        if (first && facts->crowded)
            printf("warning  %s\n", facts->text);
    }
    rgm_comm_blocks_clear(&blocks);
    return RGM_OK;
}

static void print_machine(const rgm_comm *comm)
{
    const rgm_comm_member *me = &rgm_comm_members(comm)[rgm_comm_rank(comm)];
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    printf("host     %s, %ld processors, may run on %d, %s of memory\n", me->host,
           sysconf(_SC_NPROCESSORS_ONLN), (int)me->processors,
           bytes_text((int64_t)pages * (int64_t)page));
    printf("kernels  %s\n", rgm_kernels_for(rgm_device_cpu(), RGM_F32)->isa);
}

/* Each device that a run may name, or why there is none and what to install. */
static void print_devices(void)
{
    enum { MOST = 32 };
    rgm_device_entry entries[MOST];
    int64_t count = rgm_device_list(entries, MOST);

    for (int64_t i = 1; i < count && i < MOST; i++) /* the first is the CPU, told above */
        printf("device   %s%s: %s\n", entries[i].is_there ? "" : "no ", entries[i].name,
               entries[i].about);
}

/* What carries batches from input workers, or what to install. */
static void print_service(void)
{
    rgm_text text = {0};

    if (rgm_service_describe(&text) == RGM_OK)
        printf("workers  %s\n", text.data);
    else
        printf("workers  no: %s\n", rgm_error_message());
    rgm_text_clear(&text);
}

static void print_facts(const rgm_comm_facts *facts, const rgm_comm *comm)
{
    if (facts->launcher[0] != '\0')
        printf("started  by %s, %d process%s\n", facts->launcher, facts->started,
               facts->started == 1 ? "" : "es");
    else
        printf("started  alone; mpirun -n 2 regimen doctor tries two ranks\n");
    if (facts->mpi[0] != '\0')
        printf("mpi      %s%s%s\n", facts->mpi, facts->threads[0] != '\0' ? "; threads: " : "",
               facts->threads);
    else
        printf("mpi      %s\n", facts->missing);
    print_service();
    printf("network  %s\n", facts->addresses);
    if (rgm_comm_size(comm) > 1)
        print_ranks(comm);
}

static rgm_status examine(rgm_comm *comm, double seconds)
{
    bool speaks = rgm_comm_rank(comm) == 0;
    rgm_comm_facts facts;
    rgm_comm_speed speed;

    rgm_comm_get_facts(&facts, comm);
    if (speaks) {
        print_machine(comm);
        print_devices();
        print_facts(&facts, comm);
    }
    if (rgm_comm_size(comm) == 1)
        return RGM_OK;
    RGM_TRY(print_crowded(comm));
    (void)fflush(stdout);
    RGM_TRY(rgm_comm_measure(&speed, comm, seconds));
    if (speaks)
        printf("sums     right on all %d ranks; a decision takes %.0f us, %s are summed at %.2f "
               "GB/s\n",
               rgm_comm_size(comm), speed.decision * 1e6, bytes_text((int64_t)speed.bytes),
               speed.bandwidth * 1e-9);
    return RGM_OK;
}

int verb_doctor(int argc, char **argv)
{
    double seconds = 2;
    const argument arguments[] = {
        {"seconds", ARG_FLOAT, &seconds, "S", "for the sums of several ranks (2, at most 5)"}, {0}};
    const usage how = {
        "doctor [--seconds S]",
        "What this machine offers: processors, kernels, devices for runtime.device, MPI, "
        "network;\nunder mpirun or srun also where each rank runs, and whether and how "
        "fast they sum.",
        arguments, 0, 0};
    rgm_status status;
    rgm_comm *comm;
    text_list rest;
    int code, rank;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (!(seconds > 0 && seconds <= 5))
        return usage_error("--seconds is above 0 and at most 5");
    status = rgm_comm_open(&comm);
    if (status != RGM_OK)
        return report_to_ranks(status);
    rank = rgm_comm_rank(comm);
    if (rank > 0)
        console_mute();
    code = report(rgm_comm_fail(comm, examine(comm, seconds)));
    (void)fflush(stdout);
    rgm_comm_close(comm);
    return rank > 0 ? EXIT_DONE : code; /* the first one speaks for all */
}
