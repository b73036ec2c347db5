/*
 * Files and folders: what is saved is there whole or not at all, errors name the path, links are
 * never followed by a removal.
 */
#include <check.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sync_check.h"

static char folder[64];
static char path_buffer[8][512];

/* folder/name; good for the next seven calls. */
static const char *in(const char *name)
{
    static int next;
    char *path = path_buffer[next++ % 8];

    snprintf(path, sizeof path_buffer[0], "%s/%s", folder, name);
    return path;
}

static int make_place(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static void expect_content(const char *path, const char *content)
{
    char *data = NULL;
    int64_t size;

    CHECK_OK(rgm_file_load(&data, &size, path, 1000000));
    CHECK_INT(strlen(content), size);
    CHECK_TEXT(content, data);
    rgm_free(data);
}

static void expect_names(const char *path, const char *joined)
{
    char **names = NULL, all[512] = "";
    int64_t count;

    CHECK_OK(rgm_folder_list(&names, &count, path));
    for (int64_t i = 0; i < count; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", names[i]);
    CHECK_TEXT(joined, all);
    rgm_names_release(names, count);
}

static void a_saved_file_replaces_the_old_one_and_leaves_nothing_else(void **state)
{
    (void)state;
    CHECK_OK(rgm_file_save(in("a"), "one", 3));
    expect_content(in("a"), "one");
    CHECK_OK(rgm_file_save(in("a"), "second", 6));
    expect_content(in("a"), "second");
    CHECK_OK(rgm_file_save(in("empty"), NULL, 0));
    expect_content(in("empty"), "");
    expect_names(folder, "a empty ");
}

static void a_save_that_fails_changes_nothing(void **state)
{
    char *data = rgm_calloc(100000, 1);

    (void)state;
    CHECK_OK(rgm_file_save(in("kept"), "old", 3));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_file_save(in("no/such/a"), "x", 1));
    CHECK_MESSAGE("no/such/a': No such file or directory");
    CHECK_OK(rgm_folder_make(in("folder")));
    CHECK_STATUS(RGM_ERR_IO, rgm_file_save(in("folder"), "x", 1)); /* rename onto a folder */
    rgm_memory_fail_at(0, true);
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_file_save(in("kept"), "new", 3));
    rgm_memory_fail_at(-1, false);
    expect_content(in("kept"), "old");
    expect_names(folder, "folder kept ");
    CHECK_EVERY_OOM(rgm_file_save(in("kept"), "new", 3), (void)0);
    rgm_free(data);
}

static void a_save_leaves_links_and_devices_what_they_are(void **state)
{
    struct stat info;
    char got[8] = "";
    int fd;

    (void)state;
    CHECK_OK(rgm_file_save(in("file"), "old", 3));
    assert_int_equal(0, symlink("file", in("link")));
    CHECK_OK(rgm_file_save(in("link"), "new", 3));
    expect_content(in("file"), "new");
    assert_int_equal(0, lstat(in("link"), &info));
    CHECK(S_ISLNK(info.st_mode));
    assert_int_equal(0, mkfifo(in("pipe"), 0600));
    fd = open(in("pipe"), O_RDWR);
    CHECK(fd >= 0);
    CHECK_OK(rgm_file_save(in("pipe"), "abc", 3));
    CHECK_INT(3, read(fd, got, sizeof got));
    CHECK_TEXT("abc", got);
    close(fd);
    assert_int_equal(0, stat(in("pipe"), &info));
    CHECK(S_ISFIFO(info.st_mode));
    expect_names(folder, "file link pipe ");
    CHECK_STATUS(RGM_ERR_IO, rgm_file_save(folder, "x", 1));
    CHECK_MESSAGE("it is a folder");
}

static void a_file_of_ours_is_not_written_through_a_link(void **state)
{
    (void)state;
    CHECK_OK(rgm_file_save(in("theirs"), "old", 3));
    assert_int_equal(0, symlink("theirs", in("ours")));
    CHECK_STATUS(RGM_ERR_IO, rgm_file_save_own(in("ours"), "new", 3));
    CHECK_MESSAGE("ours' is a link, not a file; nothing is written through it");
    expect_content(in("theirs"), "old");
    CHECK_STATUS(RGM_ERR_IO, rgm_file_save_own(folder, "new", 3));
    assert_int_equal(0, unlink(in("ours")));
    CHECK_EVERY_OOM(rgm_file_save_own(in("ours"), "new", 3), (void)0);
    CHECK_OK(rgm_file_save_own(in("ours"), "newer", 5));
    expect_content(in("ours"), "newer");
}

/* What a process that has ended, and one that has not, left of NAME. */
static void a_save_sweeps_what_dead_processes_left_of_that_file(void **state)
{
    pid_t dead = fork();
    char name[128];

    (void)state;
    if (dead == 0)
        _exit(0);
    assert_int_equal(dead, waitpid(dead, NULL, 0));
    for (int i = 0; i < 2; i++) {
        pid_t pid = i == 0 ? dead : getppid();

        snprintf(name, sizeof name, "a.tmp-%ld-0", (long)pid);
        CHECK_OK(rgm_file_create(in(name), "x", 1));
        snprintf(name, sizeof name, "a.partial-%ld", (long)pid);
        CHECK_OK(rgm_folder_make(in(name)));
    }
    snprintf(name, sizeof name, "other.tmp-%ld-0", (long)dead);
    CHECK_OK(rgm_file_create(in(name), "x", 1));
    CHECK_OK(rgm_file_save(in("a"), "one", 3));
    snprintf(name, sizeof name, "a a.partial-%ld a.tmp-%ld-0 other.tmp-%ld-0 ", (long)getppid(),
             (long)getppid(), (long)dead);
    expect_names(folder, name);
    snprintf(name, sizeof name, "other.partial-%ld", (long)dead);
    CHECK_OK(rgm_folder_make(in(name)));
    CHECK_EVERY_OOM(rgm_path_sweep(in("other")), (void)0);
    snprintf(name, sizeof name, "a a.partial-%ld a.tmp-%ld-0 ", (long)getppid(), (long)getppid());
    expect_names(folder, name);
    CHECK_OK(rgm_path_sweep(in("no/such/folder")));
}

static rgm_status write_and_publish(const char *path, const char *text, rgm_status then)
{
    char *beside;
    rgm_status status;

    RGM_TRY(rgm_file_beside(&beside, path));
    CHECK(!rgm_path_exists(beside));
    status = rgm_file_create(beside, text, (int64_t)strlen(text));
    if (status == RGM_OK && then != RGM_OK)
        status = RGM_FAIL(then, "the rest is not there");
    status = rgm_file_publish(beside, path, status);
    CHECK(!rgm_path_exists(beside));
    rgm_free(beside);
    return status;
}

static void a_file_written_beside_takes_its_place_for_good(void **state)
{
    char name[128];

    (void)state;
    synced_files = synced_folders = 0;
    CHECK_OK(write_and_publish(in("a"), "one", RGM_OK));
    CHECK_INT(1, synced_files);
    CHECK_INT(1, synced_folders);
    snprintf(name, sizeof name, "a.partial-%ld", (long)getpid());
    CHECK_OK(rgm_file_create(in(name), "of another of this number", 25));
    CHECK_OK(write_and_publish(in("a"), "two", RGM_OK));
    expect_content(in("a"), "two");
    CHECK_STATUS(RGM_ERR_DATA, write_and_publish(in("a"), "three", RGM_ERR_DATA));
    CHECK_MESSAGE("the rest is not there");
    expect_content(in("a"), "two");
    CHECK_EVERY_OOM(write_and_publish(in("a"), "two", RGM_OK), (void)0);
    expect_names(folder, "a ");
    CHECK_OK(rgm_folder_make(in("folder")));
    CHECK_STATUS(RGM_ERR_IO, write_and_publish(in("folder"), "four", RGM_OK));
    CHECK_MESSAGE("folder'");
    snprintf(name, sizeof name, "b.partial-%ld", (long)getpid());
    CHECK_OK(rgm_folder_make(in(name)));
    CHECK_STATUS(RGM_ERR_IO, write_and_publish(in("b"), "five", RGM_OK));
}

static int renames_left = -1; /* the one behind them fails; below 0: none */

__attribute__((visibility("default"))) int renameat2(int from_fd, const char *from, int to_fd,
                                                     const char *to, unsigned flags)
{
    if (renames_left-- == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

/* Files have room for so many bytes while it lasts, as on a disk that is nearly full. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    signal(SIGXFSZ, bytes == RLIM_INFINITY ? SIG_DFL : SIG_IGN);
    CHECK_INT(0, getrlimit(RLIMIT_FSIZE, &limit));
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &limit));
}

static void files_change_together_or_not_at_all(void **state)
{
    static const char *const names[] = {"kept", "fresh", "gone", "never"};
    static char large[10000], paths[4][128];
    rgm_file_change changes[] = {{.data = "new", .size = 3}, {.data = "made", .size = 4}, {0}, {0}};

    (void)state;
    for (int i = 0; i < 4; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
        changes[i].path = paths[i];
    }
    CHECK_OK(rgm_file_save(paths[0], "old", 3));
    CHECK_OK(rgm_file_save(paths[2], "here", 4));
    for (renames_left = 0; renames_left < 3;) {
        int failing = renames_left;

        CHECK_STATUS(RGM_ERR_IO, rgm_files_change(changes, 4));
        CHECK_MESSAGE(names[failing]);
        expect_content(paths[0], "old");
        expect_content(paths[2], "here");
        expect_names(folder, "gone kept ");
        renames_left = failing + 1;
    }
    renames_left = -1;
    changes[1].data = large;
    changes[1].size = sizeof large;
    limit_files(4096);
    CHECK_STATUS(RGM_ERR_IO, rgm_files_change(changes, 4));
    limit_files(RLIM_INFINITY);
    expect_content(paths[0], "old");
    expect_names(folder, "gone kept ");
    CHECK_EVERY_OOM(rgm_files_change(changes, 4), (void)0);
    expect_content(paths[0], "new");
    expect_names(folder, "fresh kept ");
    CHECK_OK(rgm_folder_make(paths[3]));
    changes[0].data = "newer";
    CHECK_STATUS(RGM_ERR_IO, rgm_files_change(changes, 4));
    CHECK_MESSAGE("never' is a folder");
    expect_content(paths[0], "new");
    CHECK_OK(rgm_files_change(changes, 0));
}

static void sweeping_takes_what_killed_saves_left_and_nothing_else(void **state)
{
    const char *const names[] = {"a.json.tmp-12-0", "a.json",       "a.tmp-x-1",   "b.tmp-1",
                                 ".tmp-1-2",        "c.tmp-1-2.gz", "c.tmp-99-100"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_OK(rgm_file_create(in(names[i]), "x", 1));
    CHECK_OK(rgm_folder_make(in("folder.tmp-1-2")));
    CHECK_EVERY_OOM(rgm_folder_sweep(folder), (void)0);
    expect_names(folder, ".tmp-1-2 a.json a.tmp-x-1 b.tmp-1 c.tmp-1-2.gz folder.tmp-1-2 ");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_folder_sweep(in("none")));
}

static void a_full_disk_is_told_with_its_path(void **state)
{
    int fd = open("/dev/full", O_WRONLY);

    (void)state;
    if (fd < 0)
        SKIP("no /dev/full here");
    CHECK_STATUS(RGM_ERR_IO, rgm_write_all(fd, "abc", 3, "metrics.jsonl"));
    close(fd);
    CHECK_TEXT("cannot write 'metrics.jsonl': No space left on device", rgm_error_message());
}

static void a_created_file_must_be_new(void **state)
{
    (void)state;
    CHECK_OK(rgm_file_create(in("new"), "abc", 3));
    CHECK_STATUS(RGM_ERR_IO, rgm_file_create(in("new"), "xyz", 3));
    CHECK_MESSAGE("File exists");
    expect_content(in("new"), "abc");
    CHECK_INT(0, symlink("new", in("link")));
    CHECK_STATUS(RGM_ERR_IO, rgm_file_create(in("link"), "xyz", 3));
    expect_content(in("new"), "abc");
}

static void loading_has_a_limit_and_names_what_is_missing(void **state)
{
    char *data = NULL;
    int64_t size;

    (void)state;
    CHECK_OK(rgm_file_save(in("ten"), "0123456789", 10));
    CHECK_OK(rgm_file_load(&data, &size, in("ten"), 10));
    rgm_free(data);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_file_load(&data, &size, in("ten"), 9));
    CHECK_MESSAGE("more than 9 bytes");
    CHECK(data == NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_file_load(&data, &size, in("none"), 9));
    CHECK_MESSAGE("none");
    CHECK_STATUS(RGM_ERR_IO, rgm_file_load(&data, &size, folder, 1 << 20));
    CHECK_MESSAGE("Is a directory");
    CHECK(mkfifo(in("pipe"), 0600) == 0);
    CHECK_STATUS(RGM_ERR_IO, rgm_file_load(&data, &size, in("pipe"), 9)); /* at once */
    CHECK_MESSAGE("is a pipe, not a file");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_file_load(&data, &size, "/dev/zero", 100000));
    CHECK_OK(rgm_file_load(&data, &size, "/proc/self/statm", 1000));
    CHECK(size > 0 && data[size] == 0);
    rgm_free(data);
    CHECK_EVERY_OOM(rgm_file_load(&data, &size, in("ten"), 10), rgm_free(data));
}

static void a_mapped_file_shows_its_bytes(void **state)
{
    rgm_mapped_file file;

    (void)state;
    CHECK_OK(rgm_file_save(in("m"), "0123456789", 10));
    CHECK_OK(rgm_file_map(&file, in("m")));
    CHECK_INT(10, file.size);
    CHECK(memcmp(file.data, "0123456789", 10) == 0);
    rgm_file_unmap(&file);
    rgm_file_unmap(&file); /* twice is harmless */
    CHECK_OK(rgm_file_save(in("m"), "", 0));
    CHECK_OK(rgm_file_map(&file, in("m")));
    CHECK(file.size == 0 && file.data != NULL);
    rgm_file_unmap(&file);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_file_map(&file, in("none")));
    CHECK_STATUS(RGM_ERR_IO, rgm_file_map(&file, folder));
}

/* What was cut off reads as zeros; another file's reader does not notice. */
static void a_guarded_file_may_be_cut(void **state)
{
    rgm_mapped_file file, other;
    char *bytes = test_calloc(20000, 1);

    (void)state;
    memset(bytes, 'x', 20000);
    CHECK_OK(rgm_file_save(in("cut"), bytes, 20000));
    CHECK_OK(rgm_file_save(in("whole"), bytes, 20000));
    CHECK_OK(rgm_file_map_guarded(&file, in("cut")));
    CHECK_OK(rgm_file_map_guarded(&other, in("whole")));
    CHECK(file.data[19999] == 'x' && !rgm_mapped_file_is_cut(&file));
    CHECK_INT(0, truncate(in("cut"), 4096));
    CHECK_INT('x', file.data[4095]);
    CHECK(!rgm_mapped_file_is_cut(&file));
    CHECK_INT(0, file.data[9000]);
    CHECK(rgm_mapped_file_is_cut(&file) && !rgm_mapped_file_is_cut(&other));
    CHECK_INT('x', other.data[9000]);
    rgm_file_unmap(&file);
    CHECK_OK(rgm_file_map_guarded(&file, in("cut")));
    CHECK(file.size == 4096 && !rgm_mapped_file_is_cut(&file));
    rgm_file_unmap(&file);
    rgm_file_unmap(&other);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_file_map_guarded(&file, in("none")));
    test_free(bytes);
}

static void folders_are_made_with_their_parents(void **state)
{
    char name[5000] = "";

    (void)state;
    CHECK_OK(rgm_folder_make(in("a/b//c/")));
    CHECK(rgm_path_is_folder(in("a/b/c")));
    CHECK_OK(rgm_folder_make(in("a/b/c")));
    CHECK_OK(rgm_folder_make("/"));
    CHECK_OK(rgm_file_save(in("a/file"), "", 0));
    CHECK_STATUS(RGM_ERR_IO, rgm_folder_make(in("a/file/d")));
    CHECK_MESSAGE("a/file");
    CHECK(rgm_path_exists(in("a/file")) && !rgm_path_is_folder(in("a/file")));
    CHECK(rgm_folder_has(in("a"), "file") && rgm_folder_has(in("a/b/"), "c"));
    CHECK(!rgm_folder_has(in("a"), "none") && !rgm_folder_has(in("none"), "file"));
    CHECK(rgm_folder_has("", "src") && !rgm_folder_has("/", "src/base")); /* "": where we are */
    memset(name, 'x', sizeof name - 1);
    CHECK(!rgm_folder_has(in("a"), name)); /* longer than any path */
    CHECK_OK(rgm_folder_sync(in("a")));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_folder_sync(in("none")));
}

static void names_are_listed_in_byte_order(void **state)
{
    char **names = NULL;
    int64_t count;

    (void)state;
    CHECK_OK(rgm_folder_make(in("list/B")));
    CHECK_OK(rgm_file_save(in("list/a"), "", 0));
    CHECK_OK(rgm_file_save(in("list/.hidden"), "", 0));
    CHECK_OK(rgm_file_save(in("list/part-00010"), "", 0));
    CHECK_OK(rgm_file_save(in("list/part-00002"), "", 0));
    expect_names(in("list"), ".hidden B a part-00002 part-00010 ");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_folder_list(&names, &count, in("none")));
    CHECK_EVERY_OOM(rgm_folder_list(&names, &count, in("list")), rgm_names_release(names, count));
    rgm_names_release(NULL, 0);
}

static void a_pattern_finds_files_in_byte_order(void **state)
{
    char **names = NULL;
    int64_t count;

    (void)state;
    CHECK_OK(rgm_file_save(in("x-2.tfr"), "", 0));
    CHECK_OK(rgm_file_save(in("x-1.tfr"), "", 0));
    CHECK_OK(rgm_file_save(in("y[1].tfr"), "", 0));
    CHECK_OK(rgm_glob(&names, &count, in("x-?.tfr")));
    CHECK_INT(2, count);
    CHECK_TEXT(in("x-1.tfr"), names[0]);
    CHECK_TEXT(in("x-2.tfr"), names[1]);
    rgm_names_release(names, count);
    CHECK_OK(rgm_glob(&names, &count, in("y[1].tfr"))); /* the file of that very name */
    CHECK_INT(1, count);
    rgm_names_release(names, count);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_glob(&names, &count, in("z*")));
    CHECK_MESSAGE("/z*'");
    CHECK(names == NULL);
    CHECK_EVERY_OOM(rgm_glob(&names, &count, in("*.tfr")), rgm_names_release(names, count));
}

/* It is not a1 that is meant by a[1], unless there is no a[1]. */
static void a_folder_that_is_there_is_no_pattern(void **state)
{
    char **names;
    int64_t count;

    (void)state;
    CHECK_OK(rgm_folder_make(in("a1/b")));
    CHECK_OK(rgm_file_save(in("a1/b/x-1"), "", 0));
    CHECK_OK(rgm_glob(&names, &count, in("a[1]/b/x-*")));
    CHECK_TEXT(in("a1/b/x-1"), names[0]);
    rgm_names_release(names, count);
    CHECK_OK(rgm_folder_make(in("a[1]/b\\*")));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_glob(&names, &count, in("a[1]/b/x-*")));
    CHECK_OK(rgm_file_save(in("a[1]/b\\*/x-2"), "", 0));
    CHECK_OK(rgm_glob(&names, &count, in("a[1]/b\\*/x-[2]")));
    CHECK_INT(1, count);
    CHECK_TEXT(in("a[1]/b\\*/x-2"), names[0]);
    rgm_names_release(names, count);
    CHECK_OK(rgm_glob(&names, &count, in("a[1]/b*/x-*"))); /* the part behind is one */
    CHECK_INT(1, count);
    rgm_names_release(names, count);
}

static void removal_takes_all_and_follows_no_link(void **state)
{
    char deep[512];

    (void)state;
    CHECK_OK(rgm_folder_make(in("outside")));
    CHECK_OK(rgm_file_save(in("outside/precious"), "gold", 4));
    CHECK_OK(rgm_folder_make(in("run/a/b")));
    CHECK_OK(rgm_file_save(in("run/a/b/f"), "", 0));
    CHECK_INT(0, symlink("../outside", in("run/link")));
    CHECK_INT(0, symlink("../../outside/precious", in("run/a/link")));
    CHECK_INT(0, symlink("nowhere", in("run/a/b/dangling")));
    CHECK_OK(rgm_file_save(in("run/.removed-1-0"), "", 0));
    snprintf(deep, sizeof deep, "%s", in("run"));
    for (int i = 0; i < 150; i++) /* deeper than there are descriptors for in a small limit */
        strncat(deep, "/d", sizeof deep - strlen(deep) - 1);
    CHECK_OK(rgm_folder_make(deep));
    CHECK_OK(rgm_folder_remove(in("run")));
    CHECK(!rgm_path_exists(in("run")));
    expect_content(in("outside/precious"), "gold");

    CHECK_INT(0, symlink("outside", in("alias"))); /* the name itself is a link */
    CHECK_OK(rgm_folder_remove(in("alias")));
    expect_names(folder, "outside ");
    expect_content(in("outside/precious"), "gold");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_folder_remove(in("none")));
    CHECK_MESSAGE("none");
}

static void paths_join_with_one_slash(void **state)
{
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"", "b", "b"}};
    char *path = NULL;

    (void)state;
    for (int i = 0; i < 4; i++) {
        CHECK_OK(rgm_path_join(&path, cases[i][0], cases[i][1]));
        CHECK_TEXT(cases[i][2], path);
        rgm_free(path);
    }
    CHECK_OK(rgm_path_in(&path, "a", "b"));
    CHECK_TEXT("a/b", path);
    rgm_free(path);
    CHECK_OK(rgm_path_in(&path, "a", "/b"));
    CHECK_TEXT("/b", path);
    rgm_free(path);
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

TESTS(PLACED(a_saved_file_replaces_the_old_one_and_leaves_nothing_else),
      PLACED(a_save_that_fails_changes_nothing),
      PLACED(a_save_leaves_links_and_devices_what_they_are),
      PLACED(a_file_of_ours_is_not_written_through_a_link),
      PLACED(a_save_sweeps_what_dead_processes_left_of_that_file),
      PLACED(a_file_written_beside_takes_its_place_for_good),
      PLACED(files_change_together_or_not_at_all),
      PLACED(sweeping_takes_what_killed_saves_left_and_nothing_else),
      PLACED(a_full_disk_is_told_with_its_path), PLACED(a_created_file_must_be_new),
      PLACED(loading_has_a_limit_and_names_what_is_missing), PLACED(a_mapped_file_shows_its_bytes),
      PLACED(a_guarded_file_may_be_cut), PLACED(folders_are_made_with_their_parents),
      PLACED(names_are_listed_in_byte_order), PLACED(a_pattern_finds_files_in_byte_order),
      PLACED(a_folder_that_is_there_is_no_pattern), PLACED(removal_takes_all_and_follows_no_link),
      PLACED(paths_join_with_one_slash))
