/*
 * Where things stand in files that grow long: values of event files, lines of tables.jsonl. An
 * index is read on from where it ended, so that a page that looks at a live run costs what is new.
 * A record takes 40 bytes where the histogram that it stands for has 500.
 */
#include "folder_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <regimen/store.h>

enum {
    PIECE = 1 << 20,
    LONGEST_LINE = 8 << 20, /* of tables.jsonl: a thousand classes by a thousand */
    FINGERPRINT = 256
};

rgm_status rgmi_index_create(rgmi_index **out, rgmi_index_kind kind, const rgmi_kept_file *file)
{
    rgmi_index *index = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(RGM_NEW(index, 1));
    index->kind = kind;
    index->device = file->device;
    index->inode = file->inode;
    index->stride = 1;
    RGM_GO(rgm_map_create(&index->names));
    *out = index;
    index = NULL;
done:
    rgmi_index_release(index);
    return status;
}

void rgmi_index_release(rgmi_index *index)
{
    if (index == NULL)
        return;
    rgm_map_release(index->names);
    rgm_free(index->records);
    rgm_free(index->seen);
    rgm_free(index->damage);
    rgm_free(index);
}

int64_t rgmi_index_bytes(const rgmi_index *index)
{
    int64_t bytes = (int64_t)sizeof *index + index->capacity * (int64_t)sizeof *index->records +
                    index->seen_capacity * (int64_t)sizeof *index->seen;

    for (int64_t i = 0; i < rgm_map_count(index->names); i++)
        bytes += 64 + (int64_t)strlen(rgm_map_key(index->names, i));
    return bytes;
}

const char *rgmi_index_name(int *size, const rgmi_index *index, int64_t name, int part)
{
    const char *at = rgm_map_key(index->names, name);

    for (; part > 0 && at != NULL; part--) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    *size = at != NULL ? (int)strcspn(at, "\n") : 0;
    return at != NULL ? at : "";
}

/* ---- records ------------------------------------------------------------------------------- */

/* The first damage stays; no memory is an error. */
static rgm_status note_damage(rgmi_index *index, rgm_status status)
{
    if (status >= 0 || status == RGM_ERR_NOMEM)
        return status == RGM_ERR_NOMEM ? status : RGM_OK;
    return index->damage != NULL ? RGM_OK : rgm_strdup(&index->damage, rgm_error_message());
}

/* A part of a name, whose line ends would be taken for ends of parts. */
static rgm_status add_part(rgm_text *name, const char *part)
{
    int64_t begin = name->size;

    RGM_TRY(rgm_text_printf(name, "%s", part));
    for (char *at = name->data + begin; *at != '\0'; at++)
        *at = *at == '\n' ? ' ' : *at;
    return RGM_OK;
}

/* The number of a name; -1: there are too many. Values of the map are numbers from 1. */
static rgm_status find_name(int32_t *out, rgmi_index *index, const char *kind, const char *first,
                            const char *second)
{
    rgm_text name = {0};
    rgm_status status = RGM_OK;
    void *known;

    *out = -1;
    RGM_GO(rgm_text_printf(&name, "%s\n", kind));
    RGM_GO(add_part(&name, first));
    if (second != NULL) {
        RGM_GO(rgm_text_add(&name, "\n", 1));
        RGM_GO(add_part(&name, second));
    }
    known = rgm_map_get(index->names, name.data);
    if (known == NULL && rgm_map_count(index->names) < RGMI_INDEX_NAMES && name.size < 4096) {
        known = (void *)(intptr_t)(rgm_map_count(index->names) + 1);
        RGM_GO(rgm_map_set(index->names, name.data, known));
    }
    *out = (int32_t)(intptr_t)known - 1;
    if (known == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "more than %d names, or one of more than 4,095 bytes",
                        RGMI_INDEX_NAMES));
done:
    rgm_text_clear(&name);
    return status;
}

/* Every second value of each name goes, and from here on every second that would have come. */
static rgm_status thin_out(rgmi_index *index)
{
    int64_t *have = NULL, kept = 0;

    RGM_TRY(RGM_NEW(have, index->seen_count));
    for (int64_t i = 0; i < index->count; i++) {
        rgmi_record record = index->records[i];

        if (record.name < 0 || have[record.name]++ % 2 == 0)
            index->records[kept++] = record;
    }
    index->count = kept;
    index->stride *= 2;
    rgm_free(have);
    return RGM_OK;
}

static rgm_status add_record(rgmi_index *index, rgmi_record record)
{
    if (index->count == RGMI_INDEX_RECORDS)
        RGM_TRY(thin_out(index));
    if (record.name >= 0) {
        RGM_TRY(RGM_RESERVE(index->seen, index->seen_capacity, record.name + 1));
        while (index->seen_count <= record.name)
            index->seen[index->seen_count++] = 0;
        if (index->seen[record.name]++ % index->stride != 0)
            return RGM_OK;
    }
    RGM_TRY(RGM_RESERVE(index->records, index->capacity, index->count + 1));
    index->records[index->count++] = record;
    return RGM_OK;
}

/* ---- event files --------------------------------------------------------------------------- */

typedef struct event_job {
    rgmi_index *index;
    double until;
    int64_t visits;
    int64_t record;  /* that was visited last */
    int64_t stopped; /* before which record, for want of time; -1: nowhere */
} event_job;

static rgm_status add_start(rgmi_index *index, const rgm_summary *s)
{
    if (index->starts == RGMI_INDEX_STARTS)
        return RGM_FAIL(RGM_ERR_FORMAT, "more than %d starts in one file", RGMI_INDEX_STARTS);
    index->starts++;
    return add_record(index, (rgmi_record){-1, 0, s->step, s->offset, s->time});
}

static rgm_status add_value(rgmi_index *index, const rgm_summary *s)
{
    rgmi_record record = {.step = s->step, .offset = s->offset, .time = s->time};

    if (s->kind == RGM_SUMMARY_START)
        return add_start(index, s);
    RGM_TRY(find_name(&record.name, index, s->kind == RGM_SUMMARY_TEXT ? "text" : "histogram",
                      s->tag, NULL));
    return add_record(index, record);
}

static rgm_status visit_event(const rgm_summary *s, void *payload)
{
    event_job *job = payload;

    if (++job->visits > 256 && s->offset != job->record && rgm_now() > job->until) {
        job->stopped = s->offset;
        return RGM_END;
    }
    job->visits %= 257;
    job->record = s->offset;
    return s->kind == RGM_SUMMARY_SCALAR ? RGM_OK : add_value(job->index, s);
}

static rgm_status update_events(rgmi_index *index, const rgmi_kept_file *file, const char *name,
                                double until)
{
    event_job job = {index, until, 0, -1, -1};
    int64_t end = index->end;
    rgm_status status = rgm_event_records_read(&end, file->fd, index->end, name, visit_event, &job);

    index->end = job.stopped >= 0 ? job.stopped : end;
    index->more = job.stopped >= 0;
    index->stuck = status != RGM_OK; /* what is behind damage cannot be told */
    return status;
}

/* ---- tables.jsonl -------------------------------------------------------------------------- */

static rgm_status add_line(rgmi_index *index, const char *line, int64_t size, int64_t offset,
                           const char *name)
{
    rgmi_record record = {.offset = offset, .size = (int32_t)size, .time = NAN};
    const char *split, *kind, *label;
    rgm_json *root = NULL;
    char place[128];
    rgm_status status = RGM_OK;

    snprintf(place, sizeof place, "%s, the line at byte %lld", name, (long long)offset);
    RGM_GO(rgm_json_parse(&root, line, size, place));
    split = rgm_json_text(rgm_json_find(root, "split"));
    kind = rgm_json_text(rgm_json_find(root, "kind"));
    label = rgm_json_text(rgm_json_find(root, "label"));
    if (split == NULL || kind == NULL || !rgm_json_int(&record.step, rgm_json_find(root, "step")))
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s: no split, kind or step", place));
    RGM_GO(find_name(&record.name, index, kind, split, label != NULL ? label : ""));
    RGM_GO(add_record(index, record));
done:
    rgm_json_release(root);
    return status;
}

/* What begins at index->end: its lines, of which a torn last one is left. *grow: there is no whole
 * one in `size` bytes. */
static rgm_status add_lines(bool *grow, rgmi_index *index, const char *data, int64_t size,
                            const char *name)
{
    int64_t at = 0;

    while (at < size) {
        const char *stop = memchr(data + at, '\n', (size_t)(size - at));

        if (stop == NULL)
            break;
        RGM_TRY(note_damage(index,
                            add_line(index, data + at, stop - (data + at), index->end + at, name)));
        at = stop + 1 - data;
    }
    *grow = at == 0;
    index->end += at;
    return RGM_OK;
}

static rgm_status update_tables(rgmi_index *index, const rgmi_kept_file *file, const char *name,
                                double until)
{
    int64_t size, room = PIECE;
    char *data = NULL;
    bool grow = false;
    rgm_status status = RGM_OK;

    index->more = false;
    while (index->end < file->size) {
        rgm_free(data);
        size = room < file->size - index->end ? room : file->size - index->end;
        RGM_GO(RGM_NEW(data, size));
        RGM_GO(rgmi_kept_read(data, &size, file, index->end));
        RGM_GO(add_lines(&grow, index, data, size, name));
        if (grow && (size < room || size == 0)) /* a torn last line */
            break;
        if (grow && room >= LONGEST_LINE)
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s: the line at byte %lld has more than %d bytes",
                            name, (long long)index->end, LONGEST_LINE));
        room = grow ? 2 * room : PIECE;
        if (!grow && rgm_now() > until) {
            index->more = index->end < file->size;
            break;
        }
    }
done:
    rgm_free(data);
    index->stuck = status != RGM_OK;
    return status;
}

/* ---- both ---------------------------------------------------------------------------------- */

/* Of the bytes at the file's beginning and of those before index->end; 0 where there are none. */
static rgm_status take_fingerprint(uint64_t *first, uint64_t *last, const rgmi_index *index,
                                   const rgmi_kept_file *file)
{
    char data[FINGERPRINT];
    int64_t want = index->end < FINGERPRINT ? index->end : FINGERPRINT, size = want;

    *first = *last = 0;
    RGM_TRY(rgmi_kept_read(data, &size, file, 0));
    if (size == want)
        *first = rgm_hash64(data, (size_t)size);
    RGM_TRY(rgmi_kept_read(data, &size, file, index->end - want));
    if (size == want)
        *last = rgm_hash64(data, (size_t)size);
    return RGM_OK;
}

static rgm_status forget(rgmi_index *index)
{
    rgm_map *names = NULL;

    index->count = index->starts = index->end = index->seen_count = 0;
    index->stride = 1;
    index->stuck = false;
    rgm_free(index->damage);
    index->damage = NULL;
    RGM_TRY(rgm_map_create(&names));
    rgm_map_release(index->names);
    index->names = names;
    return RGM_OK;
}

/* Forget all, where the file is not the one any more that it was. */
static rgm_status check_same(rgmi_index *index, const rgmi_kept_file *file)
{
    uint64_t first, last;

    RGM_TRY(take_fingerprint(&first, &last, index, file));
    if (index->end == 0 ||
        (file->size >= index->end && first == index->first && last == index->last))
        return RGM_OK;
    return forget(index);
}

rgm_status rgmi_index_update(rgmi_index *index, const rgmi_kept_file *file, const char *name,
                             double until)
{
    rgm_status status = check_same(index, file);

    if (status == RGM_OK && !index->stuck)
        status = index->kind == RGMI_INDEX_EVENTS ? update_events(index, file, name, until)
                                                  : update_tables(index, file, name, until);
    if (status == RGM_OK)
        status = take_fingerprint(&index->first, &index->last, index, file);
    status = note_damage(index, status);
    if (status != RGM_OK)
        (void)forget(index); /* half a record may be in it */
    return status;
}
