# Freshet. Two commands matter: `make run` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := all
PREFIX  ?= /usr/local
PORT    ?= 8080
DIR     ?= demo
VERSION := 0.1.0
COMMIT_AT := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

# Each combination of compiler and sanitizer has a build folder of its own; the plain one is build/.
ifeq ($(origin CC),default)
CC := gcc
endif
comma := ,
san := $(if $(filter-out address$(comma)undefined,$(SANITIZER)),-$(subst $(comma),-,$(SANITIZER)))
B := build$(if $(findstring clang,$(CC)),/clang)$(if $(SANITIZER),/san$(san))

WARN := -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wvla -Wformat=2 -Wstrict-prototypes \
        -Wmissing-prototypes -Wundef -Werror
OPT  := $(if $(SANITIZER),-O1 -fno-omit-frame-pointer -fsanitize=$(SANITIZER) -fno-sanitize-recover=all -ftrivial-auto-var-init=pattern,-O2 -D_FORTIFY_SOURCE=2)
ALL_CFLAGS  := -std=c17 -D_GNU_SOURCE -I. -I$(B)/gen -include core/banned.h -g $(OPT) -fstack-protector-strong $(WARN) -MMD -MP $(CFLAGS)
ALL_LDFLAGS := $(if $(SANITIZER),-fsanitize=$(SANITIZER)) -Wl,--as-needed -Wl,-z,relro,-z,now $(LDFLAGS)

# ---- rooms: one static archive each; main_*.c are programs -----------------------------------
ROOMS := core ledger detectors handler api cli
room_src  = $(filter-out $(1)/main_%.c,$(wildcard $(1)/*.c))
archive   = $(B)/lib$(1).a
$(foreach r,$(ROOMS),$(eval $(r)_OBJ := $(patsubst %.c,$(B)/%.o,$(call room_src,$(r)))))
ledger_OBJ += $(B)/gen/schema.o
api_OBJ    += $(B)/gen/schemas.o
cli_OBJ    += $(B)/gen/templates.o
core_OBJ   += $(B)/gen/version.o

# ---- programs: main file, rooms (in link order), libraries. Data flows one way, and so do the
# links: tests/00-arch reads these lines and fails when a program reaches where it may not. -------
PROGRAMS := freshet freshet-api freshet-intake freshet-stream freshet-scheduler freshet-handler freshet-outbox freshet-inspect freshet-inspect-gdal freshet-upstream
freshet_MAIN           := cli/main_freshet.c
freshet_ROOMS          := cli api handler detectors ledger core
freshet_LIBS           := -lcurl -lcrypto -lssl -lsqlite3 -lyyjson -lm
freshet-api_MAIN       := api/main_api.c
freshet-api_ROOMS      := api ledger core
freshet-api_LIBS       := -lfcgi -lsqlite3 -lyyjson -lm
freshet-intake_MAIN    := api/main_intake.c
freshet-intake_ROOMS   := api ledger core
freshet-intake_LIBS    := -lfcgi -lmbedx509 -lmbedcrypto -lsqlite3 -lyyjson -lm
freshet-stream_MAIN    := api/main_stream.c
freshet-stream_ROOMS   := api ledger core
freshet-stream_LIBS    := -lmicrohttpd -lsqlite3 -lyyjson -lm
freshet-scheduler_MAIN := detectors/main_scheduler.c
freshet-scheduler_ROOMS:= detectors ledger core
freshet-scheduler_LIBS := -lcurl -lcrypto -lssl -lsqlite3 -lyyjson -lm
freshet-outbox_MAIN    := handler/main_outbox.c
freshet-outbox_ROOMS   := handler ledger core
freshet-outbox_LIBS    := -lcurl -lcrypto -lssl -lsqlite3 -lyyjson -lm
freshet-handler_MAIN   := handler/main_handler.c
freshet-handler_ROOMS  := handler ledger core
freshet-handler_LIBS   := -lcurl -lcrypto -lssl -lsqlite3 -lyyjson -lm
# Two inspectors: GDAL brings a hundred libraries, which most files do not need (handler/inspect.h).
freshet-inspect_MAIN   := handler/main_inspect.c
freshet-inspect_ROOMS  := handler core
freshet-inspect_LIBS   := -lgeos_c -lseccomp -lcrypto -lyyjson -lm
freshet-inspect-gdal_MAIN := handler/main_inspect_gdal.c
freshet-inspect-gdal_ROOMS:= handler core
freshet-inspect-gdal_LIBS := -lgdal -lgeos_c -lseccomp -lcrypto -lyyjson -lm
# The demo upstream, also the fixture of the tests. Its TLS is mbedTLS, an independent stack.
freshet-upstream_MAIN  := tests/upstream/main_upstream.c
freshet-upstream_ROOMS := upstream core
freshet-upstream_LIBS  := -lmbedtls -lmbedx509 -lmbedcrypto -lyyjson -lm
upstream_OBJ := $(patsubst %.c,$(B)/%.o,$(filter-out %/main_upstream.c,$(wildcard tests/upstream/*.c)))

.PHONY: all run test tests-bin lint bench crash fresh deps clean install help FORCE
all: $(PROGRAMS:%=$(B)/%)

define PROGRAM_RULE
$(B)/$(1): $(B)/$($(1)_MAIN:.c=.o) $(foreach r,$($(1)_ROOMS),$(call archive,$(r)))
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_LDFLAGS) -o $$@ $$^ $($(1)_LIBS)
endef
$(foreach p,$(PROGRAMS),$(eval $(call PROGRAM_RULE,$(p))))

define ARCHIVE_RULE
$(call archive,$(1)): $($(1)_OBJ)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(AR) rcs $$@ $$^
endef
$(foreach r,$(ROOMS) upstream,$(eval $(call ARCHIVE_RULE,$(r))))

$(B)/%.o: %.c | $(B)/gen/.dir
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<
$(B)/gen/%.o: $(B)/gen/%.c
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# ---- generated: files embedded as C, and the version ------------------------------------------
$(B)/gen/.dir:
	@mkdir -p $(@D) && touch $@
$(B)/gen/schema.c: $(sort $(wildcard ledger/schema/*.sql)) build-aux/embed | $(B)/gen/.dir
	build-aux/embed schema $(filter %.sql,$^) > $@
$(B)/gen/templates.c: $(wildcard nginx/*.in) build-aux/embed | $(B)/gen/.dir
	build-aux/embed templates $(filter %.in,$^) > $@
$(B)/gen/schemas.c: $(sort $(wildcard schemas/*.schema.json)) build-aux/embed | $(B)/gen/.dir
	build-aux/embed schemas $(filter %.json,$^) > $@
$(B)/gen/version.c: FORCE | $(B)/gen/.dir
	@printf '#include "core/version.h"\nconst char *const freshet_version = "%s";\nconst char *const freshet_commit = "%s";\nconst int64_t freshet_commit_at = %s000 - (%s == 0);\n' \
	  '$(VERSION)' '$(COMMIT)' '$(COMMIT_AT)' '$(COMMIT_AT)' > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

# ---- the two commands --------------------------------------------------------------------------
run: deps-run
	@$(MAKE) --no-print-directory all
	@exec build-aux/demo "$(B)" "$(DIR)" "$(PORT)"

test: deps-test
	@tests/run

# ---- the rest ----------------------------------------------------------------------------------
deps: deps-run deps-test
deps-%:
	@build-aux/install-deps $*

# Test programs: one per file, all rooms linked.
TEST_SRC  := $(wildcard tests/10-unit/test_*.c tests/20-scenarios/runner.c tests/30-ledger/test_*.c tests/40-service/test_*.c)
TEST_BIN  := $(TEST_SRC:%.c=$(B)/%)
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN  := $(FUZZ_SRC:%.c=$(B)/%)
TEST_ROOMS := cli api handler detectors ledger core
TEST_LIBS := -lcmocka -lgeos_c -lseccomp -lfcgi -lmicrohttpd -lcurl -lssl -lmbedtls -lmbedx509 -lmbedcrypto -lcrypto -lsqlite3 -lyyjson -lm -ldl
$(B)/tests/fuzz/fuzz_inspect_gdal: TEST_LIBS += -lgdal
tests-bin: all $(TEST_BIN) $(FUZZ_BIN)
$(TEST_BIN) $(FUZZ_BIN): %: %.o $(foreach r,$(TEST_ROOMS),$(call archive,$(r)))
	$(CC) $(ALL_LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(TEST_LIBS)
.SECONDARY:

lint: deps-lint
	@build-aux/lint
bench: deps-run
	@$(MAKE) --no-print-directory all
	@tests/bench/run
crash: deps-test
	@$(MAKE) --no-print-directory all
	@bad=; for t in 'crash.sh all' 'faults.sh all' 'storm.sh full' 'powercut.sh 20'; do \
	  echo "== $$t"; tests/30-ledger/$$t || bad=1; done; [ -z "$$bad" ]
fresh: deps-fresh
	@build-aux/fresh
clean:
	rm -rf build compile_commands.json

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/freshet/www
	install -m 755 $(filter-out %-upstream,$(PROGRAMS:%=$(B)/%)) $(DESTDIR)$(PREFIX)/bin
	cp -R www/. $(DESTDIR)$(PREFIX)/share/freshet/www/

help:
	@sed -n 's/^## //p' Makefile
## make              build into build/ (CC=clang, SANITIZER=address,undefined give folders of their own)
## make run          install what is missing, build, start all with a living demo (PORT=8080 DIR=demo)
## make test         install what is missing, run every test
## make lint         clang-format, clang-tidy, shellcheck and the project's own rules
## make bench        speed and size, beside reference runs of the same minute
## make crash        kill -9, EIO and a full disk at every write, a storm, power cuts: exhaustively
## make fresh        both commands in a bare Debian 12 (needs root)
## make deps         the install step alone
## make install      PREFIX=/usr/local DESTDIR=

-include $(shell find $(B) -name '*.d' 2>/dev/null)
