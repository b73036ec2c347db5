/*
 * How a request is answered: later, by its connection, or to who waits for it.
 */
#include <stdio.h>

#include "answer_internal.h"

void rgmi_inquiry_answer(rgmi_inquiry *asked, rgm_response *response)
{
    rgmi_served *model = asked->model;
    rgm_http_later *later = asked->later;

    rgmi_served_count(model, response->status, rgm_now() - asked->came);
    if (later != NULL) {
        rgmi_inquiry_release(asked);
        rgm_http_answer(later, response);
        return;
    }
    pthread_mutex_lock(&model->lock); /* who waits releases it */
    *asked->response = *response;
    asked->answered = true;
    pthread_cond_broadcast(&model->changed);
    pthread_mutex_unlock(&model->lock);
}

void rgmi_inquiry_predict(rgmi_inquiry *asked, const rgm_text *predictions, const int64_t *begins)
{
    rgm_status status = RGM_OK;
    rgm_response response = {.status = 200};
    char number[32];

    RGM_GO(rgm_text_printf(&response.body, "{\"predictions\": ["));
    for (int64_t i = 0; i < asked->count; i++) {
        RGM_GO(rgm_text_printf(&response.body, "%s", i > 0 ? ", " : ""));
        RGM_GO(
            rgm_text_add(&response.body, predictions->data + begins[i], begins[i + 1] - begins[i]));
    }
    RGM_GO(rgm_text_printf(&response.body, "]}\n"));
    snprintf(number, sizeof number, "%lld", (long long)asked->version->number);
    RGM_GO(rgm_response_add_header(&response, "X-Model-Version", number));
done:
    if (status != RGM_OK)
        rgmi_answer_fail(&response, 0, status);
    rgmi_inquiry_answer(asked, &response);
}

void rgmi_inquiry_fail(rgmi_inquiry *asked, rgm_status status)
{
    rgm_response response = {0};

    rgmi_answer_fail(&response, status == RGM_ERR_BUSY ? 503 : 0, status);
    rgmi_inquiry_answer(asked, &response);
}
