/*
 * NVIDIA's GPUs by CUDA's driver interface, loaded when it is asked for. One stream a device, in
 * the device's primary context, which other libraries of the process share.
 */
#include "cublas.h"
#include "cuda_api.h"
#include "nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- the library --------------------------------------------------------------------------- */

static struct {
    rgmi_cuda_api api;
    pthread_mutex_t lock;
    bool ready, has_graphs;
    int devices;
} cu = {.lock = PTHREAD_MUTEX_INITIALIZER};

static rgm_status status_of(int code)
{
    switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return RGM_ERR_NOMEM;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
        return RGM_ERR_ARG;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return RGM_ERR_DATA;
    case CUDA_ERROR_NOT_FOUND:
        return RGM_ERR_NOT_FOUND;
    default:
        return RGM_ERR_IO;
    }
}

static rgm_status refused(int code, const char *doing)
{
    const char *name = NULL, *text = NULL;

    (void)cu.api.cuGetErrorName(code, &name);
    (void)cu.api.cuGetErrorString(code, &text);
    return RGM_FAIL(status_of(code), "CUDA cannot %s: %s (%s, %d)", doing,
                    text != NULL ? text : "unknown error", name != NULL ? name : "?", code);
}

#define CU_TRY(call, doing)                                                                        \
    do {                                                                                           \
        int code_ = cu.api.call;                                                                   \
        if (code_ != 0)                                                                            \
            return refused(code_, doing);                                                          \
    } while (0)

static rgm_status load_library(void)
{
    /* Where containers and WSL have it without telling the loader. */
    static const char *const places[] = {"/usr/local/nvidia/lib64/libcuda.so.1",
                                         "/usr/lib/wsl/lib/libcuda.so.1"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    for (int i = 0; library == NULL && i < 2; i++)
        if (rgm_path_exists(places[i]))
            library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "CUDA's driver is not installed (%s): install NVIDIA's driver", dlerror());
#define FIND(name, symbol, arguments)                                                              \
    {                                                                                              \
        void *found = dlsym(library, symbol);                                                      \
        if (found == NULL) {                                                                       \
            dlclose(library);                                                                      \
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "CUDA's driver is too old: it lacks %s", symbol); \
        }                                                                                          \
        memcpy(&cu.api.name, &found, sizeof found);                                                \
    }
    RGMI_CUDA_FUNCTIONS(FIND)
#undef FIND
    cu.has_graphs = true;
#define FIND(name, symbol, arguments)                                                              \
    {                                                                                              \
        void *found = dlsym(library, symbol);                                                      \
        cu.has_graphs = cu.has_graphs && found != NULL;                                            \
        memcpy(&cu.api.name, &found, sizeof found);                                                \
    }
    RGMI_CUDA_GRAPH_FUNCTIONS(FIND)
#undef FIND
    return RGM_OK;
}

static rgm_status begin(void)
{
    int code;

    RGM_TRY(load_library());
    code = cu.api.cuInit(0);
    if (code == CUDA_ERROR_NO_DEVICE)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "CUDA's driver finds no GPU");
    if (code != 0) {
        rgm_status status = refused(code, "begin");
        return status == RGM_ERR_NOMEM ? status
                                       : RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s", rgm_error_message());
    }
    CU_TRY(cuDeviceGetCount(&cu.devices), "list the GPUs");
    return RGM_OK;
}

static rgm_status cuda_count(int *out)
{
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&cu.lock);
    if (!cu.ready) {
        status = begin();
        cu.ready = status == RGM_OK;
    }
    *out = cu.ready ? cu.devices : 0;
    pthread_mutex_unlock(&cu.lock);
    return status;
}

static rgm_status architecture_of(int *out, int device)
{
    int major, minor;

    CU_TRY(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
           "ask for the compute capability");
    CU_TRY(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
           "ask for the compute capability");
    *out = 10 * major + minor;
    return RGM_OK;
}

static rgm_status cuda_facts(rgmi_device_facts *out, int number)
{
    char compiler[40] = "without NVRTC";
    int device, architecture, cache = 0, driver = 0, version = 0;

    *out = (rgmi_device_facts){.is_gpu = true, .has_doubles = true};
    CU_TRY(cuDeviceGet(&device, number), "find the GPU");
    CU_TRY(cuDeviceGetName(out->name, sizeof out->name, device), "ask for the GPU's name");
    CU_TRY(cuDeviceTotalMem(&out->memory, device), "ask for the GPU's memory");
    RGM_TRY(architecture_of(&architecture, device));
    CU_TRY(cuDeviceGetAttribute(&cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device),
           "ask for the size of its cache");
    out->largest = out->memory;
    out->cache = (size_t)cache;
    CU_TRY(cuDriverGetVersion(&driver), "ask for its version");
    if (rgmi_nvrtc_load(&version) == RGM_OK)
        snprintf(compiler, sizeof compiler, "NVRTC %d.%d", version / 1000, version % 1000 / 10);
    snprintf(out->version, sizeof out->version, "compute %d.%d, CUDA %d.%d, %s", architecture / 10,
             architecture % 10, driver / 1000, driver % 1000 / 10, compiler);
    return RGM_OK;
}

/* ---- an open device ------------------------------------------------------------------------ */

typedef struct cuda {
    void *context, *streams[2]; /* by queue */
    void *blas;                 /* NULL: no cuBLAS */
    int device, architecture;
} cuda;

/* Every call begins so: the context is the thread's, and threads come and go. */
static cuda *current(void *state)
{
    cuda *c = state;

    (void)cu.api.cuCtxSetCurrent(c->context); /* what is wrong the next call says */
    return c;
}

static void cuda_close(void *state)
{
    cuda *c = state;

    if (c->context != NULL) {
        current(c);
        rgmi_cublas_close(c->blas);
        for (int i = 0; i < 2; i++)
            if (c->streams[i] != NULL)
                (void)cu.api.cuStreamDestroy(c->streams[i]);
        (void)cu.api.cuDevicePrimaryCtxRelease(c->device);
    }
    rgm_free(c);
}

static rgm_status open_device(cuda *c, int number)
{
    int version;

    RGM_TRY(rgmi_nvrtc_load(&version));
    CU_TRY(cuDeviceGet(&c->device, number), "find the GPU");
    RGM_TRY(architecture_of(&c->architecture, c->device));
    CU_TRY(cuDevicePrimaryCtxRetain(&c->context, c->device), "open the GPU");
    current(c);
    for (int i = 0; i < 2; i++)
        CU_TRY(cuStreamCreate(&c->streams[i], CU_STREAM_NON_BLOCKING), "make a stream");
    c->blas = rgmi_cublas_open(c->streams[RGM_DEVICE_KERNELS]);
    return RGM_OK;
}

static rgm_status cuda_open(void **state, int number)
{
    cuda *c;
    rgm_status status;

    *state = NULL;
    RGM_TRY(RGM_NEW(c, 1));
    status = open_device(c, number);
    if (status != RGM_OK)
        cuda_close(c);
    else
        *state = c;
    return status;
}

/* ---- memory and copies --------------------------------------------------------------------- */

static rgm_status cuda_take(void **out, void *state, size_t bytes)
{
    uint64_t address;

    current(state);
    CU_TRY(cuMemAlloc(&address, bytes), "allocate memory");
    *out = (void *)(uintptr_t)address;
    return RGM_OK;
}

static void cuda_give(void *state, void *memory, size_t bytes)
{
    (void)bytes;
    current(state);
    (void)cu.api.cuMemFree((uintptr_t)memory); /* waits for what uses it */
}

static size_t cuda_available(void *state)
{
    size_t available = 0, all;

    current(state);
    return cu.api.cuMemGetInfo(&available, &all) == 0 ? available : 0;
}

static rgm_status cuda_pin(void **host, void **handle, void *state, size_t bytes)
{
    current(state);
    *handle = NULL;
    CU_TRY(cuMemHostAlloc(host, bytes, 0), "allocate memory for copies");
    return RGM_OK;
}

static void cuda_unpin(void *state, void *host, void *handle)
{
    (void)handle;
    current(state);
    (void)cu.api.cuMemFreeHost(host);
}

static rgm_status cuda_write(void *state, rgm_device_queue queue, void *to, const void *from,
                             size_t bytes)
{
    cuda *c = current(state);

    CU_TRY(cuMemcpyHtoDAsync((uintptr_t)to, from, bytes, c->streams[queue]), "copy to the device");
    return RGM_OK;
}

static rgm_status cuda_read(void *state, void *to, const void *from, size_t bytes)
{
    void *stream = current(state)->streams[RGM_DEVICE_KERNELS];

    CU_TRY(cuMemcpyDtoHAsync(to, (uintptr_t)from, bytes, stream), "copy from the device");
    CU_TRY(cuStreamSynchronize(stream), "wait for a copy from the device");
    return RGM_OK;
}

static void cuda_forget(void *state, void *event)
{
    current(state);
    (void)cu.api.cuEventDestroy(event);
}

static rgm_status cuda_mark(void **event, void *state, rgm_device_queue queue)
{
    cuda *c = current(state);
    int code;

    CU_TRY(cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "make an event");
    code = cu.api.cuEventRecord(*event, c->streams[queue]);
    if (code == 0)
        return RGM_OK;
    cuda_forget(state, *event);
    *event = NULL;
    return refused(code, "mark a place of the stream");
}

static rgm_status cuda_reach(void *state, void *event)
{
    current(state);
    CU_TRY(cuEventSynchronize(event), "wait for a copy");
    return RGM_OK;
}

static rgm_status cuda_follow(void *state, rgm_device_queue queue, void *event)
{
    CU_TRY(cuStreamWaitEvent(current(state)->streams[queue], event, 0),
           "let a stream wait for another");
    return RGM_OK;
}

static rgm_status cuda_finish(void *state)
{
    cuda *c = current(state);

    for (int i = 0; i < 2; i++)
        CU_TRY(cuStreamSynchronize(c->streams[i]), "wait for the device");
    return RGM_OK;
}

/* ---- programs ------------------------------------------------------------------------------ */

static void cuda_options(char *out, size_t size, void *state, rgm_dtype real)
{
    snprintf(out, size, "sm_%d %s", ((cuda *)state)->architecture,
             real == RGM_F64 ? "double" : "float");
}

static rgm_status cuda_load(void **module, void *state, const void *binary, int64_t size)
{
    (void)size; /* the driver finds the end of a CUBIN; PTX has its 0 with it */
    current(state);
    CU_TRY(cuModuleLoadData(module, binary), "load a compiled program");
    return RGM_OK;
}

static rgm_status cuda_compile(void **module, rgm_text *binary, void *state, const char *name,
                               const char *source, rgm_dtype real)
{
    RGM_TRY(rgmi_nvrtc_compile(binary, name, source, ((cuda *)state)->architecture, real));
    return cuda_load(module, state, binary->data, binary->size);
}

static void cuda_unload(void *state, void *module)
{
    current(state);
    (void)cu.api.cuModuleUnload(module);
}

static rgm_status cuda_find(void **kernel, void *state, void *module, const char *name)
{
    current(state);
    CU_TRY(cuModuleGetFunction(kernel, module, name), "find a KERNEL of that name");
    return RGM_OK;
}

static void cuda_drop(void *state, void *kernel)
{
    (void)state, (void)kernel; /* goes with its module */
}

/* Where the arguments of a launch are, as the driver takes them. */
typedef struct packed {
    const void *flag;
    void *given[2 + 2 * RGM_ARGUMENTS];
    float narrow[RGM_ARGUMENTS];
} packed;

static void pack(packed *p, const void *flag, const rgm_argument *arguments, int count,
                 rgm_dtype real)
{
    static const int64_t no_offset = 0;
    int at = 0;

    p->flag = flag;
    p->given[at++] = (void *)(uintptr_t)&p->flag;
    p->given[at++] = (void *)(uintptr_t)&no_offset;
    for (int i = 0; i < count; i++) { /* the union's address is that of each of its members */
        p->given[at++] = (void *)(uintptr_t)&arguments[i].value;
        if (arguments[i].kind == RGM_ARGUMENT_MEMORY)
            p->given[at++] = (void *)(uintptr_t)&no_offset;
        if (arguments[i].kind == RGM_ARGUMENT_REAL && real != RGM_F64) {
            p->narrow[i] = (float)arguments[i].value.real;
            p->given[at - 1] = &p->narrow[i];
        }
    }
}

static rgm_status cuda_launch(void *state, void *kernel, int64_t groups, int lanes,
                              const void *flag, const rgm_argument *arguments, int count,
                              rgm_dtype real)
{
    cuda *c = current(state);
    packed p;

    pack(&p, flag, arguments, count, real);
    CU_TRY(cuLaunchKernel(kernel, (unsigned)groups, 1, 1, (unsigned)lanes, 1, 1, 0,
                          c->streams[RGM_DEVICE_KERNELS], p.given, NULL),
           "launch");
    return RGM_OK;
}

/* ---- a queue that comes again ---------------------------------------------------------------- */

typedef struct cuda_graph {
    void *graph, *executable;
    void **nodes;
} cuda_graph;

static void cuda_graph_free(void *state, void *graph)
{
    cuda_graph *g = graph;

    current(state);
    if (g->executable != NULL)
        (void)cu.api.cuGraphExecDestroy(g->executable);
    if (g->graph != NULL)
        (void)cu.api.cuGraphDestroy(g->graph);
    rgm_free(g->nodes);
    rgm_free(g);
}

/* A launch as a node; `p` has its arguments for as long as the node is given to the driver. */
static rgmi_cuda_node node_of(packed *p, const rgmi_kernel_call *l)
{
    pack(p, l->flag, l->arguments, l->count, l->real);
    return (rgmi_cuda_node){.kernel = l->kernel,
                            .groups = {(unsigned)l->groups, 1, 1},
                            .lanes = {(unsigned)l->lanes, 1, 1},
                            .arguments = p->given};
}

static rgm_status make_nodes(cuda_graph *g, const rgmi_kernel_call *launches, int64_t count)
{
    packed p;

    RGM_TRY(RGM_NEW(g->nodes, count));
    CU_TRY(cuGraphCreate(&g->graph, 0), "make a graph");
    for (int64_t i = 0; i < count; i++) { /* each behind the one before */
        const rgmi_cuda_node node = node_of(&p, &launches[i]);
        CU_TRY(cuGraphAddKernelNode(&g->nodes[i], g->graph, i > 0 ? &g->nodes[i - 1] : NULL, i > 0,
                                    &node),
               "add a kernel to a graph");
    }
    CU_TRY(cuGraphInstantiateWithFlags(&g->executable, g->graph, 0), "compile a graph");
    return RGM_OK;
}

static rgm_status cuda_graph_make(void **graph, void *state, const rgmi_kernel_call *launches,
                                  int64_t count)
{
    cuda_graph *g;
    rgm_status status;

    current(state);
    if (!cu.has_graphs)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "CUDA's driver has no graphs");
    RGM_TRY(RGM_NEW(g, 1));
    status = make_nodes(g, launches, count);
    if (status != RGM_OK)
        cuda_graph_free(state, g);
    else
        *graph = g;
    return status;
}

static rgm_status cuda_graph_set(void *state, void *graph, int64_t i,
                                 const rgmi_kernel_call *launch)
{
    const cuda_graph *g = graph;
    packed p;
    const rgmi_cuda_node node = node_of(&p, launch);

    current(state);
    CU_TRY(cuGraphExecKernelNodeSetParams(g->executable, g->nodes[i], &node),
           "change a kernel of a graph");
    return RGM_OK;
}

static rgm_status cuda_graph_run(void *state, void *graph)
{
    CU_TRY(cuGraphLaunch(((const cuda_graph *)graph)->executable,
                         current(state)->streams[RGM_DEVICE_KERNELS]),
           "launch a graph");
    return RGM_OK;
}

static rgm_status cuda_multiply(void *state, const rgm_product *product, rgm_dtype dtype)
{
    return rgmi_cublas_multiply(current(state)->blas, product, dtype);
}

const rgmi_driver rgmi_cuda = {
    .name = "cuda",
    .replays = true,
    .count = cuda_count,
    .facts = cuda_facts,
    .open = cuda_open,
    .close = cuda_close,
    .take = cuda_take,
    .give = cuda_give,
    .available = cuda_available,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .write = cuda_write,
    .read = cuda_read,
    .mark = cuda_mark,
    .reach = cuda_reach,
    .follow = cuda_follow,
    .forget = cuda_forget,
    .finish = cuda_finish,
    .options = cuda_options,
    .compile = cuda_compile,
    .load = cuda_load,
    .unload = cuda_unload,
    .find = cuda_find,
    .drop = cuda_drop,
    .launch = cuda_launch,
    .graph_make = cuda_graph_make,
    .graph_set = cuda_graph_set,
    .graph_run = cuda_graph_run,
    .graph_free = cuda_graph_free,
    .multiply = cuda_multiply,
};
