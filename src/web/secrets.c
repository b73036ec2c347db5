/*
 * The token over restarts: two lines in a file of the user's own. It is believed only if nobody
 * else could have read or written it.
 */
#include <regimen/web.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS = 32, FILE_SIZE = 2 * (DIGITS + 1) };

static bool take_line(char out[DIGITS + 1], const char *line)
{
    if (strspn(line, "0123456789abcdef") != DIGITS || line[DIGITS] != '\n')
        return false;
    memcpy(out, line, DIGITS);
    out[DIGITS] = '\0';
    return true;
}

static bool is_private(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 077) == 0 && info.st_nlink == 1;
}

static bool read_secrets(rgm_web_secrets *out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char text[FILE_SIZE + 1] = "";
    bool good = false;

    if (fd < 0)
        return false;
    if (is_private(fd) && pread(fd, text, FILE_SIZE, 0) == FILE_SIZE)
        good = take_line(out->token, text) && take_line(out->session, text + DIGITS + 1);
    close(fd);
    return good;
}

/* What a browser keeps of a token that has nothing beside it: who has it cannot tell the token. */
static void derive_session(rgm_web_secrets *out)
{
    char text[64], digest[RGM_SHA256_ROOM];
    int size = snprintf(text, sizeof text, "regimen session %s", out->token);

    rgm_sha256_text(digest, text, (size_t)size);
    memcpy(out->session, digest, DIGITS);
}

/* The first bytes of a file, if nobody but its owner can read or change it; size -1: they cannot be
 * read. */
static rgm_status read_private(char *out, int64_t room, ssize_t *size, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    rgm_status status = RGM_OK;

    if (fd < 0)
        return errno == ELOOP ? RGM_FAIL(RGM_ERR_ARG, "%s is a link: name the file itself", path)
                              : RGM_FAIL_SYSTEM("open", path);
    if (!is_private(fd))
        RGM_GO(RGM_FAIL(RGM_ERR_ARG,
                        "%s: a file with a token is yours alone: chmod 600 it, without another "
                        "link to it",
                        path));
    *size = pread(fd, out, (size_t)room, 0);
done:
    close(fd);
    return status;
}

rgm_status rgm_web_token_read(char out[RGM_WEB_TOKEN], const char *path)
{
    ssize_t size = 0;

    memset(out, 0, RGM_WEB_TOKEN);
    RGM_TRY(read_private(out, RGM_WEB_TOKEN, &size, path));
    if (size == RGM_WEB_TOKEN && memchr(out, '\n', RGM_WEB_TOKEN) == NULL) {
        memset(out, 0, RGM_WEB_TOKEN);
        return RGM_FAIL(RGM_ERR_ARG, "the first line of %s is longer than a token's %d characters",
                        path, RGM_WEB_TOKEN - 1);
    }
    out[strcspn(out, "\r\n")] = '\0';
    return RGM_OK;
}

rgm_status rgm_web_secrets_read(rgm_web_secrets *out, const char *path)
{
    char text[FILE_SIZE + 1] = "";
    ssize_t size = 0;
    rgm_status status = RGM_OK;

    memset(out, 0, sizeof *out);
    RGM_GO(read_private(text, FILE_SIZE, &size, path));
    if (size == DIGITS)
        text[size++] = '\n';
    if (size < DIGITS + 1 || !take_line(out->token, text))
        RGM_GO(RGM_FAIL(RGM_ERR_ARG,
                        "%s has no token in its first line: 32 hexadecimal digits, as openssl rand "
                        "-hex 16 prints",
                        path));
    if (size < FILE_SIZE || !take_line(out->session, text + DIGITS + 1))
        derive_session(out);
done:
    return status;
}

static rgm_status make_folders(const char *path)
{
    char *folder = NULL;
    const char *slash = strrchr(path, '/');
    rgm_status status;

    if (slash == NULL || slash == path)
        return RGM_OK;
    RGM_TRY(rgm_strndup(&folder, path, (size_t)(slash - path)));
    status = rgm_folder_make(folder);
    rgm_free(folder);
    return status;
}

/* Beside its place first, so that a start that is killed leaves no half of it. */
static rgm_status write_secrets(const rgm_web_secrets *secrets, const char *path)
{
    char *draft = NULL, text[FILE_SIZE + 1];
    int fd = -1;
    rgm_status status = RGM_OK;

    snprintf(text, sizeof text, "%s\n%s\n", secrets->token, secrets->session);
    RGM_GO(make_folders(path));
    RGM_GO(rgm_strprintf(&draft, "%s.new", path));
    (void)unlink(draft);
    fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("create", draft));
    RGM_GO(rgm_write_all(fd, text, FILE_SIZE, draft));
    if (fsync(fd) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("write", draft));
    if (rename(draft, path) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("replace", path));
done:
    if (fd >= 0)
        close(fd);
    if (status != RGM_OK && fd >= 0)
        (void)unlink(draft);
    rgm_free(draft);
    return status;
}

rgm_status rgm_web_secrets_load(rgm_web_secrets *out, const char *path, bool fresh)
{
    memset(out, 0, sizeof *out);
    if (!fresh && read_secrets(out, path))
        return RGM_OK;
    RGM_TRY(rgm_random_hex(out->token));
    RGM_TRY(rgm_random_hex(out->session));
    return rgm_error_trace(write_secrets(out, path), __FILE__, __LINE__, __func__);
}
