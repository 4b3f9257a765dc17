/* sandbox: from inside, nothing of what it forbids works; what a computation needs does. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "handler/sandbox.h"
#include "unit.h"

/* Each returns true when it could do what it should not. */
static bool opens_file(void)
{
    return open("/etc/passwd", O_RDONLY) >= 0 || syscall(SYS_open, "/etc/passwd", O_RDONLY) >= 0;
}
static bool creates_file(void)
{
    return open("/tmp/freshet-unit-sandbox", O_WRONLY | O_CREAT, 0600) >= 0;
}
static bool makes_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}
static bool runs_program(void)
{
    char *const argv[] = {(char[]){"true"}, NULL};
    execve("/bin/true", argv, argv);
    return errno != EPERM;
}
static bool forks(void)
{
    pid_t pid = _Fork();
    if (pid == 0)
        _exit(0);
    return pid > 0;
}
static bool traces(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ||
           ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0;
}
static bool signals_others(void)
{
    return kill(getppid(), 0) == 0 || syscall(SYS_tgkill, getppid(), getppid(), SIGKILL) == 0;
}
static bool reads_other_memory(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {&byte, 1};
    return syscall(SYS_process_vm_readv, getppid(), &here, 1, &there, 1, 0) > 0;
}
static bool makes_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED;
}
static bool looks_at_paths(void)
{
    struct stat st;
    return stat("/etc/passwd", &st) == 0 || access("/etc/passwd", R_OK) == 0 || chdir("/") == 0;
}
static bool raises_limits(void)
{
    struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY};
    return setrlimit(RLIMIT_CPU, &r) == 0;
}
static bool writes_to_file(void)
{
    return write(200, "x", 1) == 1 || write(SANDBOX_OUT, "x", 1) == 1;
}
static bool adds_descriptors(void)
{
    return dup(0) >= 0 || syscall(SYS_memfd_create, "x", 0) >= 0;
}
static bool makes_ring(void)
{
    return syscall(SYS_io_uring_setup, 8, NULL) >= 0 || errno == EFAULT;
}

/* These return true when they cannot do what they should. */
static bool lacks_memory(void)
{
    void *p = malloc(1 << 20);
    bool lacks = p == NULL;
    free(p);
    return lacks;
}
static bool lacks_reading(void)
{
    char byte;
    return pread(200, &byte, 1, 0) != 1;
}

static const struct {
    const char *what;
    bool (*went_wrong)(void);
} attempts[] = {
    {"opens a file", opens_file},
    {"creates a file", creates_file},
    {"makes a socket", makes_socket},
    {"runs a program", runs_program},
    {"forks", forks},
    {"traces", traces},
    {"signals others", signals_others},
    {"reads other memory", reads_other_memory},
    {"makes code", makes_code},
    {"looks at paths", looks_at_paths},
    {"raises its limits", raises_limits},
    {"writes to a file", writes_to_file},
    {"adds descriptors", adds_descriptors},
    {"makes a ring", makes_ring},
    {"lacks memory", lacks_memory},
    {"lacks reading", lacks_reading},
};

static struct sandbox *sandbox;

static int set_up(void **state)
{
    struct err err;
    (void)state;
    assert_rc(sandbox_new(&sandbox, &err), RC_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sandbox_free(&sandbox);
    return 0;
}

/* The wait status of a child that did f inside. */
static int inside(bool (*f)(void), const struct sandbox_limits *l)
{
    struct err err;
    int status;
    char path[64];
    unit_temp(path);
    unit_write(path, "x");
    pid_t pid = _Fork();
    if (pid == 0) {
        int fd = open(path, O_RDWR);
        if (dup2(fd, 200) < 0 || dup2(fd, SANDBOX_OUT) < 0)
            _exit(3);
        signal(SIGXFSZ, SIG_IGN);
        if (sandbox_enter(sandbox, l, &err) != RC_OK)
            _exit(2);
        _exit(f() ? 1 : 0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unlink(path);
    return status;
}

static void holds(void **state)
{
    const struct sandbox_limits l = {.memory_bytes = 64 << 20, .cpu_s = 10};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        int status = inside(attempts[i].went_wrong, &l);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("%s: status %x", attempts[i].what, (unsigned)status);
    }
}

/* The attempts are real ones: outside, most of them succeed. */
static bool succeeds_outside(bool (*f)(void))
{
    int status;
    pid_t pid = _Fork();
    if (pid == 0)
        _exit(f() ? 1 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void attempts_are_real(void **state)
{
    (void)state;
    assert_true(succeeds_outside(opens_file));
    assert_true(succeeds_outside(makes_socket));
    assert_true(succeeds_outside(forks));
    assert_true(succeeds_outside(makes_code));
    assert_true(succeeds_outside(looks_at_paths));
    assert_true(succeeds_outside(adds_descriptors));
}

static bool takes_memory(void)
{
    for (int i = 0; i < 64; i++) {
        char *volatile p = malloc(16 << 20);
        if (!p)
            return false;
        p[0] = 1;
    }
    return true;
}
static bool burns_time(void)
{
    volatile unsigned long i = 1;
    while (i > 0)
        i += 2;
    return true;
}

static void limits(void **state)
{
    const struct sandbox_limits l = {.memory_bytes = 64 << 20, .cpu_s = 1};
    (void)state;
    int status = SANDBOX_LIMITS_MEMORY ? inside(takes_memory, &l) : 0;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    int late = inside(burns_time, &l);
    assert_true(WIFSIGNALED(late) && (WTERMSIG(late) == SIGXCPU || WTERMSIG(late) == SIGKILL));
}

/* abort() must end the process: a library that gives up shall not go on. */
static bool aborts(void)
{
    abort();
    return false;
}

static void can_abort(void **state)
{
    const struct sandbox_limits l = {.memory_bytes = 64 << 20, .cpu_s = 10};
    (void)state;
    int status = inside(aborts, &l);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(holds), cmocka_unit_test(attempts_are_real),
                                       cmocka_unit_test(limits), cmocka_unit_test(can_abort)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
