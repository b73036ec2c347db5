/*
 * Key files: a line that says what it is, and a secret key of CURVE as Z85. Trainer and workers
 * have the same one: a connection is let in if it knows the pair.
 */
#include "service_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first_line[] = "regimen key 1\n";
enum { KEY_TEXT = 40, MOST_BYTES = 256 };

static rgm_status write_key(int fd, const char *path, const char *secret)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(rgm_text_printf(&text, "%s%s\n", first_line, secret));
    RGM_GO(rgm_write_all(fd, text.data, text.size, path));
    RGM_GO(rgm_sync(fd, path));
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgm_service_key_create(const char *path)
{
    const rgmi_zmq *zmq;
    char open_key[KEY_TEXT + 1], secret[KEY_TEXT + 1];
    rgm_status status;
    int fd;

    RGM_TRY(rgmi_zmq_load(&zmq));
    if (zmq->curve_keypair(open_key, secret) != 0)
        return rgmi_zmq_failed(zmq, "make", "a key");
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return RGM_FAIL(RGM_ERR_BUSY, "'%s' is there already: a key is not overwritten", path);
    if (fd < 0)
        return RGM_FAIL_SYSTEM("create", path);
    status = write_key(fd, path, secret);
    close(fd);
    if (status != RGM_OK)
        unlink(path);
    return status;
}

static rgm_status check_owner_alone(const char *path)
{
    struct stat about;

    if (stat(path, &about) != 0)
        return RGM_FAIL_SYSTEM("look at", path);
    return (about.st_mode & (S_IRWXG | S_IRWXO)) == 0
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG,
                          "others than its owner may use the key '%s': chmod 600 '%s'", path, path);
}

static bool is_key(const char *data, int64_t size)
{
    int64_t head = (int64_t)sizeof first_line - 1, end = size;

    while (end > head && isspace((unsigned char)data[end - 1]))
        end--;
    return end == head + KEY_TEXT && memcmp(data, first_line, (size_t)head) == 0;
}

rgm_status rgmi_key_load(rgmi_key *out, const char *path, const rgmi_zmq *zmq)
{
    char *data = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(check_owner_alone(path));
    RGM_GO(rgm_file_load(&data, &size, path, MOST_BYTES));
    if (!is_key(data, size))
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                        "'%s' is no key of input workers; regimen data key FILE makes one", path));
    memcpy(out->secret, data + sizeof first_line - 1, KEY_TEXT);
    out->secret[KEY_TEXT] = '\0';
    if (zmq->curve_public(out->open, out->secret) != 0 ||
        zmq->z85_decode(out->open_bytes, out->open) == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "'%s' holds no key: its second line is damaged", path));
done:
    rgm_free(data);
    return status;
}
