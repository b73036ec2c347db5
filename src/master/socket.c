/*
 * The socket of a folder.
 */
#include "master_internal.h"

#include <regimen/http_client.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An address has room for 107 bytes of a path: the folder's descriptor stands for the folder. */
void rgmi_socket_address(struct sockaddr_un *address, int folder_fd)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/" RGM_SERVICE_SOCKET,
             folder_fd);
}

bool rgmi_socket_answers(int folder_fd)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool answers;

    rgmi_socket_address(&address, folder_fd);
    answers = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return answers;
}
