/* bare_multi: the reference for checks: a libcurl multi loop that sends conditional HEAD requests,
 * looks at nothing but the status and keeps no record. usage: bare_multi BASE COUNT PARALLEL
 * HEADER... Prints requests, seconds and CPU seconds. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void start(CURLM *m, CURL *e, const char *base, long n)
{
    char url[256];
    snprintf(url, sizeof url, "%s/%ld", base, n);
    curl_easy_setopt(e, CURLOPT_URL, url);
    curl_multi_add_handle(m, e);
}

static CURL *make_handle(struct curl_slist *headers)
{
    CURL *e = curl_easy_init();
    curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    return e;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    long count = strtol(argv[2], NULL, 10), parallel = strtol(argv[3], NULL, 10), next = 0,
         done = 0;
    long not_modified = 0;
    struct curl_slist *headers = NULL;
    for (int i = 4; i < argc; i++)
        headers = curl_slist_append(headers, argv[i]);
    CURLM *m = curl_multi_init();
    curl_multi_setopt(m, CURLMOPT_MAXCONNECTS, parallel);
    double t0 = seconds();
    while (next < count && next < parallel)
        start(m, make_handle(headers), argv[1], next++);
    while (done < count) {
        int running, left;
        CURLMsg *msg;
        curl_multi_perform(m, &running);
        while ((msg = curl_multi_info_read(m, &left))) {
            long status = 0;
            CURL *e = msg->easy_handle;
            curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
            not_modified += status == 304;
            done++;
            curl_multi_remove_handle(m, e);
            if (next < count)
                start(m, e, argv[1], next++);
        }
        if (done < count)
            curl_multi_poll(m, NULL, 0, 100, NULL);
    }
    double t = seconds() - t0;
    struct rusage ru;
    getrusage(RUSAGE_SELF, &ru);
    printf("%ld %ld %.3f %.3f\n", done, not_modified, t,
           (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
               (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6);
    return 0;
}
