/* sandbox: rlimits, Landlock, seccomp; in this order, as each takes away what the next
 * would need. */
#include "handler/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "core/fd.h"
#include "core/str.h"

#define FILTER_MAX 4096 /* instructions; the kernel takes no more */

struct sandbox {
    struct sock_filter code[FILTER_MAX];
    unsigned short n;
};

#define FAILED(err, what) err_set((err), RC_INTERNAL, "sandbox", "%s: %s", (what), strerror(errno))

/* ---- seccomp --------------------------------------------------------------------------------- */

struct call_rule {
    int number;
    bool conditional;
    struct scmp_arg_cmp when;
};

static enum rc add_rules(scmp_filter_ctx ctx, struct err *err)
{
    const struct call_rule rules[] = {
#define CALL(name) {SCMP_SYS(name), false, {0}},
#define ONLY(name, arg, mask, value)                                                               \
    {SCMP_SYS(name), true, SCMP_CMP64((arg), SCMP_CMP_MASKED_EQ, (mask), (value))},
#include "handler/sandbox.def"
#undef CALL
#undef ONLY
    };
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        int rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, rules[i].number,
                                        rules[i].conditional ? 1 : 0, &rules[i].when);
        /* Calls that the machine's architecture never had need no rule. */
        if (rc != 0 && rc != -EDOM)
            return err_set(err, RC_INTERNAL, "sandbox", "rule %zu: %s", i, strerror(-rc));
    }
    return RC_OK;
}

/* The filter as code, so that each child only has to load it. */
static enum rc export_filter(scmp_filter_ctx ctx, struct sandbox *s, struct err *err)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return FAILED(err, "memfd_create");
    int rc = seccomp_export_bpf(ctx, fd);
    ssize_t n = rc == 0 ? pread(fd, s->code, sizeof s->code, 0) : -1;
    close(fd);
    if (n <= 0 || n == (ssize_t)sizeof s->code)
        return err_set(err, RC_INTERNAL, "sandbox", "no filter code: %s", strerror(-rc));
    s->n = (unsigned short)((size_t)n / sizeof s->code[0]);
    return RC_OK;
}

enum rc sandbox_new(struct sandbox **ret, struct err *err)
{
    struct sandbox *s = calloc(1, sizeof *s);
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    enum rc rc = s && ctx ? RC_OK : err_set(err, RC_NOMEM, "sandbox", "no memory for the filter");
    if (rc == RC_OK)
        rc = add_rules(ctx, err);
    if (rc == RC_OK)
        rc = export_filter(ctx, s, err);
    if (ctx)
        seccomp_release(ctx);
    if (rc == RC_OK)
        *ret = s;
    else
        free(s);
    return rc;
}

void sandbox_free(struct sandbox **s)
{
    free(*s);
    *s = NULL;
}

static enum rc load_filter(const struct sandbox *s, struct err *err)
{
    struct sock_fprog program = {s->n, (struct sock_filter *)(uintptr_t)s->code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return FAILED(err, "seccomp");
    return RC_OK;
}

/* ---- Landlock -------------------------------------------------------------------------------- */

/* The kernel's own header grows with every version; these are its numbers, which do not change. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif
struct landlock_rules {
    uint64_t files, net, scoped;
};

static long landlock_version(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
}

bool sandbox_has_landlock(void)
{
    return landlock_version() > 0;
}

/* Handled by us, allowed to nobody: all that the version knows. */
static struct landlock_rules all_of(long version, size_t *size)
{
    struct landlock_rules r = {0};
    int file_bits = version == 1 ? 13 : version == 2 ? 14 : version < 5 ? 15 : 16;
    r.files = (1ull << file_bits) - 1;
    r.net = version >= 4 ? 3 : 0;
    r.scoped = version >= 6 ? 3 : 0;
    *size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    return r;
}

static enum rc enter_landlock(struct err *err)
{
    size_t size;
    long version = landlock_version();
    if (version <= 0)
        return RC_OK;
    struct landlock_rules r = all_of(version, &size);
    int fd = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
    if (fd < 0)
        return FAILED(err, "landlock_create_ruleset");
    long rc = syscall(SYS_landlock_restrict_self, fd, 0);
    close(fd);
    return rc == 0 ? RC_OK : FAILED(err, "landlock_restrict_self");
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* 0: unknown. */
static int64_t mapped_now(void)
{
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    fd_close(&fd);
    return n > 0 ? strtol(text, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

static bool limit(__rlimit_resource_t what, int64_t value)
{
    struct rlimit r = {(rlim_t)value, (rlim_t)value};
    return setrlimit(what, &r) == 0;
}

static enum rc enter_limits(const struct sandbox_limits *l, struct err *err)
{
    int64_t mapped = SANDBOX_LIMITS_MEMORY ? mapped_now() : 0;
    if (SANDBOX_LIMITS_MEMORY && (mapped == 0 || !limit(RLIMIT_AS, mapped + l->memory_bytes)))
        return FAILED(err, "memory limit");
    if (!limit(RLIMIT_CPU, l->cpu_s) || !limit(RLIMIT_FSIZE, 0) || !limit(RLIMIT_CORE, 0) ||
        !limit(RLIMIT_NPROC, 0))
        return FAILED(err, "setrlimit");
    return RC_OK;
}

enum rc sandbox_enter(const struct sandbox *s, const struct sandbox_limits *l, struct err *err)
{
    TRY(enter_limits(l, err));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return FAILED(err, "prctl");
    TRY(enter_landlock(err));
    if (!limit(RLIMIT_NOFILE, 0)) /* last: Landlock needed one more */
        return FAILED(err, "setrlimit");
    return load_filter(s, err);
}
