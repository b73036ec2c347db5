/* A worker's parts: the threads that make batches, and the one that talks with the trainer. */
#ifndef RGMI_WORKER_INTERNAL_H
#define RGMI_WORKER_INTERNAL_H

#include "service_internal.h"

/** Which pass over the data the trainer wants; counted, as threads may be behind. */
typedef struct rgmi_session {
    atomic_int references;
    int64_t id, first; /* number `first` is the next behind the position */
    rgm_text position;
} rgmi_session;
rgm_status rgmi_session_create(rgmi_session **out, const rgmi_saying *open);
rgmi_session *rgmi_session_retain(rgmi_session *session);
void rgmi_session_release(rgmi_session *session);

/** A number to be made, and then what was made of it: the message for the trainer. */
typedef struct rgmi_batch_job {
    struct rgmi_batch_job *next;
    rgmi_session *session;
    int64_t number;
    rgm_text message;
    bool failed; /* there was no memory for a message */
} rgmi_batch_job;
void rgmi_job_release(rgmi_batch_job *job);

/** The threads. */
typedef struct rgmi_makers rgmi_makers;
rgm_status rgmi_makers_create(rgmi_makers **out, const rgm_dataset *dataset, int threads);
/** Ends them, when each has made what it is at. */
void rgmi_makers_release(rgmi_makers *makers);
/** Becomes readable when a job is done. */
int rgmi_makers_fd(const rgmi_makers *makers);
/** Takes over the job. */
void rgmi_makers_add(rgmi_makers *makers, rgmi_batch_job *job);
/** A job that is done, to be released; NULL: none is. */
rgmi_batch_job *rgmi_makers_take(rgmi_makers *makers);
/** Drop what nobody has begun: the trainer is another, or wants another pass. */
void rgmi_makers_drop(rgmi_makers *makers);

#endif
