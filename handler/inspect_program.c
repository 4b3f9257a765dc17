/* inspect_program: options, one file or many. */
#include "handler/inspect_program.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/conf.h"
#include "core/fd.h"
#include "core/log.h"
#include "handler/inspect_serve.h"

static const char usage[] =
    "usage: freshet-inspect [OPTION]... FILE\n"
    "       freshet-inspect --compare OLD [OPTION]... FILE\n"
    "Prints one canonical JSON report about FILE: format, layers, fields, CRS, box, validity, area,\n"
    "digests. The same bytes and options give the same report. FILE is read in a sandbox.\n"
    "  --feature-key NAME   attribute that identifies a feature\n"
    "  --precision-m M      coordinates closer than this are the same (default 0.01)\n"
    "  --compare OLD        instead: what differs between OLD and FILE, and by how much\n"
    "  --legal-date NAME    of a comparison: attribute that says since when a feature is so\n"
    "  --timeout-s S        give up after so long (default as the setting inspect_timeout_s)\n"
    "  --memory-mb MB       memory beyond the file itself (default as inspect_memory_mb)\n"
    "  --serve              requests come over the socket at standard input\n"
    "  --help               this text\n"
    "Exit 0 when there is a report, whatever it says; 1 when there is none; 2 wrong usage.\n";

struct request {
    struct inspect_options options;
    struct inspect_limits limits;
    const char *file, *older; /* older NULL: nothing to compare with */
    bool serve;
};

/* ---- options --------------------------------------------------------------------------------- */

static bool number(const char *text, double min, double max, double *ret)
{
    char *end;
    double v = strtod(text, &end);
    if (*text == 0 || *end != 0 || !(v >= min && v <= max))
        return false;
    *ret = v;
    return true;
}

static bool take_option(int o, const char *value, struct request *r)
{
    double v;
    switch (o) {
    case 'k': r->options.feature_key = value; return true;
    case 'p':
        return number(value, INSPECT_PRECISION_MIN, INSPECT_PRECISION_MAX, &r->options.precision_m);
    case 't':
        if (!number(value, 0.001, 86400, &v))
            return false;
        r->limits.timeout_ms = (int64_t)(v * 1000);
        return true;
    case 'm':
        if (!number(value, 1, 1 << 20, &v))
            return false;
        r->limits.memory_mb = (int64_t)v;
        return true;
    case 'c': r->older = value; return true;
    case 'l': r->options.legal_date_field = value; return true;
    case 's': r->serve = true; return true;
    default: return false;
    }
}

/* -1: go on; else the exit code. */
static int read_options(int argc, char **argv, struct request *r)
{
    static const struct option options[] = {{"feature-key", required_argument, NULL, 'k'},
                                            {"precision-m", required_argument, NULL, 'p'},
                                            {"timeout-s", required_argument, NULL, 't'},
                                            {"memory-mb", required_argument, NULL, 'm'},
                                            {"compare", required_argument, NULL, 'c'},
                                            {"legal-date", required_argument, NULL, 'l'},
                                            {"serve", no_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int o;
    while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (o == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (!take_option(o, optarg, r)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (optind + (r->serve ? 0 : 1) != argc) {
        fputs(usage, stderr);
        return 2;
    }
    r->file = r->serve ? NULL : argv[optind];
    return -1;
}

/* ---- one file -------------------------------------------------------------------------------- */

static enum inspect_format sniff_file(int fd)
{
    struct stat st;
    enum inspect_format f = FORMAT_other;
    if (fstat(fd, &st) != 0 || st.st_size <= 0)
        return f;
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return f;
    f = inspect_sniff((struct str){p, (size_t)st.st_size});
    munmap(p, (size_t)st.st_size);
    return f;
}

/* The program beside this one. Returns only when that fails. */
static void become_sibling(char **argv)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    size_t room = slash ? sizeof path - (size_t)(slash + 1 - path) : 0;
    if (room < sizeof INSPECT_PROGRAM_GDAL)
        return;
    memcpy(slash + 1, INSPECT_PROGRAM_GDAL, sizeof INSPECT_PROGRAM_GDAL);
    execv(path, argv);
}

static enum rc print(struct buf *out, struct err *err)
{
    buf_byte(out, '\n');
    TRY(buf_rc(out));
    if (fwrite(out->data, 1, out->len, stdout) != out->len || fflush(stdout) != 0)
        return err_set(err, RC_IO, "", "cannot write the report: %s", strerror(errno));
    return RC_OK;
}

static enum rc one_file(const struct inspect_host *h, const int fds[2], const struct request *r,
                        struct err *err)
{
    struct inspect_end end;
    struct buf out;
    buf_init(&out, INSPECT_REPORT_MAX);
    enum rc rc =
        r->older ? inspect_child_run(h, fds[1], fds[0], &r->options, &r->limits, &out, &end, err)
                 : inspect_child_run(h, fds[0], -1, &r->options, &r->limits, &out, &end, err);
    if (rc == RC_OK)
        rc = print(&out, err);
    buf_release(&out);
    return rc;
}

/* ---- main ------------------------------------------------------------------------------------ */

static enum rc open_file(const char *path, int *ret, struct err *err)
{
    *ret = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*ret < 0)
        return err_set(err, RC_IO, "", "cannot open %s: %s", path, strerror(errno));
    return RC_OK;
}

/* fds[0] is the file, fds[1] what it is compared with. */
static enum rc open_files(const struct inspect_program *p, const struct request *r, char **argv,
                          int fds[2], struct err *err)
{
    bool gdal = false;
    TRY(open_file(r->file, &fds[0], err));
    if (r->older)
        TRY(open_file(r->older, &fds[1], err));
    for (int i = 0; i < 2 && fds[i] >= 0; i++)
        gdal = gdal || inspect_formats[sniff_file(fds[i])].engine == ENGINE_GDAL;
    if (p->reads_gdal || !gdal)
        return RC_OK;
    become_sibling(argv);
    return err_set(err, RC_IO, "", "cannot run %s, which should be beside this program: %s",
                   INSPECT_PROGRAM_GDAL, strerror(errno));
}

static enum rc run(const struct inspect_program *p, const struct request *r, char **argv,
                   struct err *err)
{
    struct inspect_host h = {.reader = p->reader, .client = r->serve ? STDIN_FILENO : -1};
    struct sandbox *sandbox = NULL;
    int fds[2] = {-1, -1};
    TRY(inspect_options_check(&r->options, err));
    enum rc rc = r->serve ? RC_OK : open_files(p, r, argv, fds, err);
    if (rc == RC_OK)
        rc = p->warm(err);
    if (rc == RC_OK)
        rc = sandbox_new(&sandbox, err);
    h.sandbox = sandbox;
    if (rc == RC_OK && r->serve && !sandbox_has_landlock())
        log_event(LOG_WARN, "inspect.no_landlock", LOG_S("sandbox", "seccomp and limits only"));
    if (rc == RC_OK)
        rc = r->serve ? inspect_serve(&h, STDIN_FILENO, err) : one_file(&h, fds, r, err);
    sandbox_free(&sandbox);
    for (int i = 0; i < 2; i++)
        fd_close(&fds[i]);
    return rc;
}

int inspect_program_main(const struct inspect_program *p, int argc, char **argv)
{
    struct request r = {0};
    struct conf defaults;
    struct err err = {0};
    /* Libraries shall find no setting, and PROJ no folder of a user whose database it would believe
     * before its own: without this it falls back to one that anybody may write to. */
    static char no_folder[] = "XDG_DATA_HOME=/dev/null";
    clearenv();
    putenv(no_folder);
    setlocale(LC_ALL, "C");
    signal(SIGPIPE, SIG_IGN);
    conf_defaults(&defaults);
    inspect_options_default(&r.options);
    r.limits = (struct inspect_limits){.timeout_ms = defaults.inspect_timeout_s * 1000,
                                       .memory_mb = defaults.inspect_memory_mb};
    int done = read_options(argc, argv, &r);
    if (done >= 0)
        return done;
    enum rc rc = log_open("inspect", NULL, &err);
    if (rc == RC_OK)
        rc = run(p, &r, argv, &err);
    if (rc == RC_OK)
        return 0;
    if (r.serve)
        log_err(LOG_ERROR, "inspect.failed", &err);
    else
        fprintf(stderr, "%s: %s\n", p->name, err.msg);
    return 1;
}
