/* bare_fcgi: the yardstick of bench_catalog.sh. A libfcgi responder that does nothing but send the
 * same bytes: bare_fcgi SOCKET PROCESSES TYPE FILE */
#include <fcgiapp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *body;
static int length;

static int load(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return -1;
    length = (int)ftell(f);
    rewind(f);
    body = malloc((size_t)length + 1);
    return body && fread(body, 1, (size_t)length, f) == (size_t)length ? fclose(f) : -1;
}

static void serve(int fd, const char *type)
{
    FCGX_Request q;
    char head[256];
    int n =
        snprintf(head, sizeof head, "Content-Type: %s\r\nContent-Length: %d\r\n\r\n", type, length);
    FCGX_InitRequest(&q, fd, 0);
    while (FCGX_Accept_r(&q) == 0) {
        FCGX_PutStr(head, n, q.out);
        FCGX_PutStr(body, length, q.out);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5 || load(argv[4]) != 0 || FCGX_Init() != 0)
        return 2;
    int fd = FCGX_OpenSocket(argv[1], 511);
    for (long n = strtol(argv[2], NULL, 10); n > 1; n--)
        if (fork() == 0)
            break;
    serve(fd, argv[3]);
    return 0;
}
