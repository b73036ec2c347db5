/*
 * TensorBoard event files. The few protocol messages are written directly in wire format
 * (tensorflow's event.proto and summary.proto, the hparams plugin's plugin_data.proto); a comment
 * beside each call has the field numbers. Records are framed as TFRecords.
 */
#include "store_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_PREFIX "events.out.tfevents."
#define BUCKETS     30

struct rgm_event_file {
    rgmi_append_file file;
    rgm_map *tags; /* scalars whose metadata this file already has */
    rgm_text event, summary, value, part;
};

/* ---- wire format --------------------------------------------------------------------------- */

static rgm_status put_varint(rgm_text *out, uint64_t number)
{
    uint8_t bytes[10];
    int64_t size = 0;

    for (; number >= 0x80; number >>= 7)
        bytes[size++] = (uint8_t)(number | 0x80);
    bytes[size++] = (uint8_t)number;
    return rgm_text_add(out, bytes, size);
}

static rgm_status put_int(rgm_text *out, int field, int64_t number)
{
    RGM_TRY(put_varint(out, (uint64_t)field << 3));
    return put_varint(out, (uint64_t)number);
}

static rgm_status put_bytes(rgm_text *out, int field, const void *data, int64_t size)
{
    RGM_TRY(put_varint(out, (uint64_t)field << 3 | 2));
    RGM_TRY(put_varint(out, (uint64_t)size));
    return rgm_text_add(out, data, size);
}

static rgm_status put_message(rgm_text *out, int field, const rgm_text *message)
{
    return put_bytes(out, field, message->size ? message->data : "", message->size);
}

/* Protobuf strings must be UTF-8, or readers drop the event; other bytes become U+FFFD. */
static rgm_status put_text(rgm_text *out, int field, const char *text)
{
    int64_t size = (int64_t)strlen(text);
    rgm_text clean = {0};
    rgm_status status = RGM_OK;
    uint32_t code;

    if (rgm_utf8_check(text, size) < 0)
        return put_bytes(out, field, text, size);
    for (int step; *text != 0; text += step > 0 ? step : 1) {
        step = rgm_utf8_next(&code, text);
        RGM_GO(rgm_text_add(&clean, step > 0 ? text : "\xef\xbf\xbd", step > 0 ? step : 3));
    }
    RGM_GO(put_message(out, field, &clean));
done:
    rgm_text_clear(&clean);
    return status;
}

static rgm_status put_double(rgm_text *out, int field, double number)
{
    RGM_TRY(put_varint(out, (uint64_t)field << 3 | 1));
    return rgm_text_add(out, &number, sizeof number);
}

static rgm_status put_float(rgm_text *out, int field, float number)
{
    RGM_TRY(put_varint(out, (uint64_t)field << 3 | 5));
    return rgm_text_add(out, &number, sizeof number);
}

/* ---- records ------------------------------------------------------------------------------- */

/* Write file->event, as one TFRecord. */
static rgm_status write_record(rgm_event_file *file)
{
    uint64_t size = (uint64_t)file->event.size;
    uint32_t size_crc = rgmi_masked_crc(&size, sizeof size);
    uint32_t crc = rgmi_masked_crc(file->event.data, (size_t)size);

    file->part.size = 0;
    RGM_TRY(rgm_text_add(&file->part, &size, sizeof size));
    RGM_TRY(rgm_text_add(&file->part, &size_crc, sizeof size_crc));
    RGM_TRY(rgm_text_add(&file->part, file->event.data, file->event.size));
    RGM_TRY(rgm_text_add(&file->part, &crc, sizeof crc));
    return rgmi_append_add(&file->file, file->part.data, file->part.size);
}

/* Begin file->event: wall_time = 1, step = 2. */
static rgm_status begin_event(rgm_event_file *file, int64_t step)
{
    file->event.size = 0;
    RGM_TRY(put_double(&file->event, 1, rgm_wall_time()));
    return step != 0 ? put_int(&file->event, 2, step) : RGM_OK;
}

/* Write an event whose summary = 5 has file->value as its only value = 1. */
static rgm_status write_value(rgm_event_file *file, int64_t step)
{
    file->summary.size = 0;
    RGM_TRY(put_message(&file->summary, 1, &file->value));
    RGM_TRY(begin_event(file, step));
    RGM_TRY(put_message(&file->event, 5, &file->summary));
    return write_record(file);
}

/* SummaryMetadata into file->value as metadata = 9: plugin_data = 1 {plugin_name = 1, content = 2},
 * data_class = 4 (0: none). */
static rgm_status put_metadata(rgm_event_file *file, const char *plugin, const rgm_text *content,
                               int data_class)
{
    rgm_text data = {0}, metadata = {0};
    rgm_status status = RGM_OK;

    RGM_GO(put_text(&data, 1, plugin));
    if (content != NULL)
        RGM_GO(put_message(&data, 2, content));
    RGM_GO(put_message(&metadata, 1, &data));
    if (data_class != 0)
        RGM_GO(put_int(&metadata, 4, data_class));
    RGM_GO(put_message(&file->value, 9, &metadata));
done:
    rgm_text_clear(&data);
    rgm_text_clear(&metadata);
    return status;
}

/* ---- open and close ------------------------------------------------------------------------ */

/* Seconds for the new name. Readers order files by name, so it must sort after the existing
 * ones. */
static rgm_status next_time(int64_t *seconds, const char *folder)
{
    char **names = NULL;
    int64_t count = 0;
    rgm_status status = RGM_OK;

    *seconds = (int64_t)rgm_wall_time();
    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        int64_t old = 0;

        if (strncmp(names[i], NAME_PREFIX, strlen(NAME_PREFIX)) == 0)
            old = strtoll(names[i] + strlen(NAME_PREFIX), NULL, 10);
        if (old >= *seconds && old < INT64_C(9999999999))
            *seconds = old + 1;
    }
done:
    rgm_names_release(names, count);
    return status;
}

static rgm_status open_file(rgm_event_file *file, const char *folder)
{
    char host[256] = "", *path = NULL;
    int64_t seconds;
    rgm_status status = RGM_OK;

    RGM_GO(next_time(&seconds, folder));
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c != 0; c++) {
        if (*c == '/')
            *c = '-';
    }
    RGM_GO(rgm_strprintf(&path, "%s/" NAME_PREFIX "%010" PRId64 ".%s.%ld.0.v2", folder, seconds,
                         host[0] ? host : "localhost", (long)getpid()));
    RGM_GO(rgmi_append_open(&file->file, path, 0, true));
done:
    rgm_free(path);
    return status;
}

rgm_status rgm_event_file_create(rgm_event_file **out, const char *folder, int64_t first_step)
{
    rgm_event_file *file = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(RGM_NEW(file, 1));
    file->file.fd = -1;
    RGM_GO(rgm_map_create(&file->tags));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(open_file(file, folder));
    RGM_GO(begin_event(file, 0));
    RGM_GO(put_text(&file->event, 3, "brain.Event:2")); /* file_version */
    RGM_GO(write_record(file));
    if (first_step > 0) {
        /* session_log = 7 {status = 1: START}: readers drop events of this step and later. */
        file->value.size = 0;
        RGM_GO(put_int(&file->value, 1, 1));
        RGM_GO(begin_event(file, first_step));
        RGM_GO(put_message(&file->event, 7, &file->value));
        RGM_GO(write_record(file));
    }
    RGM_GO(rgmi_append_flush(&file->file));
    *out = file;
    file = NULL;
done:
    rgm_event_file_close(file);
    return status;
}

void rgm_event_file_close(rgm_event_file *file)
{
    if (file == NULL)
        return;
    rgmi_append_close(&file->file);
    rgm_map_release(file->tags);
    rgm_text_clear(&file->event);
    rgm_text_clear(&file->summary);
    rgm_text_clear(&file->value);
    rgm_text_clear(&file->part);
    rgm_free(file);
}

rgm_status rgm_event_file_flush(rgm_event_file *file)
{
    return file != NULL ? rgmi_append_sync(&file->file) : RGM_OK;
}

/* ---- scalars and histograms ---------------------------------------------------------------- */

rgm_status rgm_event_file_scalar(rgm_event_file *file, const char *tag, int64_t step, double value)
{
    bool known = rgm_map_has(file->tags, tag);

    file->value.size = 0;
    RGM_TRY(put_text(&file->value, 1, tag));
    RGM_TRY(put_float(&file->value, 2, (float)value)); /* simple_value */
    if (!known) {
        RGM_TRY(put_metadata(file, "scalars", NULL, 1));
        RGM_TRY(rgm_map_set(file->tags, tag, file));
    }
    return write_value(file, step);
}

/* A tensor of one string: TensorProto {dtype 1, tensor_shape 2, string_val 8}. */
rgm_status rgm_event_file_text(rgm_event_file *file, const char *tag, int64_t step,
                               const char *text)
{
    enum { DT_STRING = 7, DATA_CLASS_TENSOR = 2 };
    rgm_status status = RGM_OK;
    rgm_text tensor = {0};

    file->value.size = 0;
    RGM_GO(put_text(&file->value, 1, tag));
    RGM_GO(put_int(&tensor, 1, DT_STRING));
    RGM_GO(put_bytes(&tensor, 2, "", 0)); /* a scalar */
    RGM_GO(put_text(&tensor, 8, text));
    RGM_GO(put_message(&file->value, 8, &tensor));
    RGM_GO(put_metadata(file, "text", NULL, DATA_CLASS_TENSOR));
    RGM_GO(write_value(file, step));
done:
    rgm_text_clear(&tensor);
    return status;
}

typedef struct histogram {
    double min, max, sum, sum_squares;
    double limits[BUCKETS], counts[BUCKETS];
    int64_t count;
    int buckets;
} histogram;

/* Computed with halves, so that the range of the largest doubles does not overflow. */
static int bucket_of(const histogram *h, double x)
{
    double u = (x / 2 - h->min / 2) / (h->max / 2 - h->min / 2) * BUCKETS;

    return u >= BUCKETS ? BUCKETS - 1 : u > 0 ? (int)u : 0;
}

static void fill_histogram(histogram *h, const rgm_tensor *tensor)
{
    int64_t size = rgm_tensor_count(tensor);

    *h = (histogram){.buckets = 1};
    for (int64_t i = 0; i < size; i++) {
        double x = rgm_tensor_at(tensor, i);

        if (!isfinite(x))
            continue;
        h->min = h->count == 0 || x < h->min ? x : h->min;
        h->max = h->count == 0 || x > h->max ? x : h->max;
        h->sum += x;
        h->sum_squares += x * x;
        h->count++;
    }
    h->limits[0] = h->max;
    h->counts[0] = (double)h->count;
    if (!(h->max / 2 - h->min / 2 > 0))
        return;
    h->buckets = BUCKETS;
    h->counts[0] = 0;
    for (int b = 0; b < BUCKETS; b++)
        h->limits[b] = h->min + (h->max / BUCKETS - h->min / BUCKETS) * (b + 1);
    h->limits[BUCKETS - 1] = h->max;
    for (int64_t i = 0; i < size; i++) {
        double x = rgm_tensor_at(tensor, i);

        if (isfinite(x))
            h->counts[bucket_of(h, x)]++;
    }
}

/* HistogramProto: min 1, max 2, num 3, sum 4, sum_squares 5, bucket_limit 6, bucket 7 (packed). */
static rgm_status put_histogram(rgm_text *out, const histogram *h)
{
    RGM_TRY(put_double(out, 1, h->min));
    RGM_TRY(put_double(out, 2, h->max));
    RGM_TRY(put_double(out, 3, (double)h->count));
    RGM_TRY(put_double(out, 4, h->sum));
    RGM_TRY(put_double(out, 5, h->sum_squares));
    RGM_TRY(put_bytes(out, 6, h->limits, h->buckets * (int64_t)sizeof(double)));
    return put_bytes(out, 7, h->counts, h->buckets * (int64_t)sizeof(double));
}

rgm_status rgm_event_file_histogram(rgm_event_file *file, const char *tag, int64_t step,
                                    const rgm_tensor *tensor)
{
    histogram h;

    if (rgm_tensor_dtype(tensor) == RGM_STRING)
        return RGM_FAIL(RGM_ERR_DTYPE, "histogram '%s' of a tensor of strings", tag);
    fill_histogram(&h, tensor);
    file->value.size = 0;
    file->summary.size = 0;
    RGM_TRY(put_text(&file->value, 1, tag));
    RGM_TRY(put_histogram(&file->summary, &h));
    RGM_TRY(put_message(&file->value, 5, &file->summary)); /* histo */
    return write_value(file, step);
}

/* ---- hparams plugin ------------------------------------------------------------------------ */

/* A value of the plugin: tag = 1, an empty float tensor = 8, metadata with HParamsPluginData
 * {version = 1: 0, `field` = message}. */
static rgm_status write_hparams(rgm_event_file *file, const char *tag, int field,
                                const rgm_text *message)
{
    /* TensorProto: dtype = 1 (DT_FLOAT), tensor_shape = 2 {dim = 2 {size = 1: 0}} */
    static const uint8_t no_tensor[] = {0x08, 0x01, 0x12, 0x04, 0x12, 0x02, 0x08, 0x00};
    rgm_text content = {0};
    rgm_status status = RGM_OK;

    file->value.size = 0;
    RGM_GO(put_message(&content, field, message));
    RGM_GO(put_text(&file->value, 1, tag));
    RGM_GO(put_bytes(&file->value, 8, no_tensor, sizeof no_tensor));
    RGM_GO(put_metadata(file, "hparams", &content, 2)); /* DATA_CLASS_TENSOR */
    RGM_GO(write_value(file, 0));
done:
    rgm_text_clear(&content);
    return status;
}

/* Experiment: time_created_secs 3, hparam_infos 4 {name 1, type 4}, metric_infos 5 {name 1 {group
 * 1, tag 2}}. */
static rgm_status put_experiment(rgm_text *out, const rgm_hparam *hparams, int64_t count,
                                 const rgm_hparam_metric *metrics, int64_t metric_count)
{
    enum { TYPE_STRING = 1, TYPE_FLOAT64 = 3 };
    rgm_text info = {0}, name = {0};
    rgm_status status = RGM_OK;

    RGM_GO(put_double(out, 3, rgm_wall_time()));
    for (int64_t i = 0; i < count; i++) {
        info.size = 0;
        RGM_GO(put_text(&info, 1, hparams[i].name));
        RGM_GO(put_int(&info, 4, hparams[i].text ? TYPE_STRING : TYPE_FLOAT64));
        RGM_GO(put_message(out, 4, &info));
    }
    for (int64_t i = 0; i < metric_count; i++) {
        info.size = name.size = 0;
        RGM_GO(put_text(&name, 1, metrics[i].group ? metrics[i].group : ""));
        RGM_GO(put_text(&name, 2, metrics[i].tag));
        RGM_GO(put_message(&info, 1, &name));
        RGM_GO(put_message(out, 5, &info));
    }
done:
    rgm_text_clear(&info);
    rgm_text_clear(&name);
    return status;
}

/* SessionStartInfo: hparams 1 (map: key 1, value 2 {number 2 | string 3}), group_name 4,
 * start_time_secs 5. */
static rgm_status put_session_start(rgm_text *out, const char *session, const rgm_hparam *hparams,
                                    int64_t count)
{
    rgm_text entry = {0}, value = {0};
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < count; i++) {
        entry.size = value.size = 0;
        if (hparams[i].text != NULL)
            RGM_GO(put_text(&value, 3, hparams[i].text));
        else
            RGM_GO(put_double(&value, 2, hparams[i].number));
        RGM_GO(put_text(&entry, 1, hparams[i].name));
        RGM_GO(put_message(&entry, 2, &value));
        RGM_GO(put_message(out, 1, &entry));
    }
    RGM_GO(put_text(out, 4, session));
    RGM_GO(put_double(out, 5, rgm_wall_time()));
done:
    rgm_text_clear(&entry);
    rgm_text_clear(&value);
    return status;
}

rgm_status rgm_event_file_hparams(rgm_event_file *file, const char *session,
                                  const rgm_hparam *hparams, int64_t count,
                                  const rgm_hparam_metric *metrics, int64_t metric_count)
{
    rgm_text message = {0};
    rgm_status status = RGM_OK;

    RGM_GO(put_experiment(&message, hparams, count, metrics, metric_count));
    RGM_GO(write_hparams(file, "_hparams_/experiment", 2, &message));
    message.size = 0;
    RGM_GO(put_session_start(&message, session, hparams, count));
    RGM_GO(write_hparams(file, "_hparams_/session_start_info", 3, &message));
    RGM_GO(rgmi_append_flush(&file->file));
done:
    rgm_text_clear(&message);
    return status;
}

rgm_status rgm_event_file_session_end(rgm_event_file *file, bool success)
{
    enum { STATUS_SUCCESS = 1, STATUS_FAILURE = 2 };
    rgm_text message = {0};
    rgm_status status = RGM_OK;

    RGM_GO(put_int(&message, 1, success ? STATUS_SUCCESS : STATUS_FAILURE));
    RGM_GO(put_double(&message, 2, rgm_wall_time()));
    RGM_GO(write_hparams(file, "_hparams_/session_end_info", 4, &message));
    RGM_GO(rgmi_append_flush(&file->file));
done:
    rgm_text_clear(&message);
    return status;
}
