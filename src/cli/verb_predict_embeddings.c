/* regimen predict --embeddings: the states of all nodes behind a run's base GNN. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verb_predict.h"

#include <regimen/graph_tasks.h>

/* Rows as they come, or kept until all are there. */
typedef struct gathered {
    FILE *csv; /* NULL: they are kept */
    bool head_printed;
    float *states;
    int64_t *nodes, *graphs;
    int64_t count, width, capacity, node_capacity, graph_capacity;
} gathered;

static int64_t node_of(const rgm_graph_states *s, int64_t i)
{
    return s->ids != NULL ? rgm_tensor_at_int(s->ids, i) : s->first + i;
}

static rgm_status print_states(const rgm_graph_states *s, void *payload)
{
    gathered *g = payload;
    int64_t nodes = rgm_tensor_dim(s->states, 0), width = rgm_tensor_dim(s->states, 1);

    if (!g->head_printed) {
        fprintf(g->csv, "graph,node");
        for (int64_t d = 0; d < width; d++)
            fprintf(g->csv, ",state_%lld", (long long)d);
        fprintf(g->csv, "\n");
        g->head_printed = true;
    }
    for (int64_t i = 0; i < nodes; i++) {
        fprintf(g->csv, "%lld,%lld", (long long)s->graph, (long long)node_of(s, i));
        for (int64_t d = 0; d < width; d++)
            fprintf(g->csv, ",%.9g", rgm_tensor_at(s->states, i * width + d));
        fprintf(g->csv, "\n");
    }
    return ferror(g->csv) ? RGM_FAIL(RGM_ERR_IO, "writing embeddings: %s", strerror(errno))
                          : RGM_OK;
}

static rgm_status keep_states(const rgm_graph_states *s, void *payload)
{
    gathered *g = payload;
    int64_t nodes = rgm_tensor_dim(s->states, 0), width = rgm_tensor_dim(s->states, 1);

    g->width = width;
    RGM_TRY(RGM_RESERVE(g->states, g->capacity, (g->count + nodes) * width));
    RGM_TRY(RGM_RESERVE(g->nodes, g->node_capacity, g->count + nodes));
    RGM_TRY(RGM_RESERVE(g->graphs, g->graph_capacity, g->count + nodes));
    for (int64_t i = 0; i < nodes; i++) {
        g->nodes[g->count + i] = node_of(s, i);
        g->graphs[g->count + i] = s->graph;
    }
    for (int64_t i = 0; i < nodes * width; i++)
        g->states[g->count * width + i] = (float)rgm_tensor_at(s->states, i);
    g->count += nodes;
    return RGM_OK;
}

static rgm_status save_npy(const char *path, rgm_tensor *const *tensors)
{
    return rgm_npy_save(path, tensors[0]);
}

static rgm_status save_safetensors(const char *path, rgm_tensor *const *tensors)
{
    const rgm_named_tensor named[] = {
        {"states", tensors[0]}, {"node", tensors[1]}, {"graph", tensors[2]}};
    char *beside;
    rgm_status status;

    RGM_TRY(rgm_file_beside(&beside, path));
    status = rgm_file_publish(beside, path, rgm_safetensors_save(beside, named, 3, NULL, 0));
    rgm_free(beside);
    return status;
}

static const struct {
    const char *name;
    rgm_status (*save)(const char *path, rgm_tensor *const *tensors); /* NULL: rows of text */
} formats[] = {{"csv", NULL}, {"npy", save_npy}, {"safetensors", save_safetensors}};
enum { FORMATS = sizeof formats / sizeof *formats };

/* What the file's name ends in, without the dot; csv where there is no file or no dot. */
static const char *ending_of(const char *file)
{
    const char *folder = file != NULL ? strrchr(file, '/') : NULL;
    const char *dot = file != NULL ? strrchr(folder != NULL ? folder : file, '.') : NULL;

    return dot != NULL ? dot + 1 : "csv";
}

/* By its name, else by the ending of the file; -1: there is none of that name. */
static int format_of(const embeddings_choice *choice)
{
    const char *name = choice->format != NULL ? choice->format : ending_of(choice->file);

    for (int i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return i;
    return -1;
}

int embeddings_check(const embeddings_choice *choice)
{
    int format = format_of(choice);

    if (!choice->wanted && (choice->file != NULL || choice->node_set != NULL ||
                            choice->format != NULL || choice->chunk != 0))
        return usage_error("-o, --node-set, --format and --chunk go with --embeddings; predictions "
                           "go to standard output: > FILE");
    if (format < 0 && choice->format == NULL)
        return usage_error("-o %s: its ending is none of csv, npy, safetensors; say which of them "
                           "it is with --format",
                           choice->file);
    if (format < 0)
        return usage_error("--format '%s' is none of csv, npy, safetensors", choice->format);
    if (formats[format].save != NULL && choice->file == NULL)
        return usage_error("--format %s needs -o FILE: it is not for a terminal",
                           formats[format].name);
    return EXIT_DONE;
}

static rgm_status save_kept(const gathered *g, const embeddings_choice *choice, int format)
{
    rgm_tensor *tensors[3] = {NULL};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_tensor_create_from(&tensors[0], RGM_F32, 2, (int64_t[]){g->count, g->width},
                                  g->states));
    RGM_GO(rgm_tensor_create_from(&tensors[1], RGM_I64, 1, &g->count, g->nodes));
    RGM_GO(rgm_tensor_create_from(&tensors[2], RGM_I64, 1, &g->count, g->graphs));
    RGM_GO(formats[format].save(choice->file, tensors));
done:
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(tensors[i]);
    return status;
}

/* Before the start: how many, how wide, and the most memory that they take. */
static rgm_status tell(const rgm_open_run *run, const embeddings_choice *choice,
                       const rgm_by_rounds_options *rounds)
{
    rgm_embeddings_plan plan;

    RGM_TRY(rgm_graph_run_embeddings_plan(&plan, run, choice->node_set, rounds));
    if (plan.kept >= 0)
        say("embed", "%s states of %s, width %s, %s nodes at a time; rounds leave %s to the next%s",
            grouped(plan.nodes), plan.node_set, grouped(plan.width), grouped(rounds->chunk),
            bytes_text(plan.kept),
            plan.kept > rounds->memory ? ", what is more than 1 GiB of it in files" : "");
    else if (plan.nodes < 0)
        say("embed", "states of width %s of %s; records are counted as they are read",
            grouped(plan.width), plan.node_set);
    else
        say("embed", "%s states of %s, width %s; at most %s beside data and weights",
            grouped(plan.nodes), plan.node_set, grouped(plan.width), bytes_text(plan.bytes));
    return RGM_OK;
}

static rgm_status write_rows(FILE *to, const rgm_open_run *run, const embeddings_choice *choice,
                             const rgm_by_rounds_options *rounds)
{
    gathered g = {.csv = to};

    RGM_TRY(rgm_graph_run_embeddings(run, choice->node_set, rounds, print_states, &g));
    if (fflush(to) != 0)
        return RGM_FAIL(RGM_ERR_IO, "writing embeddings: %s", strerror(errno));
    return RGM_OK;
}

/* Into a device or a pipe, which stays what it is. */
static rgm_status stream_rows(const rgm_open_run *run, const embeddings_choice *choice,
                              const rgm_by_rounds_options *rounds)
{
    FILE *file = fopen(choice->file, "w");
    rgm_status status;

    if (file == NULL)
        return RGM_FAIL(RGM_ERR_IO, "%s: %s", choice->file, strerror(errno));
    status = write_rows(file, run, choice, rounds);
    if (fclose(file) != 0 && status == RGM_OK)
        status = RGM_FAIL(RGM_ERR_IO, "%s: %s", choice->file, strerror(errno));
    return status;
}

/* As save_safetensors(), row by row. */
static rgm_status save_rows(const rgm_open_run *run, const embeddings_choice *choice,
                            const rgm_by_rounds_options *rounds)
{
    rgm_status status = RGM_OK;
    char *beside = NULL;
    FILE *file = NULL;

    RGM_GO(rgm_file_beside(&beside, choice->file));
    file = fopen(beside, "w");
    if (file == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "%s: %s", choice->file, strerror(errno)));
    status = write_rows(file, run, choice, rounds);
    if (status == RGM_OK)
        status = rgm_sync(fileno(file), choice->file);
    if (fclose(file) != 0 && status == RGM_OK)
        status = RGM_FAIL(RGM_ERR_IO, "%s: %s", choice->file, strerror(errno));
    status = rgm_file_publish(beside, choice->file, status);
done:
    rgm_free(beside);
    return status;
}

/* Whether there will be a place for them, before the work. */
static rgm_status try_place(const char *path)
{
    rgm_status status = RGM_OK;
    char *beside = NULL;
    FILE *file;

    RGM_TRY(rgm_file_beside(&beside, path));
    file = fopen(beside, "w");
    if (file == NULL)
        status = RGM_FAIL(RGM_ERR_IO, "%s: %s", path, strerror(errno));
    else
        fclose(file);
    unlink(beside);
    rgm_free(beside);
    return status;
}

/* Where -o leads, by way of links; *streams: to a device or a pipe. */
static rgm_status find_place(char **out, bool *streams, const char *path, int format)
{
    struct stat there;
    bool is_there = stat(path, &there) == 0;
    char *real = is_there ? realpath(path, NULL) : NULL; /* libc's */
    rgm_status status = RGM_OK;

    *out = NULL;
    *streams = is_there && !S_ISREG(there.st_mode);
    if (is_there && S_ISDIR(there.st_mode))
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "%s is a folder; -o takes the name of a file", path));
    if (*streams && formats[format].save == save_safetensors)
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "%s is no file: safetensors are written to files alone", path));
    if (!*streams)
        RGM_GO(try_place(real != NULL ? real : path));
    RGM_GO(rgm_strdup(out, !*streams && real != NULL ? real : path));
done:
    free(real);
    return status;
}

rgm_status embeddings_write(const rgm_open_run *run, const char *run_dir,
                            const embeddings_choice *choice)
{
    rgm_by_rounds_options by_rounds = RGM_BY_ROUNDS_OPTIONS_INIT, *rounds = NULL;
    int format = format_of(choice);
    embeddings_choice to = *choice;
    gathered g = {.csv = NULL};
    rgm_status status = RGM_OK;
    char *place = NULL;
    bool streams = false;

    by_rounds.folder = run_dir;
    by_rounds.chunk = choice->chunk;
    if (choice->chunk > 0)
        rounds = &by_rounds;
    if (choice->file != NULL)
        RGM_GO(find_place(&place, &streams, choice->file, format));
    to.file = place;
    RGM_GO(tell(run, choice, rounds));
    if (formats[format].save == NULL) {
        status = place == NULL ? write_rows(stdout, run, &to, rounds)
                 : streams     ? stream_rows(run, &to, rounds)
                               : save_rows(run, &to, rounds);
        goto done;
    }
    RGM_GO(rgm_graph_run_embeddings(run, choice->node_set, rounds, keep_states, &g));
    RGM_GO(save_kept(&g, &to, format));
done:
    rgm_free(place);
    rgm_free(g.states);
    rgm_free(g.nodes);
    rgm_free(g.graphs);
    return status;
}
