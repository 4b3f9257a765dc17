/* docs_sources: the page `freshet docs sources`. Called by cmd_docs.c. */
#ifndef FRESHET_CLI_DOCS_SOURCES_H
#define FRESHET_CLI_DOCS_SOURCES_H

void docs_sources(void);

#endif
