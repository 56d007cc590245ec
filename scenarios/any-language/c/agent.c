/* Files a ticket for a late payment, and remembers it in state.json. With KEY it sends a key that stays the same. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char body[] = "{\"partner_id\": \"4471\", \"kind\": \"late-payment\", \"title\": \"Invoice 88 is late\"}";

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void post(int port, char *answer, size_t room) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    char request[1024], key[256] = "";
    size_t got = 0;
    ssize_t more;
    int desk = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (desk < 0 || connect(desk, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    if (getenv("KEY") && *getenv("KEY")) snprintf(key, sizeof key, "Idempotency-Key: %s\r\n", getenv("KEY"));
    int length = snprintf(request, sizeof request,
                          "POST /tickets HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n%s"
                          "Connection: close\r\nContent-Length: %zu\r\n\r\n%s", port, key, strlen(body), body);
    if (send(desk, request, (size_t)length, 0) != length) fail("send");
    while (got < room - 1 && (more = recv(desk, answer + got, room - 1 - got, 0)) > 0) got += (size_t)more;
    answer[got] = 0;
    close(desk);
    if (strncmp(answer, "HTTP/1.1 20", 11) != 0) fail(answer);
}

int main(void) {
    char answer[4096];
    if (access("state.json", F_OK) == 0) return 0;
    post(atoi(strrchr(getenv("TICKETS_URL"), ':') + 1), answer, sizeof answer);
    FILE *state = fopen("state.json.new", "w");
    if (state == NULL) fail("state.json.new");
    fprintf(state, "{\"answer\": %s}\n", strstr(answer, "\r\n\r\n") + 4);
    if (fflush(state) != 0 || fsync(fileno(state)) != 0 || fclose(state) != 0) fail("state.json.new");
    if (rename("state.json.new", "state.json") != 0) fail("state.json");
    return 0;
}
