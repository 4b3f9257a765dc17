/* progress: see the header. Called by the commands that take their time. */
#include "cli/progress.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/human.h"
#include "core/clock.h"

#define BAR_MIN 8
#define BAR_MAX 40
#define WIDTH_DEFAULT 80

struct piece {
    char text[64];
    enum cli_style style;
};
#define PIECES_MAX (PROGRESS_NOTES_MAX + 3)

static bool says_utf8(void)
{
    const char *l = env_get("LC_ALL");
    l = l ? l : env_get("LC_CTYPE");
    l = l ? l : env_get("LANG");
    return l && (strstr(l, "UTF-8") || strstr(l, "utf8") || strstr(l, "UTF8"));
}

void progress_begin(struct progress *p, const struct cli *c, const char *what, int64_t total)
{
    struct stat st;
    const char *term = env_get("TERM");
    bool piped = fstat(STDOUT_FILENO, &st) != 0 || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
    *p =
        (struct progress){.c = c, .what = what, .total = total, .begun = true, .utf8 = says_utf8()};
    p->on = total > 0 && !piped && isatty(STDERR_FILENO) == 1 && term && strcmp(term, "dumb") != 0;
    p->started_at = p->moved_at = clock_mono();
    p->drawn_at = p->started_at + PROGRESS_AFTER_MS - PROGRESS_EVERY_MS;
}

static size_t terminal_width(void)
{
    struct winsize w;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        return w.ws_col;
    return WIDTH_DEFAULT;
}

/* What is said beside the bar, the dispensable last. */
static size_t make_pieces(const struct progress *p, int64_t done, const struct progress_note *notes,
                          size_t n, struct piece out[PIECES_MAX])
{
    char a[HUMAN_MAX], b[HUMAN_MAX];
    size_t k = 0;
    int64_t now = clock_mono(), ms = now - p->started_at, still = now - p->moved_at;
    bool moves = done > 0 && ms > 0 && still < PROGRESS_STILL_MS;
    snprintf(out[k++].text, sizeof out->text, "%s/%s %d %%", human_count(done, a),
             human_count(p->total, b), (int)(done * 100 / p->total));
    if (moves)
        snprintf(out[k++].text, sizeof out->text, "%s left",
                 human_duration((p->total - done) * ms / done, a));
    else if (still >= PROGRESS_STILL_MS)
        snprintf(out[k++].text, sizeof out->text, "waiting %s s for %s",
                 human_count(still / 1000, a), human_count(p->total - done, b));
    for (size_t i = 0; i < n && i < PROGRESS_NOTES_MAX; i++)
        if (notes[i].n > 0) {
            out[k].style = notes[i].style;
            snprintf(out[k++].text, sizeof out->text, "%s %s", human_count(notes[i].n, a),
                     notes[i].word);
        }
    if (moves)
        snprintf(out[k++].text, sizeof out->text, "%s/s", human_count(done * 1000 / ms, a));
    return k;
}

static void draw_bar(const struct progress *p, int64_t done, size_t width)
{
    size_t full = (size_t)(done * (int64_t)width / p->total);
    fputs(cli_err_on(p->c, CLI_GOOD), stderr);
    for (size_t i = 0; i < full; i++)
        fputs(p->utf8 ? "━" : "#", stderr);
    fputs(cli_err_off(p->c), stderr);
    for (size_t i = full; i < width; i++)
        fputs(p->utf8 ? "─" : "-", stderr);
    fputc(' ', stderr);
}

static void draw(const struct progress *p, int64_t done, const struct piece *pieces, size_t n)
{
    /* The last column stays free: some terminals break the line when it is used. */
    size_t room = terminal_width() - 1, used = strlen(p->what) + 1;
    size_t fits = 0;
    for (; fits < n && used + strlen(pieces[fits].text) + 2 <= room; fits++)
        used += strlen(pieces[fits].text) + 2;
    size_t bar = room > used ? room - used : 0;
    bar = bar > BAR_MAX ? BAR_MAX : bar;
    fprintf(stderr, "\r%.*s ", (int)(room > 0 ? room - 1 : 0), p->what);
    if (bar >= BAR_MIN)
        draw_bar(p, done, bar);
    for (size_t i = 0; i < fits; i++)
        fprintf(stderr, "%s%s%s%s", cli_err_on(p->c, pieces[i].style), pieces[i].text,
                cli_err_off(p->c), i + 1 < fits ? "  " : "");
    fputs("\x1b[K", stderr);
    fflush(stderr);
}

void progress_show(struct progress *p, int64_t done, const struct progress_note *notes, size_t n)
{
    struct piece pieces[PIECES_MAX] = {0};
    int64_t now = p->on ? clock_mono() : 0;
    if (!p->on || now - p->drawn_at < PROGRESS_EVERY_MS)
        return;
    p->drawn_at = now;
    p->drawn = true;
    if (done != p->done) {
        p->done = done;
        p->moved_at = now;
    }
    draw(p, done, pieces, make_pieces(p, done, notes, n, pieces));
}

void progress_watch(void *ctx, int64_t done, int64_t total)
{
    struct progress *p = ctx;
    if (!p->begun)
        progress_begin(p, p->c, p->what, total);
    progress_show(p, done, NULL, 0);
}

void progress_end(struct progress *p)
{
    if (p->drawn)
        fputs("\r\x1b[K", stderr);
    p->on = p->drawn = false;
}
