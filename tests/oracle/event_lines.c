/*
 * Prints what our own reader finds in event files, a line a value, for tensorboard_oracle.py to
 * compare with what tensorboard's reader finds in the same.
 */
#include <regimen/store.h>

#include <stdio.h>

static rgm_status print(const rgm_summary *s, void *payload)
{
    static const char *const kinds[] = {"start", "scalar", "text", "histogram"};

    (void)payload;
    printf("%s %lld %.17g %s", kinds[s->kind], (long long)s->step, s->time, s->tag ? s->tag : "-");
    if (s->kind == RGM_SUMMARY_SCALAR)
        printf(" %.9g", s->value);
    if (s->kind == RGM_SUMMARY_TEXT) {
        printf(" ");
        for (int64_t i = 0; i < s->text.size; i++)
            printf("%02x", (unsigned char)s->text.data[i]);
    }
    if (s->kind == RGM_SUMMARY_HISTOGRAM) {
        printf(" %.17g %.17g %.17g %.17g", s->min, s->max, s->count, s->sum);
        for (int64_t b = 0; b < s->buckets; b++)
            printf(" %.17g:%.17g", s->limits[b], s->counts[b]);
    }
    printf("\n");
    return RGM_OK;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (rgm_event_file_read(argv[i], print, NULL) != RGM_OK) {
            fprintf(stderr, "%s\n", rgm_error_text());
            return 1;
        }
    }
    return 0;
}
