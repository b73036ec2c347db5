/*
 * parts: one graph cut into files, for as many ranks of a job or fewer, which then have several. A
 * part has its own nodes, behind them copies of the nodes of other parts that these have edges with
 * (halo nodes), and each edge with an own node at one end or both. So every own node has all of its
 * edges. Here parts are written, opened, and joined while a model is computed on them.
 *
 *     RGM_TRY(rgm_parts_write(&data, "parts", &options));              once, before
 *
 *     RGM_TRY(rgm_parts_load(&parts, "parts"));                        on every rank
 *     RGM_TRY(rgm_part_open_for(&part, parts, rank, ranks));
 *     ... build a model on the graph of rgm_part_data(part)
 *     RGM_TRY(rgm_part_connect(part, comm));
 *     RGM_TRY(rgm_part_values(values, values, count, graph_value, part));
 */
#ifndef REGIMEN_PARTS_H
#define REGIMEN_PARTS_H

#include <regimen/comm.h>
#include <regimen/graph_file.h>
#include <regimen/graph_sampling.h>
#include <regimen/graph_value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ------------------------------------------------------------------------------- */

typedef struct rgm_parts_options {
    int64_t parts;               /* a power of two, as the number of ranks is                    */
    rgm_partition_method method; /* who cuts; RGM_PARTITION_METIS                                */
    double balance;              /* nodes of a part over those of an even share at most          */
    uint64_t seed;
    int64_t memory; /* bytes for sorting a part's edges: see rgm_graph_writer_options            */
} rgm_parts_options;
#define RGM_PARTS_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .parts = 2, .balance = 1.03, .seed = 1, .memory = 268435456                                \
    }
/**
 * Cut a graph with a split of its nodes, and write a new folder: parts.json, and for each part a
 * graph file and the numbers that its nodes and edges have elsewhere. The folder appears when it is
 * complete. Beside the cut itself this takes 13 bytes a node and the edges of one part.
 *
 * Errors: RGM_ERR_BUSY (the folder is there), RGM_ERR_DATA (several graphs, no split of nodes, a
 * feature "#id"), RGM_ERR_ARG (parts are no power of two), those of rgm_graph_partition_by() and of
 * the graph writer.
 */
rgm_status rgm_parts_write(const rgm_graph_data *data, const char *folder,
                           const rgm_parts_options *options);

/* ---- what there is ------------------------------------------------------------------------- */

/** What parts.json says. */
typedef struct rgm_parts rgm_parts;
/**
 * @param path  [in] the folder, or its parts.json
 *
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_FORMAT, RGM_ERR_VERSION, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_parts_load(rgm_parts **out, const char *path);
void rgm_parts_release(rgm_parts *parts);
int64_t rgm_parts_count(const rgm_parts *parts);
/** "metis, seed 1": who cut. */
const char *rgm_parts_made_by(const rgm_parts *parts);
/** Share of neighbouring pairs of nodes that are in two parts. */
double rgm_parts_cut(const rgm_parts *parts);
/** Items of a node or edge set in the whole graph, and in one part: its own nodes, or the edges
 * that it has; -1: there is no such set. */
int64_t rgm_parts_total(const rgm_parts *parts, rgm_piece piece, const char *set);
int64_t rgm_parts_own(const rgm_parts *parts, int64_t part, rgm_piece piece, const char *set);
/** Halo nodes of a node set in one part; -1: there is no such set. */
int64_t rgm_parts_halo(const rgm_parts *parts, int64_t part, const char *node_set);
/** Nodes in a part of the split of the whole graph: 0 train, 1 valid, 2 test; -1: it has no such.
 */
int64_t rgm_parts_split(const rgm_parts *parts, int of);

/* ---- one part ------------------------------------------------------------------------------ */

typedef struct rgm_part rgm_part;
/**
 * Open what rank `rank` of `ranks` has: of N parts those from rank * N / ranks on, N / ranks of
 * them. Several are joined in memory: nodes that are copies of each other's become own ones, edges
 * between them are there once, and all stands as if the cut had made one part of them. This takes
 * the memory of these parts, and as much again until it returns. Files are checked against the
 * hashes in parts.json; the graph of one part alone is mapped.
 *
 * @param parts  [in] outlives the part
 *
 * Errors: RGM_ERR_CONFIG (`ranks` does not divide the number of parts: the message says what to
 * start), RGM_ERR_ARG (there is no such rank), RGM_ERR_FORMAT (a file is another than was written,
 * parts are not of one cut), those of rgm_graph_data_open().
 */
rgm_status rgm_part_open_for(rgm_part **out, const rgm_parts *parts, int64_t rank, int64_t ranks);
void rgm_part_release(rgm_part *part);
/** The part as a graph, borrowed: own nodes first, then halo nodes, in order of their owners. "#id"
 * is the number that a node has in the whole graph, a set's cardinality how many there are; the
 * split has own nodes alone, and each of its parts that the whole graph has, if only of 0 nodes. */
const rgm_graph_data *rgm_part_data(const rgm_part *part);
/**
 * Tell the other ranks, which have opened the other parts, which of their nodes this part has
 * copies of. To be called once, before values that are exchanged are computed.
 *
 * @param comm  [in] outlives the part; its rank r has part r, or opened its own by
 *                   rgm_part_open_for(.., r, ranks)
 *
 * Errors: RGM_ERR_CONFIG (another number of ranks than the part was opened for), RGM_ERR_DATA (the
 * parts are not of one cut: ranks have different parts.json), those of rgm_comm_gather().
 * Collective: every rank calls it, and hears of the error of another.
 */
rgm_status rgm_part_connect(rgm_part *part, rgm_comm *comm);
/** What brings rows of a node set from part to part, owned by the part; NULL: there is no such set.
 */
const rgm_exchange *rgm_part_exchange(const rgm_part *part, const char *node_set);
/**
 * rgm_cgraph_part() of values over graph_value, whose graphs are the part's. Every rank gives the
 * same values of the same model, which is checked.
 *
 * @param parted  [out] [count], may be `values`
 *
 * Errors: those of rgm_cgraph_part(), RGM_ERR_CONFIG (ranks have different models),
 * RGM_ERR_UNSUPPORTED (dropout of features whose entries have no number), those of
 * rgm_comm_gather(). Collective: every rank calls it.
 */
rgm_status rgm_part_values(rgm_value **parted, rgm_value *const *values, int64_t count,
                           const rgm_graph_value *graph_value, rgm_part *part);

#ifdef __cplusplus
}
#endif
#endif
