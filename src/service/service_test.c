/*
 * Batches made by worker processes: those of the recipe, each once, however often workers die; and
 * who is not let in. Workers are forked before anything has a thread, and begin when they are told.
 */
#include <check.h>

#include <regimen/service.h>

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker_internal.h"

enum { ELEMENTS = 400, MOST_CHILDREN = 64 };

static const char *folder;
static char key_path[256], other_key_path[256];

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

static bool has_zmq(void)
{
    const rgmi_zmq *zmq;

    if (rgmi_zmq_load(&zmq) != RGM_OK) {
        print_message("skipped: %s\n", rgm_error_message());
        return false;
    }
    if (folder == NULL) {
        folder = check_folder();
        atexit(remove_folder);
        snprintf(key_path, sizeof key_path, "%s/key", folder);
        snprintf(other_key_path, sizeof other_key_path, "%s/other", folder);
        CHECK_OK(rgm_service_key_create(key_path));
        CHECK_OK(rgm_service_key_create(other_key_path));
    }
    return true;
}

/* ---- data -------------------------------------------------------------------------------------
 */

static char large[6 << 20];
static bool is_large; /* elements are, for trainer and workers */

/** Number, draw, and an error in some places; `payload` changes the values. "#": behind the first
 * call it gives elements of another kind. */
static rgm_status stamp(rgm_element **out, const rgm_element *element, const rgm_map_call *call,
                        void *payload)
{
    int64_t number = rgm_tensor_at_int(rgm_element_tensor(element, 0), 0);
    char text[96];
    static atomic_int calls;
    bool is_odd = payload != NULL && strcmp(payload, "#") == 0;

    if (is_odd && atomic_fetch_add(&calls, 1) > 0) {
        *out = rgm_element_retain((rgm_element *)element);
        return RGM_OK;
    }
    if (number % 37 == 5)
        return RGM_FAIL(RGM_ERR_DATA, "number %lld is bad", (long long)number);
    snprintf(text, sizeof text, "%lld %u%s", (long long)number, rgm_rng_u32(&call->rng, 0),
             payload != NULL && !is_odd ? (const char *)payload : "");
    if (is_large)
        return rgm_element_create_bytes(out, large, sizeof large);
    return rgm_element_create_bytes(out, text, (int64_t)strlen(text));
}

static int64_t stream_end; /* 0: the data are those in memory */

static rgm_status numbered(rgm_element **out, int64_t i, void *payload)
{
    rgm_tensor *number = NULL;
    rgm_status status = RGM_OK;

    (void)payload;
    if (i >= stream_end)
        return RGM_END;
    RGM_GO(rgm_tensor_create_from(&number, RGM_I64, 0, NULL, &i));
    RGM_GO(rgm_element_create_tensors(out, &number, 1));
done:
    rgm_tensor_release(number);
    return status;
}

static rgm_dataset *make_data(const char *other)
{
    rgm_dataset *data;

    if (stream_end > 0) {
        CHECK_OK(rgm_dataset_from_function(&data, -1, numbered, NULL, NULL));
        CHECK_OK(rgm_dataset_map_each(&data, stamp, NULL, NULL, 1));
        return data;
    }
    CHECK_OK(rgm_dataset_range(&data, 0, ELEMENTS));
    CHECK_OK(rgm_dataset_shuffle_all(&data));
    CHECK_OK(rgm_dataset_map_each(&data, stamp, (void *)other, NULL, 2));
    CHECK_OK(rgm_dataset_prefetch(&data, 2));
    return data;
}

/* ---- worker processes -------------------------------------------------------------------------
 */

typedef struct child_job {
    const char *identity, *key, *other; /* NULL: what the trainer has */
    double patience;
    int threads;
    bool longer; /* another recipe */
} child_job;

typedef struct children {
    pid_t pids[MOST_CHILDREN];
    int gates[MOST_CHILDREN];  /* the address is written here: begin */
    bool ended[MOST_CHILDREN]; /* and waited for: its number may be another process's */
    int count, begun, killed;
} children;

static int work_as(const child_job *job, const char *address)
{
    rgm_service_options options;
    rgm_dataset *data = make_data(job->other);
    rgm_input_worker worker = {.options = &options,
                               .identity = job->identity != NULL ? job->identity : "seed: 1\n",
                               .threads = job->threads > 0 ? job->threads : 1};
    rgm_status status;

    if (job->longer)
        CHECK_OK(rgm_dataset_take(&data, 3));
    rgm_service_defaults(&options);
    options.address = strrchr(address, '/') + 1; /* behind tcp:// */
    options.key = job->key != NULL ? job->key : key_path;
    if (job->patience > 0)
        options.patience = job->patience;
    worker.dataset = data;
    status = rgm_input_worker_serve(NULL, &worker);
    if (status != RGM_OK) {
        char path[320];

        snprintf(path, sizeof path, "%s/said-%ld", folder, (long)getpid());
        (void)rgm_file_save(path, rgm_error_message(), (int64_t)strlen(rgm_error_message()));
    }
    rgm_dataset_release(data);
    return status == RGM_OK ? 0 : -status;
}

static void add_child(children *all, const child_job *job)
{
    int gate[2];
    pid_t pid;

    CHECK(all->count < MOST_CHILDREN && pipe(gate) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        char address[128] = "";

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no worker that waits */
        close(gate[1]);
        for (int i = 0; i < all->count; i++)
            close(all->gates[i]);
        if (read(gate[0], address, sizeof address - 1) <= 0)
            _exit(0); /* nobody needs it */
        _exit(work_as(job, address));
    }
    close(gate[0]);
    all->pids[all->count] = pid;
    all->gates[all->count++] = gate[1];
}

static void begin_child(children *all, const char *address)
{
    CHECK(all->begun < all->count);
    CHECK(write(all->gates[all->begun++], address, strlen(address)) > 0);
}

/** Of those that have begun the oldest one. */
static void kill_child(children *all)
{
    CHECK(all->killed < all->begun);
    CHECK(kill(all->pids[all->killed], SIGKILL) == 0);
    CHECK(waitpid(all->pids[all->killed++], NULL, 0) > 0);
}

/** Exit code of child i. */
static int end_of(children *all, int i)
{
    int how = 0;

    CHECK(waitpid(all->pids[i], &how, 0) == all->pids[i]);
    all->ended[i] = true;
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128;
}

static void end_children(children *all)
{
    for (int i = 0; i < all->count; i++)
        close(all->gates[i]);
    for (int i = all->killed; i < all->count; i++) {
        if (all->ended[i])
            continue;
        if (i < all->begun) /* it may still look for the trainer */
            (void)kill(all->pids[i], SIGKILL);
        (void)waitpid(all->pids[i], NULL, 0);
    }
}

static const char *said_by(pid_t pid)
{
    static char *text;
    char path[320];
    int64_t size;

    rgm_free(text);
    text = NULL;
    snprintf(path, sizeof path, "%s/said-%ld", folder, (long)pid);
    CHECK_OK(rgm_file_load(&text, &size, path, 4096));
    return text;
}

/* ---- the trainer ------------------------------------------------------------------------------
 */

typedef struct trainer {
    rgm_service_options options;
    rgm_service *service;
    rgm_dataset *data;
    rgm_iterator *iterator;
    bool stop;
} trainer;

static bool should_stop(void *payload)
{
    return ((trainer *)payload)->stop;
}

static void open_iterator(trainer *t, uint64_t epoch)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;

    options.seed = 7;
    options.epoch = epoch;
    options.maker = rgm_service_maker(t->service);
    CHECK_OK(rgm_iterator_create(&t->iterator, t->data, &options));
}

static void open_trainer(trainer *t, rgm_service_order order)
{
    rgm_service_setup setup = {
        .options = &t->options, .identity = "seed: 1\n", .should_stop = should_stop, .payload = t};

    memset(t, 0, sizeof *t);
    rgm_service_defaults(&t->options);
    t->options.address = "127.0.0.1:0";
    t->options.key = key_path;
    t->options.order = order;
    t->options.patience = 60;
    CHECK_OK(rgm_service_open(&t->service, &setup));
    t->data = make_data(NULL);
    open_iterator(t, 0);
}

static void close_trainer(trainer *t)
{
    rgm_iterator_release(t->iterator);
    rgm_service_close(t->service);
    rgm_dataset_release(t->data);
}

/** Wait until so many workers have joined, bounded. */
static void wait_for_joined(trainer *t, int64_t joined)
{
    rgm_service_counts counts;

    for (int i = 0; i < 60000; i++) {
        rgm_service_count(&counts, t->service);
        if (counts.joined >= joined)
            return;
        usleep(1000);
    }
    fail_msg("%lld of %lld workers joined", (long long)counts.joined, (long long)joined);
}

/** The next of an iterator: its bytes, "!message" for an error, NULL at the end. */
static char *next_text(rgm_iterator *iterator)
{
    rgm_element *element;
    char *text;
    int64_t size;
    rgm_status status = rgm_iterator_next(&element, iterator);

    if (status == RGM_END)
        return NULL;
    if (status != RGM_OK && status != RGM_ERR_DATA)
        fail_msg("%s: %s", rgm_status_name(status), rgm_error_message());
    if (status == RGM_OK)
        CHECK_OK(rgm_strdup(&text, rgm_element_bytes(element, &size)));
    else
        CHECK_OK(rgm_strprintf(&text, "!%s", rgm_error_message()));
    rgm_element_release(element);
    return text;
}

/** An epoch as the recipe gives it, with the position before each element. */
typedef struct epoch {
    char *texts[ELEMENTS];
    rgm_text states[ELEMENTS + 1];
    int seen[ELEMENTS];
} epoch;

static void record_epoch(epoch *e, uint64_t number)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_dataset *data = make_data(NULL);
    rgm_iterator *iterator;

    options.seed = 7;
    options.epoch = number;
    memset(e, 0, sizeof *e);
    CHECK_OK(rgm_iterator_create(&iterator, data, &options));
    for (int i = 0; i < ELEMENTS; i++) {
        CHECK_OK(rgm_iterator_save(&e->states[i], iterator));
        e->texts[i] = next_text(iterator);
        CHECK(e->texts[i] != NULL);
    }
    CHECK_OK(rgm_iterator_save(&e->states[ELEMENTS], iterator));
    CHECK(next_text(iterator) == NULL);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
}

static void forget_epoch(epoch *e)
{
    for (int i = 0; i <= ELEMENTS; i++) {
        if (i < ELEMENTS)
            rgm_free(e->texts[i]);
        rgm_text_clear(&e->states[i]);
    }
}

static void check_position(const trainer *t, const rgm_text *want)
{
    rgm_text state = {0};

    CHECK_OK(rgm_iterator_save(&state, t->iterator));
    CHECK_INT(want->size, state.size);
    CHECK(memcmp(want->data, state.data, (size_t)state.size) == 0);
    rgm_text_clear(&state);
}

/** Take one element: the next of the epoch, or any that has not come. */
static void take_one(trainer *t, epoch *e, int at)
{
    char *text = next_text(t->iterator);
    int i = at;

    CHECK(text != NULL);
    if (t->options.order == RGM_SERVICE_ARRIVAL)
        for (i = 0; i < ELEMENTS && (e->seen[i] > 0 || strcmp(e->texts[i], text) != 0); i++) {
        }
    CHECK(i < ELEMENTS);
    CHECK_TEXT(e->texts[i], text);
    e->seen[i]++;
    rgm_free(text);
}

static void check_each_once(trainer *t, const epoch *e)
{
    CHECK(next_text(t->iterator) == NULL);
    CHECK(next_text(t->iterator) == NULL);
    for (int i = 0; i < ELEMENTS; i++)
        CHECK_INT(1, e->seen[i]);
}

static int kills(void)
{
    const char *text = getenv("RGM_KILLS");

    return text != NULL ? (int)strtol(text, NULL, 10) : 4;
}

/* ---- tests ------------------------------------------------------------------------------------
 */

/** Two workers at a time; one is killed and another one begins, so many times in one epoch. */
static void check_kills(rgm_service_order order)
{
    children all = {.count = 0};
    trainer t;
    epoch e;
    rgm_service_counts counts;
    int done = 0;

    for (int i = 0; i < kills() + 2; i++)
        add_child(&all, &(child_job){.threads = 1 + i % 2});
    record_epoch(&e, 0);
    open_trainer(&t, order);
    begin_child(&all, rgm_service_address(t.service));
    begin_child(&all, rgm_service_address(t.service));
    for (int i = 0; i < ELEMENTS; i++) {
        if (order == RGM_SERVICE_RECIPE)
            check_position(&t, &e.states[i]);
        take_one(&t, &e, i);
        if (done < kills() && i >= (done + 1) * ELEMENTS / (kills() + 2)) {
            wait_for_joined(&t, done + 2);
            kill_child(&all);
            done++;
            begin_child(&all, rgm_service_address(t.service));
        }
    }
    CHECK_INT(kills(), done);
    if (order == RGM_SERVICE_RECIPE)
        check_position(&t, &e.states[ELEMENTS]);
    check_each_once(&t, &e);
    rgm_service_count(&counts, t.service);
    CHECK_INT(ELEMENTS, counts.given);
    CHECK(counts.joined >= done + 1 && counts.gone >= 1);
    close_trainer(&t);
    end_children(&all);
    forget_epoch(&e);
}

static void in_the_recipes_order_kills_change_no_byte(void **state)
{
    (void)state;
    if (has_zmq())
        check_kills(RGM_SERVICE_RECIPE);
}

static void first_come_each_comes_once_whoever_is_killed(void **state)
{
    (void)state;
    if (has_zmq())
        check_kills(RGM_SERVICE_ARRIVAL);
}

static void epochs_and_restored_positions_follow_each_other(void **state)
{
    children all = {.count = 0};
    trainer t;
    epoch e;

    (void)state;
    if (!has_zmq())
        return;
    add_child(&all, &(child_job){.threads = 2});
    open_trainer(&t, RGM_SERVICE_RECIPE);
    begin_child(&all, rgm_service_address(t.service));
    for (uint64_t number = 0; number < 3; number++) {
        record_epoch(&e, number);
        if (number > 0) {
            rgm_iterator_release(t.iterator);
            open_iterator(&t, number);
        }
        if (number == 1) /* go on in the middle, as a run does from a checkpoint */
            CHECK_OK(rgm_iterator_restore(t.iterator, e.states[250].data, e.states[250].size));
        for (int i = number == 1 ? 250 : 0; i < ELEMENTS; i++)
            take_one(&t, &e, i);
        if (number != 1)
            check_each_once(&t, &e);
        forget_epoch(&e);
    }
    close_trainer(&t);
    CHECK_INT(0, end_of(&all, 0));
}

static void workers_that_are_sending_learn_that_the_trainer_ends(void **state)
{
    children all = {.count = 0};
    trainer t;

    (void)state;
    if (!has_zmq())
        return;
    is_large = true;
    add_child(&all, &(child_job){.threads = 2});
    open_trainer(&t, RGM_SERVICE_RECIPE);
    begin_child(&all, rgm_service_address(t.service));
    for (int i = 0; i < 10; i++)
        rgm_free(next_text(t.iterator));
    close_trainer(&t);
    CHECK_INT(0, end_of(&all, 0)); /* it does not look for another trainer for ten minutes */
    is_large = false;
}

/** What a worker's thread makes of number `at` when a trainer opens session 0 at the position. */
static char *first_of(rgmi_makers *makers, const rgm_text *position, int64_t at)
{
    rgmi_saying open = {.kind = RGMI_SAY_OPEN, .position = {position->data, position->size}}, made;
    struct pollfd done = {rgmi_makers_fd(makers), POLLIN, 0};
    rgmi_batch_job *job;
    rgm_element *element;
    int64_t size;
    char *text;

    CHECK_OK(RGM_NEW(job, 1));
    CHECK_OK(rgmi_session_create(&job->session, &open));
    job->number = at;
    rgmi_makers_add(makers, job);
    while ((job = rgmi_makers_take(makers)) == NULL)
        CHECK(poll(&done, 1, 60000) == 1);
    CHECK(!job->failed);
    CHECK_OK(rgmi_saying_get(&made, job->message.data, job->message.size));
    CHECK_INT(RGM_OK, made.status);
    CHECK_OK(rgm_element_decode(&element, made.element.data, made.element.size, NULL));
    CHECK_OK(rgm_strdup(&text, rgm_element_bytes(element, &size)));
    rgm_element_release(element);
    rgmi_job_release(job);
    return text;
}

/* All trainers number the session of their first batch 0; one of a later epoch gets that epoch's.
 */
static void the_first_batch_is_that_of_the_trainer_who_asks(void **state)
{
    rgm_dataset *data = make_data(NULL);
    rgmi_makers *makers;
    epoch e[2];
    int at = 0;

    (void)state;
    record_epoch(&e[0], 0);
    record_epoch(&e[1], 1);
    while (e[0].texts[at][0] == '!' || e[1].texts[at][0] == '!')
        at++;
    CHECK(strcmp(e[0].texts[at], e[1].texts[at]) != 0);
    CHECK_OK(rgmi_makers_create(&makers, data, 1));
    for (int i = 0; i < 4; i++) {
        char *text = first_of(makers, &e[i % 2].states[0], at);

        CHECK_TEXT(e[i % 2].texts[at], text);
        rgm_free(text);
    }
    rgmi_makers_release(makers);
    rgm_dataset_release(data);
    forget_epoch(&e[0]);
    forget_epoch(&e[1]);
}

/** Begin a worker that is not to be let in; the trainer's own one works meanwhile. */
static void check_refused(const child_job *job, int code, const char *why)
{
    children all = {.count = 0};
    trainer t;
    epoch e;
    rgm_service_counts counts;

    add_child(&all, &(child_job){.threads = 1});
    add_child(&all, job);
    record_epoch(&e, 0);
    open_trainer(&t, RGM_SERVICE_RECIPE);
    begin_child(&all, rgm_service_address(t.service));
    begin_child(&all, rgm_service_address(t.service));
    for (int i = 0; i < ELEMENTS; i++) {
        take_one(&t, &e, i);
        if (i == 0)
            CHECK_INT(code, end_of(&all, 1));
    }
    check_each_once(&t, &e);
    if (strstr(said_by(all.pids[1]), why) == NULL)
        fail_msg("'%s' lacks '%s'", said_by(all.pids[1]), why);
    rgm_service_count(&counts, t.service);
    CHECK_INT(1, counts.joined);
    CHECK_INT(code == -RGM_ERR_DATA, counts.refused);
    close_trainer(&t);
    end_children(&all);
    forget_epoch(&e);
}

static void who_has_other_data_is_refused_and_told_why(void **state)
{
    (void)state;
    if (!has_zmq())
        return;
    check_refused(&(child_job){.identity = "seed: 2\n"}, -RGM_ERR_DATA,
                  "its experiment is another: it has 'seed: 2', the trainer 'seed: 1'");
    check_refused(&(child_job){.longer = true}, -RGM_ERR_DATA, "its data have another recipe");
    check_refused(&(child_job){.other = "x"}, -RGM_ERR_DATA,
                  "its first batch is not the trainer's");
}

static void say_by_hand(const rgmi_zmq *zmq, void *socket, const rgmi_saying *m)
{
    rgm_text text = {0};

    CHECK_OK(rgmi_saying_put(&text, m));
    CHECK(zmq->send(socket, text.data, (size_t)text.size, 0) >= 0);
    rgm_text_clear(&text);
}

static rgmi_saying_kind answer(const rgmi_zmq *zmq, void *socket)
{
    rgmi_poll_item item = {socket, 0, RGMI_ZMQ_POLLIN, 0};
    rgmi_frame frame;
    rgmi_saying m;

    CHECK_INT(1, zmq->poll(&item, 1, 60000));
    zmq->msg_init(&frame);
    CHECK(zmq->msg_recv(&frame, socket, 0) >= 0);
    CHECK_OK(rgmi_saying_get(&m, zmq->msg_data(&frame), (int64_t)zmq->msg_size(&frame)));
    zmq->msg_close(&frame);
    return m.kind;
}

/* A worker says hello five times a second until it hears an answer, which may take longer. */
static void who_asks_again_is_refused_once(void **state)
{
    const rgmi_saying hello = {
        .kind = RGMI_SAY_HELLO, .protocol = RGMI_SERVICE_PROTOCOL, .identity = {"seed: 2\n", 8}};
    const rgmi_zmq *zmq;
    rgm_service_counts counts;
    rgm_element *element;
    void *context, *socket;
    trainer t;
    rgmi_key key;

    (void)state;
    if (!has_zmq())
        return;
    CHECK_OK(rgmi_zmq_load(&zmq));
    CHECK_OK(rgmi_key_load(&key, key_path, zmq));
    open_trainer(&t, RGM_SERVICE_RECIPE);
    t.stop = true;
    CHECK_STATUS(RGM_STOPPED, rgm_iterator_next(&element, t.iterator)); /* now it lets some in */
    context = zmq->ctx_new();
    socket = zmq->socket(context, RGMI_ZMQ_DEALER);
    CHECK(zmq->setsockopt(socket, RGMI_ZMQ_CURVE_SERVERKEY, key.open, 41) == 0 &&
          zmq->setsockopt(socket, RGMI_ZMQ_CURVE_PUBLICKEY, key.open, 41) == 0 &&
          zmq->setsockopt(socket, RGMI_ZMQ_CURVE_SECRETKEY, key.secret, 41) == 0);
    CHECK(zmq->connect(socket, rgm_service_address(t.service)) == 0);
    for (int i = 0; i < 2; i++)
        say_by_hand(zmq, socket, &hello);
    for (int i = 0; i < 2; i++)
        CHECK_INT(RGMI_SAY_REFUSE, answer(zmq, socket));
    rgm_service_count(&counts, t.service);
    CHECK_INT(1, counts.refused);
    zmq->close(socket);
    zmq->ctx_term(context);
    close_trainer(&t);
}

/* One who is let in, and then sends what the trainer cannot take. */
static void batches_have_the_form_of_the_first(void **state)
{
    children all = {.count = 0};
    trainer t;
    epoch e;
    rgm_service_counts counts = {.refused = 0};
    rgm_element *element;

    (void)state;
    if (!has_zmq())
        return;
    add_child(&all, &(child_job){.other = "#"});
    add_child(&all, &(child_job){.threads = 1});
    record_epoch(&e, 0);
    open_trainer(&t, RGM_SERVICE_RECIPE);
    begin_child(&all, rgm_service_address(t.service));
    t.stop = true;
    CHECK_STATUS(RGM_STOPPED, rgm_iterator_next(&element, t.iterator)); /* now it wants some */
    t.stop = false;
    for (int i = 0; i < 60000 && counts.refused == 0; i++) {
        rgm_service_count(&counts, t.service);
        usleep(1000);
    }
    CHECK_INT(1, counts.joined);
    CHECK_INT(1, counts.refused);
    CHECK_INT(-RGM_ERR_DATA, end_of(&all, 0));
    if (strstr(said_by(all.pids[0]), "an element is of another kind than others") == NULL)
        fail_msg("said: %s", said_by(all.pids[0]));
    begin_child(&all, rgm_service_address(t.service));
    for (int i = 0; i < ELEMENTS; i++)
        take_one(&t, &e, i);
    check_each_once(&t, &e);
    close_trainer(&t);
    end_children(&all);
    forget_epoch(&e);
}

static void take_numbers(trainer *t, int begin, int end)
{
    for (int i = begin; i < end; i++) {
        char *text = next_text(t->iterator);

        CHECK(text != NULL);
        if (i == 5)
            CHECK(strstr(text, "number 5 is bad") != NULL);
        else
            CHECK_INT(i, strtol(text, NULL, 10));
        rgm_free(text);
    }
}

/* An end is told sooner than a batch is made, and the recipe of a stream does not say how long it
 * is: who has more of it comes when the other one has nothing left to make. */
static void a_pass_ends_where_the_data_of_all_workers_do(void **state)
{
    children all = {.count = 0};
    rgm_service_counts counts;
    trainer t;

    (void)state;
    if (!has_zmq())
        return;
    stream_end = 10;
    add_child(&all, &(child_job){.threads = 1});
    stream_end = 14;
    add_child(&all, &(child_job){.threads = 2});
    open_trainer(&t, RGM_SERVICE_RECIPE);
    begin_child(&all, rgm_service_address(t.service));
    take_numbers(&t, 0, 9);
    begin_child(&all, rgm_service_address(t.service));
    wait_for_joined(&t, 2);
    take_numbers(&t, 9, 14);
    CHECK(next_text(t.iterator) == NULL);
    CHECK_INT(-RGM_ERR_DATA, end_of(&all, 0));
    if (strstr(said_by(all.pids[0]), "its data end after 10 batches, but others have more") == NULL)
        fail_msg("said: %s", said_by(all.pids[0]));
    rgm_service_count(&counts, t.service);
    CHECK_INT(1, counts.refused);
    close_trainer(&t);
    end_children(&all);
    stream_end = 0;
}

static void a_stranger_gets_nothing(void **state)
{
    (void)state;
    if (has_zmq())
        check_refused(&(child_job){.key = other_key_path, .patience = 1}, -RGM_ERR_IO,
                      "no trainer has answered");
}

static void a_trainer_without_workers_stops_when_asked_and_gives_up(void **state)
{
    trainer t;
    rgm_element *element;

    (void)state;
    if (!has_zmq())
        return;
    open_trainer(&t, RGM_SERVICE_RECIPE);
    t.stop = true;
    CHECK_STATUS(RGM_STOPPED, rgm_iterator_next(&element, t.iterator));
    close_trainer(&t);
    open_trainer(&t, RGM_SERVICE_RECIPE);
    t.service->options.patience = 0.2;
    CHECK_STATUS(RGM_ERR_IO, rgm_iterator_next(&element, t.iterator));
    CHECK_MESSAGE("no input worker came to tcp://127.0.0.1:");
    CHECK_MESSAGE("(which only workers of this machine reach: '*' as HOST is for others)");
    CHECK_INT(0, rgm_iterator_position(t.iterator));
    close_trainer(&t);
}

static void keys_and_addresses_are_checked(void **state)
{
    rgm_service_options options;
    rgm_service_setup setup = {.options = &options};
    rgm_service *service;
    char path[320];

    (void)state;
    rgm_service_defaults(&options);
    CHECK_OK(rgm_service_check(&options));
    options.address = "node1:7700";
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_service_check(&options));
    CHECK_MESSAGE("but no key");
    options.key = "key";
    for (int i = 0; i < 5; i++) {
        static const char *const bad[] = {"node1", ":7", "node1:", "node1:x", "node1:70000"};

        options.address = bad[i];
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_service_check(&options));
        CHECK_MESSAGE("is no HOST:PORT");
    }
    if (!has_zmq())
        return;
    CHECK_STATUS(RGM_ERR_BUSY, rgm_service_key_create(key_path));
    options.address = "127.0.0.1:0";
    snprintf(path, sizeof path, "%s/bad", folder);
    options.key = path;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_service_open(&service, &setup));
    CHECK_OK(rgm_file_save(path, "regimen key 1\nshort\n", 20));
    CHECK(chmod(path, 0644) == 0);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_service_open(&service, &setup));
    CHECK_MESSAGE("chmod 600");
    CHECK(chmod(path, 0600) == 0);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_service_open(&service, &setup));
    CHECK_MESSAGE("is no key of input workers");
}

static void one_address_has_one_trainer(void **state)
{
    rgm_service_options options;
    rgm_service_setup setup = {.options = &options};
    rgm_service *second;
    trainer t;
    char address[64];

    (void)state;
    if (!has_zmq())
        return;
    open_trainer(&t, RGM_SERVICE_RECIPE);
    options = t.options;
    snprintf(address, sizeof address, "%s", strrchr(rgm_service_address(t.service), '/') + 1);
    options.address = address;
    CHECK_STATUS(RGM_ERR_BUSY, rgm_service_open(&second, &setup));
    CHECK(second == NULL);
    close_trainer(&t);
}

static void messages_are_read_or_refused(void **state)
{
    rgmi_saying m = {.kind = RGMI_SAY_MADE,
                     .session = 5,
                     .number = -1,
                     .status = RGM_ERR_DATA,
                     .text = {"why", 3},
                     .element = {"bytes", 5}},
                got;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgmi_saying_put(&text, &m));
    CHECK_OK(rgmi_saying_get(&got, text.data, text.size));
    CHECK(got.kind == RGMI_SAY_MADE && got.session == 5 && got.number == -1);
    CHECK(got.status == RGM_ERR_DATA && got.text.size == 3 && got.element.size == 5);
    for (int64_t size = 0; size < text.size; size++)
        CHECK_STATUS(RGM_ERR_FORMAT, rgmi_saying_get(&got, text.data, size));
    text.data[0] = 126; /* a kind that is none */
    CHECK_STATUS(RGM_ERR_FORMAT, rgmi_saying_get(&got, text.data, text.size));
    rgm_text_clear(&text);
}

/* A worker whose data are shorter ends no pass of which others have made more. */
static void data_do_not_end_before_what_was_made(void **state)
{
    static const int64_t given[] = {7};
    rgmi_service_places places;
    rgm_text position = {0};
    rgm_made made;
    char *error;
    bool counted;

    (void)state;
    CHECK_OK(rgm_text_printf(&position, "here"));
    CHECK_OK(rgmi_places_create(&places, 4));
    CHECK_OK(rgmi_places_begin(&places, &position, 0, NULL, 0));
    CHECK(rgmi_places_may_end(&places, 0));
    rgmi_places_at(&places, 0)->state = RGMI_PLACE_MADE;
    CHECK(!rgmi_places_may_end(&places, 0) && rgmi_places_may_end(&places, 1));
    rgmi_places_give(&made, &error, &counted, &places, 0);
    CHECK_INT(1, places.low);
    CHECK(!rgmi_places_may_end(&places, 0) && rgmi_places_may_end(&places, 1));
    rgmi_places_at(&places, 3)->state = RGMI_PLACE_MADE;
    CHECK(!rgmi_places_may_end(&places, 3) && rgmi_places_may_end(&places, 4));
    rgmi_places_at(&places, 3)->status = RGM_ERR_IO; /* met before there was an element */
    CHECK(rgmi_places_may_end(&places, 3));
    CHECK(!rgmi_places_may_end(&places, -1));
    CHECK_OK(rgmi_places_begin(&places, &position, 0, given, 1));
    CHECK(!rgmi_places_may_end(&places, 7) && rgmi_places_may_end(&places, 8));
    rgmi_places_clear(&places);
    rgm_text_clear(&position);
}

TESTS(cmocka_unit_test(data_do_not_end_before_what_was_made),
      cmocka_unit_test(messages_are_read_or_refused),
      cmocka_unit_test(keys_and_addresses_are_checked),
      cmocka_unit_test(one_address_has_one_trainer),
      cmocka_unit_test(in_the_recipes_order_kills_change_no_byte),
      cmocka_unit_test(first_come_each_comes_once_whoever_is_killed),
      cmocka_unit_test(epochs_and_restored_positions_follow_each_other),
      cmocka_unit_test(workers_that_are_sending_learn_that_the_trainer_ends),
      cmocka_unit_test(the_first_batch_is_that_of_the_trainer_who_asks),
      cmocka_unit_test(who_has_other_data_is_refused_and_told_why),
      cmocka_unit_test(who_asks_again_is_refused_once),
      cmocka_unit_test(batches_have_the_form_of_the_first),
      cmocka_unit_test(a_pass_ends_where_the_data_of_all_workers_do),
      cmocka_unit_test(a_stranger_gets_nothing),
      cmocka_unit_test(a_trainer_without_workers_stops_when_asked_and_gives_up))
