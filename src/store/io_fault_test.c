/*
 * Faults of the file system. This program is linked with --wrap, so that each system call that
 * changes something can fail, be cut short, be interrupted, or be the last one before a kill or a
 * power cut. After each fault the store must have an intact checkpoint.
 */
#include <check.h>

#include <regimen/store.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the faults ---------------------------------------------------------------------------- */

typedef enum fault_mode {
    FAULT_NONE,
    FAULT_ERROR,     /* call number `at` fails with `error`                                     */
    FAULT_KILL,      /* the process ends before call number `at`                                */
    FAULT_POWER,     /* the same, and content of files that was not synced is lost */
    FAULT_POWER_ALL, /* and also renames in folders that were not synced afterwards             */
    FAULT_INTERRUPT, /* a signal interrupts every second interruptible call */
    FAULT_SHORT      /* every write takes half of what it is given                              */
} fault_mode;

#define MANY 64

static struct {
    fault_mode mode;
    int at, error;
    int calls, failures, fsyncs;
    int unsynced[MANY]; /* duplicates of descriptors of files created but not synced, or -1 */
    ino_t inodes[MANY];
    int file_count;
    char renamed[MANY][2][512]; /* from, to: not yet synced by their folder */
    bool exchanged[MANY];
    int rename_count;
} fault;

/* Files with this in their path cannot be opened; NULL: all can. */
static const char *closed;
static int why_closed;

static void set_fault(fault_mode mode, int at, int error)
{
    memset(&fault, 0, sizeof fault);
    fault.mode = mode;
    fault.at = at;
    fault.error = error;
}

int __real_open(const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t size);
int __real_rename(const char *from, const char *to);
int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __real_mkdir(const char *path, mode_t mode);
int __real_ftruncate(int fd, off_t size);
int __real_unlinkat(int fd, const char *path, int flags);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_ftruncate(int fd, off_t size);

static void lose_power(void)
{
    for (int i = 0; i < fault.file_count; i++) {
        if (fault.unsynced[i] >= 0 && __real_ftruncate(fault.unsynced[i], 0) != 0)
            _exit(8);
    }
    for (int i = fault.rename_count - 1; fault.mode == FAULT_POWER_ALL && i >= 0; i--)
        __real_renameat2(AT_FDCWD, fault.renamed[i][1], AT_FDCWD, fault.renamed[i][0],
                         fault.exchanged[i] ? RENAME_EXCHANGE : 0);
}

/* Count a call; true when it must fail, with errno set. */
static bool fails(bool interruptible)
{
    int call = fault.calls++;

    switch (fault.mode) {
    case FAULT_ERROR:
        if (call != fault.at)
            return false;
        fault.failures++;
        errno = fault.error;
        return true;
    case FAULT_KILL:
    case FAULT_POWER:
    case FAULT_POWER_ALL:
        if (call == fault.at) {
            if (fault.mode != FAULT_KILL)
                lose_power();
            _exit(9);
        }
        return false;
    case FAULT_INTERRUPT:
        if (!interruptible || call % 2 != 0)
            return false;
        fault.failures++;
        errno = EINTR;
        return true;
    case FAULT_NONE:
    case FAULT_SHORT:
        break;
    }
    return false;
}

int __wrap_open(const char *path, int flags, ...)
{
    struct stat info;
    va_list args;
    mode_t mode;
    int fd;

    va_start(args, flags);
    mode = (flags & O_CREAT) ? va_arg(args, mode_t) : 0;
    va_end(args);
    if ((flags & O_CREAT) && fails(true))
        return -1;
    if (closed != NULL && strstr(path, closed) != NULL) {
        errno = why_closed;
        return -1;
    }
    fd = __real_open(path, flags, mode);
    if (fd >= 0 && (flags & O_CREAT) && fault.mode >= FAULT_POWER && fault.file_count < MANY &&
        fstat(fd, &info) == 0) {
        fault.unsynced[fault.file_count] = dup(fd);
        fault.inodes[fault.file_count++] = info.st_ino;
    }
    return fd;
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    if (fails(true))
        return -1;
    return __real_write(fd, data, fault.mode == FAULT_SHORT && size > 1 ? size / 2 : size);
}

int __wrap_fsync(int fd)
{
    struct stat info;

    if (fails(true))
        return -1;
    fault.fsyncs++;
    if (fault.mode >= FAULT_POWER && fstat(fd, &info) == 0) {
        for (int i = 0; i < fault.file_count; i++) {
            if (fault.inodes[i] == info.st_ino)
                fault.unsynced[i] = -1;
        }
        if (S_ISDIR(info.st_mode)) /* all renames here are within the store's folder */
            fault.rename_count = 0;
    }
    return 0; /* synced files are tracked above; the disk itself need not sync */
}

static void note_rename(const char *from, const char *to, bool exchange)
{
    if (fault.mode < FAULT_POWER || fault.rename_count == MANY)
        return;
    snprintf(fault.renamed[fault.rename_count][0], 512, "%s", from);
    snprintf(fault.renamed[fault.rename_count][1], 512, "%s", to);
    fault.exchanged[fault.rename_count++] = exchange;
}

/* What happens between two calls: once before the next rename, or the next lock. */
static void (*before_rename)(void), (*before_flock)(void);

static void happen(void (**what)(void))
{
    void (*now)(void) = *what;

    *what = NULL;
    if (now != NULL)
        now();
}

int __wrap_flock(int fd, int operation)
{
    happen(&before_flock);
    return __real_flock(fd, operation);
}

int __wrap_rename(const char *from, const char *to)
{
    int result;

    happen(&before_rename);
    if (fails(false))
        return -1;
    result = __real_rename(from, to);
    if (result == 0)
        note_rename(from, to, false);
    return result;
}

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    int result;

    if (fails(false))
        return -1;
    result = __real_renameat2(from_fd, from, to_fd, to, flags);
    if (result == 0)
        note_rename(from, to, flags == RENAME_EXCHANGE);
    return result;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return fails(false) ? -1 : __real_mkdir(path, mode);
}

int __wrap_ftruncate(int fd, off_t size)
{
    return fails(true) ? -1 : __real_ftruncate(fd, size);
}

int __wrap_unlinkat(int fd, const char *path, int flags)
{
    return fails(false) ? -1 : __real_unlinkat(fd, path, flags);
}

/* ---- checkpoints --------------------------------------------------------------------------- */

static rgm_status save_step(rgm_checkpoint_store *store, int64_t step)
{
    const int64_t shape[] = {4, 3};
    rgm_tensor *w = NULL;
    rgm_checkpoint *c = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_tensor_create(&w, RGM_F32, 2, shape));
    rgm_tensor_f32(w)[5] = (float)step;
    RGM_GO(rgm_checkpoint_create(&c, step));
    RGM_GO(rgm_checkpoint_add_weight(c, "w", w));
    RGM_GO(rgm_checkpoint_add_slot(c, "sgd/momentum/w", w));
    RGM_GO(rgm_checkpoint_set_blob(c, "data", "position", 8));
    RGM_GO(rgm_checkpoint_save(store, c));
done:
    rgm_checkpoint_release(c);
    rgm_tensor_release(w);
    return status;
}

static rgm_checkpoint_store *open_store(const char *folder)
{
    const rgm_checkpoint_store_options options = {.keep = 1};
    rgm_checkpoint_store *store = NULL;

    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &options));
    return store;
}

static int64_t newest(rgm_checkpoint_store *store)
{
    rgm_checkpoint *c = NULL;
    rgm_tensor *w = NULL;
    int64_t step;

    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    step = rgm_checkpoint_step(c);
    CHECK_OK(rgm_safetensors_get(&w, rgm_checkpoint_weights(c), "w"));
    CHECK(rgm_tensor_f32(w)[5] == (float)step);
    rgm_tensor_release(w);
    rgm_checkpoint_release(c);
    return step;
}

/* A new store with step 1 in it. */
static rgm_checkpoint_store *begin(char folder[64])
{
    rgm_checkpoint_store *store;

    set_fault(FAULT_NONE, 0, 0);
    snprintf(folder, 64, "%s", check_folder());
    store = open_store(folder);
    CHECK_OK(save_step(store, 1));
    return store;
}

static void end(rgm_checkpoint_store *store, const char *folder)
{
    set_fault(FAULT_NONE, 0, 0);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static int64_t entries(const char *folder)
{
    char **names = NULL;
    int64_t count;

    CHECK_OK(rgm_folder_list(&names, &count, folder));
    rgm_names_release(names, count);
    return count;
}

/* Entries whose name has `part`. */
static int64_t entries_with(const char *folder, const char *part)
{
    char **names = NULL;
    int64_t count, found = 0;

    CHECK_OK(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++)
        found += strstr(names[i], part) != NULL;
    rgm_names_release(names, count);
    return found;
}

static void check_every_step_is_intact(rgm_checkpoint_store *store)
{
    int64_t *steps = NULL, count;

    CHECK_OK(rgm_checkpoint_steps(&steps, &count, store));
    for (int64_t i = 0; i < count; i++) {
        rgm_checkpoint *c = NULL;

        CHECK_OK(rgm_checkpoint_load_step(&c, store, steps[i]));
        rgm_checkpoint_release(c);
    }
    rgm_free(steps);
}

static void a_call_that_fails_leaves_an_intact_checkpoint(void **state)
{
    static const int errors[] = {ENOSPC, EIO, EROFS, EDQUOT};
    int injected = 0;

    (void)state;
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
        for (int at = 0;; at++) {
            char folder[64];
            rgm_checkpoint_store *store = begin(folder);
            bool failed;
            rgm_status status;

            set_fault(FAULT_ERROR, at, errors[e]);
            status = save_step(store, 2);
            failed = fault.failures > 0;
            injected += failed;
            set_fault(FAULT_NONE, 0, 0);
            if (status != RGM_OK) {
                CHECK(failed);
                CHECK_STATUS(RGM_ERR_IO, status);
                CHECK_MESSAGE(folder); /* the path is named */
                CHECK_INT(0, entries_with(folder, ".tmp-"));
            } else {
                CHECK_INT(2, newest(store));
            }
            CHECK(newest(store) >= 1);
            CHECK_OK(save_step(store,
                               3)); /* space is free again: a new file, not the failed one again */
            CHECK_INT(3, newest(store));
            rgm_checkpoint_store_close(store);
            store = open_store(folder); /* what could not be removed is swept */
            CHECK_INT(1, entries(folder));
            end(store, folder);
            if (!failed)
                break;
        }
    }
    CHECK(injected > 60);
}

/* Save step `step` over step 1 in a child that dies before call `at`; false when it lived. */
static bool die_at(rgm_checkpoint_store *store, fault_mode mode, int at, int64_t step)
{
    pid_t child = fork();
    int result;

    CHECK(child >= 0);
    if (child == 0) {
        rgm_status status;

        set_fault(mode, at, 0);
        status = save_step(store, step);
        fails(false); /* and once after the last call */
        _exit(status == RGM_OK ? 0 : 7);
    }
    CHECK_INT(child, waitpid(child, &result, 0));
    CHECK(WIFEXITED(result));
    CHECK(WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 9);
    return WEXITSTATUS(result) == 9;
}

/* Kill before every call of a save of `step`; afterwards an intact checkpoint is found, leftovers
 * are swept, and the run continues. */
static void check_deaths(fault_mode mode, int64_t step)
{
    bool died = true;
    int at = 0;

    for (; died; at++) {
        char folder[64];
        rgm_checkpoint_store *store = begin(folder);

        died = die_at(store, mode, at, step);
        rgm_checkpoint_store_close(store);
        store = open_store(folder);
        CHECK(newest(store) >= 1);
        CHECK(died || newest(store) == step);
        if (mode == FAULT_KILL)
            check_every_step_is_intact(store);
        CHECK_OK(save_step(store, step));
        CHECK_INT(step, newest(store));
        CHECK_OK(save_step(store, step + 1));
        CHECK_INT(1, entries(folder));
        end(store, folder);
    }
    CHECK(at > 10);
}

static void a_kill_before_any_call_leaves_an_intact_checkpoint(void **state)
{
    (void)state;
    check_deaths(FAULT_KILL, 2);
}

static void a_power_cut_before_any_call_leaves_an_intact_checkpoint(void **state)
{
    (void)state;
    check_deaths(FAULT_POWER, 2);
    check_deaths(FAULT_POWER_ALL, 2);
}

/* For the same step with other content, an exchange of names replaces the old one. */
static void a_power_cut_while_a_step_is_replaced_leaves_the_old_or_the_new(void **state)
{
    static const fault_mode modes[] = {FAULT_KILL, FAULT_POWER, FAULT_POWER_ALL};

    (void)state;
    for (int m = 0; m < 3; m++) {
        bool died = true;

        for (int at = 0; died; at++) {
            char folder[64];
            rgm_checkpoint_store *store = begin(folder);
            rgm_checkpoint *c = NULL;
            rgm_tensor *w = NULL;
            int64_t shape[] = {4, 3}, value;

            /* step 1 with one more value, so that the save below replaces it */
            CHECK_OK(rgm_tensor_create(&w, RGM_F32, 2, shape));
            rgm_tensor_f32(w)[5] = 1;
            CHECK_OK(rgm_checkpoint_create(&c, 1));
            CHECK_OK(rgm_checkpoint_add_weight(c, "w", w));
            CHECK_OK(rgm_checkpoint_set_int(c, "finished", 1));
            CHECK_OK(rgm_checkpoint_save(store, c));
            rgm_checkpoint_release(c);
            rgm_tensor_release(w);
            died = die_at(store, modes[m], at, 1);
            rgm_checkpoint_store_close(store);
            store = open_store(folder);
            CHECK_INT(1, newest(store));
            CHECK_INT(1, entries(folder));
            CHECK_OK(rgm_checkpoint_load_newest(&c, store));
            if (!died)
                CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_checkpoint_int(&value, c, "finished"));
            rgm_checkpoint_release(c);
            end(store, folder);
        }
    }
}

static void check_same_bytes(fault_mode mode)
{
    static const char *const files[] = {"manifest.json", "weights.safetensors", "slots.safetensors",
                                        "data.bin"};
    char plain_folder[64], folder[64];
    rgm_checkpoint_store *plain = begin(plain_folder), *store = begin(folder);

    CHECK_OK(save_step(plain, 2));
    set_fault(mode, 0, 0);
    CHECK_OK(save_step(store, 2));
    CHECK(mode != FAULT_INTERRUPT || fault.failures > 3);
    set_fault(FAULT_NONE, 0, 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256], *a = NULL, *b = NULL;
        int64_t a_size, b_size;

        snprintf(path, sizeof path, "%s/step-00000002/%s", plain_folder, files[i]);
        CHECK_OK(rgm_file_load(&a, &a_size, path, 1 << 20));
        snprintf(path, sizeof path, "%s/step-00000002/%s", folder, files[i]);
        CHECK_OK(rgm_file_load(&b, &b_size, path, 1 << 20));
        CHECK_INT(a_size, b_size);
        CHECK(memcmp(a, b, (size_t)a_size) == 0);
        rgm_free(a);
        rgm_free(b);
    }
    end(plain, plain_folder);
    end(store, folder);
}

static void interrupted_and_short_calls_change_no_byte(void **state)
{
    (void)state;
    check_same_bytes(FAULT_INTERRUPT);
    check_same_bytes(FAULT_SHORT);
}

/* ---- checkpoints that cannot be read --------------------------------------------------------- */

static rgm_checkpoint_store *begin_with_two(const char *folder)
{
    const rgm_checkpoint_store_options options = {.keep = 3};
    rgm_checkpoint_store *store = NULL;

    set_fault(FAULT_NONE, 0, 0);
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &options));
    CHECK_OK(save_step(store, 10));
    CHECK_OK(save_step(store, 20));
    return store;
}

static void a_checkpoint_out_of_reach_is_not_taken_for_damaged(void **state)
{
    static const int errors[] = {EACCES, EPERM, EMFILE, ENFILE, ESTALE, ETIMEDOUT};
    static const char *const files[] = {"step-00000020/manifest", "step-00000020/weights",
                                        "step-00000020/slots", "step-00000020/data"};
    const char *folder = check_folder();
    rgm_checkpoint_store *store = begin_with_two(folder);
    rgm_checkpoint *c = NULL;

    (void)state;
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
        for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
            closed = files[f];
            why_closed = errors[e];
            CHECK_STATUS(RGM_ERR_IO, rgm_checkpoint_load_newest(&c, store));
            CHECK(c == NULL);
            CHECK_MESSAGE("the checkpoint of step 20 cannot be read at the moment, and no older");
            CHECK_MESSAGE(files[f]);
        }
    closed = NULL;
    CHECK_INT(20, newest(store));
    end(store, folder);
}

static void a_damaged_checkpoint_of_a_later_step_is_set_aside_until_the_run_is_there(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store *store = begin_with_two(folder);

    (void)state;
    closed = "step-00000020/weights";
    why_closed = EIO; /* the disk does not read it */
    CHECK_INT(10, newest(store));
    CHECK_INT(0, entries_with(folder, "rolled-back"));
    CHECK_OK(save_step(store, 15));
    closed = NULL; /* and does so again: the run has gone on without it */
    CHECK_INT(15, newest(store));
    CHECK_INT(1, entries_with(folder, "step-00000020.rolled-back"));
    CHECK_OK(save_step(store, 20));
    CHECK_INT(20, newest(store));
    CHECK_INT(3, entries(folder));
    check_every_step_is_intact(store);
    end(store, folder);
}

/* ---- metrics log --------------------------------------------------------------------------- */

static rgm_status add_line(rgm_metrics_log *log, int64_t step, int64_t *offset)
{
    const rgm_named_number number = {"accuracy", 0.5};

    RGM_TRY(rgm_metrics_log_add(log, "valid", step, 1, &number, 1));
    RGM_TRY(rgm_metrics_log_commit(offset, log));
    return RGM_OK;
}

static rgm_status count_line(const rgm_metrics_entry *entry, void *payload)
{
    CHECK_INT(++*(int64_t *)payload, entry->step);
    return RGM_OK;
}

static void a_full_disk_leaves_whole_lines_and_the_log_goes_on(void **state)
{
    const char *folder = check_folder();
    rgm_metrics_log *log = NULL;
    char path[128];
    int64_t offset, lines = 0;

    (void)state;
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    CHECK_OK(add_line(log, 1, &offset));
    set_fault(FAULT_ERROR, 0, ENOSPC);
    CHECK_STATUS(RGM_ERR_IO, add_line(log, 2, &offset));
    CHECK_MESSAGE("metrics.jsonl");
    set_fault(FAULT_NONE, 0, 0);
    CHECK_OK(add_line(log, 3, &offset)); /* line 2 waited in the buffer */
    rgm_metrics_log_close(log);
    CHECK_OK(rgm_metrics_log_read(path, count_line, &lines));
    CHECK_INT(3, lines);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_failed_sync_is_never_tried_again(void **state)
{
    const char *folder = check_folder();
    rgm_metrics_log *log = NULL;
    char path[128];
    int64_t offset;

    (void)state;
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    set_fault(FAULT_ERROR, 1, EIO); /* 0 is the write */
    CHECK_STATUS(RGM_ERR_IO, add_line(log, 1, &offset));
    CHECK_INT(1, fault.failures);
    set_fault(FAULT_NONE, 0, 0);
    CHECK_STATUS(RGM_ERR_IO, add_line(log, 2, &offset));
    CHECK_MESSAGE("could not be synced before");
    CHECK_INT(0, fault.fsyncs);
    rgm_metrics_log_close(log);
    CHECK_INT(0, fault.calls);
    CHECK_OK(rgm_folder_remove(folder));
}

static void every_failing_call_of_a_run_folder_is_reported(void **state)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;

    (void)state;
    options.config = "a: 1\n";
    for (int at = 0;; at++) {
        const char *folder = check_folder();
        rgm_run_folder *run = NULL;
        rgm_status status;
        int failures;

        set_fault(FAULT_ERROR, at, ENOSPC);
        status = rgm_run_folder_open(&run, folder, &options);
        failures = fault.failures;
        set_fault(FAULT_NONE, 0, 0);
        if (status != RGM_OK) {
            CHECK_STATUS(RGM_ERR_IO, status);
            CHECK(run == NULL);
            CHECK_OK(rgm_run_folder_open(&run, folder, &options));
        }
        rgm_run_folder_close(run);
        CHECK_OK(rgm_folder_remove(folder));
        if (failures == 0)
            break;
    }
}

/* ---- runs that are deleted ------------------------------------------------------------------ */

static char deleted[200], inner[300];
static rgm_run_folder *begun;

static void make_deleted(const char *root)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *run = NULL;

    set_fault(FAULT_NONE, 0, 0);
    options.config = "a: 1\n";
    snprintf(deleted, sizeof deleted, "%s/run", root);
    snprintf(inner, sizeof inner, "%s/later/run", deleted);
    CHECK_OK(rgm_run_folder_open(&run, deleted, &options));
    rgm_run_folder_close(run);
}

static void begin_inside(void)
{
    CHECK_OK(rgm_run_folder_open(&begun, inner, NULL));
}

static void a_run_that_begins_inside_while_its_folder_is_deleted_is_kept(void **state)
{
    const char *root = check_folder();

    (void)state;
    make_deleted(root);
    before_rename = begin_inside;
    CHECK_STATUS(RGM_ERR_BUSY, rgm_run_folder_delete(deleted));
    CHECK_MESSAGE("later/run is in use");
    CHECK(before_rename == NULL);
    CHECK_INT(0, entries_with(root, ".deleted-"));
    CHECK(rgm_run_folder_exists(inner));
    rgm_run_folder_close(begun);
    CHECK_OK(rgm_run_folder_delete(deleted));
    CHECK_INT(0, entries(root));
    CHECK_OK(rgm_folder_remove(root));
}

static void begin_again(void)
{
    CHECK_STATUS(RGM_ERR_BUSY, rgm_run_folder_open(&begun, deleted, NULL));
}

/* Of a folder of measurements alone, which somebody copied without the lock's file. */
static void no_run_begins_in_a_folder_without_a_lock_while_it_is_deleted(void **state)
{
    const char *root = check_folder();
    char path[300];

    (void)state;
    make_deleted(root);
    snprintf(path, sizeof path, "%s/.lock", deleted);
    CHECK_INT(0, unlink(path));
    snprintf(path, sizeof path, "%s/metrics.jsonl", deleted);
    CHECK_OK(rgm_file_create(path, "", 0));
    before_rename = begin_again;
    CHECK_OK(rgm_run_folder_delete(deleted));
    CHECK(before_rename == NULL);
    CHECK_INT(0, entries(root));
    CHECK_OK(rgm_folder_remove(root));
}

static void delete_it(void)
{
    CHECK_OK(rgm_run_folder_delete(deleted));
}

/* The trainer has opened the lock's file, and has not locked it, when the folder goes away. */
static void a_run_that_begins_while_its_folder_is_deleted_has_a_folder(void **state)
{
    const char *root = check_folder();
    rgm_run_folder *run = NULL;
    bool used = false;

    (void)state;
    make_deleted(root);
    before_flock = delete_it;
    CHECK_OK(rgm_run_folder_open(&run, deleted, NULL));
    CHECK(before_flock == NULL);
    CHECK_OK(rgm_run_folder_in_use(&used, deleted));
    CHECK(used);
    rgm_run_folder_close(run);
    CHECK_OK(rgm_folder_remove(root));
}

/* Delete it in a child that dies before call `at`; false when it lived. */
static bool die_deleting_at(int at)
{
    pid_t child = fork();
    int result;

    CHECK(child >= 0);
    if (child == 0) {
        rgm_status status;

        set_fault(FAULT_KILL, at, 0);
        status = rgm_run_folder_delete(deleted);
        _exit(status == RGM_OK ? 0 : 7);
    }
    CHECK_INT(child, waitpid(child, &result, 0));
    CHECK(WIFEXITED(result) && (WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 9));
    return WEXITSTATUS(result) == 9;
}

static void what_a_kill_leaves_of_a_deleted_run_is_removed_beside_the_next_run(void **state)
{
    bool died = true;
    int at = 0, left = 0;

    (void)state;
    for (; died; at++) {
        const char *root = check_folder();
        rgm_run_folder *run = NULL;
        char path[300];

        make_deleted(root);
        snprintf(path, sizeof path, "%s/.deleted-mine", root); /* nobody's but the user's */
        CHECK_OK(rgm_folder_make(path));
        died = die_deleting_at(at);
        left += entries_with(root, ".deleted-") > 1;
        snprintf(path, sizeof path, "%s/next//", root);
        CHECK_OK(rgm_run_folder_open(&run, path, NULL));
        rgm_run_folder_close(run);
        CHECK_INT(1, entries_with(root, ".deleted-"));
        snprintf(path, sizeof path, "%s/config.yaml", deleted);
        CHECK(rgm_path_exists(deleted) == rgm_path_exists(path));
        CHECK(died || !rgm_path_exists(deleted));
        CHECK_OK(rgm_folder_remove(root));
    }
    CHECK(left > 3);
}

TESTS(cmocka_unit_test(a_call_that_fails_leaves_an_intact_checkpoint),
      cmocka_unit_test(a_kill_before_any_call_leaves_an_intact_checkpoint),
      cmocka_unit_test(a_power_cut_before_any_call_leaves_an_intact_checkpoint),
      cmocka_unit_test(a_power_cut_while_a_step_is_replaced_leaves_the_old_or_the_new),
      cmocka_unit_test(interrupted_and_short_calls_change_no_byte),
      cmocka_unit_test(a_checkpoint_out_of_reach_is_not_taken_for_damaged),
      cmocka_unit_test(a_damaged_checkpoint_of_a_later_step_is_set_aside_until_the_run_is_there),
      cmocka_unit_test(a_full_disk_leaves_whole_lines_and_the_log_goes_on),
      cmocka_unit_test(a_failed_sync_is_never_tried_again),
      cmocka_unit_test(every_failing_call_of_a_run_folder_is_reported),
      cmocka_unit_test(a_run_that_begins_inside_while_its_folder_is_deleted_is_kept),
      cmocka_unit_test(no_run_begins_in_a_folder_without_a_lock_while_it_is_deleted),
      cmocka_unit_test(a_run_that_begins_while_its_folder_is_deleted_has_a_folder),
      cmocka_unit_test(what_a_kill_leaves_of_a_deleted_run_is_removed_beside_the_next_run))
