/*
 * OpenCL 1.2, loaded when it is asked for. It has no addresses: an address here is one of a range
 * of the process that is never mapped, and a sorted table says which buffer it lies in.
 */
#include "device_internal.h"
#include "opencl_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the library --------------------------------------------------------------------------- */

enum { MOST_DEVICES = 64, GAP = 4096 };

static struct {
    rgmi_opencl_api api;
    pthread_mutex_t lock;
    bool ready;
    void *device[MOST_DEVICES]; /* GPUs first */
    int devices;
} cl = {.lock = PTHREAD_MUTEX_INITIALIZER};

static rgm_status refused(int32_t code, const char *doing)
{
    static const struct {
        int32_t code;
        rgm_status status;
        const char *text;
    } texts[] = {
        {-2, RGM_ERR_IO, "the device is not available"},
        {-3, RGM_ERR_UNSUPPORTED, "it has no compiler"},
        {-4, RGM_ERR_NOMEM, "its memory is spent"},
        {-5, RGM_ERR_IO, "out of resources"},
        {-6, RGM_ERR_NOMEM, "the memory of the host is spent"},
        {-14, RGM_ERR_IO, "what was queued before has failed"},
        {-36, RGM_ERR_IO, "the queue is broken"},
        {-50, RGM_ERR_ARG, "there is no such argument"},
        {-51, RGM_ERR_ARG, "the argument is of another kind"},
        {-52, RGM_ERR_ARG, "arguments are missing"},
        {-54, RGM_ERR_ARG, "too many lanes in a group"},
        {-55, RGM_ERR_ARG, "too many lanes in a group"},
        {-61, RGM_ERR_NOMEM, "that is more than it allocates at once"},
        {-63, RGM_ERR_ARG, "too many groups"},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].code == code)
            return RGM_FAIL(texts[i].status, "OpenCL cannot %s: %s (error %d)", doing,
                            texts[i].text, (int)code);
    return RGM_FAIL(RGM_ERR_IO, "OpenCL cannot %s: error %d", doing, (int)code);
}

#define CL_TRY(call, doing)                                                                        \
    do {                                                                                           \
        int32_t code_ = cl.api.call;                                                               \
        if (code_ != 0)                                                                            \
            return refused(code_, doing);                                                          \
    } while (0)

static rgm_status load_library(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "OpenCL is not installed (%s); on Debian: apt install ocl-icd-libopencl1 "
                        "and the GPU maker's driver, or pocl-opencl-icd for this processor",
                        dlerror());
#define FIND(result, name, arguments)                                                              \
    {                                                                                              \
        void *found = dlsym(RTLD_DEFAULT, #name); /* what was loaded before us has its place */    \
        if (found == NULL)                                                                         \
            found = dlsym(library, #name);                                                         \
        if (found == NULL)                                                                         \
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "OpenCL: the library lacks %s", #name);           \
        memcpy(&cl.api.name, &found, sizeof found);                                                \
    }
    RGMI_OPENCL_FUNCTIONS(FIND)
#undef FIND
    return RGM_OK;
}

static uint64_t device_type(void *device)
{
    uint64_t type = 0;

    cl.api.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return type;
}

static rgm_status find_devices(void)
{
    void *platform[16], *device[MOST_DEVICES];
    uint32_t platforms = 0, found;
    int32_t code = cl.api.clGetPlatformIDs(16, platform, &platforms);

    cl.devices = 0;
    if (code == CL_PLATFORM_NOT_FOUND || (code == 0 && platforms == 0))
        return RGM_FAIL(
            RGM_ERR_UNSUPPORTED,
            "OpenCL has no driver here (nothing in /etc/OpenCL/vendors); on Debian: apt "
            "install pocl-opencl-icd for this processor, or the GPU maker's driver");
    if (code != 0)
        return refused(code, "list the platforms");
    for (int gpus = 1; gpus >= 0; gpus--)
        for (uint32_t p = 0; p < platforms && p < 16; p++) {
            found = 0;
            if (cl.api.clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, device,
                                      &found) != 0)
                continue;
            for (uint32_t d = 0; d < found && d < MOST_DEVICES && cl.devices < MOST_DEVICES; d++)
                if (((device_type(device[d]) & CL_DEVICE_TYPE_GPU) != 0) == gpus)
                    cl.device[cl.devices++] = device[d];
        }
    return RGM_OK;
}

static rgm_status opencl_count(int *out)
{
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&cl.lock);
    if (!cl.ready) {
        status = load_library();
        if (status == RGM_OK)
            status = find_devices();
        cl.ready = status == RGM_OK;
    }
    *out = cl.ready ? cl.devices : 0;
    pthread_mutex_unlock(&cl.lock);
    return status;
}

static uint64_t number_of(void *device, uint32_t what)
{
    uint64_t number = 0;

    cl.api.clGetDeviceInfo(device, what, sizeof number, &number, NULL);
    return number;
}

static void text_of(char *out, size_t size, void *device, uint32_t what)
{
    char text[1024] = "";

    if (cl.api.clGetDeviceInfo(device, what, sizeof text, text, NULL) != 0)
        text[0] = 0;
    text[sizeof text - 1] = 0;
    snprintf(out, size, "%s", text);
}

static rgm_status opencl_facts(rgmi_device_facts *out, int number)
{
    void *device = cl.device[number];
    char version[120], driver[50];

    *out = (rgmi_device_facts){.is_gpu = (device_type(device) & CL_DEVICE_TYPE_GPU) != 0};
    text_of(out->name, sizeof out->name, device, CL_DEVICE_NAME);
    text_of(version, sizeof version, device, CL_DEVICE_VERSION);
    text_of(driver, sizeof driver, device, CL_DRIVER_VERSION);
    snprintf(out->version, sizeof out->version, "%s, driver %s", version, driver);
    out->has_doubles = number_of(device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    out->memory = (size_t)number_of(device, CL_DEVICE_GLOBAL_MEM_SIZE);
    out->cache = (size_t)number_of(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    out->largest = (size_t)number_of(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    return RGM_OK;
}

/* ---- an open device ------------------------------------------------------------------------ */

typedef struct segment {
    uintptr_t begin;
    size_t size;
    void *buffer;
} segment;

typedef struct opencl {
    void *device, *context, *queue; /* one: see opencl_follow() */
    char options[128];
    char *range; /* of addresses, `range_size` bytes */
    size_t range_size;
    segment *segments; /* sorted */
    int64_t count, capacity;
} opencl;

static void opencl_close(void *state)
{
    opencl *o = state;

    if (o == NULL)
        return;
    for (int64_t i = 0; i < o->count; i++)
        cl.api.clReleaseMemObject(o->segments[i].buffer);
    if (o->queue != NULL)
        cl.api.clReleaseCommandQueue(o->queue);
    if (o->context != NULL)
        cl.api.clReleaseContext(o->context);
    if (o->range != NULL)
        munmap(o->range, o->range_size);
    rgm_free(o->segments);
    rgm_free(o);
}

static rgm_status open_device(opencl *o, int number)
{
    rgmi_device_facts facts;
    int32_t code;
    bool rounded;
    void *range;

    RGM_TRY(opencl_facts(&facts, number));
    o->device = cl.device[number];
    rounded = (number_of(o->device, CL_DEVICE_SINGLE_FP_CONFIG) &
               CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    snprintf(o->options, sizeof o->options, "-cl-std=CL1.2%s",
             rounded ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    o->context = cl.api.clCreateContext(NULL, 1, &o->device, NULL, NULL, &code);
    if (o->context == NULL)
        return refused(code, "open the device");
    o->queue = cl.api.clCreateCommandQueue(o->context, o->device, 0, &code);
    if (o->queue == NULL)
        return refused(code, "make a queue");
    o->range_size = 4 * facts.memory + ((size_t)1 << 30);
    range =
        mmap(NULL, o->range_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        return RGM_FAIL_SYSTEM("reserve addresses for", "the memory of an OpenCL device");
    o->range = range;
    return RGM_OK;
}

static rgm_status opencl_open(void **state, int number)
{
    opencl *o;
    rgm_status status;

    *state = NULL;
    RGM_TRY(RGM_NEW(o, 1));
    status = open_device(o, number);
    if (status != RGM_OK) {
        opencl_close(o);
        return status;
    }
    *state = o;
    return RGM_OK;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* The segment in which `address` lies, or just behind which; NULL: none. */
static const segment *segment_at(const opencl *o, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    int64_t low = 0, high = o->count;

    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (o->segments[middle].begin <= at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || at - o->segments[low - 1].begin > o->segments[low - 1].size)
        return NULL;
    return &o->segments[low - 1];
}

/* Where the first gap of `size` bytes is among the segments. */
static bool find_gap(const opencl *o, size_t size, int64_t *at, uintptr_t *begin)
{
    uintptr_t end = (uintptr_t)o->range + o->range_size;

    *begin = (uintptr_t)o->range + GAP;
    for (*at = 0; *at < o->count && o->segments[*at].begin - *begin < size + GAP; (*at)++)
        *begin = (o->segments[*at].begin + o->segments[*at].size + 2 * GAP - 1) / GAP * GAP;
    return *at < o->count || (*begin < end && end - *begin >= size + GAP);
}

static rgm_status opencl_take(void **out, void *state, size_t bytes)
{
    opencl *o = state;
    int32_t code;
    uintptr_t begin;
    int64_t at;
    void *buffer;

    RGM_TRY(RGM_RESERVE(o->segments, o->capacity, o->count + 1));
    if (!find_gap(o, bytes, &at, &begin))
        return RGM_FAIL(RGM_ERR_NOMEM, "OpenCL: no addresses are left for %zu bytes", bytes);
    buffer = cl.api.clCreateBuffer(o->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (buffer == NULL)
        return refused(code, "allocate memory");
    memmove(o->segments + at + 1, o->segments + at, (size_t)(o->count - at) * sizeof(segment));
    o->segments[at] = (segment){begin, bytes, buffer};
    o->count++;
    *out = (void *)begin;
    return RGM_OK;
}

static void opencl_give(void *state, void *memory, size_t bytes)
{
    opencl *o = state;
    int64_t at = segment_at(o, memory) - o->segments;

    (void)bytes;
    cl.api.clReleaseMemObject(o->segments[at].buffer); /* when the queue is done with it */
    o->count--;
    memmove(o->segments + at, o->segments + at + 1, (size_t)(o->count - at) * sizeof(segment));
}

static rgm_status place_of(const opencl *o, void **buffer, size_t *offset, const void *address,
                           size_t bytes)
{
    const segment *found = segment_at(o, address);

    if (found == NULL || (uintptr_t)address - found->begin + bytes > found->size)
        return RGM_FAIL(RGM_ERR_ARG, "%zu bytes at %p are no memory of the device", bytes,
                        (void *)(uintptr_t)address);
    *buffer = found->buffer;
    *offset = (uintptr_t)address - found->begin;
    return RGM_OK;
}

static rgm_status opencl_pin(void **host, void **handle, void *state, size_t bytes)
{
    opencl *o = state;
    int32_t code;

    *handle = cl.api.clCreateBuffer(o->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                    NULL, &code);
    if (*handle == NULL)
        return refused(code, "allocate memory for copies");
    *host = cl.api.clEnqueueMapBuffer(o->queue, *handle, 1, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL,
                                      &code);
    if (*host != NULL)
        return RGM_OK;
    cl.api.clReleaseMemObject(*handle);
    return refused(code, "map memory for copies");
}

static void opencl_unpin(void *state, void *host, void *handle)
{
    cl.api.clEnqueueUnmapMemObject(((opencl *)state)->queue, handle, host, 0, NULL, NULL);
    cl.api.clReleaseMemObject(handle);
}

static rgm_status opencl_write(void *state, rgm_device_queue queue, void *to, const void *from,
                               size_t bytes)
{
    opencl *o = state;
    void *buffer;
    size_t offset;

    (void)queue;
    RGM_TRY(place_of(o, &buffer, &offset, to, bytes));
    CL_TRY(clEnqueueWriteBuffer(o->queue, buffer, 0, offset, bytes, from, 0, NULL, NULL),
           "copy to the device");
    return RGM_OK;
}

static void opencl_forget(void *state, void *event)
{
    (void)state;
    cl.api.clReleaseEvent(event);
}

static rgm_status opencl_mark(void **event, void *state, rgm_device_queue queue)
{
    opencl *o = state;
    int32_t code;

    (void)queue;
    CL_TRY(clEnqueueMarkerWithWaitList(o->queue, 0, NULL, event), "mark a place of the queue");
    code = cl.api.clFlush(o->queue);
    if (code == 0)
        return RGM_OK;
    opencl_forget(state, *event);
    *event = NULL;
    return refused(code, "send the queue");
}

static rgm_status opencl_reach(void *state, void *event)
{
    (void)state;
    CL_TRY(clWaitForEvents(1, &event), "wait for a copy");
    return RGM_OK;
}

/* Blocks share buffers, and what two queues do to one buffer at a time is undefined in OpenCL 1.2
 * (PoCL 3.1 lets commands overtake the event that they wait for, or waits for ever). So copies have
 * their turn in the one queue, which is behind whatever was marked. */
static rgm_status opencl_follow(void *state, rgm_device_queue queue, void *event)
{
    (void)state, (void)queue, (void)event;
    return RGM_OK;
}

static size_t opencl_available(void *state)
{
    (void)state;
    return 0;
}

static rgm_status opencl_read(void *state, void *to, const void *from, size_t bytes)
{
    opencl *o = state;
    void *buffer;
    size_t offset;

    RGM_TRY(place_of(o, &buffer, &offset, from, bytes));
    CL_TRY(clEnqueueReadBuffer(o->queue, buffer, 1, offset, bytes, to, 0, NULL, NULL),
           "copy from the device");
    return RGM_OK;
}

static rgm_status opencl_finish(void *state)
{
    CL_TRY(clFinish(((opencl *)state)->queue), "wait for the device");
    return RGM_OK;
}

/* ---- programs ------------------------------------------------------------------------------ */

static rgm_status compiler_says(opencl *o, void *program, const char *name)
{
    char text[8192] = "";

    if (cl.api.clGetProgramBuildInfo(program, o->device, CL_PROGRAM_BUILD_LOG, sizeof text - 1,
                                     text, NULL) != 0)
        snprintf(text, sizeof text, "the compiler's log has more than %zu bytes", sizeof text);
    return RGM_FAIL(RGM_ERR_DATA, "%s.dev does not compile: %.700s", name,
                    rgmi_compiler_words(text));
}

static void opencl_options(char *out, size_t size, void *state, rgm_dtype real)
{
    snprintf(out, size, "%s -DREAL=%s", ((opencl *)state)->options,
             real == RGM_F64 ? "double" : "float");
}

/* Not every device has one; then the program is compiled again in the next process. */
static rgm_status binary_of(rgm_text *binary, void *program)
{
    size_t size = 0;
    unsigned char *data;
    rgm_status status = RGM_OK;

    if (cl.api.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != 0 ||
        size == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(data, (int64_t)size));
    if (cl.api.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, NULL) == 0)
        status = rgm_text_add(binary, data, (int64_t)size);
    rgm_free(data);
    return status;
}

static rgm_status opencl_compile(void **module, rgm_text *binary, void *state, const char *name,
                                 const char *source, rgm_dtype real)
{
    opencl *o = state;
    char options[200];
    int32_t code;
    void *program = cl.api.clCreateProgramWithSource(o->context, 1, &source, NULL, &code);
    rgm_status status;

    if (program == NULL)
        return refused(code, "make a program");
    opencl_options(options, sizeof options, o, real);
    code = cl.api.clBuildProgram(program, 1, &o->device, options, NULL, NULL);
    if (code == CL_BUILD_PROGRAM_FAILURE)
        status = compiler_says(o, program, name);
    else
        status = code == 0 ? binary_of(binary, program) : refused(code, "compile");
    if (status != RGM_OK)
        cl.api.clReleaseProgram(program);
    else
        *module = program;
    return status;
}

static rgm_status opencl_load(void **module, void *state, const void *binary, int64_t size)
{
    opencl *o = state;
    const unsigned char *data = binary;
    size_t bytes = (size_t)size;
    int32_t code, taken = 0;
    void *program =
        cl.api.clCreateProgramWithBinary(o->context, 1, &o->device, &bytes, &data, &taken, &code);

    if (program != NULL && taken == 0)
        code = cl.api.clBuildProgram(program, 1, &o->device, "", NULL, NULL);
    if (program != NULL && taken == 0 && code == 0) {
        *module = program;
        return RGM_OK;
    }
    if (program != NULL)
        cl.api.clReleaseProgram(program);
    return RGM_FAIL(RGM_ERR_DATA, "OpenCL does not take the binary (error %d)", (int)code);
}

static void opencl_unload(void *state, void *module)
{
    (void)state;
    cl.api.clReleaseProgram(module);
}

static rgm_status opencl_find(void **kernel, void *state, void *module, const char *name)
{
    int32_t code;

    (void)state;
    *kernel = cl.api.clCreateKernel(module, name, &code);
    if (*kernel == NULL && code == CL_INVALID_KERNEL_NAME)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no KERNEL of that name");
    return *kernel != NULL ? RGM_OK : refused(code, "make a kernel");
}

static void opencl_drop(void *state, void *kernel)
{
    (void)state;
    cl.api.clReleaseKernel(kernel);
}

static rgm_status set_memory(opencl *o, void *kernel, uint32_t *at, const void *address)
{
    void *buffer = NULL;
    size_t offset = 0;
    int64_t as_long;

    if (address != NULL)
        RGM_TRY(place_of(o, &buffer, &offset, address, 0));
    as_long = (int64_t)offset;
    CL_TRY(clSetKernelArg(kernel, (*at)++, sizeof buffer, &buffer), "give memory to a kernel");
    CL_TRY(clSetKernelArg(kernel, (*at)++, sizeof as_long, &as_long), "give memory to a kernel");
    return RGM_OK;
}

static rgm_status set_argument(opencl *o, void *kernel, uint32_t *at, const rgm_argument *argument,
                               rgm_dtype real)
{
    float narrow = (float)argument->value.real;

    if (argument->kind == RGM_ARGUMENT_MEMORY)
        return set_memory(o, kernel, at, argument->value.memory);
    if (argument->kind == RGM_ARGUMENT_INTEGER)
        CL_TRY(clSetKernelArg(kernel, (*at)++, sizeof(int64_t), &argument->value.integer),
               "give a whole number (long) to a kernel");
    else if (real == RGM_F64)
        CL_TRY(clSetKernelArg(kernel, (*at)++, sizeof(double), &argument->value.real),
               "give a number (REAL) to a kernel");
    else
        CL_TRY(clSetKernelArg(kernel, (*at)++, sizeof narrow, &narrow),
               "give a number (REAL) to a kernel");
    return RGM_OK;
}

static rgm_status opencl_launch(void *state, void *kernel, int64_t groups, int lanes,
                                const void *flag, const rgm_argument *arguments, int count,
                                rgm_dtype real)
{
    opencl *o = state;
    size_t local = (size_t)lanes, global = (size_t)groups * local;
    uint32_t at = 0, wanted = 0;

    RGM_TRY(set_memory(o, kernel, &at, flag));
    for (int i = 0; i < count; i++) {
        rgm_status status = set_argument(o, kernel, &at, &arguments[i], real);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "argument %d", i);
    }
    /* One that was left out would still be that of the launch before. */
    CL_TRY(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof wanted, &wanted, NULL),
           "count the arguments of a kernel");
    if (at != wanted)
        return RGM_FAIL(RGM_ERR_ARG, "%d arguments, which are not all that it takes", count);
    CL_TRY(clEnqueueNDRangeKernel(o->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
           "launch");
    return RGM_OK;
}

/* ---- a queue that comes again ---------------------------------------------------------------- */

/* OpenCL 1.2 has no object for it: launches with their arguments, which are queued one after the
 * other. */
typedef struct opencl_graph {
    int64_t count;
    rgmi_kernel_call *launches;
    rgm_argument *arguments; /* [count][RGM_ARGUMENTS] */
} opencl_graph;

static void opencl_graph_free(void *state, void *graph)
{
    opencl_graph *g = graph;

    (void)state;
    rgm_free(g->launches);
    rgm_free(g->arguments);
    rgm_free(g);
}

static rgm_status opencl_graph_set(void *state, void *graph, int64_t i,
                                   const rgmi_kernel_call *launch)
{
    opencl_graph *g = graph;
    rgm_argument *own = g->arguments + i * RGM_ARGUMENTS;

    (void)state;
    memcpy(own, launch->arguments, (size_t)launch->count * sizeof *own);
    g->launches[i] = *launch;
    g->launches[i].arguments = own;
    return RGM_OK;
}

static rgm_status opencl_graph_make(void **graph, void *state, const rgmi_kernel_call *launches,
                                    int64_t count)
{
    rgm_status status = RGM_OK;
    opencl_graph *g = NULL;

    RGM_GO(RGM_NEW(g, 1));
    g->count = count;
    RGM_GO(RGM_NEW(g->launches, count));
    RGM_GO(RGM_NEW(g->arguments, count * RGM_ARGUMENTS));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(opencl_graph_set(state, g, i, &launches[i]));
    *graph = g;
    g = NULL;
done:
    if (g != NULL)
        opencl_graph_free(state, g);
    return status;
}

static rgm_status opencl_graph_run(void *state, void *graph)
{
    const opencl_graph *g = graph;

    for (int64_t i = 0; i < g->count; i++) {
        const rgmi_kernel_call *l = &g->launches[i];
        RGM_TRY(opencl_launch(state, l->kernel, l->groups, l->lanes, l->flag, l->arguments,
                              l->count, l->real));
    }
    return RGM_OK;
}

const rgmi_driver rgmi_opencl = {
    .name = "opencl",
    .count = opencl_count,
    .facts = opencl_facts,
    .open = opencl_open,
    .close = opencl_close,
    .take = opencl_take,
    .give = opencl_give,
    .available = opencl_available,
    .pin = opencl_pin,
    .unpin = opencl_unpin,
    .write = opencl_write,
    .read = opencl_read,
    .mark = opencl_mark,
    .reach = opencl_reach,
    .follow = opencl_follow,
    .forget = opencl_forget,
    .finish = opencl_finish,
    .options = opencl_options,
    .compile = opencl_compile,
    .load = opencl_load,
    .unload = opencl_unload,
    .find = opencl_find,
    .drop = opencl_drop,
    .launch = opencl_launch,
    .graph_make = opencl_graph_make,
    .graph_set = opencl_graph_set,
    .graph_run = opencl_graph_run,
    .graph_free = opencl_graph_free,
};
