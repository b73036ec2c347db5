/*
 * An event file from anywhere: as it is, where the CRCs refuse nearly all of it, and as one record
 * with CRCs that fit, so that the protobuf's reader is reached. What is visited is looked at whole.
 */
#include <regimen/store.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

static uint32_t masked_crc(const void *data, size_t size)
{
    uint32_t crc = rgm_crc32c(0, data, size);

    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* Every byte that a visit is given must be there. */
static rgm_status look(const rgm_summary *summary, void *payload)
{
    uint64_t *hash = payload;

    if ((summary->tag == NULL) != (summary->kind == RGM_SUMMARY_START) || summary->offset < 0)
        abort();
    if (summary->tag != NULL)
        *hash += rgm_hash64(summary->tag, strlen(summary->tag));
    if (summary->kind == RGM_SUMMARY_TEXT)
        *hash += rgm_hash64(summary->text.data, (size_t)summary->text.size);
    if (summary->kind == RGM_SUMMARY_HISTOGRAM && summary->buckets > 0) {
        *hash += rgm_hash64(summary->limits, (size_t)summary->buckets * sizeof(double));
        *hash += rgm_hash64(summary->counts, (size_t)summary->buckets * sizeof(double));
    }
    return RGM_OK;
}

/* Read; then again from where it ended, where nothing new may be. */
static void read_bytes(const void *data, size_t size)
{
    uint64_t hash = 0;
    int64_t end = -1, again = -1;
    int fd = memfd_create("events", 0);
    rgm_status status;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    status = rgm_event_records_read(&end, fd, 0, "input", look, &hash);
    if ((status != RGM_OK && status != RGM_ERR_FORMAT) || end < 0 || end > (int64_t)size)
        abort();
    if (rgm_event_records_read(&again, fd, end, "input", look, &hash) != status || again != end)
        abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t length = size;
    rgm_text record = {0};
    uint32_t crc;

    read_bytes(data, size);
    crc = masked_crc(&length, 8);
    if (rgm_text_add(&record, &length, 8) != RGM_OK || rgm_text_add(&record, &crc, 4) != RGM_OK)
        abort();
    crc = masked_crc(data, size);
    if (rgm_text_add(&record, data, (int64_t)size) != RGM_OK ||
        rgm_text_add(&record, &crc, 4) != RGM_OK)
        abort();
    read_bytes(record.data, (size_t)record.size);
    rgm_text_clear(&record);
    return 0;
}
