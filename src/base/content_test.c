/*
 * SHA-256 and HMAC against the values of their standards; the store: what is put twice is there
 * once, what is damaged is written again, what nobody needs goes.
 */
#include "base_internal.h"
#include <check.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[256];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static const char *in(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void published_hashes_come_out(void **state)
{
    /* FIPS 180-4's examples; the third is of a million times the letter a. */
    static const char *const wanted[] = {
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"};
    static const char *const texts[] = {"", "abc",
                                        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"};
    char got[RGM_SHA256_ROOM], *many = malloc(1000000);

    (void)state;
    for (int i = 0; i < 3; i++) {
        rgm_sha256_text(got, texts[i], strlen(texts[i]));
        CHECK_TEXT(wanted[i], got);
    }
    memset(many, 'a', 1000000);
    rgm_sha256_text(got, many, 1000000);
    CHECK_TEXT("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", got);
    free(many);
}

static void pieces_of_any_length_give_the_same_hash(void **state)
{
    uint8_t data[300];
    char whole[RGM_SHA256_ROOM], parts[RGM_SHA256_ROOM];
    rgmi_sha256 hash;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7);
    for (size_t size = 0; size < 200; size++)
        for (size_t cut = 0; cut <= size; cut += 13) {
            rgmi_sha256_begin(&hash);
            rgmi_sha256_add(&hash, data, size);
            rgmi_sha256_end(whole, &hash);
            rgmi_sha256_begin(&hash);
            rgmi_sha256_add(&hash, data, cut);
            rgmi_sha256_add(&hash, data + cut, size - cut);
            rgmi_sha256_end(parts, &hash);
            CHECK_TEXT(whole, parts);
        }
}

static void hmac_is_as_published(void **state)
{
    char got[RGM_SHA256_ROOM], key[131];

    (void)state; /* RFC 4231, cases 2 and 6: a short key, one longer than a block */
    rgm_hmac_sha256_text(got, "Jefe", 4, "what do ya want for nothing?", 28);
    CHECK_TEXT("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", got);
    memset(key, 0xaa, sizeof key);
    rgm_hmac_sha256_text(got, key, sizeof key,
                         "Test Using Larger Than Block-Size Key - Hash Key First", 54);
    CHECK_TEXT("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", got);
}

/* How many files the store has. */
static int64_t count_files(const char *store)
{
    char **names, **inner, place[300];
    int64_t count, more, files = 0;

    CHECK_OK(rgm_folder_list(&names, &count, store));
    for (int64_t i = 0; i < count; i++) {
        snprintf(place, sizeof place, "%s/%s", store, names[i]);
        if (!rgm_path_is_folder(place)) {
            files++;
            continue;
        }
        CHECK_OK(rgm_folder_list(&inner, &more, place));
        files += more;
        rgm_names_release(inner, more);
    }
    rgm_names_release(names, count);
    return files;
}

static void the_same_bytes_take_room_once(void **state)
{
    char store[128], first[RGM_SHA256_ROOM], second[RGM_SHA256_ROOM], *data;
    int64_t size;

    (void)state;
    snprintf(store, sizeof store, "%s/store", folder);
    CHECK_OK(rgm_file_save(in("a"), "abc", 3));
    CHECK_OK(rgm_content_put(first, &size, store, in("a")));
    CHECK_INT(3, size);
    CHECK_TEXT("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", first);
    CHECK_OK(rgm_file_save(in("b"), "abc", 3));
    CHECK_OK(rgm_content_put(second, NULL, store, in("b")));
    CHECK_TEXT(first, second);
    CHECK_INT(1, count_files(store));
    CHECK_OK(rgm_content_place(store, first, in("placed")));
    CHECK_OK(rgm_file_load(&data, &size, in("placed"), 100));
    CHECK_TEXT("abc", data);
    rgm_free(data);
    CHECK_OK(rgm_content_sweep(store)); /* somebody has it */
    CHECK_INT(1, count_files(store));
    CHECK_INT(0, unlink(in("placed")));
    CHECK_OK(rgm_content_sweep(store));
    CHECK_INT(0, count_files(store));
}

static void what_is_damaged_is_written_again(void **state)
{
    char store[128], hash[RGM_SHA256_ROOM], place[300], found[RGM_SHA256_ROOM];

    (void)state;
    snprintf(store, sizeof store, "%s/store", folder);
    CHECK_OK(rgm_file_save(in("a"), "abc", 3));
    CHECK_OK(rgm_content_put(hash, NULL, store, in("a")));
    snprintf(place, sizeof place, "%s/%.2s/%s", store, hash, hash + 2);
    CHECK_INT(0, unlink(place));
    CHECK_OK(rgm_file_create(place, "abd", 3));
    CHECK_OK(rgm_content_put(hash, NULL, store, in("a")));
    CHECK_OK(rgm_file_sha256(found, NULL, place));
    CHECK_TEXT(hash, found);
}

static void what_is_no_plain_file_is_refused(void **state)
{
    char hash[RGM_SHA256_ROOM], store[128];

    (void)state;
    snprintf(store, sizeof store, "%s/store", folder);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_content_put(hash, NULL, store, in("missing")));
    CHECK_OK(rgm_folder_make(in("inner")));
    CHECK_STATUS(RGM_ERR_IO, rgm_content_put(hash, NULL, store, in("inner")));
    CHECK_MESSAGE("no plain file");
    CHECK_OK(rgm_file_save(in("a"), "abc", 3));
    CHECK_INT(0, symlink("a", in("link")));
    CHECK_STATUS(RGM_ERR_IO, rgm_content_put(hash, NULL, store, in("link")));
    CHECK_INT(0, mkfifo(in("pipe"), 0600));
    CHECK_STATUS(RGM_ERR_IO, rgm_content_put(hash, NULL, store, in("pipe")));
    CHECK_STATUS(RGM_ERR_ARG, rgm_content_place(store, "../../etc/passwd", in("x")));
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_content_place(store,
                                   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852"
                                   "b855",
                                   in("x")));
    CHECK_INT(0, count_files(store));
}

/* Put many files until killed. */
static void put_for_ever(const char *store, int ready)
{
    char hash[RGM_SHA256_ROOM], name[300], data[4096];

    for (int i = 0;; i++) {
        memset(data, 'a' + i % 26, sizeof data);
        snprintf(name, sizeof name, "%s/from", folder);
        snprintf(data, 32, "%d", i);
        if (rgm_file_renew(name, data, sizeof data) != RGM_OK ||
            rgm_content_put(hash, NULL, store, name) != RGM_OK)
            _exit(1);
        if (i == 0 && write(ready, "x", 1) != 1)
            _exit(1);
    }
}

static void a_kill_leaves_only_whole_files(void **state)
{
    char store[128], place[400], found[RGM_SHA256_ROOM], **names, **inner;
    int64_t count, more;

    (void)state;
    snprintf(store, sizeof store, "%s/store", folder);
    for (int round = 0; round < 8; round++) {
        int ready[2], status;
        char byte;

        CHECK_INT(0, pipe(ready));
        pid_t child = fork();
        if (child == 0)
            put_for_ever(store, ready[1]);
        CHECK_INT(1, read(ready[0], &byte, 1));
        usleep((useconds_t)(round * 1700)); /* wherever it is by then */
        CHECK_INT(0, kill(child, SIGKILL));
        CHECK_INT(child, waitpid(child, &status, 0));
        CHECK(WIFSIGNALED(status));
        close(ready[0]);
        close(ready[1]);
    }
    CHECK_OK(rgm_folder_list(&names, &count, store));
    for (int64_t i = 0; i < count; i++) {
        if (strlen(names[i]) != 2)
            continue; /* what is under way has another name */
        snprintf(place, sizeof place, "%s/%s", store, names[i]);
        CHECK_OK(rgm_folder_list(&inner, &more, place));
        for (int64_t j = 0; j < more; j++) {
            snprintf(place, sizeof place, "%s/%s/%s", store, names[i], inner[j]);
            CHECK_OK(rgm_file_sha256(found, NULL, place));
            CHECK(memcmp(found, names[i], 2) == 0 && strcmp(found + 2, inner[j]) == 0);
        }
        rgm_names_release(inner, more);
    }
    rgm_names_release(names, count);
    CHECK_OK(rgm_content_sweep(store));
    CHECK_INT(0, count_files(store));
}

static rgm_status put_and_place(const char *store)
{
    char hash[RGM_SHA256_ROOM];

    unlink(in("placed"));
    RGM_TRY(rgm_content_put(hash, NULL, store, in("a")));
    RGM_TRY(rgm_content_place(store, hash, in("placed")));
    return rgm_content_sweep(store);
}

static void no_memory_is_told(void **state)
{
    char store[128];

    (void)state;
    snprintf(store, sizeof store, "%s/store", folder);
    CHECK_OK(rgm_file_save(in("a"), "abc", 3));
    CHECK_EVERY_OOM(put_and_place(store), (void)0);
}

TESTS(cmocka_unit_test(published_hashes_come_out),
      cmocka_unit_test(pieces_of_any_length_give_the_same_hash),
      cmocka_unit_test(hmac_is_as_published),
      cmocka_unit_test_setup_teardown(the_same_bytes_take_room_once, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(what_is_damaged_is_written_again, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(what_is_no_plain_file_is_refused, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(a_kill_leaves_only_whole_files, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(no_memory_is_told, make_folder, remove_folder))
