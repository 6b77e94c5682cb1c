/* An operator's SMSC (SMPP v3.4) and a customer's receiver of callbacks, in one epoll loop.
 *
 * SMPP: takes any bind, answers submit_sm at once with a message id and, where a receipt was asked for, sends one
 * deliver_sm (DELIVRD) after a constant delay, on the bind of the submission if that can receive, with a bounded
 * number of unanswered ones a bind. What a lost bind had not answered is sent again on another one.
 * Messages from phones: on demand, one deliver_sm each, at a rate or as fast as they are acknowledged.
 * HTTP: answers 200 to everything that is posted.
 *
 * A message is known by its number: the last 8 digits of its destination, and `s=` in the query of its callback's URL.
 * With that the first submit_sm, receipt and callback of each message are timed, and losses and repetitions are
 * counted message by message. Callbacks without a number are counted, and told apart by their webhook-id. The number of
 * a message from a phone is in the phone's own: its record has the times of the deliver_sm, of its response and of the
 * callback to /inbound, whose query or form has the phone as `from`.
 *
 * Control, on the HTTP port: /ctl/stats, /ctl/reset, /ctl/dump?f=PATH, /ctl/die?f=PATH (dumps and ends at once),
 * /ctl/set?delay_ms=N,
 * /ctl/phones?to=ADDRESS&count=N&rate=N&text=TEXT (messages a second; 0: as fast as they are acknowledged).
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
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 1024
#define UNANSWERED 4096          /* receipts kept a bind for sending again; more than any window */
#define RECEIPTS (1u << 21)      /* receipts under way at once */
#define SEEN (1u << 23)          /* webhook-ids of callbacks without a number */
#define READ_SIZE 65536
#define UNNUMBERED UINT32_MAX

enum { BIND_RECEIVER = 1, BIND_TRANSMITTER = 2, SUBMIT_SM = 4, DELIVER_SM = 5, UNBIND = 6, BIND_TRANSCEIVER = 9,
       ENQUIRE_LINK = 0x15, GENERIC_NACK = 0 };
#define RESPONSE 0x80000000u

/* One per message number, as it is dumped: 32 octets, little endian, times in ns of CLOCK_MONOTONIC, 0 for never. */
typedef struct {
    uint64_t submit_time, receipt_time, callback_time;
    uint32_t submits;
    uint16_t receipts, callbacks;
} record_t;

typedef struct {
    uint64_t due;
    uint32_t number, message_id;
    int connection;
    char used, from_phone, source[24], destination[24], submitted[12];
} receipt_t;                     /* or a message from a phone, which has its number only */

typedef enum { FREE, SMPP_LISTENER, HTTP_LISTENER, SMPP, HTTP } kind_t;
typedef enum { OPEN, BROKEN, LAST_ANSWER } fate_t;

typedef struct { char *data; size_t length, room; } buffer_t;

typedef struct {
    int fd;
    kind_t kind;
    fate_t fate;
    int bound, receives, polls_out;
    buffer_t in, out;
    size_t written;
    uint32_t sequence;
    int unanswered;
    receipt_t *sent;
} connection_t;

static struct {
    uint64_t submits, receipts, receipt_responses, receipt_errors, sent_again, callbacks, repeated_submits,
        repeated_callbacks, unnumbered_submits, unnumbered_callbacks, binds, http_connections, malformed, last_submit,
        last_callback;
} total;

static struct { char to[24], text[128]; uint64_t begun, rate; uint32_t count, sent; } phones;

static connection_t connections[CONNECTIONS];
static record_t *records;
static uint32_t numbers = 4000000, highest;
static receipt_t *queue;
static uint64_t queue_head, queue_tail;
static uint64_t *seen;
static uint64_t delay_ns;
static int window = 200, poller, quitting;
static uint32_t next_message_id = 1;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static void stamp(char *out, size_t room) {
    time_t t = time(NULL);
    struct tm parts;
    gmtime_r(&t, &parts);
    strftime(out, room, "%y%m%d%H%M", &parts);
}

/* --- connections */

static void reserve(buffer_t *buffer, size_t more) {
    if (buffer->room >= buffer->length + more) return;
    buffer->room = (buffer->length + more) * 2;
    buffer->data = realloc(buffer->data, buffer->room);
    if (!buffer->data) abort();
}

static void append(buffer_t *buffer, const void *data, size_t length) {
    reserve(buffer, length);
    memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
}

static void poll_out(int index, int wanted) {
    connection_t *c = &connections[index];
    if (c->polls_out == wanted) return;
    struct epoll_event event = { .events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.u32 = index };
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
    c->polls_out = wanted;
}

static void flush(int index) {
    connection_t *c = &connections[index];
    while (c->written < c->out.length) {
        ssize_t n = send(c->fd, c->out.data + c->written, c->out.length - c->written, MSG_NOSIGNAL);
        if (n >= 0) {
            c->written += n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            poll_out(index, 1);
            return;
        } else if (errno != EINTR) {
            c->fate = BROKEN;
            return;
        }
    }
    c->written = c->out.length = 0;
    poll_out(index, 0);
}

static void enqueue(receipt_t receipt) {
    if (queue_tail - queue_head < RECEIPTS) queue[queue_tail++ % RECEIPTS] = receipt;
}

static void close_connection(int index) {
    connection_t *c = &connections[index];
    if (c->kind == FREE) return;
    epoll_ctl(poller, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    for (int k = 0; c->sent && k < UNANSWERED; k++) {
        if (!c->sent[k].used) continue;
        receipt_t again = c->sent[k];
        again.used = 0;
        again.due = now();
        again.connection = -1;
        enqueue(again);
        total.sent_again++;
    }
    free(c->sent);
    free(c->in.data);
    free(c->out.data);
    memset(c, 0, sizeof *c);
}

static int add_connection(int fd, kind_t kind) {
    for (int i = 0; i < CONNECTIONS; i++) {
        if (connections[i].kind != FREE) continue;
        connections[i] = (connection_t){ .fd = fd, .kind = kind };
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
        return i;
    }
    close(fd);
    return -1;
}

static int finished(const connection_t *c) {
    return c->fate == BROKEN || (c->fate == LAST_ANSWER && c->written == c->out.length);
}

/* --- SMPP */

static void put32(char *at, uint32_t value) { value = htonl(value); memcpy(at, &value, 4); }
static uint32_t get32(const char *at) { uint32_t value; memcpy(&value, at, 4); return ntohl(value); }

static void put_pdu(connection_t *c, uint32_t id, uint32_t sequence, const void *body, size_t length) {
    char head[16];
    put32(head, 16 + length);
    put32(head + 4, id);
    put32(head + 8, 0);
    put32(head + 12, sequence);
    append(&c->out, head, 16);
    append(&c->out, body, length);
}

static uint32_t number_of(const char *digits, size_t length) {
    if (length < 8) return UNNUMBERED;
    uint32_t value = 0;
    for (const char *p = digits + length - 8; p < digits + length; p++) {
        if (*p < '0' || *p > '9') return UNNUMBERED;
        value = value * 10 + (*p - '0');
    }
    return value;
}

static record_t *record_of(uint32_t number) {
    if (number >= numbers) return NULL;
    if (number >= highest) highest = number + 1;
    return &records[number];
}

/* A C-octet string at *at, which moves behind it; NULL where it does not end. */
static const char *c_string(const char **at, const char *end) {
    const char *start = *at, *zero = start < end ? memchr(start, 0, end - start) : NULL;
    if (!zero) return NULL;
    *at = zero + 1;
    return start;
}

/* Keeps what was written as the bind's newest deliver_sm, until its response. */
static void keep_unanswered(connection_t *c, const receipt_t *receipt) {
    if (!c->sent && !(c->sent = calloc(UNANSWERED, sizeof *c->sent))) abort();
    c->sent[c->sequence % UNANSWERED] = *receipt;
    c->sent[c->sequence % UNANSWERED].used = 1;
    c->unanswered++;
}

static void send_from_phone(int index, const receipt_t *message) {
    connection_t *c = &connections[index];
    size_t length = strlen(phones.text);
    char body[300], *p = body;
    *p++ = 0;                                                              /* service_type */
    *p++ = 1; *p++ = 1; p += sprintf(p, "491%08u", message->number) + 1;
    *p++ = 0; *p++ = 1; p = stpcpy(p, phones.to) + 1;
    memset(p, 0, 9); p += 9;                                               /* esm_class 0: a message */
    *p++ = (char)length; memcpy(p, phones.text, length); p += length;
    put_pdu(c, DELIVER_SM, ++c->sequence, body, p - body);
    keep_unanswered(c, message);
    record_t *record = record_of(message->number);
    if (record && !record->submits++) record->submit_time = now();
}

static void send_receipt(int index, const receipt_t *receipt) {
    if (receipt->from_phone) {
        send_from_phone(index, receipt);
        return;
    }
    connection_t *c = &connections[index];
    char body[600], text[256], id[16], done[12];
    char *p = body;
    stamp(done, sizeof done);
    *p++ = 0;                                                              /* service_type */
    *p++ = 1; *p++ = 1; p = stpcpy(p, receipt->destination) + 1;           /* source: the handset */
    *p++ = 1; *p++ = 1; p = stpcpy(p, receipt->source) + 1;
    memcpy(p, "\x04\0\0\0\0\0\0\0\0", 9); p += 9;                          /* esm_class 4: a delivery receipt */
    int length = snprintf(text, sizeof text,
                          "id:%u sub:001 dlvrd:001 submit date:%s done date:%s stat:DELIVRD err:000 text:bench",
                          receipt->message_id, receipt->submitted, done);
    *p++ = (char)length; memcpy(p, text, length); p += length;
    int id_length = sprintf(id, "%u", receipt->message_id) + 1;
    memcpy(p, "\0\x1e\0", 3); p += 3; *p++ = id_length;                    /* receipted_message_id */
    memcpy(p, id, id_length); p += id_length;
    memcpy(p, "\x04\x27\0\x01\x02", 5); p += 5;                            /* message_state DELIVERED */
    put_pdu(c, DELIVER_SM, ++c->sequence, body, p - body);
    keep_unanswered(c, receipt);
    total.receipts++;
    record_t *record = record_of(receipt->number);
    if (record && !record->receipts++) record->receipt_time = now();
}

static int may_receive(int index) {
    connection_t *c = &connections[index];
    return c->kind == SMPP && c->receives && c->fate == OPEN && c->unanswered < window;
}

static int choose_bind(int preferred) {
    static int last;
    if (preferred >= 0 && may_receive(preferred)) return preferred;
    for (int k = 1; k <= CONNECTIONS; k++) {
        int i = (last + k) % CONNECTIONS;
        if (may_receive(i)) return last = i;
    }
    return -1;
}

/* When the next message from a phone is due; UINT64_MAX for never. */
static uint64_t phone_due(void) {
    if (phones.sent == phones.count) return UINT64_MAX;
    return phones.rate ? phones.begun + phones.sent * 1000000000ull / phones.rate : phones.begun;
}

static void send_due(void) {
    static char touched[CONNECTIONS];
    uint64_t at = now();
    while (phone_due() <= at) {
        int index = choose_bind(-1);
        if (index < 0) break;
        receipt_t message = { .number = phones.sent++, .from_phone = 1 };
        send_from_phone(index, &message);
        touched[index] = 1;
    }
    while (queue_head < queue_tail && queue[queue_head % RECEIPTS].due <= at) {
        receipt_t *receipt = &queue[queue_head % RECEIPTS];
        int index = choose_bind(receipt->connection);
        if (index < 0) break;
        send_receipt(index, receipt);
        touched[index] = 1;
        queue_head++;
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        if (touched[i] && connections[i].kind == SMPP) flush(i);
        touched[i] = 0;
    }
}

static void on_submit(int index, const char *body, const char *end, uint32_t sequence) {
    connection_t *c = &connections[index];
    const char *p = body, *source, *destination;
    if (!c_string(&p, end) || (p += 2, !(source = c_string(&p, end))) || (p += 2, !(destination = c_string(&p, end)))
        || (p += 3, !c_string(&p, end)) || !c_string(&p, end) || p >= end) {
        total.malformed++;
        return;
    }
    int wants_receipt = *p & 3;
    uint64_t at = now();
    uint32_t number = number_of(destination, strlen(destination)), id = next_message_id++;
    record_t *record = record_of(number);
    total.submits++;
    total.last_submit = at;
    if (!record) total.unnumbered_submits++;
    else if (record->submits++) total.repeated_submits++;
    else record->submit_time = at;
    char text[16];
    put_pdu(c, SUBMIT_SM | RESPONSE, sequence, text, sprintf(text, "%u", id) + 1);
    if (!wants_receipt) return;
    receipt_t receipt = { .due = at + delay_ns, .number = number, .message_id = id, .connection = index };
    snprintf(receipt.source, sizeof receipt.source, "%s", source);
    snprintf(receipt.destination, sizeof receipt.destination, "%s", destination);
    stamp(receipt.submitted, sizeof receipt.submitted);
    enqueue(receipt);
}

static void on_pdu(int index, const char *pdu, uint32_t length) {
    connection_t *c = &connections[index];
    uint32_t id = get32(pdu + 4), status = get32(pdu + 8), sequence = get32(pdu + 12);
    switch (id) {
    case BIND_RECEIVER: case BIND_TRANSMITTER: case BIND_TRANSCEIVER:
        c->bound = 1;
        c->receives = id != BIND_TRANSMITTER;
        total.binds++;
        put_pdu(c, id | RESPONSE, sequence, "OPERATOR", 9);
        break;
    case SUBMIT_SM:
        on_submit(index, pdu + 16, pdu + length, sequence);
        break;
    case DELIVER_SM | RESPONSE:
        total.receipt_responses++;
        if (status) total.receipt_errors++;
        if (c->unanswered) c->unanswered--;
        if (c->sent) {
            receipt_t *answered = &c->sent[sequence % UNANSWERED];
            record_t *record = answered->used && answered->from_phone ? record_of(answered->number) : NULL;
            if (record && !status && !record->receipts++) record->receipt_time = now();
            answered->used = 0;
        }
        break;
    case ENQUIRE_LINK: case UNBIND:
        put_pdu(c, id | RESPONSE, sequence, "", 0);
        break;
    case ENQUIRE_LINK | RESPONSE: case UNBIND | RESPONSE:
        break;
    default:
        total.malformed++;
        if (!(id & RESPONSE)) put_pdu(c, GENERIC_NACK | RESPONSE, sequence, "", 0);
    }
}

/* --- HTTP */

static int stats(char *out, size_t room) {
    struct rusage used;
    int bound = 0, receiving = 0;
    uint64_t unanswered = 0;
    getrusage(RUSAGE_SELF, &used);
    for (int i = 0; i < CONNECTIONS; i++) {
        if (connections[i].kind != SMPP || !connections[i].bound) continue;
        bound++;
        receiving += connections[i].receives;
        unanswered += connections[i].unanswered;
    }
    double cpu = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
#define FIELD "\"%s\":%llu,"
#define TOTAL(name) #name, (unsigned long long)total.name
    return snprintf(
        out, room,
        "{" FIELD FIELD FIELD FIELD FIELD FIELD FIELD FIELD FIELD FIELD FIELD FIELD FIELD FIELD FIELD
        "\"waiting\":%llu,\"unanswered\":%llu,\"bound\":%d,\"receiving\":%d,\"cpu_s\":%.3f}",
        TOTAL(submits), TOTAL(receipts), TOTAL(receipt_responses), TOTAL(receipt_errors), TOTAL(sent_again),
        TOTAL(callbacks), TOTAL(repeated_submits), TOTAL(repeated_callbacks), TOTAL(unnumbered_submits),
        TOTAL(unnumbered_callbacks), TOTAL(binds), TOTAL(http_connections), TOTAL(malformed), TOTAL(last_submit),
        TOTAL(last_callback), (unsigned long long)(queue_tail - queue_head), (unsigned long long)unanswered, bound,
        receiving, cpu);
}

static int dump(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file) return 0;
    size_t written = fwrite(records, sizeof *records, highest, file);
    return fclose(file) == 0 && written == highest;
}

static void control(connection_t *c, const char *path) {
    char out[2048], head[160];
    const char *value;
    int length;
    if (!strncmp(path, "/ctl/stats", 10)) {
        length = stats(out, sizeof out);
    } else {
        int good = 1;
        if (!strncmp(path, "/ctl/reset", 10)) {
            memset(records, 0, sizeof *records * highest);
            if (total.unnumbered_callbacks) memset(seen, 0, sizeof *seen * SEEN);
            memset(&total, 0, sizeof total);
            highest = 0;
        } else if (!strncmp(path, "/ctl/dump", 9) && (value = strstr(path, "f="))) {
            good = dump(value + 2);
        } else if (!strncmp(path, "/ctl/die", 8) && (value = strstr(path, "f="))) {
            _exit(dump(value + 2) ? 0 : 1);
        } else if (!strncmp(path, "/ctl/set", 8) && (value = strstr(path, "delay_ms="))) {
            delay_ns = strtoull(value + 9, NULL, 10) * 1000000u;
        } else if (!strncmp(path, "/ctl/phones", 11)) {
            unsigned long long rate;
            good = sscanf(path, "/ctl/phones?to=%20[0-9]&count=%u&rate=%llu&text=%120[A-Z]", phones.to, &phones.count,
                          &rate, phones.text) == 4;
            phones.count = !good ? 0 : phones.count < numbers ? phones.count : numbers;
            phones.sent = 0;
            phones.rate = good ? rate : 0;
            phones.begun = now();
        } else {
            good = 0;
        }
        length = sprintf(out, "{\"ok\":%s}", good ? "true" : "false");
    }
    int head_length = sprintf(head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
                              length);
    append(&c->out, head, head_length);
    append(&c->out, out, length);
}

/* Whether a webhook-id was not seen before (FNV-1a, open addressing). */
static int is_new(const char *id, size_t length) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)id[i]) * 1099511628211u;
    if (!hash) hash = 1;
    for (uint32_t i = hash % SEEN, tries = 0; tries < SEEN; i = (i + 1) % SEEN, tries++) {
        if (seen[i] == hash) return 0;
        if (!seen[i]) { seen[i] = hash; return 1; }
    }
    return 1;
}

/* The number of the phone that is `from` in a query or form; UNNUMBERED where there is none. */
static uint32_t phone_of(const char *fields, size_t length) {
    const char *from = memmem(fields, length, "from=", 5);
    if (!from) return UNNUMBERED;
    size_t digits = 0, prefix = !strncmp(from + 5, "%2B", 3) ? 8 : 5;
    while (from + prefix + digits < fields + length && from[prefix + digits] >= '0' && from[prefix + digits] <= '9')
        digits++;
    return number_of(from + prefix, digits);
}

static record_t *record_called_back(const char *path, const char *body, size_t length) {
    if (!strncmp(path, "/inbound", 8)) {
        uint32_t number = phone_of(path, strlen(path));
        return record_of(number == UNNUMBERED ? phone_of(body, length) : number);
    }
    const char *query = strstr(path, "?s=");
    return query && strlen(query) >= 11 ? record_of(number_of(query + 3, 8)) : NULL;
}

static void on_callback(const char *path, const char *id, size_t id_length, const char *body, size_t length) {
    uint64_t at = now();
    total.callbacks++;
    total.last_callback = at;
    record_t *record = record_called_back(path, body, length);
    if (record) {
        if (record->callbacks++) total.repeated_callbacks++;
        else record->callback_time = at;
    } else {
        total.unnumbered_callbacks++;
        if (!is_new(id, id_length)) total.repeated_callbacks++;
    }
}

typedef struct { size_t body; int close; const char *id; size_t id_length; } headers_t;

static headers_t read_headers(char *at, const char *end, int close) {
    headers_t found = { .close = close, .id = "" };
    while (at < end) {
        char *stop = memchr(at, '\r', end - at + 1);
        if (!stop) break;
        size_t length = stop - at;
        if (length > 15 && !strncasecmp(at, "content-length:", 15)) {
            found.body = strtoul(at + 15, NULL, 10);
        } else if (length > 11 && !strncasecmp(at, "webhook-id:", 11)) {
            found.id = at + 11;
            found.id_length = length - 11;
        } else if (length > 11 && !strncasecmp(at, "connection:", 11)) {
            char *value = strndup(at + 11, length - 11);
            if (!value) abort();
            if (strcasestr(value, "close")) found.close = 1;
            else if (strcasestr(value, "keep-alive")) found.close = 0;
            free(value);
        }
        at = stop + 2;
    }
    return found;
}

/* One request at the start of what was read. Its octets; 0: not all there yet; -1: not HTTP. */
static long on_request(connection_t *c, char *data, size_t length) {
    char *head_end = memmem(data, length, "\r\n\r\n", 4);
    if (!head_end) return length > READ_SIZE ? -1 : 0;
    size_t head = head_end - data + 4;
    char *line_end = memchr(data, '\r', head), *path = memchr(data, ' ', line_end - data);
    char *path_end = path ? memchr(path + 1, ' ', line_end - path - 1) : NULL;
    if (!path_end) return -1;
    headers_t headers = read_headers(line_end + 2, head_end, !memcmp(line_end - 8, "HTTP/1.0", 8));
    if (length < head + headers.body) return 0;
    *path_end = 0;
    path++;
    if (!strncmp(path, "/ctl/", 5)) {
        control(c, path);
    } else {
        on_callback(path, headers.id, headers.id_length, data + head, headers.body);
        static const char keep[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
        static const char last[] =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
        if (headers.close) append(&c->out, last, sizeof last - 1);
        else append(&c->out, keep, sizeof keep - 1);
    }
    if (headers.close) c->fate = LAST_ANSWER;
    return head + headers.body;
}

/* --- the loop */

static size_t digest(int index) {
    connection_t *c = &connections[index];
    size_t at = 0;
    while (at < c->in.length && c->fate == OPEN) {
        char *data = c->in.data + at;
        size_t left = c->in.length - at;
        if (c->kind == HTTP) {
            long used = on_request(c, data, left);
            if (used < 0) c->fate = BROKEN;
            if (used <= 0) break;
            at += used;
        } else {
            if (left < 16) break;
            uint32_t length = get32(data);
            if (length < 16 || length > READ_SIZE) {
                total.malformed++;
                c->fate = BROKEN;
                break;
            }
            if (left < length) break;
            on_pdu(index, data, length);
            at += length;
        }
    }
    return at;
}

static void on_readable(int index) {
    connection_t *c = &connections[index];
    int ended = 0;
    for (int round = 0; round < 4; round++) {
        reserve(&c->in, READ_SIZE);
        ssize_t n = recv(c->fd, c->in.data + c->in.length, READ_SIZE, 0);
        if (n <= 0) {
            ended = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
            break;
        }
        c->in.length += n;
        if (n < READ_SIZE) break;
    }
    size_t used = digest(index);
    memmove(c->in.data, c->in.data + used, c->in.length - used);
    c->in.length -= used;
    if (c->out.length) flush(index);
    if (ended || finished(c)) close_connection(index);
}

static void on_connections(const connection_t *listener) {
    int fd, one = 1;
    while ((fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (listener->kind == HTTP_LISTENER) total.http_connections++;
        add_connection(fd, listener->kind == HTTP_LISTENER ? HTTP : SMPP);
    }
}

static void on_event(int index, uint32_t events) {
    connection_t *c = &connections[index];
    if (c->kind == SMPP_LISTENER || c->kind == HTTP_LISTENER) {
        on_connections(c);
        return;
    }
    if (c->kind != FREE && events & EPOLLOUT) {
        flush(index);
        if (finished(c)) close_connection(index);
    }
    if (c->kind != FREE && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) on_readable(index);
}

static int listen_on(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (bind(fd, (void *)&address, sizeof address) || listen(fd, 4096)) {
        perror("listen");
        exit(1);
    }
    return fd;
}

/* How long to wait for events, so that the next receipt is sent in time; ms. */
static int patience(void) {
    uint64_t at = now(), due = phone_due();
    if (queue_head < queue_tail && queue[queue_head % RECEIPTS].due < due) due = queue[queue_head % RECEIPTS].due;
    if (due == UINT64_MAX) return 1000;
    if (due <= at) return 50; /* every window is full: an answer is the next event */
    uint64_t wait = (due - at) / 1000000 + 1;
    return wait < 1000 ? (int)wait : 1000;
}

static void on_signal(int number) { (void)number; quitting = 1; }

int main(int argc, char **argv) {
    int smpp_port = 0, http_port = 0, life = 3600;
    for (int i = 1; i + 1 < argc; i += 2) {
        long value = atol(argv[i + 1]);
        if (!strcmp(argv[i], "--smpp-port")) smpp_port = value;
        else if (!strcmp(argv[i], "--http-port")) http_port = value;
        else if (!strcmp(argv[i], "--delay-ms")) delay_ns = value * 1000000ull;
        else if (!strcmp(argv[i], "--window")) window = value < UNANSWERED ? value : UNANSWERED;
        else if (!strcmp(argv[i], "--numbers")) numbers = value;
        else if (!strcmp(argv[i], "--life-s")) life = value;
        else { fprintf(stderr, "unknown option %s\n", argv[i]); return 2; }
    }
    records = calloc(numbers, sizeof *records);
    queue = calloc(RECEIPTS, sizeof *queue);
    seen = calloc(SEEN, sizeof *seen);
    if (!records || !queue || !seen) return 1;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    alarm(life); /* it ends even when whoever started it cannot end it any more */
    poller = epoll_create1(EPOLL_CLOEXEC);
    add_connection(listen_on(smpp_port), SMPP_LISTENER);
    add_connection(listen_on(http_port), HTTP_LISTENER);
    struct epoll_event events[256];
    while (!quitting) {
        int count = epoll_wait(poller, events, 256, patience());
        for (int k = 0; k < count; k++) on_event(events[k].data.u32, events[k].events);
        send_due();
    }
    return 0;
}
