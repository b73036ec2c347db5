/*
 * What a service knows, as a file for those who look at the run: who works, what is under way, who
 * waits for whom.
 */
#include "service_internal.h"

static const char *const worker_states[] = {"joins", "at work", "gone", "refused"};

static rgm_status write_worker(rgm_json_writer *w, const rgmi_worker *worker, double now)
{
    RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(w, "name", worker->name));
    RGM_TRY(rgm_json_write_text(w, "state", worker_states[worker->state]));
    if (worker->why[0] != '\0')
        RGM_TRY(rgm_json_write_text(w, "why", worker->why));
    RGM_TRY(rgm_json_write_int(w, "threads", worker->threads));
    RGM_TRY(rgm_json_write_int(w, "made", worker->made));
    RGM_TRY(rgm_json_write_int(w, "bytes", worker->bytes));
    RGM_TRY(rgm_json_write_int(w, "under_way", worker->under_way));
    RGM_TRY(rgm_json_write_number(w, "busy", worker->busy));
    RGM_TRY(rgm_json_write_number(w, "waited", worker->idle));
    RGM_TRY(rgm_json_write_number(w, "silent", now - worker->heard));
    return rgm_json_close(w);
}

static rgm_status write_batches(rgm_json_writer *w, const rgm_service *s)
{
    int64_t counts[4];

    rgmi_places_count(counts, &s->places);
    RGM_TRY(rgm_json_open_object(w, "batches", RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_int(w, "given", s->counts.given));
    RGM_TRY(rgm_json_write_int(w, "waiting", counts[RGMI_PLACE_MADE]));
    RGM_TRY(rgm_json_write_int(w, "under_way", counts[RGMI_PLACE_UNDER_WAY]));
    RGM_TRY(rgm_json_write_int(w, "ahead", s->places.ahead));
    RGM_TRY(rgm_json_write_int(w, "again", s->counts.again));
    RGM_TRY(rgm_json_write_int(w, "doubles", s->counts.doubles));
    return rgm_json_close(w);
}

static rgm_status write_all(rgm_text *out, const rgm_service *s, double now)
{
    rgm_json_writer w = {.out = out};
    double waited = s->counts.waited + (s->waits_since > 0 ? now - s->waits_since : 0);

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(&w, "address", s->address));
    RGM_TRY(rgm_json_write_text(&w, "order",
                                s->options.order == RGM_SERVICE_RECIPE ? "recipe" : "arrival"));
    RGM_TRY(rgm_json_write_text(&w, "state",
                                atomic_load(&s->closing)                       ? "closed"
                                : s->waits_since > 0 && s->counts.workers == 0 ? "waits for workers"
                                : s->waits_since > 0                           ? "waits for a batch"
                                : s->wanted                                    ? "trains"
                                            : "wants no batches"));
    RGM_TRY(rgm_json_write_number(&w, "time", rgm_wall_time()));
    RGM_TRY(rgm_json_write_number(&w, "seconds", now - s->opened));
    RGM_TRY(rgm_json_write_number(&w, "trainer_waited", waited));
    RGM_TRY(write_batches(&w, s));
    RGM_TRY(rgm_json_open_list(&w, "workers", RGM_JSON_LINES));
    for (int64_t i = 0; i < s->worker_count; i++)
        RGM_TRY(write_worker(&w, &s->workers[i], now));
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_printf(out, "\n");
}

void rgmi_service_report(rgm_service *s, double now)
{
    rgm_text text = {0};
    rgm_status status;

    if (s->report == NULL || (now < s->next_report && !atomic_load(&s->closing)))
        return;
    s->next_report = now + 1;
    status = write_all(&text, s, now);
    if (status == RGM_OK)
        status = rgm_file_renew(s->report, text.data, text.size);
    rgm_text_clear(&text);
    if (status == RGM_OK || s->report_failed)
        return;
    s->report_failed = true; /* once is enough: the training goes on */
    rgm_log_write(RGM_LOG_WARNING, "input workers: %s", rgm_error_message());
}
