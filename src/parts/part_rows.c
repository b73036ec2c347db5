/*
 * Rows from rank to rank. Halo nodes stand by their owners, so that what an owner sends arrives
 * where it belongs, and what is given back lies ready; only own rows that others have copies of are
 * packed.
 */
#include "parts_internal.h"

#include <string.h>

/* ---- who sends what ------------------------------------------------------------------------ */

/* begin[ranks + 1] of rows as bytes. */
static void in_bytes(size_t *out, const int64_t *begin, int64_t ranks, size_t row)
{
    for (int64_t r = 0; r <= ranks; r++)
        out[r] = (size_t)begin[r] * row;
}

static rgm_status post(const rgmi_part_set *set, const rgm_comm_mail *mail)
{
    rgm_comm_mail_request *request;

    RGM_TRY(rgm_comm_mail_begin(&request, set->part->comm, mail));
    return rgm_comm_mail_wait(&request);
}

/* How many nodes each other has copies of: counts [ranks][ranks], of rank i those of each owner. */
static rgm_status count_sends(rgmi_part_set *set, const rgm_comm_blocks *counts)
{
    int64_t ranks = set->part->parts;

    RGM_TRY(RGM_NEW(set->send_begin, ranks + 1));
    for (int64_t r = 0; r < ranks; r++) {
        int64_t begin[2];

        if (counts->begin[r + 1] - counts->begin[r] != (size_t)(ranks + 1) * sizeof *begin)
            return RGM_FAIL(RGM_ERR_DATA, "rank %lld has other parts", (long long)r);
        memcpy(begin, counts->memory + counts->begin[r] + (size_t)set->part->number * sizeof *begin,
               sizeof begin);
        set->send_begin[r + 1] = set->send_begin[r] + begin[1] - begin[0];
    }
    return RGM_OK;
}

static rgm_status check_sends(const rgmi_part_set *set)
{
    int64_t count = set->send_begin[set->part->parts];

    for (int64_t i = 0; i < count; i++)
        if (set->send[i] < 0 || set->send[i] >= set->own)
            return RGM_FAIL(RGM_ERR_DATA,
                            "another rank has a copy of node %d of '%s', of which part %lld has "
                            "%lld: the parts are not of one graph",
                            set->send[i], set->name, (long long)set->part->number,
                            (long long)set->own);
    return RGM_OK;
}

/* Of the nodes that others tell of by parts, which they are here. */
static void place_sends(rgmi_part_set *set)
{
    int64_t count = set->send_begin[set->part->parts];

    for (int64_t i = 0; i < count && set->place != NULL; i++)
        set->send[i] = set->place[set->send[i]];
}

static rgm_status connect_set(rgmi_part_set *set)
{
    const rgm_part *part = set->part;
    rgm_comm_blocks counts = {0};
    rgm_status status = RGM_OK;
    size_t *bytes[2] = {NULL, NULL};
    rgm_comm_mail mail;

    RGM_GO(rgm_comm_gather(&counts, part->comm, set->halo_begin,
                           (size_t)(part->parts + 1) * sizeof *set->halo_begin, RGM_COMM_ALL));
    RGM_GO(count_sends(set, &counts));
    RGM_GO(RGM_NEW(set->send, set->send_begin[part->parts] + 1));
    for (int i = 0; i < 2; i++)
        RGM_GO(RGM_NEW(bytes[i], part->parts + 1));
    in_bytes(bytes[0], set->halo_begin, part->parts, sizeof *set->there);
    in_bytes(bytes[1], set->send_begin, part->parts, sizeof *set->send);
    mail = (rgm_comm_mail){set->there, bytes[0], set->send, bytes[1]};
    RGM_GO(post(set, &mail));
    RGM_GO(check_sends(set));
    place_sends(set);
    rgm_free(set->owner); /* no longer needed, as what is theirs */
    rgm_free(set->there);
    rgm_free(set->place);
    set->owner = set->there = set->place = NULL;
done:
    rgm_comm_blocks_clear(&counts);
    rgm_free(bytes[0]);
    rgm_free(bytes[1]);
    return status;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/** Rows of a set that are under way; used again when they have come. */
struct rgmi_flight {
    rgmi_flight *next; /* free ones */
    rgmi_part_set *set;
    rgm_exchange_rows rows;
    size_t row;                      /* bytes */
    size_t *halo_bytes, *send_bytes; /* [ranks + 1] where each other's begin */
    char *room;                      /* [send] rows */
    size_t room_bytes;
    int64_t from; /* of the sender's rows, while they are added */
    rgm_comm_mail_request *request;
};

static void release_flight(rgmi_flight *flight)
{
    rgm_free(flight->halo_bytes);
    rgm_free(flight->send_bytes);
    rgm_free(flight->room);
    rgm_free(flight);
}

void rgmi_flights_release(rgmi_part_set *set)
{
    while (set->flights != NULL) {
        rgmi_flight *flight = set->flights;

        set->flights = flight->next;
        release_flight(flight);
    }
}

static rgm_status make_flight(rgmi_flight **out, rgmi_part_set *set)
{
    rgm_status status = RGM_OK;
    rgmi_flight *flight = set->flights;

    *out = NULL;
    if (flight != NULL) {
        set->flights = flight->next;
        *out = flight;
        return RGM_OK;
    }
    RGM_TRY(RGM_NEW(flight, 1));
    flight->set = set;
    RGM_GO(RGM_NEW(flight->halo_bytes, set->part->parts + 1));
    RGM_GO(RGM_NEW(flight->send_bytes, set->part->parts + 1));
    *out = flight;
    flight = NULL;
done:
    if (flight != NULL)
        release_flight(flight);
    return status;
}

static rgm_status make_room(rgmi_flight *flight)
{
    const rgmi_part_set *set = flight->set;
    size_t bytes = (size_t)set->send_begin[set->part->parts] * flight->row;

    in_bytes(flight->halo_bytes, set->halo_begin, set->part->parts, flight->row);
    in_bytes(flight->send_bytes, set->send_begin, set->part->parts, flight->row);
    if (bytes <= flight->room_bytes)
        return RGM_OK;
    rgm_free(flight->room);
    flight->room_bytes = 0;
    flight->room = rgm_malloc(bytes);
    if (flight->room == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes of '%s' for other ranks", bytes,
                        set->name);
    flight->room_bytes = bytes;
    return RGM_OK;
}

static void pack(void *payload, int64_t begin, int64_t end)
{
    const rgmi_flight *f = payload;

    for (int64_t i = begin; i < end; i++)
        memcpy(f->room + (size_t)i * f->row,
               (const char *)f->rows.rows + (size_t)f->set->send[i] * f->row, f->row);
}

/* A rank has one copy of a node at most, so rows of one sender are different ones. */
static void add(void *payload, int64_t begin, int64_t end)
{
    const rgmi_flight *f = payload;

    for (int64_t i = f->from + begin; i < f->from + end; i++) {
        void *to = (char *)f->rows.rows + (size_t)f->set->send[i] * f->row;
        const void *from = f->room + (size_t)i * f->row;

        for (int64_t k = 0; k < f->rows.width; k++) {
            if (f->rows.dtype == RGM_F32)
                ((float *)to)[k] += ((const float *)from)[k];
            else
                ((double *)to)[k] += ((const double *)from)[k];
        }
    }
}

static char *halo_of(const rgmi_flight *flight)
{
    return (char *)flight->rows.rows + (size_t)flight->set->own * flight->row;
}

static rgm_status begin(void **under_way, const rgm_exchange_rows *rows, void *payload)
{
    rgm_status status = RGM_OK;
    rgmi_part_set *set = payload;
    rgmi_flight *flight = NULL;
    rgm_comm_mail mail;

    *under_way = NULL;
    RGM_GO(make_flight(&flight, set));
    flight->rows = *rows;
    flight->row = (size_t)rows->width * rgm_dtype_size(rows->dtype);
    RGM_GO(make_room(flight));
    mail = (rgm_comm_mail){flight->room, flight->send_bytes, halo_of(flight), flight->halo_bytes};
    if (rows->back)
        mail =
            (rgm_comm_mail){halo_of(flight), flight->halo_bytes, flight->room, flight->send_bytes};
    else
        rgm_parallel(set->send_begin[set->part->parts], 2 + 0.1 * (double)flight->row, pack,
                     flight);
    RGM_GO(rgm_comm_mail_begin(&flight->request, set->part->comm, &mail));
    *under_way = flight;
    flight = NULL;
done:
    if (flight != NULL)
        release_flight(flight);
    return rgm_comm_fail(set->part->comm, status);
}

/* In the order of ranks, not of arrival. */
static void take_back(rgmi_flight *flight)
{
    const rgmi_part_set *set = flight->set;

    for (int64_t k = 0; k < set->part->parts; k++) {
        flight->from = set->send_begin[k];
        rgm_parallel(set->send_begin[k + 1] - flight->from, 2 + 0.2 * (double)flight->row, add,
                     flight);
    }
    if (set->halo > 0)
        memset(halo_of(flight), 0, (size_t)set->halo * flight->row);
}

static rgm_status end(void *under_way, void *payload)
{
    rgmi_flight *flight = under_way;
    rgmi_part_set *set = payload;
    rgm_status status = rgm_comm_mail_wait(&flight->request);

    if (status == RGM_OK && flight->rows.back)
        take_back(flight);
    flight->next = set->flights;
    set->flights = flight;
    return status;
}

/* ---- connecting ---------------------------------------------------------------------------- */

rgm_status rgmi_find_other(int *other, rgm_comm *comm, const void *own, size_t bytes)
{
    rgm_comm_blocks blocks = {0};

    *other = -1;
    RGM_TRY(rgm_comm_gather(&blocks, comm, own, bytes, RGM_COMM_ALL));
    for (int r = blocks.count - 1; r >= 0; r--)
        if (blocks.begin[r + 1] - blocks.begin[r] != bytes ||
            memcmp(blocks.memory + blocks.begin[r], own, bytes) != 0)
            *other = r;
    rgm_comm_blocks_clear(&blocks);
    return RGM_OK;
}

/* Another cut of the same graph may have as many nodes, and rows would go to others of them. */
static rgm_status check_manifests(const rgm_part *part, rgm_comm *comm)
{
    rgm_text text = {0};
    rgm_status status = rgmi_parts_print(&text, part->manifest);
    uint64_t hash = status == RGM_OK ? rgm_hash64(text.data, (size_t)text.size) : 0;
    int other;

    rgm_text_clear(&text);
    RGM_TRY(status);
    RGM_TRY(rgmi_find_other(&other, comm, &hash, sizeof hash));
    return other < 0 ? RGM_OK
                     : RGM_FAIL(RGM_ERR_DATA,
                                "rank %d has another " RGMI_PARTS_FILE " than rank %d: give each "
                                "rank the same folder, or copies of one",
                                other, rgm_comm_rank(comm));
}

rgm_status rgmi_part_meet(const rgm_part *part, rgm_comm *comm)
{
    if (rgm_comm_size(comm) != part->parts || rgm_comm_rank(comm) != part->number)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "part %lld of %lld on rank %d of %d: each rank has one part, or several "
                        "joined",
                        (long long)part->number, (long long)part->parts, rgm_comm_rank(comm),
                        rgm_comm_size(comm));
    return check_manifests(part, comm);
}

static rgm_status connect(rgm_part *part, rgm_comm *comm)
{
    RGM_TRY(rgmi_part_meet(part, comm));
    part->comm = comm;
    for (int64_t i = 0; i < part->set_count; i++) {
        rgmi_part_set *set = &part->sets[i];

        RGM_TRY(connect_set(set));
        set->exchange = (rgm_exchange){begin, end, set, set->own};
    }
    return RGM_OK;
}

rgm_status rgm_part_connect(rgm_part *part, rgm_comm *comm)
{
    return rgm_comm_fail(comm, connect(part, comm));
}

const rgm_exchange *rgm_part_exchange(const rgm_part *part, const char *node_set)
{
    for (int64_t i = 0; i < part->set_count; i++)
        if (strcmp(part->sets[i].name, node_set) == 0)
            return &part->sets[i].exchange;
    return NULL;
}
