/*
 * The layout of a graph file, as docs/graph.md has it, and what an open one is. All numbers are
 * little-endian; every section begins at a multiple of 64 bytes.
 */
#ifndef RGM_GRAPH_FILE_LAYOUT_H
#define RGM_GRAPH_FILE_LAYOUT_H

#include <regimen/graph_file.h>

#include "graph_internal.h"

#define RGMI_FILE_MAGIC   "RGMGRAPH"
#define RGMI_FILE_VERSION 1
#define RGMI_FILE_ALIGN   64

/** The first 64 bytes. */
typedef struct rgmi_file_header {
    char magic[8];
    uint32_t version, sections;
    uint64_t directory; /* where it begins: `sections` rgmi_file_section           */
    uint64_t size;      /* of the whole file                                       */
    uint64_t hash;      /* XXH3 of the directory                                   */
    uint64_t sums;      /* where a u64 for each section begins, XXH3 of its bytes, in the
                           directory's order; 0: the file has none                */
    uint64_t sums_hash; /* XXH3 of these                                          */
    uint64_t own_hash;  /* XXH3 of the 56 bytes before                            */
} rgmi_file_header;

typedef enum rgmi_section_kind {
    SECTION_SCHEMA = 1, /* GraphSchema text; sets and features below are places in it        */
    SECTION_ITEMS,      /* count: of the set; no bytes                                       */
    SECTION_ROWS,       /* of `part` end: i64 [count + 1] where each node's entries begin;
                           extra: the most entries of a node                                 */
    SECTION_COLUMNS,    /* of that end: i32 [count] the nodes at the other end               */
    SECTION_ENTRIES,    /* of that end: i32 [count] the edges' numbers; none: 0, 1, 2, ...   */
    SECTION_VALUES,     /* of feature `part`: its values; of strings i64 [count + 1] where
                           each text begins                                                  */
    SECTION_OFFSETS,    /* of ragged dim `dim` of feature `part`: i64 [count + 1]            */
    SECTION_TEXT,       /* of feature `part`: the texts of strings                           */
    SECTION_SPLIT,      /* node set and name of the split, each ended by a newline           */
    SECTION_PART,       /* `part` 0, 1, 2: i64 [count] train, valid, test                    */
    SECTION_KINDS
} rgmi_section_kind;

typedef struct rgmi_file_section {
    uint32_t kind, set, part, dim; /* set: place in the schema's text, context is 0 */
    uint64_t offset, bytes, count, extra;
    uint64_t zero[2];
} rgmi_file_section;

/** An open file: counted, for everything that points into it. */
struct rgmi_graph_file {
    atomic_int_fast64_t references;
    rgm_mapped_file map;
    char *path;
};
rgmi_graph_file *rgmi_graph_file_retain(rgmi_graph_file *file);
void rgmi_graph_file_release(rgmi_graph_file *file);
/** RGM_ERR_IO when a part of the file was cut off while it is mapped: what was read since is zeros.
 */
rgm_status rgmi_graph_file_check(const rgmi_graph_file *file);

/** A data set out of the bytes of a file, which must live as long as it: for rgm_graph_data_open()
 * and the fuzzer. Takes over `file`. */
rgm_status rgmi_graph_file_read(rgm_graph_data *out, rgmi_graph_file *file);

#endif
