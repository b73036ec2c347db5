/*
 * A model that is served: its version, and how a newer one takes over. The newer one is loaded
 * beside it; requests that came before are answered by the version that they found, which goes with
 * the last of them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <regimen/trial_task.h>

#include "answer_internal.h"

void rgmi_answer_tell(const rgm_answer_server *server, const char *format, ...)
{
    char *line = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&line, format, args) < 0)
        line = NULL;
    va_end(args);
    if (line != NULL && server->options.tell != NULL)
        server->options.tell(line, server->options.payload);
    else if (line != NULL)
        rgm_log_write(RGM_LOG_INFO, "%s", line);
    free(line);
}

/* ---- versions -------------------------------------------------------------------------------- */

void rgmi_version_release(rgmi_version *version)
{
    if (version == NULL || atomic_fetch_sub(&version->references, 1) > 1)
        return;
    rgm_predictor_release(version->predictor);
    rgm_free(version);
}

rgmi_version *rgmi_served_version(rgmi_served *model)
{
    rgmi_version *version;

    pthread_mutex_lock(&model->lock);
    version = model->version;
    atomic_fetch_add(&version->references, 1);
    pthread_mutex_unlock(&model->lock);
    return version;
}

/* before: the number of the version so far; what has none of its own gets the next. */
static rgm_status load(rgmi_version **out, rgmi_served *model, rgmi_offer *offer, int64_t before)
{
    const rgm_answer_server *server = model->server;
    rgm_status status = RGM_OK;
    rgmi_version *version = NULL;

    *out = NULL;
    RGM_GO(rgmi_source_take(offer, model->source, server->registry));
    RGM_GO(RGM_NEW(version, 1));
    atomic_init(&version->references, 1);
    version->number = offer->number > 0 ? offer->number : before + 1;
    RGM_GO(rgm_trial_predictor_open(&version->predictor, offer->folder,
                                    (const char *const *)server->sets, server->options.set_count));
    RGM_GO(rgm_predictor_form(&version->form, version->predictor));
    if (version->form == RGM_QUESTIONS_PROMPTS)
        RGM_GO(rgm_predictor_write(version->predictor, server->options.max_batch));
    *out = version;
    version = NULL;
done:
    rgmi_version_release(version);
    return status;
}

/* ---- a newer one ----------------------------------------------------------------------------- */

static void take_over(rgmi_served *model, rgmi_version *version, uint64_t stamp)
{
    rgmi_version *before;

    pthread_mutex_lock(&model->lock);
    before = model->version;
    model->version = version;
    model->stamp = stamp;
    model->figures.reloads++;
    rgm_free(model->reason);
    model->reason = NULL;
    pthread_mutex_unlock(&model->lock);
    rgmi_answer_tell(model->server, "%s: version %lld takes over from %lld", model->name,
                     (long long)version->number, (long long)before->number);
    rgmi_version_release(before);
}

/* The same reason is told once. */
static void refuse(rgmi_served *model, uint64_t stamp)
{
    char *reason = NULL, *before;
    bool is_new;

    if (rgm_strdup(&reason, rgm_error_message()) != RGM_OK)
        return;
    pthread_mutex_lock(&model->lock);
    before = model->reason;
    is_new = before == NULL || strcmp(before, reason) != 0 || model->refused != stamp;
    model->refused = stamp;
    model->looks = 0;
    model->figures.refused += is_new;
    model->reason = reason;
    pthread_mutex_unlock(&model->lock);
    rgm_free(before);
    if (is_new) /* only this thread changes version and reason */
        rgmi_answer_tell(model->server, "%s: version %lld stays: %s", model->name,
                         (long long)model->version->number, reason);
}

/* What is served is what there is. */
static void accept(rgmi_served *model)
{
    pthread_mutex_lock(&model->lock);
    rgm_free(model->reason);
    model->reason = NULL;
    model->refused = 0;
    pthread_mutex_unlock(&model->lock);
}

/* Files that are being written may be of two versions: what changes while it is loaded is not taken
 * over, and looked at again. */
static rgm_status replace(rgmi_served *model, rgmi_offer *offer)
{
    rgm_status status = RGM_OK;
    rgmi_version *version = NULL;
    rgmi_offer after = {0};

    RGM_GO(load(&version, model, offer, model->version->number));
    RGM_GO(rgmi_source_look(&after, model->source, model->server->registry));
    if (after.stamp == offer->stamp) {
        take_over(model, version, offer->stamp);
        version = NULL;
    }
done:
    rgmi_offer_clear(&after);
    rgmi_version_release(version);
    return status;
}

/* What could not be loaded is left, but not for good: what was wrong (memory, a permission, a file
 * of a registry) can go away without a change that a look sees. */
static bool is_left(rgmi_served *model, const rgmi_offer *offer)
{
    enum { LOOKS = 30 };

    return offer->stamp == model->refused && ++model->looks < LOOKS;
}

void rgmi_served_reload(rgmi_served *model, bool at_once)
{
    rgmi_offer offer;

    if (rgmi_source_look(&offer, model->source, model->server->registry) != RGM_OK) {
        refuse(model, 0);
        return;
    }
    if (offer.stamp == model->stamp)
        accept(model);
    else if (offer.stamp != model->seen && !at_once)
        model->seen = offer.stamp;
    else if ((at_once || !is_left(model, &offer)) && replace(model, &offer) != RGM_OK)
        refuse(model, offer.stamp);
    rgmi_offer_clear(&offer);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static rgm_status check_name(const char *name, const char *source)
{
    rgm_path_values values;

    if (name[0] != '\0' && rgm_path_fits(&values, "{name}", name))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_ARG,
                    "'%s' cannot be the name of a model: 1 to 64 of a-z, A-Z, 0-9, '_', '-' and "
                    "'.', not beginning with '.'; give it one: NAME=%s",
                    name, source);
}

static void open_locks(rgmi_served *model)
{
    pthread_condattr_t clock;

    pthread_mutex_init(&model->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&model->changed, &clock);
    pthread_condattr_destroy(&clock);
}

rgm_status rgmi_served_open(rgmi_served *model, rgm_answer_server *server,
                            const rgm_answer_model *from)
{
    rgm_status status = RGM_OK;
    rgmi_offer offer = {0};

    open_locks(model);
    model->server = server;
    RGM_GO(rgm_strdup(&model->source, from->source));
    RGM_GO(from->name != NULL ? rgm_strdup(&model->name, from->name)
                              : rgmi_source_name(&model->name, from->source));
    RGM_GO(check_name(model->name, model->source));
    for (int64_t i = 0; i < server->model_count; i++)
        if (&server->models[i] != model && server->models[i].name != NULL &&
            strcmp(server->models[i].name, model->name) == 0)
            RGM_GO(RGM_FAIL(RGM_ERR_ARG, "two models have the name '%s': NAME=%s", model->name,
                            model->source));
    status = rgmi_source_look(&offer, model->source, server->registry);
    if (status == RGM_OK)
        status = load(&model->version, model, &offer, 0);
    if (status != RGM_OK && status != RGM_ERR_NOMEM)
        rgm_error_prefix(status, "%s", model->name);
    RGM_GO(status);
    model->stamp = model->seen = offer.stamp;
    rgmi_answer_tell(server, "%s: version %lld of %s, asked in %s", model->name,
                     (long long)model->version->number, offer.folder,
                     rgm_question_form_names[model->version->form]);
done:
    rgmi_offer_clear(&offer);
    return status;
}

void rgmi_served_close(rgmi_served *model)
{
    if (model->server == NULL)
        return;
    if (model->has_thread) {
        pthread_mutex_lock(&model->lock);
        model->ends = true;
        pthread_cond_broadcast(&model->changed);
        pthread_mutex_unlock(&model->lock);
        pthread_join(model->thread, NULL);
    }
    rgmi_version_release(model->version);
    rgm_free(model->reason);
    rgm_free(model->name);
    rgm_free(model->source);
    pthread_cond_destroy(&model->changed);
    pthread_mutex_destroy(&model->lock);
}

void rgmi_served_count(rgmi_served *model, int code, double seconds)
{
    pthread_mutex_lock(&model->lock);
    model->figures.requests[rgmi_code_place(code)]++;
    if (code == 200)
        rgmi_observe_seconds(&model->figures.seconds, seconds);
    pthread_mutex_unlock(&model->lock);
}
