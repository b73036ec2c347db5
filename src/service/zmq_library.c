/*
 * ZeroMQ, loaded when somebody asks for workers: its C interface needs neither headers nor a
 * package at build time.
 */
#include "service_internal.h"

#include <dlfcn.h>
#include <errno.h>

#define FILE_NAME "libzmq.so.5"

static rgmi_zmq table;
static rgm_status loaded;
static rgm_error why;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static rgm_status take(void *object)
{
    static const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"zmq_version", &table.version},
        {"zmq_has", &table.has},
        {"zmq_errno", &table.error},
        {"zmq_strerror", &table.text},
        {"zmq_ctx_new", &table.ctx_new},
        {"zmq_ctx_term", &table.ctx_term},
        {"zmq_socket", &table.socket},
        {"zmq_close", &table.close},
        {"zmq_setsockopt", &table.setsockopt},
        {"zmq_getsockopt", &table.getsockopt},
        {"zmq_bind", &table.bind},
        {"zmq_connect", &table.connect},
        {"zmq_send", &table.send},
        {"zmq_poll", &table.poll},
        {"zmq_msg_init", &table.msg_init},
        {"zmq_msg_recv", &table.msg_recv},
        {"zmq_msg_close", &table.msg_close},
        {"zmq_msg_data", &table.msg_data},
        {"zmq_msg_size", &table.msg_size},
        {"zmq_curve_keypair", &table.curve_keypair},
        {"zmq_curve_public", &table.curve_public},
        {"zmq_z85_decode", &table.z85_decode},
    };

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(object, functions[i].name);

        if (found == NULL)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "input workers: %s has no %s: it is too old",
                            FILE_NAME, functions[i].name);
        memcpy(functions[i].place, &found, sizeof found);
    }
    return table.has("curve") != 0
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_UNSUPPORTED,
                          "input workers: this ZeroMQ was built without CURVE, which keeps "
                          "strangers out; Debian's libzmq5 has it");
}

static void load(void)
{
    void *object = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    loaded = object != NULL
                 ? take(object)
                 : RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "input workers need ZeroMQ, which is not installed (%s); on Debian: "
                            "apt install libzmq5",
                            dlerror());
    if (loaded != RGM_OK)
        rgm_error_save(&why, loaded);
}

rgm_status rgmi_zmq_load(const rgmi_zmq **out)
{
    *out = &table;
    pthread_once(&once, load);
    return loaded == RGM_OK ? RGM_OK : rgm_error_restore(&why);
}

rgm_status rgmi_zmq_failed(const rgmi_zmq *zmq, const char *doing, const char *what)
{
    int error = zmq->error();

    return RGM_FAIL(error == EADDRINUSE ? RGM_ERR_BUSY
                    : error == ENOMEM   ? RGM_ERR_NOMEM
                                        : RGM_ERR_IO,
                    "input workers: cannot %s '%s': %s", doing, what, zmq->text(error));
}

rgm_status rgmi_zmq_set_int(const rgmi_zmq *zmq, void *socket, int option, int value)
{
    return zmq->setsockopt(socket, option, &value, sizeof value) == 0
               ? RGM_OK
               : rgmi_zmq_failed(zmq, "set an option of", "a socket");
}

rgm_status rgm_service_describe(rgm_text *out)
{
    const rgmi_zmq *zmq;
    int major, minor, patch;

    RGM_TRY(rgmi_zmq_load(&zmq));
    zmq->version(&major, &minor, &patch);
    return rgm_text_printf(out, "ZeroMQ %d.%d.%d, CURVE", major, minor, patch);
}
