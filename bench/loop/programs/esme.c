/* SMPP clients (ESMEs) of a customer in numbers: submits over several binds, times the answers, and takes the receipts.
 *
 * Closed loop: each of --binds transceivers has --window submit_sm under way, for --duration seconds. Open loop (--rate):
 * so many a second over all binds, as long as a window has room. --count 0 submits nothing: the binds only receive.
 *
 * A message is known by its number: the last 8 digits of its destination, from --start on. Afterwards the program waits
 * for the receipts: until there are --receipts of them, or one for each ESME_ROK; at most until nothing has come for
 * --quiet seconds. It answers each deliver_sm and enquire_link at once.
 *
 * The file --out has 24 octets, little endian, for each submit_sm: the times at which it was sent and answered (ns of
 * CLOCK_MONOTONIC; 0: no answer), 200 for ESME_ROK or else 1000 and the command_status (32 bits), and 1 for ESME_ROK (32
 * bits). The file --receipts-out has 16 octets for each number from 0 on: the time of its first receipt, and how many
 * came. A summary in JSON goes to standard output.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define READ_SIZE 65536
#define NS 1000000000ull
#define PATIENCE_NS (5 * NS)   /* for the last answers */
#define LINGER_NS (NS * 3 / 10) /* after the last receipt, so that one that comes twice is seen */
#define BIND_SEQUENCE 0x7FFFFFFEu

enum { SUBMIT_SM = 4, DELIVER_SM = 5, UNBIND = 6, BIND_RECEIVER = 1, BIND_TRANSCEIVER = 9, ENQUIRE_LINK = 0x15 };
#define RESPONSE 0x80000000u

typedef struct { uint64_t sent, answered; uint32_t status, expected; } record_t;
typedef struct { uint64_t time; uint32_t count, spare; } receipt_t;
typedef struct {
    int fd, bound, under_way, polls_out;
    char *in, *out;
    size_t in_length, out_length, out_room;
} bind_t;

static record_t *records;
static receipt_t *receipts;
static bind_t *binds;
static uint32_t numbers = 4000000, capacity = 4000000, start, issued;
static int bind_count = 4, bound_count, window = 16, poller, under_way;
static uint64_t good, other, lost, received, last_receipt;
static double rate;
static const char *system_id = "bench", *password = "", *text = "Your code is 123456. Do not share it.";

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS + t.tv_nsec;
}

static void put32(char *at, uint32_t value) { value = htonl(value); memcpy(at, &value, 4); }
static uint32_t get32(const char *at) { uint32_t value; memcpy(&value, at, 4); return ntohl(value); }

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void put_pdu(bind_t *b, uint32_t id, uint32_t sequence, const char *body, size_t length) {
    if (b->out_room < b->out_length + length + 16) {
        b->out_room = (b->out_length + length + 16) * 2;
        b->out = realloc(b->out, b->out_room);
        if (!b->out) abort();
    }
    char *at = b->out + b->out_length;
    put32(at, 16 + length);
    put32(at + 4, id);
    put32(at + 8, 0);
    put32(at + 12, sequence);
    memcpy(at + 16, body, length);
    b->out_length += 16 + length;
}

static void flush(int index) {
    bind_t *b = &binds[index];
    size_t written = 0;
    while (written < b->out_length) {
        ssize_t n = send(b->fd, b->out + written, b->out_length - written, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) fail("a bind broke");
        written += n;
    }
    memmove(b->out, b->out + written, b->out_length - written);
    b->out_length -= written;
    int wanted = b->out_length > 0;
    if (wanted == b->polls_out) return;
    struct epoll_event event = { .events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.u32 = index };
    epoll_ctl(poller, EPOLL_CTL_MOD, b->fd, &event);
    b->polls_out = wanted;
}

static void submit(bind_t *b) {
    char body[400], *p = body;
    uint32_t index = issued++;
    *p++ = 0;                                                        /* service_type */
    *p++ = 5; *p++ = 0; p = stpcpy(p, "Bench") + 1;
    *p++ = 1; *p++ = 1; p += sprintf(p, "491%08u", start + index) + 1;
    memset(p, 0, 9); p[5] = 1; p += 9;                               /* registered_delivery 1 */
    size_t length = strlen(text);
    *p++ = (char)length; memcpy(p, text, length); p += length;
    records[index].sent = now();
    put_pdu(b, SUBMIT_SM, index + 1, body, p - body);
    b->under_way++;
    under_way++;
}

static int may_submit(const bind_t *b) { return b->bound && b->under_way < window && issued < capacity; }

/* deliver_sm: service_type, TON, NPI, source_addr, whose last 8 digits are the number. */
static void on_deliver(const char *body, size_t length) {
    const char *zero = memchr(body, 0, length);
    const char *source = zero ? zero + 3 : body + length;
    const char *end = source < body + length ? memchr(source, 0, body + length - source) : NULL;
    received++;
    last_receipt = now();
    if (!end || end - source < 8) return;
    uint32_t number = strtoul(end - 8, NULL, 10);
    if (number < numbers && !receipts[number].count++) receipts[number].time = last_receipt;
}

static void on_pdu(int index, const char *pdu, size_t length) {
    bind_t *b = &binds[index];
    uint32_t id = get32(pdu + 4), status = get32(pdu + 8), sequence = get32(pdu + 12);
    if (id == (SUBMIT_SM | RESPONSE)) {
        if (!sequence || sequence > issued) fail("an answer to no request");
        record_t *record = &records[sequence - 1];
        record->answered = now();
        record->status = status ? 1000 + status : 200;
        record->expected = !status;
        b->under_way--;
        under_way--;
        if (status) other++;
        else good++;
    } else if (id == DELIVER_SM) {
        on_deliver(pdu + 16, length - 16);
        put_pdu(b, DELIVER_SM | RESPONSE, sequence, "", 1);
    } else if (id == ENQUIRE_LINK) {
        put_pdu(b, ENQUIRE_LINK | RESPONSE, sequence, NULL, 0);
    } else if (sequence == BIND_SEQUENCE) {
        if (status) fail("a bind was refused");
        b->bound = 1;
        bound_count++;
    }
}

static void on_readable(int index) {
    bind_t *b = &binds[index];
    ssize_t n = recv(b->fd, b->in + b->in_length, READ_SIZE - b->in_length, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) fail("a bind was closed");
    b->in_length += n;
    size_t at = 0;
    while (b->in_length - at >= 16) {
        size_t length = get32(b->in + at);
        if (length < 16 || length > READ_SIZE) fail("octets that are no SMPP");
        if (b->in_length - at < length) break;
        on_pdu(index, b->in + at, length);
        at += length;
    }
    memmove(b->in, b->in + at, b->in_length - at);
    b->in_length -= at;
}

static void turn(int timeout_ms) {
    struct epoll_event events[256];
    int count = epoll_wait(poller, events, 256, timeout_ms);
    for (int k = 0; k < count; k++) {
        if (events[k].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) on_readable(events[k].data.u32);
        flush(events[k].data.u32);
    }
}

/* Submits as much as the windows, and in an open loop the clock, allow. */
static void submit_due(uint64_t begun) {
    static int next;
    uint64_t due = rate ? (uint64_t)((now() - begun) / 1e9 * rate) + 1 : UINT64_MAX;
    for (int full = 0; full < bind_count && issued < due; next = (next + 1) % bind_count) {
        if (!may_submit(&binds[next])) {
            full++;
            continue;
        }
        full = 0;
        if (rate) submit(&binds[next]);
        else while (may_submit(&binds[next])) submit(&binds[next]);
    }
    for (int i = 0; i < bind_count; i++) if (binds[i].out_length && !binds[i].polls_out) flush(i);
}

static void connect_all(in_port_t port, int receive_only) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port };
    for (int i = 0; i < bind_count; i++) {
        bind_t *b = &binds[i];
        int one = 1;
        b->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (b->fd < 0 || connect(b->fd, (void *)&address, sizeof address) < 0) fail("cannot connect");
        setsockopt(b->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        b->in = malloc(READ_SIZE);
        if (!b->in) abort();
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };
        epoll_ctl(poller, EPOLL_CTL_ADD, b->fd, &event);
        char body[128], *p = body;
        p = stpcpy(p, system_id) + 1;
        p = stpcpy(p, password) + 1;
        *p++ = 0; *p++ = 0x34; *p++ = 0; *p++ = 0; *p++ = 0;
        put_pdu(b, receive_only ? BIND_RECEIVER : BIND_TRANSCEIVER, BIND_SEQUENCE, body, p - body);
        flush(i);
        fcntl(b->fd, F_SETFL, O_NONBLOCK);
        while (!b->bound) turn(100);
    }
}

static void save(const char *path, const void *data, size_t size, size_t count) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, size, count, file) != count || fclose(file)) fail(path);
}

int main(int argc, char **argv) {
    const char *out = NULL, *receipts_out = NULL;
    double duration = 10, quiet = 3;
    uint64_t wanted = 0;
    in_port_t port = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--port")) port = htons(atoi(value));
        else if (!strcmp(name, "--binds")) bind_count = atoi(value);
        else if (!strcmp(name, "--window")) window = atoi(value);
        else if (!strcmp(name, "--duration")) duration = atof(value);
        else if (!strcmp(name, "--rate")) rate = atof(value);
        else if (!strcmp(name, "--start")) start = atoi(value);
        else if (!strcmp(name, "--count")) capacity = atol(value);
        else if (!strcmp(name, "--numbers")) numbers = atol(value);
        else if (!strcmp(name, "--receipts")) wanted = atol(value);
        else if (!strcmp(name, "--quiet")) quiet = atof(value);
        else if (!strcmp(name, "--system-id")) system_id = value;
        else if (!strcmp(name, "--password")) password = value;
        else if (!strcmp(name, "--out")) out = value;
        else if (!strcmp(name, "--receipts-out")) receipts_out = value;
        else { fprintf(stderr, "unknown option %s\n", name); return 2; }
    }
    if (!port) { fprintf(stderr, "--port is missing\n"); return 2; }
    records = calloc(capacity + 1, sizeof *records);
    receipts = calloc(numbers, sizeof *receipts);
    binds = calloc(bind_count, sizeof *binds);
    if (!records || !receipts || !binds) return 1;
    signal(SIGPIPE, SIG_IGN);
    alarm((unsigned)duration + 900); /* it ends even when whoever started it cannot end it any more */
    poller = epoll_create1(EPOLL_CLOEXEC);
    connect_all(port, !capacity);
    printf("{\"bound\":%d}\n", bound_count);
    fflush(stdout);
    uint64_t begun = now(), end = begun + (uint64_t)(duration * 1e9);
    while (now() < end && (!wanted || received < wanted)) {
        submit_due(begun);
        turn(1);
    }
    uint64_t ended = now() < end ? now() : end, patience = now() + PATIENCE_NS;
    while (under_way && now() < patience) turn(5);
    lost = under_way;
    if (!wanted) wanted = good;
    uint64_t since = now(), seen = received;
    for (uint64_t at = since; at - since < (received >= wanted ? LINGER_NS : (uint64_t)(quiet * 1e9)); at = now()) {
        turn(5);
        if (received != seen) since = now(), seen = received;
    }
    if (out) save(out, records, sizeof *records, issued);
    if (receipts_out) save(receipts_out, receipts, sizeof *receipts, numbers);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"begun\":%llu,\"ended\":%llu,\"sent\":%u,\"good\":%llu,\"other\":%llu,\"errors\":%llu,\"unexpected\":0,"
           "\"receipts\":%llu,\"last_receipt\":%llu,\"cpu_s\":%.3f}\n",
           (unsigned long long)begun, (unsigned long long)ended, issued, (unsigned long long)good,
           (unsigned long long)other, (unsigned long long)lost, (unsigned long long)received,
           (unsigned long long)last_receipt, cpu);
    return 0;
}
