/*
 * What calls of the sampler borrow: workspaces, readout schemas made before, and a team of threads.
 * The list of idle workspaces is all that a sampler changes after its creation.
 */
#include "sampler_internal.h"

#include <string.h>

#define MEMBER_NS 1e6 /* more than a loop costs to share: `chunk` has said that it pays */

/* ---- threads ---- */

typedef struct team {
    rgmi_sampler_range *work;
    void *payload;
    int64_t items, chunk;
    atomic_int_fast64_t next;
} team;

/* Member `m` takes chunks until there are none: one who comes late finds nothing left. */
static void members(void *payload, int64_t first, int64_t end)
{
    team *t = payload;

    for (int64_t m = first; m < end; m++)
        for (;;) {
            int64_t begin = atomic_fetch_add_explicit(&t->next, t->chunk, memory_order_relaxed);
            if (begin >= t->items)
                break;
            t->work(t->payload, begin, begin + t->chunk < t->items ? begin + t->chunk : t->items,
                    (int)m);
        }
}

void rgmi_sampler_for(int threads, int64_t items, int64_t chunk, rgmi_sampler_range *work,
                      void *payload)
{
    team t = {.work = work, .payload = payload, .items = items, .chunk = chunk};

    /* Nothing to share: handing it out costs about as much as a hop. */
    if (threads <= 1 || items <= chunk) {
        if (items > 0)
            work(payload, 0, items, 0);
        return;
    }
    rgm_parallel(threads, MEMBER_NS, members, &t);
}

/* ---- workspaces ---- */

struct rgmi_lender {
    pthread_mutex_t lock;
    rgmi_workspace *idle;
    rgmi_label_schema *asked;
};

rgm_schema *rgmi_sampler_asked(const rgm_sampler *sampler, const char *label)
{
    rgm_schema *schema = NULL;

    pthread_mutex_lock(&sampler->lender->lock);
    for (rgmi_label_schema *a = sampler->lender->asked; a && !schema; a = a->next)
        if (strcmp(a->label, label ? label : "") == 0)
            schema = a->schema;
    pthread_mutex_unlock(&sampler->lender->lock);
    return schema;
}

rgm_status rgmi_sampler_remember(const rgm_sampler *sampler, const char *label, rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgmi_label_schema *asked = NULL;

    RGM_GO(RGM_NEW(asked, 1));
    RGM_GO(rgm_strdup(&asked->label, label ? label : ""));
    asked->schema = rgm_schema_retain(schema);
    pthread_mutex_lock(&sampler->lender->lock);
    asked->next = sampler->lender->asked;
    sampler->lender->asked = asked;
    pthread_mutex_unlock(&sampler->lender->lock);
    asked = NULL;
done:
    rgm_free(asked);
    return status;
}

rgm_status rgmi_lender_create(rgmi_lender **out)
{
    RGM_TRY(RGM_NEW(*out, 1));
    pthread_mutex_init(&(*out)->lock, NULL);
    return RGM_OK;
}

static void release_workspace(rgmi_workspace *work, const rgm_sampler *sampler)
{
    if (work == NULL)
        return;
    for (int64_t i = 0; work->known && i < sampler->node_set_count; i++) {
        rgm_free(work->known[i].state);
        rgm_free(work->known[i].local);
        rgm_free(work->known[i].nodes);
    }
    for (int64_t i = 0; work->hops && i < sampler->op_count; i++) {
        rgmi_hop *hop = &work->hops[i];
        rgm_free(hop->frontier);
        rgm_free(hop->offset);
        rgm_free(hop->taken);
        rgm_free(hop->edge);
        rgm_free(hop->other);
        rgm_free(hop->reached);
        rgm_free(hop->place);
        rgm_free(hop->past);
        rgm_free(hop->first);
        rgm_free(hop->degree);
        rgm_free(hop->start);
    }
    for (int64_t i = 0; i < work->picker_count; i++)
        rgmi_picker_clear(&work->pickers[i]);
    rgm_free(work->known);
    rgm_free(work->hops);
    rgm_free(work->pickers);
    rgm_free(work->blocks);
    rgm_free(work->sort);
    rgm_free(work->items);
    rgm_free(work);
}

void rgmi_lender_release(rgmi_lender *lender, const rgm_sampler *sampler)
{
    rgmi_workspace *next;

    if (lender == NULL)
        return;
    for (rgmi_workspace *work = lender->idle; work; work = next) {
        next = work->next;
        release_workspace(work, sampler);
    }
    for (rgmi_label_schema *asked = lender->asked, *after; asked; asked = after) {
        after = asked->next;
        rgm_free(asked->label);
        rgm_schema_release(asked->schema);
        rgm_free(asked);
    }
    pthread_mutex_destroy(&lender->lock);
    rgm_free(lender);
}

rgm_status rgmi_sampler_borrow(rgmi_workspace **out, const rgm_sampler *sampler)
{
    rgm_status status = RGM_OK;
    rgmi_workspace *work;

    pthread_mutex_lock(&sampler->lender->lock);
    work = sampler->lender->idle;
    if (work)
        sampler->lender->idle = work->next;
    pthread_mutex_unlock(&sampler->lender->lock);
    if (work == NULL) {
        RGM_GO(RGM_NEW(work, 1));
        RGM_GO(RGM_NEW(work->known, sampler->node_set_count));
        RGM_GO(RGM_NEW(work->hops, sampler->op_count));
        for (int64_t i = 0; i < sampler->node_set_count; i++) {
            /* Read eight at a time. */
            RGM_GO(RGM_NEW(work->known[i].state, sampler->node_sets[i].total + 8));
            RGM_GO(RGM_NEW(work->known[i].local, sampler->node_sets[i].total));
        }
    }
    *out = work;
    work = NULL;
done:
    release_workspace(work, sampler);
    return status;
}

void rgmi_sampler_give_back(const rgm_sampler *sampler, rgmi_workspace *work, bool clean)
{
    for (int64_t i = 0; i < sampler->node_set_count; i++) {
        rgmi_local_nodes *known = &work->known[i];
        int64_t total = sampler->node_sets[i].total;
        if (!clean || known->count > total / 16)
            memset(known->state, 0, (size_t)total);
        else
            for (int64_t k = 0; k < known->count; k++)
                known->state[known->nodes[k]] = 0;
        known->count = 0;
    }
    pthread_mutex_lock(&sampler->lender->lock);
    work->next = sampler->lender->idle;
    sampler->lender->idle = work;
    pthread_mutex_unlock(&sampler->lender->lock);
}
