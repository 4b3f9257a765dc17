/* stream_client: what one client of the stream gets next. Knows neither HTTP nor waiting.
 *
 * Invariants
 *   1. Entries are handed over in order of the sequence, each that passes the filters once; the
 *      cursor moves past what is handed over or hidden, never past what is neither.
 *   2. A client holds at most one block that it has not sent: an event that all share, or a few of
 *      its own (CATCH_UP_ROWS) while it is behind the tail.
 *   3. (I8) Public rows only, as they are at the moment of handing over.
 * Called by stream_http and the loop of stream.
 */
#ifndef FRESHET_API_STREAM_CLIENT_H
#define FRESHET_API_STREAM_CLIENT_H

#include "api/stream_due.h"
#include "api/stream_view.h"

/* What all clients share. */
struct stream_feed {
    const struct instance *inst;
    struct ledger *ledger; /* NULL while it cannot be opened */
    struct arena scratch;
    struct buf page; /* a catch-up, while it is written */
    struct stream_tail tail;
    struct stream_view *views;
    bool fresh;   /* the tail was looked at in this turn */
    bool moved;   /* and it had grown: clients that wait have to be told */
    bool trouble; /* the ledger fails, and the log says so */
    int64_t sent; /* entries handed over */
};

struct stream_client {
    struct due due; /* the next sign of life, or the end of the wait */
    struct stream_client *prev, *next;
    struct stream_view *view;
    struct stream_block *block; /* being sent, from `at` on */
    size_t at;
    int64_t cursor; /* everything up to here was handed over or is hidden */
    int64_t told;   /* the last id that was sent */
    void *conn;     /* stream_http's */
    char *uri;      /* as it came; kept while a page may still have to be made of it */
    int64_t tip;    /* long poll: where the feed ended when it came */
    int64_t quiet_until;
    int fd;
    bool asked, streams, polls, waits, gone, greeted;
};

enum stream_news { STREAM_NOTHING, STREAM_NEWS, STREAM_LATER };

void stream_feed_init(struct stream_feed *f, const struct instance *inst);
void stream_feed_release(struct stream_feed *f);
/* Opens the ledger where that is needed and looks at the tail, once per turn. False: it cannot
 * be read. */
bool stream_feed_look(struct stream_feed *f);
/* Something for c? NEWS: c->block is there (of a long poll: an entry passes). LATER: nothing yet,
 * but there is more to look through; the others come first. */
enum stream_news stream_client_look(struct stream_feed *f, struct stream_client *c);
/* The first thing that a stream sends: how long to wait before coming back, and where it stands, so
 * that a client that loses the connection before any entry comes back to the same place. */
bool stream_client_greet(struct stream_client *c);
/* A sign of life, with the cursor where hidden entries have moved it. */
bool stream_client_beat(struct stream_client *c);
/* Up to n bytes of the block. */
size_t stream_client_take(struct stream_feed *f, struct stream_client *c, char *out, size_t n);
void stream_client_drop(struct stream_feed *f, struct stream_client *c);

#endif
