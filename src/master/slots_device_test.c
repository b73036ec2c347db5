/*
 * Slots that are devices, of a machine that the test makes up: who gets which, what its process is
 * told, what waits and what is refused, what a next master finds.
 */
#include "master_check.h"

#include <signal.h>
#include <sys/wait.h>

static char folder[128];
static const char *machine; /* names of its devices; NULL: there is none */
static int looked;

static rgm_status find(rgm_text *names, const char *list)
{
    looked++;
    if (machine == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "device '%s': there is no GPU here", list);
    return rgm_text_printf(names, "%s", strcmp(list, "gpu") == 0 ? machine : list);
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    unsetenv("CUDA_VISIBLE_DEVICES");
    machine = "cuda:0,cuda:1";
    looked = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("FAKE_TRIAL_MS");
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static rgm_status open_with(rgm_master **out, const char *devices)
{
    static rgm_search_subject subject;

    subject = rgm_trial_subject;
    subject.devices = find;
    return rgm_master_open(out, &(rgm_master_options){.folder = folder,
                                                      .slots = 1,
                                                      .threads_per_slot = 1,
                                                      .trial_command = fake_command(),
                                                      .stop_seconds = 20,
                                                      .orphan_seconds = 30,
                                                      .devices = devices,
                                                      .subject = &subject});
}

static rgm_master *open_here(void)
{
    rgm_master *master;

    CHECK_OK(open_with(&master, NULL));
    return master;
}

#define RANDOM_4   "{name: random, metric: valid.loss, max_trials: 4, max_steps: 3}"
#define ON_DEVICES "resources: {slot_type: gpu}\n"

/* What a trial's process was told, "" where it was told nothing. */
static const char *told(int trial)
{
    static char text[4][256];
    char path[256], *data;
    int64_t size;

    snprintf(path, sizeof path, "%s/1/%d/device", folder, trial);
    snprintf(text[trial - 1], sizeof text[0], "%s", "");
    if (rgm_path_exists(path)) {
        CHECK_OK(rgm_file_load(&data, &size, path, 1000));
        snprintf(text[trial - 1], sizeof text[0], "%.*s", (int)size, data);
        rgm_free(data);
    }
    return text[trial - 1];
}

static int count_told(const char *words)
{
    int count = 0;

    for (int trial = 1; trial <= 4; trial++)
        count += strcmp(told(trial), words) == 0;
    return count;
}

static void each_trial_has_a_device(void **state)
{
    rgm_master *master = open_here();
    bool first = false, second = false;

    (void)state;
    CHECK_INT(0, looked); /* drivers are loaded when a search asks */
    create_experiment(master, RANDOM_4, ON_DEVICES);
    serve_all(master, 60);
    rgm_json *v = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(v, "state"));
    CHECK_TEXT("gpu", text_member(v, "slot_type"));
    rgm_json_release(v);
    for (int trial = 1; trial <= 4; trial++) {
        first = first || strcmp(told(trial), "cuda:0 of 0") == 0;
        second = second || strcmp(told(trial), "cuda:0 of 1") == 0;
    }
    CHECK(first && second); /* the first two began in one turn */
    CHECK_INT(4, count_told("cuda:0 of 0") + count_told("cuda:0 of 1"));
    v = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL); /* behind slot 0 */
    CHECK_TEXT("1", text_member(v, "runs.0.slots"));
    CHECK_TEXT("2", text_member(v, "runs.1.slots"));
    rgm_json_release(v);
    v = ask(master, 200, "GET", "/api/v1/master", NULL);
    CHECK_TEXT("cuda:1", text_member(v, "devices.1"));
    CHECK_INT(0, int_member(v, "devices_taken"));
    CHECK_INT(1, int_member(v, "slots"));
    rgm_json_release(v);
    rgm_master_close(master);
}

/* Numbers are places in what the master sees itself; other interfaces have names alone. */
static void what_a_master_sees_is_passed_on(void **state)
{
    rgm_master *master;

    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "GPU-1a,GPU-7f", 1);
    master = open_here();
    create_experiment(master, RANDOM_4, ON_DEVICES);
    serve_all(master, 60);
    CHECK(count_told("cuda:0 of GPU-1a") > 0 && count_told("cuda:0 of GPU-7f") > 0);
    CHECK_INT(4, count_told("cuda:0 of GPU-1a") + count_told("cuda:0 of GPU-7f"));
    rgm_master_close(master);
    CHECK_OK(rgm_folder_remove(folder));
    unsetenv("CUDA_VISIBLE_DEVICES");
    CHECK_OK(open_with(&master, "opencl:1,opencl:3"));
    CHECK_INT(2, looked); /* what it was told is looked for when it is opened */
    create_experiment(master, RANDOM_4, ON_DEVICES);
    serve_all(master, 60);
    CHECK(count_told("opencl:1 of all") > 0 && count_told("opencl:3 of all") > 0);
    CHECK_INT(4, count_told("opencl:1 of all") + count_told("opencl:3 of all"));
    rgm_master_close(master);
}

/* A search on processors beside it takes none of them, and the other way round. */
static void devices_and_processors_are_shared_out_apart(void **state)
{
    rgm_master *master = open_here();
    working_master w;

    (void)state;
    setenv("FAKE_TRIAL_MS", "300", 1);
    begin_work(&w, master);
    create_experiment(master, RANDOM_4, ON_DEVICES);
    create_experiment(master, RANDOM_4, "");
    for (int i = 0, running = 0; running < 3; i++) { /* one slot, two devices */
        rgm_json *v = ask(master, 200, "GET", "/api/v1/running", NULL);

        running = (int)int_member(v, "total");
        rgm_json_release(v);
        CHECK(i < 1000 && running <= 3);
        usleep(10000);
    }
    rgm_json *v = ask(master, 200, "GET", "/api/v1/master", NULL);
    CHECK_INT(1, int_member(v, "slots_taken"));
    CHECK_INT(2, int_member(v, "devices_taken"));
    rgm_json_release(v);
    v = ask(master, 200, "GET", "/api/v1/shares", NULL);
    CHECK_TEXT("gpu", text_member(v, "shares.0.slot_type"));
    CHECK_INT(2, int_member(v, "shares.0.share"));
    CHECK_INT(1, int_member(v, "shares.1.share"));
    rgm_json_release(v);
    tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
    tell(master, 200, "POST", "/api/v1/experiments/2/kill", NULL);
    end_work(&w);
    rgm_master_close(master);
}

static void refuse(rgm_master *master, const char *more, const char *words)
{
    char *config = search_config(RANDOM_4, more), *body = create_body(config, "");
    rgm_json *answer = ask(master, 422, "POST", "/api/v1/experiments", body);

    if (strstr(text_member(answer, "message"), words) == NULL)
        fail_msg("'%s', not '%s'", text_member(answer, "message"), words);
    rgm_json_release(answer);
    rgm_free(body);
    rgm_free(config);
}

static void what_no_trial_could_have_is_refused(void **state)
{
    rgm_master *master = open_here();

    (void)state;
    refuse(master, "resources: {slot_type: gpu, slots_per_trial: 4}\nruntime: {shards: 4}\n",
           "slots_per_trial is 4 with slot_type gpu, and this master has 2 devices");
    refuse(master, ON_DEVICES "runtime: {device: opencl}\n",
           "runtime.device is opencl, and this master shares out cuda:0");
    rgm_master_close(master);
    machine = NULL;
    master = open_here();
    refuse(master, ON_DEVICES, "resources.slot_type is gpu: device 'gpu': there is no GPU here");
    rgm_master_close(master);
    CHECK_STATUS(RGM_ERR_CONFIG, open_with(&master, "cuda:9"));
    CHECK_MESSAGE("slots of the type gpu (resources.slot_type): device 'cuda:9': there is no GPU");
    CHECK(master == NULL);
}

/* A folder that is gone on with where there is no device. */
static void what_waits_for_a_device_says_so(void **state)
{
    rgm_master *master = open_here();
    working_master w;
    char last[512] = "";

    (void)state;
    create_experiment(master, RANDOM_4, ON_DEVICES);
    rgm_master_close(master);
    machine = NULL;
    master = open_here();
    begin_work(&w, master);
    for (int i = 0; strstr(last, "waits for a device: ") == NULL; i++) {
        rgm_json *queue = ask(master, 200, "GET", "/api/v1/queue", NULL);

        snprintf(last, sizeof last, "%s", text_member(queue, "queue.0.reason"));
        rgm_json_release(queue);
        if (i == 1000)
            fail_msg("the reason is '%s'", last);
        usleep(10000);
    }
    CHECK(strstr(last, "device 'gpu': there is no GPU here") != NULL);
    CHECK_INT(2, looked); /* and not in each turn again */
    tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
    end_work(&w);
    rgm_master_close(master);
}

static int64_t devices_taken(rgm_client *client)
{
    rgm_json *v = NULL;
    int64_t taken = 0;

    if (rgm_client_is_served(client) &&
        rgm_client_call(&v, client, "GET", "/api/v1/master", NULL) == RGM_OK)
        taken = int_member(v, "devices_taken");
    rgm_json_release(v);
    return taken;
}

/* Processes that go on when their master is killed keep their devices, by name. */
static void the_next_master_knows_who_has_which(void **state)
{
    rgm_master *master = open_here();
    rgm_client *client;
    pid_t killed;

    (void)state;
    setenv("FAKE_TRIAL_MS", "500", 1);
    create_experiment(master, RANDOM_4, ON_DEVICES);
    rgm_master_close(master);
    killed = fork();
    if (killed == 0) {
        master = open_here();
        _exit(rgm_master_serve(master, all_over, NULL) == RGM_OK ? 0 : 1);
    }
    CHECK(killed > 0);
    CHECK_OK(rgm_client_open(&client, folder, NULL));
    for (int i = 0; devices_taken(client) < 2; i++) {
        CHECK(i < 1000);
        usleep(10000);
    }
    CHECK_INT(0, kill(killed, SIGKILL));
    CHECK(waitpid(killed, NULL, 0) == killed);
    rgm_client_close(client);
    master = open_here();
    rgm_json *v = ask(master, 200, "GET", "/api/v1/master", NULL);
    CHECK_INT(2, int_member(v, "devices_taken"));
    CHECK_INT(0, int_member(v, "slots_taken"));
    rgm_json_release(v);
    serve_all(master, 60);
    v = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(v, "state"));
    rgm_json_release(v);
    v = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(4, int_member(v, "total")); /* none began twice */
    rgm_json_release(v);
    CHECK_INT(4, count_told("cuda:0 of 0") + count_told("cuda:0 of 1"));
    rgm_master_close(master);
}

TESTS(cmocka_unit_test_setup_teardown(each_trial_has_a_device, setup, teardown),
      cmocka_unit_test_setup_teardown(what_a_master_sees_is_passed_on, setup, teardown),
      cmocka_unit_test_setup_teardown(devices_and_processors_are_shared_out_apart, setup, teardown),
      cmocka_unit_test_setup_teardown(what_no_trial_could_have_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(what_waits_for_a_device_says_so, setup, teardown),
      cmocka_unit_test_setup_teardown(the_next_master_knows_who_has_which, setup, teardown))
