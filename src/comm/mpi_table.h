/*
 * What comm asks of an MPI: a table of functions, which the shared object libregimen-mpi.so has.
 * That object alone is compiled against an MPI and linked with it; libregimen loads it when a
 * launcher has started several ranks. So one libregimen works with any MPI, and without one.
 *
 * Nothing here is a type of MPI's: those differ from one MPI to another. Every function but
 * the last two returns 0 or MPI's error code. One thread calls all of them, the one that called
 * start().
 */
#ifndef RGM_MPI_TABLE_H
#define RGM_MPI_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define REGIMEN_MPI_ABI 2

/** What start() finds. */
typedef struct regimen_mpi_job {
    int rank, size;
    int threads;       /* what MPI gives: 0 single, 1 funneled, 2 serialized, 3 multiple         */
    int foreign;       /* the program had initialized MPI itself, and will finalize it           */
    int tag_most;      /* the highest tag                                                        */
    char refusal[256]; /* why start() returned -1: not MPI's error                               */
} regimen_mpi_job;

/** An MPI_Request, or what stands for it; 0: there is none. */
typedef uint64_t regimen_mpi_request;

typedef struct regimen_mpi {
    int abi; /* REGIMEN_MPI_ABI, which stays the first member */
    int (*start)(void *context, regimen_mpi_job *job);
    /** Waits for all ranks. */
    int (*stop)(void *context);
    /** Ranks of the job by number; memory stays untouched until `test` says so. */
    int (*send)(void *context, regimen_mpi_request *request, const void *memory, size_t bytes,
                int to, int tag);
    int (*receive)(void *context, regimen_mpi_request *request, void *memory, size_t bytes,
                   int from, int tag);
    /** These are collective, in one order on all ranks. */
    int (*barrier)(void *context, regimen_mpi_request *request);
    int (*broadcast)(void *context, regimen_mpi_request *request, void *memory, size_t bytes,
                     int root);
    /** `bytes` of each rank to `all` [size * bytes] of each. */
    int (*gather_all)(void *context, regimen_mpi_request *request, const void *mine, void *all,
                      size_t bytes);
    /** Sets *over when each of the requests is over, and goes on with all that is under way. */
    int (*test)(void *context, int count, regimen_mpi_request *requests, int *over);
    /** Give up receives: `test` says then that they are over, but for one whose message is coming
     * in already, which goes on. */
    int (*cancel)(void *context, int count, regimen_mpi_request *requests);
    void (*error_text)(int code, char *text, size_t room);
    /** Its name and version, before start() as well. */
    void (*library)(char *text, size_t room);
} regimen_mpi;

/** The one symbol of libregimen-mpi.so. */
typedef const regimen_mpi *regimen_mpi_table_function(void);
#define REGIMEN_MPI_SYMBOL "regimen_mpi_table"

#endif
