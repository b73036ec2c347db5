/*
 * autodiff, the executor: compiles what some fetched values need (fusion passes, one arena planned
 * per binding of the dims) for a device, and runs it again and again.
 */
#ifndef REGIMEN_AUTODIFF_EXECUTOR_H
#define REGIMEN_AUTODIFF_EXECUTOR_H

#include <regimen/autodiff_graph.h>
#include <regimen/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rgm_executor rgm_executor;
typedef struct rgm_executor_options {
    bool training;  /* dropout on                                                                */
    bool eager;     /* no fusion, op by op, every value kept; stops at the first NaN or infinity */
    bool no_fusion; /* tests: plan without the passes                                            */
    bool bf16;      /* f32 products of matrices, in convolutions and gradients too, round to bf16
                       and sum in f32, where the CPU is faster so (see rgm_kernels_for()); all
                       else, parameters first of all, stays f32                                  */
    bool inference; /* many runs with the same parameters: those that products read are packed as
                       the kernel likes them, in the first run and after rgm_parameters_touch();
                       a row of such a product has the same bits whatever rows are beside it.
                       Takes once more the memory of those weights                               */
    bool int8;      /* with inference, of the CPU: products with a stored matrix in 8 bits, see
                       RGM_I8 of rgm_kernels_for(); all else stays f32                          */
    int64_t plans;  /* bindings of the sizes that are kept planned at a time; 0: 32              */
    rgm_device *device; /* where it computes, and has its memory; NULL: the CPU. Outlives it      */
    /* With inference: packed weights are kept together with those of this executor, which has the
       same device. What both pack is there once, as long as both run with the same parameters.
       Neither runs while the other does. NULL: it keeps its own. */
    const rgm_executor *packed_with;
    /* Of a device whose memory is not the host's, NULL or false: no. */
    const bool *stays; /* [fetches] of which the elements are not copied to the host: the fetched
                          tensor is one of the device (rgm_tensor_device())                       */
    bool fixed_feeds; /* nobody writes to a tensor once it was fed, so that one that is fed again is
                         not copied again                                                         */
    /* Called in each run when all that it computes is queued, before the host waits for any of it:
       the place for rgm_executor_feed_ahead(). NULL: nobody has anything to do meanwhile. */
    void (*meanwhile)(rgm_executor *executor, void *payload);
    void *meanwhile_payload;
} rgm_executor_options;

/** A fed input: a pattern, or a tensor of the host or of the executor's device, which is read where
 * it lies. A tensor must not change after it was fed (feed
 * another): what depends on unchanged feeds alone is not computed again. One whose readers all
 * depend on parameters, or on a feed that is another each time, may, but for options.fixed_feeds:
 * it is read anew in every run. */
typedef struct rgm_feed {
    rgm_value *input;
    rgm_tensor *tensor;
    rgm_pattern *pattern;
} rgm_feed;

/**
 * Compile what the `count` fetched values need. The graph must outlive the executor.
 * Errors: RGM_ERR_ARG (int8 without inference, or with bf16; packed weights kept with an executor
 * of another device), RGM_ERR_UNSUPPORTED (int8 on another device than the CPU), RGM_ERR_NOMEM.
 */
rgm_status rgm_executor_create(rgm_executor **out, rgm_cgraph *graph, rgm_value *const *fetches,
                               int64_t count, const rgm_executor_options *options);
void rgm_executor_release(rgm_executor *executor);
/** The device that it was made for, never NULL. */
rgm_device *rgm_executor_device(const rgm_executor *executor);
/**
 * One run. Every input that the fetches need must be fed; sizes of one symbol must agree (the error
 * names symbol, both sizes and both inputs).
 *
 * @param fetched  [out] [count] borrowed tensors, valid until the next run or release
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_NUMERIC, RGM_ERR_NOMEM.
 */
rgm_status rgm_executor_run(rgm_executor *executor, rgm_tensor **fetched,
                            const rgm_parameters *parameters, const rgm_feed *feeds,
                            int64_t feed_count, uint64_t seed, uint64_t step);
/**
 * What is told in a run when a fetched value is final: no op that comes later changes it. In the
 * running thread; the run goes on when it returns.
 *
 * @param fetched  [fetches] as rgm_executor_run() gives them, of those that are final so far; NULL
 *                 for the others
 */
typedef void rgm_fetch_watcher(int64_t fetch, rgm_tensor *const *fetched, void *payload);
/**
 * Call `watcher` in every run from now on, once for each fetched value; NULL: no more. First come
 * those that are no op of the run (leaves, what is kept from earlier runs), then each when its op
 * has run; of a device whose memory is not the host's all of them at the end. In a run that fails
 * some are never told of.
 */
void rgm_executor_watch_fetches(rgm_executor *executor, rgm_fetch_watcher *watcher, void *payload);
/**
 * Copy what the next run will be fed to the device, beside the kernels of the run under way: of
 * tensors and patterns that are others than in this one. If the next run is fed something else,
 * what was copied is not used. Only inside of options.meanwhile, and with options.fixed_feeds.
 * Where there is no memory for two feeds nothing is copied.
 * Errors: RGM_ERR_ARG (elsewhere; a feed is for no input), RGM_ERR_NOMEM, RGM_ERR_IO.
 */
rgm_status rgm_executor_feed_ahead(rgm_executor *executor, const rgm_feed *feeds, int64_t count);
/** Bytes of the arena at its largest, and of values kept between runs (constants hoisted out). */
int64_t rgm_executor_arena_bytes(const rgm_executor *executor);
int64_t rgm_executor_hoisted_bytes(const rgm_executor *executor);
/**
 * Each planned op: name, inputs, shape, offset; with times in ms once profiling was on.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_executor_print(rgm_text *out, const rgm_executor *executor);
void rgm_executor_profile(rgm_executor *executor, bool on);

/** An op that was run. */
typedef struct rgm_op_event {
    const char *op;    /* "matmul"                                                            */
    const char *scope; /* the layer that it or what it is the gradient of was built in; NULL  */
    bool backward;     /* it is there for what rgm_cgraph_gradients() has built               */
    int64_t flops;     /* of this run's sizes: see rgm_executor_flops()                       */
    int64_t bytes; /* of its inputs and its output, each once; of an op that picks (gather, slice)
                      twice what it gives; 0 of a view                                    */
    double begin, end; /* seconds of rgm_now(); 0: not timed                                  */
} rgm_op_event;
typedef void rgm_op_observer(const rgm_op_event *event, void *payload);
/** Call `observer` after each op of every run from now on, in the running thread; NULL: no more. */
void rgm_executor_observe(rgm_executor *executor, rgm_op_observer *observer, void *payload);
/** The ops of the last run, untimed; none before the first. */
void rgm_executor_visit(rgm_executor *executor, rgm_op_observer *observer, void *payload);
/**
 * Floating-point operations of the last run: 2 m n k of a product (convolutions as the product that
 * they are), 2 entries channels of a sparse one, 4 and in the gradient 10 queries keys width of
 * attention, masked pairs too, 4 an edge and channel of GAT v2's logits and each of their
 * gradients; of every other op one an element that it writes, or reads if that is more; none of
 * what moves data or finds a pattern, nor of what is kept from an earlier run.
 */
int64_t rgm_executor_flops(rgm_executor *executor);

#ifdef __cplusplus
}
#endif
#endif
