/*
 * Logs of a run, by bytes: a page follows a log by asking from where the last answer ended. A
 * search streams and has a time to end in, a tail is read from the end, so a log of gigabytes costs
 * what is shown of it.
 */
#include "tab.h"

#include <string.h>

enum { PIECE = 1 << 20, TAIL_PIECE = 64 << 10, DEFAULT_LIMIT = 64 << 10 };

static const struct {
    const char *name, *file;
} logs[] = {{"log", "log.txt"}, {"trial", "trial.log"}};
enum { LOGS = sizeof logs / sizeof *logs };

/* ---- pieces -------------------------------------------------------------------------------- */

/* Bytes at the end that may be the beginning of a character. */
static int64_t begun_character(const char *data, int64_t size)
{
    for (int64_t back = 1; back <= 3 && back <= size; back++) {
        unsigned char c = (unsigned char)data[size - back];

        if (c < 0x80)
            return 0;
        if (c >= 0xc0)
            return back < (c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) ? back : 0;
    }
    return 0;
}

/* Bytes at `offset` that belong to a character which begins before it: who asks for an earlier
 * piece has it whole. */
static rgm_status find_character(int64_t *rest, const rgmi_kept_file *file, int64_t offset)
{
    char data[7] = "";
    int64_t before = offset < 3 ? offset : 3, size = 6 - (3 - before), begun;
    uint32_t code;

    *rest = 0;
    RGM_TRY(rgmi_kept_read(data, &size, file, offset - before));
    begun = size > before ? begun_character(data, before) : 0;
    if (begun > 0 && rgm_utf8_next(&code, data + before - begun) > begun)
        *rest = rgm_utf8_next(&code, data + before - begun) - begun;
    return RGM_OK;
}

static rgm_status tell_piece(rgm_text *out, const rgmi_kept_file *file, int64_t offset,
                             int64_t limit)
{
    int64_t size, rest, begun;
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(find_character(&rest, file, offset));
    offset += rest;
    limit = limit > rest ? limit - rest : 0;
    size = limit < file->size - offset ? limit : file->size - offset;
    RGM_GO(RGM_NEW(data, size + 1));
    RGM_GO(rgmi_kept_read(data, &size, file, offset));
    begun = begun_character(data, size);
    size -= begun < size ? begun : 0;
    RGM_GO(rgm_text_printf(out, ",\"offset\":%lld,\"next\":%lld,\"text\":", (long long)offset,
                           (long long)(offset + size)));
    RGM_GO(rgmi_put_text(out, data, size));
done:
    rgm_free(data);
    return status;
}

/* ---- tail ---------------------------------------------------------------------------------- */

/* Where the last `lines` lines begin, at most `limit` bytes before the end. */
static rgm_status find_tail(int64_t *begin, const rgmi_kept_file *file, int64_t lines,
                            int64_t limit)
{
    int64_t end = file->size, least = end > limit ? end - limit : 0, first = end;
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(data, TAIL_PIECE));
    for (int64_t at = end, found = 0; at > least;) {
        int64_t size = at - least < TAIL_PIECE ? at - least : TAIL_PIECE;

        at -= size;
        RGM_GO(rgmi_kept_read(data, &size, file, at));
        for (int64_t i = size; i-- > 0;) {
            if (data[i] != '\n' || at + i == end - 1) /* the last line's own end */
                continue;
            first = at + i + 1;
            if (++found == lines) {
                *begin = first;
                goto done;
            }
        }
    }
    *begin = least > 0 && first < end ? first : least;
done:
    rgm_free(data);
    return status;
}

/* ---- search -------------------------------------------------------------------------------- */

typedef struct found_line {
    int64_t offset, size;
    char *text;
    bool cut;
} found_line;

/* Lines in the file's order, of which there is room for `most`. */
typedef struct found_lines {
    found_line *items; /* [most], a ring that begins at `first` */
    int64_t first, count, most, bytes;
    bool last; /* when full the first one goes; else the search stops */
} found_lines;

typedef struct search {
    const rgmi_kept_file *file;
    char *wanted; /* in small letters */
    int64_t wanted_size;
    char *data, *small; /* a piece, and it in small letters */
    bool inside, open;  /* the piece begins, ends within a line */
    double until;
} search;

static void clear_lines(found_lines *lines)
{
    for (int64_t i = 0; i < lines->count; i++)
        rgm_free(lines->items[(lines->first + i) % lines->most].text);
    rgm_free(lines->items);
    *lines = (found_lines){0};
}

static bool is_full(const found_lines *lines)
{
    return !lines->last && (lines->count == lines->most || lines->bytes >= RGMI_TOLD_TEXT);
}

/* One more; its text is the list's from here on. */
static void put_line(found_lines *lines, found_line line)
{
    if (lines->count == lines->most) {
        lines->bytes -= lines->items[lines->first].size;
        rgm_free(lines->items[lines->first].text);
        lines->first = (lines->first + 1) % lines->most;
        lines->count--;
    }
    lines->items[(lines->first + lines->count++) % lines->most] = line;
    lines->bytes += line.size;
}

/* Capital ASCII letters become small ones, eight bytes at a time: of a byte below 128 the sums have
 * the high bit set from 'A' on, and behind 'Z'. */
static void make_small(char *out, const char *data, int64_t size)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = 128 * ones;
    int64_t i = 0;

    for (; i + 8 <= size; i += 8) {
        uint64_t x, low, capital;

        memcpy(&x, data + i, 8);
        low = x & ~high;
        capital = ((low + (128 - 'A') * ones) ^ (low + (127 - 'Z') * ones)) & ~x & high;
        x |= capital >> 2;
        memcpy(out + i, &x, 8);
    }
    for (; i < size; i++)
        out[i] = (char)(data[i] | ((unsigned char)(data[i] - 'A') < 26 ? 0x20 : 0));
}

/* A line of a piece that begins at `base`; of a long one what stands about `at`. */
static rgm_status add_line(found_lines *lines, const search *s, int64_t base, int64_t size,
                           int64_t begin, int64_t end, int64_t at)
{
    found_line line = {.cut = (begin == 0 && s->inside) || (end == size && s->open)};

    if (end - begin > RGMI_TOLD_LINE) {
        line.cut = true;
        begin = at - RGMI_TOLD_LINE / 4 > begin ? at - RGMI_TOLD_LINE / 4 : begin;
        end = end - begin > RGMI_TOLD_LINE ? begin + RGMI_TOLD_LINE : end;
    }
    line.offset = base + begin;
    line.size = end - begin;
    RGM_TRY(RGM_NEW(line.text, line.size + 1));
    memcpy(line.text, s->data + begin, (size_t)line.size);
    put_line(lines, line);
    return RGM_OK;
}

/* Lines of a piece that have the text; *done is how far it was looked at. */
static rgm_status search_piece(int64_t *done, found_lines *lines, const search *s, int64_t base,
                               int64_t size)
{
    make_small(s->small, s->data, size);
    for (*done = 0; *done < size && !is_full(lines);) {
        const char *hit =
            memmem(s->small + *done, (size_t)(size - *done), s->wanted, (size_t)s->wanted_size);
        const char *begin, *end;
        int64_t at = hit != NULL ? hit - s->small : 0;

        if (hit == NULL) {
            *done = size;
            break;
        }
        begin = at > 0 ? memrchr(s->data, '\n', (size_t)at) : NULL;
        end = memchr(s->data + at, '\n', (size_t)(size - at));
        RGM_TRY(add_line(lines, s, base, size, begin != NULL ? begin + 1 - s->data : 0,
                         end != NULL ? end - s->data : size, at));
        *done = end != NULL ? end + 1 - s->data : size;
    }
    return RGM_OK;
}

/* From *next on, to where it then is. A line longer than a piece is looked at in pieces that
 * overlap, so that nothing is missed between two. */
static rgm_status search_on(found_lines *lines, search *s, int64_t *next)
{
    while (*next < s->file->size && !is_full(lines)) {
        int64_t left = s->file->size - *next, size = left < PIECE ? left : PIECE, whole, done;
        const char *end;

        RGM_TRY(rgmi_kept_read(s->data, &size, s->file, *next));
        if (size == 0)
            break;
        end = *next + size < s->file->size ? memrchr(s->data, '\n', (size_t)size) : NULL;
        whole = end != NULL ? end + 1 - s->data : size;
        s->open = end == NULL && *next + size < s->file->size;
        RGM_TRY(search_piece(&done, lines, s, *next, whole));
        if (done == size && s->open)
            done -= s->wanted_size < size ? s->wanted_size - 1 : 0;
        s->inside = s->open;
        *next += done;
        if (rgm_now() > s->until)
            break;
    }
    return RGM_OK;
}

/* The last lines of the file that have the text, the last first; *begin is how far it was looked.
 * A line that is longer than a piece is cut into pieces here. */
static rgm_status search_back(found_lines *lines, search *s, int64_t *begin)
{
    found_lines piece = {.most = lines->most, .last = true};
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(piece.items, piece.most));
    for (*begin = s->file->size; *begin > 0 && !is_full(lines) && rgm_now() <= s->until;) {
        int64_t from = *begin > PIECE ? *begin - PIECE : 0, size = *begin - from, skip = 0, done;
        const char *end;

        RGM_GO(rgmi_kept_read(s->data, &size, s->file, from));
        end = from > 0 && size > 0 ? memchr(s->data, '\n', (size_t)size) : NULL;
        if (end != NULL && end + 1 - s->data < size)
            skip = end + 1 - s->data;
        s->inside = from > 0 && skip == 0;
        memmove(s->data, s->data + skip, (size_t)(size - skip));
        RGM_GO(search_piece(&done, &piece, s, from + skip, size - skip));
        *begin = from + skip;
        while (piece.count > 0) {
            found_line *line = &piece.items[(piece.first + --piece.count) % piece.most];

            if (is_full(lines))
                rgm_free(line->text);
            else
                put_line(lines, *line);
            line->text = NULL;
        }
        piece.bytes = piece.first = 0;
    }
    if (is_full(lines))
        *begin = lines->items[lines->count - 1].offset;
done:
    clear_lines(&piece);
    return status;
}

static rgm_status print_lines(rgm_text *out, const found_lines *lines, bool backwards)
{
    RGM_TRY(rgm_text_printf(out, ",\"lines\":["));
    for (int64_t i = 0; i < lines->count; i++) {
        const found_line *line = &lines->items[backwards ? lines->count - 1 - i : i];

        RGM_TRY(rgm_text_printf(out, "%s{\"offset\":%lld,\"cut\":%s,\"line\":", i > 0 ? "," : "",
                                (long long)line->offset, line->cut ? "true" : "false"));
        RGM_TRY(rgmi_put_text(out, line->text, line->size));
        RGM_TRY(rgm_text_add(out, "}", 1));
    }
    return rgm_text_add(out, "]", 1);
}

static rgm_status tell_found(rgm_text *out, const rgmi_kept_file *file, const rgmi_log_query *q,
                             int64_t offset)
{
    int64_t most = q->tail > 0 && q->tail < RGMI_TOLD_LINES ? q->tail : RGMI_TOLD_LINES;
    found_lines lines = {.most = most};
    search s = {.file = file, .wanted_size = (int64_t)strlen(q->find)};
    int64_t next = q->tail > 0 ? file->size : offset;
    rgm_status status = RGM_OK;

    s.until = rgm_now() + (q->seconds > 0 ? q->seconds : 0.5);
    if (s.wanted_size > RGMI_TOLD_LINE)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "the text to be found has %lld bytes, %d at most",
                        (long long)s.wanted_size, RGMI_TOLD_LINE));
    RGM_GO(RGM_NEW(lines.items, lines.most));
    RGM_GO(RGM_NEW(s.wanted, s.wanted_size));
    RGM_GO(RGM_NEW(s.data, PIECE));
    RGM_GO(RGM_NEW(s.small, PIECE));
    make_small(s.wanted, q->find, s.wanted_size);
    RGM_GO(q->tail > 0 ? search_back(&lines, &s, &offset) : search_on(&lines, &s, &next));
    RGM_GO(
        rgm_text_printf(out, ",\"offset\":%lld,\"next\":%lld", (long long)offset, (long long)next));
    RGM_GO(print_lines(out, &lines, q->tail > 0));
done:
    rgm_free(s.wanted);
    rgm_free(s.data);
    rgm_free(s.small);
    clear_lines(&lines);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

/* Which logs there are, and the one that is asked for, opened; it may be none. */
static rgm_status open_logs(rgm_text *out, rgmi_kept_file *file, const char **name,
                            const char *folder, const char *wanted, char **damage)
{
    int64_t found = 0;

    RGM_TRY(rgm_text_printf(out, "{\"files\":["));
    for (int i = 0; i < LOGS; i++) {
        rgmi_kept_file one;
        rgm_status status = rgmi_kept_open(&one, folder, logs[i].file);

        RGM_TRY(rgmi_note(damage, status));
        if (status != RGM_OK)
            continue;
        if (file->fd < 0 && (wanted == NULL || strcmp(wanted, logs[i].name) == 0)) {
            *file = one;
            *name = logs[i].name;
        } else {
            rgmi_kept_close(&one);
        }
        RGM_TRY(rgm_text_printf(out, "%s\"%s\"", found++ > 0 ? "," : "", logs[i].name));
    }
    return rgm_text_add(out, "]", 1);
}

static rgm_status check_name(const char *wanted)
{
    for (int i = 0; i < LOGS && wanted != NULL; i++)
        if (strcmp(wanted, logs[i].name) == 0)
            return RGM_OK;
    return wanted == NULL ? RGM_OK
                          : RGM_FAIL(RGM_ERR_ARG, "no log '%s': there are log and trial", wanted);
}

static rgm_status tell_log(rgm_text *out, const rgmi_kept_file *file, const rgmi_log_query *q)
{
    int64_t limit = q->limit > 0 ? q->limit : q->tail > 0 ? RGMI_TOLD_TEXT : DEFAULT_LIMIT;
    int64_t offset = q->offset < file->size ? q->offset : file->size; /* it may have been cut */

    limit = limit < RGMI_TOLD_TEXT ? limit : RGMI_TOLD_TEXT;
    if (q->find != NULL && *q->find != '\0')
        return tell_found(out, file, q, offset);
    if (q->tail > 0)
        RGM_TRY(find_tail(&offset, file, q->tail, limit));
    return tell_piece(out, file, offset, limit);
}

rgm_status rgmi_tell_logs(rgm_text *out, const char *folder, const rgmi_log_query *query)
{
    rgmi_kept_file file = {.fd = -1};
    const char *name = query->file;
    char *damage = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(check_name(query->file));
    RGM_GO(open_logs(out, &file, &name, folder, query->file, &damage));
    RGM_GO(rgm_text_printf(out, ",\"file\":"));
    RGM_GO(rgmi_put_name(out, name));
    RGM_GO(rgm_text_printf(out, ",\"size\":%lld", (long long)file.size));
    if (file.fd >= 0)
        RGM_GO(tell_log(out, &file, query));
    else
        RGM_GO(rgm_text_printf(out, ",\"offset\":0,\"next\":0,%s",
                               query->find != NULL ? "\"lines\":[]" : "\"text\":\"\""));
    RGM_GO(rgmi_put_end(out, damage));
done:
    rgmi_kept_close(&file);
    rgm_free(damage);
    return status;
}
