/*
 * What the files of parts share: the manifest, and a part that is open.
 */
#ifndef RGM_PARTS_INTERNAL_H
#define RGM_PARTS_INTERNAL_H

#include <regimen/parts.h>

#define RGMI_PARTS_FILE    "parts.json"
#define RGMI_PARTS_VERSION 1
#define RGMI_MOST_PARTS    65536

/** A set of nodes or edges, and how the parts have it. */
typedef struct rgmi_parts_set {
    rgm_piece piece;
    char *name;
    int64_t total;
    int64_t *own, *halo; /* [parts]; of edges own is what there is, and halo NULL */
} rgmi_parts_set;

/** A file of the folder. */
typedef struct rgmi_parts_file {
    char *name;
    int64_t bytes;
    uint64_t hash;
} rgmi_parts_file;

struct rgm_parts {
    char *folder, *made_by;
    int64_t count;
    double cut;
    int64_t split[3]; /* -1: there is none */
    rgmi_parts_set *sets;
    int64_t set_count;
    rgmi_parts_file *files; /* [2 count] graph and numbers of part 0, of part 1 .. */
};

/** NULL: there is none. */
const rgmi_parts_set *rgmi_parts_set_find(const rgm_parts *parts, rgm_piece piece,
                                          const char *name);
/** Append the JSON of parts.json. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_parts_print(rgm_text *out, const rgm_parts *parts);
/** Size and hash of a file whose name is set. Errors: RGM_ERR_IO, RGM_ERR_NOT_FOUND. */
rgm_status rgmi_parts_file_look(rgmi_parts_file *out, const char *folder);

/** "nodes/paper.there": a tensor of a part's numbers; owned by the caller. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_numbers_name(char **out, rgm_piece piece, const char *set, const char *what);

/** "train", "valid", "test": of the split's node set, the places of own nodes in that list. */
extern const char *const rgmi_split_names[3];
/** A tensor of a part's numbers by its whole name, owned by the caller. Errors: RGM_ERR_NOT_FOUND,
 * RGM_ERR_FORMAT, RGM_ERR_NOMEM. */
rgm_status rgmi_part_tensor(rgm_tensor **out, const rgm_part *part, const char *name);
/** Numbers of a part's items in the whole graph: a tensor i64, owned by the caller, of which the
 * count is not checked. Errors: RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM. */
rgm_status rgmi_part_numbers(rgm_tensor **out, const rgm_part *part, rgm_piece piece,
                             const char *set, const char *what);
/** Open part `number`, of which there is one; see rgm_part_open_for(). Errors: RGM_ERR_FORMAT,
 * those of rgm_graph_data_open(). */
rgm_status rgmi_part_open(rgm_part **out, const rgm_parts *parts, int64_t number);
/** parts [count], which are open and follow each other, as one that does not need them any more.
 * Errors: RGM_ERR_FORMAT (they are not of one cut), RGM_ERR_NOMEM. */
rgm_status rgmi_parts_join(rgm_part **out, rgm_part *const *parts, int64_t count);

typedef struct rgmi_flight rgmi_flight;

/** Rows of one node set that go from rank to rank. Of a rank's own nodes others tell by their place
 * among those of its first part, its second part ... */
typedef struct rgmi_part_set {
    rgm_part *part;
    const char *name; /* the schema's */
    int64_t own, halo;
    int32_t *owner, *there; /* [halo] which rank's, and which of that one's own         */
    int32_t *place;         /* [own] where such a node stands; NULL: there              */
    int64_t *halo_begin;    /* [ranks + 1] of each owner                 */
    int32_t *send;          /* own nodes that others have copies of      */
    int64_t *send_begin;    /* [ranks + 1] of each other                 */
    rgmi_flight *flights;   /* rows that were under way, to be used again */
    rgm_exchange exchange;
} rgmi_part_set;

void rgmi_flights_release(rgmi_part_set *set);
/** The first rank whose bytes are not this one's; -1: all have the same. Errors: those of
 * rgm_comm_gather(). Collective. */
rgm_status rgmi_find_other(int *other, rgm_comm *comm, const void *own, size_t bytes);

/** Errors unless rank r of comm has part r, and all of one cut. Collective. */
rgm_status rgmi_part_meet(const rgm_part *part, rgm_comm *comm);

struct rgm_part {
    int64_t number, parts; /* of so many ranks' parts, each of which may be several of the files' */
    const rgm_parts *manifest;
    rgm_graph_data data;
    rgm_safetensors *numbers; /* of one part; NULL: they are in `joined` */
    rgm_named_tensor *joined; /* owned, with their names                 */
    int64_t joined_count;
    rgm_comm *comm; /* NULL: not connected */
    rgmi_part_set *sets;
    int64_t set_count;
    rgm_tensor **edge_numbers; /* [sets of the schema] where they were asked for */
};

#endif
