/*
 * What `regimen init experiment` has seen of a folder: sets or tables with their columns, and which
 * column is the label; and the parts of an experiment file that follow from them.
 */
#ifndef RGM_CLI_INIT_LOOK_H
#define RGM_CLI_INIT_LOOK_H

#include <regimen/graph_import.h>

#include "cli.h"

typedef enum seen_kind {
    SEEN_NOTHING, /* no cell was filled */
    SEEN_INTEGERS,
    SEEN_NUMBERS,
    SEEN_TEXTS,
    SEEN_WORDS /* sparse rows of ones */
} seen_kind;

/** A column of a table, or a feature. */
typedef struct seen_column {
    char *name;
    seen_kind kind;
    int64_t width; /* how many columns name.0, name.1, ... it is; 0: one of its own name */
    int64_t filled, empty;
    int64_t nones; /* -1, which is no label */
    double least, largest;
    rgm_map *values; /* the different ones, up to SEEN_MOST */
} seen_column;
enum { SEEN_MOST = 4096 };

typedef struct seen_set {
    char *name, *file; /* file: NULL where there is none of its own */
    rgm_piece piece;
    bool headless; /* a table whose first line is a record: its columns are called 0, 1, ... */
    int64_t rows;
    seen_column *columns;
    int64_t count, room;
    rgm_map *ids;          /* of a table of nodes: id to anything    */
    char *source, *target; /* of edges: node sets                    */
    int64_t dangling;      /* rows of edges with an end that no table of nodes has */
} seen_set;

/** The lists of split/: which is taken, and whether it has a validation part. */
typedef struct seen_split {
    char *name;     /* a folder, or "fold-*"; NULL: there is none */
    char *first;    /* a folder                                   */
    int64_t others; /* folders that were not taken                */
    int64_t folds;  /* numbered ones: how many                    */
    bool has_valid;
} seen_split;

typedef struct seen_folder {
    const char *folder, *asked; /* asked: --label, NULL                          */
    seen_set *sets;
    int64_t count, room;
    int64_t graphs; /* of OGB: how many; of tables 0                             */
    seen_split split;
    const seen_set *labelled;
    const seen_column *label;
    bool classes;        /* the label is one of num_classes                      */
    bool relabel;        /* of OGB: numbered anew                                */
    int64_t num_classes; /* 0: a number                                          */
} seen_folder;
void seen_clear(seen_folder *seen);

/** A new set or column at the end, with copies of the names. Errors: RGM_ERR_NOMEM. */
rgm_status seen_add_set(seen_set **out, seen_folder *seen, const char *name, const char *file,
                        rgm_piece piece);
rgm_status seen_add_column(seen_column **out, seen_set *set, const char *name);
void seen_clear_columns(seen_set *set);
/** A cell that was read; a text and a number cannot be in one column: it is of texts then. */
rgm_status seen_note_text(seen_column *column, rgm_str cell);
rgm_status seen_note_number(seen_column *column, double value, bool integer);
/** A field of a reader's last row, as what it looks like. */
rgm_status seen_note_cell(seen_column *column, const rgm_csv_reader *reader, int64_t at,
                          rgm_str cell);

/** Whether the folder has graphs in OGB's layout. */
bool seen_is_ogb(const char *folder);
/** The graphs of OGB's layout, read whole. Errors: those of rgm_import_ogb(). */
rgm_status seen_look_at_ogb(seen_folder *seen);
/** FOLDER/NAME.csv and .csv.gz, and which ends edges have. Errors: those of rgm_csv_reader_open();
 * RGM_ERR_NOT_FOUND: there is none. */
rgm_status seen_look_at_tables(seen_folder *seen);
/** Whether tables are of nodes and edges, not of records. */
bool seen_is_graph(const seen_folder *seen);
rgm_status seen_look_at_split(seen_folder *seen);
/** Errors: RGM_ERR_CONFIG where the lists are of other nodes than those that have the label. */
rgm_status seen_check_split(const seen_folder *seen);
/** The column that is learned: --label, or one of a usual name. Errors: RGM_ERR_CONFIG, which names
 * the columns that there are. */
rgm_status seen_choose_label(seen_folder *seen);

/** Append a name as YAML has it: in quotes unless it is a plain word. Errors: RGM_ERR_NOMEM. */
rgm_status seen_print_name(rgm_text *out, const char *name);
/** A path as a shell and YAML read it. Errors: RGM_ERR_NOMEM. */
rgm_status seen_print_path(rgm_text *out, const char *path);
/** "FOLDER/schema.pbtxt" as text, with comments. Errors: RGM_ERR_NOMEM. */
rgm_status seen_print_schema(rgm_text *out, const seen_folder *seen);
/** `regimen data import csv ...` of tables. Errors: RGM_ERR_NOMEM. */
rgm_status seen_print_import(rgm_text *out, const seen_folder *seen);
/** Before the label of records is chosen: the tables are checked, and the first one to train on has
 * in its columns what all of them have; the others have no columns then. Errors: RGM_ERR_DATA, what
 * mlp cannot learn; RGM_ERR_NOMEM. */
rgm_status seen_join_records(seen_folder *seen);
/** The experiment file of a graph, or of records. Errors: RGM_ERR_NOMEM; of records RGM_ERR_DATA:
 * what mlp cannot learn. */
rgm_status seen_print_graph(rgm_text *out, const seen_folder *seen, const char *file);
rgm_status seen_print_records(rgm_text *out, const seen_folder *seen, const char *file);
/** The lines of its model.input, if any; *texts: a text is read, which ONNX has no operator for. */
rgm_status seen_print_input(rgm_text *out, const seen_folder *seen, bool *texts);

#endif
