/* Customers in numbers: sends one HTTP/1.1 request after the other and times the answers.
 *
 * Closed loop: each of --conns connections has one request under way, for --duration seconds. Open loop (--rate): so
 * many requests a second over the same connections, however long the answers take, as long as one of them is free.
 * --close 1 makes a new connection for each request. With --port more than once the connections are shared out.
 *
 * `@@@@@@@@` (8 characters) in --path and --body stands for a message's number. With --span K the request of number n
 * is about the messages n*K to n*K+K-1, and its i-th placeholder stands for the (i mod K)-th of these.
 *
 * --stride S and --modulo M take the numbers in another order: that of request n is n*S mod M.
 *
 * The file --out has 24 octets, little endian, for each request from --start on: the times at which it was sent and
 * answered (ns of CLOCK_MONOTONIC), the HTTP status (32 bits; 0: no answer), and 1 if the body held --expect (32 bits).
 * A summary in JSON goes to standard output. A request on a connection that broke is not repeated.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define READ_SIZE 16384
#define TIMER UINT32_MAX
#define RETRY_NS 20000000u       /* before a connection that broke is made anew */
#define LEAST_PAUSE_NS 200000u   /* open loop: it wakes at most so often, and then sends all that is due */
#define PATIENCE_NS 5000000000u  /* for the last answers */
#define MOST_PORTS 32

typedef struct { uint64_t sent, answered; uint32_t status, expected; } record_t;
typedef enum { CLOSED, BROKEN, CONNECTING, SENDING, READING, IDLE } state_t;
typedef struct {
    int fd;
    state_t state;
    int64_t request;
    size_t written;
    char *in;
    size_t length, room;
    uint64_t retry_at;
} connection_t;

static record_t *records;
static uint32_t capacity = 4000000, start, issued;
static connection_t *connections;
static uint64_t stride = 1, modulo;
static int connection_count = 16, close_each, span = 1, poller, timer, stopping, under_way;
static double rate;
static char *request;
static size_t request_length, *places, place_count;
static const char *expect;
static struct sockaddr_in address = { .sin_family = AF_INET };
static in_port_t ports[MOST_PORTS]; /* in the order of the network */
static int port_count;
static uint64_t good, other, errors, opened, unexpected;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static void watch(int index, int operation, uint32_t events) {
    struct epoll_event event = { .events = events, .data.u32 = index };
    epoll_ctl(poller, operation, connections[index].fd, &event);
}

static void drop(connection_t *c, uint64_t pause) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->length = 0;
    c->state = pause ? BROKEN : CLOSED;
    c->retry_at = pause ? now() + pause : 0;
}

static void fail(connection_t *c) {
    if (c->request >= 0) {
        errors++;
        under_way--;
        c->request = -1;
    }
    drop(c, RETRY_NS);
}

static void fill_in(uint64_t number) {
    char digits[12];
    if (modulo) number = number * stride % modulo;
    for (size_t k = 0; k < place_count; k++) {
        sprintf(digits, "%08u", (uint32_t)(number * span + k % span));
        memcpy(request + places[k], digits, 8);
    }
}

static void send_on(int index) {
    connection_t *c = &connections[index];
    c->state = SENDING;
    fill_in(start + c->request);
    while (c->written < request_length) {
        ssize_t n = send(c->fd, request + c->written, request_length - c->written, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(index, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n < 0) {
            fail(c);
            return;
        }
        c->written += n;
    }
    c->state = READING;
}

static int dial(int index) {
    connection_t *c = &connections[index];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0) return 0;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (close_each) { /* no TIME_WAIT: there are not enough ports for that */
        struct linger at_once = { 1, 0 };
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    address.sin_port = ports[index % port_count];
    if (connect(fd, (void *)&address, sizeof address) < 0 && errno != EINPROGRESS) {
        close(fd);
        return 0;
    }
    c->fd = fd;
    c->length = 0;
    c->state = CONNECTING;
    opened++;
    watch(index, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
    return 1;
}

static void begin(int index) {
    connection_t *c = &connections[index];
    if (issued >= capacity) {
        stopping = 1;
        return;
    }
    c->request = issued++;
    c->written = 0;
    records[c->request].sent = now();
    under_way++;
    if (c->fd >= 0) send_on(index);
    else if (!dial(index)) fail(c);
}

static void answered(int index, int status, int expected, int last) {
    connection_t *c = &connections[index];
    record_t *record = &records[c->request];
    record->answered = now();
    record->status = status;
    record->expected = expected;
    under_way--;
    c->request = -1;
    c->length = 0;
    if (status >= 200 && status < 300) good++;
    else other++;
    if (!expected) unexpected++;
    if (last || close_each) drop(c, 0);
    else c->state = IDLE;
    if (!stopping && rate == 0) begin(index);
}

static void parse(int index, int ended) {
    connection_t *c = &connections[index];
    c->in[c->length] = 0;
    char *head_end = strstr(c->in, "\r\n\r\n");
    if (!head_end) {
        if (ended) fail(c);
        return;
    }
    size_t head = head_end - c->in + 4;
    long body = -1;
    int chunked = 0, last = !strncmp(c->in, "HTTP/1.0", 8), status = atoi(c->in + 9);
    for (char *line = strstr(c->in, "\r\n") + 2; line < head_end; line = strstr(line, "\r\n") + 2) {
        if (!strncasecmp(line, "content-length:", 15)) body = atol(line + 15);
        else if (!strncasecmp(line, "transfer-encoding: chunked", 26)) chunked = 1;
        else if (!strncasecmp(line, "connection: close", 17)) last = 1;
        else if (!strncasecmp(line, "connection: keep-alive", 22)) last = 0;
    }
    int complete;
    if (chunked) complete = c->length >= head + 5 && !memcmp(c->in + c->length - 5, "0\r\n\r\n", 5);
    else if (body >= 0) complete = c->length >= head + body;
    else complete = last = ended;
    if (complete) answered(index, status, !expect || strstr(c->in + head, expect) != NULL, last || ended);
    else if (ended) fail(c);
}

static void on_readable(int index) {
    connection_t *c = &connections[index];
    if (c->room < c->length + READ_SIZE + 1) {
        c->room = c->length * 2 + READ_SIZE + 1;
        c->in = realloc(c->in, c->room);
        if (!c->in) abort();
    }
    ssize_t n = recv(c->fd, c->in + c->length, READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) c->length += n;
    if (c->state == READING && n >= 0) {
        parse(index, n == 0);
    } else if (c->state == IDLE) { /* the server ended a connection that was not in use */
        drop(c, 0);
        if (!stopping && rate == 0) begin(index);
    } else {
        fail(c);
    }
}

static void on_event(int index, uint32_t events) {
    connection_t *c = &connections[index];
    if (c->fd < 0) return;
    if (c->state == CONNECTING && events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) {
        int problem = 0;
        socklen_t length = sizeof problem;
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &problem, &length);
        if (problem) {
            fail(c);
            return;
        }
        watch(index, EPOLL_CTL_MOD, EPOLLIN);
        send_on(index);
        return;
    }
    if (c->state == SENDING && events & EPOLLOUT) {
        watch(index, EPOLL_CTL_MOD, EPOLLIN);
        send_on(index);
    }
    if (c->fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) on_readable(index);
}

/* Open loop: sends what is due, as far as connections are free, and sets the timer to the next one. */
static void send_due(uint64_t begun) {
    static int turn;
    static uint64_t armed;
    uint64_t due = (uint64_t)((now() - begun) / 1e9 * rate) + 1;
    while (issued < due && !stopping) {
        int k = 0;
        while (k < connection_count) {
            int i = (turn + k++) % connection_count;
            if (connections[i].state == IDLE || connections[i].state == CLOSED) {
                turn = i + 1;
                begin(i);
                k = 0;
                break;
            }
        }
        if (k) break;
    }
    uint64_t at = now(), next = begun + (uint64_t)(issued / rate * 1e9);
    if (armed > at && armed <= next) return;
    if (next < at + LEAST_PAUSE_NS) next = at + LEAST_PAUSE_NS;
    armed = next;
    struct itimerspec when = { .it_value = { next / 1000000000u, next % 1000000000u } };
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void mend_broken(void) {
    for (int i = 0; i < connection_count; i++) {
        connection_t *c = &connections[i];
        if (c->state != BROKEN || now() < c->retry_at) continue;
        c->state = CLOSED;
        if (rate == 0 && !stopping) begin(i);
    }
}

static void run(uint64_t begun, uint64_t end) {
    struct epoll_event events[256];
    uint64_t stopped = 0, expirations;
    if (rate == 0) for (int i = 0; i < connection_count; i++) begin(i);
    for (;;) {
        uint64_t at = now();
        if (at >= end) stopping = 1;
        if (stopping && !stopped) stopped = at;
        if (stopping && (!under_way || at - stopped > PATIENCE_NS)) return;
        mend_broken();
        if (rate > 0 && !stopping) send_due(begun);
        int count = epoll_wait(poller, events, 256, 5);
        for (int k = 0; k < count; k++) {
            if (events[k].data.u32 != TIMER) on_event(events[k].data.u32, events[k].events);
            else if (read(timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) abort();
        }
    }
}

static void build(const char *method, const char *path, const char *headers, const char *body, const char *type) {
    int length = asprintf(&request, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: */*\r\n%s%s", method, path,
                          ntohs(ports[0]), headers, close_each ? "Connection: close\r\n" : "");
    char *whole = NULL;
    if (length < 0) abort();
    if (body) length = asprintf(&whole, "%sContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", request, type,
                                strlen(body), body);
    else length = asprintf(&whole, "%s\r\n", request);
    if (length < 0) abort();
    free(request);
    request = whole;
    request_length = length;
    for (char *p = request; (p = strstr(p, "@@@@@@@@")); p += 8) {
        places = realloc(places, (place_count + 1) * sizeof *places);
        if (!places) abort();
        places[place_count++] = p - request;
    }
}

static void save(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(records, sizeof *records, issued, file) != issued || fclose(file)) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv) {
    const char *method = "POST", *path = "/", *body = NULL, *type = "application/json", *out = NULL;
    char headers[4096] = "";
    double duration = 10;
    for (int i = 1; i + 1 < argc; i += 2) {
        char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--port") && port_count < MOST_PORTS) ports[port_count++] = htons(atoi(value));
        else if (!strcmp(name, "--conns")) connection_count = atoi(value);
        else if (!strcmp(name, "--duration")) duration = atof(value);
        else if (!strcmp(name, "--rate")) rate = atof(value);
        else if (!strcmp(name, "--close")) close_each = atoi(value);
        else if (!strcmp(name, "--span")) span = atoi(value);
        else if (!strcmp(name, "--stride")) stride = atol(value);
        else if (!strcmp(name, "--modulo")) modulo = atol(value);
        else if (!strcmp(name, "--start")) start = atoi(value);
        else if (!strcmp(name, "--count")) capacity = atol(value);
        else if (!strcmp(name, "--method")) method = value;
        else if (!strcmp(name, "--path")) path = value;
        else if (!strcmp(name, "--body")) body = value;
        else if (!strcmp(name, "--type")) type = value;
        else if (!strcmp(name, "--expect")) expect = value;
        else if (!strcmp(name, "--out")) out = value;
        else if (!strcmp(name, "--header") && strlen(headers) + strlen(value) + 3 < sizeof headers)
            strcat(strcat(headers, value), "\r\n");
        else { fprintf(stderr, "unknown option %s\n", name); return 2; }
    }
    if (!port_count) { fprintf(stderr, "--port is missing\n"); return 2; }
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    build(method, path, headers, body, type);
    records = calloc(capacity, sizeof *records);
    connections = calloc(connection_count, sizeof *connections);
    if (!records || !connections) return 1;
    for (int i = 0; i < connection_count; i++) connections[i].fd = connections[i].request = -1;
    signal(SIGPIPE, SIG_IGN);
    alarm((unsigned)duration + 60); /* it ends even when whoever started it cannot end it any more */
    poller = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = TIMER };
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event);
    uint64_t begun = now(), end = begun + (uint64_t)(duration * 1e9);
    run(begun, end);
    uint64_t ended = now() < end ? now() : end;
    if (out) save(out);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"begun\":%llu,\"ended\":%llu,\"sent\":%u,\"good\":%llu,\"other\":%llu,\"errors\":%llu,"
           "\"unexpected\":%llu,\"connections\":%llu,\"ports\":%d,\"cpu_s\":%.3f}\n",
           (unsigned long long)begun, (unsigned long long)ended, issued, (unsigned long long)good,
           (unsigned long long)other, (unsigned long long)errors, (unsigned long long)unexpected,
           (unsigned long long)opened, port_count, cpu);
    return 0;
}
