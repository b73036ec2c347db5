/*
 * libregimen-mpi.so: the table of mpi_table.h by the MPI that this is compiled against. It stands
 * alone, so that a user of another MPI builds it without the rest:
 *
 *     mpicc -shared -fPIC -O2 -o libregimen-mpi.so regimen_mpi.c
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "../mpi_table.h"

#define REFUSED (-1)
#define PIECE   (1 << 20) /* bytes of one element where there are more than an int counts */

_Static_assert(sizeof(MPI_Request) <= sizeof(regimen_mpi_request), "a request has no room");

static MPI_Comm ranks = MPI_COMM_NULL;
static int foreign;

/* Each function below, but for what it asks of MPI: 0 or MPI's code to the caller at once. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        int try_ = (call);                                                                         \
        if (try_ != MPI_SUCCESS)                                                                   \
            return try_;                                                                           \
    } while (0)

static regimen_mpi_request kept(MPI_Request request)
{
    regimen_mpi_request out = 0;

    if (request != MPI_REQUEST_NULL)
        memcpy(&out, &request, sizeof request);
    return out;
}

static int start(void *context, regimen_mpi_job *job)
{
    int found = 0, ended = 0, *most = NULL;

    (void)context;
    TRY(MPI_Finalized(&ended));
    TRY(MPI_Initialized(&foreign));
    if (ended) {
        snprintf(job->refusal, sizeof job->refusal,
                 "this program has finalized MPI, which cannot begin again");
        return REFUSED;
    }
    if (foreign) {
        TRY(MPI_Query_thread(&job->threads));
        if (job->threads < MPI_THREAD_MULTIPLE) {
            snprintf(job->refusal, sizeof job->refusal,
                     "this program has initialized MPI without MPI_THREAD_MULTIPLE: ask for it, or "
                     "leave MPI to rgm_comm_open()");
            return REFUSED;
        }
    } else {
        TRY(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &job->threads));
    }
    TRY(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    TRY(MPI_Comm_dup(MPI_COMM_WORLD, &ranks)); /* our tags are ours alone */
    TRY(MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN));
    TRY(MPI_Comm_rank(ranks, &job->rank));
    TRY(MPI_Comm_size(ranks, &job->size));
    TRY(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&most, &found));
    job->tag_most = found ? *most : 32767; /* the least that the standard allows */
    job->foreign = foreign;
    return 0;
}

static int stop(void *context)
{
    (void)context;
    return foreign ? MPI_Comm_free(&ranks) : MPI_Finalize(); /* which frees it, also in use */
}

/* A count of a datatype: bytes, or one element of pieces and a rest. *type is to be freed if it is
 * not MPI_BYTE. */
static int block(MPI_Datatype *type, int *count, size_t bytes)
{
    int lengths[2] = {1, (int)(bytes % PIECE)};
    MPI_Aint begins[2] = {0, (MPI_Aint)(bytes - bytes % PIECE)};
    MPI_Datatype pieces, types[2] = {MPI_BYTE, MPI_BYTE}, piece;

    *type = MPI_BYTE;
    *count = (int)bytes;
    if (bytes <= INT_MAX)
        return 0;
    *count = 1;
    TRY(MPI_Type_contiguous(PIECE, MPI_BYTE, &piece));
    TRY(MPI_Type_contiguous((int)(bytes / PIECE), piece, &pieces));
    types[0] = pieces;
    TRY(MPI_Type_create_struct(2, lengths, begins, types, type));
    TRY(MPI_Type_free(&piece));
    TRY(MPI_Type_free(&pieces));
    return MPI_Type_commit(type);
}

/* The end of a function that began `request` with a `type` of block(), and got `code`. */
static int begun(regimen_mpi_request *out, MPI_Request request, MPI_Datatype *type, int code)
{
    *out = code == MPI_SUCCESS ? kept(request) : 0;
    if (*type != MPI_BYTE)
        (void)MPI_Type_free(type); /* MPI keeps it until what uses it is over */
    return code;
}

static int send(void *context, regimen_mpi_request *out, const void *memory, size_t bytes, int to,
                int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;
    int count, code;

    (void)context;
    TRY(block(&type, &count, bytes));
    code = MPI_Isend(memory, count, type, to, tag, ranks, &request);
    return begun(out, request, &type, code);
}

static int receive(void *context, regimen_mpi_request *out, void *memory, size_t bytes, int from,
                   int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;
    int count, code;

    (void)context;
    TRY(block(&type, &count, bytes));
    code = MPI_Irecv(memory, count, type, from, tag, ranks, &request);
    return begun(out, request, &type, code);
}

static int barrier(void *context, regimen_mpi_request *out)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype none = MPI_BYTE;
    int code = MPI_Ibarrier(ranks, &request);

    (void)context;
    return begun(out, request, &none, code);
}

static int broadcast(void *context, regimen_mpi_request *out, void *memory, size_t bytes, int root)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;
    int count, code;

    (void)context;
    TRY(block(&type, &count, bytes));
    code = MPI_Ibcast(memory, count, type, root, ranks, &request);
    return begun(out, request, &type, code);
}

static int gather_all(void *context, regimen_mpi_request *out, const void *mine, void *all,
                      size_t bytes)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;
    int count, code;

    (void)context;
    TRY(block(&type, &count, bytes));
    code = MPI_Iallgather(mine, count, type, all, count, type, ranks, &request);
    return begun(out, request, &type, code);
}

static int test(void *context, int count, regimen_mpi_request *requests, int *over)
{
    (void)context;
    *over = 1;
    for (int i = 0; i < count; i++) {
        MPI_Request request;
        int done = 0;

        if (requests[i] == 0)
            continue;
        memcpy(&request, &requests[i], sizeof request);
        TRY(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done)
            requests[i] = 0;
        else
            *over = 0;
    }
    return 0;
}

static int cancel(void *context, int count, regimen_mpi_request *requests)
{
    (void)context;
    for (int i = 0; i < count; i++) {
        MPI_Request request;

        if (requests[i] == 0)
            continue;
        memcpy(&request, &requests[i], sizeof request);
        TRY(MPI_Cancel(&request));
    }
    return 0;
}

static void error_text(int code, char *text, size_t room)
{
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (MPI_Error_string(code, words, &length) != MPI_SUCCESS)
        snprintf(words, sizeof words, "error %d", code);
    snprintf(text, room, "%s", words);
}

static void library(char *text, size_t room)
{
    char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    (void)MPI_Get_library_version(words, &length);
    snprintf(text, room, "%s", words);
    text[strcspn(text, "\n")] = '\0'; /* some go on for many lines */
}

regimen_mpi_table_function regimen_mpi_table;
const regimen_mpi *regimen_mpi_table(void)
{
    static const regimen_mpi table = {
        .abi = REGIMEN_MPI_ABI,
        .start = start,
        .stop = stop,
        .send = send,
        .receive = receive,
        .barrier = barrier,
        .broadcast = broadcast,
        .gather_all = gather_all,
        .test = test,
        .cancel = cancel,
        .error_text = error_text,
        .library = library,
    };

    return &table;
}
