/* Records what a program asks of the disk below one directory, so that it can be worked out what a disk would hold had
 * the power gone at any moment. To be preloaded; 64-bit Linux.
 *
 *   POWER_LOG      the log, appended to by all processes that have this library
 *   POWER_ROOT     the directory, as an absolute path without symbolic links; it need not be there yet
 *   POWER_LIES     comma-separated: syncs of `wal`, `rest` (other files) or `folders` that are said to be done and are
 *                  not; or `all`
 *   POWER_SYNC_US  a sync takes so many microseconds, in place of what the real disk takes
 *
 * Whatever is done is done and logged under one lock, so that the log has the order in which things happened. A sync
 * has two entries: what was logged before its first is on disk once the second is there. What this library cannot
 * follow (a shared writable map of anything but SQLite's -shm, links, fallocate, ...) is logged as UNKNOWN.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#if !defined(__linux__) || !defined(__LP64__)
#error "only for 64-bit Linux"
#endif

enum kind { OPEN = 1, WRITE, TRUNCATE, SYNC, SYNCED, UNLINK, RENAME, MKDIR, UNKNOWN };

enum { CREATED = 1 }; /* an OPEN's argument */

struct entry {
    uint32_t magic;
    uint32_t kind;
    uint64_t at; /* ns since the Unix epoch */
    uint64_t inode;
    uint64_t argument; /* offset, size, flags, or the number of a sync */
    uint32_t path_octets;
    uint32_t data_octets;
};

#define MAGIC 0x52575031u
#define FILES 65536
#define LONGEST 4096

static struct {
    uint64_t inode; /* 0: not one of ours */
    char shm;
} files[FILES];

static char root[LONGEST], log_path[LONGEST];
static size_t root_length;
static int log_number = -1;
static pid_t owner;
static long sync_us;
static int lies_wal, lies_rest, lies_folders;
static uint64_t syncs;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void die(const char *what) {
    fprintf(stderr, "recorder: %s: %s\n", what, strerror(errno));
    abort();
}

static void open_log(void) {
    int number = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (number < 0) die("the log cannot be opened");
    /* out of the way of programs that close what they did not open */
    log_number = (int)syscall(SYS_fcntl, number, F_DUPFD_CLOEXEC, 800);
    if (log_number < 0) log_number = number;
    else syscall(SYS_close, number);
    owner = (pid_t)syscall(SYS_getpid);
}

static void forked(void) {
    syscall(SYS_close, log_number);
    open_log();
}

static int said(const char *list, const char *word) {
    return list != NULL && (strcmp(list, "all") == 0 || strstr(list, word) != NULL);
}

__attribute__((constructor)) static void begin(void) {
    const char *log = getenv("POWER_LOG"), *top = getenv("POWER_ROOT"), *lies = getenv("POWER_LIES");
    const char *us = getenv("POWER_SYNC_US");
    if (log == NULL || top == NULL) return;
    snprintf(log_path, sizeof log_path, "%s", log);
    snprintf(root, sizeof root, "%s", top);
    root_length = strlen(root);
    sync_us = us != NULL ? atol(us) : 0;
    lies_wal = said(lies, "wal"), lies_rest = said(lies, "rest"), lies_folders = said(lies, "folders");
    open_log();
    pthread_atfork(NULL, NULL, forked);
}

/* A child of vfork shares our memory and is not us. */
static int records(void) { return log_number >= 0 && (pid_t)syscall(SYS_getpid) == owner; }

/* --- the log */

static void lock(void) {
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    pthread_mutex_lock(&mutex);
    while (syscall(SYS_fcntl, log_number, F_SETLKW, &all) != 0)
        if (errno != EINTR) die("the log cannot be locked");
}

static void unlock(void) {
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    int error = errno;
    syscall(SYS_fcntl, log_number, F_SETLK, &all);
    pthread_mutex_unlock(&mutex);
    errno = error;
}

static void put(const void *octets, size_t count) {
    const char *at = octets;
    while (count > 0) {
        ssize_t done = syscall(SYS_write, log_number, at, count);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) die("the log cannot be written");
        at += done, count -= (size_t)done;
    }
}

static void note(enum kind kind, uint64_t inode, uint64_t argument, const char *path, size_t path_octets,
                 const void *data, size_t data_octets) {
    struct timespec now;
    int error = errno;
    clock_gettime(CLOCK_REALTIME, &now);
    struct entry entry = {MAGIC, (uint32_t)kind, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                          inode, argument, (uint32_t)path_octets, (uint32_t)data_octets};
    struct iovec parts[] = {{&entry, sizeof entry}, {(void *)(uintptr_t)path, path_octets},
                            {(void *)(uintptr_t)data, data_octets}};
    size_t all = sizeof entry + path_octets + data_octets;
    ssize_t done = syscall(SYS_writev, log_number, parts, 3);
    if (done < 0) die("the log cannot be written");
    for (int i = 0; i < 3 && (size_t)done < all; i++) {
        size_t before = 0;
        for (int j = 0; j < i; j++) before += parts[j].iov_len;
        if ((size_t)done < before + parts[i].iov_len) {
            put((char *)parts[i].iov_base + ((size_t)done - before), before + parts[i].iov_len - (size_t)done);
            done = (ssize_t)(before + parts[i].iov_len);
        }
    }
    errno = error;
}

static void note_path(enum kind kind, uint64_t inode, uint64_t argument, const char *path) {
    note(kind, inode, argument, path, strlen(path), NULL, 0);
}

static void note_unknown(const char *what) {
    lock();
    note_path(UNKNOWN, 0, 0, what);
    unlock();
}

/* --- names */

/* The path that an open file has now. */
static int path_of(int number, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", number);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, LONGEST - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

static int is_below(const char *path) {
    return strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

static int holds_root(const char *path) {
    size_t length = strlen(path);
    return strncmp(path, root, length) == 0 && root[length] == '/' && strchr(root + length + 1, '/') == NULL;
}

/* The absolute path of a name whose directory is there; returns whether it is one of ours. */
static int resolve(int folder, const char *name, char *path) {
    char above[LONGEST];
    const char *slash = strrchr(name, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - name);
    if (slash == name) length = 1;
    if (length >= sizeof above) return 0;
    memcpy(above, name, length);
    above[length] = 0;
    int number = (int)syscall(SYS_openat, folder, length ? above : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (number < 0) return 0;
    int found = path_of(number, above);
    syscall(SYS_close, number);
    if (!found) return 0;
    int written = snprintf(path, LONGEST, "%s/%s", strcmp(above, "/") == 0 ? "" : above, slash ? slash + 1 : name);
    return written < LONGEST && is_below(path);
}

static int is_ours(int number) { return number >= 0 && number < FILES && files[number].inode != 0 && records(); }

static void remember(int number, const char *path) {
    struct stat status;
    size_t length = strlen(path);
    if (fstat(number, &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (number >= FILES) die("a file's number is too high");
    files[number].inode = status.st_ino;
    files[number].shm = length > 4 && strcmp(path + length - 4, "-shm") == 0;
}

/* --- opening and closing */

static int open_file(int folder, const char *name, int flags, mode_t mode) {
    char path[LONGEST];
    struct stat status;
    if (!records()) return (int)syscall(SYS_openat, folder, name, flags, mode);
    if ((flags & O_TMPFILE) == O_TMPFILE && is_below(name)) note_unknown("O_TMPFILE");
    if (!(flags & (O_CREAT | O_TRUNC)) || !resolve(folder, name, path)) {
        int number = (int)syscall(SYS_openat, folder, name, flags, mode);
        if (number >= 0 && path_of(number, path) && is_below(path)) {
            remember(number, path);
            if (files[number].inode) {
                lock();
                note_path(OPEN, files[number].inode, 0, path);
                unlock();
            }
        }
        return number;
    }
    lock();
    int there = syscall(SYS_newfstatat, folder, name, &status, 0) == 0;
    int number = (int)syscall(SYS_openat, folder, name, flags, mode);
    if (number >= 0) {
        remember(number, path);
        if (files[number].inode) {
            note_path(OPEN, files[number].inode, there ? 0 : CREATED, path);
            if (there && (flags & O_TRUNC)) note(TRUNCATE, files[number].inode, 0, NULL, 0, NULL, 0);
        }
    }
    unlock();
    return number;
}

#define MODE(flags, last)                                   \
    mode_t mode = 0;                                        \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                  \
        va_list more;                                       \
        va_start(more, last);                               \
        mode = va_arg(more, mode_t);                        \
        va_end(more);                                       \
    }

int open(const char *name, int flags, ...) { MODE(flags, flags) return open_file(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags, flags) return open_file(AT_FDCWD, name, flags, mode); }
int openat(int folder, const char *name, int flags, ...) { MODE(flags, flags) return open_file(folder, name, flags, mode); }
int openat64(int folder, const char *name, int flags, ...) { MODE(flags, flags) return open_file(folder, name, flags, mode); }
int __open_2(const char *name, int flags) { return open_file(AT_FDCWD, name, flags, 0); }
int __open64_2(const char *name, int flags) { return open_file(AT_FDCWD, name, flags, 0); }
int creat(const char *name, mode_t mode) { return open_file(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *name, mode_t mode) { return creat(name, mode); }

int close(int number) {
    if (number == log_number && records()) return 0;
    if (is_ours(number)) files[number].inode = 0;
    return (int)syscall(SYS_close, number);
}

/* --- writing */

ssize_t pwrite64(int number, const void *data, size_t count, off64_t offset) {
    if (!is_ours(number)) return syscall(SYS_pwrite64, number, data, count, offset);
    lock();
    ssize_t done = syscall(SYS_pwrite64, number, data, count, offset);
    if (done > 0) note(WRITE, files[number].inode, (uint64_t)offset, NULL, 0, data, (size_t)done);
    unlock();
    return done;
}

ssize_t pwrite(int number, const void *data, size_t count, off_t offset) {
    return pwrite64(number, data, count, offset);
}

ssize_t write(int number, const void *data, size_t count) {
    if (!is_ours(number)) return syscall(SYS_write, number, data, count);
    lock();
    ssize_t done = syscall(SYS_write, number, data, count);
    /* where it ended, which is right for files opened with O_APPEND too */
    if (done > 0) {
        uint64_t offset = (uint64_t)(syscall(SYS_lseek, number, 0, SEEK_CUR) - done);
        note(WRITE, files[number].inode, offset, NULL, 0, data, (size_t)done);
    }
    unlock();
    return done;
}

int ftruncate64(int number, off64_t size) {
    if (!is_ours(number)) return (int)syscall(SYS_ftruncate, number, size);
    lock();
    int failed = (int)syscall(SYS_ftruncate, number, size);
    if (!failed) note(TRUNCATE, files[number].inode, (uint64_t)size, NULL, 0, NULL, 0);
    unlock();
    return failed;
}

int ftruncate(int number, off_t size) { return ftruncate64(number, size); }

/* --- syncing */

static int lies(const char *path, const struct stat *status) {
    size_t length = strlen(path);
    if (S_ISDIR(status->st_mode)) return lies_folders;
    return length > 4 && strcmp(path + length - 4, "-wal") == 0 ? lies_wal : lies_rest;
}

static int sync_file(long call, int number) {
    char path[LONGEST];
    struct stat status;
    int ours = records() && fstat(number, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
               && path_of(number, path) && (is_below(path) || (S_ISDIR(status.st_mode) && holds_root(path)));
    if (!ours) return (int)syscall(call, number);
    if (lies(path, &status)) return 0;
    lock();
    uint64_t token = (uint64_t)owner << 32 | ++syncs;
    note_path(SYNC, S_ISDIR(status.st_mode) ? 0 : status.st_ino, token, path);
    unlock();
    if (sync_us > 0) {
        struct timespec pause = {sync_us / 1000000, sync_us % 1000000 * 1000};
        while (nanosleep(&pause, &pause) != 0) continue;
    } else if (syscall(call, number) != 0) {
        return -1;
    }
    lock();
    note(SYNCED, 0, token, NULL, 0, NULL, 0);
    unlock();
    return 0;
}

int fsync(int number) { return sync_file(SYS_fsync, number); }
int fdatasync(int number) { return sync_file(SYS_fdatasync, number); }

/* --- names that come and go */

static int remove_name(int folder, const char *name, int flags) {
    char path[LONGEST];
    if (!records() || !resolve(folder, name, path)) return (int)syscall(SYS_unlinkat, folder, name, flags);
    lock();
    int failed = (int)syscall(SYS_unlinkat, folder, name, flags);
    if (!failed) note_path(UNLINK, 0, 0, path);
    unlock();
    return failed;
}

int unlink(const char *name) { return remove_name(AT_FDCWD, name, 0); }
int unlinkat(int folder, const char *name, int flags) { return remove_name(folder, name, flags); }
int rmdir(const char *name) { return remove_name(AT_FDCWD, name, AT_REMOVEDIR); }

int renameat2(int old_folder, const char *old, int new_folder, const char *new, unsigned flags) {
    char paths[2 * LONGEST], target[LONGEST];
    int from = records() && resolve(old_folder, old, paths), to = records() && resolve(new_folder, new, target);
    if (!from && !to) return (int)syscall(SYS_renameat2, old_folder, old, new_folder, new, flags);
    if (!from || !to || flags) note_unknown("a rename across the directory's border, or a special one");
    lock();
    int failed = (int)syscall(SYS_renameat2, old_folder, old, new_folder, new, flags);
    if (!failed && from && to) {
        size_t length = strlen(paths);
        strcpy(paths + length + 1, target);
        note(RENAME, 0, 0, paths, length + 1 + strlen(target), NULL, 0);
    }
    unlock();
    return failed;
}

int renameat(int old_folder, const char *old, int new_folder, const char *new) {
    return renameat2(old_folder, old, new_folder, new, 0);
}
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }

int mkdirat(int folder, const char *name, mode_t mode) {
    char path[LONGEST];
    if (!records() || !resolve(folder, name, path)) return (int)syscall(SYS_mkdirat, folder, name, mode);
    lock();
    int failed = (int)syscall(SYS_mkdirat, folder, name, mode);
    if (!failed) note_path(MKDIR, 0, 0, path);
    unlock();
    return failed;
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* --- what is not followed */

#define UNFOLLOWED(number, what) \
    do { if (is_ours(number)) note_unknown(what); } while (0)

void *mmap64(void *address, size_t length, int protection, int flags, int number, off64_t offset) {
    /* what lies in SQLite's -shm is worth nothing after a crash: it is made anew */
    int shared = (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
    if (number >= 0 && shared && (protection & PROT_WRITE) && is_ours(number) && !files[number].shm)
        note_unknown("a shared map");
    return (void *)syscall(SYS_mmap, address, length, protection, flags, number, offset);
}
void *mmap(void *address, size_t length, int protection, int flags, int number, off_t offset) {
    return mmap64(address, length, protection, flags, number, offset);
}

ssize_t writev(int number, const struct iovec *parts, int count) {
    UNFOLLOWED(number, "writev");
    return syscall(SYS_writev, number, parts, count);
}
ssize_t pwritev64(int number, const struct iovec *parts, int count, off64_t offset) {
    UNFOLLOWED(number, "pwritev");
    return syscall(SYS_pwritev, number, parts, count, offset, 0);
}
ssize_t pwritev(int number, const struct iovec *parts, int count, off_t offset) {
    return pwritev64(number, parts, count, offset);
}
int fallocate64(int number, int mode, off64_t offset, off64_t length) {
    UNFOLLOWED(number, "fallocate");
    return (int)syscall(SYS_fallocate, number, mode, offset, length);
}
int fallocate(int number, int mode, off_t offset, off_t length) { return fallocate64(number, mode, offset, length); }
int posix_fallocate64(int number, off64_t offset, off64_t length) {
    return fallocate64(number, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate(int number, off_t offset, off_t length) { return posix_fallocate64(number, offset, length); }
ssize_t sendfile64(int to, int from, off64_t *offset, size_t count) {
    UNFOLLOWED(to, "sendfile");
    return syscall(SYS_sendfile, to, from, offset, count);
}
ssize_t sendfile(int to, int from, off_t *offset, size_t count) { return sendfile64(to, from, offset, count); }
ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t count, unsigned flags) {
    UNFOLLOWED(to, "copy_file_range");
    return syscall(SYS_copy_file_range, from, from_at, to, to_at, count, flags);
}
int linkat(int old_folder, const char *old, int new_folder, const char *new, int flags) {
    char path[LONGEST];
    if (records() && resolve(new_folder, new, path)) note_unknown("a link");
    return (int)syscall(SYS_linkat, old_folder, old, new_folder, new, flags);
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }
int truncate64(const char *name, off64_t size) {
    char path[LONGEST];
    if (records() && resolve(AT_FDCWD, name, path)) note_unknown("truncate");
    return (int)syscall(SYS_truncate, name, size);
}
int truncate(const char *name, off_t size) { return truncate64(name, size); }
